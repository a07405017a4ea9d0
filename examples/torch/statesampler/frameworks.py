"""What frameworks around a DataLoader do that a sampler must know of. Their
classes are known by package and name, and found on the call stack that asks
the sampler for indices."""

import itertools
import warnings

from torch.utils.data import dataloader as _loaders


def _dispatched(loader):
    """It takes a batch for each process at a time."""
    processes = 1 if loader.split_batches else loader.state.num_processes
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


def check_skips(iterator):
    """Raises an error if something skips an epoch's first batches, in a loop
    that begins at a loaded place."""
    count, who = 0, "torchdata's StatefulDataLoader"
    if isinstance(iterator._sampler_iter, itertools.islice):
        count = getattr(iterator, "_sampler_iter_yielded", 0)
    for batches in _nested(iterator._index_sampler):
        if "accelerate.SkipBatchSampler" in _names(batches):
            count, who = batches.skip_batches, "accelerate"
        elif "ignite.ReproducibleBatchSampler" in _names(batches):
            count, who = batches.start_iteration, "Ignite"
    if count:
        raise RuntimeError(
            f"a state was loaded, and {who} skips {count} more batches: load "
            "the state or let it skip, never both")


def skips(frame):
    """Whether the caller is a loader that accelerate made to skip the first
    batches of an epoch. Versions 1.7.0 to 1.9.0 count epochs from 0 in such a
    loader."""
    for caller in _callers(frame):
        if {"accelerate.DataLoaderShard",
                "accelerate.DataLoaderDispatcher"} & {*_names(caller)}:
            return caller.iteration == 0 and (
                "accelerate.SkipBatchSampler" in _names(caller.batch_sampler))
    return False


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
