/* config_keys.c - the table of all keys, and what prints it. To add a key, add
   a row: reading, defaults, --keys, --print-config and KEYS.md follow. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The offset of a field in the struct that the table describes. */
#define AT(field) offsetof(struct TABLE, field)

/* Rows, by the type of the value. */
#define BOOL(path, field, standard, meaning) \
    {path, TYPE_BOOL, AT(field), 0, 0, 0, 0, 0, NULL, standard, meaning}
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
#define TRAIN "DATA.TRAIN."
#define AMP "MODEL.AMP_PARAMS."
#define GPT "MODEL.TRUNK.GPT."
const struct config_key config_key_table[] = {
    INTEGER("SEED_VALUE", seed_value, 0, 0, SEED_MAX, "0",
      "seed of the sampler's order and of the initial weights"),
    INTEGER("LOG_FREQUENCY", log_frequency, 0, 1, 1e9, "10",
      "steps between lines of the log"),
    BOOL("TEST_MODEL", test_model, "True", "evaluate the held-out text"),
    INTEGER("TEST_EVERY_NUM_EPOCH", test_every_num_epoch, 0, 1, 1e6, "1",
      "epochs between evaluations"),
    REAL("DATA.DDP_BUCKET_CAP_MB", data.ddp_bucket_cap_mb, KEY_ABOVE_LOW, 0,
      1024, "25",
      "MiB of gradients to reduce at a time, while others are still being "
      "computed"),
    BOOL(TRAIN "USE_STATEFUL_DISTRIBUTED_SAMPLER",
      data.train.use_stateful_distributed_sampler, "False",
      "True: resume at the next batch; False: padding and sharing as in "
      "torch, and a resume in mid-epoch restarts the epoch"),
    BOOL(TRAIN "USE_DEBUGGING_SAMPLER", data.train.use_debugging_sampler,
      "False", "no shuffle; takes precedence over the stateful sampler"),
    BOOL(TRAIN "DROP_LAST", data.train.drop_last, "False",
      "drop the last batch if it is not full"),
    INTEGER(TRAIN "BATCHSIZE_PER_REPLICA", data.train.batchsize_per_replica, 0,
      1, 1048576, "256", "sequences per process and step"),
    INTEGER(TRAIN "DATA_LIMIT", data.train.data_limit, KEY_MINUS_ONE, 1,
      COUNT_MAX, "-1", "sequences to use of each file; -1: all"),
    TEXTS(TRAIN "DATA_PATHS", data.train.data_paths, "[]",
      "text files, one dataset each; []: this repository's header and README"),
    BOOL("DATA.TEST.USE_STATEFUL_DISTRIBUTED_SAMPLER",
      data.test.use_stateful_distributed_sampler, "False",
      "no effect: held-out text is always served exactly once"),
    INTEGER("DATA.TEST.DATA_LIMIT", data.test.data_limit, KEY_MINUS_ONE, 1,
      COUNT_MAX, "-1", "held-out sequences to use of each file; -1: all"),
    TEXTS("DATA.TEST.DATA_PATHS", data.test.data_paths, "[]",
      "text files to evaluate; []: every tenth sequence of the training files"),
    BOOL(AMP "USE_AMP", model.amp_params.use_amp, "False", "mixed precision"),
    WORD(AMP "AMP_TYPE", model.amp_params.amp_type, "apex", "apex",
      "the rules for mixed precision"),
    WORD(AMP "AMP_ARGS.opt_level", model.amp_params.opt_level, "O0|O1", "O1",
      "O0: float; O1: half for matrix products, float for the rest"),
    REAL_OR(AMP "AMP_ARGS.loss_scale", model.amp_params.loss_scale, "dynamic",
      KEY_ABOVE_LOW, 0, 16777216, "dynamic",
      "factor of the loss, so that small gradients do not vanish in half "
      "precision; a number is a fixed factor"),
    BOOL("MODEL.ACTIVATION_CHECKPOINTING.USE_ACTIVATION_CHECKPOINTING",
      model.activation_checkpointing.use_activation_checkpointing, "False",
      "recompute activations instead of keeping them"),
    INTEGER(
      "MODEL.ACTIVATION_CHECKPOINTING.NUM_ACTIVATION_CHECKPOINTING_SPLITS",
      model.activation_checkpointing.num_activation_checkpointing_splits, 0, 2,
      256, "2",
      "number of segments of blocks, at most NUM_LAYERS; all but the last "
      "are recomputed"),
    BOOL("MODEL.SHARDED_DDP_SETUP.USE_SDP", model.sharded_ddp_setup.use_sdp,
      "False", "ZeRO-2: shard the gradients as well as the optimizer state"),
    INTEGER("MODEL.SHARDED_DDP_SETUP.reduce_buffer_size",
      model.sharded_ddp_setup.reduce_buffer_size, KEY_MINUS_ONE, 0, COUNT_MAX,
      "-1",
      "with USE_SDP: -1: a process adds up its sequences and sends them once "
      "per step; else it keeps no sums of others' tensors and sends each "
      "sequence's, so many elements at a time; 0: one tensor"),
    BOOL("MODEL.GRAD_CLIP.USE_GRAD_CLIP", model.grad_clip.use_grad_clip,
      "False", "scale gradients down to MAX_NORM"),
    REAL_OR("MODEL.GRAD_CLIP.NORM_TYPE", model.grad_clip.norm_type, "inf", 0, 1,
      1024, "2", "power of the norm; inf: the largest element"),
    REAL("MODEL.GRAD_CLIP.MAX_NORM", model.grad_clip.max_norm, KEY_ABOVE_LOW, 0,
      1e9, "1", "maximum norm of all gradients together"),
    {"MODEL.WEIGHTS_INIT.PARAMS_FILE", TYPE_TEXT,
     AT(model.weights_init.params_file), KEY_EMPTY, 0, 0, 0, 0, NULL, "\"\"",
     "a checkpoint, such as DIR/step-000000000120: a new run begins with its "
     "weights"},
    WORD("MODEL.TRUNK.NAME", model.trunk.name, "gpt", "gpt",
      "the model: a GPT-2 on bytes"),
    INTEGER(GPT "NUM_LAYERS", model.trunk.num_layers, 0, 1, 256, "8", "blocks"),
    INTEGER(GPT "NUM_HEADS", model.trunk.num_heads, 0, 1, 256, "4",
      "attention heads; must divide HIDDEN_DIM"),
    INTEGER(GPT "HIDDEN_DIM", model.trunk.hidden_dim, 0, 1, 65536, "128",
      "size of a token's vector"),
    INTEGER(GPT "MLP_DIM", model.trunk.mlp_dim, 0, 1, 262144, "512",
      "width of a block's hidden layer"),
    INTEGER(GPT "CONTEXT", model.trunk.context, 0, 1, 65536, "128",
      "tokens per sequence"),
    WORD("OPTIMIZER.name", optimizer.name, "sgd|adamw|zero", "sgd",
      "zero: base_optimizer, with its state sharded"),
    BOOL("OPTIMIZER.use_zero", optimizer.use_zero, "False",
      "ZeRO-1: shard the optimizer state over the processes"),
    INTEGER("OPTIMIZER.num_epochs", optimizer.num_epochs, 0, 1, 1e6, "90",
      "epochs of the run"),
    BOOL("OPTIMIZER.regularize_bn", optimizer.regularize_bn, "False",
      "False: no weight decay for normalization layers"),
    BOOL("OPTIMIZER.regularize_bias", optimizer.regularize_bias, "True",
      "False: no weight decay for biases"),
    TEXTS("OPTIMIZER.non_regularized_parameters",
      optimizer.non_regularized_parameters, "[]",
      "no weight decay for tensors whose name contains one of these"),
    BOOL("OPTIMIZER.construct_single_param_group_only",
      optimizer.construct_single_param_group_only, "False",
      "weight decay for all tensors, overriding the three keys above"),
    WORD("OPTIMIZER.base_optimizer.name", optimizer.algorithm, "sgd|adamw",
      "sgd", "with OPTIMIZER.name zero: the optimizer to shard"),
    BOOL("OPTIMIZER.use_larc", optimizer.use_larc, "False",
      "LARC: a rate per tensor, from its norm and its gradient's; sgd only"),
    BOOL("OPTIMIZER.larc_config.clip", optimizer.larc_config.clip, "False",
      "LARC does not exceed the schedule's rate"),
    REAL("OPTIMIZER.larc_config.eps", optimizer.larc_config.eps, 0, 0, 1,
      "1e-08", "added to LARC's denominator"),
    REAL("OPTIMIZER.larc_config.trust_coefficient",
      optimizer.larc_config.trust_coefficient, KEY_ABOVE_LOW, 0, RATE_MAX,
      "0.001", "LARC's factor for the ratio of the norms"),
    REAL("OPTIMIZER.weight_decay", optimizer.weight_decay, 0, 0, RATE_MAX,
      "0.0001", "weight decay"),
    REAL("OPTIMIZER.momentum", optimizer.momentum, KEY_BELOW_HIGH, 0, 1, "0.9",
      "momentum of sgd"),
    BOOL("OPTIMIZER.nesterov", optimizer.nesterov, "False",
      "Nesterov momentum for sgd"),
    REALS("OPTIMIZER.betas", optimizer.betas, KEY_BELOW_HIGH, 0, 1, 2, 2,
      "[0.9, 0.999]", "decay rates of adamw's two moments"),
    BOOL(LR "auto_lr_scaling.auto_scale",
      optimizer.lr.auto_lr_scaling.auto_scale, "False",
      "scale the rate with the global batch"),
    REAL(LR "auto_lr_scaling.base_value",
      optimizer.lr.auto_lr_scaling.base_value, KEY_ABOVE_LOW, 0, RATE_MAX,
      "0.1", "the rate at base_lr_batch_size"),
    INTEGER(LR "auto_lr_scaling.base_lr_batch_size",
      optimizer.lr.auto_lr_scaling.base_lr_batch_size, 0, 1, COUNT_MAX, "256",
      "the global batch that base_value is for"),
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
      CONFIG_SCHEDULES, "[]", "composite: each schedule's share of the run"),
    WORDS(LR "interval_scaling", optimizer.lr.interval_scaling,
      "rescaled|fixed", CONFIG_SCHEDULES, "[]",
      "composite: rescaled: each runs from its start to its end within its "
      "share; fixed: each is computed over the whole run and cut to its "
      "share; []: all rescaled"),
    TEXT("CHECKPOINT.DIR", checkpoint.dir, "\".\"",
      "folder for the checkpoints and the log"),
    BOOL("CHECKPOINT.AUTO_RESUME", checkpoint.auto_resume, "True",
      "True: resume from a checkpoint in DIR; False: DIR must have none"),
    INTEGER("CHECKPOINT.CHECKPOINT_FREQUENCY", checkpoint.checkpoint_frequency,
      0, 1, 1e6, "1", "epochs between checkpoints"),
    INTEGER("CHECKPOINT.CHECKPOINT_ITER_FREQUENCY",
      checkpoint.checkpoint_iter_frequency, KEY_MINUS_ONE, 1, COUNT_MAX, "-1",
      "steps between checkpoints; -1: only after epochs"),
    INTEGER("CHECKPOINT.LATEST_CHECKPOINT_RESUME_FILE_NUM",
      checkpoint.latest_checkpoint_resume_file_num, 0, 1, 1e6, "1",
      "1: resume from the newest checkpoint, 2: from the one before, ..."),
    INTEGER("CHECKPOINT.KEEP", checkpoint.keep, KEY_MINUS_ONE, 1, 1e6, "3",
      "the newest checkpoints to keep; -1: all"),
    {"CHECKPOINT.EXTEND", TYPE_TEXT, AT(checkpoint.extend), KEY_EMPTY, 0, 0, 0,
     0, NULL, "\"\"",
     "a checkpoint: a new run goes on from it, in another DIR, with other "
     "OPTIMIZER.num_epochs and rates"},
    INTEGER("DISTRIBUTED.NUM_NODES", distributed.num_nodes, 0, 1, 4096, "1",
      "machines of the run"),
    INTEGER("DISTRIBUTED.NUM_PROC_PER_NODE", distributed.num_proc_per_node, 0,
      1, 4096, "8",
      "processes per machine; the two define the global batch, but the "
      "trainer may be started on any number of processes"),
    BOOL("DISTRIBUTED.MANUAL_GRADIENT_REDUCTION",
      distributed.manual_gradient_reduction, "False",
      "reduce all gradients after the backward pass instead of during it"),
    INTEGERS("STATESAMPLER.WEIGHTS", statesampler.weights, 1, WEIGHT_MAX,
      CONFIG_FILES, "[]", "weight of each file of DATA.TRAIN; []: 1 each"),
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

