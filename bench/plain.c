/* plain.c - perm_fill as most programs compile it, without an option for the
   processor, compared with the same file compiled with -mavx2. Or, with
   -DWHEEL='"FILE"', that of a library of Python's wheel. */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

typedef void fill_function(const statesampler_perm *perm, uint64_t first,
                           uint64_t stride, uint64_t *out, size_t count);

fill_function fill_plain, fill_avx2;

#ifdef WHEEL
#include <dlfcn.h>

#define TITLE "bulk by the wheel's library"

static fill_function *first_one(void)
{
    void *library = dlopen(WHEEL, RTLD_NOW);
    fill_function *function = NULL;

    must(library != NULL, "the wheel's library does not load");
    *(void **)&function = dlsym(library, "statesampler_perm_fill");
    must(function != NULL, "the wheel's library has no perm_fill");
    return function;
}
#else
#define TITLE "bulk without an option"

static fill_function *first_one(void)
{
    return fill_plain;
}
#endif

typedef struct fill {
    fill_function *function;
    statesampler_perm perm;
    uint64_t *out; /* from array_of */
    size_t count;  /* of a call; ARRAY indices are a run */
} fill;

static void fill_run(void *data)
{
    const fill *f = data;
    uint64_t *out = here(f->out);
    size_t done;

    for (done = 0; done < ARRAY; done += f->count)
        f->function(&f->perm, done, 8, out + done, f->count);
}

static void fill_check(void *data)
{
    const fill *f = data;
    const uint64_t *out = here(f->out);
    size_t i;

    for (i = 0; i < ARRAY; i += 61) {
        const uint64_t first = i / f->count * f->count;
        must(out[i] == statesampler_perm_at(&f->perm, first + i % f->count * 8),
             "perm_fill and perm_at differ");
    }
}

static void compare(const char *figure, uint64_t n, size_t count)
{
    fill f[2];
    contender c[2];
    int i;

    memset(c, 0, sizeof c);
    f[0].out = array_of(ARRAY);
    for (i = 0; i < 2; i++) {
        f[i].function = i == 0 ? first_one() : fill_avx2;
        must(statesampler_perm_init(&f[i].perm, n, 1, 2, 3) == 0, "perm_init");
        f[i].out = f[0].out;
        f[i].count = count;
        c[i].run = fill_run;
        c[i].check = fill_check;
        c[i].data = &f[i];
    }
    race(c, 2, 2);
    row(figure, c[0].ns / ARRAY, "ns/index", "-mavx2", c[1].ns / ARRAY, 1.2);
    free(f[0].out);
}

int main(void)
{
    compare(TITLE "; n = 10^8; 16384 at a time", 100000000, ARRAY);
    compare(TITLE "; n = 10^8; 64 at a time", 100000000, 64);
    compare(TITLE "; n = 2^40; 16384 at a time", (uint64_t)1 << 40, ARRAY);
    return 0;
}
