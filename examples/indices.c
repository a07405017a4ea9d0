/* indices.c - the indices of one rank, on the command line.

       make examples && build/indices --num-samples 1000 --seed 42
       build/indices --help

   Prints what a rank is to read, as text or as numbers for another program,
   and goes on where it stopped when given a state file. Memory is that of one
   batch, whatever the number of samples. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STATESAMPLER_IMPLEMENTATION
#define STATESAMPLER_HOSTED
#include "statesampler.h"

static const char help[] =
    "Usage: indices --num-samples N [OPTION]...\n\n"
    "Prints the indices of the samples that one rank reads, in order, to the\n"
    "end of the epoch. N may be written 1000000000, 1e9 or 2^30.\n\n"
    "The dataset and its order, the same on all ranks:\n"
    "  --num-samples N    0 to 2^62\n"
    "  --seed N           default 0\n"
    "  --stream N         tells datasets with the same seed apart; default 0\n"
    "  --epoch N          where to begin if no state is loaded; default 0\n"
    "  --order NAME       shuffle (default), sequential, window, replacement\n"
    "  --chunk-size N     order window: samples in a chunk\n"
    "  --window N         order window: chunks that are shuffled together\n\n"
    "How it is shared:\n"
    "  --rank N           0 (default) to world size - 1\n"
    "  --world-size N     default 1\n"
    "  --from-env         both of them from the variables of torchrun,\n"
    "                     Open MPI, PMI or Slurm; rank 0 of 1 without any\n"
    "  --batch-size N     samples of a rank in a step; default 1\n"
    "  --partition NAME   interleaved (default), blocked\n"
    "  --tail NAME        pad (default), drop, uneven, carry\n"
    "  --drop-last        leave out a last step that is not full\n\n"
    "What is printed:\n"
    "  --format NAME      text (default): an index a line; u32, u64: little-\n"
    "                     endian numbers; npy: for numpy.load\n"
    "  --epochs N         stop at the end of so many epochs; default 1\n"
    "  --steps N          stop after so many steps, through any number of\n"
    "                     epochs; tail carry has no end and needs this\n"
    "  --state FILE       go on from FILE if it is there, and save to it when\n"
    "                     all output is written. A run that was killed or\n"
    "                     could not write leaves FILE as it was: the next\n"
    "                     run prints the same again, and nothing is lost.\n"
    "                     It is one rank's progress: a FILE for each rank\n\n"
    "Instead of indices, FILE being read and left as it is:\n"
    "  --info             sizes and counts, and where FILE stands\n"
    "  --locate N         step, rank and slot that serve index N in this\n"
    "                     epoch; may be given several times\n"
    "  --audit            serve a whole epoch to all ranks, and say whether\n"
    "                     each sample came exactly once\n"
    "  --help             this text\n\n"
    "The exit status is 0; 1 if something failed, an index is not served, or\n"
    "an audit does not hold; 2 if the options make no sense.\n";

static const char *const orders[] = {"shuffle", "sequential", "window",
                                     "replacement", NULL};
static const char *const partitions[] = {"interleaved", "blocked", NULL};
static const char *const tails[] = {"pad", "drop", "uneven", "carry", NULL};
static const char *const formats[] = {"text", "u32", "u64", "npy", NULL};
enum { TEXT, U32, U64, NPY };

static statesampler_desc desc;
static const char *state_file;
static uint64_t steps = STATESAMPLER_NONE, epochs = STATESAMPLER_NONE;
static uint64_t *wanted; /* --locate */
static int num_wanted, want_info, want_audit;
static uint32_t format;

static void fail(int status, const char *message, ...)
{
    va_list arguments;

    fputs("indices: ", stderr);
    va_start(arguments, message);
    vfprintf(stderr, message, arguments);
    va_end(arguments);
    fputs(status == 2 ? "\nTry 'indices --help'.\n" : "\n", stderr);
    exit(status);
}

/* --- options ------------------------------------------------------------- */

/* The decimal number that *text begins with. Returns 0 if there is none or it
   is over the limit of its type. */
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

