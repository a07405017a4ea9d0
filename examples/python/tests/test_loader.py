"""CountingDataLoader, which counts what it returns: with it, whatever
test_state.py asks holds too, and no call stack is looked at."""

import copy
import functools
import inspect
import itertools
import unittest
from unittest import mock
import warnings

from common import DataLoader, STARTS, main
from statesampler import RepeatSampler, CountingDataLoader, _watch
from statesampler import RoundRobinBatchSampler as RoundRobin
from statesampler import StatefulDistributedSampler as Distributed
from test_loops import Failing
import test_state
import torch
from torch.utils.data import (
    BatchSampler, Dataset, IterableDataset, get_worker_info)
from torch.utils.data.dataloader import _MultiProcessingDataLoaderIter

Counting = functools.partial(CountingDataLoader, collate_fn=list)

SAME = [
    "test_every_batch", "test_every_batch_with_workers",
    "test_resumed_with_workers", "test_workers_do_prefetch",
    "test_a_loop_that_is_left", "test_a_look_at_the_last_batch",
    "test_set_epoch_after_a_look_at_the_last_batch",
    "test_a_loop_without_a_batch", "test_elastic", "test_uneven",
    "test_round_robin_elastic"]


class Loader(unittest.TestCase):
    interrupted_everywhere = test_state.States.interrupted_everywhere
    some_of_each = test_state.States.some_of_each

    def setUp(self):
        find = _watch.Watch.find

        def not_in_a_loader():
            assert find() is None, "the stack is looked at"

        for patch in (mock.patch.object(test_state, "DataLoader", Counting),
                      mock.patch.object(_watch.Watch, "find",
                                        not_in_a_loader)):
            patch.start()
            self.addCleanup(patch.stop)

    def test_its_arguments(self):
        """All that torch's takes, with a sampler of ours."""
        for make, how in (
                (lambda: Distributed(range(20), 1, 0), dict(batch_size=3)),
                (lambda: RepeatSampler(range(20), 2, 4), dict(batch_size=3)),
                (lambda: Distributed(range(20), 1, 0), dict(batch_size=None,
                                                            collate_fn=None)),
                (lambda: Distributed(range(20), 1, 0), BatchSampler),
                (lambda: RoundRobin([9, 11], 3, 0, 1), None)):
            def over(sampler):
                return Counting(range(20), **(
                    dict(batch_sampler=sampler) if how is None else
                    dict(batch_sampler=how(sampler, 3, True)) if
                    how is BatchSampler else {**how, "sampler": sampler}))

            whole = list(over(make()))
            for stop in range(1, len(whole)):
                sampler = make()
                self.assertEqual(list(itertools.islice(over(sampler), stop)),
                                 whole[:stop])
                resumed = make()
                resumed.load_state_dict(sampler.state_dict())
                left = over(resumed)
                self.assertEqual(len(left), len(whole))
                self.assertEqual(list(left), whole[stop:])

    def test_its_batches(self):
        """They are torch's, of any size, in each epoch; once with workers
        that persist."""
        for length, size, drop in itertools.product(
                (0, 1, 6, 7), (1, 3, 7, 8), (False, True)):
            workers = int((length, size) == (7, 3))
            order = Distributed(range(length), 1, 0)
            loader = Counting(
                range(length), size, drop_last=drop, num_workers=workers,
                sampler=Distributed(range(length), 1, 0),
                persistent_workers=workers > 0)
            for epoch in range(3):
                order.set_epoch(epoch)
                self.assertEqual(list(loader), list(DataLoader(
                    range(length), size, drop_last=drop,
                    sampler=list(order))))

    def test_one_loop_at_a_time(self):
        """Of two, the one that was asked last; a loop that was made and not
        asked takes nothing from others."""
        for workers in 0, 1:
            sampler = Distributed(range(20), 1, 0)
            loader = Counting(range(20), 3, sampler=sampler,
                               num_workers=workers)
            first, unasked, second = (iter(loader) for _ in range(3))
            for loop in second if workers else first, second:
                next(loop)
            next(second)
            self.assertEqual(sampler.remaining, 11 if workers else 14)
            with self.assertRaisesRegex(RuntimeError, "cannot continue"):
                list(first)
            del unasked
        sampler = Distributed(range(20), 1, 0)
        unasked = iter(Counting(range(20), 3, sampler=sampler))
        order = list(sampler)
        self.assertEqual((len(order), sampler.epoch), (20, 1))

    def test_what_reads_ahead(self):
        """It has to be told."""
        sampler = Distributed(range(20), 1, 0, read_ahead=1)
        served = iter(Counting(range(20), 3, sampler=sampler))
        ahead = next(served)
        for i, batch in enumerate(served):
            self.assertEqual(sampler.remaining, 17 - 3 * i)
            ahead = batch
        self.assertEqual((len(ahead), sampler.epoch), (2, 1))

    def test_torchs_options(self):
        """A new one may change what a count of batches means: decide, and add
        it here."""
        self.assertEqual(set(inspect.signature(torch.utils.data.DataLoader)
                             .parameters) - {
            "dataset", "batch_size", "shuffle", "sampler", "batch_sampler",
            "num_workers", "collate_fn", "pin_memory", "drop_last", "timeout",
            "worker_init_fn", "multiprocessing_context", "generator",
            "prefetch_factor", "persistent_workers", "pin_memory_device",
            "in_order"}, set())

    def test_a_fetch_that_fails(self):
        """The state is as many batches too early."""
        order = list(Distributed(range(20), 1, 0))
        for workers in 0, 1:
            sampler = Distributed(range(20), 1, 0)
            served = iter(Counting(Failing({order[7]}), 3, sampler=sampler,
                                    num_workers=workers))
            self.assertEqual(next(served) + next(served), order[:6])
            self.assertRaises(KeyError, next, served)
            self.assertEqual(sampler.remaining, 14)
            self.assertEqual(next(served), order[9:12])
            self.assertEqual(sampler.remaining, 11)
            self.assertEqual(sum(served, []), order[12:])
            self.assertEqual((sampler.epoch, sampler.remaining), (1, 20))

    def test_other_samplers(self):
        class Mine(BatchSampler):
            pass

        ours = Distributed(range(9), 1, 0)
        for options in (dict(), dict(sampler=range(9)), dict(shuffle=True),
                        dict(batch_sampler=Mine(ours, 3, False))):
            with self.assertRaisesRegex(TypeError, "a sampler of states"):
                iter(Counting(range(9), **options))

    def test_copies(self):
        """Of a sampler in a dataset, or in a worker: their loops are not that
        of this process."""
        for context in (None, *STARTS):
            data = Inner(Distributed(range(20), 1, 0))
            served = Counting(data, 6, sampler=data.sampler,
                              num_workers=int(context is not None),
                              multiprocessing_context=context)
            self.assertEqual(sum(served, []), [17] * 20)


