/* dataloader.h - llm.c's DataLoader with an exact resume, on any number of
   processes. It stands in the place of llmc/dataloader.h; put statesampler.h
   beside it. Names and arguments are llm.c's, and an error ends the program. It
   needs POSIX.

   A sequence is T tokens and the token after them. The sequences of all shards
   are shuffled together, for all processes; with should_shuffle 0 they come in
   order. After an epoch the next one follows inside the batch. So none is left
   out or repeated, whatever the lengths of the shards, B and num_processes: a
   shard only loses the tokens at its end that make no whole sequence. Row j of
   process r is sequence j * num_processes + r of a step. */
#ifndef DATALOADER_H
#define DATALOADER_H

#define STATESAMPLER_STATIC
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define DATALOADER_SEED 42    /* the same for all processes */
#define DATALOADER_BYTES 1024 /* int32: 20240520, 1, the number of tokens */

typedef struct DataLoader {
    int process_rank, num_processes;
    size_t B, T, num_tokens; /* num_tokens: of all shards */
    int *inputs, *targets;   /* B rows of T tokens */
    glob_t glob_result;
    int32_t **shards;    /* mapped: header and tokens */
    uint64_t *starts;    /* the first sequence of each shard; of all */
    uint64_t *sequences; /* of a batch */
    statesampler sampler;
} DataLoader;

static inline void dataloader_check_(int good, const char *name,
                                     const char *what)
{
    if (!good) {
        fprintf(stderr, "dataloader.h: %s: %s\n", name, what);
        exit(EXIT_FAILURE);
    }
}

static inline int32_t *dataloader_map_(const char *name)
{
    int file = open(name, O_RDONLY);
    off_t bytes = file < 0 ? -1 : lseek(file, 0, SEEK_END);
    int32_t *shard;
    void *map;

    dataloader_check_(bytes >= 0, name, "it cannot be opened");
    map = mmap(NULL, (size_t)bytes, PROT_READ, MAP_SHARED, file, 0);
    close(file);
    shard = (int32_t *)map;
    dataloader_check_(map != MAP_FAILED && bytes > DATALOADER_BYTES &&
                          shard[0] == 20240520 && shard[1] == 1 &&
                          shard[2] > 0 &&
                          bytes - DATALOADER_BYTES == 2 * (off_t)shard[2],
                      name, "it is no shard of tokens, or is cut off");
    return shard;
}

static inline void dataloader_init(DataLoader *loader,
                                   const char *filename_pattern, size_t B,
                                   size_t T, int process_rank,
                                   int num_processes, int should_shuffle)
{
    statesampler_desc desc;
    uint32_t tokens;
    size_t i, shards;
    int code;

    memset(loader, 0, sizeof *loader);
    memset(&desc, 0, sizeof desc);
    /* T ints must have a size, also where size_t has 32 bits. */
    dataloader_check_(B - 1 < INT32_MAX && T - 1 < INT32_MAX / sizeof(int),
                      "dataloader_init", "B and T are 1 or more");
    dataloader_check_(num_processes > 0, "dataloader_init",
                      "num_processes is 1 or more");
    dataloader_check_(glob(filename_pattern, 0, NULL, &loader->glob_result) ==
                          0,
                      filename_pattern, "there are no such files");
    shards = loader->glob_result.gl_pathc;
    loader->process_rank = process_rank;
    loader->num_processes = num_processes;
    loader->B = B;
    loader->T = T;
    loader->inputs = (int *)calloc(B, T * sizeof(int));
    loader->targets = (int *)calloc(B, T * sizeof(int));
    loader->sequences = (uint64_t *)calloc(B, 8);
    loader->starts = (uint64_t *)calloc(shards + 1, 8);
    loader->shards = (int32_t **)calloc(shards, sizeof(void *));
    dataloader_check_(loader->inputs && loader->targets && loader->sequences &&
                          loader->shards && loader->starts,
                      "dataloader_init", "there is not enough memory");
    for (i = 0; i < shards; i++) {
        loader->shards[i] = dataloader_map_(loader->glob_result.gl_pathv[i]);
        tokens = (uint32_t)loader->shards[i][2];
        loader->num_tokens += tokens;
        loader->starts[i + 1] = loader->starts[i] + (tokens - 1) / T;
        desc.stream = statesampler_hash(desc.stream, &tokens, sizeof tokens);
        desc.stream =
            statesampler_hash(desc.stream,
                              loader->shards[i] + DATALOADER_BYTES / 4,
                              2 * (size_t)(tokens < 128 ? tokens : 128));
    }
    desc.num_samples = loader->starts[shards];
    desc.seed = DATALOADER_SEED;
    desc.rank = (uint32_t)process_rank;
    desc.world_size = (uint32_t)num_processes;
    desc.batch_size = (uint32_t)B;
    desc.order = should_shuffle ? STATESAMPLER_ORDER_SHUFFLE
                                : STATESAMPLER_ORDER_SEQUENTIAL;
    desc.tail = STATESAMPLER_TAIL_CARRY;
    code = statesampler_init(&loader->sampler, &desc);
    dataloader_check_(code >= 0, filename_pattern, statesampler_error(code));
}

static inline void dataloader_next_batch(DataLoader *loader)
{
    size_t T = loader->T, row, k, t;

    statesampler_next(&loader->sampler, loader->sequences, NULL);
    for (row = 0; row < loader->B; row++) {
        const uint64_t sequence = loader->sequences[row];
        const uint16_t *tokens;

        for (k = 0; sequence >= loader->starts[k + 1]; k++)
            continue; /* the last shard ends above every sequence */
        tokens = (const uint16_t *)(loader->shards[k] + DATALOADER_BYTES / 4) +
                 (sequence - loader->starts[k]) * T;
        for (t = 0; t < T; t++) {
            loader->inputs[row * T + t] = tokens[t];
            loader->targets[row * T + t] = tokens[t + 1];
        }
    }
}

/* Back to the first batch of epoch 0. */
static inline void dataloader_reset(DataLoader *loader)
{
    statesampler_begin(&loader->sampler, 0);
}

static inline void dataloader_free(DataLoader *loader)
{
    size_t i;

    for (i = 0; i < loader->glob_result.gl_pathc; i++)
        munmap(loader->shards[i],
               DATALOADER_BYTES + 2 * (size_t)loader->shards[i][2]);
    free(loader->inputs);
    free(loader->targets);
    free(loader->sequences);
    free(loader->shards);
    free(loader->starts);
    globfree(&loader->glob_result);
}

#endif
