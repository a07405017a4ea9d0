/* config_keys.c - the table of all keys, and their values as text, in and out.
   To add a key, add a row: reading, defaults, --keys, --print-config and
   KEYS.md follow. */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* From the type to the flags of a row. */
#define AT(field) offsetof(struct trainer_config, field)
#define ROW(type, field, low, high, least, most, words, flags) \
    type, AT(field), low, high, least, most, words, flags
#define BOOL(field) ROW(TYPE_BOOL, field, 0, 0, 0, 0, NULL, 0)
#define INTEGERS(field, low, high, most, flags) \
    ROW(TYPE_INTEGER, field, low, high, 0, most, NULL, flags)
#define INTEGER(field, low, high) INTEGERS(field, low, high, 0, 0)
#define OR_MINUS_ONE(field, low, high) \
    INTEGERS(field, low, high, 0, KEY_MINUS_ONE)
#define REALS(field, low, high, least, most, flags) \
    ROW(TYPE_REAL, field, low, high, least, most, NULL, flags)
#define REAL(field, low, high, flags) REALS(field, low, high, 0, 0, flags)
#define POSITIVE(field, high) REAL(field, 0, high, KEY_ABOVE_LOW)
#define RATE(field, flags) REAL(field, 0, RATE_MAX, flags)
#define REAL_OR(word, field, low, high, flags) \
    ROW(TYPE_REAL, field, low, high, 0, 0, word, flags)
#define WORDS(field, words, most, flags) \
    ROW(TYPE_WORD, field, 0, 0, 0, most, words, flags)
#define WORD(field, words) WORDS(field, words, 0, 0)
#define TEXT(field, flags) ROW(TYPE_TEXT, field, 0, 0, 0, 0, NULL, flags)
#define TEXTS(field) ROW(TYPE_TEXT, field, 0, 0, 0, CONFIG_FILES, NULL, 0)
#define USED_BY(form) (KEY_USED_BY << CONFIG_##form)

/* Seeds as in torch and numpy; a sum of CONFIG_FILES weights below 2^31; sizes
   of tensors whose elements MPI counts in an int (the largest are HIDDEN_DIM by
   3 * HIDDEN_DIM, MLP_DIM or CONTEXT); counts that a double holds exactly. */
#define SEED_MAX 4294967295.0
#define WEIGHT_MAX 67108863.0
#define WIDTH_MAX 16384
#define LENGTH_MAX 65536
#define COUNT_MAX 1099511627776.0
#define RATE_MAX 1e6

#define TRAIN "DATA.TRAIN."
#define CURVE(field) optimizer.lr.curve.field
#define AUTO(field) optimizer.lr.auto_lr_scaling.field
#define AMP "MODEL.AMP_PARAMS."
#define RECOMPUTE "MODEL.ACTIVATION_CHECKPOINTING."
#define GPT "MODEL.TRUNK.GPT."
#define BASE "OPTIMIZER.base_optimizer.name"
#define LR "OPTIMIZER.param_schedulers.lr."
#define SCALING LR "auto_lr_scaling."

