/* tail.h - what the tail rules promise: where an epoch ends, how many steps it
   has, and who has which of their positions. */

#include "base.h"

/* The manual's sentences, in integers. Whole is what a rule makes of n in parts
   of equal size; End is where the epoch ends.

   Count(t, n) is true of all numbers, so that the axiom `count` is too: it only
   shows the prover the pairs that other axioms are about. Of these, `rising`,
   `rows` and `product` are proved by lemmas.smt2, the rest by tail.smt2. */
/*@ logic integer Up(integer a, integer b) = a / b + (a % b == 0 ? 0 : 1);
    logic integer Whole(integer tail, integer n, integer parts) =
      tail == 0 ? parts * Up(n, parts) :
      tail == 1 ? parts * (n / parts) : n;
    logic integer Rest(integer tail, integer d, integer c, integer w) =
      d <= c ? c : c + Whole(tail, d - c, w);
    logic integer End(integer tail, integer n, integer blocks, integer c,
                      integer w) =
      Rest(tail, Whole(tail, n, blocks), c, w);
    predicate Slot(integer j, integer b, integer r, integer w) =
      0 <= j < b && 0 <= r < w;
    axiomatic Counting {
      predicate Count(integer t, integer n);
      axiom count: \forall integer t, n; Count(t, n);
      axiom rising: \forall integer x, y, n;
        Count(x, n) && Count(y, n) && 0 <= n && x < y ==> x * n + n <= y * n;
      axiom rows: \forall integer t, n;
        Count(t, n) && 0 <= t && 0 < n ==> (t * n) % n == 0;
    }
    axiomatic Division {
      axiom parts: \forall integer a, b; 0 <= a && 0 < b ==>
        a == b * (a / b) + a % b && 0 <= a % b < b && 0 <= a / b;
      axiom slots: \forall integer j, x, w;
        Count(j, w) && 0 <= j && 0 <= x && 0 < w ==>
        (j <= x / w <==> j * w <= x);
      axiom grid: \forall integer j, b, r, w; Slot(j, b, r, w) ==>
        r + j * w < b * w;
      axiom product: \forall integer x, y;
        0 <= x < 4294967296 && 0 <= y < 4294967296 ==>
        0 <= x * y < 18446744073709551616;
    }
    predicate Shape(ssmp_shape *s) =
      s->world_size != 0 && s->batch_size != 0 && s->rank < s->world_size &&
      1 <= s->world_size * s->batch_size < 1 << 62;
    predicate Bounded(ssmp_segment *s) = s->base.position <= s->end <= 1 << 63;
*/

/*@ requires \valid_read(shape);
    assigns \nothing;
    ensures \result == shape->world_size * shape->batch_size;
*/
static inline uint64_t ssmp_global_batch(const ssmp_shape *shape);

/*@ requires parts != 0 && samples < 1 << 63;
    assigns \nothing;
    ensures \result == Whole(tail, samples, parts);
    ensures \result < samples + parts;
    ensures tail != 0 ==> \result <= samples;
*/
static inline uint64_t ssmp_tail_round(uint32_t tail, uint64_t samples,
                                       uint32_t parts);

/*@ requires \valid(segment) && \valid_read(run) && \valid_read(shape);
    requires Shape(shape) && segment->blocks != 0;
    requires run->num_samples <= 1 << 62;
    requires \separated(segment, &run->num_samples);
    requires \separated(segment, &run->tail) && \separated(segment, shape);
    assigns segment->end, segment->carry;
    ensures carry: segment->carry != 0 <==> run->tail == 3;
    ensures room: segment->base.position <= segment->end;
    ensures most: segment->end == segment->base.position ||
      segment->end < run->num_samples + segment->blocks + shape->world_size;
    ensures all: shape->drop_last == 0 ==>
      segment->end == End(run->tail, run->num_samples, segment->blocks,
                          segment->base.position, shape->world_size);
    ensures full: shape->drop_last != 0 ==>
      segment->end == segment->base.position +
        shape->world_size * shape->batch_size *
        ((End(run->tail, run->num_samples, segment->blocks,
              segment->base.position, shape->world_size) -
          segment->base.position) /
         (shape->world_size * shape->batch_size));
*/
static inline void ssmp_segment_close(ssmp_segment *segment,
                                      const ssmp_run *run,
                                      const ssmp_shape *shape);

/* As many steps as hold all positions, and not one more; no rank is in it. So
   it has step t - 1 exactly if that begins before the end, or with CARRY, if t
   steps are at most 2^62 positions. */
/*@ requires \valid_read(segment) && global_batch != 0 && Bounded(segment);
    assigns \nothing;
    ensures enough: segment->carry == 0 ==>
      \result * global_batch >= segment->end - segment->base.position;
    ensures least: segment->carry == 0 ==> \result == 0 ||
      (\result - 1) * global_batch < segment->end - segment->base.position;
    ensures carry: segment->carry != 0 ==> \result * global_batch <= 1 << 62;
    ensures exact: segment->carry == 0 ==>
      \forall integer t; Count(t, global_batch) && 0 <= t ==>
      (t <= \result <==>
       t * global_batch <
         segment->end - segment->base.position + global_batch);
    ensures reach: segment->carry != 0 ==>
      \forall integer t; Count(t, global_batch) && 0 <= t ==>
      (t <= \result <==> t * global_batch <= 1 << 62);
*/
static inline uint64_t ssmp_segment_steps(const ssmp_segment *segment,
                                          uint64_t global_batch);

