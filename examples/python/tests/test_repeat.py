"""RepeatSampler: TRL's rule, a state at every batch on any number of ranks,
processes that are killed, and what it refuses."""

import copy
import itertools
import os
import tempfile
import types
import unittest
import unittest.mock

from common import DataLoader, Uncounted, cases, counted, main, raw, real
import loader_accelerate
from loader_accelerate import DataLoaderShard
from statesampler import (
    RepeatSampler, Sampler, SpreadBatchSampler, StatefulDistributedSampler,
    StatefulLoader)
from statesampler._library import c
import test_accelerate
from test_accelerate import RECIPES
import test_kills
from test_readme import blocks
import torch


def trl(order, copies, batch, uses):
    """What huggingface/trl's RepeatSampler (f2cd5771, trl/trainer/utils.py,
    lines 695 to 788) yields for an order of its items: those in full batches;
    each batch so many times, with so many copies of each item."""
    full = len(order) // batch * batch
    return [order[first + item] for first in range(0, full, batch)
            for _ in range(uses) for item in range(batch)
            for _ in range(copies)]


def ours(n, batch, seed, epoch, shuffle=True):
    """The order of our generation batches."""
    sampler = Sampler(n, 0, 1, batch, seed=seed, shuffle=shuffle,
                      drop_last=True)
    sampler.begin(epoch)
    return [index for prompts in sampler for index in prompts]


def shape(items):
    """The places where an item first came, instead of the item."""
    first = {}
    return [first.setdefault(item, len(first)) for item in items]


