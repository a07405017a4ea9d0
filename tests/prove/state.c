#include "state.h"
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
