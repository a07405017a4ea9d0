"""States of both samplers: saved and loaded at every batch of loops through
torch's DataLoader, with and without workers, on other ranks, and refused."""

import base64
import copy
import gc
import io
import pickle
import re
import warnings
import zlib
from itertools import islice

from common import DataLoader, cases, counted, main, raw, torch
from statesampler import (Ledger, PackedBatchSampler, RepeatSampler, Sampler,
                          SpreadBatchSampler)
from statesampler import RoundRobinBatchSampler as RoundRobin
from statesampler import StatefulDistributedSampler as Distributed
from torch.utils.data import BatchSampler, ConcatDataset
import unittest

EPOCHS = 3

# pickle.dumps(RepeatSampler(range(20), 2, 4)) of statesampler 0.9.0.
OLD = zlib.decompress(base64.b64decode(
    b"eNpdUUtqw0AMtVPnny5CfYh0E+gRShZZDHiRHGBQPHI8xBmb+XRRKLSbNAHtQg/Sc/QYPU"
    b"S3HduhkGoxD2kkPenpNfr4DoPG6M5YsGhgXxWo5xorBEu3qwbXbfR8//Yyo4lye+7/C5mC"
    b"YSFFGtSOBdTjYHYoWMiCA/VN7rKswCNFBlEkNBS6rHgBxh6py4uyrBJfkZZO2YQGXGiQCs"
    b"WJbjj4wNATFGDlEzaNM40mP1Hf14HwFEFNMeJlIbjJocKERhpBcMj9m9A4k2qLutKybt5P"
    b"c/CuoJ7GzBmksQAL3JROp0iDjZOFlcpQV9dpZ988ZuH7isb1nq0ehsU02oBNc27kM7KIpn"
    b"upJG9VardgHZpc+aGfN3XalJriK235VpeuMjRZNrhocry2M08csQ4Ljyywi8f1evkQt8cJ"
    b"ogt2Lng52p/994PPr+nPYVMrhmprczZzm/kvfA2f6Q=="))


class Counted(Distributed):
    """Counts what the DataLoader takes, for prefetching is to be seen."""
    asked = 0

    def __iter__(self):
        for index in super().__iter__():
            self.asked += 1
            yield index


def distributed(random, most=120):
    """A maker of equal samplers, and of loaders over one."""
    n, replicas = random.randrange(1, most), random.randrange(1, 4)
    arguments = dict(
        num_replicas=replicas, rank=random.randrange(replicas),
        shuffle=random.random() < .8, seed=random.randrange(99),
        partition=random.choice(["interleaved", "blocked"]),
        tail=random.choice(["pad", "drop", "uneven"]))
    loading = dict(batch_size=random.randrange(1, 12),
                   drop_last=random.random() < .3)
    return (lambda: Counted(range(n), **arguments),
            lambda sampler, **more: DataLoader(
                range(n), sampler=sampler, **loading, **more))


def round_robin(random, most=60):
    lengths = [random.randrange(1, most)
               for _ in range(random.randrange(1, 5))]
    replicas = random.randrange(1, 4)
    arguments = dict(
        batch_size=random.randrange(1, 9), rank=random.randrange(replicas),
        num_replicas=replicas, drop_last=random.random() < .3,
        seed=random.randrange(99), shuffle=random.random() < .8,
        stop=random.choice(["first", "all", "restart"]),
        weights=random.choice(
            [None, [random.randrange(1, 5) for _ in lengths]]),
        partition=random.choice(["interleaved", "blocked"]),
        tail=random.choice(["pad", "drop"]))
    data = ConcatDataset([range(length) for length in lengths])
    return (lambda: RoundRobin(lengths, **arguments),
            lambda sampler, **more: DataLoader(
                range(len(data)), batch_sampler=sampler, **more))


def epochs(sampler, loader):
    """The batches of each loop up to the last epoch."""
    loops, length = [], len(loader)
    while sampler.epoch < EPOCHS:
        loops.append(list(loader))
        assert len(loader) == length
        # A run that was resumed has less of its first epoch.
        assert len(loops[-1]) == length or len(loops) == 1
    return loops


