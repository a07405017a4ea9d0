/* edit.c - adds and removes ids in the middle of an epoch.

       make examples && build/edit FILE [RANKS]

   edits.h maps positions to ids. A run makes edits, is killed and continues on
   other ranks. Its checkpoint is the state, the list of edits and, instead of a
   model, what became of each id. */
#define STATESAMPLER_IMPLEMENTATION
#define STATESAMPLER_HOSTED
#include "statesampler.h"
#include "example.h"
#include "extras/edits.h"

#define IDS 1150u /* at the end */
#define EDITS 4
#define REMOVED 120

static const char usage[] =
    "usage: edit FILE [RANKS]\n\n"
    "Adds and removes ids while it trains. FILE is its checkpoint. Each step\n"
    "waits for Enter: kill the program there and start it again, with any\n"
    "number of RANKS.\n";

static struct {
    unsigned char state[STATESAMPLER_STATE_BYTES];
    unsigned char stack[EDITS_BYTES(EDITS, REMOVED)];
    uint64_t stack_size;
    uint64_t at[IDS];                   /* the id at each position */
    uint64_t served[IDS], trained[IDS]; /* how often */
} now;

static edits all;
static edit made[EDITS];
static edit_out removed[REMOVED];

static int is_readable(uint64_t id)
{
    return id % 11 != 5;
}

/* Makes the edits that are due. Returns 0 at the end of the epoch. */
static int make_edits(statesampler *s)
{
    static const uint64_t from[] = {0, 300, 500, 700, STATESAMPLER_NONE};
    static const uint64_t added[] = {1000, 0, 150, 0};
    uint64_t k, id, out[60], count;
    const edit *e;

    while (statesampler_position(s) >= from[k = all.count]) {
        for (count = 0, id = k; k % 2 == 1 && id < all.ids; id += 20 + k)
            out[count++] = id;
        example_must_say(edits_make(&all, s, added[k], out, count),
                         edits_error);
        e = &made[k];
        printf("position %3d: %4d added, %2d removed, %2d too late\n",
               (int)e->position, (int)e->added, (int)e->removed,
               (int)(count - e->removed));
    }
    return statesampler_step(s) < statesampler_num_steps(s);
}

static void train(uint64_t position)
{
    uint64_t id = edits_id(&all, all.count, position);
    uint64_t used = edits_spare(&all, id, is_readable);

    now.at[position] = id;
    now.served[id]++;
    now.trained[used] += is_readable(used) && !edits_is_out(&all, used);
}

/* Continues from the checkpoint if there is one, and saves after each step. */
static void run(const char *path, uint32_t ranks)
{
    statesampler_desc desc = {
        .order = STATESAMPLER_ORDER_SEQUENTIAL,
        .tail = STATESAMPLER_TAIL_UNEVEN,
    };
    uint64_t batch[8];
    size_t count, i;
    statesampler s, one;
    int found = statesampler_load_file(path, &now, sizeof now, NULL);

    if (found == STATESAMPLER_OK)
        found = statesampler_describe(now.state, sizeof now.state, &desc, NULL);
    if (STATESAMPLER_KIND(found) != STATESAMPLER_ENOFILE)
        example_file(path, found);
    desc.world_size = ranks;
    desc.batch_size = 8;
    example_must(statesampler_init(&s, &desc));
    edits_init(&all, 0, 0, made, EDITS, removed, REMOVED);
    if (found == STATESAMPLER_OK) {
        example_file(path, statesampler_load(&s, now.state, sizeof now.state));
        example_file(path, edits_load(&all, now.stack, (size_t)now.stack_size));
    }
    while (make_edits(&s)) {
        for (one = s, desc.rank = 0; desc.rank < ranks; desc.rank++) {
            statesampler_reshape(&one, desc.rank, ranks, 8);
            statesampler_at(&one, statesampler_step(&s), batch, &count);
            for (i = 0; i < count; i++)
                train(batch[i]);
        }
        printf("step %d on %u ranks\n", (int)statesampler_step(&s), ranks);
        fflush(stdout);
        getchar();
        statesampler_next(&s, NULL, NULL);
        statesampler_save(&s, now.state, sizeof now.state);
        now.stack_size = EDITS_BYTES((size_t)all.count, (size_t)all.num_out);
        example_must(edits_save(&all, now.stack, sizeof now.stack));
        example_file(path, statesampler_save_file(path, &now, sizeof now));
    }
}

int main(int argc, char **argv)
{
    int ranks = argc > 2 ? atoi(argv[2]) : 4, good = 1;
    uint64_t i, ids[2] = {0, 0}, spares = 0; /* ids: unreadable, readable */

    example_begin(argc, argv, 2, usage);
    if (argc < 2)
        example_fail(2, "FILE is missing");
    if (argv[1][0] == '-' || ranks < 1 || ranks > 1000)
        example_fail(2, "'%s' is not a FILE or a number of RANKS",
                     argv[argc - 1]);
    run(argv[1], (uint32_t)ranks);
    for (i = 0; i < all.ids; i++) {
        good = good && now.served[i] == !edits_is_out(&all, i);
        ids[is_readable(i)] += now.served[i];
        spares += is_readable(i) ? now.trained[i] - now.served[i] : 0;
    }
    for (i = 0; good && i < ids[0] + ids[1]; i++)
        good = good && now.at[i] == edits_id(&all, all.count, i) &&
               edits_position(&all, all.count, now.at[i]) == i;
    return example_end(good && ids[0] == spares,
                       "each of %d readable ids once, none of %d removed ids, "
                       "a readable one for each of %d others, positions "
                       "unchanged",
                       (int)ids[1], (int)(all.ids - ids[0] - ids[1]),
                       (int)spares);
}
