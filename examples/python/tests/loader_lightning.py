"""How Lightning 2.6.2 (Lightning-AI/pytorch-lightning at 7f0c3436cd) calls
samplers, written down from src/lightning/pytorch: loops/fit_loop.py,
loops/training_epoch_loop.py, loops/fetchers.py, utilities/data.py,
trainer/connectors/data_connector.py.

- In a distributed run, a sampler that is no DistributedSampler is wrapped in
  one, which deals its items, a list of them at each iter()
  (DistributedSamplerWrapper in src/lightning/fabric/utilities/distributed.py).
  It shuffles them where they are for training (_process_dataloader and
  _get_distributed_sampler in trainer/connectors/data_connector.py); in Fabric
  it does not (src/lightning/fabric/fabric.py, _get_distributed_sampler). A
  batch sampler that is not torch's is made again, by its class, around a
  sampler. Not so with use_distributed_sampler=False.
- A sanity check takes 2 batches from the validation's loader.
- The loader's len() is read once, after the states were loaded, and iter() is
  called before the first set_epoch.
- Each epoch: set_epoch with the epochs it has counted; iter(), but not in the
  first one of the process; then batches until it has counted len() of them,
  where an epoch that was resumed has those before the kill counted. It does
  not ask for more, and so sees no end. Before that an epoch ends where the
  loader does, or with max_steps. Without a len() nothing else ends it.
- Validation does the same, up to limit_val_batches.
- Each iter() and each batch is a fetcher's. It reads len() after it has
  called iter(), which is when worker processes are first given indices. Where
  there is no len(), it takes a batch ahead, and so knows the last one.
- A checkpoint says whether its batch was its epoch's last.
"""

import itertools
import math

from torch.utils.data import (BatchSampler, DataLoader, DistributedSampler,
                              RandomSampler, SequentialSampler)


class DistributedSamplerWrapper(DistributedSampler):
    """Deals what another sampler gives."""

    __module__ = "lightning.fabric.utilities.distributed"

    def __init__(self, sampler, **options):
        super().__init__(range(len(sampler)), **options)
        self.sampler = sampler

    def __iter__(self):
        items = list(self.sampler)
        return (items[i] for i in super().__iter__())


def inject(loader, world, rank):
    """What use_distributed_sampler=True does to a loader."""
    if isinstance(loader.sampler, DistributedSampler):
        return loader
    options = dict(num_replicas=world, rank=rank, shuffle=True)
    if isinstance(loader.sampler, (RandomSampler, SequentialSampler)):
        sampler = DistributedSampler(loader.dataset, **options)
    else:
        sampler = DistributedSamplerWrapper(loader.sampler, **options)
    batches = loader.batch_sampler
    if type(batches) is not BatchSampler:
        batches = type(batches)(sampler, batch_size=batches.batch_size,
                                drop_last=batches.drop_last)
        return DataLoader(loader.dataset, batch_sampler=batches)
    return DataLoader(loader.dataset, loader.batch_size, sampler=sampler)


class _PrefetchDataFetcher:
    __module__ = "lightning.pytorch.loops.fetchers"

    def __init__(self, loader, prefetch_batches=1):
        self.loader, self.prefetch_batches = loader, prefetch_batches
        self.length = None

    def __iter__(self):
        self.iterator, self.batches = iter(self.loader), []
        try:
            self.length = len(self.loader)
        except TypeError:
            self.length = None
        if self.length is None:
            for _ in range(self.prefetch_batches):
                self.batches.append(next(self.iterator))
        return self

    def __next__(self):
        self.batches += itertools.islice(self.iterator, 1)
        if not self.batches:
            raise StopIteration
        batch = self.batches.pop(0)
        self.done = self.length is None and not self.batches
        return batch


class Trainer:
    def __init__(self, epochs=3, limit_val_batches=None, max_steps=-1,
                 inject_into=None):
        self.epochs, self.limit = epochs, limit_val_batches
        self.max_steps, self.inject_into = max_steps, inject_into
        self.processed = self.ready = self.steps = 0
        self.last = False       # It was an epoch's last batch.

    def state_dict(self):
        return {"processed": self.processed, "ready": self.ready,
                "steps": self.steps, "last": self.last}

    def fit(self, train, val, training_step, validation_step, resume=None):
        restarting = resume is not None
        if restarting:
            vars(self).update(resume)
        if self.inject_into:
            train = inject(train, *self.inject_into)
        for _ in self.some(val, 2):     # the sanity check
            pass
        try:
            length = len(train)
        except TypeError:
            length = math.inf
        if restarting and self.last:
            self.next_epoch()
        iterator = iter(_PrefetchDataFetcher(train))
        first = True
        while self.processed < self.epochs and self.steps != self.max_steps:
            self.set_epoch(train)
            if not first:
                iterator = iter(_PrefetchDataFetcher(train))
            first = False
            while not self.last and self.steps != self.max_steps:
                try:
                    batch = next(iterator)
                except StopIteration:
                    break
                self.ready, self.steps = self.ready + 1, self.steps + 1
                self.last = iterator.done or self.ready == length
                training_step(batch)
            if not self.last and self.steps == self.max_steps:
                return
            self.set_epoch(val)
            for batch in self.some(val, self.limit):
                validation_step(batch)
            self.next_epoch()

    def next_epoch(self):
        self.processed, self.ready = self.processed + 1, 0
        self.last = False

    def set_epoch(self, loader):
        for sampler in {loader.sampler,
                        getattr(loader.batch_sampler, "sampler", None)}:
            if hasattr(sampler, "set_epoch"):
                sampler.set_epoch(self.processed)

    def some(self, loader, limit):
        count = len(loader) if limit is None else min(limit, len(loader))
        iterator = iter(_PrefetchDataFetcher(loader))
        return [next(iterator) for _ in range(count)]
