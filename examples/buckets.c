/* buckets.c - batches by length for a budget of tokens, the same on all ranks.

       make examples && build/buckets

   A mix over buckets: each is a source with a batch size of its own, and its
   weight is the number of its batches. Beside it random batches, and the rule
   of group_by_length (Hugging Face): 50 batches at random, sorted by length.
   Those two have a fixed batch size, for which the longest must fit. */
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include "example.h"

#define IDS 204800u
#define BUCKETS 32u
#define RANKS 8u
#define BUDGET 16384u /* tokens of a rank's batch, padding included */
#define FIXED (BUDGET / 2048)

typedef struct tally {
    double steps, tokens, padded, largest, time; /* time: sum of the largest */
    statesampler_audit audit;
} tally;

/* Sequences lie sorted by length, from 17 to 2,047; short ones are many. */
static uint32_t length(uint64_t id)
{
    return (uint32_t)(17 + id * id / IDS * id / IDS * 2031 / IDS);
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Adds a rank's batch. With rank 0 a step begins; all wait for the largest. */
static void add(tally *t, uint32_t rank, const uint64_t *ids, size_t count)
{
    double most = 0, before = rank == 0 ? 0 : t->largest;
    size_t i;

    for (i = 0; i < count; i++) {
        t->tokens += length(ids[i]);
        most = length(ids[i]) > most ? length(ids[i]) : most;
    }
    most *= (double)count;
    t->padded += most;
    t->largest = most > before ? most : before;
    t->time += t->largest - before;
    t->steps += rank == 0;
    statesampler_audit_add(&t->audit, ids, count);
}

/* Batches of a fixed size from a random list, of which parts are sorted. */
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
        add(t, i % RANKS, ids + i * FIXED, FIXED);
}

/* 8 ranks, and from a step on others, each with a mix of its own. Returns 0 if
   at any turn two were in different buckets. */
static int run_mix(tally *t, double until, uint32_t others)
{
    static statesampler_source sources[RANKS][BUCKETS];
    uint64_t batch[BUDGET / 17], i;
    uint32_t r, b, bucket[RANKS], ranks = RANKS, same = 1;
    statesampler_mix mix[RANKS];
    size_t count;

    for (r = 0; r < ranks; r++) {
        for (b = 0; b < BUCKETS; b++) {
            const statesampler_desc desc = {
                .num_samples = IDS / BUCKETS, .stream = b, .rank = r,
                .world_size = ranks, .tail = STATESAMPLER_TAIL_UNEVEN,
                .batch_size = BUDGET / length((b + 1) * (IDS / BUCKETS) - 1)};
            statesampler *s = &sources[r][b].sampler;

            example_must(statesampler_init(s, &desc));
            sources[r][b].weight = (uint32_t)statesampler_num_steps(s);
        }
        example_must(statesampler_mix_init(&mix[r], sources[r], BUCKETS,
                                           STATESAMPLER_STOP_ALL));
    }
    while (statesampler_mix_turn(mix) < statesampler_mix_num_turns(mix)) {
        for (r = 0; !(t->steps < until) && r < others; r++)
            example_must(statesampler_mix_reshape(&mix[r], r, ranks = others));
        for (r = 0; r < ranks; r++) {
            statesampler_mix_next(&mix[r], batch, &count, &bucket[r]);
            same = same && bucket[r] == bucket[0];
            for (i = 0; i < count; i++)
                batch[i] += statesampler_mix_offset(&mix[r], bucket[r]);
            add(t, r, batch, count);
        }
    }
    return (int)same;
}

int main(int argc, char **argv)
{
    static const char *const name[] = {"random", "group_by_length", "buckets"};
    static tally t[4];
    int i, good;

    example_begin(argc, argv, 0, "usage: buckets\n\nThree ways to batch "
                  "sequences of 17 to 2,047 tokens, on 8 ranks.\n");
    run_list(&t[0], 1);
    run_list(&t[1], 50 * FIXED);
    good = run_mix(&t[2], 0, RANKS) && run_mix(&t[3], 300, 6);
    printf("batches           steps     padding   tokens/step     waiting\n");
    for (i = 0; i < 4; i++) {
        good = good && statesampler_audit_check(&t[i].audit, IDS);
        if (i < 3)
            printf("%-16s %6.0f %9.1f %% %12.0f %9.1f %%\n", name[i],
                   t[i].steps, 100 - 100 * t[i].tokens / t[i].padded,
                   t[i].tokens / t[i].steps,
                   100 - 100 * t[i].padded / (RANKS * t[i].time));
    }
    return example_end(good && 3 * t[2].steps < t[1].steps, "%.1f times the "
                       "tokens a step, in the same bucket on all ranks; each "
                       "sequence once, on 8 ranks, and 8, then 6",
                       t[1].steps / t[2].steps);
}
