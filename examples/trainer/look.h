/* look.h - looks at a checkpoint without training. */
#ifndef TRAINER_LOOK_H
#define TRAINER_LOOK_H

/* Prints the name, size and root mean square of every tensor; or, with words to
   begin with, text that the model writes. Returns the exit status. */
int look(const char *path, const char *words);

#endif
