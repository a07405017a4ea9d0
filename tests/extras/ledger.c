/* ledger.c - does examples/extras/ledger.h issue and take back what a plain
   list of tickets does, through any loads, and refuse all else? */
#include "statesampler.h"
#include "examples/extras/ledger.h"

#include "../check.h"

#define MOST 4096u /* tickets of the list */
#define WIDEST 512u

/* The list: what is done, and what is issued since the last load. */
typedef struct list {
    unsigned char done[MOST], issued[MOST];
    uint64_t end, window;
} list;

static uint64_t first_open(const list *all)
{
    uint64_t t = 0;

    while (t < all->end && all->done[t])
        t++;
    return t;
}

static uint64_t next_of(const list *all)
{
    uint64_t t = first_open(all), limit = t + all->window;

    while (t < all->end && t < limit && (all->done[t] || all->issued[t]))
        t++;
    return t < limit ? t : all->end;
}

/* A ledger that must be as it was. */
typedef struct before {
    ledger l;
    uint64_t bits[WIDEST / 64];
} before;

static before copy_of(const ledger *l)
{
    before was;

    was.l = *l;
    memcpy(was.bits, l->done, (size_t)(l->window / 8));
    return was;
}

static void check_same(const before *was, const ledger *l)
{
    CHECK(was->l.frontier == l->frontier && was->l.next == l->next &&
          was->l.window == l->window && was->l.end == l->end &&
          was->l.done == l->done);
    CHECK(memcmp(was->bits, l->done, (size_t)(l->window / 8)) == 0);
}

/* --- Against the list --------------------------------------------------- */

static void try_issue(ledger *l, list *all)
{
    uint64_t want = next_of(all), ticket = 77;
    int found = ledger_issue(l, &ticket);

    CHECK(found == (want < all->end));
    CHECK(ticket == (found ? want : 77));
    if (found)
        all->issued[want] = 1;
}

static void try_done(ledger *l, list *all, uint64_t ticket)
{
    before was = copy_of(l);
    int status = ledger_status(l, ticket), code = ledger_done(l, ticket);

    CHECK(status == code);
    if (ticket < all->end && all->done[ticket]) {
        CHECK(code == LEDGER_EDONE);
    } else if (ticket >= all->end || !all->issued[ticket]) {
        CHECK(code == LEDGER_EISSUED);
    } else {
        CHECK(code == STATESAMPLER_OK);
        all->done[ticket] = 1;
        CHECK(l->frontier == first_open(all));
        return;
    }
    check_same(&was, l);
}

/* One of those that are issued, or any. */
static uint64_t pick(const list *all)
{
    uint64_t t = check_random(all->end + 70), tries;

    for (tries = 0; tries < 40 && check_random(8) > 0; tries++) {
        t = first_open(all) + check_random(all->window + 2);
        if (t < all->end && all->issued[t] && !all->done[t])
            break;
    }
    return t;
}

/* What a checkpoint has. */
typedef struct saved {
    list all;
    uint64_t state[LEDGER_WORDS(WIDEST)];
    size_t words;
} saved;

static void try_save(const ledger *l, const list *all, saved *to)
{
    to->all = *all;
    memset(to->all.issued, 0, sizeof to->all.issued);
    to->words = LEDGER_WORDS(all->window);
    CHECK(8 * to->words == 24 + all->window / 8);
    CHECK(ledger_save(l, to->state, to->words) == STATESAMPLER_OK);
}

/* Kills, and goes on with the checkpoint in another window, if that holds it;
   also in a ledger that is in use. */
static void try_load(ledger *l, list *all, uint64_t *bits, const saved *from)
{
    static const uint64_t windows[] = {64, 128, 192, 320, 512};
    uint64_t window = windows[check_random(5)], first = first_open(&from->all),
             last = 0, done = 0, t;
    ledger_place place;
    before was;
    int code;

    for (t = first; t < all->end; t++) {
        if (from->all.done[t]) {
            last = t + 1 - first;
            done++;
        }
    }
    CHECK(ledger_describe(from->state, from->words, &place) == STATESAMPLER_OK);
    CHECK(place.frontier == first && place.ahead == last && place.done == done);
    if (window != l->window)
        CHECK(ledger_init(l, bits, window, all->end) == STATESAMPLER_OK);
    was = copy_of(l);
    code = ledger_load(l, from->state, from->words);
    if (last > window) {
        CHECK(code == LEDGER_EAHEAD);
        check_same(&was, l);
        window = from->all.window;
        CHECK(ledger_init(l, bits, window, all->end) == STATESAMPLER_OK);
        code = ledger_load(l, from->state, from->words);
    }
    CHECK(code == STATESAMPLER_OK && l->frontier == first);
    *all = from->all;
    all->window = window;
}

