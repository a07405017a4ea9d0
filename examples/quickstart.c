#define STATESAMPLER_IMPLEMENTATION
#define STATESAMPLER_HOSTED
#include "statesampler.h"
#include <stdio.h>
#include <stdlib.h>

static void train(const uint64_t *samples, size_t count)
{
    size_t i;

    for (i = 0; i < count; i++)
        printf(i + 1 < count ? "%d " : "%d\n", (int)samples[i]);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        perror("quickstart");
        exit(1);
    }
}

int main(void)
{
    const statesampler_desc desc = {
        .num_samples = 1000,
        .seed = 42,
        .rank = 0,
        .world_size = 1,
        .batch_size = 8,
    };
    const char *path = "quickstart.state";
    unsigned char state[STATESAMPLER_STATE_BYTES];
    uint64_t batch[8];
    size_t count;
    statesampler s;
    int code = statesampler_init(&s, &desc);

    if (code == STATESAMPLER_OK)
        code = statesampler_load_file(path, state, sizeof state, NULL);
    if (code == STATESAMPLER_OK)
        code = statesampler_load(&s, state, sizeof state);
    if (STATESAMPLER_KIND(code) == STATESAMPLER_ENOFILE)
        code = STATESAMPLER_OK;
    while (code == STATESAMPLER_OK && statesampler_epoch(&s) < 2) {
        if (statesampler_next(&s, batch, &count))
            train(batch, count);
        if (desc.rank == 0 && statesampler_step(&s) % 50 == 0) {
            statesampler_save(&s, state, sizeof state);
            code = statesampler_save_file(path, state, sizeof state);
        }
    }
    if (STATESAMPLER_KIND(code) == STATESAMPLER_EIO)
        perror(path);
    else
        puts(code == STATESAMPLER_OK ? "done" : statesampler_error(code));
    return code != STATESAMPLER_OK || fflush(stdout) != 0;
}
