/* resume.c - a training run that is killed with SIGKILL again and again, and
   loses nothing.

       make examples && build/resume

   The training process is a child of this program. It puts the sampler's
   state and its model into one checkpoint after every step, so that both are
   always of the same moment: a step that was under way when the process died
   is in neither, and is simply done again. The model here is a number that
   depends on every index and on their order, so a batch lost, doubled or
   swapped would change it. */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define STATESAMPLER_IMPLEMENTATION
#define STATESAMPLER_HOSTED
#include "statesampler.h"
#include "example.h"

#define SAMPLES 1000u
#define BATCH 32u
#define EPOCHS 3u

static const char usage[] =
    "usage: resume\n\n"
    "Trains in a process that it kills again and again, and compares the\n"
    "model with that of a run never killed. Writes to TMPDIR or /tmp.\n";

/* All of a run that must outlive it, in one file. */
typedef struct checkpoint {
    unsigned char sampler[STATESAMPLER_STATE_BYTES];
    uint64_t model;
} checkpoint;

static void train(uint64_t *model, const uint64_t *batch, size_t count);

/* Goes on where the checkpoint is, or begins; trains to the last epoch, and
   saves after each step. Nothing in it knows that it will be killed. */
static int run(const char *path)
{
    const statesampler_desc desc = {
        .num_samples = SAMPLES, .seed = 2024, .batch_size = BATCH};
    checkpoint now = {{0}, 1};
    uint64_t batch[BATCH];
    statesampler s;
    size_t count, size = 0;
    int code = statesampler_init(&s, &desc);

    if (code == STATESAMPLER_OK)
        code = statesampler_load_file(path, &now, sizeof now, &size);
    if (code == STATESAMPLER_ENOFILE)
        code = STATESAMPLER_OK;
    else if (code == STATESAMPLER_OK && size == sizeof now)
        code = statesampler_load(&s, now.sampler, sizeof now.sampler);
    else if (code == STATESAMPLER_OK)
        code = STATESAMPLER_ECORRUPT;

    while (code == STATESAMPLER_OK && statesampler_epoch(&s) < EPOCHS) {
        if (statesampler_next(&s, batch, &count))
            train(&now.model, batch, count);
        code = statesampler_save(&s, now.sampler, sizeof now.sampler);
        if (code == STATESAMPLER_OK)
            code = statesampler_save_file(path, &now, sizeof now);
    }
    return code;
}

/* --- The rest of the program kills it ------------------------------------ */

/* To the parent, in the child. */
static int channel = -1;

/* Says which batch it is about to work on, and waits for a byte, so that the
   child cannot be through before it is killed. */
static void train(uint64_t *model, const uint64_t *batch, size_t count)
{
    size_t i;
    char go;

    if (channel >= 0 && (write(channel, batch, count * sizeof *batch) !=
                             (ssize_t)(count * sizeof *batch) ||
                         read(channel, &go, 1) != 1)) {
        _exit(1);
    }
    for (i = 0; i < count; i++) {
        *model = (*model ^ batch[i]) * 6364136223846793005u + 1;
    }
}

/* The sampler where the checkpoint stands, and the model there. */
static void restore(const char *path, statesampler *s, uint64_t *model)
{
    const statesampler_desc desc = {
        .num_samples = SAMPLES, .seed = 2024, .batch_size = BATCH};
    checkpoint saved = {{0}, 1};
    size_t size = 0;
    int code = statesampler_load_file(path, &saved, sizeof saved, &size);

    example_must(statesampler_init(s, &desc));
    *model = saved.model;
    if (code != STATESAMPLER_ENOFILE) {
        example_must(code);
        example_must(
            statesampler_load(s, saved.sampler, sizeof saved.sampler));
    }
}

/* Starts the run in a process of its own, and returns its id; *end is the end
   of a channel to it. */
static pid_t start(const char *path, int *end)
{
    int ends[2];
    pid_t child = -1;

    fflush(stdout);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0) {
        child = fork();
    }
    if (child < 0) {
        example_fail(1, "cannot start a process: %s", strerror(errno));
    }
    if (child == 0) {
        close(ends[0]);
        channel = ends[1];
        _exit(run(path) == STATESAMPLER_OK ? 0 : 1);
    }
    close(ends[1]);
    *end = ends[0];
    return child;
}

/* Runs a training process and kills it in its step of this number. Returns 1
   if it was killed, 0 if it came to its end. Each of its batches must be the
   one that the checkpoint it found says comes next. */
static int run_until(const char *path, int last)
{
    uint64_t model, batch[BATCH], wanted[BATCH];
    statesampler expected;
    int end, status = 0, taken = 0;
    size_t count = 0;
    ssize_t got;
    pid_t child;

    restore(path, &expected, &model);
    child = start(path, &end);
    while ((got = read(end, batch, sizeof batch)) > 0) {
        while (!statesampler_next(&expected, wanted, &count)) {
            continue; /* at most once: no epoch is empty */
        }
        if ((size_t)got != count * sizeof *wanted ||
            memcmp(batch, wanted, (size_t)got) != 0) {
            example_fail(1, "FAILED, a batch is not the next one");
        }
        if (taken++ == 0) {
            printf("epoch %" PRIu64 " step %2" PRIu64 " .. ",
                   statesampler_epoch(&expected),
                   statesampler_step(&expected) - 1);
        }
        if (taken == last) {
            kill(child, SIGKILL);
        } else if (write(end, "", 1) != 1) {
            break;
        }
    }
    close(end);
    waitpid(child, &status, 0);
    if (!WIFSIGNALED(status) && status != 0) {
        example_fail(1, "the training process failed");
    }
    printf("epoch %" PRIu64 " step %2" PRIu64 "  %s\n",
           statesampler_epoch(&expected), statesampler_step(&expected) - 1,
           WIFSIGNALED(status) ? "killed" : "finished");
    return WIFSIGNALED(status);
}

int main(int argc, char **argv)
{
    const char *base = getenv("TMPDIR");
    char folder[1024], path[1100];
    uint64_t whole = 1, resumed, batch[BATCH];
    statesampler s;
    size_t count;
    int kills = 0;

    example_begin(argc, argv, 0, usage);
    snprintf(folder, sizeof folder, "%s/resume-XXXXXX", base ? base : "/tmp");
    if (mkdtemp(folder) == NULL) {
        example_fail(1, "cannot make the folder %s: %s", folder,
                     strerror(errno));
    }
    snprintf(path, sizeof path, "%s/checkpoint", folder);
    restore(path, &s, &whole); /* the beginning */
    while (run_until(path, 9 + 4 * kills)) {
        kills++;
    }
    while (statesampler_epoch(&s) < EPOCHS) {
        if (statesampler_next(&s, batch, &count)) {
            train(&whole, batch, count);
        }
    }
    restore(path, &s, &resumed);
    /* What a kill in mid-save left beside it gave way to the next save. */
    if (remove(path) != 0 || rmdir(folder) != 0) {
        example_fail(1, "cannot remove the folder %s: %s", folder,
                     strerror(errno));
    }
    printf("%d times killed: model %016" PRIx64 "\nnever killed:   model %016"
           PRIx64 "\n\n", kills, resumed, whole);
    return example_end(kills > 0 && resumed == whole,
                       "killed %d times, it went on at the very next batch, "
                       "and has the model of a run never killed", kills);
}
