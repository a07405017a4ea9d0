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

What a state counts. A state holds the place after the last batch that the loop
was given, however many batches the workers have prefetched. To know it, a
sampler that is asked for its first index looks up the call stack for the
DataLoader's iterator; from then on it sees which batches that iterator asks
for and which it hands out. Without a DataLoader, each index that was taken
from the sampler counts.

- The DataLoader must hand out batches in order, which is torch's default.
- Whatever takes indices or batches ahead of the loop counts as the loop: a
  batch sampler that holds indices back to sort them, or a thread or framework
  that takes batches from the DataLoader in advance. A run that loads a state
  does not see what was held back when the state was saved.
- A batch whose loading raised an exception was not given. If the loop goes on
  all the same, its next batch counts for both, as the DataLoader does not load
  the first one again.
- A sampler belongs to the thread whose loop it serves. Take a state in that
  thread (it takes microseconds) and hand it to the thread that writes files.
  epoch and len() are not safe in another thread either.
- A sampler serves one loop at a time. A DataLoader's loop raises RuntimeError
  if it goes on after another loop over its sampler, load_state_dict or
  set_start_iter. Several samplers in one DataLoader each count their own.
- A copy, also a pickled one, is in no loop. It begins where the original was.

Epochs. A loop over the loader serves the rest of the epoch, and the end of the
loop begins the next epoch. After a `break` the next loop goes on after the
last batch that was given. A state saved after the last batch of an epoch, but
before the loop has ended, holds the end of that epoch: a run that loads it has
an empty loop first, and then does what it does after an epoch. There is no
need to call set_epoch: for the present epoch it does nothing, and for another
one it begins that epoch.

len() is how much the present loop is given in all; between loops, how much the
next one will be given. A loop is the present one as long as its DataLoader's
iterator lives, also after a `break`: a variable or persistent workers may keep
the iterator.

timm's and YOLO's _RepeatSampler repeats the sampler in one iterator of the
DataLoader, which is kept for ever. No loop ends there. So an epoch begins with
its first batch, or with set_epoch, which is to be called before each epoch as
DistributedSampler's is. Load a state before you make that DataLoader.

