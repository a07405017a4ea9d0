/* perm.h - what the functions of the permutation promise. */

#include "base.h"

/* Fits(r, b): b is a power of two up to 2^30, and r a multiple of 2b. The
   axioms are proved by bits.smt2, and `square` by lemmas.smt2. Two(s) is 2^s,
   which is all that its axioms say. */
/*@ axiomatic Bits {
      predicate Fits(integer r, integer b);
      predicate Half(integer b, integer h);
      axiom half: \forall integer b; Half(b, b >> 1);
      axiom fits_wide: Fits(0, 1073741824);
      axiom fits_narrow: Fits(0, 16384);
      axiom fits_or: \forall integer b, r; 0 <= r && Fits(r, b) ==>
        (b | r) == r + b && b >= 1;
      axiom fits_and: \forall integer m, p; 0 <= m && Fits(m, p) ==>
        (m | p) == m + p;
      axiom fits_half: \forall integer r, b, h;
        Fits(r, b) && Half(b, h) && b != 1 ==>
        Fits(r, h) && Fits(r + b, h) && 2 * h == b;
      axiom fits_one: \forall integer r, b, h;
        Fits(r, b) && Half(b, h) ==> (h == 0 <==> b == 1);
      axiom fits_low: \forall integer r, b; Fits(r, b) ==>
        ((b & 4294967294) == 0 <==> b == 1);
    }
    logic integer Reach(integer b) = b == 0 ? 1 : 2 * b;
    axiomatic Odd {
      axiom odd: \forall integer x; 0 <= x < 4294967296 ==>
        (x & 1) == x % 2;
      axiom square: \forall integer x; 0 <= x < 4294967296 ==>
        0 <= x * x < 18446744073709551616;
      axiom shifted: \forall integer x, s; 0 <= x < 4294967296 && 0 <= s < 2 ==>
        (x << s) == x + x * s;
    }
    axiomatic Powers {
      logic integer Two(integer s);
      axiom two_first: Two(0) == 1;
      axiom two_next: \forall integer s; 0 <= s ==> Two(s + 1) == 2 * Two(s);
      axiom two_far: \forall integer s; 31 <= s ==> Two(s) >= 2147483648;
    }
*/
/*@ requires n <= 1 << 62;
    assigns \nothing;
    ensures \result * \result >= n;
    ensures \result == 1 || (\result - 1) * (\result - 1) < n;
    ensures 1 <= \result <= (n > 1 << 30 ? 1 << 31 : 1 << 15);
*/
static inline uint32_t ssmp_sqrt_ceil(uint64_t n);

/*@ predicate Sized(statesampler_perm *p) =
      p->n <= 1 << 62 &&
      p->n <= p->left * p->right &&
      1 <= p->left && 3 <= p->right &&
      (p->n > 1 << 30
         ? p->wide == 1 && p->left <= 1 << 31 && p->right <= 1 << 31
         : p->wide == 0 && p->left <= 1 << 15 && p->right <= 1 << 15) &&
      p->rounds == (p->n < 8192 ? 24 : p->n < 16777216 ? 12 : 8);
    predicate Clear(statesampler_perm *p) = p->n == 18446744073709551615;
*/

/*@ assigns \nothing;
    ensures \result == (n < 8192 ? 24 : n < 16777216 ? 12 : 8);
*/
static inline uint8_t ssmp_perm_rounds(uint64_t n);

/* lemmas.smt2 says how `reciprocal` and `shift` divide by `right`. */
/*@ requires \valid(perm) && n <= 1 << 62;
    assigns perm->n, perm->left, perm->right, perm->reciprocal, perm->shift,
      perm->wide, perm->rounds;
    ensures n: perm->n == n;
    ensures grid: n <= perm->left * perm->right;
    ensures least: 1 <= perm->left && 3 <= perm->right;
    ensures most: n > 1 << 30
         ? perm->wide == 1 && perm->left <= 1 << 31 && perm->right <= 1 << 31
         : perm->wide == 0 && perm->left <= 1 << 15 && perm->right <= 1 << 15;
    ensures rounds:
      perm->rounds == (n < 8192 ? 24 : n < 16777216 ? 12 : 8);
    ensures shift: Two(perm->shift) < perm->right <= 2 * Two(perm->shift);
    ensures sized: Sized(perm);
*/
static inline void ssmp_perm_set_size(statesampler_perm *perm, uint64_t n);

/*@ requires \valid(perm) && Sized(perm);
    assigns perm->key, perm->keys[0 .. 23];
    ensures Sized(perm) && perm->key == key;
*/
static inline void ssmp_perm_set_key(statesampler_perm *perm, uint64_t key);

/*@ requires \valid(perm);
    assigns perm->n, perm->key, perm->left, perm->right, perm->rounds,
      perm->wide;
    ensures Clear(perm);
*/
static inline void ssmp_perm_clear(statesampler_perm *perm);

/*@ requires \valid(perm) && n <= 1 << 62 && (Sized(perm) || Clear(perm));
    assigns *perm;
    ensures Sized(perm) && perm->n == n && perm->key == key;
*/
static inline void ssmp_perm_set(statesampler_perm *perm, uint64_t n,
                                 uint64_t key);
