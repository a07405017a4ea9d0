/* shards.c - examples/extras/shards.h: each sequence of shards of any size once
   in an epoch, with at most `window` shards open, for several ranks in one
   process. What is wrong with a file is an error, and nothing ends the program.
   The shards are in the present folder. */
#include "statesampler.h"
#include "../check.h"
#include "examples/extras/shards.h"

#define MOST_TOKENS 300u

static shards all;
static uint32_t lengths[SHARDS_MOST + 1]; /* in tokens */

static uint16_t token_of(uint64_t k, uint64_t number)
{
    return (uint16_t)((k * 40503 + number) * 2654435761u >> 16);
}

/* Writes a shard whose header says `count`, with so many bytes in all. */
static void write_shard(uint32_t k, uint32_t count, size_t bytes)
{
    unsigned char text[SHARDS_HEADER + 2 * MOST_TOKENS];
    const int32_t header[3] = {20240520, 1, (int32_t)count};
    char path[1024];
    uint16_t token;
    FILE *file;
    uint32_t i;

    memset(text, 0, sizeof text);
    memcpy(text, header, sizeof header);
    for (i = 0; i < count && i < MOST_TOKENS; i++) {
        token = token_of(k, i);
        memcpy(text + SHARDS_HEADER + 2 * i, &token, 2);
    }
    CHECK(shards_path(path, ".", k) == STATESAMPLER_OK);
    file = fopen(path, "wb");
    CHECK(file != NULL && fwrite(text, 1, bytes, file) == bytes);
    CHECK(fclose(file) == 0);
}

static void write_good(uint32_t k, uint32_t count)
{
    lengths[k] = count;
    write_shard(k, count, SHARDS_HEADER + 2 * count);
}

static void remove_from(uint32_t k)
{
    char path[1024];

    do
        shards_path(path, ".", k++);
    while (remove(path) == 0); /* there are SHARDS_MOST + 1 at most */
}

static int open_all(uint32_t length, uint32_t window)
{
    memset(&all, 0, sizeof all);
    all.folder = ".";
    all.length = length;
    all.window = window;
    all.seed = check_random(100);
    return shards_open(&all);
}

/* Reads the sequence at a position. Returns its number. */
static uint64_t read_at(uint64_t position)
{
    const uint16_t *tokens;
    uint64_t place = 0, i;
    uint32_t k = 0;

    CHECK(shards_find(&all, position, &k, &place) == STATESAMPLER_OK);
    CHECK(shards_read(&all, k, place, &tokens) == STATESAMPLER_OK);
    CHECK(all.open <= all.window && all.peak <= all.window);
    CHECK(place * all.length + all.length < lengths[k]);
    for (i = 0; i <= all.length; i++)
        CHECK(tokens[i] == token_of(k, place * all.length + i));
    return all.file[k].first + place;
}

/* The window of a position. */
static uint32_t window_of(uint64_t position)
{
    return shards_search(&all, position) / all.window;
}

/* An epoch on some ranks, whose positions may lie in two windows or more. */
static void run_epoch(uint64_t epoch)
{
    static unsigned char seen[20 * MOST_TOKENS];
    static uint32_t window_read[20 * MOST_TOKENS];
    statesampler_desc desc;
    statesampler s;
    uint64_t batch[7], id;
    size_t count, i;
    uint32_t r, k;

    memset(seen, 0, sizeof seen);
    memset(&desc, 0, sizeof desc);
    shards_begin(&all, epoch);
    desc.num_samples = all.sequences;
    desc.order = STATESAMPLER_ORDER_SEQUENTIAL;
    desc.tail = STATESAMPLER_TAIL_UNEVEN;
    desc.world_size = (uint32_t)(1 + check_random(5));
    desc.batch_size = (uint32_t)(1 + check_random(7));
    CHECK(statesampler_init(&s, &desc) == STATESAMPLER_OK);
    for (; statesampler_step(&s) < statesampler_num_steps(&s);
         statesampler_next(&s, NULL, NULL))
        for (r = 0; r < desc.world_size; r++) {
            statesampler_reshape(&s, r, desc.world_size, desc.batch_size);
            statesampler_at(&s, statesampler_step(&s), batch, &count);
            for (i = 0; i < count; i++) {
                id = read_at(batch[i]);
                CHECK(id < all.sequences && seen[id]++ == 0);
                window_read[id] = window_of(batch[i]);
            }
        }
    for (id = 0; id < all.sequences; id++)
        CHECK(seen[id] == 1);
    /* A shard is read in its own window only. */
    for (k = 0; k < all.count; k++)
        for (i = 0; i < all.file[all.order[k]].sequences; i++)
            CHECK(window_read[all.file[all.order[k]].first + i] ==
                  k / all.window);
}

