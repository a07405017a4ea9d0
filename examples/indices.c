/* indices.c - which samples were in a step of a run, and where is a sample?

       make examples && build/indices --state FILE --steps 100..102

   No log is needed. If the run kept a history (extras/history.h) and saved it
   in FILE before its state, that answers for every step of the run. From a
   state alone the answers follow if you say by --straight that the run went
   straight between the state and these steps. */
#define STATESAMPLER_IMPLEMENTATION
#define STATESAMPLER_HOSTED
#include "statesampler.h"
#include "example.h"
#include "extras/history.h"
#include "extras/recorder.h"
#include "extras/schedule.h"

static const char usage[] =
    "usage: indices --state FILE [--steps A..B] [--where INDEX] [OPTION]...\n\n"
    "FILE is the state of a sampler, a mix or a mixture: one place of a run.\n"
    "It cannot know whether the run came to it and went on from it straight,\n"
    "so every question is refused unless --straight says so; or unless the\n"
    "run's history stands before the state in FILE, which knows every step.\n"
    "Indices of a mix are those of its datasets one after another.\n\n"
    "  --steps A..B    the indices in steps A to B, or in one step A\n"
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
    "                  epoch to FILE. The state alone is asked then, also if\n"
    "                  there is a history\n\n"
    "The exit status is 1 if a sample is not served, or without --straight.\n";

/* A mix's state has 120 bytes for each source; a mixture's has 8 more. */
enum { SOURCES = 1 << 17, BYTES = 128 * SOURCES, BATCH = 1 << 20 };

/* A state of pack.h is longer than the sampler's that it begins with. */
enum { PACK = STATESAMPLER_STATE_BYTES + 24 };

static recorder r = {.epoch = STATESAMPLER_NONE};
static statesampler_source sources[SOURCES];
static unsigned char state[BYTES], scratch[BYTES];
static uint64_t batch[BATCH], first = 1, last;
static uint32_t weights[SOURCES];
static uint64_t rank;
static uint64_t stage_end = STATESAMPLER_NONE; /* of FILE's schedule, if any */
static const char *path;
static int asked; /* a question was read */

/* --- answers from a history ----------------------------------------------- */

static history_log saved; /* bytes NULL: FILE has no history */
static history_walk walk;
static history_mix_walk mix_walk;
static uint64_t now_epoch, now_step;
static uint32_t most_ranks; /* of all stretches */

/* Goes to the first stretch of the run. */
static void open_walk(void)
{
    history_open(&walk, &saved, now_epoch, now_step);
    history_mix_open(&mix_walk, &saved, now_epoch, now_step, sources, weights,
                     scratch);
}

/* Takes bytes away from the beginning of what FILE has. */
static void leave(size_t used, size_t *size)
{
    *size -= used;
    memmove(state, state + used, *size);
}

/* The state of a schedule, which may come first. A history has the weights of
   its stages; a mix alone has those of the present one. */
static int leave_schedule(size_t *size)
{
    size_t used = 0;
    int code = schedule_find(&used, &stage_end, state, *size);

    leave(used, size);
    return code;
}

static int leave_history(size_t *size)
{
    history_log log;
    size_t used = 0;
    int code = history_read(&log, &used, state, *size);

    leave(used, size);
    return code;
}

/* Returns the next stretch; NULL after the last one. */
static const history_stretch *next_stretch(void)
{
    const int of_mix = saved.num_sources > 0;
    int code = of_mix ? history_mix_next(&mix_walk) : history_next(&walk);

    if (code < 0)
        example_fail(1, "%s: %s", path, history_error(code));
    if (code == 0)
        return NULL;
    return of_mix ? &mix_walk.stretch : &walk.stretch;
}

/* The shape of a stretch: of a mix, of the source with the largest batch. */
static uint32_t stretch_ranks(void)
{
    const statesampler *s = &walk.sampler;
    uint32_t most = 0, i;

    if (saved.num_sources > 0)
        s = &sources->sampler;
    for (i = 0; i < saved.num_sources; i++)
        if (sources[i].sampler.run.shape.batch_size > most)
            most = sources[i].sampler.run.shape.batch_size;
    if (saved.num_sources == 0)
        most = s->run.shape.batch_size;
    if (most > BATCH)
        example_fail(1, "%s: %s", path,
                     statesampler_error(STATESAMPLER_ECAPACITY));
    return s->run.shape.world_size;
}

