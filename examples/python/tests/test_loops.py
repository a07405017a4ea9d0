"""The states of samplers in loops that are not plain: repeated in one iterator
of a DataLoader, two in one, asked late, with datasets that fail; and copies."""

import contextlib
import copy
import gc
import itertools
import multiprocessing
import os
import pickle
import queue
import sys
import threading
import types
import unittest
import warnings

from common import DataLoader, Uncounted, counted, main, raw
import statesampler
from statesampler import CountedBatchSampler, StatefulLoader
from statesampler import RoundRobinBatchSampler as RoundRobin
from statesampler import StatefulDistributedSampler as Distributed
import torch
from torch.utils.data import BatchSampler, Dataset

PACKAGE = os.path.dirname(statesampler.__file__)


def tell(sampler, queue):
    queue.put((sampler.epoch, sampler.remaining))


class Alternate:
    """Batches of two samplers in turn, until one has none left."""

    def __init__(self, *samplers):
        self.samplers = samplers

    def __iter__(self):
        for both in zip(*self.samplers):
            yield from both


class Late:
    """Batches of another's, then the sampler's."""

    def __init__(self, others, sampler):
        self.others, self.sampler = others, sampler

    def __iter__(self):
        yield from self.others
        yield from self.sampler

    def __len__(self):
        return len(self.others) + len(self.sampler)


class Three:
    """The next three batches of another's."""

    def __init__(self, batches):
        self.batches = batches

    def __iter__(self):
        return itertools.islice(self.batches, 3)


class InTwos:
    """Batches of two."""

    def __init__(self, sampler):
        self.sampler = sampler

    def __iter__(self):
        left = iter(self.sampler)
        return iter(lambda: list(itertools.islice(left, 2)), [])


class Failing(Dataset):
    """Fails at some samples, once or always."""

    def __init__(self, bad):
        self.bad = bad

    def __getitem__(self, index):
        if index in self.bad:
            raise KeyError(index)
        return index


def loader(batches, workers=0, **options):
    return DataLoader(Failing(()), batch_sampler=batches, num_workers=workers,
                      **options)


def counted_in(batches, workers, *samplers):
    """Loops over batches that take from these samplers."""
    for sampler in samplers:
        batches = CountedBatchSampler(batches, sampler)
    served = Uncounted(Failing(()), batch_sampler=batches, num_workers=workers)
    for sampler in samplers:
        served = StatefulLoader(served, sampler)
    return served


def some(iterable, count):
    return list(itertools.islice(iterable, count))


def resumed(sampler, state):
    sampler.load_state_dict(state)
    return sampler


