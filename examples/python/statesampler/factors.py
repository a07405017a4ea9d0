"""Weights of samples: how often each comes in an epoch, or how likely each
draw is. The positions of a Sampler become samples by bisection of the sums."""

import array
import contextlib
import ctypes
import itertools

from ._arguments import items, shown, whole
from ._library import ORDERS, TAILS, address, c

# A factor of 1.
_ONE = 2**32

# In front of the state of a sampler with weights, whose indices are positions.
WEIGHTED = b"SSW1" + bytes(4)


def weighted(desc, weights):
    """The description of the positions of a sampler with weights, and what
    makes samples of them."""
    if TAILS[desc.tail] == "carry":
        raise ValueError("weights are those of an epoch, which "
                         'tail="carry" has not')
    draws = ORDERS[desc.order] == "replacement"
    factors = Factors(weights, desc.num_samples, draws)
    desc.num_samples = factors.positions
    desc.stream = factors.stream(desc.stream)
    if draws:
        desc.order = ORDERS.index("sequential")
    return desc, factors


class Factors:
    """As in examples/factors.c: laid end to end, the factors form a line, and
    a position of an epoch is a point on it. Points are a unit apart, about a
    factor of 1, so that they divide the line evenly; each epoch shifts them by
    another fraction. `draws`: a position is a point that is drawn."""

    def __init__(self, weights, count, draws):
        weights = items("weights", weights)
        if len(weights) != count:
            raise ValueError(f"weights should have {count} items, one for each "
                             f"sample, but got {len(weights)}")
        try:
            weights = [*map(float, weights)]
        except (OverflowError, TypeError, ValueError):
            raise ValueError("weights should be numbers, but got "
                             f"weights={shown(weights)}") from None
        most = max(weights, default=0)
        for weight in weights:
            if not 0 <= weight < 2**30:
                raise ValueError("a weight should be a number in [0, 2^30), "
                                 f"but got {weight}")
        if most == 0:
            raise ValueError("a weight should be above 0")
        one = _ONE / most if draws else _ONE
        self.draws = draws
        self.sums = [*itertools.accumulate(
            max(round(weight * one), weight > 0) for weight in weights)]
        if self.sums[-1] >= 2**62:
            raise ValueError("the weights sum to 2^30 or more")
        self.sums = array.array("Q", self.sums)
        if draws:
            self.positions, self._unit = count, 0
        else:
            self.positions = max((self.sums[-1] + _ONE // 2) // _ONE, 1)
            self._unit = self.sums[-1] // self.positions

    def stream(self, stream):
        """One that only these weights have."""
        sums = self.sums.tobytes()
        return c.hash((2 * stream + self.draws) % 2**64, sums, len(sums))

    def map(self, sampler, epoch, batch):
        """The samples at a batch's positions, in their place."""
        if batch:
            first = ctypes.addressof(ctypes.c_char.from_buffer(batch))
            c.factors_map(sampler, address(self.sums), len(self.sums), epoch,
                          self._unit, first, len(batch))
        return batch

    def positions_of(self, index, epoch):
        """Where a sample comes in an epoch, before that is shuffled. (The last
        one may be past the end.)"""
        shift = c.factors_shift(epoch, self._unit)
        begin = self.sums[index - 1] if index else 0
        return range(max(-(-(begin - shift) // self._unit), 0),
                     -(-(self.sums[index] - shift) // self._unit))

    def locate(self, index, epoch, locate):
        """The first place of a sample, by a function that says where a
        position is."""
        index = whole("index", index, 0, len(self.sums))
        if self.draws:
            raise ValueError("draws by weights have no place of a sample")
        places = []
        for position in self.positions_of(index, epoch):
            with contextlib.suppress(ValueError):
                places.append(locate(position))
        if not places:
            raise ValueError(f"sample {index}: not served in epoch {epoch}")
        return min(places)
