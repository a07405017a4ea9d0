; The tail rules, over all integers: the axioms of tail.h, and what follows from
; its contracts for any number of ranks. W ranks share what is left of an epoch
; from C, where their shape began, to E; L is E - C.
; contract: axiom slots: \forall integer j, x, w;
;     Count(j, w) && 0 <= j && 0 <= x && 0 < w ==>
;     (j <= x / w <==> j * w <= x);
; contract: axiom grid: \forall integer j, b, r, w; Slot(j, b, r, w) ==>
; contract: counts->rank_samples * s->run.shape.world_size >=
; contract: s->run.segment.end - s->run.segment.base.position - s->run.shape.rank >
; contract: (counts->rank_samples - 1) * s->run.shape.world_size;
; contract: position + j * shape->world_size + shape->rank < segment->end);
; contract: logic integer Up(integer a, integer b) = a / b + (a % b == 0 ? 0 : 1);
; contract: tail == 0 ? parts * Up(n, parts) :
; contract: tail == 1 ? parts * (n / parts) : n;
; contract: d <= c ? c : c + Whole(tail, d - c, w);
; contract: Rest(tail, Whole(tail, n, blocks), c, w);
; fault: (= L (+ (* a W) b)) => (= L (+ (* a W) b 1))
; fault: (> (- L r) (* (- k 1) W)) => (>= (- L r) (* (- k 1) W))
; fault: (< r2 W) => (<= r2 W)
; fault: (< p (+ S (* W B))) => (<= p (+ S (* W B)))
; fault: (<= L (* steps G)) => (<= (- L 1) (* steps G))
; fault: (up D n P) => (down D n P)
(set-logic ALL)
(declare-const W Int) (declare-const B Int) (declare-const L Int)
(declare-const a Int) (declare-const b Int)
(declare-const j Int) (declare-const r Int) (declare-const x Int)
(assert (and (< 0 W) (<= 0 L)))

(push)
(echo "parts, slots, grid")
(push)
(assert (not (=> (<= 0 x)
  (and (= x (+ (* W (div x W)) (mod x W))) (<= 0 (mod x W)) (< (mod x W) W)
       (<= 0 (div x W))))))
(check-sat)
(pop)
(push)
(assert (not (=> (and (<= 0 j) (<= 0 x) (= x (+ (* a W) b)) (<= 0 b) (< b W))
  (= (<= j a) (<= (* j W) x)))))
(check-sat)
(pop)
(push)
(assert (not (=> (and (<= 0 j) (< j B) (<= 0 r) (< r W))
  (< (+ r (* j W)) (* B W)))))
(check-sat)
(pop)
(pop)

; Rank r has k of L = a * W + b positions; the ranks below it have a * r +
; min(r, b).
(declare-const k Int)
(define-fun below ((r Int)) Int (+ (* a r) (ite (< r b) r b)))
(push)
(assert (and (= L (+ (* a W) b)) (<= 0 b) (< b W)))
(assert (and (<= 0 r) (< r W)))
(assert (and (>= (* k W) (- L r)) (> (- L r) (* (- k 1) W))))
(echo "ranks have a, or the first b of them a + 1")
(push)
(assert (not (= k (ite (< r b) (+ a 1) a))))
(check-sat)
(pop)
(echo "none before rank 0, one rank after the other, and L of all W ranks")
(assert (= k (ite (< r b) (+ a 1) a)))
(assert (not (and (= (below 0) 0) (= (below (+ r 1)) (+ (below r) k))
  (= (below W) L))))
(check-sat)
(pop)

; A step at S: rank r has the positions S + j * W + r, for j < B, that are
; before E; and the step's are those before S + W * B and E.
(declare-const S Int) (declare-const p Int)
(declare-const j2 Int) (declare-const r2 Int)
(push)
(echo "each of a step's positions is some rank's")
(assert (and (<= S p) (< p (+ S (* W B))) (<= 0 r) (< r W)))
(assert (= (- p S) (+ (* j W) r)))
(assert (not (and (<= 0 j) (< j B))))
(check-sat)
(pop)
(push)
(echo "and no other's, nor in another slot")
(assert (and (<= 0 r) (< r W) (<= 0 r2) (< r2 W)))
(assert (= (+ (* j W) r) (+ (* j2 W) r2)))
(assert (not (and (= j j2) (= r r2))))
(check-sat)
(pop)

; Steps of G positions from C on, as many as hold all L of them.
(declare-const G Int) (declare-const steps Int) (declare-const t Int)
(push)
(echo "each position is in one of the steps")
(assert (and (< 0 G) (<= L (* steps G))))
(assert (and (<= 0 p) (< p L) (= p (+ (* t G) x)) (<= 0 x) (< x G)))
(assert (not (and (<= 0 t) (< t steps))))
(check-sat)
(pop)

; What the rules leave out and add: n samples in P blocks are D positions, and
; E is the end. A quotient has a name of its own.
(declare-const n Int) (declare-const P Int) (declare-const D Int)
(declare-const C Int) (declare-const E Int)
(declare-const q Int) (declare-const u Int)
(define-fun down ((to Int) (from Int) (parts Int)) Bool
  (and (= to (* q parts)) (<= to from) (< (- from to) parts)))
(define-fun up ((to Int) (from Int) (parts Int)) Bool
  (and (= to (* q parts)) (>= to from) (< (- to from) parts)))
(define-fun down2 ((to Int) (from Int) (parts Int)) Bool
  (and (= to (* u parts)) (<= to from) (< (- from to) parts)))
(define-fun up2 ((to Int) (from Int) (parts Int)) Bool
  (and (= to (* u parts)) (>= to from) (< (- to from) parts)))
(assert (and (<= 0 n) (< 0 P) (<= 0 C)))
(push)
(echo "which Whole of tail.h is")
(define-fun least ((n Int) (parts Int)) Int
  (* parts (+ (div n parts) (ite (= (mod n parts) 0) 0 1))))
(assert (= n (+ (* P (div n P)) (mod n P))))
(assert (not (and (>= (least n P) n) (< (- (least n P) n) P)
  (<= (* P (div n P)) n) (< (- n (* P (div n P))) P))))
(check-sat)
(pop)
(push)
(echo "PAD: no sample is left out, and less than P + W positions are repeats")
(assert (and (up D n P) (<= C D) (up2 (- E C) (- D C) W)))
(assert (not (and (>= E n) (< (- E n) (+ P W)))))
(check-sat)
(pop)
(push)
(echo "DROP: no repeats, and less than P + W samples are left out")
(assert (and (down D n P) (<= C D) (down2 (- E C) (- D C) W)))
(assert (not (and (<= E n) (< (- n E) (+ P W)))))
(check-sat)
(pop)
