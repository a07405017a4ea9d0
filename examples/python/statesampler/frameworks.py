"""What frameworks around a DataLoader do that a sampler must know of. Their
classes are known by package and name, and found on the call stack that asks
the sampler for indices."""

import itertools
import warnings

from torch.utils.data import dataloader as _loaders


def batches_at_once(loader):
    """accelerate's dispatcher takes a batch for each process at a time."""
    if "accelerate.DataLoaderDispatcher" not in _names(loader):
        return 1
    return 1 if loader.split_batches else loader.state.num_processes


def _dispatched(loader):
    processes = batches_at_once(loader)
    if processes > 1 and not loader._drop_last:
        warnings.warn(
            "accelerate's DataLoaderDispatcher may take the last batches of "
            "an epoch before it returns earlier ones, and a state saved then "
            "skips those. Use dispatch_batches=False, split_batches=True or "
            "drop_last=True for exact states.", stacklevel=2)
    return processes


def _prefetched(fetcher):
    """Since Lightning 2.0 it prefetches only where there is no length (up to
    2.0.7: _has_len)."""
    return (0 if getattr(fetcher, "length", None) is not None or
            getattr(fetcher, "_has_len", False) else fetcher.prefetch_batches)


# Classes that take batches from a DataLoader before the loop asks for them,
# and how many.
_READERS = {
    "accelerate.DataLoaderShard": lambda _: 1,
    "accelerate.DataLoaderDispatcher": _dispatched,
    "timm.PrefetchLoader": lambda _: 1,
    "ray._WrappedDataLoader": lambda _: 1,
    # Lightning's, up to 1.9.5 and since 2.0.
    "pytorch_lightning.DataFetcher": lambda it: it.prefetch_batches,
    "pytorch_lightning._PrefetchDataFetcher": _prefetched,
    "lightning._PrefetchDataFetcher": _prefetched}

# Classes that deal a sampler's items to ranks, one by one. (Lightning makes
# them only where there are several.)
_DEALERS = {f"{package}.DistributedSamplerWrapper" for package in (
    "lightning", "lightning_fabric", "pytorch_lightning")}


def _names(thing):
    """Package and name of an object's classes, the most special one first."""
    return [f"{kind.__module__.partition('.')[0]}.{kind.__name__}"
            for kind in type(thing).__mro__]


def _callers(frame):
    """The objects whose methods are on the call stack, innermost first."""
    while frame is not None:
        yield frame.f_locals.get("self")
        frame = frame.f_back


def _nested(batches):
    """A batch sampler, and those that it wraps."""
    while batches is not None:
        yield batches
        batches = getattr(batches, "batch_sampler", None)


def find_reader(iterator, frame):
    """The object on the call stack above this frame that reads ahead: its name
    in _READERS, and the object."""
    for caller in _callers(frame):
        for name in _names(caller):
            if name in _READERS:
                return name, caller
        if (isinstance(caller, _loaders._BaseDataLoaderIter) and
                caller is not iterator):
            break   # A DataLoader inside another one's dataset.
    return None, None


def batches_ahead(reader, caller):
    return _READERS[reader](caller) if reader else 0


def count_processes(batches, loader):
    """The number of processes that accelerate distributes these batches to."""
    for each in _nested(batches):
        if "accelerate.BatchSamplerShard" in _names(each):
            return each.num_processes
    return (loader.state.num_processes
            if "accelerate.DataLoaderDispatcher" in _names(loader) else 1)


def _whole_steps(processes, sampler, batches):
    """Whether a sampler inside these makes whole steps of each of its batches,
    as GRPO's copies do: accelerate then has no step to fill."""
    *_, inner = _nested(batches)
    try:
        step, dealt = processes * inner.batch_size, len(inner.sampler)
    except (AttributeError, TypeError):
        return False
    return sampler.drop_last and dealt // max(len(sampler), 1) % step == 0


def check_processes(processes, sampler, batches):
    if processes == 1:
        return
    if not sampler._dealt and not _whole_steps(processes, sampler, batches):
        raise RuntimeError(
            f"accelerate deals batches to its {processes} processes, and a "
            f"{sampler._owner} has some for each: leave its DataLoader out of "
            "accelerator.prepare")
    if sampler.num_replicas > 1:
        raise RuntimeError(
            f"accelerate distributes batches to its {processes} processes, "
            f"and this sampler to {sampler.num_replicas}: make it with "
            "num_replicas=1, rank=0, or samples are left out")


