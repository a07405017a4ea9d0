/* grow.c - a run that goes on with other datasets than it began with.

       make examples && build/grow

   A mixture has datasets with names. After 60 turns the job is stopped; when
   it goes on, one dataset has been taken out, one has been put in, and the
   rest are listed in another order. Needs stb_ds.h (Debian: libstb-dev). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define STB_DS_IMPLEMENTATION
#include "stb_ds.h"
#define STATESAMPLER_IMPLEMENTATION
#define STATESAMPLER_STB_DS
#include "statesampler.h"

/* The stream goes with the name, so that no two datasets have one order and
   each keeps its own wherever it is listed. */
static int add(statesampler_mixture *m, const char *name, uint32_t weight,
               uint64_t samples)
{
    const statesampler_desc desc = {
        .num_samples = samples,
        .seed = 1,
        .stream = statesampler_mixture_hash(name),
        .batch_size = 16};
    return statesampler_mixture_add(m, name, weight, &desc);
}

static void show(const statesampler_mixture *m, const char *when)
{
    uint32_t i;
    printf("%s, turn %" PRIu64 ":\n", when, statesampler_mix_turn(&m->mix));
    for (i = 0; i < m->mix.num_sources; i++) {
        const statesampler *s = &m->sources[i].sampler;
        printf("    %-6s epoch %" PRIu64 ", step %" PRIu64 " of %" PRIu64
               "\n",
               m->datasets[i].key, statesampler_epoch(s),
               statesampler_step(s), statesampler_num_steps(s));
    }
}

int main(void)
{
    static const char *const status[] = {"matched", "new", "removed",
                                         "changed"};
    static statesampler_mixture before, after;
    unsigned char *state;
    uint32_t source;
    size_t count, size;
    ptrdiff_t i;

    if (add(&before, "web", 3, 1000) != 0 ||
        add(&before, "mail", 1, 300) != 0 ||
        add(&before, "code", 2, 400) != 0 ||
        statesampler_mixture_start(&before, STATESAMPLER_STOP_NEVER) != 0) {
        return 1;
    }
    while (statesampler_mix_turn(&before.mix) < 60) {
        statesampler_mix_next(&before.mix, NULL, &count, &source);
    }
    show(&before, "stopped");
    size = statesampler_mixture_state_bytes(&before);
    state = (unsigned char *)malloc(size);
    if (!state || statesampler_mixture_save(&before, state, size) != 0) {
        return 1;
    }

    if (add(&after, "code", 2, 400) != 0 ||
        add(&after, "books", 1, 200) != 0 ||
        add(&after, "web", 3, 1000) != 0 ||
        statesampler_mixture_start(&after, STATESAMPLER_STOP_NEVER) != 0 ||
        statesampler_mixture_load(&after, state, size,
                                  STATESAMPLER_REFUSE_CHANGED) != 0) {
        return 1;
    }
    for (i = 0; i < arrlen(after.changes); i++) {
        const statesampler_change *c = &after.changes[i];
        const char *name = c->name;
        if (!name && c->hash == statesampler_mixture_hash("mail")) {
            name = "mail"; /* of the removed a state knows the hash only */
        }
        printf("    %-7s %s\n", status[c->status], name ? name : "(unknown)");
    }
    show(&after, "resumed");
    while (statesampler_mix_turn(&after.mix) < 120) {
        statesampler_mix_next(&after.mix, NULL, &count, &source);
    }
    show(&after, "later");
    free(state);
    statesampler_mixture_free(&before);
    statesampler_mixture_free(&after);
    return 0;
}
