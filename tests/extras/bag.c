/* bag.c - does examples/extras/bag.h do what a bag must? All functions in any
   order, against lists of what came and of what is in hands and a count of what
   is left; after each of them all but the items and the state is lost. */
#define STATESAMPLER_STATIC
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include "examples/extras/bag.h"
#include "../check.h"

enum { ROOM = 40, VALUES = 60 };

static uint32_t items[ROOM], came[ROOM], size, at, left[VALUES];
static uint32_t hands[ROOM], held;
static uint64_t order[ROOM];
static unsigned char state[BAG_BYTES];

static uint32_t random_below(uint32_t bound)
{
    return (uint32_t)check_random(bound);
}

static bag bag_of(uint32_t count, uint32_t seed)
{
    const bag b = {items, order, ROOM, count, seed, 0, 0, 0, 0, 0};

    return b;
}

/* --- against lists -------------------------------------------------------- */

/* Forgets all but the items, `held` and the state; what was in RAM must come
   back. */
static void is_killed(bag *b)
{
    static uint64_t old[ROOM];
    const bag was = *b;
    uint32_t i;

    bag_save(b, state);
    memcpy(old, order, sizeof old);
    memset(order, 7, sizeof order);
    *b = bag_of(was.count, 0);
    b->held = was.held;
    CHECK(bag_begin(b, state) == STATESAMPLER_OK);
    CHECK(memcmp(old, order, was.count * sizeof order[0]) == 0);
    CHECK(b->seed == was.seed && b->number == was.number);
    CHECK(b->back == was.back && b->drawn == was.drawn && b->base == was.base);
    CHECK(b->held == held && b->drawn == held + size);
    for (i = 0; i < held; i++)
        CHECK(items[order[i]] == hands[i]);
    for (i = 0; i < size; i++)
        CHECK(items[order[held + i]] == came[i]);
}

/* Where a list last has this value; its length if it has not. */
static uint32_t last_of(const uint32_t *list, uint32_t length, uint32_t value)
{
    uint32_t i = length;

    while (i > 0)
        if (list[--i] == value)
            return i;
    return length;
}

static void erase(uint32_t *list, uint32_t *length, uint32_t i)
{
    for (--*length; i < *length; i++)
        list[i] = list[i + 1];
}

/* The next bag: all that is in no hand is left again. */
static void goes_back(void)
{
    while (size > 0)
        left[came[--size]]++;
}

/* `distinct`: no value is there twice, so that the border can be seen. */
static void draws(bag *b, int distinct)
{
    const int border = held + size == b->count;
    uint32_t item = VALUES, last = VALUES;

    if (held == b->count) {
        const bag was = *b;

        CHECK(bag_draw(b, &item) == 0 && item == VALUES);
        CHECK(memcmp(&was, b, sizeof was) == 0);
        return;
    }
    if (size > 1 && held == 0)
        last = came[size - 1];
    if (border)
        goes_back();
    CHECK(bag_draw(b, &item) == 1 && item < VALUES);
    CHECK(left[item]-- > 0);
    CHECK(!border || !distinct || item != last);
    came[size++] = item;
    at = size;
}

static void walks(bag *b, int steps)
{
    uint32_t item = VALUES;
    const int64_t to = (int64_t)at + steps;

    if (to < 1 || to > size) {
        CHECK(bag_walk(b, steps, &item) == 0 && item == VALUES);
        return;
    }
    CHECK(bag_walk(b, steps, &item) == 1);
    at = (uint32_t)to;
    CHECK(item == came[at - 1]);
}

static void adds(bag *b, uint32_t value)
{
    bag was = *b;

    if (b->count == ROOM) {
        CHECK(bag_add(b, value) == BAG_EFULL);
        CHECK(memcmp(&was, b, sizeof was) == 0);
        return;
    }
    CHECK(bag_add(b, value) == STATESAMPLER_OK);
    left[value]++;
}

