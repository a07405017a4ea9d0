"""No two of one group in a batch: examples/extras/spread.h. The manual is in
README.md."""

import array
import collections
import ctypes
import struct
import zlib

from torch import Tensor
from torch.utils.data import Sampler as _TorchSampler

from ._arguments import cut, whole, whole_batch_size
from ._cursors import _BatchCursor, described
from ._library import STATE_BYTES, TAILS, Desc, address, c, check, indices
from .samplers import Sampler, crc, unpack
from .torch_samplers import _Resumable, no_sampler

_STATE = struct.Struct(f"<4s{STATE_BYTES}sQI")


class _Spread(ctypes.Structure):
    """spread.h's."""
    _fields_ = [("members", ctypes.c_void_p)] + [
        (name, ctypes.c_uint64) for name in (
            "samples", "seed", "epoch", "largest", "apart", "turns", "rounds",
            "length", "longer", "first")]


def _has_nan(group):
    if isinstance(group, (tuple, frozenset)):
        return any(map(_has_nan, group))
    return group != group


class _Groups:
    """The group of each sample, as a number, and the list of an epoch."""

    def __init__(self, groups):
        numbers = {}    # A tensor is equal to itself alone.
        self.ids = array.array("q", [
            numbers.setdefault(group.tolist() if isinstance(group, Tensor) else
                               group, len(numbers)) for group in groups])
        for group in numbers:
            if _has_nan(group):
                raise ValueError("a group is NaN, which is equal to no group, "
                                 "not even itself")
        self.sizes = collections.Counter(self.ids).values()
        self.digest = zlib.crc32(self.ids)
        self._last = None, None

    def __getstate__(self):
        """Without the list, which has pointers into memory."""
        return {**vars(self), "sizes": list(self.sizes), "_last": (None, None)}

    def spread(self, seed, epoch, apart):
        """The order of an epoch; that of the last call is kept."""
        key, spread = self._last
        if key != (seed, epoch, apart):
            spread, length = _Spread(), len(self.ids)
            spread.list, work = indices(length), indices(len(self.sizes))
            check(c.spread_init(
                ctypes.byref(spread), Desc(num_samples=length, seed=seed,
                                           epoch=epoch),
                address(self.ids), len(self.sizes), address(spread.list),
                address(work), apart))
            self._last = (seed, epoch, apart), spread
        return spread

    def check_room(self, apart):
        length, largest = len(self.ids), max(self.sizes)
        room = max(length // apart, 1)
        if largest > room:
            must = sum(max(size - room, 0) for size in self.sizes)
            raise ValueError(
                f"the largest group has {largest} of {length} samples, and "
                f"whole steps of {apart} have room for {room}: {must} "
                f"{'sample' if must == 1 else 'samples'} must repeat a group "
                "in a step")


class _SpreadCursor(_BatchCursor):
    """A place in an epoch, which counts batches."""

    def __init__(self, *made):
        self._make(*made)

    def _make(self, groups, rank, world, batch, seed, tail, drop_last, apart):
        self._made = groups, rank, world, batch, seed, tail, drop_last, apart
        self._groups, self._step, self._apart = groups, world * batch, apart
        self._positions = Sampler(
            len(groups.ids), rank, world, batch, seed=seed, shuffle=False,
            tail=tail, drop_last=drop_last)
        self._check_tight(apart, 0)

    def _check_tight(self, apart, position):
        """Where the largest group is in every step, steps must begin and end
        where those of `apart` samples do."""
        ids, largest = self._groups.ids, max(self._groups.sizes)
        if largest * apart == len(ids) and largest > 1 and (
                apart % self._step or position % self._step):
            raise ValueError(
                f"the largest group is in all steps of {apart} samples, which "
                f"steps of {self._step} do not divide from position "
                f"{position} on")

    epoch = property(lambda self: self._positions.epoch)
    step = property(lambda self: self._positions.step)
    _most = property(lambda self: self._positions._most)
    num_steps = own_steps = property(lambda self: self._positions.num_steps)

    def begin(self, epoch):
        self._positions.begin(epoch)

    def seek(self, step):
        self._positions.seek(step)

    def sample_seed(self, epoch, index):
        return self._positions.sample_seed(epoch, index)

    def _spread(self):
        return self._groups.spread(self._made[4], self.epoch, self._apart)

    def _turns(self, most):
        out, counts = indices(most * self._most), indices(most)
        turns = c.spread_batches(
            self._positions._memory, ctypes.byref(self._spread()), most,
            address(out), address(counts))
        return out, counts[:turns]

    def _mapped(self, positions):
        out = array.array("q", positions)
        c.spread_map(ctypes.byref(self._spread()), address(out), len(out))
        return out

    def at(self, step, rank):
        found = self._positions.at(step, rank)
        return None if found is None else self._mapped(found)

    def padding(self, step, rank):
        return self._positions.padding(step, rank)

    def locate(self, index):
        whole("index", index, 0, len(self._groups.ids))
        order = self._mapped(range(len(self._groups.ids)))
        return self._positions.locate(order.index(index))

    def save(self):
        state = _STATE.pack(b"SSS1", self._positions.save(), self._apart,
                            self._groups.digest)
        return state + crc(state)

    def load(self, state):
        """The order is that of the run that saved it, if it keeps groups as
        far apart as is needed here."""
        desc, place, kept = self._parts(state)
        apart = self._made[-1]
        # Samples that are like no other are far enough apart in any order.
        if apart > kept and max(self._groups.sizes) > 1:
            ours, before = (self._groups.spread(desc.seed, desc.epoch, each)
                            for each in (apart, kept))
            if (ours.turns, ours.first) != (before.turns, before.first):
                reach = (before.turns - 1) * before.length + 1
                raise ValueError(
                    f"the state's order keeps a group's samples {reach} "
                    f"apart, which is not enough for apart={apart}: use fewer "
                    "ranks or smaller batches, or begin with a larger apart")
            kept = apart
        self._check_tight(kept, place.position)
        self._positions.load(state[4:4 + STATE_BYTES])
        self._apart = kept

    @classmethod
    def _parts(cls, state):
        """What a state describes, and its `apart`."""
        if not cls.facts(state):
            raise ValueError("statesampler: the state is damaged")
        _, inner, apart, _ = unpack(_STATE, b"SSS1", state)
        return (*described(inner), apart)

    def summary(self, state):
        desc, place, _ = self._parts(state)
        return (desc.epoch, place.position > 0,
                (desc.world_size, desc.batch_size))

    @staticmethod
    def facts(state):
        """Nothing if the state is damaged or not of a SpreadBatchSampler."""
        fields, desc = unpack(_STATE, b"SSS1", state), Desc()
        if not fields or not fields[2] or (
                c.describe(fields[1], STATE_BYTES, desc, None) != 0):
            return []
        digest = fields[-1]
        return [("len(groups) ", desc.num_samples, ""),
                ("groups whose digest is ", digest, ""),
                ("seed ", desc.seed, ""), ("tail ", TAILS[desc.tail], "")]


class SpreadBatchSampler(_Resumable, _TorchSampler):
    """Batches in which no group comes twice, for the `batch_sampler` of a
    DataLoader: for contrastive losses, which take the other samples of a batch
    as negatives. Each sample comes exactly once in an epoch, but for padding.

    groups: the group of each sample: numbers, strings or any other keys. Those
        of a sample that is like no other have one sample.
    batch_size, drop_last: as in torch's BatchSampler, for each rank's batches:
        drop_last keeps a last step that tail="pad" fills, with samples that
        come again. With tail="drop" none does.
    rank, num_replicas, seed: as in StatefulDistributedSampler.
    apart: in so many samples of all ranks in a row no group comes twice. None:
        batch_size * num_replicas, a step of all ranks. A run that will go on
        with larger steps must begin with theirs.
    tail: "pad", "drop" or "uneven", as in StatefulDistributedSampler. What is
        added to the last step has no group of it, unless an epoch has fewer
        samples than a step.
    fingerprint, changed: as in StatefulDistributedSampler.

    A group that has more samples than there are whole steps of `apart` samples
    raises ValueError, which says how many must repeat a group. So does a
    DataLoader's dataset with more samples than there are groups, or with fewer.

    There is no resize: with other groups a place means nothing. If a dataset
    grows, make another sampler, with changed="next_epoch".

    groups are kept as 8 bytes a sample, beside an epoch's list of 8 bytes a
    sample, which is made when its first batch is asked for, also after a
    resume. A state has the place, and a digest of the groups.
    """

    _owner, _takes = "SpreadBatchSampler", "the groups of samples"
    _fixed = _Resumable._fixed + ("groups", "batch_size", "apart")
    _gives_batches = True
    _dealt = False      # What fills an epoch's last step may repeat a group.

    @no_sampler
    def __init__(self, groups, batch_size, rank=None, num_replicas=None,
                 drop_last=False, seed=0, *, apart=None, tail="pad",
                 read_ahead=None, fingerprint=None, changed="refuse"):
        _Resumable.__init__(self, num_replicas, rank, True, seed, drop_last,
                            read_ahead, changed, fingerprint)
        self.batch_size = whole_batch_size(batch_size)
        batch, step = self.batch_size, self.batch_size * self.num_replicas
        self.apart = step if apart is None else whole(
            "apart", apart, step, 2**62)
        if tail == "carry":
            raise ValueError("tail='carry' is not for groups, as each epoch "
                             "has a list of its own")
        try:
            groups = _Groups(getattr(groups, "tolist", lambda: groups)())
        except TypeError as error:
            raise ValueError("groups should be a list of keys, such as "
                             f"numbers or strings: {cut(str(error))}"
                             ) from None
        if not groups.ids:
            raise ValueError("groups should not be empty")
        groups.check_room(self.apart)
        self._cursor = _SpreadCursor(
            groups, self.rank, self.num_replicas, batch,
            whole("seed", seed, -2**63, 2**64), tail, self.drop_last,
            self.apart)
        self._described = len(groups.ids)
        self._length = self._cursor.num_steps
