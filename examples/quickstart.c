#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include <stdio.h>

int main(int argc, char **argv)
{
    statesampler_desc desc = {
        .num_samples = 30, .seed = 42, .world_size = 3, .batch_size = 4};
    unsigned char state[STATESAMPLER_STATE_BYTES];
    statesampler_audit audit = {0, 0, 0, 0};
    uint64_t batch[4];
    size_t count, i;
    statesampler sampler;
    int good;

    if (argc > 1)
        return printf("usage: %s\n", argv[0]) < 0;
    for (desc.rank = 0; desc.rank < 3; desc.rank++) {
        if (statesampler_init(&sampler, &desc) != 0 ||
            statesampler_next(&sampler, batch, &count) != 1 ||
            statesampler_save(&sampler, state, sizeof state) != 0)
            return 1;
        statesampler_audit_add(&audit, batch, count);
    }

    desc.rank = 0;
    desc.world_size = 1;
    if (statesampler_init(&sampler, &desc) != 0 ||
        statesampler_load(&sampler, state, sizeof state) != 0)
        return 1;
    while (statesampler_next(&sampler, batch, &count)) {
        statesampler_audit_add(&audit, batch, count);
        for (i = 0; i < count; i++)
            printf("%d ", (int)batch[i]);
    }
    good = statesampler_audit_check(&audit, 30);
    printf("\n%d of 30 samples served, %s\n", (int)audit.count,
           good ? "each exactly once" : "and that is WRONG");
    if (fclose(stdout) == 0)
        return good ? 0 : 1;
    perror("quickstart");
    return 1;
}
