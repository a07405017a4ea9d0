/* config_check.c - what keys must be together. A rule is a function; the list
   of them stands at the end. */
#include <stdarg.h>
#include <string.h>

#include "config.h"
#include "config_table.h"

struct check {
    struct trainer_config *config;
    struct config_source *source;
    int64_t processes;
};

#define LR "OPTIMIZER.param_schedulers.lr."
#define BASE "OPTIMIZER.base_optimizer.name"
#define NEEDS_ITEMS "it needs %lu items, one for each "
#define SPLITS \
    "MODEL.ACTIVATION_CHECKPOINTING.NUM_ACTIVATION_CHECKPOINTING_SPLITS"

static const struct config_place *place_of(const struct check *c,
                                           const char *path)
{
    return &c->source->places[config_key_number(path)];
}

static bool given(const struct check *c, const char *path)
{
    return place_of(c, path)->line != 0;
}

/* Names the key, and where it was given, if it was. Always false. */
static bool fail(struct check *c, const char *path, const char *format, ...)
{
    const struct config_place *place = place_of(c, path);
    const char *file = c->source->file;
    char sentence[512], where[64] = "", written[256];
    va_list list;

    va_start(list, format);
    vsnprintf(sentence, sizeof sentence, format, list);
    va_end(list);
    if (place->argument != 0 || file[0] == 0)
        file = "command line";
    if (place->line != 0)
        snprintf(where, sizeof where, ":%ld:%ld", (long)place->line,
                 (long)place->column);
    config_written_path(&config_key_table[config_key_number(path)],
                        place->nested != 0, written, sizeof written);
    snprintf(c->source->error, sizeof c->source->error, "%s%s: %s: %s", file,
             where, written, sentence);
    return false;
}

/* --- The optimizer -------------------------------------------------------- */

static bool check_nesting(struct check *c)
{
    uint32_t i;

    if (c->config->optimizer.name == CONFIG_ZERO) {
        if (!given(c, BASE))
            return fail(c, "OPTIMIZER.name",
                        "zero needs base_optimizer.name, the optimizer that "
                        "it shards");
        return true;
    }
    for (i = 0; i < config_key_count; i++) {
        if (c->source->places[i].nested != 0)
            return fail(c, config_key_table[i].path,
                        "base_optimizer needs OPTIMIZER.name: zero");
    }
    return true;
}

static bool check_zero(struct check *c)
{
    bool zero = c->config->optimizer.name == CONFIG_ZERO;

    if (given(c, "OPTIMIZER.use_zero") && !c->config->optimizer.use_zero) {
        if (zero)
            return fail(c, "OPTIMIZER.use_zero",
                        "False, but OPTIMIZER.name is zero");
        if (c->config->model.sharded_ddp_setup.use_sdp)
            return fail(c, "OPTIMIZER.use_zero",
                        "False, but MODEL.SHARDED_DDP_SETUP.USE_SDP needs "
                        "ZeRO");
    }
    if (zero || c->config->model.sharded_ddp_setup.use_sdp)
        c->config->optimizer.use_zero = true;
    if (!zero)
        c->config->optimizer.algorithm = c->config->optimizer.name;
    return true;
}

static bool check_sgd(struct check *c)
{
    bool sgd = c->config->optimizer.algorithm == CONFIG_SGD;

    if (c->config->optimizer.use_larc && !sgd)
        return fail(c, "OPTIMIZER.use_larc",
                    "LARC is for sgd only, and the optimizer is adamw");
    if (c->config->optimizer.nesterov && !sgd)
        return fail(c, "OPTIMIZER.nesterov",
                    "nesterov is for sgd only, and the optimizer is adamw");
    if (c->config->optimizer.nesterov && c->config->optimizer.momentum == 0)
        return fail(c, "OPTIMIZER.nesterov",
                    "nesterov needs a momentum above 0");
    return true;
}

/* --- The schedule --------------------------------------------------------- */

static bool begins_with_zero(const struct config_curve *curve)
{
    switch (curve->name) {
    case CONFIG_COSINE:
        return curve->start_value == 0;
    case CONFIG_STEPS:
    case CONFIG_MULTISTEP:
        return curve->values.items[0] == 0;
    default:
        return false;
    }
}

static bool check_curve(struct check *c, const char *path,
                        const struct config_curve *curve)
{
    const struct config_integers *milestones = &curve->milestones;
    uint32_t i;

    if (c->config->optimizer.lr.auto_lr_scaling.auto_scale &&
        begins_with_zero(curve))
        return fail(c, LR "auto_lr_scaling.auto_scale",
                    "the first rate is 0, and no factor makes it another");
    if (curve->name != CONFIG_MULTISTEP)
        return true;
    if (curve->values.count != milestones->count + 1)
        return fail(c, path, "multistep needs %lu milestones for %lu values, "
                    "not %lu", (unsigned long)curve->values.count - 1,
                    (unsigned long)curve->values.count,
                    (unsigned long)milestones->count);
    for (i = 0; i < milestones->count; i++) {
        if (i > 0 && milestones->items[i] <= milestones->items[i - 1])
            return fail(c, path, "milestone %lld must be above %lld",
                        (long long)milestones->items[i],
                        (long long)milestones->items[i - 1]);
        if (milestones->items[i] >= c->config->optimizer.num_epochs)
            return fail(c, path, "milestone %lld is never reached in %lld "
                        "epochs", (long long)milestones->items[i],
                        (long long)c->config->optimizer.num_epochs);
    }
    return true;
}

