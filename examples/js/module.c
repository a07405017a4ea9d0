/* module.c - statesampler.h as WebAssembly, called by statesampler.mjs and
   mixture.mjs.

   JavaScript keeps the bytes of each sampler, permutation, mix, bag, ledger and
   audit, so that its garbage collector frees them. To call a function it copies
   the bytes to the one place for an object, at the end of the module's data. (A
   mix points to its sources behind it, a ledger to its bits, and a bag, of
   bag.c, to its items: they always have the same address in this place.) Behind
   the object are the indices of a batch, or a state; other results go to
   `words`. Functions are named as the header's that they call. */
#define STATESAMPLER_STATIC
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"

#include "examples/extras/ledger.h"
#include "web.h"

#define PAGE 65536u /* a page of WebAssembly's memory, in bytes */

/* From the linker: the end of the module's data, a multiple of 16. */
extern unsigned char __heap_base[];

static uint64_t words[16];
static uint64_t *out; /* the indices */

/* Where a batch tells its size, and a turn its source: halves of words. */
static size_t *told_count(void)
{
    return (size_t *)(void *)words;
}

static uint32_t *told_source(void)
{
    return (uint32_t *)(void *)words + 1;
}

static statesampler *sampler(void)
{
    return (statesampler *)(void *)__heap_base;
}

static statesampler_audit *audit(void)
{
    return (statesampler_audit *)(void *)__heap_base;
}

static statesampler_mix *mix(void)
{
    return (statesampler_mix *)(void *)__heap_base;
}

static ledger *the_ledger(void)
{
    return (ledger *)(void *)__heap_base;
}

static statesampler_source *sources(void)
{
    return web_sources(mix());
}

/* A source's sampler; the sampler itself if it is UINT32_MAX. */
static statesampler *sampler_of(uint32_t source)
{
    return source == UINT32_MAX ? sampler() : &sources()[source].sampler;
}

/* --- perm -----------------------------------------------------------------
   They take an address, as bag.c has permutations elsewhere. What it imports is
   first here and there, in one order: so wasm-opt gives both the same names. */

WEB(int, perm_init,
    (statesampler_perm *perm, uint64_t n, uint64_t seed, uint64_t epoch,
     uint64_t stream))
{
    return statesampler_perm_init(perm, n, seed, epoch, stream);
}

WEB(uint64_t, perm_at, (const statesampler_perm *perm, uint64_t position))
{
    return statesampler_perm_at(perm, position);
}

WEB(void, perm_fill,
    (const statesampler_perm *perm, uint64_t first, uint64_t stride,
     uint64_t *to, size_t count))
{
    statesampler_perm_fill(perm, first, stride, to, count);
}

WEB(uint64_t, perm_inverse, (const statesampler_perm *perm, uint64_t index))
{
    return statesampler_perm_inverse(perm, index);
}

/* --- memory --------------------------------------------------------------- */

/* Returns the addresses of `words` and the object's place, and the sizes of a
   sampler, a permutation, an audit and a sampler's state. */
WEB(const uint32_t *, start, (void))
{
    static const uint32_t numbers[] = {
        (uint32_t)words,
        (uint32_t)__heap_base,
        sizeof(statesampler),
        sizeof(statesampler_perm),
        sizeof(statesampler_audit),
        STATESAMPLER_STATE_BYTES,
    };

    return numbers;
}

/* Makes room for an object of `bytes` bytes and, behind it, `indices` indices
   and three more for give_uint32. Returns the address of the indices; NULL if
   there is no memory, with nothing changed. */
WEB(uint64_t *, reserve, (uint32_t bytes, uint32_t indices))
{
    uint64_t start = ((uint64_t)(size_t)__heap_base + bytes + 15) & ~15ull;
    uint64_t pages = (start + 8ull * indices + PAGE + 23) / PAGE;
    uint64_t now = __builtin_wasm_memory_size(0);

    if (pages > PAGE ||
        (pages > now &&
         __builtin_wasm_memory_grow(0, (size_t)(pages - now)) == (size_t)-1))
        return NULL;
    out = (uint64_t *)(size_t)start;
    return out;
}

