/* blend.c - every batch mixes 8 sources in their shares, as for pre-training a
   language model, and the shares change twice.

       make examples && build/blend [FILE RANKS BATCH]

   All samplers have world_size 1 and batch_size 1: a turn is a sample, and the
   turn is all that is saved. So any ranks and batches go on, in mid-stage. */
#include <inttypes.h>
#define STATESAMPLER_IMPLEMENTATION
#define STATESAMPLER_HOSTED
#include "statesampler.h"
#include "example.h"
#include "blend.h"

#define STAGE 20000u /* turns; there are three stages */
static const uint32_t weight[3][BLEND_SOURCES] = { /* in percent */
    {40, 20, 15, 10, 8, 5, 2, STATESAMPLER_OFF},
    {30, 20, 15, 10, 10, 7, 5, 3},
    {STATESAMPLER_OFF, 15, 15, 15, 15, 15, 15, 10}};

typedef struct checkpoint {
    uint64_t model; /* depends on every sample and its turn */
    unsigned char mix[56 + 88 * BLEND_SOURCES];
} checkpoint;
static statesampler_source sources[BLEND_SOURCES];
static statesampler_mix mix;
static int same = 1; /* whether all ranks save the same bytes */

/* Goes to this or a later turn, by the stages' weights, and returns those. */
static const uint32_t *go_to(uint64_t turn)
{
    for (;;) { /* each time nearer by up to STAGE turns */
        uint64_t now = statesampler_mix_turn(&mix), k = now / STAGE;
        uint64_t end = (k + 1) * STAGE;
        const uint32_t *percent = weight[k < 2 ? k : 2];

        example_must(statesampler_mix_weigh(&mix, percent));
        if (now == turn)
            return percent;
        example_must(statesampler_mix_seek(&mix, end < turn ? end : turn));
    }
}

/* Trains on a rank's part of a step: turns that follow each other. */
static void train(checkpoint *now, uint32_t rank, const uint32_t *shape,
                  int show)
{
    uint64_t first = statesampler_mix_turn(&mix), index;
    uint64_t turn = first + (uint64_t)rank * shape[1], last = turn + shape[1];
    int count[BLEND_SOURCES] = {0}, share[BLEND_SOURCES] = {0}; /* x 100 */
    uint32_t k, source;
    size_t one;

    for (; turn < last && turn < 3 * STAGE; turn++) {
        const uint32_t *percent = go_to(turn);
        for (k = 0; k < BLEND_SOURCES; k++)
            share[k] += percent[k] <= 100 ? (int)percent[k] : 0;
        statesampler_mix_next(&mix, &index, &one, &source);
        now->model = (now->model ^ index << 8 ^ source) * 0x9e3779b97f4a7c15u;
        count[source]++;
    }
    go_to(first + (uint64_t)shape[0] * shape[1]);
    example_must(statesampler_mix_save(&mix, now->mix, sizeof now->mix));
    blend_tally(count, share, show);
}

/* Goes on in a shape: ranks, batch size, until when. (Ranks in turns here.) */
static void run(checkpoint *now, const char *file, const uint32_t *shape)
{
    checkpoint old, first;
    uint32_t rank, show = 1;

    do {
        for (old = *now, rank = 0; rank < shape[0]; rank++) {
            example_must(statesampler_mix_load(&mix, old.mix, sizeof old.mix));
            if (show && rank == 0)
                blend_title(statesampler_mix_turn(&mix), shape);
            train(now, rank, shape, (int)show);
            first = rank == 0 ? *now : first;
            same = same && !memcmp(first.mix, now->mix, sizeof now->mix);
        }
        show = file != NULL;
        if (file != NULL)
            example_must(statesampler_save_file(file, now, sizeof *now));
    } while (statesampler_mix_turn(&mix) < shape[2]);
}

int main(int argc, char **argv)
{
    static uint32_t shapes[4][3] = {
        {1, 200, 60000}, {4, 50, 13000}, {3, 70, 33333}, {8, 25, 60000}};
    const char *file = blend_arguments(argc, argv, shapes[3]);
    checkpoint whole = {1, {0}}, parts;
    uint32_t k;

    for (k = 0; k < BLEND_SOURCES; k++) {
        const statesampler_desc desc = {
            .num_samples = 9000 - 1000 * k, .seed = 1, .stream = k};
        example_must(statesampler_init(&sources[k].sampler, &desc));
        sources[k].weight = weight[0][k];
    }
    example_must(statesampler_mix_init(&mix, sources, BLEND_SOURCES,
                                       STATESAMPLER_STOP_NEVER));
    example_must(statesampler_mix_save(&mix, whole.mix, sizeof whole.mix));
    parts = whole;
    blend_open(file, &parts, sizeof parts);
    run(&whole, NULL, shapes[0]);
    int good = blend_exact();
    for (k = file != NULL ? 3 : 1; k < 4; k++)
        run(&parts, file, shapes[k]);
    printf("model %016" PRIx64 ", and on one rank %016" PRIx64 "\n",
           parts.model, whole.model);
    if (file == NULL)
        good = blend_compare(&mix, weight[1]) && good;
    return example_end(good && same && blend_worst <= 300 &&
        parts.model == whole.model, "in 3 stages each source has its exact "
        "share, each batch within %d.%02d samples, and every shape goes on "
        "with the same samples", blend_worst / 100, blend_worst % 100);
}
