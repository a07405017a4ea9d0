/* checkpoint.c - the trainer's checkpoints: honest ones of a small run, one of
   which, or the log, has other numbers or bytes, most often with the right
   hashes. Loaded by 1 to 3 processes, which mpi/ has as threads. Refused in a
   sentence, or saved again with the same weights. */
#define _XOPEN_SOURCE 700 /* mkdtemp, nftw */

/* Two things have this name: a sampler's model, and what is trained. */
#define model sampler_model
#define model_init sampler_model_init
#include "../../../../tests/fuzz/fuzz.h"
#undef model
#undef model_init

#include "../../checkpoint.h"
#include "../../log.h"

#include <ftw.h>
#include <inttypes.h>
#include <mpi.h>
#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WORLDS = 3, SAVED = 2, PATH = 256, PAGE = 4096 };
/* Weights and two states of each tensor, a page each. */
enum { ARRAYS = 3 * 17 };

static char root[64], dir[80];
static FILE *run_log;

/* --- Files ---------------------------------------------------------------- */

/* Some bytes; there is room behind them for changes. */
typedef struct bytes {
    unsigned char at[(ARRAYS + 4) * PAGE];
    size_t size;
} bytes;

enum { FILE_MISSING = 1, FILE_PIPE, FILE_FOLDER };

static int remove_one(const char *path, const struct stat *about, int type,
                      struct FTW *place)
{
    (void)about;
    (void)type;
    return place->level > 0 || strcmp(path, root) == 0 ? remove(path) : 0;
}

static void clear(const char *path)
{
    CHECK(nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS) == 0);
}

/* A folder of runs without any; their log, which stays open, has its name. */
static void clear_runs(void)
{
    char path[PATH];

    clear(dir);
    snprintf(path, sizeof path, "%s/log.txt", dir);
    CHECK(symlink("../log.txt", path) == 0);
}

static void clear_all(void)
{
    clear(root);
}

static void write_file(const char *path, const bytes *b)
{
    FILE *to = fopen(path, "wb");

    CHECK(to != NULL);
    CHECK(fwrite(b->at, 1, b->size, to) == b->size && fclose(to) == 0);
}

static void read_file(const char *path, bytes *b)
{
    FILE *from = fopen(path, "rb");

    CHECK(from != NULL);
    b->size = fread(b->at, 1, sizeof b->at, from);
    CHECK(b->size < sizeof b->at && fclose(from) == 0);
}

/* --- Runs ----------------------------------------------------------------- */

/* Of so many processes: as it is, and as it was before it loaded. */
static struct process {
    run now, before;
    float *values; /* all weights and states, as they were */
    size_t count;
    const char *answer;
    char words[2048], name[64];
} processes[WORLDS + 1][WORLDS];
static int world; /* of those at work */

/* A checkpoint in pieces, and the log. */
typedef struct saved {
    char name[64];
    bytes head, config; /* the first of them without the second */
    uint64_t hash;      /* of both */
    bytes tensors, log;
    int kind;   /* 0: it is there */
    size_t end; /* of the file */
} saved;

static void append(bytes *to, const void *from, size_t size)
{
    CHECK(to->size + size <= sizeof to->at);
    memcpy(to->at + to->size, from, size);
    to->size += size;
}

static void write_saved(const saved *s)
{
    static bytes all;
    char path[PATH];

    snprintf(path, sizeof path, "%s/%s", dir, s->name);
    if (s->kind == FILE_PIPE)
        CHECK(mkfifo(path, 0600) == 0);
    if (s->kind == FILE_FOLDER)
        CHECK(mkdir(path, 0700) == 0);
    if (s->kind)
        return;
    memset(&all, 0, sizeof all);
    append(&all, s->head.at, s->head.size);
    append(&all, s->config.at, s->config.size);
    append(&all, &s->hash, sizeof s->hash);
    all.size = (all.size + PAGE - 1) / PAGE * PAGE;
    append(&all, s->tensors.at, s->tensors.size);
    all.size = s->end < all.size ? s->end : all.size;
    write_file(path, &all);
}

