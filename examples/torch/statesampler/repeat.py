"""Groups of copies, as in GRPO. The manual is in __init__.py."""

import struct

from torch.utils.data import Sampler as _TorchSampler

from ._arguments import flag, whole, whole_batch_size
from ._cursors import _Cursor
from .samplers import Sampler, crc, unpack
from .torch_samplers import _Resumable

_STATE = struct.Struct("<4sQQQQQ?QQ")


class _GroupsCursor(_Cursor):
    """A place in an epoch of groups, which counts items. A pass is one use of
    a generation batch."""

    def __init__(self, *made):
        self._make(*made)

    def _make(self, length, batch, copies, uses, shuffle, seed):
        self._made = length, batch, copies, uses, shuffle, seed
        self._order = Sampler(length, 0, 1, batch, seed=seed, shuffle=shuffle,
                              drop_last=True)
        self._pass, self._uses = copies * batch, uses
        self.num_steps = self._order.num_steps * self._pass * uses
        self.own_steps, self.epoch, self.step = self.num_steps, 0, 0

    def begin(self, epoch):
        self.epoch, self.step = whole("epoch", epoch, 0, 2**64), 0

    def seek(self, step):
        self.step = whole("step", step, 0, self.num_steps + 1)

    _shape = property(lambda self: self._order._desc)

    def batch(self, first, last, rank):
        """The indices of these items."""
        self._order.begin(self.epoch)
        found = []
        for item in range(first, min(last, self.num_steps)):
            number, rest = divmod(item, self._pass * self._uses)
            prompt = rest % self._pass // self._made[2]
            found.append(self._order.at(number)[prompt])
        return found or None

    def locate(self, index):
        """Of the first copy."""
        self._order.begin(self.epoch)
        place = self._order.locate(index)
        item = (place.step * self._pass * self._uses +
                place.slot * self._made[2])
        return place._replace(step=item, slot=0)

    def sample_seed(self, epoch, index):
        return self._order.sample_seed(epoch, index)

    def read(self, state):
        """Yields lists of what is left of an epoch after a state."""
        here = self.after(state)
        number, rest = divmod(here.step, self._pass * self._uses)
        use, first = divmod(rest, self._pass)
        here._order.begin(here.epoch)
        here._order.seek(number)
        for prompts in here._order:
            copies = range(self._made[2])
            group = [index for index in prompts.tolist() for _ in copies]
            for _ in range(use, self._uses):
                yield group[first:]
                first = 0
            use = 0

    def save(self):
        length, batch, copies, uses, shuffle, seed = self._made
        state = _STATE.pack(b"SSG1", length, batch, copies, uses, seed % 2**64,
                            shuffle, self.epoch, self.step)
        return state + crc(state)

    def load(self, state):
        """Also from a run with another repeat_count, whose passes count for
        ours."""
        uses, *_, epoch, step = self._fields(state)[4:]
        if uses != self._uses:
            passes, rest = divmod(step * self._uses, self._pass * uses)
            if rest or step % self._pass:
                raise ValueError(
                    f"the state is amid the {uses} uses of a generation batch,"
                    f" where repeat_count={self._uses} has no place: load one "
                    "that was saved after all of them")
            step = passes * self._pass
        self.begin(epoch)
        self.seek(step)

    @staticmethod
    def _fields(state):
        fields = unpack(_STATE, b"SSG1", state)
        if not fields:
            raise ValueError("statesampler: the state is damaged")
        return fields

    def summary(self, state):
        *_, epoch, step = self._fields(state)
        return epoch, step > 0, (1, 1)

    @staticmethod
    def facts(state):
        """Nothing if the state is damaged or not of a RepeatSampler."""
        fields = unpack(_STATE, b"SSG1", state)
        if not fields:
            return []
        _, length, batch, copies, _, seed, shuffle, _, _ = fields
        return [("len(data_source) ", length, ""), ("batch_size ", batch, ""),
                ("mini_repeat_count ", copies, ""), ("seed ", seed, ""),
                ("shuffle=", shuffle, "")]


def recall(state, epoch):
    """A cursor at a state; in another epoch, at its beginning."""
    _, length, batch, copies, uses, seed, shuffle, _, _ = (
        _GroupsCursor._fields(state))
    cursor = _GroupsCursor(length, batch, copies, uses, shuffle, seed)
    cursor.load(state)
    if epoch not in (None, cursor.epoch):
        cursor.begin(epoch)
    return cursor


class RepeatSampler(_Resumable, _TorchSampler):
    """TRL's RepeatSampler (trl/trainer/utils.py) with a state, for GRPO: the
    same arguments, and the same shape of what it yields. A generation batch is
    batch_size items of data_source; each comes mini_repeat_count times, side
    by side, and the whole repeat_count times. Items that do not fill a
    generation batch are left out, others in each epoch.

    It yields what all ranks need, as TRL's does, and accelerate distributes it
    to them. The groups are the same on any number of ranks, and follow from
    seed (None is 0) and epoch, which goes on after a resume.

    A state resumes with any repeat_count, as another number of ranks means
    another steps_per_generation: from the end of a generation batch, or from
    amid its uses where that is a whole number of ours.

    read_ahead, fingerprint, changed: as in StatefulDistributedSampler. All
    other arguments are read-only attributes.
    """

    _owner = "RepeatSampler"
    _fixed = _Resumable._fixed + (
        "mini_repeat_count", "batch_size", "repeat_count", "num_samples")

    def __init__(self, data_source, mini_repeat_count, batch_size=1,
                 repeat_count=1, shuffle=True, seed=None, *, read_ahead=None,
                 fingerprint=None, changed="refuse"):
        _Resumable.__init__(self, 1, 0, flag("shuffle", shuffle), seed, True,
                            read_ahead, changed, fingerprint, data_source)
        self.data_source = data_source
        self.num_samples = length = whole(
            "len(data_source)", len(data_source), 0, 2**62 + 1)
        self.batch_size = batch = whole_batch_size(batch_size)
        self.mini_repeat_count = copies = whole(
            "mini_repeat_count", mini_repeat_count, 1, 2**62)
        self.repeat_count = uses = whole(
            "repeat_count", repeat_count, 1, 2**62)
        if length < batch:
            raise ValueError(
                f"data_source has {length} items, too few for one batch of "
                f"batch_size={batch}")
        whole("an epoch's length", length // batch * batch * copies * uses, 0,
              2**62)
        self._cursor = _GroupsCursor(
            length, batch, copies, uses, self.shuffle,
            whole("seed", 0 if seed is None else seed, -2**63, 2**64))
        self._length = self._cursor.num_steps

    def _units_per_batch(self):
        raise ValueError("at, locate, start_iter and batches need another "
                         "sampler: this one does not know the DataLoader's "
                         "batch_size")
