/* shards.h - shuffled sequences of tokens from shards of unequal size, mapped
   from disk. Used by shards.c; copy it if you like. Include it after
   statesampler.h. It needs POSIX or Windows, and little-endian numbers.

   A folder has the shards 0.bin, 1.bin, ... in llm.c's layout: 256 int32, of
   which three are used (20240520, the version 1 and the number of tokens), then
   uint16 tokens. A sequence is `length` tokens and the token after them. A
   shard may be too short for any.

   The shards are shuffled. Every `window` shards in that order are a window, in
   which the sequences are shuffled. Two permutations and a binary search turn a
   position into a shard and a place in it. At most `window` shards are open at
   once; where windows meet, as for ranks of one process, some of each. */
#ifndef SHARDS_H
#define SHARDS_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifndef _WIN32
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

#define SHARDS_HEADER 1024u
#define SHARDS_MOST 1000u /* shards; shards_error says it, too */

/* Errors, beside those of statesampler.h. */
#define SHARDS_ESHARD (-1201)
#define SHARDS_EMANY (-1202)
#define SHARDS_ELENGTH (-1203)
#define SHARDS_EWINDOW (-1204)
#define SHARDS_EPOSITION (-1205)
#define SHARDS_ESEQUENCE (-1206)

typedef struct shard {
    uint64_t first, sequences; /* number of its first sequence; how many */
    size_t bytes;
    void *map; /* NULL if it is not open */
} shard;

/* Set the first four, and everything else to 0. */
typedef struct shards {
    const char *folder;      /* stays yours */
    uint32_t length, window; /* at least 1 each */
    uint64_t seed;
    uint32_t count, open, peak; /* peak: most open at once */
    uint64_t epoch, sequences;
    uint64_t order[SHARDS_MOST], start[SHARDS_MOST + 1]; /* of order[k] */
    shard file[SHARDS_MOST];
} shards;

/* An error in words. EIO: errno says why. */
static inline const char *shards_error(int code)
{
    switch (code) {
    case SHARDS_ESHARD:
        return "it is no shard of tokens, or has changed";
    case SHARDS_EMANY:
        return "the folder has more than 1000 shards";
    case SHARDS_ELENGTH:
        return "a sequence needs a length of at least 1";
    case SHARDS_EWINDOW:
        return "a window needs at least 1 shard";
    case SHARDS_EPOSITION:
        return "the epoch has no such position";
    case SHARDS_ESEQUENCE:
        return "there is no such shard, or no such sequence in it";
    case STATESAMPLER_EIO:
        return strerror(errno);
    default:
        return statesampler_error(code);
    }
}

/* The name of a shard. EIO: it is too long. */
static inline int shards_path(char path[1024], const char *folder, uint32_t k)
{
    if (strlen(folder) > 1024 - sizeof "/4294967295.bin") {
        errno = ENAMETOOLONG;
        return STATESAMPLER_EIO;
    }
    snprintf(path, 1024, "%s/%u.bin", folder, (unsigned)k);
    return STATESAMPLER_OK;
}

/* --- Files -------------------------------------------------------------------

   A whole file; NULL for one without bytes. EIO: errno says why. ENOFILE: there
   is none. */

#ifdef _WIN32

/* Reads a file instead of mapping it. */
static inline int shards_map_file(const char *path, void **map, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    long size = -1;

    *map = NULL;
    *bytes = 0;
    if (file == NULL)
        return errno == ENOENT ? STATESAMPLER_ENOFILE : STATESAMPLER_EIO;
    if (fseek(file, 0, SEEK_END) == 0)
        size = ftell(file);
    if (size > 0 && fseek(file, 0, SEEK_SET) == 0)
        *map = malloc((size_t)size);
    if (*map != NULL && fread(*map, 1, (size_t)size, file) == (size_t)size) {
        *bytes = (size_t)size;
    } else {
        free(*map);
        *map = NULL;
    }
    fclose(file);
    if (*map != NULL || size == 0)
        return STATESAMPLER_OK;
    errno = EIO;
    return STATESAMPLER_EIO;
}

static inline void shards_unmap_file(void *map, size_t bytes)
{
    (void)bytes;
    free(map);
}

#else

/* Maps a file that is open. */
static inline int shards_map_open(int file, void **map, size_t *bytes)
{
    struct stat info;
    void *at;

    if (fstat(file, &info) != 0)
        return STATESAMPLER_EIO;
    if ((uint64_t)(size_t)info.st_size != (uint64_t)info.st_size) {
        errno = EFBIG;
        return STATESAMPLER_EIO;
    }
    if (info.st_size == 0) /* mmap would refuse it */
        return STATESAMPLER_OK;
    at = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_SHARED, file, 0);
    if (at == MAP_FAILED)
        return STATESAMPLER_EIO;
    *map = at;
    *bytes = (size_t)info.st_size;
    return STATESAMPLER_OK;
}

static inline int shards_map_file(const char *path, void **map, size_t *bytes)
{
    const int file = open(path, O_RDONLY);
    int code, why;

    *map = NULL;
    *bytes = 0;
    if (file < 0)
        return errno == ENOENT ? STATESAMPLER_ENOFILE : STATESAMPLER_EIO;
    code = shards_map_open(file, map, bytes);
    why = errno;
    close(file);
    errno = why;
    return code;
}

static inline void shards_unmap_file(void *map, size_t bytes)
{
    if (map != NULL)
        munmap(map, bytes);
}

#endif

