/* config_table.c - the table of all keys. To add a key, add a row: reading,
   defaults, --keys, --print-config and KEYS.md follow from the table. */
#include "config_table.h"

#include <math.h>
#include <string.h>

/* The offset of a field in the struct that the table describes. */
#define AT(field) offsetof(struct TABLE, field)

/* Rows, by the type of the value. */
#define BOOL(path, field, flags, standard, meaning) \
    {path, TYPE_BOOL, AT(field), flags, 0, 0, 0, 0, NULL, standard, meaning}
#define INTEGER(path, field, flags, low, high, standard, meaning) \
    {path, TYPE_INTEGER, AT(field), flags, low, high, 0, 0, NULL, standard, \
     meaning}
#define INTEGERS(path, field, low, high, most, standard, meaning) \
    {path, TYPE_INTEGER, AT(field), 0, low, high, 0, most, NULL, standard, \
     meaning}
#define REAL_OR(path, field, words, flags, low, high, standard, meaning) \
    {path, TYPE_REAL, AT(field), flags, low, high, 0, 0, words, standard, \
     meaning}
#define REAL(path, field, flags, low, high, standard, meaning) \
    REAL_OR(path, field, NULL, flags, low, high, standard, meaning)
#define REALS(path, field, flags, low, high, least, most, standard, meaning) \
    {path, TYPE_REAL, AT(field), flags, low, high, least, most, NULL, \
     standard, meaning}
#define WORDS(path, field, words, most, standard, meaning) \
    {path, TYPE_WORD, AT(field), 0, 0, 0, 0, most, words, standard, meaning}
#define WORD(path, field, words, standard, meaning) \
    WORDS(path, field, words, 0, standard, meaning)
#define TEXT(path, field, standard, meaning) \
    {path, TYPE_TEXT, AT(field), 0, 0, 0, 0, 0, NULL, standard, meaning}
#define TEXTS(path, field, standard, meaning) \
    {path, TYPE_TEXT, AT(field), 0, 0, 0, 0, CONFIG_FILES, NULL, standard, \
     meaning}

/* Seeds as in torch and numpy; a sum of weights below 2^31; counts that a
   double holds exactly. */
#define SEED_MAX 4294967295.0
#define WEIGHT_MAX 2147483647.0
#define COUNT_MAX 1099511627776.0
#define RATE_MAX 1e6

/* The fields of a schedule, or of a part of a composite one. */
#define CURVE_KEYS(PATH, IN, NAMES, NAME, VALUE, START, END, VALUES, \
                   MILESTONES) \
    WORD(PATH "name", IN name, NAMES, NAME, \
         "the kind of learning rate schedule"), \
    REAL(PATH "value", IN value, 0, 0, RATE_MAX, VALUE, \
         "the rate of constant"), \
    REAL(PATH "start_value", IN start_value, 0, 0, RATE_MAX, START, \
         "the first rate of cosine and linear"), \
    REAL(PATH "end_value", IN end_value, 0, 0, RATE_MAX, END, \
         "the last rate of cosine and linear"), \
    REALS(PATH "values", IN values, 0, 0, RATE_MAX, 1, CONFIG_LIST, VALUES, \
          "the rates of multistep and step, in order"), \
    INTEGERS(PATH "milestones", IN milestones, 1, 1e6, CONFIG_LIST, \
             MILESTONES, "epochs at which multistep changes the rate")

#define LR "OPTIMIZER.param_schedulers.lr."
#define FORMS "constant|cosine|linear|multistep|step"

