/* pack.c - do examples/extras/fit.h and examples/extras/pack.h make the packs that first fit
   decreasing makes, each sample once an epoch, through any loads on any number
   of ranks, and refuse all else? */
#include "statesampler.h"
#include "examples/extras/pack.h"

#include "check.h"

enum { MOST = 600, BUDGETS = 300000, PACKS = 6 * MOST };

static uint64_t words[8][PACK_WORDS(MOST, BUDGETS)];
static uint32_t numbers[8][FIT_NUMBERS(MOST, BUDGETS)];

/* --- fit.h against the definitions ---------------------------------------- */

static int longer(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x < y) - (x > y);
}

/* Lengths, the longest first, go into the first bin that has room, or into the
   fullest. bin[i] gets the bin of the i-th longest. Returns the bins. */
static uint32_t decreasing(const uint32_t *sorted, uint32_t count,
                           uint32_t size, int best, uint32_t *bin)
{
    static uint32_t room[MOST];
    uint32_t i, b, found, bins = 0;

    for (i = 0; i < count; i++) {
        found = bins;
        for (b = 0; b < bins; b++)
            if (room[b] >= sorted[i] &&
                (found == bins || (best && room[b] < room[found])))
                found = b;
        if (found == bins)
            room[bins++] = size;
        room[found] -= sorted[i];
        bin[i] = found;
    }
    return bins;
}

static uint32_t random_length(uint32_t size)
{
    uint32_t most = check_random(3) ? size : size / 8 + 1;

    return 1 + (uint32_t)(check_random(4) ? check_random(most)
                                          : check_random(size));
}

/* Whether these are the bins of the first count lengths in f. */
static void check_bins(const fit *f, const uint32_t *lengths, uint32_t count,
                       uint64_t *first, uint64_t *best)
{
    static uint32_t sorted[MOST], bin[MOST];
    static unsigned char seen[MOST];
    uint32_t b, i, k, end;

    memcpy(sorted, lengths, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, longer);
    *best += decreasing(sorted, count, f->size, 1, bin);
    *first += f->bins;
    CHECK(f->bins == decreasing(sorted, count, f->size, 0, bin));
    memset(seen, 0, sizeof seen);
    for (b = end = 0; b < f->bins; b++) {
        CHECK(f->ends[b] == end);
        for (i = 0; i < count; i++) {
            if (bin[i] != b)
                continue;
            k = f->order[end++];
            CHECK(k < count && lengths[k] == sorted[i] && seen[k]++ == 0);
        }
    }
    CHECK(f->ends[b] == end && end == count);
}

static void check_shuffle(const fit *f)
{
    static unsigned char seen[MOST];
    uint32_t b;

    memset(seen, 0, sizeof seen);
    for (b = 0; b < f->bins; b++)
        CHECK(f->lengths[b] < f->bins && seen[f->lengths[b]]++ == 0);
}

static void fits(int runs)
{
    static const uint32_t sizes[] = {1, 2, 63, 64, 65, 100, 4095, 4096, 4097,
                                     20000, 262143, 262144, BUDGETS};
    static uint32_t lengths[MOST];
    uint64_t first = 0, best = 0;
    uint32_t i, count, most;
    int run;
    fit f;

    for (run = 0; run < runs; run++) {
        most = 1 + (uint32_t)check_random(MOST);
        count = (uint32_t)check_random(most + 1);
        fit_init(&f, most, sizes[run % 13], words[0], numbers[0]);
        for (i = 0; i < count; i++)
            lengths[i] = random_length(f.size);
        memcpy(f.lengths, lengths, count * sizeof *lengths);
        fit_bins(&f, count);
        check_bins(&f, lengths, count, &first, &best);
        fit_shuffle(&f, (uint64_t)run);
        check_shuffle(&f);
    }
    printf("%d bins; best fit decreasing makes %d\n", (int)first, (int)best);
    CHECK(first * 1000 < best * 1001);
}

