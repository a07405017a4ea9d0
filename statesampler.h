/* statesampler.h - v0.10.0 - shuffled sample indices for training runs, in one
   header. Public domain or MIT, see the end of the file.

   Do this:

       #define STATESAMPLER_IMPLEMENTATION

   before you include this file in *one* C or C++ file. In all other files
   include it without that line.


WHY

   A training run over n samples needs the next batch of shuffled indices at
   every step and on every rank: every sample exactly once in an epoch, in a new
   order in each epoch, and after a crash, or on another number of GPUs, the
   very next batch without a wait. The usual samplers hold a permutation of all
   n indices on every rank, and resume by skipping batches for hours. This one
   computes each index from its position with a keyed bijection. The position is
   therefore the whole state, and it takes no time to resume, to seek or to
   change the number of ranks. The library allocates nothing, calls no other
   library, has no global variables and uses no floating point.


EXAMPLE

     #define STATESAMPLER_IMPLEMENTATION
     #define STATESAMPLER_HOSTED
     #include "statesampler.h"
     #include <stdio.h>
     #include <stdlib.h>

     static void train(const uint64_t *samples, size_t count)
     {
         size_t i;

         for (i = 0; i < count; i++)
             printf(i + 1 < count ? "%d " : "%d\n", (int)samples[i]);
         if (fflush(stdout) != 0 || ferror(stdout)) {
             perror("quickstart");
             exit(1);
         }
     }

     int main(void)
     {
         const statesampler_desc desc = {
             .num_samples = 1000,
             .seed = 42,
             .rank = 0,
             .world_size = 1,
             .batch_size = 8,
         };
         const char *path = "quickstart.state";
         unsigned char state[STATESAMPLER_STATE_BYTES];
         uint64_t batch[8];
         size_t count;
         statesampler s;
         int code = statesampler_init(&s, &desc);

         if (code == STATESAMPLER_OK)
             code = statesampler_load_file(path, state, sizeof state, NULL);
         if (code == STATESAMPLER_OK)
             code = statesampler_load(&s, state, sizeof state);
         if (STATESAMPLER_KIND(code) == STATESAMPLER_ENOFILE)
             code = STATESAMPLER_OK;
         while (code == STATESAMPLER_OK && statesampler_epoch(&s) < 2) {
             if (statesampler_next(&s, batch, &count))
                 train(batch, count);
             if (desc.rank == 0 && statesampler_step(&s) % 50 == 0) {
                 statesampler_save(&s, state, sizeof state);
                 code = statesampler_save_file(path, state, sizeof state);
             }
         }
         if (STATESAMPLER_KIND(code) == STATESAMPLER_EIO)
             perror(path);
         else
             puts(code == STATESAMPLER_OK ? "done" : statesampler_error(code));
         return code != STATESAMPLER_OK || fflush(stdout) != 0;
     }


TERMS

   sample       one item of the dataset. Its index is a number from 0 to
                num_samples - 1.
   epoch        one pass over the dataset.
   position     a place in an epoch, counted from 0.
   order        the rule that says which sample is served at each position.
   rank         one of world_size processes that train together, counted from 0.
   step         the positions that all ranks take at the same time. Each rank
                takes one batch of them, of batch_size samples.
   slot         a place in a rank's batch, counted from 0.
   shape        world_size and batch_size together.
   base         the position and step from which the present shape counts.
   tail         what happens at the end of an epoch that does not divide into
                full steps. Padding fills a step with samples that were served
                before.
   description  the numbers that a sampler is made from: statesampler_desc.
   state        the bytes from which a run goes on.
   stream       a number that tells datasets of one run apart.
   mix          several datasets, its sources, which take turns.
   turn         a step of one source of a mix.
   perm         a permutation of the numbers below n, also for use without a
                sampler.
   algorithm    the computation that makes all orders. It has a number, and so
                far there is only 1.


GUARANTEES

   - Every sample is served exactly once in an epoch, over all ranks, through
     any saves, loads, kills and changes of ranks and batch size, except for the
     padding or dropping that you asked for. (With the order REPLACEMENT, which
     draws at random, every position is served once.)
   - The order depends on the epoch, the algorithm number and the description,
     but not on its rank, batch_size and drop_last, and on world_size only with
     BLOCKED. It is the same for every compiler, flag, word size and byte order.
     The output of an algorithm number never changes.
   - A sampler's state is 112 bytes, the same on every rank and machine.
   - A call that fails returns an error and changes no sampler, mix or perm.
   - The time of a call does not depend on the position or the epoch, and hardly
     on num_samples: few samples need more rounds and short walks, and more than
     2^30 samples need wider arithmetic. The time of a mix grows with its
     sources, but not with its turns.
   - A sampler is at most 512 bytes, a source 544, a mix 80. The stack stays
     below 1 KiB on Cortex-M, RV32 and AVR, below 4 KiB on other processors
     (s390x: 6 KiB), and below 10 KiB in the hosted part (Windows: 40 KiB).
   - Functions that take a const sampler or mix may be called from any number of
     threads at once. A sampler holds no pointers and may be copied with `=`.

   All this holds up to turn 2^62 of a mix's epoch and up to step 2^63 of a run
   with the tail CARRY. To get there takes centuries.

   The library is not cryptographic: seeds are not secrets. A load checks a
   state for damage, and for values that would break the arithmetic. But anybody
   can compute the check word, so a forged state may name a place that no run
   has reached. It is not a loader, either: it says which samples to read, and
   you read them.


HOW TO

   Each recipe is part of a program in examples/ that the tests run. A field
   that you leave out of a description is zero, and zero is the default.
   (In C++ before C++20, write `statesampler_desc desc = {}; desc.seed = 42;`.)

   Copy the loop of the example. Each process sets its own rank, below
   world_size. At the end of an epoch next returns 0, once, and the next epoch
   has then begun. So loop until next returns 0, or test epoch(). After a loop
   of num_steps calls, call next once more, to take that 0. The example saves
   every 50 steps, and at the end of an epoch, where the step is 0. A run that
   is killed repeats the steps after its last save. train ends the program if it
   fails, so no saved state counts a batch that failed.

   Save the state together with the weights, after the step that used the batch.
   The state of one rank restores every rank, on any number of ranks and with
   any batch size, as long as all ranks were at the same step: see the next
   recipe. If a load fails, statesampler_error says why, and
   statesampler_describe says what the state holds. examples/resume.c keeps
   state and weights in one file; recipe_large.c is for weights that are too
   large to copy.

   Many ranks. (examples/recipe_ranks.c)

     static int run(statesampler_desc *desc)
     {
         size_t count;
         statesampler s;
         int code = statesampler_from_env(desc, NULL);

         desc->num_samples = 1000;
         desc->seed = 42;
         desc->batch_size = 8;
         if (code == STATESAMPLER_OK)
             code = statesampler_init(&s, desc);
         if (code != STATESAMPLER_OK)
             return code;
         while (statesampler_next(&s, batch, &count))
             train(count);
         return STATESAMPLER_OK;
     }

   The seed must be the same on every rank, and after each step of the training
   all ranks must be at the same step of the sampler. Otherwise samples are lost
   and repeated, and no call returns an error. To check this, compare the states
   of the ranks: they must be the same bytes on all of them. same_step of
   examples/recipes_parallel.c compares them, and says which rank is at which
   step. Compare the states before you resume from one of them, and again after
   all ranks have loaded. If all ranks load one file, no rank may save to it
   before the last one has loaded, or that one loads a later step.

   Some ranks do not step together: machines that each scan a part of the
   dataset at their own pace, for example. They are at different steps, and the
   state of one says nothing about the others. Let each of them go on from its
   own state, on as many ranks as before. Or let one process deal out the
   samples, as examples/ledger.c does.

   from_env gives the rank among all processes. Where several processes work on
   the same sample (tensor, pipeline or context parallelism), divide rank and
   world_size by the number of processes that do.

   Threads that load ahead. (examples/workers.c)

     static void *load(void *argument)
     {
         loaded *job = (loaded *)argument;
         size_t i;

         statesampler_at(job->plan, job->step, job->indices, &job->count);
         for (i = 0; i < job->count; i++)
             job->records[i] = read_sample(job->indices[i]);
         return NULL;
     }

   Loaders call `at` for steps to come, from any number of threads. `at` also
   suits iterators that are called again after the end, as it returns 0 there
   every time. The training loop moves a sampler of its own with
   next(&s, NULL, NULL), so the state says what was trained on.

   Several datasets in turns. (examples/recipe_datasets.c)

     static int run(void)
     {
         statesampler_source sets[3];
         statesampler_mix mix;
         uint64_t batch[16];
         uint32_t source;
         size_t count;
         int code = STATESAMPLER_OK;

         for (source = 0; source < 3 && code == STATESAMPLER_OK; source++) {
             const statesampler_desc desc = {
                 .num_samples = length[source],
                 .seed = 42,
                 .stream = source,
                 .batch_size = 16,
             };

             sets[source].weight = weight[source];
             code = statesampler_init(&sets[source].sampler, &desc);
         }
         if (code == STATESAMPLER_OK)
             code = statesampler_mix_init(&mix, sets, 3, STATESAMPLER_STOP_ALL);
         while (code == STATESAMPLER_OK &&
                statesampler_mix_next(&mix, batch, &count, &source))
             train(source, batch, count);
         return code;
     }

   All samples of a batch are from one dataset. To mix datasets inside a batch,
   give all samplers world_size 1 and batch_size 1, so that a turn is one
   sample, and let each rank call mix_at for its turns of a step. Deal the turns
   to other ranks in each step, as examples/blend.c does, or a rank may see the
   same few datasets for ever. Datasets with names can be added and removed
   during a run: see statesampler_mixture.

   examples/README.md lists the other recipes, and where each one is.


FUNCTIONS

   Their names begin with statesampler_, which is left out here (KIND and
   VERSION_NUMBER are macros that begin with STATESAMPLER_). The comments at the
   declarations have the details.

   perm: a keyed bijection on [0, n)
   perm_init              sets one up from n, seed, epoch and stream
   perm_at, perm_inverse  index at a position, position of an index
   perm_fill, perm_map    many at once: with a stride, or from a list

   sampler: a rank's batches
   init                   at the start of an epoch
   next                   the next batch
   at, seek               the batch of any step; makes any step the next
   begin, set_epoch       go to the start of an epoch
   reshape, resize        other ranks or batch size; other number of samples
   epoch, step, position  where the sampler is
   base                   the first step that at and seek reach
   num_steps, get_counts  the epoch in numbers
   padding                how many samples of a batch are repeats
   sample_seed            64 random bits for a sample
   hash                   a stream for a dataset, from what identifies it
   locate                 step, rank and slot of a sample
   save, load, describe   the state

   mix: samplers that take turns
   mix_init
   mix_next, mix_at, mix_seek
   mix_weigh, mix_reshape              other weights; other ranks
   mix_epoch, mix_turn, mix_num_turns
   mix_offset, mix_locate
   mix_state_bytes, mix_save, mix_load, mix_describe
   mix_state_in, mix_source_in         states inside of a state

   audit: proof in 32 bytes that an epoch was served exactly once
   audit_add, audit_merge, audit_check

   error, KIND            a code in words; the kind of a code
   version                VERSION_NUMBER of the implementation

   hosted: with a C library (STATESAMPLER_HOSTED)
   from_env               rank and world size from the launcher's variables
   save_file, load_file   a file that a crash leaves whole, old or new

   mixture: a mix of datasets with names (STATESAMPLER_STB_DS)
   mixture_add, mixture_remove, mixture_find, mixture_start, mixture_free
   mixture_state_bytes, mixture_save, mixture_load


SHAPES, ORDERS, TAILS

   W = world_size, B = batch_size (samples per rank and step), G = W * B.

   Step t of an epoch is the positions tG .. (t+1)G - 1; the last step is what
   is left. Slot j of rank r in step t is position tG + jW + r. When another
   shape goes on at position c, the same holds with steps and positions counted
   from c. So 8 ranks can serve the first part of an epoch, then 3, then 5. As
   long as G stays the same, a full step has the same samples for any W (except
   with BLOCKED).

   The base is the position and step from which the present shape counts, 0 in a
   fresh epoch. at, seek, padding and locate reach back to it, but not farther;
   begin goes back to position 0. Steps go on counting through all shapes.
   If a reshape, a resize or a load changes the shape or the number of samples,
   the base moves to the present position. A load in the shape of the state
   takes over the state's base. It moves the base only if the state has served a
   last step that the sampler's drop_last leaves out.

   Order: which sample is served at position p of an epoch.
   SHUFFLE      (default) a permutation of the dataset.
   SEQUENTIAL   sample p.
   WINDOW       for data that is read in chunks. Full chunks of chunk_size
                consecutive samples come in a permuted order; a short last chunk
                stays last. `window` chunks in that order form a window (the
                last window may have fewer), and the positions inside a window
                are permuted. So a reader has at most `window` chunks open.
                (With the tail PAD the last step may repeat the first positions,
                and so open the first window again.) If the last window has few
                chunks, the last steps are of these alone. So take a `window`
                for which chunks % window is 0 or not much smaller than it: 61,
                not 64, for 1,025 chunks (examples/even_window.c).
   REPLACEMENT  independent uniform draws. locate does not work with it.

   Partition: which samples the positions run over.
   INTERLEAVED  (default, as torch's DistributedSampler) the whole dataset.
                D = num_samples.
   BLOCKED      (as VISSL's stateful sampler) the dataset is cut into P blocks
                of neighbours. P is the world_size of the run that began the
                epoch, and the first num_samples mod P blocks have one sample
                more. Position p is number p / P of block p mod P, and each
                block has an order of its own. While W = P, rank r reads block
                r only. D is num_samples. With the tail PAD it is rounded up to
                a multiple of P. With DROP it is rounded down: all blocks have
                num_samples / P samples, and the last num_samples mod P samples
                are in no block.

   Tail: where the epoch ends, for a shape with base c.
   PAD          (default, as torch) at c + W * ceil(max(D - c, 0) / W): what is
                left, rounded up to a multiple of W. A position p >= num_samples
                is padding, and repeats the sample of position p mod
                num_samples. (With BLOCKED it repeats the first of block
                p mod P, unless that block is empty.)
   DROP         at c + W * floor(max(D - c, 0) / W): the same, rounded down.
   UNEVEN       at num_samples, for exact evaluation. Ranks differ by at most
                one sample; in the last step a rank may have an empty batch.
   CARRY        for pre-training: the next epoch follows inside the same batch,
                and next never returns 0. Steps count from the start of the run;
                epoch and position are those of the next sample. When that
                sample is 2^62 positions or more past the base, the base moves
                to it. In a mix it moves more often: see MIXES. To audit an
                epoch, split the batches that end it: if the sampler was at
                position c of epoch e before a step, slot j of that step
                belongs to epoch e + (c + rank + j * W) / num_samples, rounded
                down (recipe_pretrain.c).
   With every tail all ranks take the same number of steps.

   drop_last    (as in torch's BatchSampler; the drop_last of DistributedSampler
                is the tail DROP) leaves out the last step on all ranks unless
                it is full, and padding counts. So with PAD on several ranks, a
                last step that padding has filled is kept, and repeats samples.
                If no sample may come twice, set the tail DROP, too. A state can
                be loaded with any drop_last.

   Epochs advance by themselves: next returns 0 once at the end, and the sampler
   is then at step 0 of the next epoch. A state that was saved before that 0 is
   at the end of its epoch. Nothing is left to serve then, unless DROP or
   drop_last left samples out: a smaller shape may have another step for these.
   Epochs count modulo 2^64.

   init returns EINVAL for:
   - num_samples > 2^62, rank >= world_size, world_size * batch_size >= 2^62;
   - an order, partition, tail or drop_last that does not exist;
   - WINDOW with chunk_size or window 0, or chunk_size * window >= 2^62 (the
     other orders ignore both);
   - CARRY with no samples, with BLOCKED or with drop_last;
   - a batch_size above 65,535 on a machine whose size_t has 16 bits.
   A dataset may be empty; its epochs have no steps. W may exceed num_samples.


MIXES

   A mix takes turns among datasets, its sources. Each source has a sampler of
   its own, with its own length, order, tail, epochs and batch_size; all have
   the same rank and world_size. A turn is the next step of one source. All
   ranks take the same turns.

   A source takes turns if it has steps and its weight is not STATESAMPLER_OFF.
   D is the number of these sources, and they are counted from 0. Whose turn it
   is follows from one endless sequence, given in ALGORITHM 1.
   With equal weights it is 0, 1, ..., D - 1, 0, ... With other weights each
   source has exactly `weight` turns in every period, which is as long as the
   sum of the weights. Inside a period a source is ahead of its share, or
   behind it, by at most L / 2 turns, where L is log2(D) rounded up: two turns
   for D = 16, five for D = 1,000.

   The stop rule says what happens at the turn of a source that has nothing
   left, and so when an epoch of the mix ends. The formulas give the turns of an
   epoch with equal weights, where source i has n_i steps.
   FIRST        (default) the epoch ends: min(n_i * D + i).
   ALL          the source is passed over, until all have finished: sum(n_i).
   RESTART      the source begins its next epoch. The epoch of the mix ends when
                the last source is about to do so: max(n_i * D + i).
   NEVER        the source begins its next epoch, and the mix has no end.
   Three sources of 3, 4 and 5 steps make 9, 12, 17 turns and no end. With FIRST
   and ALL the steps of a source are those of its present epoch, served or not;
   with RESTART and NEVER those of a whole epoch in this shape.

   The next epoch of the mix begins by itself, and the sequence begins again.
   Every source that has served steps of its epoch begins its next one. A source
   that is off keeps its place, unless it has served steps of its epoch and has
   none left: then it begins the next. Any turn can be computed without those
   before it.

   Weights may change at any turn (mix_weigh): the sources go on where they are,
   and the sequence begins again with the new weights. A schedule is a table of
   turns and weights. On all ranks, call mix_weigh at the same point of the
   loop, always before or always after the save. Make a stage several periods
   long. A sequence begins with its heaviest source: if weights near 3 and 2
   change at every turn, each turn is the first of a sequence, and the lighter
   source never has one. For shorter stages use
   examples/extras/schedule.h, which carries what each source is owed. at and
   seek know the present weights only. To look past a change, seek its turn,
   weigh, and go on from there (examples/blend.c).

   A mix is elastic as a sampler is. It has a base of its own: the turn to which
   mix_at, mix_seek and mix_locate reach back. mix_init, mix_weigh, mix_load and
   a mix_reshape to other ranks move it to the present turn. So does the mix
   itself when a source with CARRY is 2^62 positions past the base. When the
   mix's base moves, the base of each source with CARRY moves, too.

   After a change of ranks the sequence goes on, unless a source has steps in
   only one of the two shapes: then it begins again. With RESTART such a change
   ends the mix's epoch at once if every source that still takes turns has
   already begun another epoch in it.

   The number of a sample among those of all sources, as ConcatDataset counts,
   is statesampler_mix_offset of its source plus its index.

   mix_init returns EINVAL for:
   - no sources, or a stop that does not exist;
   - samplers that differ in rank or world_size;
   - weights that are all OFF, or sum to 2^31 or more (OFF is not counted);
   - num_samples that sum to 2^62 or more;
   - stop RESTART or ALL, if for some source (steps / weight + 1) * the sum of
     all weights is above 2^62, where steps are those of a whole epoch, and
     steps / weight is rounded down;
   - a sampler with CARRY, unless stop is NEVER;
   - stop NEVER, if no source has steps.
   With FIRST, ALL and RESTART a mix without steps is a valid, empty epoch.

   Only the mix may move its samplers, but you may call any function that does
   not move them. To prefetch, use mix_at, or load the mix's state into a second
   mix.


OPTIONS

   In the one file with the implementation, before the include:
   STATESAMPLER_IMPLEMENTATION  makes the implementation.
   STATESAMPLER_ASSERT(x)       checks for programming errors (a null pointer, a
                                sampler never initialised). The default does
                                nothing.
   STATESAMPLER_AVX2            an expression that says if the processor, an
                                x86-64, has AVX2: fills then take half of the
                                time. HOSTED has one. Define it as 0 if the
                                linker does not find __cpu_model (zig cc). With
                                0, with -Os, on Windows, or if this file has
                                another name, only -mavx2 makes code for AVX2.
   STATESAMPLER_ONLY_SHUFFLE    makes a quarter less code, for small chips: only
                                SHUFFLE, INTERLEAVED and PAD. init, load and
                                describe refuse the rest (EINVAL_LEFT_OUT).

   Wherever you include this file, the same everywhere:
   STATESAMPLER_STATIC          makes every function static. Each file that
                                defines it has its own copy, and must define
                                STATESAMPLER_IMPLEMENTATION too.
   STATESAMPLER_API             stands before every public declaration, for an
                                export attribute, say. In CUDA and HIP define
                                it as __host__ __device__, together with
                                STATESAMPLER_STATIC.
   STATESAMPLER_HOSTED          adds the hosted part, which needs a C library
                                and POSIX or Windows. Where off_t has 32 bits,
                                compile with -D_FILE_OFFSET_BITS=64.
   STATESAMPLER_STB_DS          adds mixtures. Include stb_ds.h before
                                this file.
   None of them changes a struct or an order.

   For a small core, compile with -Os -ffunction-sections and link with
   --gc-sections. Microsoft's targets were tried with clang, not with MSVC.


STATE FORMAT

   A sampler's state is format 1: 14 words of 64 bits, little-endian.

   bytes     field
   0 .. 3    magic "SSMP"
   4 .. 5    format, 1
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

   The step is the base step plus the positions since the base, divided by
   world_size * batch_size and rounded up. With CARRY, positions since the base
   may run over several epochs of num_samples positions each.

   Fields marked * must match the loading sampler's. load checks in this order:
   magic, format, size, check word, algorithm, the fields' ranges, the match.

   A mix's state is format 2: 48 bytes and 120 for each source.

   bytes     field
   0 .. 3    magic "SSMX"
   4 .. 7    format, 2, and algorithm number, 1
   8 .. 11   number of sources *
   12 .. 15  stop              *
   16 .. 23  epoch of the mix
   24 .. 31  turn
   32 .. 39  place in the sequence
   for each source:
      4 bytes    weight in use, 2^32 - 1 if it is off
      4 bytes    bit 0: it has begun another epoch in this one of the mix;
                 bit 1: it takes turns
      112 bytes  its sampler's state
   and the check word over all words before it.

   A mixture's state is format 2 too: 72 bytes and 128 for each dataset.

   bytes     field
   0 .. 3    magic "SSMN"
   4 .. 7    format, 2, and algorithm number, 1
   8 .. 15   number of datasets
   for each dataset 8 bytes: the hash of its name and the final 0
   a mix's state, whole
   and the check word over all words before it.


ALGORITHM 1

   All words are unsigned and wrap around; >> shifts in zeros. GOLDEN is
   0x9e3779b97f4a7c15.

   scramble(x), on 64 bits (the finaliser of SplitMix64: Steele, Lea, Flood,
   Fast splittable pseudorandom number generators, 2014; Stafford's variant
   13):
       x = (x xor (x >> 30)) * 0xbf58476d1ce4e5b9
       x = (x xor (x >> 27)) * 0x94d049bb133111eb
       x xor (x >> 31)
   derive(k, v) = scramble(k + v + GOLDEN).
   K = derive(derive(derive(0, seed), epoch), stream).

   perm(n, K) for n >= 1, a generalised Feistel network (Black and Rogaway,
   Ciphers with arbitrary finite domains, 2002) with cycle walking:
   - a = the ceiling of the square root of n, rounded up to even; b =
     ceil(n / a), at least 3. Position i is the pair l = i div b, r = i mod b.
   - rounds: 24 for n < 2^13, 12 for n < 2^24, 8 above.
   - round keys come from the words scramble(S + j * GOLDEN), j = 1, 2, ...,
     with S = derive(K, n). Up to n = 2^30 ("narrow", w = 16) a word holds the
     keys of two rounds, the low 32 bits first; above ("wide", w = 32) a word
     is one round's. Of a round's key, add is the low w bits, mul the high w
     bits with the highest bit set.
   - rounds are numbered t = 0, 1, ... An even one sets l to
     (l - F(r, a)) mod a, an odd one sets r to (r - F(l, b)) mod b.
   - F(h, m) in round t, with that round's add and mul:
         x = h xor add
         y = (x * mul) >> w
         z = (x * y) mod 2^w
         s = m - floor(t / 2) * floor(m / 1024)
         (z * s) >> w
   - the result is l * b + r; while it is n or more, all rounds are applied
     to it again. The inverse adds instead, last round first, and walks in
     the same way.
   With 18, 8 and 6 rounds in these three ranges, no test of tests/quality told
   the result from a Fisher-Yates shuffle, at any n that it tried. The numbers
   above are a third more, rounded up to even.

   Orders over n samples with key k; k = K or, if BLOCKED, each block has
   k = derive(K, 2^63 + block); n is the number of the block's samples, and p
   a number in the block. Blocks, windows, chunks and numbers are counted from
   0.
   SHUFFLE      perm(n, k).
   WINDOW       chunks by perm(number of full chunks, k); the m positions of
                window w by perm(m, derive(k, 2^63 + 2^62 + w)), where value q
                is sample q mod chunk_size of the window's chunk
                q div chunk_size.
   REPLACEMENT  position p: S = derive(k, 2^62 + p); the first of
                scramble(S + j * GOLDEN), j = 1, 2, ..., whose bitwise AND with
                the smallest 2^e - 1 that is n - 1 or more is below n. That AND
                is the sample.

   The seed of a sample: derive(derive(K, 2^63 + 2^61), index), K of the epoch.
   The hash of bytes: for each byte c, h = derive(h, c).

   The sequence of a mix. The D sources that take turns are the leaves of a
   tree: even numbers to the left of the root, odd ones to its right, the next
   level by the next bit, and so on. A node's weight is the sum of its leaves'.
   Of the first m turns of a node of weight w, its right child of weight a has
   had ceil((m * a - floor(w / 2)) / w), and its left child the rest. The
   sequence is frozen, too: states hold a place in it.


CHANGES

   0.10.0 STATESAMPLER_VERSION_NUMBER and statesampler_version;
          STATESAMPLER_MIX_STATE_BYTES. With HOSTED, fills use AVX2 where the
          processor has it, without an option.
          Of the files in examples/: headers in extras return codes of their
          own where they returned EINVAL and so on, and bag.h returns codes
          where it returned sentences: extras/README.md lists them. (They have
          no STATESAMPLER_KIND.) schedule_seek goes back, too, schedule_at
          answers for any turn, and a source that has a share must have steps.
          Python: StatefulLoader and CountingDataLoader count what the outermost
          loader returns. A sampler whose loop nothing counts has no state, and
          read_ahead= is an error. A loop refuses a dataset of another length
          than the sampler's, and a loader that ends before it. Sampler and Mix
          keep a history in their states, which older versions do not load:
          save(history=False) is the old form. at and locate answer from it;
          straight=True is the former answer. In a state_dict of
          StatefulDistributedSampler or RoundRobinBatchSampler it is an entry of
          its own, which older versions pass over. Mix and
          RoundRobinBatchSampler go on with a loaded state's weights, and have
          weigh. Mix has names, batch sizes and Schedule. Sampler and
          StatefulDistributedSampler have weights=, all have padding, and
          BlendedBatchSampler is new. The wheel needs no compiler on Linux,
          macOS and Windows.
          JavaScript: statesampler/steering has histories and schedules.
   0.9.3  statesampler_base, and statesampler_mix_state_in and
          statesampler_mix_source_in, which find states inside a state.
          Of the files in examples/, schedule.h and history.h are new, and
          edits.h has the caller's arrays and a state of its own.
   0.9.2  every rule of an error has a name, as STATESAMPLER_EINVAL_RANK; its
          number and sentence are as before. The folders of examples/ have
          moved: the README says where. A JavaScript mixture refuses an
          empty state as ECORRUPT, no longer by a TypeError. An empty file in a
          folder of shards.h is SHARDS_ESHARD.
   0.9.1  resize after padding loses no sample: the epoch goes on at the old
          num_samples. The files in examples/ have changed more. The states of
          bag.h are 16 bytes, no longer two words. shards.h returns codes, and
          slots_begin takes a record and its size. edits.edit is edits.made. A
          state of faiss_subset.h of 0.9.0 is refused, as its tail was PAD.
          indices and `python -m statesampler` answer only if --straight says
          that the run had no seek, no begin and no other weights.
   0.9.0  The interface of 1.0, unless its users find fault with it.
*/

#ifndef STATESAMPLER_H
#define STATESAMPLER_H

#include <stddef.h>
#include <stdint.h>

#define STATESAMPLER_VERSION "0.10.0"
/* The same as major * 10000 + minor * 100 + patch, for #if. */
#define STATESAMPLER_VERSION_NUMBER 1000
#define STATESAMPLER_ALGORITHM 1

/* A cast in C's form would warn in C++ files of yours (-Wold-style-cast). */
#ifdef __cplusplus
#define STATESAMPLER_MAX_SAMPLES (static_cast<uint64_t>(1) << 62)
#define STATESAMPLER_NONE (~static_cast<uint64_t>(0))
#else
#define STATESAMPLER_MAX_SAMPLES ((uint64_t)1 << 62)
#define STATESAMPLER_NONE (~(uint64_t)0)
#endif
#define STATESAMPLER_STATE_BYTES 112
/* The size of the state of a mix, also as a constant. */
#define STATESAMPLER_MIX_STATE_BYTES(num_sources) \
    (48 + sizeof(char[120]) * (num_sources))

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

/* A function that returns int returns a negative code if it fails. Each code is
   a rule that was broken, and each rule belongs to one of nine kinds. A program
   mostly needs the kind, STATESAMPLER_KIND(code), and prints
   statesampler_error(code), which is one of the sentences below. The comments
   at the functions name kinds without their prefix, each with its cause. */
#define STATESAMPLER_OK 0
#define STATESAMPLER_EINVAL (-100)
#define STATESAMPLER_ERANGE (-200)
#define STATESAMPLER_ECORRUPT (-300)
#define STATESAMPLER_EVERSION (-400)
#define STATESAMPLER_EMISMATCH (-500)
#define STATESAMPLER_EENV (-600)
#define STATESAMPLER_EIO (-700)
#define STATESAMPLER_ENOFILE (-800)
#define STATESAMPLER_ECAPACITY (-900)
#define STATESAMPLER_KIND(code) ((code) / 100 * 100)

/* The kinds, and below them the rules. X is a macro of yours that gets each of
   them as a name, a number and a sentence. Use the name with # or ## only, as
   <errno.h> has macros of these names. EIO, ENOFILE and ECAPACITY have no
   rules: a code is then the kind itself. */
#define STATESAMPLER_KINDS(X) \
    X(EINVAL, -100, "a description or argument is impossible") \
    X(ERANGE, -200, "there is no such step, or it does not serve the sample") \
    X(ECORRUPT, -300, "the state is damaged") \
    X(EVERSION, -400, "the state is of another format or algorithm") \
    X(EMISMATCH, -500, \
      "the state belongs to another dataset, seed, order or mix") \
    X(EENV, -600, \
      "the launcher's environment variables are incomplete or wrong") \
    X(EIO, -700, "the file could not be read or written; errno says why") \
    X(ENOFILE, -800, "there is no such file") \
    X(ECAPACITY, -900, "the buffer is too small")

/* Each rule is a constant: STATESAMPLER_EINVAL_NUM_SAMPLES is -101. Numbers
   keep their meaning, and none is given to another rule. */
