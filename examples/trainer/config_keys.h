/* config_keys.h - every key of a configuration, once. config.h makes the struct
   of these rows, config.c the table, and --keys prints KEYS.md. The README says
   what else a new key needs.

       KEY(kind, field, path, allowed, same, meaning, default)

   kind: of the field, config_whole, ... allowed: words, then perhaps a range,
   whose parentheses exclude; of the number, of each item of a list, or of the
   bytes of a text. same: when it must be the same as in a checkpoint, as in
   enum config_same. Paths and ranges begin with macros of config.c. Keys
   from use_larc to betas may also be below base_optimizer. */

#ifndef CURVE /* config.h has a struct of them */
#define CURVE(i, part, composite) \
    KEY(whole, curve[i].name, LR part "name", \
        "constant or cosine or linear or multistep or step" composite, RATE, \
        "the kind of learning rate schedule", CONFIG_MULTISTEP) \
    KEY(real, curve[i].value, LR part "value", RATES, RATE, \
        "the rate of constant", 0.1) \
    KEY(real, curve[i].start_value, LR part "start_value", RATES, RATE, \
        "the first rate of cosine and linear", 0.1) \
    KEY(real, curve[i].end_value, LR part "end_value", RATES, RATE, \
        "the last rate of cosine and linear", 0) \
    KEY(reals, curve[i].values, LR part "values", RATES, RATE, \
        "the rates of multistep and step, in order", {3, {0.1, 0.01, 0.001}}) \
    KEY(reals, curve[i].milestones, LR part "milestones", SMALL_COUNT, RATE, \
        "epochs at which multistep changes the rate", {2, {30, 60}})
#endif

KEY(whole, seed_value, "SEED_VALUE", WHOLE "[0, 4294967295]", RUN,
    "seed of the sampler's order and of the initial weights", 0)
KEY(whole, log_frequency, "LOG_FREQUENCY", WHOLE "[1, 1000000000]", RUN,
    "steps between lines of the log", 10)
KEY(whole, test_model, "TEST_MODEL", BOOL, RUN, "evaluate held-out text", true)
KEY(whole, test_every_num_epoch, "TEST_EVERY_NUM_EPOCH", SMALL_COUNT, RUN,
    "epochs between evaluations", 1)

KEY(real, ddp_bucket_cap_mb, "DATA.DDP_BUCKET_CAP_MB", NUMBER "(0, 1024]", FREE,
    "MiB of gradients to reduce at a time, during the backward pass", 25)
KEY(whole, use_stateful_distributed_sampler,
    TRAIN "USE_STATEFUL_DISTRIBUTED_SAMPLER", BOOL, RUN,
    "True: resume at the next batch; False: padding and sharing as in torch, "
    "and a resume in mid-epoch restarts the epoch",
    false)
KEY(whole, use_debugging_sampler, TRAIN "USE_DEBUGGING_SAMPLER", BOOL, RUN,
    "no shuffle; takes precedence over the stateful sampler", false)
KEY(whole, drop_last, TRAIN "DROP_LAST", BOOL, RUN,
    "drop the last batch if it is not full; without the stateful sampler "
    "padding may fill it, and it then repeats sequences",
    false)
KEY(whole, batchsize_per_replica, TRAIN "BATCHSIZE_PER_REPLICA",
    WHOLE "[1, 1048576]", RUN, "sequences per process and step", 256)
KEY(whole, data_limit, TRAIN "DATA_LIMIT", "-1 or " COUNT, RUN,
    "sequences to use of each file; -1: all", -1)
KEY(texts, data_paths, TRAIN "DATA_PATHS", TEXT "[1, 511]", FREE,
    "text files, a dataset each", {2, {"statesampler.h", "README.md"}})
KEY(whole, test_use_stateful_distributed_sampler,
    TEST "USE_STATEFUL_DISTRIBUTED_SAMPLER", BOOL, FREE,
    "no effect: held-out text is always served exactly once", false)
KEY(whole, test_data_limit, TEST "DATA_LIMIT", "-1 or " COUNT, RUN,
    "held-out sequences to use of each file; -1: all", -1)
KEY(texts, test_data_paths, TEST "DATA_PATHS", TEXT "[1, 511]", FREE,
    "text files to evaluate; []: a tenth of the training sequences", {0})

KEY(whole, use_amp, AMP "USE_AMP", BOOL, RUN, "mixed precision", false)
KEY(whole, amp_type, AMP "AMP_TYPE", "apex", RUN,
    "the rules for mixed precision", 0)
KEY(whole, opt_level, AMP "AMP_ARGS.opt_level", "O0 or O1", RUN,
    "O0: float; O1: half for matrix products, float for the rest", CONFIG_O1)
