/* candidates.c - the permutation families that are compared: the header's,
   its network written again with any number of rounds, the Fisher-Yates
   control, and known bad ones. */
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include "shuffler.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK 256

/* --- the harness's generator --------------------------------------------- */

static uint64_t rotate(uint64_t x, unsigned by)
{
    return x << by | x >> (64 - by);
}

/* The finaliser of MurmurHash3 (Appleby): not the header's. */
static uint64_t finalise(uint64_t x)
{
    x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdu;
    x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53u;
    return x ^ (x >> 33);
}

void generator_seed(generator *g, uint64_t seed)
{
    int i;
    for (i = 0; i < 4; i++) {
        seed += 0x9e3779b97f4a7c15u;
        g->s[i] = finalise(seed);
    }
}

uint64_t generator_next(generator *g)
{
    uint64_t *s = g->s;
    uint64_t result = rotate(s[0] + s[3], 23) + s[0], t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate(s[3], 45);
    return result;
}

uint64_t generator_below(generator *g, uint64_t bound)
{
    /* The values below 2^64 mod bound are one too many for an even share. */
    uint64_t skip = (0 - bound) % bound, x;
    do {
        x = generator_next(g);
    } while (x < skip);
    return x % bound;
}

double generator_unit(generator *g)
{
    return ((double)(generator_next(g) >> 12) + 0.5) / 4503599627370496.0;
}

/* --- what the header takes ------------------------------------------------ */

static statesampler_perm header_of(uint64_t n)
{
    statesampler_perm perm;
    memset(&perm, 0, sizeof perm);
    statesampler_perm_init(&perm, n, 0, 0, 0);
    return perm;
}

void shuffler_grid(uint64_t n, uint64_t *left, uint64_t *right)
{
    statesampler_perm perm = header_of(n);
    *left = perm.left;
    *right = perm.right;
}

uint32_t shuffler_rounds_of(uint64_t n)
{
    return header_of(n).rounds;
}

int shuffler_wide(uint64_t n)
{
    return header_of(n).wide != 0;
}

/* --- the network, written again ------------------------------------------ */

typedef struct network {
    uint64_t n;
    uint32_t left, right, rounds, wide, one;
    uint32_t add[SHUFFLER_ROUNDS], mul[SHUFFLER_ROUNDS];
} network;

static void network_begin(const shuffler *self, void *state, uint64_t n,
                          uint64_t seed, uint64_t epoch, uint64_t stream)
{
    network *net = (network *)state;
    uint64_t words;
    uint32_t t;
    if (net->n != n) { /* a state stays with its shuffler */
        statesampler_perm perm = header_of(n);
        net->n = n;
        net->left = perm.left;
        net->right = perm.right;
        net->rounds = self->rounds ? self->rounds : perm.rounds;
        net->wide = perm.wide;
        net->one = self->variant == '1';
    }
    words = ssmp_derive(ssmp_epoch_key(seed, epoch, stream), n);
    for (t = 0; t < net->rounds; t++) {
        uint64_t word = ssmp_scramble(words + (net->wide ? t + 1 : t / 2 + 1) *
                                                  SSMP_GOLDEN);
        if (net->wide) {
            net->add[t] = (uint32_t)word;
            net->mul[t] = (uint32_t)(word >> 32) | 0x80000000u;
        } else {
            uint32_t key = (uint32_t)(word >> (t % 2 * 32));
            net->add[t] = key & 0xffffu;
            net->mul[t] = key >> 16 | 0x8000u;
        }
    }
}

/* The round functions, before the result is scaled to a half. */
static uint16_t narrow(uint16_t half, uint32_t add, uint32_t mul)
{
    uint32_t x = (uint16_t)(half ^ add);
    return (uint16_t)(x * (x * mul >> 16));
}

static uint32_t wide(uint32_t half, uint32_t add, uint32_t mul)
{
    uint32_t x = half ^ add;
    return x * (uint32_t)((uint64_t)x * mul >> 32);
}

/* The multiplier that scales, in round t on a half of this size; or the same
   one in all rounds, which is known to be bad. */
static uint32_t scale(const network *net, uint32_t size, uint32_t t)
{
    return net->one ? size : size - t / 2 * (size / 1024);
}

/* One round on a block of halves, in a form that compilers make vector code
   of: to -= F(from) modulo the size of `to`. */
