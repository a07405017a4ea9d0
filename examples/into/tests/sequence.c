/* sequence.c - examples/into/games/sequence.h: each number between the bounds
   once, the same in one call and in pieces, and what is refused. */
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include "examples/into/games/sequence.h"

#define MOST 300

static int failures;

static void check(int good, const char *what, int n)
{
    if (!good) {
        printf("%s: n = %d\n", what, n);
        failures++;
    }
}

/* All of min .. min + n - 1, by one call and by calls of `piece`. */
static void whole(int n, int min, unsigned piece)
{
    static char seen[MOST];
    int one[MOST], parts[MOST], good = 1, i;
    unsigned done;

    check(sequence_fill(one, 0, (unsigned)n, min, min + (n - 1), 7,
                        (unsigned)n) == NULL,
          "a fill", n);
    memset(seen, 0, sizeof seen);
    for (i = 0; i < n; i++) {
        int64_t place = (int64_t)one[i] - min;
        good = good && place >= 0 && place < n && !seen[place]++;
    }
    check(good, "each number once", n);
    for (done = 0; done < (unsigned)n; done += piece) {
        unsigned some = (unsigned)n - done;
        some = some < piece ? some : piece;
        check(sequence_fill(parts + done, done, some, min, min + (n - 1), 7,
                            (unsigned)n) == NULL,
              "a piece", n);
    }
    check(memcmp(one, parts, (size_t)n * sizeof one[0]) == 0,
          "the same in pieces", n);
}

static void refused(unsigned first, unsigned count, int min, int max)
{
    int value = 12345;

    check(sequence_fill(&value, first, count, min, max, 1, 1) != NULL &&
              value == 12345,
          "refused, and nothing written", (int)count);
}

int main(void)
{
    int all[200], other[200], n, i, j, good = 1;

    for (n = 1; n <= MOST; n++) {
        whole(n, -n / 2, 1 + (unsigned)n % 70);
        whole(n, INT_MIN, 64);
        whole(n, INT_MAX - n + 1, 65);
    }
    /* All numbers there are: some are negative, no two are equal. */
    check(sequence_fill(all, 0xffffffffu - 100, 101, INT_MIN, INT_MAX, 1, 2) ==
              NULL,
          "the whole range", 101);
    for (i = 0; i < 101; i++)
        for (j = 0; j < i; j++)
            good = good && all[i] != all[j];
    check(good, "the whole range, once each", 101);
    sequence_fill(all, 0, 200, 0, 199, 1, 2);
    sequence_fill(other, 0, 200, 0, 199, 1, 3);
    check(memcmp(all, other, sizeof all) != 0, "another number's order", 200);
    sequence_fill(other, 0, 200, 0, 199, 2, 2);
    check(memcmp(all, other, sizeof all) != 0, "another seed's order", 200);
    refused(0, 1, 1, 0);
    refused(0, 3, 1, 2);
    refused(1, 2, 1, 2);
    refused(3, 0, 1, 2);
    refused(0xffffffffu, 2, INT_MIN, INT_MAX);
    check(sequence_fill(NULL, 2, 0, 1, 2, 1, 1) == NULL, "nothing", 0);
    if (failures == 0)
        printf("sequence: right for 1 to %d numbers\n", MOST);
    return failures != 0;
}
