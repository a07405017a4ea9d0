"""SpreadBatchSampler: each sample once and no group twice in a step, on any
ranks; the order of examples/extras/spread.h; processes that are killed; beside
sentence-transformers' NO_DUPLICATES; and what it refuses."""

import collections
import copy
import ctypes
import glob
import itertools
import os
import pickle
import random
import re
import resource
import time
import unittest

from common import (ROOT, DataLoader, Dataset, Uncounted, cases, counted, main,
                    raw)
from loader_accelerate import DataLoaderShard
from statesampler import (CountingDataLoader, RepeatSampler,
                          SpreadBatchSampler, StatefulLoader)
from statesampler.samplers import crc
import test_kills
import torch


def words():
    """The words of this repository's text, each once."""
    found = set()
    for path in sorted(glob.glob(os.path.join(ROOT, "*", "*.[chm]*"))):
        with open(path, errors="ignore") as file:
            found |= set(re.findall("[A-Za-z]+", file.read()))
    return sorted(found)


def any_groups(chance, n):
    """Even ones, or a large one, or most of a single sample."""
    count = chance.randint(1, n)
    kind = chance.randrange(3)
    return [i % count if kind == 0 else
            0 if kind == 1 and chance.random() < .1 else
            i if kind == 2 and chance.random() < .95 else
            chance.randrange(count) for i in range(n)]


class Steps(unittest.TestCase):
    def check_step(self, groups, step):
        if len(step) <= len(groups):    # Otherwise padding is a repeat.
            self.assertEqual(len({groups[i] for i in step}), len(step))

    def served(self, samplers, groups, most=None):
        """Some steps of all ranks, in the order of positions."""
        found, ranks = [], [iter(each if isinstance(each, list) else
                                 counted(each)) for each in samplers]
        while most is None or most > 0:
            batches = [next(each, None) for each in ranks]
            if None in batches:
                self.assertEqual(set(map(type, batches)), {type(None)})
                break
            most = most and most - 1
            step = [i for turn in itertools.zip_longest(*batches)
                    for i in turn if i is not None]
            self.check_step(groups, step)
            found += step
        return found


