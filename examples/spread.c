/* spread.c - batches without two words of one stem, killed and resumed on other
   ranks, beside a shuffle and sentence-transformers' NO_DUPLICATES.

       make examples && build/spread FILE...

   Columns: batches in which a stem comes twice; steps of 4 such batches;
   samples in batches that are not full; milliseconds, with all kills. */
#include <time.h>
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include "example.h"
#include "extras/spread.h"

enum { MOST = 1 << 20, STEM = 5, BATCH = 32, STEP = 4 * BATCH };

static const char usage[] =
    "usage: spread FILE...\n\n"
    "The samples are the first words of the FILEs' lines, 1,048,576 at most;\n"
    "those with the same first five bytes are a group.\n";

static char words[MOST][STEM + 1];
static uint64_t last, ids[MOST], members[MOST], work[MOST], order[MOST];
static uint64_t next[MOST + 1]; /* in a list that ends with `samples` */
static spread s = {.members = members, .seed = 42, .apart = STEP};

static int by_stem(const void *a, const void *b)
{
    return memcmp(a, b, STEM);
}

static void read_words(char **paths)
{
    uint64_t i;

    for (; *paths != NULL; paths++) {
        example_read(*paths);
        while (s.samples < MOST && scanf("%5s%*[^\n]", words[s.samples]) == 1)
            s.samples++;
        example_read_end(*paths);
    }
    qsort(words, (size_t)s.samples, sizeof words[0], by_stem);
    for (i = 0; i < s.samples; i++)
        ids[i] = last += i > 0 && by_stem(words[i - 1], words[i]) != 0;
}

/* Some steps of 4, 3, 2 or 1 ranks, and then a kill, the last two in vain. The
   next run lists the groups again; a state has the position and their hash. */
static int live(const statesampler_perm *shuffle, unsigned char *state,
                uint64_t number)
{
    const statesampler_desc desc = {
        .num_samples = s.samples,
        .seed = s.seed,
        .stream = statesampler_hash(s.apart, ids, (size_t)s.samples * 8),
        .batch_size = BATCH * (4 - (uint32_t)(number % 4)),
        .order = STATESAMPLER_ORDER_SEQUENTIAL,
        .tail = STATESAMPLER_TAIL_UNEVEN,
    };
    uint64_t i = spread_room(s.samples, STEP), room = i, twice = 0;
    uint64_t *out, steps = s.samples / STEP / 10 + number % 7 + 3;
    statesampler one;
    size_t count;

    s.largest = spread_list(shuffle, ids, s.samples, last + 1, members, work);
    for (; s.largest > room && i < s.samples; i++)
        twice += ids[members[i]] == ids[members[i - room]];
    if (spread_begin(&s) != STATESAMPLER_OK)
        example_fail(1, "%d words must repeat a stem in a step", (int)twice);
    example_must(statesampler_init(&one, &desc));
    if (state[0] != 0)
        example_must(statesampler_load(&one, state, STATESAMPLER_STATE_BYTES));
    for (; steps > 0; steps--) {
        out = order + statesampler_position(&one);
        if (statesampler_next(&one, out, &count) != 1)
            return 0;
        spread_map(&s, out, count);
        if (steps == 3)
            statesampler_save(&one, state, STATESAMPLER_STATE_BYTES);
    }
    return 1;
}

/* sentence_transformers/base/sampler.py at cad21198, lines 531 to 611: a batch
   takes what it can from a shuffle, and the rest waits. Batches that are not
   full come last. Returns how many samples are in full ones. */
static uint64_t no_duplicates(void)
{
    uint64_t at, i, batch, have, full = 0, *out = order, end = s.samples;

    for (i = 0; i < s.samples; i++)
        next[i == 0 ? end : order[i - 1]] = order[i];
    next[order[s.samples - 1]] = end;
    memset(work, 0, sizeof work);
    for (batch = 1; next[end] != end; batch++) { /* one goes each time */
        for (at = end, have = 0; have < BATCH && next[at] != end;) {
            i = next[at];
            if (work[ids[i]] == batch) {
                at = i;
            } else {
                *out++ = i;
                work[ids[i]] = batch;
                next[at] = next[i];
                have++;
            }
        }
        full += have / BATCH * BATCH;
    }
    return full;
}

/* In how many batches of this size a group comes twice. */
static int clashes(uint64_t size, uint64_t count)
{
    uint64_t found = 0, batch, twice, i;

    memset(work, 0, sizeof work);
    for (batch = 1; batch <= count / size; batch++, found += twice)
        for (i = (batch - 1) * size, twice = 0; i < batch * size; i++) {
            twice |= work[ids[order[i]]] == batch;
            work[ids[order[i]]] = batch;
        }
    return (int)found;
}

int main(int argc, char **argv)
{
    static const char *const ways[] = {"shuffle", "NO_DUPLICATES", "spread"};
    unsigned char state[STATESAMPLER_STATE_BYTES] = {0};
    statesampler_audit audit = {0, 0, 0, 0};
    uint64_t full, way, lives;
    statesampler_perm shuffle;
    clock_t began;

    example_begin(argc, argv, 64, usage);
    read_words(argv + 1);
    if (s.samples == 0)
        example_fail(2, "a FILE with words is needed");
    example_must(statesampler_perm_init(&shuffle, s.samples, s.seed, 0, 0));
    for (way = 0; way < 3; way++) {
        began = clock();
        statesampler_perm_fill(&shuffle, 0, 1, order, (size_t)s.samples);
        full = way == 1 ? no_duplicates() : s.samples - s.samples % BATCH;
        for (lives = 0; way == 2 && live(&shuffle, state, lives); lives++)
            continue;
        printf("%-14s %6d %6d %6d %8.2f\n", ways[way], clashes(BATCH, full),
               clashes(STEP, full), (int)(s.samples - full),
               1e3 * (double)(clock() - began) / CLOCKS_PER_SEC);
    }
    statesampler_audit_add(&audit, order, (size_t)s.samples);
    return example_end(statesampler_audit_check(&audit, s.samples) == 1 &&
                           clashes(STEP, s.samples) == 0,
                       "killed %d times, each "
                       "of %d words came once, no step has two of a stem",
                       (int)lives, (int)s.samples);
}
