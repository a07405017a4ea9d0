/* workers.c - loader threads that share one sampler without a lock.

       make examples && build/workers

   Worker k of K reads steps k, k + K, k + 2K, ... ahead of the training loop.
   It finds the indices of any step by statesampler_at on a sampler that no
   one changes, so there is nothing to lock but the hand-over of finished
   batches. The training loop takes them in order and moves a sampler of its
   own with statesampler_next(s, NULL, NULL): what is saved is what was trained on,
   however far the workers have read ahead. */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"

#define SAMPLES 100000u
#define BATCH 32u
#define MOST_WORKERS 8u
#define AHEAD 4u /* batches that a worker may be ahead */

typedef struct loaded {
    uint64_t indices[BATCH], records[BATCH];
    size_t count;
} loaded;

typedef struct worker {
    pthread_t thread;
    const statesampler *plan; /* shared by all workers, and never written */
    uint64_t first, every;
    pthread_mutex_t lock;     /* guards what is below, not the sampler */
    pthread_cond_t changed;
    uint32_t head, filled, stop;
    loaded ring[AHEAD];
} worker;

/* Stands for reading and decoding one sample. */
static uint64_t read_sample(uint64_t index)
{
    uint64_t i, x = index;

    for (i = 0; i < 100; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
    }
    return x;
}

static void *load(void *argument)
{
    worker *w = (worker *)argument;
    uint64_t step, steps = statesampler_num_steps(w->plan);
    uint32_t slot;
    size_t i;

    for (step = w->first; step < steps; step += w->every) {
        pthread_mutex_lock(&w->lock);
        while (w->filled == AHEAD && !w->stop) {
            pthread_cond_wait(&w->changed, &w->lock);
        }
        slot = (w->head + w->filled) % AHEAD;
        if (w->stop) {
            pthread_mutex_unlock(&w->lock);
            break;
        }
        pthread_mutex_unlock(&w->lock);

        /* The slot is this thread's alone until it is counted as filled. */
        statesampler_at(w->plan, step, w->ring[slot].indices,
                        &w->ring[slot].count);
        for (i = 0; i < w->ring[slot].count; i++) {
            w->ring[slot].records[i] = read_sample(w->ring[slot].indices[i]);
        }

        pthread_mutex_lock(&w->lock);
        w->filled++;
        pthread_cond_signal(&w->changed);
        pthread_mutex_unlock(&w->lock);
    }
    return NULL;
}

/* Trains with `workers` threads from where s is to its step `until` or the
   end of the epoch. Returns 0 if a batch was not the one that s was to serve
   next. */
static int train(statesampler *s, uint32_t workers, uint64_t until,
                 uint64_t *model)
{
    static worker w[MOST_WORKERS];
    const statesampler plan = *s;
    uint64_t indices[BATCH], first = statesampler_step(s), step;
    uint32_t k;
    size_t i, count;
    int right = 1;

    if (until > statesampler_num_steps(s)) {
        until = statesampler_num_steps(s);
    }
    for (k = 0; k < workers; k++) {
        w[k].plan = &plan;
        w[k].first = first + k;
        w[k].every = workers;
        w[k].head = w[k].filled = w[k].stop = 0;
        pthread_mutex_init(&w[k].lock, NULL);
        pthread_cond_init(&w[k].changed, NULL);
        if (pthread_create(&w[k].thread, NULL, load, &w[k]) != 0) {
            return 0;
        } /* the program ends, and its threads with it */
    }
    for (step = first; step < until; step++) {
        worker *from = &w[(step - first) % workers];
        loaded *batch;

        pthread_mutex_lock(&from->lock);
        while (from->filled == 0) {
            pthread_cond_wait(&from->changed, &from->lock);
        }
        batch = &from->ring[from->head];
        pthread_mutex_unlock(&from->lock);

        right = right &&
                statesampler_at(s, step, indices, &count) == 1 &&
                count == batch->count &&
                memcmp(indices, batch->indices,
                       batch->count * sizeof indices[0]) == 0;
        for (i = 0; i < batch->count; i++) {
            *model = (*model ^ batch->records[i]) * 6364136223846793005u + 1;
        }
        statesampler_next(s, NULL, NULL);

        pthread_mutex_lock(&from->lock);
        from->head = (from->head + 1) % AHEAD;
        from->filled--;
        pthread_cond_signal(&from->changed);
        pthread_mutex_unlock(&from->lock);
    }
    for (k = 0; k < workers; k++) {
        pthread_mutex_lock(&w[k].lock);
        w[k].stop = 1;
        pthread_cond_signal(&w[k].changed);
        pthread_mutex_unlock(&w[k].lock);
        pthread_join(w[k].thread, NULL);
        pthread_mutex_destroy(&w[k].lock);
        pthread_cond_destroy(&w[k].changed);
    }
    return right;
}

int main(void)
{
    const statesampler_desc desc = {
        .num_samples = SAMPLES,
        .seed = 11,
        .rank = 1,
        .world_size = 4,
        .batch_size = BATCH};
    unsigned char state[STATESAMPLER_STATE_BYTES];
    uint64_t batch[BATCH], model = 1, alone = 1;
    statesampler s;
    size_t i, count;
    int right;

    if (statesampler_init(&s, &desc) != STATESAMPLER_OK) {
        return 1;
    }
    while (statesampler_next(&s, batch, &count)) {
        for (i = 0; i < count; i++) {
            alone = (alone ^ read_sample(batch[i])) * 6364136223846793005u + 1;
        }
    }
    printf("no workers:               model %016" PRIx64 "\n", alone);

    /* Stopped at step 300 while the workers are ahead of it, saved, and
       continued with another number of workers. */
    if (statesampler_init(&s, &desc) != STATESAMPLER_OK) {
        return 1;
    }
    right = train(&s, 3, 300, &model);
    if (statesampler_save(&s, state, sizeof state) != STATESAMPLER_OK ||
        statesampler_init(&s, &desc) != STATESAMPLER_OK ||
        statesampler_load(&s, state, sizeof state) != STATESAMPLER_OK) {
        return 1;
    }
    right = right && train(&s, 5, STATESAMPLER_NONE, &model);
    printf("3 workers, resume with 5: model %016" PRIx64 "\n", model);

    if (!right || model != alone ||
        statesampler_step(&s) != statesampler_num_steps(&s)) {
        printf("workers: FAILED\n");
        return 1;
    }
    printf("workers: every batch in order, nothing locked but the ring\n");
    return 0;
}