/*@ requires \valid(to) && \valid_read(from) && \separated(to, from);
    assigns to->epoch, to->position, to->step;
    ensures to->epoch == from->epoch && to->position == from->position &&
      to->step == from->step;
*/
static inline void ssmp_cursor_copy(ssmp_cursor *to, const ssmp_cursor *from);

/*@ requires \valid(cursor) && \valid_read(segment);
    requires \separated(cursor, segment);
    requires cursor->position + positions < 18446744073709551616;
    requires segment->carry != 0 ==> segment->end != 0;
    assigns cursor->epoch, cursor->position;
    ensures here: segment->carry == 0 ==>
      cursor->epoch == \old(cursor->epoch) &&
      cursor->position == \min(segment->end,
                               \old(cursor->position) + positions);
    ensures carry: segment->carry != 0 ==>
      cursor->position ==
        (\old(cursor->position) + positions) % segment->end &&
      cursor->epoch == (uint64_t)(\old(cursor->epoch) +
        (\old(cursor->position) + positions) / segment->end);
*/
static inline void ssmp_cursor_move(ssmp_cursor *cursor,
                                    const ssmp_segment *segment,
                                    uint64_t positions);

/* Step t of a segment begins at its base + t * G; with CARRY, an epoch is
   `end` positions. */
/*@ requires \valid(cursor) && \valid_read(segment);
    requires \separated(cursor, segment);
    requires segment->base.position + steps * global_batch <
      18446744073709551616;
    requires segment->carry != 0 ==> segment->end != 0;
    assigns cursor->epoch, cursor->position, cursor->step;
    ensures step: cursor->step == (uint64_t)(segment->base.step + steps);
    ensures here: segment->carry == 0 ==>
      cursor->epoch == segment->base.epoch &&
      cursor->position == \min(segment->end, segment->base.position +
                                             steps * global_batch);
    ensures carry: segment->carry != 0 ==>
      cursor->position ==
        (segment->base.position + steps * global_batch) % segment->end &&
      cursor->epoch == (uint64_t)(segment->base.epoch +
        (segment->base.position + steps * global_batch) / segment->end);
*/
static inline void ssmp_segment_find(ssmp_cursor *cursor,
                                     const ssmp_segment *segment,
                                     uint64_t global_batch, uint64_t steps);

/*@ requires \valid_read(shape) && shape->world_size != 0;
    requires count < 4294967296;
    assigns \nothing;
    ensures most: \result <= count;
    ensures which: \forall integer j;
      Count(j, shape->world_size) && 0 <= j < count ==>
      (j < \result <==> first + j * shape->world_size < bound);
    ensures full: first + count * shape->world_size <= bound ==>
      \result == count;
*/
static inline size_t ssmp_shape_below(const ssmp_shape *shape, uint64_t bound,
                                      uint64_t first, size_t count);

/* Number j of this rank is position + j * W + rank: it has those before the
   end, and with CARRY all. */
/*@ requires \valid_read(segment) && \valid_read(shape) && Shape(shape);
    requires position <= 1 << 63;
    assigns \nothing;
    ensures most: \result <= shape->batch_size;
    ensures which: segment->carry == 0 ==>
      \forall integer j; Count(j, shape->world_size) &&
      Slot(j, shape->batch_size, shape->rank, shape->world_size) ==>
        (j < \result <==>
         position + j * shape->world_size + shape->rank < segment->end);
    ensures carry: segment->carry != 0 ==> \result == shape->batch_size;
*/
static inline size_t ssmp_segment_count(const ssmp_segment *segment,
                                        const ssmp_shape *shape,
                                        uint64_t position);

/*@ requires \valid_read(s) && Shape(&s->run.shape) && Bounded(&s->run.segment);
    assigns \nothing;
    ensures s->run.segment.carry != 0 ==> \result == 18446744073709551615;
*/
uint64_t statesampler_num_steps(const statesampler *s);

/* rank_samples is the least that is enough for the slots before the end. */
/*@ requires \valid_read(s) && Shape(&s->run.shape) && Bounded(&s->run.segment);
    requires s->run.num_samples <= 1 << 62;
    requires \valid(counts) && \separated(counts, s);
    assigns *counts;
    ensures positions: counts->positions == s->run.segment.end;
    ensures all: counts->positions - counts->padded + counts->dropped ==
      s->run.num_samples;
    ensures one: counts->padded == 0 || counts->dropped == 0;
    ensures rank: s->run.segment.carry == 0 ==>
      counts->rank_samples * s->run.shape.world_size >=
        s->run.segment.end - s->run.segment.base.position - s->run.shape.rank >
      (counts->rank_samples - 1) * s->run.shape.world_size;
    ensures batches: s->run.segment.carry == 0 ==>
      counts->rank_batches * s->run.shape.batch_size >=
        counts->rank_samples &&
      (counts->rank_batches == 0 ||
       (counts->rank_batches - 1) * s->run.shape.batch_size <
         counts->rank_samples);
    ensures carry: s->run.segment.carry != 0 ==>
      counts->rank_samples == 18446744073709551615 &&
      counts->rank_batches == 18446744073709551615;
*/
void statesampler_get_counts(const statesampler *s,
                             statesampler_counts *counts);
