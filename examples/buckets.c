/* buckets.c - batches of similar length within a budget of tokens.

       make examples && build/buckets

   Compares the mix of buckets.h with random batches and with group_by_length
   (Hugging Face), which draws 50 batches at random and sorts them by length.
   Those two have a fixed batch size, chosen so that the longest sequences
   fit. */
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include "example.h"
#include "extras/buckets.h"

#define IDS 204800u
#define BUCKETS 32u
#define SIZE (IDS / BUCKETS)
#define RANKS 8u
#define FIXED 8u
#define BUDGET (FIXED * 2048) /* tokens in a rank's batch, with padding */

typedef struct tally {
    double steps, tokens, padded, largest, slots; /* slots: largest * ranks */
    statesampler_audit audit;
} tally;

/* Sequences are sorted by length, from 17 to 2,047. Most are short. */
static uint32_t length(uint64_t id)
{
    return (uint32_t)(17 + id * id / IDS * id / IDS * 2031 / IDS);
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Adds a rank's batch. Rank 0 begins a step; all ranks wait for the largest
   batch. */
static void add(tally *t, uint32_t rank, uint32_t ranks, const uint64_t *ids,
                size_t count)
{
    double most = 0, before = rank == 0 ? 0 : t->largest;
    size_t i;

    for (i = 0; i < count; t->tokens += length(ids[i++]))
        most = length(ids[i]) > most ? length(ids[i]) : most;
    most *= (double)count;
    t->padded += most;
    t->largest = most > before ? most : before;
    t->slots += ranks * (t->largest - before);
    t->steps += rank == 0;
    statesampler_audit_add(&t->audit, ids, count);
}

/* Batches of a fixed size from a random list with sorted parts. */
static void run_list(tally *t, size_t part)
{
    static uint64_t ids[IDS];
    statesampler_perm perm;
    uint32_t i;

    example_must(statesampler_perm_init(&perm, IDS, 1, 0, 0));
    statesampler_perm_fill(&perm, 0, 1, ids, IDS);
    for (i = 0; i < IDS / part; i++)
        qsort(ids + i * part, part, sizeof *ids, compare);
    for (i = 0; i < IDS / FIXED; i++)
        add(t, i % RANKS, RANKS, ids + i * FIXED, FIXED);
}

/* 8 ranks, from step `until` on `others`. Returns 0 if two ranks were in
   different buckets. */
static int run_mix(tally *t, double until, uint32_t others)
{
    static statesampler_source sources[RANKS][BUCKETS];
    uint32_t r, b, at[RANKS], ranks = RANKS, same = 1;
    statesampler_desc desc = {.world_size = RANKS};
    uint64_t batch[BUDGET / 17], i;
    statesampler_mix mix[RANKS];
    bucket buckets[BUCKETS];
    size_t count;

    for (b = 0; b < BUCKETS; b++)
        buckets[b] = (bucket){SIZE, length((b + 1) * SIZE - 1)};
    for (; desc.rank < RANKS; desc.rank++)
        example_must_say(buckets_init(&mix[desc.rank], sources[desc.rank],
                                      buckets, BUCKETS, BUDGET, &desc),
                         buckets_error);
    while (statesampler_mix_turn(mix) < statesampler_mix_num_turns(mix)) {
        for (r = 0; !(t->steps < until) && r < others; r++)
            example_must(statesampler_mix_reshape(&mix[r], r, ranks = others));
        for (r = 0; r < ranks; r++) {
            statesampler_mix_next(&mix[r], batch, &count, &at[r]);
            same = same && at[r] == at[0];
            for (i = 0; i < count; i++)
                batch[i] += statesampler_mix_offset(&mix[r], at[r]);
            add(t, r, ranks, batch, count);
        }
    }
    return (int)same;
}

/* The share of a rank's tokens that are padding, in %. */
static double padding(const tally *t)
{
    return 100 - 100 * t->tokens / t->padded;
}

/* The share of a step that ranks wait for the one with the largest batch. */
static double waiting(const tally *t)
{
    return 100 - 100 * t->padded / t->slots;
}

int main(int argc, char **argv)
{
    const char *name[] = {"random", "group_by_length", "buckets", "8, then 6"};
    static tally t[4];
    int i, good;

    example_begin(argc, argv, 0,
                  "usage: buckets\n\n"
                  "Compares three kinds of batches.\n");
    run_list(&t[0], 1);
    run_list(&t[1], 50 * FIXED);
    good = run_mix(&t[2], 0, RANKS) && run_mix(&t[3], 300, 6);
    printf("batches           steps     padding   tokens/step     waiting\n");
    for (i = 0; i < 4; i++) {
        good = good && statesampler_audit_check(&t[i].audit, IDS);
        printf("%-16s %6.0f %9.1f %% %12.0f %9.1f %%\n", name[i], t[i].steps,
               padding(&t[i]), t[i].tokens / t[i].steps, waiting(&t[i]));
    }
    good = good && 3 * t[2].steps < t[1].steps && padding(&t[0]) > 60 &&
           waiting(&t[1]) > 20;
    for (i = 2; i < 4; i++)
        good = good && padding(&t[i]) < 6 && waiting(&t[i]) < 1;
    return example_end(good,
                       "%.1f times the tokens per step, less than 6 %% "
                       "padding and 1 %% waiting, all ranks in the same "
                       "bucket, each sequence once",
                       t[1].steps / t[2].steps);
}
