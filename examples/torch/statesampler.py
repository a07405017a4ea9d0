"""Samplers for PyTorch's DataLoader that keep no table and resume at once.

Change one line:

    sampler = DistributedSampler(dataset)
    sampler = StatefulDistributedSampler(dataset)

and put the place in the data into the checkpoints:

    loader = DataLoader(dataset, batch_size=32, sampler=sampler, num_workers=4)
    if checkpoint:
        sampler.load_state_dict(checkpoint["sampler"])
    while sampler.epoch < epochs:
        for batch in loader:
            train(batch)
            save({"sampler": sampler.state_dict()})     # whenever you like

A run that loads such a checkpoint goes on with the very next batch, on any
number of ranks. After the same batch every rank has the same state, so rank
0's is enough. RoundRobinBatchSampler does the same for several datasets.

How it counts. An epoch is an order that is computed, so a place in it is a
number. iter() begins the present epoch: at its start, or at the place that was
loaded. A state is that beginning and how much the loop was given since. The
loop was given as many batches as its DataLoader's iterator has handed out,
however many the workers have prefetched; the sampler finds that iterator up
the call stack when it is first asked, and reads its counter when a state is
wanted. Under BatchSampler a batch is batch_size indices; under any other batch
sampler the sampler notes what was taken for each batch. Without a DataLoader,
whatever was taken was given. A loop that was given all has ended its epoch.

Epochs. After a `break` the next loop gives the same again: a look at a batch
costs nothing, and a validation that is cut short sees the same samples each
time. A loop that was given all of its epoch is followed by the next epoch, as
is a state that was saved after the last batch; also one that did not ask for
more, such as a look at an epoch's only batch, or at the last one after a
resume. (To take that back, load the state from before it.) There is no need to
call set_epoch: for the present epoch it does nothing, and for another one it
begins that epoch. (Its own text says what becomes of epochs that a framework
counts from 0 in each process.) With tail="carry" or stop="never" nothing ends:
the next loop always goes on. len() is the epoch's, whatever was loaded;
`remaining` is what is left of it.

torchdata, accelerate, the Hugging Face Trainer, Lightning, Ray Train, timm and
YOLO call a sampler in ways of their own: examples/README.md has a line or a
recipe for each. Anything else that takes batches from the DataLoader ahead of
the loop must be told of as read_ahead=, or a state is as many batches too
late.

- The DataLoader must hand out batches in order, which is torch's default.
- What holds indices back to sort them counts as the loop: a run that loads a
  state does not see what was held back when the state was saved.
- A batch whose loading raised an exception was not given. If the loop goes on
  all the same: with workers its next batch counts for both; without, a state
  is one batch too early, so that a resume repeats one.
- A batch sampler that ends before its sampler ends the epoch. A state after
  its last batch still has the rest before it, so that a resume begins with a
  short loop. One that takes indices in its __iter__ itself, and not for a
  batch, has taken them without a DataLoader.
- A sampler serves one loop at a time. A loop raises RuntimeError if it goes on
  after another loop over its sampler, load_state_dict, set_start_iter or
  another epoch. Several samplers in one DataLoader each count their own.
- A copy, also a pickled one, is in no loop. It begins where the original was.
- A dataset that holds the sampler seeds what is random about a sample with
  sampler.sample_seed(index), as augment.py does. The epoch of this is shared
  with forked processes: make a sampler in the process that trains with it.

Sampler and Mix need no torch and hand out batches of indices as memoryviews,
which numpy.asarray takes without a copy:

    for batch in Sampler(len(dataset), rank, world_size, batch_size=32):
        train(dataset[numpy.asarray(batch)])

This file needs library.c beside it, statesampler.h beside it or two folders
up, and a C compiler at the first import.
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
import multiprocessing.context
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
    from torch.utils.data import DistributedSampler
    from torch.utils.data import Sampler as _TorchSampler
    from torch.utils.data import BatchSampler
    from torch.utils.data import dataloader as _loaders
except ImportError:     # Sampler and Mix do without.
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
    """Whether a library has all of its bytes: to load one that was cut short
    ends the process. A table says where its segments are (of type 1 are those
    that are loaded); that of its sections, if it has one, stands at its end.
    What is not of the ELF format, the loader may judge."""
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
    """The library that was built before, or None. Its name ends in its own
    digest, so that a damaged one is passed over."""
    for path in sorted(glob.glob(glob.escape(stem) + "-*.so")):
        with contextlib.suppress(OSError):
            if path == f"{stem}-{_digest(_contents(path))}.so":
                return _load(path)
    return None


def _build(stem, command, source, include):
    """Compiles the library under a temporary name, loads it, and renames it,
    so that no process finds half of it, or one that cannot be loaded."""
    folder = os.path.dirname(stem)
    os.makedirs(folder, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=folder)
    os.close(handle)
    try:
        subprocess.run(command + ["-shared", "-fPIC", "-I", include, "-x", "c",
                                  source, "-o", temporary],
                       check=True, capture_output=True, errors="replace")
        # mkstemp's file is its owner's only; whoever may use the folder may
        # use the library.
        os.chmod(temporary, os.stat(folder).st_mode & 0o777)
        loaded = _load(temporary)
        os.replace(temporary, f"{stem}-{_digest(_contents(temporary))}.so")
        return loaded
    finally:
        if os.path.exists(temporary):
            os.unlink(temporary)


def _find_library():
    """The library for these sources, compiler and options: one that was built
    before, or a new one. It is kept in the folder `build`
    beside the header, or in the user's cache if that cannot be written."""
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
    if not os.path.isabs(cache):    # It is to be ignored then.
        cache = os.path.expanduser("~/.cache")
    stems = [os.path.join(include, "build", name)]
    if os.path.isabs(cache):        # Else this user has no home.
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
        f"could not make {stems[0]} with `{command[0]}`, the C compiler "
        "(CC chooses another; STATESAMPLER_LIBRARY names a library that "
        f"is already built): {'; '.join(dict.fromkeys(refused))}")


