/* steering.c - histories and schedules by lines of text, for
   examples/js/tests/steering.mjs. Each line gets an answer: OK or an error's
   number, unless another one is named.

       sampler NUMBERS     a sampler, and its history; the fields in the order
                           of `read_desc`
       source WEIGHT NUMBERS, and when all are added: mix STOP
       seek STEP, begin EPOCH, epoch EPOCH, resize N, reshape WORLD BATCH
       weigh WEIGHT...     of a mix
       go STEPS            by next; of a mix with a schedule, follows that
       save                the history and the state behind it, in hexadecimal
       load BYTES          the same, or a state alone
       schedule TOKENS     of a mix; TOKENS 1: its shares are of tokens
       plan TURN           goes there by schedule_seek
       saved               the schedule's state
       loaded BYTES */
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"

#include "examples/extras/history.h"

enum { SOURCES = 8, BYTES = 1 << 16 };

/* What a schedule does to the mix is noted, too. */
static history h;
static uint64_t first_epochs[SOURCES];
#define SCHEDULE_WEIGH(mix, weights) history_mix_weigh(&h, mix, weights)
#define SCHEDULE_SEEK(mix, turn) history_mix_seek(&h, mix, turn)
#define SCHEDULE_BEGIN(s, mix) \
    (schedule_epochs(s, first_epochs), \
     history_mix_begin(&h, mix, statesampler_mix_epoch(mix), first_epochs))
#include "examples/extras/schedule.h"

#include <stdio.h>
#include <stdlib.h>

static statesampler sampler;
static statesampler_source sources[SOURCES], others[SOURCES];
static statesampler_mix mix;
static uint32_t weights[SOURCES], num_sources, of_mix;
static unsigned char memory[BYTES], bytes[BYTES], scratch[BYTES];
static char line[2 * BYTES + 100];
static schedule_source shares[SOURCES];
static uint32_t plan_weights[SOURCES], tokens;
static schedule s;
static int has_schedule;

static uint64_t number(void)
{
    const char *text = strtok(NULL, " ");

    return text == NULL ? 0 : strtoull(text, NULL, 10);
}

static statesampler_desc read_desc(void)
{
    statesampler_desc desc = {0};

    desc.num_samples = number();
    desc.seed = number();
    desc.epoch = number();
    desc.stream = number();
    desc.chunk_size = number();
    desc.window = number();
    desc.world_size = (uint32_t)number();
    desc.batch_size = (uint32_t)number();
    desc.order = (uint32_t)number();
    desc.partition = (uint32_t)number();
    desc.tail = (uint32_t)number();
    desc.drop_last = (uint32_t)number();
    return desc;
}

static int begin_sampler(void)
{
    const statesampler_desc desc = read_desc();
    int code = statesampler_init(&sampler, &desc);

    of_mix = 0;
    if (code == STATESAMPLER_OK)
        code = history_init(&h, memory, sizeof memory, &sampler);
    return code;
}

static int add_source(void)
{
    statesampler_desc desc;

    sources[num_sources].weight = (uint32_t)number();
    desc = read_desc();
    return statesampler_init(&sources[num_sources++].sampler, &desc);
}

static int begin_mix(void)
{
    int code =
        statesampler_mix_init(&mix, sources, num_sources, (uint32_t)number());

    num_sources = 0;
    of_mix = 1;
    has_schedule = 0;
    if (code == STATESAMPLER_OK)
        code = history_mix_init(&h, memory, sizeof memory, &mix);
    return code;
}

static int weigh(void)
{
    uint32_t i;

    for (i = 0; i < mix.num_sources; i++)
        weights[i] = (uint32_t)number();
    return history_mix_weigh(&h, &mix, weights);
}

static int reshape(void)
{
    const uint32_t world_size = (uint32_t)number();

    return of_mix ? history_mix_reshape(&h, &mix, 0, world_size)
                  : history_reshape(&h, &sampler, 0, world_size,
                                    (uint32_t)number());
}

/* --- schedule ------------------------------------------------------------- */

/* The same numbers in JavaScript. */
static uint32_t plan(schedule *to, uint64_t turn, void *context)
{
    uint32_t i;

    (void)context;
    for (i = 0; i < to->num_sources; i++) {
        to->sources[i].share = (double)((turn * 7919 + i * 104729) % 1000) / 7;
        to->sources[i].mean = tokens ? 100 + 13 * i : 0;
    }
    to->sources[0].share += 0.1;
    return 1 + (uint32_t)(turn * 31 % 50);
}

