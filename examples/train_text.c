/* train_text.c - a small language model that survives being killed.

   It learns to predict the next byte of a text from the eight bytes before it:
   an embedding, one hidden layer, a softmax over the 256 bytes, stochastic
   gradient descent. Each file is a dataset; the datasets take turns by weight.
   The ranks of a data-parallel job are simulated one after the other, each with
   its own statesampler_mix.

   A run gives the same bits on any number of ranks, for two reasons. As long as
   the global batch stays the same, a step has the same samples however many
   ranks share them. And gradients are added in the order of positions, so that
   floating point rounds in the same way. So 3 ranks can continue a checkpoint
   of 4 ranks and end with the same weights.

       cc -O2 -I. -o train_text examples/train_text.c -lm
       ./train_text --help
*/
#define _POSIX_C_SOURCE 200809L /* clock_gettime, isatty */

#define STATESAMPLER_IMPLEMENTATION
#define STATESAMPLER_HOSTED
#include "statesampler.h"
#include "example.h"

#include <inttypes.h>
#include <math.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#ifdef __cplusplus
#define restrict __restrict /* as gcc and clang call it there */
#endif

enum {
    CONTEXT = 8, /* bytes that the model sees */
    EMBED = 16,  /* size of the embedding of a byte */
    INPUT = CONTEXT * EMBED,
    HIDDEN = 128,
    BYTES = 256,
    BLOCK = 1024, /* bytes */
    GROUP = 10,   /* every 10th block is held out */
    TEXTS = 1000, /* files at most */
    PARTS = 16    /* points of the loss curve */
};

/* ---- Small helpers ---- */

/* Exits with the library's message about a file if the code is an error. */
static void must(int code, const char *what, const char *path)
{
    if (code != STATESAMPLER_OK)
        example_fail(1, "%s %s: %s", what, path, example_error(code));
}

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (!memory)
        example_fail(1, "out of memory");
    return memory;
}

