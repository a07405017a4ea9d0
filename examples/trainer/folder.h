/* folder.h - folders whose entries survive a power cut. */
#ifndef TRAINER_FOLDER_H
#define TRAINER_FOLDER_H

/* Creates a folder with its parents, and flushes the parents, so that a power
   cut cannot remove it with all that is in it; also where it exists, as the run
   that created it may have been killed before it could. Parents that cannot be
   flushed are no error, except the folder's own. Returns "" or an error. */
const char *folder_create(const char *path);

/* Flushes the changes of a folder's entries to disk; file systems that cannot
   do this are no error. Returns "" or an error. */
const char *folder_flush(const char *path);

#endif
