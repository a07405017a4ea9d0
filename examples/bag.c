/* bag.c - a shuffle bag that is saved in 16 bytes.

       make examples && build/bag [FILE]

   Each step draws an item, takes one that was chosen, puts one in a hand or on
   the discard pile, goes back or forward, adds an item or removes one. Between
   two steps nothing is kept but the items, how many are in hands, the 16 bytes,
   and what came so far, to check the bag by. */
#define STATESAMPLER_IMPLEMENTATION
#define STATESAMPLER_HOSTED
#include "statesampler.h"
#include "example.h"
#include "extras/bag.h"

#define ROOM 64u
#define STEPS 400u

static const char usage[] =
    "usage: bag [FILE]\n\n"
    "Draws from a bag of 20 items, takes some, holds some in a hand, walks\n"
    "back, adds items and removes some. A FILE keeps the bag. Each step then\n"
    "waits for Enter: kill the program there and start it again.\n";

typedef struct list {
    uint32_t items[ROOM], size;
} list;

static struct {
    unsigned char state[BAG_BYTES];
    uint32_t items[ROOM], count, held, ids; /* ids: all that were ever added */
    uint32_t step, bags, wrong;
    list came, hand; /* from this bag, in no hand; in a hand */
    uint32_t at;     /* back to here of what came */
} now;

/* The item's number in a list, or its size. */
static uint32_t find(const list *l, uint32_t item)
{
    uint32_t i = 0;

    while (i < l->size && l->items[i] != item)
        i++;
    return i;
}

static void append(list *l, uint32_t item)
{
    l->items[l->size++] = item;
}

/* Returns whether it was there. */
static int erase(list *l, uint32_t item)
{
    uint32_t i = find(l, item);

    if (i == l->size)
        return 0;
    memmove(l->items + i, l->items + i + 1,
            (--l->size - i) * sizeof l->items[0]);
    return 1;
}

/* What came is in the next bag, but not what is in a hand. */
static void begin_next(const bag *b)
{
    if (now.came.size + now.hand.size < b->count)
        return;
    now.came.size = 0;
    now.bags++;
}

/* Each action checks the bag against what came. */
static const char *draw(bag *b, uint32_t *item)
{
    uint32_t last = ROOM;

    if (now.hand.size == 0 && now.came.size > 0)
        last = now.came.items[now.came.size - 1];
    begin_next(b);
    now.wrong += !bag_draw(b, item) || *item == last || *item >= now.ids;
    now.wrong += find(&now.came, *item) < now.came.size;
    now.wrong += find(&now.hand, *item) < now.hand.size;
    append(&now.came, *item);
    now.at = now.came.size;
    return "draws";
}

/* One of those that are in no hand: one that came already comes last now. */
static const char *take(bag *b, uint32_t *item)
{
    *item = b->items[b->order[b->held + now.step % (b->count - b->held)]];
    begin_next(b);
    now.wrong += bag_take(b, *item) != STATESAMPLER_OK;
    erase(&now.came, *item);
    append(&now.came, *item);
    now.at = now.came.size;
    return "takes";
}

static const char *hold(bag *b, uint32_t *item)
{
    if (now.came.size == 0)
        return draw(b, item);
    *item = now.came.items[now.came.size - 1];
    now.wrong += bag_hold(b, *item) != STATESAMPLER_OK;
    now.wrong += !erase(&now.came, *item);
    append(&now.hand, *item);
    now.at = now.came.size;
    return "holds";
}

static const char *discard(bag *b, uint32_t *item)
{
    if (now.hand.size == 0)
        return draw(b, item);
    *item = now.hand.items[now.step % now.hand.size];
    now.wrong += bag_discard(b, *item) != STATESAMPLER_OK;
    now.wrong += !erase(&now.hand, *item);
    append(&now.came, *item);
    now.at = now.came.size;
    return "discards";
}

static const char *walk(bag *b, int steps, uint32_t *item)
{
    int there = steps < 0 ? now.at > 1 : now.at < now.came.size;

    now.at += there ? (uint32_t)steps : 0;
    now.wrong += bag_walk(b, steps, item) != there ||
                 (there && *item != now.came.items[now.at - 1]);
    return steps < 0 ? "back to" : "forward to";
}

static const char *add(bag *b, uint32_t *item)
{
    *item = now.ids++;
    now.wrong += bag_add(b, *item) != STATESAMPLER_OK;
    return "adds";
}

static const char *take_out(bag *b, uint32_t *item)
{
    uint32_t i;

    *item = b->items[now.step % b->count];
    i = find(&now.came, *item);
    now.wrong += bag_remove(b, *item) != STATESAMPLER_OK;
    if (erase(&now.came, *item))
        now.at -= i < now.at;
    erase(&now.hand, *item);
    return "removes";
}

static const char *act(bag *b, uint32_t *item)
{
    switch (now.step % 20) {
    case 3:
    case 15:
        return take(b, item);
    case 4:
    case 9:
        return hold(b, item);
    case 7:
        return add(b, item);
    case 11:
    case 12:
        return walk(b, -1, item);
    case 13:
        return walk(b, 1, item);
    case 14:
    case 18:
        return discard(b, item);
    case 17:
        return take_out(b, item);
    default:
        return draw(b, item);
    }
}

/* One step of the bag of the last save. */
static void step(void)
{
    uint64_t order[ROOM];
    uint32_t item = ROOM, i;
    bag b = {now.items, order, ROOM, now.count, 7, 0, 0, 0, 0, now.held};
    const char *what;
    int code = bag_begin(&b, now.step > 0 ? now.state : NULL);

    if (code != STATESAMPLER_OK)
        example_fail(1, "%s", bag_error(code));
    what = act(&b, &item);
    bag_save(&b, now.state);
    now.count = b.count;
    now.held = b.held;
    now.wrong += b.held != now.hand.size;
    now.wrong += b.drawn != now.came.size + now.hand.size;
    printf("step %d %s %d, %d of %d are left, %d held, state ", (int)now.step++,
           what, item < ROOM ? (int)item : -1, (int)(b.count - b.drawn),
           (int)b.count, (int)b.held);
    for (i = 0; i < BAG_BYTES; i++)
        printf("%02x", (unsigned)now.state[i]);
    printf("\n");
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : NULL;
    int code = STATESAMPLER_ENOFILE;

    example_begin(argc, argv, 1, usage);
    if (path != NULL && path[0] == '-')
        example_fail(2, "'%s' is not a FILE", path);
    if (path != NULL)
        code = statesampler_load_file(path, &now, sizeof now, NULL);
    if (STATESAMPLER_KIND(code) != STATESAMPLER_ENOFILE)
        example_file(path, code);
    for (; now.ids < 20; now.ids++)
        now.items[now.count++] = now.ids;
    while (now.step < STEPS) {
        step();
        if (path != NULL) {
            fflush(stdout);
            getchar();
            example_file(path, statesampler_save_file(path, &now, sizeof now));
        }
    }
    return example_end(now.wrong == 0,
                       "%d bags: each item once in each, none while it was in "
                       "a hand, back by the way it came, from 16 bytes in each "
                       "of %d steps",
                       (int)now.bags + 1, (int)STEPS);
}
