/* train_text.c - a small language model that survives being killed.

   It learns to guess the next byte of a text from the eight bytes before it:
   an embedding of each, one hidden layer, a softmax over the 256 bytes, plain
   stochastic gradient descent. Each file is a dataset of its own, and they
   take turns by the weights given. The ranks of a data-parallel job are
   simulated one after the other in this process, each with a statesampler_mix
   of its own.

   Two things make a run repeatable to the last bit on any number of ranks. As
   long as the global batch stays, the mix gives a step the same samples of
   the same text however many ranks share them; and gradients are summed in
   the order of positions, so that floating point rounds the same way. So a
   checkpoint written by 4 ranks can go on with 3, and end in the same weights.

       cc -O2 -I. -o train_text examples/train_text.c -lm
       ./train_text --help
*/
#define _POSIX_C_SOURCE 200809L /* clock_gettime, isatty */

#define STATESAMPLER_IMPLEMENTATION
#define STATESAMPLER_HOSTED
#include "statesampler.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    CONTEXT = 8, /* bytes the model sees */
    EMBED = 16,  /* numbers that stand for each of them */
    INPUT = CONTEXT * EMBED,
    HIDDEN = 128,
    BYTES = 256,
    BLOCK = 1024, /* bytes; the text is cut into blocks, ... */
    GROUP = 10,   /* ... and of so many the last is held out */
    TEXTS = 1000, /* files at most */
    PARTS = 16    /* of a run: the points of its loss curve */
};

/* ---- Small helpers ---- */

static void fail(const char *format, ...)
{
    va_list list;
    fflush(stdout);
    fputs("train_text: ", stderr);
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    fputc('\n', stderr);
    exit(1);
}

/* For the sampler's own error codes. */
static void must(int code, const char *what, const char *path)
{
    if (code != STATESAMPLER_OK)
        fail("%s %s: %s", what, path, statesampler_error(code));
}

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (!memory)
        fail("out of memory");
    return memory;
}

