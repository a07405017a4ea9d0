/* compare.c - FANN's own shuffle beside fann_sampler.h: how fair it is, what a
   state needs, and how long a begin and a resume take. See README.md.

       cc -O2 -I. -o build/compare examples/into/fann/compare.c -lfann -lm
       build/compare */
#include <floatfann.h>

#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include "../../example.h"
#include <time.h>
#include "fann_sampler.h"

#define TIMES 600000u
#define ROWS 200000u
#define INPUTS 8u
#define MANY 100000u
#define EPOCH 10u /* that is resumed, in its middle */

static const char usage[] = "usage: compare\n\n"
                            "Compares FANN's shuffle with fann_sampler.h.\n";

static double seconds(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

/* The number of an order of three, 0 .. 5. */
static unsigned number_of(const unsigned *order)
{
    return 2 * order[0] + (order[1] > order[2]);
}

/* Prints how often the rarest and the commonest of the six orders came. Returns
   1 if each is within 0.003 of a sixth, which is six standard deviations. */
static int fair(const char *name, const unsigned *counts)
{
    unsigned least = TIMES, most = 0, i;

    for (i = 0; i < 6; i++) {
        least = counts[i] < least ? counts[i] : least;
        most = counts[i] > most ? counts[i] : most;
    }
    printf("%-16s %.3f to %.3f\n", name, (double)least / TIMES,
           (double)most / TIMES);
    return least > TIMES / 6 - TIMES / 333 && most < TIMES / 6 + TIMES / 333;
}

/* Three rows, in the same order before each shuffle: how often each of the six
   orders follows. Returns 1 if FANN's shuffle is not fair and ours is. */
static int compare_orders(void)
{
    int fair_theirs, fair_ours;
    struct fann_train_data *data = fann_create_train(3, 1, 1);
    unsigned theirs[6] = {0}, ours[6] = {0}, order[3], time, i;
    uint64_t indices[3];
    statesampler_perm perm;

    srand(1);
    for (time = 0; time < TIMES; time++) {
        for (i = 0; i < 3; i++) {
            data->input[i][0] = (fann_type)i;
        }
        fann_shuffle_train_data(data);
        for (i = 0; i < 3; i++) {
            order[i] = (unsigned)data->input[i][0];
        }
        theirs[number_of(order)]++;
        statesampler_perm_init(&perm, 3, 1, time, 0);
        statesampler_perm_fill(&perm, 0, 1, indices, 3);
        for (i = 0; i < 3; i++) {
            order[i] = (unsigned)indices[i];
        }
        ours[number_of(order)]++;
    }
    printf("orders of three rows, %u shuffles (fair: 0.167)\n", TIMES);
    fair_theirs = fair("FANN's shuffle", theirs);
    fair_ours = fair("fann_sampler.h", ours);
    fann_destroy_train(data);
    return fair_ours && !fair_theirs;
}

/* Begins and resumes in the middle of an epoch. To resume, FANN has to shuffle
   again as often as before, if rand is seeded as before; its place in the epoch
   is nowhere. */
static void compare_times(void)
{
    struct fann_train_data *data = fann_create_train(ROWS, INPUTS, 1);
    unsigned char state[STATESAMPLER_STATE_BYTES];
    double begin, theirs, theirs_resume, init, ours, resume;
    uint64_t batch[32];
    statesampler s;
    unsigned i;

    for (i = 0; i < ROWS * INPUTS; i++) {
        data->input[0][i] = (fann_type)i;
    }
    begin = seconds();
    fann_shuffle_train_data(data);
    theirs = seconds() - begin;
    for (i = 0; i < EPOCH; i++) {
        fann_shuffle_train_data(data);
    }
    theirs_resume = seconds() - begin;

    begin = seconds();
    example_must(fann_sampler_init(&s, data, 42, 32));
    init = seconds() - begin;
    begin = seconds();
    for (i = 0; i < MANY; i++) {
        statesampler_begin(&s, i);
        statesampler_next(&s, batch, NULL);
    }
    ours = (seconds() - begin) / MANY;
    statesampler_set_epoch(&s, EPOCH);
    statesampler_seek(&s, statesampler_num_steps(&s) / 2);
    statesampler_save(&s, state, sizeof state);
    begin = seconds();
    for (i = 0; i < MANY; i++) {
        example_must(statesampler_load(&s, state, sizeof state));
        statesampler_next(&s, batch, NULL);
    }
    resume = (seconds() - begin) / MANY;

    printf("\n%u rows of %u values   FANN's shuffle  fann_sampler.h\n"
           "hash of the data, once                  -  %11.3f ms\n"
           "to the first row           %11.3f ms  %11.5f ms\n"
           "to resume in epoch %2u      %11.3f ms  %11.5f ms\n"
           "bytes that hold the order  %14zu  %14d\n\n",
           ROWS, INPUTS + 1, init * 1e3, theirs * 1e3, ours * 1e3, EPOCH,
           theirs_resume * 1e3, resume * 1e3,
           (size_t)ROWS * (INPUTS + 1) * sizeof(fann_type),
           STATESAMPLER_STATE_BYTES);
    fann_destroy_train(data);
}

int main(int argc, char **argv)
{
    int good;

    example_begin(argc, argv, 0, usage);
    good = compare_orders();
    compare_times();
    return example_end(good, "FANN's shuffle prefers some orders, "
                             "fann_sampler.h none");
}
