/* shuffler.h - what is compared: permutation families behind one interface,
   and the generator from which every random choice of a run is drawn. */
#ifndef STATESAMPLER_QUALITY_SHUFFLER_H
#define STATESAMPLER_QUALITY_SHUFFLER_H

#include <stddef.h>
#include <stdint.h>

typedef struct shuffler {
    const char *name;
    uint32_t rounds; /* of a network, 0: as many as the header takes */
    int variant;     /* of families that share their functions */
    void (*begin)(const struct shuffler *self, void *state, uint64_t n,
                  uint64_t seed, uint64_t epoch, uint64_t stream);
    uint64_t (*at)(const void *state, uint64_t position);
    void (*fill)(const void *state, uint64_t first, uint64_t stride,
                 uint64_t *out, size_t count);
    int lazy; /* keeps what it drew: at most SHUFFLER_LAZY positions a key
                 where n is above SHUFFLER_TABLE */
} shuffler;

#define SHUFFLER_TABLE ((uint64_t)10000000)
#define SHUFFLER_LAZY ((uint64_t)1 << 20)
#define SHUFFLER_ROUNDS 64

/* Memory for a state of any shuffler: it lives as long as the program, and
   begin may be called on it again and again. NULL when there is none. */
void *shuffler_state(void);

/* The families: the header, the control, known bad ones, and the header's
   network written again, with up to SHUFFLER_ROUNDS rounds, or with 0 as many
   as the header takes. */
extern const shuffler shuffler_header;
extern const shuffler shuffler_control;
extern const shuffler shuffler_sattolo;
extern const shuffler shuffler_affine;
extern const shuffler shuffler_rotation;
extern const shuffler shuffler_xor_multiply;
extern const shuffler shuffler_one_multiplier;
shuffler shuffler_header_rounds(uint32_t rounds);
shuffler shuffler_network(uint32_t rounds);

/* What the header takes for this n: its rounds, whether they are those with
   32-bit halves, and its halves, left * right >= n. */
uint32_t shuffler_rounds_of(uint64_t n);
int shuffler_wide(uint64_t n);
void shuffler_grid(uint64_t n, uint64_t *left, uint64_t *right);

/* xoshiro256++ (Blackman and Vigna, Scrambled linear pseudorandom number
   generators, 2019), its state filled by a Weyl sequence through a 64-bit
   finaliser as its authors recommend. */
typedef struct generator {
    uint64_t s[4];
} generator;

void generator_seed(generator *g, uint64_t seed);
uint64_t generator_next(generator *g);
uint64_t generator_below(generator *g, uint64_t bound);
double generator_unit(generator *g); /* in (0, 1) */

#endif
