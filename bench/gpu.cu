/* gpu.cu - checks that the header gives the same bits on a GPU as on the host,
   and compares writing an epoch with a memset.

   `make gpu` compiles and runs this. `build/gpu 24` fills an epoch of 2^24
   samples instead of 2^30; `build/gpu 24 1000000 7` first compares a million
   random cases drawn from seed 7. Without a GPU it checks only nvcc's host
   code, and says so. Times are the shortest of many runs, and every timed
   result is compared with the host's. */
#define STATESAMPLER_STATIC
#define STATESAMPLER_API __host__ __device__
#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef GPU_FLAGS
#define GPU_FLAGS "flags unknown"
#endif

/* A thread takes EACH positions of a tile, THREADS apart, so that neighbouring
   threads write neighbouring indices. */
enum { THREADS = 256, EACH = 8, TILE = THREADS * EACH };
enum { CHUNK = 2048, BATCH = 5, SOURCES = 3, RUNS = 20 };

/* Ends the program unless good: with a wrong result every figure is
   worthless. */
static void must(bool good, const char *what)
{
    if (!good) {
        printf("gpu: wrong: %s\n", what);
        exit(1);
    }
}

static void must(cudaError_t status)
{
    must(status == cudaSuccess, cudaGetErrorString(status));
}

/* --- every function, on host and device --- */

/* A digest of all results, and the number of contradictions among them. */
struct result {
    uint64_t digest, wrong;
};

__host__ __device__ static uint64_t scramble(uint64_t x)
{
    x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
    return x ^ x >> 32;
}

__host__ __device__ static void note(result *r, uint64_t value)
{
    r->digest = scramble(r->digest + value);
}

__host__ __device__ static void expect(result *r, bool good)
{
    r->wrong += !good;
}

__host__ __device__ static void use_perm(result *r, uint64_t n, uint64_t seed)
{
    uint64_t out[EACH + 3], stride = 1 + seed % (n / (EACH + 3) + 1), first;
    size_t i, count = n < (EACH + 3) * stride ? 1 : EACH + 3;
    statesampler_perm perm;
    expect(r, statesampler_perm_init(&perm, n, seed, 1, 2) == STATESAMPLER_OK);
    first = scramble(seed) % (n - (count - 1) * stride);
    statesampler_perm_fill(&perm, first, stride, out, count);
    for (i = 0; i < count; i++) {
        uint64_t position = first + i * stride;
        expect(r, out[i] < n);
        expect(r, out[i] == statesampler_perm_at(&perm, position));
        expect(r, position == statesampler_perm_inverse(&perm, out[i]));
        note(r, out[i]);
    }
}

/* Not inlined, as three copies take nvcc far longer to compile than one. */
__host__ __device__ static __noinline__ int serve(statesampler *s,
                                                  uint64_t *out, size_t *count)
{
    return statesampler_next(s, out, count);
}

/* Four steps, each with at and with next, and their audit. */
__host__ __device__ static void use_steps(result *r, statesampler *s,
                                          uint64_t num_samples)
{
    uint64_t out[BATCH], same[BATCH];
    statesampler_audit audit = {0, 0, 0, 0}, sum = {0, 0, 0, 0};
    size_t count, same_count;
    for (int k = 0; k < 4; k++) {
        uint64_t step = statesampler_step(s);
        int code = statesampler_at(s, step, same, &same_count);
        note(r, statesampler_padding(s, step));
        expect(r, serve(s, out, &count) == code);
        expect(r, same_count == count);
        for (size_t i = 0; i < count; i++) {
            expect(r, out[i] == same[i]);
            note(r, out[i]);
        }
        note(r, count);
        statesampler_audit_add(&audit, out, count);
    }
    statesampler_audit_merge(&sum, &audit);
    note(r, sum.sum1 + sum.sum2 + sum.sum3);
    note(r, (uint64_t)statesampler_audit_check(&sum, num_samples));
}

