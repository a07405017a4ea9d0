#include "perm.h"
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
