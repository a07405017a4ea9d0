/* indices.c - the indices of one rank, on the command line.

       make examples && build/indices --num-samples 1000 --seed 42
       build/indices --help

   Prints the indices that a rank reads, as text or as binary numbers, and can
   continue from a state file. It needs memory for one batch only. Of a run that
   saved a state, it says which samples were in which step:

       build/indices --state FILE --steps 100..102 --all
       build/indices --state FILE --where 17 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STATESAMPLER_IMPLEMENTATION
#define STATESAMPLER_HOSTED
#include "statesampler.h"
#include "example.h"
#include "recall.h"

static const char usage[] =
    "usage: indices --num-samples N [OPTION]...\n"
    "       indices --state FILE --steps A..B | --where N | --info\n\n"
    "Prints the indices of the samples that one rank reads, in order, to the\n"
    "end of the epoch. N may be written 1000000000, 1e9 or 2^30.\n\n"
    "Dataset and order, the same on all ranks:\n"
    "  --num-samples N    0 to 2^62\n"
    "  --seed N           default 0\n"
    "  --stream N         tells datasets with the same seed apart; default 0\n"
    "  --epoch N          first epoch, unless a state is loaded; default 0\n"
    "  --order NAME       shuffle (default), sequential, window, replacement\n"
    "  --chunk-size N     order window: samples per chunk\n"
    "  --window N         order window: chunks shuffled together\n\n"
    "Ranks:\n"
    "  --rank N           0 (default) to world size - 1\n"
    "  --world-size N     default 1\n"
    "  --from-env         take both from the variables of torchrun, Open MPI,\n"
    "                     PMI or Slurm; rank 0 of 1 if none are set\n"
    "  --batch-size N     samples per rank and step; default 1\n"
    "  --partition NAME   interleaved (default), blocked\n"
    "  --tail NAME        pad (default), drop, uneven, carry\n"
    "  --drop-last        leave out a last step that is not full\n\n"
    "Output:\n"
    "  --format NAME      text (default): one index per line; u32, u64:\n"
    "                     little-endian numbers; npy: for numpy.load\n"
    "  --epochs N         stop after N epochs; default 1\n"
    "  --steps N          stop after N steps, in any number of epochs; needed\n"
    "                     with the tail carry, which has no end\n"
    "  --state FILE       continue from FILE if it exists, and save to it when\n"
    "                     everything is printed. FILE is also written before\n"
    "                     the first index, unchanged or with the start, to see\n"
    "                     that it can be. A run that is killed leaves it so,\n"
    "                     and the next run prints the same again. Each rank\n"
    "                     needs a FILE of its own\n\n"
    "Questions, which only read FILE. Without --num-samples it says all but\n"
    "--drop-last, and may be of a mix or a mixture. Indices are then those of\n"
    "its datasets one after another. --world-size and --batch-size ask about a\n"
    "run that goes on from FILE with these.\n"
    "  --steps A..B       the indices in steps A to B: of --rank, or of --all\n"
    "  --where N          step, rank and slot of index N, in a mix in its\n"
    "                     dataset's present epoch; may be given several times\n"
    "  --epoch N          in this epoch instead of FILE's, past or to come,\n"
    "                     as FILE's ranks and weights serve it\n"
    "  --info             sizes and counts, and the place of FILE\n"
    "  --audit            serve an epoch to all ranks, and say whether each\n"
    "                     sample came exactly once\n"
    "  --help             this text\n\n"
    "The exit status is 0; 1 if something failed, an index is not served, or\n"
    "an audit fails; 2 if the options are wrong.\n";

static const char *const orders[] = {"shuffle", "sequential", "window",
                                     "replacement", NULL};
static const char *const partitions[] = {"interleaved", "blocked", NULL};
static const char *const tails[] = {"pad", "drop", "uneven", "carry", NULL};
static const char *const stops[] = {"first", "all", "restart", "never"};
static const char *const formats[] = {"text", "u32", "u64", "npy", NULL};
enum { TEXT, U32, U64, NPY };

static statesampler_desc desc = {.world_size = 1, .batch_size = 1};
static const char *state_file;
static uint64_t steps = STATESAMPLER_NONE, epochs = STATESAMPLER_NONE;
static uint64_t first_step; /* --steps FIRST..STEPS */
static int some_steps;
static uint64_t index_wanted, *wanted; /* --where */
static int num_wanted;
static uint32_t format;
static uint64_t epoch; /* --epoch */
static statesampler_mix mix; /* of the state, if that has sources */
static uint32_t num_sources;