/* FNV-1a. It names a text, a set of weights, a whole checkpoint. */
static uint64_t hash_bytes(const unsigned char *bytes, size_t size)
{
    uint64_t hash = 0xcbf29ce484222325u;
    size_t i;
    for (i = 0; i < size; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3u;
    return hash;
}

/* Words of 4 or 8 bytes, integers or floats, to little-endian bytes and back,
   so that files may travel between machines. */
static void pack(unsigned char *to, const void *from, size_t words, int width)
{
    const unsigned char *at = (const unsigned char *)from;
    for (; words > 0; words--, at += width) {
        uint64_t word8;
        uint32_t word4;
        int i;
        if (width == 4) {
            memcpy(&word4, at, 4);
            word8 = word4;
        } else {
            memcpy(&word8, at, 8);
        }
        for (i = 0; i < width; i++)
            *to++ = (unsigned char)(word8 >> 8 * i);
    }
}

static void unpack(void *to, const unsigned char *from, size_t words,
                   int width)
{
    unsigned char *at = (unsigned char *)to;
    for (; words > 0; words--, at += width) {
        uint64_t word8 = 0;
        uint32_t word4;
        int i;
        for (i = 0; i < width; i++)
            word8 |= (uint64_t)*from++ << 8 * i;
        word4 = (uint32_t)word8;
        memcpy(at, width == 4 ? (void *)&word4 : (void *)&word8,
               (size_t)width);
    }
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- The texts: what is trained on and what is held out ---- */

typedef struct text {
    unsigned char *bytes;
    size_t size;
    uint64_t samples;
} text;

static void text_read(text *t, const char *path)
{
    static unsigned char buffer[65536];
    size_t got;
    FILE *file = fopen(path, "rb");
    if (!file)
        fail("cannot open %s", path);
    while ((got = fread(buffer, 1, sizeof buffer, file)) > 0) {
        t->bytes = (unsigned char *)realloc(t->bytes, t->size + got + 1);
        if (!t->bytes)
            fail("out of memory");
        memcpy(t->bytes + t->size, buffer, got);
        t->size += got;
    }
    if (ferror(file))
        fail("cannot read %s", path);
    fclose(file);
    if (t->size < BLOCK * GROUP) {
        fail("%lu bytes of text are too few in %s: less than %d leave none "
             "to hold out",
             (unsigned long)t->size, path, BLOCK * GROUP);
    }
}

static int held_out(size_t place)
{
    return place / BLOCK % GROUP == GROUP - 1;
}

/* A sample is a byte outside the held-out blocks whose context is outside them
   too: training sees no held-out byte, not even as context. */
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

/* The rival guesses a byte from the one before it, by counts of the same
   samples, smoothed with tau bytes' worth of the single bytes' shares. It may
   take the tau that is best on the held-out text itself: more than the network
   is allowed. Returns bits per held-out byte. */
static double bigram_bits(const text *texts, uint32_t number)
{
    static double pair[BYTES][BYTES], before[BYTES], single[BYTES];
    double best = HUGE_VAL, tau, samples = 0;
    const text *t;
    uint64_t i;
    for (t = texts; t < texts + number; t++) {
        for (i = 0; i < t->samples; i++) {
            const unsigned char *byte = sample_at(t, i);
            pair[byte[-1]][byte[0]] += 1;
            before[byte[-1]] += 1;
            single[byte[0]] += 1;
        }
        samples += (double)t->samples;
    }
    for (tau = 0.125; tau < 10000; tau *= 2) {
        double nats = 0, count = 0;
        size_t place;
        for (t = texts; t < texts + number; t++) {
            for (place = 0; place < t->size; place++) {
                if (held_out(place)) {
                    unsigned a = t->bytes[place - 1], b = t->bytes[place];
                    double share = (single[b] + 1) / (samples + BYTES);
                    nats -=
                        log((pair[a][b] + tau * share) / (before[a] + tau));
                    count += 1;
                }
            }
        }
        if (nats / count / log(2) < best)
            best = nats / count / log(2);
    }
    return best;
}

/* ---- The model ---- */

/* Nothing but floats, so that it can also be packed as an array of them. */
typedef struct model {
    float embed[BYTES][EMBED];
    float w1[INPUT][HIDDEN];
    float b1[HIDDEN];
    float w2[HIDDEN][BYTES];
    float b2[BYTES];
} model;

#define WEIGHTS (sizeof(model) / sizeof(float))

/* One sample on its way through: what a rank computes and hands over. */
typedef struct trace {
    const unsigned char *context;
    float input[INPUT], hidden[HIDDEN];
    float d_input[INPUT], d_hidden[HIDDEN], d_output[BYTES];
    double loss; /* in nats */
} trace;

/* The form of loop that compilers turn into vector code without permission to
   change a result. */
static void add_scaled(float *restrict to, const float *restrict from,
                       float scale, int count)
{
    int i;
    for (i = 0; i < count; i++)
        to[i] += scale * from[i];
}

/* A single sum may not be reordered; eight side by side need not be. */
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

/* The loss for the byte at `next`, and in d_output its derivative: the guessed
   distribution less the true one. */
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

/* One step downhill. A weight's gradient is summed over the step's samples in
   the order of their positions, whichever ranks they came from. */
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

/* Uniform in -spread .. spread, from SplitMix64 (Steele, Lea, Flood 2014). */
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

/* Each layer's output begins about as large as its input. */
static void model_init(model *m, uint64_t seed)
{
    memset(m, 0, sizeof *m);
    fill(&m->embed[0][0], BYTES * EMBED, 1, &seed);
    fill(&m->w1[0][0], INPUT * HIDDEN, sqrt(3.0 / INPUT), &seed);
    fill(&m->w2[0][0], HIDDEN * BYTES, sqrt(3.0 / HIDDEN), &seed);
}

static double held_out_bits(const model *m, const text *texts,
                            uint32_t number)
{
    static trace s;
    const text *t;
    double nats = 0, count = 0;
    size_t place;
    for (t = texts; t < texts + number; t++) {
        for (place = 0; place < t->size; place++) {
            if (held_out(place)) {
                forward(m, &s, t->bytes + place);
                nats += s.loss;
                count += 1;
            }
        }
    }
    return nats / count / log(2);
}

/* ---- A run ---- */

typedef struct options {
    uint64_t ranks, global_batch, epochs, seed, every;
    double rate, hold_at;
    const char *checkpoint, *weights, *log, *mix;
    int resume;
} options;

/* What a checkpoint holds besides weights and the mix: members of 64 bits
   only, so that it can be packed as words. The first four must be the same in
   the run that reads it; the mix sees to the rest, such as the seed. */
typedef struct progress {
    uint64_t texts, shape, epochs; /* the texts' hash, the model's sizes */
    double rate;
    uint64_t ranks, global_batch; /* of the run that wrote it */
    uint64_t step;                /* of all epochs */
    uint64_t audits_passed;
    statesampler_audit audit;         /* of this epoch, all ranks' added up */
    double nats[PARTS], count[PARTS]; /* by part of the run */
    double held_out_first, held_out;  /* after the first and the last epoch */
} progress;

/* What each rank of a job has. */
typedef struct worker {
    statesampler_mix mix;
    statesampler_source *sources; /* one for each text */
} worker;

typedef struct run {
    options option;
    text text[TEXTS];
    uint32_t texts;
    uint64_t samples; /* of all texts */
    model model;
    progress progress;
    worker *ranks;
    unsigned char *checkpoint;
    uint64_t *indices; /* one rank's share of a step */
    trace *traces;     /* a whole step, in the order of positions */
    FILE *log;
    int terminal;
    double started, drawn; /* this process, the bar */
    uint64_t started_done, started_step;
} run;

/* How many samples all epochs have, and how many are done, in this epoch and
   in all. All ranks are at the same turn, so rank 0 speaks for them. */
static uint64_t run_total(const run *r)
{
    return r->samples * r->option.epochs;
}

static uint64_t run_position(const run *r)
{
    uint64_t position = 0;
    uint32_t i;
    for (i = 0; i < r->texts; i++)
        position += statesampler_position(&r->ranks[0].sources[i].sampler);
    return position;
}

static uint64_t run_done(const run *r)
{
    return statesampler_mix_epoch(&r->ranks[0].mix) * r->samples +
           run_position(r);
}

/* "3,2,1": the weights of the texts, in their order. */
static void read_weights(const run *r, uint32_t *weights)
{
    const char *at = r->option.mix;
    uint32_t i;
    for (i = 0; i < r->texts; i++) {
        weights[i] = 1;
        if (at) {
            char *end;
            unsigned long weight = strtoul(at, &end, 10);
            if (*at < '0' || *at > '9' || weight < 1 || weight > 1000000 ||
                *end != (i + 1 < r->texts ? ',' : 0))
                fail("--mix takes a weight from 1 to 1000000 for each file, "
                     "as in 3,2,1; not '%s' for %lu file(s)",
                     r->option.mix, (unsigned long)r->texts);
            weights[i] = (uint32_t)weight;
            at = end + 1;
        }
    }
}

/* UNEVEN and ALL: every byte is learned from once per epoch, and only once. A
   text's last step is shorter, for some ranks perhaps empty. */
static void run_init_ranks(run *r)
{
    static uint32_t weights[TEXTS];
    uint64_t rank;
    uint32_t i;
    read_weights(r, weights);
    for (rank = 0; rank < r->option.ranks; rank++) {
        worker *w = &r->ranks[rank];
        w->sources =
            (statesampler_source *)allocate(r->texts, sizeof *w->sources);
        for (i = 0; i < r->texts; i++) {
            const statesampler_desc desc = {
                .num_samples = r->text[i].samples,
                .seed = r->option.seed,
                .stream = i,
                .rank = (uint32_t)rank,
                .world_size = (uint32_t)r->option.ranks,
                .batch_size =
                    (uint32_t)(r->option.global_batch / r->option.ranks),
                .tail = STATESAMPLER_TAIL_UNEVEN};
            must(statesampler_init(&w->sources[i].sampler, &desc), "cannot",
                 "start");
            w->sources[i].weight = weights[i];
        }
        must(statesampler_mix_init(&w->mix, w->sources, r->texts,
                                   STATESAMPLER_STOP_ALL),
             "cannot", "mix");
    }
}

/* ---- What a person sees ---- */

/* A line for the log and, if wanted, for the screen in the bar's place. */
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

/* Where the run is, for the checkpoint's line and the resumed run's. */
static void say_place(run *r, int screen, const char *what)
{
    say(r, screen,
        "%s: step %" PRIu64 ", epoch %" PRIu64 ", position %" PRIu64
        " of %" PRIu64 ", %" PRIu64 " ranks",
        what, r->progress.step, statesampler_mix_epoch(&r->ranks[0].mix) + 1,
        run_position(r), r->samples, r->progress.ranks);
}

static double part_bits(const run *r, uint64_t part)
{
    return r->progress.nats[part] / r->progress.count[part] / log(2);
}

/* A bar on a terminal, redrawn ten times a second; a plain line for each part
   of the run that is finished, in the log and where there is no terminal. */
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

/* One file: magic, progress, weights, a mix's state, and a hash of all that.
   It is written whole or not at all. */
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
    pack(checkpoint + 8, &r->progress, sizeof(progress) / 8, 8);
    pack(checkpoint + WEIGHTS_AT, &r->model, WEIGHTS, 4);
    must(statesampler_mix_save(&r->ranks[0].mix, checkpoint + STATE_AT,
                               size - STATE_AT - 8),
         "cannot save for", path);
    hash = hash_bytes(checkpoint, size - 8);
    pack(checkpoint + size - 8, &hash, 1, 8);
    must(statesampler_save_file(path, checkpoint, size), "cannot write",
         path);
    say_place(r, 0, "checkpoint");
}

/* Every rank loads the same state, whichever rank of however many saved it,
   and keeps its own rank, world size and batch size. */
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
    if (code != STATESAMPLER_ECAPACITY)
        must(code, "cannot read", path);
    if (size < STATE_AT || memcmp(checkpoint, MAGIC, 8) != 0)
        fail("%s is not a checkpoint of this program", path);
    /* A larger one, of which only a part was read, may be of more texts. */
    if (code != STATESAMPLER_ECAPACITY) {
        unpack(&hash, checkpoint + size - 8, 1, 8);
        if (hash != hash_bytes(checkpoint, size - 8))
            fail("%s is damaged", path);
    }
    pack(own, &r->progress, 4, 8);
    for (i = 0; i < 4; i++)
        if (memcmp(checkpoint + 8 + 8 * i, own + 8 * i, 8) != 0)
            fail("%s is of another run: its %s is not this one's", path,
                 names[i]);
    if (code == STATESAMPLER_ECAPACITY)
        fail("%s is damaged", path);
    for (rank = 0; rank < r->option.ranks; rank++)
        must(statesampler_mix_load(&r->ranks[rank].mix, checkpoint + STATE_AT,
                                   size - STATE_AT - 8),
             "cannot resume from", path);
    unpack(&r->progress, checkpoint + 8, sizeof(progress) / 8, 8);
    unpack(&r->model, checkpoint + WEIGHTS_AT, WEIGHTS, 4);
}

