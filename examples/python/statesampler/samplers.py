"""Sampler, Mix and Audit, which need nothing but the C library. The public
Sampler and Mix are those of recorded.py and mix.py, which keep a history."""

import array
import collections
import ctypes
import struct
import sys
import zlib

from ._arguments import (choice, flag, items, kind_of, listed, shown, whole,
                         whole_batch_size, world)
from ._codes import ERANGE_INDEX
from ._library import (MIX_BYTES, NONE, OFF, ORDERS, PARTITIONS, RECORD_BYTES,
                       SAMPLER_BYTES, SOURCE_BYTES, STATE_BYTES, STOPS, TAILS,
                       Counts, Desc, SamplerPlace, address, c, check, indices,
                       memory)

Place = collections.namedtuple("Place", "step rank slot position")


def _most(descs):
    """The most indices that a batch can have. Only with tail="carry" can it be
    longer than the dataset."""
    return max(desc.batch_size if TAILS[desc.tail] == "carry" else
               min(desc.batch_size, max(desc.num_samples, 1))
               for desc in descs)


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
        desc.chunk_size = whole("chunk_size", chunk_size, 1, 2**62)
        desc.window = whole("window", window, 1, 2**62)
    desc.order = ORDERS.index(
        "window" if windows else "replacement" if replacement else
        "shuffle" if shuffle else "sequential")


def whole_weights(weights, count):
    """The library's weights. A weight of 0 is OFF there."""
    weights = [1] * count if weights is None else items("weights", weights)
    if len(weights) != count:
        raise ValueError(f"weights should have {count} items, as lengths has, "
                         f"but got {len(weights)}")
    return [whole("weight", weight, 0, 2**31) or OFF for weight in weights]


def _describe(num_samples, rank, world_size, batch_size, *, seed=0, stream=0,
              epoch=0, shuffle=True, replacement=False, chunk_size=None,
              window=None, partition="interleaved", tail="pad",
              drop_last=False, **unknown):
    """Makes the library's description of a sampler."""
    if unknown:
        raise TypeError("unexpected arguments: " + listed(unknown))
    desc = Desc(
        num_samples=whole("num_samples", num_samples, 0, 2**62 + 1),
        # A negative seed is taken modulo 2^64, as torch does.
        seed=whole("seed", seed, -2**63, 2**64) % 2**64,
        stream=whole("stream", stream, 0, 2**64),
        epoch=whole("epoch", epoch, 0, 2**64), rank=rank,
        world_size=world_size, batch_size=whole_batch_size(batch_size),
        partition=choice("partition", partition, PARTITIONS),
        tail=choice("tail", tail, TAILS),
        drop_last=flag("drop_last", drop_last))
    _order(desc, flag("shuffle", shuffle), flag("replacement", replacement),
           chunk_size, window)
    return desc


def described(lengths, rank, world_size, batch_size, streams, options):
    """The descriptions of a mix's datasets. There may be a batch size for
    each."""
    world_size, rank = world(world_size, rank, "world_size")
    if not lengths:
        raise ValueError("lengths should not be empty")
    if "stream" in options:
        raise TypeError("unexpected argument: stream (each dataset gets its "
                        "own)")
    sizes = (batch_size if isinstance(batch_size, (list, tuple)) else
             [batch_size] * len(lengths))
    if len(sizes) != len(lengths):
        raise ValueError(f"batch_size should have {len(lengths)} items, as "
                         f"lengths has, but got {len(sizes)}")
    return [_describe(whole("length", length, 0, 2**62 + 1), rank, world_size,
                      size, stream=stream, **options)
            for length, size, stream in zip(lengths, sizes, streams)]


def as_bytes(state):
    """The form of a state for the library, from any bytes-like object, from a
    list, an array or a tensor of its bytes, or from hexadecimal text."""
    try:
        plain = getattr(state, "tolist", lambda: state)()
        if isinstance(plain, str):
            return bytes.fromhex(plain)
        return bytes(plain if isinstance(plain, list) else memoryview(plain))
    except (TypeError, ValueError, RuntimeError):
        raise ValueError("a state should be what save() or state_dict() gave, "
                         f"but got {kind_of(state)}") from None


def crc(state):
    return struct.pack("<I", zlib.crc32(state))


def unpack(layout, name, state):
    """The fields of a state that begins with a name and ends with a checksum;
    None if it is damaged or another's."""
    state, last = as_bytes(state)[:-4], state[-4:]
    if (len(state) != layout.size or state[:4] != name or
            last != crc(state)):
        return None
    return layout.unpack(state)