const struct config_key config_key_table[] = {
    {"SEED_VALUE", INTEGER(seed_value, 0, SEED_MAX), "0",
     "seed of the sampler's order and of the initial weights"},
    {"LOG_FREQUENCY", INTEGER(log_frequency, 1, 1e9), "10",
     "steps between lines of the log"},
    {"TEST_MODEL", BOOL(test_model), "True", "evaluate the held-out text"},
    {"TEST_EVERY_NUM_EPOCH", INTEGER(test_every_num_epoch, 1, 1e6), "1",
     "epochs between evaluations"},
    {"DATA.DDP_BUCKET_CAP_MB", POSITIVE(data.ddp_bucket_cap_mb, 1024), "25",
     "MiB of gradients to reduce at a time, during the backward pass"},
    {TRAIN "USE_STATEFUL_DISTRIBUTED_SAMPLER",
     BOOL(data.train.use_stateful_distributed_sampler), "False",
     "True: resume at the next batch; False: padding and sharing as in torch, "
     "and a resume in mid-epoch restarts the epoch"},
    {TRAIN "USE_DEBUGGING_SAMPLER", BOOL(data.train.use_debugging_sampler),
     "False", "no shuffle; takes precedence over the stateful sampler"},
    {TRAIN "DROP_LAST", BOOL(data.train.drop_last), "False",
     "drop the last batch if it is not full"},
    {TRAIN "BATCHSIZE_PER_REPLICA",
     INTEGER(data.train.batchsize_per_replica, 1, 1048576), "256",
     "sequences per process and step"},
    {TRAIN "DATA_LIMIT", OR_MINUS_ONE(data.train.data_limit, 1, COUNT_MAX),
     "-1", "sequences to use of each file; -1: all"},
    {TRAIN "DATA_PATHS", TEXTS(data.train.data_paths), "[]",
     "text files, one dataset each; []: this repository's header and README"},
    {"DATA.TEST.USE_STATEFUL_DISTRIBUTED_SAMPLER",
     BOOL(data.test.use_stateful_distributed_sampler), "False",
     "no effect: held-out text is always served exactly once"},
    {"DATA.TEST.DATA_LIMIT", OR_MINUS_ONE(data.test.data_limit, 1, COUNT_MAX),
     "-1", "held-out sequences to use of each file; -1: all"},
    {"DATA.TEST.DATA_PATHS", TEXTS(data.test.data_paths), "[]",
     "text files to evaluate; []: every tenth sequence of the training files"},
    {AMP "USE_AMP", BOOL(model.amp_params.use_amp), "False", "mixed precision"},
    {AMP "AMP_TYPE", WORD(model.amp_params.amp_type, "apex"), "apex",
     "the rules for mixed precision"},
    {AMP "AMP_ARGS.opt_level", WORD(model.amp_params.opt_level, "O0|O1"), "O1",
     "O0: float; O1: half for matrix products, float for the rest"},
    {AMP "AMP_ARGS.loss_scale",
     REAL_OR("dynamic", model.amp_params.loss_scale, 0, 16777216,
             KEY_ABOVE_LOW), "dynamic",
     "factor of the loss, so that small gradients do not vanish in half "
     "precision; a number is a fixed factor"},
    {RECOMPUTE "USE_ACTIVATION_CHECKPOINTING",
     BOOL(model.activation_checkpointing.use_activation_checkpointing), "False",
     "recompute activations instead of keeping them"},
    {RECOMPUTE "NUM_ACTIVATION_CHECKPOINTING_SPLITS",
     INTEGER(model.activation_checkpointing.num_activation_checkpointing_splits,
             2, 256), "2", "number of segments of blocks, at most NUM_LAYERS; "
     "all but the last are recomputed"},
    {"MODEL.SHARDED_DDP_SETUP.USE_SDP", BOOL(model.sharded_ddp_setup.use_sdp),
     "False", "ZeRO-2: shard the gradients as well as the optimizer state"},
    {"MODEL.SHARDED_DDP_SETUP.reduce_buffer_size",
     OR_MINUS_ONE(model.sharded_ddp_setup.reduce_buffer_size, 0, COUNT_MAX),
     "-1", "with USE_SDP: -1: a process adds up its sequences and sends them "
     "once per step; else it keeps no sums of others' tensors and sends each "
     "sequence's, so many elements at a time; 0: one tensor"},
    {"MODEL.GRAD_CLIP.USE_GRAD_CLIP", BOOL(model.grad_clip.use_grad_clip),
     "False", "scale gradients down to MAX_NORM"},
    {"MODEL.GRAD_CLIP.NORM_TYPE",
     REAL_OR("inf", model.grad_clip.norm_type, 1, 1024, 0), "2",
     "power of the norm; inf: the largest element"},
    {"MODEL.GRAD_CLIP.MAX_NORM", POSITIVE(model.grad_clip.max_norm, 1e9), "1",
     "maximum norm of all gradients together"},
    {"MODEL.WEIGHTS_INIT.PARAMS_FILE",
     TEXT(model.weights_init.params_file, KEY_EMPTY), "\"\"",
     "a checkpoint, DIR/step-...: a new run begins with its weights"},
    {"MODEL.TRUNK.NAME", WORD(model.trunk.name, "gpt"), "gpt",
     "the model: a GPT-2 on bytes"},
    {GPT "NUM_LAYERS", INTEGER(model.trunk.num_layers, 1, 256), "8", "blocks"},
    {GPT "NUM_HEADS", INTEGER(model.trunk.num_heads, 1, 256), "4",
     "attention heads; must divide HIDDEN_DIM"},
    {GPT "HIDDEN_DIM", INTEGER(model.trunk.hidden_dim, 1, WIDTH_MAX), "128",
     "size of a token's vector"},
    {GPT "MLP_DIM", INTEGER(model.trunk.mlp_dim, 1, LENGTH_MAX), "512",
     "width of a block's hidden layer"},
    {GPT "CONTEXT", INTEGER(model.trunk.context, 1, LENGTH_MAX), "128",
     "tokens per sequence"},
    {"OPTIMIZER.name", WORD(optimizer.name, "sgd|adamw|zero"), "sgd",
     "zero: base_optimizer, with its state sharded"},
    {"OPTIMIZER.use_zero", BOOL(optimizer.use_zero), "False",
     "ZeRO-1: shard the optimizer state over the processes"},
    {"OPTIMIZER.num_epochs", INTEGER(optimizer.num_epochs, 1, 1e6), "90",
     "epochs of the run"},
    {"OPTIMIZER.regularize_bn", BOOL(optimizer.regularize_bn), "False",
     "False: no weight decay for normalization layers"},
    {"OPTIMIZER.regularize_bias", BOOL(optimizer.regularize_bias), "True",
     "False: no weight decay for biases"},
    {"OPTIMIZER.non_regularized_parameters",
     TEXTS(optimizer.non_regularized_parameters), "[]",
     "no weight decay for tensors whose name contains one of these"},
    {"OPTIMIZER.construct_single_param_group_only",
     BOOL(optimizer.construct_single_param_group_only), "False",
     "weight decay for all tensors, overriding the three keys above"},
    {BASE, WORD(optimizer.algorithm, "sgd|adamw"), "sgd",
     "with OPTIMIZER.name zero: the optimizer to shard"},
    {"OPTIMIZER.use_larc", BOOL(optimizer.use_larc), "False",
     "LARC: a rate per tensor, from its norm and its gradient's; sgd only"},
    {"OPTIMIZER.larc_config.clip", BOOL(optimizer.larc_config.clip), "False",
     "LARC does not exceed the schedule's rate"},
    {"OPTIMIZER.larc_config.eps", REAL(optimizer.larc_config.eps, 0, 1, 0),
     "1e-08", "added to LARC's denominator"},
    {"OPTIMIZER.larc_config.trust_coefficient",
     POSITIVE(optimizer.larc_config.trust_coefficient, RATE_MAX), "0.001",
     "LARC's factor for the ratio of the norms"},
    {"OPTIMIZER.weight_decay", RATE(optimizer.weight_decay, 0), "0.0001",
     "weight decay"},
    {"OPTIMIZER.momentum", REAL(optimizer.momentum, 0, 1, KEY_BELOW_HIGH),
     "0.9", "momentum of sgd"},
    {"OPTIMIZER.nesterov", BOOL(optimizer.nesterov), "False",
     "Nesterov momentum for sgd"},
    {"OPTIMIZER.betas", REALS(optimizer.betas, 0, 1, 2, 2, KEY_BELOW_HIGH),
     "[0.9, 0.999]", "decay rates of adamw's two moments"},
    {SCALING "auto_scale", BOOL(AUTO(auto_scale)), "False",
     "scale the rate with the global batch"},
    {SCALING "base_value", POSITIVE(AUTO(base_value), RATE_MAX), "0.1",
     "the rate at base_lr_batch_size"},
    {SCALING "base_lr_batch_size",
     INTEGER(AUTO(base_lr_batch_size), 1, COUNT_MAX), "256",
     "the global batch that base_value is for"},
    {SCALING "scaling_type", WORD(AUTO(scaling_type), "linear|sqrt"), "linear",
     "scale with the global batch, or with its square root"},
    {LR "update_interval", WORD(optimizer.lr.update_interval, "epoch|step"),
     "epoch", "how often the rate changes"},
    {LR "name",
     WORD(CURVE(name), "constant|cosine|linear|multistep|step|composite"),
     "multistep", "the kind of learning rate schedule"},
    {LR "value", RATE(CURVE(value), USED_BY(CONSTANT)), "0.1",
     "the rate of constant"},
    {LR "start_value",
     RATE(CURVE(start_value), USED_BY(COSINE) | USED_BY(LINEAR)), "0.1",
     "the first rate of cosine and linear"},
    {LR "end_value", RATE(CURVE(end_value), USED_BY(COSINE) | USED_BY(LINEAR)),
     "0.0", "the last rate of cosine and linear"},
    {LR "values",
     REALS(CURVE(values), 0, RATE_MAX, 1, CONFIG_LIST,
           USED_BY(MULTISTEP) | USED_BY(STEPS)), "[0.1, 0.01, 0.001]",
     "the rates of multistep and step, in order"},
    {LR "milestones",
     INTEGERS(CURVE(milestones), 1, 1e6, CONFIG_LIST, USED_BY(MULTISTEP)),
     "[30, 60]", "epochs at which multistep changes the rate"},
    {LR "schedulers",
     ROW(TYPE_CURVES, optimizer.lr.schedulers, 0, 0, 0, CONFIG_SCHEDULES, NULL,
         USED_BY(COMPOSITE)), "[]",
     "composite: the schedules, in order, each with the keys from name to "
     "milestones"},
    {LR "lengths",
     REALS(optimizer.lr.lengths, 0, 1, 0, CONFIG_SCHEDULES,
           KEY_ABOVE_LOW | USED_BY(COMPOSITE)), "[]",
     "composite: each schedule's share of the run"},
    {LR "interval_scaling",
     WORDS(optimizer.lr.interval_scaling, "rescaled|fixed", CONFIG_SCHEDULES,
           USED_BY(COMPOSITE)), "[]",
     "composite: rescaled: each runs from its start to its end within its "
     "share; fixed: each is computed over the whole run and cut to its share; "
     "[]: all rescaled"},
    {"CHECKPOINT.DIR", TEXT(checkpoint.dir, 0), "\".\"",
     "folder for the checkpoints and the log"},
    {"CHECKPOINT.AUTO_RESUME", BOOL(checkpoint.auto_resume), "True",
     "True: resume from a checkpoint in DIR; False: DIR must have none"},
    {"CHECKPOINT.CHECKPOINT_FREQUENCY",
     INTEGER(checkpoint.checkpoint_frequency, 1, 1e6), "1",
     "epochs between checkpoints"},
    {"CHECKPOINT.CHECKPOINT_ITER_FREQUENCY",
     OR_MINUS_ONE(checkpoint.checkpoint_iter_frequency, 1, COUNT_MAX), "-1",
     "steps between checkpoints; -1: only after epochs"},
    {"CHECKPOINT.LATEST_CHECKPOINT_RESUME_FILE_NUM",
     INTEGER(checkpoint.latest_checkpoint_resume_file_num, 1, 1e6), "1",
     "1: resume from the newest checkpoint, 2: from the one before, ..."},
    {"CHECKPOINT.KEEP", OR_MINUS_ONE(checkpoint.keep, 1, 1e6), "3",
     "the newest checkpoints to keep; -1: all"},
    {"CHECKPOINT.EXTEND", TEXT(checkpoint.extend, KEY_EMPTY), "\"\"",
     "a checkpoint: a new run in another DIR goes on from it, with other rates "
     "or OPTIMIZER.num_epochs"},
    {"DISTRIBUTED.NUM_NODES", INTEGER(distributed.num_nodes, 1, 4096), "1",
     "machines of the run"},
    {"DISTRIBUTED.NUM_PROC_PER_NODE",
     INTEGER(distributed.num_proc_per_node, 1, 4096), "8",
     "processes per machine; the two define the global batch, but the trainer "
     "may be started on any number of processes"},
    {"DISTRIBUTED.MANUAL_GRADIENT_REDUCTION",
     BOOL(distributed.manual_gradient_reduction), "False",
     "reduce all gradients after the backward pass instead of during it"},
    {"STATESAMPLER.WEIGHTS",
     INTEGERS(statesampler.weights, 1, WEIGHT_MAX, CONFIG_FILES, 0), "[]",
     "weight of each file of DATA.TRAIN; []: 1 each"},
    {"STATESAMPLER.STOP", WORD(statesampler.stop, "first|all|restart"), "all",
     "when an epoch of several files ends"}
};
const uint32_t config_key_count =
    sizeof config_key_table / sizeof *config_key_table;
