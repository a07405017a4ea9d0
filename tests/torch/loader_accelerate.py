"""How accelerate 1.15.0.dev0 (16cb6eb8) calls samplers, written down from
src/accelerate/data_loader.py: what prepare() makes of a DataLoader; and what
the Trainer of transformers (000945a9) makes of that, from trainer.py.

- With several processes, a batch sampler that draws a batch for each of them
  stands around the DataLoader's, which is not sharded itself. It hands its
  own out when each process has one.
- At the end of an epoch, where the processes' batches are not all full, it
  fills them with the first samples that this loop took (even_batches, its
  default), unless the DataLoader has drop_last.
- Each iter() calls set_epoch with a number that counts from 0 in the process,
  on the sampler under one or two batch samplers; before 1.7.0, under one.
- It takes a batch from the DataLoader before it hands out the one before.
- DataLoaderDispatcher (dispatch_batches=True) takes a batch for each process,
  on one of them, before it hands out the group before, all of it to be split;
  with split_batches=True, one.
- The Trainer makes its loader before it reads a checkpoint's step. It calls
  set_epoch with the epoch it has counted, and skips the batches it has counted
  by a batch sampler that draws and forgets them, but not with
  ignore_data_skip. The loader that is made for this counts on from the other
  one's epochs, but from 0 in accelerate 1.7.0 to 1.9.0. Of an epoch's loader
  it asks for as many batches as it has without a skip, and no more. With
  max_steps it counts the epochs that so many steps begin. Where the loader has
  no len(), it needs max_steps, and that is an epoch's length.
"""

import itertools
import os
import types

import torch
from torch.utils.data import BatchSampler, DataLoader


class BatchSamplerShard(BatchSampler):
    __module__ = "accelerate.data_loader"

    def __init__(self, batches, processes, process, even_batches=True):
        self.batch_sampler, self.batch_size = batches, batches.batch_size
        self.drop_last = batches.drop_last
        self.num_processes, self.process_index = processes, process
        self.even_batches = even_batches

    def __iter__(self):
        group, first, filled = [], [], self.num_processes * self.batch_size
        for batch in self.batch_sampler:
            if len(first) < filled:
                first += batch
            group.append(batch)
            if sum(map(len, group)) == filled:
                yield group[self.process_index]
                group = []
        if group and not self.drop_last:
            if self.even_batches:
                rest = list(itertools.islice(itertools.chain(
                    *group, itertools.cycle(first)), filled))
                group = [rest[at:at + self.batch_size]
                         for at in range(0, filled, self.batch_size)]
            yield from group[self.process_index:self.process_index + 1]

    def __len__(self):
        groups, rest = divmod(len(self.batch_sampler), self.num_processes)
        if self.drop_last:
            return groups
        return groups + (rest > 0 if self.even_batches else
                         self.process_index < rest)


class SkipBatchSampler(BatchSampler):
    __module__ = "accelerate.data_loader"

    def __init__(self, batches, skip_batches):
        self.batch_sampler, self.skip_batches = batches, skip_batches

    def __iter__(self):
        for i, batch in enumerate(self.batch_sampler):
            if i >= self.skip_batches:
                yield batch

    def __len__(self):
        return len(self.batch_sampler) - self.skip_batches


class DataLoaderShard:
    __module__ = "accelerate.data_loader"

    depth = 3   # Up to which batch sampler's sampler set_epoch is called.

    def __init__(self, loader, processes=1, process=0, iteration=0,
                 even_batches=True):
        self.iteration = iteration
        if processes > 1:
            loader = DataLoader(
                loader.dataset, num_workers=loader.num_workers,
                collate_fn=loader.collate_fn,
                batch_sampler=BatchSamplerShard(loader.batch_sampler,
                                                processes, process,
                                                even_batches))
        self.base, self.batch_sampler = loader, loader.batch_sampler

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
        for _ in range(self.depth):
            if hasattr(getattr(batches, "sampler", None), "set_epoch"):
                batches.sampler.set_epoch(epoch)
            batches = getattr(batches, "batch_sampler", None)