KEY(real, loss_scale, AMP "AMP_ARGS.loss_scale",
    "dynamic or " NUMBER "(0, 16777216]", RUN,
    "factor of the loss, so that "
    "small gradients do not vanish; a number: fixed",
    0)
KEY(whole, use_activation_checkpointing,
    RECOMPUTE "USE_ACTIVATION_CHECKPOINTING", BOOL, FREE,
    "recompute activations instead of keeping them", false)
KEY(whole, num_activation_checkpointing_splits,
    RECOMPUTE "NUM_ACTIVATION_CHECKPOINTING_SPLITS", WHOLE "[2, 256]", FREE,
    "segments of blocks, at most NUM_LAYERS; the last is not recomputed", 2)
KEY(whole, use_sdp, "MODEL.SHARDED_DDP_SETUP.USE_SDP", BOOL, FREE,
    "ZeRO-2: shard the gradients as well as the optimizer state", false)
KEY(whole, reduce_buffer_size, "MODEL.SHARDED_DDP_SETUP.reduce_buffer_size",
    WHOLE "[-1, 1099511627776]", FREE,
    "with USE_SDP: -1: a process adds up "
    "its sequences and sends them once per step; else it keeps no sums of "
    "others' tensors and sends each sequence's, so many elements at a time; "
    "0: one tensor",
    -1)
KEY(whole, use_grad_clip, "MODEL.GRAD_CLIP.USE_GRAD_CLIP", BOOL, RUN,
    "scale gradients down to MAX_NORM", false)
KEY(real, norm_type, "MODEL.GRAD_CLIP.NORM_TYPE", "inf or " NUMBER "[1, 1024]",
    RUN, "power of the norm; inf: the largest element", 2)
KEY(real, max_norm, "MODEL.GRAD_CLIP.MAX_NORM", NUMBER "(0, 1000000000]", RUN,
    "maximum norm of all gradients together", 1)
KEY(text, params_file, "MODEL.WEIGHTS_INIT.PARAMS_FILE", TEXT "[0, 511]", FREE,
    "a checkpoint, DIR/step-...: a new run begins with its weights", "")
KEY(whole, trunk, "MODEL.TRUNK.NAME", "gpt", SHAPE,
    "the model: a GPT-2 on bytes", 0)
/* MPI counts a tensor's elements in an int. The largest are HIDDEN_DIM by 3
   HIDDEN_DIM, MLP_DIM or CONTEXT. */
KEY(whole, num_layers, GPT "NUM_LAYERS", WHOLE "[1, 256]", SHAPE, "blocks", 8)
KEY(whole, num_heads, GPT "NUM_HEADS", WHOLE "[1, 256]", SHAPE,
    "heads; must divide HIDDEN_DIM", 4)
KEY(whole, hidden_dim, GPT "HIDDEN_DIM", WHOLE "[1, 16384]", SHAPE,
    "size of a token's vector", 128)
KEY(whole, mlp_dim, GPT "MLP_DIM", WHOLE "[1, 65536]", SHAPE,
    "width of a block's hidden layer", 512)
KEY(whole, context, GPT "CONTEXT", WHOLE "[1, 65536]", SHAPE,
    "tokens per sequence", 128)

KEY(whole, optimizer, "OPTIMIZER.name", "sgd or adamw or zero", RUN,
    "zero: base_optimizer, with its state sharded", CONFIG_SGD)
KEY(whole, use_zero, "OPTIMIZER.use_zero", BOOL, FREE,
    "ZeRO-1: shard the optimizer state over the processes", false)
KEY(whole, num_epochs, "OPTIMIZER.num_epochs", SMALL_COUNT, RATE,
    "epochs of the run", 90)
KEY(whole, regularize_bn, "OPTIMIZER.regularize_bn", BOOL, RUN,
    "False: no weight decay for normalization layers", false)
KEY(whole, regularize_bias, "OPTIMIZER.regularize_bias", BOOL, RUN,
    "False: no weight decay for biases", true)
KEY(texts, non_regularized_parameters, "OPTIMIZER.non_regularized_parameters",
    TEXT "[1, 511]", RUN,
    "no weight decay for tensors with these in their names", {0})
KEY(whole, construct_single_param_group_only,
    "OPTIMIZER.construct_single_param_group_only", BOOL, RUN,
    "weight decay for all tensors, overriding the three keys above", false)
/* After config_check this and OPTIMIZER.name are both the optimizer. */
KEY(whole, algorithm, "OPTIMIZER.base_optimizer.name", "sgd or adamw", FREE,
    "with OPTIMIZER.name zero: the optimizer to shard", CONFIG_SGD)
KEY(whole, use_larc, "OPTIMIZER.use_larc", BOOL, RUN,
    "LARC: a rate per tensor, by norms; sgd only", false)
