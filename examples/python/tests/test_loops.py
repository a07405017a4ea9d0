"""The states of samplers in loops that are not plain: repeated in one iterator
of a DataLoader, two in one, asked late, with datasets that fail; and copies."""

import copy
import gc
import itertools
import os
import pickle
import sys
import unittest

from common import DataLoader, cases, main, raw
import statesampler
from statesampler import RoundRobinBatchSampler as RoundRobin
from statesampler import StatefulDistributedSampler as Distributed
from torch.utils.data import BatchSampler, Dataset

PACKAGE = os.path.dirname(statesampler.__file__)


class Repeat:
    """timm's and YOLO's _RepeatSampler."""

    def __init__(self, sampler):
        self.sampler = sampler

    def __iter__(self):
        while True:
            yield from iter(self.sampler)


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


class CountedThree(Three):
    def __len__(self):
        return 3


class Failing(Dataset):
    """Fails at some samples, once or always."""

    def __init__(self, bad):
        self.bad = bad

    def __getitem__(self, index):
        if index in self.bad:
            raise KeyError(index)
        return index


def loader(batches, workers=0, n=1000, **options):
    return DataLoader(range(n), batch_sampler=batches, num_workers=workers,
                      **options)


def some(iterable, count):
    return list(itertools.islice(iterable, count))


def resumed(sampler, state):
    sampler.load_state_dict(state)
    return sampler


def kinds(random):
    """Makers of equal samplers, and of batch samplers over one."""
    size, drop_last = random.randrange(1, 7), random.random() < .5
    n, seed = random.randrange(1, 40), random.randrange(99)
    n += drop_last * 2 * size   # else there may be no batch
    stop = random.choice(["first", "all", "restart"])
    yield (lambda: Distributed(range(n), 2, 1, seed=seed),
           lambda sampler: BatchSampler(sampler, size, drop_last))
    yield (lambda: RoundRobin([n, 2 * n], size, 0, 2, seed=seed,
                              drop_last=drop_last, stop=stop),
           lambda sampler: sampler)


