/* processor.h - whether an x86-64 processor has AVX2, and the system keeps its
   registers. Compilers ask that of a library of their own, which these
   libraries do without. It is included before library.c. */

#ifdef __x86_64__
#include <cpuid.h>

static inline int processor_asked_for_avx2(void)
{
    const unsigned osxsave = 1u << 27, avx2 = 1u << 5;
    unsigned a, b, c, d, kept;

    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & osxsave))
        return 0;
    __asm__("xgetbv" : "=a"(kept), "=d"(d) : "c"(0));
    return (kept & 6) == 6 && __get_cpuid_count(7, 0, &a, &b, &c, &d) &&
           (b & avx2) != 0;
}

/* Asked once, as it takes longer than a batch. Two threads may ask at the same
   time, and get the same. */
static inline int processor_has_avx2(void)
{
    static char known; /* 0, or 1 more than the answer */
    char answer = __atomic_load_n(&known, __ATOMIC_RELAXED);

    if (answer == 0) {
        answer = (char)(1 + processor_asked_for_avx2());
        __atomic_store_n(&known, answer, __ATOMIC_RELAXED);
    }
    return answer - 1;
}

#define STATESAMPLER_AVX2 processor_has_avx2()
#endif
