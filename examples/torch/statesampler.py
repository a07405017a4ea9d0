"""Samplers for PyTorch's DataLoader that need no table and resume instantly.

Replace

    sampler = DistributedSampler(dataset)

by

    sampler = StatefulDistributedSampler(dataset)

and add the sampler's state to the checkpoints:

    loader = DataLoader(dataset, batch_size=32, sampler=sampler, num_workers=4)
    if checkpoint:
        sampler.load_state_dict(checkpoint["sampler"])
    while sampler.epoch < epochs:
        for batch in loader:
            train(batch)
            save({"sampler": sampler.state_dict()})     # at any time

A run that loads such a checkpoint continues with the next batch, on any number
of ranks. After the same batch all ranks have the same state, so saving rank
0's is enough. RoundRobinBatchSampler does the same for several datasets.

Counting. The order of an epoch is computed, so a place in it is just a number.
iter() starts the current epoch at its beginning, or at the loaded place. The
state is that start plus the batches that the loop has received since: those
that the DataLoader's iterator has returned, not those that workers have
prefetched. The sampler finds this iterator on the call stack when it is first
asked for indices, and reads its counter when a state is asked for. Under
BatchSampler a batch is batch_size indices; under other batch samplers the
sampler records how many indices each batch took. Without a DataLoader, indices
count as received when they are taken. A loop that has received all indices has
finished its epoch.

Epochs. After a `break` the next loop starts over: peeking at a batch changes
nothing, and a validation loop that stops early sees the same samples each
time. After a loop that received its whole epoch, the next loop serves the next
epoch, and so does a run that loads a state saved after the last batch. This
also holds if the loop did not ask for more, for example after peeking at an
epoch's only batch or at the last batch after a resume. (To undo that, load the
state from before.) You need not call set_epoch: for the current epoch it does
nothing, for another epoch it starts that one. (Its docstring covers frameworks
that count epochs from 0 in each process.) With tail="carry" or stop="never"
there is no end, and the next loop always continues. len() is that of the whole
epoch, also after a state was loaded; `remaining` is what is left.

torchdata, accelerate, the Hugging Face Trainer, Lightning, Ray Train, timm and
YOLO use samplers in their own ways: examples/README.md has a line or a recipe
for each. If anything else takes batches from the DataLoader ahead of the loop,
pass read_ahead=, or states will be that many batches too late.

- The DataLoader must return batches in order, which is torch's default.
- If something between sampler and loop holds indices back, for example to sort
  them, those count as received: a resumed run does not see them.
- A batch whose loading raised an exception was not received. If the loop
  continues nevertheless: with workers its next batch counts for both; without,
  the state is one batch too early, so that a resume repeats one.
- A batch sampler that ends before its sampler ends the epoch. A state saved
  after its last batch still has the rest ahead, so a resume begins with a
  short loop. A batch sampler that takes indices in its __iter__ itself, not
  when a batch is asked for, counts as having no DataLoader.
- A sampler serves one loop at a time. A loop raises RuntimeError if it
  continues after another loop over the same sampler, load_state_dict,
  set_start_iter or a change of the epoch. Several samplers in one DataLoader
  count independently.
- A copy, including a pickled one, is in no loop. It starts where the original
  stood.
- A dataset can hold the sampler and seed a sample's random augmentation with
  sampler.sample_seed(index), as augment.py does. The current epoch is shared
  with forked processes, so make the sampler in the process that trains with
  it.

Sampler and Mix do not need torch. They return batches of indices as
memoryviews, which numpy.asarray takes without a copy:

    for batch in Sampler(len(dataset), rank, world_size, batch_size=32):
        train(dataset[numpy.asarray(batch)])

pip installs this file with its compiled library. Copied by itself, it needs
library.c beside it, statesampler.h beside it or two folders up, and a C
compiler at the first import.
"""

import array
import collections
import contextlib
import ctypes
import functools
import glob
import hashlib
import itertools
import mmap
import operator
import os
import platform
import struct
import subprocess
import sys
import tempfile
import threading
import warnings
import weakref
import zlib

try:
    import torch
    import torch.distributed as dist
    import multiprocessing.context
    from torch.utils.data import DistributedSampler
    from torch.utils.data import Sampler as _TorchSampler
    from torch.utils.data import BatchSampler
    from torch.utils.data import dataloader as _loaders
except ImportError:     # Sampler and Mix do not need torch.
    torch, DistributedSampler, _TorchSampler = None, object, object

__all__ = ["StatefulDistributedSampler", "RoundRobinBatchSampler", "Sampler",
           "Mix"]

# --- The library ------------------------------------------------------------


def _digest(*parts):
    whole = hashlib.sha256()
    for part in parts:
        whole.update(b"%d " % len(part) + part)
    return whole.hexdigest()[:16]


def _contents(path):
    with open(path, "rb") as file:
        return file.read()


def _whole_elf(path):
    """Whether a library is complete, as loading a truncated one would crash
    the process. All loaded segments (type 1) and the section table, which is
    at the end, must lie within the file. Files that are not ELF are left to
    the loader."""
    whole = _contents(path)
    if whole[:4] != b"\x7fELF":
        return True
    try:
        order = "<" if whole[5] == 1 else ">"
        word, size, sizes = (order + "Q", 8, 54) if whole[4] == 2 else (
            order + "I", 4, 42)
        table, = struct.unpack_from(word, whole, 24 + size)
        sections, = struct.unpack_from(word, whole, 24 + 2 * size)
        entry, count, *section = struct.unpack_from(order + "4H", whole, sizes)
        ends = [sections + section[0] * section[1]]
        for at in (table + entry * i for i in range(count)):
            kind, = struct.unpack_from(order + "I", whole, at)
            offset, = struct.unpack_from(word, whole, at + size)
            length, = struct.unpack_from(word, whole, at + 4 * size)
            ends.append(offset + length if kind == 1 else 0)
        return max(ends) <= len(whole)
    except (IndexError, struct.error):
        return False


def _built(stem):
    """The library that was built earlier, or None. Its name ends in the digest
    of its bytes, so damaged ones are ignored."""
    for path in sorted(glob.glob(glob.escape(stem) + "-*.so")):
        with contextlib.suppress(OSError):
            if path == f"{stem}-{_digest(_contents(path))}.so":
                return _load(path)
    return None


def _build(stem, command, source, include):
    """Compiles the library under a temporary name, loads it, and renames it,
    so that no process finds an incomplete or unloadable one."""
    folder = os.path.dirname(stem)
    os.makedirs(folder, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=folder)
    os.close(handle)
    try:
        subprocess.run(command + ["-shared", "-fPIC", "-I", include, "-x", "c",
                                  source, "-o", temporary],
                       check=True, capture_output=True, errors="replace")
        # mkstemp's file is private; give it the permissions of the folder.
        os.chmod(temporary, os.stat(folder).st_mode & 0o777)
        loaded = _load(temporary)
        os.replace(temporary, f"{stem}-{_digest(_contents(temporary))}.so")
        return loaded
    finally:
        if os.path.exists(temporary):
            os.unlink(temporary)


