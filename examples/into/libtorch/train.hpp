/* train.hpp - a training with libtorch that goes on after a kill, on other
   ranks and with other workers. */
#include <torch/data.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/sgd.h>
#include <torch/serialize.h>

namespace data = torch::data;
namespace nn = torch::nn;
using Stack = data::transforms::Stack<data::TensorExample>;

static const uint32_t EPOCHS = 2, BATCH = 48; /* of all ranks */

static StateSampler make_sampler(bool mix, uint64_t size, uint32_t rank,
                                 uint32_t world_size)
{
    statesampler_desc desc{};
    desc.num_samples = size;
    desc.seed = 42;
    desc.rank = rank;
    desc.world_size = world_size;
    desc.batch_size = BATCH / world_size;
    if (!mix)
        return StateSampler(desc);
    std::vector<statesampler_desc> descs(3, desc);
    for (uint32_t i = 0; i < 3; i++) {
        descs[i].num_samples = size / 72 * 12 * (i + 1);
        descs[i].stream = i;
    }
    return StateSampler(descs, {3, 2, 1}, STATESAMPLER_STOP_ALL);
}

/* An autoencoder. */
struct Model {
    nn::Sequential net{nn::Linear(16, 8), nn::Tanh(), nn::Dropout(0.1),
                       nn::Linear(8, 16)};
    torch::optim::SGD sgd{net->parameters(),
                          torch::optim::SGDOptions(0.05).momentum(0.9)};
    /* All of a run in one archive, so always of one moment. libtorch writes
       addresses into an optimizer's: the last file must do without. */
    void save(const char *path, const data::samplers::Sampler<> &sampler,
              bool last = false) const
    {
        torch::serialize::OutputArchive archive;
        std::ostringstream stream;
        net->save(archive);
        sampler.save(archive);
        if (!last)
            sgd.save(archive);
        archive.save_to(stream);
        example_must(statesampler_save_file(path, stream.str().data(),
                                            stream.str().size()));
    }
    void load(const char *path, std::vector<StateSampler> &samplers)
    {
        torch::serialize::InputArchive archive;
        archive.load_from(path);
        net->load(archive);
        for (StateSampler &sampler : samplers)
            sampler.load(archive);
        if (samplers[0].epoch() < EPOCHS)
            sgd.load(archive);
    }
};

/* Each rank would be a process. Here they share one, so that a step adds up the
   same samples in the same order with any number of them. */
static void train(bool mix, const char *path, uint64_t size, uint32_t ranks,
                  size_t workers)
{
    const torch::Tensor all = torch::arange(16 * int64_t(size)).sin();
    const auto dataset =
        data::datasets::TensorDataset(all.view({-1, 16})).map(Stack());
    std::vector<StateSampler> samplers;
    Model model;
    for (uint32_t rank = 0; rank < ranks; rank++)
        samplers.push_back(make_sampler(mix, size, rank, ranks));
    if (access(path, R_OK) == 0)
        model.load(path, samplers);
    auto make = [&](const StateSampler &sampler) {
        return data::make_data_loader(
            dataset, sampler,
            data::DataLoaderOptions(BATCH / ranks).workers(workers));
    };
    std::vector<decltype(make(samplers[0]))> loaders;
    for (StateSampler &sampler : samplers)
        loaders.push_back(make(sampler));
    while (samplers[0].epoch() < EPOCHS) {
        std::vector<data::Iterator<data::TensorExample>> batches;
        for (auto &loader : loaders)
            batches.push_back(loader->begin());
        while (batches[0] != loaders[0]->end()) {
            std::vector<torch::Tensor> parts;
            for (auto &batch : batches)
                parts.push_back(batch->data);
            torch::Tensor x = torch::stack(parts, 1).view({-1, 16});
            at::manual_seed(samplers[0].step_seed()); /* for dropout */
            model.sgd.zero_grad();
            torch::mse_loss(model.net->forward(x), x).backward();
            model.sgd.step();
            for (StateSampler &sampler : samplers)
                sampler.trained();
            model.save(path, samplers[0]);
            for (auto &batch : batches)
                ++batch;
        }
    }
    model.save(path, samplers[0], true);
}