/* ---- Looking up ---- */

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

double config_word_value(const char *word)
{
    return strcmp(word, "inf") == 0 ? HUGE_VAL : 0;
}

size_t config_item_at(const struct config_key *key, uint32_t item)
{
    static const struct { size_t offset, size; } lists[] = {
        [TYPE_BOOL] = {0, sizeof(bool)},
        [TYPE_INTEGER] = {offsetof(struct config_integers, items), 8},
        [TYPE_REAL] = {offsetof(struct config_numbers, items), 8},
        [TYPE_WORD] = {offsetof(struct config_integers, items), 8},
        [TYPE_TEXT] = {offsetof(struct config_strings, items), CONFIG_STRING},
        [TYPE_CURVES] = {offsetof(struct config_curves, items),
                         sizeof(struct config_curve)}
    };

    return lists[key->type].offset + item * lists[key->type].size;
}

/* ---- Allowed values ---- */

void config_describe(const struct config_key *key, char *out, size_t size)
{
    static const char *const kinds[] = {
        "True or False", "a whole number in ", "a number in ", "",
        ("printable text of 1 to 511 bytes, quoted if it looks like a number "
         "or True"),
        "a schedule such as {name: constant, value: 0.1}"};
    size_t used = 0;

    if (key->most > 0)
        used += (size_t)snprintf(out, size, "a list of %u to %u, each ",
                                 key->least, key->most);
    used += (size_t)snprintf(
        out + used, size - used, "%s%s%s%s", key->words ? key->words : "",
        key->words && key->type == TYPE_REAL ? " or " : "",
        (key->flags & KEY_MINUS_ONE) != 0 ? "-1 or " : "", kinds[key->type]);
    if (key->type == TYPE_INTEGER || key->type == TYPE_REAL)
        snprintf(out + used, size - used, "%c%.0f, %.0f%c",
                 (key->flags & KEY_ABOVE_LOW) != 0 ? '(' : '[', key->low,
                 key->high, (key->flags & KEY_BELOW_HIGH) != 0 ? ')' : ']');
}

