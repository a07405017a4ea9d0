; Where a sampler is, in integers: what each move does to the numbers of a run,
; and that a Good one stays Good. G positions are a step. The segment's base is
; at position c and step b and its end at E; the present is at p, and k steps
; after the base.
; header: uint64_t position = cursor->position + positions;
; header: ssmp_cursor_move(&run->now, segment, global_batch);
; header: step - segment->base.step > ssmp_segment_steps(segment, global_batch))
; header: ssmp_segment_find(cursor, segment, global_batch, step - segment->base.step);
; header: ssmp_cursor_move(cursor, segment, steps * global_batch);
; header: cursor->position = ssmp_min(position, segment->end);
; header: length -= length % ssmp_global_batch(shape);
; header: #define SSMP_MAX_POSITION (STATESAMPLER_MAX_SAMPLES + ((uint64_t)1 << 33))
; header: base->position > SSMP_MAX_POSITION ||
;     base->step >= STATESAMPLER_MAX_SAMPLES / 2 * 5)
; header: if (steps > ssmp_segment_steps(segment, global_batch))
; header: ssmp_segment_find(&found, segment, global_batch, steps);
; header: run->now.step = found.step;
; header: own->now.position > own->segment.end)
; header: cursor->epoch += position / segment->end;
;     position %= segment->end;
; header: (run->now.step - segment->base.step) * global_batch >=
; header: (SSMP_CARRY(segment) && step > STATESAMPLER_NONE / 2)
; header: distance =
;     (s->run.now.epoch - base->epoch) * s->run.num_samples + position;
; header: place->step = base->step + distance / global_batch;
;     place->slot = (uint32_t)(distance % global_batch / shape->world_size);
;     place->rank = (uint32_t)(distance % shape->world_size);
; contract: cursor->position == \min(segment->end, segment->base.position +
; contract: (\result - 1) * global_batch < segment->end - segment->base.position;
; contract: \result * global_batch <= 1 << 62;
; contract: segment->end < run->num_samples + segment->blocks + shape->world_size;
; contract: r->segment.base.position <= (1 << 62) + (1 << 33) &&
;     r->segment.base.step < 5 * (1 << 61) &&
; contract: epochs <= (1 << 62) / n + 1 &&
;     Passed(tail, n, epochs, p, c) <= 1 << 62 :
; fault: (define-fun next () Int (least (+ p G) E)) => (define-fun next () Int (+ p G))
; fault: (<= 0 c E most) => (<= 0 c E)
; fault: (or (= p1 E1) => (or (<= p1 E1)
; fault: (or (< E2 p1) (spot c E2 p1 t2)) => (spot c E2 p1 t2)
; fault: (<= 0 t steps) => (<= 0 t (+ steps 1))
; fault: (or (= p E1) (= (- p c) (* k G)) => (or (= (- p c) (* k G))
; fault: (<= e (+ upto 1)) => (<= e upto)
; fault: (<= (* k G) top) => (< (* k G) top)
; fault: (=> (< (* (+ k 1) G) top) => (=> true
; fault: (< slot B) => (< slot (- B 1))
; fault: (<= b c) => (<= b (+ c 1))
(set-logic ALL)
(define-fun top () Int 4611686018427387904)
(define-fun most () Int (+ top 8589934592))
(define-fun word () Int 18446744073709551616)
(define-fun least ((x Int) (y Int)) Int (ite (< x y) x y))
(declare-const n Int) (declare-const W Int)
(declare-const B Int) (declare-const G Int)
(declare-const c Int) (declare-const b Int) (declare-const E Int)
(declare-const p Int) (declare-const k Int)
(assert (and (<= 0 n top) (< 0 W 4294967296) (< 0 B 4294967296)))

; locate: in a step of B rows of W positions, `in` is row slot, column `to`. The
; rank is what all of distance leaves in rows of W: distance is
; (above + slot) * W + to = rows * W + rank, with `above` the rows of the steps
; before; beyond is rows - above - slot.
(declare-const in Int) (declare-const slot Int) (declare-const to Int)
(declare-const rank Int) (declare-const beyond Int)
(push)
(echo "locate: the slot of a position is in a batch")
(assert (and (= in (+ (* slot W) to)) (<= 0 to) (< to W)))
(assert (and (<= 0 in) (< in (* W B))))
(assert (not (and (<= 0 slot) (< slot B))))
(check-sat)
(pop)
(push)
(echo "and the rank is the column, so that the position is that of its place")
(assert (and (<= 0 rank) (< rank W) (<= 0 to) (< to W)))
(assert (= (* beyond W) (- to rank)))
(assert (not (= to rank)))
(check-sat)
(pop)

(assert (and (= G (* W B)) (< 0 G top)))

(push)
(echo "what is used below of products: more, and rising")
(declare-const x Int) (declare-const y Int)
(assert (not (and (=> (<= 0 x) (<= x (* x G)))
  (=> (< x y) (<= (* (+ x 1) G) (* y G))))))
(check-sat)
(pop)
(define-fun rising ((x Int) (y Int)) Bool
  (=> (< x y) (<= (* (+ x 1) G) (* y G))))

; What is Good but with CARRY: c and E as segment_close leaves them, and p where
; k steps from c end.
(define-fun segment ((c Int) (E Int)) Bool (<= 0 c E most))
(define-fun spot ((c Int) (E Int) (p Int) (k Int)) Bool
  (and (<= 0 k) (or (= k 0) (< (* (- k 1) G) (- E c)))
       (= p (least E (+ c (* k G))))))
(push)
(echo "segment_close: the end is in range where the base is")
(declare-const blocks Int)
(assert (and (< 0 blocks 4294967296) (<= 0 c most) (<= c E)))
(assert (or (= E c) (< E (+ n blocks W))))
(assert (not (segment c E)))
(check-sat)
(pop)
(push)
(echo "begin: whatever the end is")
(assert (segment 0 E))
(assert (not (spot 0 E 0 0)))
(check-sat)
(pop)

(push)
(assert (and (segment c E) (spot c E p k)))
(echo "next: where it is not at the end, and nothing wraps")
(define-fun next () Int (least (+ p G) E))
(push)
(assert (not (= p E)))
(assert (not (and (spot c E next (+ k 1)) (< (+ p G) word))))
(check-sat)
(pop)
(echo "rebase, at the present: a base in range, and a step that load takes")
(assert (=> (< 0 k) (<= (- k 1) (* (- k 1) G))))
(push)
(assert (<= 0 b))
(assert (<= b c))
(assert (not (and (<= 0 p most) (<= (+ b k) p)
  (< (+ b k) (* 5 (div top 2))))))
(check-sat)
(pop)
(echo "nor does the step wrap after any state that load takes")
(push)
(assert (<= 0 b (+ (* 5 (div top 2)) c)))
(assert (not (<= (+ b k) (+ (* 5 (div top 2)) p))))
(check-sat)
(pop)
(push)
(assert (<= 0 b (+ (* 5 (div top 2)) c)))
(assert (not (< (+ b k) word)))
(check-sat)
(pop)
(echo "and the present is a base itself")
(push)
(declare-const E1 Int)
(assert (segment p E1))
(assert (not (spot p E1 p 0)))
(check-sat)
(pop)
(pop)

; seek: the segment has as many steps as hold E - c, and no more.
(declare-const steps Int) (declare-const t Int)
(push)
(echo "seek: any step it takes, and nothing wraps")
(assert (and (segment c E) (or (= steps 0) (< (* (- steps 1) G) (- E c)))))
(assert (and (<= 0 t steps) (rising (- t 1) (- steps 1))))
(assert (not (and (spot c E (least E (+ c (* t G))) t)
  (< (+ c (* t G)) word))))
(check-sat)
(pop)

; A state has the present p1, which is t1 steps from c or the end E1 that the
; saving run has without drop_last. load reads the least number of steps, t2,
; that hold p1 - c.
(declare-const E1 Int) (declare-const E2 Int) (declare-const q Int)
(declare-const p1 Int) (declare-const t1 Int) (declare-const t2 Int)
(push)
(echo "load: what it takes is Good where it was saved")
(assert (segment c E1))
(assert (and (<= 0 (- p1 c) (- E1 c))
  (or (= p1 E1) (= (- p1 c) (* t1 G)))))
(assert (and (<= 0 t2) (<= (- p1 c) (* t2 G)) (< (* (- t2 1) G) (- p1 c))))
(assert (and (rising t1 t2) (rising t2 t1)
  (rising (- t1 1) (- t2 1)) (rising (- t2 1) (- t1 1))))
(assert (not (spot c E1 p1 t2)))
(check-sat)
(pop)
(echo "load: with drop_last, whose end is E2, too, or the present is the base")
(push)
(assert (and (segment c E1) (spot c E1 p1 t2)))
(assert (and (= E2 (+ c (* q G))) (<= c E2 E1) (< (- E1 E2) G)))
(assert (and (rising t2 q) (rising q t2)))
(assert (not (or (< E2 p1) (spot c E2 p1 t2))))
(check-sat)
(pop)
(push)
(echo "save: what a Good sampler saves, load takes; E1 is without drop_last")
(assert (and (segment c E) (spot c E p k)))
(assert (or (= E E1) (and (= E (+ c (* q G))) (<= c E E1))))
(assert (not (and (<= 0 (- p c) (- E1 c))
  (or (= p E1) (= (- p c) (* k G)) (= (- p c) (* q G))))))
(check-sat)
(pop)

; CARRY: the present is e epochs after the base's.
(declare-const e Int) (declare-const r Int) (declare-const upto Int)
(define-fun carried ((c Int) (e Int) (p Int) (k Int)) Bool
  (and (<= 0 c) (< c n) (<= 0 p) (< p n) (<= 0 k) (<= 0 e)
       (= (+ (* e n) p) (+ c (* k G))) (<= (* k G) top)))
(push)
(echo "CARRY, next: a step on, or the present is the base; nothing wraps")
(assert (carried c e p k))
(assert (and (= (+ p G) (+ (* q n) r)) (<= 0 r) (< r n) (<= 0 q)))
(define-fun again () Bool (carried r 0 r 0))
(assert (not (and (< (+ p G) word) (< (* (+ k 1) G) word)
  (=> (<= top (* (+ k 1) G)) again)
  (=> (< (* (+ k 1) G) top) (carried c (+ e q) r (+ k 1))))))
(check-sat)
(pop)
(push)
(echo "CARRY, seek: any step it takes, and nothing wraps")
(assert (and (<= 0 c) (< c n) (<= 0 t steps) (<= (* steps G) top)))
(assert (or (= t steps) (rising t steps)))
(assert (and (= (+ c (* t G)) (+ (* q n) r)) (<= 0 r) (< r n) (<= 0 q)))
(assert (not (and (carried c q r t) (< (+ c (* t G)) word))))
(check-sat)
(pop)
; upto is 2^62 / n, rounded down.
(assert (and (<= (* upto n) top) (< top (* (+ upto 1) n))))
(push)
(echo "CARRY, save: what is Good load takes")
(assert (carried c e p k))
(assert (=> (< (+ upto 1) e) (<= (* (+ upto 2) n) (* e n))))
(assert (not (and (<= e (+ upto 1)) (= (- (+ (* e n) p) c) (* k G))
  (<= (* k G) top))))
(check-sat)
(pop)
(push)
(echo "CARRY, load: what it takes is Good, and nothing wraps")
(assert (and (<= 0 c) (< c n) (<= 0 p) (< p n) (<= 0 e (+ upto 1))))
(assert (<= (* e n) (* (+ upto 1) n)))
(assert (and (<= 0 k) (= (- (+ (* e n) p) c) (* k G)) (<= (* k G) top)))
(assert (not (and (carried c e p k) (< (+ (* e n) p) word))))
(check-sat)
(pop)

(push)
(echo "locate, CARRY: nothing wraps")
(assert (and (carried c e p k) (<= 0 r) (< r n)))
(assert (not (< (+ (* e n) r) word)))
(check-sat)
(pop)
