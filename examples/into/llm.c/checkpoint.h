/* checkpoint.h - weights, AdamW's moments, the step and the place in the data
   in one file, which a kill leaves whole, old or new. Copy it with
   dataloader.h. It needs POSIX (with -std=c99 also -D_POSIX_C_SOURCE=200809L)
   and little-endian numbers, as llm.c does.

   The file is one of llm.c's models, version 3, so gpt2_build_from_checkpoint
   reads it, with more behind the weights: both moments. In its header, 256
   int32, the numbers 8 to 37 are ours: 20260101, the step, and the 112 bytes of
   a state. */
#ifndef CHECKPOINT_H
#define CHECKPOINT_H

#include "dataloader.h"

#define CHECKPOINT_MARK 20260101

typedef struct checkpoint {
    int32_t header[256];
    size_t count; /* of weights */
} checkpoint;

/* Reads a checkpoint or a model of llm.c's, with `count` weights, and sends the
   loader to its place. *m and *v may be NULL: they are then allocated, for
   gpt2_free to free. Returns how many steps are done. A model has no place:
   then the loader stays at the start of its epoch, and a line says so. */
static inline int checkpoint_load(checkpoint *c, const char *path,
                                  DataLoader *loader, float **m, float **v,
                                  size_t count)
{
    FILE *file = fopen(path, "rb");
    int code;

    dataloader_check_(file != NULL, path, "it cannot be opened");
    dataloader_check_(fread(c->header, sizeof c->header, 1, file) == 1 &&
                          c->header[0] == 20240326 && c->header[1] == 3,
                      path, "it is no model of version 3");
    c->count = count;
    if (c->header[8] != CHECKPOINT_MARK) {
        fclose(file);
        printf("checkpoint.h: %s has weights only: this begins at the start of "
               "epoch %d\n",
               path, (int)statesampler_epoch(&loader->sampler));
        return 0;
    }
    code = statesampler_load(&loader->sampler, c->header + 10,
                             STATESAMPLER_STATE_BYTES);
    dataloader_check_(code >= 0, path, statesampler_error(code));
    *m = *m != NULL ? *m : (float *)malloc(count * sizeof(float));
    *v = *v != NULL ? *v : (float *)malloc(count * sizeof(float));
    dataloader_check_(*m != NULL && *v != NULL, path, "not enough memory");
    code = fseek(file, (long)(count * sizeof(float)), SEEK_CUR) == 0 &&
           fread(*m, sizeof(float), count, file) == count &&
           fread(*v, sizeof(float), count, file) == count && getc(file) == EOF;
    fclose(file);
    dataloader_check_(code, path, "it has another number of weights");
    return c->header[9];
}

/* Saves after a step. c is from checkpoint_load: it has the model's shape. */
static inline void checkpoint_save(checkpoint *c, const char *path,
                                   const DataLoader *loader, int steps,
                                   const float *weights, const float *m,
                                   const float *v)
{
    char name[1024];
    FILE *file;
    int good;

    dataloader_check_(path != NULL, "checkpoint_save", "it has no path");
    dataloader_check_(snprintf(name, sizeof name, "%s.new", path) <
                          (int)sizeof name,
                      path, "the name is too long");
    c->header[8] = CHECKPOINT_MARK;
    c->header[9] = steps;
    statesampler_save(&loader->sampler, c->header + 10,
                      STATESAMPLER_STATE_BYTES);
    file = fopen(name, "wb");
    good = file != NULL && fwrite(c->header, sizeof c->header, 1, file) == 1 &&
           fwrite(weights, sizeof(float), c->count, file) == c->count &&
           fwrite(m, sizeof(float), c->count, file) == c->count &&
           fwrite(v, sizeof(float), c->count, file) == c->count &&
           fflush(file) == 0 && fsync(fileno(file)) == 0;
    good = file != NULL && fclose(file) == 0 && good;
    dataloader_check_(good && rename(name, path) == 0, name,
                      "it cannot be written");
}

#endif
