/* records.c - prints the firmware's training records as a C table: six numbers
   as from an accelerometer on a motor, and whether its bearing is worn. They
   are synthetic and always the same: no floating point, no clock. */
#include <stdint.h>
#include <stdio.h>

#define RECORDS 3000

/* SplitMix64. */
static uint32_t draw(uint32_t bound)
{
    static uint64_t state = 2026;
    uint64_t x = state += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return (uint32_t)((x ^ (x >> 31)) % bound);
}

/* Roughly normal around 0, within +-4 * width. */
static int32_t noise(uint32_t width)
{
    int32_t sum = 0;
    int i;
    for (i = 0; i < 8; i++)
        sum += (int32_t)draw(width + 1);
    return sum - (int32_t)(4 * width);
}

static int32_t clamp(int32_t x)
{
    return x < -127 ? -127 : x > 127 ? 127 : x;
}

int main(void)
{
    int i;
    printf("/* From records.c: level, two bands, peaks, temperature, speed;\n"
           "   and whether the bearing is worn. */\n#define RECORDS %d\n"
           "BOARD_FLASH static const int8_t records[RECORDS][7] = {\n",
           RECORDS);
    for (i = 0; i < RECORDS; i++) {
        int32_t worn = draw(3) == 0, speed = noise(18), load = noise(14);
        int32_t level = speed / 2 + load / 2 + 14 * worn + noise(6);
        int32_t low = speed / 3 + noise(8) - 6 * worn;
        int32_t high = level / 3 + 22 * worn + noise(9);
        int32_t peaks = high / 4 + 18 * worn + noise(10);
        int32_t warm = load + 9 * worn + noise(7);
        printf("    {%d, %d, %d, %d, %d, %d, %d},\n", (int)clamp(level),
               (int)clamp(low), (int)clamp(high), (int)clamp(peaks),
               (int)clamp(warm), (int)clamp(speed), (int)worn);
    }
    printf("};\n");
    return fflush(stdout) != 0;
}