static void against_list(uint64_t end, uint64_t steps)
{
    static list all;
    static saved last;
    uint64_t bits[WIDEST / 64], step, loads = check_random(3) * 300 + 20;
    ledger l;

    memset(&all, 0, sizeof all);
    all.end = end;
    all.window = 192;
    CHECK(ledger_init(&l, bits, all.window, end) == STATESAMPLER_OK);
    try_save(&l, &all, &last);
    for (step = 0; step < steps; step++) {
        if (check_random(2 * loads) == 0)
            try_load(&l, &all, bits, &last);
        else if (check_random(loads) == 0)
            try_save(&l, &all, &last);
        else if (check_random(2) == 0)
            try_issue(&l, &all);
        else
            try_done(&l, &all, pick(&all));
    }
    while (l.frontier < end) { /* each turn does a ticket */
        while (next_of(&all) < end)
            try_issue(&l, &all);
        try_done(&l, &all, l.frontier);
    }
    try_issue(&l, &all);
    try_done(&l, &all, end);
    try_save(&l, &all, &last);
    try_load(&l, &all, bits, &last);
    try_issue(&l, &all);
}

/* --- Long runs, far tickets ----------------------------------------------- */

static void issues(ledger *l, uint64_t ticket)
{
    uint64_t got;

    CHECK(ledger_issue(l, &got) == 1 && got == ticket);
}

/* All but the first of a window are done, then the first: far from 0, in a
   ledger that never ends. */
static void far_tickets(ledger *l, uint64_t from)
{
    uint64_t ticket, i;

    l->frontier = l->next = from;
    for (i = 0; i < l->window; i++)
        issues(l, from + i);
    CHECK(ledger_issue(l, &ticket) == 0);
    for (i = l->window; i-- > 1;)
        CHECK(ledger_done(l, from + i) == STATESAMPLER_OK);
    CHECK(l->frontier == from && ledger_issue(l, &ticket) == 0);
    CHECK(ledger_done(l, from) == STATESAMPLER_OK);
    CHECK(l->frontier == from + l->window);
    CHECK(ledger_done(l, from + l->window - 1) == LEDGER_EDONE);
    CHECK(ledger_done(l, from + l->window) == LEDGER_EISSUED);
}

/* Every other one is done; then a load, and the rest. */
static void far_holes(ledger *l, uint64_t from)
{
    static uint64_t state[LEDGER_WORDS(65536)];
    size_t words = LEDGER_WORDS(l->window);
    uint64_t ticket, i;

    for (i = 0; i < l->window; i++) {
        issues(l, from + i);
        if (i % 2 == 1)
            CHECK(ledger_done(l, from + i) == STATESAMPLER_OK);
    }
    CHECK(ledger_save(l, state, words) == STATESAMPLER_OK);
    CHECK(ledger_load(l, state, words) == STATESAMPLER_OK);
    for (i = 0; i < l->window; i += 2)
        issues(l, from + i);
    CHECK(ledger_issue(l, &ticket) == 0);
    for (i = 0; i < l->window; i += 2)
        CHECK(ledger_done(l, from + i) == STATESAMPLER_OK);
    CHECK(l->frontier == from + l->window);
    issues(l, from + l->window);
}

static void far_away(uint64_t from, uint64_t window)
{
    static uint64_t bits[65536 / 64];
    ledger l;

    CHECK(ledger_init(&l, bits, window, STATESAMPLER_NONE) == STATESAMPLER_OK);
    far_tickets(&l, from);
    far_holes(&l, from + window);
}

/* --- What must be refused ------------------------------------------------- */

static void refuses(ledger *l, const uint64_t *state, size_t words, int want)
{
    ledger_place place = {1, 2, 3};
    before was = copy_of(l);

    CHECK(ledger_load(l, state, words) == want);
    check_same(&was, l);
    if (STATESAMPLER_KIND(want) == STATESAMPLER_ECORRUPT) {
        CHECK(ledger_describe(state, words, &place) == want);
        CHECK(place.frontier == 1 && place.ahead == 2 && place.done == 3);
    }
}

/* A state whose check word is right and that no ledger saves. */
static void forged(ledger *l, const uint64_t *good, size_t at, uint64_t word,
                   int want)
{
    uint64_t state[LEDGER_WORDS(128)];
    size_t words = LEDGER_WORDS(128);

    memcpy(state, good, sizeof state);
    state[at] = word;
    state[words - 1] = ledger_check(state, words - 1);
    refuses(l, state, words, want);
}