class Once(unittest.TestCase):
    def test_what_begins_again(self):
        """In one loop: timm's and YOLO's _RepeatSampler, and what takes its
        batches from the beginning. A state could not say how often."""
        class Repeat:
            def __init__(self, sampler):
                self.sampler = sampler

            def __iter__(self):
                while True:
                    yield from self.sampler

        class Parts(Repeat):
            def __iter__(self):
                while True:
                    yield list(itertools.islice(self.sampler, 4))

        for workers in 0, 1:
            for make in (
                    lambda sampler: loader(Repeat(BatchSampler(
                        sampler, 3, False)), workers),
                    lambda sampler: loader(Parts(sampler), workers)):
                sampler = Distributed(range(18), 1, 0)
                with self.assertRaisesRegex(RuntimeError, "iterate its samp"):
                    some(make(sampler), 7)

    def test_what_began_before(self):
        """YOLO's InfiniteDataLoader, whose iterator is made once."""
        class Infinite(torch.utils.data.DataLoader):
            def __init__(self, *arguments, **options):
                super().__init__(*arguments, **options)
                self.iterator = super().__iter__()

            def __iter__(self):
                for _ in range(len(self)):
                    yield next(self.iterator)

        sampler = Distributed(range(18), 1, 0)
        served = StatefulLoader(Infinite(range(18), 3, sampler=sampler,
                                         num_workers=1), sampler)
        with self.assertRaisesRegex(RuntimeError, "persistent_workers=True|"
                                    "cannot continue"):
            some(served, 9)

    def test_a_state_at_any_line(self):
        """A handler of a signal may ask for one in the midst of the sampler's
        own work: it is that of the batch before or after, or where the next
        loop begins, and the loop is not disturbed."""
        gc.disable()    # It would go through lines at any time.
        self.addCleanup(gc.enable)

        def loop(served, note):
            """Three loops, the second left by a break."""
            for left in False, True, False:
                note()
                for batch in served:
                    note(batch)
                    if left:
                        break

        def ask(sampler, served, stop):
            """Asks at so many lines of the package. Returns these lines, the
            batches, the state asked for after how many, and the state at the
            end."""
            lines, batches, asked = [], [], None

            def at(frame, *_):
                nonlocal asked
                lines.append((frame.f_code, frame.f_lineno))
                if len(lines) == stop:
                    asked = len(batches), raw(sampler.state_dict())
                return at

            sys.settrace(lambda frame, *_: at if len(lines) < stop and (
                frame.f_code.co_filename.startswith(PACKAGE)) else None)
            loop(served, lambda *batch: batches.extend(batch))
            sys.settrace(None)
            return lines, batches, asked, raw(sampler.state_dict())

        for make, wrap in (
                (lambda: Distributed(range(10), 1, 0), lambda sampler:
                    DataLoader(range(10), 4, sampler=sampler)),
                (lambda: Distributed(range(3), 1, 0), counted),
                (lambda: RoundRobin([3, 2], 2, 0, 1, stop="restart"),
                    lambda sampler: DataLoader(range(5),
                                               batch_sampler=sampler)),
                (lambda: Distributed(range(5), 1, 0), lambda sampler:
                    loader(InTwos(sampler)))):
            ends, states = [], set()
            # The third loop goes on where a state was saved in the second.
            for saves in False, True:
                sampler, batches = make(), []

                def here():
                    return raw(sampler._as_dict(sampler._save()))

                def note(*batch):
                    nonlocal begun
                    batches.extend(batch)
                    begun = begun if batch else here()
                    states.update((len(batches), state)
                                  for state in (begun, here()))
                    if batch and saves:
                        sampler.state_dict()

                begun = None
                loop(wrap(sampler), note)
                ends.append((batches, raw(sampler.state_dict())))
                states.add((len(batches), ends[-1][1]))
            self.assertNotEqual(*ends)
            sampler = make()
            lines, *_ = ask(sampler, wrap(sampler), 10**9)
            # Where a line is reached first, and at last.
            places = {}
            for stop, line in enumerate(lines, 1):
                places.setdefault(line, []).append(stop)
            for stops in places.values():
                for stop in {stops[0], stops[-1]}:
                    sampler = make()
                    _, got, (given, state), last = ask(sampler, wrap(sampler),
                                                       stop)
                    self.assertIn((got, last), ends)
                    self.assertTrue({(given, state), (given + 1, state)} &
                                    states)

    def test_a_stale_iterator_is_refused(self):
        """What it would serve is not what the state says. Nor does one go on
        that nothing counts."""
        for workers, make, move in itertools.product((0, 1), (
                lambda sampler: loader(BatchSampler(sampler, 5, True), workers),
                lambda sampler: Uncounted(range(100), 5, sampler=sampler)), (
                lambda sampler: sampler.load_state_dict(state),
                lambda sampler: sampler.set_start_iter(3),
                lambda sampler: sampler.set_epoch(4),
                lambda sampler: next(iter(DataLoader(range(100), 5,
                                                     sampler=sampler))))):
            sampler = Distributed(range(100), 1, 0, batch_size=5)
            state = sampler.state_dict(batches=1)
            served = iter(make(sampler))
            some(served, 2)
            move(sampler)
            with self.assertRaisesRegex(RuntimeError, "cannot continue"):
                some(served, 99)
        # At its end, there is nothing to refuse.
        sampler = Distributed(range(20), 1, 0, batch_size=5)
        self.assertEqual(len([sampler.begin(0) for _ in Uncounted(
            range(20), 20, sampler=sampler)]), 1)

    def test_another_iteration(self):
        """Amid a loop that is counted: an error for whoever begins it."""
        sampler = Distributed(range(20), 1, 0)
        served = iter(DataLoader(range(20), 5, sampler=sampler))
        first = next(served)
        with self.assertRaisesRegex(RuntimeError, "iterate a copy"):
            next(iter(sampler))
        self.assertEqual(first + sum(served, []),
                         list(Distributed(range(20), 1, 0)))