/* Opens a shard. ENOFILE: there is none. EIO: it cannot be opened. ESHARD: its
   header or its size is wrong, or not what it was. */
static inline int shards_map(shards *all, uint32_t k)
{
    shard *s = &all->file[k];
    int32_t header[3] = {0, 0, 0};
    char path[1024];
    size_t bytes;
    void *map;
    int code = shards_path(path, all->folder, k);

    if (code == STATESAMPLER_OK)
        code = shards_map_file(path, &map, &bytes);
    if (code != STATESAMPLER_OK)
        return code;
    if (bytes > SHARDS_HEADER)
        memcpy(header, map, sizeof header);
    if (header[0] != 20240520 || header[1] != 1 || header[2] < 1 ||
        bytes - SHARDS_HEADER != 2 * (uint64_t)header[2] ||
        (s->bytes != 0 && s->bytes != bytes)) {
        shards_unmap_file(map, bytes);
        return SHARDS_ESHARD;
    }
    s->map = map;
    s->bytes = bytes;
    s->sequences = ((uint64_t)header[2] - 1) / all->length;
    all->open++;
    all->peak = all->open > all->peak ? all->open : all->peak;
    return STATESAMPLER_OK;
}

static inline void shards_unmap(shards *all, uint32_t k)
{
    if (all->file[k].map != NULL) {
        shards_unmap_file(all->file[k].map, all->file[k].bytes);
        all->file[k].map = NULL;
        all->open--;
    }
}

/* Closes all shards. shards_read opens them again. */
static inline void shards_close(shards *all)
{
    uint32_t k;

    for (k = 0; k < all->count; k++)
        shards_unmap(all, k);
}

/* --- The order ------------------------------------------------------------ */

/* Counts the shards, perhaps none, and their sequences. ELENGTH, EWINDOW: it is
   0. EIO, ESHARD: of shard number `count`. EMANY: of the others there are
   SHARDS_MOST. */
static inline int shards_open(shards *all)
{
    char path[1024];
    FILE *more;
    int code;

    if (all->length == 0)
        return SHARDS_ELENGTH;
    if (all->window == 0)
        return SHARDS_EWINDOW;
    while (all->count < SHARDS_MOST) {
        code = shards_map(all, all->count);
        if (STATESAMPLER_KIND(code) == STATESAMPLER_ENOFILE)
            return STATESAMPLER_OK;
        if (code != STATESAMPLER_OK)
            return code;
        shards_unmap(all, all->count);
        all->file[all->count].first = all->sequences;
        all->sequences += all->file[all->count].sequences;
        all->count++;
    }
    code = shards_path(path, all->folder, SHARDS_MOST);
    more = code == STATESAMPLER_OK ? fopen(path, "rb") : NULL;
    if (more == NULL)
        return code;
    fclose(more);
    return SHARDS_EMANY;
}

/* Shuffles the shards for an epoch. */
static inline void shards_begin(shards *all, uint64_t epoch)
{
    statesampler_perm perm;
    uint32_t i;

    all->epoch = epoch;
    statesampler_perm_init(&perm, all->count, all->seed, epoch, 0);
    statesampler_perm_fill(&perm, 0, 1, all->order, all->count);
    for (i = 0; i < all->count; i++)
        all->start[i + 1] = all->start[i] + all->file[all->order[i]].sequences;
}

/* Which shard of the shuffled order holds this number: the last one that starts
   at it or before. */
static inline uint32_t shards_search(const shards *all, uint64_t number)
{
    uint32_t low = 0, high = all->count, middle;

    while (high - low > 1) { /* the distance halves each time */
        middle = low + (high - low) / 2;
        if (all->start[middle] <= number)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* The shard k at a position, and the number of the sequence in it; else 0.
   EPOSITION: the epoch has no such position. */
static inline int shards_find(const shards *all, uint64_t position, uint32_t *k,
                              uint64_t *place)
{
    uint32_t slot, from, to = all->count;
    uint64_t first, number;
    statesampler_perm perm;

    *k = 0;
    *place = 0;
    if (position >= all->sequences)
        return SHARDS_EPOSITION;
    slot = shards_search(all, position);
    from = slot - slot % all->window;
    if (to - from > all->window)
        to = from + all->window;
    first = all->start[from];
    statesampler_perm_init(&perm, all->start[to] - first, all->seed, all->epoch,
                           1 + from);
    number = first + statesampler_perm_at(&perm, position - first);
    slot = shards_search(all, number);
    *k = (uint32_t)all->order[slot];
    *place = number - all->start[slot];
    return STATESAMPLER_OK;
}

/* Sets *tokens to the length + 1 tokens of a sequence, until the next call;
   else to NULL. Opens its shard if necessary; if `window` are open, closes
   those before. ESEQUENCE: there is no such sequence. ENOFILE, EIO, ESHARD: of
   shard k. */
static inline int shards_read(shards *all, uint32_t k, uint64_t place,
                              const uint16_t **tokens)
{
    int code = STATESAMPLER_OK;

    *tokens = NULL;
    if (k >= all->count || place >= all->file[k].sequences)
        return SHARDS_ESEQUENCE;
    if (all->file[k].map == NULL) {
        if (all->open >= all->window)
            shards_close(all);
        code = shards_map(all, k);
    }
    if (code == STATESAMPLER_OK)
        *tokens =
            (const uint16_t *)((const char *)all->file[k].map + SHARDS_HEADER) +
            place * all->length;
    return code;
}

#endif
