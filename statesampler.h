/* statesampler.h - v0.3.0 - shuffled sample indices for training runs, one
   header, no table. Public domain or MIT, see the end of the file.

   Do this:

       #define STATESAMPLER_IMPLEMENTATION

   before you include this file in *one* C or C++ file. Everywhere else
   include it without.


WHY

   A training run over n samples needs, at every step and on every rank, the
   next batch of shuffled indices: every sample exactly once, a new order each
   epoch and, after a crash or on another number of GPUs, the very next batch
   at once. The usual samplers hold a permutation of all n on every rank and
   resume by skipping for hours. This one computes any index from its position
   with a keyed bijection, so that the position is the whole state: `next`,
   `seek`, `at`, resuming and a change of the number of ranks are one function
   of (description, position). It allocates nothing, calls nothing, keeps no
   globals and uses no floating point.


EXAMPLE

       #define STATESAMPLER_IMPLEMENTATION
       #include "statesampler.h"
       #include <stdio.h>

       int main(void)
       {
           unsigned char state[STATESAMPLER_STATE_BYTES];
           uint64_t batch[4];
           size_t count, i;
           statesampler sampler;
           static statesampler_desc desc;

           desc.num_samples = 30;
           desc.seed = 42;
           desc.batch_size = 4;
           desc.world_size = 3;
           if (statesampler_init(&sampler, &desc) != 0)
               return 1;
           statesampler_next(&sampler, batch);
           statesampler_save(&sampler, state);

           desc.world_size = 1;
           if (statesampler_init(&sampler, &desc) != 0 ||
               statesampler_load(&sampler, state, sizeof state) != 0)
               return 1;
           while (statesampler_epoch(&sampler) < 2) {
               printf("epoch %d:", (int)statesampler_epoch(&sampler));
               while ((count = statesampler_next(&sampler, batch)) > 0)
                   for (i = 0; i < count; i++)
                       printf(" %d", (int)batch[i]);
               printf("\n");
           }
           return 0;
       }

   Rank 0 of 3 takes a step, and a run on one rank goes on with the rest: the
   first line has the 18 of 30 samples that the three ranks left, the second
   all 30 in a new order.


GUARANTEES

   - Every sample is served exactly once in an epoch, over all ranks, whatever
     the saves, loads, kills and changes of world size and batch size in it,
     beyond what the tail rule you chose adds or leaves out. (With the order
     REPLACEMENT, every position.)
   - The order is a function of the description (without rank, batch_size and
     drop_last; and without world_size unless BLOCKED), the epoch and the
     algorithm number. It is the same on every compiler, flag, word size and
     byte order, and an algorithm number never changes its output.
   - A state is STATESAMPLER_STATE_BYTES bytes, the same bytes on every
     machine and, but for one case of UNEVEN below, on every rank.
   - Bad input gets a named error and leaves the object as it was.
   - Constant time and memory: no call takes longer for more samples, a later
     position or another epoch, but by a few rounds of arithmetic and, for few
     samples, some steps of a walk. (A mix's time grows with its sources, not
     with turns.) A sampler is at most 512 bytes; the stack stays below 1 KiB,
     with vectors and optimised below 4 KiB, and below 10 KiB in the hosted
     part.
   - Functions with a const sampler or mix may be called from any number of
     threads at once. A sampler holds no pointers and may be copied with `=`.

   It is not cryptographic: seeds are not secrets, and indices are not proof.
   It is not a loader: it says which samples, you read them.


THE PARTS

   1. perm      a keyed bijection on [0, n) and its inverse
   2. order     position in the epoch -> sample: shuffled, sequential,
                shuffled in windows of chunks, or with replacement
   3. sampler   a rank's share of the positions in batches; cursor, epoch,
                state
   4. mix       several samplers that take turns, round robin or by weight,
                with a state of its own
   5. audit     proof in 32 bytes that an epoch was served exactly once
   6. hosted    rank and world size from the environment, checkpoint files
                that a crash cannot tear (STATESAMPLER_HOSTED)
   7. stb_ds    a mix that grows, of datasets with names
                (STATESAMPLER_STB_DS)


OPTIONS

   In the one file with the implementation, before the include:
   STATESAMPLER_IMPLEMENTATION  makes the implementation.
   STATESAMPLER_ASSERT(x)       checks what only a programmer gets wrong (a
                                null pointer, a sampler never initialised).
                                Nothing unless you define it.

   Wherever you include this file, the same everywhere:
   STATESAMPLER_STATIC          makes every function static, for a private
                                copy; with the implementation.
   STATESAMPLER_API             stands before every public declaration: an
                                export attribute, say. A CUDA or HIP build
                                defines it as __host__ __device__ together
                                with STATESAMPLER_STATIC; there it stands
                                before private functions too.
   STATESAMPLER_HOSTED          adds the hosted part, which needs a C library
                                and POSIX or Windows.
   STATESAMPLER_STB_DS          adds the stb_ds part. Include stb_ds.h before
                                this file, with its implementation in one file
                                of the program.

   None of them changes a struct or an order.


SAMPLERS

   W = world_size, B = batch_size (samples per rank and step), G = W * B. The
   pair (W, B) is the shape.

   Step t of an epoch is exactly the positions tG .. (t+1)G - 1, and rank r's
   slot j in it is position tG + jW + r. When another shape goes on at
   position c, the same holds from there: its steps are c + uG' ..
   c + (u+1)G' - 1. So an epoch can be served by 8 ranks, then 3, then 5, and
   as long as G stays, every global batch holds the same samples whatever W
   is. The position and step at which the present shape began is the base: 0
   in a fresh epoch, kept by a load in the saving run's shape, and the loaded
   position in any other. Steps count through all shapes. at, seek, padding
   and locate reach back to the base, not before it.

   Order: what position p of an epoch holds.
   SHUFFLE      (default) perm(p).
   SEQUENTIAL   p.
   WINDOW       for data read in chunks. Full chunks of chunk_size consecutive
                samples come in a permuted order, a short last one stays last;
                each `window` chunks of that order are a window, the last one
                what is left, and positions inside a window are permuted. Who
                reads positions in order has at most `window` chunks open
                (BLOCKED: of each block; padding is from the first window).
   REPLACEMENT  independent uniform draws. Has no locate.

   Partition: what positions count.
   INTERLEAVED  (default; torch's DistributedSampler) the whole dataset.
                D = num_samples.
   BLOCKED      (VISSL's stateful sampler) the dataset is cut into P blocks of
                neighbours, P = world_size of the run that began the epoch;
                the first num_samples mod P of them have one sample more.
                Position p is place p / P of block p mod P, and each block has
                an order of its own. While W = P, rank r reads block r only;
                after a change, positions still say who reads what.
                D = num_samples, with PAD rounded up and with DROP down to a
                multiple of P (with DROP all blocks have num_samples / P, and
                the last num_samples mod P samples are in none).

   Tail: where the epoch ends, for a shape with base c.
   PAD          (default; torch) at c + W * ceil(max(D - c, 0) / W). A
                position p >= num_samples repeats: position p mod num_samples
                or, if BLOCKED, the first place of block p mod P where that
                block is not empty.
   DROP         at c + W * floor(max(D - c, 0) / W).
   UNEVEN       at num_samples. Ranks differ by at most one sample, for exact
                evaluation. A rank without a sample in the last step (or in
                all of them, if world_size > num_samples) reports the end one
                call before the others (and its state is then a
                step ahead of theirs): ranks that must stay in step count to
                num_steps and then call set_epoch with the next epoch.
   CARRY        nothing added, nothing dropped, ranks equal, for pre-training:
                the rest of an epoch opens the next one, inside the same batch
                if need be, and next never ends. Steps count from the run's
                start; epoch and position are those of the next sample.
                Where next ends 2^62 positions or more after the base, the
                base moves up to there.

   drop_last    (torch's BatchSampler; DistributedSampler's drop_last is the
                tail DROP) the last step is left out on all ranks unless all
                its positions exist, padding included. A load may differ in
                it.

   Epochs advance by themselves: next returns 0 once at the end and has then
   already moved to step 0 of the next epoch, in a new order. A state saved
   before that 0 holds the end of this epoch, after it the start of the next;
   either goes on with exactly what would have come. Epochs count modulo 2^64.

   What makes no sense is STATESAMPLER_EINVAL from init:
   - num_samples > 2^62, rank >= world_size, world_size * batch_size >= 2^62;
   - an order, partition or tail that is not one of the above, drop_last
     other than 0 or 1;
   - WINDOW with chunk_size or window 0, or chunk_size * window >= 2^62 (the
     other orders ignore both);
   - CARRY with no samples, with BLOCKED or with drop_last.
   An empty dataset is a valid, empty epoch otherwise, and W may be larger
   than num_samples.

   A prefetching loader works on a copy, or by `at`; the training loop moves
   its own sampler with next(s, NULL), so that what is saved is what was
   trained on.


MIXES

   A mix takes turns among datasets, its sources. Each has a sampler of its
   own, with its own length, order, tail and epochs; all have the same rank,
   world_size and batch_size. A turn is the next step of one source, so that a
   batch holds samples of one dataset only. All ranks take the same turns:
   n_i, the steps of source i, are those of the rank with the most, and with
   UNEVEN a rank may have an empty batch (a count of 0) in a source's last
   step. Sources without steps (n_i = 0) take no turns; below, D and i count
   the others, from 0.

   Whose turn it is follows from one endless sequence. With equal weights it
   is 0, 1, ..., D - 1, 0, ... With others a source has exactly its weight of
   every period (as many turns as the weights' sum), and in between is never
   farther from its share than half the number of times that D must be halved
   to get to 1: two turns for D = 16, five for D = 1,000.

   stop: what becomes of a source whose turn it is and which has nothing left,
   and when an epoch of the mix ends. With equal weights, in turns:
   FIRST        (default) it ends the epoch: min(n_i * D + i).
   ALL          it is passed over, and the rest keep their turns of the
                sequence, until nothing is left: sum(n_i). (Of what is left
                their shares are not as near as before.)
   RESTART      it begins its next epoch, and the mix's ends where the last of
                them would, when all have finished once: max(n_i * D + i).
   NEVER        it begins its next epoch, for ever.
   Three sources of 3, 4 and 5 steps make 9, 12, 17 turns and no end.

   The next epoch of the mix begins by itself, with the sequence from its
   start; each source goes on with its first epoch of which nothing was
   served. Any turn is computed directly, without those before it.

   A mix is elastic as a sampler is: a state loaded in another shape (here
   also with another drop_last) goes on with every source where it was, turns
   go on counting, and at, seek and locate reach back to that load, the mix's
   base. (It moves up to the present when 2^62 positions of a source with CARRY
   lie behind.) The sequence goes on too, unless the new shape gives steps to
   other sources than the old one: then it begins anew.

   The number of a sample among those of all sources, as ConcatDataset counts,
   is statesampler_mix_offset of its source plus its index.

   What makes no sense is STATESAMPLER_EINVAL from mix_init:
   - no sources, or a stop that is not one of the above;
   - samplers that differ in rank, world_size or batch_size;
   - weights that sum to 2^31 or more, or num_samples to 2^62 or more;
   - RESTART or ALL where, in whole numbers, n_i / weight is 2^62 / (sum of
     the weights) or more for some i: the sequence would be too long;
   - CARRY, unless stop is NEVER; and NEVER where no source has steps.
   With FIRST, ALL and RESTART a mix without steps is a valid, empty epoch.

   A sampler in a mix is moved by the mix alone; what it says of itself may be
   asked at any time. To prefetch, use mix_at, or a second mix that the first
   one's state is loaded into.


STATE FORMAT 1

   14 words of 64 bits, little-endian, written byte by byte.

   bytes     field
   0 .. 3    magic "SSMP"
   4 .. 5    format version, 1
   6 .. 7    algorithm number, 1
   8 .. 15   num_samples      *
   16 .. 23  seed             *
   24 .. 31  stream           *
   32 .. 39  chunk_size       *  0 unless the order is WINDOW
   40 .. 47  window           *  0 unless the order is WINDOW
   48        order            *
   49        partition        *
   50        tail             *
   51        0
   52 .. 55  blocks P            1 if INTERLEAVED
   56 .. 59  world_size          of the run that saved
   60 .. 63  batch_size          of the run that saved
   64 .. 71  epoch
   72 .. 79  position
   80 .. 87  base epoch          differs from the epoch with CARRY only
   88 .. 95  base position
   96 .. 103 base step
   104 .. 111 check word: h = 0; for each word w before it, h = (h xor w) *
              0x9e3779b97f4a7c15, h = h xor (h >> 32)

   The step is the base step + the positions since the base / (world_size *
   batch_size), rounded up; with CARRY, an epoch is num_samples positions.

   Fields marked * must match the loading sampler's. Read in this order:
   magic, version (a newer format may be longer), size, check word, algorithm,
   every field's range, the match.

   A mix's state is 56 bytes and 88 for each source, in the same manner; it
   says where the base is, and the rest follows from the turn.

   bytes     field
   0 .. 3    magic "SSMX"
   4 .. 7    format version, 1, and algorithm number, 1
   8 .. 11   number of sources *
   12 .. 15  stop              *
   16 .. 23  epoch of the mix
   24 .. 31  turn
   32 .. 39  turn of the base
   40 .. 47  place of the base in the sequence
   and for each source, counted from its first byte:
   0 .. 3    weight            *
   4         1: begun anew before the base + 2: drop_last of the run that
             saved
   5 .. 7    0
   8 .. 63   as in a sampler's state
   64 .. 87  epoch, position and step at the base
   and the check word over all words before it.

   A mixture's state has the names, too.

   bytes     field
   0 .. 3    magic "SSMN"
   4 .. 7    format version, 1, and algorithm number, 1
   8 .. 15   number of datasets
   for each dataset 8 bytes: the hash of its name. h = 0; for each byte c of
             the name and its final 0, h = derive(h, c), of algorithm 1
   a mix's state, whole
   and the check word over all words before it.


ALGORITHM 1

   All words are unsigned and wrap around; >> shifts in zeros. GOLDEN is
   0x9e3779b97f4a7c15.

   mix(x), on 64 bits (the finaliser of SplitMix64: Steele, Lea, Flood, Fast
   splittable pseudorandom number generators, 2014; Stafford's variant 13):
       x = (x xor (x >> 30)) * 0xbf58476d1ce4e5b9
       x = (x xor (x >> 27)) * 0x94d049bb133111eb
       x xor (x >> 31)
   derive(k, v) = mix(k + v + GOLDEN).
   K = derive(derive(derive(0, seed), epoch), stream).

   perm(n, K) for n >= 1, a generalised Feistel network (Black and Rogaway,
   Ciphers with arbitrary finite domains, 2002) with cycle walking:
   - a = the ceiling of the square root of n, rounded up to even; b =
     ceil(n / a), at least 3. Position i is the pair l = i div b, r = i mod b.
   - rounds: 24 for n < 2^13, 12 for n < 2^24, 8 above.
   - round keys come from the words mix(S + j * GOLDEN), j = 1, 2, ..., with
     S = derive(K, n). Up to n = 2^30 ("narrow", w = 16) a word holds the keys
     of two rounds, the low 32 bits first; above ("wide", w = 32) a word is
     one round's. Of a round's key, add is the low w bits, mul the high w bits
     with the highest bit set.
   - round t = 0, 2, ...: l = (l - F(r, a)) mod a; t = 1, 3, ...:
     r = (r - F(l, b)) mod b. With s = m - floor(t / 2) * floor(m / 1024),
     F(h, m): x = h xor add; y = (x * mul) >> w; z = (x * y) mod 2^w;
     (z * s) >> w.
   - the result is l * b + r; while it is n or more, all rounds are applied
     to it again. The inverse adds instead, last round first, and walks in
     the same way.
   The smallest even number of rounds that no test of tests/quality told from
   a Fisher-Yates shuffle, at any n it tried, is at most 18, 8 and 6 in these
   three ranges; a third is added to it.

   Orders over n samples with key k; k = K or, if BLOCKED, each block has
   k = derive(K, 2^63 + block), its own number of samples as n, and as p the
   place in it. Blocks, windows, chunks and places count from 0.
   SHUFFLE      perm(n, k).
   WINDOW       chunks by perm(number of full chunks, k); the m positions of
                window w by perm(m, derive(k, 2^63 + 2^62 + w)), where value q
                is sample q mod chunk_size of the window's chunk
                q div chunk_size.
   REPLACEMENT  position p: S = derive(k, 2^62 + p); the first of
                mix(S + j * GOLDEN), j = 1, 2, ..., that is below n once ANDed
                with the smallest 2^e - 1 that is n - 1 or more.


CHANGES

   0.2.0  Algorithm 1 is frozen: from here on its orders never change, and
          another order will be another algorithm number. It is not the
          algorithm of 0.1.0. Mixes, and mixtures of named datasets.
   0.1.0  First version: perm, order, sampler, audit, hosted.
*/

#ifndef STATESAMPLER_H
#define STATESAMPLER_H

#include <stddef.h>
#include <stdint.h>

#define STATESAMPLER_VERSION "0.3.0"
#define STATESAMPLER_ALGORITHM 1

#define STATESAMPLER_MAX_SAMPLES ((uint64_t)1 << 62)
#define STATESAMPLER_NONE UINT64_MAX
#define STATESAMPLER_STATE_BYTES 112

/* order */
#define STATESAMPLER_ORDER_SHUFFLE 0
#define STATESAMPLER_ORDER_SEQUENTIAL 1
#define STATESAMPLER_ORDER_WINDOW 2
#define STATESAMPLER_ORDER_REPLACEMENT 3

/* partition */
#define STATESAMPLER_PARTITION_INTERLEAVED 0
#define STATESAMPLER_PARTITION_BLOCKED 1

/* tail */
#define STATESAMPLER_TAIL_PAD 0
#define STATESAMPLER_TAIL_DROP 1
#define STATESAMPLER_TAIL_UNEVEN 2
#define STATESAMPLER_TAIL_CARRY 3

/* What functions that return int return when something is wrong: one of these
   kinds, or a code of the kind for each rule. STATESAMPLER_KIND(code) is the
   kind, statesampler_error(code) says the rule in a sentence. */
#define STATESAMPLER_OK 0
#define STATESAMPLER_EINVAL (-100)    /* impossible description or argument */
#define STATESAMPLER_ERANGE (-200)    /* no such step or turn; a sample that
                                         is not served */
#define STATESAMPLER_ECORRUPT (-300)  /* a state that no run has saved */
#define STATESAMPLER_EVERSION (-400)  /* newer format or unknown algorithm */
#define STATESAMPLER_EMISMATCH (-500) /* a state of another run */
#define STATESAMPLER_EENV (-600)      /* half-set or malformed variables */
#define STATESAMPLER_EIO (-700)       /* a file cannot be read or written */
#define STATESAMPLER_ENOFILE (-800)   /* there is no such file */
#define STATESAMPLER_ECAPACITY (-900) /* the buffer is too small */
#define STATESAMPLER_KIND(code) ((code) / 100 * 100)

/* init, mix_init and mixture_add */
#define STATESAMPLER_EINVAL_NUM_SAMPLES (-101)
#define STATESAMPLER_EINVAL_RANK (-102)
#define STATESAMPLER_EINVAL_GLOBAL_BATCH (-103)
#define STATESAMPLER_EINVAL_ORDER (-104)
#define STATESAMPLER_EINVAL_PARTITION (-105)
#define STATESAMPLER_EINVAL_TAIL (-106)
#define STATESAMPLER_EINVAL_DROP_LAST (-107)
#define STATESAMPLER_EINVAL_CHUNK_SIZE (-108)
#define STATESAMPLER_EINVAL_WINDOW (-109)
#define STATESAMPLER_EINVAL_CHUNKS (-110)
#define STATESAMPLER_EINVAL_CARRY_EMPTY (-111)
#define STATESAMPLER_EINVAL_CARRY_BLOCKED (-112)
#define STATESAMPLER_EINVAL_CARRY_DROP_LAST (-113)
#define STATESAMPLER_EINVAL_NO_SOURCES (-120)
#define STATESAMPLER_EINVAL_STOP (-121)
#define STATESAMPLER_EINVAL_SOURCE_RANK (-122)
#define STATESAMPLER_EINVAL_SOURCE_WORLD_SIZE (-123)
#define STATESAMPLER_EINVAL_SOURCE_BATCH_SIZE (-124)
#define STATESAMPLER_EINVAL_SOURCE_SAMPLES (-125)
#define STATESAMPLER_EINVAL_SOURCE_CARRY (-126)
#define STATESAMPLER_EINVAL_WEIGHTS (-127)
#define STATESAMPLER_EINVAL_SEQUENCE (-128)
#define STATESAMPLER_EINVAL_NO_STEPS (-129)
#define STATESAMPLER_EINVAL_NAME_EMPTY (-130)
#define STATESAMPLER_EINVAL_NAME_TAKEN (-131)
#define STATESAMPLER_EINVAL_REPLACEMENT (-140)
#define STATESAMPLER_EINVAL_PATH (-141)

/* seek, at, locate and their like */
#define STATESAMPLER_ERANGE_BASE (-201)
#define STATESAMPLER_ERANGE_END (-202)
#define STATESAMPLER_ERANGE_FAR (-203)
#define STATESAMPLER_ERANGE_INDEX (-204)
#define STATESAMPLER_ERANGE_DROPPED (-205)
#define STATESAMPLER_ERANGE_SERVED (-206)
#define STATESAMPLER_ERANGE_SOURCE (-207)
#define STATESAMPLER_ERANGE_NAME (-208)

/* load and its like */
#define STATESAMPLER_ECORRUPT_SIZE (-301)
#define STATESAMPLER_ECORRUPT_MAGIC (-302)
#define STATESAMPLER_ECORRUPT_CHECK (-303)
#define STATESAMPLER_ECORRUPT_DESC (-304)
#define STATESAMPLER_ECORRUPT_ZERO (-305)
#define STATESAMPLER_ECORRUPT_BLOCKS (-306)
#define STATESAMPLER_ECORRUPT_BASE (-307)
#define STATESAMPLER_ECORRUPT_POSITION (-308)
#define STATESAMPLER_ECORRUPT_SOURCES (-309)
#define STATESAMPLER_ECORRUPT_STOP (-310)
#define STATESAMPLER_ECORRUPT_SHAPES (-311)
#define STATESAMPLER_ECORRUPT_TURN (-312)
#define STATESAMPLER_ECORRUPT_POINT (-313)
#define STATESAMPLER_ECORRUPT_NAMES (-314)
#define STATESAMPLER_EVERSION_FORMAT (-401)
#define STATESAMPLER_EVERSION_ALGORITHM (-402)
#define STATESAMPLER_EMISMATCH_NUM_SAMPLES (-501)
#define STATESAMPLER_EMISMATCH_SEED (-502)
#define STATESAMPLER_EMISMATCH_STREAM (-503)
#define STATESAMPLER_EMISMATCH_ORDER (-504)
#define STATESAMPLER_EMISMATCH_CHUNK_SIZE (-505)
#define STATESAMPLER_EMISMATCH_WINDOW (-506)
#define STATESAMPLER_EMISMATCH_PARTITION (-507)
#define STATESAMPLER_EMISMATCH_TAIL (-508)
#define STATESAMPLER_EMISMATCH_SOURCES (-509)
#define STATESAMPLER_EMISMATCH_STOP (-510)
#define STATESAMPLER_EMISMATCH_WEIGHT (-511)
#define STATESAMPLER_EMISMATCH_DATASET (-512)

/* from_env */
#define STATESAMPLER_EENV_UNSET (-601)
#define STATESAMPLER_EENV_NUMBER (-602)
#define STATESAMPLER_EENV_RANK (-603)

/* save_file and load_file */
#define STATESAMPLER_EIO_PERMISSION (-701)
#define STATESAMPLER_EIO_SPACE (-702)
#define STATESAMPLER_EIO_READ_ONLY (-703)
#define STATESAMPLER_EIO_NO_FOLDER (-704)
#define STATESAMPLER_EIO_IS_FOLDER (-705)
#define STATESAMPLER_EIO_NOT_REGULAR (-706)
#define STATESAMPLER_EIO_NAME (-707)
#define STATESAMPLER_EIO_OPEN_FILES (-708)
#define STATESAMPLER_EIO_BUSY (-709)

#ifndef STATESAMPLER_API
#define STATESAMPLER_API
#endif

/* Before every public function. In CUDA the hosted ones stay on the host,
   whatever STATESAMPLER_API says. */
#ifdef STATESAMPLER_STATIC
#define STATESAMPLER_DEF static inline STATESAMPLER_API
#else
#define STATESAMPLER_DEF STATESAMPLER_API
#endif
#if !defined(__CUDACC__) && !defined(__HIPCC__)
#define STATESAMPLER_DEF_HOSTED STATESAMPLER_DEF
#elif defined(STATESAMPLER_STATIC)
#define STATESAMPLER_DEF_HOSTED static inline
#else
#define STATESAMPLER_DEF_HOSTED
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* --- perm: a keyed bijection on [0, n) ------------------------------------ */

/* In the caller's memory; all fields are private. May be copied. */
typedef struct statesampler_perm {
    uint64_t n, key;
    uint32_t left, right; /* sizes of the halves: left * right >= n */
    uint32_t rounds;
    uint32_t wide;        /* 1: n > 2^30, 32-bit rounds */
    uint32_t keys[24];
} statesampler_perm;

/* Sets up the permutation of [0, n) for these numbers; another seed, epoch or
   stream, or two of them swapped, give one that has nothing to do with it. It
   is the order of the SHUFFLE sampler (INTERLEAVED) with the same
   num_samples, seed, epoch and stream.
   n: 0 .. STATESAMPLER_MAX_SAMPLES, else EINVAL and *perm is unchanged. With
   n = 0 there is nothing to ask of it. */
STATESAMPLER_DEF int statesampler_perm_init(statesampler_perm *perm,
                                            uint64_t n, uint64_t seed,
                                            uint64_t epoch, uint64_t stream);

/* The index at a position; position and index are in [0, n). */
STATESAMPLER_DEF uint64_t statesampler_perm_at(const statesampler_perm *perm,
                                               uint64_t position);

/* The position of an index; both are in [0, n). The inverse of perm_at. */
STATESAMPLER_DEF uint64_t statesampler_perm_inverse(
    const statesampler_perm *perm, uint64_t index);

/* The indices at positions first, first + stride, ..., count of them, all
   below n; stride 0 repeats the first. The same as count calls of perm_at,
   faster. out holds count indices. */
STATESAMPLER_DEF void statesampler_perm_fill(const statesampler_perm *perm,
                                             uint64_t first, uint64_t stride,
                                             uint64_t *out, size_t count);

/* --- sampler -------------------------------------------------------------- */

/* What to sample. All zero but num_samples is a shuffle on one rank. */
typedef struct statesampler_desc {
    uint64_t num_samples; /* 0 .. STATESAMPLER_MAX_SAMPLES */
    uint64_t seed;
    uint64_t epoch;       /* first epoch */
    uint64_t stream;      /* tells datasets with the same seed apart */
    uint32_t rank;        /* below world_size */
    uint32_t world_size;  /* 0 means 1 */
    uint32_t batch_size;  /* 0 means 1; samples per rank and step */
    uint32_t order;       /* STATESAMPLER_ORDER_SHUFFLE */
    uint32_t partition;   /* STATESAMPLER_PARTITION_INTERLEAVED */
    uint32_t tail;        /* STATESAMPLER_TAIL_PAD */
    uint32_t drop_last;   /* 0; BatchSampler's, not DistributedSampler's */
    uint64_t chunk_size;  /* WINDOW: samples per chunk */
    uint64_t window;      /* WINDOW: chunks per window */
} statesampler_desc;

/* How far a run is. Private. */
typedef struct statesampler_priv_spot {
    uint64_t epoch, position, step;
} statesampler_priv_spot;

/* The order of one epoch and block, set up. Private. */
typedef struct statesampler_priv_order {
    uint64_t epoch;
    uint64_t key;
    uint64_t size, start;     /* samples start .. start + size - 1 */
    statesampler_perm perm;   /* SHUFFLE: samples; WINDOW: full chunks */
    statesampler_perm inside; /* WINDOW: of the last window used */
    uint32_t block;
    uint32_t set;             /* 0: nothing is set up but `inside` */
} statesampler_priv_order;

