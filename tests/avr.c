/* avr.c - a small program for an ATmega328P, the processor of an Arduino Uno: a
   shuffle that is saved and loaded. With SAY_ERRORS it sends the error's
   sentence, too. tests/sizes.sh compiles it and says how much flash that is. */
#include <stddef.h>
#include <stdint.h>

#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"

volatile uint8_t port;

static statesampler sampler;
static unsigned char state[STATESAMPLER_STATE_BYTES];

static void check(int code)
{
#ifdef SAY_ERRORS
    const char *text = statesampler_error(code);
    while (*text != 0)
        port = (uint8_t)*text++;
#else
    port = (uint8_t)code;
#endif
}

int main(void)
{
    statesampler_desc desc = {0};
    uint64_t index;
    size_t count;
    desc.num_samples = 1000;
    desc.seed = port;
    check(statesampler_init(&sampler, &desc));
    check(statesampler_load(&sampler, state, sizeof state));
    for (;;) {
        statesampler_next(&sampler, &index, &count);
        port = (uint8_t)index;
        check(statesampler_save(&sampler, state, sizeof state));
    }
}