#define TABLE trainer_config
const struct config_key config_key_table[] = {
    INTEGER("SEED_VALUE", seed_value, 0, 0, SEED_MAX, "0",
            "seed of the sampler's order and of the initial weights"),
    INTEGER("LOG_FREQUENCY", log_frequency, 0, 1, 1e9, "10",
            "steps between lines of the log"),
    BOOL("TEST_MODEL", test_model, 0, "True", "evaluate the held-out text"),
    INTEGER("TEST_EVERY_NUM_EPOCH", test_every_num_epoch, 0, 1, 1e6, "1",
            "epochs between evaluations"),

    REAL("DATA.DDP_BUCKET_CAP_MB", data.ddp_bucket_cap_mb, KEY_ABOVE_LOW, 0,
         1024, "25",
         "MiB of gradients to reduce at a time, while others are still being "
         "computed"),
    BOOL("DATA.TRAIN.USE_STATEFUL_DISTRIBUTED_SAMPLER",
         data.train.use_stateful_distributed_sampler, 0, "False",
         "True: resume at the next batch; False: padding and sharing as in "
         "torch, and a resume in mid-epoch restarts the epoch"),
    BOOL("DATA.TRAIN.USE_DEBUGGING_SAMPLER", data.train.use_debugging_sampler,
         0, "False", "no shuffle; takes precedence over the stateful sampler"),
    BOOL("DATA.TRAIN.DROP_LAST", data.train.drop_last, 0, "False",
         "drop the last batch if it is not full"),
    INTEGER("DATA.TRAIN.BATCHSIZE_PER_REPLICA",
            data.train.batchsize_per_replica, 0, 1, 1048576, "256",
            "sequences per process and step"),
    INTEGER("DATA.TRAIN.DATA_LIMIT", data.train.data_limit, KEY_MINUS_ONE, 1,
            COUNT_MAX, "-1", "sequences to use of each file; -1: all"),
    TEXTS("DATA.TRAIN.DATA_PATHS", data.train.data_paths, "[]",
          "text files, one dataset each; []: this repository's header and "
          "README"),
    BOOL("DATA.TEST.USE_STATEFUL_DISTRIBUTED_SAMPLER",
         data.test.use_stateful_distributed_sampler, 0, "False",
         "no effect: held-out text is always served exactly once"),
    INTEGER("DATA.TEST.DATA_LIMIT", data.test.data_limit, KEY_MINUS_ONE, 1,
            COUNT_MAX, "-1", "held-out sequences to use of each file; -1: all"),
    TEXTS("DATA.TEST.DATA_PATHS", data.test.data_paths, "[]",
          "text files to evaluate; []: every tenth sequence of the training "
          "files"),

    BOOL("MODEL.AMP_PARAMS.USE_AMP", model.amp_params.use_amp, 0, "False",
         "mixed precision"),
    WORD("MODEL.AMP_PARAMS.AMP_TYPE", model.amp_params.amp_type, "apex",
         "apex", "the rules for mixed precision"),
    WORD("MODEL.AMP_PARAMS.AMP_ARGS.opt_level", model.amp_params.opt_level,
         "O0|O1", "O1",
         "O0: float; O1: half for matrix products, float for the rest"),
    REAL_OR("MODEL.AMP_PARAMS.AMP_ARGS.loss_scale",
            model.amp_params.loss_scale, "dynamic", KEY_ABOVE_LOW, 0, 16777216,
            "dynamic",
            "factor of the loss, so that small gradients do not vanish in "
            "half precision; a number is a fixed factor"),
    BOOL("MODEL.ACTIVATION_CHECKPOINTING.USE_ACTIVATION_CHECKPOINTING",
         model.activation_checkpointing.use_activation_checkpointing, 0,
         "False", "recompute activations instead of keeping them"),
    INTEGER("MODEL.ACTIVATION_CHECKPOINTING."
            "NUM_ACTIVATION_CHECKPOINTING_SPLITS",
            model.activation_checkpointing.num_activation_checkpointing_splits,
            0, 2, 256, "2",
            "number of segments of blocks, at most NUM_LAYERS; all but the "
            "last are recomputed"),
    BOOL("MODEL.SHARDED_DDP_SETUP.USE_SDP", model.sharded_ddp_setup.use_sdp, 0,
         "False",
         "ZeRO-2: shard the gradients as well as the optimizer state"),
    INTEGER("MODEL.SHARDED_DDP_SETUP.reduce_buffer_size",
            model.sharded_ddp_setup.reduce_buffer_size, KEY_MINUS_ONE, 0,
            COUNT_MAX, "-1",
            "with USE_SDP: gradient elements to reduce at a time; 0: one "
            "tensor; -1: DDP_BUCKET_CAP_MB"),
    BOOL("MODEL.GRAD_CLIP.USE_GRAD_CLIP", model.grad_clip.use_grad_clip, 0,
         "False", "scale gradients down to MAX_NORM"),
    REAL_OR("MODEL.GRAD_CLIP.NORM_TYPE", model.grad_clip.norm_type, "inf",
            0, 1, 1024, "2", "power of the norm; inf: the largest element"),
    REAL("MODEL.GRAD_CLIP.MAX_NORM", model.grad_clip.max_norm, KEY_ABOVE_LOW,
         0, 1e9, "1", "maximum norm of all gradients together"),
    WORD("MODEL.TRUNK.NAME", model.trunk.name, "gpt", "gpt",
         "the model: a GPT-2 on bytes"),
    INTEGER("MODEL.TRUNK.GPT.NUM_LAYERS", model.trunk.num_layers, 0, 1, 256,
            "4", "blocks"),
    INTEGER("MODEL.TRUNK.GPT.NUM_HEADS", model.trunk.num_heads, 0, 1, 256, "4",
            "attention heads; must divide HIDDEN_DIM"),
    INTEGER("MODEL.TRUNK.GPT.HIDDEN_DIM", model.trunk.hidden_dim, 0, 1, 65536,
            "128", "size of a token's vector"),
    INTEGER("MODEL.TRUNK.GPT.MLP_DIM", model.trunk.mlp_dim, 0, 1, 262144,
            "512", "width of a block's hidden layer"),
    INTEGER("MODEL.TRUNK.GPT.CONTEXT", model.trunk.context, 0, 1, 65536, "128",
            "tokens per sequence"),

    WORD("OPTIMIZER.name", optimizer.name, "sgd|adamw|zero", "sgd",
         "zero: base_optimizer, with its state sharded"),
    BOOL("OPTIMIZER.use_zero", optimizer.use_zero, 0, "False",
         "ZeRO-1: shard the optimizer state over the processes"),
    INTEGER("OPTIMIZER.num_epochs", optimizer.num_epochs, 0, 1, 1e6, "90",
            "epochs of the run"),
    BOOL("OPTIMIZER.regularize_bn", optimizer.regularize_bn, 0, "False",
         "False: no weight decay for normalization layers"),
    BOOL("OPTIMIZER.regularize_bias", optimizer.regularize_bias, 0, "True",
         "False: no weight decay for biases"),
    TEXTS("OPTIMIZER.non_regularized_parameters",
          optimizer.non_regularized_parameters, "[]",
          "no weight decay for tensors whose name contains one of these"),
    BOOL("OPTIMIZER.construct_single_param_group_only",
         optimizer.construct_single_param_group_only, 0, "False",
         "weight decay for all tensors, overriding the three keys above"),

    WORD("OPTIMIZER.base_optimizer.name", optimizer.algorithm, "sgd|adamw",
         "sgd", "with OPTIMIZER.name zero: the optimizer to shard"),
    BOOL("OPTIMIZER.use_larc", optimizer.use_larc, KEY_NESTED, "False",
         "LARC: a rate per tensor, from its norm and its gradient's; sgd only"),
    BOOL("OPTIMIZER.larc_config.clip", optimizer.larc_config.clip, KEY_NESTED,
         "False", "LARC does not exceed the schedule's rate"),
    REAL("OPTIMIZER.larc_config.eps", optimizer.larc_config.eps, KEY_NESTED, 0,
         1, "1e-08", "added to LARC's denominator"),
    REAL("OPTIMIZER.larc_config.trust_coefficient",
         optimizer.larc_config.trust_coefficient, KEY_NESTED | KEY_ABOVE_LOW,
         0, RATE_MAX, "0.001", "LARC's factor for the ratio of the norms"),
    REAL("OPTIMIZER.weight_decay", optimizer.weight_decay, KEY_NESTED, 0,
         RATE_MAX, "0.0001", "weight decay"),
    REAL("OPTIMIZER.momentum", optimizer.momentum, KEY_NESTED | KEY_BELOW_HIGH,
         0, 1, "0.9", "momentum of sgd"),
    BOOL("OPTIMIZER.nesterov", optimizer.nesterov, KEY_NESTED, "False",
         "Nesterov momentum for sgd"),
    REALS("OPTIMIZER.betas", optimizer.betas, KEY_NESTED | KEY_BELOW_HIGH, 0,
          1, 2, 2, "[0.9, 0.999]", "decay rates of adamw's two moments"),

    BOOL(LR "auto_lr_scaling.auto_scale",
         optimizer.lr.auto_lr_scaling.auto_scale, 0, "False",
         "scale the rate with the global batch"),
    REAL(LR "auto_lr_scaling.base_value",
         optimizer.lr.auto_lr_scaling.base_value, KEY_ABOVE_LOW, 0, RATE_MAX,
         "0.1", "the rate at base_lr_batch_size"),
    INTEGER(LR "auto_lr_scaling.base_lr_batch_size",
            optimizer.lr.auto_lr_scaling.base_lr_batch_size, 0, 1, COUNT_MAX,
            "256", "the global batch that base_value is for"),
    WORD(LR "auto_lr_scaling.scaling_type",
         optimizer.lr.auto_lr_scaling.scaling_type, "linear|sqrt", "linear",
         "scale with the global batch, or with its square root"),
    WORD(LR "update_interval", optimizer.lr.update_interval, "epoch|step",
         "epoch", "how often the rate changes"),
    CURVE_KEYS(LR, optimizer.lr.curve., FORMS "|composite", "multistep", "0.1",
               "0.1", "0.0", "[0.1, 0.01, 0.001]", "[30, 60]"),
    {LR "schedulers", TYPE_CURVES, AT(optimizer.lr.schedulers), 0, 0, 0, 0,
     CONFIG_SCHEDULES, NULL, "[]",
     "composite: the schedules, in order, each with the keys from name to "
     "milestones"},
    REALS(LR "lengths", optimizer.lr.lengths, KEY_ABOVE_LOW, 0, 1, 0,
          CONFIG_SCHEDULES, "[]",
          "composite: each schedule's share of the run"),
    WORDS(LR "interval_scaling", optimizer.lr.interval_scaling,
          "rescaled|fixed", CONFIG_SCHEDULES, "[]",
          "composite: rescaled: each runs from its start to its end within "
          "its share; fixed: each is computed over the whole run and cut to "
          "its share; []: all rescaled"),

    TEXT("CHECKPOINT.DIR", checkpoint.dir, "\".\"",
         "folder for the checkpoints and the log"),
    BOOL("CHECKPOINT.AUTO_RESUME", checkpoint.auto_resume, 0, "True",
         "True: resume from a checkpoint in DIR; False: DIR must have none"),
    INTEGER("CHECKPOINT.CHECKPOINT_FREQUENCY", checkpoint.checkpoint_frequency,
            0, 1, 1e6, "1", "epochs between checkpoints"),
    INTEGER("CHECKPOINT.CHECKPOINT_ITER_FREQUENCY",
            checkpoint.checkpoint_iter_frequency, KEY_MINUS_ONE, 1, COUNT_MAX,
            "-1", "steps between checkpoints; -1: only after epochs"),
    INTEGER("CHECKPOINT.LATEST_CHECKPOINT_RESUME_FILE_NUM",
            checkpoint.latest_checkpoint_resume_file_num, 0, 1, 1e6, "1",
            "1: resume from the newest checkpoint, 2: from the one before, "
            "..."),

    INTEGER("DISTRIBUTED.NUM_NODES", distributed.num_nodes, 0, 1, 4096, "1",
            "machines of the run"),
    INTEGER("DISTRIBUTED.NUM_PROC_PER_NODE", distributed.num_proc_per_node, 0,
            1, 4096, "8",
            "processes per machine; the two define the global batch, but the "
            "trainer may be started on any number of processes"),
    BOOL("DISTRIBUTED.MANUAL_GRADIENT_REDUCTION",
         distributed.manual_gradient_reduction, 0, "False",
         "reduce all gradients after the backward pass instead of during it"),

    INTEGERS("STATESAMPLER.WEIGHTS", statesampler.weights, 1, WEIGHT_MAX,
             CONFIG_FILES, "[]",
             "weight of each file of DATA.TRAIN; []: 1 each"),
    WORD("STATESAMPLER.STOP", statesampler.stop, "first|all|restart", "all",
         "when an epoch of several files ends")
};
const uint32_t config_key_count =
    sizeof config_key_table / sizeof *config_key_table;