/* Reads the whole run, which must lead to the state. */
static int go_through(const void *at, size_t size)
{
    open_walk();
    while (next_stretch() != NULL) {
        const uint32_t ranks = stretch_ranks();

        if (ranks > most_ranks)
            most_ranks = ranks;
    }
    return saved.num_sources > 0 ? history_mix_ends_in(&mix_walk, at, size)
                                 : history_ends_in(&walk, at);
}

/* Finds the history at the beginning of FILE, and the state after it, to which
   it must lead. */
static int open_history(size_t size)
{
    statesampler_mix_place of_mix = {0, 0, 0, 0, 0};
    statesampler_place place = {0, 0, 0, 0};
    statesampler_desc desc = {0};
    const unsigned char *at;
    size_t used = 0;
    int code = history_read(&saved, &used, state, size);

    if (code != STATESAMPLER_OK)
        return code;
    at = state + used;
    size -= used;
    if (saved.num_sources == 0) {
        code = statesampler_describe(at, size, &desc, &place);
        now_epoch = desc.epoch;
        now_step = place.step;
    } else {
        at = (const unsigned char *)statesampler_mix_state_in(at, &size);
        code = statesampler_mix_describe(at, size, 0, NULL, &of_mix);
        now_epoch = of_mix.epoch;
        now_step = of_mix.turn;
    }
    if (r.epoch == STATESAMPLER_NONE)
        r.epoch = now_epoch;
    if (code != STATESAMPLER_OK)
        return code;
    return go_through(at, size);
}

static void print_batch(uint64_t epoch, uint64_t step, uint32_t of_rank,
                        int of_mix, uint32_t source, size_t count)
{
    size_t i;

    printf("epoch %" PRIu64 " step %" PRIu64 " rank %" PRIu32, epoch, step,
           of_rank);
    printf(of_mix ? " dataset %" PRIu32 ":" : ":", source);
    for (i = 0; i < count; i++)
        printf(" %" PRIu64, batch[i]);
    putchar('\n');
}

/* Reads what a rank had in a step of this stretch. Returns 0 if the epoch has
   no such step. */
static int read_served(uint64_t step, uint32_t of_rank, size_t *count,
                       uint32_t *source)
{
    const int code =
        saved.num_sources == 0
            ? history_at(&walk, of_rank, r.epoch, step, batch, count)
            : history_mix_at(&mix_walk, of_rank, r.epoch, step, batch, count,
                             source);

    example_must_say(code, history_error);
    return code;
}

/* Prints it. */
static int print_served(uint64_t step, uint32_t of_rank)
{
    uint64_t epoch = r.epoch;
    uint32_t source = 0;
    size_t count = 0, i;
    const int code = read_served(step, of_rank, &count, &source);

    if (saved.num_sources == 0) {
        statesampler s = walk.sampler;

        if (saved.carry && statesampler_seek(&s, step) == STATESAMPLER_OK)
            epoch = statesampler_epoch(&s);
    } else {
        for (i = 0; code == 1 && i < count; i++)
            batch[i] += statesampler_mix_offset(&mix_walk.mix, source);
    }
    if (code == 1)
        print_batch(epoch, step, of_rank, saved.num_sources > 0, source, count);
    return code;
}

/* Writes which seek or begin left a step out. */
static void tell_skipped(char *text, size_t size,
                         const history_stretch *stretch)
{
    const int seeks = stretch->to_epoch == stretch->from_epoch;

    snprintf(text, size,
             "skipped at step %" PRIu64 " of epoch %" PRIu64
             " by a %s to %" PRIu64,
             stretch->from_step, stretch->from_epoch, seeks ? "seek" : "begin",
             seeks ? stretch->to_step : stretch->to_epoch);
}

/* What is said of an epoch of which the history does not know the beginning:
   the run may have served it before. */
#define NOT_SINCE \
    "not served since step %" PRIu64 " of epoch %" PRIu64 \
    ", where this history begins"

