/* msvc.h - what the header needs of Microsoft's C library, as its manual
   declares it, so that clang can look at the header as for MSVC without that
   library. tests/cases/msvc.sh gives it the names of the library's
   headers, and links with mingw's library, which has the same functions. */
#ifndef STATESAMPLER_TESTS_MSVC_H
#define STATESAMPLER_TESTS_MSVC_H

#include <stddef.h>
#include <stdint.h>

#define ENOENT 2
#define EINTR 4
#define EIO 5
#define EACCES 13
#define EEXIST 17
#define EINVAL 22
#define EFBIG 27
#define errno (*_errno())

#define _O_RDONLY 0x0000
#define _O_WRONLY 0x0001
#define _O_NOINHERIT 0x0080
#define _O_CREAT 0x0100
#define _O_EXCL 0x0400
#define _O_BINARY 0x8000
#define SEEK_END 2

#ifdef __cplusplus
extern "C" {
#endif

typedef int64_t __time64_t;
struct _wfinddata64_t {
    unsigned attrib;
    __time64_t time_create, time_access, time_write;
    int64_t size;
    wchar_t name[260];
};

int *_errno(void);
void *malloc(size_t size);
void free(void *memory);
void *_aligned_malloc(size_t size, size_t alignment);
void _aligned_free(void *memory);
char *getenv(const char *name);
int _getpid(void);
long clock(void);
int snprintf(char *out, size_t size, const char *format, ...);
void *memcpy(void *to, const void *from, size_t size);
size_t strlen(const char *text);
#ifdef __cplusplus
const char *strchr(const char *text, int c);
#else
char *strchr(const char *text, int c);
#endif
int64_t _lseeki64(int file, int64_t offset, int from);
int _waccess(const wchar_t *path, int mode);
int _wremove(const wchar_t *path);
intptr_t _wfindfirst64(const wchar_t *path, struct _wfinddata64_t *entry);
int _wfindnext64(intptr_t entries, struct _wfinddata64_t *entry);
int _findclose(intptr_t entries);
int _wopen(const wchar_t *path, int flags, ...);
int _commit(int file);
int _close(int file);
int _read(int file, void *bytes, unsigned size);
int _write(int file, const void *bytes, unsigned size);

#ifdef __cplusplus
}
#endif

#endif