void config_keys(FILE *to)
{
    char range[256], *bar;
    uint32_t i;

    fputs("# Keys of the trainer's configuration\n\n"
          "Names and defaults are those of VISSL where it has the key. If "
          "OPTIMIZER.name is zero,\n"
          "the keys from use_larc to betas may also be below "
          "OPTIMIZER.base_optimizer.\n"
          "Brackets are part of a range, parentheses are not.\n\n"
          "| key | default | must be | meaning |\n|---|---|---|---|\n", to);
    for (i = 0; i < config_key_count; i++) {
        const struct config_key *key = &config_key_table[i];

        config_describe(key, range, sizeof range);
        while ((bar = strchr(range, '|')))
            *bar = '/'; /* ends: one less */
        fprintf(to, "| %s | `%s` | %s | %s |\n", key->path, key->standard,
                range, key->meaning);
    }
}

/* ---- Values ---- */

static void print_value(const struct config_key *key, const void *base,
                        FILE *to);

/* Prints the fewest digits that read back to the same; 17 always do. */
static void print_real(double value, FILE *to)
{
    char text[64];
    int digits = 6;

    do
        snprintf(text, sizeof text, "%.*g", digits, value);
    while (strtod(text, NULL) != value && digits++ < 17);
    fputs(text, to);
}

