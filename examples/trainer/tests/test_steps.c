/* test_steps.c - the arithmetic of a step against straightforward forms of it:
   sums of integers, the optimizers, the loss scale; and a whole training
   against a sequential one that is written out here. One process, with MPI for
   itself. The argument is the configuration of the small model. */
#include "agree.h"
#include "config.h"
#include "memory.h"
#include "run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int failures;

static void check(int good, const char *what, double value)
{
    if (!good) {
        failures++;
        printf("FAIL %s (%.17g)\n", what, value);
    }
}

/* ---- Integers ---- */

static void sums(void)
{
    static const float good[] = {0, 1, -1, 2047.9f, -2047.9f, 1e-13f, 0.1f};
    const float bad[] = {2048, -2048, INFINITY, -INFINITY, NAN};
    int64_t sum[7] = {0}, one;
    size_t i;

    check(reduce_round(sum, good, 7, 1) == 0, "all fit", 0);
    for (i = 0; i < 7; i++)
        check(sum[i] == llrint(ldexp((double)good[i], 40)),
              "rounded to a multiple of 2^-40", (double)good[i]);
    check(reduce_round(sum, good, 7, -1) == 0, "all fit, negated", 0);
    for (i = 0; i < 7; i++)
        check(sum[i] == 0, "a value and its negative are 0", (double)sum[i]);
    for (i = 0; i < 5; i++) {
        one = 5;
        check(reduce_round(&one, bad + i, 1, 1) == 1 && one == 5,
              "what does not fit is counted, and not added", (double)i);
    }
}

static void owners(void)
{
    const model_shape shape = {3, 4, 32, 128, 32};
    model m;
    int world, rank;
    size_t t, size;

    model_init(&m, &shape, 1, 0);
    for (world = 1; world <= 8; world++) {
        reduce_owners(&m, 0, world);
        for (rank = 0; rank < world; rank++) {
            for (t = 0, size = 0; t < m.num_tensors; t++)
                size += m.tensors[t].owner == rank ? m.tensors[t].size : 0;
            check(size <= m.num_weights / (size_t)world + m.largest,
                  "an owner has at most total / W + the largest", (double)size);
        }
    }
}

/* ---- Rules ---- */

enum { SIZE = 33 };

static void fill(float *values, double from)
{
    int i;

    for (i = 0; i < SIZE; i++)
        values[i] = (float)(sin(from + i) * 0.7);
}

static double norm_of(const float *values)
{
    double sum = 0;
    int i;

    for (i = 0; i < SIZE; i++)
        sum += (double)values[i] * (double)values[i];
    return sqrt(sum);
}

/* Two steps of SGD, in double, with LARC (clip 0 or 1) or without it (-1). */
static void sgd(int nesterov, int clip)
{
    const struct trainer_config c = {
        .weight_decay = 0.05,
        .momentum = 0.9,
        .nesterov = nesterov,
        .use_larc = clip >= 0,
        .larc_clip = clip > 0,
        .larc_trust_coefficient = 0.2,
        .larc_eps = 1e-8,
    };
    float weight[SIZE], gradient[SIZE], momentum[SIZE] = {0};
    const model_tensor t = {.size = SIZE, .array = {weight, momentum}};
    double w[SIZE], buffer[SIZE] = {0}, scale, g, d;
    int step, i;

    fill(weight, 1);
    for (i = 0; i < SIZE; i++)
        w[i] = (double)weight[i];
    for (step = 0; step < 2; step++) {
        fill(gradient, 2 + step);
        scale = 0.2 * norm_of(weight) /
                (norm_of(gradient) + norm_of(weight) * 0.05 + 1e-8);
        scale = clip > 0 ? fmin(scale / 0.3, 1) : scale;
        for (i = 0; i < SIZE; i++) {
            g = (double)gradient[i] + 0.05 * w[i];
            g *= clip >= 0 ? scale : 1;
            buffer[i] = step == 0 ? g : 0.9 * buffer[i] + g;
            d = nesterov ? g + 0.9 * buffer[i] : buffer[i];
            w[i] -= 0.3 * d;
        }
        optimizer_sgd(&c, &t, gradient, 0.3);
        for (i = 0; i < SIZE; i++)
            check(fabs((double)weight[i] - w[i]) < 2e-6, "SGD",
                  (double)weight[i] - w[i]);
    }
}

