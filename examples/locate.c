/* locate.c - which step saw a sample, and which samples did a step see?

       make examples && build/locate [INDEX ...]

   A run of two epochs on 8 ranks logs the mean loss of each step. One sample is
   broken. The program lists the 256 samples of the step with the highest loss,
   finds the broken one, and asks the sampler where that sample comes in every
   epoch, past or future. No log of indices is needed. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include "example.h"

#define SAMPLES 100003u
#define RANKS 8u
#define BATCH 32u
#define EPOCHS 2u
#define BROKEN 31337u

static const char usage[] =
    "usage: locate [INDEX]...\n\n"
    "Finds a broken sample by the loss of its step. With indices, each below\n"
    "100003, prints where these samples are served.\n";

/* The sampler of one rank at the start of one epoch. */
static void at_epoch(statesampler *s, uint64_t epoch, uint32_t rank)
{
    const statesampler_desc desc = {
        .num_samples = SAMPLES,
        .seed = 99,
        .epoch = epoch,
        .rank = rank,
        .world_size = RANKS,
        .batch_size = BATCH,
    };

    example_must(statesampler_init(s, &desc));
}

/* Prints where a sample is served in an epoch. Returns 1 if it is served
   there. */
static int show(uint64_t index, uint64_t epoch)
{
    statesampler s;
    statesampler_place place;
    uint64_t batch[BATCH];
    size_t count;

    at_epoch(&s, epoch, 0);
    example_must(statesampler_locate(&s, index, &place));
    printf("sample %6" PRIu64 "  epoch %" PRIu64 "  step %3" PRIu64
           "  rank %" PRIu32 "  slot %2" PRIu32 "\n",
           index, epoch, place.step, place.rank, place.slot);
    at_epoch(&s, epoch, place.rank);
    return statesampler_at(&s, place.step, batch, &count) == 1 &&
           place.slot < count && batch[place.slot] == index;
}

static double loss_of(uint64_t index)
{
    return index == BROKEN ? 500.0 : 2.0 + (double)(index % 17) * 0.01;
}

/* The mean loss of a step over all ranks. Sets *culprit, unless it is NULL, to
   the sample with the highest loss. */
static double loss_of_step(uint64_t epoch, uint64_t step, uint64_t *culprit)
{
    statesampler s;
    uint64_t batch[BATCH], samples = 0;
    uint32_t rank;
    size_t i, count;
    double sum = 0.0, worst = -1.0;

    for (rank = 0; rank < RANKS; rank++) {
        at_epoch(&s, epoch, rank);
        statesampler_at(&s, step, batch, &count);
        samples += count;
        for (i = 0; i < count; i++) {
            double loss = loss_of(batch[i]);

            sum += loss;
            if (culprit != NULL && loss > worst) {
                worst = loss;
                *culprit = batch[i];
            }
        }
    }
    return sum / (double)samples;
}

static int hunt(void)
{
    statesampler s;
    uint64_t epoch, step, spike_epoch = 0, spike_step = 0, culprit = 0;
    double loss, spike = 0.0;
    int found = 1;

    for (epoch = 0; epoch < EPOCHS; epoch++) {
        at_epoch(&s, epoch, 0);
        for (step = 0; step < statesampler_num_steps(&s); step++) {
            loss = loss_of_step(epoch, step, NULL);
            if (loss > spike) {
                spike = loss;
                spike_epoch = epoch;
                spike_step = step;
            }
        }
    }
    printf("the loss is highest in epoch %" PRIu64 ", step %" PRIu64 ": %.3f\n",
           spike_epoch, spike_step, spike);
    loss_of_step(spike_epoch, spike_step, &culprit);
    printf("of its %u samples, sample %" PRIu64 " is the cause\n\n",
           RANKS * BATCH, culprit);
    for (epoch = 0; epoch < EPOCHS + 2; epoch++) {
        found = show(culprit, epoch) && found;
    }
    return found && culprit == BROKEN;
}

int main(int argc, char **argv)
{
    uint64_t epoch;
    int i, found = 1;

    example_begin(argc, argv, argc, usage);
    if (argc == 1) {
        found = hunt();
        printf("\n");
        return example_end(found,
                           "sample %u is found by the loss of its step, "
                           "and served where locate says",
                           BROKEN);
    }
    for (i = 1; i < argc; i++) {
        example_number(argv[i], 0, SAMPLES - 1);
    }
    for (i = 1; i < argc; i++) {
        for (epoch = 0; epoch < EPOCHS; epoch++) {
            found =
                show(example_number(argv[i], 0, SAMPLES - 1), epoch) && found;
        }
    }
    return example_end(found, "each sample is served where locate says");
}
