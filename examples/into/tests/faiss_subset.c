/* faiss_subset.c - examples/into/faiss/faiss_subset.h: in an epoch no vector
   comes twice, with any number of readers, and all readers together have the
   subset that one alone has. */
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include <stdio.h>
#include <string.h>
#include "examples/into/faiss/faiss_subset.h"

#define MOST 24u

static int failures;

static void check(int good, const char *what, unsigned n, unsigned count,
                  unsigned readers)
{
    if (!good && failures++ < 20)
        printf("%s: %u vectors, subsets of %u, %u readers\n", what, n, count,
               readers);
}

/* The next subset, put together from what each reader gathers. Returns what
   faiss_subset_next does, which is the same for all readers. */
static int next_subset(faiss_subset *readers, unsigned n, uint64_t *subset)
{
    const unsigned world = readers->world_size;
    uint64_t numbers[MOST], vectors[MOST];
    int more = 0, good = 1;
    unsigned r, i;

    for (i = 0; i < n; i++)
        vectors[i] = i;
    for (r = 0; r < world; r++) {
        int got = faiss_subset_next(&readers[r], numbers);

        good = good && (r == 0 || got == more);
        more = got;
        if (more)
            faiss_subset_gather(&readers[r], numbers, vectors,
                                sizeof vectors[0], subset);
    }
    check(good, "readers that end together", n, readers->part * world, world);
    return more;
}

static void begin(faiss_subset *readers, unsigned n, unsigned count,
                  unsigned world)
{
    unsigned r;

    for (r = 0; r < world; r++)
        check(faiss_subset_init(&readers[r], n, count, 7, 1, r, world) ==
                  STATESAMPLER_OK,
              "faiss_subset_init", n, count, world);
}

/* Three epochs beside one reader's. After the second subset the state of the
   last reader goes to all of them. */
static void epochs(unsigned n, unsigned count, unsigned world)
{
    unsigned char state[STATESAMPLER_STATE_BYTES];
    faiss_subset readers[MOST], alone;
    uint64_t subset[MOST], wanted[MOST];
    unsigned epoch, i, r, seen[MOST], subsets;

    begin(readers, n, count, world);
    begin(&alone, n, count, 1);
    for (epoch = 0; epoch < 3; epoch++) {
        memset(seen, 0, sizeof seen);
        for (subsets = 0; next_subset(readers, n, subset); subsets++) {
            check(next_subset(&alone, n, wanted) == 1 &&
                      memcmp(subset, wanted, count * sizeof subset[0]) == 0,
                  "another subset than one reader's", n, count, world);
            for (i = 0; i < count; i++)
                check(subset[i] < n && seen[subset[i]]++ == 0, "a vector twice",
                      n, count, world);
            if (subsets == 1) {
                statesampler_save(&readers[world - 1].sampler, state,
                                  sizeof state);
                begin(readers, n, count, world);
                for (r = 0; r < world; r++)
                    check(statesampler_load(&readers[r].sampler, state,
                                            sizeof state) == STATESAMPLER_OK,
                          "a state", n, count, world);
            }
        }
        check(next_subset(&alone, n, wanted) == 0 && subsets == n / count,
              "the number of subsets", n, count, world);
    }
}

int main(void)
{
    unsigned n, count, world, shapes = 0;
    faiss_subset s;

    for (n = 1; n <= MOST; n++)
        for (count = 1; count <= n; count++)
            for (world = 1; world <= count; world++)
                if (count % world == 0) {
                    epochs(n, count, world);
                    shapes++;
                } else {
                    check(faiss_subset_init(&s, n, count, 7, 1, 0, world) ==
                              STATESAMPLER_EINVAL,
                          "no multiple", n, count, world);
                }
    check(faiss_subset_init(&s, 3, 4, 7, 1, 0, 1) == STATESAMPLER_EINVAL &&
              faiss_subset_init(&s, 3, 0, 7, 1, 0, 1) == STATESAMPLER_EINVAL &&
              STATESAMPLER_KIND(faiss_subset_init(&s, 3, 2, 7, 1, 2, 2)) ==
                  STATESAMPLER_EINVAL &&
              faiss_subset_init(&s, 3, 2, 7, 1, 0, 0) == STATESAMPLER_EINVAL,
          "what is refused", 3, 0, 0);
    if (failures == 0)
        printf("faiss_subset: right for %u shapes\n", shapes);
    return failures != 0;
}
