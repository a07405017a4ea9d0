"""PackedBatchSampler: packs by first fit decreasing, a state at every step on
any number of ranks, processes that are killed, and what it refuses; beside it,
what other packers lose."""

import array
import collections
import copy
import itertools
import os
import pickle
import resource
import unittest

from common import DataLoader, Dataset, Uncounted, cases, counted, main, raw
from loader_accelerate import DataLoaderShard
import loader_torchdata
from statesampler import (CountingDataLoader, PackedBatchSampler, Sampler,
                          StatefulLoader)
from statesampler import StatefulDistributedSampler
from test_readme import README, blocks
import test_kills
import torch


def flat(lists):
    return [each for one in lists for each in one]


def first_fit_decreasing(lengths, budget):
    """The lengths in each pack, by the textbook's definition."""
    packs = []
    for length in sorted(lengths, reverse=True):
        for pack in packs:
            if sum(pack) + length <= budget:
                pack.append(length)
                break
        else:
            packs.append([length])
    return packs


class Case:
    """Random lengths, and samplers of them."""

    def __init__(self, chance, most=300):
        n = chance.randint(1, most)
        self.budget = chance.choice([1, 10, 64, 1000, 70000])
        top = chance.choice([1, .5, .2])
        self.lengths = [chance.randint(1, max(1, int(top * self.budget)))
                        for _ in range(n)]
        self.plan = chance.choice([1, 7, 50, 1000])
        self.options = dict(seed=chance.randrange(2**64),
                            shuffle=chance.random() < .8)

    def make(self, rank=0, ranks=1, **options):
        return PackedBatchSampler(
            self.lengths, self.budget, rank, ranks,
            **{"plan_size": self.plan, **self.options, **options})

    def sequence(self, epochs):
        """All packs, of one rank that is never interrupted."""
        sampler = self.make()
        return [list(sampler) for _ in range(epochs)]


class Packs(unittest.TestCase):
    def test_definition(self):
        """Each plan has the packs of the definition, in another order."""
        moved = 0
        for chance in cases(60, "packs"):
            case = Case(chance)
            order = Sampler(len(case.lengths), 0, 1, case.plan, **case.options)
            for epoch in case.sequence(2):
                packs = iter(epoch)
                for plan in order:
                    wanted = first_fit_decreasing(
                        [case.lengths[i] for i in plan], case.budget)
                    found = list(itertools.islice(packs, len(wanted)))
                    self.assertEqual(sorted(flat(found)), sorted(plan))
                    found = [[case.lengths[i] for i in pack]
                             for pack in found]
                    self.assertEqual(sorted(found), sorted(wanted))
                    moved += found != wanted
                self.assertEqual(list(packs), [])
        self.assertGreater(moved, 100)

    def test_lengths_of_any_kind(self):
        lengths = [5, 1, 9, 10, 3, 3, 2] * 30
        wanted = list(PackedBatchSampler(lengths, 10, 0, 1))
        kinds = [tuple(lengths), array.array("H", lengths),
                 array.array("I", lengths), array.array("q", lengths),
                 array.array("L", lengths),
                 torch.tensor(lengths), iter(lengths)]
        try:
            import numpy
            kinds += [numpy.array(lengths, kind) for kind in (
                "uint16", "uint32", "int64", ">u2", "uint8")]
            kinds.append(numpy.array(lengths + lengths, "uint16")[::2])
            kinds[-1] = numpy.repeat(numpy.array(lengths, "uint16"), 2)[::2]
            kinds[7].flags.writeable = False
            with self.assertRaisesRegex(ValueError, "lengths.0. should be"):
                PackedBatchSampler([numpy.True_], 10, 0, 1)
        except ImportError:
            pass
        for each in kinds:
            self.assertEqual(list(PackedBatchSampler(each, 10, 0, 1)), wanted)

    def test_lengths_that_change(self):
        """They must not; but what they become ends no process."""
        for wrong in 0, 11, 65535:
            for use in (lambda packs: packs.remaining,
                        lambda packs: packs.at(0), list):
                lengths = array.array("H", [5, 1, 9] * 100)
                packs = PackedBatchSampler(lengths, 10, 0, 1, plan_size=50)
                lengths[:] = array.array("H", [wrong] * 300)
                with self.assertRaisesRegex(ValueError, "lengths have chang"):
                    use(packs)
        with self.assertRaises(BufferError):
            lengths.append(5)

    def test_seeds(self):
        def packs(**options):
            return list(PackedBatchSampler(range(1, 200), 400, 0, 1,
                                           **options))
        found = [packs(), packs(seed=1), packs(stream=1), packs(shuffle=False),
                 packs(plan_size=100), packs(chunk_size=10, window=2)]
        for one, other in itertools.combinations(found, 2):
            self.assertNotEqual(one, other)
        sampler = PackedBatchSampler([1] * 9, 2, 0, 1, seed=5)
        self.assertEqual(sampler.sample_seed(3, 7),
                         Sampler(9, 0, 1, 1, seed=5).sample_seed(7, 3))


