"""How torchdata 0.12.0a0 (pytorch/data 088e4347) calls samplers, written down
from torchdata/stateful_dataloader/stateful_dataloader.py and sampler.py, as a
DataLoader of torch's that takes and loads states in the same order; and from
torchdata/nodes/adapters.py and loader.py (e640e6fc).

- The DataLoader's own batch sampler has an iterator with state_dict and
  load_state_dict. Its state asks the sampler and the sampler's iterator, if
  they have a state_dict.
- Without workers, state_dict() asks the index sampler and its iterator when it
  is called. With workers, they are asked after each batch of indices that is
  drawn, and the loader's state is that of the batch handed out last.
- A state is loaded into the index sampler, then iter() is called on it, and
  then the state of the iterator is loaded into that; batches are drawn after.
- state_dict() before the first iter() makes the iterator, which that uses.
- A state that was taken after the loop had ended begins a new iterator.
- An index sampler that has no states, as accelerate's, is drawn from anew, and
  what was drawn before the state is forgotten.
- SamplerWrapper, of nodes, calls set_epoch before it loads the sampler's
  state, and before each later loop with the number that it has counted. Its
  Loader leaves out an empty loop after a load.
"""

import itertools

import torch
from torch.utils.data import DataLoader
from torch.utils.data.dataloader import (
    _BaseDataLoaderIter, _MultiProcessingDataLoaderIter,
    _SingleProcessDataLoaderIter)


def stateful(thing):
    return hasattr(thing, "state_dict") and hasattr(thing, "load_state_dict")


def ask(thing):
    return thing.state_dict() if stateful(thing) else None


class Batches:
    """The iterator of the batch sampler."""

    def __init__(self, sampler, batch_size, drop_last):
        self.sampler, self.size = sampler, batch_size
        self.drop_last = drop_last
        self.iterator, self.drawn = iter(sampler), 0

    def __iter__(self):
        return self

    def __next__(self):
        batch = []
        for index in self.iterator:
            batch.append(index)
            self.drawn += 1
            if len(batch) == self.size:
                return batch
        if self.drop_last or not batch:
            raise StopIteration
        return batch

    def state_dict(self):
        return {"drawn": self.drawn, "sampler": ask(self.sampler),
                "iterator": ask(self.iterator)}

    def load_state_dict(self, state):
        self.drawn = state["drawn"]
        if state["sampler"] is not None:
            self.sampler.load_state_dict(state["sampler"])
        self.iterator = iter(self.sampler)
        if state["iterator"] is not None:
            self.iterator.load_state_dict(state["iterator"])
        elif state["sampler"] is None:
            for _ in range(self.drawn):
                next(self.iterator)


class BatchSampler(torch.utils.data.BatchSampler):
    __module__ = "torchdata.stateful_dataloader.sampler"

    def __iter__(self):
        return Batches(self.sampler, self.batch_size, self.drop_last)


class Restoring(_BaseDataLoaderIter):
    """What both kinds of iterators do."""

    def begin(self, state):
        self.finished, self.handed_out = False, 0
        if state is not None:
            self._sampler_iter_yielded = state["yielded"]
            if stateful(self._index_sampler) or stateful(self._sampler_iter):
                if stateful(self._index_sampler):
                    self._index_sampler.load_state_dict(
                        state["index_sampler"])
                self._sampler_iter = iter(self._index_sampler)
                if state["iterator"] is not None:
                    self._sampler_iter.load_state_dict(state["iterator"])
            else:
                self._sampler_iter = itertools.islice(
                    self._index_sampler, self._sampler_iter_yielded, None)
            self._num_yielded = state["num_yielded"]
            self.finished = state["finished"]
        self.snapshots = [self.snapshot()]

    _sampler_iter_yielded = 0

    def _next_index(self):
        index = super()._next_index()
        self._sampler_iter_yielded += 1
        return index

    def snapshot(self):
        return {"index_sampler": ask(self._index_sampler),
                "iterator": ask(self._sampler_iter),
                "yielded": self._sampler_iter_yielded}

    def _reset(self, loader, first_iter=False):
        super()._reset(loader, first_iter)
        self.begin(loader.next_state)
        loader.next_state = None

    def __next__(self):
        try:
            return super().__next__()
        except StopIteration:
            self.finished = True
            raise

    def state_dict(self):
        return {**self.present(), "num_yielded": self._num_yielded,
                "finished": self.finished}


class Alone(_SingleProcessDataLoaderIter, Restoring):
    def __init__(self, loader):
        super().__init__(loader)
        self.begin(loader.next_state)
        loader.next_state = None

    def present(self):
        return self.snapshot()


class WithWorkers(_MultiProcessingDataLoaderIter, Restoring):
    def _next_index(self):
        index = super()._next_index()
        self.snapshots.append(self.snapshot())
        return index

    def _next_data(self):
        data = super()._next_data()
        self.handed_out += 1
        return data

    def present(self):
        return self.snapshots[self.handed_out]


class StatefulDataLoader(DataLoader):
    def __init__(self, dataset, batch_size=1, sampler=None, batch_sampler=None,
                 drop_last=False, **options):
        if batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        super().__init__(dataset, batch_sampler=batch_sampler, **options)
        self.next_state, self.made_for_a_state = None, False

    def _get_iterator(self):
        return Alone(self) if self.num_workers == 0 else WithWorkers(self)

    def __iter__(self):
        if self.made_for_a_state:
            self.made_for_a_state = False
        elif (self.persistent_workers and self.num_workers > 0 and
                self._iterator is not None):
            self._iterator._reset(self)
        else:
            self._iterator = self._get_iterator()
        if self._iterator.finished:
            if self.persistent_workers:
                self._iterator._reset(self)
            else:
                self._iterator = self._get_iterator()
        return self._iterator

    def state_dict(self):
        if self._iterator is None:
            self._iterator = self._get_iterator()
            self.made_for_a_state = True
        return self._iterator.state_dict()

    def load_state_dict(self, state):
        self._iterator, self.made_for_a_state = None, False
        self.next_state = state


class SamplerWrapper:
    __module__ = "torchdata.nodes.adapters"

    def __init__(self, sampler):
        self.sampler, self.epoch, self.started = sampler, 0, False

    def reset(self, state=None):
        if state is not None:
            self.epoch = state["epoch"]
            self.sampler.set_epoch(self.epoch)
            self.sampler.load_state_dict(state["sampler"])
        else:
            self.epoch += self.started
            self.sampler.set_epoch(self.epoch)
        self.iterator, self.started = iter(self.sampler), False

    def __next__(self):
        self.started = True
        return next(self.iterator)

    def state_dict(self):
        return {"epoch": self.epoch, "sampler": self.sampler.state_dict()}


class Loader:
    """Of nodes, over MapStyleWrapper(numbers, sampler)."""

    def __init__(self, sampler):
        self.root, self.next_state = SamplerWrapper(sampler), None

    def __iter__(self):
        self.root.reset(self.next_state)
        first, resumed = [], self.next_state is not None
        self.next_state = None
        if resumed:
            first = list(itertools.islice(iter(self.root.__next__, None), 1))
            if not first:
                self.root.reset()
        yield from itertools.chain(first, iter(self.root.__next__, None))

    def state_dict(self):
        return self.root.state_dict()

    def load_state_dict(self, state):
        self.next_state = state
