/* sequence.h - distinct random numbers between two bounds, in the time of one
   pass. Copy it if you like. Include it after statesampler.h.

   It stands for raylib's LoadRandomSequence and UnloadRandomSequence, which
   draw again for as long as a number was there before. */
#ifndef SEQUENCE_H
#define SEQUENCE_H

STATESAMPLER_WRAP_BEGIN

/* Writes `count` distinct numbers of min .. max to values, in a random order.
   Each pair of seed and number has an order of its own, the same on every
   machine: save the two instead of the values. More values of the same order:
   call it again with first = count, and so on.
   Returns NULL, or what is wrong, and then has written nothing. */
static inline const char *sequence_fill(int *values, unsigned first,
                                        unsigned count, int min, int max,
                                        uint64_t seed, uint64_t number)
{
    uint64_t piece[64], range = (uint64_t)((int64_t)max - min) + 1;
    statesampler_perm perm;
    unsigned i, size;

    if (max < min || first > range || count > range - first)
        return "there are not as many numbers between min and max";
    statesampler_perm_init(&perm, range, seed, number, 0);
    for (; count > 0; first += size, count -= size) {
        size = count < 64 ? count : 64;
        statesampler_perm_fill(&perm, first, 1, piece, size);
        for (i = 0; i < size; i++)
            *values++ = (int)(min + (int64_t)piece[i]);
    }
    return NULL;
}

STATESAMPLER_WRAP_END

#endif
