; What is said of integers beside the contracts: a round's subtraction, Less of
; base.h, and the inverse's, of a half counted from the other end, undo each
; other, no product of two words of 32 bits has more than 64, products rise with
; their factors, and a division by a factor leaves nothing.
; contract: half < value ? half - value + size : half - value;
; header: r = right - 1 - r; ssmp_perm_round(&r, &l, perm, i - 1, 1, wide);
;     r = right - 1 - r; l = left - 1 - l;
;     ssmp_perm_round(&l, &r, perm, i - 2, 1, wide); l = left - 1 - l;
; contract: Count(x, n) && Count(y, n) && 0 <= n && x < y ==>
;     x * n + n <= y * n;
; contract: Count(t, n) && 0 <= t && 0 < n ==> (t * n) % n == 0;
; fault: (- size 1 (less => (- size (less
; fault: 4294967296 => 4294967299
; fault: (< x y) => (<= x y)
; fault: (< r n) => (<= r n)
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
