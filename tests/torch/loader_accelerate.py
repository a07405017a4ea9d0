"""How accelerate 1.15.0.dev0 (16cb6eb8) calls samplers, written down from
src/accelerate/data_loader.py: what prepare() makes of a DataLoader; and what
the Trainer of transformers (000945a9) makes of that, from trainer.py.

- With several processes, a batch sampler that draws a batch for each of them
  stands around the DataLoader's, which is not sharded itself. It hands its
  own out when each process has one.
- Each iter() calls set_epoch with a number that counts from 0 in the process,
  on the sampler under one or two batch samplers.
- It takes a batch from the DataLoader before it hands out the one before.
- The Trainer calls set_epoch with the epoch it has counted, and skips the
  batches it has counted by a batch sampler that draws and forgets them.
"""

from torch.utils.data import BatchSampler, DataLoader


class BatchSamplerShard(BatchSampler):
    def __init__(self, batches, processes, process):
        self.batch_sampler, self.batch_size = batches, batches.batch_size
        self.processes, self.process = processes, process

    def __iter__(self):
        """Without its padding at the end: the tests leave no rest."""
        group = []
        for batch in self.batch_sampler:
            group.append(batch)
            if len(group) == self.processes:
                yield group[self.process]
                group = []

    def __len__(self):
        return len(self.batch_sampler) // self.processes


class SkipBatchSampler(BatchSampler):
    def __init__(self, batches, skipped):
        self.batch_sampler, self.skipped = batches, skipped

    def __iter__(self):
        for i, batch in enumerate(self.batch_sampler):
            if i >= self.skipped:
                yield batch

    def __len__(self):
        return len(self.batch_sampler) - self.skipped


class DataLoaderShard:
    def __init__(self, loader, processes=1, process=0, iteration=0):
        self.iteration = iteration
        if processes > 1:
            loader = DataLoader(
                loader.dataset, num_workers=loader.num_workers,
                batch_sampler=BatchSamplerShard(loader.batch_sampler,
                                                processes, process))
        self.base = loader

    def __len__(self):
        return len(self.base)

    def __iter__(self):
        self.set_epoch(self.iteration)
        ahead = iter(self.base)
        try:
            batch = next(ahead)
        except StopIteration:
            return      # 1.2.1 raised UnboundLocalError here.
        while True:
            try:
                following = next(ahead)
            except StopIteration:
                yield batch
                break
            yield batch
            batch = following
        self.iteration += 1

    def set_epoch(self, epoch):
        self.iteration = epoch
        batches = self.base.batch_sampler
        for depth in range(3):
            if hasattr(getattr(batches, "sampler", None), "set_epoch"):
                batches.sampler.set_epoch(epoch)
            batches = getattr(batches, "batch_sampler", None)


def skip_first_batches(shard, skipped):
    batches = SkipBatchSampler(shard.base.batch_sampler, skipped)
    return DataLoaderShard(
        DataLoader(shard.base.dataset, batch_sampler=batches,
                   num_workers=shard.base.num_workers),
        iteration=shard.iteration)


def trainer(shard, epochs, steps_done):
    """Batches as the Trainer takes them, from the step that its checkpoint
    has counted."""
    for epoch in range(steps_done // len(shard), epochs):
        loader = shard
        loader.set_epoch(epoch)
        skipped = steps_done % len(shard)
        if skipped:
            loader = skip_first_batches(shard, skipped)
            steps_done = 0
        yield from loader