/* In the caller's memory; all fields are private. May be copied. */
typedef struct statesampler {
    uint64_t num_samples;
    statesampler_priv_spot now, base;
    uint64_t end;    /* where the epoch ends; CARRY: num_samples */
    uint64_t global; /* world_size * batch_size */
    uint32_t rank, world_size, batch_size;
    uint32_t order, partition, tail, drop_last;
    uint32_t blocks; /* BLOCKED: how many; INTERLEAVED: 1 */
    uint64_t chunk_size, window, seed, stream;
    statesampler_priv_order ready;
} statesampler;

/* Where a sample is served, in the present shape. */
typedef struct statesampler_place {
    uint64_t position, step;
    uint32_t rank, slot;
} statesampler_place;

/* An epoch in numbers, known before it is served. With CARRY positions is
   num_samples, and what has no end is STATESAMPLER_NONE. */
typedef struct statesampler_counts {
    uint64_t positions;    /* served, all ranks and shapes, with padding */
    uint64_t padded;       /* of these, repeats */
    uint64_t dropped;      /* samples in no position served; with REPLACEMENT
                              positions below num_samples not served */
    uint64_t steps;        /* of the rank with the most, all shapes */
    uint64_t rank_samples; /* this rank's, in the present shape */
    uint64_t rank_batches; /* this rank's, in the present shape */
} statesampler_counts;

/* Starts a sampler at step 0 of desc->epoch. EINVAL for what the manual
   lists, and *s is unchanged. */
STATESAMPLER_DEF int statesampler_init(statesampler *s,
                                       const statesampler_desc *desc);

/* Takes the next step: writes this rank's batch to out, which holds
   batch_size, and sets *count to its number of indices. That may be 0, for a
   rank without a sample in the last step. out may be NULL, to move only, and
   then count may be too.
   Returns 1; or, once at the end of an epoch, 0: the next epoch has then
   begun, and *count is 0. (At an empty epoch every time; with CARRY never.)
   All ranks get the same answers. */
STATESAMPLER_DEF int statesampler_next(statesampler *s, uint64_t *out,
                                       size_t *count);

/* This rank's batch of any step of this epoch, without moving; out and *count
   as in next. Returns 1; 0 past the end; ERANGE_BASE before the base; with
   CARRY ERANGE_FAR past the last step that seek takes. *count is then 0. */
STATESAMPLER_DEF int statesampler_at(const statesampler *s, uint64_t step,
                                     uint64_t *out, size_t *count);

/* Makes `step` the next one: the base's step .. num_steps, with CARRY at most
   2^62 positions after the base and 2^63 - 1; else ERANGE_BASE, ERANGE_END or
   ERANGE_FAR, and nothing is changed. VISSL's start_iter. */
STATESAMPLER_DEF int statesampler_seek(statesampler *s, uint64_t step);

/* Begins an epoch, also the one it is in, at step 0 and in this shape (with
   CARRY, the run anew). */
STATESAMPLER_DEF void statesampler_begin(statesampler *s, uint64_t epoch);

/* begin, unless it is in that epoch: so that calling this before every epoch
   does not undo a resume. */
STATESAMPLER_DEF void statesampler_set_epoch(statesampler *s, uint64_t epoch);

/* The epoch of the next sample. */
STATESAMPLER_DEF uint64_t statesampler_epoch(const statesampler *s);

/* Steps done in this epoch, all shapes counted; with CARRY since the run's
   start. */
STATESAMPLER_DEF uint64_t statesampler_step(const statesampler *s);

/* Steps of this epoch, those done included, of the rank with the most; with
   CARRY STATESAMPLER_NONE. */
STATESAMPLER_DEF uint64_t statesampler_num_steps(const statesampler *s);

/* Positions served in this epoch by all ranks together. */
STATESAMPLER_DEF uint64_t statesampler_position(const statesampler *s);

/* Sets *counts to this epoch in numbers, from where its shapes began to its
   end. */
STATESAMPLER_DEF void statesampler_get_counts(const statesampler *s,
                                              statesampler_counts *counts);

/* How many of this rank's samples in a step are padding: the last ones. 0
   for a step that `at` does not serve. */
STATESAMPLER_DEF size_t statesampler_padding(const statesampler *s,
                                             uint64_t step);

/* The first place in this epoch at which a sample is served. ERANGE: index
   >= num_samples, dropped, or served before the base. EINVAL: REPLACEMENT.
   *place is then unchanged. */
STATESAMPLER_DEF int statesampler_locate(const statesampler *s,
                                         uint64_t index,
                                         statesampler_place *place);

/* Writes the state, STATESAMPLER_STATE_BYTES bytes, the same on every rank.
   ECAPACITY: size, that of the buffer, is less, and nothing is written. */
STATESAMPLER_DEF int statesampler_save(const statesampler *s, void *out,
                                       size_t size);

/* Goes on where a state was saved, on an initialised sampler of the same
   num_samples, seed, stream, order (with chunk_size and window), partition
   and tail. Takes over epoch, position, base and blocks; rank, world_size,
   batch_size and drop_last stay the sampler's own, whatever the saving run
   had. A state at position 0 begins its epoch in the sampler's own shape. If
   drop_last leaves out the step at whose end the state was saved, its
   position becomes the base.
   ECORRUPT, EVERSION, EMISMATCH: *s is unchanged. */
STATESAMPLER_DEF int statesampler_load(statesampler *s, const void *state,
                                       size_t size);

/* Says what a state holds, without a sampler: sets *desc to the description
   of the run that saved it, with the state's epoch, as rank 0 and without
   drop_last, and *place to its position and step, rank and slot 0. Either may
   be NULL. ECORRUPT and EVERSION as load; nothing is then set. */
STATESAMPLER_DEF int statesampler_describe(const void *state, size_t size,
                                           statesampler_desc *desc,
                                           statesampler_place *place);

/* --- mix ------------------------------------------------------------------ */

/* stop: what becomes of a source that has nothing left when its turn comes */
#define STATESAMPLER_STOP_FIRST 0   /* it ends the epoch */
#define STATESAMPLER_STOP_ALL 1     /* it is passed over, until all are finished */
#define STATESAMPLER_STOP_RESTART 2 /* it begins anew, until all have finished */
#define STATESAMPLER_STOP_NEVER 3   /* it begins anew, for ever */

/* One dataset of a mix. */
typedef struct statesampler_source {
    uint32_t weight;      /* 0 means 1 */
    /* Private, up to the sampler. */
    uint32_t seat;        /* where this source sits, or NOBODY */
    uint32_t seated;      /* which source sits in the seat of this number */
    uint32_t alive;       /* with ALL, a seat that is not finished; any order */
    uint32_t right;       /* weight of the right child that begins with it */
    uint32_t finished;    /* 1: it finished once before the base */
    uint32_t drop_last;   /* the sampler's, while another stands in for it */
    uint32_t base_blocks; /* what it was like at the mix's base: */
    statesampler_priv_spot base;
    uint64_t base_turns;  /* turns of the sequence, */
    uint64_t left;        /* and steps that were left in its epoch */
    statesampler sampler; /* initialised by you */
} statesampler_source;

/* In the caller's memory; all fields are private. It points to its sources:
   do not copy it, and leave them where they are. */
typedef struct statesampler_mix {
    statesampler_source *sources;
    uint32_t num_sources, stop;
    uint32_t seats;  /* sources that take turns */
    uint32_t alive;  /* of these, with ALL, those not finished */
    uint32_t weight; /* of all of them */
    uint64_t epoch, turn, point;
    uint64_t base_turn, base_point;
    uint64_t end;   /* turns of this epoch, or NONE */
} statesampler_mix;

/* Makes a mix of num_sources sources in their array; their samplers go on
   from where they are. EINVAL for what the manual lists, and nothing is
   changed. */
STATESAMPLER_DEF int statesampler_mix_init(statesampler_mix *mix,
                                           statesampler_source *sources,
                                           uint32_t num_sources,
                                           uint32_t stop);

/* Takes the next turn: sets *source to its number and *count to how many
   indices this rank's batch has, written to out, which holds batch_size or is
   NULL, to move only. 1; or, once at the end of an epoch, 0: the next one has
   then begun, *count is 0 and *source as it was. (An empty epoch is at its
   end every time; NEVER never.) Whose turn it is takes as many steps as D must
   be halved to get to 1; with ALL, if that one has finished, up to twice as
   many for each source that has not. */
STATESAMPLER_DEF int statesampler_mix_next(statesampler_mix *mix,
                                           uint64_t *out, size_t *count,
                                           uint32_t *source);

/* Any turn of this epoch, without moving; out, *count and *source as in next.
   (With ALL, at and seek take up to 126 * D times as many steps as next.)
   1; 0 past the end; ERANGE before the base, after turn 2^62 or, for a source
   with CARRY, more than 2^62 of its positions after the base. *count is then
   0. */
STATESAMPLER_DEF int statesampler_mix_at(const statesampler_mix *mix,
                                         uint64_t turn, uint64_t *out,
                                         size_t *count, uint32_t *source);

/* Makes `turn` the next one: the base's .. num_turns, as far as mix_at
   reaches; else ERANGE, and nothing is changed. */
STATESAMPLER_DEF int statesampler_mix_seek(statesampler_mix *mix,
                                           uint64_t turn);

/* Turns done in this epoch. */
STATESAMPLER_DEF uint64_t statesampler_mix_turn(const statesampler_mix *mix);

/* Turns of this epoch, those done included; STATESAMPLER_NONE if it never
   ends. */
STATESAMPLER_DEF uint64_t statesampler_mix_num_turns(
    const statesampler_mix *mix);

/* Epochs of the mix that are done. */
STATESAMPLER_DEF uint64_t statesampler_mix_epoch(const statesampler_mix *mix);

/* How many samples the sources before this one have; for num_sources, all. */
STATESAMPLER_DEF uint64_t statesampler_mix_offset(const statesampler_mix *mix,
                                                  uint32_t source);

/* The turn and the first place at which a sample is served in its source's
   present epoch. EINVAL and ERANGE as statesampler_locate; ERANGE also for a
   source that there is not, and for a turn that mix_at does not serve. *turn
   and *place are then unchanged. */
STATESAMPLER_DEF int statesampler_mix_locate(const statesampler_mix *mix,
                                             uint32_t source, uint64_t index,
                                             uint64_t *turn,
                                             statesampler_place *place);

/* How long the state is: 56 bytes and 88 for each source. */
STATESAMPLER_DEF size_t statesampler_mix_state_bytes(
    const statesampler_mix *mix);

/* Writes the state, mix_state_bytes bytes, the same on every rank.
   ECAPACITY: size, that of the buffer, is less, and nothing is written. */
STATESAMPLER_DEF int statesampler_mix_save(const statesampler_mix *mix,
                                           void *out, size_t size);

/* Goes on where a state was saved, in any shape, on an initialised mix of the
   same number of sources, stop rule, weights and, source by source, what
   statesampler_load wants to be the same. ECORRUPT, EVERSION, EMISMATCH: the
   mix and its sources are unchanged. */
STATESAMPLER_DEF int statesampler_mix_load(statesampler_mix *mix,
                                           const void *state, size_t size);

/* What a mix's state says of the mix and of one source. */
typedef struct statesampler_mix_place {
    uint64_t epoch, turn;
    uint32_t num_sources, stop;
    uint32_t weight; /* the source's */
} statesampler_mix_place;

/* Says what a mix's state holds, without a mix: sets *desc to the description
   of a source in the run that saved it, as rank 0, with its drop_last and its
   epoch at the mix's base, and *place to the rest. Either may be NULL. With
   these descriptions mix_init makes a mix that mix_load loads the state into.
   ERANGE_SOURCE: there is no such source. ECORRUPT and EVERSION as far as one
   source tells. Nothing is then set. */
STATESAMPLER_DEF int statesampler_mix_describe(const void *state, size_t size,
                                               uint32_t source,
                                               statesampler_desc *desc,
                                               statesampler_mix_place *place);

/* --- audit ---------------------------------------------------------------- */

/* Count and sums of i, i^2, i^3 modulo 2^64 over the indices served. Starts
   as {0, 0, 0, 0}. */
typedef struct statesampler_audit {
    uint64_t count, sum1, sum2, sum3;
} statesampler_audit;

/* Adds indices, in any order. */
STATESAMPLER_DEF void statesampler_audit_add(statesampler_audit *audit,
                                             const uint64_t *indices,
                                             size_t count);

/* Adds what another rank, thread or run has served. */
STATESAMPLER_DEF void statesampler_audit_merge(
    statesampler_audit *audit, const statesampler_audit *other);

/* 1: what was added can be each of [0, num_samples) exactly once, by the
   closed forms of the sums; 0: it is not. Any one sample lost, doubled or
   put in another's place shows. */
STATESAMPLER_DEF int statesampler_audit_check(const statesampler_audit *audit,
                                              uint64_t num_samples);

/* --- errors --------------------------------------------------------------- */

/* An error in words, a constant string, for any code. The hosted part's have
   theirs where it is. */
STATESAMPLER_DEF const char *statesampler_error(int code);

/* --- hosted --------------------------------------------------------------- */

#ifdef STATESAMPLER_HOSTED

/* Sets desc->rank and desc->world_size from the first of these pairs of which
   a variable is set:
       "torchrun"  RANK, WORLD_SIZE
       "openmpi"   OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE
       "pmi"       PMI_RANK, PMI_SIZE
       "slurm"     SLURM_PROCID, SLURM_NTASKS
   and *launcher, which may be NULL, to its name; with none set to rank 0 of 1
   and "none". EENV: one of the pair is not set, is not a decimal number of 32
   bits, or rank >= world size; *launcher says whose and *desc is unchanged. */
STATESAMPLER_DEF_HOSTED int statesampler_from_env(statesampler_desc *desc,
                                                  const char **launcher);

/* Writes size bytes to a file so that a crash at any instant leaves the old
   file or the new one whole: to path with ".tmp" behind it, flushed to disk
   and renamed over path (POSIX: and the folder flushed). A temporary file
   that a crash left gives way to the next save's. Processes that write the
   same path wait for one another, a minute at most (Windows: all but one
   fail); threads of one process must take turns. path: 1 .. 4,095 bytes (the
   system may allow less), else EINVAL. EIO, also where path is a folder, a
   device or a pipe: what was there is as it was. A symbolic link is replaced,
   and the new file has the mode of any new file. */
STATESAMPLER_DEF_HOSTED int statesampler_save_file(const char *path,
                                                   const void *bytes,
                                                   size_t size);

/* Reads a whole file of at most capacity bytes and sets *size. ECAPACITY: it
   is larger, *size says how large, and bytes hold its beginning; so capacity
   0 asks for the size. ENOFILE, EIO: *size is unchanged, bytes may hold a
   part. */
STATESAMPLER_DEF_HOSTED int statesampler_load_file(const char *path,
                                                   void *bytes,
                                                   size_t capacity,
                                                   size_t *size);

#endif /* STATESAMPLER_HOSTED */

/* --- stb_ds --------------------------------------------------------------- */

#ifdef STATESAMPLER_STB_DS

/* A dataset of a mixture; the name is the mixture's copy. */
typedef struct statesampler_dataset {
    char *key;      /* its name */
    uint64_t value; /* the hash of its name */
} statesampler_dataset;

/* What mixture_load found of a dataset, and did with it. */
#define STATESAMPLER_CHANGE_MATCHED 0 /* it goes on where it was */
#define STATESAMPLER_CHANGE_NEW 1     /* not in the state: it begins its epoch */
#define STATESAMPLER_CHANGE_REMOVED 2 /* in the state only */
#define STATESAMPLER_CHANGE_CHANGED 3 /* of the same name, but with another length,
                                  seed, stream, order (with chunk_size and
                                  window), partition or tail */
typedef struct statesampler_change {
    const char *name; /* NULL if REMOVED: the state knows the hash only */
    uint64_t hash;
    uint32_t source;  /* its number; if REMOVED, in the mixture that saved */
    uint32_t status;
} statesampler_change;

/* A mix of datasets with names, which grows. All zero (= {0}) is an empty
   one. The arrays are stb_ds's: arrlen(changes) tells their length. Read them
   as you like; once started, take turns with the functions for a mix, on
   &mixture.mix. Memory that runs out is stb_ds's matter. */
typedef struct statesampler_mixture {
    statesampler_source *sources;   /* an array */
    statesampler_dataset *datasets; /* a string map, in the same order */
    statesampler_change *changes;   /* an array: what the last load found */
    statesampler_mix mix;
} statesampler_mixture;

/* The hash by which a state knows a name: to tell who was REMOVED. */
STATESAMPLER_DEF_HOSTED uint64_t statesampler_mixture_hash(const char *name);

/* Adds a dataset as the last; its sampler is what statesampler_init makes of
   the description. The mixture must then be started; if it was already, that
   begins with turn 0 again (each dataset goes on), and who wants turns to go
   on saves before, and loads after the start.
   EINVAL: an empty name, one that is there already (or another of its 64-bit
   hash), or what statesampler_init says; nothing is changed. */
STATESAMPLER_DEF_HOSTED int statesampler_mixture_add(
    statesampler_mixture *mixture, const char *name, uint32_t weight,
    const statesampler_desc *desc);

/* Sets *source to the number of the dataset with this name. ERANGE: there is
   none, and *source is unchanged. */
STATESAMPLER_DEF_HOSTED int statesampler_mixture_find(
    statesampler_mixture *mixture, const char *name, uint32_t *source);

/* Makes the mix of all datasets: as statesampler_mix_init. */
STATESAMPLER_DEF_HOSTED int statesampler_mixture_start(
    statesampler_mixture *mixture, uint32_t stop);

/* How long the state of a started mixture is: 80 bytes and 96 for each
   dataset. */
STATESAMPLER_DEF_HOSTED size_t statesampler_mixture_state_bytes(
    const statesampler_mixture *mixture);

/* Writes the state, mixture_state_bytes bytes, the same on every rank.
   ECAPACITY: size, that of the buffer, is less, and nothing is written. */
STATESAMPLER_DEF_HOSTED int statesampler_mixture_save(
    const statesampler_mixture *mixture, void *out, size_t size);

/* What mixture_load does where a dataset has CHANGED. */
#define STATESAMPLER_REFUSE_CHANGED 0  /* EMISMATCH_DATASET, nothing moves */
#define STATESAMPLER_RESTART_CHANGED 1 /* it begins its present epoch again */

/* Goes on where a state was saved, on a started mixture with the same stop
   rule, in any shape. Datasets are matched by name; some may have been added,
   removed, put in another order or given other weights: then turns go on
   counting, and the sequence begins anew. One that has CHANGED is an
   EMISMATCH_DATASET, unless `changed` is STATESAMPLER_RESTART_CHANGED. Of
   each dataset here and, after them, of each that is no longer here,
   mixture.changes then says which it was, also after an EMISMATCH (of the
   stop rule, too); it is empty after other errors.
   ECORRUPT, EVERSION, EMISMATCH: no dataset has moved. */
STATESAMPLER_DEF_HOSTED int statesampler_mixture_load(
    statesampler_mixture *mixture, const void *state, size_t size,
    int changed);

/* Frees everything; the mixture is then empty. */
STATESAMPLER_DEF_HOSTED void statesampler_mixture_free(
    statesampler_mixture *mixture);

#endif /* STATESAMPLER_STB_DS */

#ifdef __cplusplus
}
#endif

#endif /* STATESAMPLER_H */

/* ---------------------------------------------------------------------------
   If you only want to use the library, stop here: the rest is how it works.
   ------------------------------------------------------------------------ */

#if defined(STATESAMPLER_IMPLEMENTATION) && \
    !defined(STATESAMPLER_IMPLEMENTATION_INCLUDED)
#define STATESAMPLER_IMPLEMENTATION_INCLUDED

#ifndef STATESAMPLER_ASSERT
#define STATESAMPLER_ASSERT(condition) ((void)0)
#endif

/* Private functions are static, and in CUDA they run wherever the public ones
   do. Elsewhere STATESAMPLER_API may be an export attribute, which a static
   function must not carry. */
#if defined(__CUDACC__) || defined(__HIPCC__)
#define STATESAMPLER_PRIV static inline STATESAMPLER_API
#else
#define STATESAMPLER_PRIV static inline
#endif
#define STATESAMPLER_PRIV_HOSTED static inline

/* C++98 has no 64-bit literals, and C's UINT64_C is not always there in it. */
#define STATESAMPLER_PRIV_U64(high, low) ((uint64_t)(high) << 32 | (low))

/* 2^64 divided by the golden ratio: the increment of SplitMix64. */
#define STATESAMPLER_PRIV_GOLDEN \
    STATESAMPLER_PRIV_U64(0x9e3779b9u, 0x7f4a7c15u)

/* The four things a key is derived for. Sizes, positions, blocks and windows
   are all below 2^62, so the top two bits are free to tell them apart. */
#define STATESAMPLER_PRIV_DRAW ((uint64_t)1 << 62)
#define STATESAMPLER_PRIV_BLOCK ((uint64_t)2 << 62)
#define STATESAMPLER_PRIV_WINDOW ((uint64_t)3 << 62)

STATESAMPLER_PRIV uint64_t statesampler_priv_ceil_div(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

STATESAMPLER_PRIV uint64_t statesampler_priv_min(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* SplitMix64's finaliser (Steele, Lea and Flood 2014; the constants are
   Stafford's variant 13). A bijection. */
STATESAMPLER_PRIV uint64_t statesampler_priv_scramble(uint64_t x)
{
    x = (x ^ (x >> 30)) * STATESAMPLER_PRIV_U64(0xbf58476du, 0x1ce4e5b9u);
    x = (x ^ (x >> 27)) * STATESAMPLER_PRIV_U64(0x94d049bbu, 0x133111ebu);
    return x ^ (x >> 31);
}

/* A bijection of each argument for a fixed other one, and not symmetric in
   them once chained: (seed 0, epoch 1) and (seed 1, epoch 0) part ways. */
STATESAMPLER_PRIV uint64_t statesampler_priv_derive(uint64_t key,
                                                    uint64_t value)
{
    return statesampler_priv_scramble(key + value + STATESAMPLER_PRIV_GOLDEN);
}

STATESAMPLER_PRIV uint64_t statesampler_priv_epoch_key(uint64_t seed,
                                                       uint64_t epoch,
                                                       uint64_t stream)
{
    uint64_t key = statesampler_priv_derive(0, seed);
    key = statesampler_priv_derive(key, epoch);
    return statesampler_priv_derive(key, stream);
}

/* --- perm ------------------------------------------------------------------
   Both halves are at most 2^15 for n <= 2^30 and at most 2^31 for n <= 2^62,
   so that a sum of two values of one half fits the 16 or 32 bits of a lane. */

/* The smallest root with root * root >= n, for 1 <= n <= 2^62: bit by bit,
   keeping root * root < n. */
STATESAMPLER_PRIV uint32_t statesampler_priv_sqrt_ceil(uint64_t n)
{
    uint32_t root = 0;
    uint32_t bit =
        n > (uint32_t)1 << 30 ? (uint32_t)1 << 30 : (uint32_t)1 << 14;
    for (; bit != 0; bit >>= 1) {
        uint64_t t = root | bit;
        if (t * t < n) {
            root = (uint32_t)t;
        }
    }
    return root + 1;
}

/* What a permutation of [0, n) has of n alone. */
STATESAMPLER_PRIV void statesampler_priv_perm_set_size(statesampler_perm *perm,
                                                       uint64_t n)
{
    uint32_t root = statesampler_priv_sqrt_ceil(n);
    perm->n = n;
    /* With both halves odd every round would be an even permutation. */
    perm->left = root + (root & 1);
    perm->right = (uint32_t)statesampler_priv_ceil_div(n, perm->left);
    /* With a half of 2 a round mixes a single bit. */
    perm->right = perm->right < 3 ? 3 : perm->right;
    perm->wide = n > (uint32_t)1 << 30;
    /* A small domain mixes less in a round. */
    perm->rounds = n < (uint32_t)1 << 13 ? 24 : n < (uint32_t)1 << 24 ? 12 : 8;
}

/* Another key for the size that perm has. */
STATESAMPLER_PRIV void statesampler_priv_perm_set_key(statesampler_perm *perm,
                                                      uint64_t key)
{
    uint64_t state = statesampler_priv_derive(key, perm->n);
    uint32_t words = perm->wide ? perm->rounds : perm->rounds / 2, i;
    perm->key = key;
    for (i = 0; i < words; i++) {
        uint64_t word;
        state += STATESAMPLER_PRIV_GOLDEN;
        word = statesampler_priv_scramble(state);
        perm->keys[2 * i] = (uint32_t)word;
        perm->keys[2 * i + 1] = (uint32_t)(word >> 32) | (uint32_t)1 << 31;
        if (!perm->wide) {
            perm->keys[2 * i] |= (uint32_t)1 << 31;
        }
    }
}

/* Makes perm the permutation of [0, n) under this key: a permutation is a
   function of its size and key. */
STATESAMPLER_PRIV void statesampler_priv_perm_set(statesampler_perm *perm,
                                                  uint64_t n, uint64_t key)
{
    statesampler_priv_perm_set_size(perm, n);
    statesampler_priv_perm_set_key(perm, key);
}

/* The multiplier that maps a hash to the range of a half, in a pair of
   rounds. Multiply-high is uneven unless the multiplier divides 2^16 or 2^32;
   with the same one in every round, the same Fourier coefficient of the
   differences of a half would be left of it. */
STATESAMPLER_PRIV uint32_t statesampler_priv_perm_span(uint32_t size,
                                                       uint32_t pair)
{
    return size - pair * (size >> 10);
}

/* The keyed function of one half: a value below span. In the product of x
   with the high half of x times the key, each bit depends on all bits of x;
   multiply-high maps it to the range without a division. */
STATESAMPLER_PRIV uint32_t statesampler_priv_perm_narrow(uint32_t half,
                                                         uint32_t key,
                                                         uint32_t span)
{
    uint32_t x = half ^ (key & 0xffffu);
#if UINTPTR_MAX > 0xffffffffu
    /* The same in the high half, which needs neither a mask nor a shift. */
    x *= (x * (key >> 16)) & 0xffff0000u;
    return (uint32_t)(((uint64_t)x * span) >> 32);
#else
    x *= (x * (key >> 16)) >> 16;
    return ((x & 0xffffu) * span) >> 16;
#endif
}

STATESAMPLER_PRIV uint32_t statesampler_priv_perm_wide(uint32_t half,
                                                       const uint32_t *key,
                                                       uint32_t span)
{
    uint32_t x = half ^ key[0];
    x *= (uint32_t)(((uint64_t)x * key[1]) >> 32);
    return (uint32_t)(((uint64_t)x * span) >> 32);
}

/* half - value modulo size. */
STATESAMPLER_PRIV uint32_t statesampler_priv_sub_mod(uint32_t half,
                                                     uint32_t value,
                                                     uint32_t size)
{
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
    /* A negative difference has wrapped to the top: one instruction there. */
    return min(half - value, half - value + size);
#else
    return half < value ? half - value + size : half - value;
#endif
}

/* half + value modulo size. */
STATESAMPLER_PRIV uint32_t statesampler_priv_add_mod(uint32_t half,
                                                     uint32_t value,
                                                     uint32_t size)
{
    return half + value < size ? half + value : half + value - size;
}

/* The left half of a position: by a 32-bit division where it does, which is
   several times cheaper. */
STATESAMPLER_PRIV uint32_t statesampler_priv_perm_quotient(
    const statesampler_perm *perm, uint64_t position)
{
    return perm->wide ? (uint32_t)(position / perm->right)
                      : (uint32_t)position / perm->right;
}

/* All rounds on count pairs of halves, which wait for nothing of each
   other. */
STATESAMPLER_PRIV void statesampler_priv_perm_network(
    uint32_t *l, uint32_t *r, const statesampler_perm *perm, uint32_t count)
{
    const uint32_t left = perm->left, right = perm->right;
    const uint32_t *key = perm->keys;
    uint32_t i, j;
    for (i = 0; i < perm->rounds; i += 2) {
        const uint32_t span_l = statesampler_priv_perm_span(left, i / 2);
        const uint32_t span_r = statesampler_priv_perm_span(right, i / 2);
        if (perm->wide) {
            for (j = 0; j < count; j++) {
                l[j] = statesampler_priv_sub_mod(
                    l[j], statesampler_priv_perm_wide(r[j], key, span_l),
                    left);
            }
            for (j = 0; j < count; j++) {
                r[j] = statesampler_priv_sub_mod(
                    r[j], statesampler_priv_perm_wide(l[j], key + 2, span_r),
                    right);
            }
            key += 4;
        } else {
            for (j = 0; j < count; j++) {
                l[j] = statesampler_priv_sub_mod(
                    l[j], statesampler_priv_perm_narrow(r[j], key[0], span_l),
                    left);
            }
            for (j = 0; j < count; j++) {
                r[j] = statesampler_priv_sub_mod(
                    r[j], statesampler_priv_perm_narrow(l[j], key[1], span_r),
                    right);
            }
            key += 2;
        }
    }
}

/* The index at position l * right + r: the network on [0, left * right), until
   the result is below n. The loop ends: the network is a bijection, so the
   walk from a position below n runs on a cycle that comes back to it. It runs
   left * right / n times on average: six at n = 1, and hardly more than once
   from n = 9 on, where left * right - n < left. */
STATESAMPLER_PRIV uint64_t statesampler_priv_perm_walk(
    const statesampler_perm *perm, uint32_t l, uint32_t r)
{
    uint64_t index;
    do {
        statesampler_priv_perm_network(&l, &r, perm, 1);
        index = (uint64_t)l * perm->right + r;
    } while (index >= perm->n);
    return index;
}

STATESAMPLER_DEF int statesampler_perm_init(statesampler_perm *perm,
                                            uint64_t n, uint64_t seed,
                                            uint64_t epoch, uint64_t stream)
{
    statesampler_perm unused;
    const int refused = n > STATESAMPLER_MAX_SAMPLES;
    STATESAMPLER_ASSERT(perm);
    /* Where *perm may be unchanged, GCC warns once all is inlined, whatever
       the caller does about it; so what is refused is set up elsewhere. */
    statesampler_priv_perm_set(
        refused ? &unused : perm, refused ? 0 : n,
        statesampler_priv_epoch_key(seed, epoch, stream));
    return refused ? STATESAMPLER_EINVAL : STATESAMPLER_OK;
}

STATESAMPLER_DEF uint64_t statesampler_perm_at(const statesampler_perm *perm,
                                               uint64_t position)
{
    uint32_t l;
    STATESAMPLER_ASSERT(perm && position < perm->n);
    l = statesampler_priv_perm_quotient(perm, position);
    return statesampler_priv_perm_walk(
        perm, l, (uint32_t)(position - (uint64_t)l * perm->right));
}

STATESAMPLER_DEF uint64_t
statesampler_perm_inverse(const statesampler_perm *perm, uint64_t index)
{
    uint32_t left, right, l, r, i;
    STATESAMPLER_ASSERT(perm && index < perm->n);
    left = perm->left;
    right = perm->right;
    l = statesampler_priv_perm_quotient(perm, index);
    r = (uint32_t)(index - (uint64_t)l * right);
    /* The same cycle walked backwards, so the same bound. */
    do {
        for (i = perm->rounds; i != 0; i -= 2) {
            uint32_t span_l = statesampler_priv_perm_span(left, i / 2 - 1);
            uint32_t span_r = statesampler_priv_perm_span(right, i / 2 - 1), v;
            if (perm->wide) {
                const uint32_t *key = perm->keys + 2 * i - 4;
                v = statesampler_priv_perm_wide(l, key + 2, span_r);
                r = statesampler_priv_add_mod(r, v, right);
                v = statesampler_priv_perm_wide(r, key, span_l);
            } else {
                const uint32_t *key = perm->keys + i - 2;
                v = statesampler_priv_perm_narrow(l, key[1], span_r);
                r = statesampler_priv_add_mod(r, v, right);
                v = statesampler_priv_perm_narrow(r, key[0], span_l);
            }
            l = statesampler_priv_add_mod(l, v, left);
        }
        index = (uint64_t)l * right + r;
    } while (index >= perm->n);
    return index;
}

/* --- perm, in bulk ---------------------------------------------------------
   The same network on a vector of pairs at once, and round by round on several
   vectors, as one alone would wait for its own multiplications.

   An instruction set is a line of the list below, which chooses it, and a
   table of types, numbers and operations after the list. What follows the
   tables is written in these.

   v16     16-bit lanes, for n <= 2^30: the halves of LANES16 pairs
   v32     32-bit lanes, for n > 2^30: the halves of LANES32 pairs
   PARTS   so many of v16 (PARTS16) or of v32 (PARTS32) make a vector, which
           has half as many lanes in v32
   VECTORS at most so many take turns: more are no faster, and all must fit the
           stack
   FEW     up to so many indices are faster one by one
   SET     a number in all lanes: its low bits
   HIGH16  the upper half of a 32-bit number in all lanes
   HALF    a half in all lanes, in the form in which lanes have halves: as it
           is, or with 2^15 added
   ADD, SUB, XOR, OR
   REDUCE  a half of -size .. size - 1 modulo size
   CARRY   l, and 1 more where the half x is not negative
   ANY     not 0 if the highest bit of any lane is set
   hash    what a round subtracts from a half, of x = other xor add
   ramp    writes the positions of a vector: first, first + stride, ...
   split   reads positions: l may be 1 too small, and r, which is
           position - l * right, is then below 2 * right
   join    writes the indices l * right + r, in the order in which split reads

   Freestanding builds have plain C, because the headers of intrinsics may
   include those of a C library. Device code and small cores have no table: in
   a GPU other threads run while one waits, and small cores do not wait. */

#if defined(__CUDACC__) || defined(__HIPCC__)
#define STATESAMPLER_PRIV_PAIRS 8
#elif defined(__AVX512BW__) && __STDC_HOSTED__
#define STATESAMPLER_PRIV_X86 512
#elif defined(__AVX2__) && __STDC_HOSTED__
#define STATESAMPLER_PRIV_X86 256
#elif __STDC_HOSTED__ && (defined(__SSE2__) || defined(_M_X64) || \
                          (defined(_M_IX86_FP) && _M_IX86_FP >= 2))
#define STATESAMPLER_PRIV_X86 128
#elif __STDC_HOSTED__ && (defined(_M_ARM64) || (defined(__ARM_NEON) && \
                                                !defined(__ARM_BIG_ENDIAN)))
