/* bigrams.c - trains on token shards of unequal length by dataloader.h, and
   saves by checkpoint.h, as llm.c's train_gpt2.c can.

       cc -O2 -I. -o build/bigrams examples/into/llm.c/bigrams.c -lm
       build/bigrams FILE [PROCESSES]

   A step has 8 sequences, which 1, 2, 4 or 8 processes share; here one process
   does the work of all. Kill it and start it again with another number of
   processes: the losses and weights stay the same to the bit. */
#define _POSIX_C_SOURCE 200809L
#include "dataloader.h"
#include "checkpoint.h"
#include <inttypes.h>
#include <math.h>
#include <time.h>
#include "../../example.h"

#define TOKENS 32 /* kinds of tokens */
#define COUNT (TOKENS * TOKENS)
#define LENGTH 16
#define ROWS 8
#define STEPS 300

static const char usage[] =
    "usage: bigrams FILE [PROCESSES]\n\n"
    "Trains 300 steps on 1, 2, 4 or 8 PROCESSES, saving to FILE after each.\n"
    "Its shards and its new model are FILE.0 to FILE.4 and FILE.model.\n";

static float weights[COUNT], grads[COUNT];
static checkpoint saved;

static void write_file(const char *name, const int32_t *header,
                       const void *rest, size_t bytes)
{
    FILE *file = fopen(name, "wb");

    if (file == NULL || fwrite(header, 1024, 1, file) != 1 ||
        fwrite(rest, bytes, 1, file) != 1 || fclose(file) != 0)
        example_fail(1, "%s: %s", name, strerror(errno));
}

/* A model of llm.c's, with all weights 0, and shards of a language in which a
   token follows from the one before by two rules. */
static void make_data(const char *path)
{
    static const int32_t tokens[] = {1000, 2777, 16, 641, 500};
    static uint16_t text[2777];
    int32_t model[256] = {20240326, 3, LENGTH, TOKENS, 0, 0, 0, TOKENS};
    int32_t shard[256] = {20240520, 1, 0};
    char name[1100];
    int32_t i, k;

    snprintf(name, sizeof name, "%s.model", path);
    write_file(name, model, weights, sizeof weights);
    for (k = 0; k < 5; k++) {
        shard[2] = tokens[k];
        for (i = 1, text[0] = (uint16_t)k; i < tokens[k]; i++)
            text[i] = (uint16_t)((text[i - 1] * 5 + 7 + (i * i + k) % 11 / 8) %
                                 TOKENS);
        snprintf(name, sizeof name, "%s.%d", path, (int)k);
        write_file(name, shard, text, 2 * (size_t)tokens[k]);
    }
}

/* Adds a sequence's gradient, and returns its loss. */
static float learn(const DataLoader *loader, int row)
{
    float loss = 0;
    int t, k;

    for (t = row * LENGTH; t < (row + 1) * LENGTH; t++) {
        const int from = loader->inputs[t] * TOKENS, to = loader->targets[t];
        float sum = 0;
        for (k = 0; k < TOKENS; k++)
            sum += expf(weights[from + k]);
        for (k = 0; k < TOKENS; k++)
            grads[from + k] +=
                expf(weights[from + k]) / sum - (k == to ? 1.0f : 0.0f);
        loss += logf(sum) - weights[from + to];
    }
    return loss / LENGTH;
}

/* Adam, without weight decay. */
static void update(float *m, float *v, int steps)
{
    int i;

    for (i = 0; i < COUNT; i++) {
        float grad = grads[i] / (ROWS * LENGTH);
        m[i] = 0.9f * m[i] + 0.1f * grad;
        v[i] = 0.99f * v[i] + 0.01f * grad * grad;
        weights[i] -= 0.1f * m[i] / (1 - powf(0.9f, (float)steps)) /
                      (sqrtf(v[i] / (1 - powf(0.99f, (float)steps))) + 1e-8f);
    }
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : "-", *from = path;
    int processes = argc > 2 ? atoi(argv[2]) : 1, steps = 0, r, i;
    float loss = 0, *m = NULL, *v = NULL;
    DataLoader loaders[ROWS];
    char name[1100], pattern[1100];
    clock_t start;
    FILE *file;

    example_begin(argc, argv, 2, usage);
    if (path[0] == '-' || strlen(path) > 1000)
        example_fail(2, "'%.99s' is no FILE", path);
    if (processes < 1 || processes > ROWS || ROWS % processes != 0)
        example_fail(2, "'%s' is not 1, 2, 4 or 8 processes", argv[2]);
    snprintf(name, sizeof name, "%s.model", path);
    snprintf(pattern, sizeof pattern, "%s.[0-4]", path);
    if (access(path, F_OK) != 0) {
        make_data(path);
        from = name;
    }
    setvbuf(stdout, NULL, _IOLBF, 0); /* what is printed outlives a kill */
    start = clock();
    for (r = 0; r < processes; r++) {
        dataloader_init(&loaders[r], pattern, (size_t)(ROWS / processes),
                        LENGTH, r, processes, 1);
        steps = checkpoint_load(&saved, from, &loaders[r], &m, &v, COUNT);
    }
    printf("%d steps are done, ready after %.0f us\n", steps,
           (double)(clock() - start) * 1e6 / CLOCKS_PER_SEC);
    file = fopen(from, "rb"); /* llm.c's gpt2_build_from_checkpoint does this */
    if (file == NULL || fseek(file, 1024, SEEK_SET) != 0 ||
        fread(weights, sizeof weights, 1, file) != 1 || fclose(file) != 0)
        example_fail(1, "%s: %s", from, strerror(errno));
    m = m != NULL ? m : (float *)calloc(COUNT, sizeof(float));
    v = v != NULL ? v : (float *)calloc(COUNT, sizeof(float));
    for (; steps < STEPS; steps++) {
        memset(grads, 0, sizeof grads);
        for (r = 0; r < processes; r++)
            dataloader_next_batch(&loaders[r]);
        for (loss = 0, i = 0; i < ROWS; i++) /* in the order of the epoch */
            loss += learn(&loaders[i % processes], i / processes);
        update(m, v, steps + 1);
        printf("step %d: train loss %.9f\n", steps, (double)(loss / ROWS));
        checkpoint_save(&saved, path, &loaders[0], steps + 1, weights, m, v);
    }
    for (r = 0; r < processes; r++)
        dataloader_free(&loaders[r]);
    free(m);
    free(v);
    return example_end(1, "%d steps made the weights %016" PRIx64, STEPS,
                       statesampler_hash(0, weights, sizeof weights));
}
