; The two forms of the hash of 16-bit halves, with 64-bit registers and without:
; they are the same, and below the span. x is the half, mixed with the key, and
; y the high half of x times the key, whatever these are.
; header: x *= (x * mul) & 0xffff0000u;
;     x = (uint32_t)(((uint64_t)x * span) >> 32);
; header: x *= (x * mul) >> 16;
;     x = ((x & 0xffffu) * span) >> 16;
; fault: (bvlshr product #x00000010) => (bvlshr product #x0000000f)
; fault: (bvand low #x0000ffff) => low
(set-logic QF_BV)
(declare-const x (_ BitVec 32))
(declare-const product (_ BitVec 32))
(declare-const span (_ BitVec 32))
(declare-const low (_ BitVec 32))
(define-fun high ((x (_ BitVec 32)) (span (_ BitVec 32))) (_ BitVec 32)
  ((_ extract 63 32) (bvmul ((_ zero_extend 32) x) ((_ zero_extend 32) span))))
(assert (bvule x #x0000ffff))
(assert (and (bvule span #x00008000) (not (= span #x00000000))))

(push)
(echo "the one product is the other, 16 bits higher")
(assert (not (= (bvmul x (bvand product #xffff0000))
  (bvshl (bvmul x (bvlshr product #x00000010)) #x00000010))))
(check-sat)
(pop)
(push)
(echo "and so are the results the same")
(assert (not (= (high (bvshl low #x00000010) span)
  (bvlshr (bvmul (bvand low #x0000ffff) span) #x00000010))))
(check-sat)
(pop)
(push)
(echo "below the span")
(assert (not (bvult (high low span) span)))
(check-sat)
(pop)
