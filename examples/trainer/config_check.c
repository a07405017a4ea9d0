/* config_check.c - what follows from several keys, the learning rate above all;
   and the rules between keys.

   The kinds of schedule are those of ClassyVision's, which VISSL uses. If w is
   the part of the run that is done, from 0 to 1, the rate is
     constant    value
     linear      start_value + (end_value - start_value) w
     cosine      end_value + (start_value - end_value) (1 + cos(pi w)) / 2
     step        the values in order, each for an equal part of the run
     multistep   the values in order; each milestone (an epoch) starts the next
     composite   that of the schedulers in order, each over its length

   auto_lr_scaling: let rate be base_value times the global batch divided by
   base_lr_batch_size (or the square root of that ratio). It replaces the value
   of constant, the end_value of linear, and the first rate of cosine, step and
   multistep, whose other rates keep their ratio to the first. In a composite
   schedule it applies to each part. */
#include "config.h"

#include <math.h>
#include <string.h>

/* ---- The learning rate ---- */

/* `where` may fall short of a boundary by a rounding error. */
#define CLOSE 1e-6
#define PI 3.14159265358979323846

/* The index of the value of step, which has at least one. */
static uint64_t step_at(const struct config_curve *curve, double where)
{
    const double part = (where + CLOSE) * (double)curve->values.count;
    uint64_t i = 0;

    while (i + 1 < curve->values.count && (double)(i + 1) <= part)
        i++;
    return i;
}

/* The index of the value of multistep, which has at least one. */
static uint64_t milestone_at(const struct config_curve *curve,
                             int64_t num_epochs, double where)
{
    const double epoch = (where + CLOSE) * (double)num_epochs;
    uint64_t i = 0;

    while (i + 1 < curve->values.count && curve->milestones.items[i] <= epoch)
        i++;
    return i;
}

/* The rate that auto_lr_scaling makes of base_value. */
static double scaled_rate(const struct trainer_config *c)
{
    const double times =
        (double)c->global_batch / (double)c->base_lr_batch_size;

    if (c->scaling_type == CONFIG_SQRT_SCALING)
        return c->base_value * sqrt(times);
    return c->base_value * times;
}

static double curve_at(const struct trainer_config *c,
                       const struct config_curve *curve, double where)
{
    const double rate = scaled_rate(c);
    const double *values = curve->values.items;
    double start = curve->start_value, end = curve->end_value, value;

    switch (curve->name) {
    case CONFIG_CONSTANT:
        return c->auto_scale ? rate : curve->value;
    case CONFIG_LINEAR:
        if (c->auto_scale)
            end = rate;
        return start * (1 - where) + end * where;
    case CONFIG_COSINE:
        if (c->auto_scale) {
            end *= rate / start;
            start = rate;
        }
        return end + (start - end) * (1 + cos(PI * where)) / 2;
    case CONFIG_STEPS:
        value = values[step_at(curve, where)];
        break;
    default:
        value = values[milestone_at(curve, c->num_epochs, where)];
    }
    return c->auto_scale ? value * (rate / values[0]) : value;
}

double schedule_at(const struct trainer_config *c, double where)
{
    const double *lengths = c->lengths.items;
    const uint64_t last = c->lengths.count - 1;
    uint64_t i = 0;
    double start = 0, length;

    if (c->curve[0].name != CONFIG_COMPOSITE)
        return curve_at(c, &c->curve[0], where);
    while (i < last && where + CLOSE > start + lengths[i])
        start += lengths[i++];
    /* The last one gets the rest, so that it ends at 1. */
    length = i < last ? lengths[i] : 1 - start;
    /* A part may have started up to CLOSE early. */
    where = fmax(0, where - start) / length;
    return curve_at(c, &c->curve[1 + i], where);
}

double schedule_of_step(const struct trainer_config *c, uint64_t step,
                        uint64_t steps_per_epoch)
{
    const double epochs = (double)c->num_epochs;

    if (c->update_interval == CONFIG_EPOCH)
        return schedule_at(c, (double)(step / steps_per_epoch) / epochs);
    return schedule_at(c, (double)step / (epochs * (double)steps_per_epoch));
}