def _find_library():
    """The library for these sources, compiler and options, built if necessary.
    It is kept in the folder `build` beside the header, or in the user's cache
    if that folder cannot be written."""
    folder = os.path.dirname(os.path.realpath(__file__))
    for include in folder, os.path.dirname(os.path.dirname(folder)):
        if os.path.exists(os.path.join(include, "statesampler.h")):
            break
    else:
        raise ImportError(f"statesampler.h is neither in {folder} nor two "
                          "folders up")
    source = os.path.join(folder, "library.c")
    if not os.path.exists(source):
        raise ImportError(f"library.c is not in {folder}")
    command = os.environ.get("CC", "").split() or ["cc"]
    command += ["-std=c99", *os.environ.get("CFLAGS", "-O2").split()]
    name = "libstatesampler-" + _digest(
        _contents(source), _contents(os.path.join(include, "statesampler.h")),
        platform.platform().encode(), os.fsencode("\n".join(command)))
    cache = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(cache):    # The XDG rule: ignore relative paths.
        cache = os.path.expanduser("~/.cache")
    stems = [os.path.join(include, "build", name)]
    if os.path.isabs(cache):        # Otherwise the user has no home folder.
        stems.append(os.path.join(cache, "statesampler", name))
    for library in filter(None, map(_built, stems)):
        return library
    refused = []
    for stem in stems:
        try:
            return _build(stem, command, source, include)
        except (OSError, subprocess.CalledProcessError) as error:
            refused.append(getattr(error, "stderr", None) or str(error))
    raise ImportError(
        f"could not build {stems[0]} with the C compiler `{command[0]}` "
        "(set CC to use another one, or STATESAMPLER_LIBRARY to use a library "
        f"that is already built): {'; '.join(dict.fromkeys(refused))}")


def _load(path):
    """Loads the library, declares its functions, and reads the sizes of its
    structs."""
    try:
        if not _whole_elf(path):
            raise OSError("it is truncated")
        library = ctypes.CDLL(os.path.abspath(path))
        for result, arguments, names in _FUNCTIONS:
            for name in names.split():
                function = getattr(library, "statesampler_" + name)
                function.restype, function.argtypes = result, arguments
        return library, (_u64 * 4).in_dll(library, "statesampler_layout")
    except (AttributeError, ValueError) as error:
        raise OSError(str(error)) from None


def _load_library():
    """The library that the environment names, or that of the installed
    package, which is beside this file; else the sources are here."""
    named = os.environ.get("STATESAMPLER_LIBRARY")
    packaged = os.path.join(os.path.dirname(os.path.realpath(__file__)),
                            "libstatesampler.so")
    if not named and not os.path.exists(packaged):
        return _find_library()
    try:
        return _load(named or packaged)
    except OSError as error:
        raise ImportError(
            f"{named} was not built from library.c: {error}" if named else
            f"{packaged} does not load on this machine: install statesampler "
            f"on it, with pip install --force-reinstall ({error})") from None


_u32, _u64, _size = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_size_t


class _Desc(ctypes.Structure):
    _fields_ = [
        ("num_samples", _u64), ("seed", _u64), ("epoch", _u64),
        ("stream", _u64), ("rank", _u32), ("world_size", _u32),
        ("batch_size", _u32), ("order", _u32), ("partition", _u32),
        ("tail", _u32), ("drop_last", _u32), ("chunk_size", _u64),
        ("window", _u64)]


class _Counts(ctypes.Structure):
    _fields_ = [(name, _u64) for name in (
        "positions", "padded", "dropped", "steps", "rank_samples",
        "rank_batches")]


class _MixPlace(ctypes.Structure):
    _fields_ = [("epoch", _u64), ("turn", _u64), ("num_sources", _u32),
                ("stop", _u32), ("weight", _u32)]


_int, _pointer, _sets = ctypes.c_int, ctypes.c_void_p, ctypes.POINTER
_FUNCTIONS = (
        (_int, [_pointer, _sets(_Desc)], "init"),
        (_int, [_pointer, _pointer, _sets(_size)], "next"),
        (_int, [_pointer, _u64, _pointer, _sets(_size)], "at"),
        (_int, [_pointer, _u64], "seek mix_seek"),
        (None, [_pointer, _u64], "begin"),
        (_u64, [_pointer, _u64, _u64], "sample_seed"),
        (_u64, [_pointer],
         "epoch step num_steps mix_epoch mix_turn mix_num_turns"),
        (None, [_pointer, _sets(_Counts)], "get_counts"),
        (_size, [_pointer], "mix_state_bytes"),
        (_int, [_pointer, _pointer, _size], "save mix_save"),
        (_int, [_pointer, ctypes.c_char_p, _size], "load mix_load"),
        (_int, [ctypes.c_char_p, _size, _sets(_Desc), _pointer], "describe"),
        (_int, [ctypes.c_char_p, _size, _u32, _sets(_Desc), _sets(_MixPlace)],
         "mix_describe"),
        (_int, [_pointer, _pointer, _u32, _u32], "mix_init"),
        (_int, [_pointer, _pointer], "mix_weigh"),
        (_int, [_sets(_Desc), _sets(ctypes.c_char_p)], "from_env"),
        (ctypes.c_char_p, [_int], "error"),
        (_int, [_pointer, _u32, _u32, _sets(_Desc)], "source_init"),
        (_u64, [_pointer, _u32, _u64, _u64], "source_seed"),
        (_size, [_pointer, _size, _pointer, _pointer], "turns"))


_NONE = 2**64 - 1
_c, (_SAMPLER, _SOURCE, _MIX, _STATE) = _load_library()

# The position of each name is its number in the header.
_ORDERS = ["shuffle", "sequential", "window", "replacement"]
_PARTITIONS = ["interleaved", "blocked"]
_TAILS = ["pad", "drop", "uneven", "carry"]
_STOPS = ["first", "all", "restart", "never"]

# Indices read from the library at a time: enough to make the time of a call
# negligible, few enough for a fast first batch and little memory.
_CHUNK = 4096