/* The size of a mix with its sources; 0 for more than 2^20 sources. */
WEB(uint32_t, mix_bytes, (uint32_t num_sources))
{
    return num_sources > 1u << 20
               ? 0
               : (uint32_t)((unsigned char *)(sources() + num_sources) -
                            __heap_base);
}

/* --- indices as JavaScript's numbers -------------------------------------- */

/* Converts the indices to 32 bits in place, four at a time: number i goes to
   the place of index i / 2, which has been read by then. Reads and writes up to
   three more than count, for which there is room. */
WEB(void, give_uint32, (size_t count))
{
    typedef uint32_t numbers __attribute__((vector_size(16), aligned(8)));
    numbers *four = (numbers *)(void *)out;
    size_t i;

    for (i = 0; i < count; i += 4)
        four[i / 4] =
            __builtin_shufflevector(four[i / 2], four[i / 2 + 1], 0, 2, 4, 6);
}

/* The same as doubles, which hold every number below 2^53. */
WEB(void, give_float64, (size_t count))
{
    size_t i;

    for (i = 0; i < count; i++) {
        double number = (double)out[i];

        __builtin_memcpy(out + i, &number, 8);
    }
}

/* The inverse of give_uint32; from the last to the first, as it is in place. */
WEB(void, take_uint32, (size_t count))
{
    unsigned char *from = (unsigned char *)out;
    uint32_t number;

    while (count-- > 0) {
        __builtin_memcpy(&number, from + 4 * count, 4);
        out[count] = number;
    }
}

/* JavaScript has checked that they are whole and below 2^53. */
WEB(void, take_float64, (size_t count))
{
    double number;
    size_t i;

    for (i = 0; i < count; i++) {
        __builtin_memcpy(&number, out + i, 8);
        out[i] = (uint64_t)number;
    }
}

/* --- sampler -------------------------------------------------------------- */

/* The fields of a description, as parameters. */
#define FIELDS \
    uint64_t num_samples, uint64_t seed, uint64_t epoch, uint64_t stream, \
        uint64_t chunk_size, uint64_t window, uint32_t rank, \
        uint32_t world_size, uint32_t batch_size, uint32_t order, \
        uint32_t partition, uint32_t tail, uint32_t drop_last
#define DESC \
    { \
        .num_samples = num_samples, .seed = seed, .epoch = epoch, \
        .stream = stream, .rank = rank, .world_size = world_size, \
        .batch_size = batch_size, .order = order, .partition = partition, \
        .tail = tail, .drop_last = drop_last, .chunk_size = chunk_size, \
        .window = window \
    }

/* Sets up a source for mix_init; or a sampler, which has no weight. */
WEB(int, init, (uint32_t source, uint32_t weight, FIELDS))
{
    const statesampler_desc wanted = DESC;

    if (source != UINT32_MAX)
        sources()[source].weight = weight;
    return statesampler_init(sampler_of(source), &wanted);
}

/* Computes the indices only if there is a place for them. */
WEB(int, next, (uint64_t *to))
{
    return statesampler_next(sampler(), to, told_count());
}

WEB(int, at, (uint64_t *to, uint64_t step))
{
    return statesampler_at(sampler(), step, to, told_count());
}

WEB(int, seek, (uint64_t step))
{
    return statesampler_seek(sampler(), step);
}

WEB(void, begin, (uint64_t epoch))
{
    statesampler_begin(sampler(), epoch);
}

WEB(void, set_epoch, (uint64_t epoch))
{
    statesampler_set_epoch(sampler(), epoch);
}

/* words: epoch, step, num_steps, position */
WEB(void, progress, (uint32_t source))
{
    const statesampler *s = sampler_of(source);

    words[0] = statesampler_epoch(s);
    words[1] = statesampler_step(s);
    words[2] = statesampler_num_steps(s);
    words[3] = statesampler_position(s);
}

WEB(uint32_t, padding, (uint32_t source, uint64_t step))
{
    return statesampler_padding(sampler_of(source), step);
}

/* words: positions, padded, dropped, steps, rank_samples, rank_batches */
WEB(void, get_counts, (uint32_t source))
{
    statesampler_get_counts(sampler_of(source),
                            (statesampler_counts *)(void *)words);
}

