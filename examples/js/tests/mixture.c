/* mixture.c - named datasets by lines of text, for mixture.mjs. Each line gets
   an answer:

       start STOP RANK WORLD_SIZE    of what was added; then nothing is added
       add NAME WEIGHT NUMBERS       the fields in the order of `numbers`
       next                          a turn: its source and first index
       save                          bytes in hexadecimal
       load RESTART BYTES            OK or an error's number, and the changes

   An add after a start begins another mixture. */
#define STATESAMPLER_HOSTED
#define STATESAMPLER_STB_DS
#define STB_DS_IMPLEMENTATION
#include <stb_ds.h>
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES 4096

static statesampler_mixture m;
static char line[2 * BYTES + 100];
static int started;

static void add(char *text)
{
    static statesampler_desc desc;
    uint64_t numbers[11] = {0};
    char *name = strtok(text, " "), *at = NULL;
    int i;
    uint32_t weight = (uint32_t)strtoul(strtok(NULL, " "), &at, 10);

    for (i = 0; i < 11; i++)
        numbers[i] = strtoull(strtok(NULL, " "), NULL, 10);
    desc.num_samples = numbers[0];
    desc.seed = numbers[1];
    desc.epoch = numbers[2];
    desc.stream = numbers[3];
    desc.chunk_size = numbers[4];
    desc.window = numbers[5];
    desc.batch_size = (uint32_t)numbers[6];
    desc.order = (uint32_t)numbers[7];
    desc.partition = (uint32_t)numbers[8];
    desc.tail = (uint32_t)numbers[9];
    desc.rank = (uint32_t)(numbers[10] & 7);
    desc.world_size = (uint32_t)(numbers[10] >> 3);
    if (started)
        statesampler_mixture_free(&m);
    started = 0;
    printf("%d\n", statesampler_mixture_add(&m, name, weight, &desc));
}

static void next(void)
{
    static uint64_t batch[64];
    size_t count = 0;
    uint32_t source = 0;

    if (!statesampler_mix_next(&m.mix, batch, &count, &source))
        puts("none");
    else
        printf("%" PRIu32 " %" PRIu64 "\n", source, count ? batch[0] : 0);
}

static void save(void)
{
    static unsigned char state[BYTES];
    size_t size = statesampler_mixture_state_bytes(&m), i;

    if (statesampler_mixture_save(&m, state, BYTES) != STATESAMPLER_OK)
        exit(1);
    for (i = 0; i < size; i++)
        printf("%02x", state[i]);
    puts("");
}

static void load(char *text)
{
    static unsigned char state[BYTES];
    size_t i, size;
    unsigned byte;
    int code;

    size = strspn(text + 2, "0123456789abcdef") / 2;
    for (i = 0; i < size && i < BYTES; i++) {
        sscanf(text + 2 + 2 * i, "%2x", &byte);
        state[i] = (unsigned char)byte;
    }
    code = statesampler_mixture_load(&m, state, size, text[0] == '1');
    printf("%d", code);
    for (i = 0; i < arrlenu(m.changes); i++)
        printf(" %s:%" PRIu32 ":%" PRIu32,
               m.changes[i].name ? m.changes[i].name : "-", m.changes[i].source,
               m.changes[i].status);
    puts("");
}

int main(void)
{
    while (fgets(line, sizeof line, stdin) != NULL) {
        if (strncmp(line, "add ", 4) == 0) {
            add(line + 4);
        } else if (strncmp(line, "start ", 6) == 0) {
            started = 1;
            printf("%d\n", statesampler_mixture_start(
                               &m, (uint32_t)strtoul(line + 6, NULL, 10)));
        } else if (strncmp(line, "next", 4) == 0) {
            next();
        } else if (strncmp(line, "save", 4) == 0) {
            save();
        } else {
            load(line + 5);
        }
    }
    statesampler_mixture_free(&m);
    return 0;
}
