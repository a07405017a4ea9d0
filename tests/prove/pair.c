#include "base.h"

/* Any function of the round and the other half, below the size. */
/*@ axiomatic Any {
      logic integer Hash(integer round, integer half, integer size);
      axiom below: \forall integer t, half, size; 0 < size ==>
        0 <= Hash(t, half, size) < size;
    }
*/
/*@ requires \valid_read(perm) && size != 0;
    assigns \nothing;
    ensures \result == Hash(round, half, size);
*/
static inline uint32_t statesampler_priv_perm_hash(
    const statesampler_perm *perm, uint32_t round, uint32_t half,
    uint32_t size);

#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
