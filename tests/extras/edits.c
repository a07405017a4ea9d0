/* edits.c - examples/extras/edits.h: through random edits, ranks, batch sizes
   and tails, every id that is there is served once in an epoch, no id after it
   was removed, and positions and ids map to each other. */
#include "statesampler.h"
#include "../check.h"
#include "examples/extras/edits.h"

#define MOST 400u /* ids of a program */

/* A program: the stack, and what it should be. */
static edits all;
static edit made[8];
static edit_out outs[512];
static statesampler_desc desc;
static statesampler s;
static uint64_t ids[MOST];           /* the id at each position, by edits_id */
static uint64_t length, served;      /* so many positions were served */
static unsigned char state_of[MOST]; /* of an id: 0 new, 1 there, 2 removed */
static unsigned times[MOST];         /* how often an id was served */

static void begin_stack(uint64_t max_out)
{
    memset(&desc, 0, sizeof desc);
    desc.order = STATESAMPLER_ORDER_SEQUENTIAL;
    edits_init(&all, check_random(1000), 0, made, 8, outs, max_out);
}

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
              before.count == sizeof made / sizeof made[0]);
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

/* A stack that is saved and loaded into other arrays is the same. */
static void check_state(void)
{
    static unsigned char state[EDITS_BYTES(8, 512)], again[sizeof state];
    static edit other_made[8];
    static edit_out other_outs[512];
    const size_t size = EDITS_BYTES((size_t)all.count, (size_t)all.num_out);
    edits other;
    size_t i;

    CHECK(edits_save(&all, state, size - 1) == STATESAMPLER_ECAPACITY);
    CHECK(edits_save(&all, state, size) == STATESAMPLER_OK);
    edits_init(&other, 0, 0, other_made, all.count, other_outs, all.num_out);
    CHECK(edits_load(&other, state, size) == STATESAMPLER_OK);
    CHECK(edits_save(&other, again, size) == STATESAMPLER_OK);
    CHECK(memcmp(state, again, size) == 0);
    for (i = 0; i < length; i++)
        CHECK(edits_id(&other, other.count, i) == edits_id(&all, all.count, i));
    i = check_random(8 * size);
    state[i / 8] = (unsigned char)(state[i / 8] ^ 1 << i % 8);
    CHECK(STATESAMPLER_KIND(edits_load(&other, state, size)) ==
          STATESAMPLER_ECORRUPT);
    state[i / 8] = (unsigned char)(state[i / 8] ^ 1 << i % 8);
    CHECK(STATESAMPLER_KIND(edits_load(&other, state, size - 8)) ==
          STATESAMPLER_ECORRUPT);
    if (all.count > 0) {
        other.max_made = all.count - 1;
        CHECK(edits_load(&other, state, size) == STATESAMPLER_ECAPACITY);
        other.max_made = all.count;
    }
    if (all.num_out > 0) {
        other.max_out = all.num_out - 1;
        CHECK(edits_load(&other, state, size) == STATESAMPLER_ECAPACITY);
    }
    CHECK(edits_save(&other, again, size) == STATESAMPLER_OK);
    CHECK(memcmp(state, again, size) == 0);
}

/* A stack that was accepted is possible, and finds an id for every position and
   a position for every id. */
static void check_possible(void)
{
    uint64_t k, p, ids_before = 0, removed = 0;

    for (k = 0; k < all.count; k++) {
        const edit *e = &all.made[k];

        CHECK(e->added == 0 || e->removed == 0);
        CHECK(k == 0 || e->position >= e[-1].position);
        CHECK(k == 0 || e->removed <= e[-1].length - e->position);
        ids_before += e->added;
        removed += e->removed;
    }
    CHECK(ids_before == all.ids && removed == all.num_out);
    for (p = 0; p < all.made[all.count - 1].length; p++)
        CHECK(edits_id(&all, all.count, p) < all.ids);
    for (p = 0; p < all.ids; p++)
        (void)edits_position(&all, all.count, p);
}

/* Any number of a state is forged, with the check word that it then should
   have. A stack that is impossible is refused, and nothing has changed. */
static void check_forged(void)
{
    static const uint64_t out[3] = {1, 3, 4};
    unsigned char state[EDITS_BYTES(3, 3)], again[sizeof state];
    unsigned char forged[sizeof state];
    unsigned refused = 0, i;
    size_t size, last;

    begin_stack(3);
    CHECK(statesampler_init(&s, &desc) == STATESAMPLER_OK);
    CHECK(edits_make(&all, &s, 6, NULL, 0) == STATESAMPLER_OK);
    statesampler_next(&s, NULL, NULL);
    CHECK(edits_make(&all, &s, 0, out, 3) == STATESAMPLER_OK);
    CHECK(edits_make(&all, &s, 5, NULL, 0) == STATESAMPLER_OK);
    size = EDITS_BYTES((size_t)all.count, (size_t)all.num_out);
    last = size - 8;
    CHECK(edits_save(&all, state, size) == STATESAMPLER_OK);
    for (i = 0; i < 1000; i++) {
        memcpy(forged, state, size);
        do {
            const size_t at = 8 + 8 * (size_t)check_random(last / 8 - 1);
            const unsigned char *from = forged + at;
            uint64_t number = edits_read(&from) + check_random(5) - 2;

            if (check_random(8) == 0)
                number = check_random_bits((unsigned)check_random(62) + 1);
            edits_write(forged + at, number);
        } while (check_random(3) > 0);
        edits_write(forged + last, statesampler_hash(0, forged, last));
        CHECK(edits_load(&all, state, size) == STATESAMPLER_OK);
        if (edits_load(&all, forged, size) != STATESAMPLER_OK) {
            CHECK(edits_save(&all, again, size) == STATESAMPLER_OK);
            CHECK(memcmp(state, again, size) == 0);
            refused++;
        } else {
            check_possible();
        }
    }
    CHECK(refused > 300 && refused < 1000);
}