/* FNV-1a. */
static uint64_t hash_bytes(const unsigned char *bytes, size_t size)
{
    uint64_t hash = 0xcbf29ce484222325u;
    size_t i;
    for (i = 0; i < size; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3u;
    return hash;
}

/* Copies words of 4 or 8 bytes to or from the little-endian bytes of a file. On
   a big-endian machine it mirrors each word. */
static void copy_words(void *to, const void *from, size_t words, size_t width)
{
    const uint16_t one = 1;
    size_t mirror = *(const unsigned char *)&one == 1 ? 0 : width - 1, i;
    for (i = 0; i < words * width; i++)
        ((unsigned char *)to)[i] = ((const unsigned char *)from)[i ^ mirror];
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- The texts ---- */

typedef struct text {
    unsigned char *bytes;
    size_t size;
    uint64_t samples;
} text;

typedef struct corpus {
    struct text text[TEXTS];
    uint32_t texts;
    size_t size;
    uint64_t samples;           /* of all texts */
    const unsigned char **held; /* the held-out bytes, each in its text */
    size_t held_out;
} corpus;

/* A sample is a byte that is not held out, and neither is its context: training
   sees no held-out byte. */
#define GROUP_SAMPLES ((GROUP - 1) * BLOCK - CONTEXT)

static const unsigned char *sample_at(const text *t, uint64_t sample)
{
    return t->bytes + sample / GROUP_SAMPLES * (GROUP * BLOCK) + CONTEXT +
           sample % GROUP_SAMPLES;
}

static uint64_t count_samples(size_t size)
{
    uint64_t rest = size % (GROUP * BLOCK);
    uint64_t samples = (uint64_t)size / (GROUP * BLOCK) * GROUP_SAMPLES;
    if (rest > (GROUP - 1) * BLOCK)
        rest = (GROUP - 1) * BLOCK;
    return samples + (rest > CONTEXT ? rest - CONTEXT : 0);
}

static void text_read(text *t, const char *path)
{
    static unsigned char buffer[65536];
    size_t got;
    FILE *file = fopen(path, "rb");
    if (!file)
        example_fail(1, "cannot open %s: %s", path, strerror(errno));
    while ((got = fread(buffer, 1, sizeof buffer, file)) > 0) {
        t->bytes = (unsigned char *)realloc(t->bytes, t->size + got);
        if (!t->bytes)
            example_fail(1, "out of memory");
        memcpy(t->bytes + t->size, buffer, got);
        t->size += got;
    }
    if (ferror(file))
        example_fail(1, "cannot read %s: %s", path, strerror(errno));
    fclose(file);
    if (t->size < BLOCK * GROUP)
        example_fail(1, "%s has %lu bytes; a text needs at least %d", path,
                     (unsigned long)t->size, BLOCK * GROUP);
    t->samples = count_samples(t->size);
}

/* Adds a file to the texts and its held-out bytes to theirs. */
static void corpus_add(corpus *c, const char *path)
{
    text *t = &c->text[c->texts];
    size_t place;
    if (c->texts++ == TEXTS)
        example_fail(1, "%d files at most", TEXTS);
    text_read(t, path);
    c->size += t->size;
    c->samples += t->samples;
    c->held = (const unsigned char **)realloc(
        (void *)c->held, (c->size / GROUP + 1) * sizeof *c->held);
    if (!c->held)
        example_fail(1, "out of memory");
    for (place = 0; place < t->size; place++)
        if (place / BLOCK % GROUP == GROUP - 1)
            c->held[c->held_out++] = t->bytes + place;
}

/* The baseline predicts a byte from the one before it, by counts over the same
   samples, smoothed with the shares of single bytes times tau. It even uses the
   tau that is best on the held-out text. Returns bits per held-out byte. */
static double bigram_bits(const corpus *c)
{
    static double pair[BYTES][BYTES], before[BYTES], single[BYTES];
    double best = HUGE_VAL, tau;
    const text *t;
    size_t k;
    uint64_t i;
    for (t = c->text; t < c->text + c->texts; t++) {
        for (i = 0; i < t->samples; i++) {
            const unsigned char *byte = sample_at(t, i);
            pair[byte[-1]][byte[0]] += 1;
            before[byte[-1]] += 1;
            single[byte[0]] += 1;
        }
    }
    for (tau = 0.125; tau < 10000; tau *= 2) {
        double nats = 0;
        for (k = 0; k < c->held_out; k++) {
            unsigned a = c->held[k][-1], b = c->held[k][0];
            double share =
                (single[b] + 1) / ((double)c->samples + (double)BYTES);
            nats -= log((pair[a][b] + tau * share) / (before[a] + tau));
        }
        best = nats < best ? nats : best;
    }
    return best / (double)c->held_out / log(2);
}

/* ---- The model ---- */

/* Only floats, so that it can be copied as an array. */
typedef struct model {
    float embed[BYTES][EMBED];
    float w1[INPUT][HIDDEN];
    float b1[HIDDEN];
    float w2[HIDDEN][BYTES];
    float b2[BYTES];
} model;

#define WEIGHTS (sizeof(model) / sizeof(float))

/* What a rank computes for one sample. */
typedef struct trace {
    const unsigned char *context;
    float input[INPUT], hidden[HIDDEN];
    float d_input[INPUT], d_hidden[HIDDEN], d_output[BYTES];
    double loss; /* in nats */
} trace;

/* Compilers can vectorize this without changing a result. */
static void add_scaled(float *restrict to, const float *restrict from,
                       float scale, int count)
{
    int i;
    for (i = 0; i < count; i++)
        to[i] += scale * from[i];
}

/* Eight sums side by side, as compilers may not reorder a single one. */
static float dot(const float *a, const float *b, int count)
{
    float lane[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    int i, j;
    for (i = 0; i < count; i += 8) {
        for (j = 0; j < 8; j++)
            lane[j] += a[i + j] * b[i + j];
    }
    return ((lane[0] + lane[1]) + (lane[2] + lane[3])) +
           ((lane[4] + lane[5]) + (lane[6] + lane[7]));
}

/* Computes the loss for the byte at `next` and its derivative d_output: the
   predicted distribution minus the true one. */
static void forward(const model *m, trace *s, const unsigned char *next)
{
    float *output = s->d_output, top, sum = 0;
    int i;
    s->context = next - CONTEXT;
    for (i = 0; i < CONTEXT; i++) {
        memcpy(s->input + i * EMBED, m->embed[s->context[i]],
               sizeof m->embed[0]);
    }
    memcpy(s->hidden, m->b1, sizeof m->b1);
    for (i = 0; i < INPUT; i++)
        add_scaled(s->hidden, m->w1[i], s->input[i], HIDDEN);
    memcpy(output, m->b2, sizeof m->b2);
    for (i = 0; i < HIDDEN; i++) {
        if (s->hidden[i] > 0) {
            add_scaled(output, m->w2[i], s->hidden[i], BYTES);
        } else {
            s->hidden[i] = 0;
        }
    }
    top = output[0];
    for (i = 1; i < BYTES; i++)
        top = output[i] > top ? output[i] : top;
    s->loss = (double)top - (double)output[*next];
    for (i = 0; i < BYTES; i++) {
        output[i] = expf(output[i] - top);
        sum += output[i];
    }
    s->loss += log((double)sum);
    for (i = 0; i < BYTES; i++)
        output[i] /= sum;
    output[*next] -= 1;
}

static void backward(const model *m, trace *s)
{
    int i;
    for (i = 0; i < HIDDEN; i++) {
        s->d_hidden[i] =
            s->hidden[i] > 0 ? dot(m->w2[i], s->d_output, BYTES) : 0;
    }
    for (i = 0; i < INPUT; i++)
        s->d_input[i] = dot(m->w1[i], s->d_hidden, HIDDEN);
}

/* One step of gradient descent. Gradients are added in the order of positions,
   whichever ranks the samples came from. */
static void descend(model *m, const trace *s, size_t count, float rate)
{
    float sum[BYTES];
    size_t k;
    int i;
    for (i = 0; i < HIDDEN; i++) {
        memset(sum, 0, sizeof sum);
        for (k = 0; k < count; k++) {
            if (s[k].hidden[i] > 0)
                add_scaled(sum, s[k].d_output, s[k].hidden[i], BYTES);
        }
        add_scaled(m->w2[i], sum, -rate, BYTES);
    }
    for (i = 0; i < INPUT; i++) {
        memset(sum, 0, sizeof sum);
        for (k = 0; k < count; k++)
            add_scaled(sum, s[k].d_hidden, s[k].input[i], HIDDEN);
        add_scaled(m->w1[i], sum, -rate, HIDDEN);
    }
    for (k = 0; k < count; k++) {
        add_scaled(m->b2, s[k].d_output, -rate, BYTES);
        add_scaled(m->b1, s[k].d_hidden, -rate, HIDDEN);
        for (i = 0; i < CONTEXT; i++) {
            add_scaled(m->embed[s[k].context[i]], s[k].d_input + i * EMBED,
                       -rate, EMBED);
        }
    }
}

/* Uniform in -spread .. spread, by SplitMix64 (Steele, Lea, Flood 2014). */
static void fill(float *weights, size_t count, double spread, uint64_t *state)
{
    size_t i;
    for (i = 0; i < count; i++) {
        uint64_t z = *state += 0x9e3779b97f4a7c15u;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        z ^= z >> 31;
        weights[i] = (float)(spread * ((double)(z >> 40) / 8388608 - 1));
    }
}

/* At the start, the output of each layer is about as large as its input. */
static void model_init(model *m, uint64_t seed)
{
    memset(m, 0, sizeof *m);
    fill(&m->embed[0][0], BYTES * EMBED, 1, &seed);
    fill(&m->w1[0][0], INPUT * HIDDEN, sqrt(3.0 / (double)INPUT), &seed);
    fill(&m->w2[0][0], HIDDEN * BYTES, sqrt(3.0 / (double)HIDDEN), &seed);
}

static double held_out_bits(const model *m, const corpus *c)
{
    static trace s;
    double nats = 0;
    size_t k;
    for (k = 0; k < c->held_out; k++) {
        forward(m, &s, c->held[k]);
        nats += s.loss;
    }
    return nats / (double)c->held_out / log(2);
}

/* ---- A run ---- */

typedef struct options {
    uint64_t ranks, global_batch, epochs, seed, every;
    double rate, hold_at;
    const char *checkpoint, *weights, *log, *mix;
    int resume, time;
} options;

/* What a checkpoint holds besides weights and the mix. All members have 64
   bits, so that it can be copied as words. The first four must be the same in
   the run that reads it; the mix checks the rest, such as the seed. */
typedef struct progress {
    uint64_t texts, shape, epochs; /* hash of the texts, sizes of the model */
    double rate;
    uint64_t ranks, global_batch; /* of the run that wrote it */
    uint64_t step;                /* in all epochs */
    uint64_t audits_passed;
    statesampler_audit audit;         /* of this epoch, all ranks */
    double nats[PARTS], count[PARTS]; /* for each part of the run */
    double held_out_first, held_out;  /* after the first and the last epoch */
} progress;

/* One rank of the job. */
typedef struct worker {
    statesampler_mix mix;
    statesampler_source *sources; /* one for each text */
} worker;

typedef struct run {
    options option;
    struct corpus corpus;
    struct model model;
    struct progress progress;
    worker *ranks;
    unsigned char *checkpoint;
    uint64_t *indices; /* a rank's batch */
    trace *traces;     /* of a whole step, in the order of positions */
    FILE *log;
    int terminal;
    double started, drawn; /* when the process began, when it drew the bar */
    uint64_t started_done, started_step;
} run;

/* How many samples all epochs have, and how many are done in this epoch and in
   all. All ranks are at the same turn, so rank 0 is asked. */
static uint64_t run_total(const run *r)
{
    return r->corpus.samples * r->option.epochs;
}

static uint64_t run_position(const run *r)
{
    uint64_t position = 0;
    uint32_t i;
    for (i = 0; i < r->corpus.texts; i++)
        position += statesampler_position(&r->ranks[0].sources[i].sampler);
    return position;
}

static uint64_t run_done(const run *r)
{
    return statesampler_mix_epoch(&r->ranks[0].mix) * r->corpus.samples +
           run_position(r);
}

/* The weights of the texts, as in "3,2,1"; 1 each without --mix. */
static const uint32_t *read_weights(const run *r)
{
    static uint32_t weights[TEXTS];
    const char *at = r->option.mix;
    uint32_t i, texts = r->corpus.texts;
    for (i = 0; i < texts; i++) {
        char *end;
        unsigned long weight = at ? strtoul(at, &end, 10) : 1;
        if (at && (*at < '0' || *at > '9' || weight < 1 || weight > 1000000 ||
                   *end != (i + 1 < texts ? ',' : 0)))
            example_fail(2, "--mix needs a weight from 1 to 1000000 for each "
                            "file, as in 3,2,1; not '%s' for %lu file(s)",
                         r->option.mix, (unsigned long)texts);
        weights[i] = (uint32_t)weight;
        at = at ? end + 1 : NULL;
    }
    return weights;
}

/* UNEVEN and ALL: every sample comes once per epoch. The last step of a text is
   shorter, and may be empty on some ranks. */
static void run_init_ranks(run *r)
{
    const uint32_t *weights = read_weights(r);
    uint64_t rank;
    uint32_t i;
    for (rank = 0; rank < r->option.ranks; rank++) {
        worker *w = &r->ranks[rank];
        w->sources = (statesampler_source *)allocate(r->corpus.texts,
                                                     sizeof *w->sources);
        for (i = 0; i < r->corpus.texts; i++) {
            const statesampler_desc desc = {
                .num_samples = r->corpus.text[i].samples,
                .seed = r->option.seed,
                .stream = i,
                .rank = (uint32_t)rank,
                .world_size = (uint32_t)r->option.ranks,
                .batch_size =
                    (uint32_t)(r->option.global_batch / r->option.ranks),
                .tail = STATESAMPLER_TAIL_UNEVEN};
            example_must(statesampler_init(&w->sources[i].sampler, &desc));
            w->sources[i].weight = weights[i];
        }
        example_must(statesampler_mix_init(&w->mix, w->sources,
                                           r->corpus.texts,
                                           STATESAMPLER_STOP_ALL));
    }
}

/* ---- Output ---- */

/* Writes a line to the log and, if `screen`, to the screen over the bar. */
static void say(run *r, int screen, const char *format, ...)
{
    va_list list;
    FILE *to[2];
    int i;
    to[0] = screen ? stdout : NULL;
    to[1] = r->log;
    if (screen && r->terminal)
        printf("\r%79s\r", "");
    for (i = 0; i < 2; i++) {
        if (!to[i])
            continue;
        va_start(list, format);
        vfprintf(to[i], format, list);
        va_end(list);
        fputc('\n', to[i]);
        fflush(to[i]);
    }
}

/* Says where the run is. */
static void say_place(run *r, int screen, const char *what)
{
    say(r, screen,
        "%s: step %" PRIu64 ", epoch %" PRIu64 ", position %" PRIu64
        " of %" PRIu64 ", %" PRIu64 " ranks",
        what, r->progress.step, statesampler_mix_epoch(&r->ranks[0].mix) + 1,
        run_position(r), r->corpus.samples, r->progress.ranks);
}

static double part_bits(const run *r, uint64_t part)
{
    return r->progress.nats[part] / r->progress.count[part] / log(2);
}

/* Draws a bar on a terminal, ten times a second. Writes a line for each
   finished part of the run to the log, and to a screen that is no terminal. */
static void show_progress(run *r, uint64_t part)
{
    const statesampler_mix *lead = &r->ranks[0].mix;
    uint64_t step = r->progress.step, steps;
    uint64_t total = run_total(r), done = run_done(r);
    int finished = done * PARTS / total != part;
    double passed = seconds() - r->started, left;
    char line[64], bar[13] = "............";
    if (!finished && !(r->terminal && seconds() - r->drawn > 0.1))
        return;
    r->drawn = seconds();
    left = passed * (double)(total - done) / (double)(done - r->started_done);
    steps = step + statesampler_mix_num_turns(lead) -
            statesampler_mix_turn(lead) +
            (r->option.epochs - 1 - statesampler_mix_epoch(lead)) *
                statesampler_mix_num_turns(lead);
    snprintf(line, sizeof line,
             "step %" PRIu64 "/%" PRIu64 "  epoch %" PRIu64
             "  %.3f bits  %.0f steps/s  %.0f:%02.0f left",
             step, steps, statesampler_mix_epoch(lead) + 1,
             part_bits(r, part),
             (double)(step - r->started_step) / (passed + 1e-9),
             floor(left / 60), floor(fmod(left, 60)));
    if (finished)
        say(r, !r->terminal, "%s", line);
    if (r->terminal) {
        memset(bar, '#', (size_t)(done * 12 / total));
        printf("\r[%s] %-63s", bar, line);
        fflush(stdout);
    }
}

/* ---- Checkpoints ---- */

/* A checkpoint: magic, progress, weights, the mix's state, a hash of it all. */
#define MAGIC "TRAINTX2"
#define WEIGHTS_AT (8 + sizeof(progress))
#define STATE_AT (WEIGHTS_AT + sizeof(model))

static size_t checkpoint_bytes(const run *r)
{
    return STATE_AT + statesampler_mix_state_bytes(&r->ranks[0].mix) + 8;
}

static void checkpoint_save(run *r)
{
    const char *path = r->option.checkpoint;
    unsigned char *checkpoint = r->checkpoint;
    size_t size = checkpoint_bytes(r);
    uint64_t hash;
    if (!path)
        return;
    memcpy(checkpoint, MAGIC, 8);
    copy_words(checkpoint + 8, &r->progress, sizeof(progress) / 8, 8);
    copy_words(checkpoint + WEIGHTS_AT, &r->model, WEIGHTS, 4);
    example_must(statesampler_mix_save(
        &r->ranks[0].mix, checkpoint + STATE_AT, size - STATE_AT - 8));
    hash = hash_bytes(checkpoint, size - 8);
    copy_words(checkpoint + size - 8, &hash, 1, 8);
    must(statesampler_save_file(path, checkpoint, size), "cannot write",
         path);
    say_place(r, 0, "checkpoint");
}

/* Every rank loads the same state and keeps its own rank, world size and batch
   size. */
static void checkpoint_load(run *r)
{
    static const char *const names[4] = {"text", "model size",
                                         "number of epochs", "learning rate"};
    const char *path = r->option.checkpoint;
    unsigned char own[4 * 8], *checkpoint = r->checkpoint;
    uint64_t hash, rank;
    size_t size = 0, i;
    int code =
        statesampler_load_file(path, checkpoint, checkpoint_bytes(r), &size);
    /* A larger file may be a run with more texts. */
    if (STATESAMPLER_KIND(code) != STATESAMPLER_ECAPACITY)
        must(code, "cannot read", path);
    if (size < STATE_AT || memcmp(checkpoint, MAGIC, 8) != 0)
        example_fail(1, "%s is not a checkpoint of this program", path);
    copy_words(own, &r->progress, 4, 8);
    for (i = 0; i < 4; i++)
        if (memcmp(checkpoint + 8 + 8 * i, own + 8 * i, 8) != 0)
            example_fail(1, "%s is of another run: its %s differs", path,
                         names[i]);
    if (code == STATESAMPLER_OK)
        copy_words(&hash, checkpoint + size - 8, 1, 8);
    if (code != STATESAMPLER_OK || hash != hash_bytes(checkpoint, size - 8))
        example_fail(1, "%s is damaged", path);
    for (rank = 0; rank < r->option.ranks; rank++)
        must(statesampler_mix_load(&r->ranks[rank].mix, checkpoint + STATE_AT,
                                   size - STATE_AT - 8),
             "cannot resume from", path);
    for (i = 0; r->option.mix && i < r->corpus.texts; i++) {
        statesampler_mix_place place;

        must(statesampler_mix_describe(checkpoint + STATE_AT,
                                       size - STATE_AT - 8, (uint32_t)i, NULL,
                                       &place),
             "cannot resume from", path);
        if (place.weight != read_weights(r)[i])
            example_fail(1, "%s is of another run: its mix differs", path);
    }
    copy_words(&r->progress, checkpoint + 8, sizeof(progress) / 8, 8);
    copy_words(&r->model, checkpoint + WEIGHTS_AT, WEIGHTS, 4);
}

/* ---- Training ---- */

/* Takes a step. Returns the part of the run that it belongs to. */
static uint64_t train_step(run *r)
{
    progress *p = &r->progress;
    uint64_t world = r->option.ranks, rank;
    uint64_t done = run_done(r), total = run_total(r);
    uint64_t part = done * PARTS / total;
    double rate = r->option.rate * (1 - 0.98 * (double)done / (double)total);
    size_t count = 0, k;

    /* What each rank does by itself. Its sample j has the position j * world +
       rank in the step, and goes there in the array. */
    for (rank = 0; rank < world; rank++) {
        statesampler_mix *mix = &r->ranks[rank].mix;
        uint32_t which;
        size_t own, j;
        statesampler_mix_next(mix, r->indices, &own, &which);
        for (j = 0; j < own; j++) {
            trace *s = &r->traces[j * world + rank];
            forward(&r->model, s,
                    sample_at(&r->corpus.text[which], r->indices[j]));
            backward(&r->model, s);
            /* The audit numbers the samples of all texts as one dataset. */
            r->indices[j] += statesampler_mix_offset(mix, which);
        }
        statesampler_audit_add(&p->audit, r->indices, own);
        count += own;
    }

    /* What the ranks do together. The array does not depend on their number. */
    descend(&r->model, r->traces, count, (float)(rate / (double)count));
    for (k = 0; k < count; k++)
        p->nats[part] += r->traces[k].loss;
    p->count[part] += (double)count;
    p->step++;
    if (!(p->nats[part] < 1e30))
        example_fail(1, "the loss has exploded: use a smaller --rate");
    return part;
}

static void end_epoch(run *r)
{
    progress *p = &r->progress;
    uint64_t epoch = statesampler_mix_epoch(&r->ranks[0].mix), rank;
    int passed = statesampler_audit_check(&p->audit, r->corpus.samples);
    if (passed)
        p->audits_passed++;
    p->held_out = held_out_bits(&r->model, &r->corpus);
    if (epoch == 0)
        p->held_out_first = p->held_out;
    say(r, 1,
        "epoch %" PRIu64 ": held-out text %.3f bits per byte; audit %s: "
        "%" PRIu64 " of %" PRIu64 " samples",
        epoch + 1, p->held_out, passed ? "ok" : "FAILED", p->audit.count,
        r->corpus.samples);
    memset(&p->audit, 0, sizeof p->audit);
    for (rank = 0; rank < r->option.ranks; rank++) {
        size_t own;
        uint32_t which; /* unused: this call only begins the next epoch */
        statesampler_mix_next(&r->ranks[rank].mix, NULL, &own, &which);
    }
    checkpoint_save(r);
}

/* For the demo, which kills this program in mid-epoch: waits so that the run
   cannot end before the signal comes. */
static void hold(run *r)
{
    double end = seconds() + 60;
    say_place(r, 1, "holding");
    while (seconds() < end)
        continue;
    example_fail(1, "waited a minute and was not killed");
}

static void train(run *r)
{
    const statesampler_mix *lead = &r->ranks[0].mix;
    while (statesampler_mix_epoch(lead) < r->option.epochs) {
        if (statesampler_mix_turn(lead) == statesampler_mix_num_turns(lead)) {
            end_epoch(r);
            continue;
        }
        show_progress(r, train_step(r));
        if (r->progress.step % r->option.every == 0)
            checkpoint_save(r);
        if (r->option.hold_at > 0 &&
            (double)run_done(r) >=
                r->option.hold_at * (double)r->corpus.samples)
            hold(r);
    }
}

/* Estimates the seconds of the whole run by training for half a second. */
static double measure(run *r)
{
    const statesampler_mix *lead = &r->ranks[0].mix;
    double begin = seconds();
    while (seconds() < begin + 0.5 &&
           statesampler_mix_turn(lead) < statesampler_mix_num_turns(lead))
        train_step(r);
    return (seconds() - begin) * (double)run_total(r) / (double)run_done(r);
}

/* Reports the results. Returns the exit status. */
static int report(run *r)
{
    static unsigned char bytes[sizeof(model)];
    const progress *p = &r->progress;
    char curve[32 * PARTS] = "";
    uint64_t i, last = 0;
    copy_words(bytes, &r->model, WEIGHTS, 4);
    if (r->option.weights)
        must(statesampler_save_file(r->option.weights, bytes, sizeof bytes),
             "cannot write", r->option.weights);
    for (i = 0; i < PARTS; i++) {
        if (p->count[i] > 0) {
            sprintf(curve + strlen(curve), " %.2f", part_bits(r, i));
            last = i;
        }
    }
    say(r, 1, "loss in bits per byte, for each sixteenth of the run:");
    say(r, 1, "%s", curve);
    say(r, 1, "training loss: from %.3f to %.3f", part_bits(r, 0),
        part_bits(r, last));
    say(r, 1, "held-out loss: from %.3f after the first epoch to %.3f",
        p->held_out_first, p->held_out);
    say(r, 1, "bigram model on the same held-out text: %.3f bits per byte",
        bigram_bits(&r->corpus));
    say(r, 1,
        "audit: %" PRIu64 " of %" PRIu64
        " epochs had every sample exactly once",
        p->audits_passed, r->option.epochs);
    say(r, 1, "sampler: %lu bytes of state, %lu bytes of memory per rank",
        (unsigned long)statesampler_mix_state_bytes(&r->ranks[0].mix),
        (unsigned long)(sizeof(statesampler_mix) +
                        r->corpus.texts * sizeof(statesampler_source)));
    say(r, 1, "weights: digest %016" PRIx64 " after %" PRIu64 " steps",
        hash_bytes(bytes, sizeof bytes), p->step);
    if (r->log && (ferror(r->log) || fclose(r->log) != 0))
        example_fail(1, "cannot write %s: %s", r->option.log, strerror(errno));
    return example_end(p->audits_passed == r->option.epochs,
                       "each of %" PRIu64 " samples exactly once in %" PRIu64
                       " of %" PRIu64 " epochs",
                       r->corpus.samples, p->audits_passed, r->option.epochs);
}

/* ---- Command line ---- */

static const char usage[] =
    "usage: train_text [options] FILE...\n"
    "\n"
    "Trains a small next-byte language model on the files. A tenth of each is\n"
    "held out. Each file is a dataset; a step has samples of one of them.\n"
    "\n"
    "  --mix LIST         weights by which files take turns: 3,2,1 (1,1,1)\n"
    "  --ranks N          data-parallel ranks, simulated in this process (4)\n"
    "  --global-batch N   samples per step over all ranks (48)\n"
    "  --epochs N         (4)\n"
    "  --rate X           initial learning rate (0.4)\n"
    "  --seed N           of the first weights and the order (1)\n"
    "  --checkpoint FILE  save checkpoints there\n"
    "  --every N          save every N steps (500)\n"
    "  --resume           continue from the checkpoint on any number of ranks\n"
    "  --weights FILE     write the final weights there, as 32-bit floats\n"
    "  --log FILE         write progress lines there too\n"
    "  --time             train for half a second and print how many seconds\n"
    "                     the whole run would take\n"
    "  --hold-at X        wait for a kill after X epochs, for the demo\n"
    "\n"
    "With the same global batch the final weights are the same to the last\n"
    "bit on any number of ranks, interrupted or not.\n";

/* An option sets a number, a real number, a text or a flag. */
typedef struct known {
    const char *name;
    uint64_t *number, low, high;
    double *real;
    const char **text;
    int *flag;
} known;

static void option_set(const known *k, const char *value)
{
    char *end;
    int good = 1;
    errno = 0;
    if (k->text) {
        *k->text = value;
    } else if (k->real) {
        *k->real = strtod(value, &end);
        good = end > value && !*end && *k->real > (double)k->low &&
               *k->real <= (double)k->high;
    } else {
        *k->number = strtoull(value, &end, 10);
        good = !*end && !errno && *value >= '0' && *value <= '9' &&
               *k->number >= k->low && *k->number <= k->high;
    }
    if (!good)
        example_fail(2, "%s takes a number from %" PRIu64 " to %" PRIu64
                        ", not '%s'", k->name, k->low, k->high, value);
}

/* Reads the options, which may stand between the files, and moves the files to
   the front of argv. Returns the number of files. */
static int options_read(options *o, int argc, char **argv)
{
    const known all[] = {
        {.name = "--ranks", .number = &o->ranks, .low = 1, .high = 65536},
        {.name = "--global-batch", .number = &o->global_batch, .low = 1,
         .high = 65536},
        {.name = "--epochs", .number = &o->epochs, .low = 1, .high = 100000},
        {.name = "--seed", .number = &o->seed, .high = UINT64_MAX},
        {.name = "--every", .number = &o->every, .low = 1,
         .high = UINT64_MAX},
        {.name = "--rate", .high = 100, .real = &o->rate},
        {.name = "--hold-at", .high = 100000, .real = &o->hold_at},
        {.name = "--checkpoint", .text = &o->checkpoint},
        {.name = "--weights", .text = &o->weights},
        {.name = "--log", .text = &o->log},
        {.name = "--mix", .text = &o->mix},
        {.name = "--resume", .flag = &o->resume},
        {.name = "--time", .flag = &o->time}};
    const known *end = all + sizeof all / sizeof all[0], *k;
    int at, files = 0, only_files = 0;
    for (at = 1; at < argc; at++) {
        if (only_files || argv[at][0] != '-') {
            argv[files++] = argv[at];
            continue;
        }
        only_files = strcmp(argv[at], "--") == 0;
        if (only_files)
            continue;
        for (k = all; k < end && strcmp(argv[at], k->name) != 0;)
            k++;
        if (k == end)
            example_fail(2, "unknown option %s", argv[at]);
        if (k->flag)
            *k->flag = 1;
        else if (++at < argc)
            option_set(k, argv[at]);
        else
            example_fail(2, "%s needs a value", k->name);
    }
    return files;
}

static void options_check(const options *o, int files)
{
    if (files == 0)
        example_fail(2, "no file to train on");
    if (o->global_batch % o->ranks != 0)
        example_fail(2, "a global batch of %" PRIu64 " cannot be divided "
                        "by %" PRIu64 " ranks",
                     o->global_batch, o->ranks);
    if (o->resume && !o->checkpoint)
        example_fail(2, "--resume needs --checkpoint FILE");
}

/* Returns 1 if two paths lead to the same file. */
static int is_same_file(const char *a, const char *b)
{
    struct stat one, other;
    return strcmp(a, b) == 0 ||
           (stat(a, &one) == 0 && stat(b, &other) == 0 &&
            one.st_dev == other.st_dev && one.st_ino == other.st_ino);
}

/* An output must not be a device or pipe, which may block, nor a text that is
   trained on. */
static void output_check(const char *path, int files, char **paths)
{
    struct stat out;
    int i;
    if (!path || stat(path, &out) != 0)
        return;
    if (!S_ISREG(out.st_mode))
        example_fail(1, "cannot write %s: it is not a regular file", path);
    for (i = 0; i < files; i++)
        if (is_same_file(path, paths[i]))
            example_fail(1, "cannot write %s: it is a text to train on", path);
}

/* Each output must be a different file. */
static void outputs_check(const options *o)
{
    const char *const paths[] = {o->log, o->checkpoint, o->weights};
    int i, j;
    for (i = 0; i < 3; i++)
        for (j = 0; j < i; j++)
            if (paths[i] && paths[j] && is_same_file(paths[i], paths[j]))
                example_fail(1, "cannot write %s: the log, the checkpoint and "
                                "the weights must be different files",
                             paths[i]);
}

/* Fails now if an output cannot be written. The log is written from now on, the
   checkpoint from the start of the run, the weights at its end. */
static void outputs_open(run *r, int files, char **paths)
{
    const char *path = r->option.weights;
    FILE *old, *file;
    output_check(r->option.log, files, paths);
    output_check(r->option.checkpoint, files, paths);
    output_check(path, files, paths);
    outputs_check(&r->option);
    if (r->option.log && !(r->log = fopen(r->option.log, "w")))
        example_fail(1, "cannot write %s: %s", r->option.log, strerror(errno));
    outputs_check(&r->option); /* now that the file exists */
    if (!path)
        return;
    old = fopen(path, "rb");
    file = fopen(path, "ab");
    if (!file)
        example_fail(1, "cannot write %s: %s", path, strerror(errno));
    fclose(file);
    outputs_check(&r->option); /* again, with this file */
    if (old)
        fclose(old);
    else
        remove(path);
}

static void run_init(run *r, int files, char **paths)
{
    const options *o = &r->option;
    progress *p = &r->progress;
    const text *t;
    int i;
    for (i = 0; i < files; i++) {
        corpus_add(&r->corpus, paths[i]);
        t = &r->corpus.text[i];
        p->texts = p->texts * 31 + hash_bytes(t->bytes, t->size);
    }
    r->terminal = isatty(STDOUT_FILENO);
    r->ranks = (worker *)allocate((size_t)o->ranks, sizeof *r->ranks);
    r->indices = (uint64_t *)allocate((size_t)o->global_batch, 8);
    r->traces = (trace *)allocate((size_t)o->global_batch, sizeof *r->traces);
    model_init(&r->model, o->seed);
    run_init_ranks(r);
    r->checkpoint = (unsigned char *)allocate(checkpoint_bytes(r), 1);
    p->shape = ((uint64_t)CONTEXT << 16 | EMBED) << 16 | HIDDEN;
    p->epochs = o->epochs;
    p->rate = o->rate;
}

/* Continues from the checkpoint with --resume. Says what is to come. */
static void run_start(run *r)
{
    const options *o = &r->option;
    progress *p = &r->progress;
    say(r, 1,
        "text: %lu bytes in %lu file(s), %" PRIu64
        " samples to train on; model: %lu weights",
        (unsigned long)r->corpus.size, (unsigned long)r->corpus.texts,
        r->corpus.samples, (unsigned long)WEIGHTS);
    if (o->resume) {
        checkpoint_load(r);
        say_place(r, 1, "resumed");
        if (statesampler_mix_epoch(&r->ranks[0].mix) == o->epochs)
            say(r, 1, "nothing is left to do: the run had finished");
        if (p->global_batch != o->global_batch)
            say(r, 1, "another global batch: no sample is lost or repeated, "
                      "but the weights will differ");
    }
    say(r, 1,
        "ranks: %" PRIu64 " x %" PRIu64 " = %" PRIu64 " samples a step, "
        "%" PRIu64 " epochs of %" PRIu64 " steps",
        o->ranks, o->global_batch / o->ranks, o->global_batch, o->epochs,
        statesampler_mix_num_turns(&r->ranks[0].mix));
    p->ranks = o->ranks;
    p->global_batch = o->global_batch;
    r->started_done = run_done(r);
    r->started_step = p->step;
    r->started = seconds();
    checkpoint_save(r);
}

int main(int argc, char **argv)
{
    static run r;
    options *o = &r.option;
    int files;
    o->ranks = 4;
    o->global_batch = 48;
    o->epochs = 4;
    o->rate = 0.4;
    o->seed = 1;
    o->every = 500;
    example_begin(argc, argv, argc, usage);
    files = options_read(o, argc, argv);
    options_check(o, files);
    run_init(&r, files, argv);
    if (o->time) {
        printf("%.0f\n", ceil(measure(&r)));
        example_close();
        return 0;
    }
    outputs_open(&r, files, argv);
    run_start(&r);
    train(&r);
    return report(&r);
}
