/* ledger_text.c - examples/extras/ledger.h by lines of text, for the tests of
   those who have its states in other languages. Each line gets an answer:

       begin WINDOW END   issue   done TICKET   save   load BYTES

   A ticket or "none"; bytes in hexadecimal; OK or the kind of an error, as
   those languages name it. */
#include "statesampler.h"
#include "examples/extras/ledger.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WIDEST 65536u

static uint64_t bits[WIDEST / 64], state[LEDGER_WORDS(WIDEST)];
static char line[16 * LEDGER_WORDS(WIDEST) + 100];
static ledger l;

static void answer(int code)
{
    switch (code) {
    case STATESAMPLER_OK:
        puts("OK");
        break;
    case LEDGER_EDONE:
        puts("EDONE");
        break;
    case LEDGER_EISSUED:
        puts("EISSUED");
        break;
    case LEDGER_EAHEAD:
        puts("EAHEAD");
        break;
    case LEDGER_EWINDOW:
        puts("EINVAL");
        break;
    case LEDGER_EEND:
        puts("EMISMATCH");
        break;
    default:
        puts("ECORRUPT");
    }
}

static void issue(void)
{
    uint64_t ticket;

    if (ledger_issue(&l, &ticket))
        printf("%" PRIu64 "\n", ticket);
    else
        puts("none");
}

static void save(void)
{
    size_t words = LEDGER_WORDS(l.window), i;

    if (ledger_save(&l, state, words) != STATESAMPLER_OK)
        exit(1);
    for (i = 0; i < 8 * words; i++)
        printf("%02x", ((const unsigned char *)state)[i]);
    puts("");
}

static void load(const char *text)
{
    size_t count = strspn(text, "0123456789abcdef") / 2, i;
    unsigned byte;

    for (i = 0; i < count && i < sizeof state; i++) {
        sscanf(text + 2 * i, "%2x", &byte);
        ((unsigned char *)state)[i] = (unsigned char)byte;
    }
    answer(count % 8 == 0 ? ledger_load(&l, state, count / 8)
                          : STATESAMPLER_ECORRUPT);
}

int main(void)
{
    char *end;

    while (fgets(line, sizeof line, stdin) != NULL) {
        if (strncmp(line, "begin ", 6) == 0) {
            uint64_t window = strtoull(line + 6, &end, 10);

            answer(window > WIDEST ? LEDGER_EWINDOW
                                   : ledger_init(&l, bits, window,
                                                 strtoull(end, NULL, 10)));
        } else if (strncmp(line, "done ", 5) == 0) {
            answer(ledger_done(&l, strtoull(line + 5, NULL, 10)));
        } else if (strncmp(line, "load ", 5) == 0) {
            load(line + 5);
        } else if (strcmp(line, "issue\n") == 0) {
            issue();
        } else {
            save();
        }
    }
    return 0;
}
