/* test_hosted.c - is the environment read right, is a checkpoint file whole
   whoever writes, reads and is killed, and does errno say what went wrong?

   test_hosted [full|reduced [PART]]: "reduced" kills fewer children, and a
   part, such as storms, is asked alone. */
#if defined(__unix__) || defined(__APPLE__)
#define TEST_POSIX 1
#define _XOPEN_SOURCE 700
#else
#define TEST_POSIX 0
#endif

#include "check.h"
#include <errno.h>

#if TEST_POSIX
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* What the system answers the header in this process: 0, or an error that a
   call of this kind ends with. */
static struct {
    int write, read, fsync, flush_folder, rename, create, open, open_folder,
        close, flock;
} failing;

/* What the header asked, a letter each: w writes, f flushes a file, d flushes
   a folder, r renames. */
static char asked[1000];
static unsigned asked_count;

/* Called once, when a part of the bytes is written, or read. */
static void (*at_write)(void), (*at_read)(void);

static unsigned names_taken;   /* of so many names a file is there already */
static int interrupting;       /* every other call is interrupted */
static int full_without_error; /* what errno is where nothing is written */
static unsigned stale;         /* so many opens find a file replaced */
static int leased;             /* whoever will not wait opens no file */
static unsigned looked, crowd; /* names asked of a folder, and in it */

static void note(char what)
{
    if (asked_count + 1 < sizeof asked)
        asked[asked_count++] = what;
}

static int fails(int error)
{
    static unsigned calls;
    if (error == 0 && interrupting && calls++ % 2 == 0)
        error = EINTR;
    if (error != 0)
        errno = error;
    return error != 0;
}

static void call_once(void (**hook)(void))
{
    void (*now)(void) = *hook;
    *hook = NULL;
    if (now != NULL)
        now();
}

static int is_folder(const char *path)
{
    struct stat found;
    return stat(path, &found) == 0 && S_ISDIR(found.st_mode);
}

static int watched_open(const char *path, int flags, ...)
{
    va_list rest;
    mode_t mode = 0;
    if (flags & O_CREAT) {
        va_start(rest, flags);
        mode = (mode_t)va_arg(rest, unsigned);
        va_end(rest);
        if (names_taken > 0) {
            int file = open(path, O_WRONLY | O_CREAT, 0600);
            names_taken--;
            CHECK(file >= 0 && write(file, "theirs", 6) == 6);
            CHECK(close(file) == 0);
        }
        if (fails(failing.create))
            return -1;
    } else if (fails(is_folder(path) ? failing.open_folder : failing.open)) {
        return -1;
    } else if (stale > 0 || (leased && (flags & O_NONBLOCK) != 0)) {
        errno = stale > 0 ? ESTALE : EWOULDBLOCK;
        stale -= stale > 0;
        return -1;
    }
    return open(path, flags, mode);
}

static ssize_t watched_write(int file, const void *bytes, size_t size)
{
    ssize_t wrote;
    note('w');
    if (fails(failing.write))
        return -1;
    if (full_without_error != 0) {
        errno = full_without_error;
        return 0;
    }
    if (at_write == NULL || size < 2)
        return write(file, bytes, size);
    wrote = write(file, bytes, size / 2);
    call_once(&at_write);
    return wrote;
}

static ssize_t watched_read(int file, void *bytes, size_t size)
{
    ssize_t got;
    if (fails(failing.read))
        return -1;
    if (at_read == NULL || size < 2)
        return read(file, bytes, size);
    got = read(file, bytes, size / 2);
    call_once(&at_read);
    return got;
}

static int watched_fsync(int file)
{
    struct stat found;
    const int folder = fstat(file, &found) == 0 && S_ISDIR(found.st_mode);
    note(folder ? 'd' : 'f');
    if (fails(folder ? failing.flush_folder : failing.fsync))
        return -1;
    return fsync(file);
}

/* A file is closed even where this fails. */
static int watched_close(int file)
{
    int result = close(file);
    return fails(failing.close) ? -1 : result;
}

static int watched_rename(const char *from, const char *to)
{
    note('r');
    if (failing.rename != 0) {
        errno = failing.rename;
        return -1;
    }
    return rename(from, to);
}

static int watched_flock(int file, int what)
{
    if (failing.flock == 0)
        return flock(file, what);
    errno = failing.flock;
    return -1;
}

static struct dirent *watched_readdir(DIR *entries)
{
    static struct dirent nameless;
    struct dirent *entry = readdir(entries);
    return ++looked <= crowd && entry == NULL ? &nameless : entry;
}

#define open watched_open
#define write watched_write
#define read watched_read
#define fsync watched_fsync
#define close watched_close
#define rename watched_rename
#define flock watched_flock
#define readdir watched_readdir
#endif

#define STATESAMPLER_IMPLEMENTATION
#define STATESAMPLER_HOSTED
#include "statesampler.h"
#undef open
#undef write
#undef read
#undef fsync
#undef close
#undef rename
#undef flock
#undef readdir

#define MEGABYTE 1000000u

