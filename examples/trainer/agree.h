/* agree.h - an error that one process finds is an error of all.

   MPI's processes wait for each other in every collective call. A process that
   simply left would keep the others waiting for ever; so all of them tell each
   other how it went, at points that all of them reach, and leave together. A
   complaint is a sentence; "" where all is well. */
#ifndef TRAINER_AGREE_H
#define TRAINER_AGREE_H

#include <stdint.h>

/* MPI_Init. */
void agree_begin(int *argc, char ***argv);

/* Puts a complaint into words, in one place: the next one takes it. The one
   before may be among the arguments. */
const char *complain(const char *format, ...);

/* To be called by all. Returns the first process's complaint that has one, the
   same on all; it stands until the next one is put into words. */
const char *agree_on(const char *complaint);

/* The same, but where there is one, process 0 prints it and all end with this
   status. */
void agree(const char *complaint, int status);

/* Whether all have the same value. To be called by all. */
int agree_same(uint64_t value);

#endif