/* --- options ------------------------------------------------------------- */

/* Reads the decimal number at *text. Returns 0 if there is none or it is too
   large. */
static int digits(const char **text, uint64_t *value)
{
    const char *from = *text;

    for (*value = 0; **text >= '0' && **text <= '9'; ++*text) {
        uint64_t digit = (uint64_t)(**text - '0');

        if (*value > (UINT64_MAX - digit) / 10) {
            return 0;
        }
        *value = 10 * *value + digit;
    }
    return *text > from;
}

/* Applies an exponent, as in 1e9 or 2^30. Returns 0 if the result is too
   large. */
static int power(const char **text, uint64_t *value)
{
    uint64_t base = 10, exponent;

    if (**text == '^' && *value == 2) {
        *value = 1;
        base = 2;
    } else if (**text != 'e') {
        return 1;
    }
    ++*text;
    if (!digits(text, &exponent)) {
        return 0;
    }
    /* Ends after at most 64 rounds: a value above 0 becomes too large. */
    for (; *value > 0 && exponent > 0; exponent--) {
        if (*value > UINT64_MAX / base) {
            return 0;
        }
        *value *= base;
    }
    return 1;
}

static uint64_t number(const char *option, const char *text, uint64_t least,
                       uint64_t most)
{
    const char *rest = text;
    uint64_t value;

    if (!digits(&rest, &value) || !power(&rest, &value) || *rest != '\0' ||
        value < least || value > most) {
        example_fail(2, "%s: '%s' is not a number from %" PRIu64
                        " to %" PRIu64, option, text, least, most);
    }
    return value;
}

static uint32_t choice(const char *option, const char *text,
                       const char *const *names)
{
    char list[80] = "";
    uint32_t i;

    for (i = 0; names[i] != NULL; i++) {
        if (strcmp(text, names[i]) == 0) {
            return i;
        }
        strcat(list, i == 0 ? "" : names[i + 1] != NULL ? ", " : " or ");
        strcat(list, names[i]);
    }
    example_fail(2, "%s: '%s' is not %s", option, text, list);
    return 0;
}

/* An option sets what its pointer points to. One without a pointer is a
   flag. */
static struct option {
    const char *name;
    uint64_t *wide;   /* a number */
    uint32_t *narrow; /* a 32-bit number, or the number of a name */
    const char **text;
    uint64_t least, most;
    const char *const *names;
    int given;
} options[] = {
    {"--num-samples", .wide = &desc.num_samples,
     .most = STATESAMPLER_MAX_SAMPLES},
    {"--seed", .wide = &desc.seed, .most = UINT64_MAX},
    {"--stream", .wide = &desc.stream, .most = UINT64_MAX},
    {"--epoch", .wide = &epoch, .most = UINT64_MAX},
    {"--order", .narrow = &desc.order, .names = orders},
    {"--chunk-size", .wide = &desc.chunk_size, .least = 1,
     .most = STATESAMPLER_MAX_SAMPLES},
    {"--window", .wide = &desc.window, .least = 1,
     .most = STATESAMPLER_MAX_SAMPLES},
    {"--rank", .narrow = &desc.rank, .most = UINT32_MAX},
    {"--world-size", .narrow = &desc.world_size, .least = 1,
     .most = UINT32_MAX},
    {.name = "--from-env"},
    {"--batch-size", .narrow = &desc.batch_size, .least = 1,
     .most = UINT32_MAX},
    {"--partition", .narrow = &desc.partition, .names = partitions},
    {"--tail", .narrow = &desc.tail, .names = tails},
    {.name = "--drop-last"},
    {"--format", .narrow = &format, .names = formats},
    {"--epochs", .wide = &epochs, .most = UINT64_MAX - 1},
    {"--steps", .wide = &steps, .most = UINT64_MAX - 1},
    {"--state", .text = &state_file},
    {.name = "--info"},
    {"--where", .wide = &index_wanted, .most = UINT64_MAX},
    {.name = "--all"},
    {.name = "--audit"}};

