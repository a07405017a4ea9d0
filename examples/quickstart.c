#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include <stdio.h>

int main(void)
{
    unsigned char state[STATESAMPLER_STATE_BYTES];
    uint64_t batch[4];
    size_t count, i;
    statesampler sampler;
    static statesampler_desc desc;

    desc.num_samples = 30;
    desc.seed = 42;
    desc.batch_size = 4;
    desc.world_size = 3;
    if (statesampler_init(&sampler, &desc) != 0)
        return 1;
    statesampler_next(&sampler, batch);
    statesampler_save(&sampler, state);

    desc.world_size = 1;
    if (statesampler_init(&sampler, &desc) != 0 ||
        statesampler_load(&sampler, state, sizeof state) != 0)
        return 1;
    while (statesampler_epoch(&sampler) < 2) {
        printf("epoch %d:", (int)statesampler_epoch(&sampler));
        while ((count = statesampler_next(&sampler, batch)) > 0)
            for (i = 0; i < count; i++)
                printf(" %d", (int)batch[i]);
        printf("\n");
    }
    return 0;
}
