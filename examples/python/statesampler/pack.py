"""Packs of samples within a budget of tokens: those of examples/extras/pack.h. The
manual is in README.md."""

import array
import bisect
import collections
import ctypes
import struct
import threading
import warnings

import torch
from torch.utils.data import Sampler as _TorchSampler

from ._arguments import flag, whole
from ._codes import PACK_ELENGTH
from ._cursors import SamplerCursor, _Cursor, described
from ._library import STATE_BYTES, address, c, check, indices
from .samplers import Place, crc, unpack
from .torch_samplers import _Resumable, no_sampler

# The last is the state of a Sampler whose batches are the plans.
_STATE = struct.Struct(f"<4sQqQQIII?{STATE_BYTES}s")
_State = collections.namedtuple(
    "_State", "magic step before number digest ranks max_tokens plan_size "
    "endless plans")

# Where the next pack is: its plan, its number there, and how many packs came
# before that plan since step 0.
_Spot = collections.namedtuple("_Spot", "epoch plan number before")


def _numbers(lengths):
    """An object with a buffer of 2 or 4 bytes for each length: the same one,
    if it has that."""
    try:
        view = memoryview(lengths)
        if view.ndim == 1 and view.contiguous and view.format in "HIL" and (
                view.itemsize in (2, 4)):
            return lengths, view
    except TypeError:
        pass
    try:
        listed = list(getattr(lengths, "tolist", lambda: lengths)())
        if {*map(type, listed)} - {int}:    # numpy's, torch's
            listed = [getattr(each, "tolist", lambda: each)()
                      for each in listed]
    except TypeError:
        raise ValueError("lengths should be a list or an array of integers, "
                         f"but got {type(lengths).__name__}") from None
    try:
        if bool in map(type, listed):
            raise TypeError
        found = array.array("I", listed)
    except (TypeError, OverflowError):
        for i, each in enumerate(listed):
            whole(f"lengths[{i}]", each, 0, 2**32)
        raise
    return found, memoryview(found)


class _Plans:
    """The packs of all plans. Made once, for a sampler and its copies."""

    def __init__(self, *made):
        lengths, self.max_tokens, self.plan_size, options = self._made = made
        self._lengths, view = _numbers(lengths)
        if len(view) == 0:
            raise ValueError("lengths should not be empty")
        with warnings.catch_warnings():     # It is only read.
            warnings.simplefilter("ignore")
            self._kept = torch.frombuffer(view, dtype=torch.uint8)
        self._most = min(self.plan_size, len(view))
        self.order = SamplerCursor(len(view), 0, 1, self._most, **options)
        self.count = self.order.num_steps
        # Not zeroed: the pages of lengths that no sample has stay unused.
        self._memory = torch.empty(
            c.pack_bytes(self._most, self.max_tokens), dtype=torch.uint8)
        self._packer = self._memory.data_ptr()
        number = ctypes.c_uint64()
        code = c.pack_init(self._packer, self.order._desc,
                           self._kept.data_ptr(), view.itemsize,
                           self.max_tokens, number)
        if code == PACK_ELENGTH:
            raise ValueError(
                f"lengths[{number.value}] is {view[number.value]}, but should "
                f"be in [1, max_tokens={self.max_tokens}]: cut the sample, or "
                "leave it out")
        check(code)
        self.digest = number.value ^ (self._most << 32 | self.max_tokens)
        self._counts, self._last = {}, collections.deque(maxlen=2)
        self._lock = threading.Lock()

    def __reduce__(self):
        return _Plans, self._made

    def __deepcopy__(self, memo):
        return self

    def packs(self, epoch, plan):
        """The packs of a plan: their samples one after another, and the ends
        of the packs."""
        with self._lock:
            for key, *found in self._last:
                if key == (epoch, plan):
                    return found
            out, ends = indices(self._most), indices(self._most)
            count = self._count(epoch, plan, address(out), address(ends))
            ends = ends[:count].tolist()
            found = [out[:ends[-1]].tolist(), [0] + ends]
            self._last.append(((epoch, plan), *found))
            return found

    def number(self, epoch, plan):
        """How many packs a plan has. Two epochs are remembered, as one may end
        in the next."""
        with self._lock:
            if epoch not in self._counts:
                while len(self._counts) > 1:
                    del self._counts[next(iter(self._counts))]
                self._counts[epoch] = {}
            counts = self._counts[epoch]
            if plan not in counts:
                counts[plan] = self._count(epoch, plan, None, None)
            return counts[plan]

    def _count(self, *made):
        count = c.pack_plan(self._packer, *made)
        if count == 0:
            raise ValueError("lengths have changed since the sampler was made:"
                             " one is 0 or above max_tokens by now")
        return count

    def state(self, epoch, plan):
        """That of the order, at a plan."""
        with self._lock:
            self.order.begin(epoch)
            self.order.seek(plan)
            return self.order.save()

    def locate(self, epoch, index):
        with self._lock:
            self.order.begin(epoch)
            return self.order.locate(index)


