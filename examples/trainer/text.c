/* text.c - see text.h. */
#define _POSIX_C_SOURCE 200809L /* mmap */

#include "text.h"
#include "agree.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { TENTH = 10 };

uint64_t text_hash(uint64_t hash, const void *bytes, size_t size)
{
    const unsigned char *b = (const unsigned char *)bytes;
    size_t i;

    for (i = 0; i < size; i++)
        hash = (hash ^ b[i]) * 0x100000001b3u;
    return hash;
}

/* The same in four lanes of 8 bytes, as a text may have gigabytes. */
static uint64_t hash_file(const text_file *f)
{
    const uint64_t blocks = f->size / 32;
    uint64_t lane[4] = {1, 2, 3, 4}, word[4], i;
    int k;

    for (i = 0; i < blocks; i++) {
        memcpy(word, f->bytes + 32 * i, 32);
        for (k = 0; k < 4; k++) {
            lane[k] = (lane[k] ^ word[k]) * 0x9e3779b97f4a7c15u;
            lane[k] ^= lane[k] >> 32;
        }
    }
    return text_hash(text_hash(TEXT_HASH, lane, sizeof lane),
                     f->bytes + 32 * blocks, (size_t)(f->size % 32));
}

static const text *mapped; /* by text_open */

/* Appends to a line of `used` bytes. A signal's handler, which calls it, may
   call no printf. */
static size_t append(char *line, size_t used, size_t room, const char *words)
{
    const size_t left = room - used;
    size_t count = strlen(words);

    if (count > left)
        count = left;
    memcpy(line + used, words, count);
    return used + count;
}

/* SIGBUS: a page beyond the end of a mapped file was read. In one write, as
   other processes say the same. */
static void file_cut(int number, siginfo_t *about, void *context)
{
    static const char end[] = " was truncated during the run\n";
    const uintptr_t at = (uintptr_t)about->si_addr;
    char line[4096];
    size_t used =
        append(line, 0, sizeof line - sizeof end, "trainer: the text");
    uint32_t i;

    (void)number;
    (void)context;
    for (i = 0; i < mapped->num_files; i++) {
        const text_file *f = &mapped->files[i];

        if (at - (uintptr_t)f->bytes < f->size) {
            used = append(line, used, sizeof line - sizeof end, " ");
            used = append(line, used, sizeof line - sizeof end, f->path);
        }
    }
    used = append(line, used, sizeof line, end);
    _exit(write(2, line, used) != 0); /* 1, written or not */
}

const char *text_check(text *t)
{
    text_file *f;
    struct stat now;

    for (f = t->files; f < t->files + t->num_files; f++) {
        const int known =
            fstat(f->descriptor, &now) == 0 && now.st_size == f->about.st_size;

        if (known && now.st_mtim.tv_sec == f->about.st_mtim.tv_sec &&
            now.st_mtim.tv_nsec == f->about.st_mtim.tv_nsec)
            continue;
        if (!known || hash_file(f) != f->hash)
            return complain("the text %s was changed during the run", f->path);
        f->about = now; /* it has the same bytes */
    }
    return "";
}

/* limit: -1 is none. */
static uint64_t at_most(int64_t limit, uint64_t count)
{
    return count < (uint64_t)limit ? count : (uint64_t)limit;
}

static uint64_t sequences_of(const text *t, const text_file *f)
{
    return f->size / t->length;
}

/* Maps and hashes the next file. */
static const char *map(text *t, text_file *f, const char *path)
{
    const struct stat *about = &f->about;
    void *at;

    t->num_files++;
    f->path = path;
    f->descriptor = open(path, O_RDONLY | O_NONBLOCK); /* it may be a pipe */
    if (f->descriptor < 0 || fstat(f->descriptor, &f->about) != 0)
        return cannot("open the text", path);
    if (!S_ISREG(about->st_mode))
        return complain("cannot use the text %s: it is not a regular file",
                        path);
    f->size = (uint64_t)about->st_size;
    if (sequences_of(t, f) == 0)
        return complain("the text %s has %" PRIu64 " bytes, but a sequence "
                        "needs %" PRIu64,
                        path, f->size, t->length);
    at = mmap(NULL, (size_t)f->size, PROT_READ, MAP_PRIVATE, f->descriptor, 0);
    if (at == MAP_FAILED)
        return cannot("map the text", path);
    f->bytes = (const unsigned char *)at;
    f->hash = hash_file(f);
    t->hash = text_hash(t->hash, &f->hash, 8);
    return "";
}

/* A file of DATA.TRAIN; without files of DATA.TEST a part of it is held out. */
static const char *add_train(text *t, const char *path,
                             const struct trainer_config *config)
{
    text_file *f = &t->files[t->num_files];
    const char *wrong = map(t, f, path);
    uint64_t tenth;

    if (*wrong)
        return wrong;
    f->every = TENTH;
    tenth = sequences_of(t, f) / TENTH;
    f->train = at_most(config->data_limit, sequences_of(t, f) - tenth);
    if (config->test_data_paths.count == 0)
        f->held = at_most(config->test_data_limit, tenth);
    t->held += f->held;
    return "";
}

/* A file of DATA.TEST: all of it is held out. */
static const char *add_test(text *t, const char *path,
                            const struct trainer_config *config)
{
    text_file *f = &t->files[t->num_files];
    const char *wrong = map(t, f, path);

    if (*wrong)
        return wrong;
    f->every = 1;
    f->held = at_most(config->test_data_limit, sequences_of(t, f));
    t->held += f->held;
    return "";
}

const char *text_open(text *t, const struct trainer_config *config)
{
    const config_texts *train = &config->data_paths;
    const config_texts *test = &config->test_data_paths;
    const uint32_t count = (uint32_t)train->count;
    const char *wrong = "";
    struct sigaction cut;
    uint32_t i;

    memset(t, 0, sizeof *t);
    mapped = t;
    memset(&cut, 0, sizeof cut);
    cut.sa_sigaction = file_cut;
    cut.sa_flags = SA_SIGINFO;
    sigaction(SIGBUS, &cut, NULL);
    t->length = (uint64_t)config->context + 1;
    t->hash = text_hash(TEXT_HASH, &count, sizeof count);
    for (i = 0; i < count && !*wrong; i++)
        wrong = add_train(t, train->items[i], config);
    for (i = 0; i < test->count && !*wrong; i++)
        wrong = add_test(t, test->items[i], config);
    return wrong;
}

const unsigned char *text_train(const text *t, uint32_t file, uint64_t i)
{
    return t->files[file].bytes + (i + i / (TENTH - 1)) * t->length;
}

const unsigned char *text_held(const text *t, uint64_t i)
{
    const text_file *f = t->files;

    while (i >= f->held) { /* ends: i is below their sum */
        i -= f->held;
        f++;
    }
    return f->bytes + ((i + 1) * f->every - 1) * t->length;
}