This file needs library.c beside it, statesampler.h beside it or two folders
up, and a C compiler at the first import (`make torch` builds the library,
too).
"""

import array
import collections
import ctypes
import itertools
import operator
import os
import subprocess
import sys
import tempfile
import weakref

import torch.distributed as dist
from torch.utils.data import Sampler
from torch.utils.data.dataloader import _BaseDataLoaderIter

__all__ = ["StatefulDistributedSampler", "RoundRobinBatchSampler"]

# --- The library ------------------------------------------------------------


def _find_header(folder):
    for place in (folder, os.path.dirname(os.path.dirname(folder))):
        if os.path.exists(os.path.join(place, "statesampler.h")):
            return place
    raise ImportError(f"statesampler.h is neither in {folder} nor two folders "
                      "up")


def _build(library, source, include):
    """Compiles the library under a temporary name and renames it, so that no
    process that imports this file at the same time finds half of it."""
    command = os.environ.get("CC", "").split() or ["cc"]
    command += ["-std=c99", *os.environ.get("CFLAGS", "-O2").split(),
                "-shared", "-fPIC", "-I", include, "-x", "c", source, "-o"]
    temporary = None
    try:
        os.makedirs(os.path.dirname(library), exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=os.path.dirname(library))
        os.close(handle)
        subprocess.run(command + [temporary], check=True,
                       capture_output=True, text=True)
        # mkstemp's file is its owner's only; whoever may use the folder may
        # use the library.
        os.chmod(temporary, os.stat(os.path.dirname(library)).st_mode & 0o777)
        os.replace(temporary, library)
    except (OSError, subprocess.CalledProcessError) as error:
        if temporary and os.path.exists(temporary):
            os.unlink(temporary)
        what = getattr(error, "stderr", None) or error
        raise ImportError(
            f"could not compile {library} with `{command[0]}`, the C compiler "
            "(CC chooses another; STATESAMPLER_LIBRARY names a library that "
            f"is already built): {what}") from None


def _load_library():
    library = os.environ.get("STATESAMPLER_LIBRARY")
    if not library:
        folder = os.path.dirname(os.path.realpath(__file__))
        include = _find_header(folder)
        source = os.path.join(folder, "library.c")
        if not os.path.exists(source):
            raise ImportError(f"library.c is not in {folder}")
        library = os.path.join(include, "build", "libstatesampler.so")
        newest = max(os.path.getmtime(source), os.path.getmtime(
            os.path.join(include, "statesampler.h")))
        if not os.path.exists(library) or os.path.getmtime(library) < newest:
            _build(library, source, include)
    try:
        loaded = ctypes.CDLL(library)
        loaded.statesampler_layout
        return loaded
    except (OSError, AttributeError) as error:
        raise ImportError(f"{library} is not what library.c makes (without "
                          "STATESAMPLER_LIBRARY, a missing one is built): "
                          f"{error}") from None


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


_c = _load_library()
_int, _pointer = ctypes.c_int, ctypes.c_void_p
_sets = ctypes.POINTER
for _name, _result, *_arguments in (
        ("init", _int, _pointer, _sets(_Desc)),
        ("next", _int, _pointer, _pointer, _sets(_size)),
        ("at", _int, _pointer, _u64, _pointer, _sets(_size)),
        ("seek", _int, _pointer, _u64),
        ("begin", None, _pointer, _u64),
        ("epoch", _u64, _pointer),
        ("step", _u64, _pointer),
        ("num_steps", _u64, _pointer),
        ("get_counts", None, _pointer, _sets(_Counts)),
        ("save", _int, _pointer, _pointer, _size),
        ("load", _int, _pointer, ctypes.c_char_p, _size),
        ("describe", _int, ctypes.c_char_p, _size, _sets(_Desc), _pointer),
        ("mix_init", _int, _pointer, _pointer, _u32, _u32),
        ("mix_next", _int, _pointer, _pointer, _sets(_size), _sets(_u32)),
        ("mix_seek", _int, _pointer, _u64),
        ("mix_weigh", _int, _pointer, _pointer),
        ("mix_turn", _u64, _pointer),
        ("mix_num_turns", _u64, _pointer),
        ("mix_epoch", _u64, _pointer),
        ("mix_state_bytes", _size, _pointer),
        ("mix_save", _int, _pointer, _pointer, _size),
        ("mix_load", _int, _pointer, ctypes.c_char_p, _size),
        ("mix_describe", _int, ctypes.c_char_p, _size, _u32, _sets(_Desc),
         _sets(_MixPlace)),
        ("error", ctypes.c_char_p, _int),
        ("from_env", _int, _sets(_Desc), _sets(ctypes.c_char_p)),
        ("source_init", _int, _pointer, _u32, _u32, _sets(_Desc)),
        ("turns", _size, _pointer, _size, _pointer, _pointer)):
    _function = getattr(_c, "statesampler_" + _name)
    _function.restype, _function.argtypes = _result, _arguments

_NONE = 2**64 - 1
_EMISMATCH = -500
_SAMPLER, _SOURCE, _MIX, _STATE = (_u64 * 4).in_dll(_c, "statesampler_layout")

# Each name stands at the place of its number in the header.
_ORDERS = ["shuffle", "sequential", "window", "replacement"]
_PARTITIONS = ["interleaved", "blocked"]
_TAILS = ["pad", "drop", "uneven", "carry"]
_STOPS = ["first", "all", "restart", "never"]

# How many indices are read from the library at a time: so many that the time
# of a call does not matter, so few that they stay in the cache.
_CHUNK = 1024


def _memory(size):
    """Zeroed bytes for a struct, aligned for any member."""
    return (_u64 * ((size + 7) // 8))()


def _indices(count):
    """An array for that many indices. They are below 2^62, so that a signed
    type holds them, and an array is faster to iterate over than ctypes'."""
    return array.array("q", bytes(8 * count))


def _address(indices):
    return indices.buffer_info()[0]


def _sentence(code):
    """What the library says of an error."""
    return _c.statesampler_error(code).decode()