class Unusual(unittest.TestCase):
    def test_two_samplers(self):
        """In one DataLoader, each counts its own."""
        def make():
            return (Distributed(range(60), 1, 0, seed=1),
                    RoundRobin([40, 50], 4, 0, 1))

        def over(one, two):
            return Alternate(BatchSampler(one, 7, False), two)

        for workers in 0, 2:
            want = list(map(list, over(*make())))
            self.assertEqual(len(want), 18)
            samplers = make()
            for i, batch in enumerate(counted_in(over(*samplers), workers,
                                                 *samplers)):
                self.assertEqual(batch, want[i])
                states = [each.state_dict() for each in samplers]
                if i % 2 == 1 and i < 17:
                    left = over(*map(resumed, make(), states))
                    self.assertEqual(list(map(list, left)), want[i + 1:])
            self.assertEqual([each.epoch for each in samplers], [1, 1])

    def test_an_end_in_between(self):
        """Where the sampler has no end, but what asks it has one, the next
        loop goes on after the last batch that was given."""
        for make, over in (
                (lambda: Distributed(range(50), 1, 0, tail="carry"),
                 lambda sampler: BatchSampler(sampler, 7, False)),
                (lambda: RoundRobin([20, 30], 4, 0, 1, stop="never"),
                 lambda sampler: sampler)):
            stream = list(itertools.islice(over(make()), 12))
            for workers, take in itertools.product((0, 1), (3, 4)):
                sampler, batches = make(), []
                served = counted_in(Three(over(sampler)), workers, sampler)
                for _ in range(3):  # to the last batch, or to the end
                    batches += some(served, take)
                    self.assertEqual(batches, stream[:len(batches)])
                    state = sampler.state_dict()
                left = over(resumed(make(), state))
                self.assertEqual(list(itertools.islice(left, 3)), stream[9:])

    def test_asked_late(self):
        """From the fifth batch on."""
        others = [[0, i] for i in range(4)]
        for workers in 0, 2:
            want = list(BatchSampler(Distributed(range(60), 1, 0), 7, False))
            sampler = Distributed(range(60), 1, 0, batch_size=7)
            served = iter(loader(Late(others, BatchSampler(
                sampler, 7, False)), workers))
            for batch in others:
                self.assertEqual(next(served), batch)
                if workers:     # They have taken ahead.
                    self.assertEqual(sampler.remaining, 60)
                    continue
                with self.assertRaisesRegex(RuntimeError, "none was of this"):
                    sampler.remaining
            for i in range(9):
                self.assertEqual(next(served), want[i])
                left = resumed(Distributed(range(60), 1, 0, batch_size=7),
                               sampler.state_dict())
                self.assertEqual(left.epoch, i // 8)
                if i < 8:
                    self.assertEqual(list(left), sum(want[i + 1:], []))
            self.assertEqual(list(served), [])
            self.assertEqual(sampler.epoch, 1)

    def test_asked_late_by_persistent_workers(self):
        """What their iterator hands out next time is not the loop's that was
        left."""
        sampler = Distributed(range(60), 1, 0, batch_size=7)
        batches = Late([], BatchSampler(sampler, 7, False))
        served = loader(batches, 1, persistent_workers=True)
        next(iter(served))
        batches.others = [[0]] * 6
        some(again := iter(served), 2)
        with self.assertRaisesRegex(RuntimeError, "none was of this"):
            sampler.state_dict()
        some(again, 4)
        for batch in 1, 2, 3:
            next(again)
            self.assertEqual(sampler.remaining, 60 - 7 * batch)

    def test_a_fetch_that_fails(self):
        """Its batch is not received, until a later one is."""
        for workers, twice in (0, False), (2, False), (0, True):
            for bad in (0,), (3, 4), (8,), range(9):
                sampler = Distributed(range(60), 1, 0, batch_size=7)
                want = list(BatchSampler(Distributed(range(60), 1, 0), 7,
                                         False))
                data = Failing({want[i][-1] for i in bad})
                served = DataLoader(data, 7, sampler=sampler,
                                    num_workers=workers)
                if twice:
                    served = StatefulLoader(served, sampler)
                served = iter(served)
                received = 0
                for i in range(9):
                    if i in bad:
                        self.assertRaises(KeyError, next, served)
                    else:
                        self.assertEqual(next(served), want[i])
                        received = i + 1
                    self.assertEqual((sampler.epoch, sampler.start_iter),
                                     (0, received))
                self.assertRaises(StopIteration, next, served)
                self.assertEqual((sampler.epoch, sampler.start_iter), (1, 0))

    def test_a_dataset_that_raises_empty(self):
        """As any other failure: only a loader of threads is late by it."""
        class Raises(Dataset):
            def __len__(self):
                return 18

            def __getitem__(self, index):
                if index == bad:
                    raise queue.Empty
                return index

        class Own(torch.utils.data.DataLoader):     # As torchdata's.
            def __iter__(self):
                return super().__iter__()

        sampler = Distributed(range(18), 1, 0)
        order = list(sampler)
        bad = order[5]
        again = Distributed(range(18), 1, 0)
        kinds = Uncounted, Own, statesampler.CountingDataLoader
        for kind, workers in itertools.product(kinds, (0, 1)):
            sampler.begin(0)
            loader = StatefulLoader(
                kind(Raises(), 4, sampler=sampler, collate_fn=list,
                     num_workers=workers), sampler)
            batches = iter(loader)
            self.assertEqual(next(batches), order[:4])
            with self.assertRaises(queue.Empty):
                next(batches)
            self.assertEqual(next(batches), order[8:12])
            again.load_state_dict(loader.state_dict())
            self.assertEqual(list(again), order[12:])

        def ask(self):      # As those of torchdata.nodes do.
            return [Raises()[i] for i in next(self.batches)]

        class Nodes:
            __next__ = types.FunctionType(
                ask.__code__, {"__name__": "torchdata.nodes.map"},
                closure=ask.__closure__)

            def __iter__(self):
                self.batches = iter(BatchSampler(sampler, 4, False))
                return self

        sampler.begin(0)
        batches = iter(StatefulLoader(Nodes(), sampler, items=4))
        next(batches)
        with self.assertRaises(queue.Empty):
            next(batches)
        self.assertEqual(next(batches), order[8:12])
        again.load_state_dict(sampler.state_dict())
        self.assertEqual(list(again), order[12:])

        class Late(torch.utils.data.DataLoader):    # As one with a thread.
            def __iter__(self):
                self.batches, self.late = super().__iter__(), True
                return self

            def __next__(self):
                if self.late:
                    self.late = False
                    raise queue.Empty
                return next(self.batches)

        sampler.begin(0)
        loader = StatefulLoader(Late(range(18), 4, sampler=sampler,
                                     collate_fn=list), sampler)
        batches = iter(loader)
        with self.assertRaises(queue.Empty):
            next(batches)
        self.assertEqual(next(batches), order[:4])
        again.load_state_dict(loader.state_dict())
        self.assertEqual(list(again), order[4:])

    def test_a_batch_that_fails_halfway(self):
        """It did not take all that its batch has, as what joins samples has
        not asked for the rest: no state is said of what comes then."""
        class Joins:
            def __iter__(self):
                self.indices = iter(sampler)
                return self

            def __next__(self):
                batch = []
                for index in itertools.islice(self.indices, 4):
                    if index == order[bad]:
                        raise KeyError
                    batch.append(index)
                return batch

        sampler = Distributed(range(24), 1, 0, batch_size=4)
        order = list(sampler)
        for bad in 4, 6, 7:
            sampler.begin(0)
            batches = iter(StatefulLoader(Joins(), sampler, items=4))
            self.assertEqual(next(batches), order[:4])
            self.assertRaises(KeyError, next, batches)
            received = 1
            if bad == 7:        # All had been taken.
                self.assertEqual(next(batches), order[8:12])
                received = 3
            else:
                with self.assertRaisesRegex(
                        RuntimeError, f"took only {bad + 5} of the sampler for "
                        "them: .* a batch that fails must take as many"):
                    next(batches)
            self.assertEqual(sampler.start_iter, received)

    def test_a_look_after_a_load(self):
        """A look at a DataLoader, whose workers take the rest of the epoch
        ahead: a loop that is counted would begin with the next one."""
        state = Distributed(range(20), 1, 0, batch_size=4).state_dict(
            epoch=0, batches=3)
        sampler = Distributed(range(20), 1, 0)
        order = list(copy.copy(sampler))
        sampler.load_state_dict(state)
        plain = Uncounted(range(20), 4, sampler=sampler, num_workers=1)
        next(iter(plain))
        loader = StatefulLoader(plain, sampler)
        for act in (lambda: next(iter(loader)), lambda: sampler.set_epoch(0)):
            with self.assertRaisesRegex(RuntimeError, "load the state again"):
                act()
        for copied in copy.copy(sampler), pickle.loads(pickle.dumps(sampler)):
            with self.assertRaisesRegex(RuntimeError, "load the state again"):
                next(iter(counted(copied)))
        loader.load_state_dict(state)
        self.assertEqual([i for batch in loader for i in batch],
                         order[12:])
        self.assertEqual(sampler.epoch, 1)

    def test_a_look_at_all(self):
        """Without a state from amid the epoch, it may have been meant."""
        for epoch, workers, again in itertools.product((0, 3), (0, 1), (0, 1)):
            sampler = Distributed(range(8), 1, 0)
            sampler.load_state_dict(sampler.state_dict(epoch=epoch))
            order = list(copy.copy(sampler))
            plain = Uncounted(range(8), 4, sampler=sampler,
                              num_workers=workers)
            loader = StatefulLoader(plain, sampler)
            for _ in range(2):
                next(iter(plain))
                if again:   # The first look is the one that tells.
                    next(iter(Uncounted(range(8), 4, sampler=sampler)))
                with self.assertWarnsRegex(
                        UserWarning, f"rest of epoch {epoch},.* epoch {epoch + 1}"
                        f": .* call begin.{epoch}. before") if workers else (
                            contextlib.nullcontext()):
                    served = iter(loader)
                    next(served)
                sampler.begin(epoch)
                self.assertEqual(sum(loader, []), order)
                sampler.begin(epoch)

    def test_who_says_the_epoch_after_a_look(self):
        """The user, by set_epoch: then there is nothing to warn of. Not the
        sampler, whose epoch went on, and not set_start_iter, which names
        none."""
        def made(state=None):
            sampler = Distributed(range(8), 1, 0, batch_size=4)
            if state:
                sampler.load_state_dict(state)
            next(iter(Uncounted(range(8), 4, sampler=sampler, num_workers=1)))
            self.assertEqual(sampler._cursor.epoch, 1)
            return sampler

        def loop(sampler):
            return next(iter(StatefulLoader(Uncounted(
                range(8), 4, sampler=sampler), sampler)))

        def told(sampler):
            sampler.set_epoch(sampler.epoch)
            return loop(sampler)

        order = list(Distributed(range(8), 1, 0))
        sampler = Distributed(range(8), 1, 0)
        sampler.begin(1)
        second = list(sampler)
        amid = Distributed(range(8), 1, 0, batch_size=4).state_dict(1)
        for state in None, amid:
            for epoch in 1, 2:
                sampler = made(state)
                sampler.set_epoch(epoch)
                self.assertEqual(sampler.state_dict()["state"].tolist(),
                                 sampler.state_dict(epoch=epoch)["state"]
                                 .tolist())
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    served = loop(sampler)
                if epoch == 1:
                    self.assertEqual(served, second[:4])
        with self.assertWarnsRegex(UserWarning, "rest of epoch 0"):
            self.assertEqual(told(made()), second[:4])
        with self.assertRaisesRegex(RuntimeError, "load the state again"):
            told(made(amid))
        for start in 0, 1:
            sampler = made()
            with self.assertWarnsRegex(UserWarning, "rest of epoch 0"):
                sampler.set_start_iter(start)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                self.assertEqual(loop(sampler), second[4 * start:][:4])
            sampler = made(amid)
            with self.assertRaisesRegex(RuntimeError, "load the state again"):
                sampler.set_start_iter(start)
            sampler.load_state_dict(amid)
            self.assertEqual(loop(sampler), order[4:])
        sampler = made()        # The second look goes on.
        alone = iter(sampler)
        next(alone)
        sampler.set_epoch(1)
        with self.assertRaisesRegex(RuntimeError, "nothing counts"):
            sampler.state_dict()

    def test_items_around_another_loader_that_counts(self):
        """What is held back is seen through it."""
        class Windows:
            def __init__(self, inner):
                self.inner = inner

            def __iter__(self):
                indices = iter(self.inner)
                while some := sorted(itertools.islice(indices, 12)):
                    yield from some

            def __len__(self):
                return len(self.inner)

        sampler = Distributed(range(36), 1, 0)
        loader = StatefulLoader(StatefulLoader(
            Uncounted(range(36), 4, sampler=Windows(sampler)), sampler, 4),
            sampler, 4)
        next(iter(loader))
        with self.assertRaisesRegex(RuntimeError, "more was taken"):
            loader.state_dict()

    def test_a_loader_that_joins_batches(self):
        """Without an end nothing else shows that its batches are larger."""
        class Joined:
            def __init__(self, inner):
                self.loader = inner

            def __iter__(self):
                batches = iter(self.loader)
                while some := [*itertools.islice(batches, 4)]:
                    yield sum(some, [])

        for items, right in (None, False), (4, False), (16, True):
            sampler = Distributed(range(40), 1, 0, tail="carry")
            order = [*itertools.islice(copy.copy(sampler), 400 * 16)]
            loader = StatefulLoader(Joined(Uncounted(
                range(40), 4, sampler=sampler)), sampler, items)
            served = sum(itertools.islice(loader, 400), [])
            self.assertEqual(served, order)
            if right:
                again = Distributed(range(40), 1, 0, tail="carry")
                again.load_state_dict(loader.state_dict())
                self.assertEqual([*itertools.islice(again, 16)],
                                 next(iter(loader)))
                continue
            with self.assertRaisesRegex(RuntimeError, "took 6400 of the sampler"
                                        " for 400 batches of 4: .* items="):
                loader.state_dict()

    @unittest.skipUnless(hasattr(os, "fork"), "no processes are forked here")
    def test_a_process_forked_while_a_thread_saves(self):
        """It has a lock of its own, which nobody holds."""
        sampler = Distributed(range(9), 1, 0)
        held, done = threading.Event(), threading.Event()

        def hold():
            with sampler._lock:
                held.set()
                done.wait(60)

        thread = threading.Thread(target=hold)
        thread.start()
        held.wait(60)
        child = multiprocessing.get_context("fork").Process(
            target=lambda: sampler.epoch)
        child.start()
        child.join(30)
        code = child.exitcode
        child.kill()
        done.set()
        thread.join()
        self.assertEqual(code, 0)

    def test_a_loop_that_ends_by_a_failure(self):
        """A state has the batch that was not received before it; and the next
        loop goes on there, or begins the epoch again if none was saved."""
        for workers in 0, 1:
            for bad in 0, 5, 8:
                sampler = Distributed(range(60), 1, 0)
                want = list(BatchSampler(Distributed(range(60), 1, 0), 7,
                                         False))
                data = Failing({want[bad][0]})
                served = []
                iterator = iter(DataLoader(data, 7, sampler=sampler,
                                           num_workers=workers))
                try:
                    for batch in iterator:
                        served.append(batch)
                except KeyError:
                    pass
                self.assertEqual(served, want[:bad])
                if workers:
                    # Torch's exception refers to itself and to the iterator:
                    # the workers would stay, and their end would take long.
                    iterator.ask.__self__._shutdown_workers()
                data.bad = ()
                for save in True, False:
                    if save:
                        left = resumed(Distributed(range(60), 1, 0),
                                       sampler.state_dict())
                        self.assertEqual(list(DataLoader(
                            data, 7, sampler=left)), want[bad:])
                        double = copy.copy(sampler)
                    self.assertEqual(list(DataLoader(data, 7, sampler=(
                        sampler if save else double))), want[bad:])


    def test_an_end_by_a_failure(self):
        """What asks has failed, and then is at its end: the epoch is not."""
        class Fails(BatchSampler):
            def __iter__(self):
                yield from itertools.islice(super().__iter__(), 3)
                raise KeyError

        sampler = Distributed(range(60), 1, 0)
        served = iter(loader(Fails(sampler, 7, False)))
        some(served, 3)
        self.assertRaises(KeyError, next, served)
        self.assertRaises(StopIteration, next, served)
        self.assertEqual((sampler.epoch, sampler.remaining), (0, 39))


WAYS = (copy.copy, copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it)))


