"""StatefulLoader, CountingDataLoader and CountedBatchSampler: with them,
whatever test_state.py asks holds too; and what they refuse."""

import contextlib
import copy
import functools
import gc
import inspect
import itertools
import pickle
import queue
import re
import threading
import unittest
from unittest import mock
import warnings
import weakref

from common import Background, STARTS, Uncounted, counted, main, raw
import loader_accelerate
from statesampler import (
    CountedBatchSampler, CountingDataLoader, PackedBatchSampler, RepeatSampler,
    Sampler, SpreadBatchSampler, StatefulLoader)
from statesampler._arguments import has_own_iter
from statesampler import BlendedBatchSampler as Blended
from statesampler import RoundRobinBatchSampler as RoundRobin
from statesampler import StatefulDistributedSampler as Distributed
from test_loops import Failing
import test_state
import torch
from torch.utils.data import (
    BatchSampler, ConcatDataset, Dataset, IterableDataset, get_worker_info)

Counting = functools.partial(CountingDataLoader, collate_fn=list)


def around(loader):
    """Makes a StatefulLoader around it."""
    def made(data, *arguments, **options):
        sampler = options.get("sampler", options.get("batch_sampler"))
        return StatefulLoader(loader(data, *arguments, **options), sampler)
    return made


class Own(BatchSampler):
    """A batch sampler of a user's, of which nobody knows that it is torch's."""

    def __iter__(self):
        return super().__iter__()


class Ahead:
    """Has a batch in hand before it gives the one before."""

    def __init__(self, loader):
        self.loader = loader

    def __len__(self):
        return len(self.loader)

    def __iter__(self):
        before = []
        for batch in self.loader:
            yield from before
            before = [batch]
        yield from before


SAME = [
    "test_every_batch", "test_every_batch_with_workers",
    "test_resumed_with_workers", "test_a_loop_that_is_left",
    "test_a_look_at_the_last_batch",
    "test_set_epoch_after_a_look_at_the_last_batch",
    "test_a_loop_without_a_batch", "test_elastic", "test_uneven",
    "test_round_robin_elastic"]


class Same:
    """The tests of test_state.py that are named in SAME."""
    interrupted_everywhere = test_state.States.interrupted_everywhere
    some_of_each = test_state.States.some_of_each

    def setUp(self):
        patch = mock.patch.object(test_state, "DataLoader", self.loader)
        patch.start()
        self.addCleanup(patch.stop)


for name in SAME:
    setattr(Same, name, getattr(test_state.States, name))


class Torchs(Same, unittest.TestCase):
    """A StatefulLoader around torch's DataLoader."""
    loader = staticmethod(around(Uncounted))


class Backgrounds(Same, unittest.TestCase):
    """Around what reads ahead in a thread."""
    loader = staticmethod(around(Background))


def state_at(place):
    """That of a sampler over 40, unshuffled, of which so many were served."""
    sampler = Distributed(range(40), 1, 0, shuffle=False, batch_size=1)
    return sampler.state_dict(epoch=0, batches=place)


def counted_in_both():
    """Makers of a sampler over so many, and of a loader of batches of 4."""
    for kind in Counting, around(Uncounted):
        def make(number, **options):
            sampler = Distributed(range(number), 1, 0, shuffle=False, **options)
            return sampler, kind(range(number), 4, sampler=sampler)
        yield make


class Twice(Same, unittest.TestCase):
    """Around what reads ahead of a CountingDataLoader: the outer one
    counts."""
    loader = staticmethod(around(
        lambda *arguments, **options: Ahead(Counting(*arguments, **options))))


class Loader(unittest.TestCase):
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
                self.assertEqual(list(loader), list(Uncounted(
                    range(length), size, drop_last=drop,
                    sampler=list(order))))

    def test_one_loop_at_a_time(self):
        """Of two, the one that began last; a loop that was made and not asked
        has not begun."""
        for workers in 0, 1:
            sampler = Distributed(range(20), 1, 0)
            loader = Counting(range(20), 3, sampler=sampler,
                              num_workers=workers)
            first, unasked, second = (iter(loader) for _ in range(3))
            for loop in first, second:
                next(loop)
            next(second)
            self.assertEqual(sampler.remaining, 14)
            with self.assertRaisesRegex(RuntimeError, "cannot continue"):
                list(first)
            self.assertEqual(sampler.remaining, 14)
            del unasked
        sampler = Distributed(range(20), 1, 0)
        unasked = iter(Counting(range(20), 3, sampler=sampler))
        order = list(sampler)
        self.assertEqual((len(order), sampler.epoch), (20, 1))

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
        """The batch after it counts for both."""
        order = list(Distributed(range(20), 1, 0))
        for workers in 0, 1:
            sampler = Distributed(range(20), 1, 0)
            served = iter(Counting(Failing({order[7]}), 3, sampler=sampler,
                                    num_workers=workers))
            self.assertEqual(next(served) + next(served), order[:6])
            self.assertRaises(KeyError, next, served)
            self.assertEqual(sampler.remaining, 14)
            self.assertEqual(next(served), order[9:12])
            self.assertEqual(sampler.remaining, 8)
            self.assertEqual(sum(served, []), order[12:])
            self.assertEqual((sampler.epoch, sampler.remaining), (1, 20))

    def test_a_fetch_that_is_late(self):
        """Its batch is asked for again."""
        class Late:
            def __init__(self, loader):
                self.loader = loader

            def __iter__(self):
                self.batches, self.late = iter(self.loader), True
                return self

            def __next__(self):
                self.late = not self.late
                if self.late:
                    raise RuntimeError("DataLoader timed out after 1 seconds")
                return next(self.batches)

        sampler = Distributed(range(20), 1, 0)
        served = iter(StatefulLoader(Late(Uncounted(range(20), 3,
                                                    sampler=sampler)),
                                     sampler))
        for left in 17, 14:
            next(served)
            self.assertRaises(RuntimeError, next, served)
            self.assertEqual(sampler.remaining, left)

    def test_other_samplers(self):
        for options in (dict(), dict(sampler=range(9)), dict(shuffle=True),
                        dict(batch_sampler=[[1], [2]])):
            with self.assertRaisesRegex(TypeError, "a sampler of states"):
                Counting(range(9), **options)
        with self.assertRaisesRegex(TypeError, "a sampler of states"):
            StatefulLoader(range(9), range(9))

    def test_it_goes_with_who_holds_it(self):
        """At once, as torch's does, and its workers with it: also where a
        state was loaded or refused."""
        gc.disable()
        self.addCleanup(gc.enable)
        for make in (lambda: Distributed(range(9), 1, 0, batch_size=3),
                     lambda: RoundRobin([6, 3], 3, 0, 1),
                     lambda: PackedBatchSampler(9 * [1], 3, 0, 1),
                     lambda: SpreadBatchSampler(range(9), 3, 0, 1)):
            def around():
                sampler = make()
                size = (dict(batch_size=3, sampler=sampler)
                        if isinstance(sampler, Distributed)
                        else dict(batch_sampler=sampler))
                return StatefulLoader(Uncounted(range(9), **size), sampler)

            loader, other = around(), around()
            next(iter(loader))
            other.load_state_dict(loader.state_dict())
            with self.assertRaises(ValueError):
                other.load_state_dict({"statesampler": torch.zeros(9)})
            list(other)
            gone = [weakref.ref(each) for each in (loader, other)]
            del loader, other
            self.assertEqual([each() for each in gone], [None, None])

    def test_copies(self):
        """Of a sampler in a dataset, or in a worker: their loops are not that
        of this process."""
        for context in (None, *STARTS):
            data = Inner(Distributed(range(20), 1, 0))
            served = Counting(data, 6, sampler=data.sampler,
                              num_workers=int(context is not None),
                              multiprocessing_context=context)
            self.assertEqual(sum(served, []), [17] * 20)


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
        list(itertools.islice(counted(sampler), 3))
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


