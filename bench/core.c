/* core.c - the header's implementation, in a file of its own as in a program
   of several files: calls are not inlined into the loops that are timed. */
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