/* The queries and the functions that move a sampler. */
__host__ __device__ static void use_questions(result *r, statesampler *s,
                                              uint64_t num_samples)
{
    uint64_t out[BATCH];
    statesampler_counts counts;
    statesampler_place place;
    size_t count;
    statesampler_get_counts(s, &counts);
    note(r, counts.positions + counts.padded + counts.dropped);
    note(r, counts.steps + counts.rank_samples + counts.rank_batches);
    if (statesampler_locate(s, num_samples / 2, &place) == 0)
        note(r, place.position + place.step + place.rank + place.slot);
    expect(r, statesampler_seek(s, 0) == STATESAMPLER_OK);
    statesampler_set_epoch(s, 9);
    note(r, statesampler_epoch(s) + statesampler_num_steps(s));
    note(r, (uint64_t)serve(s, out, &count));
    note(r, count + statesampler_position(s));
    statesampler_begin(s, 9);
    note(r, statesampler_position(s));
    note(r, statesampler_sample_seed(s, 9, num_samples / 2));
    expect(r, statesampler_reshape(s, 1, 2, BATCH) == STATESAMPLER_OK);
    note(r, statesampler_num_steps(s));
    note(r, (uint64_t)-statesampler_resize(s, num_samples / 2));
    note(r, statesampler_num_steps(s));
}

/* A first step, a save, a load on another rank, and the rest. */
__host__ __device__ static void use_sampler(result *r,
                                            const statesampler_desc *desc)
{
    unsigned char state[STATESAMPLER_STATE_BYTES];
    uint64_t out[BATCH];
    statesampler saved, s;
    statesampler_desc other = *desc;
    statesampler_place place = {};
    size_t i, count;
    int code = statesampler_init(&saved, desc);
    note(r, (uint64_t)statesampler_error(code)[0]);
    note(r, statesampler_version());
    if (code != STATESAMPLER_OK)
        return;
    note(r, (uint64_t)serve(&saved, out, &count));
    expect(r, statesampler_save(&saved, state, sizeof state - 1) ==
                  STATESAMPLER_ECAPACITY);
    expect(r,
           statesampler_save(&saved, state, sizeof state) == STATESAMPLER_OK);
    for (i = 0; i < sizeof state; i++)
        note(r, state[i]);
    code = statesampler_describe(state, sizeof state, &other, &place);
    expect(r, code == STATESAMPLER_OK && other.seed == desc->seed);
    note(r, place.position + place.step);
    other = *desc;
    other.rank = (desc->rank + 1) % 3;
    code = statesampler_init(&s, &other);
    expect(r, code == STATESAMPLER_OK);
    if (code != STATESAMPLER_OK)
        return;
    expect(r, statesampler_load(&s, state, sizeof state) == STATESAMPLER_OK);
    use_steps(r, &s, desc->num_samples);
    use_questions(r, &s, desc->num_samples);
}

__host__ __device__ static __noinline__ int make_mix(
    statesampler_mix *mix, statesampler_source *sources, uint64_t random)
{
    statesampler_desc desc = {};
    desc.num_samples = 1 + random % 300;
    desc.seed = random;
    desc.world_size = 1 + (uint32_t)(random >> 9 & 3);
    desc.rank = desc.world_size - 1;
    desc.order = random >> 11 & 1;
    desc.tail = (uint32_t)(random >> 13) % STATESAMPLER_TAIL_CARRY;
    for (uint32_t i = 0; i < SOURCES; i++) {
        desc.stream = i;
        desc.batch_size = BATCH - i;
        sources[i].weight = 1 + (uint32_t)(random >> (16 + 3 * i) & 7);
        int code = statesampler_init(&sources[i].sampler, &desc);
        if (code != STATESAMPLER_OK)
            return code;
        desc.num_samples += random >> 32 & 63;
    }
    return statesampler_mix_init(mix, sources, SOURCES, random >> 40 & 3);
}

/* Turns, each with at and with next. */
__host__ __device__ static __noinline__ void use_turns(result *r,
                                                       statesampler_mix *mix,
                                                       int turns)
{
    uint64_t out[BATCH], same[BATCH];
    size_t count = 0, same_count = 0;
    uint32_t source = 0, same_source = 0;
    for (int k = 0; k < turns; k++) {
        int code = statesampler_mix_at(mix, statesampler_mix_turn(mix), same,
                                       &same_count, &same_source);
        expect(r, statesampler_mix_next(mix, out, &count, &source) == code);
        expect(r, source == same_source && count == same_count);
        for (size_t i = 0; i < count; i++) {
            expect(r, out[i] == same[i]);
            note(r, statesampler_mix_offset(mix, source) + out[i]);
        }
        note(r, (uint64_t)code << 32 | source);
    }
    note(r, statesampler_mix_turn(mix) + statesampler_mix_num_turns(mix));
}

