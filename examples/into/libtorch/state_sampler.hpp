/* state_sampler.hpp - a sampler for libtorch's DataLoader that goes on at the
   very next batch after a kill, on other ranks and with any workers.

   Include it after statesampler.h. C++14.

       StateSampler sampler(desc);
       auto loader = torch::data::make_data_loader(dataset, sampler, options);

       while (sampler.epoch() < epochs)
           for (auto& batch : *loader) {
               train(batch);
               sampler.trained();
               // save the sampler, the model and the optimizer
           }

   All copies share one state; the loader has a copy. It reads ahead, and asks
   again after the end of an epoch, so what it asks for moves nothing. Only
   `trained` does: a state counts what was trained on. Errors are c10::Error. */
#ifndef STATE_SAMPLER_HPP
#define STATE_SAMPLER_HPP

#include <torch/data.h>
#include <torch/serialize.h>
#include <memory>
#include <vector>

class StateSampler : public torch::data::samplers::Sampler<> {
public:
    /* One dataset: stands for RandomSampler and, with rank and world_size, for
       DistributedRandomSampler; allow_duplicates = false is the tail DROP. */
    explicit StateSampler(const statesampler_desc &desc)
        : StateSampler({desc}, {1},
                       desc.tail == STATESAMPLER_TAIL_CARRY
                           ? STATESAMPLER_STOP_NEVER
                           : STATESAMPLER_STOP_FIRST)
    {
    }

    /* Several in turns, as MIXES of statesampler.h says. A batch is of one, an
       index counts through all. The loader's batch_size is the largest. */
    StateSampler(const std::vector<statesampler_desc> &descs,
                 const std::vector<uint32_t> &weights, uint32_t stop)
        : run_(std::make_shared<Run>())
    {
        TORCH_CHECK(descs.size() == weights.size(),
                    "StateSampler: each dataset needs a weight");
        run_->sources.resize(descs.size());
        for (size_t i = 0; i < descs.size(); i++) {
            TORCH_CHECK(descs[i].tail != STATESAMPLER_TAIL_UNEVEN,
                        "StateSampler: a DataLoader has no empty batches");
            run_->sources[i].weight = weights[i];
            must(statesampler_init(&run_->sources[i].sampler, &descs[i]));
            if (run_->batch_size < descs[i].batch_size)
                run_->batch_size = descs[i].batch_size;
        }
        must(statesampler_mix_init(&run_->mix, run_->sources.data(),
                                   static_cast<uint32_t>(descs.size()), stop));
    }

    /* Epochs done, and steps done in this one. */
    uint64_t epoch() const { return statesampler_mix_epoch(&run_->mix); }
    uint64_t step() const { return statesampler_mix_turn(&run_->mix); }

    /* For what is random in the step to be trained, such as dropout: the same
       on all ranks and after a resume. */
    uint64_t step_seed() const
    {
        return statesampler_sample_seed(&run_->sources[0].sampler, epoch(),
                                        STATESAMPLER_NONE - 1 - step());
    }

    /* Call it after each step that trained on a batch of the loader. Returns
       true after the last one of an epoch: the next has then begun. */
    bool trained()
    {
        run_->moved = true;
        statesampler_mix_next(&run_->mix, nullptr, nullptr, nullptr);
        return begin_if_over();
    }

    /* The loader's begin calls it: to read on from the step to be trained. */
    void reset(torch::optional<size_t> size = torch::nullopt) override
    {
        TORCH_CHECK(!size, "StateSampler: the size is in the description");
        run_->idle = run_->moved || !run_->ended ? 0 : run_->idle + 1;
        TORCH_CHECK(run_->idle < 2,
                    "StateSampler: two passes trained nothing: "
                    "call trained() after each batch, and put drop_last into "
                    "the description, not into the loader's options");
        begin_if_over();
        run_->reading = epoch();
        run_->ahead = step();
        run_->moved = run_->ended = false;
    }

    /* The loader calls it: the next batch, or nothing after the last one. */
    torch::optional<std::vector<size_t>> next(size_t batch_size) override
    {
        std::vector<uint64_t> out(batch_size);
        size_t count = 0;
        uint32_t source = 0;
        TORCH_CHECK(batch_size == run_->batch_size,
                    "StateSampler: the loader has another batch_size");
        if (epoch() == run_->reading)
            must(statesampler_mix_at(&run_->mix, run_->ahead++, out.data(),
                                     &count, &source));
        run_->ended = count < batch_size;
        if (count == 0)
            return torch::nullopt;
        for (uint64_t &each : out)
            each += statesampler_mix_offset(&run_->mix, source);
        out.resize(count);
        return std::vector<size_t>(out.begin(), out.end());
    }

    void save(torch::serialize::OutputArchive &archive) const override
    {
        std::vector<uint8_t> state(statesampler_mix_state_bytes(&run_->mix));
        must(statesampler_mix_save(&run_->mix, state.data(), state.size()));
        archive.write("statesampler", torch::tensor(state), true);
    }

    /* Warns and changes nothing if another sampler has saved. */
    void load(torch::serialize::InputArchive &archive) override
    {
        torch::Tensor state;
        if (archive.try_read("statesampler", state, true))
            must(statesampler_mix_load(&run_->mix, state.data_ptr(),
                                       static_cast<size_t>(state.numel())));
        else
            TORCH_WARN("StateSampler: the archive has no place in an epoch; "
                       "epoch ",
                       epoch(), " begins at its start");
    }

private:
    struct Run {
        std::vector<statesampler_source> sources;
        statesampler_mix mix;
        size_t batch_size = 1;
        uint64_t reading = 0, ahead = 0; /* the loader's epoch, its next step */
        bool moved = false, ended = false; /* since the loader's begin */
        int idle = 0; /* passes that ended and trained nothing */
    };
    static void must(int code)
    {
        TORCH_CHECK(code >= 0, "StateSampler: ", statesampler_error(code));
    }
    bool begin_if_over()
    {
        return step() == statesampler_mix_num_turns(&run_->mix) &&
               !statesampler_mix_next(&run_->mix, nullptr, nullptr, nullptr);
    }
    std::shared_ptr<Run> run_;
};

#endif
