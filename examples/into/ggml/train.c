/* train.c - a small model on ggml-opt, with AdamW, through kills, by epochs.h.

       cc -O2 -I. -o build/ggml examples/into/ggml/train.c \
           $(pkg-config --cflags --libs ggml) -lggml-base -lm
       build/ggml FILE [THREADS[/ROWS]]

   Kill it and start it again with any number of THREADS: the checkpoint becomes
   the same to the bit. With other ROWS, which ggml evaluates at once, sums are
   rounded in another way; the samples of each step are the same. */
#define STATESAMPLER_IMPLEMENTATION
#define STATESAMPLER_HOSTED
#include "statesampler.h"
#include <gguf.h>
#include "../../example.h"
#include "split.h"
#include "epochs.h"

#define SAMPLES 1200
#define HELD_OUT 240
#define BATCH 48 /* samples of a step of the optimizer */
#define EPOCHS 20
#define WIDTH 8
#define CLASSES 5

static const char usage[] =
    "usage: ggml FILE [THREADS[/ROWS]]\n\n"
    "Trains 20 epochs, saving to FILE after each step. ROWS divides 48. A\n"
    "FILE in ggml's format, gguf, gives the weights of a new run.\n";

static uint64_t batch[BATCH];
static struct ggml_tensor *inputs, *outputs, *weights;

/* 64 random bits as a number between -1 and 1. */
static float noise(uint64_t number)
{
    return (float)(statesampler_hash(0, &number, sizeof number) >> 40) /
               0x800000 -
           1;
}

/* Points around the centres of classes. */
static ggml_opt_dataset_t make_data(void)
{
    ggml_opt_dataset_t set = ggml_opt_dataset_init(GGML_TYPE_F32, GGML_TYPE_F32,
                                                   WIDTH, CLASSES, SAMPLES, 1);
    float *point = ggml_get_data_f32(ggml_opt_dataset_data(set));
    float *label = ggml_get_data_f32(ggml_opt_dataset_labels(set));
    uint64_t i, k;

    memset(label, 0, SAMPLES * CLASSES * sizeof(float));
    for (i = 0; i < SAMPLES; i++) {
        label[i * CLASSES + i % CLASSES] = 1;
        for (k = 0; k < WIDTH; k++)
            point[i * WIDTH + k] =
                noise(i % CLASSES * WIDTH + k) + noise(1000 + i * WIDTH + k);
    }
    return set;
}

/* Logistic regression. Returns the context that ggml-opt computes in. */
static struct ggml_context *make_model(ggml_backend_t backend, int rows)
{
    const struct ggml_init_params size = {1 << 20, NULL, true};
    struct ggml_context *fixed = ggml_init(size), *graph = ggml_init(size);

    inputs = ggml_new_tensor_2d(fixed, GGML_TYPE_F32, WIDTH, rows);
    weights = ggml_new_tensor_2d(fixed, GGML_TYPE_F32, WIDTH, CLASSES);
    ggml_set_name(weights, "weights");
    ggml_set_param(weights);
    outputs = ggml_mul_mat(graph, weights, inputs);
    ggml_backend_alloc_ctx_tensors(fixed, backend);
    ggml_set_zero(weights);
    return graph;
}

/* Weights from a file of ggml's own. */
static int load_gguf(const char *path)
{
    struct ggml_context *file = NULL;
    const struct gguf_init_params params = {.no_alloc = false, .ctx = &file};
    struct ggml_tensor *found = NULL;

    if (gguf_init_from_file(path, params) != NULL)
        found = ggml_get_tensor(file, "weights");
    if (found == NULL || found->type != weights->type ||
        !ggml_are_same_shape(found, weights))
        return 0;
    ggml_backend_tensor_set(weights, found->data, 0, ggml_nbytes(weights));
    return 1;
}

/* The CPU, whether ggml has it in its library or loads it as a plugin. A plugin
   is no library to link, so its function is asked for by name. */
static ggml_backend_t make_backend(int threads)
{
    ggml_backend_set_n_threads_t set_threads;
    ggml_backend_t backend;
    void *found;

    ggml_backend_load_all();
    backend = ggml_backend_init_by_type(GGML_BACKEND_DEVICE_TYPE_CPU, NULL);
    if (backend == NULL)
        example_fail(1, "ggml has no backend for the CPU: install its plugin, "
                        "or name the plugin's file in GGML_BACKEND_PATH");
    found = ggml_backend_reg_get_proc_address(
        ggml_backend_dev_backend_reg(ggml_backend_get_device(backend)),
        "ggml_backend_set_n_threads");
    if (found == NULL)
        example_fail(1, "ggml's CPU backend takes no number of threads");
    /* C has no cast from void * to a function. */
    memcpy(&set_threads, &found, sizeof set_threads);
    set_threads(backend, threads);
    return backend;
}

static void make_epochs(epochs *e, int threads, int rows)
{
    ggml_backend_t backend = make_backend(threads);
    struct ggml_opt_params params;

    e->ctx_compute = make_model(backend, rows);
    e->dataset = make_data();
    e->batch = batch;
    e->sched = ggml_backend_sched_new(&backend, NULL, 1, 2048, false, true);
    params =
        ggml_opt_default_params(e->sched, GGML_OPT_LOSS_TYPE_CROSS_ENTROPY);
    params.ctx_compute = e->ctx_compute;
    params.inputs = inputs;
    params.outputs = outputs;
    params.opt_period = BATCH / rows;
    e->opt_ctx = ggml_opt_init(params);
    example_must(split_init(&e->samples, SAMPLES, HELD_OUT, BATCH, 42, 0));
    epochs_begin(e);
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : "-";
    ggml_opt_result_t result = ggml_opt_result_init();
    int threads = 1, rows = BATCH, code;
    static char buffer[4096];
    double loss, accuracy;
    size_t size;
    epochs e;

    example_begin(argc, argv, 2, usage);
    if (path[0] == '-')
        example_fail(2, "'%s' is no FILE", path);
    if (argc > 2 && (sscanf(argv[2], "%d/%d", &threads, &rows) < 1 ||
                     threads < 1 || rows < 1 || BATCH % rows != 0))
        example_fail(2, "'%s' is not THREADS[/ROWS]", argv[2]);
    ggml_time_init();
    make_epochs(&e, threads, rows);
    code = statesampler_load_file(path, buffer, sizeof buffer, &size);
    if (code == STATESAMPLER_OK && memcmp(buffer, "GGUF", 4) == 0 &&
        load_gguf(path))
        printf("%s has weights only: epoch 0 begins at its start\n", path);
    else if (STATESAMPLER_KIND(code) != STATESAMPLER_ENOFILE)
        example_must(code < 0 ? code : epochs_load(&e, buffer, size));
    size = epochs_move(&e, NULL, 0);
    while (statesampler_epoch(&e.samples.train) < EPOCHS) {
        epochs_train(&e, NULL);
        example_must(epochs_save(&e, buffer, sizeof buffer));
        example_must(statesampler_save_file(path, buffer, size));
    }
    epochs_validate(&e, result);
    ggml_opt_result_loss(result, &loss, NULL);
    ggml_opt_result_accuracy(result, &accuracy, NULL);
    printf("ggml %s, commit %s\n", ggml_version(), ggml_commit());
    return example_end(accuracy > 0.5,
                       "validation: loss %.6f, accuracy %.4f, "
                       "after %d steps",
                       loss, accuracy, (int)e.steps);
}
