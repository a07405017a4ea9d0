/* check.h - what init and load refuse: exactly what the manual says. */

#include "tail.h"

/*@ axiomatic Words {
      axiom under: \forall integer x; -18446744073709551616 <= x < 0 ==>
        (uint64_t)x == x + 18446744073709551616;
    }
    predicate Shaped(integer rank, integer w, integer b) =
      rank < w && w * b < 1 << 62;
    predicate Windowed(integer order, integer chunk, integer window) =
      order == 2 ==>
        chunk != 0 && window != 0 && window <= ((1 << 62) - 1) / chunk;
    predicate Endless(integer tail, integer n, integer partition,
                      integer drop) =
      tail == 3 ==> n != 0 && partition != 1 && drop == 0;
*/

/*@ assigns \nothing;
    ensures code: \result == 0 || \result == -102 || \result == -103;
    ensures only: \result == 0 <==> Shaped(rank, world_size, batch_size);
*/
static inline int ssmp_shape_check(uint32_t rank,
                                                uint32_t world_size,
                                                uint32_t batch_size);

/*@ requires \valid_read(d);
    assigns \nothing;
    ensures code: -110 <= \result <= -108 || \result == 0;
    ensures only: \result == 0 <==>
      Windowed(d->order, d->chunk_size, d->window);
*/
static inline int ssmp_desc_check_window(
    const statesampler_desc *d);

/*@ requires \valid_read(d);
    assigns \nothing;
    ensures code: -113 <= \result <= -111 || \result == 0;
    ensures only: \result == 0 <==>
      Endless(d->tail, d->num_samples, d->partition, d->drop_last);
*/
static inline int ssmp_desc_check_carry(
    const statesampler_desc *d);

/*@ requires \valid_read(d);
    assigns \nothing;
    ensures code: -113 <= \result <= -101 || \result == 0;
    ensures only: \result == 0 <==>
      d->num_samples <= 1 << 62 &&
      Shaped(d->rank, d->world_size == 0 ? 1 : d->world_size,
             d->batch_size) &&
      d->order <= 3 && d->partition <= 1 && d->tail <= 3 &&
      d->drop_last <= 1 &&
      Windowed(d->order, d->chunk_size, d->window) &&
      Endless(d->tail, d->num_samples, d->partition, d->drop_last);
*/
static inline int ssmp_desc_check(const statesampler_desc *d);

/*@ requires \valid_read(run);
    assigns \nothing;
    ensures only: \result != 0 <==>
      (run->partition == 0 ? run->leg.blocks == 1 :
       run->leg.blocks != 0 &&
       (run->leg.base.position != 0 || run->leg.blocks == run->world_size));
*/
static inline int ssmp_run_check_blocks(
    const ssmp_run *run);

/*@ requires \valid_read(run);
    assigns \nothing;
    ensures sum: run->now.epoch == run->leg.base.epoch &&
      run->now.position >= run->leg.base.position ==>
      \result == run->now.position - run->leg.base.position;
*/
static inline uint64_t ssmp_run_served(
    const ssmp_run *run);

/* End and Whole are those of tail.h: the present is between the base and the
   end, where a step begins, or at the end. */
/*@ requires \valid_read(run) && run->leg.blocks != 0 && run->tail < 3;
    requires run->world_size != 0 && run->batch_size != 0;
    requires run->num_samples <= 1 << 62;
    assigns \nothing;
    ensures code: \result == -307 || \result == -308 || \result == 0;
    ensures base: \result != -307 <==>
      run->leg.base.position <=
        Whole(run->tail, run->num_samples, run->leg.blocks) +
          (run->tail == 0 ? 4294967294 : 0) &&
      run->leg.base.step <= run->leg.base.position &&
      (run->leg.base.position == 0 ||
       run->leg.base.position >= run->leg.blocks ||
       run->leg.base.position >=
         Whole(run->tail, run->num_samples, run->leg.blocks));
    ensures now: \result == 0 ==>
      run->now.epoch == run->leg.base.epoch &&
      run->leg.base.position <= run->now.position <=
        End(run->tail, run->num_samples, run->leg.blocks,
            run->leg.base.position, run->world_size);
    ensures step: \result == 0 ==>
      run->now.position == End(run->tail, run->num_samples, run->leg.blocks,
                               run->leg.base.position, run->world_size) ||
      (run->now.position - run->leg.base.position) %
        (uint64_t)(run->world_size * run->batch_size) == 0;
*/
static inline int ssmp_run_check_spots(
    const ssmp_run *run);
