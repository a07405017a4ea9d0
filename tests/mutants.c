/* mutants.c - is linked to every test that tests/mutants.py runs: sets the
   number of the fault, and ends what does not end, by the processor's time, as
   others may use the machine, too. */
#include <stdlib.h>
int statesampler_fault;
#ifdef _WIN32
#include <windows.h>
static unsigned long most; /* microseconds */
static DWORD WINAPI watch(void *unused)
{
    FILETIME begin, end, kernel, user;
    do { /* ends with the process */
        Sleep(100);
        GetProcessTimes(GetCurrentProcess(), &begin, &end, &kernel, &user);
    } while (user.dwHighDateTime == 0 && user.dwLowDateTime / 10 < most);
    return !TerminateProcess(GetCurrentProcess(), 99);
}
static void limit_time(const char *limit)
{
    most = strtoul(limit, NULL, 10);
    CreateThread(NULL, 0, watch, NULL, 0, NULL);
}
#else
#include <sys/resource.h>
#include <sys/time.h>
static void limit_time(const char *limit)
{
    struct itimerval timer = {{0, 0}, {0, 0}};
    struct rlimit memory = {(rlim_t)4 << 30, (rlim_t)4 << 30};
    timer.it_value.tv_sec = atol(limit) / 1000000;
    timer.it_value.tv_usec = atol(limit) % 1000000;
    setitimer(ITIMER_PROF, &timer, 0);
#ifndef __SANITIZE_ADDRESS__
    setrlimit(RLIMIT_AS, &memory);
#else
    (void)memory;
#endif
}
#endif
__attribute__((constructor)) static void choose(void)
{
    const char *number = getenv("FAULT");
    if (number && getenv("FAULT_US")) {
        statesampler_fault = atoi(number);
        limit_time(getenv("FAULT_US"));
    }
}
