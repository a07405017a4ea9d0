/* raylib.c - distinct random numbers by raylib's own function and by ours: the
   time of each, and whether all numbers come once.

       cc -O2 -I. -o build/raylib examples/into/games/raylib.c -lraylib -lm
       build/raylib

   It opens no window. */
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include <raylib.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "sequence.h"

#define MOST 30000

static int values[MOST];

static double now(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

/* Whether each number from 0 on is there once. */
static int is_whole(const int *sequence, int count)
{
    static char seen[MOST];
    int i, good = 1;

    memset(seen, 0, sizeof seen);
    for (i = 0; i < count; i++) {
        good = good && sequence[i] >= 0 && sequence[i] < count &&
               !seen[sequence[i]]++;
    }
    return good;
}

int main(void)
{
    const int counts[] = {16, 52, 1024, MOST};
    int i, k, turns, good = 1;
    double start, theirs, ours;

    SetRandomSeed(42);
    for (k = 0; k < 4; k++) {
        const int n = counts[k];
        turns = n < MOST ? 20000 / n : 1;
        start = now();
        for (i = 0; i < turns; i++) {
            int *sequence = LoadRandomSequence((unsigned)n, 0, n - 1);
            good = good && is_whole(sequence, n);
            UnloadRandomSequence(sequence);
        }
        theirs = (now() - start) / turns;
        start = now();
        for (i = 0; i < turns; i++) {
            sequence_fill(values, 0, (unsigned)n, 0, n - 1, 42, (unsigned)i);
            good = good && is_whole(values, n);
        }
        ours = (now() - start) / turns;
        printf("n = %d: LoadRandomSequence %.2f us, sequence_fill %.2f us\n", n,
               theirs * 1e6, ours * 1e6);
    }
    printf("raylib " RAYLIB_VERSION ": %s\n",
           good ? "each number came once" : "NUMBERS CAME TWICE");
    return !good;
}
