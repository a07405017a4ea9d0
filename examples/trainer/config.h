/* config.h - the configuration of a run: one plain struct, filled from a YAML
   file and from arguments of the form OPTIMIZER.use_larc=True.

       struct trainer_config config;
       struct config_source source;
       if (!config_defaults(&config, &source) ||
           !config_read(&config, &source, "larc.yaml") ||
           !config_override(&config, &source, "SEED_VALUE=7") ||
           !config_check(&config, &source, processes)) {
           fprintf(stderr, "%s\n", source.error);   (and exit with 2)
       }

   The names are those of VISSL's configuration, in lower case. The struct has
   no pointers, so that process 0 can send its bytes to the others.
   config_keys.c has the table of all keys with defaults, ranges and meanings;
   --keys prints it. Keys that the trainer does not implement are unknown. */
#ifndef TRAINER_CONFIG_H
#define TRAINER_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
    CONFIG_LIST = 16,         /* items of a list of numbers, at most */
    CONFIG_FILES = 32,        /* items of a list of strings, at most */
    CONFIG_OWN = 2,           /* default texts, without DATA.TRAIN's */
    CONFIG_STRING = 512,      /* bytes of a string, including the 0 */
    CONFIG_BATCH = 4095,      /* sequences of a step, at most: see reduce.h */
    CONFIG_SCHEDULES = 8,     /* parts of a composite schedule, at most */
    CONFIG_ERROR = 1536,      /* bytes of an error, including the 0 */
    CONFIG_KEYS = 96,         /* at least the number of keys of the table */
    CONFIG_PATH = 256         /* bytes of a path; longer ones are unknown */
};

/* The values of keys that take a word, in the order of the table's words. */
enum config_amp { CONFIG_O0, CONFIG_O1 };
enum config_optimizer { CONFIG_SGD, CONFIG_ADAMW, CONFIG_ZERO };
enum config_stop { CONFIG_FIRST, CONFIG_ALL, CONFIG_RESTART };
enum config_interval { CONFIG_EPOCH, CONFIG_STEP };
enum config_scaling { CONFIG_LINEAR_SCALING, CONFIG_SQRT_SCALING };
enum config_parts { CONFIG_RESCALED, CONFIG_FIXED };
enum config_schedule {
    CONFIG_CONSTANT, CONFIG_COSINE, CONFIG_LINEAR, CONFIG_MULTISTEP,
    CONFIG_STEPS, CONFIG_COMPOSITE
};

struct config_numbers { uint32_t count; double items[CONFIG_LIST]; };
struct config_integers { uint32_t count; int64_t items[CONFIG_LIST]; };
struct config_weights { uint32_t count; int64_t items[CONFIG_FILES]; };
struct config_strings {
    uint32_t count;
    char items[CONFIG_FILES][CONFIG_STRING];
};

/* A schedule that is not composite: the rate as a function of the part of the
   run that is done. */
struct config_curve {
    int64_t name;                   /* enum config_schedule */
    double value;                   /* constant; >= 0, as all rates are */
    double start_value, end_value;  /* cosine, linear */
    struct config_numbers values;   /* multistep, step */
    struct config_integers milestones; /* multistep: increasing epochs */
};
struct config_curves {
    uint32_t count;
    struct config_curve items[CONFIG_SCHEDULES];
};

/* The meaning and range of each is in the table of config_keys.c. */
struct trainer_config {
    int64_t seed_value, log_frequency;
    bool test_model;
    int64_t test_every_num_epoch;
    struct {
        double ddp_bucket_cap_mb;
        struct {
            bool use_stateful_distributed_sampler, use_debugging_sampler;
            bool drop_last;
            int64_t batchsize_per_replica, data_limit;
            struct config_strings data_paths;
        } train;
        struct {
            bool use_stateful_distributed_sampler;
            int64_t data_limit;
            struct config_strings data_paths;
        } test;
    } data;
    struct {
        struct {
            bool use_amp;
            int64_t amp_type, opt_level;
            double loss_scale; /* 0: dynamic */
        } amp_params;
        struct {
            bool use_activation_checkpointing;
            int64_t num_activation_checkpointing_splits;
        } activation_checkpointing;
        struct {
            bool use_sdp;
            int64_t reduce_buffer_size;
        } sharded_ddp_setup;
        struct {
            bool use_grad_clip;
            double norm_type; /* INFINITY: the largest element */
            double max_norm;
        } grad_clip;
        struct {
            int64_t name, num_layers, num_heads, hidden_dim, mlp_dim, context;
        } trunk;
        struct { char params_file[CONFIG_STRING]; } weights_init;
    } model;
    struct {
        int64_t name;
        int64_t algorithm; /* CONFIG_SGD or CONFIG_ADAMW; after config_check */
        bool use_zero;
        /* These may also be below base_optimizer: see config_is_nested. */
        bool use_larc;
        struct { bool clip; double eps, trust_coefficient; } larc_config;
        double weight_decay, momentum;
        bool nesterov;
        struct config_numbers betas;
        int64_t num_epochs;
        bool regularize_bn, regularize_bias, construct_single_param_group_only;
        struct config_strings non_regularized_parameters;
        struct {
            struct {
                bool auto_scale;
                double base_value;
                int64_t base_lr_batch_size, scaling_type;
            } auto_lr_scaling;
            int64_t update_interval;
            struct config_curve curve;
            struct config_curves schedulers; /* after curve: see config.c */
            struct config_numbers lengths;
            struct config_integers interval_scaling;
        } lr;
    } optimizer;
    struct {
        char dir[CONFIG_STRING], extend[CONFIG_STRING];
        bool auto_resume;
        int64_t checkpoint_frequency, checkpoint_iter_frequency;
        int64_t latest_checkpoint_resume_file_num, keep;
    } checkpoint;
    struct {
        int64_t num_nodes, num_proc_per_node;
        bool manual_gradient_reduction;
    } distributed;
    struct {
        struct config_weights weights;
        int64_t stop;
    } statesampler;
};