/* The option of this name, up to an equals sign. */
static struct option *find_option(const char *name)
{
    size_t length = strcspn(name, "="), i;

    for (i = 0; i < sizeof options / sizeof options[0]; i++) {
        if (strncmp(name, options[i].name, length) == 0 &&
            options[i].name[length] == '\0') {
            return &options[i];
        }
    }
    example_fail(2, "unknown option '%s'", name);
    return NULL;
}

static int given(const char *name)
{
    return find_option(name)->given;
}

/* Returns 1 if no indices are to be printed. */
static int is_question(void)
{
    return given("--info") || given("--audit") || given("--where") ||
           some_steps;
}

/* Reads A..B, and returns B; any other text as it is. */
static const char *read_range(struct option *o, const char *text)
{
    const char *dots = o->wide == &steps ? strstr(text, "..") : NULL;
    char from[32] = "";

    if (dots == NULL) {
        return text;
    }
    strncat(from, text, dots - text < 31 ? (size_t)(dots - text) : 31);
    first_step = number(o->name, from, 0, o->most);
    some_steps = 1;
    return dots + 2;
}

static void set_option(struct option *o, const char *text)
{
    text = read_range(o, text);
    if (o->text != NULL) {
        *o->text = text;
    } else if (o->names != NULL) {
        *o->narrow = choice(o->name, text, o->names);
    } else if (o->narrow != NULL) {
        *o->narrow = (uint32_t)number(o->name, text, o->least, o->most);
    } else {
        *o->wide = number(o->name, text, o->least, o->most);
    }
    if (o->wide == &index_wanted) {
        wanted[num_wanted++] = index_wanted;
    }
}

static void read_options(int argc, char **argv)
{
    int i;

    for (i = 1; i < argc; i++) {
        struct option *o = find_option(argv[i]);
        const char *value = strchr(argv[i], '=');
        int is_flag = !o->wide && !o->narrow && !o->text;

        o->given = 1;
        if (is_flag && value != NULL) {
            example_fail(2, "%s takes no value", o->name);
        } else if (is_flag) {
            continue;
        } else if (value != NULL) {
            set_option(o, value + 1);
        } else if (++i < argc) {
            set_option(o, argv[i]);
        } else {
            example_fail(2, "%s needs a value", o->name);
        }
    }
    desc.drop_last = (uint32_t)given("--drop-last");
}

static void read_env(void)
{
    const char *launcher;
    int code;

    if (given("--rank") || given("--world-size")) {
        example_fail(2, "--from-env cannot be combined with --rank or "
                     "--world-size");
    }
    code = statesampler_from_env(&desc, &launcher);
    if (code != STATESAMPLER_OK) {
        example_fail(2, "--from-env: %s: %s", launcher,
                     statesampler_error(code));
    }
}

/* --- the state ----------------------------------------------------------- */

/* Reads the whole state file. */
static unsigned char *read_state(size_t *size)
{
    unsigned char *state = NULL;
    int code = statesampler_load_file(state_file, NULL, 0, size);

    if (STATESAMPLER_KIND(code) == STATESAMPLER_ECAPACITY) {
        state = (unsigned char *)malloc(*size);
        if (state == NULL) {
            example_fail(1, "no memory for %s", state_file);
        }
        code = statesampler_load_file(state_file, state, *size, NULL);
    }
    if (code != STATESAMPLER_OK) {
        example_fail(1, "%s: %s", state_file, example_error(code));
    }
    return state;
}