static void read_saved(saved *s, const char *name)
{
    static bytes all;
    checkpoint_head h;
    char path[PATH];
    size_t size, end;

    memset(s, 0, sizeof *s);
    snprintf(s->name, sizeof s->name, "%s", name);
    snprintf(path, sizeof path, "%s/%s", dir, name);
    read_file(path, &all);
    memcpy(&h, all.at, sizeof h);
    size = sizeof h + h.feed_bytes;
    end = size + h.config_bytes;
    append(&s->head, all.at, size);
    append(&s->config, all.at + size, end - size);
    memcpy(&s->hash, all.at + end, sizeof s->hash);
    end = (end + sizeof s->hash + PAGE - 1) / PAGE * PAGE;
    append(&s->tensors, all.at + end, all.size - end);
    s->end = sizeof all.at;
    snprintf(path, sizeof path, "%s/log.txt", dir);
    read_file(path, &s->log);
}

static int are_equal(const bytes *a, const bytes *b)
{
    return a->size == b->size && memcmp(a->at, b->at, a->size) == 0;
}

/* Whether both have the same bytes but for the configuration, which says how
   they were run. */
static int are_same(saved *a, const saved *b)
{
    const size_t size = offsetof(checkpoint_head, config_bytes);

    memcpy(a->head.at + size, b->head.at + size, 8);
    return are_equal(&a->head, &b->head) &&
           are_equal(&a->tensors, &b->tensors) && are_equal(&a->log, &b->log);
}

static float *array_of(const run *r, size_t t, int i, size_t *size)
{
    const size_t at = r->model.tensors[t].offset;

    *size = r->model.tensors[t].size;
    return i == r->model.arrays ? r->model.weights + at
                                : r->model.tensors[t].array[i];
}

/* Copies all arrays of a process, or puts them back. */
enum { KEEP, PUT_BACK };
static void visit(struct process *p, int what)
{
    const run *r = &p->now;
    float *at = p->values, *values;
    size_t t, size;
    int i;

    for (t = 0; t < r->model.num_tensors; t++)
        for (i = 0; i <= r->model.arrays; i++) {
            values = array_of(r, t, i, &size);
            if (!values)
                continue;
            if (what == KEEP)
                memcpy(at, values, size * sizeof *at);
            else
                memcpy(values, at, size * sizeof *at);
            at += size;
        }
}

static void configure(run *r)
{
    static const char *const arguments[] = {
        "MODEL.TRUNK.GPT={NUM_LAYERS: 1, NUM_HEADS: 1, HIDDEN_DIM: 2, "
        "MLP_DIM: 2, CONTEXT: 4}",
        "MODEL.AMP_PARAMS.USE_AMP=True",
        "OPTIMIZER.name=adamw",
        "DISTRIBUTED.NUM_PROC_PER_NODE=2",
        "DATA.TRAIN={BATCHSIZE_PER_REPLICA: 2, DATA_LIMIT: 10, "
        "USE_STATEFUL_DISTRIBUTED_SAMPLER: True}",
    };
    char argument[256];
    size_t i;

    r->config = config_defaults;
    for (i = 0; i < FORGED_COUNT(arguments); i++)
        CHECK(config_override(&r->config, arguments[i]));
    snprintf(argument, sizeof argument,
             "DATA.TRAIN.DATA_PATHS=[\"%s/a\", \"%s/b\"]", root, root);
    CHECK(config_override(&r->config, argument));
    snprintf(argument, sizeof argument, "CHECKPOINT.DIR=\"%s\"", dir);
    CHECK(config_override(&r->config, argument));
    if (r->world == WORLDS)
        CHECK(config_override(&r->config, "OPTIMIZER.use_zero=True"));
    CHECK(config_check(&r->config, r->world));
}

static void begin(int rank, void *context)
{
    struct process *p = &processes[world][rank];

    (void)context;
    p->now.rank = rank;
    p->now.world = world;
    p->now.log = rank == 0 ? run_log : NULL;
    snprintf(p->now.log_path, sizeof p->now.log_path, "%s/log.txt", dir);
    configure(&p->now);
    run_init(&p->now);
    p->values = (float *)calloc(4 * p->now.model.num_weights, sizeof(float));
    CHECK(p->values != NULL);
    visit(p, KEEP);
    memcpy(&p->before, &p->now, sizeof p->now);
}

static void put_back(int rank, void *context)
{
    struct process *p = &processes[world][rank];

    (void)context;
    memcpy(&p->now, &p->before, sizeof p->now);
    visit(p, PUT_BACK);
}

/* A step that computes nothing. */
static void step(run *r)
{
    char words[128];

    feed_next(&r->feed);
    if (scaler_skips(&r->scaler, ++r->step % 3 == 0))
        r->skipped++;
    snprintf(words, sizeof words, "step %" PRIu64, r->step);
    log_line(r, words);
    if (feed_at_end(&r->feed)) {
        CHECK(feed_end_epoch(&r->feed, words, sizeof words));
        log_line(r, words);
    }
}

