/* indices.c - which samples were in a step of a run, and where is a sample?

       make examples && build/indices --state FILE --straight --steps 100..102

   No log is needed: the answers follow from any state that the run saved, if
   you say by --straight that the run went straight between that state and these
   steps. */
#define STATESAMPLER_IMPLEMENTATION
#define STATESAMPLER_HOSTED
#include "statesampler.h"
#include "example.h"
#include "extras/recorder.h"

static const char usage[] =
    "usage: indices --state FILE [--steps A..B] [--where INDEX] [OPTION]...\n\n"
    "FILE is the state of a sampler, a mix or a mixture: one place of a run.\n"
    "It cannot know whether the run came to it and went on from it straight,\n"
    "so every question is refused unless --straight says so.\n"
    "Indices of a mix are those of its datasets one after another.\n\n"
    "  --steps A..B    the indices in steps A to B\n"
    "  --rank R        of this rank; default 0\n"
    "  --all           of all ranks\n"
    "  --where INDEX   step, rank and slot of a sample; may be given several\n"
    "                  times; in a mix, in its dataset's present epoch\n"
    "  --epoch N       in this epoch, as FILE's ranks and weights serve it\n"
    "  --world-size N  of a run of so many ranks that goes on from FILE\n"
    "  --batch-size N  of a run with such batches that goes on from FILE\n"
    "  --drop-last     the run had drop_last, which no state holds\n"
    "  --straight      the run had no seek, no begin and no other weights,\n"
    "                  ranks, batches or length from FILE to these steps; or,\n"
    "                  if they come before FILE, from the start of their\n"
    "                  epoch to FILE\n\n"
    "The exit status is 1 if a sample is not served, or without --straight.\n";

/* A mix's state has 120 bytes for each source; a mixture's has 8 more. */
enum { SOURCES = 1 << 17, BYTES = 128 * SOURCES, BATCH = 1 << 20, PACK = 136 };

static recorder r = {.epoch = STATESAMPLER_NONE};
static statesampler_source sources[SOURCES];
static unsigned char state[BYTES], scratch[BYTES];
static uint64_t batch[BATCH], first = 1, last;
static uint32_t rank;
static const char *path;
static int asked; /* a question was read */

static void open_state(void)
{
    size_t size = 0;
    int code = statesampler_load_file(path, state, sizeof state, &size);

    if (r.batch_size > 0 && recall_sources(state, size) > 0)
        example_fail(1, "--batch-size: a mix keeps those of its datasets");
    if (code == STATESAMPLER_OK)
        code = recorder_open(&r, sources, state, size, scratch);
    if (code == STATESAMPLER_OK && r.batch_size > BATCH)
        code = STATESAMPLER_ECAPACITY;
    if (code != STATESAMPLER_OK)
        example_fail(1, "%s: %s", path, memcmp(state, "SSL1", 4) == 0 ?
                     "a ledger has tickets: ask the state of its sampler" :
                     size == PACK && memcmp(state, "SSMP", 4) == 0 ?
                     "pack.h's state has no lengths" : example_error(code));
}

/* Ends the program if there is no such step. */
static void print_step(uint64_t step, uint32_t of_rank)
{
    uint32_t source;
    size_t count, i;
    int code = recorder_at(&r, step, of_rank, batch, &count, &source);

    if (code != 1)
        example_fail(1, "step %" PRIu64 " of epoch %" PRIu64 ": %s", step,
                     r.epoch, code == 0 ? "it is past the end"
                                        : statesampler_error(code));
    printf("epoch %" PRIu64 " step %" PRIu64 " rank %" PRIu32,
           recorder_epoch(r, step), step, of_rank);
    printf(r.num_sources > 0 ? " dataset %" PRIu32 ":" : ":", source);
    for (i = 0; i < count; i++)
        printf(" %" PRIu64, batch[i]);
    putchar('\n');
}

/* Returns 1 if the sample is served. */
static int print_place(uint64_t index)
{
    statesampler_place place = {0, 0, 0, 0};
    uint64_t step = 0;
    uint32_t source = 0;
    int code = recorder_locate(&r, index, &step, &place, &source);

    printf("%" PRIu64 ": epoch %" PRIu64, index, r.epoch);
    if (code == STATESAMPLER_OK)
        printf(" step %" PRIu64 " rank %" PRIu32 " slot %" PRIu32 " position %"
               PRIu64, step, place.rank, place.slot, place.position);
    if (code == STATESAMPLER_OK && r.num_sources > 0)
        printf(" dataset %" PRIu32, source);
    printf(code == STATESAMPLER_OK ? "\n" : ": %s\n", statesampler_error(code));
    return code == STATESAMPLER_OK;
}

static void read_steps(const char *text)
{
    char *end;

    first = strtoull(text, &end, 10);
    if (*text < '0' || strncmp(end, "..", 2) != 0)
        example_fail(2, "'%s' is not A..B", text);
    last = example_number(end + 2, first, UINT64_MAX - 1);
    asked = 1;
}

/* Only checks it: --where may be given several times. */
static void read_where(const char *text)
{
    example_number(text, 0, UINT64_MAX);
    asked = 1;
}

/* Reads an option with a value. */
static void read_option(const char *name, const char *text)
{
    if (strcmp(name, "--state") == 0)
        path = text;
    else if (strcmp(name, "--steps") == 0)
        read_steps(text);
    else if (strcmp(name, "--where") == 0)
        read_where(text);
    else if (strcmp(name, "--rank") == 0)
        rank = (uint32_t)example_number(text, 0, UINT32_MAX - 1);
    else if (strcmp(name, "--epoch") == 0)
        r.epoch = example_number(text, 0, UINT64_MAX - 1);
    else if (strcmp(name, "--world-size") == 0)
        r.world_size = (uint32_t)example_number(text, 1, UINT32_MAX);
    else if (strcmp(name, "--batch-size") == 0)
        r.batch_size = (uint32_t)example_number(text, 1, UINT32_MAX);
    else
        example_fail(2, "unknown option '%s'", name);
}

int main(int argc, char **argv)
{
    uint64_t step;
    uint32_t at;
    int i, all = 0, good = 1;

    example_begin(argc, argv, argc, usage);
    for (i = 1; i < argc; i++)
        if (strcmp(argv[i], "--all") == 0)
            all = 1;
        else if (strcmp(argv[i], "--straight") == 0)
            r.straight = 1;
        else if (strcmp(argv[i], "--drop-last") == 0)
            r.drop_last = 1;
        else if (++i < argc)
            read_option(argv[i - 1], argv[i]);
        else
            example_fail(2, "'%s' needs a value", argv[i - 1]);
    if (path == NULL || !asked)
        example_fail(2, "give --state FILE, and --steps A..B or --where INDEX");
    open_state();
    if (!r.straight)
        example_fail(1, "%s: %s; --straight says that it did not", path,
                     recorder_error(RECORDER_EUNKNOWN));
    for (i = 1; i < argc; i++)
        if (strcmp(argv[i - 1], "--where") == 0)
            good &= print_place(example_number(argv[i], 0, UINT64_MAX));
    for (step = first; step <= last; step++)
        for (at = all ? 0 : rank; at < (all ? r.world_size : rank + 1); at++)
            print_step(step, at);
    example_close();
    return good ? 0 : 1;
}
