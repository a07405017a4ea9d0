/* sampler.c - compiles the implementation of statesampler.h. */
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
