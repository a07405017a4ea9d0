/* main.c - trains a small language model on several processes; the final
   weights are the same, to the last bit, for any number of processes.

   mpirun starts W copies of this program; MPI tells each its number, the rank.
   All of them run the same code and hold the same weights. In a step each
   computes the gradients of its share of the batch; these are summed over all
   processes; then each does the same update. Functions that communicate must be
   called by all processes at the same point, and wait there.

       sh examples/trainer/launch.sh 4 examples/trainer/plain.yaml */
#define _POSIX_C_SOURCE 200809L /* SIGUSR1 */

#include "agree.h"
#include "checkpoint.h"
#include "log.h"
#include "memory.h"
#include "run.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Flushes standard output. Returns the exit status. */
static int end_print(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return 0;
    perror("trainer: cannot print");
    return 1;
}

static const char usage[] =
    "usage: trainer [--print-config] [FILE.yaml] [KEY=VALUE ...]\n"
    "       trainer --tensors CHECKPOINT\n"
    "       trainer --write CHECKPOINT [WORDS]\n"
    "       trainer --keys | --help\n\n"
    "Trains a small GPT on as many processes as mpirun starts; see launch.sh.\n"
    "  --print-config  print the whole configuration as YAML, and exit\n"
    "  --tensors       print the tensors of a checkpoint, DIR/step-...\n"
    "  --write         print text by its model, after these words\n"
    "  --keys          print all keys with defaults and meanings, and exit\n";

/* ---- Arguments ---- */

/* Reads the configuration from a file and PATH=VALUE arguments. Prints an error
   and returns 0 if there is one. A file must come first, or it would override
   keys. Its name may contain a = after a /, as in ./lr=0.1.yaml. */
static int read_config(struct trainer_config *c, int world, int count,
                       char **arguments)
{
    int i, good = 1;

    *c = config_defaults;
    for (i = 0; i < count && good; i++) {
        const char *argument = arguments[i];

        if (argument[0] == '-')
            good = config_fail(c, -1, argument, "unknown option; see --help");
        else if (argument[strcspn(argument, "=/")] == '=')
            good = config_override(c, argument);
        else if (i == 0)
            good = config_read(c, argument);
        else
            good = config_fail(c, -1, argument,
                               "at most one file is allowed, "
                               "before all keys");
    }
    good = good && config_check(c, world);
    if (!good)
        fprintf(stderr, "%s\n", c->error);
    return good;
}

/* Process 0 reads the configuration and sends it to all. Without mpirun an
   error needs no MPI, which takes a second to start. */
