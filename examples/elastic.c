/* elastic.c - one epoch served by 8 ranks, then 3, then 5.

       make examples && build/elastic

   Each rank keeps an audit of 32 bytes. Merged over all ranks of all three
   runs, the audits prove that every sample was served exactly once. With the
   tail PAD, leave the padding out of an audit, as take_step does. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include "example.h"

#define SAMPLES 1003u
#define BATCH 4u
#define MOST_RANKS 8u

static const char usage[] =
    "usage: elastic\n\n"
    "Serves one epoch of 1003 samples by 8 ranks, then 3, then 5. Each run\n"
    "continues from the state of the one before.\n";

/* What some or all ranks have served. */
typedef struct tally {
    statesampler_audit audit;
    uint64_t repeats;
} tally;

/* One rank's next step. Padding is trained on but not audited: it is the last
   `repeats` samples of the batch. */
static void take_step(tally *served, statesampler *s)
{
    size_t repeats = statesampler_padding(s, statesampler_step(s)), count;
    uint64_t batch[BATCH];

    statesampler_next(s, batch, &count);
    statesampler_audit_add(&served->audit, batch, count - repeats);
    served->repeats += repeats;
}

/* Takes at most this many steps on this many ranks, from `state` on unless it
   is the first run, and saves to `state`. Returns 1 if all ranks save the same
   bytes. */
static int run(tally *all, unsigned char state[STATESAMPLER_STATE_BYTES],
               int is_first, uint32_t world_size, uint64_t steps)
{
    statesampler ranks[MOST_RANKS];
    unsigned char other[STATESAMPLER_STATE_BYTES];
    tally served = {{0, 0, 0, 0}, 0};
    uint64_t step, position;
    uint32_t r = 0;
    int same = 1;

    do { /* there is at least one rank */
        const statesampler_desc desc = {
            .num_samples = SAMPLES,
            .seed = 7,
            .rank = r,
            .world_size = world_size,
            .batch_size = BATCH,
        };

        example_must(statesampler_init(&ranks[r], &desc));
        if (!is_first) {
            example_must(statesampler_load(&ranks[r], state, sizeof other));
        }
    } while (++r < world_size);
    position = statesampler_position(ranks);
    for (step = 0; step < steps &&
                   statesampler_step(ranks) < statesampler_num_steps(ranks);
         step++) {
        for (r = 0; r < world_size; r++) {
            take_step(&served, &ranks[r]);
        }
    }
    for (r = 0; r < world_size; r++) {
        example_must(statesampler_save(&ranks[r], other, sizeof other));
        same = same && (r == 0 || memcmp(state, other, sizeof other) == 0);
        memcpy(state, other, sizeof other);
    }
    printf("%5" PRIu32 "  %5u  %5" PRIu64 "  %5" PRIu64 " .. %4" PRIu64
           "  %7" PRIu64 "  %7" PRIu64 "\n",
           world_size, BATCH, step, position, statesampler_position(ranks) - 1,
           served.audit.count, served.repeats);
    statesampler_audit_merge(&all->audit, &served.audit);
    all->repeats += served.repeats;
    return same;
}

int main(int argc, char **argv)
{
    unsigned char state[STATESAMPLER_STATE_BYTES];
    tally all = {{0, 0, 0, 0}, 0};
    int good;

    example_begin(argc, argv, 0, usage);
    printf("ranks  batch  steps       positions    samples  repeats\n");
    good = run(&all, state, 1, 8, 10);
    good = run(&all, state, 0, 3, 20) && good;
    good = run(&all, state, 0, 5, STATESAMPLER_NONE) && good;
    printf("                                 %10" PRIu64 "  %7" PRIu64 "\n\n",
           all.audit.count, all.repeats);
    return example_end(
        good && statesampler_audit_check(&all.audit, SAMPLES),
        "%" PRIu64 " of %u samples served, each exactly once, by 8, 3 and 5 "
        "ranks",
        all.audit.count, SAMPLES);
}
