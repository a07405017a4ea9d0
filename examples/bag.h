/* bag.h - a shuffle bag for games: loot, a deck, a playlist, what spawns next.
   Used by bag.c; copy it if you like. Include it after statesampler.h.

   Every item comes once, in a random order, before any comes again, and the
   last of one bag is not the first of the next (but may have its number). Items
   are numbers of yours; one may be there several times, as in a loot table.

   A state is two words, which in a file are 16 bytes, little-endian:
   word 0, from bit 0 on: seed (32 bits), number of the order (24), back (8)
   word 1, from bit 0 on: drawn (24 bits), base (24), check word (16)
   It does not hold the items. bag_add and bag_remove change their order: from
   then on save them too, in one file with the state. */
#ifndef BAG_H
#define BAG_H

/* Set the first five, and call bag_begin. The arrays have `room` numbers each.
   count - drawn are left. base: those drawn before the last add or remove. */
typedef struct bag {
    uint32_t *items; /* the first `count` are yours */
    uint64_t *order; /* position p has items[order[p]] */
    uint32_t room, count, seed, number, back, drawn, base;
} bag;

/* Shuffles what comes from `base` on, all at once: as many lone calls of
   perm_at take ten times as long. */
static inline void bag_fill(bag *b)
{
    statesampler_perm perm;
    uint32_t i, rest = b->count - b->base;

    statesampler_perm_init(&perm, rest, b->seed, b->number, b->base);
    statesampler_perm_fill(&perm, 0, 1, b->order + b->base, rest);
    for (i = 0; i < b->count; i++)
        b->order[i] = i < b->base ? i : b->base + b->order[i];
}

static inline void bag_save(const bag *b, uint64_t state[2])
{
    uint64_t check = b->count;
    uint32_t i;

    state[0] = b->seed | (uint64_t)b->number << 32 | (uint64_t)b->back << 56;
    state[1] = b->drawn | (uint64_t)b->base << 24;
    for (i = 0; i < b->count + 2; i++) {
        check ^= i < 2 ? state[i] : b->items[i - 2];
        check *= 0x9e3779b97f4a7c15u; /* as in statesampler.h's states */
        check ^= check >> 32;
    }
    state[1] |= check >> 48 << 48;
}

/* Begins; or, with a state, goes on from it, with the items of then. Here and
   below: returns NULL, or what is wrong, and then has changed nothing. */
static inline const char *bag_begin(bag *b, const uint64_t *state)
{
    bag to = {b->items, b->order, b->room, b->count, b->seed, 0, 0, 0, 0};
    uint64_t again[2];

    if (b->room > 0xffffff || b->count > b->room)
        return "room must be below 2^24, and count at most room";
    if (state != NULL) {
        to.seed = (uint32_t)state[0];
        to.number = (uint32_t)(state[0] >> 32) & 0xffffff;
        to.back = (uint32_t)(state[0] >> 56);
        to.drawn = (uint32_t)state[1] & 0xffffff;
        to.base = (uint32_t)(state[1] >> 24) & 0xffffff;
        bag_save(&to, again);
        if (again[1] != state[1] || to.drawn > to.count ||
            to.base > to.drawn || to.back > to.drawn)
            return "this state was not saved with these items, or is damaged";
    }
    *b = to;
    bag_fill(b);
    return NULL;
}

/* Draws a new item; with none left, of the next bag. 0: there are no items. */
static inline int bag_draw(bag *b, uint32_t *item)
{
    uint64_t last, tries = 64; /* all fail in one of 2^64 bags at most */

    if (b->count == 0)
        return 0;
    if (b->drawn == b->count) {
        last = b->order[b->count - 1];
        b->drawn = b->base = 0;
        do {
            b->number = (b->number + 1) & 0xffffff;
            bag_fill(b);
        } while (b->order[0] == last && b->count > 1 && --tries > 0);
    }
    b->back = 0;
    *item = b->items[b->order[b->drawn++]];
    return 1;
}

/* Goes back (steps: -1) or forward (1) among what was drawn from this bag, 255
   steps at most. Returns 0 where there is no such item. */
static inline int bag_walk(bag *b, int steps, uint32_t *item)
{
    uint32_t back = b->back - (uint32_t)steps; /* below 0: above 255 */

    if (back > 255 || back >= b->drawn)
        return 0;
    b->back = back;
    *item = b->items[b->order[b->drawn - 1 - back]];
    return 1;
}

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

/* Adds an item at a random place of the rest; takes as long as a fill. */
static inline const char *bag_add(bag *b, uint32_t item)
{
    if (b->count >= b->room)
        return "the bag is full: give it larger arrays";
    bag_settle(b);
    b->items[b->count++] = item;
    bag_fill(b);
    return NULL;
}

/* Removes an item, rather from the rest than from what was drawn. */
static inline const char *bag_remove(bag *b, uint32_t item)
{
    uint32_t i = b->count;

    while (i > 0 && b->items[b->order[i - 1]] != item)
        i--;
    if (i == 0)
        return "this item is not in the bag";
    bag_settle(b);
    b->back -= i <= b->drawn && i > b->drawn - b->back;
    b->base = b->drawn -= i <= b->drawn;
    for (b->count--; i <= b->count; i++)
        b->items[i - 1] = b->items[i];
    bag_fill(b);
    return NULL;
}
#endif
