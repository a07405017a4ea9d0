/* agree.c - see agree.h. */
#include "agree.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int agree_or_tell(const char *complaint, char text[AGREE_TEXT])
{
    int rank, world, mine, first;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world);
    mine = complaint && complaint[0] ? rank : world;
    MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    text[0] = 0;
    if (first == world)
        return 1;
    if (first == rank)
        snprintf(text, AGREE_TEXT, "%s", complaint);
    MPI_Bcast(text, AGREE_TEXT, MPI_CHAR, first, MPI_COMM_WORLD);
    return 0;
}

void agree(const char *complaint, int status)
{
    char text[AGREE_TEXT];
    int rank;

    if (agree_or_tell(complaint, text))
        return;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        fflush(stdout);
        fprintf(stderr, "trainer: %s\n", text);
    }
    MPI_Finalize();
    exit(status);
}