/* Lengths that have become wrong are packed, too, each once. */
static void wrong_lengths(void)
{
    static const uint32_t wrong[] = {0, 101, 202, 60000, 0xffffffff};
    unsigned char seen[MOST] = {0};
    uint32_t i;
    fit f;

    fit_init(&f, MOST, 100, words[0], numbers[0]);
    for (i = 0; i < MOST; i++)
        f.lengths[i] = i % 3 ? wrong[i % 5] : random_length(100);
    fit_bins(&f, MOST);
    CHECK(f.ends[f.bins] == MOST);
    for (i = 0; i < MOST; i++)
        CHECK(f.order[i] < MOST && seen[f.order[i]]++ == 0);
}

/* Each order of three bins comes as often. */
static void shuffles(void)
{
    uint32_t times[27] = {0}, run, order;
    fit f;

    fit_init(&f, 3, 1, words[0], numbers[0]);
    for (run = 0; run < 6000; run++) {
        f.bins = 3;
        fit_shuffle(&f, run * 0x9e3779b97f4a7c15u);
        order = 9 * f.lengths[0] + 3 * f.lengths[1] + f.lengths[2];
        times[order]++;
    }
    for (order = 0; order < 27; order++)
        CHECK(times[order] == 0 ||
              (times[order] > 850 && times[order] < 1150));
    CHECK(times[5] > 0 && times[7] > 0 && times[11] > 0 && times[15] > 0 &&
          times[19] > 0 && times[21] > 0);
}

/* --- The sequence of packs ------------------------------------------------ */

/* A dataset, and what one rank serves of it that is never interrupted. */
typedef struct truth {
    statesampler_desc desc;
    uint32_t budget, width;
    uint16_t narrow[MOST];
    uint32_t wide[MOST];
    uint64_t samples[6 * MOST]; /* pack after pack */
    size_t ends[PACKS + 1], packs;
} truth;

static truth all;

static void begin(packer *p, int at)
{
    CHECK(pack_init(p, &all.desc, all.width == 2 ? (void *)all.narrow
                                                 : (void *)all.wide,
                    all.width, all.desc.num_samples, all.budget, words[at],
                    numbers[at]) == STATESAMPLER_OK);
}

static void choose(int run)
{
    static const uint32_t budgets[] = {1, 7, 64, 1000, 65535, BUDGETS};
    uint32_t i;

    memset(&all, 0, sizeof all);
    all.width = check_random(2) ? 2 : 4;
    all.budget = budgets[run % (all.width == 2 ? 5 : 6)];
    all.desc.num_samples = 1 + check_random(run % 3 ? MOST : 20);
    all.desc.seed = (uint64_t)run;
    all.desc.epoch = check_random(2) ? 5 : ~(uint64_t)0;
    all.desc.batch_size = 1 + (uint32_t)check_random(run % 2 ? MOST : 40);
    all.desc.world_size = (uint32_t)check_random(2);
    if (check_random(4) == 0) {
        all.desc.order = STATESAMPLER_ORDER_WINDOW;
        all.desc.chunk_size = 1 + check_random(10);
        all.desc.window = 1 + check_random(5);
    }
    for (i = 0; i < MOST; i++) {
        all.wide[i] = random_length(all.budget);
        all.narrow[i] = (uint16_t)all.wide[i];
    }
}

/* Three epochs by one rank: each sample once in each, and each plan's packs are
   bins of its lengths. */
static void write_down(void)
{
    static uint32_t lengths[MOST];
    unsigned char seen[MOST];
    uint64_t first = 0, best = 0, n = all.desc.num_samples, e, i, samples = 0;
    size_t count = 0, packs;
    statesampler s;
    packer p;

    begin(&p, 0);
    CHECK(statesampler_init(&s, &all.desc) == STATESAMPLER_OK);
    for (e = 0; e < 3; e++) {
        memset(seen, 0, sizeof seen);
        while (statesampler_next(&s, words[1], &count) == 1) {
            for (i = 0; i < count; i++)
                lengths[i] = all.wide[words[1][i]];
            check_bins(&p.plan, lengths, (uint32_t)count, &first, &best);
            CHECK(p.number == 0);
            for (packs = p.plan.bins; packs > 0; packs--) {
                uint64_t *out = all.samples + samples, tokens = 0;

                CHECK(p.number == p.plan.bins - packs);
                count = pack_next(&p, 0, 1, out);
                CHECK(count > 0);
                for (i = 0; i < count; i++) {
                    CHECK(out[i] < n && seen[out[i]]++ == 0);
                    tokens += all.wide[out[i]];
                }
                CHECK(tokens <= all.budget);
                samples += count;
                all.ends[++all.packs] = samples;
            }
        }
        CHECK(samples == (e + 1) * n);
    }
}