/* The name of a temporary file for `state`, or for another. */
static const char *name_of(const char *state, unsigned number)
{
    static char name[36];
    size_t k = strlen(state);
    uint64_t hash = 0;
    while (k > 0) { /* SplitMix64 */
        hash += (unsigned char)state[--k] + UINT64_C(0x9e3779b97f4a7c15);
        hash = (hash ^ hash >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        hash = (hash ^ hash >> 27) * UINT64_C(0x94d049bb133111eb);
        hash ^= hash >> 31;
    }
    sprintf(name, ".statesampler-%08x-%08x.tmp", (unsigned)(hash & 0xffffffffu),
            number);
    return name;
}

enum { SIMILAR = 9 - !TEST_POSIX };

/* Files whose names are not those of temporary files for `state`, with room
   for one of them. */
static const char *similar(unsigned k, char name[80])
{
    static const char *const others[] = {"state.tmp", ".state.tmp",
                                         ".statesampler-.tmp"};
    if (k < 3)
        return strcpy(name, others[k]);
    strcpy(name, name_of(k == 3 ? "other" : "state", 1));
    if (k == 4)
        strcpy(name + 31, "1.tmp"); /* too long */
    if (k == 5)
        name[33] = '_';
    if (k == 6)
        name[0] = '_';
    if (k == 7)
        strcat(name, "x");
    if (k == 8)
        strcpy(name + 30, ".tmp"); /* too short, which Windows does not ask */
    return name;
}

/* ---- every system ---- */

/* Exactly size bytes, not one less and not one more. */
static void check_exact(const char *path, const unsigned char *bytes,
                        size_t size)
{
    unsigned char *back = (unsigned char *)malloc(size + 2);
    size_t k;
    CHECK(back != NULL);
    for (k = size > 0 ? size - 1 : 0; k <= size + 1; k++) {
        memset(back, 0xee, size + 2);
        CHECK(statesampler_load_file(path, back, k, NULL) ==
              (k == size ? STATESAMPLER_OK : STATESAMPLER_ECORRUPT_SIZE));
        CHECK(memcmp(back, bytes, k < size ? k : size) == 0);
        CHECK(back[k < size ? k : size] == 0xee && back[size + 1] == 0xee);
    }
    free(back);
}

/* One file, all sizes; it stays, and is empty. */
static void check_sizes(const char *path)
{
    static const size_t sizes[] = {
        0, 1, STATESAMPLER_STATE_BYTES, 4095, 4096, 4097, 65536, 10 * MEGABYTE,
        3,
    };
    size_t k, i, got, largest = 10 * MEGABYTE;
    unsigned char *bytes = (unsigned char *)malloc(largest + 1);
    unsigned char *back = (unsigned char *)malloc(largest + 1);
    CHECK(bytes != NULL && back != NULL);
    for (k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        size_t size = sizes[k];
        for (i = 0; i < size; i++)
            bytes[i] = (unsigned char)(i * 37 + (i >> 9) + k);
        CHECK(statesampler_save_file(path, bytes, size) == STATESAMPLER_OK);
        memset(back, 0xee, size + 1);
        got = 12345;
        CHECK(statesampler_load_file(path, back, largest, &got) ==
              STATESAMPLER_OK);
        CHECK(got == size);
        CHECK(memcmp(bytes, back, size) == 0);
        CHECK(back[size] == 0xee);
        /* The capacity may be just enough, and not one less. */
        memset(back, 0xee, size + 1);
        got = 12345;
        CHECK(statesampler_load_file(path, back, size, &got) ==
              STATESAMPLER_OK);
        CHECK(got == size && memcmp(bytes, back, size) == 0);
        CHECK(back[size] == 0xee);
        if (size > 0) {
            memset(back, 0xee, size + 1);
            got = 12345;
            CHECK(statesampler_load_file(path, back, size - 1, &got) ==
                  STATESAMPLER_ECAPACITY);
            CHECK(got == size);
            CHECK(memcmp(bytes, back, size - 1) == 0);
            CHECK(back[size - 1] == 0xee && back[size] == 0xee);
            got = 12345;
            CHECK(statesampler_load_file(path, NULL, 0, &got) ==
                  STATESAMPLER_ECAPACITY);
            CHECK(got == size);
        }
        check_exact(path, bytes, size);
    }
    CHECK(statesampler_save_file(path, NULL, 0) == STATESAMPLER_OK);
    CHECK(statesampler_load_file(path, NULL, 0, &got) == STATESAMPLER_OK);
    CHECK(got == 0);
    free(bytes);
    free(back);
}

static void check_absent(const char *path)
{
    size_t got = 12345;
    CHECK(statesampler_load_file(path, NULL, 0, &got) == STATESAMPLER_ENOFILE);
    CHECK(statesampler_load_file(path, NULL, 0, NULL) == STATESAMPLER_ENOFILE);
    CHECK(got == 12345);
}

static void check_round_trip(const char *path)
{
    check_sizes(path);
    CHECK(remove(path) == 0);
    check_absent(path);
}

/* This path is refused with these values of errno, and nothing is set; 0 says
   that there is no such file to load. */
static void check_refused(const char *path, int save, int load)
{
    unsigned char bytes[4] = {1, 2, 3, 4};
    size_t got = 12345;
    int said, code;
    errno = 0;
    code = statesampler_save_file(path, bytes, 4);
    said = errno;
    if (code != STATESAMPLER_EIO || said != save)
        printf("%.60s: save %d, %s\n", path, code, strerror(said));
    CHECK(code == STATESAMPLER_EIO && said == save);
    errno = 0;
    code = statesampler_load_file(path, bytes, 4, &got);
    said = errno;
    if (code != (load ? STATESAMPLER_EIO : STATESAMPLER_ENOFILE) ||
        (load && said != load))
        printf("%.60s: load %d, %s\n", path, code, strerror(said));
    CHECK(code == (load ? STATESAMPLER_EIO : STATESAMPLER_ENOFILE));
    CHECK((load == 0 || said == load) && got == 12345);
}

static void check_paths(void)
{
    static char endless[100000];
    check_refused("no folder/file", ENOENT, 0);
    CHECK(statesampler_save_file("", "", 0) == STATESAMPLER_EINVAL_PATH);
    CHECK(statesampler_load_file("", NULL, 0, NULL) ==
          STATESAMPLER_EINVAL_PATH);
    memset(endless, 'n', sizeof endless - 1);
    CHECK(statesampler_save_file(endless, "", 0) == STATESAMPLER_EINVAL_PATH);
    endless[4096] = 0;
    CHECK(statesampler_save_file(endless, "", 0) == STATESAMPLER_EINVAL_PATH);
    endless[4095] = 0;
    CHECK(statesampler_save_file(endless, "", 0) == STATESAMPLER_EIO);
}

/* ---- the environment ---- */

struct launcher {
    const char *name, *rank, *size;
};

static const struct launcher launchers[] = {
    {"torchrun", "RANK", "WORLD_SIZE"},
    {"openmpi", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"pmi", "PMI_RANK", "PMI_SIZE"},
    {"slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
};

/* Has a rank where it has started one process only, in a batch script. */
enum { SLURM = 3 };

/* A null pointer takes the variable away. */
static void set_variable(const char *name, const char *value)
{
#if TEST_POSIX
    CHECK((value ? setenv(name, value, 1) : unsetenv(name)) == 0);
#else
    char line[100];
    sprintf(line, "%s=%s", name, value ? value : "");
    CHECK(_putenv(line) == 0);
#endif
}

static void clear_environment(void)
{
    unsigned k;
    for (k = 0; k < 4; k++) {
        set_variable(launchers[k].rank, NULL);
        set_variable(launchers[k].size, NULL);
    }
}

static void set_pair(unsigned k, const char *rank, const char *size)
{
    set_variable(launchers[k].rank, rank);
    set_variable(launchers[k].size, size);
}

static void environment_gives(int code, const char *name, uint32_t rank,
                              uint32_t size)
{
    statesampler_desc d, before;
    const char *launcher = "untouched";
    memset(&d, 0x6b, sizeof d);
    memcpy(&before, &d, sizeof d);
    CHECK(statesampler_from_env(&d, &launcher) == code);
    CHECK(launcher != NULL && strcmp(launcher, name) == 0);
    if (code == STATESAMPLER_OK) {
        CHECK(d.rank == rank);
        CHECK(d.world_size == size);
        before.rank = rank;
        before.world_size = size;
    }
    /* Nothing else of the description changes, and on an error nothing. */
    CHECK(memcmp(&d, &before, sizeof d) == 0);
    /* Who does not ask for the launcher gets the same. */
    memset(&d, 0x6b, sizeof d);
    CHECK(statesampler_from_env(&d, NULL) == code);
    CHECK(memcmp(&d, &before, sizeof d) == 0);
}

/* With a rank alone, and no launcher behind it. */
static void lacks_size(unsigned k)
{
    if (k == SLURM)
        environment_gives(STATESAMPLER_OK, "none", 0, 1);
    else
        environment_gives(STATESAMPLER_EENV_UNSET, launchers[k].name, 0, 0);
}

static void check_pair(unsigned k)
{
    /* The first one cannot be set on Windows. Filled lines: clang-format would
       give each item one of its own. */
    /* clang-format off */
    static const char *const malformed[] = {
        "", " ", "-1", "-0", "+3", " 3", "3 ", "\t3", "3x", "x3", "0x3", "3.0",
        "3e0", "4294967296", "4294967297", "4294967299", "18446744073709551615",
        "18446744073709551616", "18446744073709551619",
        "340282366920938463463374607431768211459", "three", "3,4", "3\n"
    };
    /* clang-format on */
    const char *name = launchers[k].name;
    unsigned m;
    set_pair(k, "3", "8");
    environment_gives(STATESAMPLER_OK, name, 3, 8);
    set_pair(k, "0", "1");
    environment_gives(STATESAMPLER_OK, name, 0, 1);
    set_pair(k, "7", "8");
    environment_gives(STATESAMPLER_OK, name, 7, 8);
    set_pair(k, "4294967294", "4294967295");
    environment_gives(STATESAMPLER_OK, name, 4294967294u, 4294967295u);
    set_pair(k, "9", "10");
    environment_gives(STATESAMPLER_OK, name, 9, 10);
    /* A rank the world does not have, and a world without ranks. */
    set_pair(k, "8", "8");
    environment_gives(STATESAMPLER_EENV_RANK, name, 0, 0);
    set_pair(k, "4294967295", "4294967295");
    environment_gives(STATESAMPLER_EENV_RANK, name, 0, 0);
    set_pair(k, "1", "0");
    environment_gives(STATESAMPLER_EENV_RANK, name, 0, 0);
    set_pair(k, "0", "0");
    environment_gives(STATESAMPLER_EENV_RANK, name, 0, 0);
    /* Half a pair is an error, not rank 0 and not a world of one. */
    set_pair(k, "0", NULL);
    lacks_size(k);
    set_pair(k, NULL, "8");
    environment_gives(STATESAMPLER_EENV_UNSET, name, 0, 0);
    set_pair(k, "x", NULL);
    lacks_size(k);
    set_pair(k, NULL, "x");
    environment_gives(STATESAMPLER_EENV_NUMBER, name, 0, 0);
    for (m = !TEST_POSIX; m < sizeof malformed / sizeof malformed[0]; m++) {
        set_pair(k, malformed[m], "8");
        environment_gives(STATESAMPLER_EENV_NUMBER, name, 0, 0);
        set_pair(k, "2", malformed[m]);
        environment_gives(STATESAMPLER_EENV_NUMBER, name, 0, 0);
        set_pair(k, malformed[m], malformed[m]);
        environment_gives(STATESAMPLER_EENV_NUMBER, name, 0, 0);
    }
    set_pair(k, NULL, NULL);
}

static void check_environment(void)
{
    unsigned k, set, wrong;
    char buffer[16];
    clear_environment();
    environment_gives(STATESAMPLER_OK, "none", 0, 1);
    for (k = 0; k < 4; k++)
        check_pair(k);
    /* Every set of launchers: the first of them decides, be it wrong. */
    for (set = 1; set < 16; set++) {
        for (wrong = 0; wrong < 4; wrong++) {
            unsigned first = 4;
            const char *name;
            clear_environment();
            for (k = 0; k < 4; k++)
                if (set >> k & 1) {
                    sprintf(buffer, "%u", 10 + k);
                    set_pair(k, buffer, "64");
                    if (first == 4)
                        first = k;
                }
            name = launchers[first].name;
            environment_gives(STATESAMPLER_OK, name, 10 + first, 64);
            if (wrong == 0) {
                set_variable(launchers[first].rank, "x");
                environment_gives(STATESAMPLER_EENV_NUMBER, name, 0, 0);
            } else if (wrong == 1) {
                set_variable(launchers[first].rank, NULL);
                environment_gives(STATESAMPLER_EENV_UNSET, name, 0, 0);
            } else if (wrong == 2) {
                set_variable(launchers[first].size, NULL);
                lacks_size(first);
            } else {
                set_variable(launchers[first].size, "10");
                environment_gives(STATESAMPLER_EENV_RANK, name, 0, 0);
            }
        }
    }
    /* What sbatch sets for four tasks, of which it starts one. */
    clear_environment();
    set_variable("SLURM_PROCID", "0");
    set_variable("SLURM_NTASKS", "4");
    environment_gives(STATESAMPLER_OK, "none", 0, 1);
    set_variable("SLURM_NTASKS", NULL);
    /* Where they start a sampler, they start it. */
    clear_environment();
    set_pair(1, "2", "5");
    {
        statesampler s;
        statesampler_desc d;
        uint64_t out[1];
        size_t count;
        memset(&d, 0, sizeof d);
        d.num_samples = 5;
        d.order = STATESAMPLER_ORDER_SEQUENTIAL;
        CHECK(statesampler_from_env(&d, NULL) == STATESAMPLER_OK);
        CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
        CHECK(statesampler_next(&s, out, &count) == 1);
        CHECK(count == 1 && out[0] == 2);
    }
    clear_environment();
}

#if TEST_POSIX

/* ---- files of a folder of our own ---- */

/* Bytes that tell which save they are from and how many there are, so that a
   mixture of two saves, or a part of one, cannot pass for either. */
static void compose(unsigned char *bytes, size_t size, uint64_t number)
{
    uint64_t x = number * UINT64_C(0x9e3779b97f4a7c15) + size;
    size_t i;
    CHECK(size >= 16);
    for (i = 0; i < 8; i++) {
        bytes[i] = (unsigned char)(number >> 8 * i);
        bytes[8 + i] = (unsigned char)((uint64_t)size >> 8 * i);
    }
    for (i = 16; i < size; i++) {
        x = x * UINT64_C(6364136223846793005) + 1442695040888963407u;
        bytes[i] = (unsigned char)(x >> 56);
    }
}

static uint64_t number_of(const unsigned char *bytes)
{
    uint64_t number = 0;
    size_t i;
    for (i = 0; i < 8; i++)
        number |= (uint64_t)bytes[i] << 8 * i;
    return number;
}

static int whole(const unsigned char *bytes, size_t size)
{
    static unsigned char scratch[MEGABYTE];
    if (size < 16 || size > sizeof scratch)
        return 0;
    compose(scratch, size, number_of(bytes));
    return memcmp(bytes, scratch, size) == 0;
}

static unsigned char work[MEGABYTE];

static int save_number(const char *path, size_t size, uint64_t number)
{
    compose(work, size, number);
    return statesampler_save_file(path, work, size);
}

/* The number of the save that path is from; 0 if it is not whole. */
static uint64_t load_number(const char *path)
{
    size_t got = 0;
    if (statesampler_load_file(path, work, sizeof work, &got) !=
            STATESAMPLER_OK ||
        !whole(work, got))
        return 0;
    return number_of(work);
}

static char folder[128];

/* All tests run in the folder; this is how many files are in it. */
static unsigned count_files(void)
{
    DIR *entries = opendir(".");
    struct dirent *entry;
    unsigned files = 0;
    CHECK(entries != NULL);
    while ((entry = readdir(entries)) != NULL)
        files +=
            strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(entries);
    return files;
}

static void empty_folder(void)
{
    DIR *entries = opendir(".");
    struct dirent *entry;
    while (entries != NULL && (entry = readdir(entries)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            (void)remove(entry->d_name);
    if (entries != NULL)
        closedir(entries);
}

/* Also at the end of a test that fails, even for want of descriptors. */
static pid_t parent;
static void remove_folder(void)
{
    int file;
    if (getpid() != parent)
        return;
    for (file = 3; file < 64; file++)
        close(file);
    if (chdir(folder) == 0) {
        empty_folder();
        if (chdir("/") == 0)
            rmdir(folder);
    }
}

static pid_t start_child(void)
{
    pid_t child;
    fflush(stdout);
    child = fork();
    CHECK(child >= 0);
    return child;
}

/* Waits for a child that ends by itself and has found nothing wrong. */
static void end_child(pid_t child)
{
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Ends a child, with what CHECK prints. */
static void leave_child(void)
{
    fflush(stdout);
    _exit(0);
}

/* Makes this process another user's; one that is not root's cannot. */
static void become_nobody(void)
{
    CHECK(setgid(65534) == 0);
    CHECK(setuid(65534) == 0);
}

static int is_root(void)
{
    return geteuid() == 0;
}

/* ---- what is at the path ---- */

static void check_kinds(void)
{
    struct sockaddr_un address;
    struct stat found, usual;
    char path[4200];
    size_t length, got;
    pid_t child;
    int file;
    FILE *f;

    check_refused(".", EBUSY, EISDIR);
    check_refused("..", EBUSY, EISDIR);
    CHECK(statesampler_load_file("/", NULL, 0, &got) == STATESAMPLER_EIO);
    CHECK(errno == EISDIR);
    /* A file in a folder's place. */
    CHECK(save_number("plain", 100, 1) == STATESAMPLER_OK);
    check_refused("plain/file", ENOTDIR, ENOTDIR);
    check_refused("plain/", ENOTDIR, ENOTDIR);
    CHECK(load_number("plain") == 1 && count_files() == 1);

    CHECK(mkdir("inner", 0777) == 0);
    check_refused("inner", EISDIR, EISDIR);
    check_refused("inner/", ENOTDIR, EISDIR);
    CHECK(rmdir("inner") == 0);

    /* What is no regular file is loaded if it ends, and a save replaces it. */
    CHECK(mkfifo("pipe", 0666) == 0);
    alarm(20);
    child = start_child();
    if (child == 0) {
        file = open("pipe", O_WRONLY);
        CHECK(file >= 0 && write(file, "six", 3) == 3);
        _exit(0);
    }
    CHECK(statesampler_load_file("pipe", path, 9, &got) == STATESAMPLER_OK);
    CHECK(got == 3 && memcmp(path, "six", 3) == 0);
    end_child(child);
    file = open("pipe", O_RDWR);
    CHECK(file >= 0 && write(file, "seven", 5) == 5);
    CHECK(statesampler_load_file("pipe", path, 4, &got) == STATESAMPLER_EIO);
    CHECK(errno == ESPIPE && got == 3 && close(file) == 0);
    CHECK(save_number("pipe", 100, 1) == STATESAMPLER_OK);
    CHECK(lstat("pipe", &found) == 0 && S_ISREG(found.st_mode));
    CHECK(load_number("pipe") == 1);
    memset(&address, 0, sizeof address);
    address.sun_family = AF_UNIX;
    strcpy(address.sun_path, "socket");
    file = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK(file >= 0);
    CHECK(bind(file, (struct sockaddr *)&address, sizeof address) == 0);
    CHECK(statesampler_load_file("socket", path, 9, &got) == STATESAMPLER_EIO);
    CHECK(errno == ENXIO && close(file) == 0);
    CHECK(save_number("socket", 100, 2) == STATESAMPLER_OK);
    CHECK(load_number("socket") == 2);
    CHECK(statesampler_load_file("/dev/zero", path, 9, &got) ==
          STATESAMPLER_EIO); /* it has no end */
    CHECK(errno == EFBIG && got == 3);
    CHECK(statesampler_load_file("/dev/zero", NULL, 0, &got) ==
          STATESAMPLER_EIO);
    CHECK(errno == EFBIG && got == 3);
    alarm(0);
    empty_folder();

    /* A link to a file, a folder or nothing is replaced; what it leads to
       stays. */
    CHECK(save_number("target", 100, 1) == STATESAMPLER_OK);
    CHECK(symlink("target", "link") == 0 && symlink("none", "dangling") == 0);
    CHECK(symlink("round", "round") == 0 && symlink(".", "folder") == 0);
    CHECK(load_number("link") == 1);
    CHECK(save_number("link", 100, 2) == STATESAMPLER_OK);
    CHECK(lstat("link", &found) == 0 && S_ISREG(found.st_mode));
    CHECK(load_number("link") == 2 && load_number("target") == 1);
    check_absent("dangling");
    CHECK(save_number("dangling", 100, 3) == STATESAMPLER_OK);
    CHECK(load_number("dangling") == 3);
    CHECK(statesampler_load_file("round", NULL, 0, &got) == STATESAMPLER_EIO);
    CHECK(errno == ELOOP);
    CHECK(save_number("round", 100, 4) == STATESAMPLER_OK);
    CHECK(load_number("round") == 4);
    CHECK(statesampler_load_file("folder", NULL, 0, &got) == STATESAMPLER_EIO);
    CHECK(errno == EISDIR);
    CHECK(save_number("folder", 100, 5) == STATESAMPLER_OK);
    CHECK(load_number("folder") == 5 && count_files() == 5);
    empty_folder();

    /* The longest name, and one byte more. */
    memset(path, 'n', sizeof path);
    path[255] = 0;
    CHECK(save_number(path, 100, 5) == STATESAMPLER_OK);
    CHECK(load_number(path) == 5 && count_files() == 1);
    path[255] = 'n';
    path[256] = 0;
    check_refused(path, ENAMETOOLONG, ENAMETOOLONG);
    CHECK(count_files() == 1);
    empty_folder();

    /* The longest path, to a long name and to one that has no room beside
       it. */
    for (length = 0; length + 2 <= 4095; length += 2)
        memcpy(path + length, "./", 2);
    path[length++] = 'n';
    path[length] = 0;
    CHECK(length == 4095);
    CHECK(save_number(path, 100, 6) == STATESAMPLER_EIO);
    CHECK(errno == ENAMETOOLONG && count_files() == 0);
    memset(path + 4000, 'n', 95);
    CHECK(save_number(path, 100, 6) == STATESAMPLER_OK);
    CHECK(load_number(path) == 6 && count_files() == 1);
    empty_folder();

    /* A file has the mode of any file, whatever the old one's is. */
    f = fopen("usual", "wb");
    CHECK(f != NULL && fclose(f) == 0);
    CHECK(save_number("ours", 100, 7) == STATESAMPLER_OK);
    CHECK(chmod("ours", 0400) == 0);
    CHECK(save_number("ours", 100, 8) == STATESAMPLER_OK);
    CHECK(stat("ours", &found) == 0 && stat("usual", &usual) == 0);
    CHECK((found.st_mode & 0777) == (usual.st_mode & 0777));
    CHECK(load_number("ours") == 8);
    empty_folder();
}

/* ---- loading ---- */

static void grow_file(void)
{
    int file = open("moving", O_WRONLY | O_APPEND);
    CHECK(file >= 0 && write(file, "more", 4) == 4 && close(file) == 0);
}

static void shrink_file(void)
{
    CHECK(truncate("moving", 10) == 0);
}

static void replace_file(void)
{
    static unsigned char bytes[500];
    compose(bytes, sizeof bytes, 6);
    CHECK(statesampler_save_file("moving", bytes, sizeof bytes) ==
          STATESAMPLER_OK);
}

/* A file that somebody changes meanwhile is what is read of it to its end, and
   one of an unknown length must end within the capacity. */
static void check_moving(void)
{
    static void (*const changes[])(void) = {grow_file, grow_file, shrink_file,
                                            shrink_file};
    static const size_t capacities[] = {2000, 1000, 2000, 999};
    static const size_t lengths[] = {1004, 1004, 1000, 499};
    unsigned char back[2000];
    size_t got = 12345, k;
    for (k = 0; k < 4; k++) {
        CHECK(save_number("moving", 1000, k) == STATESAMPLER_OK);
        at_read = changes[k];
        CHECK(statesampler_load_file("moving", back, capacities[k], &got) ==
              (lengths[k] > capacities[k] ? STATESAMPLER_ECAPACITY
                                          : STATESAMPLER_OK));
        CHECK(got == lengths[k]);
    }
    /* One that is replaced meanwhile is the old one. */
    CHECK(save_number("moving", 1000, 5) == STATESAMPLER_OK);
    at_read = replace_file;
    CHECK(load_number("moving") == 5 && load_number("moving") == 6);
#ifdef __linux__
    /* It has size 0, and bytes. */
    CHECK(statesampler_load_file("/proc/self/status", work, sizeof work,
                                 &got) == STATESAMPLER_OK);
    CHECK(got > 100 && memcmp(work, "Name:", 5) == 0);
    got = 12345;
    CHECK(statesampler_load_file("/proc/self/status", back, 100, &got) ==
          STATESAMPLER_EIO);
    CHECK(errno == EINVAL && got == 12345);
    CHECK(statesampler_load_file("/proc/self/status", back, 0, NULL) ==
          STATESAMPLER_EIO);
    CHECK(errno == EINVAL);
#endif
    empty_folder();
}

/* Only the file system is asked how large it is; size says so, or EFBIG that it
   cannot. */
static void check_sparse(void)
{
    uint64_t size = UINT64_C(100000000000);
    unsigned char back[16];
    size_t got = 12345;
    int code, file = open("sparse", O_WRONLY | O_CREAT, 0666);
    CHECK(file >= 0 && write(file, "beginning of it.", 16) == 16);
    if (sizeof(off_t) < 8 || ftruncate(file, (off_t)size) != 0) {
        printf("skip a sparse file of 100 GB: the system has none\n");
    } else {
        alarm(10);
        code = statesampler_load_file("sparse", back, 16, &got);
        if (size > SIZE_MAX) {
            CHECK(code == STATESAMPLER_EIO && errno == EFBIG && got == 12345);
        } else {
            CHECK(code == STATESAMPLER_ECAPACITY && got == size);
            CHECK(memcmp(back, "beginning of it.", 16) == 0);
            CHECK(statesampler_load_file("sparse", back, 16, NULL) ==
                  STATESAMPLER_ECORRUPT_SIZE);
        }
        alarm(0);
    }
    close(file);
    empty_folder();
}

/* A file that a server has lent out is waited for, and one that was replaced
   while it was looked up is looked up once more; a save begins again. */
static void check_lent(void)
{
    CHECK(save_number("state", 1000, 1) == STATESAMPLER_OK);
    leased = 1;
    CHECK(load_number("state") == 1);
    leased = 0;
    stale = 1;
    CHECK(load_number("state") == 1 && stale == 0);
    stale = 2;
    CHECK(statesampler_load_file("state", work, 1000, NULL) ==
          STATESAMPLER_EIO);
    CHECK(errno == ESTALE && stale == 0);
    stale = 1; /* the folder */
    CHECK(save_number("state", 1000, 2) == STATESAMPLER_OK && stale == 0);
    CHECK(load_number("state") == 2);
    empty_folder();
}

static void check_loading(void)
{
    check_moving();
    check_sparse();
    check_lent();
}

/* ---- errors of the system ---- */

/* An error of one call of a save is what errno says: nothing is left behind,
   and the file is the old one, or the new one where it was renamed. */
static void check_answer(int *failure, int error, int said, uint64_t there)
{
    int code;
    *failure = error;
    code = save_number("state", 5000, 2);
    *failure = 0;
    if (code != STATESAMPLER_EIO || errno != said)
        printf("%s: %d, %s\n", strerror(error), code, strerror(errno));
    CHECK(code == STATESAMPLER_EIO && errno == said);
    CHECK(count_files() == 1 && load_number("state") == there);
    CHECK(save_number("state", 3000, 1) == STATESAMPLER_OK);
}

static void check_load_answer(int *failure, int error, int code)
{
    size_t got = 12345;
    *failure = error;
    CHECK(statesampler_load_file("state", work, 5000, &got) == code);
    *failure = 0;
    CHECK(errno == error && got == 12345);
}

static void do_nothing(void)
{
}

static void check_answers(void)
{
    static const int errors[] = {EACCES, EPERM,  EROFS,  ENOSPC, EDQUOT,
                                 EFBIG,  ENFILE, EMFILE, EIO,    EBUSY,
                                 EISDIR, EAGAIN, ENOMEM, ESTALE, ETIMEDOUT};
    static const int harmless[] = {EINVAL, ENOSYS, ENOTSUP};
    size_t got, k;
    CHECK(save_number("state", 3000, 1) == STATESAMPLER_OK);
    for (k = 0; k < sizeof errors / sizeof errors[0]; k++) {
        const int error = errors[k];
        check_answer(&failing.create, error, error, 1);
        check_answer(&failing.write, error, error, 1);
        check_answer(&failing.fsync, error, error, 1);
        check_answer(&failing.close, error, error, 1);
        check_answer(&failing.rename, error, error, 1);
        check_answer(&failing.open_folder, error, error, 1);
        check_answer(&failing.flush_folder, error, error, 2);
        check_load_answer(&failing.open, error, STATESAMPLER_EIO);
        check_load_answer(&failing.read, error, STATESAMPLER_EIO);
    }
    failing.close = EDQUOT; /* errno is that of the read all the same */
    check_load_answer(&failing.read, EIO, STATESAMPLER_EIO);
    failing.close = 0;
    check_answer(&failing.fsync, EINVAL, EINVAL, 1);
    check_answer(&failing.create, EEXIST, EEXIST, 1);
    check_answer(&failing.rename, ENOENT, ENOENT, 1);
    check_answer(&full_without_error, EINTR, EIO, 1);
    check_load_answer(&failing.open, ENOENT, STATESAMPLER_ENOFILE);
    /* A file system that cannot flush a folder. */
    for (k = 0; k < sizeof harmless / sizeof harmless[0]; k++) {
        failing.flush_folder = harmless[k];
        CHECK(save_number("state", 3000, 1) == STATESAMPLER_OK);
    }
    failing.flush_folder = 0;

    /* The first part of a file comes in two reads, and no more than it. */
    memset(work, 0x33, 200);
    at_read = do_nothing;
    CHECK(statesampler_load_file("state", work, 100, &got) ==
          STATESAMPLER_ECAPACITY);
    CHECK(got == 3000);
    for (k = 100; k < 200; k++)
        CHECK(work[k] == 0x33);

    /* Signals interrupt every call once; no save or load fails for it. */
    interrupting = 1;
    CHECK(save_number("state", 5000, 3) == STATESAMPLER_OK);
    CHECK(load_number("state") == 3);
    interrupting = 0;
    CHECK(count_files() == 1);
    empty_folder();
}

/* A limit on the size of files: the process may ignore its signal. */
static void check_size_limit(void)
{
    static const rlim_t room[] = {0, 1, 100, 4096, 65536, MEGABYTE - 1};
    struct rlimit old, small;
    pid_t child;
    int status;
    size_t k;
    CHECK(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    CHECK(getrlimit(RLIMIT_FSIZE, &old) == 0);
    CHECK(save_number("state", 5000, 41) == STATESAMPLER_OK);
    for (k = 0; k < sizeof room / sizeof room[0]; k++) {
        int code;
        fflush(stdout);
        small = old;
        small.rlim_cur = room[k];
        CHECK(setrlimit(RLIMIT_FSIZE, &small) == 0);
        code = save_number("state", MEGABYTE, 42);
        CHECK(errno == EFBIG && setrlimit(RLIMIT_FSIZE, &old) == 0);
        CHECK(code == STATESAMPLER_EIO);
        CHECK(count_files() == 1);
        CHECK(load_number("state") == 41);
    }
    /* If it does not, the signal is like any crash. */
    CHECK(signal(SIGXFSZ, SIG_DFL) != SIG_ERR);
    child = start_child();
    if (child == 0) {
        small.rlim_cur = 65536;
        CHECK(setrlimit(RLIMIT_FSIZE, &small) == 0);
        (void)save_number("state", MEGABYTE, 42);
        _exit(3);
    }
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ);
    CHECK(load_number("state") == 41);
    CHECK(save_number("state", MEGABYTE, 43) == STATESAMPLER_OK);
    CHECK(load_number("state") == 43);
    empty_folder();
}

/* No file stays open: far more calls than a process may have files. */
static void check_open_files(void)
{
    struct rlimit old, small;
    size_t k, got;
    int files[32], opened = 0;
    CHECK(getrlimit(RLIMIT_NOFILE, &old) == 0);
    small = old;
    small.rlim_cur = 32;
    CHECK(setrlimit(RLIMIT_NOFILE, &small) == 0);
    CHECK(mkdir("taken", 0777) == 0);
    for (k = 0; k < 40; k++) {
        check_refused("taken", EISDIR, EISDIR);
        failing.write = ENOSPC;
        CHECK(save_number("state", 100, 8) == STATESAMPLER_EIO);
        failing.write = 0;
        CHECK(save_number("state", 100, 7) == STATESAMPLER_OK);
        CHECK(statesampler_load_file("state", work, 99, &got) ==
              STATESAMPLER_ECAPACITY);
        failing.read = EIO;
        CHECK(statesampler_load_file("state", work, 100, &got) ==
              STATESAMPLER_EIO);
        failing.read = 0;
        CHECK(load_number("state") == 7);
    }
    while (opened < 32 && (files[opened] = dup(1)) >= 0)
        opened++;
    CHECK(opened < 32);
    check_refused("state", EMFILE, EMFILE);
    while (opened > 0)
        close(files[--opened]);
    CHECK(setrlimit(RLIMIT_NOFILE, &old) == 0);
    CHECK(load_number("state") == 7 && count_files() == 2);
    empty_folder();
}

static void check_permissions(void)
{
    pid_t child;
    if (!is_root()) {
        printf("skip folders and files of another user: only root makes "
               "them\n");
        return;
    }
    CHECK(chmod(".", 0755) == 0);
    CHECK(mkdir("sticky", 0777) == 0 && chmod("sticky", 01777) == 0);
    CHECK(mkdir("closed", 0700) == 0);
    CHECK(save_number("secret", 100, 1) == STATESAMPLER_OK);
    CHECK(save_number("sticky/state", 100, 2) == STATESAMPLER_OK);
    CHECK(chmod("secret", 0600) == 0);
    child = start_child();
    if (child == 0) {
        become_nobody();
        check_refused("secret", EACCES, EACCES);
        check_refused("new", EACCES, 0);
        check_refused("closed/file", EACCES, EACCES);
        CHECK(save_number("sticky/state", 100, 3) == STATESAMPLER_EIO);
        CHECK(errno == EPERM && load_number("sticky/state") == 2);
        CHECK(chdir("sticky") == 0 && count_files() == 1);
        leave_child();
    }
    end_child(child);
    CHECK(count_files() == 3 && load_number("secret") == 1);
    CHECK(remove("sticky/state") == 0);
    /* A folder that cannot be read cannot be flushed: the old file stays. */
    CHECK(save_number("closed/file", 100, 4) == STATESAMPLER_OK);
    CHECK(chmod("closed", 0333) == 0);
    child = start_child();
    if (child == 0) {
        become_nobody();
        CHECK(save_number("closed/file", 100, 5) == STATESAMPLER_EIO);
        CHECK(errno == EACCES && load_number("closed/file") == 4);
        leave_child();
    }
    end_child(child);
    CHECK(remove("closed/file") == 0);
    empty_folder();
}

static void check_errors(void)
{
    check_answers();
    check_size_limit();
    check_open_files();
    check_permissions();
}

/* ---- two saves at once, step by step ---- */

static int said, told; /* the pipes of a child in mid-save */

/* Tells the parent that half of the file is written, and waits for it. */
static void pause_child(void)
{
    char c = 'x';
    CHECK(write(said, &c, 1) == 1);
    CHECK(read(told, &c, 1) == 1);
}

struct paused {
    pid_t child;
    int told;
};

/* A child that stands in the middle of a save. */
static struct paused pause_in_save(const char *path, uint64_t number)
{
    int from[2], to[2];
    char c;
    struct paused p;
    CHECK(pipe(from) == 0 && pipe(to) == 0);
    p.child = start_child();
    if (p.child == 0) {
        close(from[0]);
        close(to[1]);
        said = from[1];
        told = to[0];
        at_write = pause_child;
        _exit(save_number(path, 3000, number) == STATESAMPLER_OK ? 0 : 4);
    }
    close(from[1]);
    close(to[0]);
    CHECK(read(from[0], &c, 1) == 1);
    close(from[0]);
    p.told = to[1];
    return p;
}

/* Lets it go on, and its save is done. */
static void release(struct paused p)
{
    CHECK(write(p.told, "x", 1) == 1);
    close(p.told);
    end_child(p.child);
}

static void kill_paused(struct paused p)
{
    int status;
    CHECK(kill(p.child, SIGKILL) == 0);
    CHECK(waitpid(p.child, &status, 0) == p.child);
    close(p.told);
}

static void save_within(void)
{
    CHECK(save_number("state", 2000, 12) == STATESAMPLER_OK);
    CHECK(load_number("state") == 12);
    /* The buffer is the outer save's, too. */
    compose(work, 3000, 11);
}

static void fork_within(void)
{
    pid_t child = start_child();
    if (child == 0) {
        _exit(save_number("state", 2000, 14) == STATESAMPLER_OK ? 0 : 4);
    }
    end_child(child);
    CHECK(load_number("state") == 14);
    compose(work, 3000, 13);
}

static void check_interleaved(void)
{
    struct paused first, second;

    /* Two calls of one process, and one of a fork in mid-save: the last one
       that ends is there. */
    at_write = save_within;
    CHECK(save_number("state", 3000, 11) == STATESAMPLER_OK);
    CHECK(load_number("state") == 11 && count_files() == 1);
    at_write = fork_within;
    CHECK(save_number("state", 3000, 13) == STATESAMPLER_OK);
    CHECK(load_number("state") == 13 && count_files() == 1);

    /* Processes. */
    first = pause_in_save("state", 21);
    second = pause_in_save("state", 22);
    CHECK(load_number("state") != 0);
    CHECK(save_number("state", 3000, 23) == STATESAMPLER_OK);
    CHECK(load_number("state") == 23 && count_files() == 3);
    release(second);
    CHECK(load_number("state") == 22 && count_files() == 2);
    release(first);
    CHECK(load_number("state") == 21 && count_files() == 1);

    /* A file that somebody makes just now is not written to. */
    names_taken = 3;
    CHECK(save_number("state", 3000, 31) == STATESAMPLER_OK);
    CHECK(load_number("state") == 31 && count_files() == 4);
    names_taken = 1000;
    CHECK(save_number("state", 3000, 32) == STATESAMPLER_EIO);
    CHECK(errno == EEXIST && names_taken < 1000);
    CHECK(load_number("state") == 31);
    CHECK(count_files() == 1 + 1000 - names_taken);
    names_taken = 0;
    empty_folder();
}

/* ---- what crashes leave behind ---- */

static void put_file(const char *path)
{
    FILE *f = fopen(path, "wb");
    CHECK(f != NULL && fclose(f) == 0);
}

/* The next save leaves so many files beside `state`. */
static void check_left(unsigned files)
{
    CHECK(save_number("state", 100, 2) == STATESAMPLER_OK);
    CHECK(load_number("state") == 2);
    if (count_files() != 1 + files)
        printf("%u files are left, not %u\n", count_files() - 1, files);
    CHECK(count_files() == 1 + files);
}

static void check_leftovers(void)
{
    char name[80];
    unsigned k;
    struct paused p;

    /* Of a process that is gone: at the next save to this path, no other. */
    kill_paused(pause_in_save("state", 1));
    CHECK(save_number("other", 100, 2) == STATESAMPLER_OK);
    CHECK(count_files() == 2 && remove("other") == 0);
    check_left(0);

    /* Of one that is not gone, though another was killed after it. */
    p = pause_in_save("state", 3);
    kill_paused(pause_in_save("state", 4));
    CHECK(count_files() == 3);
    check_left(1);
    release(p);
    CHECK(count_files() == 1 && load_number("state") == 3);
    empty_folder();

    /* Where files have no locks, a living writer is taken for a dead one, which
       does no harm. */
    p = pause_in_save("state", 11);
    failing.flock = ENOLCK;
    check_left(0);
    failing.flock = 0;
    release(p);
    CHECK(count_files() == 1 && load_number("state") == 11);
    empty_folder();

    /* A folder or a pipe of such a name: others are left. */
    CHECK(mkdir(name_of("state", 0), 0700) == 0);
    CHECK(mkfifo(name_of("state", 1), 0600) == 0);
    check_left(2);
    CHECK(rmdir(name_of("state", 0)) == 0);
    empty_folder();

    /* In the file's folder, and in no other. */
    CHECK(mkdir("below", 0700) == 0);
    put_file(name_of("state", 1));
    sprintf(name, "below/%s", name_of("state", 2));
    put_file(name);
    CHECK(save_number("below/state", 100, 12) == STATESAMPLER_OK);
    CHECK(remove("below/state") == 0 && rmdir("below") == 0);
    CHECK(count_files() == 1);
    errno = EWOULDBLOCK; /* of an earlier call: a lock that is free is free */
    check_left(0);

    /* Whatever else is there is not ours. */
    for (k = 0; k < SIMILAR; k++)
        put_file(similar(k, name));
    check_left(SIMILAR);
    empty_folder();

    /* However large the folder is, a save looks at 10,000 names. */
    crowd = 20000;
    looked = 0;
    check_left(0);
    CHECK(looked == 10000);
    crowd = 0;
    empty_folder();
}

/* ---- storms: writers, readers and kills ---- */

enum { WRITERS = 2, READERS = 2 };

/* What the processes of a storm share. Each field has one writer. */
struct storm {
    volatile int stop;
    volatile uint64_t begun, done; /* of the victim */
    volatile unsigned saves[WRITERS], reads[READERS], torn[READERS];
};

static struct storm *make_storm(void)
{
    struct storm zero;
    void *memory;
    int file = open("storm", O_RDWR | O_CREAT | O_TRUNC, 0600);
    memset((void *)&zero, 0, sizeof zero);
    CHECK(file >= 0);
    CHECK(write(file, (void *)&zero, sizeof zero) == (ssize_t)sizeof zero);
    memory =
        mmap(NULL, sizeof zero, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    CHECK(memory != MAP_FAILED);
    close(file);
    CHECK(unlink("storm") == 0);
    return (struct storm *)memory;
}

/* Sizes differ, so that a short file over a long one would show. */
static size_t size_of(uint64_t number)
{
    return (size_t)(1000 + number * 7919 % 60000);
}

static void write_in_storm(struct storm *storm, unsigned which)
{
    uint64_t number = UINT64_C(1000000000) * (which + 1);
    while (!storm->stop && getppid() == parent) {
        if (save_number("state", size_of(number), number) != STATESAMPLER_OK)
            _exit(4);
        storm->saves[which] = storm->saves[which] + 1;
        number++;
    }
    _exit(0);
}

static void read_in_storm(struct storm *storm, unsigned which)
{
    while (!storm->stop && getppid() == parent) {
        if (load_number("state") == 0)
            storm->torn[which] = storm->torn[which] + 1;
        storm->reads[which] = storm->reads[which] + 1;
    }
    _exit(0);
}

/* Saves until it is killed; as all others it ends with its parent. */
static void suffer_in_storm(struct storm *storm)
{
    while (getppid() == parent) {
        uint64_t number = storm->begun + 1;
        storm->begun = number;
        if (save_number("state", size_of(number), number) != STATESAMPLER_OK)
            _exit(4);
        storm->done = number;
    }
    _exit(5);
}

static void sleep_microseconds(uint64_t microseconds)
{
    struct timespec t;
    t.tv_sec = (time_t)(microseconds / 1000000);
    t.tv_nsec = (long)(microseconds % 1000000 * 1000);
    while (nanosleep(&t, &t) != 0 && errno == EINTR)
        continue;
}

static unsigned saves_in_storm(const struct storm *storm)
{
    unsigned k, saves = 0;

    for (k = 0; k < WRITERS; k++)
        saves += storm->saves[k];
    return saves;
}

/* One victim after the other, killed at a random moment. Returns how many were
   in mid-save. */
static unsigned kill_in_storm(struct storm *storm, unsigned kills)
{
    unsigned k, in_save = 0;
    /* A few more where chance, or a busy machine, has let every save end, or no
       writer save. */
    for (k = 0; k < kills ||
                ((in_save == 0 || saves_in_storm(storm) == 0) && k < 1000);
         k++) {
        uint64_t before = storm->done;
        pid_t child = start_child();
        int status;
        if (child == 0)
            suffer_in_storm(storm);
        /* The moment counts from the first whole save, or, every fourth time,
           from the first step. */
        while (k % 4 != 0 && storm->done == before) {
            CHECK(waitpid(child, &status, WNOHANG) == 0);
            sleep_microseconds(100);
        }
        sleep_microseconds(check_random(10000));
        CHECK(kill(child, SIGKILL) == 0);
        CHECK(waitpid(child, &status, 0) == child);
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        in_save += storm->begun != storm->done;
        CHECK(load_number("state") != 0);
        storm->done = storm->begun;
    }
    return in_save;
}

/* The victim's file alone: a save that was reported done is not lost, and one
   that was not begun is not there. */
static void check_alone(unsigned kills)
{
    struct storm *storm = make_storm();
    unsigned k;
    CHECK(save_number("state", size_of(1), 1) == STATESAMPLER_OK);
    storm->begun = 1;
    storm->done = 1;
    for (k = 0; k < kills; k++) {
        uint64_t there, done = storm->done;
        pid_t child = start_child();
        int status;
        if (child == 0)
            suffer_in_storm(storm);
        sleep_microseconds(check_random(10000));
        CHECK(kill(child, SIGKILL) == 0);
        CHECK(waitpid(child, &status, 0) == child);
        CHECK(WIFSIGNALED(status));
        there = load_number("state");
        CHECK(storm->done >= done);
        CHECK(there == storm->done || there == storm->begun);
        CHECK(count_files() <= 2);
        storm->done = there;
    }
    CHECK(save_number("state", 100, 7) == STATESAMPLER_OK);
    CHECK(load_number("state") == 7 && count_files() == 1);
    CHECK(munmap((void *)storm, sizeof *storm) == 0);
    empty_folder();
}

static void check_storm(const char *name, unsigned kills, int two_users)
{
    struct storm *storm = make_storm();
    pid_t children[WRITERS + READERS];
    unsigned k, in_save, reads = 0, torn = 0, saves;
    CHECK(save_number("state", size_of(1), 1) == STATESAMPLER_OK);
    CHECK(chmod(".", 0777) == 0);
    for (k = 0; k < WRITERS + READERS; k++) {
        children[k] = start_child();
        if (children[k] == 0) {
            if (two_users && k == 0)
                become_nobody();
            if (k < WRITERS)
                write_in_storm(storm, k);
            read_in_storm(storm, k - WRITERS);
        }
    }
    in_save = kill_in_storm(storm, kills);
    storm->stop = 1;
    for (k = 0; k < WRITERS + READERS; k++)
        end_child(children[k]);
    for (k = 0; k < READERS; k++) {
        reads += storm->reads[k];
        torn += storm->torn[k];
    }
    saves = saves_in_storm(storm);
    printf("%s: %u kills, %u of them in mid-save, beside %u saves; %u of %u "
           "reads torn\n",
           name, kills, in_save, saves, torn, reads);
    CHECK(torn == 0 && reads > 0 && saves > 0 && in_save > 0);
    CHECK(load_number("state") != 0);
    /* What was killed has left nothing for long. */
    CHECK(save_number("state", 100, 7) == STATESAMPLER_OK);
    CHECK(load_number("state") == 7);
    CHECK(munmap((void *)storm, sizeof *storm) == 0);
}

static int reduced;

static void check_storms(void)
{
    unsigned kills = reduced ? 6 : 40;
    check_alone(kills);
    check_storm("as it is", kills, 0);
    CHECK(count_files() == 1);
    failing.flock = ENOLCK;
    check_storm("each takes the others for dead", kills, 0);
    CHECK(count_files() == 1);
    failing.flock = 0;
    if (is_root()) {
        check_storm("two users", kills, 1);
        CHECK(count_files() == 1);
    } else {
        printf("skip saves of two users: only root can be another\n");
    }
    empty_folder();
}

/* ---- the order of the system calls ---- */

static void check_calls(void)
{
    asked_count = 0;
    CHECK(save_number("state", 5000, 1) == STATESAMPLER_OK);
    asked[asked_count] = 0;
    CHECK(strcmp(asked, "wfrd") == 0);

    /* In another folder, too, it is this one that is flushed. */
    CHECK(mkdir("below", 0700) == 0);
    asked_count = 0;
    CHECK(save_number("below/state", 5000, 1) == STATESAMPLER_OK);
    asked[asked_count] = 0;
    CHECK(strcmp(asked, "wfrd") == 0);
    CHECK(remove("below/state") == 0 && remove("below") == 0);

    /* A disk that says no to the flush: nothing is renamed. */
    asked_count = 0;
    failing.fsync = EIO;
    CHECK(save_number("state", 5000, 2) == STATESAMPLER_EIO && errno == EIO);
    failing.fsync = 0;
    asked[asked_count] = 0;
    CHECK(strcmp(asked, "wf") == 0);
    CHECK(load_number("state") == 1 && count_files() == 1);
    empty_folder();
}

/* A descriptor may be 0, whatever errno is, and is closed like any other. A
   file is as open to others as the process makes files. */
static void check_descriptors(void)
{
    struct stat found;
    mode_t mask = umask(022);
    int kept = dup(0);
    CHECK(kept >= 0 && close(0) == 0);
    errno = EINTR;
    CHECK(save_number("state", 5000, 1) == STATESAMPLER_OK);
    CHECK(fstat(0, &found) != 0);
    errno = EINTR;
    CHECK(load_number("state") == 1);
    CHECK(fstat(0, &found) != 0);
    failing.flush_folder = EIO;
    CHECK(save_number("state", 5000, 2) == STATESAMPLER_EIO);
    failing.flush_folder = 0;
    CHECK(fstat(0, &found) != 0);
    CHECK(dup2(kept, 0) == 0 && close(kept) == 0);
    CHECK(stat("state", &found) == 0 && (found.st_mode & 0777) == 0644);
    (void)umask(mask);
    empty_folder();
}

/* ---- */

static void check_round_trips(void)
{
    check_round_trip("round trip");
    CHECK(count_files() == 0);
}

static const struct part {
    const char *name;
    void (*check)(void);
} parts[] = {
    {"environment", check_environment},
    {"round", check_round_trips},
    {"paths", check_paths},
    {"kinds", check_kinds},
    {"loading", check_loading},
    {"errors", check_errors},
    {"interleaved", check_interleaved},
    {"leftovers", check_leftovers},
    {"calls", check_calls},
    {"descriptors", check_descriptors},
    {"storms", check_storms},
};

int main(int argc, char **argv)
{
    const char *base = getenv("TMPDIR");
    unsigned k;
    reduced = check_reduced(argc, argv);
    parent = getpid();
    if (base == NULL || strlen(base) > 80)
        base = "/tmp";
    sprintf(folder, "%s/test_hosted.XXXXXX", base);
    CHECK(mkdtemp(folder) != NULL && chdir(folder) == 0);
    CHECK(atexit(remove_folder) == 0);
    for (k = 0; k < sizeof parts / sizeof parts[0]; k++)
        if (argc < 3 || strcmp(argv[2], parts[k].name) == 0) {
            parts[k].check();
            CHECK(count_files() == 0);
        }
    return check_done("test_hosted");
}

#else

/* Before windows.h, whose names are its own affair. */
#include <process.h>
#include <sys/stat.h>
#include <windows.h>

static void put_file(const char *path)
{
    FILE *f = fopen(path, "wb");
    CHECK(f != NULL && fclose(f) == 0);
}

static int is_there(const char *path)
{
    return GetFileAttributesA(path) != INVALID_FILE_ATTRIBUTES;
}

static unsigned count_temporary(void)
{
    WIN32_FIND_DATAA entry;
    HANDLE entries = FindFirstFileA(".statesampler-*", &entry);
    unsigned count = 0;
    if (entries == INVALID_HANDLE_VALUE)
        return 0;
    do /* ends with the folder */
        count++;
    while (FindNextFileA(entries, &entry));
    CHECK(FindClose(entries));
    return count;
}

static void remove_temporary(void)
{
    WIN32_FIND_DATAA entry;
    HANDLE entries = FindFirstFileA(".statesampler-*", &entry);
    CHECK(entries != INVALID_HANDLE_VALUE);
    CHECK(remove(entry.cFileName) == 0);
    CHECK(!FindNextFileA(entries, &entry) && FindClose(entries));
}

/* A save removes what is left of its path, but what somebody has open. */
static void check_leftovers(void)
{
    const char *path = "state";
    char name[80], left[3][80];
    unsigned k;
    FILE *f;
    for (k = 0; k < 3; k++)
        put_file(strcpy(left[k], name_of(path, k)));
    for (k = 0; k < SIMILAR; k++)
        put_file(similar(k, name));
    f = fopen(left[1], "rb");
    CHECK(f != NULL);
    CHECK(statesampler_save_file("third", "two", 3) == STATESAMPLER_OK);
    CHECK(is_there(left[0]) && is_there(left[1]) && is_there(left[2]));
    CHECK(statesampler_save_file(path, "two", 3) == STATESAMPLER_OK);
    CHECK(!is_there(left[0]) && is_there(left[1]) && !is_there(left[2]));
    CHECK(fclose(f) == 0);
    CHECK(statesampler_save_file(path, "six", 3) == STATESAMPLER_OK);
    CHECK(!is_there(left[1]));
    for (k = 0; k < SIMILAR; k++)
        CHECK(remove(similar(k, name)) == 0);
    CHECK(remove("third") == 0 && remove(path) == 0);
    CHECK(count_temporary() == 0);
    /* In another folder. */
    CHECK(CreateDirectoryA("below", NULL));
    sprintf(name, "below/%s", left[0]);
    put_file(name);
    CHECK(statesampler_save_file("below/state", "two", 3) == STATESAMPLER_OK);
    CHECK(!is_there(name) && remove("below/state") == 0);
    CHECK(RemoveDirectoryA("below"));
}

static void check_windows(void)
{
    const char *path = "test_hosted.bin";
    char back[4];
    size_t got;
    int code;
    FILE *f;
    CHECK(statesampler_save_file(path, "six", 3) == STATESAMPLER_OK);
    f = fopen(path, "rb");
    CHECK(f != NULL);
    CHECK(statesampler_save_file(path, "ten", 3) == STATESAMPLER_EIO);
    CHECK(errno == EACCES && count_temporary() == 0 && fclose(f) == 0);
    CHECK(statesampler_load_file(path, back, 4, &got) == STATESAMPLER_OK);
    CHECK(got == 3 && memcmp(back, "six", 3) == 0);
    /* A file that is read-only: Windows keeps it, wine does not. */
    CHECK(_chmod(path, _S_IREAD) == 0);
    code = statesampler_save_file(path, "ten", 3);
    CHECK(code == STATESAMPLER_OK ||
          (code == STATESAMPLER_EIO && errno == EACCES));
    CHECK(statesampler_load_file(path, back, 4, &got) == STATESAMPLER_OK);
    CHECK(got == 3 && memcmp(back, code ? "six" : "ten", 3) == 0);
    CHECK(_chmod(path, _S_IREAD | _S_IWRITE) == 0);
    CHECK(remove(path) == 0);
    CHECK(statesampler_load_file("NUL", back, 4, &got) == STATESAMPLER_OK);
    CHECK(got == 0);
    CHECK(statesampler_save_file("a?b", "one", 3) == STATESAMPLER_EIO);
    CHECK(CreateDirectoryA("folder", NULL));
    check_refused("folder", EACCES, EACCES);
    CHECK(RemoveDirectoryA("folder"));
    CHECK(count_temporary() == 0);
}

static unsigned __stdcall close_soon(void *file)
{
    Sleep(700); /* most of the second */
    return !CloseHandle((HANDLE)file);
}

static HANDLE begin_thread(unsigned(__stdcall *call)(void *), void *with)
{
    HANDLE thread = (HANDLE)_beginthreadex(NULL, 0, call, with, 0, NULL);
    CHECK(thread != NULL);
    return thread;
}

static HANDLE open_shared(const char *path, DWORD share)
{
    HANDLE file =
        CreateFileA(path, GENERIC_READ, share, NULL, OPEN_EXISTING, 0, NULL);
    CHECK(file != INVALID_HANDLE_VALUE);
    return file;
}

/* A file that another thread closes soon. */
static HANDLE open_for_a_moment(const char *path, DWORD share)
{
    return begin_thread(close_soon, open_shared(path, share));
}

static void check_closed(HANDLE thread)
{
    DWORD status;
    CHECK(WaitForSingleObject(thread, 60000) == WAIT_OBJECT_0);
    CHECK(GetExitCodeThread(thread, &status) && status == 0);
    CHECK(CloseHandle(thread));
}

/* Somebody who is done within the second keeps no save and no load out; who
   keeps the file for himself for longer does. */
static void check_busy(void)
{
    const char *path = "test_hosted.bin";
    char back[4];
    size_t got = 0;
    HANDLE thread, file;
    CHECK(statesampler_save_file(path, "one", 3) == STATESAMPLER_OK);
    thread = open_for_a_moment(path, FILE_SHARE_READ | FILE_SHARE_WRITE);
    CHECK(statesampler_save_file(path, "two", 3) == STATESAMPLER_OK);
    check_closed(thread);
    thread = open_for_a_moment(path, 0);
    CHECK(statesampler_load_file(path, back, 4, &got) == STATESAMPLER_OK);
    CHECK(got == 3 && memcmp(back, "two", 3) == 0);
    check_closed(thread);
    file = open_shared(path, 0);
    got = 7;
    CHECK(statesampler_load_file(path, back, 4, &got) == STATESAMPLER_EIO);
    CHECK(errno == EACCES && got == 7);
    CHECK(CloseHandle(file) && remove(path) == 0);
}

static unsigned __stdcall save_two(void *unused)
{
    (void)unused;
    return (unsigned)statesampler_save_file("test_hosted.bin", "two", 3);
}

/* Saves that wait for one reader do not disturb each other: neither's file is
   taken for what a crash has left. One whose file is removed makes another. */
static void check_waiting(void)
{
    const char *path = "test_hosted.bin";
    char back[4];
    size_t got = 0;
    unsigned k;
    HANDLE file, reader, other;
    for (k = 0; k < 2; k++) {
        CHECK(statesampler_save_file(path, "one", 3) == STATESAMPLER_OK);
        file = open_shared(path, FILE_SHARE_READ | FILE_SHARE_WRITE);
        other = begin_thread(save_two, NULL);
        while (count_temporary() == 0) /* ends with the other's save */
            CHECK(WaitForSingleObject(other, 1) == WAIT_TIMEOUT);
        Sleep(50); /* it is closed by now */
        reader = begin_thread(close_soon, file);
        if (k == 0)
            CHECK(statesampler_save_file(path, "two", 3) == STATESAMPLER_OK);
        else
            remove_temporary();
        check_closed(reader);
        check_closed(other);
        CHECK(statesampler_load_file(path, back, 4, &got) == STATESAMPLER_OK);
        CHECK(got == 3 && memcmp(back, "two", 3) == 0);
        CHECK(remove(path) == 0 && count_temporary() == 0);
    }
}

static volatile LONG looked, answered;

/* As programs do that read every new file, to index it or for viruses. */
static unsigned __stdcall look_at_temporary(void *at_length)
{
    const DWORD begin = GetTickCount();
    WIN32_FIND_DATAA entry;
    HANDLE entries, file = INVALID_HANDLE_VALUE;
    while (file == INVALID_HANDLE_VALUE && GetTickCount() - begin < 60000) {
        entries = FindFirstFileA(".statesampler-*", &entry);
        if (entries != INVALID_HANDLE_VALUE) {
            FindClose(entries);
            file = CreateFileA(entry.cFileName, GENERIC_READ,
                               FILE_SHARE_READ | FILE_SHARE_WRITE, NULL,
                               OPEN_EXISTING, 0, NULL);
        }
    }
    InterlockedExchange(&looked, 1);
    while (at_length && !answered && GetTickCount() - begin < 60000)
        Sleep(1);
    return file == INVALID_HANDLE_VALUE || close_soon(file);
}

/* Who looks at a temporary file for a moment keeps no save out, be there a file
   at path or not. Who looks for longer does, and what he has open stays. */
static void check_looked_at(void)
{
    static unsigned char bytes[MEGABYTE];
    const char *path = "test_hosted.bin";
    unsigned k;
    HANDLE other;
    int code;
    for (k = 0; k < 3; k++) {
        InterlockedExchange(&looked, 0);
        InterlockedExchange(&answered, 0);
        other = begin_thread(look_at_temporary, k == 2 ? bytes : NULL);
        do { /* ends after a minute */
            CHECK(k == 1 || !is_there(path) || remove(path) == 0);
            code = statesampler_save_file(path, bytes, sizeof bytes);
            CHECK(code == STATESAMPLER_OK || (k == 2 && looked));
        } while (!looked);
        InterlockedExchange(&answered, 1);
        CHECK(code == (k == 2 ? STATESAMPLER_EIO : STATESAMPLER_OK));
        check_closed(other);
    }
    CHECK(!is_there(path) && count_temporary() == 1);
    CHECK(statesampler_save_file(path, bytes, 3) == STATESAMPLER_OK);
    CHECK(remove(path) == 0 && count_temporary() == 0);
}

/* Waits for the first save, as those do that another process is to begin. */
static unsigned __stdcall await_first(void *path)
{
    const DWORD begin = GetTickCount();
    char back[4];
    size_t got;
    int code;
    do
        code = statesampler_load_file((const char *)path, back, 4, &got);
    while (code == STATESAMPLER_ENOFILE && GetTickCount() - begin < 60000);
    return code != STATESAMPLER_OK;
}

/* A file that appears just now is a file. */
static void check_first(void)
{
    static char path[] = "test_hosted.bin";
    HANDLE other;
    unsigned k;
    for (k = 0; k < 60; k++) {
        other = begin_thread(await_first, path);
        Sleep(k % 3);
        CHECK(statesampler_save_file(path, "one", 3) == STATESAMPLER_OK);
        check_closed(other);
        CHECK(remove(path) == 0);
    }
}

/* A name or a path that is too long: nothing is left. */
static void check_too_long(void)
{
    static char path[300];
    memset(path, 'n', 258);
    CHECK(statesampler_save_file(path, "one", 3) == STATESAMPLER_EIO);
    CHECK(statesampler_load_file(path, NULL, 0, NULL) != STATESAMPLER_OK);
    memset(path, 'n', 299);
    check_refused(path, EINVAL, EINVAL);
    CHECK(count_temporary() == 0);
}

/* Names that no code page has are those that other programs see. */
static void check_unicode(void)
{
    const char *path = "sp\xc3\xa4t-\xe6\x97\xa5\xe6\x9c\xac.bin";
    const wchar_t *wide = L"sp\x00e4t-\x65e5\x672c.bin";
    check_sizes(path);
    CHECK(DeleteFileW(wide));
    check_absent(path);
    check_refused("\xff.bin", EINVAL, EINVAL);
    check_refused("\xc3", EINVAL, EINVAL);
    check_too_long();
}

static const char *const victim = "test_hosted_victim.bin";

/* What save number has; a byte of it is in each. */
static size_t size_of_save(unsigned number)
{
    return 1000 + number * 997 % 99000;
}

/* A program that saves until it is killed, and each time another size; where
   nobody is left to kill it, it ends after a minute. */
static int save_for_ever(void)
{
    static unsigned char bytes[100000];
    const DWORD begin = GetTickCount();
    unsigned number = 0;
    int code;
    do {
        number++;
        memset(bytes, (int)(number & 0xff), sizeof bytes);
        memcpy(bytes, &number, sizeof number);
        code = statesampler_save_file(victim, bytes, size_of_save(number));
    } while ((code == STATESAMPLER_OK || errno == EACCES) &&
             GetTickCount() - begin < 60000);
    return 1;
}

static intptr_t start_victim(const char *program)
{
    intptr_t child = _spawnl(_P_NOWAIT, program, program, "victim", NULL);
    CHECK(child != -1);
    return child;
}

static void kill_victim(intptr_t child)
{
    CHECK(TerminateProcess((HANDLE)child, 9));
    CHECK(WaitForSingleObject((HANDLE)child, 60000) == WAIT_OBJECT_0);
    CHECK(CloseHandle((HANDLE)child));
}

/* One save's bytes, all of them, also while another save is just now replacing
   the file. Returns how many. */
static size_t check_whole(void)
{
    static unsigned char bytes[100000];
    size_t size, k;
    unsigned number = 0;
    int code = statesampler_load_file(victim, bytes, sizeof bytes, &size);
    CHECK(code == STATESAMPLER_OK && size > 0);
    if (size == 1) { /* the first */
        CHECK(bytes[0] == 1);
        return size;
    }
    memcpy(&number, bytes, sizeof number);
    for (k = sizeof number; k < size; k++)
        if (bytes[k] != (number & 0xff))
            break;
    CHECK(k == size && size == size_of_save(number));
    return size;
}

/* Until there is another save, whose size is another one: a busy machine takes
   long to start who makes it. */
static void await_save(void)
{
    const size_t before = check_whole();
    const DWORD begin = GetTickCount();
    while (check_whole() == before) { /* ends after half a minute */
        CHECK(GetTickCount() - begin < 30000);
        Sleep(1);
    }
}

/* Two save, this one reads, and the older of the two is killed at any moment
   after a save: the file is always whole, and the next save works. KILLS may
   say how many. */
static void check_kills(const char *program, unsigned kills)
{
    const char *const wanted = getenv("KILLS");
    intptr_t child, other;
    unsigned i, reads = 0, others = 0;
    DWORD end;
    if (wanted)
        kills = (unsigned)atoi(wanted);
    remove(victim);
    CHECK(statesampler_save_file(victim, "\1", 1) == STATESAMPLER_OK);
    other = start_victim(program);
    for (i = 0; i < kills; i++) {
        child = other;
        other = start_victim(program);
        await_save();
        end = GetTickCount() + 100 + (DWORD)check_random(60);
        do /* ends when the time is over */
            others += check_whole() > 1;
        while (reads++, (LONG)(end - GetTickCount()) > 0);
        kill_victim(child);
    }
    kill_victim(other);
    CHECK(check_whole() > 1 && others > 0);
    printf("test_hosted: %u kills, %u reads, %u of them of a save\n", kills,
           reads, others);
    /* What was killed has left nothing for long. */
    CHECK(statesampler_save_file(victim, "one", 3) == STATESAMPLER_OK);
    CHECK(remove(victim) == 0 && count_temporary() == 0);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "victim") == 0)
        return save_for_ever();
    printf("test_hosted: no POSIX here: what can be asked without\n");
    check_environment();
    check_round_trip("test_hosted.bin");
    check_paths();
    check_leftovers();
    check_windows();
    check_busy();
    check_waiting();
    check_looked_at();
    check_first();
    check_unicode();
    check_kills(argv[0], check_reduced(argc, argv) ? 5 : 50);
    return check_done("test_hosted");
}

#endif
