/* core.c - the implementation that most tests share. */
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
