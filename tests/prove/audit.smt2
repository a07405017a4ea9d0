; audit_check's closed forms, in words of 64 bits: they are 0 for no samples,
; and one sample more, of index n, adds n, n^2 and n^3. So by induction they are
; the sums over [0, n), for every n.
; models statesampler_audit_check
; fault: #xaaaaaaaaaaaaaaab => #xaaaaaaaaaaaaaaad
; fault: (bvmul k (bvsub (even k) one)) => (bvmul k (even k))
; fault: (bvmul (bvadd s n) (bvadd s n)) => (bvmul (bvadd s n) s)
(set-logic QF_BV)
(define-sort Word () (_ BitVec 64))
(declare-const n Word)
(declare-const k Word)
(declare-const s Word)
(define-fun zero () Word #x0000000000000000)
(define-fun one () Word #x0000000000000001)
(define-fun two () Word #x0000000000000002)
(define-fun third () Word #xaaaaaaaaaaaaaaab)
(define-fun sum1 ((n Word)) Word
  (bvmul (bvlshr n one) (bvor (bvsub n one) one)))
(define-fun sum2 ((sum1 Word) (n Word)) Word
  (bvmul sum1 (bvmul (bvsub (bvmul two n) one) third)))
(define-fun even ((k Word)) Word (bvmul two k))
(define-fun odd ((k Word)) Word (bvadd (bvmul two k) one))
; What sum1 is of 2k and of 2k + 1, once the bits are looked at.
(define-fun of_even ((k Word)) Word (bvmul k (bvsub (even k) one)))
(define-fun of_odd ((k Word)) Word (bvmul k (odd k)))

(push)
(echo "all are 0 for no samples")
(assert (not (and (= (sum1 zero) zero) (= (sum2 zero zero) zero))))
(check-sat)
(pop)

(push)
(echo "sum1 of 2k and of 2k + 1")
(assert (bvult k #x8000000000000000))
(assert (not (and
  (= (bvlshr (even k) one) k) (= (bvlshr (odd k) one) k)
  (= (bvor (bvsub (even k) one) one) (bvsub (even k) one))
  (= (bvor (bvsub (odd k) one) one) (odd k)))))
(check-sat)
(pop)

; The rest is of polynomials: both sides are the same sum of products.
(push)
(echo "one more adds n to sum1, for n = 2k and n = 2k + 1")
(assert (not (and
  (= (bvadd (of_even k) (even k)) (of_odd k))
  (= (bvadd (of_odd k) (odd k)) (of_even (bvadd k one))))))
(check-sat-using (then (using-params simplify :som true) smt))
(pop)

(push)
(echo "2 sum1 is n^2 - n, for both")
(assert (not (and
  (= (bvsub (bvmul two (of_even k)) (bvmul (even k) (bvsub (even k) one)))
     zero)
  (= (bvsub (bvmul two (of_odd k)) (bvmul (odd k) (bvsub (odd k) one)))
     zero))))
(check-sat-using (then (using-params simplify :som true) smt))
(pop)

; With s = sum1(n), and rest = 2s - n^2 + n, which is 0:
(define-fun rest () Word (bvadd (bvmul two s) (bvneg (bvmul n n)) n))
(push)
(echo "one more adds n^2 to sum2")
(assert (not (= (bvmul third rest)
  (bvadd (sum2 (bvadd s n) (bvadd n one)) (bvneg (sum2 s n))
         (bvneg (bvmul n n))))))
(check-sat-using (then (using-params simplify :som true) smt))
(pop)

(push)
(echo "one more adds n^3 to sum1^2")
(assert (not (= (bvmul n rest)
  (bvadd (bvmul (bvadd s n) (bvadd s n)) (bvneg (bvmul s s))
         (bvneg (bvmul n n n))))))
(check-sat-using (then (using-params simplify :som true) smt))
(pop)
