/* resume.c - a training run that is killed again and again, and loses nothing.

       make examples && build/resume

   This program starts itself as the training process. It puts the sampler's
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
#include <time.h>
#ifndef _WIN32
#include <sys/wait.h>
#include <unistd.h>
#endif

#define STATESAMPLER_IMPLEMENTATION
#define STATESAMPLER_HOSTED
#include "statesampler.h"
#include "example.h"

#define SAMPLES 1000u
#define BATCH 32u
#define EPOCHS 3u

static const char usage[] =
    "usage: resume\n\n"
    "Trains in a process that is killed again and again, and compares the\n"
    "model with that of a run never killed. Writes to TMPDIR, TEMP or /tmp.\n";

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
        .num_samples = SAMPLES,
        .seed = 2024,
        .batch_size = BATCH,
    };
    checkpoint now = {{0}, 1};
    uint64_t batch[BATCH];
    statesampler s;
    size_t count;
    int code = statesampler_init(&s, &desc);

    if (code == STATESAMPLER_OK)
        code = statesampler_load_file(path, &now, sizeof now, NULL);
    if (code == STATESAMPLER_OK)
        code = statesampler_load(&s, now.sampler, sizeof now.sampler);
    else if (STATESAMPLER_KIND(code) == STATESAMPLER_ENOFILE)
        code = STATESAMPLER_OK;

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

static int steps_to_live = -1;

/* Changes the model, but in the last step, which kills the process: by SIGKILL,
   and where there is none, as suddenly. */
static void train(uint64_t *model, const uint64_t *batch, size_t count)
{
    size_t i;

    if (--steps_to_live == 0) {
#ifdef SIGKILL
        raise(SIGKILL);
#endif
        _Exit(1);
    }
    for (i = 0; i < count; i++) {
        *model = (*model ^ batch[i]) * 6364136223846793005u + 1;
    }
}

/* The sampler where the checkpoint stands, and the model there. Returns how
   many steps are done. */
static int restore(const char *path, statesampler *s, uint64_t *model)
{
    const statesampler_desc desc = {
        .num_samples = SAMPLES,
        .seed = 2024,
        .batch_size = BATCH,
    };
    checkpoint saved = {{0}, 1};
    int code = statesampler_load_file(path, &saved, sizeof saved, NULL);

    example_must(statesampler_init(s, &desc));
    *model = saved.model;
    if (STATESAMPLER_KIND(code) != STATESAMPLER_ENOFILE) {
        example_must(code);
        example_must(statesampler_load(s, saved.sampler, sizeof saved.sampler));
    }
    return (int)(statesampler_epoch(s) * statesampler_num_steps(s) +
                 statesampler_step(s));
}

/* Starts this program as a training process that dies in its step of this
   number, and waits for its end. Returns 0 if that was not a death. */
static int start(const char *program, const char *path, int last)
{
#ifdef _WIN32 /* its shell takes a pair of quotes away */
    char command[3000];

    snprintf(command, sizeof command, "\"\"%s\" \"%s\" %d\"", program, path,
             last);
    return system(command);
#else /* without a shell, which would read a $ in a path as its own */
    char number[12];
    int status = -1;
    pid_t child;

    snprintf(number, sizeof number, "%d", last);
    child = fork();
    if (child == 0) {
        execlp(program, program, path, number, (char *)NULL);
        _Exit(127);
    }
    waitpid(child, &status, 0);
    return status;
#endif
}

/* Runs a training process until it dies. Returns 1 if it did, 0 if it came to
   its end before. */
static int run_until(const char *program, const char *path, int last)
{
    statesampler s;
    uint64_t model;
    int begin = restore(path, &s, &model), end, killed;

    fflush(stdout);
    killed = start(program, path, last) != 0;
    end = restore(path, &s, &model);
    if (end - begin != last - 1 && (killed || statesampler_epoch(&s) < EPOCHS))
        example_fail(1, "FAILED, the training process did not do its steps");
    printf("steps %2d .. %2d  %s\n", begin, end - 1,
           killed ? "killed" : "finished");
    return killed;
}

int main(int argc, char **argv)
{
    const char *base = getenv("TMPDIR");
    char path[1100];
    uint64_t whole, resumed, batch[BATCH];
    statesampler s;
    size_t count;
    FILE *file;
    int kills = 0;

    if (argc == 3) { /* the training process */
        steps_to_live = atoi(argv[2]);
        return run(argv[1]) == STATESAMPLER_OK ? 0 : 1;
    }
    example_begin(argc, argv, 0, usage);
    base = base ? base : getenv("TEMP");
    snprintf(path, sizeof path, "%.1000s/resume-%08x.checkpoint",
             base ? base : "/tmp",
             (unsigned)((uintptr_t)time(NULL) ^ (uintptr_t)&s));
    file = fopen(path, "ab"); /* may it be written? */
    if (file == NULL || fclose(file) != 0 || remove(path) != 0) {
        example_fail(1, "cannot write %s: %s", path, strerror(errno));
    }
    restore(path, &s, &whole); /* the beginning */
    while (run_until(argv[0], path, 9 + 4 * kills)) {
        kills++;
    }
    while (statesampler_epoch(&s) < EPOCHS) {
        if (statesampler_next(&s, batch, &count)) {
            train(&whole, batch, count);
        }
    }
    restore(path, &s, &resumed);
    if (remove(path) != 0) {
        example_fail(1, "cannot remove %s: %s", path, strerror(errno));
    }
    printf("%d times killed: model %016" PRIx64
           "\nnever killed:   model %016" PRIx64 "\n\n",
           kills, resumed, whole);
    return example_end(kills > 0 && resumed == whole,
                       "killed %d times, it went on at the very next batch, "
                       "and has the model of a run never killed",
                       kills);
}
