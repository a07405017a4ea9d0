/* turns.c - draws the turns of a mix, as the README shows them.

       make examples && build/turns >examples/turns.svg

   Three datasets of 3, 4 and 5 batches under each stop rule, and then three
   that are weighted 3 : 2 : 1. A square is a turn; its number is the batch of
   its dataset; a pale one is of the dataset's second or later epoch. */
#include <stdio.h>

#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"

#define DATASETS 3u
#define COLUMNS 18
#define SIDE 28
#define LEFT 170

static const char *const color[DATASETS] = {"#3b6fb6", "#d9822b", "#3d9a5f"};

static int start(statesampler_mix *mix, statesampler_source *sources,
                 uint32_t stop, const uint32_t *weight)
{
    uint32_t i;
    for (i = 0; i < DATASETS; i++) {
        const statesampler_desc desc = {.num_samples = 3 + i, .stream = i};
        if (statesampler_init(&sources[i].sampler, &desc) != 0) {
            return -1;
        }
        sources[i].weight = weight[i];
    }
    return statesampler_mix_init(mix, sources, DATASETS, stop);
}

static void text(int x, int y, const char *anchor, const char *fill,
                 const char *string)
{
    printf("<text x=\"%d\" y=\"%d\" text-anchor=\"%s\" fill=\"%s\">%s"
           "</text>\n",
           x, y, anchor, fill, string);
}

int main(void)
{
    static const struct {
        const char *name;
        uint32_t stop, weight[DATASETS];
    } rows[] = {{"FIRST", STATESAMPLER_STOP_FIRST, {1, 1, 1}},
                {"ALL", STATESAMPLER_STOP_ALL, {1, 1, 1}},
                {"RESTART", STATESAMPLER_STOP_RESTART, {1, 1, 1}},
                {"NEVER", STATESAMPLER_STOP_NEVER, {1, 1, 1}},
                {"NEVER, 3 : 2 : 1", STATESAMPLER_STOP_NEVER, {3, 2, 1}}};
    const int count = sizeof rows / sizeof rows[0];
    int row, column, width = LEFT + (COLUMNS + 1) * SIDE;
    char string[32];

    printf("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
           "height=\"%d\" font-family=\"sans-serif\" font-size=\"13\">\n"
           "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
           width, (count + 1) * (SIDE + 10) + 10);
    text(LEFT - 14, 24, "end", "#555555", "turn");
    for (column = 0; column < COLUMNS; column++) {
        sprintf(string, "%d", column);
        text(LEFT + column * SIDE + SIDE / 2, 24, "middle", "#555555", string);
    }
    for (row = 0; row < count; row++) {
        statesampler_source sources[DATASETS];
        statesampler_mix mix;
        int y = (row + 1) * (SIDE + 10);
        if (start(&mix, sources, rows[row].stop, rows[row].weight) != 0) {
            return 1;
        }
        text(LEFT - 14, y + 19, "end", "#111111", rows[row].name);
        for (column = 0; column < COLUMNS; column++) {
            const statesampler *s;
            uint32_t source;
            size_t size;
            int x = LEFT + column * SIDE, pale;
            if (statesampler_mix_next(&mix, NULL, &size, &source) == 0) {
                break; /* the row ends with the mix's epoch */
            }
            s = &sources[source].sampler;
            pale = statesampler_epoch(s) != 0;
            printf("<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" "
                   "rx=\"4\" fill=\"%s\" fill-opacity=\"%s\"/>\n",
                   x + 1, y, SIDE - 2, SIDE, color[source],
                   pale ? "0.4" : "1");
            sprintf(string, "%d", (int)statesampler_step(s) - 1);
            text(x + SIDE / 2, y + 19, "middle", pale ? "#222222" : "#ffffff",
                 string);
        }
        if (column == COLUMNS) {
            text(LEFT + column * SIDE + 4, y + 19, "start", "#555555", "...");
        }
    }
    printf("</svg>\n");
    return 0;
}