/* Makes the mix of a state. */
static void open_mix(const unsigned char *state, size_t size)
{
    statesampler_source *sources = (statesampler_source *)calloc(
        num_sources, sizeof *sources);
    unsigned char *scratch = (unsigned char *)malloc(size);
    statesampler_mix_place place = {0, 0, 0, 0, 0};
    uint32_t world_size = desc.world_size, i;
    int code;

    if (given("--batch-size")) {
        example_fail(2, "--batch-size: a mix keeps those of its datasets");
    }
    if (sources == NULL || scratch == NULL) {
        example_fail(1, "no memory for a mix of %" PRIu32, num_sources);
    }
    code = recall_mix(&mix, sources, state, size, scratch,
                      given("--epoch") ? epoch : STATESAMPLER_NONE,
                      (uint32_t)given("--drop-last"));
    if (code != STATESAMPLER_OK) {
        example_fail(1, "%s: %s", state_file, statesampler_error(code));
    }
    state = recall_state(state, &size);
    for (i = 0; i < num_sources; i++) {
        statesampler_desc source;

        statesampler_mix_describe(state, size, i, &source, &place);
        if (source.batch_size > desc.batch_size) {
            desc.batch_size = source.batch_size;
        }
        desc.world_size = source.world_size;
    }
    epoch = given("--epoch") ? epoch : place.epoch;
    if (given("--world-size")) {
        desc.world_size = world_size;
        code = statesampler_mix_reshape(&mix, 0, world_size);
    }
    if (code != STATESAMPLER_OK) {
        example_fail(2, "--world-size: %s", statesampler_error(code));
    }
    if (desc.rank >= desc.world_size) {
        example_fail(2, "--rank: the state has %" PRIu32 " ranks",
                     desc.world_size);
    }
    free(scratch);
}

/* Takes the description from the state file, or the mix. */
static void describe_state(void)
{
    size_t size = 0;
    unsigned char *state = read_state(&size);
    const statesampler_desc asked = desc;
    int code;

    num_sources = recall_sources(state, size);
    if (num_sources > 0) {
        open_mix(state, size);
    } else {
        code = statesampler_describe(state, size, &desc, NULL);
        if (code != STATESAMPLER_OK) {
            example_fail(1, "%s: %s", state_file, statesampler_error(code));
        }
        desc.rank = asked.rank;
        desc.drop_last = (uint32_t)given("--drop-last");
        if (given("--world-size")) {
            desc.world_size = asked.world_size;
        }
        if (given("--batch-size")) {
            desc.batch_size = asked.batch_size;
        }
    }
    free(state);
}

/* Without --num-samples, the state says what else is described. */
static void check_description(void)
{
    static const char *const names[] = {
        "--seed", "--stream", "--order", "--chunk-size", "--window",
        "--from-env", "--partition", "--tail"};
    size_t i;

    for (i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (!given("--num-samples") && given(names[i])) {
            example_fail(2, "%s needs --num-samples; without it the state says "
                            "this", names[i]);
        }
    }
}

/* Refuses what statesampler_init accepts but makes no sense here. */
static void check_options(void)
{
    if (!given("--num-samples") && state_file == NULL) {
        example_fail(2, "--num-samples or --state is needed");
    }
    if (some_steps && first_step > steps) {
        example_fail(2, "--steps: the first step is after the last");
    }
    if (given("--all") && (!some_steps || given("--rank"))) {
        example_fail(2, "--all needs --steps A..B, and no --rank");
    }
    if (is_question() && given("--format")) {
        example_fail(2, "answers to questions are text: leave --format out");
    }
    check_description();
    if (!given("--num-samples")) {
        describe_state();
    }
    if (desc.order != STATESAMPLER_ORDER_WINDOW &&
        (given("--chunk-size") || given("--window"))) {
        example_fail(2, "--chunk-size and --window need --order window");
    }
    if (format == U32 && desc.num_samples > (uint64_t)1 << 32) {
        example_fail(2, "--format u32 holds at most 2^32 samples; use u64");
    }
    if (given("--audit") && desc.order == STATESAMPLER_ORDER_REPLACEMENT) {
        example_fail(2, "--audit makes no sense with --order replacement, "
                        "which repeats samples");
    }
    if (!is_question() && desc.tail == STATESAMPLER_TAIL_CARRY &&
        (!given("--steps") || given("--epochs"))) {
        example_fail(2, "--tail carry has no end: use --steps, not --epochs");
    }
    if (!given("--steps") && !given("--epochs")) {
        epochs = 1;
    }
}

