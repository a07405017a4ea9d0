; What is said of integers beside the contracts: a round, half - value modulo
; size, and the inverse's, of a half counted from the other end, undo each other;
; the hash of a wide half is below its span; no product of two words of 32 bits
; has more than 64; products rise with their factors, and a division by a factor
; leaves nothing; and a division by `right` is a product and a shift.
; models statesampler_perm_inverse, ssmp_perm_round, ssmp_perm_set_size,
;     ssmp_bulk_load
; contract: Count(x, n) && Count(y, n) && 0 <= n && x < y ==>
;     x * n + n <= y * n;
; contract: Count(t, n) && 0 <= t && 0 < n ==> (t * n) % n == 0;
; contract: Two(perm->shift) < perm->right <= 2 * Two(perm->shift);
; fault: (- size 1 (less => (- size (less
; fault: 4294967296 => 4294967299
; fault: (< x y) => (<= x y)
; fault: (< r n) => (<= r n)
; fault: (< (* x v) (* 4294967296 v)) => (<= (* x v) (* 4294967296 v))
; fault: (or (= got k) (= got (+ k 1))) => (= got k)
; fault: (< (* x right) M) => (< x M)
(set-logic ALL)
(declare-const half Int) (declare-const v Int) (declare-const size Int)
(declare-const x Int)
(define-fun less ((x Int)) Int (ite (< x v) (+ (- x v) size) (- x v)))
(define-fun more ((x Int)) Int (- size 1 (less (- size 1 x))))
(push)
(assert (and (<= 0 half) (< half size) (<= 0 v) (< v size)))
(assert (not (and (= (more (less half)) half) (= (less (more half)) half)
  (<= 0 (less half)) (< (less half) size)
  (<= 0 (more half)) (< (more half) size))))
(check-sat)
(pop)
(push)
(echo "square, product")
(assert (and (<= 0 x) (< x 4294967296) (<= 0 v) (< v 4294967296)))
(assert (not (and (<= 0 (* x v)) (< (* x v) 18446744073709551616))))
(check-sat)
(pop)
(push)
(echo "the high half of a product is below its factor v")
(declare-const h Int)
(assert (and (<= 0 x) (< 0 v) (< (* x v) (* 4294967296 v))))
(assert (and (<= (* 4294967296 h) (* x v))))
(assert (not (< h v)))
(check-sat)
(pop)
(declare-const y Int) (declare-const n Int)
(push)
(echo "rising")
(assert (and (<= 0 n) (< x y)))
(assert (not (<= (+ (* x n) n) (* y n))))
(check-sat)
(pop)
(push)
(echo "rows: t * n is q * n and a rest r, and d is t - q")
(declare-const d Int) (declare-const r Int)
(assert (and (< 0 n) (= (* d n) r) (<= 0 r) (< r n)))
(assert (not (= r 0)))
(check-sat)
(pop)

; x is k * right and a rest below right; M is 2^32 * Two(shift), which is power *
; 2^31; and reciprocal is M / right, rounded up, so that times right it is M + e,
; where e is below right. got is the product x * reciprocal, shifted.
(declare-const right Int) (declare-const two Int) (declare-const M Int)
(declare-const reciprocal Int) (declare-const e Int)
(declare-const k Int) (declare-const got Int)
(assert (and (< 0 two) (< two right) (<= right (* 2 two))))
(assert (= M (* 4294967296 two)))
(assert (and (= (* reciprocal right) (+ M e)) (<= 0 e) (< e right)))
(assert (and (<= 0 x) (< x M) (<= 0 k)))
(assert (and (<= (* k right) x) (< x (* (+ k 1) right))))
(assert (and (<= (* got M) (* x reciprocal))
  (< (* x reciprocal) (* (+ got 1) M))))
; The product times right, and what rises with a factor of it.
(define-fun times () Int (* (* x reciprocal) right))
(assert (= times (+ (* x M) (* x e))))
(assert (and (<= (* k right M) (* x M)) (< (* x M) (* (+ k 1) right M))))
(assert (and (<= (* got M right) times) (< times (* (+ got 1) M right))))
(push)
(echo "the quotient, or 1 more")
(assert (<= (* x e) (* M e)))
(assert (=> (< e right) (< (* M e) (* M right))))
(assert (not (or (= got k) (= got (+ k 1)))))
(check-sat)
(pop)
(push)
(echo "the quotient where n <= 2^30, as there x * right is below M")
(assert (< (* x right) M))
(assert (<= (* x e) (* x right)))
(assert (not (= got k)))
(check-sat)
(pop)
