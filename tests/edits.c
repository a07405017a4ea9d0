/* edits.c - examples/extras/edits.h: through random edits, ranks, batch sizes and
   tails, every id that is there is served once in an epoch, no id after it was
   removed, and positions and ids map to each other. */
#include "statesampler.h"
#include "check.h"
#include "examples/extras/edits.h"

#define MOST 400u /* ids of a program */

/* A program: the stack, and what it should be. */
static edits all;
static statesampler_desc desc;
static statesampler s;
static uint64_t ids[MOST]; /* the id at each position, by edits_id */
static uint64_t length, served; /* so many positions were served */
static unsigned char state_of[MOST]; /* of an id: 0 new, 1 there, 2 removed */
static unsigned times[MOST]; /* how often an id was served */

/* Whether the positions have these ids, each that is there once. */
static void check_map(uint64_t unchanged)
{
    unsigned had[MOST];
    uint64_t p, id, there = 0;

    memset(had, 0, sizeof had);
    for (p = 0; p < length; p++) {
        id = edits_id(&all, all.count, p);
        CHECK(id < MOST);
        CHECK(p >= unchanged || id == ids[p]);
        CHECK(state_of[id] == 1);
        CHECK(had[id]++ == 0);
        CHECK(edits_position(&all, all.count, id) == p);
        ids[p] = id;
    }
    for (id = 0; id < MOST; id++)
        there += state_of[id] == 1;
    CHECK(there == length);
}

/* Adds or removes some ids. */
static void make_edit(void)
{
    static edits before;
    uint64_t out[70], added = 0, count = 0, k, id, removed = 0;
    int code;

    before = all;
    if (check_random(2) == 0 || all.ids == 0)
        added = check_random(all.ids + 60 < MOST ? 60 : 1);
    else
        count = check_random(20);
    for (k = 0; k < count; k++) /* some twice, some that do not exist */
        out[k] = check_random((unsigned)all.ids + 3);
    code = edits_make(&all, &s, added, out, count);
    if (all.count == before.count) {
        CHECK(memcmp(&all, &before, sizeof all) == 0);
        CHECK(code == STATESAMPLER_ECAPACITY &&
              before.count == sizeof all.made / sizeof all.made[0]);
        return;
    }
    CHECK(code == STATESAMPLER_OK);
    for (id = before.ids; id < all.ids; id++)
        state_of[id] = 1;
    for (k = 0; k < count; k++) {
        id = out[k];
        if (id < before.ids && state_of[id] == 1 && times[id] == 0) {
            state_of[id] = 2;
            removed++;
        }
    }
    CHECK(all.ids - before.ids == added);
    CHECK(all.made[all.count - 1].removed == removed);
    length += added - removed;
    check_map(served);
}

/* A step of all ranks. Returns 0 at the epoch's end. */
static int train(void)
{
    uint64_t batch[8], position = statesampler_position(&s);
    size_t count, i;
    statesampler one = s;
    uint32_t r;

    if (statesampler_step(&s) >= statesampler_num_steps(&s))
        return 0;
    for (r = 0; r < desc.world_size; r++) {
        statesampler_reshape(&one, r, desc.world_size, desc.batch_size);
        statesampler_at(&one, statesampler_step(&s), batch, &count);
        for (i = 0; i < count; i++)
            if (position + r + i * desc.world_size < length)
                times[edits_id(&all, all.count, batch[i])]++;
    }
    statesampler_next(&s, NULL, NULL);
    served = statesampler_position(&s);
    served = served < length ? served : length;
    return 1;
}

/* Ranks and a batch size. */
static void choose_shape(void)
{
    desc.world_size = (uint32_t)(1 + check_random(4));
    desc.batch_size = (uint32_t)(1 + check_random(8));
}

static void run_program(uint32_t tail)
{
    unsigned char state[STATESAMPLER_STATE_BYTES];
    unsigned turns, id, left = 0, wrong = 0;
    uint64_t lost = 0;

    memset(&desc, 0, sizeof desc);
    memset(&all, 0, sizeof all);
    memset(state_of, 0, sizeof state_of);
    memset(times, 0, sizeof times);
    length = served = 0;
    all.seed = check_random(1000);
    desc.order = STATESAMPLER_ORDER_SEQUENTIAL;
    desc.tail = tail;
    choose_shape();
    CHECK(statesampler_init(&s, &desc) == STATESAMPLER_OK);
    for (turns = 0; turns < 200; turns++) {
        if (check_random(4) == 0)
            make_edit();
        /* At the end: an edit, once in a while, or stop. */
        if (!train() && check_random(3) == 0)
            break;
        if (check_random(6) == 0) { /* killed; goes on in another shape */
            statesampler_save(&s, state, sizeof state);
            desc.num_samples = length;
            choose_shape();
            CHECK(statesampler_init(&s, &desc) == STATESAMPLER_OK);
            CHECK(statesampler_load(&s, state, sizeof state) ==
                  STATESAMPLER_OK);
        }
    }
    while (train())
        continue; /* an epoch has at most MOST steps */
    for (id = 0; id < MOST; id++) {
        left += state_of[id] == 1 && times[id] == 0;
        wrong += times[id] > 1 || (state_of[id] != 1 && times[id] > 0);
    }
    CHECK(wrong == 0);
    if (tail == STATESAMPLER_TAIL_DROP)
        lost = length - statesampler_position(&s);
    CHECK(left == lost);
}

