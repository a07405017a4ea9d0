/* test_vectors.c - does the header give what an independent program gives?

   The answers are tests/vectors.json: tests/reference.py wrote them from the
   manual, and the file says what each field means. On every compiler,
   word size and byte order they must come out the same.

   Algorithm 1 is frozen: cases may be added, never changed or taken away. Each
   group of cases is pinned here to a digest, so that nobody can change an
   order and its vectors together and not notice. When cases were added, the
   rows that a failing run prints are the new ones. */
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include "check.h"
#include "must.h"

#define STATE STATESAMPLER_STATE_BYTES
#define MOST 1000 /* numbers in a list, or in a batch */
#define SOURCES 100

static char line[4096];
static unsigned long line_number;

static void print_hex(uint64_t number)
{
    printf("0x%08lx%08lx", (unsigned long)(number >> 32),
           (unsigned long)(number & 0xffffffffu));
}

/* CHECK that names the case: its line in the file. */
static void same(uint64_t have, uint64_t want, const char *what)
{
    check_count++;
    if (have == want)
        return;
    printf("tests/vectors.json:%lu: %s: ", line_number, what);
    print_hex(have);
    printf(", not ");
    print_hex(want);
    printf("\n");
    exit(1);
}

/* --- Digests: 64-bit FNV-1a --- */

#define NOTHING UINT64_C(0xcbf29ce484222325)

static uint64_t digest;

static uint64_t fnv(uint64_t hash, unsigned byte)
{
    return (hash ^ byte) * UINT64_C(0x100000001b3);
}

static void take(uint64_t number)
{
    unsigned i;
    for (i = 0; i < 8; i++)
        digest = fnv(digest, (unsigned)(number >> 8 * i & 255));
}

/* --- Fields of a case: "name":value, in a line --- */

/* Where the value begins, or NULL. */
static const char *find(const char *name)
{
    char key[32];
    const char *at;
    sprintf(key, "\"%s\":", name);
    at = strstr(line, key);
    return at == NULL ? NULL : at + strlen(key);
}

/* A number, which may stand in quotes; a negative one wraps around. */
static const char *read_number(const char *at, uint64_t *number)
{
    int minus = 0;
    *number = 0;
    while (*at == '"' || *at == '-')
        minus = *at++ == '-';
    while (*at >= '0' && *at <= '9')
        *number = *number * 10 + (uint64_t)(*at++ - '0');
    if (minus)
        *number = 0 - *number;
    return *at == '"' ? at + 1 : at;
}

static uint64_t number_of(const char *name)
{
    const char *at = find(name);
    uint64_t number = 0;
    if (at != NULL)
        read_number(at, &number);
    return number;
}

/* Reads [1,2,3] and returns what stands behind it. */
static const char *read_list(const char *at, uint64_t *list, size_t *count)
{
    *count = 0;
    CHECK(at != NULL && *at == '[');
    at++;
    while (*at != ']') {
        CHECK(*count < MOST);
        at = read_number(at, &list[(*count)++]);
        if (*at == ',')
            at++;
        else
            CHECK(*at == ']');
    }
    return at + 1;
}

static unsigned hex_digit(char c)
{
    const char *digits = "0123456789abcdef", *at = strchr(digits, c);
    CHECK(c != '\0' && at != NULL);
    return (unsigned)(at - digits);
}

/* The value of a field of hexadecimal digits, two a byte; 0 if there is no
   such field. */
static int bytes_of(const char *name, unsigned char *bytes, size_t size)
{
    const char *at = find(name);
    size_t i;
    if (at == NULL)
        return 0;
    CHECK(*at++ == '"');
    for (i = 0; i < size; i++, at += 2)
        bytes[i] = (unsigned char)(hex_digit(at[0]) << 4 | hex_digit(at[1]));
    CHECK(*at == '"');
    return 1;
}