/* Makes a run's two checkpoints: within an epoch, and in the next. */
static void save_twice(int rank, void *context)
{
    run *r = &processes[world][rank].now;
    size_t t, size, i;
    int array, steps, number;

    (void)context;
    CHECK(*log_cut(r) == 0);
    for (t = 0; t < r->model.num_tensors; t++)
        for (array = 0; array < r->model.arrays; array++) {
            float *values = array_of(r, t, array, &size);

            for (i = 0; values && i < size; i++)
                values[i] = (float)(t + i) / (float)(7 + array);
        }
    for (number = 0; number < SAVED; number++) {
        for (steps = 0; steps < 5; steps++)
            step(r);
        CHECK(*checkpoint_save(r) == 0);
    }
}

static saved honest[SAVED], attacked;
static const char *const honest_names[SAVED] = {"step-000000000005",
                                                "step-000000000010"};

static void write_text(const char *name, unsigned char first)
{
    static bytes out;
    char path[PATH];
    size_t i;

    out.size = 300;
    for (i = 0; i < out.size; i++)
        out.at[i] = (unsigned char)(first + i % 90);
    snprintf(path, sizeof path, "%s/%s", root, name);
    write_file(path, &out);
}

/* In memory, where TMPDIR says: harnesses.sh does. */
static void begin_all(void)
{
    char path[PATH];
    int number;

    snprintf(root, sizeof root, "%s/fuzz.XXXXXX",
             getenv("TMPDIR") && strlen(getenv("TMPDIR")) < 40
                 ? getenv("TMPDIR")
                 : "/tmp");
    CHECK(mkdtemp(root) != NULL && atexit(clear_all) == 0);
    snprintf(dir, sizeof dir, "%s/run", root);
    CHECK(mkdir(dir, 0700) == 0);
    write_text("a", 32);
    write_text("b", 34);
    snprintf(path, sizeof path, "%s/log.txt", root);
    run_log = fopen(path, "w+b");
    CHECK(run_log != NULL);
    clear_runs();
    for (world = 1; world <= WORLDS; world++) {
        mpi_run(world, begin, NULL);
        mpi_run(world, save_twice, NULL);
        CHECK(3 * processes[1][0].now.model.num_tensors == ARRAYS);
        for (number = 0; number < SAVED; number++) {
            memcpy(&attacked, &honest[number], sizeof attacked);
            read_saved(&honest[number], honest_names[number]);
            CHECK(world == 1 || are_same(&attacked, &honest[number]));
        }
        clear_runs();
    }
}

/* --- Changes -------------------------------------------------------------- */

/* Replaces some bytes of the configuration. */
static void replace(size_t from, size_t size, const void *by, size_t length)
{
    bytes *b = &attacked.config;

    CHECK(from + size <= b->size);
    if (attacked.head.size + b->size + length > 2 * PAGE)
        return;
    memmove(b->at + from + length, b->at + from + size, b->size - from - size);
    memcpy(b->at + from, by, length);
    b->size += length - size;
}

/* Where some line of the configuration begins, and its size. */
static size_t any_line(size_t *size)
{
    const bytes *b = &attacked.config;
    size_t at = (size_t)check_random(b->size + 1);
    const unsigned char *end;

    while (at > 0 && b->at[at - 1] != '\n') /* ends: at the first byte */
        at--;
    end = memchr(b->at + at, '\n', b->size - at);
    *size = end ? (size_t)(end + 1 - b->at) - at : b->size - at;
    return at;
}

static void change_config(void)
{
    /* Filled lines: clang-format would give each item one of its own. */
    /* clang-format off */
    static const char *const odd[] = {
        "", " ", "0", "-1", "+1", "01", "nan", "inf", "-0", "0x10", "1e3",
        "2147483648", "9223372036854775808", "1e-320", "True", "[1, 2]", "\n",
        "\033[2J", "\xff"
    };
    /* clang-format on */
    static unsigned char line[2 * PAGE];
    const char *by = odd[check_random(FORGED_COUNT(odd))];
    size_t size, other, value, from = any_line(&size);
    unsigned char byte;

    if (size == 0)
        return;
    switch (check_random(5)) {
    case 0:
        replace(from, size, "", 0);
        return;
    case 1: /* a second time, in any place */
        memcpy(line, attacked.config.at + from, size);
        replace(any_line(&other), 0, line, size);
        return;
    case 2:
        byte = (unsigned char)check_random(256);
        replace(from + check_random(size), 1, &byte, 1);
        return;
    case 3:
        replace(from + check_random(size), 0, by, strlen(by));
        return;
    default:
        for (value = from; value < from + size - 1; value++)
            if (attacked.config.at[value] == ':')
                break;
        if (value + 2 < from + size)
            replace(value + 2, from + size - 1 - (value + 2), by, strlen(by));
    }
}

