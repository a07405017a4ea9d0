/* test_hosted.c - is the environment read right, and is a checkpoint file
   whole after a crash at any instant?

   With no argument the whole test; "reduced" kills fewer children. */
#if defined(__unix__) || defined(__APPLE__)
#define TEST_POSIX 1
#define _XOPEN_SOURCE 700
#else
#define TEST_POSIX 0
#endif

#if TEST_POSIX
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* What save_file asks of the system, a letter each: w writes, f flushes a
   file, d flushes a folder, r renames. */
static char asked[1000];
static unsigned asked_count;
static int flush_fails, rename_fails;

static void note(char what)
{
    if (asked_count + 1 < sizeof asked)
        asked[asked_count++] = what;
}

static ssize_t watched_write(int file, const void *bytes, size_t size)
{
    note('w');
    return write(file, bytes, size);
}

static int watched_fsync(int file)
{
    struct stat found;
    note(fstat(file, &found) == 0 && S_ISDIR(found.st_mode) ? 'd' : 'f');
    return flush_fails ? -1 : fsync(file);
}

static int watched_rename(const char *from, const char *to)
{
    note('r');
    return rename_fails ? -1 : rename(from, to);
}

#define write watched_write
#define fsync watched_fsync
#define rename watched_rename
#endif

#define STATESAMPLER_IMPLEMENTATION
#define STATESAMPLER_HOSTED
#include "statesampler.h"
#undef write
#undef fsync
#undef rename
#include "check.h"

#define MEGABYTE 1000000u

/* One file, all sizes, on every system. */
static void check_round_trips(const char *path)
{
    static const size_t sizes[] = {
        0, 1, STATESAMPLER_STATE_BYTES, 4095, 4096, 4097, 65536, 10 * MEGABYTE,
        3
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
            got = 12345;
            CHECK(back[size - 1] == 0xee && back[size] == 0xee);
            CHECK(statesampler_load_file(path, back, 0, &got) ==
                  STATESAMPLER_ECAPACITY);
            CHECK(got == size);
            got = 12345;
            CHECK(statesampler_load_file(path, NULL, 0, &got) ==
                  STATESAMPLER_ECAPACITY);
            CHECK(got == size);
        }
    }
    free(bytes);
    free(back);
    CHECK(remove(path) == 0);
    got = 12345;
    CHECK(statesampler_load_file(path, NULL, 0, &got) ==
          STATESAMPLER_ENOFILE);
    CHECK(got == 12345);
}

/* Every code has a text of its own. */
static void check_texts(void)
{
    int i, j;
    for (i = STATESAMPLER_OK; i >= STATESAMPLER_ECAPACITY; i--)
        for (j = STATESAMPLER_ECAPACITY - 1; j < i; j++)
            CHECK(strcmp(statesampler_error(i), statesampler_error(j)) != 0);
}

#if TEST_POSIX

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

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

static int whole(const unsigned char *bytes, size_t size,
                 unsigned char *scratch)
{
    if (size < 16)
        return 0;
    compose(scratch, size, number_of(bytes));
    return memcmp(bytes, scratch, size) == 0;
}

static char folder[128];

#define PATH 512

/* Writes folder/name to a path of PATH bytes and returns it. */
static const char *join(char *path, const char *name)
{
    CHECK(strlen(folder) + strlen(name) + 2 <= PATH);
    strcpy(path, folder);
    strcat(path, "/");
    strcat(path, name);
    return path;
}

/* The same for one use: the next call overwrites it. */
static const char *in_folder(const char *name)
{
    static char path[PATH];
    return join(path, name);
}

static unsigned files_in_folder(void)
{
    DIR *open = opendir(folder);
    struct dirent *entry;
    unsigned files = 0;
    CHECK(open != NULL);
    while ((entry = readdir(open)) != NULL)
        files += strcmp(entry->d_name, ".") != 0 &&
                 strcmp(entry->d_name, "..") != 0;
    closedir(open);
    return files;
}

