; Blocks and windows, in integers: each position of an epoch is one of a block,
; and each of these is a sample of it; with WINDOW by a permutation of chunks
; and one of each window's values, whatever these are. With DROP n is
; num_samples without those that are in no block, so that `longer` is 0.
; header: quota = run->num_samples / blocks;
;     longer = (uint32_t)(run->num_samples % blocks);
; header: order->start = block * quota + (block < longer ? block : longer);
;     order->size = quota + (block < longer);
; header: uint64_t quota = run->num_samples / blocks;
;     uint64_t longer = run->num_samples % blocks, block;
; header: block = index < longer * (quota + 1) ? index / (quota + 1)
;     : (index - longer) / quota;
; header: block = (uint32_t)(first % blocks);
;     first /= blocks;
;     stride /= blocks;
; header: const uint64_t window = first / window_size;
;     const uint64_t inside = first - window * window_size;
; header: uint64_t size =
;     ssmp_min(window_size, order->size - window * window_size);
; header: nth = sample / run->chunk_size;
; header: if (nth < order->perm.n)
; header: SSMP_BUFFER == 1 ? 0 : SSMP_MAX32 / size;
; header: inverse ? q * inverse >> 32 : q / size;
; header: window = nth / run->window;
;     sample += (nth - window * run->window) * run->chunk_size;
; fault: (ite (< block longer) 1 0) => (ite (<= block longer) 1 0)
; fault: (ite (< block longer) block longer) => block
; fault: (- index longer) (* (+ block 1) quota) => index (* (+ block 1) quota)
; fault: (= g (+ (* w many) nth)) => (= g (+ (* w many) nth 1))
; fault: (or (< g full) (and (= g full) (< rest short))) => (< g full)
; fault: (and (= C full) (< rest short)) => (= C full)
; fault: (<= 0 rest2) (< rest2 chunk) => (<= 0 rest2)
; fault: (<= (- nth 1) got nth) => (= got nth)
(set-logic ALL)
(declare-const n Int) (declare-const P Int)
(declare-const quota Int) (declare-const longer Int)
(declare-const block Int) (declare-const p Int) (declare-const q Int)
(declare-const i Int) (declare-const stride Int)
(declare-const index Int) (declare-const in Int)
(define-fun size ((block Int)) Int
  (+ quota (ite (< block longer) 1 0)))
(define-fun start ((block Int)) Int
  (+ (* block quota) (ite (< block longer) block longer)))
(push)
(assert (and (<= 0 n) (< 0 P) (<= 0 quota)))
(assert (and (= n (+ (* quota P) longer)) (<= 0 longer) (< longer P)))
(assert (and (<= 0 block) (< block P)))
(echo "BLOCKED: blocks are neighbours, from 0 to n")
(push)
(assert (not (and (= (start 0) 0) (= (start (+ block 1))
  (+ (start block) (size block))) (= (start P) n))))
(check-sat)
(pop)
(echo "position q * P + block is below n where block has a sample q")
(push)
(assert (and (<= 0 q) (= p (+ (* q P) block))))
(assert (not (= (< p n) (< q (size block)))))
(check-sat)
(pop)
(echo "with a stride of whole rows, all positions are of one block")
(push)
(assert (and (<= 0 q) (= p (+ (* q P) block)) (<= 0 i) (<= 0 stride)))
(assert (not (= (+ p (* i (* stride P)))
  (+ (* (+ q (* i stride)) P) block))))
(check-sat)
(pop)
(echo "locate: sample `in` of a block is that block's")
(push)
(assert (and (<= 0 in) (< in (size block)) (= index (+ (start block) in))))
(define-fun found () Bool
  (ite (< index (* longer (+ quota 1)))
       (and (<= (* block (+ quota 1)) index)
            (< index (* (+ block 1) (+ quota 1))))
       (and (<= (* block quota) (- index longer))
            (< (- index longer) (* (+ block 1) quota)))))
(assert (=> (< block longer)
  (<= (* (+ block 1) (+ quota 1)) (* longer (+ quota 1)))))
