/* check.h - what every test shares: one macro, one counter, one argument.

   CHECK stops at the first failure, because a mutant needs only one and a
   person reads only the first. */
#ifndef STATESAMPLER_TESTS_CHECK_H
#define STATESAMPLER_TESTS_CHECK_H

#include "rules.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned long check_count;

/* How a failed test ends: a fuzzer wants another way. */
#ifndef CHECK_STOP
#define CHECK_STOP() exit(1)
#endif

#define CHECK(condition) \
    do { \
        check_count++; \
        if (!(condition)) { \
            printf("%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
            CHECK_STOP(); \
        } \
    } while (0)

#if defined(__has_feature)
#if __has_feature(memory_sanitizer)
#include <sanitizer/msan_interface.h>
#define CHECK_SET(from, size) __msan_unpoison(from, size)
#endif
#endif
#ifdef CHECK_VALGRIND
#include <valgrind/memcheck.h>
#define CHECK_SET(from, size) (void)VALGRIND_MAKE_MEM_DEFINED(from, size)
#endif
#ifndef CHECK_SET
#define CHECK_SET(from, size) ((void)0)
#endif

/* Whether two objects are the same, also between their fields, of which nobody
   says what is there: what looks for bytes that were never set is told so. */
static inline int check_same_bytes(const void *a, const void *b, size_t size)
{
    CHECK_SET(a, size);
    CHECK_SET(b, size);
    return memcmp(a, b, size) == 0;
}

/* Emulators, sanitizers and mutants pass "reduced": the same questions on
   fewer inputs. */
static inline int check_reduced(int argc, char **argv)
{
    return argc > 1 && strcmp(argv[1], "reduced") == 0;
}

/* A test that checked nothing has not passed. */
static inline int check_done(const char *name)
{
    printf("%s: %lu checks\n", name, check_count);
    return check_count == 0;
}

/* Marsaglia's xorshift64 (2003): inputs that are the same on every run and
   share nothing with the header's own hash. Uniform enough to pick cases. */
static inline uint64_t check_random(uint64_t bound)
{
#ifdef CHECK_CHOOSE /* by a fuzzer, from its input */
    return CHECK_CHOOSE(bound);
#else
    static uint64_t x = 88172645463325252u;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return (x >> 11) % bound;
#endif
}

/* A number of a random width up to some bits, at most 62, so that small and
   large come equally often. */
static inline uint64_t check_random_bits(unsigned bits)
{
    uint64_t high = check_random((uint64_t)1 << 31);
    uint64_t low = check_random((uint64_t)1 << 31);
    return (high << 31 | low) >> (62 - bits);
}

#endif