/* ---- Training ---- */

static void train_step(run *r)
{
    progress *p = &r->progress;
    uint64_t world = r->option.ranks, rank;
    uint64_t done = run_done(r), total = run_total(r);
    uint64_t part = done * PARTS / total;
    double rate = r->option.rate * (1 - 0.98 * (double)done / (double)total);
    size_t count = 0, k;

    /* What each rank does by itself. Its sample j has position j * world +
       rank in the step: that is its place in the array. */
    for (rank = 0; rank < world; rank++) {
        statesampler_mix *mix = &r->ranks[rank].mix;
        uint32_t which;
        size_t own, j;
        statesampler_mix_next(mix, r->indices, &own, &which);
        for (j = 0; j < own; j++) {
            trace *s = &r->traces[j * world + rank];
            forward(&r->model, s, sample_at(&r->text[which], r->indices[j]));
            backward(&r->model, s);
            /* The audit counts the samples of all texts in one line. */
            r->indices[j] += statesampler_mix_offset(mix, which);
        }
        statesampler_audit_add(&p->audit, r->indices, own);
        count += own;
    }

    /* What they do together: the array is as full and as ordered as it would
       be with any other number of ranks. */
    descend(&r->model, r->traces, count, (float)(rate / (double)count));
    for (k = 0; k < count; k++)
        p->nats[part] += r->traces[k].loss;
    p->count[part] += (double)count;
    p->step++;
    if (!(p->nats[part] < 1e30))
        fail("the loss has exploded: take a smaller --rate");

    show_progress(r, part);
}

