/* mixture.c - a mixture of 100,000 named datasets: the time to add them all and
   to load a state. It has a private copy of the header, so that no other file
   needs stb_ds.h. */
#define STB_DS_IMPLEMENTATION
#include "stb_ds.h"

#define STATESAMPLER_STB_DS
#define STATESAMPLER_STATIC
#define STATESAMPLER_IMPLEMENTATION
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct many {
    statesampler_mixture mixture;
    uint32_t datasets;
    char (*names)[16];
    unsigned char *state;
    size_t state_bytes;
} many;

static void add_before(void *data)
{
    many *m = data;
    statesampler_mixture_free(&m->mixture);
}

static void add_run(void *data)
{
    many *m = data;
    statesampler_desc d;
    uint32_t i;
    memset(&d, 0, sizeof d);
    d.seed = 1;
    d.batch_size = 32;
    for (i = 0; i < m->datasets; i++) {
        d.num_samples = 1000 + i;
        d.stream = i;
        must(statesampler_mixture_add(&m->mixture, m->names[i], 1 + i % 7,
                                      &d) == 0,
             "mixture_add");
    }
}

static void add_check(void *data)
{
    many *m = data;
    uint32_t i, source = 0;
    for (i = 0; i < m->datasets; i += 997)
        must(statesampler_mixture_find(&m->mixture, m->names[i], &source) ==
                     0 &&
                 source == i,
             "mixture_find");
}

static void start(many *m)
{
    must(statesampler_mixture_start(&m->mixture, STATESAMPLER_STOP_FIRST) == 0,
         "mixture_start");
}

/* The state, of turn 1,003, is loaded into a fresh mixture. */
static void load_before(void *data)
{
    many *m = data;
    if (m->state == NULL) {
        start(m);
        must(statesampler_mix_seek(&m->mixture.mix, 1003) == 0, "mix_seek");
        m->state_bytes = statesampler_mixture_state_bytes(&m->mixture);
        m->state = malloc(m->state_bytes);
        must(m->state != NULL, "no memory");
        must(statesampler_mixture_save(&m->mixture, m->state, m->state_bytes) ==
                 0,
             "mixture_save");
    }
    start(m);
    must(statesampler_mix_seek(&m->mixture.mix, 0) == 0, "mix_seek");
}

static void load_run(void *data)
{
    many *m = data;
    must(statesampler_mixture_load(&m->mixture, m->state, m->state_bytes, 0) ==
             0,
         "mixture_load");
}

static void load_check(void *data)
{
    many *m = data;
    uint32_t i;
    must(statesampler_mix_turn(&m->mixture.mix) == 1003, "turn");
    must(arrlen(m->mixture.changes) == (ptrdiff_t)m->datasets,
         "number of changes");
    for (i = 0; i < m->datasets; i++)
        must(m->mixture.changes[i].status == STATESAMPLER_CHANGE_MATCHED &&
                 m->mixture.changes[i].source == i,
             "dataset not matched");
}

int main(void)
{
    static many m;
    contender c[2] = {
        {add_run, add_before, add_check, &m, 0},
        {load_run, load_before, load_check, &m, 0},
    };
    uint32_t i;
    m.datasets = quick() ? 1000 : 100000;
    m.names = malloc(m.datasets * sizeof *m.names);
    must(m.names != NULL, "no memory");
    for (i = 0; i < m.datasets; i++)
        sprintf(m.names[i], "dataset %lu", (unsigned long)i);
    race(c, 2, 2);
    row_alone("a mixture of 100000 datasets; to add them all", c[0].ns / 1e9,
              "s", 0.2);
    row_alone("a mixture of 100000 datasets; to load its state", c[1].ns / 1e9,
              "s", 0.2);
    statesampler_mixture_free(&m.mixture);
    free(m.state);
    free(m.names);
    return 0;
}