#define STATESAMPLER_RULES(X) \
    X(EINVAL_NUM_SAMPLES, -101, "num_samples is above 2^62") \
    X(EINVAL_RANK, -102, "rank is not below world_size") \
    X(EINVAL_GLOBAL_BATCH, -103, "world_size * batch_size is 2^62 or more") \
    X(EINVAL_ORDER, -104, "order is not one of STATESAMPLER_ORDER_...") \
    X(EINVAL_PARTITION, -105, "partition is not one of ..._PARTITION_...") \
    X(EINVAL_TAIL, -106, "tail is not one of STATESAMPLER_TAIL_...") \
    X(EINVAL_DROP_LAST, -107, "drop_last is neither 0 nor 1") \
    X(EINVAL_CHUNK_SIZE, -108, "the order WINDOW needs a chunk_size") \
    X(EINVAL_WINDOW, -109, "the order WINDOW needs a window") \
    X(EINVAL_CHUNKS, -110, "chunk_size * window is 2^62 or more") \
    X(EINVAL_CARRY_EMPTY, -111, "CARRY needs at least one sample") \
    X(EINVAL_CARRY_BLOCKED, -112, "CARRY needs the partition INTERLEAVED") \
    X(EINVAL_CARRY_DROP_LAST, -113, "CARRY has no last step to drop") \
    X(EINVAL_BATCH_SIZE, -114, "batch_size does not fit a size_t") \
    X(EINVAL_LEFT_OUT, -115, "this build has only SHUFFLE, INTERLEAVED, PAD") \
    X(EINVAL_NO_SOURCES, -120, "a mix needs at least one source") \
    X(EINVAL_STOP, -121, "stop is not one of STATESAMPLER_STOP_...") \
    X(EINVAL_SOURCE_RANK, -122, "the sources differ in rank") \
    X(EINVAL_SOURCE_WORLD_SIZE, -123, "the sources differ in world_size") \
    X(EINVAL_ALL_OFF, -124, "all sources are off") \
    X(EINVAL_SOURCE_SAMPLES, -125, "the sources have 2^62 samples or more") \
    X(EINVAL_SOURCE_CARRY, -126, "a source with CARRY needs stop NEVER") \
    X(EINVAL_WEIGHTS, -127, "the weights sum to 2^31 or more") \
    X(EINVAL_SEQUENCE, -128, "a source has too many steps for its weight") \
    X(EINVAL_NO_STEPS, -129, "stop NEVER needs a source with steps") \
    X(EINVAL_NAME_EMPTY, -130, "the dataset's name is empty") \
    X(EINVAL_NAME_TAKEN, -131, "there is already a dataset of this name") \
    X(EINVAL_NOT_STARTED, -132, "the mixture has not been started") \
    X(EINVAL_REPLACEMENT, -140, "locate does not work with REPLACEMENT") \
    X(EINVAL_PATH, -141, "the path is empty or too long") \
    X(EINVAL_RESIZE, -142, "resize needs SEQUENTIAL and INTERLEAVED") \
    X(ERANGE_BASE, -201, "the step or turn is before the base") \
    X(ERANGE_END, -202, "the step or turn is past the end of the epoch") \
    X(ERANGE_FAR, -203, "the step or turn is too far from the base") \
    X(ERANGE_INDEX, -204, "index is not below num_samples") \
    X(ERANGE_DROPPED, -205, "this epoch does not serve the sample") \
    X(ERANGE_SERVED, -206, "the sample was served before the base") \
    X(ERANGE_SOURCE, -207, "the mix has no source of this number") \
    X(ERANGE_NAME, -208, "no dataset has this name") \
    X(ERANGE_OFF, -209, "the source is off") \
    X(ERANGE_POSITION, -210, "num_samples is below the position") \
    X(ECORRUPT_SIZE, -301, "the size of the state or file is wrong") \
    X(ECORRUPT_MAGIC, -302, "this is not a state of this kind") \
    X(ECORRUPT_CHECK, -303, "the state's bytes have changed") \
    X(ECORRUPT_DESC, -304, "init refuses the state's description") \
    X(ECORRUPT_ZERO, -305, "a reserved field of the state is not 0") \
    X(ECORRUPT_BLOCKS, -306, "the state's blocks are impossible") \
    X(ECORRUPT_BASE, -307, "the state's base is impossible") \
    X(ECORRUPT_POSITION, -308, "the state's position is impossible") \
    X(ECORRUPT_SOURCES, -309, "the mix's state has no sources") \
    X(ECORRUPT_STOP, -310, "the state's stop rule does not exist") \
    X(ECORRUPT_TURN, -312, "the state's turn is impossible") \
    X(ECORRUPT_NAMES, -314, "the state has a name twice") \
    X(ECORRUPT_WEIGHTS, -315, "the state's weights are impossible") \
    X(EVERSION_FORMAT, -401, "the state's format is newer or older") \
    X(EVERSION_ALGORITHM, -402, "the state is of another algorithm") \
    X(EMISMATCH_NUM_SAMPLES, -501, "the state has another num_samples") \
    X(EMISMATCH_SEED, -502, "the state has another seed") \
    X(EMISMATCH_STREAM, -503, "the state has another stream") \
    X(EMISMATCH_ORDER, -504, "the state has another order") \
    X(EMISMATCH_CHUNK_SIZE, -505, "the state has another chunk_size") \
    X(EMISMATCH_WINDOW, -506, "the state has another window") \
    X(EMISMATCH_PARTITION, -507, "the state has another partition") \
    X(EMISMATCH_TAIL, -508, "the state has another tail") \
    X(EMISMATCH_SOURCES, -509, "the state has more or fewer sources") \
    X(EMISMATCH_STOP, -510, "the state has another stop rule") \
    X(EMISMATCH_DATASET, -511, "a dataset of this name has changed") \
    X(EENV_UNSET, -601, "rank or world size is not set") \
    X(EENV_NUMBER, -602, "rank or world size is not a 32-bit number") \
    X(EENV_RANK, -603, "rank is not below the world size")

#define SSMP_RULE_CONSTANT(name, number, sentence) STATESAMPLER_##name = number,
enum {
    STATESAMPLER_RULES(SSMP_RULE_CONSTANT)
    /* C++98 wants a last one without a comma. */
    SSMP_NO_RULE = 0
};

#ifndef STATESAMPLER_API
#define STATESAMPLER_API
#endif

/* Stands before every public function. In CUDA the hosted ones stay on the
   host, whatever STATESAMPLER_API says. */
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

/* Between these, hashes and differences of unsigned numbers wrap around on
   purpose, which clang's -fsanitize=integer would report in every program. The
   headers of examples have them, too. (The parenthesis has a pragma of its own,
   as a program may have a macro push(x).) */
#ifdef __clang__
#define STATESAMPLER_WRAP_BEGIN \
    _Pragma("clang attribute push") _Pragma("clang attribute (\
        __attribute__((__no_sanitize__(\"unsigned-integer-overflow\"))),\
        apply_to = function)")
#define STATESAMPLER_WRAP_END _Pragma("clang attribute pop")
#else
#define STATESAMPLER_WRAP_BEGIN
#define STATESAMPLER_WRAP_END
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* --- perm: a keyed bijection on [0, n) ------------------------------------ */

/* A permutation, in your memory. All fields are private. You may copy it. */
typedef struct statesampler_perm {
    uint64_t n, key;
    uint32_t left, right; /* sizes of the halves: left * right >= n */
    uint32_t reciprocal;  /* with shift: to divide vectors by right */
    uint8_t shift, spare, rounds;
    uint8_t wide; /* 1: n > 2^30, halves of 32 bits; 0: of 16 */
    uint32_t keys[24];
} statesampler_perm;

/* Sets up the permutation of [0, n) for these numbers. Another seed, epoch or
   stream, or two of them swapped, gives an unrelated permutation, except with a
   chance of 2^-64 or where somebody has searched for such a pair. It is the
   order of the SHUFFLE sampler (INTERLEAVED) with the same numbers. n may be 0.
   EINVAL: n is above STATESAMPLER_MAX_SAMPLES. */
STATESAMPLER_DEF int statesampler_perm_init(statesampler_perm *perm, uint64_t n,
                                            uint64_t seed, uint64_t epoch,
                                            uint64_t stream);

/* Returns the index at a position. Both are in [0, n). Here and in the
   functions below, any other position gives a useless number, perhaps n or
   more, but the call ends. */
STATESAMPLER_DEF uint64_t statesampler_perm_at(const statesampler_perm *perm,
                                               uint64_t position);

/* Returns the position of an index. Both are in [0, n). The inverse of
   perm_at. */
STATESAMPLER_DEF uint64_t statesampler_perm_inverse(
    const statesampler_perm *perm, uint64_t index);

/* Writes the indices at count positions, first, first + stride, ..., to out.
   All must be below n. The result is that of count calls of perm_at, but
   faster. Stride 0 repeats the first index. */
STATESAMPLER_DEF void statesampler_perm_fill(const statesampler_perm *perm,
                                             uint64_t first, uint64_t stride,
                                             uint64_t *out, size_t count);

/* Replaces each of count values by the index at that position. All must be
   below n. The result is that of count calls of perm_at, but faster. A value of
   n or more may spoil other results, too. */
STATESAMPLER_DEF void statesampler_perm_map(const statesampler_perm *perm,
                                            uint64_t *values, size_t count);

/* --- sampler -------------------------------------------------------------- */

/* What to sample. A description with nothing but num_samples is a shuffle on
   one rank. */
typedef struct statesampler_desc {
    uint64_t num_samples; /* 0 .. STATESAMPLER_MAX_SAMPLES */
    uint64_t seed;        /* the same on every rank */
    uint64_t epoch;       /* the first epoch */
    uint64_t stream;      /* tells datasets apart: a number, or what
                             statesampler_hash makes of files' names and sizes.
                             load then refuses the state of another dataset. */
    uint32_t rank;        /* below world_size */
    uint32_t world_size;  /* 0 means 1 */
    uint32_t batch_size;  /* samples per rank and step; 0 means 1 */
    uint32_t order;       /* default STATESAMPLER_ORDER_SHUFFLE */
    uint32_t partition;   /* default STATESAMPLER_PARTITION_INTERLEAVED */
    uint32_t tail;        /* default STATESAMPLER_TAIL_PAD */
    uint32_t drop_last;   /* 0 or 1: drop the last step unless it is full */
    uint64_t chunk_size;  /* WINDOW: samples per chunk */
    uint64_t window;      /* WINDOW: chunks per window */
} statesampler_desc;

/* Terms of the private structs and the implementation, besides the manual's:
   cursor   epoch, position and step: how far a run is
   segment  what one shape serves of an epoch: from its base to its end
   run      what a state records: a description, a shape, a segment, a cursor
   seat     the number of a source among those that take turns in a mix
   tick     a place in a mix's endless sequence, which ALL may pass over */

/* How the ranks divide a step. Private. */
typedef struct ssmp_shape {
    uint32_t rank, world_size, batch_size, drop_last;
} ssmp_shape;

/* How far a run is. Private. */
typedef struct ssmp_cursor {
    uint64_t epoch, position, step;
} ssmp_cursor;

/* What one shape serves of an epoch, from its base on. Private. */
typedef struct ssmp_segment {
    ssmp_cursor base;
    uint64_t end;    /* a position */
    uint32_t carry;  /* 1, with CARRY: at the end the next epoch begins */
    uint32_t blocks; /* BLOCKED: P of the manual; INTERLEAVED: 1 */
} ssmp_segment;

/* What a state records, and what follows from it. The members that are used
   most come first: on AVR one instruction reads only the first 63 bytes of a
   struct. Private. */
typedef struct ssmp_run {
    ssmp_shape shape;
    uint64_t num_samples;
    uint32_t order, partition, tail;
    ssmp_cursor now;
    ssmp_segment segment;
    uint64_t seed, stream, chunk_size, window;
} ssmp_run;

/* The order of one epoch and block, set up. Private. */
typedef struct ssmp_order {
    uint64_t epoch, epoch_key, seed_key;
    uint32_t block, blocks;   /* blocks 0: nothing is set up */
    uint64_t key;             /* of the block */
    uint64_t start, size;     /* samples start .. start + size - 1 */
    statesampler_perm perm;   /* SHUFFLE: samples; WINDOW: full chunks */
    statesampler_perm inside; /* WINDOW: of the last window used */
} ssmp_order;

/* A sampler, in your memory. All fields are private. You may copy it. */
typedef struct statesampler {
    ssmp_run run;
    ssmp_order ready;
} statesampler;

/* Where a sample is served, in the present shape. */
typedef struct statesampler_place {
    uint64_t position, step;
    uint32_t rank, slot;
} statesampler_place;

/* An epoch in numbers, known before it is served. With CARRY, positions is
   num_samples, and steps, rank_samples and rank_batches are NONE. */
typedef struct statesampler_counts {
    uint64_t positions;    /* that all ranks and shapes serve, with padding */
    uint64_t padded;       /* of these, repeats */
    uint64_t dropped;      /* positions below num_samples that are not served:
                              samples, except with REPLACEMENT */
    uint64_t steps;        /* of all shapes */
    uint64_t rank_samples; /* this rank's, from the base on */
    uint64_t rank_batches; /* the same, without empty ones */
} statesampler_counts;

/* Makes a sampler that starts at step 0 of desc->epoch. EINVAL: see SHAPES,
   ORDERS, TAILS. */
STATESAMPLER_DEF int statesampler_init(statesampler *s,
                                       const statesampler_desc *desc);

/* Takes the next step. Writes this rank's batch to out, which has room for
   batch_size indices, and sets *count to how many indices it wrote. The last
   step may have fewer, and a rank may have none in it. out may be NULL, to move
   only; count may be NULL, if all batches are full.
   Returns 1, or 0 once at the end of an epoch, with *count 0. The next epoch
   has then begun, so an iterator that is called again after the end must call
   `at`. (In an empty epoch next returns 0 every time; with CARRY it never
   does.) All ranks get the same answer. */
STATESAMPLER_DEF int statesampler_next(statesampler *s, uint64_t *out,
                                       size_t *count);

/* Gives this rank's batch of any step of this epoch, without moving. out and
   count are as in next. Returns 1, or 0 past the end, every time. *count is 0
   if it does not return 1. This says what a step serves, but not that a run has
   served it: a run that used seek may have skipped it.
   ERANGE: the step is before the base, or with CARRY beyond what seek takes. */
STATESAMPLER_DEF int statesampler_at(const statesampler *s, uint64_t step,
                                     uint64_t *out, size_t *count);

/* Makes `step` the next one. It may be from the base's step to num_steps; with
   CARRY up to 2^62 positions after the base, and up to 2^63 - 1. (VISSL calls
   it start_iter.) ERANGE: it is another step. */
STATESAMPLER_DEF int statesampler_seek(statesampler *s, uint64_t step);

/* Goes to step 0 of any epoch, which may be the present one, in the present
   shape. */
STATESAMPLER_DEF void statesampler_begin(statesampler *s, uint64_t epoch);

/* As begin, but does nothing if the sampler is in that epoch already. So a call
   before every epoch does not undo a resume. */
STATESAMPLER_DEF void statesampler_set_epoch(statesampler *s, uint64_t epoch);

/* The epoch of the next sample. */
STATESAMPLER_DEF uint64_t statesampler_epoch(const statesampler *s);

/* Steps done in this epoch, in all shapes; with CARRY since the run's start. */
STATESAMPLER_DEF uint64_t statesampler_step(const statesampler *s);

/* The step of the base: the first that `at` and seek reach. */
STATESAMPLER_DEF uint64_t statesampler_base(const statesampler *s);

/* All steps of this epoch, done or not; with CARRY STATESAMPLER_NONE. The epoch
   is over when step equals num_steps. */
STATESAMPLER_DEF uint64_t statesampler_num_steps(const statesampler *s);

/* Positions that all ranks together have served in this epoch. */
STATESAMPLER_DEF uint64_t statesampler_position(const statesampler *s);

/* Sets *counts for this epoch. */
STATESAMPLER_DEF void statesampler_get_counts(const statesampler *s,
                                              statesampler_counts *counts);

/* How many of this rank's samples in a step are padding. These are the last
   ones of its batch. 0 for a step that `at` does not serve. */
STATESAMPLER_DEF size_t statesampler_padding(const statesampler *s,
                                             uint64_t step);

/* Sets *place to the first place in this epoch at which a sample is served.
   ERANGE: index is num_samples or more, or the sample is dropped, or was served
   before the base. EINVAL: the order is REPLACEMENT. *place is then
   unchanged. */
STATESAMPLER_DEF int statesampler_locate(const statesampler *s, uint64_t index,
                                         statesampler_place *place);

/* Returns 64 random bits, a function of seed, stream, epoch and index. They are
   for the crop, mask or noise of a sample, and are the same on any worker, rank
   and machine, in any shape and after any resume. Any epoch and index will do.
   STATESAMPLER_NONE, the index of no sample, gives a seed for the epoch itself.
   (With CARRY a batch may run into the next epoch: see
   examples/recipe_pretrain.c.) */
STATESAMPLER_DEF uint64_t statesampler_sample_seed(const statesampler *s,
                                                   uint64_t epoch,
                                                   uint64_t index);

/* Makes a stream for a dataset from the names, sizes or lengths that identify
   it. hash is 0 in the first call, and in later ones what the last call
   returned. Hash a name with its final 0, and numbers in a fixed byte order. */
STATESAMPLER_DEF uint64_t statesampler_hash(uint64_t hash, const void *bytes,
                                            size_t size);

/* Goes on from here in another shape, as another rank, or both. The result is
   that of init in the new shape and a load of this sampler's state. If only the
   rank changes, the base stays: so reshape a copy, and its `at` answers for any
   rank. 0 means 1, as in a description. EINVAL: the shape is impossible. */
STATESAMPLER_DEF int statesampler_reshape(statesampler *s, uint32_t rank,
                                          uint32_t world_size,
                                          uint32_t batch_size);

/* From here on, this epoch and all later ones have num_samples positions, and
   the present is the base. This is for orders of your own, made from positions.
   If num_samples is as before, nothing changes. Padding that was served is no
   sample: an epoch that was served to its end with padding goes on at the old
   num_samples, and get_counts leaves that padding out. With CARRY and
   num_samples equal to the position, the next epoch begins.
   EINVAL: the order is not SEQUENTIAL, or the partition not INTERLEAVED, or
   init would refuse num_samples. ERANGE: num_samples is below the number of
   samples served. Nothing then changes. */
STATESAMPLER_DEF int statesampler_resize(statesampler *s, uint64_t num_samples);

/* Writes the state, STATESAMPLER_STATE_BYTES bytes, the same on every rank.
   ECAPACITY: the buffer's size is smaller; nothing is written. */
STATESAMPLER_DEF int statesampler_save(const statesampler *s, void *out,
                                       size_t size);

/* Goes on where a state was saved. The sampler must have been initialised with
   the same num_samples, seed, stream, order (with chunk_size and window),
   partition and tail. It keeps its own rank, world_size, batch_size and
   drop_last, and takes epoch, position, base and blocks from the state. But the
   base moves to the position if the shape is another one, or if this sampler's
   drop_last leaves out a step that was served. A state at position 0 begins its
   epoch in the sampler's own shape.
   ECORRUPT: the state is damaged. EVERSION: it is of another format or
   algorithm. EMISMATCH: it is of another sampler. *s is then unchanged. */
STATESAMPLER_DEF int statesampler_load(statesampler *s, const void *state,
                                       size_t size);

/* Says what a state holds, without a sampler. Sets *desc to the description of
   the run that saved it, at the state's epoch, as rank 0 and without drop_last.
   Sets *place to its position and step, with rank and slot 0. Either may be
   NULL. ECORRUPT, EVERSION: as in load, and nothing is set. */
STATESAMPLER_DEF int statesampler_describe(const void *state, size_t size,
                                           statesampler_desc *desc,
                                           statesampler_place *place);

/* --- mix ------------------------------------------------------------------ */

/* stop: what happens to a source that has nothing left when its turn comes */
#define STATESAMPLER_STOP_FIRST 0   /* the mix's epoch ends */
#define STATESAMPLER_STOP_ALL 1     /* it is passed over until all have ended */
#define STATESAMPLER_STOP_RESTART 2 /* it begins anew until all have ended */
#define STATESAMPLER_STOP_NEVER 3   /* it begins anew, for ever */

/* The weight of a source that takes no turns until it has another weight. */
#define STATESAMPLER_OFF 0xffffffffu

/* A node of a mix's tree. Private. */
typedef struct ssmp_node {
    uint32_t source; /* the source in seat k */
    uint32_t weight; /* of the right child that begins with seat k */
} ssmp_node;

/* What a mix knows of a source. Private. */
typedef struct ssmp_in_mix {
    uint32_t weight;      /* in use */
    uint32_t seat;        /* its number, or NOBODY */
    uint64_t first_epoch; /* the source's, when the mix's epoch began */
    ssmp_segment segment; /* its sampler's at the mix's base */
    uint64_t step;        /* its sampler's step at the mix's base */
    uint64_t turns;       /* of its seat, before the base's tick */
    uint64_t remaining;   /* steps to the end of its epoch, from there */
} ssmp_in_mix;

/* One dataset of a mix. */
typedef struct statesampler_source {
    uint32_t weight;      /* for mix_init: 0 means 1; or STATESAMPLER_OFF */
    statesampler sampler; /* initialised by you */
    ssmp_in_mix in_mix;   /* private */
    ssmp_node tree_node;  /* private: a mix has no memory of its own, and keeps
                             node k of its tree in sources[k], whatever source
                             that is */
} statesampler_source;

/* A mix, in your memory. All fields are private. It points to its sources, so
   do not copy it, and do not move them, as a vector that grows would. */
typedef struct statesampler_mix {
    statesampler_source *sources;
    uint32_t num_sources, stop;
    uint32_t seats;  /* sources that take turns */
    uint32_t period; /* sum of their weights */
    uint64_t epoch, turn;
    uint64_t tick; /* place in the sequence */
    uint64_t base_turn, base_tick;
    uint64_t end;   /* turns of this epoch, or NONE */
    uint64_t reach; /* the last turn that seek takes */
} statesampler_mix;

/* Makes a mix of the num_sources sources of an array. Their samplers go on from
   where they are. Only this call reads sources[i].weight. EINVAL: see MIXES. */
STATESAMPLER_DEF int statesampler_mix_init(statesampler_mix *mix,
                                           statesampler_source *sources,
                                           uint32_t num_sources, uint32_t stop);

/* Takes the next turn. Sets *source to the number of the source whose turn it
   is, writes this rank's batch of it to out, which has room for the largest
   batch_size of the sources, and sets *count to how many indices it wrote. Any
   of the three may be NULL.
   Returns 1, or 0 once at the end of an epoch. The next epoch has then begun,
   *count is 0 and *source is unchanged. (In an empty epoch it returns 0 every
   time; with NEVER it never does.) All ranks get the same answer. The time
   grows with log2 of the number of sources; with ALL it grows with the number
   itself at the turn of a source that has finished. */
STATESAMPLER_DEF int statesampler_mix_next(statesampler_mix *mix, uint64_t *out,
                                           size_t *count, uint32_t *source);

/* Gives any turn of this epoch, without moving. out, count and source are as in
   mix_next. Returns 1, or 0 past the end. If it does not return 1, *count is 0,
   and *source unchanged. With ALL, at and seek do up to 126 * D times the work
   of next (make scale: 1 ms with 1,000 sources, 0.3 s with 100,000).
   ERANGE: the turn is before the base, or past 2^62, or a source with CARRY is
   there more than 2^62 positions past the base. */
STATESAMPLER_DEF int statesampler_mix_at(const statesampler_mix *mix,
                                         uint64_t turn, uint64_t *out,
                                         size_t *count, uint32_t *source);

/* Makes `turn`, which is at most num_turns, the next one. ERANGE: it is past
   num_turns, or as in mix_at. */
STATESAMPLER_DEF int statesampler_mix_seek(statesampler_mix *mix,
                                           uint64_t turn);

/* From this turn on, the weights are these, one for each source. 0 means 1, and
   STATESAMPLER_OFF takes a source out. Sources go on where they are, turns go
   on counting, the sequence begins again, and the present is the base. If no
   weight is new, nothing changes, so a loop may call this at every turn. The
   time grows with the sources (make scale: 0.2 ms with 1,000, 30 ms with
   100,000; a twentieth if no weight is new). Shares are exact in each period,
   so make a stage several periods long, or see examples/extras/schedule.h. With
   FIRST, an epoch that is over may go on: it then ends at the next turn of a
   source that has nothing left. EINVAL: as in mix_init. */
STATESAMPLER_DEF int statesampler_mix_weigh(statesampler_mix *mix,
                                            const uint32_t *weights);

/* Reshapes all sources, each with its own batch_size. The result is that of
   mix_init with this rank and world_size and a load of this mix's state. If
   only the rank changes, the base stays. EINVAL: the shape is impossible, or
   mix_init would refuse the weights in it. Nothing then changes. */
STATESAMPLER_DEF int statesampler_mix_reshape(statesampler_mix *mix,
                                              uint32_t rank,
                                              uint32_t world_size);

/* Turns done in this epoch. */
STATESAMPLER_DEF uint64_t statesampler_mix_turn(const statesampler_mix *mix);

/* All turns of this epoch, done or not; with NEVER STATESAMPLER_NONE. */
STATESAMPLER_DEF uint64_t statesampler_mix_num_turns(
    const statesampler_mix *mix);

/* Epochs of the mix that are done. */
STATESAMPLER_DEF uint64_t statesampler_mix_epoch(const statesampler_mix *mix);

/* How many samples sources 0 .. source - 1 have together. source is at most
   num_sources. */
STATESAMPLER_DEF uint64_t statesampler_mix_offset(const statesampler_mix *mix,
                                                  uint32_t source);

/* Sets *turn and *place to the turn and the first place at which a sample is
   served in its source's present epoch. ERANGE: as in statesampler_locate, or
   the source does not exist or is off, or mix_at does not serve the turn.
   EINVAL: the source's order is REPLACEMENT. *turn and *place are then
   unchanged. */
STATESAMPLER_DEF int statesampler_mix_locate(const statesampler_mix *mix,
                                             uint32_t source, uint64_t index,
                                             uint64_t *turn,
                                             statesampler_place *place);

/* The size of the state: 48 bytes and 120 per source. */
STATESAMPLER_DEF size_t statesampler_mix_state_bytes(
    const statesampler_mix *mix);

/* Writes the state, mix_state_bytes bytes, the same on every rank. ECAPACITY:
   the buffer's size is smaller; nothing is written. */
STATESAMPLER_DEF int statesampler_mix_save(const statesampler_mix *mix,
                                           void *out, size_t size);

/* Goes on where a state was saved, in any shape, on a mix with the same stop
   rule and as many sources. Each source must match that of the state, as for
   statesampler_load. Weights become the state's; call mix_weigh for others. The
   present turn becomes the base, also of sources with CARRY, so states that are
   saved later differ in the base from those of a run without an interruption.
   ECORRUPT, EVERSION, EMISMATCH: as in statesampler_load. EINVAL: mix_init
   would refuse the state's weights in this shape. */
STATESAMPLER_DEF int statesampler_mix_load(statesampler_mix *mix,
                                           const void *state, size_t size);

/* What a mix's state says of the mix and of one source. */
typedef struct statesampler_mix_place {
    uint64_t epoch, turn;
    uint32_t num_sources, stop;
    uint32_t weight; /* the source's, or STATESAMPLER_OFF */
} statesampler_mix_place;

/* Says what a mix's state holds, without a mix. Sets *desc to the description
   of a source in the run that saved it, at its present epoch, as rank 0 and
   without drop_last, and *place to the rest. Either may be NULL. mix_init with
   these descriptions and weights makes a mix that can load the state. Of the
   state, only the head and this source are checked. ERANGE: the source does not
   exist.
   ECORRUPT, EVERSION: as in mix_load. Nothing is then set. */
STATESAMPLER_DEF int statesampler_mix_describe(const void *state, size_t size,
                                               uint32_t source,
                                               statesampler_desc *desc,
                                               statesampler_mix_place *place);

/* Finds the mix's state in a mixture's, which has the names of the datasets
   around it. Returns where it begins, and changes *size, the size of the
   mixture's state, to that of the mix's. Of any other bytes, a mix's own state
   among them, it returns the beginning, and leaves *size. This checks nothing:
   mix_describe does. */
STATESAMPLER_DEF const void *statesampler_mix_state_in(const void *state,
                                                       size_t *size);

/* Finds the state of a source's sampler in a mix's state, which mix_describe
   must have accepted; source is below its num_sources. Returns where that
   begins: STATESAMPLER_STATE_BYTES bytes, for `describe`. Sets *weight, unless
   it is NULL, to the source's. To read many sources this is faster than
   mix_describe, which checks the whole state each time. */
STATESAMPLER_DEF const void *statesampler_mix_source_in(const void *state,
                                                        uint32_t source,
                                                        uint32_t *weight);

/* --- audit ---------------------------------------------------------------- */

/* The count, and the sums of i, i^2 and i^3 mod 2^64 over the indices i. Set
   all to 0 at first. */
typedef struct statesampler_audit {
    uint64_t count, sum1, sum2, sum3;
} statesampler_audit;

/* Adds indices, in any order. Leave out padding (statesampler_padding), or use
   the tail UNEVEN: repeats are counted, and the check then fails. */
STATESAMPLER_DEF void statesampler_audit_add(statesampler_audit *audit,
                                             const uint64_t *indices,
                                             size_t count);

/* Adds what another rank, thread or run has served. */
STATESAMPLER_DEF void statesampler_audit_merge(statesampler_audit *audit,
                                               const statesampler_audit *other);

/* Returns 1 if the count and the sums are those of every index of [0,
   num_samples) exactly once, and 0 if not: if a sample is lost, repeated or
   replaced, for example. */
STATESAMPLER_DEF int statesampler_audit_check(const statesampler_audit *audit,
                                              uint64_t num_samples);

/* --- errors and version -------------------------------------------------- */

/* Returns a constant string for any code: the sentence of its rule, "no error"
   for 0, or "unknown error". On AVR, a rule has the sentence of its kind. */
STATESAMPLER_DEF const char *statesampler_error(int code);

/* Returns the STATESAMPLER_VERSION_NUMBER of the implementation. Where it is in
   a library that was compiled apart, compare it with the macro: that is the
   number of the header which your program was compiled with. */
STATESAMPLER_DEF uint32_t statesampler_version(void);

/* --- hosted --------------------------------------------------------------- */

#ifdef STATESAMPLER_HOSTED

/* Sets desc->rank and desc->world_size from the environment, and *launcher,
   which may be NULL, to the launcher's name. It takes the first of these that
   has set one of its two variables:
       "torchrun"  RANK, WORLD_SIZE
       "openmpi"   OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE
       "pmi"       PMI_RANK, PMI_SIZE
       "slurm"     SLURM_PROCID, SLURM_STEP_NUM_TASKS (if the second is set)
       "none"      rank 0 of 1
   These are global: with tensor, pipeline or context parallelism divide, so
   that rank and world_size are those of the data-parallel group.
   EENV: one of the two is not set, or not a decimal number of 32 bits, or rank
   >= world size; *launcher names the launcher and *desc is unchanged. */
STATESAMPLER_DEF_HOSTED int statesampler_from_env(statesampler_desc *desc,
                                                  const char **launcher);

/* Replaces the file at path. A program that reads it finds the old file or the
   new one, whole, even after a crash or a power cut at any instant. With
   several writers, the last one wins. Each writes a temporary file of its own
   in the same folder, flushes it to disk, renames it over path and flushes the
   folder, which must be readable.
   A crash may leave .statesampler-NAME-NUMBER.tmp behind, where NAME is a hash
   of path's last part. The next save to path removes it, as no process holds
   its lock (flock) any more. (Where files have no locks, writers of one path
   may remove each other's files. They try again, and after 100 tries fail with
   ENOENT.) A save looks at 10,000 names of the folder at most, so in a larger
   folder the file may stay. On Windows it looks at all names.
   The file gets the mode of a new file. A link or a device at path is replaced.
   On Windows, path is UTF-8, and while another program has the file open, a
   save tries for a second.
   EINVAL: path is empty or longer than 4,095 bytes. EIO: errno says why (if
   path is a folder EISDIR, ENOTDIR or EBUSY, on Windows EACCES), and the old
   file is there, or the new one if only the flush of the folder failed. */
STATESAMPLER_DEF_HOSTED int statesampler_save_file(const char *path,
                                                   const void *bytes,
                                                   size_t size);

/* Reads a whole file. If size is NULL, the file must have exactly capacity
   bytes. Otherwise *size is set to its length. With capacity 0 a call gives the
   length alone.
   ECORRUPT: size is NULL, and the file has another length. ECAPACITY: its
   length is more than capacity. The buffer then holds what fits. EINVAL: path
   is empty. ENOFILE: there is no such file. EIO: errno says why. It is EISDIR
   (on Windows EACCES) if path is a folder, and ESPIPE, EINVAL or EFBIG if the
   file is longer than capacity and its length is unknown (a pipe, a device, a
   file of /proc) or more than a size_t holds. *size is then unchanged, and
   bytes may hold a part of the file. */
STATESAMPLER_DEF_HOSTED int statesampler_load_file(const char *path,
                                                   void *bytes, size_t capacity,
                                                   size_t *size);

#endif /* STATESAMPLER_HOSTED */

/* --- mixture -------------------------------------------------------------- */