static void narrow_round(uint16_t *to, const uint16_t *from, const network *net,
                         uint32_t t, uint32_t size)
{
    uint32_t add = net->add[t], mul = net->mul[t], by = scale(net, size, t);
    int i;
    for (i = 0; i < BLOCK; i++) {
        uint16_t v = (uint16_t)(narrow(from[i], add, mul) * by >> 16);
        uint16_t x = (uint16_t)(to[i] - v), y = (uint16_t)(x + size);
        to[i] = x < y ? x : y;
    }
}

static void wide_round(uint32_t *to, const uint32_t *from, const network *net,
                       uint32_t t, uint32_t size)
{
    uint32_t add = net->add[t], mul = net->mul[t], by = scale(net, size, t);
    int i;
    for (i = 0; i < BLOCK; i++) {
        uint32_t v = (uint32_t)((uint64_t)wide(from[i], add, mul) * by >> 32);
        uint32_t x = to[i] - v, y = x + size;
        to[i] = x < y ? x : y;
    }
}

/* All rounds once, on a block of pairs. */
static void network_pass(const network *net, uint32_t *l, uint32_t *r)
{
    uint16_t x[BLOCK], y[BLOCK];
    uint32_t t;
    int i;
    if (net->wide) {
        for (t = 0; t < net->rounds; t += 2) {
            wide_round(l, r, net, t, net->left);
            wide_round(r, l, net, t + 1, net->right);
        }
        return;
    }
    for (i = 0; i < BLOCK; i++) {
        x[i] = (uint16_t)l[i];
        y[i] = (uint16_t)r[i];
    }
    for (t = 0; t < net->rounds; t += 2) {
        narrow_round(x, y, net, t, net->left);
        narrow_round(y, x, net, t + 1, net->right);
    }
    for (i = 0; i < BLOCK; i++) {
        l[i] = x[i];
        r[i] = y[i];
    }
}

/* The same for one pair, by the plain definition. */
static uint64_t network_walk(const network *net, uint32_t l, uint32_t r)
{
    uint64_t index;
    uint32_t t;
    do {
        for (t = 0; t < net->rounds; t++) {
            uint32_t *to = t % 2 == 0 ? &l : &r;
            uint32_t from = t % 2 == 0 ? r : l;
            uint32_t size = t % 2 == 0 ? net->left : net->right;
            uint64_t hash =
                net->wide
                    ? (uint64_t)wide(from, net->add[t], net->mul[t])
                    : (uint64_t)narrow((uint16_t)from, net->add[t], net->mul[t])
                          << 16;
            uint32_t v = (uint32_t)(hash * scale(net, size, t) >> 32);
            *to = *to < v ? *to - v + size : *to - v;
        }
        index = (uint64_t)l * net->right + r;
    } while (index >= net->n);
    return index;
}

static uint64_t network_at(const void *state, uint64_t position)
{
    const network *net = (const network *)state;
    return network_walk(net, (uint32_t)(position / net->right),
                        (uint32_t)(position % net->right));
}

static void network_fill(const void *state, uint64_t first, uint64_t stride,
                         uint64_t *out, size_t count)
{
    const network *net = (const network *)state;
    uint64_t l = first / net->right, r = first % net->right;
    uint64_t step_l = stride / net->right, step_r = stride % net->right;
    if (count < BLOCK / 8) { /* a block would be mostly empty */
        size_t i;
        for (i = 0; i < count; i++) {
            out[i] = network_at(net, first + i * stride);
        }
        return;
    }
    while (count != 0) {
        uint32_t bl[BLOCK], br[BLOCK];
        size_t i, run = count < BLOCK ? count : BLOCK;
        for (i = 0; i < BLOCK; i++) {
            bl[i] = (uint32_t)l;
            br[i] = (uint32_t)r;
            if (i < run) {
                l += step_l;
                r += step_r;
                if (r >= net->right) {
                    r -= net->right;
                    l++;
                }
            }
        }
        network_pass(net, bl, br);
        for (i = 0; i < run; i++) {
            out[i] = (uint64_t)bl[i] * net->right + br[i];
        }
        for (i = 0; i < run; i++) {
            if (out[i] >= net->n) {
                out[i] = network_walk(net, bl[i], br[i]);
            }
        }
        out += run;
        count -= run;
    }
}

shuffler shuffler_network(uint32_t rounds)
{
    shuffler s;
    memset(&s, 0, sizeof s);
    s.name = "network";
    s.rounds = rounds;
    s.begin = network_begin;
    s.at = network_at;
    s.fill = network_fill;
    return s;
}

