/* test_threads.c - may any number of threads ask one const sampler, mix or
   permutation at once, and save and load one file? Asked of the results here,
   and of every access to memory by `make sanitize`. And how much stack do the
   calls of the hosted part take? */
#if defined(__unix__) /* Apple's threads have no barrier */
#define _XOPEN_SOURCE 700
#define STATESAMPLER_HOSTED
#endif
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include "check.h"
#include "must.h"

#if defined(_XOPEN_SOURCE)

#include <pthread.h>
#include <unistd.h>

enum { THREADS = 4, SAMPLERS = 4, SOURCES = 3, LARGEST = 3000 };

/* What all threads share, and none of them writes to. */
static struct {
    statesampler_perm perm;
    statesampler samplers[SAMPLERS];
    statesampler_source sources[SOURCES];
    statesampler_mix mix;
    unsigned rounds;
    char path[200];
} shared;

static uint64_t add(uint64_t hash, uint64_t word)
{
    return (hash ^ word) * UINT64_C(1099511628211); /* FNV-1a, of words */
}

static uint64_t ask_perm(uint64_t hash, uint64_t k)
{
    const statesampler_perm *perm = &shared.perm;
    uint64_t out[40], i;
    statesampler_perm_fill(perm, k, 11, out, 40);
    for (i = 0; i < 40; i++)
        hash = add(hash, out[i]);
    hash = add(hash, statesampler_perm_at(perm, k));
    return add(hash, statesampler_perm_inverse(perm, out[0]));
}

static uint64_t ask_sampler(uint64_t hash, const statesampler *s, uint64_t k)
{
    unsigned char state[STATESAMPLER_STATE_BYTES];
    statesampler_counts counts;
    statesampler_place place;
    statesampler_desc desc;
    uint64_t out[16];
    size_t count, i;
    int code = statesampler_at(s, k % statesampler_num_steps(s), out, &count);
    hash = add(hash, (uint64_t)(code + 100));
    for (i = 0; i < count; i++)
        hash = add(hash, out[i]);
    code = statesampler_locate(s, k, &place);
    hash = add(hash, code < 0 ? 1 : place.step);
    statesampler_get_counts(s, &counts);
    hash = add(add(hash, counts.rank_samples), statesampler_padding(s, k));
    hash = add(hash, statesampler_sample_seed(s, 3, k));
    hash = add(hash, statesampler_epoch(s) + statesampler_position(s));
    code = statesampler_save(s, state, sizeof state);
    for (i = 0; i < sizeof state; i++)
        hash = add(hash, state[i]);
    code += statesampler_describe(state, sizeof state, &desc, &place);
    return add(hash, desc.num_samples + (uint64_t)code);
}

static uint64_t ask_mix(uint64_t hash, uint64_t k)
{
    const statesampler_mix *mix = &shared.mix;
    unsigned char state[2000];
    statesampler_place place;
    uint64_t out[16], turn = 0;
    uint32_t source;
    size_t count, i;
    int code = statesampler_mix_at(mix, k % statesampler_mix_num_turns(mix),
                                   out, &count, &source);
    hash = add(hash, source + (uint64_t)(code + 100));
    for (i = 0; i < count; i++)
        hash = add(hash, out[i]);
    code =
        statesampler_mix_locate(mix, (uint32_t)(k % SOURCES), k, &turn, &place);
    hash = add(hash, code == 0 ? turn : 7);
    hash = add(hash, statesampler_mix_offset(mix, (uint32_t)(k % SOURCES)));
    code = statesampler_mix_save(mix, state, sizeof state);
    for (i = 0; i < statesampler_mix_state_bytes(mix); i++)
        hash = add(hash, state[i]);
    return add(hash, statesampler_mix_turn(mix) + (uint64_t)code);
}

static uint64_t ask_all(void)
{
    uint64_t hash = 0, k;
    unsigned i;
    for (k = 0; k < shared.rounds; k++) {
        hash = ask_perm(hash, k);
        for (i = 0; i < SAMPLERS; i++)
            hash = ask_sampler(hash, &shared.samplers[i], k);
        hash = ask_mix(hash, k);
    }
    return hash;
}

/* Two accesses by threads that were never alive together are not seen. */
static pthread_barrier_t begin;

static void *ask_in_thread(void *hash)
{
    (void)pthread_barrier_wait(&begin);
    *(uint64_t *)hash = ask_all();
    return NULL;
}

/* Each file that is saved has one letter only, as many times as is its own. */
static size_t size_of(char letter)
{
    return LARGEST - 100 * (size_t)(letter - 'a');
}

/* *wrong: in how many rounds something was not as it must be. */
static void *save_in_thread(void *wrong)
{
    char bytes[LARGEST], letter = (char)('a' + *(int *)wrong);
    unsigned round, bad = 0;
    memset(bytes, letter, sizeof bytes);
    (void)pthread_barrier_wait(&begin);
    for (round = 0; round < shared.rounds / 50; round++) {
        char back[LARGEST];
        size_t got = 0, i;
        bad += statesampler_save_file(shared.path, bytes, size_of(letter)) !=
               STATESAMPLER_OK;
        bad += statesampler_load_file(shared.path, back, sizeof back, &got) !=
               STATESAMPLER_OK;
        bad += got == 0 || got != size_of(back[0]);
        for (i = 1; i < got; i++)
            bad += back[i] != back[0];
    }
    *(int *)wrong = (int)bad;
    return NULL;
}

