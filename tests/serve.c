/* serve.c - a rank's samples as a program in C serves them, a line each, for
   the tests of those that have its states.

       serve NAME=NUMBER... [FILE]

   The names are those of statesampler_desc, and steps: how many, in any number
   of epochs, instead of all of one epoch. It goes on from FILE, if there is
   one, and saves its state there. */
#define STATESAMPLER_HOSTED
#include "statesampler.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 100000

static statesampler_desc desc = {.world_size = 1, .batch_size = 1};
static uint64_t steps, batch[MOST];

static const struct {
    const char *name;
    uint64_t *wide;
    uint32_t *narrow;
} fields[] = {
    {"num_samples", &desc.num_samples, NULL},
    {"seed", &desc.seed, NULL},
    {"epoch", &desc.epoch, NULL},
    {"chunk_size", &desc.chunk_size, NULL},
    {"window", &desc.window, NULL},
    {"steps", &steps, NULL},
    {"order", NULL, &desc.order},
    {"rank", NULL, &desc.rank},
    {"world_size", NULL, &desc.world_size},
    {"batch_size", NULL, &desc.batch_size},
    {"partition", NULL, &desc.partition},
    {"tail", NULL, &desc.tail},
    {"drop_last", NULL, &desc.drop_last},
};

static void must(int good, const char *what)
{
    if (!good) {
        fprintf(stderr, "serve: %s\n", what);
        exit(1);
    }
}

static void set(const char *text)
{
    size_t length = strcspn(text, "="), i;
    const size_t count = sizeof fields / sizeof fields[0];

    for (i = 0; i < count; i++) {
        if (strlen(fields[i].name) == length &&
            memcmp(fields[i].name, text, length) == 0) {
            break;
        }
    }
    must(i < count, text);
    if (fields[i].wide != NULL) {
        *fields[i].wide = strtoull(text + length + 1, NULL, 10);
    } else {
        *fields[i].narrow = (uint32_t)strtoul(text + length + 1, NULL, 10);
    }
}

int main(int argc, char **argv)
{
    unsigned char state[STATESAMPLER_STATE_BYTES];
    const char *path = NULL;
    uint64_t left;
    statesampler s;
    size_t count, i;
    int k, more, code;

    for (k = 1; k < argc; k++) {
        if (strchr(argv[k], '=') != NULL) {
            set(argv[k]);
        } else {
            path = argv[k];
        }
    }
    code = statesampler_init(&s, &desc);
    must(code == STATESAMPLER_OK, statesampler_error(code));
    must(desc.batch_size <= MOST, "the batches are too large");
    code = STATESAMPLER_ENOFILE;
    if (path != NULL) {
        code = statesampler_load_file(path, state, sizeof state, NULL);
    }
    if (code == STATESAMPLER_OK) {
        code = statesampler_load(&s, state, sizeof state);
    }
    must(code == STATESAMPLER_OK || code == STATESAMPLER_ENOFILE,
         statesampler_error(code));
    for (left = steps; steps == 0 || left > 0; left -= (uint64_t)more) {
        more = statesampler_next(&s, batch, &count);
        if (!more && steps == 0) {
            break;
        }
        for (i = 0; i < count; i++) {
            printf("%" PRIu64 "\n", batch[i]);
        }
    }
    if (path != NULL) {
        statesampler_save(&s, state, sizeof state);
        code = statesampler_save_file(path, state, sizeof state);
        must(code == STATESAMPLER_OK, statesampler_error(code));
    }
    return 0;
}
