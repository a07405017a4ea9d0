#include "tail.h"
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
