/* compare.hpp - libtorch's own samplers beside StateSampler: bytes of a state,
   times, and whether a loader goes on after a load. */
#include <torch/data.h>
#include <torch/serialize.h>
#include <chrono>

static const size_t COMPARED = 1000000, COMPARED_BATCH = 32;

/* Gives the indices that it is asked for. */
struct Indices
    : torch::data::datasets::BatchDataset<Indices, std::vector<size_t>> {
    std::vector<size_t> get_batch(c10::ArrayRef<size_t> indices) override
    {
        return indices.vec();
    }
    torch::optional<size_t> size() const override { return COMPARED; }
};

static double milliseconds()
{
    return std::chrono::duration<double, std::milli>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

static torch::data::DataLoaderOptions options(size_t workers)
{
    return torch::data::DataLoaderOptions(COMPARED_BATCH).workers(workers);
}

template <class Sampler>
static std::vector<size_t> first_batch(const Sampler &sampler)
{
    auto loader = torch::data::make_data_loader(Indices(), sampler, options(0));
    return *loader->begin();
}

static std::string saved(const torch::data::samplers::Sampler<> &sampler)
{
    torch::serialize::OutputArchive archive;
    std::ostringstream stream;
    sampler.save(archive);
    archive.save_to(stream);
    return stream.str();
}

static void load(torch::data::samplers::Sampler<> &sampler,
                 const std::string &bytes)
{
    torch::serialize::InputArchive archive;
    archive.load_from(bytes.data(), bytes.size());
    sampler.load(archive);
}

static void trained(torch::data::samplers::Sampler<> &)
{
}
static void trained(StateSampler &sampler)
{
    sampler.trained();
}

/* Prints a row. `make` makes a sampler at an epoch's start. Returns true if a
   loader goes on at the next batch after a save and a load in mid-epoch. */
template <class Make> static bool compare_row(const char *name, Make make)
{
    double start = milliseconds(), first, resumed;
    auto run = make();

    first_batch(run);
    first = milliseconds() - start;
    run.reset();
    for (int i = 0; i < 1000; i++) {
        run.next(COMPARED_BATCH);
        trained(run);
    }
    const std::string bytes = saved(run);
    const std::vector<size_t> wanted = *run.next(COMPARED_BATCH);

    start = milliseconds();
    auto loaded = make();
    load(loaded, bytes);
    const bool goes_on = first_batch(loaded) == wanted;
    resumed = milliseconds() - start;
    printf("%-26s %9zu %11.3f ms %11.3f ms   %s\n", name, bytes.size(), first,
           resumed, goes_on ? "yes" : "no");
    return goes_on;
}

static int compare()
{
    statesampler_desc desc{};
    desc.num_samples = COMPARED;
    desc.batch_size = COMPARED_BATCH;
    printf("%zu samples               bytes    first batch      to resume   "
           "goes on\n",
           COMPARED);
    bool theirs = compare_row("RandomSampler", [] {
        return torch::data::samplers::RandomSampler(COMPARED);
    });
    theirs |= compare_row("DistributedRandomSampler", [] {
        return torch::data::samplers::DistributedRandomSampler(COMPARED);
    });
    const bool ours =
        compare_row("StateSampler", [&] { return StateSampler(desc); });
    return ours && !theirs;
}
