/* recipes_orders.c - orders on top of the shuffle, and draws by another one.

       make examples && build/recipes_orders

   Short recipes to copy, each beside a check, which runs it and prints a line.
   Names in capitals and functions marked "Yours" stand for your own; `train` is
   in recipes.h. */
#define STATESAMPLER_IMPLEMENTATION
#define STATESAMPLER_HOSTED
#include "statesampler.h"
#include "recipes.h"

static const char usage[] = "usage: recipes_orders\n\n"
                            "Runs and checks each recipe.\n";

/* --- An order on top of the shuffle --------------------------------------- */

#define HELD_OUT 100u

/* The next training batch of a split. `split` is a permutation of all SAMPLES,
   of another stream: its first HELD_OUT positions are the validation set, and
   the sampler shuffles the others, SAMPLES - HELD_OUT of them. perm_map turns
   a whole batch of positions into samples, in a fraction of the time of lone
   calls of perm_at. A table of your own is used in the same place. */
static int next_of_split(statesampler *s, const statesampler_perm *split,
                         uint64_t *batch, size_t *count)
{
    int more = statesampler_next(s, batch, count);
    size_t i;

    for (i = 0; i < *count; i++)
        batch[i] += HELD_OUT;
    statesampler_perm_map(split, batch, *count);
    return more;
}

static void check_next_of_split(void)
{
    const statesampler_desc desc = {
        .num_samples = SAMPLES - HELD_OUT,
        .seed = 42,
        .batch_size = BATCH,
    };
    uint64_t batch[BATCH], plain[BATCH], sample;
    statesampler_perm split;
    statesampler s, other;
    size_t count, i;
    int so = 1;

    begin_counts();
    example_must(statesampler_init(&s, &desc));
    example_must(statesampler_perm_init(&split, SAMPLES, 42, 0, 1));
    other = s;
    while (next_of_split(&s, &split, batch, &count)) {
        statesampler_next(&other, plain, NULL);
        for (i = 0; i < count; i++) {
            so = so &&
                 batch[i] == statesampler_perm_at(&split, HELD_OUT + plain[i]);
        }
        train(batch, count);
    }
    for (sample = 0; sample < SAMPLES; sample++) {
        so = so && served[sample] ==
                       (statesampler_perm_inverse(&split, sample) >= HELD_OUT);
    }
    say(so && statesampler_epoch(&s) == 1 && count == 0,
        "an order on top: each training sample once, none that is held out");
}

/* --- Reinforcement learning ----------------------------------------------- */

#define REPLAYED 32u
#define ROLLOUT 1000u
#define MINIBATCH 64u
#define PASSES 4u

/* Up to REPLAYED different ones of the `filled` transitions in the buffer.
   Returns how many: all of them while the buffer holds fewer. A checkpoint
   needs only the step. (Priorities that change at every step need a table.) */
static size_t take_replay(uint64_t step, uint64_t filled, uint64_t *out)
{
    size_t count = filled < REPLAYED ? (size_t)filled : REPLAYED;
    statesampler_perm order;

    statesampler_perm_init(&order, filled, 42, step, 0);
    statesampler_perm_fill(&order, 0, 1, out, count);
    return count;
}

/* PASSES passes over the rollout of an update, each in a new order. */
static int learn_rollout(uint64_t update)
{
    const statesampler_desc desc = {
        .num_samples = ROLLOUT,
        .seed = 42,
        .epoch = update * PASSES,
        .batch_size = MINIBATCH,
    };
    uint64_t batch[MINIBATCH];
    size_t count;
    statesampler s;
    int code = statesampler_init(&s, &desc);

    while (code == STATESAMPLER_OK &&
           statesampler_epoch(&s) < (update + 1) * PASSES)
        if (statesampler_next(&s, batch, &count))
            train(batch, count);
    return code;
}

static void check_learning(void)
{
    uint64_t step, out[REPLAYED] = {0}, last[REPLAYED] = {0};
    size_t count, i;
    int so = 1;

    for (step = 0; step < 500; step++) {
        count = take_replay(step, step / 2, out);
        so = so && count == (step / 2 < REPLAYED ? step / 2 : REPLAYED) &&
             differ(out, count) &&
             (count < 8 || memcmp(out, last, sizeof out) != 0);
        for (i = 0; i < count; i++) {
            so = so && out[i] < step / 2;
        }
        memcpy(last, out, sizeof out);
    }
    say(so, "replay: up to 32 different transitions, from an empty buffer on");
    begin_counts();
    example_must(learn_rollout(0));
    example_must(learn_rollout(1));
    say(each_served(0, ROLLOUT, 2 * PASSES), "PPO: 4 passes over each rollout");
}

/* --- Negatives ------------------------------------------------------------ */

#define NEGATIVES 8u

/* NEGATIVES different samples, none of them the anchor. They are new in each
   epoch, and the same on any rank and after any resume. Crops, masks and noise
   get their seeds in the same way. */
static void take_negatives(const statesampler *s, uint64_t epoch,
                           uint64_t anchor, uint64_t *out)
{
    uint64_t seed = statesampler_sample_seed(s, epoch, anchor);
    statesampler_perm others;
    size_t i;

    statesampler_perm_init(&others, SAMPLES - 1, seed, 0, 0);
    statesampler_perm_fill(&others, 0, 1, out, NEGATIVES);
    for (i = 0; i < NEGATIVES; i++)
        out[i] += out[i] >= anchor;
}

static void check_take_negatives(void)
{
    const statesampler_desc desc = {.num_samples = SAMPLES, .seed = 42};
    uint64_t anchor, out[NEGATIVES + 1], other[NEGATIVES];
    statesampler s;
    int so = 1;

    begin_counts();
    example_must(statesampler_init(&s, &desc));
    for (anchor = 0; anchor < SAMPLES; anchor++) {
        take_negatives(&s, 1, anchor, other);
        take_negatives(&s, 0, anchor, out);
        so = so && memcmp(out, other, sizeof other) != 0;
        train(out, NEGATIVES);
        out[NEGATIVES] = anchor;
        so = so && differ(out, NEGATIVES + 1);
    }
    for (anchor = 0; anchor < SAMPLES; anchor++) {
        so = so && served[anchor] > 0 && served[anchor] < 30;
    }
    say(so, "negatives: 8 other samples for each anchor, from the whole "
            "dataset");
}

int main(int argc, char **argv)
{
    example_begin(argc, argv, 0, usage);
    check_next_of_split();
    check_learning();
    check_take_negatives();
    return recipes_end();
}
