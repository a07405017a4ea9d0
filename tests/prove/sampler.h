/* sampler.h - what the functions of the sampler promise: that of a sampler
   that is Good, nothing undefined happens, and that it is Good again. */

#include "base.h"

/*@ predicate Run(statesampler_priv_run *r) =
      r->num_samples <= 1 << 62 &&
      r->world_size != 0 && r->batch_size != 0 &&
      r->order <= 3 && r->partition <= 1 && r->tail <= 3 &&
      (r->order == 2 ==> r->chunk_size != 0 && r->window != 0) &&
      (r->tail == 3 ==> r->num_samples != 0);
    predicate Keyed(statesampler_perm *p) =
      (p->n <= 1 << 62 || p->n == 18446744073709551615) &&
      (p->n <= 1 << 62 ==> p->left != 0 && p->right != 0 && p->wide <= 1 &&
        p->rounds <= 24 && (p->wide == 1 ==> p->rounds <= 12));
    predicate Order(statesampler_priv_order *o) =
      Keyed(&o->perm) && Keyed(&o->inside);
    predicate Good(statesampler *s) =
      Run(&s->run) && s->run.leg.blocks != 0 && s->global_batch != 0 &&
      s->rank < s->run.world_size && Order(&s->ready);
*/

/* perm.c proves more of perm_set_size and perm_set_key. */
/*@ requires \valid(perm) && n <= 1 << 62;
    assigns perm->n, perm->left, perm->right, perm->wide, perm->rounds;
    ensures Keyed(perm) && perm->n == n;
*/
static inline void statesampler_priv_perm_set_size(statesampler_perm *perm,
                                                   uint64_t n);

/*@ requires \valid(perm) && Keyed(perm) && perm->n <= 1 << 62;
    assigns perm->key, perm->keys[0 .. 23];
    ensures Keyed(perm) && perm->key == key;
*/
static inline void statesampler_priv_perm_set_key(statesampler_perm *perm,
                                                  uint64_t key);

/*@ requires \valid(perm);
    assigns perm->n, perm->key, perm->left, perm->right, perm->rounds,
      perm->wide;
    ensures Keyed(perm);
*/
static inline void statesampler_priv_perm_clear(statesampler_perm *perm);

/*@ requires \valid(perm) && n <= 1 << 62 && Keyed(perm);
    assigns *perm;
    ensures Keyed(perm) && perm->n == n && perm->key == key;
*/
static inline void statesampler_priv_perm_set(statesampler_perm *perm,
                                              uint64_t n, uint64_t key);

/*@ requires \valid(order);
    assigns *order;
    ensures Order(order) && order->blocks == 0;
*/
static inline void statesampler_priv_order_clear(
    statesampler_priv_order *order);

/*@ requires \valid(start) && \valid(size) && \valid_read(run);
    requires \separated(start, size, run);
    requires blocks != 0 && block < blocks && Run(run);
    assigns *start, *size;
    ensures *size <= run->num_samples;
*/
static inline void statesampler_priv_order_bounds(
    uint64_t *start, uint64_t *size, const statesampler_priv_run *run,
    uint32_t blocks, uint32_t block);

/*@ requires \valid_read(order);
    assigns \nothing;
*/
static inline int statesampler_priv_order_knows(
    const statesampler_priv_order *order, uint64_t epoch);

/*@ requires \valid(order) && \valid_read(run) && \separated(order, run);
    requires blocks != 0 && block < blocks && Run(run) && Order(order);
    assigns *order;
    ensures Order(order);
*/
static void statesampler_priv_order_set(
    statesampler_priv_order *order, const statesampler_priv_run *run,
    uint64_t epoch, uint32_t blocks, uint32_t block);

/*@ requires \valid_read(order);
    assigns \nothing;
    ensures \result != 0 <==> order->blocks == blocks &&
      order->block == block && order->epoch == epoch;
*/
static inline int statesampler_priv_order_is(
    const statesampler_priv_order *order, uint64_t epoch, uint32_t blocks,
    uint32_t block);

