/* ramp.c - batches that grow and ranks that die, in mid-epoch.

       make examples && build/ramp

   The learning rate follows the position, because steps differ in size. Two
   ranks die. The first dies in a step that is not committed: the others repeat
   the step. The second dies in a step that is committed without it: its share,
   the pair (step, rank), is noted and served at the end. */
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include "example.h"

#define SAMPLES 20000u
#define RANKS 8u
#define LARGEST 16u
#define NOBODY RANKS

static statesampler s[RANKS]; /* one per rank */
static uint32_t ranks = RANKS;

static uint32_t batch_size_at(uint64_t position)
{
    if (position < 2000)
        return 4;
    return position < 8000 ? 8 : LARGEST;
}

/* Rises to 1 over 2,000 samples, then falls to 0: 0.5 on average. */
static double rate_at(double position)
{
    if (position < 2000)
        return position / 2000;
    if (position < SAMPLES)
        return (SAMPLES - position) / (SAMPLES - 2000);
    return 0;
}

static uint32_t dies_at(uint64_t position)
{
    if (ranks == 8 && position >= 6000)
        return 5;
    if (ranks == 7 && position >= 14000)
        return 2;
    return NOBODY;
}

/* Takes the next step on all ranks but one, and audits it. Returns 1 if these
   ranks then save the same bytes. */
static int take_step(statesampler_audit *audit, uint32_t dead)
{
    unsigned char first[STATESAMPLER_STATE_BYTES], state[sizeof first];
    uint64_t batch[LARGEST];
    uint32_t r, same = 1;
    size_t count;

    for (r = 0; r < ranks; r++) {
        if (r == dead)
            continue;
        statesampler_next(&s[r], batch, &count);
        statesampler_audit_add(audit, batch, count);
        statesampler_save(&s[r], r == 0 ? first : state, sizeof state);
        same = same && (r == 0 || memcmp(first, state, sizeof state) == 0);
    }
    return (int)same;
}

int main(int argc, char **argv)
{
    const statesampler_desc desc = {
        .num_samples = SAMPLES,
        .tail = STATESAMPLER_TAIL_UNEVEN,
    };
    statesampler_audit audit = {0, 0, 0, 0}, share;
    double n, at_position, at_step, by_position = 0, by_step = 0;
    uint64_t batch[LARGEST], position, step, owed_step = 0;
    uint32_t r, dead, owed_rank = 0;
    statesampler owed;
    size_t count;
    int good = 1;

    example_begin(argc, argv, 0,
                  "usage: ramp\n\n"
                  "Serves an epoch with growing batches in which two ranks "
                  "die.\n");
    for (r = 0; r < RANKS; r++)
        example_must(statesampler_init(&s[r], &desc));
    printf("position  step  ranks  batch  rate  by steps\n");
    while ((position = statesampler_position(s)) < SAMPLES) {
        for (r = 0; r < ranks; r++) /* mostly changes nothing */
            example_must(statesampler_reshape(&s[r], r, ranks,
                                              batch_size_at(position)));
        dead = dies_at(position);
        step = statesampler_step(s);
        memset(&share, 0, sizeof share);
        good = take_step(&share, dead) && good;
        n = (double)(statesampler_position(s) - position);
        at_position = rate_at((double)position);
        at_step = rate_at((double)step * RANKS * LARGEST);
        if (step % 25 == 0 || dead != NOBODY)
            printf("%8d  %4d  %5u  %5u  %.2f  %8.2f  %s\n", (int)position,
                   (int)step, ranks, batch_size_at(position), at_position,
                   at_step, dead != NOBODY ? "a rank dies" : "");
        if (dead != NOBODY && ranks == RANKS) { /* repeat the step */
            for (r = 0; r < ranks; r++)
                example_must(statesampler_seek(&s[r], step));
        } else {
            statesampler_audit_merge(&audit, &share);
            by_position += n * at_position / SAMPLES;
            by_step += n * at_step / SAMPLES;
        }
        if (dead != NOBODY) { /* the last one noted is served at the end */
            owed = s[0];
            owed_step = step;
            owed_rank = dead;
            ranks--;
            memmove(s + dead, s + dead + 1, (ranks - dead) * sizeof *s);
        }
    }
    good = good && audit.count == SAMPLES - LARGEST;
    example_must(statesampler_reshape(&owed, owed_rank, ranks + 1, LARGEST));
    example_must(statesampler_at(&owed, owed_step, batch, &count));
    statesampler_audit_add(&audit, batch, count);
    printf("mean rate of a sample: planned 0.500, by position %.3f, by "
           "steps %.3f\n%d samples served at the end: step %d of rank %u\n\n",
           by_position, by_step, (int)count, (int)owed_step, owed_rank);
    return example_end(good && statesampler_audit_check(&audit, SAMPLES) &&
                           (int)(100 * by_position) == 50,
                       "3 batch sizes on 8, 7 and 6 ranks, each sample once");
}