/* What a child that was killed leaves behind must not stop the test. */
static void empty_folder(void)
{
    DIR *open = opendir(folder);
    struct dirent *entry;
    char path[PATH];
    while (open != NULL && (entry = readdir(open)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 &&
            strcmp(entry->d_name, "..") != 0 &&
            strlen(folder) + strlen(entry->d_name) + 8 <= PATH) {
            sprintf(path, "%s/%s/by", folder, entry->d_name);
            rmdir(path);
            sprintf(path, "%s/%s", folder, entry->d_name);
            if (unlink(path) != 0)
                rmdir(path);
        }
    if (open != NULL)
        closedir(open);
}

/* Also at the end of a test that fails, even for want of descriptors. */
static void remove_folder(void)
{
    int fd;
    for (fd = 3; fd < 64; fd++)
        close(fd);
    empty_folder();
    rmdir(folder);
}

/* ---- the environment ---- */

struct launcher {
    const char *name, *rank, *size;
};

static const struct launcher launchers[] = {
    {"torchrun", "RANK", "WORLD_SIZE"},
    {"openmpi", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"pmi", "PMI_RANK", "PMI_SIZE"},
    {"slurm", "SLURM_PROCID", "SLURM_NTASKS"}
};

static void clear_environment(void)
{
    unsigned k;
    for (k = 0; k < 4; k++) {
        CHECK(unsetenv(launchers[k].rank) == 0);
        CHECK(unsetenv(launchers[k].size) == 0);
    }
}

/* A null pointer leaves the variable as it is. */
static void set_pair(unsigned k, const char *rank, const char *size)
{
    if (rank != NULL)
        CHECK(setenv(launchers[k].rank, rank, 1) == 0);
    if (size != NULL)
        CHECK(setenv(launchers[k].size, size, 1) == 0);
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

static void check_environment(void)
{
    static const char *const malformed[] = {
        "", " ", "-1", "-0", "+3", " 3", "3 ", "\t3", "3x", "x3", "0x3", "3.0",
        "3e0", "4294967296", "4294967297", "4294967299", "18446744073709551615",
        "18446744073709551616", "18446744073709551619",
        "340282366920938463463374607431768211459", "three", "3,4", "3\n"
    };
    unsigned k, m, set;
    char buffer[16];
    clear_environment();
    environment_gives(STATESAMPLER_OK, "none", 0, 1);
    for (k = 0; k < 4; k++) {
        const char *name = launchers[k].name;
        clear_environment();
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
        environment_gives(STATESAMPLER_EENV, name, 0, 0);
        set_pair(k, "4294967295", "4294967295");
        environment_gives(STATESAMPLER_EENV, name, 0, 0);
        set_pair(k, "1", "0");
        environment_gives(STATESAMPLER_EENV, name, 0, 0);
        set_pair(k, "0", "0");
        environment_gives(STATESAMPLER_EENV, name, 0, 0);
        /* Half a pair is an error, not rank 0 and not a world of one. */
        clear_environment();
        set_pair(k, "0", NULL);
        environment_gives(STATESAMPLER_EENV, name, 0, 0);
        clear_environment();
        set_pair(k, NULL, "8");
        environment_gives(STATESAMPLER_EENV, name, 0, 0);
        for (m = 0; m < sizeof malformed / sizeof malformed[0]; m++) {
            set_pair(k, malformed[m], "8");
            environment_gives(STATESAMPLER_EENV, name, 0, 0);
            set_pair(k, "2", malformed[m]);
            environment_gives(STATESAMPLER_EENV, name, 0, 0);
        }
    }
    /* Every set of launchers: the first of them decides, be it wrong. */
    for (set = 1; set < 16; set++) {
        unsigned first = 4, wrong;
        for (wrong = 0; wrong < 4; wrong++) {
            clear_environment();
            first = 4;
            for (k = 0; k < 4; k++)
                if (set >> k & 1) {
                    sprintf(buffer, "%u", 10 + k);
                    set_pair(k, buffer, "64");
                    if (first == 4)
                        first = k;
                }
            environment_gives(STATESAMPLER_OK, launchers[first].name,
                              10 + first, 64);
            if (wrong == 0)
                set_pair(first, "x", NULL);
            else if (wrong == 1)
                CHECK(unsetenv(launchers[first].rank) == 0);
            else if (wrong == 2)
                CHECK(unsetenv(launchers[first].size) == 0);
            else
                set_pair(first, NULL, "");
            environment_gives(STATESAMPLER_EENV, launchers[first].name, 0, 0);
        }
    }
    /* Where they start a sampler, they start it. */
    clear_environment();
    set_pair(1, "2", "5");
    {
        statesampler s;
        statesampler_desc d;
        uint64_t out[1];
        memset(&d, 0, sizeof d);
        d.num_samples = 5;
        d.order = STATESAMPLER_ORDER_SEQUENTIAL;
        CHECK(statesampler_from_env(&d, NULL) == STATESAMPLER_OK);
        CHECK(statesampler_init(&s, &d) == STATESAMPLER_OK);
        CHECK(statesampler_next(&s, out) == 1 && out[0] == 2);
    }
    clear_environment();
}

/* ---- files ---- */

static void check_names(void)
{
    unsigned char bytes[32], back[32];
    size_t got;
    char here[1024];
    memset(bytes, 1, sizeof bytes);
    empty_folder();

    /* No file, no folder, a file in a folder's place, a folder in a file's. */
    CHECK(statesampler_load_file(in_folder("none"), back, 32, &got) ==
          STATESAMPLER_ENOFILE);
    CHECK(statesampler_save_file(in_folder("none/file"), bytes, 32) ==
          STATESAMPLER_EIO);
    CHECK(files_in_folder() == 0);
    CHECK(statesampler_save_file(in_folder("plain"), bytes, 32) ==
          STATESAMPLER_OK);
    CHECK(files_in_folder() == 1);
    CHECK(statesampler_save_file(in_folder("plain/file"), bytes, 32) ==
          STATESAMPLER_EIO);
    CHECK(statesampler_load_file(in_folder("plain/file"), back, 32, &got) !=
          STATESAMPLER_OK);
    CHECK(files_in_folder() == 1);
    CHECK(mkdir(in_folder("inner"), 0777) == 0);
    CHECK(statesampler_save_file(in_folder("inner"), bytes, 32) ==
          STATESAMPLER_EIO);
    got = 12345;
    CHECK(statesampler_load_file(in_folder("inner"), back, 32, &got) ==
          STATESAMPLER_EIO);
    CHECK(statesampler_load_file(in_folder("inner"), back, 0, &got) ==
          STATESAMPLER_EIO);
    CHECK(got == 12345);
    CHECK(files_in_folder() == 2);
    CHECK(rmdir(in_folder("inner")) == 0);
    CHECK(statesampler_save_file("", bytes, 32) == STATESAMPLER_EINVAL);
    CHECK(statesampler_load_file("", back, 32, &got) != STATESAMPLER_OK);

    /* A name longer than a file system takes, and one longer than ours. */
    {
        static char endless[100000];
        char longest[600];
        memset(endless, 'n', sizeof endless - 1);
        CHECK(statesampler_save_file(endless, bytes, 32) ==
              STATESAMPLER_EINVAL);
        memset(longest, 'n', sizeof longest - 1);
        longest[sizeof longest - 1] = '\0';
        CHECK(statesampler_save_file(longest, bytes, 32) == STATESAMPLER_EIO);
    }

    /* A name with no folder in it is a file of the present one. */
    CHECK(getcwd(here, sizeof here) != NULL);
    CHECK(chdir(folder) == 0);
    memset(bytes, 2, sizeof bytes);
    CHECK(statesampler_save_file("bare", bytes, 32) == STATESAMPLER_OK);
    CHECK(statesampler_load_file("bare", back, 32, &got) == STATESAMPLER_OK);
    CHECK(got == 32 && memcmp(bytes, back, 32) == 0);
    CHECK(chdir(here) == 0);
    CHECK(files_in_folder() == 2);

    /* The file is one that others may read, as any program's is. */
    {
        struct stat ours, usual;
        FILE *f = fopen(in_folder("usual"), "wb");
        CHECK(f != NULL && fclose(f) == 0);
        CHECK(stat(in_folder("bare"), &ours) == 0);
        CHECK(stat(in_folder("usual"), &usual) == 0);
        CHECK((ours.st_mode & 0777) == (usual.st_mode & 0777));
    }
    empty_folder();

    /* What is there and is no file stays, also for root. */
    CHECK(mkfifo(in_folder("pipe"), 0600) == 0);
    CHECK(statesampler_save_file(in_folder("pipe"), bytes, 32) ==
          STATESAMPLER_EIO);
    {
        struct stat found;
        CHECK(stat(in_folder("pipe"), &found) == 0 && S_ISFIFO(found.st_mode));
    }
    CHECK(files_in_folder() == 1);
    empty_folder();

    /* The longest path is the system's to refuse, one more is ours. */
    {
        static char path[4200];
        memset(path, '/', sizeof path);
        path[4095] = 0;
        CHECK(statesampler_save_file(path, bytes, 32) == STATESAMPLER_EIO);
        path[4095] = '/';
        path[4096] = 0;
        CHECK(statesampler_save_file(path, bytes, 32) == STATESAMPLER_EINVAL);
    }

    /* A root user may write where others may not, so this asks only others. */
    CHECK(mkdir(in_folder("locked"), 0555) == 0);
    if (geteuid() != 0)
        CHECK(statesampler_save_file(in_folder("locked/file"), bytes, 32) ==
              STATESAMPLER_EIO);
    else
        printf("test_hosted: run by root, a folder without permission is not "
               "asked\n");
    empty_folder();
}

/* A disk that is full, played by the limit on the size of a file: the save
   fails, the old file stays and no part of the new one is left behind. */
static void check_write_errors(void)
{
    struct rlimit old, small;
    size_t size = MEGABYTE, got, k;
    static const rlim_t room[] = {0, 1, 100, 4096, 65536, MEGABYTE - 1};
    unsigned char *bytes = (unsigned char *)malloc(size);
    unsigned char *back = (unsigned char *)malloc(size);
    unsigned char *scratch = (unsigned char *)malloc(size);
    char path[PATH];
    join(path, "full");
    CHECK(bytes != NULL && back != NULL && scratch != NULL);
    empty_folder();
    CHECK(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    CHECK(getrlimit(RLIMIT_FSIZE, &old) == 0);
    compose(bytes, 5000, 41);
    CHECK(statesampler_save_file(path, bytes, 5000) == STATESAMPLER_OK);
    for (k = 0; k < sizeof room / sizeof room[0]; k++) {
        int code;
        compose(bytes, size, 42);
        fflush(stdout);
        small = old;
        small.rlim_cur = room[k];
        CHECK(setrlimit(RLIMIT_FSIZE, &small) == 0);
        code = statesampler_save_file(path, bytes, size);
        CHECK(setrlimit(RLIMIT_FSIZE, &old) == 0);
        CHECK(code == STATESAMPLER_EIO);
        CHECK(files_in_folder() == 1);
        CHECK(statesampler_load_file(path, back, size, &got) ==
              STATESAMPLER_OK);
        CHECK(got == 5000 && number_of(back) == 41);
        CHECK(whole(back, got, scratch));
    }
    CHECK(statesampler_save_file(path, bytes, size) == STATESAMPLER_OK);
    CHECK(statesampler_load_file(path, back, size, &got) == STATESAMPLER_OK);
    CHECK(got == size && number_of(back) == 42 && whole(back, got, scratch));

    /* What cannot be renamed into place is not left behind either. */
    empty_folder();
    CHECK(mkdir(in_folder("taken"), 0777) == 0);
    CHECK(mkdir(in_folder("taken/by"), 0777) == 0);
    CHECK(statesampler_save_file(in_folder("taken"), bytes, 100) ==
          STATESAMPLER_EIO);
    CHECK(files_in_folder() == 1);
    CHECK(rmdir(in_folder("taken/by")) == 0);
    empty_folder();

    /* Nor are files left open: far more failures than a process may open. */
    CHECK(getrlimit(RLIMIT_NOFILE, &old) == 0);
    small = old;
    small.rlim_cur = 32;
    CHECK(setrlimit(RLIMIT_NOFILE, &small) == 0);
    CHECK(mkdir(in_folder("taken"), 0777) == 0);
    compose(bytes, 100, 7);
    for (k = 0; k < 100; k++) {
        CHECK(statesampler_save_file(in_folder("taken"), bytes, 100) ==
              STATESAMPLER_EIO);
        CHECK(statesampler_load_file(in_folder("taken"), back, 100, &got) ==
              STATESAMPLER_EIO);
        CHECK(statesampler_save_file(path, bytes, 100) == STATESAMPLER_OK);
        CHECK(statesampler_load_file(path, back, 99, &got) ==
              STATESAMPLER_ECAPACITY);
        CHECK(statesampler_load_file(path, back, 100, &got) ==
              STATESAMPLER_OK);
    }
    CHECK(setrlimit(RLIMIT_NOFILE, &old) == 0);
    empty_folder();
    free(bytes);
    free(back);
    free(scratch);
}

/* ---- the crash ---- */

/* Shared with the child: how far its saves have come. */
struct progress {
    volatile uint64_t begun, done;
};

/* Saves of two sizes, in turn, until killed. */
static void save_for_ever(const char *path, uint64_t number,
                          struct progress *progress)
{
    unsigned char *bytes = (unsigned char *)malloc(MEGABYTE);
    if (bytes == NULL)
        _exit(3);
    for (;;) {
        size_t size = number % 2 == 0 ? MEGABYTE : MEGABYTE / 3 + 1;
        compose(bytes, size, number);
        progress->begun = number;
        if (statesampler_save_file(path, bytes, size) != STATESAMPLER_OK)
            _exit(4);
        progress->done = number++;
    }
}

static void sleep_microseconds(uint64_t microseconds)
{
    struct timespec t;
    t.tv_sec = (time_t)(microseconds / 1000000);
    t.tv_nsec = (long)(microseconds % 1000000 * 1000);
    while (nanosleep(&t, &t) != 0 && errno == EINTR)
        continue;
}

static struct progress *shared_progress(void)
{
    struct progress zero;
    void *memory;
    int fd = open(in_folder("progress"), O_RDWR | O_CREAT | O_TRUNC, 0600);
    memset((void *)&zero, 0, sizeof zero);
    CHECK(fd >= 0);
    CHECK(write(fd, (void *)&zero, sizeof zero) == (ssize_t)sizeof zero);
    memory = mmap(NULL, sizeof zero, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(memory != MAP_FAILED);
    close(fd);
    CHECK(unlink(in_folder("progress")) == 0);
    return (struct progress *)memory;
}

static void check_crashes(unsigned kills)
{
    char path[PATH];
    unsigned char *bytes = (unsigned char *)malloc(MEGABYTE);
    unsigned char *scratch = (unsigned char *)malloc(MEGABYTE);
    struct progress *progress;
    unsigned k, in_save = 0;
    size_t got;
    uint64_t number = 0, kept = 0;
    join(path, "checkpoint");
    CHECK(bytes != NULL && scratch != NULL);
    empty_folder();
    progress = shared_progress();
    compose(bytes, MEGABYTE, number);
    CHECK(statesampler_save_file(path, bytes, MEGABYTE) == STATESAMPLER_OK);
    /* A few more where chance, or a busy machine, has let every save end. */
    for (k = 0; k < kills || (in_save == 0 && k < 1000); k++) {
        pid_t child;
        int status;
        progress->done = kept;
        progress->begun = number;
        fflush(stdout);
        child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            save_for_ever(path, number + 1, progress);
            _exit(5);
        }
        /* The instant counts from the child's first whole save, or, every
           fourth time, from its first step. */
        while (k % 4 != 0 && progress->done <= number) {
            CHECK(waitpid(child, &status, WNOHANG) == 0);
            sleep_microseconds(100);
        }
        sleep_microseconds(check_random(30000));
        CHECK(kill(child, SIGKILL) == 0);
        CHECK(waitpid(child, &status, 0) == child);
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        in_save += progress->begun > number &&
                   progress->begun != progress->done;

        CHECK(statesampler_load_file(path, bytes, MEGABYTE, &got) ==
              STATESAMPLER_OK);
        CHECK(whole(bytes, got, scratch));
        kept = number_of(bytes);
        CHECK(got == (kept % 2 == 0 ? MEGABYTE : MEGABYTE / 3 + 1));
        /* A save that was reported done is not lost, one that was not begun
           is not there. */
        CHECK(kept >= progress->done && kept <= progress->begun);
        CHECK(files_in_folder() <= 2);
        number = progress->begun;
    }
    /* What was killed in mid-save does not hinder the next save, and what it
       left behind does not pile up. */
    compose(bytes, MEGABYTE / 2, number + 1);
    CHECK(statesampler_save_file(path, bytes, MEGABYTE / 2) ==
          STATESAMPLER_OK);
    CHECK(statesampler_load_file(path, bytes, MEGABYTE, &got) ==
          STATESAMPLER_OK);
    CHECK(got == MEGABYTE / 2 && number_of(bytes) == number + 1);
    CHECK(whole(bytes, got, scratch));
    CHECK(files_in_folder() == 1);
    printf("test_hosted: %u kills, %u of them in mid-save, %lu saves\n", k,
           in_save, (unsigned long)number);
    CHECK(in_save > 0);
    CHECK(munmap((void *)progress, sizeof *progress) == 0);
    empty_folder();
    free(bytes);
    free(scratch);
}

/* The first file of the folder that is not this one, or "". */
static void other_file(const char *than, char *name)
{
    DIR *open = opendir(folder);
    struct dirent *entry;
    CHECK(open != NULL);
    name[0] = '\0';
    while ((entry = readdir(open)) != NULL)
        if (entry->d_name[0] != '.' && strcmp(entry->d_name, than) != 0 &&
            strlen(entry->d_name) < 200)
            strcpy(name, entry->d_name);
    closedir(open);
}

/* What a crash left behind, longer than what is saved then, is neither mixed
   into the new file nor kept. */
static void check_remains(void)
{
    char left[256], path[PATH];
    unsigned char *bytes = (unsigned char *)malloc(MEGABYTE);
    unsigned char *scratch = (unsigned char *)malloc(MEGABYTE);
    struct progress *progress;
    unsigned turn;
    size_t got;
    pid_t child = 0;
    CHECK(bytes != NULL && scratch != NULL);
    empty_folder();
    progress = shared_progress();
    left[0] = '\0';
    for (turn = 0; turn < 1000 && left[0] == '\0'; turn++) {
        int status;
        empty_folder();
        fflush(stdout);
        child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            save_for_ever(in_folder("resumed"), 2, progress);
            _exit(5);
        }
        for (got = 0; got < 1000 && left[0] == '\0'; got++)
            other_file("resumed", left);
        CHECK(kill(child, SIGKILL) == 0);
        CHECK(waitpid(child, &status, 0) == child);
        other_file("resumed", left);
    }
    CHECK(left[0] != '\0');
    CHECK(truncate(in_folder(left), MEGABYTE) == 0);
    join(path, "resumed");
    compose(bytes, 300, 9);
    CHECK(statesampler_save_file(path, bytes, 300) == STATESAMPLER_OK);
    CHECK(statesampler_load_file(path, bytes, MEGABYTE, &got) ==
          STATESAMPLER_OK);
    CHECK(got == 300 && number_of(bytes) == 9 && whole(bytes, got, scratch));
    CHECK(files_in_folder() == 1);
    CHECK(munmap((void *)progress, sizeof *progress) == 0);
    empty_folder();
    free(bytes);
    free(scratch);
}

/* Two processes that save under one name, as ranks that all think they are
   the first do: each file seen is one of theirs, whole. */
static void check_two_writers(unsigned saves)
{
    unsigned char *bytes = (unsigned char *)malloc(MEGABYTE);
    unsigned char *scratch = (unsigned char *)malloc(MEGABYTE);
    char path[PATH];
    pid_t child[2];
    unsigned w, k, seen = 0, alive = 2;
    size_t got;
    CHECK(bytes != NULL && scratch != NULL);
    join(path, "contested");
    empty_folder();
    fflush(stdout);
    for (w = 0; w < 2; w++) {
        child[w] = fork();
        CHECK(child[w] >= 0);
        if (child[w] == 0) {
            for (k = 0; k < saves; k++) {
                size_t size = 40000 + 10000 * w + 8 * k;
                compose(bytes, size, 2 * k + w);
                if (statesampler_save_file(path, bytes, size) !=
                    STATESAMPLER_OK)
                    _exit(4);
            }
            _exit(0);
        }
    }
    while (alive > 0) {
        int status, code;
        if (waitpid(-1, &status, WNOHANG) > 0) {
            CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
            alive--;
        }
        code = statesampler_load_file(path, bytes, MEGABYTE, &got);
        if (code == STATESAMPLER_ENOFILE && seen == 0)
            continue;
        CHECK(code == STATESAMPLER_OK);
        CHECK(whole(bytes, got, scratch));
        seen++;
    }
    CHECK(seen > 0);
    CHECK(number_of(bytes) / 2 == saves - 1);
    CHECK(files_in_folder() == 1);
    empty_folder();
    free(bytes);
    free(scratch);
}

/* ---- the order of the system calls ---- */

static void check_system_calls(void)
{
    static unsigned char bytes[5000], again[5000];
    char path[PATH];
    size_t got;
    empty_folder();
    join(path, "watched");
    compose(bytes, sizeof bytes, 1);
    asked_count = 0;
    CHECK(statesampler_save_file(path, bytes, sizeof bytes) ==
          STATESAMPLER_OK);
    asked[asked_count] = 0;
    CHECK(strcmp(asked, "wfrd") == 0);

    /* A disk that says no to the flush: nothing is renamed. */
    compose(again, sizeof again, 2);
    asked_count = 0;
    flush_fails = 1;
    CHECK(statesampler_save_file(path, again, sizeof again) ==
          STATESAMPLER_EIO);
    flush_fails = 0;
    asked[asked_count] = 0;
    CHECK(strcmp(asked, "wf") == 0);
    CHECK(files_in_folder() == 1);

    /* A folder that says no to the rename: nothing is left of the new file. */
    rename_fails = 1;
    CHECK(statesampler_save_file(path, again, sizeof again) ==
          STATESAMPLER_EIO);
    rename_fails = 0;
    CHECK(files_in_folder() == 1);
    CHECK(statesampler_load_file(path, again, sizeof again, &got) ==
          STATESAMPLER_OK);
    CHECK(got == sizeof bytes && memcmp(again, bytes, got) == 0);
    empty_folder();
}

int main(int argc, char **argv)
{
    int reduced = check_reduced(argc, argv);
    const char *base = getenv("TMPDIR");
    char path[PATH];
    if (base == NULL || strlen(base) > 80)
        base = "/tmp";
    sprintf(folder, "%s/test_hosted.XXXXXX", base);
    CHECK(mkdtemp(folder) != NULL);
    CHECK(atexit(remove_folder) == 0);
    check_texts();
    check_environment();
    check_round_trips(join(path, "round trip"));
    CHECK(files_in_folder() == 0);
    check_names();
    check_write_errors();
    check_crashes(reduced ? 5 : 60);
    check_remains();
    check_two_writers(reduced ? 20 : 100);
    check_system_calls();
    CHECK(files_in_folder() == 0);
    return check_done("test_hosted");
}

#else

int main(void)
{
    printf("test_hosted: no POSIX here, so only round trips are asked\n");
    check_texts();
    check_round_trips("test_hosted.bin");
    return check_done("test_hosted");
}

#endif
