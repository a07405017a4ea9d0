"""RoundRobinBatchSampler against the forum's sampler and the stop rules."""

import unittest
from itertools import accumulate, islice, product

from common import DataLoader, cases, counted, forum, main, torch
from statesampler import RoundRobinBatchSampler as RoundRobin
from statesampler import (BlendedBatchSampler, PackedBatchSampler,
                          RepeatSampler, Sampler)
from statesampler import SpreadBatchSampler as Spread
from statesampler import StatefulDistributedSampler as Distributed
from torch.utils.data import BatchSampler, ConcatDataset


def steps(length, size, replicas, drop_last):
    """Batches of each rank from a dataset that is padded."""
    share = -(-length // replicas)
    return share // size if drop_last else -(-share // size)


def sources(batches, lengths):
    """The dataset of each batch, which must be one only."""
    ends = list(accumulate(lengths))
    found = []
    for batch in batches:
        of = {next(i for i, end in enumerate(ends) if index < end)
              for index in batch}
        assert len(of) == 1
        found += of
    return found


class RoundRobins(unittest.TestCase):
    def test_the_forums(self):
        """Where replicas divide the lengths, ranges are equal: batch for
        batch the same, with drop_last and reinit, also through a loader."""
        for random in cases(100, "forum"):
            replicas = random.randrange(1, 7)
            size = random.randrange(1, 12)
            drop_last, reinit = random.random() < .5, random.random() < .5
            # Without a full batch of some dataset the forum's ends at it, or
            # breaks down; ours goes on without it.
            least = size if drop_last else 1
            lengths = [replicas * random.randrange(least, least + 60)
                       for _ in range(random.randrange(1, 6))]
            for rank in range(replicas):
                ours = RoundRobin(lengths, size, rank, replicas, drop_last,
                                  shuffle=False, reinit=reinit)
                data = ConcatDataset([range(length) for length in lengths])
                self.assertEqual(
                    list(islice(ours, 300)),
                    list(islice(forum(lengths, size, rank, replicas,
                                      drop_last, reinit), 300)))
                if not reinit:
                    loader = DataLoader(range(len(data)), batch_sampler=ours)
                    theirs = list(forum(lengths, size, rank, replicas,
                                        drop_last, reinit))
                    self.assertEqual(len(loader), len(theirs))
                    self.assertEqual(list(loader), theirs)

    def test_turns(self):
        """The stop rules' closed forms, whatever the lengths; batches of one
        dataset each, each sample of a finished one once, but for padding."""
        for random in cases(150, "turns"):
            replicas, size = random.randrange(1, 5), random.randrange(1, 9)
            drop_last = random.random() < .3
            least = size * replicas if drop_last else 1
            lengths = [random.randrange(least, least + 70)
                       for _ in range(random.randrange(1, 6))]
            n = [steps(length, size, replicas, drop_last)
                 for length in lengths]
            count = len(lengths)
            turns = {
                "first": min(n[i] * count + i for i in range(count)),
                "all": sum(n),
                "restart": max(n[i] * count + i for i in range(count))}
            for stop, many in turns.items():
                served = []
                for rank in range(replicas):
                    ours = RoundRobin(lengths, size, rank, replicas,
                                      drop_last, stop=stop)
                    self.assertEqual(len(ours), many)
                    batches = list(ours)
                    self.assertEqual(len(batches), many)
                    order = sources(batches, lengths)
                    if stop != "all":
                        self.assertEqual(
                            order, [i % count for i in range(many)])
                    served.append(sum(batches, []))
                    self.assertEqual(ours.epoch, 1)
                self.assertEqual(len({len(share) for share in served}), 1)
                if stop == "all" and not drop_last:
                    self.assertEqual(sorted(set(sum(served, []))),
                                     list(range(sum(lengths))))

    def test_drop_last(self):
        """All batches are full. Padding may fill the last ones, with samples
        that come again; with another tail no sample does."""
        again = 0
        for random in cases(60, "drop last"):
            replicas, size = random.randrange(1, 5), random.randrange(1, 6)
            n = random.randrange(1, 60)
            for tail, make in product(("pad", "drop", "uneven"), (
                    lambda rank: RoundRobin([n], size, rank, replicas, True,
                                            tail=tail),
                    lambda rank: Spread(range(n), size, rank, replicas, True,
                                        tail=tail),
                    lambda rank: Sampler(n, rank, replicas, size, tail=tail,
                                         drop_last=True))):
                batches = [list(make(rank)) for rank in range(replicas)]
                self.assertEqual(len({*map(len, batches)}), 1)
                self.assertTrue(all(len(batch) == size for rank in batches
                                    for batch in rank))
                seen = [index for rank in batches for batch in rank
                        for index in batch]
                if tail != "pad" or n % replicas == 0:
                    self.assertEqual(len(seen), len({*seen}))
                    self.assertEqual(len(seen), n // (size * replicas) * size *
                                     replicas)
                again += len(seen) > len({*seen})
        self.assertGreater(again, 0)

    def test_ranges(self):
        """Each rank reads its own part of each dataset only; parts differ by
        a sample at most."""
        for random in cases(100, "ranges"):
            replicas = random.randrange(1, 6)
            lengths = [random.randrange(replicas, 90) for _ in range(3)]
            shares = [sorted(sum(RoundRobin(
                lengths, 4, rank, replicas, stop="all", tail="uneven"), []))
                for rank in range(replicas)]
            self.assertEqual(sorted(sum(shares, [])),
                             list(range(sum(lengths))))
            for first, length in zip([0] + list(accumulate(lengths)),
                                     lengths):
                parts = [[i for i in share if first <= i < first + length]
                         for share in shares]
                for part in parts:
                    self.assertEqual(part, list(range(part[0],
                                                      part[-1] + 1)))
                    self.assertIn(len(part) - length // replicas, (0, 1))

    def test_weights(self):
        weights = [5, 1, 2]
        ours = RoundRobin([40, 40, 40], 2, 0, 1, weights=weights,
                          stop="never")
        order = sources(islice(ours, 800), [40, 40, 40])
        for period in range(0, 800, 8):
            self.assertEqual([order[period:period + 8].count(i)
                              for i in range(3)], weights)
        with self.assertRaises(TypeError):
            len(ours)

    def test_epochs_of_a_dataset_that_begins_anew(self):
        """They go on through epochs of the sampler; set_epoch to one that it
        did not get to by itself begins all datasets in that one."""
        alone = Distributed(range(40), 1, 0, partition="blocked")
        orders = [list(alone) for _ in range(20)]
        for stop, turns in ("restart", 7), ("never", 14):
            ours = RoundRobin([40, 120], 40, 0, 1, stop=stop)
            restart = stop == "restart"     # else this is one epoch
            for number, first in enumerate((0, 4 if restart else 7)):
                ours.set_epoch(number if restart else 0)
                self.assertEqual(list(islice(counted(ours), turns))[::2],
                                 orders[first:][:(turns + 1) // 2])
            ours.set_epoch(3)
            self.assertEqual(next(iter(ours)), orders[3])

    def test_orders_differ(self):
        """Between datasets of one length, epochs and seeds."""
        orders = set()
        for seed in 0, 1:
            ours = RoundRobin([500, 500], 500, 0, 1, seed=seed)
            for _ in range(3):
                first, second = ours
                self.assertEqual(sorted(first), list(range(500)))
                orders.add(tuple(first))
                orders.add(tuple(i - 500 for i in second))
        self.assertEqual(len(orders), 12)

    def test_flags(self):
        """All take the same, in each class."""
        for make, names in (
                (lambda **options: RoundRobin([9, 5], 2, 0, 1, **options),
                 ("drop_last", "shuffle", "reinit")),
                (lambda **options: BlendedBatchSampler([9, 5], 2, 0, 1,
                                                       **options),
                 ("drop_last", "shuffle")),
                (lambda **options: Distributed(range(9), 1, 0, **options),
                 ("drop_last", "shuffle", "replacement")),
                (lambda **options: RepeatSampler(range(9), 1, **options),
                 ("shuffle",)),
                (lambda **options: PackedBatchSampler([3] * 9, 9, 0, 1,
                                                      **options),
                 ("shuffle", "endless")),
                (lambda **options: Spread(range(9), 2, 0, 1, **options),
                 ("drop_last",))):
            for name in names:
                for value in True, torch.tensor([True])[0], 1:
                    one = make(**{name: value})
                    self.assertIs(getattr(one, name, True), True)
                for value in (None, "False", 2, [], [True], torch.ones(2),
                              torch.ones(2).numpy()):
                    with self.assertRaisesRegex(
                            ValueError, f"{name} should be a bool, but got "
                            f"{name}=.*, a {type(value).__name__}"):
                        make(**{name: value})

    def test_bad_arguments(self):
        def said(make, *arguments, **options):
            with self.assertRaises(ValueError) as caught:
                make(*arguments, **options)
            return str(caught.exception)
        for size in (0, -1, True, 2.5):
            self.assertEqual(said(RoundRobin, [9], size, 0, 1),
                             said(BatchSampler, [9], size, False))
        self.assertEqual(said(RoundRobin, [9], 1, 2, 2),
                         "Invalid rank 2, rank should be in the interval "
                         "[0, 1]")
        for what in "lengths", "weights":
            for value in 5, 2.5, range, "5", b"5":
                self.assertIn(f"{what} should be a list", said(
                    RoundRobin, **{"lengths": [9], "batch_size": 1,
                                   what: value}))
        for value in {0: 5}, {5}:
            self.assertIn("weights should be a list", said(
                RoundRobin, [9], 1, weights=value))
        for options, word in (
                ({"lengths": []}, "lengths"),
                ({"lengths": [-1]}, "length"),
                ({"lengths": [2**62, 1]}, "2^62 samples"),
                ({"weights": [1]}, "weights"),
                ({"lengths": "ab"}, "length"), ({"lengths": [None]}, "length"),
                ({"weights": [1, True]}, "weight"), ({"stop": []}, "stop"),
                ({"num_replicas": "a"}, "num_replicas"),
                ({"weights": [-1, 1]}, "weight"),
                ({"weights": [0, 0]}, "all sources are off"),
                ({"weights": [2**30] * 2}, "the weights sum"),
                ({"stop": "last"}, "stop"), ({"partition": 1}, "partition"),
                ({"stop": "all", "reinit": True}, "reinit"),
                ({"tail": "carry", "partition": "interleaved"},
                 "needs stop NEVER")):
            arguments = {"lengths": [9, 8], "batch_size": 2, "rank": 0,
                         "num_replicas": 1, **options}
            self.assertIn(word, said(RoundRobin, **arguments))


if __name__ == "__main__":
    main()
