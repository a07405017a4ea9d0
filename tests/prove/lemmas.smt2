; What is said of integers beside the contracts: a round's subtraction and the
; inverse's addition, Less and More of base.h, undo each other, and no square
; of 32 bits has more than 64.
; header: return half < value ? half - value + size : half - value;
; header: half + value < size ? half + value : half + value - size;
; fault: (< (+ x v) size) => (<= (+ x v) size)
; fault: 4294967296 => 4294967298
(declare-const half Int) (declare-const v Int) (declare-const size Int)
(declare-const x Int)
(define-fun less ((x Int)) Int (ite (< x v) (+ (- x v) size) (- x v)))
(define-fun more ((x Int)) Int
  (ite (< (+ x v) size) (+ x v) (- (+ x v) size)))
(push)
(assert (and (<= 0 half) (< half size) (<= 0 v) (< v size)))
(assert (not (and (= (more (less half)) half) (= (less (more half)) half)
  (<= 0 (less half)) (< (less half) size)
  (<= 0 (more half)) (< (more half) size))))
(check-sat)
(pop)
(push)
(assert (and (<= 0 x) (< x 4294967296)))
(assert (not (< (* x x) 18446744073709551616)))
(check-sat)
(pop)
