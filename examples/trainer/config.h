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
   config_table.c has the table of all keys with defaults and ranges; --keys
   prints it. Keys that the trainer does not implement are unknown keys. */
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
    CONFIG_KEYS = 96          /* at least the number of keys of the table */
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
struct config_strings {
    uint32_t count;
    char items[CONFIG_FILES][CONFIG_STRING];
};
struct config_weights { uint32_t count; int64_t items[CONFIG_FILES]; };

/* A schedule that is not composite: the rate as a function of the part of the
   run that is done. schedule.c has the formulas. */
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

struct trainer_config {
    int64_t seed_value;             /* of the sampler and the weights, < 2^32 */
    int64_t log_frequency;          /* steps between lines of the log, >= 1 */
    bool test_model;                /* evaluate the held-out text */
    int64_t test_every_num_epoch;   /* epochs, >= 1 */

    struct {
        double ddp_bucket_cap_mb;   /* of overlapped reduction, MiB, > 0 */
        struct {
            bool use_stateful_distributed_sampler;
            bool use_debugging_sampler; /* no shuffle; overrides stateful */
            bool drop_last;
            int64_t batchsize_per_replica; /* sequences, 1 .. 2^20 */
            int64_t data_limit;     /* per file; -1: all, else 1 .. 2^40 */
            struct config_strings data_paths; /* none: the default texts */
        } train;
        struct {
            bool use_stateful_distributed_sampler;
            int64_t data_limit;
            struct config_strings data_paths; /* none: held-out sequences */
        } test;
    } data;

    struct {
        struct {
            bool use_amp;
            int64_t opt_level;      /* enum config_amp; use config_opt_level */
            double loss_scale;      /* 0: dynamic; else fixed, > 0 */
            int64_t amp_type;       /* 0: apex, the only one */
        } amp_params;
        struct {
            bool use_activation_checkpointing;
            int64_t num_activation_checkpointing_splits; /* 2 .. num_layers */
        } activation_checkpointing;
        struct {
            bool use_sdp;           /* ZeRO-2: shard the gradients too */
            int64_t reduce_buffer_size; /* elements to reduce at a time;
                                       -1: ddp_bucket_cap_mb */
        } sharded_ddp_setup;
        struct {
            bool use_grad_clip;
            double norm_type;       /* >= 1; INFINITY: the largest element */
            double max_norm;        /* > 0 */
        } grad_clip;
        struct {
            int64_t name;           /* 0: gpt, the only one */
            int64_t num_layers;     /* blocks, 1 .. 256 */
            int64_t num_heads;      /* 1 .. 256, divides hidden_dim */
            int64_t hidden_dim;     /* 1 .. 65536 */
            int64_t mlp_dim;        /* 1 .. 262144 */
            int64_t context;        /* tokens of a sequence, 1 .. 65536 */
        } trunk;
    } model;

    struct {
        int64_t name;               /* as given: sgd, adamw or zero */
        int64_t algorithm;          /* CONFIG_SGD or CONFIG_ADAMW; valid after
                                       config_check */
        bool use_zero;              /* shard the state; after config_check */
        bool use_larc;              /* sgd only */
        struct {
            bool clip;
            double eps;               /* >= 0 */
            double trust_coefficient; /* > 0 */
        } larc_config;
        double weight_decay;        /* >= 0 */
        double momentum;            /* 0 .. below 1 */
        bool nesterov;              /* with momentum only */
        struct config_numbers betas; /* AdamW: two of 0 .. below 1 */
        int64_t num_epochs;         /* 1 .. 1000000 */
        bool regularize_bn;         /* weight decay for norm layers */
        bool regularize_bias;       /* weight decay for biases */
        struct config_strings non_regularized_parameters; /* parts of the
                                       names of tensors without decay */
        bool construct_single_param_group_only; /* decay for all tensors */
        struct {
            struct {
                bool auto_scale;
                double base_value;          /* a rate, > 0 */
                int64_t base_lr_batch_size; /* sequences, >= 1 */
                int64_t scaling_type;       /* enum config_scaling */
            } auto_lr_scaling;
            int64_t update_interval;        /* enum config_interval */
            struct config_curve curve;
            /* For a composite schedule: as many items in each list. */
            struct config_curves schedulers;
            struct config_numbers lengths;  /* shares of the run; sum 1 */
            struct config_integers interval_scaling; /* enum config_parts */
        } lr;
    } optimizer;

    struct {
        char dir[CONFIG_STRING];
        bool auto_resume;
        int64_t checkpoint_frequency;       /* epochs, >= 1 */
        int64_t checkpoint_iter_frequency;  /* steps, >= 1; -1: none */
        int64_t latest_checkpoint_resume_file_num; /* 1: the newest, ... */
    } checkpoint;

    struct {
        int64_t num_nodes, num_proc_per_node; /* 1 .. 4096 each */
        bool manual_gradient_reduction;
    } distributed;

    struct {
        struct config_weights weights; /* of the files, >= 1; none: all 1 */
        int64_t stop;                  /* enum config_stop */
    } statesampler;
};

/* Where each key was given, for errors, and the last error:
   FILE:LINE:COLUMN: PATH: MESSAGE. Private to config*.c except for error. */
struct config_source {
    char file[CONFIG_STRING];
    struct config_place {
        int32_t line;               /* 0: not given, the default is used */
        int32_t column;
        int32_t argument;           /* given by an argument */
        int32_t nested;             /* below OPTIMIZER.base_optimizer */
    } places[CONFIG_KEYS];
    char error[CONFIG_ERROR];
};

/* Sets all defaults. Fails only without memory. */
bool config_defaults(struct trainer_config *config,
                     struct config_source *source);

/* These return whether they succeeded; if not, source->error is set and config
   unchanged. Call config_check after the last override, as it also sets fields
   that depend on others. processes: their current number, or 0 if it is not
   known. */
bool config_read(struct trainer_config *config, struct config_source *source,
                 const char *file);
bool config_read_text(struct trainer_config *config,
                      struct config_source *source, const char *name,
                      const char *text, size_t size);
bool config_override(struct trainer_config *config,
                     struct config_source *source, const char *argument);
bool config_check(struct trainer_config *config, struct config_source *source,
                  int64_t processes);

/* Prints YAML that config_read reads back to the same: all keys except those
   that the kind of schedule does not use. */
void config_print(const struct trainer_config *config, FILE *to);

/* The path of key i of the table, or NULL after the last. */
const char *config_key_path(uint32_t i);

/* Prints the value of one key as YAML. */
void config_print_key(const struct trainer_config *config, const char *path,
                      FILE *to);

/* Prints KEYS.md: every key with default, range and meaning. */
void config_keys(FILE *to);

/* Values derived from several keys; call them after config_check. */
int64_t config_world_size(const struct trainer_config *config);
int64_t config_global_batch(const struct trainer_config *config);
int config_zero_stage(const struct trainer_config *config);  /* 0, 1 or 2 */
int config_opt_level(const struct trainer_config *config);   /* O0 if no AMP */
int64_t config_splits(const struct trainer_config *config);  /* 1: not split */

#endif
