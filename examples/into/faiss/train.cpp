/* train.cpp - k-means by faiss on one random subset after another, which goes
   on after a kill with other readers: see README.md for the commands. */
#include <faiss/Clustering.h>
#include <faiss/IndexFlat.h>
#include <faiss/utils/random.h>
#include <thread>

#define STATESAMPLER_IMPLEMENTATION
#define STATESAMPLER_HOSTED
#include "statesampler.h"
#include "../../example.h"
#include "faiss_subset.h"

static const char usage[] =
    "usage: faiss FILE [READERS [N [SEED]]]\n\n"
    "Clusters N (200000) vectors, drawn from SEED (1). Each step of k-means\n"
    "takes the next 16384, for four epochs. READERS (1, 2, 4 ... 64) threads\n"
    "fetch them.\n"
    "Saves to FILE after each step, and goes on from FILE if it is there. If\n"
    "it has centroids alone, begins with these.\n";

static const uint32_t K = 64, D = 16, COUNT = K * 256, EPOCHS = 4;

/* All of a run. */
struct Checkpoint {
    unsigned char state[STATESAMPLER_STATE_BYTES];
    float centroids[K * D];
};

/* Sets all from the file, if there is one. */
static void load(const char *path, Checkpoint *now,
                 std::vector<faiss_subset> &readers,
                 faiss::Clustering &clustering)
{
    size_t size;
    int code = statesampler_load_file(path, now, sizeof *now, &size);

    if (STATESAMPLER_KIND(code) == STATESAMPLER_ENOFILE)
        return;
    example_must(code);
    if (size == sizeof now->centroids) {
        memmove(now->centroids, now, size);
        printf("%s has centroids and no place in an epoch: epoch 0 begins at "
               "its start\n",
               path);
    } else {
        for (faiss_subset &each : readers)
            example_must(
                statesampler_load(&each.sampler, now->state,
                                  size == sizeof *now ? sizeof now->state : 0));
    }
    clustering.centroids.assign(now->centroids, now->centroids + K * D);
}

/* Goes on from the file to the end. Each reader could be a machine. */
static void train(const char *path, uint32_t num_readers,
                  const std::vector<float> &vectors)
{
    std::vector<faiss_subset> readers(num_readers);
    std::vector<float> subset(COUNT * D);
    faiss::Clustering clustering(D, K);
    faiss::IndexFlatL2 index(D);
    Checkpoint now;
    /* The first vectors tell this dataset from another. */
    const uint64_t stream = statesampler_hash(0, vectors.data(), 4096);

    for (uint32_t rank = 0; rank < num_readers; rank++)
        example_must(faiss_subset_init(&readers[rank], vectors.size() / D,
                                       COUNT, 42, stream, rank, num_readers));
    load(path, &now, readers, clustering);
    clustering.niter = 1; /* of each subset, from the present centroids */
    uint64_t epoch;
    while ((epoch = statesampler_epoch(&readers[0].sampler)) < EPOCHS) {
        std::vector<std::thread> threads;

        for (faiss_subset &each : readers)
            threads.emplace_back([&] {
                std::vector<uint64_t> numbers(each.part);
                if (faiss_subset_next(&each, numbers.data()))
                    faiss_subset_gather(&each, numbers.data(), vectors.data(),
                                        D * sizeof(float), subset.data());
            });
        for (std::thread &each : threads)
            each.join();
        if (statesampler_epoch(&readers[0].sampler) == epoch)
            clustering.train(COUNT, subset.data(), index);
        std::copy(clustering.centroids.begin(), clustering.centroids.end(),
                  now.centroids);
        statesampler_save(&readers[0].sampler, now.state, sizeof now.state);
        example_must(statesampler_save_file(path, &now, sizeof now));
    }
}

/* A number from `least` to `most`, or a message. */
static uint32_t number(const char *text, uint32_t least, uint32_t most)
{
    char *end;
    const unsigned long value = strtoul(text, &end, 10);

    if (*text < '0' || *text > '9' || *end || value < least || value > most)
        example_fail(2, "'%s' is not a number from %u to %u", text, least,
                     most);
    return static_cast<uint32_t>(value);
}

int main(int argc, char **argv)
{
    example_begin(argc, argv, 4, usage);
    if (argc < 2)
        example_fail(2, "FILE is needed");
    const uint32_t readers = argc > 2 ? number(argv[2], 1, 64) : 1;
    const size_t n = argc > 3 ? number(argv[3], COUNT, 10000000) : 200000;
    const uint32_t seed = argc > 4 ? number(argv[4], 1, 1000000) : 1;
    if (COUNT % readers > 0)
        example_fail(2, "READERS is no divisor of 16384");

    std::vector<float> vectors(n * D);
    faiss::float_rand(vectors.data(), vectors.size(), seed);
    train(argv[1], readers, vectors);
    return example_end(1,
                       "%s holds the centroids and, in %d bytes, which "
                       "subset comes next",
                       argv[1], STATESAMPLER_STATE_BYTES);
}