static void removes(bag *b, uint32_t value)
{
    bag was = *b;
    uint32_t i = last_of(came, size, value);

    if (left[value] > 0) {
        CHECK(bag_remove(b, value) == STATESAMPLER_OK);
        left[value]--;
    } else if (i < size) {
        CHECK(bag_remove(b, value) == STATESAMPLER_OK);
        erase(came, &size, i);
        at -= i < at;
    } else if ((i = last_of(hands, held, value)) < held) {
        CHECK(bag_remove(b, value) == STATESAMPLER_OK);
        erase(hands, &held, i);
    } else {
        CHECK(bag_remove(b, value) == BAG_EITEM);
        CHECK(memcmp(&was, b, sizeof was) == 0);
    }
}

/* Refused, with nothing changed: neither the bag nor its items. */
static void refuses(bag *b, int (*action)(bag *, uint32_t), uint32_t value,
                    int want)
{
    const bag was = *b;
    uint32_t old[ROOM];

    memcpy(old, items, sizeof old);
    CHECK(action(b, value) == want);
    CHECK(memcmp(&was, b, sizeof was) == 0);
    CHECK(memcmp(old, items, sizeof old) == 0);
}

/* What comes after a take is as before it, but for what was taken. */
static void takes(bag *b, uint32_t value)
{
    uint32_t rest[ROOM], count = 0, i = last_of(came, size, value), p;
    const int border = held + size == b->count;

    if (left[value] == 0 && i == size) {
        refuses(b, bag_take, value,
                last_of(hands, held, value) < held ? BAG_EHAND : BAG_EITEM);
        return;
    }
    if (border)
        goes_back();
    for (p = b->drawn; p < b->count; p++)
        rest[count++] = items[order[p]];
    CHECK(bag_take(b, value) == STATESAMPLER_OK);
    if (left[value] > 0)
        left[value]--;
    else
        erase(came, &size, i);
    came[size++] = value;
    at = size;
    if (border)
        return;
    for (i = 0, p = b->drawn; p < b->count; p++, i++) {
        i += items[order[p]] != rest[i];
        CHECK(i < count && items[order[p]] == rest[i]);
    }
}

static void holds(bag *b, uint32_t value)
{
    const uint32_t i = last_of(came, size, value);

    if (i == size) {
        refuses(b, bag_hold, value, BAG_ECAME);
        return;
    }
    CHECK(bag_hold(b, value) == STATESAMPLER_OK);
    erase(came, &size, i);
    hands[held++] = value;
    at = size;
}

static void discards(bag *b, uint32_t value)
{
    const uint32_t i = last_of(hands, held, value);

    if (i == held) {
        refuses(b, bag_discard, value, BAG_EFREE);
        return;
    }
    CHECK(bag_discard(b, value) == STATESAMPLER_OK);
    erase(hands, &held, i);
    came[size++] = value;
    at = size;
}

static int is_there(uint32_t value)
{
    return left[value] > 0 || last_of(came, size, value) < size ||
           last_of(hands, held, value) < held;
}

/* hold: in how many of 24 actions something goes to a hand. */
static void act(bag *b, uint32_t value, int distinct, uint32_t hold)
{
    const uint32_t action = random_below(24);

    if (action < hold) {
        holds(b, size > 0 && random_below(4) > 0 ? came[size - 1] : value);
        return;
    }
    switch (action) {
    case 16:
        if (!distinct || !is_there(value))
            adds(b, value);
        break;
    case 17:
        removes(b, value);
        break;
    case 18:
    case 19:
        walks(b, (int)random_below(5) - 2);
        break;
    case 20:
    case 21:
        takes(b, value);
        break;
    case 22:
    case 23:
        discards(b, held > 0 && random_below(4) > 0 ? hands[random_below(held)]
                                                    : value);
        break;
    default:
        draws(b, distinct);
    }
}

static void lives(uint32_t values, uint32_t seed, unsigned turns)
{
    bag b = bag_of(random_below(ROOM / 2), seed);
    const uint32_t hold = random_below(2) * random_below(12);
    uint32_t i, all;

    memset(left, 0, sizeof left);
    size = at = held = 0;
    for (i = 0; i < b.count; i++)
        left[items[i] = i % values]++;
    CHECK(bag_begin(&b, NULL) == STATESAMPLER_OK);
    while (turns-- > 0) {
        act(&b, random_below(values), values == VALUES, hold);
        for (all = 0, i = 0; i < VALUES; i++)
            all += left[i];
        CHECK(b.count - b.drawn == all);
        walks(&b, 0); /* where it is, after any action */
        is_killed(&b);
    }
}

