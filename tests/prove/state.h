/* state.h - what the functions promise that read and write a state: whatever
   the bytes are, nothing undefined happens, and a sampler is Good again. */

#include "sampler.h"

/*@ requires \valid_read(bytes + (0 .. 3));
    assigns \nothing;
*/
static inline uint32_t statesampler_priv_bytes_load32(
    const unsigned char *bytes);

/*@ requires \valid_read(bytes + (0 .. 7));
    assigns \nothing;
*/
static inline uint64_t statesampler_priv_bytes_load64(
    const unsigned char *bytes);

/*@ requires \valid(bytes + (0 .. 3));
    assigns bytes[0 .. 3];
*/
static inline void statesampler_priv_bytes_store32(unsigned char *bytes,
                                                   uint32_t value);

/*@ requires \valid(bytes + (0 .. 7));
    assigns bytes[0 .. 7];
*/
static inline void statesampler_priv_bytes_store64(unsigned char *bytes,
                                                   uint64_t value);

/*@ requires \valid(spot) && \valid_read(bytes + (0 .. 23));
    requires \separated(spot, bytes + (0 .. 23));
    assigns spot->epoch, spot->position, spot->step;
*/
static inline void statesampler_priv_spot_decode(
    statesampler_priv_spot *spot, const unsigned char *bytes);

/*@ requires \valid(run) && \valid_read(bytes + (0 .. 63));
    requires \separated(run, bytes + (0 .. 63));
    assigns run->num_samples, run->seed, run->stream, run->chunk_size,
      run->window, run->order, run->partition, run->tail, run->leg.blocks,
      run->world_size, run->batch_size;
*/
static inline int statesampler_priv_run_decode(statesampler_priv_run *run,
                                               const unsigned char *bytes);

/*@ requires size % 8 == 0 && \valid_read(bytes + (0 .. size - 1));
    assigns \nothing;
*/
static inline uint64_t statesampler_priv_state_hash(
    const unsigned char *bytes, size_t size);

/*@ requires \valid_read(bytes + (0 .. size - 1));
    requires expected % 8 == 0 && expected >= 8;
    assigns \nothing;
    ensures -303 <= \result <= -301 || \result == -401 || \result == -402 ||
      \result == 0;
    ensures \result == 0 ==> size == expected;
*/
static inline int statesampler_priv_state_check(const unsigned char *bytes,
                                                size_t size, uint32_t magic,
                                                size_t expected);

/*@ requires \valid_read(run);
    assigns \nothing;
*/
static inline uint64_t statesampler_priv_run_served(
    const statesampler_priv_run *run);

/*@ requires \valid_read(run) && run->num_samples != 0;
    requires run->world_size != 0 && run->batch_size != 0;
    assigns \nothing;
    ensures \result == -307 || \result == -308 || \result == 0;
*/
static inline int statesampler_priv_run_check_carry(
    const statesampler_priv_run *run);

/*@ requires \valid_read(run) && run->leg.blocks != 0;
    requires run->world_size != 0 && run->batch_size != 0;
    assigns \nothing;
    ensures \result == -307 || \result == -308 || \result == 0;
*/
static inline int statesampler_priv_run_check_spots(
    const statesampler_priv_run *run);

/*@ requires \valid_read(run);
    assigns \nothing;
    ensures \result != 0 ==> run->leg.blocks != 0;
*/
static inline int statesampler_priv_run_check_blocks(
    const statesampler_priv_run *run);

/*@ requires \valid_read(run);
    assigns \nothing;
    ensures -308 <= \result <= -304 || \result == 0;
    ensures \result == 0 ==> Run(run) && run->leg.blocks != 0;
*/
static inline int statesampler_priv_run_check(
    const statesampler_priv_run *run);

/*@ requires \valid_read(run) && \valid_read(other);
    assigns \nothing;
    ensures -508 <= \result <= -501 || \result == 0;
*/
static inline int statesampler_priv_run_match(
    const statesampler_priv_run *run, const statesampler_priv_run *other);

/*@ requires \valid(s) && Good(s) && \valid_read(run);
    requires \separated(s, run) && run->leg.blocks != 0;
    assigns s->run.leg.base.epoch, s->run.leg.base.position,
      s->run.leg.base.step, s->run.leg.end, s->run.leg.blocks,
      s->run.now.epoch, s->run.now.position, s->run.now.step, s->ready;
    ensures Good(s);
*/
static inline void statesampler_priv_sampler_follow(
    statesampler *s, const statesampler_priv_run *run);

/*@ requires \valid(run) && \valid_read(bytes + (0 .. size - 1));
    requires \separated(run, bytes + (0 .. size - 1));
    assigns *run;
    ensures -308 <= \result <= -301 || \result == -401 || \result == -402 ||
      \result == 0;
    ensures \result == 0 ==> Run(run) && run->leg.blocks != 0;
*/
static inline int statesampler_priv_run_read(statesampler_priv_run *run,
                                             const unsigned char *bytes,
                                             size_t size);
/*@ requires \valid(s) && Good(s);
    requires \valid_read((unsigned char *)state + (0 .. size - 1));
    requires \separated(s, (unsigned char *)state + (0 .. size - 1));
    assigns s->run.leg.base.epoch, s->run.leg.base.position,
      s->run.leg.base.step, s->run.leg.end, s->run.leg.blocks,
      s->run.now.epoch, s->run.now.position, s->run.now.step, s->ready;
    ensures code: -308 <= \result <= -301 || \result == -401 ||
      \result == -402 || -508 <= \result <= -501 || \result == 0;
    ensures good: Good(s);
    ensures refused: \result != 0 ==> s->run == \old(s->run) &&
      s->ready == \old(s->ready);
*/
int statesampler_load(statesampler *s, const void *state, size_t size);
