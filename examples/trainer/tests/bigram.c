/* bigram.c - the yardstick of `make trainer-bench`: bits per byte that a
   bigram needs for the held-out sequences, its smoothing tuned on these very
   sequences. Arguments: as the trainer's. */
#include "config.h"
#include "text.h"

#include <math.h>
#include <stdio.h>

static double pair[256][256], first[256], single[256], all;

static void count(const text *t)
{
    uint64_t i, k;
    uint32_t f;

    for (f = 0; f < t->num_files; f++)
        for (i = 0; i < t->files[f].train; i++) {
            const unsigned char *bytes = text_train(t, f, i);

            for (k = 0; k + 1 < t->length; k++) {
                pair[bytes[k]][bytes[k + 1]]++;
                first[bytes[k]]++;
                single[bytes[k + 1]]++;
                all++;
            }
        }
}

/* A byte is expected as often as it followed the one before, and `weight` times
   as often as it stands anywhere. */
static double bits(const text *t, double weight)
{
    double sum = 0;
    uint64_t i, k;

    for (i = 0; i < t->held; i++) {
        const unsigned char *bytes = text_held(t, i);

        for (k = 0; k + 1 < t->length; k++) {
            const unsigned char a = bytes[k], b = bytes[k + 1];

            sum -= log2((pair[a][b] + weight * (single[b] + 1) / (all + 256)) /
                        (first[a] + weight));
        }
    }
    return sum / (double)(t->held * (t->length - 1));
}

int main(int argc, char **argv)
{
    static struct trainer_config config;
    static text t;
    double best = 1e9, weight;
    int i, good = 1;

    config = config_defaults;
    for (i = 1; i < argc && good; i++)
        good = config_override(&config, argv[i]);
    if (!good || *text_open(&t, &config)) {
        fprintf(stderr, "%s\n", good ? "no text" : config.error);
        return 1;
    }
    count(&t);
    for (weight = 1.0 / 64; weight < 1e5; weight *= 1.25)
        best = fmin(best, bits(&t, weight));
    printf("%.4f\n", best);
    return 0;
}