static void same_digest(void)
{
    unsigned char bytes[8];
    uint64_t want = 0;
    unsigned i;
    CHECK(bytes_of("digest", bytes, 8));
    for (i = 0; i < 8; i++)
        want = want << 8 | bytes[i];
    same(digest, want, "digest");
}

static void take_bytes(const unsigned char *bytes, size_t size)
{
    size_t i;
    for (i = 0; i < size; i++)
        digest = fnv(digest, bytes[i]);
}

/* A state is the one in the file, where that has one, and in the digest. */
static void same_state(const unsigned char *have, size_t size)
{
    unsigned char want[sizeof line / 2];
    CHECK(size <= sizeof want || find("state") == NULL);
    if (bytes_of("state", want, size))
        same(memcmp(have, want, size) == 0, 1, "state");
    take_bytes(have, size);
    same_digest();
}

/* --- perm --- */

static void perm_case(void)
{
    static uint64_t indices[MOST], positions[MOST], filled[MOST];
    statesampler_perm perm;
    uint64_t first = number_of("first"), stride = number_of("stride");
    size_t count = (size_t)number_of("count"), i, shown;
    CHECK(statesampler_perm_init(&perm, number_of("n"), number_of("seed"),
                                 number_of("epoch"),
                                 number_of("stream")) == STATESAMPLER_OK);
    CHECK(count <= MOST);
    statesampler_perm_fill(&perm, first, stride, filled, count);
    read_list(find("positions"), positions, &shown);
    read_list(find("indices"), indices, &shown);
    digest = NOTHING;
    for (i = 0; i < count; i++) {
        uint64_t x = first + i * stride;
        uint64_t index = statesampler_perm_at(&perm, x);
        uint64_t position = statesampler_perm_inverse(&perm, x);
        if (i < shown) {
            same(index, indices[i], "indices");
            same(position, positions[i], "positions");
        }
        same(filled[i], index, "statesampler_perm_fill");
        take(index);
        take(position);
    }
    same_digest();
}

/* --- sampler --- */

/* A build with STATESAMPLER_ONLY_SHUFFLE takes no other description, nor a
   state of one; what it takes is as in the file. */
#ifdef STATESAMPLER_ONLY_SHUFFLE
static unsigned refused_states;
#endif

static int left_out(const statesampler_desc *d)
{
#ifdef STATESAMPLER_ONLY_SHUFFLE
    if (d->order != 0 || d->partition != 0 || d->tail != 0) {
        statesampler_desc plain = *d, said;
        unsigned char state[STATE];
        statesampler s, before;
        CHECK(statesampler_init(&s, d) == STATESAMPLER_EINVAL_LEFT_OUT);
        plain.order = ORDERS; /* unknown to all */
        CHECK(statesampler_init(&s, &plain) == STATESAMPLER_EINVAL_ORDER);
        plain.order = plain.partition = plain.tail = 0;
        CHECK(statesampler_init(&s, &plain) == STATESAMPLER_OK);
        before = s;
        if (!bytes_of("state", state, STATE))
            return 1;
        refused_states++;
        CHECK(statesampler_load(&s, state, STATE) ==
              STATESAMPLER_EINVAL_LEFT_OUT);
        CHECK(statesampler_describe(state, STATE, &said, NULL) ==
              STATESAMPLER_EINVAL_LEFT_OUT);
        CHECK(memcmp(&s, &before, sizeof s) == 0);
        return 1;
    }
#else
    (void)d;
#endif
    return 0;
}

static statesampler_desc description(void)
{
    statesampler_desc d;
    memset(&d, 0, sizeof d);
    d.num_samples = number_of("num_samples");
    d.seed = number_of("seed");
    d.epoch = number_of("epoch");
    d.stream = number_of("stream");
    d.rank = (uint32_t)number_of("rank");
    d.world_size = (uint32_t)number_of("world_size");
    d.batch_size = (uint32_t)number_of("batch_size");
    d.order = (uint32_t)number_of("order");
    d.partition = (uint32_t)number_of("partition");
    d.tail = (uint32_t)number_of("tail");
    d.drop_last = (uint32_t)number_of("drop_last");
    d.chunk_size = number_of("chunk_size");
    d.window = number_of("window");
    CHECK(d.batch_size <= MOST);
    return d;
}