def check_groups(frame):
    """Raises an error if something deals a RepeatSampler's items to ranks."""
    for caller in _callers(frame):
        if not _DEALERS.isdisjoint(_names(caller)):
            raise RuntimeError(
                f"{type(caller).__name__} deals items to ranks one by one, "
                "which takes the groups of RepeatSampler apart: let accelerate "
                "deal batches, or take each rank's part of a batch (with "
                "Lightning's use_distributed_sampler=False)")


def check_order(in_order):
    """Of a DataLoader's batches, where it has workers."""
    if not in_order:
        raise ValueError(
            "with in_order=False batches come in the order in which workers "
            "finish, and their number does not say which samples they had: "
            "leave in_order=True, or no state would be right")


_HOW_TO_SKIP = (
    "call its set_epoch(epoch) before the loop, or load its state and do not "
    "skip. (In a callback of transformers' Trainer: def on_epoch_begin(self, "
    "args, state, control, **options): sampler.set_epoch(int(state.epoch)))")


def check_skips(iterator, sampler, at_once):
    """Raises an error if something skips an epoch's first batches where the
    sampler leaves some out already, or in an epoch that nobody named; or skips
    single batches where the loop takes several `at_once`."""
    count, who = 0, "torchdata's StatefulDataLoader"
    if isinstance(iterator._sampler_iter, itertools.islice):
        count = getattr(iterator, "_sampler_iter_yielded", 0)
    for batches in _nested(iterator._index_sampler):
        if "accelerate.SkipBatchSampler" in _names(batches):
            count, who = batches.skip_batches, "accelerate"
        elif "ignite.ReproducibleBatchSampler" in _names(batches):
            count, who = batches.start_iteration, "Ignite"
    if count and sampler._cursor.step > 0:
        raise RuntimeError(
            "this loop goes on in mid-epoch, as after loading a state, and "
            f"{who} skips {count} more batches: load the state or let it "
            "skip, never both")
    if count and at_once > 1:
        raise RuntimeError(
            f"accelerate skips {count} batches, and with dispatch_batches=True "
            f"each step takes {at_once}: steps that were trained would come "
            "again. Load the sampler's state and do not skip")
    if count and not sampler._knows_epoch:
        raise RuntimeError(
            f"{who} skips the first {count} batches of an epoch, and this "
            f"sampler was not told of which: {_HOW_TO_SKIP}")


# Loaders that count epochs, from 0 in each process.
_COUNTERS = {"accelerate.DataLoaderShard", "accelerate.DataLoaderDispatcher"}


def counting_loader(frame):
    """The loader of accelerate's that calls set_epoch, but was asked for
    nothing but its batches; None if it was told the epoch, or is none."""
    while frame is not None:
        caller = frame.f_locals.get("self")
        if not _COUNTERS.isdisjoint(_names(caller)):
            before = frame.f_back   # Its __iter__, or who calls it.
            if before is None or before.f_locals.get("self") is not caller:
                return None
            return caller
        frame = frame.f_back
    return None


def draws_elsewhere(loader):
    """Whether another process draws the batches of accelerate's loader."""
    return "accelerate.DataLoaderDispatcher" in _names(loader) and (
        loader.state.process_index > 0)


def drawn_elsewhere(frame):
    """The same of a loader on the call stack that asks for an iterator."""
    return any(map(draws_elsewhere, _callers(frame)))


def counted_epoch(caller):
    """The epoch in which a loader of accelerate's is; else 0."""
    if _COUNTERS.isdisjoint(_names(caller)):
        return 0
    return getattr(caller, "iteration", 0)


def check_epoch(counted, sampler):
    """Raises an error if a loader of accelerate's is in a later epoch, which
    it could not tell the sampler. (Where a sampler has no end, it counts
    others.)"""
    if counted > 0 and not sampler._knows_epoch and (
            sampler._cursor.num_steps is not None):
        raise RuntimeError(
            f"accelerate's loader is in epoch {counted}, and this sampler was "
            f"not told: {_HOW_TO_SKIP}")


def ends_first(frame):
    """Whether the caller goes on with an empty loop after a state from the end
    of an epoch, and calls set_epoch for the next one."""
    return any("torchdata.SamplerWrapper" in _names(caller)
               for caller in _callers(frame))


def warn_of_other_batches(reader):
    """Lightning ends an epoch by its own count of batches, which is wrong
    after loading a state from other ranks or with another batch size."""
    if reader and reader.endswith("Fetcher"):
        warnings.warn(
            "the loaded state is from other ranks or another batch size, and "
            "Lightning continues that run's count of batches: it may end this "
            "epoch too early, without training on some samples", stacklevel=2)
