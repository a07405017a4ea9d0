/* test_assert.c - is STATESAMPLER_ASSERT called wherever a programmer can go
   wrong, before any harm is done, and nowhere else? */
#include <setjmp.h>

static jmp_buf caught;
static unsigned long asserted;

#define STATESAMPLER_ASSERT(condition) \
    (asserted++, (condition) ? (void)0 : longjmp(caught, 1))
#define STATESAMPLER_IMPLEMENTATION
#define STATESAMPLER_HOSTED
#include "statesampler.h"
#include "check.h"

static statesampler_desc desc;
static statesampler sampler, blank;
static statesampler_perm perm;
static statesampler_audit audit;
static statesampler_counts counts;
static statesampler_place place;
static unsigned char state[STATESAMPLER_STATE_BYTES];
static uint64_t out[100];
static size_t size;

static const uint32_t even[2] = {1, 1};

static int came_back;

#define CALL(call) \
    do { \
        asserted = 0; \
        came_back = 0; \
        if (!setjmp(caught)) { \
            (void)(call); \
            came_back = 1; \
        } \
        CHECK(asserted != 0); \
    } while (0)

/* A call that its assertion must stop, and one that it must let pass. */
#define WRONG(call) \
    do { \
        CALL(call); \
        CHECK(!came_back); \
    } while (0)
#define RIGHT(call) \
    do { \
        CALL(call); \
        CHECK(came_back); \
    } while (0)

/* For functions that return nothing: the comma operator gives them a value. */
#define VOID(call) ((call), 0)

static void check_perm(void)
{
    RIGHT(statesampler_perm_init(&perm, 100, 1, 2, 3));
    WRONG(statesampler_perm_init(NULL, 100, 1, 2, 3));
    RIGHT(statesampler_perm_at(&perm, 99));
    WRONG(statesampler_perm_at(NULL, 0));
    WRONG(statesampler_perm_at(&perm, 100));
    RIGHT(statesampler_perm_inverse(&perm, 99));
    WRONG(statesampler_perm_inverse(NULL, 0));
    WRONG(statesampler_perm_inverse(&perm, 100));
    RIGHT(VOID(statesampler_perm_fill(&perm, 0, 1, out, 100)));
    RIGHT(VOID(statesampler_perm_fill(&perm, 99, 1, out, 1)));
    RIGHT(VOID(statesampler_perm_fill(&perm, 99, 0, out, 100)));
    RIGHT(VOID(statesampler_perm_fill(&perm, 0, 1, NULL, 0)));
    WRONG(VOID(statesampler_perm_fill(NULL, 0, 1, out, 1)));
    WRONG(VOID(statesampler_perm_fill(&perm, 0, 1, NULL, 1)));
    WRONG(VOID(statesampler_perm_fill(&perm, 100, 1, out, 1)));
    WRONG(VOID(statesampler_perm_fill(&perm, 1, 1, out, 100)));
    WRONG(VOID(statesampler_perm_fill(&perm, 0, UINT64_MAX, out, 2)));
}