/* Turns, a save, a load, other weights, another shape, and a seek back. */
__host__ __device__ static void use_mix(result *r, uint64_t random)
{
    unsigned char state[48 + 120 * SOURCES];
    const uint32_t weights[SOURCES] = {2, 1, 3};
    statesampler_source sources[SOURCES], others[SOURCES];
    statesampler_mix mix, other;
    statesampler_mix_place saved = {};
    statesampler_place place = {};
    uint64_t turn = 0;
    int code = make_mix(&mix, sources, random);
    note(r, (uint64_t)-code);
    if (code != STATESAMPLER_OK)
        return;
    use_turns(r, &mix, 20);
    expect(r, statesampler_mix_state_bytes(&mix) == sizeof state);
    expect(r,
           statesampler_mix_save(&mix, state, sizeof state) == STATESAMPLER_OK);
    for (size_t i = 0; i < sizeof state; i++)
        note(r, state[i]);
    code = statesampler_mix_describe(state, sizeof state, 1, NULL, &saved);
    expect(r, code == STATESAMPLER_OK);
    expect(r, saved.turn == statesampler_mix_turn(&mix));
    expect(r, make_mix(&other, others, random) == STATESAMPLER_OK);
    expect(r, statesampler_mix_load(&other, state, sizeof state) ==
                  STATESAMPLER_OK);
    use_turns(r, &other, 20);
    note(r, (uint64_t)-statesampler_mix_locate(&other, 1, 0, &turn, &place));
    note(r, turn + place.position);
    note(r, (uint64_t)-statesampler_mix_weigh(&other, weights));
    note(r, (uint64_t)-statesampler_mix_reshape(&other, 0, 3));
    turn = statesampler_mix_turn(&other);
    use_turns(r, &other, 5);
    note(r, (uint64_t)-statesampler_mix_seek(&other, turn));
    note(r, statesampler_mix_epoch(&other));
}

/* One random case. Together they have all orders, partitions and tails, and
   sizes of every width. */
__host__ __device__ static result use_all(uint64_t number)
{
    result r = {number, 0};
    uint64_t random = scramble(number + 1);
    statesampler_desc desc = {};
    desc.num_samples = 1 + (random >> (2 + number % 62));
    desc.seed = random;
    desc.epoch = number;
    desc.stream = number % 5;
    desc.rank = (uint32_t)(number % 3);
    desc.world_size = 3;
    desc.batch_size = BATCH;
    desc.order = number % 4;
    desc.partition = number / 4 % 2;
    desc.tail = number / 8 % 4;
    desc.drop_last = number / 32 % 2;
    desc.chunk_size = 1 + number % 100;
    desc.window = 3;
    use_perm(&r, desc.num_samples, desc.seed);
    use_sampler(&r, &desc);
    use_mix(&r, random);
    return r;
}

__global__ void use_all_kernel(uint64_t first, result *results)
{
    uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
    results[thread] = use_all(first + thread);
}

/* The sampler is passed by value; each thread serves one step. */
__global__ void serve_kernel(statesampler sampler, uint64_t steps,
                             uint64_t *batches, size_t *counts)
{
    uint64_t step = blockIdx.x * blockDim.x + threadIdx.x;
    if (step < steps)
        statesampler_at(&sampler, step, batches + step * BATCH, counts + step);
}

/* Runs the cases on the host and, if there is one, on the device. */
static void check_every_function(uint64_t cases, uint64_t seed, bool device)
{
    result *results = NULL;
    uint64_t digest = 0, begin = (seed - 1) * cases;
    if (device)
        must(cudaMallocManaged(&results, CHUNK * sizeof *results));
    for (uint64_t first = 0; first < cases; first += CHUNK) {
        if (device) {
            use_all_kernel<<<CHUNK / 32, 32>>>(begin + first, results);
            must(cudaDeviceSynchronize());
        }
        for (uint64_t i = 0; i < CHUNK && first + i < cases; i++) {
            result r = use_all(begin + first + i);
            must(r.wrong == 0, "results on the host are inconsistent");
            digest += r.digest;
            if (device) {
                must(results[i].wrong == 0,
                     "results on the device are inconsistent");
                must(results[i].digest == r.digest, "device and host differ");
            }
        }
    }
    if (device)
        must(cudaFree(results));
    printf("%llu cases of every function: %s, digest %016llx\n",
           (unsigned long long)cases,
           device ? "device and host agree" : "consistent on the host",
           (unsigned long long)digest);
}

