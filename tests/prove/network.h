/* network.h - the rounds forward and backward, with any round function: Hash
   may be any whose values are below the size. Back(t, l, r) is the pair from
   which t rounds lead to (l, r), as perm_inverse goes. */

#include "base.h"

/*@ axiomatic Rounds {
      logic integer Hash(integer round, integer half, integer size);
      axiom below: \forall integer t, half, size; 0 < size ==>
        0 <= Hash(t, half, size) < size;
      logic integer BackL(integer t, integer l, integer r, integer left,
                          integer right);
      logic integer BackR(integer t, integer l, integer r, integer left,
                          integer right);
      axiom back_l: \forall integer l, r, left, right;
        BackL(0, l, r, left, right) == l;
      axiom back_r: \forall integer l, r, left, right;
        BackR(0, l, r, left, right) == r;
      axiom pair_l: \forall integer t, l, r, x, y, left, right;
        y == More(r, Hash(t + 1, l, right), right) &&
        x == More(l, Hash(t, y, left), left) && t >= 0 ==>
        BackL(t + 2, l, r, left, right) == BackL(t, x, y, left, right);
      axiom pair_r: \forall integer t, l, r, x, y, left, right;
        y == More(r, Hash(t + 1, l, right), right) &&
        x == More(l, Hash(t, y, left), left) && t >= 0 ==>
        BackR(t + 2, l, r, left, right) == BackR(t, x, y, left, right);
    }
*/