/* Returns 0 if this build leaves out what the case asks. */
static int begin_sampler(statesampler *s)
{
    const statesampler_desc d = description();
    unsigned char state[STATE];
    if (left_out(&d))
        return 0;
    CHECK(statesampler_init(s, &d) == STATESAMPLER_OK);
    if (bytes_of("load", state, STATE))
        CHECK(statesampler_load(s, state, STATE) == STATESAMPLER_OK);
    if (find("seek") != NULL)
        CHECK(statesampler_seek(s, number_of("seek")) == STATESAMPLER_OK);
    return 1;
}

static void same_counts(const statesampler *s)
{
    statesampler_counts c;
    uint64_t want[MOST];
    size_t count;
    read_list(find("counts"), want, &count);
    CHECK(count == 6);
    statesampler_get_counts(s, &c);
    same(c.positions, want[0], "counts: positions");
    same(c.padded, want[1], "counts: padded");
    same(c.dropped, want[2], "counts: dropped");
    same(c.steps, want[3], "counts: steps");
    same(c.rank_samples, want[4], "counts: rank_samples");
    same(c.rank_batches, want[5], "counts: rank_batches");
    same(statesampler_num_steps(s), want[3], "statesampler_num_steps");
}

/* Where an index is served, or the error, as the file names its kind: -1 is
   EINVAL, -2 ERANGE. Returns how many numbers that is. */
static size_t place_of(const statesampler *s, uint64_t index, uint64_t *out)
{
    statesampler_place place;
    int code = statesampler_locate(s, index, &place);
    if (code != STATESAMPLER_OK) {
        out[0] = 0 - (uint64_t)(STATESAMPLER_KIND(code) / -100);
        return 1;
    }
    out[0] = place.position;
    out[1] = place.step;
    out[2] = place.rank;
    out[3] = place.slot;
    return 4;
}

static void same_places(const statesampler *s)
{
    const char *at = find("locate");
    uint64_t want[MOST], have[4];
    size_t count, i;
    CHECK(at != NULL);
    do {
        at = read_list(at + 1, want, &count);
        same(1 + place_of(s, want[0], have), count, "locate");
        for (i = 1; i < count; i++)
            same(have[i - 1], want[i], "locate");
    } while (*at == ',');
}

/* What a digest takes of a sampler before it moves. */
static void take_present(const statesampler *s, uint64_t index)
{
    unsigned char state[STATE];
    uint64_t place[4], step = statesampler_step(s);
    size_t i, count;
    must_save(s, state);
    take_bytes(state, STATE);
    take(step);
    take(statesampler_padding(s, step));
    count = place_of(s, index, place);
    if (count == 1)
        place[0] = 0 - place[0];
    for (i = 0; i < count; i++)
        take(place[i]);
}

static void sampler_case(void)
{
    static uint64_t batch[MOST], ahead[MOST], want[MOST];
    unsigned char state[STATE];
    const char *next = find("next");
    uint64_t calls = number_of("calls"), call;
    statesampler s;
    size_t i, count, served, shown;
    int more;
    if (!begin_sampler(&s))
        return;
    same_counts(&s);
    same_places(&s);
    CHECK(next != NULL && *next == '[');
    next++;
    digest = NOTHING;
    for (call = 0; call < calls; call++) {
        take_present(&s, 37 * call % (number_of("num_samples") + 1));
        more = statesampler_at(&s, statesampler_step(&s), ahead, &count);
        same((uint64_t)statesampler_next(&s, batch, &served), (uint64_t)more,
             "statesampler_at");
        same(served, count, "statesampler_at");
        if (more && count == 0)
            must_end(&s); /* the file passes over a step without samples */
        take(count);
        for (i = 0; i < count; i++) {
            same(batch[i], ahead[i], "statesampler_at");
            take(batch[i]);
        }
        if (*next == ']')
            continue;
        next = read_list(next, want, &shown);
        next += *next == ',';
        same(count, shown, "next");
        for (i = 0; i < count; i++)
            same(batch[i], want[i], "next");
    }
    same(*next == ']', 1, "next");
    must_save(&s, state);
    same_state(state, STATE);
}

