/* uses.hpp - what a loader that reads ahead may do with a StateSampler, and
   what is refused. Include it after compare.hpp. */

/* Whether a call throws with this in its message. */
template <class Call> static bool throws(const char *text, Call call)
{
    try {
        call();
    } catch (const c10::Error &error) {
        return strstr(error.what_without_backtrace(), text) != nullptr;
    }
    return false;
}

/* Loops over a loader that reads ahead if it has workers, and trains on `most`
   batches at most. Returns how many it trained on. */
static size_t loop(StateSampler &sampler, size_t most, size_t workers = 4,
                   bool drop_last = false)
{
    auto loader =
        torch::data::make_data_loader(Indices(), sampler,
                                      options(workers).drop_last(drop_last));
    size_t count = 0;

    for (auto &batch : *loader) {
        if (count == most)
            break;
        count += !batch.empty();
        sampler.trained();
    }
    return count;
}

/* Reading ahead moves nothing, and wrong uses are refused. */
static bool check_uses()
{
    statesampler_desc desc{};
    desc.num_samples = 1000;
    desc.batch_size = COMPARED_BATCH;
    StateSampler s(desc), untrained(desc), dropping(desc);

    bool good = loop(s, 7) == 7 && s.step() == 7 && loop(s, 20) == 20 &&
                loop(s, 100) == 5 && s.epoch() == 1 && s.step() == 0 &&
                loop(s, 100) == 32 && s.epoch() == 2;
    const uint64_t seed = s.step_seed();
    good = good && loop(s, 1) == 1 && s.step_seed() != seed &&
           untrained.step_seed() != seed;

    /* An epoch that ends after 17 steps, before one of 32. Without workers a
       loader asks again when the next one has begun. */
    desc.batch_size = 100;
    StateSampler large(desc);
    for (int i = 0; i < 7; i++)
        large.trained();
    load(dropping, saved(large));
    good = good && loop(dropping, 100, 0) == 10 && dropping.epoch() == 1;

    good &= throws("call trained() after each batch", [&] {
        for (int pass = 0; pass < 3; pass++) {
            untrained.reset();
            while (untrained.next(COMPARED_BATCH)) {
            }
        }
    });
    good &= throws("put drop_last into the description", [&] {
        for (int pass = 0; pass < 4; pass++)
            loop(dropping, 100, 4, true);
    });
    good &= throws("has another batch_size", [&] { s.next(31); });
    good &= throws("size is in the description", [&] { s.reset(9); });
    good &= throws("needs a weight", [&] {
        StateSampler({desc, desc}, {1}, STATESAMPLER_STOP_FIRST);
    });
    desc.tail = STATESAMPLER_TAIL_UNEVEN;
    return good && throws("empty batches", [&] { StateSampler bad(desc); });
}
