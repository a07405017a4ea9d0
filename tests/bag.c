/* bag.c - does examples/bag.h do what a bag must? Draws, walks, additions and
   removals in any order, against a list of what came and a count of what is
   left; after each of them all but the items and the state is lost. */
#define STATESAMPLER_STATIC
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include "examples/bag.h"
#include "check.h"

enum { ROOM = 40, VALUES = 60 };

static uint32_t items[ROOM], came[ROOM], size, at, left[VALUES];
static uint64_t order[ROOM], state[2];

static uint32_t random_below(uint32_t bound)
{
    return (uint32_t)check_random(bound);
}

static bag bag_of(uint32_t count, uint32_t seed)
{
    const bag b = {items, order, ROOM, count, seed, 0, 0, 0, 0};

    return b;
}

/* --- against lists -------------------------------------------------------- */

/* Forgets all but the items and the state; what was in RAM must come back. */
static void is_killed(bag *b)
{
    static uint64_t old[ROOM];
    const bag was = *b;
    uint32_t i;

    bag_save(b, state);
    memcpy(old, order, sizeof old);
    memset(order, 7, sizeof order);
    *b = bag_of(was.count, 0);
    CHECK(bag_begin(b, state) == NULL);
    CHECK(memcmp(old, order, was.count * sizeof order[0]) == 0);
    CHECK(b->seed == was.seed && b->number == was.number);
    CHECK(b->back == was.back && b->drawn == was.drawn && b->base == was.base);
    for (i = 0; i < size; i++)
        CHECK(items[order[i]] == came[i]);
}

/* `distinct`: no value is there twice, so that the border can be seen. */
static void draws(bag *b, int distinct)
{
    uint32_t item = VALUES, i, border = size == b->count;

    if (b->count == 0) {
        CHECK(bag_draw(b, &item) == 0 && item == VALUES);
        return;
    }
    if (border)
        for (i = size; i-- > 0;)
            left[came[i]]++;
    CHECK(bag_draw(b, &item) == 1 && item < VALUES);
    CHECK(left[item]-- > 0);
    CHECK(!border || !distinct || size == 1 || item != came[size - 1]);
    size = border ? 0 : size;
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
        CHECK(bag_add(b, value) != NULL);
        CHECK(memcmp(&was, b, sizeof was) == 0);
        return;
    }
    CHECK(bag_add(b, value) == NULL);
    left[value]++;
}

static void removes(bag *b, uint32_t value)
{
    bag was = *b;
    uint32_t i = size;

    if (left[value] > 0) {
        CHECK(bag_remove(b, value) == NULL);
        left[value]--;
        return;
    }
    while (i > 0 && came[i - 1] != value)
        i--;
    if (i == 0) {
        CHECK(bag_remove(b, value) != NULL);
        CHECK(memcmp(&was, b, sizeof was) == 0);
        return;
    }
    CHECK(bag_remove(b, value) == NULL);
    at -= i <= at;
    for (size--; i <= size; i++)
        came[i - 1] = came[i];
}

static int is_there(uint32_t value)
{
    uint32_t i = 0;

    while (i < size && came[i] != value)
        i++;
    return i < size || left[value] > 0;
}

static void act(bag *b, uint32_t value, int distinct)
{
    switch (random_below(16)) {
    case 0:
        if (!distinct || !is_there(value))
            adds(b, value);
        break;
    case 1:
        removes(b, value);
        break;
    case 2:
    case 3:
        walks(b, (int)random_below(5) - 2);
        break;
    default:
        draws(b, distinct);
    }
}

static void lives(uint32_t values, uint32_t seed, unsigned turns)
{
    bag b = bag_of(random_below(ROOM / 2), seed);
    uint32_t i, all;

    memset(left, 0, sizeof left);
    size = at = 0;
    for (i = 0; i < b.count; i++)
        left[items[i] = i % values]++;
    CHECK(bag_begin(&b, NULL) == NULL);
    while (turns-- > 0) {
        act(&b, random_below(values), values == VALUES);
        for (all = 0, i = 0; i < VALUES; i++)
            all += left[i];
        CHECK(b.count - b.drawn == all);
        is_killed(&b);
    }
}

/* --- the 255 steps, and sizes --------------------------------------------- */