/* ---- Rules between keys ---- */

/* Whether a curve of this name uses a key of its struct. */
static bool curve_uses(int64_t name, uint32_t key)
{
    switch (key) {
    case CURVE_NAME:
        return true;
    case CURVE_VALUE:
        return name == CONFIG_CONSTANT;
    case CURVE_START:
    case CURVE_END:
        return name == CONFIG_COSINE || name == CONFIG_LINEAR;
    case CURVE_VALUES:
        return name == CONFIG_MULTISTEP || name == CONFIG_STEPS;
    default: /* the milestones */
        return name == CONFIG_MULTISTEP;
    }
}

bool config_is_used(const struct trainer_config *c, uint32_t key)
{
    const bool composite = c->curve[0].name == CONFIG_COMPOSITE;
    const uint64_t part = (key - CONFIG_curve0) / CURVE_KEYS;

    if (key == CONFIG_lengths)
        return composite;
    if (key == CONFIG_algorithm)
        return c->optimizer == CONFIG_ZERO;
    if (key < CONFIG_curve0 || key > CONFIG_end8)
        return true;
    if (part > 0 && (!composite || part > c->lengths.count))
        return false;
    return curve_uses(c->curve[part].name, (key - CONFIG_curve0) % CURVE_KEYS);
}

/* A rule that is broken, in which key, and the sentence that says so. */
struct rule {
    bool broken;
    uint32_t key;
    const char *sentence;
};

/* rule: the first; the last has no sentence. */
static bool check(struct trainer_config *c, const struct rule *rule)
{
    for (; rule->sentence; rule++)
        if (rule->broken)
            return config_fail(c, c->lines[rule->key],
                               config_table[rule->key].path, "%s",
                               rule->sentence);
    return true;
}

/* Whether each milestone of multistep lies in the run, after the one before,
   and between two values. */
static bool has_milestones(const struct config_curve *curve, int64_t num_epochs)
{
    const double *epochs = curve->milestones.items;
    uint64_t i;

    for (i = 0; i < curve->milestones.count; i++)
        if (epochs[i] >= (double)num_epochs ||
            (i > 0 && epochs[i] <= epochs[i - 1]))
            return false;
    return curve->values.count == curve->milestones.count + 1;
}

/* The schedule, or a part of a composite one. */
static bool check_curve(struct trainer_config *c, uint32_t part)
{
    const struct config_curve *curve = &c->curve[part];
    const uint32_t key = CONFIG_curve0 + part * CURVE_KEYS;
    const struct rule rules[] = {
        {curve->name == CONFIG_STEPS && curve->values.count == 0,
         key + CURVE_VALUES, "step needs an item"},
        {curve->name == CONFIG_MULTISTEP &&
             !has_milestones(curve, c->num_epochs),
         key + CURVE_MILESTONES,
         "the milestones of multistep, which is the default, must increase, be "
         "below num_epochs and be one fewer than the values"},
        /* It would be divided by 0. */
        {!isfinite(curve_at(c, curve, 0)), CONFIG_auto_scale,
         "cannot scale a schedule whose first rate is 0"},
        {0},
    };

    return check(c, rules);
}

/* Whether a composite schedule is whole. The last part gets what the others
   leave. */
static bool is_composed(const struct trainer_config *c)
{
    const uint64_t count = c->lengths.count;
    const double *lengths = c->lengths.items; /* 0 where there is none */
    uint64_t given = 0, i;
    double sum = 0;

    for (i = 0; i < CONFIG_SCHEDULES; i++) {
        given += c->lines[CONFIG_curve1 + i * CURVE_KEYS] != 0;
        sum += lengths[i];
    }
    return given == count && fabs(sum - 1) <= 0.001 &&
           sum - lengths[count - 1] < 1;
}

static bool check_curves(struct trainer_config *c)
{
    uint32_t part;

    if (c->curve[0].name != CONFIG_COMPOSITE)
        return check_curve(c, 0);
    for (part = 1; part <= c->lengths.count; part++)
        if (!check_curve(c, part))
            return false;
    return true;
}

