/* grow.c - adds and removes datasets in mid-run.

       make examples && build/grow

   The datasets of a mixture have names. After 60 turns the job stops. When it
   continues, one dataset is gone, one is new, and the others are listed in
   another order. Later it removes a dataset and does not stop. Needs stb_ds.h
   (Debian: libstb-dev). */
#define STB_DS_IMPLEMENTATION
#include "stb_ds.h"
#define STATESAMPLER_IMPLEMENTATION
#define STATESAMPLER_STB_DS
#include "statesampler.h"
#include "example.h"

static const char usage[] =
    "usage: grow\n\n"
    "Stops a mixture of three datasets, and continues with one dataset less\n"
    "and one more. The others go on where they were. Then removes another.\n";

static unsigned char state[1000];
static size_t size;

/* The stream comes from the name: a dataset keeps its order wherever it is
   listed, and no two datasets share one. */
static void add(statesampler_mixture *m, const char *name, uint32_t weight,
                uint64_t samples)
{
    const statesampler_desc desc = {
        .num_samples = samples,
        .seed = 1,
        .stream = statesampler_hash(0, name, strlen(name) + 1),
        .batch_size = 16,
    };

    example_must(statesampler_mixture_add(m, name, weight, &desc));
}

static void show(const statesampler_mixture *m, const char *when)
{
    uint32_t i;

    printf("%s, turn %" PRIu64 ":\n", when, statesampler_mix_turn(&m->mix));
    for (i = 0; i < m->mix.num_sources; i++) {
        const statesampler *s = &m->sources[i].sampler;

        printf("    %-6s epoch %" PRIu64 ", step %" PRIu64 " of %" PRIu64 "\n",
               m->datasets[i].key, statesampler_epoch(s), statesampler_step(s),
               statesampler_num_steps(s));
    }
}

static void take_turns(statesampler_mixture *m, uint64_t until)
{
    uint32_t source;
    size_t count;

    while (statesampler_mix_turn(&m->mix) < until) {
        statesampler_mix_next(&m->mix, NULL, &count, &source);
    }
}

/* How many samples the dataset has served in all its epochs, or NONE if there
   is no such dataset. */
static uint64_t served(statesampler_mixture *m, const char *name)
{
    statesampler_counts epoch;
    const statesampler *s;
    uint32_t source;

    if (statesampler_mixture_find(m, name, &source) != STATESAMPLER_OK) {
        return STATESAMPLER_NONE;
    }
    s = &m->sources[source].sampler;
    statesampler_get_counts(s, &epoch);
    return statesampler_epoch(s) * epoch.positions + statesampler_position(s);
}

static void show_changes(const statesampler_mixture *m)
{
    static const char *const status[] = {"matched", "new", "removed",
                                         "changed"};
    ptrdiff_t i;

    for (i = 0; i < arrlen(m->changes); i++) {
        const statesampler_change *c = &m->changes[i];

        if (c->name != NULL) {
            printf("    %-7s %s\n", status[c->status], c->name);
        } else {
            printf("    removed number %" PRIu32 " of the state\n", c->source);
        }
    }
}

static void save(const statesampler_mixture *m)
{
    size = statesampler_mixture_state_bytes(m);
    example_must(statesampler_mixture_save(m, state, sizeof state));
}

/* Starts the mixture and goes on where a state was saved. */
static void resume(statesampler_mixture *m)
{
    example_must(statesampler_mixture_start(m, STATESAMPLER_STOP_NEVER));
    example_must(statesampler_mixture_load(m, state, size, 0));
    show_changes(m);
}

int main(int argc, char **argv)
{
    statesampler_mixture before = {0}, after = {0};
    uint64_t web;
    int good;

    example_begin(argc, argv, 0, usage);
    add(&before, "web", 3, 1000);
    add(&before, "mail", 1, 300);
    add(&before, "code", 2, 400);
    example_must(statesampler_mixture_start(&before, STATESAMPLER_STOP_NEVER));
    take_turns(&before, 60);
    show(&before, "stopped");
    save(&before);

    add(&after, "code", 2, 400);
    add(&after, "books", 1, 200);
    add(&after, "web", 3, 1000);
    resume(&after);
    show(&after, "resumed");
    good = served(&after, "web") == served(&before, "web") &&
           served(&after, "code") == served(&before, "code") &&
           served(&after, "books") == 0 &&
           served(&after, "mail") == STATESAMPLER_NONE;
    take_turns(&after, 120);
    show(&after, "later");
    good = good && served(&after, "books") > 0;

    web = served(&after, "web");
    save(&after);
    example_must(statesampler_mixture_remove(&after, "code"));
    resume(&after);
    show(&after, "without code");
    good = good && served(&after, "web") == web &&
           served(&after, "code") == STATESAMPLER_NONE &&
           statesampler_mix_turn(&after.mix) == 120;
    statesampler_mixture_free(&before);
    statesampler_mixture_free(&after);
    return example_end(good, "web and code continued, mail is gone, books "
                             "began; then code is gone");
}
