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

/*@ requires \valid_read(perm) && 0 < size <= 1 << 31;
    requires round < (wide ? 12 : 24);
    assigns \nothing;
    ensures \result < size;
*/
static inline uint32_t ssmp_perm_hash(const statesampler_perm *perm,
                                      uint32_t round, uint32_t half,
                                      uint32_t size, int wide);

/*@ logic integer Less(integer half, integer value, integer size) =
      half < value ? half - value + size : half - value;
    logic integer More(integer half, integer value, integer size) =
      half + value < size ? half + value : half + value - size;
*/

/*@ requires half < size <= 1 << 31 && value < size;
    assigns \nothing;
    ensures \result < size;
    ensures \result == Less(half, value, size);
*/
static inline uint32_t ssmp_sub_mod(uint32_t half, uint32_t value,
                                    uint32_t size);

/*@ requires half < size <= 1 << 31 && value < size;
    assigns \nothing;
    ensures \result < size;
    ensures \result == More(half, value, size);
*/
static inline uint32_t ssmp_add_mod(uint32_t half, uint32_t value,
                                    uint32_t size);