static void end_epoch(run *r)
{
    progress *p = &r->progress;
    uint64_t epoch = statesampler_mix_epoch(&r->ranks[0].mix), rank;
    int passed = statesampler_audit_check(&p->audit, r->samples);
    if (passed)
        p->audits_passed++;
    p->held_out = held_out_bits(&r->model, r->text, r->texts);
    if (epoch == 0)
        p->held_out_first = p->held_out;
    say(r, 1,
        "epoch %" PRIu64 ": held-out text %.3f bits per byte; audit %s: "
        "%" PRIu64 " of %" PRIu64 " samples",
        epoch + 1, p->held_out, passed ? "ok" : "FAILED", p->audit.count,
        r->samples);
    memset(&p->audit, 0, sizeof p->audit);
    for (rank = 0; rank < r->option.ranks; rank++) {
        size_t own;
        uint32_t which;
        statesampler_mix_next(&r->ranks[rank].mix, NULL, &own, &which);
    }
    checkpoint_save(r);
}

/* For the demo, which kills this program in mid-epoch: it must not be over
   before the signal comes, however late that is. */
static void hold(run *r)
{
    double end = seconds() + 60;
    say_place(r, 1, "holding");
    while (seconds() < end)
        continue;
    fail("held for a minute, and was not killed");
}