def _load(path):
    """The library at this path, with its functions' types, and the sizes of
    its structs."""
    try:
        if not _whole_elf(path):
            raise OSError("it was cut short")
        library = ctypes.CDLL(os.path.abspath(path))
        for result, arguments, names in _FUNCTIONS:
            for name in names.split():
                function = getattr(library, "statesampler_" + name)
                function.restype, function.argtypes = result, arguments
        return library, (_u64 * 4).in_dll(library, "statesampler_layout")
    except (AttributeError, ValueError) as error:
        raise OSError(str(error)) from None


def _load_library():
    named = os.environ.get("STATESAMPLER_LIBRARY")
    if not named:
        return _find_library()
    try:
        return _load(named)
    except OSError as error:
        raise ImportError(f"{named} is not what library.c makes: {error}"
                          ) from None


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

# Each name stands at the place of its number in the header.
_ORDERS = ["shuffle", "sequential", "window", "replacement"]
_PARTITIONS = ["interleaved", "blocked"]
_TAILS = ["pad", "drop", "uneven", "carry"]
_STOPS = ["first", "all", "restart", "never"]

# How many indices are read from the library at a time: so many that the time
# of a call does not matter beside torch's lists, so few that the first ones
# come at once and all of them take little memory.
_CHUNK = 4096


