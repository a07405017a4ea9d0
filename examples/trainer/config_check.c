/* config_check.c - what is allowed: the values of each key, by its row of the
   table; and rules about several keys, each a function in a list. */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- Values ---- */

/* The index of a word among those of a key, or -1. */
static int64_t find_word(const char *words, const char *text)
{
    int64_t number = 0;

    for (;; number++) { /* ends: a word less */
        size_t length = strcspn(words, "|");

        if (strlen(text) == length && memcmp(words, text, length) == 0)
            return number;
        if (words[length] == 0)
            return -1;
        words += length + 1;
    }
}

/* Parses a number that YAML and C agree on: decimal, not 010 (which some
   parsers read as 8), with a dot or exponent only if real, within a double's
   range. */
static bool to_number(const char *text, bool real, double *out)
{
    const char *digits = text + (*text == '+' || *text == '-');
    char *end;

    if (text[strspn(text, real ? "+-.eE0123456789" : "+-0123456789")] != 0 ||
        (digits[0] == '0' && isdigit((unsigned char)digits[1])))
        return false;
    errno = 0;
    *out = strtod(text, &end);
    return end != text && *end == 0 && errno == 0;
}

/* Control characters and U+0080 to U+009F; U+2028, U+2029; U+FEFF; U+FFFE,
   U+FFFF: not to be printed. The text is valid UTF-8. */
static bool is_hidden(const unsigned char *c)
{
    switch (c[0]) {
    case 0xc2: return c[1] < 0xa0;
    case 0xe2: return c[1] == 0x80 && (c[2] | 1) == 0xa9;
    case 0xef: return c[1] == 0xbb ? c[2] == 0xbf
                                   : c[1] == 0xbf && c[2] >= 0xbe;
    default: return c[0] < 32 || c[0] == 127;
    }
}

/* Whether text is not empty, fits, can be printed and, if plain, is not read as
   something else by YAML parsers. */
static bool is_text(const char *text, bool plain)
{
    const char *c;
    char small[8] = "";
    double number;
    size_t i;

    for (c = text; *c != 0; c++)
        if (is_hidden((const unsigned char *)c))
            return false;
    for (i = 0; i < sizeof small - 1 && text[i] != 0; i++)
        small[i] = (char)tolower((unsigned char)text[i]);
    return c != text && c < text + CONFIG_STRING &&
           !(plain &&
             (to_number(text, true, &number) ||
              find_word("~|null|true|false|yes|no|on|off", small) >= 0));
}

static bool in_range(const struct config_key *key, double value)
{
    if ((key->flags & KEY_MINUS_ONE) != 0 && value == -1)
        return true;
    return ((key->flags & KEY_ABOVE_LOW) != 0 ? value > key->low
                                              : value >= key->low) &&
           ((key->flags & KEY_BELOW_HIGH) != 0 ? value < key->high
                                               : value <= key->high);
}

static bool take_number(const struct config_key *key, const char *text,
                        bool plain, char *out)
{
    const bool real = key->type == TYPE_REAL;
    double value;
    int64_t integer;

    if (real && key->words != NULL && find_word(key->words, text) == 0)
        value = config_word_value(key->words);
    else if (!plain || !to_number(text, real, &value) || !in_range(key, value))
        return false;
    value += 0.0; /* -0 becomes 0 */
    integer = real ? 0 : (int64_t)value; /* exact: all are within 2^53 */
    memcpy(out, real ? (void *)&value : (void *)&integer, 8);
    return true;
}

/* Stores a scalar in a field, or in an item of a list. */
bool config_take_scalar(const struct config_key *key, const char *text,
                        size_t length, bool plain, char *out)
{
    int64_t word;

    if (strlen(text) != length)
        return false; /* a zero byte */
    switch (key->type) {
    case TYPE_BOOL:
        word = find_word("True|true|TRUE|False|false|FALSE", text);
        out[0] = word < 3;
        return plain && word >= 0;
    case TYPE_TEXT:
        memset(out, 0, CONFIG_STRING);
        snprintf(out, CONFIG_STRING, "%s", text);
        return is_text(text, plain) ||
               (length == 0 && !plain && (key->flags & KEY_EMPTY) != 0);
    case TYPE_WORD:
        word = find_word(key->words, text);
        memcpy(out, &word, sizeof word);
        return word >= 0;
    default:
        return take_number(key, text, plain, out);
    }
}

/* ---- Rules ---- */

struct check {
    struct trainer_config *config;
    struct config_source *source;
    int64_t processes;
};

#define LR "OPTIMIZER.param_schedulers.lr."
#define BASE "OPTIMIZER.base_optimizer.name"
#define NEEDS_ITEMS "must have %u items, one for each "
#define ONLY_COMPOSITE "used by a schedule with name: composite only"
#define SPLITS \
    "MODEL.ACTIVATION_CHECKPOINTING.NUM_ACTIVATION_CHECKPOINTING_SPLITS"

static const struct config_place *place_of(const struct check *c,
                                           const char *path)
{
    return &c->source->places[config_key_number(path)];
}

