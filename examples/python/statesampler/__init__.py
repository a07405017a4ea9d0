"""Samplers for PyTorch's DataLoader that need no table and resume instantly.

Replace DistributedSampler and DataLoader by these, and add the sampler's state
to the checkpoints:

    sampler = StatefulDistributedSampler(dataset)
    loader = CountingDataLoader(dataset, batch_size=32, sampler=sampler,
                                num_workers=4)
    if checkpoint:
        sampler.load_state_dict(checkpoint["sampler"])
    for epoch in range(sampler.epoch, epochs):
        for batch in loader:
            train(batch)
            save({"sampler": sampler.state_dict()})     # at any time

A run that loads such a checkpoint continues with the next batch, on any number
of ranks. After the same batch all ranks have the same state, so saving rank
0's is enough, once all ranks have loaded the checkpoint before.

Loop over the outermost loader, and make that one count: StatefulLoader(loader,
sampler) around whatever a framework made of yours. The manual is
examples/python/README.md in the repository of statesampler.h, with a page for
frameworks, one for the Trainer and one for what needs no loader.

    StatefulDistributedSampler, CountingDataLoader    as above
    StatefulLoader            counts the batches of any loader
    CountedBatchSampler       of batch samplers of your own
    RoundRobinBatchSampler    several datasets that take turns, by weight
    BlendedBatchSampler       the same, mixed inside each batch
    RepeatSampler             groups of copies, as in GRPO
    PackedBatchSampler        packs of samples within a budget of tokens
    SpreadBatchSampler        batches without two samples of one group
    Sampler, Mix, Schedule    batches of indices, without torch
    Ledger                    work that ends out of order, without torch
    Audit                     proves that each sample came exactly once

`python -m statesampler FILE` says which samples were in a step of a run.
"""

import importlib
import importlib.util

from ._library import VERSION as __version__

# The modules of what is imported when it is used: torch takes a second, and a
# question to a state needs few of the others.
_LATER = {"Sampler": ".recorded", "Mix": ".mix", "Schedule": ".schedule",
          "Audit": ".samplers", "Ledger": ".ledger",
          "StatefulDistributedSampler": ".torch_samplers",
          "RoundRobinBatchSampler": ".torch_samplers",
          "BlendedBatchSampler": ".blend",
          "StatefulLoader": ".loader", "CountingDataLoader": ".loader",
          "CountedBatchSampler": ".loader", "RepeatSampler": ".repeat",
          "PackedBatchSampler": ".pack", "SpreadBatchSampler": ".spread"}
_ALONE = ["Sampler", "Mix", "Schedule", "Audit", "Ledger"]   # without torch

__all__ = [*(_LATER if importlib.util.find_spec("torch") else _ALONE)]


def __getattr__(name):
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = importlib.import_module(_LATER[name], __name__)
    except ModuleNotFoundError as error:
        if error.name.split(".")[0] != "torch":
            raise
        raise ImportError(f"{name} needs torch; {', '.join(_ALONE[:-1])} and "
                          f"{_ALONE[-1]} do not") from None
    return getattr(module, name)


def __dir__():
    return sorted({*globals(), *__all__})
