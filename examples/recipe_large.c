/* recipe_large.c - a checkpoint that is too large to be copied into one buffer.

       make examples && build/recipe_large FILE

   The weights are written to FILE.0 and FILE.1, which take turns. FILE itself
   is small: the sampler's state, and which of the two has the weights. It is
   written last, by statesampler_save_file. So a crash at any instant leaves
   the old checkpoint or the new one: what a save writes to, no checkpoint
   names yet. Kill it and start it again: it goes on. (Where several processes
   read FILE, put a barrier between their loads and the first save.) */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <stdio.h>
#ifdef _WIN32
#include <io.h>
#define fsync _commit
#define fileno _fileno
#else
#include <unistd.h>
#endif

#define STATESAMPLER_IMPLEMENTATION
#define STATESAMPLER_HOSTED
#include "statesampler.h"
#include "example.h"

#define LAYERS 4
#define WIDTH 65536u

static const char usage[] =
    "usage: recipe_large FILE\n\n"
    "Trains three epochs and saves after every step, to FILE, FILE.0 and\n"
    "FILE.1. Kill it and start it again: it goes on.\n";

typedef struct checkpoint {
    unsigned char sampler[STATESAMPLER_STATE_BYTES];
    uint64_t which, check; /* FILE.0 or FILE.1; a hash of the weights */
} checkpoint;

/* Yours: they may be anywhere, also on another device. */
static uint32_t weights[LAYERS][WIDTH];

static uint64_t hash_layer(uint64_t hash, uint32_t layer)
{
    size_t i;

    for (i = 0; i < WIDTH; i++)
        hash = (hash ^ weights[layer][i]) * 1099511628211u;
    return hash;
}

/* Opens FILE.0 or FILE.1. To write, it makes the file if there is none, so that
   it is there after a power cut too. NULL: errno says why; it also refuses a
   path for which both names would be cut to one. */
static FILE *open_weights(const char *path, uint64_t which, int write)
{
    char name[4096];
    FILE *file;

    if (strlen(path) + sizeof ".0" > sizeof name) {
        errno = ENAMETOOLONG;
        return NULL;
    }
    snprintf(name, sizeof name, "%s.%d", path, (int)which);
    file = fopen(name, write ? "r+b" : "rb");
    if (file == NULL && write &&
        statesampler_save_file(name, NULL, 0) == STATESAMPLER_OK)
        file = fopen(name, "r+b");
    return file;
}

/* Writes the weights to the file that the checkpoint on disk does not name, has
   them flushed to disk, and then names that file. Reading the name each time
   keeps this right after a save that failed, too. */
static int save(const char *path, const statesampler *s)
{
    checkpoint now = {{0}, 0, 0};
    FILE *file;
    uint32_t k;
    int good, code = statesampler_load_file(path, &now, sizeof now, NULL);

    if (code != STATESAMPLER_OK &&
        STATESAMPLER_KIND(code) != STATESAMPLER_ENOFILE)
        return code;
    now.which ^= 1;
    now.check = 0;
    file = open_weights(path, now.which, 1);
    if (file == NULL)
        return STATESAMPLER_EIO;
    for (k = 0, good = 1; good && k < LAYERS; k++) {
        now.check = hash_layer(now.check, k);
        good = fwrite(weights[k], sizeof weights[k], 1, file) == 1;
    }
    good = good && fflush(file) == 0 && fsync(fileno(file)) == 0;
    if (fclose(file) != 0 || !good)
        return STATESAMPLER_EIO;
    code = statesampler_save(s, now.sampler, sizeof now.sampler);
    return code == STATESAMPLER_OK
               ? statesampler_save_file(path, &now, sizeof now)
               : code;
}

/* ENOFILE: there is no checkpoint yet. */
static int load(const char *path, statesampler *s)
{
    checkpoint now;
    FILE *file;
    uint64_t check = 0;
    uint32_t k;
    int code = statesampler_load_file(path, &now, sizeof now, NULL);

    if (code != STATESAMPLER_OK)
        return code;
    file = open_weights(path, now.which, 0);
    for (k = 0; file != NULL && k < LAYERS; k++) {
        if (fread(weights[k], sizeof weights[k], 1, file) != 1)
            break;
        check = hash_layer(check, k);
    }
    if (file == NULL || ferror(file))
        example_fail(1, "%s.%d: %s", path, (int)now.which, strerror(errno));
    fclose(file);
    return k == LAYERS && check == now.check
               ? statesampler_load(s, now.sampler, sizeof now.sampler)
               : STATESAMPLER_ECORRUPT;
}

/* --- The rest of the program --------------------------------------------- */

static uint64_t batch[16];

static void train(size_t count)
{
    size_t i;

    for (i = 0; i < count; i++) {
        uint32_t *weight = &weights[batch[i] % LAYERS][batch[i] * 641 % WIDTH];
        *weight = (*weight ^ (uint32_t)batch[i]) * 2654435761u + 1;
    }
}

/* Trains to the end; with a path it saves after each step. Returns a hash of
   the weights. */
static uint64_t run(statesampler *s, const char *path)
{
    uint64_t hash = 0;
    size_t count;
    uint32_t k;

    while (statesampler_epoch(s) < 3) {
        if (statesampler_next(s, batch, &count))
            train(count);
        if (path != NULL) {
            printf("epoch %d step %2d\n", (int)statesampler_epoch(s),
                   (int)statesampler_step(s));
            fflush(stdout);
            example_file(path, save(path, s));
        }
    }
    for (k = 0; k < LAYERS; k++)
        hash = hash_layer(hash, k);
    return hash;
}

int main(int argc, char **argv)
{
    const statesampler_desc desc = {
        .num_samples = 1000,
        .seed = 42,
        .batch_size = 16,
    };
    uint64_t resumed, whole;
    statesampler s;
    int code;

    example_begin(argc, argv, 1, usage);
    if (argc < 2)
        example_fail(2, "FILE is missing");
    if (argv[1][0] == '-')
        example_fail(2, "'%.99s' is not a FILE", argv[1]);
    example_must(statesampler_init(&s, &desc));
    code = load(argv[1], &s);
    if (STATESAMPLER_KIND(code) != STATESAMPLER_ENOFILE)
        example_file(argv[1], code);
    resumed = run(&s, argv[1]);

    memset(weights, 0, sizeof weights);
    example_must(statesampler_init(&s, &desc));
    whole = run(&s, NULL);
    return example_end(resumed == whole,
                       "weights %016" PRIx64 ", as of a run "
                       "that was never killed",
                       resumed);
}