class Rule(unittest.TestCase):
    def test_any_numbers(self):
        for chance in cases(60, "repeat"):
            n, copies, uses = (chance.randint(1, most) for most in (40, 6, 5))
            batch, seed = (chance.randint(1, n),
                           chance.randrange(-2**63, 2**64))
            sampler = RepeatSampler(range(n), copies, batch, uses, seed=seed)
            generator = torch.Generator().manual_seed(seed % 2**63)
            for epoch in range(3):
                here = list(sampler)
                there = trl(torch.randperm(n, generator=generator).tolist(),
                            copies, batch, uses)
                self.assertEqual(len(here), len(there))
                self.assertEqual(len(sampler), len(there))
                self.assertEqual(shape(here), shape(there))
                self.assertEqual(here, trl(ours(n, batch, seed, epoch), copies,
                                           batch, uses))
            in_order = RepeatSampler(range(n), copies, batch, uses, False)
            self.assertEqual(list(in_order),
                             trl(list(range(n)), copies, batch, uses))

    def test_the_example_of_trl(self):
        """Seven items, two of each, three in a batch, four times."""
        for items in list(RepeatSampler("abcdefg", 2, 3, 4, seed=s)
                          for s in range(5)):
            self.assertEqual(shape(items), 4 * [0, 0, 1, 1, 2, 2] +
                             4 * [3, 3, 4, 4, 5, 5])

    def test_without_a_seed(self):
        self.assertEqual(list(RepeatSampler(range(9), 2, 3)),
                         trl(ours(9, 3, 0, 0), 2, 3, 1))

    def test_who_is_left_out(self):
        """Others in each epoch."""
        sampler = RepeatSampler(range(10), 1, 4, seed=1)
        left = {frozenset(range(10)) - set(sampler) for _ in range(8)}
        self.assertTrue(all(len(each) == 2 for each in left))
        self.assertGreater(len(left), 4)

    def test_steps(self):
        """Each use of a generation batch, by its number and by its items."""
        for chance in cases(40, "steps"):
            copies, uses = chance.randint(1, 4), chance.randint(1, 3)
            batch = chance.randint(1, 6)
            n = batch * chance.randint(1, 5) + chance.randrange(batch)
            sampler = RepeatSampler(range(n), copies, batch, uses, seed=3)
            sampler.begin(chance.randrange(3))
            size, epoch = batch * copies, sampler.epoch
            whole = list(sampler)
            steps = [whole[at:at + size] for at in range(0, len(whole), size)]
            sampler.begin(epoch)
            here = chance.randrange(len(whole))
            list(zip(range(here), counted(sampler)))
            self.assertEqual(sampler.start_iter, -(-here // size))
            self.assertEqual([sampler.at(step) for step in range(len(steps))],
                             steps)
            self.assertIsNone(sampler.at(len(steps), 0))
            for index in range(n):
                if index not in whole:
                    with self.assertRaises(ValueError):
                        sampler.locate(index)
                    continue
                step, rank, slot, _ = sampler.locate(index)
                self.assertEqual((step * size + slot, rank),
                                 (whole.index(index), 0))
            step = chance.randrange(len(steps))
            other = RepeatSampler(range(n), copies, batch, uses, seed=3)
            other.load_state_dict(sampler.state_dict(batches=step))
            self.assertEqual(list(other), sum(steps[step:], []))
            sampler.set_start_iter(step)
            self.assertEqual(list(sampler), sum(steps[step:], []))

    @real("trl")
    def test_trl_itself(self):
        from trl.trainer.utils import RepeatSampler as Theirs
        for n, *numbers in (7, 2, 3, 4), (20, 8, 4, 1), (5, 1, 1, 3):
            order = list(Theirs(range(n), 1, 1, 1, seed=4))
            theirs = list(Theirs(range(n), *numbers, seed=4))
            self.assertEqual(theirs, trl(order, *numbers))


# --- GRPO's way of calling ---------------------------------------------------

# 60 prompts in generation batches of 6, two copies, each batch used twice: 24
# items a generation batch, 240 an epoch, as test_kills has.
PROMPTS, COPIES, UNIQUE, USES, EPOCHS = 60, 2, 6, 2, 2


def make(uses=USES):
    return RepeatSampler(range(PROMPTS), COPIES, UNIQUE, uses, seed=11)


def expected(uses=USES):
    return [index for epoch in range(EPOCHS) for index in trl(
        ours(PROMPTS, UNIQUE, 11, epoch), COPIES, UNIQUE, uses)]


def shards(sampler, size, world, workers=0):
    """What accelerate makes of GRPOTrainer's loader on each rank."""
    return [StatefulLoader(DataLoaderShard(
        Uncounted(range(PROMPTS), size, sampler=each, num_workers=workers),
        world, rank), each) for rank, each in enumerate(sampler)]


def recipes(trainer, transformers, groups):
    """The two Trainers of trainer.md for TRL, derived from this."""
    with open(RECIPES) as file:
        programs = blocks(file.read())
    resuming, = (each for each in programs if "class Resuming" in each)
    kinds = []
    for recipe in (each for each in programs if "trl." in each):
        names = {"trl": types.SimpleNamespace(GRPOTrainer=trainer),
                 "transformers": transformers, "groups": groups,
                 "RepeatSampler": RepeatSampler, "torch": torch,
                 "StatefulLoader": StatefulLoader,
                 "SpreadBatchSampler": SpreadBatchSampler}
        exec(resuming, names)
        exec(recipe, names)
        kinds.append(names["Trainer"])
    assert len(kinds) == 2
    return kinds


class GRPO(unittest.TestCase):
    def run_ranks(self, world, size, state, steps, workers=0):
        """Some steps of all ranks from a state: their items in one list, and
        the state after each step."""
        samplers = [make() for _ in range(world)]
        for each in samplers:
            if state is not None:
                each.load_state_dict(state)
        loaders = shards(samplers, size, world, workers)
        served, states = [], []

        def epochs(sampler, loader):
            for _ in range(sampler.epoch, EPOCHS):
                yield from loader
        turns = [epochs(*pair) for pair in zip(samplers, loaders)]
        for step in itertools.islice(zip(*turns), steps):
            served += [index for batch in step for index in batch]
            now = [raw(each.state_dict()) for each in samplers]
            self.assertEqual(len(set(now)), 1, "the ranks' states differ")
            states.append(samplers[0].state_dict())
        return served, states

    def test_a_state_after_every_step(self):
        """Resumed on other ranks, whose steps together are as long."""
        whole, states = self.run_ranks(2, 6, None, None)
        self.assertEqual(whole, expected())
        for (steps, state), (world, size) in zip(
                enumerate(states[:-1], 1),
                itertools.cycle([(1, 12), (3, 4), (4, 3), (6, 2), (2, 6)])):
            rest, _ = self.run_ranks(world, size, state, None)
            self.assertEqual(whole[:12 * steps] + rest, whole)

    def test_workers(self):
        whole, states = self.run_ranks(2, 12, None, 7, workers=2)
        rest, _ = self.run_ranks(3, 8, states[-1], None, workers=2)
        self.assertEqual(whole + rest, expected())

    def test_without_accelerate(self):
        """Each rank sees all groups, and takes a part of them."""
        whole, state = [], None
        for stop in 3, 8, 19, 100:
            sampler = make()
            if state:
                sampler.load_state_dict(state)
            batches = 0
            while sampler.epoch < EPOCHS and batches < stop:
                for batch in DataLoader(range(PROMPTS), 8, sampler=sampler):
                    whole += batch
                    state, batches = sampler.state_dict(), batches + 1
                    if batches == stop:
                        break
        self.assertEqual(whole, expected())

    def test_recipes(self):
        """What trainer.md says for TRL, by the Trainer's resume."""
        class GRPOTrainer(loader_accelerate.Trainer):
            """TRL's (f2cd5771, trl/trainer/grpo_trainer.py, lines 1213 to
            1232): a loader's batch is a rank's part of a generation batch."""
            num_generations, num_iterations, shuffle_dataset = COPIES, 1, True
            epochs = EPOCHS

            def get_train_dataloader(self):
                size = self._train_batch_size * self.args.steps_per_generation
                return DataLoaderShard(
                    DataLoader(self.train_dataset, size,
                               sampler=self._get_train_sampler()), *self.place)

        def items(kind, size, ranks, done, folder):
            """What all ranks are given for each step, from a checkpoint on."""
            runs = []
            for rank in range(ranks):
                given = []

                class Recorded(kind):
                    def training_step(self, model, inputs):
                        given.append(inputs["index"])

                one = Recorded(range(PROMPTS), size, ranks, rank, 11, folder)
                one.args.generation_batch_size = COPIES * UNIQUE
                one.args.steps_per_generation = COPIES * UNIQUE // (
                    size * ranks)
                one.train(resume_from_checkpoint=(
                    os.path.join(folder, f"checkpoint-{done}") if done else
                    None))
                runs.append(given)
            return [index for step in zip(*runs) for batch in step
                    for index in batch]

        groups = [index * index % 17 for index in range(PROMPTS)]
        spread = SpreadBatchSampler(groups, UNIQUE, 0, 1, True, 11)
        batches = [batch for _ in range(EPOCHS) for batch in spread]
        for batch in batches:
            self.assertEqual(len({groups[index] for index in batch}), UNIQUE)

        def spread_out(uses):
            return [index for batch in batches for _ in range(uses)
                    for index in batch for _ in range(COPIES)]
        kinds = recipes(GRPOTrainer, loader_accelerate, groups)
        for kind, wanted in zip(kinds, (expected, spread_out)):
            for (size, ranks), kind.skips_first in itertools.product(
                    ((3, 2), (2, 3), (12, 1)), (True, False)):
                uses = COPIES * UNIQUE // (size * ranks)
                with tempfile.TemporaryDirectory() as folder:
                    for done in (0, 1, 7, 10 * uses, 10 * uses + 1,
                                 20 * uses - 1):
                        self.assertEqual(
                            items(kind, size, ranks, done, folder),
                            wanted(uses)[COPIES * UNIQUE * done:])

    @real("transformers")
    def test_recipes_in_transformers(self):
        """Its own Trainer, on two processes of accelerate's: TRL's makes such
        a loader. (TRL itself need not be here.)"""
        import transformers

        class GRPOTrainer(transformers.Trainer):
            num_generations, num_iterations, shuffle_dataset = COPIES, 1, True

            def get_train_dataloader(self):
                self.args.generation_batch_size = COPIES * UNIQUE
                self.args.steps_per_generation = USES
                return self.accelerator.prepare(torch.utils.data.DataLoader(
                    self.train_dataset, self._train_batch_size * USES,
                    sampler=self._get_train_sampler(),
                    collate_fn=self.data_collator))

        groups = [index * index % 17 for index in range(PROMPTS)]
        runs = test_accelerate.RealTrainer()
        self.addCleanup(runs.doCleanups)
        for kind in recipes(GRPOTrainer, transformers, groups):
            # The same after a resume at every seventh step, of 20 an epoch.
            served = [index for step in runs.steps(kind, range(PROMPTS), -1, 2,
                                                   7)
                      for batch in step for index in batch]
            length = PROMPTS * COPIES * USES
            self.assertEqual(len(served), test_accelerate.EPOCHS * length)
            for at in range(0, len(served), length):
                self.assertEqual(sorted(served[at:at + length]), sorted(
                    COPIES * USES * list(range(PROMPTS))))

    def test_other_uses(self):
        """Half as many ranks take twice as many steps for a generation
        batch."""
        def after(uses, passes):
            sampler = make(uses)
            loader = iter(DataLoader(range(PROMPTS), 12, sampler=sampler))
            for _ in range(passes):
                next(loader)
            return sampler.state_dict()

        def rest(uses, state):
            sampler = make(uses)
            sampler.load_state_dict(state)
            return list(sampler)
        for theirs, passes, uses, left in (
                (2, 0, 4, 40), (2, 1, 4, 38), (2, 2, 4, 36), (4, 2, 2, 19),
                (4, 6, 2, 17), (2, 18, 1, 1), (2, 5, 6, 45), (3, 6, 2, 16)):
            all_of_it = trl(ours(PROMPTS, UNIQUE, 11, 0), COPIES, UNIQUE, uses)
            self.assertEqual(rest(uses, after(theirs, passes)),
                             all_of_it[-12 * left:])
        half = make()   # Of a pass, which is as much as a pass of 4 uses.
        list(zip(range(6), counted(half)))
        for theirs, state, uses in (
                (4, after(4, 1), 2), (2, after(2, 19), 1), (3, after(3, 7), 2),
                (2, half.state_dict(), 4)):
            sampler = make(uses)
            with self.assertRaisesRegex(
                    ValueError, f"amid the {theirs} uses .*load one that was"):
                sampler.load_state_dict(state)
            self.assertEqual(list(sampler), trl(
                ours(PROMPTS, UNIQUE, 11, 0), COPIES, UNIQUE, uses))
        # An epoch that has ended has ended with any number.
        self.assertEqual(make(4).remaining, 480)
        sampler = make(4)
        sampler.load_state_dict(after(2, 20))
        self.assertEqual((sampler.epoch, sampler.remaining), (1, 480))


# --- Killed ------------------------------------------------------------------


def grpo(rank, world, saved, train):
    sampler = make()
    shard = StatefulLoader(DataLoaderShard(
        DataLoader(range(PROMPTS), test_kills.BATCH, sampler=sampler,
                   num_workers=1),
        world, rank), sampler)
    if saved is not None:
        sampler.load_state_dict(saved)
    for _ in range(sampler.epoch, EPOCHS):
        for batch in shard:
            train(batch, sampler.state_dict)


class Killed(unittest.TestCase):
    def test_processes(self):
        """2, 3 and 1 processes, and so on: what counts is what one process
        serves that was never killed."""
        self.assertEqual(len(expected()), test_kills.N * test_kills.EPOCHS)
        for chance in cases(2, "grpo"):
            seen, _ = test_kills.killed(grpo, (2, 3, 2, 1), chance)
            self.assertEqual(seen, expected())


# --- States and arguments ----------------------------------------------------


class Lookup(unittest.TestCase):
    def test_a_step(self):
        """One call of the library has all items of a step."""
        sampler = RepeatSampler(range(60), 8, 20, 3, seed=1)
        want = trl(ours(60, 20, 1, 0), 8, 20, 3)[640:800]
        with unittest.mock.patch.object(c, "groups_fill",
                                        wraps=c.groups_fill) as taken:
            self.assertEqual(sampler.at(4), want)
        self.assertEqual(taken.call_count, 1)

    def test_after_a_state_amid_a_use(self):
        """Uses begin where they did."""
        sampler = RepeatSampler(range(20), 2, 4, 3, seed=1)
        whole = [sampler.at(step) for step in range(15)]
        for left in 1, 8, 13, 30:
            list(zip(range(left), counted(sampler)))
            new = RepeatSampler(range(20), 2, 4, 3, seed=1)
            new.load_state_dict(sampler.state_dict())
            self.assertEqual(list(copy.copy(new)), sum(whole, [])[left:])
            self.assertEqual([new.at(step) for step in range(len(whole))],
                             whole)
            for index in set(sum(whole, [])):
                self.assertEqual(new.locate(index), sampler.locate(index))
            self.assertEqual(new.start_iter, -(-left // 8))
            sampler.begin(0)


class Errors(unittest.TestCase):
    def test_arguments(self):
        for arguments, message in (
                ((5, 2), "data_source should have a len.., but got int"),
                ((iter([1]), 2), "data_source should have a len"),
                ((None, 2), "data_source should have a len"),
                ((range(10), 0), "mini_repeat_count should be"),
                ((range(10), 2.5), "mini_repeat_count should be"),
                ((range(10), 2, 0), "batch_size should be"),
                ((range(10), 2, "3"), "batch_size should be"),
                ((range(10), 2, 3, 0), "repeat_count should be"),
                ((range(10), 2, 3, 1, True, "x"), "seed should be"),
                ((range(10), 2, 11), "10 items, too few .* batch_size=11$"),
                ((range(0), 2, 1), "0 items, too few"),
                ((range(10), 2**40, 3, 2**40), "an epoch's length should be")):
            with self.assertRaisesRegex(ValueError, message):
                RepeatSampler(*arguments)
        with self.assertRaisesRegex(ValueError, "read_ahead is no more"):
            RepeatSampler(range(10), 2, read_ahead=-1)
        for wrong in (iter([1]), 2), (None, 2), (range(9), 2, 3, 1, "no"):
            with self.assertRaises(ValueError):
                RepeatSampler(*wrong)
        sampler = make()
        self.assertIs(sampler.drop_last, True)
        for name in ("mini_repeat_count", "batch_size", "repeat_count",
                     "num_samples", "seed", "shuffle"):
            with self.assertRaisesRegex(AttributeError, "make another"):
                setattr(sampler, name, 5)
        for rank in 1, {}, "":
            with self.assertRaisesRegex(ValueError, "rank should be"):
                sampler.at(0, rank)

    def test_states(self):
        good = make().state_dict()
        for another, message in (
                (RepeatSampler(range(61), 2, 6, 2, seed=11),
                 r"has len\(data_source\) 60, this sampler 61"),
                (RepeatSampler(range(60), 3, 6, 2, seed=11),
                 "mini_repeat_count 2, this sampler 3"),
                (RepeatSampler(range(60), 2, 5, 2, seed=11),
                 "batch_size 6, this sampler 5"),
                (RepeatSampler(range(60), 2, 6, 2, seed=12),
                 "seed 11, this sampler 12"),
                (RepeatSampler(range(60), 2, 6, 2, False, 11),
                 "shuffle=True, this sampler False"),
                (StatefulDistributedSampler(range(60), 1, 0, seed=11),
                 "state_dict of RepeatSampler, not Stateful")):
            with self.assertRaisesRegex(ValueError, message):
                another.load_state_dict(good)
        for batches, epoch in (0, 0), (1, 1):
            changed = RepeatSampler(range(61), 2, 6, 2, seed=11,
                                    changed="next_epoch")
            changed.load_state_dict(make().state_dict(batches=batches))
            self.assertEqual((changed.epoch, changed.start_iter), (epoch, 0))
        sampler, state = make(), good["state"]
        with self.assertRaisesRegex(ValueError, "not RepeatSampler"):
            sampler.load_state_dict(StatefulDistributedSampler(
                range(60), 1, 0, seed=11).state_dict())
        for bad in None, {}, {"state": 3}, {"state": "xyz"}:
            with self.assertRaisesRegex(ValueError, "not a state_dict of Rep"):
                sampler.load_state_dict(bad)
        for at in range(len(state)):
            damaged = state.clone()
            damaged[at] ^= 1 << at % 8
            for each in damaged, state[:at]:
                # One bit makes SSG1 a schedule's SSC1, of too many bytes.
                with self.assertRaisesRegex(ValueError, "is damaged|size of"):
                    sampler.load_state_dict({"state": each})
        self.assertEqual(list(sampler), expected()[:240])

    def test_copies(self):
        """A copy goes on where the original stood; both have an epoch's seeds
        for samples."""
        import pickle
        sampler = make()
        loader = iter(DataLoader(range(PROMPTS), 24, sampler=sampler))
        next(loader)
        for other in copy.deepcopy(sampler), pickle.loads(
                pickle.dumps(sampler)):
            self.assertEqual(list(other), expected()[24:240])
            self.assertEqual(other.sample_seed(3, 5),
                             sampler.sample_seed(3, 5))
        self.assertNotEqual(sampler.sample_seed(3, 5), sampler.sample_seed(3))
        sampler.set_epoch(1)
        self.assertEqual(list(sampler), expected()[240:])


if __name__ == "__main__":
    main()