static void check_serving()
{
    statesampler sampler;
    statesampler_desc desc = {};
    uint64_t *batches, out[BATCH];
    size_t *counts, count;
    desc.num_samples = 100003;
    desc.batch_size = BATCH;
    desc.world_size = 7;
    must(statesampler_init(&sampler, &desc) == 0, "init");
    uint64_t steps = statesampler_num_steps(&sampler);
    must(cudaMallocManaged(&batches, steps * BATCH * sizeof *batches));
    must(cudaMallocManaged(&counts, steps * sizeof *counts));
    serve_kernel<<<(unsigned)(steps / THREADS + 1), THREADS>>>(sampler, steps,
                                                               batches, counts);
    must(cudaDeviceSynchronize());
    for (uint64_t step = 0; step < steps; step++) {
        must(statesampler_next(&sampler, out, &count) == 1, "step");
        must(count == counts[step], "size of a batch");
        must(memcmp(out, batches + step * BATCH, count * sizeof *out) == 0,
             "batch on the device");
    }
    must(cudaFree(batches));
    must(cudaFree(counts));
    printf("%llu steps, one thread each: device and host agree\n",
           (unsigned long long)steps);
}

/* --- an epoch --- */

/* __grid_constant__, so that taking perm's address does not copy it into each
   thread's memory. */
__global__ void fill_kernel(const __grid_constant__ statesampler_perm perm,
                            uint64_t first, uint64_t count, uint64_t *out)
{
    uint64_t at = (uint64_t)blockIdx.x * TILE + threadIdx.x;
    for (; at < count; at += (uint64_t)gridDim.x * TILE) {
        if (count - at > (EACH - 1) * THREADS) {
            uint64_t batch[EACH]; /* in registers */
            statesampler_perm_fill(&perm, first + at, THREADS, batch, EACH);
#pragma unroll
            for (int j = 0; j < EACH; j++)
                out[at + j * THREADS] = batch[j];
        } else { /* the last tile */
            for (; at < count; at += THREADS)
                out[at] = statesampler_perm_at(&perm, first + at);
        }
    }
}

__global__ void at_kernel(const __grid_constant__ statesampler_perm perm,
                          uint64_t first, uint64_t count, uint64_t *out)
{
    uint64_t at = (uint64_t)blockIdx.x * THREADS + threadIdx.x;
    for (; at < count; at += (uint64_t)gridDim.x * THREADS)
        out[at] = statesampler_perm_at(&perm, first + at);
}

typedef void (*filler)(statesampler_perm, uint64_t, uint64_t, uint64_t *);

/* A digest of positions and indices, and the audit's sums. */
struct proof {
    unsigned long long digest, count, sum1, sum2, sum3;
};

__host__ __device__ static uint64_t term(uint64_t position, uint64_t index)
{
    return scramble(scramble(position) + index);
}

__global__ void prove_kernel(uint64_t first, uint64_t count,
                             const uint64_t *out, proof *sum)
{
    uint64_t digest = 0;
    uint64_t at = (uint64_t)blockIdx.x * THREADS + threadIdx.x;
    statesampler_audit audit = {0, 0, 0, 0};
    for (; at < count; at += (uint64_t)gridDim.x * THREADS) {
        digest += term(first + at, out[at]);
        statesampler_audit_add(&audit, out + at, 1);
    }
    atomicAdd(&sum->digest, digest);
    atomicAdd(&sum->count, audit.count);
    atomicAdd(&sum->sum1, audit.sum1);
    atomicAdd(&sum->sum2, audit.sum2);
    atomicAdd(&sum->sum3, audit.sum3);
}

