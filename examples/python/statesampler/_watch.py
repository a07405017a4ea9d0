"""The last resort: observes an iterator of torch's own DataLoader, which is
found on the call stack, by its private attributes. Batches count from 0."""

import sys
import weakref

from torch.utils.data import BatchSampler
from torch.utils.data import dataloader as _loaders

from . import frameworks
from ._loops import Count

_BASE = _loaders._BaseDataLoaderIter


class Watch(Count):
    def __init__(self, iterator, frame):
        super().__init__(None, getattr(iterator._index_sampler, "drop_last",
                                       False))
        self.workers = iterator._num_workers > 0
        self.sees_the_end = False
        # Workers get indices before a loader may know its length: then read
        # `ahead` when the first batch arrives.
        self.reader, caller = frameworks.find_reader(iterator, frame)
        self.epoch = frameworks.counted_epoch(caller)
        self.elsewhere = frameworks.draws_elsewhere(caller)
        self.at_once = frameworks.batches_at_once(caller)
        if not self.workers:
            self.ahead = frameworks.batches_ahead(self.reader, caller)
        self.processes = frameworks.count_processes(iterator._index_sampler,
                                                    caller)
        # Weak, so that workers end with the loop.
        self.iterator = weakref.ref(iterator) if self.workers else (
            lambda: iterator)
        self.feeding = iterator._sampler_iter
        self.fetcher = None

    @classmethod
    def find(cls):
        """The watch of the iterator on the call stack that is asking for a
        batch; None if there is none."""
        frame = sys._getframe(1)
        while frame.f_code is not _BASE._next_index.__code__:
            frame = frame.f_back
            if frame is None:
                return None
        iterator = frame.f_locals["self"]
        # Not vars(iterator), which would slow down its attributes.
        watch = getattr(iterator, "_statesampler", None)
        if watch is None or watch.feeding is not iterator._sampler_iter:
            watch = iterator._statesampler = cls(iterator, frame)
        return watch

    @staticmethod
    def being_made():
        """Whether a DataLoader's iterator is being made, and its batch sampler
        already takes indices."""
        frame = sys._getframe(1)
        while frame is not None and frame.f_code not in (
                _BASE.__init__.__code__, _BASE._reset.__code__):
            frame = frame.f_back
        return frame is not None

    def add(self, sampler, loop):
        super().add(sampler, loop)
        if self.workers or loop.marks is not None:
            self.see_the_end()

    def check(self, sampler):
        sampler._check_dataset(self.iterator()._dataset)
        # Torch has it since 2.6, where there are workers.
        frameworks.check_order(getattr(self.iterator(), "_in_order", True))
        frameworks.check_processes(self.processes, sampler,
                                   self.iterator()._index_sampler)
        if not self.elsewhere:  # Else workers' samples never come.
            frameworks.check_skips(self.iterator(), sampler, self.at_once)
            frameworks.check_epoch(self.epoch, sampler)

    def units_per_batch(self, sampler):
        iterator = self.iterator()
        if type(iterator) not in (_loaders._SingleProcessDataLoaderIter,
                                  _loaders._MultiProcessingDataLoaderIter):
            return None
        asked = iterator._index_sampler
        if type(asked) is BatchSampler and asked.sampler is sampler:
            return asked.batch_size
        return 1 if asked is sampler else None

    def asked(self):
        iterator = self.iterator()
        return iterator._send_idx if self.workers else iterator._num_yielded

    def given(self):
        # With workers the iterator may be gone.
        return self.returned if self.workers else self.iterator()._num_yielded

    def see_the_end(self):
        """From here on, __call__ returns each batch and meets the end. Without
        workers, this may be called while the first batch is being made, which
        __call__ then does not return; if nothing is fetched, it was the end
        instead."""
        iterator = self.iterator()
        self.sees_the_end, iterator._next_data = True, self
        if not self.workers and self.fetcher is None:
            self.fetcher = iterator._dataset_fetcher
            iterator._dataset_fetcher = self

    def fetch(self, batch):
        self.iterator()._dataset_fetcher = self.fetcher
        return self.fetcher.fetch(batch)

    def fetched_nothing(self):
        """Whether nothing was fetched, and this thread makes no batch."""
        return (not self.workers and
                self.iterator()._dataset_fetcher is self and
                Watch.find() is not self)

    def __call__(self):
        iterator = self.iterator()
        try:
            data = type(iterator)._next_data(iterator)
        except StopIteration:
            if iterator._sampler_iter is self.feeding and self.end():
                vars(iterator).pop("_next_data", None)
            raise
        if self.workers and iterator._sampler_iter is self.feeding:
            if self.returned == 0:
                self.reader, caller = frameworks.find_reader(
                    iterator, sys._getframe(1))
                self.ahead = frameworks.batches_ahead(self.reader, caller)
            self.returned = iterator._rcvd_idx
        return data
