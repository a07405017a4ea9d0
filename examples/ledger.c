/* ledger.c - workers that finish out of order do each sample exactly once.

       make examples && build/ledger

   Samples take between 1 and 1,000 ticks, as rollouts do. 64 workers get them
   in order; the run is killed again and again, and goes on with 1 to 100
   workers. (Time is simulated; processes are killed in
   tests/extras/ledger_kills.c.) */
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include "example.h"
#include "extras/ledger.h"

#define SAMPLES 20000u
#define EPOCHS 10u
#define TICKETS (SAMPLES * EPOCHS)
#define WINDOW 4096u
#define WORKERS 100u /* at most */
#define NEVER (~(uint64_t)0)

enum { LEDGER, LOW_WATER, SKIP, WAYS };

static const char usage[] =
    "usage: ledger\n\n"
    "Kills a run of 1 to 100 workers, every 1,000 ticks and more seldom, and\n"
    "compares three ways to go on: the ledger, a low-water mark, and skipping\n"
    "what was issued.\n";

/* What would go to a file: a ledger and, for a model, what it learned from. */
typedef struct checkpoint {
    uint64_t ledger[LEDGER_WORDS(WINDOW)];
    uint64_t frontier, next; /* for the other two ways */
    unsigned char times[EPOCHS][SAMPLES];
} checkpoint;

static checkpoint now, saved;

static uint32_t draw(uint32_t n)
{
    static uint64_t x = 1;

    x = x * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(x >> 33) % n;
}

static uint64_t sample_of(uint64_t ticket)
{
    statesampler_perm order;

    statesampler_perm_init(&order, SAMPLES, 42, ticket / SAMPLES, 0);
    return statesampler_perm_at(&order, ticket % SAMPLES);
}

/* A third of the samples take one or two ticks, a thirtieth take 1,000. */
static uint64_t duration_of(uint64_t sample)
{
    uint64_t k = 1 + sample * 2654435761u % 4294967291u % 31;

    return 1000 / (k * k);
}

/* Works until it is killed or all is done; saves after every 64 samples. */
static void work(ledger *l, uint32_t workers, uint64_t killed)
{
    uint64_t ticket[WORKERS], sample[WORKERS], until[WORKERS], time = 0;
    uint32_t w, first, done;

    for (w = 0; w < workers; w++)
        until[w] = NEVER;
    for (done = 1;; done++) {
        for (w = first = 0; w < workers; w++) {
            if (until[w] == NEVER && ledger_issue(l, &ticket[w]))
                until[w] = time + duration_of(sample[w] = sample_of(ticket[w]));
            if (until[w] < until[first])
                first = w;
        }
        time = until[first];
        if (time >= killed)
            return;
        until[first] = NEVER;
        example_must_say(ledger_done(l, ticket[first]), ledger_error);
        now.times[ticket[first] / SAMPLES][sample[first]]++;
        if (done % 64 == 0) {
            example_must(ledger_save(l, now.ledger, LEDGER_WORDS(WINDOW)));
            now.frontier = l->frontier;
            now.next = l->next;
            saved = now;
        }
    }
}

/* Runs to the end; returns how often it was killed. The low-water mark is that
   of huggingface/trl#5911. NVIDIA-NeMo/RL#3599 and OpenRLHF/OpenRLHF#1322 skip
   (openrlhf/trainer/ppo_trainer_async.py at 03ae817e, GenerateSamplesActor). */
static int run(int way, uint32_t every)
{
    uint64_t bits[WINDOW / 64];
    int kills;
    ledger l;

    memset(&saved, 0, sizeof saved);
    for (kills = 0;; kills++) {
        now = saved;
        example_must_say(ledger_init(&l, bits, WINDOW, TICKETS), ledger_error);
        if (way == LOW_WATER)
            l.frontier = l.next = now.frontier;
        else if (way == SKIP)
            l.frontier = l.next = now.next;
        else if (now.next > 0)
            example_must_say(ledger_load(&l, now.ledger, LEDGER_WORDS(WINDOW)),
                             ledger_error);
        work(&l, kills > 0 ? 1 + draw(WORKERS) : 64, draw(2 * every));
        if (l.frontier == TICKETS)
            return kills;
    }
}

/* Prints what was done, and returns whether it is as expected. The ledger has
   each sample once an epoch. A low-water mark repeats short samples, and
   skipping loses long ones, so that the mean duration is too low. */
static int report(uint32_t every, int way, int kills)
{
    static const char *const names[WAYS] = {"ledger", "low-water mark", "skip"};
    uint64_t i, times, ticks = 0, whole = 0, twice = 0, never = 0;
    double mean, bias;

    for (i = 0; i < TICKETS; i++) {
        times = now.times[i / SAMPLES][i % SAMPLES];
        ticks += times * duration_of(i % SAMPLES);
        whole += duration_of(i % SAMPLES);
        twice += times > 1 ? times - 1 : 0;
        never += times == 0;
    }
    mean = (double)ticks / (double)(TICKETS + twice - never);
    bias = 100 * (mean * TICKETS / (double)whole - 1);
    printf("%5d  %-14s %5d %8d %6d %8.2f %+6.1f %%\n", (int)every, names[way],
           kills, (int)twice, (int)never, mean, bias);
    if (way == LOW_WATER)
        return twice > 1000 && bias < -1;
    if (way == SKIP)
        return never > 100 && bias < -1;
    return twice == 0 && never == 0 && ticks == whole;
}

int main(int argc, char **argv)
{
    int way, kills, all = 0, good = 1;
    uint32_t every;

    example_begin(argc, argv, 0, usage);
    printf("every                 kills  repeats   lost     mean     bias\n");
    for (every = 1000; every <= 32000; every *= 2) {
        for (way = SKIP; way >= LEDGER; way--) {
            kills = run(way, every);
            good &= report(every, way, kills);
        }
        all += kills; /* the ledger's, which came last */
    }
    return example_end(good && all >= 200,
                       "killed %d times, the ledger has "
                       "each of %d samples once in each of %d epochs; the "
                       "other two ways have a bias",
                       all, (int)SAMPLES, (int)EPOCHS);
}
