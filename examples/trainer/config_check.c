/* config_check.c - what is allowed: the values of each key, by its row of the
   table; and rules between keys. What follows from several keys; the learning
   rate is one of these.

   The kinds of schedule are those of ClassyVision's, which VISSL uses. If w is
   the part of the run that is done, from 0 to 1, the rate is
     constant    value
     linear      start_value + (end_value - start_value) w
     cosine      end_value + (start_value - end_value) (1 + cos(pi w)) / 2
     step        the values in order, each for an equal part of the run
     multistep   the values in order; each milestone (an epoch) starts the next
     composite   that of the schedulers in order, each for its length

   auto_lr_scaling: let rate be base_value times the global batch divided by
   base_lr_batch_size (or the square root of that ratio). It replaces the value
   of constant, the end_value of linear, and the first rate of cosine, step and
   multistep, whose other rates keep their ratio to the first. In a composite
   schedule it applies to each part. */
#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BASE "OPTIMIZER.base_optimizer.name"
#define LR "OPTIMIZER.param_schedulers.lr."
#define SCALING LR "auto_lr_scaling."
#define SPLITS \
    "MODEL.ACTIVATION_CHECKPOINTING.NUM_ACTIVATION_CHECKPOINTING_SPLITS"

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
    *out = strtod(text, &end) + 0.0; /* -0 becomes 0 */
    return end != text && *end == 0 && errno == 0;
}

