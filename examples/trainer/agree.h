/* agree.h - turns an error of one process into an error of all.

   MPI processes wait for each other in collective calls, so a process that
   simply exited would leave the others waiting forever. Instead they exchange
   their errors at points that all of them reach, and exit together. A complaint
   is an error message, or "" if there is no error. */
#ifndef TRAINER_AGREE_H
#define TRAINER_AGREE_H

#include <stdint.h>

/* MPI_Init. */
void agree_begin(int *argc, char ***argv);

/* Formats a complaint in a static buffer, which the next call overwrites. The
   last complaint may be among the arguments. */
const char *complain(const char *format, ...);

/* The complaint "cannot WHAT PATH: " and what errno says. */
const char *cannot(const char *what, const char *path);

/* All processes must call this. Returns the complaint of the first process that
   has one, the same on all; it is valid until the next call of complain. */
const char *agree_on(const char *complaint);

/* The same, but if there is a complaint, process 0 prints it and all exit. */
void agree(const char *complaint);

/* Whether all processes have the same value. All must call this. */
int agree_same(uint64_t value);

#endif