/* --- the 255 steps, and sizes --------------------------------------------- */

static void is_large(void)
{
    static uint32_t many[70001], seen[70001];
    static uint64_t many_order[70001];
    bag b = {many, many_order, 70001, 70000, 3, 0, 0, 0, 0, 0};
    uint32_t i, item;

    for (i = 0; i < 70000; i++)
        many[i] = i;
    CHECK(bag_begin(&b, NULL) == STATESAMPLER_OK);
    for (i = 0; i < 70000; i++) {
        if (i == 300)
            CHECK(bag_add(&b, 70000) == STATESAMPLER_OK);
        CHECK(bag_draw(&b, &item) == 1 && seen[item]++ == 0);
    }
    bag_save(&b, state);
    CHECK(bag_begin(&b, state) == STATESAMPLER_OK);
    CHECK(b.drawn == 70000 && b.base == 300);
    for (i = 0; i < 255; i++)
        CHECK(bag_walk(&b, -1, &item) == 1);
    CHECK(bag_walk(&b, -1, &item) == 0 && b.back == 255);
    CHECK(bag_walk(&b, 256, &item) == 0 && bag_walk(&b, 255, &item) == 1);
}

/* --- errors and forged states --------------------------------------------- */

static void is_refused(bag *b, const unsigned char *from, int want)
{
    const bag was = *b;
    uint64_t old[ROOM];

    memcpy(old, order, sizeof old);
    CHECK(bag_begin(b, from) == want);
    CHECK(memcmp(&was, b, sizeof was) == 0);
    CHECK(memcmp(old, order, sizeof old) == 0);
}

/* With a check word that is right. */
static void is_forged(bag *b, uint32_t drawn, uint32_t base, uint32_t back,
                      uint32_t in_hands)
{
    unsigned char forged_state[BAG_BYTES];
    bag forged = *b;

    forged.drawn = drawn;
    forged.base = base;
    forged.back = back;
    forged.held = in_hands;
    bag_save(&forged, forged_state);
    forged = *b;
    forged.held = in_hands;
    is_refused(&forged, forged_state, BAG_ESTATE);
}

/* Each code has a sentence of its own; the header has those of all others. */
static void sentences(void)
{
    int code;

    for (code = BAG_EFULL; code <= BAG_EROOM; code++) {
        CHECK(strlen(bag_error(code)) > 20);
        CHECK(strcmp(bag_error(code), bag_error(code - 1)) != 0);
    }
    CHECK(bag_error(BAG_EFULL - 1) == statesampler_error(BAG_EFULL - 1));
}

static void errors(int reduced)
{
    uint32_t i, k, taken = 0, item;
    bag b = bag_of(20, 5), wrong;

    for (i = 0; i < ROOM; i++)
        items[i] = i;
    CHECK(bag_begin(&b, NULL) == STATESAMPLER_OK);
    for (i = 0; i < 9; i++)
        bag_draw(&b, &item);
    CHECK(bag_add(&b, 50) == STATESAMPLER_OK && bag_walk(&b, -1, &item) == 1);
    bag_save(&b, state);
    for (i = 0; i < 128; i++) {
        state[i / 8] ^= (unsigned char)(1 << i % 8);
        is_refused(&b, state, BAG_ESTATE);
        state[i / 8] ^= (unsigned char)(1 << i % 8);
    }
    is_forged(&b, 22, 9, 0, 0);
    is_forged(&b, 9, 10, 0, 0);
    is_forged(&b, 9, 9, 10, 0);
    is_forged(&b, 9, 9, 0, 10);
    is_forged(&b, 9, 9, 7, 3);
    is_forged(&b, 9, 9, 0, 0xffffffff);
    is_forged(&b, 0xffffff, 0xffffff, 255, 0);
    wrong = b;
    wrong.held = 1; /* another number of held items */
    is_refused(&wrong, state, BAG_ESTATE);
    for (i = 0; i < b.count; i++) { /* other items */
        items[i]++;
        is_refused(&b, state, BAG_ESTATE);
        items[i]--;
    }
    wrong = b;
    wrong.count--;
    is_refused(&wrong, state, BAG_ESTATE);
    wrong = bag_of(ROOM + 1, 5);
    is_refused(&wrong, NULL, BAG_ECOUNT);
    wrong = bag_of(3, 5);
    wrong.room = 1u << 24;
    is_refused(&wrong, NULL, BAG_EROOM);
    /* The few of random states that are taken, are states. */
    for (i = 0; i < (reduced ? 100000u : 2000000u); i++) {
        for (k = 0; k < BAG_BYTES; k++)
            state[k] = (unsigned char)random_below(256);
        bag_write(state + 8, random_below(30), 3);
        bag_write(state + 11, random_below(30), 3);
        wrong = b;
        if (bag_begin(&wrong, state) != STATESAMPLER_OK)
            continue;
        taken++;
        CHECK(wrong.drawn <= 21 && wrong.base <= wrong.drawn);
        CHECK(bag_draw(&wrong, &item) == 1);
        CHECK(bag_remove(&wrong, item) == STATESAMPLER_OK);
        CHECK(bag_add(&wrong, item) == STATESAMPLER_OK);
        for (item = 0; item < ROOM; item++)
            items[item] = item < 20 ? item : 50;
    }
    CHECK(taken < i / 20000);
}

