/* tail.h - what the tail rules promise: where an epoch ends, how many steps it
   has, and who has which of their positions. */

#include "base.h"

/* The manual's sentences, in integers. Whole is what a rule makes of n in parts
   of equal size; End is where the epoch ends. The axioms are proved by
   tail.smt2. */
/*@ logic integer Up(integer a, integer b) = a / b + (a % b == 0 ? 0 : 1);
    logic integer Whole(integer tail, integer n, integer parts) =
      tail == 0 ? parts * Up(n, parts) :
      tail == 1 ? parts * (n / parts) : n;
    logic integer Rest(integer tail, integer d, integer c, integer w) =
      d <= c ? c : c + Whole(tail, d - c, w);
    logic integer End(integer tail, integer n, integer blocks, integer c,
                      integer w) =
      tail == 3 ? n : Rest(tail, Whole(tail, n, blocks), c, w);
    predicate Slot(integer j, integer b, integer r, integer w) =
      0 <= j < b && 0 <= r < w;
    axiomatic Division {
      axiom parts: \forall integer a, b; 0 <= a && 0 < b ==>
        a == b * (a / b) + a % b && 0 <= a % b < b && 0 <= a / b;
      axiom slots: \forall integer j, x, w; 0 <= j && 0 <= x && 0 < w ==>
        (j <= x / w <==> j * w <= x);
      axiom rows: \forall integer j, b, r, w; Slot(j, b, r, w) ==>
        r + j * w < b * w;
    }
    predicate Shape(statesampler *s) =
      s->run.world_size != 0 && s->run.batch_size != 0 &&
      s->rank < s->run.world_size &&
      s->global_batch == s->run.world_size * s->run.batch_size &&
      1 <= s->global_batch < 1 << 62 && s->run.num_samples <= 1 << 62;
*/

/*@ requires \valid_read(run);
    assigns \nothing;
    ensures \result != 0 <==> run->tail == 0;
*/
static inline int ssmp_run_pads(
    const ssmp_run *run);

/*@ requires \valid_read(run) && parts != 0 && samples < 1 << 63;
    assigns \nothing;
    ensures \result == Whole(run->tail, samples, parts);
    ensures \result < samples + parts;
    ensures run->tail != 0 ==> \result <= samples;
*/
static inline uint64_t ssmp_run_whole(
    const ssmp_run *run, uint64_t samples, uint32_t parts);

/*@ requires \valid_read(run) && \valid_read(leg);
    requires run->world_size != 0 && leg->blocks != 0;
    requires run->num_samples <= 1 << 62;
    assigns \nothing;
    ensures \result == End(run->tail, run->num_samples, leg->blocks,
                           leg->base.position, run->world_size);
    ensures run->tail != 3 ==> leg->base.position <= \result;
    ensures run->tail != 3 ==> \result == leg->base.position ||
      \result < run->num_samples + leg->blocks + run->world_size;
*/
static inline uint64_t ssmp_run_end(
    const ssmp_run *run, const ssmp_leg *leg);

/*@ requires \valid(leg) && \valid_read(s) && Shape(s);
    requires leg->blocks != 0 && leg->base.position < 1 << 63;
    requires s->run.tail == 3 ==> s->drop_last == 0;
    requires leg == &s->run.leg || \separated(leg, s);
    assigns leg->end;
    ensures all: s->drop_last == 0 ==>
      leg->end == End(s->run.tail, s->run.num_samples, leg->blocks,
                      leg->base.position, s->run.world_size);
    ensures room: s->run.tail != 3 ==> leg->base.position <= leg->end;
    ensures full: s->drop_last != 0 ==>
      leg->end == leg->base.position + s->global_batch *
        ((End(s->run.tail, s->run.num_samples, leg->blocks,
              leg->base.position, s->run.world_size) - leg->base.position) /
         s->global_batch);
*/
static inline void ssmp_leg_close(ssmp_leg *leg,
                                               const statesampler *s);

