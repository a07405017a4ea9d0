"""Weights of samples: each as often as its factor says, or draws that are as
likely; on any number of ranks, through kills."""

import contextlib
import copy
import io
import os
import pickle
import tempfile
import unittest

from common import DataLoader, cases, main, torch
from statesampler import Ledger, Sampler, StatefulDistributedSampler
from statesampler.__main__ import main as command
from statesampler.factors import Factors


def epoch(world, size, weights, number=0, **options):
    """Of an epoch, the batches of all ranks in each step."""
    ranks = [Sampler(len(weights), rank, world, size, weights=weights,
                     tail="uneven", **options) for rank in range(world)]
    for each in ranks:
        each.begin(number)
    return list(zip(*([batch.tolist() for batch in each] for each in ranks)))


def flat(steps):
    return [i for ranks in steps for batch in ranks for i in batch]


class Weights(unittest.TestCase):
    def test_factors(self):
        """Each sample comes as often as its factor, rounded down or up, and
        in 64 epochs exactly so; the same on other ranks."""
        for random in cases(10, "factors"):
            weights = [random.choice([0, 1, 2, random.random() * 4,
                                      random.randrange(200) / 64])
                       for _ in range(random.randrange(3, 30))] + [1]
            whole, world = [0] * len(weights), random.randrange(1, 4)
            for number in range(64):
                had = flat(epoch(world, 3, weights, number, seed=3))
                if number < 3:
                    self.assertEqual(sorted(had), sorted(flat(
                        epoch(world % 3 + 1, 2, weights, number, seed=3))))
                self.assertEqual(len(had), round(sum(weights)))
                scale = len(had) / sum(weights)
                for index, weight in enumerate(weights):
                    self.assertLess(abs(had.count(index) - scale * weight),
                                    1 + 1e-6)
                    whole[index] += had.count(index)
            for index, weight in enumerate(weights):
                self.assertLess(abs(whole[index] - 64 * scale * weight), 2)

    def test_exactly(self):
        """In 64 epochs, of weights in parts of 64."""
        weights = [160 / 64, 1 / 64, 0, 37 / 64, 122 / 64]  # 5 in all
        had = []
        for number in range(64, 128):
            had += flat(epoch(1, 2, weights, number))
        self.assertEqual([had.count(index) for index in range(5)],
                         [160, 1, 0, 37, 122])

    def test_light_samples(self):
        """None is so light that it never comes."""
        self.assertEqual([*Factors([1e-30, 1, 0], 3, True).sums],
                         [1, 2**32 + 1, 2**32 + 1])
        self.assertEqual([*Factors([1e-30, 1, 0], 3, False).sums],
                         [1, 2**32 + 1, 2**32 + 1])

    def test_whole_factors(self):
        self.assertEqual(sorted(flat(epoch(2, 3, [2, 0, 3, 1]))),
                         [0, 0, 2, 2, 2, 3])
        self.assertNotEqual(flat(epoch(1, 3, [3] * 9)),
                            flat(epoch(1, 3, [3] * 9, 1)))

    def test_draws(self):
        """Independent ones, as likely as the weights say."""
        weights = [5, 0, 1, 3e-7, 2.5]
        had = []
        for number in range(3000):
            had += flat(epoch(1, 5, weights, number, replacement=True))
        self.assertEqual(len(had), 15000)
        for index, weight in enumerate(weights):
            self.assertAlmostEqual(had.count(index) / len(had),
                                   weight / sum(weights), delta=.02)
        repeats = sum(a == b for a, b in zip(had, had[1:])) / len(had)
        likely = sum((weight / sum(weights))**2 for weight in weights)
        self.assertAlmostEqual(repeats, likely, delta=.02)
        self.assertEqual(sorted(flat(epoch(3, 2, weights, 7,
                                           replacement=True))),
                         sorted(flat(epoch(1, 4, weights, 7,
                                           replacement=True))))

    def test_at_and_kills(self):
        for random in cases(40, "kills"):
            weights = [random.random() * 3 for _ in range(20)] + [1]
            draws = random.random() < .4
            world = random.randrange(1, 4)

            def make(rank):
                return Sampler(21, rank, world, 2, weights=weights, seed=1,
                               replacement=draws, tail="uneven")
            epochs = [epoch(world, 2, weights, number, seed=1,
                            replacement=draws) for number in range(3)]
            one = make(0)
            for number, steps in enumerate(epochs):
                for step, ranks in enumerate(steps):
                    self.assertEqual(next(one).tolist(), ranks[0])
                    if random.random() < .3:
                        state, one = one.save(), make(0)
                        one.load(state)
                    if random.random() < .1:
                        one = random.choice([
                            copy.copy, lambda it: pickle.loads(
                                pickle.dumps(it))])(one)
                    rank = random.randrange(world)
                    for when in range(3):
                        at = random.randrange(len(epochs[when]))
                        self.assertEqual(one.at(at, rank, when).tolist(),
                                         epochs[when][at][rank])
                    index = random.randrange(21)
                    there = [(at, place, slot)
                             for at, each in enumerate(steps)
                             for place, batch in enumerate(each)
                             for slot, i in enumerate(batch) if i == index]
                    if there and not draws:
                        place = one.locate(index)
                        self.assertIn(place[:3], there)
                        self.assertEqual(place.step, there[0][0])
                    else:
                        with self.assertRaises(ValueError):
                            one.locate(index)
                self.assertIsNone(next(one, None))

    def test_what_is_refused(self):
        def said(make):
            with self.assertRaises((TypeError, ValueError)) as raised:
                make()
            return str(raised.exception)
        for weights, words in (
                ([1, 2], "3 items"), (3, "weights"), ([1, "a", 2], "numbers"),
                ([1, -1, 1], "in [0, 2^30)"), ([0, 0, 0], "above 0"),
                ([1, float("nan"), 1], "in [0"), ([2**30, 1, 1], "in [0"),
                ([2**30 - 1] * 3, "sum to 2^30")):
            self.assertIn(words, said(lambda: Sampler(3, 0, 1,
                                                      weights=weights)))
        one = Sampler(3, 0, 1, weights=[1, 2, 3])
        bare = Sampler(6, 0, 1)
        for call, words in (
                (lambda: Sampler(3, 0, 1, weights=[1] * 3, tail="carry"),
                 "carry"),
                (lambda: Ledger(one, 64), "a Mix with weights"),
                (lambda: one.resize(9), "no resize"),
                (lambda: one.load(bare.save()), "without weights"),
                (lambda: bare.load(one.save()), "with weights"),
                (lambda: Sampler(3, 0, 1, weights=[3, 2, 1]).load(one.save()),
                 "stream"),
                (lambda: Sampler(3, 0, 1, weights=[1, 2, 3], replacement=True,
                                 shuffle=False), "shuffle"),
                (lambda: one.locate(3), "index")):
            self.assertIn(words, said(call))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "state")
            with open(path, "wb") as file:
                file.write(one.save())
            out = io.StringIO()
            with contextlib.redirect_stdout(out), (
                    contextlib.redirect_stderr(out)):
                self.assertEqual(command([path, "--steps", "0..0"]), 1)
                self.assertEqual(command([path]), 0)
            self.assertEqual(out.getvalue().count("ask at() and locate()"), 2)