class Copies(unittest.TestCase):
    def test_a_copy_goes_on_by_itself(self):
        """From where the loop of the original was, in no loop."""
        for make in (lambda: Distributed(range(50), 2, 1, seed=3),
                     lambda: RoundRobin([20, 30], 4, 1, 2, stop="restart")):
            for way in WAYS:
                for workers in 0, 1:
                    sampler, other = make(), make()
                    sampler.set_epoch(4)
                    other.set_epoch(4)
                    flat = isinstance(sampler, Distributed)
                    served = iter(DataLoader(
                        range(50), num_workers=workers, **(
                            dict(batch_size=1, sampler=sampler) if flat else
                            dict(batch_sampler=sampler))))
                    some(served, 3)
                    double = way(sampler)
                    self.assertEqual(raw(double.state_dict()),
                                     raw(sampler.state_dict()))
                    self.assertEqual(vars(double).keys(),
                                     vars(sampler).keys())
                    want = list(other)
                    self.assertEqual((len(sampler), double.remaining),
                                     (len(want), len(want) - 3))
                    # The original is where it was after its copy's epochs.
                    self.assertEqual(list(double), want[3:])
                    double.set_epoch(9)
                    list(double)
                    left = sum(list(served), [])
                    self.assertEqual(left, want[3:] if flat else
                                     sum(want[3:], []))
                    self.assertEqual((sampler.epoch, double.epoch), (5, 10))
                    del sampler
                    self.assertEqual(len(list(double)), len(double))

    def test_questions_after_the_last_batch(self):
        """Of a loop that was left there, they are about the next epoch."""
        for drop_last in False, True:
            sampler = Distributed(range(22), 1, 0, batch_size=4)
            loader = DataLoader(range(22), 4, sampler=sampler,
                                        drop_last=drop_last)
            loop = iter(loader)
            for _ in itertools.islice(loop, len(loader)):
                self.assertEqual(sampler.epoch, 0)
            last = sampler.state_dict(), sampler.state_dict(
                batches=len(loader))
            self.assertEqual(raw(last[0]), raw(last[1]))
            self.assertEqual(sampler.start_iter, len(loader))
            del loop
            other = Distributed(range(22), 1, 0, batch_size=4)
            other.begin(1)
            for ask in (lambda one: one.epoch, lambda one: one.remaining,
                        lambda one: one.start_iter, lambda one: one.at(2),
                        lambda one: one.locate(7), lambda one: one.padding(5),
                        lambda one: raw(one.state_dict(
                            epoch=one.epoch, batches=one.start_iter)),
                        lambda one: raw(one.state_dict(batches=0))):
                self.assertEqual(ask(sampler), ask(other))
            with self.assertRaisesRegex(RuntimeError, "say epoch="):
                sampler.state_dict(batches=len(loader))
            self.assertEqual(raw(sampler.state_dict(
                batches=len(loader), epoch=0)), raw(last[0]))
            sampler.set_start_iter(2)
            other.set_start_iter(2)
            self.assertEqual(list(sampler), list(other))

    def test_what_goes_on_after_the_last_batch(self):
        """A state by numbers, and what is changed there, are of the next epoch,
        which goes on with what the last step took of it."""
        lengths = [7, 9, 12, 5, 8, 13, 4, 11, 6, 10] * 3
        for make in (
                lambda: statesampler.PackedBatchSampler(lengths, 30, 0, 2),
                lambda: RoundRobin([5, 12], 3, 0, 1, stop="restart"),
                lambda: statesampler.BlendedBatchSampler(
                    [5, 12], 3, 0, 1, stop="restart")):
            sampler = make()
            loader, count = counted(sampler), sampler.remaining
            for number, _ in enumerate(loader, 1):
                if number == count:
                    inside = sampler.state_dict(epoch=1, batches=0)
                    break
            states = [inside, sampler.state_dict(batches=0),
                      sampler.state_dict(epoch=sampler.epoch,
                                         batches=sampler.start_iter)]
            want = next(iter(loader))
            for state in states:
                resumed = make()
                resumed.load_state_dict(state)
                self.assertEqual(next(iter(resumed)), want)

    def test_changed_after_the_last_batch(self):
        """Also where a loop was left there, the next epoch has begun."""
        for make, change in (
                (lambda: Distributed(range(22), 1, 0, shuffle=False),
                 lambda one: one.resize(30)),
                (lambda: RoundRobin([8, 8], 4, 0, 1),
                 lambda one: one.weigh([1, 3]))):
            places = []
            for ended in False, True:
                sampler = make()
                count = sampler.remaining
                for number, _ in enumerate(counted(sampler), 1):
                    if number == count and not ended:
                        break
                change(sampler)
                places.append((sampler.epoch, sampler.remaining,
                               list(counted(sampler))))
            self.assertEqual(*places)
            self.assertEqual(places[0][0], 1)

    def test_the_epoch_named_in_a_loop_that_is_left(self):
        """It had all; but one that is kept begins again."""
        for keep in False, True:
            sampler = Distributed(range(22), 1, 0)
            loader = DataLoader(range(22), 4, sampler=sampler)
            epochs, kept = [], []
            for _ in range(3):
                loop = iter(loader)
                kept += [loop] * keep
                for number, _ in enumerate(loop, 1):
                    if number == len(loader):
                        epochs.append(sampler.epoch)
                        sampler.set_epoch(sampler.epoch)
                        break
            self.assertEqual(epochs, [0, 0, 0] if keep else [0, 1, 2])

    def test_numbers_after_another_place(self):
        """What a loop before dropped counts no more once it was left, and the
        place is another one."""
        def place(state):
            other = Distributed(data, 1, 0, shuffle=False, batch_size=4)
            other.load_state_dict(state)
            return other.epoch, len(data) - other.remaining

        data = [*range(22)]
        sampler = Distributed(data, 1, 0, shuffle=False, batch_size=4)
        for number, _ in enumerate(DataLoader(data, 4, sampler=sampler,
                                              drop_last=True), 1):
            if number == 3:
                sampler.state_dict()
                break
        data += range(22, 40)
        sampler.resize(40)
        self.assertEqual(place(sampler.state_dict(epoch=0, batches=5)), (0, 20))
        sampler.set_start_iter(7)
        self.assertEqual(place(sampler.state_dict()), (0, 28))
        self.assertEqual(place(sampler.state_dict(
            epoch=sampler.epoch, batches=sampler.start_iter)), (0, 28))

    def test_a_spawned_copy_after_the_last_batch(self):
        """It is that of any copy."""
        sampler = Distributed(range(22), 1, 0, shuffle=False)
        list(itertools.islice(DataLoader(range(22), 4, sampler=sampler,
                                         drop_last=True), 5))
        context = multiprocessing.get_context("spawn")
        queue = context.Queue()
        child = context.Process(target=tell, args=(sampler, queue))
        child.start()
        self.assertEqual(queue.get(), (1, 22))
        child.join()

    def test_a_place_before_by_its_epoch(self):
        """Also of what goes back no further than the loop."""
        lengths = [1 + 7 * i % 5 for i in range(80)]
        for make in (
                lambda: statesampler.PackedBatchSampler(lengths, 8, 0, 1),
                lambda: RoundRobin([20, 30], 2, 0, 1),
                lambda: Distributed(range(40), 1, 0, batch_size=1)):
            sampler = make()
            loop = iter(counted(sampler))
            for _ in range(5):
                next(loop)
            self.assertEqual(raw(sampler.state_dict(batches=4, epoch=0)),
                             raw(sampler.state_dict(batches=4)))

    def test_a_seed_after_the_last_batch(self):
        sampler = Distributed(range(22), 1, 0)
        loop = counted(sampler)
        list(itertools.islice(loop, 22))
        self.assertEqual(sampler.epoch, 1)
        self.assertEqual(sampler.sample_seed(3), sampler.sample_seed(3, 1))

    def test_a_number_of_batches_between_epochs(self):
        """It may be the trainer's of the epoch that has ended."""
        for name in None, "set_epoch", "begin":
            sampler = Distributed(range(22), 1, 0, batch_size=4)
            loader = DataLoader(range(22), 4, sampler=sampler)
            for _ in loader:
                pass
            if name is None:
                loaded = Distributed(range(22), 1, 0, batch_size=4)
                loaded.load_state_dict(sampler.state_dict())
                for each in sampler, loaded, copy.copy(sampler):
                    with self.assertRaisesRegex(RuntimeError, "say epoch="):
                        each.state_dict(batches=3)
                loop = iter(loader)
                next(loop)
            else:
                getattr(sampler, name)(1)
            self.assertEqual(raw(sampler.state_dict(batches=3)),
                             raw(sampler.state_dict(batches=3, epoch=1)))

    def test_the_epoch_named_in_its_loop(self):
        """After the last batch nobody knows whether it begins again, until the
        loop ends."""
        for named in 0, 1:
            sampler = Distributed(range(22), 1, 0, batch_size=4)
            loader = DataLoader(range(22), 4, sampler=sampler)
            for number, _ in enumerate(loader, 1):
                if named == 0 or number == 6:
                    sampler.set_epoch(named)
                if number < 6:
                    sampler.state_dict()
                elif named == 0:
                    for ask in (sampler.state_dict,
                                lambda: sampler.remaining,
                                lambda: copy.copy(sampler)):
                        with self.assertRaisesRegex(RuntimeError,
                                                    "set_epoch.0. came"):
                            ask()
            self.assertEqual((number, sampler.epoch), (6, 1))
            begun = Distributed(range(22), 1, 0)
            begun.begin(1)
            self.assertEqual(raw(sampler.state_dict()), raw(begun.state_dict()))

    def test_left_where_too_little_is_left(self):
        """A batch sampler that drops the last batch has had all: also in a
        loop that began amid the epoch."""
        def make(sampler):
            return DataLoader(
                range(23), batch_sampler=CountedBatchSampler(
                    BatchSampler(sampler, 6, True), sampler))

        for first in 0, 1, 2:
            before = Distributed(range(23), 1, 0)
            loop = iter(make(before))
            for _ in range(first):
                next(loop)
            sampler = Distributed(range(23), 1, 0)
            sampler.load_state_dict(before.state_dict())
            loader = make(sampler)
            for _ in itertools.islice(iter(loader), 3 - first):
                self.assertEqual(sampler.epoch, 0)
            self.assertEqual(sampler.epoch, 1)
            resumed = Distributed(range(23), 1, 0)
            resumed.load_state_dict(sampler.state_dict())
            self.assertEqual((resumed.epoch, resumed.remaining), (1, 23))
            self.assertEqual(len(list(loader)), 3)

    def test_a_copy_after_the_last_batch(self):
        """It has no empty loop: it begins the next epoch."""
        for make, over in (
                (lambda: Distributed(range(6), 1, 0), lambda sampler: (
                    DataLoader(range(6), 3, sampler=sampler))),
                (lambda: RoundRobin([3, 3], 3, 0, 1), loader)):
            whole = make()
            orders = [list(over(whole)) for _ in range(2)]
            for way in WAYS:
                sampler = make()
                served = iter(over(sampler))
                some(served, 2)
                double = way(sampler)
                self.assertEqual((sampler.epoch, double.epoch), (0, 1))
                self.assertEqual(list(over(double)), orders[1])
                self.assertEqual(list(served), [])
                self.assertEqual(list(over(sampler)), orders[1])

    def test_fixed_attributes(self):
        for sampler, more in (
                (Distributed(range(9), 1, 0), ["num_samples", "total_size"]),
                (RoundRobin([9], 1, 0, 1), ["lengths", "batch_size"])):
            for name in ["seed", "shuffle", "rank", "num_replicas",
                         "drop_last"] + more:
                with self.assertRaisesRegex(AttributeError, name):
                    setattr(sampler, name, 1)
                with self.assertRaises(AttributeError):
                    setattr(copy.copy(sampler), name, 1)


if __name__ == "__main__":
    main()