/* As many steps as hold all positions, and not one more; no rank is in it. */
/*@ requires \valid_read(leg) && \valid_read(s) && s->global_batch != 0;
    requires s->run.tail != 3 ==> leg->base.position <= leg->end;
    assigns \nothing;
    ensures enough: s->run.tail != 3 ==>
      \result * s->global_batch >= leg->end - leg->base.position;
    ensures least: s->run.tail != 3 ==> \result == 0 ||
      (\result - 1) * s->global_batch < leg->end - leg->base.position;
    ensures carry: s->run.tail == 3 ==>
      \result * s->global_batch <= 1 << 62;
*/
static inline uint64_t ssmp_leg_steps(
    const ssmp_leg *leg, const statesampler *s);

/* Step t of a shape begins at its base + t * G. */
/*@ requires \valid(spot) && \valid_read(leg) && \valid_read(s) && Shape(s);
    requires spot == &s->run.now || \separated(spot, s);
    requires \separated(spot, leg);
    requires s->run.tail == 3 ==> s->run.num_samples != 0;
    requires leg->base.position + steps * s->global_batch <
      18446744073709551616;
    assigns spot->epoch, spot->position, spot->step;
    ensures here: s->run.tail != 3 ==> spot->epoch == leg->base.epoch &&
      spot->position == \min(leg->end,
                             leg->base.position + steps * s->global_batch);
    ensures carry: s->run.tail == 3 ==> spot->position ==
      \old(leg->base.position + steps * s->global_batch) %
        \old(s->run.num_samples);
*/
static inline void ssmp_leg_spot(
    ssmp_spot *spot, const ssmp_leg *leg,
    const statesampler *s, uint64_t steps);

/*@ requires \valid_read(s) && s->run.world_size != 0;
    assigns \nothing;
    ensures most: \result <= count;
    ensures which: \forall integer j; 0 <= j < count ==>
      (j < \result <==> first + j * s->run.world_size < bound);
*/
static inline size_t ssmp_rank_below(const statesampler *s,
                                                  uint64_t bound,
                                                  uint64_t first,
                                                  size_t count);

/* Number j of this rank is position + j * W + rank: it has those before the
   end. */
/*@ requires \valid_read(s) && \valid_read(leg) && Shape(s);
    requires position <= leg->end <= 1 << 63 || s->run.tail == 3;
    assigns \nothing;
    ensures most: \result <= s->run.batch_size;
    ensures carry: s->run.tail == 3 ==> \result == s->run.batch_size;
    ensures which: s->run.tail != 3 ==>
      \forall integer j; Slot(j, s->run.batch_size, s->rank,
                              s->run.world_size) ==>
        (j < \result <==>
         position + j * s->run.world_size + s->rank < leg->end);
*/
static inline size_t ssmp_rank_count(
    const statesampler *s, const ssmp_leg *leg,
    uint64_t position);

/*@ requires \valid_read(s) && s->global_batch != 0;
    requires s->run.tail != 3 ==>
      s->run.leg.base.position <= s->run.leg.end;
    assigns \nothing;
    ensures s->run.tail == 3 ==> \result == 18446744073709551615;
*/
uint64_t statesampler_num_steps(const statesampler *s);

/* rank_samples is the least that is enough for the slots before the end. */
/*@ requires \valid_read(s) && Shape(s);
    requires \valid(counts) && \separated(counts, s);
    requires s->run.tail != 3 ==>
      s->run.leg.base.position <= s->run.leg.end <= 1 << 63;
    assigns *counts;
    ensures positions: counts->positions == s->run.leg.end;
    ensures all: counts->positions - counts->padded + counts->dropped ==
      s->run.num_samples;
    ensures one: counts->padded == 0 || counts->dropped == 0;
    ensures rank: s->run.tail != 3 ==>
      counts->rank_samples * s->run.world_size >=
        s->run.leg.end - s->run.leg.base.position - s->rank >
      (counts->rank_samples - 1) * s->run.world_size;
    ensures batches: s->run.tail != 3 ==>
      counts->rank_batches * s->run.batch_size >= counts->rank_samples &&
      (counts->rank_batches == 0 ||
       (counts->rank_batches - 1) * s->run.batch_size <
         counts->rank_samples);
*/
void statesampler_get_counts(const statesampler *s,
                             statesampler_counts *counts);
