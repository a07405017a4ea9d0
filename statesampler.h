/* statesampler.h - v0.4.0 - shuffled sample indices for training runs, one
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
   with a keyed bijection, so that the position is the whole state: taking a
   step, seeking, resuming and changing the number of ranks are one function
   of (description, position). It allocates nothing, calls nothing, keeps no
   globals and uses no floating point.


EXAMPLE

     #define STATESAMPLER_IMPLEMENTATION
     #include "statesampler.h"
     #include <stdio.h>

     int main(int argc, char **argv)
     {
         statesampler_desc desc = {
             .num_samples = 30, .seed = 42, .world_size = 3, .batch_size = 4};
         unsigned char state[STATESAMPLER_STATE_BYTES];
         statesampler_audit audit = {0, 0, 0, 0};
         uint64_t batch[4];
         size_t count, i;
         statesampler sampler;
         int good;

         if (argc > 1)
             return printf("usage: %s\n", argv[0]) < 0;
         for (desc.rank = 0; desc.rank < 3; desc.rank++) {
             if (statesampler_init(&sampler, &desc) != 0 ||
                 statesampler_next(&sampler, batch, &count) != 1 ||
                 statesampler_save(&sampler, state, sizeof state) != 0)
                 return 1;
             statesampler_audit_add(&audit, batch, count);
         }

         desc.rank = 0;
         desc.world_size = 1;
         if (statesampler_init(&sampler, &desc) != 0 ||
             statesampler_load(&sampler, state, sizeof state) != 0)
             return 1;
         while (statesampler_next(&sampler, batch, &count)) {
             statesampler_audit_add(&audit, batch, count);
             for (i = 0; i < count; i++)
                 printf("%d ", (int)batch[i]);
         }
         good = statesampler_audit_check(&audit, 30);
         printf("\n%d of 30 samples served, %s\n", (int)audit.count,
                good ? "each exactly once" : "and that is WRONG");
         if (fclose(stdout) == 0)
             return good ? 0 : 1;
         perror("quickstart");
         return 1;
     }

   Three ranks take a step each, and rank 2 saves. A run on one rank goes on
   from there: it serves the 18 of 30 samples that the three have left.


HOW TO

   Each recipe is a part of a program in examples/ that `make test` runs. A
   description has zero for every field that is not named, and zero is the
   default. C++ before C++20 has no designated initialisers as used here: set
   the fields one by one, `statesampler_desc desc = {0}; desc.seed = 42;`.

   One GPU. (examples/recipe_one_gpu.c)

     static int run(void)
     {
         const statesampler_desc desc = {
             .num_samples = 50000, .seed = 42, .batch_size = 64};
         uint64_t batch[64];
         size_t count;
         statesampler s;
         int code = statesampler_init(&s, &desc);

         while (code == STATESAMPLER_OK && statesampler_epoch(&s) < 3)
             if (statesampler_next(&s, batch, &count))
                 train(batch, count);
         return code;
     }

   next returns 0 once at the end of an epoch and has then begun the next one.

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

   The seed must be the same on every rank: with seeds that differ, ranks
   shuffle differently, and samples are lost and doubled without an error. To
   check, compare the ranks' states: they are the same bytes on all of them.
   from_env gives the rank among all processes. Where several processes share
   each sample (tensor, pipeline or context parallelism), divide rank and
   world_size by the number of processes that share one.

   Save and resume. (examples/resume.c)

     static int run(const char *path)
     {
         const statesampler_desc desc = {
             .num_samples = SAMPLES, .seed = 2024, .batch_size = BATCH};
         checkpoint now = {{0}, 1};
         uint64_t batch[BATCH];
         statesampler s;
         size_t count, size = 0;
         int code = statesampler_init(&s, &desc);

         if (code == STATESAMPLER_OK)
             code = statesampler_load_file(path, &now, sizeof now, &size);
         if (code == STATESAMPLER_ENOFILE)
             code = STATESAMPLER_OK;
         else if (code == STATESAMPLER_OK && size == sizeof now)
             code = statesampler_load(&s, now.sampler, sizeof now.sampler);
         else if (code == STATESAMPLER_OK)
             code = STATESAMPLER_ECORRUPT;

         while (code == STATESAMPLER_OK && statesampler_epoch(&s) < EPOCHS) {
             if (statesampler_next(&s, batch, &count))
                 train(&now.model, batch, count);
             code = statesampler_save(&s, now.sampler, sizeof now.sampler);
             if (code == STATESAMPLER_OK)
                 code = statesampler_save_file(path, &now, sizeof now);
         }
         return code;
     }

   Save the state together with the weights, after the step that used the
   batch. One rank's state restores every rank, on any number of ranks and
   with any batch size. Where a load fails, statesampler_error says why, and
   statesampler_describe what the state holds.

   Threads that load ahead. (examples/workers.c)

     static void *load(void *argument)
     {
         loaded *batch = (loaded *)argument;
         size_t i;

         statesampler_at(batch->plan, batch->step, batch->indices,
                         &batch->count);
         for (i = 0; i < batch->count; i++)
             batch->records[i] = read_sample(batch->indices[i]);
         return NULL;
     }

   They ask `at`, which any number of threads may do at once, for steps that
   are to come. The training loop moves a sampler of its own with
   next(&s, NULL, NULL), so that what is saved is what was trained on.

   Several datasets in turns. (examples/recipe_datasets.c)

     static int run(void)
     {
         statesampler_source sources[3];
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
                 .batch_size = 16};

             sources[source].weight = weight[source];
             code = statesampler_init(&sources[source].sampler, &desc);
         }
         if (code == STATESAMPLER_OK)
             code = statesampler_mix_init(&mix, sources, 3,
                                          STATESAMPLER_STOP_ALL);
         while (code == STATESAMPLER_OK &&
                statesampler_mix_next(&mix, batch, &count, &source))
             train(source, batch, count);
         return code;
     }

   A batch is of one dataset. For batches in which datasets mix, make all
   samplers with world_size 1 and batch_size 1. A turn is then one sample, and
   each rank asks mix_at for the turns of its own batch: of the B turns for
   each of W ranks, rank r takes t + rB .. t + (r+1)B - 1, and then all go on
   to t + WB, the one number that is to be saved. For datasets with names that
   come and go there is statesampler_mixture, in the part stb_ds.

   Evaluation: every sample once, on any number of ranks. (examples/evaluate.c)

     static int evaluate(const statesampler_desc *desc, int with_padding,
                         uint64_t *right, uint64_t *seen)
     {
         uint64_t batch[BATCH];
         statesampler s;
         size_t count, i;
         int code = statesampler_init(&s, desc);

         if (code != STATESAMPLER_OK)
             return code;
         while (statesampler_next(&s, batch, &count)) {
             if (!with_padding)
                 count -= statesampler_padding(&s, statesampler_step(&s) - 1);
             for (i = 0; i < count; i++)
                 *right += is_right(batch[i]);
             *seen += count;
         }
         return STATESAMPLER_OK;
     }

   With the tail UNEVEN there is no padding. With PAD, the last `padding`
   samples of a batch are repeats, to be left out of the sum.

   Pre-training without end, in micro-batches. (examples/recipe_pretrain.c)

     static int run(uint32_t rank, uint64_t steps)
     {
         const statesampler_desc desc = {
             .num_samples = SAMPLES,
             .seed = 42,
             .rank = rank,
             .world_size = RANKS,
             .batch_size = BATCH,
             .tail = STATESAMPLER_TAIL_CARRY};
         uint64_t batch[BATCH], epochs[BATCH], first;
         size_t count, j;
         statesampler s;
         int code = statesampler_init(&s, &desc);

         while (code == STATESAMPLER_OK && statesampler_step(&s) < steps) {
             first = statesampler_position(&s) + rank;
             for (j = 0; j < BATCH; j++)
                 epochs[j] =
                     statesampler_epoch(&s) + (first + j * RANKS) / SAMPLES;
             statesampler_next(&s, batch, &count);
             for (j = 0; j < count; j += SLICE)
                 backward(batch + j, epochs + j);
         }
         return code;
     }

   With the tail CARRY a batch may run over the end of an epoch. Slot j of
   rank r holds the sample at `position + j * world_size + r`; divided by
   num_samples, that is how many epochs later than `epoch` the sample is.

   An order of your own. (examples/recipe_order.c)

     static int run(void)
     {
         const statesampler_desc desc = {
             .num_samples = SAMPLES,
             .seed = 42,
             .batch_size = 10,
             .order = STATESAMPLER_ORDER_SEQUENTIAL};
         statesampler_perm easy, hard;
         uint64_t batch[10];
         size_t count, i;
         statesampler s;
         int code = statesampler_init(&s, &desc);

         if (code == STATESAMPLER_OK)
             code = statesampler_perm_init(&easy, EASY, 42, 0, 1);
         if (code == STATESAMPLER_OK)
             code = statesampler_perm_init(&hard, SAMPLES - EASY, 42, 0, 2);
         while (code == STATESAMPLER_OK && statesampler_next(&s, batch, &count))
             for (i = 0; i < count; i++)
                 if (batch[i] < EASY)
                     train(statesampler_perm_at(&easy, batch[i]));
                 else
                     train(EASY + statesampler_perm_at(&hard, batch[i] - EASY));
         return code;
     }

   The order SEQUENTIAL hands out positions; what you make of a position is
   your order, with ranks, epochs and states as ever. For weighted samples, let
   num_samples be the sum of the weights, and look up to whom an index belongs
   (examples/recipe_weights.c).

   The dataset has grown. (examples/recipe_changed.c)

     static int run(const void *state, size_t size, uint64_t num_samples)
     {
         statesampler_desc desc;
         statesampler s;
         int code = statesampler_describe(state, size, &desc, NULL);

         if (code == STATESAMPLER_OK)
             code = statesampler_init(&s, &desc);
         if (code == STATESAMPLER_OK)
             code = statesampler_load(&s, state, size);
         if (code == STATESAMPLER_OK) {
             train(&s, STATESAMPLER_NONE);
             desc.num_samples = num_samples;
             desc.epoch++;
             code = statesampler_init(&s, &desc);
         }
         if (code == STATESAMPLER_OK)
             train(&s, STATESAMPLER_NONE);
         return code;
     }

   The rest of the epoch is that of the old dataset (train takes as many steps
   as it is told, or with STATESAMPLER_NONE all that are left), and the next
   one has the new samples too. A description may also have a `stream` that
   tells datasets apart: a number, or a hash of the files' names and sizes. The
   state of another dataset of the same length is then refused.


FUNCTIONS

   Names stand here without statesampler_ (KIND: STATESAMPLER_). The comments
   at the declarations have the details and the errors.

   perm: a keyed bijection on [0, n)
   perm_init        makes one of n, seed, epoch and stream
   perm_at          index at a position
   perm_inverse     position of an index
   perm_fill        many at once, with a stride

   sampler: a rank's batches
   init             makes one of a description, at the start of an epoch
   next             the next batch
   at               the batch of any step, without moving
   seek             makes any step the next one
   begin            goes to the start of an epoch
   set_epoch        begin, unless it is in that epoch already
   reshape          goes on in another shape, or as another rank
   resize           goes on with another number of samples
   epoch, step      where it is
   num_steps        steps of this epoch
   position         positions served of this epoch, by all ranks
   get_counts       positions, padding, drops, steps, this rank's share
   padding          how many samples of a batch are repeats
   sample_seed      64 bits for what is random about a sample
   locate           step, rank and slot of a sample
   save, load       112 bytes
   describe         what a state holds

   mix: samplers that take turns
   mix_init         makes one of an array of sources
   mix_next, mix_at, mix_seek       as for a sampler, in turns
   mix_weigh        goes on with other weights
   mix_reshape      goes on with another number of ranks, or as another rank
   mix_turn, mix_num_turns, mix_epoch
   mix_offset       samples of the sources before one
   mix_locate       turn and place of a sample
   mix_state_bytes, mix_save, mix_load, mix_describe

   audit: proof in 32 bytes that an epoch was served exactly once
   audit_add, audit_merge, audit_check

   error            a code in words
   KIND             the kind of a code

   hosted: with a C library (STATESAMPLER_HOSTED)
   from_env         rank and world size from the launcher's variables
   save_file        a file that a crash leaves whole, old or new
   load_file        reads it

   stb_ds: a mix of datasets with names (STATESAMPLER_STB_DS)
   mixture_add, mixture_find, mixture_start, mixture_free
   mixture_state_bytes, mixture_save, mixture_load
   mixture_hash     by which a state knows a name


SHAPES, ORDERS, TAILS

   W = world_size, B = batch_size (samples per rank and step), G = W * B. The
   pair (W, B) is the shape.

   Step t of an epoch is the positions tG .. (t+1)G - 1, the last step those
   that are left, and rank r's slot j in it is position tG + jW + r. When
   another shape goes on at position c, the same holds from there: its steps
   are c + uG' .. c + (u+1)G' - 1. So an epoch can be served by 8 ranks, then
   3, then 5, and as long as G stays, every full global batch holds the same
   samples whatever W is, but with BLOCKED. The position and step at which the
   present shape began is the base: 0 in a fresh epoch, kept by a load in the
   saving run's shape, and the loaded position in any other. Steps count through
   all shapes. at, seek, padding and locate know the steps from the base on;
   begin goes back to position 0.

   Order: which sample stands at position p of an epoch.
   SHUFFLE      (default) what a permutation of the dataset has at p.
   SEQUENTIAL   p.
   WINDOW       for data read in chunks. Full chunks of chunk_size consecutive
                samples come in a permuted order, a short last one stays last.
                Every `window` chunks in that order form a window; the last
                window has those that are left. Positions inside a window are
                permuted. Reading positions in order keeps at most `window`
                chunks open. (BLOCKED: in each block by itself. Padding repeats
                the first positions, and so opens the first windows again.)
   REPLACEMENT  independent uniform draws. Has no locate.

   Partition: what positions count.
   INTERLEAVED  (default; torch's DistributedSampler) the whole dataset.
                D = num_samples.
   BLOCKED      (VISSL's stateful sampler) the dataset is cut into P blocks of
                neighbours, P = world_size of the run that began the epoch;
                the first num_samples mod P of them have one sample more.
                Position p is number p / P of block p mod P, and each block
                has an order of its own. While W = P, rank r reads block r
                only; after a change, positions still say who reads what.
                D = num_samples, with PAD rounded up and with DROP down to a
                multiple of P. (With DROP all blocks have num_samples / P
                samples, and the last num_samples mod P samples are in none.)

   Tail: where the epoch ends, for a shape with base c.
   PAD          (default; torch) at c + W * ceil(max(D - c, 0) / W). A
                position p >= num_samples is padding: it repeats position p
                mod num_samples; with BLOCKED the first of block p mod P,
                unless that block is empty.
   DROP         at c + W * floor(max(D - c, 0) / W).
   UNEVEN       at num_samples, for exact evaluation. Ranks differ by at most
                one sample. In the last step a rank may have an empty batch.
   CARRY        nothing added, nothing dropped, ranks equal, for pre-training:
                the rest of an epoch opens the next one, inside the same batch
                if need be, and next never ends. Steps count from the run's
                start; epoch and position are those of the next sample. Once
                next is 2^62 positions or more past the base, the base moves
                to where it is.
   With every tail all ranks take the same number of steps.

   drop_last    (torch's BatchSampler; DistributedSampler's drop_last is the
                tail DROP) the last step is left out on all ranks unless all
                its positions exist, padding included. A state may be loaded
                with another drop_last.

   Epochs advance by themselves: next returns 0 once at the end and has then
   already moved to step 0 of the next epoch, in a new order. A state saved
   before that 0 holds the end of this epoch, after it the start of the next;
   either goes on with exactly what would have come. Epochs count modulo 2^64.

   init returns EINVAL, with a code for each rule, for:
   - num_samples > 2^62, rank >= world_size, world_size * batch_size >= 2^62;
   - an order, partition or tail that is not one of the above, drop_last
     other than 0 or 1;
   - WINDOW with chunk_size or window 0, or chunk_size * window >= 2^62 (the
     other orders ignore both);
   - CARRY with no samples, with BLOCKED or with drop_last;
   - batch_size > (size_t)-1, where that has 16 bits.
   Otherwise a dataset may be empty: its epochs have no steps. W may be larger
   than num_samples.


MIXES

   A mix takes turns among datasets, its sources. Each has a sampler of its
   own, with its own length, order, tail, epochs and batch_size; all have the
   same rank and world_size. A turn is the next step of one source, so that a
   batch holds samples of one dataset only. All ranks take the same turns. n_i
   is the number of steps of source i. Sources without steps (n_i = 0), and
   those of the weight STATESAMPLER_OFF, take no turns; below, D is the number
   of the others, and i numbers them from 0.

   Whose turn it is follows from one endless sequence. With equal weights it is
   0, 1, ..., D - 1, 0, ... With other weights each source has exactly `weight`
   turns in every period of as many turns as the weights sum to. In between it
   is never farther from its share than log2(D) / 2 turns, with log2(D) rounded
   up: two turns for D = 16, five for D = 1,000.

   stop: what becomes of a source that has nothing left when its turn comes,
   and when an epoch of the mix ends. With equal weights, in turns:
   FIRST        (default) it ends the epoch: min(n_i * D + i).
   ALL          it is passed over, and the rest keep their turns of the
                sequence, until nothing is left: sum(n_i). (From then on the
                sources that are left may be farther from their shares.)
   RESTART      it begins its next epoch; the epoch of the mix ends when the
                last source has finished its first: max(n_i * D + i).
   NEVER        it begins its next epoch, for ever.
   Three sources of 3, 4 and 5 steps make 9, 12, 17 turns and no end.

   The next epoch of the mix begins by itself, with the sequence from its
   start. Each source that has served steps in the one that it is in begins its
   next epoch. Any turn is computed directly, without those before it.

   The weights may change at any turn (mix_weigh): the sources go on where they
   are, and the sequence begins anew with the new weights. A source that is off
   keeps its place; when it is weighed again it goes on there. A schedule is a
   table of turns and weights, and one call before each turn, on all ranks
   before they save or on all after it. Let a stage be as long as several of
   its periods: what begins anew begins with the same sources, so that with
   other weights before every turn one source would take them all. at and seek
   know the present weights only: who looks farther than the turn of a change
   seeks that turn, weighs, and goes on from there (examples/blend.c).

   A mix is elastic as a sampler is. After loading a state in another shape,
   or with another drop_last, every source goes on where it was and turns go on
   counting; at, seek and locate then reach back to that load, the mix's base.
   (It moves up to the present when 2^62 positions of a source with CARRY lie
   behind.) The sequence goes on too, unless the new shape gives steps to other
   sources than the old one: then it begins anew.

   The number of a sample among those of all sources, as ConcatDataset counts,
   is statesampler_mix_offset of its source plus its index.

   mix_init returns EINVAL, with a code for each rule, for:
   - no sources, or a stop that is not one of the above;
   - samplers that differ in rank or world_size;
   - all weights STATESAMPLER_OFF, or the others summing to 2^31 or more;
   - num_samples that sum to 2^62 or more;
   - stop RESTART or ALL, if for some source the steps of a whole epoch /
     weight are 2^62 / (sum of the weights) or more, both rounded down: the
     sequence would be too long;
   - a sampler with CARRY, unless stop is NEVER;
   - stop NEVER, if no source has steps.
   With FIRST, ALL and RESTART a mix without steps is a valid, empty epoch.

   A sampler in a mix is moved by the mix alone; what it says of itself may be
   asked at any time. To prefetch, use mix_at, or a second mix that the first
   one's state is loaded into.


GUARANTEES

   - Every sample is served exactly once in an epoch, over all ranks, whatever
     the saves, loads, kills and changes of world size and batch size in it,
     but for what your tail rule and drop_last add or leave out. (With the
     order REPLACEMENT, every position.)
   - The order is a function of the description (without rank, batch_size and
     drop_last; and without world_size unless BLOCKED), the epoch and the
     algorithm number. It is the same on every compiler, flag, word size and
     byte order, and an algorithm number never changes its output.
   - A state is STATESAMPLER_STATE_BYTES bytes, the same bytes on every
     machine and on every rank.
   - Bad input gets a named error and leaves the object as it was.
   - Constant time and memory: no call takes longer for more samples, a later
     position or another epoch, except for a few rounds of arithmetic and, with
     few samples, a few more steps of a walk. (A mix's time grows with its
     sources, not with turns.) A sampler is at most 512 bytes. The stack stays
     below 1 KiB on Cortex-M, RV32 and AVR, below 4 KiB on other processors
     (s390x: 6 KiB), and below 10 KiB in the hosted part (Windows: 40 KiB).
   - Functions with a const sampler or mix may be called from any number of
     threads at once. A sampler holds no pointers and may be copied with `=`.

   It is not cryptographic: seeds are not secrets, and indices prove nothing.
   It is not a loader: it says which samples, you read them.


OPTIONS

   In the one file with the implementation, before the include:
   STATESAMPLER_IMPLEMENTATION  makes the implementation.
   STATESAMPLER_ASSERT(x)       checks what only a programmer gets wrong (a
                                null pointer, a sampler never initialised).
                                Nothing unless you define it.

   Wherever you include this file, the same everywhere:
   STATESAMPLER_STATIC          makes every function static: each file that
                                defines it has a copy of its own, and must
                                define STATESAMPLER_IMPLEMENTATION too.
   STATESAMPLER_API             stands before every public declaration: an
                                export attribute, say. In CUDA and HIP define
                                it as __host__ __device__, together with
                                STATESAMPLER_STATIC; there it stands before
                                private functions too.
   STATESAMPLER_HOSTED          adds the hosted part, which needs a C library
                                and POSIX or Windows; where file sizes have 32
                                bits, -D_FILE_OFFSET_BITS=64, too: larger files
                                and file systems are errors without it.
   STATESAMPLER_STB_DS          adds the stb_ds part. Include stb_ds.h before
                                this file, with its implementation in one file
                                of the program.

   None of them changes a struct or an order.

   For a small core compile with -Os -ffunction-sections and link with
   --gc-sections: -O3 makes several times the code, and it is hardly faster.
   Microsoft's compiler itself has not been tried, but clang for its targets.


CHANGES

   0.4.0  mix_weigh and STATESAMPLER_OFF: other weights at any turn. reshape and
          mix_reshape: another shape without a state. resize. sample_seed. The
          sources of a mix have batch sizes of their own. mix_load takes over
          the weights of the state, and so does mixture_load where the
          datasets are the same: EMISMATCH_WEIGHT and EINVAL_SOURCE_BATCH_SIZE
          are gone. init refuses a batch that a size_t of 16 bits cannot count:
          EINVAL_BATCH_SIZE. Windows: paths are UTF-8 and may be long, and
          save_file and load_file wait up to a second for whoever has the file.
          from_env: of Slurm's processes those that srun has started; a batch
          script of four tasks is one process, and was rank 0 of four.
          STATESAMPLER_HOSTED without POSIX or Windows is an #error. save_file
          says EIO_FLUSH where a disk cannot flush the folder.
   0.3.0  The interface is that of 1.0 to come. Orders and sampler states are
          those of 0.2.0.
          What a program of 0.2 must change:
          - Constants are named by their field: STATESAMPLER_SHUFFLE is
            STATESAMPLER_ORDER_SHUFFLE, _BLOCKED is _PARTITION_BLOCKED, _PAD
            is _TAIL_PAD, _FIRST is _STOP_FIRST, _NEW is _CHANGE_NEW, and so
            on.
          - next(s, out) and at(s, step, out) no longer return the number of
            samples: next(s, out, &count) returns 1 for a step and 0 at the
            end, at(s, step, out, &count) also an error. With UNEVEN a rank
            may have an empty batch in the last step, where next returned 0
            before; all ranks now take the same steps and save the same bytes.
          - save, mix_save and mixture_save take the size of the buffer and
            return ECAPACITY if it is too small.
          - set_epoch returns nothing. begin goes to the start of an epoch,
            also the present one.
          - Errors have a code for each rule. To ask for a kind, compare
            STATESAMPLER_KIND(code), not the code, with STATESAMPLER_EINVAL
            and its like. All their numbers are new.
          - mixture_load's last argument is STATESAMPLER_REFUSE_CHANGED or
            STATESAMPLER_RESTART_CHANGED.
          - padding returns a size_t. Fields of the structs have moved.
          New: describe and mix_describe. mix_load refuses turns that no run
          reaches. save_file and load_file refuse what is no regular file.
   0.2.0  Algorithm 1 is frozen: from here on its orders never change, and
          another order will be another algorithm number. It is not the
          algorithm of 0.1.0. Mixes, and mixtures of named datasets.
   0.1.0  First version: perm, order, sampler, audit, hosted.


ERRORS

   A function that returns an int returns a negative code when something is
   wrong, and then it has changed nothing. Compare STATESAMPLER_KIND(code) with
   a kind, STATESAMPLER_EINVAL (-100) and so on; print statesampler_error(code),
   one of these sentences. A number keeps its meaning for ever.

   -100  a description or argument is impossible
   -101  num_samples is above 2^62
   -102  rank is not below world_size
   -103  world_size * batch_size is 2^62 or more
   -104  order is none of STATESAMPLER_ORDER_...
   -105  partition is none of ..._PARTITION_...
   -106  tail is none of STATESAMPLER_TAIL_...
   -107  drop_last is neither 0 nor 1
   -108  the order WINDOW needs a chunk_size
   -109  the order WINDOW needs a window
   -110  chunk_size * window is 2^62 or more
   -111  the tail CARRY needs samples
   -112  CARRY needs the partition INTERLEAVED
   -113  CARRY has no last step to drop
   -114  batch_size does not fit a size_t
   -120  a mix needs at least one source
   -121  stop is none of STATESAMPLER_STOP_...
   -122  the sources differ in rank
   -123  the sources differ in world_size
   -124  all sources are off
   -125  the sources have 2^62 samples or more
   -126  a source with CARRY needs stop NEVER
   -127  the weights sum to 2^31 or more
   -128  too many steps for its weight
   -129  stop NEVER needs a source with steps
   -130  the dataset's name is empty
   -131  there is a dataset of this name
   -140  REPLACEMENT gives samples no place
   -141  the path is empty or too long
   -142  resize needs SEQUENTIAL, INTERLEAVED
   -200  there is no such step, or it does not serve the sample
   -201  it is before the present shape began
   -202  it is past the end of the epoch
   -203  it is too far from the base
   -204  index is not below num_samples
   -205  this epoch does not serve the sample
   -206  an earlier shape served the sample
   -207  the mix has no source of this number
   -208  no dataset has this name
   -209  the source is off
   -210  more samples than that are served
   -300  the state is damaged
   -301  the state is too short or too long
   -302  this is not a state of this kind
   -303  the state's bytes have changed
   -304  init refuses the state's description
   -305  a reserved field of the state is not 0
   -306  the state's blocks are impossible
   -307  the state's base is impossible
   -308  the state's position is impossible
   -309  the mix's state has no sources
   -310  the state's stop rule does not exist
   -311  the state's sources differ in shape
   -312  the state's turn is impossible
   -313  the place in the sequence is impossible
   -314  the state has a name twice
   -315  the state's weights are impossible
   -400  the state is of a newer format or another algorithm
   -401  the state's format is newer or older
   -402  the state is of another algorithm
   -500  the state belongs to another dataset, seed, order or mix
   -501  the state has another num_samples
   -502  the state has another seed
   -503  the state has another stream
   -504  the state has another order
   -505  the state has another chunk_size
   -506  the state has another window
   -507  the state has another partition
   -508  the state has another tail
   -509  the state has more or fewer sources
   -510  the state has another stop rule
   -511  a dataset of this name has changed
   -600  the launcher's environment variables are incomplete or wrong
   -601  rank or world size is not set
   -602  rank or world size is no 32-bit number
   -603  rank is not below the world size
   -700  the file could not be read or written; errno says why
   -701  no permission
   -702  no space is left
   -703  the file system is read-only
   -704  the folder of the file does not exist
   -705  the path names a folder
   -706  the path names a device
   -707  the system does not allow this path
   -708  too many files are open
   -709  the file is in use
   -710  the file changed while it was read
   -711  the folder could not be flushed
   -800  there is no such file
   -900  the buffer is too small


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

   Fields marked * must match the loading sampler's. What is wrong is told in
   this order: magic, version (another format may have another length), size,
   check word, algorithm, every field's range, the match. (Less than 8 bytes
   are too few for a magic.)

   A mix's state is 56 bytes and 88 for each source. It records the base and
   the turn, from which all else follows. Its sources are looked at one after
   the other, the ranges and then the match of each.

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
   0 .. 3    weight               2^32 - 1 if it is off
   4         bit 0: it had begun anew before the base; bit 1: drop_last of
             the run that saved
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
   - round t = 0, 2, ...: l = (l - F(r, a)) mod a; t = 1, 3, ...:
     r = (r - F(l, b)) mod b. With s = m - floor(t / 2) * floor(m / 1024),
     F(h, m): x = h xor add; y = (x * mul) >> w; z = (x * y) mod 2^w;
     (z * s) >> w.
   - the result is l * b + r; while it is n or more, all rounds are applied
     to it again. The inverse adds instead, last round first, and walks in
     the same way.
   The smallest even number of rounds that no test of tests/quality told from
   a Fisher-Yates shuffle, at any n it tried, is at most 18, 8 and 6 in these
   three ranges; a third is added, and the sum rounded up to even.

   Orders over n samples with key k; k = K or, if BLOCKED, each block has
   k = derive(K, 2^63 + block); n is the number of the block's samples, and p
   a number in the block. Blocks, windows, chunks and numbers count from 0.
   SHUFFLE      perm(n, k).
   WINDOW       chunks by perm(number of full chunks, k); the m positions of
                window w by perm(m, derive(k, 2^63 + 2^62 + w)), where value q
                is sample q mod chunk_size of the window's chunk
                q div chunk_size.
   REPLACEMENT  position p: S = derive(k, 2^62 + p); the first of
                scramble(S + j * GOLDEN), j = 1, 2, ..., that is below n once
                ANDed with the smallest 2^e - 1 that is n - 1 or more.

   The seed of a sample is derive(derive(K, 2^63 + 2^61), index), with the K of
   the epoch.
*/

#ifndef STATESAMPLER_H
#define STATESAMPLER_H

#include <stddef.h>
#include <stdint.h>

#define STATESAMPLER_VERSION "0.4.0"
#define STATESAMPLER_ALGORITHM 1

#define STATESAMPLER_MAX_SAMPLES ((uint64_t)1 << 62)
#define STATESAMPLER_NONE (~(uint64_t)0)
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

/* Functions that return int return a negative code when something is wrong.
   STATESAMPLER_KIND(code) is its kind, to compare with those below;
   statesampler_error(code) says in a sentence which rule was broken. */
#define STATESAMPLER_OK 0
#define STATESAMPLER_EINVAL (-100)    /* impossible description or argument */
#define STATESAMPLER_ERANGE (-200)    /* no such step or turn; a sample that
                                         is not served */
#define STATESAMPLER_ECORRUPT (-300)  /* a state that no run has saved */
#define STATESAMPLER_EVERSION (-400)  /* newer format or another algorithm */
#define STATESAMPLER_EMISMATCH (-500) /* a state of another run */
#define STATESAMPLER_EENV (-600)      /* half-set or malformed variables */
#define STATESAMPLER_EIO (-700)       /* a file cannot be read or written */
#define STATESAMPLER_ENOFILE (-800)   /* there is no such file */
#define STATESAMPLER_ECAPACITY (-900) /* the buffer is too small */
#define STATESAMPLER_KIND(code) ((code) / 100 * 100)

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
    uint64_t seed;        /* the same on every rank */
    uint64_t epoch;       /* first epoch */
    uint64_t stream;      /* tells datasets with the same seed apart: a number,
                             or a hash of the files' names and sizes, so that
                             the state of another dataset is refused */
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
typedef struct ssmp_spot {
    uint64_t epoch, position, step;
} ssmp_spot;

/* What one shape serves of an epoch: from its base on. Private. */
typedef struct ssmp_leg {
    ssmp_spot base;
    uint64_t end;    /* a position; CARRY: num_samples */
    uint32_t blocks; /* BLOCKED: P of the manual; INTERLEAVED: 1 */
} ssmp_leg;

/* What a state records. Private. A field is set by init, given back by
   run_describe, and read from states by run_decode (for samplers and the
   sources of mixes) or by run_read (for samplers; source_decode then sets it
   too). What must be the same to load is compared by run_match; what is taken
   over, by sampler_follow. */