/* --- sequence --- */

static void begin_mix(statesampler_mix *mix)
{
    static statesampler_source sources[SOURCES];
    static uint64_t weights[MOST], sizes[MOST];
    statesampler_desc d = description();
    size_t count, sized;
    uint32_t i;
    read_list(find("weights"), weights, &count);
    read_list(find("sizes"), sizes, &sized);
    CHECK(count <= SOURCES && count == sized);
    for (i = 0; i < count; i++) {
        d.num_samples = sizes[i];
        d.stream = i;
        sources[i].weight = (uint32_t)weights[i];
        CHECK(statesampler_init(&sources[i].sampler, &d) == STATESAMPLER_OK);
    }
    CHECK(statesampler_mix_init(mix, sources, (uint32_t)count,
                                STATESAMPLER_STOP_NEVER) == STATESAMPLER_OK);
    CHECK(statesampler_mix_seek(mix, number_of("seek")) == STATESAMPLER_OK);
}

static void sequence_case(void)
{
    static uint64_t batch[MOST], ahead[MOST], turns[MOST];
    static unsigned char state[STATESAMPLER_MIX_STATE_BYTES(SOURCES)];
    uint64_t calls = number_of("calls"), call;
    uint32_t source, later;
    size_t i, count, served, shown;
    statesampler_mix mix;
    begin_mix(&mix);
    read_list(find("turns"), turns, &shown);
    CHECK(shown != 0);
    digest = NOTHING;
    for (call = 0; call < calls; call++) {
        CHECK(statesampler_mix_at(&mix, statesampler_mix_turn(&mix), ahead,
                                  &count, &later) == 1);
        CHECK(statesampler_mix_next(&mix, batch, &served, &source) == 1);
        same(later, source, "statesampler_mix_at");
        same(count, served, "statesampler_mix_at");
        if (call < shown)
            same(source, turns[call], "turns");
        take(source);
        take(served);
        for (i = 0; i < served; i++) {
            same(ahead[i], batch[i], "statesampler_mix_at");
            take(batch[i]);
        }
    }
    same_state(state, must_mix_save(&mix, state));
}

/* --- audit --- */

static void audit_case(void)
{
    statesampler_audit sums, parts[2];
    uint64_t n = number_of("num_samples"), i;
    sums.count = n;
    sums.sum1 = number_of("sum1");
    sums.sum2 = number_of("sum2");
    sums.sum3 = number_of("sum3");
    same((uint64_t)statesampler_audit_check(&sums, n), 1, "audit_check");
    if (n > 1000)
        return;
    memset(parts, 0, sizeof parts);
    for (i = 0; i < n; i++)
        statesampler_audit_add(&parts[i % 2], &i, 1);
    statesampler_audit_merge(&parts[0], &parts[1]);
    same(parts[0].count, sums.count, "num_samples");
    same(parts[0].sum1, sums.sum1, "sum1");
    same(parts[0].sum2, sums.sum2, "sum2");
    same(parts[0].sum3, sums.sum3, "sum3");
}

/* --- sample_seed --- */

