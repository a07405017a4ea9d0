/* checkpoint.c - the trainer's checkpoints: honest ones of a small run, one of
   which has other lines, bytes or files, most often with the right hash on it.
   Loaded by 1 to 3 processes, which mpi/ has as threads. Refused in a sentence,
   or saved again with the same weights. */
#define _XOPEN_SOURCE 700 /* mkdtemp, nftw */

/* Two things have this name: a sampler's model, and what is trained. */
#define model sampler_model
#define model_init sampler_model_init
#include "fuzz.h"
#undef model
#undef model_init

#include "../../examples/trainer/checkpoint.h"
#include "../../examples/trainer/log.h"
#include "../../examples/trainer/manifest.h"

#include <ftw.h>
#include <inttypes.h>
#include <mpi.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LOGGED = 1, WORLDS = 3, SAVED = 2, PATH = 256, ROOM = 1 << 15 };

static char root[64], dir[80];
static FILE *run_log;

/* --- Files ---------------------------------------------------------------- */

/* A file's bytes; there is room behind them for changes. */
typedef struct file {
    unsigned char bytes[ROOM];
    size_t size;
    int kind; /* 0: it is there */
} file;

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

static void write_file(const char *path, const file *f)
{
    FILE *to;

    if (f->kind == FILE_MISSING)
        return;
    if (f->kind == FILE_PIPE || f->kind == FILE_FOLDER) {
        CHECK((f->kind == FILE_PIPE ? mkfifo(path, 0600)
                                    : mkdir(path, 0700)) == 0);
        return;
    }
    to = fopen(path, "wb");
    CHECK(to != NULL);
    CHECK(fwrite(f->bytes, 1, f->size, to) == f->size && fclose(to) == 0);
}

static void read_file(const char *path, file *f)
{
    FILE *from = fopen(path, "rb");

    CHECK(from != NULL);
    f->kind = 0;
    f->size = fread(f->bytes, 1, sizeof f->bytes - 1, from);
    f->bytes[f->size] = 0; /* to be searched as a text */
    CHECK(f->size < sizeof f->bytes - 1 && fclose(from) == 0);
}

/* --- Checkpoints ---------------------------------------------------------- */

/* The manifest is the first of its files, then the log and the parts. */
typedef struct saved {
    char name[64];
    int parts;
    file files[LOGGED + 1 + WORLDS];
} saved;

static const char *file_name(int i)
{
    static const char *const names[] = {"manifest", "log.txt", "part0", "part1",
                                        "part2"};

    return names[i];
}

static void write_saved(const saved *s)
{
    char path[PATH];
    int i;

    snprintf(path, sizeof path, "%s/%s", dir, s->name);
    CHECK(mkdir(path, 0700) == 0);
    for (i = 0; i <= LOGGED + s->parts; i++) {
        snprintf(path, sizeof path, "%s/%s/%s", dir, s->name, file_name(i));
        write_file(path, &s->files[i]);
    }
}