/* LARC leaves a tensor of zeros its plain step, and does not decay one without
   a gradient. */
static void larc_of_zeros(void)
{
    const struct trainer_config c = {
        .weight_decay = 0.1,
        .use_larc = 1,
        .larc_trust_coefficient = 0.001,
        .larc_eps = 1e-8,
    };
    float weight[SIZE] = {0}, gradient[SIZE], zero[SIZE] = {0}, was[SIZE];
    const model_tensor t = {.size = SIZE, .array = {weight}};
    int i;

    fill(gradient, 3);
    optimizer_sgd(&c, &t, gradient, 0.5);
    for (i = 0; i < SIZE; i++)
        check(weight[i] == -0.5f * gradient[i], "LARC of zero weights",
              (double)weight[i]);
    fill(weight, 4);
    memcpy(was, weight, sizeof was);
    optimizer_sgd(&c, &t, zero, 0.5);
    check(memcmp(was, weight, sizeof was) == 0, "LARC of zero gradients", 0);
}

/* Also where a power of the elements themselves is 0 or infinite. */
static void norms(void)
{
    static const struct {
        float values[2];
        double power, norm;
    } cases[] = {
        {{3, -4}, 2, 5},
        {{-3, 4}, 1, 7},
        {{3, -4}, INFINITY, 4},
        {{0.002f, 0.001f}, 1000, 0.002},
        {{2000, -1}, 1000, 2000},
        {{2000, 2000}, 1000, 2000 * 1.0006933874625807},
        {{1e-30f, 0}, 2, 1e-30},
        {{0, 0}, 3, 0},
    };
    size_t i;

    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        const double norm = optimizer_norm(cases[i].values, 2, cases[i].power);

        check(fabs(norm - cases[i].norm) <= 1e-7 * cases[i].norm, "a norm",
              norm);
    }
}

static void adamw(void)
{
    const struct trainer_config c = {
        .weight_decay = 0.1,
        .betas = {.items = {0.9, 0.99}},
    };
    float weight[SIZE], gradient[SIZE], mean[SIZE] = {0}, square[SIZE] = {0};
    const model_tensor t = {.size = SIZE, .array = {weight, mean, square}};
    double w[SIZE], m[SIZE] = {0}, v[SIZE] = {0}, g;
    int step, i;

    fill(weight, 5);
    for (i = 0; i < SIZE; i++)
        w[i] = (double)weight[i];
    for (step = 1; step <= 3; step++) {
        fill(gradient, 6 + step);
        optimizer_adamw(&c, &t, gradient, 0.01, (uint64_t)step);
        for (i = 0; i < SIZE; i++) {
            g = (double)gradient[i];
            w[i] *= 1 - 0.01 * 0.1;
            m[i] = 0.9 * m[i] + 0.1 * g;
            v[i] = 0.99 * v[i] + 0.01 * g * g;
            w[i] -= 0.01 * (m[i] / (1 - pow(0.9, step))) /
                    (sqrt(v[i] / (1 - pow(0.99, step))) + 1e-8);
            check(fabs((double)weight[i] - w[i]) < 2e-6, "AdamW",
                  (double)weight[i] - w[i]);
        }
    }
}

static void scale(void)
{
    scaler s;
    int i;

    scaler_init(&s, 1, 0);
    check(s.scale == 65536 && scaler_skips(&s, 1) && s.scale == 32768,
          "halved and skipped on overflow", s.scale);
    for (i = 0; i < 1999; i++)
        check(!scaler_skips(&s, 0), "a good step is taken", i);
    check(s.scale == 32768 && s.unskipped == 1999, "1,999 good steps", s.scale);
    scaler_skips(&s, 1);
    check(s.scale == 16384 && s.unskipped == 0, "the count begins anew",
          s.scale);
    for (i = 0; i < 2000 * 12; i++)
        scaler_skips(&s, 0);
    check(s.scale == 16777216, "at most 2^24", s.scale);
    scaler_init(&s, 1, 128);
    check(!scaler_skips(&s, 1) && s.scale == 128, "a fixed one never skips",
          s.scale);
}

/* ---- A sequential training ---- */

static int64_t *total; /* of a step's gradients */
static const model *reference;

static void collect(void *context, size_t tensor, const real *gradient)
{
    const model_tensor *t = reference->tensors + tensor;
    size_t i;

    (void)context;
    for (i = 0; i < t->size; i++)
        total[t->offset + i] += llrint(ldexp((double)gradient[i], 40));
}

