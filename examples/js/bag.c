/* bag.c - bag.h as WebAssembly, for the class Bag of statesampler.mjs

   In module.c no bundler could leave it out. So it is text in the JavaScript,
   which bundlers leave out where there is no bag, and is compiled for the first
   one. It works in the memory of module.c, with its permutations: JavaScript
   puts a bag where the objects of module.c are, and sets and reads the fields
   of its struct. Its stack is the far end of the other's, which permutations do
   not reach. */
#include "statesampler.h"

/* From module.c. */
#define FROM(name) __attribute__((import_module("env"), import_name(#name)))
FROM(perm_init)
int statesampler_perm_init(statesampler_perm *perm, uint64_t n, uint64_t seed,
                           uint64_t epoch, uint64_t stream);
FROM(perm_fill)
void statesampler_perm_fill(const statesampler_perm *perm, uint64_t first,
                            uint64_t stride, uint64_t *out, size_t count);
FROM(perm_at)
uint64_t statesampler_perm_at(const statesampler_perm *perm, uint64_t position);

#include "examples/extras/bag.h"
#include "web.h"

/* JavaScript has checked the sizes. What cannot be reached says so to clang,
   which then leaves out the checks in C. */
WEB(int, begin, (bag *b, const unsigned char *state))
{
    if (b->room > 0xffffff || b->count > b->room)
        __builtin_unreachable();
    return bag_begin(b, state);
}

WEB(int, draw, (bag *b, uint32_t *item))
{
    return bag_draw(b, item);
}

WEB(int, walk, (bag *b, int steps, uint32_t *item))
{
    return bag_walk(b, steps, item);
}

WEB(int, take, (bag *b, uint32_t item))
{
    return bag_take(b, item);
}

WEB(int, hold, (bag *b, uint32_t item))
{
    return bag_hold(b, item);
}

WEB(int, discard, (bag *b, uint32_t item))
{
    return bag_discard(b, item);
}

WEB(int, add, (bag *b, uint32_t item))
{
    if (b->count >= b->room)
        __builtin_unreachable();
    return bag_add(b, item);
}

WEB(int, remove, (bag *b, uint32_t item))
{
    return bag_remove(b, item);
}

WEB(void, save, (const bag *b, unsigned char *state))
{
    bag_save(b, state);
}
