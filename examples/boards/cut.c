/* cut.c - runs a program and cuts its power:

       cut STARS MICROSECONDS COMMAND...

   passes on what the command prints, and kills it once it has printed STARS
   stars and then used MICROSECONDS of processor time. With 0 stars it does not.
   If there is anything on standard input, the command gets this instead of the
   kill, and ends itself: an emulator can keep its flash. It also kills it after
   five minutes, and when it is itself ended by a signal.
   Counting processor time makes the moment independent of how busy the
   computer is. The last line on standard error is the processor time that the
   command used in all, in microseconds. */
#define _XOPEN_SOURCE 700
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t child; /* 0 before there is one */

static void end(int signal)
{
    if (child > 0) {
        (void)kill((pid_t)child, SIGKILL);
        (void)waitpid((pid_t)child, NULL, 0);
    }
    _exit(128 + signal);
}

/* Copies to standard output: 0 after that many stars, -1 at the end. */
static int copy_stars(int from, long stars)
{
    char bytes[256];
    ssize_t count, i;
    while ((count = read(from, bytes, sizeof bytes)) > 0) {
        if (write(1, bytes, (size_t)count) != count)
            return -1;
        for (i = 0; i < count; i++)
            if (bytes[i] == '*' && --stars == 0)
                return 0;
    }
    return -1;
}

static int64_t used_by(clockid_t clock)
{
    struct timespec time;
    if (clock_gettime(clock, &time) != 0)
        return -1; /* it has ended */
    return (int64_t)time.tv_sec * 1000000 + time.tv_nsec / 1000;
}

/* Waits until the command has used this much time, or has ended. */
static void wait_for(int64_t time)
{
    clockid_t clock;
    struct timespec moment = {0, 50000};
    int64_t begin, now;
    siginfo_t info;
    if (clock_getcpuclockid(child, &clock) != 0)
        return;
    begin = used_by(clock);
    do {
        info.si_pid = 0;
        if (waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) ||
            info.si_pid != 0)
            return;
        now = used_by(clock);
    } while (now >= 0 && now - begin < time && nanosleep(&moment, NULL) == 0);
}

/* Passes on standard input; 0 if there is none. */
static int pass_on(int to)
{
    char bytes[1024];
    const ssize_t count = read(0, bytes, sizeof bytes);
    return count > 0 && write(to, bytes, (size_t)count) == count;
}

int main(int argc, char **argv)
{
    struct rusage used;
    int status, ends[2], words[2];
    if (argc < 4 || pipe(ends) != 0 || pipe(words) != 0)
        return 2;
    (void)signal(SIGALRM, end);
    (void)signal(SIGINT, end);
    (void)signal(SIGTERM, end);
    (void)signal(SIGHUP, end);
    (void)signal(SIGPIPE, SIG_IGN); /* the command may have ended */
    (void)alarm(300);
    child = fork();
    if (child == 0) {
        if (dup2(ends[1], 1) == 1 && close(ends[0]) == 0 &&
            close(ends[1]) == 0 && dup2(words[0], 0) == 0 &&
            close(words[0]) == 0 && close(words[1]) == 0)
            (void)execvp(argv[3], argv + 3);
        perror(argv[3]);
        _exit(127);
    }
    (void)close(ends[1]);
    (void)close(words[0]);
    if (child > 0 && copy_stars(ends[0], atol(argv[1])) == 0) {
        wait_for(atol(argv[2]));
        if (!pass_on(words[1]))
            (void)kill((pid_t)child, SIGKILL);
        (void)copy_stars(ends[0], 0); /* what is left in the pipe */
    }
    if (child < 0 || waitpid(child, &status, 0) != child ||
        getrusage(RUSAGE_CHILDREN, &used) != 0) {
        perror("cut");
        return 2;
    }
    (void)fprintf(stderr, "%ld\n",
                  (long)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) *
                          1000000 +
                      (long)(used.ru_utime.tv_usec + used.ru_stime.tv_usec));
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