def words_of(state):
    """A state's words, in an array."""
    words = array.array("Q", state)
    if sys.byteorder == "big":
        words.byteswap()
    return words


def bytes_of(words):
    return words_of(words.tobytes()).tobytes()


def split(state):
    """The history in front of a state, or None, and the state."""
    if state[:4] != b"SSH1":
        return None, state
    used = ctypes.c_size_t()
    check(c.record_read(memory(RECORD_BYTES), state, len(state), used))
    return state[:used.value], state[used.value:]


def split_schedule(state):
    """The state of a schedule in front of one, or None, and the rest; and the
    turn at which its stage ends, or None."""
    if state[:4] != b"SSC1":
        return None, state, None
    used, end = ctypes.c_size_t(), ctypes.c_uint64()
    check(c.schedule_find(used, end, state, len(state)))
    return state[:used.value], state[used.value:], end.value


def library_state(state):
    """The library's state in what a Sampler or a Mix saved, which begins with
    their schedule and history. That of a Mix of 0.9.0 added the epoch from
    which the library counted, and a checksum."""
    _, state = split(split_schedule(as_bytes(state))[1])
    if state[:4] != b"SSMX" or len(state) % 8 != 4:
        return state
    if len(state) < 36 or state[-4:] != crc(state[:-4]):
        raise ValueError("statesampler: the state is damaged")
    count, = struct.unpack_from("<Q", state, 16)
    first, = struct.unpack_from("<Q", state, len(state) - 12)
    state = (state[:16] + struct.pack("<Q", (first + count) % 2**64) +
             state[24:-20])
    return state + struct.pack("<Q", c.state_hash(state, len(state)))


def mix_state(state):
    """The mix's state in one that has the names of datasets around it; any
    other state as it is."""
    size = ctypes.c_size_t(len(state))
    begin = c.mix_state_in(state, size)
    return ctypes.string_at(begin, size.value)


def _served(code):
    """Whether `at` has found a step; an error raises ValueError."""
    check(min(code, 0))
    return code == 1


class Audit:
    """Proof in 32 bytes that each of [0, num_samples) was served exactly once,
    by all ranks and runs together. Leave padding out: padding() says how much
    there is, and tail="uneven" has none."""

    def __init__(self):
        self._sums = memory(32)

    def __getstate__(self):
        return self.save()

    def __setstate__(self, state):
        self.__init__()
        self.load(state)

    count = property(lambda self: self._sums[0])

    def add(self, indices):
        """Adds a batch, or any other indices, in any order."""
        try:
            added = array.array("q", indices)
        except OverflowError:
            raise ValueError("indices should be below 2^62") from None
        except (TypeError, ValueError):
            raise ValueError("indices should be a list of integers, but got "
                             f"indices={shown(indices)}") from None
        c.audit_add(self._sums, address(added), len(added))

    def merge(self, other):
        """Adds what another rank, thread or run has served."""
        if not isinstance(other, Audit):
            raise TypeError("other should be an Audit, but got a "
                            f"{type(other).__name__}")
        c.audit_merge(self._sums, other._sums)

    def check(self, num_samples):
        """Whether each sample came exactly once."""
        return c.audit_check(
            self._sums, whole("num_samples", num_samples, 0, 2**64)) == 1

    def save(self):
        return bytes(self._sums)

    def load(self, state):
        state = as_bytes(state)
        if len(state) != 32:
            raise ValueError("the state of an Audit has 32 bytes, but got "
                             f"{len(state)}")
        self._sums[:] = struct.unpack("=4Q", state)


class Made:
    """What _make(*_made) sets up and load(save()) moves, such as memory of the
    library with pointers into itself. A copy is made anew."""

    def __getstate__(self):
        return self._made, self.save()

    def __setstate__(self, state):
        made, place = state
        self._make(*made)
        self.load(place)


