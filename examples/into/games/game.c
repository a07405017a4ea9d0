/* game.c - a game without a screen: what spawns and where, loot, hands of cards
   and music come from bags, and a kill loses none of it.

       cc -O2 -I. -o build/game examples/into/games/game.c
       build/game FILE [PLAYERS]

   A frame has a turn for each player, and is then saved. Kill the program and
   start it again, with other players if you like: the same things come. */
#define STATESAMPLER_IMPLEMENTATION
#define STATESAMPLER_HOSTED
#include "statesampler.h"
#include <inttypes.h>
#include <time.h>
#include "../../example.h"
#include "../../extras/bag.h"
#include "sequence.h"

#define TURNS 600u
#define ROOM 128u

static const char usage[] =
    "usage: game FILE [PLAYERS]\n\n"
    "Plays 600 turns of 1 to 8 players, and saves to FILE after each frame.\n"
    "Kill it and start it again, with any number of players: it goes on.\n";

enum { SPAWN, LOOT, DECK, MUSIC, BAGS };

#define HAND 5u /* cards */

/* All that is saved. held: items of each bag that are in hands. tracks: those
   that music has had so far. */
typedef struct world {
    unsigned char state[BAGS][BAG_BYTES];
    uint64_t hash;
    uint32_t items[BAGS][ROOM], count[BAGS], held[BAGS];
    uint32_t turn, tracks, hand[HAND];
} world;

/* Kinds of items of each bag; kind k is there 1 + k * [1] / [0] times. */
static const uint32_t table[BAGS][2] = {{9, 0}, {5, 8}, {52, 0}, {20, 0}};

static void begin(world *w)
{
    uint32_t i, kind, copies;

    memset(w, 0, sizeof *w);
    for (i = 0; i < BAGS; i++)
        for (kind = 0; kind < table[i][0]; kind++) {
            copies = 1 + kind * table[i][1] / table[i][0];
            while (copies-- > 0)
                w->items[i][w->count[i]++] = kind;
        }
    w->tracks = table[MUSIC][0];
}

static void note(world *w, uint32_t what)
{
    w->hash = statesampler_hash(w->hash, &what, sizeof what);
}

/* Where a monster appears: a cell of a board of 40 x 25. */
static void place(world *w)
{
    int cell = 0;

    sequence_fill(&cell, w->turn % 1000, 1, 0, 999, 42, w->turn / 1000);
    note(w, (uint32_t)cell);
}

/* A new card for the hand, whose oldest card goes to the discard pile. */
static void deal(bag *b, world *w)
{
    const uint32_t oldest = w->turn % HAND;
    uint32_t card = 0;

    if (w->turn >= HAND)
        bag_discard(b, w->hand[oldest]);
    bag_draw(b, &card);
    bag_hold(b, card);
    w->hand[oldest] = card;
    note(w, card);
}

/* Music: back and forward, a wish, and now and then another track. */
static void play(bag *b, world *w)
{
    uint32_t track = 0;

    if (w->turn % 100 == 50)
        bag_add(b, w->tracks++);
    else if (w->turn % 100 == 99)
        bag_remove(b, w->tracks % 20);
    else if (w->turn % 10 == 7)
        bag_walk(b, -1, &track);
    else if (w->turn % 10 == 3 && bag_take(b, w->turn % 20) == STATESAMPLER_OK)
        track = w->turn % 20;
    else
        bag_draw(b, &track);
    note(w, track);
}

static void take_turn(bag *bags, world *w)
{
    uint32_t i, item = 0;

    for (i = 0; i < DECK; i++) {
        bag_draw(&bags[i], &item);
        note(w, item);
    }
    deal(&bags[DECK], w);
    place(w);
    play(&bags[MUSIC], w);
    w->turn++;
}

/* From the last save to the end; saves only if there is a path. Sets *us to the
   microseconds until all bags were ready. */
static void run(world *w, uint32_t players, const char *path, double *us)
{
    static uint64_t order[BAGS][ROOM];
    static bag bags[BAGS];
    clock_t start = clock();
    int code = STATESAMPLER_OK;
    uint32_t i;

    for (i = 0; i < BAGS && code == STATESAMPLER_OK; i++) {
        const bag b = {w->items[i], order[i], ROOM, w->count[i], i,
                       0,           0,        0,    0,           w->held[i]};

        bags[i] = b;
        code = bag_begin(&bags[i], w->turn > 0 ? w->state[i] : NULL);
    }
    if (code != STATESAMPLER_OK)
        example_fail(1, "%s", bag_error(code));
    *us = (double)(clock() - start) * 1e6 / CLOCKS_PER_SEC;
    while (w->turn < TURNS) {
        do {
            take_turn(bags, w);
        } while (w->turn % players > 0 && w->turn < TURNS);
        for (i = 0; i < BAGS; i++) {
            bag_save(&bags[i], w->state[i]);
            w->count[i] = bags[i].count;
            w->held[i] = bags[i].held;
        }
        if (path != NULL)
            example_must(statesampler_save_file(path, w, sizeof *w));
    }
}

int main(int argc, char **argv)
{
    static world now, whole;
    const char *path = argc > 1 ? argv[1] : "-";
    const char *text = argc > 2 ? argv[2] : "1";
    uint32_t players = (uint32_t)(text[0] - '0'), turn;
    double us, other;
    int code;

    example_begin(argc, argv, 2, usage);
    if (path[0] == '-')
        example_fail(2, "'%s' is no FILE", path);
    if (players - 1 > 7 || text[1] != '\0')
        example_fail(2, "'%s' is not 1 to 8 players", text);
    begin(&now);
    code = statesampler_load_file(path, &now, sizeof now, NULL);
    if (STATESAMPLER_KIND(code) != STATESAMPLER_ENOFILE)
        example_must(code);
    turn = now.turn;
    run(&now, players, path, &us);
    begin(&whole);
    run(&whole, 1, NULL, &other);
    printf("turn %d: four bags are ready after %.0f us\n", (int)turn, us);
    return example_end(now.hash == whole.hash,
                       "what came is %016" PRIx64
                       ", as without a kill; four bags are saved in %d bytes",
                       now.hash, (int)sizeof now.state);
}
