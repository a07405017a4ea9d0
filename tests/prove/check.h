/* check.h - what init refuses: exactly what the manual says. */

#include "tail.h"

/*@ predicate Shaped(integer rank, integer w, integer b) =
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