class Order(Steps):
    def test_any_numbers(self):
        """Resumed at any batch on other ranks, with other batches. What has
        no room is refused."""
        refused = tight = 0
        for chance in cases(220, "spread"):
            n = chance.randint(1, 120)
            groups = any_groups(chance, n)
            largest = max(collections.Counter(groups).values())
            apart = chance.randint(1, chance.choice([n + 3, n // largest + 1]))
            seed = chance.randrange(-2**63, 2**64)
            tail = chance.choice(["pad", "uneven"])

            def make(step):
                world = chance.randint(1, min(step, 5))
                return [SpreadBatchSampler(
                    groups, step // world, rank, world, seed=seed, tail=tail,
                    apart=apart) for rank in range(world)]
            if largest > max(n // apart, 1):
                room = max(n // apart, 1)
                must = sum(size - room for size in
                           collections.Counter(groups).values() if size > room)
                with self.assertRaisesRegex(
                        ValueError, f"group has {largest} of {n} .* {apart} "
                        f"have room for {room}: {must} samples? must repeat"):
                    make(apart)
                refused += 1
                continue
            if 1 < largest == n / apart:
                tight += 1
                samplers = [SpreadBatchSampler(groups, apart, 0, 1, seed=seed)]
                found = self.served(samplers, groups)
                self.assertEqual(sorted(found), list(range(n)))
                continue
            alone = [SpreadBatchSampler(groups, 1, 0, 1, seed=seed,
                                        apart=apart)]
            for epoch in range(2):
                whole, found, state = self.served(alone, groups), [], None
                self.assertEqual(sorted(whole), list(range(n)))
                while len(found) < n:
                    samplers = make(chance.randint(1, apart))
                    for each in samplers:
                        if state:
                            each.load_state_dict(state)
                        elif epoch:
                            each.set_epoch(epoch)
                    found += self.served(samplers, groups,
                                         chance.randint(0, 9))
                    state = samplers[0].state_dict()
                    self.assertEqual({raw(each.state_dict()) for each in
                                      samplers}, {raw(state)})
                # The end is padded with the beginning.
                self.assertEqual(found, (whole * -(-len(found) // n))[
                    :len(found)])
                self.assertTrue(len(found) == n or tail == "pad")
        self.assertGreater(refused, 50)
        self.assertGreater(tight, 5)

    def test_rule(self):
        """spread.h's rounds, written down."""
        from statesampler._library import address, indices
        for chance in cases(20, "spread rule"):
            n, seed = chance.randint(8, 80), chance.randrange(2**64)
            groups = [i * 2 // 3 for i in range(n)]
            chance.shuffle(groups)

            def shuffled(count, stream):
                perm, out = (ctypes.c_uint64 * 16)(), indices(count)
                c_perm_init(perm, count, seed, 0, stream)
                c_perm_fill(perm, 0, 1, address(out), count)
                return out.tolist()
            with open("/proc/self/maps") as maps:
                files = {line.split()[-1] for line in maps
                         if line.endswith(".so\n")}
            library = next(each for each in map(ctypes.CDLL, files)
                           if hasattr(each, "statesampler_perm_init"))
            c_perm_init = library.statesampler_perm_init
            c_perm_init.argtypes = [ctypes.c_void_p] + 4 * [ctypes.c_uint64]
            c_perm_fill = library.statesampler_perm_fill
            c_perm_fill.argtypes = [ctypes.c_void_p, ctypes.c_uint64,
                                    ctypes.c_uint64, ctypes.c_void_p,
                                    ctypes.c_size_t]
            order = shuffled(n, 0)
            listed = sorted(order, key=lambda i: (
                [groups[k] for k in order].index(groups[i]), order.index(i)))
            largest = max(collections.Counter(groups).values())
            rounds, rest = 2 * largest + 1, []
            first = largest - 1
            for number in range(rounds):
                places = range(first, n, rounds)
                rest += [listed[places[i]]
                         for i in shuffled(len(places), number + 1)]
                first = (first + largest) % rounds
            begin = shuffled(n, rounds + 1)[0]
            sampler = SpreadBatchSampler(groups, 2, 0, 1, seed=seed)
            self.assertEqual([i for batch in sampler for i in batch],
                             rest[begin:] + rest[:begin])

    def test_keys(self):
        """Of any kind; what matters is who is in one group."""
        chance = random.Random(5)
        numbers = [chance.randrange(20) for _ in range(300)]
        want = list(SpreadBatchSampler(numbers, 5, 0, 1))
        for groups in ([f"stem {i}" for i in numbers], torch.tensor(numbers),
                       list(torch.tensor(numbers)),
                       (-i for i in numbers), [(i, None) for i in numbers],
                       torch.tensor(numbers).numpy()):
            self.assertEqual(list(SpreadBatchSampler(groups, 5, 0, 1)), want)
        other = SpreadBatchSampler(numbers, 5, 0, 1, seed=1)
        epochs = [want, list(other), list(other)]
        self.assertEqual(len(set(map(str, epochs))), 3)

    def test_places(self):
        groups = [i % 40 for i in range(500)]
        samplers = [SpreadBatchSampler(groups, 6, rank, 3) for rank in range(3)]
        all_of_it = [list(each) for each in samplers]
        for each in samplers:
            each.set_epoch(0)
            each.begin(0)
        for rank, batches in enumerate(all_of_it):
            for step, batch in enumerate(batches):
                self.assertEqual(samplers[1].at(step, rank), batch)
            self.assertIsNone(samplers[1].at(len(batches), rank))
        for index in range(0, 500, 7):
            place = samplers[0].locate(index)
            self.assertEqual(all_of_it[place.rank][place.step][place.slot],
                             index)
        self.assertEqual(len(samplers[0]), len(all_of_it[0]))
        with self.assertRaisesRegex(ValueError, "index should be"):
            samplers[0].locate(500)

    def test_drops(self):
        groups = list(range(103))
        for drop_last, tail, sizes in (
                (False, "pad", [[8] * 4 + [3]] * 3),
                (False, "drop", [[8] * 4 + [2]] * 3),
                (False, "uneven", [[8] * 4 + [3], [8] * 4 + [2],
                                   [8] * 4 + [2]]),
                (True, "pad", [[8] * 4] * 3)):
            samplers = [SpreadBatchSampler(groups, 8, rank, 3, drop_last,
                                           tail=tail) for rank in range(3)]
            self.assertEqual([[len(batch) for batch in each]
                              for each in samplers], sizes)

    def test_batches_larger_than_the_dataset(self):
        """Memory is that of the samples: 2^32 words would be 32 GB."""
        before = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (2**34, before[1]))
        try:
            for size in 11, 2**32 - 1:
                whole = list(SpreadBatchSampler(range(10), size, 0, 1))
                self.assertEqual(list(map(sorted, whole)), [list(range(10))])
        finally:
            resource.setrlimit(resource.RLIMIT_AS, before)

    def test_copies(self):
        groups = [i // 2 for i in range(400)]
        sampler = SpreadBatchSampler(groups, 16, 0, 1, seed=4)
        whole = list(sampler)
        sampler.begin(0)
        loop = iter(DataLoader(range(400), batch_sampler=sampler))
        for batch in whole[:3]:
            self.assertEqual(next(loop), batch)
        for other in copy.deepcopy(sampler), pickle.loads(
                pickle.dumps(sampler)):
            self.assertEqual(list(other), whole[3:])
            self.assertEqual(other.sample_seed(3, 5),
                             sampler.sample_seed(3, 5))
        self.assertEqual(list(loop), whole[3:])


# --- In loaders --------------------------------------------------------------

# 240 samples of 40 groups, as test_kills has.
N, EPOCHS = test_kills.N, test_kills.EPOCHS
GROUPS = [i * i % 97 for i in range(N)]


def make(rank, world, **options):
    return SpreadBatchSampler(GROUPS, test_kills.BATCH, rank, world, seed=11,
                              apart=6, tail="uneven", **options)


def expected():
    alone = SpreadBatchSampler(GROUPS, 1, 0, 1, seed=11, apart=6)
    return [i for _ in range(EPOCHS) for batch in alone for i in batch]


def trains(make_loader, rank, world, saved, train):
    sampler = make(rank, world)
    if saved is not None:
        sampler.load_state_dict(saved)
    loader = make_loader(range(N), batch_sampler=sampler, num_workers=1,
                         collate_fn=list)
    while sampler.epoch < EPOCHS:
        for batch in loader:
            train(batch, sampler.state_dict)


def torchs(*run):
    trains(lambda data, batch_sampler, **options: StatefulLoader(
        torch.utils.data.DataLoader(data, batch_sampler=batch_sampler,
                                    **options), batch_sampler), *run)


def counting(*run):
    trains(CountingDataLoader, *run)


class Loaders(Steps):
    def test_killed(self):
        """2, 3, 2 processes and 1: what counts is what one process serves that
        was never killed, in the order of positions."""
        for way in torchs, counting:
            chance = random.Random(way.__name__)
            seen, _ = test_kills.killed(way, (2, 3, 2, 1), chance,
                                        self.trained)
            self.assertEqual(seen, expected())

    def trained(self, run, steps=None):
        ranks = [[list(map(int, line.split())) for line in run.lines(rank)]
                 for rank in range(run.world)]
        return self.served(ranks, GROUPS, steps)

    def test_accelerate(self):
        """It would fill an epoch's last step with what the loop took first,
        which after a resume may be of the same groups."""
        for ranks in 1, 2:
            batches = SpreadBatchSampler(GROUPS, 2, 0, ranks, apart=12)
            alone, dealt = (DataLoaderShard(
                Uncounted(range(N), batch_sampler=batches), processes)
                for processes in (1, 2))
            with self.assertRaisesRegex(RuntimeError, "a SpreadBatchSampler "
                                        "has some for each: leave"):
                StatefulLoader(dealt, batches)
            alone = StatefulLoader(alone, batches)
            self.assertEqual(len(list(alone)), N // 2 // ranks)

        class OneByOne(torch.utils.data.Sampler):
            def __init__(self, batches):
                self.batches = batches

            def __len__(self):
                return len(self.batches) * self.batches.batch_size

            def __iter__(self):
                return itertools.chain.from_iterable(self.batches)
        # Where each batch is a whole step, there is nothing to fill.
        for groups, size, drop_last, whole in (
                (GROUPS, 2, True, False), (GROUPS, 4, False, False),
                (GROUPS, 4, True, True), ([0, 1], 4, True, True)):
            batches = SpreadBatchSampler(groups, size, 0, 1, drop_last)
            dealt = DataLoaderShard(Uncounted(
                range(len(groups)), 2, sampler=OneByOne(batches)), 2)
            if whole:
                dealt = StatefulLoader(dealt, batches, items=1)
                self.assertEqual(len(list(dealt)), len(groups) // size)
            else:
                with self.assertRaisesRegex(RuntimeError, "some for each"):
                    StatefulLoader(dealt, batches, items=1)


# --- Beside NO_DUPLICATES ----------------------------------------------------


def no_duplicates(groups, batch_size, order):
    """Its rule (huggingface/sentence-transformers, cad21198,
    sentence_transformers/base/sampler.py, lines 531 to 611): a batch takes
    from the shuffle, in order, each sample whose value it does not have, until
    it is full or nothing is left. What it passes over waits for the next."""
    follows = dict(zip([None, *order], [*order, None]))
    while follows[None] is not None:
        batch, values, before = [], set(), None
        while len(batch) < batch_size and follows[before] is not None:
            here = follows[before]
            if groups[here] in values:
                before = here
            else:
                batch.append(here)
                values.add(groups[here])
                follows[before] = follows.pop(here)
        yield batch


class Beside(Steps):
    def test_words(self):
        """Words with the same first letters are a group. In steps of four
        ranks, NO_DUPLICATES repeats groups, and it does not fill its last
        batches; we do neither."""
        stems = [word[:4].lower() for word in words()]
        n, size, ranks = len(stems), 32, 4
        self.assertGreater(n, 3000)
        began = time.process_time()
        order = torch.randperm(
            n, generator=torch.Generator().manual_seed(1)).tolist()
        theirs = list(no_duplicates(stems, size, order))
        took = time.process_time() - began
        self.assertEqual(sorted(i for batch in theirs for i in batch),
                         list(range(n)))
        for batch in theirs:
            self.check_step(stems, batch)
        full = [batch for batch in theirs if len(batch) == size]
        steps = [sum(full[at:at + ranks], []) for at in range(
            0, len(full) - ranks + 1, ranks)]
        clashes = sum(len({stems[i] for i in step}) < len(step)
                      for step in steps)
        self.assertGreater(clashes, len(steps) // 4)
        began = time.process_time()
        samplers = [SpreadBatchSampler(stems, size, rank, ranks,
                                       tail="uneven") for rank in range(ranks)]
        ours = [list(each) for each in samplers]
        ours_took = time.process_time() - began
        self.assertEqual(sorted(self.served(ours, stems)), list(range(n)))
        self.assertLessEqual(max(map(len, ours)), -(-n // (size * ranks)))
        print(f"{n} words: of {len(steps)} steps of {ranks} ranks NO_DUPLICATES"
              f" has {clashes} with a repeat, in {took * 1e3:.0f} ms; 0 in "
              f"{ours_took * 1e3:.0f} ms", flush=True)

    def test_hot_group(self):
        """One value in a tenth of the samples: theirs leaves many batches that
        are not full at the end."""
        chance = random.Random(3)
        groups = [0 if chance.random() < .1 else i + 1 for i in range(3000)]
        order = chance.sample(range(3000), 3000)
        theirs = list(no_duplicates(groups, 64, order))
        short = [batch for batch in theirs[:-1] if len(batch) < 64]
        self.assertGreater(len(short), 200)
        with self.assertRaisesRegex(ValueError, "samples must repeat"):
            SpreadBatchSampler(groups, 64, 0, 1)
        ours = list(SpreadBatchSampler(groups, 8, 0, 1))
        self.assertTrue(all(len(batch) == 8 for batch in ours))
        self.served([ours], groups)


# --- States and arguments ----------------------------------------------------


class Errors(Steps):
    def test_arguments(self):
        for arguments, options, message in (
                (([], 2), {}, "groups should not be empty"),
                ((5, 2), {}, "groups should be a list"),
                ((torch.tensor(5), 2), {}, "groups should be a list"),
                (([[1], [2]], 2), {}, "groups should be a list .*unhashable"),
                ((list(torch.tensor([[1], [2]])), 2), {}, "unhashable"),
                (([1.0, float("nan")], 2), {}, "a group is NaN"),
                (([("a", (1, float("nan"))), "b"], 2), {}, "a group is NaN"),
                ((range(9), 0), {}, "batch_size should be"),
                ((range(9), 2, 1, 1), {}, "Invalid rank 1"),
                ((range(9), 2), {"apart": 1}, "apart should be"),
                ((range(9), 2), {"apart": 2.5}, "apart should be"),
                ((range(9), 2), {"tail": "carry"}, "tail='carry' is not for"),
                ((range(9), 2), {"tail": "x"}, "tail should be"),
                ((range(9), 2), {"seed": "x"}, "seed should be"),
                ((range(9), 2), {"read_ahead": -1}, "read_ahead is no more"),
                ((9 * [4], 2), {}, "largest group has 9 of 9 samples, and "
                 "whole steps of 2 have room for 4: 5 samples must repeat"),
                ((3 * [4] + [*range(7)], 4), {}, "room for 2: 2 samples must"),
                ((3 * [8] + [*range(7)], 4), {}, "room for 2: 1 sample must"),
                (([1, 1, 1, 2, 2, 2, 3, 3], 8), {}, "have room for 1: 5 samp"),
                ((4 * [1, 2], 1), {"apart": 2, "num_replicas": 2, "rank": 0,
                                   }, None)):
            if message is None:
                SpreadBatchSampler(*arguments, **options)
                continue
            with self.assertRaisesRegex(ValueError, message):
                SpreadBatchSampler(*arguments, **options)
        with self.assertRaises(ValueError):
            SpreadBatchSampler(range(9), 2, drop_last="no")
        for given, options in (([Dataset(9), 2], {}),
                               ([], {"groups": Dataset(9), "batch_size": 2})):
            with self.assertRaisesRegex(ValueError, "groups of samples as a "
                                        "list, not a Dataset"):
                SpreadBatchSampler(*given, **options)
        for loader in DataLoader, CountingDataLoader:
            with self.assertRaisesRegex(ValueError, "groups of samples: it "
                                        "has 30, but the dataset has 40$"):
                list(loader(range(40), batch_sampler=SpreadBatchSampler(
                    range(30), 4, 0, 1)))
        sampler = make(0, 1)
        for name in "batch_size", "apart", "seed":
            with self.assertRaisesRegex(AttributeError, "make another"):
                setattr(sampler, name, 5)

    def test_tight(self):
        """Groups that are in every step: these cannot be cut anywhere."""
        groups = [i % 12 for i in range(60)]
        for step in 12, 6, 4:
            sampler = SpreadBatchSampler(groups, step, 0, 1, apart=12)
            for batch in sampler:
                self.assertEqual(len({groups[i] for i in batch}), step)
        for some in groups, groups[:24]:
            with self.assertRaisesRegex(ValueError, "of 5 do not divide"):
                SpreadBatchSampler(some, 5, 0, 1, apart=12)
        sampler = SpreadBatchSampler(groups, 6, 0, 1, apart=12)
        state = sampler.state_dict(batches=3)
        other = SpreadBatchSampler(groups, 12, 0, 1)
        with self.assertRaisesRegex(ValueError, "from position 18 on"):
            other.load_state_dict(state)
        self.assertEqual(other.start_iter, 0)
        other.load_state_dict(sampler.state_dict(batches=4))
        self.assertEqual(other.remaining, 3)
        # An order of single samples may be in pairs from an even place on.
        groups, refused = 4 * [0, 1], 0
        for seed in range(20):
            alone, pairs = (SpreadBatchSampler(groups, size, 0, 1, seed=seed)
                            for size in (1, 2))
            alone.begin(1)
            state = alone.state_dict(batches=2)
            whole = self.served([alone], groups)
            try:
                pairs.load_state_dict(state)
            except ValueError:
                refused += 1
                continue
            self.assertEqual(self.served([pairs], groups), whole[2:])
            self.assertEqual(sorted(self.served([pairs], groups)),
                             list(range(8)))
        self.assertIn(refused, range(1, 20))

    def test_larger_steps(self):
        """A resume may have larger steps if the order allows them."""
        groups = [i // 5 for i in range(500)]       # rounds of 45
        before = SpreadBatchSampler(groups, 8, 0, 1)
        whole = [i for batch in before for i in batch]
        before.begin(0)
        after = SpreadBatchSampler(groups, 8, 0, 5)
        after.load_state_dict(before.state_dict(batches=5))
        self.assertEqual(next(iter(after)), whole[40:80:5])
        largest = SpreadBatchSampler(groups, 8, 0, 8)   # shorter rounds
        with self.assertRaisesRegex(
                ValueError, "apart, which is not enough for apart=64: use"):
            largest.load_state_dict(before.state_dict(batches=5))
        self.assertEqual(largest.start_iter, 0)
        # A smaller step keeps to the order of the state.
        state = largest.state_dict(batches=1)
        alone = SpreadBatchSampler(groups, 8, 0, 1)
        alone.load_state_dict(state)
        ranks = [list(SpreadBatchSampler(groups, 8, rank, 8))
                 for rank in range(8)]
        want = [i for step in list(zip(*ranks))[1:] for turn in zip(*step)
                for i in turn]
        self.assertEqual([i for batch in alone for i in batch][:400],
                         want[:400])
        # Another order, though it may begin at the same place.
        for seed in range(20):
            before, after = (SpreadBatchSampler(
                [0, 0, 1, 1, 2, 2, 3], size, 0, 1, seed=seed)
                for size in (2, 3))
            with self.assertRaisesRegex(ValueError, "2 apart, .* apart=3: "):
                after.load_state_dict(before.state_dict(batches=1))
        # Samples that are like no other allow any steps.
        before = SpreadBatchSampler(range(10), 2, 0, 1)
        state = before.state_dict(batches=2)
        whole = [i for batch in before for i in batch]
        for size in 8, 10:
            after = SpreadBatchSampler(range(10), size, 0, 1)
            after.load_state_dict(state)
            self.assertEqual(list(after), [whole[4:]])

    def test_states(self):
        good = make(0, 1).state_dict()
        other = list(GROUPS)
        other[7] = "another"
        for another, message in (
                (SpreadBatchSampler(GROUPS[1:], 2, 0, 1, seed=11,
                                    tail="uneven"),
                 r"has len\(groups\) 240, this sampler 239"),
                (SpreadBatchSampler(other, 2, 0, 1, seed=11, tail="uneven"),
                 "groups whose digest is [0-9]*, this sampler [0-9]"),
                (SpreadBatchSampler(GROUPS, 2, 0, 1, seed=12, tail="uneven"),
                 "seed 11, this sampler 12"),
                (SpreadBatchSampler(GROUPS, 2, 0, 1, seed=11),
                 "tail uneven, this sampler pad"),
                (RepeatSampler(range(60), 2), "")):
            before = raw(another.state_dict())
            with self.assertRaisesRegex(ValueError, message):
                another.load_state_dict(good)
            self.assertEqual(raw(another.state_dict()), before)
        for batches, epoch in (0, 0), (1, 1):
            changed = SpreadBatchSampler(other, 2, 0, 1, seed=11,
                                         tail="uneven", changed="next_epoch")
            changed.load_state_dict(make(0, 1).state_dict(batches=batches))
            self.assertEqual((changed.epoch, changed.start_iter), (epoch, 0))
        sampler, state = make(0, 1), good["state"]
        with self.assertRaisesRegex(ValueError, "statesampler: |not Spread"):
            sampler.load_state_dict(RepeatSampler(range(60), 2).state_dict())
        for bad in None, {}, {"state": 3}, {"state": "xyz"}:
            with self.assertRaisesRegex(ValueError, "not a state_dict of Spr"):
                sampler.load_state_dict(bad)
        for at in range(len(state)):
            damaged = state.clone()
            damaged[at] ^= 1 << at % 8
            for each in damaged, state[:at]:
                with self.assertRaisesRegex(
                        ValueError, "is damaged" if at > 4 else
                        "is damaged|is a state_dict of Stateful"):
                    sampler.load_state_dict({"state": each})
        whole = bytes(state.tolist())
        forged = whole[:116] + bytes(8) + whole[124:-4]     # apart is 0
        with self.assertRaisesRegex(ValueError, "is damaged"):
            sampler.load_state_dict({"state": forged + crc(forged)})
        self.assertEqual([i for batch in sampler for i in batch],
                         expected()[:N])


if __name__ == "__main__":
    main()