static int go(void)
{
    uint64_t steps = number();
    int code = STATESAMPLER_OK;
    uint32_t source = 0;

    for (; steps > 0 && code >= 0; steps--) {
        const uint64_t turn = of_mix ? statesampler_mix_turn(&mix) : 0;

        if (!of_mix) {
            statesampler_next(&sampler, NULL, NULL);
            continue;
        }
        if (has_schedule)
            code = schedule_follow(&s, &mix, plan, NULL);
        if (code == STATESAMPLER_OK)
            statesampler_mix_next(&mix, NULL, NULL, &source);
        if (code == STATESAMPLER_OK && has_schedule && tokens)
            code = schedule_had(&s, source, 80 + turn * 17 % 60);
    }
    return code;
}

static int begin_schedule(void)
{
    tokens = (uint32_t)number();
    has_schedule = 1;
    schedule_init(&s, shares, plan_weights, mix.num_sources);
    return schedule_set_start(&s, &mix);
}

/* --- states --------------------------------------------------------------- */

static void print(const unsigned char *from, size_t size)
{
    size_t i;

    for (i = 0; i < size; i++)
        printf("%02x", from[i]);
    putchar('\n');
}

static void save(void)
{
    size_t size = history_save(&h), more = STATESAMPLER_STATE_BYTES;

    memcpy(bytes, h.bytes, size);
    if (of_mix) {
        more = statesampler_mix_state_bytes(&mix);
        statesampler_mix_save(&mix, bytes + size, more);
    } else {
        statesampler_save(&sampler, bytes + size, more);
    }
    print(bytes, size + more);
}

static size_t read_bytes(void)
{
    const char *text = strtok(NULL, " ");
    size_t size = 0;
    unsigned byte = 0;

    for (; text != NULL && sscanf(text, "%2x", &byte) == 1; text += 2)
        bytes[size++] = (unsigned char)byte;
    return size;
}

static int load(void)
{
    const size_t size = read_bytes();
    history_log log;
    size_t used = 0;
    int code = STATESAMPLER_OK;

    if (size >= 4 && memcmp(bytes, "SSH1", 4) == 0)
        code = history_read(&log, &used, bytes, size);
    if (code != STATESAMPLER_OK)
        return code;
    if (used > 0)
        return of_mix ? history_mix_load(&h, &mix, bytes, used, bytes + used,
                                         size - used, others, weights, scratch)
                      : history_load(&h, &sampler, bytes, used, bytes + used,
                                     size - used);
    if (of_mix) {
        code = statesampler_mix_load(&mix, bytes, size);
        if (code == STATESAMPLER_OK)
            code = history_mix_init(&h, memory, sizeof memory, &mix);
    } else {
        code = statesampler_load(&sampler, bytes, size);
        if (code == STATESAMPLER_OK)
            code = history_init(&h, memory, sizeof memory, &sampler);
    }
    return code;
}

static int answer(const char *command)
{
    if (strcmp(command, "sampler") == 0)
        return begin_sampler();
    if (strcmp(command, "source") == 0)
        return add_source();
    if (strcmp(command, "mix") == 0)
        return begin_mix();
    if (strcmp(command, "seek") == 0)
        return of_mix ? history_mix_seek(&h, &mix, number())
                      : history_seek(&h, &sampler, number());
    if (strcmp(command, "begin") == 0)
        return history_begin(&h, &sampler, number());
    if (strcmp(command, "resize") == 0)
        return history_resize(&h, &sampler, number());
    if (strcmp(command, "reshape") == 0)
        return reshape();
    if (strcmp(command, "weigh") == 0)
        return weigh();
    if (strcmp(command, "go") == 0)
        return go();
    if (strcmp(command, "load") == 0)
        return load();
    if (strcmp(command, "schedule") == 0)
        return begin_schedule();
    if (strcmp(command, "plan") == 0)
        return schedule_seek(&s, &mix, number(), plan, NULL);
    if (strcmp(command, "loaded") == 0)
        return schedule_load(&s, bytes, read_bytes());
    return 1;
}

int main(void)
{
    while (fgets(line, sizeof line, stdin) != NULL) {
        const char *command = strtok(line, " \n");

        if (strcmp(command, "save") == 0) {
            save();
        } else if (strcmp(command, "saved") == 0) {
            schedule_save(&s, bytes, sizeof bytes);
            print(bytes, SCHEDULE_BYTES(s.num_sources));
        } else {
            printf("%d\n", answer(command));
        }
    }
    return 0;
}