/*@ requires \valid(spare) && \valid_read(have) && \valid_read(run);
    requires \separated(spare, run);
    requires spare == have || \separated(spare, have);
    requires blocks != 0 && block < blocks && Run(run);
    requires Order(spare) && Order(have);
    assigns *spare;
    ensures \result == have || \result == spare;
    ensures Order(spare);
*/
static inline const statesampler_priv_order *statesampler_priv_order_for(
    statesampler_priv_order *spare, const statesampler_priv_order *have,
    const statesampler_priv_run *run, uint64_t epoch, uint32_t blocks,
    uint32_t block);

/*@ requires \valid(to) && \valid_read(from) && \separated(to, from);
    assigns to->epoch, to->position, to->step;
    ensures to->epoch == from->epoch && to->position == from->position &&
      to->step == from->step;
*/
static inline void statesampler_priv_spot_copy(
    statesampler_priv_spot *to, const statesampler_priv_spot *from);

/*@ requires \valid_read(run);
    assigns \nothing;
*/
static inline int statesampler_priv_run_pads(
    const statesampler_priv_run *run);

/*@ requires \valid_read(run) && parts != 0;
    assigns \nothing;
*/
static inline uint64_t statesampler_priv_run_whole(
    const statesampler_priv_run *run, uint64_t samples, uint32_t parts);

/*@ requires \valid_read(run) && \valid_read(leg);
    requires run->world_size != 0 && leg->blocks != 0;
    assigns \nothing;
*/
static inline uint64_t statesampler_priv_run_end(
    const statesampler_priv_run *run, const statesampler_priv_leg *leg);

/*@ requires \valid(leg) && \valid_read(s);
    requires leg->blocks != 0 && s->run.world_size != 0 &&
      s->global_batch != 0;
    requires leg == &s->run.leg || \separated(leg, s);
    assigns leg->end;
*/
static inline void statesampler_priv_leg_close(statesampler_priv_leg *leg,
                                               const statesampler *s);

/*@ requires \valid(leg) && \valid_read(s);
    requires s->run.world_size != 0 && s->global_batch != 0;
    requires leg == &s->run.leg || \separated(leg, s);
    assigns leg->base.epoch, leg->base.position, leg->base.step, leg->end,
      leg->blocks;
    ensures leg->blocks != 0;
*/
static inline void statesampler_priv_leg_begin(statesampler_priv_leg *leg,
                                               const statesampler *s,
                                               uint64_t epoch);

/*@ requires \valid_read(leg) && \valid_read(s) && s->global_batch != 0;
    assigns \nothing;
*/
static inline uint64_t statesampler_priv_leg_steps(
    const statesampler_priv_leg *leg, const statesampler *s);

/*@ requires \valid(spot) && \valid_read(leg) && \valid_read(s);
    requires spot == &s->run.now || \separated(spot, s);
    requires \separated(spot, leg);
    requires Run(&s->run);
    assigns spot->epoch, spot->position, spot->step;
*/
static inline void statesampler_priv_leg_spot(
    statesampler_priv_spot *spot, const statesampler_priv_leg *leg,
    const statesampler *s, uint64_t steps);

/*@ requires \valid_read(leg) && \valid_read(s);
    assigns \nothing;
*/
static inline int statesampler_priv_leg_ends(
    const statesampler_priv_leg *leg, const statesampler *s,
    uint64_t position);

/*@ requires \valid_read(s) && s->run.world_size != 0;
    assigns \nothing;
    ensures \result <= count;
*/
static inline size_t statesampler_priv_rank_below(const statesampler *s,
                                                  uint64_t bound,
                                                  uint64_t first,
                                                  size_t count);

/*@ requires \valid_read(s) && \valid_read(leg) && s->run.world_size != 0;
    assigns \nothing;
    ensures \result <= s->run.batch_size;
*/
static inline size_t statesampler_priv_rank_count(
    const statesampler *s, const statesampler_priv_leg *leg,
    uint64_t position);

struct statesampler_priv_view;
/* Where there is no room for a batch, none is filled. */
/*@ requires \false;
    assigns out[0 .. count - 1];
*/
static inline void statesampler_priv_view_fill(
    uint64_t *out, const struct statesampler_priv_view *view,
    const statesampler_priv_spot *spot, size_t count);

/*@ requires \valid(s) && Good(s);
    assigns s->ready;
    ensures Good(s);
*/
static inline void statesampler_priv_sampler_prepare(statesampler *s);

