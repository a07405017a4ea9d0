/* spread.c - does examples/extras/spread.h keep a group's samples apart, each
   exactly once an epoch, through kills and changes of ranks, and is it a
   shuffle? */
#include "statesampler.h"
#include "examples/extras/spread.h"

#include "../check.h"

#define MOST 400u

static uint64_t ids[MOST], members[MOST], work[MOST], served[2 * MOST];

/* --- Groups --------------------------------------------------------------- */

/* Even ones, or a large one, or most of a single sample, or any. */
static uint64_t make_groups(uint64_t n)
{
    uint64_t kind = check_random(4), groups = 1 + check_random(n), i;

    groups = kind == 2 ? n : groups;
    for (i = 0; i < n; i++) {
        ids[i] = kind == 0 ? i % groups : check_random(groups);
        if (kind == 1 && check_random(5) == 0)
            ids[i] = groups - 1;
        if (kind == 2 && check_random(20) > 0)
            ids[i] = i;
    }
    return groups;
}

static uint64_t largest_of(uint64_t n)
{
    uint64_t i, k, size, largest = 0;

    for (i = 0; i < n; i++) {
        for (k = size = 0; k < n; k++)
            size += ids[k] == ids[i];
        largest = size > largest ? size : largest;
    }
    return largest;
}

/* Groups are in the order of their first samples in the shuffle, and samples of
   a group in the order of the shuffle, too. */
static void check_list(const statesampler_perm *order, uint64_t n)
{
    unsigned char listed[MOST] = {0};
    uint64_t first, i, k = 0, sample, group;

    for (first = 0; first < n; first++) {
        group = ids[statesampler_perm_at(order, first)];
        for (i = listed[group] ? n : first; i < n; i++) {
            sample = statesampler_perm_at(order, i);
            if (ids[sample] == group)
                CHECK(members[k++] == sample);
        }
        listed[group] = 1;
    }
    CHECK(k == n);
}

static spread list_groups(uint64_t n, uint64_t groups, uint64_t epoch)
{
    statesampler_perm order;
    spread s;

    memset(&s, 0, sizeof s);
    s.members = members;
    s.samples = n;
    s.seed = 5;
    s.epoch = epoch;
    CHECK(statesampler_perm_init(&order, n, 5, epoch, 0) == STATESAMPLER_OK);
    s.largest = spread_list(&order, ids, n, groups, members, work);
    CHECK(s.largest == largest_of(n));
    check_list(&order, n);
    return s;
}

/* --- The order ------------------------------------------------------------ */

/* Whether groups fill all the steps there are. */
static int is_tight(const spread *s)
{
    return s->largest > 1 && s->largest * s->apart == s->samples;
}

/* The rounds one after the other, each with every `rounds`-th place from its
   first on. The next one's is `largest` further. */
static void check_rounds(const spread *s)
{
    uint64_t first = s->largest - 1, at = s->samples - s->first, k, i, size;
    uint64_t place;
    statesampler_perm perm;

    CHECK(s->rounds == (s->largest > 1 ? s->turns * s->largest + 1 : 1));
    for (k = 0; k < s->rounds; k++) {
        for (size = 0; first + s->rounds * size < s->samples; size++)
            continue;
        CHECK(statesampler_perm_init(&perm, size, s->seed, s->epoch, k + 1) ==
              STATESAMPLER_OK);
        for (i = 0; i < size; i++, at++) {
            place = first + s->rounds * statesampler_perm_at(&perm, i);
            CHECK(served[at % s->samples] ==
                  (s->members != NULL ? s->members[place] : place));
        }
        first = (first + s->largest) % s->rounds;
    }
    CHECK(at == s->samples + s->samples - s->first);
}

/* Of 2, 3, 5, 9, ... turns, `apart` at the end, the fewest that are enough: as
   many rounds, of which one is not whole, have `apart` samples. */
static void check_turns(const spread *s)
{
    uint64_t turns = 2;

    for (; turns < s->turns; turns = 2 * turns - 1)
        CHECK(s->samples / (turns * s->largest + 1) * (turns - 1) + 1 <
              s->apart);
    CHECK(turns == s->turns || s->turns == s->apart);
}

/* Each sample once, and no group twice in `apart` positions, also around the
   end; where that is too tight, in those from a multiple of `apart` on. */
static void check_apart(const spread *s)
{
    unsigned char seen[MOST] = {0};
    uint64_t n = s->samples, i, k;

    for (i = 0; i < n; i++) {
        CHECK(served[i] < n && seen[served[i]]++ == 0);
        for (k = i + 1; k < i + s->apart && k < i + n; k++)
            CHECK(ids[served[i]] != ids[served[k % n]] ||
                  (is_tight(s) && i / s->apart < k / s->apart));
    }
}

/* --- Kills ---------------------------------------------------------------- */

