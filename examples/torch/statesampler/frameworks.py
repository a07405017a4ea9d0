"""What frameworks around a DataLoader do that a sampler must know of. Each is
recognised by the name of its class, on the call stack that asks the sampler
for indices."""

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


# Classes known to take batches from a DataLoader before the loop asks for
# them, and how many. The fetchers are Lightning's: DataFetcher up to 1.9.5,
# _PrefetchDataFetcher since 2.0 (up to 2.0.7 with _has_len).
_READERS = {
    None: lambda _: 0,
    "DataLoaderShard": lambda loader: 1,    # accelerate's
    "DataLoaderDispatcher": _dispatched,
    "PrefetchLoader": lambda loader: 1,     # timm's
    "_WrappedDataLoader": lambda loader: 1,     # Ray Train's
    "DataFetcher": lambda fetcher: fetcher.prefetch_batches,
    "_PrefetchDataFetcher": lambda fetcher: (
        fetcher.prefetch_batches if getattr(fetcher, "length", None) is None
        and not getattr(fetcher, "_has_len", False) else 0)}


def find_reader(iterator, frame):
    """The object on the call stack above this frame that reads ahead: its name
    in _READERS, and the object."""
    while frame is not None:
        caller = frame.f_locals.get("self")
        for kind in type(caller).__mro__:
            if kind.__name__ in _READERS:
                return kind.__name__, caller
        if (isinstance(caller, _loaders._BaseDataLoaderIter) and
                caller is not iterator):
            break   # A DataLoader inside another one's dataset.
        frame = frame.f_back
    return None, None


def batches_ahead(reader, caller):
    return _READERS[reader](caller)


def count_processes(batches, loader):
    """The number of processes that accelerate distributes these batches to. A
    batch sampler that skips batches may wrap the one that distributes."""
    for each in batches, getattr(batches, "batch_sampler", None):
        if type(each).__name__ == "BatchSamplerShard":
            return each.num_processes
    return (loader.state.num_processes
            if type(loader).__name__ == "DataLoaderDispatcher" else 1)


def check_processes(processes, num_replicas):
    if processes > 1 < num_replicas:
        raise RuntimeError(
            f"accelerate distributes batches to its {processes} processes, "
            f"and this sampler to {num_replicas}: make it with "
            "num_replicas=1, rank=0, or samples are left out")


def skips(frame):
    """Whether the caller is a loader that accelerate made to skip the first
    batches of an epoch. Versions 1.7.0 to 1.9.0 count epochs from 0 in such a
    loader."""
    while frame is not None:
        caller = frame.f_locals.get("self")
        if {kind.__name__ for kind in type(caller).__mro__} & {
                "DataLoaderShard", "DataLoaderDispatcher"}:
            return caller.iteration == 0 and (
                type(caller.batch_sampler).__name__ == "SkipBatchSampler")
        frame = frame.f_back
    return False


def warn_of_other_batches(reader):
    """Lightning ends an epoch by its own count of batches, which is wrong
    after loading a state from other ranks or with another batch size."""
    if "Fetcher" in (reader or ""):
        warnings.warn(
            "the loaded state is from other ranks or another batch size, and "
            "Lightning continues that run's count of batches: it may end this "
            "epoch too early, without training on some samples", stacklevel=2)