def _memory(size):
    """Zeroed bytes for a struct, aligned for any member."""
    return (_u64 * ((size + 7) // 8))()


def _indices(count):
    """An array for that many indices. They are below 2^62, so that a signed
    type holds them, and an array is faster to iterate over than ctypes'."""
    return array.array("q", bytes(8 * count))


def _most(descs):
    """How many indices a batch can have: only with tail="carry" is it part of
    more than one epoch."""
    return max(desc.batch_size if _TAILS[desc.tail] == "carry" else
               min(desc.batch_size, max(desc.num_samples, 1))
               for desc in descs)


def _address(indices):
    return indices.buffer_info()[0]


def _sentence(code):
    """What the library says of an error."""
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
    """A bool, also numpy's, or 0 or 1. (A text would always be true.)"""
    if isinstance(value, str) or value not in (False, True):
        raise TypeError(f"{what} should be a bool, but got {what}={value!r}, "
                        f"a {type(value).__name__}")
    return bool(value)


def _whole(what, value, least, below):
    """An integer in a range, also torch's or numpy's; not a bool."""
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
    """As torch's BatchSampler says it, and numpy's integers are integers."""
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
    from the launcher's environment, else (1, 0); and whether anything said
    so."""
    if torch and dist.is_available() and dist.is_initialized():
        return dist.get_world_size(), dist.get_rank(), True
    desc, name = _Desc(), ctypes.c_char_p()
    code = _c.statesampler_from_env(desc, name)
    launcher = name.value.decode()
    if code != 0:
        raise ValueError(f"the environment of {launcher}: {_sentence(code)}")
    return desc.world_size, desc.rank, launcher != "none"


def _world(num_replicas, rank):
    """Fills in what is None."""
    if num_replicas is None or rank is None:
        found_replicas, found_rank, said = _found_world()
        if rank is None and num_replicas not in (None, found_replicas):
            # Found nowhere, all of them would be rank 0.
            raise ValueError(
                f"rank should be given with num_replicas={num_replicas}, as " +
                (f"the ranks found are {found_replicas}" if said else
                 "neither torch.distributed nor the environment says it"))
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
    """Sets the order that these four ask for."""
    windows = chunk_size is not None or window is not None
    if not shuffle and (replacement or windows):
        raise ValueError("replacement, chunk_size and window need "
                         "shuffle=True")
    if replacement and windows:
        raise ValueError("replacement goes with neither chunk_size nor window")
    if windows:
        if chunk_size is None or window is None:
            raise ValueError("chunk_size and window go together")
        desc.chunk_size = _whole("chunk_size", chunk_size, 1, 2**62)
        desc.window = _whole("window", window, 1, 2**62)
    desc.order = _ORDERS.index(
        "window" if windows else "replacement" if replacement else
        "shuffle" if shuffle else "sequential")


def _weights(weights, lengths):
    weights = ([1] * len(lengths) if weights is None else
               _list("weights", weights))
    if len(weights) != len(lengths):
        raise ValueError(f"weights should be as many as lengths, "
                         f"{len(lengths)}, but got {len(weights)}")
    return [_whole("weight", weight, 1, 2**31) for weight in weights]


def _describe(num_samples, rank, world_size, batch_size, *, seed=0, stream=0,
              epoch=0, shuffle=True, replacement=False, chunk_size=None,
              window=None, partition="interleaved", tail="pad",
              drop_last=False, **unknown):
    """The library's description of a sampler."""
    if unknown:
        raise TypeError("there is no argument " + ", ".join(unknown))
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
    """The class whose state this is; None if it is of neither, or damaged."""
    size = len(state)
    if _c.statesampler_describe(state, size, None, None) == 0:
        return "StatefulDistributedSampler"
    if size > 12 and _c.statesampler_mix_describe(state[:-12], size - 12, 0,
                                                  None, None) == 0:
        return "RoundRobinBatchSampler"
    return None


def _identity(desc):
    """What a state and the sampler that loads it must agree in."""
    return {"len(dataset)": desc.num_samples, "seed": desc.seed,
            "stream": desc.stream, "order": _ORDERS[desc.order],
            "chunk_size": desc.chunk_size, "window": desc.window,
            "partition": _PARTITIONS[desc.partition],
            "tail": _TAILS[desc.tail]}


def _differences(theirs, ours, of=""):
    """A sentence for each field in which a state and a sampler differ."""
    return [f"the state has {name} {theirs[name]}{of}, this sampler "
            f"{ours[name]}" for name in theirs if theirs[name] != ours[name]]


def _tensor(state):
    """A state as a state_dict has it: torch.load takes a tensor wherever it
    loads weights only, and a distributed checkpoint shards nothing else."""
    return torch.frombuffer(bytearray(state), dtype=torch.uint8)


def _bytes(state):
    """A state as the library takes it; numpy's bytes and others' are bytes."""
    try:
        return bytes(memoryview(state))
    except TypeError:
        raise ValueError("a state should be bytes, but got a "
                         f"{type(state).__name__}") from None


def _crc(state):
    return struct.pack("<I", zlib.crc32(state))


# --- Without torch ----------------------------------------------------------


class _Cursor:
    """A sampler of the library in memory of its own, as _make() sets it up
    with the arguments in _made. Those for PyTorch stand on its place, which is
    an epoch and a step: begin(epoch), seek(step), turn_over() to the next
    epoch, and read(state), lists of all that comes after a state. A subclass
    has the library's _step, _num_steps and _seek."""

    def __iter__(self):
        return self

    step = property(lambda self: self._step(self._memory))

    @property
    def num_steps(self):
        """None if there is no end."""
        steps = self._num_steps(self._memory)
        return None if steps == _NONE else steps

    @property
    def own_steps(self):
        """Where this rank's samples end."""
        return self.num_steps

    def seek(self, step):
        _check(self._seek(self._memory, _whole("step", step, 0, 2**64)))

    def at(self, state):
        """Another one like it, there."""
        other = object.__new__(type(self))
        other.__setstate__((self._made, state))
        return other

    def __getstate__(self):
        """For copies: each has memory of its own, which points into itself."""
        return self._made, self.save()

    def __setstate__(self, state):
        made, place = state
        self._make(*made)
        self.load(place)


class Sampler(_Cursor):
    """The library's sampler. Iterating gives the batches that are left of the
    epoch, as memoryviews of 64-bit integers; the next loop gives the next
    epoch. Its place counts what was taken.

    num_samples: of the dataset. rank, world_size: None as those of
    StatefulDistributedSampler, and so are the other arguments."""

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
        """Lists of indices, by the same sampler with a larger batch_size. (A
        list is faster to iterate over than an array.)"""
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
        """A step less than the others' if tail="uneven" gives this rank no
        sample in the last one."""
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
        """The ranks of a state that is whole, and their batch size."""
        desc = _Desc()
        _check(_c.statesampler_describe(state, len(state), desc, None))
        return desc.world_size, desc.batch_size

    def difference(self, state):
        """What a state has other than this sampler; "" if it is damaged."""
        theirs = _Desc()
        if _c.statesampler_describe(state, len(state), theirs, None) != 0:
            return ""
        return "; ".join(_differences(_identity(theirs),
                                      _identity(self._desc)))


class Mix(_Cursor):
    """The library's mix of several datasets, given as lists of the arguments
    of Sampler, which are otherwise the same for all. Iterating gives batches
    as Sampler does, with their indices numbered through all datasets.

    lengths, rank, world_size, batch_size, weights, stop and the rest: as
    RoundRobinBatchSampler's. Behind the library's state, this one's has the
    epoch at which the library's count of epochs is 0, and a check of all."""

    _step, _num_steps, _seek = (
        _c.statesampler_mix_turn, _c.statesampler_mix_num_turns,
        _c.statesampler_mix_seek)

    def __init__(self, lengths, rank=None, world_size=None, batch_size=1,
                 weights=None, stop="first", epoch=0, **options):
        world_size, rank = _world(world_size, rank)
        lengths = _list("lengths", lengths)
        if not lengths:
            raise ValueError("lengths should be of at least one dataset, but "
                             "got lengths=[]")
        if "stream" in options:
            raise TypeError("there is no argument stream: each dataset has "
                            "its own")
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
        """The indices of up to so many batches, and how many each has. After
        the last turn of an epoch there are fewer, and the next one begins."""
        out = _indices(most * self._most)
        counts = _indices(most)
        turns = _c.statesampler_turns(self._memory, most, _address(out),
                                      _address(counts))
        return out, counts[:turns]

    def read(self, state):
        """Lists of batches."""
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
        """Begins all datasets in the order of this epoch."""
        self._make(*self._made[:-1], _whole("epoch", epoch, 0, 2**64))

    def turn_over(self):
        """Datasets that began anew go on from where they are."""
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
        # The weights are then the state's: from here on its own.
        weights = self._made[1]
        _check(_c.statesampler_mix_weigh(
            self._memory, (_u32 * len(weights))(*weights)))
        self._first_epoch, = struct.unpack("<Q", state[-12:-4])

    def shape(self, state):
        desc, size = _Desc(), len(state) - 12
        _check(_c.statesampler_mix_describe(state[:-12], size, 0, desc, None))
        return desc.world_size, desc.batch_size

    def difference(self, state):
        """What a state has other than this mix; "" if it is damaged."""
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
# A loop is what one sampler serves to one iterator of a DataLoader, or to a
# plain `for`. A pass is one call of the sampler's __iter__; a loop has several
# where something repeats the sampler. A unit is a step of the library: one
# sample of each rank, or one turn of RoundRobinBatchSampler.


def _left_of(iterator):
    """How many items the iterator of a list still has. Its pickle would hold
    the whole and how far it is in it; at its end, an empty one."""
    _, (whole,), *at = iterator.__reduce__()
    return len(whole) - sum(at)


def _dispatched(loader):
    """One of each process at a time; at an epoch's end, what there is."""
    processes = 1 if loader.split_batches else loader.state.num_processes
    if processes > 1 and not loader._drop_last:
        warnings.warn(
            "accelerate's DataLoaderDispatcher may take an epoch's last "
            "batches before it hands out those before: a state that is saved "
            "then is without them. dispatch_batches=False, "
            "split_batches=True or drop_last=True is exact.", stacklevel=2)
    return processes


# What is known to take batches from a DataLoader before the loop asks for
# them, by the name of its class, and how many. The fetchers are Lightning's,
# the first up to 1.9.5, the other one since 2.0 (up to 2.0.7 with _has_len).
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
    """Whether a loader of accelerate's calls that skips an epoch's first
    batches and was made for that. From 1.7.0 to 1.9.0 it counts from 0 then,
    whatever the epoch is."""
    while frame is not None:
        caller = frame.f_locals.get("self")
        if {kind.__name__ for kind in type(caller).__mro__} & {
                "DataLoaderShard", "DataLoaderDispatcher"}:
            return caller.iteration == 0 and (
                type(caller.batch_sampler).__name__ == "SkipBatchSampler")
        frame = frame.f_back
    return False


def _processes(batches, loader):
    """To how many processes accelerate deals these batches. A batch sampler
    that skips some may stand around the one that does."""
    for each in batches, getattr(batches, "batch_sampler", None):
        if type(each).__name__ == "BatchSamplerShard":
            return each.num_processes
    return (loader.state.num_processes
            if type(loader).__name__ == "DataLoaderDispatcher" else 1)


class _Watch:
    """A DataLoader's iterator: the last resort of a sampler that is not told
    how many of its batches reached the loop. Batches count from 0."""

    def __init__(self, iterator, frame):
        self.workers = iterator._num_workers > 0
        # Workers are given indices before a loader may know of its length: of
        # them, who reads ahead is asked for the first batch.
        self.reader, caller = self.who_asks(iterator, frame)
        self.ahead = 0 if self.workers else _READERS[self.reader](caller)
        self.processes = _processes(iterator._index_sampler, caller)
        # Workers must end with the loop; a loader without them may stay.
        self.iterator = weakref.ref(iterator) if self.workers else (
            lambda: iterator)
        self.feeding = iterator._sampler_iter
        self.handed_out = 0     # With workers: while there was an iterator.
        self.drops_last = getattr(iterator._index_sampler, "drop_last", False)
        self.loops = {}         # Each sampler's.
        self.fetcher = None

    @classmethod
    def find(cls):
        """The one whose iterator is asking for a batch, somewhere up the call
        stack; None if there is none."""
        frame = sys._getframe(1)
        code = _loaders._BaseDataLoaderIter._next_index.__code__
        while frame.f_code is not code:
            frame = frame.f_back
            if frame is None:
                return None
        iterator = frame.f_locals["self"]
        # Not by vars(): an object whose dict was asked for has slow fields.
        watch = getattr(iterator, "_statesampler", None)
        if watch is None or watch.feeding is not iterator._sampler_iter:
            watch = iterator._statesampler = cls(iterator, frame)
        return watch

    @staticmethod
    def who_asks(iterator, frame):
        """What is known to take batches ahead and asks the iterator, from this
        frame of the call stack upwards: its name in _READERS, and itself."""
        while frame is not None:
            caller = frame.f_locals.get("self")
            for kind in type(caller).__mro__:
                if kind.__name__ in _READERS:
                    return kind.__name__, caller
            if (isinstance(caller, _loaders._BaseDataLoaderIter) and
                    caller is not iterator):
                break   # This DataLoader is part of another one's data.
            frame = frame.f_back
        return None, None

    def units_per_batch(self, sampler):
        """If batches are alike; else None."""
        iterator = self.iterator()
        if type(iterator) not in (_loaders._SingleProcessDataLoaderIter,
                                  _loaders._MultiProcessingDataLoaderIter):
            return None
        asked = iterator._index_sampler
        if type(asked) is BatchSampler and asked.sampler is sampler:
            return asked.batch_size
        return 1 if asked is sampler else None

    def asked(self):
        """The batch that is asked for."""
        iterator = self.iterator()
        return iterator._send_idx if self.workers else iterator._num_yielded

    def given(self):
        """How many batches were handed out."""
        return (self.handed_out if self.workers else
                self.iterator()._num_yielded)

    def see_the_end(self):
        """From here on, each batch that is handed out passes through this,
        and so does the end. Without workers this may be called in the first
        batch's making, which does not pass through this: what tells the end
        from that batch is that nothing is fetched."""
        iterator = self.iterator()
        iterator._next_data = self
        if not self.workers and self.fetcher is None:
            self.fetcher = iterator._dataset_fetcher
            iterator._dataset_fetcher = self

    def fetch(self, batch):
        self.iterator()._dataset_fetcher = self.fetcher
        return self.fetcher.fetch(batch)

    def fetched_nothing(self):
        """And nor is a batch in the making, in this thread."""
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
    indices or batches. It also has the state of what was taken from
    it, as torchdata asks for. It begins when the first index is asked for."""

    @classmethod
    def over(cls, sampler):
        this = cls.from_iterable(cls._chunks(lambda: this))
        this.sampler, this.loop, this.literal = sampler, None, None
        this.read, this.chunk, this.stale = 0, iter(()), False
        return this

    @staticmethod
    def _chunks(me):
        """Iterators over what the pass serves."""
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
                    "this loop was given up: another one over its sampler, "
                    "load_state_dict, set_start_iter or another epoch came in "
                    "between")
        # Who asks past this rank's last sample has taken all units, also
        # one in which this rank has none.
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
        """It has come to its end, or is refused if it goes on and was not at
        its end anyway."""
        if not self.ended():
            self.stale, self.refuse = True, refuse
            collections.deque(self.chunk, maxlen=0)

    def state_dict(self):
        """The place after what was taken from this iterator."""
        return {"state": _tensor(self.sampler._taken(self))}

    def load_state_dict(self, state_dict):
        """Goes on there. At the end of an epoch, it is at its end."""
        if self.loop is not None:
            raise RuntimeError("a state is loaded before the first index is "
                               "taken")
        self.sampler.load_state_dict(state_dict)
        self.literal = self.sampler._parse(state_dict)


class _Loop:
    """What one sampler has served to one DataLoader's iterator, or to a plain
    `for` (watch is None)."""

    def __init__(self, sampler, watch):
        self.sampler, self.watch = sampler, watch
        self.passes = []        # The one of the last batch, and later ones.
        self.exhausted = False  # The sampler has nothing left.
        self.ends = 0           # How often the end was met.
        self.unit = watch and watch.units_per_batch(sampler)
        # Batches may differ: (batch, units that were taken before it). The
        # list is replaced and never changed, as a state may be asked for at
        # any time.
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
        """Notes what a batch begins with before that is taken."""
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
        """How many reached the loop; with read_ahead, before the first one
        less than 0."""
        return self.watch.given() - self.read_ahead() + self.ends

    def received(self):
        """Units that reached the loop."""
        if self.watch is None:
            return self.taken()
        if self.unit:
            # A rank may have a unit less than others, all of which is taken.
            return min(self.batches() * self.unit, self.taken())
        batches, taken = self.batches(), self.taken()
        return next((units for batch, units in self.marks if batch >= batches),
                    taken)

    def ended_at_once(self):
        """Whether the end came instead of a first batch, and unseen."""
        return (self.exhausted and self.marks is not None and
                self.watch.fetched_nothing())

    def dropped_the_rest(self):
        """Whether BatchSampler has given all its batches and drops samples."""
        return (self.unit is not None and self.watch.drops_last and
                not self.read_ahead() and
                (self.watch.given() + 1) * self.unit > self.passes[0].own)

    def no_more(self, taken):
        """The sampler has nothing left, after so many indices or batches."""
        self.exhausted = True
        if self.watch is None:
            self.sampler._finish(self)
        elif self.unit and not self.watch.workers:
            # What is left may still be a batch; the end comes after it.
            left = taken % self.unit > 0 and not self.watch.drops_last
            if left or not self.end():
                self.watch.see_the_end()
        # Else the watch sees the end.

    def end(self):
        """The end was met; whether the loop is over. Who was said to take
        several batches ahead still has these. They reach the loop one by one,
        each time that the end is met again."""
        self.ends += 1
        over = self.ends >= (self.sampler.read_ahead or 1)
        if over:
            self.sampler._finish(self)
        return over


# --- What both samplers share -----------------------------------------------


def _page():
    """A place for an epoch, for forked workers too. It takes no file, as
    torch's shared memory does; this is added for spawned ones."""
    return [memoryview(mmap.mmap(-1, 8)).cast("q")]


def _locked(method):
    """For what moves the cursor: a state may be asked for in any thread."""
    @functools.wraps(method)
    def locked(self, *arguments, **options):
        with self._lock:
            return method(self, *arguments, **options)
    return locked


class _Resumable:
    """A cursor, which is a Sampler or a Mix, and the present loop. Between
    loops the cursor stands where the next one begins; in a loop, anywhere in
    its epoch. Settling moves it to the place after what the loop received. A
    subclass has _owner: its name; _cursor; _length; and _units_per_batch():
    those of start_iter."""

    _fixed = ("num_replicas", "rank", "shuffle", "seed", "drop_last")

    def __init__(self, num_replicas, rank, shuffle, seed, drop_last,
                 read_ahead):
        if torch is None:
            raise ImportError(f"{self._owner} needs torch; Sampler and Mix do "
                              "without")
        self.num_replicas, self.rank = _world(num_replicas, rank)
        self._asked = num_replicas, rank
        self.shuffle, self.seed, self.drop_last = shuffle, seed, drop_last
        self._lock = threading.RLock()
        self._loop = None
        self._at = None         # The pass in whose epoch the cursor is.
        self._relative = 0      # What set_epoch's epochs are short of.
        self._fresh = False     # set_epoch may mean the epoch of a state.
        self._loaded = 0, 0     # The epoch and step of that state.
        self._old_shape = None  # Its ranks, until they were compared.
        self.read_ahead = (None if read_ahead is None else
                           _whole("read_ahead", read_ahead, 0, 2**31))
        # The epoch of the present loop, for the workers' copies as well.
        self._shared, self._process = _page(), os.getpid()

    def __setattr__(self, name, value):
        if name in self._fixed and name in vars(self):
            raise AttributeError(f"{name} is fixed: make another sampler")
        super().__setattr__(name, value)

    def __iter__(self):
        return _Pass.over(self)

    def _turn_over(self):
        self._cursor.turn_over()
        self._share()

    def _of_another(self):
        """Whether this is a worker's copy of another process's sampler."""
        return (torch.utils.data.get_worker_info() is not None and
                self._process != os.getpid())

    def _share(self):
        """Says the workers in which epoch the cursor is."""
        if self._of_another():  # A worker that has loops of its own.
            self._shared, self._process = _page(), os.getpid()
        for shared in self._shared:
            shared[0] = ctypes.c_int64(self._cursor.epoch).value

    @_locked
    def _begin(self, this):
        """Begins a pass, in the present loop or in a new one."""
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
        """Where the samples would be dealt by nobody, or twice."""
        if dist.is_available() and dist.is_initialized():
            found = _world(*self._asked)
            if found != (self.num_replicas, self.rank):
                raise RuntimeError(
                    f"this sampler was made for rank {self.rank} of "
                    f"{self.num_replicas}, but by torch.distributed this is "
                    f"rank {found[1]} of {found[0]}: initialise that first, "
                    "or give num_replicas and rank")
        if watch and watch.processes > 1 < self.num_replicas:
            raise RuntimeError(
                f"accelerate deals the batches to its {watch.processes} "
                f"processes, and this sampler to {self.num_replicas}: give it "
                "num_replicas=1, rank=0, or samples are left out")

    def _compare_shapes(self, loop):
        """Lightning ends an epoch by its own count of batches, which does not
        hold for a state of other ranks or of another batch size."""
        if (self._old_shape and loop.watch and
                "Fetcher" in (loop.watch.reader or "")):
            if (self._old_shape != self._cursor.shape(self._cursor.save()) or
                    loop.unit and self._loaded[1] % loop.unit):
                warnings.warn(
                    "the state that was loaded is of other ranks or another "
                    "batch size, and Lightning goes on with its count of that "
                    "run's batches: it may end this epoch too early, so that "
                    "some samples are not trained on in it", stacklevel=2)
            self._old_shape = None

    def _close(self):
        """Gives the present loop up, after settling. The cursor goes to where
        the next loop begins."""
        now, complete = self._loop.passes[0], self._complete()
        self._give_up()
        if complete:
            self._turn_over()
        elif now.total is not None:
            self._cursor.seek(now.start)

    def _give_up(self, repeated=False):
        """The loop is refused if it goes on, unless something that repeats the
        sampler may go on with the next pass."""
        loop, self._loop, self._at = self._loop, None, None
        if loop is not None:
            for each in loop.passes:
                each.give_up(refuse=not repeated or loop.marks is None)

    def _go(self, now, units):
        """Moves the cursor to a number of units of the loop, in this pass."""
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
        """Whether the loop was given all of the epoch. The cursor must be
        settled."""
        end = self._cursor.own_steps
        return end is not None and (
            self._cursor.step >= end or self._loop is not None and (
                self._loop.ends > 0 or self._loop.dropped_the_rest()))

    @_locked
    def _finish(self, loop):
        """A loop has come to its end: the next epoch begins."""
        if self._loop is loop:
            last = loop.passes[-1]
            if last.total is None:
                # What is between sampler and loop has ended, not the data.
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
            raise TypeError("this sampler has no end, and so no len()")
        return self._length

    @property
    @_locked
    def remaining(self):
        """How much of the epoch is left for the present loop; between loops,
        for the next one. None if there is no end."""
        self._settle()
        end = self._cursor.own_steps
        return None if end is None else max(end - self._cursor.step, 0)

    @_locked
    def __getstate__(self):
        """For copies, which are in no loop."""
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
        """64 bits for what is random about a sample: the same in any worker,
        on any rank and after a resume. Without an epoch, that of the present
        loop, also in its workers. (Where workers load ahead into the next
        epoch, as with tail="carry" or _RepeatSampler, give the epoch.)"""
        if epoch is None:
            epoch = self._shared_epoch()
        return self._cursor.sample_seed(epoch, index)

    def _shared_epoch(self):
        return int(self._shared[0][0]) % 2**64

    @property
    @_locked
    def epoch(self):
        """The epoch of the present loop, also in its workers; between loops,
        of the next one."""
        if self._of_another():
            return self._shared_epoch()
        self._settle()
        return self._cursor.epoch

    @epoch.setter
    def epoch(self, epoch):
        self.set_epoch(epoch)

    @_locked
    def set_epoch(self, epoch):
        """The next loop begins this epoch. Nothing changes if the sampler is
        in it already, so that this does not undo a resume. A framework that
        counts its epochs from 0 in each process calls this with less than a
        state's epoch, while a loop has not been through that: from there on,
        epochs are taken relative to the state's, with a warning; until
        something is taken, another call may still say the state's own. Later
        a warning says that an epoch is before the state's."""
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
                said = (f"after a state of epoch {present} was loaded: from "
                        "here on set_epoch(n) means epoch n + "
                        f"{present - epoch}")
            self._relative = present - epoch
        elif epoch + self._relative < loaded:
            said = f"goes back to before epoch {loaded}, of the state loaded"
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
                # It begins with the next batch; what came before is dropped.
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
        """How many batches of this epoch were given; with tail="carry" since
        epoch 0."""
        self._settle()
        unit, short = self._batches()
        return -(-(self._cursor.step + short) // unit)

    def _batches(self):
        """Units of a batch, and how many the first batch of this epoch is
        taken to be short of that: so many that a batch ends at the place that
        was loaded, which may be of a run with another batch size."""
        unit, (epoch, step) = self._units_per_batch(), self._loaded
        here = self._cursor.num_steps is None or epoch == self._cursor.epoch
        return unit, -step % unit if here else 0

    def _units(self, start_iter, what):
        """A number of batches of the epoch, in units."""
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
        """The next loop begins at this batch of the present epoch. (To go to
        another epoch, call set_epoch before.) After a state of a run with
        other ranks was loaded, batches before that place are ValueErrors."""
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
        """The place after the last batch that the loop was given. After the
        same batch it is the same on every rank: save rank 0's.
        batches: instead, the place after so many batches of the present epoch,
        whatever was given. (set_start_iter goes to it.) They are counted as
        start_iter is, and go on from its value at the place that was loaded,
        which is rounded up if that was no whole number of batches."""
        if batches is None:
            return {"state": _tensor(self._save())}
        self._settle()
        cursor = self._cursor.at(self._cursor.save())
        cursor.seek(self._units(batches, "batches"))
        return {"state": _tensor(cursor.save())}

    @_locked
    def load_state_dict(self, state_dict):
        """Goes on where a state was saved, by any number of ranks with any
        batch size. A state that is damaged, or of another dataset, seed or
        order, is a ValueError and changes nothing."""
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
        """The library's state in a state_dict."""
        try:
            state = state_dict["state"]
            if isinstance(state, str):      # The form of earlier versions.
                state = self._of_text(state_dict)
            elif torch.is_tensor(state):
                state = bytes(state.tolist())
            state = _bytes(state)
        except (LookupError, TypeError, ValueError, RuntimeError):
            raise ValueError("this is not a state_dict of "
                             f"{self._owner}") from None
        owner, own = _owner(state), self._owner
        if owner not in (own, None):
            raise ValueError(f"this is a state_dict of {owner}, not of {own}")
        return state

    def _of_text(self, state_dict):
        return bytes.fromhex(state_dict["state"])


# --- The samplers -----------------------------------------------------------


class StatefulDistributedSampler(_Resumable, DistributedSampler):
    """torch's DistributedSampler, without a table and with a state.

    dataset, num_replicas, rank, shuffle, seed, drop_last: as torch's. Without
        num_replicas and rank, and without an initialised torch.distributed,
        both come from the launcher's environment; if that does not say them,
        this is rank 0 of 1. (num_replicas=4 alone is then a ValueError.) A
        loop is a RuntimeError if torch.distributed says others by then.
        seed must be the same on every rank.
    batch_size: the unit of state_dict(batches=) and of VISSL's start_iter and
        set_start_iter. Nothing else needs it.
    partition: "interleaved", as torch's, or "blocked": each rank has a part of
        neighbours. (VISSL's sampler is "blocked" with drop_last.)
    tail: what becomes of the last samples if num_replicas does not divide the
        dataset. "pad" and "drop" are torch's drop_last=False and True.
        "uneven" neither adds nor leaves out a sample, so that some ranks have
        one less, for evaluation. "carry" opens the next epoch with the rest; a
        loop then has no end, len() raises TypeError, total_size is
        len(dataset), and num_samples is the most that a rank has of an epoch.
    chunk_size, window: a shuffle that needs only `window` chunks of
        `chunk_size` neighbours open at a time.
    replacement: draws with replacement.
    stream: another order for another dataset with the same seed.
    read_ahead: how many batches something between the DataLoader and the loop
        has always taken ahead. None: what is known of accelerate's, timm's
        and Lightning's loaders, else 0. With 2 or more, an epoch ends when
        the DataLoader was asked as often past its end, or else at the next
        iter() or set_epoch: `while sampler.epoch < epochs` may be too long
        then, and a loop over range(sampler.epoch, epochs) is right.

    rank, num_replicas, shuffle, seed, drop_last, num_samples and total_size
    cannot be assigned to, as the order would not follow.
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
            raise ValueError(f"drop_last=True is tail='drop', but got "
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
        # With one sample of each rank in a step there is a step for any place
        # in the data, whatever batches the loader makes.
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
            raise ValueError("start_iter and batches count in batches: they "
                             "need the sampler's batch_size")
        return self.batch_size


class RoundRobinBatchSampler(_Resumable, _TorchSampler):
    """Batches of several datasets in turn, for the `batch_sampler` of a
    DataLoader over their ConcatDataset. Each batch is of one dataset.

    lengths: those of the datasets.
    batch_size, drop_last: of each rank's batches, as torch's BatchSampler.
    rank, num_replicas, seed, shuffle: as StatefulDistributedSampler's. Each
        dataset has an order of its own.
    weights: how many turns each dataset has in a round, in integers, which may
        be others than those of a state that is loaded; None: one each.
    stop: when an epoch ends. "first": at the turn of a dataset that has
        nothing left. "all": when each dataset has been served once.
        "restart": the same, but those that are finished earlier begin again.
        "never": never, and all begin again.
    reinit: False is stop="first", True is stop="never", as in the PyTorch
        forum's sampler of this name. But a dataset in which drop_last leaves
        no batch takes no turns, where the forum's sampler stops.
    partition, tail, chunk_size, window, read_ahead: as
        StatefulDistributedSampler's.
        tail="carry" needs stop="never". With "uneven" a rank may have an empty
        batch in a dataset's last turn, and collate_fn gets an empty list.

    Each dataset has epochs of its own. With stop="restart" or "never", one
    that begins again does so in the order of its next epoch, and goes on from
    there in this sampler's next epoch. Only set_epoch to another epoch than
    the present one begins all datasets in the order of that epoch, also one
    that has been through it.
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
            # Lightning and others make a batch sampler again, around another
            # sampler.
            raise TypeError(
                "RoundRobinBatchSampler takes the lengths of datasets, not a "
                f"{type(sampler).__name__}: it deals to the ranks itself. "
                "(Lightning: Trainer(use_distributed_sampler=False))")
        lengths = _list("lengths", lengths)
        if not isinstance(drop_last, bool):
            raise ValueError("drop_last should be a boolean value, but got "
                             f"drop_last={drop_last}")
        if stop is None:
            stop = "never" if reinit else "first"
        elif reinit and stop != "never":
            raise ValueError(f"reinit=True is stop='never', but got "
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
