"""Datasets mixed inside a batch: the order of examples/blend.c. The manual is
in README.md."""

import struct

from torch.utils.data import Sampler as _TorchSampler

from ._arguments import items, whole, whole_batch_size
from ._cursors import MixCursor, _BatchCursor
from ._library import address, c, indices
from .samplers import Place, as_bytes, crc
from .torch_samplers import Weighed, _Resumable, no_sampler

# In front of a mix's state: a name, the ranks, the batch size and the step.
_HEAD = struct.Struct("<4sII4xQ")


class _BlendCursor(_BatchCursor):
    """A place in a mix of one rank whose batches are single samples. A step of
    all ranks takes turns of it that follow each other, and each rank a slot of
    them. `_base` has the step and the turn from which on that is known."""

    def __init__(self, mix, *shape):
        self._make(mix._made, *shape)

    def _make(self, mix, rank, ranks, batch, drop_last):
        self._mix = object.__new__(MixCursor)
        self._mix._make(*mix)
        self._rank, self._ranks, self._most = rank, ranks, batch
        self._drop_last = drop_last
        self.step, self._base = 0, (0, 0)

    @property
    def _made(self):
        return (self._mix._made, self._rank, self._ranks, self._most,
                self._drop_last)

    epoch = property(lambda self: self._mix.epoch)
    weights = property(lambda self: self._mix.weights)
    _size = property(lambda self: self._ranks * self._most)

    @property
    def num_steps(self):
        if self._mix.num_steps is None:
            return None
        step, turn = self._base
        left = self._mix.num_steps - turn
        return step + (left // self._size if self._drop_last else
                       -(-left // self._size))

    own_steps = num_steps

    def _first(self, step):
        """The first turn of a step."""
        base, turn = self._base
        return turn + (step - base) * self._size

    def _part(self, step, rank):
        """The turns of a rank in a step: from one, to another. Slots are dealt
        anew in each step, as examples/blend.c says. What is left for an
        epoch's last step is shared evenly."""
        first, size, end = self._first(step), self._size, self._mix.num_steps
        slot = c.blend_slot(self._ranks, first // size, rank)
        if end is not None:
            size = min(size, end - first)
        return (first + slot * size // self._ranks,
                first + (slot + 1) * size // self._ranks)

    def _take(self, step, rank, out, at):
        """Writes a rank's batch to an array, from an index on. Returns the
        index after it."""
        first, last = self._part(step, rank)
        self._mix.seek(first)
        counts = indices(last - first)
        c.turns(self._mix._memory, last - first, address(out) + 8 * at,
                address(counts))
        return at + last - first

    def _turns(self, most):
        out, counts = indices(most * self._most), indices(0)
        at, end = 0, self.num_steps
        while len(counts) < most and self.step != end:
            begin, at = at, self._take(self.step, self._rank, out, at)
            counts.append(at - begin)
            self.step += 1
        self.seek(self.step)
        return out, counts

    def at(self, step, rank):
        end = self.num_steps
        if end is not None and step >= end:
            return None
        self._check(step)
        out, before = indices(self._most), self._mix.step
        count = self._take(step, self._rank if rank is None else rank, out, 0)
        self._mix.seek(before)
        return out[:count]

    def padding(self, step, rank):
        return 0

    def locate(self, index):
        turn, (base, first) = self._mix.locate(index), self._base
        step = base + (turn.step - first) // self._size
        end = self.num_steps
        if end is not None and step >= end:
            raise ValueError(f"sample {index} is in the last step, which is "
                             "dropped")
        for rank in range(self._ranks):
            first, last = self._part(step, rank)
            if first <= turn.step < last:
                return Place(step, rank, turn.step - first, turn.position)

    def _check(self, step):
        if step < self._base[0]:
            raise ValueError(f"step {step} is before step {self._base[0]}, from"
                             " which this sampler goes on: load an earlier "
                             "state")

    def seek(self, step):
        step = whole("step", step, 0, 2**62)
        self._check(step)
        turn, end = self._first(step), self._mix.num_steps
        self._mix.seek(turn if end is None else min(turn, end))
        self.step = step

    def begin(self, epoch):
        self._mix.begin(epoch)
        self.step, self._base = 0, (0, 0)

    def turn_over(self):
        """Datasets that were restarted continue from where they are."""
        self._mix.turn_over()
        self.step, self._base = 0, (0, 0)

    def weigh(self, weights):
        self._mix.weigh(weights)

    def sample_seed(self, epoch, index):
        return self._mix.sample_seed(epoch, index)

    def save(self):
        state = _HEAD.pack(b"SSB1", self._ranks, self._most,
                           self.step) + self._mix.save()
        return state + crc(state)

    def load(self, state):
        _, _, step, mix = self._parts(state)
        self._mix.load(mix)
        self.step, self._base = step, (step, self._mix.step)

    @staticmethod
    def _parts(state):
        """Ranks, batch size, step, and the mix's state."""
        state, last = as_bytes(state)[:-4], state[-4:]
        if (len(state) < _HEAD.size or state[:4] != b"SSB1" or
                last != crc(state)):
            raise ValueError("statesampler: the state is damaged")
        return (*_HEAD.unpack_from(state)[1:], state[_HEAD.size:])

    def summary(self, state):
        *shape, step, mix = self._parts(state)
        return self._mix.summary(mix)[0], step > 0, tuple(shape)

    @classmethod
    def facts(cls, state):
        """Nothing if the state is damaged or not of a BlendedBatchSampler."""
        try:
            return MixCursor.facts(cls._parts(state)[-1])
        except ValueError:
            return []


class BlendedBatchSampler(Weighed, _Resumable, _TorchSampler):
    """Batches that mix several datasets, as Megatron's BlendedDataset does, for
    the `batch_sampler` of a DataLoader over their ConcatDataset. Each sample of
    the sequence is a turn of a dataset, so that the shares are exact in any
    stretch of it, to a sample or two.

    lengths: the lengths of the datasets.
    batch_size: the samples of each rank's batches.
    rank, num_replicas, seed, shuffle, chunk_size, window, fingerprint, changed:
        as in StatefulDistributedSampler.
    weights: the number of samples of each dataset in a round, as in
        RoundRobinBatchSampler: a loaded state brings its own, and weigh() sets
        others.
    stop: "never", or when an epoch ends, as in RoundRobinBatchSampler. Each
        dataset has its own epochs.
    drop_last: whether samples that are left at the end of an epoch, but make no
        full step of all ranks, are left out. Else the ranks share them evenly,
        and a rank may have an empty batch.

    The sequence does not depend on the ranks. A step takes the next
    num_replicas * batch_size samples of it, so a state goes on on any number of
    ranks with any batch size. With two datasets or with a thousand, a rank gets
    all of them: which part of a step is whose is dealt anew in each one.

    at and locate know the steps from the loaded one on."""

    _owner, _takes = "BlendedBatchSampler", "the lengths of datasets"
    _gives_batches = True

    @no_sampler
    def __init__(self, lengths, batch_size, rank=None, num_replicas=None,
                 drop_last=False, seed=0, shuffle=True, *, weights=None,
                 stop="never", chunk_size=None, window=None, fingerprint=None,
                 changed="refuse"):
        _Resumable.__init__(self, num_replicas, rank, shuffle, seed, drop_last,
                           None, changed, fingerprint)
        self.lengths = items("lengths", lengths)
        self.batch_size, self.stop = whole_batch_size(batch_size), stop
        mix = MixCursor(self.lengths, 0, 1, 1, weights, stop, seed=seed,
                        shuffle=shuffle, chunk_size=chunk_size, window=window)
        self._cursor = _BlendCursor(mix, self.rank, self.num_replicas,
                                    self.batch_size, self.drop_last)
        self._described = sum(self.lengths)
        self._begin_weights(weights)
