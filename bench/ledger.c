/* ledger.c - the cost of a ledger's ticket: a whole window is issued and taken
   back in a random order. */
#include "bench.h"
#include "examples/extras/ledger.h"

enum { WINDOW = 65536 };

typedef struct tickets {
    ledger l;
    uint64_t bits[WINDOW / 64], state[LEDGER_WORDS(WINDOW)];
    uint64_t order[WINDOW]; /* in which they are taken back */
} tickets;

static void issue_all(tickets *all)
{
    uint64_t ticket;
    while (ledger_issue(&all->l, &ticket)) {
    }
}

static void done_all(tickets *all)
{
    uint64_t first = all->l.frontier;
    size_t i;
    for (i = 0; i < WINDOW; i++)
        must(ledger_done(&all->l, first + all->order[i]) == 0, "done");
}

static void issue_run(void *data)
{
    issue_all(data);
}

/* All that was issued before is taken back, not timed. */
static void issue_before(void *data)
{
    tickets *all = data;
    if (all->l.next > all->l.frontier)
        done_all(all);
}

static void done_run(void *data)
{
    done_all(data);
}

static void done_before(void *data)
{
    issue_all(data);
}

static void done_check(void *data)
{
    const tickets *all = data;
    must(all->l.frontier == all->l.next, "tickets are missing");
}

/* After a load of a state in which every other ticket is done. */
static void holes_before(void *data)
{
    tickets *all = data;
    must(ledger_load(&all->l, all->state, LEDGER_WORDS(WINDOW)) == 0, "load");
}

static void holes_init(tickets *all)
{
    uint64_t ticket;
    issue_all(all);
    for (ticket = 1; ticket < WINDOW; ticket += 2)
        must(ledger_done(&all->l, ticket) == 0, "done");
    must(ledger_save(&all->l, all->state, LEDGER_WORDS(WINDOW)) == 0, "save");
}

static void save_run(void *data)
{
    tickets *all = data;
    must(ledger_save(&all->l, all->state, LEDGER_WORDS(WINDOW)) == 0, "save");
}

int main(void)
{
    static tickets all[4];
    contender c[4] = {
        {issue_run, issue_before, NULL, &all[0], 0},
        {done_run, done_before, done_check, &all[1], 0},
        {issue_run, holes_before, NULL, &all[2], 0},
        {save_run, NULL, NULL, &all[3], 0},
    };
    size_t i;
    for (i = 0; i < 4; i++) {
        must(ledger_init(&all[i].l, all[i].bits, WINDOW, ~(uint64_t)0) == 0,
             "init");
        fisher_yates(all[i].order, WINDOW, i);
    }
    holes_init(&all[2]);
    race(c, 4, 3);
    row_alone("ledger; issue; window 2^16", c[0].ns / (double)WINDOW, "ns",
              100);
    row_alone("ledger; done in any order; window 2^16",
              c[1].ns / (double)WINDOW, "ns", 100);
    row_alone("ledger; issue after a load; every other done",
              c[2].ns / (WINDOW / 2), "ns", 100);
    row_plain("ledger; save; window 2^16", c[3].ns, "ns");
    return 0;
}
