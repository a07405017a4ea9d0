#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include <stdio.h>

int main(void)
{
    statesampler_desc desc = {
        .num_samples = 30, .seed = 42, .world_size = 3, .batch_size = 4};
    unsigned char state[STATESAMPLER_STATE_BYTES];
    uint64_t batch[4];
    size_t count, i;
    statesampler sampler;

    if (statesampler_init(&sampler, &desc) != 0 ||
        statesampler_next(&sampler, batch, &count) != 1 ||
        statesampler_save(&sampler, state, sizeof state) != 0)
        return 1;

    desc.world_size = 1;
    if (statesampler_init(&sampler, &desc) != 0 ||
        statesampler_load(&sampler, state, sizeof state) != 0)
        return 1;
    while (statesampler_epoch(&sampler) < 2) {
        printf("epoch %d:", (int)statesampler_epoch(&sampler));
        while (statesampler_next(&sampler, batch, &count))
            for (i = 0; i < count; i++)
                printf(" %d", (int)batch[i]);
        printf("\n");
    }
    return 0;
}