/* Goes to the first step of CARRY that begins in the epoch. Its steps count on
   through all epochs. */
static void carry_to_epoch(statesampler *s)
{
    uint64_t n = desc.num_samples, step = statesampler_step(s), by;
    uint64_t now = statesampler_epoch(s), global, there;
    int back = epoch < now, code;

    by = back ? now - epoch : epoch - now;
    global = (uint64_t)desc.world_size * desc.batch_size;
    if (by >= STATESAMPLER_MAX_SAMPLES / n) {
        example_fail(2, "--epoch: too far from epoch %" PRIu64, now);
    }
    by = back ? by * n + statesampler_position(s)
              : by * n - statesampler_position(s);
    by = back ? by / global : (by + global - 1) / global;
    there = back ? step - by : step + by;
    code = back && by > step ? STATESAMPLER_ERANGE - 1
                             : statesampler_seek(s, there);
    if (code != STATESAMPLER_OK || statesampler_epoch(s) != epoch) {
        example_fail(1, "--epoch %" PRIu64 ": %s", epoch, statesampler_error(
            code != STATESAMPLER_OK ? code : STATESAMPLER_ERANGE));
    }
}

/* Makes the sampler of a rank and loads the state file, if there is one. *state
   is then the state's bytes. Returns 1 if there is a file. */
static int open_sampler(statesampler *s, unsigned char *state, uint32_t rank)
{
    int code;

    desc.rank = rank;
    desc.epoch = given("--epoch") ? epoch : desc.epoch;
    code = statesampler_init(s, &desc);
    if (code != STATESAMPLER_OK) {
        example_fail(2, "%s", statesampler_error(code));
    }
    code = STATESAMPLER_ENOFILE;
    if (state_file != NULL) {
        code = statesampler_load_file(state_file, state,
                                      STATESAMPLER_STATE_BYTES, NULL);
    }
    if (STATESAMPLER_KIND(code) == STATESAMPLER_ENOFILE) {
        example_must(statesampler_save(s, state, STATESAMPLER_STATE_BYTES));
        return 0;
    }
    if (code == STATESAMPLER_OK) {
        code = statesampler_load(s, state, STATESAMPLER_STATE_BYTES);
    }
    if (code != STATESAMPLER_OK) {
        example_fail(1, "%s: %s", state_file, example_error(code));
    }
    if (is_question() && given("--epoch") && epoch != statesampler_epoch(s)) {
        if (desc.tail == STATESAMPLER_TAIL_CARRY) {
            carry_to_epoch(s);
        } else {
            statesampler_begin(s, epoch);
        }
    }
    return 1;
}

static void save_state(const unsigned char *state)
{
    int code = STATESAMPLER_OK;

    if (state_file != NULL) {
        code = statesampler_save_file(state_file, state,
                                      STATESAMPLER_STATE_BYTES);
    }
    if (code != STATESAMPLER_OK) {
        example_fail(1, "%s: %s", state_file, example_error(code));
    }
}

/* --- output -------------------------------------------------------------- */

static unsigned char buffer[1 << 16];
static size_t buffered;

/* Says nothing if the reader has closed the pipe. (Unless SIGPIPE is ignored,
   it has ended the program before.) */
static void flush_output(void)
{
    if (fwrite(buffer, 1, buffered, stdout) != buffered ||
        fflush(stdout) != 0) {
#ifdef EPIPE
        if (errno == EPIPE) {
            exit(1);
        }
#endif
        example_fail(1, "cannot write the output: %s", strerror(errno));
    }
    buffered = 0;
}

static void put(uint64_t index)
{
    unsigned char text[21];
    size_t i = sizeof text, bytes;

    if (buffered > sizeof buffer - sizeof text) {
        flush_output();
    }
    if (format == TEXT) {
        text[--i] = '\n';
        do {
            text[--i] = (unsigned char)('0' + index % 10);
        }
        while ((index /= 10) > 0);
        memcpy(buffer + buffered, text + i, sizeof text - i);
        buffered += sizeof text - i;
    } else {
        for (bytes = format == U32 ? 4 : 8; bytes > 0; bytes--, index >>= 8) {
            buffer[buffered++] = (unsigned char)index;
        }
    }
}