/* The same digest on the host, computed with other strides and counts. */
static uint64_t digest_on_host(const statesampler_perm *perm, uint64_t first,
                               uint64_t count)
{
    const uint64_t chunk = 1 << 14;
    int64_t chunks = (int64_t)((count + chunk - 1) / chunk);
    uint64_t digest = 0;
#pragma omp parallel for reduction(+ : digest)
    for (int64_t k = 0; k < chunks; k++) {
        static thread_local uint64_t out[chunk];
        uint64_t at = (uint64_t)k * chunk;
        uint64_t some = count - at < chunk ? count - at : chunk;
        statesampler_perm_fill(perm, first + at, 1, out, some);
        for (uint64_t i = 0; i < some; i++)
            digest += term(first + at + i, out[i]);
    }
    return digest;
}

static unsigned blocks; /* a few per multiprocessor */

/* Checks the indices on the device against the host's digest and, if they are a
   whole epoch, that they are a permutation. */
static void check_indices(uint64_t n, uint64_t first, uint64_t count,
                          const uint64_t *out, uint64_t digest)
{
    proof *sum;
    statesampler_audit audit;
    must(cudaMallocManaged(&sum, sizeof *sum));
    memset(sum, 0, sizeof *sum);
    prove_kernel<<<blocks, THREADS>>>(first, count, out, sum);
    must(cudaDeviceSynchronize());
    must(sum->digest == digest, "indices on the device");
    audit.count = sum->count;
    audit.sum1 = sum->sum1;
    audit.sum2 = sum->sum2;
    audit.sum3 = sum->sum3;
    must(count < n || statesampler_audit_check(&audit, n),
         "an index is missing or repeated");
    must(cudaFree(sum));
}

/* Both kernels, at sizes with a partial tile, with cycle walks, and on both
   sides of 2^30. */
static void check_sizes()
{
    static const uint64_t one = 1, most = 1000003;
    static const uint64_t sizes[] = {1,
                                     2,
                                     10,
                                     2047,
                                     2049,
                                     4095,
                                     most,
                                     (one << 24) + 1,
                                     (one << 28) + 9,
                                     one << 30,
                                     (one << 30) + 1,
                                     (one << 40) + 1,
                                     one << 62};
    static const filler kernels[] = {fill_kernel, at_kernel};
    uint64_t *out;
    must(cudaMalloc(&out, most * sizeof *out));
    for (uint64_t n : sizes) {
        statesampler_perm perm;
        uint64_t count = n < most ? n : most, first = (n - count) / 2, digest;
        must(statesampler_perm_init(&perm, n, n, 2, 3) == 0, "init");
        digest = digest_on_host(&perm, first, count);
        for (filler kernel : kernels) {
            must(cudaMemset(out, 0xff, count * sizeof *out));
            kernel<<<blocks, THREADS>>>(perm, first, count, out);
            must(cudaGetLastError());
            check_indices(n, first, count, out, digest);
        }
    }
    must(cudaFree(out));
    printf("n from 1 to 2^62, up to %llu indices each: device and host "
           "agree\n",
           (unsigned long long)most);
}

/* The shortest of many runs, in milliseconds. */
template <class Work> static double least(Work work)
{
    float milliseconds, best = 1e30f;
    cudaEvent_t begin, end;
    must(cudaEventCreate(&begin));
    must(cudaEventCreate(&end));
    for (int i = 0; i < RUNS; i++) {
        must(cudaEventRecord(begin));
        work();
        must(cudaGetLastError());
        must(cudaEventRecord(end));
        must(cudaEventSynchronize(end));
        must(cudaEventElapsedTime(&milliseconds, begin, end));
        best = milliseconds < best ? milliseconds : best;
    }
    must(cudaEventDestroy(begin));
    must(cudaEventDestroy(end));
    return best;
}

static void print_row(const char *what, uint64_t n, double ms, double bar)
{
    printf("%-38s %9.3f %9.2f %9.2f\n", what, ms, (double)n / ms * 1e-6,
           bar / ms);
}