/* Another number of the head, often one near. */
static void change_number(void)
{
    /* Filled lines: clang-format would give each item one of its own. */
    /* clang-format off */
    static const uint64_t odd[] = {
        0, 1, 2, 3, 255, 32768, 2147483647, 2147483648, 4294967297, 2000000000,
        9223372036854775808u, 18446744073709551615u,
        0x40f0000000000000u /* 65536.0 */, 0x7ff0000000000000u /* infinity */,
        0x7ff8000000000000u /* NaN */, 0x8000000000000000u, 1u << 20
    };
    /* clang-format on */
    const size_t first = offsetof(checkpoint_head, step);
    const size_t numbers = (offsetof(checkpoint_head, blas) - first) / 8;
    unsigned char *at =
        attacked.head.at + first + 8 * (size_t)check_random(numbers);
    uint64_t value;

    memcpy(&value, at, 8);
    value = check_random(2) == 0 ? forged_value(value)
                                 : odd[check_random(FORGED_COUNT(odd))];
    memcpy(at, &value, 8);
}

/* Another state of the mix with the right check word, or of the audits. */
static void change_sampler(void)
{
    const size_t from = sizeof(checkpoint_head);
    unsigned char *state = attacked.head.at + from;

    if (check_random(4) == 0)
        state[check_random(attacked.head.size - from)] =
            (unsigned char)check_random(256);
    else
        forged_change_mix(state, 2);
    if (check_random(8) != 1)
        forge_seal_mix(state, 2);
}

/* Another kind or end of the file, or a byte of some piece, or another
   checkpoint's piece. */
static void change_file(void)
{
    bytes *pieces[] = {&attacked.head, &attacked.config, &attacked.tensors,
                       &attacked.log};
    bytes *b = pieces[check_random(FORGED_COUNT(pieces))];

    switch (check_random(8)) {
    case 0:
        attacked.kind = FILE_MISSING + (int)check_random(3);
        break;
    case 1:
        attacked.end = (size_t)check_random(sizeof attacked.tensors.at);
        break;
    case 2:
        attacked.log.size = (size_t)check_random(attacked.log.size + 70);
        break;
    case 3:
        memcpy(&attacked.tensors, &honest[0].tensors, sizeof honest[0].tensors);
        break;
    default:
        if (b->size > 0)
            b->at[check_random(b->size)] = (unsigned char)check_random(256);
    }
}

static void change_name(void)
{
    static const char *const names[] = {
        "step-000000000005",
        "step-000000000009",
        "step-999999999999",
        "step-00000000000a",
        "step-5",
        ".step.tmp",
        "step-000000000010",
    };

    snprintf(attacked.name, sizeof attacked.name, "%s",
             names[check_random(FORGED_COUNT(names))]);
}

/* What the head says of the other pieces is made true, and its name. */
static void seal_pieces(void)
{
    checkpoint_head h;

    memcpy(&h, attacked.head.at, sizeof h);
    h.config_bytes = attacked.config.size;
    h.log_bytes = attacked.log.size;
    h.log_hash = text_hash(TEXT_HASH, attacked.log.at, attacked.log.size);
    memcpy(attacked.head.at, &h, sizeof h);
    snprintf(attacked.name, sizeof attacked.name, "step-%012" PRIu64, h.step);
}

/* The hash over the head is right. */
static void seal(void)
{
    static bytes all;
    checkpoint_head h;

    all.size = 0;
    append(&all, attacked.head.at, attacked.head.size);
    append(&all, attacked.config.at, attacked.config.size);
    memcpy(&h, all.at, sizeof h);
    attacked.hash = text_hash(TEXT_HASH ^ h.step, all.at, all.size);
}

static uint64_t attack(void)
{
    const uint64_t changes = check_random(4);
    uint64_t i;

    for (i = 0; i < changes; i++)
        switch (check_random(8)) {
        case 0:
            change_config();
            break;
        case 1:
        case 2:
        case 3:
            change_number();
            break;
        case 4:
            change_sampler();
            break;
        case 7:
            change_name();
            break;
        default:
            change_file();
        }
    if (check_random(2) == 1)
        seal_pieces();
    if (check_random(8) != 1)
        seal();
    return changes;
}