class Distributed(unittest.TestCase):
    """Those of the sampler for torch, on several ranks."""

    def make(self, weights, rank=0, ranks=1, **options):
        return StatefulDistributedSampler(
            range(len(weights)), ranks, rank, weights=weights, **options)

    def test_the_same_order(self):
        """As Sampler has with these weights."""
        for random in cases(60, "weights of torch"):
            weights = [random.random() * 3 for _ in range(20)] + [1]
            ranks, size = random.randrange(1, 4), random.randrange(1, 6)
            rank = random.randrange(ranks)
            options = dict(seed=random.randrange(9), tail=random.choice(
                ["pad", "drop", "uneven"]), replacement=random.random() < .4,
                stream=random.randrange(2),
                partition=random.choice(["interleaved", "blocked"]))
            ours = self.make(weights, rank, ranks, batch_size=size, **options)
            plain = Sampler(21, rank, ranks, size, weights=weights, **options)
            for number in range(3):
                batches = [batch.tolist() for batch in plain]
                ours.begin(number)
                self.assertEqual(len(ours), sum(map(len, batches)) if (
                    options["tail"] != "uneven") else ours.num_samples)
                for step in range(len(batches)):
                    for other in range(ranks):
                        self.assertEqual(ours.at(step, other), plain.at(
                            step, other, number).tolist())
                        self.assertEqual(ours.padding(step, other),
                                         self.padding(plain, step, other,
                                                      number))
                for index in range(21):
                    try:
                        place = ours.locate(index)
                    except ValueError:
                        continue
                    self.assertEqual(ours.at(*place[:2])[place.slot], index)
                self.assertEqual(list(ours), sum(batches, []))
            self.assertEqual(ours.sample_seed(3, 1), plain.sample_seed(1, 3))

    @staticmethod
    def padding(plain, step, rank, number):
        there = copy.copy(plain)
        there.begin(number)
        return there.padding(step, rank)

    def test_killed(self):
        """Through workers, and on other ranks each sample as often."""
        weights = [i % 5 / 2 for i in range(40)]
        loader = DataLoader(range(40), 3, sampler=self.make(weights, 1, 2))
        whole = [batch for _ in range(3) for batch in loader]
        for workers, stops in (0, range(1, len(whole))), (2, (1, 9)):
            for stop in stops:
                given, state = [], None
                for last in stop, None:
                    sampler = self.make(weights, 1, 2)
                    loader = DataLoader(range(40), 3, sampler=sampler,
                                        num_workers=workers)
                    if state:
                        sampler.load_state_dict(torch.load(
                            io.BytesIO(state), weights_only=True))
                    for _ in range(sampler.epoch, 3):
                        for batch in loader:
                            given.append(batch)
                            if len(given) == last:
                                break
                        if len(given) == last:
                            break
                    file = io.BytesIO()
                    torch.save(loader.state_dict(), file)
                    state = file.getvalue()
                self.assertEqual(given, whole)
        # From 2 ranks to 3: the epoch's samples are the same.
        had = [i for rank in range(2) for step in range(4)
               for i in self.make(weights, rank, 2, batch_size=3).at(step)]
        state = self.make(weights, 0, 2, batch_size=3).state_dict(
            epoch=0, batches=4)
        for rank in range(3):
            one = self.make(weights, rank, 3, tail="uneven")
            with self.assertRaisesRegex(ValueError, "tail pad"):
                one.load_state_dict(state)
            one = self.make(weights, rank, 3)
            one.load_state_dict(state)
            had += list(one)
        alone = list(self.make(weights, tail="uneven"))
        repeats = len(had) - len(alone)
        self.assertEqual(repeats, -(len(alone) - 24) % 3)
        for index in range(40):
            self.assertLessEqual(alone.count(index), had.count(index))

    def test_other_weights(self):
        state = self.make([2, 1, 3]).state_dict(epoch=2, batches=None)
        for weights in [2, 1, 4], [1, 2, 3]:
            with self.assertRaisesRegex(ValueError, "the state has weights "
                                        "whose digest is .*, this sampler"):
                self.make(weights).load_state_dict(state)
            other = self.make(weights, changed="next_epoch")
            started = self.make([2, 1, 3], batch_size=2).state_dict(
                epoch=2, batches=1)
            other.load_state_dict(started)
            self.assertEqual(other.epoch, 3)
        plain = StatefulDistributedSampler(range(3), 1, 0)
        with self.assertRaisesRegex(ValueError, "of a sampler with weights"):
            plain.load_state_dict(state)
        with self.assertRaisesRegex(ValueError, "of a sampler without wei"):
            self.make([2, 1, 3]).load_state_dict(plain.state_dict())
        whole = bytes(state["state"].tolist())
        for bit in range(8 * len(whole)):
            flipped = bytearray(whole)
            flipped[bit // 8] ^= 1 << bit % 8
            if bit >= 64 or bit < 32:   # Between them are zeros.
                with self.assertRaises(ValueError):
                    self.make([2, 1, 3]).load_state_dict(
                        {"state": bytes(flipped)})

    def test_what_is_refused(self):
        for options, word in (
                (dict(weights=[1, 2]), "weights should have 3 items"),
                (dict(weights=5), "weights should be a list"),
                (dict(weights={0: 1, 1: 1, 2: 1}), "weights should be a list"),
                (dict(weights="123"), "weights should be a list"),
                (dict(weights=[1, "a", 2]), "weights should be numbers"),
                (dict(weights=[1, -1, 2]), "a weight should be a number in"),
                (dict(weights=[0, 0, 0]), "a weight should be above 0"),
                (dict(weights=[1, 1, 1], tail="carry"), "carry"),
                (dict(weights=[1, 1, 1], stream=-1), "stream")):
            with self.assertRaisesRegex(ValueError, word):
                StatefulDistributedSampler(range(3), 1, 0, **options)
        with self.assertRaisesRegex(ValueError, "has no resize"):
            self.make([1, 2, 3], shuffle=False).resize(9)
        with self.assertRaisesRegex(ValueError, "no place of a sample"):
            self.make([1, 2, 3], replacement=True, batch_size=1).locate(1)
        with self.assertRaisesRegex(ValueError, "it has 3, but the dataset"):
            DataLoader(range(4), sampler=self.make([1, 2, 3]))


if __name__ == "__main__":
    main()