#define STATESAMPLER_PRIV_NEON
#elif defined(__wasm_simd128__) && __STDC_HOSTED__
#define STATESAMPLER_PRIV_WASM
#elif UINTPTR_MAX > 0xffffffffu || defined(__wasm__) || defined(__i386__) || \
    defined(_M_IX86) ||                                                      \
    (defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'A')
#define STATESAMPLER_PRIV_PLAIN
#endif

/* Division by right: (x * reciprocal) >> (32 + shift) is the quotient of a
   position x, or 1 too small. For n > 2^30, shift is the largest number with
   2^shift < right; otherwise it is 0. reciprocal is (2^(32 + shift) - 1) /
   right, rounded down: below 2^32, and 1 less than 2^(32 + shift) / right at
   most. So the product is x less than x / right * 2^(32 + shift) at most, and
   x < left * right <= 2^31 * right <= 2^(32 + shift). (For n <= 2^30, both are
   2^15 at most, and x < 2^32.) */
typedef struct statesampler_priv_divisor {
    uint32_t right, reciprocal, shift;
} statesampler_priv_divisor;

#ifdef STATESAMPLER_PRIV_X86

#if STATESAMPLER_PRIV_X86 == 512
#include <immintrin.h>
typedef __m512i statesampler_priv_v16, statesampler_priv_v32;
#define STATESAMPLER_PRIV_MM(op) _mm512_##op
#define STATESAMPLER_PRIV_SI(op) _mm512_##op##_si512
#define STATESAMPLER_PRIV_SET64(x) _mm512_set1_epi64((int64_t)(x))
#define STATESAMPLER_PRIV_ANY16(x) (_mm512_movepi16_mask(x) != 0)
#define STATESAMPLER_PRIV_ANY32(x) \
    (_mm512_cmplt_epi32_mask(x, _mm512_setzero_si512()) != 0)
#define STATESAMPLER_PRIV_ODD(x) _mm512_shuffle_epi32(x, (_MM_PERM_ENUM)0xf5)
#define STATESAMPLER_PRIV_HIGH32(even, odd) \
    _mm512_mask_shuffle_epi32(odd, 0x5555, even, (_MM_PERM_ENUM)0xf5)
#define STATESAMPLER_PRIV_VECTORS 8
#define STATESAMPLER_PRIV_FEW 2
#elif STATESAMPLER_PRIV_X86 == 256
#include <immintrin.h>
typedef __m256i statesampler_priv_v16, statesampler_priv_v32;
#define STATESAMPLER_PRIV_MM(op) _mm256_##op
#define STATESAMPLER_PRIV_SI(op) _mm256_##op##_si256
#define STATESAMPLER_PRIV_SET64(x) _mm256_set1_epi64x((int64_t)(x))
#define STATESAMPLER_PRIV_ANY16(x) \
    (((uint32_t)_mm256_movemask_epi8(x) & 0xaaaaaaaau) != 0)
#define STATESAMPLER_PRIV_ANY32(x) \
    (((uint32_t)_mm256_movemask_epi8(x) & 0x88888888u) != 0)
#define STATESAMPLER_PRIV_ODD(x) _mm256_shuffle_epi32(x, 0xf5)
#define STATESAMPLER_PRIV_HIGH32(even, odd) \
    _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xaa)
#define STATESAMPLER_PRIV_VECTORS 24
#define STATESAMPLER_PRIV_FEW 2
#else
#include <emmintrin.h>
typedef __m128i statesampler_priv_v16, statesampler_priv_v32;
#define STATESAMPLER_PRIV_MM(op) _mm_##op
#define STATESAMPLER_PRIV_SI(op) _mm_##op##_si128
#define STATESAMPLER_PRIV_SET64(x) _mm_set1_epi64x((int64_t)(x))
#define STATESAMPLER_PRIV_ANY16(x) ((_mm_movemask_epi8(x) & 0xaaaa) != 0)
#define STATESAMPLER_PRIV_ANY32(x) ((_mm_movemask_epi8(x) & 0x8888) != 0)
#define STATESAMPLER_PRIV_ODD(x) _mm_shuffle_epi32(x, 0xf5)
#define STATESAMPLER_PRIV_HIGH32(even, odd) \
    _mm_or_si128(                           \
        _mm_srli_epi64(even, 32),           \
        _mm_and_si128(odd, STATESAMPLER_PRIV_SET64(UINT64_MAX << 32)))
#define STATESAMPLER_PRIV_VECTORS 24
#define STATESAMPLER_PRIV_FEW 3
#endif

#define STATESAMPLER_PRIV_PARTS16 1
#define STATESAMPLER_PRIV_PARTS32 1
#define STATESAMPLER_PRIV_LANES16 (STATESAMPLER_PRIV_X86 / 16)
#define STATESAMPLER_PRIV_LANES32 (STATESAMPLER_PRIV_X86 / 32)
#define STATESAMPLER_PRIV_SET16(x) STATESAMPLER_PRIV_MM(set1_epi16)((short)(x))
#define STATESAMPLER_PRIV_HIGH16(x) STATESAMPLER_PRIV_SET16((x) >> 16)
#define STATESAMPLER_PRIV_SET32(x) STATESAMPLER_PRIV_MM(set1_epi32)((int)(x))
#define STATESAMPLER_PRIV_ADD16 STATESAMPLER_PRIV_MM(add_epi16)
#define STATESAMPLER_PRIV_ADD32 STATESAMPLER_PRIV_MM(add_epi32)
#define STATESAMPLER_PRIV_SUB16 STATESAMPLER_PRIV_MM(sub_epi16)
#define STATESAMPLER_PRIV_SUB32 STATESAMPLER_PRIV_MM(sub_epi32)
#define STATESAMPLER_PRIV_XOR16 STATESAMPLER_PRIV_SI(xor)
#define STATESAMPLER_PRIV_XOR32 STATESAMPLER_PRIV_SI(xor)
#define STATESAMPLER_PRIV_OR16 STATESAMPLER_PRIV_SI(or)
#define STATESAMPLER_PRIV_OR32 STATESAMPLER_PRIV_SI(or)
/* The minimum of 16-bit lanes is of signed ones, as SSE2 has no other, so that
   the least of them stands for 0. */
#define STATESAMPLER_PRIV_HALF16(x) STATESAMPLER_PRIV_SET16((x) ^ 0x8000u)
#define STATESAMPLER_PRIV_HALF32(x) STATESAMPLER_PRIV_SET32(x)
#define STATESAMPLER_PRIV_REDUCE16(x, size) \
    STATESAMPLER_PRIV_MM(min_epi16)(x, STATESAMPLER_PRIV_ADD16(x, size))
#if STATESAMPLER_PRIV_X86 == 128
#define STATESAMPLER_PRIV_REDUCE32(x, size) \
    _mm_add_epi32(x, _mm_and_si128(size, _mm_srai_epi32(x, 31)))
#else
#define STATESAMPLER_PRIV_REDUCE32(x, size) \
    STATESAMPLER_PRIV_MM(min_epu32)(x, STATESAMPLER_PRIV_ADD32(x, size))
#endif
#define STATESAMPLER_PRIV_CARRY16(x, l) \
    STATESAMPLER_PRIV_ADD16(l, STATESAMPLER_PRIV_MM(srli_epi16)(x, 15))
#define STATESAMPLER_PRIV_CARRY32(x, l)                         \
    STATESAMPLER_PRIV_ADD32(                                    \
        STATESAMPLER_PRIV_ADD32(l, STATESAMPLER_PRIV_SET32(1)), \
        STATESAMPLER_PRIV_MM(srai_epi32)(x, 31))

#define STATESAMPLER_PRIV_LOAD(from) \
    STATESAMPLER_PRIV_SI(loadu)((const statesampler_priv_v32 *)(from))
#define STATESAMPLER_PRIV_STORE(to, x) \
    STATESAMPLER_PRIV_SI(storeu)((statesampler_priv_v32 *)(to), x)
/* On 64-bit lanes, the last of them with the low halves alone. */
#define STATESAMPLER_PRIV_ADD64 STATESAMPLER_PRIV_MM(add_epi64)
#define STATESAMPLER_PRIV_UP(x) STATESAMPLER_PRIV_MM(slli_epi64)(x, 32)
#define STATESAMPLER_PRIV_DOWN(x) STATESAMPLER_PRIV_MM(srli_epi64)(x, 32)
#define STATESAMPLER_PRIV_MUL64 STATESAMPLER_PRIV_MM(mul_epu32)

STATESAMPLER_PRIV statesampler_priv_v16 statesampler_priv_bulk_hash16(
    statesampler_priv_v16 x, statesampler_priv_v16 mul,
    statesampler_priv_v16 span)
{
    x = STATESAMPLER_PRIV_MM(mullo_epi16)(
        x, STATESAMPLER_PRIV_MM(mulhi_epu16)(x, mul));
    return STATESAMPLER_PRIV_MM(mulhi_epu16)(x, span);
}

/* The low halves of 64-bit lanes whose high ones are 0. */
STATESAMPLER_PRIV statesampler_priv_v32 statesampler_priv_bulk_low32(
    statesampler_priv_v32 even, statesampler_priv_v32 odd)
{
    return STATESAMPLER_PRIV_SI(or)(even, STATESAMPLER_PRIV_UP(odd));
}

/* The products are the even lanes' of x. */
STATESAMPLER_PRIV statesampler_priv_v32 statesampler_priv_bulk_product32(
    statesampler_priv_v32 x, statesampler_priv_v32 mul,
    statesampler_priv_v32 span)
{
    statesampler_priv_v32 y =
        STATESAMPLER_PRIV_ODD(STATESAMPLER_PRIV_MUL64(x, mul));
    return STATESAMPLER_PRIV_MUL64(STATESAMPLER_PRIV_MUL64(x, y), span);
}

STATESAMPLER_PRIV statesampler_priv_v32 statesampler_priv_bulk_hash32(
    statesampler_priv_v32 x, statesampler_priv_v32 mul,
    statesampler_priv_v32 span)
{
    return STATESAMPLER_PRIV_HIGH32(
        statesampler_priv_bulk_product32(x, mul, span),
        statesampler_priv_bulk_product32(STATESAMPLER_PRIV_ODD(x), mul, span));
}

