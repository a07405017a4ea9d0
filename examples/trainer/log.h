/* log.h - DIR/log.txt, which process 0 writes and all have the hash of. */
#ifndef TRAINER_LOG_H
#define TRAINER_LOG_H

#include "run.h"

/* Takes DIR for this run alone, as long as its process 0 lives: a lock on
   DIR/log.txt, which is opened. Whoever else has a log.txt there keeps it.
   Returns "" or what is wrong. */
const char *log_open(run *r);

/* Cuts the log back to what it was at the checkpoint; where there is none, to
   its first line. The same. */
const char *log_cut(run *r);

/* A line for the log and its hash. */
void log_line(run *r, const char *line);

/* Whether DIR's log is the file that this run has, and no longer than what it
   has written. */
int log_is_whole(const run *r);

/* Has all lines reach the disk. Returns "" or why one did not. */
const char *log_flush(run *r);

#endif
