/* rehash.c - a manifest of another release, as that one would have written it:
       rehash <MANIFEST >ANOTHER
   makes the number of its first line 9 and says the hash at its end anew. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "text.h"

int main(void)
{
    static char all[1 << 20];
    const size_t size = fread(all, 1, sizeof all, stdin);
    char *end = all + size - 17;

    *(strchr(all, '\n') - 1) = '9';
    printf("%.*s%016" PRIx64 "\n", (int)(end - all), all,
           text_hash(TEXT_HASH, all, (size_t)(end - all) - 5));
    return 0;
}
