/* stb.c - compiles stb_ds.h: dynamic arrays and hash maps. */
#define STB_DS_IMPLEMENTATION
#include <stb_ds.h>
