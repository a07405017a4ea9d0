"""For programs and checkpoints that were written for other samplers: VISSL's
start_iter, and the states of this package's first versions."""

import struct

from ._arguments import whole
from .samplers import crc


def of_text(state, first_epoch):
    """The bytes of a state that is hexadecimal."""
    state = bytes.fromhex(state)
    if first_epoch is not None:     # RoundRobinBatchSampler's.
        state += struct.pack("<Q", whole("first_epoch", first_epoch, 0, 2**64))
        state += crc(state)
    return state


class StartIter:
    @property
    def start_iter(self):
        """How many batches of this epoch were received; with tail="carry",
        since epoch 0."""
        with self._lock:
            self._settle()
            unit, short = self._batches()
            return -(-(self._cursor.step + short) // unit)

    def set_start_iter(self, start_iter):
        """The next loop begins at this batch of the current epoch. (For
        another epoch, call set_epoch first.) Batches before a loaded state
        raise ValueError if the state is from another number of ranks, and in
        a RoundRobinBatchSampler always."""
        with self._lock:
            cursor = self._after(start_iter, "start_iter")
            self._give_up()
            self._cursor = cursor