/* Why no stretch has a step, in words. */
static void explain(uint64_t step)
{
    const history_stretch *stretch;
    uint64_t epoch = 0, begin = 0; /* where the history begins */
    uint32_t source;
    size_t count;
    char why[160] = "";
    int is_first = 1;

    for (open_walk(); (stretch = next_stretch()) != NULL; is_first = 0) {
        if (is_first) {
            epoch = stretch->begin_epoch;
            begin = stretch->begin_step;
        }
        if (history_skipped(stretch, r.epoch, step) &&
            read_served(step, 0, &count, &source)) {
            tell_skipped(why, sizeof why, stretch);
            break;
        }
    }
    if (history_before(&saved, r.epoch, 0, epoch, begin))
        example_fail(1,
                     "step %" PRIu64 " of epoch %" PRIu64 ": " NOT_SINCE "%s%s",
                     step, r.epoch, begin, epoch, *why ? "; " : "", why);
    example_fail(1, "step %" PRIu64 " of epoch %" PRIu64 ": %s", step, r.epoch,
                 *why ? why : "the run has not served it");
}

/* Prints a step as often as it was served. */
static void print_history(uint64_t step, int all)
{
    const history_stretch *stretch;
    uint32_t of_rank, ranks, source, too_few = 0;
    size_t count;
    int found = 0;

    open_walk();
    while ((stretch = next_stretch()) != NULL) {
        if (!history_served(stretch, r.epoch, step))
            continue;
        ranks = stretch_ranks();
        if (!all && rank < ranks)
            found |= print_served(step, (uint32_t)rank);
        else if (!all && read_served(step, 0, &count, &source))
            too_few = ranks;
        for (of_rank = 0; all && of_rank < ranks; of_rank++)
            found |= print_served(step, of_rank);
    }
    if (!found && too_few > 0)
        example_fail(1,
                     "step %" PRIu64 " of epoch %" PRIu64
                     " was served to %" PRIu32 " ranks, from 0 on",
                     step, r.epoch, too_few);
    if (!found)
        explain(step);
}

/* samples: how many the dataset has. */
static void print_found(uint64_t index, uint64_t step,
                        const statesampler_place *place, uint64_t samples)
{
    printf("%" PRIu64 ": epoch %" PRIu64 " step %" PRIu64 " rank %" PRIu32
           " slot %" PRIu32 " position %" PRIu64,
           index, r.epoch, step, place->rank, place->slot, place->position);
    if (place->position >= samples)
        printf(" as padding");
}

/* Prints where a mix's stretch has served a sample: in each epoch of its
   dataset that the stretch has. */
static int print_mix_places(uint64_t index)
{
    uint64_t turn = 0, own = 0, own_last = 0;
    statesampler_place place = {0, 0, 0, 0};
    uint64_t local = index;
    uint32_t source = 0;
    int found = 0, more = 1;

    while (source + 1 < saved.num_sources &&
           local >= sources[source].sampler.run.num_samples)
        local -= sources[source++].sampler.run.num_samples;
    example_must_say(history_mix_epochs(&mix_walk, r.epoch, source, &own,
                                        &own_last),
                     history_error);
    for (; more; own++) {
        int code = history_mix_locate(&mix_walk, r.epoch, source, own, local,
                                      &turn, &place);

        more = own != own_last; /* which may be 0, after 2^64 - 1 */
        if (code == STATESAMPLER_EINVAL_REPLACEMENT)
            example_must(code);
        if (code != STATESAMPLER_OK)
            continue;
        print_found(index, turn, &place,
                    sources[source].sampler.run.num_samples);
        printf(" dataset %" PRIu32 "\n", source);
        found = 1;
    }
    return found;
}

/* The same of a sampler's stretch. */
static int print_own_place(uint64_t index)
{
    statesampler_place place = {0, 0, 0, 0};
    const int code = history_locate(&walk, r.epoch, index, &place);

    if (code == STATESAMPLER_EINVAL_REPLACEMENT)
        example_must(code);
    if (code != STATESAMPLER_OK)
        return 0;
    print_found(index, place.step, &place, walk.sampler.run.num_samples);
    putchar('\n');
    return 1;
}

/* Prints that a sample was not served, and since when that is known. samples:
   how many the dataset had at most. */