def _memory(size):
    """Zeroed bytes for a struct, aligned for any member."""
    return (_u64 * ((size + 7) // 8))()


def _indices(count):
    """An array for count indices. They are below 2^62, so a signed type holds
    them; iterating over an array is faster than over a ctypes array."""
    return array.array("q", bytes(8 * count))


def _most(descs):
    """The most indices that a batch can have. Only with tail="carry" can it be
    longer than the dataset."""
    return max(desc.batch_size if _TAILS[desc.tail] == "carry" else
               min(desc.batch_size, max(desc.num_samples, 1))
               for desc in descs)


def _address(indices):
    return indices.buffer_info()[0]


def _sentence(code):
    """The library's message for an error."""
    return _c.statesampler_error(code).decode()


def _check(code):
    if code != 0:
        raise ValueError(f"statesampler: {_sentence(code)}")


# --- Arguments --------------------------------------------------------------


def _choice(what, value, names):
    if not isinstance(value, str) or value not in names:
        raise ValueError(f"{what} should be one of {', '.join(names)}, but "
                         f"got {what}={value!r}")
    return names.index(value)


def _flag(what, value):
    """Accepts bools, including numpy's, 0 and 1; not strings, which would
    always be true."""
    if isinstance(value, str) or value not in (False, True):
        raise TypeError(f"{what} should be a bool, but got {what}={value!r}, "
                        f"a {type(value).__name__}")
    return bool(value)


def _whole(what, value, least, below):
    """Accepts integers in [least, below), including torch's and numpy's; not
    bools."""
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise ValueError(f"{what} should be an integer, but got "
                         f"{what}={value!r}, a {type(value).__name__}"
                         ) from None
    if not least <= number < below:
        raise ValueError(f"{what} should be an integer in [{least}, {below}),"
                         f" but got {what}={value}")
    return number


def _batch_size(value):
    """The same messages as torch's BatchSampler, but numpy's integers are
    accepted."""
    try:
        number = 0 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = 0
    if number <= 0:
        raise ValueError("batch_size should be a positive integer value, "
                         f"but got batch_size={value}")
    return _whole("batch_size", number, 1, 2**32)


def _found_world():
    """World size and rank from torch.distributed if it is initialised, else
    from the launcher's environment, else (1, 0, False). The third value tells
    whether one of the two had them."""
    if torch and dist.is_available() and dist.is_initialized():
        return dist.get_world_size(), dist.get_rank(), True
    desc, name = _Desc(), ctypes.c_char_p()
    code = _c.statesampler_from_env(desc, name)
    launcher = name.value.decode()
    if code != 0:
        raise ValueError(f"the environment of {launcher}: {_sentence(code)}")
    return desc.world_size, desc.rank, launcher != "none"


def _world(num_replicas, rank):
    """Fills in arguments that are None."""
    if num_replicas is None or rank is None:
        found_replicas, found_rank, said = _found_world()
        if rank is None and num_replicas not in (None, found_replicas):
            # Otherwise every process would be rank 0.
            raise ValueError(
                f"rank should be given with num_replicas={num_replicas}, as " +
                (f"{found_replicas} ranks were found" if said else
                 "neither torch.distributed nor the environment gives it"))
        num_replicas = found_replicas if num_replicas is None else num_replicas
        rank = found_rank if rank is None else rank
    num_replicas = _whole("num_replicas", num_replicas, -2**63, 2**32)
    rank = _whole("rank", rank, -2**63, 2**63)
    if rank >= num_replicas or rank < 0:
        raise ValueError(
            f"Invalid rank {rank}, rank should be in the interval "
            f"[0, {num_replicas - 1}]")
    return num_replicas, rank


def _list(what, value):
    try:
        return list(value)
    except TypeError:
        raise ValueError(f"{what} should be a list of integers, but got "
                         f"{what}={value!r}") from None


def _order(desc, shuffle, replacement, chunk_size, window):
    """Sets the order in desc."""
    windows = chunk_size is not None or window is not None
    if not shuffle and (replacement or windows):
        raise ValueError("replacement, chunk_size and window need "
                         "shuffle=True")
    if replacement and windows:
        raise ValueError("replacement excludes chunk_size and window")
    if windows:
        if chunk_size is None or window is None:
            raise ValueError("chunk_size and window must be given together")
        desc.chunk_size = _whole("chunk_size", chunk_size, 1, 2**62)
        desc.window = _whole("window", window, 1, 2**62)
    desc.order = _ORDERS.index(
        "window" if windows else "replacement" if replacement else
        "shuffle" if shuffle else "sequential")


def _weights(weights, lengths):
    weights = ([1] * len(lengths) if weights is None else
               _list("weights", weights))
    if len(weights) != len(lengths):
        raise ValueError(f"weights should have {len(lengths)} items, as "
                         f"lengths has, but got {len(weights)}")
    return [_whole("weight", weight, 1, 2**31) for weight in weights]


def _describe(num_samples, rank, world_size, batch_size, *, seed=0, stream=0,
              epoch=0, shuffle=True, replacement=False, chunk_size=None,
              window=None, partition="interleaved", tail="pad",
              drop_last=False, **unknown):
    """Makes the library's description of a sampler."""
    if unknown:
        raise TypeError("unexpected arguments: " + ", ".join(unknown))
    desc = _Desc(
        num_samples=_whole("num_samples", num_samples, 0, 2**62 + 1),
        # A negative seed is taken modulo 2^64, as torch does.
        seed=_whole("seed", seed, -2**63, 2**64) % 2**64,
        stream=_whole("stream", stream, 0, 2**64),
        epoch=_whole("epoch", epoch, 0, 2**64), rank=rank,
        world_size=world_size, batch_size=_batch_size(batch_size),
        partition=_choice("partition", partition, _PARTITIONS),
        tail=_choice("tail", tail, _TAILS),
        drop_last=_flag("drop_last", drop_last))
    _order(desc, _flag("shuffle", shuffle), _flag("replacement", replacement),
           chunk_size, window)
    return desc


# --- States -----------------------------------------------------------------


def _owner(state):
    """The class that saved a state; None if neither did, or if it is
    damaged."""
    size = len(state)
    if _c.statesampler_describe(state, size, None, None) == 0:
        return "StatefulDistributedSampler"
    if size > 12 and _c.statesampler_mix_describe(state[:-12], size - 12, 0,
                                                  None, None) == 0:
        return "RoundRobinBatchSampler"
    return None


def _identity(desc):
    """The fields that must be equal in a state and the sampler that loads
    it."""
    return {"len(dataset)": desc.num_samples, "seed": desc.seed,
            "stream": desc.stream, "order": _ORDERS[desc.order],
            "chunk_size": desc.chunk_size, "window": desc.window,
            "partition": _PARTITIONS[desc.partition],
            "tail": _TAILS[desc.tail]}


def _differences(theirs, ours, of=""):
    """A clause for each field in which a state and a sampler differ."""
    return [f"the state has {name} {theirs[name]}{of}, this sampler "
            f"{ours[name]}" for name in theirs if theirs[name] != ours[name]]


def _tensor(state):
    """The form of a state in a state_dict: a tensor, which torch.load accepts
    with weights_only=True and distributed checkpoints can store."""
    return torch.frombuffer(bytearray(state), dtype=torch.uint8)


def _bytes(state):
    """The form of a state for the library, from any bytes-like object."""
    try:
        return bytes(memoryview(state))
    except TypeError:
        raise ValueError("a state should be bytes, but got a "
                         f"{type(state).__name__}") from None


def _crc(state):
    return struct.pack("<I", zlib.crc32(state))


# --- Without torch ----------------------------------------------------------


class _Cursor:
    """A sampler of the library in its own memory. _make(*_made) sets it up.
    The PyTorch samplers are built on its place (an epoch and a step) and on
    begin(epoch), seek(step), turn_over() to the next epoch, and read(state),
    which yields lists of everything after a state. Subclasses define _step,
    _num_steps and _seek, functions of the library."""

    def __iter__(self):
        return self

    step = property(lambda self: self._step(self._memory))

    @property
    def num_steps(self):
        """Steps of the epoch; None if there is no end."""
        steps = self._num_steps(self._memory)
        return None if steps == _NONE else steps

    @property
    def own_steps(self):
        """The step at which this rank has no more samples."""
        return self.num_steps

    def seek(self, step):
        _check(self._seek(self._memory, _whole("step", step, 0, 2**64)))

    def at(self, state):
        """A copy at another state."""
        other = object.__new__(type(self))
        other.__setstate__((self._made, state))
        return other

    def __getstate__(self):
        """Copies need their own memory, which has pointers into itself."""
        return self._made, self.save()

    def __setstate__(self, state):
        made, place = state
        self._make(*made)
        self.load(place)


class Sampler(_Cursor):
    """The library's sampler. Iterating yields the remaining batches of the
    epoch as memoryviews of 64-bit integers; the next loop yields the next
    epoch. Its state is that after the last batch that was taken.

    num_samples is the size of the dataset. The other arguments are those of
    StatefulDistributedSampler; rank and world_size may be None as there."""

    _step, _num_steps, _seek = (
        _c.statesampler_step, _c.statesampler_num_steps, _c.statesampler_seek)

    def __init__(self, num_samples, rank=None, world_size=None, batch_size=1,
                 **options):
        world_size, rank = _world(world_size, rank)
        self._make(_describe(num_samples, rank, world_size, batch_size,
                             **options))

    def _make(self, desc):
        self._made, self._memory = (desc,), _memory(_SAMPLER)
        self._desc, self._most = desc, _most([desc])
        _check(_c.statesampler_init(self._memory, desc))

    def __next__(self):
        out, count = _indices(self._most), _size()
        if _c.statesampler_next(self._memory, _address(out), count) != 1:
            raise StopIteration
        return memoryview(out)[:count.value]

    def read(self, state):
        """Yields lists of indices, from the same sampler with a larger
        batch_size. (Lists iterate faster than arrays.)"""
        desc = _Desc.from_buffer_copy(self._desc)
        desc.batch_size = _CHUNK
        reader = object.__new__(Sampler)
        reader.__setstate__(((desc,), state))
        out, count = _indices(_CHUNK), _size()
        while _c.statesampler_next(reader._memory, _address(out), count):
            yield out[:count.value].tolist()

    epoch = property(lambda self: _c.statesampler_epoch(self._memory))

    @property
    def own_steps(self):
        """One step less than num_steps if tail="uneven" gives this rank no
        sample in the last step."""
        end, count = self.num_steps, _size()
        if end and _c.statesampler_at(self._memory, end - 1, None,
                                      count) == 1 and count.value == 0:
            return end - 1
        return end

    def counts(self):
        counts = _Counts()
        _c.statesampler_get_counts(self._memory, counts)
        return counts

    def begin(self, epoch):
        _c.statesampler_begin(self._memory, _whole("epoch", epoch, 0, 2**64))

    def turn_over(self):
        self.begin((self.epoch + 1) % 2**64)

    def sample_seed(self, epoch, index):
        return _c.statesampler_sample_seed(
            self._memory, _whole("epoch", epoch, 0, 2**64),
            _whole("index", index, 0, 2**64))

    def save(self):
        state = ctypes.create_string_buffer(_STATE)
        _check(_c.statesampler_save(self._memory, state, _STATE))
        return state.raw

    def load(self, state):
        state = _bytes(state)
        _check(_c.statesampler_load(self._memory, state, len(state)))

    def shape(self, state):
        """World size and batch size in an undamaged state."""
        desc = _Desc()
        _check(_c.statesampler_describe(state, len(state), desc, None))
        return desc.world_size, desc.batch_size

    def difference(self, state):
        """How a state differs from this sampler; "" if it is damaged."""
        theirs = _Desc()
        if _c.statesampler_describe(state, len(state), theirs, None) != 0:
            return ""
        return "; ".join(_differences(_identity(theirs),
                                      _identity(self._desc)))


class Mix(_Cursor):
    """The library's mix of several datasets, which differ in length and weight
    only. Iterating yields batches as Sampler does; indices are those of the
    concatenated datasets.

    The arguments are those of RoundRobinBatchSampler. A state is the library's
    state, then the epoch at which the library's count of epochs is 0, then a
    checksum."""

    _step, _num_steps, _seek = (
        _c.statesampler_mix_turn, _c.statesampler_mix_num_turns,
        _c.statesampler_mix_seek)

    def __init__(self, lengths, rank=None, world_size=None, batch_size=1,
                 weights=None, stop="first", epoch=0, **options):
        world_size, rank = _world(world_size, rank)
        lengths = _list("lengths", lengths)
        if not lengths:
            raise ValueError("lengths should not be empty")
        if "stream" in options:
            raise TypeError("unexpected argument: stream (each dataset gets "
                            "its own)")
        self._make([_describe(_whole("length", length, 0, 2**62 + 1), rank,
                              world_size, batch_size, stream=stream, **options)
                    for stream, length in enumerate(lengths)],
                   _weights(weights, lengths), _choice("stop", stop, _STOPS),
                   _whole("epoch", epoch, 0, 2**64))

    def _make(self, descs, weights, stop, epoch):
        self._made, self._first_epoch = (descs, weights, stop, epoch), epoch
        self._descs, self._stop, self._most = descs, stop, _most(descs)
        self._sources = _memory(_SOURCE * len(descs))
        self._memory = _memory(_MIX)
        for i, (desc, weight) in enumerate(zip(descs, weights)):
            desc = _Desc.from_buffer_copy(desc)
            desc.epoch = epoch
            _check(_c.statesampler_source_init(self._sources, i, weight, desc))
        _check(_c.statesampler_mix_init(self._memory, self._sources,
                                        len(descs), stop))

    def __next__(self):
        out, counts = self._turns(1)
        if not counts:
            raise StopIteration
        return memoryview(out)[:counts[0]]

    def _turns(self, most):
        """The indices of up to `most` batches, and the size of each. There are
        fewer at the end of an epoch; the next one then begins."""
        out = _indices(most * self._most)
        counts = _indices(most)
        turns = _c.statesampler_turns(self._memory, most, _address(out),
                                      _address(counts))
        return out, counts[:turns]

    def read(self, state):
        """Yields lists of batches."""
        reader, ahead = self.at(state), max(_CHUNK // self._most, 1)
        turns = ahead
        while turns == ahead:
            out, counts = reader._turns(ahead)
            flat, batches, at, turns = out.tolist(), [], 0, len(counts)
            for count in counts:
                batches.append(flat[at:at + count])
                at += count
            yield batches

    @property
    def epoch(self):
        return (self._first_epoch +
                _c.statesampler_mix_epoch(self._memory)) % 2**64

    def begin(self, epoch):
        """Starts all datasets in the order of this epoch."""
        self._make(*self._made[:-1], _whole("epoch", epoch, 0, 2**64))

    def turn_over(self):
        """Datasets that were restarted continue from where they are."""
        self.seek(self.num_steps)
        self._turns(1)

    def sample_seed(self, epoch, index):
        epoch = _whole("epoch", epoch, 0, 2**64)
        index, source = _whole("index", index, 0, 2**64), 0
        while source + 1 < len(self._descs) and (
                index >= self._descs[source].num_samples):
            index -= self._descs[source].num_samples
            source += 1
        return _c.statesampler_source_seed(self._sources, source, epoch, index)

    def save(self):
        size = _c.statesampler_mix_state_bytes(self._memory)
        state = ctypes.create_string_buffer(size + 8)
        _check(_c.statesampler_mix_save(self._memory, state, size))
        struct.pack_into("<Q", state, size, self._first_epoch)
        return state.raw + _crc(state.raw)

    def load(self, state):
        state = _bytes(state)
        if state[-4:] != _crc(state[:-4]):
            raise ValueError("statesampler: the state is damaged")
        mix = state[:-12]
        _check(_c.statesampler_mix_load(self._memory, mix, len(mix)))
        # Loading took the state's weights; this mix's own count from here on.
        weights = self._made[1]
        _check(_c.statesampler_mix_weigh(
            self._memory, (_u32 * len(weights))(*weights)))
        self._first_epoch, = struct.unpack("<Q", state[-12:-4])

    def shape(self, state):
        desc, size = _Desc(), len(state) - 12
        _check(_c.statesampler_mix_describe(state[:-12], size, 0, desc, None))
        return desc.world_size, desc.batch_size

    def difference(self, state):
        """How a state differs from this mix; "" if it is damaged."""
        state = state[:-12]
        theirs, place, said = _Desc(), _MixPlace(), []
        for i, ours in enumerate(self._descs):
            if _c.statesampler_mix_describe(state, len(state), i, theirs,
                                            place) != 0:
                return ""
            if place.num_sources != len(self._descs):
                return (f"the state has {place.num_sources} datasets, this "
                        f"sampler {len(self._descs)}")
            if i == 0:
                said += _differences({"stop": _STOPS[place.stop]},
                                     {"stop": _STOPS[self._stop]})
            said += _differences(
                _identity(theirs), _identity(ours), f" for dataset {i}")
        return "; ".join(said)


# --- A loop -----------------------------------------------------------------
# A loop is everything that one sampler serves to one iterator of a DataLoader,
# or to a plain `for`. A pass is one call of the sampler's __iter__; a loop has
# several passes if something repeats the sampler. A unit is a step of the
# library: one sample per rank, or one turn of RoundRobinBatchSampler.


def _left_of(iterator):
    """The number of items left in a list's iterator. __reduce__ gives the list
    and the position in it; at the end, an empty list."""
    _, (whole,), *at = iterator.__reduce__()
    return len(whole) - sum(at)


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


def _skips(frame):
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


def _processes(batches, loader):
    """The number of processes that accelerate distributes these batches to. A
    batch sampler that skips batches may wrap the one that distributes."""
    for each in batches, getattr(batches, "batch_sampler", None):
        if type(each).__name__ == "BatchSamplerShard":
            return each.num_processes
    return (loader.state.num_processes
            if type(loader).__name__ == "DataLoaderDispatcher" else 1)


class _Watch:
    """Observes a DataLoader's iterator, as nothing else tells a sampler how
    many of its batches reached the loop. Batches count from 0."""

    def __init__(self, iterator, frame):
        self.workers = iterator._num_workers > 0
        # Workers get indices before a loader may know its length: then read
        # `ahead` when the first batch arrives.
        self.reader, caller = self.who_asks(iterator, frame)
        self.ahead = 0 if self.workers else _READERS[self.reader](caller)
        self.processes = _processes(iterator._index_sampler, caller)
        # Weak, so that workers end with the loop.
        self.iterator = weakref.ref(iterator) if self.workers else (
            lambda: iterator)
        self.feeding = iterator._sampler_iter
        self.handed_out = 0     # With workers: the iterator may be gone.
        self.drops_last = getattr(iterator._index_sampler, "drop_last", False)
        self.loops = {}         # By sampler.
        self.fetcher = None

    @classmethod
    def find(cls):
        """The watch of the iterator on the call stack that is asking for a
        batch; None if there is none."""
        frame = sys._getframe(1)
        code = _loaders._BaseDataLoaderIter._next_index.__code__
        while frame.f_code is not code:
            frame = frame.f_back
            if frame is None:
                return None
        iterator = frame.f_locals["self"]
        # Not vars(iterator), which would slow down its attributes.
        watch = getattr(iterator, "_statesampler", None)
        if watch is None or watch.feeding is not iterator._sampler_iter:
            watch = iterator._statesampler = cls(iterator, frame)
        return watch

    @staticmethod
    def who_asks(iterator, frame):
        """The object on the call stack above this frame that reads ahead: its
        name in _READERS, and the object."""
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

    def units_per_batch(self, sampler):
        """The units in each batch; None if batches may differ."""
        iterator = self.iterator()
        if type(iterator) not in (_loaders._SingleProcessDataLoaderIter,
                                  _loaders._MultiProcessingDataLoaderIter):
            return None
        asked = iterator._index_sampler
        if type(asked) is BatchSampler and asked.sampler is sampler:
            return asked.batch_size
        return 1 if asked is sampler else None

    def asked(self):
        """The batch that is being asked for."""
        iterator = self.iterator()
        return iterator._send_idx if self.workers else iterator._num_yielded

    def given(self):
        """The number of batches that were returned."""
        return (self.handed_out if self.workers else
                self.iterator()._num_yielded)

    def see_the_end(self):
        """From here on, __call__ returns each batch and meets the end. Without
        workers, this may be called while the first batch is being made, which
        __call__ then does not return; if nothing is fetched, it was the end
        instead."""
        iterator = self.iterator()
        iterator._next_data = self
        if not self.workers and self.fetcher is None:
            self.fetcher = iterator._dataset_fetcher
            iterator._dataset_fetcher = self

    def fetch(self, batch):
        self.iterator()._dataset_fetcher = self.fetcher
        return self.fetcher.fetch(batch)

    def fetched_nothing(self):
        """Whether nothing was fetched, and this thread makes no batch."""
        return (not self.workers and
                self.iterator()._dataset_fetcher is self and
                _Watch.find() is not self)

    def __call__(self):
        iterator = self.iterator()
        try:
            data = type(iterator)._next_data(iterator)
        except StopIteration:
            if iterator._sampler_iter is self.feeding:
                if all([loop.end() for loop in list(self.loops.values())]):
                    vars(iterator).pop("_next_data", None)
            raise
        if self.workers and iterator._sampler_iter is self.feeding:
            if self.handed_out == 0:
                self.reader, caller = self.who_asks(iterator,
                                                    sys._getframe(1))
                self.ahead = _READERS[self.reader](caller)
            self.handed_out = iterator._rcvd_idx
        return data


class _Pass(itertools.chain):
    """The iterator that __iter__ returns: a chain of iterators over lists of
    indices or batches. It starts when the first index is asked for. torchdata
    calls its state_dict and load_state_dict."""

    @classmethod
    def over(cls, sampler):
        this = cls.from_iterable(cls._chunks(lambda: this))
        this.sampler, this.loop, this.literal = sampler, None, None
        this.read, this.chunk, this.stale = 0, iter(()), False
        return this

    @staticmethod
    def _chunks(me):
        """Yields iterators over the indices or batches of the pass."""
        this = me()
        this.sampler._begin(this)
        for units in this.source:
            this.read, this.chunk = this.read + len(units), iter(units)
            yield (this.chunk if this.loop.marks is None else
                   this.loop.marked(this.chunk))
            if this.stale and not this.refuse:
                return
            if this.stale:
                raise RuntimeError(
                    "this loop cannot continue: another loop over its "
                    "sampler, load_state_dict, set_start_iter or a change of "
                    "the epoch came in between")
        # After this rank's last sample all units are taken, including a last
        # one in which this rank has no sample.
        taken, this.read, this.chunk = this.read, this.total, iter(())
        this.loop.no_more(taken)

    def begin(self, loop, cursor):
        self.loop, self.before = loop, loop.taken()
        self.batch = loop.watch and loop.watch.asked()
        self.state, self.start = cursor.save(), cursor.step
        self.total = self.own = None
        if cursor.num_steps is not None:
            self.total = cursor.num_steps - self.start
            self.own = cursor.own_steps - self.start
        self.source = cursor.read(self.state)
        loop.passes.append(self)

    def taken(self):
        return self.read - _left_of(self.chunk)

    def ended(self):
        return self.total is not None and self.taken() >= self.own

    def give_up(self, refuse):
        """Ends the pass. If `refuse`, continuing it is an error, unless it had
        reached its end."""
        if not self.ended():
            self.stale, self.refuse = True, refuse
            collections.deque(self.chunk, maxlen=0)

    def state_dict(self):
        """The state after what was taken from this iterator."""
        return {"state": _tensor(self.sampler._taken(self))}

    def load_state_dict(self, state_dict):
        """Continues from a state. After one from the end of an epoch, this
        iterator is at its end."""
        if self.loop is not None:
            raise RuntimeError("a state must be loaded before the first index "
                               "is taken")
        self.sampler.load_state_dict(state_dict)
        self.literal = self.sampler._parse(state_dict)


class _Loop:
    """What one sampler serves to one DataLoader's iterator, or to a plain
    `for` (watch is None)."""

    def __init__(self, sampler, watch):
        self.sampler, self.watch = sampler, watch
        self.passes = []        # That of the last batch, and later ones.
        self.exhausted = False  # The sampler has nothing left.
        self.ends = 0           # How often the end was met.
        self.unit = watch and watch.units_per_batch(sampler)
        # If batches may differ: (batch, units taken before it). The list is
        # replaced, never changed, as another thread may ask for a state.
        self.marks = None if watch is None or self.unit else []
        if watch:
            watch.loops[sampler] = self
            if watch.workers or self.marks is not None:
                watch.see_the_end()

    def taken(self):
        if not self.passes:
            return 0
        return self.passes[-1].before + self.passes[-1].taken()

    def marked(self, chunk):
        """Records where each batch begins, before its first unit is taken."""
        while _left_of(chunk) > 0:
            batch = self.watch.asked()
            if not self.marks or self.marks[-1][0] != batch:
                here, kept = (batch, self.taken()), self.batches()
                self.marks = [each for each in self.marks
                              if each[0] >= kept] + [here]
            yield next(chunk)

    def read_ahead(self):
        said = self.sampler.read_ahead
        return self.watch.ahead if said is None else said

    def batches(self):
        """The number of batches that reached the loop. With read_ahead it is
        negative at first."""
        return self.watch.given() - self.read_ahead() + self.ends

    def received(self):
        """Units that reached the loop."""
        if self.watch is None:
            return self.taken()
        if self.unit:
            # A rank may have one unit less than others.
            return min(self.batches() * self.unit, self.taken())
        batches, taken = self.batches(), self.taken()
        return next((units for batch, units in self.marks if batch >= batches),
                    taken)

    def ended_at_once(self):
        """Whether the loop ended without a batch, unseen by the watch."""
        return (self.exhausted and self.marks is not None and
                self.watch.fetched_nothing())

    def dropped_the_rest(self):
        """Whether BatchSampler has returned all its batches and drops the
        remaining samples."""
        return (self.unit is not None and self.watch.drops_last and
                not self.read_ahead() and
                (self.watch.given() + 1) * self.unit > self.passes[0].own)

    def no_more(self, taken):
        """The sampler has nothing left, after this many units."""
        self.exhausted = True
        if self.watch is None:
            self.sampler._finish(self)
        elif self.unit and not self.watch.workers:
            # The rest may be one more batch; the end comes after it.
            left = taken % self.unit > 0 and not self.watch.drops_last
            if left or not self.end():
                self.watch.see_the_end()
        # Otherwise the watch sees the end.

    def end(self):
        """The end was met; returns whether the loop is over. With read_ahead,
        the last batches are still on their way: each reaches the loop when the
        end is met again."""
        self.ends += 1
        over = self.ends >= (self.sampler.read_ahead or 1)
        if over:
            self.sampler._finish(self)
        return over


# --- What both samplers share -----------------------------------------------


def _page():
    """Memory for the epoch that forked workers share. Unlike torch's shared
    memory it needs no file; torch's is added for spawned workers."""
    return [memoryview(mmap.mmap(-1, 8)).cast("q")]


def _locked(method):
    """Locks the methods that move the cursor, as any thread may ask for a
    state."""
    @functools.wraps(method)
    def locked(self, *arguments, **options):
        with self._lock:
            return method(self, *arguments, **options)
    return locked


class _Resumable:
    """A cursor (a Sampler or a Mix) and the current loop. Between loops the
    cursor stands where the next loop begins; during a loop, anywhere in its
    epoch. Settling moves it to the place after what the loop has received.
    Subclasses define _owner, their name; _cursor; _length; and
    _units_per_batch(), for start_iter."""

    _fixed = ("num_replicas", "rank", "shuffle", "seed", "drop_last")

    def __init__(self, num_replicas, rank, shuffle, seed, drop_last,
                 read_ahead):
        if torch is None:
            raise ImportError(f"{self._owner} needs torch; Sampler and Mix do "
                              "not")
        self.num_replicas, self.rank = _world(num_replicas, rank)
        self._asked = num_replicas, rank
        self.shuffle, self.seed, self.drop_last = shuffle, seed, drop_last
        self._lock = threading.RLock()
        self._loop = None
        self._at = None         # The pass in whose epoch the cursor is.
        self._relative = 0      # Added to the epochs given to set_epoch.
        self._fresh = False     # set_epoch may mean the epoch of a state.
        self._loaded = 0, 0     # The epoch and step of that state.
        self._old_shape = None  # Its ranks, until they were compared.
        self.read_ahead = (None if read_ahead is None else
                           _whole("read_ahead", read_ahead, 0, 2**31))
        # The epoch of the current loop, also for the copies in workers.
        self._shared, self._process = _page(), os.getpid()

    def __setattr__(self, name, value):
        if name in self._fixed and name in vars(self):
            raise AttributeError(f"{name} cannot be changed: make another "
                                 "sampler")
        super().__setattr__(name, value)

    def __iter__(self):
        return _Pass.over(self)

    def _turn_over(self):
        self._cursor.turn_over()
        self._share()

    def _of_another(self):
        """Whether this is a copy in a worker process."""
        return (torch.utils.data.get_worker_info() is not None and
                self._process != os.getpid())

    def _share(self):
        """Tells the workers the epoch of the cursor."""
        if self._of_another():  # This worker has loops of its own.
            self._shared, self._process = _page(), os.getpid()
        for shared in self._shared:
            shared[0] = ctypes.c_int64(self._cursor.epoch).value

    @_locked
    def _begin(self, this):
        """Begins a pass, in the current loop or in a new one."""
        watch = _Watch.find()
        self._settle()
        loop = self._loop
        if loop is not None and loop.watch is watch is not None:
            last = loop.passes[-1]
            self._go(last, loop.taken() if last.total is None else last.before)
            if last.ended():
                self._turn_over()
        else:
            if loop is not None:
                self._close()
            self._compare_ranks(watch)
            loop = _Loop(self, watch)
            self._compare_shapes(loop)
        if this.literal is not None:
            self._cursor.load(this.literal)
        this.begin(loop, self._cursor)
        self._loop, self._at = loop, this
        self._share()

    def _compare_ranks(self, watch):
        """Raises an error if samples would be distributed to the ranks twice,
        or by nobody."""
        if dist.is_available() and dist.is_initialized():
            found = _world(*self._asked)
            if found != (self.num_replicas, self.rank):
                raise RuntimeError(
                    f"this sampler was made for rank {self.rank} of "
                    f"{self.num_replicas}, but torch.distributed says this is "
                    f"rank {found[1]} of {found[0]}: initialise "
                    "torch.distributed before making the sampler, or pass "
                    "num_replicas and rank")
        if watch and watch.processes > 1 < self.num_replicas:
            raise RuntimeError(
                f"accelerate distributes batches to its {watch.processes} "
                f"processes, and this sampler to {self.num_replicas}: make it "
                "with num_replicas=1, rank=0, or samples are left out")

    def _compare_shapes(self, loop):
        """Lightning ends an epoch by its own count of batches, which is wrong
        after loading a state from other ranks or with another batch size."""
        if (self._old_shape and loop.watch and
                "Fetcher" in (loop.watch.reader or "")):
            if (self._old_shape != self._cursor.shape(self._cursor.save()) or
                    loop.unit and self._loaded[1] % loop.unit):
                warnings.warn(
                    "the loaded state is from other ranks or another batch "
                    "size, and Lightning continues that run's count of "
                    "batches: it may end this epoch too early, without "
                    "training on some samples", stacklevel=2)
            self._old_shape = None

    def _close(self):
        """Ends the current loop, after settling, and moves the cursor to where
        the next loop begins."""
        now, complete = self._loop.passes[0], self._complete()
        self._give_up()
        if complete:
            self._turn_over()
        elif now.total is not None:
            self._cursor.seek(now.start)

    def _give_up(self, repeated=False):
        """Ends the current loop; continuing it is an error. With `repeated`,
        something that repeats the sampler may continue with the next pass."""
        loop, self._loop, self._at = self._loop, None, None
        if loop is not None:
            for each in loop.passes:
                each.give_up(refuse=not repeated or loop.marks is None)

    def _go(self, now, units):
        """Moves the cursor to this number of units of the loop, in a pass."""
        if self._at is not now:
            self._cursor.load(now.state)
            self._at = now
        self._cursor.seek(now.start + units - now.before)

    def _settle(self):
        """Moves the cursor to the place after what the loop received."""
        loop = self._loop
        if loop is not None and loop.ended_at_once():
            self._finish(loop)
        elif loop is not None:
            units = loop.received()
            while len(loop.passes) > 1 and loop.passes[1].before < units:
                del loop.passes[0]
            self._go(loop.passes[0], max(units, loop.passes[0].before))

    def _complete(self):
        """Whether the loop has received the whole epoch. The cursor must be
        settled."""
        end = self._cursor.own_steps
        return end is not None and (
            self._cursor.step >= end or self._loop is not None and (
                self._loop.ends > 0 or self._loop.dropped_the_rest()))

    @_locked
    def _finish(self, loop):
        """A loop has ended: the next epoch begins."""
        if self._loop is loop:
            last = loop.passes[-1]
            if last.total is None:
                # Something between sampler and loop has ended, not the data.
                loop.ends = loop.read_ahead()
                self._settle()
                self._loop = self._at = None
            else:
                self._go(last, last.before + last.total)
                self._loop = self._at = None
                self._turn_over()

    @_locked
    def _taken(self, this):
        """The state after what was taken from a pass."""
        if this.loop is None:
            return this.literal or self._save()
        cursor = self._cursor.at(this.state)
        cursor.seek(this.start + this.taken())
        return cursor.save()

    def _save(self):
        self._settle()
        if self._loop is not None and self._loop.dropped_the_rest():
            self._cursor.seek(self._cursor.num_steps)
        return self._cursor.save()

    def __len__(self):
        if self._length is None:
            raise TypeError("this sampler has no len(), as it has no end")
        return self._length

    @property
    @_locked
    def remaining(self):
        """How many items of the epoch are left for the current loop; between
        loops, for the next one. None if there is no end."""
        self._settle()
        end = self._cursor.own_steps
        return None if end is None else max(end - self._cursor.step, 0)

    @_locked
    def __getstate__(self):
        """Copies are in no loop."""
        state = {**vars(self), "_cursor": self._cursor.at(self._save()),
                 "_loop": None, "_at": None, "_shared": None}
        del state["_lock"]
        if multiprocessing.context.get_spawning_popen():
            if len(self._shared) == 1:
                with torch.inference_mode(False):
                    self._shared.append(
                        torch.tensor([self._shared[0][0]]).share_memory_())
            state["_shared"] = self._shared[1:]
        return state

    def __setstate__(self, state):
        vars(self).update(state)
        self._lock = threading.RLock()
        if self._shared is None:
            self._shared, self._process = _page(), os.getpid()
            self._share()

    def sample_seed(self, index, epoch=None):
        """64 bits to seed a sample's random numbers with: the same in any
        worker, on any rank and after a resume. The default epoch is that of
        the current loop, also in its workers. (If workers load ahead into the
        next epoch, as with tail="carry" or _RepeatSampler, pass the epoch.)"""
        if epoch is None:
            epoch = self._shared_epoch()
        return self._cursor.sample_seed(epoch, index)

    def _shared_epoch(self):
        return int(self._shared[0][0]) % 2**64

    @property
    @_locked
    def epoch(self):
        """The epoch of the current loop, also in its workers; between loops,
        that of the next one."""
        if self._of_another():
            return self._shared_epoch()
        self._settle()
        return self._cursor.epoch

    @epoch.setter
    def epoch(self, epoch):
        self.set_epoch(epoch)

    @_locked
    def set_epoch(self, epoch):
        """The next loop begins this epoch. Does nothing if the sampler is in
        this epoch already, so that it does not undo a resume.

        A framework that counts epochs from 0 in each process calls this, after
        a state was loaded, with an epoch below the state's. From then on
        epochs are taken relative to the state's, with a warning; until
        something is taken, another call may still name the state's own epoch.
        Later, an epoch before the state's only gets a warning."""
        epoch = _whole("epoch", epoch, 0, 2**64)
        present, loaded = self.epoch, self._loaded[0]
        if epoch == 0 < present and _skips(sys._getframe(1)):
            return
        taken = self._loop is not None and self._loop.received() > 0
        if (present != loaded or self._complete() or
                self._relative and taken):
            self._fresh = False
        said = None
        if self._fresh and epoch <= present:
            if epoch < present and self._relative != present - epoch:
                said = (f"after loading a state of epoch {present}: from now "
                        "on set_epoch(n) means epoch n + "
                        f"{present - epoch}")
            self._relative = present - epoch
        elif epoch + self._relative < loaded:
            said = f"goes back before epoch {loaded} of the loaded state"
        if said:
            warnings.warn(f"set_epoch({epoch}) {said}. (begin(epoch) begins "
                          "any epoch.)", stacklevel=3)
        self._fresh = self._fresh and epoch < present
        self._move_to((epoch + self._relative) % 2**64)

    @_locked
    def begin(self, epoch):
        """The next loop begins this epoch at its start."""
        epoch = _whole("epoch", epoch, 0, 2**64)
        self._relative, self._fresh, self._loaded = 0, False, (0, 0)
        self._give_up()
        self._cursor.begin(epoch)
        self._share()

    def _move_to(self, epoch):
        self._settle()
        loop = self._loop
        if epoch == (self._cursor.epoch + 1) % 2**64 and loop is not None:
            if len(loop.passes) > 1 and (
                    loop.passes[1].batch == loop.watch.given()):
                # It begins with the next batch; the rest before is dropped.
                del loop.passes[0]
                self._settle()
            elif self._complete():
                self._close()
        if epoch != self._cursor.epoch:
            self._give_up(repeated=True)
            self._cursor.begin(epoch)
            self._loaded = self._loaded[0], 0
        self._share()

    @property
    @_locked
    def start_iter(self):
        """How many batches of this epoch were received; with tail="carry",
        since epoch 0."""
        self._settle()
        unit, short = self._batches()
        return -(-(self._cursor.step + short) // unit)

    def _batches(self):
        """Units per batch, and by how many the first batch of this epoch
        counts as shorter: such that a batch ends at the loaded place, which
        may be from a run with another batch size."""
        unit, (epoch, step) = self._units_per_batch(), self._loaded
        here = self._cursor.num_steps is None or epoch == self._cursor.epoch
        return unit, -step % unit if here else 0

    def _units(self, start_iter, what):
        """Converts a number of batches of the epoch to units."""
        (unit, short), end = self._batches(), self._cursor.num_steps
        batches = _whole(what, start_iter, 0, 2**62)
        units = max(unit * batches - short, 0)
        if end is None:
            return units
        most = -(-(end + short) // unit)
        if batches > most:
            raise ValueError(f"{what} should be at most {most}, but got "
                             f"{what}={batches}")
        return min(units, end)

    @_locked
    def set_start_iter(self, start_iter):
        """The next loop begins at this batch of the current epoch. (For
        another epoch, call set_epoch first.) Batches before a loaded state
        raise ValueError if the state is from another number of ranks, and in
        a RoundRobinBatchSampler always."""
        self._settle()
        units = self._units(start_iter, "start_iter")
        cursor = self._cursor.at(self._cursor.save())
        try:
            cursor.seek(units)
        except ValueError as error:
            raise ValueError(f"start_iter={start_iter}: {error}") from None
        self._give_up()
        self._cursor = cursor

    @_locked
    def state_dict(self, batches=None):
        """The state after the last batch that the loop received. After the
        same batch it is the same on every rank: save rank 0's.

        With `batches`, the state after that many batches of the current epoch
        instead. They count as start_iter does: after loading a state they
        continue from the value of start_iter there, which is rounded up if it
        was not a whole number of batches. Those that set_start_iter refuses
        raise ValueError here too."""
        if batches is None:
            return {"state": _tensor(self._save())}
        self._settle()
        cursor = self._cursor.at(self._cursor.save())
        cursor.seek(self._units(batches, "batches"))
        return {"state": _tensor(cursor.save())}

    @_locked
    def load_state_dict(self, state_dict):
        """Continues where a state was saved, by any number of ranks with any
        batch size. A state that is damaged or from another dataset, seed or
        order raises ValueError and changes nothing."""
        state = self._parse(state_dict)
        different = self._cursor.difference(state)
        if different:
            raise ValueError(different)
        cursor = self._cursor.at(state)
        self._give_up()
        self._cursor = cursor
        if 0 < self._cursor.step == self._cursor.num_steps:
            self._turn_over()
        self._relative, self._fresh = 0, True
        self._loaded = self._cursor.epoch, self._cursor.step
        self._old_shape = self._cursor.step and self._cursor.shape(state)
        self._share()

    def _parse(self, state_dict):
        """Extracts the library's state from a state_dict."""
        try:
            state = state_dict["state"]
            if isinstance(state, str):      # From earlier versions.
                state = self._of_text(state_dict)
            elif torch.is_tensor(state):
                state = bytes(state.tolist())
            state = _bytes(state)
        except (LookupError, TypeError, ValueError, RuntimeError):
            raise ValueError("this is not a state_dict of "
                             f"{self._owner}") from None
        owner, own = _owner(state), self._owner
        if owner not in (own, None):
            raise ValueError(f"this is a state_dict of {owner}, not {own}")
        return state

    def _of_text(self, state_dict):
        return bytes.fromhex(state_dict["state"])


# --- The samplers -----------------------------------------------------------


class StatefulDistributedSampler(_Resumable, DistributedSampler):
    """torch's DistributedSampler without a table, and with a state.

    dataset, num_replicas, rank, shuffle, seed, drop_last: as in torch. If
        num_replicas and rank are not given and torch.distributed is not
        initialised, both come from the launcher's environment; without that,
        this is rank 0 of 1 (and num_replicas=4 alone raises ValueError). A
        loop raises RuntimeError if torch.distributed has other values by then.
        seed must be the same on every rank.
    batch_size: the unit of state_dict(batches=) and of VISSL's start_iter and
        set_start_iter. Nothing else needs it.
    partition: "interleaved", as in torch, or "blocked": each rank gets a
        contiguous part of the order. (VISSL's sampler is "blocked" with
        drop_last.)
    tail: what happens to the last samples if num_replicas does not divide the
        dataset. "pad" and "drop" are torch's drop_last=False and True.
        "uneven", for evaluation, neither adds nor drops samples, so that some
        ranks have one less. "carry" starts the next epoch with them; a loop
        then has no end, len() raises TypeError, total_size is len(dataset),
        and num_samples is the most that a rank gets of an epoch.
    chunk_size, window: shuffles such that only `window` chunks of `chunk_size`
        consecutive samples are in use at a time.
    replacement: draw with replacement.
    stream: gives datasets with the same seed different orders.
    read_ahead: how many batches something between the DataLoader and the loop
        always takes ahead. None: as known for the loaders of accelerate, timm
        and Lightning, else 0. With 2 or more, an epoch ends when the
        DataLoader was asked that often past its end, or at the next iter() or
        set_epoch: then `while sampler.epoch < epochs` may run too long; loop
        over range(sampler.epoch, epochs) instead.

    rank, num_replicas, shuffle, seed, drop_last, num_samples and total_size
    are read-only, as assigning to them would not change the order.
    """

    _owner = "StatefulDistributedSampler"
    _cursors = Sampler
    _fixed = _Resumable._fixed + ("num_samples", "total_size")

    def __init__(self, dataset, num_replicas=None, rank=None, shuffle=True,
                 seed=0, drop_last=False, batch_size=None, *,
                 partition="interleaved", tail=None, chunk_size=None,
                 window=None, replacement=False, stream=0, read_ahead=None):
        drop_last = _flag("drop_last", drop_last)
        if tail is None:
            tail = "drop" if drop_last else "pad"
        elif drop_last and tail != "drop":
            raise ValueError(f"drop_last=True means tail='drop', but got "
                             f"tail={tail!r}")
        _Resumable.__init__(self, num_replicas, rank, shuffle, seed,
                            tail == "drop", read_ahead)
        self.dataset = dataset
        self.batch_size = (None if batch_size is None else
                           _batch_size(batch_size))
        try:
            length = len(dataset)
        except (TypeError, OverflowError) as error:
            raise ValueError("dataset should have a len(), but got "
                             f"{type(dataset).__name__}: {error}") from None
        # A step is one sample per rank, so that the loader can make any
        # batches.
        self._cursor = self._cursors(
            _whole("len(dataset)", length, 0, 2**62 + 1), self.rank,
            self.num_replicas, 1, seed=seed, stream=stream, shuffle=shuffle,
            tail=tail, partition=partition, replacement=replacement,
            chunk_size=chunk_size, window=window)
        counts = self._cursor.counts()
        self.total_size = counts.positions
        self.num_samples = (
            counts.rank_samples if tail != "carry" else
            -(-length // self.num_replicas))
        self._length = None if tail == "carry" else self.num_samples

    def _units_per_batch(self):
        if self.batch_size is None:
            raise ValueError("start_iter and batches need a sampler with a "
                             "batch_size")
        return self.batch_size


class RoundRobinBatchSampler(_Resumable, _TorchSampler):
    """Batches from several datasets in turn, for the `batch_sampler` of a
    DataLoader over their ConcatDataset. Each batch is from one dataset.

    lengths: the lengths of the datasets.
    batch_size, drop_last: as in torch's BatchSampler, for each rank's batches.
    rank, num_replicas, seed, shuffle: as in StatefulDistributedSampler. Each
        dataset has an order of its own.
    weights: the number of turns of each dataset in a round, as integers; None:
        one each. They may differ from those of a loaded state.
    stop: when an epoch ends. "first": at the turn of a dataset that has
        nothing left. "all": when each dataset has been served once. "restart":
        the same, but datasets that finish earlier start again. "never": never;
        all datasets start again.
    reinit: False is stop="first", True is stop="never", as in the PyTorch
        forum's sampler of this name. But a dataset in which drop_last leaves
        no batch takes no turns, where the forum's sampler stops.
    partition, tail, chunk_size, window, read_ahead: as in
        StatefulDistributedSampler.
        tail="carry" needs stop="never". With "uneven" a rank may have an empty
        batch in a dataset's last turn; collate_fn then gets an empty list.

    Each dataset has its own epochs. With stop="restart" or "never", a dataset
    that starts again uses the order of its next epoch, and continues there in
    this sampler's next epoch. Only set_epoch to an epoch other than the
    current one starts all datasets in the order of that epoch.

    After load_state_dict, set_start_iter and state_dict(batches=...) cannot go
    back to batches before the loaded state: they raise ValueError. Load an
    earlier state instead.
    """

    _owner = "RoundRobinBatchSampler"
    _fixed = _Resumable._fixed + ("lengths", "batch_size", "stop")

    def __init__(self, lengths=None, batch_size=None, rank=None,
                 num_replicas=None, drop_last=False, seed=0, shuffle=True,
                 reinit=False, *, weights=None, stop=None, partition="blocked",
                 tail="pad", chunk_size=None, window=None, read_ahead=None,
                 sampler=None):
        _Resumable.__init__(self, num_replicas, rank, shuffle, seed, drop_last,
                            read_ahead)
        sampler = lengths if sampler is None else sampler
        if isinstance(sampler, _TorchSampler):
            # Lightning and others try to rebuild a batch sampler around
            # another sampler.
            raise TypeError(
                "RoundRobinBatchSampler takes the lengths of datasets, not a "
                f"{type(sampler).__name__}: it distributes to the ranks "
                "itself. (Lightning: Trainer(use_distributed_sampler=False))")
        lengths = _list("lengths", lengths)
        if not isinstance(drop_last, bool):
            raise ValueError("drop_last should be a boolean value, but got "
                             f"drop_last={drop_last}")
        if stop is None:
            stop = "never" if reinit else "first"
        elif reinit and stop != "never":
            raise ValueError(f"reinit=True means stop='never', but got "
                             f"stop={stop!r}")
        self.lengths = lengths
        self.batch_size = _batch_size(batch_size)
        self.stop = stop
        self._cursor = Mix(
            lengths, self.rank, self.num_replicas, batch_size, weights, stop,
            seed=seed, shuffle=shuffle, tail=tail, partition=partition,
            chunk_size=chunk_size, window=window, drop_last=drop_last)
        self._length = self._cursor.num_steps

    def _units_per_batch(self):
        return 1

    def _of_text(self, state_dict):
        state = bytes.fromhex(state_dict["state"])
        state += struct.pack("<Q", _whole(
            "first_epoch", state_dict.get("first_epoch"), 0, 2**64))
        return state + _crc(state)
