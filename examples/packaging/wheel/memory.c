/* memory.c - the functions of string.h for libraries that use no C library.
   Compilers call the first two by themselves. It is compiled with -fno-builtin,
   or a compiler may take such a loop for a call of the function it is in. */

#include <string.h>

void *memcpy(void *to, const void *from, size_t size)
{
    char *at = (char *)to;
    const char *end = at + size, *byte = (const char *)from;

    while (at != end)
        *at++ = *byte++;
    return to;
}

void *memset(void *to, int value, size_t size)
{
    char *at = (char *)to;
    const char *end = at + size;

    while (at != end)
        *at++ = (char)value;
    return to;
}

int memcmp(const void *left, const void *right, size_t size)
{
    const unsigned char *a = (const unsigned char *)left;
    const unsigned char *b = (const unsigned char *)right, *end = a + size;

    for (; a != end; a++, b++) {
        if (*a != *b)
            return *a - *b;
    }
    return 0;
}

#ifdef __APPLE__
/* What compilers for macOS make of a memset to 0, on Intel and on Apple's
   processors. */
void __bzero(void *to, size_t size)
{
    memset(to, 0, size);
}

void bzero(void *to, size_t size)
{
    memset(to, 0, size);
}
#endif

#ifdef _WIN32
/* A name that compilers for Windows ask for where there are numbers with a
   point. */
int _fltused = 0;
#endif
