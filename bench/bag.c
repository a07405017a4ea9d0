/* bag.c - the time of an item of a shuffled bag, and how even the orders are:
   perm_fill, lone calls, examples/extras/bag.h and what games use.

   The other ways, written from their descriptions:
   - Fisher-Yates: a table, of bench.c.
   - rejection: draws until the number is new, as raylib's LoadRandomSequence
     (raysan5/raylib, src/rcore.c) and rprand_load_sequence do.
   - Kensler's hash: the function permute of Correlated Multi-Jittered Sampling
     (Pixar Technical Memo 13-01, 2013). */
#include "bench.h"
#include "examples/extras/bag.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct deck {
    uint64_t *out; /* from array_of */
    uint32_t n, fills, key;
    uint32_t zero; /* 0, which the compiler does not know */
    bag b;
    void (*fill)(struct deck *d, uint64_t *out);
} deck;

/* --- the ways ------------------------------------------------------------- */

static void fill_at_once(deck *d, uint64_t *out)
{
    statesampler_perm perm;
    must(statesampler_perm_init(&perm, d->n, 1, d->key, 0) == 0, "perm_init");
    statesampler_perm_fill(&perm, 0, 1, out, d->n);
}

/* Each call waits for the one before, as in a game that asks now and then. */
static void fill_by_calls(deck *d, uint64_t *out)
{
    statesampler_perm perm;
    uint64_t index = 0;
    uint32_t i;
    must(statesampler_perm_init(&perm, d->n, 1, d->key, 0) == 0, "perm_init");
    for (i = 0; i < d->n; i++)
        out[i] = index = statesampler_perm_at(&perm, i + index * d->zero);
}

static void fill_by_draws(deck *d, uint64_t *out)
{
    uint32_t i, item = 0;
    for (i = 0; i < d->n; i++) {
        bag_draw(&d->b, &item);
        out[i] = item;
    }
}

/* The first item of each bag is a chosen one: a song that was clicked. */
static void fill_by_take(deck *d, uint64_t *out)
{
    uint32_t i, item = (uint32_t)((splitmix(d->key) >> 32) * d->n >> 32);
    must(bag_take(&d->b, item) == STATESAMPLER_OK, "bag_take");
    out[0] = item;
    for (i = 1; i < d->n; i++) {
        bag_draw(&d->b, &item);
        out[i] = item;
    }
}

static void fill_table(deck *d, uint64_t *out)
{
    fisher_yates(out, d->n, splitmix(d->key));
}

static void fill_by_rejection(deck *d, uint64_t *out)
{
    uint64_t x = splitmix(d->key), value;
    uint32_t i = 0, j;
    while (i < d->n) {
        x = splitmix(x);
        value = (x >> 32) * d->n >> 32;
        for (j = 0; j < i && out[j] != value; j++)
            continue;
        if (j == i)
            out[i++] = value;
    }
}

static uint32_t stir(uint32_t x, uint32_t mask, int shift, uint32_t factor)
{
    return (x ^ (x & mask) >> shift) * factor;
}

/* Walks until it falls below n, in the next power of two; all of it is a
   bijection of that. */
static uint32_t kensler(uint32_t x, uint32_t n, uint32_t mask, uint32_t key)
{
    do {
        x = (x ^ key) * 0xe170893d;
        x = stir(x ^ key >> 16, mask, 4, 1);
        x = (x ^ key >> 8) * 0x0929eb3f;
        x = stir(x ^ key >> 23, mask, 1, (1 | key >> 27) * 0x6935fa69);
        x = stir(x, mask, 11, 0x74dcb303);
        x = stir(x, mask, 2, 0x9e501cc3);
        x = stir(x, mask, 2, 0xc860a3df) & mask;
        x ^= x >> 5;
    } while (x >= n);
    return (x + key) % n;
}

/* Calls that wait, too. */
static void fill_by_hash(deck *d, uint64_t *out)
{
    uint32_t key = (uint32_t)splitmix(d->key), mask = 1, index = 0, i;
    while (mask < d->n - 1)
        mask = mask << 1 | 1;
    for (i = 0; i < d->n; i++)
        out[i] = index = kensler(i + index * d->zero, d->n, mask, key);
}

enum { TABLE, FILL, DRAW, TAKE, CALLS, HASH, REJECTION, WAYS };

/* most: the largest n that it is asked for. against: the way that its ratio is
   to; a bag with a take is as fast as one without, or nearly so. */
