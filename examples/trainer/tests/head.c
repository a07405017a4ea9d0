/* head.c - a checkpoint's head:
       head size N <CHECKPOINT    the checkpoint, which says that its
                                  configuration has N bytes; the hash is right
       head config <CHECKPOINT    its configuration
       head others <CHECKPOINT    all but its configuration */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint.h"

int main(int argc, char **argv)
{
    static union {
        checkpoint_head h;
        unsigned char bytes[1 << 22];
    } all;
    const size_t size = fread(all.bytes, 1, sizeof all.bytes, stdin);
    const size_t config = sizeof all.h + all.h.feed_bytes;
    const size_t end = config + all.h.config_bytes;
    const size_t tensors = (end + 8 + 4095) / 4096 * 4096;
    uint64_t hash;

    if (strcmp(argv[1], "config") == 0)
        return fwrite(all.bytes + config, 1, end - config, stdout) == 0;
    if (strcmp(argv[1], "others") == 0) {
        all.h.config_bytes = 0;
        fwrite(all.bytes, 1, config, stdout);
        return fwrite(all.bytes + tensors, 1, size - tensors, stdout) == 0;
    }
    if (argc != 3)
        return 2;
    all.h.config_bytes = strtoull(argv[2], NULL, 10);
    hash = text_hash(TEXT_HASH ^ all.h.step, all.bytes, end);
    memcpy(all.bytes + end, &hash, sizeof hash);
    return fwrite(all.bytes, 1, size, stdout) != size;
}