/* --- states of before ----------------------------------------------------- */

/* What version 0.9.0 saved, with its items, and what it drew next. */
/* A row in few lines: clang-format would give each item one of its own. */
/* clang-format off */
static const struct {
    uint32_t count, items[9];
    const char *state;
    uint32_t next[12];
} old_states[] = {
    {9, {0, 7, 14, 21, 28, 35, 42, 49, 56},
     "3930000000000000000000000000f7fa",
     {42, 56, 0, 7, 21, 49, 28, 35, 14, 56, 35, 42}},
    {9, {0, 7, 14, 21, 28, 35, 42, 49, 56},
     "39300070000000000500000000006eb9",
     {56, 35, 28, 7, 28, 21, 14, 35, 0, 49, 56, 7}},
    {9, {1, 2, 3, 1, 0, 0, 40, 4, 3},
     "393000e002000001060000050000073e",
     {0, 40, 4, 40, 1, 0, 0, 3, 2, 4, 3, 1}},
    {4, {0, 7, 14, 21},
     "3930005004000002030000000000ee9f",
     {21, 0, 14, 21, 7, 14, 21, 0, 7, 14, 21, 0}}};
/* clang-format on */

static void loads_old(void)
{
    const size_t count = sizeof old_states / sizeof old_states[0];
    uint32_t i, item;
    char text[2 * BAG_BYTES + 1];
    size_t k;

    for (k = 0; k < count; k++) {
        bag b = bag_of(old_states[k].count, 0);

        memcpy(items, old_states[k].items, sizeof old_states[k].items);
        for (i = 0; i < BAG_BYTES; i++) {
            const char digits[3] = {old_states[k].state[2 * i],
                                    old_states[k].state[2 * i + 1], '\0'};

            state[i] = (unsigned char)strtoul(digits, NULL, 16);
        }
        CHECK(bag_begin(&b, state) == STATESAMPLER_OK);
        memset(state, 0, sizeof state);
        bag_save(&b, state);
        for (i = 0; i < BAG_BYTES; i++)
            sprintf(text + 2 * i, "%02x", (unsigned)state[i]);
        CHECK(strcmp(text, old_states[k].state) == 0);
        for (i = 0; i < 12; i++)
            CHECK(bag_draw(&b, &item) == 1 && item == old_states[k].next[i]);
    }
}

/* --- statistics ----------------------------------------------------------- */

static double square(double x)
{
    return x * x;
}

/* Of the orders of four, 18 do not begin with what came last, and come equally
   often: in 72 cells, 68 degrees of freedom. */
