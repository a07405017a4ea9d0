/* recipes_parallel.c - GPUs that share the work.

       make examples && build/recipes_parallel

   Short recipes to copy, each beside a check, which runs it and prints a line.
   Names in capitals and functions marked "Yours" stand for your own; `train` is
   in recipes.h. */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include <stdlib.h>

#ifdef _WIN32
#define setenv(name, value, replace) _putenv_s(name, value)
#endif
#define STATESAMPLER_IMPLEMENTATION
#define STATESAMPLER_HOSTED
#include "statesampler.h"
#include "recipes.h"

static const char usage[] = "usage: recipes_parallel\n\n"
                            "Runs and checks each recipe.\n";

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
        .tail = STATESAMPLER_TAIL_UNEVEN,
    };
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
        begin_counts();
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
        .num_samples = SAMPLES,
        .seed = 42,
        .world_size = SHARES,
        .batch_size = BATCH,
        .tail = STATESAMPLER_TAIL_UNEVEN,
    };
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

    begin_counts();
    for (gpu = 0; gpu < 3; gpu++) {
        example_must(train_share(first[gpu], share[gpu]));
        so = so && num_trained - before >= SAMPLES / SHARES * share[gpu] &&
             num_trained - before <= (SAMPLES / SHARES + 1) * share[gpu];
        before = num_trained;
    }
    say(so && each_served(0, SAMPLES, 1),
        "unequal GPUs: 3 : 2 : 1 of the samples, each once");
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
    statesampler_desc desc = {
        .num_samples = SAMPLES,
        .seed = 42,
        .world_size = SHARDS,
        .batch_size = BATCH,
        .tail = STATESAMPLER_TAIL_UNEVEN,
    };
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
    statesampler_desc desc = {
        .num_samples = SAMPLES,
        .seed = 42,
        .world_size = 5,
        .batch_size = BATCH,
        .tail = STATESAMPLER_TAIL_UNEVEN,
    };
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
    begin_counts();
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
    begin_counts();
    run_shards(states, 0, own);
    run_shards(states, 1, all);
    so = so && each_served(0, SAMPLES, 1);

    /* In step, any state restores five ranks. */
    begin_counts();
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
    check_accumulate();
    check_get_data_rank();
    check_train_share();
    check_same_step();
    return recipes_end();
}
