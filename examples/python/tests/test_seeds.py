"""sample_seed: a function of seed, stream, epoch and sample alone, the same in
any worker and after a resume."""

import copy
import os
import pickle
import unittest

from common import cases, main, torch
from statesampler import CountingDataLoader, Mix, Sampler
from statesampler import RoundRobinBatchSampler as RoundRobin
from statesampler import StatefulDistributedSampler as Distributed
from torch.utils.data import DataLoader, Dataset, IterableDataset


class Seeds(Dataset):
    """Each sample is its seed. It holds the sampler, which holds it."""

    def __init__(self, make):
        self.sampler = make(self)

    def __len__(self):
        return 40

    def __getitem__(self, index):
        return index, self.sampler.sample_seed(index) >> 1


class Epochs(Seeds):
    def __getitem__(self, index):
        return self.sampler.epoch


class Streams(IterableDataset):
    """Iterates over its sampler itself, in each worker for other epochs. Says
    of each seed whether it is that of the epoch."""

    def __init__(self):
        self.sampler = MAKERS[0]()

    def __iter__(self):
        worker = torch.utils.data.get_worker_info().id
        for epoch in range(4 * worker, 4 * worker + 4):
            self.sampler.begin(epoch)
            for index in self.sampler:
                yield (self.sampler.epoch == epoch and
                       self.sampler.sample_seed(index) ==
                       self.sampler.sample_seed(index, epoch))


MAKERS = (lambda data=range(40): Distributed(data, 2, 1, seed=9),
          lambda _=None: RoundRobin([15, 25], 3, 0, 1, seed=9, stop="all"))


def loader(data, **options):
    sampler = data.sampler
    how = (dict(sampler=sampler, batch_size=6)
           if isinstance(sampler, Distributed) else
           dict(batch_sampler=sampler))
    return CountingDataLoader(data, **how, **options)


def pairs(batch):
    return list(zip(*(column.tolist() for column in batch)))


