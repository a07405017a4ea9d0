/* mm_malloc.h - clang's vectors include this for two functions that need a C
   library, and that nothing here calls. */