const shuffler shuffler_one_multiplier = {
    "one multiplier", 4, '1', network_begin, network_at, network_fill, 0,
};

/* --- the header ---------------------------------------------------------- */

static void header_begin(const shuffler *self, void *state, uint64_t n,
                         uint64_t seed, uint64_t epoch, uint64_t stream)
{
    statesampler_perm *perm = (statesampler_perm *)state;
    statesampler_perm_init(perm, n, seed, epoch, stream);
    if (self->rounds != 0 && self->rounds < perm->rounds) {
        perm->rounds = self->rounds;
    }
}

static uint64_t header_at(const void *state, uint64_t position)
{
    return statesampler_perm_at((const statesampler_perm *)state, position);
}

static void header_fill(const void *state, uint64_t first, uint64_t stride,
                        uint64_t *out, size_t count)
{
    statesampler_perm_fill((const statesampler_perm *)state, first, stride, out,
                           count);
}

const shuffler shuffler_header = {
    "statesampler.h", 0, 0, header_begin, header_at, header_fill, 0,
};

shuffler shuffler_header_rounds(uint32_t rounds)
{
    shuffler s = shuffler_header;
    s.rounds = rounds;
    return s;
}

/* --- the control ----------------------------------------------------------
   Fisher-Yates driven by ChaCha with 8 rounds (Bernstein, ChaCha, a variant
   of Salsa20, 2008) whose key is (n, seed, epoch, stream): no hashing of ours
   comes between, so that related keys are as good as any. A position's value
   is drawn when it is first asked for, so that few of them cost little: the
   k-th asked for takes step k of the shuffle. Where a table would be too
   large, a value not yet taken is drawn, which is the same law. */

typedef struct stream_cipher {
    uint32_t input[16], output[16];
    int used;
} stream_cipher;

/* All in use if their mark is the present one, so that begin need not clear.
   A drawn value stands by its position, and once more by itself. */
typedef struct marked {
    uint32_t mark, value;
} marked;

typedef struct drawn {
    uint64_t key, value;
    uint32_t mark;
} drawn;

typedef struct control {
    uint64_t n;
    int slip;
    uint32_t asked;           /* positions so far */
    marked *given, *table;    /* of SHUFFLER_TABLE: by position, by step */
    drawn *positions, *taken; /* of PLACES, open addressing */
    uint32_t mark;
    stream_cipher cipher;
} control;

#define PLACES (SHUFFLER_LAZY * 2)

static void cipher_quarter(uint32_t *x, int a, int b, int c, int d)
{
    x[a] += x[b], x[d] ^= x[a], x[d] = x[d] << 16 | x[d] >> 16;
    x[c] += x[d], x[b] ^= x[c], x[b] = x[b] << 12 | x[b] >> 20;
    x[a] += x[b], x[d] ^= x[a], x[d] = x[d] << 8 | x[d] >> 24;
    x[c] += x[d], x[b] ^= x[c], x[b] = x[b] << 7 | x[b] >> 25;
}

static void cipher_key(stream_cipher *cipher, const uint64_t *key)
{
    static const uint32_t sigma[4] = {0x61707865u, 0x3320646eu, 0x79622d32u,
                                      0x6b206574u};
    int i;
    for (i = 0; i < 4; i++) {
        cipher->input[i] = sigma[i];
        cipher->input[4 + 2 * i] = (uint32_t)key[i];
        cipher->input[5 + 2 * i] = (uint32_t)(key[i] >> 32);
        cipher->input[12 + i] = 0;
    }
    cipher->used = 16;
}

static uint32_t cipher_next(stream_cipher *cipher)
{
    if (cipher->used == 16) {
        uint32_t *x = cipher->output;
        int i;
        memcpy(x, cipher->input, sizeof cipher->input);
        for (i = 0; i < 4; i++) {
            cipher_quarter(x, 0, 4, 8, 12);
            cipher_quarter(x, 1, 5, 9, 13);
            cipher_quarter(x, 2, 6, 10, 14);
            cipher_quarter(x, 3, 7, 11, 15);
            cipher_quarter(x, 0, 5, 10, 15);
            cipher_quarter(x, 1, 6, 11, 12);
            cipher_quarter(x, 2, 7, 8, 13);
            cipher_quarter(x, 3, 4, 9, 14);
        }
        for (i = 0; i < 16; i++) {
            x[i] += cipher->input[i];
        }
        cipher->input[12]++;
        cipher->used = 0;
    }
    return cipher->output[cipher->used++];
}

