/* rehash.c - a manifest of another release, as that one would have written it:
       rehash [LETTER] <MANIFEST >ANOTHER
   makes the number of its first line 9, or begins that line with another
   letter, and says the hash at its end anew. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "text.h"

int main(int argc, char **argv)
{
    static char text[1 << 20];
    const size_t size = fread(text, 1, sizeof text, stdin);
    char *end = text + size - 17;

    if (argc > 1)
        text[0] = argv[1][0];
    else
        *(strchr(text, '\n') - 1) = '9';
    printf("%.*s%016" PRIx64 "\n", (int)(end - text), text,
           text_hash(TEXT_HASH, text, (size_t)(end - text) - 5));
    return 0;
}