static bool check_composite(struct check *c)
{
    uint32_t count = c->config->optimizer.lr.schedulers.count, i;
    const struct config_numbers *lengths = &c->config->optimizer.lr.lengths;
    uint32_t scalings = c->config->optimizer.lr.interval_scaling.count;
    double sum = 0;

    if (count == 0)
        return fail(c, LR "schedulers", "composite needs at least one");
    if (lengths->count != count)
        return fail(c, LR "lengths", NEEDS_ITEMS "scheduler, not %lu",
                    (unsigned long)count, (unsigned long)lengths->count);
    if (scalings != 0 && scalings != count)
        return fail(c, LR "interval_scaling", NEEDS_ITEMS "scheduler, not %lu",
                    (unsigned long)count, (unsigned long)scalings);
    for (i = 0; i < count; i++) {
        sum += lengths->items[i];
        if (!check_curve(c, LR "schedulers",
                         &c->config->optimizer.lr.schedulers.items[i]))
            return false;
    }
    /* The last one is what the others leave. */
    if (sum < 0.999 || sum > 1.001 || sum - lengths->items[count - 1] >= 1)
        return fail(c, LR "lengths", "their sum must be 1, to 0.001");
    return true;
}

static bool check_schedule(struct check *c)
{
    if (c->config->optimizer.lr.curve.name == CONFIG_COMPOSITE)
        return check_composite(c);
    if (c->config->optimizer.lr.schedulers.count > 0)
        return fail(c, LR "schedulers", "they need the name composite");
    if (c->config->optimizer.lr.lengths.count > 0)
        return fail(c, LR "lengths", "they need the name composite");
    if (c->config->optimizer.lr.interval_scaling.count > 0)
        return fail(c, LR "interval_scaling", "it needs the name composite");
    return check_curve(c, LR "milestones", &c->config->optimizer.lr.curve);
}

/* --- The rest ------------------------------------------------------------- */

static bool check_model(struct check *c)
{
    int64_t layers = c->config->model.trunk.num_layers;
    int64_t splits = config_splits(c->config);
    int64_t width = c->config->model.trunk.hidden_dim;
    int64_t other = 3 * width;

    /* MPI counts the elements of a tensor with an int. The largest has the
       width by three times that, the MLP's or the context. */
    if (other < c->config->model.trunk.mlp_dim)
        other = c->config->model.trunk.mlp_dim;
    if (other < c->config->model.trunk.context)
        other = c->config->model.trunk.context;
    if (width * other > 2147483647)
        return fail(c, "MODEL.TRUNK.GPT.HIDDEN_DIM",
                    "a tensor would have more than 2147483647 elements");
    if (c->config->model.trunk.hidden_dim % c->config->model.trunk.num_heads
        != 0)
        return fail(c, "MODEL.TRUNK.GPT.NUM_HEADS",
                    "%lld heads do not divide the HIDDEN_DIM of %lld",
                    (long long)c->config->model.trunk.num_heads,
                    (long long)c->config->model.trunk.hidden_dim);
    if (splits > layers)
        return fail(c, SPLITS, "%lld splits are more than NUM_LAYERS, which "
                    "is %lld", (long long)splits, (long long)layers);
    return true;
}

static bool check_weights(struct check *c)
{
    const struct config_weights *weights = &c->config->statesampler.weights;
    uint32_t files = c->config->data.train.data_paths.count, i;
    int64_t sum = 0;

    if (files != 0 && weights->count != 0 && weights->count != files)
        return fail(c, "STATESAMPLER.WEIGHTS",
                    NEEDS_ITEMS "file of DATA.TRAIN.DATA_PATHS, not %lu",
                    (unsigned long)files, (unsigned long)weights->count);
    for (i = 0; i < weights->count; i++)
        sum += weights->items[i];
    if (sum >= (int64_t)1 << 31)
        return fail(c, "STATESAMPLER.WEIGHTS",
                    "their sum must be below 2147483648");
    return true;
}

static bool check_processes(struct check *c)
{
    int64_t batch = config_global_batch(c->config);

    if (c->processes > batch)
        return fail(c, "DATA.TRAIN.BATCHSIZE_PER_REPLICA",
                    "%lld processes are more than the %lld sequences of a "
                    "global batch", (long long)c->processes,
                    (long long)batch);
    return true;
}

bool config_check(struct trainer_config *config, struct config_source *source,
                  int64_t processes)
{
    static bool (*const rules[])(struct check *) = {
        check_nesting, check_zero, check_sgd, check_schedule, check_model,
        check_weights, check_processes
    };
    struct trainer_config copy = *config;
    struct check c;
    size_t i;

    c.config = &copy;
    c.source = source;
    c.processes = processes;
    for (i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (!rules[i](&c))
            return false;
    }
    *config = copy;
    return true;
}

/* --- What follows --------------------------------------------------------- */

int64_t config_world_size(const struct trainer_config *config)
{
    return config->distributed.num_nodes *
           config->distributed.num_proc_per_node;
}

int64_t config_global_batch(const struct trainer_config *config)
{
    return config_world_size(config) *
           config->data.train.batchsize_per_replica;
}

int config_zero_stage(const struct trainer_config *config)
{
    return config->model.sharded_ddp_setup.use_sdp ? 2
         : config->optimizer.use_zero              ? 1
                                                   : 0;
}

int config_opt_level(const struct trainer_config *config)
{
    return config->model.amp_params.use_amp &&
           config->model.amp_params.opt_level == CONFIG_O1;
}

int64_t config_splits(const struct trainer_config *config)
{
    return config->model.activation_checkpointing.use_activation_checkpointing
         ? config->model.activation_checkpointing
               .num_activation_checkpointing_splits
         : 1;
}