static void check_sampler(void)
{
    RIGHT(statesampler_init(&sampler, &desc));
    WRONG(statesampler_init(NULL, &desc));
    WRONG(statesampler_init(&sampler, NULL));
    RIGHT(statesampler_next(&sampler, out, &size));
    RIGHT(statesampler_next(&sampler, NULL, &size));
    RIGHT(statesampler_next(&sampler, NULL, NULL));
    WRONG(statesampler_next(NULL, out, &size));
    WRONG(statesampler_next(&blank, out, &size));
    RIGHT(statesampler_next(&sampler, out, NULL));
    RIGHT(statesampler_at(&sampler, 0, out, &size));
    RIGHT(statesampler_at(&sampler, 0, NULL, &size));
    RIGHT(statesampler_at(&sampler, 0, NULL, NULL));
    WRONG(statesampler_at(NULL, 0, out, &size));
    WRONG(statesampler_at(&blank, 0, out, &size));
    RIGHT(statesampler_at(&sampler, 0, out, NULL));
    RIGHT(statesampler_seek(&sampler, 0));
    WRONG(statesampler_seek(NULL, 0));
    WRONG(statesampler_seek(&blank, 0));
    RIGHT(statesampler_reshape(&sampler, 0, 1, 1));
    WRONG(statesampler_reshape(NULL, 0, 1, 1));
    WRONG(statesampler_reshape(&blank, 0, 1, 1));
    RIGHT(statesampler_resize(&sampler, 100));
    WRONG(statesampler_resize(NULL, 100));
    WRONG(statesampler_resize(&blank, 100));
    RIGHT(statesampler_sample_seed(&sampler, 0, 1));
    WRONG(statesampler_sample_seed(NULL, 0, 1));
    WRONG(statesampler_sample_seed(&blank, 0, 1));
    RIGHT(statesampler_hash(0, NULL, 0));
    WRONG(statesampler_hash(0, NULL, 1));
    RIGHT(VOID(statesampler_begin(&sampler, 1)));
    WRONG(VOID(statesampler_begin(NULL, 1)));
    WRONG(VOID(statesampler_begin(&blank, 1)));
    RIGHT(VOID(statesampler_set_epoch(&sampler, 1)));
    WRONG(VOID(statesampler_set_epoch(NULL, 1)));
    WRONG(VOID(statesampler_set_epoch(&blank, 1)));
    RIGHT(statesampler_epoch(&sampler));
    WRONG(statesampler_epoch(NULL));
    WRONG(statesampler_epoch(&blank));
    RIGHT(statesampler_step(&sampler));
    WRONG(statesampler_step(NULL));
    WRONG(statesampler_step(&blank));
    RIGHT(statesampler_base(&sampler));
    WRONG(statesampler_base(NULL));
    WRONG(statesampler_base(&blank));
    RIGHT(statesampler_num_steps(&sampler));
    WRONG(statesampler_num_steps(NULL));
    WRONG(statesampler_num_steps(&blank));
    RIGHT(statesampler_position(&sampler));
    WRONG(statesampler_position(NULL));
    WRONG(statesampler_position(&blank));
    RIGHT(VOID(statesampler_get_counts(&sampler, &counts)));
    WRONG(VOID(statesampler_get_counts(NULL, &counts)));
    WRONG(VOID(statesampler_get_counts(&blank, &counts)));
    WRONG(VOID(statesampler_get_counts(&sampler, NULL)));
    RIGHT(statesampler_padding(&sampler, 0));
    WRONG(statesampler_padding(NULL, 0));
    WRONG(statesampler_padding(&blank, 0));
    RIGHT(statesampler_locate(&sampler, 0, &place));
    WRONG(statesampler_locate(NULL, 0, &place));
    WRONG(statesampler_locate(&blank, 0, &place));
    WRONG(statesampler_locate(&sampler, 0, NULL));
    RIGHT(statesampler_save(&sampler, state, sizeof state));
    RIGHT(statesampler_save(&sampler, NULL, 0));
    WRONG(statesampler_save(NULL, state, sizeof state));
    WRONG(statesampler_save(&blank, state, sizeof state));
    WRONG(statesampler_save(&sampler, NULL, sizeof state));
    RIGHT(statesampler_load(&sampler, state, sizeof state));
    RIGHT(statesampler_load(&sampler, NULL, 0));
    WRONG(statesampler_load(NULL, state, sizeof state));
    WRONG(statesampler_load(&blank, state, sizeof state));
    WRONG(statesampler_load(&sampler, NULL, sizeof state));
    RIGHT(statesampler_describe(state, sizeof state, NULL, NULL));
    RIGHT(statesampler_describe(NULL, 0, &desc, &place));
    WRONG(statesampler_describe(NULL, sizeof state, &desc, &place));
}

