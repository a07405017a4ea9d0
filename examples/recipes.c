/* recipes.c - short recipes to copy, each beside a check.

       make examples && build/recipes

   README.md lists them. Names in capitals and functions marked "Yours" stand
   for your own. The check of a recipe runs it and prints one line. */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef _WIN32
#define setenv(name, value, replace) _putenv_s(name, value)
#endif
#define STATESAMPLER_IMPLEMENTATION
#define STATESAMPLER_HOSTED
#include "statesampler.h"
#include "example.h"

static const char usage[] =
    "usage: recipes\n\n"
    "Runs and checks each recipe.\n";

/* --- Shared by the recipes --------------------------------------------- */

#define SAMPLES 1003u
#define BATCH 4u
#define MOST 20000u

/* Groups are classes, files or episodes. sums[k] is the total size of the
   groups 0 .. k. */
static uint64_t size[64], sums[64];
static unsigned served[MOST];
static uint64_t num_trained;
static int num_checks, good = 1;

/* Yours: trains on samples. */
static void train(const uint64_t *samples, size_t count)
{
    size_t i;

    for (i = 0; i < count; i++) {
        served[samples[i]]++;
    }
    num_trained += count;
}

/* Sets the sizes of the groups and clears the counts. */
static void begin(uint64_t groups, uint64_t least, uint64_t range)
{
    uint64_t i;

    for (i = 0; i < groups; i++) {
        size[i] = least + i * i * 7 % range;
        sums[i] = size[i] + (i > 0 ? sums[i - 1] : 0);
    }
    memset(served, 0, sizeof served);
    num_trained = 0;
}

/* Returns 1 if samples first .. last - 1 were served this often. */
static int each_served(uint64_t first, uint64_t last, unsigned times)
{
    for (; first < last; first++) {
        if (served[first] != times) {
            return 0;
        }
    }
    return 1;
}

static int differ(const uint64_t *samples, size_t count)
{
    size_t i, j;

    for (i = 0; i < count; i++) {
        for (j = 0; j < i; j++) {
            if (samples[i] == samples[j]) {
                return 0;
            }
        }
    }
    return 1;
}

static void say(int so, const char *claim)
{
    printf("%-4s %s\n", so ? "ok" : "NOT", claim);
    good = good && so;
    num_checks++;
}

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
        .num_samples = SAMPLES, .seed = 42, .batch_size = BATCH};
    uint64_t batch[BATCH], i;
    size_t count;
    statesampler s;
    int so;

    begin(1, 1, 1);
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
        .num_samples = SAMPLES, .seed = 42, .batch_size = BATCH};
    uint64_t batches[3][BATCH], ahead, taken, epoch;
    statesampler s, plan;
    size_t counts[3];
    unsigned char state[STATESAMPLER_STATE_BYTES] = {0};
    int so = 1, more;

    begin(1, 1, 1);
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
    statesampler_desc desc = {.num_samples = SAMPLES, .seed = 42,
                              .world_size = 2, .batch_size = BATCH};
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

/* --- Map an index to its group -------------------------------------------- */

/* Groups are classes, files or episodes. Each owns as many numbers as it has
   samples, or as its weight says, and the sampler shuffles the numbers. This is
   the group that owns one: the first whose sum is above it. */
