/* ledger_kills.c - does each sample count exactly once if processes are killed?

       ledger_kills FILE KILLS SEED

   A coordinator hands tickets of a ledger to worker processes. A ticket is a
   step of a sampler, a batch. The checkpoint FILE has the sampler's state, the
   ledger's, and what workers have found out about each sample. KILLS times, at
   random moments, the coordinator is killed by SIGKILL, alone or with all its
   workers; workers are killed, too. It then goes on with another number of
   workers and another window. Each worker notes in FILE.log what it has done:
   there some tickets must be twice, and in the checkpoint none. */
#define _POSIX_C_SOURCE 200809L
#define STATESAMPLER_HOSTED
#include "statesampler.h"
#include "examples/extras/ledger.h"

#include "../check.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SAMPLES = 1002, EPOCHS = 4, BATCH = 4, WORKERS = 16, WIDEST = 256 };
#define TICKETS (SAMPLES * EPOCHS / BATCH)

typedef struct checkpoint {
    unsigned char sampler[STATESAMPLER_STATE_BYTES];
    uint64_t words, ledger[LEDGER_WORDS(WIDEST)];
    uint64_t found[EPOCHS][SAMPLES]; /* the sum of what workers have said */
} checkpoint;

/* A ticket on its way to a worker, and back. */
typedef struct job {
    uint64_t ticket, indices[BATCH], found[BATCH];
} job;

typedef struct worker {
    pid_t pid;
    int socket, busy;
    job job;
} worker;

static checkpoint now;

static void pause_us(uint64_t us)
{
    struct timespec time;

    time.tv_sec = (time_t)(us / 1000000);
    time.tv_nsec = (long)(us % 1000000 * 1000);
    nanosleep(&time, NULL);
}

static void seed_random(uint64_t seed)
{
    for (seed %= 1000; seed > 0; seed--)
        check_random(2);
}

/* --- A worker ----------------------------------------------------------- */

static uint64_t value_of(uint64_t index)
{
    return index * 0x9e3779b97f4a7c15u | 1;
}

/* Works until its coordinator is gone; dies in one of 40 jobs. */
static int work(int socket, int log)
{
    job j;
    size_t i;

    while (read(socket, &j, sizeof j) == (ssize_t)sizeof j) {
        uint64_t hard = 1 + j.ticket % 13;

        pause_us(130000 / (hard * hard));
        if (check_random(40) == 0)
            raise(SIGKILL);
        for (i = 0; i < BATCH; i++)
            j.found[i] = value_of(j.indices[i]);
        if (write(log, &j.ticket, 8) != 8 ||
            write(socket, &j, sizeof j) != (ssize_t)sizeof j)
            return 1;
    }
    return 0;
}

static void start(worker *all, int w, int log)
{
    int ends[2], other;

    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    seed_random(check_random(1000));
    all[w].pid = fork();
    CHECK(all[w].pid >= 0);
    if (all[w].pid == 0) {
        for (other = 0; other < WORKERS; other++)
            if (other != w && all[other].pid > 0)
                close(all[other].socket);
        close(ends[0]);
        _exit(work(ends[1], log));
    }
    close(ends[1]);
    all[w].socket = ends[0];
}

/* --- The coordinator ------------------------------------------------------ */

static void save(const char *path, const ledger *l)
{
    CHECK(ledger_save(l, now.ledger, now.words) == STATESAMPLER_OK);
    CHECK(statesampler_save_file(path, &now, sizeof now) == STATESAMPLER_OK);
}

/* Begins, or goes on in this window; in the widest one if too much is done. */
static void open_run(const char *path, statesampler *s, ledger *l,
                     uint64_t *bits, uint64_t window)
{
    statesampler_desc desc;
    int code = statesampler_load_file(path, &now, sizeof now, NULL);

    memset(&desc, 0, sizeof desc);
    desc.num_samples = SAMPLES;
    desc.seed = 7;
    desc.batch_size = BATCH;
    desc.tail = STATESAMPLER_TAIL_CARRY;
    CHECK(statesampler_init(s, &desc) == STATESAMPLER_OK);
    CHECK(ledger_init(l, bits, window, TICKETS) == STATESAMPLER_OK);
    if (code == STATESAMPLER_ENOFILE) {
        CHECK(statesampler_save(s, now.sampler, sizeof now.sampler) ==
              STATESAMPLER_OK);
    } else {
        CHECK(code == STATESAMPLER_OK);
        CHECK(statesampler_load(s, now.sampler, sizeof now.sampler) ==
              STATESAMPLER_OK);
        code = ledger_load(l, now.ledger, (size_t)now.words);
        if (code == LEDGER_EAHEAD) {
            CHECK(ledger_init(l, bits, WIDEST, TICKETS) == STATESAMPLER_OK);
            code = ledger_load(l, now.ledger, (size_t)now.words);
        }
        CHECK(code == STATESAMPLER_OK);
    }
    now.words = LEDGER_WORDS(l->window);
}