/* ---- the stack ---- */

static void *do_nothing(void *unused)
{
    return unused;
}

static void *save_once(void *unused)
{
    CHECK(statesampler_save_file(shared.path, "six", 3) == STATESAMPLER_OK);
    return unused;
}

static void *load_once(void *unused)
{
    char back[3];
    CHECK(statesampler_load_file(shared.path, back, 3, NULL) ==
          STATESAMPLER_OK);
    return unused;
}

static void *read_environment(void *unused)
{
    statesampler_desc desc;
    (void)statesampler_from_env(&desc, NULL);
    return unused;
}

/* How much of its stack, which grows down, a thread has written to. */
static size_t stack_of(void *(*call)(void *))
{
    static unsigned char stack[1 << 17];
    pthread_attr_t how;
    pthread_t thread;
    size_t unused = 0;
    memset(stack, 0xa5, sizeof stack);
    CHECK(pthread_attr_init(&how) == 0);
    CHECK(pthread_attr_setstack(&how, stack, sizeof stack) == 0);
    CHECK(pthread_create(&thread, &how, call, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(pthread_attr_destroy(&how) == 0);
    while (stack[unused] == 0xa5)
        unused++;
    return sizeof stack - unused;
}

/* 10 KiB with what the C library takes. Sanitizers and emulators, which are
   asked less, take more. */
static void check_stack(void)
{
    static void *(*const calls[])(void *) = {save_once, load_once,
                                             read_environment};
    size_t none = stack_of(do_nothing), k;
    for (k = 0; k < sizeof calls / sizeof calls[0]; k++) {
        size_t bytes = stack_of(calls[k]) - none;
        if (bytes > 10240)
            printf("call %u takes %u bytes of stack\n", (unsigned)k,
                   (unsigned)bytes);
        CHECK(bytes <= 10240);
    }
}

static void begin_shared(int reduced)
{
    static const statesampler_desc descs[SAMPLERS] = {
        {1000003, 1, 2, 0, 1, 3, 16, STATESAMPLER_ORDER_SHUFFLE,
         STATESAMPLER_PARTITION_INTERLEAVED, STATESAMPLER_TAIL_PAD, 0, 0, 0},
        {1000003, 1, 2, 0, 2, 3, 16, STATESAMPLER_ORDER_WINDOW,
         STATESAMPLER_PARTITION_INTERLEAVED, STATESAMPLER_TAIL_UNEVEN, 0, 64,
         8},
        {99991, 5, 0, 0, 1, 4, 7, STATESAMPLER_ORDER_SHUFFLE,
         STATESAMPLER_PARTITION_BLOCKED, STATESAMPLER_TAIL_DROP, 0, 0, 0},
        {777, 5, 0, 0, 0, 2, 10, STATESAMPLER_ORDER_REPLACEMENT,
         STATESAMPLER_PARTITION_INTERLEAVED, STATESAMPLER_TAIL_PAD, 0, 0, 0},
    };
    unsigned i;
    const char *folder = getenv("TMPDIR");
    shared.rounds = reduced ? 3000 : 5000;
    CHECK(statesampler_perm_init(&shared.perm, 1000003, 1, 2, 3) ==
          STATESAMPLER_OK);
    for (i = 0; i < SAMPLERS; i++) {
        statesampler *s = &shared.samplers[i];
        CHECK(statesampler_init(s, &descs[i]) == STATESAMPLER_OK);
        CHECK(statesampler_seek(s, 5) == STATESAMPLER_OK);
        /* Then what was served first, and what is left, differ. */
        if (i < 2)
            CHECK(statesampler_reshape(s, 0, 2, 8) == STATESAMPLER_OK);
    }
    for (i = 0; i < SOURCES; i++) {
        CHECK(statesampler_init(&shared.sources[i].sampler, &descs[0]) ==
              STATESAMPLER_OK);
        shared.sources[i].weight = i + 1;
    }
    CHECK(statesampler_mix_init(&shared.mix, shared.sources, SOURCES,
                                STATESAMPLER_STOP_ALL) == STATESAMPLER_OK);
    sprintf(shared.path, "%.100s/test_threads.%ld", folder ? folder : "/tmp",
            (long)getpid());
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    uint64_t hashes[THREADS] = {0, 0, 0, 0}, alone;
    int wrong[THREADS], i, reduced = check_reduced(argc, argv);
    begin_shared(reduced);
    alone = ask_all();
    CHECK(pthread_barrier_init(&begin, NULL, THREADS) == 0);
    for (i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, ask_in_thread, &hashes[i]) ==
              0);
    for (i = 0; i < THREADS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
        CHECK(hashes[i] == alone);
    }
    CHECK(alone == ask_all());
    for (i = 0; i < THREADS; i++) {
        wrong[i] = i;
        CHECK(pthread_create(&threads[i], NULL, save_in_thread, &wrong[i]) ==
              0);
    }
    for (i = 0; i < THREADS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
        CHECK(wrong[i] == 0);
    }
    if (!reduced)
        check_stack();
    CHECK(remove(shared.path) == 0);
    return check_done("test_threads");
}

#else

int main(void)
{
    CHECK(sizeof(statesampler) <= 512);
    return check_done("test_threads");
}

#endif