static void seed_case(void)
{
    static uint64_t indices[MOST], seeds[MOST];
    statesampler_desc d;
    statesampler s;
    size_t count = MOST, seeded = MOST, i;
    memset(&d, 0, sizeof d);
    d.num_samples = 10;
    d.seed = number_of("seed");
    d.stream = number_of("stream");
    CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
    CHECK(read_list(find("indices"), indices, &count) != NULL);
    CHECK(read_list(find("seeds"), seeds, &seeded) != NULL);
    CHECK(count != 0 && count == seeded);
    for (i = 0; i < count; i++)
        same(statesampler_sample_seed(&s, number_of("epoch"), indices[i]),
             seeds[i], "sample_seed");
}

/* --- hash --- */

static void hash_case(void)
{
    static uint64_t list[MOST];
    unsigned char bytes[MOST];
    const uint64_t from = number_of("from");
    size_t count = MOST, i;
    CHECK(read_list(find("bytes"), list, &count) != NULL);
    for (i = 0; i < count; i++)
        bytes[i] = (unsigned char)list[i];
    same(statesampler_hash(from, bytes, count), number_of("hash"), "hash");
    /* The same in two parts, or none. */
    same(statesampler_hash(statesampler_hash(from, bytes, 1), bytes + 1,
                           count - 1),
         number_of("hash"), "hash in two parts");
    same(statesampler_hash(from, NULL, 0), from, "hash of nothing");
}

/* --- All cases --- */

static const struct {
    const char *name;
    void (*run)(void);
} kinds[] = {
    {"perm", perm_case},         {"sampler", sampler_case},
    {"sequence", sequence_case}, {"audit", audit_case},
    {"seed", seed_case},         {"hash", hash_case},
};

/* The digest of all lines of a group, without what ends them. */
static struct {
    const char *config;
    uint64_t pinned;
    uint64_t found;
} groups[] = {
    {"perm, narrow", UINT64_C(0x9aa93fc413530334), 0},
    {"perm, wide", UINT64_C(0x5afa9448e62b1d94), 0},
    {"SHUFFLE INTERLEAVED PAD", UINT64_C(0x967ce9add79a1186), 0},
    {"SHUFFLE INTERLEAVED DROP", UINT64_C(0xbc8c85412522d45f), 0},
    {"SHUFFLE INTERLEAVED UNEVEN", UINT64_C(0xc65ffe963f709ab1), 0},
    {"SHUFFLE INTERLEAVED CARRY", UINT64_C(0x75e47d8231e17077), 0},
    {"SHUFFLE BLOCKED PAD", UINT64_C(0xb0087483fad6071b), 0},
    {"SHUFFLE BLOCKED DROP", UINT64_C(0x428777da1fa20dd0), 0},
    {"SHUFFLE BLOCKED UNEVEN", UINT64_C(0x1ed05c8dbd265bb1), 0},
    {"SEQUENTIAL INTERLEAVED PAD", UINT64_C(0xbeed06df663b7e50), 0},
    {"SEQUENTIAL INTERLEAVED DROP", UINT64_C(0x59e3bfa33a736119), 0},
    {"SEQUENTIAL INTERLEAVED UNEVEN", UINT64_C(0x683e3d690c5c93f1), 0},
    {"SEQUENTIAL INTERLEAVED CARRY", UINT64_C(0xeeb572062bd14dac), 0},
    {"SEQUENTIAL BLOCKED PAD", UINT64_C(0xae749ac5c3f831cb), 0},
    {"SEQUENTIAL BLOCKED DROP", UINT64_C(0xdbbc2cfcbb946aaf), 0},
    {"SEQUENTIAL BLOCKED UNEVEN", UINT64_C(0x18e37a27efeb8d8f), 0},
    {"WINDOW INTERLEAVED PAD", UINT64_C(0x5da0b150caa3ad73), 0},
    {"WINDOW INTERLEAVED DROP", UINT64_C(0x2692a5ab7641da97), 0},
    {"WINDOW INTERLEAVED UNEVEN", UINT64_C(0x7b40132cd3ffefc3), 0},
    {"WINDOW INTERLEAVED CARRY", UINT64_C(0xfd2e96272dfae59e), 0},
    {"WINDOW BLOCKED PAD", UINT64_C(0x177cbab80612fa6c), 0},
    {"WINDOW BLOCKED DROP", UINT64_C(0x22acb3f92524554a), 0},
    {"WINDOW BLOCKED UNEVEN", UINT64_C(0xd1052c016e309283), 0},
    {"REPLACEMENT INTERLEAVED PAD", UINT64_C(0x92643a60d82079cb), 0},
    {"REPLACEMENT INTERLEAVED DROP", UINT64_C(0x037ce8e871ccaa75), 0},
    {"REPLACEMENT INTERLEAVED UNEVEN", UINT64_C(0xaa6101a43498005a), 0},
    {"REPLACEMENT INTERLEAVED CARRY", UINT64_C(0xd7819baa6821bf0a), 0},
    {"REPLACEMENT BLOCKED PAD", UINT64_C(0xa07700d0abc3a7d8), 0},
    {"REPLACEMENT BLOCKED DROP", UINT64_C(0x54dc2e7e1aad4ce5), 0},
    {"REPLACEMENT BLOCKED UNEVEN", UINT64_C(0xf79bfaf7b49a2b50), 0},
    {"sequence", UINT64_C(0xc2b7f3a3c93dc0fb), 0},
    {"audit", UINT64_C(0x6937bcf7af67f93a), 0},
    {"seed", UINT64_C(0x39ffb059382a4717), 0},
    {"hash", UINT64_C(0xa2b500a2186a733e), 0},
};

