/* groups.c - copies of prompts for GRPO, killed and resumed on other ranks.

       make examples && build/groups

   Each prompt comes COPIES times side by side, and each generation batch of
   BATCH prompts is used REUSE times. A quarter of it is a step. groups.h says
   which prompt is at a position, on any number of ranks. The rule is that of
   huggingface/trl; this program writes it down and compares. */
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include "example.h"
#include "extras/groups.h"

#define EPOCHS 2u
#define SEED 42u
#define MOST 1000000u /* positions in all */

static const char usage[] =
    "usage: groups [PROMPTS COPIES BATCH REUSE]\n\n"
    "Serves groups on 4, 3, 1 and 6 ranks in turn, and is killed after each\n"
    "few steps. Without arguments: 1003 prompts, 8 copies, generation batches\n"
    "of 24 prompts, each used twice.\n";

static groups g = {1003, 8, 24, 2};
static uint64_t served[MOST], wanted[MOST], count;

static statesampler_perm order_of(uint64_t epoch)
{
    statesampler_perm order;

    example_must(statesampler_perm_init(&order, g.prompts, SEED, epoch, 0));
    return order;
}

/* A rank's part of the step that comes next. */
static void serve(const statesampler *s, uint64_t rank, uint64_t part)
{
    const statesampler_perm order = order_of(statesampler_epoch(s));

    groups_fill(&g, &order, statesampler_position(s) + rank * part,
                served + count, (size_t)part);
    count += part;
}

/* Goes on from the state, and is killed after so many steps. Returns 0 at the
   end of the last epoch. */
static int live(unsigned char *state, uint64_t ranks, uint64_t steps)
{
    const uint64_t step = g.batch * g.copies / 4;
    const statesampler_desc desc = {
        .num_samples = groups_positions(&g),
        .seed = SEED,
        .stream = statesampler_hash(0, &g, sizeof g), /* refuses other groups */
        .batch_size = (uint32_t)step,
        .order = STATESAMPLER_ORDER_SEQUENTIAL,
    };
    statesampler s;
    uint64_t rank;

    example_must(statesampler_init(&s, &desc));
    if (count > 0)
        example_must(statesampler_load(&s, state, STATESAMPLER_STATE_BYTES));
    printf("epoch %d step %3d: %d ranks\n", (int)statesampler_epoch(&s),
           (int)statesampler_step(&s), (int)ranks);
    for (; statesampler_epoch(&s) < EPOCHS && steps > 0; steps--) {
        if (statesampler_step(&s) < statesampler_num_steps(&s))
            for (rank = 0; rank < ranks; rank++)
                serve(&s, rank, step / ranks);
        statesampler_next(&s, NULL, NULL);
    }
    statesampler_save(&s, state, STATESAMPLER_STATE_BYTES);
    return statesampler_epoch(&s) < EPOCHS;
}

/* trl/trainer/utils.py, RepeatSampler.__iter__, with our order. */
static uint64_t write_down(void)
{
    uint64_t epoch, first, use, p, copy, n = 0;

    for (epoch = 0; epoch < EPOCHS; epoch++) {
        const statesampler_perm order = order_of(epoch);

        for (first = 0; first + g.batch <= g.prompts; first += g.batch)
            for (use = 0; use < g.reuse; use++)
                for (p = first; p < first + g.batch; p++)
                    for (copy = 0; copy < g.copies; copy++)
                        wanted[n++] = statesampler_perm_at(&order, p);
    }
    return n;
}

static void read_arguments(int argc, char **argv)
{
    uint64_t *const fields[] = {&g.prompts, &g.copies, &g.batch, &g.reuse};
    int i;

    if (argc != 1 && argc != 5)
        example_fail(2, "'%s': give all of PROMPTS COPIES BATCH REUSE, or none",
                     argv[argc - 1]);
    for (i = 1; i < argc; i++)
        *fields[i - 1] = example_number(argv[i], 1, UINT64_MAX);
    if (g.batch > g.prompts)
        example_fail(2, "%s prompts do not make a generation batch of %s",
                     argv[1], argv[3]);
    if (groups_positions(&g) - 1 >= MOST / EPOCHS)
        example_fail(2, "an epoch here has at most %d positions",
                     (int)(MOST / EPOCHS));
    if (g.batch * g.copies % 48 != 0)
        example_fail(2, "BATCH * COPIES must be a multiple of 48: of 4 steps "
                        "for 4, 3, 1 and 6 ranks");
}

int main(int argc, char **argv)
{
    static const uint64_t ranks[] = {4, 3, 1, 6};
    unsigned char state[STATESAMPLER_STATE_BYTES];
    uint64_t lives = 0, wanted_count;

    example_begin(argc, argv, 4, usage);
    read_arguments(argc, argv);
    while (live(state, ranks[lives % 4], 3 + lives * 7 % 23))
        lives++;
    wanted_count = write_down();
    return example_end(count == wanted_count && lives > 0 &&
                           memcmp(served, wanted, sizeof served) == 0,
                       "killed %d times, %d positions of groups of %d are "
                       "those of one rank that was never killed",
                       (int)lives, (int)count, (int)g.copies);
}
