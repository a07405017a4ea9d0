/* mpi.c - see mpi.h. */
#define _POSIX_C_SOURCE 200809L /* pthread */

#include "mpi.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MUST(condition) \
    ((condition) ? (void)0 : (perror("mpi.c: not true: " #condition), abort()))

enum kind { LEFT, BCAST, ALLREDUCE, GATHER };

/* What a rank asks for; what all must ask alike stands first. */
struct call {
    enum kind kind;
    int count, root; /* -1: all */
    MPI_Datatype type;
    MPI_Op op;
    const void *from;
    void *to;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t passed = PTHREAD_COND_INITIALIZER;
static int world = 1, turn;
static struct call calls[MPI_RANKS];
static __thread int me;

/* --- What a call does ----------------------------------------------------- */

static size_t bytes_of(const struct call *c)
{
    return (size_t)c->count * ((size_t)c->type & 0xff);
}

static uint64_t element(const void *values, MPI_Datatype type, int i)
{
    uint64_t value = 0;
    int32_t small;

    if (type == MPI_INT) {
        memcpy(&small, (const char *)values + 4 * i, 4);
        return (uint64_t)(int64_t)small;
    }
    MUST(type == MPI_INT64_T || type == MPI_UINT64_T);
    memcpy(&value, (const char *)values + 8 * i, 8);
    return value;
}

/* Numbers are compared as those of uint64_t: none here is negative. */
static uint64_t combine(MPI_Op op, uint64_t a, uint64_t b)
{
    switch (op) {
    case MPI_MIN:
        return a < b ? a : b;
    case MPI_MAX:
        return a > b ? a : b;
    default:
        return a + b;
    }
}

static void all_reduce(void)
{
    const MPI_Datatype type = calls[0].type;
    uint64_t *sums = calloc((size_t)calls[0].count + 1, sizeof *sums);
    int rank, i;

    MUST(sums != NULL);
    for (i = 0; i < calls[0].count; i++)
        for (rank = 0; rank < world; rank++)
            sums[i] = rank == 0 ? element(calls[0].from, type, i)
                                : combine(calls[0].op, sums[i],
                                          element(calls[rank].from, type, i));
    for (rank = 0; rank < world; rank++)
        for (i = 0; i < calls[0].count; i++) {
            const int32_t small = (int32_t)sums[i];

            if (type == MPI_INT)
                memcpy((char *)calls[rank].to + 4 * i, &small, 4);
            else
                memcpy((char *)calls[rank].to + 8 * i, &sums[i], 8);
        }
    free(sums);
}

static void gather(void)
{
    const size_t size = bytes_of(&calls[0]);
    int rank, from;

    for (rank = 0; rank < world; rank++)
        for (from = 0; from < world; from++)
            if (calls[0].root < 0 || calls[0].root == rank)
                memcpy((char *)calls[rank].to + (size_t)from * size,
                       calls[from].from, size);
}

/* All have asked. */
static void answer(void)
{
    const struct call *first = &calls[0];
    int rank;

    for (rank = 1; rank < world; rank++) {
        MUST(calls[rank].kind == first->kind);
        MUST(calls[rank].count == first->count);
        MUST(calls[rank].root == first->root);
        MUST(calls[rank].type == first->type && calls[rank].op == first->op);
    }
    switch (first->kind) {
    case LEFT:
        return;
    case BCAST:
        for (rank = 0; rank < world; rank++)
            if (rank != first->root)
                memcpy(calls[rank].to, calls[first->root].to, bytes_of(first));
        return;
    case ALLREDUCE:
        all_reduce();
        return;
    case GATHER:
        gather();
    }
}

/* --- Turns ---------------------------------------------------------------- */

static void wait_for_turn(void)
{
    while (turn != me) /* ends: each rank hands it on */
        MUST(pthread_cond_wait(&passed, &mutex) == 0);
}

/* Asks, and has the others go on until they have asked, too. */
static int ask(const struct call *call)
{
    calls[me] = *call;
    if (me == world - 1)
        answer();
    if (world > 1) {
        turn = (me + 1) % world;
        MUST(pthread_cond_broadcast(&passed) == 0);
        if (call->kind != LEFT)
            wait_for_turn();
    }
    return 0;
}

static struct {
    void (*work)(int rank, void *context);
    void *context;
} job;

static void *begin(void *rank)
{
    const struct call left = {0};

    me = *(const int *)rank;
    MUST(pthread_mutex_lock(&mutex) == 0);
    wait_for_turn();
    job.work(me, job.context);
    ask(&left);
    MUST(pthread_mutex_unlock(&mutex) == 0);
    return NULL;
}

void mpi_run(int ranks, void (*work)(int rank, void *context), void *context)
{
    const struct call left = {0};
    pthread_t threads[MPI_RANKS];
    int names[MPI_RANKS], rank;

    MUST(ranks >= 1 && ranks <= MPI_RANKS);
    world = ranks;
    turn = me = 0;
    job.work = work;
    job.context = context;
    MUST(pthread_mutex_lock(&mutex) == 0);
    for (rank = 1; rank < ranks; rank++) {
        names[rank] = rank;
        MUST(pthread_create(&threads[rank], NULL, begin, &names[rank]) == 0);
    }
    work(0, context);
    ask(&left);
    MUST(pthread_mutex_unlock(&mutex) == 0);
    for (rank = 1; rank < ranks; rank++)
        MUST(pthread_join(threads[rank], NULL) == 0);
}

/* --- MPI ------------------------------------------------------------------ */

int MPI_Init(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    return 0;
}

int MPI_Finalize(void)
{
    return 0;
}

int MPI_Comm_rank(MPI_Comm all, int *rank)
{
    *rank = me;
    return all;
}

int MPI_Comm_size(MPI_Comm all, int *size)
{
    *size = world;
    return all;
}

int MPI_Bcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm all)
{
    const struct call call = {BCAST, count, root, type, MPI_SUM, NULL, data};

    return all + ask(&call);
}

int MPI_Allreduce(const void *from, void *to, int count, MPI_Datatype type,
                  MPI_Op op, MPI_Comm all)
{
    const struct call call = {
        ALLREDUCE, count, -1, type, op, from == MPI_IN_PLACE ? to : from, to};

    return all + ask(&call);
}

int MPI_Gather(const void *from, int count, MPI_Datatype type, void *to,
               int to_count, MPI_Datatype to_type, int root, MPI_Comm all)
{
    const struct call call = {GATHER, count, root, type, MPI_SUM, from, to};

    MUST(to_count == count && to_type == type);
    return all + ask(&call);
}

int MPI_Allgather(const void *from, int count, MPI_Datatype type, void *to,
                  int to_count, MPI_Datatype to_type, MPI_Comm all)
{
    return MPI_Gather(from, count, type, to, to_count, to_type, -1, all);
}

/* --- Of a step ------------------------------------------------------------ */

int MPI_Ireduce(const void *from, void *to, int count, MPI_Datatype type,
                MPI_Op op, int root, MPI_Comm all, MPI_Request *request)
{
    (void)from, (void)to, (void)count, (void)type, (void)op, (void)root;
    (void)all, (void)request;
    abort();
}

int MPI_Iallreduce(const void *from, void *to, int count, MPI_Datatype type,
                   MPI_Op op, MPI_Comm all, MPI_Request *request)
{
    (void)from, (void)to, (void)count, (void)type, (void)op;
    (void)all, (void)request;
    abort();
}

int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    (void)request, (void)status;
    abort();
}

int MPI_Waitall(int count, MPI_Request *requests, MPI_Status *statuses)
{
    (void)count, (void)requests, (void)statuses;
    abort();
}

int MPI_Testall(int count, MPI_Request *requests, int *done,
                MPI_Status *statuses)
{
    (void)count, (void)requests, (void)done, (void)statuses;
    abort();
}
