/* split.c - examples/into/ggml/split.h: each epoch has every sample that is not
   held out once, through saves, loads and other batch sizes, and the samples
   held out stay the same. */
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include <stdio.h>
#include <string.h>
#include "examples/into/ggml/split.h"

#define MOST 200

static int failures;

static void check(int good, const char *what, unsigned n, unsigned held_out)
{
    if (!good && failures++ < 20)
        printf("%s: %u samples, %u held out\n", what, n, held_out);
}

static void begin(split *s, unsigned n, unsigned held_out, unsigned batch_size)
{
    check(split_init(s, n, held_out, batch_size, 42, 3) == STATESAMPLER_OK,
          "split_init", n, held_out);
}

/* Counts the samples of one epoch. After every third step a state goes to a
   split of another batch size; near the end of 1, so that none is left out. */
static void one_epoch(split *s, unsigned n, unsigned held_out, unsigned *seen)
{
    unsigned char state[STATESAMPLER_STATE_BYTES];
    const uint64_t epoch = statesampler_epoch(&s->train);
    unsigned size = 1, steps = 0;
    uint64_t batch[5];
    size_t count, i;

    while (split_next(s, batch, &count)) {
        check(count == size, "a full batch", n, held_out);
        for (i = 0; i < count; i++) {
            check(batch[i] < n, "a sample", n, held_out);
            seen[batch[i] % MOST]++;
        }
        if (++steps % 3 == 0) {
            statesampler_save(&s->train, state, sizeof state);
            size = n - held_out - statesampler_position(&s->train) < 20
                       ? 1
                       : size % 5 + 1;
            begin(s, n, held_out, size);
            check(statesampler_load(&s->train, state, sizeof state) == 0,
                  "a state", n, held_out);
        }
    }
    check(statesampler_epoch(&s->train) == epoch + 1, "an end", n, held_out);
    begin(s, n, held_out, 1);
    statesampler_begin(&s->train, epoch + 1);
}

/* What split_next and split_held_out give, by lone calls. */
static void one_by_one(unsigned n, unsigned held_out)
{
    statesampler_perm order, shuffle;
    uint64_t batch[5], place;
    unsigned i, k;
    size_t count;
    split s;

    begin(&s, n, held_out, 5);
    statesampler_perm_init(&order, n, 42, 0, ~(uint64_t)3);
    statesampler_perm_init(&shuffle, n - held_out, 42, 0, 3);
    for (k = 0; k + 5 <= n - held_out; k += 5) {
        split_next(&s, batch, &count);
        for (i = 0; i < 5; i++) {
            place = held_out + statesampler_perm_at(&shuffle, k + i);
            check(batch[i] == statesampler_perm_at(&order, place), "an order",
                  n, held_out);
        }
    }
    check(split_next(&s, batch, &count) == 0 && count == 0, "the rest", n,
          held_out);
    for (k = 0; k < held_out; k++) {
        split_held_out(&s, k, batch, 1);
        check(batch[0] == statesampler_perm_at(&order, k), "held out", n,
              held_out);
    }
}

int main(void)
{
    static const unsigned sizes[][2] = {
        {40, 0}, {40, 10}, {200, 199 - 20}, {199, 50}, {5, 0}, {60, 55},
    };
    unsigned seen[MOST], k, i, epoch;
    size_t count;
    uint64_t held[MOST];
    split s, before;

    for (k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        const unsigned n = sizes[k][0], held_out = sizes[k][1];
        one_by_one(n, held_out);
        begin(&s, n, held_out, 1);
        for (epoch = 1; epoch <= 3; epoch++) {
            memset(seen, 0, sizeof seen);
            one_epoch(&s, n, held_out, seen);
            check(split_held_out(&s, 0, held, MOST) == held_out,
                  "the samples held out", n, held_out);
            for (i = 0; i < held_out; i++)
                seen[held[i]]++;
            for (i = 0; i < n; i++)
                check(seen[i] == 1, "once", n, held_out);
        }
    }
    before = s;
    check(split_init(&s, 10, 11, 1, 1, 1) == STATESAMPLER_EINVAL &&
              split_init(&s, 10, 10, 1, 1, 1) == STATESAMPLER_EINVAL &&
              split_init(&s, 10, 5, 6, 1, 1) == STATESAMPLER_EINVAL &&
              split_init(&s, 10, 10, 0, 1, 1) == STATESAMPLER_EINVAL &&
              split_init(&s, 0, 0, 0, 1, 1) == STATESAMPLER_EINVAL &&
              split_init(&s, STATESAMPLER_NONE, 5, 5, 1, 1) < 0 &&
              split_init(&s, STATESAMPLER_MAX_SAMPLES + 5, 5, 5, 1, 1) < 0,
          "what is refused", 10, 0);
    check(memcmp(&before, &s, sizeof s) == 0, "changed by an error", 10, 0);
    check(split_init(&s, 10, 5, 5, 1, 1) == STATESAMPLER_OK &&
              split_init(&s, 10, 9, 0, 1, 1) == STATESAMPLER_OK &&
              split_next(&s, held, &count) == 1 && count == 1,
          "a batch_size of 0 is 1", 10, 9);
    check(split_held_out(&s, 9, held, 3) == 0 &&
              split_held_out(&s, 8, held, 3) == 1 &&
              split_held_out(&s, STATESAMPLER_NONE, held, 3) == 0,
          "no more than are held out", 10, 9);
    if (failures == 0)
        printf("split: right for %d datasets\n", (int)k);
    return failures != 0;
}
