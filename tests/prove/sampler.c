#include "sampler.h"
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
