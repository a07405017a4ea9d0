/* workers.c - loader threads that share one sampler without a lock.

       make examples && build/workers

   Threads load batches ahead of the training loop. They call statesampler_at on
   a sampler that never changes, so that nothing needs a lock. The loop moves
   its own sampler with statesampler_next(s, NULL, NULL): the state says what
   was trained on, however far the threads have read ahead. */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>

#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include "example.h"

#define SAMPLES 100000u
#define BATCH 32u
#define MOST_AHEAD 8u /* batches */

static const char usage[] =
    "usage: workers\n\n"
    "Trains with threads that load 3 batches ahead, stops, continues with 5,\n"
    "and compares with a run without threads.\n";

typedef struct loaded {
    pthread_t thread;
    const statesampler *plan; /* shared by all threads, never written */
    uint64_t step, indices[BATCH], records[BATCH];
    size_t count;
} loaded;

/* Yours: reads and decodes one sample. */
static uint64_t read_sample(uint64_t index)
{
    uint64_t i, x = index;

    for (i = 0; i < 100; i++)
        x = x * 6364136223846793005u + 1442695040888963407u;
    return x;
}

/* Yours: takes a step. This model depends on every record and their order. */
static void train(uint64_t *model, const uint64_t *records, size_t count)
{
    size_t i;

    for (i = 0; i < count; i++)
        *model = (*model ^ records[i]) * 6364136223846793005u + 1;
}

static void *load(void *argument)
{
    loaded *job = (loaded *)argument;
    size_t i;

    statesampler_at(job->plan, job->step, job->indices, &job->count);
    for (i = 0; i < job->count; i++)
        job->records[i] = read_sample(job->indices[i]);
    return NULL;
}

/* Trains up to a step of this epoch with `ahead` threads. Returns 0 if a thread
   cannot be started. */
static int run(statesampler *s, uint64_t until, uint64_t ahead, uint64_t *model)
{
    const statesampler plan = *s;
    loaded batches[MOST_AHEAD], *batch;
    uint64_t step = statesampler_step(s);

    while (statesampler_step(s) < until) {
        for (; step < until && step < statesampler_step(s) + ahead; step++) {
            batch = &batches[step % ahead];
            batch->plan = &plan;
            batch->step = step;
            if (pthread_create(&batch->thread, NULL, load, batch) != 0)
                return 0;
        }
        batch = &batches[statesampler_step(s) % ahead];
        if (pthread_join(batch->thread, NULL) != 0)
            return 0;
        train(model, batch->records, batch->count);
        statesampler_next(s, NULL, NULL);
    }
    return 1;
}

int main(int argc, char **argv)
{
    const statesampler_desc desc = {
        .num_samples = SAMPLES,
        .seed = 11,
        .rank = 1,
        .world_size = 4,
        .batch_size = BATCH,
    };
    unsigned char state[STATESAMPLER_STATE_BYTES];
    uint64_t batch[BATCH], model = 1, alone = 1, steps;
    statesampler s;
    size_t i, count;

    example_begin(argc, argv, 0, usage);
    example_must(statesampler_init(&s, &desc));
    steps = statesampler_num_steps(&s);
    while (statesampler_next(&s, batch, &count)) {
        for (i = 0; i < count; i++) {
            batch[i] = read_sample(batch[i]);
        }
        train(&alone, batch, count);
    }
    printf("no threads:                  model %016" PRIx64 "\n", alone);

    /* Stops at step 300, saves, and continues with more threads. */
    example_must(statesampler_init(&s, &desc));
    if (!run(&s, 300, 3, &model)) {
        example_fail(1, "cannot start a thread");
    }
    example_must(statesampler_save(&s, state, sizeof state));
    example_must(statesampler_init(&s, &desc));
    example_must(statesampler_load(&s, state, sizeof state));
    if (!run(&s, steps, 5, &model)) {
        example_fail(1, "cannot start a thread");
    }
    printf("3 ahead, then 5 ahead:       model %016" PRIx64 "\n\n", model);
    return example_end(model == alone,
                       "%" PRIu64 " batches loaded ahead by threads give the "
                       "same model as without threads",
                       steps);
}