static void train(run *r)
{
    const statesampler_mix *lead = &r->ranks[0].mix;
    while (statesampler_mix_epoch(lead) < r->option.epochs) {
        if (statesampler_mix_turn(lead) == statesampler_mix_num_turns(lead)) {
            end_epoch(r);
            continue;
        }
        train_step(r);
        if (r->progress.step % r->option.every == 0)
            checkpoint_save(r);
        if (r->option.hold_at > 0 &&
            (double)run_done(r) >= r->option.hold_at * (double)r->samples)
            hold(r);
    }
}

/* Returns 1 if the run was what it should be. */
static int report(run *r)
{
    static unsigned char bytes[sizeof(model)];
    const progress *p = &r->progress;
    char curve[32 * PARTS] = "";
    uint64_t i, last = 0;
    pack(bytes, &r->model, WEIGHTS, 4);
    if (r->option.weights)
        must(statesampler_save_file(r->option.weights, bytes, sizeof bytes),
             "cannot write", r->option.weights);
    for (i = 0; i < PARTS; i++) {
        if (p->count[i] > 0) {
            sprintf(curve + strlen(curve), " %.2f", part_bits(r, i));
            last = i;
        }
    }
    say(r, 1, "loss in bits per byte, by sixteenths of the run:");
    say(r, 1, "%s", curve);
    say(r, 1, "training loss: from %.3f to %.3f", part_bits(r, 0),
        part_bits(r, last));
    say(r, 1, "held-out loss: from %.3f after the first epoch to %.3f",
        p->held_out_first, p->held_out);
    say(r, 1, "bigram model on the same held-out text: %.3f bits per byte",
        bigram_bits(r->text, r->texts));
    say(r, 1,
        "audit: %" PRIu64 " of %" PRIu64
        " epochs had every sample exactly once",
        p->audits_passed, r->option.epochs);
    say(r, 1, "sampler: %lu bytes of state, %lu bytes of memory per rank",
        (unsigned long)statesampler_mix_state_bytes(&r->ranks[0].mix),
        (unsigned long)(sizeof(statesampler_mix) +
                        r->texts * sizeof(statesampler_source)));
    say(r, 1, "weights: digest %016" PRIx64 " after %" PRIu64 " steps",
        hash_bytes(bytes, sizeof bytes), p->step);
    return p->audits_passed == r->option.epochs;
}

