#define STATESAMPLER_IMPLEMENTATION
#define STATESAMPLER_HOSTED
#include "statesampler.h"
#include <stdio.h>

static void train(const uint64_t *samples, size_t count)
{
    size_t i;

    for (i = 0; i < count; i++)
        printf(i + 1 < count ? "%d " : "%d\n", (int)samples[i]);
    fflush(stdout);
}

int main(void)
{
    const statesampler_desc desc = {
        .num_samples = 30, .seed = 42, .batch_size = 8};
    uint64_t batch[8];
    size_t count;
    statesampler s;
    int code = statesampler_init(&s, &desc);
    const char *path = "quickstart.state";
    unsigned char state[STATESAMPLER_STATE_BYTES];

    if (code == STATESAMPLER_OK)
        code = statesampler_load_file(path, state, sizeof state, NULL);
    if (code == STATESAMPLER_OK)
        code = statesampler_load(&s, state, sizeof state);
    if (STATESAMPLER_KIND(code) == STATESAMPLER_ENOFILE)
        code = STATESAMPLER_OK;
    while (code == STATESAMPLER_OK && statesampler_epoch(&s) < 2) {
        if (statesampler_next(&s, batch, &count))
            train(batch, count);
        statesampler_save(&s, state, sizeof state);
        code = statesampler_save_file(path, state, sizeof state);
    }
    if (STATESAMPLER_KIND(code) == STATESAMPLER_EIO)
        perror(path);
    else
        puts(code == STATESAMPLER_OK ? "done" : statesampler_error(code));
    return code != STATESAMPLER_OK;
}
