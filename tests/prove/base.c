#include "base.h"
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