/* Version 1.0: 10 bytes and 118 bytes of text, a multiple of 64. The number of
   indices comes first, so that the output can be a pipe. */
static void put_npy_header(uint64_t count)
{
    char *text = (char *)buffer + 10;
    int length = snprintf(text, 118,
                          "{'descr': '<u8', 'fortran_order': False, "
                          "'shape': (%" PRIu64 ",), }", count);

    memcpy(buffer, "\x93NUMPY\x01\x00\x76\x00", 10);
    memset(text + length, ' ', 117 - (size_t)length);
    text[117] = '\n';
    buffered = 128;
}

/* Returns how many indices were printed or, if batch is NULL, would be. An
   empty batch of the tail UNEVEN counts as a step, so that --steps stops all
   ranks at the same step. Two empty epochs in a row end the loop, as no other
   epoch has steps then. */
static uint64_t print_indices(statesampler *s, uint64_t *batch)
{
    uint64_t some = steps, ends = epochs, printed = 0;
    int empty = 0; /* empty epochs in a row */

    while (some > 0 && ends > 0 && empty < 2) {
        size_t i, count;
        int more = statesampler_next(s, batch, &count);

        for (i = 0; i < count && batch != NULL; i++) {
            put(batch[i]);
        }
        printed += count;
        some -= more ? 1 : 0;
        ends -= more ? 0 : 1;
        empty = more ? 0 : empty + 1;
    }
    return printed;
}

/* --- questions ----------------------------------------------------------- */

static void show(const char *what, uint64_t value)
{
    if (value == STATESAMPLER_NONE) {
        printf("%-20s endless\n", what);
    } else {
        printf("%-20s %" PRIu64 "\n", what, value);
    }
}

static void info(const statesampler *s, int found)
{
    statesampler_counts counts;

    statesampler_get_counts(s, &counts);
    show("samples", desc.num_samples);
    printf("%-20s %s, %s, %s%s\n", "order and sharing", orders[desc.order],
           partitions[desc.partition], tails[desc.tail],
           desc.drop_last ? ", drop last" : "");
    printf("%-20s %" PRIu32 " of %" PRIu32 "\n", "rank", desc.rank,
           desc.world_size);
    show("batch size", desc.batch_size);
    if (state_file != NULL) {
        printf("%-20s %s%s\n", "state file", state_file,
               found ? "" : " (does not exist yet)");
    }
    show("epoch", statesampler_epoch(s));
    show("steps done", statesampler_step(s));
    show("steps in all", counts.steps);
    show("positions done", statesampler_position(s));
    show("positions in all", counts.positions);
    show("repeats in all", counts.padded);
    show("dropped in all", counts.dropped);
    show("this rank's samples", counts.rank_samples);
    show("this rank's batches", counts.rank_batches);
    show("bytes of a sampler", sizeof *s);
    show("bytes of a state", STATESAMPLER_STATE_BYTES);
}

static void info_of_mix(void)
{
    uint32_t i;

    show("datasets", num_sources);
    show("samples", statesampler_mix_offset(&mix, num_sources));
    printf("%-20s %s\n", "stop", stops[mix.stop]);
    show("ranks", desc.world_size);
    show("epoch", epoch);
    show("steps done", statesampler_mix_turn(&mix));
    show("steps in all", statesampler_mix_num_turns(&mix));
    for (i = 0; i < num_sources; i++) {
        printf("dataset %" PRIu32 ": indices from %" PRIu64 ", its epoch %"
               PRIu64 ", position %" PRIu64 "\n", i,
               statesampler_mix_offset(&mix, i),
               statesampler_epoch(&mix.sources[i].sampler),
               statesampler_position(&mix.sources[i].sampler));
    }
}

static uint64_t present_epoch(const statesampler *s)
{
    return num_sources > 0 ? epoch : statesampler_epoch(s);
}