#define KINDS (sizeof kinds / sizeof kinds[0])
#define GROUPS (sizeof groups / sizeof groups[0])

/* Whether a field is this text. */
static int is_text(const char *name, const char *text)
{
    const char *at = find(name);
    size_t length = strlen(text);
    return at != NULL && at[0] == '"' && at[length + 1] == '"' &&
           strncmp(at + 1, text, length) == 0;
}

static void run_case(void)
{
    size_t kind = 0;
    while (kind < KINDS && !is_text("kind", kinds[kind].name))
        kind++;
    same(kind < KINDS, 1, "kind");
    kinds[kind].run();
}

static void pin_case(void)
{
    const char *at;
    size_t group = 0;
    while (group < GROUPS && !is_text("config", groups[group].config))
        group++;
    same(group < GROUPS, 1, "config");
    if (groups[group].found == 0)
        groups[group].found = NOTHING;
    for (at = line; *at != '\0'; at++)
        groups[group].found = fnv(groups[group].found, (unsigned char)*at);
}

static int same_pins(void)
{
    size_t i, differing = 0;
    for (i = 0; i < GROUPS; i++)
        if (groups[i].found != groups[i].pinned) {
            if (differing++ == 0)
                printf("tests/vectors.json has changed:\n");
            printf("    {\"%s\",\n     UINT64_C(", groups[i].config);
            print_hex(groups[i].found);
            printf("), 0},\n");
        }
    return differing == 0;
}

/* A case without the comma and the end of line behind it. */
static int read_case(FILE *file)
{
    while (fgets(line, (int)sizeof line, file) != NULL) {
        size_t length = strlen(line);
        line_number++;
        CHECK(length > 0 && line[length - 1] == '\n');
        while (length > 0 && strchr(",\r\n", line[length - 1]) != NULL)
            line[--length] = '\0';
        if (strncmp(line, "{\"", 2) == 0)
            return 1;
    }
    return 0;
}

int main(void)
{
    FILE *file = fopen("tests/vectors.json", "rb");
    CHECK(file != NULL);
    while (read_case(file)) {
        run_case();
        pin_case();
    }
    fclose(file);
    CHECK(same_pins());
#ifdef STATESAMPLER_ONLY_SHUFFLE
    CHECK(refused_states != 0);
#endif
    return check_done("test_vectors");
}
