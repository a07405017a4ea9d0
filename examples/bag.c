/* bag.c - a shuffle bag that is saved in 16 bytes.

       make examples && build/bag [FILE]

   Each step draws an item, goes back or forward, adds an item or removes one.
   Between two steps nothing is kept but the items, the 16 bytes, and what came
   so far, to check the bag by. */
#define STATESAMPLER_IMPLEMENTATION
#define STATESAMPLER_HOSTED
#include "statesampler.h"
#include "example.h"
#include "bag.h"

#define ROOM 64u
#define STEPS 400u

static const char usage[] =
    "usage: bag [FILE]\n\n"
    "Draws from a bag of 20 items, walks back, adds items and removes some.\n"
    "A FILE keeps the bag. Each step then waits for Enter: kill the program\n"
    "there and start it again.\n";

static struct {
    uint64_t state[2];
    uint32_t items[ROOM], count, ids; /* ids: all that were ever added */
    uint32_t step, bags, wrong;
    uint32_t came[ROOM], size, at; /* drawn from this bag; at: back to here */
} now;

/* The item's number among those that came, or `size`. */
static uint32_t find(uint32_t item)
{
    uint32_t i = 0;

    while (i < now.size && now.came[i] != item)
        i++;
    return i;
}

/* Each action checks the bag against what came. */
static const char *draw(bag *b, uint32_t *item)
{
    uint32_t last = now.size > 0 ? now.came[now.size - 1] : ROOM;

    if (now.size == b->count) {
        now.size = 0;
        now.bags++;
    }
    now.wrong += !bag_draw(b, item) || *item == last;
    now.wrong += find(*item) < now.size || !(*item < now.ids);
    now.came[now.size++] = *item;
    now.at = now.size;
    return "draws";
}

static const char *walk(bag *b, int steps, uint32_t *item)
{
    int there = steps < 0 ? now.at > 1 : now.at < now.size;

    now.at += there ? (uint32_t)steps : 0;
    now.wrong += bag_walk(b, steps, item) != there ||
                 (there && *item != now.came[now.at - 1]);
    return steps < 0 ? "back to" : "forward to";
}

static const char *add(bag *b, uint32_t *item)
{
    *item = now.ids++;
    now.wrong += bag_add(b, *item) != NULL;
    return "adds";
}

static const char *take_out(bag *b, uint32_t *item)
{
    uint32_t i;

    *item = b->items[now.step % b->count];
    i = find(*item);
    now.wrong += bag_remove(b, *item) != NULL;
    if (i < now.size) {
        memmove(now.came + i, now.came + i + 1,
                (--now.size - i) * sizeof now.came[0]);
        now.at -= i < now.at;
    }
    return "removes";
}

static const char *act(bag *b, uint32_t *item)
{
    switch (now.step % 20) {
    case 7:
        return add(b, item);
    case 11:
    case 12:
        return walk(b, -1, item);
    case 13:
        return walk(b, 1, item);
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
    uint32_t item = ROOM;
    bag b = {now.items, order, ROOM, now.count, 7, 0, 0, 0, 0};
    const char *what = bag_begin(&b, now.step > 0 ? now.state : NULL);

    if (what != NULL)
        example_fail(1, "%s", what);
    what = act(&b, &item);
    bag_save(&b, now.state);
    now.count = b.count;
    now.wrong += b.drawn != now.size;
    printf("step %d %s %d, %d of %d are left, state %016" PRIx64 "%016" PRIx64
           "\n", (int)now.step++, what, item < ROOM ? (int)item : -1,
           (int)(b.count - b.drawn), (int)b.count, now.state[1], now.state[0]);
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
                       "%d bags: each item once in each, none twice in a row, "
                       "back by the way it came, from 16 bytes in each of %d "
                       "steps", (int)now.bags + 1, (int)STEPS);
}