/* Any step of any rank. *source stays 0 without a mix. */
static int ask(statesampler *s, uint64_t step, uint32_t rank, uint64_t *batch,
               size_t *count, uint32_t *source)
{
    uint64_t offset;
    size_t i;
    int code;

    if (num_sources == 0) {
        statesampler_reshape(s, rank, desc.world_size, desc.batch_size);
        return statesampler_at(s, step, batch, count);
    }
    statesampler_mix_reshape(&mix, rank, desc.world_size);
    code = statesampler_mix_at(&mix, step, batch, count, source);
    offset = statesampler_mix_offset(&mix, *source);
    for (i = 0; i < *count; i++) {
        batch[i] += offset;
    }
    return code;
}

static void print_step(statesampler *s, uint64_t step, uint32_t rank,
                       uint64_t *batch)
{
    uint32_t source = 0;
    size_t count, i;

    ask(s, step, rank, batch, &count, &source);
    printf("epoch %" PRIu64 " step %" PRIu64 " rank %" PRIu32,
           present_epoch(s), step, rank);
    if (num_sources > 0) {
        printf(" dataset %" PRIu32, source);
    }
    putchar(':');
    for (i = 0; i < count; i++) {
        printf(" %" PRIu64, batch[i]);
    }
    putchar('\n');
}

/* Steps are asked for at both ends first, so that nothing is printed if some
   are missing. */
static void print_steps(statesampler *s, uint64_t *batch)
{
    uint64_t step, ends[2];
    uint32_t first = given("--all") ? 0 : desc.rank, rank, source = 0;
    uint32_t past = given("--all") ? desc.world_size : desc.rank + 1;
    size_t count;
    int i, code;

    if (desc.tail == STATESAMPLER_TAIL_CARRY && given("--epoch")) {
        example_fail(2, "with the tail carry, steps count through all epochs: "
                        "leave --epoch out");
    }
    ends[0] = first_step;
    ends[1] = steps;
    for (i = 0; i < 2; i++) {
        code = ask(s, ends[i], desc.rank, batch, &count, &source);
        if (code != 1) {
            code = code < 0 ? code : STATESAMPLER_ERANGE - 2;
            example_fail(1, "step %" PRIu64 " of epoch %" PRIu64 ": %s",
                         ends[i], present_epoch(s), statesampler_error(code));
        }
    }
    for (step = first_step; step <= steps; step++) {
        for (rank = first; rank < past; rank++) {
            print_step(s, step, rank, batch);
        }
    }
}

static int locate(const statesampler *s, uint64_t index)
{
    statesampler_place place = {0, 0, 0, 0};
    uint64_t step = 0, all = desc.num_samples;
    uint32_t source = 0;
    int code;

    if (num_sources > 0) {
        all = statesampler_mix_offset(&mix, num_sources);
        while (source + 1 < num_sources &&
               index >= statesampler_mix_offset(&mix, source + 1)) {
            source++;
        }
        code = statesampler_mix_locate(
            &mix, source, index - statesampler_mix_offset(&mix, source), &step,
            &place);
    } else {
        code = statesampler_locate(s, index, &place);
        step = place.step;
    }
    if (index >= all || STATESAMPLER_KIND(code) == STATESAMPLER_EINVAL) {
        example_fail(2, "--where %" PRIu64 ": %s", index,
                     statesampler_error(code));
    }
    printf("%" PRIu64 ": epoch %" PRIu64, index, present_epoch(s));
    if (code == STATESAMPLER_OK) {
        printf(" step %" PRIu64 " rank %" PRIu32 " slot %" PRIu32
               " position %" PRIu64, step, place.rank, place.slot,
               place.position);
        if (num_sources > 0) {
            printf(" dataset %" PRIu32, source);
        }
        putchar('\n');
    } else {
        printf(": %s\n", statesampler_error(code));
    }
    return code == STATESAMPLER_OK;
}

/* Audits what this rank is served in a whole epoch. Returns how many samples
   are left out: padding or, with CARRY, samples of the next epoch. */
