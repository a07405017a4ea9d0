/* sampler.c - the header's functions; the linker drops those that are not
   called. */
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