#undef TABLE
#define TABLE config_curve
const struct config_key config_curve_table[] = {
    CURVE_KEYS("", , FORMS, NULL, NULL, NULL, NULL, NULL, NULL)
};
const uint32_t config_curve_count =
    sizeof config_curve_table / sizeof *config_curve_table;

typedef char config_keys_fit[
    sizeof config_key_table / sizeof *config_key_table <= CONFIG_KEYS ? 1
                                                                      : -1];

/* --- Looking up ----------------------------------------------------------- */

const struct config_key *config_find_key(const struct config_key *table,
                                         uint32_t count, const char *path)
{
    uint32_t i;

    for (i = 0; i < count; i++)
        if (strcmp(table[i].path, path) == 0)
            return &table[i];
    return NULL;
}

const char *config_key_path(uint32_t i)
{
    return i < config_key_count ? config_key_table[i].path : NULL;
}

uint32_t config_key_number(const char *path)
{
    const struct config_key *key =
        config_find_key(config_key_table, config_key_count, path);

    return key != NULL ? (uint32_t)(key - config_key_table)
                       : config_key_count;
}

#define OUTER "OPTIMIZER."
#define NESTED "OPTIMIZER.base_optimizer."

bool config_is_nested(const char *path)
{
    return strncmp(path, NESTED, sizeof NESTED - 1) == 0;
}

