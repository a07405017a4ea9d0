/* rehash.c - a manifest with another number, as a release that writes it so
   would have left it:
       rehash NAME VALUE <MANIFEST >ANOTHER
   makes its hash right. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint.h"

int main(int argc, char **argv)
{
    static union {
        checkpoint_manifest m;
        unsigned char bytes[1 << 20];
    } all;
    const size_t size = fread(all.bytes, 1, sizeof all.bytes, stdin);
    const struct {
        const char *name;
        uint64_t *number;
    } numbers[] = {{"step", &all.m.step},
                   {"skipped", &all.m.skipped},
                   {"tensors", &all.m.tensors},
                   {"states", &all.m.states},
                   {"config_size", &all.m.config.size},
                   {"config_hash", &all.m.config.hash}};
    size_t i;

    for (i = 0; argc == 3 && i < sizeof numbers / sizeof *numbers; i++)
        if (strcmp(argv[1], numbers[i].name) == 0)
            *numbers[i].number = strtoull(argv[2], NULL, 10);
    all.m.hash = text_hash(TEXT_HASH, &all.m.step,
                           size - offsetof(checkpoint_manifest, step));
    return fwrite(all.bytes, 1, size, stdout) != size;
}
