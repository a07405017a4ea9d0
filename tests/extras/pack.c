/* pack.c - does examples/extras/pack.h make the packs that first fit decreasing
   makes, each sample once an epoch, through any loads on any number of ranks,
   and refuse all else? */
#include "statesampler.h"
#include "examples/extras/pack.h"

#include "../check.h"
#include "bins.h"

enum { MOST = BINS_MOST, BUDGETS = 300000, PACKS = 6 * MOST };

static uint64_t words[8][PACK_WORDS(MOST, BUDGETS)];
static uint32_t numbers[8][FIT_NUMBERS(MOST, BUDGETS)];

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
    CHECK(pack_init(p, &all.desc,
                    all.width == 2 ? (void *)all.narrow : (void *)all.wide,
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
        all.wide[i] = bins_random_length(all.budget);
        all.narrow[i] = (uint16_t)all.wide[i];
    }
}

/* Three epochs by one rank: each sample once in each, and each plan's packs are
   bins of its lengths. */
static void write_down(void)
{
    static uint32_t lengths[MOST];
    unsigned char seen[MOST];
    uint64_t n = all.desc.num_samples, e, i, samples = 0;
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
            bins_check(&p.plan, lengths, (uint32_t)count);
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
    int code;

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
    CHECK(begins(&p, 3, n, BUDGETS) == PACK_EWIDTH);
    CHECK(begins(&p, 4, n, 0) == PACK_EBUDGET);
    CHECK(begins(&p, 4, n, 0xffffffff) == PACK_EBUDGET);
    all.desc.world_size = 2;
    CHECK(begins(&p, 4, n, BUDGETS) == PACK_EWORLD);
    all.desc.world_size = 1;
    all.desc.drop_last = 1;
    CHECK(begins(&p, 4, n, BUDGETS) == PACK_EDROP);
    all.desc.drop_last = 0;
    all.desc.batch_size = 0;
    CHECK(begins(&p, 4, n, BUDGETS) == PACK_EPLAN);
    all.desc.batch_size = 0xffffffff;
    CHECK(begins(&p, 4, n, BUDGETS) == PACK_EPLAN);
    all.desc.batch_size = 50;
    all.desc.rank = 1;
    CHECK(STATESAMPLER_KIND(begins(&p, 4, n, BUDGETS)) == STATESAMPLER_EINVAL);
    all.desc.rank = 0;
    all.desc.num_samples = 0;
    CHECK(begins(&p, 4, n, BUDGETS) == PACK_EEMPTY);
    all.desc.num_samples = n;
    CHECK(begins(&p, 4, n, BUDGETS) == STATESAMPLER_OK);
    CHECK(pack_next(&p, 0, 0, words[2]) == 0);
    CHECK(pack_next(&p, 1, 1, words[2]) == 0);
    CHECK(pack_next(&p, 9, 8, words[2]) == 0 && p.number == 0);
    CHECK(strstr(pack_error(PACK_EOTHER), "size of plans") != NULL);
    for (code = PACK_EWIDTH; code < PACK_ELENGTH; code++)
        CHECK(strcmp(pack_error(code), pack_error(code + 1)) != 0);
    CHECK(pack_error(PACK_EWIDTH - 1) == statesampler_error(PACK_EWIDTH - 1));
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
        all.wide[i] = all.narrow[i] = (uint16_t)bins_random_length(1000);
    begin(&p, 3);
    pack_pass(&p, 33);
    begin(&other, 1);
    pack_pass(&other, 48);
    pack_save(&other, good);
    for (i = 0; i < 64 * PACK_STATE; i++) {
        memcpy(state, good, sizeof state);
        state[i / 64] ^= (uint64_t)1 << i % 64;
        refuses(&p, state, PACK_STATE, STATESAMPLER_ECORRUPT_CHECK);
    }
    for (i = 0; i < PACK_STATE; i++)
        refuses(&p, good, i, STATESAMPLER_ECORRUPT_SIZE);
    memcpy(state, good, sizeof state);
    state[PACK_STATE - 3] |= (uint64_t)1 << 32; /* no plan is so long */
    state[PACK_STATE - 1] = statesampler_hash(0, state, 8 * (PACK_STATE - 1));
    refuses(&p, state, PACK_STATE, STATESAMPLER_ECORRUPT_POSITION);
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
    CHECK(p.number == other.number && p.plan.bins == other.plan.bins &&
          statesampler_position(&p.sampler) ==
              statesampler_position(&other.sampler));
}

int main(int argc, char **argv)
{
    int reduced = check_reduced(argc, argv);

    sequences(reduced ? 30 : 400);
    arguments();
    states();
    return check_done("pack");
}
