/* shards.c - shuffled sequences from shards of unequal size, few of them open
   at a time.

       make examples && build/shards FOLDER [RANKS]

   shards.h reads llm.c's shards and turns a position of the sampler into a
   shard and a place in it. The checkpoint is the state and an audit of 32
   bytes, which proves that no sequence was lost or repeated. */
#define STATESAMPLER_IMPLEMENTATION
#define STATESAMPLER_HOSTED
#include "statesampler.h"
#include "example.h"
#include "extras/shards.h"
#ifdef _WIN32
#include <direct.h>
#define mkdir(path, mode) _mkdir(path)
#endif

#define LENGTH 64u

static const char usage[] =
    "usage: shards FOLDER [RANKS]\n\n"
    "Reads an epoch of the shards in FOLDER. Makes the folder and the shards\n"
    "if there are none. Each step waits for Enter: kill the program there and\n"
    "start it again, with any number of RANKS.\n";

static shards data = {
    .folder = NULL,
    .length = LENGTH,
    .window = 3,
    .seed = 42,
};
static struct {
    unsigned char state[STATESAMPLER_STATE_BYTES];
    statesampler_audit audit;
} now;

static uint16_t make_token(uint64_t k, uint64_t number)
{
    return (uint16_t)((k * 40503 + number) * 2654435761u >> 16);
}

/* Exits if there is something wrong with shard k. */
static void must(uint32_t k, int code)
{
    if (code != STATESAMPLER_OK)
        example_fail(1, "%s/%u.bin: %s", data.folder, (unsigned)k,
                     shards_error(code));
}

static void open_shards(void)
{
    int code = shards_open(&data);

    must(data.count, code);
}

static void write_shard(uint32_t k, const uint16_t *tokens, uint32_t count)
{
    int32_t header[SHARDS_HEADER / 4] = {20240520, 1, 0};
    char path[1024];
    FILE *file;

    header[2] = (int32_t)count;
    must(k, shards_path(path, data.folder, k));
    file = fopen(path, "wb");
    if (file == NULL || fwrite(header, sizeof header, 1, file) != 1 ||
        fwrite(tokens, sizeof *tokens, count, file) != count ||
        fclose(file) != 0)
        must(k, STATESAMPLER_EIO);
}

/* 13 shards of 900 to 9,899 tokens. */
static void make_shards(void)
{
    static uint16_t tokens[9900];
    uint32_t k, i, count;

    if (mkdir(data.folder, 0777) != 0 && errno != EEXIST)
        example_fail(1, "cannot make the folder %s: %s", data.folder,
                     strerror(errno));
    for (k = 0; k < 13; k++) {
        count = 900 + k * 7919 % 9000;
        for (i = 0; i < count; i++)
            tokens[i] = make_token(k, i);
        write_shard(k, tokens, count);
    }
    open_shards();
}

/* Reads the sequence at a position. Returns 1 if it is as written. */
static int train(uint64_t position)
{
    uint64_t place, id, i;
    const uint16_t *tokens;
    uint32_t k;

    example_must_say(shards_find(&data, position, &k, &place), shards_error);
    must(k, shards_read(&data, k, place, &tokens));
    id = data.file[k].first + place;
    statesampler_audit_add(&now.audit, &id, 1);
    for (i = 0; i <= LENGTH; i++)
        if (tokens[i] != make_token(k, place * LENGTH + i))
            return 0;
    return 1;
}

/* Continues from the checkpoint if there is one, and saves after each step.
   Returns 1 if every sequence was as written. */
static int run(const char *path, uint32_t ranks)
{
    const statesampler_desc desc = {
        .num_samples = data.sequences,
        .world_size = ranks,
        .batch_size = 8,
        .order = STATESAMPLER_ORDER_SEQUENTIAL, /* see shards_find */
        .tail = STATESAMPLER_TAIL_UNEVEN,
    };
    uint64_t batch[8], r;
    statesampler s, one;
    size_t count, i;
    int good = 1, code = statesampler_load_file(path, &now, sizeof now, NULL);

    example_must(statesampler_init(&s, &desc));
    if (code == STATESAMPLER_OK)
        code = statesampler_load(&s, now.state, sizeof now.state);
    if (STATESAMPLER_KIND(code) != STATESAMPLER_ENOFILE)
        example_file(path, code);
    while (statesampler_step(&s) < statesampler_num_steps(&s)) {
        for (one = s, r = 0; r < ranks; r++) {
            statesampler_reshape(&one, (uint32_t)r, ranks, 8);
            statesampler_at(&one, statesampler_step(&s), batch, &count);
            for (i = 0; i < count; i++)
                good = train(batch[i]) && good;
        }
        printf("step %d on %u ranks\n", (int)statesampler_step(&s), ranks);
        fflush(stdout);
        getchar();
        statesampler_next(&s, NULL, NULL);
        statesampler_save(&s, now.state, sizeof now.state);
        example_file(path, statesampler_save_file(path, &now, sizeof now));
    }
    return good;
}

int main(int argc, char **argv)
{
    int ranks = argc > 2 ? atoi(argv[2]) : 4, good;
    char path[1024];

    example_begin(argc, argv, 2, usage);
    if (argc < 2)
        example_fail(2, "FOLDER is missing");
    if (argv[1][0] == '-' || ranks < 1 || ranks > 1000)
        example_fail(2, "'%s' is not a FOLDER or a number of RANKS",
                     argv[argc - 1]);
    data.folder = argv[1];
    open_shards();
    if (data.count == 0)
        make_shards();
    shards_begin(&data, 0);
    snprintf(path, sizeof path, "%s/checkpoint", data.folder);
    good = run(path, (uint32_t)ranks) &&
           statesampler_audit_check(&now.audit, data.sequences);
    printf("state: %d bytes\n", (int)sizeof now.state);
    return example_end(good && data.peak <= data.window,
                       "each of %d sequences "
                       "in %u shards once, at most %u shards open",
                       (int)data.sequences, data.count, data.window);
}