static void orders(unsigned bags)
{
    static unsigned found[4][256];
    uint32_t i, code, item = 0, last = 4, cells = 0;
    double chi = 0, wanted = bags / 72.;
    bag b = bag_of(4, 9);

    for (i = 0; i < 4; i++)
        items[i] = i;
    CHECK(bag_begin(&b, NULL) == STATESAMPLER_OK);
    for (; bags > 0; bags--, last = item) {
        for (code = i = 0; i < 4; i++) {
            bag_draw(&b, &item);
            code = code * 4 + item;
        }
        if (last < 4)
            found[last][code]++;
    }
    for (last = 0; last < 4; last++)
        for (code = 0; code < 256; code++)
            if (found[last][code] > 0) {
                CHECK(code >> 6 != last);
                chi += square(found[last][code] - wanted) / wanted;
                cells++;
            }
    CHECK(cells == 72 && chi < 130);
    b = bag_of(1, 9);
    CHECK(bag_begin(&b, NULL) == STATESAMPLER_OK);
    for (i = 0; i < 5; i++)
        CHECK(bag_draw(&b, &item) == 1 && item == 0 && b.number == i);
}

/* An item that is added comes at any place of the rest. When one of those drawn
   is removed, the rest comes in an order that has nothing to do with the one
   before. */
static void places(void)
{
    unsigned found[7] = {0}, same = 0;
    uint32_t turn, i, item = 0, first;
    double chi = 0;

    for (turn = 0; turn < 7000; turn++) {
        bag b = bag_of(9, turn);

        for (i = 0; i < 9; i++)
            items[i] = i;
        bag_begin(&b, NULL);
        for (i = 0; i < 3; i++)
            bag_draw(&b, &item);
        bag_add(&b, 9);
        first = items[order[3]];
        bag_remove(&b, item);
        same += items[order[2]] == first;
        for (i = 0; bag_draw(&b, &item) && item != 9; i++)
            CHECK(i < 6);
        found[i]++;
    }
    for (i = 0; i < 7; i++)
        chi += square(found[i] - 1000.) / 1000;
    CHECK(chi < 28 && same > 850 && same < 1150);
}

/* The chi^2 of counts that should all be the same. */
static double spread_of(const unsigned *found, unsigned cells)
{
    double sum = 0, chi = 0;
    unsigned i;

    for (i = 0; i < cells; i++)
        sum += found[i];
    for (i = 0; i < cells; i++)
        chi += square(found[i] - sum / cells) / (sum / cells);
    return chi;
}

/* The number of the order of the next `count` draws, below its factorial; items
   that are the same count as they came. */
static unsigned next_order(bag *b, unsigned count)
{
    uint32_t drawn[8] = {0};
    unsigned number = 0, i, k;

    for (i = 0; i < count; i++)
        CHECK(bag_draw(b, &drawn[i]) == 1);
    for (i = 0; i < count; i++)
        for (number *= count - i, k = i + 1; k < count; k++)
            number += drawn[k] < drawn[i];
    return number;
}

static bag fresh(uint32_t count, uint32_t seed)
{
    bag b = bag_of(count, seed);
    uint32_t i;

    for (i = 0; i < count; i++)
        items[i] = i;
    CHECK(bag_begin(&b, NULL) == STATESAMPLER_OK);
    return b;
}

/* Whatever is taken, at the beginning, after a draw, or where a bag is empty:
   all orders of the rest come equally often. */
static void takes_fairly(unsigned seeds)
{
    static unsigned at_first[5][24], later[5][5][6], after[5][5][24];
    uint32_t seed, item, taken, last;

    for (seed = 0; seed < seeds; seed++)
        for (taken = 0; taken < 5; taken++) {
            bag b = fresh(5, seed);

            CHECK(bag_take(&b, taken) == STATESAMPLER_OK);
            at_first[taken][next_order(&b, 4)]++;
            CHECK(bag_walk(&b, 0, &last) == 1);
            CHECK(bag_take(&b, taken) == STATESAMPLER_OK && b.drawn == 1);
            after[last][taken][next_order(&b, 4)]++;
            b = fresh(5, seed);
            CHECK(bag_draw(&b, &item) == 1);
            if (item == taken)
                continue;
            CHECK(bag_take(&b, taken) == STATESAMPLER_OK);
            later[item][taken][next_order(&b, 3)]++;
        }
    for (taken = 0; taken < 5; taken++) { /* 23 degrees of freedom, or 5 */
        CHECK(spread_of(at_first[taken], 24) < 65);
        for (item = 0; item < 5; item++) {
            CHECK(item == taken || spread_of(later[item][taken], 6) < 32);
            CHECK(item == taken || spread_of(after[item][taken], 24) < 65);
        }
    }
}