KEY(whole, larc_clip, "OPTIMIZER.larc_config.clip", BOOL, RUN,
    "LARC does not exceed the schedule's rate", false)
KEY(real, larc_eps, "OPTIMIZER.larc_config.eps", NUMBER "[0, 1]", RUN,
    "added to LARC's denominator", 1e-8)
KEY(real, larc_trust_coefficient, "OPTIMIZER.larc_config.trust_coefficient",
    NUMBER "(0, 1000000]", RUN, "factor of LARC's rate", 0.001)
KEY(real, weight_decay, "OPTIMIZER.weight_decay", RATES, RUN, "weight decay",
    0.0001)
KEY(real, momentum, "OPTIMIZER.momentum", NUMBER "[0, 1)", RUN,
    "momentum of sgd", 0.9)
KEY(whole, nesterov, "OPTIMIZER.nesterov", BOOL, RUN,
    "Nesterov momentum for sgd", false)
KEY(reals, betas, "OPTIMIZER.betas", NUMBER "[0, 1)", RUN,
    "decay rates of adamw's two moments", {2, {0.9, 0.999}})

KEY(whole, auto_scale, SCALING "auto_scale", BOOL, RATE,
    "scale the rate with the global batch", false)
KEY(real, base_value, SCALING "base_value", NUMBER "(0, 1000000]", RATE,
    "the rate at base_lr_batch_size", 0.1)
KEY(whole, base_lr_batch_size, SCALING "base_lr_batch_size", COUNT, RATE,
    "the global batch that base_value is for", 256)
KEY(whole, scaling_type, SCALING "scaling_type", "linear or sqrt", RATE,
    "scale with the batch, or with its square root", CONFIG_LINEAR_SCALING)
KEY(whole, update_interval, LR "update_interval", "epoch or step", RATE,
    "how often the rate changes", CONFIG_EPOCH)
CURVE(0, "", " or composite")
CURVE(1, "schedulers[0].", "")
CURVE(2, "schedulers[1].", "")
CURVE(3, "schedulers[2].", "")
CURVE(4, "schedulers[3].", "")
CURVE(5, "schedulers[4].", "")
CURVE(6, "schedulers[5].", "")
CURVE(7, "schedulers[6].", "")
CURVE(8, "schedulers[7].", "")
KEY(reals, lengths, LR "lengths", NUMBER "(0, 1]", RATE,
    "composite: each schedule's share of the run, which it fills", {0})

KEY(text, dir, "CHECKPOINT.DIR", TEXT "[1, 511]", FREE,
    "folder for the checkpoints and the log", ".")
KEY(whole, auto_resume, "CHECKPOINT.AUTO_RESUME", BOOL, FREE,
    "True: resume from a checkpoint in DIR; False: DIR must have none", true)
KEY(whole, checkpoint_frequency, "CHECKPOINT.CHECKPOINT_FREQUENCY", SMALL_COUNT,
    FREE, "epochs between checkpoints", 1)
KEY(whole, checkpoint_iter_frequency, "CHECKPOINT.CHECKPOINT_ITER_FREQUENCY",
    "-1 or " COUNT, FREE, "steps between checkpoints; -1: only after epochs",
    -1)
KEY(whole, keep, "CHECKPOINT.KEEP", "-1 or " SMALL_COUNT, FREE,
    "the newest checkpoints to keep; -1: all", 3)
KEY(text, extend, "CHECKPOINT.EXTEND", TEXT "[0, 511]", FREE,
    "a checkpoint: a new run in another DIR goes on from it, with other rates "
    "or epochs",
    "")
KEY(whole, num_nodes, "DISTRIBUTED.NUM_NODES", WHOLE "[1, 4096]", RUN,
    "machines of the run", 1)
KEY(whole, num_proc_per_node, "DISTRIBUTED.NUM_PROC_PER_NODE",
    WHOLE "[1, 4096]", RUN,
    "processes per machine; the two define the global "
    "batch, but the trainer may be started on any number of processes",
    8)
KEY(whole, manual_gradient_reduction, "DISTRIBUTED.MANUAL_GRADIENT_REDUCTION",
    BOOL, FREE, "reduce gradients after the backward pass, not during it",
    false)
/* The sampler adds up 32 weights in 32 bits. */
KEY(reals, weights, "STATESAMPLER.WEIGHTS", WHOLE "[1, 67108863]", RUN,
    "weight of each file of DATA.TRAIN; []: 1 each", {0})
KEY(whole, stop, "STATESAMPLER.STOP", "first or all or restart", RUN,
    "when an epoch of several files ends", CONFIG_ALL)

#undef KEY
#undef CURVE