/* Sets the error, with the key and where it was given, if it was. */
static bool fail(struct check *c, const char *path, const char *format, ...)
{
    const struct config_place *place = place_of(c, path);
    char sentence[512];
    va_list list;

    va_start(list, format);
    vsnprintf(sentence, sizeof sentence, format, list);
    va_end(list);
    return config_fail(c->source,
                       place->argument != 0 || c->source->file[0] == 0
                           ? "command line"
                           : c->source->file,
                       *place, path, sentence);
}

/* ---- The optimizer ---- */

static bool check_nesting(struct check *c)
{
    const bool zero = c->config->optimizer.name == CONFIG_ZERO;
    uint32_t i;

    if (zero && place_of(c, BASE)->line == 0)
        return fail(c, "OPTIMIZER.name", "zero needs base_optimizer.name, the "
                    "optimizer that it shards");
    for (i = 0; !zero && i < config_key_count; i++)
        if (c->source->places[i].nested != 0)
            return fail(c, config_key_table[i].path,
                        "base_optimizer needs OPTIMIZER.name: zero");
    return true;
}

static bool check_zero(struct check *c)
{
    struct trainer_config *config = c->config;
    const bool zero = config->optimizer.name == CONFIG_ZERO;
    const bool sdp = config->model.sharded_ddp_setup.use_sdp;

    if (!config->optimizer.use_zero && (zero || sdp) &&
        place_of(c, "OPTIMIZER.use_zero")->line != 0)
        return fail(c, "OPTIMIZER.use_zero", "must not be False, as %s",
                    zero ? "OPTIMIZER.name is zero"
                         : "MODEL.SHARDED_DDP_SETUP.USE_SDP needs ZeRO");
    if (zero || sdp)
        config->optimizer.use_zero = true;
    if (!zero)
        config->optimizer.algorithm = config->optimizer.name;
    return true;
}

static bool check_sgd(struct check *c)
{
    const struct trainer_config *config = c->config;
    const bool sgd = config->optimizer.algorithm == CONFIG_SGD;

    if (config->optimizer.use_larc && !sgd)
        return fail(c, "OPTIMIZER.use_larc",
                    "LARC works with sgd only, and the optimizer is adamw");
    if (config->optimizer.nesterov && !sgd)
        return fail(c, "OPTIMIZER.nesterov",
                    "nesterov works with sgd only, and the optimizer is "
                    "adamw");
    if (config->optimizer.nesterov && config->optimizer.momentum == 0)
        return fail(c, "OPTIMIZER.nesterov",
                    "nesterov needs a momentum above 0");
    return true;
}

/* ---- The schedule ---- */

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
    const char *name = key->path + sizeof LR - 1;

    return strncmp(key->path, LR, sizeof LR - 1) != 0 ||
           !config_find_key(config_curve_table, config_curve_count, name) ||
           config_curve_needs(form, name);
}

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
                    "cannot scale a schedule whose first rate is 0");
    if (curve->name != CONFIG_MULTISTEP)
        return true;
    if (curve->values.count != milestones->count + 1)
        return fail(c, path, "multistep needs %u milestones for %u values, "
                    "not %u", curve->values.count - 1, curve->values.count,
                    milestones->count);
    for (i = 0; i < milestones->count; i++) {
        const int64_t *at = milestones->items + i;

        if (i > 0 && at[0] <= at[-1])
            return fail(c, path, "milestone %" PRId64 " must be above %" PRId64,
                        at[0], at[-1]);
        if (at[0] >= c->config->optimizer.num_epochs)
            return fail(c, path, "milestone %" PRId64 " is never reached in %"
                        PRId64 " epochs: set values and milestones, or "
                        "choose another schedule", at[0],
                        c->config->optimizer.num_epochs);
    }
    return true;
}

static bool check_composite(struct check *c)
{
    const uint32_t count = c->config->optimizer.lr.schedulers.count;
    const struct config_numbers *lengths = &c->config->optimizer.lr.lengths;
    const uint32_t scalings = c->config->optimizer.lr.interval_scaling.count;
    double sum = 0;
    uint32_t i;

    if (count == 0)
        return fail(c, LR "schedulers", "composite needs at least one item");
    if (lengths->count != count)
        return fail(c, LR "lengths", NEEDS_ITEMS "scheduler, not %u", count,
                    lengths->count);
    if (scalings != 0 && scalings != count)
        return fail(c, LR "interval_scaling", NEEDS_ITEMS "scheduler, not %u",
                    count, scalings);
    for (i = 0; i < count; i++) {
        sum += lengths->items[i];
        if (!check_curve(c, LR "schedulers",
                         &c->config->optimizer.lr.schedulers.items[i]))
            return false;
    }
    /* The last one gets what the others leave. */
    if (sum < 0.999 || sum > 1.001 || sum - lengths->items[count - 1] >= 1)
        return fail(c, LR "lengths", "the sum must be 1, within 0.001");
    return true;
}

/* Refuses keys that the kind of schedule does not use. But if an argument has
   changed the kind, the file's unused keys are reset to their defaults instead:
   --print-config does not print them. */