class NotCounted(unittest.TestCase):
    """Where a state would not count what the loop received: errors."""

    def refuses(self, sampler):
        for ask in (sampler.state_dict, lambda: sampler.remaining,
                    lambda: sampler.start_iter,
                    lambda: sampler.state_dict(batches=1)):
            with self.assertRaisesRegex(RuntimeError,
                                        r"over StatefulLoader\(loader, sampl"):
                ask()

    def test_a_loop(self):
        """Also at its end, where something may hold batches of it. What is
        said counts."""
        for workers in 0, 1:
            sampler = Distributed(range(15), 1, 0, batch_size=3)
            before = raw(sampler.state_dict())
            loader = Uncounted(range(15), 3, sampler=sampler,
                               num_workers=workers)
            for i, _ in enumerate(loader, 1):
                self.refuses(sampler)
                self.assertIsNotNone(sampler.at(0))
                resumed = Distributed(range(15), 1, 0, batch_size=3)
                resumed.load_state_dict(sampler.state_dict(i, epoch=0))
                whole = Distributed(range(15), 1, 0)
                left = list(whole)[3 * i:]
                self.assertEqual(list(resumed), left or list(whole))
                self.assertEqual(raw(copy.copy(sampler).state_dict(epoch=0)),
                                 before)
            self.refuses(sampler)
            self.assertEqual(sampler.epoch, 1)
            sampler.set_epoch(1)
            self.refuses(sampler)
            for place in (lambda: sampler.begin(1),
                          lambda: sampler.set_epoch(7),
                          lambda: sampler.set_start_iter(1),
                          lambda: sampler.load_state_dict(
                              {"state": before}),
                          lambda: next(iter(Counting(range(15), 3,
                                                     sampler=sampler)))):
                list(sampler)
                self.refuses(sampler)
                with warnings.catch_warnings():     # What it took.
                    warnings.simplefilter("ignore")
                    place()
                sampler.state_dict()

    def test_what_has_no_end(self):
        """The next loop goes on after what was taken, also by workers ahead,
        and says so. Not if the place was said since."""
        for make, name in (
                (lambda: Distributed(range(15), 1, 0, tail="carry"), "sampler"),
                (lambda: RoundRobin([9, 6], 2, 0, 1, stop="never"),
                 "batch_sampler"),
                (lambda: PackedBatchSampler([3] * 15, 9, 0, 1, endless=True),
                 "batch_sampler")):
            for workers in 0, 1:
                def over(sampler, kind):
                    return iter(kind(range(15), num_workers=workers,
                                     **{name: sampler}))

                whole = list(itertools.islice(over(make(), Uncounted), 9))
                sampler = make()
                state = sampler.state_dict()
                for kind in Uncounted, Counting:
                    next(over(sampler, Uncounted))
                    with self.assertWarnsRegex(
                            UserWarning, r"over StatefulLoader\(loader"):
                        batch = next(over(sampler, kind))
                    self.assertEqual(batch == whole[1], workers == 0)
                    sampler.load_state_dict(state)
                    next(over(sampler, Uncounted))
                    with self.assertWarnsRegex(UserWarning, "nothing counted"):
                        next(iter(copy.copy(sampler)))
                    with warnings.catch_warnings():
                        warnings.simplefilter("error")
                        sampler.load_state_dict(state)
                        next(over(sampler, Uncounted))
                        sampler.load_state_dict(state)
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    for i in range(0, 9, 3):
                        self.assertEqual(list(itertools.islice(
                            over(sampler, Counting), 3)), whole[i:i + 3])
                        sampler.state_dict()
        with warnings.catch_warnings():     # Of what has an end, nothing is
            warnings.simplefilter("error")  # lost: it begins again.
            loader = Uncounted(range(15), sampler=Distributed(range(15), 1, 0))
            self.assertEqual(next(iter(loader)), next(iter(loader)))

    def test_in_a_worker(self):
        for context in STARTS:
            sampler = Distributed(range(15), 1, 0)
            loader = Uncounted(Numbers(sampler), 4, num_workers=1,
                               multiprocessing_context=context)
            served = iter(loader)
            next(served)
            self.refuses(sampler)
            del served
            # A loop of this process is known.
            sampler.begin(0)
            list(counted(sampler))
            sampler.state_dict()
            with self.assertRaisesRegex(RuntimeError, "a copy of the sampler"):
                next(iter(StatefulLoader(loader, sampler, items=4)))

    def test_what_holds_back(self):
        """Indices that were taken, and are in no batch yet."""
        class Sorted(BatchSampler):
            """Sorts nine indices, and returns them in batches."""

            def __iter__(self):
                indices = iter(self.sampler)
                while some := sorted(itertools.islice(indices, 9)):
                    yield from BatchSampler(some, self.batch_size, False)

        for workers in 0, 1:
            for kind, exact in (Sorted, (3, 5)), (AtOnce, (5,)), (Early, (5,)):
                sampler = Distributed(range(15), 1, 0)
                seen = []
                for i, batch in enumerate(Counting(
                        range(15), num_workers=workers,
                        batch_sampler=kind(sampler, 3, False)), 1):
                    seen += batch
                    if i in exact:
                        resumed = Distributed(range(15), 1, 0)
                        resumed.load_state_dict(sampler.state_dict())
                        rest = list(resumed) if resumed.epoch == 0 else []
                        self.assertEqual(sorted(seen + rest), [*range(15)])
                    else:
                        with self.assertRaisesRegex(RuntimeError,
                                                    "holds back"):
                            sampler.state_dict()
                self.assertEqual(sampler.epoch, 1)
                sampler.state_dict()

    def test_what_is_left_holding_back(self):
        """Who leaves the loop then begins it again, and has not had all,
        though all was taken. Copies, lengths and weights are states, too."""
        for workers in 0, 1:
            sampler = Distributed(range(15), 1, 0, shuffle=False)
            loader = Counting(range(15), num_workers=workers, batch_sampler=(
                AtOnce(sampler, 3, False)))
            for batches in range(1, 5):
                for batch in itertools.islice(loader, batches):
                    pass
                self.assertEqual(sampler.epoch, 0)
                for ask in (lambda: copy.deepcopy(sampler),
                            lambda: sampler.remaining,
                            lambda: pickle.dumps(sampler),
                            lambda: sampler.resize(20),
                            lambda: sampler.start_iter):
                    with self.assertRaisesRegex(RuntimeError, "holds back"):
                        ask()
                with self.assertWarnsRegex(UserWarning, "this epoch again"):
                    self.assertEqual(sum(loader, []), [*range(15)])
                self.assertEqual((sampler.epoch, sampler.remaining), (1, 15))
                sampler.begin(0)

    def test_what_is_left_out_at_the_end(self):
        """Too few for a batch: the epoch is whole without them for a loop that
        goes on to the end; one that counts calls set_epoch."""
        class Full(AtOnce):
            def __iter__(self):
                return (batch for batch in super().__iter__()
                        if len(batch) == self.batch_size)

            def __len__(self):
                return len(list(self))

        for workers, counts in itertools.product((0, 1), (False, True)):
            sampler = Distributed(range(15), 1, 0)
            loader = Counting(range(15), num_workers=workers, batch_sampler=(
                Full(sampler, 4, False)))
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                for epoch in range(4):
                    batches = iter(loader)
                    next(batches)
                    self.assertEqual(sampler.epoch, epoch)
                    for _ in range(2 if counts else 3):
                        next(batches, None)
                    if counts:
                        sampler.set_epoch(epoch + 1)

    def test_batches_that_are_cut_and_joined(self):
        """Of a sampler that gives batches, a part of one may be held back."""
        class Cut:
            def __init__(self, sampler):
                self.sampler = sampler

            def __iter__(self):
                for batch in self.sampler:
                    yield batch[:1]
                    yield batch[1:]

        class Joined(Cut):
            def __iter__(self):
                batches = iter(self.sampler)
                return (batch + next(batches, []) for batch in batches)

        def make(kind, workers):
            sampler = RoundRobin([10, 10], 4, 0, 1, stop="all")
            return sampler, Counting(range(20), batch_sampler=kind(sampler),
                                     num_workers=workers)

        for kind, workers in itertools.product((Cut, Joined), (0, 1)):
            seen, (sampler, loader) = [], make(kind, workers)
            for i, batch in enumerate(loader):
                seen += batch
                if kind is Cut and i % 2 == 0:
                    with self.assertRaisesRegex(RuntimeError, "holds back"):
                        sampler.state_dict()
                    continue
                resumed, rest = make(kind, 0)
                resumed.load_state_dict(sampler.state_dict())
                left = sum(rest, []) if resumed.epoch == 0 else []
                self.assertEqual(sorted(seen + left), [*range(20)])

    def test_a_loop_to_len_of_a_kind_of_torchs(self):
        """Which leaves out a batch that is not full."""
        class Mine(BatchSampler):
            pass

        for workers, kind in itertools.product((0, 1), (
                lambda loader, _: loader, StatefulLoader)):
            sampler = Distributed(range(20), 1, 0)
            made = Counting if kind is not StatefulLoader else Uncounted
            loader = kind(made(range(20), num_workers=workers,
                               batch_sampler=Mine(sampler, 3, True)), sampler)
            for epoch in range(4):
                batches = iter(loader)
                for _ in range(len(loader)):
                    next(batches)
                    self.assertEqual(sampler.epoch, epoch)

    def test_what_lies_between(self):
        """It may neither leave out batches that were counted, nor join them,
        nor return them twice."""
        class Between:
            def __init__(self, loader, change):
                self.loader, self.change = loader, change

            def __iter__(self):
                return self.change(iter(self.loader))

        for change in (lambda batches: itertools.islice(batches, 3),
                       lambda batches: (a + b for a, b in zip(batches, batches)),
                       lambda batches: (a for a in batches for _ in range(2))):
            sampler = Distributed(range(24), 1, 0)
            loader = StatefulLoader(Between(Uncounted(
                range(24), batch_sampler=CountedBatchSampler(BatchSampler(
                    sampler, 4, False), sampler)), change), sampler)
            with self.assertRaisesRegex(RuntimeError, "its batch sampler had"):
                list(loader)

    def test_a_zip(self):
        """With a shorter loader: that is said, and not that items= is wrong."""
        class Zip:
            def __init__(self, *loaders):
                self.loaders = loaders

            def __iter__(self):
                return zip(*self.loaders)

        for lengths, workers in itertools.product(
                ((12, 40), (40, 12), (40, 8)), (0, 1)):
            samplers = [Distributed(range(n), 1, 0) for n in lengths]
            loader = Zip(*(Uncounted(range(n), 4, sampler=sampler,
                                     num_workers=workers)
                           for n, sampler in zip(lengths, samplers)))
            for sampler in samplers:
                loader = StatefulLoader(loader, sampler, 4)
            with self.assertRaisesRegex(RuntimeError, (
                    f"returned {min(lengths) // 4} batches of 4, but the "
                    "sampler had 40: let nothing between leave out batches, or "
                    r"end early, as zip\(\) does with a shorter loader")):
                list(loader)
        # What is looped over twice should be no iterator.
        sampler = Distributed(range(8), 1, 0)
        loader = StatefulLoader(map(list, Uncounted(range(8), 4,
                                                    sampler=sampler)),
                                sampler, 4)
        self.assertEqual(len(list(loader)), 2)
        with self.assertRaisesRegex(RuntimeError, "an iterator in its second"):
            list(loader)

    def test_another_sampler(self):
        """Than the batch sampler's: it gives nothing. Whoever asks where the
        loop is hears it, and who leaves it, at its end, or when the next one
        begins."""
        for workers, tail in itertools.product((0, 1), ("pad", "carry")):
            mine, other = (Distributed(range(20), 1, 0, batch_size=4, tail=tail)
                           for _ in range(2))
            loader = StatefulLoader(Uncounted(
                range(20), num_workers=workers,
                batch_sampler=CountedBatchSampler(itertools.islice(
                    BatchSampler(mine, 4, False), 5), other)), other)
            served = iter(loader)
            for batches in 1, 2:
                next(served)
                for ask in (loader.state_dict, lambda: other.remaining,
                            lambda: other.start_iter,
                            lambda: copy.copy(other)):
                    with self.assertRaisesRegex(
                            RuntimeError, f"{batches} batches, and none was "
                            "of this sampler"):
                        ask()
            for _ in range(2):
                with self.assertRaisesRegex(RuntimeError, "none was of this"):
                    next(iter(loader))
            with self.assertRaisesRegex(RuntimeError, "none was of this"):
                list(served)
            other.begin(0)
            self.assertEqual(raw(loader.state_dict()), raw(Distributed(
                range(20), 1, 0, tail=tail).state_dict()))
        # A rank may have nothing to give.
        other = Distributed(range(1), 2, 1, tail="uneven")
        for _ in StatefulLoader(Uncounted(range(1), batch_sampler=(
                CountedBatchSampler([[0], [0]], other))), other):
            other.state_dict()

    def test_a_batch_that_is_late(self):
        """A thread's queue is empty, and is asked again."""
        class Slow:
            def __init__(self, loader):
                self.loader = loader

            def __iter__(self):
                self.batches, self.calls = iter(self.loader), 0
                return self

            def __next__(self):
                self.calls += 1
                if self.calls % 3 == 0:
                    raise queue.Empty
                return next(self.batches)

        sampler = Distributed(range(20), 1, 0)
        loop = iter(StatefulLoader(Slow(Uncounted(range(20), 4,
                                                  sampler=sampler)), sampler))
        for received in 4, 8, 8, 12, 16, 16, 20:
            with contextlib.suppress(queue.Empty):
                next(loop)
            left = sampler.remaining
            self.assertEqual(left, 20 - received)

    def test_no_batch(self):
        """Less than one is left where batches were of another size."""
        sampler = Distributed(range(7), 1, 0)
        loader = Counting(range(7), batch_sampler=CountedBatchSampler(
            BatchSampler(sampler, 4, True), sampler))
        list(loader)
        before = Distributed(range(7), 1, 0)
        next(iter(Counting(range(7), 4, sampler=before)))
        sampler.load_state_dict(before.state_dict())
        self.assertEqual((list(loader), sampler.epoch), ([], 1))

    def test_a_batch_sampler_that_can_begin_once(self):
        """An epoch would have no batches; but for what has no samples."""
        for (end, tail), workers in itertools.product(
                ((20, "pad"), (20, "carry"), (0, "pad")), (0, 2)):
            sampler = Distributed(range(end), 1, 0, tail=tail)
            taken = map(lambda index: [index],
                        itertools.islice(iter(sampler), 20))
            loader = Counting(range(end), num_workers=workers, batch_sampler=(
                CountedBatchSampler(taken, sampler)))
            self.assertEqual(len(list(loader)), end)
            place = sampler.epoch, raw(sampler.state_dict())
            for _ in range(2):
                with contextlib.nullcontext() if end == 0 else (
                        self.assertRaisesRegex(RuntimeError, "took nothing")):
                    list(loader)
                if end:
                    self.assertEqual(
                        (sampler.epoch, raw(sampler.state_dict())), place)

    def test_a_peek_at_what_is_counted(self):
        """It is an error amid a loop, which goes on."""
        sampler = Distributed(range(20), 1, 0)
        batches = CountedBatchSampler(BatchSampler(sampler, 3, False), sampler)
        loop = iter(Counting(range(20), batch_sampler=batches))
        next(loop)
        with self.assertRaisesRegex(RuntimeError, "iterate a copy"):
            next(iter(batches))
        next(loop)
        self.assertEqual(sampler.remaining, 14)

    def test_a_copy_of_what_nothing_counts(self):
        """It knows the place no better."""
        sampler = Distributed(range(20), 1, 0)
        next(iter(Uncounted(range(20), 4, sampler=sampler)))
        for other in copy.deepcopy(sampler), pickle.loads(pickle.dumps(sampler)):
            self.refuses(other)
            self.assertEqual(len(list(counted(other))), 20)
            other.state_dict()

    def test_several_samplers_of_one_dataset(self):
        """Each has a part of it."""
        class Both:
            def __init__(self, *samplers):
                self.samplers = samplers

            def __iter__(self):
                return ([one, 20 + two] for one, two in zip(*self.samplers))

        ours = [Distributed(range(20), 1, 0, seed=k) for k in (1, 2)]
        batches = Both(*ours)
        for sampler in ours:
            batches = CountedBatchSampler(batches, sampler)
        loader = StatefulLoader(StatefulLoader(Uncounted(
            range(40), batch_sampler=batches), ours[0]), ours[1])
        self.assertEqual(sorted(sum(loader, [])), [*range(40)])
        self.assertEqual([sampler.epoch for sampler in ours], [1, 1])

    def test_what_takes_ahead_and_repeats(self):
        """Nobody knows when it has returned all that it took."""
        class Negatives(AtOnce):
            def __iter__(self):
                return (batch + [0] * len(batch)
                        for batch in super().__iter__())

        sampler = Distributed(range(24), 1, 0)
        loader = Counting(range(24), batch_sampler=Negatives(sampler, 5, False))
        for i, batch in enumerate(loader, 1):
            for ask in sampler.state_dict, lambda: sampler.start_iter:
                with self.assertRaisesRegex(RuntimeError, "holds back" if i < 3
                                            else "more than once"):
                    ask()
        self.assertEqual(sampler.epoch, 1)

    def test_a_length_that_iterates_the_sampler(self):
        """As that of maskrcnn-benchmark's GroupedBatchSampler. It
        is that of the whole epoch, and moves nothing, also amid one."""
        class Listed(BatchSampler):
            def __len__(self):
                return len(list(iter(self)))

        def given(sampler):
            return Uncounted(range(20), batch_sampler=Listed(sampler, 3, False))

        class Around(Ahead):
            def __len__(self):
                return len(list(iter(self.loader)))

        kinds = (lambda sampler: StatefulLoader(given(sampler), sampler, 3),
                 lambda sampler: StatefulLoader(Around(Uncounted(
                     range(20), batch_sampler=CountedBatchSampler(
                         Listed(sampler, 3, False), sampler))), sampler),
                 lambda sampler: Counting(range(20), batch_sampler=(
                     Listed(sampler, 3, False))))
        for kind in kinds:
            sampler = Distributed(range(20), 1, 0)
            loader = kind(sampler)
            for epoch in range(3):
                for i, _ in enumerate(loader, 1):
                    self.assertEqual((len(loader), sampler.epoch), (7, epoch))
                    if i % 3:
                        continue
                    left = sampler.remaining
                    resumed = Distributed(range(20), 1, 0)
                    resumed.load_state_dict(loader.state_dict())
                    again = kind(resumed)
                    self.assertEqual(len(again), 7)
                    self.assertEqual(resumed.remaining, left)
                    self.assertEqual(sum(map(len, list(again))), left)
                    self.assertEqual(resumed.epoch, epoch + 1)
                self.assertEqual((len(loader), sampler.epoch), (7, epoch + 1))

    def test_ignites_skip(self):
        """Ignite 0.6.0 (de08e799, ignite/engine/deterministic.py): its batch
        sampler draws all batches before it leaves out the first, if it is told
        to, as it may be after it was wrapped."""
        class ReproducibleBatchSampler(AtOnce):
            __module__ = "ignite.engine.deterministic"
            start_iteration = 2

            def __init__(self, batches):
                super().__init__(batches.sampler, 3, False)
                self.batch_sampler = batches

        sampler = Distributed(range(15), 1, 0)
        batches = ReproducibleBatchSampler(BatchSampler(sampler, 3, False))
        plain = Uncounted(range(15), batch_sampler=batches)
        with self.assertRaisesRegex(RuntimeError, "Ignite skips .* 2 .*never"):
            StatefulLoader(plain, sampler)
        batches.start_iteration = None
        loader = StatefulLoader(plain, sampler)
        for left, _ in zip((12, 9), loader):
            self.assertEqual(sampler.remaining, left)
        batches.start_iteration = 4
        with self.assertRaisesRegex(RuntimeError, "Ignite skips .* 4 .*never"):
            next(iter(loader))
        self.assertEqual(sampler.remaining, 9)

    def test_in_order(self):
        """Batches in the order in which workers finish cannot be counted: an
        error, in any loader with workers. Torch has had in_order since 2.6;
        before, a name stands for it."""
        for kind, workers, in_order in itertools.product(
                (Counting, around(Uncounted)), (0, 1), (True, False)):
            sampler = Distributed(range(20), 1, 0)
            loader = kind(range(20), 3, sampler=sampler, num_workers=workers)
            getattr(loader, "loader", loader).in_order = in_order
            if in_order or workers == 0:
                self.assertEqual(len(list(loader)), 7)
                continue
            with self.assertRaisesRegex(ValueError, "in_order=False"):
                list(loader)
            with self.assertRaisesRegex(ValueError, "in_order=False"):
                StatefulLoader(loader, sampler)
            self.assertEqual((sampler.epoch, sampler.remaining), (0, 20))


