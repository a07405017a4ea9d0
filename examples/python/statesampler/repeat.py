"""Groups of copies, as in GRPO. The manual is in README.md."""

from torch.utils.data import Sampler as _TorchSampler

from ._arguments import length_of, whole, whole_batch_size
from ._groups import GroupsCursor
from .torch_samplers import _Resumable


class RepeatSampler(_Resumable, _TorchSampler):
    """TRL's RepeatSampler (trl/trainer/utils.py) with a state, for GRPO: the
    same arguments, and the same shape of what it yields. A generation batch is
    batch_size items of data_source; each comes mini_repeat_count times, side
    by side, and the whole repeat_count times. Items that do not fill a
    generation batch are left out, others in each epoch.

    It yields what all ranks need, as TRL's does, and accelerate distributes it
    to them; without accelerate, each rank takes its part of a batch. What deals
    single items, as Lightning does, raises RuntimeError. The groups are the
    same on any number of ranks, and follow from seed (None is 0) and epoch,
    which goes on after a resume.

    A state resumes with any repeat_count, as another number of ranks means
    another steps_per_generation: from the end of a generation batch, or from
    amid its uses where that is a whole number of ours.

    A step of at, locate, start_iter and state_dict(batches=) is one use of a
    generation batch, which all ranks together take, as in TRL.

    There is no resize: a generation batch of data that has grown would be
    another one. Make another sampler, with changed="next_epoch".

    fingerprint, changed: as in StatefulDistributedSampler. Arguments are
    read-only, but these and data_source.
    """

    _owner, _takes = "RepeatSampler", "the length of its dataset"
    _dataset_is = "data_source"
    _described = property(lambda self: self.num_samples)
    _fixed = _Resumable._fixed + (
        "mini_repeat_count", "batch_size", "repeat_count", "num_samples")

    def __init__(self, data_source, mini_repeat_count, batch_size=1,
                 repeat_count=1, shuffle=True, seed=None, *, read_ahead=None,
                 fingerprint=None, changed="refuse"):
        _Resumable.__init__(self, 1, 0, shuffle, seed, True, read_ahead,
                            changed, fingerprint, data_source)
        self.data_source = data_source
        self.num_samples = self._length_then = length = length_of(
            "data_source", data_source)
        self.batch_size = whole_batch_size(batch_size)
        batch = self.batch_size
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
        self._cursor = GroupsCursor(
            length, batch, copies, uses, self.shuffle,
            whole("seed", 0 if seed is None else seed, -2**63, 2**64))
        self._length = self._cursor.num_steps

    def _batches(self, _):
        return self.batch_size * self.mini_repeat_count, 0