static uint64_t audit_rank(statesampler_audit *all, const statesampler *s,
                           uint64_t *batch)
{
    uint64_t global = (uint64_t)desc.world_size * desc.batch_size;
    uint64_t end = statesampler_num_steps(s), step, position, extra = 0;
    size_t count, more;

    if (desc.tail == STATESAMPLER_TAIL_CARRY) {
        end = (desc.num_samples - 1) / global + 1;
    }
    for (step = 0; step < end; step++) {
        if (statesampler_at(s, step, batch, &count) != 1) {
            example_fail(1, "%s: this epoch began in another shape, so it "
                            "cannot be audited as a whole", state_file);
        }
        more = statesampler_padding(s, step);
        if (desc.tail == STATESAMPLER_TAIL_CARRY) {
            position = step * global + desc.rank; /* of slot 0 */
            while (more < count &&
                   position + (count - more - 1) * desc.world_size >=
                       desc.num_samples) {
                more++;
            }
        }
        statesampler_audit_add(all, batch, count - more);
        extra += more;
    }
    return extra;
}

/* Serves an epoch to all ranks. Finds dropped samples by asking for their
   places. */
static int audit(uint64_t *batch)
{
    unsigned char state[STATESAMPLER_STATE_BYTES];
    statesampler s;
    statesampler_counts counts;
    statesampler_place place;
    statesampler_audit all = {0, 0, 0, 0};
    uint64_t i, served, extra = 0, dropped = 0;
    uint32_t rank;
    int carry = desc.tail == STATESAMPLER_TAIL_CARRY, good;

    for (rank = 0; rank < desc.world_size; rank++) {
        open_sampler(&s, state, rank);
        extra += audit_rank(&all, &s, batch);
    }
    served = all.count;
    statesampler_get_counts(&s, &counts);
    for (i = 0; i < desc.num_samples && counts.dropped > 0; i++) {
        if (statesampler_locate(&s, i, &place) != STATESAMPLER_OK) {
            statesampler_audit_add(&all, &i, 1);
            dropped++;
        }
    }
    good = statesampler_audit_check(&all, desc.num_samples) &&
           dropped == counts.dropped && (carry || extra == counts.padded);
    show("epoch", statesampler_epoch(&s));
    show("ranks", desc.world_size);
    show("samples served", served);
    show(carry ? "of the next epoch" : "repeats", extra);
    show("dropped", dropped);
    printf("%-20s %s\n", dropped > 0 ? "all others once" : "each exactly once",
           good ? "yes" : "NO");
    return good;
}

static void print(statesampler *s, unsigned char *state, uint64_t *batch)
{
    statesampler ahead = *s;

    /* Fails before anything is printed if the file cannot be written. */
    save_state(state);
    if (format == NPY) {
        put_npy_header(print_indices(&ahead, NULL));
    }
    print_indices(s, batch);
    flush_output();
    example_must(statesampler_save(s, state, STATESAMPLER_STATE_BYTES));
    save_state(state);
}

int main(int argc, char **argv)
{
    unsigned char state[STATESAMPLER_STATE_BYTES];
    uint64_t *batch;
    int found, good = 1, i;
    statesampler s;

    example_begin(argc, argv, argc, usage);
    wanted = (uint64_t *)malloc((size_t)argc * sizeof *wanted);
    if (wanted == NULL) {
        example_fail(1, "no memory");
    }
    read_options(argc, argv);
    if (given("--from-env")) {
        read_env();
    }
    check_options();
    if (num_sources > 0 && (given("--audit") || !is_question())) {
        example_fail(2, "of a mix, ask for --steps A..B, --where or --info");
    }
    batch = (uint64_t *)calloc(desc.batch_size, sizeof *batch);
    if (batch == NULL) {
        example_fail(1, "no memory for a batch of %" PRIu32, desc.batch_size);
    }
    found = num_sources == 0 && open_sampler(&s, state, desc.rank);
    if (given("--info") && num_sources > 0) {
        info_of_mix();
    } else if (given("--info")) {
        info(&s, found);
    }
    for (i = 0; i < num_wanted; i++) {
        good = locate(&s, wanted[i]) && good;
    }
    if (some_steps) {
        print_steps(&s, batch);
    }
    if (given("--audit")) {
        good = audit(batch) && good;
    }
    if (!is_question()) {
        print(&s, state, batch);
    }
    free(batch);
    free(wanted);
    free(mix.sources);
    example_close();
    return good ? 0 : 1;
}