static uint64_t find_group(uint64_t groups, uint64_t number)
{
    uint64_t low = 0, high = groups - 1;

    while (low < high) { /* the distance halves each time */
        uint64_t middle = (low + high) / 2;

        if (sums[middle] > number)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static void check_find_group(void)
{
    uint64_t number, group = 0;
    int so = 1;

    begin(50, 0, 30); /* some are empty */
    for (number = 0; number < sums[49]; number++) {
        while (sums[group] <= number) {
            group++;
        }
        so = so && find_group(50, number) == group;
    }
    say(so, "groups: each number is found in its group");
}

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
    const statesampler_desc desc = {.num_samples = SAMPLES - HELD_OUT,
                                    .seed = 42, .batch_size = BATCH};
    uint64_t batch[BATCH], plain[BATCH], sample;
    statesampler_perm split;
    statesampler s, other;
    size_t count, i;
    int so = 1;

    begin(1, 1, 1);
    example_must(statesampler_init(&s, &desc));
    example_must(statesampler_perm_init(&split, SAMPLES, 42, 0, 1));
    other = s;
    while (next_of_split(&s, &split, batch, &count)) {
        statesampler_next(&other, plain, NULL);
        for (i = 0; i < count; i++) {
            so = so && batch[i] ==
                           statesampler_perm_at(&split, HELD_OUT + plain[i]);
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

/* --- P x K batches -------------------------------------------------------- */

#define CLASSES 12u
#define P 4u
#define K 3u

/* A batch of P classes with K samples of each. A round visits every class
   once, in a new order; a pass visits the samples of a class once. P divides
   CLASSES, and a class has at least K samples. Rank r of W takes the batch
   step * W + r. A checkpoint needs only the number of the batch. */
static void take_classes(uint64_t batch, uint64_t *out)
{
    statesampler_perm order;
    uint64_t i, j, turn = batch * P, round = turn / CLASSES;

    for (i = 0; i < P; i++, turn++) {
        uint64_t c, pass; /* a class; how many rounds a pass takes */

        statesampler_perm_init(&order, CLASSES, 42, round, CLASSES);
        c = statesampler_perm_at(&order, turn % CLASSES);
        pass = size[c] / K;
        statesampler_perm_init(&order, size[c], 42, round / pass, c);
        for (j = 0; j < K; j++)
            *out++ = sums[c] - size[c] +
                     statesampler_perm_at(&order, round % pass * K + j);
    }
}

static void check_take_classes(void)
{
    uint64_t batch, out[P * K], had[CLASSES] = {0}, i, k;
    int so = 1;

    begin(CLASSES, 6, 20);
    for (batch = 0; batch < 30; batch++) { /* ten rounds */
        take_classes(batch, out);
        so = so && differ(out, P * K);
        train(out, P * K);
        for (i = 0; i < P * K; i++) {
            k = find_group(CLASSES, out[i]);
            had[k]++;
            so = so && k == find_group(CLASSES, out[i / K * K]);
            so = so && served[out[i]] <= 9 / (size[k] / K) + 1;
        }
    }
    for (k = 0; k < CLASSES; k++) {
        so = so && had[k] == 10 * K;
    }
    say(so, "P x K: each class equally often, no sample twice in a batch or "
            "a pass");
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
        .batch_size = MINIBATCH};
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
    begin(1, 1, 1);
    example_must(learn_rollout(0));
    example_must(learn_rollout(1));
    say(each_served(0, ROLLOUT, 2 * PASSES),
        "PPO: 4 passes over each rollout");
}

/* --- Token windows -------------------------------------------------------- */

#define TOKENS 20000u
#define T 64u
#define DOCUMENTS 50u

static uint64_t first_window;
static int windows_fit;

/* Yours: trains on the tokens first .. last - 1. Each predicts the next. */
static void train_window(uint64_t document, uint64_t first, uint64_t last)
{
    windows_fit = windows_fit && last <= TOKENS && first < sums[document] &&
                  first >= sums[document] - size[document];
    first_window = first < first_window ? first : first_window;
    for (; first < last - 1; first++) {
        train(&first, 1);
    }
}

/* Windows of T + 1 tokens of one long array, as nanoGPT and llm.c keep it. Each
   epoch cuts it at other places. A window's document is that of its first
   token. */
static int read_windows(uint64_t epoch)
{
    const statesampler_desc desc = {
        .num_samples = TOKENS / T - 1,
        .seed = 42,
        .epoch = epoch,
        .batch_size = 8};
    uint64_t batch[8], first;
    size_t count, i;
    statesampler s;
    int code = statesampler_init(&s, &desc);

    while (code == STATESAMPLER_OK && statesampler_next(&s, batch, &count))
        for (i = 0; i < count; i++) {
            first = batch[i] * T +
                    statesampler_sample_seed(&s, epoch, STATESAMPLER_NONE) % T;
            train_window(find_group(DOCUMENTS, first), first, first + T + 1);
        }
    return code;
}

static void check_read_windows(void)
{
    uint64_t epoch, shift[3], n = (TOKENS / T - 1) * T;
    int so = 1;

    for (epoch = 0; epoch < 3; epoch++) {
        begin(DOCUMENTS, 300, 700);
        first_window = TOKENS;
        windows_fit = 1;
        example_must(read_windows(epoch));
        shift[epoch] = first_window;
        so = so && windows_fit && num_trained == n && shift[epoch] < T &&
             each_served(shift[epoch], shift[epoch] + n, 1);
    }
    say(so && shift[0] != shift[1] && shift[1] != shift[2],
        "token windows: each token once in an epoch; each epoch cuts at "
        "other places");
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

    begin(1, 1, 1);
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

/* --- Gradient accumulation ------------------------------------------------ */

#define GLOBAL 24u
#define MICRO 4u

static unsigned sums_of_step[100];

/* Yours: adds up gradients. */
static void backward(uint64_t step, const uint64_t *samples, size_t count)
{
    while (count-- > 0) {
        sums_of_step[step] += (unsigned)(samples[count] * samples[count]);
        train(samples + count, 1);
    }
}

/* A step is GLOBAL samples on any number of GPUs that divides GLOBAL. Each GPU
   takes its share in slices of MICRO samples: half the GPUs take twice as many
   slices of the same steps, also after a load in mid-epoch. */
static int accumulate(uint32_t rank, uint32_t ranks)
{
    const statesampler_desc desc = {
        .num_samples = SAMPLES,
        .seed = 42,
        .rank = rank,
        .world_size = ranks,
        .batch_size = GLOBAL / ranks,
        .tail = STATESAMPLER_TAIL_UNEVEN};
    uint64_t batch[GLOBAL];
    size_t count, i;
    statesampler s;
    int code = statesampler_init(&s, &desc);

    while (code == STATESAMPLER_OK && statesampler_next(&s, batch, &count))
        for (i = 0; i < count; i += MICRO) /* then step the optimizer */
            backward(statesampler_step(&s) - 1, batch + i,
                     count - i < MICRO ? count - i : MICRO);
    return code;
}

static void check_accumulate(void)
{
    unsigned alone[100];
    uint32_t rank, ranks;
    int so = 1;

    for (ranks = 1; ranks <= 6; ranks++) {
        if (GLOBAL % ranks != 0) {
            continue;
        }
        begin(1, 1, 1);
        memset(sums_of_step, 0, sizeof sums_of_step);
        for (rank = 0; rank < ranks; rank++) {
            example_must(accumulate(rank, ranks));
        }
        if (ranks == 1) {
            memcpy(alone, sums_of_step, sizeof alone);
        }
        so = so && each_served(0, SAMPLES, 1) &&
             memcmp(alone, sums_of_step, sizeof alone) == 0;
    }
    say(so, "gradient accumulation: a step has the same samples on 1, 2, 3, 4 "
            "and 6 GPUs");
}

/* --- Tensor, context and pipeline parallelism ----------------------------- */

#define TENSOR 2u
#define CONTEXT 2u
#define PIPELINE 3u

/* The data-parallel rank where ranks are numbered as in Megatron: tensor
   fastest, then context, data, pipeline. Processes that share a sample get the
   same rank. */
static int get_data_rank(statesampler_desc *desc)
{
    int code = statesampler_from_env(desc, NULL);

    if (code == STATESAMPLER_OK &&
        desc->world_size % (TENSOR * CONTEXT * PIPELINE) != 0)
        code = STATESAMPLER_EENV;
    if (code != STATESAMPLER_OK)
        return code;
    desc->world_size /= TENSOR * CONTEXT * PIPELINE;
    desc->rank = desc->rank / (TENSOR * CONTEXT) % desc->world_size;
    return STATESAMPLER_OK;
}

static void check_get_data_rank(void)
{
    static const unsigned data = 5;
    statesampler_desc desc = {.num_samples = SAMPLES};
    unsigned t, c, d, p, rank = 0;
    char text[12];
    int so = setenv("WORLD_SIZE", "60", 1) == 0;

    for (p = 0; p < PIPELINE; p++)
        for (d = 0; d < data; d++)
            for (c = 0; c < CONTEXT; c++)
                for (t = 0; t < TENSOR; t++, rank++) {
                    snprintf(text, sizeof text, "%u", rank);
                    so = setenv("RANK", text, 1) == 0 && so;
                    example_must(get_data_rank(&desc));
                    so = so && desc.rank == d && desc.world_size == data;
                }
    so = setenv("WORLD_SIZE", "61", 1) == 0 && so;
    so = so && get_data_rank(&desc) == STATESAMPLER_EENV;
    say(so, "parallelism: 60 processes are 5 data ranks of 12 processes");
}

/* --- Unequal GPUs --------------------------------------------------------- */

#define SHARES 6u

/* A GPU that is three times as fast acts as three of the SHARES ranks. The
   state is that of SHARES ranks, so other GPUs can go on with other shares. */
static int train_share(uint32_t first, uint32_t share)
{
    const statesampler_desc desc = {
        .num_samples = SAMPLES, .seed = 42, .world_size = SHARES,
        .batch_size = BATCH, .tail = STATESAMPLER_TAIL_UNEVEN};
    uint64_t batch[BATCH];
    size_t count;
    uint32_t rank;
    statesampler s;
    int code = statesampler_init(&s, &desc);

    while (code == STATESAMPLER_OK &&
           statesampler_step(&s) < statesampler_num_steps(&s)) {
        for (rank = first; rank < first + share; rank++) {
            statesampler_reshape(&s, rank, SHARES, BATCH);
            statesampler_at(&s, statesampler_step(&s), batch, &count);
            train(batch, count);
        }
        statesampler_next(&s, NULL, NULL);
    }
    return code;
}

static void check_train_share(void)
{
    static const uint32_t first[3] = {0, 3, 5}, share[3] = {3, 2, 1};
    uint64_t before = 0;
    unsigned gpu;
    int so = 1;

    begin(1, 1, 1);
    for (gpu = 0; gpu < 3; gpu++) {
        example_must(train_share(first[gpu], share[gpu]));
        so = so && num_trained - before >= SAMPLES / SHARES * share[gpu] &&
             num_trained - before <= (SAMPLES / SHARES + 1) * share[gpu];
        before = num_trained;
    }
    say(so && each_served(0, SAMPLES, 1),
        "unequal GPUs: 3 : 2 : 1 of the samples, each once");
}

/* --- Tar files ------------------------------------------------------------ */

#define FILES 40u
#define CHUNK 50u
#define WINDOW 4u

static uint64_t used[FILES]; /* bit w: in window w */

/* Yours: trains on one sample of a file. */
static void train_member(uint64_t file, uint64_t member)
{
    uint64_t sample = sums[file] - size[file] + member;

    used[file] |= (uint64_t)1 << num_trained / (CHUNK * WINDOW);
    train(&sample, 1);
}

/* Reads files of unequal size with few open at a time: those that hold samples
   of WINDOW chunks, each of CHUNK consecutive samples. */
static int read_files(void)
{
    const statesampler_desc desc = {
        .num_samples = sums[FILES - 1],
        .seed = 42,
        .batch_size = 16,
        .order = STATESAMPLER_ORDER_WINDOW,
        .chunk_size = CHUNK,
        .window = WINDOW};
    uint64_t batch[16], file;
    size_t count, i;
    statesampler s;
    int code = statesampler_init(&s, &desc);

    while (code == STATESAMPLER_OK && statesampler_next(&s, batch, &count))
        for (i = 0; i < count; i++) {
            file = find_group(FILES, batch[i]);
            train_member(file, batch[i] - (sums[file] - size[file]));
        }
    return code;
}

static void check_read_files(void)
{
    uint64_t window, file;
    unsigned open, most = 0;

    begin(FILES, 30, 70);
    memset(used, 0, sizeof used);
    example_must(read_files());
    for (window = 0; window < 64; window++) {
        for (open = 0, file = 0; file < FILES; file++) {
            open += (unsigned)(used[file] >> window & 1);
        }
        most = open > most ? open : most;
    }
    /* There are at most 64 windows. A chunk touches at most 3 files, as each
       has 30 samples or more. */
    say(sums[FILES - 1] <= 64 * CHUNK * WINDOW && most <= 3 * WINDOW &&
            each_served(0, sums[FILES - 1], 1),
        "tar files: each sample once, at most 12 of 40 files open");
}

/* --- Episodes ------------------------------------------------------------- */

#define EPISODES 40u
#define BEFORE 3u
#define AFTER 8u

static uint64_t length[EPISODES];
static int frames_fit = 1;

/* Yours: trains on a frame and those around it. */
static void train_frame(uint64_t episode, uint64_t frame)
{
    uint64_t sample = episode * 100 + frame;

    frames_fit = frames_fit && frame >= BEFORE &&
                 frame + AFTER < length[episode];
    train(&sample, 1);
}

/* Trains on the frames with BEFORE frames before them and AFTER after them. */
static int train_episodes(void)
{
    statesampler_desc desc = {.seed = 42, .batch_size = 16};
    uint64_t batch[16], k, sum = 0;
    size_t count, i;
    statesampler s;
    int code;

    for (k = 0; k < EPISODES; k++) {
        size[k] = length[k] > BEFORE + AFTER ? length[k] - BEFORE - AFTER : 0;
        sums[k] = sum += size[k];
    }
    desc.num_samples = sum;
    code = statesampler_init(&s, &desc);
    while (code == STATESAMPLER_OK && statesampler_next(&s, batch, &count))
        for (i = 0; i < count; i++) {
            k = find_group(EPISODES, batch[i]);
            train_frame(k, BEFORE + batch[i] - (sums[k] - size[k]));
        }
    return code;
}

static void check_train_episodes(void)
{
    uint64_t k, frames = 0;
    int so = 1;

    begin(1, 1, 1);
    for (k = 0; k < EPISODES; k++) {
        length[k] = k * k * 7 % 100; /* some are too short */
    }
    example_must(train_episodes());
    for (k = 0; k < EPISODES; k++) {
        if (length[k] > BEFORE + AFTER) {
            so = so && each_served(k * 100 + BEFORE,
                                   k * 100 + length[k] - AFTER, 1);
            frames += length[k] - BEFORE - AFTER;
        }
    }
    say(so && frames_fit && num_trained == frames,
        "episodes: each frame with 3 before it and 8 after it, once");
}

/* --- A stream of unknown length ------------------------------------------- */

#define ERA 500u
#define STEP 16u /* world_size * batch_size */

/* Takes the steps that are possible once `arrived` samples are there. Every ERA
   samples are shuffled by themselves when all of them have arrived. The sampler
   has the order SEQUENTIAL and STATESAMPLER_MAX_SAMPLES samples. All ranks must
   agree on `arrived`. When the stream ends, the rest is a last era, of its own
   length. */
static void train_arrived(statesampler *s, uint64_t arrived)
{
    uint64_t batch[STEP], ready = arrived / ERA * ERA;
    statesampler_perm order;
    size_t count, i;

    while (statesampler_position(s) + STEP <= ready) {
        statesampler_next(s, batch, &count);
        for (i = 0; i < count; i++) {
            uint64_t era = batch[i] / ERA, place = batch[i] % ERA;

            statesampler_perm_init(&order, ERA, 42, era, 0);
            batch[i] = era * ERA + statesampler_perm_at(&order, place);
        }
        train(batch, count);
    }
}

static void check_train_arrived(void)
{
    const statesampler_desc desc = {
        .num_samples = STATESAMPLER_MAX_SAMPLES,
        .batch_size = STEP,
        .order = STATESAMPLER_ORDER_SEQUENTIAL};
    uint64_t arrived, steps;
    statesampler s;
    int so = 1;

    begin(1, 1, 1);
    example_must(statesampler_init(&s, &desc));
    for (arrived = 0; arrived <= 8 * ERA; arrived += 37) {
        train_arrived(&s, arrived);
        steps = arrived / ERA * ERA / STEP;
        so = so && each_served(arrived, MOST, 0) &&
             num_trained == steps * STEP;
    }
    /* At 3996 there are 7 eras of 500: 218 whole steps, 12 samples are left. */
    say(so && num_trained == 3488 && each_served(0, 6 * ERA, 1),
        "a stream: each sample that has arrived once");
}

/* --- A stream that loses its oldest samples ------------------------------- */

/* Begins pass desc->epoch over a window of a stream: samples low .. high - 1,
   each once. What arrives meanwhile comes in the next pass. (lczero-training's
   csrc/utils/stream_shuffler.cc takes it into this one, and keeps a list of all
   that is left.) Neither bound may fall, and all ranks must agree on both. A
   checkpoint is the sampler's state and *first, which is 0 before pass 0. */
static int begin_pass(statesampler *s, statesampler_desc *desc,
                      uint64_t *first, uint64_t low, uint64_t high)
{
    statesampler_desc next = *desc;
    int code;

    next.num_samples = high - low;
    if (low < *first || high < low || high < *first + desc->num_samples)
        return STATESAMPLER_ERANGE;
    code = statesampler_init(s, &next);
    if (code == STATESAMPLER_OK) {
        *desc = next;
        *first = low;
    }
    return code;
}

/* Goes on after a kill: the state knows the pass and its size. */
static int resume_pass(statesampler *s, statesampler_desc *desc,
                       const unsigned char *state)
{
    statesampler_desc was, now = *desc;
    statesampler next;
    int code = statesampler_describe(state, STATESAMPLER_STATE_BYTES, &was,
                                     NULL);

    if (code != STATESAMPLER_OK)
        return code;
    now.num_samples = was.num_samples;
    now.epoch = was.epoch;
    code = statesampler_init(&next, &now);
    if (code == STATESAMPLER_OK)
        code = statesampler_load(&next, state, STATESAMPLER_STATE_BYTES);
    if (code == STATESAMPLER_OK) {
        *desc = now;
        *s = next;
    }
    return code;
}

/* The next batch of a pass, without what has been lost since it began: samples
   below `low`, which bounds the next pass, too. So a batch may be short. */
static int next_of_pass(statesampler *s, uint64_t first, uint64_t low,
                        uint64_t *batch, size_t *count)
{
    int more = statesampler_next(s, batch, count);
    size_t i, kept = 0;

    for (i = 0; i < *count; i++)
        if (first + batch[i] >= low)
            batch[kept++] = first + batch[i];
    *count = kept;
    return more;
}

static statesampler pass_of[3]; /* a sampler for each rank */
static uint64_t first_kept, low_kept, high_kept = 500;

/* All ranks go on from a state, or begin a pass if there is none. */
static void begin_ranks(statesampler_desc *desc, const unsigned char *state)
{
    uint32_t ranks = desc->world_size;

    while (ranks-- > 0) {
        statesampler *s = &pass_of[desc->rank = ranks];

        example_must(state ? resume_pass(s, desc, state)
                           : begin_pass(s, desc, &first_kept, low_kept,
                                        high_kept));
    }
}

/* A step of all ranks, while both ends of the stream move. */
static int step_ranks(uint32_t ranks)
{
    uint64_t batch[BATCH];
    size_t count, i;
    int more = 0;

    while (ranks-- > 0) {
        more = next_of_pass(&pass_of[ranks], first_kept, low_kept, batch,
                            &count);
        train(batch, count);
        for (i = 0; i < count; i++) {
            good = good && batch[i] >= low_kept;
        }
    }
    high_kept += more ? 3 : 0;
    low_kept += more ? 2 : 0;
    return more;
}

/* A pass, with a kill in it, after which there are `ranks`. Returns how many
   steps it took. */
static unsigned run_pass(statesampler_desc *desc, uint32_t ranks)
{
    unsigned char state[STATESAMPLER_STATE_BYTES];
    unsigned step;

    begin_ranks(desc, NULL);
    for (step = 0; step_ranks(desc->world_size); step++) {
        if (step == 20) {
            example_must(statesampler_save(pass_of, state, sizeof state));
            desc->num_samples = desc->epoch = 0;
            desc->world_size = ranks;
            begin_ranks(desc, state);
        }
    }
    return step;
}

/* What is still there at its end must come once, what was lost at most once. */
static int is_exact_pass(uint64_t pass, uint32_t ranks)
{
    statesampler_desc desc = {.seed = 42, .epoch = pass,
                              .world_size = ranks % 3 + 1, .batch_size = BATCH,
                              .tail = STATESAMPLER_TAIL_UNEVEN};
    uint64_t low = low_kept, high = high_kept;
    int so;

    begin(1, 1, 1);
    so = run_pass(&desc, ranks) > 20 && desc.epoch == pass;
    for (; low < low_kept; low++) {
        so = so && served[low] <= 1;
    }
    return so && low < high && each_served(0, first_kept, 0) &&
           each_served(low, high, 1) && each_served(high, MOST, 0);
}

static void check_passes(void)
{
    statesampler_desc desc = {.num_samples = 100, .seed = 1};
    unsigned char state[STATESAMPLER_STATE_BYTES], now[sizeof state];
    uint64_t pass, first = 50;
    int so = 1;

    for (pass = 0; pass < 7; pass++) {
        so = so && is_exact_pass(pass, (uint32_t)pass % 3 + 1);
    }
    example_must(statesampler_save(pass_of, state, sizeof state));
    so = so &&
         STATESAMPLER_KIND(resume_pass(pass_of, &desc, state)) ==
             STATESAMPLER_EMISMATCH &&
         begin_pass(pass_of, &desc, &first, 49, 150) == STATESAMPLER_ERANGE &&
         begin_pass(pass_of, &desc, &first, 200, 199) == STATESAMPLER_ERANGE &&
         begin_pass(pass_of, &desc, &first, 50, 149) == STATESAMPLER_ERANGE &&
         first == 50 && desc.num_samples == 100 && desc.epoch == 0 &&
         statesampler_save(pass_of, now, sizeof now) == STATESAMPLER_OK &&
         memcmp(state, now, sizeof now) == 0;
    say(so, "a stream that loses its oldest samples: each that is still there, "
            "once in a pass");
}

/* --- Ranks at the same step ----------------------------------------------- */

typedef struct rank_state {
    unsigned char bytes[STATESAMPLER_STATE_BYTES];
} rank_state;

/* One state restores all ranks if all of them were at the same step: their
   states are then the same bytes. Ask this before a resume on another number of
   ranks; and once more after every rank has loaded, with what each then saves,
   to find a rank that read the file after rank 0 had saved anew. (No rank may
   save before all have loaded. There an all-gather of each state's last 8
   bytes, a check word over the others, is enough.)

   OK: all are at the same step. EMISMATCH: *rank is not where rank 0 is, but
   at *place in the epoch desc->epoch. Another error: the state of *rank is
   damaged, or of another version.

   Shards that do not step together can never resume from one state. Each
   resumes from its own, as the same rank of the same world_size; or a ledger
   (ledger.h) deals the batches and takes them back in any order. */
static int same_step(const rank_state *states, uint32_t ranks, uint32_t *rank,
                     statesampler_desc *desc, statesampler_place *place)
{
    int code = STATESAMPLER_OK;

    for (*rank = 0; *rank < ranks; ++*rank) {
        code = statesampler_describe(states[*rank].bytes,
                                     STATESAMPLER_STATE_BYTES, desc, place);
        if (code != STATESAMPLER_OK)
            return code;
        if (memcmp(&states[*rank], &states[0], sizeof states[0]) != 0)
            return STATESAMPLER_EMISMATCH;
    }
    return code;
}

#define SHARDS 7u

/* Each shard runs alone: from the beginning or from its own state, for so many
   steps or to the end of the epoch. Then it saves. */
static void run_shards(rank_state *states, int resume, const unsigned *steps)
{
    statesampler_desc desc = {.num_samples = SAMPLES, .seed = 42,
                              .world_size = SHARDS, .batch_size = BATCH,
                              .tail = STATESAMPLER_TAIL_UNEVEN};
    uint64_t batch[BATCH];
    size_t count;
    statesampler s;
    unsigned i;

    for (; desc.rank < SHARDS; desc.rank++) {
        unsigned char *state = states[desc.rank].bytes;

        example_must(statesampler_init(&s, &desc));
        if (resume) {
            example_must(statesampler_load(&s, state, sizeof *states));
        }
        for (i = steps[desc.rank];
             i > 0 && statesampler_next(&s, batch, &count); i--) {
            train(batch, count);
        }
        example_must(statesampler_save(&s, state, sizeof *states));
    }
}

/* Five ranks end the epoch, all from one state. */
static void end_on_five(const rank_state *state)
{
    statesampler_desc desc = {.num_samples = SAMPLES, .seed = 42,
                              .world_size = 5, .batch_size = BATCH,
                              .tail = STATESAMPLER_TAIL_UNEVEN};
    uint64_t batch[BATCH];
    size_t count;
    statesampler s;

    for (; desc.rank < 5; desc.rank++) {
        example_must(statesampler_init(&s, &desc));
        example_must(statesampler_load(&s, state, sizeof *state));
        while (statesampler_next(&s, batch, &count)) {
            train(batch, count);
        }
    }
}

static void check_same_step(void)
{
    static const unsigned own[SHARDS] = {3, 8, 13, 18, 23, 28, 33};
    static const unsigned same[SHARDS] = {18, 18, 18, 18, 18, 18, 18};
    static const unsigned one[SHARDS] = {0, 0, 0, 0, 0, 0, 1};
    static const unsigned all[SHARDS] = {99, 99, 99, 99, 99, 99, 99};
    rank_state states[SHARDS], damaged[SHARDS];
    statesampler_desc desc;
    statesampler_place place;
    unsigned lost = 0, repeated = 0, i;
    uint32_t rank;
    int so;

    /* Out of step: one state is that of 18 steps of each, so what three shards
       have not done by then is lost, and what three have done is repeated. */
    begin(1, 1, 1);
    run_shards(states, 0, own);
    so = same_step(states, SHARDS, &rank, &desc, &place) ==
             STATESAMPLER_EMISMATCH &&
         rank == 1 && place.step == 8 && desc.epoch == 0 &&
         same_step(states, 1, &rank, &desc, &place) == STATESAMPLER_OK;
    end_on_five(&states[3]);
    for (i = 0; i < SAMPLES; i++) {
        lost += served[i] == 0;
        repeated += served[i] > 1;
    }
    so = so && lost == (15 + 10 + 5) * BATCH &&
         repeated == (5 + 10 + 15) * BATCH;

    /* Each from its own state, on as many: nothing is. */
    begin(1, 1, 1);
    run_shards(states, 0, own);
    run_shards(states, 1, all);
    so = so && each_served(0, SAMPLES, 1);

    /* In step, any state restores five ranks. */
    begin(1, 1, 1);
    run_shards(states, 0, same);
    so = so &&
         same_step(states, SHARDS, &rank, &desc, &place) == STATESAMPLER_OK &&
         place.step == 18;
    end_on_five(&states[6]);
    so = so && each_served(0, SAMPLES, 1);

    /* The last rank has read the file after it was saved anew. */
    memcpy(damaged, states, sizeof states);
    run_shards(states, 1, one);
    so = so &&
         same_step(states, SHARDS, &rank, &desc, &place) ==
             STATESAMPLER_EMISMATCH &&
         rank == 6 && place.step == 19 &&
         memcmp(states[6].bytes + sizeof *states - 8,
                states[5].bytes + sizeof *states - 8, 8) != 0;
    damaged[2].bytes[40] ^= 1;
    so = so &&
         STATESAMPLER_KIND(same_step(damaged, SHARDS, &rank, &desc, &place)) ==
             STATESAMPLER_ECORRUPT &&
         rank == 2;
    say(so, "ranks at the same step: others are refused, as one state would "
            "lose and repeat samples");
}

int main(int argc, char **argv)
{
    example_begin(argc, argv, 0, usage);
    check_train_to();
    check_read_ahead();
    check_seed_step();
    check_find_group();
    check_next_of_split();
    check_take_classes();
    check_learning();
    check_read_windows();
    check_take_negatives();
    check_accumulate();
    check_get_data_rank();
    check_train_share();
    check_read_files();
    check_train_episodes();
    check_train_arrived();
    check_passes();
    check_same_step();
    return example_end(good, "%d recipes do what they say", num_checks);
}