/* Multiply-high with the uneven part rejected (Lemire, Fast random integer
   generation in an interval, 2019). */
static uint32_t cipher_below(stream_cipher *cipher, uint32_t bound)
{
    uint64_t product = (uint64_t)cipher_next(cipher) * bound;
    if ((uint32_t)product < bound) {
        uint32_t skip = (0 - bound) % bound;
        while ((uint32_t)product < skip) {
            product = (uint64_t)cipher_next(cipher) * bound;
        }
    }
    return (uint32_t)(product >> 32);
}

static uint64_t cipher_below64(stream_cipher *cipher, uint64_t bound)
{
    uint64_t skip = (0 - bound) % bound, x;
    do {
        x = (uint64_t)cipher_next(cipher) << 32;
        x |= cipher_next(cipher);
    } while (x < skip);
    return x % bound;
}

static void *claim(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (!memory) {
        abort(); /* a run without its control has no meaning */
    }
    return memory;
}

static void control_begin(const shuffler *self, void *state, uint64_t n,
                          uint64_t seed, uint64_t epoch, uint64_t stream)
{
    control *c = (control *)state;
    uint64_t key[4];
    key[0] = n;
    key[1] = seed;
    key[2] = epoch;
    key[3] = stream;
    cipher_key(&c->cipher, key);
    c->n = n;
    c->slip = self->variant == 'S';
    c->asked = 0;
    c->mark++;
    if (n <= SHUFFLER_TABLE && !c->table) {
        c->given = (marked *)claim(SHUFFLER_TABLE, sizeof(marked));
        c->table = (marked *)claim(SHUFFLER_TABLE, sizeof(marked));
    } else if (n > SHUFFLER_TABLE && !c->positions) {
        c->positions = (drawn *)claim(PLACES, sizeof(drawn));
        c->taken = (drawn *)claim(PLACES, sizeof(drawn));
    }
}

/* What the table holds at a step: the step itself until it was swapped. */
static uint32_t control_held(const control *c, uint32_t step)
{
    return c->table[step].mark == c->mark ? c->table[step].value : step;
}

/* Step k swaps k with one of k .. n - 1. Sattolo's slip, never with itself,
   makes one cycle of all, where positions are asked for in their order. */
static uint32_t control_step(control *c, uint64_t position)
{
    marked *given = &c->given[position];
    if (given->mark != c->mark) {
        uint32_t step = c->asked++, left = (uint32_t)c->n - step, with = step;
        if (left > 1) {
            with += c->slip ? 1 + cipher_below(&c->cipher, left - 1)
                            : cipher_below(&c->cipher, left);
        }
        given->mark = c->mark;
        given->value = control_held(c, with);
        c->table[with].value = control_held(c, step);
        c->table[with].mark = c->mark;
    }
    return given->value;
}

/* The place of a key, or the free one where it belongs. Ends: at most half
   of the places are in use. */
static drawn *control_place(drawn *places, uint32_t mark, uint64_t key)
{
    uint64_t place = finalise(key) % PLACES;
    while (places[place].mark == mark && places[place].key != key) {
        place = (place + 1) % PLACES;
    }
    return &places[place];
}

static uint64_t control_draw(control *c, uint64_t position)
{
    drawn *given = control_place(c->positions, c->mark, position), *taken;
    if (given->mark != c->mark) {
        do {
            given->value = cipher_below64(&c->cipher, c->n);
            taken = control_place(c->taken, c->mark, given->value);
        } while (taken->mark == c->mark);
        given->key = position;
        taken->key = given->value;
        given->mark = taken->mark = c->mark;
    }
    return given->value;
}

static uint64_t control_at(const void *state, uint64_t position)
{
    /* What is drawn at the first call is remembered: to the caller this is a
       table that was there all along. */
    control *c = (control *)(uintptr_t)state;
    return c->n <= SHUFFLER_TABLE ? control_step(c, position)
                                  : control_draw(c, position);
}

static void control_fill(const void *state, uint64_t first, uint64_t stride,
                         uint64_t *out, size_t count)
{
    size_t i;
    for (i = 0; i < count; i++) {
        out[i] = control_at(state, first + i * stride);
    }
}

const shuffler shuffler_control = {
    "Fisher-Yates", 0, 0, control_begin, control_at, control_fill, 1,
};
const shuffler shuffler_sattolo = {
    "Sattolo", 0, 'S', control_begin, control_at, control_fill, 1,
};

