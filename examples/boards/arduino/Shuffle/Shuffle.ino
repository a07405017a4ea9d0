/* Shuffle.ino - plays 20 tracks in a new random order each round, each once,
   and goes on behind the last one when the power comes back.

   Fits an Arduino Uno. The state goes to two places of the EEPROM in turn, so
   that a power cut while one is written leaves the other. It is written once a
   track, each place every second time, and a byte of the EEPROM takes 100,000
   writes: 200,000 tracks. Save less often if yours are short. */
#ifndef __AVR__
#error "this sketch saves to an AVR's EEPROM: save to your board's memory"
#endif
#include <avr/eeprom.h>

#define STATESAMPLER_ONLY_SHUFFLE /* a quarter less code, if you need it */
#define STATESAMPLER_IMPLEMENTATION
#include <statesampler.h>

static const uint64_t TRACKS = 20;
static const unsigned long TRACK_MS = 1000;

static statesampler player;
static unsigned char state[STATESAMPLER_STATE_BYTES];
static uint8_t place; /* of the EEPROM, to be written next: 0 or 1 */

static uint8_t *address_of(uint8_t place)
{
    return (uint8_t *)(place * sizeof state);
}

static bool load(uint8_t place)
{
    eeprom_read_block(state, address_of(place), sizeof state);
    return statesampler_load(&player, state, sizeof state) == STATESAMPLER_OK;
}

/* Goes on from the newer of two good states. */
static void resume()
{
    uint64_t epoch, step;
    bool first = load(0);

    epoch = statesampler_epoch(&player);
    step = statesampler_step(&player);
    place = 1;
    if (load(1)) {
        uint64_t later = statesampler_epoch(&player);

        if (!first || later > epoch ||
            (later == epoch && statesampler_step(&player) > step)) {
            place = 0;
            return;
        }
        load(0);
    } else if (!first) {
        place = 0; /* a new chip */
    }
}

static void save()
{
    statesampler_save(&player, state, sizeof state);
    eeprom_update_block(state, address_of(place), sizeof state);
    place = !place;
}

void setup()
{
    statesampler_desc desc = {};

    desc.num_samples = TRACKS;
    desc.seed = 2026; /* another one for each device */
    statesampler_init(&player, &desc);
    Serial.begin(9600);
    resume();
}

void loop()
{
    uint64_t track;
    size_t count;

    if (!statesampler_next(&player, &track, &count)) {
        Serial.println("a new round");
        return;
    }
    Serial.print("track ");
    Serial.println((int)track + 1);
    delay(TRACK_MS); /* play it here */
    save();
}