class SampleSeeds(unittest.TestCase):
    def test_a_function(self):
        for random in cases(100, "seeds"):
            seed, epoch = random.randrange(2**64), random.randrange(2**64)
            index = random.randrange(50)
            for cursor, sampler in (
                    (Sampler(50, 0, 1, seed=seed),
                     Distributed(range(50), 4, 3, seed=seed)),
                    (Mix([20, 30], 0, 1, seed=seed),
                     RoundRobin([20, 30], 7, 1, 2, seed=seed))):
                want = cursor.sample_seed(epoch, index)
                self.assertEqual(sampler.sample_seed(index, epoch), want)
                sampler.begin(epoch)
                self.assertEqual(sampler.sample_seed(index), want)
                if isinstance(cursor, Mix):
                    second = int(index >= 20)
                    alone = Sampler(50, 0, 1, seed=seed, stream=second)
                    self.assertEqual(want, alone.sample_seed(
                        epoch, index - 20 * second))
        seeds = {maker().sample_seed(index, epoch) for maker in MAKERS
                 for index in range(40) for epoch in range(50)}
        # The round robin's first dataset has the other sampler's seed and
        # stream, and so its seeds.
        self.assertEqual(len(seeds), 50 * (40 + 25))

    def test_in_workers(self):
        """Of the loop's epoch: with workers that are started for each loop, or
        stay, in any way to start them."""
        for make in MAKERS:
            want = make()
            ways = [{}, {"num_workers": 1}, {
                    "num_workers": 2, "persistent_workers": True}, {
                    "num_workers": 2, "multiprocessing_context": "forkserver"}]
            ways += [{"num_workers": 1, "persistent_workers": True,
                      "multiprocessing_context": start}
                     for start in ("forkserver", "spawn")]
            if make is MAKERS[1]:   # Their way to the workers is the same.
                ways.pop()          # A spawned one imports torch again.
            for options in ways:
                data = Seeds(make)
                served = loader(data, **options)
                state = None
                for epoch in range(3):
                    for i, batch in enumerate(served):
                        for index, seed in pairs(batch):
                            self.assertEqual(seed, want.sample_seed(
                                index, epoch) >> 1)
                        if (epoch, i) == (1, 1):
                            state = data.sampler.state_dict()
                self.assertEqual(data.sampler.epoch, 3)
                # Those that stay are told, the others are another loader's.
                if not options.get("persistent_workers"):
                    data = Seeds(make)
                    served = loader(data, **options)
                data.sampler.load_state_dict(state)
                for index, seed in pairs(next(iter(served))):
                    self.assertEqual(seed, want.sample_seed(index, 1) >> 1)

    def test_epochs_in_workers(self):
        """A dataset may ask its sampler for the epoch, too."""
        for workers in 0, 1:
            data = Epochs(MAKERS[0])
            served = loader(data, num_workers=workers,
                            persistent_workers=workers > 0)
            for epoch in range(3):
                for batch in served:
                    self.assertEqual(set(batch.tolist()), {epoch})

    def test_loops_in_workers(self):
        """Each has epochs of its own."""
        data = Streams()
        served = list(DataLoader(data, None, num_workers=2))
        self.assertEqual(served, [True] * 160)
        self.assertEqual(data.sampler.sample_seed(3),
                         data.sampler.sample_seed(3, 0))

    def test_made_in_inference_mode(self):
        """As Lightning makes loaders for validation."""
        with torch.inference_mode():
            sampler = MAKERS[0]()
        self.assertEqual((len(list(sampler)), sampler.epoch), (20, 1))

    def test_after_a_look_ahead(self):
        """A loop that was given up when workers were at the epoch's end."""
        for kind in DataLoader, CountingDataLoader:
            sampler = MAKERS[0]()
            given_up = iter(kind(range(40), 6, sampler=sampler, num_workers=1,
                                 prefetch_factor=4))
            next(given_up)
            self.assertEqual(sampler.sample_seed(3), sampler.sample_seed(3, 0))
            sampler.begin(2)
            next(iter(sampler))
            self.assertEqual(sampler.epoch, 2)
            self.assertEqual(sampler.sample_seed(3), sampler.sample_seed(3, 2))

    def test_copies(self):
        """Each has an epoch of its own."""
        for way in (copy.copy, copy.deepcopy,
                    lambda it: pickle.loads(pickle.dumps(it))):
            for make in MAKERS:
                sampler, pure = make(), make()
                sampler.begin(3)
                double = way(sampler)
                self.assertEqual(double.sample_seed(5),
                                 pure.sample_seed(5, 3))
                double.begin(4)
                self.assertEqual(sampler.sample_seed(5),
                                 pure.sample_seed(5, 3))
                served = DataLoader([0], num_workers=1, collate_fn=lambda _:
                                    double.sample_seed(5) >> 1,
                                    persistent_workers=True)
                for epoch in 4, 6:
                    double.begin(epoch)
                    self.assertEqual(list(served),
                                     [pure.sample_seed(5, epoch) >> 1])

    def test_many(self):
        """A process may hold few files, and any number of samplers."""
        if not os.path.isdir("/proc/self/fd"):
            self.skipTest("torch, files of a process: no /proc here")
        before = len(os.listdir("/proc/self/fd"))
        made = [make() for make in MAKERS for _ in range(50)]
        made += copy.deepcopy(made) + pickle.loads(pickle.dumps(made))
        self.assertEqual(len(made), 300)
        self.assertLess(len(os.listdir("/proc/self/fd")), before + 50)

    def test_bad_arguments(self):
        for make in MAKERS:
            for index, epoch in ((-1, 0), (2**64, 0), ("1", 0), (True, 0),
                                 (0, -1), (0, 2**64), (0, 1.5)):
                with self.assertRaisesRegex(ValueError, "index|epoch"):
                    make().sample_seed(index, epoch)


if __name__ == "__main__":
    main()
