"""How accelerate 1.14.0 and 1.15.0.dev0 (16cb6eb8) call samplers, written down
from src/accelerate/data_loader.py: what prepare() makes of a DataLoader; and
what the Trainer of transformers 5.12.1 and 000945a9 makes of that, from
trainer.py.

- With several processes, a batch sampler that draws a batch for each of them
  stands around the DataLoader's, which is not sharded itself. It hands its
  own out when each process has one.
- At the end of an epoch, where the processes' batches are not all full, it
  fills them with the first samples that this loop took (even_batches, its
  default), unless the DataLoader has drop_last.
- Each iter() calls set_epoch with a number that counts from 0 in the process,
  on the batch sampler, and on the sampler under one or two of them; before
  1.7.0, under one. So a loader that skips reaches no sampler that is dealt to
  several processes: that is under three.
- Whatever it is given, it makes DataLoaders of torch's of the batch sampler.
- It takes a batch from the DataLoader before it hands out the one before.
- DataLoaderDispatcher (dispatch_batches=True) takes a batch for each process,
  on one of them, before it hands out the group before, all of it to be split;
  with split_batches=True, one. The others only make an iterator, and call
  set_epoch, all of them under one batch sampler.
- The Trainer makes its loader before it reads a checkpoint's step. It calls
  set_epoch with the epoch it has counted, and skips the batches it has counted
  by a batch sampler that draws and forgets them, but not with
  ignore_data_skip. 000945a9 calls set_epoch before it makes the loader that
  skips, 5.12.1 calls that of the loader it has made. That one counts on from
  the other one's epochs in 16cb6eb8, and from 0 in 1.7.0 to 1.14.0. Of an
  epoch's loader it asks for as many batches as it has without a skip, and no
  more. Before, it tells its callbacks that an epoch begins. With
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


def rebuilt(loader, batches):
    """A DataLoader of torch's, whatever the loader was."""
    return DataLoader(loader.dataset, num_workers=loader.num_workers,
                      collate_fn=loader.collate_fn, batch_sampler=batches)


class DataLoaderShard:
    __module__ = "accelerate.data_loader"

    depth = 2   # Up to which batch sampler's sampler set_epoch is called.

    def __init__(self, loader, processes=1, process=0, iteration=0,
                 even_batches=True):
        self.iteration, batches = iteration, loader.batch_sampler
        if processes > 1:
            batches = BatchSamplerShard(batches, processes, process,
                                        even_batches)
        self.base, self.batch_sampler = rebuilt(loader, batches), batches
        self.num_workers = loader.num_workers
        self.prefetch_factor = loader.prefetch_factor

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
        if hasattr(batches, "set_epoch"):
            batches.set_epoch(epoch)
        for _ in range(self.depth):
            if hasattr(getattr(batches, "sampler", None), "set_epoch"):
                batches.sampler.set_epoch(epoch)
            batches = getattr(batches, "batch_sampler", None)


class DataLoaderDispatcher:
    """What the process that draws, 0, hands out to all; `groups` is how many
    times it hands something to another process."""

    __module__ = "accelerate.data_loader"

    def __init__(self, loader, processes, split_batches=False, process=0,
                 groups=0):
        self.base = rebuilt(loader, loader.batch_sampler)
        self.split_batches = split_batches
        self.batch_sampler, self.groups = loader.batch_sampler, groups
        self.state = types.SimpleNamespace(num_processes=processes,
                                           process_index=process)
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
        self.set_epoch(self.iteration)
        iterator = iter(self.base)
        if self.state.process_index > 0:
            yield from [[]] * self.groups
            self.iteration += 1
            return
        group, ended = self._fetch_batches(iterator)
        while group:
            following, ended = ([], True) if ended else self._fetch_batches(
                iterator)
            yield group
            group = following
        self.iteration += 1

    def set_epoch(self, epoch):
        self.iteration = epoch
        sampler = getattr(self.batch_sampler, "sampler", None)
        if hasattr(sampler, "set_epoch"):
            sampler.set_epoch(epoch)