class _Iterator(Made):
    """A sampler of the library in its own memory.
    Subclasses define _step, _num_steps and _seek, functions of the library;
    _own and _padded, which find a sample in its own place, or as padding;
    _shape, a description of the present shape; and _reshape, _at and
    _locate, for this rank."""

    def __iter__(self):
        return self

    step = property(lambda self: self._step(self._memory))

    @property
    def num_steps(self):
        """Steps of the epoch; None if there is no end."""
        steps = self._num_steps(self._memory)
        return None if steps == NONE else steps

    def plain(self):
        """A copy without a history."""
        plain = object.__new__(type(self))
        plain.__setstate__(self.__getstate__())
        return plain

    def seek(self, step):
        check(self._seek(self._memory, whole("step", step, 0, 2**64)))

    def at(self, step, rank=None):
        """The batch of any step of this epoch, without moving: this rank's, or
        another one's. None past the end. Steps before ranks or batch_size
        last changed, in a Mix before its last load, raise ValueError."""
        return self._as_rank(rank, self._at, whole("step", step, 0, 2**64))

    def _as_rank(self, rank, ask, step):
        """What a rank, this one if it is None, has in a step."""
        if rank is None:
            return ask(step)
        own = self._shape.rank
        self._reshape(whole("rank", rank, 0, self._shape.world_size))
        try:
            return ask(step)
        finally:
            self._reshape(own)

    def padding(self, step, rank=None):
        """How many samples of a batch at(step, rank) are repeats that fill an
        epoch's last step: the last ones."""
        return self._as_rank(rank, self._padding,
                             whole("step", step, 0, 2**64))

    def locate(self, index):
        """The first place in this epoch, in a Mix in its dataset's present
        epoch, at which a sample is served: a tuple of step, rank, slot and
        position, with at(step, rank)[slot] == index. ValueError says why there
        is none."""
        return self._located(self._own, index)

    def _located(self, find, index):
        place = SamplerPlace()
        step = self._locate(find, whole("index", index, 0, 2**64), place)
        return Place(step, place.rank, place.slot, place.position)


class Sampler(_Iterator):
    """The library's sampler. Iterating yields the remaining batches of the
    epoch as memoryviews of 64-bit integers; the next loop yields the next
    epoch, or after a `break` what is left of this one. Its state is that after
    the last batch that was taken.

    num_samples is the size of the dataset. drop_last leaves out a last batch
    that is not full; with tail="pad", the default, on several ranks, it keeps
    one that padding fills, with samples that come again, and with tail="drop"
    none does. The other arguments are those of StatefulDistributedSampler;
    rank and world_size may be None as there."""

    _step, _num_steps, _seek = c.step, c.num_steps, c.seek
    _own, _padded = c.locate, c.locate_padding

    def __init__(self, num_samples, rank=None, world_size=None, batch_size=1,
                 **options):
        world_size, rank = world(world_size, rank, "world_size")
        self._make(_describe(num_samples, rank, world_size, batch_size,
                             **options))

    def _make(self, desc):
        self._made, self._memory = (desc,), memory(SAMPLER_BYTES)
        self._desc, self._most = desc, _most([desc])
        check(c.init(self._memory, desc))

    def __next__(self):
        out, count = indices(self._most), ctypes.c_size_t()
        if c.next(self._memory, address(out), count) != 1:
            raise StopIteration
        return memoryview(out)[:count.value]

    epoch = property(lambda self: c.epoch(self._memory))
    _shape = property(lambda self: self._desc)

    def _reshape(self, rank):
        check(c.reshape(self._memory, rank, self._desc.world_size,
                        self._desc.batch_size))

    def _at(self, step):
        out, count = indices(self._most), ctypes.c_size_t()
        if not _served(c.at(self._memory, step, address(out), count)):
            return None
        return memoryview(out)[:count.value]

    def _locate(self, find, index, place):
        check(find(self._memory, index, place))
        return place.step

    def _padding(self, step):
        return c.padding(self._memory, step)

    def resize(self, num_samples):
        """From here on, epochs have num_samples positions; after padding this
        one goes on with the first that is new. For orders of your own: the
        order must be sequential and not "blocked"."""
        desc = Desc.from_buffer_copy(self._desc)
        desc.num_samples = whole("num_samples", num_samples, 0, 2**62 + 1)
        self._resize(desc.num_samples)
        self._made, self._desc, self._most = (desc,), desc, _most([desc])

    def _resize(self, num_samples):
        check(c.resize(self._memory, num_samples))

    def counts(self):
        counts = Counts()
        c.get_counts(self._memory, counts)
        return counts

    def begin(self, epoch):
        c.begin(self._memory, whole("epoch", epoch, 0, 2**64))

    def sample_seed(self, epoch, index):
        return c.sample_seed(self._memory, whole("epoch", epoch, 0, 2**64),
                             whole("index", index, 0, 2**64))

    def save(self):
        state = ctypes.create_string_buffer(STATE_BYTES)
        check(c.save(self._memory, state, STATE_BYTES))
        return state.raw

    def load(self, state):
        state = as_bytes(state)
        check(c.load(self._memory, state, len(state)))