static bool is_in_range(const struct config_key *key, double value)
{
    if ((key->flags & KEY_MINUS_ONE) != 0 && value == -1)
        return true;
    return value >= key->low && value <= key->high &&
           !((key->flags & KEY_ABOVE_LOW) != 0 && value == key->low) &&
           !((key->flags & KEY_BELOW_HIGH) != 0 && value == key->high);
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

/* Whether text fits, can be printed and, if plain, is not read as something
   else by YAML parsers. */
static bool is_text(const struct config_key *key, const char *text, bool plain)
{
    char small[8] = "";
    double number;
    size_t i;

    for (i = 0; text[i] != 0; i++) {
        if (is_hidden((const unsigned char *)text + i))
            return false;
        if (i < sizeof small - 1)
            small[i] = (char)tolower((unsigned char)text[i]);
    }
    if (plain && (to_number(text, true, &number) ||
                  find_word("|~|null|true|false|yes|no|on|off", small) >= 0))
        return false;
    return i < CONFIG_STRING && (i > 0 || (key->flags & KEY_EMPTY) != 0);
}

bool config_take_scalar(const struct config_key *key, const char *text,
                        bool plain, char *out)
{
    int64_t word = key->words ? find_word(key->words, text) : -1;
    double value;

    switch (key->type) {
    case TYPE_BOOL:
        word = find_word("True|true|TRUE|False|false|FALSE", text);
        out[0] = word < 3;
        return plain && word >= 0;
    case TYPE_TEXT:
        snprintf(memset(out, 0, CONFIG_STRING), CONFIG_STRING, "%s", text);
        return is_text(key, text, plain);
    case TYPE_WORD:
        memcpy(out, &word, sizeof word);
        return word >= 0;
    default:
        if (word >= 0)
            value = config_word_value(key->words);
        else if (!plain || !to_number(text, key->type == TYPE_REAL, &value) ||
                 !is_in_range(key, value))
            return false;
        word = key->type == TYPE_INTEGER ? (int64_t)value : 0; /* exact */
        memcpy(out, key->type == TYPE_INTEGER ? (void *)&word : &value, 8);
        return true;
    }
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
                                                   : config->optimizer.use_zero;
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

/* ---- The learning rate ---- */

/* `where` may fall short of a boundary by a rounding error. */
#define CLOSE 1e-6

static const double pi = 3.14159265358979323846;

/* The index of the value of step and multistep. There is at least one value. */
static uint32_t value_at(const struct config_curve *curve, int64_t num_epochs,
                         double where)
{
    const int64_t epoch = (int64_t)((where + CLOSE) * (double)num_epochs);
    const double place = (where + CLOSE) * curve->values.count;
    const uint32_t last = curve->values.count - 1;
    uint32_t i = 0;

    if (curve->name == CONFIG_STEPS)
        return place < last ? (uint32_t)place : last;
    while (i < curve->milestones.count && curve->milestones.items[i] <= epoch)
        i++;
    return i;
}

/* The rate that auto_lr_scaling asks for. */
static double scaled_rate(const struct trainer_config *config)
{
    const double factor =
        (double)config_global_batch(config) /
        (double)config->optimizer.lr.auto_lr_scaling.base_lr_batch_size;

    return config->optimizer.lr.auto_lr_scaling.base_value *
           (config->optimizer.lr.auto_lr_scaling.scaling_type ==
            CONFIG_SQRT_SCALING ? sqrt(factor) : factor);
}

static double curve_at(const struct trainer_config *config,
                       const struct config_curve *curve, double where)
{
    const bool scale = config->optimizer.lr.auto_lr_scaling.auto_scale;
    const double rate = scaled_rate(config), *values = curve->values.items;
    double start = curve->start_value, end = curve->end_value, value;

    switch (curve->name) {
    case CONFIG_CONSTANT:
        return scale ? rate : curve->value;
    case CONFIG_LINEAR:
        end = scale ? rate : end;
        return start * (1 - where) + end * where;
    case CONFIG_COSINE:
        end = scale ? end * (rate / start) : end;
        start = scale ? rate : start;
        return end + (start - end) * (1 + cos(pi * where)) / 2;
    default:
        value = values[value_at(curve, config->optimizer.num_epochs, where)];
        return scale ? value * (rate / values[0]) : value;
    }
}

/* The parts of a composite schedule; any other has one, itself. */
static const struct config_curve *parts_of(const struct trainer_config *c,
                                           uint32_t *count)
{
    const bool composite = c->optimizer.lr.curve.name == CONFIG_COMPOSITE;

    *count = composite ? c->optimizer.lr.schedulers.count : 1;
    return composite ? c->optimizer.lr.schedulers.items
                     : &c->optimizer.lr.curve;
}

double schedule_at(const struct trainer_config *config, double where)
{
    const double *lengths = config->optimizer.lr.lengths.items;
    const struct config_integers *fixed =
        &config->optimizer.lr.interval_scaling;
    uint32_t count, i = 0;
    const struct config_curve *parts = parts_of(config, &count);
    double start = 0;

    if (config->optimizer.lr.curve.name != CONFIG_COMPOSITE)
        return curve_at(config, parts, where);
    while (i + 1 < count && where + CLOSE > start + lengths[i])
        start += lengths[i++];
    /* The last one gets the rest, so that it ends at 1. A part may have started
       up to CLOSE early. */
    if (fixed->count == 0 || fixed->items[i] == CONFIG_RESCALED)
        where = where <= start ? 0
              : (where - start) / (i + 1 < count ? lengths[i] : 1 - start);
    return curve_at(config, &parts[i], where);
}

double schedule_of_step(const struct trainer_config *config, uint64_t step,
                        uint64_t steps_per_epoch)
{
    uint64_t epochs = (uint64_t)config->optimizer.num_epochs;
    double where;

    if (config->optimizer.lr.update_interval == CONFIG_EPOCH)
        where = (double)(step / steps_per_epoch) / (double)epochs;
    else
        where = (double)step / ((double)epochs * (double)steps_per_epoch);
    return schedule_at(config, where);
}

/* ---- Rules between keys ---- */

static bool has_bad_milestones(const struct config_curve *curve,
                               int64_t num_epochs)
{
    const int64_t *at = curve->milestones.items;
    uint32_t i;

    if (curve->name != CONFIG_MULTISTEP)
        return false;
    for (i = 0; i < curve->milestones.count; i++)
        if (at[i] >= num_epochs || (i > 0 && at[i] <= at[i - 1]))
            return true;
    return curve->values.count != curve->milestones.count + 1;
}

/* A rule that is broken, in which key, and the sentence that says so. */
struct rule {
    bool broken;
    const char *path, *sentence;
};

/* rule: the first; the last counts as broken, and has no path. */
static bool check(const struct rule *rule, struct config_source *source)
{
    while (!rule->broken)
        rule++;
    return rule->path == NULL ||
           config_fail(source, source->places[config_key_number(rule->path)],
                       rule->path, "%s", rule->sentence);
}

static bool check_optimizer(const struct trainer_config *c,
                            struct config_source *source)
{
    const struct config_place *given = source->places;
    const bool zero = c->optimizer.name == CONFIG_ZERO;
    const bool sgd =
        (zero ? c->optimizer.algorithm : c->optimizer.name) == CONFIG_SGD;
    const bool off = !c->optimizer.use_zero &&
                     given[config_key_number("OPTIMIZER.use_zero")].line != 0;
    const char *nested = NULL;
    uint32_t i;

    for (i = 0; i < config_key_count; i++)
        if (given[i].nested)
            nested = config_key_table[i].path;
    const struct rule rules[] = {
        {zero && given[config_key_number(BASE)].line == 0, "OPTIMIZER.name",
         "zero needs base_optimizer.name, the optimizer that it shards"},
        {!zero && nested, nested, "base_optimizer needs OPTIMIZER.name: zero"},
        {off && zero, "OPTIMIZER.use_zero",
         "must not be False, as OPTIMIZER.name is zero"},
        {off && c->model.sharded_ddp_setup.use_sdp, "OPTIMIZER.use_zero",
         "must not be False, as MODEL.SHARDED_DDP_SETUP.USE_SDP needs ZeRO"},
        {c->optimizer.use_larc && !sgd, "OPTIMIZER.use_larc",
         "LARC works with sgd only, and the optimizer is adamw"},
        {c->optimizer.nesterov && !sgd, "OPTIMIZER.nesterov",
         "nesterov works with sgd only, and the optimizer is adamw"},
        {c->optimizer.nesterov && c->optimizer.momentum == 0,
         "OPTIMIZER.nesterov", "nesterov needs a momentum above 0"},
        {true, NULL, NULL}
    };

    return check(rules, source);
}

static bool check_schedule(const struct trainer_config *c,
                           struct config_source *source)
{
    const bool composite = c->optimizer.lr.curve.name == CONFIG_COMPOSITE;
    const uint32_t scalings = c->optimizer.lr.interval_scaling.count;
    const struct config_numbers *lengths = &c->optimizer.lr.lengths;
    bool milestones = false, zero = false;
    double sum = 0, last = 0;
    uint32_t count, i;
    const struct config_curve *parts = parts_of(c, &count);

    for (i = 0; i < count; i++) {
        milestones |= has_bad_milestones(&parts[i], c->optimizer.num_epochs);
        zero |= !isfinite(curve_at(c, &parts[i], 0)); /* divided by 0 */
        last = lengths->items[i];
        sum += last;
    }
    const struct rule rules[] = {
        {count == 0, LR "schedulers", "composite needs at least one schedule"},
        {milestones, composite ? LR "schedulers" : LR "milestones",
         "the milestones of multistep, which is the default, must increase, be "
         "below num_epochs and be one fewer than the values"},
        {zero, SCALING "auto_scale",
         "cannot scale a schedule whose first rate is 0"},
        {composite && lengths->count != count, LR "lengths",
         "must have an item for each schedule"},
        {composite && scalings != 0 && scalings != count, LR "interval_scaling",
         "must have an item for each schedule"},
        /* The last part gets what the others leave. */
        {composite && (fabs(sum - 1) > 0.001 || sum - last >= 1), LR "lengths",
         "the sum must be 1, within 0.001"},
        {true, NULL, NULL}
    };

    return check(rules, source);
}

static bool check_sizes(const struct trainer_config *c,
                        struct config_source *source, int64_t processes)
{
    const int64_t batch = config_global_batch(c);
    const uint32_t weights = c->statesampler.weights.count;
    const uint32_t paths = c->data.train.data_paths.count;
    const struct rule rules[] = {
        {c->model.trunk.hidden_dim % c->model.trunk.num_heads != 0,
         "MODEL.TRUNK.GPT.NUM_HEADS", "must divide HIDDEN_DIM"},
        {config_splits(c) > c->model.trunk.num_layers, SPLITS,
         "must not be above NUM_LAYERS"},
        {weights != 0 && weights != (paths ? paths : CONFIG_OWN),
         "STATESAMPLER.WEIGHTS", "must have an item for each file of "
         "DATA.TRAIN.DATA_PATHS, or for both of the trainer's own texts"},
        {batch > CONFIG_BATCH, "DATA.TRAIN.BATCHSIZE_PER_REPLICA",
         "times NUM_NODES and NUM_PROC_PER_NODE, must be at most 4095"},
        {processes > batch, "DATA.TRAIN.BATCHSIZE_PER_REPLICA",
         "times NUM_NODES and NUM_PROC_PER_NODE, must be at least the number "
         "of processes now"},
        /* Otherwise a folder named ~ would be created: hard to remove. */
        {strncmp(c->checkpoint.dir, "~/", 2) == 0, "CHECKPOINT.DIR",
         "~ is not expanded here: write the whole path"},
        {c->checkpoint.extend[0] != 0 && c->model.weights_init.params_file[0],
         "CHECKPOINT.EXTEND",
         "not together with MODEL.WEIGHTS_INIT.PARAMS_FILE"},
        {true, NULL, NULL}
    };

    return check(rules, source);
}

/* Refuses keys that the kind of schedule does not use. But if an argument has
   changed the kind, keys from before it are reset to their defaults instead:
   --print-config does not print them. */
static bool check_unused(struct trainer_config *config,
                         struct config_source *source)
{
    const struct config_place *name =
        &source->places[config_key_number(LR "name")];
    uint32_t i, pass;

    for (pass = 0; pass < 2; pass++)
        for (i = 0; i < config_key_count; i++) {
            const struct config_place *place = &source->places[i];
            const struct config_key *key = &config_key_table[i];

            if (place->line == 0 ||
                config_is_used(key, config->optimizer.lr.curve.name))
                continue;
            if (!name->argument || place->argument)
                return config_fail(source, *place, key->path,
                                   "not used by a schedule of this name (the "
                                   "default is multistep)");
            if (pass == 1 && !config_set_default(config, source, key))
                return false;
        }
    return true;
}

bool config_check(struct trainer_config *config, struct config_source *source,
                  int64_t processes)
{
    const bool zero = config->optimizer.name == CONFIG_ZERO;

    if (!check_optimizer(config, source) || !check_schedule(config, source) ||
        !check_sizes(config, source, processes) ||
        !check_unused(config, source))
        return false;
    if (zero || config->model.sharded_ddp_setup.use_sdp)
        config->optimizer.use_zero = true;
    if (!zero)
        config->optimizer.algorithm = config->optimizer.name;
    return true;
}