static const struct {
    const char *name;
    void (*fill)(deck *d, uint64_t *out);
    uint32_t most;
    size_t against;
} ways[WAYS] = {
    {"Fisher-Yates", fill_table, 1000000, TABLE},
    {"perm_fill", fill_at_once, 1000000, TABLE},
    {"bag_draw", fill_by_draws, 1000000, TABLE},
    {"bag_take and bag_draw", fill_by_take, 1000000, DRAW},
    {"lone calls of perm_at", fill_by_calls, 1000000, TABLE},
    {"lone calls of Kensler's hash", fill_by_hash, 1000000, TABLE},
    {"rejection", fill_by_rejection, 1024, TABLE},
};

/* --- times ---------------------------------------------------------------- */

static void deck_run(void *data)
{
    deck *d = data;
    uint32_t i;
    for (i = 0; i < d->fills; i++, d->key++)
        d->fill(d, here(d->out));
}

static void deck_check(void *data)
{
    const deck *d = data;
    statesampler_audit audit = {0, 0, 0, 0};
    statesampler_audit_add(&audit, here(d->out), d->n);
    must(statesampler_audit_check(&audit, d->n) == 1, "a bag's order");
}

static void deck_init(deck *d, uint32_t n, void (*fill)(deck *, uint64_t *))
{
    uint32_t i;
    bag b = {NULL, NULL, n, n, 1, 0, 0, 0, 0, 0};
    b.items = malloc(n * sizeof(uint32_t));
    b.order = malloc(n * sizeof(uint64_t));
    must(b.items != NULL && b.order != NULL, "memory");
    for (i = 0; i < n; i++)
        b.items[i] = i;
    d->b = b;
    must(bag_begin(&d->b, NULL) == STATESAMPLER_OK, "bag_begin");
    d->out = array_of(n);
    d->n = n;
    d->fills = n < ARRAY ? ARRAY / n : 1;
    d->key = d->zero = 0;
    d->fill = fill;
}

static void measure(const char *name, uint32_t n)
{
    char figure[80];
    deck decks[WAYS];
    contender c[WAYS];
    size_t i, k, count = 0;
    for (i = 0; i < WAYS; i++) {
        const contender fresh = {deck_run, NULL, deck_check, &decks[i], 0};
        if (n > ways[i].most)
            continue;
        deck_init(&decks[i], n, ways[i].fill);
        c[count++] = fresh;
    }
    race(c, count, 3);
    for (i = 0; i < WAYS; i++) {
        k = ways[i].against;
        snprintf(figure, sizeof figure, "a bag of %s; %s", name, ways[i].name);
        if (n > ways[i].most)
            row_missing(figure, "its time grows with n^2");
        else
            row(figure, c[i].ns / n / decks[i].fills, "ns/index", ways[k].name,
                c[k].ns / n / decks[k].fills, NO_BAR);
    }
}

/* --- orders of five ------------------------------------------------------- */

/* The number of an order: 0 .. 119. */
static unsigned number_of(const uint64_t *order)
{
    unsigned number = 0;
    int i, j;
    for (i = 0; i < 5; i++) {
        number *= (unsigned)(5 - i);
        for (j = i + 1; j < 5; j++)
            number += order[j] < order[i];
    }
    return number;
}

/* chi^2 over its 119 degrees of freedom: about 1 if all orders are as likely.
   A bag's own orders do not begin with what came last, which is not asked. */
static void measure_orders(size_t way)
{
    const uint32_t keys = quick() ? 12000 : 1200000;
    const double wanted = keys / 120.;
    static unsigned found[120];
    char figure[80];
    uint64_t out[5];
    double chi = 0;
    unsigned i;
    deck d;
    d.n = 5;
    d.zero = 0;
    for (i = 0; i < 120; i++)
        found[i] = 0;
    for (d.key = 0; d.key < keys; d.key++) {
        ways[way].fill(&d, out);
        found[number_of(out)]++;
    }
    for (i = 0; i < 120; i++)
        chi += (found[i] - wanted) * (found[i] - wanted) / wanted;
    snprintf(figure, sizeof figure, "orders of 5; %s", ways[way].name);
    row_plain(figure, chi / 119, "chi^2/119");
}

int main(void)
{
    size_t i;
    measure("16", 16);
    measure("52", 52);
    measure("1024", 1024);
    measure("10^6", quick() ? 100000 : 1000000);
    for (i = 0; i < WAYS; i++)
        if (i != DRAW && i != TAKE)
            measure_orders(i);
    return 0;
}
