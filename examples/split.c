/* split.c - validation sets, folds and nested subsets of exact size, without a
   list.

       make examples && build/split

   A set is a range of positions of one permutation. Its ids are those at these
   positions, and the inverse says whether an id is in it. The permutation has
   another stream than the training order. */
#include <inttypes.h>
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include "example.h"

#define FOLDS 5u
#define SAMPLES 100003u

static statesampler_perm perm;
static unsigned char seen[SAMPLES], folds[SAMPLES];

/* The ids at positions first .. last - 1. */
typedef struct range {
    uint64_t first, last;
} range;

static int is_in(range set, uint64_t id)
{
    uint64_t position = statesampler_perm_inverse(&perm, id);
    return position >= set.first && position < set.last;
}

static range get_fold(uint64_t n, uint64_t k)
{
    range fold = {n * k / FOLDS, n * (k + 1) / FOLDS}; /* n up to 2^61 */
    return fold;
}

/* Trains on all ids that are not in a set, shuffled: the sampler's index counts
   the positions outside the set. */
static void train_without(range set)
{
    const statesampler_desc desc = {
        .num_samples = SAMPLES - (set.last - set.first),
        .seed = 42,
        .batch_size = 100,
    };
    uint64_t batch[100];
    statesampler s;
    size_t count, i;

    example_must(statesampler_init(&s, &desc));
    while (statesampler_next(&s, batch, &count))
        for (i = 0; i < count; i++) {
            uint64_t after = batch[i] < set.first ? 0 : set.last - set.first;
            seen[statesampler_perm_at(&perm, batch[i] + after)]++;
        }
}

/* How many ids are in a set, by asking for each. */
static uint64_t count_ids(range set)
{
    uint64_t id, count = 0;

    for (id = 0; id < SAMPLES; id++)
        count += (uint64_t)is_in(set, id);
    return count;
}

/* Each id must be in exactly one fold, and be trained on once for each other
   fold. */
static int check_folds(void)
{
    uint64_t k, id;
    int good = 1;

    for (k = 0; k < FOLDS; k++) {
        range fold = get_fold(SAMPLES, k);
        memset(seen, 0, sizeof seen);
        train_without(fold);
        for (id = 0; id < SAMPLES; id++) {
            good = good && seen[id] == !is_in(fold, id);
            folds[id] = (unsigned char)(folds[id] + is_in(fold, id));
        }
        printf("fold %" PRIu64 ": %" PRIu64 " ids for validation, %" PRIu64
               " for training\n",
               k, count_ids(fold), SAMPLES - (fold.last - fold.first));
        good = good && count_ids(fold) == fold.last - fold.first;
    }
    for (id = 0; id < SAMPLES; id++)
        good = good && folds[id] == 1;
    return good;
}

int main(int argc, char **argv)
{
    const range validation = {0, 5000}, rest = {5000, SAMPLES};
    const range tenth = {0, SAMPLES / 10}, fifth = {0, SAMPLES / 5};
    const uint64_t huge = 1000000000000, id = 123456789012;
    uint64_t i, nested = 0;
    int good;

    example_begin(argc, argv, 0,
                  "usage: split\n\n"
                  "Splits samples into sets of exact size.\n");
    example_must(statesampler_perm_init(&perm, SAMPLES, 42, 0, 7));
    printf("%u ids:\nvalidation: %" PRIu64 " ids, training: %" PRIu64 "\n",
           SAMPLES, count_ids(validation), count_ids(rest));
    good = check_folds() && count_ids(validation) == 5000;
    for (i = 0; i < SAMPLES; i++)
        nested += (uint64_t)(is_in(tenth, i) && is_in(fifth, i));
    printf("10 %%: %" PRIu64 " ids; 20 %%: %" PRIu64 " ids, including %" PRIu64
           " of the 10 %%\n",
           count_ids(tenth), count_ids(fifth), nested);
    good = good && nested == SAMPLES / 10 && count_ids(fifth) == SAMPLES / 5;
    example_must(statesampler_perm_init(&perm, huge, 42, 0, 7));
    printf("10^12 ids, a permutation of %u bytes:\n", (unsigned)sizeof perm);
    for (i = 0; i < FOLDS; i++) {
        range fold = get_fold(huge, i);
        printf("fold %" PRIu64 ": %" PRIu64 " ids%s\n", i,
               fold.last - fold.first,
               is_in(fold, id) ? ", including 123456789012" : "");
        nested += (uint64_t)is_in(fold, id);
    }
    return example_end(good && nested == SAMPLES / 10 + 1,
                       "sets of exact "
                       "size, each id in one fold, the 10 %% in the 20 %%");
}