static statesampler_desc any_ranks(const spread *s, uint32_t tail)
{
    statesampler_desc desc;

    memset(&desc, 0, sizeof desc);
    desc.num_samples = s->samples;
    desc.order = STATESAMPLER_ORDER_SEQUENTIAL;
    desc.tail = tail;
    do {
        desc.world_size = 1 + (uint32_t)check_random(7);
        desc.batch_size = 1 + (uint32_t)check_random(s->apart);
    } while (desc.world_size * desc.batch_size > s->apart ||
             (is_tight(s) &&
              s->apart % (desc.world_size * desc.batch_size) > 0));
    return desc;
}

/* Some steps of some ranks from a state on, into `served`. The state becomes
   that of one of them. Returns 0 at the end of the epoch. */
static int live(const spread *s, unsigned char *state, uint32_t tail)
{
    uint64_t out[MOST + 8], steps = check_random(9), step, position, i;
    uint64_t kept = check_random(steps + 1);
    unsigned char from[STATESAMPLER_STATE_BYTES];
    statesampler_desc desc = any_ranks(s, tail);
    statesampler one;
    size_t count;
    int on = 1;

    memcpy(from, state, sizeof from);
    for (; desc.rank < desc.world_size; desc.rank++) {
        CHECK(statesampler_init(&one, &desc) == STATESAMPLER_OK);
        if (from[0] != 0)
            CHECK(statesampler_load(&one, from, sizeof from) == 0);
        for (on = 1, step = 0; on == 1 && step < steps; step++) {
            if (step == kept)
                CHECK(statesampler_save(&one, state, sizeof from) == 0);
            position = statesampler_position(&one) + desc.rank;
            on = statesampler_next(&one, out, &count);
            CHECK(on >= 0);
            spread_map(s, out, on ? count : 0);
            for (i = 0; on && i < count; i++)
                served[position + i * desc.world_size] = out[i];
        }
    }
    return on;
}

static void kill_often(const spread *s)
{
    uint32_t tail =
        check_random(2) ? STATESAMPLER_TAIL_PAD : STATESAMPLER_TAIL_UNEVEN;
    unsigned char state[STATESAMPLER_STATE_BYTES] = {0};
    uint64_t i;

    for (i = 0; i < 2 * MOST; i++)
        served[i] = STATESAMPLER_NONE;
    while (live(s, state, tail))
        continue;
    for (i = s->samples; i < 2 * s->samples && served[i] < s->samples; i++)
        CHECK(served[i] == served[i % s->samples]); /* padding */
}

static void any_groups(void)
{
    uint64_t n = 1 + check_random(check_random(9) ? 60 : MOST), groups, room;
    spread s, was;
    int code;

    groups = make_groups(n);
    s = list_groups(n, groups, check_random(3));
    s.apart = 1 + check_random(check_random(2) ? n + 5 : n / s.largest + 1);
    room = spread_room(n, s.apart);
    CHECK(room * s.apart <= n || (room == 1 && n < s.apart));
    CHECK((room + 1) * s.apart > n);
    was = s;
    code = spread_begin(&s);
    if (s.largest > room) {
        CHECK(code == SPREAD_EROOM && memcmp(&s, &was, sizeof s) == 0);
        return;
    }
    CHECK(code == STATESAMPLER_OK);
    check_turns(&s);
    kill_often(&s);
    check_rounds(&s);
    check_apart(&s);
    s.members = NULL; /* sorted data: the places themselves */
    kill_often(&s);
    check_rounds(&s);
}

/* --- Large datasets ------------------------------------------------------- */

/* The position of a place, by the inverse of each part. */
static uint64_t position_of(const spread *s, uint64_t place)
{
    uint64_t first = place % s->rounds, round, length;
    statesampler_perm perm;

    round = first + 1 == s->rounds
                ? first
                : (s->largest - 1 - first % s->largest) * s->turns +
                      first / s->largest;
    length = s->length + (first < s->longer);
    CHECK(statesampler_perm_init(&perm, length, s->seed, s->epoch, round + 1) ==
          STATESAMPLER_OK);
    return (spread_start(s, round) +
            statesampler_perm_inverse(&perm, place / s->rounds) + s->samples -
            s->first) %
           s->samples;
}

static void check_place(const spread *s, uint64_t place)
{
    uint64_t at = position_of(s, place), one = at, other, far;

    spread_map(s, &one, 1);
    CHECK(one == place);
    if (s->largest == 1)
        return;
    other = place + 1 + check_random(s->largest - 1);
    if (other < s->samples) { /* perhaps of the same group */
        other = position_of(s, other);
        far = at < other ? other - at : at - other;
        CHECK(far >= s->apart && s->samples - far >= s->apart);
    }
}

static void far_away(unsigned bits)
{
    spread s;
    int i;

    memset(&s, 0, sizeof s);
    s.samples = 1 + check_random_bits(bits);
    s.seed = check_random_bits(62);
    s.epoch = check_random_bits(20);
    s.apart = 1 + check_random_bits((unsigned)check_random(bits));
    s.largest = 1 + check_random_bits(62) % spread_room(s.samples, s.apart);
    CHECK(spread_begin(&s) == STATESAMPLER_OK);
    if (s.largest > 1 && s.largest * s.apart == s.samples)
        return; /* the small ones have such */
    for (i = 0; i < 20; i++)
        check_place(&s, check_random_bits(62) % s.samples);
    check_place(&s, 0);
    check_place(&s, s.samples - 1);
}

