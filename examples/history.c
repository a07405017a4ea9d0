/* history.c - a run with a loss spike, and the record of every step of it.

       make examples && build/history run.saved
       build/indices --state run.saved --epoch 0 --steps 300..322

   The run is on 8 ranks. At step 290 the loss spikes: steps 290 to 320 are
   skipped by history_seek. At step 400 it is saved and goes on on 6 ranks, from
   which the rest of the epoch is served. FILE gets the history and the state
   after it, written together, so that they are always of one place.

   At the end the run reads its own history: each step that it noted on the way
   is there, with the same samples on each rank, and no other. A program that
   has only FILE, as indices.c, knows all this, too. */
#define STATESAMPLER_IMPLEMENTATION
#define STATESAMPLER_HOSTED
#include "statesampler.h"
#include "example.h"
#include "extras/history.h"

enum { SAMPLES = 64000, BATCH = 16, EVENTS = 100, STEPS = 1000 };

static const char usage[] =
    "usage: history FILE\n\n"
    "Makes a run that skips steps and changes its ranks, and saves its\n"
    "history and its state in FILE.\n";

static unsigned char memory[HISTORY_BYTES(EVENTS)];
static unsigned char file[HISTORY_BYTES(EVENTS) + STATESAMPLER_STATE_BYTES];
static history record;
static statesampler sampler;

/* What rank 0 had in each step, as a run would see it. */
static struct {
    uint64_t step, samples[BATCH];
    size_t count;
} seen[STEPS];
static int num_seen;

static void must(int code)
{
    if (code != STATESAMPLER_OK) {
        example_fail(1, "FAILED, %s", history_error(code));
    }
}

/* Serves steps up to this one, or to the end of the epoch. */
static void serve(uint64_t until)
{
    uint64_t step;

    while ((step = statesampler_step(&sampler)) < until &&
           statesampler_next(&sampler, seen[num_seen].samples,
                             &seen[num_seen].count)) {
        seen[num_seen++].step = step;
    }
}

static void save(const char *path)
{
    const size_t size = history_save(&record);

    memcpy(file, record.bytes, size);
    must(statesampler_save(&sampler, file + size, STATESAMPLER_STATE_BYTES));
    example_file(path, statesampler_save_file(path, file,
                                              size + STATESAMPLER_STATE_BYTES));
}

/* Goes on from FILE on other ranks, as another process would. */
static void resume(const char *path, uint32_t world_size)
{
    const statesampler_desc desc = {
        .num_samples = SAMPLES,
        .seed = 42,
        .world_size = world_size,
        .batch_size = BATCH,
    };
    history_log log;
    size_t size = 0, used = 0;

    memset(memory, 0, sizeof memory);
    memset(file, 0, sizeof file);
    example_file(path, statesampler_load_file(path, file, sizeof file, &size));
    must(history_read(&log, &used, file, size));
    must(statesampler_init(&sampler, &desc));
    must(history_init(&record, memory, sizeof memory, &sampler));
    must(history_load(&record, &sampler, file, used, file + used, size - used));
}

/* How many steps the history says were skipped; -1: it does not have those that
   the run has seen. */
static int read_history(void)
{
    uint64_t batch[BATCH], step;
    history_walk walk;
    size_t count = 0;
    int at = 0, skipped = 0, same = 1;

    history_open(&walk, &record.log, statesampler_epoch(&sampler),
                 statesampler_step(&sampler));
    while (history_next(&walk) == 1) {
        const history_stretch *stretch = &walk.stretch;

        for (step = stretch->begin_step;
             history_served(stretch, 0, step) && at < num_seen; step++) {
            if (history_at(&walk, 0, 0, step, batch, &count) == 0) {
                break; /* the epoch's end */
            }
            same = same && seen[at].step == step && seen[at].count == count &&
                   memcmp(batch, seen[at].samples, count * sizeof *batch) == 0;
            at++;
        }
        for (step = stretch->end_step; history_skipped(stretch, 0, step);
             step++) {
            skipped++;
        }
    }
    return same && at == num_seen ? skipped : -1;
}

int main(int argc, char **argv)
{
    const statesampler_desc desc = {
        .num_samples = SAMPLES,
        .seed = 42,
        .world_size = 8,
        .batch_size = BATCH,
    };
    int skipped;

    example_begin(argc, argv, 1, usage);
    if (argc < 2 || argv[1][0] == '-') {
        example_fail(2, "give a FILE, not '%s'", argc < 2 ? "" : argv[1]);
    }
    must(statesampler_init(&sampler, &desc));
    must(history_init(&record, memory, sizeof memory, &sampler));
    serve(290);
    must(history_seek(&record, &sampler, 321));
    serve(400);
    save(argv[1]);
    resume(argv[1], 6);
    serve(STATESAMPLER_NONE);
    save(argv[1]);
    skipped = read_history();
    return example_end(skipped == 31,
                       "%d bytes of history have all %d steps of the run, and "
                       "the %d that were skipped",
                       (int)history_save(&record), num_seen, skipped);
}