static void check_mix(void)
{
    static statesampler_source sources[2], blanks[2];
    static statesampler_mix mix, none;
    static unsigned char bytes[300];
    uint64_t turn;
    uint32_t source;
    CHECK(statesampler_init(&sources[0].sampler, &desc) == STATESAMPLER_OK);
    CHECK(statesampler_init(&sources[1].sampler, &desc) == STATESAMPLER_OK);
    RIGHT(statesampler_mix_init(&mix, sources, 2, 0));
    WRONG(statesampler_mix_init(NULL, sources, 2, 0));
    WRONG(statesampler_mix_init(&mix, NULL, 2, 0));
    RIGHT(statesampler_mix_init(&none, NULL, 0, 0));
    WRONG(statesampler_mix_init(&mix, blanks, 2, 0));
    RIGHT(statesampler_mix_next(&mix, NULL, &size, &source));
    WRONG(statesampler_mix_next(NULL, NULL, &size, &source));
    WRONG(statesampler_mix_next(&none, NULL, &size, &source));
    RIGHT(statesampler_mix_next(&mix, out, &size, &source));
    RIGHT(statesampler_mix_next(&mix, NULL, NULL, NULL));
    RIGHT(statesampler_mix_next(&mix, out, NULL, NULL));
    RIGHT(statesampler_mix_at(&mix, 0, NULL, &size, &source));
    WRONG(statesampler_mix_at(NULL, 0, NULL, &size, &source));
    WRONG(statesampler_mix_at(&none, 0, NULL, &size, &source));
    RIGHT(statesampler_mix_at(&mix, 0, out, &size, &source));
    RIGHT(statesampler_mix_at(&mix, 0, NULL, NULL, NULL));
    RIGHT(statesampler_mix_at(&mix, 0, out, NULL, NULL));
    RIGHT(statesampler_mix_seek(&mix, 0));
    WRONG(statesampler_mix_seek(NULL, 0));
    WRONG(statesampler_mix_seek(&none, 0));
    RIGHT(statesampler_mix_weigh(&mix, even));
    WRONG(statesampler_mix_weigh(NULL, even));
    WRONG(statesampler_mix_weigh(&none, even));
    WRONG(statesampler_mix_weigh(&mix, NULL));
    RIGHT(statesampler_mix_reshape(&mix, 0, 1));
    WRONG(statesampler_mix_reshape(NULL, 0, 1));
    WRONG(statesampler_mix_reshape(&none, 0, 1));
    RIGHT(statesampler_mix_turn(&mix));
    WRONG(statesampler_mix_turn(NULL));
    WRONG(statesampler_mix_turn(&none));
    RIGHT(statesampler_mix_num_turns(&mix));
    WRONG(statesampler_mix_num_turns(NULL));
    WRONG(statesampler_mix_num_turns(&none));
    RIGHT(statesampler_mix_epoch(&mix));
    WRONG(statesampler_mix_epoch(NULL));
    WRONG(statesampler_mix_epoch(&none));
    RIGHT(statesampler_mix_offset(&mix, 2));
    WRONG(statesampler_mix_offset(NULL, 0));
    WRONG(statesampler_mix_offset(&none, 0));
    WRONG(statesampler_mix_offset(&mix, 3));
    RIGHT(statesampler_mix_locate(&mix, 1, 2, &turn, &place));
    WRONG(statesampler_mix_locate(NULL, 1, 2, &turn, &place));
    WRONG(statesampler_mix_locate(&none, 1, 2, &turn, &place));
    WRONG(statesampler_mix_locate(&mix, 1, 2, NULL, &place));
    WRONG(statesampler_mix_locate(&mix, 1, 2, &turn, NULL));
    RIGHT(statesampler_mix_state_bytes(&mix));
    WRONG(statesampler_mix_state_bytes(NULL));
    WRONG(statesampler_mix_state_bytes(&none));
    RIGHT(statesampler_mix_save(&mix, bytes, sizeof bytes));
    RIGHT(statesampler_mix_save(&mix, NULL, 0));
    WRONG(statesampler_mix_save(NULL, bytes, sizeof bytes));
    WRONG(statesampler_mix_save(&none, bytes, sizeof bytes));
    WRONG(statesampler_mix_save(&mix, NULL, sizeof bytes));
    RIGHT(statesampler_mix_load(&mix, bytes, sizeof bytes));
    RIGHT(statesampler_mix_load(&mix, NULL, 0));
    WRONG(statesampler_mix_load(NULL, bytes, sizeof bytes));
    WRONG(statesampler_mix_load(&none, bytes, sizeof bytes));
    WRONG(statesampler_mix_load(&mix, NULL, sizeof bytes));
    RIGHT(statesampler_mix_describe(bytes, sizeof bytes, 0, NULL, NULL));
    RIGHT(statesampler_mix_describe(NULL, 0, 0, NULL, NULL));
    WRONG(statesampler_mix_describe(NULL, sizeof bytes, 0, NULL, NULL));
    RIGHT(statesampler_mix_state_in(bytes, &size));
    WRONG(statesampler_mix_state_in(NULL, &size));
    WRONG(statesampler_mix_state_in(bytes, NULL));
    RIGHT(statesampler_mix_source_in(bytes, 0, NULL));
    WRONG(statesampler_mix_source_in(NULL, 0, NULL));
}

static void check_rest(void)
{
    RIGHT(VOID(statesampler_audit_add(&audit, out, 1)));
    RIGHT(VOID(statesampler_audit_add(&audit, NULL, 0)));
    WRONG(VOID(statesampler_audit_add(NULL, out, 1)));
    WRONG(VOID(statesampler_audit_add(&audit, NULL, 1)));
    RIGHT(VOID(statesampler_audit_merge(&audit, &audit)));
    WRONG(VOID(statesampler_audit_merge(NULL, &audit)));
    WRONG(VOID(statesampler_audit_merge(&audit, NULL)));
    RIGHT(statesampler_audit_check(&audit, 1));
    WRONG(statesampler_audit_check(NULL, 1));

    RIGHT(statesampler_from_env(&desc, NULL));
    WRONG(statesampler_from_env(NULL, NULL));
    WRONG(statesampler_save_file(NULL, state, 1));
    WRONG(statesampler_save_file("", NULL, 1));
    WRONG(statesampler_load_file(NULL, state, 1, &size));
    WRONG(statesampler_load_file("", NULL, 1, &size));
}

int main(void)
{
    desc.num_samples = 100;
    check_perm();
    check_sampler();
    check_mix();
    check_rest();
    return check_done("test_assert");
}
