/* fann_sampler.h - epochs over fann_train in a fair order, with a checkpoint.

   Include it after floatfann.h or doublefann.h, and statesampler.h. C99 or C++.

   fann_sampler_next stands for fann_shuffle_train_data and fann_train_epoch
   with FANN_TRAIN_INCREMENTAL: the rows stay where they are, and are trained on
   one by one in the sampler's order. A checkpoint holds the sampler's state,
   the weights, their last changes, which momentum needs, and the error so far,
   all to the bit. (fann_save leaves out the last two.) Only machines with the
   same byte order and fann_type can read it. */
#ifndef FANN_SAMPLER_H
#define FANN_SAMPLER_H

#include <string.h>

/* Starts a sampler over the rows of `data`. Its stream is a hash of all values,
   so a state of other data is refused. EINVAL: there are no rows; or what
   statesampler_init refuses. */
static inline int fann_sampler_init(statesampler *s,
                                    const struct fann_train_data *data,
                                    uint64_t seed, uint32_t batch_size)
{
    statesampler_desc desc;
    unsigned row;

    if (data->num_data == 0) {
        return STATESAMPLER_EINVAL;
    }
    memset(&desc, 0, sizeof desc);
    desc.num_samples = data->num_data;
    desc.seed = seed;
    desc.batch_size = batch_size;
    for (row = 0; row < data->num_data; row++) {
        desc.stream = statesampler_hash(desc.stream, data->input[row],
                                        data->num_input * sizeof(fann_type));
        desc.stream = statesampler_hash(desc.stream, data->output[row],
                                        data->num_output * sizeof(fann_type));
    }
    return statesampler_init(s, &desc);
}

/* Trains on the next batch. `batch` has room for batch_size indices. Returns 1,
   or 0 once at the end of an epoch: until the next call fann_get_MSE is the
   error of the whole epoch, also after a resume. */
static inline int fann_sampler_next(struct fann *ann,
                                    const struct fann_train_data *data,
                                    statesampler *s, uint64_t *batch)
{
    size_t count, i;

    if (statesampler_step(s) == 0) {
        fann_reset_MSE(ann);
    }
    if (!statesampler_next(s, batch, &count)) {
        return 0;
    }
    for (i = 0; i < count; i++) {
        fann_train(ann, data->input[batch[i]], data->output[batch[i]]);
    }
    return 1;
}

/* What a checkpoint holds of a network, after the sampler's state. */
typedef struct fann_sampler_part {
    void *memory;
    size_t size;
} fann_sampler_part;

#define FANN_SAMPLER_PARTS 5

static inline void fann_sampler_parts(struct fann *ann,
                                      fann_sampler_part *parts)
{
    parts[0].memory = &ann->MSE_value;
    parts[0].size = sizeof ann->MSE_value;
    parts[1].memory = &ann->num_MSE;
    parts[1].size = sizeof ann->num_MSE;
    parts[2].memory = &ann->num_bit_fail;
    parts[2].size = sizeof ann->num_bit_fail;
    parts[3].memory = ann->weights;
    parts[4].memory = ann->prev_weights_deltas;
    parts[3].size = parts[4].size = ann->total_connections * sizeof(fann_type);
}

/* The size of a checkpoint of this network. */
static inline size_t fann_sampler_bytes(struct fann *ann)
{
    fann_sampler_part parts[FANN_SAMPLER_PARTS];
    size_t size = STATESAMPLER_STATE_BYTES, i;

    fann_sampler_parts(ann, parts);
    for (i = 0; i < FANN_SAMPLER_PARTS; i++) {
        size += parts[i].size;
    }
    return size;
}

/* Writes a checkpoint, fann_sampler_bytes bytes. EINVAL: the network has not
   been trained yet. ECAPACITY: size is smaller. Nothing is then written. */
static inline int fann_sampler_save(struct fann *ann, const statesampler *s,
                                    unsigned char *out, size_t size)
{
    fann_sampler_part parts[FANN_SAMPLER_PARTS];
    size_t i;

    if (ann->prev_weights_deltas == NULL) {
        return STATESAMPLER_EINVAL;
    }
    if (size < fann_sampler_bytes(ann)) {
        return STATESAMPLER_ECAPACITY;
    }
    fann_sampler_parts(ann, parts);
    statesampler_save(s, out, STATESAMPLER_STATE_BYTES);
    out += STATESAMPLER_STATE_BYTES;
    for (i = 0; i < FANN_SAMPLER_PARTS; out += parts[i++].size) {
        memcpy(out, parts[i].memory, parts[i].size);
    }
    return STATESAMPLER_OK;
}

/* Goes on where a checkpoint was saved, with any batch_size, on a network of
   the same layers and settings. ECORRUPT: its size is that of no checkpoint of
   this network. Other errors as statesampler_load: EMISMATCH for other data.
   Network and sampler are then unchanged. */
static inline int fann_sampler_load(struct fann *ann,
                                    const struct fann_train_data *data,
                                    statesampler *s, const unsigned char *in,
                                    size_t size)
{
    fann_sampler_part parts[FANN_SAMPLER_PARTS];
    size_t i;
    int code = STATESAMPLER_ECORRUPT;

    if (size == fann_sampler_bytes(ann)) {
        code = statesampler_load(s, in, STATESAMPLER_STATE_BYTES);
    }
    if (code != STATESAMPLER_OK) {
        return code;
    }
    /* FANN makes room for the last changes when it first trains. All that this
       row changes is then overwritten. */
    fann_train(ann, data->input[0], data->output[0]);
    fann_sampler_parts(ann, parts);
    in += STATESAMPLER_STATE_BYTES;
    for (i = 0; i < FANN_SAMPLER_PARTS; in += parts[i++].size) {
        memcpy(parts[i].memory, in, parts[i].size);
    }
    return code;
}

#endif
