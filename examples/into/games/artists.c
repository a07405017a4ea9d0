/* artists.c - a shuffled playlist without an artist twice in a row.

       cc -O2 -I. -o build/artists examples/into/games/artists.c
       build/artists [SONGS...]

   Each SONGS is how many an artist has. A pass is an epoch of spread.h, in
   which no artist follows itself. The next pass is the next epoch that begins
   with another artist than the last one heard. The program forgets all but the
   16 bytes of `place` every 37 songs, and counts how often an artist follows
   itself in the passes of a bag. */
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include "../../example.h"
#include "../../extras/bag.h"
#include "../../extras/spread.h"

enum { MOST = 1000, ARTISTS = 64, PASSES = 1000 };

static const char usage[] =
    "usage: artists [SONGS...]\n\n"
    "Plays 1,000 passes of a playlist. Each number of SONGS is that of\n"
    "another artist: 1,000 songs of 64 artists at most. Without numbers there\n"
    "are 100 songs of 8 artists.\n";

/* All that is saved. */
typedef struct place {
    uint64_t pass, played; /* so many songs of it */
} place;

static uint64_t songs, artists, artist_of[MOST];
static uint64_t members[MOST], work[ARTISTS];

/* Lists the songs of a pass. */
static void begin_pass(spread *s, uint64_t pass)
{
    statesampler_perm order;

    s->members = members;
    s->samples = songs;
    s->seed = 42;
    s->epoch = pass;
    s->apart = 2;
    example_must(statesampler_perm_init(&order, songs, s->seed, pass, 0));
    s->largest = spread_list(&order, artist_of, songs, artists, members, work);
    if (2 * s->largest >= songs) /* with half of them, only pairs are apart */
        example_fail(1, "an artist with half of the songs must follow itself");
    example_must_say(spread_begin(s), spread_error);
}

static uint64_t song_at(const spread *s, uint64_t position)
{
    spread_map(s, &position, 1);
    return position;
}

/* The next song. An artist has less than half of the songs, so that less than
   half of the passes begin with it: 64 in a row do not. */
static uint64_t next_song(spread *s, place *now)
{
    uint64_t last, tries = 64;

    if (now->played == songs) {
        last = artist_of[song_at(s, songs - 1)];
        do {
            begin_pass(s, ++now->pass);
        } while (artist_of[song_at(s, 0)] == last && --tries > 0);
        now->played = 0;
    }
    return song_at(s, now->played++);
}

/* --- what is claimed ------------------------------------------------------ */

/* How often an artist follows itself. */
static int count_playlist(void)
{
    static uint64_t passes_with[MOST];
    uint64_t song, pass, i, last = ARTISTS, heard = 0;
    place now = {0, 0};
    int repeats = 0;
    spread s;

    memset(&s, 0, sizeof s);
    begin_pass(&s, 0);
    for (pass = 0; pass < PASSES; pass++)
        for (i = 0; i < songs; i++, heard++) {
            if (heard % 37 == 36) {
                memset(&s, 0, sizeof s);
                memset(members, 0, sizeof members);
                begin_pass(&s, now.pass);
            }
            song = next_song(&s, &now);
            repeats += artist_of[song] == last;
            last = artist_of[song];
            if (passes_with[song]++ != pass)
                example_fail(1, "a song did not come once in pass %d",
                             (int)pass);
        }
    return repeats;
}

/* The same in a bag, which knows no artists. */
static int count_bag(void)
{
    static uint32_t items[MOST];
    static uint64_t order[MOST];
    bag b = {items, order, MOST, (uint32_t)songs, 42, 0, 0, 0, 0, 0};
    uint64_t last = ARTISTS, i;
    uint32_t song = 0;
    int repeats = 0;

    for (i = 0; i < songs; i++)
        items[i] = (uint32_t)i;
    bag_begin(&b, NULL);
    for (i = 0; i < PASSES * songs; i++) {
        bag_draw(&b, &song);
        repeats += artist_of[song] == last;
        last = artist_of[song];
    }
    return repeats;
}

/* How often a pass would begin with the last artist of the one before, if it
   were the next epoch, whichever that is. */
static int count_borders(void)
{
    uint64_t last = ARTISTS, pass;
    int repeats = 0;
    spread s;

    memset(&s, 0, sizeof s);
    for (pass = 0; pass < PASSES; pass++) {
        begin_pass(&s, pass);
        repeats += artist_of[song_at(&s, 0)] == last;
        last = artist_of[song_at(&s, songs - 1)];
    }
    return repeats;
}

static void add_artist(uint64_t count)
{
    if (count > MOST - songs)
        example_fail(2, "these are more than %d songs", (int)MOST);
    while (count-- > 0)
        artist_of[songs++] = artists;
    artists++;
}

int main(int argc, char **argv)
{
    static const uint64_t usual[] = {30, 20, 15, 10, 10, 5, 5, 5};
    size_t i;
    int k, playlist;

    example_begin(argc, argv, ARTISTS, usage);
    for (k = 1; k < argc; k++)
        add_artist(example_number(argv[k], 1, MOST));
    for (i = 0; argc == 1 && i < sizeof usual / sizeof usual[0]; i++)
        add_artist(usual[i]);
    playlist = count_playlist();
    printf("of %d songs, %d follow their artist in a bag, and %d here;\n"
           "at %d of %d borders the next epoch begins with the last artist\n",
           (int)(PASSES * songs), count_bag(), playlist, count_borders(),
           PASSES - 1);
    return example_end(playlist == 0,
                       "each of %d songs came once in each of "
                       "%d passes, and no artist twice in a row, from 16 bytes",
                       (int)songs, (int)PASSES);
}