static void print_text(const char *text, FILE *to)
{
    fputc('"', to);
    for (; *text != 0; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', to);
        fputc(*text, to);
    }
    fputc('"', to);
}

/* A part of a composite schedule: the keys that its kind uses. */
static void print_curve(const struct config_curve *curve, FILE *to)
{
    uint32_t i;

    for (i = 0; i < config_curve_count; i++) {
        const struct config_key *key = &config_curve_table[i];

        if (config_curve_needs(curve->name, key->path)) {
            fprintf(to, "%s%s: ", i > 0 ? ", " : "{", key->path);
            print_value(key, curve, to);
        }
    }
    fputc('}', to);
}

static void print_item(const struct config_key *key, const char *item,
                       FILE *to)
{
    const char *word = key->words;
    double real = 0;
    int64_t integer = 0;

    memcpy(&integer, item, key->type == TYPE_BOOL ? 1 : 8);
    memcpy(&real, item, key->type == TYPE_BOOL ? 1 : 8);
    switch (key->type) {
    case TYPE_BOOL:
        fputs(item[0] ? "True" : "False", to);
        break;
    case TYPE_INTEGER:
        fprintf(to, "%" PRId64, integer);
        break;
    case TYPE_WORD:
        for (; integer > 0 && *word; word++)
            integer -= *word == '|';
        fprintf(to, "%.*s", (int)strcspn(word, "|"), word);
        break;
    case TYPE_REAL:
        if (word && real == config_word_value(word))
            fputs(word, to);
        else
            print_real(real, to);
        break;
    case TYPE_TEXT:
        print_text(item, to);
        break;
    case TYPE_CURVES:
        print_curve((const struct config_curve *)(const void *)item, to);
    }
}

