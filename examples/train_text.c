/* train_text.c - a small language model that survives being killed.

       make examples && build/train_text --checkpoint run README.md

   It learns to predict the next byte of a text from the eight before it. Each
   file is a dataset; the datasets take turns by weight. All of a run that must
   outlive the process is in one struct, which is saved every few steps, and the
   next start goes on from there. `make demo` kills it.

   A run gives the same weights, bit for bit, on any number of ranks, for two
   reasons. A step has the same samples however many ranks share them. And their
   gradients are added in the order of positions, so that floating point rounds
   in the same way. Here the ranks of a data-parallel job are simulated one
   after the other. For processes, and real work, see examples/trainer. */
#define STATESAMPLER_IMPLEMENTATION
#define STATESAMPLER_HOSTED
#include "statesampler.h"
#include "example.h"

#include <math.h>
#include <stddef.h>

#ifdef __cplusplus
#define restrict __restrict /* as gcc and clang call it there */
#endif

enum {
    TEXTS = 16,           /* files at most */
    TEXT_BYTES = 4 << 20, /* of a file at most */
    GLOBAL_BATCH = 48,    /* samples in a step, over all ranks */
    CONTEXT = 8,          /* bytes that the model sees */
    HIDDEN = 64,          /* numbers that it makes of them */
    BYTES = 256           /* bytes that may be next */
};

static const char usage[] =
    "usage: train_text [options] FILE...\n"
    "\n"
    "Trains a small model to predict the next byte of up to 16 files of 4 MB.\n"
    "Files take turns by weight: of three files, 3 : 2 : 1. The last tenth of\n"
    "each is held out. A step has 48 samples of one file.\n"
    "\n"
    "  --ranks N          data-parallel ranks, simulated in this process (4)\n"
    "  --epochs N         (4)\n"
    "  --every N          save every N steps (500)\n"
    "  --checkpoint FILE  save there, and go on from there if it exists\n"
    "  --weights FILE     write the final weights there, as 32-bit floats\n";

/* --- The texts ----------------------------------------------------------- */

/* A sample is a byte that has a whole context and is not held out. */
typedef struct text {
    unsigned char bytes[TEXT_BYTES];
    size_t size;
    const unsigned char *samples;  /* up to the held-out bytes */
    const unsigned char *held_out; /* the last tenth; training never sees it */
    const unsigned char *end;
} text;

static void text_read(text *t, const char *path)
{
    example_file(path, statesampler_load_file(path, t->bytes, sizeof t->bytes,
                                              &t->size));
    if (t->size < 1000)
        example_fail(1, "%s: too short to train on", path);
    t->samples = t->bytes + CONTEXT;
    t->end = t->bytes + t->size;
    t->held_out = t->end - t->size / 10;
}

/* --- The model ----------------------------------------------------------- */

/* Adds up a vector for each byte of the context, sets what is negative to 0,
   and makes of that a score for each byte that may be next. */
typedef struct model {
    float context[CONTEXT][BYTES][HIDDEN];
    float output[HIDDEN][BYTES];
} model;

/* The vectors begin at random, all scores at 0. */
static void model_init(model *m, const statesampler *sampler)
{
    float *vectors = &m->context[0][0][0];
    uint32_t i;

    for (i = 0; i < CONTEXT * BYTES * HIDDEN; i++)
        vectors[i] =
            (float)(statesampler_sample_seed(sampler, 0, i) >> 40) / (1 << 25) -
            0.25f;
}