static void run_program(void)
{
    static const uint32_t windows[] = {1, 2, 3, 5, 20, 0xffffffffu};
    uint32_t count = (uint32_t)check_random(20), k;
    uint64_t sum = 0;
    const uint32_t length = (uint32_t)(1 + check_random(30));

    remove_from(0);
    for (k = 0; k < count; k++) { /* many too short for a sequence */
        uint64_t most = check_random(2) == 0 ? length : MOST_TOKENS;

        write_good(k, (uint32_t)(1 + check_random(most)));
    }
    CHECK(open_all(length, windows[check_random(6)]) == STATESAMPLER_OK);
    CHECK(all.count == count && all.open == 0);
    for (k = 0; k < count; k++)
        sum += (lengths[k] - 1) / length;
    CHECK(all.sequences == sum);
    run_epoch(0);
    run_epoch(1 + check_random(9));
    shards_close(&all);
    CHECK(all.open == 0);
}

/* --- What is wrong -------------------------------------------------------- */

static void check_files(void)
{
    const uint16_t *tokens = NULL;
    uint64_t place;
    uint32_t k;

    remove_from(0);
    write_good(0, 100);
    write_good(1, 50);
    write_good(2, 100);
    CHECK(open_all(0, 3) == SHARDS_ELENGTH);
    CHECK(open_all(3, 0) == SHARDS_EWINDOW);
    CHECK(open_all(10, 1) == STATESAMPLER_OK && all.sequences == 9 + 4 + 9);
    shards_begin(&all, 0);
    CHECK(shards_find(&all, 22, &k, &place) == SHARDS_EPOSITION);
    CHECK(shards_find(&all, STATESAMPLER_NONE, &k, &place) == SHARDS_EPOSITION);
    CHECK(shards_read(&all, 3, 0, &tokens) == SHARDS_ESEQUENCE);
    CHECK(shards_read(&all, 1, 4, &tokens) == SHARDS_ESEQUENCE);
    CHECK(shards_read(&all, 0, 8, &tokens) == STATESAMPLER_OK);
    /* It changes, or goes, while the program runs. */
    write_shard(1, 60, SHARDS_HEADER + 2 * 60);
    CHECK(shards_read(&all, 1, 0, &tokens) == SHARDS_ESHARD);
    remove_from(1);
    CHECK(shards_read(&all, 1, 0, &tokens) == STATESAMPLER_ENOFILE);
    CHECK(shards_read(&all, 0, 0, &tokens) == STATESAMPLER_OK);
    CHECK(tokens[0] == token_of(0, 0) && all.open == 1);
    shards_close(&all);

    write_shard(1, 50, SHARDS_HEADER + 2 * 50 - 1);
    CHECK(open_all(10, 1) == SHARDS_ESHARD && all.count == 1);
    write_shard(1, 50, SHARDS_HEADER + 2 * 50 + 1);
    CHECK(open_all(10, 1) == SHARDS_ESHARD && all.count == 1);
    write_shard(1, 0, SHARDS_HEADER);
    CHECK(open_all(10, 1) == SHARDS_ESHARD);
    write_shard(1, 0xffffffffu, 100);
    CHECK(open_all(10, 1) == SHARDS_ESHARD && all.open == 0);
    write_shard(1, 50, 0);
    CHECK(open_all(10, 1) == SHARDS_ESHARD && all.count == 1);
    remove_from(1);
}

static void check_names(void)
{
    static char folder[2000];
    int code;

    memset(folder, 'x', sizeof folder - 1);
    memset(&all, 0, sizeof all);
    all.folder = folder;
    all.length = all.window = 1;
    CHECK(shards_open(&all) == STATESAMPLER_EIO && errno == ENAMETOOLONG);
    CHECK(strcmp(shards_error(STATESAMPLER_EIO), strerror(ENAMETOOLONG)) == 0);
    CHECK(strstr(shards_error(SHARDS_ESHARD), "no shard") != NULL);
    CHECK(strstr(shards_error(SHARDS_EMANY), "more than 1000") != NULL);
    for (code = SHARDS_ESEQUENCE; code < SHARDS_ESHARD; code++)
        CHECK(strcmp(shards_error(code), shards_error(code + 1)) != 0);
    CHECK(shards_error(SHARDS_ESEQUENCE - 1) ==
          statesampler_error(SHARDS_ESEQUENCE - 1));
}

static void check_many(void)
{
    uint32_t k;

    for (k = 0; k < SHARDS_MOST; k++)
        write_good(k, 2);
    CHECK(open_all(1, 4) == STATESAMPLER_OK && all.count == SHARDS_MOST);
    run_epoch(3);
    shards_close(&all);
    write_good(k, 2);
    CHECK(open_all(1, 4) == SHARDS_EMANY && all.open == 0);
    remove_from(0);
}

int main(int argc, char **argv)
{
    int run, runs = check_reduced(argc, argv) ? 40 : 400;

    check_files();
    check_names();
    check_many();
    for (run = 0; run < runs; run++)
        run_program();
    remove_from(0);
    return check_done("shards");
}