/* The value of a key in the struct that base points to. */
static void print_value(const struct config_key *key, const void *base,
                        FILE *to)
{
    const char *field = (const char *)base + key->offset;
    uint32_t count, i;

    if (key->most == 0) {
        print_item(key, field, to);
        return;
    }
    memcpy(&count, field, sizeof count);
    fputc('[', to);
    for (i = 0; i < count; i++) {
        fputs(i > 0 ? ", " : "", to);
        print_item(key, field + config_item_at(key, i), to);
    }
    fputc(']', to);
}

void config_print_key(const struct trainer_config *config, const char *path,
                      FILE *to)
{
    print_value(&config_key_table[config_key_number(path)], config, to);
}

void config_print(const struct trainer_config *config, FILE *to)
{
    const char *before = "";
    uint32_t i;

    for (i = 0; i < config_key_count; i++) {
        const struct config_key *key = &config_key_table[i];
        const char *path = key->path;
        size_t same = 0, depth = 0, j;

        if ((strcmp(path, "OPTIMIZER.base_optimizer.name") == 0 &&
             config->optimizer.name != CONFIG_ZERO) ||
            !config_is_used(key, config->optimizer.lr.curve.name))
            continue;
        /* The sections that are new, a line each, then the key. */
        for (j = 0; path[j] != 0 && path[j] == before[j]; j++)
            if (path[j] == '.') {
                same = j + 1;
                depth++;
            }
        before = path;
        for (path += same; strchr(path, '.'); path = strchr(path, '.') + 1)
            fprintf(to, "%*s%.*s:\n", (int)(2 * depth++), "",
                    (int)strcspn(path, "."), path);
        fprintf(to, "%*s%s: ", (int)(2 * depth), "", path);
        print_value(key, config, to);
        fputc('\n', to);
    }
}
