/* recipes_loops.c - training loops, and loaders that read ahead.

       make examples && build/recipes_loops

   Short recipes to copy, each beside a check, which runs it and prints a line.
   Names in capitals and functions marked "Yours" stand for your own; `train` is
   in recipes.h. */
#define STATESAMPLER_IMPLEMENTATION
#define STATESAMPLER_HOSTED
#include "statesampler.h"
#include "recipes.h"

static const char usage[] = "usage: recipes_loops\n\n"
                            "Runs and checks each recipe.\n";

/* --- Loops ---------------------------------------------------------------- */

/* Trains to the end of an epoch, from wherever the sampler is. next returns 0
   once, between two epochs. Do not count calls: after num_steps of them that 0
   is still to come, and the next loop would begin with it and no batch. */
static void train_to(statesampler *s, uint64_t last_epoch)
{
    uint64_t batch[BATCH];
    size_t count;

    while (statesampler_epoch(s) <= last_epoch)
        while (statesampler_next(s, batch, &count))
            train(batch, count);
}

static void check_train_to(void)
{
    const statesampler_desc desc = {
        .num_samples = SAMPLES,
        .seed = 42,
        .batch_size = BATCH,
    };
    uint64_t batch[BATCH], i;
    size_t count;
    statesampler s;
    int so;

    begin_counts();
    example_must(statesampler_init(&s, &desc));
    for (i = 0; i < 100; i++) {
        statesampler_next(&s, batch, &count);
        train(batch, count);
    }
    train_to(&s, 2);
    so = each_served(0, SAMPLES, 3) && statesampler_epoch(&s) == 3;

    /* A loop that counts num_steps leaves the 0 of the end behind. */
    for (i = statesampler_num_steps(&s); i > 0; i--) {
        so = so && statesampler_next(&s, batch, &count) == 1;
    }
    so = so && statesampler_epoch(&s) == 3 &&
         statesampler_next(&s, batch, &count) == 0 && count == 0 &&
         statesampler_epoch(&s) == 4 && statesampler_step(&s) == 0;
    say(so, "loops: each sample once in each epoch; next returns 0 between "
            "them");
}

/* --- Loaders that read ahead ---------------------------------------------- */

/* The loader: the batch of step *ahead, which then becomes the next one. `plan`
   is a copy of the sampler, made when the loader starts. Returns 0 after the
   last step, however often it is asked. (next would begin another epoch when an
   iterator or a prefetcher asks again after the end.) */
static int read_ahead(const statesampler *plan, uint64_t *ahead, uint64_t *out,
                      size_t *count)
{
    int more = statesampler_at(plan, *ahead, out, count) == 1;

    *ahead += (uint64_t)more;
    return more;
}

/* The training loop asks this before each batch, and moves on after it, by
   statesampler_next(s, NULL, NULL). Returns 1 if the epoch is over, which may
   be so at once after a resume; the sampler is then in the next epoch. */
static int epoch_over(statesampler *s)
{
    return statesampler_step(s) == statesampler_num_steps(s) &&
           !statesampler_next(s, NULL, NULL);
}

static void check_read_ahead(void)
{
    const statesampler_desc desc = {
        .num_samples = SAMPLES,
        .seed = 42,
        .batch_size = BATCH,
    };
    uint64_t batches[3][BATCH], ahead, taken, epoch;
    statesampler s, plan;
    size_t counts[3];
    unsigned char state[STATESAMPLER_STATE_BYTES] = {0};
    int so = 1, more;

    begin_counts();
    example_must(statesampler_init(&s, &desc));
    for (epoch = 0; epoch < 2; epoch++) {
        plan = s;
        ahead = taken = statesampler_step(&s);
        for (; !epoch_over(&s); taken++) {
            do { /* up to three batches ahead, and on after the end */
                more = read_ahead(&plan, &ahead, batches[ahead % 3],
                                  &counts[ahead % 3]);
            } while (more && ahead < taken + 3);
            so = so && taken < ahead && statesampler_epoch(&s) == epoch &&
                 ahead <= statesampler_num_steps(&s);
            train(batches[taken % 3], counts[taken % 3]);
            statesampler_next(&s, NULL, NULL);
            example_must(statesampler_save(&s, state, sizeof state));
        }
        so = so && each_served(0, SAMPLES, (unsigned)epoch + 1) &&
             statesampler_epoch(&s) == epoch + 1;
        /* As if the run had been killed after the epoch's last step. */
        example_must(statesampler_load(&s, state, sizeof state));
        so = so && statesampler_epoch(&s) == epoch && epoch_over(&s) &&
             statesampler_epoch(&s) == epoch + 1;
    }
    say(so, "reading ahead: the loader stops at the end, and the sampler says "
            "when the epoch is over");
}

/* --- Randomness of a step ------------------------------------------------- */

/* The seed of a step's dropout, the same after a kill. batch[0] gives each rank
   its own. For one seed on all ranks, or where a batch may be empty or have a
   sample twice (UNEVEN, CARRY, REPLACEMENT), replace batch[0] by
   STATESAMPLER_NONE - 1 - step. What is random about a sample has the seed of
   that sample's index, on any number of ranks. */
static uint64_t seed_step(const statesampler *s, const uint64_t *batch)
{
    return statesampler_sample_seed(s, statesampler_epoch(s), batch[0]);
}

static void check_seed_step(void)
{
    unsigned char state[STATESAMPLER_STATE_BYTES];
    statesampler_desc desc = {
        .num_samples = SAMPLES,
        .seed = 42,
        .world_size = 2,
        .batch_size = BATCH,
    };
    uint64_t batch[BATCH], seeds[2][SAMPLES / BATCH], steps = 0, i;
    statesampler s;
    size_t count;
    int so = 1;

    for (; desc.rank < 2; desc.rank++) {
        example_must(statesampler_init(&s, &desc));
        steps = statesampler_num_steps(&s);
        for (i = 0; statesampler_next(&s, batch, &count); i++) {
            seeds[desc.rank][i] = seed_step(&s, batch);
            if (i == steps / 2) {
                example_must(statesampler_save(&s, state, sizeof state));
            }
        }
        so = so && i == steps && differ(seeds[desc.rank], steps);
        for (i = 0; i < steps && desc.rank == 1; i++) {
            so = so && seeds[0][i] != seeds[1][i];
        }
    }
    example_must(statesampler_load(&s, state, sizeof state));
    for (i = steps / 2 + 1; statesampler_next(&s, batch, &count); i++) {
        so = so && seeds[1][i] == seed_step(&s, batch);
    }
    say(so && i == steps, "randomness of a step: a seed for each step and "
                          "rank, the same after a resume");
}

int main(int argc, char **argv)
{
    example_begin(argc, argv, 0, usage);
    check_train_to();
    check_read_ahead();
    check_seed_step();
    return recipes_end();
}