/* Sums of numbers that are too large are refused, and change nothing. */
static void check_sums(void)
{
    static const uint64_t max = STATESAMPLER_MAX_SAMPLES;
    static edits before;
    uint64_t out[65] = {0};

    memset(&desc, 0, sizeof desc);
    memset(&all, 0, sizeof all);
    desc.order = STATESAMPLER_ORDER_SEQUENTIAL;
    CHECK(statesampler_init(&s, &desc) == STATESAMPLER_OK);
    CHECK(edits_make(&all, &s, 5, NULL, 0) == STATESAMPLER_OK);
    before = all;
    CHECK(edits_make(&all, &s, (uint64_t)0 - 2, NULL, 0) < 0);
    CHECK(edits_make(&all, &s, (uint64_t)0 - 5, NULL, 0) < 0);
    CHECK(edits_make(&all, &s, max - 4, NULL, 0) < 0);
    CHECK(edits_make(&all, &s, 1, out, 1) < 0);
    CHECK(edits_make(&all, &s, 0, out, 65) == STATESAMPLER_ECAPACITY);
    CHECK(memcmp(&all, &before, sizeof all) == 0);
    CHECK(statesampler_num_steps(&s) == 5);
    CHECK(edits_make(&all, &s, 0, out, 1) == STATESAMPLER_OK);
    CHECK(edits_make(&all, &s, max - 4, NULL, 0) < 0);
    CHECK(edits_make(&all, &s, max - 5, NULL, 0) == STATESAMPLER_OK);
    CHECK(edits_position(&all, all.count, edits_id(&all, all.count, max / 2)) ==
          max / 2);
}

/* A stack is of one epoch: in the next one places begin anew. */
static void check_next_epoch(void)
{
    memset(&desc, 0, sizeof desc);
    memset(&all, 0, sizeof all);
    desc.order = STATESAMPLER_ORDER_SEQUENTIAL;
    desc.batch_size = 2;
    CHECK(statesampler_init(&s, &desc) == STATESAMPLER_OK &&
          edits_make(&all, &s, 6, NULL, 0) == STATESAMPLER_OK);
    statesampler_next(&s, NULL, NULL);
    statesampler_next(&s, NULL, NULL);
    CHECK(edits_make(&all, &s, 6, NULL, 0) == STATESAMPLER_OK);
    statesampler_begin(&s, 1);
    CHECK(edits_make(&all, &s, 6, NULL, 0) == STATESAMPLER_EINVAL &&
          all.count == 2 && statesampler_num_steps(&s) == 6);
}

/* --- Spares --------------------------------------------------------------- */

static uint64_t readable[2];
static unsigned calls;

static int is_readable(uint64_t id)
{
    calls++;
    return id == readable[0] || id == readable[1];
}

static void check_spares(void)
{
    const uint64_t nobody = STATESAMPLER_NONE - 1;
    uint64_t out[3] = {1, 3, 5}, id;

    memset(&desc, 0, sizeof desc);
    memset(&all, 0, sizeof all);
    desc.order = STATESAMPLER_ORDER_SEQUENTIAL;
    readable[0] = readable[1] = nobody;
    CHECK(edits_spare(&all, 0, is_readable) == STATESAMPLER_NONE);
    CHECK(statesampler_init(&s, &desc) == STATESAMPLER_OK &&
          edits_make(&all, &s, 10, NULL, 0) == STATESAMPLER_OK &&
          edits_make(&all, &s, 0, out, 3) == STATESAMPLER_OK);
    for (id = 0; id < 10; id++) {
        if (id == out[0] || id == out[1] || id == out[2])
            continue;
        calls = 0;
        readable[0] = readable[1] = nobody;
        CHECK(edits_spare(&all, id, is_readable) == STATESAMPLER_NONE &&
              calls == 10);
        readable[0] = 3; /* which was removed */
        readable[1] = 5;
        CHECK(edits_spare(&all, id, is_readable) == STATESAMPLER_NONE);
        readable[1] = 8;
        CHECK(edits_spare(&all, id, is_readable) == 8);
        readable[0] = id;
        CHECK(edits_spare(&all, id, is_readable) == id);
    }
    CHECK(edits_spare(&all, 10, is_readable) == STATESAMPLER_NONE);
}

int main(int argc, char **argv)
{
    static const uint32_t tails[] = {STATESAMPLER_TAIL_PAD,
                                     STATESAMPLER_TAIL_DROP,
                                     STATESAMPLER_TAIL_UNEVEN};
    const unsigned programs = check_reduced(argc, argv) ? 300 : 3000;
    unsigned k;

    check_sums();
    check_next_epoch();
    check_spares();
    for (k = 0; k < programs; k++)
        run_program(tails[k % 3]);
    return check_done("edits");
}