/* What a rank computes for one sample. */
typedef struct trace {
    const unsigned char *next; /* the byte to predict; its context ends there */
    float hidden[HIDDEN];
    float d_hidden[HIDDEN], d_output[BYTES]; /* derivatives of the loss */
    double loss;                             /* in bits */
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
    float sum[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    int i, j;

    for (i = 0; i < count; i += 8) {
        for (j = 0; j < 8; j++)
            sum[j] += a[i + j] * b[i + j];
    }
    return ((sum[0] + sum[1]) + (sum[2] + sum[3])) +
           ((sum[4] + sum[5]) + (sum[6] + sum[7]));
}

/* Computes the loss, and d_output: the predicted distribution minus the true
   one. */
static void forward(trace *s, const model *m, const unsigned char *next)
{
    float *output = s->d_output, top, sum = 0;
    int i;

    s->next = next;
    memset(s->hidden, 0, sizeof s->hidden);
    for (i = 0; i < CONTEXT; i++)
        add_scaled(s->hidden, m->context[i][next[i - CONTEXT]], 1, HIDDEN);
    memset(output, 0, sizeof s->d_output);
    for (i = 0; i < HIDDEN; i++) {
        if (s->hidden[i] < 0)
            s->hidden[i] = 0;
        add_scaled(output, m->output[i], s->hidden[i], BYTES);
    }
    top = output[0];
    for (i = 1; i < BYTES; i++)
        top = output[i] > top ? output[i] : top;
    s->loss = (double)top - (double)output[*next];
    for (i = 0; i < BYTES; i++) {
        output[i] = expf(output[i] - top);
        sum += output[i];
    }
    s->loss = (s->loss + log((double)sum)) / log(2);
    for (i = 0; i < BYTES; i++)
        output[i] /= sum;
    output[*next] -= 1;
}

static void backward(trace *s, const model *m)
{
    int i;

    for (i = 0; i < HIDDEN; i++)
        s->d_hidden[i] =
            s->hidden[i] > 0 ? dot(m->output[i], s->d_output, BYTES) : 0;
}

/* A step of gradient descent. Each weight has its gradients added in the order
   of positions, whichever ranks the samples came from. */
static void descend(model *m, const trace *traces, size_t count, float rate)
{
    size_t k;
    int i;

    for (k = 0; k < count; k++) {
        const trace *s = &traces[k];

        for (i = 0; i < HIDDEN; i++)
            add_scaled(m->output[i], s->d_output, -rate * s->hidden[i], BYTES);
        for (i = 0; i < CONTEXT; i++)
            add_scaled(m->context[i][s->next[i - CONTEXT]], s->d_hidden, -rate,
                       HIDDEN);
    }
}

/* --- The run ------------------------------------------------------------- */

/* All of a run that must outlive the process. */
typedef struct checkpoint {
    model weights;
    /* A state of fewer texts is shorter. */
    unsigned char mix[STATESAMPLER_MIX_STATE_BYTES(TEXTS)];
    uint64_t texts, epochs;   /* that a run must have to go on */
    uint64_t step;            /* in all epochs */
    statesampler_audit audit; /* of this epoch, all ranks */
    double loss;              /* the sum of this epoch's samples */
    uint64_t exact; /* epochs that had each sample exactly once */
    uint64_t hash;  /* of all above */
} checkpoint;

typedef struct run {
    uint64_t world_size, epochs, every; /* options */
    const char *path;                   /* of the checkpoint, or NULL */
    const char *weights_path;           /* or NULL */
    text texts[TEXTS];
    uint32_t num_texts;
    uint64_t samples, held_out; /* of all texts */
    uint64_t steps;             /* of all epochs */
    statesampler_mix mixes[GLOBAL_BATCH]; /* one for each rank */
    statesampler_source sources[GLOBAL_BATCH][TEXTS];
    trace traces[GLOBAL_BATCH]; /* of a step, in the order of positions */
    checkpoint now;
} run;

/* The first of N texts has weight N, the last has 1. The stream of a text is
   its hash, so that a state of other texts is refused. UNEVEN and ALL: every
   sample comes once per epoch. The last step of a text is shorter, and may be
   empty on some ranks. */
static void rank_init(run *r, uint32_t rank)
{
    statesampler_source *sources = r->sources[rank];
    uint32_t i;

    for (i = 0; i < r->num_texts; i++) {
        const text *t = &r->texts[i];
        const statesampler_desc desc = {
            .num_samples = (uint64_t)(t->held_out - t->samples),
            .seed = 1,
            .stream = statesampler_hash(0, t->bytes, t->size),
            .rank = rank,
            .world_size = (uint32_t)r->world_size,
            .batch_size = (uint32_t)(GLOBAL_BATCH / r->world_size),
            .tail = STATESAMPLER_TAIL_UNEVEN};

        example_must(statesampler_init(&sources[i].sampler, &desc));
        sources[i].weight = r->num_texts - i;
    }
    example_must(statesampler_mix_init(&r->mixes[rank], sources, r->num_texts,
                                       STATESAMPLER_STOP_ALL));
}

static void run_init(run *r, int files, char **paths)
{
    uint32_t i;

    r->num_texts = (uint32_t)files;
    for (i = 0; i < r->num_texts; i++) {
        text *t = &r->texts[i];

        text_read(t, paths[i]);
        r->samples += (uint64_t)(t->held_out - t->samples);
        r->held_out += (uint64_t)(t->end - t->held_out);
    }
    for (i = 0; i < r->world_size; i++)
        rank_init(r, i);
    r->steps = r->epochs * statesampler_mix_num_turns(&r->mixes[0]);
    r->now.texts = r->num_texts;
    r->now.epochs = r->epochs;
    model_init(&r->now.weights, &r->sources[0][0].sampler);
}

/* --- Checkpoints --------------------------------------------------------- */

static void say_step(const run *r, const char *what)
{
    printf("%s: step %" PRIu64 " of %" PRIu64 ", %.3f epochs\n", what,
           r->now.step, r->steps,
           (double)(r->now.step * r->epochs) / (double)r->steps);
    fflush(stdout);
}

/* Whenever the process is killed, the file is the old one or the new one. */
static void checkpoint_save(run *r)
{
    if (!r->path)
        return;
    example_must(statesampler_mix_save(&r->mixes[0], r->now.mix,
                                       sizeof r->now.mix));
    r->now.hash = statesampler_hash(0, &r->now, offsetof(checkpoint, hash));
    example_file(r->path,
                 statesampler_save_file(r->path, &r->now, sizeof r->now));
    say_step(r, "saved");
}

/* Goes on from the checkpoint, if there is one. Every rank loads the same state
   and keeps its own rank, world size and batch size. */
static void checkpoint_load(run *r)
{
    int code = statesampler_load_file(r->path, &r->now, sizeof r->now, NULL);
    size_t size = statesampler_mix_state_bytes(&r->mixes[0]);
    uint64_t hash, rank;

    if (STATESAMPLER_KIND(code) == STATESAMPLER_ENOFILE)
        return;
    example_file(r->path, code);
    hash = statesampler_hash(0, &r->now, offsetof(checkpoint, hash));
    if (r->now.hash != hash)
        example_fail(1, "%s: the checkpoint is damaged", r->path);
    if (r->now.texts != r->num_texts || r->now.epochs != r->epochs)
        example_fail(1,
                     "%s: the checkpoint is of %" PRIu64 " texts and %" PRIu64
                     " epochs", r->path, r->now.texts, r->now.epochs);
    for (rank = 0; rank < r->world_size; rank++)
        example_file(r->path,
                     statesampler_mix_load(&r->mixes[rank], r->now.mix, size));
    say_step(r, "resumed");
}

/* --- Training ------------------------------------------------------------ */

/* Takes a step. Returns 0 if there was none, as the epoch has ended. */
static int train_step(run *r)
{
    checkpoint *now = &r->now;
    float rate = 1 - (float)now->step / (float)r->steps; /* it falls to 0 */
    uint64_t batch[GLOBAL_BATCH], rank;
    size_t total = 0, count, k;
    uint32_t source;

    /* What each rank does by itself. Its sample k has the position k *
       world_size + rank in the step, and goes there in the array. */
    for (rank = 0; rank < r->world_size; rank++) {
        statesampler_mix *mix = &r->mixes[rank];

        statesampler_mix_next(mix, batch, &count, &source);
        for (k = 0; k < count; k++) {
            trace *s = &r->traces[k * r->world_size + rank];

            forward(s, &now->weights, r->texts[source].samples + batch[k]);
            backward(s, &now->weights);
            /* The audit numbers the samples of all texts as one dataset. */
            batch[k] += statesampler_mix_offset(mix, source);
        }
        statesampler_audit_add(&now->audit, batch, count);
        total += count;
    }
    if (total == 0)
        return 0;

    /* What the ranks do together. The array does not depend on their number. */
    descend(&now->weights, r->traces, total, rate / (float)total);
    for (k = 0; k < total; k++)
        now->loss += r->traces[k].loss;
    now->step++;
    return 1;
}

/* Bits per held-out byte. */
static double held_out_loss(const run *r)
{
    static trace s;
    const unsigned char *at;
    const text *t;
    double bits = 0;

    for (t = r->texts; t < r->texts + r->num_texts; t++) {
        for (at = t->held_out; at < t->end; at++) {
            forward(&s, &r->now.weights, at);
            bits += s.loss;
        }
    }
    return bits / (double)r->held_out;
}

/* The mixes have begun the next epoch. */
static void end_epoch(run *r)
{
    checkpoint *now = &r->now;
    int exact = statesampler_audit_check(&now->audit, r->samples);

    printf("epoch %" PRIu64 ": loss %.3f, held out %.3f bits per byte; audit "
           "%s, %" PRIu64 " of %" PRIu64 " samples\n",
           statesampler_mix_epoch(&r->mixes[0]),
           now->loss / (double)now->audit.count, held_out_loss(r),
           exact ? "ok" : "FAILED", now->audit.count, r->samples);
    now->exact += (uint64_t)exact;
    now->loss = 0;
    memset(&now->audit, 0, sizeof now->audit);
}

static void train(run *r)
{
    while (statesampler_mix_epoch(&r->mixes[0]) < r->epochs) {
        if (!train_step(r))
            end_epoch(r);
        else if (r->now.step % r->every == 0)
            checkpoint_save(r);
    }
    checkpoint_save(r);
}

/* The baseline: bits per held-out byte of a model that predicts a byte from the
   one before it, by counts over the samples, each plus a 16th. */
static double bigram_loss(const run *r)
{
    static double pair[BYTES][BYTES], before[BYTES];
    const unsigned char *at;
    const text *t;
    double bits = 0;

    for (t = r->texts; t < r->texts + r->num_texts; t++) {
        for (at = t->samples; at < t->held_out; at++) {
            pair[at[-1]][*at] += 1;
            before[at[-1]] += 1;
        }
    }
    for (t = r->texts; t < r->texts + r->num_texts; t++) {
        for (at = t->held_out; at < t->end; at++)
            bits -= log2((pair[at[-1]][*at] + 1.0 / 16) /
                         (before[at[-1]] + (double)BYTES / 16));
    }
    return bits / (double)r->held_out;
}

/* --- The program --------------------------------------------------------- */

/* Reads the options. Returns where the files begin. */
static int options_read(run *r, int argc, char **argv)
{
    int at;

    r->world_size = 4;
    r->epochs = 4;
    r->every = 500;
    for (at = 1; at < argc && argv[at][0] == '-'; at += 2) {
        const char *name = argv[at];
        const char *value = at + 1 < argc ? argv[at + 1] : "";

        if (strcmp(name, "--ranks") == 0)
            r->world_size = example_number(value, 1, GLOBAL_BATCH);
        else if (strcmp(name, "--epochs") == 0)
            r->epochs = example_number(value, 1, 100000);
        else if (strcmp(name, "--every") == 0)
            r->every = example_number(value, 1, UINT64_MAX);
        else if (strcmp(name, "--checkpoint") == 0)
            r->path = value;
        else if (strcmp(name, "--weights") == 0)
            r->weights_path = value;
        else
            example_fail(2, "unknown option %s", name);
    }
    if (at >= argc || argc - at > TEXTS)
        example_fail(2, "1 to %d files, please", TEXTS);
    if (GLOBAL_BATCH % r->world_size != 0)
        example_fail(2, "%d samples cannot be divided by %" PRIu64 " ranks",
                     GLOBAL_BATCH, r->world_size);
    return at;
}

int main(int argc, char **argv)
{
    static run r;
    int at;

    example_begin(argc, argv, argc, usage);
    at = options_read(&r, argc, argv);
    run_init(&r, argc - at, argv + at);
    if (r.path)
        checkpoint_load(&r);
    train(&r);
    if (r.weights_path)
        example_file(r.weights_path,
                     statesampler_save_file(r.weights_path, &r.now.weights,
                                            sizeof r.now.weights));
    printf("bigram model: held out %.3f bits per byte\n", bigram_loss(&r));
    printf("sampler: %lu bytes of state\n",
           (unsigned long)statesampler_mix_state_bytes(&r.mixes[0]));
    return example_end(r.now.exact == r.epochs,
                       "each of %" PRIu64 " samples exactly once in %" PRIu64
                       " of %" PRIu64 " epochs",
                       r.samples, r.now.exact, r.epochs);
}
