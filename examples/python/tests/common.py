"""What the tests of examples/python share: the path, seeds, and the rules of
two other samplers, written down as plainly as they can be said."""

import functools
import importlib.util
import multiprocessing
import os
import queue
import random
import sys
import threading
import unittest

ROOT = os.path.realpath(os.path.join(os.path.realpath(__file__), os.pardir,
                                     os.pardir, os.pardir, os.pardir))
# Another folder, where they are broken, is mutants.py's.
EXAMPLES = os.environ.get("EXAMPLES", os.path.join(ROOT, "examples", "python"))
sys.path.insert(0, EXAMPLES)
sys.dont_write_bytecode = True

import torch    # noqa: E402

torch.set_num_threads(1)

# A worker that is forked need not import torch, which takes a second, and needs
# nothing that can be pickled. From Python 3.14 on it is not the default. Tests
# of how a worker is started name the way; a forkserver has torch already.
multiprocessing.set_start_method("fork", force=True)
multiprocessing.set_forkserver_preload(["torch"])
STARTS = "fork", "forkserver", "spawn"

SEED = 20240229

# Torch's, whose batches stay lists here. To make tensors of them, with workers
# in shared memory, would be most of a loop's time, and nothing of a sampler's.
Uncounted = functools.partial(torch.utils.data.DataLoader, collate_fn=list)


def DataLoader(*arguments, **options):
    """The same, counted where a sampler of ours is in it."""
    from statesampler import CountingDataLoader
    try:
        return CountingDataLoader(*arguments, **{"collate_fn": list,
                                                 **options})
    except TypeError as error:
        if "needs a sampler of statesampler" not in str(error):
            raise
        return Uncounted(*arguments, **options)


class Dataset(torch.utils.data.Dataset):
    """Numbers. As in most, not IndexError ends it: who asks for more than it
    has is told, before memory is full."""

    def __init__(self, length):
        self.length = length

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        assert index < self.length
        return index


def cases(count, name):
    """As many random generators with fixed seeds."""
    for number in range(count):
        yield random.Random(f"{SEED} {name} {number}")


class Background(torch.utils.data.DataLoader):
    """A common DataLoaderX: a thread takes some batches ahead."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **{"collate_fn": list, **options})

    def __iter__(self):
        found, made = queue.Queue(3), super().__iter__()
        threading.Thread(target=self.fill, args=(made, found),
                         daemon=True).start()
        return iter(found.get, None)

    @staticmethod
    def fill(batches, found):
        for batch in batches:
            found.put(batch)
        found.put(None)


def counted(sampler):
    """What a sampler gives, counted."""
    from statesampler import StatefulLoader
    return StatefulLoader(sampler, sampler)


def real(package):
    """For tests of a framework itself, where it is installed. What they
    override is how a loader of ours, which is written down from the
    framework's source, is called."""
    return unittest.skipUnless(
        importlib.util.find_spec(package),
        f"PyTorch, inside {package} itself: {package} is not here")


def raw(state_dict):
    """The bytes of a state, which compare and hash."""
    return bytes(state_dict["state"].tolist())


def vissl(n, replicas, rank, batch_size, start_iter):
    """VISSL's StatefulDistributedSampler, before anything is shuffled: equal
    blocks, the rest left out; batches that were served are cut off."""
    share = (n - n % replicas) // replicas
    block = list(range(rank * share, (rank + 1) * share))
    return block[start_iter * batch_size:]


def forum(lengths, batch_size, rank, replicas, drop_last, reinit):
    """The forum's DistributedRoundRobinBatchSampler, unshuffled: a range of
    each dataset, batches in turn; the end of one is the end of the epoch, or
    with reinit it begins anew."""
    def batches(offset, length):
        share = -(-length // replicas)
        first = offset + min(rank * share, length)
        past = offset + min((rank + 1) * share, length)
        for at in range(first, past, batch_size):
            batch = list(range(at, min(at + batch_size, past)))
            if len(batch) == batch_size or not drop_last:
                yield batch
    offsets = [sum(lengths[:i]) for i in range(len(lengths))]
    open_ones = [batches(*place) for place in zip(offsets, lengths)]
    while True:
        for i, place in enumerate(zip(offsets, lengths)):
            batch = next(open_ones[i], None)
            if batch is None:
                if not reinit:
                    return
                open_ones[i] = batches(*place)
                batch = next(open_ones[i])
            yield batch


def main():
    """Runs the tests of the program; what went wrong, if anything, in full."""
    unittest.main(verbosity=0, failfast=True)
