/* main.cpp - trains with libtorch, and goes on after a kill; or compares its
   samplers with ours. See README.md. */
#define STATESAMPLER_IMPLEMENTATION
#define STATESAMPLER_HOSTED
#include "statesampler.h"
#include "state_sampler.hpp"
#include "../../example.h"
#include "compare.hpp"
#include "train.hpp"
#include "uses.hpp"

static const char usage[] =
    "usage: libtorch one|mix|own FILE [RANKSxWORKERS [SIZE]]\n"
    "       libtorch compare\n\n"
    "Trains two epochs on one dataset, or on three that take turns. Saves to\n"
    "FILE after each step, and goes on from FILE if it is there. RANKS (1) is\n"
    "a divisor of 12; each has a loader with WORKERS (0). SIZE (2412), 72 or\n"
    "more, is that of all data. `own` takes no step and saves with\n"
    "RandomSampler. `compare` measures libtorch's samplers beside ours.\n";

/* What the command line says. Returns 1 if all of it is true. */
static int run(int argc, char **argv)
{
    const std::string mode = argc > 1 ? argv[1] : "";
    const char *path = argc > 2 ? argv[2] : "";
    const uint64_t size = argc > 4 ? strtoull(argv[4], nullptr, 10) : 2412;
    unsigned ranks = 1, workers = 0;

    if (argc > 3 && (sscanf(argv[3], "%ux%u", &ranks, &workers) != 2 ||
                     ranks == 0 || 12 % ranks > 0 || workers > 64))
        example_fail(2, "'%s' is not RANKSxWORKERS", argv[3]);
    if (size < 72 || size > 10000000)
        example_fail(2, "'%s' is not a SIZE", argv[4]);
    if (mode == "compare" && argc == 2)
        return compare() && check_uses();
    if (argc < 3 || (mode != "one" && mode != "mix" && mode != "own"))
        example_fail(2, "one, mix or own and FILE are needed, or compare");
    if (mode == "own") {
        Model().save(path, data::samplers::RandomSampler(2412));
        return 1;
    }
    train(mode == "mix", path, size, ranks, workers);
    train(mode == "mix", path, size, 1, 0); /* which only names one rank */
    return 1;
}

int main(int argc, char **argv)
{
    int good = 0;

    example_begin(argc, argv, 4, usage);
    at::set_num_threads(1);
    at::manual_seed(1);
    try {
        good = run(argc, argv);
    } catch (const c10::Error &error) {
        example_fail(1, "%s", error.what_without_backtrace());
    }
    return example_end(good, "a state counts the batches that were trained on");
}