/* --- What is asked -------------------------------------------------------- */

static void load(int rank, void *context)
{
    struct process *p = &processes[world][rank];

    (void)context;
    p->answer = checkpoint_load(&p->now, p->name);
    snprintf(p->words, sizeof p->words, "%s", p->answer);
}

static void save(int rank, void *context)
{
    run *r = &processes[world][rank].now;

    (void)context;
    CHECK(*log_cut(r) == 0);
    CHECK(*checkpoint_save(r) == 0);
}

/* By so many processes; rank 0's answer. What they say meanwhile nobody reads:
   stderr is a variable where there are fuzzers. */
static const struct process *load_by(int ranks)
{
    static FILE *quiet;
    FILE *loud = stderr;
    int rank;

    world = ranks;
    rewind(run_log);
    CHECK(fwrite(attacked.log.at, 1, attacked.log.size, run_log) ==
              attacked.log.size &&
          fflush(run_log) == 0 &&
          ftruncate(fileno(run_log), (off_t)attacked.log.size) == 0);
    for (rank = 0; rank < world; rank++)
        put_back(rank, NULL);
    if (!quiet)
        CHECK((quiet = fopen("/dev/null", "w")) != NULL);
    stderr = quiet;
    mpi_run(world, load, NULL);
    stderr = loud;
    for (rank = 1; rank < world; rank++) {
        CHECK(strcmp(processes[world][rank].words, processes[world][0].words) ==
              0);
        CHECK(strcmp(processes[world][rank].name, processes[world][0].name) ==
              0);
    }
    return &processes[world][0];
}

/* In one line, that a terminal can show. */
static void check_sentence(const char *words)
{
    size_t i;

    for (i = 0; words[i]; i++)
        CHECK((unsigned char)words[i] >= ' ' && words[i] != 127);
    CHECK(i > 8 && i < 1199);
}

/* The same arrays and hashes. What is behind a hash in its page is nobody's: an
   attack may have changed it. */
static int are_same_arrays(const bytes *a, const bytes *b)
{
    const model *m = &processes[1][0].now.model;
    size_t page, used;

    for (page = 0; page < ARRAYS; page++) {
        used = m->tensors[page % m->num_tensors].size * sizeof(float) + 8;
        if (memcmp(a->at + page * PAGE, b->at + page * PAGE, used) != 0)
            return 0;
    }
    return 1;
}

/* Saved by those who have loaded it, and loaded by others: under the name of
   its step, and with the same weights. */
static void check_taken(const saved *taken, int others)
{
    static saved again;
    const struct process *p = &processes[world][0];
    char name[64];

    if (p->now.step > 999999999999) /* no run comes so far */
        return;
    snprintf(name, sizeof name, "step-%012" PRIu64, p->now.step);
    clear_runs();
    mpi_run(world, save, NULL);
    read_saved(&again, name);
    /* A log without lines has got its first. */
    memcpy(&attacked.log, &again.log, sizeof again.log);
    p = load_by(others);
    CHECK(*p->words == 0 && strcmp(p->name, name) == 0);
    mpi_run(world, save, NULL);
    read_saved(&again, name);
    CHECK(are_same_arrays(&again.tensors, &taken->tensors));
}

static void fuzz(void)
{
    const struct process *p;
    const saved *beside = NULL;
    uint64_t changes;
    int others, ranks;

    if (!root[0])
        begin_all();
    others = 1 + (int)check_random(WORLDS);
    ranks = 1 + (int)check_random(WORLDS);
    memcpy(&attacked, &honest[1], sizeof attacked);
    if (check_random(2) == 1)
        beside = &honest[0];
    changes = attack();
    if (beside && strcmp(beside->name, attacked.name) != 0)
        write_saved(beside);
    else
        beside = NULL;
    write_saved(&attacked);
    p = load_by(ranks);
    if (*p->words) {
        check_sentence(p->words);
    } else if (!p->name[0]) {
        CHECK(changes > 0);
    } else if (strcmp(p->name, attacked.name) == 0) {
        fuzz_came_to("taken");
        if (changes > 0)
            fuzz_came_to("changed, and so");
        check_taken(&attacked, others);
    } else {
        fuzz_came_to("taken");
        CHECK(beside && strcmp(p->name, beside->name) == 0);
        check_taken(beside, others);
    }
    clear_runs();
}
