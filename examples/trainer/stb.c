/* stb.c - the one place where stb_ds, growing arrays and maps, is compiled. */
#define STB_DS_IMPLEMENTATION
#include <stb_ds.h>