class Repeated(unittest.TestCase):
    def check(self, make, over, workers, count, **options):
        """The stream goes on alike from each batch's state."""
        whole = Repeat(over(make()))
        stream = [list(b) for b in itertools.islice(whole, count + 10)]
        sampler = make()
        served = iter(loader(Repeat(over(sampler)), workers, **options))
        for i in range(count):
            self.assertEqual(next(served), stream[i])
            left = Repeat(over(resumed(make(), sampler.state_dict())))
            self.assertEqual(
                [list(b) for b in itertools.islice(left, 10)],
                stream[i + 1:][:10])

    def test_passes_are_chained(self):
        for random in cases(15, "repeated"):
            for make, over in kinds(random):
                self.check(make, over, 0, 30)
        for random in cases(1, "repeated, workers"):
            for make, over in kinds(random):
                for options in {}, {"persistent_workers": True}:
                    self.check(make, over, 2, 30, **options)

    def test_batches_of_two_passes(self):
        """Where indices are repeated, and not batches."""
        sampler = Distributed(range(10), 1, 0)
        stream = list(itertools.islice(Repeat(Distributed(range(10), 1, 0)),
                                       90))
        self.assertEqual(len(set(map(tuple, (stream[:10], stream[10:20])))),
                         2)
        for workers in 0, 2:
            sampler = Distributed(range(10), 1, 0)
            served = iter(DataLoader(range(10), 4, sampler=Repeat(sampler),
                                     num_workers=workers))
            for i in range(0, 60, 4):
                self.assertEqual(next(served), stream[i:i + 4])
                left = Repeat(resumed(Distributed(range(10), 1, 0),
                                      sampler.state_dict()))
                self.assertEqual(list(itertools.islice(left, 20)),
                                 stream[i + 4:][:20])

    def test_passes_that_are_left(self):
        """The next one gives the same again, as torch's does, and a state
        counts what was given of the present one."""
        class Parts:
            def __init__(self, sampler):
                self.sampler = sampler

            def __iter__(self):
                while True:
                    yield list(itertools.islice(self.sampler, 4))

        order = list(Distributed(range(18), 1, 0))
        for workers in 0, 1:
            sampler = Distributed(range(18), 1, 0)
            served = iter(loader(Parts(sampler), workers))
            for _ in range(10):
                self.assertEqual(next(served), order[:4])
                left = resumed(Distributed(range(18), 1, 0),
                               sampler.state_dict())
                self.assertEqual(list(left), order[4:])

    def test_loops_of_len(self):
        """YOLO's loops, with set_epoch before each, as DDP needs it: no batch
        is lost, and len() and epoch are right, also after a resume."""
        for workers, count in (0, 10), (1, 3):
            for random in cases(count, "len"):
                for make, over in kinds(random):
                    self.loops_of_len(make, over, workers)

    def loops_of_len(self, make, over, workers):
        epochs = 3
        whole = make()
        expected = [[list(b) for b in over(whole)] for _ in range(epochs)]
        self.assertEqual(whole.epoch, epochs)
        for after in 0, len(expected[0]) // 2, len(expected[0]):
            first = make()
            begun = iter(loader(over(first)))
            some(begun, after)
            sampler = resumed(make(), first.state_dict())
            batches = over(sampler)
            # The iterator is made before the first set_epoch, as there.
            served = iter(loader(Repeat(batches), workers))
            first_epoch = sampler.epoch     # 1 if all of 0 was given
            for epoch in range(first_epoch, epochs):
                sampler.set_epoch(epoch)
                self.assertEqual((sampler.epoch, len(batches)),
                                 (epoch, len(expected[epoch])))
                want = expected[epoch][after if epoch == first_epoch == 0
                                       else 0:]
                self.assertEqual(some(served, len(want)), want)

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
                (lambda: Distributed(range(3), 1, 0), lambda sampler: sampler),
                (lambda: RoundRobin([3, 2], 2, 0, 1, stop="restart"),
                    lambda sampler: DataLoader(range(5),
                                               batch_sampler=sampler)),
                (lambda: Distributed(range(5), 1, 0), lambda sampler:
                    loader(InTwos(sampler)))):
            sampler, batches, states = make(), [], set()

            def note(*batch):
                nonlocal begun
                batches.extend(batch)
                begun = begun if batch else raw(sampler.state_dict())
                for state in begun, raw(sampler.state_dict()):
                    states.add((len(batches), state))

            begun = None
            loop(wrap(sampler), note)
            end = raw(sampler.state_dict())
            states.add((len(batches), end))
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
                    self.assertEqual((got, last), (batches, end))
                    self.assertTrue({(given, state), (given + 1, state)} &
                                    states)

    def test_a_stale_iterator_is_refused(self):
        """What it would serve is not what the state says."""
        for workers, move in (
                (0, lambda sampler: sampler.load_state_dict(state)),
                (1, lambda sampler: sampler.load_state_dict(state)),
                (0, lambda sampler: sampler.set_start_iter(3)),
                (0, lambda sampler: next(iter(sampler)))):
            sampler = Distributed(range(100), 1, 0, batch_size=5)
            served = iter(loader(Repeat(BatchSampler(sampler, 5, True)),
                                 workers))
            next(served)
            state = sampler.state_dict()
            next(served)
            move(sampler)
            with self.assertRaisesRegex(RuntimeError, "cannot continue"):
                some(served, 10)
            # At the end of its pass, there is nothing to refuse.
            sampler = Distributed(range(20), 1, 0, batch_size=5)
            state = sampler.state_dict()
            self.assertEqual(len([move(sampler) for _ in DataLoader(
                range(20), 20, sampler=sampler, num_workers=workers)]), 1)


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
            for i, batch in enumerate(loader(over(*samplers), workers)):
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
            for workers, part, take in (
                    (0, Three, 3), (0, Three, 4), (0, CountedThree, 3),
                    (0, CountedThree, 4), (1, Three, 3), (1, CountedThree, 4)):
                sampler, batches = make(), []
                served = loader(part(over(sampler)), workers)
                for _ in range(3):  # to the last batch, or to the end
                    batches += some(served, take)
                    self.assertEqual(batches, stream[:len(batches)])
                left = over(resumed(make(), sampler.state_dict()))
                self.assertEqual(list(itertools.islice(left, 3)), stream[9:])

    def test_asked_late(self):
        """From the fifth batch on."""
        others = [[0, i] for i in range(4)]
        for workers in 0, 2:
            want = list(BatchSampler(Distributed(range(60), 1, 0), 7, False))
            sampler = Distributed(range(60), 1, 0, batch_size=7)
            served = iter(loader(Late(others, BatchSampler(
                sampler, 7, False)), workers))
            self.assertEqual(some(served, 4), others)
            self.assertEqual(sampler.start_iter, 0)
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
        self.assertEqual(sampler.start_iter, 1)
        some(again, 4)
        for batch in 1, 2, 3:
            next(again)
            self.assertEqual(sampler.start_iter, batch)

    def test_a_fetch_that_fails(self):
        """Its batch is not received: with workers until a later one is;
        without, the state is as many batches too early, so that a resume
        repeats them and loses none."""
        for workers in 0, 2:
            for bad in (0,), (3, 4), (8,), range(9):
                sampler = Distributed(range(60), 1, 0, batch_size=7)
                want = list(BatchSampler(Distributed(range(60), 1, 0), 7,
                                         False))
                data = Failing({want[i][-1] for i in bad})
                served = iter(DataLoader(data, 7, sampler=sampler,
                                         num_workers=workers))
                received = 0
                for i in range(9):
                    if i in bad:
                        self.assertRaises(KeyError, next, served)
                    else:
                        self.assertEqual(next(served), want[i])
                        received = i + 1 if workers else received + 1
                    self.assertEqual((sampler.epoch, sampler.start_iter),
                                     (0, received))
                self.assertRaises(StopIteration, next, served)
                self.assertEqual((sampler.epoch, sampler.start_iter), (1, 0))

    def test_a_loop_that_ends_by_a_failure(self):
        """A state has the batch that was not received before it; and the next
        loop begins the epoch again."""
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
                    iterator._shutdown_workers()
                data.bad = ()
                left = resumed(Distributed(range(60), 1, 0),
                               sampler.state_dict())
                self.assertEqual(list(DataLoader(data, 7, sampler=left)),
                                 want[bad:])
                self.assertEqual(list(DataLoader(data, 7, sampler=sampler)),
                                 want)


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