class States(unittest.TestCase):
    def interrupted_everywhere(self, kind, **loading):
        """Each state, loaded into a new sampler, goes on with what an
        unstopped run is still given, in this epoch and the next one. After the
        last batch, that is the next epoch."""
        sampler, loader = kind
        whole = sampler()
        unstopped = epochs(whole, loader(whole))

        def check(state, epoch, after):
            resumed = sampler()
            resumed.load_state_dict(state)
            left = [loop[:] for loop in unstopped[epoch:]]
            if after == len(left[0]) > 0:
                epoch, left = epoch + 1, left[1:]
            elif after is not None:
                left[0] = left[0][after:]
            self.assertEqual(resumed.epoch, epoch)
            batches = loader(resumed)
            for part, loop in zip((None, 2), left):
                self.assertEqual(list(islice(batches, part)), loop[:part])

        stopped = sampler()
        served = loader(stopped, **loading)
        for epoch in range(EPOCHS):
            check(stopped.state_dict(), epoch, None)
            self.assertEqual(len(served), len(unstopped[epoch]))
            for i, batch in enumerate(served):
                self.assertEqual(batch, unstopped[epoch][i])
                self.assertEqual(stopped.epoch, epoch)
                self.assertEqual(len(served), len(unstopped[epoch]))
                check(stopped.state_dict(), epoch, i + 1)
        self.assertEqual(stopped.epoch, EPOCHS)

    def test_every_batch(self):
        for random in cases(15, "distributed"):
            self.interrupted_everywhere(distributed(random))
        for random in cases(15, "round robin"):
            self.interrupted_everywhere(round_robin(random))

    def test_every_batch_with_workers(self):
        for kind in distributed, round_robin:
            for random in cases(2, "workers"):
                for persistent in False, True:
                    self.interrupted_everywhere(
                        kind(random, 40), num_workers=random.randrange(1, 3),
                        persistent_workers=persistent,
                        prefetch_factor=random.randrange(1, 5))

    def test_resumed_with_workers(self):
        for kind in distributed, round_robin:
            for random in cases(3, "resumed"):
                sampler, loader = kind(random)
                whole = sampler()
                unstopped = epochs(whole, loader(whole))
                stopped = sampler()
                after = random.randrange(len(unstopped[0]) + 1)
                iterator = iter(loader(stopped, num_workers=1))
                for _ in range(after):
                    next(iterator)
                resumed = sampler()
                resumed.load_state_dict(stopped.state_dict())
                left = [unstopped[0][after:]] + unstopped[1:]
                if after == len(unstopped[0]) > 0:
                    del left[0]
                self.assertEqual(epochs(resumed, loader(
                    resumed, num_workers=2, persistent_workers=True)), left)

    def test_workers_do_prefetch(self):
        """Else the tests above would show nothing."""
        sampler = Counted(range(1000), 1, 0, batch_size=10)
        loader = DataLoader(range(1000), 10, sampler=sampler, num_workers=2,
                            prefetch_factor=4)
        next(iter(loader))
        self.assertEqual((sampler.start_iter, sampler.asked // 10 > 4),
                         (1, True))

    def test_a_loop_that_is_left(self):
        """By break: the next loop gives the same again, as torch's does. From
        a state that was saved there, both that loop and a resume go on. By
        counting batches, with the iterator kept or not: the next one is
        another epoch's."""
        for workers in 0, 1:
            sampler = Distributed(range(100), 1, 0, batch_size=9)
            loader = DataLoader(range(100), 9, sampler=sampler,
                                num_workers=workers)

            def some():
                served = []
                for batch in loader:
                    served += batch
                    if len(served) == 45:
                        break
                return served

            served = some()
            gc.collect()
            self.assertEqual((len(loader), sampler.start_iter), (12, 5))
            self.assertEqual((sampler.remaining, sampler.epoch), (55, 0))
            self.assertEqual(some(), served)
            state = sampler.state_dict()
            again = sum(loader, [])
            self.assertEqual(sorted(served + again), list(range(100)))
            self.assertEqual((sampler.epoch, sampler.remaining), (1, 100))
            # What was loaded is where this run's epoch begins.
            for _ in range(2):
                sampler.load_state_dict(state)
                for _ in range(2):
                    self.assertEqual(next(iter(loader)), again[:9])
                self.assertEqual(sampler.remaining, 46)
            self.assertEqual(sum(loader, []), again)
            # A state that was saved before the last batch there leaves that.
            sampler.begin(0)
            for i, batch in enumerate(loader):
                if i == 2:
                    sampler.state_dict()
                if i == 4:
                    break
            self.assertEqual(some(), served)
            sampler.begin(0)
            for drop_last in False, True:
                loader = DataLoader(range(100), 9, sampler=sampler,
                                    num_workers=workers, drop_last=drop_last)
                for epoch in 0, 1:
                    sampler.set_epoch(epoch)
                    iterator = iter(loader)
                    batches = [next(iterator) for _ in range(len(loader))]
                    self.assertEqual(len(batches), 11 if drop_last else 12)
                    self.assertEqual(sampler.epoch, epoch)
                another = iter(loader)
                next(another)
                self.assertEqual((sampler.epoch, len(loader)),
                                 (2, 12 - drop_last))
                sampler.begin(0)
                del iterator, another

    def test_a_look_at_the_last_batch(self):
        """It was all of the epoch; what it takes, a state gives back."""
        for workers in 0, 1:
            sampler = Distributed(range(4), 1, 0)
            loader = DataLoader(range(4), 4, sampler=sampler,
                                num_workers=workers)
            state = sampler.state_dict()
            first = next(iter(loader))
            self.assertNotEqual(next(iter(loader)), first)
            self.assertEqual(sampler.epoch, 2)     # the next loop's
            sampler.load_state_dict(state)
            self.assertEqual(list(loader), [first])

    def test_set_epoch_after_a_look_at_the_last_batch(self):
        """It serves the epoch that it names, as torch's does: after a resume
        what was left of it."""
        orders = [list(each) for each in [Distributed(range(9), 1, 0)] * 4]
        for workers in 0, 1:
            for size, left in (9, 9), (5, 4):
                sampler = Distributed(range(9), 1, 0, batch_size=size)
                sampler.set_start_iter(int(left < 9))
                sampler.load_state_dict(sampler.state_dict())
                loader = DataLoader(range(9), size, sampler=sampler,
                                    num_workers=workers)
                next(iter(loader))
                for epoch, order in enumerate(orders):
                    sampler.set_epoch(epoch)
                    self.assertEqual(sum(loader, []),
                                     order[-left:] if epoch == 0 else order)

    def test_a_loop_without_a_batch(self):
        """It ends the epoch, also while its iterator is kept."""
        for workers in 0, 1:
            sampler = Distributed(range(5), 1, 0)
            loader = DataLoader(range(5), 9, sampler=sampler, drop_last=True,
                                num_workers=workers)
            kept = []
            for epoch in range(3):
                self.assertEqual((sampler.epoch, len(loader)), (epoch, 0))
                kept.append(iter(loader))
                self.assertEqual(list(kept[-1]), [])

    def test_a_batch_sampler_that_fails(self):
        """Before its first batch: this is no end."""
        class Fails(BatchSampler):
            def __iter__(self):
                yield from (1 // 0 for _ in self.sampler)

        sampler = Distributed(range(9), 1, 0)
        with self.assertRaises(ZeroDivisionError):
            next(iter(DataLoader(range(9), batch_sampler=Fails(
                sampler, 4, False))))
        self.assertEqual((sampler.epoch, sampler.remaining), (0, 9))

    def test_a_batch_sampler_that_ends_before_its_sampler(self):
        """What was left of the epoch then comes first after a resume."""
        class Four(BatchSampler):
            def __iter__(self):
                return islice(super().__iter__(), 4)

        for workers in 0, 1:
            def make():
                sampler = Distributed(range(22), 1, 0)
                return sampler, DataLoader(
                    range(22), batch_sampler=Four(sampler, 4, False),
                    num_workers=workers)

            stopped, loader = make()
            first = [next(served) for served in [iter(loader)]
                     for _ in range(4)]
            sampler, loader = make()
            sampler.load_state_dict(stopped.state_dict())
            loops = [list(loader) for _ in range(3)]
            self.assertEqual([len(loop) for loop in loops], [2, 4, 4])
            self.assertEqual(sorted(sum(first + loops[0], [])),
                             list(range(22)))
            self.assertEqual(sampler.epoch, 3)

    def test_a_loop_without_a_batch_of_another_batch_sampler(self):
        """Which may have taken all indices before its first batch; then a
        batch that fails is no end."""
        class Mine(BatchSampler):
            def __iter__(self):
                return super().__iter__()

        class AtOnce(BatchSampler):
            def __iter__(self):
                taken = list(self.sampler)
                yield from BatchSampler(taken, self.batch_size, True)

        for kind in Mine, AtOnce:
            for workers in 0, 1:
                def make(n):
                    sampler = Distributed(range(n), 1, 0)
                    return sampler, DataLoader(
                        range(n), num_workers=workers,
                        batch_sampler=kind(sampler, 4, True))

                sampler, loader = make(3)
                for epoch in range(1, 4):
                    self.assertEqual(list(loader), [])
                    self.assertEqual(sampler.epoch, epoch)
                stopped, loader = make(22)
                served = iter(loader)
                for _ in range(5):
                    next(served)
                    self.assertEqual(stopped.epoch, 0)
                if kind is AtOnce:
                    continue
                state = stopped.state_dict()
                sampler, loader = make(22)
                sampler.load_state_dict(state)
                self.assertEqual([len(list(loader)) for _ in range(3)],
                                 [0, 5, 5])
                self.assertEqual(sampler.epoch, 3)

    def test_load_in_a_loop(self):
        for sampler in (Distributed(range(50), 1, 0),
                        RoundRobin([20, 30], 2, 0, 1)):
            iterator = iter(counted(sampler))
            next(iterator)
            state = sampler.state_dict()
            left = [next(iterator), next(iterator)]
            sampler.load_state_dict(state)
            self.assertEqual(raw(sampler.state_dict()), raw(state))
            again = iter(counted(sampler))
            self.assertEqual([next(again), next(again)], left)

    def test_set_epoch(self):
        """The habit of calling it before every epoch changes nothing, not
        even after a resume; another epoch is begun."""
        for make in (lambda: Distributed(range(50), 2, 1),
                     lambda: RoundRobin([20, 30], 4, 1, 2)):
            whole = make()
            orders = [list(whole) for _ in range(5)]
            sampler = make()
            for epoch in range(3):
                sampler.set_epoch(epoch)
                self.assertEqual(list(sampler), orders[epoch])
            iterator = iter(counted(sampler))
            self.assertEqual([next(iterator) for _ in range(3)],
                             orders[3][:3])
            resumed = make()
            resumed.load_state_dict(sampler.state_dict())
            resumed.set_epoch(3)
            self.assertEqual((len(resumed), resumed.remaining),
                             (len(orders[3]), len(orders[3]) - 3))
            self.assertEqual(list(resumed), orders[3][3:])
            resumed.set_epoch(1)
            again = make()
            again.load_state_dict(resumed.state_dict())
            self.assertEqual((again.epoch, len(again)), (1, len(orders[1])))
            self.assertEqual(list(resumed), orders[1])
            self.assertEqual(list(again), orders[1])
            self.assertEqual(list(again), orders[2])

    def test_set_start_iter(self):
        for make in (lambda: Distributed(range(50), 2, 1, batch_size=4),
                     lambda: RoundRobin([20, 30], 4, 1, 2)):
            sampler = make()
            flat = isinstance(sampler, Distributed)
            order = list(make())
            for start in range(-(-len(order) // (4 if flat else 1)) + 1):
                sampler.set_epoch(0)
                # Without going there.
                state = sampler.state_dict(batches=start)
                self.assertEqual(sampler.start_iter, 0)
                sampler.set_start_iter(start)
                self.assertEqual(sampler.start_iter, start)
                left = order[start * (4 if flat else 1):]
                self.assertEqual((len(sampler), sampler.remaining),
                                 (len(order), len(left)))
                self.assertEqual(raw(sampler.state_dict()), raw(state))
                self.assertEqual(list(sampler), left)
                self.assertEqual(sampler.epoch, 1)

    def test_batches_after_another_batch_size(self):
        """They are counted from the place that was loaded."""
        for tail in "pad", "carry":
            before = Distributed(range(40), 1, 0, tail=tail)
            served = iter(counted(before))
            seen = [next(served) for _ in range(10)]
            sampler = Distributed(range(40), 1, 0, batch_size=8, tail=tail)
            sampler.load_state_dict(before.state_dict())
            first = sampler.start_iter
            self.assertEqual(first, 2)
            left = list(islice(counted(sampler), 30))
            self.assertEqual(sorted(seen + left), list(range(40)))
            epoch = 0 if tail == "pad" else None    # It has ended.
            for more in range(5):
                state = sampler.state_dict(batches=first + more, epoch=epoch)
                other = Distributed(range(40), 1, 0, batch_size=8, tail=tail)
                other.load_state_dict(before.state_dict())
                other.set_start_iter(first + more)
                self.assertEqual(raw(other.state_dict()), raw(state))
                self.assertEqual(other.start_iter, first + more)
                if tail == "carry" or more < 4:
                    count = max(30 - 8 * more, 0)
                    self.assertEqual(list(islice(other, count)),
                                     left[8 * more:])
            if tail == "pad":
                with self.assertRaisesRegex(ValueError, "at most 6"):
                    sampler.state_dict(batches=7, epoch=0)
                self.assertEqual(raw(sampler.state_dict(batches=0, epoch=0)),
                                 raw(Distributed(range(40), 1, 0)
                                     .state_dict()))
            # Not so in another epoch, nor in this one from its start.
            if tail == "pad":
                sampler.load_state_dict(before.state_dict())
                list(counted(sampler))
                sampler.set_start_iter(1)
                self.assertEqual((sampler.epoch, sampler.remaining), (1, 32))
            for epoch in 1, 0:
                sampler.begin(0)
                sampler.load_state_dict(before.state_dict())
                sampler.set_epoch(1)
                if epoch == 0:
                    sampler.set_epoch(0)
                start = sampler.start_iter
                sampler.set_start_iter(start + 1)
                self.assertEqual(sampler.start_iter, start + 1)
                if tail == "pad":
                    self.assertEqual(sampler.remaining, 32)
            sampler.load_state_dict(before.state_dict())
            sampler.begin(0)
            sampler.set_start_iter(1)
            self.assertEqual(list(islice(sampler, 3)),
                             list(Distributed(range(40), 1, 0))[8:11])

    def test_set_start_iter_after_other_ranks(self):
        """No sooner than where these ranks began."""
        for make in (lambda world: Distributed(range(60), world, 0,
                                               batch_size=2),
                     lambda world: RoundRobin([40, 30], 2, 0, world)):
            before, sampler = make(2), make(3)
            before.set_start_iter(4)
            sampler.load_state_dict(before.state_dict())
            state = sampler.state_dict()
            first = sampler.start_iter
            self.assertGreater(first, 0)
            for start in 0, first - 1:
                with self.assertRaisesRegex(ValueError,
                                            f"start_iter={start}: .* is "
                                            "before the base"):
                    sampler.set_start_iter(start)
                self.assertEqual(raw(sampler.state_dict()), raw(state))
            sampler.set_start_iter(first)
            self.assertEqual(sampler.start_iter, first)
            last = first + sampler.remaining
            with self.assertRaisesRegex(ValueError, r"at most \d+"):
                sampler.set_start_iter(last + 1)

    def test_elastic(self):
        """Chains of shapes, through loaders: every sample once, and what is
        padded; the state is the same on every rank, so that any restores
        all."""
        for random in cases(90, "elastic"):
            n = random.randrange(1, random.choice([9, 400]))
            tail = random.choice(["pad", "drop", "uneven"])
            partition = random.choice(["interleaved", "blocked"])
            state, seen = None, []
            for _ in range(5):
                replicas = random.randrange(1, 6)
                size = random.randrange(1, 20)
                stop = random.randrange(8)
                ranks = [Distributed(range(n), replicas, rank, seed=3,
                                     tail=tail, partition=partition)
                         for rank in range(replicas)]
                for rank in ranks:
                    if state:
                        rank.load_state_dict(state)
                if ranks[0].epoch == 1:     # It was the epoch's end.
                    break
                for rank in ranks:
                    whole = copy.copy(rank)
                    self.assertEqual(whole.remaining, len(list(whole)))
                lengths = {rank.remaining for rank in ranks}
                self.assertLessEqual(max(lengths) - min(lengths),
                                     tail == "uneven")
                if tail == "uneven":    # all ranks have so many batches
                    stop = min(stop, -(-min(lengths) // size))
                seen += self.some_of_each(ranks, range(n), size, stop)
                states = {raw(rank.state_dict()) for rank in ranks}
                self.assertEqual(len(states), 1)
                state = random.choice(ranks).state_dict()
                if ranks[0].epoch == 1:
                    break
            if ranks[0].epoch == 0:
                for rank in ranks:
                    rank.load_state_dict(state)
                    seen += list(rank) if rank.epoch == 0 else []
            times = [seen.count(i) for i in range(n)]
            extra = len(seen) - n
            if tail == "pad":
                self.assertGreaterEqual(min(times), 1)
                self.assertLess(extra, 2 * 6)
            elif tail == "uneven":
                self.assertEqual(set(times), {1})
            else:
                self.assertLessEqual(max(times), 1)
                self.assertGreater(extra, -2 * 6)

    def some_of_each(self, ranks, data, size, batches):
        """What loops over all ranks' loaders are given."""
        loaders = [iter(DataLoader(data, size, sampler=rank))
                   for rank in ranks]
        seen = []
        for _ in range(batches):
            for loader in loaders:
                seen += next(loader, [])
        return seen

    def test_uneven(self):
        """A rank may have no sample in the last step, or none at all. After
        the same batch all ranks have the same state; each is right for all,
        and so is one of a rank that had a batch more."""
        for random in cases(60, "uneven"):
            n, replicas = random.randrange(1, 60), random.randrange(2, 9)
            size, workers = random.randrange(1, 9), random.random() < .05
            partition = random.choice(["interleaved", "blocked"])

            def make(rank):
                return Distributed(range(n), replicas, rank, tail="uneven",
                                   partition=partition)

            orders = [list(make(rank)) for rank in range(replicas)]
            ranks = [make(rank) for rank in range(replicas)]
            loaders = [iter(DataLoader(range(n), size, sampler=rank,
                                       num_workers=workers))
                       for rank in ranks]
            for done in range(size, max(map(len, orders)) + size, size):
                states = {
                    raw(rank.state_dict())
                    for rank, loader, order in zip(ranks, loaders, orders)
                    if len(order) > done - size and next(loader) is not None}
                self.assertEqual(len(states), 1)
                for rank, order in enumerate(orders):
                    left = resumed = make(rank)
                    resumed.load_state_dict({"state": min(states)})
                    if done >= max(map(len, orders)):   # of all ranks
                        self.assertEqual(resumed.epoch, 1)
                        continue
                    self.assertEqual(resumed.remaining, len(order[done:]))
                    self.assertEqual(list(left), order[done:])
                    self.assertEqual(resumed.epoch, 1)
            for loader in loaders:
                self.assertEqual(list(loader), [])
            self.assertEqual(len({raw(rank.state_dict())
                                  for rank in ranks}), 1)
            self.assertEqual({rank.epoch for rank in ranks}, {1})

    def test_uneven_loops_that_are_left(self):
        """After as many samples as len() says, the next epoch begins, also
        on a rank whose share is the shorter one."""
        orders = [[list(rank), list(rank)] for rank in (
            Distributed(range(7), 2, rank, tail="uneven") for rank in (0, 1))]
        for rank in 0, 1:
            sampler = Distributed(range(7), 2, rank, tail="uneven")
            for order in orders[rank]:
                self.assertEqual(list(islice(sampler, len(sampler))), order)

    def test_round_robin_elastic(self):
        for random in cases(40, "round robin elastic"):
            lengths = [random.randrange(1, 99) for _ in range(3)]
            data = list(range(sum(lengths)))
            state, seen, ended = None, [], False
            while not ended:
                replicas = random.randrange(1, 5)
                size = random.randrange(1, 9)
                ranks = [RoundRobin(lengths, size, rank, replicas,
                                    stop="all", weights=[1, 2, 3])
                         for rank in range(replicas)]
                for rank in ranks:
                    if state:
                        rank.load_state_dict(state)
                loaders = [iter(DataLoader(data, batch_sampler=rank))
                           for rank in ranks]
                for _ in range(random.randrange(1, 30)):
                    for loader in loaders:
                        seen += next(loader, [])
                    ended = ranks[0].epoch == 1
                    if ended:
                        break
                state = random.choice(ranks).state_dict()
            self.assertEqual(sorted(set(seen)), data)

    def test_the_ways_of_a_checkpoint(self):
        """torch.save, also where it loads weights only; as bytes, also
        numpy's; and as text or a list, as JSON has it."""
        for sampler in (Distributed(range(30), 1, 0, seed=2**64 - 1),
                        RoundRobin([7, 9], 2, 0, 1, seed=-1)):
            next(iter(counted(sampler)))
            state = sampler.state_dict()
            file = io.BytesIO()
            torch.save(state, file)
            file.seek(0)
            for form in (state, torch.load(file, weights_only=True),
                         {"state": raw(state)}, {"state": raw(state).hex()},
                         {"state": list(raw(state))},
                         {"state": state["state"].numpy()}):
                next(iter(counted(sampler)))
                sampler.load_state_dict(form)
                self.assertEqual(raw(sampler.state_dict()), raw(state))

    def refused(self, sampler, state, *words):
        before = sampler.state_dict()
        with self.assertRaises(ValueError) as caught:
            sampler.load_state_dict(state)
        for word in words:
            self.assertIn(word, str(caught.exception))
        self.assertEqual(raw(sampler.state_dict()), raw(before))

    def test_another_datasets_state(self):
        base = dict(dataset=range(100), num_replicas=1, rank=0, seed=5)
        state = Distributed(**base, fingerprint="a").state_dict()
        hint = "; changed='next_epoch' loads it, and begins the next epoch"
        for other, word in (
                ({"dataset": range(101)},
                 "len(dataset) 100, this sampler 101" + hint),
                ({"dataset": range(101), "seed": 6}, "len(dataset) 100, this "
                 "sampler 101; the state has seed 5, this sampler 6"),
                ({"fingerprint": "b"}, "fingerprint 'a', but here it is 'b' "
                 "(if the dataset is the same, pass fingerprint='a')"),
                ({"seed": 6}, "seed 5, this sampler 6"),
                ({"stream": 1}, "stream 0, this sampler 1"),
                ({"shuffle": False}, "order shuffle, this sampler sequential"),
                ({"chunk_size": 5, "window": 2},
                 "order shuffle, this sampler window; the state has "
                 "chunk_size 0, this sampler 5; the state has window 0, this "
                 "sampler 2"),
                ({"partition": "blocked"},
                 "partition interleaved, this sampler blocked"),
                ({"drop_last": True}, "tail pad, this sampler drop")):
            with self.assertRaises(ValueError) as caught:
                Distributed(**{**base, **other}).load_state_dict(state)
            self.assertEqual(str(caught.exception), "the state has " + word)
            self.refused(Distributed(**{**base, **other}), state, word)
        base = dict(lengths=[20, 30], batch_size=4, rank=0, num_replicas=1)
        state = RoundRobin(**base).state_dict()
        for other, word in (
                ({"lengths": [20, 31]},
                 "the state has len(dataset) 30 for dataset 1, this sampler "
                 "31" + hint),
                ({"lengths": [20]}, "the state has 2 datasets, this sampler "
                 "1" + hint),
                ({"lengths": [20, 30, 1]}, "the state has 2 datasets, this "
                 "sampler 3" + hint),
                ({"stop": "all"}, "the state has stop first, this sampler "
                 "all"),
                ({"seed": 1}, "the state has seed 0 for dataset 0, this "
                 "sampler 1; the state has seed 0 for dataset 1, this sampler "
                 "1")):
            with self.assertRaises(ValueError) as caught:
                RoundRobin(**{**base, **other}).load_state_dict(state)
            self.assertEqual(str(caught.exception), word)
            self.refused(RoundRobin(**{**base, **other}), state, word)

    def test_other_weights(self):
        """A state's weights go on, until others are set from a place on: each
        sample comes once."""
        base = dict(lengths=[20, 40], batch_size=2, rank=0, num_replicas=1,
                    stop="all")
        whole = list(RoundRobin(**base))
        for given in None, [1, 1], [1, 2]:
            before = RoundRobin(**base)
            served = list(islice(counted(before), 6))
            after = RoundRobin(**base, weights=given)
            with warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                after.load_state_dict(before.state_dict())
            self.assertEqual(
                [str(each.message) for each in warned], [
                    "the state's weights [1, 1] go on, not weights=[1, 2]: for "
                    "others call weigh after load_state_dict"][
                        :given == [1, 2]])
            self.assertEqual(warned[0].filename if warned else __file__,
                             __file__)
            self.assertEqual((after.weights, len(after)), ([1, 1], len(whole)))
            self.assertEqual(list(after), whole[6:])
            after.load_state_dict(before.state_dict())
            served += list(islice(counted(after), 1))
            after.weigh([1, 2])
            rest = list(copy.copy(after))
            self.assertEqual(sorted(sum(served + rest, [])), list(range(60)))
            first = sum(batch[0] < 20 for batch in rest[:9])
            self.assertEqual(first, 3)
            # They are in its states, and no argument of the next run.
            had = list(islice(counted(after), 5))
            resumed = RoundRobin(**base)
            resumed.load_state_dict(after.state_dict())
            self.assertEqual(resumed.weights, [1, 2])
            self.assertEqual(had + list(resumed), rest)

    def test_weighed(self):
        sampler = RoundRobin([20, 40], 2, 0, 1, stop="all")
        loop = iter(counted(sampler))
        served = [next(loop) for _ in range(4)]
        place = raw(sampler.state_dict())
        for wrong in [1], [1, -1], [0, 0], [1, "a"], 5:
            with self.assertRaisesRegex(ValueError, "weight|sources are off"):
                sampler.weigh(wrong)
        self.assertEqual(raw(sampler.state_dict()), place)
        served.append(next(loop))
        sampler.weigh([0, 3])       # Without the first dataset.
        with self.assertRaisesRegex(RuntimeError, "cannot continue"):
            next(loop)
        self.assertEqual(sampler.weights, [0, 3])
        rest = list(counted(sampler))
        self.assertEqual(sorted(sum(served + rest, [])), sorted(
            [*range(20, 60)] + [each for batch in served[::2]
                                for each in batch]))
        self.assertEqual([sampler.epoch, len(sampler)], [1, 20])
        self.assertEqual(len(list(sampler)), 20)
        with self.assertRaisesRegex(AttributeError, "call weigh"):
            sampler.weights = [1, 1]
        out = RoundRobin([20, 40], 2, 0, 1, stop="all", weights=[0, 1])
        self.assertEqual(sorted(sum(out, [])), list(range(20, 60)))
        # In a loop that nothing counts, nobody knows from where on.
        out.set_epoch(5)
        next(iter(out))
        with self.assertRaisesRegex(RuntimeError, "nothing counts"):
            out.weigh([1, 1])

    def test_the_other_kinds_state(self):
        one, other = Distributed(range(9), 1, 0), RoundRobin([9], 1, 0, 1)
        self.refused(one, other.state_dict(), "a state_dict of "
                     "RoundRobinBatchSampler, not Stateful")
        self.refused(other, one.state_dict(), "a state_dict of "
                     "StatefulDistributedSampler, not RoundRobin")

    def test_states_of_other_classes(self):
        """Each class names the one whose state it is given."""
        makers = (lambda: Distributed(range(20), 1, 0),
                  lambda: RoundRobin([10, 10], 2, 0, 1),
                  lambda: RepeatSampler(range(20), 2, 5, 2),
                  lambda: PackedBatchSampler(20 * [3], 7, 0, 1),
                  lambda: SpreadBatchSampler(range(20), 2, 0, 1))
        saved = [make() for make in (*makers, lambda: Ledger(20, 64))]
        for make in makers:
            for other in saved:
                if type(other) is not type(make()):
                    self.refused(make(), other.state_dict(),
                                 f"a state_dict of {type(other).__name__}, "
                                 f"not {type(make()).__name__}")
        for make in makers:
            with self.assertRaisesRegex(
                    ValueError, f"is a state_dict of {type(make()).__name__}, "
                    "not Ledger$"):
                Ledger(20, 64).load_state_dict(make().state_dict())

    def test_states_that_are_no_bytes(self):
        """An array or tensor of numbers that are none, or of two dimensions:
        the error says what it is. One of bytes will do without torch, too."""
        for one in Distributed(range(60), 1, 0), Sampler(60, 0, 1, 4):
            alone = isinstance(one, Sampler)
            save = one.save if alone else lambda: raw(one.state_dict())
            load = one.load if alone else lambda state: (
                one.load_state_dict({"state": state}))
            state = save()
            tensor = torch.tensor([*state], dtype=torch.uint8)
            for good in tensor, tensor.numpy(), tensor.short(), bytearray(state):
                load(good)
                self.assertEqual(save(), state)
            for bad, kind in (
                    (tensor.char(), "Tensor of torch.int8, "),
                    (tensor.float(), "Tensor of torch.float32, "),
                    (tensor.to("meta"), "Tensor of torch.uint8, "),
                    (tensor.reshape(2, -1), "of shape [2, "),
                    (tensor.float().numpy(), "ndarray of float32, "),
                    (tensor.reshape(-1, 1).numpy(), "ndarray of uint8, of "),
                    (tensor[0], "of shape []"), (tensor.tolist() + [0.5], "list"),
                    ({}, "dict"), (None, "NoneType"), (288, "int")):
                with self.assertRaisesRegex(
                        ValueError, "a state should be what save.. or "
                        "state_dict.. gave, but got .*" + re.escape(kind)):
                    load(bad)
                self.assertEqual(save(), state)

    def test_a_pickle_of_another_version(self):
        """Its states are read, not what that version had in the sampler."""
        with self.assertRaisesRegex(
                ValueError, "of a RepeatSampler is .* 0.9.0 .*state_dict"):
            pickle.loads(OLD)
        with self.assertRaisesRegex(ValueError, "of a Counted is"):
            Counted.__new__(Counted).__setstate__({"rank": 0})

    def test_damaged_states(self):
        for sampler in (Distributed(range(100), 1, 0),
                        RoundRobin([20, 30], 4, 0, 1)):
            served = iter(counted(sampler))
            next(served)
            good = sampler.state_dict()
            for state in ({}, {"yielded": 3}, {"state": 7}, None, [], "state",
                          {"state": "nothing"}, {"state": [1, 256]},
                          {"state": ["1"]}):
                said = "" if isinstance(state, dict) and "state" in state else (
                    f", but {state!r}")
                self.refused(sampler, state, "not a state_dict of " +
                             type(sampler).__name__ + said)
            state = raw(good)
            for bit in range(8 * len(state)):
                flipped = bytearray(state)
                flipped[bit // 8] ^= 1 << bit % 8
                self.refused(sampler, {"state": bytes(flipped)})
            for bad in (state[1:], state[:-1], state + b"0", b"", b"0" * 12,
                        [1, 2], []):
                self.refused(sampler, {"state": bad})
            # What was refused has not touched the loop.
            next(served)
            self.assertEqual(sampler.start_iter if sampler.batch_size else 2,
                             2)
            sampler.load_state_dict(good)


if __name__ == "__main__":
    main()