static statesampler_place place;

/* words: position, step, rank, slot */
static void tell_place(void)
{
    words[0] = place.position;
    words[1] = place.step;
    words[2] = place.rank;
    words[3] = place.slot;
}

WEB(int, locate, (uint64_t index))
{
    const int code = statesampler_locate(sampler(), index, &place);

    tell_place();
    return code;
}

WEB(uint64_t, sample_seed, (uint32_t source, uint64_t epoch, uint64_t index))
{
    return statesampler_sample_seed(sampler_of(source), epoch, index);
}

WEB(int, reshape, (uint32_t rank, uint32_t world_size, uint32_t batch_size))
{
    return statesampler_reshape(sampler(), rank, world_size, batch_size);
}

WEB(int, resize, (uint64_t num_samples))
{
    return statesampler_resize(sampler(), num_samples);
}

/* States are in the place of the indices. JavaScript has reserved the room. */
WEB(int, save, (void))
{
    return statesampler_save(sampler(), out, STATESAMPLER_STATE_BYTES);
}

WEB(int, load, (size_t size))
{
    return statesampler_load(sampler(), out, size);
}

/* What a state holds. The structs are in `words`, the place behind the
   description. */
#define DESC_WORDS 10

static statesampler_desc *told_desc(void)
{
    return (statesampler_desc *)(void *)words;
}

/* The place, of a sampler or a mix. */
static void *told_place(void)
{
    return words + DESC_WORDS;
}

WEB(int, describe, (size_t size))
{
    return statesampler_describe(out, size, told_desc(), told_place());
}

/* --- mix ------------------------------------------------------------------ */

WEB(int, mix_init, (uint32_t num_sources, uint32_t stop))
{
    return statesampler_mix_init(mix(), sources(), num_sources, stop);
}

/* Like next and at of a sampler. */
WEB(int, mix_next, (uint64_t *to))
{
    return statesampler_mix_next(mix(), to, told_count(), told_source());
}

WEB(int, mix_at, (uint64_t *to, uint64_t turn))
{
    return statesampler_mix_at(mix(), turn, to, told_count(), told_source());
}

WEB(int, mix_seek, (uint64_t turn))
{
    return statesampler_mix_seek(mix(), turn);
}

/* The weights are in the place of the indices, 32 bits each. */
WEB(int, mix_weigh, (void))
{
    return statesampler_mix_weigh(mix(), (const uint32_t *)(void *)out);
}

WEB(int, mix_reshape, (uint32_t rank, uint32_t world_size))
{
    return statesampler_mix_reshape(mix(), rank, world_size);
}

WEB(uint64_t, mix_turn, (void))
{
    return statesampler_mix_turn(mix());
}

WEB(uint64_t, mix_num_turns, (void))
{
    return statesampler_mix_num_turns(mix());
}

WEB(uint64_t, mix_epoch, (void))
{
    return statesampler_mix_epoch(mix());
}

WEB(uint64_t, mix_offset, (uint32_t source))
{
    return statesampler_mix_offset(mix(), source);
}

/* words: position, step, rank, slot, turn */
WEB(int, mix_locate, (uint32_t source, uint64_t index))
{
    const int code =
        statesampler_mix_locate(mix(), source, index, words + 4, &place);

    tell_place();
    return code;
}

WEB(uint32_t, mix_state_bytes, (void))
{
    return statesampler_mix_state_bytes(mix());
}

WEB(int, mix_save, (void))
{
    return statesampler_mix_save(mix(), out,
                                 statesampler_mix_state_bytes(mix()));
}

WEB(int, mix_load, (size_t size))
{
    return statesampler_mix_load(mix(), out, size);
}

/* The same of a mix and one of its sources. */
WEB(int, mix_describe, (size_t size, uint32_t source))
{
    return statesampler_mix_describe(out, size, source, told_desc(),
                                     told_place());
}

/* --- mixture --------------------------------------------------------------
   A mix of datasets with names. JavaScript has the names, and a map from their
   hashes to the numbers of the datasets. */

