/* log.h - DIR/log.txt, which process 0 writes; all keep its hash. */
#ifndef TRAINER_LOG_H
#define TRAINER_LOG_H

#include "run.h"

/* Opens DIR/log.txt and locks it, so that DIR belongs to this run as long as
   its process 0 lives. A log.txt that the trainer has not written is an error
   and stays unchanged. Returns "" or an error. */
const char *log_open(run *r);

/* Truncates the log to its size at the checkpoint; without one, to its first
   line. Returns "" or an error. */
const char *log_cut(run *r);

/* Adds a line to the log and its hash. */
void log_line(run *r, const char *line);

/* Whether log.txt begins with the r->log_bytes of this run. Returns "", or an
   error, and whether *failed to read it. */
const char *log_check(const run *r, int *failed);

/* Flushes the log to disk. Returns "", the first error of any write, or that
   log.txt is not as this run has written it. */
const char *log_flush(run *r);

#endif
