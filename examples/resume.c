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
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define STATESAMPLER_IMPLEMENTATION
#define STATESAMPLER_HOSTED
#include "statesampler.h"

#define SAMPLES 1000u
#define BATCH 32u
#define EPOCHS 3u

/* All of a run that must outlive it, in one file. */
typedef struct checkpoint {
    unsigned char sampler[STATESAMPLER_STATE_BYTES];
    uint64_t model;
} checkpoint;

/* What the child says before it works on a batch. It then waits for a byte,
   so that it cannot be through before it is killed. */
typedef struct report {
    uint64_t epoch, step, first, count;
} report;

static void begin(statesampler *s)
{
    const statesampler_desc desc = {
        .num_samples = SAMPLES, .seed = 2024, .batch_size = BATCH};

    if (statesampler_init(s, &desc) != STATESAMPLER_OK) {
        abort();
    }
}

static uint64_t train_on(uint64_t model, const uint64_t *batch, size_t count)
{
    size_t i;

    for (i = 0; i < count; i++) {
        model = (model ^ batch[i]) * 6364136223846793005u + 1;
    }
    return model;
}

/* A checkpoint that is not there yet leaves the beginning of the run. */
static void restore(const char *path, statesampler *s, uint64_t *model)
{
    checkpoint saved;
    size_t size = 0;
    int code = statesampler_load_file(path, &saved, sizeof saved, &size);

    begin(s);
    *model = 1;
    if (code == STATESAMPLER_ENOFILE) {
        return;
    }
    if (code == STATESAMPLER_OK && size != sizeof saved) {
        code = STATESAMPLER_ECORRUPT;
    }
    if (code == STATESAMPLER_OK) {
        code = statesampler_load(s, saved.sampler, sizeof saved.sampler);
    }
    if (code != STATESAMPLER_OK) {
        fprintf(stderr, "%s: %s\n", path, statesampler_error(code));
        exit(1);
    }
    *model = saved.model;
}

/* The training process: restore, then train and save until the last epoch is
   done. Nothing in it knows that it will be killed. */
static void train(const char *path, int channel)
{
    uint64_t batch[BATCH];
    checkpoint now;
    statesampler s;
    report about;
    size_t count;
    char go;

    restore(path, &s, &now.model);
    while (statesampler_epoch(&s) < EPOCHS) {
        about.epoch = statesampler_epoch(&s);
        about.step = statesampler_step(&s);
        statesampler_next(&s, batch, &count);
        about.count = count;
        about.first = about.count > 0 ? batch[0] : 0;
        if (write(channel, &about, sizeof about) != (ssize_t)sizeof about ||
            read(channel, &go, 1) != 1) {
            _exit(1);
        }
        now.model = train_on(now.model, batch, count);
        if (statesampler_save(&s, now.sampler, sizeof now.sampler) !=
                STATESAMPLER_OK ||
            statesampler_save_file(path, &now, sizeof now) !=
                STATESAMPLER_OK) {
            _exit(1);
        }
    }
    _exit(0);
}

/* Runs a training process and kills it after `patience` reports. Returns 1 if
   it was killed, 0 if it ended by itself, -1 if something was wrong: its first
   batch must be the one that the checkpoint it found says comes next. */
static int run(const char *path, int patience)
{
    uint64_t model, batch[BATCH];
    statesampler expected;
    int ends[2], status, reports = 0, right = 1;
    report now = {0, 0, 0, 0};
    size_t count;
    pid_t child;

    restore(path, &expected, &model);
    fflush(stdout);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0 ||
        (child = fork()) < 0) {
        return -1;
    }
    if (child == 0) {
        close(ends[0]);
        train(path, ends[1]);
    }
    close(ends[1]);
    while (read(ends[0], &now, sizeof now) == (ssize_t)sizeof now) {
        if (reports == 0) {
            right = now.epoch == statesampler_epoch(&expected) &&
                    now.step == statesampler_step(&expected);
            statesampler_next(&expected, batch, &count);
            right = right && now.count == count &&
                    (now.count == 0 || now.first == batch[0]);
            printf("epoch %" PRIu64 " step %2" PRIu64 " .. ", now.epoch,
                   now.step);
        }
        if (write(ends[0], "", 1) == 1 && ++reports == patience) {
            kill(child, SIGKILL);
            break;
        }
    }
    close(ends[0]);
    if (waitpid(child, &status, 0) != child || !right || reports == 0) {
        return -1;
    }
    printf("epoch %" PRIu64 " step %2" PRIu64 "  %s\n", now.epoch, now.step,
           WIFSIGNALED(status) ? "killed" : "finished");
    if (WIFSIGNALED(status)) {
        return WTERMSIG(status) == SIGKILL ? 1 : -1;
    }
    return WEXITSTATUS(status) == 0 ? 0 : -1;
}

int main(void)
{
    const char *base = getenv("TMPDIR");
    char folder[1024], path[1100];
    uint64_t whole = 1, resumed, batch[BATCH];
    statesampler s;
    size_t count;
    int outcome, kills = 0;

    snprintf(folder, sizeof folder, "%s/resume-XXXXXX", base ? base : "/tmp");
    if (mkdtemp(folder) == NULL) {
        perror(folder);
        return 1;
    }
    snprintf(path, sizeof path, "%s/checkpoint", folder);
    while ((outcome = run(path, 9 + 4 * kills)) == 1) {
        kills++;
    }
    restore(path, &s, &resumed);
    /* What a kill in mid-save left beside it gave way to the next save. */
    if (remove(path) != 0 || rmdir(folder) != 0) {
        perror(folder);
        return 1;
    }

    begin(&s);
    while (statesampler_epoch(&s) < EPOCHS) {
        statesampler_next(&s, batch, &count);
        whole = train_on(whole, batch, count);
    }
    printf("%d times killed: model %016" PRIx64 "\nnever killed:   model %016"
           PRIx64 "\n", kills, resumed, whole);
    if (outcome != 0 || kills == 0 || resumed != whole) {
        printf("resume: FAILED\n");
        return 1;
    }
    printf("resume: after each kill the very next batch, and the same model\n");
    return 0;
}