class _PackCursor(_Cursor):
    """A place in the sequence of packs. A step is a pack for each rank."""

    def __init__(self, *made):
        self._make(*made)
        self.begin(0)

    def _make(self, plans, rank, ranks, endless):
        self._made = plans, rank, ranks, endless
        self._plans, self._rank, self._ranks = plans, rank, ranks
        self._endless = endless

    epoch = property(lambda self: self._spot.epoch)

    def _settle(self, step, spot):
        """The base: from here on, packs go to these ranks in turn."""
        self._base = self.step, self._spot = step, spot

    def begin(self, epoch):
        self._settle(0, _Spot(epoch, 0, 0, 0))

    def turn_over(self):
        """The last step has taken the next epoch's first packs, if it was not
        full; or all of them, and more."""
        self.seek(self.num_steps)
        spot = self._spot
        while spot.plan == self._plans.count:
            spot = self._walk(_Spot((spot.epoch + 1) % 2**64, 0, 0,
                                    -spot.number), 0)
        self._settle(0, spot)

    def _walk(self, spot, packs):
        """From a spot to where so many packs were served, or to the end of the
        epoch, where number is how many were served after it."""
        epoch, plan, _, before = spot
        while True:
            if plan == self._plans.count:
                if not self._endless:
                    return _Spot(epoch, plan, packs - before, before)
                epoch, plan = (epoch + 1) % 2**64, 0
            count = self._plans.number(epoch, plan)
            if packs < before + count:
                return _Spot(epoch, plan, packs - before, before)
            before, plan = before + count, plan + 1

    def _served(self, step):
        """How many packs were served before a step, from step 0 on."""
        base, spot = self._base
        return spot.before + spot.number + (step - base) * self._ranks

    def seek(self, step):
        step = whole("step", step, 0, 2**62)    # A forged state may have it.
        base, spot = self._base
        if step < base:
            raise ValueError(f"step {step} is before step {base}, from which "
                             "this sampler goes on: load an earlier state")
        packs = self._served(step)
        if packs >= self._served(self.step):
            spot = self._spot
        self.step, self._spot = step, self._walk(spot, packs)

    def _total(self):
        """How many packs are served from step 0 to the end of the epoch."""
        return self._walk(self._base[1], 2**63).before

    @property
    def num_steps(self):
        """Plans all that is left of the epoch."""
        if self._endless:
            return None
        base, left = self._base[0], self._total() - self._served(
            self._base[0])
        return base + max(-(-left // self._ranks), 0)

    own_steps = num_steps

    def read(self, state):
        """Yields lists of this rank's packs, those of a plan at a time. Packs
        that do not make a step wait for the next plan."""
        here, ranks, waiting = self.after(state), self._ranks, []
        epoch, plan, first, _ = here._spot
        left = 2**62 if self._endless else here.num_steps - here.step
        while left > 0:
            if plan == self._plans.count:
                epoch, plan = (epoch + 1) % 2**64, 0
            flat, ends = self._plans.packs(epoch, plan)
            ends, plan, first = ends[first:], plan + 1, 0
            steps = (len(waiting) + len(ends) - 1) // ranks
            # Packs of the plan count from 0 on, those that wait below.
            start, last = (each - len(waiting)
                           for each in (self._rank, steps * ranks))
            if steps:
                mine = [waiting[start]] if start < 0 else []
                mine += [flat[ends[i]:ends[i + 1]] for i in range(
                    start if start >= 0 else start + ranks, last, ranks)]
                yield mine[:left]
                left, waiting = left - len(mine), []
            waiting += [flat[ends[i]:ends[i + 1]]
                        for i in range(max(last, 0), len(ends) - 1)]

    def batch(self, first, last, rank):
        """The pack of a step."""
        if not self._endless and first >= self.num_steps:
            return None
        here = self.copy_at(first)
        if rank is not None:
            here._rank = rank
        return next(here.read(here.save()))[0]

    def repeats(self, first, last, rank):
        """All of a pack that is the next epoch's."""
        rank = self._rank if rank is None else rank
        pack = self.batch(first, last, rank)
        if not pack or self._endless or (
                self._served(first) + rank < self._total()):
            return 0
        return len(pack)

    def locate(self, index):
        base, spot = self._base
        found = self._plans.locate(self.epoch, index)
        flat, ends = self._plans.packs(self.epoch, found.step)
        at = flat.index(index)
        number = bisect.bisect(ends, at) - 1
        passed = -1
        if self.epoch != spot.epoch or found.step >= spot.plan:
            passed = (self._before(found.step) + number - spot.before -
                      spot.number)
        if passed < 0:
            raise ValueError(f"index {index} was served before step {base}, "
                             "from which this sampler goes on: load an earlier "
                             "state")
        step, rank = divmod(passed, self._ranks)
        return Place(base + step, rank, at - ends[number], found.position)

    def _before(self, plan):
        """How many packs came before a plan of this epoch."""
        epoch, at, _, before = self._base[1]
        while (epoch, at) != (self.epoch, plan):
            if at == self._plans.count:
                epoch, at = (epoch + 1) % 2**64, 0
            else:
                before, at = before + self._plans.number(epoch, at), at + 1
        return before

    def sample_seed(self, epoch, index):
        return self._plans.order.sample_seed(epoch, index)

    def save(self):
        plans, spot = self._plans, self._spot
        state = _STATE.pack(
            b"SSP1", self.step, spot.before, spot.number, plans.digest,
            self._ranks, plans.max_tokens, plans.plan_size, self._endless,
            plans.state(spot.epoch, spot.plan))
        return state + crc(state)

    def load(self, state):
        epoch, plan, rest = self._place(state)
        self._settle(rest.step, _Spot(epoch, plan, rest.number, rest.before))
        if self._endless:   # No place is the end of an epoch.
            self.seek(self.step)

    def _place(self, state):
        found = _fields(state)
        if not found:
            raise ValueError("statesampler: the state is damaged")
        desc, place = described(found.plans)
        return desc.epoch, place.step, found

    def summary(self, state):
        epoch, plan, rest = self._place(state)
        return epoch, plan + rest.number > 0, (rest.ranks, 1)

    @staticmethod
    def facts(state):
        """Nothing if the state is damaged or not of a PackedBatchSampler."""
        rest = _fields(state)
        order = SamplerCursor.facts(rest.plans) if rest else []
        return order and order + [
            ("max_tokens ", rest.max_tokens, ""),
            ("plan_size ", rest.plan_size, ""),
            ("lengths whose digest is ", f"{rest.digest:016x}", "")]


def _fields(state):
    found = unpack(_STATE, b"SSP1", state)
    return found and _State(*found)


class PackedBatchSampler(_Resumable, _TorchSampler):
    """Packs of samples, for the `batch_sampler` of a DataLoader: a batch is a
    list of samples whose lengths fill max_tokens, or nearly. (collate_fn puts
    them into one sequence.) In a step each rank gets one pack. All ranks have
    the same number of steps, and nothing is cut, left out or repeated.

    lengths: how many tokens each sample of the dataset has; a DataLoader's
        dataset of another length raises ValueError. An array of 16 or
        32 bits, such as numpy.memmap, is used as it is; it must not change. (A
        loop raises ValueError where it finds that one is 0 or too long now.)
    max_tokens: the most tokens of a pack. A longer sample raises ValueError.
    rank, num_replicas, seed, shuffle, stream, chunk_size, window: as in
        StatefulDistributedSampler.
    plan_size: so many samples of the order are packed together. Take those of
        a thousand packs, or more.
    endless: a loop goes on through all epochs, for what has only one loop.
    fingerprint, changed: as in StatefulDistributedSampler; other
        lengths are another dataset.

    Where fewer packs than ranks are left of an epoch, its last step takes the
    next epoch's first packs, and that epoch's loop begins after those. So each
    sample comes once for each epoch. set_epoch to another epoch than the next
    begins it with all its packs. padding(step) counts the samples that are the
    next epoch's: an Audit of that one needs them.

    Epochs differ by some packs, so there is no len(): `remaining` says how
    many steps are left of the present one.

    A state resumes at the next pack, on any number of ranks. How many steps
    an epoch has is known when all of it is planned: its first loop, or
    `remaining`, takes that time, some 30 ns a sample. Endless loops need not
    know, so that a resume makes one plan.

    at and locate know the steps from the loaded one on. A state from the end of
    an epoch, loaded on the same ranks, answers for all of the next.

    There is no resize: other lengths make other plans. If a dataset grows,
    make another sampler, with changed="next_epoch".

    A trainer that takes samples from a `sampler`, so many for each batch, as
    TRL's GRPOTrainer does, cannot have packs.
    """

    _owner, _takes = "PackedBatchSampler", "the lengths of samples"
    _fixed = _Resumable._fixed + ("lengths", "max_tokens", "batch_size",
                                  "plan_size", "endless", "stream")
    batch_size = None       # accelerate asks.
    _gives_batches = True
    _dealt = False          # The ranks would not end together.
    _length = None          # Epochs differ.

    @no_sampler
    def __init__(self, lengths, max_tokens, rank=None, num_replicas=None,
                 seed=0, shuffle=True, *, plan_size=10000, endless=False,
                 chunk_size=None, window=None, stream=0, read_ahead=None,
                 fingerprint=None, changed="refuse"):
        _Resumable.__init__(self, num_replicas, rank, shuffle, seed, False,
                            read_ahead, changed, fingerprint)
        self.max_tokens = whole("max_tokens", max_tokens, 1, 2**31)
        self.plan_size = whole("plan_size", plan_size, 1, 2**31)
        self.endless = flag("endless", endless)
        plans = _Plans(lengths, self.max_tokens, self.plan_size, dict(
            seed=seed, shuffle=self.shuffle, stream=stream,
            chunk_size=chunk_size, window=window))
        self._described = plans.order._desc.num_samples
        self._cursor = _PackCursor(plans, self.rank, self.num_replicas,
                                   self.endless)