/* From a state on, so many steps on these ranks; each packer is compared with
   the sequence, and all with each other. Returns the packs that are done. */
static size_t live(uint64_t *state, size_t done, uint32_t ranks, size_t steps)
{
    uint64_t out[MOST], other[PACK_STATE];
    packer p[8];
    uint32_t r;
    size_t at, count;

    for (r = 0; r < ranks; r++) {
        begin(&p[r], (int)r);
        if (done > 0)
            CHECK(pack_load(&p[r], state, PACK_STATE) == STATESAMPLER_OK);
    }
    for (; steps > 0 && done + ranks <= all.packs; steps--, done += ranks) {
        for (r = 0; r < ranks; r++) {
            at = all.ends[done + r];
            count = pack_next(&p[r], r, ranks, out);
            CHECK(count == all.ends[done + r + 1] - at);
            CHECK(memcmp(out, all.samples + at, count * sizeof *out) == 0);
            pack_save(&p[r], other);
            if (r == 0)
                memcpy(state, other, sizeof other);
            CHECK(memcmp(state, other, sizeof other) == 0);
        }
    }
    return done;
}

static void sequences(int runs)
{
    uint64_t state[PACK_STATE];
    size_t done, before;
    int run;

    for (run = 0; run < runs; run++) {
        choose(run);
        write_down();
        for (done = 0, before = 1; done != before;) {
            before = done;
            done = live(state, done, 1 + (uint32_t)check_random(8),
                        1 + check_random(1 + all.packs / 9));
        }
        done = live(state, done, 1, all.packs);
        CHECK(done == all.packs);
    }
}

/* --- What must be refused ------------------------------------------------- */

static int begins(packer *p, uint32_t width, uint64_t count, uint32_t budget)
{
    return pack_init(p, &all.desc, all.wide, width, count, budget, words[1],
                     numbers[1]);
}

static void arguments(void)
{
    packer p;
    uint64_t n;

    choose(5);
    all.width = 4;
    n = all.desc.num_samples = 300;
    all.budget = BUDGETS;
    all.desc.batch_size = 50;
    all.wide[70] = BUDGETS;
    CHECK(begins(&p, 4, n, BUDGETS) == STATESAMPLER_OK);
    CHECK(begins(&p, 4, n + 1, BUDGETS) == STATESAMPLER_OK);
    CHECK(begins(&p, 4, n - 1, BUDGETS) == PACK_EFEW);
    CHECK(begins(&p, 4, n, BUDGETS - 1) == PACK_ELENGTH && p.number == 70);
    all.wide[31] = 0;
    CHECK(begins(&p, 4, n, BUDGETS) == PACK_ELENGTH && p.number == 31);
    all.wide[31] = 0xffffffff;
    CHECK(begins(&p, 4, n, BUDGETS) == PACK_ELENGTH && p.number == 31);
    all.wide[31] = 1;
    CHECK(begins(&p, 3, n, BUDGETS) == STATESAMPLER_EINVAL);
    CHECK(begins(&p, 4, n, 0) == STATESAMPLER_EINVAL);
    CHECK(begins(&p, 4, n, 0xffffffff) == STATESAMPLER_EINVAL);
    all.desc.world_size = 2;
    CHECK(begins(&p, 4, n, BUDGETS) == STATESAMPLER_EINVAL);
    all.desc.world_size = 1;
    all.desc.drop_last = 1;
    CHECK(begins(&p, 4, n, BUDGETS) == STATESAMPLER_EINVAL);
    all.desc.drop_last = 0;
    all.desc.batch_size = 0;
    CHECK(begins(&p, 4, n, BUDGETS) == STATESAMPLER_EINVAL);
    all.desc.batch_size = 0xffffffff;
    CHECK(begins(&p, 4, n, BUDGETS) == STATESAMPLER_EINVAL);
    all.desc.batch_size = 50;
    all.desc.rank = 1;
    CHECK(STATESAMPLER_KIND(begins(&p, 4, n, BUDGETS)) == STATESAMPLER_EINVAL);
    all.desc.rank = 0;
    all.desc.num_samples = 0;
    CHECK(begins(&p, 4, n, BUDGETS) == STATESAMPLER_EINVAL);
    all.desc.num_samples = n;
    CHECK(begins(&p, 4, n, BUDGETS) == STATESAMPLER_OK);
    CHECK(pack_next(&p, 0, 0, words[2]) == 0);
    CHECK(pack_next(&p, 1, 1, words[2]) == 0);
    CHECK(pack_next(&p, 9, 8, words[2]) == 0 && p.number == 0);
    CHECK(strstr(pack_error(PACK_EOTHER), "size of plans") != NULL);
    CHECK(strcmp(pack_error(PACK_ELENGTH), pack_error(PACK_EFEW)) &&
          strcmp(pack_error(PACK_EOTHER), pack_error(PACK_ELENGTH)) &&
          strcmp(pack_error(PACK_EOTHER), pack_error(-1104)));
    CHECK(pack_error(STATESAMPLER_EMISMATCH) ==
          statesampler_error(STATESAMPLER_EMISMATCH));
}