const struct config_key *config_find_main_key(const char *path)
{
    const struct config_key *key =
        config_find_key(config_key_table, config_key_count, path);
    char outer[256];

    if (key != NULL || !config_is_nested(path))
        return key;
    snprintf(outer, sizeof outer, OUTER "%s", path + sizeof NESTED - 1);
    key = config_find_key(config_key_table, config_key_count, outer);
    return key != NULL && (key->flags & KEY_NESTED) != 0 ? key : NULL;
}

void config_written_path(const struct config_key *key, bool nested,
                         char *out, size_t size)
{
    if (nested && (key->flags & KEY_NESTED) != 0)
        snprintf(out, size, NESTED "%s", key->path + sizeof OUTER - 1);
    else
        snprintf(out, size, "%s", key->path);
}

bool config_is_section(const char *path)
{
    size_t length = strlen(path);
    char written[256];
    uint32_t i;

    for (i = 0; i < config_key_count; i++) {
        config_written_path(&config_key_table[i], config_is_nested(path),
                            written, sizeof written);
        if (strncmp(written, path, length) == 0 && written[length] == '.')
            return true;
    }
    return false;
}

/* --- Fields --------------------------------------------------------------- */

double config_word_value(const char *word)
{
    return strcmp(word, "inf") == 0 ? HUGE_VAL : 0;
}

