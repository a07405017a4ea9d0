/* turns.c - draws the picture of a mix's turns in the README.

       make examples/turns.svg

   Three datasets of 3, 4 and 5 batches with each stop rule, and with the
   weights 3 : 2 : 1. A square is a turn. */
#include <stdio.h>

#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include "example.h"

#define DATASETS 3u
#define COLUMNS 18
#define SIDE 28
#define LEFT 170

static const char *const color[DATASETS] = {"#3b6fb6", "#d9822b", "#3d9a5f"};

static const char usage[] =
    "usage: turns >FILE.svg\n\n"
    "Draws the turns of three datasets of 3, 4 and 5 batches with each stop\n"
    "rule, and with the weights 3 : 2 : 1.\n";

static const struct row {
    const char *name;
    uint32_t stop, weight[DATASETS];
    int turns; /* expected; COLUMNS if there is no end */
} rows[] = {
    {"FIRST", STATESAMPLER_STOP_FIRST, {1, 1, 1}, 9},
    {"ALL", STATESAMPLER_STOP_ALL, {1, 1, 1}, 12},
    {"RESTART", STATESAMPLER_STOP_RESTART, {1, 1, 1}, 17},
    {"NEVER", STATESAMPLER_STOP_NEVER, {1, 1, 1}, COLUMNS},
    {"NEVER, 3 : 2 : 1", STATESAMPLER_STOP_NEVER, {3, 2, 1}, COLUMNS},
};

static void start(statesampler_mix *mix, statesampler_source *sources,
                  const struct row *row)
{
    uint32_t i;
    for (i = 0; i < DATASETS; i++) {
        const statesampler_desc desc = {.num_samples = 3 + i, .stream = i};

        example_must(statesampler_init(&sources[i].sampler, &desc));
        sources[i].weight = row->weight[i];
    }
    example_must(statesampler_mix_init(mix, sources, DATASETS, row->stop));
}

static void text(int x, int y, const char *anchor, const char *fill,
                 const char *string)
{
    printf("<text x=\"%d\" y=\"%d\" text-anchor=\"%s\" fill=\"%s\">%s"
           "</text>\n",
           x, y, anchor, fill, string);
}

/* A square at this place. */
static void square(int x, int y, uint32_t source, int pale, const char *string)
{
    printf("<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"4\" "
           "fill=\"%s\" fill-opacity=\"%s\"/>\n",
           x + 1, y, SIDE - 2, SIDE, color[source], pale ? "0.4" : "1");
    text(x + SIDE / 2, y + 19, "middle", pale ? "#222222" : "#ffffff", string);
}

/* What colors, pale squares and numbers mean. */
static void legend(int y)
{
    const int left = LEFT - 100;
    int x = left, i;
    char string[32];

    for (i = 0; i < (int)DATASETS; i++, x += 200) {
        square(x, y, (uint32_t)i, 0, "");
        sprintf(string, "dataset %d: %d batches", i, 3 + i);
        text(x + SIDE + 4, y + 19, "start", "#111111", string);
    }
    for (x = left, i = 0; i < (int)DATASETS; i++, x += SIDE) {
        square(x, y + SIDE + 10, (uint32_t)i, 1, "");
    }
    text(x + 4, y + SIDE + 29, "start", "#111111",
         "in its second or a later epoch; the number is the batch");
}

/* Draws a row of squares. Returns how many. */
static int draw(const struct row *row, int y)
{
    statesampler_source sources[DATASETS];
    statesampler_mix mix;
    uint32_t source;
    size_t size;
    char string[32];
    int column;

    start(&mix, sources, row);
    text(LEFT - 14, y + 19, "end", "#111111", row->name);
    for (column = 0;
         column < COLUMNS && statesampler_mix_next(&mix, NULL, &size, &source);
         column++) {
        const statesampler *s = &sources[source].sampler;

        sprintf(string, "%d", (int)statesampler_step(s) - 1);
        square(LEFT + column * SIDE, y, source, statesampler_epoch(s) != 0,
               string);
    }
    if (column == COLUMNS) {
        text(LEFT + column * SIDE + 4, y + 19, "start", "#555555", "...");
    }
    return column;
}

int main(int argc, char **argv)
{
    const int count = sizeof rows / sizeof rows[0];
    int row, column, good = 1;
    char string[32];

    example_begin(argc, argv, 0, usage);
    printf("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
           "height=\"%d\" font-family=\"sans-serif\" font-size=\"13\">\n"
           "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
           LEFT + (COLUMNS + 1) * SIDE, (count + 3) * (SIDE + 10) + 20);
    text(LEFT - 14, 24, "end", "#555555", "turn");
    for (column = 0; column < COLUMNS; column++) {
        sprintf(string, "%d", column);
        text(LEFT + column * SIDE + SIDE / 2, 24, "middle", "#555555", string);
    }
    for (row = 0; row < count; row++) {
        good = draw(&rows[row], (row + 1) * (SIDE + 10)) == rows[row].turns &&
               good;
    }
    legend((count + 1) * (SIDE + 10) + 10);
    printf("</svg>\n");
    example_close();
    if (!good) {
        example_fail(1, "FAILED, a stop rule ends after a wrong number of "
                        "turns");
    }
    fprintf(stderr, "turns: ok, FIRST ends after 9 turns, ALL after 12, "
                    "RESTART after 17, NEVER never\n");
    return 0;
}
