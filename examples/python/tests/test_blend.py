"""BlendedBatchSampler: the sequence of a Mix of single samples, whatever ranks
and batches take it, and killed at any batch."""

import copy
import io
import os
import pickle
import tempfile
import unittest
from contextlib import redirect_stdout
from itertools import islice

from common import (Background, DataLoader, Uncounted, cases, counted, main,
                    raw, torch)
from statesampler import (BlendedBatchSampler, CountingDataLoader, Mix,
                          RoundRobinBatchSampler, StatefulLoader)
from statesampler.__main__ import main as command
from torch.utils.data import ConcatDataset

LENGTHS, WEIGHTS = [90, 50, 31], [5, 3, 1]


def sequence(lengths, weights, turns, **options):
    """That of the mix, epoch after epoch."""
    mix = Mix(lengths, 0, 1, 1, weights, **options)
    return [batch[0] for batch in islice(
        (batch for _ in range(turns) for batch in mix), turns)]


def step_of(samplers):
    """A batch of each rank, and all of them in the order of their slots."""
    return [next(each) for each in samplers]


class Blends(unittest.TestCase):
    def test_any_ranks(self):
        """On 8, 5 and 3 ranks after each other, with other batch sizes."""
        for random in cases(20, "blend"):
            lengths = [random.randrange(1, 90)
                       for _ in range(random.randrange(1, 6))]
            weights = [random.randrange(1, 9) for _ in lengths]
            seed = random.randrange(9)
            order = sequence(lengths, weights, 3000, stop="never", seed=seed)
            state, at = None, 0
            for ranks in 8, 5, 3, 1, 8:
                size = random.randrange(1, 9)
                samplers = [BlendedBatchSampler(lengths, size, rank, ranks,
                                                seed=seed, weights=weights)
                            for rank in range(ranks)]
                for each in samplers:
                    if state:
                        each.load_state_dict(state)
                loaders = [StatefulLoader(each, each) for each in samplers]
                loops = [iter(each) for each in loaders]
                for _ in range(random.randrange(1, 9)):
                    step = samplers[0].start_iter
                    batches = step_of(loops)
                    slots = {order[at + slot * size:][:size].__str__()
                             for slot in range(ranks)}
                    self.assertEqual({str(batch) for batch in batches}, slots)
                    self.assertEqual(batches, [samplers[0].at(step, rank) for
                                               rank in range(ranks)])
                    at += ranks * size
                states = [each.state_dict() for each in loaders]
                self.assertEqual(len({raw(each) for each in states}), 1)
                state = states[0]

    def test_shares(self):
        """Exact in each round, to a sample in each batch; and no rank is left
        without some datasets, also where a step is a multiple of the round."""
        sampler = BlendedBatchSampler([1000] * 3, 90, 0, 1, weights=WEIGHTS)
        for batch in islice(sampler, 20):
            for dataset, weight in enumerate(WEIGHTS):
                self.assertEqual(sum(i // 1000 == dataset for i in batch),
                                 10 * weight)
        sampler = BlendedBatchSampler([1000] * 64, 8, 3, 8)
        seen = {i // 1000 for batch in islice(sampler, 100) for i in batch}
        self.assertEqual(len(seen), 64)

    def test_killed(self):
        """At each batch, through loaders with workers, and what reads ahead."""
        data = ConcatDataset([range(n) for n in LENGTHS])

        def made(kind):
            sampler = BlendedBatchSampler(LENGTHS, 4, 1, 2, stop="restart",
                                          weights=WEIGHTS)
            if kind == "thread":
                return sampler, StatefulLoader(Background(
                    data, batch_sampler=sampler), sampler)
            return sampler, DataLoader(data, batch_sampler=sampler,
                                       num_workers=kind)

        sampler, loader = made(0)
        whole = [batch for _ in range(3) for batch in loader]
        self.assertEqual(len(loader), len(sampler))
        for kind, stops in (0, range(1, len(whole))), (1, (1, 40)), (
                "thread", range(1, len(whole), 9)):
            for stop in stops:
                sampler, loader = made(kind)
                given = list(islice((batch for _ in range(3)
                                     for batch in loader), stop))
                state = io.BytesIO()
                torch.save(loader.state_dict(), state)
                state.seek(0)
                sampler, loader = made(kind)
                loader.load_state_dict(torch.load(state, weights_only=True))
                given += [batch for _ in range(sampler.epoch, 3)
                          for batch in loader]
                self.assertEqual(given, whole)

    def test_epochs(self):
        """Each sample once, or none of a step that is not full."""
        for random in cases(200, "epochs of a blend"):
            lengths = [random.randrange(1, 40)
                       for _ in range(random.randrange(1, 5))]
            weights = [random.randrange(1, 5) for _ in lengths]
            size, ranks = random.randrange(1, 9), random.randrange(1, 5)
            drop_last = random.random() < .5
            stop = random.choice(["first", "all", "restart"])
            samplers = [BlendedBatchSampler(
                lengths, size, rank, ranks, drop_last, weights=weights,
                stop=stop) for rank in range(ranks)]
            mix = Mix(lengths, 0, 1, 1, weights, stop)
            for epoch in range(3):
                order = [batch[0] for batch in mix]
                steps = (len(order) // (size * ranks) if drop_last else
                         -(-len(order) // (size * ranks)))
                self.assertEqual(samplers[0].remaining, steps)
                found = [list(counted(each)) for each in samplers]
                self.assertEqual({*map(len, found)}, {steps})
                for step in range(steps):
                    served = order[step * size * ranks:][:size * ranks]
                    self.assertEqual(sorted(served), sorted(sum(
                        (each[step] for each in found), [])))
                    counts = [len(each[step]) for each in found]
                    self.assertLessEqual(max(counts) - min(counts), 1)
                    if len(served) == size * ranks:
                        self.assertEqual({*counts}, {size})
                self.assertEqual({each.epoch for each in samplers},
                                 {epoch + 1})

    def test_places(self):
        for random in cases(40, "places of a blend"):
            ranks, size = random.randrange(1, 5), random.randrange(1, 9)
            one = BlendedBatchSampler(
                LENGTHS, size, random.randrange(ranks), ranks,
                random.random() < .5, weights=WEIGHTS,
                stop=random.choice(["all", "never", "restart"]))
            for index in range(sum(LENGTHS)):
                try:
                    step, rank, slot, _ = one.locate(index)
                except ValueError as error:
                    self.assertRegex(str(error), "last step|not served|epoch")
                    continue
                self.assertEqual(one.at(step, rank)[slot], index)
            self.assertEqual(one.padding(3), 0)
            place = raw(one.state_dict())
            one.set_start_iter(2)
            self.assertEqual(next(iter(one)), one.at(2))
            self.assertNotEqual(place, raw(one.state_dict(epoch=0,
                                                          batches=3)))
        self.assertEqual(len({one.sample_seed(index) for index in range(9)}),
                         9)

    def test_known(self):
        """From the loaded step on."""
        one = BlendedBatchSampler(LENGTHS, 4, 0, 2)
        two = BlendedBatchSampler(LENGTHS, 5, 0, 1)
        two.load_state_dict(one.state_dict(epoch=0, batches=3))
        self.assertEqual(two.start_iter, 3)
        with self.assertRaisesRegex(ValueError, "load an earlier state"):
            two.at(2)
        with self.assertRaisesRegex(ValueError, "from which"):
            two.set_start_iter(2)
        self.assertEqual(two.at(3), (one.at(3, 0) + one.at(3, 1))[:5] if (
            one.at(3, 0)[0] == two.at(3)[0]) else (
                one.at(3, 1) + one.at(3, 0))[:5])

    def test_weights(self):
        one = BlendedBatchSampler(LENGTHS, 9, 0, 1, weights=WEIGHTS)
        loop = iter(StatefulLoader(one, one))
        next(loop)
        one.weigh([0, 1, 2])
        self.assertEqual(one.weights, [0, 1, 2])
        other = BlendedBatchSampler(LENGTHS, 9, 0, 1)
        other.load_state_dict(one.state_dict())
        for batch in islice(other, 3):
            self.assertEqual([sum(i < 90 for i in batch),
                              sum(i >= 140 for i in batch)], [0, 6])
        other = BlendedBatchSampler(LENGTHS, 9, 0, 1, weights=WEIGHTS)
        with self.assertWarnsRegex(UserWarning, "call weigh"):
            other.load_state_dict(one.state_dict())
        # Each sample once, also through other weights.
        one = BlendedBatchSampler(LENGTHS, 7, 0, 1, weights=WEIGHTS, stop="all")
        served = list(islice(StatefulLoader(one, one), 9))
        one.weigh([1, 1, 4])
        self.assertEqual(sorted(sum(served + list(one), [])),
                         list(range(sum(LENGTHS))))

    def test_copies(self):
        one = BlendedBatchSampler(LENGTHS, 9, 0, 2, stop="all")
        next(iter(StatefulLoader(one, one)))
        for other in copy.deepcopy(one), pickle.loads(pickle.dumps(one)):
            self.assertEqual(list(other), list(copy.copy(one)))

    def test_states(self):
        """What is damaged, or of another sampler, is refused."""
        def make(**options):
            return BlendedBatchSampler(**{**dict(
                lengths=LENGTHS, batch_size=4, rank=0, num_replicas=1,
                stop="all"), **options})

        one = make()
        state = one.state_dict(epoch=2, batches=3)
        whole = raw(state)
        for bit in range(8 * len(whole)):
            flipped = bytearray(whole)
            flipped[bit // 8] ^= 1 << bit % 8
            with self.assertRaises(ValueError):
                one.load_state_dict({"state": bytes(flipped)})
        for bad in whole[:-1], whole + b"0", whole[:20], b"SSB1", b"":
            with self.assertRaises(ValueError):
                one.load_state_dict({"state": bad})
        for other, word in (
                (dict(lengths=[90, 50, 30]), r"len.dataset. 31 for dataset 2"),
                (dict(lengths=[90, 50]), "3 datasets, this sampler 2"),
                (dict(seed=1), "seed 0"), (dict(stop="first"), "stop all"),
                (dict(fingerprint="a"), None)):
            if word:
                with self.assertRaisesRegex(ValueError, word):
                    make(**other).load_state_dict(state)
        swapped = make(lengths=[90, 50, 30, 2], changed="next_epoch")
        swapped.load_state_dict(state)
        self.assertEqual([swapped.epoch, swapped.start_iter], [3, 0])
        turns = RoundRobinBatchSampler(LENGTHS, 4, 0, 1, stop="all")
        with self.assertRaisesRegex(ValueError, "of BlendedBatchSampler, not"):
            turns.load_state_dict(state)
        with self.assertRaisesRegex(ValueError, "of RoundRobinBatchSampler"):
            one.load_state_dict(turns.state_dict())
        self.assertEqual(one.start_iter, 0)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "checkpoint")
            torch.save({"sampler": state}, path)
            said = io.StringIO()
            with redirect_stdout(said):
                self.assertEqual(command([path]), 0)
            self.assertRegex(said.getvalue(),
                             "sampler: .*of a BlendedBatchSampler no step")

    def test_bad_input(self):
        for kind, options, word in (
                (ValueError, dict(lengths=[]), "lengths"),
                (ValueError, dict(lengths=[-1]), "length"),
                (ValueError, dict(lengths=5), "lengths should be a list"),
                (ValueError, dict(lengths={"a": 3}), "as a list, not a dict"),
                (TypeError, dict(lengths=torch.utils.data.SequentialSampler(
                    range(3))), "not a SequentialSampler"),
                (ValueError, dict(weights=[1]), "weights should have 3"),
                (ValueError, dict(weights=[0, 0, 0]), "off"),
                (ValueError, dict(batch_size=0), "batch_size"),
                (ValueError, dict(stop="last"), "stop"),
                (ValueError, dict(rank=2), "rank"),
                (ValueError, dict(window=2), "chunk_size"),
                (ValueError, dict(drop_last="no"), "drop_last should be a bo"),
                (TypeError, dict(partition="blocked"), "partition")):
            with self.assertRaisesRegex(kind, word):
                BlendedBatchSampler(**{**dict(
                    lengths=LENGTHS, batch_size=4, rank=0, num_replicas=2),
                    **options})
        one = BlendedBatchSampler(LENGTHS, 4, 0, 1)
        for name in "lengths", "batch_size", "stop", "seed", "weights":
            with self.assertRaises(AttributeError):
                setattr(one, name, 3)
        with self.assertRaisesRegex(TypeError, "no len"):
            len(one)
        with self.assertRaisesRegex(ValueError, "it has 171, but the dataset"):
            list(CountingDataLoader(range(172), batch_sampler=one))
        with self.assertRaisesRegex(TypeError, "gives batches"):
            StatefulLoader(Uncounted(range(171), sampler=one), one)


if __name__ == "__main__":
    main()
