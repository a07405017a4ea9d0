/* agree.h - an error that one process finds is an error of all.

   MPI's processes wait for each other in every collective call. A process that
   simply left would keep the others waiting for ever; so all of them tell each
   other how it went, at points that all of them reach, and leave together. */
#ifndef TRAINER_AGREE_H
#define TRAINER_AGREE_H

enum { AGREE_TEXT = 1200 };

/* To be called by all. complaint: NULL or "" where all is well. If one has a
   complaint, process 0 prints the first one's, and all end with this status. */
void agree(const char *complaint, int status);

/* The same, but nobody ends: whether all is well; otherwise text is the first
   complaint, on all processes. */
int agree_or_tell(const char *complaint, char text[AGREE_TEXT]);

#endif
