/* instructions.c - one program for an emulator that counts instructions:

       instructions N COUNT NEW OLD

   fills an array with COUNT indices, NEW times by this header, and another one
   OLD times by version 0.4.0's, at every 8th of N positions; then it compares
   the two. COUNT is at most 16,384. */
#include "statesampler.h"

#define OLDSAMPLER_IMPLEMENTATION
#include "oldsampler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 16384 };

int main(int argc, char **argv)
{
    static uint64_t out[MOST], old_out[MOST];
    statesampler_perm perm;
    oldsampler_perm old;
    uint64_t n;
    size_t count;
    int i;
    if (argc != 5)
        return 2;
    n = strtoull(argv[1], NULL, 10);
    count = strtoul(argv[2], NULL, 10);
    if (count > MOST || statesampler_perm_init(&perm, n, 1, 2, 3) != 0 ||
        oldsampler_perm_init(&old, n, 1, 2, 3) != 0)
        return 2;
    for (i = 0; i < atoi(argv[3]); i++)
        statesampler_perm_fill(&perm, 0, 8, out, count);
    for (i = 0; i < atoi(argv[4]); i++)
        oldsampler_perm_fill(&old, 0, 8, old_out, count);
    if (memcmp(out, old_out, sizeof out) != 0) {
        fprintf(stderr, "another index than that of 0.4.0\n");
        return 1;
    }
    return 0;
}