# --- Loops and states --------------------------------------------------------


def steps_of(samplers, loaders, epochs, most=None):
    """What all ranks are given, step by step, and the state after each; some
    steps, or until the epochs are over."""
    def batches(sampler, loader):
        while sampler.epoch < epochs:
            yield from loader
    turns = zip(*(batches(*pair) for pair in zip(samplers, loaders)))
    for step in itertools.islice(turns, most):
        states = [each.state_dict() for each in samplers]
        assert len({raw(each) for each in states}) == 1, "ranks differ"
        yield list(step), states[0], samplers[0].epoch


class States(unittest.TestCase):
    def run_ranks(self, case, ranks, state, most, epochs, workers=0,
                  **options):
        samplers = [case.make(rank, ranks, **options)
                    for rank in range(ranks)]
        for each in samplers:
            if state is not None:
                each.load_state_dict(state)
        loaders = [DataLoader(range(len(case.lengths)), batch_sampler=each,
                              num_workers=workers) for each in samplers]
        return steps_of(samplers, loaders, epochs, most)

    def test_chains(self):
        """Killed again and again, on other ranks each time, some endless: the
        packs are those of one rank, one after another, through the ends of
        plans and epochs."""
        lives = 0
        for chance in cases(40, "chains of packs"):
            case, epochs = Case(chance), 3
            wanted, got, state = flat(case.sequence(epochs + 20)), [], None
            done = -1
            while len(got) > done:
                done, ranks = len(got), chance.randint(1, 6)
                endless = chance.random() < .3
                most = chance.randint(1, 2 + len(wanted) // 200)
                for step, state, epoch in self.run_ranks(
                        case, ranks, state, most, epochs, endless=endless):
                    got += step
                    if epoch >= epochs:     # There is no end.
                        break
                lives += 1
            self.assertEqual(got, wanted[:len(got)])
            self.assertGreaterEqual(len(flat(got)),
                                    epochs * len(case.lengths))
        self.assertGreater(lives, 200)

    def test_endless_at_the_end(self):
        """Of an epoch, where the one state has another epoch than the
        other."""
        case = Case(next(cases(1, "packs at the end")))
        wanted = flat(case.sequence(3))
        for ends in False, True:
            samplers = [case.make(rank, 2, endless=ends) for rank in range(2)]
            steps = case.make(0, 2).remaining
            state = samplers[0].state_dict(batches=steps)
            for endless in False, True:
                one = case.make(endless=endless)
                one.load_state_dict(state)
                self.assertEqual(one.epoch, 1)
                left = wanted[2 * steps:][:30]
                self.assertEqual(list(itertools.islice(one, 30)), left)

    def test_every_step(self):
        for chance in cases(3, "every step of packs"):
            case = Case(chance, 60)
            whole = list(self.run_ranks(case, 2, None, None, 2))
            wanted = flat(case.sequence(12))
            for i, (_, state, epoch) in enumerate(whole[:-1], 1):
                for ranks in 1, 3, 2:
                    rest = flat(step for step, _, _ in self.run_ranks(
                        case, ranks, state, 3, 3))
                    self.assertEqual(rest, wanted[2 * i:][:len(rest)])

    def test_workers(self):
        case = Case(next(cases(1, "packs, workers")))
        wanted, got, state = flat(case.sequence(4)), [], None
        for ranks, most in (2, 3), (3, 2):
            for step, state, _ in self.run_ranks(case, ranks, state, most, 2,
                                                 workers=2):
                got += step
        self.assertEqual(got, wanted[:len(got)])

    def test_each_epoch(self):
        """A loop ends with the step that has an epoch's last pack; so all
        samples come once for each epoch."""
        for chance in cases(20, "epochs of packs"):
            case, ranks = Case(chance), chance.randint(2, 5)
            samplers = [case.make(rank, ranks) for rank in range(ranks)]
            wanted, got = [len(each) for each in case.sequence(4)], 0
            for _ in range(3):
                epoch = samplers[0].epoch
                length = samplers[0].remaining
                loops = [list(counted(each)) for each in samplers]
                self.assertEqual([len(each) for each in loops],
                                 [length] * ranks)
                got += sum(map(len, loops))
                self.assertGreaterEqual(got, sum(wanted[:epoch + 1]))
                self.assertLess(got - ranks, sum(wanted[:epoch + 1]))
                if samplers[0].epoch > 3:
                    break
        # One pack an epoch: a step of six ranks takes those of six.
        samplers = [PackedBatchSampler([1, 1], 5, rank, 6)
                    for rank in range(6)]
        for epoch in 6, 12, 18:
            loops = [list(each) for each in samplers]
            self.assertEqual([len(each) for each in loops], [1] * 6)
            self.assertEqual({each.epoch for each in samplers}, {epoch})

    def test_torchdata(self):
        """Around its loader."""
        for workers in 0, 1:
            case = Case(next(cases(1, "packs, torchdata")), 100)
            wanted = flat(case.sequence(6))

            def loader(rank):
                sampler = case.make(rank, 2)
                return StatefulLoader(loader_torchdata.StatefulDataLoader(
                    range(len(case.lengths)), batch_sampler=sampler,
                    num_workers=workers, collate_fn=list), sampler)
            one, other = loader(0), loader(1)
            for i, step in enumerate(zip(one, other), 1):
                self.assertEqual(list(step), wanted[2 * i - 2:2 * i])
                state = copy.deepcopy(one.state_dict())
                if i % 3 == 0 and (i == 6 or not workers):
                    again = loader(1)
                    again.load_state_dict(state)
                    rest = list(again)
                    self.assertEqual(
                        rest, wanted[2 * i + 1::2][:len(rest)])

    def test_accelerate(self):
        """One process, in which it deals nothing."""
        case = Case(next(cases(1, "packs, accelerate")))
        n, state, got = len(case.lengths), None, []
        wanted = case.sequence(3)
        for stop in 2, 5, 9999:
            sampler = case.make()
            if state:
                sampler.load_state_dict(state)
            shard, before = StatefulLoader(DataLoaderShard(
                Uncounted(range(n), batch_sampler=sampler)), sampler), len(got)
            for _ in range(sampler.epoch, 2):
                for pack in shard:
                    got.append(pack)
                    state = sampler.state_dict()
                    if len(got) == before + stop:
                        break
                if len(got) == before + stop:
                    break
        self.assertEqual(got, flat(wanted[:2]))


class Recipe(unittest.TestCase):
    def test_it_runs(self):
        with open(os.path.join(os.path.dirname(README), "more.md")) as file:
            recipe, = (each for each in blocks(file.read())
                       if "= PackedBatchSampler" in each)
        lengths = [1 + i * 37 % 4000 for i in range(500)]
        names = {"PackedBatchSampler": PackedBatchSampler, "lengths": lengths,
                 "CountingDataLoader": CountingDataLoader,
                 "dataset": [[i] * length for i, length in enumerate(lengths)],
                 "concatenate": flat}
        exec(recipe, names)
        tokens = collections.Counter()
        for sequence in names["loader"]:
            self.assertLessEqual(len(sequence), 4096)
            tokens.update(sequence)
        self.assertEqual(tokens, dict(enumerate(lengths)))


class Accelerate(unittest.TestCase):
    def test_deals(self):
        """Its rule where there is no batch_size (16cb6eb8, src/accelerate/
        data_loader.py, BatchSamplerShard): a batch each, in turn. Ranks then
        do not end together."""
        class BatchSamplerShard(torch.utils.data.BatchSampler):
            __module__ = "accelerate.data_loader"
            num_processes = 2

            def __init__(self, batches):
                self.batch_sampler = batches

            def __iter__(self):
                return itertools.islice(self.batch_sampler, 0, None, 2)
        for ranks, inside in (1, False), (2, False), (1, True):
            batches = sampler = PackedBatchSampler(9 * [1], 2, 0, ranks)
            if inside:
                batches = torch.utils.data.BatchSampler(
                    itertools.chain.from_iterable(batches), 2, False)
            loader = Uncounted(range(9), batch_sampler=BatchSamplerShard(
                batches))
            with self.assertRaisesRegex(RuntimeError, "a PackedBatchSampler "
                                        "has some for each: leave"):
                StatefulLoader(loader, sampler)


# --- Killed ------------------------------------------------------------------

# Two or three samples fill a pack, as test_kills counts on.
LENGTHS = [20 + 7 * i % 21 for i in range(test_kills.N)]


def packed(rank, world, saved, train):
    sampler = PackedBatchSampler(LENGTHS, 64, rank, world, plan_size=100)
    if saved is not None:
        sampler.load_state_dict(saved)
    loader = DataLoader(range(test_kills.N), batch_sampler=sampler,
                        num_workers=1)
    while sampler.epoch < test_kills.EPOCHS:
        for batch in loader:
            train(batch, sampler.state_dict)


class Killed(unittest.TestCase):
    def test_processes(self):
        """2, 3 and 1 processes, and so on: what counts is what one process
        serves that was never killed."""
        wanted = PackedBatchSampler(LENGTHS, 64, 0, 1, plan_size=100)
        wanted = flat(flat(list(wanted) for _ in range(test_kills.EPOCHS)))
        self.assertEqual(len(wanted), test_kills.N * test_kills.EPOCHS)
        for chance in cases(2, "packs"):
            seen, _ = test_kills.killed(packed, (2, 3, 2, 1), chance)
            self.assertEqual(seen, wanted)


# --- What other packers lose -------------------------------------------------

# Each rule yields packs, and how many samples its state says were taken.


def prime_rl(lengths, budget, samples):
    """PrimeIntellect-ai/prime-rl#2944 (e54f413d, src/prime_rl/trainer/sft/
    data.py, lines 375 to 404): in order. The sample that did not fit is taken,
    and in no state."""
    pack, used = [], 0
    for taken, sample in enumerate(samples, 1):
        if pack and used + lengths[sample] > budget:
            yield pack, taken
            pack, used = [], 0
        pack.append(sample)
        used += lengths[sample]
        if used >= budget:
            yield pack, taken
            pack, used = [], 0


def nanochat(lengths, budget, samples, cropped=None, group=1024, some=128,
             most=1000):
    """karpathy/nanochat (92d63d4, nanochat/dataloader.py, lines 25 to 69 and
    104 to 157): the longest of a buffer that fits; where none does, the
    shortest is cropped. The state is the row group that was read last, and a
    run goes on after it."""
    buffer, read = [], 0
    while True:
        pack, room = [], budget
        while room > 0:
            while len(buffer) < most:
                if read >= len(samples):
                    return
                end = min(read + some, (read // group + 1) * group)
                buffer += samples[read:end]
                read = end
            fits = [each for each in buffer if lengths[each] <= room]
            one = max(fits, key=lengths.__getitem__) if fits else min(
                buffer, key=lengths.__getitem__)
            buffer.remove(one)
            pack.append(one)
            if cropped is not None:
                cropped.append(max(lengths[one] - room, 0))
            room -= min(lengths[one], room)
        yield pack, -(-read // group) * group


def modern_bert(lengths, budget, samples, out=16, some=512, most=5120):
    """AnswerDotAI/ModernBERT#111 (8c57a0f, src/sequence_packer.py, lines 174
    to 232 and 425 to 473): a batch of packs, each sample into the fullest that
    has room; who fits in none waits. There is no state: a run that goes on
    with the source's next batch has lost the buffer."""
    buffer, read = collections.deque(), 0
    while True:
        packs, rooms, waiting = [[] for _ in range(out)], [budget] * out, []
        while True:
            if not buffer:
                while most - len(waiting) - len(buffer) > some and (
                        read < len(samples)):
                    buffer.extend(samples[read:read + some])
                    read += some
                if not buffer:
                    break
            sample = buffer.popleft()
            fits = [i for i in range(out) if rooms[i] >= lengths[sample]]
            if fits:
                best = min(fits, key=rooms.__getitem__)
                packs[best].append(sample)
                rooms[best] -= lengths[sample]
            else:
                waiting.append(sample)
        buffer.extendleft(waiting)
        if not all(packs):
            return
        yield flat(packs), min(read, len(samples))


class Peers(unittest.TestCase):
    N, BUDGET, KILLS = 100000, 4096, 10

    def setUp(self):
        chance = next(cases(1, "peers"))
        self.lengths = [min(1 + int(chance.expovariate(1 / 512)), self.BUDGET)
                        for _ in range(self.N)]
        self.order = flat(Sampler(self.N, 0, 1, self.N))
        self.stops = [chance.randint(1, 40) for _ in range(self.KILLS)]

    def lost(self, rule):
        """How many samples a rule has taken, and never packed, when it was
        killed and went on from its state so often."""
        taken, served = 0, set()
        for stop in self.stops:
            packs = rule(self.lengths, self.BUDGET, self.order[taken:])
            for pack, more in itertools.islice(packs, stop):
                self.assertTrue(served.isdisjoint(pack))
                served.update(pack)
            taken += more
        self.assertLess(taken, self.N)
        return taken - len(served)

    def ours(self):
        served, state = [], None
        for stop in self.stops:
            sampler = PackedBatchSampler(self.lengths, self.BUDGET, 0, 1,
                                         plan_size=1000)
            if state:
                sampler.load_state_dict(state)
            served += flat(itertools.islice(counted(sampler), stop))
            state = sampler.state_dict()
        sampler = PackedBatchSampler(self.lengths, self.BUDGET, 0, 1,
                                     plan_size=1000)
        sampler.load_state_dict(state)
        served += flat(sampler)
        self.assertEqual(sorted(served), list(range(self.N)))

    def test_resumes(self):
        self.ours()
        dropped = {rule.__name__: self.lost(rule)
                   for rule in (prime_rl, nanochat, modern_bert)}
        self.assertEqual(dropped["prime_rl"], self.KILLS)
        self.assertGreater(dropped["nanochat"], 1000 * self.KILLS // 2)
        self.assertGreater(dropped["modern_bert"], 500 * self.KILLS)
        # Documents as those of the web, some longer than the budget: these
        # stay in the buffer, here one of 100, until it has no others.
        chance, cropped = next(cases(1, "crops")), []
        lengths = [1 + int(chance.lognormvariate(6.5, 1.2))
                   for _ in range(20000)]
        packs = flat(pack for pack, _ in itertools.islice(
            nanochat(lengths, 2048, list(range(20000)), cropped, most=100),
            3000))
        share = sum(cropped) / sum(lengths[i] for i in packs)
        self.assertGreater(share, .1)
        print(f"{self.KILLS} resumes drop samples: ours 0, " + ", ".join(
            f"{name} {count}" for name, count in dropped.items()) +
            f"; nanochat crops {share:.0%} of the tokens", flush=True)

    def test_other_ranks(self):
        """prime-rl since then (559b447, src/prime_rl/trainer/sft/data.py,
        lines 395 to 436 and 448 to 474) saves the sample that did not fit, for
        each rank, and each rank's place among all samples."""
        def rank_packs(rank, ranks, step, pending):
            """Packs and the state after each."""
            pack, used = [], 0
            while True:
                if pending is not None:
                    sample, pending = pending, None
                else:
                    while step % ranks != rank:
                        step += 1
                    if step >= self.N:
                        return
                    sample, step = self.order[step], step + 1
                if pack and used + self.lengths[sample] > self.BUDGET:
                    yield pack, (step, sample)
                    pack, used = [], 0
                pack.append(sample)
                used += self.lengths[sample]
        served, states = [], []
        for rank in range(4):
            for pack, state in itertools.islice(
                    rank_packs(rank, 4, 0, None), 50):
                served += pack
            states.append(state)
        for rank in range(3):
            for pack, _ in rank_packs(rank, 3, *states[rank]):
                served += pack
        count = collections.Counter(served)
        twice = sum(each - 1 for each in count.values())
        # What is in no full pack at the end is not counted as lost.
        lost = sum(1 for sample in self.order[:self.N - 100]
                   if sample not in count)
        self.assertGreater(twice, 5)
        self.assertGreater(lost, 5)
        print(f"prime-rl today, 4 ranks and then 3: {twice} samples twice, "
              f"{lost} never", flush=True)


# --- Looking up, and what is refused -----------------------------------------


class Lookups(unittest.TestCase):
    def test_at_and_locate(self):
        for chance in cases(10, "packs looked up"):
            case, ranks = Case(chance), chance.randint(1, 4)
            mine = chance.randrange(ranks)
            loops = [list(case.make(rank, ranks)) for rank in range(ranks)]
            sampler = case.make(mine, ranks)
            count = len(loops[0])
            order = flat(Sampler(len(case.lengths), 0, 1, case.plan,
                                 **case.options))
            self.assertEqual(sampler.remaining, count)
            for step in range(0, count, 1 + count // 9):
                for rank in range(ranks):
                    self.assertEqual(sampler.at(step, rank),
                                     loops[rank][step])
                self.assertEqual(sampler.at(step), loops[mine][step])
            self.assertIsNone(sampler.at(count))
            for index in range(0, len(case.lengths),
                               1 + len(case.lengths) // 9):
                place = sampler.locate(index)
                pack = loops[place.rank][place.step]
                self.assertEqual((pack[place.slot], order[place.position]),
                                 (index, index))
            with self.assertRaises(ValueError):
                sampler.locate(len(case.lengths))
            self.assertEqual(list(sampler), loops[mine])

    def test_past_steps(self):
        """Of an epoch whose first packs were in the last step of the one
        before."""
        case = Case(next(cases(1, "packs of the past")))
        alone, sampler, again = case.make(), case.make(1, 4), case.make(1, 4)
        for each in alone, sampler:
            each.begin(2**64 - 1)
        self.assertNotEqual(alone.remaining % 4, 0)
        list(counted(sampler))
        again.load_state_dict(sampler.state_dict())
        self.assertEqual(again.epoch, 0)
        loop = list(sampler)
        for step, pack in enumerate(loop):
            self.assertEqual(again.at(step), pack)
            self.assertEqual(again.locate(pack[0])[:3], (step, 1, 0))

    def test_counts(self):
        case = Case(next(cases(1, "packs counted")))
        sampler = case.make(0, 2)
        whole = list(sampler)
        for start in 0, 3, len(whole):
            other = case.make(0, 2)
            other.set_start_iter(start)
            self.assertEqual(other.start_iter, start)
            self.assertEqual(other.remaining, len(whole) - start)
            if start < len(whole):
                self.assertEqual(list(other), whole[start:])
            again = case.make(0, 2)
            again.load_state_dict(case.make(0, 2).state_dict(batches=start))
            if start < len(whole):
                self.assertEqual(list(again), whole[start:])
        late = case.make(0, 3)
        late.load_state_dict(case.make(0, 2).state_dict(batches=4))
        self.assertEqual(late.start_iter, 4)
        self.assertEqual(late.locate(late.at(4)[0])[:3], (4, 0, 0))
        with self.assertRaisesRegex(ValueError, "step 3 is before step 4"):
            late.set_start_iter(3)
        for ask in lambda: late.at(3), lambda: late.locate(whole[0][0]):
            with self.assertRaisesRegex(ValueError, "before step 4, from which "
                                        "this sampler goes on: load an earl"):
                ask()
        with self.assertRaisesRegex(ValueError, "should be at most"):
            late.set_start_iter(999)

    def test_copies(self):
        case = Case(next(cases(1, "packs copied")))
        sampler = case.make(0, 2)
        whole = list(case.make(0, 2))
        loader = iter(DataLoader(range(len(case.lengths)),
                                 batch_sampler=sampler))
        next(loader)
        for other in copy.deepcopy(sampler), pickle.loads(
                pickle.dumps(sampler)):
            self.assertEqual(list(other), whole[1:])

    def test_epochs(self):
        case = Case(next(cases(1, "packs of epochs")))
        sampler, epochs = case.make(), case.sequence(3)
        sampler.set_epoch(2)
        self.assertEqual(list(sampler), epochs[2])
        sampler.set_epoch(0)
        self.assertEqual(list(sampler), epochs[0])
        # A loop that breaks off starts over.
        loader = DataLoader(range(len(case.lengths)), batch_sampler=sampler)
        last = len(epochs[1]) * 2 // 3
        self.assertEqual(list(itertools.islice(loader, last)),
                         epochs[1][:last])
        self.assertEqual(list(sampler), epochs[1])

    def test_len(self):
        """None, as it would be another epoch's; what is left is known."""
        sampler = PackedBatchSampler([5 + i * i % 7 for i in range(36)], 16, 0,
                                     1, seed=5, plan_size=6)
        loader, counts = DataLoader(range(36), batch_sampler=sampler), []
        for _ in range(3):
            for each in sampler, loader:
                with self.assertRaisesRegex(TypeError, "no len.*`remaining`"):
                    len(each)
            counts.append(sampler.remaining)
            at = [sampler.remaining for _ in loader]
            self.assertEqual([*at[:-1], 0], [*range(counts[-1])][::-1])
        self.assertGreater(len({*counts}), 1)

    def test_endless(self):
        case = Case(next(cases(1, "endless packs")))
        sampler = case.make(endless=True)
        wanted = flat(case.sequence(3))
        self.assertEqual(list(itertools.islice(counted(sampler), len(wanted))),
                         wanted)
        self.assertIsNone(sampler.remaining)
        # Loaded in an epoch's last plan, and gone on into the one after it.
        before, after = (PackedBatchSampler(9 * [1], 2, 0, 1, plan_size=4,
                                            endless=True) for _ in range(2))
        before.begin(2**64 - 1)
        after.load_state_dict(before.state_dict(batches=4))
        for step, pack in enumerate(itertools.islice(after, 8), 4):
            self.assertEqual(after.at(step), pack)
            if step in (5, 8):      # Epochs have five packs.
                self.assertEqual(after.locate(pack[0])[:3], (step, 0, 0))


class Large(unittest.TestCase):
    def test_budget(self):
        """Costs what the lengths do: it has 4 bytes for each of the budget's
        tokens, but uses few of them, and does not search them all."""
        def used():
            found = resource.getrusage(resource.RUSAGE_SELF)
            return found.ru_maxrss << 10, found.ru_utime + found.ru_stime

        memory, seconds = used()
        packs = list(PackedBatchSampler([3, 4, 5] * 10000, 10**9, 0, 1))
        self.assertEqual(sorted(flat(packs)), list(range(30000)))
        self.assertEqual([len(pack) for pack in packs], [10000] * 3)
        packs = list(PackedBatchSampler([3, 4], 9, 0, 1, plan_size=2**31 - 1))
        self.assertEqual(sorted(flat(packs)), [0, 1])
        self.assertLess(used()[0] - memory, 10**9)
        self.assertLess(used()[1] - seconds, 3)


class Errors(unittest.TestCase):
    def test_arguments(self):
        for arguments, message in (
                (([5, 101, 0], 100), r"lengths\[1\] is 101, .* in \[1, "
                 "max_tokens=100\\]: cut"),
                (([5, 0, 101], 100), r"lengths\[1\] is 0, "),
                ((torch.tensor([3, -1]), 100), r"lengths\[1\] should be"),
                ((array.array("h", [-1]), 2**16), r"lengths\[0\] should be"),
                ((memoryview(b"abcd").cast("H", [1, 2]), 2**16),
                 r"lengths\[0\] should be"),
                (([3, 2**32], 100), r"lengths\[1\] should be"),
                (([3, 2.5], 100), r"lengths\[1\] should be"),
                (([3, "x"], 100), r"lengths\[1\] should be"),
                (([3, True], 100), r"lengths\[1\] should be"),
                ((torch.tensor([True]), 100), r"lengths\[0\] should be"),
                ((list(torch.tensor([True])), 100), r"lengths\[0\] should be"),
                (([], 100), "lengths should not be empty"),
                ((5, 100), "lengths should be a list"),
                ((torch.tensor(5), 100), "lengths should be a list"),
                (([1], 0), "max_tokens should be"),
                (([1], 2**31), "max_tokens should be"),
                (([1], 2.5), "max_tokens should be"),
                (([1], None), "max_tokens should be"),
                (([1], 5, 2, 2), "Invalid rank"),
                (([1], 5, 0, 1, "x"), "seed should be")):
            with self.assertRaisesRegex(ValueError, message):
                PackedBatchSampler(*arguments)
        for name, value in (("plan_size", 0), ("plan_size", "5"),
                            ("plan_size", 2**31), ("chunk_size", 3),
                            ("stream", -1), ("read_ahead", -1)):
            with self.assertRaisesRegex(ValueError, name):
                PackedBatchSampler([1], 5, 0, 1, **{name: value})
        for wrong in dict(endless="no"), dict(shuffle="no"):
            with self.assertRaises(ValueError):
                PackedBatchSampler([1], 5, 0, 1, **wrong)
        with self.assertRaises(TypeError):
            PackedBatchSampler([1], 5, 0, 1, other=1)
        with self.assertRaisesRegex(TypeError, "lengths of samples, not a "):
            PackedBatchSampler(torch.utils.data.SequentialSampler([1]), 5)
        for wrong in Dataset(9), {1: 5}, {5}:
            with self.assertRaisesRegex(ValueError, "as a list, not a " +
                                        type(wrong).__name__):
                PackedBatchSampler(wrong, 5)
        for workers in 0, 1:
            with self.assertRaisesRegex(ValueError, "lengths of samples: it "
                                        "has 30, but the dataset has 40$"):
                list(DataLoader(range(40), num_workers=workers,
                                batch_sampler=PackedBatchSampler(
                                    30 * [1], 4, 0, 1)))
        sampler = PackedBatchSampler([1], 5, 0, 1)
        for name in "max_tokens", "plan_size", "endless", "seed", "rank":
            with self.assertRaisesRegex(AttributeError, "make another"):
                setattr(sampler, name, 5)

    def test_states(self):
        lengths = [1 + i % 9 for i in range(500)]

        def make(lengths=lengths, budget=20, **options):
            return PackedBatchSampler(lengths, budget, 0, 1,
                                      **{"plan_size": 70, **options})
        sampler = make()
        loader = iter(DataLoader(range(500), batch_sampler=sampler))
        for _ in range(30):
            next(loader)
        good = sampler.state_dict()
        sampler = make()
        sampler.load_state_dict(good)
        other = lengths[:-1] + [9]
        for another, message in (
                (make(other), "lengths whose digest is [0-9a-f]{16}, this"),
                (make(lengths[:-1]), r"len\(dataset\) 500, this sampler 499"),
                (make(budget=21), "^the state has max_tokens 20, this sampler "
                 "21$"),
                (make(plan_size=71), "^the state has plan_size 70, this "
                 "sampler 71$"),
                (make(seed=1), "seed 0, this sampler 1$"),
                (make(shuffle=False), "order shuffle, this")):
            before = raw(another.state_dict())
            with self.assertRaisesRegex(ValueError, message):
                another.load_state_dict(good)
            self.assertEqual(raw(another.state_dict()), before)
        for batches, epoch in (0, 0), (1, 1), (30, 1):
            another = make(other, changed="next_epoch")
            another.load_state_dict(make().state_dict(batches=batches))
            self.assertEqual((another.epoch, another.start_iter), (epoch, 0))
        with self.assertRaisesRegex(ValueError, "not PackedBatchSampler"):
            sampler.load_state_dict(StatefulDistributedSampler(
                range(60), 1, 0).state_dict())
        for bad in None, {}, {"state": 3}, {"state": "xyz"}:
            with self.assertRaisesRegex(ValueError, "not a state_dict of Pac"):
                sampler.load_state_dict(bad)
        state = good["state"]
        for at in range(len(state)):
            damaged = state.clone()
            damaged[at] ^= 1 << at % 8
            for each in damaged, state[:at]:
                with self.assertRaisesRegex(ValueError, "damaged|not Packed"):
                    sampler.load_state_dict({"state": each})
        self.assertEqual(list(sampler), list(make())[30:])


if __name__ == "__main__":
    main()