for name in SAME:
    setattr(Loader, name, getattr(test_state.States, name))


class Inner(Dataset):
    """Of each sample, what is left of a loop of a copy after three indices."""

    def __init__(self, sampler):
        self.sampler = sampler

    def __getitem__(self, index):
        if get_worker_info() is None:   # Else it is a copy already.
            sampler = copy.copy(self.sampler)
            sampler.begin(0)
        else:
            sampler = self.sampler
        list(itertools.islice(sampler, 3))
        return sampler.remaining


class Numbers(IterableDataset):
    def __init__(self, sampler):
        self.sampler = sampler

    def __iter__(self):
        return iter(self.sampler)


class AtOnce(BatchSampler):
    """Takes all indices before its first batch: when it is asked for it, or,
    if early, when the loop begins."""
    early = False

    def __iter__(self):
        if self.early:
            return iter(BatchSampler(list(self.sampler), self.batch_size,
                                     False))
        return self.later()

    def later(self):
        yield from BatchSampler(list(self.sampler), self.batch_size, False)


class Early(AtOnce):
    early = True


class Warnings(unittest.TestCase):
    """Where a state does not count what the loop received."""

    def test_drained(self):
        for kind, first in (AtOnce, 2), (Early, 1):
            for workers in 0, 1:
                sampler = Distributed(range(15), 1, 0, batch_size=3)
                loader = DataLoader(range(15), num_workers=workers,
                                    batch_sampler=kind(sampler, 3, False))
                for i, _ in enumerate(loader, 1):
                    if i >= first:
                        with self.assertWarnsRegex(UserWarning,
                                                   "took all indices"):
                            sampler.state_dict()
                    # A trainer that counts has what is right.
                    if kind is AtOnce:
                        sampler.state_dict(batches=i)
                # Loops of another kind are told of no more.
                sampler.begin(0)
                self.quiet(sampler)
                list(DataLoader(range(15), 3, sampler=sampler))
                self.quiet(sampler)

    def test_ignites_skip(self):
        """Ignite 0.6.0 (de08e799, ignite/engine/deterministic.py): its batch
        sampler draws all batches before it leaves out the first."""
        class ReproducibleBatchSampler(AtOnce):
            __module__ = "ignite.engine.deterministic"

            def later(self):
                batches = list(super().later())
                yield from batches[self.start_iteration or 0:]

        def loader(sampler, start):
            batches = ReproducibleBatchSampler(sampler, 3, False)
            batches.start_iteration = start
            return DataLoader(range(15), batch_sampler=batches)

        sampler = Distributed(range(15), 1, 0, batch_size=3)
        with self.assertRaisesRegex(RuntimeError, "Ignite skips .* not told"):
            next(iter(loader(sampler, 2)))
        whole = list(loader(sampler, None))
        sampler.begin(0)
        self.assertEqual(list(loader(sampler, 2)), whole[2:])
        sampler.begin(0)
        sampler.load_state_dict(sampler.state_dict(batches=2))
        with self.assertRaisesRegex(RuntimeError, "Ignite skips 2 .* never"):
            next(iter(loader(sampler, 2)))

    def test_fabric(self):
        """Lightning Fabric 2.6.2 (7f0c3436cd, lightning/fabric/wrappers.py):
        it counts iter() from 0, and calls set_epoch with that."""
        class FabricDataLoader:
            def __init__(self, loader):
                self.loader, self.calls = loader, 0

            def __iter__(self):
                self.loader.sampler.set_epoch(self.calls)
                self.calls += 1
                yield from iter(self.loader)

        for kind in DataLoader, Counting:
            def make():
                sampler = Distributed(range(15), 1, 0)
                return sampler, FabricDataLoader(kind(range(15), 4,
                                                      sampler=sampler))

            sampler, loader = make()
            whole = [batch for _ in range(3) for batch in loader]
            for stop in range(1, len(whole)):
                sampler, loader = make()
                served = (batch for _ in range(3) for batch in loader)
                begun = list(itertools.islice(served, stop))
                state = sampler.state_dict()
                sampler, loader = make()
                sampler.load_state_dict(state)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")     # It is relative.
                    left = [batch for _ in range(sampler.epoch, 3)
                            for batch in loader]
                self.assertEqual(begun + left, whole)

    def quiet(self, sampler):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            sampler.state_dict()

    def test_taken_when_asked(self):
        """None: in one batch, in few, and by a dataset of this process."""
        for size in 3, 15:
            for workers in 0, 1:
                sampler = Distributed(range(15), 1, 0)
                for _ in DataLoader(range(15), num_workers=workers,
                                    batch_sampler=type("Mine", (
                                        BatchSampler,), {})(sampler, size,
                                                            False)):
                    self.quiet(sampler)
                self.quiet(sampler)
        for _ in DataLoader(Numbers(sampler), 4):
            self.quiet(sampler)
        for _ in DataLoader(range(15), batch_sampler=itertools.chain(
                BatchSampler(sampler, 3, False), [[0]] * 3)):
            self.quiet(sampler)

    def test_in_order(self):
        """Batches in the order in which workers finish cannot be counted: an
        error, in any loader with workers. Torch has had in_order since 2.6;
        before, a name stands for it."""
        for kind, workers in itertools.product((Counting, DataLoader), (0, 1)):
            for in_order in True, False:
                sampler = Distributed(range(20), 1, 0)
                loader = kind(range(20), 3, sampler=sampler,
                              num_workers=workers)
                loader.in_order = in_order
                with mock.patch.object(
                        _MultiProcessingDataLoaderIter, "_in_order", in_order,
                        create=True):
                    if in_order or workers == 0:
                        self.assertEqual(len(list(loader)), 7)
                        continue
                    with self.assertRaisesRegex(ValueError,
                                                "in_order=False"):
                        list(loader)
                self.assertEqual((sampler.epoch, sampler.remaining), (0, 20))

    def test_in_a_worker(self):
        for context in STARTS:
            sampler = Distributed(range(15), 1, 0)
            served = iter(DataLoader(
                Numbers(sampler), 4, num_workers=1,
                multiprocessing_context=context))
            next(served)
            with self.assertWarnsRegex(UserWarning, "a worker process"):
                sampler.state_dict()
            del served
            # A loop of this process is known.
            list(sampler)
            self.quiet(sampler)


if __name__ == "__main__":
    main()
