/* core.c - the header's implementation, in a file of its own as a program of
   several files has it: no call is inlined into what is timed. */
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