/* After a refusal a packer serves what another one does. */
static void refuses(packer *p, const uint64_t *state, size_t size, int want)
{
    static uint64_t out[MOST], same[MOST];
    packer was;
    size_t count;

    begin(&was, 2);
    pack_pass(&was, 33);
    CHECK(pack_load(p, state, size) == want);
    CHECK(p->number == was.number);
    count = pack_next(p, 0, 1, out);
    CHECK(count == pack_next(&was, 0, 1, same));
    CHECK(memcmp(out, same, count * sizeof *out) == 0);
    begin(p, 3);
    pack_pass(p, 33);
}

/* A state that is damaged, or of a run that differs in one thing. */
static void states(void)
{
    static truth kept;
    uint64_t state[PACK_STATE], good[PACK_STATE];
    packer p, other;
    size_t i;

    choose(2);
    all.desc.num_samples = 500;
    all.desc.batch_size = 40;
    all.budget = 1000;
    for (i = 0; i < 500; i++)
        all.wide[i] = all.narrow[i] = (uint16_t)random_length(1000);
    begin(&p, 3);
    pack_pass(&p, 33);
    begin(&other, 1);
    pack_pass(&other, 48);
    pack_save(&other, good);
    for (i = 0; i < 64 * PACK_STATE; i++) {
        memcpy(state, good, sizeof state);
        state[i / 64] ^= (uint64_t)1 << i % 64;
        refuses(&p, state, PACK_STATE, STATESAMPLER_ECORRUPT);
    }
    for (i = 0; i < PACK_STATE; i++)
        refuses(&p, good, i, STATESAMPLER_ECORRUPT);
    memcpy(state, good, sizeof state);
    state[PACK_STATE - 3] |= (uint64_t)1 << 32; /* no plan is so long */
    state[PACK_STATE - 1] = statesampler_hash(0, state, 8 * (PACK_STATE - 1));
    refuses(&p, state, PACK_STATE, STATESAMPLER_ECORRUPT);
    kept = all;
    for (i = 0; i < 5; i++) {
        all = kept;
        if (i == 0) {
            all.wide[499] = 1001 - all.wide[499];
            all.narrow[499] = (uint16_t)all.wide[499];
        }
        all.budget += i == 1;
        all.desc.batch_size += i == 2;
        all.desc.num_samples -= i == 3;
        all.desc.seed += i == 4;
        begin(&p, 3);
        pack_pass(&p, 33);
        refuses(&p, good, PACK_STATE,
                i < 4 ? PACK_EOTHER : STATESAMPLER_EMISMATCH_SEED);
    }
    all = kept;
    begin(&p, 3);
    CHECK(pack_load(&p, good, PACK_STATE) == STATESAMPLER_OK);
    CHECK(p.number == other.number &&
          p.plan.bins == other.plan.bins &&
          statesampler_position(&p.sampler) ==
              statesampler_position(&other.sampler));
}

int main(int argc, char **argv)
{
    int reduced = check_reduced(argc, argv);

    fits(reduced ? 300 : 3000);
    wrong_lengths();
    shuffles();
    sequences(reduced ? 30 : 400);
    arguments();
    states();
    return check_done("pack");
}