typedef char config_keys_fit[
    sizeof config_key_table / sizeof *config_key_table <= CONFIG_KEYS ? 1
                                                                      : -1];

uint32_t config_key_number(const char *path)
{
    uint32_t i = 0;

    while (i < config_key_count && strcmp(config_key_table[i].path, path) != 0)
        i++;
    return i;
}

const char *config_key_path(uint32_t i)
{
    return i < config_key_count ? config_key_table[i].path : NULL;
}

bool config_is_used(const struct config_key *key, int64_t form)
{
    return key->flags < KEY_USED_BY ||
           (key->flags & KEY_USED_BY << form) != 0;
}

bool config_is_of_curve(const struct config_key *key)
{
    return key->offset >= AT(optimizer.lr.curve) &&
           key->offset < AT(optimizer.lr.curve) + sizeof(struct config_curve);
}

bool config_is_nested(const struct config_key *key)
{
    return key->offset >= AT(optimizer.use_larc) &&
           key->offset <= AT(optimizer.betas);
}

size_t config_item_at(const struct config_key *key, uint32_t item)
{
    static const struct { size_t offset, size; } lists[] = {
        [TYPE_INTEGER] = {offsetof(struct config_integers, items), 8},
        [TYPE_REAL] = {offsetof(struct config_numbers, items), 8},
        [TYPE_WORD] = {offsetof(struct config_integers, items), 8},
        [TYPE_TEXT] = {offsetof(struct config_strings, items), CONFIG_STRING},
        [TYPE_CURVES] = {offsetof(struct config_curves, items),
                         sizeof(struct config_curve)}
    };

    return lists[key->type].offset + item * lists[key->type].size;
}