/* Impossible stacks that are whole otherwise: more is removed than is left; ids
   are added and removed at once; an id is removed by no edit. */
static void check_impossible(void)
{
    static const edit second[3] = {
        {4, 3, 6, 0, 0, 3},
        {0, 5, 6, 2, 0, 3},
        {0, 4, 6, 0, 0, 2},
    };
    unsigned char state[EDITS_BYTES(2, 3)];
    unsigned i, k;

    for (i = 0; i < 3; i++) {
        begin_stack(3);
        CHECK(statesampler_init(&s, &desc) == STATESAMPLER_OK);
        CHECK(edits_make(&all, &s, 6, NULL, 0) == STATESAMPLER_OK);
        all.made[all.count++] = second[i];
        all.ids += second[i].added;
        for (k = 0; k < 3; k++)
            all.out[all.num_out++].id = k;
        CHECK(edits_save(&all, state, sizeof state) == STATESAMPLER_OK);
        CHECK(edits_load(&all, state, sizeof state) ==
              STATESAMPLER_ECORRUPT_POSITION);
    }
}

/* Very many removed ids, some of them twice, in any order. */
static void check_many(uint64_t many)
{
    edit_out *big = (edit_out *)calloc((size_t)many, sizeof *big);
    uint64_t *out = (uint64_t *)calloc((size_t)many, sizeof *out), i, id;
    statesampler_perm perm;

    CHECK(big != NULL && out != NULL);
    begin_stack(0);
    edits_init(&all, 1, 0, made, 8, big, many);
    CHECK(statesampler_init(&s, &desc) == STATESAMPLER_OK);
    CHECK(edits_make(&all, &s, 2 * many, NULL, 0) == STATESAMPLER_OK);
    statesampler_perm_init(&perm, many, 3, 0, 0);
    for (i = 0; i < many; i++) /* every other id of the first half, twice */
        out[i] = statesampler_perm_at(&perm, i) / 2 * 2;
    CHECK(edits_make(&all, &s, 0, out, many) == STATESAMPLER_OK);
    CHECK(all.num_out == many / 2);
    CHECK(statesampler_num_steps(&s) == 2 * many - many / 2);
    for (i = 0; i < many; i++)
        CHECK(edits_is_out(&all, i) == (i % 2 == 0));
    for (i = 0; i < 2 * many - many / 2; i += 97) {
        id = edits_id(&all, 2, i);
        CHECK(id >= many || id % 2 == 1);
        CHECK(edits_position(&all, 2, id) == i);
    }
    free(big);
    free(out);
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

    begin_stack(512);
    memset(state_of, 0, sizeof state_of);
    memset(times, 0, sizeof times);
    length = served = 0;
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
            check_state();
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

    begin_stack(64);
    CHECK(statesampler_init(&s, &desc) == STATESAMPLER_OK);
    CHECK(edits_make(&all, &s, 5, NULL, 0) == STATESAMPLER_OK);
    before = all;
    CHECK(edits_make(&all, &s, (uint64_t)0 - 2, NULL, 0) < 0);
    CHECK(edits_make(&all, &s, (uint64_t)0 - 5, NULL, 0) == EDITS_EIDS);
    CHECK(edits_make(&all, &s, max - 4, NULL, 0) == EDITS_EIDS);
    CHECK(edits_make(&all, &s, 1, out, 1) == EDITS_EBOTH);
    CHECK(strstr(edits_error(EDITS_EBOTH), "not both") != NULL);
    CHECK(strstr(edits_error(EDITS_EIDS), "2^62") != NULL);
    CHECK(strstr(edits_error(EDITS_EBACK), "further on") != NULL);
    CHECK(edits_error(EDITS_EBACK - 1) == statesampler_error(EDITS_EBACK - 1));
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
    begin_stack(0);
    desc.batch_size = 2;
    CHECK(statesampler_init(&s, &desc) == STATESAMPLER_OK &&
          edits_make(&all, &s, 6, NULL, 0) == STATESAMPLER_OK);
    statesampler_next(&s, NULL, NULL);
    statesampler_next(&s, NULL, NULL);
    CHECK(edits_make(&all, &s, 6, NULL, 0) == STATESAMPLER_OK);
    statesampler_begin(&s, 1);
    CHECK(edits_make(&all, &s, 6, NULL, 0) == EDITS_EBACK && all.count == 2 &&
          statesampler_num_steps(&s) == 6);
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

    begin_stack(3);
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
    check_impossible();
    for (k = 0; k < 30; k++)
        check_forged();
    check_many(check_reduced(argc, argv) ? 2000 : 200000);
    check_next_epoch();
    check_spares();
    for (k = 0; k < programs; k++)
        run_program(tails[k % 3]);
    return check_done("edits");
}
