"""A DataLoader that counts the batches it returns. The manual is in
README.md."""

import itertools

from torch.utils.data import BatchSampler, DataLoader

from . import frameworks
from ._loops import Count
from .torch_samplers import _Resumable


class _Counted:
    """An iterator of a CountingDataLoader, around that of torch's. The count
    does not refer to that one, so that its workers end with the loop."""

    def __init__(self, iterate, sampler, count):
        self.sampler, self.count = sampler, count
        self.batches = self.counting(iterate)   # Workers now get indices.

    def counting(self, ask):
        """Calls ask(). A loop that the sampler begins in it has this count."""
        self.sampler._count = self.count
        try:
            return ask()
        finally:
            self.sampler._count = None

    def __iter__(self):
        return self

    def __next__(self):
        try:
            batch = (next(self.batches) if self.count.loops else
                     self.counting(self.batches.__next__))
        except StopIteration:
            self.count.end()
            raise
        self.count.returned += 1
        return batch


class _Batches(BatchSampler):
    """torch's class takes one index at a time in Python; this does not."""

    def __iter__(self):
        least = self.batch_size if self.drop_last else 1
        cuts = map(itertools.islice, itertools.repeat(iter(self.sampler)),
                   itertools.repeat(self.batch_size))
        return itertools.takewhile(lambda batch: len(batch) >= least,
                                   map(list, cuts))


class CountingDataLoader(DataLoader):
    """torch's DataLoader, for this package's samplers as sampler=, and its
    batch samplers as batch_sampler=. It counts the batches that it returns; the
    sampler's state is that after the last of them. All arguments are torch's.
    If something reads ahead of the loop, the sampler needs read_ahead=. iter()
    raises TypeError with another sampler, or a batch sampler of your own, and
    ValueError with in_order=False where there are workers."""

    @property
    def _index_sampler(self):
        """What torch takes batches from. (Should it ask for that by another
        name, batches are the same and only slower.)"""
        batches = super()._index_sampler
        if type(batches) is not BatchSampler:
            return batches
        return _Batches(batches.sampler, batches.batch_size, batches.drop_last)

    def __iter__(self):
        sampler, unit, drops_last = self.batch_sampler, 1, False
        if type(sampler) is BatchSampler:
            unit, drops_last = sampler.batch_size, sampler.drop_last
            sampler = sampler.sampler
        elif sampler is None:
            sampler = self.sampler
        if not isinstance(sampler, _Resumable):
            raise TypeError(
                "CountingDataLoader needs a sampler of statesampler as its "
                f"sampler= or batch_sampler=, but got {type(sampler).__name__}"
                ". (With a batch sampler of your own, use torch's DataLoader.)")
        sampler._check_dataset(self.dataset)
        if self.num_workers > 0:
            frameworks.check_order(getattr(self, "in_order", True))
        return _Counted(super().__iter__, sampler, Count(unit, drops_last))
