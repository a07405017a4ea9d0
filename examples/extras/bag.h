/* bag.h - a shuffle bag for games: loot, a deck, a playlist, what spawns next.
   Used by bag.c; copy it if you like. Include it after statesampler.h.

   Every item comes once, in a random order, before any comes again, and the
   last of one bag is not the first of the next (but may have its number). Items
   are numbers of yours; one may be there several times, as in a loot table.

       bag_draw      what comes next: shuffle, loot, spawns
       bag_take      this item now: a song that was clicked, then the rest
       bag_hold      the card goes to a hand, and does not come until
       bag_discard   it is on the discard pile, which the next bag shuffles
       bag_walk      back and forward, or down the discard pile
       bag_add, bag_remove

   No artist twice in a row? That needs an order of its own: spread.h, and
   into/games/artists.c is a playlist of it.

   To save, write the 16 bytes of bag_save, as they are on any machine:

       bytes 0-3 seed, 4-6 number of the order, 7 back, 8-10 drawn, 11-13 base,
       14-15 check; each with its lowest byte first

   Draws and walks change nothing else. All other functions change the items,
   their order or `count`, and those of hands also `held`: after them, and after
   a draw while something is held, save these too, in one file with the state.

   An item takes 12 bytes of RAM: 4 of `items` and 8 of `order`. 255 tracks need
   3,060 bytes, which an Arduino Uno (2 KB) does not have. */
#ifndef BAG_H
#define BAG_H

STATESAMPLER_WRAP_BEGIN

enum { BAG_BYTES = 16 }; /* of a state */

/* Errors, beside those of statesampler.h. */
#define BAG_EROOM (-1501)
#define BAG_ECOUNT (-1502)
#define BAG_ESTATE (-1503)
#define BAG_EHAND (-1504)
#define BAG_EITEM (-1505)
#define BAG_ECAME (-1506)
#define BAG_EFREE (-1507)
#define BAG_EFULL (-1508)

/* Set the first five, and call bag_begin; to go on with items in hands, set
   `held`, too. The arrays have `room` numbers each.

   The order has three parts: what is in hands (`held` items), what came (up to
   `drawn`; with cards, this is the discard pile) and what is left. base: what
   `drawn` was when the rest was last shuffled. */
typedef struct bag {
    uint32_t *items; /* the first `count` are yours */
    uint64_t *order; /* position p has items[order[p]] */
    uint32_t room, count, seed, number, back, drawn, base, held;
} bag;

static inline const char *bag_error(int code)
{
    switch (code) {
    case BAG_EROOM:
        return "room must be below 2^24";
    case BAG_ECOUNT:
        return "there are more items than room";
    case BAG_ESTATE:
        return "this state was not saved with these items, or is damaged";
    case BAG_EHAND:
        return "this item is in a hand";
    case BAG_EITEM:
        return "this item is not in the bag";
    case BAG_ECAME:
        return "this item did not come from this bag, or is in a hand";
    case BAG_EFREE:
        return "this item is in no hand";
    case BAG_EFULL:
        return "the bag is full: give it larger arrays";
    default:
        return statesampler_error(code);
    }
}

/* Shuffles what comes from `base` on, all at once: as many lone calls of
   perm_at take ten times as long. */
static inline void bag_fill(bag *b)
{
    statesampler_perm perm;
    uint32_t i, rest = b->count - b->base;

    statesampler_perm_init(&perm, rest, b->seed, b->number, b->base);
    statesampler_perm_fill(&perm, 0, 1, b->order + b->base, (size_t)rest);
    for (i = 0; i < b->count; i++)
        b->order[i] = i < b->base ? i : b->base + b->order[i];
}

/* --- states --------------------------------------------------------------- */

static inline void bag_write(unsigned char *to, uint64_t number, uint32_t bytes)
{
    uint32_t i;

    for (i = 0; i < bytes; i++)
        to[i] = (unsigned char)(number >> 8 * i);
}

static inline uint64_t bag_read(const unsigned char *from, uint32_t bytes)
{
    uint64_t number = 0;

    while (bytes-- > 0)
        number = number << 8 | from[bytes];
    return number;
}

static inline uint64_t bag_mix(uint64_t check, uint64_t value)
{
    check = (check ^ value) * 0x9e3779b97f4a7c15u; /* as in statesampler.h */
    return check ^ check >> 32;
}