static bool check_keys(struct trainer_config *c, int64_t processes)
{
    const bool zero = c->optimizer == CONFIG_ZERO;
    const int64_t algorithm = zero ? c->algorithm : c->optimizer;
    const bool sgd = algorithm == CONFIG_SGD;
    const bool off = !c->use_zero && c->lines[CONFIG_use_zero] != 0;
    const uint64_t files = c->data_paths.count;
    const struct rule rules[] = {
        {c->curve[0].name == CONFIG_COMPOSITE && !is_composed(c),
         CONFIG_lengths,
         "composite needs schedulers with names and a length "
         "for each, whose sum is 1, within 0.001"},
        {!zero && c->nested, CONFIG_optimizer,
         "must be zero, as base_optimizer is there"},
        {(zero || c->use_sdp) && off, CONFIG_use_zero,
         "must not be False, as OPTIMIZER.name is zero or USE_SDP is True"},
        {c->use_larc && !sgd, CONFIG_use_larc,
         "LARC works with sgd only, and the optimizer is adamw"},
        {c->nesterov && !sgd, CONFIG_nesterov,
         "nesterov works with sgd only, and the optimizer is adamw"},
        {c->nesterov && c->momentum == 0, CONFIG_nesterov,
         "nesterov needs a momentum above 0"},
        {c->betas.count != 2, CONFIG_betas, "must have 2 items"},
        {c->hidden_dim % c->num_heads != 0, CONFIG_num_heads,
         "must divide HIDDEN_DIM"},
        {c->splits > c->num_layers, CONFIG_num_activation_checkpointing_splits,
         "must not be above NUM_LAYERS"},
        {files == 0, CONFIG_data_paths, "needs an item"},
        {c->weights.count != 0 && c->weights.count != files, CONFIG_weights,
         "must have an item for each file of DATA.TRAIN.DATA_PATHS"},
        {c->global_batch > CONFIG_BATCH, CONFIG_batchsize_per_replica,
         "times NUM_NODES and NUM_PROC_PER_NODE, must be at most 4095"},
        {processes > c->global_batch, CONFIG_batchsize_per_replica,
         "times NUM_NODES and NUM_PROC_PER_NODE, must be at least the number "
         "of processes now"},
        /* Otherwise a folder named ~ would be created: hard to remove. */
        {c->dir[0] == '~', CONFIG_dir,
         "~ is not expanded here: write the whole path"},
        {c->extend[0] != 0 && c->params_file[0] != 0, CONFIG_extend,
         "not together with MODEL.WEIGHTS_INIT.PARAMS_FILE"},
        {0},
    };

    return check(c, rules);
}

/* Refuses keys of another schedule than this one; but where an argument has
   changed its kind, those of the file are as if not given. */
static bool check_used(struct trainer_config *c)
{
    const bool renamed = c->lines[CONFIG_curve0] < 0;
    uint32_t i;

    for (i = 0; i < CONFIG_KEYS; i++) {
        const struct config_key *key = &config_table[i];

        if (config_is_used(c, i))
            continue;
        if (c->lines[i] < 0 || (c->lines[i] > 0 && !renamed))
            return config_fail(c, c->lines[i], key->path,
                               "not used by a schedule of this name (the "
                               "default is multistep)");
        memcpy((char *)c + key->offset,
               (const char *)&config_defaults + key->offset, key->size);
    }
    return true;
}

bool config_check(struct trainer_config *c, int64_t processes)
{
    const bool zero = c->optimizer == CONFIG_ZERO;

    c->world_size = c->num_nodes * c->num_proc_per_node;
    c->global_batch = c->world_size * c->batchsize_per_replica;
    c->splits = c->use_activation_checkpointing
                    ? c->num_activation_checkpointing_splits
                    : 1;
    c->half = c->use_amp && c->opt_level == CONFIG_O1;
    if (!check_keys(c, processes) || !check_curves(c) || !check_used(c))
        return false;
    c->use_zero = c->use_zero || zero || c->use_sdp;
    if (zero)
        c->optimizer = c->algorithm;
    else
        c->algorithm = c->optimizer;
    if (c->use_sdp)
        c->zero_stage = 2;
    else
        c->zero_stage = c->use_zero != 0;
    return true;
}