(assert (=> (<= longer block) (<= (* longer quota) (* block quota))))
(assert (not found))
(check-sat)
(pop)
(echo "and divides by the quota only where that is not 0")
(push)
(assert (and (< index n) (= quota 0) (>= index (* longer (+ quota 1)))))
(check-sat)
(pop)
(pop)

; WINDOW: `all` samples in `full` chunks of `chunk` and a short one; `many`
; chunks are a window. Value v of window w is sample `rest` of the chunk that
; is number g of all.
(declare-const all Int) (declare-const full Int) (declare-const chunk Int)
(declare-const many Int) (declare-const span Int) (declare-const w Int)
(declare-const value Int) (declare-const nth Int) (declare-const rest Int)
(declare-const g Int) (declare-const C Int) (declare-const short Int)
(push)
(assert (and (< 0 chunk) (< 0 many) (= span (* chunk many)) (<= 0 w)))
(assert (and (= all (+ (* full chunk) short)) (<= 0 full) (<= 0 short)
  (< short chunk)))
(assert (and (<= 0 value) (< value span) (< value (- all (* w span)))))
(assert (and (= value (+ (* nth chunk) rest)) (<= 0 rest) (< rest chunk)))
(assert (= g (+ (* w many) nth)))
(echo "WINDOW: nth is one of its window's chunks")
(push)
(assert (not (and (<= 0 nth) (< nth many))))
(check-sat)
(pop)
(push)
(assert (not (= (* g chunk) (+ (* w span) (* nth chunk)))))
(check-sat)
(pop)
(assert (= (* g chunk) (+ (* w span) (* nth chunk))))
(echo "which is full, or the short one and holds the value")
(push)
(assert (not (or (< g full) (and (= g full) (< rest short)))))
(check-sat)
(pop)
(pop)
(push)
(echo "and the sample is in the block, in chunk C, where the short one stays")
(assert (and (< 0 chunk) (<= 0 full) (<= 0 short) (< short chunk)))
(assert (and (<= 0 rest) (< rest chunk)))
(assert (or (and (<= 0 C) (< C full)) (and (= C full) (< rest short))))
(assert (not (and (<= 0 (+ (* C chunk) rest))
  (< (+ (* C chunk) rest) (+ (* full chunk) short)))))
(check-sat)
(pop)
(push)
(echo "locate: its chunk is C, and from number g it comes to window w and nth")
(declare-const C2 Int) (declare-const rest2 Int)
(declare-const w2 Int) (declare-const nth2 Int)
(assert (and (< 0 chunk) (< 0 many)))
(push)
(assert (and (<= 0 rest) (< rest chunk) (<= 0 rest2) (< rest2 chunk)))
(assert (= (+ (* C chunk) rest) (+ (* C2 chunk) rest2)))
(assert (not (and (= C C2) (= rest rest2))))
(check-sat)
(pop)
(assert (and (<= 0 nth) (< nth many) (<= 0 nth2) (< nth2 many)))
(assert (= (+ (* w many) nth) (+ (* w2 many) nth2)))
(assert (not (and (= w w2) (= nth nth2))))
(check-sat)
(pop)

; A division by a product: v = nth * narrow + rest, and inverse is 2^32 - 1 by
; narrow, rounded down.
(declare-const v Int) (declare-const narrow Int) (declare-const inverse Int)
(declare-const got Int) (declare-const lost Int)
(push)
(assert (and (< 0 narrow) (<= 0 v) (= v (+ (* nth narrow) rest))))
(assert (and (<= 0 rest) (< rest narrow) (<= 0 nth)))
(echo "the quotient, or one less")
(push)
(assert (<= v 4294967295))
(assert (and (= 4294967295 (+ (* inverse narrow) lost)) (<= 0 lost)
  (< lost narrow) (<= 0 inverse)))
(assert (and (<= (* got 4294967296) (* v inverse))
  (< (* v inverse) (* (+ got 1) 4294967296))))
(assert (not (<= (- nth 1) got nth)))
(check-sat)
(pop)
(pop)