/*@ assigns \nothing;
    ensures \result == 0 || \result == -102 || \result == -103;
    ensures \result == 0 <==>
      rank < world_size && world_size * batch_size < 1 << 62;
*/
static inline int statesampler_priv_shape_check(uint32_t rank,
                                                uint32_t world_size,
                                                uint32_t batch_size);

/*@ assigns \nothing;
    ensures \result == 0 || \result == -114;
*/
static inline int statesampler_priv_batch_check(uint32_t batch_size);

/*@ requires \valid(s);
    requires world_size * batch_size < 1 << 62;
    assigns s->run.world_size, s->run.batch_size, s->global_batch;
    ensures s->run.world_size == world_size;
    ensures s->run.batch_size == batch_size;
    ensures s->global_batch == world_size * batch_size;
    ensures world_size != 0 && batch_size != 0 ==> s->global_batch != 0;
*/
static inline void statesampler_priv_sampler_reshape(statesampler *s,
                                                     uint32_t world_size,
                                                     uint32_t batch_size);

/*@ requires \valid_read(d);
    assigns \nothing;
    ensures -110 <= \result <= -108 || \result == 0;
    ensures \result == 0 ==>
      (d->order == 2 ==> d->chunk_size != 0 && d->window != 0);
*/
static inline int statesampler_priv_desc_check_window(
    const statesampler_desc *d);

/*@ requires \valid_read(d);
    assigns \nothing;
    ensures -113 <= \result <= -111 || \result == 0;
    ensures \result == 0 ==> (d->tail == 3 ==> d->num_samples != 0);
*/
static inline int statesampler_priv_desc_check_carry(
    const statesampler_desc *d);

/*@ predicate Described(statesampler_desc *d) =
      d->num_samples <= 1 << 62 &&
      d->rank < (d->world_size == 0 ? 1 : d->world_size) &&
      (d->world_size == 0 ? 1 : d->world_size) * d->batch_size < 1 << 62 &&
      d->order <= 3 && d->partition <= 1 && d->tail <= 3 &&
      d->drop_last <= 1 &&
      (d->order == 2 ==> d->chunk_size != 0 && d->window != 0) &&
      (d->tail == 3 ==> d->num_samples != 0);
*/

/*@ requires \valid_read(d);
    assigns \nothing;
    ensures -113 <= \result <= -101 || \result == 0;
    ensures \result == 0 ==> Described(d);
*/
static inline int statesampler_priv_desc_check(const statesampler_desc *d);

/*@ requires \valid(s) && \valid_read(desc) && \separated(s, desc);
    assigns *s;
    ensures -114 <= \result <= -101 || \result == 0;
    ensures good: \result == 0 ==> Good(s);
    ensures refused: \result != 0 ==> *s == \old(*s);
*/
int statesampler_init(statesampler *s, const statesampler_desc *desc);

/*@ requires \valid(desc) && \valid_read(run) && \separated(desc, run);
    assigns *desc;
    ensures desc->num_samples == run->num_samples && desc->rank == 0 &&
      desc->world_size == run->world_size &&
      desc->batch_size == run->batch_size && desc->order == run->order &&
      desc->partition == run->partition && desc->tail == run->tail &&
      desc->chunk_size == run->chunk_size && desc->window == run->window;
*/
static inline void statesampler_priv_run_describe(
    statesampler_desc *desc, const statesampler_priv_run *run);

/* begin sets up the leg: only its blocks need not be Good before. */
/*@ requires \valid(s);
    requires Run(&s->run) && s->global_batch != 0 &&
      s->rank < s->run.world_size && Order(&s->ready);
    assigns s->run.leg.base.epoch, s->run.leg.base.position,
      s->run.leg.base.step, s->run.leg.end, s->run.leg.blocks,
      s->run.now.epoch, s->run.now.position, s->run.now.step, s->ready;
    ensures Good(s);
*/
void statesampler_begin(statesampler *s, uint64_t epoch);

/*@ requires \valid(s) && Good(s);
    assigns s->run.leg.base.epoch, s->run.leg.base.position,
      s->run.leg.base.step, s->run.leg.end, s->run.leg.blocks,
      s->run.now.epoch, s->run.now.position, s->run.now.step, s->ready;
    ensures Good(s);
*/
void statesampler_set_epoch(statesampler *s, uint64_t epoch);

