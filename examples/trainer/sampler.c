/* sampler.c - the one place where the header's implementation is compiled. */
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
