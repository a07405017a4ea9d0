; A node of the mix's tree, over all integers: it has weight w, its left child
; has weight a, and share(m) = (m * a + w / 2) / w of its first m turns are the
; left child's.
; models ssmp_branch_divide: turns * left + weight / 2
; models ssmp_branch_divide: product / weight
; models ssmp_branch_divide: product -= left_turns * weight
; models ssmp_branch_divide: product + left >= weight
; models ssmp_seat_tick: (weight - is_left) / 2
; models ssmp_seat_tick: (turn * weight + half) / weights[level]
; fault: (* m a) h) => (* m a) w)
; fault: (>= (+ r a) w) => (> (+ r a) w)
; fault: (= h1 (div (- w 1) 2)) => (= h1 (div (+ w 1) 2))
; fault: (< (* (- x 1) w) (- (* m b) h)) => (<= (* (- x 1) w) (- (* m b) h))
; fault: (= (+ (* k w) h) (+ (* u b) v)) => (= (+ (* k w) h1) (+ (* u b) v))
(set-logic QF_NIA)
(declare-const w Int) (declare-const a Int) (declare-const h Int)
(declare-const m Int) (declare-const s Int) (declare-const r Int)
(declare-const s2 Int) (declare-const r2 Int)
(assert (and (< 0 w) (<= 0 a w) (<= 0 m)))
(assert (= h (div w 2)))
; share(m) = s, with the rest r, and share(m + 1) = s2, with the rest r2.
(define-fun shared ((m Int) (s Int) (r Int)) Bool
  (and (= (+ (* m a) h) (+ (* s w) r)) (<= 0 r) (< r w)))

(push)
(echo "the next turn adds 0 or 1 to the left, and 1 where branch_divide does")
(assert (and (shared m s r) (shared (+ m 1) s2 r2)))
(assert (not (= s2 (ite (>= (+ r a) w) (+ s 1) s))))
(check-sat)
(pop)
(push)
(echo "none has had a turn at first, and a of them are the left's after w")
(assert (or (and (shared 0 s r) (not (= s 0))) (and (shared w s r) (not (= s a)))))
(check-sat)
(pop)

; When the left child, where it has a weight, has its turn k: u = (k * w + h1) /
; a, with the rest v.
(declare-const k Int) (declare-const u Int) (declare-const v Int)
(declare-const h1 Int)
(assert (<= 0 k))
(push)
(assert (= h1 (div (- w 1) 2)))
(assert (and (< 0 a) (= (+ (* k w) h1) (+ (* u a) v)) (<= 0 v) (< v a)))
(echo "before that turn it has had k")
(push)
(assert (and (shared u s r) (not (= s k))))
(check-sat)
(pop)
(echo "and after it k + 1")
(assert (and (shared (+ u 1) s2 r2) (not (= s2 (+ k 1)))))
(check-sat)
(pop)
; The right child, of weight b = w - a: u = (k * w + h) / b.
(declare-const b Int)
(assert (= b (- w a)))
(push)
(assert (= h1 (div (- w 1) 2)))
(assert (and (< 0 b) (= (+ (* k w) h) (+ (* u b) v)) (<= 0 v) (< v b)))
(echo "the right child has had k before its turn k")
(push)
(assert (and (shared u s r) (not (= (- u s) k))))
(check-sat)
(pop)
(echo "and k + 1 after it")
(assert (and (shared (+ u 1) s2 r2) (not (= (- (+ u 1) s2) (+ k 1)))))
(check-sat)
(pop)
; The manual's formula for the right child: the smallest x with x * w >= m * b -
; h.
(declare-const x Int)
(push)
(echo "the right child's share is the manual's")
(assert (and (shared m s r) (<= 0 b)))
(assert (and (>= (* x w) (- (* m b) h)) (< (* (- x 1) w) (- (* m b) h))))
(assert (not (= (- m s) x)))
(check-sat)
(pop)
