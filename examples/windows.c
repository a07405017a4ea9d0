/* windows.c - how much window is enough?

       make examples && build/windows FILE FILE...

   Data lies sorted by class, as it often does on disk: each FILE is a class. A
   row has the entropy of the classes in a batch of 64, and the error on lines
   held out of a logistic regression, by triples of bytes, after one epoch and
   after five. A buffer is that of tf.data and WebDataset: once it is full, each
   sample that comes takes the place of one drawn at random.

   Take at least 32 chunks, and as many as memory holds; but such that the last
   window of an epoch is not much smaller (even_window.c). windows.svg has the
   worst case, words of six languages, language by language, in 1,024 chunks
   (make examples/windows.svg draws it, from Debian's lists of words). From 32
   chunks on, batches have 95 % of the entropy that they have after a whole
   shuffle, and the error of the first epoch falls with each doubling. After
   five epochs any window is within 1.1 points of a whole shuffle, as the chunks
   come in a shuffled order.

   A buffer behind files in their own order (tf.data's shuffle) lacks that.
   Behind shuffled chunks (WebDataset's way) a buffer has the entropy of a
   window of twice its size, and the error of one of three times its size; but
   its state is all that it holds, and its order depends on the number of
   readers. CorgiPile (arXiv 2206.05830) and scDataset (arXiv 2506.01883) have
   the theory, and larger models. */
#include <math.h>

#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include "example.h"

enum { LINES = 1 << 19, BYTES = 40, CLASSES = 8, CHUNKS = 1024, BATCH = 64 };

static const char usage[] =
    "usage: windows FILE FILE...\n\n"
    "Compares orders of data that is sorted by class. Each of 2 to 8 FILEs is\n"
    "a class, each line a sample (a long one several), 524,288 at most.\n";

static struct {
    char text[BYTES];
    uint32_t label;
} lines[LINES];
static uint64_t samples, held, order[LINES], buffer[LINES];
static double weight[8192][CLASSES];
static int exact = 1;

/* Every eighth line is held out, and kept at the end. */
static void read_lines(const char *path, uint32_t label)
{
    char text[BYTES] = "";
    uint64_t i;

    example_read(path);
    while (samples + held < LINES && fgets(text, BYTES, stdin) != NULL) {
        i = (samples + held) % 8 == 7 ? LINES - ++held : samples++;
        memcpy(lines[i].text, text, BYTES);
        lines[i].label = label;
    }
    example_read_end(path);
}

/* An epoch, and what a buffer of this size makes of it, if there is one. */
static void fill_order(const statesampler_desc *desc, uint64_t size)
{
    uint64_t in = size, out = 0, i;
    statesampler_audit audit = {0, 0, 0, 0};
    statesampler s;

    example_must(statesampler_init(&s, desc));
    for (i = 0; statesampler_next(&s, order + i, NULL); i += BATCH)
        continue;
    memcpy(buffer, order, size * sizeof buffer[0]);
    while (size > 0) { /* ends: each time one more is out */
        i = statesampler_sample_seed(&s, 0, out) % size;
        order[out++] = buffer[i];
        buffer[i] = in < samples ? order[in++] : buffer[--size];
    }
    statesampler_audit_add(&audit, order, samples);
    exact = exact && statesampler_audit_check(&audit, samples) == 1;
}

/* A step of gradient descent. Returns whether the likeliest class was wrong. */
static int learn(uint64_t line, double rate)
{
    uint32_t found[BYTES], count = 0, last = 0, i, label, best = 0;
    double odds[CLASSES] = {0}, sum = 0;
    const char *at;

    for (at = lines[line].text; *at != 0; at++) {
        last = (last << 8 | (unsigned char)*at) & 0xffffff;
        found[count++] = last * 2654435761u >> 19;
    }
    for (label = 0; label < CLASSES; label++) {
        for (i = 0; i < count; i++)
            odds[label] += weight[found[i]][label];
        sum += odds[label] = exp(odds[label]);
        best = odds[label] > odds[best] ? label : best;
    }
    for (label = 0; label < CLASSES; label++) {
        odds[label] = (label == lines[line].label) - odds[label] / sum;
        for (i = 0; i < count; i++)
            weight[found[i]][label] += rate * odds[label];
    }
    return best != lines[line].label;
}

/* Trains for some epochs at a rate that falls to 0, and returns the error in %.
   Adds n * log2(n) for the n samples of each class in a batch. */
static double train(statesampler_desc desc, uint64_t epochs, uint64_t size,
                    double *sum)
{
    double had[CLASSES], n, left = (double)(samples * epochs), all = left;
    uint64_t i, wrong = 0;

    memset(weight, 0, sizeof weight);
    for (; desc.epoch < epochs; desc.epoch++) {
        fill_order(&desc, size);
        for (i = 0; i < samples; i++) {
            if (i % BATCH == 0)
                memset(had, 0, sizeof had);
            n = had[lines[order[i]].label]++;
            *sum += (n + 1) * log2(n + 1) - (n > 0 ? n * log2(n) : 0);
            learn(order[i], left-- / all / 16);
        }
    }
    for (i = LINES - held; i < LINES; i++)
        wrong += (uint64_t)learn(i, 0);
    return 100. * (double)wrong / (double)held;
}

static void compare(const char *name, uint32_t kind, uint64_t window,
                    uint64_t buffered)
{
    const uint64_t chunk = samples / CHUNKS;
    const statesampler_desc desc = {
        .num_samples = samples,
        .batch_size = BATCH,
        .order = kind,
        .chunk_size = chunk,
        .window = window,
    };
    double sum = 0, error = train(desc, 1, buffered * chunk, &sum);
    double bits = log2((double)BATCH) - sum / (double)samples;

    printf("%-16s %3d  %6.3f bits  %5.2f %%  %5.2f %%\n", name,
           (int)(buffered > 0 ? buffered : window), bits, error,
           train(desc, 5, buffered * chunk, &sum));
}

int main(int argc, char **argv)
{
    uint64_t w;
    int i;

    example_begin(argc, argv, CLASSES, usage);
    for (i = 1; i < argc; i++)
        read_lines(argv[i], (uint32_t)i - 1);
    if (argc < 3 || samples < CHUNKS)
        example_fail(2, "two FILEs and 1,171 lines are needed");
    compare("as it lies", STATESAMPLER_ORDER_SEQUENTIAL, 0, 0);
    for (w = 1; w <= 256; w *= 2) {
        compare("buffer", STATESAMPLER_ORDER_SEQUENTIAL, 0, w);
        compare("buffer of chunks", STATESAMPLER_ORDER_WINDOW, 1, w);
        compare("WINDOW", STATESAMPLER_ORDER_WINDOW, w, 0);
    }
    compare("whole shuffle", STATESAMPLER_ORDER_SHUFFLE, 0, 0);
    return example_end(exact, "each order has each of %d samples once",
                       (int)samples);
}
