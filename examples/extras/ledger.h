/* ledger.h - tickets that are issued in order and taken back in any order, each
   done exactly once through kills. Used by ledger.c; copy it if you like.

   Tickets are positions, 0, 1, 2, ...: a ticket's sample is that of
   statesampler_perm_at, or the batch of that step by statesampler_at. One
   coordinator issues them; if a worker dies, another gets its ticket. Save the
   ledger in one file with all that finished work has changed: what was not
   saved is then in neither, and is done again after a kill. */
#ifndef LEDGER_H
#define LEDGER_H

STATESAMPLER_WRAP_BEGIN

/* A state is words, in the machine's byte order: "SSL1" and the window in one,
   the frontier, the bits as below, and the check word of statesampler.h. */
#define LEDGER_WORDS(window) (3 + (window) / sizeof(char[64]))
#define LEDGER_HEAD(window) ((uint64_t)(window) << 32 | 0x314c5353u)

/* Errors, beside those of statesampler.h. */
#define LEDGER_EDONE (-1001)
#define LEDGER_EISSUED (-1002)
#define LEDGER_EAHEAD (-1003)
#define LEDGER_EWINDOW (-1004)
#define LEDGER_EEND (-1005)

typedef struct ledger {
    uint64_t frontier;    /* not done; all tickets before it are */
    uint64_t next;        /* those before it are issued or done */
    uint64_t window, end; /* the last ticket is end - 1 */
    uint64_t *done;       /* ticket t: bit t % 64 of word t % window / 64 */
} ledger;

static inline const char *ledger_error(int code)
{
    switch (code) {
    case LEDGER_EDONE:
        return "this ticket is done already";
    case LEDGER_EISSUED:
        return "this ticket was not issued";
    case LEDGER_EAHEAD:
        return "tickets are done beyond the window";
    case LEDGER_EWINDOW:
        return "a window is 64, 128, ... tickets, below 2^32";
    case LEDGER_EEND:
        return "the state has tickets done past the end";
    default:
        return statesampler_error(code);
    }
}

/* How many tickets from this one on are done: 0, 1, or all 64 of a word. */
static inline uint64_t ledger_run(const uint64_t *done, uint64_t window,
                                  uint64_t ticket)
{
    const uint64_t word = done[ticket % window / 64] >> ticket % 64;

    if (~word == 0)
        return 64;
    return word & 1;
}

/* The bit of a ticket in its word. */
static inline uint64_t ledger_bit(uint64_t ticket)
{
    return (uint64_t)1 << ticket % 64;
}

/* Begins at ticket 0. `done` has window / 64 words, the ledger's from now on.
   EWINDOW: window is not 64, 128, ... below 2^32. */
static inline int ledger_init(ledger *l, uint64_t *done, uint64_t window,
                              uint64_t end)
{
    uint64_t i;

    if (window == 0 || window % 64 > 0 || window >> 32 > 0)
        return LEDGER_EWINDOW;
    l->frontier = 0;
    l->next = 0;
    l->window = window;
    l->end = end;
    l->done = done;
    for (i = 0; i < window / 64; i++)
        done[i] = 0;
    return STATESAMPLER_OK;
}

/* Sets *ticket to the next one and returns 1; after a load to the holes first.
   Returns 0 if there is none now: wait for a `done`; at frontier == end, stop.
   The search ends a window after the frontier, whose bit is 0. */
static inline int ledger_issue(ledger *l, uint64_t *ticket)
{
    uint64_t run = ledger_run(l->done, l->window, l->next);

    while (run > 0) {
        l->next += run;
        run = ledger_run(l->done, l->window, l->next);
    }
    if (l->next - l->frontier == l->window || l->next >= l->end)
        return 0;
    *ticket = l->next;
    l->next++;
    return 1;
}

/* OK: the ticket is issued, and not done. EDONE: it is done. EISSUED: it was
   not issued since the load. */
static inline int ledger_status(const ledger *l, uint64_t ticket)
{
    uint64_t run = ledger_run(l->done, l->window, ticket);

    if (ticket < l->frontier || (ticket - l->frontier < l->window && run > 0))
        return LEDGER_EDONE;
    if (ticket >= l->next)
        return LEDGER_EISSUED;
    return STATESAMPLER_OK;
}

/* Moves the frontier over all that is done. Behind it the bits are those of
   tickets a window later, so they become 0. */