/* What mixture_load found out about a dataset. CHANGED: the state has the name,
   but with another length, seed, stream, order, chunk_size, window, partition
   or tail. */
#define STATESAMPLER_CHANGE_MATCHED 0 /* it goes on where it was */
#define STATESAMPLER_CHANGE_NEW 1     /* not in the state; begins its epoch */
#define STATESAMPLER_CHANGE_REMOVED 2 /* only in the state, or not started */
#define STATESAMPLER_CHANGE_CHANGED 3

#ifdef STATESAMPLER_STB_DS
#ifndef INCLUDE_STB_DS_H
#error "include stb_ds.h before statesampler.h, as STATESAMPLER_STB_DS needs it"
#endif

/* A dataset of a mixture; the name is the mixture's copy. */
typedef struct statesampler_dataset {
    uint64_t bits[2]; /* private: of the hash, by which it is found */
    char *key;        /* its name */
    uint64_t value;   /* the hash of its name */
} statesampler_dataset;

/* One of the above, of one dataset. */
typedef struct statesampler_change {
    const char *name; /* NULL if REMOVED: the state knows only the hash */
    uint64_t hash;    /* hash(0, name, strlen(name) + 1) */
    uint32_t source;  /* its number; if REMOVED, that in the state */
    uint32_t status;
} statesampler_change;

/* A mix of datasets with names. A mixture that is all zero is empty. Its arrays
   are those of stb_ds, so arrlen(changes) is a length. You may read them. Once
   it is started, take turns on &mixture.mix. stb_ds decides what happens when
   memory runs out. */
typedef struct statesampler_mixture {
    statesampler_source *sources;   /* an array */
    statesampler_dataset *datasets; /* a map, in the same order */
    statesampler_change *changes;   /* an array: what the last load found */
    statesampler_mix mix;
} statesampler_mixture;

/* Adds a dataset as the last one, with a sampler that init makes from the
   description. It takes turns from the next mixture_start on; until then a
   started mix goes on without it. EINVAL: an empty name, a name that is there
   already (or has the same 64-bit hash), what init refuses, or another rank or
   world_size than the first dataset's. */
STATESAMPLER_DEF_HOSTED int statesampler_mixture_add(
    statesampler_mixture *mixture, const char *name, uint32_t weight,
    const statesampler_desc *desc);

/* Removes a dataset. The last one takes its number, and `changes` is emptied.
   If the dataset was in the started mix, that mix has ended: call mixture_start
   before you use mix again. ERANGE: no dataset has this name. */
STATESAMPLER_DEF_HOSTED int statesampler_mixture_remove(
    statesampler_mixture *mixture, const char *name);

/* Sets *source to the number of a dataset. ERANGE: no dataset has this name. */
STATESAMPLER_DEF_HOSTED int statesampler_mixture_find(
    statesampler_mixture *mixture, const char *name, uint32_t *source);

/* Makes the mix of all datasets, as statesampler_mix_init does, with the
   weights given to mixture_add. Its epoch and turn are 0, and each dataset goes
   on where it is. To keep epoch and turn, save before this call and load after
   it. If the call fails, the last started mix goes on, unless mixture_remove
   ended it. */
STATESAMPLER_DEF_HOSTED int statesampler_mixture_start(
    statesampler_mixture *mixture, uint32_t stop);

/* The size of a started mixture's state: 72 bytes and 128 per dataset. */
STATESAMPLER_DEF_HOSTED size_t statesampler_mixture_state_bytes(
    const statesampler_mixture *mixture);

/* Writes the state, mixture_state_bytes bytes, the same on every rank. EINVAL:
   the mixture is not started. ECAPACITY: the buffer is smaller. Nothing is then
   written. */
STATESAMPLER_DEF_HOSTED int statesampler_mixture_save(
    const statesampler_mixture *mixture, void *out, size_t size);

/* Goes on where a state was saved, on a started mixture with the same stop
   rule, in any shape. Datasets are matched by name. If all are the same, in the
   same order, this is mix_load. If some were added, removed, moved or CHANGED,
   turns go on counting, and the sequence begins again with this mixture's
   weights. If restart is 0, a CHANGED dataset is an error, EMISMATCH. If it is
   1, the dataset goes to the start of the epoch that it was in. With ALL and
   RESTART the mix's epoch then does not end before the dataset has finished
   this epoch, even if it had finished one before.
   mixture.changes then lists every dataset of the mixture and, after these,
   every one that is REMOVED. After EMISMATCH it does so, too; after other
   errors it is empty.
   ECORRUPT, EVERSION, EMISMATCH, EINVAL: as in mix_load. No dataset has then
   moved. */
STATESAMPLER_DEF_HOSTED int statesampler_mixture_load(
    statesampler_mixture *mixture, const void *state, size_t size, int restart);

/* Frees everything; the mixture is then empty. */
STATESAMPLER_DEF_HOSTED void statesampler_mixture_free(
    statesampler_mixture *mixture);

#endif /* STATESAMPLER_STB_DS */

#ifdef __cplusplus
}
#endif

/* Options that only a second include defines are an error, below. */
#ifdef STATESAMPLER_HOSTED
#define SSMP_HOSTED
#endif
#ifdef STATESAMPLER_STB_DS
#define SSMP_STB_DS
#endif

#endif /* STATESAMPLER_H */

#if defined(STATESAMPLER_HOSTED) && !defined(SSMP_HOSTED)
#error "define STATESAMPLER_HOSTED before the first include of statesampler.h"
#endif
#if defined(STATESAMPLER_STB_DS) && !defined(SSMP_STB_DS)
#error "define STATESAMPLER_STB_DS before the first include of statesampler.h"
#endif

/* ---------------------------------------------------------------------------
   If you only want to use the library, stop here: the rest is how it works.
   ------------------------------------------------------------------------ */

#if defined(STATESAMPLER_IMPLEMENTATION) && \
    !defined(STATESAMPLER_IMPLEMENTATION_INCLUDED)
#define STATESAMPLER_IMPLEMENTATION_INCLUDED
#define SSMP_FIRST_READING

/* Words of clang's pragmas below, which a program may have macros for. */
#ifdef __clang__
#pragma push_macro("apply_to")
#pragma push_macro("function")
#undef apply_to
#undef function
#endif

/* This reaches to the end of the core. No header of the program is included in
   between, so only functions of this file may wrap around. */
STATESAMPLER_WRAP_BEGIN

#ifndef STATESAMPLER_ASSERT
#define STATESAMPLER_ASSERT(condition) ((void)0)
#endif

/* Before a private function stands one of these. It says whether the function
   is inlined:
   SSMP_FN                 as the compiler likes
   SSMP_NOINLINE           never: a function's frame holds what is inlined into
                           it, so callers would need the stack of all they call
   SSMP_OUTLINE_FOR_SIZE   not where size counts, as it has many callers
   SSMP_INLINE_FOR_SPEED   always, as callers pass constants for which it gets
                           faster; but never where size counts
   Bulk also has SSMP_ALWAYS_INLINE and, explained there, SSMP_BY_PROCESSOR. The
   parts with files and with stb_ds have `static inline` alone. In CUDA all run
   wherever the public functions do, and nothing is kept from being inlined. */
#if defined(__CUDACC__) || defined(__HIPCC__)
#define SSMP_CUDA
#define SSMP_FN static inline STATESAMPLER_API
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
#define SSMP_DEVICE /* this compilation is the GPU's, not the host's */
#endif
#else
#define SSMP_FN static inline /* not API, which may export */
#endif
#ifndef SSMP_ALWAYS_INLINE /* a test has another, to see each function */
#if (defined(__GNUC__) || defined(__clang__)) && !defined(SSMP_CUDA)
#define SSMP_ALWAYS_INLINE static inline __attribute__((__always_inline__))
#else
#define SSMP_ALWAYS_INLINE SSMP_FN
#endif
#endif
#if defined(__GNUC__) && !defined(SSMP_CUDA)
#define SSMP_NOINLINE static __attribute__((__noinline__, __unused__))
#elif defined(_MSC_VER) && !defined(SSMP_CUDA)
#define SSMP_NOINLINE static __declspec(noinline)
#else
#define SSMP_NOINLINE SSMP_FN
#endif
#if defined(__OPTIMIZE_SIZE__) && defined(__GNUC__)
#define SSMP_FOR_SIZE
#define SSMP_OUTLINE_FOR_SIZE SSMP_NOINLINE
#define SSMP_INLINE_FOR_SPEED SSMP_NOINLINE
#else
#define SSMP_OUTLINE_FOR_SIZE SSMP_FN
#define SSMP_INLINE_FOR_SPEED SSMP_ALWAYS_INLINE
#endif

/* The small build has one order, one partition and one tail. By these macros
   they are constants there, and the compiler leaves out the code of all others.
   Without one of them a Cortex-M0 needs 2 % (the partition) to 22 % (the order)
   more flash. Only what checks, copies, saves or describes the members reads
   them without a macro. */
#ifdef STATESAMPLER_ONLY_SHUFFLE
#define SSMP_ORDER(run) ((void)(run), STATESAMPLER_ORDER_SHUFFLE)
#define SSMP_PARTITION(run) STATESAMPLER_PARTITION_INTERLEAVED
#define SSMP_TAIL(run) STATESAMPLER_TAIL_PAD
#define SSMP_BLOCKS(segment) ((void)(segment), 1)
#define SSMP_CARRY(segment) ((void)(segment), 0)
#else
#define SSMP_ORDER(run) (run)->order
#define SSMP_PARTITION(run) (run)->partition
#define SSMP_TAIL(run) (run)->tail
#define SSMP_BLOCKS(segment) (segment)->blocks
#define SSMP_CARRY(segment) (segment)->carry
#endif

/* C++98 has no 64-bit literals, and may lack UINT64_C and UINT64_MAX. */
#define SSMP_U64(high, low) ((uint64_t)(high) << 32 | (low))
#define SSMP_MAX32 0xffffffffu

/* Whether registers have 64 bits. Pointers do not say: WebAssembly and x32 have
   64-bit registers and 32-bit pointers. */
#if defined(__LP64__) || defined(_LP64) || defined(_WIN64) || \
    defined(__wasm__) || defined(__x86_64__) || defined(__aarch64__)
#define SSMP_REGISTERS64
#endif

/* 2^64 divided by the golden ratio: the increment of SplitMix64. */
#define SSMP_GOLDEN SSMP_U64(0x9e3779b9u, 0x7f4a7c15u)

/* One of these is added to a number before a key is derived from it. Positions
   and windows are below 2^62 and blocks below 2^32, so the top three bits tell
   what the key is for. */
#define SSMP_DRAW ((uint64_t)1 << 62)
#define SSMP_BLOCK ((uint64_t)2 << 62)
#define SSMP_WINDOW ((uint64_t)3 << 62)
#define SSMP_SEED ((uint64_t)5 << 61)

/* The rooms from here on, of which each uses only those before it: numbers,
   perm, bulk, order, sampler, state, mix, audit, errors and version, hosted,
   mixture. A private name begins with what it is about. Terms are explained
   before ssmp_shape, the first private struct.

   Where a new thing goes, besides the manual. (A test compares this list with
   the functions that name a rule, and with the tests that end at one.)
   a tail rule   STATESAMPLER_TAIL_..., ssmp_run_check_desc,
                 ssmp_run_check_carry, ssmp_order_set, ssmp_tail_round,
                 ssmp_segment_close, ssmp_run_repeated,
                 ssmp_sampler_position_of; if epochs run into each other, as
                 with CARRY, all that reads SSMP_CARRY, and of examples/extras
                 history.h and recorder.h
   an order      STATESAMPLER_ORDER_..., ssmp_run_check_desc, ssmp_order_set,
                 ssmp_reader_fill_block, ssmp_order_inverse,
                 statesampler_locate, statesampler_resize; if it has numbers of
                 its own, as WINDOW, ssmp_run_check_window, ssmp_run_set,
                 ssmp_run_read
   a stop rule   STATESAMPLER_STOP_..., statesampler_mix_init, ssmp_mix_read,
                 ssmp_weights_check, ssmp_source_check,
                 statesampler_mixture_add, ssmp_source_has_steps,
                 ssmp_mix_first_finish, ssmp_mix_last_finish, ssmp_mix_set_base;
                 if it passes over sources, as ALL, ssmp_source_turns_until,
                 ssmp_mix_turns_until, ssmp_mix_tick_at, ssmp_mix_next_source
   All three also go to tests/rules.h, where loops of tests stop, to the models
   that they compare with (tests/reference.py, tests/model.h; stop rules:
   tests/model_mix.h and tests/fuzz/mix.c; tails and orders, by number:
   tests/prove/check.h; tails: tests/prove/tail.h, tests/test_state.c), to the
   names in examples/python/statesampler/_library.py and __init__.pyi and in
   examples/js/statesampler.mjs and statesampler.d.mts, and, if people may
   choose them there, to examples/js/page/index.html. Headers and bindings of
   examples name some rules, too: search there for CARRY, WINDOW or NEVER, in
   capitals and not.
   a field of a state    a new format, as the old one must load for ever:
                 SSMP_FORMAT_SAMPLER, STATESAMPLER_STATE_BYTES, ssmp_run,
                 ssmp_run_fields, ssmp_run_read, ssmp_run_describe
   an error      STATESAMPLER_RULES; the manual's list of what init or mix_init
                 refuses, or the comment at the function that returns it; a row
                 of tests/test_errors.c, and a call there that breaks the rule;
                 if a description, or the weights or shape of a mix, can break
                 it, `breaks` of tests/fuzz/desc.c or tests/fuzz/mix.c. Other
                 languages take the sentence from here. */

/* --- numbers and keys ----------------------------------------------------- */

