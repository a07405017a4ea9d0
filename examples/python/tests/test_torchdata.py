"""The samplers in torchdata's StatefulDataLoader: its own states are exact.

The loaders are loader_torchdata's, and torchdata's own where it is installed:
0.12.0a0 (e640e6fc) is what this was written for, and 0.11.0 passes. Earlier
ones begin with an empty loop after a state from the end of an epoch."""

import copy
import itertools
import unittest

import loader_torchdata
from common import cases, main, raw, real
from statesampler import PackedBatchSampler as Packed
from statesampler import RoundRobinBatchSampler as RoundRobin
from statesampler import SpreadBatchSampler as Spread
from statesampler import StatefulDistributedSampler as Distributed
from torch.utils.data import BatchSampler


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

    def every_batch(self, kind, ways):
        """A state after each batch, loaded by another loader, goes on with
        what this one is still given; so does the sampler's own."""
        n, make, how = kind
        unstopped = self.loader(range(n), **how(make(0, 2)))
        epochs = [list(unstopped) for _ in range(3)]
        self.assertNotEqual(epochs[0], epochs[1])
        for options in ways:
            sampler = make(0, 2)
            loader = self.loader(range(n), **how(sampler), **options)
            self.resumed(kind, options, loader.state_dict(), epochs)
            for epoch in range(2):
                for i, batch in enumerate(loader):
                    self.assertEqual(batch, epochs[epoch][i])
                    self.assertEqual(sampler.epoch, epoch)
                    left = [epochs[epoch][i + 1:]] + epochs[epoch + 1:]
                    self.resumed(kind, options, loader.state_dict(), left)
                    # The sampler's own state has no empty loop.
                    other = make(0, 2)
                    other.load_state_dict(sampler.state_dict())
                    left = left if left[0] else left[1:]
                    again = self.loader(range(n), **how(other))
                    self.assertEqual(list(again), left[0])
                self.resumed(kind, options, loader.state_dict(),
                             epochs[epoch + 1:])

    def resumed(self, kind, options, state, left):
        n, make, how = kind
        loader = self.loader(range(n), **how(make(0, 2)), **options)
        loader.load_state_dict(copy.deepcopy(state))
        # Workers take their time to start: then the rest of this epoch.
        for want in left[:1 if options and left[0] else 2]:
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
        whole = list(self.loader(range(n), **how(make(0, 2))))
        loader = self.loader(range(n), **how(make(0, 2)), num_workers=4)
        for _ in itertools.islice(loader, 3):
            pass
        self.resumed((n, make, how), dict(num_workers=4),
                     loader.state_dict(), [whole[3:]])

    def test_other_ranks(self):
        """Each loads rank 0's state: every sample once."""
        for random in cases(10, "ranks"):
            n, make, _ = next(kinds(random))
            before = [self.loader(range(n), sampler=make(rank, 2),
                                  batch_size=2) for rank in range(2)]
            stop = random.randrange(1, n // 4)
            seen = [list(itertools.islice(each, stop))
                    for each in before]
            state = before[0].state_dict()
            for rank in range(4):
                after = self.loader(range(n), sampler=make(rank, 4),
                                    batch_size=2)
                after.load_state_dict(copy.deepcopy(state))
                seen.append(list(after))
            self.assertEqual(
                sorted(index for one in seen for batch in one
                       for index in batch), list(range(n)))

    def test_it_skips_over_a_loaded_state(self):
        """A batch sampler that has no states is drawn from anew, by number:
        right without a state of ours, and an error with one."""
        class Plain(BatchSampler):
            def __iter__(self):
                return super().__iter__()

        def make(workers):
            sampler = Distributed(range(24), 1, 0)
            return sampler, self.loader(
                range(24), num_workers=workers,
                batch_sampler=Plain(sampler, 3, False))

        for workers in 0, 1:
            sampler, loader = make(workers)
            whole = list(loader)
            sampler, loader = make(workers)
            list(itertools.islice(loader, 3))
            states = sampler.state_dict(), loader.state_dict()
            for both in False, True:
                sampler, loader = make(workers)
                if both:
                    sampler.load_state_dict(states[0])
                loader.load_state_dict(copy.deepcopy(states[1]))
                with self.assertRaisesRegex(
                        RuntimeError, "skips 3 more .* never both" if both else
                        "skips the first 3 batches .* not told"):
                    next(iter(loader))
            sampler, loader = make(workers)
            loader.load_state_dict(copy.deepcopy(states[1]))
            sampler.set_epoch(0)
            self.assertEqual(list(loader), whole[3:])

    def nodes(self, sampler):
        return self.loaders.Loader(sampler)

    def test_nodes(self):
        """They count epochs, and so serve each once also after a state from
        the last batch."""
        for make in (lambda: Distributed(range(6), 1, 0),
                     lambda: RoundRobin([5, 7], 2, 0, 1, stop="all")):
            whole = make()
            epochs = [list(whole) for _ in range(4)]
            stream, length = sum(epochs, []), len(epochs[0])
            for stop in range(1, 2 * length + 1):
                loader, seen = self.nodes(make()), []
                while len(seen) < stop:
                    seen += itertools.islice(loader, stop - len(seen))
                self.assertEqual(seen, stream[:stop])
                state = loader.state_dict()
                resumed = self.nodes(make())
                resumed.load_state_dict(state)
                for epoch in range(stop // length, 4):
                    self.assertEqual(list(resumed), (
                        epochs[epoch][stop % length:]
                        if epoch == stop // length else epochs[epoch]))

    def test_the_protocol(self):
        """Of an iterator: what was drawn, whatever was handed out."""
        for sampler, other in (
                (Distributed(range(30), 1, 0), Distributed(range(30), 1, 0)),
                (RoundRobin([7, 9], 2, 0, 1), RoundRobin([7, 9], 2, 0, 1))):
            whole = list(sampler)
            drawn = iter(other)
            for i in range(len(whole)):
                self.assertEqual(next(drawn), whole[i])
                sampler.begin(5)
                again = iter(sampler)
                again.load_state_dict(drawn.state_dict())
                # Before anything is drawn; the last is followed by the next.
                self.assertEqual(sampler.epoch, i + 1 == len(whole))
                self.assertEqual(raw(again.state_dict()),
                                 raw(drawn.state_dict()))
                self.assertEqual(list(again), whole[i + 1:])
                self.assertEqual(sampler.epoch, 1)
            with self.assertRaisesRegex(RuntimeError, "before the first"):
                drawn.load_state_dict(drawn.state_dict())


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