static inline void ledger_advance(ledger *l)
{
    uint64_t run = ledger_run(l->done, l->window, l->frontier);

    while (run > 0) {
        uint64_t *word = &l->done[l->frontier % l->window / 64];

        if (run == 64)
            *word = 0;
        else
            *word &= ~ledger_bit(l->frontier);
        l->frontier += run;
        run = ledger_run(l->done, l->window, l->frontier);
    }
    if (l->next < l->frontier)
        l->next = l->frontier;
}

/* Takes a ticket back. EDONE, EISSUED: nothing has changed; drop its result. */
static inline int ledger_done(ledger *l, uint64_t ticket)
{
    const int code = ledger_status(l, ticket);

    if (code != STATESAMPLER_OK)
        return code;
    l->done[ticket % l->window / 64] |= ledger_bit(ticket);
    ledger_advance(l);
    return STATESAMPLER_OK;
}

/* The check word of these words; 0 if the last of them is the check word. (The
   header's own function is private.) */
static inline uint64_t ledger_check(const uint64_t *state, size_t words)
{
    uint64_t h = 0;

    for (; words > 0; words--, state++) {
        h = (h ^ *state) * 0x9e3779b97f4a7c15u;
        h ^= h >> 32;
    }
    return h;
}

/* Writes the state. ECAPACITY: `words` is not LEDGER_WORDS(window). */
static inline int ledger_save(const ledger *l, uint64_t *state, size_t words)
{
    size_t i;

    if (words != LEDGER_WORDS(l->window))
        return STATESAMPLER_ECAPACITY;
    state[0] = LEDGER_HEAD(l->window);
    state[1] = l->frontier;
    for (i = 2; i < words - 1; i++)
        state[i] = l->done[i - 2];
    state[words - 1] = ledger_check(state, words - 1);
    return STATESAMPLER_OK;
}

/* How many tickets a state of so many words has from its frontier to the last
   one that is done. */
static inline uint64_t ledger_ahead(const uint64_t *state, size_t words)
{
    const uint64_t window = 64 * ((uint64_t)words - 3);
    uint64_t ahead = window;

    while (ahead > 0 &&
           ledger_run(state + 2, window, state[1] + ahead - 1) == 0)
        ahead--;
    return ahead;
}

/* What a state holds. */
typedef struct ledger_place {
    uint64_t frontier;
    uint64_t ahead; /* tickets from the frontier to the last one that is done */
    uint64_t done;  /* those of them that are done */
} ledger_place;

/* Says what a state holds, without a ledger. ECORRUPT: it is damaged; *place is
   then as it was. */
static inline int ledger_describe(const uint64_t *state, size_t words,
                                  ledger_place *place)
{
    uint64_t window = 64 * ((uint64_t)words - 3), i;

    if (words < 4 || state[0] != LEDGER_HEAD(window))
        return STATESAMPLER_ECORRUPT_MAGIC;
    if (ledger_check(state, words) != 0)
        return STATESAMPLER_ECORRUPT_CHECK;
    if (ledger_run(state + 2, window, state[1]) > 0) /* its frontier is done */
        return STATESAMPLER_ECORRUPT_POSITION;
    place->frontier = state[1];
    place->ahead = ledger_ahead(state, words);
    place->done = 0;
    for (i = 0; i < place->ahead; i++)
        if (ledger_run(state + 2, window, state[1] + i) > 0)
            place->done++;
    return STATESAMPLER_OK;
}

/* Goes on where a state was saved, in this ledger's window and to its end.
   ECORRUPT: it is damaged. EEND, EAHEAD: tickets are done past the end, or past
   the window. Nothing has then changed. */
static inline int ledger_load(ledger *l, const uint64_t *state, size_t words)
{
    uint64_t window = 64 * ((uint64_t)words - 3), i;
    ledger_place place;
    int code = ledger_describe(state, words, &place);

    if (code != STATESAMPLER_OK)
        return code;
    if (place.frontier > l->end || place.ahead > l->end - place.frontier)
        return LEDGER_EEND;
    if (place.ahead > l->window)
        return LEDGER_EAHEAD;
    ledger_init(l, l->done, l->window, l->end);
    l->frontier = place.frontier;
    l->next = place.frontier;
    for (i = place.frontier; i < place.frontier + place.ahead; i++)
        if (ledger_run(state + 2, window, i) > 0)
            l->done[i % l->window / 64] |= ledger_bit(i);
    return STATESAMPLER_OK;
}

STATESAMPLER_WRAP_END

#endif