typedef struct ssmp_run {
    uint64_t num_samples, seed, stream, chunk_size, window;
    uint32_t order, partition, tail;
    uint32_t world_size, batch_size;
    ssmp_spot now;
    ssmp_leg leg;
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

/* In the caller's memory; all fields are private. May be copied. */
typedef struct statesampler {
    ssmp_run run;
    uint64_t global_batch; /* world_size * batch_size */
    uint32_t rank, drop_last;
    ssmp_order ready;
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
    uint64_t steps;        /* of all shapes */
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
   2^62 positions after the base, and at most step 2^63 - 1; else ERANGE_BASE,
   ERANGE_END or ERANGE_FAR, and nothing is changed. VISSL's start_iter. */
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

/* Steps of this epoch, those done included; with CARRY STATESAMPLER_NONE. */
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

/* 64 mixed bits, a function of seed, stream, epoch and index alone: for what is
   random about a sample (a crop, a mask, noise), the same on any worker, rank
   and machine, in any shape and after any resume. Any epoch and index will do;
   STATESAMPLER_NONE, the index of no sample, gives a seed of the epoch's own.
   With CARRY a batch may run into the next epoch: see the recipe for
   pre-training. */
STATESAMPLER_DEF uint64_t statesampler_sample_seed(const statesampler *s,
                                                   uint64_t epoch,
                                                   uint64_t index);

/* Goes on in another shape, where it is: as init with this rank, world_size and
   batch_size and a load of its own state would, so with the present as base.
   In the same shape it only becomes the sampler of another rank, base and all:
   a copy, reshaped, tells by `at` what that rank has in any step. 0 means 1 as
   in a description. EINVAL_RANK, EINVAL_GLOBAL_BATCH, EINVAL_BATCH_SIZE:
   nothing is changed. */
STATESAMPLER_DEF int statesampler_reshape(statesampler *s, uint32_t rank,
                                          uint32_t world_size,
                                          uint32_t batch_size);

/* From here on this epoch and those to come have num_samples positions, and the
   present is the base; with as many as now, nothing changes. For orders of
   your own: the order must be SEQUENTIAL and the partition INTERLEAVED, else
   EINVAL_RESIZE. (Padding already served counts as positions.)
   EINVAL_NUM_SAMPLES and EINVAL_CARRY_EMPTY as init; ERANGE_POSITION: fewer
   than the position it is at. Nothing is then changed. */
STATESAMPLER_DEF int statesampler_resize(statesampler *s,
                                         uint64_t num_samples);

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
#define STATESAMPLER_STOP_ALL 1     /* passed over, until all have finished */
#define STATESAMPLER_STOP_RESTART 2 /* begins anew, until all have finished */
#define STATESAMPLER_STOP_NEVER 3   /* it begins anew, for ever */

/* The weight of a source that takes no turns until it has another weight. */
#define STATESAMPLER_OFF ((uint32_t)-1)

/* One row of a mix's tables. A mix has no memory of its own, and so keeps row
   k in its source k, with which it has nothing else to do. Private. */
typedef struct ssmp_row {
    uint32_t source; /* who sits in seat k */
    uint32_t right;  /* weight of the right child that begins with seat k */
    uint32_t alive;  /* entry k of the list of seats with something left */
} ssmp_row;

/* One dataset of a mix. */
typedef struct statesampler_source {
    uint32_t weight;           /* 0 means 1; or STATESAMPLER_OFF */
    statesampler sampler;      /* initialised by you */
    ssmp_row row; /* This and all behind it is private. */
    uint32_t seat;             /* where this source sits, or NOBODY */
    uint32_t finished;         /* 1: it finished once before the base */
    uint32_t own_weight; /* these are its own, while others are tried */
    uint32_t own_batch_size, own_drop_last, own_finished;
    ssmp_leg base; /* its sampler's, at the mix's base */
    uint64_t base_turns;        /* turns of the sequence by then */
    uint64_t left;              /* steps that were left in its epoch */
} statesampler_source;

/* In the caller's memory; all fields are private. It points to its sources:
   do not copy it, and leave them where they are. */
typedef struct statesampler_mix {
    statesampler_source *sources;
    uint32_t num_sources, stop;
    uint32_t seats;  /* sources that take turns */
    uint32_t alive;  /* of these, those with something left */
    uint32_t weight; /* of all seats */
    uint64_t epoch, turn, point;
    uint64_t base_turn, base_point;
    uint64_t end;   /* turns of this epoch, or NONE */
    uint64_t reach; /* the last turn that seek takes, or NONE */
} statesampler_mix;

/* Makes a mix of num_sources sources in their array; their samplers go on
   from where they are. EINVAL for what the manual lists, and nothing is
   changed. */
STATESAMPLER_DEF int statesampler_mix_init(statesampler_mix *mix,
                                           statesampler_source *sources,
                                           uint32_t num_sources,
                                           uint32_t stop);

/* Takes the next turn: sets *source to the number of the source whose turn it
   is, writes this rank's batch of it to out, which holds the largest
   batch_size of the sources, and sets *count to its number of indices, which
   may be 0. out may be NULL, to move only, and then count and source may be,
   too.
   Returns 1; or, once at the end of an epoch, 0: the next epoch has then begun,
   *count is 0 and *source as it was. (At an empty epoch every time; with NEVER
   never.) All ranks get the same answers.
   Finding whose turn it is takes log2(D) steps; with ALL, if that source has
   finished, up to twice as many for each source that has not. */
STATESAMPLER_DEF int statesampler_mix_next(statesampler_mix *mix,
                                           uint64_t *out, size_t *count,
                                           uint32_t *source);

/* Any turn of this epoch, without moving; out, *count and *source as in next.
   (With ALL, at and seek take up to 126 * D times as many steps as next.)
   Returns 1; 0 past the end; ERANGE_BASE before the base; ERANGE_FAR past turn
   2^62 or where a source with CARRY is more than 2^62 of its positions past
   the base. *count is then 0 and *source as it was. */
STATESAMPLER_DEF int statesampler_mix_at(const statesampler_mix *mix,
                                         uint64_t turn, uint64_t *out,
                                         size_t *count, uint32_t *source);

/* Makes `turn` the next one: the base's .. num_turns. ERANGE_BASE, ERANGE_END,
   ERANGE_FAR: mix_at does not reach it, and nothing is changed. */
STATESAMPLER_DEF int statesampler_mix_seek(statesampler_mix *mix,
                                           uint64_t turn);

/* From this turn on the weights are these, one for each source: sources go on
   where they are, turns go on counting, the sequence begins anew, and the
   present is the base. The weights that they have already change nothing, so
   that a loop may call this at every turn. A source that is off keeps its
   place, also while epochs of the mix pass. (Twice each weight is another set
   of weights.) Shares are exact from this turn on, a period at a time: a stage
   should be several periods long. EINVAL_ALL_OFF, EINVAL_WEIGHTS,
   EINVAL_SEQUENCE, EINVAL_NO_STEPS as mix_init: nothing is changed. */
STATESAMPLER_DEF int statesampler_mix_weigh(statesampler_mix *mix,
                                            const uint32_t *weights);

/* statesampler_reshape of all sources, each with its own batch_size: as
   mix_init with this rank and world_size and a load of its own state would.
   EINVAL_RANK, EINVAL_GLOBAL_BATCH, and EINVAL_SEQUENCE and EINVAL_NO_STEPS as
   mix_init: nothing is changed. */
STATESAMPLER_DEF int statesampler_mix_reshape(statesampler_mix *mix,
                                              uint32_t rank,
                                              uint32_t world_size);

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
   source that there is not or that is off, and for a turn that mix_at does not
   serve. *turn and *place are then unchanged. */
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
   same number of sources, stop rule and, source by source, what
   statesampler_load wants to be the same. The weights are then the state's: to
   go on with others, mix_weigh. ECORRUPT, EVERSION, EMISMATCH, and
   EINVAL_NO_STEPS or EINVAL_SEQUENCE where mix_init would refuse those weights
   in this shape: the mix and its sources are unchanged. */
STATESAMPLER_DEF int statesampler_mix_load(statesampler_mix *mix,
                                           const void *state, size_t size);

/* What a mix's state says of the mix and of one source. */
typedef struct statesampler_mix_place {
    uint64_t epoch, turn;
    uint32_t num_sources, stop;
    uint32_t weight; /* the source's, or STATESAMPLER_OFF */
} statesampler_mix_place;

/* Says what a mix's state holds, without a mix: sets *desc to the description
   of a source in the run that saved it, as rank 0, with its drop_last and its
   epoch at the mix's base, and *place to the rest. Either may be NULL. With
   these descriptions and weights mix_init makes a mix that mix_load loads the
   state into. ERANGE_SOURCE: there is no such source. ECORRUPT and EVERSION as
   far as one source tells. Nothing is then set. */
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

/* An error in words, a constant string, for any code. Codes of the hosted part
   have their own sentences where STATESAMPLER_HOSTED is defined. */
STATESAMPLER_DEF const char *statesampler_error(int code);

/* --- hosted --------------------------------------------------------------- */

#ifdef STATESAMPLER_HOSTED

/* Sets desc->rank and desc->world_size from the first of these pairs of which
   a variable is set, of Slurm's the second:
       "torchrun"  RANK, WORLD_SIZE
       "openmpi"   OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE
       "pmi"       PMI_RANK, PMI_SIZE
       "slurm"     SLURM_PROCID, SLURM_STEP_NUM_TASKS (srun's, not sbatch's)
   and *launcher, which may be NULL, to its name; with none set to rank 0 of 1
   and "none". These are global: with tensor, pipeline or context parallelism
   divide, so that rank and world_size are those of the data-parallel group.
   EENV_UNSET, EENV_NUMBER, EENV_RANK: one of the pair is not set, is not a
   decimal number of 32 bits, or rank >= world size; *launcher says whose and
   *desc is unchanged. */
STATESAMPLER_DEF_HOSTED int statesampler_from_env(statesampler_desc *desc,
                                                  const char **launcher);

/* Writes size bytes to a file. A reader finds the old file or the new one,
   whole, and so does everybody after a crash at any instant, however many
   processes, users and hosts save to path at once; one of them is the last.
   The bytes go to a new file .statesampler-HOST-PROCESS-NUMBER.tmp in the same
   folder, which is flushed to disk and renamed over path; then the folder is
   flushed. A crash may leave it behind: the next save in the folder removes
   those of processes of this host that are gone after ten minutes, and any
   other after an hour (Windows: each after ten minutes).
   A file at path is replaced if the folder allows it, whatever its own mode,
   and the new one has the mode of any new file; a symbolic link to a file or
   to none is replaced by the file; one that cannot be followed is refused as
   its target would be. Windows: path is UTF-8, of any length that is allowed
   here; while another program has the file at path open, or the new one, a save
   tries for a second. After an error, but EIO_FLUSH, what was at path is as it
   was and nothing is left behind but what somebody keeps from being removed,
   until a later save removes it:
       EINVAL_PATH      path is empty or longer than 4,095 bytes
       EIO_PERMISSION   the folder may not be written to; Windows: or the file
                        at path is read-only
       EIO_SPACE        the disk or a quota is full, or (in a process that
                        ignores SIGXFSZ) the file is above a limit on sizes
       EIO_READ_ONLY    the file system is read-only
       EIO_NO_FOLDER    the folder of path does not exist
       EIO_IS_FOLDER    path is a folder, or ends with a slash
       EIO_NOT_REGULAR  path is a device, a pipe or a socket
       EIO_NAME         the system does not allow path, or not a name of 44
                        bytes beside it
       EIO_OPEN_FILES   the process or the system has too many files open
       EIO_BUSY         a file system is mounted at path; Windows: another
                        program has had it, or the new file, open for a second,
                        or it may not be replaced; or 100 attempts were
                        disturbed
       EIO_FLUSH        the new file is at path, but the disk could not flush
                        the folder: a power cut may bring the old one back
       EIO              any other reason */
STATESAMPLER_DEF_HOSTED int statesampler_save_file(const char *path,
                                                   const void *bytes,
                                                   size_t size);

/* Reads a whole file of at most capacity bytes and sets *size. ECAPACITY: it
   is larger, *size says how large, and bytes hold its beginning; so capacity
   0 asks for the size. ENOFILE: there is no such file. With this and all other
   errors, which are those of save_file and EIO_CHANGED, where somebody made
   the file longer or shorter meanwhile, *size is unchanged, and bytes may hold
   a part. Windows: while the file may not be read, because a save is just
   replacing it or for good, it tries for a second: EIO_PERMISSION. */
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

/* Which dataset has a name of this hash. Private. */
typedef struct statesampler_number {
    unsigned char key[16];
    uint32_t value;
} statesampler_number;

/* What mixture_load found of a dataset, and did with it. */
#define STATESAMPLER_CHANGE_MATCHED 0 /* it goes on where it was */
#define STATESAMPLER_CHANGE_NEW 1     /* not in the state: begins its epoch */
#define STATESAMPLER_CHANGE_REMOVED 2 /* in the state only */
#define STATESAMPLER_CHANGE_CHANGED 3 /* of this name, but of another length,
                                         seed, stream, order (with chunk_size
                                         and window), partition or tail */
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
    statesampler_number *numbers;   /* a map */
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
   hash), what statesampler_init says, or another rank or world_size than the
   first dataset's; nothing is changed. */
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
   removed or put in another order: then turns go on counting, and the sequence
   begins anew with the weights of this mixture. Otherwise it goes on with the
   weights of the state; for others there is mix_weigh. A dataset that has
   CHANGED gives EMISMATCH_DATASET, unless `changed` is
   STATESAMPLER_RESTART_CHANGED. Of each dataset here and, after them, of each
   that is no longer here, mixture.changes then says which it was, also after
   an EMISMATCH (of the stop rule, too); it is empty after other errors.
   ECORRUPT, EVERSION, EMISMATCH, and EINVAL_NO_STEPS or EINVAL_SEQUENCE where
   mix_init would refuse the state's weights in this shape: no dataset has
   moved. */
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
#define SSMP_FN static inline STATESAMPLER_API
#else
#define SSMP_FN static inline
#endif

/* For functions that need much of the stack, so that it is not taken from
   callers on other ways. */
#if defined(__CUDACC__) || defined(__HIPCC__)
#define SSMP_NOINLINE SSMP_FN
#elif defined(__GNUC__)
#define SSMP_NOINLINE static __attribute__((noinline, unused))
#elif defined(_MSC_VER)
#define SSMP_NOINLINE static __declspec(noinline)
#else
#define SSMP_NOINLINE SSMP_FN
#endif

/* For functions that many others call: where size counts, one copy serves
   them all. */
#if defined(__OPTIMIZE_SIZE__) && defined(__GNUC__)
#define SSMP_OUTLINE_FOR_SIZE SSMP_NOINLINE
#else
#define SSMP_OUTLINE_FOR_SIZE SSMP_FN
#endif

/* C++98 has no 64-bit literals, and the macros of C's stdint.h, UINT64_C and
   UINT64_MAX, are not always there in it. */
#define SSMP_U64(high, low) ((uint64_t)(high) << 32 | (low))
#define SSMP_MAX32 0xffffffffu

/* Whether a register has 64 bits, which the width of an address does not say:
   WebAssembly and x32 have such registers, and addresses of 32 bits. */
#if defined(__LP64__) || defined(_LP64) || defined(_WIN64) || \
    defined(__wasm__) || defined(__x86_64__) || defined(__aarch64__)
#define SSMP_REGISTERS64
#endif

/* 2^64 divided by the golden ratio: the increment of SplitMix64. */
#define SSMP_GOLDEN SSMP_U64(0x9e3779b9u, 0x7f4a7c15u)

/* The five things a key is derived for. Sizes, positions and windows are below
   2^62 and blocks below 2^32, so that the top three bits tell them apart. */
#define SSMP_DRAW ((uint64_t)1 << 62)
#define SSMP_BLOCK ((uint64_t)2 << 62)
#define SSMP_WINDOW ((uint64_t)3 << 62)
#define SSMP_SEED ((uint64_t)5 << 61)

/* The words that the rest uses:
   position  a number in the order of an epoch, over all ranks
   step      what all ranks serve together; slot: one of a rank's samples in it
   spot      epoch, position and step: how far a run is
   shape     world_size and batch_size
   leg       what one shape serves of an epoch: from its base to its end
   run       what a state records: a description, its leg, and the spot now
   turn      a step of a mix, which is the next step of one of its sources
   point     a number of turns of a mix's endless sequence, those that are
             passed over included
   seat      the number of a source among those that take turns
   window    chunks whose samples are shuffled together; slot of a window: the
             place of a chunk in it
   view      what is read of a sampler: a leg, and an order `ready` for the
             block of the last step, or a `spare` one for others
   The layers, from below: base, perm, bulk, order, run and leg, sampler, state,
   mix, audit, error, hosted, mixture. A private name begins with what it is
   about.

   Where a new thing goes, besides the manual and examples/torch, which has
   constants of its own:
   a tail rule   a number STATESAMPLER_TAIL_...; desc_check, which knows the
                 last number; run_pads, run_whole and run_repeated, what the
                 rule means; order_bounds and sampler_position_of, if samples
                 are left out; tests/reference.py and examples/indices.c
   an order      a number STATESAMPLER_ORDER_...; desc_check; order_set,
                 order_fill, order_inverse; the same two files
   a field of a description or of a state
                 the comment at ssmp_run says where
   an error      a number, and its sentence in the error_... of its kind
   an instruction set
                 a line of the list and a table, both in bulk */

/* --- errors -----------------------------------------------------------------
   A kind has a sentence of its own, and so has each rule: its code is the
   kind's less its number. Numbers never change their meaning, and the manual
   shows them all. */

#define SSMP_KINDS(X) \
    X(EINVAL, "a description or argument is impossible") \
    X(ERANGE, "there is no such step, or it does not serve the sample") \
    X(ECORRUPT, "the state is damaged") \
    X(EVERSION, "the state is of a newer format or another algorithm") \
    X(EMISMATCH, "the state belongs to another dataset, seed, order or mix") \
    X(EENV, "the launcher's environment variables are incomplete or wrong") \
    X(EIO, "the file could not be read or written; errno says why") \
    X(ENOFILE, "there is no such file") \
    X(ECAPACITY, "the buffer is too small")

#define SSMP_RULES(X) \
    X(EINVAL, NUM_SAMPLES, 1, "num_samples is above 2^62") \
    X(EINVAL, RANK, 2, "rank is not below world_size") \
    X(EINVAL, GLOBAL_BATCH, 3, "world_size * batch_size is 2^62 or more") \
    X(EINVAL, ORDER, 4, "order is none of STATESAMPLER_ORDER_...") \
    X(EINVAL, PARTITION, 5, "partition is none of ..._PARTITION_...") \
    X(EINVAL, TAIL, 6, "tail is none of STATESAMPLER_TAIL_...") \
    X(EINVAL, DROP_LAST, 7, "drop_last is neither 0 nor 1") \
    X(EINVAL, CHUNK_SIZE, 8, "the order WINDOW needs a chunk_size") \
    X(EINVAL, WINDOW, 9, "the order WINDOW needs a window") \
    X(EINVAL, CHUNKS, 10, "chunk_size * window is 2^62 or more") \
    X(EINVAL, CARRY_EMPTY, 11, "the tail CARRY needs samples") \
    X(EINVAL, CARRY_BLOCKED, 12, "CARRY needs the partition INTERLEAVED") \
    X(EINVAL, CARRY_DROP_LAST, 13, "CARRY has no last step to drop") \
    X(EINVAL, BATCH_SIZE, 14, "batch_size does not fit a size_t") \
    X(EINVAL, NO_SOURCES, 20, "a mix needs at least one source") \
    X(EINVAL, STOP, 21, "stop is none of STATESAMPLER_STOP_...") \
    X(EINVAL, SOURCE_RANK, 22, "the sources differ in rank") \
    X(EINVAL, SOURCE_WORLD_SIZE, 23, "the sources differ in world_size") \
    X(EINVAL, ALL_OFF, 24, "all sources are off") \
    X(EINVAL, SOURCE_SAMPLES, 25, "the sources have 2^62 samples or more") \
    X(EINVAL, SOURCE_CARRY, 26, "a source with CARRY needs stop NEVER") \
    X(EINVAL, WEIGHTS, 27, "the weights sum to 2^31 or more") \
    X(EINVAL, SEQUENCE, 28, "too many steps for its weight") \
    X(EINVAL, NO_STEPS, 29, "stop NEVER needs a source with steps") \
    X(EINVAL, NAME_EMPTY, 30, "the dataset's name is empty") \
    X(EINVAL, NAME_TAKEN, 31, "there is a dataset of this name") \
    X(EINVAL, REPLACEMENT, 40, "REPLACEMENT gives samples no place") \
    X(EINVAL, PATH, 41, "the path is empty or too long") \
    X(EINVAL, RESIZE, 42, "resize needs SEQUENTIAL, INTERLEAVED") \
    X(ERANGE, BASE, 1, "it is before the present shape began") \
    X(ERANGE, END, 2, "it is past the end of the epoch") \
    X(ERANGE, FAR, 3, "it is too far from the base") \
    X(ERANGE, INDEX, 4, "index is not below num_samples") \
    X(ERANGE, DROPPED, 5, "this epoch does not serve the sample") \
    X(ERANGE, SERVED, 6, "an earlier shape served the sample") \
    X(ERANGE, SOURCE, 7, "the mix has no source of this number") \
    X(ERANGE, NAME, 8, "no dataset has this name") \
    X(ERANGE, OFF, 9, "the source is off") \
    X(ERANGE, POSITION, 10, "more samples than that are served") \
    X(ECORRUPT, SIZE, 1, "the state is too short or too long") \
    X(ECORRUPT, MAGIC, 2, "this is not a state of this kind") \
    X(ECORRUPT, CHECK, 3, "the state's bytes have changed") \
    X(ECORRUPT, DESC, 4, "init refuses the state's description") \
    X(ECORRUPT, ZERO, 5, "a reserved field of the state is not 0") \
    X(ECORRUPT, BLOCKS, 6, "the state's blocks are impossible") \
    X(ECORRUPT, BASE, 7, "the state's base is impossible") \
    X(ECORRUPT, POSITION, 8, "the state's position is impossible") \
    X(ECORRUPT, SOURCES, 9, "the mix's state has no sources") \
    X(ECORRUPT, STOP, 10, "the state's stop rule does not exist") \
    X(ECORRUPT, SHAPES, 11, "the state's sources differ in shape") \
    X(ECORRUPT, TURN, 12, "the state's turn is impossible") \
    X(ECORRUPT, POINT, 13, "the place in the sequence is impossible") \
    X(ECORRUPT, NAMES, 14, "the state has a name twice") \
    X(ECORRUPT, WEIGHTS, 15, "the state's weights are impossible") \
    X(EVERSION, FORMAT, 1, "the state's format is newer or older") \
    X(EVERSION, ALGORITHM, 2, "the state is of another algorithm") \
    X(EMISMATCH, NUM_SAMPLES, 1, "the state has another num_samples") \
    X(EMISMATCH, SEED, 2, "the state has another seed") \
    X(EMISMATCH, STREAM, 3, "the state has another stream") \
    X(EMISMATCH, ORDER, 4, "the state has another order") \
    X(EMISMATCH, CHUNK_SIZE, 5, "the state has another chunk_size") \
    X(EMISMATCH, WINDOW, 6, "the state has another window") \
    X(EMISMATCH, PARTITION, 7, "the state has another partition") \
    X(EMISMATCH, TAIL, 8, "the state has another tail") \
    X(EMISMATCH, SOURCES, 9, "the state has more or fewer sources") \
    X(EMISMATCH, STOP, 10, "the state has another stop rule") \
    X(EMISMATCH, DATASET, 11, "a dataset of this name has changed") \
    X(EENV, UNSET, 1, "rank or world size is not set") \
    X(EENV, NUMBER, 2, "rank or world size is no 32-bit number") \
    X(EENV, RANK, 3, "rank is not below the world size") \
    X(EIO, PERMISSION, 1, "no permission") \
    X(EIO, SPACE, 2, "no space is left") \
    X(EIO, READ_ONLY, 3, "the file system is read-only") \
    X(EIO, NO_FOLDER, 4, "the folder of the file does not exist") \
    X(EIO, IS_FOLDER, 5, "the path names a folder") \
    X(EIO, NOT_REGULAR, 6, "the path names a device") \
    X(EIO, NAME, 7, "the system does not allow this path") \
    X(EIO, OPEN_FILES, 8, "too many files are open") \
    X(EIO, BUSY, 9, "the file is in use") \
    X(EIO, CHANGED, 10, "the file changed while it was read") \
    X(EIO, FLUSH, 11, "the folder could not be flushed")

#define SSMP_RULE_CODE(kind, name, number, sentence) \
    SSMP_##kind##_##name = STATESAMPLER_##kind - (number),
enum { SSMP_RULES(SSMP_RULE_CODE) SSMP_NO_RULE };

/* --- numbers ---------------------------------------------------------------- */

SSMP_OUTLINE_FOR_SIZE uint64_t ssmp_ceil_div(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

SSMP_OUTLINE_FOR_SIZE uint64_t ssmp_min(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* SplitMix64's finaliser (Steele, Lea and Flood 2014; the constants are
   Stafford's variant 13). A bijection. */
SSMP_FN uint64_t ssmp_scramble(uint64_t x)
{
    x = (x ^ (x >> 30)) * SSMP_U64(0xbf58476du, 0x1ce4e5b9u);
    x = (x ^ (x >> 27)) * SSMP_U64(0x94d049bbu, 0x133111ebu);
    return x ^ (x >> 31);
}

/* A bijection of each argument for a fixed other one, and not symmetric in
   them once chained: (seed 0, epoch 1) and (seed 1, epoch 0) part ways. */
SSMP_FN uint64_t ssmp_derive(uint64_t key, uint64_t value)
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

/* --- perm ------------------------------------------------------------------
   Both halves are at most 2^15 for n <= 2^30 and at most 2^31 for n <= 2^62,
   so that a sum of two values of one half fits the 16 or 32 bits of a lane. */

/* The smallest root with root * root >= n, for 1 <= n <= 2^62 (n = 0 gives
   1): bit by bit, keeping root * root < n. */
SSMP_FN uint32_t ssmp_sqrt_ceil(uint64_t n)
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
SSMP_FN void ssmp_perm_set_size(statesampler_perm *perm, uint64_t n)
{
    uint32_t root = ssmp_sqrt_ceil(n);
    perm->n = n;
    /* With both halves odd every round would be an even permutation. */
    perm->left = root + (root & 1);
    perm->right = (uint32_t)ssmp_ceil_div(n, perm->left);
    /* With a half of 2 a round mixes a single bit. */
    perm->right = perm->right < 3 ? 3 : perm->right;
    perm->wide = n > (uint32_t)1 << 30;
    /* A small domain mixes less in a round. */
    perm->rounds = n < (uint32_t)1 << 13 ? 24 : n < (uint32_t)1 << 24 ? 12 : 8;
}

/* Another key for the size that perm has. */
SSMP_FN void ssmp_perm_set_key(statesampler_perm *perm, uint64_t key)
{
    uint64_t state = ssmp_derive(key, perm->n);
    uint32_t words = perm->wide ? perm->rounds : perm->rounds / 2, i;
    perm->key = key;
    for (i = 0; i < words; i++) {
        uint64_t word;
        state += SSMP_GOLDEN;
        word = ssmp_scramble(state);
        perm->keys[2 * i] = (uint32_t)word;
        perm->keys[2 * i + 1] = (uint32_t)(word >> 32) | (uint32_t)1 << 31;
        if (!perm->wide) {
            perm->keys[2 * i] |= (uint32_t)1 << 31;
        }
    }
}

/* Makes perm unlike any: no dataset has so many samples. */
SSMP_FN void ssmp_perm_clear(statesampler_perm *perm)
{
    perm->n = ~(uint64_t)0;
    perm->key = 0;
    perm->left = perm->right = perm->rounds = perm->wide = 0;
}

/* Makes perm the permutation of [0, n) under another key, most often of as many
   as before. A permutation is a function of its size and key. */
SSMP_OUTLINE_FOR_SIZE void ssmp_perm_set(statesampler_perm *perm, uint64_t n,
                                         uint64_t key)
{
    if (perm->n != n) {
        ssmp_perm_set_size(perm, n);
    }
    ssmp_perm_set_key(perm, key);
}

/* The multiplier that maps a hash to the range of a half, in a pair of
   rounds. Multiply-high is uneven unless the multiplier divides 2^16 or 2^32;
   with the same one in every round, the same Fourier coefficient of the
   differences of a half would be left of it. */
SSMP_FN uint32_t ssmp_perm_span(uint32_t size, uint32_t pair)
{
    return size - pair * (size >> 10);
}

/* The keyed function of one half: a value below span. In the product of x
   with the high half of x times the key, each bit depends on all bits of x;
   multiply-high maps it to the range without a division. */
SSMP_FN uint32_t ssmp_perm_narrow(uint32_t half, uint32_t key, uint32_t span)
{
    uint32_t x = half ^ (key & 0xffffu);
#ifdef SSMP_REGISTERS64
    /* The same in the high half, which needs neither a mask nor a shift. */
    x *= (x * (key >> 16)) & 0xffff0000u;
    return (uint32_t)(((uint64_t)x * span) >> 32);
#else
    x *= (x * (key >> 16)) >> 16;
    return ((x & 0xffffu) * span) >> 16;
#endif
}

SSMP_FN uint32_t ssmp_perm_wide(uint32_t half, const uint32_t *key,
                                uint32_t span)
{
    uint32_t x = half ^ key[0];
    x *= (uint32_t)(((uint64_t)x * key[1]) >> 32);
    return (uint32_t)(((uint64_t)x * span) >> 32);
}

/* half - value modulo size. */
SSMP_FN uint32_t ssmp_sub_mod(uint32_t half, uint32_t value, uint32_t size)
{
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
    /* A negative difference has wrapped to the top: one instruction there. */
    return min(half - value, half - value + size);
#else
    return half < value ? half - value + size : half - value;
#endif
}

/* half + value modulo size. */
SSMP_FN uint32_t ssmp_add_mod(uint32_t half, uint32_t value, uint32_t size)
{
    return half + value < size ? half + value : half + value - size;
}

/* The left half of a position: by a 32-bit division where it does, which is
   several times cheaper. */
SSMP_OUTLINE_FOR_SIZE uint32_t ssmp_perm_quotient(const statesampler_perm *perm,
                                                  uint64_t position)
{
    return perm->wide ? (uint32_t)(position / perm->right)
                      : (uint32_t)position / perm->right;
}

/* The keyed function of a round. */
SSMP_FN uint32_t ssmp_perm_hash(const statesampler_perm *perm, uint32_t round,
                                uint32_t half, uint32_t size)
{
    uint32_t span = ssmp_perm_span(size, round / 2);
    return perm->wide ? ssmp_perm_wide(half, perm->keys + 2 * round, span)
                      : ssmp_perm_narrow(half, perm->keys[round], span);
}

/* All rounds on count pairs of halves, which wait for nothing of each
   other. */
SSMP_FN void ssmp_perm_network(uint32_t *l, uint32_t *r,
                               const statesampler_perm *perm, uint32_t count)
{
    const uint32_t left = perm->left, right = perm->right;
    uint32_t i, j;
    for (i = 0; i < perm->rounds; i += 2) {
        for (j = 0; j < count; j++) {
            l[j] =
                ssmp_sub_mod(l[j], ssmp_perm_hash(perm, i, r[j], left), left);
        }
        for (j = 0; j < count; j++) {
            r[j] = ssmp_sub_mod(r[j], ssmp_perm_hash(perm, i + 1, l[j], right),
                                right);
        }
    }
}

/* The index at position l * right + r: the network on [0, left * right), until
   the result is below n. The loop ends: the network is a bijection, so the
   walk from a position below n runs on a cycle that comes back to it. It runs
   left * right / n times on average: six at n = 1, and hardly more than once
   from n = 9 on, where left * right - n < left. */
SSMP_FN uint64_t ssmp_perm_walk(const statesampler_perm *perm, uint32_t l,
                                uint32_t r)
{
    uint64_t index;
    do {
        ssmp_perm_network(&l, &r, perm, 1);
        index = (uint64_t)l * perm->right + r;
    } while (index >= perm->n);
    return index;
}

STATESAMPLER_DEF int statesampler_perm_init(statesampler_perm *perm, uint64_t n,
                                            uint64_t seed, uint64_t epoch,
                                            uint64_t stream)
{
    statesampler_perm unused;
    const int refused = n > STATESAMPLER_MAX_SAMPLES;
    STATESAMPLER_ASSERT(perm);
    /* Where *perm may be unchanged, GCC warns once all is inlined, whatever
       the caller does about it; so what is refused is set up elsewhere. */
    perm = refused ? &unused : perm;
    ssmp_perm_set_size(perm, refused ? 0 : n);
    ssmp_perm_set_key(perm, ssmp_epoch_key(seed, epoch, stream));
    return refused ? SSMP_EINVAL_NUM_SAMPLES : STATESAMPLER_OK;
}

STATESAMPLER_DEF uint64_t statesampler_perm_at(const statesampler_perm *perm,
                                               uint64_t position)
{
    uint32_t l;
    STATESAMPLER_ASSERT(perm && position < perm->n);
    l = ssmp_perm_quotient(perm, position);
    return ssmp_perm_walk(perm, l,
                          (uint32_t)(position - (uint64_t)l * perm->right));
}

STATESAMPLER_DEF uint64_t
statesampler_perm_inverse(const statesampler_perm *perm, uint64_t index)
{
    uint32_t left, right, l, r, i, v;
    STATESAMPLER_ASSERT(perm && index < perm->n);
    left = perm->left;
    right = perm->right;
    l = ssmp_perm_quotient(perm, index);
    r = (uint32_t)(index - (uint64_t)l * right);
    /* The same cycle walked backwards, so the same bound. */
    do {
        for (i = perm->rounds; i != 0; i -= 2) {
            v = ssmp_perm_hash(perm, i - 1, l, right);
            r = ssmp_add_mod(r, v, right);
            v = ssmp_perm_hash(perm, i - 2, r, left);
            l = ssmp_add_mod(l, v, left);
        }
        index = (uint64_t)l * right + r;
    } while (index >= perm->n);
    return index;
}

/* --- perm, in bulk ---------------------------------------------------------
   The same network on a vector of pairs at once, and round by round on several
   vectors, as one alone would wait for its own multiplications.

   To add an instruction set, add a line to the list below, which chooses it,
   and a table of types, numbers and operations after the list. What follows
   the tables is written in these.

   v16     16-bit lanes, for n <= 2^30: the halves of LANES16 pairs
   v32     32-bit lanes, for n > 2^30: the halves of LANES32 pairs
   PARTS   so many of v16 (PARTS16) or of v32 (PARTS32) make a vector, which
           has half as many lanes in v32 as in v16
   VECTORS at most so many take turns: more are no faster, and all must fit the
           stack, as `make sizes` asks
   ASIDE   so many indices are put aside on the stack beside them
   FEW     up to so many indices are faster one by one
   SET     a number in all lanes: its low bits
   HIGH16  the upper half of a key in all lanes, or in the form in which hash16
           has its mul
   HALF    a half in all lanes, in the form in which lanes have halves: as it
           is, or with 2^15 added. In this form are the halves of all pairs;
           other operands are as they are
   ADD, SUB, XOR, OR
   REDUCE  a half of -size .. size - 1 modulo size
   CARRY   l, and 1 more where the half x is not negative
   ANY     not 0 if the highest bit of any lane is set
   bulk_hash(x, mul, span)
           what a round subtracts from a half, of x = other xor add: with y =
           the high half of x * mul and z = the low half of x * y, the high
           half of z * span
   bulk_ramp(out, first, stride)
           the positions of PARTS16 * LANES16 pairs, whatever n is: first,
           first + stride, ...
   bulk_split(&l, &r, positions, by)
           halves of a part's positions: l may be 1 too small, and r, which is
           position - l * right, is then below 2 * right
   bulk_join(out, l, r, right)
           a part's indices l * right + r, in the order in which split reads

   Freestanding builds have plain C, because the headers of intrinsics may
   include those of a C library. Device code and small cores have no table: in
   a GPU other threads run while one waits, and small cores do not wait. */

#if defined(__GNUC__) && !defined(__OPTIMIZE__) && !defined(__CUDACC__)
/* None: not optimised, each operation is a call with operands in memory. */
#elif defined(__CUDACC__) || defined(__HIPCC__)
#define SSMP_PAIRS 8
#elif defined(__AVX512BW__) && __STDC_HOSTED__
#define SSMP_X86 512
#elif defined(__AVX2__) && __STDC_HOSTED__
#define SSMP_X86 256
#elif __STDC_HOSTED__ && (defined(__SSE2__) || defined(_M_X64) || \
                          (defined(_M_IX86_FP) && _M_IX86_FP >= 2))
#define SSMP_X86 128
#elif __STDC_HOSTED__ && \
    (defined(_M_ARM64) || (defined(__ARM_NEON) && !defined(__ARM_BIG_ENDIAN)))
#define SSMP_NEON
#elif defined(__wasm_simd128__) && __STDC_HOSTED__
#define SSMP_WASM
#elif defined(SSMP_REGISTERS64) || defined(__i386__) || defined(_M_IX86) || \
    (defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'A')
#define SSMP_PLAIN
#endif

/* WebAssembly is fetched before it runs: where size counts, only perm_fill for
   n <= 2^30 is in bulk there, and its walks, which are few, are one by one. */
#if defined(SSMP_WASM) && defined(__OPTIMIZE_SIZE__)
#define SSMP_BULK_FEW
#endif

/* Division by right: (x * reciprocal) >> (32 + shift) is the quotient of a
   position x, or 1 too small. For n > 2^30, shift is the largest number with
   2^shift < right; otherwise it is 0. reciprocal is (2^(32 + shift) - 1) /
   right, rounded down: below 2^32, and 1 less than 2^(32 + shift) / right at
   most. So the product is x less than x / right * 2^(32 + shift) at most, and
   x < left * right <= 2^31 * right <= 2^(32 + shift). (For n <= 2^30, both are
   2^15 at most, and x < 2^32.) */
typedef struct ssmp_divisor {
    uint32_t right, reciprocal, shift;
} ssmp_divisor;

/* What is FLAT knows `wide`, whether n > 2^30, when it is compiled: parts of
   two functions of their own, else it would be asked again and again. What the
   innermost loop calls is FLAT where a build for size would not inline it. */
#if defined(_MSC_VER)
#define SSMP_ALWAYS_INLINE static __forceinline
#elif defined(__GNUC__) && defined(__OPTIMIZE__)
#define SSMP_ALWAYS_INLINE static inline __attribute__((always_inline))
#else
#define SSMP_ALWAYS_INLINE SSMP_FN
#endif

#ifdef SSMP_X86

#if SSMP_X86 == 512
#include <immintrin.h>
typedef __m512i ssmp_v16, ssmp_v32;
#define SSMP_MM(op) _mm512_##op
#define SSMP_SI(op) _mm512_##op##_si512
#define SSMP_SET64(x) _mm512_set1_epi64((int64_t)(x))
#define SSMP_ANY16(x) (_mm512_movepi16_mask(x) != 0)
#define SSMP_ANY32(x) (_mm512_cmplt_epi32_mask(x, _mm512_setzero_si512()) != 0)
#define SSMP_ODD(x) _mm512_shuffle_epi32(x, (_MM_PERM_ENUM)0xf5)
#define SSMP_HIGH32(even, odd) \
    _mm512_mask_shuffle_epi32(odd, 0x5555, even, (_MM_PERM_ENUM)0xf5)
#define SSMP_VECTORS 6
#define SSMP_ASIDE 32
#define SSMP_FEW 2
#elif SSMP_X86 == 256
#include <immintrin.h>
typedef __m256i ssmp_v16, ssmp_v32;
#define SSMP_MM(op) _mm256_##op
#define SSMP_SI(op) _mm256_##op##_si256
#define SSMP_SET64(x) _mm256_set1_epi64x((int64_t)(x))
#define SSMP_ANY16(x) (((uint32_t)_mm256_movemask_epi8(x) & 0xaaaaaaaau) != 0)
#define SSMP_ANY32(x) (((uint32_t)_mm256_movemask_epi8(x) & 0x88888888u) != 0)
#define SSMP_ODD(x) _mm256_shuffle_epi32(x, 0xf5)
#define SSMP_HIGH32(even, odd) \
    _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xaa)
#define SSMP_VECTORS 18
#define SSMP_ASIDE 64
#define SSMP_FEW 2
#else
#include <emmintrin.h>
typedef __m128i ssmp_v16, ssmp_v32;
#define SSMP_MM(op) _mm_##op
#define SSMP_SI(op) _mm_##op##_si128
#define SSMP_SET64(x) _mm_set1_epi64x((int64_t)(x))
#define SSMP_ANY16(x) ((_mm_movemask_epi8(x) & 0xaaaa) != 0)
#define SSMP_ANY32(x) ((_mm_movemask_epi8(x) & 0x8888) != 0)
#define SSMP_ODD(x) _mm_shuffle_epi32(x, 0xf5)
#define SSMP_HIGH32(even, odd)             \
    _mm_or_si128(_mm_srli_epi64(even, 32), \
                 _mm_and_si128(odd, SSMP_SET64(~(uint64_t)0 << 32)))
#define SSMP_VECTORS 24
#define SSMP_ASIDE 64
#define SSMP_FEW 3
#endif

#define SSMP_PARTS16 1
#define SSMP_PARTS32 1
#define SSMP_LANES16 (SSMP_X86 / 16)
#define SSMP_LANES32 (SSMP_X86 / 32)
#define SSMP_SET16(x) SSMP_MM(set1_epi16)((short)(x))
#define SSMP_HIGH16(x) SSMP_SET16((x) >> 16)
#define SSMP_SET32(x) SSMP_MM(set1_epi32)((int)(x))
#define SSMP_ADD16 SSMP_MM(add_epi16)
#define SSMP_ADD32 SSMP_MM(add_epi32)
#define SSMP_SUB16 SSMP_MM(sub_epi16)
#define SSMP_SUB32 SSMP_MM(sub_epi32)
#define SSMP_XOR16 SSMP_SI(xor)
#define SSMP_XOR32 SSMP_SI(xor)
#define SSMP_OR16 SSMP_SI(or)
#define SSMP_OR32 SSMP_SI(or)
/* The minimum of 16-bit lanes is of signed ones, as SSE2 has no other, so that
   the least of them stands for 0. */
#define SSMP_HALF16(x) SSMP_SET16((x) ^ 0x8000u)
#define SSMP_HALF32(x) SSMP_SET32(x)
#define SSMP_REDUCE16(x, size) SSMP_MM(min_epi16)(x, SSMP_ADD16(x, size))
#if SSMP_X86 == 128
#define SSMP_REDUCE32(x, size) \
    _mm_add_epi32(x, _mm_and_si128(size, _mm_srai_epi32(x, 31)))
#else
#define SSMP_REDUCE32(x, size) SSMP_MM(min_epu32)(x, SSMP_ADD32(x, size))
#endif
#define SSMP_CARRY16(x, l) SSMP_ADD16(l, SSMP_MM(srli_epi16)(x, 15))
#define SSMP_CARRY32(x, l) \
    SSMP_ADD32(SSMP_ADD32(l, SSMP_SET32(1)), SSMP_MM(srai_epi32)(x, 31))

#define SSMP_LOAD(from) SSMP_SI(loadu)((const ssmp_v32 *)(from))
#define SSMP_STORE(to, x) SSMP_SI(storeu)((ssmp_v32 *)(to), x)
/* On 64-bit lanes, the last of them with the low halves alone. */
#define SSMP_ADD64 SSMP_MM(add_epi64)
#define SSMP_UP(x) SSMP_MM(slli_epi64)(x, 32)
#define SSMP_DOWN(x) SSMP_MM(srli_epi64)(x, 32)
#define SSMP_MUL64 SSMP_MM(mul_epu32)

SSMP_FN ssmp_v16 ssmp_bulk_hash16(ssmp_v16 x, ssmp_v16 mul, ssmp_v16 span)
{
    x = SSMP_MM(mullo_epi16)(x, SSMP_MM(mulhi_epu16)(x, mul));
    return SSMP_MM(mulhi_epu16)(x, span);
}

/* The low halves of 64-bit lanes whose high ones are 0. */
SSMP_FN ssmp_v32 ssmp_bulk_low32(ssmp_v32 even, ssmp_v32 odd)
{
    return SSMP_SI(or)(even, SSMP_UP(odd));
}

/* The products are the even lanes' of x. */
SSMP_FN ssmp_v32 ssmp_bulk_product32(ssmp_v32 x, ssmp_v32 mul, ssmp_v32 span)
{
    ssmp_v32 y = SSMP_ODD(SSMP_MUL64(x, mul));
    return SSMP_MUL64(SSMP_MUL64(x, y), span);
}

SSMP_FN ssmp_v32 ssmp_bulk_hash32(ssmp_v32 x, ssmp_v32 mul, ssmp_v32 span)
{
    return SSMP_HIGH32(ssmp_bulk_product32(x, mul, span),
                       ssmp_bulk_product32(SSMP_ODD(x), mul, span));
}

SSMP_FN void ssmp_bulk_ramp(uint64_t *out, uint64_t first, uint64_t stride)
{
    static const uint64_t numbers[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    const size_t lanes = SSMP_X86 / 64;
    const ssmp_v32 number = SSMP_LOAD(numbers);
    const ssmp_v32 step = SSMP_SET64(lanes * stride);
    const ssmp_v32 low = SSMP_MUL64(number, SSMP_SET64(stride));
    const ssmp_v32 high = SSMP_MUL64(number, SSMP_SET64(stride >> 32));
    ssmp_v32 x = SSMP_SET64(first);
    size_t i;
    x = SSMP_ADD64(x, low);
    x = SSMP_ADD64(x, SSMP_UP(high));
    for (i = 0; i < 4; i++, out += lanes) {
        SSMP_STORE(out, x);
        x = SSMP_ADD64(x, step);
    }
}

/* The packs of 32-bit lanes undo what join16 unpacks. They are for signed
   numbers, which the low halves of positions are made. */
SSMP_FN void ssmp_bulk_split16(ssmp_v16 *l, ssmp_v16 *r,
                               const uint64_t *positions,
                               const ssmp_divisor *by)
{
    const size_t lanes = SSMP_X86 / 64;
    const ssmp_v32 times = SSMP_SET32(by->reciprocal);
    const ssmp_v16 zero = SSMP_HALF16(0);
    const ssmp_v32 a = SSMP_LOAD(positions);
    const ssmp_v32 b = SSMP_LOAD(positions + lanes);
    const ssmp_v32 c = SSMP_LOAD(positions + 2 * lanes);
    const ssmp_v32 d = SSMP_LOAD(positions + 3 * lanes);
    ssmp_v32 ab = ssmp_bulk_low32(a, b);
    ssmp_v32 cd = ssmp_bulk_low32(c, d);
    ssmp_v16 quotient = SSMP_MM(packs_epi32)(
        SSMP_HIGH32(SSMP_MUL64(a, times), SSMP_MUL64(b, times)),
        SSMP_HIGH32(SSMP_MUL64(c, times), SSMP_MUL64(d, times)));
    ssmp_v16 product = SSMP_MM(mullo_epi16)(quotient, SSMP_SET16(by->right));
    ab = SSMP_MM(slli_epi32)(ab, 16);
    cd = SSMP_MM(slli_epi32)(cd, 16);
    ab = SSMP_MM(packs_epi32)(SSMP_MM(srai_epi32)(ab, 16),
                              SSMP_MM(srai_epi32)(cd, 16));
    *l = SSMP_XOR16(quotient, zero);
    *r = SSMP_XOR16(SSMP_SUB16(ab, product), zero);
}

SSMP_FN void ssmp_bulk_split64(ssmp_v32 *l, ssmp_v32 *r,
                               const uint64_t *positions,
                               const ssmp_divisor *by)
{
    const ssmp_v32 times = SSMP_SET32(by->reciprocal);
    const ssmp_v32 x = SSMP_LOAD(positions);
    const ssmp_v32 low = SSMP_MUL64(x, times);
    const ssmp_v32 high = SSMP_MUL64(SSMP_DOWN(x), times);
    *l = SSMP_MM(srl_epi64)(SSMP_ADD64(high, SSMP_DOWN(low)),
                            _mm_cvtsi32_si128((int)by->shift));
    *r = SSMP_MM(sub_epi64)(x, SSMP_MUL64(*l, SSMP_SET32(by->right)));
}

SSMP_FN void ssmp_bulk_split32(ssmp_v32 *l, ssmp_v32 *r,
                               const uint64_t *positions,
                               const ssmp_divisor *by)
{
    ssmp_v32 even_l, even_r, odd_l, odd_r;
    ssmp_bulk_split64(&even_l, &even_r, positions, by);
    ssmp_bulk_split64(&odd_l, &odd_r, positions + SSMP_X86 / 64, by);
    *l = ssmp_bulk_low32(even_l, odd_l);
    *r = ssmp_bulk_low32(even_r, odd_r);
}

/* The multiply-add is of signed lanes. With 2^15 added, and so read, a half h
   is h - 2^15. That makes 2^15 - 1 - l of ~l, which fits, as -right does where
   right may not, and the sum too small by what `more` adds. */
SSMP_FN void ssmp_bulk_join16(uint64_t *out, ssmp_v16 l, ssmp_v16 r,
                              uint32_t right)
{
    const size_t lanes = SSMP_X86 / 64;
    const ssmp_v32 low = SSMP_SET64(0xffffffffu);
    const ssmp_v32 factors = SSMP_SET32(((0 - right) & 0xffffu) | 0x10000u);
    const ssmp_v32 more = SSMP_SET32(0x7fffu * right + 0x8000u);
    const ssmp_v16 not_l = SSMP_XOR16(l, SSMP_SET16(0xffffu));
    ssmp_v32 a = SSMP_MM(unpacklo_epi16)(not_l, r);
    ssmp_v32 b = SSMP_MM(unpackhi_epi16)(not_l, r);
    a = SSMP_MM(madd_epi16)(a, factors);
    b = SSMP_MM(madd_epi16)(b, factors);
    a = SSMP_ADD32(a, more);
    b = SSMP_ADD32(b, more);
    SSMP_STORE(out, SSMP_SI(and)(a, low));
    SSMP_STORE(out + lanes, SSMP_DOWN(a));
    SSMP_STORE(out + 2 * lanes, SSMP_SI(and)(b, low));
    SSMP_STORE(out + 3 * lanes, SSMP_DOWN(b));
}

SSMP_FN void ssmp_bulk_join32(uint64_t *out, ssmp_v32 l, ssmp_v32 r,
                              uint32_t right)
{
    const ssmp_v32 low = SSMP_SET64(0xffffffffu);
    const ssmp_v32 times = SSMP_SET32(right);
    const ssmp_v32 even = SSMP_MUL64(l, times);
    const ssmp_v32 odd = SSMP_MUL64(SSMP_DOWN(l), times);
    SSMP_STORE(out, SSMP_ADD64(even, SSMP_SI(and)(r, low)));
    SSMP_STORE(out + SSMP_X86 / 64, SSMP_ADD64(odd, SSMP_DOWN(r)));
}

#elif defined(SSMP_NEON)

#include <arm_neon.h>
typedef uint16x8_t ssmp_v16;
typedef uint32x4_t ssmp_v32;
#define SSMP_PARTS16 1
#define SSMP_PARTS32 1
#define SSMP_LANES16 8
#define SSMP_LANES32 4
#define SSMP_VECTORS 16
#define SSMP_ASIDE 64
#define SSMP_FEW 3
#define SSMP_SET16(x) vdupq_n_u16((uint16_t)(x))
#define SSMP_HIGH16(x) SSMP_SET16((x) >> 16)
#define SSMP_SET32(x) vdupq_n_u32((uint32_t)(x))
#define SSMP_ADD16 vaddq_u16
#define SSMP_ADD32 vaddq_u32
#define SSMP_SUB16 vsubq_u16
#define SSMP_SUB32 vsubq_u32
#define SSMP_XOR16 veorq_u16
#define SSMP_XOR32 veorq_u32
#define SSMP_OR16 vorrq_u16
#define SSMP_OR32 vorrq_u32
#define SSMP_HALF16(x) SSMP_SET16(x)
#define SSMP_HALF32(x) SSMP_SET32(x)
#define SSMP_REDUCE16(x, size) vminq_u16(x, vaddq_u16(x, size))
#define SSMP_REDUCE32(x, size) vminq_u32(x, vaddq_u32(x, size))
/* A comparison that holds is -1. */
#define SSMP_CARRY16(x, l) vsubq_u16(l, vcltq_u16(x, vdupq_n_u16(0x8000)))
#define SSMP_CARRY32(x, l) vsubq_u32(l, vcltq_u32(x, vdupq_n_u32(0x80000000u)))
#define SSMP_ANY16(x) ssmp_bulk_any16(x)
#define SSMP_ANY32(x) ssmp_bulk_any32(x)

SSMP_FN int ssmp_bulk_any32(uint32x4_t x)
{
    const uint32x2_t any = vorr_u32(vget_low_u32(x), vget_high_u32(x));
    return ((vget_lane_u32(any, 0) | vget_lane_u32(any, 1)) >> 31) != 0;
}

SSMP_FN int ssmp_bulk_any16(uint16x8_t x)
{
    const uint32x4_t wide = vreinterpretq_u32_u16(x);
    return ssmp_bulk_any32(vorrq_u32(wide, vshlq_n_u32(wide, 16)));
}

/* The high halves of the products. */
SSMP_FN uint16x8_t ssmp_bulk_high16(uint16x8_t a, uint16x8_t b)
{
    return vcombine_u16(
        vshrn_n_u32(vmull_u16(vget_low_u16(a), vget_low_u16(b)), 16),
        vshrn_n_u32(vmull_u16(vget_high_u16(a), vget_high_u16(b)), 16));
}

SSMP_FN uint32x4_t ssmp_bulk_high32(uint32x4_t a, uint32x4_t b)
{
    return vcombine_u32(
        vshrn_n_u64(vmull_u32(vget_low_u32(a), vget_low_u32(b)), 32),
        vshrn_n_u64(vmull_u32(vget_high_u32(a), vget_high_u32(b)), 32));
}

SSMP_FN uint16x8_t ssmp_bulk_hash16(uint16x8_t x, uint16x8_t mul,
                                    uint16x8_t span)
{
    x = vmulq_u16(x, ssmp_bulk_high16(x, mul));
    return ssmp_bulk_high16(x, span);
}

SSMP_FN uint32x4_t ssmp_bulk_hash32(uint32x4_t x, uint32x4_t mul,
                                    uint32x4_t span)
{
    x = vmulq_u32(x, ssmp_bulk_high32(x, mul));
    return ssmp_bulk_high32(x, span);
}

SSMP_FN void ssmp_bulk_ramp(uint64_t *out, uint64_t first, uint64_t stride)
{
    size_t i;
    for (i = 0; i < 8; i++) {
        out[i] = first + i * stride;
    }
}

SSMP_FN void ssmp_bulk_split16(uint16x8_t *l, uint16x8_t *r,
                               const uint64_t *positions,
                               const ssmp_divisor *by)
{
    const uint32x4_t times = vdupq_n_u32(by->reciprocal);
    const uint32x4_t a = vcombine_u32(vmovn_u64(vld1q_u64(positions)),
                                      vmovn_u64(vld1q_u64(positions + 2)));
    const uint32x4_t b = vcombine_u32(vmovn_u64(vld1q_u64(positions + 4)),
                                      vmovn_u64(vld1q_u64(positions + 6)));
    *l = vcombine_u16(vmovn_u32(ssmp_bulk_high32(a, times)),
                      vmovn_u32(ssmp_bulk_high32(b, times)));
    *r = vmlsq_u16(vcombine_u16(vmovn_u32(a), vmovn_u32(b)), *l,
                   vdupq_n_u16((uint16_t)by->right));
}

/* A shift to the right is one to the left by less than nothing. */
SSMP_FN void ssmp_bulk_split32(uint32x4_t *l, uint32x4_t *r,
                               const uint64_t *positions,
                               const ssmp_divisor *by)
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

SSMP_FN void ssmp_bulk_join16(uint64_t *out, uint16x8_t l, uint16x8_t r,
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

SSMP_FN void ssmp_bulk_join32(uint64_t *out, uint32x4_t l, uint32x4_t r,
                              uint32_t right)
{
    const uint32x2_t rights = vdup_n_u32(right);
    vst1q_u64(out,
              vmlal_u32(vmovl_u32(vget_low_u32(r)), vget_low_u32(l), rights));
    vst1q_u64(out + 2,
              vmlal_u32(vmovl_u32(vget_high_u32(r)), vget_high_u32(l), rights));
}

#elif defined(SSMP_WASM)

#include <wasm_simd128.h>
typedef v128_t ssmp_v16, ssmp_v32;
#define SSMP_PARTS16 1
#define SSMP_PARTS32 1
#define SSMP_LANES16 8
#define SSMP_LANES32 4
#define SSMP_VECTORS 16
#define SSMP_ASIDE 64
/* What follows takes halves and spans for signed numbers. For the few n up to
   2^30 with a half of 2^15, which is none, all indices are one by one. */
#define SSMP_FEW (perm->left == (uint32_t)1 << 15 ? ~(size_t)0 : (size_t)3)
#define SSMP_SET16(x) wasm_i16x8_splat((int16_t)(x))
/* In the even lanes 0 instead, if the lower half of the key is below 2^15. */
#define SSMP_HIGH16(x) \
    SSMP_SET32(((x)&0xffff0000u) | ((x)&0x8000u ? (x) >> 16 : 0))
#define SSMP_SET32(x) wasm_i32x4_splat((int32_t)(x))
#define SSMP_ADD16 wasm_i16x8_add
#define SSMP_ADD32 wasm_i32x4_add
#define SSMP_SUB16 wasm_i16x8_sub
#define SSMP_SUB32 wasm_i32x4_sub
#define SSMP_XOR16 wasm_v128_xor
#define SSMP_XOR32 wasm_v128_xor
#define SSMP_OR16 wasm_v128_or
#define SSMP_OR32 wasm_v128_or
#define SSMP_HALF16(x) SSMP_SET16(x)
#define SSMP_HALF32(x) SSMP_SET32(x)
#define SSMP_REDUCE16(x, size) wasm_u16x8_min(x, wasm_i16x8_add(x, size))
#define SSMP_REDUCE32(x, size) wasm_u32x4_min(x, wasm_i32x4_add(x, size))
/* A comparison that holds is -1. */
#define SSMP_CARRY16(x, l) \
    wasm_i16x8_sub(l, wasm_i16x8_ge(x, wasm_i16x8_splat(0)))
#define SSMP_CARRY32(x, l) \
    wasm_i32x4_sub(l, wasm_i32x4_ge(x, wasm_i32x4_splat(0)))
#define SSMP_ANY16(x) (wasm_i16x8_bitmask(x) != 0)
#define SSMP_ANY32(x) (wasm_i32x4_bitmask(x) != 0)

/* The high halves of the products of signed numbers: even lanes with those of
   `even`, whose odd lanes are 0, and odd ones with those of `odd`. */
SSMP_ALWAYS_INLINE v128_t ssmp_bulk_high16(v128_t x, v128_t even, v128_t odd)
{
    even = wasm_u32x4_shr(wasm_i32x4_dot_i16x8(x, even), 16);
    odd = wasm_v128_and(wasm_i32x4_dot_i16x8(x, odd), wasm_i32x4_splat(-65536));
    return wasm_v128_or(even, odd);
}

/* The high halves of the products. */
SSMP_ALWAYS_INLINE v128_t ssmp_bulk_high32(v128_t a, v128_t b)
{
    return wasm_i32x4_shuffle(wasm_u64x2_extmul_low_u32x4(a, b),
                              wasm_u64x2_extmul_high_u32x4(a, b), 1, 3, 5, 7);
}

/* The numbers are unsigned. One of 2^15 or more is 2^16 less when it is signed,
   so that the high half lacks the other factor: mul is always such a one, span
   never, and x where the key's lower half is, as the other half is below. */
SSMP_ALWAYS_INLINE v128_t ssmp_bulk_hash16(v128_t x, v128_t mul, v128_t span)
{
    const v128_t lack = wasm_i16x8_splat(wasm_i16x8_extract_lane(mul, 0));
    v128_t y = ssmp_bulk_high16(x, wasm_u32x4_shr(mul, 16),
                                wasm_v128_and(mul, wasm_i32x4_splat(-65536)));
    y = wasm_i16x8_add(y, wasm_i16x8_add(x, lack));
    x = ssmp_bulk_high16(wasm_i16x8_mul(x, y), wasm_u32x4_shr(span, 16),
                         wasm_i32x4_shl(span, 16));
    return SSMP_REDUCE16(x, span);
}

SSMP_FN v128_t ssmp_bulk_hash32(v128_t x, v128_t mul, v128_t span)
{
    x = wasm_i32x4_mul(x, ssmp_bulk_high32(x, mul));
    return ssmp_bulk_high32(x, span);
}

/* The low halves of 64-bit lanes. */
SSMP_FN v128_t ssmp_bulk_low32(v128_t a, v128_t b)
{
    return wasm_i32x4_shuffle(a, b, 0, 2, 4, 6);
}

SSMP_FN void ssmp_bulk_ramp(uint64_t *out, uint64_t first, uint64_t stride)
{
    size_t i;
    for (i = 0; i < 8; i++) {
        out[i] = first + i * stride;
    }
}

SSMP_FN void ssmp_bulk_split16(v128_t *l, v128_t *r, const uint64_t *positions,
                               const ssmp_divisor *by)
{
    const v128_t times = wasm_i32x4_splat((int32_t)by->reciprocal);
    const v128_t a = ssmp_bulk_low32(wasm_v128_load(positions),
                                     wasm_v128_load(positions + 2));
    const v128_t b = ssmp_bulk_low32(wasm_v128_load(positions + 4),
                                     wasm_v128_load(positions + 6));
    *l = wasm_i16x8_shuffle(ssmp_bulk_high32(a, times),
                            ssmp_bulk_high32(b, times), 0, 2, 4, 6, 8, 10, 12,
                            14);
    *r = wasm_i16x8_sub(wasm_i16x8_shuffle(a, b, 0, 2, 4, 6, 8, 10, 12, 14),
                        wasm_i16x8_mul(*l, SSMP_SET16(by->right)));
}

SSMP_FN void ssmp_bulk_split32(v128_t *l, v128_t *r, const uint64_t *positions,
                               const ssmp_divisor *by)
{
    const v128_t times = wasm_i32x4_splat((int32_t)by->reciprocal);
    const v128_t a = wasm_v128_load(positions),
                 b = wasm_v128_load(positions + 2);
    const v128_t low = ssmp_bulk_low32(a, b);
    const v128_t high = wasm_i32x4_shuffle(a, b, 1, 3, 5, 7);
    v128_t la = wasm_u64x2_shr(wasm_u64x2_extmul_low_u32x4(low, times), 32);
    v128_t lb = wasm_u64x2_shr(wasm_u64x2_extmul_high_u32x4(low, times), 32);
    la = wasm_i64x2_add(la, wasm_u64x2_extmul_low_u32x4(high, times));
    lb = wasm_i64x2_add(lb, wasm_u64x2_extmul_high_u32x4(high, times));
    *l = ssmp_bulk_low32(wasm_u64x2_shr(la, by->shift),
                         wasm_u64x2_shr(lb, by->shift));
    *r = wasm_i32x4_sub(low, wasm_i32x4_mul(*l, SSMP_SET32(by->right)));
}

SSMP_FN void ssmp_bulk_join16(uint64_t *out, v128_t l, v128_t r, uint32_t right)
{
    /* A right half is multiplied by 1. */
    const v128_t by = SSMP_SET32((uint32_t)1 << 16 | right);
    const v128_t a = wasm_i32x4_dot_i16x8(
        wasm_i16x8_shuffle(l, r, 0, 8, 1, 9, 2, 10, 3, 11), by);
    const v128_t b = wasm_i32x4_dot_i16x8(
        wasm_i16x8_shuffle(l, r, 4, 12, 5, 13, 6, 14, 7, 15), by);
    wasm_v128_store(out, wasm_u64x2_extend_low_u32x4(a));
    wasm_v128_store(out + 2, wasm_u64x2_extend_high_u32x4(a));
    wasm_v128_store(out + 4, wasm_u64x2_extend_low_u32x4(b));
    wasm_v128_store(out + 6, wasm_u64x2_extend_high_u32x4(b));
}

SSMP_FN void ssmp_bulk_join32(uint64_t *out, v128_t l, v128_t r, uint32_t right)
{
    const v128_t rights = SSMP_SET32(right);
    wasm_v128_store(out, wasm_i64x2_add(wasm_u64x2_extmul_low_u32x4(l, rights),
                                        wasm_u64x2_extend_low_u32x4(r)));
    wasm_v128_store(out + 2,
                    wasm_i64x2_add(wasm_u64x2_extmul_high_u32x4(l, rights),
                                   wasm_u64x2_extend_high_u32x4(r)));
}

#elif defined(SSMP_PLAIN)

/* A number is a vector of one lane. Where a compiler can, it makes one vector
   of all parts, for which VECTORS * PARTS numbers are read and written in
   memory. */
typedef uint16_t ssmp_v16;
typedef uint32_t ssmp_v32;
#define SSMP_LANES16 1
#define SSMP_LANES32 1
#define SSMP_PARTS16 8
#define SSMP_PARTS32 4
#define SSMP_VECTORS 8
#define SSMP_ASIDE 64
#define SSMP_FEW 4
#define SSMP_SET16(x) ((ssmp_v16)(x))
/* Ones are above the 16 bits before the cast: GCC makes no vectors of products
   of a number that it knows to have no more than 16 bits as it is. */
#define SSMP_HIGH16(x) SSMP_SET16(~(~(x) >> 16))
#define SSMP_SET32(x) ((uint32_t)(x))
#define SSMP_ADD16(a, b) ((ssmp_v16)((a) + (b)))
#define SSMP_ADD32(a, b) ((a) + (b))
#define SSMP_SUB16(a, b) ((ssmp_v16)((a) - (b)))
#define SSMP_SUB32(a, b) ((a) - (b))
#define SSMP_XOR16(a, b) ((ssmp_v16)((a) ^ (b)))
#define SSMP_XOR32(a, b) ((a) ^ (b))
#define SSMP_OR16(a, b) ((ssmp_v16)((a) | (b)))
#define SSMP_OR32(a, b) ((a) | (b))
#define SSMP_HALF16(x) SSMP_SET16(x)
#define SSMP_HALF32(x) SSMP_SET32(x)
#define SSMP_ANY16(x) ((x) >> 15 != 0)
#define SSMP_ANY32(x) ((x) >> 31 != 0)
#define SSMP_CARRY16(x, l) ((ssmp_v16)((l) + !SSMP_ANY16(x)))
#define SSMP_CARRY32(x, l) ((l) + !SSMP_ANY32(x))
#define SSMP_REDUCE16(x, size) ((ssmp_v16)((x) + ((size) & (0u - ((x) >> 15)))))
#define SSMP_REDUCE32(x, size) ((x) + ((size) & (0u - ((x) >> 31))))

SSMP_FN ssmp_v16 ssmp_bulk_hash16(ssmp_v16 x, ssmp_v16 mul, ssmp_v16 span)
{
    ssmp_v16 y = (ssmp_v16)(((uint32_t)x * mul) >> 16);
    x = (ssmp_v16)((uint32_t)x * y);
    return (ssmp_v16)(((uint32_t)x * span) >> 16);
}

SSMP_FN uint32_t ssmp_bulk_hash32(uint32_t x, uint32_t mul, uint32_t span)
{
    x *= (uint32_t)(((uint64_t)x * mul) >> 32);
    return (uint32_t)(((uint64_t)x * span) >> 32);
}

SSMP_FN void ssmp_bulk_ramp(uint64_t *out, uint64_t first, uint64_t stride)
{
    size_t i;
    for (i = 0; i < 8; i++) {
        out[i] = first + i * stride;
    }
}

SSMP_FN void ssmp_bulk_split16(ssmp_v16 *l, ssmp_v16 *r,
                               const uint64_t *positions,
                               const ssmp_divisor *by)
{
    uint32_t x = (uint32_t)*positions;
    uint32_t quotient = (uint32_t)(((uint64_t)x * by->reciprocal) >> 32);
    *l = (ssmp_v16)quotient;
    *r = (ssmp_v16)(x - quotient * by->right);
}

SSMP_FN void ssmp_bulk_split32(uint32_t *l, uint32_t *r,
                               const uint64_t *positions,
                               const ssmp_divisor *by)
{
    uint64_t low = (*positions & 0xffffffffu) * by->reciprocal;
    uint64_t high = (*positions >> 32) * by->reciprocal;
    *l = (uint32_t)((high + (low >> 32)) >> by->shift);
    *r = (uint32_t)*positions - *l * by->right;
}

SSMP_FN void ssmp_bulk_join16(uint64_t *out, ssmp_v16 l, ssmp_v16 r,
                              uint32_t right)
{
    *out = l * right + r;
}

SSMP_FN void ssmp_bulk_join32(uint64_t *out, uint32_t l, uint32_t r,
                              uint32_t right)
{
    *out = (uint64_t)l * right + r;
}

#endif

#ifndef SSMP_VECTORS
#define SSMP_ASIDE 2
#endif

#ifdef SSMP_VECTORS

/* The lanes of a vector for n <= 2^30; above, there are half as many. */
#define SSMP_ROOM (SSMP_PARTS16 * SSMP_LANES16)
#if SSMP_PARTS32 * SSMP_LANES32 * 2 != SSMP_ROOM
#error "a vector must have half as many lanes in v32 as in v16"
#endif

typedef union ssmp_halves {
    ssmp_v16 narrow[SSMP_PARTS16];
    ssmp_v32 wide[SSMP_PARTS32];
} ssmp_halves;

/* A vector of pairs. */
typedef struct ssmp_pairs {
    ssmp_halves l, r;
} ssmp_pairs;

SSMP_FN uint32_t ssmp_bulk_lanes(int wide)
{
    return (uint32_t)SSMP_ROOM >> wide;
}

/* The vectors that count pairs fill. */
SSMP_FN size_t ssmp_bulk_full(size_t count, int wide)
{
    return (count << wide) / SSMP_ROOM;
}

/* How many of count indices come in one turn. */
SSMP_FN uint32_t ssmp_bulk_turn(size_t count, int wide)
{
    return (uint32_t)ssmp_min(count, SSMP_VECTORS * ssmp_bulk_lanes(wide));
}

SSMP_FN ssmp_divisor ssmp_bulk_divisor(const statesampler_perm *perm)
{
    ssmp_divisor by;
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
SSMP_ALWAYS_INLINE void ssmp_bulk_advance16(ssmp_pairs *pairs, ssmp_pairs *next,
                                            uint32_t step_l, uint32_t step_r,
                                            uint32_t right, uint32_t vectors)
{
    const ssmp_v16 size = SSMP_SET16(right);
    const ssmp_v16 down = SSMP_SET16(step_l);
    const ssmp_v16 on = SSMP_SET16(step_r - right);
    uint32_t j;
    size_t w;
    for (j = 0; j < vectors; j++) {
        for (w = 0; w < SSMP_PARTS16; w++) {
            ssmp_v16 l = next->l.narrow[w];
            ssmp_v16 r = next->r.narrow[w], past;
            pairs[j].l.narrow[w] = l;
            pairs[j].r.narrow[w] = r;
            past = SSMP_ADD16(r, on);
            l = SSMP_ADD16(l, down);
            next->l.narrow[w] = SSMP_CARRY16(past, l);
            next->r.narrow[w] = SSMP_REDUCE16(past, size);
        }
    }
}

SSMP_ALWAYS_INLINE void ssmp_bulk_advance32(ssmp_pairs *pairs, ssmp_pairs *next,
                                            uint32_t step_l, uint32_t step_r,
                                            uint32_t right, uint32_t vectors)
{
    const ssmp_v32 size = SSMP_SET32(right);
    const ssmp_v32 down = SSMP_SET32(step_l);
    const ssmp_v32 on = SSMP_SET32(step_r - right);
    uint32_t j;
    size_t w;
    for (j = 0; j < vectors; j++) {
        for (w = 0; w < SSMP_PARTS32; w++) {
            ssmp_v32 l = next->l.wide[w];
            ssmp_v32 r = next->r.wide[w], past;
            pairs[j].l.wide[w] = l;
            pairs[j].r.wide[w] = r;
            past = SSMP_ADD32(r, on);
            l = SSMP_ADD32(l, down);
            next->l.wide[w] = SSMP_CARRY32(past, l);
            next->r.wide[w] = SSMP_REDUCE32(past, size);
        }
    }
}

/* Vectors of pairs from positions. One row down where split said one too
   few. */
SSMP_ALWAYS_INLINE void ssmp_bulk_load16(ssmp_pairs *pairs,
                                         const uint64_t *positions,
                                         const ssmp_divisor *by,
                                         uint32_t vectors)
{
    const ssmp_v16 size = SSMP_SET16(by->right);
    const ssmp_v16 on = SSMP_SET16(0 - by->right);
    uint32_t j;
    size_t w;
    for (j = 0; j < vectors; j++) {
        for (w = 0; w < SSMP_PARTS16; w++) {
            ssmp_v16 l, r;
            ssmp_bulk_split16(&l, &r, positions, by);
            r = SSMP_ADD16(r, on);
            pairs[j].l.narrow[w] = SSMP_CARRY16(r, l);
            pairs[j].r.narrow[w] = SSMP_REDUCE16(r, size);
            positions += SSMP_LANES16;
        }
    }
}

SSMP_ALWAYS_INLINE void ssmp_bulk_load32(ssmp_pairs *pairs,
                                         const uint64_t *positions,
                                         const ssmp_divisor *by,
                                         uint32_t vectors)
{
    const ssmp_v32 size = SSMP_SET32(by->right);
    const ssmp_v32 on = SSMP_SET32(0 - by->right);
    uint32_t j;
    size_t w;
    for (j = 0; j < vectors; j++) {
        for (w = 0; w < SSMP_PARTS32; w++) {
            ssmp_v32 l, r;
            ssmp_bulk_split32(&l, &r, positions, by);
            r = SSMP_ADD32(r, on);
            pairs[j].l.wide[w] = SSMP_CARRY32(r, l);
            pairs[j].r.wide[w] = SSMP_REDUCE32(r, size);
            positions += SSMP_LANES32;
        }
    }
}

SSMP_ALWAYS_INLINE void ssmp_bulk_load(ssmp_pairs *pairs,
                                       const uint64_t *positions,
                                       const ssmp_divisor *by, uint32_t vectors,
                                       const int wide)
{
    if (wide) {
        ssmp_bulk_load32(pairs, positions, by, vectors);
    } else {
        ssmp_bulk_load16(pairs, positions, by, vectors);
    }
}

/* half - hash(other xor add) modulo size. */
SSMP_ALWAYS_INLINE void ssmp_bulk_round16(ssmp_v16 *half, const ssmp_v16 *other,
                                          ssmp_v16 add, ssmp_v16 mul,
                                          ssmp_v16 size, ssmp_v16 span)
{
    size_t w;
    for (w = 0; w < SSMP_PARTS16; w++) {
        ssmp_v16 x = ssmp_bulk_hash16(SSMP_XOR16(other[w], add), mul, span);
        x = SSMP_SUB16(half[w], x);
        half[w] = SSMP_REDUCE16(x, size);
    }
}

SSMP_ALWAYS_INLINE void ssmp_bulk_round32(ssmp_v32 *half, const ssmp_v32 *other,
                                          ssmp_v32 add, ssmp_v32 mul,
                                          ssmp_v32 size, ssmp_v32 span)
{
    size_t w;
    for (w = 0; w < SSMP_PARTS32; w++) {
        ssmp_v32 x = ssmp_bulk_hash32(SSMP_XOR32(other[w], add), mul, span);
        x = SSMP_SUB32(half[w], x);
        half[w] = SSMP_REDUCE32(x, size);
    }
}

/* A loop over vectors, of which there is one at least. Where loops that may end
   before their first turn stay as they are, V8 moves nothing out of them. */
#ifdef SSMP_BULK_FEW
#define SSMP_TURNS(j, vectors, turn) \
    j = 0;                           \
    do                               \
    turn while (++j < vectors)
#else
#define SSMP_TURNS(j, vectors, turn) \
    for (j = 0; j < vectors; j++)    \
    turn
#endif

/* All rounds. Keys are read outside the loops that write vectors: these may be
   anywhere, for all that a compiler knows. */
SSMP_ALWAYS_INLINE void ssmp_bulk_network16(ssmp_pairs *pairs,
                                            const statesampler_perm *perm,
                                            uint32_t vectors)
{
    const ssmp_v16 left = SSMP_SET16(perm->left);
    const ssmp_v16 right = SSMP_SET16(perm->right);
    const ssmp_v16 less_l = SSMP_SET16(perm->left >> 10);
    const ssmp_v16 less_r = SSMP_SET16(perm->right >> 10);
    const uint32_t *key = perm->keys, *end = key + perm->rounds;
    ssmp_v16 span_l = left, span_r = right;
    uint32_t j;
    for (; key != end; key += 2) {
        const ssmp_v16 add_l = SSMP_HALF16(key[0] & 0xffffu);
        const ssmp_v16 mul_l = SSMP_HIGH16(key[0]);
        const ssmp_v16 add_r = SSMP_HALF16(key[1] & 0xffffu);
        const ssmp_v16 mul_r = SSMP_HIGH16(key[1]);
        SSMP_TURNS(j, vectors, {
            ssmp_bulk_round16(pairs[j].l.narrow, pairs[j].r.narrow, add_l,
                              mul_l, left, span_l);
        });
        SSMP_TURNS(j, vectors, {
            ssmp_bulk_round16(pairs[j].r.narrow, pairs[j].l.narrow, add_r,
                              mul_r, right, span_r);
        });
        span_l = SSMP_SUB16(span_l, less_l);
        span_r = SSMP_SUB16(span_r, less_r);
    }
}

SSMP_ALWAYS_INLINE void ssmp_bulk_network32(ssmp_pairs *pairs,
                                            const statesampler_perm *perm,
                                            uint32_t vectors)
{
    const ssmp_v32 left = SSMP_SET32(perm->left);
    const ssmp_v32 right = SSMP_SET32(perm->right);
    const ssmp_v32 less_l = SSMP_SET32(perm->left >> 10);
    const ssmp_v32 less_r = SSMP_SET32(perm->right >> 10);
    const uint32_t *key = perm->keys, *end = key + 2 * perm->rounds;
    ssmp_v32 span_l = left, span_r = right;
    uint32_t j;
    for (; key != end; key += 4) {
        const ssmp_v32 add_l = SSMP_HALF32(key[0]);
        const ssmp_v32 mul_l = SSMP_SET32(key[1]);
        const ssmp_v32 add_r = SSMP_HALF32(key[2]);
        const ssmp_v32 mul_r = SSMP_SET32(key[3]);
        for (j = 0; j < vectors; j++) {
            ssmp_bulk_round32(pairs[j].l.wide, pairs[j].r.wide, add_l, mul_l,
                              left, span_l);
        }
        for (j = 0; j < vectors; j++) {
            ssmp_bulk_round32(pairs[j].r.wide, pairs[j].l.wide, add_r, mul_r,
                              right, span_r);
        }
        span_l = SSMP_SUB32(span_l, less_l);
        span_r = SSMP_SUB32(span_r, less_r);
    }
}

/* The number of vectors as a constant lets one or two stay in registers. */
SSMP_ALWAYS_INLINE void ssmp_bulk_network(ssmp_pairs *pairs,
                                          const statesampler_perm *perm,
                                          uint32_t vectors, const int wide)
{
    if (wide) {
        ssmp_bulk_network32(pairs, perm, vectors);
#ifndef SSMP_BULK_FEW
    } else if (vectors == 1) {
        ssmp_bulk_network16(pairs, perm, 1);
    } else if (vectors == 2) {
        ssmp_bulk_network16(pairs, perm, 2);
#endif
    } else {
        ssmp_bulk_network16(pairs, perm, vectors);
    }
}

/* Writes the indices of vectors of pairs. Not 0 if one of them is behind the
   first `rows` rows of the grid, which are whole. */
SSMP_ALWAYS_INLINE int ssmp_bulk_store16(uint64_t *out, const ssmp_pairs *pairs,
                                         uint32_t right, uint32_t rows,
                                         uint32_t vectors)
{
    const ssmp_v16 below = SSMP_HALF16(rows - 1);
    ssmp_v16 beyond = SSMP_SET16(0);
    uint32_t j;
    size_t w;
    for (j = 0; j < vectors; j++) {
        for (w = 0; w < SSMP_PARTS16; w++) {
            ssmp_v16 l = pairs[j].l.narrow[w];
            ssmp_bulk_join16(out, l, pairs[j].r.narrow[w], right);
            beyond = SSMP_OR16(beyond, SSMP_SUB16(below, l));
            out += SSMP_LANES16;
        }
    }
    return SSMP_ANY16(beyond);
}

SSMP_ALWAYS_INLINE int ssmp_bulk_store32(uint64_t *out, const ssmp_pairs *pairs,
                                         uint32_t right, uint32_t rows,
                                         uint32_t vectors)
{
    const ssmp_v32 below = SSMP_HALF32(rows - 1);
    ssmp_v32 beyond = SSMP_SET32(0);
    uint32_t j;
    size_t w;
    for (j = 0; j < vectors; j++) {
        for (w = 0; w < SSMP_PARTS32; w++) {
            ssmp_v32 l = pairs[j].l.wide[w];
            ssmp_bulk_join32(out, l, pairs[j].r.wide[w], right);
            beyond = SSMP_OR32(beyond, SSMP_SUB32(below, l));
            out += SSMP_LANES32;
        }
    }
    return SSMP_ANY32(beyond);
}

SSMP_ALWAYS_INLINE int ssmp_bulk_store(uint64_t *out, const ssmp_pairs *pairs,
                                       const statesampler_perm *perm,
                                       uint32_t rows, uint32_t vectors,
                                       const int wide)
{
    return wide ? ssmp_bulk_store32(out, pairs, perm->right, rows, vectors)
                : ssmp_bulk_store16(out, pairs, perm->right, rows, vectors);
}

#ifdef SSMP_BULK_FEW

/* Goes on with the walks that are not at their end. */
SSMP_FN void ssmp_bulk_walk(uint64_t *out, const statesampler_perm *perm,
                            const ssmp_divisor *by, uint32_t count)
{
    uint32_t i;
    for (i = 0; i < count; i++) {
        if (out[i] >= perm->n) {
            uint32_t l = (uint32_t)(out[i] / by->right);
            uint32_t r = (uint32_t)(out[i] % by->right);
            out[i] = ssmp_perm_walk(perm, l, r);
        }
    }
}

#else

/* The first of out, from i on, that is n or more; or count. Most are not, which
   eight at a time tell sooner. */
SSMP_FN uint32_t ssmp_bulk_beyond(const uint64_t *out, uint32_t i,
                                  uint32_t count, uint64_t n)
{
    for (; count - i >= 8; i += 8) {
        uint64_t any = 0; /* its highest bit, as all numbers are below 2^63 */
        uint32_t k;
        for (k = 0; k < 8; k++) {
            any |= n - 1 - out[i + k];
        }
        if (any >> 63 != 0) {
            break;
        }
    }
    while (i < count && out[i] < n) {
        i++;
    }
    return i;
}

/* Goes on with the walks that are not at their end, a vector of them at a
   time. Each comes nearer to its end in every turn. */
SSMP_FN void ssmp_bulk_walk(uint64_t *out, const statesampler_perm *perm,
                            const ssmp_divisor *by, uint32_t count)
{
    const int wide = (int)perm->wide;
    const uint32_t lanes = ssmp_bulk_lanes(wide);
    ssmp_pairs pairs;
    uint64_t index[SSMP_ROOM];
    uint16_t where[SSMP_ROOM];
    uint32_t i = 0, k, waiting = 0, kept;
    for (;;) {
        for (; waiting < lanes; i++) {
            i = ssmp_bulk_beyond(out, i, count, perm->n);
            if (i == count) {
                break;
            }
            where[waiting++] = (uint16_t)i;
        }
        if (waiting == 0) {
            return;
        }
        for (k = 0; k < lanes; k++) { /* 0 for the others may become memset */
            index[k] = out[where[k < waiting ? k : 0]];
        }
        ssmp_bulk_load(&pairs, index, by, 1, wide);
        ssmp_bulk_network(&pairs, perm, 1, wide);
        (void)ssmp_bulk_store(index, &pairs, perm, 0, 1, wide);
        for (k = 0, kept = 0; k < waiting; k++) {
            out[where[k]] = index[k];
            where[kept] = where[k];
            kept += index[k] >= perm->n;
        }
        waiting = kept;
    }
}

#endif

/* Writes the indices of count pairs, at most VECTORS of them. The last vector
   may have more: of neighbours, from position on, those behind n. These are
   where its walks lead: for few samples, all walks. */
SSMP_ALWAYS_INLINE void ssmp_bulk_run(uint64_t *out, ssmp_pairs *pairs,
                                      const statesampler_perm *perm,
                                      const ssmp_divisor *by, uint32_t count,
                                      uint64_t position, const int wide)
{
    const uint32_t lanes = ssmp_bulk_lanes(wide);
    const uint32_t full = (uint32_t)ssmp_bulk_full(count, wide);
    const uint32_t before = full * lanes, vectors = full + (before != count);
    uint32_t rows = perm->left, i;
    int beyond;
    /* Rows of the grid below n. As left * right - n < left for n >= 9, it is
       one or two less than all, and three less at most. */
    while ((uint64_t)rows * perm->right > perm->n) {
        rows--;
    }
    ssmp_bulk_network(pairs, perm, vectors, wide);
    beyond = ssmp_bulk_store(out, pairs, perm, rows, full, wide);
    if (before != count) {
        uint64_t rest[SSMP_ROOM];
        beyond |= ssmp_bulk_store(rest, pairs + full, perm, rows, 1, wide);
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
        ssmp_bulk_walk(out, perm, by, count);
    }
}

/* The position of those that are no neighbours: no index is near it. */
#define SSMP_APART ((uint64_t)1 << 63)

SSMP_ALWAYS_INLINE void ssmp_bulk_map(uint64_t *values,
                                      const statesampler_perm *perm,
                                      size_t count, const int wide)
{
    const uint32_t lanes = ssmp_bulk_lanes(wide);
    const ssmp_divisor by = ssmp_bulk_divisor(perm);
    ssmp_pairs pairs[SSMP_VECTORS];
    while (count != 0) { /* it falls by one or more in every turn */
        const uint32_t done = ssmp_bulk_turn(count, wide);
        const uint32_t full = (uint32_t)ssmp_bulk_full(done, wide);
        const uint32_t before = full * lanes;
        ssmp_bulk_load(pairs, values, &by, full, wide);
        if (before != done) {
            uint64_t rest[SSMP_ROOM];
            uint32_t i;
            for (i = before; i < before + lanes; i++) {
                rest[i - before] = values[i < done ? i : before];
            }
            ssmp_bulk_load(pairs + full, rest, &by, 1, wide);
        }
        ssmp_bulk_run(values, pairs, perm, &by, done, SSMP_APART, wide);
        values += done;
        count -= done;
    }
}

/* Lanes behind the last position hold anything, and are not written. */
SSMP_ALWAYS_INLINE void ssmp_bulk_fill(uint64_t *out,
                                       const statesampler_perm *perm,
                                       uint64_t first, uint64_t stride,
                                       size_t count, const int wide)
{
    const uint32_t lanes = ssmp_bulk_lanes(wide);
    const ssmp_divisor by = ssmp_bulk_divisor(perm);
    ssmp_pairs pairs[SSMP_VECTORS], next;
    uint64_t start[SSMP_ROOM];
    uint32_t step_l = 0, step_r = 0;
    if (count > lanes) { /* otherwise it is not used, and may overflow */
        step_l = ssmp_perm_quotient(perm, lanes * stride);
        step_r = (uint32_t)(lanes * stride) - step_l * perm->right;
    }
    ssmp_bulk_ramp(start, first, stride);
    ssmp_bulk_load(&next, start, &by, 1, wide);
    while (count != 0) { /* it falls by one or more in every turn */
        const uint32_t done = ssmp_bulk_turn(count, wide);
        const uint32_t vectors =
            (uint32_t)ssmp_bulk_full(done + lanes - 1, wide);
        if (wide) {
            ssmp_bulk_advance32(pairs, &next, step_l, step_r, perm->right,
                                vectors);
        } else {
            ssmp_bulk_advance16(pairs, &next, step_l, step_r, perm->right,
                                vectors);
        }
        ssmp_bulk_run(out, pairs, perm, &by, done,
                      stride == 1 ? first : SSMP_APART, wide);
        first += done * stride;
        out += done;
        count -= done;
    }
}

SSMP_NOINLINE void ssmp_bulk_fill16(uint64_t *out,
                                    const statesampler_perm *perm,
                                    uint64_t first, uint64_t stride,
                                    size_t count)
{
    ssmp_bulk_fill(out, perm, first, stride, count, 0);
}

SSMP_NOINLINE void ssmp_bulk_fill32(uint64_t *out,
                                    const statesampler_perm *perm,
                                    uint64_t first, uint64_t stride,
                                    size_t count)
{
    ssmp_bulk_fill(out, perm, first, stride, count, 1);
}

SSMP_NOINLINE void ssmp_bulk_map16(uint64_t *values,
                                   const statesampler_perm *perm, size_t count)
{
    ssmp_bulk_map(values, perm, count, 0);
}

SSMP_NOINLINE void ssmp_bulk_map32(uint64_t *values,
                                   const statesampler_perm *perm, size_t count)
{
    ssmp_bulk_map(values, perm, count, 1);
}

#endif /* SSMP_VECTORS */

/* A step on from (l, r). */
SSMP_FN void ssmp_perm_move(uint32_t *l, uint32_t *r, uint32_t step_l,
                            uint32_t step_r, uint32_t right)
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
SSMP_NOINLINE void ssmp_perm_fill_each(uint64_t *out,
                                       const statesampler_perm *perm,
                                       uint64_t first, uint64_t stride,
                                       size_t count)
{
    uint32_t l = ssmp_perm_quotient(perm, first);
    uint32_t r = (uint32_t)(first - (uint64_t)l * perm->right);
    uint32_t step_l =
        stride < perm->right ? 0 : ssmp_perm_quotient(perm, stride);
    uint32_t step_r = (uint32_t)(stride - (uint64_t)step_l * perm->right);
#ifdef SSMP_PAIRS
    /* A GPU reads each key once for all of them. */
    for (; count >= SSMP_PAIRS; count -= SSMP_PAIRS) {
        uint32_t x[SSMP_PAIRS], y[SSMP_PAIRS], i;
        for (i = 0; i < SSMP_PAIRS; i++) {
            x[i] = l;
            y[i] = r;
            ssmp_perm_move(&l, &r, step_l, step_r, perm->right);
        }
        ssmp_perm_network(x, y, perm, SSMP_PAIRS);
        for (i = 0; i < SSMP_PAIRS; i++) {
            uint64_t index = (uint64_t)x[i] * perm->right + y[i];
            *out++ = index < perm->n ? index : ssmp_perm_walk(perm, x[i], y[i]);
        }
    }
#endif
    for (; count != 0; count--) {
        *out++ = ssmp_perm_walk(perm, l, r);
        ssmp_perm_move(&l, &r, step_l, step_r, perm->right);
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
#ifdef SSMP_VECTORS
    if (count > SSMP_FEW) {
        if (!perm->wide) {
            ssmp_bulk_fill16(out, perm, first, stride, count);
            return;
        }
#ifndef SSMP_BULK_FEW
        ssmp_bulk_fill32(out, perm, first, stride, count);
        return;
#endif
    }
#endif
    ssmp_perm_fill_each(out, perm, first, stride, count);
}

/* values[i] = perm_at(perm, values[i]). */
SSMP_FN void ssmp_perm_map(uint64_t *values, const statesampler_perm *perm,
                           size_t count)
{
#if defined(SSMP_VECTORS) && !defined(SSMP_BULK_FEW)
    if (count > SSMP_FEW) {
        if (perm->wide) {
            ssmp_bulk_map32(values, perm, count);
        } else {
            ssmp_bulk_map16(values, perm, count);
        }
        return;
    }
#endif
    for (; count != 0; count--, values++) {
        *values = statesampler_perm_at(perm, *values);
    }
}

/* --- order -----------------------------------------------------------------
   An order says which sample stands at a position of one block: of the whole
   dataset, or with BLOCKED of one of its parts. Positions here are inside the
   block; which block and where in it is the sampler's affair. */

SSMP_FN void ssmp_order_clear(ssmp_order *order)
{
    order->blocks = 0; /* no dataset has none, so this fits no block */
    ssmp_perm_clear(&order->perm);
    ssmp_perm_clear(&order->inside);
    /* Never used, but gcc, with all of it inlined at -O3, warns of them. */
    order->block = 0;
    order->epoch = order->epoch_key = order->seed_key = order->key = 0;
    order->start = order->size = 0;
}

/* The samples of a block are *size from *start on. The first num_samples mod
   blocks of them have one more, which DROP leaves out. */
SSMP_FN void ssmp_order_bounds(uint64_t *start, uint64_t *size,
                               const ssmp_run *run, uint32_t blocks,
                               uint32_t block)
{
    uint64_t quota = run->num_samples / blocks;
    uint64_t longer = run->num_samples - quota * blocks;
    if (run->tail == STATESAMPLER_TAIL_DROP) {
        longer = 0;
    }
    *start = block * quota + ssmp_min(block, longer);
    *size = quota + (block < longer);
}

/* Whether an order has the keys of an epoch. */
SSMP_FN int ssmp_order_knows(const ssmp_order *order, uint64_t epoch)
{
    return order->blocks != 0 && order->epoch == epoch;
}

/* Makes order the one of this epoch and block, one of so many. */
SSMP_NOINLINE void ssmp_order_set(ssmp_order *order, const ssmp_run *run,
                                  uint64_t epoch, uint32_t blocks,
                                  uint32_t block)
{
    if (!ssmp_order_knows(order, epoch)) {
        order->epoch_key = ssmp_epoch_key(run->seed, epoch, run->stream);
        order->seed_key = ssmp_derive(order->epoch_key, SSMP_SEED);
    }
    order->epoch = epoch;
    order->blocks = blocks;
    order->block = block;
    order->key = order->epoch_key;
    if (run->partition == STATESAMPLER_PARTITION_BLOCKED) {
        order->key = ssmp_derive(order->key, SSMP_BLOCK + block);
    }
    ssmp_order_bounds(&order->start, &order->size, run, blocks, block);
    if (run->order == STATESAMPLER_ORDER_SHUFFLE) {
        ssmp_perm_set(&order->perm, order->size, order->key);
    } else if (run->order == STATESAMPLER_ORDER_WINDOW) {
        ssmp_perm_set(&order->perm, order->size / run->chunk_size, order->key);
    }
}

SSMP_FN int ssmp_order_is(const ssmp_order *order, uint64_t epoch,
                          uint32_t blocks, uint32_t block)
{
    return order->blocks == blocks && order->block == block &&
           order->epoch == epoch;
}

/* The order of this epoch and block: `have` if it is that, otherwise one set
   up in spare. Both may be the same. */
SSMP_FN const ssmp_order *ssmp_order_for(ssmp_order *spare,
                                         const ssmp_order *have,
                                         const ssmp_run *run, uint64_t epoch,
                                         uint32_t blocks, uint32_t block)
{
    if (ssmp_order_is(have, epoch, blocks, block)) {
        return have;
    }
    if (!ssmp_order_is(spare, epoch, blocks, block)) {
        ssmp_order_set(spare, run, epoch, blocks, block);
    }
    return spare;
}

/* The permutation inside one window: the order's, or one set up in spare. */
SSMP_FN const statesampler_perm *ssmp_order_window(ssmp_order *spare,
                                                   const ssmp_order *order,
                                                   const ssmp_run *run,
                                                   uint64_t window)
{
    uint64_t span = run->chunk_size * run->window;
    uint64_t size = ssmp_min(span, order->size - window * span);
    uint64_t key = ssmp_derive(order->key, SSMP_WINDOW + window);
    if (order->inside.n == size && order->inside.key == key) {
        return &order->inside;
    }
    if (spare->inside.n != size || spare->inside.key != key) {
        ssmp_perm_set(&spare->inside, size, key);
    }
    return &spare->inside;
}

/* Values inside a window become what they are inside their chunk, and slots the
   chunks' numbers in the window. */
SSMP_NOINLINE void ssmp_order_split(uint64_t *slots, uint64_t *values,
                                    size_t count, const ssmp_run *run)
{
    const uint64_t size = run->chunk_size;
    size_t i = 0;
#ifdef SSMP_VECTORS
    if (size * run->window <= SSMP_MAX32) {
        /* A division takes as long as several rounds. A product with this
           inverse, rounded down, is the quotient or one less; and compilers
           do it in vectors. */
        const uint32_t narrow = (uint32_t)size;
        const uint32_t inverse = SSMP_MAX32 / narrow;
        for (; i < count; i++) {
            uint32_t slot = (uint32_t)(values[i] * inverse >> 32);
            uint32_t rest = (uint32_t)values[i] - slot * narrow;
            uint32_t over = rest >= narrow;
            slots[i] = slot + over;
            values[i] = rest - (over ? narrow : 0);
        }
    }
#endif
    for (; i < count; i++) {
        slots[i] = values[i] / size;
        values[i] -= slots[i] * size;
    }
}

/* Values inside a window become samples: value q is sample q mod chunk_size of
   the chunk in slot q div chunk_size. */
SSMP_NOINLINE void ssmp_order_open_window(uint64_t *out, size_t count,
                                          const ssmp_run *run,
                                          const ssmp_order *order,
                                          uint64_t window)
{
    const uint64_t first = window * run->window, full = order->perm.n;
    const uint64_t size = run->chunk_size, start = order->start;
    uint64_t chunks[SSMP_ASIDE];
    size_t i, some;
    for (; count != 0; count -= some) { /* by one or more in every turn */
        some = (size_t)ssmp_min(count, SSMP_ASIDE);
        ssmp_order_split(chunks, out, some, run);
        for (i = 0; i < some; i++) {
            /* The short chunk is one on from the last full one; slot 0
               stands in for its own. */
            chunks[i] += first;
            if (chunks[i] == full) {
                chunks[i] = 0;
                out[i] += size;
            }
        }
        if (full != 0) {
            ssmp_perm_map(chunks, &order->perm, some);
        }
        for (i = 0; i < some; i++) {
            uint64_t chunk = *out < size ? chunks[i] : full - 1;
            *out++ += start + chunk * size;
        }
    }
}

#ifdef SSMP_VECTORS

/* The same for a window of few slots, whose chunks are all looked up first:
   moves[slot] is how far a value of that slot is from its sample. With inverse
   = 2^57 / size, rounded down, plus 1, value * inverse / 2^57 is above value /
   size by less than value / 2^57; as value < 64 * size and size <= 2^25, by
   less than 1 / size, which does not reach the next whole number. */
SSMP_NOINLINE void ssmp_order_open_slots(uint64_t *out, size_t count,
                                         const ssmp_run *run,
                                         const ssmp_order *order,
                                         uint64_t window)
{
    const uint64_t first = window * run->window, full = order->perm.n;
    const uint64_t size = run->chunk_size;
    const uint64_t inverse = ((uint64_t)1 << 57) / size + 1;
    uint64_t moves[SSMP_ASIDE];
    size_t known = (size_t)ssmp_min(run->window, full - first);
    size_t i;
    statesampler_perm_fill(&order->perm, first, 1, moves, known);
    if (known < run->window) {
        moves[known] = full; /* the short chunk stays the last */
    }
    for (i = 0; i <= known && i < run->window; i++) {
        moves[i] = order->start + (moves[i] - i) * size;
    }
    for (i = 0; i < count; i++) {
        out[i] += moves[out[i] * inverse >> 57];
    }
}

#endif

SSMP_FN void ssmp_order_fill_windows(uint64_t *out, const ssmp_run *run,
                                     const ssmp_order *order, ssmp_order *spare,
                                     uint64_t first, uint64_t stride,
                                     size_t count)
{
    const uint64_t span = run->chunk_size * run->window;
    while (count != 0) { /* first is in its window: one index or more */
        uint64_t window = first / span, inside = first - window * span;
        const statesampler_perm *perm =
            ssmp_order_window(spare, order, run, window);
        size_t some = count;
        if (stride != 0) {
            some = (size_t)ssmp_min(count, (perm->n - 1 - inside) / stride + 1);
        }
        statesampler_perm_fill(perm, inside, stride, out, some);
#ifdef SSMP_VECTORS
        if (run->window <= SSMP_ASIDE && run->chunk_size <= (uint32_t)1 << 25) {
            ssmp_order_open_slots(out, some, run, order, window);
        } else
#endif
        {
            ssmp_order_open_window(out, some, run, order, window);
        }
        out += some;
        count -= some;
        first += some * stride;
    }
}

/* Independent uniform values below the block's size: of the words of a
   position the first that is below it, once ANDed with a mask of ones. The
   loops end: a position's words run through all 2^64 values before one
   repeats, and one of them is 0. Half of them or more are below the size. */
#ifdef SSMP_VECTORS

SSMP_FN void ssmp_order_draw_words(uint64_t *out, uint64_t position,
                                   uint64_t stride, uint64_t mask,
                                   uint64_t size, size_t count)
{
    const uint64_t golden = SSMP_GOLDEN;
    uint64_t states[SSMP_ASIDE];
    unsigned char where[SSMP_ASIDE];
    while (count != 0) { /* it falls by one or more in every turn */
        uint32_t some = (uint32_t)ssmp_min(count, SSMP_ASIDE);
        uint32_t i, k, waiting = 0;
        for (i = 0; i < some; i++, position += stride) {
            states[i] = ssmp_derive(0, position) + golden;
            out[i] = ssmp_scramble(states[i]) & mask;
        }
        for (i = 0; i < some; i++) {
            where[waiting] = (unsigned char)i;
            waiting += out[i] >= size;
        }
        while (waiting != 0) {
            for (k = 0, i = 0; i < waiting; i++) {
                uint32_t at = where[i];
                states[at] += golden;
                out[at] = ssmp_scramble(states[at]) & mask;
                where[k] = (unsigned char)at;
                k += out[at] >= size;
            }
            waiting = k;
        }
        out += some;
        count -= some;
    }
}

#else

SSMP_FN void ssmp_order_draw_words(uint64_t *out, uint64_t position,
                                   uint64_t stride, uint64_t mask,
                                   uint64_t size, size_t count)
{
    for (; count != 0; count--, position += stride, out++) {
        uint64_t state = ssmp_derive(0, position);
        do {
            state += SSMP_GOLDEN;
            *out = ssmp_scramble(state) & mask;
        } while (*out >= size);
    }
}

#endif

SSMP_NOINLINE void ssmp_order_draw(uint64_t *out, const ssmp_order *order,
                                   uint64_t first, uint64_t stride,
                                   size_t count)
{
    const uint64_t start = order->start;
    uint64_t mask = order->size - 1;
    size_t i;
    for (i = 1; i < 64; i *= 2) {
        mask |= mask >> i;
    }
    ssmp_order_draw_words(out, order->key + SSMP_DRAW + first, stride, mask,
                          order->size, count);
    for (i = 0; i < count; i++) {
        out[i] += start;
    }
}

/* The samples at positions first, first + stride, ... of the order's block,
   count of them; the last one is in it, too. */
SSMP_FN void ssmp_order_fill(uint64_t *out, const ssmp_run *run,
                             const ssmp_order *order, ssmp_order *spare,
                             uint64_t first, uint64_t stride, size_t count)
{
    const uint64_t start = order->start;
    size_t i;
    if (run->order == STATESAMPLER_ORDER_SHUFFLE) {
        statesampler_perm_fill(&order->perm, first, stride, out, count);
        for (i = 0; start != 0 && i < count; i++) {
            out[i] += start;
        }
    } else if (run->order == STATESAMPLER_ORDER_SEQUENTIAL) {
        first += start;
        for (i = 0; i < count; i++) {
            out[i] = first + i * stride;
        }
    } else if (run->order == STATESAMPLER_ORDER_WINDOW) {
        ssmp_order_fill_windows(out, run, order, spare, first, stride, count);
    } else {
        ssmp_order_draw(out, order, first, stride, count);
    }
}

/* The position of a sample, counted from the block's start. The inverse of
   order_fill, for all orders but REPLACEMENT. */
SSMP_FN uint64_t ssmp_order_inverse(const ssmp_run *run,
                                    const ssmp_order *order, ssmp_order *spare,
                                    uint64_t sample)
{
    uint64_t slot, window;
    if (run->order == STATESAMPLER_ORDER_SEQUENTIAL) {
        return sample;
    }
    if (run->order == STATESAMPLER_ORDER_SHUFFLE) {
        return statesampler_perm_inverse(&order->perm, sample);
    }
    slot = sample / run->chunk_size;
    sample -= slot * run->chunk_size;
    if (slot < order->perm.n) {
        slot = statesampler_perm_inverse(&order->perm, slot);
    }
    window = slot / run->window;
    sample += (slot - window * run->window) * run->chunk_size;
    return window * (run->chunk_size * run->window) +
           statesampler_perm_inverse(
               ssmp_order_window(spare, order, run, window), sample);
}

/* --- sampler ---------------------------------------------------------------
   Bounds that keep every sum below 2^64: num_samples <= 2^62, the global batch
   < 2^62, world_size < 2^32. A position is below 2^62 + 2^33, as padding adds
   less than blocks + world_size to num_samples. */

/* Field by field, as compilers may call memcpy for the whole. */
SSMP_FN void ssmp_spot_copy(ssmp_spot *to, const ssmp_spot *from)
{
    to->epoch = from->epoch;
    to->position = from->position;
    to->step = from->step;
}

SSMP_OUTLINE_FOR_SIZE void ssmp_leg_copy(ssmp_leg *to, const ssmp_leg *from)
{
    ssmp_spot_copy(&to->base, &from->base);
    to->end = from->end;
    to->blocks = from->blocks;
}

/* --- sampler: the tail, and what a shape serves of an epoch */

/* Whether the tail fills the last part with repeats. */
SSMP_FN int ssmp_run_pads(const ssmp_run *run)
{
    return run->tail == STATESAMPLER_TAIL_PAD;
}

/* What the tail makes of samples in parts of equal size, where the last part is
   short: all parts full (PAD), without the last (DROP), or as they are. */
SSMP_OUTLINE_FOR_SIZE uint64_t ssmp_run_whole(const ssmp_run *run,
                                              uint64_t samples, uint32_t parts)
{
    uint64_t over = samples % parts;
    if (run->tail == STATESAMPLER_TAIL_DROP) {
        return samples - over;
    }
    return ssmp_run_pads(run) && over != 0 ? samples - over + parts : samples;
}

/* The position whose sample a padding position repeats: the first of its block
   (which is the block's number) or, where that is empty or there are no blocks,
   the one counted from the start again. */
SSMP_FN uint64_t ssmp_run_repeated(const ssmp_run *run, uint32_t blocks,
                                   uint64_t position)
{
    uint64_t block = position % blocks;
    return run->partition == STATESAMPLER_PARTITION_BLOCKED &&
                   block < run->num_samples
               ? block
               : position % run->num_samples;
}

/* Where the epoch ends in which a run is, but for its drop_last: D of the
   manual and, from the base on, equal parts for all ranks. */
SSMP_FN uint64_t ssmp_run_end(const ssmp_run *run, const ssmp_leg *leg)
{
    uint64_t base = leg->base.position, end;
    if (run->tail == STATESAMPLER_TAIL_CARRY) {
        return run->num_samples;
    }
    end = ssmp_run_whole(run, run->num_samples, leg->blocks);
    return end <= base
               ? base
               : base + ssmp_run_whole(run, end - base, run->world_size);
}

/* Sets the end of a leg whose base and blocks are set. */
SSMP_FN void ssmp_leg_close(ssmp_leg *leg, const statesampler *s)
{
    leg->end = ssmp_run_end(&s->run, leg);
    if (s->drop_last) {
        leg->end -= (leg->end - leg->base.position) % s->global_batch;
    }
}

/* The leg of a whole epoch. */
SSMP_FN void ssmp_leg_begin(ssmp_leg *leg, const statesampler *s,
                            uint64_t epoch)
{
    leg->base.epoch = epoch;
    leg->base.position = 0;
    leg->base.step = 0;
    leg->blocks = s->run.partition == STATESAMPLER_PARTITION_BLOCKED
                      ? s->run.world_size
                      : 1;
    ssmp_leg_close(leg, s);
}

/* Steps of a leg; with CARRY, to where the base must move. */
SSMP_FN uint64_t ssmp_leg_steps(const ssmp_leg *leg, const statesampler *s)
{
    if (s->run.tail == STATESAMPLER_TAIL_CARRY) {
        return STATESAMPLER_MAX_SAMPLES / s->global_batch;
    }
    return ssmp_ceil_div(leg->end - leg->base.position, s->global_batch);
}

/* Where the step begins that is so many, at most leg_steps, after the base. */
SSMP_FN void ssmp_leg_spot(ssmp_spot *spot, const ssmp_leg *leg,
                           const statesampler *s, uint64_t steps)
{
    uint64_t position = leg->base.position + steps * s->global_batch;
    spot->step = leg->base.step + steps;
    spot->epoch = leg->base.epoch;
    if (s->run.tail == STATESAMPLER_TAIL_CARRY) {
        spot->epoch += position / s->run.num_samples;
        spot->position = position % s->run.num_samples;
    } else {
        spot->position = ssmp_min(position, leg->end);
    }
}

/* Whether there is no step at a position of a leg; with CARRY there is. */
SSMP_FN int ssmp_leg_ends(const ssmp_leg *leg, const statesampler *s,
                          uint64_t position)
{
    return position == leg->end && s->run.tail != STATESAMPLER_TAIL_CARRY;
}

/* --- sampler: reading a step */

/* How many of the positions first, first + W, ... (count of them) are below
   bound. */
SSMP_FN size_t ssmp_rank_below(const statesampler *s, uint64_t bound,
                               uint64_t first, size_t count)
{
    if (first >= bound) {
        return 0;
    }
    return (size_t)ssmp_min(count, (bound - 1 - first) / s->run.world_size + 1);
}

/* How many samples this rank has in the step at a position of a leg. */
SSMP_FN size_t ssmp_rank_count(const statesampler *s, const ssmp_leg *leg,
                               uint64_t position)
{
    if (s->run.tail == STATESAMPLER_TAIL_CARRY ||
        leg->end - position >= s->global_batch) {
        return (size_t)s->run.batch_size;
    }
    return ssmp_rank_below(s, leg->end, position + s->rank,
                           (size_t)s->run.batch_size);
}

/* What a step is read through: a sampler, one of its legs, and room for an
   order that the sampler has not at hand. */
typedef struct ssmp_view {
    const statesampler *s;
    const ssmp_leg *leg;
    ssmp_order *spare; /* may be the sampler's own */
} ssmp_view;

/* The samples at positions first, first + stride, ..., count of them, all of
   one block and below num_samples. */
SSMP_NOINLINE void ssmp_view_fill_block(uint64_t *out, const ssmp_view *view,
                                        uint64_t epoch, uint64_t first,
                                        uint64_t stride, size_t count)
{
    const ssmp_run *run = &view->s->run;
    uint32_t blocks = view->leg->blocks, block = 0;
    const ssmp_order *order;
    if (blocks != 1) {
        block = (uint32_t)(first % blocks);
        first /= blocks;
        stride /= blocks;
    }
    order =
        ssmp_order_for(view->spare, &view->s->ready, run, epoch, blocks, block);
    ssmp_order_fill(out, run, order, view->spare, first, stride, count);
}

#ifdef SSMP_VECTORS

/* The greatest common divisor, by Euclid: b falls in every turn. */
SSMP_FN uint32_t ssmp_gcd(uint32_t a, uint32_t b)
{
    while (b != 0) {
        uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* The samples at positions first, first + W, ..., count of them, all below
   num_samples, where each is in another block than the one before: first all
   slots of one block, then those of the next. */
SSMP_NOINLINE void ssmp_view_fill_slots(uint64_t *out, const ssmp_view *view,
                                        uint64_t epoch, uint64_t first,
                                        size_t count)
{
    const uint32_t world_size = view->s->run.world_size;
    const uint32_t blocks = view->leg->blocks;
    uint32_t period, slot;
    period = blocks / ssmp_gcd(blocks, world_size);
    for (slot = 0; slot < period && slot < count; slot++) {
        const uint64_t stride = (uint64_t)period * world_size;
        uint64_t position = first + (uint64_t)slot * world_size;
        uint64_t some[SSMP_ASIDE];
        uint64_t done = slot;
        while (done < count) { /* by a period or more in every turn */
            uint32_t i, k = (uint32_t)ssmp_min((count - done - 1) / period + 1,
                                               SSMP_ASIDE);
            ssmp_view_fill_block(some, view, epoch, position, stride, k);
            for (i = 0; i < k; i++, done += period) {
                out[done] = some[i];
            }
            position += k * stride;
        }
    }
}

#else

SSMP_FN void ssmp_view_fill_slots(uint64_t *out, const ssmp_view *view,
                                  uint64_t epoch, uint64_t first, size_t count)
{
    for (; count != 0; count--, first += view->s->run.world_size) {
        ssmp_view_fill_block(out++, view, epoch, first, 0, 1);
    }
}

#endif

/* This rank's count samples of the step at a spot. With CARRY they may run
   through several epochs; each turn serves at least one. */
SSMP_FN void ssmp_view_fill(uint64_t *out, const ssmp_view *view,
                            const ssmp_spot *spot, size_t count)
{
    const statesampler *s = view->s;
    const uint64_t n = s->run.num_samples, stride = s->run.world_size;
    const uint32_t blocks = view->leg->blocks;
    uint64_t epoch = spot->epoch, first = spot->position + s->rank;
    while (count != 0) {
        size_t some = count;
        if (s->run.tail == STATESAMPLER_TAIL_CARRY && first >= n) {
            epoch += first / n;
            first %= n;
        }
        if (first + (count - 1) * stride >= n) {
            some = ssmp_rank_below(s, n, first, count);
        }
        if (some != 0 && (blocks == 1 || stride % blocks == 0)) {
            ssmp_view_fill_block(out, view, epoch, first, stride, some);
        } else if (some != 0) {
            /* As after a change of world size. */
            ssmp_view_fill_slots(out, view, epoch, first, some);
        }
        out += some;
        count -= some;
        first += some * stride;
        if (s->run.tail != STATESAMPLER_TAIL_CARRY) {
            for (; count != 0; count--, first += stride) {
                ssmp_view_fill_block(out++, view, epoch,
                                     ssmp_run_repeated(&s->run, blocks, first),
                                     0, 1);
            }
        }
    }
}

/* Sets up the order of the present epoch, for this rank's first block. */
SSMP_FN void ssmp_sampler_prepare(statesampler *s)
{
    uint32_t blocks = s->run.leg.blocks;
    (void)ssmp_order_for(&s->ready, &s->ready, &s->run, s->run.now.epoch,
                         blocks,
                         (uint32_t)((s->run.now.position + s->rank) % blocks));
}

/* --- sampler: its shape */

SSMP_FN int ssmp_shape_check(uint32_t rank, uint32_t world_size,
                             uint32_t batch_size)
{
    if (rank >= world_size) {
        return SSMP_EINVAL_RANK;
    }
    return (uint64_t)world_size * batch_size >= STATESAMPLER_MAX_SAMPLES
               ? SSMP_EINVAL_GLOBAL_BATCH
               : STATESAMPLER_OK;
}

/* A step's samples are counted by a size_t, which some small cores have of 16
   bits. A state may tell of larger batches, which other machines served. */
SSMP_FN int ssmp_batch_check(uint32_t batch_size)
{
    return (size_t)batch_size != batch_size ? SSMP_EINVAL_BATCH_SIZE
                                            : STATESAMPLER_OK;
}

SSMP_OUTLINE_FOR_SIZE void ssmp_sampler_reshape(statesampler *s,
                                                uint32_t world_size,
                                                uint32_t batch_size)
{
    s->run.world_size = world_size;
    s->run.batch_size = batch_size;
    s->global_batch = (uint64_t)world_size * batch_size;
}

/* --- sampler: the description */

SSMP_FN int ssmp_desc_check_window(const statesampler_desc *d)
{
    if (d->order != STATESAMPLER_ORDER_WINDOW) {
        return STATESAMPLER_OK;
    }
    if (d->chunk_size == 0) {
        return SSMP_EINVAL_CHUNK_SIZE;
    }
    if (d->window == 0) {
        return SSMP_EINVAL_WINDOW;
    }
    return d->window > (STATESAMPLER_MAX_SAMPLES - 1) / d->chunk_size
               ? SSMP_EINVAL_CHUNKS
               : STATESAMPLER_OK;
}

SSMP_FN int ssmp_desc_check_carry(const statesampler_desc *d)
{
    if (d->tail != STATESAMPLER_TAIL_CARRY) {
        return STATESAMPLER_OK;
    }
    if (d->num_samples == 0) {
        return SSMP_EINVAL_CARRY_EMPTY;
    }
    if (d->partition == STATESAMPLER_PARTITION_BLOCKED) {
        return SSMP_EINVAL_CARRY_BLOCKED;
    }
    return d->drop_last ? SSMP_EINVAL_CARRY_DROP_LAST : STATESAMPLER_OK;
}

/* The rules of init; of load too, as a state may hold nothing else. */
SSMP_FN int ssmp_desc_check(const statesampler_desc *d)
{
    int code;
    if (d->num_samples > STATESAMPLER_MAX_SAMPLES) {
        return SSMP_EINVAL_NUM_SAMPLES;
    }
    code = ssmp_shape_check(d->rank, d->world_size ? d->world_size : 1,
                            d->batch_size);
    if (code != STATESAMPLER_OK) {
        return code;
    }
    if (d->order > STATESAMPLER_ORDER_REPLACEMENT) {
        return SSMP_EINVAL_ORDER;
    }
    if (d->partition > STATESAMPLER_PARTITION_BLOCKED) {
        return SSMP_EINVAL_PARTITION;
    }
    if (d->tail > STATESAMPLER_TAIL_CARRY) {
        return SSMP_EINVAL_TAIL;
    }
    if (d->drop_last > 1) {
        return SSMP_EINVAL_DROP_LAST;
    }
    code = ssmp_desc_check_window(d);
    return code == STATESAMPLER_OK ? ssmp_desc_check_carry(d) : code;
}

STATESAMPLER_DEF int statesampler_init(statesampler *s,
                                       const statesampler_desc *desc)
{
    int code;
    STATESAMPLER_ASSERT(s && desc);
    code = ssmp_desc_check(desc);
    if (code == STATESAMPLER_OK) {
        code = ssmp_batch_check(desc->batch_size);
    }
    if (code != STATESAMPLER_OK) {
        return code;
    }
    s->run.num_samples = desc->num_samples;
    s->run.seed = desc->seed;
    s->run.stream = desc->stream;
    s->run.chunk_size = 0;
    s->run.window = 0;
    if (desc->order == STATESAMPLER_ORDER_WINDOW) {
        s->run.chunk_size = desc->chunk_size;
        s->run.window = desc->window;
    }
    s->run.order = desc->order;
    s->run.partition = desc->partition;
    s->run.tail = desc->tail;
    s->rank = desc->rank;
    s->drop_last = desc->drop_last;
    ssmp_sampler_reshape(s, desc->world_size ? desc->world_size : 1,
                         desc->batch_size ? desc->batch_size : 1);
    ssmp_order_clear(&s->ready);
    statesampler_begin(s, desc->epoch);
    return STATESAMPLER_OK;
}

/* The description of a run as rank 0, without its epoch and drop_last. */
SSMP_FN void ssmp_run_describe(statesampler_desc *desc, const ssmp_run *run)
{
    desc->num_samples = run->num_samples;
    desc->seed = run->seed;
    desc->epoch = 0;
    desc->stream = run->stream;
    desc->rank = 0;
    desc->world_size = run->world_size;
    desc->batch_size = run->batch_size;
    desc->order = run->order;
    desc->partition = run->partition;
    desc->tail = run->tail;
    desc->drop_last = 0;
    desc->chunk_size = run->chunk_size;
    desc->window = run->window;
}

/* --- sampler: moving */

STATESAMPLER_DEF void statesampler_begin(statesampler *s, uint64_t epoch)
{
    STATESAMPLER_ASSERT(s && s->run.world_size != 0);
    ssmp_leg_begin(&s->run.leg, s, epoch);
    ssmp_spot_copy(&s->run.now, &s->run.leg.base);
    ssmp_sampler_prepare(s);
}

STATESAMPLER_DEF void statesampler_set_epoch(statesampler *s, uint64_t epoch)
{
    STATESAMPLER_ASSERT(s && s->run.world_size != 0);
    if (epoch != s->run.now.epoch) {
        statesampler_begin(s, epoch);
    }
}

/* Makes the present the base: of a whole epoch where nothing is served. */
SSMP_OUTLINE_FOR_SIZE void ssmp_sampler_rebase(statesampler *s)
{
    if (s->run.now.position == 0 && s->run.tail != STATESAMPLER_TAIL_CARRY) {
        statesampler_begin(s, s->run.now.epoch);
        return;
    }
    ssmp_spot_copy(&s->run.leg.base, &s->run.now);
    ssmp_leg_close(&s->run.leg, s);
}

STATESAMPLER_DEF int statesampler_reshape(statesampler *s, uint32_t rank,
                                          uint32_t world_size,
                                          uint32_t batch_size)
{
    int code;
    STATESAMPLER_ASSERT(s && s->run.world_size != 0);
    world_size = world_size ? world_size : 1;
    batch_size = batch_size ? batch_size : 1;
    code = ssmp_shape_check(rank, world_size, batch_size);
    if (code == STATESAMPLER_OK) {
        code = ssmp_batch_check(batch_size);
    }
    if (code != STATESAMPLER_OK) {
        return code;
    }
    s->rank = rank;
    if (world_size != s->run.world_size || batch_size != s->run.batch_size) {
        ssmp_sampler_reshape(s, world_size, batch_size);
        ssmp_sampler_rebase(s);
    }
    ssmp_sampler_prepare(s); /* rank may be another */
    return STATESAMPLER_OK;
}

STATESAMPLER_DEF int statesampler_resize(statesampler *s, uint64_t num_samples)
{
    ssmp_spot *now;
    int carry;
    STATESAMPLER_ASSERT(s && s->run.world_size != 0);
    now = &s->run.now;
    carry = s->run.tail == STATESAMPLER_TAIL_CARRY;
    if (num_samples > STATESAMPLER_MAX_SAMPLES) {
        return SSMP_EINVAL_NUM_SAMPLES;
    }
    if (s->run.order != STATESAMPLER_ORDER_SEQUENTIAL ||
        s->run.partition != STATESAMPLER_PARTITION_INTERLEAVED) {
        return SSMP_EINVAL_RESIZE;
    }
    if (carry && num_samples == 0) {
        return SSMP_EINVAL_CARRY_EMPTY;
    }
    if (num_samples == s->run.num_samples) {
        return STATESAMPLER_OK;
    }
    if (num_samples < now->position) {
        return SSMP_ERANGE_POSITION;
    }
    if (carry && num_samples == now->position) {
        now->epoch++; /* its epoch ends here, and the next one begins */
        now->position = 0;
    }
    s->run.num_samples = num_samples;
    s->ready.blocks = 0; /* it was of another length */
    ssmp_sampler_rebase(s);
    return STATESAMPLER_OK;
}

/* Serves the present step, which is there, and moves past it. Returns how many
   samples this rank had in it. */
SSMP_FN size_t ssmp_sampler_serve(uint64_t *out, statesampler *s)
{
    ssmp_run *run = &s->run;
    ssmp_spot *now = &run->now;
    size_t count = ssmp_rank_count(s, &run->leg, now->position);
    if (out) {
        ssmp_view view;
        view.s = s;
        view.leg = &run->leg;
        view.spare = &s->ready;
        ssmp_view_fill(out, &view, now, count);
    }
    now->step++;
    now->position += s->global_batch;
    if (run->tail != STATESAMPLER_TAIL_CARRY) {
        now->position = ssmp_min(now->position, run->leg.end);
        return count;
    }
    if (now->position >= run->num_samples) {
        now->epoch += now->position / run->num_samples;
        now->position %= run->num_samples;
    }
    /* So that the product never overflows. */
    if ((now->step - run->leg.base.step) * s->global_batch >=
        STATESAMPLER_MAX_SAMPLES) {
        ssmp_sampler_rebase(s);
    }
    return count;
}

STATESAMPLER_DEF int statesampler_next(statesampler *s, uint64_t *out,
                                       size_t *count)
{
    size_t samples = 0;
    int more;
    STATESAMPLER_ASSERT(s && s->run.world_size != 0 && (count || !out));
    more = !ssmp_leg_ends(&s->run.leg, s, s->run.now.position);
    if (more) {
        samples = ssmp_sampler_serve(out, s);
    } else {
        statesampler_begin(s, s->run.now.epoch + 1);
    }
    if (count) {
        *count = samples;
    }
    return more;
}

/* Where a step of the present leg begins, its end included. */
SSMP_FN int ssmp_sampler_find(ssmp_spot *spot, const statesampler *s,
                              uint64_t step)
{
    const ssmp_leg *leg = &s->run.leg;
    const int carry = s->run.tail == STATESAMPLER_TAIL_CARRY;
    if (step < leg->base.step) {
        return SSMP_ERANGE_BASE;
    }
    if ((carry && step > STATESAMPLER_NONE / 2) ||
        step - leg->base.step > ssmp_leg_steps(leg, s)) {
        return carry ? SSMP_ERANGE_FAR : SSMP_ERANGE_END;
    }
    ssmp_leg_spot(spot, leg, s, step - leg->base.step);
    return STATESAMPLER_OK;
}

/* Serves this rank's batch of the step at a spot of a leg, without moving. */
SSMP_FN size_t ssmp_sampler_peek(uint64_t *out, const statesampler *s,
                                 const ssmp_leg *leg, const ssmp_spot *spot)
{
    size_t count = ssmp_rank_count(s, leg, spot->position);
    if (out) {
        ssmp_order spare;
        ssmp_view view;
        view.s = s;
        view.leg = leg;
        view.spare = &spare;
        ssmp_order_clear(&spare);
        ssmp_view_fill(out, &view, spot, count);
    }
    return count;
}

STATESAMPLER_DEF int statesampler_at(const statesampler *s, uint64_t step,
                                     uint64_t *out, size_t *count)
{
    const ssmp_leg *leg;
    ssmp_spot spot;
    size_t samples = 0;
    int code;
    STATESAMPLER_ASSERT(s && s->run.world_size != 0 && (count || !out));
    leg = &s->run.leg;
    code = ssmp_sampler_find(&spot, s, step);
    if (code == SSMP_ERANGE_END) {
        code = 0;
    } else if (code == STATESAMPLER_OK &&
               !ssmp_leg_ends(leg, s, spot.position)) {
        code = 1;
        samples = ssmp_sampler_peek(out, s, leg, &spot);
    }
    if (count) {
        *count = samples;
    }
    return code;
}

STATESAMPLER_DEF int statesampler_seek(statesampler *s, uint64_t step)
{
    STATESAMPLER_ASSERT(s && s->run.world_size != 0);
    return ssmp_sampler_find(&s->run.now, s, step);
}

/* --- sampler: what it says of itself */

STATESAMPLER_DEF uint64_t statesampler_sample_seed(const statesampler *s,
                                                   uint64_t epoch,
                                                   uint64_t index)
{
    STATESAMPLER_ASSERT(s && s->run.world_size != 0);
    return ssmp_derive(
        ssmp_order_knows(&s->ready, epoch)
            ? s->ready.seed_key
            : ssmp_derive(ssmp_epoch_key(s->run.seed, epoch, s->run.stream),
                          SSMP_SEED),
        index);
}

STATESAMPLER_DEF uint64_t statesampler_epoch(const statesampler *s)
{
    STATESAMPLER_ASSERT(s && s->run.world_size != 0);
    return s->run.now.epoch;
}

STATESAMPLER_DEF uint64_t statesampler_step(const statesampler *s)
{
    STATESAMPLER_ASSERT(s && s->run.world_size != 0);
    return s->run.now.step;
}

STATESAMPLER_DEF uint64_t statesampler_num_steps(const statesampler *s)
{
    const ssmp_leg *leg;
    STATESAMPLER_ASSERT(s && s->run.world_size != 0);
    leg = &s->run.leg;
    return s->run.tail == STATESAMPLER_TAIL_CARRY
               ? STATESAMPLER_NONE
               : leg->base.step + ssmp_leg_steps(leg, s);
}

STATESAMPLER_DEF uint64_t statesampler_position(const statesampler *s)
{
    STATESAMPLER_ASSERT(s && s->run.world_size != 0);
    return s->run.now.position;
}

STATESAMPLER_DEF void statesampler_get_counts(const statesampler *s,
                                              statesampler_counts *counts)
{
    const ssmp_leg *leg;
    uint64_t used;
    STATESAMPLER_ASSERT(s && s->run.world_size != 0 && counts);
    leg = &s->run.leg;
    used = ssmp_min(leg->end, s->run.num_samples);
    counts->positions = leg->end;
    counts->padded = leg->end - used;
    counts->dropped = s->run.num_samples - used;
    counts->steps = statesampler_num_steps(s);
    counts->rank_samples = STATESAMPLER_NONE;
    counts->rank_batches = STATESAMPLER_NONE;
    if (s->run.tail != STATESAMPLER_TAIL_CARRY) {
        uint64_t rest = leg->end - leg->base.position;
        rest += s->run.world_size - 1 - s->rank;
        counts->rank_samples = rest / s->run.world_size;
        counts->rank_batches =
            ssmp_ceil_div(counts->rank_samples, s->run.batch_size);
    }
}

STATESAMPLER_DEF size_t statesampler_padding(const statesampler *s,
                                             uint64_t step)
{
    ssmp_spot spot;
    size_t count;
    STATESAMPLER_ASSERT(s && s->run.world_size != 0);
    if (s->run.tail == STATESAMPLER_TAIL_CARRY ||
        ssmp_sampler_find(&spot, s, step) != STATESAMPLER_OK) {
        return 0;
    }
    count = ssmp_rank_count(s, &s->run.leg, spot.position);
    return count - ssmp_rank_below(s, s->run.num_samples,
                                   spot.position + s->rank, count);
}

/* The position in this epoch at which a sample stands, or NONE if DROP leaves
   it out. Not for REPLACEMENT. */
SSMP_FN uint64_t ssmp_sampler_position_of(const statesampler *s, uint64_t index)
{
    const ssmp_run *run = &s->run;
    const uint32_t blocks = run->leg.blocks;
    const ssmp_order *order;
    ssmp_order spare;
    uint64_t quota = run->num_samples / blocks;
    uint64_t longer = run->num_samples % blocks, block;
    if (run->tail == STATESAMPLER_TAIL_DROP) {
        if (index >= run->num_samples - longer) {
            return STATESAMPLER_NONE;
        }
        longer = 0;
    }
    /* The first `longer` blocks have quota + 1 samples. */
    block = index < longer * (quota + 1) ? index / (quota + 1)
                                         : (index - longer) / quota;
    ssmp_order_clear(&spare);
    order = ssmp_order_for(&spare, &s->ready, run, run->now.epoch, blocks,
                           (uint32_t)block);
    return block + blocks * ssmp_order_inverse(run, order, &spare,
                                               index - order->start);
}

STATESAMPLER_DEF int statesampler_locate(const statesampler *s, uint64_t index,
                                         statesampler_place *place)
{
    const ssmp_leg *leg;
    uint64_t position, past;
    STATESAMPLER_ASSERT(s && s->run.world_size != 0 && place);
    leg = &s->run.leg;
    if (s->run.order == STATESAMPLER_ORDER_REPLACEMENT) {
        return SSMP_EINVAL_REPLACEMENT;
    }
    if (index >= s->run.num_samples) {
        return SSMP_ERANGE_INDEX;
    }
    position = ssmp_sampler_position_of(s, index);
    if (position >= leg->end) {
        return SSMP_ERANGE_DROPPED;
    }
    /* Positions since the first of the base's epoch: with CARRY below
       2^62 + 2 * num_samples, otherwise the position itself. */
    past = (s->run.now.epoch - leg->base.epoch) * s->run.num_samples + position;
    if (past < leg->base.position) {
        return SSMP_ERANGE_SERVED;
    }
    past -= leg->base.position;
    place->position = position;
    place->step = leg->base.step + past / s->global_batch;
    place->slot = (uint32_t)(past % s->global_batch / s->run.world_size);
    place->rank = (uint32_t)(past % s->run.world_size);
    return STATESAMPLER_OK;
}

/* --- state -----------------------------------------------------------------
   The manual's byte tables say what stands where. Bytes are moved by shifts,
   so that neither byte order nor alignment matters. Only the pairs
   run_encode and run_decode, spot_encode and spot_decode, source_encode and
   source_decode, and what saves and reads each kind of state, know offsets. */

/* Of samplers, mixes and mixtures: where it rises, the states of all three are
   others. */
#define SSMP_FORMAT 1
#define SSMP_MAGIC_SAMPLER 0x504d5353u /* "SSMP" */
#define SSMP_MAGIC_MIX 0x584d5353u     /* "SSMX" */
#define SSMP_MAGIC_MIXTURE 0x4e4d5353u /* "SSMN" */

SSMP_FN uint32_t ssmp_bytes_load32(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 |
           (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

SSMP_FN uint64_t ssmp_bytes_load64(const unsigned char *bytes)
{
    return (uint64_t)ssmp_bytes_load32(bytes + 4) << 32 |
           ssmp_bytes_load32(bytes);
}

SSMP_FN void ssmp_bytes_store32(unsigned char *bytes, uint32_t value)
{
    bytes[0] = (unsigned char)(value & 255);
    bytes[1] = (unsigned char)(value >> 8 & 255);
    bytes[2] = (unsigned char)(value >> 16 & 255);
    bytes[3] = (unsigned char)(value >> 24);
}

SSMP_FN void ssmp_bytes_store64(unsigned char *bytes, uint64_t value)
{
    ssmp_bytes_store32(bytes, (uint32_t)value);
    ssmp_bytes_store32(bytes + 4, (uint32_t)(value >> 32));
}

/* Epoch, position and step, 24 bytes. */
SSMP_FN void ssmp_spot_encode(unsigned char *bytes, const ssmp_spot *spot)
{
    ssmp_bytes_store64(bytes, spot->epoch);
    ssmp_bytes_store64(bytes + 8, spot->position);
    ssmp_bytes_store64(bytes + 16, spot->step);
}

SSMP_FN void ssmp_spot_decode(ssmp_spot *spot, const unsigned char *bytes)
{
    spot->epoch = ssmp_bytes_load64(bytes);
    spot->position = ssmp_bytes_load64(bytes + 8);
    spot->step = ssmp_bytes_load64(bytes + 16);
}

/* Bytes 8 to 63 of a sampler's state, and of a source in a mix's. */
SSMP_FN void ssmp_run_encode(unsigned char *bytes, const ssmp_run *run,
                             uint32_t blocks)
{
    ssmp_bytes_store64(bytes + 8, run->num_samples);
    ssmp_bytes_store64(bytes + 16, run->seed);
    ssmp_bytes_store64(bytes + 24, run->stream);
    ssmp_bytes_store64(bytes + 32, run->chunk_size);
    ssmp_bytes_store64(bytes + 40, run->window);
    bytes[48] = (unsigned char)run->order;
    bytes[49] = (unsigned char)run->partition;
    bytes[50] = (unsigned char)run->tail;
    bytes[51] = 0;
    ssmp_bytes_store32(bytes + 52, blocks);
    ssmp_bytes_store32(bytes + 56, run->world_size);
    ssmp_bytes_store32(bytes + 60, run->batch_size);
}

/* Returns 0 if byte 51 is not. */
SSMP_FN int ssmp_run_decode(ssmp_run *run, const unsigned char *bytes)
{
    run->num_samples = ssmp_bytes_load64(bytes + 8);
    run->seed = ssmp_bytes_load64(bytes + 16);
    run->stream = ssmp_bytes_load64(bytes + 24);
    run->chunk_size = ssmp_bytes_load64(bytes + 32);
    run->window = ssmp_bytes_load64(bytes + 40);
    run->order = bytes[48];
    run->partition = bytes[49];
    run->tail = bytes[50];
    run->leg.blocks = ssmp_bytes_load32(bytes + 52);
    run->world_size = ssmp_bytes_load32(bytes + 56);
    run->batch_size = ssmp_bytes_load32(bytes + 60);
    return bytes[51] == 0;
}

/* The check word over the bytes before it. Every turn is a bijection of the
   hash for a fixed word and of the word for a fixed hash, so that a change
   inside one word always shows. */
SSMP_OUTLINE_FOR_SIZE uint64_t ssmp_state_hash(const unsigned char *bytes,
                                               size_t size)
{
    uint64_t hash = 0;
    for (; size != 0; size -= 8, bytes += 8) {
        hash ^= ssmp_bytes_load64(bytes);
        hash *= SSMP_GOLDEN;
        hash ^= hash >> 32;
    }
    return hash;
}

/* The first eight bytes: magic, format version and algorithm. */
SSMP_FN void ssmp_state_begin(unsigned char *bytes, uint32_t magic)
{
    ssmp_bytes_store32(bytes, magic);
    ssmp_bytes_store32(bytes + 4,
                       (uint32_t)STATESAMPLER_ALGORITHM << 16 | SSMP_FORMAT);
}

/* The last eight of so many. */
SSMP_FN void ssmp_state_end(unsigned char *bytes, size_t size)
{
    ssmp_bytes_store64(bytes + size - 8, ssmp_state_hash(bytes, size - 8));
}

/* OK if these bytes are a whole state, of this kind and of so many bytes. */
SSMP_FN int ssmp_state_check(const unsigned char *bytes, size_t size,
                             uint32_t magic, size_t expected)
{
    uint32_t version;
    if (size < 8) {
        return SSMP_ECORRUPT_SIZE;
    }
    version = ssmp_bytes_load32(bytes + 4);
    if (ssmp_bytes_load32(bytes) != magic || (version & 0xffff) == 0) {
        return SSMP_ECORRUPT_MAGIC;
    }
    if ((version & 0xffff) > SSMP_FORMAT) {
        return SSMP_EVERSION_FORMAT;
    }
    if (size != expected) {
        return SSMP_ECORRUPT_SIZE;
    }
    if (ssmp_bytes_load64(bytes + size - 8) !=
        ssmp_state_hash(bytes, size - 8)) {
        return SSMP_ECORRUPT_CHECK;
    }
    return version >> 16 == STATESAMPLER_ALGORITHM
               ? STATESAMPLER_OK
               : SSMP_EVERSION_ALGORITHM;
}

/* Positions that a run has served since its base. */
SSMP_FN uint64_t ssmp_run_served(const ssmp_run *run)
{
    return (run->now.epoch - run->leg.base.epoch) * run->num_samples +
           run->now.position - run->leg.base.position;
}

/* OK if positions and base are such as a run with CARRY has. seek stops at
   2^63 steps, and 2^61 more take centuries. */
SSMP_FN int ssmp_run_check_carry(const ssmp_run *run)
{
    const ssmp_spot *base = &run->leg.base;
    uint64_t n = run->num_samples, epochs = run->now.epoch - base->epoch;
    uint64_t served = ssmp_run_served(run);
    if (base->position >= n || base->step >> 61 > 4) {
        return SSMP_ECORRUPT_BASE;
    }
    return run->now.position >= n ||
                   epochs > STATESAMPLER_MAX_SAMPLES / n + 1 ||
                   served > STATESAMPLER_MAX_SAMPLES ||
                   served % ((uint64_t)run->world_size * run->batch_size) != 0
               ? SSMP_ECORRUPT_POSITION
               : STATESAMPLER_OK;
}

/* The same for the other tails. A base is where another shape stopped: at most
   its padding, which is less than its world size, after the last sample. And
   a step serves one position or more; the first of an epoch, one of each block
   or all, so that no more than all samples are left from a base on. */
SSMP_FN int ssmp_run_check_spots(const ssmp_run *run)
{
    const ssmp_spot *base = &run->leg.base;
    uint64_t served = run->now.position - base->position;
    uint64_t end = ssmp_run_end(run, &run->leg);
    uint64_t all = ssmp_run_whole(run, run->num_samples, run->leg.blocks);
    uint64_t most = all;
    if (ssmp_run_pads(run)) {
        most += SSMP_MAX32 - 1;
    }
    if (base->position > most || base->step > base->position ||
        (base->position != 0 &&
         base->position < ssmp_min(all, run->leg.blocks))) {
        return SSMP_ECORRUPT_BASE;
    }
    return run->now.epoch != base->epoch || served > end - base->position ||
                   (run->now.position != end &&
                    served % ((uint64_t)run->world_size * run->batch_size) != 0)
               ? SSMP_ECORRUPT_POSITION
               : STATESAMPLER_OK;
}

/* Whether this many blocks are what a run of this shape has. */
SSMP_FN int ssmp_run_check_blocks(const ssmp_run *run)
{
    uint32_t blocks = run->leg.blocks;
    if (run->partition == STATESAMPLER_PARTITION_INTERLEAVED) {
        return blocks == 1;
    }
    return blocks != 0 &&
           (run->leg.base.position != 0 || blocks == run->world_size);
}

/* OK if a run can have saved this, else what is wrong with it. */
SSMP_FN int ssmp_run_check(const ssmp_run *run)
{
    const ssmp_spot *base = &run->leg.base;
    statesampler_desc desc;
    ssmp_run_describe(&desc, run);
    if (run->world_size == 0 || run->batch_size == 0 ||
        ssmp_desc_check(&desc) != STATESAMPLER_OK) {
        return SSMP_ECORRUPT_DESC;
    }
    if (run->order != STATESAMPLER_ORDER_WINDOW &&
        (run->chunk_size | run->window) != 0) {
        return SSMP_ECORRUPT_ZERO;
    }
    if (!ssmp_run_check_blocks(run)) {
        return SSMP_ECORRUPT_BLOCKS;
    }
    if (base->step == 0 && base->position != 0) {
        return SSMP_ECORRUPT_BASE;
    }
    return run->tail == STATESAMPLER_TAIL_CARRY ? ssmp_run_check_carry(run)
                                                : ssmp_run_check_spots(run);
}

/* OK if two runs are of the same dataset, in the same order. */
SSMP_FN int ssmp_run_match(const ssmp_run *run, const ssmp_run *other)
{
    if (run->num_samples != other->num_samples) {
        return SSMP_EMISMATCH_NUM_SAMPLES;
    }
    if (run->seed != other->seed) {
        return SSMP_EMISMATCH_SEED;
    }
    if (run->stream != other->stream) {
        return SSMP_EMISMATCH_STREAM;
    }
    if (run->order != other->order) {
        return SSMP_EMISMATCH_ORDER;
    }
    if (run->chunk_size != other->chunk_size) {
        return SSMP_EMISMATCH_CHUNK_SIZE;
    }
    if (run->window != other->window) {
        return SSMP_EMISMATCH_WINDOW;
    }
    if (run->partition != other->partition) {
        return SSMP_EMISMATCH_PARTITION;
    }
    return run->tail == other->tail ? STATESAMPLER_OK
                                    : SSMP_EMISMATCH_TAIL;
}

/* Goes on where a run is that matches. */
SSMP_FN void ssmp_sampler_follow(statesampler *s, const ssmp_run *run)
{
    ssmp_spot_copy(&s->run.now, &run->now);
    ssmp_spot_copy(&s->run.leg.base, &run->leg.base);
    s->run.leg.blocks = run->leg.blocks;
    ssmp_leg_close(&s->run.leg, s);
    /* Of another shape, or saved after a step that this loader's drop_last
       leaves out. */
    if (run->world_size != s->run.world_size ||
        run->batch_size != s->run.batch_size ||
        s->run.now.position > s->run.leg.end) {
        ssmp_sampler_rebase(s);
    }
    ssmp_sampler_prepare(s);
}

STATESAMPLER_DEF int statesampler_save(const statesampler *s, void *out,
                                       size_t size)
{
    unsigned char *bytes = (unsigned char *)out;
    STATESAMPLER_ASSERT(s && s->run.world_size != 0 && (out || size == 0));
    if (size < STATESAMPLER_STATE_BYTES) {
        return STATESAMPLER_ECAPACITY;
    }
    ssmp_state_begin(bytes, SSMP_MAGIC_SAMPLER);
    ssmp_run_encode(bytes, &s->run, s->run.leg.blocks);
    ssmp_bytes_store64(bytes + 64, s->run.now.epoch);
    ssmp_bytes_store64(bytes + 72, s->run.now.position);
    ssmp_spot_encode(bytes + 80, &s->run.leg.base);
    ssmp_state_end(bytes, STATESAMPLER_STATE_BYTES);
    return STATESAMPLER_OK;
}

/* Reads a sampler's state. */
SSMP_FN int ssmp_run_read(ssmp_run *run, const unsigned char *bytes,
                          size_t size)
{
    int code = ssmp_state_check(bytes, size, SSMP_MAGIC_SAMPLER,
                                STATESAMPLER_STATE_BYTES);
    if (code != STATESAMPLER_OK) {
        return code;
    }
    if (!ssmp_run_decode(run, bytes)) {
        return SSMP_ECORRUPT_ZERO;
    }
    run->now.epoch = ssmp_bytes_load64(bytes + 64);
    run->now.position = ssmp_bytes_load64(bytes + 72);
    ssmp_spot_decode(&run->leg.base, bytes + 80);
    code = ssmp_run_check(run);
    if (code == STATESAMPLER_OK) {
        run->now.step =
            run->leg.base.step +
            ssmp_ceil_div(ssmp_run_served(run),
                          (uint64_t)run->world_size * run->batch_size);
    }
    return code;
}

STATESAMPLER_DEF int statesampler_load(statesampler *s, const void *state,
                                       size_t size)
{
    ssmp_run run;
    int code;
    STATESAMPLER_ASSERT(s && s->run.world_size != 0 && (state || size == 0));
    code = ssmp_run_read(&run, (const unsigned char *)state, size);
    if (code == STATESAMPLER_OK) {
        code = ssmp_run_match(&run, &s->run);
    }
    if (code == STATESAMPLER_OK) {
        ssmp_sampler_follow(s, &run);
    }
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
    if (code != STATESAMPLER_OK) {
        return code;
    }
    if (desc) {
        ssmp_run_describe(desc, &run);
        desc->epoch = run.now.epoch;
    }
    if (place) {
        place->position = run.now.position;
        place->step = run.now.step;
        place->rank = 0;
        place->slot = 0;
    }
    return STATESAMPLER_OK;
}

/* --- mix: the sequence -----------------------------------------------------
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

#define SSMP_NOBODY SSMP_MAX32
#define SSMP_TOO_FAR (2 * STATESAMPLER_MAX_SAMPLES)

/* The seat whose turn comes at a point; *turns is how many it has had. */
SSMP_FN uint32_t ssmp_mix_seat_at(uint64_t *turns, const statesampler_mix *mix,
                                  uint64_t point)
{
    uint32_t weight = mix->weight, bit, node = 0, right;
    uint64_t rounds = point / weight;
    *turns = point % weight;
    for (bit = 1; (right = node + bit) < mix->seats; bit *= 2) {
        uint32_t left = weight - mix->sources[right].row.right;
        uint64_t product = *turns * left + weight / 2; /* < 2^62 + 2^30 */
        uint64_t share = product / weight;             /* the left child's */
        if (product - share * weight + left >= weight) {
            *turns = share;
            weight = left;
        } else {
            *turns -= share;
            weight -= left;
            node = right;
        }
    }
    *turns += rounds * weight;
    return node;
}

/* How many turns a seat has had at a point. */
SSMP_FN uint64_t ssmp_mix_turns_of(const statesampler_mix *mix, uint32_t seat,
                                   uint64_t point)
{
    uint32_t weight = mix->weight, bit, node = 0, right;
    uint64_t rounds = point / weight, turns = point % weight;
    for (bit = 1; (right = node + bit) < mix->seats; bit *= 2) {
        uint32_t left = weight - mix->sources[right].row.right;
        uint64_t share = (turns * left + weight / 2) / weight;
        if (seat & bit) {
            turns -= share;
            weight -= left;
            node = right;
        } else {
            turns = share;
            weight = left;
        }
    }
    return rounds * weight + turns;
}

/* The point at which a seat takes its turn of this number, from 0, or TOO_FAR.
   From the leaf to the root, a child of weight a has its turn k at turn
   (k * w + w / 2) / a of its parent, as that is where its share is rounded up
   to k + 1; a left child's half is rounded down first. */
SSMP_FN uint64_t ssmp_mix_point_of(const statesampler_mix *mix, uint32_t seat,
                                   uint64_t turns)
{
    uint32_t weights[32], level = 0, node = 0, right;
    uint64_t rounds;
    weights[0] = mix->weight;
    while ((right = node + ((uint32_t)1 << level)) < mix->seats) {
        uint32_t part = mix->sources[right].row.right;
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
    return rounds < SSMP_TOO_FAR / mix->weight ? rounds * mix->weight + turns
                                               : SSMP_TOO_FAR;
}

SSMP_FN statesampler_source *ssmp_mix_seated(const statesampler_mix *mix,
                                             uint32_t seat)
{
    return mix->sources + mix->sources[seat].row.source;
}

/* How many turns before a point ALL does not pass over. */
SSMP_FN uint64_t ssmp_mix_taken(const statesampler_mix *mix, uint64_t point)
{
    uint64_t sum = 0;
    uint32_t seat;
    for (seat = 0; seat < mix->seats; seat++) {
        const statesampler_source *source = ssmp_mix_seated(mix, seat);
        sum += ssmp_min(ssmp_mix_turns_of(mix, seat, point),
                        source->base_turns + source->left);
    }
    return sum;
}

/* The point of a turn of the mix, before its end. With ALL it is as many
   points farther as turns were passed over: the step doubles until it leads
   too far, and is halved from there on, 126 times at most, as points are
   below 2^63. */
SSMP_NOINLINE uint64_t ssmp_mix_point(const statesampler_mix *mix,
                                      uint64_t turn)
{
    uint64_t goal = mix->base_point + (turn - mix->base_turn);
    uint64_t point = goal, step = 1;
    if (mix->stop != STATESAMPLER_STOP_ALL) {
        return goal;
    }
    while (ssmp_mix_taken(mix, point + step) <= goal) {
        point += step;
        step *= 2;
    }
    for (step /= 2; step != 0; step /= 2) {
        if (ssmp_mix_taken(mix, point + step) <= goal) {
            point += step;
        }
    }
    return point;
}

/* --- mix: the base ---------------------------------------------------------
   At the base the samplers stand where the mix's shape began, and what is
   noted of them there gives every turn from then on. */

SSMP_FN uint32_t ssmp_source_weight(const statesampler_source *source)
{
    return source->weight ? source->weight : 1;
}

/* Whether a source takes turns: it is not off and has steps, with FIRST and ALL
   in the present epoch, served ones counted, otherwise in epochs to come. */
SSMP_FN int ssmp_source_plays(const statesampler_source *source, uint32_t stop)
{
    const statesampler *s = &source->sampler;
    ssmp_leg leg;
    if (source->weight == STATESAMPLER_OFF) {
        return 0;
    }
    if (stop <= STATESAMPLER_STOP_ALL) {
        return statesampler_num_steps(s) != 0;
    }
    ssmp_leg_begin(&leg, s, 0);
    return leg.end != 0;
}

/* Gives seats to the sources that have steps. If they are not those that had
   seats before, another sequence begins. */
SSMP_FN void ssmp_mix_seat(statesampler_mix *mix)
{
    statesampler_source *sources = mix->sources;
    uint32_t i, bit;
    mix->seats = 0;
    mix->weight = 0;
    for (i = 0; i < mix->num_sources; i++) {
        const uint32_t weight = ssmp_source_weight(sources + i);
        const uint32_t had = sources[i].seat != SSMP_NOBODY;
        uint32_t seat = SSMP_NOBODY;
        sources[i].base_turns = 0;
        sources[i].left = 0;
        if (ssmp_source_plays(sources + i, mix->stop)) {
            seat = mix->seats++;
            mix->weight += weight;
            sources[seat].row.source = i;
            sources[seat].row.right = 0;
            for (bit = 1; bit <= seat; bit *= 2) {
                if (seat & bit) {
                    sources[seat & (2 * bit - 1)].row.right += weight;
                }
            }
        }
        if (had != (seat != SSMP_NOBODY)) {
            mix->point = 0;
        }
        sources[i].seat = seat;
    }
    for (i = mix->seats; i < mix->num_sources; i++) {
        sources[i].row.source = 0;
        sources[i].row.right = 0;
        sources[i].row.alive = 0;
    }
}

/* What a look at the sources finds, in points but for left: the first and the
   last of them to have nothing left (the last of those that had not finished
   before, and the last of all), and the first with CARRY. */
typedef struct ssmp_tally {
    uint64_t first, last, farthest, reach;
    uint64_t left; /* steps of all */
} ssmp_tally;

/* Notes of a source where it stands. */
SSMP_FN void ssmp_mix_note(ssmp_tally *tally, statesampler_mix *mix,
                           uint32_t seat)
{
    statesampler_source *source = ssmp_mix_seated(mix, seat);
    const statesampler *s = &source->sampler;
    const int carry = s->run.tail == STATESAMPLER_TAIL_CARRY;
    uint64_t over;
    source->left = ssmp_leg_steps(&s->run.leg, s);
    source->base_turns =
        mix->point == 0 ? 0 : ssmp_mix_turns_of(mix, seat, mix->point);
    tally->left += source->left;
    if (source->left != 0) {
        mix->sources[mix->alive++].row.alive = seat;
    }
    if (mix->stop == STATESAMPLER_STOP_NEVER && !carry) {
        return;
    }
    /* Its first turn without a step. */
    over = ssmp_mix_point_of(mix, seat, source->base_turns + source->left);
    tally->first = ssmp_min(tally->first, over);
    if (over > tally->farthest) {
        tally->farthest = over;
    }
    if (over > tally->last && !source->finished) {
        tally->last = over;
    }
    if (carry) {
        tally->reach = ssmp_min(tally->reach, over);
    }
}

/* Notes of every source where it stands, and where the epoch of the mix ends.
   Returns 0 if the sequence does not reach that far. */
SSMP_NOINLINE int ssmp_mix_tally(statesampler_mix *mix)
{
    ssmp_tally tally;
    uint32_t seat;
    tally.first = tally.reach = STATESAMPLER_NONE;
    tally.last = mix->point;
    tally.farthest = tally.left = 0;
    mix->alive = 0;
    for (seat = 0; seat < mix->seats; seat++) {
        ssmp_mix_note(&tally, mix, seat);
    }
    mix->base_turn = mix->turn;
    mix->base_point = mix->point;
    mix->reach = tally.reach == STATESAMPLER_NONE
                     ? tally.reach
                     : mix->turn + (tally.reach - mix->point);
    mix->end = mix->turn;
    if (mix->stop == STATESAMPLER_STOP_NEVER) {
        mix->end = STATESAMPLER_NONE;
        return 1;
    }
    if (mix->stop == STATESAMPLER_STOP_ALL) {
        mix->end += tally.left;
    } else if (mix->stop == STATESAMPLER_STOP_RESTART) {
        mix->end += tally.last - mix->point;
    } else if (mix->seats != 0) {
        mix->end += tally.first - mix->point;
        tally.farthest = tally.first; /* no other turn comes */
    }
    return tally.farthest < SSMP_TOO_FAR;
}

/* The base of the tally is the mix's from now on. */
SSMP_FN void ssmp_mix_commit(statesampler_mix *mix)
{
    uint32_t i;
    for (i = 0; i < mix->num_sources; i++) {
        statesampler_source *source = mix->sources + i;
        ssmp_leg_copy(&source->base, &source->sampler.run.leg);
    }
}

/* Makes the present turn the base. */
SSMP_FN void ssmp_mix_rebase(statesampler_mix *mix)
{
    uint32_t i;
    for (i = 0; i < mix->num_sources; i++) {
        ssmp_sampler_rebase(&mix->sources[i].sampler);
        if (mix->turn == 0) {
            mix->sources[i].finished = 0;
        }
    }
    ssmp_mix_seat(mix);
    if (!ssmp_mix_tally(mix)) {
        /* No run comes to a point from where what is left is too far: mix_init
           looks at whole epochs. From the sequence's start nothing is. */
        mix->point = 0;
        (void)ssmp_mix_tally(mix);
    }
    ssmp_mix_commit(mix);
}

/* --- mix: its rules */

/* Steps of a whole epoch of a source. From any base on there are fewer: so what
   a mix may do does not depend on where it stands. */
SSMP_FN uint64_t ssmp_source_most_steps(const statesampler *s)
{
    ssmp_leg leg;
    ssmp_leg_begin(&leg, s, 0);
    return ssmp_leg_steps(&leg, s);
}

/* OK if a sampler may be in a mix with the first one. */
SSMP_FN int ssmp_source_check(const statesampler *s, const statesampler *first,
                              uint32_t stop)
{
    if (s->rank != first->rank) {
        return SSMP_EINVAL_SOURCE_RANK;
    }
    if (s->run.world_size != first->run.world_size) {
        return SSMP_EINVAL_SOURCE_WORLD_SIZE;
    }
    return s->run.tail == STATESAMPLER_TAIL_CARRY &&
                   stop != STATESAMPLER_STOP_NEVER
               ? SSMP_EINVAL_SOURCE_CARRY
               : STATESAMPLER_OK;
}

/* OK if all of a sequence fits in which sources of these weights altogether
   take turns until all have finished. Sources without steps count: they may
   have some in another shape. */
SSMP_FN int ssmp_mix_check_sequence(const statesampler_source *sources,
                                    uint32_t num_sources, uint64_t weights)
{
    uint32_t i;
    for (i = 0; i < num_sources; i++) {
        if (sources[i].weight != STATESAMPLER_OFF &&
            ssmp_source_most_steps(&sources[i].sampler) /
                    ssmp_source_weight(sources + i) >=
                STATESAMPLER_MAX_SAMPLES / weights) {
            return SSMP_EINVAL_SEQUENCE;
        }
    }
    return STATESAMPLER_OK;
}

/* OK if these sources may take turns with their weights. */
SSMP_FN int ssmp_mix_check_weights(const statesampler_source *sources,
                                   uint32_t num_sources, uint32_t stop)
{
    uint64_t weights = 0;
    uint32_t i, seats = 0;
    for (i = 0; i < num_sources; i++) {
        if (sources[i].weight != STATESAMPLER_OFF) {
            weights += ssmp_source_weight(sources + i);
        }
        if (weights >> 31) {
            return SSMP_EINVAL_WEIGHTS;
        }
        seats += (uint32_t)ssmp_source_plays(sources + i, stop);
    }
    if (weights == 0) {
        return SSMP_EINVAL_ALL_OFF;
    }
    if (stop == STATESAMPLER_STOP_NEVER) {
        return seats ? STATESAMPLER_OK : SSMP_EINVAL_NO_STEPS;
    }
    return stop == STATESAMPLER_STOP_FIRST
               ? STATESAMPLER_OK
               : ssmp_mix_check_sequence(sources, num_sources, weights);
}

/* The rules of mix_init. */
SSMP_FN int ssmp_mix_check(const statesampler_source *sources,
                           uint32_t num_sources, uint32_t stop)
{
    uint64_t samples = 0;
    uint32_t i;
    if (num_sources == 0) {
        return SSMP_EINVAL_NO_SOURCES;
    }
    if (stop > STATESAMPLER_STOP_NEVER) {
        return SSMP_EINVAL_STOP;
    }
    for (i = 0; i < num_sources; i++) {
        const statesampler *s = &sources[i].sampler;
        int code;
        STATESAMPLER_ASSERT(s->run.world_size != 0);
        code = ssmp_source_check(s, &sources->sampler, stop);
        if (code != STATESAMPLER_OK) {
            return code;
        }
        samples += s->run.num_samples;
        if (samples >= STATESAMPLER_MAX_SAMPLES) {
            return SSMP_EINVAL_SOURCE_SAMPLES;
        }
    }
    return ssmp_mix_check_weights(sources, num_sources, stop);
}

/* What was its own while others were tried is so again, or no more. */
SSMP_FN void ssmp_source_forget(statesampler_source *source)
{
    source->own_weight = 0;
    source->own_batch_size = 0;
    source->own_drop_last = 0;
    source->own_finished = 0;
}

STATESAMPLER_DEF int statesampler_mix_init(statesampler_mix *mix,
                                           statesampler_source *sources,
                                           uint32_t num_sources, uint32_t stop)
{
    uint32_t i;
    int code;
    STATESAMPLER_ASSERT(mix && (sources || num_sources == 0));
    code = ssmp_mix_check(sources, num_sources, stop);
    if (code != STATESAMPLER_OK) {
        return code;
    }
    mix->sources = sources;
    mix->num_sources = num_sources;
    mix->stop = stop;
    mix->epoch = 0;
    mix->turn = 0;
    mix->point = 0;
    for (i = 0; i < num_sources; i++) {
        sources[i].seat = SSMP_NOBODY;
        ssmp_source_forget(sources + i);
    }
    ssmp_mix_rebase(mix);
    return STATESAMPLER_OK;
}

/* --- mix: moving */

/* The number of the source whose turn comes at a point; *turns is how many it
   has had since the base. */
SSMP_FN uint32_t ssmp_mix_due(uint64_t *turns, const statesampler_mix *mix,
                              uint64_t point)
{
    uint32_t seat = ssmp_mix_seat_at(turns, mix, point);
    uint32_t source = mix->sources[seat].row.source;
    *turns -= mix->sources[source].base_turns;
    return source;
}

/* Where a source is after so many turns since the base. At the end of an
   epoch it stays there until its next turn. */
SSMP_FN void ssmp_source_after(ssmp_leg *leg, ssmp_spot *spot,
                               const statesampler_source *source,
                               uint64_t turns)
{
    const statesampler *s = &source->sampler;
    ssmp_leg_copy(leg, &source->base);
    if (turns > source->left) {
        uint64_t steps;
        turns -= source->left + 1;
        ssmp_leg_begin(leg, s, leg->base.epoch + 1);
        steps = ssmp_leg_steps(leg, s);
        leg->base.epoch += turns / steps;
        turns = turns % steps + 1;
    }
    ssmp_leg_spot(spot, leg, s, turns);
}

/* Moves the point to the next turn that ALL does not pass over: turn by turn
   as long as that costs no more, and then to the first that one of those
   comes to which have something left. */
SSMP_FN void ssmp_mix_pass_over(statesampler_mix *mix)
{
    const statesampler_source *sources = mix->sources;
    uint64_t next = STATESAMPLER_NONE, turns;
    uint32_t k;
    for (k = 0; k < mix->alive; k++) {
        uint32_t i = ssmp_mix_due(&turns, mix, ++mix->point);
        if (turns < sources[i].left) {
            return;
        }
    }
    for (k = 0; k < mix->alive; k++) {
        uint32_t seat = sources[k].row.alive;
        const statesampler_source *source = ssmp_mix_seated(mix, seat);
        turns = source->base_turns +
                (source->sampler.run.now.step - source->base.base.step);
        next = ssmp_min(next, ssmp_mix_point_of(mix, seat, turns));
    }
    mix->point = next;
}

/* A source with ALL has finished: its seat leaves the list of the others. */
SSMP_FN void ssmp_mix_retire(statesampler_mix *mix, uint32_t seat)
{
    statesampler_source *sources = mix->sources;
    uint32_t k, kept = 0;
    for (k = 0; k < mix->alive; k++) {
        sources[kept].row.alive = sources[k].row.alive;
        kept += sources[k].row.alive != seat;
    }
    mix->alive = kept;
}

/* Serves the turn that comes, which is there. Returns whose it was. */
SSMP_FN uint32_t ssmp_mix_serve(size_t *count, uint64_t *out,
                                statesampler_mix *mix)
{
    statesampler_source *source;
    statesampler *s;
    uint64_t turns;
    uint32_t i = ssmp_mix_due(&turns, mix, mix->point);
    if (mix->stop == STATESAMPLER_STOP_ALL && turns >= mix->sources[i].left) {
        ssmp_mix_pass_over(mix);
        i = ssmp_mix_due(&turns, mix, mix->point);
    }
    source = mix->sources + i;
    s = &source->sampler;
    if (ssmp_leg_ends(&s->run.leg, s, s->run.now.position)) {
        statesampler_begin(s, s->run.now.epoch + 1);
    }
    *count = ssmp_sampler_serve(out, s);
    mix->point++;
    mix->turn++;
    if (turns + 1 >= source->left) {
        if (s->run.tail == STATESAMPLER_TAIL_CARRY) {
            ssmp_mix_rebase(mix); /* no seek reaches farther */
        } else if (mix->stop == STATESAMPLER_STOP_ALL) {
            ssmp_mix_retire(mix, source->seat);
        }
    }
    return i;
}

/* Begins the next epoch of the mix. */
SSMP_FN void ssmp_mix_begin(statesampler_mix *mix)
{
    uint32_t i;
    for (i = 0; i < mix->num_sources; i++) {
        statesampler *s = &mix->sources[i].sampler;
        /* What one that is off has left of its epoch is still to come. */
        if (s->run.now.step != 0 &&
            (mix->sources[i].weight != STATESAMPLER_OFF ||
             ssmp_leg_ends(&s->run.leg, s, s->run.now.position))) {
            statesampler_begin(s, s->run.now.epoch + 1);
        }
    }
    mix->epoch++;
    mix->turn = 0;
    mix->point = 0;
    ssmp_mix_rebase(mix);
}

STATESAMPLER_DEF int statesampler_mix_next(statesampler_mix *mix, uint64_t *out,
                                           size_t *count, uint32_t *source)
{
    size_t samples = 0;
    int more;
    STATESAMPLER_ASSERT(mix && mix->sources && ((count && source) || !out));
    more = mix->turn != mix->end;
    if (more) {
        uint32_t taken = ssmp_mix_serve(&samples, out, mix);
        if (source) {
            *source = taken;
        }
    } else {
        ssmp_mix_begin(mix);
    }
    if (count) {
        *count = samples;
    }
    return more;
}

/* OK if at, seek and locate reach a turn; its end counts. */
SSMP_FN int ssmp_mix_find(const statesampler_mix *mix, uint64_t turn)
{
    if (turn < mix->base_turn) {
        return SSMP_ERANGE_BASE;
    }
    if (turn > mix->end) {
        return SSMP_ERANGE_END;
    }
    return turn > STATESAMPLER_MAX_SAMPLES || turn > mix->reach
               ? SSMP_ERANGE_FAR
               : STATESAMPLER_OK;
}

/* Serves a turn that mix_find finds, before the end, without moving. Returns
   whose it is. */
SSMP_FN uint32_t ssmp_mix_peek(size_t *count, uint64_t *out,
                               const statesampler_mix *mix, uint64_t turn)
{
    const statesampler_source *source;
    ssmp_leg leg;
    ssmp_spot spot;
    uint64_t turns;
    uint32_t i = ssmp_mix_due(&turns, mix, ssmp_mix_point(mix, turn));
    source = mix->sources + i;
    ssmp_source_after(&leg, &spot, source, turns);
    if (ssmp_leg_ends(&leg, &source->sampler, spot.position)) {
        ssmp_leg_begin(&leg, &source->sampler, spot.epoch + 1);
        ssmp_spot_copy(&spot, &leg.base);
    }
    *count = ssmp_sampler_peek(out, &source->sampler, &leg, &spot);
    return i;
}

STATESAMPLER_DEF int statesampler_mix_at(const statesampler_mix *mix,
                                         uint64_t turn, uint64_t *out,
                                         size_t *count, uint32_t *source)
{
    size_t samples = 0;
    int code;
    STATESAMPLER_ASSERT(mix && mix->sources && ((count && source) || !out));
    code = ssmp_mix_find(mix, turn);
    if (code == SSMP_ERANGE_END) {
        code = 0;
    } else if (code == STATESAMPLER_OK && turn != mix->end) {
        uint32_t taken = ssmp_mix_peek(&samples, out, mix, turn);
        code = 1;
        if (source) {
            *source = taken;
        }
    }
    if (count) {
        *count = samples;
    }
    return code;
}

/* Moves every source to where it is at a turn that mix_find finds. */
SSMP_FN void ssmp_mix_goto(statesampler_mix *mix, uint64_t turn)
{
    uint32_t seat;
    mix->point = turn == mix->base_turn ? mix->base_point
                                        : ssmp_mix_point(mix, turn - 1) + 1;
    mix->turn = turn;
    mix->alive = 0;
    for (seat = 0; seat < mix->seats; seat++) {
        statesampler_source *source = ssmp_mix_seated(mix, seat);
        ssmp_run *run = &source->sampler.run;
        uint64_t turns =
            ssmp_mix_turns_of(mix, seat, mix->point) - source->base_turns;
        if (mix->stop == STATESAMPLER_STOP_ALL) {
            turns = ssmp_min(turns, source->left);
        }
        if (turns < source->left) {
            mix->sources[mix->alive++].row.alive = seat;
        }
        ssmp_source_after(&run->leg, &run->now, source, turns);
    }
}

STATESAMPLER_DEF int statesampler_mix_seek(statesampler_mix *mix, uint64_t turn)
{
    int code;
    STATESAMPLER_ASSERT(mix && mix->sources);
    code = ssmp_mix_find(mix, turn);
    if (code == STATESAMPLER_OK) {
        ssmp_mix_goto(mix, turn);
    }
    return code;
}

/* --- mix: other weights, other shapes */

/* Before the base moves to the present turn: whether a source has finished. */
SSMP_FN void ssmp_source_note(statesampler_source *source)
{
    if (source->sampler.run.now.epoch != source->base.base.epoch) {
        source->finished = 1;
    }
}

/* Gives all sources other weights, and notes what they had. Returns 0 if they
   are the same. */
SSMP_FN int ssmp_mix_try(statesampler_mix *mix, const uint32_t *weights)
{
    int others = 0;
    uint32_t i;
    for (i = 0; i < mix->num_sources; i++) {
        statesampler_source *source = mix->sources + i;
        uint32_t own = ssmp_source_weight(source);
        source->own_weight = source->weight;
        source->weight = weights[i];
        others |= own != ssmp_source_weight(source);
    }
    return others;
}

STATESAMPLER_DEF int statesampler_mix_weigh(statesampler_mix *mix,
                                            const uint32_t *weights)
{
    int code = STATESAMPLER_OK, others;
    uint32_t i;
    STATESAMPLER_ASSERT(mix && mix->sources && weights);
    others = ssmp_mix_try(mix, weights);
    if (others) {
        code =
            ssmp_mix_check_weights(mix->sources, mix->num_sources, mix->stop);
    }
    for (i = 0; i < mix->num_sources; i++) {
        statesampler_source *source = mix->sources + i;
        if (!others || code != STATESAMPLER_OK) {
            source->weight = source->own_weight;
        } else {
            ssmp_source_note(source);
        }
        ssmp_source_forget(source);
    }
    if (others && code == STATESAMPLER_OK) {
        mix->point = 0;
        ssmp_mix_rebase(mix);
    }
    return code;
}

/* Gives a source a shape; then the mix must be rebased. */
SSMP_FN void ssmp_source_reshape(statesampler_source *source,
                                 uint32_t world_size, uint32_t batch_size,
                                 uint32_t drop_last)
{
    source->sampler.drop_last = drop_last;
    ssmp_source_note(source);
    ssmp_sampler_reshape(&source->sampler, world_size, batch_size);
}

/* OK if the sources may be of so many ranks. */
SSMP_FN int ssmp_mix_check_ranks(statesampler_mix *mix, uint32_t rank,
                                 uint32_t world_size)
{
    const uint32_t own = mix->sources->sampler.run.world_size;
    int code = STATESAMPLER_OK;
    uint32_t i;
    for (i = 0; code == STATESAMPLER_OK && i < mix->num_sources; i++) {
        code = ssmp_shape_check(rank, world_size,
                                mix->sources[i].sampler.run.batch_size);
    }
    if (code != STATESAMPLER_OK) {
        return code;
    }
    /* The rules look at the sources: they have that shape for so long. */
    for (i = 0; i < mix->num_sources; i++) {
        statesampler *s = &mix->sources[i].sampler;
        ssmp_sampler_reshape(s, world_size, s->run.batch_size);
    }
    code = ssmp_mix_check_weights(mix->sources, mix->num_sources, mix->stop);
    for (i = 0; i < mix->num_sources; i++) {
        statesampler *s = &mix->sources[i].sampler;
        ssmp_sampler_reshape(s, own, s->run.batch_size);
    }
    return code;
}

STATESAMPLER_DEF int statesampler_mix_reshape(statesampler_mix *mix,
                                              uint32_t rank,
                                              uint32_t world_size)
{
    uint32_t i;
    int code, same;
    STATESAMPLER_ASSERT(mix && mix->sources);
    world_size = world_size ? world_size : 1;
    same = world_size == mix->sources->sampler.run.world_size;
    code = ssmp_mix_check_ranks(mix, rank, world_size);
    if (code != STATESAMPLER_OK) {
        return code;
    }
    for (i = 0; i < mix->num_sources; i++) {
        statesampler_source *source = mix->sources + i;
        statesampler *s = &source->sampler;
        s->rank = rank;
        if (!same) {
            ssmp_source_reshape(source, world_size, s->run.batch_size,
                                s->drop_last);
        }
        ssmp_sampler_prepare(s);
    }
    if (!same) {
        ssmp_mix_rebase(mix);
    }
    return STATESAMPLER_OK;
}

/* --- mix: what it says of itself */

STATESAMPLER_DEF uint64_t statesampler_mix_turn(const statesampler_mix *mix)
{
    STATESAMPLER_ASSERT(mix && mix->sources);
    return mix->turn;
}

STATESAMPLER_DEF uint64_t
statesampler_mix_num_turns(const statesampler_mix *mix)
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
        samples += mix->sources[--source].sampler.run.num_samples;
    }
    return samples;
}

/* The turn of the mix at which a source serves a step of its present epoch. */
SSMP_FN uint64_t ssmp_mix_turn_of(const statesampler_mix *mix,
                                  const statesampler_source *source,
                                  uint64_t step)
{
    uint64_t point, turns = ssmp_mix_turns_of(mix, source->seat, mix->point);
    if (mix->stop == STATESAMPLER_STOP_ALL) {
        turns = ssmp_min(turns, source->base_turns + source->left);
    }
    /* Where it is now, and that many steps on, or back. */
    turns += step - source->sampler.run.now.step;
    point = ssmp_mix_point_of(mix, source->seat, turns);
    if (mix->stop == STATESAMPLER_STOP_ALL) {
        point = ssmp_mix_taken(mix, point);
    }
    return mix->base_turn + (point - mix->base_point);
}

STATESAMPLER_DEF int statesampler_mix_locate(const statesampler_mix *mix,
                                             uint32_t source, uint64_t index,
                                             uint64_t *turn,
                                             statesampler_place *place)
{
    statesampler_place found;
    uint64_t when;
    int code;
    STATESAMPLER_ASSERT(mix && mix->sources && turn && place);
    if (source >= mix->num_sources) {
        return SSMP_ERANGE_SOURCE;
    }
    if (mix->sources[source].weight == STATESAMPLER_OFF) {
        return SSMP_ERANGE_OFF;
    }
    code = statesampler_locate(&mix->sources[source].sampler, index, &found);
    if (code != STATESAMPLER_OK) {
        return code;
    }
    when = ssmp_mix_turn_of(mix, mix->sources + source, found.step);
    code = ssmp_mix_find(mix, when);
    if (code == SSMP_ERANGE_END ||
        (code == STATESAMPLER_OK && when == mix->end)) {
        return SSMP_ERANGE_DROPPED;
    }
    if (code == STATESAMPLER_OK) {
        *turn = when;
        place->position = found.position;
        place->step = found.step;
        place->rank = found.rank;
        place->slot = found.slot;
    }
    return code;
}

/* --- mix: the state */

#define SSMP_MIX_HEAD 48u /* bytes before the sources */
#define SSMP_SOURCE_BYTES 88u

/* What a mix's state says besides its sources. */
typedef struct ssmp_mix_head {
    uint32_t num_sources, stop;
    uint64_t epoch, turn, base_turn, base_point;
} ssmp_mix_head;

/* What it says of one source. */
typedef struct ssmp_source_entry {
    uint32_t weight, finished, drop_last;
    ssmp_run run; /* at the base */
} ssmp_source_entry;

/* A state of so many sources. So many of them fit as a size_t can count: the
   samplers themselves are larger. */
SSMP_FN size_t ssmp_mix_bytes(uint32_t num_sources)
{
    return (size_t)num_sources * SSMP_SOURCE_BYTES + SSMP_MIX_HEAD + 8;
}

STATESAMPLER_DEF size_t
statesampler_mix_state_bytes(const statesampler_mix *mix)
{
    STATESAMPLER_ASSERT(mix && mix->sources);
    return ssmp_mix_bytes(mix->num_sources);
}

/* Where the entry of a source begins. */
SSMP_FN size_t ssmp_mix_entry_at(uint32_t source)
{
    return SSMP_MIX_HEAD + (size_t)source * SSMP_SOURCE_BYTES;
}

SSMP_FN void ssmp_source_encode(unsigned char *bytes,
                                const statesampler_source *source)
{
    ssmp_bytes_store32(bytes, ssmp_source_weight(source));
    ssmp_bytes_store32(bytes + 4,
                       source->finished | source->sampler.drop_last << 1);
    ssmp_run_encode(bytes, &source->sampler.run, source->base.blocks);
    ssmp_spot_encode(bytes + 64, &source->base.base);
}

/* Reads the entry of a source, as its run was at the base. */
SSMP_FN int ssmp_source_decode(ssmp_source_entry *entry,
                               const unsigned char *bytes)
{
    ssmp_run *run = &entry->run;
    uint32_t flags = ssmp_bytes_load32(bytes + 4);
    entry->weight = ssmp_bytes_load32(bytes);
    entry->finished = flags & 1;
    entry->drop_last = flags >> 1 & 1;
    ssmp_spot_decode(&run->leg.base, bytes + 64);
    ssmp_spot_copy(&run->now, &run->leg.base);
    if (!ssmp_run_decode(run, bytes) || flags > 3) {
        return SSMP_ECORRUPT_ZERO;
    }
    return entry->drop_last && run->tail == STATESAMPLER_TAIL_CARRY
               ? SSMP_ECORRUPT_DESC
               : ssmp_run_check(run);
}

STATESAMPLER_DEF int statesampler_mix_save(const statesampler_mix *mix,
                                           void *out, size_t size)
{
    unsigned char *bytes = (unsigned char *)out;
    size_t needed;
    uint32_t i;
    STATESAMPLER_ASSERT(mix && mix->sources && (out || size == 0));
    needed = statesampler_mix_state_bytes(mix);
    if (size < needed) {
        return STATESAMPLER_ECAPACITY;
    }
    ssmp_state_begin(bytes, SSMP_MAGIC_MIX);
    ssmp_bytes_store32(bytes + 8, mix->num_sources);
    ssmp_bytes_store32(bytes + 12, mix->stop);
    ssmp_bytes_store64(bytes + 16, mix->epoch);
    ssmp_bytes_store64(bytes + 24, mix->turn);
    ssmp_bytes_store64(bytes + 32, mix->base_turn);
    ssmp_bytes_store64(bytes + 40, mix->base_point);
    for (i = 0; i < mix->num_sources; i++) {
        ssmp_source_encode(bytes + ssmp_mix_entry_at(i), mix->sources + i);
    }
    ssmp_state_end(bytes, needed);
    return STATESAMPLER_OK;
}

/* OK if a mix can have been at such turns and points. seek stops at turn
   2^62, and half as many more take centuries. Only what ALL has passed over
   takes the sequence ahead of the turns. */
SSMP_FN int ssmp_mix_check_head(const ssmp_mix_head *head)
{
    const uint64_t most = STATESAMPLER_MAX_SAMPLES / 2 * 3;
    if (head->num_sources == 0) {
        return SSMP_ECORRUPT_SOURCES;
    }
    if (head->stop > STATESAMPLER_STOP_NEVER) {
        return SSMP_ECORRUPT_STOP;
    }
    if (head->turn > most || head->base_turn > head->turn) {
        return SSMP_ECORRUPT_TURN;
    }
    if (head->base_point <= head->base_turn &&
        head->stop != STATESAMPLER_STOP_ALL) {
        return STATESAMPLER_OK;
    }
    /* mix_init sees to it that a sequence of ALL ends below 2^62. */
    return head->stop != STATESAMPLER_STOP_ALL ||
                   head->base_point > STATESAMPLER_MAX_SAMPLES / 4 * 5 ||
                   (head->base_turn == 0 && head->base_point != 0)
               ? SSMP_ECORRUPT_POINT
               : STATESAMPLER_OK;
}

/* Reads the head of a mix's state, and whether the rest is there. */
SSMP_FN int ssmp_mix_read(ssmp_mix_head *head, const unsigned char *bytes,
                          size_t size)
{
    size_t expected = 0; /* no size, where there are more than fit in it */
    int code;
    head->num_sources = 0;
    if (size >= SSMP_MIX_HEAD) {
        head->num_sources = ssmp_bytes_load32(bytes + 8);
        if (head->num_sources <= size / SSMP_SOURCE_BYTES) {
            expected = ssmp_mix_bytes(head->num_sources);
        }
    }
    code = ssmp_state_check(bytes, size, SSMP_MAGIC_MIX, expected);
    if (code != STATESAMPLER_OK) {
        return code;
    }
    head->stop = ssmp_bytes_load32(bytes + 12);
    head->epoch = ssmp_bytes_load64(bytes + 16);
    head->turn = ssmp_bytes_load64(bytes + 24);
    head->base_turn = ssmp_bytes_load64(bytes + 32);
    head->base_point = ssmp_bytes_load64(bytes + 40);
    return ssmp_mix_check_head(head);
}

/* OK if every source of a state fits the mix's. */
SSMP_NOINLINE int ssmp_mix_match(const statesampler_mix *mix,
                                 const ssmp_mix_head *head,
                                 const unsigned char *bytes)
{
    uint64_t weights = 0;
    uint32_t i, world_size = 0;
    if (head->stop != mix->stop) {
        return SSMP_EMISMATCH_STOP;
    }
    if (head->num_sources != mix->num_sources) {
        return SSMP_EMISMATCH_SOURCES;
    }
    for (i = 0; i < mix->num_sources; i++) {
        const statesampler_source *source = mix->sources + i;
        ssmp_source_entry entry;
        int code = ssmp_source_decode(&entry, bytes + ssmp_mix_entry_at(i));
        if (code != STATESAMPLER_OK) {
            return code;
        }
        if (i == 0) {
            world_size = entry.run.world_size;
        }
        if (entry.run.world_size != world_size) {
            return SSMP_ECORRUPT_SHAPES;
        }
        if (entry.weight != STATESAMPLER_OFF) {
            weights += entry.weight;
        }
        if (entry.weight == 0 || weights >> 31) {
            return SSMP_ECORRUPT_WEIGHTS;
        }
        code = ssmp_run_match(&entry.run, &source->sampler.run);
        if (code != STATESAMPLER_OK) {
            return code;
        }
    }
    return weights == 0 ? SSMP_ECORRUPT_WEIGHTS : STATESAMPLER_OK;
}

/* OK if the sources may take turns with the weights of a state in the shape of
   this mix, which need not be that of the state. */
SSMP_FN int ssmp_mix_check_theirs(statesampler_mix *mix,
                                  const unsigned char *bytes)
{
    uint32_t i;
    int code;
    for (i = 0; i < mix->num_sources; i++) {
        statesampler_source *source = mix->sources + i;
        source->own_weight = source->weight;
        source->weight = ssmp_bytes_load32(bytes + ssmp_mix_entry_at(i));
    }
    code = ssmp_mix_check_weights(mix->sources, mix->num_sources, mix->stop);
    for (i = 0; i < mix->num_sources; i++) {
        mix->sources[i].weight = mix->sources[i].own_weight;
        ssmp_source_forget(mix->sources + i);
    }
    return code;
}

/* Puts a source at the base of a state, in the shape of the run that saved;
   what is its own is kept until the mix commits. Returns whether the shape is
   its own. */
SSMP_FN int ssmp_source_adopt(statesampler_source *source,
                              const ssmp_source_entry *entry)
{
    const ssmp_run *run = &entry->run;
    statesampler *s = &source->sampler;
    int same = run->world_size == s->run.world_size &&
               run->batch_size == s->run.batch_size &&
               entry->drop_last == s->drop_last;
    source->own_weight = source->weight;
    source->own_batch_size = s->run.batch_size;
    source->own_drop_last = s->drop_last;
    source->own_finished = source->finished;
    source->weight = entry->weight;
    s->drop_last = entry->drop_last;
    source->finished = entry->finished;
    ssmp_sampler_reshape(s, run->world_size, run->batch_size);
    ssmp_spot_copy(&s->run.now, &run->leg.base);
    ssmp_spot_copy(&s->run.leg.base, &run->leg.base);
    s->run.leg.blocks = run->leg.blocks;
    ssmp_leg_close(&s->run.leg, s);
    return same;
}

/* Undoes that: the mix's own shape, at its own base. */
SSMP_FN void ssmp_source_restore(statesampler_source *source,
                                 uint32_t world_size)
{
    statesampler *s = &source->sampler;
    source->weight = source->own_weight;
    s->drop_last = source->own_drop_last;
    source->finished = source->own_finished;
    ssmp_sampler_reshape(s, world_size, source->own_batch_size);
    ssmp_leg_copy(&s->run.leg, &source->base);
    ssmp_spot_copy(&s->run.now, &source->base.base);
}

/* Sets a mix whose sources stand at the base of a head to that base, and tells
   whether they reach its turn. */
SSMP_FN int ssmp_mix_resume(statesampler_mix *mix, const ssmp_mix_head *head)
{
    mix->epoch = head->epoch;
    mix->turn = head->base_turn;
    ssmp_mix_seat(mix);
    mix->point = head->base_point;
    if (!ssmp_mix_tally(mix)) {
        return SSMP_ECORRUPT_POINT;
    }
    return head->turn <= mix->end && head->turn <= mix->reach
               ? STATESAMPLER_OK
               : SSMP_ECORRUPT_TURN;
}

/* Goes back to where a mix was before its sources adopted a state. */
SSMP_FN void ssmp_mix_restore(statesampler_mix *mix, const ssmp_mix_head *own,
                              uint32_t world_size)
{
    uint32_t i;
    for (i = 0; i < mix->num_sources; i++) {
        ssmp_source_restore(mix->sources + i, world_size);
        ssmp_source_forget(mix->sources + i);
    }
    (void)ssmp_mix_resume(mix, own);
    ssmp_mix_goto(mix, own->turn);
}

/* Goes on where a state is whose sources match, or changes nothing: whether a
   mix reaches the state's turn shows only once its sources are there. */
SSMP_FN int ssmp_mix_follow(statesampler_mix *mix, const ssmp_mix_head *head,
                            const unsigned char *bytes)
{
    const uint32_t world_size = mix->sources->sampler.run.world_size;
    ssmp_mix_head own;
    uint32_t i;
    int same = 1, code;
    own.epoch = mix->epoch;
    own.turn = mix->turn;
    own.base_turn = mix->base_turn;
    own.base_point = mix->base_point;
    for (i = 0; i < mix->num_sources; i++) {
        ssmp_source_entry entry;
        (void)ssmp_source_decode(&entry, bytes + ssmp_mix_entry_at(i));
        same &= ssmp_source_adopt(mix->sources + i, &entry);
    }
    code = ssmp_mix_resume(mix, head);
    if (code != STATESAMPLER_OK) {
        ssmp_mix_restore(mix, &own, world_size);
        return code;
    }
    ssmp_mix_commit(mix);
    ssmp_mix_goto(mix, head->turn);
    for (i = 0; i < mix->num_sources; i++) {
        statesampler_source *source = mix->sources + i;
        if (!same) {
            ssmp_source_reshape(source, world_size, source->own_batch_size,
                                source->own_drop_last);
        }
        ssmp_source_forget(source);
    }
    if (!same) {
        ssmp_mix_rebase(mix);
    }
    return STATESAMPLER_OK;
}

STATESAMPLER_DEF int statesampler_mix_load(statesampler_mix *mix,
                                           const void *state, size_t size)
{
    const unsigned char *bytes = (const unsigned char *)state;
    ssmp_mix_head head;
    int code;
    STATESAMPLER_ASSERT(mix && mix->sources && (state || size == 0));
    code = ssmp_mix_read(&head, bytes, size);
    if (code == STATESAMPLER_OK) {
        code = ssmp_mix_match(mix, &head, bytes);
    }
    if (code == STATESAMPLER_OK) {
        code = ssmp_mix_check_theirs(mix, bytes);
    }
    return code == STATESAMPLER_OK ? ssmp_mix_follow(mix, &head, bytes) : code;
}

STATESAMPLER_DEF int statesampler_mix_describe(const void *state, size_t size,
                                               uint32_t source,
                                               statesampler_desc *desc,
                                               statesampler_mix_place *place)
{
    const unsigned char *bytes = (const unsigned char *)state;
    ssmp_mix_head head;
    ssmp_source_entry entry;
    int code;
    STATESAMPLER_ASSERT(state || size == 0);
    code = ssmp_mix_read(&head, bytes, size);
    if (code == STATESAMPLER_OK) {
        code =
            source < head.num_sources
                ? ssmp_source_decode(&entry, bytes + ssmp_mix_entry_at(source))
                : SSMP_ERANGE_SOURCE;
    }
    if (code != STATESAMPLER_OK) {
        return code;
    }
    if (desc) {
        ssmp_run_describe(desc, &entry.run);
        desc->epoch = entry.run.leg.base.epoch;
        desc->drop_last = entry.drop_last;
    }
    if (place) {
        place->epoch = head.epoch;
        place->turn = head.turn;
        place->num_sources = head.num_sources;
        place->stop = head.stop;
        place->weight = entry.weight;
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
    /* n(n-1)/2, n(n-1)(2n-1)/6 and n^2(n-1)^2/4. The division by two comes
       first, on the even one of n and n - 1, and the other is the odd one;
       the division by three is exact, so that it is the product with the
       inverse of 3 modulo 2^64. */
    sum1 = n / 2 * ((n - 1) | 1);
    sum2 = sum1 * (2 * n - 1) * SSMP_U64(0xaaaaaaaau, 0xaaaaaaabu);
    return audit->count == n && audit->sum1 == sum1 && audit->sum2 == sum2 &&
           audit->sum3 == sum1 * sum1;
}

/* --- errors: in words ------------------------------------------------------ */

#define SSMP_KIND_SENTENCE(kind, sentence) \
    case STATESAMPLER_##kind: return sentence;
#define SSMP_RULE_SENTENCE(kind, name, number, sentence) \
    case SSMP_##kind##_##name: return sentence;

STATESAMPLER_DEF const char *statesampler_error(int code)
{
#ifdef __AVR__
    /* Strings are copied to RAM there, which has room for the kinds alone. */
    code = STATESAMPLER_KIND(code);
#endif
    switch (code) {
    case STATESAMPLER_OK: return "no error";
        SSMP_KINDS(SSMP_KIND_SENTENCE)
#ifndef __AVR__
        SSMP_RULES(SSMP_RULE_SENTENCE)
#endif
    default: return "unknown error";
    }
}

/* --- hosted --------------------------------------------------------------
   A save writes a temporary file of its own, which O_EXCL guarantees, and
   renames it over path. No two calls ever write to one file, so none has to
   keep another out. Whoever removes a temporary file, and when, tears nothing:
   if its writer lives, the rename fails and the save begins again. Nor does it
   rename another's half-written file, which has the same name with a chance of
   2^-32. */

#ifdef STATESAMPLER_HOSTED

#if !defined(_WIN32) && !defined(__unix__) && !defined(__unix) &&   \
    !defined(__APPLE__) && !defined(_AIX) && !defined(__HAIKU__) && \
    !defined(__QNX__)
#error "STATESAMPLER_HOSTED needs POSIX or Windows: leave it undefined here"
#endif

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#ifdef _MSC_VER
#pragma warning(push)
#pragma warning(disable : 4996) /* getenv and _wsopen: it wants others */
#endif
#ifdef _WIN32
#include <io.h>
#include <process.h>
#include <share.h>
#include <wchar.h>
#ifdef __cplusplus
extern "C" {
#endif
/* As windows.h declares them, which is too large to include for a few. */
__declspec(dllimport) int __stdcall MoveFileExW(const wchar_t *from,
                                                const wchar_t *to,
                                                unsigned long flags);
__declspec(dllimport) int __stdcall MultiByteToWideChar(
    unsigned page, unsigned long flags, const char *from, int from_size,
    wchar_t *to, int to_size);
__declspec(dllimport) unsigned long __stdcall GetFullPathNameW(
    const wchar_t *path, unsigned long capacity, wchar_t *full, wchar_t **name);
__declspec(dllimport) unsigned long __stdcall GetFileAttributesW(
    const wchar_t *path);
__declspec(dllimport) unsigned long __stdcall GetLastError(void);
__declspec(dllimport) void __stdcall Sleep(unsigned long milliseconds);
#ifdef __cplusplus
}
#endif
#define SSMP_OS(name) _##name
#define SSMP_STAT _stat64 /* the struct */
#define SSMP_FSTAT _fstat64
#define SSMP_IS(type, mode) (((mode)&_S_IFMT) == _S_IF##type)
#define SSMP_SEPARATORS "/\\:"
#define SSMP_READING _O_RDONLY
#define SSMP_CREATING (_O_WRONLY | _O_CREAT | _O_EXCL)
#else
#include <dirent.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/utsname.h>
#include <unistd.h>
#if defined(__STRICT_ANSI__) && !defined(__cplusplus)
/* POSIX, but hidden by -std=c99 unless the file that includes this header
   asked for POSIX before its first include. */
extern int fsync(int file);
#endif
#define SSMP_OS(name) name
#define SSMP_STAT stat
#define SSMP_FSTAT fstat
#define SSMP_IS(type, mode) S_IS##type(mode)
#define SSMP_SEPARATORS "/"
/* Does not wait at a pipe, should one be there by now. */
#define SSMP_READING (O_RDONLY | O_NONBLOCK)
#define SSMP_CREATING (O_WRONLY | O_CREAT | O_EXCL)
#endif

/* Longer paths than this, with the 0 at their end, are refused. */
#define SSMP_PATH 4096

/* A temporary name: the host's hash, the process and a number; and its size,
   with the 0 at its end. */
#define SSMP_NAME ".statesampler-%08x-%08x-%08x.tmp"
#define SSMP_NAME_SIZE 45

#ifdef _WIN32

/* A path as the system has it: a number of 16 bits for each byte at most, and
   room for a prefix. */
#define SSMP_WIDE (SSMP_PATH + SSMP_NAME_SIZE + 8)

/* Only after this prefix may a path have 260 characters or more (a folder 12
   less); behind it, nothing of a path is looked for. */
#define SSMP_LONG 248
static inline int ssmp_wide_is_long(const wchar_t *wide)
{
    return wcsncmp(wide, L"\\\\?\\", 4) == 0;
}

/* Makes a path absolute and gives it the prefix. */
SSMP_NOINLINE int ssmp_wide_extend(wchar_t *wide)
{
    wchar_t full[SSMP_WIDE];
    unsigned long length = GetFullPathNameW(wide, SSMP_WIDE, full, NULL);
    if (length - 1 >= SSMP_WIDE - 9) { /* 0 is an error */
        errno = ENAMETOOLONG;
        return -1;
    }
    if (wcsncmp(full, L"\\\\", 2) == 0) {
        wcscpy(wide, L"\\\\?\\UNC"); /* and \server\share without the first */
        wcscat(wide, full + 1);
    } else {
        wcscpy(wide, L"\\\\?\\");
        wcscat(wide, full);
    }
    return 0;
}

/* Paths are UTF-8, whatever the code page is; -1 and errno if one is not. */
static inline int ssmp_wide_path(wchar_t *wide, const char *path)
{
    if (!MultiByteToWideChar(65001, 8, path, -1, wide, SSMP_WIDE)) {
        errno = EILSEQ;
        return -1;
    }
    /* However short a path is, the present folder may make it long. */
    return ssmp_wide_is_long(wide) ||
                   GetFullPathNameW(wide, 0, NULL, NULL) < SSMP_LONG
               ? 0
               : ssmp_wide_extend(wide);
}

#endif

/* Sets *value from a variable that is a decimal number of 32 bits. */
static inline int ssmp_env_read(uint32_t *value, const char *name)
{
    const char *text = getenv(name);
    uint64_t number = 0;
    if (!text) {
        return SSMP_EENV_UNSET;
    }
    if (*text == 0) {
        return SSMP_EENV_NUMBER;
    }
    for (; *text != 0; text++) { /* ends with the text */
        if (*text < '0' || *text > '9') {
            return SSMP_EENV_NUMBER;
        }
        number = 10 * number + (uint64_t)(*text - '0');
        if (number > SSMP_MAX32) {
            return SSMP_EENV_NUMBER;
        }
    }
    *value = (uint32_t)number;
    return STATESAMPLER_OK;
}

STATESAMPLER_DEF_HOSTED int statesampler_from_env(statesampler_desc *desc,
                                                  const char **launcher)
{
    /* The last one shows that the launcher is there, as the size does. In a
       batch script Slurm sets a rank, too, but that is one process. */
    static const char *const names[4][4] = {
        {"torchrun", "RANK", "WORLD_SIZE", "RANK"},
        {"openmpi", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
         "OMPI_COMM_WORLD_RANK"},
        {"pmi", "PMI_RANK", "PMI_SIZE", "PMI_RANK"},
        {"slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS",
         "SLURM_STEP_NUM_TASKS"},
    };
    const char *found = "none";
    uint32_t rank = 0, world_size = 1;
    int i, code = STATESAMPLER_OK;
    STATESAMPLER_ASSERT(desc);
    for (i = 0; i < 4; i++) {
        if (getenv(names[i][2]) || getenv(names[i][3])) {
            int second = ssmp_env_read(&world_size, names[i][2]);
            found = names[i][0];
            code = ssmp_env_read(&rank, names[i][1]);
            if (code == STATESAMPLER_OK || second == SSMP_EENV_UNSET) {
                code = second;
            }
            break;
        }
    }
    if (code == STATESAMPLER_OK && rank >= world_size) {
        code = SSMP_EENV_RANK;
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

/* The code for errno. */
static inline int ssmp_file_error(void)
{
    static const int codes[][2] = {
        {ENOENT, STATESAMPLER_ENOFILE},
        {EACCES, SSMP_EIO_PERMISSION},
        {EPERM, SSMP_EIO_PERMISSION},
        {ENOSPC, SSMP_EIO_SPACE},
        {EFBIG, SSMP_EIO_SPACE},
#ifdef EDQUOT
        {EDQUOT, SSMP_EIO_SPACE},
#endif
        {EROFS, SSMP_EIO_READ_ONLY},
        {ENOTDIR, SSMP_EIO_NO_FOLDER},
        {EISDIR, SSMP_EIO_IS_FOLDER},
        {ENAMETOOLONG, SSMP_EIO_NAME},
        {EINVAL, SSMP_EIO_NAME},
        {EILSEQ, SSMP_EIO_NAME},
#ifdef ELOOP
        {ELOOP, SSMP_EIO_NAME},
#endif
        {EMFILE, SSMP_EIO_OPEN_FILES},
        {ENFILE, SSMP_EIO_OPEN_FILES},
        {EBUSY, SSMP_EIO_BUSY},
        {EAGAIN, SSMP_EIO_BUSY},
    };
    size_t i;
    for (i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        if (codes[i][0] == errno) {
            return codes[i][1];
        }
    }
    return STATESAMPLER_EIO;
}

/* The same after a call for an open file, which has no path to complain of. */
static inline int ssmp_file_open_error(void)
{
    int code = ssmp_file_error();
    return code == SSMP_EIO_SPACE ||
                   code == SSMP_EIO_PERMISSION ||
                   code == SSMP_EIO_READ_ONLY
               ? code
               : STATESAMPLER_EIO;
}

/* OK if what stat or fstat has found is regular. */
static inline int ssmp_file_check_kind(const struct SSMP_STAT *info)
{
    if (SSMP_IS(DIR, info->st_mode)) {
        return SSMP_EIO_IS_FOLDER;
    }
    return SSMP_IS(REG, info->st_mode) ? STATESAMPLER_OK
                                       : SSMP_EIO_NOT_REGULAR;
}

#ifdef _WIN32

/* stat, of which only st_mode is used: 0 where it is no file and no folder.
   C's own knows no path with the prefix, at which no device can be, and the
   older ones know no device. What is there without being known may also have
   been made just now: so it is asked again, often enough. */
SSMP_NOINLINE int ssmp_wide_stat(const char *path, struct SSMP_STAT *info)
{
    wchar_t wide[SSMP_WIDE];
    int attempt;
    if (ssmp_wide_path(wide, path) != 0) {
        return -1;
    }
    for (attempt = 0; attempt < 50; attempt++) {
        if (ssmp_wide_is_long(wide)) {
            unsigned long attributes = GetFileAttributesW(wide);
            info->st_mode = attributes & 0x10 ? _S_IFDIR : _S_IFREG;
            if (attributes != 0xffffffff) {
                return 0;
            }
        } else if (_wstat64(wide, info) == 0) {
            return 0;
        }
        if (_waccess(wide, 0) != 0) {
            return -1;
        }
    }
    info->st_mode = 0;
    return 0;
}

#endif

/* OK if a regular file is at path; asked before it is opened, because opening
   a device may do something. Sets *folder to the length of what stands before
   the file's name. */
static inline int ssmp_file_check_path(size_t *folder, const char *path)
{
    struct SSMP_STAT info;
    size_t length = strlen(path);
    int result;
    if (length == 0 || length >= SSMP_PATH) {
        return SSMP_EINVAL_PATH;
    }
    for (*folder = length; *folder > 0; --*folder) {
        if (strchr(SSMP_SEPARATORS, path[*folder - 1])) {
            break;
        }
    }
    if (*folder == length) {
        return SSMP_EIO_IS_FOLDER;
    }
#ifdef _WIN32
    result = ssmp_wide_stat(path, &info);
#else
    result = stat(path, &info);
#endif
    return result == 0 ? ssmp_file_check_kind(&info) : ssmp_file_error();
}

#ifdef _WIN32

SSMP_NOINLINE int ssmp_file_open(const char *path, int flags)
{
    wchar_t wide[SSMP_WIDE];
    int file = ssmp_wide_path(wide, path);
    return file != 0 ? file
                     : _wsopen(wide, flags | _O_BINARY | _O_NOINHERIT,
                               _SH_DENYNO, _S_IREAD | _S_IWRITE);
}

SSMP_NOINLINE void ssmp_file_remove(const char *path)
{
    wchar_t wide[SSMP_WIDE];
    if (ssmp_wide_path(wide, path) == 0) {
        (void)_wremove(wide);
    }
}

#else

static inline int ssmp_file_open(const char *path, int flags)
{
    int file;
    do { /* ends when no signal interrupts it */
#ifdef O_CLOEXEC
        file = open(path, flags | O_CLOEXEC, 0666);
#else
        file = open(path, flags, 0666);
#endif
    } while (file < 0 && errno == EINTR);
    return file;
}

static inline void ssmp_file_remove(const char *path)
{
    (void)remove(path);
}

#endif

/* Has the file's bytes, or the folder's names, written to disk. */
static inline int ssmp_file_flush(int file)
{
#ifdef __APPLE__
    /* There fsync stops at the drive's own memory. 51 is F_FULLFSYNC, which
       some feature macros hide; a file system without it has fsync. */
    if (fcntl(file, 51) == 0) {
        return 0;
    }
#endif
    do { /* ends when no signal interrupts it */
#ifdef _WIN32
        const int result = _commit(file);
#else
        const int result = fsync(file);
#endif
        if (result == 0) {
            return 0;
        }
    } while (errno == EINTR);
    return -1;
}

#ifdef _WIN32

/* Whether the rename that has just failed may succeed once another program has
   closed one of the two; otherwise errno says why not. */
static inline int ssmp_wide_is_open(const wchar_t *to, const wchar_t *from)
{
    if (errno == EEXIST || errno == EACCES) {
        return _waccess(to, 2) == 0 || errno != EACCES; /* read-only */
    }
    if (errno == ENOENT && _waccess(from, 0) == 0) {
        errno = EINVAL; /* the name is not one */
    }
    return 0;
}

/* Renames over what is there, in a second at most: while another program has
   one of the two open, even to read it, that fails, and most are soon done. */
SSMP_NOINLINE int ssmp_file_rename(const char *to, const char *from)
{
    wchar_t wide_to[SSMP_WIDE], wide_from[SSMP_WIDE];
    unsigned long error = 0;
    int attempt;
    if (ssmp_wide_path(wide_to, to) != 0 ||
        ssmp_wide_path(wide_from, from) != 0) {
        return -1;
    }
    for (attempt = 0; attempt < 50; attempt++, Sleep(20)) {
        /* MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH. Where that
           fails, rename says in errno why, or that a file is there. */
        if (MoveFileExW(wide_from, wide_to, 1 | 8)) {
            return 0;
        }
        error = GetLastError();
        if (_wrename(wide_from, wide_to) == 0) {
            return 0;
        }
        if (!ssmp_wide_is_open(wide_to, wide_from)) {
            return -1;
        }
    }
    /* ERROR_SHARING_VIOLATION, or the like; or the folder forbids it. */
    errno = error == 32 || _waccess(wide_to, 0) == 0 ? EBUSY : EACCES;
    return -1;
}

#else

static inline int ssmp_file_rename(const char *to, const char *from)
{
    return rename(from, to);
}

#endif

/* Hosts that share a file system have different names. */
static inline unsigned ssmp_file_hash_host(void)
{
    uint64_t hash = 0;
#ifdef _WIN32
    const char *c = getenv("COMPUTERNAME");
#else
    struct utsname names;
    const char *c = uname(&names) >= 0 ? names.nodename : NULL;
#endif
    for (; c && *c != 0; c++) {
        hash = ssmp_derive(hash, (unsigned char)*c);
    }
    return (unsigned)(hash & SSMP_MAX32);
}

/* Whether a file is what a crash has left: a temporary one, not written to for
   ten minutes, of a process of this host that is gone; for containers may have
   their host's name, but processes that others cannot see. Where that cannot be
   told, because it is another host's, or another process has that number by
   now, one of an hour ago. On Windows ten minutes will do: a file that somebody
   writes to cannot be removed. */
static inline int ssmp_file_is_left(const char *name, int64_t written)
{
    unsigned host, process, number;
    int64_t seconds = 600;
    int length = 0;
    if (sscanf(name, SSMP_NAME "%n", &host, &process, &number, &length) != 3 ||
        length != SSMP_NAME_SIZE - 1) {
        return 0;
    }
#ifndef _WIN32
    /* Any process may ask for any other's priority; -1 is also one. */
    errno = 0;
    if (host != ssmp_file_hash_host() ||
        getpriority(PRIO_PROCESS, (id_t)process) != -1 || errno != ESRCH) {
        seconds = 3600;
    }
#endif
    return written < (int64_t)time(NULL) - seconds;
}

/* Removes what crashes have left in the folder of path, if that may be read. */
#ifdef _WIN32

SSMP_NOINLINE void ssmp_file_sweep(const char *path, size_t folder)
{
    char left[SSMP_PATH + SSMP_NAME_SIZE];
    wchar_t wide[SSMP_WIDE];
    struct _wfinddata64_t entry;
    intptr_t entries = -1;
    size_t k;
    memcpy(left, path, folder);
    strcpy(left + folder, ".statesampler-*");
    if (ssmp_wide_path(wide, left) == 0) {
        entries = _wfindfirst64(wide, &entry);
    }
    if (entries == -1) {
        return;
    }
    do { /* ends with the folder */
        if (wcslen(entry.name) == SSMP_NAME_SIZE - 1) {
            for (k = 0; k < SSMP_NAME_SIZE; k++) {
                wchar_t c = entry.name[k];
                left[folder + k] = (char)(c < 128 ? c : '?');
            }
            if (ssmp_file_is_left(left + folder, entry.time_write)) {
                ssmp_file_remove(left);
            }
        }
    } while (_wfindnext64(entries, &entry) == 0);
    (void)_findclose(entries);
}

#else

static inline void ssmp_file_sweep(const char *path, size_t folder)
{
    char left[SSMP_PATH + SSMP_NAME_SIZE];
    const struct dirent *entry;
    struct stat info;
    DIR *entries;
    memcpy(left, path, folder);
    left[folder] = 0;
    entries = opendir(folder ? left : ".");
    if (!entries) {
        return;
    }
    while ((entry = readdir(entries)) != NULL) { /* ends with the folder */
        if (strlen(entry->d_name) == SSMP_NAME_SIZE - 1) {
            memcpy(left + folder, entry->d_name, SSMP_NAME_SIZE);
            if (stat(left, &info) == 0 &&
                ssmp_file_is_left(left + folder, info.st_mtime)) {
                (void)unlink(left);
            }
        }
    }
    (void)closedir(entries);
}

/* A rename lasts through a power cut once its folder is on disk. A folder that
   may not be opened, or a file system that cannot flush one, is no error, but a
   disk that fails is. Windows' rename flushes by itself. */
static inline int ssmp_file_flush_folder(char *path, size_t folder)
{
    int file, failed;
    path[folder] = 0;
    file = ssmp_file_open(folder ? path : ".", O_RDONLY);
    failed = (file < 0 || ssmp_file_flush(file) != 0) &&
             (errno == EIO || ssmp_file_error() == SSMP_EIO_SPACE);
    if (file >= 0) {
        (void)close(file);
    }
    return failed ? SSMP_EIO_FLUSH : STATESAMPLER_OK;
}

#endif

/* Makes a temporary file and puts its name behind the folder in path. Where
   errno is EEXIST the next attempt may succeed. */
static inline int ssmp_file_create(char *path, size_t folder, unsigned attempt)
{
    /* Two threads differ in where their stacks are, and two processes that
       have one number, in containers with one name, in that or in the time. */
    unsigned host = ssmp_file_hash_host();
    unsigned process = (unsigned)SSMP_OS(getpid)(), number;
    uint64_t mixed = ssmp_derive(attempt, (uint64_t)time(NULL));
    mixed = ssmp_derive(mixed, (uint64_t)clock());
    mixed = ssmp_derive(mixed, (uintptr_t)path);
    number = (unsigned)(mixed & SSMP_MAX32);
    (void)snprintf(path + folder, SSMP_NAME_SIZE, SSMP_NAME, host, process,
                   number);
    return ssmp_file_open(path, SSMP_CREATING);
}

static inline int ssmp_file_write(int file, const char *from, size_t size)
{
    while (size != 0) { /* a turn writes, fails or was interrupted */
        unsigned piece = (unsigned)ssmp_min(size, 1u << 30);
        long wrote = (long)SSMP_OS(write)(file, from, piece);
        if (wrote > 0) {
            from += wrote;
            size -= (size_t)wrote;
        } else if (wrote == 0 || errno != EINTR) {
            return wrote == 0 ? STATESAMPLER_EIO : ssmp_file_open_error();
        }
    }
    return ssmp_file_flush(file) == 0 ? STATESAMPLER_OK
                                      : ssmp_file_open_error();
}

/* One attempt at a save. ENOFILE: the temporary name is taken, or somebody has
   removed the file. */
static inline int ssmp_file_save_once(const char *path, size_t folder,
                                      const char *bytes, size_t size,
                                      unsigned attempt)
{
    char temporary[SSMP_PATH + SSMP_NAME_SIZE];
    int file, code;
    memcpy(temporary, path, folder);
    file = ssmp_file_create(temporary, folder, attempt);
    if (file < 0) {
        return errno == EEXIST   ? STATESAMPLER_ENOFILE
               : errno == ENOENT ? SSMP_EIO_NO_FOLDER
                                 : ssmp_file_error();
    }
    code = ssmp_file_write(file, bytes, size);
    if (SSMP_OS(close)(file) != 0 && errno != EINTR &&
        code == STATESAMPLER_OK) {
        code = ssmp_file_open_error();
    }
    if (code == STATESAMPLER_OK && ssmp_file_rename(path, temporary) != 0) {
        code = ssmp_file_error();
    }
    if (code != STATESAMPLER_OK) {
        ssmp_file_remove(temporary);
        return code;
    }
#ifndef _WIN32
    code = ssmp_file_flush_folder(temporary, folder);
#endif
    return code;
}

STATESAMPLER_DEF_HOSTED int statesampler_save_file(const char *path,
                                                   const void *bytes,
                                                   size_t size)
{
    size_t folder = 0;
    unsigned attempt;
    int code;
    STATESAMPLER_ASSERT(path && (bytes || size == 0));
    code = ssmp_file_check_path(&folder, path);
    if (code != STATESAMPLER_OK && code != STATESAMPLER_ENOFILE) {
        return code;
    }
    ssmp_file_sweep(path, folder);
    for (attempt = 0; attempt < 100; attempt++) {
        code = ssmp_file_save_once(path, folder, (const char *)bytes, size,
                                   attempt);
        if (code != STATESAMPLER_ENOFILE) {
            return code;
        }
    }
    return SSMP_EIO_BUSY;
}

/* Sets *got to the number of bytes read: size of them unless the file ends. */
static inline int ssmp_file_read(size_t *got, char *to, int file, size_t size)
{
    *got = 0;
    while (*got != size) { /* a turn reads, ends or was interrupted */
        unsigned piece = (unsigned)ssmp_min(size - *got, 1u << 30);
        long part = (long)SSMP_OS(read)(file, to + *got, piece);
        if (part == 0) {
            break;
        }
        if (part > 0) {
            *got += (size_t)part;
        } else if (errno != EINTR) {
            return ssmp_file_open_error();
        }
    }
    return STATESAMPLER_OK;
}

/* Reads an open file. Its length is the file system's word; a file that turns
   out longer or shorter is not whole. */
static inline int ssmp_file_read_whole(size_t *size, char *bytes, int file,
                                       size_t capacity)
{
    struct SSMP_STAT info;
    uint64_t length;
    size_t want, got, more = 0;
    char behind;
    int code;
    if (SSMP_FSTAT(file, &info) != 0) {
        return ssmp_file_open_error();
    }
    code = ssmp_file_check_kind(&info);
    if (code != STATESAMPLER_OK) {
        return code;
    }
    length = (uint64_t)info.st_size;
    want = (size_t)ssmp_min(length, capacity);
    code = ssmp_file_read(&got, bytes, file, want);
    if (code == STATESAMPLER_OK && length <= capacity) {
        code = ssmp_file_read(&more, &behind, file, 1);
    }
    if (code != STATESAMPLER_OK) {
        return code;
    }
    if (got != want || more != 0) {
        return SSMP_EIO_CHANGED;
    }
    *size = (size_t)ssmp_min(length, (size_t)-1);
    return length > capacity ? STATESAMPLER_ECAPACITY : STATESAMPLER_OK;
}

static inline int ssmp_file_open_regular(int *file, const char *path)
{
    size_t folder;
    int code = ssmp_file_check_path(&folder, path);
    if (code == STATESAMPLER_OK) {
        *file = ssmp_file_open(path, SSMP_READING);
        if (*file < 0) {
            code = ssmp_file_error();
        }
    }
    return code;
}

STATESAMPLER_DEF_HOSTED int statesampler_load_file(const char *path,
                                                   void *bytes, size_t capacity,
                                                   size_t *size)
{
    int code, file = -1;
#ifdef _WIN32
    int attempt;
#endif
    STATESAMPLER_ASSERT(path && (bytes || capacity == 0) && size);
    code = ssmp_file_open_regular(&file, path);
#ifdef _WIN32
    /* While a save replaces the file there is no permission to read it. */
    for (attempt = 0; attempt < 50 && code == SSMP_EIO_PERMISSION;
         attempt++) {
        Sleep(20);
        code = ssmp_file_open_regular(&file, path);
    }
#endif
    if (code != STATESAMPLER_OK) {
        return code;
    }
    code = ssmp_file_read_whole(size, (char *)bytes, file, capacity);
    (void)SSMP_OS(close)(file);
    return code;
}

#ifdef _MSC_VER
#pragma warning(pop)
#endif

#endif /* STATESAMPLER_HOSTED */

/* --- mixture ---------------------------------------------------------------
   The state is a first word, the number of datasets, the hashes of their
   names, the state of the mix, and a check word. */

#ifdef STATESAMPLER_STB_DS

/* The end of the text is hashed too, so that no name begins another. */
STATESAMPLER_DEF_HOSTED uint64_t statesampler_mixture_hash(const char *name)
{
    uint64_t hash = 0;
    STATESAMPLER_ASSERT(name);
    do {
        hash = ssmp_derive(hash, (unsigned char)*name);
    } while (*name++ != 0);
    return hash;
}

/* Half a byte of the hash in each of the key: stb_ds shifts the bytes of a key
   as int, which is undefined from 128 on. */
static inline void ssmp_number_set(statesampler_number *number, uint64_t hash,
                                   uint32_t value)
{
    uint32_t i;
    for (i = 0; i < 16; i++) {
        number->key[i] = (unsigned char)(hash >> 4 * i & 15);
    }
    number->value = value;
}

/* The number of a hash in a map, or NOBODY. stb_ds's own macro for this wants
   typeof, which gcc does not have with -std=c99. */
static inline uint32_t ssmp_number_find(statesampler_number **numbers,
                                        uint64_t hash)
{
    statesampler_number number;
    ptrdiff_t i;
    if (!*numbers) {
        return SSMP_NOBODY; /* to look would make a map */
    }
    ssmp_number_set(&number, hash, 0);
    *numbers = (statesampler_number *)stbds_hmget_key(
        *numbers, sizeof number, number.key, sizeof number.key,
        STBDS_HM_BINARY);
    i = stbds_temp(*numbers - 1);
    return i < 0 ? SSMP_NOBODY : (*numbers)[i].value;
}

/* Gives a hash the next number in a map. */
static inline void ssmp_number_add(statesampler_number **numbers, uint64_t hash)
{
    statesampler_number number;
    ssmp_number_set(&number, hash, (uint32_t)hmlenu(*numbers));
    hmputs(*numbers, number);
}

STATESAMPLER_DEF_HOSTED int statesampler_mixture_add(
    statesampler_mixture *mixture, const char *name, uint32_t weight,
    const statesampler_desc *desc)
{
    statesampler_source source;
    uint64_t hash;
    int code;
    STATESAMPLER_ASSERT(mixture && name && desc);
    if (*name == 0) {
        return SSMP_EINVAL_NAME_EMPTY;
    }
    hash = statesampler_mixture_hash(name);
    if (ssmp_number_find(&mixture->numbers, hash) != SSMP_NOBODY) {
        return SSMP_EINVAL_NAME_TAKEN;
    }
    code = statesampler_init(&source.sampler, desc);
    if (code == STATESAMPLER_OK && mixture->sources) {
        /* Whether CARRY may be is the stop rule's to say. */
        code = ssmp_source_check(&source.sampler, &mixture->sources->sampler,
                                 STATESAMPLER_STOP_NEVER);
    }
    if (code != STATESAMPLER_OK) {
        return code;
    }
    source.weight = weight;
    ssmp_number_add(&mixture->numbers, hash);
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
    ptrdiff_t i = -1;
    STATESAMPLER_ASSERT(mixture && name && source);
    if (mixture->datasets) {
        i = shgeti(mixture->datasets, (char *)(uintptr_t)name);
    }
    if (i < 0) {
        return SSMP_ERANGE_NAME;
    }
    *source = (uint32_t)i;
    return STATESAMPLER_OK;
}

STATESAMPLER_DEF_HOSTED int statesampler_mixture_start(
    statesampler_mixture *mixture, uint32_t stop)
{
    STATESAMPLER_ASSERT(mixture);
    return statesampler_mix_init(&mixture->mix, mixture->sources,
                                 (uint32_t)arrlenu(mixture->sources), stop);
}

/* Where the state of the mix begins, behind so many hashes. */
static inline size_t ssmp_mixture_head(uint32_t count)
{
    return 16 + 8 * (size_t)count;
}

static inline size_t ssmp_mixture_bytes(uint32_t count)
{
    return ssmp_mixture_head(count) + ssmp_mix_bytes(count) + 8;
}

STATESAMPLER_DEF_HOSTED size_t
statesampler_mixture_state_bytes(const statesampler_mixture *mixture)
{
    STATESAMPLER_ASSERT(mixture && mixture->mix.sources);
    return ssmp_mixture_bytes(mixture->mix.num_sources);
}

STATESAMPLER_DEF_HOSTED int statesampler_mixture_save(
    const statesampler_mixture *mixture, void *out, size_t size)
{
    unsigned char *bytes = (unsigned char *)out;
    size_t needed, head;
    uint32_t i, count;
    STATESAMPLER_ASSERT(mixture && mixture->mix.sources && (out || size == 0));
    needed = statesampler_mixture_state_bytes(mixture);
    if (size < needed) {
        return STATESAMPLER_ECAPACITY;
    }
    count = mixture->mix.num_sources;
    ssmp_state_begin(bytes, SSMP_MAGIC_MIXTURE);
    ssmp_bytes_store64(bytes + 8, count);
    for (i = 0; i < count; i++) {
        ssmp_bytes_store64(bytes + 16 + 8 * (size_t)i,
                           mixture->datasets[i].value);
    }
    head = ssmp_mixture_head(count);
    (void)statesampler_mix_save(&mixture->mix, bytes + head, needed - head - 8);
    ssmp_state_end(bytes, needed);
    return STATESAMPLER_OK;
}

/* A dataset as a state has it. */
typedef struct ssmp_past_dataset {
    uint64_t hash;
    ssmp_source_entry entry;
} ssmp_past_dataset;

/* The mixture that saved a state. */
typedef struct ssmp_past {
    const unsigned char *state; /* of its mix */
    ssmp_mix_head head;
    ssmp_past_dataset *datasets;  /* an array */
    statesampler_number *numbers; /* a map */
    statesampler_source *sources; /* an array: its rank 0's, once resumed */
} ssmp_past;

static inline void ssmp_past_free(ssmp_past *past)
{
    arrfree(past->datasets);
    hmfree(past->numbers);
    arrfree(past->sources);
}

/* Reads how many datasets a state has, and whether the rest is there. */
static inline int ssmp_mixture_read(uint32_t *count, const unsigned char *bytes,
                                    size_t size)
{
    size_t expected = 0; /* no size, where there are more than fit in it */
    int code;
    *count = 0;
    if (size >= 16) {
        uint64_t datasets = ssmp_bytes_load64(bytes + 8);
        if (datasets <= size / SSMP_SOURCE_BYTES) {
            *count = (uint32_t)datasets;
            expected = ssmp_mixture_bytes(*count);
        }
    }
    code = ssmp_state_check(bytes, size, SSMP_MAGIC_MIXTURE, expected);
    /* Only a started mixture is saved. */
    return code == STATESAMPLER_OK && *count == 0
               ? SSMP_ECORRUPT_SOURCES
               : code;
}

/* Adds a dataset to the past. */
static inline int ssmp_past_add(ssmp_past *past, uint64_t hash,
                                const unsigned char *entry)
{
    ssmp_past_dataset dataset;
    int code = ssmp_source_decode(&dataset.entry, entry);
    if (code != STATESAMPLER_OK) {
        return code;
    }
    if (ssmp_number_find(&past->numbers, hash) != SSMP_NOBODY) {
        return SSMP_ECORRUPT_NAMES;
    }
    ssmp_number_add(&past->numbers, hash);
    dataset.hash = hash;
    arrput(past->datasets, dataset);
    return STATESAMPLER_OK;
}

/* Reads all of a state. */
static inline int ssmp_past_read(ssmp_past *past, const unsigned char *bytes,
                                 size_t size)
{
    uint32_t i, count;
    int code = ssmp_mixture_read(&count, bytes, size);
    if (code != STATESAMPLER_OK) {
        return code;
    }
    past->state = bytes + ssmp_mixture_head(count);
    code = ssmp_mix_read(&past->head, past->state, ssmp_mix_bytes(count));
    for (i = 0; code == STATESAMPLER_OK && i < count; i++) {
        code =
            ssmp_past_add(past, ssmp_bytes_load64(bytes + 16 + 8 * (size_t)i),
                          past->state + ssmp_mix_entry_at(i));
    }
    return code;
}

/* Takes the sources of the past to where they were when it was saved. */
static inline int ssmp_past_resume(ssmp_past *past)
{
    statesampler_mix mix;
    uint32_t i, count = past->head.num_sources;
    for (i = 0; i < count; i++) {
        const ssmp_source_entry *entry = &past->datasets[i].entry;
        statesampler_source source;
        statesampler_desc desc;
        ssmp_run_describe(&desc, &entry->run);
        desc.drop_last = entry->drop_last;
        (void)statesampler_init(&source.sampler, &desc);
        source.weight = entry->weight;
        arrput(past->sources, source);
    }
    return statesampler_mix_init(&mix, past->sources, count, past->head.stop) ==
                   STATESAMPLER_OK
               ? statesampler_mix_load(&mix, past->state, ssmp_mix_bytes(count))
               : SSMP_ECORRUPT_DESC;
}

/* Lists what has become of the datasets here, and which of the past are no
   longer here. */
static inline void ssmp_mixture_compare(statesampler_mixture *mixture,
                                        ssmp_past *past)
{
    statesampler_change change;
    uint32_t i;
    for (i = 0; i < mixture->mix.num_sources; i++) {
        uint32_t number;
        change.name = mixture->datasets[i].key;
        change.hash = mixture->datasets[i].value;
        change.source = i;
        change.status = STATESAMPLER_CHANGE_NEW;
        number = ssmp_number_find(&past->numbers, change.hash);
        if (number != SSMP_NOBODY) {
            change.status = ssmp_run_match(&past->datasets[number].entry.run,
                                           &mixture->sources[i].sampler.run) ==
                                    STATESAMPLER_OK
                                ? STATESAMPLER_CHANGE_MATCHED
                                : STATESAMPLER_CHANGE_CHANGED;
        }
        arrput(mixture->changes, change);
    }
    for (i = 0; i < past->head.num_sources; i++) {
        uint64_t hash = past->datasets[i].hash;
        if (ssmp_number_find(&mixture->numbers, hash) == SSMP_NOBODY) {
            change.name = NULL;
            change.hash = hash;
            change.source = i;
            change.status = STATESAMPLER_CHANGE_REMOVED;
            arrput(mixture->changes, change);
        }
    }
}

/* Whether the datasets are those of the past, in the same order: then the
   sequence goes on, too. */
static inline int ssmp_mixture_is(const statesampler_mixture *mixture,
                                  const ssmp_past *past)
{
    uint32_t i, count = mixture->mix.num_sources;
    int same = count == past->head.num_sources;
    for (i = 0; same && i < count; i++) {
        same = mixture->changes[i].status == STATESAMPLER_CHANGE_MATCHED &&
               mixture->changes[i].hash == past->datasets[i].hash;
    }
    return same;
}

/* OK if the past may go on here. */
static inline int ssmp_mixture_match(const statesampler_mixture *mixture,
                                     const ssmp_past *past, int changed)
{
    uint32_t i;
    if (past->head.stop != mixture->mix.stop) {
        return SSMP_EMISMATCH_STOP;
    }
    for (i = 0; i < mixture->mix.num_sources; i++) {
        if (mixture->changes[i].status == STATESAMPLER_CHANGE_CHANGED &&
            changed != STATESAMPLER_RESTART_CHANGED) {
            return SSMP_EMISMATCH_DATASET;
        }
    }
    return STATESAMPLER_OK;
}

/* Takes a dataset to where the past has left it, if it is of the past. */
static inline void ssmp_mixture_move(statesampler_source *source,
                                     ssmp_past *past,
                                     const statesampler_change *change)
{
    statesampler *s = &source->sampler;
    const statesampler_source *old;
    source->finished = 0;
    if (change->status == STATESAMPLER_CHANGE_NEW) {
        statesampler_begin(s, s->run.now.epoch);
        return;
    }
    old = past->sources + ssmp_number_find(&past->numbers, change->hash);
    if (change->status == STATESAMPLER_CHANGE_CHANGED) {
        statesampler_begin(s, old->sampler.run.now.epoch);
        return;
    }
    source->finished =
        old->finished || old->sampler.run.now.epoch != old->base.base.epoch;
    ssmp_sampler_follow(s, &old->sampler.run);
}

/* Goes on where the past was, with other datasets than it had: turns go on
   counting, and the sequence begins anew. */
static inline int ssmp_mixture_follow(statesampler_mixture *mixture,
                                      ssmp_past *past)
{
    uint32_t i;
    int code = ssmp_past_resume(past);
    if (code != STATESAMPLER_OK) {
        return code;
    }
    for (i = 0; i < mixture->mix.num_sources; i++) {
        ssmp_mixture_move(mixture->sources + i, past, mixture->changes + i);
    }
    mixture->mix.epoch = past->head.epoch;
    mixture->mix.turn = past->head.turn;
    mixture->mix.point = 0;
    ssmp_mix_rebase(&mixture->mix);
    return STATESAMPLER_OK;
}

STATESAMPLER_DEF_HOSTED int statesampler_mixture_load(
    statesampler_mixture *mixture, const void *state, size_t size, int changed)
{
    ssmp_past past;
    int code;
    STATESAMPLER_ASSERT(mixture && mixture->mix.sources &&
                        (state || size == 0));
    arrfree(mixture->changes);
    past.datasets = NULL;
    past.numbers = NULL;
    past.sources = NULL;
    code = ssmp_past_read(&past, (const unsigned char *)state, size);
    if (code == STATESAMPLER_OK) {
        ssmp_mixture_compare(mixture, &past);
        code = ssmp_mixture_match(mixture, &past, changed);
    }
    if (code == STATESAMPLER_OK) {
        code =
            ssmp_mixture_is(mixture, &past)
                ? statesampler_mix_load(&mixture->mix, past.state,
                                        ssmp_mix_bytes(past.head.num_sources))
                : ssmp_mixture_follow(mixture, &past);
        if (code != STATESAMPLER_OK) {
            arrfree(mixture->changes);
        }
    }
    ssmp_past_free(&past);
    return code;
}

STATESAMPLER_DEF_HOSTED void statesampler_mixture_free(
    statesampler_mixture *mixture)
{
    STATESAMPLER_ASSERT(mixture);
    arrfree(mixture->sources);
    arrfree(mixture->changes);
    shfree(mixture->datasets);
    hmfree(mixture->numbers);
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
