/* shards.h - shuffled sequences of tokens from shards of unequal size, mapped
   from disk. Used by shards.c; copy it if you like.

   A folder has the shards 0.bin, 1.bin, ... in llm.c's layout: 256 int32, of
   which three are used (20240520, the version 1 and the number of tokens), then
   uint16 tokens. A sequence is `length` tokens and the token after them.

   The shards are shuffled. Every `window` shards in that order are a window, in
   which the sequences are shuffled. Two permutations and a binary search turn a
   position into a shard and a place in it. Only the shards of one window are
   mapped at a time. */
#ifndef SHARDS_H
#define SHARDS_H

#ifdef _WIN32
#include <direct.h>
#else
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

#define SHARDS_HEADER 1024u
#define SHARDS_MOST 1000u

typedef struct shard {
    uint64_t first, sequences; /* number of its first sequence; how many */
    size_t bytes;
    void *map; /* NULL if it is not mapped */
} shard;

typedef struct shards {
    const char *folder;
    uint32_t length, window, count, open, peak; /* peak: most open at once */
    uint64_t seed, epoch, sequences;
    uint64_t order[SHARDS_MOST], start[SHARDS_MOST + 1]; /* of order[k] */
    shard shard[SHARDS_MOST];
} shards;

static inline void shards_path(char path[1024], const char *folder, uint32_t k)
{
    snprintf(path, 1024, "%s/%u.bin", folder, k);
}

static inline void shards_write(const char *folder, uint32_t k,
                                const uint16_t *tokens, uint32_t count)
{
    int32_t header[SHARDS_HEADER / 4] = {20240520, 1, 0};
    char path[1024];
    FILE *file;

    header[2] = (int32_t)count;
    shards_path(path, folder, k);
    file = fopen(path, "wb");
    if (file == NULL || fwrite(header, sizeof header, 1, file) != 1 ||
        fwrite(tokens, sizeof *tokens, count, file) != count ||
        fclose(file) != 0) {
        example_fail(1, "%s: %s", path, strerror(errno));
    }
}

#ifdef _WIN32

static inline int shards_make_folder(const char *path)
{
    return _mkdir(path);
}

/* Reads a file instead of mapping it. */
static inline void *shards_map_file(const char *path, size_t *bytes)
{
    int code = statesampler_load_file(path, NULL, 0, bytes);
    void *map = NULL;

    if (STATESAMPLER_KIND(code) == STATESAMPLER_ECAPACITY) {
        map = malloc(*bytes);
    }
    if (map != NULL) {
        example_file(path, statesampler_load_file(path, map, *bytes, NULL));
    }
    return map;
}

static inline void shards_unmap_file(void *map, size_t bytes)
{
    (void)bytes;
    free(map);
}

#else

static inline int shards_make_folder(const char *path)
{
    return mkdir(path, 0777);
}

static inline void *shards_map_file(const char *path, size_t *bytes)
{
    int file = open(path, O_RDONLY);
    void *map = MAP_FAILED;
    struct stat info;

    if (file >= 0 && fstat(file, &info) == 0) {
        *bytes = (size_t)info.st_size;
        map = mmap(NULL, *bytes, PROT_READ, MAP_SHARED, file, 0);
        close(file);
    }
    return map == MAP_FAILED ? NULL : map;
}

static inline void shards_unmap_file(void *map, size_t bytes)
{
    munmap(map, bytes);
}

#endif

/* Maps a shard and checks its header. Returns 0 if there is no such file. */
static inline int shard_map(shards *all, uint32_t k)
{
    shard *s = &all->shard[k];
    int32_t header[3];
    char path[1024];

    shards_path(path, all->folder, k);
    s->map = shards_map_file(path, &s->bytes);
    if (s->map == NULL && errno == ENOENT) {
        return 0;
    }
    if (s->map == NULL || s->bytes < SHARDS_HEADER) {
        example_fail(1, "%s cannot be mapped, or has no header", path);
    }
    memcpy(header, s->map, sizeof header);
    if (header[0] != 20240520 || header[1] != 1 || header[2] < 1 ||
        s->bytes != SHARDS_HEADER + 2 * (size_t)header[2]) {
        example_fail(1, "%s is not a shard", path);
    }
    s->sequences = ((uint64_t)header[2] - 1) / all->length;
    all->open++;
    all->peak = all->open > all->peak ? all->open : all->peak;
    return 1;
}

static inline void shards_unmap(shards *all)
{
    uint32_t k;

    for (k = 0; k < all->count; k++) {
        if (all->shard[k].map != NULL) {
            shards_unmap_file(all->shard[k].map, all->shard[k].bytes);
            all->shard[k].map = NULL;
            all->open--;
        }
    }
}

/* Counts the shards and their sequences. Set folder, length, window and seed
   before, and everything else to 0. */
static inline void shards_open(shards *all)
{
    while (shard_map(all, all->count)) {
        if (all->count == SHARDS_MOST - 1) {
            example_fail(1, "%s has more than %u shards", all->folder,
                         SHARDS_MOST - 1);
        }
        all->shard[all->count].first = all->sequences;
        all->sequences += all->shard[all->count++].sequences;
        shards_unmap(all);
    }
}

/* Shuffles the shards for an epoch. */
static inline void shards_begin(shards *all, uint64_t epoch)
{
    statesampler_perm perm;
    uint32_t i;

    all->epoch = epoch;
    example_must(
        statesampler_perm_init(&perm, all->count, all->seed, epoch, 0));
    statesampler_perm_fill(&perm, 0, 1, all->order, all->count);
    for (i = 0; i < all->count; i++) {
        all->start[i + 1] =
            all->start[i] + all->shard[all->order[i]].sequences;
    }
}

/* Which shard of the shuffled order holds this number: the last one that starts
   at it or before. */
static inline uint32_t shards_search(const shards *all, uint64_t number)
{
    uint32_t low = 0, high = all->count, middle;

    while (high - low > 1) { /* the distance halves each time */
        middle = low + (high - low) / 2;
        low = all->start[middle] <= number ? middle : low;
        high = all->start[middle] <= number ? high : middle;
    }
    return low;
}

/* The shard at a position. *place is the number of the sequence in it. */
static inline uint32_t shards_find(const shards *all, uint64_t position,
                                   uint64_t *place)
{
    uint32_t slot = shards_search(all, position);
    uint32_t from = slot - slot % all->window, to = from + all->window;
    uint64_t first = all->start[from], number;
    statesampler_perm perm;

    to = to < all->count ? to : all->count;
    example_must(statesampler_perm_init(&perm, all->start[to] - first,
                                        all->seed, all->epoch, 1 + from));
    number = first + statesampler_perm_at(&perm, position - first);
    slot = shards_search(all, number);
    *place = number - all->start[slot];
    return (uint32_t)all->order[slot];
}

/* The tokens of a sequence. Maps its shard if necessary, and before that unmaps
   the shards of the last window. */
static inline const uint16_t *shards_read(shards *all, uint32_t k,
                                          uint64_t place)
{
    if (all->shard[k].map == NULL) {
        if (all->open == all->window) {
            shards_unmap(all);
        }
        shard_map(all, k);
    }
    return (const uint16_t *)((const char *)all->shard[k].map +
                              SHARDS_HEADER) + place * all->length;
}

#endif