static void print_not_served(uint64_t index, uint64_t samples,
                             uint64_t first_epoch, uint64_t first_step)
{
    printf("%" PRIu64 ": epoch %" PRIu64 ": ", index, r.epoch);
    if (index >= samples) {
        puts(statesampler_error(STATESAMPLER_ERANGE_INDEX));
        return;
    }
    if (history_before(&saved, r.epoch, 0, first_epoch, first_step))
        printf(NOT_SINCE "\n", first_step, first_epoch);
    else
        puts("not served");
}

/* The number of samples in a stretch; of a mix, in all of its datasets. */
static uint64_t stretch_samples(void)
{
    return saved.num_sources > 0
               ? statesampler_mix_offset(&mix_walk.mix, saved.num_sources)
               : walk.sampler.run.num_samples;
}

/* Prints all places of a sample in an epoch. Returns 0 if there is none. */
static int print_places(uint64_t index)
{
    const history_stretch *stretch;
    uint64_t first_epoch = 0, first_step = 0, samples = 0;
    int found = 0, is_first = 1;

    for (open_walk(); (stretch = next_stretch()) != NULL; is_first = 0) {
        if (is_first) {
            first_epoch = stretch->begin_epoch;
            first_step = stretch->begin_step;
        }
        if (stretch_samples() > samples)
            samples = stretch_samples();
        if (!history_has_epoch(stretch, r.epoch))
            continue;
        found |= saved.num_sources > 0 ? print_mix_places(index)
                                       : print_own_place(index);
    }
    if (!found)
        print_not_served(index, samples, first_epoch, first_step);
    return found;
}

/* --- answers from a state ------------------------------------------------- */

/* Why a file of this size is no state that can be asked. */
static const char *why_not_opened(int code, size_t size)
{
    if (memcmp(state, "SSL1", 4) == 0)
        return "a ledger has tickets: ask the state of its sampler";
    if (size == PACK && memcmp(state, "SSMP", 4) == 0)
        return "pack.h's state has no lengths";
    if (STATESAMPLER_KIND(code) == STATESAMPLER_EIO)
        return strerror(errno);
    return recorder_error(code);
}

/* Ends with the step that has the samples of an epoch in which none begins. */
static void tell_no_begin(void)
{
    const uint64_t next = statesampler_step(&r.sampler);

    if (next > 0)
        example_fail(1,
                     "%s: no step begins in epoch %" PRIu64 ": step %" PRIu64
                     " has its samples",
                     path, r.epoch, next - 1);
    example_fail(1, "%s: the run begins after epoch %" PRIu64, path, r.epoch);
}

static void open_state(void)
{
    size_t size = 0;
    int code = statesampler_load_file(path, state, sizeof state, &size);
    int known;

    if (code == STATESAMPLER_OK && size > 8 && memcmp(state, "SSC1", 4) == 0)
        code = leave_schedule(&size);
    known =
        code == STATESAMPLER_OK && size > 4 && memcmp(state, "SSH1", 4) == 0;
    if (known && r.straight) {
        code = leave_history(&size);
        known = 0;
    }
    if (known) {
        code = open_history(size);
        if (code < 0)
            example_fail(1, "%s: %s", path, history_error(code));
        if (r.world_size > 0 || r.batch_size > 0)
            example_fail(1,
                         "%s: leave out %s: its history knows ranks and "
                         "batches",
                         path,
                         r.world_size > 0 ? "--world-size" : "--batch-size");
        return;
    }
    if (r.batch_size > 0 && recall_sources(state, size) > 0)
        example_fail(1, "--batch-size: a mix keeps those of its datasets");
    if (code == STATESAMPLER_OK)
        code = recorder_open(&r, sources, state, size, scratch);
    if (code == STATESAMPLER_OK && r.batch_size > BATCH)
        code = STATESAMPLER_ECAPACITY;
    if (code == RECORDER_EBEGINS)
        tell_no_begin();
    if (code != STATESAMPLER_OK)
        example_fail(1, "%s: %s", path, why_not_opened(code, size));
}

/* What is said of a turn that has weights of which the state does not know. */
#define NEW_STAGE \
    ": this state's schedule has a new stage at turn %" PRIu64 \
    ", which schedule_at knows"