def _kind(code):
    """The header's STATESAMPLER_KIND: -502 is of the kind -500."""
    return -(-code // 100 * 100)


def _check(code):
    if code != 0:
        raise ValueError(f"statesampler: {_sentence(code)}")


# --- Arguments --------------------------------------------------------------


def _choice(what, value, names):
    if not isinstance(value, str) or value not in names:
        raise ValueError(f"{what} should be one of {', '.join(names)}, but "
                         f"got {what}={value!r}")
    return names.index(value)


def _whole(what, value, least, below):
    """An integer in a range, also torch's or numpy's; not a bool."""
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise ValueError(f"{what} should be an integer, but got "
                         f"{what}={value!r}") from None
    if not least <= number < below:
        raise ValueError(f"{what} should be an integer in [{least}, {below}),"
                         f" but got {what}={value}")
    return number


def _batch_size(value):
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise ValueError("batch_size should be a positive integer value, "
                         f"but got batch_size={value}")
    return _whole("batch_size", value, 1, 2**32)


def _found_world():
    """World size and rank from torch.distributed if it is initialised, else
    from the launcher's environment, else (1, 0); and whether anything said
    so."""
    if dist.is_available() and dist.is_initialized():
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
        if rank is None and num_replicas not in (None, 1) and not said:
            # All of them would be rank 0.
            raise ValueError(
                f"rank should be given with num_replicas={num_replicas}, as "
                "neither torch.distributed nor the environment says it")
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


def _seed(value):
    """A negative seed is taken modulo 2^64, as torch does."""
    return _whole("seed", value, -2**63, 2**64) % 2**64


# --- States -----------------------------------------------------------------


def _owner(state):
    """The class whose state this is; None if it is of neither, or damaged."""
    size = len(state)
    if _c.statesampler_describe(state, size, None, None) == 0:
        return "StatefulDistributedSampler"
    if _c.statesampler_mix_describe(state, size, 0, None, None) == 0:
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


# --- A loop -----------------------------------------------------------------
# A feed is one DataLoader iterator's way through its batches. A loop is what
# one sampler serves to one feed, or to a plain `for`. A pass is one call of
# the sampler's __iter__; a loop has several where something repeats the
# sampler. A unit is a step of the library: one sample of each rank, or one
# turn of RoundRobinBatchSampler.


def _left_of(iterator):
    """How many items the iterator of a list or an array still has. Its pickle
    would hold the whole and how far it is in it; at its end, an empty one."""
    _, (whole,), *at = iterator.__reduce__()
    return len(whole) - sum(at)


class _Feed:
    """Stands between a DataLoader's iterator and the iterator over its
    sampler, and so sees which batches are asked for. It also sees which of
    them the loop is given. Batches count from 1."""

    def __init__(self, iterator):
        self.iterator = weakref.ref(iterator)
        self.source = iterator._sampler_iter
        self.workers = iterator._num_workers > 0
        # It is made while a batch is asked for: not always the first.
        self.asked = 1 + (iterator._send_idx if self.workers else
                          iterator._num_yielded)
        self.given = 0          # the last batch that the loop was given
        self.length = None      # how many batches there are, if known
        self.loops = {}         # each sampler's _Loop
        iterator._sampler_iter = self
        if self.workers:
            iterator._next_data = self._next_data
        else:
            iterator._dataset_fetcher.fetch = self._fetch

    @classmethod
    def asking(cls):
        """The feed of the DataLoader's iterator that is asking for a batch,
        somewhere up the call stack; None if there is none."""
        frame = sys._getframe(1)
        while frame.f_code is not _BaseDataLoaderIter._next_index.__code__:
            frame = frame.f_back
            if frame is None:
                return None
        iterator = frame.f_locals["self"]
        feed = iterator._sampler_iter
        return feed if isinstance(feed, cls) else cls(iterator)

    def alive(self):
        """Whether it can go on. Persistent workers' iterator may have begun
        another epoch, with another feed."""
        iterator = self.iterator()
        return iterator is not None and iterator._sampler_iter is self

    def join(self, sampler, loop):
        self.loops[sampler] = loop
        try:
            self.length = len(self.iterator())
        except Exception:
            pass    # There is no end, or nobody knows where.

    def __iter__(self):
        return self

    def __next__(self):
        """The next batch. Asking for it shows that the one before has taken
        all that it takes from the samplers."""
        for loop in self.loops.values():
            loop.marks.append((self.asked, loop.taken()))
        self.asked += 1
        try:
            batch = next(self.source)
        except StopIteration:
            if not self.workers:
                self.end()
            raise
        for sampler, loop in self.loops.items():
            if sampler._loop is not loop:
                raise RuntimeError(
                    "this loop was given up: another one over its sampler, "
                    "load_state_dict or set_start_iter came in between")
        return batch

    def _fetch(self, index):
        """Without workers: loads the batch that was asked for last, which the
        loop is then given."""
        fetcher = self.iterator()._dataset_fetcher
        data = type(fetcher).fetch(fetcher, index)
        self.give(self.asked)
        return data

    def _next_data(self):
        """With workers: waits for the next batch, which the loop is then
        given, or for the end."""
        iterator = self.iterator()
        try:
            data = type(iterator)._next_data(iterator)
        except StopIteration:
            self.end()
            raise
        if self.alive():
            self.give(iterator._rcvd_idx)
        return data

    def give(self, batch):
        """Notes that the loop is given this batch."""
        self.given = batch
        for loop in self.loops.values():
            while loop.marks and loop.marks[0][0] <= batch:
                loop.received = loop.marks.popleft()[1]
            if batch == self.asked:
                loop.received = loop.taken()

    def end(self):
        for sampler, loop in list(self.loops.items()):
            sampler._finish(loop)


# before: units of the loop before this pass; state, start: where it began, as
# a state and as a unit of the epoch; end: that of the epoch, or None; batch:
# the feed's batch in which it began.
_Pass = collections.namedtuple("_Pass", "before state start end batch")


class _Loop:
    """What one sampler has served to one feed, or to a plain `for`.
    Values that belong together are one tuple, which changes as a whole, so
    that an interrupt (Ctrl-C) finds them in agreement."""

    def __init__(self, feed):
        self.feed = feed        # None: no DataLoader
        self.passes = []        # the one of the last batch, and later ones
        self.reading = 0, iter(())  # units read; an iterator over the last
        self.received = 0       # units that the loop was given
        self.marks = collections.deque()    # (batch, units taken by its end)

    def taken(self):
        """Units that were taken from the sampler."""
        read, chunk = self.reading
        return read - _left_of(chunk)

    def left(self):
        """Whether it cannot go on. (A plain `for` always might.)"""
        return self.feed is not None and not self.feed.alive()

    def last_batch(self):
        """Whether it was given the DataLoader's last batch. With drop_last the
        epoch may have more samples."""
        return self.feed is not None and self.feed.given == self.feed.length


class _Resumable(Sampler):
    """What both samplers share: a cursor, which is the library's sampler or
    mix, and the present loop. A subclass has
    _owner: its name; _new_cursor(); _read(state): chunks of what comes after
        a state; _save(), _load(state), _mismatch(state);
    _here(), _end(): the cursor's unit of the epoch, and the epoch's number of
        units (None: it has no end); _own_end(): where this rank's samples end;
    _seek(unit), _turn_over(): to the next epoch; _epoch(), _set_epoch(epoch);
    _units_per_batch(): those of start_iter.
    Settling moves the cursor to the place after the last batch given."""

    _fixed = ("num_replicas", "rank", "shuffle", "seed", "drop_last")

    def __init__(self):
        self._loop = None

    def __setattr__(self, name, value):
        if name in self._fixed and name in vars(self):
            raise AttributeError(f"{name} is fixed: make another sampler")
        super().__setattr__(name, value)

    def _serve(self):
        """Iterators over the indices or batches of a pass. As a generator, it
        begins when the first one is asked for."""
        loop = self._begin(_Feed.asking())
        for units in self._read(loop.passes[-1].state):
            chunk = iter(units)
            loop.reading = loop.reading[0] + len(units), chunk
            yield chunk
        # Who asks past this rank's last sample has taken all units, also one
        # in which this rank has none.
        now = loop.passes[-1]
        loop.reading = now.before + now.end - now.start, iter(())
        if loop.feed is None or loop.feed.length == 0:
            self._finish(loop)

    def _begin(self, feed):
        """Begins a pass, in the present loop or in a new one."""
        self._settle()
        loop = self._loop
        again = loop is not None and loop.feed is feed is not None
        if again:
            # It goes on after what was taken, which is more than was given.
            loop.reading = loop.taken(), iter(())
            self._go(loop.passes[-1], loop.taken())
            if self._at_end():
                self._turn_over()
        else:
            if loop is not None and self._complete():
                self._turn_over()
            loop = _Loop(feed)
        loop.passes = loop.passes + [_Pass(
            loop.taken(), self._save(), self._here(), self._end(),
            feed and feed.asked)]
        self._loop = loop
        if feed and not again:
            feed.join(self, loop)
        return loop

    def __iter__(self):
        return itertools.chain.from_iterable(self._serve())

    def _go(self, now, units):
        """Moves the cursor to a number of units of the loop, in this pass."""
        _check(self._load(now.state))
        _check(self._seek(now.start + units - now.before))

    def _settle(self):
        """Moves the cursor to the place after what the loop was given."""
        loop = self._loop
        if loop is None:
            return
        if loop.feed is None:
            loop.received = loop.taken()
        received, passes = loop.received, loop.passes
        while len(passes) > 1 and passes[1].before < received:
            passes = passes[1:]
        loop.passes = passes
        self._go(passes[0], received)
        if loop.left():
            if self._complete():
                self._turn_over()
            self._leave()

    def _at_end(self):
        """Whether the cursor is past this rank's samples of the epoch."""
        end = self._own_end()
        return end is not None and self._here() >= end

    def _complete(self):
        """Whether the loop was given all of the epoch. The cursor must be
        settled."""
        return self._at_end() or self._end() is not None and (
            self._loop is not None and self._loop.last_batch())

    def _leave(self):
        """Forgets the loop: if it goes on, it is refused."""
        if self._loop is not None and self._loop.feed is not None:
            self._loop.feed.loops.pop(self, None)
        self._loop = None

    def _finish(self, loop):
        """A loop has come to its end: the next epoch begins."""
        if self._loop is loop:
            if self._end() is None:
                # What is between sampler and loop has ended, not the data.
                self._settle()
            else:
                _check(self._load(loop.passes[-1].state))
                self._turn_over()
            self._leave()

    def __len__(self):
        self._settle()
        start, end = self._here(), self._own_end()
        if end is None:
            raise TypeError("this sampler has no end, and so no len()")
        if self._loop is not None:
            start = self._loop.passes[0].start
        return max(end - start, 0)

    def __getstate__(self):
        """For copies, which are in no loop. A cursor is memory of the
        library, so its state stands for it."""
        self._settle()
        return {**vars(self), "_cursor": self._save(), "_loop": None}

    def __setstate__(self, state):
        vars(self).update(state)
        self._cursor = self._new_cursor()
        _check(self._load(state["_cursor"]))

    @property
    def epoch(self):
        """The epoch of the present loop; between loops, of the next one."""
        self._settle()
        return self._epoch()

    @epoch.setter
    def epoch(self, epoch):
        self.set_epoch(epoch)

    def set_epoch(self, epoch):
        """The next loop begins this epoch. Nothing changes if the sampler is
        in it already, so that this does not undo a resume."""
        epoch = _whole("epoch", epoch, 0, 2**64)
        if epoch == self.epoch + 1:
            self._next_epoch()
        if epoch != self.epoch:
            self._leave()
            self._set_epoch(epoch)

    def _next_epoch(self):
        """Goes on to the next epoch if the loop was given all of this one."""
        loop = self._loop
        if loop is not None and len(loop.passes) > 1 and (
                loop.passes[1].batch == loop.feed.given + 1):
            loop.passes = loop.passes[1:]
            loop.received = loop.passes[0].before
        elif self._complete():
            self._turn_over()
            self._leave()

    @property
    def start_iter(self):
        """How many batches of this epoch were given; with tail="carry" since
        epoch 0."""
        self._settle()
        return -(-self._here() // self._units_per_batch())

    def set_start_iter(self, start_iter):
        """The next loop begins at this batch of the present epoch. (To go to
        another epoch, call set_epoch before.) After a state of a run with
        other ranks was loaded, batches before that place are ValueErrors."""
        unit = self._units_per_batch()
        units = unit * _whole("start_iter", start_iter, 0, 2**62)
        self._settle()
        end = self._end()
        if end is not None:
            last = -(-end // unit)
            if start_iter > last:
                raise ValueError(f"start_iter should be at most {last}, but "
                                 f"got start_iter={start_iter}")
            units = min(units, end)
        code = self._seek(units)
        if code != 0:
            raise ValueError(f"start_iter={start_iter}: {_sentence(code)}")
        self._loop = None

    def state_dict(self):
        """The place after the last batch that the loop was given. After the
        same batch it is the same on every rank: save rank 0's."""
        self._settle()
        return {"state": self._save().hex()}

    def load_state_dict(self, state_dict):
        """Goes on where a state was saved, by any number of ranks with any
        batch size. A state that is damaged, or of another dataset, seed or
        order, is a ValueError and changes nothing."""
        state = self._parse(state_dict)
        code = self._load(state)
        if _kind(code) == _EMISMATCH:
            raise ValueError(self._mismatch(state))
        _check(code)
        self._loop = None

    def _parse(self, state_dict):
        """The library's state in a state_dict."""
        try:
            state = bytes.fromhex(state_dict["state"])
        except (KeyError, IndexError, TypeError, ValueError):
            raise ValueError("this is not a state_dict of "
                             f"{self._owner}") from None
        owner, own = _owner(state), self._owner
        if owner not in (own, None):
            raise ValueError(f"this is a state_dict of {owner}, not of {own}")
        return state


# --- The samplers -----------------------------------------------------------


class StatefulDistributedSampler(_Resumable):
    """torch's DistributedSampler, without a table and with a state.

    dataset, num_replicas, rank, shuffle, seed, drop_last: as torch's. Without
        num_replicas and rank, and without an initialised torch.distributed,
        both come from the launcher's environment; if that does not say them,
        this is rank 0 of 1. (num_replicas=4 alone is then a ValueError.)
        seed must be the same on every rank.
    batch_size: the unit of VISSL's start_iter and set_start_iter. Nothing else
        needs it.
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

    rank, num_replicas, shuffle, seed, drop_last, num_samples and total_size
    cannot be assigned to, as the order would not follow.
    """

    _owner = "StatefulDistributedSampler"
    _fixed = _Resumable._fixed + ("num_samples", "total_size")

    def __init__(self, dataset, num_replicas=None, rank=None, shuffle=True,
                 seed=0, drop_last=False, batch_size=None, *,
                 partition="interleaved", tail=None, chunk_size=None,
                 window=None, replacement=False, stream=0):
        super().__init__()
        num_replicas, rank = _world(num_replicas, rank)
        if tail is None:
            tail = "drop" if drop_last else "pad"
        elif drop_last and tail != "drop":
            raise ValueError(f"drop_last=True is tail='drop', but got "
                             f"tail={tail!r}")
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.shuffle = shuffle
        self.seed = seed
        self.drop_last = tail == "drop"
        self.batch_size = (None if batch_size is None else
                           _batch_size(batch_size))
        try:
            length = len(dataset)
        except (TypeError, OverflowError) as error:
            raise ValueError("dataset should have a len(), but got "
                             f"{type(dataset).__name__}: {error}") from None
        # With one sample of each rank in a step there is a step for any place
        # in the data, whatever batches the loader makes.
        self._desc = _Desc(
            num_samples=_whole("len(dataset)", length, 0, 2**62 + 1),
            seed=_seed(seed), stream=_whole("stream", stream, 0, 2**64),
            rank=rank, world_size=num_replicas, batch_size=1,
            partition=_choice("partition", partition, _PARTITIONS),
            tail=_choice("tail", tail, _TAILS))
        _order(self._desc, shuffle, replacement, chunk_size, window)
        self._cursor = self._new_cursor()
        counts = self._counts()
        self.total_size = counts.positions
        self.num_samples = (-(-length // num_replicas) if tail == "carry" else
                            counts.rank_samples)

    def _new_cursor(self):
        cursor = _memory(_SAMPLER)
        _check(_c.statesampler_init(cursor, self._desc))
        return cursor

    def _counts(self):
        counts = _Counts()
        _c.statesampler_get_counts(self._cursor, counts)
        return counts

    def _here(self):
        return _c.statesampler_step(self._cursor)

    def _end(self):
        steps = _c.statesampler_num_steps(self._cursor)
        return None if steps == _NONE else steps

    def _own_end(self):
        """A step before the others' if tail="uneven" gives this rank no sample
        in the last one."""
        end, count = self._end(), _size()
        if end and _c.statesampler_at(self._cursor, end - 1, None,
                                      count) == 1 and count.value == 0:
            return end - 1
        return end

    def _units_per_batch(self):
        if self.batch_size is None:
            raise ValueError("start_iter counts in batches: it needs the "
                             "sampler's batch_size")
        return self.batch_size

    def _seek(self, step):
        return _c.statesampler_seek(self._cursor, step)

    def _turn_over(self):
        _c.statesampler_begin(self._cursor, self._epoch() + 1)

    def _epoch(self):
        return _c.statesampler_epoch(self._cursor)

    def _set_epoch(self, epoch):
        _c.statesampler_begin(self._cursor, epoch)

    def _save(self):
        state = ctypes.create_string_buffer(_STATE)
        _check(_c.statesampler_save(self._cursor, state, _STATE))
        return state.raw

    def _load(self, state):
        return _c.statesampler_load(self._cursor, state, len(state))

    def _mismatch(self, state):
        theirs = _Desc()
        _check(_c.statesampler_describe(state, len(state), theirs, None))
        return "; ".join(_differences(_identity(theirs),
                                      _identity(self._desc)))

    def _read(self, state):
        """Arrays of the indices after a state. They are read by the same
        sampler with a larger batch_size, one after another into one array:
        the caller is through with an array before it asks for the next."""
        desc = _Desc.from_buffer_copy(self._desc)
        desc.batch_size = _CHUNK
        reader, out, count = _memory(_SAMPLER), _indices(_CHUNK), _size()
        _check(_c.statesampler_init(reader, desc))
        _check(_c.statesampler_load(reader, state, len(state)))
        while _c.statesampler_next(reader, _address(out), count):
            yield out if count.value == _CHUNK else out[:count.value]


class _Mix:
    """The library's mix and its sources, which it points to."""

    def __init__(self, descs, weights, stop, epoch):
        self.sources = _memory(_SOURCE * len(descs))
        self.memory = _memory(_MIX)
        self.weights = (_u32 * len(weights))(*weights)
        for i, (desc, weight) in enumerate(zip(descs, weights)):
            desc = _Desc.from_buffer_copy(desc)
            desc.epoch = epoch
            _check(_c.statesampler_source_init(self.sources, i, weight, desc))
        _check(_c.statesampler_mix_init(self.memory, self.sources, len(descs),
                                        stop))

    def save(self):
        size = _c.statesampler_mix_state_bytes(self.memory)
        state = ctypes.create_string_buffer(size)
        _check(_c.statesampler_mix_save(self.memory, state, size))
        return state.raw

    def load(self, state):
        code = _c.statesampler_mix_load(self.memory, state, len(state))
        if code == 0:
            # The weights are then the state's: from here on its own.
            _check(_c.statesampler_mix_weigh(self.memory, self.weights))
        return code


class RoundRobinBatchSampler(_Resumable):
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
    partition, tail, chunk_size, window: as StatefulDistributedSampler's.
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

    def __init__(self, lengths, batch_size, rank=None, num_replicas=None,
                 drop_last=False, seed=0, shuffle=True, reinit=False, *,
                 weights=None, stop=None, partition="blocked", tail="pad",
                 chunk_size=None, window=None):
        super().__init__()
        num_replicas, rank = _world(num_replicas, rank)
        lengths = _list("lengths", lengths)
        if not lengths:
            raise ValueError("lengths should be of at least one dataset, but "
                             "got lengths=[]")
        if not isinstance(drop_last, bool):
            raise ValueError("drop_last should be a boolean value, but got "
                             f"drop_last={drop_last}")
        if stop is None:
            stop = "never" if reinit else "first"
        elif reinit and stop != "never":
            raise ValueError(f"reinit=True is stop='never', but got "
                             f"stop={stop!r}")
        weights = ([1] * len(lengths) if weights is None else
                   _list("weights", weights))
        if len(weights) != len(lengths):
            raise ValueError(f"weights should be as many as lengths, "
                             f"{len(lengths)}, but got {len(weights)}")
        self.lengths = lengths
        self.batch_size = _batch_size(batch_size)
        self.rank = rank
        self.num_replicas = num_replicas
        self.drop_last = drop_last
        self.seed = seed
        self.shuffle = shuffle
        self.stop = stop
        self._stop = _choice("stop", stop, _STOPS)
        self._weights = [_whole("weight", w, 1, 2**31) for w in weights]
        self._first_epoch = 0
        self._descs = []
        for stream, length in enumerate(lengths):
            desc = _Desc(
                num_samples=_whole("length", length, 0, 2**62 + 1),
                seed=_seed(seed), stream=stream, rank=rank,
                world_size=num_replicas, batch_size=self.batch_size,
                drop_last=drop_last,
                partition=_choice("partition", partition, _PARTITIONS),
                tail=_choice("tail", tail, _TAILS))
            _order(desc, shuffle, False, chunk_size, window)
            self._descs.append(desc)
        self._cursor = self._new_cursor()

    def _new_cursor(self):
        return _Mix(self._descs, self._weights, self._stop, self._first_epoch)

    def _here(self):
        return _c.statesampler_mix_turn(self._cursor.memory)

    def _end(self):
        turns = _c.statesampler_mix_num_turns(self._cursor.memory)
        return None if turns == _NONE else turns

    _own_end = _end

    def _units_per_batch(self):
        return 1

    def _seek(self, turn):
        return _c.statesampler_mix_seek(self._cursor.memory, turn)

    def _turn_over(self):
        _check(self._seek(self._end()))
        _c.statesampler_mix_next(self._cursor.memory, None, _size(), _u32())

    def _epoch(self):
        return (self._first_epoch +
                _c.statesampler_mix_epoch(self._cursor.memory)) % 2**64

    def _set_epoch(self, epoch):
        self._first_epoch = epoch
        self._cursor = self._new_cursor()

    def _save(self):
        return self._cursor.save()

    def _load(self, state):
        return self._cursor.load(state)

    def _mismatch(self, state):
        theirs, place, said = _Desc(), _MixPlace(), []
        for i, ours in enumerate(self._descs):
            _check(_c.statesampler_mix_describe(state, len(state), i, theirs,
                                                place))
            if place.num_sources != len(self._descs):
                return (f"the state has {place.num_sources} datasets, this "
                        f"sampler {len(self._descs)}")
            if i == 0:
                said += _differences({"stop": _STOPS[place.stop]},
                                     {"stop": self.stop})
            said += _differences(
                _identity(theirs), _identity(ours), f" for dataset {i}")
        return "; ".join(said)

    def state_dict(self):
        return {**super().state_dict(), "first_epoch": self._first_epoch}

    def load_state_dict(self, state_dict):
        self._parse(state_dict)
        first = _whole("first_epoch", state_dict.get("first_epoch"), 0, 2**64)
        super().load_state_dict(state_dict)
        self._first_epoch = first

    load_state_dict.__doc__ = _Resumable.load_state_dict.__doc__

    def _read(self, state):
        """Lists of the batches after a state, read by a mix of its own."""
        ahead = max(_CHUNK // self.batch_size, 1)
        counts, out = _indices(ahead), _indices(ahead * self.batch_size)
        reader = self._new_cursor()
        _check(reader.load(state))
        turns = ahead
        while turns == ahead:
            turns = _c.statesampler_turns(reader.memory, ahead, _address(out),
                                          _address(counts))
            flat, batches, at = out.tolist(), [], 0
            for count in counts[:turns]:
                batches.append(flat[at:at + count])
                at += count
            yield batches