/* --- known bad ----------------------------------------------------------- */

typedef struct simple {
    uint64_t n, a, b, mask, key;
} simple;

/* a * x + b modulo n, a without a common factor with n: as some samplers
   stride through their data. The rotation or reflection has a = 1 or -1. */
static void affine_begin(const shuffler *self, void *state, uint64_t n,
                         uint64_t seed, uint64_t epoch, uint64_t stream)
{
    simple *s = (simple *)state;
    generator g;
    uint64_t x, y, t;
    generator_seed(&g, finalise(finalise(seed + finalise(epoch)) + stream));
    s->n = n;
    s->b = generator_below(&g, n);
    do {
        s->a = 1 + generator_below(&g, n);
        for (x = n, y = s->a; y != 0; t = x % y, x = y, y = t) {
        }
    } while (x != 1);
    if (self->variant == 'R') {
        s->a = s->b % 2 ? 1 : n - 1;
    }
}

static uint64_t affine_at(const void *state, uint64_t position)
{
    const simple *s = (const simple *)state;
    /* a * position by doubling, as the product may exceed 64 bits; n is at
       most 2^62, so that no sum does. */
    uint64_t sum = s->b, x = s->a % s->n;
    if (s->n <= (uint64_t)1 << 31) {
        return (x * position + sum) % s->n;
    }
    for (; position != 0; position >>= 1) {
        if (position & 1) {
            sum += x;
            sum -= sum >= s->n ? s->n : 0;
        }
        x += x;
        x -= x >= s->n ? s->n : 0;
    }
    return sum;
}

static void affine_fill(const void *state, uint64_t first, uint64_t stride,
                        uint64_t *out, size_t count)
{
    size_t i;
    for (i = 0; i < count; i++) {
        out[i] = affine_at(state, first + i * stride);
    }
}

const shuffler shuffler_affine = {"affine map", 0,           0, affine_begin,
                                  affine_at,    affine_fill, 0};
const shuffler shuffler_rotation = {"rotation", 0,           'R', affine_begin,
                                    affine_at,  affine_fill, 0};

/* A hash of xors, shifts to the right and odd multiplications inside the
   next power of two, walked until it falls below n: the kind of function
   that Kensler described for rendering (Correlated multi-jittered sampling,
   2013), with other constants and a key of its own. */
static void xor_multiply_begin(const shuffler *self, void *state, uint64_t n,
                               uint64_t seed, uint64_t epoch, uint64_t stream)
{
    simple *s = (simple *)state;
    (void)self;
    s->n = n;
    s->mask = n - 1;
    s->mask |= s->mask >> 1;
    s->mask |= s->mask >> 2;
    s->mask |= s->mask >> 4;
    s->mask |= s->mask >> 8;
    s->mask |= s->mask >> 16;
    s->mask |= s->mask >> 32;
    s->key = finalise(finalise(seed + finalise(epoch)) + stream);
}

static uint64_t xor_multiply_at(const void *state, uint64_t position)
{
    const simple *s = (const simple *)state;
    uint64_t x = position, mask = s->mask;
    do { /* ends: a bijection on the power of two, walked from below n */
        x ^= s->key;
        x *= 0xb5297a4du;
        x ^= s->key >> 16;
        x ^= (x & mask) >> 4;
        x ^= s->key >> 8;
        x *= 0x68e31da5u;
        x ^= s->key >> 23;
        x ^= (x & mask) >> 1;
        x *= 1 | s->key >> 27;
        x ^= (x & mask) >> 11;
        x *= 0x1b56c4e9u;
        x ^= (x & mask) >> 2;
        x *= 0xc2b2ae35u;
        x &= mask;
        x ^= x >> 5;
    } while (x >= s->n);
    return (x + s->key) % s->n;
}

static void xor_multiply_fill(const void *state, uint64_t first,
                              uint64_t stride, uint64_t *out, size_t count)
{
    size_t i;
    for (i = 0; i < count; i++) {
        out[i] = xor_multiply_at(state, first + i * stride);
    }
}

const shuffler shuffler_xor_multiply = {
    "xor and multiply", 0, 0, xor_multiply_begin, xor_multiply_at,
    xor_multiply_fill,  0,
};

/* --- states -------------------------------------------------------------- */

typedef union any_state {
    statesampler_perm header;
    network net;
    control table;
    simple plain;
} any_state;

void *shuffler_state(void)
{
    return calloc(1, sizeof(any_state));
}