class Items(unittest.TestCase):
    """How much each batch takes."""

    def test_what_nobody_can_know(self):
        sampler = Distributed(range(15), 1, 0)
        loader = Uncounted(range(15), batch_sampler=Own(sampler, 3, False))
        with self.assertRaisesRegex(TypeError, "pass items=.*CountedBatchS"):
            StatefulLoader(loader, sampler)
        whole = list(StatefulLoader(loader, sampler, items=3))
        self.assertEqual(len(whole), 5)
        for items in 2, 4, 15:
            with self.assertRaisesRegex(ValueError, "pass the right items="):
                StatefulLoader(loader, sampler, items=items)
        for items in 0, -1, 1.5, "3", True:
            with self.assertRaisesRegex(ValueError, "items should be"):
                StatefulLoader(loader, sampler, items=items)
        # Where there is no len(), at the end.
        for items, wrong in (3, False), (2, True), (5, True):
            served = StatefulLoader((batch for batch in loader), sampler,
                                    items=items)
            if wrong:
                with self.assertRaisesRegex(RuntimeError, "right items="):
                    list(served)
                sampler.begin(1)
            else:
                self.assertEqual(len(list(served)), 5)

    def test_a_batch_sampler_around_one_that_is_known(self):
        """It may do anything with its batches: here it returns three in the
        other order. With a CountedBatchSampler inside it is the same."""
        class Buffered:
            def __init__(self, batch_sampler):
                self.batch_sampler = batch_sampler

            def __len__(self):
                return len(self.batch_sampler)

            def __iter__(self):
                batches = iter(self.batch_sampler)
                for first in batches:
                    yield from reversed([first, *itertools.islice(batches, 2)])

        def make(around):
            sampler = Distributed(range(40), 1, 0)
            plain = BatchSampler(sampler, 4, False)
            return sampler, Uncounted(range(40), batch_sampler=around(
                plain, sampler))

        for inner in (lambda plain, _: plain, CountedBatchSampler):
            sampler, loader = make(lambda plain, sampler: Buffered(
                inner(plain, sampler)))
            with self.assertRaisesRegex(TypeError, "cannot see how much"):
                StatefulLoader(loader, sampler)
        turns = RoundRobin([20, 20], 4, 0, 1)
        with self.assertRaisesRegex(TypeError, "cannot see how much"):
            StatefulLoader(Uncounted(range(40), batch_sampler=(
                Buffered(turns))), turns)
        sampler, loader = make(lambda plain, sampler: CountedBatchSampler(
            Buffered(plain), sampler))
        served = []
        for i, batch in enumerate(StatefulLoader(loader, sampler), 1):
            served += batch
            if i % 3:
                continue
            resumed, rest = make(lambda plain, sampler: CountedBatchSampler(
                Buffered(plain), sampler))
            resumed.load_state_dict(sampler.state_dict())
            self.assertEqual(sorted(served + sum(StatefulLoader(
                rest, resumed), [])), [*range(40)])

    def test_items_of_what_holds_back(self):
        """A sampler of a user's own, between ours and the DataLoader: a state
        is an error, which says what to write, and that is exact. One that
        takes what it gives, or a part of it, is none."""
        class Windows(torch.utils.data.Sampler):
            size, part = 8, 1

            def __init__(self, inner):
                self.inner = inner

            def __len__(self):
                return len(self.inner) // self.part

            def __iter__(self):
                indices = iter(self.inner)
                while some := sorted(itertools.islice(indices, self.size)):
                    yield from some

        class Halves(Windows):
            part = 2

            def __iter__(self):
                return itertools.islice(iter(self.inner), 0, None, 2)

        class All(Windows):
            size = 60

        class Same(Windows):
            size = 4

        def prepared(loader):
            return loader_accelerate.DataLoaderShard(loader)

        def items(kind, workers, wrap, tail="pad"):
            sampler = Distributed(range(60), 1, 0, tail=tail)
            return sampler, StatefulLoader(wrap(Uncounted(
                range(60), 4, sampler=kind(sampler), num_workers=workers)),
                sampler, items=4 * kind.part)

        def counts(workers):
            sampler = Distributed(range(60), 1, 0)
            return sampler, StatefulLoader(Uncounted(
                range(60), num_workers=workers, batch_sampler=(
                    CountedBatchSampler(BatchSampler(
                        Windows(sampler), 4, False), sampler))), sampler)

        for workers, wrap in itertools.product((0, 1), (
                lambda loader: loader, prepared)):
            for kind in Windows, All:
                sampler, loader = items(kind, workers, wrap)
                for batches in (2, 7, 15):
                    for batch in itertools.islice(loader, batches):
                        pass
                    for ask in loader.state_dict, lambda: sampler.remaining:
                        with self.assertRaisesRegex(
                                RuntimeError, "CountedBatchSampler.BatchSampl"):
                            ask()
                    sampler.begin(0)
                self.assertEqual(len(sum(loader, [])), 60)
                loader.state_dict()
            for kind in Halves, Same:
                sampler, loader = items(kind, workers, wrap)
                for i, _ in enumerate(loader, 1):
                    loader.state_dict()
                self.assertEqual(i, 8 if kind is Halves else 15)
            # What has no end goes on from a break, as from a state.
            sampler, loader = items(Windows, workers, wrap, "carry")
            list(itertools.islice(loader, 2))
            with self.assertRaisesRegex(RuntimeError, "more was taken"):
                next(iter(loader))
            sampler.begin(0)
            next(iter(loader))
        for workers in 0, 1:
            sampler, loader = counts(workers)
            seen = []
            for i, batch in enumerate(loader, 1):
                seen += batch
                if i in (1, 3):
                    with self.assertRaisesRegex(RuntimeError, "holds back"):
                        loader.state_dict()
                    continue
                if i % 2 == 0:
                    resumed, again = counts(0)
                    again.load_state_dict(loader.state_dict())
                    rest = sum(again, []) if resumed.epoch == 0 else []
                    self.assertEqual(sorted(seen + rest), [*range(60)])

    def test_items_that_are_too_large(self):
        """Are found as soon as the sampler gave less, whatever is around the
        DataLoader, and also where there is no end."""
        class Mine(BatchSampler):
            pass

        class Bare(Ahead):
            __len__ = None

        class Cut(Ahead):
            def __iter__(self):
                return (batch[at:at + 4] for batch in self.loader
                        for at in (0, 4))

        for tail, workers in itertools.product(("pad", "carry"), (0, 1)):
            for items, most in (5, 18), (8, 6), (16, 4):
                sampler = Distributed(range(96), 1, 0, tail=tail)
                loader = Uncounted(range(96), num_workers=workers,
                                   batch_sampler=Mine(sampler, 4, False))
                served = StatefulLoader(Bare(loader), sampler, items=items)
                with self.assertRaisesRegex(RuntimeError, "took only .* right "
                                            "items="):
                    list(itertools.islice(served, most))
                sampler.begin(0)
                # So is what nobody was told of batches that are seen.
                served = StatefulLoader(Cut(Uncounted(
                    range(96), 8, sampler=sampler)), sampler)
                with self.assertRaisesRegex(RuntimeError, "took only .* right "
                                            "items="):
                    for _ in itertools.islice(served, 8):
                        served.state_dict()
        # One too many: the second batch takes one less again.
        for tail in "pad", "carry":
            sampler = Distributed(range(99), 1, 0, tail=tail)
            served = StatefulLoader(Uncounted(
                range(99), batch_sampler=Own(sampler, 11, False)), sampler, 12)
            with self.assertRaisesRegex(RuntimeError, "took only 22"):
                list(itertools.islice(served, 2))

    def test_items_of_a_last_batch(self):
        """What groups batches by the len() of a loader with drop_last need not
        take what that drops."""
        class Grouped(Ahead):
            def __len__(self):
                return -(-len(self.loader) // 3)

            def __iter__(self):
                batches, count = iter(self.loader), len(self.loader)
                for first in range(0, count, 3):
                    yield [*itertools.islice(batches, min(3, count - first))]

        for number in range(18, 26):
            sampler = Distributed(range(number), 1, 0)
            loader = StatefulLoader(Grouped(Uncounted(
                range(number), 2, sampler=sampler, drop_last=True)), sampler, 6)
            for epoch in range(2):
                self.assertEqual(sampler.epoch, epoch)
                got = sum(sum(loader, []), [])
                self.assertEqual(len(got), number // 2 * 2)

    def test_items_that_are_parts_with_drop_last(self):
        """A run that goes on amid a batch would cut others."""
        class Parts(Ahead):
            def __len__(self):
                return 2 * len(self.loader)

            def __iter__(self):
                for batch in self.loader:
                    yield batch[:4]
                    yield batch[4:]

        for drop_last in False, True:
            sampler = Distributed(range(24), 1, 0)
            loader = StatefulLoader(Parts(Uncounted(
                range(24), 8, sampler=sampler, drop_last=drop_last)), sampler,
                4)
            for number, _ in enumerate(loader, 1):
                if drop_last and number % 2:
                    with self.assertRaisesRegex(RuntimeError, "amid a batch"):
                        sampler.state_dict()
                else:
                    sampler.state_dict()
            self.assertEqual((number, sampler.epoch), (6, 1))

    def test_items_asked_by_a_thread(self):
        """While a batch is fetched, that was taken, too."""
        class Asks(Dataset):
            def __len__(self):
                return 80

            def __getitem__(self, index):
                if index == 42:
                    asks = threading.Thread(
                        target=lambda: states.append(sampler.state_dict()))
                    asks.start()
                    asks.join()
                return index

        states, sampler = [], Distributed(range(80), 1, 0)
        loader = StatefulLoader(Uncounted(
            Asks(), batch_sampler=Own(sampler, 8, False)), sampler, 8)
        places = [raw(sampler.state_dict())]
        for _ in loader:
            places.append(raw(sampler.state_dict()))
        self.assertIn(raw(states[0]), places)

    def test_items_after_a_batch_that_fails(self):
        """States are those of the batches that came."""
        class Fails(Dataset):
            def __len__(self):
                return 40

            def __getitem__(self, index):
                if index == 9:
                    raise OSError
                return index

        for workers in 0, 2:
            sampler = Distributed(range(40), 1, 0, shuffle=False)
            loop = iter(StatefulLoader(Uncounted(
                Fails(), batch_sampler=Own(sampler, 4, False),
                num_workers=workers), sampler, 4))
            left = []
            for _ in range(10):
                with contextlib.suppress(OSError):
                    next(loop)
                left.append(sampler.remaining)
            self.assertEqual(left, [36, 32, 32, *range(24, -1, -4)])

    def test_a_batch_size_that_shrinks(self):
        """What drop_last leaves out is that of the present one."""
        class Shrinks(BatchSampler):
            pass

        sampler = Distributed(range(20), 1, 0)
        loader = Counting(range(20), batch_sampler=Shrinks(sampler, 8, True))
        sizes = []
        for batch in loader:
            sizes.append(len(batch))
            loader.batch_sampler.batch_size = 4
            resumed = Distributed(range(20), 1, 0)
            resumed.load_state_dict(sampler.state_dict())
            self.assertEqual((resumed.epoch, resumed.remaining % 20),
                             (sum(sizes) // 20, 20 - sum(sizes)))
        # Newer versions of torch take the size once.
        self.assertIn(sizes, ([8, 4, 4, 4], [8, 8]))

    def test_epochs_around_another_loader_that_counts(self):
        """A loop that goes on after another one has begun is an error."""
        class Forever:
            def __init__(self, loader):
                self.loader = loader

            def __iter__(self):
                while True:
                    yield from self.loader

        sampler = Distributed(range(12), 1, 0)
        with self.assertRaisesRegex(RuntimeError, "cannot continue"):
            list(StatefulLoader(Forever(Counting(range(12), 4,
                                                 sampler=sampler)), sampler))

    def test_items_beside_a_count(self):
        """Whatever is around it: batches of any size have no number of
        items."""
        sampler = Distributed(range(40), 1, 0)
        plain = Uncounted(range(40), batch_sampler=CountedBatchSampler(
            BatchSampler(sampler, 4, False), sampler))
        for loader in plain, Ahead(plain), Ahead(Ahead(plain)):
            for items in 1, 4:
                with self.assertRaisesRegex(ValueError, "CountedBatchSampler "
                                            "counts"):
                    StatefulLoader(loader, sampler, items)

    def test_another_loader_of_a_sampler(self):
        """It does not change what the present loop's batches have."""
        sampler = Distributed(range(40), 1, 0, batch_size=4)
        mine = Counting(range(40), batch_sampler=CountedBatchSampler(
            BatchSampler(sampler, 4, False), sampler))
        StatefulLoader(sampler, sampler)
        loop = iter(mine)
        for left in False, True:
            next(iter(mine) if left else loop)
            if not left:
                StatefulLoader(sampler, sampler)
            for options in {}, dict(epoch=0):
                with self.assertRaisesRegex(ValueError, "may be of any size"):
                    sampler.state_dict(batches=1, **options)
        sampler.begin(0)
        loop = iter(Counting(range(40), 4, sampler=sampler))
        next(loop)
        Counting(range(40), batch_sampler=mine.batch_sampler)
        self.assertEqual(raw(sampler.state_dict(batches=1)),
                         raw(sampler.state_dict()))

    def test_a_break_after_a_state_by_number(self):
        """It goes on there if that was the present place, and only then."""
        for options, goes_on in ((dict(batches=3), True),
                                 (dict(batches=3, epoch=0), True),
                                 (dict(batches=2), False),
                                 (dict(batches=4, epoch=0), False),
                                 (dict(epoch=0), False),
                                 (dict(batches=3, epoch=1), False)):
            sampler = Distributed(range(20), 1, 0, batch_size=4)
            loader = Counting(range(20), 4, sampler=sampler)
            for _ in itertools.islice(loader, 3):
                pass
            sampler.state_dict(**options)
            self.assertEqual(len(list(loader)), 2 if goes_on else 5)

    def test_indices_of_another_dataset(self):
        """What gives other indices than the sampler, as P identities with K
        samples of each, is not asked for the dataset's length."""
        class Identities(BatchSampler):
            def __iter__(self):
                return ([4 * one + k for one in batch for k in range(4)]
                        for batch in super().__iter__())

        class Even:
            def __init__(self, sampler):
                self.sampler = sampler

            def __len__(self):
                return len(self.sampler)

            def __iter__(self):
                return (2 * index for index in self.sampler)

        data = range(40)
        for _ in range(2):
            sampler = Distributed(range(10), 1, 0)
            loader = Counting(data, batch_sampler=Identities(sampler, 2, False))
            self.assertEqual(sorted(sum(loader, [])), [*data])
            self.assertEqual(len(list(StatefulLoader(Uncounted(
                data, batch_sampler=Identities(sampler, 2, False)), sampler,
                2))), 5)
            sampler = Distributed(range(20), 1, 0)
            self.assertEqual(sorted(sum(StatefulLoader(Uncounted(
                data, 4, sampler=Even(sampler)), sampler, 4), [])),
                [*range(0, 40, 2)])
        # But of its own dataset it must have all.
        data = [*range(10)]
        sampler = Distributed(data, 1, 0)
        loader = Counting(data, batch_sampler=Identities(sampler, 2, False))
        data.append(10)
        with self.assertRaisesRegex(ValueError, "it has 10, but .* has 11"):
            list(loader)

    def test_to_set_what_a_batch_sampler_has(self):
        """It is that of the batch sampler inside, but what is
        CountedBatchSampler's own; also of a copy."""
        class Mine(BatchSampler):
            ended = _marks = _held = 7

        sampler = Distributed(range(24), 1, 0)
        mine = Mine(sampler, 4, False)
        loader = Counting(range(24), batch_sampler=mine)
        for batches in loader.batch_sampler, copy.copy(loader.batch_sampler):
            self.assertEqual(len(list(loader)), 6)
            batches.batch_size = 8
            self.assertEqual((mine.batch_size, len(list(loader))), (8, 3))
            mine.bound = 5
            del batches.bound
            self.assertFalse(hasattr(mine, "bound"))
            batches.unknown = 5
            self.assertFalse(hasattr(mine, "unknown"))
            del batches.unknown
            batches.sampler = sampler
            batches.batch_size = 4
            self.assertEqual((mine.ended, mine._marks), (7, 7))
        batches = pickle.loads(pickle.dumps(CountedBatchSampler(
            BatchSampler(sampler, 4, False), sampler)))
        self.assertEqual(len(list(batches)), 6)

    def test_a_length_that_there_is_not(self):
        """Whatever is raised to say so."""
        def kind(error):
            class Without:
                def __init__(self, inner):
                    self.loader, self.inner = inner, inner

                def __len__(self):
                    raise error

                def __getitem__(self, index):
                    return self.inner[index]

                def __iter__(self):
                    return iter(self.inner)
            return Without

        for error in TypeError, NotImplementedError, RuntimeError, ValueError:
            without = kind(error)
            sampler = Distributed(range(20), 1, 0)
            loader = StatefulLoader(without(Uncounted(
                range(20), 4, sampler=sampler)), sampler, 4)
            self.assertEqual(sum(len(batch) for batch in loader), 20)
            data = without(range(20))
            for how in (dict(batch_size=4, sampler=sampler),
                        dict(batch_sampler=RoundRobin([10, 10], 4, 0, 1))):
                self.assertEqual(sum(len(batch) for batch in Counting(
                    data, **how)), 20)

    def test_a_break_without_an_end(self):
        """Torch's batch sampler that drops the last has no len() then."""
        sampler = Distributed(range(22), 1, 0, batch_size=4, tail="carry")
        loader = Counting(range(22), batch_sampler=CountedBatchSampler(
            BatchSampler(sampler, 4, True), sampler))
        first = list(itertools.islice(loader, 7))
        sampler.state_dict()
        self.assertEqual(sampler.epoch, 1)
        self.assertEqual(len({*sum(first, [])}), 22)
        straight = itertools.islice(Distributed(range(22), 1, 0, tail="carry"),
                                    28, 32)
        self.assertEqual(next(iter(loader)), list(straight))

    def test_warnings_that_are_errors(self):
        """Once; the next loop is as after the warning."""
        sampler = Distributed(range(20), 1, 0, tail="carry")
        order = list(itertools.islice(copy.copy(sampler), 8))
        next(iter(sampler))
        loader = Counting(range(20), 4, sampler=sampler)
        held = Distributed(range(20), 1, 0)
        again = Counting(range(20), batch_sampler=AtOnce(held, 4, False))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with self.assertRaisesRegex(UserWarning, "nothing counted"):
                next(iter(loader))
            self.assertEqual(next(iter(loader)), order[1:5])
            next(iter(again))
            with self.assertRaisesRegex(UserWarning, "held back samples"):
                next(iter(again))
            self.assertEqual(held.remaining, 20)
            self.assertEqual(len(list(again)), 5)

    def test_a_length_that_was_asked_for_before(self):
        """By a loader between: a resize does not change it."""
        class Asked(Ahead):
            def __init__(self, loader):
                super().__init__(loader)
                self.length = len(loader)

            def __len__(self):
                return self.length

        data = [*range(20)]
        sampler = Distributed(data, 1, 0, shuffle=False)
        loader = StatefulLoader(Asked(Uncounted(data, 4, sampler=sampler)),
                                sampler)
        self.assertEqual(sum(loader, []), [*range(20)])
        data += range(20, 40)
        sampler.resize(40)
        self.assertEqual(sum(loader, []), [*range(40)])

    def test_the_epoch_after_a_break_at_the_last_batch(self):
        """That of the next loop, as a run says that loads a state."""
        sampler = Distributed(range(20), 1, 0)
        loader = Counting(range(20), 5, sampler=sampler)
        for epoch in range(3):
            self.assertEqual(sampler.epoch, epoch)
            for _ in itertools.islice(loader, 4):
                self.assertEqual(sampler.epoch, epoch)
        self.assertEqual(sampler.epoch, 3)
        sampler.set_epoch(2)
        self.assertEqual(sampler.epoch, 2)
        for _ in itertools.islice(loader, 3):
            pass
        self.assertEqual(sampler.epoch, 2)

    def test_an_interrupt(self):
        """The loop is over, and the state is that after the last batch."""
        class Slow(list):
            def __getitem__(_, i):
                if stop and i == stop[0]:
                    stop.clear()
                    raise KeyboardInterrupt
                return i

        stop, sampler = [], Distributed(range(40), 1, 0, batch_size=4)
        stop.append(sampler.at(3)[2])
        loader = StatefulLoader(Uncounted(Slow(range(40)), 4, sampler=sampler),
                                sampler)
        served, loop = [], iter(loader)
        with self.assertRaises(KeyboardInterrupt):
            for batch in loop:
                served += batch
        with self.assertRaisesRegex(RuntimeError, "an interrupt"):
            next(loop)
        self.assertEqual(sampler.start_iter, 3)
        loader.load_state_dict(loader.state_dict())
        for batch in loader:
            served += batch
        self.assertEqual(sorted(served), [*range(40)])

    def test_what_ends_early(self):
        """It leaves out batches, whether workers have them or nobody has."""
        for workers, most in itertools.product((0, 2), (0, 1, 3)):
            sampler = Distributed(range(40), 1, 0)
            loader = Uncounted(range(40), 4, sampler=sampler,
                               num_workers=workers)

            class Few:
                def __iter__(_):
                    return itertools.islice(loader, most)

            early = StatefulLoader(Few(), sampler, items=4)
            with self.assertRaisesRegex(
                    RuntimeError, f"returned {most} batches of 4, but the "
                    "sampler had 40.*To end an"):
                list(early)
            self.assertEqual((sampler.epoch, sampler.remaining),
                             (0, 40 - 4 * most))

    def test_batches_of_any_size(self):
        """Each by a state at each batch, in each loader."""
        class Growing:
            def __init__(self, sampler):
                self.sampler = sampler

            def __iter__(self):
                indices, size = iter(self.sampler), itertools.count(1)
                return iter(lambda: [*itertools.islice(indices, next(size))],
                            [])

        def wrapped(loader):
            def made(data, batch_sampler, **options):
                sampler = batch_sampler.sampler
                return StatefulLoader(loader(data, batch_sampler=(
                    CountedBatchSampler(batch_sampler, sampler)), **options),
                    sampler)
            return made

        for make, workers in itertools.product(
                (Counting, wrapped(Uncounted), wrapped(Background)), (0, 2)):
            whole = list(Distributed(range(40), 1, 0))
            sampler, seen = Distributed(range(40), 1, 0), []
            for size, batch in enumerate(make(
                    range(40), batch_sampler=Growing(sampler),
                    num_workers=workers), 1):
                self.assertTrue(len(batch) == size or len(seen) > 30)
                seen += batch
                resumed = Distributed(range(40), 1, 0)
                resumed.load_state_dict(sampler.state_dict())
                self.assertEqual(resumed.epoch, len(seen) // 40)
                if resumed.epoch == 0:
                    self.assertEqual(seen + list(resumed), whole)
            self.assertEqual((len(seen), sampler.epoch), (40, 1))

    def test_the_number_of_batches_of_any_size(self):
        """It is no place: neither amid the loop nor between two."""
        sampler = Distributed(range(40), 1, 0, batch_size=4)
        loop = iter(Counting(range(40), batch_sampler=CountedBatchSampler(
            BatchSampler(sampler, 3, False), sampler)))
        for step in [lambda: None] + 2 * [lambda: next(loop)] + [
                lambda: list(loop)]:
            step()
            before = sampler.epoch, raw(sampler.state_dict())
            for ask in (lambda: sampler.start_iter,
                        lambda: sampler.set_start_iter(2),
                        lambda: sampler.at(2), lambda: sampler.padding(2),
                        lambda: sampler.locate(2),
                        lambda: sampler.state_dict(batches=2),
                        lambda: sampler.state_dict(batches=2, epoch=1)):
                with self.assertRaisesRegex(ValueError, "says no place"):
                    ask()
            self.assertEqual((sampler.epoch, raw(sampler.state_dict())),
                             before)

    def test_batches_of_your_own_of_one_size(self):
        """What the refusal says to write knows the places."""
        class Mine(BatchSampler):
            pass

        sampler = Distributed(range(40), 1, 0, batch_size=4)
        mine = Mine(sampler, 4, False)
        next(iter(Counting(range(40), batch_sampler=mine)))
        with self.assertRaisesRegex(
                ValueError, r"all are of batch_size, .* StatefulLoader\("
                r"DataLoader\(dataset, batch_sampler=yours\), sampler, "
                r"items=batch_size\) instead$"):
            sampler.at(1)
        sampler.begin(0)
        batches = list(StatefulLoader(Uncounted(
            range(40), batch_sampler=mine), sampler, items=4))
        sampler.begin(0)
        self.assertEqual([sampler.at(step) for step in range(10)], batches)
        place = sampler.locate(batches[7][2])
        self.assertEqual((place.step, place.slot), (7, 2))
        self.assertEqual(sampler.padding(9), 0)

    def test_items_that_are_seen(self):
        """Others are an error, though they make as many batches: but where
        something between may join some."""
        class Joined:
            def __init__(self, loader):
                self.loader = loader

            def __iter__(self):
                batches = iter(self.loader)
                return (batch + next(batches, []) for batch in batches)

        class Twos(torch.utils.data.DataLoader):
            def __iter__(self):
                return iter(Joined(super().__iter__()))

            def __len__(self):
                return (super().__len__() + 1) // 2

        sampler = Distributed(range(20), 1, 0)
        mine = CountedBatchSampler(BatchSampler(sampler, 8, False), sampler)
        for loader, items, seen in (
                (Uncounted(range(20), 8, sampler=sampler), 9, "8"),
                (Counting(range(20), 8, sampler=sampler), 9, "8"),
                (Background(range(20), 8, sampler=sampler), 7, "8"),
                (Uncounted(range(20), batch_sampler=mine), 8, "as many as"),
                (sampler, 2, "1")):
            with self.assertRaisesRegex(ValueError, f"items={items}: a batch "
                                        f"of this loader takes {seen}"):
                StatefulLoader(loader, sampler, items=items)
        for loader, left in (
                (Joined(Uncounted(range(20), 4, sampler=sampler,
                                  drop_last=True)), [12, 4, 20]),
                (Twos(range(20), 4, sampler=sampler, collate_fn=list),
                 [12, 4, 20]),
                (Uncounted(range(20), 8, sampler=sampler, drop_last=True),
                 [12, 20])):    # What is left is no batch.
            sampler.begin(0)
            for batch, most in zip(StatefulLoader(loader, sampler, 8), left):
                resumed = Distributed(range(20), 1, 0)
                resumed.load_state_dict(sampler.state_dict())
                self.assertEqual(resumed.remaining, most)

    def test_batches_that_are_cut(self):
        """By a loader around a DataLoader, into parts: a state at each, and an
        end that may leave out what makes no batch inside. Where nobody sees
        that, the error says how it would be seen."""
        class Cut(Ahead):
            __len__ = None

            def __iter__(self):
                for batch in self.loader:
                    for at in range(0, len(batch), 2):
                        yield batch[at:at + 2]

        class Counts(Cut):
            def __len__(self):
                return len(self.loader) * (self.loader.batch_size // 2)

        class Hides(Cut):
            def __init__(self, loader):
                self.inner = loader

            def __iter__(self):
                return iter(Cut(self.inner))

        def make(kind, drop_last, length, workers=0):
            sampler = Distributed(range(length), 1, 0)
            return sampler, StatefulLoader(kind(Uncounted(
                range(length), 8, sampler=sampler, drop_last=drop_last,
                num_workers=workers)), sampler, items=2)

        for kind, drop_last, length in itertools.product(
                (Cut, Counts), (False, True), (32, 33, 38)):
            whole = list(Distributed(range(length), 1, 0))
            most = 32 if drop_last else length
            for workers in 0, 1:
                sampler, loader = make(kind, drop_last, length, workers)
                for epoch in 1, 2:
                    self.assertEqual(len(sum(loader, [])), most)
                    self.assertEqual(sampler.epoch, epoch)
            sampler, loader = make(kind, drop_last, length)
            for i, _ in enumerate(loader, 1):
                if drop_last and i % 4:     # It would drop other samples.
                    with self.assertRaisesRegex(RuntimeError, "amid a batch"):
                        loader.state_dict()
                    continue
                resumed, again = make(kind, drop_last, length)
                again.load_state_dict(loader.state_dict())
                self.assertEqual(resumed.epoch, int(2 * i >= most))
                if resumed.epoch == 0:
                    self.assertEqual(sum(again, []), whole[2 * i:most])
                    self.assertEqual(resumed.epoch, 1)
        for length, wrong in (32, False), (38, True):
            _, loader = make(Hides, True, length)
            if wrong:
                with self.assertRaisesRegex(RuntimeError, "attribute `loader`"):
                    list(loader)
            else:
                list(loader)

    def test_the_sampler_of_another_loader(self):
        """Has nothing to do with this one."""
        for make, how in (
                (lambda: Distributed(range(20), 1, 0),
                 lambda one: dict(batch_size=4, sampler=one)),
                (lambda: Distributed(range(20), 1, 0),
                 lambda one: dict(batch_size=None, sampler=one)),
                (lambda: RoundRobin([9, 11], 4, 0, 1, stop="all"),
                 lambda one: dict(batch_sampler=one))):
            one = make()
            for make_loader, items in itertools.product(
                    (Counting, Uncounted, Background), (None, 4)):
                with self.assertRaisesRegex(
                        ValueError, "is not the loader's sampler, which is "
                        f"another {type(one).__name__}"):
                    StatefulLoader(make_loader(range(20), **how(one)), make(),
                                   items)

    def test_a_batch_sampler_as_sampler(self):
        """As torch takes one with batch_size=None, for datasets that load a
        batch at once."""
        class Bulk:
            def __len__(self):
                return 40

            def __getitem__(self, indices):
                return list(indices)

        class Growing(BatchSampler):
            def __iter__(self):
                indices, size = iter(self.sampler), itertools.count(1)
                return iter(lambda: [*itertools.islice(indices, next(size))],
                            [])

        def by_hand(loader):
            def made(data, sampler, **options):
                batches = sampler if type(sampler) is BatchSampler else (
                    CountedBatchSampler(sampler, sampler.sampler))
                return StatefulLoader(loader(data, sampler=batches, **options),
                                      sampler.sampler)
            return made

        options = dict(batch_size=None, collate_fn=list)
        for make, kind, workers in itertools.product(
                (Counting, by_hand(Uncounted), by_hand(Background)),
                (BatchSampler, Growing), (0, 2)):
            whole = list(Distributed(range(40), 1, 0))
            sampler, seen = Distributed(range(40), 1, 0), []
            for batch in make(Bulk(), sampler=kind(sampler, 7, False),
                              num_workers=workers, **options):
                seen += batch
                resumed = Distributed(range(40), 1, 0)
                resumed.load_state_dict(sampler.state_dict())
                if len(seen) < 40:
                    self.assertEqual(seen + list(resumed), whole)
            self.assertEqual((len(seen), sampler.epoch), (40, 1))
        for loader in Counting, Uncounted:  # One that gives batches itself.
            sampler = RoundRobin([20, 20], 4, 0, 1)
            loader = StatefulLoader(loader(Bulk(), sampler=sampler, **options),
                                    sampler)
            next(iter(loader))
            self.assertEqual(sampler.remaining, 9)

    def test_what_is_no_loader(self):
        sampler = Distributed(range(20), 1, 0)
        for wrong in None, 5, object():
            with self.assertRaisesRegex(TypeError, "needs a loader, but got "
                                        + type(wrong).__name__):
                StatefulLoader(wrong, sampler, items=1)
        for wrong in Sampler(20, 0, 1), BatchSampler(range(20), 2, False):
            with self.assertRaisesRegex(
                    TypeError, "needs a sampler of statesampler for torch, "
                    "such as StatefulDistributedSampler, but got "
                    f"{type(wrong).__name__}$"):
                StatefulLoader([1], wrong)
            with self.assertRaisesRegex(
                    TypeError, "needs a sampler of stat.* attribute `sampler`, "
                    "or CountedBatchSampler; or .* items="):
                Counting(range(20), 4, sampler=wrong)

    def test_another_batch_size(self):
        """Than the sampler's, in whose batches places are said."""
        class Mine(BatchSampler):
            pass

        sampler = Distributed(range(20), 1, 0, batch_size=4)
        for size in 1, 2, 8:
            loader = Uncounted(range(20), size, sampler=sampler)
            for make in (lambda: Counting(range(20), size, sampler=sampler),
                         lambda: StatefulLoader(loader, sampler),
                         lambda: StatefulLoader(Background(
                             range(20), size, sampler=sampler), sampler),
                         lambda: StatefulLoader(filter(None, loader), sampler,
                                                items=8)):
                with self.assertRaisesRegex(
                        ValueError, "batch_size=4, but a batch of the loader "
                        "takes [128] samples"):
                    make()
        # Who makes batches of what has none says how large they are.
        for loader in (StatefulLoader(sampler, sampler),
                       StatefulLoader(iter(sampler), sampler, items=1),
                       Counting(range(20), batch_size=None, sampler=sampler,
                                collate_fn=None)):
            list(itertools.islice(loader, 8))
            self.assertEqual(sampler.start_iter, 2)
            sampler.begin(0)
        # A RepeatSampler's are none of the loader's.
        list(Counting(range(20), 3, sampler=RepeatSampler(range(20), 2, 4)))
        sampler.batch_size = 5
        loader = Counting(range(20), 5, sampler=sampler)
        sampler.state_dict(batches=1)
        sampler.batch_size = 4
        with self.assertRaisesRegex(ValueError, "has batch_size=4"):
            list(loader)
        # Batches of any size have no number of samples.
        loader = Counting(range(20), batch_sampler=Mine(sampler, 5, False))
        next(iter(loader))
        for options in {}, {"epoch": 0}:
            with self.assertRaisesRegex(ValueError, "say state_dict"):
                sampler.state_dict(batches=1, **options)
            sampler.state_dict(**options)
        Counting(range(20), 4, sampler=sampler)
        sampler.state_dict(batches=1)

    def test_batches_that_are_iterators(self):
        """Torch takes them, and what they have not given yet is taken."""
        class Lazy:
            def __init__(self, sampler, kind):
                self.sampler, self.kind = sampler, kind

            def __iter__(self):
                indices = iter(self.sampler)
                return (self.kind(itertools.islice(indices, 4))
                        for _ in range(5))

        kinds = (iter, lambda batch: (i for i in batch),
                 lambda batch: map(int, batch), list, tuple, dict.fromkeys,
                 lambda batch: torch.tensor([*batch]))
        for kind, workers in itertools.product(kinds, (0, 1)):
            sampler = Distributed(range(20), 1, 0)
            loader = Counting(range(20), num_workers=workers,
                              batch_sampler=Lazy(sampler, kind))
            for i, batch in enumerate(loader, 1):
                self.assertEqual((len(batch), sampler.remaining),
                                 (4, 20 - 4 * i))
        with self.assertRaisesRegex(TypeError, "batches of indices, but gave "
                                    "int"):
            list(Counting(range(20), batch_sampler=CountedBatchSampler(
                torch.utils.data.SequentialSampler(range(20)), sampler)))
        for wrong in None, 5, sampler, RepeatSampler(range(20), 1):
            with self.assertRaisesRegex(
                    TypeError, f"of indices, but got {type(wrong).__name__}"):
                CountedBatchSampler(wrong, sampler)
        batches = RoundRobin([9, 11], 4, 0, 1, stop="all")
        loader = Counting(range(20), batch_sampler=CountedBatchSampler(
            batches, batches))
        next(iter(loader))
        self.assertEqual(batches.remaining, len(batches) - 1)

    def test_names_of_a_batch_samplers_own(self):
        """Which are CountedBatchSampler's, too, and mean something else."""
        class Mine(Own):
            def __init__(self, sampler, name, value):
                super().__init__(sampler, 4, False)
                setattr(self, name, value)

        for name, value in itertools.product(
                ("taken", "given", "held", "ended"), (3, lambda: 3, None)):
            sampler = Distributed(range(20), 1, 0)
            mine = Mine(sampler, name, value)
            for loader in (Counting(range(20), batch_sampler=mine),
                           StatefulLoader(Uncounted(range(20),
                                                    batch_sampler=mine),
                                          sampler, 4)):
                for i, _ in enumerate(loader, 1):
                    self.assertEqual(sampler.remaining, 20 - 4 * i)
            with self.assertRaisesRegex(TypeError, "put your batch sampler"):
                StatefulLoader(Uncounted(range(20), batch_sampler=mine),
                               sampler)

    def test_without_torchs_init(self):
        """As Ignite's ReproducibleBatchSampler, which has no drop_last."""
        class Mine(BatchSampler):
            def __init__(self, sampler):
                self.sampler = sampler

            def __iter__(self):
                return iter(BatchSampler(self.sampler, 4, False))

            def __len__(self):
                return 5

        sampler = Distributed(range(20), 1, 0)
        loader = Counting(range(20), batch_sampler=Mine(sampler))
        for _ in range(2):
            for left, _ in zip((16, 12, 8, 4, 0), loader):
                resumed = Distributed(range(20), 1, 0)
                resumed.load_state_dict(sampler.state_dict())
                self.assertEqual(resumed.remaining, left or 20)
        self.assertEqual(sampler.epoch, 2)

    def test_uneven_ranks(self):
        """One of which has a sample less: it is at the end where the others
        are, and not before."""
        class Mine(BatchSampler):
            pass

        for n, ranks, size in itertools.product((1, 7, 20), (2, 3), (1, 3)):
            for rank in range(ranks):
                def make():
                    return Distributed(range(n), ranks, rank, tail="uneven")

                order, sampler, seen = list(make()), make(), []
                loader = Counting(range(n), batch_sampler=Mine(sampler, size,
                                                               False))
                for batch in loader:
                    seen += batch
                    resumed = make()
                    resumed.load_state_dict(sampler.state_dict())
                    first = Distributed(range(n), ranks, 0, tail="uneven")
                    self.assertEqual(resumed.epoch, int(
                        len(seen) == len(order) and (
                            len(batch) < size or len(order) == len([*first]))))
                    if resumed.epoch == 0:
                        self.assertEqual(seen + list(resumed), order)
                self.assertEqual((seen, sampler.epoch), (order, 1))

    def test_a_thread_over_workers_that_persist(self):
        """Whole epochs. (After a break, two threads would read the one
        iterator that torch then has.)"""
        order = Distributed(range(20), 1, 0)
        sampler = Distributed(range(20), 1, 0)
        loader = StatefulLoader(Background(
            range(20), 3, sampler=sampler, num_workers=2,
            persistent_workers=True), sampler)
        for _ in range(3):
            self.assertEqual(sum(loader, []), list(order))

    def test_places(self):
        """A sampler of batches is a batch_sampler, one of indices is not."""
        for sampler in Distributed(range(9), 1, 0), RepeatSampler(range(9), 1):
            with self.assertRaisesRegex(TypeError, "gives indices: pass .* "
                                        "sampler=, not"):
                Counting(range(9), batch_sampler=sampler)
        for sampler in (RoundRobin([4, 5], 2, 0, 1),
                        PackedBatchSampler(9 * [1], 3, 0, 1),
                        SpreadBatchSampler(range(9), 3, 0, 1)):
            for make in Counting, around(Uncounted):
                with self.assertRaisesRegex(TypeError, "gives batches: pass .*"
                                            " batch_sampler=, not"):
                    make(range(9), 3, sampler=sampler)

    def test_lengths(self):
        """Samples that would never come, also those that came since; or that
        the dataset does not have."""
        for sampler in (Distributed(range(20), 1, 0),
                        RoundRobin([8, 12], 2, 0, 1),
                        Blended([8, 12], 2, 0, 1, stop="all"),
                        PackedBatchSampler([1] * 20, 4, 0, 1),
                        SpreadBatchSampler(range(20), 2, 0, 1),
                        RepeatSampler(range(20), 1, 2)):
            how = (dict(batch_sampler=sampler) if sampler._gives_batches else
                   dict(sampler=sampler))
            data = list(range(20))
            loader = StatefulLoader(Uncounted(data, **how), sampler)
            list(loader)
            for count in 21, 19:
                data[:] = range(count)
                for make in (lambda: list(loader),
                             lambda: Counting(data, **how)):
                    with self.assertRaisesRegex(
                            ValueError, "it has 20, but the dataset has "
                            f"{count}"):
                        make()

    def test_a_dataset_that_grows(self):
        """In place, where nothing but the sampler sees it: in a loop that
        nothing counts, and in a loader whose inside is not known."""
        class Unknown:
            def __init__(self, loader):
                self.inner = loader

            def __iter__(self):
                return iter(self.inner)

        for make, workers in itertools.product(
                (lambda data: Distributed(data, 1, 0),
                 lambda data: RepeatSampler(data, 1, 2)), (0, 1)):
            data = list(range(20))
            sampler = make(data)
            plain = Uncounted(data, 4, sampler=sampler, num_workers=workers)
            loaders = plain, StatefulLoader(Unknown(plain), sampler, items=4)
            for count, loader in itertools.product((20, 30, 18), loaders):
                data[:] = range(count)
                sampler.begin(0)
                if count == 20:
                    self.assertEqual(len(list(loader)), 5)
                    continue
                with self.assertRaisesRegex(ValueError, "has 20, but the data"
                                            f"set has {count}"):
                    list(loader)
                self.assertEqual((sampler.epoch, sampler.remaining), (0, 20))
                data[:] = range(20)     # What was wrong is not kept.
                self.assertEqual(len(list(loader)), 5)

    def test_a_dataset_that_grows_and_a_resize(self):
        data = list(range(20))
        sampler = Distributed(data, 1, 0, shuffle=False)
        sampler.resize(30)      # Of another list, perhaps.
        self.assertEqual(len(list(sampler)), 30)
        data[:] = range(30)
        self.assertEqual(len(list(sampler)), 30)
        data[:] = range(31)
        with self.assertRaisesRegex(ValueError, "has 30, but the dataset has "
                                    "31"):
            list(sampler)

    def test_lengths_of_each(self):
        """Those of the parts of a ConcatDataset, which may be divided further,
        or told together."""
        for lengths, parts, good in (
                ([8, 12], [8, 12], True), ([8, 12], [12, 8], False),
                ([8, 12], [8, 5, 7], True), ([8, 5, 7], [8, 12], True),
                ([8, 12], [5, 5, 10], False), ([20], [8, 12], True)):
            data = ConcatDataset([range(part) for part in parts])
            for kind in RoundRobin, Blended:
                sampler = kind(lengths, 2, 0, 1, stop="all")
                if good:
                    list(Counting(data, batch_sampler=sampler))
                    continue
                with self.assertRaisesRegex(ValueError, re.escape(
                        f"lengths={lengths}, but those of the ConcatDataset "
                        f"are {parts}")):
                    Counting(data, batch_sampler=sampler)

    def test_attributes(self):
        """They are the loader's, but set_epoch."""
        sampler = Distributed(range(20), 1, 0)
        inner = Uncounted(range(20), 3, sampler=sampler)
        inner.set_epoch = None
        loader = StatefulLoader(inner, sampler)
        self.assertEqual((loader.batch_size, loader.sampler, len(loader)),
                         (3, sampler, 7))
        self.assertIs(loader.dataset, inner.dataset)
        self.assertFalse(hasattr(loader, "set_epoch"))
        self.assertFalse(hasattr(loader, "another"))
        self.assertEqual(len(list(copy.copy(loader))), 7)
        # As Lightning 2.6.2 does at the end of a fit (combined_loader.py).
        inner.taken_away = 3
        loader.taken_away = 4
        self.assertEqual(inner.taken_away, 4)
        del loader.taken_away
        self.assertFalse(hasattr(inner, "taken_away"))
        loader.mine = 5
        self.assertFalse(hasattr(inner, "mine"))
        del loader.mine
        with self.assertRaises(AttributeError):
            del loader.mine
        outer = StatefulLoader(Counting(range(20), 3, sampler=sampler), sampler)
        self.assertEqual(len(list(outer)), 7)
        self.assertIsInstance(Counting(range(20), sampler=sampler),
                              torch.utils.data.DataLoader)
        mine = CountedBatchSampler(BatchSampler(sampler, 3, True), sampler)
        self.assertEqual((mine.batch_size, mine.drop_last, len(mine)),
                         (3, True, 6))

    def test_a_batch_size_set_amid_a_loop(self):
        """Nobody knows which batches have it; between loops it is known."""
        for make, ours in zip(counted_in_both(), (True, False)):
            sampler, loader = make(30)
            batches = iter(loader)
            next(batches)
            state = loader.state_dict()
            if ours:
                with self.assertRaisesRegex(RuntimeError, "set amid a loop"):
                    loader.batch_sampler.batch_size = 8
                self.assertEqual(next(batches), [4, 5, 6, 7])
                del batches
            else:
                loader.batch_sampler.batch_size = 8
                self.assertEqual(raw(loader.state_dict()), raw(state))
                with self.assertRaisesRegex(RuntimeError, "was 4 .* is 8 now"):
                    next(batches)
                loader.batch_sampler.batch_size = 4
                with self.assertRaisesRegex(RuntimeError, "cannot continue"):
                    next(batches)
            loader.batch_sampler.batch_size = 8
            loader.load_state_dict(state)
            self.assertEqual(list(map(len, loader)), [8, 8, 8, 2])

            sampler, loader = make(30, tail="carry")
            for batch in loader:
                break
            loader.batch_sampler.batch_size = 8
            self.assertEqual(next(iter(loader)), list(range(4, 12)))

    def test_a_samplers_batch_size_set_in_a_run(self):
        """From where the next loop begins batches have it, and those before
        that are known no more, as after a load; amid a loop it is an error."""
        sampler = Distributed(range(40), 1, 0, shuffle=False, batch_size=4)
        loader = Counting(range(40), 4, sampler=sampler)
        batches = iter(loader)
        for _ in range(3):
            next(batches)
        with self.assertRaisesRegex(RuntimeError, "set amid a loop"):
            sampler.batch_size = 8
        self.assertEqual((sampler.batch_size, sampler.start_iter), (4, 3))
        loader.state_dict()
        del batches
        sampler.batch_size = loader.batch_sampler.batch_size = 8
        self.assertEqual(list(sampler.at(2)), list(range(12, 20)))
        with self.assertRaisesRegex(ValueError, "batch_size changed"):
            sampler.at(1)
        self.assertEqual(next(iter(loader)), list(range(12, 20)))
        resumed = Distributed(range(40), 1, 0, shuffle=False)
        resumed.load_state_dict(sampler.state_dict(batches=sampler.start_iter))
        self.assertEqual(list(resumed), list(range(20, 40)))
        # After a break without a state, and a look that nothing counts.
        sampler = Distributed(range(40), 1, 0, shuffle=False, batch_size=4)
        loader = Counting(range(40), 4, sampler=sampler)
        for batch in itertools.islice(loader, 3):
            pass
        sampler.batch_size = loader.batch_sampler.batch_size = 8
        self.assertEqual(raw(loader.state_dict()), raw(state_at(12)))
        next(iter(sampler))
        self.assertEqual(next(iter(loader)), list(range(12, 20)))
        self.assertEqual(raw(sampler.state_dict(batches=sampler.start_iter)),
                         raw(state_at(20)))
        self.assertEqual(list(sampler.at(sampler.start_iter)),
                         list(range(20, 28)))
        # Of a loop that nothing counts: a state does not claim the new one.
        sampler = Distributed(range(40), 1, 0, batch_size=8)
        for epoch in 0, 1:
            sampler.set_epoch(epoch)
            list(Uncounted(range(40), sampler.batch_size, sampler=sampler))
            sampler.batch_size = 4
        self.assertEqual(
            sampler.state_dict(epoch=1, batches=2)["indices_per_batch"], 0)

    def test_a_users_batch_sampler_of_another_size(self):
        """It is the loader's own, so what is set there counts; and a
        CountedBatchSampler counts it amid a loop."""
        sampler = Distributed(range(30), 1, 0, shuffle=False)
        batches = BatchSampler(sampler, 4, False)
        loader = Counting(range(30), batch_sampler=batches)
        self.assertIs(loader.batch_sampler, batches)
        next(iter(loader))
        batches.batch_size = 8
        self.assertEqual(list(map(len, loader)), [8, 8, 8, 6])
        sampler.begin(0)
        batches.batch_size = 4
        loader = Counting(range(30), batch_sampler=CountedBatchSampler(
            batches, sampler))
        served = []
        for batch in loader:
            batches.batch_size = 8
            served += batch
            copied = copy.copy(sampler)
            left = list(copied) if copied.epoch == 0 else []
            self.assertEqual(served + left, list(range(30)))

    def test_a_thread_of_a_loop_that_was_left(self):
        """It still takes batches when the next loop has begun, which do not
        count there."""
        class Behind:
            left = now = None

            def __init__(self, loader):
                self.loader = loader

            def __iter__(self):
                self.left, self.now = self.now, iter(self.loader)
                return iter(lambda: next(self.now, None), None)

        class Growing:
            def __init__(self, sampler):
                self.sampler = sampler

            def __iter__(self):
                batch = []
                for index in self.sampler:
                    batch.append(index)
                    if len(batch) > index % 4:
                        yield batch
                        batch = []

        for stop in range(1, 8):
            sampler = Distributed(range(60), 1, 0, shuffle=False)
            behind = Behind(Uncounted(range(60), batch_sampler=(
                CountedBatchSampler(Growing(sampler), sampler))))
            loader = StatefulLoader(behind, sampler)
            for batch in loader:
                loader.state_dict()
                break
            for number, batch in enumerate(loader, 1):
                next(behind.left, None)
                if number == stop:
                    break
            list(behind.left)
            place = batch[-1] + 1
            resumed = Distributed(range(60), 1, 0, shuffle=False)
            resumed.load_state_dict(loader.state_dict())
            self.assertEqual(next(iter(resumed)), place)

    def test_an_iter_of_a_users_own(self):
        """What it does is around the count, or before it: that is said, but not
        where another loader counts."""
        class Before(CountingDataLoader):
            def __iter__(self):
                yield from list(super().__iter__())

        class Turned(Distributed):
            def __iter__(self):
                return iter(list(super().__iter__())[::-1])

        with self.assertWarnsRegex(UserWarning, "Before has an __iter__"):
            next(iter(Before(range(9), sampler=Distributed(range(9), 1, 0))))
        class Sorted(CountedBatchSampler):
            def __iter__(self):
                yield from sorted(super().__iter__(), reverse=True)

        sampler = Distributed(range(9), 1, 0)
        with self.assertWarnsRegex(UserWarning, "Sorted has an __iter__"):
            next(iter(Counting(range(9), batch_sampler=Sorted(
                BatchSampler(sampler, 2, False), sampler))))
        Sorted.__module__ = "statesampler_of_mine"
        self.assertTrue(has_own_iter(Sorted([], sampler)))
        sampler = Turned(range(9), 1, 0)
        for loader in (Counting(range(9), sampler=sampler),
                       StatefulLoader(sampler, sampler)):
            with self.assertWarnsRegex(UserWarning, "Turned has an __iter__"):
                next(iter(loader))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            sampler = Distributed(range(9), 1, 0)
            self.assertEqual(9, len(list(StatefulLoader(
                Before(range(9), sampler=sampler), sampler))))
            for sampler in Turned(range(9), 1, 0), sampler:
                list(sampler)


class Fabric(unittest.TestCase):
    def test_it_counts_from_0(self):
        """Lightning Fabric 2.6.2 (7f0c3436cd, lightning/fabric/wrappers.py)
        calls set_epoch with the number of its iter() calls."""
        class FabricDataLoader:
            def __init__(self, loader):
                self.loader, self.calls = loader, 0

            def __iter__(self):
                self.loader.sampler.set_epoch(self.calls)
                self.calls += 1
                yield from iter(self.loader)

        for kind in Uncounted, Counting:
            def make():
                sampler = Distributed(range(15), 1, 0)
                return sampler, StatefulLoader(FabricDataLoader(
                    kind(range(15), 4, sampler=sampler)), sampler)

            sampler, loader = make()
            whole = [batch for _ in range(3) for batch in loader]
            for stop in range(1, len(whole)):
                sampler, loader = make()
                served = (batch for _ in range(3) for batch in loader)
                begun = list(itertools.islice(served, stop))
                state = loader.state_dict()
                sampler, loader = make()
                loader.load_state_dict(state)
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    left = [batch for _ in range(sampler.epoch, 3)
                            for batch in loader]
                self.assertEqual(begun + left, whole)


if __name__ == "__main__":
    main()
