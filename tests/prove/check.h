/* check.h - what init and load refuse: exactly what the manual says. The axioms
   are the definition of a conversion: modulo 2^64. */

#include "tail.h"

/*@ axiomatic Words {
      axiom under: \forall integer x; -18446744073709551616 <= x < 0 ==>
        (uint64_t)x == x + 18446744073709551616;
      axiom over: \forall integer x;
        18446744073709551616 <= x < 36893488147419103232 ==>
        (uint64_t)x == x - 18446744073709551616;
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

/*@ requires \valid_read(shape);
    assigns \nothing;
    ensures code: \result == 0 || \result == -102 || \result == -103;
    ensures only: \result == 0 <==>
      Shaped(shape->rank, shape->world_size, shape->batch_size);
*/
static inline int ssmp_shape_check(const ssmp_shape *shape);

/*@ requires \valid_read(run);
    assigns \nothing;
    ensures code: -110 <= \result <= -108 || \result == 0;
    ensures only: \result == 0 <==>
      Windowed(run->order, run->chunk_size, run->window);
*/
static inline int ssmp_run_check_window(const ssmp_run *run);

/*@ requires \valid_read(run);
    assigns \nothing;
    ensures code: -113 <= \result <= -111 || \result == 0;
    ensures only: \result == 0 <==>
      Endless(run->tail, run->num_samples, run->partition,
              run->shape.drop_last);
*/
static inline int ssmp_run_check_carry(const ssmp_run *run);

/*@ requires \valid_read(run);
    assigns \nothing;
    ensures code: -113 <= \result <= -101 || \result == 0;
    ensures only: \result == 0 <==>
      run->num_samples <= 1 << 62 &&
      Shaped(run->shape.rank, run->shape.world_size, run->shape.batch_size) &&
      run->order <= 3 && run->partition <= 1 && run->tail <= 3 &&
      run->shape.drop_last <= 1 &&
      Windowed(run->order, run->chunk_size, run->window) &&
      Endless(run->tail, run->num_samples, run->partition,
              run->shape.drop_last);
*/
static inline int ssmp_run_check_desc(const ssmp_run *run);

/* Where load's sampler may be: its base at position c in range; the present p
   in the base's epoch where a step of g positions begins, or at its end; with
   CARRY, in the 2^62 positions from the base on, some epochs later. */
/*@ logic integer Epochs(integer now, integer base) =
      now >= base ? now - base : now - base + 18446744073709551616;
    logic integer Passed(integer tail, integer n, integer epochs, integer p,
                         integer c) =
      tail == 3 ? epochs * n + p - c : p - c;
    predicate Within(integer tail, integer n, integer epochs, integer p,
                     integer c, integer end) =
      0 <= Passed(tail, n, epochs, p, c) &&
      (tail == 3 ? p < n && epochs <= (1 << 62) / n + 1 &&
         Passed(tail, n, epochs, p, c) <= 1 << 62 :
       epochs == 0 && p <= end);
    predicate Start(integer tail, integer passed, integer p, integer end,
                    integer g) =
      (tail != 3 && p == end) || passed % g == 0;
    logic integer Served(ssmp_run *r) =
      Passed(r->tail, r->num_samples,
             Epochs(r->now.epoch, r->segment.base.epoch), r->now.position,
             r->segment.base.position);
    predicate Based(ssmp_run *r) =
      r->segment.base.position <= (1 << 62) + (1 << 33) &&
      r->segment.base.step < 5 * (1 << 61) &&
      (r->tail == 3 ==> r->segment.base.position < r->num_samples);
    predicate Present(ssmp_run *r) =
      Within(r->tail, r->num_samples,
             Epochs(r->now.epoch, r->segment.base.epoch), r->now.position,
             r->segment.base.position, r->segment.end);
    predicate Begins(ssmp_run *r) =
      Start(r->tail, Served(r), r->now.position, r->segment.end,
            r->shape.world_size * r->shape.batch_size);
*/

/*@ requires \valid(run) && Shape(&run->shape) && run->segment.blocks != 0;
    requires run->num_samples <= 1 << 62 && run->tail <= 3;
    requires run->tail == 3 ==>
      run->num_samples != 0 && run->shape.drop_last == 0 &&
      run->segment.blocks == 1;
    assigns run->segment.end, run->segment.carry, run->now.step;
    ensures code: \result == -307 || \result == -308 || \result == 0;
    ensures base: \result != -307 <==> Based(run);
    ensures takes: \result == 0 ==> Present(run);
    ensures begins: \result == 0 ==> Begins(run);
    ensures all: Based(run) && Present(run) && Begins(run) ==> \result == 0;
*/
static inline int ssmp_run_check(ssmp_run *run);
