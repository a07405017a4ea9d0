/* train_text.c - a small language model that survives being killed.

       make examples && build/train_text 4 checkpoint README.md

   It learns to predict the next byte of a text from the four before it. Each
   file is a dataset; the datasets take turns by weight. All of a run that must
   outlive the process is in one struct, which is saved three times an epoch,
   and the next start goes on from there. `make demo` kills it.

   A run ends with the same weights, bit for bit, on any number of ranks, for
   two reasons. A step has the same samples however many ranks share them. And
   their gradients are added in the order of positions, so that floating point
   rounds in the same way. Here the ranks of a data-parallel job are simulated
   one after the other. For processes, and real work, see examples/trainer. */
#define STATESAMPLER_IMPLEMENTATION
#define STATESAMPLER_HOSTED
#include "statesampler.h"
#include "example.h"

#include <math.h>
#include <stddef.h>

#define EPOCHS 6
#define TEXTS 16u
#define BATCH 48u  /* samples in a step, over all ranks */
#define CONTEXT 4u /* bytes that the model sees */
#define ROWS 2048u /* of its weights */
#define BYTES 256u /* that may be next */

static const char usage[] =
    "usage: train_text RANKS CHECKPOINT FILE...\n\n"
    "Trains a small model for 6 epochs to predict the next byte of up to 16\n"
    "files of 4 MB, on data-parallel ranks simulated in this process.\n"
    "Files take turns by weight: of three files, 3 : 2 : 1. The last tenth of\n"
    "each is held out. If CHECKPOINT is there, the run goes on from it.\n";

/* A sample is a byte that has a whole context and is not held out. */
typedef struct text {
    unsigned char bytes[4 << 20];
    size_t held_out; /* where the last tenth begins; training never sees it */
    size_t size;
} text;

/* All of a run that must outlive the process. */
typedef struct checkpoint {
    float weights[ROWS][BYTES];
    unsigned char mix[STATESAMPLER_MIX_STATE_BYTES(TEXTS)]; /* at most */
    statesampler_audit audit; /* of this epoch, all ranks */
    uint64_t hash;            /* of all fields above */
} checkpoint;

static text texts[TEXTS];
static uint32_t num_texts, world_size;
static statesampler_source sources[BATCH][TEXTS];
static statesampler_mix mixes[BATCH]; /* one for each rank */
static checkpoint now;
static uint32_t pairs[BYTES][BYTES], firsts[BYTES]; /* of the bigram model */

/* --- The model ------------------------------------------------------------ */

/* The last `length` bytes have a row of weights: a score for each byte that may
   be next. Those with the same hash share one. */
static float *row_of(const unsigned char *next, size_t length)
{
    return now.weights[statesampler_hash(0, next - length, length) % ROWS];
}

/* Adds the rows of the last byte, the last two and so on. Sets the gradient of
   the loss: the predicted distribution minus the true one. Returns the loss in
   bits. */
static double predict(const unsigned char *next, float *gradient)
{
    float sum = 0;
    double loss;
    size_t length, i;

    memset(gradient, 0, BYTES * sizeof *gradient);
    for (length = 1; length <= CONTEXT; length++) {
        const float *row = row_of(next, length);

        for (i = 0; i < BYTES; i++)
            gradient[i] += row[i];
    }
    for (i = 0; i < BYTES; i++)
        sum += gradient[i] = expf(gradient[i]);
    loss = log2((double)sum / (double)gradient[*next]);
    for (i = 0; i < BYTES; i++)
        gradient[i] /= sum;
    gradient[*next] -= 1;
    return loss;
}

static void learn(const unsigned char *next, const float *gradient)
{
    size_t length, i;

    for (length = 1; length <= CONTEXT; length++) {
        float *row = row_of(next, length);

        for (i = 0; i < BYTES; i++)
            row[i] -= gradient[i] / 32;
    }
}

/* Prints the bits per held-out byte of the model, and of a bigram model, which
   predicts a byte from the one before it, by the counts of pairs, each plus a
   16th. */
static void evaluate(void)
{
    float gradient[BYTES];
    double model = 0, bigram = 0, count = 0;
    const text *t;
    size_t i;

    for (t = texts; t < texts + num_texts; t++) {
        for (i = t->held_out; i < t->size; i++) {
            const unsigned char first = t->bytes[i - 1];

            model += predict(t->bytes + i, gradient);
            bigram += log2((firsts[first] + BYTES / 16.) /
                           (pairs[first][t->bytes[i]] + 1 / 16.));
            count++;
        }
    }
    printf("held out: %.3f bits per byte, a bigram model has %.3f\n",
           model / count, bigram / count);
}

/* --- The run -------------------------------------------------------------- */

static void read_text(const char *path)
{
    text *t = &texts[num_texts++];
    size_t i;

    example_file(path, statesampler_load_file(path, t->bytes, sizeof t->bytes,
                                              &t->size));
    if (t->size < 1000)
        example_fail(1, "%s: too short to train on", path);
    t->held_out = t->size - t->size / 10;
    for (i = CONTEXT; i < t->held_out; i++) {
        firsts[t->bytes[i - 1]]++;
        pairs[t->bytes[i - 1]][t->bytes[i]]++;
    }
}

