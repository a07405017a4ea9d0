/* What a conversion is, modulo 2^32: `wrap` and `over`. The other axioms are
   proved by bits.smt2. */
#include "base.h"
/*@ axiomatic Wrap {
      axiom wrap: \forall integer x; -4294967296 <= x < 0 ==>
        (uint32_t)x == x + 4294967296;
      axiom over: \forall integer x; 4294967296 <= x < 8589934592 ==>
        (uint32_t)x == x - 4294967296;
      axiom shift: \forall integer x; 0 <= x ==> (x >> 10) == x / 1024;
      axiom high: \forall integer x; 0 <= x < 18446744073709551616 ==>
        (x >> 32) == x / 4294967296;
      axiom top: \forall integer x; 0 <= x < 4294967296 ==>
        (uint32_t)(0 - (x >> 31)) == (x < 2147483648 ? 0 : 4294967295);
      axiom ones: \forall integer x, y; 0 <= x < 4294967296 ==>
        (y == 0 ==> (x & y) == 0) && (y == 4294967295 ==> (x & y) == x);
    }
*/
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
