"""The samplers in torchdata's StatefulDataLoader, in a StatefulLoader: that
one's states are exact, and torchdata's own are not asked for.

The loaders are loader_torchdata's, and torchdata's own where it is installed:
0.12.0a0 (e640e6fc) is what this was written for."""

import copy
import itertools
import unittest

import loader_torchdata
from common import cases, main, real
from statesampler import PackedBatchSampler as Packed
from statesampler import RoundRobinBatchSampler as RoundRobin
from statesampler import SpreadBatchSampler as Spread
from statesampler import StatefulLoader
from statesampler import StatefulDistributedSampler as Distributed


def kinds(random, most=8):
    """A maker of equal samplers for a rank of a world, and how a loader takes
    one."""
    n, seed = 12 * random.randint(1, most), random.randrange(99)
    size, drop_last = random.choice([2, 3, 5]), random.random() < .5
    yield (n, lambda rank, world: Distributed(range(n), world, rank,
                                              seed=seed),
           lambda sampler: dict(sampler=sampler, batch_size=size,
                                drop_last=drop_last))
    yield (n, lambda rank, world: RoundRobin(
        [n // 3, 2 * n // 3], size, rank, world, seed=seed, stop="all"),
        lambda sampler: dict(batch_sampler=sampler))
    yield (n, lambda rank, world: Spread(
        [i // 3 for i in range(n)], 2, rank, world, seed=seed),
        lambda sampler: dict(batch_sampler=sampler))
    yield (n, lambda rank, world: Packed(
        [1 + i % 3 for i in range(n)], 6, rank, world, seed=seed,
        plan_size=9),
        lambda sampler: dict(batch_sampler=sampler))


class Torchdata(unittest.TestCase):
    loaders = loader_torchdata

    def loader(self, *arguments, **options):
        return self.loaders.StatefulDataLoader(*arguments, collate_fn=list,
                                               **options)

    def counted(self, n, sampler, how, **options):
        return StatefulLoader(self.loader(range(n), **how(sampler), **options),
                              sampler)

    def every_batch(self, kind, ways):
        """A state after each batch, loaded by another loader, goes on with
        what this one is still given."""
        n, make, how = kind
        unstopped = self.counted(n, make(0, 2), how)
        epochs = [list(unstopped) for _ in range(3)]
        self.assertNotEqual(epochs[0], epochs[1])
        for options in ways:
            sampler = make(0, 2)
            loader = self.counted(n, sampler, how, **options)
            self.resumed(kind, options, loader.state_dict(), epochs)
            for epoch in range(2):
                for i, batch in enumerate(loader):
                    self.assertEqual(batch, epochs[epoch][i])
                    self.assertEqual(sampler.epoch, epoch)
                    left = [epochs[epoch][i + 1:]] + epochs[epoch + 1:]
                    self.resumed(kind, options, loader.state_dict(), left)
                self.resumed(kind, options, loader.state_dict(),
                             epochs[epoch + 1:])

    def resumed(self, kind, options, state, left):
        n, make, how = kind
        loader = self.counted(n, make(0, 2), how, **options)
        loader.load_state_dict(copy.deepcopy(state))
        left = left if left[0] else left[1:]
        # Workers take their time to start: then the rest of this epoch.
        for want in left[:1 if options else 2]:
            self.assertEqual(list(loader), want)

    def test_every_batch(self):
        for random in cases(6, "torchdata"):
            for kind in kinds(random):
                self.every_batch(kind, [{}])

    def test_every_batch_with_workers(self):
        for random in cases(1, "torchdata, workers"):
            for kind in kinds(random, 1):
                self.every_batch(kind, [
                    dict(num_workers=1),
                    dict(num_workers=2, persistent_workers=True)])

    def test_four_workers(self):
        """At one batch: they take their time to start."""
        n, make, how = next(kinds(next(cases(1, "four"))))
        whole = list(self.counted(n, make(0, 2), how))
        loader = self.counted(n, make(0, 2), how, num_workers=4)
        for _ in itertools.islice(loader, 3):
            pass
        self.resumed((n, make, how), dict(num_workers=4),
                     loader.state_dict(), [whole[3:]])

    def test_an_empty_loop(self):
        """After a state from the last batch: the next loop is the next epoch's,
        and a state before, in and after it is right."""
        for workers in 0, 1:
            def make():
                return self.counted(
                    9, Distributed(range(9), 1, 0), lambda sampler: dict(
                        sampler=sampler, batch_size=3), num_workers=workers)

            loader = make()
            epochs = [list(loader) for _ in range(3)]
            loader = make()
            for _ in loader:
                state = loader.state_dict()
            resumed = make()
            resumed.load_state_dict(state)
            self.assertEqual(resumed.state_dict()["state"].tolist()[-40:],
                             loader.state_dict()["state"].tolist()[-40:])
            self.assertEqual(list(resumed), epochs[1])
            resumed.state_dict()
            self.assertEqual(list(resumed), epochs[2])

    def test_other_ranks(self):
        """Each loads rank 0's state: every sample once."""
        def loader(sampler):
            return self.counted(n, sampler, lambda sampler: dict(
                sampler=sampler, batch_size=2))

        for random in cases(10, "ranks"):
            n, make, _ = next(kinds(random))
            before = [loader(make(rank, 2)) for rank in range(2)]
            stop = random.randrange(1, n // 4)
            seen = [list(itertools.islice(each, stop))
                    for each in before]
            state = before[0].state_dict()
            for rank in range(4):
                after = loader(make(rank, 4))
                after.load_state_dict(copy.deepcopy(state))
                seen.append(list(after))
            self.assertEqual(
                sorted(index for one in seen for batch in one
                       for index in batch), list(range(n)))

    def test_it_is_not_counted(self):
        """Its states ask the sampler, which does not know: an error."""
        sampler = Distributed(range(24), 1, 0)
        with self.assertRaisesRegex(RuntimeError, "over StatefulLoader"):
            for _ in (loader := self.loader(range(24), 3, sampler=sampler)):
                loader.state_dict()

    def test_it_loads_a_state_of_its_own(self):
        """Inside a StatefulLoader."""
        def make():
            return self.counted(24, Distributed(range(24), 1, 0),
                                lambda sampler: dict(sampler=sampler,
                                                     batch_size=3))

        loader = make()
        for _ in itertools.islice(loader, 3):
            pass
        both = loader.state_dict(), copy.deepcopy(loader.loader.state_dict())
        loader = make()
        loader.load_state_dict(both[0])
        loader.loader.load_state_dict(both[1])
        with self.assertRaisesRegex(RuntimeError, "loads a state of its own"):
            next(iter(loader))

    def nodes(self, sampler):
        return self.loaders.Loader(sampler)

    def test_nodes(self):
        """They count epochs from 0 in each process, which is not heeded."""
        for make in (lambda: Distributed(range(6), 1, 0),
                     lambda: RoundRobin([5, 7], 2, 0, 1, stop="all")):
            def loader():
                sampler = make()
                return StatefulLoader(self.nodes(sampler), sampler, items=1)

            whole = make()
            epochs = [list(whole) for _ in range(4)]
            stream, length = sum(epochs, []), len(epochs[0])
            for stop in range(1, 2 * length + 1):
                begun, seen = loader(), []
                while len(seen) < stop:
                    seen += itertools.islice(begun, stop - len(seen))
                self.assertEqual(seen, stream[:stop])
                state = begun.state_dict()
                resumed = loader()
                resumed.load_state_dict(state)
                for epoch in range(stop // length, 4):
                    self.assertEqual(list(resumed), (
                        epochs[epoch][stop % length:]
                        if epoch == stop // length else epochs[epoch]))


@real("torchdata")
class RealTorchdata(Torchdata):
    def setUp(self):
        import torchdata.stateful_dataloader
        self.loaders = torchdata.stateful_dataloader

    def nodes(self, sampler):
        from torchdata.nodes import Loader, SamplerWrapper
        return Loader(SamplerWrapper(sampler))


if __name__ == "__main__":
    main()