static void is_large(void)
{
    static uint32_t many[70001], seen[70001];
    static uint64_t many_order[70001];
    bag b = {many, many_order, 70001, 70000, 3, 0, 0, 0, 0};
    uint32_t i, item;

    for (i = 0; i < 70000; i++)
        many[i] = i;
    CHECK(bag_begin(&b, NULL) == NULL);
    for (i = 0; i < 70000; i++) {
        if (i == 300)
            CHECK(bag_add(&b, 70000) == NULL);
        CHECK(bag_draw(&b, &item) == 1 && seen[item]++ == 0);
    }
    bag_save(&b, state);
    CHECK(bag_begin(&b, state) == NULL && b.drawn == 70000 && b.base == 300);
    for (i = 0; i < 255; i++)
        CHECK(bag_walk(&b, -1, &item) == 1);
    CHECK(bag_walk(&b, -1, &item) == 0 && b.back == 255);
    CHECK(bag_walk(&b, 256, &item) == 0 && bag_walk(&b, 255, &item) == 1);
}

/* --- errors and forged states --------------------------------------------- */

static void is_refused(bag *b, const uint64_t *from)
{
    const bag was = *b;
    uint64_t old[ROOM];
    const char *wrong;

    memcpy(old, order, sizeof old);
    wrong = bag_begin(b, from);
    CHECK(wrong != NULL && strlen(wrong) > 20);
    CHECK(memcmp(&was, b, sizeof was) == 0);
    CHECK(memcmp(old, order, sizeof old) == 0);
}

/* With a check word that is right. */
static void is_forged(bag *b, uint32_t drawn, uint32_t base, uint32_t back)
{
    bag forged = *b;
    uint64_t words[2];

    forged.drawn = drawn;
    forged.base = base;
    forged.back = back;
    bag_save(&forged, words);
    is_refused(b, words);
}

static void errors(int reduced)
{
    uint32_t i, taken = 0, item;
    bag b = bag_of(20, 5), wrong;

    for (i = 0; i < ROOM; i++)
        items[i] = i;
    CHECK(bag_begin(&b, NULL) == NULL);
    for (i = 0; i < 9; i++)
        bag_draw(&b, &item);
    CHECK(bag_add(&b, 50) == NULL && bag_walk(&b, -1, &item) == 1);
    bag_save(&b, state);
    for (i = 0; i < 128; i++) {
        state[i / 64] ^= (uint64_t)1 << i % 64;
        is_refused(&b, state);
        state[i / 64] ^= (uint64_t)1 << i % 64;
    }
    is_forged(&b, 22, 9, 0);
    is_forged(&b, 9, 10, 0);
    is_forged(&b, 9, 9, 10);
    is_forged(&b, 0xffffff, 0xffffff, 255);
    for (i = 0; i < b.count; i++) { /* other items */
        items[i]++;
        is_refused(&b, state);
        items[i]--;
    }
    wrong = b;
    wrong.count--;
    is_refused(&wrong, state);
    wrong = bag_of(ROOM + 1, 5);
    is_refused(&wrong, NULL);
    wrong = bag_of(3, 5);
    wrong.room = 1u << 24;
    is_refused(&wrong, NULL);
    /* The few of random states that are taken, are states. */
    for (i = 0; i < (reduced ? 100000u : 2000000u); i++) {
        const uint64_t words[2] = {check_random_bits(62) << 2,
                                   (uint64_t)random_below(1 << 16) << 48 |
                                       (uint64_t)random_below(30) << 24 |
                                       random_below(30)};

        wrong = b;
        if (bag_begin(&wrong, words) != NULL)
            continue;
        taken++;
        CHECK(wrong.drawn <= 21 && wrong.base <= wrong.drawn);
        CHECK(bag_draw(&wrong, &item) == 1 && bag_remove(&wrong, item) == NULL);
        CHECK(bag_add(&wrong, item) == NULL);
        for (item = 0; item < ROOM; item++)
            items[item] = item < 20 ? item : 50;
    }
    CHECK(taken < i / 20000);
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
    CHECK(bag_begin(&b, NULL) == NULL);
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
    CHECK(bag_begin(&b, NULL) == NULL);
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
    orders(reduced ? 7200 : 72000);
    places();
    return check_done("bag");
}
