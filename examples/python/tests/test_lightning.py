"""The samplers under Lightning: every sample exactly once an epoch, through a
kill, on two ranks.

The trainer is loader_lightning's, and Lightning's own where it is installed:
2.6.2 (7f0c3436cd) is what this was written for. Before 2.5 a checkpoint of an
epoch's last batch, saved in on_train_batch_end, has that batch still to come.
"""

import itertools
import os
import tempfile
import unittest
from unittest import mock

from common import DataLoader, Uncounted, main, real
from loader_lightning import (
    DistributedSamplerWrapper, Trainer, _PrefetchDataFetcher, inject)
from statesampler import (
    CountedBatchSampler, CountingDataLoader, PackedBatchSampler, RepeatSampler,
    SpreadBatchSampler, StatefulLoader)
from statesampler import RoundRobinBatchSampler as RoundRobin
from statesampler import StatefulDistributedSampler as Distributed
import torch
from torch.utils.data import BatchSampler, DistributedSampler

N, EPOCHS, WORLD = 40, 3, 2


class Killed(Exception):
    pass


def flat(rank, workers):
    sampler = Distributed(range(N), WORLD, rank, seed=7)
    return sampler, DataLoader(range(N), 3, sampler=sampler,
                               num_workers=workers)


def mixed(rank, workers):
    sampler = RoundRobin([N // 2, N // 2], 5, rank, WORLD, stop="all")
    return sampler, StatefulLoader(Uncounted(
        range(N), batch_sampler=sampler, num_workers=workers), sampler)


class Sized(StatefulLoader):
    """What frameworks.md says for what has no len(), which Lightning would read
    ahead of: its loop then ends where the loader does."""

    def __len__(self):
        return 10**9


def spread(rank, workers):
    sampler = SpreadBatchSampler([i % 8 for i in range(N)], 4, rank, WORLD)
    return sampler, DataLoader(range(N), batch_sampler=sampler,
                               num_workers=workers)


def packs(rank, ranks=WORLD, workers=0, **options):
    """Of 21 to 24 packs an epoch."""
    sampler = PackedBatchSampler([5 + i * i % 11 for i in range(N)], 20, rank,
                                 ranks, plan_size=5, **options)
    loader = Uncounted(range(N), batch_sampler=sampler, num_workers=workers)
    return sampler, Sized(loader, sampler) if sampler.endless else loader


def validation(rank):
    return DataLoader(range(N), 4, sampler=Distributed(range(N), WORLD, rank,
                                                       seed=1))


class Lightning(unittest.TestCase):
    def fetcher(self, loader):
        return _PrefetchDataFetcher(loader)

    def inject(self, loader):
        return inject(loader, WORLD, 0)

    def fit(self, make, rank, workers, stop=None, checkpoint=None, **options):
        """What a process trains and validates on, and its last checkpoint."""
        sampler, train = make(rank, workers)
        if checkpoint:
            sampler.load_state_dict(checkpoint["sampler"])
        trainer = Trainer(EPOCHS, inject_into=(
            (WORLD, rank) if options.pop("use_distributed_sampler", True)
            else None), **options)
        trained, validated, saved = [], [], None

        def step(batch):
            nonlocal saved
            trained.append(batch)
            # What has no len() is read ahead of; Lightning knows the batch.
            saved = {"sampler": sampler.state_dict() if isinstance(
                        train, (StatefulLoader, CountingDataLoader)) else
                            sampler.state_dict(epoch=trainer.processed,
                                               batches=trainer.ready),
                     "trainer": trainer.state_dict()}
            if len(trained) == stop:
                raise Killed

        try:
            trainer.fit(train, validation(rank), step, validated.append,
                        checkpoint and checkpoint["trainer"])
        except Killed:
            pass
        return trained, validated, saved

    def test_without_a_len(self):
        """It gets one, so that no batch is fetched ahead of the loop."""
        def fetched(workers=0):
            sampler = Distributed(range(N), 1, 0, tail="carry", batch_size=4)
            return sampler, self.fetcher(Sized(Uncounted(
                range(N), 4, sampler=sampler, num_workers=workers), sampler))

        for workers in 0, 1:
            sampler, fetcher = fetched(workers)
            taken = []
            for batch in itertools.islice(fetcher, 7):
                taken += batch
                self.assertEqual(sampler.start_iter, len(taken) // 4)
            resumed, fetcher = fetched()
            resumed.load_state_dict(sampler.state_dict())
            for batch in itertools.islice(fetcher, 3):
                taken += batch
            self.assertEqual(sorted(taken), list(range(N)))

    def test_every_batch(self):
        for make, injected in (flat, True), (flat, False), (mixed, False), (
                spread, False):
            whole = [self.fit(make, rank, 0, use_distributed_sampler=injected)
                     for rank in range(WORLD)]
            length = len(make(0, 0)[1])
            for epoch in range(EPOCHS):
                seen = [sum(trained[epoch * length:][:length], [])
                        for trained, _, _ in whole]
                self.assertEqual(sorted(sum(seen, [])), list(range(N)))
            for rank, workers in (0, 0), (1, 0), (1, 1):
                trained, _, _ = whole[rank]
                self.assertEqual(len(trained), EPOCHS * length)
                stops = range(1, len(trained)) if not workers else (
                    2, length, length + 1)
                for stop in stops:
                    begun, _, saved = self.fit(
                        make, rank, workers, stop,
                        use_distributed_sampler=injected)
                    left, _, _ = self.fit(
                        make, rank, workers, checkpoint=saved,
                        use_distributed_sampler=injected)
                    self.assertEqual(begun + left, trained)

    def test_validation(self):
        """The sanity check costs nothing, and what is limited sees the same
        samples whenever the epoch is."""
        for limit in None, 2:
            _, whole, _ = self.fit(flat, 0, 0, limit_val_batches=limit)
            count = limit or 5
            self.assertEqual(len(whole), EPOCHS * count)
            val = Distributed(range(N), WORLD, 0, seed=1)
            for epoch in range(EPOCHS):
                val.begin(epoch)
                self.assertEqual(
                    sum(whole[epoch * count:][:count], []),
                    list(val)[:4 * count])

    def test_max_steps(self):
        trained, _, saved = self.fit(flat, 0, 0, max_steps=9)
        whole, _, _ = self.fit(flat, 0, 0)
        self.assertEqual(trained, whole[:9])
        left, _, _ = self.fit(flat, 0, 0, checkpoint=saved, max_steps=13)
        self.assertEqual(left, whole[9:13])

    def stops(self, _, count):
        """After how many batches a run without len() may stop."""
        return range(1, count + 1)

    def test_packs(self):
        """Their epochs differ in length, so they have no len(): it serves all
        of each, or max_steps."""
        (alone, _), (two, _) = packs(0, 1, seed=11), packs(0, seed=11)
        wanted = sum((list(alone) for _ in range(6)), [])
        steps = [len(list(two)) for _ in range(EPOCHS)]
        self.assertGreater(max(steps), steps[0])
        for most, count in (-1, sum(steps)), (25, 25):
            options = dict(use_distributed_sampler=False, max_steps=most)

            def make(rank, workers):
                return packs(rank, workers=workers, seed=11, endless=most > 0)

            for rank, workers in (0, 0), (1, 1):
                for stop in (10, 24) if workers else self.stops(steps, count):
                    begun, _, saved = self.fit(make, rank, workers, stop,
                                               **options)
                    left, _, _ = self.fit(make, rank, workers,
                                          checkpoint=saved, **options)
                    self.assertEqual(begun + left,
                                     wanted[rank:2 * count:2])

    def test_it_is_a_distributed_sampler(self):
        """With its attributes, and without a process group."""
        ours = Distributed(range(25), 3, 1, seed=4, drop_last=True)
        theirs = DistributedSampler(range(25), 3, 1, seed=4, drop_last=True)
        self.assertIsInstance(ours, DistributedSampler)
        for name in vars(theirs):
            if name != "dataset":
                self.assertEqual(getattr(ours, name), getattr(theirs, name))
        self.assertEqual(len(ours), len(theirs))

    def test_groups_are_not_taken_apart(self):
        """In none of its packages."""
        for package in "lightning", "lightning_fabric", "pytorch_lightning":
            sampler = RepeatSampler(range(N), 4, 2, seed=1)
            with mock.patch.object(DistributedSamplerWrapper, "__module__",
                                   f"{package}.utilities.distributed"):
                loader = self.inject(Uncounted(range(N), 4, sampler=sampler))
                with self.assertRaisesRegex(RuntimeError,
                                            "of RepeatSampler apart"):
                    StatefulLoader(loader, sampler)
            self.assertEqual(sampler.start_iter, 0)
            self.assertEqual(len(list(sampler)), 4 * N)

    def test_batch_samplers_are_not_made_again(self):
        """Neither around a sampler that Lightning makes, nor by keyword."""
        own = Distributed(range(9), 1, 0)
        for loader in mixed(0, 0)[1].loader, *(
                Uncounted(range(9), batch_sampler=batches) for batches in (
                    PackedBatchSampler(9 * [1], 3, 0, 1),
                    SpreadBatchSampler(range(9), 3, 0, 1),
                    CountedBatchSampler(BatchSampler(own, 3, False), own))):
            with self.assertRaisesRegex(TypeError,
                                        "use_distributed_sampler=False"):
                self.inject(loader)
        for sampler in Distributed(range(9), 1, 0), DistributedSampler(
                range(9), 1, 0):
            with self.assertRaisesRegex(TypeError, type(sampler).__name__):
                RoundRobin(sampler, batch_size=2, drop_last=False)
            with self.assertRaisesRegex(TypeError, type(sampler).__name__):
                RoundRobin(sampler=sampler, batch_size=2, drop_last=False)


@real("lightning")
class RealLightning(Lightning):
    """One process, whose sampler is told of two: nothing is injected then."""

    def setUp(self):
        from lightning import __version__
        if tuple(map(int, __version__.split(".")[:2])) < (2, 5):
            self.skipTest("PyTorch, inside lightning itself: lightning 2.5 is "
                          "not here")

    def fetcher(self, loader):
        from lightning.pytorch.loops.fetchers import _PrefetchDataFetcher
        from lightning.pytorch.utilities.combined_loader import CombinedLoader
        fetcher = _PrefetchDataFetcher()
        fetcher.setup(CombinedLoader(loader, "max_size_cycle"))
        for batch, *_ in fetcher:
            yield batch

    def inject(self, loader):
        from lightning.pytorch.trainer.connectors import data_connector
        from lightning.pytorch.utilities.data import _update_dataloader
        return _update_dataloader(
            loader, data_connector._get_distributed_sampler(
                loader, True, 0, num_replicas=WORLD, rank=0))

    def stops(self, steps, count):
        """Not right after an epoch's last batch: Lightning 2.6.2 then counts
        the next epoch's batches wrong."""
        return {*range(1, count + 1)} - {*itertools.accumulate(steps)}

    def fit(self, make, rank, workers, stop=None, checkpoint=None, **options):
        import lightning.pytorch
        sampler, train = make(rank, workers)
        if checkpoint:
            sampler.load_state_dict(checkpoint["sampler"])
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = os.path.join(folder.name, "checkpoint")
        trainer = lightning.pytorch.Trainer(
            accelerator="cpu", devices=1, max_epochs=EPOCHS, logger=False,
            enable_checkpointing=False, enable_progress_bar=False,
            enable_model_summary=False, **options)
        trained, validated, saved = [], [], None

        class Module(lightning.pytorch.LightningModule):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(1, 1)

            def configure_optimizers(self):
                return torch.optim.SGD(self.parameters(), lr=.1)

            def training_step(self, batch, _):
                trained.append(batch)
                return self.layer(torch.ones(1)).sum()

            def validation_step(self, batch, _):
                if not trainer.sanity_checking:
                    validated.append(batch)

            def on_train_batch_end(self, *_):
                nonlocal saved
                trainer.save_checkpoint(path)
                progress = trainer.fit_loop.epoch_loop.batch_progress
                saved = {"sampler": sampler.state_dict() if isinstance(
                             train, (StatefulLoader, CountingDataLoader)) else
                             sampler.state_dict(
                                 epoch=trainer.current_epoch,
                                 batches=progress.current.ready),
                         "trainer": path}
                if len(trained) == stop:
                    raise Killed

        try:
            trainer.fit(Module(), train, validation(rank),
                        ckpt_path=checkpoint and checkpoint["trainer"])
        except Killed:
            pass
        return trained, validated, saved


if __name__ == "__main__":
    main()