/* Of three that are the same and three others, two are taken, one after a draw.
   The last one is at any of the places that are left. */
static void takes_copies(unsigned seeds)
{
    unsigned found[4] = {0};
    uint32_t seed, item = 0, i, place;

    for (seed = 0; seed < seeds; seed++) {
        bag b = fresh(6, seed);

        for (i = 0; i < 3; i++)
            items[i] = 7;
        CHECK(bag_take(&b, 7) == STATESAMPLER_OK && bag_draw(&b, &item) == 1);
        if (item == 7)
            continue;
        CHECK(bag_take(&b, 7) == STATESAMPLER_OK);
        for (place = 0; bag_draw(&b, &item) == 1 && item != 7; place++)
            CHECK(place < 2);
        found[place]++;
    }
    CHECK(spread_of(found, 3) < 22 && found[3] == 0);
}

/* Four are taken of five; examples/js/tests/module.mjs has the same orders. */
static void takes_the_same(void)
{
    static const uint32_t all[10] = {7, 7, 7, 7, 7, 1, 2, 3, 4, 5};
    static const uint32_t wanted[3][6] = {
        {1, 4, 5, 7, 2, 3},
        {7, 3, 5, 4, 1, 2},
        {1, 5, 2, 4, 7, 3},
    };
    uint32_t seed, i, item;

    for (seed = 1; seed <= 3; seed++) {
        bag b = bag_of(10, seed);

        memcpy(items, all, sizeof all);
        CHECK(bag_begin(&b, NULL) == STATESAMPLER_OK);
        for (i = 0; i < 4; i++)
            CHECK(bag_take(&b, 7) == STATESAMPLER_OK);
        for (i = 0; i < 6; i++)
            CHECK(bag_draw(&b, &item) == 1 && item == wanted[seed - 1][i]);
    }
}

/* Two cards stay in hands, of which none comes; all orders of the other four
   come equally often, whatever was discarded last. What is discarded comes once
   in the bag after. */
static void holds_fairly(unsigned seeds)
{
    static unsigned found[6][24];
    uint32_t seed, item = 0, i, seen, last, kept[2] = {0, 0};

    for (seed = 0; seed < seeds; seed++) {
        bag b = fresh(6, seed);

        for (i = 0; i < 6; i++) {
            CHECK(bag_draw(&b, &item) == 1);
            CHECK(bag_hold(&b, item) == STATESAMPLER_OK);
            kept[0] = i == 1 ? item : kept[0];
            kept[1] = i == 3 ? item : kept[1];
        }
        CHECK(bag_draw(&b, &item) == 0);
        for (i = 0; i < 6; i++)
            if (i != kept[0] && i != kept[1])
                CHECK(bag_discard(&b, i) == STATESAMPLER_OK);
        CHECK(bag_walk(&b, 0, &last) == 1);
        found[last][next_order(&b, 4)]++;
        CHECK(b.held == 2 && b.drawn == b.count && b.number == 1);
        CHECK(bag_discard(&b, kept[0]) == STATESAMPLER_OK);
        for (i = seen = 0; i < 5; i++) {
            CHECK(bag_draw(&b, &item) == 1 && item != kept[1]);
            seen |= 1u << item;
        }
        CHECK(seen == (63u ^ 1u << kept[1]));
    }
    for (last = 3; last < 6; last++)
        CHECK(spread_of(found[last], 24) < 65);
}

int main(int argc, char **argv)
{
    const int reduced = check_reduced(argc, argv);
    uint32_t seed;

    for (seed = 0; seed < (reduced ? 20u : 200u); seed++) {
        lives(VALUES, seed, 1000);
        lives(6, seed, 1000);
    }
    is_large();
    errors(reduced);
    sentences();
    loads_old();
    orders(reduced ? 7200 : 72000);
    places();
    takes_fairly(reduced ? 3000 : 30000);
    takes_copies(reduced ? 6000 : 60000);
    takes_the_same();
    holds_fairly(reduced ? 6000 : 60000);
    return check_done("bag");
}
