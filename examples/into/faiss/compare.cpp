/* compare.cpp - faiss's rand_perm beside faiss_subset.h, and k-means on one
   subset beside k-means on the next one in each step: see README.md.

       c++ -O2 -I. -o build/compare examples/into/faiss/compare.cpp \
           -lfaiss -llapack -lblas -fopenmp
       build/compare */
#include <faiss/Clustering.h>
#include <faiss/IndexFlat.h>
#include <faiss/utils/random.h>
#include <algorithm>
#include <chrono>

#define STATESAMPLER_IMPLEMENTATION
#include "statesampler.h"
#include "../../example.h"
#include "faiss_subset.h"

static const char usage[] =
    "usage: compare\n\n"
    "Compares faiss's way to a subset with faiss_subset.h.\n";

static const uint32_t K = 64, D = 16, COUNT = K * 256, STEPS = 24, N = 200000;

static double milliseconds()
{
    return std::chrono::duration<double, std::milli>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

/* Draws a subset of n in both ways, and prints a row. Returns true if ours has
   distinct numbers below n, and the same after a resume. */
static bool draw(uint64_t n, const char *name)
{
    unsigned char state[STATESAMPLER_STATE_BYTES];
    std::vector<uint64_t> numbers(COUNT), again(COUNT);
    faiss_subset s;
    double start, first, resumed;

    printf("%-14s", name);
    if (n < 100000000) { /* rand_perm takes int, and so do its numbers */
        std::vector<int> all(n);
        start = milliseconds();
        faiss::rand_perm(all.data(), n, 1234);
        printf("%8.2f ms %14zu", milliseconds() - start, n * sizeof all[0]);
    } else {
        printf("%11s %14s", "-", "-");
    }
    start = milliseconds();
    example_must(faiss_subset_init(&s, n, COUNT, 1234, 0, 0, 1));
    statesampler_save(&s.sampler, state, sizeof state);
    faiss_subset_next(&s, numbers.data());
    first = milliseconds() - start;
    start = milliseconds();
    example_must(statesampler_load(&s.sampler, state, sizeof state));
    faiss_subset_next(&s, again.data());
    resumed = milliseconds() - start;
    printf("%10.2f ms %8.2f ms %11zu\n", first, resumed,
           sizeof s + numbers.size() * sizeof numbers[0]);

    bool same = numbers == again;
    std::sort(numbers.begin(), numbers.end());
    return same && numbers.back() < n &&
           std::adjacent_find(numbers.begin(), numbers.end()) == numbers.end();
}

/* The mean squared distance of all vectors to their centroids. */
static double error_of(const faiss::Clustering &clustering,
                       const std::vector<float> &x)
{
    const int64_t n = static_cast<int64_t>(x.size() / D);
    std::vector<float> distances(x.size() / D);
    std::vector<faiss::Index::idx_t> labels(x.size() / D);
    faiss::IndexFlatL2 index(D);
    double sum = 0;

    index.add(K, clustering.centroids.data());
    index.search(n, x.data(), 1, distances.data(), labels.data());
    for (float each : distances)
        sum += static_cast<double>(each);
    return sum / static_cast<double>(n);
}

/* k-means with as many steps on as many vectors. Returns true if ours has the
   smaller error. */
static bool cluster()
{
    std::vector<float> x(static_cast<size_t>(N) * D), subset(COUNT * D);
    std::vector<uint64_t> numbers(COUNT);
    faiss::Clustering theirs(D, K), ours(D, K);
    faiss::IndexFlatL2 index(D);
    faiss_subset s;

    faiss::rand_smooth_vectors(N, D, x.data(), 1);
    theirs.niter = STEPS;
    theirs.train(N, x.data(), index);
    ours.niter = 1;
    example_must(faiss_subset_init(&s, N, COUNT, 1234, 0, 0, 1));
    for (uint32_t step = 0; step < STEPS; step++) {
        while (!faiss_subset_next(&s, numbers.data())) {
        }
        faiss_subset_gather(&s, numbers.data(), x.data(), D * sizeof(float),
                            subset.data());
        ours.train(COUNT, subset.data(), index);
    }
    printf("\nmean error of %u vectors after %u steps of k-means on %u of "
           "them\n"
           "the same ones in each step, as faiss draws them  %.5f\n"
           "the next ones in each step, by faiss_subset.h    %.5f\n\n",
           N, STEPS, COUNT, error_of(theirs, x), error_of(ours, x));
    return error_of(ours, x) < error_of(theirs, x);
}

/* An epoch of 10 vectors has two subsets of 4, in which none comes twice. */
static bool ends()
{
    uint64_t numbers[8];
    faiss_subset s;

    example_must(faiss_subset_init(&s, 10, 4, 1, 0, 0, 1));
    bool good = faiss_subset_next(&s, numbers) == 1 &&
                faiss_subset_next(&s, numbers + 4) == 1;
    std::sort(numbers, numbers + 8);
    return good && faiss_subset_next(&s, numbers) == 0 &&
           std::adjacent_find(numbers, numbers + 8) == numbers + 8;
}

static bool refuses(uint64_t n, uint32_t count, uint32_t world_size)
{
    faiss_subset s;

    return faiss_subset_init(&s, n, count, 1, 0, 0, world_size) ==
           STATESAMPLER_EINVAL;
}

int main(int argc, char **argv)
{
    example_begin(argc, argv, 0, usage);
    printf("%u of n     rand_perm   bytes of RAM   faiss_subset  to resume"
           "   bytes of RAM\n",
           COUNT);
    bool good =
        refuses(10, 0, 1) && refuses(10, 11, 1) && refuses(10, 9, 2) && ends();
    good = draw(1000000, "10^6") && good;
    good = draw(10000000, "10^7") && good;
    good = draw(uint64_t{1} << 31, "2^31") && good;
    good = draw(uint64_t{1} << 40, "2^40") && good;
    good = cluster() && good;
    return example_end(good, "each subset has distinct vectors, and is the "
                             "same after a resume");
}