/* Milliseconds of torch.randperm(n) on the same device; 0 without torch. */
static double torch_randperm(uint64_t n)
{
    char command[640];
    const char *python = getenv("PYTHON");
    double ms = 0;
    snprintf(command, sizeof command,
             "%s -c '\n"
             "import torch\n"
             "def once():\n"
             "    begin = torch.cuda.Event(enable_timing=True)\n"
             "    end = torch.cuda.Event(enable_timing=True)\n"
             "    begin.record()\n"
             "    torch.randperm(%llu, device=\"cuda\")\n"
             "    end.record()\n"
             "    end.synchronize()\n"
             "    return begin.elapsed_time(end)\n"
             "print(min(once() for _ in range(5)))' 2>/dev/null",
             python != NULL ? python : "python3", (unsigned long long)n);
    FILE *f = popen(command, "r");
    if (f == NULL || fscanf(f, "%lf", &ms) != 1)
        ms = 0;
    if (f != NULL)
        pclose(f);
    return ms;
}

static void time_epoch(uint64_t n)
{
    uint64_t *out;
    statesampler_perm perm;
    must(statesampler_perm_init(&perm, n, 1, 2, 3) == 0, "init");
    uint64_t digest = digest_on_host(&perm, 0, n);
    must(cudaMalloc(&out, n * sizeof *out));
    printf("\nAn epoch of %llu samples written to device memory: the shortest "
           "of %d runs in\nmilliseconds, 10^9 indices per second, and the "
           "speed relative to cudaMemset.\n\n%-38s %9s %9s %9s\n",
           (unsigned long long)n, RUNS, "", "ms", "10^9/s", "memset");
    double bar = least([=] { cudaMemsetAsync(out, 0, n * sizeof *out); });
    print_row("cudaMemset", n, bar, bar);
    double ms =
        least([=] { fill_kernel<<<blocks, THREADS>>>(perm, 0, n, out); });
    check_indices(n, 0, n, out, digest);
    print_row("statesampler_perm_fill, 8 a call", n, ms, bar);
    must(cudaMemset(out, 0, n * sizeof *out));
    double at = least([=] { at_kernel<<<blocks, THREADS>>>(perm, 0, n, out); });
    check_indices(n, 0, n, out, digest);
    print_row("statesampler_perm_at", n, at, bar);
    must(cudaFree(out));
    double torch = torch_randperm(n);
    if (torch > 0)
        print_row("torch.randperm", n, torch, bar);
    else
        printf("skip torch.randperm: torch with CUDA is not installed\n");
    printf("\nperm_fill at half or more of cudaMemset's speed: %s\n",
           2 * bar >= ms ? "met" : "MISSED");
}

/* A whole number from 1 to most, or 0 if the word is none. */
static uint64_t number_of(const char *word, uint64_t most)
{
    char *end;
    unsigned long long value = strtoull(word, &end, 10);
    bool whole = word[0] >= '0' && word[0] <= '9' && *end == '\0';
    return whole && value <= most ? value : 0;
}

int main(int argc, char **argv)
{
    int devices = 0;
    uint64_t bits = argc > 1 ? number_of(argv[1], 40) : 30;
    uint64_t cases = argc > 2 ? number_of(argv[2], 999999999) : +CHUNK;
    uint64_t seed = argc > 3 ? number_of(argv[3], 999999999) : 1;
    cudaError_t status = cudaGetDeviceCount(&devices);
    bool here = status == cudaSuccess && devices > 0;
    cudaDeviceProp device;
    if (argc > 4 || bits == 0 || cases == 0 || seed == 0) {
        printf("usage: gpu [LOG2_SAMPLES [CASES [SEED]]]\n"
               "LOG2_SAMPLES is 1 .. 40; CASES and SEED are 1 .. "
               "999999999\n");
        return 2;
    }
    check_every_function(cases, seed, here);
    if (!here) {
        printf("skip the device code, which was only compiled: no GPU (%s)\n",
               cudaGetErrorString(status));
        return 0;
    }
    must(cudaGetDeviceProperties(&device, 0));
    blocks = 32 * (unsigned)device.multiProcessorCount;
    printf("device:   %s, %d multiprocessors\n"
           "compiler: nvcc %d.%d, %s\n\n",
           device.name, device.multiProcessorCount, __CUDACC_VER_MAJOR__,
           __CUDACC_VER_MINOR__, GPU_FLAGS);
    check_serving();
    check_sizes();
    time_epoch((uint64_t)1 << bits);
    return 0;
}