/* ---- Command line ---- */

static const char usage[] =
    "usage: train_text [options] FILE...\n"
    "\n"
    "Trains a small next-byte language model on the files, a tenth of each\n"
    "held out. Each file is a dataset of its own; a step is of one of them.\n"
    "\n"
    "  --mix LIST         weights, by which they take turns: 3,2,1 (1,1,1)\n"
    "  --ranks N          data-parallel ranks, simulated in this process (4)\n"
    "  --global-batch N   samples per step over all ranks (48)\n"
    "  --epochs N         (4)\n"
    "  --rate X           learning rate at the start (0.4)\n"
    "  --seed N           of first weights and order (1)\n"
    "  --checkpoint FILE  keep a checkpoint there\n"
    "  --every N          write it every N steps (500)\n"
    "  --resume           go on from it, also with another number of ranks\n"
    "  --weights FILE     write the final weights there: 32-bit floats\n"
    "  --log FILE         write progress lines there as well\n"
    "  --hold-at X        wait for a kill after X epochs: for the demo\n"
    "\n"
    "With the same global batch the final weights are the same to the last\n"
    "bit on any number of ranks, interrupted or not.\n";

static void usage_error(const char *what, const char *which)
{
    fprintf(stderr, "train_text: %s %s; --help lists the options\n", what,
            which);
    exit(2);
}

/* Reads the options and returns the number of the first file in argv. */
static int options_read(options *o, int argc, char **argv)
{
    const struct {
        const char *name;
        uint64_t *number, low, high;
        double *real;
        const char **path;
    } known[] = {
        {"--ranks", &o->ranks, 1, 65536, NULL, NULL},
        {"--global-batch", &o->global_batch, 1, 65536, NULL, NULL},
        {"--epochs", &o->epochs, 1, 100000, NULL, NULL},
        {"--seed", &o->seed, 0, UINT64_MAX, NULL, NULL},
        {"--every", &o->every, 1, UINT64_MAX, NULL, NULL},
        {"--rate", NULL, 0, 100, &o->rate, NULL},
        {"--hold-at", NULL, 0, 100000, &o->hold_at, NULL},
        {"--checkpoint", NULL, 0, 0, NULL, &o->checkpoint},
        {"--weights", NULL, 0, 0, NULL, &o->weights},
        {"--log", NULL, 0, 0, NULL, &o->log},
        {"--mix", NULL, 0, 0, NULL, &o->mix},
    };
    const size_t count = sizeof known / sizeof known[0];
    int at;
    for (at = 1; at < argc && argv[at][0] == '-'; at++) {
        const char *name = argv[at], *value;
        char *end;
        size_t i = 0;
        int good = 1;
        if (strcmp(name, "--") == 0)
            return at + 1;
        if (strcmp(name, "--help") == 0) {
            fputs(usage, stdout);
            exit(0);
        }
        if (strcmp(name, "--resume") == 0) {
            o->resume = 1;
            continue;
        }
        while (i < count && strcmp(name, known[i].name) != 0)
            i++;
        if (i == count)
            usage_error("there is no option", name);
        value = argv[++at];
        if (!value)
            usage_error("a value is missing after", name);
        errno = 0;
        if (known[i].path) {
            *known[i].path = value;
        } else if (known[i].real) {
            *known[i].real = strtod(value, &end);
            good = !*end && *known[i].real > (double)known[i].low &&
                   *known[i].real <= (double)known[i].high;
        } else {
            *known[i].number = strtoull(value, &end, 10);
            good = !*end && !errno && *value >= '0' && *value <= '9' &&
                   *known[i].number >= known[i].low &&
                   *known[i].number <= known[i].high;
        }
        if (!good) {
            fprintf(stderr,
                    "train_text: %s takes a number from %" PRIu64
                    " to %" PRIu64 ", not '%s'\n",
                    name, known[i].low, known[i].high, value);
            exit(2);
        }
    }
    return at;
}

