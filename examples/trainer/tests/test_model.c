/* test_model.c - the gradients of the trainer's model, each by central
   differences in a double build of the same source (TRAINER_DOUBLE); in the
   float build, the same gradients and bits for any number of segments. With an
   argument it writes the gradients there, for torch_gradients.py. */
#include "statesampler.h"
#include "memory.h"
#include "model.h"

#include <cblas.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Two blocks have every kind of gradient; three can be cut into segments. */
#ifdef TRAINER_DOUBLE
static const model_shape shape = {2, 2, 16, 40, 8};
#else
static const model_shape shape = {3, 2, 16, 40, 12};
#endif
static const unsigned char text[] = "to be or not to be";

static int failures;

static void check(int good, const char *what, const char *about, double value)
{
    if (!good) {
        failures++;
        printf("FAIL %s: %s (%g)\n", what, about, value);
    }
}

/* Where the gradients of a leaf go. */
typedef struct place {
    const model *m;
    real *gradients;
    size_t next; /* the tensor that has to come, plus 1 */
} place;

static void take(void *context, size_t tensor, const real *gradient)
{
    place *p = (place *)context;
    const model_tensor *t = p->m->tensors + tensor;

    check(tensor + 1 == p->next, "tensors come from the last to the first",
          t->name, (double)tensor);
    p->next = tensor;
    memcpy(p->gradients + t->offset, gradient, t->size * sizeof *gradient);
}

static real *gradients_of(model *m, double *nats)
{
    place p;

    p.m = m;
    p.next = m->num_tensors;
    p.gradients = (real *)calloc(m->num_weights, sizeof(real));
    *nats = model_leaf(m, text, 1, take, &p);
    check(p.next == 0, "every tensor has a gradient", "first missing",
          (double)p.next);
    return p.gradients;
}

/* Larger weights than at a start, so that every part of the model matters. */
static void make(model *m, size_t splits, int half)
{
    size_t i;

    model_init(m, &shape, splits, half);
    model_fill(m, 7);
    for (i = 0; i < m->num_weights; i++)
        m->weights[i] *= (real)(i % 3 == 0 ? 6 : 5);
}

#ifdef TRAINER_DOUBLE

/* The error of a whole tensor, relative to the length of its gradient. */
static void differences(void)
{
    const double step = 1e-5;
    double nats;
    model m;
    real *gradients;
    size_t t, i;

    make(&m, 1, 0);
    gradients = gradients_of(&m, &nats);
    for (t = 0; t < m.num_tensors; t++) {
        const model_tensor *tensor = m.tensors + t;
        double wrong = 0, length = 0;

        for (i = tensor->offset; i < tensor->offset + tensor->size; i++) {
            const double before = m.weights[i];
            double up, down, slope;

            m.weights[i] = before + step;
            up = model_leaf(&m, text, 1, NULL, NULL);
            m.weights[i] = before - step;
            down = model_leaf(&m, text, 1, NULL, NULL);
            m.weights[i] = before;
            slope = (up - down) / (2 * step);
            wrong += (slope - gradients[i]) * (slope - gradients[i]);
            length += slope * slope;
        }
        check(length > 0 && sqrt(wrong / length) <= 1e-6, "central differences",
              tensor->name, sqrt(wrong / length));
    }
    printf("note: %u tensors, %u weights\n", (unsigned)m.num_tensors,
           (unsigned)m.num_weights);
}

#else

/* The bytes of activations: what the blocks of the longest segment keep, and
   the inputs of all segments but the last. */
static size_t activation_bytes(const model_shape *is, size_t splits, int half)
{
    const size_t stream = is->context * is->width * sizeof(real);
    const size_t width = 6 * is->width + 2 * is->mlp;
    const size_t rest = (width + is->heads * is->context) * is->context;
    const size_t block = 2 * stream + rest * (half ? 2 : sizeof(real));

    return block * ((is->layers + splits - 1) / splits) + (splits - 1) * stream;
}