class DataLoaderDispatcher:
    """What the process that draws hands out to all."""

    __module__ = "accelerate.data_loader"

    def __init__(self, loader, processes, split_batches=False):
        self.base, self.split_batches = loader, split_batches
        self.state = types.SimpleNamespace(num_processes=processes)
        self._drop_last, self.iteration = loader.drop_last, 0

    def _fetch_batches(self, iterator):
        count = 1 if self.split_batches else self.state.num_processes
        batches = []
        for _ in range(count):
            try:
                batches.append(next(iterator))
            except StopIteration:
                return [] if self._drop_last else batches, True
        return batches, False

    def __iter__(self):
        self.base.batch_sampler.sampler.set_epoch(self.iteration)
        iterator = iter(self.base)
        group, ended = self._fetch_batches(iterator)
        while group:
            following, ended = ([], True) if ended else self._fetch_batches(
                iterator)
            yield group
            group = following
        self.iteration += 1


def length(loader, max_steps):
    try:
        return len(loader)
    except TypeError:
        if max_steps <= 0:
            raise
        return max_steps


def skip_first_batches(shard, skipped, counts_on):
    batches = SkipBatchSampler(shard.base.batch_sampler, skipped)
    return DataLoaderShard(
        DataLoader(shard.base.dataset, batch_sampler=batches,
                   num_workers=shard.base.num_workers,
                   collate_fn=shard.base.collate_fn),
        iteration=shard.iteration if counts_on else 0)


def trainer(shard, epochs, steps_done, counts_on=True, ignore_data_skip=False,
            max_steps=-1):
    """Batches as the Trainer takes them, from the step that its checkpoint
    has counted."""
    for epoch in range(steps_done // length(shard, max_steps), epochs):
        loader = shard
        if hasattr(loader, "set_epoch"):
            loader.set_epoch(epoch)
        skipped = steps_done % length(shard, max_steps)
        if skipped and not ignore_data_skip:
            loader = skip_first_batches(shard, skipped, counts_on)
            steps_done = 0
        yield from itertools.islice(loader, length(shard, max_steps))


class Trainer:
    """What transformers.Trainer does with its dataset, its sampler and the
    folders of its checkpoints, of which it makes one for each step."""

    def __init__(self, train_dataset, batch_size, processes, process, seed,
                 folder=None):
        self.train_dataset, self._train_batch_size = train_dataset, batch_size
        self.args = types.SimpleNamespace(
            seed=seed, output_dir=folder, should_save=process == 0,
            ignore_data_skip=False, world_size=processes,
            process_index=process, max_steps=-1, dataloader_num_workers=0,
            dataloader_pin_memory=False, dataloader_drop_last=False)
        self.data_collator = torch.tensor
        self.place = processes, process
        self.state = types.SimpleNamespace(global_step=0)

    def _get_collator_with_removed_columns(self, collate, description=None):
        return lambda samples: collate([
            {"input": each["input"]} if isinstance(each, dict) else each
            for each in samples])

    def get_train_dataloader(self):
        return DataLoaderShard(DataLoader(
            self.train_dataset, self._train_batch_size,
            sampler=self._get_train_sampler(self.train_dataset)), *self.place)

    def steps(self, epochs, steps_done):
        shard, count = self.get_train_dataloader(), None
        if self.args.max_steps > 0:
            epochs = -(-self.args.max_steps // length(shard,
                                                      self.args.max_steps))
            count = self.args.max_steps - steps_done
        return itertools.islice(trainer(
            shard, epochs, steps_done,
            ignore_data_skip=self.args.ignore_data_skip,
            max_steps=self.args.max_steps), count)

    def train(self, resume_from_checkpoint=None):
        folder = resume_from_checkpoint or "-0"
        done = int(folder.rpartition("-")[2])
        for step, batch in enumerate(self.steps(3, done), done + 1):
            self.training_step(None, {"index": batch})
            self.state.global_step = step
            self._save_checkpoint(None, None)

    def _save_checkpoint(self, model, trial):
        if self.args.should_save:
            os.makedirs(f"{self.args.output_dir}/checkpoint-"
                        f"{self.state.global_step}", exist_ok=True)