int main(int argc, char **argv)
{
    static run r;
    options *o = &r.option;
    size_t size = 0;
    int at;
    o->ranks = 4;
    o->global_batch = 48;
    o->epochs = 4;
    o->rate = 0.4;
    o->seed = 1;
    o->every = 500;
    at = options_read(o, argc, argv);
    if (at >= argc)
        usage_error("no file is given", "to train on");
    if (o->global_batch % o->ranks != 0) {
        fail("a global batch of %" PRIu64
             " cannot be shared evenly by %" PRIu64 " ranks",
             o->global_batch, o->ranks);
    }
    if (o->resume && !o->checkpoint)
        usage_error("--resume needs", "--checkpoint FILE");
    r.progress.texts = 0;
    for (; at < argc; at++) {
        text *t = &r.text[r.texts++];
        if (r.texts > TEXTS)
            fail("%d files at most", TEXTS);
        text_read(t, argv[at]);
        t->samples = count_samples(t->size);
        size += t->size;
        r.samples += t->samples;
        r.progress.texts =
            r.progress.texts * 31 + hash_bytes(t->bytes, t->size);
    }
    if (o->log && !(r.log = fopen(o->log, "w")))
        fail("cannot write %s", o->log);
    r.terminal = isatty(STDOUT_FILENO);
    r.ranks = (worker *)allocate((size_t)o->ranks, sizeof *r.ranks);
    r.indices = (uint64_t *)allocate((size_t)o->global_batch, 8);
    r.traces = (trace *)allocate((size_t)o->global_batch, sizeof *r.traces);
    model_init(&r.model, o->seed);
    run_init_ranks(&r);
    r.checkpoint = (unsigned char *)allocate(checkpoint_bytes(&r), 1);
    r.progress.shape = ((uint64_t)CONTEXT << 16 | EMBED) << 16 | HIDDEN;
    r.progress.epochs = o->epochs;
    r.progress.rate = o->rate;

    say(&r, 1,
        "text: %lu bytes in %lu file(s), %" PRIu64
        " samples to train on; model: %lu weights",
        (unsigned long)size, (unsigned long)r.texts, r.samples,
        (unsigned long)WEIGHTS);
    if (o->resume) {
        checkpoint_load(&r);
        say_place(&r, 1, "resumed");
        if (statesampler_mix_epoch(&r.ranks[0].mix) == o->epochs)
            say(&r, 1, "nothing is left to train on: the run had finished");
        if (r.progress.global_batch != o->global_batch)
            say(&r, 1,
                "another global batch: no sample is lost or doubled, "
                "but the weights will differ");
    }
    say(&r, 1,
        "ranks: %" PRIu64 " x %" PRIu64 " = %" PRIu64 " samples a step, "
        "%" PRIu64 " epochs of %" PRIu64 " steps",
        o->ranks, o->global_batch / o->ranks, o->global_batch, o->epochs,
        statesampler_mix_num_turns(&r.ranks[0].mix));
    r.progress.ranks = o->ranks;
    r.progress.global_batch = o->global_batch;
    r.started_done = run_done(&r);
    r.started_step = r.progress.step;
    r.started = seconds();
    checkpoint_save(&r);
    train(&r);
    return report(&r) ? 0 : 1;
}
