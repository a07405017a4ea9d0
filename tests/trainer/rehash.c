/* rehash.c - a manifest of another release, as that one would have written it:
       rehash <MANIFEST >ANOTHER
   replaces the number of its first line by 9, and the hash at its end. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "text.h"

int main(void)
{
    static char text[1 << 20];
    const size_t size = fread(text, 1, sizeof text, stdin);
    char *number = strchr(text, '\n') - 1, *end = text + size - 17;

    *number = '9';
    printf("%.*s%016" PRIx64 "\n", (int)(end - text), text,
           text_hash(TEXT_HASH, text, (size_t)(end - text) - 5));
    return 0;
}