/* One step of the reference: leaves from all ranks of the run, one after the
   other, momentum 0.9, rate 0.1, weight decay 0.0001 but for layernorms. */
static void step_of_reference(model *m, float *momentum, statesampler_mix *mix,
                              uint32_t ranks, const text *t)
{
    uint64_t batch[64], turn = statesampler_mix_turn(mix);
    size_t count, i, n = 0, k;
    uint32_t rank, source;

    memset(total, 0, m->num_weights * sizeof *total);
    for (rank = 0; rank < ranks; rank++) {
        statesampler_mix_reshape(mix, rank, ranks);
        statesampler_mix_at(mix, turn, batch, &count, &source);
        for (i = 0; i < count; i++, n++)
            model_leaf(m, text_train(t, source, batch[i]), 1, collect, NULL);
    }
    statesampler_mix_next(mix, NULL, &count, &source);
    for (k = 0; k < m->num_tensors; k++) {
        const model_tensor *tensor = m->tensors + k;

        for (i = tensor->offset; i < tensor->offset + tensor->size; i++) {
            float g = (float)(ldexp((double)total[i], -40) / (double)n);

            g += (tensor->kind == MODEL_NORM ? 0 : 1e-4f) * m->weights[i];
            momentum[i] = 0.9f * momentum[i] + g;
            m->weights[i] -= 0.1f * momentum[i];
        }
    }
}

/* Weights whose losses are small, but whose gradients fit at no scale: the
   layernorms' inputs are all but 0, and the last product's weights are large.
   The rate is 0, so that they stay. */
static void never_fits(run *r)
{
    const model_tensor *tensors = r->model.tensors;
    const char *wrong = "";
    char words[128];
    size_t t, i;
    int step;

    for (t = 0; t < r->model.num_tensors; t++) {
        const int last = strcmp(tensors[t].name, "head.weight") == 0;
        float factor = 1e-6f;

        if (last)
            factor = 3000;
        else if (tensors[t].kind == MODEL_NORM)
            factor = 1;
        for (i = 0; i < tensors[t].size; i++)
            r->model.weights[tensors[t].offset + i] *= factor;
    }
    r->config.curve[0].value = 0;
    scaler_init(&r->scaler, 1, 0);
    for (step = 0; step < 50 && !*wrong; step++) {
        if (feed_at_end(&r->feed))
            feed_end_epoch(&r->feed, words, sizeof words);
        wrong = run_step(r);
    }
    check(strcmp(wrong, "a gradient overflowed: lower the learning rate") == 0,
          *wrong ? wrong : "skipped for ever", step);
    check(r->skipped > 30, "the scale was halved before", (double)r->skipped);
}

static void sequential(const char *yaml)
{
    static run r;
    static feed order;
    const char *wrong;
    float *momentum;
    model m;
    int step;

    r.config = config_defaults;
    check(config_read(&r.config, yaml) && config_check(&r.config, 1),
          r.config.error, 0);
    r.world = 1;
    run_init(&r);
    check(*feed_init(&order, &r.text, &r.config) == 0, "feed", 0);
    model_init(&m, &r.model.shape, 1, 0);
    model_fill(&m, (uint64_t)r.config.seed_value);
    reference = &m;
    total = (int64_t *)calloc(m.num_weights, sizeof *total);
    momentum = (float *)calloc(m.num_weights, sizeof *momentum);
    for (step = 0; step < 15; step++) {
        wrong = run_step(&r);
        check(*wrong == 0, wrong, step);
        step_of_reference(&m, momentum, &order.mix,
                          (uint32_t)r.config.world_size, &r.text);
        check(memcmp(m.weights, r.model.weights,
                     m.num_weights * sizeof(float)) == 0,
              "the same bits as a sequential training", step);
    }
    printf("note: 15 steps of %u weights\n", (unsigned)m.num_weights);
    never_fits(&r);
}

int main(int argc, char **argv)
{
    agree_begin(&argc, &argv);
    sums();
    owners();
    sgd(0, -1);
    sgd(1, -1);
    sgd(0, 0);
    sgd(1, 1);
    larc_of_zeros();
    norms();
    adamw();
    scale();
    sequential(argc > 1 ? argv[1] : "examples/trainer/tests/small.yaml");
    MPI_Finalize();
    return failures != 0;
}