/* The hash of the bytes in the place of the indices. */
WEB(uint64_t, hash, (size_t size))
{
    return statesampler_hash(0, out, size);
}

WEB(size_t, mixture_bytes, (void))
{
    return ssmp_mixture_bytes(mix()->num_sources);
}

/* Where a state has the names' hashes. */
WEB(uint64_t *, mixture_hashes, (void))
{
    return out + ssmp_mixture_hash_at(0) / 8;
}

/* Writes the state around the hashes. */
WEB(void, mixture_save, (void))
{
    ssmp_mixture_write((unsigned char *)out, mix());
}

static ssmp_mixture_state mixture_state;

/* Returns how many datasets a state has, or an error. */
WEB(int, mixture_read, (size_t size))
{
    const int code =
        ssmp_mixture_read(&mixture_state, (const unsigned char *)out, size);

    return code < 0 ? code : (int)mixture_state.head.num_sources;
}

/* The place behind a state of this size. */
WEB(uint64_t *, mixture_numbers, (size_t size))
{
    return out + size / 8;
}

/* Goes on from the state that was read. Behind it are the numbers of its
   datasets in the mix, and room for the statuses of the mix's. */
WEB(int, mixture_load, (uint32_t *numbers, int restart))
{
    uint32_t *statuses = numbers + mixture_state.head.num_sources;
    int code = ssmp_mixture_compare(statuses, mix(), &mixture_state, numbers);

    if (code == STATESAMPLER_OK)
        code = ssmp_mixture_resume(mix(), &mixture_state, numbers, statuses,
                                   restart);
    return code;
}

/* --- ledger ---------------------------------------------------------------
   Tickets are doubles, which hold every number below 2^53. */

/* Its size, with the bits. */
WEB(uint32_t, ledger_bytes, (uint32_t window))
{
    return (uint32_t)sizeof(ledger) + window / 8;
}

WEB(int, ledger_init, (uint32_t window, double end))
{
    return ledger_init(the_ledger(), (uint64_t *)(void *)(the_ledger() + 1),
                       window, (uint64_t)end);
}

WEB(double, ledger_frontier, (void))
{
    return (double)the_ledger()->frontier;
}

/* The next ticket; -1 if there is none now. */
WEB(double, ledger_issue, (void))
{
    uint64_t ticket;

    return ledger_issue(the_ledger(), &ticket) ? (double)ticket : -1;
}

WEB(int, ledger_done, (double ticket))
{
    return ledger_done(the_ledger(), (uint64_t)ticket);
}

/* Returns the state's size. */
WEB(size_t, ledger_save, (void))
{
    const size_t count = (size_t)LEDGER_WORDS(the_ledger()->window);

    (void)ledger_save(the_ledger(), out, count);
    return 8 * count;
}

/* words: after EMISMATCH, as JavaScript names EEND, the state's last ticket */
WEB(int, ledger_load, (size_t size))
{
    const size_t count = size / 8;
    int code = STATESAMPLER_ECORRUPT_SIZE;

    if (size % 8 == 0)
        code = ledger_load(the_ledger(), out, count);
    if (code == LEDGER_EEND) {
        words[0] = out[1] + ledger_ahead(out, count) - 1;
        code = STATESAMPLER_EMISMATCH;
    }
    return code;
}

/* --- audit, errors -------------------------------------------------------- */

WEB(void, audit_add, (size_t count))
{
    statesampler_audit_add(audit(), out, count);
}

/* Adds the audit whose bytes are in the place of the indices. */
WEB(void, audit_merge, (void))
{
    statesampler_audit_merge(audit(),
                             (const statesampler_audit *)(const void *)out);
}

WEB(int, audit_check, (uint64_t num_samples))
{
    return statesampler_audit_check(audit(), num_samples);
}

WEB(uint64_t, audit_count, (void))
{
    return audit()->count;
}

/* A string that ends with a zero byte. JavaScript has words of its own for EEND
   and EWINDOW, which are not asked for here: so the module has no string for
   them. */
WEB(const char *, error, (int code))
{
    if (code < LEDGER_EAHEAD)
        __builtin_unreachable();
    return ledger_error(code);
}
