/* fann_sampler.c - examples/into/fann/fann_sampler.h: the weights and the error
   of a plain loop in the permutation's order, and what is refused. */
#include <floatfann.h>
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include "examples/into/fann/fann_sampler.h"
#include <stdio.h>
#include <stdlib.h>

#define ROWS 103u

static int failures;

static void check(int good, const char *what)
{
    if (!good) {
        printf("not so: %s\n", what);
        failures++;
    }
}

static struct fann *network(unsigned hidden)
{
    struct fann *ann = fann_create_standard(3, 2, hidden, 1);

    srand(1);
    fann_randomize_weights(ann, -0.5f, 0.5f);
    fann_set_learning_momentum(ann, 0.5f);
    return ann;
}

static int same(struct fann *a, struct fann *b)
{
    return memcmp(a->weights, b->weights,
                  a->total_connections * sizeof(fann_type)) == 0 &&
           fann_get_MSE(a) <= fann_get_MSE(b) &&
           fann_get_MSE(a) >= fann_get_MSE(b);
}

int main(void)
{
    struct fann_train_data *data = fann_create_train(ROWS, 2, 1);
    struct fann *plain = network(5), *ours = network(5), *later = network(5),
                *other = network(6);
    unsigned char bytes[2000];
    uint64_t batch[ROWS], epoch, stream;
    size_t size = fann_sampler_bytes(ours);
    statesampler s, t;
    unsigned i;

    for (i = 0; i < ROWS; i++) {
        data->input[i][0] = (float)i / ROWS;
        data->input[i][1] = (float)(i % 7) / 7;
        data->output[i][0] = (float)(i % 3) / 3;
    }
    check(fann_sampler_init(&s, data, 7, 10) == 0, "init");
    check(fann_sampler_save(ours, &s, bytes, size) == STATESAMPLER_EINVAL,
          "an untrained network is refused");
    for (epoch = 0; epoch < 3; epoch++) {
        statesampler_perm perm;

        stream = 0;
        for (i = 0; i < ROWS; i++) {
            stream = statesampler_hash(stream, data->input[i], 8);
            stream = statesampler_hash(stream, data->output[i], 4);
        }
        statesampler_perm_init(&perm, ROWS, 7, epoch, stream);
        fann_reset_MSE(plain);
        for (i = 0; i < ROWS; i++) {
            uint64_t row = statesampler_perm_at(&perm, i);

            fann_train(plain, data->input[row], data->output[row]);
        }
        while (fann_sampler_next(ours, data, &s, batch)) {
        }
        check(same(plain, ours), "weights and error of a plain loop");
    }
    fann_sampler_next(ours, data, &s, batch);
    check(fann_sampler_save(ours, &s, bytes, size - 1) ==
              STATESAMPLER_ECAPACITY,
          "a small buffer is refused");
    check(fann_sampler_save(ours, &s, bytes, size) == 0, "save");
    fann_sampler_init(&t, data, 7, 3);
    check(fann_sampler_load(other, data, &t, bytes, size) ==
                  STATESAMPLER_ECORRUPT &&
              statesampler_epoch(&t) == 0,
          "another network is refused, and nothing moves");
    check(fann_sampler_load(later, data, &t, bytes, size) == 0 &&
              statesampler_epoch(&t) == 3 && statesampler_position(&t) == 10,
          "load");
    while (fann_sampler_next(ours, data, &s, batch)) {
    }
    while (fann_sampler_next(later, data, &t, batch)) {
    }
    check(same(ours, later), "the same after a load, with another batch_size");
    data->num_data = 0;
    check(fann_sampler_init(&t, data, 7, 3) == STATESAMPLER_EINVAL &&
              statesampler_epoch(&t) == 4,
          "no rows are refused");
    data->num_data = ROWS;
    data->input[0][0] = 1;
    fann_sampler_init(&t, data, 7, 3);
    check(STATESAMPLER_KIND(fann_sampler_load(later, data, &t, bytes, size)) ==
                  STATESAMPLER_EMISMATCH &&
              same(ours, later),
          "other data is refused, and nothing changes");
    fann_destroy(plain);
    fann_destroy(ours);
    fann_destroy(later);
    fann_destroy(other);
    fann_destroy_train(data);
    return failures != 0;
}