static bool check_form(struct check *c)
{
    const bool renamed = place_of(c, LR "name")->argument != 0;
    struct config_source unused;
    char argument[512];
    uint32_t i;

    for (i = 0; i < config_key_count; i++) {
        const struct config_place *place = &c->source->places[i];
        const struct config_key *key = &config_key_table[i];

        if (place->line == 0 ||
            config_is_used(key, c->config->optimizer.lr.curve.name))
            continue;
        if (place->argument != 0 || !renamed)
            return fail(c, key->path, "not used by a schedule of this name "
                        "(the default is multistep)");
        snprintf(argument, sizeof argument, "%s=%s", key->path, key->standard);
        config_override(c->config, &unused, argument);
    }
    return true;
}

static bool check_schedule(struct check *c)
{
    if (!check_form(c))
        return false;
    if (c->config->optimizer.lr.curve.name == CONFIG_COMPOSITE)
        return check_composite(c);
    if (c->config->optimizer.lr.schedulers.count > 0)
        return fail(c, LR "schedulers", ONLY_COMPOSITE);
    if (c->config->optimizer.lr.lengths.count > 0)
        return fail(c, LR "lengths", ONLY_COMPOSITE);
    if (c->config->optimizer.lr.interval_scaling.count > 0)
        return fail(c, LR "interval_scaling", ONLY_COMPOSITE);
    return check_curve(c, LR "milestones", &c->config->optimizer.lr.curve);
}

/* ---- The rest ---- */

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static bool check_model(struct check *c)
{
    const int64_t layers = c->config->model.trunk.num_layers;
    const int64_t splits = config_splits(c->config);
    const int64_t width = c->config->model.trunk.hidden_dim;
    const int64_t heads = c->config->model.trunk.num_heads;

    /* MPI counts the elements of a tensor in an int. The largest tensor is
       width times 3 * width, the MLP's width or the context. */
    if (width * larger(3 * width, larger(c->config->model.trunk.mlp_dim,
                                         c->config->model.trunk.context)) >
        INT32_MAX)
        return fail(c, "MODEL.TRUNK.GPT.HIDDEN_DIM",
                    "a tensor would have more than 2147483647 elements");
    if (width % heads != 0)
        return fail(c, "MODEL.TRUNK.GPT.NUM_HEADS", "%" PRId64 " heads do not "
                    "divide the HIDDEN_DIM of %" PRId64, heads, width);
    if (splits > layers)
        return fail(c, SPLITS, "%" PRId64 " splits, but NUM_LAYERS is %" PRId64,
                    splits, layers);
    return true;
}

static bool check_weights(struct check *c)
{
    const struct config_weights *weights = &c->config->statesampler.weights;
    const uint32_t paths = c->config->data.train.data_paths.count;
    const uint32_t files = paths != 0 ? paths : CONFIG_OWN;
    int64_t sum = 0;
    uint32_t i;

    if (weights->count != 0 && weights->count != files)
        return fail(c, "STATESAMPLER.WEIGHTS", NEEDS_ITEMS "%s, not %u", files,
                    paths != 0 ? "file of DATA.TRAIN.DATA_PATHS"
                               : "of the trainer's own texts",
                    weights->count);
    for (i = 0; i < weights->count; i++)
        sum += weights->items[i];
    if (sum >= (int64_t)1 << 31)
        return fail(c, "STATESAMPLER.WEIGHTS",
                    "the sum must be below 2147483648");
    return true;
}

static bool check_processes(struct check *c)
{
    const int64_t batch = config_global_batch(c->config);

    if (batch > CONFIG_BATCH)
        return fail(c, "DATA.TRAIN.BATCHSIZE_PER_REPLICA", "%" PRId64 " "
                    "sequences in a global batch, but at most %d are allowed",
                    batch, CONFIG_BATCH);
    return c->processes <= batch ||
           fail(c, "DATA.TRAIN.BATCHSIZE_PER_REPLICA", "%" PRId64 " processes, "
                "but only %" PRId64 " sequences in a global batch",
                c->processes, batch);
}

/* Otherwise a folder named ~ would be created, which is hard to remove. */
static bool check_dir(struct check *c)
{
    return strncmp(c->config->checkpoint.dir, "~/", 2) != 0 ||
           fail(c, "CHECKPOINT.DIR", "~ is not expanded here: write the whole "
                "path");
}

static bool check_begin(struct check *c)
{
    return c->config->checkpoint.extend[0] == 0 ||
           c->config->model.weights_init.params_file[0] == 0 ||
           fail(c, "CHECKPOINT.EXTEND", "not together with "
                "MODEL.WEIGHTS_INIT.PARAMS_FILE");
}

bool config_check(struct trainer_config *config, struct config_source *source,
                  int64_t processes)
{
    static bool (*const rules[])(struct check *) = {
        check_nesting, check_zero, check_sgd, check_schedule, check_model,
        check_weights, check_processes, check_dir, check_begin
    };
    struct trainer_config copy = *config;
    struct check c = {&copy, source, processes};
    size_t i;

    for (i = 0; i < sizeof rules / sizeof *rules; i++)
        if (!rules[i](&c))
            return false;
    *config = copy;
    return true;
}

/* ---- Derived values ---- */

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
