/* train.c - trains a network of FANN, and goes on after a kill: see README.md
   for the commands. */
#include <floatfann.h>

#define STATESAMPLER_IMPLEMENTATION
#define STATESAMPLER_HOSTED
#include "statesampler.h"
#include "../../example.h"
#include "fann_sampler.h"

#define INPUTS 8u
#define EPOCHS 10u
#define MOST_ROWS 1000000u

static const char usage[] =
    "usage: fann FILE [BATCH_SIZE [ROWS [SEED]]]\n\n"
    "Trains for ten epochs and saves to FILE after each BATCH_SIZE (500) of\n"
    "ROWS (20000), drawn from SEED (2); goes on from FILE if it is there. If\n"
    "FILE is a network that fann_save wrote, begins with its weights.\n";

static unsigned char bytes[8000];

/* Rows, and an output that the network can learn. */
static struct fann_train_data *make_data(unsigned rows, unsigned seed)
{
    struct fann_train_data *data = fann_create_train(rows, INPUTS, 1);
    unsigned row, i;

    srand(seed);
    for (row = 0; row < rows; row++) {
        data->output[row][0] = 0.5f;
        for (i = 0; i < INPUTS; i++) {
            float value = (float)rand() / (float)RAND_MAX;

            data->input[row][i] = value;
            data->output[row][0] += (i % 2 ? -0.2f : 0.2f) * value;
        }
    }
    return data;
}

/* FANN's seed is the time, so the weights are drawn again. */
static struct fann *make_network(void)
{
    struct fann *ann = fann_create_standard(3, INPUTS, 16, 1);

    srand(1);
    fann_randomize_weights(ann, -0.1f, 0.1f);
    fann_set_learning_rate(ann, 0.1f);
    fann_set_learning_momentum(ann, 0.5f);
    return ann;
}

/* The network of a file of FANN's own, which must have the same layers. */
static struct fann *read_network(const char *path, struct fann *like)
{
    struct fann *ann = fann_create_from_file(path);

    if (ann == NULL || fann_get_num_input(ann) != INPUTS ||
        fann_get_num_output(ann) != 1 ||
        fann_get_total_connections(ann) != fann_get_total_connections(like)) {
        example_fail(1, "%s is no network of these layers", path);
    }
    fann_destroy(like);
    return ann;
}

/* Trains to the end, from wherever the file is. Returns the file's size. */
static size_t train(const char *path, struct fann_train_data *data,
                    unsigned batch_size)
{
    struct fann *ann = make_network();
    uint64_t *batch = malloc(batch_size * sizeof *batch);
    statesampler s;
    size_t size;
    int code = statesampler_load_file(path, bytes, sizeof bytes, &size);

    example_must(fann_sampler_init(&s, data, 42, batch_size));
    if (STATESAMPLER_KIND(code) != STATESAMPLER_ENOFILE &&
        memcmp(bytes, "FANN_", 5) == 0) {
        ann = read_network(path, ann);
        printf("%s has weights and no place in an epoch: epoch 0 begins at its "
               "start\n",
               path);
    } else if (STATESAMPLER_KIND(code) != STATESAMPLER_ENOFILE) {
        example_must(code);
        example_must(fann_sampler_load(ann, data, &s, bytes, size));
    }
    size = fann_sampler_bytes(ann);
    while (statesampler_epoch(&s) < EPOCHS) {
        fann_sampler_next(ann, data, &s, batch);
        example_must(fann_sampler_save(ann, &s, bytes, size));
        example_must(statesampler_save_file(path, bytes, size));
    }
    free(batch);
    fann_destroy(ann);
    return size;
}

/* A number from 1 to `most`, or a message. */
static unsigned number(const char *text, unsigned most)
{
    char *end;
    unsigned long value = strtoul(text, &end, 10);

    if (*text < '0' || *text > '9' || *end || value < 1 || value > most) {
        example_fail(2, "'%s' is not a number from 1 to %u", text, most);
    }
    return (unsigned)value;
}

int main(int argc, char **argv)
{
    struct fann_train_data *data;
    unsigned batch_size;
    size_t size;

    example_begin(argc, argv, 4, usage);
    if (argc < 2) {
        example_fail(2, "FILE is needed");
    }
    batch_size = argc > 2 ? number(argv[2], MOST_ROWS) : 500;
    data = make_data(argc > 3 ? number(argv[3], MOST_ROWS) : 20000,
                     argc > 4 ? number(argv[4], MOST_ROWS) : 2);
    size = train(argv[1], data, batch_size);
    fann_destroy_train(data);
    return example_end(1,
                       "%s holds weights, momentum and error of epoch %u in "
                       "%d bytes, the sampler in %d",
                       argv[1], EPOCHS - 1, (int)size,
                       STATESAMPLER_STATE_BYTES);
}
