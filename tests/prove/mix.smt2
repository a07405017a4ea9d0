; What mix_load takes, in integers: ranges of a mix's state, and that nothing
; wraps in what is computed from it. A node of the tree has weight w and a child
; of weight a; w0 is the root's.
; header: const uint64_t most = STATESAMPLER_MAX_SAMPLES / 2 * 3;
; header: if (head->turn > most || head->base_turn > head->turn) {
; header: if (head->base_point <= head->base_turn &&
;     head->stop != STATESAMPLER_STOP_ALL) {
; header: head->base_point > STATESAMPLER_MAX_SAMPLES / 4 * 5 ||
;     (head->base_turn == 0 && head->base_point != 0)
; header: if (entry.weight == 0 || weights >> 31) {
; header: uint64_t goal = mix->base_point + (turn - mix->base_turn);
; header: uint64_t product = *turns * left + weight / 2; /* < 2^62 + 2^30 */
; header: turns = (turns * weight + half) / weights[level]; /* below 2^62 */
; header: return rounds < SSMP_TOO_FAR / mix->weight
;     ? rounds * mix->weight + turns
; header: : mix->turn + (tally.reach - mix->point);
; header: ssmp_mix_turns_of(mix, seat, point),
;     source->base_turns + source->left);
; header: over = ssmp_mix_point_of(mix, seat,
;     source->base_turns + source->left);
; header: ssmp_min(turns, source->base_turns + source->left);
; header: STATESAMPLER_MAX_SAMPLES / weights) {
; header: ssmp_source_most_steps(&sources[i].sampler) /
; header: mix->end += tally.first - mix->point;
; header: mix->point = turn == mix->base_turn
; header: : ssmp_mix_point(mix, turn - 1) + 1;
; header: *turns += rounds * weight;
; header: return rounds * weight + turns;
; fault: (> base_point (* 5 (div top 4))) => (> base_point (* 6 (div top 4)))
; fault: (+ base_point (- to base_turn)) => (+ base_point to)
; fault: (< w0 2147483648) => (< w0 8589934592)
; fault: (<= (* (+ rounds 1) w0) far) => (<= (* rounds w0) far)
; fault: (<= 0 r) (< r w) => (<= 0 r)
; fault: (+ (* k w) half) => (* k w)
; fault: (<= (* (+ rounds 1) w0) top) => (<= (* rounds w0) top)
(set-logic ALL)
(define-fun top () Int 4611686018427387904)
(define-fun far () Int (* 2 top))
(define-fun word () Int 18446744073709551616)
(declare-const turn Int) (declare-const base_turn Int)
(declare-const base_point Int) (declare-const all Bool)
(assert (and (<= 0 turn) (<= 0 base_turn) (<= 0 base_point)))

; What mix_check_head refuses.
(define-fun refused () Bool
  (or (> turn (* 3 (div top 2))) (> base_turn turn)
      (and (not (and (<= base_point base_turn) (not all)))
           (or (not all) (> base_point (* 5 (div top 4)))
               (and (= base_turn 0) (not (= base_point 0)))))))
(push)
(echo "the ranges of what is taken, and that all that is in them is taken")
(assert (not (= (not refused)
  (and (<= base_turn turn) (<= turn 6917529027641081856)
       (ite all (and (<= base_point 5764607523034234880)
                     (=> (= base_turn 0) (= base_point 0)))
            (<= base_point base_turn))))))
(check-sat)
(pop)

; From a base, `to` is a turn that seek or next comes to.
(declare-const to Int)
(push)
(echo "but with ALL the point of a turn is not ahead of it: it is taken")
(assert (and (not all) (<= base_point base_turn) (<= base_turn to)))
(assert (not (<= 0 (+ base_point (- to base_turn)) to)))
(check-sat)
(pop)
(push)
(echo "from what is taken, the point of a turn is no more than a word")
(assert (and (not refused) (<= base_turn to turn)))
(assert (not (< (+ base_point (- to base_turn)) word)))
(check-sat)
(pop)

; A node of weight w has a left child of weight a and had m turns, of which s
; were the left child's. The root has weight w0, and `rounds` periods of it are
; past.
(declare-const w0 Int) (declare-const w Int) (declare-const a Int)
(declare-const m Int) (declare-const s Int) (declare-const r Int)
(declare-const k Int) (declare-const u Int) (declare-const v Int)
(declare-const rounds Int)
(assert (and (< 0 w0) (< w0 2147483648)))
(assert (and (< 0 w) (<= w w0) (<= 0 a) (<= a w) (<= 0 m) (<= 0 rounds)))
(push)
(echo "the products of seat_at, turns_of and point_of are no more than a word")
(assert (and (< m w0) (<= (* m a) (* m w0)) (<= (* m w0) (* w0 w0))))
(assert (< (* w0 w0) 4611686018427387905))
(assert (not (and (< (+ (* m a) (div w 2)) word)
  (< (+ (* m w0) (div w 2)) word))))
(check-sat)
(pop)
(push)
(assert (not (< (* w0 w0) 4611686018427387905)))
(check-sat)
(pop)

(define-fun shared () Bool
  (and (= (+ (* m a) (div w 2)) (+ (* s w) r)) (<= 0 r) (< r w)))
(push)
(echo "a child has had no more turns than its node, so that none wraps")
(assert shared)
(assert (<= (* m a) (* m w)))
(assert (not (and (<= 0 s) (<= s m))))
(check-sat)
(pop)

(define-fun comes ((half Int) (child Int)) Bool
  (and (= (+ (* k w) half) (+ (* u child) v)) (<= 0 v) (< v child)))
(echo "point_of: the turn k of a child is one of its node's period, and not")
(echo "before the turns m where the child has had k or less")
(push)
(assert (and (< 0 a) (<= 0 k) (< k a) (<= (* (+ k 1) w) (* a w))))
(assert (comes (div (- w 1) 2) a))
(assert (not (and (<= 0 u) (< u w))))
(check-sat)
(pop)
(push)
(assert shared)
(assert (and (< 0 a) (<= s k) (<= (* s w) (* k w))))
(assert (comes (div (- w 1) 2) a))
(assert (not (<= m u)))
(check-sat)
(pop)
(declare-const b Int)
(assert (= b (- w a)))
(push)
(assert (and (< 0 b) (<= 0 k) (< k b) (<= (* (+ k 1) w) (* b w))))
(assert (comes (div w 2) b))
(assert (not (and (<= 0 u) (< u w))))
(check-sat)
(pop)
(push)
(assert shared)
(assert (and (< 0 b) (<= (- m s) k) (<= (* (- m s) w) (* k w))))
(assert (comes (div w 2) b))
(assert (not (<= m u)))
(check-sat)
(pop)

(push)
(echo "a point that is not TOO_FAR is below 2^63")
(assert (and (<= 0 u) (< u w0) (<= (* (+ rounds 1) w0) far)))
(assert (not (< (+ (* rounds w0) u) far)))
(check-sat)
(pop)
(push)
(echo "where mix_init looks at the sequence, it ends below 2^62")
(assert (and (<= 0 u) (< u w0) (<= (* (+ rounds 1) w0) top)))
(assert (not (< (+ (* rounds w0) u) top)))
(check-sat)
(pop)
(push)
(echo "as fewer rounds than fit into x are one less or more")
(declare-const x Int)
(assert (and (<= 0 x) (< rounds (div x w0))))
(assert (not (<= (* (+ rounds 1) w0) x)))
(check-sat)
(pop)

; A source has had base_turns at the base, no more than points, and has `left`
; steps there; over is the point where none is left, from the base's on.
(declare-const base_turns Int) (declare-const left Int)
(declare-const over Int)
(push)
(echo "nor do the sums wrap that are made of what is taken")
(assert (and (not refused) (<= 0 base_turns base_point)))
(assert (<= 0 left 4611686027017322496))
(assert (and (<= base_point over) (<= over far)))
(assert (not (and (< (+ base_turns left) word)
  (<= 0 (+ base_turn (- over base_point)))
  (< (+ base_turn (- over base_point)) word))))
(check-sat)
(pop)
