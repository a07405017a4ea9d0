#include "check.h"
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
