"""How torchdata 0.12.0a0 (pytorch/data 088e4347) calls samplers, written down
from torchdata/stateful_dataloader/stateful_dataloader.py and sampler.py; and
from torchdata/nodes/adapters.py and loader.py (e640e6fc).

- The DataLoader's own batch sampler has an iterator with state_dict and
  load_state_dict. Its state asks the sampler, if that has a state_dict.
- The batch sampler and its iterator are asked after each batch that is drawn,
  with workers ahead of the loop; the loader's state is that of the batch handed
  out last. (Without workers they are asked when it is.)
- A state is loaded into the batch sampler, then iter() is called on it, and
  then the state of the iterator is loaded into that; batches are drawn after.
- SamplerWrapper, of nodes, calls set_epoch before it loads the sampler's
  state, and before each later loop with the number that it has counted. Its
  Loader leaves out an empty loop after a load.
"""

import itertools

import torch
from torch.utils.data import DataLoader


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


class Drawn:
    """Draws batches for a loader, and notes the states after each."""

    def __init__(self, batches):
        self.batches, self.next_state, self.notes = batches, None, None

    def __len__(self):
        return len(self.batches)

    def __iter__(self):
        state, self.next_state = self.next_state, None
        if state is not None and stateful(self.batches):
            self.batches.load_state_dict(state["batches"])
        drawing = iter(self.batches)
        if state is not None and stateful(drawing):
            drawing.load_state_dict(state["iterator"])
        notes = self.notes = [self.note(drawing)]
        for batch in drawing:
            notes.append(self.note(drawing))
            yield batch

    def note(self, drawing):
        return {"batches": ask(self.batches), "iterator": ask(drawing)}


class StatefulDataLoader(DataLoader):
    def __init__(self, dataset, batch_size=1, sampler=None, batch_sampler=None,
                 drop_last=False, **options):
        if batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        super().__init__(dataset, batch_sampler=batch_sampler, **options)
        self.drawn, self.handed_out = Drawn(batch_sampler), 0
        self.drawing = DataLoader(dataset, batch_sampler=self.drawn, **options)

    def __iter__(self):
        self.handed_out = 0
        for batch in self.drawing:
            self.handed_out += 1
            yield batch

    def state_dict(self):
        return self.drawn.notes[self.handed_out] if self.drawn.notes else None

    def load_state_dict(self, state):
        self.drawn.next_state = state


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