/* Ends the program if there is no such step. */
static void print_step(uint64_t step, uint32_t of_rank)
{
    uint32_t source = 0;
    size_t count = 0;
    int code;

    if (step >= stage_end)
        example_fail(1, "turn %" PRIu64 NEW_STAGE, step, stage_end);
    code = recorder_at(&r, step, of_rank, batch, &count, &source);
    if (code != 1)
        example_fail(1, "step %" PRIu64 " of epoch %" PRIu64 ": %s", step,
                     r.epoch,
                     code == 0 ? "it is past the end"
                               : statesampler_error(code));
    print_batch(recorder_epoch(r, step), step, of_rank, r.num_sources > 0,
                source, count);
}

/* Whether a sample that is not in the present stage may be in a later one. */
static int may_come(int code)
{
    return stage_end != STATESAMPLER_NONE &&
           (code == STATESAMPLER_ERANGE_OFF || code == STATESAMPLER_ERANGE_FAR);
}

/* Returns 1 if the sample is served. */
static int print_place(uint64_t index)
{
    statesampler_place place = {0, 0, 0, 0};
    uint64_t step = 0;
    uint32_t source = 0;
    int code = recorder_locate(&r, index, &step, &place, &source);

    printf("%" PRIu64 ": epoch %" PRIu64, index, r.epoch);
    if (code == STATESAMPLER_OK && step >= stage_end) {
        printf(": turn %" PRIu64 NEW_STAGE "\n", step, stage_end);
        return 0;
    }
    if (may_come(code)) {
        printf(NEW_STAGE "\n", stage_end);
        return 0;
    }
    if (code == STATESAMPLER_OK)
        printf(" step %" PRIu64 " rank %" PRIu32 " slot %" PRIu32
               " position %" PRIu64,
               step, place.rank, place.slot, place.position);
    if (code == STATESAMPLER_OK && r.num_sources > 0)
        printf(" dataset %" PRIu32, source);
    printf(code == STATESAMPLER_OK ? "\n" : ": %s\n", statesampler_error(code));
    return code == STATESAMPLER_OK;
}

/* By the history, or, where there is none, as if nothing had been skipped. */
static int print_where(uint64_t index)
{
    if (saved.bytes != NULL)
        return print_places(index);
    return print_place(index);
}

static void print_straight(uint64_t step, int all)
{
    uint32_t of_rank;

    if (!all)
        print_step(step, (uint32_t)rank);
    for (of_rank = 0; all && of_rank < r.world_size; of_rank++)
        print_step(step, of_rank);
}

static void read_steps(const char *text)
{
    char *end;
    int one;

    first = strtoull(text, &end, 10);
    one = *end == '\0';
    if (*text < '0' || (!one && strncmp(end, "..", 2) != 0))
        example_fail(2, "'%s' is not A..B", text);
    last = example_number(one ? text : end + 2, first, UINT64_MAX - 1);
    asked = 1;
}

/* Only checks it: --where may be given several times. */
static void read_where(const char *text)
{
    example_number(text, 0, UINT64_MAX);
    asked = 1;
}

/* Ends the program if no step can have what is asked. */
static void check_question(void)
{
    if (saved.bytes == NULL && !r.straight)
        example_fail(1, "%s: %s; --straight says that it did not", path,
                     recorder_error(RECORDER_EUNKNOWN));
    if (saved.bytes == NULL) {
        if (rank >= r.world_size)
            example_fail(1, "there are %" PRIu32 " ranks, from 0 on",
                         r.world_size);
    } else if (rank >= most_ranks) {
        example_fail(1, "there were at most %" PRIu32 " ranks, from 0 on",
                     most_ranks);
    }
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
        rank = example_number(text, 0, UINT64_MAX);
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
    check_question();
    for (i = 1; i < argc; i++)
        if (strcmp(argv[i - 1], "--where") == 0)
            good &= print_where(example_number(argv[i], 0, UINT64_MAX));
    for (step = first; step <= last; step++)
        if (saved.bytes != NULL)
            print_history(step, all);
        else
            print_straight(step, all);
    example_close();
    return good ? 0 : 1;
}