STATESAMPLER_PRIV void statesampler_priv_bulk_ramp(uint64_t *out,
                                                   uint64_t first,
                                                   uint64_t stride)
{
    static const uint64_t numbers[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    const size_t lanes = STATESAMPLER_PRIV_X86 / 64;
    const statesampler_priv_v32 number = STATESAMPLER_PRIV_LOAD(numbers);
    const statesampler_priv_v32 step = STATESAMPLER_PRIV_SET64(lanes * stride);
    const statesampler_priv_v32 low =
        STATESAMPLER_PRIV_MUL64(number, STATESAMPLER_PRIV_SET64(stride));
    const statesampler_priv_v32 high =
        STATESAMPLER_PRIV_MUL64(number, STATESAMPLER_PRIV_SET64(stride >> 32));
    statesampler_priv_v32 x = STATESAMPLER_PRIV_SET64(first);
    size_t i;
    x = STATESAMPLER_PRIV_ADD64(x, low);
    x = STATESAMPLER_PRIV_ADD64(x, STATESAMPLER_PRIV_UP(high));
    for (i = 0; i < 4; i++, out += lanes) {
        STATESAMPLER_PRIV_STORE(out, x);
        x = STATESAMPLER_PRIV_ADD64(x, step);
    }
}

/* The packs of 32-bit lanes undo what join16 unpacks. They are for signed
   numbers, which the low halves of positions are made. */
STATESAMPLER_PRIV void statesampler_priv_bulk_split16(
    statesampler_priv_v16 *l, statesampler_priv_v16 *r,
    const uint64_t *positions, const statesampler_priv_divisor *by)
{
    const size_t lanes = STATESAMPLER_PRIV_X86 / 64;
    const statesampler_priv_v32 times =
        STATESAMPLER_PRIV_SET32(by->reciprocal);
    const statesampler_priv_v16 zero = STATESAMPLER_PRIV_HALF16(0);
    const statesampler_priv_v32 a = STATESAMPLER_PRIV_LOAD(positions);
    const statesampler_priv_v32 b = STATESAMPLER_PRIV_LOAD(positions + lanes);
    const statesampler_priv_v32 c =
        STATESAMPLER_PRIV_LOAD(positions + 2 * lanes);
    const statesampler_priv_v32 d =
        STATESAMPLER_PRIV_LOAD(positions + 3 * lanes);
    statesampler_priv_v32 ab = statesampler_priv_bulk_low32(a, b);
    statesampler_priv_v32 cd = statesampler_priv_bulk_low32(c, d);
    statesampler_priv_v16 quotient = STATESAMPLER_PRIV_MM(packs_epi32)(
        STATESAMPLER_PRIV_HIGH32(STATESAMPLER_PRIV_MUL64(a, times),
                                 STATESAMPLER_PRIV_MUL64(b, times)),
        STATESAMPLER_PRIV_HIGH32(STATESAMPLER_PRIV_MUL64(c, times),
                                 STATESAMPLER_PRIV_MUL64(d, times)));
    statesampler_priv_v16 product = STATESAMPLER_PRIV_MM(mullo_epi16)(
        quotient, STATESAMPLER_PRIV_SET16(by->right));
    ab = STATESAMPLER_PRIV_MM(slli_epi32)(ab, 16);
    cd = STATESAMPLER_PRIV_MM(slli_epi32)(cd, 16);
    ab = STATESAMPLER_PRIV_MM(packs_epi32)(
        STATESAMPLER_PRIV_MM(srai_epi32)(ab, 16),
        STATESAMPLER_PRIV_MM(srai_epi32)(cd, 16));
    *l = STATESAMPLER_PRIV_XOR16(quotient, zero);
    *r = STATESAMPLER_PRIV_XOR16(STATESAMPLER_PRIV_SUB16(ab, product), zero);
}

STATESAMPLER_PRIV void statesampler_priv_bulk_split64(
    statesampler_priv_v32 *l, statesampler_priv_v32 *r,
    const uint64_t *positions, const statesampler_priv_divisor *by)
{
    const statesampler_priv_v32 times =
        STATESAMPLER_PRIV_SET32(by->reciprocal);
    const statesampler_priv_v32 x = STATESAMPLER_PRIV_LOAD(positions);
    const statesampler_priv_v32 low = STATESAMPLER_PRIV_MUL64(x, times);
    const statesampler_priv_v32 high =
        STATESAMPLER_PRIV_MUL64(STATESAMPLER_PRIV_DOWN(x), times);
    *l = STATESAMPLER_PRIV_MM(srl_epi64)(
        STATESAMPLER_PRIV_ADD64(high, STATESAMPLER_PRIV_DOWN(low)),
        _mm_cvtsi32_si128((int)by->shift));
    *r = STATESAMPLER_PRIV_MM(sub_epi64)(
        x, STATESAMPLER_PRIV_MUL64(*l, STATESAMPLER_PRIV_SET32(by->right)));
}

STATESAMPLER_PRIV void statesampler_priv_bulk_split32(
    statesampler_priv_v32 *l, statesampler_priv_v32 *r,
    const uint64_t *positions, const statesampler_priv_divisor *by)
{
    statesampler_priv_v32 even_l, even_r, odd_l, odd_r;
    statesampler_priv_bulk_split64(&even_l, &even_r, positions, by);
    statesampler_priv_bulk_split64(&odd_l, &odd_r,
                                   positions + STATESAMPLER_PRIV_X86 / 64, by);
    *l = statesampler_priv_bulk_low32(even_l, odd_l);
    *r = statesampler_priv_bulk_low32(even_r, odd_r);
}

/* The multiply-add is of signed lanes. With 2^15 added, and so read, a half h
   is h - 2^15. That makes 2^15 - 1 - l of ~l, which fits, as -right does where
   right may not, and the sum too small by what `more` adds. */
STATESAMPLER_PRIV void statesampler_priv_bulk_join16(uint64_t *out,
                                                     statesampler_priv_v16 l,
                                                     statesampler_priv_v16 r,
                                                     uint32_t right)
{
    const size_t lanes = STATESAMPLER_PRIV_X86 / 64;
    const statesampler_priv_v32 low = STATESAMPLER_PRIV_SET64(0xffffffffu);
    const statesampler_priv_v32 factors =
        STATESAMPLER_PRIV_SET32(((0 - right) & 0xffffu) | 0x10000u);
    const statesampler_priv_v32 more =
        STATESAMPLER_PRIV_SET32(0x7fffu * right + 0x8000u);
    const statesampler_priv_v16 not_l =
        STATESAMPLER_PRIV_XOR16(l, STATESAMPLER_PRIV_SET16(0xffffu));
    statesampler_priv_v32 a = STATESAMPLER_PRIV_MM(unpacklo_epi16)(not_l, r);
    statesampler_priv_v32 b = STATESAMPLER_PRIV_MM(unpackhi_epi16)(not_l, r);
    a = STATESAMPLER_PRIV_MM(madd_epi16)(a, factors);
    b = STATESAMPLER_PRIV_MM(madd_epi16)(b, factors);
    a = STATESAMPLER_PRIV_ADD32(a, more);
    b = STATESAMPLER_PRIV_ADD32(b, more);
    STATESAMPLER_PRIV_STORE(out, STATESAMPLER_PRIV_SI(and)(a, low));
    STATESAMPLER_PRIV_STORE(out + lanes, STATESAMPLER_PRIV_DOWN(a));
    STATESAMPLER_PRIV_STORE(out + 2 * lanes,
                            STATESAMPLER_PRIV_SI(and)(b, low));
    STATESAMPLER_PRIV_STORE(out + 3 * lanes, STATESAMPLER_PRIV_DOWN(b));
}

STATESAMPLER_PRIV void statesampler_priv_bulk_join32(uint64_t *out,
                                                     statesampler_priv_v32 l,
                                                     statesampler_priv_v32 r,
                                                     uint32_t right)
{
    const statesampler_priv_v32 low = STATESAMPLER_PRIV_SET64(0xffffffffu);
    const statesampler_priv_v32 times = STATESAMPLER_PRIV_SET32(right);
    const statesampler_priv_v32 even = STATESAMPLER_PRIV_MUL64(l, times);
    const statesampler_priv_v32 odd =
        STATESAMPLER_PRIV_MUL64(STATESAMPLER_PRIV_DOWN(l), times);
    STATESAMPLER_PRIV_STORE(
        out, STATESAMPLER_PRIV_ADD64(even, STATESAMPLER_PRIV_SI(and)(r, low)));
    STATESAMPLER_PRIV_STORE(
        out + STATESAMPLER_PRIV_X86 / 64,
        STATESAMPLER_PRIV_ADD64(odd, STATESAMPLER_PRIV_DOWN(r)));
}

#elif defined(STATESAMPLER_PRIV_NEON)

#include <arm_neon.h>
typedef uint16x8_t statesampler_priv_v16;
typedef uint32x4_t statesampler_priv_v32;
#define STATESAMPLER_PRIV_PARTS16 1
#define STATESAMPLER_PRIV_PARTS32 1
#define STATESAMPLER_PRIV_LANES16 8
#define STATESAMPLER_PRIV_LANES32 4
#define STATESAMPLER_PRIV_VECTORS 16
#define STATESAMPLER_PRIV_FEW 3
#define STATESAMPLER_PRIV_SET16(x) vdupq_n_u16((uint16_t)(x))
#define STATESAMPLER_PRIV_HIGH16(x) STATESAMPLER_PRIV_SET16((x) >> 16)
#define STATESAMPLER_PRIV_SET32(x) vdupq_n_u32((uint32_t)(x))
#define STATESAMPLER_PRIV_ADD16 vaddq_u16
#define STATESAMPLER_PRIV_ADD32 vaddq_u32
#define STATESAMPLER_PRIV_SUB16 vsubq_u16
#define STATESAMPLER_PRIV_SUB32 vsubq_u32
#define STATESAMPLER_PRIV_XOR16 veorq_u16
#define STATESAMPLER_PRIV_XOR32 veorq_u32
#define STATESAMPLER_PRIV_OR16 vorrq_u16
#define STATESAMPLER_PRIV_OR32 vorrq_u32
#define STATESAMPLER_PRIV_HALF16(x) STATESAMPLER_PRIV_SET16(x)
#define STATESAMPLER_PRIV_HALF32(x) STATESAMPLER_PRIV_SET32(x)
#define STATESAMPLER_PRIV_REDUCE16(x, size) vminq_u16(x, vaddq_u16(x, size))
#define STATESAMPLER_PRIV_REDUCE32(x, size) vminq_u32(x, vaddq_u32(x, size))
/* A comparison that holds is -1. */
#define STATESAMPLER_PRIV_CARRY16(x, l) \
    vsubq_u16(l, vcltq_u16(x, vdupq_n_u16(0x8000)))
#define STATESAMPLER_PRIV_CARRY32(x, l) \
    vsubq_u32(l, vcltq_u32(x, vdupq_n_u32(0x80000000u)))
#define STATESAMPLER_PRIV_ANY16(x) statesampler_priv_bulk_any16(x)
#define STATESAMPLER_PRIV_ANY32(x) statesampler_priv_bulk_any32(x)

STATESAMPLER_PRIV int statesampler_priv_bulk_any32(uint32x4_t x)
{
    const uint32x2_t any = vorr_u32(vget_low_u32(x), vget_high_u32(x));
    return ((vget_lane_u32(any, 0) | vget_lane_u32(any, 1)) >> 31) != 0;
}

STATESAMPLER_PRIV int statesampler_priv_bulk_any16(uint16x8_t x)
{
    const uint32x4_t wide = vreinterpretq_u32_u16(x);
    return statesampler_priv_bulk_any32(
        vorrq_u32(wide, vshlq_n_u32(wide, 16)));
}

/* The high halves of the products. */
STATESAMPLER_PRIV uint16x8_t statesampler_priv_bulk_high16(uint16x8_t a,
                                                           uint16x8_t b)
{
    return vcombine_u16(
        vshrn_n_u32(vmull_u16(vget_low_u16(a), vget_low_u16(b)), 16),
        vshrn_n_u32(vmull_u16(vget_high_u16(a), vget_high_u16(b)), 16));
}

STATESAMPLER_PRIV uint32x4_t statesampler_priv_bulk_high32(uint32x4_t a,
                                                           uint32x4_t b)
{
    return vcombine_u32(
        vshrn_n_u64(vmull_u32(vget_low_u32(a), vget_low_u32(b)), 32),
        vshrn_n_u64(vmull_u32(vget_high_u32(a), vget_high_u32(b)), 32));
}

STATESAMPLER_PRIV uint16x8_t statesampler_priv_bulk_hash16(uint16x8_t x,
                                                           uint16x8_t mul,
                                                           uint16x8_t span)
{
    x = vmulq_u16(x, statesampler_priv_bulk_high16(x, mul));
    return statesampler_priv_bulk_high16(x, span);
}

STATESAMPLER_PRIV uint32x4_t statesampler_priv_bulk_hash32(uint32x4_t x,
                                                           uint32x4_t mul,
                                                           uint32x4_t span)
{
    x = vmulq_u32(x, statesampler_priv_bulk_high32(x, mul));
    return statesampler_priv_bulk_high32(x, span);
}

STATESAMPLER_PRIV void statesampler_priv_bulk_ramp(uint64_t *out,
                                                   uint64_t first,
                                                   uint64_t stride)
{
    size_t i;
    for (i = 0; i < 8; i++) {
        out[i] = first + i * stride;
    }
}

STATESAMPLER_PRIV void statesampler_priv_bulk_split16(
    uint16x8_t *l, uint16x8_t *r, const uint64_t *positions,
    const statesampler_priv_divisor *by)
{
    const uint32x4_t times = vdupq_n_u32(by->reciprocal);
    const uint32x4_t a = vcombine_u32(vmovn_u64(vld1q_u64(positions)),
                                      vmovn_u64(vld1q_u64(positions + 2)));
    const uint32x4_t b = vcombine_u32(vmovn_u64(vld1q_u64(positions + 4)),
                                      vmovn_u64(vld1q_u64(positions + 6)));
    *l = vcombine_u16(vmovn_u32(statesampler_priv_bulk_high32(a, times)),
                      vmovn_u32(statesampler_priv_bulk_high32(b, times)));
    *r = vmlsq_u16(vcombine_u16(vmovn_u32(a), vmovn_u32(b)), *l,
                   vdupq_n_u16((uint16_t)by->right));
}

/* A shift to the right is one to the left by less than nothing. */
STATESAMPLER_PRIV void statesampler_priv_bulk_split32(
    uint32x4_t *l, uint32x4_t *r, const uint64_t *positions,
    const statesampler_priv_divisor *by)
{
    const uint32x2_t times = vdup_n_u32(by->reciprocal);
    const int64x2_t shift = vdupq_n_s64(-(int64_t)by->shift);
    const uint64x2_t a = vld1q_u64(positions), b = vld1q_u64(positions + 2);
    uint64x2_t la = vshrq_n_u64(vmull_u32(vmovn_u64(a), times), 32);
    uint64x2_t lb = vshrq_n_u64(vmull_u32(vmovn_u64(b), times), 32);
    la = vmlal_u32(la, vshrn_n_u64(a, 32), times);
    lb = vmlal_u32(lb, vshrn_n_u64(b, 32), times);
    *l = vcombine_u32(vmovn_u64(vshlq_u64(la, shift)),
                      vmovn_u64(vshlq_u64(lb, shift)));
    *r = vmlsq_u32(vcombine_u32(vmovn_u64(a), vmovn_u64(b)), *l,
                   vdupq_n_u32(by->right));
}

STATESAMPLER_PRIV void statesampler_priv_bulk_join16(uint64_t *out,
                                                     uint16x8_t l,
                                                     uint16x8_t r,
                                                     uint32_t right)
{
    const uint16x4_t rights = vdup_n_u16((uint16_t)right);
    const uint32x4_t a =
        vmlal_u16(vmovl_u16(vget_low_u16(r)), vget_low_u16(l), rights);
    const uint32x4_t b =
        vmlal_u16(vmovl_u16(vget_high_u16(r)), vget_high_u16(l), rights);
    vst1q_u64(out, vmovl_u32(vget_low_u32(a)));
    vst1q_u64(out + 2, vmovl_u32(vget_high_u32(a)));
    vst1q_u64(out + 4, vmovl_u32(vget_low_u32(b)));
    vst1q_u64(out + 6, vmovl_u32(vget_high_u32(b)));
}

STATESAMPLER_PRIV void statesampler_priv_bulk_join32(uint64_t *out,
                                                     uint32x4_t l,
                                                     uint32x4_t r,
                                                     uint32_t right)
{
    const uint32x2_t rights = vdup_n_u32(right);
    vst1q_u64(out,
              vmlal_u32(vmovl_u32(vget_low_u32(r)), vget_low_u32(l), rights));
    vst1q_u64(out + 2, vmlal_u32(vmovl_u32(vget_high_u32(r)), vget_high_u32(l),
                                 rights));
}

#elif defined(STATESAMPLER_PRIV_WASM)

#include <wasm_simd128.h>
typedef v128_t statesampler_priv_v16, statesampler_priv_v32;
#define STATESAMPLER_PRIV_PARTS16 1
#define STATESAMPLER_PRIV_PARTS32 1
#define STATESAMPLER_PRIV_LANES16 8
#define STATESAMPLER_PRIV_LANES32 4
#define STATESAMPLER_PRIV_VECTORS 16
#define STATESAMPLER_PRIV_FEW 3
#define STATESAMPLER_PRIV_SET16(x) wasm_i16x8_splat((int16_t)(x))
#define STATESAMPLER_PRIV_HIGH16(x) STATESAMPLER_PRIV_SET16((x) >> 16)
#define STATESAMPLER_PRIV_SET32(x) wasm_i32x4_splat((int32_t)(x))
#define STATESAMPLER_PRIV_ADD16 wasm_i16x8_add
#define STATESAMPLER_PRIV_ADD32 wasm_i32x4_add
#define STATESAMPLER_PRIV_SUB16 wasm_i16x8_sub
#define STATESAMPLER_PRIV_SUB32 wasm_i32x4_sub
#define STATESAMPLER_PRIV_XOR16 wasm_v128_xor
#define STATESAMPLER_PRIV_XOR32 wasm_v128_xor
#define STATESAMPLER_PRIV_OR16 wasm_v128_or
#define STATESAMPLER_PRIV_OR32 wasm_v128_or
#define STATESAMPLER_PRIV_HALF16(x) STATESAMPLER_PRIV_SET16(x)
#define STATESAMPLER_PRIV_HALF32(x) STATESAMPLER_PRIV_SET32(x)
#define STATESAMPLER_PRIV_REDUCE16(x, size) \
    wasm_u16x8_min(x, wasm_i16x8_add(x, size))
#define STATESAMPLER_PRIV_REDUCE32(x, size) \
    wasm_u32x4_min(x, wasm_i32x4_add(x, size))
/* A comparison that holds is -1. */
#define STATESAMPLER_PRIV_CARRY16(x, l) \
    wasm_i16x8_sub(l, wasm_i16x8_ge(x, wasm_i16x8_splat(0)))
#define STATESAMPLER_PRIV_CARRY32(x, l) \
    wasm_i32x4_sub(l, wasm_i32x4_ge(x, wasm_i32x4_splat(0)))
#define STATESAMPLER_PRIV_ANY16(x) (wasm_i16x8_bitmask(x) != 0)
#define STATESAMPLER_PRIV_ANY32(x) (wasm_i32x4_bitmask(x) != 0)

/* The high halves of the products. */
STATESAMPLER_PRIV v128_t statesampler_priv_bulk_high16(v128_t a, v128_t b)
{
    return wasm_i16x8_shuffle(wasm_u32x4_extmul_low_u16x8(a, b),
                              wasm_u32x4_extmul_high_u16x8(a, b), 1, 3, 5, 7,
                              9, 11, 13, 15);
}

STATESAMPLER_PRIV v128_t statesampler_priv_bulk_high32(v128_t a, v128_t b)
{
    return wasm_i32x4_shuffle(wasm_u64x2_extmul_low_u32x4(a, b),
                              wasm_u64x2_extmul_high_u32x4(a, b), 1, 3, 5, 7);
}

STATESAMPLER_PRIV v128_t statesampler_priv_bulk_hash16(v128_t x, v128_t mul,
                                                       v128_t span)
{
    x = wasm_i16x8_mul(x, statesampler_priv_bulk_high16(x, mul));
    return statesampler_priv_bulk_high16(x, span);
}

STATESAMPLER_PRIV v128_t statesampler_priv_bulk_hash32(v128_t x, v128_t mul,
                                                       v128_t span)
{
    x = wasm_i32x4_mul(x, statesampler_priv_bulk_high32(x, mul));
    return statesampler_priv_bulk_high32(x, span);
}

/* The low halves of 64-bit lanes. */
STATESAMPLER_PRIV v128_t statesampler_priv_bulk_low32(v128_t a, v128_t b)
{
    return wasm_i32x4_shuffle(a, b, 0, 2, 4, 6);
}

STATESAMPLER_PRIV void statesampler_priv_bulk_ramp(uint64_t *out,
                                                   uint64_t first,
                                                   uint64_t stride)
{
    size_t i;
    for (i = 0; i < 8; i++) {
        out[i] = first + i * stride;
    }
}

STATESAMPLER_PRIV void statesampler_priv_bulk_split16(
    v128_t *l, v128_t *r, const uint64_t *positions,
    const statesampler_priv_divisor *by)
{
    const v128_t times = wasm_i32x4_splat((int32_t)by->reciprocal);
    const v128_t a = statesampler_priv_bulk_low32(
        wasm_v128_load(positions), wasm_v128_load(positions + 2));
    const v128_t b = statesampler_priv_bulk_low32(
        wasm_v128_load(positions + 4), wasm_v128_load(positions + 6));
    *l = wasm_i16x8_shuffle(statesampler_priv_bulk_high32(a, times),
                            statesampler_priv_bulk_high32(b, times), 0, 2, 4,
                            6, 8, 10, 12, 14);
    *r =
        wasm_i16x8_sub(wasm_i16x8_shuffle(a, b, 0, 2, 4, 6, 8, 10, 12, 14),
                       wasm_i16x8_mul(*l, STATESAMPLER_PRIV_SET16(by->right)));
}

STATESAMPLER_PRIV void statesampler_priv_bulk_split32(
    v128_t *l, v128_t *r, const uint64_t *positions,
    const statesampler_priv_divisor *by)
{
    const v128_t times = wasm_i32x4_splat((int32_t)by->reciprocal);
    const v128_t a = wasm_v128_load(positions),
                 b = wasm_v128_load(positions + 2);
    const v128_t low = statesampler_priv_bulk_low32(a, b);
    const v128_t high = wasm_i32x4_shuffle(a, b, 1, 3, 5, 7);
    v128_t la = wasm_u64x2_shr(wasm_u64x2_extmul_low_u32x4(low, times), 32);
    v128_t lb = wasm_u64x2_shr(wasm_u64x2_extmul_high_u32x4(low, times), 32);
    la = wasm_i64x2_add(la, wasm_u64x2_extmul_low_u32x4(high, times));
    lb = wasm_i64x2_add(lb, wasm_u64x2_extmul_high_u32x4(high, times));
    *l = statesampler_priv_bulk_low32(wasm_u64x2_shr(la, by->shift),
                                      wasm_u64x2_shr(lb, by->shift));
    *r = wasm_i32x4_sub(
        low, wasm_i32x4_mul(*l, STATESAMPLER_PRIV_SET32(by->right)));
}

STATESAMPLER_PRIV void statesampler_priv_bulk_join16(uint64_t *out, v128_t l,
                                                     v128_t r, uint32_t right)
{
    const v128_t rights = STATESAMPLER_PRIV_SET16(right);
    const v128_t a = wasm_i32x4_add(wasm_u32x4_extmul_low_u16x8(l, rights),
                                    wasm_u32x4_extend_low_u16x8(r));
    const v128_t b = wasm_i32x4_add(wasm_u32x4_extmul_high_u16x8(l, rights),
                                    wasm_u32x4_extend_high_u16x8(r));
    wasm_v128_store(out, wasm_u64x2_extend_low_u32x4(a));
    wasm_v128_store(out + 2, wasm_u64x2_extend_high_u32x4(a));
    wasm_v128_store(out + 4, wasm_u64x2_extend_low_u32x4(b));
    wasm_v128_store(out + 6, wasm_u64x2_extend_high_u32x4(b));
}

STATESAMPLER_PRIV void statesampler_priv_bulk_join32(uint64_t *out, v128_t l,
                                                     v128_t r, uint32_t right)
{
    const v128_t rights = STATESAMPLER_PRIV_SET32(right);
    wasm_v128_store(out, wasm_i64x2_add(wasm_u64x2_extmul_low_u32x4(l, rights),
                                        wasm_u64x2_extend_low_u32x4(r)));
    wasm_v128_store(out + 2,
                    wasm_i64x2_add(wasm_u64x2_extmul_high_u32x4(l, rights),
                                   wasm_u64x2_extend_high_u32x4(r)));
}

#elif defined(STATESAMPLER_PRIV_PLAIN)

/* A number is a vector of one lane. Where a compiler can, it makes one vector
   of all parts, for which VECTORS * PARTS numbers are read and written in
   memory. */
typedef uint16_t statesampler_priv_v16;
typedef uint32_t statesampler_priv_v32;
#define STATESAMPLER_PRIV_LANES16 1
#define STATESAMPLER_PRIV_LANES32 1
#define STATESAMPLER_PRIV_PARTS16 8
#define STATESAMPLER_PRIV_PARTS32 4
#define STATESAMPLER_PRIV_VECTORS 8
#define STATESAMPLER_PRIV_FEW 4
#define STATESAMPLER_PRIV_SET16(x) ((statesampler_priv_v16)(x))
/* Ones are above the 16 bits before the cast: GCC makes no vectors of products
   of a number that it knows to have no more than 16 bits as it is. */
#define STATESAMPLER_PRIV_HIGH16(x) STATESAMPLER_PRIV_SET16(~(~(x) >> 16))
#define STATESAMPLER_PRIV_SET32(x) ((uint32_t)(x))
#define STATESAMPLER_PRIV_ADD16(a, b) ((statesampler_priv_v16)((a) + (b)))
#define STATESAMPLER_PRIV_ADD32(a, b) ((a) + (b))
#define STATESAMPLER_PRIV_SUB16(a, b) ((statesampler_priv_v16)((a) - (b)))
#define STATESAMPLER_PRIV_SUB32(a, b) ((a) - (b))
#define STATESAMPLER_PRIV_XOR16(a, b) ((statesampler_priv_v16)((a) ^ (b)))
#define STATESAMPLER_PRIV_XOR32(a, b) ((a) ^ (b))
#define STATESAMPLER_PRIV_OR16(a, b) ((statesampler_priv_v16)((a) | (b)))
#define STATESAMPLER_PRIV_OR32(a, b) ((a) | (b))
#define STATESAMPLER_PRIV_HALF16(x) STATESAMPLER_PRIV_SET16(x)
#define STATESAMPLER_PRIV_HALF32(x) STATESAMPLER_PRIV_SET32(x)
#define STATESAMPLER_PRIV_ANY16(x) ((x) >> 15 != 0)
#define STATESAMPLER_PRIV_ANY32(x) ((x) >> 31 != 0)
#define STATESAMPLER_PRIV_CARRY16(x, l) \
    ((statesampler_priv_v16)((l) + !STATESAMPLER_PRIV_ANY16(x)))
#define STATESAMPLER_PRIV_CARRY32(x, l) ((l) + !STATESAMPLER_PRIV_ANY32(x))
#define STATESAMPLER_PRIV_REDUCE16(x, size) \
    ((statesampler_priv_v16)((x) + ((size) & (0u - ((x) >> 15)))))
#define STATESAMPLER_PRIV_REDUCE32(x, size) \
    ((x) + ((size) & (0u - ((x) >> 31))))

STATESAMPLER_PRIV statesampler_priv_v16 statesampler_priv_bulk_hash16(
    statesampler_priv_v16 x, statesampler_priv_v16 mul,
    statesampler_priv_v16 span)
{
    statesampler_priv_v16 y =
        (statesampler_priv_v16)(((uint32_t)x * mul) >> 16);
    x = (statesampler_priv_v16)((uint32_t)x * y);
    return (statesampler_priv_v16)(((uint32_t)x * span) >> 16);
}

STATESAMPLER_PRIV uint32_t statesampler_priv_bulk_hash32(uint32_t x,
                                                         uint32_t mul,
                                                         uint32_t span)
{
    x *= (uint32_t)(((uint64_t)x * mul) >> 32);
    return (uint32_t)(((uint64_t)x * span) >> 32);
}

STATESAMPLER_PRIV void statesampler_priv_bulk_ramp(uint64_t *out,
                                                   uint64_t first,
                                                   uint64_t stride)
{
    size_t i;
    for (i = 0; i < 8; i++) {
        out[i] = first + i * stride;
    }
}

STATESAMPLER_PRIV void statesampler_priv_bulk_split16(
    statesampler_priv_v16 *l, statesampler_priv_v16 *r,
    const uint64_t *positions, const statesampler_priv_divisor *by)
{
    uint32_t x = (uint32_t)*positions;
    uint32_t quotient = (uint32_t)(((uint64_t)x * by->reciprocal) >> 32);
    *l = (statesampler_priv_v16)quotient;
    *r = (statesampler_priv_v16)(x - quotient * by->right);
}

STATESAMPLER_PRIV void statesampler_priv_bulk_split32(
    uint32_t *l, uint32_t *r, const uint64_t *positions,
    const statesampler_priv_divisor *by)
{
    uint64_t low = (*positions & 0xffffffffu) * by->reciprocal;
    uint64_t high = (*positions >> 32) * by->reciprocal;
    *l = (uint32_t)((high + (low >> 32)) >> by->shift);
    *r = (uint32_t)*positions - *l * by->right;
}

STATESAMPLER_PRIV void statesampler_priv_bulk_join16(uint64_t *out,
                                                     statesampler_priv_v16 l,
                                                     statesampler_priv_v16 r,
                                                     uint32_t right)
{
    *out = l * right + r;
}

STATESAMPLER_PRIV void statesampler_priv_bulk_join32(uint64_t *out, uint32_t l,
                                                     uint32_t r,
                                                     uint32_t right)
{
    *out = (uint64_t)l * right + r;
}

#endif

#ifdef STATESAMPLER_PRIV_VECTORS

/* What is FLAT knows `wide`, whether n > 2^30, when it is compiled: parts of
   two functions of their own, else it would be asked again and again. */
#if defined(_MSC_VER)
#define STATESAMPLER_PRIV_FLAT static __forceinline
#elif defined(__GNUC__) && defined(__OPTIMIZE__)
#define STATESAMPLER_PRIV_FLAT static inline __attribute__((always_inline))
#else
#define STATESAMPLER_PRIV_FLAT STATESAMPLER_PRIV
#endif

/* The lanes of a vector for n <= 2^30; above, there are half as many. */
#define STATESAMPLER_PRIV_ROOM \
    (STATESAMPLER_PRIV_PARTS16 * STATESAMPLER_PRIV_LANES16)

typedef union statesampler_priv_halves {
    statesampler_priv_v16 narrow[STATESAMPLER_PRIV_PARTS16];
    statesampler_priv_v32 wide[STATESAMPLER_PRIV_PARTS32];
} statesampler_priv_halves;

/* A vector of pairs. */
typedef struct statesampler_priv_pairs {
    statesampler_priv_halves l, r;
} statesampler_priv_pairs;

STATESAMPLER_PRIV uint32_t statesampler_priv_bulk_lanes(int wide)
{
    return (uint32_t)STATESAMPLER_PRIV_ROOM >> wide;
}

/* The vectors that count pairs fill. */
STATESAMPLER_PRIV size_t statesampler_priv_bulk_full(size_t count, int wide)
{
    return (count << wide) / STATESAMPLER_PRIV_ROOM;
}

/* How many of count indices come in one turn. */
STATESAMPLER_PRIV uint32_t statesampler_priv_bulk_turn(size_t count, int wide)
{
    return (uint32_t)statesampler_priv_min(
        count, STATESAMPLER_PRIV_VECTORS * statesampler_priv_bulk_lanes(wide));
}

STATESAMPLER_PRIV statesampler_priv_divisor
statesampler_priv_bulk_divisor(const statesampler_perm *perm)
{
    statesampler_priv_divisor by;
    uint32_t bit;
    by.right = perm->right;
    by.shift = 0;
    if (!perm->wide) {
        by.reciprocal = 0xffffffffu / perm->right;
        return by;
    }
    for (bit = 16; bit != 0; bit /= 2) {
        by.shift += (perm->right - 1) >> (by.shift + bit) ? bit : 0;
    }
    by.reciprocal =
        (uint32_t)((((uint64_t)1 << (32 + by.shift)) - 1) / perm->right);
    return by;
}

/* Vectors of pairs, each a step further on, from *next, which moves along. */
STATESAMPLER_PRIV_FLAT void statesampler_priv_bulk_advance16(
    statesampler_priv_pairs *pairs, statesampler_priv_pairs *next,
    uint32_t step_l, uint32_t step_r, uint32_t right, uint32_t vectors)
{
    const statesampler_priv_v16 size = STATESAMPLER_PRIV_SET16(right);
    const statesampler_priv_v16 down = STATESAMPLER_PRIV_SET16(step_l);
    const statesampler_priv_v16 on = STATESAMPLER_PRIV_SET16(step_r - right);
    uint32_t j;
    size_t w;
    for (j = 0; j < vectors; j++) {
        for (w = 0; w < STATESAMPLER_PRIV_PARTS16; w++) {
            statesampler_priv_v16 l = next->l.narrow[w];
            statesampler_priv_v16 r = next->r.narrow[w], past;
            pairs[j].l.narrow[w] = l;
            pairs[j].r.narrow[w] = r;
            past = STATESAMPLER_PRIV_ADD16(r, on);
            l = STATESAMPLER_PRIV_ADD16(l, down);
            next->l.narrow[w] = STATESAMPLER_PRIV_CARRY16(past, l);
            next->r.narrow[w] = STATESAMPLER_PRIV_REDUCE16(past, size);
        }
    }
}

STATESAMPLER_PRIV_FLAT void statesampler_priv_bulk_advance32(
    statesampler_priv_pairs *pairs, statesampler_priv_pairs *next,
    uint32_t step_l, uint32_t step_r, uint32_t right, uint32_t vectors)
{
    const statesampler_priv_v32 size = STATESAMPLER_PRIV_SET32(right);
    const statesampler_priv_v32 down = STATESAMPLER_PRIV_SET32(step_l);
    const statesampler_priv_v32 on = STATESAMPLER_PRIV_SET32(step_r - right);
    uint32_t j;
    size_t w;
    for (j = 0; j < vectors; j++) {
        for (w = 0; w < STATESAMPLER_PRIV_PARTS32; w++) {
            statesampler_priv_v32 l = next->l.wide[w];
            statesampler_priv_v32 r = next->r.wide[w], past;
            pairs[j].l.wide[w] = l;
            pairs[j].r.wide[w] = r;
            past = STATESAMPLER_PRIV_ADD32(r, on);
            l = STATESAMPLER_PRIV_ADD32(l, down);
            next->l.wide[w] = STATESAMPLER_PRIV_CARRY32(past, l);
            next->r.wide[w] = STATESAMPLER_PRIV_REDUCE32(past, size);
        }
    }
}

/* Vectors of pairs from positions. One row down where split said one too
   few. */
STATESAMPLER_PRIV_FLAT void statesampler_priv_bulk_load16(
    statesampler_priv_pairs *pairs, const uint64_t *positions,
    const statesampler_priv_divisor *by, uint32_t vectors)
{
    const statesampler_priv_v16 size = STATESAMPLER_PRIV_SET16(by->right);
    const statesampler_priv_v16 on = STATESAMPLER_PRIV_SET16(0 - by->right);
    uint32_t j;
    size_t w;
    for (j = 0; j < vectors; j++) {
        for (w = 0; w < STATESAMPLER_PRIV_PARTS16; w++) {
            statesampler_priv_v16 l, r;
            statesampler_priv_bulk_split16(&l, &r, positions, by);
            r = STATESAMPLER_PRIV_ADD16(r, on);
            pairs[j].l.narrow[w] = STATESAMPLER_PRIV_CARRY16(r, l);
            pairs[j].r.narrow[w] = STATESAMPLER_PRIV_REDUCE16(r, size);
            positions += STATESAMPLER_PRIV_LANES16;
        }
    }
}

STATESAMPLER_PRIV_FLAT void statesampler_priv_bulk_load32(
    statesampler_priv_pairs *pairs, const uint64_t *positions,
    const statesampler_priv_divisor *by, uint32_t vectors)
{
    const statesampler_priv_v32 size = STATESAMPLER_PRIV_SET32(by->right);
    const statesampler_priv_v32 on = STATESAMPLER_PRIV_SET32(0 - by->right);
    uint32_t j;
    size_t w;
    for (j = 0; j < vectors; j++) {
        for (w = 0; w < STATESAMPLER_PRIV_PARTS32; w++) {
            statesampler_priv_v32 l, r;
            statesampler_priv_bulk_split32(&l, &r, positions, by);
            r = STATESAMPLER_PRIV_ADD32(r, on);
            pairs[j].l.wide[w] = STATESAMPLER_PRIV_CARRY32(r, l);
            pairs[j].r.wide[w] = STATESAMPLER_PRIV_REDUCE32(r, size);
            positions += STATESAMPLER_PRIV_LANES32;
        }
    }
}

STATESAMPLER_PRIV_FLAT void statesampler_priv_bulk_load(
    statesampler_priv_pairs *pairs, const uint64_t *positions,
    const statesampler_priv_divisor *by, uint32_t vectors, const int wide)
{
    if (wide) {
        statesampler_priv_bulk_load32(pairs, positions, by, vectors);
    } else {
        statesampler_priv_bulk_load16(pairs, positions, by, vectors);
    }
}

/* half - hash(other xor add) modulo size. */
STATESAMPLER_PRIV_FLAT void statesampler_priv_bulk_round16(
    statesampler_priv_v16 *half, const statesampler_priv_v16 *other,
    statesampler_priv_v16 add, statesampler_priv_v16 mul,
    statesampler_priv_v16 size, statesampler_priv_v16 span)
{
    size_t w;
    for (w = 0; w < STATESAMPLER_PRIV_PARTS16; w++) {
        statesampler_priv_v16 x = statesampler_priv_bulk_hash16(
            STATESAMPLER_PRIV_XOR16(other[w], add), mul, span);
        x = STATESAMPLER_PRIV_SUB16(half[w], x);
        half[w] = STATESAMPLER_PRIV_REDUCE16(x, size);
    }
}

STATESAMPLER_PRIV_FLAT void statesampler_priv_bulk_round32(
    statesampler_priv_v32 *half, const statesampler_priv_v32 *other,
    statesampler_priv_v32 add, statesampler_priv_v32 mul,
    statesampler_priv_v32 size, statesampler_priv_v32 span)
{
    size_t w;
    for (w = 0; w < STATESAMPLER_PRIV_PARTS32; w++) {
        statesampler_priv_v32 x = statesampler_priv_bulk_hash32(
            STATESAMPLER_PRIV_XOR32(other[w], add), mul, span);
        x = STATESAMPLER_PRIV_SUB32(half[w], x);
        half[w] = STATESAMPLER_PRIV_REDUCE32(x, size);
    }
}

/* All rounds. Keys are read outside the loops that write vectors: these may be
   anywhere, for all that a compiler knows. */
STATESAMPLER_PRIV_FLAT void statesampler_priv_bulk_network16(
    statesampler_priv_pairs *pairs, const statesampler_perm *perm,
    uint32_t vectors)
{
    const statesampler_priv_v16 left = STATESAMPLER_PRIV_SET16(perm->left);
    const statesampler_priv_v16 right = STATESAMPLER_PRIV_SET16(perm->right);
    const statesampler_priv_v16 less_l =
        STATESAMPLER_PRIV_SET16(perm->left >> 10);
    const statesampler_priv_v16 less_r =
        STATESAMPLER_PRIV_SET16(perm->right >> 10);
    const uint32_t *key = perm->keys, *end = key + perm->rounds;
    statesampler_priv_v16 span_l = left, span_r = right;
    uint32_t j;
    for (; key != end; key += 2) {
        const statesampler_priv_v16 add_l = STATESAMPLER_PRIV_HALF16(key[0]);
        const statesampler_priv_v16 mul_l = STATESAMPLER_PRIV_HIGH16(key[0]);
        const statesampler_priv_v16 add_r = STATESAMPLER_PRIV_HALF16(key[1]);
        const statesampler_priv_v16 mul_r = STATESAMPLER_PRIV_HIGH16(key[1]);
        for (j = 0; j < vectors; j++) {
            statesampler_priv_bulk_round16(pairs[j].l.narrow,
                                           pairs[j].r.narrow, add_l, mul_l,
                                           left, span_l);
        }
        for (j = 0; j < vectors; j++) {
            statesampler_priv_bulk_round16(pairs[j].r.narrow,
                                           pairs[j].l.narrow, add_r, mul_r,
                                           right, span_r);
        }
        span_l = STATESAMPLER_PRIV_SUB16(span_l, less_l);
        span_r = STATESAMPLER_PRIV_SUB16(span_r, less_r);
    }
}

STATESAMPLER_PRIV_FLAT void statesampler_priv_bulk_network32(
    statesampler_priv_pairs *pairs, const statesampler_perm *perm,
    uint32_t vectors)
{
    const statesampler_priv_v32 left = STATESAMPLER_PRIV_SET32(perm->left);
    const statesampler_priv_v32 right = STATESAMPLER_PRIV_SET32(perm->right);
    const statesampler_priv_v32 less_l =
        STATESAMPLER_PRIV_SET32(perm->left >> 10);
    const statesampler_priv_v32 less_r =
        STATESAMPLER_PRIV_SET32(perm->right >> 10);
    const uint32_t *key = perm->keys, *end = key + 2 * perm->rounds;
    statesampler_priv_v32 span_l = left, span_r = right;
    uint32_t j;
    for (; key != end; key += 4) {
        const statesampler_priv_v32 add_l = STATESAMPLER_PRIV_HALF32(key[0]);
        const statesampler_priv_v32 mul_l = STATESAMPLER_PRIV_SET32(key[1]);
        const statesampler_priv_v32 add_r = STATESAMPLER_PRIV_HALF32(key[2]);
        const statesampler_priv_v32 mul_r = STATESAMPLER_PRIV_SET32(key[3]);
        for (j = 0; j < vectors; j++) {
            statesampler_priv_bulk_round32(pairs[j].l.wide, pairs[j].r.wide,
                                           add_l, mul_l, left, span_l);
        }
        for (j = 0; j < vectors; j++) {
            statesampler_priv_bulk_round32(pairs[j].r.wide, pairs[j].l.wide,
                                           add_r, mul_r, right, span_r);
        }
        span_l = STATESAMPLER_PRIV_SUB32(span_l, less_l);
        span_r = STATESAMPLER_PRIV_SUB32(span_r, less_r);
    }
}

/* The number of vectors as a constant lets one or two stay in registers. */
STATESAMPLER_PRIV_FLAT void statesampler_priv_bulk_network(
    statesampler_priv_pairs *pairs, const statesampler_perm *perm,
    uint32_t vectors, const int wide)
{
    if (wide) {
        statesampler_priv_bulk_network32(pairs, perm, vectors);
    } else if (vectors == 1) {
        statesampler_priv_bulk_network16(pairs, perm, 1);
    } else if (vectors == 2) {
        statesampler_priv_bulk_network16(pairs, perm, 2);
    } else {
        statesampler_priv_bulk_network16(pairs, perm, vectors);
    }
}

/* Writes the indices of vectors of pairs. Not 0 if one of them is behind the
   first `rows` rows of the grid, which are whole. */
STATESAMPLER_PRIV_FLAT int statesampler_priv_bulk_store16(
    uint64_t *out, const statesampler_priv_pairs *pairs, uint32_t right,
    uint32_t rows, uint32_t vectors)
{
    const statesampler_priv_v16 below = STATESAMPLER_PRIV_HALF16(rows - 1);
    statesampler_priv_v16 beyond = STATESAMPLER_PRIV_SET16(0);
    uint32_t j;
    size_t w;
    for (j = 0; j < vectors; j++) {
        for (w = 0; w < STATESAMPLER_PRIV_PARTS16; w++) {
            statesampler_priv_v16 l = pairs[j].l.narrow[w];
            statesampler_priv_bulk_join16(out, l, pairs[j].r.narrow[w], right);
            beyond = STATESAMPLER_PRIV_OR16(beyond,
                                            STATESAMPLER_PRIV_SUB16(below, l));
            out += STATESAMPLER_PRIV_LANES16;
        }
    }
    return STATESAMPLER_PRIV_ANY16(beyond);
}

STATESAMPLER_PRIV_FLAT int statesampler_priv_bulk_store32(
    uint64_t *out, const statesampler_priv_pairs *pairs, uint32_t right,
    uint32_t rows, uint32_t vectors)
{
    const statesampler_priv_v32 below = STATESAMPLER_PRIV_HALF32(rows - 1);
    statesampler_priv_v32 beyond = STATESAMPLER_PRIV_SET32(0);
    uint32_t j;
    size_t w;
    for (j = 0; j < vectors; j++) {
        for (w = 0; w < STATESAMPLER_PRIV_PARTS32; w++) {
            statesampler_priv_v32 l = pairs[j].l.wide[w];
            statesampler_priv_bulk_join32(out, l, pairs[j].r.wide[w], right);
            beyond = STATESAMPLER_PRIV_OR32(beyond,
                                            STATESAMPLER_PRIV_SUB32(below, l));
            out += STATESAMPLER_PRIV_LANES32;
        }
    }
    return STATESAMPLER_PRIV_ANY32(beyond);
}

STATESAMPLER_PRIV_FLAT int statesampler_priv_bulk_store(
    uint64_t *out, const statesampler_priv_pairs *pairs,
    const statesampler_perm *perm, uint32_t rows, uint32_t vectors,
    const int wide)
{
    return wide ? statesampler_priv_bulk_store32(out, pairs, perm->right, rows,
                                                 vectors)
                : statesampler_priv_bulk_store16(out, pairs, perm->right, rows,
                                                 vectors);
}

/* Goes on with the walks that are not at their end, a vector of them at a
   time. Each comes nearer to its end in every turn. */
STATESAMPLER_PRIV void statesampler_priv_bulk_walk(
    uint64_t *out, const statesampler_perm *perm,
    const statesampler_priv_divisor *by, uint32_t count)
{
    const int wide = (int)perm->wide;
    const uint32_t lanes = statesampler_priv_bulk_lanes(wide);
    statesampler_priv_pairs pairs;
    uint64_t index[STATESAMPLER_PRIV_ROOM];
    uint16_t where[STATESAMPLER_PRIV_ROOM];
    uint32_t i = 0, k, waiting = 0, kept;
    for (;;) {
        for (; i < count && waiting < lanes; i++) {
            where[waiting] = (uint16_t)i;
            waiting += out[i] >= perm->n;
        }
        if (waiting == 0) {
            return;
        }
        for (k = 0; k < lanes; k++) { /* 0 for the others may become memset */
            index[k] = out[where[k < waiting ? k : 0]];
        }
        statesampler_priv_bulk_load(&pairs, index, by, 1, wide);
        statesampler_priv_bulk_network(&pairs, perm, 1, wide);
        (void)statesampler_priv_bulk_store(index, &pairs, perm, 0, 1, wide);
        for (k = 0, kept = 0; k < waiting; k++) {
            out[where[k]] = index[k];
            where[kept] = where[k];
            kept += index[k] >= perm->n;
        }
        waiting = kept;
    }
}

/* Writes the indices of count pairs, at most VECTORS of them. The last vector
   may have more: of neighbours, from position on, those behind n. These are
   where its walks lead: for few samples, all walks. */
STATESAMPLER_PRIV_FLAT void statesampler_priv_bulk_run(
    uint64_t *out, statesampler_priv_pairs *pairs,
    const statesampler_perm *perm, const statesampler_priv_divisor *by,
    uint32_t count, uint64_t position, const int wide)
{
    const uint32_t lanes = statesampler_priv_bulk_lanes(wide);
    const uint32_t full = (uint32_t)statesampler_priv_bulk_full(count, wide);
    const uint32_t before = full * lanes, vectors = full + (before != count);
    uint32_t rows = perm->left, i;
    int beyond;
    /* Rows of the grid below n. As left * right - n < left for n >= 9, it is
       one or two less than all, and three less at most. */
    while ((uint64_t)rows * perm->right > perm->n) {
        rows--;
    }
    statesampler_priv_bulk_network(pairs, perm, vectors, wide);
    beyond = statesampler_priv_bulk_store(out, pairs, perm, rows, full, wide);
    if (before != count) {
        uint64_t rest[STATESAMPLER_PRIV_ROOM];
        beyond |= statesampler_priv_bulk_store(rest, pairs + full, perm, rows,
                                               1, wide);
        position += before;
        for (i = before; i < count; i++) {
            uint64_t index = rest[i - before];
            while (index >= perm->n && index - position < lanes) {
                index = rest[index - position];
            }
            out[i] = index;
        }
    }
    if (beyond) {
        statesampler_priv_bulk_walk(out, perm, by, count);
    }
}

/* The position of those that are no neighbours: no index is near it. */
#define STATESAMPLER_PRIV_APART ((uint64_t)1 << 63)

STATESAMPLER_PRIV_FLAT void statesampler_priv_bulk_map(
    uint64_t *values, const statesampler_perm *perm, size_t count,
    const int wide)
{
    const uint32_t lanes = statesampler_priv_bulk_lanes(wide);
    const statesampler_priv_divisor by = statesampler_priv_bulk_divisor(perm);
    statesampler_priv_pairs pairs[STATESAMPLER_PRIV_VECTORS];
    while (count != 0) { /* it falls by one or more in every turn */
        const uint32_t done = statesampler_priv_bulk_turn(count, wide);
        const uint32_t full =
            (uint32_t)statesampler_priv_bulk_full(done, wide);
        const uint32_t before = full * lanes;
        statesampler_priv_bulk_load(pairs, values, &by, full, wide);
        if (before != done) {
            uint64_t rest[STATESAMPLER_PRIV_ROOM];
            uint32_t i;
            for (i = before; i < before + lanes; i++) {
                rest[i - before] = values[i < done ? i : before];
            }
            statesampler_priv_bulk_load(pairs + full, rest, &by, 1, wide);
        }
        statesampler_priv_bulk_run(values, pairs, perm, &by, done,
                                   STATESAMPLER_PRIV_APART, wide);
        values += done;
        count -= done;
    }
}

/* Lanes behind the last position hold anything, and are not written. */
STATESAMPLER_PRIV_FLAT void statesampler_priv_bulk_fill(
    uint64_t *out, const statesampler_perm *perm, uint64_t first,
    uint64_t stride, size_t count, const int wide)
{
    const uint32_t lanes = statesampler_priv_bulk_lanes(wide);
    const statesampler_priv_divisor by = statesampler_priv_bulk_divisor(perm);
    statesampler_priv_pairs pairs[STATESAMPLER_PRIV_VECTORS], next;
    uint64_t start[STATESAMPLER_PRIV_ROOM];
    uint32_t step_l = 0, step_r = 0;
    if (count > lanes) { /* otherwise it is not used, and may overflow */
        step_l = statesampler_priv_perm_quotient(perm, lanes * stride);
        step_r = (uint32_t)(lanes * stride) - step_l * perm->right;
    }
    statesampler_priv_bulk_ramp(start, first, stride);
    statesampler_priv_bulk_load(&next, start, &by, 1, wide);
    while (count != 0) { /* it falls by one or more in every turn */
        const uint32_t done = statesampler_priv_bulk_turn(count, wide);
        const uint32_t vectors =
            (uint32_t)statesampler_priv_bulk_full(done + lanes - 1, wide);
        if (wide) {
            statesampler_priv_bulk_advance32(pairs, &next, step_l, step_r,
                                             perm->right, vectors);
        } else {
            statesampler_priv_bulk_advance16(pairs, &next, step_l, step_r,
                                             perm->right, vectors);
        }
        statesampler_priv_bulk_run(
            out, pairs, perm, &by, done,
            stride == 1 ? first : STATESAMPLER_PRIV_APART, wide);
        first += done * stride;
        out += done;
        count -= done;
    }
}

#endif /* STATESAMPLER_PRIV_VECTORS */

/* A step on from (l, r). */
STATESAMPLER_PRIV void statesampler_priv_perm_move(uint32_t *l, uint32_t *r,
                                                   uint32_t step_l,
                                                   uint32_t step_r,
                                                   uint32_t right)
{
    *l += step_l;
    *r += step_r;
    if (*r >= right) {
        *r -= right;
        *l += 1;
    }
}

/* perm_fill, one by one. Carries (l, r) along instead of dividing every
   position. Where a stride is n or more there is one index only, and the sums
   are not used. */
STATESAMPLER_PRIV void statesampler_priv_perm_fill_each(
    uint64_t *out, const statesampler_perm *perm, uint64_t first,
    uint64_t stride, size_t count)
{
    uint32_t l = statesampler_priv_perm_quotient(perm, first);
    uint32_t r = (uint32_t)(first - (uint64_t)l * perm->right);
    uint32_t step_l = stride < perm->right
                          ? 0
                          : statesampler_priv_perm_quotient(perm, stride);
    uint32_t step_r = (uint32_t)(stride - (uint64_t)step_l * perm->right);
#ifdef STATESAMPLER_PRIV_PAIRS
    /* A GPU reads each key once for all of them. */
    for (; count >= STATESAMPLER_PRIV_PAIRS;
         count -= STATESAMPLER_PRIV_PAIRS) {
        uint32_t x[STATESAMPLER_PRIV_PAIRS], y[STATESAMPLER_PRIV_PAIRS], i;
        for (i = 0; i < STATESAMPLER_PRIV_PAIRS; i++) {
            x[i] = l;
            y[i] = r;
            statesampler_priv_perm_move(&l, &r, step_l, step_r, perm->right);
        }
        statesampler_priv_perm_network(x, y, perm, STATESAMPLER_PRIV_PAIRS);
        for (i = 0; i < STATESAMPLER_PRIV_PAIRS; i++) {
            uint64_t index = (uint64_t)x[i] * perm->right + y[i];
            *out++ = index < perm->n
                         ? index
                         : statesampler_priv_perm_walk(perm, x[i], y[i]);
        }
    }
#endif
    for (; count != 0; count--) {
        *out++ = statesampler_priv_perm_walk(perm, l, r);
        statesampler_priv_perm_move(&l, &r, step_l, step_r, perm->right);
    }
}

STATESAMPLER_DEF void statesampler_perm_fill(const statesampler_perm *perm,
                                             uint64_t first, uint64_t stride,
                                             uint64_t *out, size_t count)
{
    STATESAMPLER_ASSERT(perm && (out || count == 0));
    if (count == 0) {
        return;
    }
    STATESAMPLER_ASSERT(first < perm->n);
    STATESAMPLER_ASSERT(stride == 0 ||
                        count - 1 <= (perm->n - 1 - first) / stride);
#ifdef STATESAMPLER_PRIV_VECTORS
    if (count > STATESAMPLER_PRIV_FEW) {
        if (perm->wide) {
            statesampler_priv_bulk_fill(out, perm, first, stride, count, 1);
        } else {
            statesampler_priv_bulk_fill(out, perm, first, stride, count, 0);
        }
        return;
    }
#endif
    statesampler_priv_perm_fill_each(out, perm, first, stride, count);
}

/* values[i] = perm_at(perm, values[i]). */
STATESAMPLER_PRIV void statesampler_priv_perm_map(
    uint64_t *values, const statesampler_perm *perm, size_t count)
{
#ifdef STATESAMPLER_PRIV_VECTORS
    if (count > STATESAMPLER_PRIV_FEW) {
        if (perm->wide) {
            statesampler_priv_bulk_map(values, perm, count, 1);
        } else {
            statesampler_priv_bulk_map(values, perm, count, 0);
        }
        return;
    }
#endif
    for (; count != 0; count--, values++) {
        *values = statesampler_perm_at(perm, *values);
    }
}

/* --- order -----------------------------------------------------------------
   A place is a position inside the samples that are ordered together: all of
   them, or one block. */

STATESAMPLER_PRIV void statesampler_priv_order_clear(
    statesampler_priv_order *order)
{
    order->set = 0;
    order->inside.n = 0; /* no window is empty, so this fits none */
    order->inside.key = 0;
    /* Never used, but gcc, with all of it inlined at -O3, warns of them. */
    order->inside.left = order->inside.right = order->inside.rounds = 0;
}

/* Makes order the one of this epoch and block. */
STATESAMPLER_PRIV void statesampler_priv_order_set(
    const statesampler *s, statesampler_priv_order *order, uint64_t epoch,
    uint32_t block)
{
    uint64_t key =
        statesampler_priv_epoch_key(s->seed, epoch, s->stream);
    /* The first `extra` blocks have one sample more. */
    uint64_t quota = s->num_samples / s->blocks, size;
    uint32_t extra = (uint32_t)(s->num_samples % s->blocks);
    if (s->partition == STATESAMPLER_PARTITION_BLOCKED) {
        key = statesampler_priv_derive(key, STATESAMPLER_PRIV_BLOCK + block);
    }
    if (s->tail == STATESAMPLER_TAIL_DROP) {
        extra = 0;
    }
    size = quota + (block < extra);
    order->set = 1;
    order->epoch = epoch;
    order->block = block;
    order->key = key;
    order->size = size;
    order->start = block * quota + (block < extra ? block : extra);
    if (s->order == STATESAMPLER_ORDER_SHUFFLE) {
        statesampler_priv_perm_set(&order->perm, size, key);
    } else if (s->order == STATESAMPLER_ORDER_WINDOW) {
        statesampler_priv_perm_set(&order->perm, size / s->chunk_size, key);
    }
}

/* The order of this epoch and block: the one at hand if it is that, otherwise
   one set up in spare. next passes the sampler's own as both. */
STATESAMPLER_PRIV const statesampler_priv_order *statesampler_priv_order_for(
    const statesampler *s, statesampler_priv_order *spare, uint64_t epoch,
    uint32_t block)
{
    const statesampler_priv_order *have = &s->ready;
    if (have->set && have->epoch == epoch && have->block == block) {
        return have;
    }
    if (!spare->set || spare->epoch != epoch || spare->block != block) {
        statesampler_priv_order_set(s, spare, epoch, block);
    }
    return spare;
}

/* The permutation inside one window, from the order or set up in spare. */
STATESAMPLER_PRIV const statesampler_perm *statesampler_priv_window_for(
    const statesampler *s, const statesampler_priv_order *order,
    statesampler_priv_order *spare, uint64_t window)
{
    uint64_t span = s->chunk_size * s->window;
    uint64_t size =
        statesampler_priv_min(span, order->size - window * span);
    uint64_t key = statesampler_priv_derive(
        order->key, STATESAMPLER_PRIV_WINDOW + window);
    if (order->inside.n == size && order->inside.key == key) {
        return &order->inside;
    }
    if (spare->inside.n != size || spare->inside.key != key) {
        statesampler_priv_perm_set(&spare->inside, size, key);
    }
    return &spare->inside;
}

/* A uniform value below n. The loop ends: the sums run through all 2^64
   values before one repeats, mix is a bijection, and one of its values is 0.
   It runs twice on average at most, as mask < 2 * n. */
STATESAMPLER_PRIV uint64_t statesampler_priv_draw(uint64_t n, uint64_t state)
{
    uint64_t mask = n - 1, x;
    int shift;
    for (shift = 1; shift < 64; shift *= 2) {
        mask |= mask >> shift;
    }
    do {
        state += STATESAMPLER_PRIV_GOLDEN;
        x = statesampler_priv_scramble(state) & mask;
    } while (x >= n);
    return x;
}

/* The samples at positions first, first + stride, ..., count of them, all
   below num_samples and of one block. */
STATESAMPLER_PRIV void statesampler_priv_fill(
    const statesampler *s, statesampler_priv_order *spare, uint64_t epoch,
    uint64_t first, uint64_t stride, uint64_t *out, size_t count)
{
    const statesampler_priv_order *order;
    uint64_t start, chunk = s->chunk_size;
    uint32_t block = 0;
    size_t i;
    if (s->blocks != 1) {
        block = (uint32_t)(first % s->blocks);
        first /= s->blocks;
        stride /= s->blocks;
    }
    order = statesampler_priv_order_for(s, spare, epoch, block);
    start = order->start;
    if (s->order == STATESAMPLER_ORDER_SHUFFLE) {
        statesampler_perm_fill(&order->perm, first, stride, out, count);
        for (i = 0; start != 0 && i < count; i++) {
            out[i] += start;
        }
    } else if (s->order == STATESAMPLER_ORDER_SEQUENTIAL) {
        for (i = 0; i < count; i++) {
            out[i] = start + first + i * stride;
        }
    } else if (s->order == STATESAMPLER_ORDER_REPLACEMENT) {
        for (i = 0; i < count; i++) {
            uint64_t place = first + i * stride;
            out[i] = start + statesampler_priv_draw(
                                 order->size,
                                 statesampler_priv_derive(
                                     order->key,
                                     STATESAMPLER_PRIV_DRAW + place));
        }
    } else {
        /* Each turn fills at least one index: first is inside its window. */
        while (count != 0) {
            uint64_t window = first / (chunk * s->window);
            uint64_t inside = first - window * (chunk * s->window);
            const statesampler_perm *perm =
                statesampler_priv_window_for(s, order, spare, window);
            size_t run = count;
            if (stride != 0) {
                run = (size_t)statesampler_priv_min(
                    count, (perm->n - 1 - inside) / stride + 1);
            }
            statesampler_perm_fill(perm, inside, stride, out, run);
            for (i = 0; i < run; i++) {
                uint64_t slot = out[i] / chunk;
                uint64_t rest = out[i] - slot * chunk;
                slot += window * s->window;
                /* The short chunk comes after the full ones. */
                if (slot < order->perm.n) {
                    slot = statesampler_perm_at(&order->perm, slot);
                }
                out[i] = start + slot * chunk + rest;
            }
            out += run;
            count -= run;
            first += run * stride;
        }
    }
}

/* The place of a sample, counted from the order's start; not for
   REPLACEMENT. */
STATESAMPLER_PRIV uint64_t statesampler_priv_order_inverse(
    const statesampler *s, const statesampler_priv_order *order,
    statesampler_priv_order *spare, uint64_t sample)
{
    uint64_t slot, window;
    if (s->order == STATESAMPLER_ORDER_SEQUENTIAL) {
        return sample;
    }
    if (s->order == STATESAMPLER_ORDER_SHUFFLE) {
        return statesampler_perm_inverse(&order->perm, sample);
    }
    slot = sample / s->chunk_size;
    sample %= s->chunk_size;
    if (slot < order->perm.n) {
        slot = statesampler_perm_inverse(&order->perm, slot);
    }
    window = slot / s->window;
    sample += (slot - window * s->window) * s->chunk_size;
    return window * (s->chunk_size * s->window) +
           statesampler_perm_inverse(
               statesampler_priv_window_for(s, order, spare, window), sample);
}

/* --- sampler ---------------------------------------------------------------
   Bounds that keep every sum below 2^64: num_samples <= 2^62, the global
   batch < 2^62, world_size < 2^32. A position is below 2^62 + 2^33, as
   padding adds less than blocks + world_size to num_samples. */

#define STATESAMPLER_PRIV_MAGIC 0x504d5353u /* "SSMP" */
#define STATESAMPLER_PRIV_FORMAT 1
#define STATESAMPLER_PRIV_WORDS 13

/* The state's first word: the kind of state, format version, algorithm. */
#define STATESAMPLER_PRIV_FIRST(magic)                 \
    ((uint64_t)STATESAMPLER_ALGORITHM << 48 |          \
     (uint64_t)STATESAMPLER_PRIV_FORMAT << 32 | (magic))

/* The state's words but the last, its check word; the manual's byte table
   says what they are. */
STATESAMPLER_PRIV void statesampler_priv_words(const statesampler *s,
                                               uint64_t *words)
{
    words[0] = STATESAMPLER_PRIV_FIRST(STATESAMPLER_PRIV_MAGIC);
    words[1] = s->num_samples;
    words[2] = s->seed;
    words[3] = s->stream;
    words[4] = s->chunk_size;
    words[5] = s->window;
    words[6] = (uint64_t)s->blocks << 32 | s->tail << 16 |
               s->partition << 8 | s->order;
    words[7] = (uint64_t)s->batch_size << 32 | s->world_size;
    words[8] = s->now.epoch;
    words[9] = s->now.position;
    words[10] = s->base.epoch;
    words[11] = s->base.position;
    words[12] = s->base.step;
}

/* Where the epoch of such words ends, before drop_last; CARRY is not asked.
   *share is D of the manual: where it ends for one rank from position 0. */
STATESAMPLER_PRIV uint64_t statesampler_priv_end(const uint64_t *words,
                                                 uint64_t *share)
{
    uint32_t blocks = (uint32_t)(words[6] >> 32);
    uint32_t world_size = (uint32_t)words[7];
    uint32_t tail = (uint32_t)words[6] >> 16;
    uint64_t last = words[1], base = words[11];
    uint32_t extra = (uint32_t)(last % blocks);
    if (tail == STATESAMPLER_TAIL_DROP) {
        last -= extra;
    } else if (tail == STATESAMPLER_TAIL_PAD && extra != 0) {
        last += blocks - extra;
    }
    *share = last;
    if (last < base) {
        return base;
    }
    extra = (uint32_t)((last - base) % world_size);
    if (tail == STATESAMPLER_TAIL_DROP) {
        last -= extra;
    } else if (tail == STATESAMPLER_TAIL_PAD && extra != 0) {
        last += world_size - extra;
    }
    return last;
}

/* Where an epoch ends in this shape, if its base is `base` and it has these
   blocks; with CARRY num_samples. */
STATESAMPLER_PRIV uint64_t statesampler_priv_epoch_end(const statesampler *s,
                                                       uint64_t base,
                                                       uint32_t blocks)
{
    uint64_t words[STATESAMPLER_PRIV_WORDS], end, share;
    if (s->tail == STATESAMPLER_TAIL_CARRY) {
        return s->num_samples;
    }
    statesampler_priv_words(s, words);
    words[6] = (uint64_t)blocks << 32 | (uint32_t)words[6];
    words[11] = base;
    end = statesampler_priv_end(words, &share);
    return s->drop_last ? end - (end - base) % s->global : end;
}

STATESAMPLER_PRIV void statesampler_priv_shape(statesampler *s,
                                               uint64_t shape)
{
    s->world_size = (uint32_t)shape;
    s->batch_size = (uint32_t)(shape >> 32);
    s->global = (uint64_t)s->world_size * s->batch_size;
}

/* Makes the rest fit the epoch, the position and the base. */
STATESAMPLER_PRIV void statesampler_priv_settle(statesampler *s,
                                                uint32_t blocks)
{
    if (s->blocks != blocks) {
        s->blocks = blocks;
        s->ready.set = 0;
    }
    s->end = statesampler_priv_epoch_end(s, s->base.position, blocks);
    statesampler_priv_order_for(
        s, &s->ready, s->now.epoch,
        (uint32_t)((s->now.position + s->rank) % blocks));
}

/* Field by field, as compilers may call memcpy for the whole. */
STATESAMPLER_PRIV void statesampler_priv_copy(
    statesampler_priv_spot *to, const statesampler_priv_spot *from)
{
    to->epoch = from->epoch;
    to->position = from->position;
    to->step = from->step;
}

STATESAMPLER_PRIV void statesampler_priv_rebase(statesampler *s)
{
    statesampler_priv_copy(&s->base, &s->now);
}

STATESAMPLER_PRIV void statesampler_priv_begin(statesampler *s,
                                               uint64_t epoch)
{
    s->now.epoch = epoch;
    s->now.position = 0;
    s->now.step = 0;
    statesampler_priv_rebase(s);
    statesampler_priv_settle(
        s, s->partition == STATESAMPLER_PARTITION_BLOCKED ? s->world_size : 1);
}

/* How many of the positions first, first + W, ... (count of them) are below
   bound. */
STATESAMPLER_PRIV uint64_t statesampler_priv_below(const statesampler *s,
                                                   uint64_t bound,
                                                   uint64_t first,
                                                   uint64_t count)
{
    if (first >= bound) {
        return 0;
    }
    return statesampler_priv_min(count,
                                 (bound - 1 - first) / s->world_size + 1);
}

/* How many samples this rank has in the step that begins at position. */
STATESAMPLER_PRIV size_t statesampler_priv_rank_count(const statesampler *s,
                                                      uint64_t position)
{
    uint32_t count = s->batch_size;
    if (s->tail == STATESAMPLER_TAIL_CARRY ||
        s->end - position >= s->global) {
        return count;
    }
    return (size_t)statesampler_priv_below(s, s->end, position + s->rank,
                                           count);
}

/* Steps from the base to the end; with CARRY, to where the base must move. */
STATESAMPLER_PRIV uint64_t statesampler_priv_reach(const statesampler *s)
{
    if (s->tail == STATESAMPLER_TAIL_CARRY) {
        return STATESAMPLER_MAX_SAMPLES / s->global;
    }
    return statesampler_priv_ceil_div(s->end - s->base.position, s->global);
}

/* Where the step begins that is so many, at most reach, after the base. */
STATESAMPLER_PRIV void statesampler_priv_after(const statesampler *s,
                                               uint64_t steps,
                                               statesampler_priv_spot *spot)
{
    uint64_t past = s->base.position + steps * s->global;
    spot->step = s->base.step + steps;
    spot->epoch = s->base.epoch;
    if (s->tail == STATESAMPLER_TAIL_CARRY) {
        spot->epoch += past / s->num_samples;
        spot->position = past % s->num_samples;
    } else {
        spot->position = statesampler_priv_min(past, s->end);
    }
}

/* Where a step begins. Returns 0 if it is before the base or past the end. */
STATESAMPLER_PRIV int statesampler_priv_find(const statesampler *s,
                                             uint64_t step,
                                             statesampler_priv_spot *spot)
{
    uint64_t steps = step - s->base.step;
    if (step < s->base.step || step > STATESAMPLER_NONE / 2 ||
        steps > statesampler_priv_reach(s)) {
        return 0;
    }
    statesampler_priv_after(s, steps, spot);
    return 1;
}

/* The sample at one position of an epoch. */
STATESAMPLER_PRIV uint64_t statesampler_priv_sample(
    const statesampler *s, statesampler_priv_order *spare, uint64_t epoch,
    uint64_t position)
{
    uint64_t index;
    if (position >= s->num_samples) {
        /* Padding: the first place of this block (whose position is the
           block's number), or, where there is none, from the start again. */
        uint64_t block = position % s->blocks;
        position = s->partition == STATESAMPLER_PARTITION_BLOCKED &&
                           block < s->num_samples
                       ? block
                       : position % s->num_samples;
    }
    statesampler_priv_fill(s, spare, epoch, position, 0, &index, 1);
    return index;
}

/* This rank's count samples of the step at a spot. With CARRY they may run
   through several epochs; each turn serves at least one. */
STATESAMPLER_PRIV void statesampler_priv_step(const statesampler *s,
                                              statesampler_priv_order *spare,
                                              const statesampler_priv_spot *at,
                                              uint64_t *out, size_t count)
{
    uint64_t n = s->num_samples, stride = s->world_size;
    uint64_t epoch = at->epoch, first = at->position + s->rank;
    while (count != 0) {
        size_t run = count, i = 0;
        if (s->tail == STATESAMPLER_TAIL_CARRY) {
            if (first >= n) {
                epoch += first / n;
                first %= n;
            }
            run = (size_t)statesampler_priv_below(s, n, first, count);
        }
        /* Nearly always there is one block; a division takes as long as a
           round. */
        if (s->blocks == 1 || stride % s->blocks == 0) {
            i = first + run * stride <= n
                    ? run
                    : (size_t)statesampler_priv_below(s, n, first, run);
            statesampler_priv_fill(s, spare, epoch, first, stride, out, i);
        }
        /* Padding; and blocks after a change of world size, where every slot
           is in another one. */
        for (; i < run; i++) {
            out[i] = statesampler_priv_sample(s, spare, epoch,
                                              first + i * stride);
        }
        out += run;
        count -= run;
        first += run * stride;
    }
}

/* What init accepts; load too, as a state may hold nothing else. */
STATESAMPLER_PRIV int statesampler_priv_valid(const statesampler_desc *d)
{
    uint32_t world_size = d->world_size ? d->world_size : 1;
    if (d->num_samples > STATESAMPLER_MAX_SAMPLES || d->rank >= world_size ||
        (uint64_t)world_size * d->batch_size >= STATESAMPLER_MAX_SAMPLES ||
        d->order > STATESAMPLER_ORDER_REPLACEMENT ||
        d->partition > STATESAMPLER_PARTITION_BLOCKED ||
        d->tail > STATESAMPLER_TAIL_CARRY || d->drop_last > 1) {
        return 0;
    }
    if (d->order == STATESAMPLER_ORDER_WINDOW &&
        (d->chunk_size == 0 || d->window == 0 ||
         d->window > (STATESAMPLER_MAX_SAMPLES - 1) / d->chunk_size)) {
        return 0;
    }
    return d->tail != STATESAMPLER_TAIL_CARRY ||
           (d->num_samples != 0 && !d->drop_last &&
            d->partition == STATESAMPLER_PARTITION_INTERLEAVED);
}

STATESAMPLER_DEF int statesampler_init(statesampler *s,
                                       const statesampler_desc *desc)
{
    STATESAMPLER_ASSERT(s && desc);
    if (!statesampler_priv_valid(desc)) {
        return STATESAMPLER_EINVAL;
    }
    s->num_samples = desc->num_samples;
    s->seed = desc->seed;
    s->stream = desc->stream;
    s->chunk_size = 0;
    s->window = 0;
    if (desc->order == STATESAMPLER_ORDER_WINDOW) {
        s->chunk_size = desc->chunk_size;
        s->window = desc->window;
    }
    s->rank = desc->rank;
    s->world_size = desc->world_size ? desc->world_size : 1;
    s->batch_size = desc->batch_size ? desc->batch_size : 1;
    s->order = desc->order;
    s->partition = desc->partition;
    s->tail = desc->tail;
    s->drop_last = desc->drop_last;
    s->global = (uint64_t)s->world_size * s->batch_size;
    s->blocks = 0; /* none yet, so that begin sets up everything */
    statesampler_priv_order_clear(&s->ready);
    statesampler_priv_begin(s, desc->epoch);
    return STATESAMPLER_OK;
}

/* Serves count samples, all that this rank has in the present step, and moves
   past it. */
STATESAMPLER_PRIV void statesampler_priv_advance(statesampler *s,
                                                 uint64_t *out, size_t count)
{
    if (out) {
        statesampler_priv_step(s, &s->ready, &s->now, out, count);
    }
    s->now.step++;
    s->now.position += s->global;
    if (s->tail != STATESAMPLER_TAIL_CARRY) {
        s->now.position = statesampler_priv_min(s->now.position, s->end);
        return;
    }
    if (s->now.position >= s->num_samples) {
        s->now.epoch += s->now.position / s->num_samples;
        s->now.position %= s->num_samples;
    }
    if ((s->now.step - s->base.step) * s->global >= STATESAMPLER_MAX_SAMPLES) {
        statesampler_priv_rebase(s); /* so that the product never overflows */
    }
}

STATESAMPLER_DEF int statesampler_next(statesampler *s, uint64_t *out,
                                       size_t *count)
{
    size_t samples = 0;
    int more;
    STATESAMPLER_ASSERT(s && s->world_size != 0 && (count || !out));
    more = s->tail == STATESAMPLER_TAIL_CARRY || s->now.position != s->end;
    if (more) {
        samples = statesampler_priv_rank_count(s, s->now.position);
        statesampler_priv_advance(s, out, samples);
    } else {
        statesampler_priv_begin(s, s->now.epoch + 1);
    }
    if (count) {
        *count = samples;
    }
    return more;
}

STATESAMPLER_DEF int statesampler_at(const statesampler *s, uint64_t step,
                                     uint64_t *out, size_t *count)
{
    statesampler_priv_order spare;
    statesampler_priv_spot spot;
    size_t samples = 0;
    int code = 1;
    STATESAMPLER_ASSERT(s && s->world_size != 0 && (count || !out));
    if (step < s->base.step) {
        code = STATESAMPLER_ERANGE_BASE;
    } else if (!statesampler_priv_find(s, step, &spot)) {
        code = s->tail == STATESAMPLER_TAIL_CARRY ? STATESAMPLER_ERANGE_FAR : 0;
    } else if (s->tail != STATESAMPLER_TAIL_CARRY && spot.position == s->end) {
        code = 0;
    } else {
        samples = statesampler_priv_rank_count(s, spot.position);
    }
    if (out && samples != 0) {
        statesampler_priv_order_clear(&spare);
        statesampler_priv_step(s, &spare, &spot, out, samples);
    }
    if (count) {
        *count = samples;
    }
    return code;
}

STATESAMPLER_DEF int statesampler_seek(statesampler *s, uint64_t step)
{
    STATESAMPLER_ASSERT(s && s->world_size != 0);
    if (step < s->base.step) {
        return STATESAMPLER_ERANGE_BASE;
    }
    return statesampler_priv_find(s, step, &s->now) ? STATESAMPLER_OK
           : s->tail == STATESAMPLER_TAIL_CARRY ? STATESAMPLER_ERANGE_FAR
                                           : STATESAMPLER_ERANGE_END;
}

STATESAMPLER_DEF void statesampler_begin(statesampler *s, uint64_t epoch)
{
    STATESAMPLER_ASSERT(s && s->world_size != 0);
    statesampler_priv_begin(s, epoch);
}

STATESAMPLER_DEF void statesampler_set_epoch(statesampler *s, uint64_t epoch)
{
    STATESAMPLER_ASSERT(s && s->world_size != 0);
    if (epoch != s->now.epoch) {
        statesampler_priv_begin(s, epoch);
    }
}

STATESAMPLER_DEF uint64_t statesampler_epoch(const statesampler *s)
{
    STATESAMPLER_ASSERT(s && s->world_size != 0);
    return s->now.epoch;
}

STATESAMPLER_DEF uint64_t statesampler_step(const statesampler *s)
{
    STATESAMPLER_ASSERT(s && s->world_size != 0);
    return s->now.step;
}

STATESAMPLER_DEF uint64_t statesampler_num_steps(const statesampler *s)
{
    STATESAMPLER_ASSERT(s && s->world_size != 0);
    return s->tail == STATESAMPLER_TAIL_CARRY
               ? STATESAMPLER_NONE
               : s->base.step + statesampler_priv_reach(s);
}

STATESAMPLER_DEF uint64_t statesampler_position(const statesampler *s)
{
    STATESAMPLER_ASSERT(s && s->world_size != 0);
    return s->now.position;
}

STATESAMPLER_DEF void statesampler_get_counts(const statesampler *s,
                                              statesampler_counts *counts)
{
    uint64_t used;
    STATESAMPLER_ASSERT(s && s->world_size != 0 && counts);
    used = statesampler_priv_min(s->end, s->num_samples);
    counts->positions = s->end;
    counts->padded = s->end - used;
    counts->dropped = s->num_samples - used;
    counts->steps = statesampler_num_steps(s);
    counts->rank_samples = STATESAMPLER_NONE;
    counts->rank_batches = STATESAMPLER_NONE;
    if (s->tail != STATESAMPLER_TAIL_CARRY) {
        uint64_t rest = s->end - s->base.position;
        rest += s->world_size - 1 - s->rank;
        counts->rank_samples = rest / s->world_size;
        counts->rank_batches =
            statesampler_priv_ceil_div(counts->rank_samples, s->batch_size);
    }
}

STATESAMPLER_DEF size_t statesampler_padding(const statesampler *s,
                                             uint64_t step)
{
    statesampler_priv_spot spot;
    uint64_t count;
    STATESAMPLER_ASSERT(s && s->world_size != 0);
    if (s->tail == STATESAMPLER_TAIL_CARRY ||
        !statesampler_priv_find(s, step, &spot)) {
        return 0;
    }
    count = statesampler_priv_rank_count(s, spot.position);
    count -= statesampler_priv_below(s, s->num_samples,
                                     spot.position + s->rank, count);
    return (size_t)count;
}

STATESAMPLER_DEF int statesampler_locate(const statesampler *s,
                                         uint64_t index,
                                         statesampler_place *place)
{
    statesampler_priv_order spare;
    const statesampler_priv_order *order;
    uint64_t n, block, position, past, quota, longer;
    uint32_t extra;
    STATESAMPLER_ASSERT(s && s->world_size != 0 && place);
    n = s->num_samples;
    if (s->order == STATESAMPLER_ORDER_REPLACEMENT) {
        return STATESAMPLER_EINVAL;
    }
    if (index >= n) {
        return STATESAMPLER_ERANGE;
    }
    quota = n / s->blocks;
    extra = (uint32_t)(n % s->blocks);
    if (s->tail == STATESAMPLER_TAIL_DROP) {
        if (index >= n - extra) {
            return STATESAMPLER_ERANGE; /* left out */
        }
        extra = 0;
    }
    longer = extra * (quota + 1);
    block = index < longer ? index / (quota + 1) : (index - extra) / quota;
    statesampler_priv_order_clear(&spare);
    order = statesampler_priv_order_for(s, &spare, s->now.epoch,
                                        (uint32_t)block);
    position = statesampler_priv_order_inverse(s, order, &spare,
                                               index - order->start) *
                   s->blocks +
               block;
    if (position >= s->end) {
        return STATESAMPLER_ERANGE;
    }
    /* Positions since the first of the base's epoch: with CARRY below
       2^62 + 2 * num_samples, otherwise the position itself. */
    past = (s->now.epoch - s->base.epoch) * n + position;
    if (past < s->base.position) {
        return STATESAMPLER_ERANGE;
    }
    past -= s->base.position;
    place->position = position;
    place->step = s->base.step + past / s->global;
    place->slot = (uint32_t)(past % s->global / s->world_size);
    place->rank = (uint32_t)(past % s->world_size);
    return STATESAMPLER_OK;
}

/* --- state -----------------------------------------------------------------
   The state is 14 words of 64 bits, each written byte by byte. */

STATESAMPLER_PRIV void statesampler_priv_put(unsigned char *bytes,
                                             const uint64_t *words,
                                             size_t size)
{
    size_t i;
    for (i = 0; i < size; i++) {
        bytes[i] = (unsigned char)(words[i / 8] >> (i % 8 * 8) & 255);
    }
}

STATESAMPLER_PRIV void statesampler_priv_get(const unsigned char *bytes,
                                             uint64_t *words, size_t size)
{
    size_t i;
    for (i = 0; i < size; i++) {
        uint64_t byte = bytes[i];
        words[i / 8] = i % 8 ? words[i / 8] | byte << (i % 8 * 8) : byte;
    }
}

/* The check word over the words before it. Every turn is a bijection of the
   hash for a fixed word and of the word for a fixed hash, so that a change
   inside one word always shows. */
STATESAMPLER_PRIV uint64_t statesampler_priv_check(const unsigned char *bytes,
                                                   size_t size)
{
    uint64_t hash = 0;
    for (; size != 0; size -= 8, bytes += 8) {
        uint64_t word;
        statesampler_priv_get(bytes, &word, 8);
        hash = (hash ^ word) * STATESAMPLER_PRIV_GOLDEN;
        hash ^= hash >> 32;
    }
    return hash;
}

/* Whether this is a whole state, with the same first word and so much of
   it. */
STATESAMPLER_PRIV int statesampler_priv_open(const unsigned char *bytes,
                                             size_t size, size_t expected,
                                             uint64_t first)
{
    uint64_t word, check;
    uint32_t version;
    if (size < 8) {
        return STATESAMPLER_ECORRUPT;
    }
    statesampler_priv_get(bytes, &word, 8);
    version = (uint32_t)(word >> 32) & 0xffffu;
    if ((uint32_t)word != (uint32_t)first || version == 0) {
        return STATESAMPLER_ECORRUPT;
    }
    if (version > STATESAMPLER_PRIV_FORMAT) {
        return STATESAMPLER_EVERSION;
    }
    if (size != expected) {
        return STATESAMPLER_ECORRUPT;
    }
    statesampler_priv_get(bytes + size - 8, &check, 8);
    if (check != statesampler_priv_check(bytes, size - 8)) {
        return STATESAMPLER_ECORRUPT;
    }
    return word == first ? STATESAMPLER_OK : STATESAMPLER_EVERSION;
}

STATESAMPLER_DEF int statesampler_save(const statesampler *s, void *out,
                                       size_t size)
{
    uint64_t words[STATESAMPLER_PRIV_WORDS];
    unsigned char *bytes = (unsigned char *)out;
    STATESAMPLER_ASSERT(s && s->world_size != 0 && out);
    if (size < STATESAMPLER_STATE_BYTES) {
        return STATESAMPLER_ECAPACITY;
    }
    statesampler_priv_words(s, words);
    statesampler_priv_put(bytes, words, STATESAMPLER_STATE_BYTES - 8);
    words[0] = statesampler_priv_check(bytes, STATESAMPLER_STATE_BYTES - 8);
    statesampler_priv_put(bytes + STATESAMPLER_STATE_BYTES - 8, words, 8);
    return STATESAMPLER_OK;
}

/* Positions that a run with these words has served since its base. */
STATESAMPLER_PRIV uint64_t statesampler_priv_served(const uint64_t *words)
{
    return (words[8] - words[10]) * words[1] + words[9] - words[11];
}

/* The sampler that such words were saved of, as rank 0. Byte 51, which is 0 in
   every state, is read as drop_last, so that anything else shows. */
STATESAMPLER_PRIV void statesampler_priv_describe(const uint64_t *words,
                                                  statesampler_desc *d)
{
    d->num_samples = words[1];
    d->seed = words[2];
    d->epoch = 0;
    d->stream = words[3];
    d->rank = 0;
    d->world_size = (uint32_t)words[7];
    d->batch_size = (uint32_t)(words[7] >> 32);
    d->order = (uint32_t)words[6] & 255;
    d->partition = (uint32_t)words[6] >> 8 & 255;
    d->tail = (uint32_t)words[6] >> 16 & 255;
    d->drop_last = (uint32_t)words[6] >> 24 & 255;
    d->chunk_size = words[4];
    d->window = words[5];
}

/* Whether a run could have saved these words. */
STATESAMPLER_PRIV int statesampler_priv_possible(const uint64_t *words)
{
    uint64_t blocks = words[6] >> 32, epochs = words[8] - words[10];
    uint64_t base = words[11], base_step = words[12], n = words[1];
    uint64_t served = statesampler_priv_served(words), most, global;
    statesampler_desc d;
    statesampler_priv_describe(words, &d);
    global = (uint64_t)d.world_size * d.batch_size;
    if (!statesampler_priv_valid(&d) || d.drop_last != 0 || global == 0 ||
        blocks == 0 ||
        (d.partition == STATESAMPLER_PARTITION_INTERLEAVED && blocks != 1) ||
        (d.order != STATESAMPLER_ORDER_WINDOW && (words[4] | words[5]) != 0) ||
        (base_step == 0 && base != 0)) {
        return 0;
    }
    if (d.tail == STATESAMPLER_TAIL_CARRY) {
        /* seek stops at 2^63 steps, and 2^62 more take centuries. */
        return words[9] < n && base < n &&
               base_step <= STATESAMPLER_NONE / 4 * 3 &&
               epochs <= STATESAMPLER_MAX_SAMPLES / n + 1 &&
               served <= STATESAMPLER_MAX_SAMPLES && served % global == 0;
    }
    /* A base is where another shape stopped: at most its padding, which is
       less than its world size, after the last sample. And a step serves one
       position or more. */
    n = statesampler_priv_end(words, &most);
    if (d.tail == STATESAMPLER_TAIL_PAD) {
        most += UINT32_MAX - 1;
    }
    return epochs == 0 && base <= most && base_step <= base &&
           (base != 0 || d.partition == STATESAMPLER_PARTITION_INTERLEAVED ||
            blocks == d.world_size) &&
           served <= n - base &&
           (served == n - base || served % global == 0);
}

/* Whether these words may be taken over. */
STATESAMPLER_PRIV int statesampler_priv_fit(const statesampler *s,
                                            const uint64_t *words)
{
    uint64_t own[STATESAMPLER_PRIV_WORDS];
    int i;
    if (!statesampler_priv_possible(words)) {
        return STATESAMPLER_ECORRUPT;
    }
    statesampler_priv_words(s, own);
    /* Number of samples to tail must match; blocks are taken over. */
    for (i = 1; i < 6; i++) {
        if (words[i] != own[i]) {
            return STATESAMPLER_EMISMATCH;
        }
    }
    return (uint32_t)words[6] == (uint32_t)own[6] ? STATESAMPLER_OK
                                                  : STATESAMPLER_EMISMATCH;
}

/* Goes on where these words say. */
STATESAMPLER_PRIV void statesampler_priv_take(statesampler *s,
                                              const uint64_t *words)
{
    uint32_t world_size = (uint32_t)words[7];
    uint32_t batch_size = (uint32_t)(words[7] >> 32);
    if (words[9] == 0 && s->tail != STATESAMPLER_TAIL_CARRY) {
        statesampler_priv_begin(s, words[8]);
        return;
    }
    s->now.epoch = words[8];
    s->now.position = words[9];
    s->base.epoch = words[10];
    s->base.position = words[11];
    s->base.step = words[12];
    s->now.step = words[12] + statesampler_priv_ceil_div(
                              statesampler_priv_served(words),
                              (uint64_t)world_size * batch_size);
    if (world_size != s->world_size || batch_size != s->batch_size) {
        statesampler_priv_rebase(s);
    }
    statesampler_priv_settle(s, (uint32_t)(words[6] >> 32));
    if (s->now.position > s->end) {
        /* Saved after a step that this loader's drop_last leaves out. */
        statesampler_priv_rebase(s);
        statesampler_priv_settle(s, s->blocks);
    }
}

STATESAMPLER_DEF int statesampler_load(statesampler *s, const void *state,
                                       size_t size)
{
    const unsigned char *bytes = (const unsigned char *)state;
    uint64_t words[STATESAMPLER_PRIV_WORDS];
    int code;
    STATESAMPLER_ASSERT(s && s->world_size != 0 && (state || size == 0));
    code = statesampler_priv_open(bytes, size, STATESAMPLER_STATE_BYTES,
                                  STATESAMPLER_PRIV_FIRST(
                                      STATESAMPLER_PRIV_MAGIC));
    if (code == STATESAMPLER_OK) {
        statesampler_priv_get(bytes, words, size - 8);
        code = statesampler_priv_fit(s, words);
    }
    if (code == STATESAMPLER_OK) {
        statesampler_priv_take(s, words);
    }
    return code;
}

STATESAMPLER_DEF int statesampler_describe(const void *state, size_t size,
                                           statesampler_desc *desc,
                                           statesampler_place *place)
{
    uint64_t words[STATESAMPLER_PRIV_WORDS];
    const unsigned char *bytes = (const unsigned char *)state;
    int code = statesampler_priv_open(bytes, size, STATESAMPLER_STATE_BYTES,
                                      STATESAMPLER_PRIV_FIRST(
                                          STATESAMPLER_PRIV_MAGIC));
    if (code != STATESAMPLER_OK) {
        return code;
    }
    statesampler_priv_get(bytes, words, size - 8);
    if (!statesampler_priv_possible(words)) {
        return STATESAMPLER_ECORRUPT;
    }
    if (desc) {
        statesampler_priv_describe(words, desc);
        desc->epoch = words[8];
    }
    if (place) {
        place->position = words[9];
        place->step = words[12] + statesampler_priv_ceil_div(
            statesampler_priv_served(words),
            (words[7] & UINT32_MAX) * (words[7] >> 32));
        place->rank = 0;
        place->slot = 0;
    }
    return STATESAMPLER_OK;
}

/* --- mix -------------------------------------------------------------------
   The sequence says whose turn it is, for ever, and a point is a number of
   its turns. Sources that have steps sit in its seats, in their order, and
   the seats are the leaves of a tree: the root's left child has those with an
   even number, its right child the odd ones, the next level goes by the next
   bit, and so on. Of the first m turns of a node of weight w its right child
   of weight a has ceil((m * a - floor(w / 2)) / w), its share rounded to
   nearest, and the left child has the rest. As a <= w, the next turn adds 0 or
   1 to the right, and 1 or 0 to the left: so every turn is of exactly one
   leaf. After w turns the right child has had a: a period of the whole weight
   is exact. In between a level adds half a turn at most to how far a seat is
   from its share. Equal weights are 0, 1, 2, ... and round again, as left and
   right then take every other turn. */

#define STATESAMPLER_PRIV_MIX_MAGIC 0x584d5353u /* "SSMX" */
#define STATESAMPLER_PRIV_MIX_HEAD 48u          /* bytes before the sources */
#define STATESAMPLER_PRIV_SOURCE_BYTES 88u
#define STATESAMPLER_PRIV_NOBODY UINT32_MAX

/* How many of the first turns of the sequence, so many as point says, are
   those of *seat; or, where that is NOBODY, of the seat whose turn comes
   then, which it is set to. */
STATESAMPLER_PRIV uint64_t statesampler_priv_turns(
    const statesampler_mix *mix, uint64_t point, uint32_t *seat)
{
    uint32_t weight = mix->weight, bit, node = 0, right;
    uint64_t rounds = point / weight, turns = point % weight;
    for (bit = 1; (right = node + bit) < mix->seats; bit *= 2) {
        uint32_t part = weight - mix->sources[right].right;
        uint64_t product = turns * part + weight / 2; /* below 2^62 + 2^30 */
        uint64_t share = product / weight;
        if (*seat == STATESAMPLER_PRIV_NOBODY
                ? product - share * weight + part >= weight
                : !(*seat & bit)) {
            turns = share;
            weight = part;
        } else {
            turns -= share;
            weight -= part;
            node = right;
        }
    }
    *seat = node;
    return rounds * weight + turns;
}

/* The point at which a seat takes its turn of this number, from 0, or 2^63
   where that is farther than any mix goes. From the leaf to the root, a child
   of weight a has its turn k at turn (k * w + w / 2) / a of its parent, as that
   is where its share is rounded up to k + 1; a left child's half is rounded
   down first. */
STATESAMPLER_PRIV uint64_t statesampler_priv_when(const statesampler_mix *mix,
                                                  uint32_t seat,
                                                  uint64_t turns)
{
    uint32_t weights[32], level = 0, node = 0, right;
    uint64_t rounds;
    weights[0] = mix->weight;
    while ((right = node + ((uint32_t)1 << level)) < mix->seats) {
        uint32_t part = mix->sources[right].right;
        if (seat >> level & 1) {
            node = right;
        } else {
            part = weights[level] - part;
        }
        weights[++level] = part;
    }
    rounds = turns / weights[level];
    turns %= weights[level];
    for (; level != 0; level--) {
        uint32_t weight = weights[level - 1];
        uint32_t half = (weight - !(seat >> (level - 1) & 1)) / 2;
        turns = (turns * weight + half) / weights[level]; /* below 2^62 */
    }
    return rounds < 2 * STATESAMPLER_MAX_SAMPLES / mix->weight
               ? rounds * mix->weight + turns
               : 2 * STATESAMPLER_MAX_SAMPLES;
}

/* How many turns before a point are not passed over. ALL. */
STATESAMPLER_PRIV uint64_t statesampler_priv_taken(const statesampler_mix *mix,
                                                   uint64_t point)
{
    uint64_t sum = 0;
    uint32_t seat;
    for (seat = 0; seat < mix->seats; seat++) {
        const statesampler_source *source =
            mix->sources + mix->sources[seat].seated;
        sum += statesampler_priv_min(statesampler_priv_turns(mix, point, &seat),
                                     source->base_turns + source->left);
    }
    return sum;
}

/* The point of a turn of the mix. With ALL it is as many points farther as
   turns were passed over; the step doubles until it leads too far, and is
   halved from there on: 126 times at most, as points are below 2^63. */
STATESAMPLER_PRIV uint64_t statesampler_priv_point(
    const statesampler_mix *mix, uint64_t turn)
{
    uint64_t goal = mix->base_point + (turn - mix->base_turn);
    uint64_t point = goal, step = mix->stop == STATESAMPLER_STOP_ALL;
    int growing = 1;
    while (step != 0) {
        if (statesampler_priv_taken(mix, point + step) > goal) {
            growing = 0;
        } else {
            point += step;
        }
        step = growing ? step * 2 : step / 2;
    }
    return point;
}

/* Whether a source has steps: with FIRST and ALL in the present epoch, served
   ones counted, otherwise in epochs to come. */
STATESAMPLER_PRIV int statesampler_priv_takes_turns(const statesampler *s,
                                                    uint32_t stop)
{
    return stop <= STATESAMPLER_STOP_ALL
               ? statesampler_num_steps(s) != 0
               : statesampler_priv_epoch_end(s, 0, 1) != 0;
}

STATESAMPLER_PRIV uint32_t
statesampler_priv_weight(const statesampler_source *source)
{
    return source->weight ? source->weight : 1;
}

/* Makes the present turn the base, and takes stock of the sources. */
STATESAMPLER_PRIV void statesampler_priv_mix_base(statesampler_mix *mix)
{
    statesampler_source *sources = mix->sources;
    uint32_t i, bit;
    uint64_t left = 0, first = STATESAMPLER_NONE, last;
    mix->seats = 0;
    mix->weight = 0;
    for (i = 0; i < mix->num_sources; i++) {
        statesampler *s = &sources[i].sampler;
        uint32_t seat = STATESAMPLER_PRIV_NOBODY;
        statesampler_priv_rebase(s);
        if (mix->turn == 0) {
            sources[i].finished = 0;
        }
        sources[i].base_blocks = s->blocks;
        statesampler_priv_copy(&sources[i].base, &s->now);
        sources[i].left = statesampler_priv_reach(s);
        left += sources[i].left;
        if (statesampler_priv_takes_turns(s, mix->stop)) {
            seat = mix->seats++;
            sources[seat].seated = i;
            sources[seat].right = 0;
            mix->weight += statesampler_priv_weight(sources + i);
            for (bit = 1; bit <= seat; bit *= 2) {
                if (seat & bit) {
                    sources[seat & (2 * bit - 1)].right +=
                        statesampler_priv_weight(sources + i);
                }
            }
        }
        if ((seat ^ sources[i].seat) >> 31) {
            mix->point = 0; /* other sources, another sequence */
        }
        sources[i].seat = seat;
    }
    mix->base_turn = mix->turn;
    mix->base_point = last = mix->point;
    mix->alive = 0;
    for (i = 0; i < mix->seats; i++) {
        statesampler_source *source = sources + sources[i].seated;
        uint64_t over;
        if (source->left != 0) {
            sources[mix->alive++].alive = i;
        }
        source->base_turns = statesampler_priv_turns(mix, mix->point, &i);
        /* Its first turn without a step. */
        over = statesampler_priv_when(mix, i,
                                      source->base_turns + source->left);
        first = statesampler_priv_min(first, over);
        if (over > last && !source->finished) {
            last = over;
        }
    }
    mix->end = mix->turn;
    if (mix->stop == STATESAMPLER_STOP_NEVER) {
        mix->end = STATESAMPLER_NONE;
    } else if (mix->stop == STATESAMPLER_STOP_ALL) {
        mix->end += left;
    } else if (mix->seats != 0) {
        mix->end += (mix->stop == STATESAMPLER_STOP_FIRST ? first : last) -
                    mix->point;
    }
}

STATESAMPLER_DEF int statesampler_mix_init(statesampler_mix *mix,
                                           statesampler_source *sources,
                                           uint32_t num_sources,
                                           uint32_t stop)
{
    uint64_t samples = 0, weights = 0, seated = 0;
    uint32_t i;
    STATESAMPLER_ASSERT(mix && sources);
    for (i = 0; i < num_sources; i++) {
        const statesampler *s = &sources[i].sampler;
        STATESAMPLER_ASSERT(s->world_size != 0);
        samples += s->num_samples;
        weights += statesampler_priv_weight(sources + i);
        if (statesampler_priv_takes_turns(s, stop)) {
            seated += statesampler_priv_weight(sources + i);
        }
        if (samples >= STATESAMPLER_MAX_SAMPLES || weights >> 31 ||
            s->rank != sources->sampler.rank ||
            s->world_size != sources->sampler.world_size ||
            s->batch_size != sources->sampler.batch_size ||
            (s->tail == STATESAMPLER_TAIL_CARRY && stop != STATESAMPLER_STOP_NEVER)) {
            return STATESAMPLER_EINVAL;
        }
    }
    if (num_sources == 0 || stop > STATESAMPLER_STOP_NEVER ||
        (stop == STATESAMPLER_STOP_NEVER && seated == 0)) {
        return STATESAMPLER_EINVAL;
    }
    for (i = 0; i < num_sources; i++) {
        if (seated != 0 &&
            (stop == STATESAMPLER_STOP_ALL || stop == STATESAMPLER_STOP_RESTART) &&
            statesampler_num_steps(&sources[i].sampler) /
                    statesampler_priv_weight(sources + i) >=
                STATESAMPLER_MAX_SAMPLES / seated) {
            return STATESAMPLER_EINVAL;
        }
    }
    mix->sources = sources;
    mix->num_sources = num_sources;
    mix->stop = stop;
    mix->epoch = 0;
    mix->turn = 0;
    mix->point = 0;
    for (i = 0; i < num_sources; i++) {
        sources[i].seat = STATESAMPLER_PRIV_NOBODY;
        sources[i].drop_last = 0;
    }
    statesampler_priv_mix_base(mix);
    return STATESAMPLER_OK;
}

/* The number of the source whose turn comes at a point, and how many it has
   had since the base. */
STATESAMPLER_PRIV uint32_t statesampler_priv_due(const statesampler_mix *mix,
                                                 uint64_t point,
                                                 uint64_t *turns)
{
    uint32_t seat = STATESAMPLER_PRIV_NOBODY;
    *turns = statesampler_priv_turns(mix, point, &seat);
    seat = mix->sources[seat].seated;
    *turns -= mix->sources[seat].base_turns;
    return seat;
}

/* Moves the point to the next turn that is not passed over, as ALL does: turn
   by turn as long as that costs no more, and then to the first that one of
   those comes to which have something left. */
STATESAMPLER_PRIV void statesampler_priv_pass(statesampler_mix *mix)
{
    const statesampler_source *sources = mix->sources;
    uint64_t next = STATESAMPLER_NONE, turns;
    uint32_t k;
    for (k = 0; k < mix->alive; k++) {
        uint32_t i = statesampler_priv_due(mix, ++mix->point, &turns);
        if (turns < sources[i].left) {
            return;
        }
    }
    for (k = 0; k < mix->alive; k++) {
        uint32_t seat = sources[k].alive;
        const statesampler_source *source = sources + sources[seat].seated;
        turns = source->base_turns +
                (source->sampler.now.step - source->base.step);
        next = statesampler_priv_min(next,
                                     statesampler_priv_when(mix, seat, turns));
    }
    mix->point = next;
}

/* A source has finished. */
STATESAMPLER_PRIV void statesampler_priv_retire(statesampler_mix *mix,
                                                uint32_t seat)
{
    statesampler_source *sources = mix->sources;
    uint32_t k;
    for (k = 0; k < mix->alive; k++) {
        if (sources[k].alive == seat) {
            sources[k].alive = sources[--mix->alive].alive;
        }
    }
}

/* Serves a step, of the next epoch if this one is at its end. The count may
   be 0: with UNEVEN, for a rank without a sample in the last step. */
STATESAMPLER_PRIV size_t statesampler_priv_serve_turn(statesampler *s,
                                                      uint64_t *out)
{
    size_t count;
    if (s->now.position == s->end && s->tail != STATESAMPLER_TAIL_CARRY) {
        statesampler_priv_begin(s, s->now.epoch + 1);
    }
    count = statesampler_priv_rank_count(s, s->now.position);
    statesampler_priv_advance(s, out, count);
    return count;
}

/* Puts a source's sampler, or a copy of it, where it is so many turns after
   the base. */
STATESAMPLER_PRIV void statesampler_priv_put_at(
    const statesampler_source *source, statesampler *s, uint64_t turns)
{
    statesampler_priv_copy(&s->now, &source->base);
    statesampler_priv_rebase(s);
    statesampler_priv_settle(s, source->base_blocks);
    if (turns > source->left) {
        uint64_t steps;
        turns -= source->left + 1;
        statesampler_priv_begin(s, s->now.epoch + 1);
        steps = statesampler_priv_reach(s);
        statesampler_priv_begin(s, s->now.epoch + turns / steps);
        turns = turns % steps + 1;
    }
    statesampler_priv_after(s, turns, &s->now);
}

STATESAMPLER_DEF int statesampler_mix_next(statesampler_mix *mix,
                                           uint64_t *out, size_t *count,
                                           uint32_t *source)
{
    statesampler_source *sources;
    uint64_t turns;
    uint32_t i;
    STATESAMPLER_ASSERT(mix && mix->sources && count && source);
    sources = mix->sources;
    if (mix->turn == mix->end) {
        for (i = 0; i < mix->num_sources; i++) {
            statesampler *s = &sources[i].sampler;
            if (s->now.step != 0) {
                statesampler_priv_begin(s, s->now.epoch + 1);
            }
        }
        mix->epoch++;
        mix->turn = 0;
        mix->point = 0;
        statesampler_priv_mix_base(mix);
        *count = 0;
        return 0;
    }
    i = statesampler_priv_due(mix, mix->point, &turns);
    if (mix->stop == STATESAMPLER_STOP_ALL && turns >= sources[i].left) {
        statesampler_priv_pass(mix);
        i = statesampler_priv_due(mix, mix->point, &turns);
    }
    *count = statesampler_priv_serve_turn(&sources[i].sampler, out);
    *source = i;
    mix->point++;
    mix->turn++;
    if (turns + 1 >= sources[i].left) {
        if (sources[i].sampler.tail == STATESAMPLER_TAIL_CARRY) {
            statesampler_priv_mix_base(mix); /* no seek would reach this turn */
        } else if (mix->stop == STATESAMPLER_STOP_ALL) {
            statesampler_priv_retire(mix, sources[i].seat);
        }
    }
    return 1;
}

STATESAMPLER_DEF int statesampler_mix_at(const statesampler_mix *mix,
                                         uint64_t turn, uint64_t *out,
                                         size_t *count, uint32_t *source)
{
    statesampler copy;
    volatile unsigned char *to = (volatile unsigned char *)&copy;
    const unsigned char *from;
    const statesampler_source *taken;
    uint64_t turns;
    uint32_t i;
    STATESAMPLER_ASSERT(mix && mix->sources && count && source);
    *count = 0;
    if (turn >= mix->end && mix->stop != STATESAMPLER_STOP_NEVER) {
        return 0;
    }
    if (turn < mix->base_turn || turn > STATESAMPLER_MAX_SAMPLES) {
        return STATESAMPLER_ERANGE;
    }
    i = statesampler_priv_due(mix, statesampler_priv_point(mix, turn),
                              &turns);
    taken = mix->sources + i;
    if (turns > taken->left && taken->sampler.tail == STATESAMPLER_TAIL_CARRY) {
        return STATESAMPLER_ERANGE;
    }
    *source = i;
    from = (const unsigned char *)&taken->sampler;
    /* Byte by byte and volatile, or compilers call memcpy, which may not be
       there. The orders come last and are set up anew. */
    for (i = 0; i < offsetof(statesampler, ready); i++) {
        to[i] = from[i];
    }
    statesampler_priv_order_clear(&copy.ready);
    statesampler_priv_put_at(taken, &copy, turns);
    *count = statesampler_priv_serve_turn(&copy, out);
    return 1;
}

/* Moves to a turn from the base to the end. ERANGE: no sampler with CARRY goes
   that far from its base; nothing is changed. */
STATESAMPLER_PRIV int statesampler_priv_go(statesampler_mix *mix, uint64_t turn)
{
    uint64_t point = turn == mix->base_turn
                         ? mix->base_point
                         : statesampler_priv_point(mix, turn - 1) + 1;
    uint32_t seat, write;
    for (write = 0; write < 2; write++) {
        if (write) {
            mix->alive = 0;
        }
        for (seat = 0; seat < mix->seats; seat++) {
            statesampler_source *source =
                mix->sources + mix->sources[seat].seated;
            uint64_t turns = statesampler_priv_turns(mix, point, &seat) -
                             source->base_turns;
            if (mix->stop == STATESAMPLER_STOP_ALL) {
                turns = statesampler_priv_min(turns, source->left);
            }
            if (write) {
                statesampler_priv_put_at(source, &source->sampler, turns);
                if (turns < source->left) {
                    mix->sources[mix->alive++].alive = seat;
                }
            } else if (turns > source->left &&
                       source->sampler.tail == STATESAMPLER_TAIL_CARRY) {
                return STATESAMPLER_ERANGE;
            }
        }
    }
    mix->turn = turn;
    mix->point = point;
    return STATESAMPLER_OK;
}

STATESAMPLER_DEF int statesampler_mix_seek(statesampler_mix *mix,
                                           uint64_t turn)
{
    STATESAMPLER_ASSERT(mix && mix->sources);
    return turn < mix->base_turn || turn > mix->end ||
                   turn > STATESAMPLER_MAX_SAMPLES
               ? STATESAMPLER_ERANGE
               : statesampler_priv_go(mix, turn);
}

STATESAMPLER_DEF uint64_t statesampler_mix_turn(const statesampler_mix *mix)
{
    STATESAMPLER_ASSERT(mix && mix->sources);
    return mix->turn;
}

STATESAMPLER_DEF uint64_t statesampler_mix_num_turns(
    const statesampler_mix *mix)
{
    STATESAMPLER_ASSERT(mix && mix->sources);
    return mix->end;
}

STATESAMPLER_DEF uint64_t statesampler_mix_epoch(const statesampler_mix *mix)
{
    STATESAMPLER_ASSERT(mix && mix->sources);
    return mix->epoch;
}

STATESAMPLER_DEF uint64_t statesampler_mix_offset(const statesampler_mix *mix,
                                                  uint32_t source)
{
    uint64_t samples = 0;
    STATESAMPLER_ASSERT(mix && mix->sources && source <= mix->num_sources);
    while (source != 0) {
        samples += mix->sources[--source].sampler.num_samples;
    }
    return samples;
}

STATESAMPLER_DEF int statesampler_mix_locate(const statesampler_mix *mix,
                                             uint32_t source, uint64_t index,
                                             uint64_t *turn,
                                             statesampler_place *place)
{
    const statesampler *s;
    statesampler_place found;
    uint64_t point, turns, past, left;
    uint32_t seat;
    int code;
    STATESAMPLER_ASSERT(mix && mix->sources && turn && place);
    if (source >= mix->num_sources) {
        return STATESAMPLER_ERANGE;
    }
    s = &mix->sources[source].sampler;
    code = statesampler_locate(s, index, &found);
    if (code != STATESAMPLER_OK) {
        return code;
    }
    seat = mix->sources[source].seat;
    turns = statesampler_priv_turns(mix, mix->point, &seat);
    past = mix->sources[source].base_turns;
    left = mix->sources[source].left;
    if (mix->stop == STATESAMPLER_STOP_ALL) {
        turns = statesampler_priv_min(turns, past + left);
    }
    turns += found.step - s->now.step;
    point = statesampler_priv_when(mix, seat, turns);
    if (mix->stop == STATESAMPLER_STOP_ALL) {
        point = statesampler_priv_taken(mix, point);
    }
    point += mix->base_turn - mix->base_point;
    if (point >= mix->end || point > STATESAMPLER_MAX_SAMPLES ||
        (s->tail == STATESAMPLER_TAIL_CARRY && turns - past > left)) {
        return STATESAMPLER_ERANGE; /* mix_at does not serve it either */
    }
    *turn = point;
    place->position = found.position;
    place->step = found.step;
    place->rank = found.rank;
    place->slot = found.slot;
    return STATESAMPLER_OK;
}

/* A source in a mix's state: its sampler's words from the number of samples
   to the shape, the base, and before them all its weight and flags. */
STATESAMPLER_PRIV void statesampler_priv_source_words(
    const statesampler_source *source, uint64_t *words)
{
    const statesampler *s = &source->sampler;
    statesampler_priv_words(s, words);
    words[0] = statesampler_priv_weight(source) |
               (uint64_t)source->finished << 32 | (uint64_t)s->drop_last << 33;
    words[6] = (uint64_t)source->base_blocks << 32 | (uint32_t)words[6];
    words[8] = source->base.epoch;
    words[9] = source->base.position;
    words[10] = source->base.step;
}

STATESAMPLER_PRIV size_t statesampler_priv_mix_bytes(uint32_t num_sources)
{
    return (size_t)num_sources * STATESAMPLER_PRIV_SOURCE_BYTES +
           STATESAMPLER_PRIV_MIX_HEAD + 8;
}

STATESAMPLER_DEF size_t statesampler_mix_state_bytes(
    const statesampler_mix *mix)
{
    STATESAMPLER_ASSERT(mix && mix->sources);
    return statesampler_priv_mix_bytes(mix->num_sources);
}

STATESAMPLER_DEF int statesampler_mix_save(const statesampler_mix *mix,
                                           void *out, size_t size)
{
    unsigned char *bytes = (unsigned char *)out;
    uint64_t words[STATESAMPLER_PRIV_WORDS];
    uint32_t i;
    STATESAMPLER_ASSERT(mix && mix->sources && out);
    if (size < statesampler_mix_state_bytes(mix)) {
        return STATESAMPLER_ECAPACITY;
    }
    words[0] = STATESAMPLER_PRIV_FIRST(STATESAMPLER_PRIV_MIX_MAGIC);
    words[1] = (uint64_t)mix->stop << 32 | mix->num_sources;
    words[2] = mix->epoch;
    words[3] = mix->turn;
    words[4] = mix->base_turn;
    words[5] = mix->base_point;
    statesampler_priv_put(bytes, words, STATESAMPLER_PRIV_MIX_HEAD);
    bytes += STATESAMPLER_PRIV_MIX_HEAD;
    for (i = 0; i < mix->num_sources; i++) {
        statesampler_priv_source_words(mix->sources + i, words);
        statesampler_priv_put(bytes, words, STATESAMPLER_PRIV_SOURCE_BYTES);
        bytes += STATESAMPLER_PRIV_SOURCE_BYTES;
    }
    words[0] = statesampler_priv_check(
        (unsigned char *)out, (size_t)(bytes - (unsigned char *)out));
    statesampler_priv_put(bytes, words, 8);
    return STATESAMPLER_OK;
}

/* Gives every sampler of a mix a shape; then the present is the base. */
STATESAMPLER_PRIV void statesampler_priv_reshape(statesampler_mix *mix,
                                                 uint64_t shape)
{
    uint32_t i;
    for (i = 0; i < mix->num_sources; i++) {
        statesampler_source *source = mix->sources + i;
        statesampler *s = &source->sampler;
        uint32_t drop_last = source->drop_last;
        source->drop_last = s->drop_last;
        s->drop_last = drop_last;
        statesampler_priv_shape(s, shape);
        if (s->now.epoch != source->base.epoch) {
            source->finished = 1;
        }
        if (s->now.position == 0 && s->tail != STATESAMPLER_TAIL_CARRY) {
            statesampler_priv_begin(s, s->now.epoch);
        }
        statesampler_priv_rebase(s);
        statesampler_priv_settle(s, s->blocks);
    }
    statesampler_priv_mix_base(mix);
}

STATESAMPLER_DEF int statesampler_mix_load(statesampler_mix *mix,
                                           const void *state, size_t size)
{
    const unsigned char *bytes = (const unsigned char *)state;
    uint64_t words[STATESAMPLER_PRIV_WORDS], own[STATESAMPLER_PRIV_WORDS];
    uint64_t turn, shape, most, saved = 0;
    uint32_t i, write, same = 1;
    int code;
    STATESAMPLER_ASSERT(mix && mix->sources && (state || size == 0));
    words[1] = 0;
    if (size >= 16) {
        statesampler_priv_get(bytes, words, 16);
    }
    code = statesampler_priv_open(
        bytes, size, statesampler_priv_mix_bytes((uint32_t)words[1]),
        STATESAMPLER_PRIV_FIRST(STATESAMPLER_PRIV_MIX_MAGIC));
    if (code != STATESAMPLER_OK) {
        return code;
    }
    statesampler_priv_get(bytes, words, STATESAMPLER_PRIV_MIX_HEAD);
    /* seek stops at turn 2^62, and half as many more take centuries. Only what
       ALL has passed over takes the sequence ahead of the turns. */
    most = STATESAMPLER_MAX_SAMPLES / 2 * 3;
    if (words[1] >> 32 > STATESAMPLER_STOP_NEVER || (uint32_t)words[1] == 0 ||
        words[3] > most || words[4] > words[3] || words[5] > most ||
        (words[5] > words[4] &&
         (words[4] == 0 || words[1] >> 32 != STATESAMPLER_STOP_ALL))) {
        return STATESAMPLER_ECORRUPT;
    }
    if (words[1] != ((uint64_t)mix->stop << 32 | mix->num_sources)) {
        return STATESAMPLER_EMISMATCH;
    }
    /* First every source is looked at, and only then is anything changed. */
    for (write = 0; write < 2; write++) {
        for (i = 0; i < mix->num_sources; i++) {
            statesampler_source *source = mix->sources + i;
            statesampler *s = &source->sampler;
            statesampler_priv_source_words(source, own);
            statesampler_priv_get(bytes + STATESAMPLER_PRIV_MIX_HEAD +
                                      STATESAMPLER_PRIV_SOURCE_BYTES * i,
                                  words, STATESAMPLER_PRIV_SOURCE_BYTES);
            if (write) {
                source->drop_last = s->drop_last;
                s->drop_last = words[0] >> 33 & 1;
                source->finished = words[0] >> 32 & 1;
                source->base_blocks = (uint32_t)(words[6] >> 32);
                source->base.epoch = words[8];
                source->base.position = words[9];
                source->base.step = words[10];
                statesampler_priv_shape(s, words[7]);
                statesampler_priv_put_at(source, s, 0);
                continue;
            }
            same &= words[7] == own[7] && (words[0] ^ own[0]) >> 33 == 0;
            saved = i == 0 ? words[7] : saved;
            if (words[0] >> 34 != 0 || words[7] != saved ||
                (words[0] >> 33 != 0 &&
                 (words[6] >> 16 & 255) == STATESAMPLER_TAIL_CARRY)) {
                return STATESAMPLER_ECORRUPT;
            }
            words[12] = words[10];
            words[11] = words[9];
            words[10] = words[8];
            code = statesampler_priv_fit(s, words);
            if (code == STATESAMPLER_OK &&
                (uint32_t)words[0] != (uint32_t)own[0]) {
                code = STATESAMPLER_EMISMATCH;
            }
            if (code != STATESAMPLER_OK) {
                return code;
            }
        }
    }
    shape = own[7];
    statesampler_priv_get(bytes, words, STATESAMPLER_PRIV_MIX_HEAD);
    mix->epoch = words[2];
    turn = words[3];
    mix->turn = words[4];
    statesampler_priv_mix_base(mix);
    mix->point = words[5];
    statesampler_priv_mix_base(mix);
    (void)statesampler_priv_go(mix, statesampler_priv_min(turn, mix->end));
    if (!same) {
        statesampler_priv_reshape(mix, shape);
    }
    return STATESAMPLER_OK;
}

STATESAMPLER_DEF int statesampler_mix_describe(const void *state, size_t size,
                                               uint32_t source,
                                               statesampler_desc *desc,
                                               statesampler_mix_place *place)
{
    const unsigned char *bytes = (const unsigned char *)state;
    uint64_t words[STATESAMPLER_PRIV_WORDS], head[6];
    statesampler_desc found;
    int code;
    STATESAMPLER_ASSERT(state || size == 0);
    head[1] = 0;
    if (size >= 16) {
        statesampler_priv_get(bytes, head, 16);
    }
    code = statesampler_priv_open(
        bytes, size, statesampler_priv_mix_bytes((uint32_t)head[1]),
        STATESAMPLER_PRIV_FIRST(STATESAMPLER_PRIV_MIX_MAGIC));
    if (code != STATESAMPLER_OK) {
        return code;
    }
    statesampler_priv_get(bytes, head, STATESAMPLER_PRIV_MIX_HEAD);
    if (source >= (uint32_t)head[1]) {
        return STATESAMPLER_ERANGE_SOURCE;
    }
    statesampler_priv_get(bytes + STATESAMPLER_PRIV_MIX_HEAD +
                              STATESAMPLER_PRIV_SOURCE_BYTES * source,
                          words, STATESAMPLER_PRIV_SOURCE_BYTES);
    statesampler_priv_describe(words, &found);
    if (!statesampler_priv_valid(&found)) {
        return STATESAMPLER_ECORRUPT_DESC;
    }
    if (desc) {
        statesampler_priv_describe(words, desc);
        desc->epoch = words[8];
        desc->drop_last = words[0] >> 33 & 1;
    }
    if (place) {
        place->epoch = head[2];
        place->turn = head[3];
        place->num_sources = (uint32_t)head[1];
        place->stop = (uint32_t)(head[1] >> 32);
        place->weight = (uint32_t)words[0];
    }
    return STATESAMPLER_OK;
}

/* --- audit --------------------------------------------------------------- */

STATESAMPLER_DEF void statesampler_audit_add(statesampler_audit *audit,
                                             const uint64_t *indices,
                                             size_t count)
{
    size_t i;
    STATESAMPLER_ASSERT(audit && (indices || count == 0));
    audit->count += count;
    for (i = 0; i < count; i++) {
        uint64_t x = indices[i];
        audit->sum1 += x;
        audit->sum2 += x * x;
        audit->sum3 += x * x * x;
    }
}

STATESAMPLER_DEF void statesampler_audit_merge(
    statesampler_audit *audit, const statesampler_audit *other)
{
    STATESAMPLER_ASSERT(audit && other);
    audit->count += other->count;
    audit->sum1 += other->sum1;
    audit->sum2 += other->sum2;
    audit->sum3 += other->sum3;
}

STATESAMPLER_DEF int statesampler_audit_check(const statesampler_audit *audit,
                                              uint64_t num_samples)
{
    uint64_t n = num_samples, sum1, sum2;
    STATESAMPLER_ASSERT(audit);
    /* n(n-1)/2, n(n-1)(2n-1)/6 and n^2(n-1)^2/4. The division by two comes
       first, on the even one of n and n - 1, and the other is the odd one;
       the division by three is exact, so that it is the product with the
       inverse of 3 modulo 2^64. */
    sum1 = n / 2 * ((n - 1) | 1);
    sum2 = sum1 * (2 * n - 1) *
           STATESAMPLER_PRIV_U64(0xaaaaaaaau, 0xaaaaaaabu);
    return audit->count == n && audit->sum1 == sum1 &&
           audit->sum2 == sum2 && audit->sum3 == sum1 * sum1;
}

/* --- errors -------------------------------------------------------------- */

STATESAMPLER_DEF const char *statesampler_error(int code)
{
    switch (code) {
    case STATESAMPLER_OK: return "no error";
    case STATESAMPLER_EINVAL: return "an impossible description or argument";
    case STATESAMPLER_EINVAL_NUM_SAMPLES: return "num_samples is above 2^62";
    case STATESAMPLER_EINVAL_RANK: return "rank is not below world_size";
    case STATESAMPLER_EINVAL_GLOBAL_BATCH:
        return "world_size * batch_size is 2^62 or more";
    case STATESAMPLER_EINVAL_ORDER:
        return "order is not one of STATESAMPLER_ORDER_...";
    case STATESAMPLER_EINVAL_PARTITION:
        return "partition is not one of STATESAMPLER_PARTITION_...";
    case STATESAMPLER_EINVAL_TAIL:
        return "tail is not one of STATESAMPLER_TAIL_...";
    case STATESAMPLER_EINVAL_DROP_LAST: return "drop_last is neither 0 nor 1";
    case STATESAMPLER_EINVAL_CHUNK_SIZE:
        return "the order WINDOW needs a chunk_size";
    case STATESAMPLER_EINVAL_WINDOW: return "the order WINDOW needs a window";
    case STATESAMPLER_EINVAL_CHUNKS:
        return "chunk_size * window is 2^62 or more";
    case STATESAMPLER_EINVAL_CARRY_EMPTY: return "the tail CARRY needs samples";
    case STATESAMPLER_EINVAL_CARRY_BLOCKED:
        return "the tail CARRY needs the partition INTERLEAVED";
    case STATESAMPLER_EINVAL_CARRY_DROP_LAST:
        return "the tail CARRY has no last step to drop";
    case STATESAMPLER_EINVAL_NO_SOURCES: return "a mix needs a source";
    case STATESAMPLER_EINVAL_STOP:
        return "stop is not one of STATESAMPLER_STOP_...";
    case STATESAMPLER_EINVAL_SOURCE_RANK:
        return "the samplers of a mix differ in rank";
    case STATESAMPLER_EINVAL_SOURCE_WORLD_SIZE:
        return "the samplers of a mix differ in world_size";
    case STATESAMPLER_EINVAL_SOURCE_BATCH_SIZE:
        return "the samplers of a mix differ in batch_size";
    case STATESAMPLER_EINVAL_SOURCE_SAMPLES:
        return "the sources of a mix have 2^62 samples or more";
    case STATESAMPLER_EINVAL_SOURCE_CARRY:
        return "a source with the tail CARRY needs the stop rule NEVER";
    case STATESAMPLER_EINVAL_WEIGHTS:
        return "the weights of a mix sum to 2^31 or more";
    case STATESAMPLER_EINVAL_SEQUENCE:
        return "a source of a mix has too many steps for its weight";
    case STATESAMPLER_EINVAL_NO_STEPS:
        return "the stop rule NEVER needs a source that has steps";
    case STATESAMPLER_EINVAL_NAME_EMPTY:
        return "the name of a dataset is empty";
    case STATESAMPLER_EINVAL_NAME_TAKEN:
        return "the mixture has a dataset of this name";
    case STATESAMPLER_EINVAL_REPLACEMENT:
        return "with the order REPLACEMENT a sample has no place";
    case STATESAMPLER_EINVAL_PATH:
        return "the path is empty or longer than 4,095 bytes";
    case STATESAMPLER_ERANGE: return "no such step, or not served here";
    case STATESAMPLER_ERANGE_BASE:
        return "the step or turn is before the present shape began";
    case STATESAMPLER_ERANGE_END:
        return "the step or turn is past the end of the epoch";
    case STATESAMPLER_ERANGE_FAR:
        return "the step or turn is too far from the base";
    case STATESAMPLER_ERANGE_INDEX: return "index is not below num_samples";
    case STATESAMPLER_ERANGE_DROPPED:
        return "no step or turn of this epoch serves the sample";
    case STATESAMPLER_ERANGE_SERVED:
        return "the sample was served before the present shape began";
    case STATESAMPLER_ERANGE_SOURCE:
        return "the mix has no source of this number";
    case STATESAMPLER_ERANGE_NAME:
        return "the mixture has no dataset of this name";
    case STATESAMPLER_ECORRUPT: return "the state is damaged";
    case STATESAMPLER_ECORRUPT_SIZE:
        return "the state is cut short, or too long";
    case STATESAMPLER_ECORRUPT_MAGIC:
        return "these bytes are not a state of this kind";
    case STATESAMPLER_ECORRUPT_CHECK:
        return "the state has changed since it was saved";
    case STATESAMPLER_ECORRUPT_DESC:
        return "the state has a description that init refuses";
    case STATESAMPLER_ECORRUPT_ZERO:
        return "the state has a field that should be 0 and is not";
    case STATESAMPLER_ECORRUPT_BLOCKS:
        return "the state has a number of blocks that no run has";
    case STATESAMPLER_ECORRUPT_BASE:
        return "the state has a base where no shape begins";
    case STATESAMPLER_ECORRUPT_POSITION:
        return "the state has a position where no step ends";
    case STATESAMPLER_ECORRUPT_SOURCES:
        return "the state of a mix has no sources";
    case STATESAMPLER_ECORRUPT_STOP:
        return "the state of a mix has no stop rule of ours";
    case STATESAMPLER_ECORRUPT_SHAPES:
        return "the state of a mix has sources of differing shapes";
    case STATESAMPLER_ECORRUPT_TURN:
        return "the state has a turn that its mix does not reach";
    case STATESAMPLER_ECORRUPT_POINT:
        return "the state has a place in the sequence that no mix reaches";
    case STATESAMPLER_ECORRUPT_NAMES:
        return "the state of a mixture has a name twice";
    case STATESAMPLER_EVERSION:
        return "the state is of a newer version or algorithm";
    case STATESAMPLER_EVERSION_FORMAT:
        return "the state has a newer format than this library";
    case STATESAMPLER_EVERSION_ALGORITHM:
        return "the state is of another algorithm";
    case STATESAMPLER_EMISMATCH:
        return "the state is of another dataset, seed, order or mix";
    case STATESAMPLER_EMISMATCH_NUM_SAMPLES:
        return "the state has another num_samples";
    case STATESAMPLER_EMISMATCH_SEED: return "the state has another seed";
    case STATESAMPLER_EMISMATCH_STREAM: return "the state has another stream";
    case STATESAMPLER_EMISMATCH_ORDER: return "the state has another order";
    case STATESAMPLER_EMISMATCH_CHUNK_SIZE:
        return "the state has another chunk_size";
    case STATESAMPLER_EMISMATCH_WINDOW: return "the state has another window";
    case STATESAMPLER_EMISMATCH_PARTITION:
        return "the state has another partition";
    case STATESAMPLER_EMISMATCH_TAIL: return "the state has another tail";
    case STATESAMPLER_EMISMATCH_SOURCES:
        return "the state has another number of sources";
    case STATESAMPLER_EMISMATCH_STOP: return "the state has another stop rule";
    case STATESAMPLER_EMISMATCH_WEIGHT:
        return "the state has another weight for a source";
    case STATESAMPLER_EMISMATCH_DATASET:
        return "the state has another dataset of the same name";
    case STATESAMPLER_ECAPACITY: return "the buffer is too small";
#ifdef STATESAMPLER_HOSTED
    case STATESAMPLER_EENV:
        return "a rank or world size in the environment is malformed";
    case STATESAMPLER_EENV_UNSET:
        return "one of the two variables of the launcher is not set";
    case STATESAMPLER_EENV_NUMBER:
        return "a rank or world size is not a decimal number of 32 bits";
    case STATESAMPLER_EENV_RANK: return "the rank is not below the world size";
    case STATESAMPLER_EIO: return "the file cannot be read or written";
    case STATESAMPLER_EIO_PERMISSION: return "no permission";
    case STATESAMPLER_EIO_SPACE: return "no space is left";
    case STATESAMPLER_EIO_READ_ONLY: return "the file system is read-only";
    case STATESAMPLER_EIO_NO_FOLDER:
        return "the folder of the file does not exist";
    case STATESAMPLER_EIO_IS_FOLDER: return "the path is that of a folder";
    case STATESAMPLER_EIO_NOT_REGULAR:
        return "the path is that of a device, a pipe or a socket";
    case STATESAMPLER_EIO_NAME: return "the system does not allow this path";
    case STATESAMPLER_EIO_OPEN_FILES: return "too many files are open";
    case STATESAMPLER_EIO_BUSY: return "another program has the file open";
    case STATESAMPLER_ENOFILE: return "there is no such file";
#endif
    default: return "unknown error";
    }
}

/* --- hosted -------------------------------------------------------------- */

#ifdef STATESAMPLER_HOSTED

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef _WIN32
#include <fcntl.h>
#include <io.h>
#include <share.h>
#include <sys/stat.h>
#ifdef __cplusplus
extern "C"
#endif
/* As windows.h declares it, which is too large to include for one function. */
__declspec(dllimport) int __stdcall MoveFileExA(const char *from,
                                                const char *to,
                                                unsigned long flags);
#else
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>
#if defined(__STRICT_ANSI__) && !defined(__cplusplus)
/* POSIX, but hidden by -std=c99 unless the file that includes this header
   asked for POSIX before its first include. */
extern int fsync(int file);
#endif
#endif

/* Sets *value from a variable. Returns 0 if it is not there, 1 if it is a
   decimal number of 32 bits, -1 otherwise. */
STATESAMPLER_PRIV_HOSTED int statesampler_priv_env(const char *name,
                                                   uint32_t *value)
{
    const char *text = getenv(name);
    uint64_t number = 0;
    if (!text) {
        return 0;
    }
    if (*text == 0) {
        return -1;
    }
    for (; *text != 0; text++) { /* ends with the text */
        if (*text < '0' || *text > '9') {
            return -1;
        }
        number = 10 * number + (uint64_t)(*text - '0');
        if (number > UINT32_MAX) {
            return -1;
        }
    }
    *value = (uint32_t)number;
    return 1;
}

STATESAMPLER_DEF_HOSTED int statesampler_from_env(statesampler_desc *desc,
                                                  const char **launcher)
{
    static const char *const names[4][3] = {
        {"torchrun", "RANK", "WORLD_SIZE"},
        {"openmpi", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
        {"pmi", "PMI_RANK", "PMI_SIZE"},
        {"slurm", "SLURM_PROCID", "SLURM_NTASKS"},
    };
    const char *found = "none";
    uint32_t rank = 0, world_size = 1;
    int i, code = STATESAMPLER_OK;
    STATESAMPLER_ASSERT(desc);
    for (i = 0; i < 4; i++) {
        int has_rank = statesampler_priv_env(names[i][1], &rank);
        int has_size = statesampler_priv_env(names[i][2], &world_size);
        if (has_rank == 0 && has_size == 0) {
            continue;
        }
        found = names[i][0];
        if (has_rank != 1 || has_size != 1 || rank >= world_size) {
            code = STATESAMPLER_EENV;
        }
        break;
    }
    if (launcher) {
        *launcher = found;
    }
    if (code == STATESAMPLER_OK) {
        desc->rank = rank;
        desc->world_size = world_size;
    }
    return code;
}

/* Longer paths than this are refused. */
#define STATESAMPLER_PRIV_PATH 4096

#ifdef _WIN32

/* Opens the temporary file, empty, for this writer alone: another writer's is
   shared with nobody, and fails; one that a crash left is taken over. */
STATESAMPLER_PRIV_HOSTED int statesampler_priv_create(const char *temporary,
                                                      const char *path)
{
    (void)path; /* moving over a folder or a device fails by itself */
    return _sopen(temporary, _O_WRONLY | _O_CREAT | _O_TRUNC | _O_BINARY,
                  _SH_DENYRW, _S_IREAD | _S_IWRITE);
}

STATESAMPLER_PRIV_HOSTED int statesampler_priv_write(int file,
                                                     const char *bytes,
                                                     size_t size)
{
    return _write(file, bytes,
                  (unsigned)statesampler_priv_min(size, 1u << 30));
}

STATESAMPLER_PRIV_HOSTED int statesampler_priv_flush(int file)
{
    return _commit(file);
}

/* An open file can be neither removed nor moved; and where another writer
   opens it between the two calls, the second one fails. */
STATESAMPLER_PRIV_HOSTED void statesampler_priv_abandon(int file,
                                                        const char *path)
{
    (void)_close(file);
    (void)remove(path);
}

STATESAMPLER_PRIV_HOSTED int statesampler_priv_publish(int file,
                                                       const char *from,
                                                       const char *to)
{
    /* MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH */
    if (_close(file) == 0 && MoveFileExA(from, to, 1 | 8)) {
        return 0;
    }
    (void)remove(from);
    return -1;
}

#else

/* Makes the temporary file, for this process alone. The lock says whether one
   that is there already belongs to a live writer, who is waited for, a minute
   at most; otherwise it is what a crash left, and removed. A record lock,
   because a process forked in mid-save does not inherit it. Every turn but
   the last ends with a pause, a removal, or another writer's rename. */
STATESAMPLER_PRIV_HOSTED int statesampler_priv_create(const char *temporary,
                                                      const char *path)
{
    struct stat named, opened;
    int attempt;
    /* Root can rename over a device, and "/dev/null" as a name for no
       checkpoint must not end as a file. */
    if (stat(path, &named) == 0 && !S_ISREG(named.st_mode)) {
        return -1;
    }
    for (attempt = 0; attempt < 6000; attempt++) {
        struct flock lock;
        int same, fresh, file;
        file = open(temporary, O_WRONLY | O_CREAT | O_EXCL, 0666);
        fresh = file >= 0;
        if (!fresh) {
            if (errno != EEXIST) {
                return -1;
            }
            file = open(temporary, O_WRONLY | O_NONBLOCK);
            if (file < 0) { /* renamed by now; or a link or pipe to nowhere */
                if (errno != ENOENT && unlink(temporary) != 0) {
                    return -1;
                }
                continue;
            }
        }
        lock.l_type = F_WRLCK;
        lock.l_whence = SEEK_SET;
        lock.l_start = 0;
        lock.l_len = 0;
        if (fcntl(file, F_SETLK, &lock) != 0 &&
            (errno == EAGAIN || errno == EACCES)) {
            (void)close(file);
            (void)poll(NULL, 0, 10); /* sleeps for 10 ms */
            continue;
        }
        /* fstat fails only where the numbers do not fit; then trust. */
        same = fstat(file, &opened) != 0 ||
               (stat(temporary, &named) == 0 &&
                opened.st_ino == named.st_ino &&
                opened.st_dev == named.st_dev);
        if (same && fresh) {
            return file;
        }
        if (same) {
            (void)unlink(temporary);
        }
        (void)close(file);
    }
    return -1;
}

STATESAMPLER_PRIV_HOSTED int statesampler_priv_write(int file,
                                                     const char *bytes,
                                                     size_t size)
{
    return (int)write(file, bytes,
                      (size_t)statesampler_priv_min(size, 1u << 30));
}

STATESAMPLER_PRIV_HOSTED int statesampler_priv_flush(int file)
{
    return fsync(file);
}

/* Removed or renamed before it is closed, because closing gives up the
   lock, and the name may then be another writer's. */
STATESAMPLER_PRIV_HOSTED void statesampler_priv_abandon(int file,
                                                        const char *path)
{
    (void)remove(path);
    (void)close(file);
}

/* A rename lasts through a power cut once its folder is on disk. A folder that
   may not be opened, or a file system that cannot flush one, is no error: the
   file itself is already whole. */
STATESAMPLER_PRIV_HOSTED int statesampler_priv_publish(int file,
                                                       const char *from,
                                                       const char *to)
{
    char path[STATESAMPLER_PRIV_PATH];
    size_t i, length = 0;
    int folder;
    if (rename(from, to) != 0) {
        statesampler_priv_abandon(file, from);
        return -1;
    }
    (void)close(file);
    for (i = 0; to[i] != 0; i++) {
        path[i] = to[i];
        if (to[i] == '/') {
            length = i + 1;
        }
    }
    if (length == 0) {
        path[length++] = '.';
    }
    path[length] = 0;
    folder = open(path, O_RDONLY);
    if (folder >= 0) {
        (void)fsync(folder);
        (void)close(folder);
    }
    return 0;
}

#endif

STATESAMPLER_DEF_HOSTED int statesampler_save_file(const char *path,
                                                   const void *bytes,
                                                   size_t size)
{
    static const char suffix[5] = ".tmp";
    char temporary[STATESAMPLER_PRIV_PATH + sizeof suffix];
    const char *from = (const char *)bytes;
    size_t length, i;
    int file, good = 1;
    STATESAMPLER_ASSERT(path && (bytes || size == 0));
    for (length = 0; path[length] != 0; length++) {
        if (length + 1 >= STATESAMPLER_PRIV_PATH) {
            return STATESAMPLER_EINVAL;
        }
        temporary[length] = path[length];
    }
    if (length == 0) {
        return STATESAMPLER_EINVAL;
    }
    for (i = 0; i < sizeof suffix; i++) {
        temporary[length + i] = suffix[i];
    }
    file = statesampler_priv_create(temporary, path);
    if (file < 0) {
        return STATESAMPLER_EIO;
    }
    while (good && size != 0) { /* a turn writes one byte or more, or fails */
        int wrote = statesampler_priv_write(file, from, size);
        if (wrote > 0) {
            from += wrote;
            size -= (size_t)wrote;
        } else if (wrote == 0 || errno != EINTR) {
            good = 0;
        }
    }
    if (!good || statesampler_priv_flush(file) != 0) {
        statesampler_priv_abandon(file, temporary);
        return STATESAMPLER_EIO;
    }
    return statesampler_priv_publish(file, temporary, path) == 0
               ? STATESAMPLER_OK
               : STATESAMPLER_EIO;
}

STATESAMPLER_DEF_HOSTED int statesampler_load_file(const char *path,
                                                   void *bytes,
                                                   size_t capacity,
                                                   size_t *size)
{
    char rest[1024];
    FILE *file;
    size_t got, part, more = 0;
    int code = STATESAMPLER_OK;
    STATESAMPLER_ASSERT(path && (bytes || capacity == 0) && size);
    file = fopen(path, "rb");
    if (!file) {
        return errno == ENOENT ? STATESAMPLER_ENOFILE : STATESAMPLER_EIO;
    }
    got = capacity ? fread(bytes, 1, capacity, file) : 0;
    while (got == capacity && /* ends with the file */
           (part = fread(rest, 1, sizeof rest, file)) != 0) {
        more += part;
    }
    if (ferror(file)) {
        code = STATESAMPLER_EIO;
    } else {
        *size = got + more;
        code = more ? STATESAMPLER_ECAPACITY : STATESAMPLER_OK;
    }
    (void)fclose(file);
    return code;
}

#endif /* STATESAMPLER_HOSTED */

/* --- stb_ds --------------------------------------------------------------
   The state is a first word, the number of datasets, the hashes of their
   names, the state of the mix, and a check word. */

#ifdef STATESAMPLER_STB_DS

#define STATESAMPLER_PRIV_MIXTURE_MAGIC 0x4e4d5353u /* "SSMN" */

/* The end of the text is hashed too, so that no name begins another. */
STATESAMPLER_DEF_HOSTED uint64_t statesampler_mixture_hash(const char *name)
{
    uint64_t hash = 0;
    STATESAMPLER_ASSERT(name);
    do {
        hash = statesampler_priv_derive(hash, (unsigned char)*name);
    } while (*name++ != 0);
    return hash;
}

STATESAMPLER_PRIV_HOSTED size_t
statesampler_priv_mixture_bytes(uint32_t datasets)
{
    return 24 + 8 * (size_t)datasets + statesampler_priv_mix_bytes(datasets);
}

STATESAMPLER_DEF_HOSTED int statesampler_mixture_add(
    statesampler_mixture *mixture, const char *name, uint32_t weight,
    const statesampler_desc *desc)
{
    statesampler_source source;
    uint64_t hash;
    ptrdiff_t i;
    int code;
    STATESAMPLER_ASSERT(mixture && name && desc);
    hash = statesampler_mixture_hash(name);
    code = statesampler_init(&source.sampler, desc);
    for (i = 0; i < shlen(mixture->datasets); i++) {
        if (mixture->datasets[i].value == hash) {
            code = STATESAMPLER_EINVAL;
        }
    }
    if (*name == 0 || code != STATESAMPLER_OK) {
        return STATESAMPLER_EINVAL;
    }
    source.weight = weight;
    if (!mixture->datasets) {
        sh_new_strdup(mixture->datasets);
    }
    /* It copies the key, and wants it without the const. */
    shput(mixture->datasets, (char *)(uintptr_t)name, hash);
    arrput(mixture->sources, source);
    mixture->mix.sources = NULL; /* the array may have moved */
    return STATESAMPLER_OK;
}

STATESAMPLER_DEF_HOSTED int statesampler_mixture_find(
    statesampler_mixture *mixture, const char *name, uint32_t *source)
{
    ptrdiff_t i;
    STATESAMPLER_ASSERT(mixture && name && source);
    i = -1;
    if (mixture->datasets) {
        i = shgeti(mixture->datasets, (char *)(uintptr_t)name);
    }
    if (i < 0) {
        return STATESAMPLER_ERANGE;
    }
    *source = (uint32_t)i;
    return STATESAMPLER_OK;
}

STATESAMPLER_DEF_HOSTED int statesampler_mixture_start(
    statesampler_mixture *mixture, uint32_t stop)
{
    STATESAMPLER_ASSERT(mixture);
    if (!mixture->sources) {
        return STATESAMPLER_EINVAL;
    }
    return statesampler_mix_init(&mixture->mix, mixture->sources,
                                 (uint32_t)arrlenu(mixture->sources), stop);
}

STATESAMPLER_DEF_HOSTED size_t statesampler_mixture_state_bytes(
    const statesampler_mixture *mixture)
{
    STATESAMPLER_ASSERT(mixture && mixture->mix.sources);
    return statesampler_priv_mixture_bytes(mixture->mix.num_sources);
}

STATESAMPLER_DEF_HOSTED int statesampler_mixture_save(
    const statesampler_mixture *mixture, void *out, size_t size)
{
    unsigned char *bytes = (unsigned char *)out;
    uint64_t words[2];
    uint32_t i;
    STATESAMPLER_ASSERT(mixture && mixture->mix.sources && out);
    if (size < statesampler_mixture_state_bytes(mixture)) {
        return STATESAMPLER_ECAPACITY;
    }
    words[0] = STATESAMPLER_PRIV_FIRST(STATESAMPLER_PRIV_MIXTURE_MAGIC);
    words[1] = mixture->mix.num_sources;
    statesampler_priv_put(bytes, words, 16);
    bytes += 16;
    for (i = 0; i < mixture->mix.num_sources; i++, bytes += 8) {
        statesampler_priv_put(bytes, &mixture->datasets[i].value, 8);
    }
    (void)statesampler_mix_save(
        &mixture->mix, bytes, statesampler_mix_state_bytes(&mixture->mix));
    size = statesampler_mixture_state_bytes(mixture) - 8;
    words[0] = statesampler_priv_check((unsigned char *)out, size);
    statesampler_priv_put((unsigned char *)out + size, words, 8);
    return STATESAMPLER_OK;
}

/* Sets up in *mix, over an array that it makes, the mix that saved a state,
   as its rank 0 was then. */
STATESAMPLER_PRIV_HOSTED int statesampler_priv_mixture_past(
    statesampler_mix *mix, statesampler_source **sources,
    const unsigned char *state, uint32_t count)
{
    uint64_t words[STATESAMPLER_PRIV_WORDS];
    size_t size = statesampler_priv_mix_bytes(count);
    uint32_t i, stop;
    for (i = 0; i < count; i++) {
        statesampler_source source;
        statesampler_desc desc;
        statesampler_priv_get(state + STATESAMPLER_PRIV_MIX_HEAD +
                                  STATESAMPLER_PRIV_SOURCE_BYTES * (size_t)i,
                              words, STATESAMPLER_PRIV_SOURCE_BYTES);
        statesampler_priv_describe(words, &desc);
        source.weight = (uint32_t)words[0];
        if (statesampler_init(&source.sampler, &desc) != STATESAMPLER_OK) {
            return STATESAMPLER_ECORRUPT;
        }
        arrput(*sources, source);
    }
    statesampler_priv_get(state, words, 16);
    stop = (uint32_t)(words[1] >> 32);
    return statesampler_mix_init(mix, *sources, count, stop) == STATESAMPLER_OK
               ? statesampler_mix_load(mix, state, size)
               : STATESAMPLER_ECORRUPT;
}

/* Where a dataset of the past goes on in this sampler, or, if it is another
   dataset and may restart, begins again. */
STATESAMPLER_PRIV_HOSTED int statesampler_priv_follow(
    statesampler *s, const statesampler *past, int restart)
{
    unsigned char state[STATESAMPLER_STATE_BYTES];
    int code;
    (void)statesampler_save(past, state, sizeof state);
    code = statesampler_load(s, state, sizeof state);
    if (code != STATESAMPLER_OK && restart) {
        statesampler_priv_begin(s, past->now.epoch);
    }
    return code;
}

STATESAMPLER_DEF_HOSTED int statesampler_mixture_load(
    statesampler_mixture *mixture, const void *state, size_t size,
    int restart)
{
    const unsigned char *bytes = (const unsigned char *)state, *inner;
    statesampler_source *past = NULL, *next = NULL;
    statesampler_mix mix;
    uint64_t words[2], *hashes = NULL;
    uint32_t i, j, count, same, refused;
    int code;
    STATESAMPLER_ASSERT(mixture && mixture->mix.sources &&
                        (state || size == 0));
    arrsetlen(mixture->changes, 0);
    words[1] = 0;
    if (size >= 16) {
        statesampler_priv_get(bytes, words, 16);
    }
    /* More than fit are none, so that no sum of sizes overflows. */
    count = words[1] <= size / 96 ? (uint32_t)words[1] : 0;
    code = statesampler_priv_open(
        bytes, size, statesampler_priv_mixture_bytes(count),
        STATESAMPLER_PRIV_FIRST(STATESAMPLER_PRIV_MIXTURE_MAGIC));
    if (code != STATESAMPLER_OK) {
        return code;
    }
    if (count == 0) {
        return STATESAMPLER_ECORRUPT; /* only a started mixture is saved */
    }
    inner = bytes + 16 + 8 * (size_t)count;
    code = statesampler_priv_mixture_past(&mix, &past, inner, count);
    arrsetlen(hashes, count);
    statesampler_priv_get(bytes + 16, hashes, 8 * (size_t)count);
    for (j = 1; j < count; j++) {
        for (i = 0; i < j; i++) {
            if (hashes[i] == hashes[j]) {
                code = STATESAMPLER_ECORRUPT;
            }
        }
    }
    if (code != STATESAMPLER_OK) {
        arrfree(past);
        arrfree(hashes);
        return code;
    }
    refused = mix.stop != mixture->mix.stop;
    same = count == mixture->mix.num_sources;
    for (i = 0; i < mixture->mix.num_sources; i++) {
        statesampler_source source = mixture->sources[i];
        statesampler_change change;
        change.name = mixture->datasets[i].key;
        change.hash = mixture->datasets[i].value;
        change.source = i;
        change.status = STATESAMPLER_CHANGE_NEW;
        source.finished = 0;
        for (j = 0; j < count && hashes[j] != change.hash; j++) {
        }
        same &= j == i;
        if (j < count) {
            change.status = STATESAMPLER_CHANGE_MATCHED;
            same &= statesampler_priv_weight(past + j) ==
                    statesampler_priv_weight(&source);
            source.finished =
                past[j].finished ||
                past[j].sampler.now.epoch != past[j].base.epoch;
            if (statesampler_priv_follow(&source.sampler, &past[j].sampler,
                                         restart) != STATESAMPLER_OK) {
                change.status = STATESAMPLER_CHANGE_CHANGED;
                source.finished = 0;
                refused |= !restart;
                same = 0;
            }
        } else {
            statesampler_priv_begin(&source.sampler,
                                    source.sampler.now.epoch);
        }
        arrput(next, source);
        arrput(mixture->changes, change);
    }
    for (j = 0; j < count; j++) {
        statesampler_change change;
        for (i = 0; i < mixture->mix.num_sources &&
                    mixture->datasets[i].value != hashes[j];
             i++) {
        }
        if (i == mixture->mix.num_sources) {
            change.name = NULL;
            change.hash = hashes[j];
            change.source = j;
            change.status = STATESAMPLER_CHANGE_REMOVED;
            arrput(mixture->changes, change);
        }
    }
    if (refused) {
        code = STATESAMPLER_EMISMATCH;
    } else if (same) {
        code = statesampler_mix_load(&mixture->mix, inner,
                                     statesampler_priv_mix_bytes(count));
    } else {
        for (i = 0; i < mixture->mix.num_sources; i++) {
            mixture->sources[i] = next[i];
        }
        mixture->mix.epoch = mix.epoch;
        mixture->mix.turn = mix.turn;
        mixture->mix.point = 0;
        statesampler_priv_mix_base(&mixture->mix);
    }
    arrfree(past);
    arrfree(next);
    arrfree(hashes);
    return code;
}

STATESAMPLER_DEF_HOSTED void statesampler_mixture_free(
    statesampler_mixture *mixture)
{
    STATESAMPLER_ASSERT(mixture);
    arrfree(mixture->sources);
    arrfree(mixture->changes);
    shfree(mixture->datasets);
    mixture->mix.sources = NULL;
}

#endif /* STATESAMPLER_STB_DS */

#endif /* STATESAMPLER_IMPLEMENTATION */

/* This software is available under two licences: choose the one you prefer.

   ALTERNATIVE A - MIT License

   Copyright (c) 2026 the statesampler.h authors

   Permission is hereby granted, free of charge, to any person obtaining a copy
   of this software and associated documentation files (the "Software"), to
   deal in the Software without restriction, including without limitation the
   rights to use, copy, modify, merge, publish, distribute, sublicense, and/or
   sell copies of the Software, and to permit persons to whom the Software is
   furnished to do so, subject to the following conditions:

   The above copyright notice and this permission notice shall be included in
   all copies or substantial portions of the Software.

   THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
   IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
   FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
   AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
   LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING
   FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS
   IN THE SOFTWARE.

   ALTERNATIVE B - Public domain (www.unlicense.org)

   This is free and unencumbered software released into the public domain.

   Anyone is free to copy, modify, publish, use, compile, sell, or distribute
   this software, either in source code form or as a compiled binary, for any
   purpose, commercial or non-commercial, and by any means.

   In jurisdictions that recognize copyright laws, the author or authors of
   this software dedicate any and all copyright interest in the software to the
   public domain. We make this dedication for the benefit of the public at
   large and to the detriment of our heirs and successors. We intend this
   dedication to be an overt act of relinquishment in perpetuity of all present
   and future rights to this software under copyright law.

   THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
   IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
   FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
   AUTHORS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN
   ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION
   WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
*/