/* --- A shuffle ------------------------------------------------------------ */

#define EPOCHS 40000
#define SMALL 24u

/* Each sample is as often at each place, and meets each of another group in
   batches of 4 about as often as in a shuffle. */
static void mixes(void)
{
    static const unsigned char sizes[] = {4, 3, 3, 2, 2, 2, 1,
                                          1, 1, 1, 1, 1, 1, 1};
    static uint32_t at[SMALL][SMALL], met[SMALL][SMALL];
    const double mean = (double)EPOCHS / SMALL;
    const double meet = EPOCHS * 3. / (SMALL - 1);
    double chi = 0;
    uint64_t groups, n = 0, i, k, epoch;
    spread s;

    for (groups = 0; groups < sizeof sizes; groups++)
        for (k = 0; k < sizes[groups]; k++)
            ids[n++] = groups;
    CHECK(n == SMALL);
    for (epoch = 0; epoch < EPOCHS; epoch++) {
        s = list_groups(n, groups, epoch);
        s.apart = 4;
        CHECK(spread_begin(&s) == STATESAMPLER_OK);
        for (i = 0; i < n; i++)
            served[i] = i;
        spread_map(&s, served, n);
        for (i = 0; i < n; i++) {
            at[served[i]][i]++;
            for (k = i - i % 4; k < i - i % 4 + 4; k++)
                met[served[i]][served[k]]++;
        }
    }
    for (i = 0; i < n; i++)
        for (k = 0; k < n; k++) {
            chi += (at[i][k] - mean) * (at[i][k] - mean) / mean;
            CHECK(ids[i] == ids[k]
                      ? i == k || met[i][k] == 0
                      : met[i][k] > .7 * meet && met[i][k] < 1.3 * meet);
        }
    chi /= SMALL * (SMALL - 1); /* its deviation is about .06 */
    printf("spread: chi^2 of places %.2f of what is expected\n", chi);
    CHECK(chi > .7 && chi < 1.4);
}

/* --- What must be refused ------------------------------------------------- */

static void refuses(uint64_t samples, uint64_t largest, uint64_t apart,
                    int want)
{
    spread s, was;

    memset(&s, 0, sizeof s);
    s.samples = samples;
    s.largest = largest;
    s.apart = apart;
    was = s;
    CHECK(spread_begin(&s) == want);
    CHECK(memcmp(&s, &was, sizeof s) == 0);
}

static void errors(void)
{
    const uint64_t most = STATESAMPLER_MAX_SAMPLES;
    statesampler_perm order;
    uint64_t i;
    int code;

    refuses(0, 0, 4, SPREAD_ELARGEST);
    refuses(0, 1, 4, SPREAD_ELARGEST);
    refuses(9, 0, 4, SPREAD_ELARGEST);
    refuses(9, 10, 1, SPREAD_ELARGEST);
    refuses(9, 2, 0, SPREAD_EAPART);
    refuses(most + 1, 1, 1, SPREAD_ESAMPLES);
    refuses(9, 3, 4, SPREAD_EROOM);
    refuses(3, 2, 8, SPREAD_EROOM);
    refuses(most, most, 2, SPREAD_EROOM);
    refuses(most, 2, STATESAMPLER_NONE, SPREAD_EROOM);
    CHECK(spread_room(100, 10) == 10 && spread_room(99, 10) == 9);
    CHECK(strcmp(spread_error(SPREAD_EROOM),
                 "the largest group is larger than spread_room") == 0);
    for (code = SPREAD_ESAMPLES; code < SPREAD_EROOM; code++)
        CHECK(strcmp(spread_error(code), spread_error(code + 1)) != 0);
    CHECK(spread_error(SPREAD_ESAMPLES - 1) ==
          statesampler_error(SPREAD_ESAMPLES - 1));
    CHECK(statesampler_perm_init(&order, 5, 0, 0, 0) == STATESAMPLER_OK);
    for (i = 0; i < 5; i++) {
        ids[i] = i < 4 ? i : 7;
        members[i] = 77;
    }
    CHECK(spread_list(&order, ids, 5, 7, members, work) == 0);
    for (i = 0; i < 5; i++)
        CHECK(members[i] == 77);
    CHECK(spread_list(&order, ids, 5, 8, members, work) == 1);
    CHECK(spread_list(&order, ids, 0, 8, members, work) == 0);
}

int main(int argc, char **argv)
{
    int run, runs = check_reduced(argc, argv) ? 300 : 3000;

    for (run = 0; run < runs; run++)
        any_groups();
    for (run = 0; run < runs; run++)
        far_away(1 + (unsigned)check_random(61));
    if (!check_reduced(argc, argv))
        mixes();
    errors();
    return check_done("spread");
}
