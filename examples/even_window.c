/* even_window.c - the last window of an epoch, when windows are made even.

       make examples && build/even_window

   The order WINDOW takes `window` chunks at a time, and the last window has
   what is left: of 1,030 chunks in windows of 64 that is 6, and the last steps
   of an epoch have samples of these alone. The largest window that is at most
   as large, and leaves a last one that is at least two thirds full, is 61
   here: sixteen windows of 61 chunks, and one of 54. (If `window` is small,
   there may be none above half of it. Then the one whose last window is the
   fullest is taken: for 211 chunks in windows of 15 that is 12.) A row has a
   step of 1,024 samples, and says from how many chunks these are, in windows of
   64 and of 61. `make examples/even_window.svg` draws the picture. A short last
   chunk stays the last of the epoch, with either. */
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include "example.h"

enum { CHUNKS = 1030, SIZE = 1000, BATCH = 1024, WINDOW = 64, STEPS = 1006 };

static const char usage[] =
    "usage: even_window\n\n"
    "Prints from how many chunks the samples of each step are, in windows of\n"
    "64 of 1,030 chunks, and in even ones.\n";

/* How many chunks the last window has. */
static uint64_t last(uint32_t chunks, uint32_t window)
{
    return chunks % window == 0 ? window : chunks % window;
}

/* The largest such window, if it is above half of `window`; else, of these, the
   one whose last window is the fullest. */
static uint32_t even(uint32_t chunks, uint32_t window)
{
    uint32_t fullest = window, less;

    for (less = window; less > window / 2; less--) {
        if (3 * last(chunks, less) >= 2 * (uint64_t)less) {
            return less;
        }
        if (last(chunks, less) * fullest > last(chunks, fullest) * less) {
            fullest = less;
        }
    }
    return fullest;
}

/* Sets from how many chunks the samples of each step are. */
static void count_chunks(uint32_t *counts, uint32_t window)
{
    const statesampler_desc desc = {
        .num_samples = (uint64_t)CHUNKS * SIZE,
        .batch_size = BATCH,
        .order = STATESAMPLER_ORDER_WINDOW,
        .chunk_size = SIZE,
        .window = window,
    };
    uint64_t batch[BATCH];
    statesampler s;
    size_t count, i;
    int step;

    example_must(statesampler_init(&s, &desc));
    for (step = 0; step < STEPS && statesampler_next(&s, batch, &count);
         step++) {
        unsigned char seen[CHUNKS] = {0};

        counts[step] = 0;
        for (i = 0; i < count; i++) {
            counts[step] += seen[batch[i] / SIZE] == 0;
            seen[batch[i] / SIZE] = 1;
        }
    }
}

static uint32_t least(const uint32_t *counts)
{
    uint32_t found = counts[0];
    int step;

    for (step = 0; step < STEPS; step++) {
        if (counts[step] < found) {
            found = counts[step];
        }
    }
    return found;
}

int main(int argc, char **argv)
{
    static uint32_t plain[STEPS], evened[STEPS];
    const uint32_t window = even(CHUNKS, WINDOW);
    int step;

    example_begin(argc, argv, 0, usage);
    count_chunks(plain, WINDOW);
    count_chunks(evened, window);
    for (step = 0; step < STEPS; step++) {
        printf("%d %u %u\n", step, plain[step], evened[step]);
    }
    example_close();
    if (window != 61 || least(plain) != 6 || least(evened) < 54 ||
        even(211, 15) != 12) {
        example_fail(1, "FAILED, even windows do not mix better");
    }
    fprintf(stderr,
            "even_window: ok, each step has samples of %u chunks or "
            "more in windows of %u, and of %u in windows of %d\n",
            least(evened), window, least(plain), WINDOW);
    return 0;
}
