#include "base.h"
/*@ axiomatic Wrap {
      axiom wrap: \forall integer x; -4294967296 <= x < 0 ==>
        (uint32_t)x == x + 4294967296;
      axiom over: \forall integer x; 4294967296 <= x < 8589934592 ==>
        (uint32_t)x == x - 4294967296;
      axiom shift: \forall integer x; 0 <= x ==> (x >> 10) == x / 1024;
    }
*/
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