static void splits_change_nothing(int half)
{
    double nats, nats_split;
    size_t splits, before;
    model m;
    real *gradients, *split;

    make(&m, 1, half);
    gradients = gradients_of(&m, &nats);
    for (splits = 1; splits <= shape.layers; splits++) {
        before = memory_taken[MEMORY_ACTIVATIONS];
        make(&m, splits, half);
        check(memory_taken[MEMORY_ACTIVATIONS] - before ==
                  activation_bytes(&shape, splits, half),
              "activations are what the formula says", half ? "O1" : "O0",
              (double)splits);
        split = gradients_of(&m, &nats_split);
        check(nats == nats_split &&
                  memcmp(gradients, split, m.num_weights * sizeof(real)) == 0,
              "any number of splits gives the same bits", half ? "O1" : "O0",
              (double)splits);
    }
}

/* Rounding by bits is what the processor does, and goes back and forth. */
static void halves(void)
{
    uint64_t bits;
    uint32_t half;

    for (half = 0; half < 65536; half++) {
        uint16_t h = (uint16_t)half, again, kept;
        real x = half_to_float(h), y = -1;

        again = half_from_float((float)x);
        check(again == h || (x != x && again == (h | 0x200)),
              "half to float and back", "half", (double)half);
        half_round(&x, &kept, 1);
        half_expand(&y, &h, 1);
        check(memcmp(&x, &y, sizeof x) == 0, "half to float", "half",
              (double)half);
    }
    for (bits = 0; bits < (uint64_t)1 << 32; bits += 8 * 97) {
        real x[8];
        uint16_t kept[8];
        int i;

        for (i = 0; i < 8; i++) {
            uint32_t word = (uint32_t)(bits + (uint64_t)i * 97);

            memcpy(&x[i], &word, 4);
        }
        half_round(x, kept, 8);
        for (i = 0; i < 8; i++) {
            uint32_t word = (uint32_t)(bits + (uint64_t)i * 97);
            float was;

            memcpy(&was, &word, 4);
            if (half_from_float(was) != kept[i])
                check(0, "float to half", "bits", (double)word);
        }
    }
}

static void o1_is_near(void)
{
    double exact, rounded, wrong = 0, length = 0;
    model m;
    real *a, *b;
    size_t i;

    make(&m, 1, 0);
    a = gradients_of(&m, &exact);
    make(&m, 1, 1);
    b = gradients_of(&m, &rounded);
    for (i = 0; i < m.num_weights; i++) {
        wrong += (double)((a[i] - b[i]) * (a[i] - b[i]));
        length += (double)(a[i] * a[i]);
    }
    check(exact != rounded && fabs(exact - rounded) < 1e-2 * exact,
          "O1's loss is near", "nats", rounded - exact);
    check(wrong > 0 && sqrt(wrong / length) < 1e-2, "O1's gradient is near",
          "relative", sqrt(wrong / length));
}

/* What torch_gradients.py reads. */
static void dump(const char *path)
{
    FILE *file = fopen(path, "wb");
    const uint64_t sizes[5] = {shape.layers, shape.heads, shape.width,
                               shape.mlp, shape.context};
    double nats;
    uint64_t count;
    model m;
    real *gradients;
    size_t t;

    make(&m, 1, 0);
    gradients = gradients_of(&m, &nats);
    count = m.num_tensors;
    check(file != NULL, "the dump is written", path, 0);
    if (!file)
        return;
    fwrite(sizes, 8, 5, file);
    fwrite(&count, 8, 1, file);
    fwrite(&nats, 8, 1, file);
    fwrite(text, 1, shape.context + 1, file);
    for (t = 0; t < m.num_tensors; t++) {
        count = m.tensors[t].size;
        fwrite(m.tensors[t].name, 1, 48, file);
        fwrite(&count, 8, 1, file);
        fwrite(m.weights + m.tensors[t].offset, 4, count, file);
        fwrite(gradients + m.tensors[t].offset, 4, count, file);
    }
    check(fclose(file) == 0, "the dump is written", path, 0);
}

#endif

int main(int argc, char **argv)
{
    openblas_set_num_threads(1);
    (void)argc;
    (void)argv;
#ifdef TRAINER_DOUBLE
    differences();
#else
    splits_change_nothing(0);
    splits_change_nothing(1);
    halves();
    o1_is_near();
    if (argc > 1)
        dump(argv[1]);
#endif
    return failures != 0;
}