/*@ requires \valid(s) && Good(s);
    assigns s->run.leg.base.epoch, s->run.leg.base.position,
      s->run.leg.base.step, s->run.leg.end, s->run.leg.blocks,
      s->run.now.epoch, s->run.now.position, s->run.now.step, s->ready;
    ensures Good(s);
*/
static inline void statesampler_priv_sampler_rebase(statesampler *s);

/*@ requires \valid(s) && Good(s);
    assigns s->run, s->rank, s->global_batch, s->ready;
    ensures Good(s);
*/
int statesampler_reshape(statesampler *s, uint32_t rank, uint32_t world_size,
                         uint32_t batch_size);

/*@ requires \valid(s) && Good(s);
    assigns s->run, s->ready;
    ensures Good(s);
*/
int statesampler_resize(statesampler *s, uint64_t num_samples);

/*@ requires \valid(s) && Good(s) && out == \null;
    assigns s->run.leg.base.epoch, s->run.leg.base.position,
      s->run.leg.base.step, s->run.leg.end, s->run.leg.blocks,
      s->run.now.epoch, s->run.now.position, s->run.now.step, s->ready;
    ensures Good(s);
*/
static inline size_t statesampler_priv_sampler_serve(uint64_t *out,
                                                     statesampler *s);

/*@ requires \valid(s) && Good(s) && out == \null;
    requires count == \null || (\valid(count) && \separated(count, s));
    assigns s->run.leg.base.epoch, s->run.leg.base.position,
      s->run.leg.base.step, s->run.leg.end, s->run.leg.blocks,
      s->run.now.epoch, s->run.now.position, s->run.now.step, s->ready, *count;
    ensures \result == 0 || \result == 1;
    ensures Good(s);
*/
int statesampler_next(statesampler *s, uint64_t *out, size_t *count);

/*@ requires \valid(spot) && \valid_read(s) && Good(s);
    requires spot == &s->run.now || \separated(spot, s);
    assigns spot->epoch, spot->position, spot->step;
    ensures -203 <= \result <= -201 || \result == 0;
    ensures \result != 0 ==> *spot == \old(*spot);
*/
static inline int statesampler_priv_sampler_find(
    statesampler_priv_spot *spot, const statesampler *s, uint64_t step);

/*@ requires \valid_read(s) && Good(s) && out == \null;
    requires \valid_read(leg) && \valid_read(spot);
    assigns \nothing;
    ensures \result <= s->run.batch_size;
*/
static inline size_t statesampler_priv_sampler_peek(
    uint64_t *out, const statesampler *s, const statesampler_priv_leg *leg,
    const statesampler_priv_spot *spot);

/*@ requires \valid_read(s) && Good(s) && out == \null;
    requires count == \null || (\valid(count) && \separated(count, s));
    assigns *count;
    ensures \result == 0 || \result == 1 || \result == -201 ||
      \result == -203;
*/
int statesampler_at(const statesampler *s, uint64_t step, uint64_t *out,
                    size_t *count);

/*@ requires \valid(s) && Good(s);
    assigns s->run.now.epoch, s->run.now.position, s->run.now.step;
    ensures -203 <= \result <= -201 || \result == 0;
    ensures good: Good(s);
    ensures refused: \result != 0 ==> s->run.now == \old(s->run.now);
*/
int statesampler_seek(statesampler *s, uint64_t step);

/*@ requires \valid_read(s) && Good(s);
    assigns \nothing;
*/
uint64_t statesampler_sample_seed(const statesampler *s, uint64_t epoch,
                                  uint64_t index);

/*@ requires \valid_read(s) && Good(s);
    assigns \nothing;
*/
uint64_t statesampler_num_steps(const statesampler *s);

/*@ requires \valid_read(s) && Good(s);
    requires \valid(counts) && \separated(counts, s);
    assigns *counts;
*/
void statesampler_get_counts(const statesampler *s,
                             statesampler_counts *counts);

/*@ requires \valid_read(s) && Good(s);
    assigns \nothing;
    ensures \result <= s->run.batch_size;
*/
size_t statesampler_padding(const statesampler *s, uint64_t step);