static void configure(run *r, int argc, char **argv)
{
    const int alone = !getenv("OMPI_COMM_WORLD_RANK") && !getenv("PMI_RANK") &&
                      !getenv("PMIX_RANK");

    if (alone && !read_config(&r->config, 1, argc - 1, argv + 1))
        exit(2);
    agree_begin(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &r->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &r->world);
    if (!alone && r->rank == 0)
        read_config(&r->config, r->world, argc - 1, argv + 1);
    MPI_Bcast(&r->config, sizeof r->config, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (r->config.error[0] == 0)
        return;
    MPI_Finalize();
    exit(2);
}

/* ---- The run ---- */

/* Writes a line to the log and to standard output, there with `also` at its
   end. */
static void tell(run *r, const char *also, const char *format, ...)
{
    char line[256];
    va_list list;

    va_start(list, format);
    vsnprintf(line, sizeof line, format, list);
    va_end(list);
    log_line(r, line);
    if (r->rank == 0)
        printf("%s%s\n", line, also);
    fflush(stdout);
}

/* Writes the time that is left, with its two largest units. */
static void write_left(char *out, size_t size, uint64_t seconds)
{
    const uint64_t minutes = seconds / 60, hours = minutes / 60;

    if (minutes == 0)
        snprintf(out, size, ", %" PRIu64 " s left", seconds);
    else if (hours == 0)
        snprintf(out, size, ", %" PRIu64 " min %" PRIu64 " s left", minutes,
                 seconds % 60);
    else if (hours < 24)
        snprintf(out, size, ", %" PRIu64 " h %" PRIu64 " min left", hours,
                 minutes % 60);
    else
        snprintf(out, size, ", %" PRIu64 " d %" PRIu64 " h left", hours / 24,
                 hours % 24);
}

/* started: when step `first` was done. */
static void take_step(run *r, double started, uint64_t first)
{
    const statesampler_mix *mix = &r->feed.mix;
    const uint64_t epoch = statesampler_mix_epoch(mix);
    uint64_t left;
    char also[64];

    agree(run_step(r));
    if (r->step % (uint64_t)r->config.log_frequency != 0)
        return;
    left = ((uint64_t)r->config.num_epochs - epoch) *
               statesampler_mix_num_turns(mix) -
           statesampler_mix_turn(mix);
    left = (uint64_t)((double)left * (MPI_Wtime() - started) /
                      (double)(r->step - first));
    write_left(also, sizeof also, left);
    tell(r, also, "step %" PRIu64 " epoch %" PRIu64 " loss %.6f rate %.6g%s",
         r->step, epoch, reduce_mean_loss(&r->reduce), r->rate,
         r->reduce.totals[REDUCE_OVERFLOWS] ? " skipped" : "");
}

static void end_epoch(run *r)
{
    const uint64_t epoch = statesampler_mix_epoch(&r->feed.mix) + 1;
    char words[128];
    const int exact = feed_end_epoch(&r->feed, words, sizeof words);
    double held;

    tell(r, "", "epoch %" PRIu64 " done: %s", epoch, words);
    agree(exact ? "" : words);
    if (!r->config.test_model || r->text.held == 0 ||
        epoch % (uint64_t)r->config.test_every_num_epoch != 0)
        return;
    held = run_held_out(r);
    tell(r, "", "epoch %" PRIu64 " held-out %.6f bits per byte", epoch, held);
    agree(isnan(held) ? "a held-out loss is not a number or above 2048: "
                        "lower the learning rate"
                      : "");
}

static int is_done(const run *r)
{
    return statesampler_mix_epoch(&r->feed.mix) ==
           (uint64_t)r->config.num_epochs;
}

/* Whether a checkpoint is due after a step; ended: after an epoch's last. */
static int is_due(const run *r, int ended)
{
    const uint64_t epoch = statesampler_mix_epoch(&r->feed.mix);
    const uint64_t epochs = (uint64_t)r->config.checkpoint_frequency;
    const int64_t steps = r->config.checkpoint_iter_frequency;

    return (steps > 0 && r->step % (uint64_t)steps == 0) ||
           (ended && (epoch % epochs == 0 || is_done(r)));
}

/* Ends where all epochs are done, or where a signal stops it; then it saves. */
static void train(run *r)
{
    const uint64_t first = r->step;
    const double started = MPI_Wtime();
    int ended, stopped = 0;

    if (r->rank == 0 && r->config.test_model && r->text.held == 0)
        fputs("trainer: no text has ten sequences, so nothing is held out and "
              "evaluated\n",
              stderr);
    while (!is_done(r) && !stopped) {
        take_step(r, started, first);
        stopped = r->reduce.totals[REDUCE_STOPS] != 0;
        ended = feed_at_end(&r->feed);
        if (ended)
            end_epoch(r);
        if (stopped || is_due(r, ended))
            agree(checkpoint_save(r));
    }
}

static void stop(int number)
{
    (void)number;
    run_stop = 1;
}

/* Resumes from a checkpoint, if there is one; otherwise begins a run, with what
   it takes from another. */
static void resume(run *r)
{
    const struct trainer_config *c = &r->config;
    char name[64] = "";

    agree(log_open(r));
    agree(checkpoint_load(r, name));
    if (name[0]) {
        agree(log_cut(r));
    } else if (*c->extend) {
        agree(checkpoint_extend(r, c->extend));
        agree(log_cut(r));
        tell(r, "", "a new run, which extends %s", c->extend);
    } else if (*c->params_file) {
        agree(checkpoint_take_weights(r, c->params_file));
        agree(log_cut(r));
        tell(r, "", "a new run, which has the weights of %s", c->params_file);
    } else {
        agree(log_cut(r));
    }
    if (r->rank == 0 && name[0])
        fprintf(stderr, "trainer: resuming from %s\n", name);
    if (r->rank == 0 && r->feed.again > 0)
        fprintf(stderr,
                "trainer: without the stateful sampler this epoch "
                "starts over: %" PRIu64 " sequences are seen twice\n",
                r->feed.again);
}

/* Prints the memory of each process and the digest. */
static void report(run *r)
{
    uint64_t *all =
        memory_take(MEMORY_WORK, (size_t)r->world, sizeof memory_taken);
    const uint64_t digest = run_digest(r);
    int kind, process;

    MPI_Gather(memory_taken, MEMORY_KINDS, MPI_UINT64_T, all, MEMORY_KINDS,
               MPI_UINT64_T, 0, MPI_COMM_WORLD);
    if (r->rank == 0) {
        printf("kilobytes");
        for (kind = 0; kind < MEMORY_KINDS; kind++)
            printf(" %12s", memory_names[kind]);
        for (process = 0; process < r->world; process++) {
            printf("\nprocess %d", process);
            for (kind = 0; kind < MEMORY_KINDS; kind++)
                printf(" %12.1f",
                       (double)all[process * MEMORY_KINDS + kind] / 1024);
        }
        printf("\nsteps %" PRIu64 ", skipped %" PRIu64 "\ndigest %016" PRIx64
               "\n",
               r->step, r->skipped, digest);
    }
}

/* Prints what needs no training. Returns whether it has. */
static int print_only(run *r, int argc, char **argv)
{
    const char *option = argc > 1 ? argv[1] : "";

    if (strcmp(option, "--tensors") == 0 && argc == 3) {
        look(argv[2], NULL);
    } else if (strcmp(option, "--write") == 0 && (argc == 3 || argc == 4)) {
        look(argv[2], argc == 4 ? argv[3] : "");
    } else if (strcmp(option, "--help") == 0) {
        fputs(usage, stdout);
    } else if (strcmp(option, "--keys") == 0) {
        config_keys(stdout);
    } else if (strcmp(option, "--print-config") == 0) {
        if (!read_config(&r->config, 0, argc - 2, argv + 2))
            exit(2);
        config_print(&r->config, stdout);
    } else {
        return 0;
    }
    return 1;
}

/* The exit status after the run. */
static int end_run(const run *r)
{
    if (end_print() != 0)
        return 1;
    return is_done(r) ? 0 : 128 + SIGTERM;
}

int main(int argc, char **argv)
{
    static run r;
    int status;

    if (print_only(&r, argc, argv))
        return end_print();
    configure(&r, argc, argv);
    run_init(&r);
    resume(&r);
    signal(SIGTERM, stop);
    signal(SIGUSR1, stop);
    train(&r);
    if (is_done(&r))
        report(&r);
    else if (r.rank == 0)
        printf("stopped by a signal after step %" PRIu64 ", saved\n", r.step);
    /* Before MPI_Finalize, in which a process may still die. */
    status = end_run(&r);
    MPI_Finalize();
    return status;
}
