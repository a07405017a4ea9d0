/* sampler.c - the header's functions; those that nobody calls are left out by
   the linker. */
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