/* The last two bytes of a state with these two numbers. */
static inline uint64_t bag_check(const bag *b, uint64_t low, uint64_t high)
{
    uint64_t check = b->count | (uint64_t)b->held << 32;
    uint32_t i;

    check = bag_mix(bag_mix(check, low), high);
    for (i = 0; i < b->count; i++)
        check = bag_mix(check, b->items[i]);
    return check >> 48;
}

static inline void bag_save(const bag *b, unsigned char state[BAG_BYTES])
{
    uint64_t low = b->seed | ((uint64_t)b->back << 24 | b->number) << 32;
    uint64_t high = b->drawn | (uint64_t)b->base << 24;

    bag_write(state, low, 8);
    bag_write(state + 8, high, 6);
    bag_write(state + 14, bag_check(b, low, high), 2);
}

/* Begins, with nothing in hands; or, with a state, goes on from it, with the
   items and `held` of then. Here and below: a function that returns an error
   has changed nothing. EROOM, ECOUNT: the arrays are too large, or too small.
   ESTATE: the state was not saved with these items, or is damaged. */
static inline int bag_begin(bag *b, const unsigned char *state)
{
    bag to = {b->items, b->order, b->room, b->count, b->seed, 0, 0, 0, 0, 0};
    uint64_t low, high;

    if (b->room > 0xffffff)
        return BAG_EROOM;
    if (b->count > b->room)
        return BAG_ECOUNT;
    if (state != NULL) {
        low = bag_read(state, 8);
        high = bag_read(state + 8, 6);
        to.seed = (uint32_t)low;
        to.number = (uint32_t)(low >> 32) & 0xffffff;
        to.back = (uint32_t)(low >> 56);
        to.drawn = (uint32_t)high & 0xffffff;
        to.base = (uint32_t)(high >> 24);
        to.held = b->held;
        if (bag_check(b, low, high) != bag_read(state + 14, 2) ||
            to.drawn > to.count || to.base > to.drawn || to.held > to.drawn ||
            to.back > to.drawn - to.held)
            return BAG_ESTATE;
    }
    *b = to;
    bag_fill(b);
    return STATESAMPLER_OK;
}

/* --- what comes ----------------------------------------------------------- */

/* Puts the items in this bag's order, so that its rest can be shuffled anew. */
static inline void bag_settle(bag *b)
{
    uint32_t i;

    for (i = 0; i < b->count; i++)
        b->order[i] = b->items[b->order[i]];
    for (i = 0; i < b->count; i++)
        b->items[i] = (uint32_t)b->order[i];
    b->base = b->drawn;
}

/* Begins the next bag: shuffles all that is in no hand. */
static inline void bag_turn(bag *b)
{
    if (b->held > 0)
        bag_settle(b);
    b->drawn = b->base = b->held;
    b->number = (b->number + 1) & 0xffffff;
    bag_fill(b);
}

/* Draws a new item; with none left, of the next bag. That does not begin with
   the last item, but with cards in hands any of the pile may be the first, as
   when cards are shuffled. 0: there are no items, or all are in hands. */
static inline int bag_draw(bag *b, uint32_t *item)
{
    uint64_t last, tries = 64; /* all fail in one of 2^64 bags at most */

    if (b->held == b->count)
        return 0;
    if (b->drawn == b->count) {
        last = b->order[b->count - 1];
        do {
            bag_turn(b);
        } while (b->held == 0 && b->order[0] == last && b->count > 1 &&
                 --tries > 0);
    }
    b->back = 0;
    *item = b->items[b->order[b->drawn++]];
    return 1;
}

/* Goes back (steps: -1) or forward (1) among what came from this bag and is in
   no hand, 255 steps at most. Returns 0 where there is no such item. */
static inline int bag_walk(bag *b, int steps, uint32_t *item)
{
    uint32_t back = b->back - (uint32_t)steps; /* below 0: above 255 */

    if (back > 255 || back >= b->drawn - b->held)
        return 0;
    b->back = back;
    *item = b->items[b->order[b->drawn - 1 - back]];
    return 1;
}

/* The last of these positions that has the item; `end` if there is none. */
static inline uint32_t bag_find(const bag *b, uint32_t item, uint32_t begin,
                                uint32_t end)
{
    uint32_t at = end;

    while (at > begin)
        if (b->items[b->order[--at]] == item)
            return at;
    return end;
}

