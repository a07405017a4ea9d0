/* base.h - what the arithmetic below all else promises. */

#include <stddef.h>
#include <stdint.h>

#include "statesampler.h"

/*@ requires b != 0;
    assigns \nothing;
    ensures whole: a % b == 0 ==> \result == a / b;
    ensures part: a % b != 0 ==> \result == a / b + 1;
    ensures \result * b >= a;
    ensures a > 0 ==> (\result - 1) * b < a;
    ensures a == 0 ==> \result == 0;
    ensures \result <= a;
    ensures least: \forall integer q; 0 <= q && a <= q * b ==> \result <= q;
    ensures more: \forall integer q; \result <= q ==> a <= q * b;
*/
static inline uint64_t ssmp_ceil_div(uint64_t a, uint64_t b);

/*@ assigns \nothing;
    ensures \result == (a < b ? a : b);
*/
static inline uint64_t ssmp_min(uint64_t a, uint64_t b);

/*@ assigns \nothing; */
static inline uint64_t ssmp_scramble(uint64_t x);

/*@ assigns \nothing; */
static inline uint64_t ssmp_derive(uint64_t key, uint64_t value);

/*@ assigns \nothing; */
static inline uint64_t ssmp_epoch_key(uint64_t seed, uint64_t epoch,
                                      uint64_t stream);
