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
0's is enough, once all ranks have loaded the checkpoint before. Ranks that do
not step together have different states: each loads its own, on as many ranks
as before. RoundRobinBatchSampler does the same for several datasets, and
RepeatSampler for groups of copies, as in GRPO. PackedBatchSampler makes packs
of samples within a budget of tokens, SpreadBatchSampler batches without two
samples of one group. Ledger is for work that ends out of order.

Counting. The order of an epoch is computed, so a place in it is just a number.
iter() starts the current epoch at its beginning, or at the loaded place. The
state is that start plus the batches that the loop has received since, not those
that workers have prefetched. CountingDataLoader is torch's DataLoader, and
tells the sampler how many batches it has returned. If something takes batches
from it ahead of the loop, pass read_ahead=, or states will be that many batches
too late. A loop that has received all indices has finished its epoch.

torch's own DataLoader works too, with any batch sampler, and so the loaders
that a framework makes. This is the last resort: the sampler finds torch's
iterator on the call stack when it is first asked for indices, and reads its
private counters. (_watch.py does that, and frameworks.py knows whose loops
read ahead.) Under a batch sampler of your own, it records how many indices each
batch took. Without a DataLoader, indices count as received when they are taken.

Epochs. After a `break` the next loop starts over: peeking at a batch changes
nothing, and a validation loop that stops early sees the same samples each
time. After a loop that received its whole epoch, the next loop serves the next
epoch, and so does a run that loads a state saved after the last batch. This
also holds if the loop did not ask for more, for example after peeking at an
epoch's only batch or at the last batch after a resume; set_epoch undoes that.
You need not call set_epoch: for an epoch that has begun it does nothing, for
another one, or one that is over, it starts that one. (Its docstring covers
frameworks that count epochs from 0 in each process.) With tail="carry" or
stop="never" there is no end, and the next loop always continues. len() is that
of the whole epoch, also after a state was loaded and at the last batch (packs
have none); `remaining` is what is left.

Frameworks use samplers in their own ways: examples/README.md has a line or a
recipe for each. A framework that skips the batches of an epoch that were
trained does what a state does: load the state or let it skip, never both.
(accelerate's, torchdata's and Ignite's skip over a loaded state is an error,
and so is one in an epoch that nobody has told the sampler.)

- The DataLoader must return batches in order, which is torch's default:
  in_order=False with workers raises ValueError.
- If something between sampler and loop holds indices back, for example to sort
  them, those count as received: a resumed run does not see them.
- A batch whose loading raised an exception was not received. If the loop
  continues nevertheless, the state is one batch too early, so that a resume
  repeats one. (In torch's DataLoader with workers, the next batch counts for
  both.)
- A batch sampler that ends before its sampler ends the epoch. A state saved
  after its last batch still has the rest ahead, so a resume begins with a
  short loop. A batch sampler that takes all indices at once has received them
  all, and a process does not see the loops of a sampler's copies in workers:
  to ask for a state is then a warning.
- A sampler serves one loop at a time. A loop raises RuntimeError if it
  continues after another loop over the same sampler, load_state_dict,
  set_start_iter or a change of the epoch. (Not with persistent_workers, where
  torch gives it the new loop's batches, and a CountingDataLoader does not count
  them: leave it.) Several samplers in one DataLoader count independently.
- A copy, including a pickled one, is in no loop. It starts where the original
  stood, or after the last batch with the next epoch.
- A dataset can hold the sampler and seed a sample's random augmentation with
  sampler.sample_seed(index), as augment.py does. The current epoch is shared
  with the workers, whether they are forked, spawned or a forkserver's, so make
  the sampler in the process that trains with it.

Another dataset. A state is refused if the dataset's length differs, or its
fingerprint: fingerprint= or what Hugging Face's datasets have as _fingerprint.
changed="next_epoch" or "accept" loads it nevertheless.

Looking up. at(step) is the batch of any step, of any rank, and locate(index)
says where a sample is served; neither moves. They are what a run serves that
goes straight, and no record of one that was steered by a seek or by other
weights. `python -m statesampler FILE` asks the same of a state or a checkpoint.
Audit proves in 32 bytes that each sample came exactly once.

Sampler, Mix, Audit and Ledger do not need torch. The first two return batches
of indices as memoryviews, which numpy.asarray takes without a copy. They are
iterators: after a `break` the next loop goes on where this one stopped.

    for batch in Sampler(len(dataset), rank, world_size, batch_size=32):
        train(dataset[numpy.asarray(batch)])

pip installs this package with its compiled library. A copy of its folder needs
statesampler.h, pack.h, fit.h and spread.h in it or beside it, and a C compiler
at the first import.
"""

import importlib
import importlib.util

from ._library import VERSION as __version__
from .samplers import Audit, Mix, Sampler

# The modules of what is imported when it is used: torch takes a second, and
# Ledger's threading a tenth of a cold start.
_LATER = {"Ledger": ".ledger",
          "StatefulDistributedSampler": ".torch_samplers",
          "RoundRobinBatchSampler": ".torch_samplers",
          "CountingDataLoader": ".loader", "RepeatSampler": ".repeat",
          "PackedBatchSampler": ".pack", "SpreadBatchSampler": ".spread"}

__all__ = ["Sampler", "Mix", "Audit",
           *(_LATER if importlib.util.find_spec("torch") else ["Ledger"])]


def __getattr__(name):
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = importlib.import_module(_LATER[name], __name__)
    except ModuleNotFoundError as error:
        if error.name.split(".")[0] != "torch":
            raise
        raise ImportError(f"{name} needs torch; Sampler, Mix, Audit and Ledger "
                          "do not") from None
    return getattr(module, name)


def __dir__():
    return sorted({*globals(), *__all__})
