/* look.c - looks at a checkpoint without training: see checkpoint.h. */
#define _XOPEN_SOURCE 700 /* drand48 */

#include "agree.h"
#include "checkpoint.h"
#include "memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WRITTEN = 400 };

static void print_tensors(const model *m)
{
    size_t t, i;

    printf("%-28s %9s %16s\n", "tensor", "size", "root mean square");
    for (t = 0; t < m->num_tensors; t++) {
        const model_tensor *tensor = m->tensors + t;
        double squares = 0;

        for (i = tensor->offset; i < tensor->offset + tensor->size; i++)
            squares += (double)m->weights[i] * (double)m->weights[i];
        printf("%-28s %9zu %16.6f\n", tensor->name, tensor->size,
               sqrt(squares / (double)tensor->size));
    }
}

/* The byte that follows `used` bytes, drawn with its probability. */
static unsigned char next_byte(model *m, const unsigned char *bytes,
                               size_t used)
{
    const real *row = m->logits + (used - 1) * MODEL_BYTES;
    double left = drand48();
    int byte;

    /* Leaves probability - 1 of the right byte, which is 0 here, in logits. */
    model_leaf(m, bytes, (real)m->shape.context, NULL, NULL);
    for (byte = 0; byte < MODEL_BYTES - 1; byte++) {
        left -= (double)row[byte] + (byte == bytes[used]);
        if (left < 0)
            break;
    }
    return (unsigned char)byte;
}

/* The last bytes that fit are the context. */
static void write_text(model *m, const char *words)
{
    const size_t most = m->shape.context;
    unsigned char *bytes = memory_borrow(most + 1, 1);
    size_t used = strlen(words), i;

    used = used < most ? used : most;
    memcpy(bytes, words + strlen(words) - used, used);
    if (used == 0)
        bytes[used++] = '\n';
    printf("%s", words);
    for (i = 0; i < WRITTEN; i++) {
        if (used == most)
            memmove(bytes, bytes + 1, --used);
        bytes[used] = next_byte(m, bytes, used);
        putchar(bytes[used++]);
    }
    putchar('\n');
    free(bytes);
}

void look(const char *path, const char *words)
{
    static run r;

    agree_begin(NULL, NULL);
    r.world = 1;
    agree(checkpoint_config(path, &r.config));
    run_init_model(&r);
    agree(checkpoint_take_weights(&r, path));
    if (words)
        write_text(&r.model, words);
    else
        print_tensors(&r.model);
    MPI_Finalize();
}