static uint64_t number(const char *option, const char *text, uint64_t least,
                       uint64_t most)
{
    const char *rest = text;
    uint64_t value, power = 0, base = 10;
    int good = digits(&rest, &value);

    if (good && (*rest == 'e' || (*rest == '^' && value == 2))) {
        if (*rest++ == '^') {
            value = 1, base = 2;
        }
        good = digits(&rest, &power);
    }
    /* Ends after 64 turns at most, with a value of 0 or one over the limit. */
    for (; good && value > 0 && power > 0; power--) {
        good = value <= UINT64_MAX / base;
        value *= base;
    }
    if (!good || *rest != '\0' || value < least || value > most) {
        fail(2, "%s: '%s' is not a number from %" PRIu64 " to %" PRIu64,
             option, text, least, most);
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
    fail(2, "%s: '%s' is not %s", option, text, list);
    return 0;
}

/* Whether an argument, up to its equals sign if it has one, is this option. */
static int is(const char *argument, size_t length, const char *option)
{
    return strncmp(argument, option, length) == 0 && option[length] == '\0';
}

static void read_options(int argc, char **argv)
{
    static int env, drop_last, has_n, has_rank;
    static const struct {
        const char *name;
        uint64_t *wide;
        uint32_t *narrow;
        int *flag; /* set when the option is there */
        uint64_t least, most;
        const char *const *names;
    } options[] = {
        {"--num-samples", &desc.num_samples, 0, &has_n, 0,
         STATESAMPLER_MAX_SAMPLES, 0},
        {"--seed", &desc.seed, 0, 0, 0, UINT64_MAX, 0},
        {"--stream", &desc.stream, 0, 0, 0, UINT64_MAX, 0},
        {"--epoch", &desc.epoch, 0, 0, 0, UINT64_MAX, 0},
        {"--order", 0, &desc.order, 0, 0, 0, orders},
        {"--chunk-size", &desc.chunk_size, 0, 0, 1, STATESAMPLER_MAX_SAMPLES,
         0},
        {"--window", &desc.window, 0, 0, 1, STATESAMPLER_MAX_SAMPLES, 0},
        {"--rank", 0, &desc.rank, &has_rank, 0, UINT32_MAX, 0},
        {"--world-size", 0, &desc.world_size, &has_rank, 1, UINT32_MAX, 0},
        {"--from-env", 0, 0, &env, 0, 0, 0},
        {"--batch-size", 0, &desc.batch_size, 0, 1, UINT32_MAX, 0},
        {"--partition", 0, &desc.partition, 0, 0, 0, partitions},
        {"--tail", 0, &desc.tail, 0, 0, 0, tails},
        {"--drop-last", 0, 0, &drop_last, 0, 0, 0},
        {"--format", 0, &format, 0, 0, 0, formats},
        {"--epochs", &epochs, 0, 0, 0, UINT64_MAX - 1, 0},
        {"--steps", &steps, 0, 0, 0, UINT64_MAX - 1, 0},
        {"--info", 0, 0, &want_info, 0, 0, 0},
        {"--audit", 0, 0, &want_audit, 0, 0, 0}};
    const char *launcher, *text = "";
    int i, all = (int)(sizeof options / sizeof options[0]), k;

    desc.world_size = desc.batch_size = 1;
    for (i = 1; i < argc; i++) {
        const char *name = argv[i];
        size_t length = strcspn(name, "=");

        if (is(name, length, "--help") || is(name, length, "-h")) {
            fputs(help, stdout);
            exit(fflush(stdout) == 0 ? 0 : 1);
        }
        for (k = 0; k < all && !is(name, length, options[k].name); k++) {
            continue;
        }
        if (k == all && !is(name, length, "--state") &&
            !is(name, length, "--locate")) {
            fail(2, "unknown option '%s'", name);
        }
        if (k < all && options[k].wide == NULL && options[k].narrow == NULL) {
            if (name[length] == '=') {
                fail(2, "%s takes no value", options[k].name);
            }
            *options[k].flag = 1;
            continue;
        }
        if (name[length] == '=') {
            text = name + length + 1;
        } else if (++i < argc) {
            text = argv[i];
        } else {
            fail(2, "%s needs a value", name);
        }
        if (k == all && is(name, length, "--state")) {
            state_file = text;
        } else if (k == all) {
            wanted[num_wanted++] = number("--locate", text, 0, UINT64_MAX);
        } else if (options[k].names != NULL) {
            *options[k].narrow =
                choice(options[k].name, text, options[k].names);
        } else if (options[k].narrow != NULL) {
            *options[k].narrow = (uint32_t)number(
                options[k].name, text, options[k].least, options[k].most);
        } else {
            *options[k].wide = number(options[k].name, text,
                                      options[k].least, options[k].most);
        }
        if (k < all && options[k].flag != NULL) {
            *options[k].flag = 1;
        }
    }
    desc.drop_last = (uint32_t)drop_last;
    if (!has_n) {
        fail(2, "--num-samples is needed");
    }
    if (env && has_rank) {
        fail(2, "--from-env does not go with --rank or --world-size");
    }
    if (env && statesampler_from_env(&desc, &launcher) != STATESAMPLER_OK) {
        fail(2, "--from-env: the variables of %s are incomplete or malformed",
             launcher);
    }
}

/* What statesampler_init would refuse without a word of why, and what makes
   no sense here. */
static void check_options(void)
{
    int print = !want_info && !want_audit && num_wanted == 0, i;

    if (desc.rank >= desc.world_size) {
        fail(2, "--rank %" PRIu32 " is not below --world-size %" PRIu32,
             desc.rank, desc.world_size);
    }
    if ((uint64_t)desc.world_size * desc.batch_size >=
        STATESAMPLER_MAX_SAMPLES) {
        fail(2, "--world-size times --batch-size is not below 2^62");
    }
    if ((desc.order == STATESAMPLER_ORDER_WINDOW) != (desc.chunk_size > 0) ||
        (desc.order == STATESAMPLER_ORDER_WINDOW) != (desc.window > 0)) {
        fail(2, "--order window, --chunk-size and --window go together");
    }
    if (desc.window > 0 &&
        desc.chunk_size > (STATESAMPLER_MAX_SAMPLES - 1) / desc.window) {
        fail(2, "--chunk-size times --window is not below 2^62");
    }
    if (desc.tail == STATESAMPLER_TAIL_CARRY &&
        (desc.num_samples == 0 || desc.drop_last ||
         desc.partition == STATESAMPLER_PARTITION_BLOCKED)) {
        fail(2, "--tail carry does not go with --num-samples 0, --drop-last "
                "or --partition blocked");
    }
    if (print && desc.tail == STATESAMPLER_TAIL_CARRY &&
        (steps == STATESAMPLER_NONE || epochs != STATESAMPLER_NONE)) {
        fail(2, "--tail carry has no end: it needs --steps, not --epochs");
    }
    if (format == U32 && desc.num_samples > (uint64_t)1 << 32) {
        fail(2, "--format u32 is for at most 2^32 samples; u64 has no limit");
    }
    if (desc.order == STATESAMPLER_ORDER_REPLACEMENT &&
        (want_audit || num_wanted > 0)) {
        fail(2, "--order replacement repeats and misses samples: it has no "
                "--audit and no --locate");
    }
    for (i = 0; i < num_wanted; i++) {
        if (wanted[i] >= desc.num_samples) {
            fail(2, "--locate %" PRIu64 " is not below --num-samples %" PRIu64,
                 wanted[i], desc.num_samples);
        }
    }
    if (steps == STATESAMPLER_NONE && epochs == STATESAMPLER_NONE) {
        epochs = 1;
    }
}

/* The sampler of a rank, where the state file stands. Returns whether there
   is such a file. */
static int open_sampler(statesampler *s, uint32_t rank)
{
    unsigned char bytes[4 * STATESAMPLER_STATE_BYTES];
    size_t size = 0;
    int code;

    desc.rank = rank;
    code = statesampler_init(s, &desc);
    if (code != STATESAMPLER_OK) {
        fail(2, "%s", statesampler_error(code));
    }
    if (state_file == NULL) {
        return 0;
    }
    code = statesampler_load_file(state_file, bytes, sizeof bytes, &size);
    if (code == STATESAMPLER_ENOFILE) {
        return 0;
    }
    if (code == STATESAMPLER_ECAPACITY) {
        fail(1, "%s: larger than any state of a sampler", state_file);
    }
    if (code == STATESAMPLER_OK) {
        code = statesampler_load(s, bytes, size);
    }
    if (code != STATESAMPLER_OK) {
        fail(1, "%s: %s", state_file, statesampler_error(code));
    }
    return 1;
}

/* --- output -------------------------------------------------------------- */

static unsigned char buffer[1 << 16];
static size_t buffered;

/* A reader that has seen enough is no failure to report. (Where the signal of
   a closed pipe is not ignored, it has ended the program before this.) */
static void flush_output(void)
{
    if (fwrite(buffer, 1, buffered, stdout) != buffered ||
        fflush(stdout) != 0) {
#ifdef EPIPE
        if (errno == EPIPE) {
            exit(1);
        }
#endif
        fail(1, "cannot write the output: %s", strerror(errno));
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

/* Version 1.0: ten bytes, then 118 of text, which makes a multiple of 64. The
   length stands before the data, so that a pipe will do. */
static void put_npy_header(uint64_t count)
{
    char *text = (char *)buffer + 10;
    int length = snprintf(text, 118, "{'descr': '<u8', 'fortran_order': False, "
                                     "'shape': (%" PRIu64 ",), }", count);

    memcpy(buffer, "\x93NUMPY\x01\x00\x76\x00", 10);
    memset(text + length, ' ', 117 - (size_t)length);
    text[117] = '\n';
    buffered = 128;
}

/* Returns how many were printed; without a batch, how many would be, which
   takes no time to speak of. A step in which an UNEVEN rank has no sample is
   a step, so that --steps stops all ranks at the same one. Two epochs in a row
   without a step are followed by nothing else, and end it too. */
static uint64_t print_indices(statesampler *s, uint64_t *batch)
{
    uint64_t some = steps, ends = epochs, printed = 0;
    int empty = 0; /* epochs without a step, one after the other */

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
        printf("%-20s without end\n", what);
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
               found ? "" : " (not there yet)");
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

static int locate(const statesampler *s, uint64_t index)
{
    statesampler_place place;
    int good = statesampler_locate(s, index, &place) == STATESAMPLER_OK;

    printf("%" PRIu64 ": epoch %" PRIu64, index, statesampler_epoch(s));
    if (good) {
        printf(" step %" PRIu64 " rank %" PRIu32 " slot %" PRIu32
               " position %" PRIu64 "\n", place.step, place.rank, place.slot,
               place.position);
    } else {
        printf(" does not serve it in this shape\n");
    }
    return good;
}

/* Serves an epoch to one rank after the other. Samples that are dropped are
   found by asking for their places. */
static int audit(uint64_t *batch)
{
    statesampler s;
    statesampler_counts counts;
    statesampler_place place;
    statesampler_audit all = {0, 0, 0, 0};
    uint64_t global = (uint64_t)desc.world_size * desc.batch_size;
    uint64_t end, step, i, served, repeats = 0, dropped = 0;
    uint32_t rank;
    int good;

    for (rank = 0; rank < desc.world_size; rank++) {
        open_sampler(&s, rank);
        if (statesampler_seek(&s, 0) != STATESAMPLER_OK) {
            fail(1, "%s: this epoch began in another shape, and only a whole "
                    "one can be audited", state_file);
        }
        statesampler_get_counts(&s, &counts);
        end = counts.steps;
        if (desc.tail == STATESAMPLER_TAIL_CARRY) {
            end = (desc.num_samples - 1) / global + 1;
        }
        for (step = 0; step < end; step++) {
            size_t count, extra = statesampler_padding(&s, step);

            statesampler_at(&s, step, batch, &count);
            /* Positions from n on are the next epoch's with CARRY. */
            if (desc.tail == STATESAMPLER_TAIL_CARRY && step == end - 1) {
                while (extra < count &&
                       step * global + rank + (count - extra - 1) *
                               desc.world_size >= desc.num_samples) {
                    extra++;
                }
            }
            repeats += extra;
            statesampler_audit_add(&all, batch, count - extra);
        }
    }
    served = all.count;
    for (i = 0; i < desc.num_samples && counts.dropped > 0; i++) {
        if (statesampler_locate(&s, i, &place) != STATESAMPLER_OK) {
            statesampler_audit_add(&all, &i, 1);
            dropped++;
        }
    }
    good = statesampler_audit_check(&all, desc.num_samples) &&
           dropped == counts.dropped &&
           (desc.tail == STATESAMPLER_TAIL_CARRY || repeats == counts.padded);
    show("epoch", statesampler_epoch(&s));
    show("ranks", desc.world_size);
    show("samples served", served);
    show(desc.tail == STATESAMPLER_TAIL_CARRY ? "of the next epoch" : "repeats",
         repeats);
    show("dropped", dropped);
    printf("%-20s %s\n", dropped > 0 ? "all others once" : "each exactly once",
           good ? "yes" : "NO");
    return good;
}

int main(int argc, char **argv)
{
    unsigned char state[STATESAMPLER_STATE_BYTES];
    uint64_t *batch;
    int found, good = 1, i, code = STATESAMPLER_OK;
    statesampler s;

    wanted = (uint64_t *)malloc((size_t)argc * sizeof *wanted);
    if (wanted == NULL) {
        fail(1, "no memory");
    }
    read_options(argc, argv);
    check_options();
    found = open_sampler(&s, desc.rank);
    batch = (uint64_t *)calloc(desc.batch_size, sizeof *batch);
    if (batch == NULL) {
        fail(1, "no memory for a batch of %" PRIu32, desc.batch_size);
    }

    if (want_info) {
        info(&s, found);
    }
    for (i = 0; i < num_wanted; i++) {
        good = locate(&s, wanted[i]) && good;
    }
    if (want_audit) {
        good = audit(batch) && good;
    }
    if (!want_info && !want_audit && num_wanted == 0) {
        if (format == NPY) {
            statesampler ahead = s;

            put_npy_header(print_indices(&ahead, NULL));
        }
        print_indices(&s, batch);
        flush_output();
        statesampler_save(&s, state, sizeof state);
        if (state_file != NULL) {
            code = statesampler_save_file(state_file, state, sizeof state);
        }
        if (code != STATESAMPLER_OK) {
            fail(1, "%s: %s", state_file, statesampler_error(code));
        }
    }
    flush_output();
    free(batch);
    free(wanted);
    return good ? 0 : 1;
}