def length(loader, max_steps):
    try:
        return len(loader)
    except TypeError:
        if max_steps <= 0:
            raise
        return max_steps


def skip_first_batches(shard, skipped, counts_on=False):
    batches = SkipBatchSampler(shard.base.batch_sampler, skipped)
    return DataLoaderShard(rebuilt(shard.base, batches),
                           iteration=shard.iteration if counts_on else 0)


def trainer(shard, epochs, steps_done, skips_first=True, counts_on=False,
            ignore_data_skip=False, max_steps=-1, callbacks=()):
    """Batches as the Trainer takes them, from the step that its checkpoint
    has counted."""
    state = types.SimpleNamespace(
        epoch=steps_done / length(shard, max_steps))
    for epoch in range(steps_done // length(shard, max_steps), epochs):
        for each in callbacks:
            each.on_epoch_begin(None, state, None)
        loader = shard
        skipped = steps_done % length(shard, max_steps)
        steps_done = 0
        if not skips_first:
            set_epoch(loader, epoch)
        if skipped and not ignore_data_skip:
            loader = skip_first_batches(shard, skipped, counts_on)
        if skips_first:
            set_epoch(loader, epoch)
        yield from itertools.islice(loader, length(shard, max_steps))
        state.epoch = epoch + 1


def set_epoch(loader, epoch):
    if hasattr(loader, "set_epoch"):
        loader.set_epoch(epoch)


class TrainerCallback:
    """transformers' has more methods, which do nothing."""


def tells(sampler):
    """A callback for a Trainer's loop, which tells a sampler the epoch."""
    class Telling:
        def on_epoch_begin(self, args, state, control, **options):
            sampler.set_epoch(int(state.epoch))
    return Telling()


class Trainer:
    """What transformers.Trainer does with its dataset, its sampler and the
    folders of its checkpoints, of which it makes one for each step."""

    epochs, skips_first = 3, True

    def __init__(self, train_dataset, batch_size, processes, process, seed,
                 folder=None):
        self.train_dataset, self._train_batch_size = train_dataset, batch_size
        self.args = types.SimpleNamespace(
            seed=seed, output_dir=folder, should_save=process == 0,
            ignore_data_skip=False, world_size=processes,
            process_index=process, max_steps=-1, dataloader_num_workers=0,
            dataloader_pin_memory=False, dataloader_drop_last=False)
        self.data_collator = torch.tensor
        self.place, self.callbacks = (processes, process), []
        self.state = types.SimpleNamespace(global_step=0)

    def _get_collator_with_removed_columns(self, collate, description=None):
        return lambda samples: collate([
            {"input": each["input"]} if isinstance(each, dict) else each
            for each in samples])

    def get_train_dataloader(self):
        return DataLoaderShard(DataLoader(
            self.train_dataset, self._train_batch_size,
            sampler=self._get_train_sampler(self.train_dataset)), *self.place)

    def add_callback(self, callback):
        self.callbacks.append(callback)

    def steps(self, steps_done):
        shard, count, epochs = self.get_train_dataloader(), None, self.epochs
        if self.args.max_steps > 0:
            epochs = -(-self.args.max_steps // length(shard,
                                                      self.args.max_steps))
            count = self.args.max_steps - steps_done
        return itertools.islice(trainer(
            shard, epochs, steps_done, self.skips_first,
            ignore_data_skip=self.args.ignore_data_skip,
            max_steps=self.args.max_steps, callbacks=self.callbacks), count)

    def train(self, resume_from_checkpoint=None):
        folder = resume_from_checkpoint or "-0"
        done = int(folder.rpartition("-")[2])
        for step, batch in enumerate(self.steps(done), done + 1):
            self.training_step(None, {"index": batch})
            self.state.global_step = step
            self._save_checkpoint(None, None)

    def _save_checkpoint(self, model, trial):
        if self.args.should_save:
            os.makedirs(f"{self.args.output_dir}/checkpoint-"
                        f"{self.state.global_step}", exist_ok=True)
