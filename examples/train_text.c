/* train_text.c - a small language model that survives being killed.

   It learns to predict the next byte of a text from the eight bytes before it:
   an embedding, one hidden layer, a softmax over the 256 bytes, stochastic
   gradient descent. Each file is a dataset; the datasets take turns by weight.
   The ranks of a data-parallel job are simulated one after the other, each with
   its own statesampler_mix.

   A run gives the same bits on any number of ranks, for two reasons. A step has
   the same samples however many ranks share them. And gradients are added in
   the order of positions, so that floating point rounds in the same way. So 3
   ranks can continue a checkpoint of 4 ranks and end with the same weights.

   `make demo` shows it. examples/trainer is a trainer for real work. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */

#define STATESAMPLER_IMPLEMENTATION
#define STATESAMPLER_HOSTED
#include "statesampler.h"
#include "example.h"

#include <inttypes.h>
#include <math.h>
#include <time.h>

#ifdef __cplusplus
#define restrict __restrict /* as gcc and clang call it there */
#endif

enum {
    CONTEXT = 8, /* bytes that the model sees */
    EMBED = 16,  /* size of the embedding of a byte */
    INPUT = CONTEXT * EMBED,
    HIDDEN = 128,
    BYTES = 256,
    BLOCK = 1024,      /* bytes */
    GROUP = 10,        /* every 10th block is held out */
    TEXTS = 1000,      /* files at most */
    GLOBAL_BATCH = 48, /* samples in a step, over all ranks */
    SEED = 1,
    PARTS = 16         /* points of the loss curve */
};

static const double first_rate = 0.4; /* it falls to a fiftieth */

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

typedef struct model {
    float embed[BYTES][EMBED];
    float w1[INPUT][HIDDEN];
    float b1[HIDDEN];
    float w2[HIDDEN][BYTES];
    float b2[BYTES];
} model;

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
    uint64_t ranks, epochs, every;
    double hold_at;
    const char *checkpoint, *weights, *log;
    int resume, time;
} options;

/* What a checkpoint holds besides the weights and the mix. The first two must
   be the same in the run that reads it. */