double config_word_value(const char *word)
{
    return strcmp(word, "inf") == 0 ? HUGE_VAL : 0;
}

/* ---- Printing ---- */

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

static void print_value(const struct config_key *key, const char *base,
                        FILE *to);

/* A part of a composite schedule: the keys that its kind uses. */
static void print_part(const char *part, FILE *to)
{
    int64_t form;
    const char *before = "{";
    uint32_t i;

    memcpy(&form, part + offsetof(struct config_curve, name), sizeof form);
    for (i = 0; i < config_key_count; i++) {
        const struct config_key *key = &config_key_table[i];

        if (config_is_of_curve(key) && config_is_used(key, form)) {
            fprintf(to, "%s%s: ", before, strrchr(key->path, '.') + 1);
            print_value(key, part - AT(optimizer.lr.curve), to);
            before = ", ";
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
    memcpy(&real, &integer, 8);
    switch (key->type) {
    case TYPE_BOOL:
        fputs(item[0] ? "True" : "False", to);
        break;
    case TYPE_INTEGER:
        fprintf(to, "%" PRId64, integer);
        break;
    case TYPE_WORD:
        for (; integer > 0; word++)
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
        print_part(item, to);
    }
}

/* The value of a key in the struct at base. */
static void print_value(const struct config_key *key, const char *base,
                        FILE *to)
{
    const char *field = base + key->offset;
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
    print_value(&config_key_table[config_key_number(path)],
                (const char *)config, to);
}

void config_print(const struct trainer_config *config, FILE *to)
{
    uint32_t i;

    for (i = 0; i < config_key_count; i++) {
        const struct config_key *key = &config_key_table[i];

        if ((strcmp(key->path, BASE) == 0 &&
             config->optimizer.name != CONFIG_ZERO) ||
            !config_is_used(key, config->optimizer.lr.curve.name))
            continue;
        fprintf(to, "%s: ", key->path);
        print_value(key, (const char *)config, to);
        fputc('\n', to);
    }
}

/* ---- The table, printed ---- */

void config_describe(const struct config_key *key, char *out, size_t size)
{
    static const char *const kinds[] = {
        "True or False", "a whole number in ", "a number in ", "",
        ("printable text of 1 to 511 bytes, quoted if it looks like a number "
         "or True"), "a schedule such as {name: constant, value: 0.1}"};
    const bool number = key->type == TYPE_INTEGER || key->type == TYPE_REAL;
    const int used = snprintf(
        out, size, "%s%s%s%s", key->words ? key->words : "",
        key->words && number ? " or " : "",
        (key->flags & KEY_MINUS_ONE) != 0 ? "-1 or " : "", kinds[key->type]);

    if (number)
        snprintf(out + used, size - (size_t)used, "%c%.0f, %.0f%c",
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
        fprintf(to, "| %s | `%s` | ", key->path, key->standard);
        if (key->most > 0)
            fprintf(to, "a list of %u to %u, each ", key->least, key->most);
        fprintf(to, "%s | %s |\n", range, key->meaning);
    }
}
