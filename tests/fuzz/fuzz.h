/* fuzz.h - what every harness shares. A harness writes

       static void fuzz(void)

   which asks check_random for all that it chooses, and CHECKs. The choices are
   the bytes of the input, one after the other, and zeros after its end: what a
   fuzzer changes in a byte is so a change of a field, a shape or a call.

   The fuzzer has a main of its own (FUZZER is then defined). Without it the one
   here replays the files that it is given.

   With FUZZ_SHARES in the environment a harness prints at its exit which share
   of the inputs came how far. */
#ifndef STATESAMPLER_TESTS_FUZZ_H
#define STATESAMPLER_TESTS_FUZZ_H

#ifndef FUZZER
#include <signal.h>
#include <unistd.h>
#endif

#define STATESAMPLER_IMPLEMENTATION
#ifdef FUZZ_STB_DS
#define STATESAMPLER_STB_DS
#include "stb_ds.h"
#endif
#include "statesampler.h"

static uint64_t fuzz_choose(uint64_t bound);
#define CHECK_CHOOSE fuzz_choose
/* Any other end is no crash for AFL++. */
#define CHECK_STOP() (fflush(stdout), abort())

#include "../check.h"
#include "../must.h"
#include "../forge.h"
#include "../model.h"
#include "../forged.h"

static void fuzz(void);

static const unsigned char *fuzz_next;
static size_t fuzz_left;

/* From 0 to bound - 1, from as few bytes as bound needs. */
static uint64_t fuzz_choose(uint64_t bound)
{
    uint64_t value = 0, most;
    for (most = bound - 1; most > 0; most >>= 8) {
        value <<= 8;
        if (fuzz_left > 0) {
            fuzz_left--;
            value |= *fuzz_next++;
        }
    }
    return value % bound;
}

/* A copy of what is left of the input: one byte past it is a crash. The rest
   are zeros then. */
static inline unsigned char *fuzz_rest(size_t *size)
{
    unsigned char *copy = (unsigned char *)malloc(fuzz_left + !fuzz_left);
    CHECK(copy != NULL);
    *size = fuzz_left;
    memcpy(copy, fuzz_next, fuzz_left);
    fuzz_left = 0;
    return copy;
}

/* --- Shares --------------------------------------------------------------- */

static struct {
    const char *what;
    unsigned long count;
} fuzz_shares[8];
static unsigned long fuzz_inputs;

static void fuzz_print_shares(void)
{
    size_t i;
    if (fuzz_inputs == 0)
        return;
    fprintf(stderr, "shares of %lu inputs:", fuzz_inputs);
    for (i = 0; i < FORGED_COUNT(fuzz_shares) && fuzz_shares[i].what; i++)
        fprintf(stderr, " %s %.1f %%;", fuzz_shares[i].what,
                100.0 * (double)fuzz_shares[i].count / (double)fuzz_inputs);
    fprintf(stderr, "\n");
}

/* This input came so far: said at most once for each. */
static void fuzz_came_to(const char *what)
{
    size_t i = 0;
    while (fuzz_shares[i].what && strcmp(fuzz_shares[i].what, what) != 0) {
        i++;
        CHECK(i < FORGED_COUNT(fuzz_shares));
    }
    fuzz_shares[i].what = what;
    fuzz_shares[i].count++;
}

/* A state that says of itself that it is whole, or not. */
static inline void fuzz_came_with(const unsigned char *state, size_t size)
{
    if (size >= 16 && size % 8 == 0 &&
        forge_get(state, size - 8, 8) == forge_check_word(state, size - 8))
        fuzz_came_to("right check word");
}

/* --- What a fuzzer calls -------------------------------------------------- */

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const uint8_t none[1] = {0};
    if (fuzz_inputs++ == 0 && getenv("FUZZ_SHARES"))
        CHECK(atexit(fuzz_print_shares) == 0);
    fuzz_next = size > 0 ? bytes : none;
    fuzz_left = size;
    fuzz();
    return 0;
}

#ifndef FUZZER
/* Of what takes so long, that it does so is the find; a fuzzer has a limit of
   its own. */
#define FUZZ_SECONDS 60
static const char *fuzz_file;

static void fuzz_late(int number)
{
    static const char text[] = ": this input takes a minute\n";
    (void)number;
    if (write(STDERR_FILENO, fuzz_file, strlen(fuzz_file)) < 0 ||
        write(STDERR_FILENO, text, sizeof text - 1) < 0)
        _exit(2);
    _exit(1);
}

int main(int argc, char **argv)
{
    static uint8_t bytes[1 << 16];
    int i;
    signal(SIGALRM, fuzz_late);
    for (i = 1; i < argc; i++) {
        size_t size;
        FILE *file = fopen(argv[i], "rb");
        if (!file) {
            perror(argv[i]);
            return 1;
        }
        size = fread(bytes, 1, sizeof bytes, file);
        CHECK(!ferror(file) && feof(file) && fclose(file) == 0);
        /* So that, where it breaks down, it is known by what. */
        if (getenv("FUZZ_VERBOSE"))
            fprintf(stderr, "%s\n", argv[i]);
        fuzz_file = argv[i];
        alarm(FUZZ_SECONDS);
        LLVMFuzzerTestOneInput(bytes, size);
    }
    alarm(0);
    printf("%d inputs\n", argc - 1);
    return check_done(argv[0]);
}
#endif

#endif