/* Moves an item to another position; those between make room for it. */
static inline void bag_move(bag *b, uint32_t from, uint32_t to)
{
    const uint32_t item = b->items[b->order[from]];
    const uint32_t step = from < to ? 1 : UINT32_MAX; /* -1 */

    for (; from != to; from += step)
        b->items[b->order[from]] = b->items[b->order[from + step]];
    b->items[b->order[to]] = item;
    b->back = 0;
}

/* Which of the rest is this item; `count` if none is. If several are, any: with
   always the first of them, the others would not be at random places. */
static inline uint32_t bag_pick(const bag *b, uint32_t item)
{
    statesampler_perm perm;
    uint32_t at = b->count, next, copies = 0;
    uint64_t skip;

    while ((next = bag_find(b, item, b->drawn, at)) != at) {
        at = next;
        copies++;
    }
    if (copies > 1) { /* a number that no fill has drawn: base is below 2^24 */
        statesampler_perm_init(&perm, copies, b->seed, b->number,
                               0x1000000 + (uint64_t)b->drawn);
        skip = statesampler_perm_at(&perm, 0);
        for (at = b->count; copies > skip; copies--)
            at = bag_find(b, item, b->drawn, at);
    }
    return at;
}

/* Takes this item in place of a draw: a song that was clicked. It does not come
   again from this bag, and the rest comes in the order that it had. With none
   left, it is the first of the next bag. An item that came already comes again,
   as if it had waited until now, and takes nothing from the rest.

   To play it next, keep its number, and take it when you would draw. A take
   looks for the item, at most through all of them, in less time than the draw
   that begins a bag. EHAND, EITEM: it is in a hand, or not in the bag. */
static inline int bag_take(bag *b, uint32_t item)
{
    uint32_t at = bag_pick(b, item);

    if (at == b->count)
        at = bag_find(b, item, b->held, b->count);
    if (at == b->count) {
        if (bag_find(b, item, 0, b->held) < b->held)
            return BAG_EHAND;
        return BAG_EITEM;
    }
    if (b->drawn == b->count) {
        bag_turn(b);
        at = bag_pick(b, item);
    }
    if (at >= b->drawn)
        b->drawn++;
    bag_move(b, at, b->drawn - 1);
    return STATESAMPLER_OK;
}

/* --- hands ---------------------------------------------------------------- */

/* Puts an item that came from this bag, by a draw or from the discard pile, in
   a hand: no bag has it until bag_discard. Whose hand it is, you know. ECAME:
   it did not come from this bag, or is in a hand. */
static inline int bag_hold(bag *b, uint32_t item)
{
    const uint32_t at = bag_find(b, item, b->held, b->drawn);

    if (at == b->drawn)
        return BAG_ECAME;
    bag_move(b, at, b->held++);
    return STATESAMPLER_OK;
}

/* Puts an item of a hand on the discard pile: it comes in the next bag. EFREE:
   it is in no hand. */
static inline int bag_discard(bag *b, uint32_t item)
{
    const uint32_t at = bag_find(b, item, 0, b->held);

    if (at == b->held)
        return BAG_EFREE;
    bag_move(b, at, b->drawn - 1);
    b->held--;
    return STATESAMPLER_OK;
}

/* --- other items ---------------------------------------------------------- */

/* Adds an item at a random place of the rest; takes as long as a fill. EFULL:
   the arrays are. */
static inline int bag_add(bag *b, uint32_t item)
{
    if (b->count >= b->room)
        return BAG_EFULL;
    bag_settle(b);
    b->items[b->count++] = item;
    bag_fill(b);
    return STATESAMPLER_OK;
}

/* Removes an item, rather from the rest than from what came, and from a hand if
   it is in no other place. EITEM: it is not in the bag. */
static inline int bag_remove(bag *b, uint32_t item)
{
    uint32_t at = bag_find(b, item, 0, b->count);

    if (at == b->count)
        return BAG_EITEM;
    bag_settle(b);
    if (at < b->drawn) {
        b->back -= at >= b->drawn - b->back;
        b->held -= at < b->held;
        b->base = --b->drawn;
    }
    for (b->count--; at < b->count; at++)
        b->items[at] = b->items[at + 1];
    bag_fill(b);
    return STATESAMPLER_OK;
}

STATESAMPLER_WRAP_END

#endif