/* Where each key was given, for errors, and the last error:
   FILE:LINE: KEY: SENTENCE. Private to config*.c except for error. */
struct config_source {
    char file[CONFIG_STRING];
    int32_t texts;          /* files and arguments that were read */
    struct config_place {
        int32_t line;       /* 0: not given, the default is used */
        int32_t text;       /* the last text that gave it: 1, 2, ... */
        bool argument;      /* that text is an argument */
        bool nested;        /* below OPTIMIZER.base_optimizer */
    } places[CONFIG_KEYS];
    char error[CONFIG_ERROR];
};

/* Sets all defaults. Fails only without memory. */
bool config_defaults(struct trainer_config *config,
                     struct config_source *source);

/* These return whether they succeeded; if not, source->error is set and nothing
   else has changed. Call config_check after the last override, as it also sets
   fields that depend on others. processes: their current number, or 0 if it is
   not known. */
bool config_read(struct trainer_config *config, struct config_source *source,
                 const char *file);
bool config_read_text(struct trainer_config *config,
                      struct config_source *source, const char *name,
                      const char *text, size_t size);
bool config_override(struct trainer_config *config,
                     struct config_source *source, const char *argument);
bool config_check(struct trainer_config *config, struct config_source *source,
                  int64_t processes);

/* Prints YAML that config_read reads back to the same, a line for each key but
   those that the kind of schedule does not use; or the value of one key; or
   KEYS.md, every key with default, range and meaning. */
void config_print(const struct trainer_config *config, FILE *to);
void config_print_key(const struct trainer_config *config, const char *path,
                      FILE *to);
void config_keys(FILE *to);

/* The path of key i of the table, or NULL after the last. */
const char *config_key_path(uint32_t i);

/* Values derived from several keys; call them after config_check. */
int64_t config_world_size(const struct trainer_config *config);
int64_t config_global_batch(const struct trainer_config *config);
int config_zero_stage(const struct trainer_config *config);  /* 0, 1 or 2 */
int config_opt_level(const struct trainer_config *config);   /* O0 if no AMP */
int64_t config_splits(const struct trainer_config *config);  /* 1: not split */

/* The learning rate after a part of the run, from 0 to 1; and that of a step.
   With update_interval `epoch` it changes only between epochs. */
double schedule_at(const struct trainer_config *config, double where);
double schedule_of_step(const struct trainer_config *config, uint64_t step,
                        uint64_t steps_per_epoch);

/* ---- The table, for config*.c and their tests ---- */

enum config_type {
    TYPE_BOOL,          /* bool */
    TYPE_INTEGER,       /* int64_t, from low to high */
    TYPE_REAL,          /* double, from low to high, or the word of `words` */
    TYPE_WORD,          /* int64_t, the index of one of `words` */
    TYPE_TEXT,          /* char[CONFIG_STRING], not empty */
    TYPE_CURVES         /* the parts of a composite schedule */
};

enum {
    KEY_ABOVE_LOW = 1,  /* low itself is not allowed */
    KEY_BELOW_HIGH = 2, /* high itself is not allowed */
    KEY_MINUS_ONE = 4,  /* -1 is also allowed */
    KEY_EMPTY = 8,      /* empty text is also allowed */
    KEY_USED_BY = 16    /* << form: only such schedules use it */
};

struct config_key {
    const char *path;
    enum config_type type;
    size_t offset;      /* of the field in struct trainer_config */
    double low, high;
    uint32_t least, most;   /* items of a list; most is 0 if it is not one */
    const char *words;      /* such as sgd|adamw|zero */
    int flags;
    const char *standard;   /* the default, as YAML */
    const char *meaning;
};

extern const struct config_key config_key_table[];
extern const uint32_t config_key_count;

/* The index of the row with this path, or config_key_count. */
uint32_t config_key_number(const char *path);

/* Whether a schedule of this kind uses a key; whether a part of a composite one
   may have it; whether base_optimizer may. */
bool config_is_used(const struct config_key *key, int64_t form);
bool config_is_of_curve(const struct config_key *key);
bool config_is_nested(const struct config_key *key);

/* The allowed values, such as `a number in (0, 1]`. */
void config_describe(const struct config_key *key, char *out, size_t size);

/* Stores a scalar in a field, or in an item of a list. Returns whether it is
   allowed for the key; otherwise the field is undefined. plain: not quoted. */
bool config_take_scalar(const struct config_key *key, const char *text,
                        bool plain, char *out);

/* The offset of an item in a list; the number that a word of a TYPE_REAL means;
   a field set to its default. */
size_t config_item_at(const struct config_key *key, uint32_t item);
double config_word_value(const char *word);
bool config_set_default(struct trainer_config *config,
                        struct config_source *source,
                        const struct config_key *key);

/* Sets the error. Returns false. */
bool config_fail(struct config_source *source, struct config_place at,
                 const char *path, const char *format, ...);

#endif