/* The items of a list, by type: the offset of the first and their size. */
static const struct {
    size_t offset, size;
} lists[] = {
    [TYPE_BOOL] = {0, sizeof(bool)},
    [TYPE_INTEGER] = {offsetof(struct config_integers, items), 8},
    [TYPE_REAL] = {offsetof(struct config_numbers, items), 8},
    [TYPE_WORD] = {offsetof(struct config_integers, items), 8},
    [TYPE_TEXT] = {offsetof(struct config_strings, items), CONFIG_STRING},
    [TYPE_CURVES] = {offsetof(struct config_curves, items),
                     sizeof(struct config_curve)}
};

size_t config_item_at(const struct config_key *key, uint32_t item)
{
    return lists[key->type].offset + item * lists[key->type].size;
}

bool config_curve_needs(int64_t form, const char *key)
{
    static const char *const needs[] = {
        [CONFIG_CONSTANT] = " name value ",
        [CONFIG_COSINE] = " name start_value end_value ",
        [CONFIG_LINEAR] = " name start_value end_value ",
        [CONFIG_MULTISTEP] = " name values milestones ",
        [CONFIG_STEPS] = " name values ",
        [CONFIG_COMPOSITE] = " name "
    };
    char word[32];

    snprintf(word, sizeof word, " %s ", key);
    return strstr(needs[form], word) != NULL;
}

bool config_is_used(const struct config_key *key, int64_t form)
{
    const bool of_schedule = strncmp(key->path, LR, sizeof LR - 1) == 0;
    const char *name = key->path + (of_schedule ? sizeof LR - 1 : 0);

    return !of_schedule ||
           !config_find_key(config_curve_table, config_curve_count, name) ||
           config_curve_needs(form, name);
}
