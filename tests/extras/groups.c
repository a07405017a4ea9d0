/* groups.c - does examples/extras/groups.h serve what TRL's nested loops do,
   whatever part of them is asked for? */
#include "statesampler.h"
#include "../check.h"

/* What is looked up must be there, also prompts that nobody asked for. */
static void look_up(const statesampler_perm *order, uint64_t first,
                    uint64_t stride, uint64_t *out, size_t count)
{
    CHECK(count > 0 && first < order->n && count <= order->n - first);
    statesampler_perm_fill(order, first, stride, out, count);
}

#define statesampler_perm_fill look_up
#include "examples/extras/groups.h"

#define MOST 9600u

/* trl/trainer/utils.py, RepeatSampler.__iter__ and __len__: generation batches,
   their uses, prompts, copies. */
static size_t write_down(const groups *g, uint64_t *places)
{
    uint64_t first, use, p, copy;
    size_t n = 0;

    for (first = 0; first + g->batch <= g->prompts; first += g->batch)
        for (use = 0; use < g->reuse; use++)
            for (p = first; p < first + g->batch; p++)
                for (copy = 0; copy < g->copies; copy++)
                    places[n++] = p;
    CHECK(n == g->prompts / g->batch * g->batch * g->copies * g->reuse);
    return n;
}

static void any_part(const groups *g)
{
    static uint64_t places[MOST], out[MOST + 1], firsts[60];
    statesampler_perm order;
    size_t n = write_down(g, places), first, count, i;
    int tries;

    CHECK(groups_positions(g) == n);
    CHECK(statesampler_perm_init(&order, g->prompts, 1, 2, 3) ==
          STATESAMPLER_OK);
    for (i = 0; i < n; i++)
        CHECK(groups_place(g, i) == places[i]);
    for (tries = 0; tries < 20; tries++) {
        first = (size_t)check_random(n + 1);
        count = (size_t)check_random(n - first + 1);
        out[count] = 77;
        groups_fill(g, &order, first, out, count);
        for (i = 0; i < count; i++)
            CHECK(out[i] == statesampler_perm_at(&order, places[first + i]));
        CHECK(out[count] == 77);
        groups_places(g, first, out, count);
        CHECK(count == 0 || memcmp(out, places + first, 8 * count) == 0);
        CHECK(out[count] == 77);
    }
    for (i = n; i-- > 0;) /* the first one stays */
        firsts[places[i]] = i;
    for (i = 0; i < g->prompts; i++)
        if (i < g->prompts - g->prompts % g->batch)
            CHECK(groups_first(g, i) == firsts[i]);
        else
            CHECK(groups_first(g, i) >= n);
}

static void check_positions(uint64_t prompts, uint64_t copies, uint64_t batch,
                            uint64_t reuse, uint64_t want)
{
    groups g;

    g.prompts = prompts;
    g.copies = copies;
    g.batch = batch;
    g.reuse = reuse;
    CHECK(groups_positions(&g) == want);
}

static void limits(void)
{
    const uint64_t most = STATESAMPLER_MAX_SAMPLES;

    check_positions(10, 0, 1, 1, 0);
    check_positions(10, 1, 0, 1, 0);
    check_positions(10, 1, 1, 0, 0);
    check_positions(10, 8, 11, 1, 0);
    check_positions(0, 8, 1, 1, 0);
    check_positions(most, 1, most, 1, most);
    check_positions(most / 2 + 1, 2, 1, 1, 0);
    check_positions(most / 8 + 7, 2, 8, 4, most);
    check_positions(most / 8 + 8, 2, 8, 4, 0);
    check_positions(STATESAMPLER_NONE, STATESAMPLER_NONE, 1, STATESAMPLER_NONE,
                    0);
    check_positions(48, 1, 48, STATESAMPLER_NONE, 0);
    check_positions(3, STATESAMPLER_NONE, 1, 2, 0);
}

int main(int argc, char **argv)
{
    int run, runs = check_reduced(argc, argv) ? 200 : 2000;

    for (run = 0; run < runs; run++) {
        groups g;

        g.prompts = 1 + check_random(60);
        g.copies = 1 + check_random(20);
        g.batch = 1 + check_random(g.prompts);
        g.reuse = 1 + check_random(8);
        any_part(&g);
    }
    limits();
    return check_done("groups");
}
