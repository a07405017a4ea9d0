"""The places of a RepeatSampler, which need no torch: examples/extras/groups.h.
GroupsCursor has a state of its own."""

import ctypes
import struct

from ._arguments import whole
from ._cursors import _Cursor
from ._library import address, c, indices
from .samplers import Place, Sampler, crc, unpack

# Items read at a time: more would delay the first one.
_CHUNK = 1024
_STATE = struct.Struct("<4sQQQQQ?QQ")


class GroupsCursor(_Cursor):
    """A place in an epoch of groups, which counts items. A pass is one use of
    a generation batch."""

    def __init__(self, *made):
        self._make(*made)

    def _make(self, length, batch, copies, uses, shuffle, seed):
        self._made = length, batch, copies, uses, shuffle, seed
        self._order = Sampler(length, 0, 1, batch, seed=seed, shuffle=shuffle,
                              drop_last=True)
        self._pass, self._uses = copies * batch, uses
        self._groups = (ctypes.c_uint64 * 4)(length, copies, batch, uses)
        self.own_steps = self.num_steps = c.groups_first(
            self._groups, length - length % batch)
        self.epoch = self.step = 0

    def begin(self, epoch):
        self.epoch, self.step = whole("epoch", epoch, 0, 2**64), 0

    def seek(self, step):
        self.step = whole("step", step, 0, self.num_steps + 1)

    _shape = property(lambda self: self._order._desc)

    def batch(self, first, last, rank):
        """The indices of these items, for all ranks."""
        if first >= self.num_steps:
            return None
        found = indices(min(last, self.num_steps) - first)
        self._order.begin(self.epoch)
        c.groups_fill(self._groups, self._order._memory, first, address(found),
                      len(found))
        return found.tolist()

    def locate(self, index):
        """Of the first copy."""
        self._order.begin(self.epoch)
        place = self._order.locate(index).position
        return Place(c.groups_first(self._groups, place), 0, 0, place)

    def sample_seed(self, epoch, index):
        return self._order.sample_seed(epoch, index)

    def read(self, state):
        """Yields lists of what is left of an epoch after a state."""
        here = self.after(state)
        for first in range(here.step, here.num_steps, _CHUNK):
            yield here.batch(first, first + _CHUNK, None)

    def save(self):
        length, batch, copies, uses, shuffle, seed = self._made
        state = _STATE.pack(b"SSG1", length, batch, copies, uses, seed % 2**64,
                            shuffle, self.epoch, self.step)
        return state + crc(state)

    def load(self, state):
        """Also from a run with another repeat_count, if ours has a place after
        the same part of a generation batch's uses."""
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
        GroupsCursor._fields(state))
    cursor = GroupsCursor(length, batch, copies, uses, shuffle, seed)
    cursor.load(state)
    if epoch not in (None, cursor.epoch):
        cursor.begin(epoch)
    return cursor
