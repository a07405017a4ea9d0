/* agree.c - see agree.h. */
#define _POSIX_C_SOURCE 200809L /* setenv */

#include "agree.h"

#include <ctype.h>
#include <errno.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Per rank, also where ranks are threads (tests/fuzz/mpi). */
#ifndef MPI_RANK_LOCAL
#define MPI_RANK_LOCAL
#endif
static MPI_RANK_LOCAL char words[1200];

/* Uses shared memory and TCP only. Otherwise Open MPI looks for networks and
   warns of each whose library is missing. */
void agree_begin(int *argc, char ***argv)
{
    setenv("OMPI_MCA_pml", "ob1", 0);
    MPI_Init(argc, argv);
}

const char *complain(const char *format, ...)
{
    char text[sizeof words];
    va_list list;
    char *c;

    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    for (c = text; *c; c++) /* file names may contain terminal commands */
        if (iscntrl((unsigned char)*c))
            *c = '?';
    memcpy(words, text, sizeof words);
    return words;
}

const char *cannot(const char *what, const char *path)
{
    return complain("cannot %s %s: %s", what, path, strerror(errno));
}

const char *agree_on(const char *complaint)
{
    int rank, world, mine, first;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world);
    mine = *complaint ? rank : world;
    MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (first == world)
        return "";
    if (first == rank)
        complain("%s", complaint);
    MPI_Bcast(words, sizeof words, MPI_CHAR, first, MPI_COMM_WORLD);
    return words;
}

void agree(const char *complaint)
{
    int rank;

    complaint = agree_on(complaint);
    if (!*complaint)
        return;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        fflush(stdout);
        fprintf(stderr, "trainer: %s\n", complaint);
    }
    MPI_Finalize();
    exit(1);
}

int agree_same(uint64_t value)
{
    uint64_t most[2] = {value, ~value}; /* the maximum, and ~ the minimum */

    MPI_Allreduce(MPI_IN_PLACE, most, 2, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
    return most[0] == ~most[1];
}