static void read_saved(saved *s, const char *name, int parts)
{
    char path[PATH];
    int i;

    snprintf(s->name, sizeof s->name, "%s", name);
    s->parts = parts;
    for (i = 0; i <= LOGGED + parts; i++) {
        snprintf(path, sizeof path, "%s/%s/%s", dir, name, file_name(i));
        read_file(path, &s->files[i]);
    }
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

static float *array_of(const run *r, size_t t, int i, size_t *size)
{
    const size_t at = r->model.tensors[t].offset;

    *size = r->model.tensors[t].size;
    return i > r->optimizer.states ? r->model.weights + at
                                   : optimizer_array(&r->optimizer, t, i);
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
        for (i = 0; i <= r->optimizer.states + 1; i++) {
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
        "MODEL.AMP_PARAMS.USE_AMP=True", "OPTIMIZER.name=adamw",
        "DISTRIBUTED.NUM_PROC_PER_NODE=2",
        "DATA.TRAIN={BATCHSIZE_PER_REPLICA: 2, DATA_LIMIT: 10, "
        "USE_STATEFUL_DISTRIBUTED_SAMPLER: True}"
    };
    struct config_source source;
    char argument[256];
    size_t i;

    CHECK(config_defaults(&r->config, &source));
    for (i = 0; i < FORGED_COUNT(arguments); i++)
        CHECK(config_override(&r->config, &source, arguments[i]));
    snprintf(argument, sizeof argument,
             "DATA.TRAIN.DATA_PATHS=[\"%s/a\", \"%s/b\"]", root, root);
    CHECK(config_override(&r->config, &source, argument));
    snprintf(argument, sizeof argument, "CHECKPOINT.DIR=\"%s\"", dir);
    CHECK(config_override(&r->config, &source, argument));
    if (r->world == WORLDS)
        CHECK(config_override(&r->config, &source, "OPTIMIZER.use_zero=True"));
    CHECK(config_check(&r->config, &source, r->world));
}

static void begin(int rank, void *context)
{
    struct process *p = &processes[world][rank];

    (void)context;
    p->now.rank = rank;
    p->now.world = world;
    p->now.log = rank == 0 ? run_log : NULL;
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

/* A step that computes nothing, or the end of an epoch. */
static void step(run *r)
{
    const unsigned char *leaves[8];
    const uint64_t first = 4u * (uint64_t)r->rank / (uint64_t)r->world;
    const uint64_t last = 4u * (uint64_t)(r->rank + 1) / (uint64_t)r->world;
    char words[128];

    if (feed_step(&r->feed) == feed_steps(&r->feed)) {
        CHECK(feed_end_epoch(&r->feed, words, sizeof words));
        log_line(r, words);
        return;
    }
    feed_next(&r->feed, first, last, leaves);
    if (scaler_skips(&r->scaler, ++r->step % 3 == 0))
        r->skipped++;
    else
        r->optimizer.steps++;
    snprintf(words, sizeof words, "step %" PRIu64, r->step);
    log_line(r, words);
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
        for (array = 0; array <= r->optimizer.states; array++) {
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

static saved honest[WORLDS + 1][SAVED];
static const char *const honest_names[SAVED] = {"step-000000000005",
                                                "step-000000000009"};

static void write_text(const char *name, unsigned char first)
{
    static file out;
    char path[PATH];
    size_t i;

    out.size = 300;
    for (i = 0; i < out.size; i++)
        out.bytes[i] = (unsigned char)(first + i % 90);
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
                 ? getenv("TMPDIR") : "/tmp");
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
        for (number = 0; number < SAVED; number++)
            read_saved(&honest[world][number], honest_names[number], world);
        clear_runs();
    }
}

/* --- Changes -------------------------------------------------------------- */

static saved attacked;

/* Replaces some bytes of the manifest. */
static void replace(size_t from, size_t size, const void *by, size_t length)
{
    file *f = &attacked.files[0];

    CHECK(from + size <= f->size);
    if (f->size + length >= ROOM)
        return;
    memmove(f->bytes + from + length, f->bytes + from + size,
            f->size - from - size);
    memcpy(f->bytes + from, by, length);
    f->size += length - size;
    f->bytes[f->size] = 0;
}

/* Where a line with one of these names begins, and its size. */
static size_t find_line(const char *name, size_t *size)
{
    const file *f = &attacked.files[0];
    size_t at = 0;

    for (;; at += *size) { /* ends: a line on */
        const unsigned char *end =
            memchr(f->bytes + at, '\n', f->size - at);

        *size = end ? (size_t)(end + 1 - f->bytes) - at : f->size - at;
        if (*size == 0 || strncmp((const char *)f->bytes + at, name,
                                  strlen(name)) == 0)
            return at;
    }
}

static const char *any_name(void)
{
    static const char *const names[] = {
        "step ", "skipped ", "optimizer_steps ", "loss_scale ", "unskipped ",
        "log_bytes ", "log_hash ", "blas ", "sampler ", "parts ", "part0 ",
        "part1 ", "part2 ", "config ", "hash ", "format ", "texts ",
        "opt_level ", "OPTIMIZER.momentum ", "CHECKPOINT"
    };

    /* Most often a number. */
    return names[check_random(check_random(2) == 1 ? 7 : FORGED_COUNT(names))];
}

static void change_line(const char *name)
{
    static const char *const odd[] = {
        "", " ", "0", "-1", "+1", "01", "nan", "inf", "-0", "0x10", "1e3",
        "2147483647", "2147483648", "4294967297", "2000000000",
        "9223372036854775808", "18446744073709551615",
        "99999999999999999999999", "-9223372036854775808", "1e-320", "32768",
        "4 4", "\n", "\033[2J", "0123456789abcdef", "g", "\xff"
    };
    const char *by;
    static unsigned char line[ROOM];
    char number[32];
    size_t size, other, from = find_line(name, &size);
    unsigned char byte;

    if (size <= strlen(name))
        return;
    switch (check_random(8)) {
    case 0:
        replace(from, size, "", 0);
        return;
    case 1: /* a second time, in any place */
        memcpy(line, attacked.files[0].bytes + from, size);
        replace(find_line(any_name(), &other), 0, line, size);
        return;
    case 2:
        byte = (unsigned char)check_random(256);
        replace(from + check_random(size), 1, &byte, 1);
        return;
    case 3: /* something near */
        snprintf(number, sizeof number, "%" PRIu64, forged_value(strtoull(
            (const char *)attacked.files[0].bytes + from + strlen(name), NULL,
            10)));
        replace(from + strlen(name), size - strlen(name) - 1, number,
                strlen(number));
        return;
    case 4:
        by = odd[check_random(FORGED_COUNT(odd))];
        replace(from + strlen(name) + check_random(size - strlen(name)), 0, by,
                strlen(by));
        return;
    default:
        by = odd[check_random(FORGED_COUNT(odd))];
        replace(from + strlen(name), size - strlen(name) - 1, by, strlen(by));
    }
}

/* Another state of the mix with the right check word, or of the audits. */
static void change_sampler(void)
{
    const size_t mix = FORGE_MIX_BYTES(2);
    unsigned char state[FORGE_MIX_BYTES(2) + 128];
    size_t size, from = find_line("sampler ", &size), count = (size - 9) / 2, i;
    unsigned byte;

    if (size < 9 || count < mix || count > sizeof state)
        return;
    for (i = 0; i < count; i++) {
        if (sscanf((const char *)attacked.files[0].bytes + from + 8 + 2 * i,
                   "%2x", &byte) != 1)
            return;
        state[i] = (unsigned char)byte;
    }
    if (check_random(4) == 0)
        state[check_random(count)] = (unsigned char)check_random(256);
    else
        forged_change_mix(state, 2);
    if (check_random(8) != 1)
        forge_seal_mix(state, 2);
    for (i = 0; i < count; i++) {
        char digits[3];

        snprintf(digits, sizeof digits, "%02x", (unsigned)state[i]);
        replace(from + 8 + 2 * i, 2, digits, 2);
    }
}

/* Gives a line another value, where there is one. */
static void put_line(const char *name, const char *value)
{
    size_t size, from = find_line(name, &size);

    if (size > strlen(name))
        replace(from + strlen(name), size - strlen(name) - 1, value,
                strlen(value));
}

/* What the manifest says of a part is made true. */
static void seal_part(int part)
{
    const file *f = &attacked.files[LOGGED + 1 + part];
    char name[16], value[64];

    snprintf(name, sizeof name, "part%d ", part);
    snprintf(value, sizeof value, "%zu %016" PRIx64, f->size,
             text_hash(TEXT_HASH, f->bytes, f->size));
    put_line(name, value);
}

/* The numbers of steps add up, and those of the log are its lines'. */
static void seal_numbers(void)
{
    const char *all = (const char *)attacked.files[0].bytes;
    const file *written = &attacked.files[LOGGED];
    uint64_t step, skipped;
    char value[32];
    size_t size;

    snprintf(value, sizeof value, "%zu", written->size);
    put_line("log_bytes ", value);
    snprintf(value, sizeof value, "%" PRIu64,
             text_hash(TEXT_HASH, written->bytes, written->size));
    put_line("log_hash ", value);
    step = strtoull(all + find_line("step ", &size) + 5 * (size > 4), NULL,
                    10);
    skipped = strtoull(all + find_line("skipped ", &size) + 8 * (size > 7),
                       NULL, 10);
    snprintf(value, sizeof value, "%" PRId64, (int64_t)(step - skipped));
    put_line("optimizer_steps ", value);
    manifest_name(attacked.name, step);
}

static void change_file(void)
{
    const int i =
        (int)check_random((uint64_t)attacked.parts + LOGGED + 1);
    file *f = &attacked.files[i];
    const saved *other =
        &honest[1 + check_random(WORLDS)][check_random(SAVED)];

    switch (check_random(8)) {
    case 0:
        f->kind = FILE_MISSING + (int)check_random(3);
        break;
    case 1:
        f->size = (size_t)check_random(f->size + 1);
        break;
    case 2:
        f->size += (size_t)check_random(70);
        break;
    case 3: /* another checkpoint's */
        memcpy(f, &other->files[i <= LOGGED + other->parts ? i : LOGGED],
               sizeof *f);
        break;
    default:
        if (f->size > 0)
            f->bytes[check_random(f->size)] = (unsigned char)check_random(256);
    }
    if (i > LOGGED && check_random(2) == 0)
        seal_part(i - 1 - LOGGED);
}

static void change_name(void)
{
    static const char *const names[] = {
        "step-000000000005", "step-000000000010", "step-999999999999",
        "step-00000000000a", "step-5", ".step.tmp", "step-000000000009"
    };

    snprintf(attacked.name, sizeof attacked.name, "%s",
             names[check_random(FORGED_COUNT(names))]);
}

/* The hash over the manifest is right. */
static void seal(void)
{
    char value[64];
    size_t size, from = find_line("hash ", &size);

    snprintf(value, sizeof value, "hash %016" PRIx64 "\n",
             text_hash(TEXT_HASH, attacked.files[0].bytes, from));
    replace(from, attacked.files[0].size - from, value, strlen(value));
}

static uint64_t attack(void)
{
    const uint64_t changes = check_random(4);
    uint64_t i;

    for (i = 0; i < changes; i++) {
        const uint64_t what = check_random(8);

        if (what < 4)
            change_line(any_name());
        else if (what == 4)
            change_sampler();
        else if (what < 7)
            change_file();
        else
            change_name();
    }
    if (attacked.files[0].kind == 0 && check_random(2) == 1)
        seal_numbers();
    if (attacked.files[0].kind == 0 && check_random(8) != 1)
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
    CHECK(fputs("a log of the trainer\nstep 1\n", run_log) >= 0 &&
          fflush(run_log) == 0 && ftruncate(fileno(run_log), 28) == 0);
    for (rank = 0; rank < world; rank++)
        put_back(rank, NULL);
    if (!quiet)
        CHECK((quiet = fopen("/dev/null", "w")) != NULL);
    stderr = quiet;
    mpi_run(world, load, NULL);
    stderr = loud;
    for (rank = 1; rank < world; rank++) {
        CHECK(strcmp(processes[world][rank].words,
                     processes[world][0].words) == 0);
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

/* A run that can go on. */
static void check_run(const run *r)
{
    CHECK(r->scaler.scale > 0 && r->scaler.scale <= 16777216);
    CHECK(r->scaler.unskipped >= 0 && r->scaler.unskipped < 2000);
    CHECK(r->skipped <= r->step &&
          (uint64_t)r->optimizer.steps == r->step - r->skipped);
}

/* Saved by those who have loaded it, and loaded by as many as had saved it
   before: under the same name, and with the same weights. */
static void check_taken(const saved *taken)
{
    static saved again;
    const int parts = (int)strtoul(
        strstr((const char *)taken->files[0].bytes, "\nparts ") + 7, NULL, 10);
    const struct process *p;
    int i;

    CHECK(parts >= 1 && parts <= WORLDS);
    for (i = 0; i < world; i++)
        check_run(&processes[world][i].now);
    clear_runs();
    mpi_run(world, save, NULL);
    p = load_by(parts);
    CHECK(*p->words == 0 && strcmp(p->name, taken->name) == 0);
    mpi_run(world, save, NULL);
    read_saved(&again, taken->name, world);
    for (i = 1 + LOGGED; i <= LOGGED + parts; i++)
        CHECK(taken->files[i].size == again.files[i].size &&
              memcmp(taken->files[i].bytes, again.files[i].bytes,
                     again.files[i].size) == 0);
}

static void fuzz(void)
{
    const struct process *p;
    const saved *beside = NULL;
    uint64_t changes;
    int savers, ranks;

    if (!root[0])
        begin_all();
    savers = 1 + (int)check_random(WORLDS);
    ranks = 1 + (int)check_random(WORLDS);
    memcpy(&attacked, &honest[savers][1], sizeof attacked);
    if (check_random(2) == 1)
        beside = &honest[1 + check_random(WORLDS)][0];
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
        check_taken(&attacked);
    } else {
        fuzz_came_to("taken");
        CHECK(beside && strcmp(p->name, beside->name) == 0);
        check_taken(beside);
    }
    clear_runs();
}
