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

/* How many values a half has, and half - value modulo size. */
/*@ logic integer Side(statesampler_perm *perm, integer round) =
      (round & 1) != 0 ? perm->right : perm->left;
    logic integer Less(integer half, integer value, integer size) =
      half < value ? half - value + size : half - value;
*/

/*@ requires \valid_read(perm) && count > 0;
    requires \valid(half + (0 .. count - 1));
    requires \valid_read(other + (0 .. count - 1));
    requires \separated(half + (0 .. count - 1), other + (0 .. count - 1));
    requires \separated(half + (0 .. count - 1), perm);
    requires round < (wide ? 12 : 24);
    requires 0 < Side(perm, round) <= 1 << 31;
    requires \forall integer j; 0 <= j < count ==>
      half[j] < Side(perm, round);
    assigns half[0 .. count - 1];
    ensures below: \forall integer j; 0 <= j < count ==>
      \old(half)[j] < Side(perm, round);
*/
static inline void ssmp_perm_round(uint32_t *half, const uint32_t *other,
                                   const statesampler_perm *perm,
                                   uint32_t round, uint32_t count, int wide);