static void damaged(void)
{
    const size_t words = LEDGER_WORDS(128);
    uint64_t bits[2], state[LEDGER_WORDS(128) + 3] = {0}, ticket;
    size_t i;
    ledger l;

    CHECK(ledger_init(&l, bits, 128, 1000) == STATESAMPLER_OK);
    for (i = 0; i < 100; i++)
        CHECK(ledger_issue(&l, &ticket) == 1);
    for (i = 0; i < 100; i += i == 20 ? 2 : 1)
        CHECK(ledger_done(&l, i) == STATESAMPLER_OK);
    CHECK(ledger_save(&l, state, words) == STATESAMPLER_OK);
    for (i = 0; i < 64 * words; i++) {
        state[i / 64] ^= (uint64_t)1 << i % 64;
        refuses(&l, state, words,
                i < 64 ? STATESAMPLER_ECORRUPT_MAGIC
                       : STATESAMPLER_ECORRUPT_CHECK);
        state[i / 64] ^= (uint64_t)1 << i % 64;
    }
    for (i = 0; i < words + 2; i++)
        if (i != words)
            refuses(&l, state, i, STATESAMPLER_ECORRUPT_MAGIC);
    state[words] = LEDGER_HEAD(0); /* a state of no window */
    state[words + 1] = ledger_check(state + words, 1);
    refuses(&l, state + words, 2, STATESAMPLER_ECORRUPT_MAGIC);
    refuses(&l, state + words, 3, STATESAMPLER_ECORRUPT_MAGIC);
    /* The last ticket done is 99, the frontier 21. */
    forged(&l, state, 2, state[2] | 1u << 21, STATESAMPLER_ECORRUPT_POSITION);
    forged(&l, state, 0, LEDGER_HEAD(64), STATESAMPLER_ECORRUPT_MAGIC);
    forged(&l, state, 0, LEDGER_HEAD(128) + 1, STATESAMPLER_ECORRUPT_MAGIC);
    forged(&l, state, 0, 0x5353000000000000u, STATESAMPLER_ECORRUPT_MAGIC);
    forged(&l, state, 1, 1001 - 1001 % 128 + 21 + 128, LEDGER_EEND);
    forged(&l, state, 1, STATESAMPLER_NONE - 106, LEDGER_EEND);
    l.end = 99;
    refuses(&l, state, words, LEDGER_EEND);
    l.end = 20;
    refuses(&l, state, words, LEDGER_EEND);
    l.end = 100;
    CHECK(ledger_load(&l, state, words) == STATESAMPLER_OK);
    CHECK(ledger_issue(&l, &ticket) == 1 && ticket == 21);
    CHECK(ledger_issue(&l, &ticket) == 0);
    CHECK(ledger_done(&l, 21) == STATESAMPLER_OK && l.frontier == 100);
}

/* The check word is a sampler's state's, whose bytes are little-endian. */
static void check_word(void)
{
    const uint64_t one = 1;
    uint64_t state[STATESAMPLER_STATE_BYTES / 8];
    statesampler_desc desc;
    statesampler s;

    memset(&desc, 0, sizeof desc);
    desc.num_samples = 1000;
    desc.seed = 42;
    CHECK(statesampler_init(&s, &desc) == STATESAMPLER_OK);
    CHECK(statesampler_save(&s, state, sizeof state) == STATESAMPLER_OK);
    CHECK(ledger_check(state, sizeof state / 8) == 0 ||
          *(const unsigned char *)&one == 0);
}

static void arguments(void)
{
    static const uint64_t windows[] = {0, 1, 63, 65, 100, (uint64_t)1 << 32};
    uint64_t bits[1] = {5}, state[LEDGER_WORDS(64) + 1];
    ledger l = {1, 2, 3, 4, NULL};
    size_t i;
    int code;

    for (i = 0; i < 6; i++) {
        CHECK(ledger_init(&l, bits, windows[i], 9) == LEDGER_EWINDOW);
        CHECK(l.frontier == 1 && l.done == NULL && bits[0] == 5);
    }
    CHECK(ledger_init(&l, bits, 64, 0) == STATESAMPLER_OK);
    CHECK(ledger_issue(&l, state) == 0 && ledger_done(&l, 0) == LEDGER_EISSUED);
    memset(state, 7, sizeof state);
    CHECK(ledger_save(&l, state, LEDGER_WORDS(64) - 1) ==
          STATESAMPLER_ECAPACITY);
    CHECK(ledger_save(&l, state, LEDGER_WORDS(64) + 1) ==
          STATESAMPLER_ECAPACITY);
    CHECK(state[0] == 0x0707070707070707u);
    for (code = LEDGER_EEND; code < LEDGER_EDONE; code++)
        CHECK(strcmp(ledger_error(code), ledger_error(code + 1)) != 0);
    CHECK(strstr(ledger_error(LEDGER_EEND), "past the end") != NULL);
    CHECK(ledger_error(LEDGER_EEND - 1) == statesampler_error(LEDGER_EEND - 1));
}

int main(int argc, char **argv)
{
    uint64_t run, runs = check_reduced(argc, argv) ? 30 : 150;

    for (run = 0; run < runs; run++)
        against_list(run % 4 == 0 ? check_random(300) : 1 + check_random(MOST),
                     3 * MOST);
    for (run = 0; run < 130; run++)
        far_away(run * 0x01f3a7c55d9e8b31u, 64 + run % 3 * 128);
    far_away(12345, 65536);
    damaged();
    check_word();
    arguments();
    return check_done("ledger");
}