class Mix(_Iterator):
    """The library's mix of several datasets, which differ in length, weight
    and batch size only. Iterating yields batches as Sampler does; indices are
    those of the concatenated datasets."""

    _step, _num_steps, _seek = (
        c.mix_turn, c.mix_num_turns, c.mix_seek)
    _own, _padded = c.mix_locate, c.mix_locate_padding

    def __init__(self, lengths, rank=None, world_size=None, batch_size=1,
                 weights=None, stop="first", epoch=0, **options):
        lengths = items("lengths", lengths)
        self._make(described(lengths, rank, world_size, batch_size,
                             range(len(lengths)), options),
                   whole_weights(weights, len(lengths)),
                   choice("stop", stop, STOPS),
                   whole("epoch", epoch, 0, 2**64))

    def _make(self, descs, weights, stop, epoch):
        self._made = descs, weights, stop, epoch
        self._descs, self._stop, self._most = descs, stop, _most(descs)
        self._sources = memory(SOURCE_BYTES * len(descs))
        self._memory = memory(MIX_BYTES)
        for i, (desc, weight) in enumerate(zip(descs, weights)):
            desc = Desc.from_buffer_copy(desc)
            desc.epoch = (desc.epoch + epoch) % 2**64
            check(c.source_init(self._sources, i, weight, desc))
        check(c.mix_init(self._memory, self._sources, len(descs), stop))
        c.mix_number(self._memory, epoch)

    def __next__(self):
        out, counts = self._turns(1)
        if not counts:
            raise StopIteration
        return memoryview(out)[:counts[0]]

    def _turns(self, most):
        """The indices of up to `most` batches, and the size of each. There are
        fewer at the end of an epoch; the next one then begins."""
        out = indices(most * self._most)
        counts = indices(most)
        turns = c.turns(self._memory, most, address(out), address(counts))
        return out, counts[:turns]

    epoch = property(lambda self: c.mix_epoch(self._memory))

    def begin(self, epoch):
        """Starts all datasets in the order of this epoch."""
        self._make(*self._made[:-1], whole("epoch", epoch, 0, 2**64))

    _shape = property(lambda self: self._descs[0])

    def _reshape(self, rank):
        check(c.mix_reshape(self._memory, rank, self._shape.world_size))

    def _at(self, turn):
        out, count = indices(self._most), ctypes.c_size_t()
        source = ctypes.c_uint32()
        if not _served(c.mix_at(self._memory, turn, address(out), count,
                                source)):
            return None
        before = sum(desc.num_samples for desc in self._descs[:source.value])
        for i in range(count.value):
            out[i] += before
        return memoryview(out)[:count.value]

    def _padding(self, turn):
        """That of a dataset's last batch, in a mix that has just served it."""
        source, before = ctypes.c_uint32(), c.mix_turn(self._memory)
        if not _served(c.mix_at(self._memory, turn, None, None, source)):
            return 0
        check(c.mix_seek(self._memory, turn))
        self._turns(1)
        sampler = c.source_sampler(self._sources, source)
        found = c.padding(sampler, c.step(sampler) - 1)
        check(c.mix_seek(self._memory, before))
        return found

    def _locate(self, find, index, place):
        turn = ctypes.c_uint64()
        source, index = self._divide(index)
        if index >= self._descs[source].num_samples:
            check(ERANGE_INDEX)     # Though its dataset may be off.
        check(find(self._memory, source, index, turn, place))
        return turn.value

    def _divide(self, index):
        """The dataset that has a sample, and the index there."""
        source = 0
        while source + 1 < len(self._descs) and (
                index >= self._descs[source].num_samples):
            index -= self._descs[source].num_samples
            source += 1
        return source, index

    def sample_seed(self, epoch, index):
        source, index = self._divide(whole("index", index, 0, 2**64))
        return c.sample_seed(c.source_sampler(self._sources, source),
                             whole("epoch", epoch, 0, 2**64), index)

    def save(self):
        size = c.mix_state_bytes(self._memory)
        state = ctypes.create_string_buffer(size)
        check(c.mix_save(self._memory, state, size))
        return state.raw

    def load(self, state):
        state = library_state(state)
        check(c.mix_load(self._memory, state, len(state)))
        self._keep_weights()

    def _keep_weights(self):
        """Those that it has now are its own from here on."""
        weights = (ctypes.c_uint32 * len(self._descs))()
        c.mix_weights(self._memory, weights)
        descs, _, *others = self._made
        self._made = descs, list(weights), *others

    def _new_weights(self, weights):
        """The library's, for weigh()."""
        weights = whole_weights(weights, len(self._descs))
        return (ctypes.c_uint32 * len(weights))(*weights)
