/* mpi.h - a stand-in for MPI: what the trainer's checkpoints need of it, within
   one process. Ranks are threads of which one runs at a time, one after the
   other, from one collective call to the next: a run is the same each time, and
   where one leaves the others waiting, or asks another thing than they do, the
   program ends. */
#ifndef TESTS_FUZZ_MPI_H
#define TESTS_FUZZ_MPI_H

#include <stddef.h>

/* Calls work on each of so many ranks, at most MPI_RANKS; rank 0 is the thread
   that calls. Returns when all have returned. */
enum { MPI_RANKS = 8 };
void mpi_run(int world, void (*work)(int rank, void *context), void *context);

/* A static object with this word is one for each rank. */
#define MPI_RANK_LOCAL __thread

typedef int MPI_Comm, MPI_Request, MPI_Status;
/* The bytes of an element, but for their number. */
typedef enum {
    MPI_BYTE = 1,
    MPI_CHAR = 0x101,
    MPI_INT = 4,
    MPI_FLOAT = 0x104,
    MPI_INT64_T = 8,
    MPI_UINT64_T = 0x108
} MPI_Datatype;
typedef enum { MPI_MIN, MPI_MAX, MPI_SUM } MPI_Op;

#define MPI_COMM_WORLD 0
#define MPI_REQUEST_NULL 0
#define MPI_IN_PLACE ((void *)-1)
#define MPI_STATUS_IGNORE NULL
#define MPI_STATUSES_IGNORE NULL

int MPI_Init(int *argc, char ***argv);
int MPI_Finalize(void);
int MPI_Comm_rank(MPI_Comm all, int *rank);
int MPI_Comm_size(MPI_Comm all, int *world);
int MPI_Bcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm all);
int MPI_Allreduce(const void *from, void *to, int count, MPI_Datatype type,
                  MPI_Op op, MPI_Comm all);
int MPI_Gather(const void *from, int count, MPI_Datatype type, void *to,
               int to_count, MPI_Datatype to_type, int root, MPI_Comm all);
int MPI_Allgather(const void *from, int count, MPI_Datatype type, void *to,
                  int to_count, MPI_Datatype to_type, MPI_Comm all);

/* Of a step: no checkpoint calls these, and they end the program. */
int MPI_Ireduce(const void *from, void *to, int count, MPI_Datatype type,
                MPI_Op op, int root, MPI_Comm all, MPI_Request *request);
int MPI_Iallreduce(const void *from, void *to, int count, MPI_Datatype type,
                   MPI_Op op, MPI_Comm all, MPI_Request *request);
int MPI_Wait(MPI_Request *request, MPI_Status *status);
int MPI_Waitall(int count, MPI_Request *requests, MPI_Status *statuses);
int MPI_Testall(int count, MPI_Request *requests, int *done,
                MPI_Status *statuses);

#endif
