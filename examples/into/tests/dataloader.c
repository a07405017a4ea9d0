/* dataloader.c - examples/into/llm.c/dataloader.h: each sequence of unequal
   shards once in an epoch, the same order for any B and number of processes,
   through changes of both. */
#define _POSIX_C_SOURCE 200809L
#include "examples/into/llm.c/dataloader.h"

#define MOST 1000 /* sequences */

static int failures;
static DataLoader loaders[4];

static void check(int good, const char *what, size_t B, size_t T, int processes)
{
    if (!good && failures++ < 20)
        printf("%s: B %d, T %d, %d processes\n", what, (int)B, (int)T,
               processes);
}

/* Tokens count on through all shards, so the first one tells the sequence. */
static size_t write_shards(size_t T, uint16_t *firsts)
{
    const int32_t lengths[] = {50, 1, 7, 333, 16, 17, 48, 49, 120};
    uint16_t token = 0;
    size_t n = 0, k;

    for (k = 0; k < sizeof lengths / sizeof lengths[0]; k++) {
        int32_t header[256] = {20240520, 1, 0}, i;
        char name[32];
        FILE *file;
        snprintf(name, sizeof name, "shard_%d.bin", (int)k);
        file = fopen(name, "wb");
        header[2] = lengths[k];
        fwrite(header, sizeof header, 1, file);
        for (i = 0; i < lengths[k]; i++, token++) {
            fwrite(&token, sizeof token, 1, file);
            if (i % (int)T == 0 && i + (int)T < lengths[k])
                firsts[n++] = token;
        }
        fclose(file);
    }
    return n;
}

static void begin(size_t B, size_t T, int processes, int shuffle)
{
    int r;

    for (r = 0; r < processes; r++)
        dataloader_init(&loaders[r], "shard_*.bin", B, T, r, processes,
                        shuffle);
}

static void end(int processes)
{
    while (processes-- > 0)
        dataloader_free(&loaders[processes]);
}

/* The next step of all processes, as the first tokens of its sequences. */
static size_t step(size_t B, size_t T, int processes, uint16_t *out)
{
    size_t row, t;
    int r, good = 1;

    for (r = 0; r < processes; r++) {
        dataloader_next_batch(&loaders[r]);
        for (row = 0; row < B; row++) {
            const int first = loaders[r].inputs[row * T];
            out[row * (size_t)processes + (size_t)r] = (uint16_t)first;
            for (t = 0; t < T; t++)
                good = good &&
                       loaders[r].inputs[row * T + t] == first + (int)t &&
                       loaders[r].targets[row * T + t] == first + 1 + (int)t;
        }
    }
    check(good, "the tokens of a sequence", B, T, processes);
    return B * (size_t)processes;
}

/* Three epochs, B and processes from the list by turns; after `keep` steps the
   state goes to loaders of the next shape. */
static void run(size_t T, const size_t *Bs, const int *processes, int shapes,
                int keep, size_t n, uint16_t *out)
{
    unsigned char state[STATESAMPLER_STATE_BYTES];
    size_t done = 0;
    int k = 0, i, r;

    begin(Bs[0], T, processes[0], 1);
    while (done < 3 * n) {
        for (i = 0; i < keep && done < 3 * n; i++)
            done += step(Bs[k], T, processes[k], out + done);
        statesampler_save(&loaders[processes[k] - 1].sampler, state,
                          sizeof state);
        end(processes[k]);
        k = (k + 1) % shapes;
        begin(Bs[k], T, processes[k], 1);
        for (r = 0; r < processes[k]; r++)
            check(statesampler_load(&loaders[r].sampler, state, sizeof state) ==
                      0,
                  "a state", Bs[k], T, processes[k]);
    }
    end(processes[k]);
}

/* Whether each of n sequences comes once in each of three epochs. */
static int is_exact(const uint16_t *out, const uint16_t *firsts, size_t n)
{
    static unsigned char seen[65536];
    size_t epoch, i;
    int good = 1;

    for (epoch = 0; epoch < 3; epoch++) {
        memset(seen, 0, sizeof seen);
        for (i = 0; i < n; i++)
            good = good && !seen[out[epoch * n + i]]++;
        for (i = 0; i < n; i++)
            good = good && seen[firsts[i]] == 1;
    }
    return good && memcmp(out, out + n, 2 * n) != 0;
}

int main(void)
{
    static uint16_t firsts[MOST], one[4 * MOST], out[4 * MOST];
    static const size_t lengths[] = {1, 3, 16};
    static const size_t Bs[] = {1, 3, 2, 5};
    static const int processes[] = {1, 2, 4, 3};
    size_t k, i, n, done;
    int shape;

    for (k = 0; k < 3; k++) {
        const size_t T = lengths[k];
        n = write_shards(T, firsts);
        run(T, Bs, processes, 1, 1 << 30, n, one); /* never changes */
        check(is_exact(one, firsts, n), "each sequence once", 1, T, 1);
        for (shape = 1; shape < 4; shape++) {
            run(T, Bs + shape, processes + shape, 1, 7, n, out);
            check(memcmp(one, out, 6 * n) == 0, "the same order", Bs[shape], T,
                  processes[shape]);
        }
        run(T, Bs, processes, 4, 3, n, out);
        check(memcmp(one, out, 6 * n) == 0, "the same in all shapes", 0, T, 0);
        begin(2, T, 3, 0);
        for (done = 0; done < 2 * n;)
            done += step(2, T, 3, out + done);
        for (i = 0; i < done; i++)
            check(out[i] == firsts[i % n], "in order", 2, T, 3);
        dataloader_reset(&loaders[0]);
        dataloader_next_batch(&loaders[0]);
        check(loaders[0].inputs[0] == firsts[0], "a reset", 2, T, 3);
        check(loaders[0].num_tokens == 641, "num_tokens", 2, T, 3);
        end(3);
    }
    if (failures == 0)
        printf("dataloader: right for T 1, 3 and 16, and 1 to 4 processes\n");
    return failures != 0;
}
