/* core.c - the implementation that most tests share, with all its parts. */
#ifdef STATESAMPLER_STB_DS /* where stb_ds.h is */
#define STB_DS_IMPLEMENTATION
#include "stb_ds.h"
#endif
#define STATESAMPLER_IMPLEMENTATION
#define STATESAMPLER_HOSTED
#include "statesampler.h"