/* A worker that has died meanwhile is noticed later. */
static void send_job(const worker *w)
{
    CHECK(write(w->socket, &w->job, sizeof w->job) == (ssize_t)sizeof w->job ||
          errno == EPIPE);
}

static void give(worker *all, int workers, const statesampler *s, ledger *l)
{
    size_t count;
    worker *w;

    for (w = all; w < all + workers; w++) {
        if (w->busy || !ledger_issue(l, &w->job.ticket))
            continue;
        CHECK(statesampler_at(s, w->job.ticket, w->job.indices, &count) == 1 &&
              count == BATCH);
        w->busy = 1;
        send_job(w);
    }
}

/* What a worker has found out counts if the ledger takes the ticket back. */
static void take(worker *w, ledger *l)
{
    uint64_t i, position;

    CHECK(ledger_done(l, w->job.ticket) == STATESAMPLER_OK);
    for (i = 0; i < BATCH; i++) {
        position = w->job.ticket * BATCH + i;
        now.found[position / SAMPLES][w->job.indices[i]] += w->job.found[i];
    }
    w->busy = 0;
}

/* A worker's answer; or its death, and its job goes to a new one. */
static void hear(worker *all, int w, int log, ledger *l)
{
    if (read(all[w].socket, &all[w].job, sizeof(job)) == (ssize_t)sizeof(job)) {
        take(&all[w], l);
        return;
    }
    close(all[w].socket);
    waitpid(all[w].pid, NULL, 0);
    start(all, w, log);
    if (all[w].busy)
        send_job(&all[w]);
}

static int coordinate(const char *path, int log, int workers, uint64_t window)
{
    uint64_t bits[WIDEST / 64], turn;
    struct pollfd polled[WORKERS];
    worker all[WORKERS];
    statesampler s;
    ledger l;
    int w;

    signal(SIGPIPE, SIG_IGN);
    open_run(path, &s, &l, bits, window);
    memset(all, 0, sizeof all);
    for (w = 0; w < workers; w++)
        start(all, w, log);
    for (turn = 0; l.frontier < TICKETS; turn++) {
        give(all, workers, &s, &l);
        for (w = 0; w < workers; w++) {
            polled[w].fd = all[w].socket;
            polled[w].events = POLLIN;
        }
        CHECK(poll(polled, (nfds_t)workers, -1) > 0);
        for (w = 0; w < workers; w++)
            if (polled[w].revents != 0)
                hear(all, w, log, &l);
        if (turn % 8 == 0)
            save(path, &l);
    }
    save(path, &l);
    return 0;
}

/* --- Who kills it --------------------------------------------------------- */

/* Runs a coordinator until it is killed or ends. Returns whether it ended. */
static int live(const char *path, int log, int killed)
{
    static const uint64_t windows[] = {64, 128, 192, WIDEST};
    int workers = 1 + (int)check_random(WORKERS), status;
    uint64_t window = windows[check_random(4)];
    pid_t pid = fork();

    CHECK(pid >= 0);
    if (pid == 0) {
        setpgid(0, 0);
        exit(coordinate(path, log, workers, window));
    }
    setpgid(pid, pid);
    if (killed) {
        pause_us(check_random(160000));
        kill(check_random(2) ? pid : -pid, SIGKILL);
    }
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    return !WIFSIGNALED(status);
}

/* The checkpoint has each sample once an epoch, the log each ticket. */
static uint64_t count_all(const char *path, const char *log)
{
    uint64_t times[TICKETS] = {0}, ticket, e, i, all = 0;
    FILE *file = fopen(log, "rb");

    CHECK(file != NULL);
    for (; fread(&ticket, 8, 1, file) == 1; all++) {
        CHECK(ticket < TICKETS);
        times[ticket]++;
    }
    fclose(file);
    for (ticket = 0; ticket < TICKETS; ticket++)
        CHECK(times[ticket] > 0);
    CHECK(statesampler_load_file(path, &now, sizeof now, NULL) ==
          STATESAMPLER_OK);
    for (e = 0; e < EPOCHS; e++)
        for (i = 0; i < SAMPLES; i++)
            CHECK(now.found[e][i] == value_of(i));
    return all - TICKETS;
}

int main(int argc, char **argv)
{
    int kills = argc > 2 ? atoi(argv[2]) : 25, log, life = 0;
    char name[1100];
    uint64_t again;

    CHECK(argc > 1);
    seed_random(argc > 3 ? (uint64_t)atoi(argv[3]) : 1);
    snprintf(name, sizeof name, "%.1000s.log", argv[1]);
    log = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
    CHECK(log >= 0 && (remove(argv[1]) == 0 || errno == ENOENT));
    while (!live(argv[1], log, life < kills))
        life++;
    CHECK(life == kills);
    again = count_all(argv[1], name);
    CHECK(again > 0);
    printf("%d kills: %d tickets were done again, and counted once\n", life,
           (int)again);
    return check_done("ledger_kills");
}