/* The stream of a text is its hash, so that a state of other texts is refused.
   UNEVEN and ALL: every sample comes once in an epoch. The last step of a text
   is shorter, and may be empty on some ranks. */
static void begin_rank(uint32_t rank)
{
    uint32_t i;

    for (i = 0; i < num_texts; i++) {
        const statesampler_desc desc = {
            .num_samples = texts[i].held_out - CONTEXT,
            .stream = statesampler_hash(0, texts[i].bytes, texts[i].size),
            .rank = rank,
            .world_size = world_size,
            .batch_size = BATCH / world_size,
            .tail = STATESAMPLER_TAIL_UNEVEN,
        };

        example_must(statesampler_init(&sources[rank][i].sampler, &desc));
        sources[rank][i].weight = num_texts - i;
    }
    example_must(statesampler_mix_init(&mixes[rank], sources[rank], num_texts,
                                       STATESAMPLER_STOP_ALL));
}

static void say(const char *what)
{
    printf("%s: %.3f of %d epochs\n", what,
           (double)statesampler_mix_epoch(mixes) +
               (double)statesampler_mix_turn(mixes) /
                   (double)statesampler_mix_num_turns(mixes),
           EPOCHS);
    fflush(stdout);
}

/* Whenever the process is killed, the file is the old one or the new one. */
static void save(const char *path)
{
    example_must(statesampler_mix_save(mixes, now.mix, sizeof now.mix));
    now.hash = statesampler_hash(0, &now, offsetof(checkpoint, hash));
    example_file(path, statesampler_save_file(path, &now, sizeof now));
    say("saved");
}

/* Goes on from the checkpoint, if there is one. Every rank loads the same state
   and keeps its own rank, world size and batch size. */
static void load(const char *path)
{
    int code = statesampler_load_file(path, &now, sizeof now, NULL);
    size_t size = statesampler_mix_state_bytes(mixes);
    uint32_t rank;

    if (STATESAMPLER_KIND(code) == STATESAMPLER_ENOFILE)
        return;
    example_file(path, code);
    if (now.hash != statesampler_hash(0, &now, offsetof(checkpoint, hash)))
        example_fail(1, "%s: the checkpoint is damaged", path);
    for (rank = 0; rank < world_size; rank++)
        example_file(path, statesampler_mix_load(&mixes[rank], now.mix, size));
    say("resumed");
}

/* Takes a step, which has no samples if the epoch ends. */
static void train_step(void)
{
    static float gradients[BATCH][BYTES];
    const unsigned char *samples[BATCH]; /* the bytes to predict */
    uint64_t batch[BATCH];
    size_t total = 0, count, k;
    uint32_t rank, source;

    /* What each rank does by itself. Its sample k has the position k *
       world_size + rank in the step. */
    for (rank = 0; rank < world_size; rank++) {
        statesampler_mix_next(&mixes[rank], batch, &count, &source);
        for (k = 0; k < count; k++) {
            size_t at = k * world_size + rank;

            samples[at] = texts[source].bytes + CONTEXT + batch[k];
            predict(samples[at], gradients[at]);
            /* The audit numbers the samples of all texts as one dataset. */
            batch[k] += statesampler_mix_offset(mixes, source);
        }
        statesampler_audit_add(&now.audit, batch, count);
        total += count;
    }

    /* What the ranks do together. */
    for (k = 0; k < total; k++)
        learn(samples[k], gradients[k]);
}

/* The mixes have begun the next epoch. */
static void end_epoch(void)
{
    if (!statesampler_audit_check(&now.audit,
                                  statesampler_mix_offset(mixes, num_texts)))
        example_fail(1, "FAILED, an epoch must have each sample exactly once");
    memset(&now.audit, 0, sizeof now.audit);
    evaluate();
}

static void train(const char *path)
{
    uint64_t epoch = statesampler_mix_epoch(mixes);
    uint64_t quarter = statesampler_mix_num_turns(mixes) / 4 + 1;

    while (epoch < EPOCHS) {
        train_step();
        if (statesampler_mix_epoch(mixes) != epoch) {
            epoch++;
            end_epoch();
        } else if (statesampler_mix_turn(mixes) % quarter == 0) {
            save(path);
        }
    }
    save(path);
}

int main(int argc, char **argv)
{
    uint32_t rank;
    int i;

    example_begin(argc, argv, 2 + TEXTS, usage);
    if (argc < 4)
        example_fail(2, "a FILE is missing after '%s'", argv[argc - 1]);
    world_size = (uint32_t)example_number(argv[1], 1, BATCH);
    if (BATCH % world_size != 0)
        example_fail(2, "48 samples cannot be divided among %s ranks", argv[1]);
    for (i = 3; i < argc; i++)
        read_text(argv[i]);
    for (rank = 0; rank < world_size; rank++)
        begin_rank(rank);
    load(argv[2]);
    train(argv[2]);
    printf("weights: %016" PRIx64 "\n",
           statesampler_hash(0, now.weights, sizeof now.weights));
    return example_end(1,
                       "each of %" PRIu64 " samples exactly once in each of "
                       "%d epochs, %d bytes of sampler state",
                       statesampler_mix_offset(mixes, num_texts), EPOCHS,
                       (int)statesampler_mix_state_bytes(mixes));
}