typedef struct progress {
    uint64_t texts, epochs; /* texts: their hash */
    uint64_t ranks;         /* of the run that wrote it */
    uint64_t step;          /* in all epochs */
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
    uint64_t indices[GLOBAL_BATCH]; /* a rank's batch */
    trace traces[GLOBAL_BATCH]; /* of a whole step, in the order of positions */
    FILE *log;
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

/* The first of N texts has weight N, the last has 1. UNEVEN and ALL: every
   sample comes once per epoch. The last step of a text is shorter, and may be
   empty on some ranks. */
static void run_init_ranks(run *r)
{
    const uint32_t texts = r->corpus.texts;
    uint64_t rank;
    uint32_t i;

    for (rank = 0; rank < r->option.ranks; rank++) {
        worker *w = &r->ranks[rank];

        w->sources =
            (statesampler_source *)allocate(texts, sizeof *w->sources);
        for (i = 0; i < texts; i++) {
            const statesampler_desc desc = {
                .num_samples = r->corpus.text[i].samples,
                .seed = SEED,
                .stream = i,
                .rank = (uint32_t)rank,
                .world_size = (uint32_t)r->option.ranks,
                .batch_size = (uint32_t)(GLOBAL_BATCH / r->option.ranks),
                .tail = STATESAMPLER_TAIL_UNEVEN};

            example_must(statesampler_init(&w->sources[i].sampler, &desc));
            w->sources[i].weight = texts - i;
        }
        example_must(statesampler_mix_init(&w->mix, w->sources, texts,
                                           STATESAMPLER_STOP_ALL));
    }
}

/* ---- Output ---- */

/* Writes a line to the screen and to the log. */
static void say(const run *r, const char *format, ...)
{
    FILE *const to[2] = {stdout, r->log};
    va_list list;
    int i;

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

enum { PLACE = 160 };

/* Writes where the run is. */
static const char *place(const run *r, char line[PLACE])
{
    snprintf(line, PLACE,
             "step %" PRIu64 ", epoch %" PRIu64 ", position %" PRIu64
             " of %" PRIu64 ", %" PRIu64 " ranks",
             r->progress.step, statesampler_mix_epoch(&r->ranks[0].mix) + 1,
             run_position(r), r->corpus.samples, r->progress.ranks);
    return line;
}

static double part_bits(const run *r, uint64_t part)
{
    return r->progress.nats[part] / r->progress.count[part] / log(2);
}

/* ---- Checkpoints ---- */

/* A checkpoint: the progress, the weights, the mix's state. */
enum {
    WEIGHTS_AT = sizeof(progress),
    STATE_AT = WEIGHTS_AT + sizeof(model)
};

static size_t checkpoint_bytes(const run *r)
{
    return STATE_AT + statesampler_mix_state_bytes(&r->ranks[0].mix);
}

static void checkpoint_save(run *r)
{
    const char *path = r->option.checkpoint;
    const size_t size = checkpoint_bytes(r);
    char line[PLACE];

    if (!path)
        return;
    memcpy(r->checkpoint, &r->progress, sizeof(progress));
    memcpy(r->checkpoint + WEIGHTS_AT, &r->model, sizeof(model));
    example_must(statesampler_mix_save(
        &r->ranks[0].mix, r->checkpoint + STATE_AT, size - STATE_AT));
    must(statesampler_save_file(path, r->checkpoint, size), "cannot write",
         path);
    if (r->log) { /* the demo waits for this line */
        fprintf(r->log, "checkpoint: %s\n", place(r, line));
        fflush(r->log);
    }
}

/* Every rank loads the same state and keeps its own rank, world size and batch
   size. */
static void checkpoint_load(run *r)
{
    const char *path = r->option.checkpoint;
    progress saved;
    uint64_t rank;
    size_t size = 0;

    must(statesampler_load_file(path, r->checkpoint, checkpoint_bytes(r),
                                &size),
         "cannot read", path);
    if (size != checkpoint_bytes(r))
        example_fail(1, "%s is not a checkpoint of such a run", path);
    memcpy(&saved, r->checkpoint, sizeof saved);
    if (saved.texts != r->progress.texts)
        example_fail(1, "%s is of another run: its text differs", path);
    if (saved.epochs != r->progress.epochs)
        example_fail(1, "%s is of another run: its number of epochs differs",
                     path);
    for (rank = 0; rank < r->option.ranks; rank++)
        must(statesampler_mix_load(&r->ranks[rank].mix,
                                   r->checkpoint + STATE_AT, size - STATE_AT),
             "cannot resume from", path);
    r->progress = saved;
    memcpy(&r->model, r->checkpoint + WEIGHTS_AT, sizeof(model));
}

/* ---- Training ---- */

/* Takes a step. Returns the part of the run that it belongs to. */
static uint64_t train_step(run *r)
{
    progress *p = &r->progress;
    uint64_t world = r->option.ranks, rank;
    uint64_t done = run_done(r), total = run_total(r);
    uint64_t part = done * PARTS / total;
    double rate = first_rate * (1 - 0.98 * (double)done / (double)total);
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
    return part;
}

/* Writes a line at the end of each part of the run. */
static void show_part(const run *r, uint64_t part)
{
    if (run_done(r) * PARTS / run_total(r) != part)
        say(r, "step %" PRIu64 "  epoch %" PRIu64 "  %.3f bits",
            r->progress.step, statesampler_mix_epoch(&r->ranks[0].mix) + 1,
            part_bits(r, part));
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
    say(r,
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
    char line[PLACE];

    say(r, "holding: %s", place(r, line));
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
        show_part(r, train_step(r));
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

/* The last part that has samples: a run may end with none in its last. */
static uint64_t last_part(const progress *p)
{
    uint64_t part = PARTS - 1;

    while (part > 0 && p->count[part] == 0)
        part--;
    return part;
}

/* Reports the results. Returns the exit status. */
static int report(run *r)
{
    const progress *p = &r->progress;

    if (r->option.weights)
        must(statesampler_save_file(r->option.weights, &r->model,
                                    sizeof r->model),
             "cannot write", r->option.weights);
    say(r, "training loss: from %.3f to %.3f", part_bits(r, 0),
        part_bits(r, last_part(p)));
    say(r, "held-out loss: from %.3f after the first epoch to %.3f",
        p->held_out_first, p->held_out);
    say(r, "bigram model on the same held-out text: %.3f bits per byte",
        bigram_bits(&r->corpus));
    say(r,
        "audit: %" PRIu64 " of %" PRIu64
        " epochs had every sample exactly once",
        p->audits_passed, r->option.epochs);
    say(r, "sampler: %lu bytes of state, %lu bytes of memory per rank",
        (unsigned long)statesampler_mix_state_bytes(&r->ranks[0].mix),
        (unsigned long)(sizeof(statesampler_mix) +
                        r->corpus.texts * sizeof(statesampler_source)));
    say(r, "weights: digest %016" PRIx64 " after %" PRIu64 " steps",
        hash_bytes((const unsigned char *)&r->model, sizeof r->model),
        p->step);
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
    "held out. Each file is a dataset; a step has 48 samples of one of them.\n"
    "Files take turns by weight: of three files, 3 : 2 : 1.\n"
    "\n"
    "  --ranks N          data-parallel ranks, simulated in this process (4)\n"
    "  --epochs N         (4)\n"
    "  --checkpoint FILE  save checkpoints there\n"
    "  --every N          save every N steps (500)\n"
    "  --resume           continue from the checkpoint on any number of ranks\n"
    "  --weights FILE     write the final weights there, as 32-bit floats\n"
    "  --log FILE         write progress lines there too\n"
    "  --time             train for half a second and print how many seconds\n"
    "                     the whole run would take\n"
    "  --hold-at X        wait for a kill after X epochs, for the demo\n"
    "\n"
    "The final weights are the same to the last bit on any number of ranks,\n"
    "interrupted or not.\n";

/* Sets an option that has a value. */
static void option_set(options *o, const char *name, const char *value)
{
    if (strcmp(name, "--ranks") == 0)
        o->ranks = example_number(value, 1, GLOBAL_BATCH);
    else if (strcmp(name, "--epochs") == 0)
        o->epochs = example_number(value, 1, 100000);
    else if (strcmp(name, "--every") == 0)
        o->every = example_number(value, 1, UINT64_MAX);
    else if (strcmp(name, "--hold-at") == 0)
        o->hold_at = atof(value);
    else if (strcmp(name, "--checkpoint") == 0)
        o->checkpoint = value;
    else if (strcmp(name, "--weights") == 0)
        o->weights = value;
    else if (strcmp(name, "--log") == 0)
        o->log = value;
    else
        example_fail(2, "unknown option %s", name);
}

/* Reads the options, which stand before the files. Returns where the files
   begin. */
static int options_read(options *o, int argc, char **argv)
{
    int at = 1;

    while (at < argc && argv[at][0] == '-') {
        const char *name = argv[at++];

        if (strcmp(name, "--resume") == 0) {
            o->resume = 1;
        } else if (strcmp(name, "--time") == 0) {
            o->time = 1;
        } else {
            option_set(o, name, at < argc ? argv[at] : "");
            at++;
        }
    }
    if (at >= argc)
        example_fail(2, "no file to train on");
    if (GLOBAL_BATCH % o->ranks != 0)
        example_fail(2, "%d samples cannot be divided by %" PRIu64 " ranks",
                     GLOBAL_BATCH, o->ranks);
    if (o->resume && !o->checkpoint)
        example_fail(2, "--resume needs --checkpoint FILE");
    return at;
}

static void run_init(run *r, int files, char **paths)
{
    progress *p = &r->progress;
    int i;

    for (i = 0; i < files; i++) {
        const text *t = &r->corpus.text[i];

        corpus_add(&r->corpus, paths[i]);
        p->texts = p->texts * 31 + hash_bytes(t->bytes, t->size);
    }
    p->epochs = r->option.epochs;
    r->ranks = (worker *)allocate((size_t)r->option.ranks, sizeof *r->ranks);
    model_init(&r->model, SEED);
    run_init_ranks(r);
    r->checkpoint = (unsigned char *)allocate(checkpoint_bytes(r), 1);
}

/* Continues from the checkpoint with --resume. Says what is to come. */
static void run_start(run *r)
{
    const options *o = &r->option;
    char line[PLACE];

    if (o->log && !(r->log = fopen(o->log, "w")))
        example_fail(1, "cannot write %s: %s", o->log, strerror(errno));
    say(r,
        "text: %lu bytes in %lu file(s), %" PRIu64
        " samples to train on; model: %lu weights",
        (unsigned long)r->corpus.size, (unsigned long)r->corpus.texts,
        r->corpus.samples, (unsigned long)(sizeof(model) / sizeof(float)));
    if (o->resume) {
        checkpoint_load(r);
        say(r, "resumed: %s", place(r, line));
    }
    say(r,
        "ranks: %" PRIu64 " x %" PRIu64 " = %d samples a step, "
        "%" PRIu64 " epochs of %" PRIu64 " steps",
        o->ranks, GLOBAL_BATCH / o->ranks, (int)GLOBAL_BATCH, o->epochs,
        statesampler_mix_num_turns(&r->ranks[0].mix));
    r->progress.ranks = o->ranks;
    checkpoint_save(r);
}

int main(int argc, char **argv)
{
    static run r;
    int first;

    r.option.ranks = 4;
    r.option.epochs = 4;
    r.option.every = 500;
    example_begin(argc, argv, argc, usage);
    first = options_read(&r.option, argc, argv);
    run_init(&r, argc - first, argv + first);
    if (r.option.time) {
        printf("%.0f\n", ceil(measure(&r)));
        example_close();
        return 0;
    }
    run_start(&r);
    train(&r);
    return report(&r);
}