SSMP_OUTLINE_FOR_SIZE uint64_t ssmp_ceil_div(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

SSMP_FN uint64_t ssmp_min(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* SplitMix64's finaliser, which is a bijection. The manual names its source. */
SSMP_OUTLINE_FOR_SIZE uint64_t ssmp_scramble(uint64_t x)
{
    x = (x ^ (x >> 30)) * SSMP_U64(0xbf58476du, 0x1ce4e5b9u);
    x = (x ^ (x >> 27)) * SSMP_U64(0x94d049bbu, 0x133111ebu);
    return x ^ (x >> 31);
}

/* While one argument is fixed, this is a bijection of the other. A chain of
   calls is not symmetric: seed 0 with epoch 1 and seed 1 with epoch 0 give
   different keys. */
SSMP_OUTLINE_FOR_SIZE uint64_t ssmp_derive(uint64_t key, uint64_t value)
{
    return ssmp_scramble(key + value + SSMP_GOLDEN);
}

SSMP_OUTLINE_FOR_SIZE uint64_t ssmp_epoch_key(uint64_t seed, uint64_t epoch,
                                              uint64_t stream)
{
    uint64_t key = ssmp_derive(0, seed);

    key = ssmp_derive(key, epoch);
    return ssmp_derive(key, stream);
}

STATESAMPLER_DEF uint64_t statesampler_hash(uint64_t hash, const void *bytes,
                                            size_t size)
{
    const unsigned char *byte = (const unsigned char *)bytes;

    STATESAMPLER_ASSERT(bytes || size == 0);
    for (; size != 0; size--)
        hash = ssmp_derive(hash, *byte++);
    return hash;
}

/* --- perm ------------------------------------------------------------------
   A position is a pair of halves: a cell of a grid of left * right. Both sides
   are at most 2^15 for n <= 2^30, and 2^31 for n <= 2^62, so that the sum of
   two values of a half fits into the 16 or 32 bits of a lane. */

/* The smallest root with root * root >= n, for 1 <= n <= 2^62; 1 for n = 0. The
   loop finds the largest root with root * root < n, bit by bit. */
SSMP_FN uint32_t ssmp_sqrt_ceil(uint64_t n)
{
    uint32_t root = 0, bit = (uint32_t)1 << 14;

    if (n > (uint32_t)1 << 30)
        bit = (uint32_t)1 << 30;
    for (; bit != 0; bit >>= 1) {
        uint64_t t = root | bit;

        if (t * t < n)
            root = (uint32_t)t;
    }
    return root + 1;
}

/* A small domain needs more rounds, as each of them mixes less. */
SSMP_FN uint8_t ssmp_perm_rounds(uint64_t n)
{
    if (n < (uint32_t)1 << 13)
        return 24;
    if (n < (uint32_t)1 << 24)
        return 12;
    return 8;
}

/* Sets what depends on n alone. Vectors and GPUs cannot divide: they compute
   x / right as (x * reciprocal) >> (32 + shift), for
   x < left * right <= 2^(32 + shift).
   There 2^shift < right <= 2^(shift + 1), and the reciprocal is
   2^(32 + shift) / right, rounded up, which is below 2^32. By rounding up it
   grows by less than 1, and so the quotient by less than x / 2^(32 + shift).
   - Narrow: n <= 2^30, so x * right < 2^(32 + shift), and the quotient grows by
     less than 1 / right. That reaches no next number, as quotients are
     multiples of 1 / right: rounded down, the result is right.
   - Wide: it grows by less than 1. So the result may be 1 too large: then the
     remainder is negative, and the 1 is taken away. */
SSMP_FN void ssmp_perm_set_size(statesampler_perm *perm, uint64_t n)
{
    uint32_t root = ssmp_sqrt_ceil(n), right, power = 2, shift = 0;

    perm->n = n;
    /* With both sizes odd every round would be an even permutation. */
    perm->left = root + (root & 1);
    right = (uint32_t)ssmp_ceil_div(n, perm->left);
    /* With size 2 a round mixes a single bit. */
    if (right < 3)
        right = 3;
    perm->right = right;
    for (; power < right; shift++)
        power += power;
    /* Now power is 2^(shift + 1), and power << 31 is 2^(32 + shift). */
    perm->shift = (uint8_t)shift;
    perm->reciprocal = (uint32_t)ssmp_ceil_div((uint64_t)power << 31, right);
    perm->wide = root > (uint32_t)1 << 15; /* n > 2^30 */
    perm->rounds = ssmp_perm_rounds(n);
}

/* Sets the key, for the size that perm has. Each multiplier gets its highest
   bit, as a small one mixes little: it is the high half of a narrow round's
   word, or the second of a wide round's two. */
SSMP_FN void ssmp_perm_set_key(statesampler_perm *perm, uint64_t key)
{
    uint64_t state = ssmp_derive(key, perm->n);
    uint32_t *keys = perm->keys;
    uint32_t *end = keys + ((uint32_t)perm->rounds << perm->wide);

    perm->key = key;
    for (; keys != end; keys += 2) {
        uint64_t word;

        state += SSMP_GOLDEN;
        word = ssmp_scramble(state);
        /* keys[0] has a multiplier only in a narrow round. */
        keys[0] = (uint32_t)word | (uint32_t)!perm->wide << 31;
        keys[1] = (uint32_t)(word >> 32) | (uint32_t)1 << 31;
    }
}

/* Makes perm differ from every permutation: no dataset has so many samples. */
SSMP_OUTLINE_FOR_SIZE void ssmp_perm_clear(statesampler_perm *perm)
{
    perm->n = ~(uint64_t)0;
    perm->key = 0;
    perm->left = perm->right = perm->rounds = perm->wide = 0;
}

/* Makes perm the permutation of [0, n) for a key. The size is kept if it is the
   same, as it mostly is. */
SSMP_NOINLINE void ssmp_perm_set(statesampler_perm *perm, uint64_t n,
                                 uint64_t key)
{
    if (perm->n != n)
        ssmp_perm_set_size(perm, n);
    ssmp_perm_set_key(perm, key);
}

/* A round on count pairs: each half becomes half - hash(other), modulo its
   size. In the hash, x times the high half of x * mul makes each bit of x
   depend on all others. Then the high half of x * span is a number below span,
   without a division. But some of these numbers come more often than others,
   unless span divides 2^16 or 2^32. If span were the half's size in all rounds,
   a Fourier coefficient of the half's differences would show that: so it
   shrinks from round to round. The loop calls no function, as tcc inlines none.
   wide: as in the perm, 1 for halves of 32 bits and 0 for halves of 16. */
SSMP_FN void ssmp_perm_round(uint32_t *half, const uint32_t *other,
                             const statesampler_perm *perm, uint32_t round,
                             uint32_t count, int wide)
{
    const uint32_t *key = perm->keys + (wide ? 2 * round : round);
    const uint32_t size = round & 1 ? perm->right : perm->left;
    const uint32_t span = size - round / 2 * (size >> 10);
    const uint32_t add = wide ? key[0] : key[0] & 0xffffu;
    const uint32_t mul = wide ? key[1] : key[0] >> 16;
    uint32_t *end = half + count;

#ifdef SSMP_DEVICE
#pragma unroll /* or half is in memory, as registers have no indices */
#endif
    for (; half != end; half++, other++) {
        uint32_t x = *other ^ add;

        if (wide) {
            x *= (uint32_t)(((uint64_t)x * mul) >> 32);
            x = (uint32_t)(((uint64_t)x * span) >> 32);
        } else {
#ifdef SSMP_REGISTERS64
            /* The same in the high half of x, which saves a mask. */
            x *= (x * mul) & 0xffff0000u;
            x = (uint32_t)(((uint64_t)x * span) >> 32);
#else
            x *= (x * mul) >> 16;
            x = ((x & 0xffffu) * span) >> 16;
#endif
        }
        x = *half - x;
#ifdef SSMP_DEVICE
        /* A negative difference is a large number, and min is one
           instruction. */
        *half = min(x, x + size);
#else
        *half = x + (size & (0 - (x >> 31)));
#endif
    }
}

/* The left half of a position: position / right. Where 32 bits are enough for
   the division, it is several times cheaper. On a GPU one formula for both is
   cheaper than a branch, and than any division. */
SSMP_FN uint32_t ssmp_perm_quotient(const statesampler_perm *perm,
                                    uint64_t position)
{
#ifdef SSMP_DEVICE
    const uint64_t reciprocal = perm->reciprocal;
    const uint64_t low = ((uint32_t)position * reciprocal) >> 32;
    const uint32_t l =
        (uint32_t)(((position >> 32) * reciprocal + low) >> perm->shift);

    return l - (((uint32_t)position - l * perm->right) >> 31);
#else
    return perm->wide ? (uint32_t)(position / perm->right)
                      : (uint32_t)position / perm->right;
#endif
}

/* All rounds on count pairs of halves, which do not depend on each other. */
SSMP_FN void ssmp_perm_network(uint32_t *l, uint32_t *r,
                               const statesampler_perm *perm, uint32_t count,
                               int wide)
{
    uint32_t i;

    for (i = 0; i < perm->rounds; i += 2) {
        ssmp_perm_round(l, r, perm, i, count, wide);
        ssmp_perm_round(r, l, perm, i + 1, count, wide);
    }
}

/* How many cells of the grid are not positions: fewer than left, or than 8. */
SSMP_FN uint32_t ssmp_perm_outside(const statesampler_perm *perm)
{
    return perm->left * perm->right - (uint32_t)perm->n;
}

/* The index at a position: the network on [0, left * right) is repeated until
   the result is below n. The network is a bijection, so a walk from a position
   below n is on a cycle that leads back to it, and meets each cell outside at
   most once. A walk from any other position may leave the grid or never come
   in: it ends after one iteration more than there are cells outside. A walk has
   left * right / n iterations on average: six at n = 1, hardly more than one
   from n = 9 on. */
SSMP_NOINLINE uint64_t ssmp_perm_walk(const statesampler_perm *perm,
                                      uint64_t position)
{
    uint32_t l = ssmp_perm_quotient(perm, position);
    uint32_t r = (uint32_t)(position - (uint64_t)l * perm->right);
    uint32_t iterations = ssmp_perm_outside(perm);

    do {
#ifdef SSMP_REGISTERS64 /* else gcc -O3 mixes the two */
        if (perm->wide)
            ssmp_perm_network(&l, &r, perm, 1, 1);
        else
            ssmp_perm_network(&l, &r, perm, 1, 0);
#else
        ssmp_perm_network(&l, &r, perm, 1, (int)perm->wide);
#endif
        position = (uint64_t)l * perm->right + r;
        /* Below n, the difference wraps around to a large number. */
    } while (position - perm->n < ssmp_perm_outside(perm) && iterations-- != 0);
    return position;
}

STATESAMPLER_DEF int statesampler_perm_init(statesampler_perm *perm, uint64_t n,
                                            uint64_t seed, uint64_t epoch,
                                            uint64_t stream)
{
    STATESAMPLER_ASSERT(perm);
    if (n > STATESAMPLER_MAX_SAMPLES)
        return STATESAMPLER_EINVAL_NUM_SAMPLES;
    ssmp_perm_clear(perm);
    ssmp_perm_set(perm, n, ssmp_epoch_key(seed, epoch, stream));
    return STATESAMPLER_OK;
}

STATESAMPLER_DEF uint64_t statesampler_perm_at(const statesampler_perm *perm,
                                               uint64_t position)
{
    STATESAMPLER_ASSERT(perm && position < perm->n);
    return ssmp_perm_walk(perm, position);
}

STATESAMPLER_DEF uint64_t statesampler_perm_inverse(
    const statesampler_perm *perm, uint64_t index)
{
    uint32_t left, right, l, r, i, iterations;
    int wide;

    STATESAMPLER_ASSERT(perm && index < perm->n);
    wide = (int)perm->wide;
    iterations = ssmp_perm_outside(perm);
    left = perm->left;
    right = perm->right;
    l = ssmp_perm_quotient(perm, index);
    r = (uint32_t)index - l * right;
    /* This walks the same cycle backwards, with the same bound. To undo a round
       is to add what it has subtracted. But a round only subtracts: so the half
       is turned around before and after it, as size - 1 - half, and what is
       subtracted from that is added to the half. */
    do {
        for (i = perm->rounds; i != 0; i -= 2) {
            r = right - 1 - r;
            ssmp_perm_round(&r, &l, perm, i - 1, 1, wide);
            r = right - 1 - r;
            l = left - 1 - l;
            ssmp_perm_round(&l, &r, perm, i - 2, 1, wide);
            l = left - 1 - l;
        }
        index = (uint64_t)l * right + r;
    } while (index - perm->n < ssmp_perm_outside(perm) && iterations-- != 0);
    return index;
}

/* --- perm, in bulk ---------------------------------------------------------
   The same network on many pairs at once, in the vector extensions of gcc and
   clang: a vector holds 16-bit halves for n <= 2^30 and 32-bit halves above.
   A group of vectors goes through each round together, as one alone would wait
   for its own multiplications. Group by group a call loads the pairs of its
   positions, or steps to them, takes these through all rounds, stores the
   indices and walks on from those that are n or more.
   An instruction set has vectors of BYTES, and
   HIGH16           the high halves of the products of 16-bit lanes
   HIGH32           the same of 32-bit lanes, if that is faster than EVEN32
   EVEN32           the 64-bit products of the low halves of 64-bit lanes
   TIMES            the low half (bit 0) or the high half (bit 16) of each
                    32-bit lane, which is below 2^15, times the signed 16-bit
                    number b
   MERGE32          the high halves of the products of even and of odd lanes
   REDUCE           x + size where x is negative, otherwise x
   Without vectors PAIRS pairs go through the rounds together, but one at a time
   on small cores, which do not wait. Freestanding builds have no vectors, as
   intrinsics may need a C library's headers; nor have unoptimised ones. */

#if defined(SSMP_CUDA)
#define SSMP_PAIRS 8
#elif !defined(__OPTIMIZE__) || !__STDC_HOSTED__ || \
    !(defined(__clang__) || (defined(__GNUC__) && __GNUC__ >= 9))
/* no vectors */
#elif defined(__AVX512BW__)
#include <immintrin.h>
#define SSMP_BYTES 64
#define SSMP_X86(op, a, b) _mm512_##op((__m512i)(a), (__m512i)(b))
#elif defined(__AVX2__)
#include <immintrin.h>
#define SSMP_BYTES 32
#define SSMP_X86(op, a, b) _mm256_##op((__m256i)(a), (__m256i)(b))
#elif defined(__SSE2__)
#include <emmintrin.h>
#define SSMP_BYTES 16
#define SSMP_X86(op, a, b) _mm_##op((__m128i)(a), (__m128i)(b))
#elif defined(__ARM_NEON) && !defined(__ARM_BIG_ENDIAN)
#include <arm_neon.h>
#define SSMP_BYTES 16
#elif defined(__wasm_simd128__) || defined(__VX__) || defined(__VSX__) || \
    defined(__riscv_vector) || defined(__loongarch_sx) || defined(__mips_msa)
#define SSMP_BYTES 16
#endif
#if !defined(SSMP_BYTES) && !defined(SSMP_PAIRS) && defined(SSMP_REGISTERS64)
#define SSMP_PAIRS 32
#endif

/* A program for x86-64 is mostly compiled for SSE2 and run where there is AVX2,
   which takes half of the time. So it has the code for both, and each call
   chooses: the file includes itself, and of the second reading only what stands
   between here and `both readings` is left. It does so neither where size
   counts, nor where this file has another name, nor on Windows, where gcc does
   not align vectors of 32 bytes. Asking the processor needs the compiler's own
   library, which a program without HOSTED may not link.
   SSMP_BOTH_READINGS    the file includes itself
   SSMP_FIRST_READING    it is being read for the program's include
   SSMP_SECOND_READING   it is being read for its own include */
#if defined(STATESAMPLER_HOSTED) && !defined(STATESAMPLER_AVX2) && \
    defined(__GNUC__)
#define STATESAMPLER_AVX2 __builtin_cpu_supports("avx2")
#endif
#if defined(STATESAMPLER_AVX2) && defined(__x86_64__) && \
    defined(SSMP_BYTES) && SSMP_BYTES == 16 && !defined(_WIN32) && \
    !defined(SSMP_FOR_SIZE) && defined(__has_include)
#if __has_include("statesampler.h")
#include <immintrin.h>
#define SSMP_BOTH_READINGS
#endif
#endif

#endif /* STATESAMPLER_IMPLEMENTATION, but for the rest below */

#if defined(SSMP_BYTES) && \
    (defined(SSMP_FIRST_READING) || defined(SSMP_SECOND_READING))
#define SSMP_VECTORS (512 / SSMP_BYTES) /* of a group: 1 KiB of stack */
#define SSMP_LANES16 (SSMP_BYTES / 2)
#define SSMP_MAX_CELLS 24 /* more take longer than they save */
#define SSMP_CELLS 32     /* the same in whole vectors */

/* Functions are inlined, so that the perm's `wide` is a constant in every loop.
   Where size counts, the larger ones are not: one copy serves both widths, and
   the few positions that fit two vectors have none of their own. Nor is a
   function that is compiled for another processor. */
#ifdef SSMP_BOTH_READINGS
#define SSMP_BY_PROCESSOR SSMP_NOINLINE
#else
#define SSMP_BY_PROCESSOR SSMP_ALWAYS_INLINE
#endif
#ifdef SSMP_FOR_SIZE
#define SSMP_FEW 0
#else
#define SSMP_FEW (2 * SSMP_LANES16)
#endif

typedef uint16_t ssmp_v16 __attribute__((__vector_size__(SSMP_BYTES)));
typedef uint32_t ssmp_v32 __attribute__((__vector_size__(SSMP_BYTES)));
typedef uint64_t ssmp_v64 __attribute__((__vector_size__(SSMP_BYTES)));
/* Halves are in ssmp_v32, also where these are 16-bit lanes. */
typedef struct ssmp_pairs {
    ssmp_v32 l, r;
} ssmp_pairs;
/* A vector in an array of uint64_t, which may begin anywhere, and a half of a
   key. */
typedef ssmp_v64 ssmp_array64 __attribute__((__aligned__(4), __may_alias__));
typedef uint16_t ssmp_key16 __attribute__((__may_alias__));
/* Which of a key's two halves is the low one. */
#define SSMP_LOW (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)

/* A vector with x in all its lanes of 32 or 16 bits. */
SSMP_ALWAYS_INLINE ssmp_v32 ssmp_splat(uint32_t x, int wide)
{
    const ssmp_v32 zero = {0};

    return wide ? zero + x : (ssmp_v32)((ssmp_v16)zero + (uint16_t)x);
}

#if defined(SSMP_X86)
#define SSMP_HIGH16(a, b) ((ssmp_v16)SSMP_X86(mulhi_epu16, a, b))
#define SSMP_EVEN32(a, b) ((ssmp_v64)SSMP_X86(mul_epu32, a, b))
#define SSMP_TIMES(a, bit, b) \
    ((ssmp_v32)SSMP_X86(madd_epi16, a, ssmp_splat((0xffffu & (b)) << (bit), 1)))
#if SSMP_BYTES == 32 /* one instruction less; AVX-512 needs no other */
#define SSMP_MERGE32(even, odd) \
    ((ssmp_v32)_mm256_blend_epi32((__m256i)((even) >> 32), (__m256i)(odd), \
                                  0xaa))
#endif
#if SSMP_BYTES > 16 /* of unsigned numbers, a negative one is the larger */
#define SSMP_REDUCE(bits, x, size) \
    ((ssmp_v##bits)SSMP_X86(min_epu##bits, x, x + size))
#endif
#elif defined(__ARM_NEON)
/* The products of half of the lanes: vget says of which half. */
#define SSMP_PRODUCTS(vget, type, u, a, b) \
    ((type)vmull_##u(vget##u((type)(a)), vget##u((type)(b))))
#define SSMP_HIGH(type, u, a, b) \
    vuzpq_##u(SSMP_PRODUCTS(vget_low_, type, u, a, b), \
              SSMP_PRODUCTS(vget_high_, type, u, a, b)) \
        .val[1]
#define SSMP_HIGH16(a, b) ((ssmp_v16)SSMP_HIGH(uint16x8_t, u16, a, b))
#define SSMP_HIGH32(a, b) ((ssmp_v32)SSMP_HIGH(uint32x4_t, u32, a, b))
#define SSMP_LOW32(x) vmovn_u64((uint64x2_t)(x))
#define SSMP_EVEN32(a, b) ((ssmp_v64)vmull_u32(SSMP_LOW32(a), SSMP_LOW32(b)))
#else
#define SSMP_EVEN32(a, b) \
    ((SSMP_MAX32 & (ssmp_v64)(a)) * (SSMP_MAX32 & (ssmp_v64)(b)))
#define SSMP_HIGH16(a, b) ssmp_high16((ssmp_v32)(a), (ssmp_v32)(b))

SSMP_ALWAYS_INLINE ssmp_v16 ssmp_high16(ssmp_v32 x, ssmp_v32 y)
{
    const ssmp_v32 even = (x & 0xffffu) * (y & 0xffffu);

    return (ssmp_v16)(even >> 16 | ((x >> 16) * (y >> 16) & 0xffff0000u));
}
#endif
#ifndef SSMP_TIMES
#define SSMP_TIMES(a, bit, b) ((0xffffu & (a) >> (bit)) * (b))
#endif
#ifndef SSMP_MERGE32
#define SSMP_MERGE32(even, odd) \
    ((ssmp_v32)((even) >> 32 | (SSMP_U64(SSMP_MAX32, 0) & (odd))))
#endif
#ifndef SSMP_REDUCE
#define SSMP_REDUCE(bits, x, size) (x + (size & (0 - (x >> (bits - 1)))))
#endif

/* half - hash(other) modulo size: as in ssmp_perm_round. */
SSMP_ALWAYS_INLINE ssmp_v32 ssmp_round(ssmp_v32 half, ssmp_v32 other,
                                       const uint32_t *key, ssmp_v32 size,
                                       ssmp_v32 span, const int wide)
{
    if (wide) {
        const ssmp_v32 mul = ssmp_splat(key[1], wide);
        ssmp_v32 x = other ^ ssmp_splat(key[0], wide);

#ifdef SSMP_HIGH32
        x *= SSMP_HIGH32(x, mul);
        x = half - SSMP_HIGH32(x, span);
#else
        ssmp_v64 even = (ssmp_v64)x, odd = even >> 32;

        even = SSMP_EVEN32(even, SSMP_EVEN32(even, mul) >> 32);
        odd = SSMP_EVEN32(odd, SSMP_EVEN32(odd, mul) >> 32);
        even = SSMP_EVEN32(even, span);
        odd = SSMP_EVEN32(odd, span);
        x = half - SSMP_MERGE32(even, odd);
#endif
        return SSMP_REDUCE(32, x, size);
    } else {
        const ssmp_key16 *keys = (const ssmp_key16 *)key;
        ssmp_v16 x = (ssmp_v16)(other ^ ssmp_splat(keys[SSMP_LOW], 0));

        x *= SSMP_HIGH16(x, ssmp_splat(keys[!SSMP_LOW], 0));
        x = (ssmp_v16)half - SSMP_HIGH16(x, span);
        return (ssmp_v32)SSMP_REDUCE(16, x, (ssmp_v16)size);
    }
}

SSMP_ALWAYS_INLINE void ssmp_bulk_rounds(const statesampler_perm *perm,
                                         ssmp_pairs *__restrict p,
                                         uint32_t vectors, const int wide)
{
    const ssmp_v32 left = ssmp_splat(perm->left, wide);
    const ssmp_v32 right = ssmp_splat(perm->right, wide);
    const uint32_t *key = perm->keys, *end = key + (perm->rounds << wide);
    ssmp_v32 span_l = left, span_r = right;
    uint32_t j;

    for (; key != end; key += 2 << wide) {
        for (j = 0; j < vectors; j++)
            p[j].l = ssmp_round(p[j].l, p[j].r, key, left, span_l, wide);
        for (j = 0; j < vectors; j++)
            p[j].r = ssmp_round(p[j].r, p[j].l, key + (1 << wide), right,
                                span_r, wide);
        span_l -= ssmp_splat(perm->left >> 10, wide);
        span_r -= ssmp_splat(perm->right >> 10, wide);
    }
}

/* All rounds of a number of vectors. If a narrow perm has fewer than four, they
   are rounded up to that, as a loop over four keeps them in registers. */
SSMP_NOINLINE void ssmp_bulk_network(const statesampler_perm *perm,
                                     ssmp_pairs *p, uint32_t vectors)
{
    if (perm->wide)
        ssmp_bulk_rounds(perm, p, vectors, 1);
    else if (vectors > 4)
        ssmp_bulk_rounds(perm, p, vectors, 0);
    else
        ssmp_bulk_rounds(perm, p, 4, 0);
}

/* What one call works with. */
typedef struct ssmp_bulk {
    const statesampler_perm *perm;
    uint64_t images[SSMP_CELLS];    /* of the first num_images cells outside */
    uint64_t part[SSMP_LANES16];    /* a vector of which not all is wanted */
    ssmp_pairs pairs[SSMP_VECTORS]; /* a group */
    uint32_t num_images;
} ssmp_bulk;

/* The positions of a fill, vector by vector. From a vector to the next each
   position grows by the same distance, which is q * right + m. If r + m is
   below right, l grows by q and r by m. If it is not, there is a carry, and l
   grows by q + 1 and r by m - right: these are carry_l and carry_r. They are
   added in any case. If r is then negative, there was no carry: so 1 is taken
   from l again, and r gets right back. */
typedef struct ssmp_positions {
    ssmp_pairs next;
    ssmp_v32 carry_l, carry_r, right;
} ssmp_positions;

/* Sets a vector to the pairs of the `count` positions in an array. If these are
   fewer than its lanes, the first one fills it up. Lane i of 64 bits gets the
   halves of positions i, i + V, i + 2 * V and so on, from the lowest bits up,
   where V = BYTES / 8 is the number of lanes. So each load of V positions only
   has to be shifted into its place. */
SSMP_INLINE_FOR_SPEED void ssmp_bulk_load(ssmp_pairs *p, ssmp_bulk *b,
                                          const uint64_t *positions,
                                          size_t count, const int wide)
{
    const ssmp_v32 reciprocal = ssmp_splat(b->perm->reciprocal, 1);
    const ssmp_v32 right = ssmp_splat(b->perm->right, 1);
    const uint32_t lanes = (uint32_t)SSMP_LANES16 >> wide;
    ssmp_v64 sum_l = {0}, sum_r = {0};
    uint32_t i, bit;

    if (count < lanes) {
        for (i = 0; i < lanes; i++)
            b->part[i] = positions[i < count ? i : 0];
        positions = b->part;
    }
    for (bit = 0; bit < 64; bit += wide ? 32 : 16) {
        const ssmp_v64 x = *(const ssmp_array64 *)positions;
        ssmp_v64 l = SSMP_EVEN32(x, reciprocal), r;

        if (wide)
            l = (l >> 32) + SSMP_EVEN32(x >> 32, reciprocal);
        l >>= b->perm->shift + (wide ? 0 : 32);
        r = x - SSMP_EVEN32(l, right);
        if (wide) {
            const ssmp_v64 less = r >> 63; /* 1: l is 1 too large */

            l -= less;
            r += SSMP_EVEN32(less, right);
        }
        sum_l |= l << bit;
        sum_r |= r << bit;
        positions += SSMP_BYTES / 8;
    }
    p->l = (ssmp_v32)sum_l;
    p->r = (ssmp_v32)sum_r;
}

/* Goes to the first vector of the positions first, first + stride, ... Lanes
   after the last one that is wanted hold no position, and what comes of them is
   not stored. */
SSMP_ALWAYS_INLINE void ssmp_positions_begin(ssmp_positions *p, ssmp_bulk *b,
                                             uint64_t first, uint64_t stride,
                                             const int wide)
{
    const uint32_t right = b->perm->right;
    const uint64_t distance = (SSMP_LANES16 >> wide) * stride;
    const uint32_t carry_l = ssmp_perm_quotient(b->perm, distance) + 1;
    ssmp_v64 zero = {0}, x = zero, positions[4];
    uint32_t j;

    p->carry_l = ssmp_splat(carry_l, wide);
    p->carry_r = ssmp_splat((uint32_t)distance - carry_l * right, wide);
    p->right = ssmp_splat(right, wide);
    /* Numbers of 64 bits: four vectors of them make one of 16 bits; wide uses
       two. A stride that is not wide is below 2^30: 32 bits of it will do. */
#pragma GCC unroll 8
    for (j = 0; j < SSMP_BYTES / 8; j++)
        x[j] = j;
    x = first + (wide ? x * stride : SSMP_EVEN32(x, zero + stride));
    for (j = 0; j < 4; j++, x += SSMP_BYTES / 8 * stride)
        positions[j] = x;
    ssmp_bulk_load(&p->next, b, (const uint64_t *)positions, SSMP_LANES16,
                   wide);
}

/* Goes to the next vector of positions. */
SSMP_ALWAYS_INLINE void ssmp_positions_next(ssmp_positions *p, const int wide)
{
    ssmp_pairs *next = &p->next;

    if (wide) {
        next->r += p->carry_r;
        next->l += p->carry_l - (next->r >> 31);
        next->r = SSMP_REDUCE(32, next->r, p->right);
    } else {
        const ssmp_v16 r = (ssmp_v16)next->r + (ssmp_v16)p->carry_r;

        next->l =
            (ssmp_v32)((ssmp_v16)next->l + (ssmp_v16)p->carry_l - (r >> 15));
        next->r = (ssmp_v32)SSMP_REDUCE(16, r, (ssmp_v16)p->right);
    }
}

/* What turns pairs into indices. It is a copy, as the compiler must assume that
   a store into the caller's array changes the permutation. */
typedef struct ssmp_joiner {
    uint32_t right;
    uint64_t bias; /* added to n or more, it makes a lane negative */
} ssmp_joiner;

SSMP_ALWAYS_INLINE ssmp_joiner ssmp_joiner_of(const statesampler_perm *perm,
                                              const int wide)
{
    ssmp_joiner joiner;

    joiner.right = perm->right;
    joiner.bias = ((uint64_t)1 << (31 + 32 * wide)) - perm->n;
    return joiner;
}

/* Writes the indices of a vector of pairs. A lane of the result is negative, as
   a number of 32 or 64 bits, where an index is n or more. */
SSMP_ALWAYS_INLINE ssmp_v64 ssmp_bulk_join(uint64_t *out, const ssmp_pairs *p,
                                           ssmp_joiner joiner, const int wide)
{
    const uint32_t right = joiner.right, bias32 = (uint32_t)joiner.bias;
    const ssmp_v32 l = p->l, r = p->r;
    ssmp_array64 *to = (ssmp_array64 *)out;
    ssmp_v64 x, y;

    if (wide) {
        const ssmp_v32 by = ssmp_splat(right, wide);

        to[0] = x = SSMP_EVEN32(l, by) + ((ssmp_v64)r & SSMP_MAX32);
        to[1] = y = SSMP_EVEN32((ssmp_v64)l >> 32, by) + ((ssmp_v64)r >> 32);
        return (x + joiner.bias) | (y + joiner.bias);
    }
    /* Negated, as right may be 2^15: a signed 16-bit number can be -2^15. */
    x = (ssmp_v64)((r & 0xffffu) - SSMP_TIMES(l, 0, 0 - right));
    y = (ssmp_v64)((r >> 16) - SSMP_TIMES(l, 16, 0 - right));
    to[0] = x & SSMP_MAX32;
    to[1] = y & SSMP_MAX32;
    to[2] = x >> 32;
    to[3] = y >> 32;
    return (ssmp_v64)(((ssmp_v32)x + bias32) | ((ssmp_v32)y + bias32));
}

/* Whether a lane of 32 or 64 bits is negative. */
SSMP_ALWAYS_INLINE int ssmp_any_negative(ssmp_v64 x, const int wide)
{
    uint64_t any = 0;
    uint32_t i;

    for (i = 0; i < SSMP_BYTES / 8; i++)
        any |= x[i];
    if (!wide) /* the lower half of a lane, too */
        any |= (any & SSMP_MAX32) << 32;
    return (int)(any >> 63);
}

/* As ssmp_bulk_join, but writes only count indices, fewer than a vector has. */
SSMP_ALWAYS_INLINE ssmp_v64 ssmp_bulk_join_part(
    uint64_t *out, size_t count, ssmp_bulk *b, const ssmp_pairs *p,
    ssmp_joiner joiner, const int wide)
{
    const uint32_t lanes = SSMP_BYTES / 8; /* of 64 bits, as indices are */
    const ssmp_v64 outside = ssmp_bulk_join(b->part, p, joiner, wide);
    const ssmp_array64 *part = (const ssmp_array64 *)b->part;
    ssmp_array64 *to = (ssmp_array64 *)out;
    uint32_t i;

    /* First whole vectors, (4 >> wide) - 1 at most, then single indices. Both
       loops have a constant bound, as clang makes a call of memcpy, which a
       core may not need, from a loop up to count. */
    for (i = 0; i < (4u >> wide) - 1 && count >= lanes; i++, count -= lanes)
        *to++ = *part++;
    for (i = 0; i < lanes - 1; i++)
        if (i < count)
            ((uint64_t *)to)[i] = ((const uint64_t *)part)[i];
    return outside;
}

/* Writes count indices of vectors of pairs, and returns whether one is n or
   more. Forwards, as backwards takes twice the time where the array is not in a
   cache. */
SSMP_ALWAYS_INLINE int ssmp_bulk_store(uint64_t *out, size_t count,
                                       ssmp_bulk *b, const ssmp_pairs *p,
                                       const int wide)
{
    const uint32_t lanes = (uint32_t)SSMP_LANES16 >> wide;
    const ssmp_joiner joiner = ssmp_joiner_of(b->perm, wide);
    ssmp_v64 outside = {0};

    for (; count >= lanes; count -= lanes, out += lanes, p++)
        outside |= ssmp_bulk_join(out, p, joiner, wide);
    if (count != 0)
        outside |= ssmp_bulk_join_part(out, count, b, p, joiner, wide);
    return ssmp_any_negative(outside, wide);
}

/* Goes on with the walks of count indices that are n or more. */
SSMP_NOINLINE void ssmp_bulk_walk(const ssmp_bulk *b, uint64_t *out,
                                  size_t count)
{
    const uint64_t n = b->perm->n;
    uint32_t k;

    for (; count != 0; count--, out++) {
        /* Looks up cell after cell. From a position a walk meets each of them
           once at most; k ends one from anything else that a caller passed. */
        for (k = 0; *out - n < b->num_images && k < b->num_images; k++)
            *out = b->images[*out - n];
        if (*out >= n)
            *out = ssmp_perm_walk(b->perm, *out);
    }
}

/* Puts the cells outside, which are numbered from n on, into the first vectors
   of a group, so that their images are computed with it and later walks look
   them up. Returns how many vectors these are: 0 if there are no such cells, or
   too many of them for so few positions. (Not above 2^30: there a walk hardly
   ever meets one.) */
SSMP_ALWAYS_INLINE uint32_t ssmp_bulk_load_cells(ssmp_bulk *b, size_t count)
{
    const uint32_t cells = ssmp_perm_outside(b->perm);
    uint32_t vectors = 0, j;

    if (cells == 0 || cells > SSMP_MAX_CELLS || cells > count / 4)
        return 0;
    b->num_images = cells;
    for (j = 0; j < SSMP_CELLS; j++)
        b->images[j] = b->perm->n + j;
    for (j = 0; j < cells; j += SSMP_LANES16)
        ssmp_bulk_load(&b->pairs[vectors++], b, b->images + j, SSMP_LANES16, 0);
    return vectors;
}

/* Takes a group through all rounds. Its first vectors are of cells, of which
   this stores the images; the others become count indices. */
SSMP_INLINE_FOR_SPEED void ssmp_bulk_group(ssmp_bulk *b, uint32_t cell_vectors,
                                           uint64_t *out, size_t count,
                                           const int wide)
{
    const uint32_t lanes = (uint32_t)SSMP_LANES16 >> wide;
    const uint32_t vectors = ((uint32_t)count + lanes - 1) / lanes;

    ssmp_bulk_network(b->perm, b->pairs, cell_vectors + vectors);
    (void)ssmp_bulk_store(b->images, cell_vectors * lanes, b, b->pairs, wide);
    if (ssmp_bulk_store(out, count, b, b->pairs + cell_vectors, wide))
        ssmp_bulk_walk(b, out, count);
}

/* The indices of positions first, first + stride, ... */
SSMP_INLINE_FOR_SPEED void ssmp_bulk_fill(ssmp_bulk *b, uint64_t first,
                                          uint64_t stride, uint64_t *out,
                                          size_t count, const int wide)
{
    const uint32_t lanes = (uint32_t)SSMP_LANES16 >> wide;
    uint32_t cell_vectors = wide ? 0 : ssmp_bulk_load_cells(b, count), j;
    ssmp_positions positions;
    size_t group;

    ssmp_positions_begin(&positions, b, first, stride, wide);
    for (; count != 0; out += group, count -= group, cell_vectors = 0) {
        group = (size_t)ssmp_min(count, (SSMP_VECTORS - cell_vectors) * lanes);
        for (j = 0; j * lanes < group; j++) {
            b->pairs[cell_vectors + j] = positions.next;
            ssmp_positions_next(&positions, wide);
        }
        ssmp_bulk_group(b, cell_vectors, out, group, wide);
    }
}

/* The same for at most FEW positions, in one or two vectors that stay in
   registers, and without images of cells. (Where n has 24 rounds, a large part
   of the cells is outside, and their images save more: ssmp_bulk_fill is used
   there.) */
SSMP_ALWAYS_INLINE void ssmp_bulk_fill_few(ssmp_bulk *b, uint64_t first,
                                           uint64_t stride, uint64_t *out,
                                           size_t count)
{
    ssmp_positions positions;

    ssmp_positions_begin(&positions, b, first, stride, 0);
    b->pairs[0] = positions.next;
    if (count <= SSMP_LANES16) {
        ssmp_bulk_rounds(b->perm, b->pairs, 1, 0);
    } else {
        ssmp_positions_next(&positions, 0);
        b->pairs[1] = positions.next;
        ssmp_bulk_rounds(b->perm, b->pairs, 2, 0);
    }
    if (ssmp_bulk_store(out, count, b, b->pairs, 0))
        ssmp_bulk_walk(b, out, count);
}

/* The indices of the positions in values. */
SSMP_INLINE_FOR_SPEED void ssmp_bulk_map(ssmp_bulk *b, uint64_t *values,
                                         size_t count, const int wide)
{
    const uint32_t lanes = (uint32_t)SSMP_LANES16 >> wide;
    uint32_t j;
    size_t group;

    for (; count != 0; values += group, count -= group) {
        group = (size_t)ssmp_min(count, SSMP_VECTORS * lanes);
        for (j = 0; j * lanes < group; j++)
            ssmp_bulk_load(&b->pairs[j], b, values + j * lanes,
                           group - j * lanes, wide);
        ssmp_bulk_group(b, 0, values, group, wide);
    }
}

/* What perm_fill and perm_map call: these, or their copies for AVX2. */
SSMP_BY_PROCESSOR void ssmp_vectors_fill(const statesampler_perm *perm,
                                         uint64_t first, uint64_t stride,
                                         uint64_t *out, size_t count)
{
    ssmp_bulk b;

    b.perm = perm;
    b.num_images = 0;
    if (perm->wide)
        ssmp_bulk_fill(&b, first, stride, out, count, 1);
    else if (count <= SSMP_FEW && perm->rounds < 24)
        ssmp_bulk_fill_few(&b, first, stride, out, count);
    else
        ssmp_bulk_fill(&b, first, stride, out, count, 0);
}

SSMP_BY_PROCESSOR void ssmp_vectors_map(const statesampler_perm *perm,
                                        uint64_t *values, size_t count)
{
    ssmp_bulk b;

    b.perm = perm;
    b.num_images = 0;
    if (perm->wide)
        ssmp_bulk_map(&b, values, count, 1);
    else
        ssmp_bulk_map(&b, values, count, 0);
}

#undef SSMP_SECOND_READING /* done */

#endif /* both readings */

#ifdef SSMP_FIRST_READING

/* The second reading. A type or function that is new above needs a line here:
   without it the compiler says that it is defined twice. A macro needs one only
   if it is another with AVX2: to define it again in the same words is no
   error. */
#ifdef SSMP_BOTH_READINGS
#undef SSMP_FIRST_READING
#define SSMP_SECOND_READING
#undef SSMP_BYTES
#define SSMP_BYTES 32
#undef SSMP_X86
#define SSMP_X86(op, a, b) _mm256_##op((__m256i)(a), (__m256i)(b))
#undef SSMP_MERGE32
#undef SSMP_REDUCE
#define ssmp_v16 ssmp_avx2_v16
#define ssmp_v32 ssmp_avx2_v32
#define ssmp_v64 ssmp_avx2_v64
#define ssmp_pairs ssmp_avx2_pairs
#define ssmp_array64 ssmp_avx2_array64
#define ssmp_key16 ssmp_avx2_key16
#define ssmp_splat ssmp_avx2_splat
#define ssmp_round ssmp_avx2_round
#define ssmp_bulk_rounds ssmp_avx2_bulk_rounds
#define ssmp_bulk_network ssmp_avx2_bulk_network
#define ssmp_bulk ssmp_avx2_bulk
#define ssmp_positions ssmp_avx2_positions
#define ssmp_bulk_load ssmp_avx2_bulk_load
#define ssmp_positions_begin ssmp_avx2_positions_begin
#define ssmp_positions_next ssmp_avx2_positions_next
#define ssmp_joiner ssmp_avx2_joiner
#define ssmp_joiner_of ssmp_avx2_joiner_of
#define ssmp_bulk_join ssmp_avx2_bulk_join
#define ssmp_any_negative ssmp_avx2_any_negative
#define ssmp_bulk_join_part ssmp_avx2_bulk_join_part
#define ssmp_bulk_store ssmp_avx2_bulk_store
#define ssmp_bulk_walk ssmp_avx2_bulk_walk
#define ssmp_bulk_load_cells ssmp_avx2_bulk_load_cells
#define ssmp_bulk_group ssmp_avx2_bulk_group
#define ssmp_bulk_fill ssmp_avx2_bulk_fill
#define ssmp_bulk_fill_few ssmp_avx2_bulk_fill_few
#define ssmp_bulk_map ssmp_avx2_bulk_map
#define ssmp_vectors_fill ssmp_avx2_vectors_fill
#define ssmp_vectors_map ssmp_avx2_vectors_map
#ifdef __clang__
#pragma clang attribute push
#pragma clang attribute(__attribute__((__target__("avx2"))), \
                        apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2")
#endif
#include "statesampler.h"
#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#undef ssmp_vectors_fill
#undef ssmp_vectors_map
#ifdef SSMP_SECOND_READING /* still: that reading did not come to its end */
#error "The statesampler.h beside this file is another version of it."
#endif
#define SSMP_FIRST_READING
#endif /* SSMP_BOTH_READINGS */

STATESAMPLER_DEF void statesampler_perm_fill(const statesampler_perm *perm,
                                             uint64_t first, uint64_t stride,
                                             uint64_t *out, size_t count)
{
    STATESAMPLER_ASSERT(perm && (out || count == 0));
    STATESAMPLER_ASSERT(count == 0 || first < perm->n);
    STATESAMPLER_ASSERT(count == 0 || stride == 0 ||
                        count - 1 <= (perm->n - 1 - first) / stride);
#ifdef SSMP_BYTES
    if (count > 1) { /* a lone one is faster by itself */
#ifdef SSMP_BOTH_READINGS
        if (STATESAMPLER_AVX2) {
            ssmp_avx2_vectors_fill(perm, first, stride, out, count);
            return;
        }
#endif
        ssmp_vectors_fill(perm, first, stride, out, count);
        return;
    }
#elif defined(SSMP_PAIRS)
    for (; count >= SSMP_PAIRS; count -= SSMP_PAIRS) {
        uint32_t l[SSMP_PAIRS], r[SSMP_PAIRS], i;
        const uint64_t n = perm->n, right = perm->right;
        uint32_t walks = 0;

        for (i = 0; i < SSMP_PAIRS; i++, first += stride) {
            l[i] = ssmp_perm_quotient(perm, first);
            r[i] = (uint32_t)first - l[i] * perm->right;
        }
        if (perm->wide)
            ssmp_perm_network(l, r, perm, SSMP_PAIRS, 1);
        else
            ssmp_perm_network(l, r, perm, SSMP_PAIRS, 0);
        /* The loop that walks is too long to unroll. So it does not read l and
           r, which a GPU would then have in memory, not in registers. */
        for (i = 0; i < SSMP_PAIRS; i++) {
            const uint64_t index = (uint64_t)l[i] * right + r[i];

            out[i] = index;
            walks |= index >= n;
        }
        for (i = 0; walks && i < SSMP_PAIRS; i++)
            if (out[i] >= n)
                out[i] = ssmp_perm_walk(perm, out[i]);
        out += SSMP_PAIRS;
    }
#endif
    for (; count != 0; count--, first += stride)
        *out++ = ssmp_perm_walk(perm, first);
}

STATESAMPLER_DEF void statesampler_perm_map(const statesampler_perm *perm,
                                            uint64_t *values, size_t count)
{
    STATESAMPLER_ASSERT(perm && (values || count == 0));
#ifdef SSMP_BYTES
#ifdef SSMP_BOTH_READINGS
    if (STATESAMPLER_AVX2) {
        ssmp_avx2_vectors_map(perm, values, count);
        return;
    }
#endif
    ssmp_vectors_map(perm, values, count);
#else
    for (; count != 0; count--, values++)
        *values = ssmp_perm_walk(perm, *values);
#endif
}

/* --- order -----------------------------------------------------------------
   An order says which sample is at a position of one block: the whole dataset,
   or with BLOCKED one of its parts. Positions here count inside the block. */

/* How many indices a function's own buffer holds, so that bulk needs at most
   4 KiB of stack. */
#ifdef SSMP_BYTES
#define SSMP_HAS_VECTORS 1
#define SSMP_BUFFER (SSMP_BYTES > 32 ? 32 : 64)
#else
#define SSMP_HAS_VECTORS 0
#define SSMP_BUFFER 1
#endif

SSMP_FN void ssmp_order_clear(ssmp_order *order)
{
    order->blocks = 0; /* nothing is set up: a dataset has at least one */
    ssmp_perm_clear(&order->perm);
    ssmp_perm_clear(&order->inside);
    /* Nobody reads these before they are set, but gcc -O3 warns of them. */
    order->block = 0;
    order->epoch = order->epoch_key = order->seed_key = order->key = 0;
    order->start = order->size = 0;
}

/* Whether an order has the keys of an epoch. */
SSMP_FN int ssmp_order_knows(const ssmp_order *order, uint64_t epoch)
{
    return order->blocks != 0 && order->epoch == epoch;
}

SSMP_FN int ssmp_order_is(const ssmp_order *order, uint64_t epoch,
                          uint32_t blocks, uint32_t block)
{
    return order->blocks == blocks && order->block == block &&
           order->epoch == epoch;
}

/* Sets up the order of this epoch and block of a segment, unless it is set. */
SSMP_NOINLINE void ssmp_order_set(ssmp_order *order, const ssmp_run *run,
                                  const ssmp_segment *segment, uint64_t epoch,
                                  uint32_t block)
{
    const uint32_t blocks = SSMP_BLOCKS(segment);
    uint64_t key, quota;
    uint32_t longer;

    if (ssmp_order_is(order, epoch, blocks, block))
        return;
    if (!ssmp_order_knows(order, epoch)) {
        order->epoch_key = ssmp_epoch_key(run->seed, epoch, run->stream);
        order->seed_key = ssmp_derive(order->epoch_key, SSMP_SEED);
    }
    order->epoch = epoch;
    order->blocks = blocks;
    order->block = block;
    key = order->epoch_key;
    if (SSMP_PARTITION(run) == STATESAMPLER_PARTITION_BLOCKED)
        key = ssmp_derive(key, SSMP_BLOCK + block);
    order->key = key;
    /* The first num_samples mod blocks have one sample more; not with DROP. */
    quota = run->num_samples / blocks;
    longer = (uint32_t)(run->num_samples % blocks);
    if (SSMP_TAIL(run) == STATESAMPLER_TAIL_DROP)
        longer = 0;
    order->start = block * quota + (block < longer ? block : longer);
    order->size = quota + (block < longer);
    if (SSMP_ORDER(run) == STATESAMPLER_ORDER_SHUFFLE)
        ssmp_perm_set(&order->perm, order->size, order->key);
    else if (SSMP_ORDER(run) == STATESAMPLER_ORDER_WINDOW)
        ssmp_perm_set(&order->perm, order->size / run->chunk_size, order->key);
}

/* What reads a segment's samples. Their order is s->ready if that is of their
   epoch and block; otherwise it is set up in spare. */
typedef struct ssmp_reader {
    const statesampler *s;
    const ssmp_segment *segment;
    ssmp_order *spare; /* may be the sampler's own */
    ssmp_cursor at;    /* where it reads next */
} ssmp_reader;

/* A block's order in the reader's epoch: s->ready if it fits, else spare. */
SSMP_FN const ssmp_order *ssmp_reader_order(const ssmp_reader *reader,
                                            uint32_t block)
{
    const uint32_t blocks = SSMP_BLOCKS(reader->segment);

    if (ssmp_order_is(&reader->s->ready, reader->at.epoch, blocks, block))
        return &reader->s->ready;
    ssmp_order_set(reader->spare, &reader->s->run, reader->segment,
                   reader->at.epoch, block);
    return reader->spare;
}

/* The permutation inside a window: order->inside if that is of this window;
   otherwise it is set up in spare. */
SSMP_FN const statesampler_perm *ssmp_order_window(ssmp_order *spare,
                                                   const ssmp_order *order,
                                                   const ssmp_run *run,
                                                   uint64_t window)
{
    uint64_t window_size = run->chunk_size * run->window;
    uint64_t size = ssmp_min(window_size, order->size - window * window_size);
    uint64_t key = ssmp_derive(order->key, SSMP_WINDOW + window);

    if (order->inside.n == size && order->inside.key == key)
        return &order->inside;
    if (spare->inside.n != size || spare->inside.key != key)
        ssmp_perm_set(&spare->inside, size, key);
    return &spare->inside;
}

/* The chunks of a block: `full` ones of `size` samples, which are permuted, and
   after them perhaps a short one, number `full`, which stays where it is.
   inverse is (2^32 - 1) / size, rounded down: value * inverse >> 32 is
   value / size or 1 less, and several times faster. It is 0, and not used, if
   windows are too large for that, or there are no vectors. */
typedef struct ssmp_chunks {
    uint64_t size, full, inverse;
} ssmp_chunks;

/* Divides values of a window, which begins with chunk `before`, into numbers of
   chunks and offsets inside these. The caller permutes all numbers, but the
   permutation has no number `full`, the short chunk's. So a value in that chunk
   gets number 0, which means nothing, and an offset that tells it from others:
   it counts from the chunk before the short one, and so is `size` or more. */
SSMP_FN void ssmp_chunks_divide(uint64_t *numbers, uint64_t *offsets,
                                const uint64_t *values,
                                const ssmp_chunks *chunks, uint64_t before,
                                size_t count)
{
    const uint64_t size = chunks->size, full = chunks->full;
    const uint64_t inverse = chunks->inverse;
    size_t i;

    for (i = 0; i < count; i++) {
        const uint64_t value = values[i];
        uint64_t number = inverse ? value * inverse >> 32 : value / size;
        uint64_t offset = value - number * size;

        number += before;
        if (offset >= size) { /* inverse gave one less */
            offset -= size;
            number++;
        }
        if (number == full) {
            offset += size;
            number = 0;
        }
        numbers[i] = number;
        offsets[i] = offset;
    }
}

/* The samples at offsets inside permuted chunks, where sample `start` is the
   block's first. An offset of `size` or more is one in the short chunk. */
SSMP_FN void ssmp_chunks_join(uint64_t *samples, const uint64_t *numbers,
                              const uint64_t *offsets,
                              const ssmp_chunks *chunks, uint64_t start,
                              size_t count)
{
    const uint64_t size = chunks->size;
    /* The chunk before the short one. If no chunk is full this is -1: the sums
       wrap around, and are right. */
    const uint64_t last_full = chunks->full - 1;
    size_t i;

    for (i = 0; i < count; i++) {
        const uint64_t number = offsets[i] < size ? numbers[i] : last_full;

        samples[i] = offsets[i] + start + number * size;
    }
}

/* The samples at positions first, first + stride, ... of a block in windows. */
SSMP_FN void ssmp_reader_fill_windows(uint64_t *out, const ssmp_reader *reader,
                                      const ssmp_order *order, uint64_t first,
                                      uint64_t stride, size_t count)
{
    const ssmp_run *run = &reader->s->run;
    const uint64_t window_size = run->chunk_size * run->window;
    uint64_t numbers[SSMP_BUFFER];
    ssmp_chunks chunks;
    size_t done, in_window, in_buffer;

    chunks.size = run->chunk_size;
    chunks.full = order->perm.n;
    chunks.inverse = 0;
    if (window_size <= SSMP_MAX32 && SSMP_HAS_VECTORS)
        chunks.inverse = SSMP_MAX32 / chunks.size;
    /* Each iteration serves one index or more, as first is in its window. */
    for (; count != 0;
         out += in_window, count -= in_window, first += in_window * stride) {
        const uint64_t window = first / window_size;
        const uint64_t inside = first - window * window_size;
        const statesampler_perm *perm =
            ssmp_order_window(reader->spare, order, run, window);

        if (!SSMP_HAS_VECTORS)
            in_window = 1; /* more would only cost a division */
        else if (stride == 0)
            in_window = count;
        else
            in_window =
                (size_t)ssmp_min(count, (perm->n - 1 - inside) / stride + 1);
        statesampler_perm_fill(perm, inside, stride, out, in_window);
        for (done = 0; done < in_window; done += in_buffer) {
            /* Three names of one array, of which each call replaces what it has
               read there: another array would double the stack. */
            uint64_t *values = out + done, *offsets = values, *samples = values;

            in_buffer = (size_t)ssmp_min(in_window - done, SSMP_BUFFER);
            ssmp_chunks_divide(numbers, offsets, values, &chunks,
                               window * run->window, in_buffer);
            statesampler_perm_map(&order->perm, numbers, in_buffer);
            ssmp_chunks_join(samples, numbers, offsets, &chunks, order->start,
                             in_buffer);
        }
    }
}

/* A position's random word of this number; the first has number 1. sum is
   key + SSMP_DRAW + position, which derive(key, SSMP_DRAW + position) would add
   up first. So to go to another position the caller only adds a stride. */
SSMP_OUTLINE_FOR_SIZE uint64_t ssmp_order_word(uint64_t sum, uint64_t number)
{
    return ssmp_scramble(ssmp_derive(0, sum) + number * SSMP_GOLDEN);
}

/* Independent uniform samples: a position's sample is the first of its words
   that is below the block's size once it is ANDed with mask. Two words are
   always computed: mostly one of them will do, and a branch after the first
   would often be mispredicted. The search ends, as words take all 2^64 values
   before one repeats, and at least half of these will do. */
SSMP_NOINLINE void ssmp_order_draw(uint64_t *out, const ssmp_order *order,
                                   uint64_t first, uint64_t stride,
                                   size_t count)
{
    const uint64_t size = order->size;
    const uint64_t first_sum = order->key + SSMP_DRAW + first;
    uint64_t mask = size - 1, sum = first_sum;
    uint64_t number;
    size_t i;

    for (i = 1; i < 64; i *= 2)
        mask |= mask >> i;
    for (i = 0; i < count; i++) {
        uint64_t one = ssmp_order_word(sum, 1) & mask;
        uint64_t two = ssmp_order_word(sum, 2) & mask;

        out[i] = one < size ? one : two;
        sum += stride;
    }
    sum = first_sum;
    for (i = 0; i < count; i++) {
        uint64_t sample = out[i];

        for (number = 3; sample >= size; number++)
            sample = ssmp_order_word(sum, number) & mask;
        out[i] = sample + order->start;
        sum += stride;
    }
}

/* The samples at count positions first, first + stride, ..., which are all of
   one block and below num_samples: so stride is a multiple of the number of
   blocks, if count is more than 1. */
SSMP_NOINLINE void ssmp_reader_fill_block(uint64_t *out,
                                          const ssmp_reader *reader,
                                          uint64_t first, uint64_t stride,
                                          size_t count)
{
    const ssmp_run *run = &reader->s->run;
    uint32_t blocks = SSMP_BLOCKS(reader->segment), block = 0;
    const ssmp_order *order;
    uint64_t start;
    size_t i;

    if (blocks != 1) {
        block = (uint32_t)(first % blocks);
        first /= blocks;
        stride /= blocks;
    }
    order = ssmp_reader_order(reader, block);
    start = order->start;
    if (SSMP_ORDER(run) == STATESAMPLER_ORDER_SHUFFLE) {
        statesampler_perm_fill(&order->perm, first, stride, out, count);
        for (i = 0; start != 0 && i < count; i++)
            out[i] += start;
    } else if (SSMP_ORDER(run) == STATESAMPLER_ORDER_SEQUENTIAL) {
        first += start;
        for (i = 0; i < count; i++, first += stride)
            out[i] = first;
    } else if (SSMP_ORDER(run) == STATESAMPLER_ORDER_WINDOW) {
        ssmp_reader_fill_windows(out, reader, order, first, stride, count);
    } else {
        ssmp_order_draw(out, order, first, stride, count);
    }
}

/* The position of a sample, for all orders but REPLACEMENT: the inverse of
   ssmp_reader_fill_block. Sample and result count from the block's start. */
SSMP_FN uint64_t ssmp_order_inverse(const ssmp_run *run,
                                    const ssmp_order *order, ssmp_order *spare,
                                    uint64_t sample)
{
    uint64_t chunk, place, window;

    if (SSMP_ORDER(run) == STATESAMPLER_ORDER_SEQUENTIAL)
        return sample;
    if (SSMP_ORDER(run) == STATESAMPLER_ORDER_SHUFFLE)
        return statesampler_perm_inverse(&order->perm, sample);
    chunk = sample / run->chunk_size;
    sample -= chunk * run->chunk_size;
    place = chunk;
    if (chunk < order->perm.n)
        place = statesampler_perm_inverse(&order->perm, chunk);
    window = place / run->window;
    sample += (place - window * run->window) * run->chunk_size;
    return window * (run->chunk_size * run->window) +
           statesampler_perm_inverse(
               ssmp_order_window(spare, order, run, window), sample);
}

/* --- sampler ---------------------------------------------------------------
   Bounds that keep every sum below 2^64: num_samples <= 2^62, the global batch
   < 2^62, world_size < 2^32. A position is below 2^62 + 2^33, as padding adds
   less than blocks + world_size to num_samples. */

#define SSMP_MAX_POSITION (STATESAMPLER_MAX_SAMPLES + ((uint64_t)1 << 33))

SSMP_OUTLINE_FOR_SIZE uint64_t ssmp_global_batch(const ssmp_shape *shape)
{
    return (uint64_t)shape->world_size * shape->batch_size;
}

/* Field by field, as a compiler may call memcpy for a whole struct. */
SSMP_OUTLINE_FOR_SIZE void ssmp_cursor_copy(ssmp_cursor *to,
                                            const ssmp_cursor *from)
{
    to->epoch = from->epoch;
    to->position = from->position;
    to->step = from->step;
}

SSMP_OUTLINE_FOR_SIZE void ssmp_segment_copy(ssmp_segment *to,
                                             const ssmp_segment *from)
{
    ssmp_cursor_copy(&to->base, &from->base);
    to->end = from->end;
    to->carry = from->carry;
    to->blocks = from->blocks;
}

/* --- sampler: the tail, and what a shape serves of an epoch */

/* Rounds samples to a multiple of parts, as the tail says: PAD rounds up, DROP
   down. */
SSMP_OUTLINE_FOR_SIZE uint64_t ssmp_tail_round(uint32_t tail, uint64_t samples,
                                               uint32_t parts)
{
    uint32_t rest = (uint32_t)(samples % parts);

    if (tail == STATESAMPLER_TAIL_DROP)
        return samples - rest;
    if (tail == STATESAMPLER_TAIL_PAD && rest != 0)
        return samples + (parts - rest);
    return samples;
}

/* The position whose sample a padding position repeats. With BLOCKED it is the
   block's own first, which is position `block`, unless the block is empty;
   otherwise padding begins again at position 0. */
SSMP_OUTLINE_FOR_SIZE uint64_t ssmp_run_repeated(const ssmp_run *run,
                                                 uint32_t blocks,
                                                 uint64_t position)
{
    if (SSMP_PARTITION(run) == STATESAMPLER_PARTITION_BLOCKED) {
        const uint64_t block = position % blocks;

        if (block < run->num_samples)
            return block;
    }
    return position % run->num_samples;
}

/* Sets a segment's end from its base and blocks. */
SSMP_NOINLINE void ssmp_segment_close(ssmp_segment *segment,
                                      const ssmp_run *run,
                                      const ssmp_shape *shape)
{
    const uint64_t base = segment->base.position;
    /* The D of the manual. */
    const uint64_t d =
        ssmp_tail_round(SSMP_TAIL(run), run->num_samples, SSMP_BLOCKS(segment));
    const uint64_t left = d > base ? d - base : 0;
    uint64_t length = ssmp_tail_round(SSMP_TAIL(run), left, shape->world_size);

    if (shape->drop_last)
        length -= length % ssmp_global_batch(shape);
    segment->end = base + length;
    segment->carry = SSMP_TAIL(run) == STATESAMPLER_TAIL_CARRY;
}

/* Sets a segment to a whole epoch in some shape. */
SSMP_OUTLINE_FOR_SIZE void ssmp_segment_begin(ssmp_segment *segment,
                                              const ssmp_run *run,
                                              const ssmp_shape *shape,
                                              uint64_t epoch)
{
    segment->base.epoch = epoch;
    segment->base.position = 0;
    segment->base.step = 0;
    segment->blocks = 1;
    if (SSMP_PARTITION(run) == STATESAMPLER_PARTITION_BLOCKED)
        segment->blocks = shape->world_size;
    ssmp_segment_close(segment, run, shape);
}

/* The steps of a segment; with CARRY, as many as seek can reach. */
SSMP_OUTLINE_FOR_SIZE uint64_t ssmp_segment_steps(const ssmp_segment *segment,
                                                  uint64_t global_batch)
{
    if (SSMP_CARRY(segment))
        return STATESAMPLER_MAX_SAMPLES / global_batch;
    return ssmp_ceil_div(segment->end - segment->base.position, global_batch);
}

/* The steps of a whole epoch in some shape. An epoch with a later base never
   has more. */
SSMP_OUTLINE_FOR_SIZE uint64_t ssmp_shape_steps(const ssmp_run *run,
                                                const ssmp_shape *shape)
{
    ssmp_segment whole;

    ssmp_segment_begin(&whole, run, shape, 0);
    return ssmp_segment_steps(&whole, ssmp_global_batch(shape));
}

/* Moves a cursor on: to the end at most, but with CARRY into later epochs. */
SSMP_OUTLINE_FOR_SIZE void ssmp_cursor_move(ssmp_cursor *cursor,
                                            const ssmp_segment *segment,
                                            uint64_t positions)
{
    uint64_t position = cursor->position + positions;

    if (SSMP_CARRY(segment) && position >= segment->end) {
        cursor->epoch += position / segment->end;
        position %= segment->end;
    }
    cursor->position = ssmp_min(position, segment->end);
}

/* Where a step begins, which is `steps` after the base: at most
   ssmp_segment_steps. */
SSMP_FN void ssmp_segment_find(ssmp_cursor *cursor, const ssmp_segment *segment,
                               uint64_t global_batch, uint64_t steps)
{
    ssmp_cursor_copy(cursor, &segment->base);
    cursor->step += steps;
    ssmp_cursor_move(cursor, segment, steps * global_batch);
}

/* --- sampler: reading a step */

/* How many of count positions first, first + world_size, ... are below
   bound. */
SSMP_OUTLINE_FOR_SIZE size_t ssmp_shape_below(const ssmp_shape *shape,
                                              uint64_t bound, uint64_t first,
                                              size_t count)
{
    if (first >= bound)
        return 0;
    bound -= first;
    if (bound > (uint64_t)count * shape->world_size)
        return count; /* mostly; this saves the division */
    return (size_t)ssmp_ceil_div(bound, shape->world_size);
}

/* How many samples this rank has in the step at a position. */
SSMP_OUTLINE_FOR_SIZE size_t ssmp_segment_count(const ssmp_segment *segment,
                                                const ssmp_shape *shape,
                                                uint64_t position)
{
    const size_t full = (size_t)shape->batch_size;

    if (SSMP_CARRY(segment))
        return full;
    return ssmp_shape_below(shape, segment->end, position + shape->rank, full);
}

/* Does what ssmp_reader_fill_block does with the stride world_size, where
   neighbours are in different blocks. It fills all slots of one block, then
   those of the next: with 6 ranks and 8 blocks, every fourth slot is of the
   same block, as 4 * 6 is a multiple of 8. */
SSMP_NOINLINE void ssmp_reader_fill_slots(uint64_t *out,
                                          const ssmp_reader *reader,
                                          uint64_t first, size_t count)
{
    const uint64_t world_size = reader->s->run.shape.world_size;
    uint64_t indices[(SSMP_BUFFER + 1) / 2];
    size_t spacing = 1, slot, done, i, in_buffer;

    /* Every spacing-th slot is of the same block. */
    while (spacing < count &&
           spacing * world_size % SSMP_BLOCKS(reader->segment) != 0)
        spacing++;
    for (slot = 0; slot < spacing; slot++) {
        /* done grows by spacing or more in every iteration. */
        for (done = slot; done < count; done += in_buffer * spacing) {
            in_buffer = (size_t)ssmp_min((count - done - 1) / spacing + 1,
                                         sizeof indices / sizeof indices[0]);
            ssmp_reader_fill_block(indices, reader, first + done * world_size,
                                   spacing * world_size, in_buffer);
            for (i = 0; i < in_buffer; i++)
                out[done + i * spacing] = indices[i];
        }
    }
}

/* This rank's count samples of the step at a cursor: at once those that are
   left of an epoch, or a single one that is padding. */
SSMP_FN void ssmp_sampler_fill(uint64_t *out, const statesampler *s,
                               const ssmp_segment *segment,
                               const ssmp_cursor *cursor, ssmp_order *spare,
                               size_t count)
{
    const ssmp_run *run = &s->run;
    const uint32_t blocks = SSMP_BLOCKS(segment);
    const uint32_t stride = run->shape.world_size;
    ssmp_reader reader;
    size_t at_once;

    reader.s = s;
    reader.segment = segment;
    reader.spare = spare;
    ssmp_cursor_copy(&reader.at, cursor);
    ssmp_cursor_move(&reader.at, segment, run->shape.rank);
    for (; count != 0; out += at_once, count -= at_once) {
        uint64_t first = reader.at.position;

        at_once = ssmp_shape_below(&run->shape, run->num_samples, first, count);
        if (at_once == 0) { /* padding */
            at_once = 1;
            first = ssmp_run_repeated(run, blocks, first);
        }
        if (blocks == 1 || stride % blocks == 0)
            ssmp_reader_fill_block(out, &reader, first, stride, at_once);
        else /* as after a change of world_size */
            ssmp_reader_fill_slots(out, &reader, first, at_once);
        if (at_once == count)
            return;
        ssmp_cursor_move(&reader.at, segment, (uint64_t)at_once * stride);
    }
}

/* --- sampler: the seed of a sample */

STATESAMPLER_DEF uint64_t statesampler_sample_seed(const statesampler *s,
                                                   uint64_t epoch,
                                                   uint64_t index)
{
    uint64_t key;

    STATESAMPLER_ASSERT(s && s->run.shape.world_size != 0);
    key = s->ready.seed_key;
    if (!ssmp_order_knows(&s->ready, epoch)) {
        key = ssmp_epoch_key(s->run.seed, epoch, s->run.stream);
        key = ssmp_derive(key, SSMP_SEED);
    }
    return ssmp_derive(key, index);
}

/* --- sampler: the description */

/* Sets a shape in which 0 means 1, as in a description. */
SSMP_FN void ssmp_shape_set(ssmp_shape *shape, uint32_t rank,
                            uint32_t world_size, uint32_t batch_size,
                            uint32_t drop_last)
{
    shape->rank = rank;
    shape->world_size = world_size ? world_size : 1;
    shape->batch_size = batch_size ? batch_size : 1;
    shape->drop_last = drop_last;
}

SSMP_FN int ssmp_shape_check(const ssmp_shape *shape)
{
    if (shape->rank >= shape->world_size)
        return STATESAMPLER_EINVAL_RANK;
    if (ssmp_global_batch(shape) >= STATESAMPLER_MAX_SAMPLES)
        return STATESAMPLER_EINVAL_GLOBAL_BATCH;
    return STATESAMPLER_OK;
}

/* A size_t counts the samples of a batch, and has 16 bits on some small cores.
   A state is not checked so, as another machine may have served larger
   batches. */
SSMP_FN int ssmp_batch_check(uint32_t batch_size)
{
    if ((size_t)batch_size != batch_size)
        return STATESAMPLER_EINVAL_BATCH_SIZE;
    return STATESAMPLER_OK;
}

SSMP_FN int ssmp_run_check_window(const ssmp_run *run)
{
    if (SSMP_ORDER(run) != STATESAMPLER_ORDER_WINDOW)
        return STATESAMPLER_OK;
    if (run->chunk_size == 0)
        return STATESAMPLER_EINVAL_CHUNK_SIZE;
    if (run->window == 0)
        return STATESAMPLER_EINVAL_WINDOW;
    if (run->window > (STATESAMPLER_MAX_SAMPLES - 1) / run->chunk_size)
        return STATESAMPLER_EINVAL_CHUNKS;
    return STATESAMPLER_OK;
}

SSMP_OUTLINE_FOR_SIZE int ssmp_run_check_carry(const ssmp_run *run)
{
    if (SSMP_TAIL(run) != STATESAMPLER_TAIL_CARRY)
        return STATESAMPLER_OK;
    if (run->num_samples == 0)
        return STATESAMPLER_EINVAL_CARRY_EMPTY;
    if (SSMP_PARTITION(run) == STATESAMPLER_PARTITION_BLOCKED)
        return STATESAMPLER_EINVAL_CARRY_BLOCKED;
    if (run->shape.drop_last)
        return STATESAMPLER_EINVAL_CARRY_DROP_LAST;
    return STATESAMPLER_OK;
}

/* The rules of init, which a state must keep, too. */
SSMP_NOINLINE int ssmp_run_check_desc(const ssmp_run *run)
{
    /* Early, which takes less code; but num_samples has the first say. */
    int code = ssmp_shape_check(&run->shape);

    if (run->num_samples > STATESAMPLER_MAX_SAMPLES)
        return STATESAMPLER_EINVAL_NUM_SAMPLES;
    if (code != STATESAMPLER_OK)
        return code;
    if (run->order > STATESAMPLER_ORDER_REPLACEMENT)
        return STATESAMPLER_EINVAL_ORDER;
    if (run->partition > STATESAMPLER_PARTITION_BLOCKED)
        return STATESAMPLER_EINVAL_PARTITION;
    if (run->tail > STATESAMPLER_TAIL_CARRY)
        return STATESAMPLER_EINVAL_TAIL;
    if (run->shape.drop_last > 1)
        return STATESAMPLER_EINVAL_DROP_LAST;
#ifdef STATESAMPLER_ONLY_SHUFFLE
    if ((run->order | run->partition | run->tail) != 0)
        return STATESAMPLER_EINVAL_LEFT_OUT;
#endif
    code = ssmp_run_check_window(run);
    if (code == STATESAMPLER_OK)
        code = ssmp_run_check_carry(run);
    return code;
}

/* Sets all of a run but its segment and cursor. */
SSMP_NOINLINE void ssmp_run_set(ssmp_run *run, const statesampler_desc *desc)
{
    const int windows = desc->order == STATESAMPLER_ORDER_WINDOW;

    run->num_samples = desc->num_samples;
    run->seed = desc->seed;
    run->stream = desc->stream;
    run->order = desc->order;
    run->partition = desc->partition;
    run->tail = desc->tail;
    run->chunk_size = windows ? desc->chunk_size : 0;
    run->window = windows ? desc->window : 0;
    ssmp_shape_set(&run->shape, desc->rank, desc->world_size, desc->batch_size,
                   desc->drop_last);
}

STATESAMPLER_DEF int statesampler_init(statesampler *s,
                                       const statesampler_desc *desc)
{
    ssmp_run run;
    int code;

    STATESAMPLER_ASSERT(s && desc);
    ssmp_run_set(&run, desc);
    code = ssmp_run_check_desc(&run);
    if (code == STATESAMPLER_OK)
        code = ssmp_batch_check(desc->batch_size);
    if (code != STATESAMPLER_OK)
        return code;
    ssmp_run_set(&s->run, desc); /* again: a copy could call memcpy */
    ssmp_order_clear(&s->ready);
    statesampler_begin(s, desc->epoch);
    return STATESAMPLER_OK;
}

/* The description of a run as rank 0, without its drop_last. */
SSMP_FN void ssmp_run_describe(statesampler_desc *desc, const ssmp_run *run)
{
    desc->num_samples = run->num_samples;
    desc->seed = run->seed;
    desc->epoch = run->now.epoch;
    desc->stream = run->stream;
    desc->rank = 0;
    desc->world_size = run->shape.world_size;
    desc->batch_size = run->shape.batch_size;
    desc->order = run->order;
    desc->partition = run->partition;
    desc->tail = run->tail;
    desc->drop_last = 0;
    desc->chunk_size = run->chunk_size;
    desc->window = run->window;
}

/* --- sampler: moving */

/* Sets up the order of the present epoch, for this rank's first block. */
SSMP_OUTLINE_FOR_SIZE void ssmp_sampler_prepare(statesampler *s)
{
    const ssmp_run *run = &s->run;
    const uint32_t blocks = SSMP_BLOCKS(&run->segment);

    ssmp_order_set(&s->ready, run, &run->segment, run->now.epoch,
                   (uint32_t)((run->now.position + run->shape.rank) % blocks));
}

STATESAMPLER_DEF void statesampler_begin(statesampler *s, uint64_t epoch)
{
    STATESAMPLER_ASSERT(s && s->run.shape.world_size != 0);
    ssmp_segment_begin(&s->run.segment, &s->run, &s->run.shape, epoch);
    ssmp_cursor_copy(&s->run.now, &s->run.segment.base);
    ssmp_sampler_prepare(s);
}

STATESAMPLER_DEF void statesampler_set_epoch(statesampler *s, uint64_t epoch)
{
    STATESAMPLER_ASSERT(s && s->run.shape.world_size != 0);
    if (epoch != s->run.now.epoch)
        statesampler_begin(s, epoch);
}

/* Makes the present the base. An epoch that has served nothing begins again. */
SSMP_NOINLINE void ssmp_sampler_rebase(statesampler *s)
{
    ssmp_run *run = &s->run;

    if ((run->now.position | run->now.step) == 0) {
        statesampler_begin(s, run->now.epoch);
        return;
    }
    ssmp_cursor_copy(&run->segment.base, &run->now);
    ssmp_segment_close(&run->segment, run, &run->shape);
}

STATESAMPLER_DEF int statesampler_reshape(statesampler *s, uint32_t rank,
                                          uint32_t world_size,
                                          uint32_t batch_size)
{
    ssmp_run *run;
    ssmp_shape shape;
    int code, same;

    STATESAMPLER_ASSERT(s && s->run.shape.world_size != 0);
    run = &s->run;
    ssmp_shape_set(&shape, rank, world_size, batch_size, 0);
    code = ssmp_shape_check(&shape);
    if (code == STATESAMPLER_OK)
        code = ssmp_batch_check(batch_size);
    if (code != STATESAMPLER_OK)
        return code;
    same = shape.world_size == run->shape.world_size &&
           shape.batch_size == run->shape.batch_size;
    ssmp_shape_set(&run->shape, rank, world_size, batch_size,
                   run->shape.drop_last);
    if (!same)
        ssmp_sampler_rebase(s);
    ssmp_sampler_prepare(s); /* the rank may have changed */
    return STATESAMPLER_OK;
}

STATESAMPLER_DEF int statesampler_resize(statesampler *s, uint64_t num_samples)
{
    ssmp_run *run;
    ssmp_segment *segment;
    uint64_t served;

    STATESAMPLER_ASSERT(s && s->run.shape.world_size != 0);
    run = &s->run;
    if (num_samples > STATESAMPLER_MAX_SAMPLES)
        return STATESAMPLER_EINVAL_NUM_SAMPLES;
    if (SSMP_ORDER(run) != STATESAMPLER_ORDER_SEQUENTIAL ||
        SSMP_PARTITION(run) != STATESAMPLER_PARTITION_INTERLEAVED)
        return STATESAMPLER_EINVAL_RESIZE;
    segment = &run->segment;
    if (num_samples == 0 && SSMP_CARRY(segment))
        return STATESAMPLER_EINVAL_CARRY_EMPTY;
    if (num_samples == run->num_samples)
        return STATESAMPLER_OK;
    /* What was served past num_samples was padding, which repeats samples; the
       new samples of these numbers are still to be served. */
    served = ssmp_min(run->now.position, run->num_samples);
    if (num_samples < served)
        return STATESAMPLER_ERANGE_POSITION;
    run->num_samples = num_samples;
    run->now.position = served;
    s->ready.blocks = 0; /* it is that of the old num_samples */
    segment->end = num_samples;
    /* With CARRY the present may be the end now. Then the next epoch begins. */
    ssmp_cursor_move(&run->now, segment, 0);
    ssmp_sampler_rebase(s);
    return STATESAMPLER_OK;
}

/* Serves the present step, which must exist, and returns its sample count. */
SSMP_FN size_t ssmp_sampler_serve(uint64_t *out, statesampler *s)
{
    ssmp_run *run = &s->run;
    const ssmp_segment *segment = &run->segment;
    const uint64_t global_batch = ssmp_global_batch(&run->shape);
    size_t count = ssmp_segment_count(segment, &run->shape, run->now.position);

    if (out)
        ssmp_sampler_fill(out, s, segment, &run->now, &s->ready, count);
    run->now.step++;
    ssmp_cursor_move(&run->now, segment, global_batch);
    /* With CARRY the base follows, so that the product cannot overflow. */
    if (SSMP_CARRY(segment) &&
        (run->now.step - segment->base.step) * global_batch >=
            STATESAMPLER_MAX_SAMPLES)
        ssmp_sampler_rebase(s);
    return count;
}

STATESAMPLER_DEF int statesampler_next(statesampler *s, uint64_t *out,
                                       size_t *count)
{
    size_t samples = 0;
    int more = 0;

    STATESAMPLER_ASSERT(s && s->run.shape.world_size != 0);
    if (s->run.now.position != s->run.segment.end) {
        samples = ssmp_sampler_serve(out, s);
        more = 1;
    } else {
        statesampler_begin(s, s->run.now.epoch + 1);
    }
    if (count)
        *count = samples;
    return more;
}

/* Where a step of the present segment begins, or the segment ends. */
SSMP_NOINLINE int ssmp_sampler_find(ssmp_cursor *cursor, const statesampler *s,
                                    uint64_t step)
{
    const ssmp_segment *segment = &s->run.segment;
    const uint64_t global_batch = ssmp_global_batch(&s->run.shape);

    if (step < segment->base.step)
        return STATESAMPLER_ERANGE_BASE;
    if (SSMP_CARRY(segment) && step > STATESAMPLER_NONE / 2)
        return STATESAMPLER_ERANGE_FAR;
    if (step - segment->base.step > ssmp_segment_steps(segment, global_batch))
        return SSMP_CARRY(segment) ? STATESAMPLER_ERANGE_FAR
                                   : STATESAMPLER_ERANGE_END;
    ssmp_segment_find(cursor, segment, global_batch, step - segment->base.step);
    return STATESAMPLER_OK;
}

/* Serves this rank's batch of the step at a cursor, without moving. */
SSMP_NOINLINE size_t ssmp_sampler_peek(uint64_t *out, const statesampler *s,
                                       const ssmp_segment *segment,
                                       const ssmp_cursor *cursor)
{
    size_t count = ssmp_segment_count(segment, &s->run.shape, cursor->position);

    if (out) {
        ssmp_order spare;

        ssmp_order_clear(&spare);
        ssmp_sampler_fill(out, s, segment, cursor, &spare, count);
    }
    return count;
}

STATESAMPLER_DEF int statesampler_at(const statesampler *s, uint64_t step,
                                     uint64_t *out, size_t *count)
{
    ssmp_cursor cursor;
    size_t samples = 0;
    int code;

    STATESAMPLER_ASSERT(s && s->run.shape.world_size != 0);
    code = ssmp_sampler_find(&cursor, s, step);
    /* From here on, code is what this function returns: 1 if there is such a
       step, and 0 past the end. At the end it is OK, which is 0, too. */
    if (code == STATESAMPLER_ERANGE_END) {
        code = 0;
    } else if (code == STATESAMPLER_OK &&
               cursor.position != s->run.segment.end) {
        code = 1;
        samples = ssmp_sampler_peek(out, s, &s->run.segment, &cursor);
    }
    if (count)
        *count = samples;
    return code;
}

STATESAMPLER_DEF int statesampler_seek(statesampler *s, uint64_t step)
{
    STATESAMPLER_ASSERT(s && s->run.shape.world_size != 0);
    return ssmp_sampler_find(&s->run.now, s, step);
}

/* --- sampler: questions */

STATESAMPLER_DEF uint64_t statesampler_epoch(const statesampler *s)
{
    STATESAMPLER_ASSERT(s && s->run.shape.world_size != 0);
    return s->run.now.epoch;
}

STATESAMPLER_DEF uint64_t statesampler_step(const statesampler *s)
{
    STATESAMPLER_ASSERT(s && s->run.shape.world_size != 0);
    return s->run.now.step;
}

STATESAMPLER_DEF uint64_t statesampler_num_steps(const statesampler *s)
{
    const ssmp_segment *segment;

    STATESAMPLER_ASSERT(s && s->run.shape.world_size != 0);
    segment = &s->run.segment;
    if (SSMP_CARRY(segment))
        return STATESAMPLER_NONE;
    return segment->base.step +
           ssmp_segment_steps(segment, ssmp_global_batch(&s->run.shape));
}

STATESAMPLER_DEF uint64_t statesampler_base(const statesampler *s)
{
    STATESAMPLER_ASSERT(s && s->run.shape.world_size != 0);
    return s->run.segment.base.step;
}

STATESAMPLER_DEF uint64_t statesampler_position(const statesampler *s)
{
    STATESAMPLER_ASSERT(s && s->run.shape.world_size != 0);
    return s->run.now.position;
}

STATESAMPLER_DEF void statesampler_get_counts(const statesampler *s,
                                              statesampler_counts *counts)
{
    const ssmp_segment *segment;
    const ssmp_shape *shape;
    uint64_t n, end, used;

    STATESAMPLER_ASSERT(s && s->run.shape.world_size != 0 && counts);
    segment = &s->run.segment;
    shape = &s->run.shape;
    n = s->run.num_samples;
    end = segment->end;
    used = ssmp_min(end, n);
    counts->positions = end;
    counts->padded = end - used;
    counts->dropped = n - used;
    counts->steps = statesampler_num_steps(s);
    counts->rank_samples = STATESAMPLER_NONE;
    counts->rank_batches = STATESAMPLER_NONE;
    if (!SSMP_CARRY(segment)) {
        uint64_t remaining = end - segment->base.position;

        remaining += shape->world_size - 1 - shape->rank;
        counts->rank_samples = remaining / shape->world_size;
        counts->rank_batches =
            ssmp_ceil_div(counts->rank_samples, shape->batch_size);
    }
}

STATESAMPLER_DEF size_t statesampler_padding(const statesampler *s,
                                             uint64_t step)
{
    const ssmp_run *run;
    ssmp_cursor cursor;
    uint64_t first;
    size_t count;

    STATESAMPLER_ASSERT(s && s->run.shape.world_size != 0);
    run = &s->run;
    if (ssmp_sampler_find(&cursor, s, step) != STATESAMPLER_OK)
        return 0;
    first = cursor.position + run->shape.rank;
    /* With CARRY the end is num_samples: both counts are the same, as no step
       has padding. */
    count = ssmp_shape_below(&run->shape, run->segment.end, first,
                             (size_t)run->shape.batch_size);
    return count -
           ssmp_shape_below(&run->shape, run->num_samples, first, count);
}

/* A sample's position, or NONE if DROP leaves it out. Not for REPLACEMENT. */
SSMP_NOINLINE uint64_t ssmp_sampler_position_of(const statesampler *s,
                                                uint64_t index)
{
    const ssmp_run *run = &s->run;
    const uint32_t blocks = SSMP_BLOCKS(&run->segment);
    const ssmp_order *order;
    ssmp_order spare;
    ssmp_reader reader;
    uint64_t quota = run->num_samples / blocks;
    uint64_t longer = run->num_samples % blocks, block;

    if (SSMP_TAIL(run) == STATESAMPLER_TAIL_DROP) {
        if (index >= run->num_samples - longer)
            return STATESAMPLER_NONE;
        longer = 0;
    }
    /* The first `longer` blocks have quota + 1 samples. */
    if (index < longer * (quota + 1))
        block = index / (quota + 1);
    else
        block = (index - longer) / quota;
    ssmp_order_clear(&spare);
    reader.s = s;
    reader.segment = &run->segment;
    reader.spare = &spare;
    reader.at.epoch = run->now.epoch;
    order = ssmp_reader_order(&reader, (uint32_t)block);
    return block + blocks * ssmp_order_inverse(run, order, &spare,
                                               index - order->start);
}

STATESAMPLER_DEF int statesampler_locate(const statesampler *s, uint64_t index,
                                         statesampler_place *place)
{
    const ssmp_cursor *base;
    const ssmp_shape *shape;
    uint64_t position, from_epoch, from_base, global_batch;

    STATESAMPLER_ASSERT(s && s->run.shape.world_size != 0 && place);
    base = &s->run.segment.base;
    shape = &s->run.shape;
    if (SSMP_ORDER(&s->run) == STATESAMPLER_ORDER_REPLACEMENT)
        return STATESAMPLER_EINVAL_REPLACEMENT;
    if (index >= s->run.num_samples)
        return STATESAMPLER_ERANGE_INDEX;
    position = ssmp_sampler_position_of(s, index);
    if (position >= s->run.segment.end)
        return STATESAMPLER_ERANGE_DROPPED;
    /* The distance from the start of the base's epoch: with CARRY it is below
       2^62 + 2 * num_samples; otherwise it is the position. */
    from_epoch =
        (s->run.now.epoch - base->epoch) * s->run.num_samples + position;
    if (from_epoch < base->position)
        return STATESAMPLER_ERANGE_SERVED;
    from_base = from_epoch - base->position;
    global_batch = ssmp_global_batch(shape);
    place->position = position;
    place->step = base->step + from_base / global_batch;
    place->slot = (uint32_t)(from_base % global_batch / shape->world_size);
    place->rank = (uint32_t)(from_base % shape->world_size);
    return STATESAMPLER_OK;
}

/* --- state -----------------------------------------------------------------
   A state is read byte by byte, so neither byte order nor alignment matters. */

#define SSMP_FORMAT_SAMPLER 1
#define SSMP_FORMAT_MIX 2              /* of mixtures, too */
#define SSMP_MAGIC_SAMPLER 0x504d5353u /* "SSMP" */
#define SSMP_MAGIC_MIX 0x584d5353u     /* "SSMX" */
#define SSMP_MAGIC_MIXTURE 0x4e4d5353u /* "SSMN" */

SSMP_INLINE_FOR_SPEED uint64_t ssmp_bytes_load(const unsigned char *bytes,
                                               uint32_t size)
{
    uint64_t value = 0;

    while (size != 0)
        value = value << 8 | bytes[--size];
    return value;
}

SSMP_FN void ssmp_bytes_store(unsigned char *bytes, uint32_t size,
                              uint64_t value)
{
    for (; size != 0; size--, value >>= 8)
        *bytes++ = (unsigned char)(value & 255);
}

/* The check word of the bytes before it. An iteration is a bijection of the
   hash, and of the word that it takes in. So if one word has changed, the check
   word always shows it. */
SSMP_NOINLINE uint64_t ssmp_state_hash(const unsigned char *bytes, size_t size)
{
    uint64_t hash = 0;

    for (; size != 0; size -= 8, bytes += 8) {
        hash ^= ssmp_bytes_load(bytes, 8);
        hash *= SSMP_GOLDEN;
        hash ^= hash >> 32;
    }
    return hash;
}

/* The first eight bytes of a state: magic, format and algorithm. */
SSMP_FN void ssmp_state_begin(unsigned char *bytes, uint32_t magic,
                              uint32_t format)
{
    ssmp_bytes_store(bytes, 8,
                     SSMP_U64((uint32_t)STATESAMPLER_ALGORITHM << 16 | format,
                              magic));
}

#define SSMP_CHECK_BYTES 8 /* the check word, which ends a state */

SSMP_FN void ssmp_state_end(unsigned char *bytes, size_t size)
{
    ssmp_bytes_store(bytes + size - SSMP_CHECK_BYTES, 8,
                     ssmp_state_hash(bytes, size - SSMP_CHECK_BYTES));
}

/* OK if these bytes are a whole state of this kind, `expected` bytes long. */
SSMP_NOINLINE int ssmp_state_check(const unsigned char *bytes, size_t size,
                                   uint32_t magic, uint32_t format,
                                   size_t expected)
{
    uint32_t found;

    if (size < 8)
        return STATESAMPLER_ECORRUPT_SIZE;
    found = (uint32_t)ssmp_bytes_load(bytes + 4, 2);
    if ((uint32_t)ssmp_bytes_load(bytes, 4) != magic || found == 0)
        return STATESAMPLER_ECORRUPT_MAGIC;
    if (found != format)
        return STATESAMPLER_EVERSION_FORMAT;
    if (size != expected)
        return STATESAMPLER_ECORRUPT_SIZE;
    if (ssmp_bytes_load(bytes + size - SSMP_CHECK_BYTES, 8) !=
        ssmp_state_hash(bytes, size - SSMP_CHECK_BYTES))
        return STATESAMPLER_ECORRUPT_CHECK;
    if (ssmp_bytes_load(bytes + 6, 2) != STATESAMPLER_ALGORITHM)
        return STATESAMPLER_EVERSION_ALGORITHM;
    return STATESAMPLER_OK;
}

/* A field of a state. */
typedef struct ssmp_field {
    unsigned char offset;   /* in the state */
    unsigned char size;     /* bytes in the state; if 8, the member is of 64
                               bits, otherwise of 32 */
    unsigned char member;   /* its offset in the struct */
    unsigned char mismatch; /* EMISMATCH minus the error that says that it does
                               not match; 0: it need not match */
} ssmp_field;

#define SSMP_FIELD(offset, size, type, member, mismatch) \
    { \
        offset, size, (unsigned char)offsetof(type, member), mismatch \
    }
#define SSMP_MATCHED(offset, size, member, name) \
    SSMP_FIELD(offset, size, ssmp_run, member, \
               STATESAMPLER_EMISMATCH - STATESAMPLER_EMISMATCH_##name)

#define SSMP_RUN_FIELDS 16 /* the first SSMP_MATCHED_FIELDS must match */
#define SSMP_MATCHED_FIELDS 8

SSMP_FN const ssmp_field *ssmp_run_fields(void)
{
    static const ssmp_field fields[SSMP_RUN_FIELDS] = {
        SSMP_MATCHED(8, 8, num_samples, NUM_SAMPLES),
        SSMP_MATCHED(16, 8, seed, SEED),
        SSMP_MATCHED(24, 8, stream, STREAM),
        SSMP_MATCHED(48, 1, order, ORDER),
        SSMP_MATCHED(32, 8, chunk_size, CHUNK_SIZE),
        SSMP_MATCHED(40, 8, window, WINDOW),
        SSMP_MATCHED(49, 1, partition, PARTITION),
        SSMP_MATCHED(50, 1, tail, TAIL),
        SSMP_FIELD(52, 4, ssmp_run, segment.blocks, 0),
        SSMP_FIELD(56, 4, ssmp_run, shape.world_size, 0),
        SSMP_FIELD(60, 4, ssmp_run, shape.batch_size, 0),
        SSMP_FIELD(64, 8, ssmp_run, now.epoch, 0),
        SSMP_FIELD(72, 8, ssmp_run, now.position, 0),
        SSMP_FIELD(80, 8, ssmp_run, segment.base.epoch, 0),
        SSMP_FIELD(88, 8, ssmp_run, segment.base.position, 0),
        SSMP_FIELD(96, 8, ssmp_run, segment.base.step, 0),
    };

    return fields;
}

SSMP_OUTLINE_FOR_SIZE uint64_t ssmp_field_get(const ssmp_field *field,
                                              const void *from)
{
    const void *member = (const char *)from + field->member;

    if (field->size == 8)
        return *(const uint64_t *)member;
    return *(const uint32_t *)member;
}

SSMP_NOINLINE void ssmp_fields_save(unsigned char *bytes,
                                    const ssmp_field *fields, uint32_t count,
                                    const void *from)
{
    for (; count != 0; count--, fields++)
        ssmp_bytes_store(bytes + fields->offset, fields->size,
                         ssmp_field_get(fields, from));
}

SSMP_NOINLINE void ssmp_fields_load(void *to, const ssmp_field *fields,
                                    uint32_t count, const unsigned char *bytes)
{
    for (; count != 0; count--, fields++) {
        const unsigned char *from = bytes + fields->offset;
        void *member = (char *)to + fields->member;

        if (fields->size == 8) /* as a constant, 8 lets it be one load */
            *(uint64_t *)member = ssmp_bytes_load(from, 8);
        else
            *(uint32_t *)member = (uint32_t)ssmp_bytes_load(from, fields->size);
    }
}

/* OK if two runs are of the same dataset, in the same order. */
SSMP_NOINLINE int ssmp_run_match(const ssmp_run *run, const ssmp_run *other)
{
    const ssmp_field *field = ssmp_run_fields();
    const ssmp_field *end = field + SSMP_MATCHED_FIELDS;

    for (; field != end; field++)
        if (ssmp_field_get(field, run) != ssmp_field_get(field, other))
            return STATESAMPLER_EMISMATCH - field->mismatch;
    return STATESAMPLER_OK;
}

/* OK if a state's base is in range, and its position the beginning of a step or
   the segment's end. Sets that end and the step. A base may have any step that
   seek takes, and 2^61 more, as a run goes on after a seek. The steps after the
   base, 2^62 and some at most, then stay below 2^64. */
SSMP_NOINLINE int ssmp_run_check_place(ssmp_run *run)
{
    ssmp_segment *segment = &run->segment;
    const ssmp_cursor *base = &segment->base, *now = &run->now;
    const uint64_t global_batch = ssmp_global_batch(&run->shape);
    ssmp_cursor found;
    uint64_t steps;

    ssmp_segment_close(segment, run, &run->shape);
    if ((SSMP_CARRY(segment) && base->position >= segment->end) ||
        base->position > SSMP_MAX_POSITION ||
        base->step >= STATESAMPLER_MAX_SAMPLES / 2 * 5) /* 2^63 + 2^61 */
        return STATESAMPLER_ECORRUPT_BASE;
    /* This wraps around if the state's cursor is before the base, or 2^64
       positions or more after it. The cursor found below is never there: so the
       two differ. */
    steps = ssmp_ceil_div((now->epoch - base->epoch) * run->num_samples +
                              now->position - base->position,
                          global_batch);
    if (steps > ssmp_segment_steps(segment, global_batch))
        return STATESAMPLER_ECORRUPT_POSITION;
    ssmp_segment_find(&found, segment, global_batch, steps);
    if (found.epoch != now->epoch || found.position != now->position)
        return STATESAMPLER_ECORRUPT_POSITION;
    run->now.step = found.step;
    return STATESAMPLER_OK;
}

/* Goes on where a matching run is, in the sampler's own shape. */
SSMP_NOINLINE void ssmp_sampler_resume(statesampler *s, const ssmp_run *run)
{
    ssmp_run *own = &s->run;

    ssmp_cursor_copy(&own->now, &run->now);
    ssmp_cursor_copy(&own->segment.base, &run->segment.base);
    own->segment.blocks = run->segment.blocks;
    ssmp_segment_close(&own->segment, own, &own->shape);
    /* The base moves if the shape is another one, or if this sampler's
       drop_last leaves out what was served. */
    if (run->shape.world_size != own->shape.world_size ||
        run->shape.batch_size != own->shape.batch_size ||
        own->now.position > own->segment.end)
        ssmp_sampler_rebase(s);
    ssmp_sampler_prepare(s);
}

STATESAMPLER_DEF int statesampler_save(const statesampler *s, void *out,
                                       size_t size)
{
    unsigned char *bytes = (unsigned char *)out;

    STATESAMPLER_ASSERT(s && s->run.shape.world_size != 0 &&
                        (out || size == 0));
    if (size < STATESAMPLER_STATE_BYTES)
        return STATESAMPLER_ECAPACITY;
    ssmp_state_begin(bytes, SSMP_MAGIC_SAMPLER, SSMP_FORMAT_SAMPLER);
    ssmp_fields_save(bytes, ssmp_run_fields(), SSMP_RUN_FIELDS, &s->run);
    bytes[51] = 0;
    ssmp_state_end(bytes, STATESAMPLER_STATE_BYTES);
    return STATESAMPLER_OK;
}

/* Reads a sampler's state. */
SSMP_NOINLINE int ssmp_run_read(ssmp_run *run, const unsigned char *bytes,
                                size_t size)
{
    uint32_t blocks;
    uint64_t must_be_0;
    int code = ssmp_state_check(bytes, size, SSMP_MAGIC_SAMPLER,
                                SSMP_FORMAT_SAMPLER, STATESAMPLER_STATE_BYTES);

    if (code != STATESAMPLER_OK)
        return code;
    ssmp_fields_load(run, ssmp_run_fields(), SSMP_RUN_FIELDS, bytes);
    run->shape.rank = 0;
    run->shape.drop_last = 0;
    blocks = run->segment.blocks;
    code = ssmp_run_check_desc(run);
    if (code == STATESAMPLER_EINVAL_LEFT_OUT) /* the state may be good */
        return code;
    if (code != STATESAMPLER_OK || run->shape.batch_size == 0)
        return STATESAMPLER_ECORRUPT_DESC;
    must_be_0 = bytes[51];
    if (SSMP_ORDER(run) != STATESAMPLER_ORDER_WINDOW)
        must_be_0 |= run->chunk_size | run->window;
    if (must_be_0 != 0)
        return STATESAMPLER_ECORRUPT_ZERO;
    if (blocks == 0)
        return STATESAMPLER_ECORRUPT_BLOCKS;
    if (blocks != 1 &&
        SSMP_PARTITION(run) == STATESAMPLER_PARTITION_INTERLEAVED)
        return STATESAMPLER_ECORRUPT_BLOCKS;
    return ssmp_run_check_place(run);
}

STATESAMPLER_DEF int statesampler_load(statesampler *s, const void *state,
                                       size_t size)
{
    ssmp_run run;
    int code;

    STATESAMPLER_ASSERT(s && s->run.shape.world_size != 0 &&
                        (state || size == 0));
    code = ssmp_run_read(&run, (const unsigned char *)state, size);
    if (code == STATESAMPLER_OK)
        code = ssmp_run_match(&run, &s->run);
    if (code == STATESAMPLER_OK)
        ssmp_sampler_resume(s, &run);
    return code;
}

STATESAMPLER_DEF int statesampler_describe(const void *state, size_t size,
                                           statesampler_desc *desc,
                                           statesampler_place *place)
{
    ssmp_run run;
    int code;

    STATESAMPLER_ASSERT(state || size == 0);
    code = ssmp_run_read(&run, (const unsigned char *)state, size);
    if (code != STATESAMPLER_OK)
        return code;
    if (desc)
        ssmp_run_describe(desc, &run);
    if (place) {
        place->position = run.now.position;
        place->step = run.now.step;
        place->rank = 0;
        place->slot = 0;
    }
    return STATESAMPLER_OK;
}

/* --- mix: the sequence -----------------------------------------------------
   The sequence says whose turn it is, for ever. A tick is a place in it; every
   tick is a turn, except those that ALL passes over. The sources that take
   turns are numbered in their order: these numbers are the seats, the leaves of
   the manual's tree.
   Of a node's first m turns (a tick is a turn of the root), where its weight is
   w, its right child of weight a has m * a - w / 2 over w, rounded up, as the
   manual says. Its left child has the rest. With b = w - a, that child's
   weight, the rest is (m * b + w / 2) / w, both quotients rounded down: its
   share, rounded to the nearest whole number. From m to m + 1 this grows by at
   most 1. So each turn of the node is one of either child, and each tick
   belongs to one leaf. After w ticks the shares are whole numbers: so a period
   is exact. In between, each level of the tree takes a seat at most half a turn
   farther from its share.
   With equal weights left and right take every other tick, which gives 0, 1, 2,
   ... and round again. */

#define SSMP_NOBODY SSMP_MAX32
#define SSMP_TOO_FAR (2 * STATESAMPLER_MAX_SAMPLES)

/* Node k of the tree: the right child whose first seat is k. What a left child
   weighs is what its parent has beyond that. */
SSMP_OUTLINE_FOR_SIZE ssmp_node *ssmp_mix_node(const statesampler_mix *mix,
                                               uint32_t k)
{
    return &mix->sources[k].tree_node;
}

/* The source in a seat. */
SSMP_OUTLINE_FOR_SIZE statesampler_source *ssmp_seat_source(
    const statesampler_mix *mix, uint32_t seat)
{
    return mix->sources + ssmp_mix_node(mix, seat)->source;
}

/* A node on the way from the tree's root down to a leaf, before a tick. */
typedef struct ssmp_branch {
    uint64_t periods;     /* that are over */
    uint64_t turns;       /* that the node has had since */
    uint64_t left_turns;  /* of these, its left child's */
    uint32_t weight;      /* the node's */
    uint32_t left_weight; /* its left child's */
    uint32_t seat;        /* the first one below the node */
    uint32_t bit;         /* set in the numbers of its right child's seats */
    int next_left;        /* 1: the node's next turn is its left child's */
} ssmp_branch;

SSMP_OUTLINE_FOR_SIZE void ssmp_branch_begin(ssmp_branch *branch,
                                             const statesampler_mix *mix,
                                             uint64_t tick)
{
    branch->periods = tick / mix->period;
    branch->turns = tick - branch->periods * mix->period;
    branch->weight = mix->period;
    branch->seat = 0;
    branch->bit = 1;
}

/* Divides a node's turns between its children. Returns 0 if it is a leaf. */
SSMP_OUTLINE_FOR_SIZE int ssmp_branch_divide(ssmp_branch *branch,
                                             const statesampler_mix *mix)
{
    const uint32_t weight = branch->weight, right = branch->seat + branch->bit;
    uint32_t left;
    uint64_t product;

    if (right >= mix->seats)
        return 0;
    left = weight - ssmp_mix_node(mix, right)->weight;
    product = branch->turns * left + weight / 2; /* < 2^62 + 2^30 */
    branch->left_weight = left;
    branch->left_turns = product / weight;
    /* With the node's next turn, the product grows by left. */
    product -= branch->left_turns * weight;
    branch->next_left = product + left >= weight;
    return 1;
}

/* Goes down to the left child, or to the right one. */
SSMP_OUTLINE_FOR_SIZE void ssmp_branch_enter(ssmp_branch *branch, int left)
{
    if (left) {
        branch->turns = branch->left_turns;
        branch->weight = branch->left_weight;
    } else {
        branch->turns -= branch->left_turns;
        branch->weight -= branch->left_weight;
        branch->seat += branch->bit;
    }
    branch->bit *= 2;
}

/* The turns that a node has had before the tick. */
SSMP_OUTLINE_FOR_SIZE uint64_t ssmp_branch_turns(const ssmp_branch *branch)
{
    return branch->turns + branch->periods * branch->weight;
}

/* How many turns a seat has had before a tick. If a node has had none, no seat
   below it has. */
SSMP_NOINLINE uint64_t ssmp_seat_turns(const statesampler_mix *mix,
                                       uint32_t seat, uint64_t tick)
{
    ssmp_branch branch;

    ssmp_branch_begin(&branch, mix, tick);
    while (ssmp_branch_turns(&branch) != 0 && ssmp_branch_divide(&branch, mix))
        ssmp_branch_enter(&branch, !(seat & branch.bit));
    return ssmp_branch_turns(&branch);
}

/* The seat that a tick belongs to; *turns is how many it has had before. */
SSMP_NOINLINE uint32_t ssmp_mix_seat_at(uint64_t *turns,
                                        const statesampler_mix *mix,
                                        uint64_t tick)
{
    ssmp_branch branch;

    ssmp_branch_begin(&branch, mix, tick);
    while (ssmp_branch_divide(&branch, mix))
        ssmp_branch_enter(&branch, branch.next_left);
    *turns = ssmp_branch_turns(&branch);
    return branch.seat;
}

/* The tick of a seat's turn of this number, from 0, or TOO_FAR. The first loop
   goes down to the leaf, and keeps the weights of the nodes on the way. The
   second goes up again, and turns the number of a child's turn into that of its
   parent's. Let w be the parent's weight and c the child's. Turns count from 0.
   A child has its turn k at the first m for which it has k + 1 of the parent's
   first m + 1 turns. For a left child that is (m + 1) * c + w / 2 >=
   (k + 1) * w, and the first is (k * w + (w - 1) / 2) / c. For a right one it
   is (m + 1) * c - w / 2 > k * w, and the first is (k * w + w / 2) / c. All
   quotients are rounded down. */
SSMP_FN uint64_t ssmp_seat_tick(const statesampler_mix *mix, uint32_t seat,
                                uint64_t turn)
{
    uint32_t weights[32], level = 0, node = 0, right;
    uint64_t periods;

    weights[0] = mix->period;
    while ((right = node + ((uint32_t)1 << level)) < mix->seats) {
        const uint32_t right_weight = ssmp_mix_node(mix, right)->weight;
        uint32_t weight = right_weight;

        if (seat >> level & 1)
            node = right;
        else
            weight = weights[level] - right_weight;
        weights[++level] = weight;
    }
    periods = turn / weights[level];
    turn %= weights[level];
    for (; level != 0; level--) { /* from a child's turn to its parent's */
        const uint32_t weight = weights[level - 1];
        const uint32_t is_left = !(seat >> (level - 1) & 1);
        /* (w - 1) / 2 in a left child's formula, w / 2 in a right one's. */
        const uint32_t half = (weight - is_left) / 2;

        turn = (turn * weight + half) / weights[level]; /* below 2^62 */
    }
    if (periods >= SSMP_TOO_FAR / mix->period)
        return SSMP_TOO_FAR;
    return periods * mix->period + turn;
}

/* How many turns a source has had since the base, before a tick. */
SSMP_NOINLINE uint64_t ssmp_source_turns_until(
    const statesampler_source *source, const statesampler_mix *mix,
    uint64_t tick)
{
    const ssmp_in_mix *in_mix = &source->in_mix;
    uint64_t turns = ssmp_seat_turns(mix, in_mix->seat, tick) - in_mix->turns;

    if (mix->stop == STATESAMPLER_STOP_ALL)
        turns = ssmp_min(turns, in_mix->remaining);
    return turns;
}

/* How many turns of the mix there are from the base to a tick. */
SSMP_FN uint64_t ssmp_mix_turns_until(const statesampler_mix *mix,
                                      uint64_t tick)
{
    uint64_t sum = 0;
    uint32_t seat;

    if (mix->stop != STATESAMPLER_STOP_ALL)
        return tick - mix->base_tick;
    for (seat = 0; seat < mix->seats; seat++)
        sum += ssmp_source_turns_until(ssmp_seat_source(mix, seat), mix, tick);
    return sum;
}

/* The tick of a turn of the mix before its end. With ALL it comes later by the
   ticks that were passed over, and is the last tick that has at most so many
   turns before it: `jump` doubles until it leads too far, and is then halved
   until it is 0. That takes at most 126 iterations, as ticks are below 2^63. */
SSMP_NOINLINE uint64_t ssmp_mix_tick_at(const statesampler_mix *mix,
                                        uint64_t turn)
{
    const uint64_t turns = turn - mix->base_turn;
    uint64_t tick = mix->base_tick + turns, jump = 1;

    if (mix->stop != STATESAMPLER_STOP_ALL)
        return tick;
    while (ssmp_mix_turns_until(mix, tick + jump) <= turns)
        jump *= 2;
    for (jump /= 2; jump != 0; jump /= 2)
        if (ssmp_mix_turns_until(mix, tick + jump) <= turns)
            tick += jump;
    return tick;
}

/* --- mix: the base ---------------------------------------------------------
   What a mix notes of its sources at the base determines all turns after it. */

/* Gives a source the next seat, and adds its weight to all right children that
   the seat is below. */
SSMP_FN void ssmp_mix_add_seat(statesampler_mix *mix, uint32_t source)
{
    ssmp_in_mix *in_mix = &mix->sources[source].in_mix;
    const uint32_t seat = mix->seats++;
    uint32_t bit;

    in_mix->seat = seat;
    ssmp_mix_node(mix, seat)->source = source;
    ssmp_mix_node(mix, seat)->weight = 0;
    mix->period += in_mix->weight;
    for (bit = 1; bit <= seat; bit *= 2)
        if (seat & bit)
            ssmp_mix_node(mix, seat & (2 * bit - 1))->weight += in_mix->weight;
}

/* Whether a source has finished an epoch in the mix's present epoch. */
SSMP_FN uint32_t ssmp_source_finished(const statesampler_source *source)
{
    return source->sampler.run.now.epoch != source->in_mix.first_epoch;
}

/* Sets how many turns a seat has had before the base, and how many steps of its
   present epoch its source has not served there. */
SSMP_FN void ssmp_seat_set_base(const statesampler_mix *mix, uint32_t seat)
{
    statesampler_source *source = ssmp_seat_source(mix, seat);
    const ssmp_run *run = &source->sampler.run;

    source->in_mix.remaining =
        run->segment.base.step +
        ssmp_segment_steps(&run->segment, ssmp_global_batch(&run->shape)) -
        run->now.step;
    source->in_mix.turns = ssmp_seat_turns(mix, seat, mix->tick);
}

/* The finish of a seat: the tick of its first turn that finds its source at the
   end of its epoch. */
SSMP_OUTLINE_FOR_SIZE uint64_t ssmp_seat_finish(const statesampler_mix *mix,
                                                uint32_t seat)
{
    const ssmp_in_mix *in_mix = &ssmp_seat_source(mix, seat)->in_mix;

    return ssmp_seat_tick(mix, seat, in_mix->turns + in_mix->remaining);
}

/* The first finish of all seats, or with NEVER of those with CARRY. With FIRST
   the epoch of the mix ends there; with NEVER that is how far seek goes. A mix
   without seats has no turns: it ends where it is. */
SSMP_FN uint64_t ssmp_mix_first_finish(const statesampler_mix *mix)
{
    uint64_t first = mix->seats ? SSMP_TOO_FAR : mix->tick;
    uint32_t seat;

    for (seat = 0; seat < mix->seats; seat++)
        if (mix->stop == STATESAMPLER_STOP_FIRST ||
            SSMP_CARRY(&ssmp_seat_source(mix, seat)->sampler.run.segment))
            first = ssmp_min(first, ssmp_seat_finish(mix, seat));
    return first;
}

/* The last finish of all seats: with ALL and RESTART the epoch of the mix ends
   there. With RESTART a source that has begun another epoch does not count, as
   it had finished before. */
SSMP_FN uint64_t ssmp_mix_last_finish(const statesampler_mix *mix)
{
    uint64_t last = mix->tick;
    uint32_t seat;

    for (seat = 0; seat < mix->seats; seat++) {
        uint64_t finish;

        if (mix->stop == STATESAMPLER_STOP_RESTART &&
            ssmp_source_finished(ssmp_seat_source(mix, seat)))
            continue;
        finish = ssmp_seat_finish(mix, seat);
        if (finish > last)
            last = finish;
    }
    return last;
}

/* Makes the present turn the base, and sets where the epoch of the mix ends.
   Returns 0 if that is TOO_FAR. */
SSMP_NOINLINE int ssmp_mix_set_base(statesampler_mix *mix)
{
    const int never = mix->stop == STATESAMPLER_STOP_NEVER;
    uint64_t finish;
    uint32_t seat;

    for (seat = 0; seat < mix->seats; seat++)
        ssmp_seat_set_base(mix, seat);
    if (never || mix->stop == STATESAMPLER_STOP_FIRST)
        finish = ssmp_mix_first_finish(mix);
    else
        finish = ssmp_mix_last_finish(mix);
    mix->base_turn = mix->turn;
    mix->base_tick = mix->tick;
    mix->reach = mix->turn + ssmp_mix_turns_until(mix, finish);
    mix->end = never ? STATESAMPLER_NONE : mix->reach;
    return never || finish < SSMP_TOO_FAR;
}

/* Whether a source has steps: with FIRST and ALL in the present epoch, in which
   it may have done them all; otherwise in epochs to come. */
SSMP_FN int ssmp_source_has_steps(const statesampler_mix *mix,
                                  const statesampler *s)
{
    if (mix->stop == STATESAMPLER_STOP_FIRST ||
        mix->stop == STATESAMPLER_STOP_ALL)
        return statesampler_num_steps(s) != 0;
    return ssmp_shape_steps(&s->run, &s->run.shape) != 0;
}

/* Makes the present turn the base, also of samplers with CARRY. A source has a
   seat if it is not off and has steps. If other sources have seats than before,
   the sequence begins again. */
SSMP_NOINLINE void ssmp_mix_rebase(statesampler_mix *mix)
{
    uint32_t i;

    mix->seats = 0;
    mix->period = 0;
    for (i = 0; i < mix->num_sources; i++) {
        statesampler *s = &mix->sources[i].sampler;
        ssmp_in_mix *in_mix = &mix->sources[i].in_mix;
        const int had_seat = in_mix->seat != SSMP_NOBODY;

        if (mix->turn == 0)
            in_mix->first_epoch = s->run.now.epoch;
        if (SSMP_CARRY(&s->run.segment))
            ssmp_sampler_rebase(s);
        ssmp_segment_copy(&in_mix->segment, &s->run.segment);
        in_mix->step = s->run.now.step;
        in_mix->seat = SSMP_NOBODY;
        if (in_mix->weight != STATESAMPLER_OFF && ssmp_source_has_steps(mix, s))
            ssmp_mix_add_seat(mix, i);
        if (had_seat != (in_mix->seat != SSMP_NOBODY))
            mix->tick = 0;
    }
    if (!ssmp_mix_set_base(mix)) {
        /* Only a forged state has a tick from which sources finish too late.
           Its sequence begins anew. With ALL and RESTART all finish before 2^62
           ticks from tick 0, in epochs of this shape: ssmp_weights_check has
           made sure. An epoch with the blocks of another shape has at most
           twice as many steps and one more, or 2^32 steps: also then they
           finish before TOO_FAR. FIRST needs no check: until the first finish
           no source has more turns than steps, and all together have fewer
           steps than TOO_FAR. */
        mix->tick = 0;
        (void)ssmp_mix_set_base(mix);
    }
}

/* --- mix: its rules */

/* A weight of 0 means 1. */
SSMP_FN uint32_t ssmp_weight(uint32_t given)
{
    return given ? given : 1;
}

/* What decides whether sources may take turns with some weights. */
typedef struct ssmp_weights {
    uint64_t sum;     /* of those that are not OFF */
    uint64_t periods; /* enough for each source to serve a whole epoch, and to
                         have one turn more; 0: none has steps */
} ssmp_weights;

/* Begins without a source; by name, as {0, 0} may become a call of memset. */
SSMP_OUTLINE_FOR_SIZE void ssmp_weights_begin(ssmp_weights *weights)
{
    weights->sum = 0;
    weights->periods = 0;
}

/* Adds a source in some shape. Without steps it counts in the sum, as it may
   have some in another shape. */
SSMP_NOINLINE void ssmp_weights_add(ssmp_weights *weights, uint32_t weight,
                                    const ssmp_run *run,
                                    const ssmp_shape *shape)
{
    uint64_t steps;

    weight = ssmp_weight(weight);
    if (weight == STATESAMPLER_OFF)
        return;
    weights->sum += weight;
    steps = ssmp_shape_steps(run, shape);
    if (steps != 0 && steps / weight >= weights->periods)
        weights->periods = steps / weight + 1;
}

/* OK if all sources that were added may take turns. With ALL and RESTART the
   ticks until the last one has finished must be at most 2^62. */
SSMP_FN int ssmp_weights_check(const ssmp_weights *weights, uint32_t stop)
{
    if (weights->sum >> 31)
        return STATESAMPLER_EINVAL_WEIGHTS;
    if (weights->sum == 0)
        return STATESAMPLER_EINVAL_ALL_OFF;
    if (stop == STATESAMPLER_STOP_FIRST)
        return STATESAMPLER_OK; /* see ssmp_mix_rebase */
    if (stop == STATESAMPLER_STOP_NEVER && weights->periods == 0)
        return STATESAMPLER_EINVAL_NO_STEPS;
    if (stop != STATESAMPLER_STOP_NEVER &&
        weights->periods > STATESAMPLER_MAX_SAMPLES / weights->sum)
        return STATESAMPLER_EINVAL_SEQUENCE;
    return STATESAMPLER_OK;
}

/* OK if a run may be in a mix whose first run is `first`. */
SSMP_FN int ssmp_source_check(const ssmp_run *run, const ssmp_run *first,
                              uint32_t stop)
{
    if (run->shape.rank != first->shape.rank)
        return STATESAMPLER_EINVAL_SOURCE_RANK;
    if (run->shape.world_size != first->shape.world_size)
        return STATESAMPLER_EINVAL_SOURCE_WORLD_SIZE;
    if (SSMP_CARRY(&run->segment) && stop != STATESAMPLER_STOP_NEVER)
        return STATESAMPLER_EINVAL_SOURCE_CARRY;
    return STATESAMPLER_OK;
}

STATESAMPLER_DEF int statesampler_mix_init(statesampler_mix *mix,
                                           statesampler_source *sources,
                                           uint32_t num_sources, uint32_t stop)
{
    ssmp_weights totals;
    uint64_t samples = 0;
    uint32_t i;
    int code;

    STATESAMPLER_ASSERT(mix && (sources || num_sources == 0));
    if (num_sources == 0)
        return STATESAMPLER_EINVAL_NO_SOURCES;
    if (stop > STATESAMPLER_STOP_NEVER)
        return STATESAMPLER_EINVAL_STOP;
    ssmp_weights_begin(&totals);
    for (i = 0; i < num_sources; i++) {
        const ssmp_run *run = &sources[i].sampler.run;

        STATESAMPLER_ASSERT(run->shape.world_size != 0);
        code = ssmp_source_check(run, &sources->sampler.run, stop);
        if (code != STATESAMPLER_OK)
            return code;
        samples += run->num_samples;
        if (samples >= STATESAMPLER_MAX_SAMPLES)
            return STATESAMPLER_EINVAL_SOURCE_SAMPLES;
        ssmp_weights_add(&totals, sources[i].weight, run, &run->shape);
    }
    code = ssmp_weights_check(&totals, stop);
    if (code != STATESAMPLER_OK)
        return code;
    mix->sources = sources;
    mix->num_sources = num_sources;
    mix->stop = stop;
    mix->epoch = 0;
    mix->turn = 0;
    mix->tick = 0;
    for (i = 0; i < num_sources; i++) {
        sources[i].in_mix.weight = ssmp_weight(sources[i].weight);
        sources[i].in_mix.seat = SSMP_NOBODY;
    }
    ssmp_mix_rebase(mix);
    return STATESAMPLER_OK;
}

/* --- mix: moving */

/* The source of a tick; *turns is how many it has had since the base. */
SSMP_OUTLINE_FOR_SIZE statesampler_source *ssmp_mix_source_at(
    uint64_t *turns, const statesampler_mix *mix, uint64_t tick)
{
    uint64_t seat_turns;
    const uint32_t seat = ssmp_mix_seat_at(&seat_turns, mix, tick);
    statesampler_source *source = ssmp_seat_source(mix, seat);

    *turns = seat_turns - source->in_mix.turns;
    return source;
}

/* Where a source is after this number of turns since the base. After the last
   step of an epoch it is at that epoch's end: only its next turn begins
   another. */
SSMP_NOINLINE void ssmp_source_after(ssmp_segment *segment, ssmp_cursor *cursor,
                                     const statesampler_source *source,
                                     uint64_t turns)
{
    const ssmp_run *run = &source->sampler.run;
    const ssmp_in_mix *in_mix = &source->in_mix;
    const uint64_t global_batch = ssmp_global_batch(&run->shape);
    uint64_t steps = in_mix->step - in_mix->segment.base.step + turns;

    ssmp_segment_copy(segment, &in_mix->segment);
    if (turns > in_mix->remaining) {
        /* The step that the last turn took, counted from the first step of the
           epoch after the base's. */
        const uint64_t last_step = turns - in_mix->remaining - 1;
        uint64_t epoch_steps;

        ssmp_segment_begin(segment, run, &run->shape,
                           in_mix->segment.base.epoch + 1);
        epoch_steps = ssmp_segment_steps(segment, global_batch);
        segment->base.epoch += last_step / epoch_steps;
        steps = last_step % epoch_steps + 1;
    }
    ssmp_segment_find(cursor, segment, global_batch, steps);
}

/* Begins the next epoch of the mix. */
SSMP_FN void ssmp_mix_begin(statesampler_mix *mix)
{
    uint32_t i;

    for (i = 0; i < mix->num_sources; i++) {
        statesampler *s = &mix->sources[i].sampler;

        /* A source that is off keeps its place, unless that is the end. */
        if (s->run.now.step != 0 &&
            (mix->sources[i].in_mix.weight != STATESAMPLER_OFF ||
             s->run.now.position == s->run.segment.end))
            statesampler_begin(s, s->run.now.epoch + 1);
    }
    mix->epoch++;
    mix->turn = 0;
    mix->tick = 0;
    ssmp_mix_rebase(mix);
}

/* Moves to the first tick of a source that has not finished: one at least has
   not. */
SSMP_FN void ssmp_mix_jump(statesampler_mix *mix)
{
    uint64_t next = STATESAMPLER_NONE;
    uint32_t seat;

    for (seat = 0; seat < mix->seats; seat++) {
        const statesampler_source *source = ssmp_seat_source(mix, seat);
        const ssmp_in_mix *in_mix = &source->in_mix;
        uint64_t turns = source->sampler.run.now.step - in_mix->step;

        if (turns < in_mix->remaining)
            next = ssmp_min(next,
                            ssmp_seat_tick(mix, seat, in_mix->turns + turns));
    }
    mix->tick = next;
}

/* How many ticks ALL passes over one by one before it jumps. A tick is a walk
   down the tree; a jump is a walk up from every seat, but without it a source
   that has finished could hold up a turn for almost 2^31 ticks. The number only
   has to be small: no result depends on it. */
#define SSMP_PASSES 64

/* The source of the present turn, which must exist: with ALL the next one that
   has not finished. *turns as in ssmp_mix_source_at. */
SSMP_FN statesampler_source *ssmp_mix_next_source(uint64_t *turns,
                                                  statesampler_mix *mix)
{
    statesampler_source *source = ssmp_mix_source_at(turns, mix, mix->tick);
    uint32_t passed = 0;

    if (mix->stop != STATESAMPLER_STOP_ALL)
        return source;
    while (*turns >= source->in_mix.remaining) { /* ends with a jump */
        if (passed++ < SSMP_PASSES)
            mix->tick++;
        else
            ssmp_mix_jump(mix);
        source = ssmp_mix_source_at(turns, mix, mix->tick);
    }
    return source;
}

/* Serves the present turn, which must exist. Returns its source. */
SSMP_FN uint32_t ssmp_mix_serve(size_t *count, uint64_t *out,
                                statesampler_mix *mix)
{
    uint64_t turns;
    statesampler_source *source = ssmp_mix_next_source(&turns, mix);

    /* A source at the end of its epoch first returns 0, and begins the next. */
    if (!statesampler_next(&source->sampler, out, count))
        (void)statesampler_next(&source->sampler, out, count);
    mix->tick++;
    mix->turn++;
    /* From the base, mix_seek goes no farther than a source with CARRY does. */
    if (SSMP_CARRY(&source->sampler.run.segment) &&
        turns + 1 >= source->in_mix.remaining)
        ssmp_mix_rebase(mix);
    return (uint32_t)(source - mix->sources);
}

STATESAMPLER_DEF int statesampler_mix_next(statesampler_mix *mix, uint64_t *out,
                                           size_t *count, uint32_t *source)
{
    size_t samples = 0;
    int more;

    STATESAMPLER_ASSERT(mix && mix->sources);
    more = mix->turn != mix->end;
    if (more) {
        uint32_t taken = ssmp_mix_serve(&samples, out, mix);

        if (source)
            *source = taken;
    } else {
        ssmp_mix_begin(mix);
    }
    if (count)
        *count = samples;
    return more;
}

/* OK if mix_at serves this turn. For the turn mix->end, ERANGE_END says that
   nothing else is wrong with it: mix_at returns 0 for it, and mix_seek goes
   there. */
SSMP_NOINLINE int ssmp_mix_check_turn(const statesampler_mix *mix,
                                      uint64_t turn)
{
    if (turn < mix->base_turn)
        return STATESAMPLER_ERANGE_BASE;
    if (turn > mix->end)
        return STATESAMPLER_ERANGE_END;
    if (turn > STATESAMPLER_MAX_SAMPLES || turn > mix->reach)
        return STATESAMPLER_ERANGE_FAR;
    if (turn == mix->end)
        return STATESAMPLER_ERANGE_END;
    return STATESAMPLER_OK;
}

STATESAMPLER_DEF int statesampler_mix_at(const statesampler_mix *mix,
                                         uint64_t turn, uint64_t *out,
                                         size_t *count, uint32_t *source)
{
    size_t samples = 0;
    int code;

    STATESAMPLER_ASSERT(mix && mix->sources);
    code = ssmp_mix_check_turn(mix, turn);
    if (code == STATESAMPLER_OK) {
        ssmp_segment segment;
        ssmp_cursor cursor;
        uint64_t turns, tick = ssmp_mix_tick_at(mix, turn);
        const statesampler_source *from = ssmp_mix_source_at(&turns, mix, tick);
        const statesampler *s = &from->sampler;

        ssmp_source_after(&segment, &cursor, from, turns);
        if (cursor.position == segment.end) {
            ssmp_segment_begin(&segment, &s->run, &s->run.shape,
                               cursor.epoch + 1);
            ssmp_cursor_copy(&cursor, &segment.base);
        }
        samples = ssmp_sampler_peek(out, s, &segment, &cursor);
        if (source)
            *source = (uint32_t)(from - mix->sources);
        code = 1; /* as mix_at returns it: there is such a turn */
    }
    if (count)
        *count = samples;
    return code == STATESAMPLER_ERANGE_END ? 0 : code;
}

STATESAMPLER_DEF int statesampler_mix_seek(statesampler_mix *mix, uint64_t turn)
{
    uint32_t seat;
    int code;

    STATESAMPLER_ASSERT(mix && mix->sources);
    code = ssmp_mix_check_turn(mix, turn);
    if (code != STATESAMPLER_OK &&
        (code != STATESAMPLER_ERANGE_END || turn != mix->end))
        return code;
    mix->tick = mix->base_tick;
    if (turn != mix->base_turn)
        mix->tick = ssmp_mix_tick_at(mix, turn - 1) + 1;
    mix->turn = turn;
    for (seat = 0; seat < mix->seats; seat++) {
        statesampler_source *source = ssmp_seat_source(mix, seat);
        ssmp_run *run = &source->sampler.run;

        ssmp_source_after(&run->segment, &run->now, source,
                          ssmp_source_turns_until(source, mix, mix->tick));
    }
    return STATESAMPLER_OK;
}

/* --- mix: other weights, other shapes */

STATESAMPLER_DEF int statesampler_mix_weigh(statesampler_mix *mix,
                                            const uint32_t *weights)
{
    ssmp_weights totals;
    uint32_t i;
    int code, same = 1;

    STATESAMPLER_ASSERT(mix && mix->sources && weights);
    ssmp_weights_begin(&totals);
    for (i = 0; i < mix->num_sources; i++) {
        const ssmp_run *run = &mix->sources[i].sampler.run;

        ssmp_weights_add(&totals, weights[i], run, &run->shape);
        same &= ssmp_weight(weights[i]) == mix->sources[i].in_mix.weight;
    }
    if (same)
        return STATESAMPLER_OK;
    code = ssmp_weights_check(&totals, mix->stop);
    if (code != STATESAMPLER_OK)
        return code;
    for (i = 0; i < mix->num_sources; i++)
        mix->sources[i].in_mix.weight = ssmp_weight(weights[i]);
    mix->tick = 0;
    ssmp_mix_rebase(mix);
    return STATESAMPLER_OK;
}

STATESAMPLER_DEF int statesampler_mix_reshape(statesampler_mix *mix,
                                              uint32_t rank,
                                              uint32_t world_size)
{
    ssmp_weights totals;
    ssmp_shape shape;
    uint32_t i;
    int code, changed = 0;

    STATESAMPLER_ASSERT(mix && mix->sources);
    ssmp_weights_begin(&totals);
    for (i = 0; i < mix->num_sources; i++) {
        const ssmp_run *run = &mix->sources[i].sampler.run;

        ssmp_shape_set(&shape, rank, world_size, run->shape.batch_size,
                       run->shape.drop_last);
        code = ssmp_shape_check(&shape);
        if (code != STATESAMPLER_OK)
            return code;
        ssmp_weights_add(&totals, mix->sources[i].in_mix.weight, run, &shape);
        changed |= run->shape.world_size != shape.world_size;
    }
    code = ssmp_weights_check(&totals, mix->stop);
    if (code != STATESAMPLER_OK)
        return code;
    for (i = 0; i < mix->num_sources; i++) {
        statesampler *s = &mix->sources[i].sampler;

        (void)statesampler_reshape(s, rank, world_size,
                                   s->run.shape.batch_size);
    }
    if (changed)
        ssmp_mix_rebase(mix);
    return STATESAMPLER_OK;
}

/* --- mix: questions */

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
    while (source != 0)
        samples += mix->sources[--source].sampler.run.num_samples;
    return samples;
}

/* Sets *turn to the turn at which a source serves a step of its epoch. */
SSMP_FN int ssmp_source_turn_at(uint64_t *turn, const statesampler_mix *mix,
                                const statesampler_source *source,
                                uint64_t step)
{
    const ssmp_in_mix *in_mix = &source->in_mix;
    const uint64_t now = source->sampler.run.now.step;
    uint64_t turns, tick;
    int code;

    if (in_mix->seat == SSMP_NOBODY)
        return STATESAMPLER_ERANGE_DROPPED;
    /* Each turn of a source is a step of it. So, counted in its turns, the one
       that serves `step` is as far from the present as `step` is from `now`. */
    turns = ssmp_source_turns_until(source, mix, mix->tick);
    if (turns + step < now)
        return STATESAMPLER_ERANGE_SERVED;
    turns += step - now;
    tick = ssmp_seat_tick(mix, in_mix->seat, in_mix->turns + turns);
    *turn = STATESAMPLER_NONE; /* past the end, or with NEVER too far */
    if (tick != SSMP_TOO_FAR)
        *turn = mix->base_turn + ssmp_mix_turns_until(mix, tick);
    code = ssmp_mix_check_turn(mix, *turn);
    return code == STATESAMPLER_ERANGE_END ? STATESAMPLER_ERANGE_DROPPED : code;
}

STATESAMPLER_DEF int statesampler_mix_locate(const statesampler_mix *mix,
                                             uint32_t source, uint64_t index,
                                             uint64_t *turn,
                                             statesampler_place *place)
{
    const statesampler_source *from;
    statesampler_place found;
    uint64_t when;
    int code;

    STATESAMPLER_ASSERT(mix && mix->sources && turn && place);
    if (source >= mix->num_sources)
        return STATESAMPLER_ERANGE_SOURCE;
    from = mix->sources + source;
    if (from->in_mix.weight == STATESAMPLER_OFF)
        return STATESAMPLER_ERANGE_OFF;
    code = statesampler_locate(&from->sampler, index, &found);
    if (code == STATESAMPLER_OK)
        code = ssmp_source_turn_at(&when, mix, from, found.step);
    if (code != STATESAMPLER_OK)
        return code;
    *turn = when;
    place->position = found.position;
    place->step = found.step;
    place->rank = found.rank;
    place->slot = found.slot;
    return STATESAMPLER_OK;
}

/* --- mix: the state */

#define SSMP_MIX_HEAD 40u      /* bytes before the sources */
#define SSMP_SOURCE_BYTES 120u /* weight, flags, and the sampler's state */
#define SSMP_SOURCE_HEAD 8u    /* bytes of these before the sampler's state */

/* What a mix's state says besides its sources. */
#define SSMP_MIX_FIELDS 5

SSMP_OUTLINE_FOR_SIZE const ssmp_field *ssmp_mix_fields(void)
{
    static const ssmp_field fields[SSMP_MIX_FIELDS] = {
        SSMP_FIELD(8, 4, statesampler_mix, num_sources, 0),
        SSMP_FIELD(12, 4, statesampler_mix, stop, 0),
        SSMP_FIELD(16, 8, statesampler_mix, epoch, 0),
        SSMP_FIELD(24, 8, statesampler_mix, turn, 0),
        SSMP_FIELD(32, 8, statesampler_mix, tick, 0),
    };

    return fields;
}

/* What a mix's state says of one source. */
typedef struct ssmp_source_state {
    uint32_t weight;
    uint32_t flags; /* 1: it has finished an epoch; 2: it has a seat */
    ssmp_run run;
} ssmp_source_state;

/* This fits into a size_t, as the sources themselves need more bytes. */
SSMP_FN size_t ssmp_mix_bytes(uint32_t num_sources)
{
    return STATESAMPLER_MIX_STATE_BYTES((size_t)num_sources);
}

STATESAMPLER_DEF size_t statesampler_mix_state_bytes(
    const statesampler_mix *mix)
{
    STATESAMPLER_ASSERT(mix && mix->sources);
    return ssmp_mix_bytes(mix->num_sources);
}

STATESAMPLER_DEF int statesampler_mix_save(const statesampler_mix *mix,
                                           void *out, size_t size)
{
    unsigned char *bytes = (unsigned char *)out, *to;
    size_t needed;
    uint32_t i;

    STATESAMPLER_ASSERT(mix && mix->sources && (out || size == 0));
    needed = ssmp_mix_bytes(mix->num_sources);
    if (size < needed)
        return STATESAMPLER_ECAPACITY;
    ssmp_state_begin(bytes, SSMP_MAGIC_MIX, SSMP_FORMAT_MIX);
    ssmp_fields_save(bytes, ssmp_mix_fields(), SSMP_MIX_FIELDS, mix);
    to = bytes + SSMP_MIX_HEAD;
    for (i = 0; i < mix->num_sources; i++, to += SSMP_SOURCE_BYTES) {
        const statesampler_source *source = mix->sources + i;
        uint32_t seated = source->in_mix.seat != SSMP_NOBODY;

        ssmp_bytes_store(to, 4, source->in_mix.weight);
        ssmp_bytes_store(to + 4, 4, ssmp_source_finished(source) | seated << 1);
        (void)statesampler_save(&source->sampler, to + SSMP_SOURCE_HEAD,
                                STATESAMPLER_STATE_BYTES);
    }
    ssmp_state_end(bytes, needed);
    return STATESAMPLER_OK;
}

/* Reads the head of a mix's state, which must be whole, into a mix of which
   nothing else is set. */
SSMP_NOINLINE int ssmp_mix_read(statesampler_mix *head,
                                const unsigned char *bytes, size_t size)
{
    size_t expected = 0;
    int code;

    head->num_sources = 0;
    if (size >= SSMP_MIX_HEAD)
        ssmp_fields_load(head, ssmp_mix_fields(), SSMP_MIX_FIELDS, bytes);
    /* The only number of sources that can have this size, as the head and the
       check word together are shorter than a source. (The size for another
       number might not fit a size_t.) */
    if (head->num_sources == size / SSMP_SOURCE_BYTES)
        expected = ssmp_mix_bytes(head->num_sources);
    code = ssmp_state_check(bytes, size, SSMP_MAGIC_MIX, SSMP_FORMAT_MIX,
                            expected);
    if (code != STATESAMPLER_OK)
        return code;
    if (head->num_sources == 0)
        return STATESAMPLER_ECORRUPT_SOURCES;
    if (head->stop > STATESAMPLER_STOP_NEVER)
        return STATESAMPLER_ECORRUPT_STOP;
    /* So sums of turns and ticks stay below 2^64. */
    if ((head->turn | head->tick) >> 63 != 0)
        return STATESAMPLER_ECORRUPT_TURN;
    return STATESAMPLER_OK;
}

/* Reads what a mix's state says of a source. */
SSMP_NOINLINE int ssmp_source_read(ssmp_source_state *saved,
                                   const unsigned char *bytes, uint32_t source)
{
    bytes = (const unsigned char *)statesampler_mix_source_in(bytes, source,
                                                              &saved->weight);
    saved->flags = (uint32_t)ssmp_bytes_load(bytes - 4, 4);
    if (saved->weight == 0)
        return STATESAMPLER_ECORRUPT_WEIGHTS;
    if (saved->flags > 3)
        return STATESAMPLER_ECORRUPT_ZERO;
    return ssmp_run_read(&saved->run, bytes, STATESAMPLER_STATE_BYTES);
}

/* Goes on where the source was when its state was saved. */
SSMP_FN void ssmp_source_resume(statesampler_source *source,
                                const ssmp_source_state *saved)
{
    ssmp_sampler_resume(&source->sampler, &saved->run);
    source->in_mix.first_epoch = saved->run.now.epoch - (saved->flags & 1);
}

/* OK if a mix may go on where a state was saved. */
SSMP_NOINLINE int ssmp_mix_match(const statesampler_mix *mix,
                                 const statesampler_mix *head,
                                 const unsigned char *bytes)
{
    ssmp_weights totals;
    uint32_t i;

    if (head->stop != mix->stop)
        return STATESAMPLER_EMISMATCH_STOP;
    if (head->num_sources != mix->num_sources)
        return STATESAMPLER_EMISMATCH_SOURCES;
    ssmp_weights_begin(&totals);
    for (i = 0; i < mix->num_sources; i++) {
        const ssmp_run *run = &mix->sources[i].sampler.run;
        ssmp_source_state saved;
        int code = ssmp_source_read(&saved, bytes, i);

        if (code == STATESAMPLER_OK)
            code = ssmp_run_match(&saved.run, run);
        if (code != STATESAMPLER_OK)
            return code;
        ssmp_weights_add(&totals, saved.weight, run, &run->shape);
    }
    /* These two are checked here, as no mix could have saved such weights. What
       mix_init refuses besides depends on this mix's samplers, too. */
    if (totals.sum == 0 || totals.sum >> 31)
        return STATESAMPLER_ECORRUPT_WEIGHTS;
    return ssmp_weights_check(&totals, mix->stop);
}

STATESAMPLER_DEF int statesampler_mix_load(statesampler_mix *mix,
                                           const void *state, size_t size)
{
    const unsigned char *bytes = (const unsigned char *)state;
    ssmp_source_state saved;
    statesampler_mix head;
    uint32_t i;
    int code;

    STATESAMPLER_ASSERT(mix && mix->sources && (state || size == 0));
    code = ssmp_mix_read(&head, bytes, size);
    if (code == STATESAMPLER_OK)
        code = ssmp_mix_match(mix, &head, bytes);
    if (code != STATESAMPLER_OK)
        return code;
    for (i = 0; i < mix->num_sources; i++) {
        (void)ssmp_source_read(&saved, bytes, i);
        mix->sources[i].in_mix.weight = saved.weight;
        /* Any seat will do: ssmp_mix_rebase only looks whether it had one. */
        mix->sources[i].in_mix.seat = saved.flags & 2 ? 0 : SSMP_NOBODY;
        ssmp_source_resume(mix->sources + i, &saved);
    }
    mix->epoch = head.epoch;
    mix->turn = head.turn;
    mix->tick = head.tick;
    ssmp_mix_rebase(mix);
    return STATESAMPLER_OK;
}

STATESAMPLER_DEF int statesampler_mix_describe(const void *state, size_t size,
                                               uint32_t source,
                                               statesampler_desc *desc,
                                               statesampler_mix_place *place)
{
    const unsigned char *bytes = (const unsigned char *)state;
    ssmp_source_state saved;
    statesampler_mix head;
    int code;

    STATESAMPLER_ASSERT(state || size == 0);
    code = ssmp_mix_read(&head, bytes, size);
    if (code == STATESAMPLER_OK && source >= head.num_sources)
        code = STATESAMPLER_ERANGE_SOURCE;
    if (code == STATESAMPLER_OK)
        code = ssmp_source_read(&saved, bytes, source);
    if (code != STATESAMPLER_OK)
        return code;
    if (desc)
        ssmp_run_describe(desc, &saved.run);
    if (place) {
        place->epoch = head.epoch;
        place->turn = head.turn;
        place->num_sources = head.num_sources;
        place->stop = head.stop;
        place->weight = saved.weight;
    }
    return STATESAMPLER_OK;
}

STATESAMPLER_DEF const void *statesampler_mix_source_in(const void *state,
                                                        uint32_t source,
                                                        uint32_t *weight)
{
    const unsigned char *bytes = (const unsigned char *)state;

    STATESAMPLER_ASSERT(state);
    bytes += SSMP_MIX_HEAD + (size_t)source * SSMP_SOURCE_BYTES;
    if (weight)
        *weight = (uint32_t)ssmp_bytes_load(bytes, 4);
    return bytes + SSMP_SOURCE_HEAD;
}

/* --- mix: the state of a mixture ---------------------------------------------
   It has a first word, the number of datasets, the hashes of their names, the
   state of the mix, and a check word. Here a dataset is known by its number. To
   find that by the hash takes a map: a mixture's is of stb_ds, and a binding
   uses one of its language. */

#define SSMP_MIXTURE_HEAD 16                       /* bytes before the hashes */
#define SSMP_DATASET_BYTES (8 + SSMP_SOURCE_BYTES) /* hash and source */

/* The offset of a dataset's hash in a mixture's state. */
SSMP_FN size_t ssmp_mixture_hash_at(uint32_t dataset)
{
    return SSMP_MIXTURE_HEAD + 8 * (size_t)dataset;
}

/* The offset of the mix's state there: after all hashes. */
SSMP_FN size_t ssmp_mixture_mix_at(uint32_t num_sources)
{
    return ssmp_mixture_hash_at(num_sources);
}

STATESAMPLER_DEF const void *statesampler_mix_state_in(const void *state,
                                                       size_t *size)
{
    const unsigned char *bytes = (const unsigned char *)state;
    uint32_t datasets;

    STATESAMPLER_ASSERT(size && (state || *size == 0));
    if (*size < SSMP_MIXTURE_HEAD + SSMP_CHECK_BYTES ||
        (uint32_t)ssmp_bytes_load(bytes, 4) != SSMP_MAGIC_MIXTURE)
        return state;
    datasets = (uint32_t)ssmp_bytes_load(bytes + 8, 4);
    if (datasets > (*size - SSMP_MIXTURE_HEAD - SSMP_CHECK_BYTES) / 8)
        return state;
    *size -= ssmp_mixture_mix_at(datasets) + SSMP_CHECK_BYTES;
    return bytes + ssmp_mixture_mix_at(datasets);
}

SSMP_FN size_t ssmp_mixture_bytes(uint32_t num_sources)
{
    return ssmp_mixture_mix_at(num_sources) + ssmp_mix_bytes(num_sources) +
           SSMP_CHECK_BYTES;
}

/* Writes a mixture's state around the hashes, which its caller has written. */
SSMP_FN void ssmp_mixture_write(unsigned char *bytes,
                                const statesampler_mix *mix)
{
    const uint32_t count = mix->num_sources;
    const size_t size = ssmp_mixture_bytes(count);

    ssmp_state_begin(bytes, SSMP_MAGIC_MIXTURE, SSMP_FORMAT_MIX);
    ssmp_bytes_store(bytes + 8, 8, count);
    (void)statesampler_mix_save(mix, bytes + ssmp_mixture_mix_at(count),
                                ssmp_mix_bytes(count));
    ssmp_state_end(bytes, size);
}

/* A mixture's state. */
typedef struct ssmp_mixture_state {
    const unsigned char *hashes, *mix_state;
    statesampler_mix head;
} ssmp_mixture_state;

SSMP_FN int ssmp_mixture_read(ssmp_mixture_state *state,
                              const unsigned char *bytes, size_t size)
{
    const uint32_t count = (uint32_t)(size / SSMP_DATASET_BYTES);
    size_t expected = 0;
    int code;

    if (size >= SSMP_MIXTURE_HEAD && ssmp_bytes_load(bytes + 8, 8) == count)
        expected = ssmp_mixture_bytes(count);
    code = ssmp_state_check(bytes, size, SSMP_MAGIC_MIXTURE, SSMP_FORMAT_MIX,
                            expected);
    if (code != STATESAMPLER_OK)
        return code;
    state->hashes = bytes + ssmp_mixture_hash_at(0);
    state->mix_state = bytes + ssmp_mixture_mix_at(count);
    return ssmp_mix_read(&state->head, state->mix_state, ssmp_mix_bytes(count));
}

/* Sets statuses[k] to what has become of dataset k of a mix: it is MATCHED, NEW
   or CHANGED. numbers[i] is the number in the mix of dataset i of the state, or
   NOBODY if it is REMOVED. */
SSMP_FN int ssmp_mixture_compare(uint32_t *statuses,
                                 const statesampler_mix *mix,
                                 const ssmp_mixture_state *state,
                                 const uint32_t *numbers)
{
    uint32_t i;

    for (i = 0; i < mix->num_sources; i++)
        statuses[i] = STATESAMPLER_CHANGE_NEW;
    for (i = 0; i < state->head.num_sources; i++) {
        const uint32_t number = numbers[i];
        ssmp_source_state saved;
        int code = ssmp_source_read(&saved, state->mix_state, i);

        if (code != STATESAMPLER_OK)
            return code;
        if (number == SSMP_NOBODY)
            continue;
        if (statuses[number] != STATESAMPLER_CHANGE_NEW)
            return STATESAMPLER_ECORRUPT_NAMES;
        code = ssmp_run_match(&saved.run, &mix->sources[number].sampler.run);
        statuses[number] = code == STATESAMPLER_OK
                               ? STATESAMPLER_CHANGE_MATCHED
                               : STATESAMPLER_CHANGE_CHANGED;
    }
    return STATESAMPLER_OK;
}

/* Whether a state is of these datasets, in this order. */
SSMP_FN int ssmp_mixture_same(const statesampler_mix *mix,
                              const ssmp_mixture_state *state,
                              const uint32_t *numbers, const uint32_t *statuses)
{
    uint32_t i;

    if (state->head.num_sources != mix->num_sources)
        return 0;
    for (i = 0; i < mix->num_sources; i++)
        if (numbers[i] != i || statuses[i] != STATESAMPLER_CHANGE_MATCHED)
            return 0;
    return 1;
}

/* Whether a dataset is CHANGED. */
SSMP_FN int ssmp_mixture_any_changed(const statesampler_mix *mix,
                                     const uint32_t *statuses)
{
    uint32_t i;

    for (i = 0; i < mix->num_sources; i++)
        if (statuses[i] == STATESAMPLER_CHANGE_CHANGED)
            return 1;
    return 0;
}

/* Begins an epoch of a source. */
SSMP_FN void ssmp_source_begin(statesampler_source *source, uint64_t epoch)
{
    source->in_mix.first_epoch = epoch;
    statesampler_begin(&source->sampler, epoch);
}

/* Goes on where a state was saved, if it may, by the numbers and statuses of
   ssmp_mixture_compare. If datasets were added, removed or moved, turns go on
   counting, and the sequence begins again. */
SSMP_FN int ssmp_mixture_resume(statesampler_mix *mix,
                                const ssmp_mixture_state *state,
                                const uint32_t *numbers,
                                const uint32_t *statuses, int restart)
{
    uint32_t i;

    if (state->head.stop != mix->stop)
        return STATESAMPLER_EMISMATCH_STOP;
    if (!restart && ssmp_mixture_any_changed(mix, statuses))
        return STATESAMPLER_EMISMATCH_DATASET;
    if (ssmp_mixture_same(mix, state, numbers, statuses))
        return statesampler_mix_load(mix, state->mix_state,
                                     ssmp_mix_bytes(mix->num_sources));
    /* Every dataset begins its epoch anew; those that are in the state then go
       on where they were. */
    for (i = 0; i < mix->num_sources; i++)
        ssmp_source_begin(mix->sources + i,
                          mix->sources[i].sampler.run.now.epoch);
    for (i = 0; i < state->head.num_sources; i++) {
        const uint32_t number = numbers[i];
        ssmp_source_state saved;

        if (number == SSMP_NOBODY)
            continue;
        (void)ssmp_source_read(&saved, state->mix_state, i);
        if (statuses[number] == STATESAMPLER_CHANGE_MATCHED)
            ssmp_source_resume(mix->sources + number, &saved);
        else
            ssmp_source_begin(mix->sources + number, saved.run.now.epoch);
    }
    mix->epoch = state->head.epoch;
    mix->turn = state->head.turn;
    mix->tick = 0;
    ssmp_mix_rebase(mix);
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

STATESAMPLER_DEF void statesampler_audit_merge(statesampler_audit *audit,
                                               const statesampler_audit *other)
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
    /* n(n-1)/2, n(n-1)(2n-1)/6 and n^2(n-1)^2/4. Of n and n - 1 the even one is
       divided by two first: n / 2 is that half, and (n - 1) | 1 is the odd one.
       The division by three is exact, and so the product with the inverse of 3
       modulo 2^64. */
    sum1 = n / 2 * ((n - 1) | 1);
    sum2 = sum1 * (2 * n - 1) * SSMP_U64(0xaaaaaaaau, 0xaaaaaaabu);
    return audit->count == n && audit->sum1 == sum1 && audit->sum2 == sum2 &&
           audit->sum3 == sum1 * sum1;
}

/* --- errors and version -------------------------------------------------- */

#define SSMP_NUMBER(name, number, sentence) number,
#define SSMP_SENTENCE(name, number, sentence) sentence "\0"
#ifdef __AVR__
/* Strings are copied to RAM there, which has room for the kinds alone. */
#define SSMP_SENTENCES(X) STATESAMPLER_KINDS(X)
#else
#define SSMP_SENTENCES(X) STATESAMPLER_KINDS(X) STATESAMPLER_RULES(X)
#endif

/* The sentences are one string, in the order of the numbers. An array of
   pointers to them would have to be filled in when a program is loaded. */
STATESAMPLER_DEF const char *statesampler_error(int code)
{
    static const short codes[] = {SSMP_SENTENCES(SSMP_NUMBER) STATESAMPLER_OK};
    const char *sentence = SSMP_SENTENCES(SSMP_SENTENCE) "no error";
    const short *entry = codes;
    int to_skip; /* sentences before that of code */

#ifdef __AVR__
    if (code <= STATESAMPLER_EINVAL)
        code = STATESAMPLER_KIND(code);
#endif
    for (; *entry != code; entry++) /* ends with OK */
        if (*entry == STATESAMPLER_OK)
            return "unknown error";
    /* Not a loop for each sentence, of which clang makes a call of strlen. */
    for (to_skip = (int)(entry - codes); to_skip > 0; sentence++)
        if (*sentence == 0)
            to_skip--;
    return sentence;
}

STATESAMPLER_DEF uint32_t statesampler_version(void)
{
    return STATESAMPLER_VERSION_NUMBER;
}

STATESAMPLER_WRAP_END

#ifdef __clang__
#pragma pop_macro("apply_to")
#pragma pop_macro("function")
#endif

/* --- hosted --------------------------------------------------------------
   A save creates a temporary file with O_EXCL, writes it and renames it over
   path. No two saves write to one file, so none has to lock another out: its
   lock only says that its writer lives. Removing a temporary file early does no
   harm: its writer's rename fails with ENOENT, and the save begins again. */

#ifdef STATESAMPLER_HOSTED

#if !defined(_WIN32) && !defined(__unix__) && !defined(__unix) && \
    !defined(__APPLE__) && !defined(__HAIKU__) && !defined(__QNX__)
#error "STATESAMPLER_HOSTED needs POSIX or Windows: leave it undefined here"
#endif

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef _MSC_VER
#pragma warning(push)
#pragma warning(disable : 4996) /* getenv and _wopen: it wants others */
#endif

/* Sets *value from a variable that is a decimal number of 32 bits. */
static inline int ssmp_env_read(uint32_t *value, const char *name)
{
    const char *digit = getenv(name);
    uint64_t number = 0;

    if (!digit)
        return STATESAMPLER_EENV_UNSET;
    do { /* ends with the text */
        if (*digit < '0' || *digit > '9')
            return STATESAMPLER_EENV_NUMBER;
        number = 10 * number + (uint64_t)(*digit - '0');
        if (number > SSMP_MAX32)
            return STATESAMPLER_EENV_NUMBER;
    } while (*++digit != 0);
    *value = (uint32_t)number;
    return STATESAMPLER_OK;
}

/* A launcher, and the variables that it sets. */
typedef struct ssmp_launcher {
    const char *name, *world_size, *rank;
    int rank_is_enough; /* 1: it has launched us if rank alone is set */
} ssmp_launcher;

/* The launcher of this process, or NULL. */
static inline const ssmp_launcher *ssmp_launcher_find(void)
{
    /* In a batch script Slurm sets a rank, too, but that is one process. */
    static const ssmp_launcher launchers[4] = {
        {"torchrun", "WORLD_SIZE", "RANK", 1},
        {"openmpi", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", 1},
        {"pmi", "PMI_SIZE", "PMI_RANK", 1},
        {"slurm", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID", 0},
    };
    int i;

    for (i = 0; i < 4; i++)
        if (getenv(launchers[i].world_size) ||
            (launchers[i].rank_is_enough && getenv(launchers[i].rank)))
            return launchers + i;
    return NULL;
}

STATESAMPLER_DEF_HOSTED int statesampler_from_env(statesampler_desc *desc,
                                                  const char **launcher)
{
    const ssmp_launcher *found = ssmp_launcher_find();
    uint32_t rank = 0, world_size = 1;
    int code = STATESAMPLER_OK;

    STATESAMPLER_ASSERT(desc);
    if (launcher)
        *launcher = found ? found->name : "none";
    if (found)
        code = ssmp_env_read(&world_size, found->world_size);
    if (found && code == STATESAMPLER_OK)
        code = ssmp_env_read(&rank, found->rank);
    if (code != STATESAMPLER_OK)
        return code;
    if (rank >= world_size)
        return STATESAMPLER_EENV_RANK;
    desc->rank = rank;
    desc->world_size = world_size;
    return STATESAMPLER_OK;
}

/* A temporary file's name has a hash of the path's last part, and a number that
   nobody else has. Sizes include the 0 at the end. */
#define SSMP_NAME ".statesampler-%08x-%08x.tmp"
#define SSMP_NAME_SIZE 36
#define SSMP_PATH 4096
#define SSMP_PIECE (1u << 30) /* what one call takes: Windows counts in int */

/* SSMP_MOVED: an errno that says that somebody else has created, removed or
   replaced the file. */
#ifdef _WIN32
#include <io.h>
#include <process.h>
#define SSMP_OS(name) _##name
#define SSMP_SEEK _lseeki64
#define SSMP_OPEN ssmp_windows_open
#define SSMP_REMOVE ssmp_windows_remove
#define SSMP_RENAME ssmp_windows_rename
#define SSMP_LOCK(file) 0 /* Windows does not remove an open file */
#define SSMP_FLUSH _commit
#define SSMP_MOVED(error) ((error) == EEXIST || (error) == ENOENT)
#define SSMP_SEPARATORS "/\\:"
#define SSMP_UTF16 260 /* what most functions take, with the 0 at the end */

/* windows.h is too large to include for three functions. */
#ifdef __cplusplus
#define SSMP_DLL extern "C" __declspec(dllimport)
#else
#define SSMP_DLL __declspec(dllimport)
#endif
SSMP_DLL int __stdcall MoveFileExW(const wchar_t *from, const wchar_t *to,
                                   unsigned long flags);
SSMP_DLL int __stdcall MultiByteToWideChar(unsigned page, unsigned long flags,
                                           const char *from, int size,
                                           wchar_t *to, int to_size);
SSMP_DLL void __stdcall Sleep(unsigned long milliseconds);

/* Whether to repeat a call that has failed so many times. Windows refuses one
   while another program has the file open, even to read it, or a save is
   replacing it: so it is repeated for a second. */
static inline int ssmp_file_again(int error, int failures)
{
    if (error != EACCES || failures >= 50)
        return 0;
    Sleep(20);
    return 1;
}

/* Paths are UTF-8, code page 65001, whatever the program's is. With the flag 8
   anything else is an error. */
static inline int ssmp_windows_path(wchar_t *utf16, const char *path)
{
    if (MultiByteToWideChar(65001, 8, path, -1, utf16, SSMP_UTF16) > 0)
        return 1;
    errno = EINVAL; /* it sets none */
    return 0;
}

static inline int ssmp_windows_open(const char *path, int flags)
{
    wchar_t utf16[SSMP_UTF16];

    flags |= _O_BINARY | _O_NOINHERIT;
    return ssmp_windows_path(utf16, path) ? _wopen(utf16, flags, 0600) : -1;
}

static inline int ssmp_windows_remove(const char *path)
{
    wchar_t utf16[SSMP_UTF16];

    return ssmp_windows_path(utf16, path) ? _wremove(utf16) : -1;
}

static inline int ssmp_windows_rename(const char *from, const char *to)
{
    wchar_t utf16_from[SSMP_UTF16], utf16_to[SSMP_UTF16];

    if (!ssmp_windows_path(utf16_from, from) ||
        !ssmp_windows_path(utf16_to, to))
        return -1;
    /* MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH */
    if (MoveFileExW(utf16_from, utf16_to, 1 | 8))
        return 0;
    /* It sets no errno. */
    errno = _waccess(utf16_from, 0) != 0 ? ENOENT : EACCES;
    return -1;
}

/* Removes the temporary files for a name, except those that are open. They are
   in the folder that is the first `folder` bytes of `path`. */
static inline void ssmp_file_sweep(char *path, size_t folder, unsigned name)
{
    wchar_t utf16[SSMP_UTF16];
    struct _wfinddata64_t entry;
    intptr_t entries;

    (void)snprintf(path + folder, SSMP_NAME_SIZE, ".statesampler-%08x-*.tmp",
                   name);
    entries =
        ssmp_windows_path(utf16, path) ? _wfindfirst64(utf16, &entry) : -1;
    if (entries == -1)
        return;
    do { /* ends with the folder */
        (void)snprintf(path + folder, SSMP_NAME_SIZE, "%ls", entry.name);
        (void)SSMP_REMOVE(path);
    } while (_wfindnext64(entries, &entry) == 0);
    (void)_findclose(entries);
}
#else
#include <dirent.h>
#include <sys/file.h>
#include <unistd.h>
/* In parentheses, a name is the function's, even where the program has a macro
   such as open(...). */
#define SSMP_OS(name) (name)
#if defined(__STRICT_ANSI__) && !defined(__cplusplus)
/* -std=c99 hides it unless POSIX was asked for before the first include. */
extern int SSMP_OS(fsync)(int file);
#endif
#ifdef __APPLE__
/* There fsync stops at the drive's own memory. 51 is F_FULLFSYNC, which some
   feature macros hide; a file system without it has fsync. */
#define SSMP_FLUSH(file) \
    (SSMP_OS(fcntl)(file, 51) == 0 ? 0 : SSMP_OS(fsync)(file))
#else
#define SSMP_FLUSH SSMP_OS(fsync)
#endif
#define SSMP_SEEK SSMP_OS(lseek)
#define SSMP_MOVED(error) /* ESTALE comes from file servers */ \
    ((error) == EEXIST || (error) == ENOENT || (error) == ESTALE)
#define SSMP_SEPARATORS "/"
#define SSMP_OPEN(path, flags) SSMP_OS(open)(path, flags, 0666)
#define SSMP_REMOVE SSMP_OS(unlink)
#define SSMP_RENAME SSMP_OS(rename)
/* Locks a file until it is closed or its process ends. 1: another process has
   locked it. */
#define SSMP_LOCK(file) \
    (SSMP_OS(flock)(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)

/* Whether to repeat a call that has failed: if a signal has interrupted it. So
   a loop ends unless signals come for ever. */
static inline int ssmp_file_again(int error, int failures)
{
    (void)failures;
    return error == EINTR;
}

/* Removes the temporary files for a name, except those whose writer lives. They
   are in the folder that is the first `folder` bytes of `path`. */
static inline void ssmp_file_sweep(char *path, size_t folder, unsigned name)
{
    const struct dirent *entry;
    unsigned found, number, count = 0;
    DIR *entries = SSMP_OS(opendir)(folder ? path : ".");

    if (!entries)
        return;
    while (count++ < 10000 && (entry = SSMP_OS(readdir)(entries)) != NULL) {
        int file;

        if (sscanf(entry->d_name, SSMP_NAME, &found, &number) != 2 ||
            found != name)
            continue;
        (void)snprintf(path + folder, SSMP_NAME_SIZE, SSMP_NAME, name, number);
        file = SSMP_OS(open)(path, O_WRONLY | O_NONBLOCK);
        if (file < 0)
            continue;
        if (SSMP_LOCK(file) == 0)
            (void)SSMP_REMOVE(path);
        (void)SSMP_OS(close)(file);
    }
    (void)SSMP_OS(closedir)(entries);
}
#endif

/* Calls that may have to be repeated. Each loop ends when the call succeeds,
   when ssmp_file_again returns 0, or at the end of the file. All return 0 or an
   errno. */
static inline int ssmp_file_open(int *file, const char *path, int flags)
{
    int error, failures = 0;

    do {
        *file = SSMP_OPEN(path, flags);
        error = *file < 0 ? errno : 0;
    } while (error != 0 && ssmp_file_again(error, ++failures));
    return error;
}

static inline int ssmp_file_flush(int file)
{
    int error, failures = 0;

    do {
        error = SSMP_FLUSH(file) < 0 ? errno : 0;
    } while (error != 0 && ssmp_file_again(error, ++failures));
    return error;
}

static inline int ssmp_file_rename(const char *from, const char *to)
{
    int error, failures = 0;

    do {
        error = SSMP_RENAME(from, to) < 0 ? errno : 0;
    } while (error != 0 && ssmp_file_again(error, ++failures));
    return error;
}

/* Sets *done to how many bytes were read: size, or fewer at the file's end. */
static inline int ssmp_file_read(size_t *done, int file, char *to, size_t size)
{
    int failures = 0;

    *done = 0;
    while (*done < size) {
        const unsigned piece = (unsigned)ssmp_min(size - *done, SSMP_PIECE);
        const long part = SSMP_OS(read)(file, to + *done, piece);

        if (part == 0)
            return 0;
        if (part > 0) {
            *done += (size_t)part;
            failures = 0;
        } else {
            const int error = errno;

            if (!ssmp_file_again(error, ++failures))
                return error;
        }
    }
    return 0;
}

static inline int ssmp_file_write(int file, const char *from, size_t size)
{
    int failures = 0;

    while (size > 0) {
        const unsigned piece = (unsigned)ssmp_min(size, SSMP_PIECE);
        const long part = SSMP_OS(write)(file, from, piece);

        if (part == 0)
            return EIO; /* it takes nothing, and does not say why */
        if (part > 0) {
            from += part;
            size -= (size_t)part;
            failures = 0;
        } else {
            const int error = errno;

            if (!ssmp_file_again(error, ++failures))
                return error;
        }
    }
    return 0;
}

#ifdef _WIN32
/* A folder cannot be opened, and the rename has flushed it. */
static inline int ssmp_folder_open(int *folder, const char *path)
{
    (void)path;
    *folder = -1;
    return 0;
}

static inline int ssmp_folder_flush(int folder)
{
    (void)folder;
    return 0;
}

static inline void ssmp_folder_close(int folder)
{
    (void)folder;
}
#else
/* The path "" is the folder in which the process is. */
static inline int ssmp_folder_open(int *folder, const char *path)
{
    return ssmp_file_open(folder, *path ? path : ".", O_RDONLY);
}

static inline int ssmp_folder_flush(int folder)
{
    const int error = ssmp_file_flush(folder);

    if (error == EINVAL || error == ENOSYS || error == ENOTSUP)
        return 0; /* its file system cannot */
    return error;
}

static inline void ssmp_folder_close(int folder)
{
    (void)SSMP_OS(close)(folder);
}
#endif

/* Writes a new file and renames it over path. Returns 0 or an errno: EEXIST if
   the temporary name is taken, ENOENT if somebody has removed the file. */
static inline int ssmp_file_replace(const char *path, const char *temporary,
                                    const char *from, size_t size)
{
    const int flags = SSMP_OS(O_WRONLY) | SSMP_OS(O_CREAT) | SSMP_OS(O_EXCL);
    int file;
    int error = ssmp_file_open(&file, temporary, flags);

    if (error != 0)
        return error;
    (void)SSMP_LOCK(file); /* so that a sweep leaves it */
    error = ssmp_file_write(file, from, size);
    if (error == 0)
        error = ssmp_file_flush(file);
    if (SSMP_OS(close)(file) != 0 && errno != EINTR && error == 0)
        error = errno;
    if (error == 0)
        error = ssmp_file_rename(temporary, path);
    if (error != 0)
        (void)SSMP_REMOVE(temporary);
    return error;
}

/* Replaces a file by a temporary one beside it, and flushes their folder, so
   that this lasts. The first `folder` bytes of `temporary` are the folder; this
   writes a name of these two numbers behind it. Returns 0 or an errno. */
static inline int ssmp_file_save(const char *path, char *temporary,
                                 size_t folder, unsigned name, unsigned number,
                                 const char *bytes, size_t size)
{
    int opened, error;

    /* Opened first: if that fails, the old file is still there. */
    temporary[folder] = 0;
    error = ssmp_folder_open(&opened, temporary);
    if (error != 0)
        return error;
    (void)snprintf(temporary + folder, SSMP_NAME_SIZE, SSMP_NAME, name, number);
    error = ssmp_file_replace(path, temporary, bytes, size);
    if (error == 0)
        error = ssmp_folder_flush(opened);
    ssmp_folder_close(opened);
    return error;
}

STATESAMPLER_DEF_HOSTED int statesampler_save_file(const char *path,
                                                   const void *bytes,
                                                   size_t size)
{
    char temporary[SSMP_PATH + SSMP_NAME_SIZE]; /* the folder, then a name */
    uint64_t name = 0, number = (uint64_t)SSMP_OS(getpid)();
    size_t folder;
    int error, attempt = 0;

    STATESAMPLER_ASSERT(path && (bytes || size == 0));
    folder = strlen(path);
    if (folder == 0 || folder >= SSMP_PATH)
        return STATESAMPLER_EINVAL_PATH;
    while (folder > 0 && !strchr(SSMP_SEPARATORS, path[folder - 1]))
        name = ssmp_derive(name, (unsigned char)path[--folder]);
    memcpy(temporary, path, folder);
    temporary[folder] = 0;
    ssmp_file_sweep(temporary, folder, (unsigned)name);
    do {
        /* Threads differ in the address of their stack, and processes with the
           same pid, of two machines, in the processor time they have used. */
        number = ssmp_derive(number + (uint64_t)clock(), (uintptr_t)temporary);
        error = ssmp_file_save(path, temporary, folder, (unsigned)name,
                               (unsigned)number, (const char *)bytes, size);
    } while (SSMP_MOVED(error) && ++attempt < 100);
    if (error == 0)
        return STATESAMPLER_OK;
    errno = error;
    return STATESAMPLER_EIO;
}

/* The length of a file of which size bytes were read. Returns 0 or an errno:
   EFBIG if the file is longer, but does not say how long it is. */
static inline int ssmp_file_length(size_t *length, int file, size_t size)
{
    char extra;
    size_t more;
    int64_t end;
    int error = ssmp_file_read(&more, file, &extra, 1);

    *length = size;
    if (error != 0 || more == 0)
        return error;
    end = SSMP_SEEK(file, 0, SEEK_END);
    if (end < 0)
        return errno;
    *length = (size_t)end;
    if (*length <= size || (int64_t)*length != end) /* or more than a size_t */
        return EFBIG;
    return 0;
}

/* Reads a file to its end, or capacity bytes of it, and sets *length to how
   long it is. Returns 0 or an errno. */
static inline int ssmp_file_load(size_t *length, const char *path, char *bytes,
                                 size_t capacity)
{
    int file;
    int error = ssmp_file_open(&file, path, SSMP_OS(O_RDONLY));

    if (error != 0)
        return error;
    error = ssmp_file_read(length, file, bytes, capacity);
    if (error == 0 && *length == capacity)
        error = ssmp_file_length(length, file, capacity);
    (void)SSMP_OS(close)(file);
    return error;
}

STATESAMPLER_DEF_HOSTED int statesampler_load_file(const char *path,
                                                   void *bytes, size_t capacity,
                                                   size_t *size)
{
    size_t length = 0;
    int error;

    STATESAMPLER_ASSERT(path && (bytes || capacity == 0));
    if (!*path)
        return STATESAMPLER_EINVAL_PATH;
    error = ssmp_file_load(&length, path, (char *)bytes, capacity);
    if (SSMP_MOVED(error)) /* perhaps a save has just replaced it */
        error = ssmp_file_load(&length, path, (char *)bytes, capacity);
    if (error != 0) {
        errno = error;
        return error == ENOENT ? STATESAMPLER_ENOFILE : STATESAMPLER_EIO;
    }
    if (!size)
        return length == capacity ? STATESAMPLER_OK
                                  : STATESAMPLER_ECORRUPT_SIZE;
    *size = length;
    return length > capacity ? STATESAMPLER_ECAPACITY : STATESAMPLER_OK;
}
#ifdef _MSC_VER
#pragma warning(pop)
#endif

#endif /* STATESAMPLER_HOSTED */

/* --- mixture ------------------------------------------------------------- */

#ifdef STATESAMPLER_STB_DS

/* Splits a hash so that no byte has its highest bit set: stb_ds shifts the
   bytes of a key as int, and for bytes of 128 or more that is undefined. */
static inline void ssmp_dataset_set(statesampler_dataset *dataset,
                                    uint64_t hash)
{
    const uint64_t highest = SSMP_U64(0x80808080u, 0x80808080u);

    dataset->bits[0] = hash & ~highest;
    dataset->bits[1] = (hash & highest) >> 7;
    dataset->value = hash;
}

/* The number of the dataset whose name has this hash, or NOBODY. The macros of
   stb_ds need a member `key`, and typeof, which gcc does not have with
   -std=c99. */
static inline uint32_t ssmp_mixture_number(statesampler_mixture *mixture,
                                           uint64_t hash)
{
    statesampler_dataset dataset;

    if (!mixture->datasets)
        return SSMP_NOBODY; /* stb_ds would make a map to look into */
    ssmp_dataset_set(&dataset, hash);
    mixture->datasets = (statesampler_dataset *)stbds_hmget_key(
        mixture->datasets, sizeof dataset, dataset.bits, sizeof dataset.bits,
        STBDS_HM_BINARY);
    return (uint32_t)stbds_temp(mixture->datasets - 1); /* NOBODY is -1 */
}

STATESAMPLER_DEF_HOSTED int statesampler_mixture_add(
    statesampler_mixture *mixture, const char *name, uint32_t weight,
    const statesampler_desc *desc)
{
    statesampler_dataset dataset;
    statesampler_source source;
    int code;

    STATESAMPLER_ASSERT(mixture && name && desc);
    if (*name == 0)
        return STATESAMPLER_EINVAL_NAME_EMPTY;
    ssmp_dataset_set(&dataset, statesampler_hash(0, name, strlen(name) + 1));
    if (ssmp_mixture_number(mixture, dataset.value) != SSMP_NOBODY)
        return STATESAMPLER_EINVAL_NAME_TAKEN;
    code = statesampler_init(&source.sampler, desc);
    if (code == STATESAMPLER_OK && arrlenu(mixture->sources) != 0) {
        /* The stop rule, which decides about CARRY, is not known yet. */
        code = ssmp_source_check(&source.sampler.run,
                                 &mixture->sources->sampler.run,
                                 STATESAMPLER_STOP_NEVER);
    }
    if (code != STATESAMPLER_OK)
        return code;
    source.weight = weight;
    dataset.key = NULL;
    arrsetlen(dataset.key, strlen(name) + 1);
    memcpy(dataset.key, name, strlen(name) + 1);
    mixture->datasets = (statesampler_dataset *)stbds_hmput_key(
        mixture->datasets, sizeof dataset, dataset.bits, sizeof dataset.bits,
        STBDS_HM_BINARY);
    mixture->datasets[arrlenu(mixture->sources)] = dataset;
    arrput(mixture->sources, source);
    if (mixture->mix.sources)
        mixture->mix.sources = mixture->sources; /* the array may have moved */
    return STATESAMPLER_OK;
}

STATESAMPLER_DEF_HOSTED int statesampler_mixture_find(
    statesampler_mixture *mixture, const char *name, uint32_t *source)
{
    uint32_t i;

    STATESAMPLER_ASSERT(mixture && name && source);
    i = ssmp_mixture_number(mixture,
                            statesampler_hash(0, name, strlen(name) + 1));
    if (i == SSMP_NOBODY)
        return STATESAMPLER_ERANGE_NAME;
    *source = i;
    return STATESAMPLER_OK;
}

STATESAMPLER_DEF_HOSTED int statesampler_mixture_start(
    statesampler_mixture *mixture, uint32_t stop)
{
    STATESAMPLER_ASSERT(mixture);
    return statesampler_mix_init(&mixture->mix, mixture->sources,
                                 (uint32_t)arrlenu(mixture->sources), stop);
}

STATESAMPLER_DEF_HOSTED int statesampler_mixture_remove(
    statesampler_mixture *mixture, const char *name)
{
    statesampler_dataset *dataset;
    uint32_t i;
    int code;

    STATESAMPLER_ASSERT(mixture && name);
    code = statesampler_mixture_find(mixture, name, &i);
    if (code != STATESAMPLER_OK)
        return code;
    arrfree(mixture->changes); /* they point to names */
    dataset = mixture->datasets + i;
    arrfree(dataset->key);
    /* Both calls move the last one into its place. */
    mixture->datasets = (statesampler_dataset *)stbds_hmdel_key(
        mixture->datasets, sizeof *dataset, dataset->bits, sizeof dataset->bits,
        0, STBDS_HM_BINARY);
    arrdelswap(mixture->sources, i);
    if (i < mixture->mix.num_sources)
        memset(&mixture->mix, 0, sizeof mixture->mix);
    return STATESAMPLER_OK;
}

STATESAMPLER_DEF_HOSTED size_t statesampler_mixture_state_bytes(
    const statesampler_mixture *mixture)
{
    STATESAMPLER_ASSERT(mixture && mixture->mix.sources);
    return ssmp_mixture_bytes(mixture->mix.num_sources);
}

STATESAMPLER_DEF_HOSTED int statesampler_mixture_save(
    const statesampler_mixture *mixture, void *out, size_t size)
{
    unsigned char *bytes = (unsigned char *)out;
    uint32_t i, count;

    STATESAMPLER_ASSERT(mixture && (out || size == 0));
    if (!mixture->mix.sources)
        return STATESAMPLER_EINVAL_NOT_STARTED;
    count = mixture->mix.num_sources;
    if (size < ssmp_mixture_bytes(count))
        return STATESAMPLER_ECAPACITY;
    for (i = 0; i < count; i++)
        ssmp_bytes_store(bytes + ssmp_mixture_hash_at(i), 8,
                         mixture->datasets[i].value);
    ssmp_mixture_write(bytes, &mixture->mix);
    return STATESAMPLER_OK;
}

/* What a state's datasets have become: the arrays of ssmp_mixture_compare. */
typedef struct ssmp_mixture_fates {
    uint32_t *numbers;  /* of the state's, in the mixture */
    uint32_t *statuses; /* of the mixture's */
} ssmp_mixture_fates;

static inline uint64_t ssmp_mixture_saved_hash(const ssmp_mixture_state *state,
                                               uint32_t i)
{
    return ssmp_bytes_load(state->hashes + 8 * (size_t)i, 8);
}

/* Finds the state's datasets in the mix. One that was added after the start is
   not in it. */
static inline void ssmp_mixture_find_all(ssmp_mixture_fates *fates,
                                         statesampler_mixture *mixture,
                                         const ssmp_mixture_state *state)
{
    uint32_t i;

    fates->numbers = NULL;
    fates->statuses = NULL;
    arrsetlen(fates->numbers, state->head.num_sources);
    arrsetlen(fates->statuses, mixture->mix.num_sources);
    for (i = 0; i < state->head.num_sources; i++) {
        const uint32_t number =
            ssmp_mixture_number(mixture, ssmp_mixture_saved_hash(state, i));

        fates->numbers[i] =
            number < mixture->mix.num_sources ? number : SSMP_NOBODY;
    }
}

/* Lists what has become of the datasets here, and which are no longer here. */
static inline void ssmp_mixture_list(statesampler_mixture *mixture,
                                     const ssmp_mixture_state *state,
                                     const ssmp_mixture_fates *fates)
{
    statesampler_change change;
    uint32_t i;

    for (i = 0; i < mixture->mix.num_sources; i++) {
        change.name = mixture->datasets[i].key;
        change.hash = mixture->datasets[i].value;
        change.source = i;
        change.status = fates->statuses[i];
        arrput(mixture->changes, change);
    }
    change.name = NULL;
    change.status = STATESAMPLER_CHANGE_REMOVED;
    for (i = 0; i < state->head.num_sources; i++)
        if (fates->numbers[i] == SSMP_NOBODY) {
            change.hash = ssmp_mixture_saved_hash(state, i);
            change.source = i;
            arrput(mixture->changes, change);
        }
}

STATESAMPLER_DEF_HOSTED int statesampler_mixture_load(
    statesampler_mixture *mixture, const void *state, size_t size, int restart)
{
    ssmp_mixture_state saved;
    ssmp_mixture_fates fates;
    int code;

    STATESAMPLER_ASSERT(mixture && (state || size == 0));
    if (!mixture->mix.sources)
        return STATESAMPLER_EINVAL_NOT_STARTED;
    arrfree(mixture->changes);
    code = ssmp_mixture_read(&saved, (const unsigned char *)state, size);
    if (code != STATESAMPLER_OK)
        return code;
    ssmp_mixture_find_all(&fates, mixture, &saved);
    code = ssmp_mixture_compare(fates.statuses, &mixture->mix, &saved,
                                fates.numbers);
    if (code == STATESAMPLER_OK)
        code = ssmp_mixture_resume(&mixture->mix, &saved, fates.numbers,
                                   fates.statuses, restart);
    /* After a mismatch the changes say which dataset it was. */
    if (code == STATESAMPLER_OK ||
        STATESAMPLER_KIND(code) == STATESAMPLER_EMISMATCH)
        ssmp_mixture_list(mixture, &saved, &fates);
    arrfree(fates.numbers);
    arrfree(fates.statuses);
    return code;
}

STATESAMPLER_DEF_HOSTED void statesampler_mixture_free(
    statesampler_mixture *mixture)
{
    size_t i;

    STATESAMPLER_ASSERT(mixture);
    for (i = 0; i < hmlenu(mixture->datasets); i++)
        arrfree(mixture->datasets[i].key);
    hmfree(mixture->datasets);
    arrfree(mixture->sources);
    arrfree(mixture->changes);
    memset(&mixture->mix, 0, sizeof mixture->mix);
}

#endif /* STATESAMPLER_STB_DS */

#undef SSMP_FIRST_READING
#endif /* SSMP_FIRST_READING */

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
