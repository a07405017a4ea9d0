"""Which samples were in step N, and where is a sample: the answers of at, of
locate, of `python -m statesampler` and of build/indices, compared with lists
of everything that every rank served."""

import contextlib
import copy
import gc
import io
import itertools
import multiprocessing
import os
import pickle
import random
import re
import shlex
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock
import warnings
import zipfile

from common import (EXAMPLES, ROOT, DataLoader, Uncounted, cases, counted, main,
                    raw, torch)
from statesampler import (Audit, Ledger, Mix, PackedBatchSampler,
                          RepeatSampler, RoundRobinBatchSampler, Sampler,
                          Schedule, SpreadBatchSampler, StatefulLoader)
from statesampler import StatefulDistributedSampler as Distributed
from statesampler.__main__ import main as command
from statesampler._cursors import SamplerCursor, recall_mix
from statesampler._library import c


def sampler(random, n, world, batch_size, **more):
    """Makers of equal samplers for the ranks."""
    order = random.choice([{}, {"shuffle": False},
                           {"chunk_size": random.randrange(1, 9),
                            "window": random.randrange(1, 5)}])
    arguments = {
        "seed": random.randrange(99), "epoch": random.randrange(3),
        "tail": random.choice(["pad", "drop", "uneven"]),
        "partition": random.choice(["interleaved", "blocked"]),
        "drop_last": random.random() < .3, **order, **more}
    return lambda rank: Sampler(n, rank, world, batch_size, **arguments)


def mix(random, world, stop):
    lengths = [random.randrange(0, 40) for _ in range(random.randrange(1, 5))]
    arguments = {
        "batch_size": random.randrange(1, 6), "seed": random.randrange(99),
        "weights": [random.randrange(1, 4) for _ in lengths],
        "stop": stop, "tail": random.choice(["pad", "drop", "uneven"])}
    return lambda rank: Mix(lengths, rank, world, **arguments)


def everything(make, world):
    """Of each step, the batches of all ranks."""
    return list(zip(*([batch.tolist() for batch in make(rank)]
                      for rank in range(world))))


def zip_of(name):
    """An archive of another program's."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr(name, b"1")
    return made.getvalue()


class Samplers(unittest.TestCase):
    def compare(self, one, own, steps, first=0):
        """`one`, of rank `own`, answers for every step from `first` on, and
        does not move."""
        before, places = one.save(), {}
        for step, ranks in enumerate(steps, first):
            for rank, batch in enumerate(ranks):
                self.assertEqual(
                    one.at(step, rank, straight=True).tolist(), batch)
                for slot, index in enumerate(batch):
                    places.setdefault(index, (step, slot, rank))
                    places[index] = min(places[index], (step, slot, rank))
            self.assertEqual(one.at(step, straight=True).tolist(), ranks[own])
        self.assertIsNone(one.at(first + len(steps), straight=True))
        self.assertEqual(one.save(), before)
        for index, (step, slot, rank) in places.items():
            self.assertEqual(one.locate(index, straight=True)[:3],
                             (step, rank, slot))

    def test_samplers(self):
        for random in cases(150, "samplers"):
            world = random.randrange(1, 5)
            make = sampler(random, random.randrange(0, 80), world,
                           random.randrange(1, 8))
            steps = everything(make, world)
            own = random.randrange(world)
            one = make(own)
            one.seek(random.randrange(len(steps) + 1))
            self.compare(one, own, steps)
            self.assertEqual(one.num_steps, len(steps))

    def test_mixes(self):
        for random in cases(150, "mixes"):
            world = random.randrange(1, 4)
            stop = random.choice(["first", "all", "restart"])
            make = mix(random, world, stop)
            steps = everything(make, world)
            one = make(random.randrange(world))
            one.seek(random.randrange(len(steps) + 1))
            found = {i for step in steps for batch in step for i in batch}
            for step, ranks in enumerate(steps):
                for rank, batch in enumerate(ranks):
                    self.assertEqual(
                    one.at(step, rank, straight=True).tolist(), batch)
            self.assertIsNone(one.at(len(steps), straight=True))
            for index in range(sum(desc.num_samples for desc in one._descs)):
                if stop == "restart":   # The dataset's present epoch alone.
                    with contextlib.suppress(ValueError):
                        step, rank, slot, _ = one.locate(index, straight=True)
                        self.assertEqual(steps[step][rank][slot], index)
                elif index in found:
                    step, rank, slot, _ = one.locate(index, straight=True)
                    self.assertEqual(steps[step][rank][slot], index)
                else:
                    with self.assertRaisesRegex(ValueError, "not serve|index"):
                        one.locate(index, straight=True)

    def test_in_another_shape(self):
        """It reaches back to where the shape began, and not further."""
        for random in cases(60, "shapes"):
            n, seed = random.randrange(30, 90), random.randrange(9)
            first = Sampler(n, 0, 3, 2, seed=seed, tail="uneven")
            first.seek(random.randrange(1, n // 6))
            world = random.choice([1, 2, 4])

            def make(rank):
                made = Sampler(n, rank, world, 3, seed=seed, tail="uneven")
                made.load(first.save())
                return made
            own = random.randrange(world)
            one = make(own)
            self.compare(one, own, everything(make, world), first.step)
            with self.assertRaisesRegex(ValueError, "before the base"):
                one.at(first.step - 1, straight=True)
            with self.assertRaisesRegex(ValueError, "before the base"):
                one.locate(first.at(0, straight=True)[0], straight=True)

    def test_what_is_refused(self):
        one = Sampler(10, 0, 2, 3)
        for wrong in -1, 2, "0", 1.5, True:
            with self.assertRaises(ValueError):
                one.at(0, wrong)
        for wrong in -1, 2**64, "0", None:
            with self.assertRaises(ValueError):
                one.at(wrong)
            with self.assertRaises(ValueError):
                one.locate(wrong)
        with self.assertRaisesRegex(ValueError, "below num_samples"):
            one.locate(10)
        with self.assertRaisesRegex(ValueError, "REPLACEMENT"):
            Sampler(10, 0, 1, replacement=True).locate(3)
        with self.assertRaises(ValueError):
            Mix([5, 5], 0, 1).locate(10)

    def test_resize(self):
        """The rest of the epoch, and the next one, in the new length."""
        for random in cases(60, "resize"):
            n, world = random.randrange(10, 50), random.randrange(1, 4)
            step = random.randrange(n // (world * 2))
            more = random.randrange(step * world * 2, 120)
            seen = [], []
            for rank in range(world):
                one = Sampler(n, rank, world, 2, shuffle=False, tail="uneven")
                for _ in range(step):
                    seen[0].extend(next(one))
                one.resize(more)
                for epoch in seen:
                    for batch in one:
                        epoch.extend(batch)
                again = Sampler(more, rank, world, 2, shuffle=False,
                                tail="uneven")
                again.load(one.save())
                with self.assertRaises(ValueError):
                    Sampler(n + 999, 0, 1).load(one.save())
            for epoch in seen:
                self.assertEqual(sorted(epoch), list(range(more)))
        one = Sampler(30, 0, 1, 10, shuffle=False)
        one.seek(2)
        before = one.save()
        with self.assertRaisesRegex(ValueError, "below the position"):
            one.resize(19)
        with self.assertRaisesRegex(ValueError, "SEQUENTIAL"):
            Sampler(30, 0, 1).resize(40)
        self.assertEqual(one.save(), before)
        self.assertEqual(one.at(2).tolist(), list(range(20, 30)))

    def test_resize_after_padding(self):
        """Padding is no sample: the epoch goes on with the first new one, on
        all ranks alike."""
        for random in cases(40, "resize after padding"):
            n, world, size = (random.randrange(1, 20), random.randrange(2, 6),
                              random.randrange(1, 4))
            more = random.randrange(n, 3 * n + 20)
            seen, states = [], set()
            for rank in range(world):
                one = Sampler(n, rank, world, size, shuffle=False)
                for batch in one:
                    seen += batch
                    if one.step == one.num_steps:
                        break
                with self.assertRaisesRegex(ValueError, "below the position"):
                    one.resize(n - 1)
                one.resize(more)
                states.add(one.save())
                for batch in one if more > n else ():
                    seen += batch
            self.assertEqual(len(states), 1)
            self.assertEqual(sorted({*seen}), list(range(more)))


class Audits(unittest.TestCase):
    def test_an_epoch_on_other_ranks(self):
        """8 ranks, then 3, in parts that are merged; and one mistake."""
        parts, state = [], Sampler(1003, 0, 8, 4, seed=1).save()
        for world, steps in (8, 9), (3, None):
            for rank in range(world):
                one = Sampler(1003, rank, world, 4, seed=1)
                one.load(state)
                parts.append(Audit())
                for step in range(one.step, one.num_steps if steps is None
                                  else steps):
                    batch, repeats = one.at(step), one.padding(step)
                    parts[-1].add(batch[:len(batch) - repeats])
            one.seek(steps or one.num_steps)
            state = one.save()
        whole = Audit()
        for part in parts:
            again = Audit()
            again.load(part.save())
            whole.merge(again)
        self.assertEqual(whole.count, 1003)
        self.assertTrue(whole.check(1003))
        self.assertFalse(whole.check(1002))
        for added, taken in ([5], [6]), ([], [7]), ([8], []):
            wrong = Audit()
            wrong.add([i for i in range(100) if i not in taken])
            wrong.add(added)
            self.assertFalse(wrong.check(100))

    def test_copies(self):
        audit = Audit()
        audit.add([0, 2])
        for way in (copy.copy, copy.deepcopy,
                    lambda it: pickle.loads(pickle.dumps(it))):
            other = way(audit)
            other.add([1])
            self.assertTrue(other.check(3))
            self.assertEqual(audit.count, 2)

    def test_what_is_refused(self):
        audit = Audit()
        for wrong in ["a", 1.5], [2**70], 3, [None]:
            with self.assertRaisesRegex(ValueError, "indices should be"):
                audit.add(wrong)
        with self.assertRaisesRegex(TypeError, "an Audit"):
            audit.merge([1])
        with self.assertRaisesRegex(ValueError, "32 bytes"):
            audit.load(b"x" * 31)
        with self.assertRaisesRegex(ValueError, "num_samples"):
            audit.check(-1)
        self.assertEqual(audit.save(), bytes(32))


class InTorch(unittest.TestCase):
    def test_every_batch_of_a_loop(self):
        """Before a batch, after it and in another rank's sampler, the answer
        is what the DataLoader gives."""
        for random in cases(25, "loop"):
            n, world = random.randrange(20, 90), random.randrange(1, 4)
            size, batch = random.randrange(1, 9), {}
            arguments = dict(
                seed=random.randrange(9), batch_size=size,
                tail=random.choice(["pad", "drop", "uneven"]),
                partition=random.choice(["interleaved", "blocked"]))
            samplers = [Distributed(range(n), world, rank, **arguments)
                        for rank in range(world)]
            for rank, one in enumerate(samplers):
                for epoch in range(2):
                    for step, given in enumerate(DataLoader(range(n), size,
                                                            sampler=one)):
                        batch[epoch, step, rank] = given
                        self.assertEqual(one.at(step), given)
            for one in samplers:
                for epoch in range(2):
                    one.begin(epoch)
                    for (at, step, rank), given in batch.items():
                        if at == epoch:
                            self.assertEqual(one.at(step, rank), given)
                            for index in given:
                                there = one.locate(index)
                                self.assertEqual(
                                    batch[(epoch, *there[:2])][there.slot],
                                    index)
                    self.assertIsNone(one.at(n))

    def test_in_the_midst_of_a_loop(self):
        """Steps before its place are answered as those after it, and the state
        after any of them is that of the loop. It goes on as if not asked."""
        lengths = [3 + i % 5 for i in range(60)]
        for make in (
                lambda: Distributed(range(50), 1, 0, batch_size=3),
                lambda: RoundRobinBatchSampler([30, 20], 3, 0, 1, stop="all"),
                lambda: PackedBatchSampler(lengths, 17, 0, 1, plan_size=20),
                lambda: SpreadBatchSampler([i % 20 for i in range(60)], 3, 0,
                                           1)):
            def over(sampler):
                how = (dict(sampler=sampler, batch_size=3)
                       if isinstance(sampler, Distributed) else
                       dict(batch_sampler=sampler))
                return DataLoader(range(sampler._described), **how)

            whole, sampler = list(over(make())), make()
            sampler.state_dict(batches=1)   # It does not move before, either.
            for here, batch in enumerate(over(sampler)):
                self.assertEqual(batch, whole[here])
                for step in 0, here, here + 1, len(whole) - 1:
                    if step < len(whole):
                        self.assertEqual(sampler.at(step), whole[step])
                        other = make()
                        other.load_state_dict(sampler.state_dict(batches=step))
                        self.assertEqual(next(iter(over(other))), whole[step])

    def test_after_a_change_of_ranks(self):
        """Batches count on as start_iter does."""
        for random in cases(40, "ranks"):
            old = Distributed(range(100), 4, 0, seed=2, batch_size=3)
            old.set_start_iter(random.randrange(1, 8))
            world = random.randrange(1, 4)
            new = Distributed(range(100), world, 0, seed=2, batch_size=5)
            new.load_state_dict(old.state_dict())
            step = new.start_iter
            for number, given in enumerate(DataLoader(range(100), 5,
                                                      sampler=new), step):
                self.assertEqual(new.at(number), given)
                for slot, index in enumerate(given):
                    there = new.locate(index)
                    if there.rank == 0:
                        self.assertEqual(there[:3], (number, 0, slot))
            with self.assertRaises(ValueError):
                Distributed(range(9), 1, 0).at(0)   # batch_size is not known

    def test_after_another_batch_size(self):
        """A batch ends at the loaded place. Those before it are known if they
        may have been of this batch_size."""
        old = Distributed(range(100), 2, 0, seed=2, batch_size=7)
        whole = list(old)
        old.begin(0)
        old.set_start_iter(3)
        for size in range(1, 12):
            new = Distributed(range(100), 2, 0, seed=2, batch_size=size)
            new.load_state_dict(old.state_dict())
            first = new.start_iter
            self.assertEqual(first, -(-21 // size))
            self.assertEqual(new.at(first), whole[21:21 + size])
            there = new.locate(whole[21 + size])
            self.assertEqual(there[:3], (first + 1, 0, 0))
            if 21 % size == 0:
                self.assertEqual([new.at(step) for step in range(first)], [
                    whole[i:i + size] for i in range(0, 21, size)])
                self.assertEqual(new.locate(whole[20]).step, first - 1)
                continue
            for step in range(first):
                with self.assertRaisesRegex(ValueError, "before ranks or"):
                    new.at(step)
            with self.assertRaisesRegex(ValueError, "before ranks or"):
                new.locate(whole[20])
            for back in range(first - 1, -1, -1):   # They are served again.
                new.set_start_iter(back)
                start = max(21 - size * (first - back), 0)
                for step in range(back, first + 2):
                    self.assertEqual(new.at(step), whole[start:start + size])
                    self.assertEqual(new.locate(whole[start]).step, step)
                    start += size

    def test_after_another_number_of_ranks(self):
        """Batches are known from there on, if the loaded place may be the end
        of one."""
        def load(world, size, state):
            new = Distributed(range(100), world, 0, seed=3, batch_size=size)
            new.load_state_dict(state)
            return new
        for random in cases(40, "ranks that changed"):
            before = random.randrange(1, 6)
            world = before % 5 + 1
            size, other = random.randrange(1, 6), random.randrange(1, 6)
            old = Distributed(range(100), before, 0, seed=3)
            list(zip(range(random.randrange(1, 9)), counted(old)))
            one = load(world, size, old.state_dict())
            loop = iter(DataLoader(range(100), size, sampler=one))
            served = [next(loop) for _ in range(random.randrange(1, 3))]
            flat, state = sum(served, []), one.state_dict()
            again = load(world, size, state)
            begin = again.start_iter - len(served)
            self.assertEqual([again.at(begin + i)
                              for i in range(len(served))], served)
            self.assertEqual(again.locate(flat[0])[:3], (begin, 0, 0))
            if begin:
                with self.assertRaisesRegex(ValueError, "before ranks or"):
                    again.at(begin - 1)
            new = load(world, other, state)
            first = new.start_iter
            wanted = next(iter(DataLoader(range(100), other, sampler=new)))
            new = load(world, other, state)
            self.assertEqual(new.at(first), wanted)
            whole = [flat[i:i + other] for i in range(0, len(flat), other)]
            if len(whole[-1]) == other:
                self.assertEqual([new.at(first - len(whole) + i)
                                  for i in range(len(whole))], whole)
                continue
            for ask, what in (new.at, first - 1), (new.locate, flat[-1]):
                with self.assertRaisesRegex(ValueError, "before ranks or"):
                    ask(what)

    def test_datasets_in_turn(self):
        for random in cases(25, "turns"):
            lengths = [random.randrange(5, 40)
                       for _ in range(random.randrange(1, 4))]
            samplers = [RoundRobinBatchSampler(
                lengths, 3, rank, 2, stop="all", seed=4, tail="uneven")
                for rank in range(2)]
            batches = [list(one) for one in samplers]
            for one in samplers:
                one.begin(0)
                for rank in range(2):
                    for step, batch in enumerate(batches[rank]):
                        self.assertEqual(one.at(step, rank), batch)
                        for slot, index in enumerate(batch):
                            self.assertEqual(one.locate(index)[:3],
                                             (step, rank, slot))
                self.assertIsNone(one.at(len(batches[0])))

    def test_resize(self):
        for random in cases(25, "resize"):
            n = random.randrange(20, 50)
            taken = random.randrange(1, n // 4)
            more, seen = random.randrange(4 * taken + 1, 90), []
            for rank in range(2):
                one = Distributed(range(n), 2, rank, shuffle=False,
                                  tail="uneven", batch_size=2)
                loader = iter(DataLoader(range(n), 2, sampler=one))
                for _, batch in zip(range(taken), loader):
                    seen += batch
                one.resize(more)
                self.assertEqual(len(one), -(-(more - rank) // 2))
                self.assertEqual(one.total_size, more)
                with self.assertRaises(RuntimeError):
                    list(loader)
                for batch in DataLoader(range(more), 2, sampler=one):
                    seen += batch
                self.assertEqual(one.epoch, 1)
            self.assertEqual(sorted(seen), list(range(more)))
        one = Distributed(range(20), 1, 0, shuffle=False, batch_size=4)
        list(zip(range(5), counted(one)))
        one.resize(30)
        self.assertEqual(one.at(one.start_iter), [5, 6, 7, 8])
        # With the last batch, where padding was served, and after the epoch.
        for more in 5, 6, 10:
            seen, states, following = set(), set(), set()
            for rank in range(4):
                one = Distributed(range(5), 4, rank, shuffle=False,
                                  batch_size=2)
                loader = iter(DataLoader(range(5), 2, sampler=one))
                next(loader)
                one.resize(more)
                states.add(raw(one.state_dict()))
                self.assertEqual((one.epoch, one.start_iter),
                                 (0, 1) if more > 5 else (1, 0))
                seen |= {*counted(one)} if more > 5 else set()
                self.assertEqual((one.epoch, one.remaining),
                                 (1, -(-more // 4)))
                following |= {*one}
            self.assertEqual(len(states), 1)
            self.assertEqual(seen - {*range(5)}, {*range(5, more)})
            self.assertEqual(following, {*range(more)})
        one = Distributed(range(20), 2, 0, shuffle=False)
        list(zip(range(3), counted(one)))
        before = one.state_dict()
        with self.assertRaisesRegex(ValueError, "below the position"):
            one.resize(3)
        with self.assertRaisesRegex(ValueError, "SEQUENTIAL"):
            Distributed(range(20), 2, 0).resize(30)
        self.assertEqual(str(before), str(one.state_dict()))


def lines(epoch, steps, world, first=0, dataset=None):
    """What the command prints for the batches of all ranks."""
    return [f"epoch {epoch} step {step} rank {rank}" +
            ("" if dataset is None else f" dataset {dataset(ranks)}") + ":" +
            "".join(f" {i}" for i in ranks[rank])
            for step, ranks in enumerate(steps, first)
            for rank in range(world)]


class Asked(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.path = os.path.join(cls.folder.name, "state")
        cls.indices = os.path.join(cls.folder.name, "indices")
        subprocess.run(
            [*shlex.split(os.environ.get("CC") or "cc"), "-std=c99", "-O1",
             "-I", ROOT, os.path.join(ROOT, "examples", "indices.c"), "-o",
             cls.indices], check=True)

    def write(self, state):
        with open(self.path, "wb") as file:
            file.write(state)

    def save(self, checkpoint):
        torch.save(checkpoint, self.path)

    def ask(self, *arguments, status=0, said=("--straight",)):
        """The lines that are printed, then complaints; or the complaint.
        Most tests ask about straight runs."""
        out, error = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), (
                contextlib.redirect_stderr(error)):
            code = command([self.path, *said, *map(str, arguments)])
        self.assertEqual(code, status, out.getvalue() + error.getvalue())
        if status and not out.getvalue():
            self.assertNotIn("Traceback", error.getvalue())
            return error.getvalue()
        if not status:
            self.assertEqual(error.getvalue(), "")
        return (out.getvalue() + error.getvalue()).splitlines()

    def same_in_c(self, *arguments, said=("--straight",)):
        """What build/indices says of the same file, by the same options."""
        ours = self.ask(*arguments, said=said)
        run = subprocess.run(
            [self.indices, "--state", self.path, *said, *map(str, arguments)],
            stdout=subprocess.PIPE, text=True)
        self.assertEqual((run.returncode, run.stdout.splitlines()), (0, ours))
        return ours


class Command(Asked):
    def test_samplers(self):
        """The past and the future of a shape; other epochs."""
        for random in cases(40, "command"):
            n, world = random.randrange(20, 90), random.randrange(1, 4)
            drop_last = random.random() < .3
            make = sampler(random, n, world, random.randrange(1, 6),
                           drop_last=drop_last, tail=random.choice(
                               ["pad", "uneven", "drop"]))
            more = ["--drop-last"] if drop_last else []
            one = make(0)
            first = one.epoch
            for _ in range(random.randrange(2 * one.num_steps + 1)):
                next(one, None)
            self.write(one.save(history=False))
            for epoch in {one.epoch, one.epoch + 1, first, first + 5}:
                def at_epoch(rank):
                    fresh = make(rank)
                    fresh.begin(epoch)
                    return fresh
                steps = everything(at_epoch, world)
                if not steps:
                    continue
                asked = more if epoch == one.epoch else (
                    [*more, "--epoch", epoch])
                self.assertEqual(
                    self.same_in_c("--steps", f"0..{len(steps) - 1}", "--all",
                                   *asked), lines(epoch, steps, world))
                step = random.randrange(len(steps))
                rank = random.randrange(world)
                for index in steps[step][rank][:1]:
                    there, = self.same_in_c("--where", index, *asked)
                    found = [int(word) for word in re.findall(r"\d+", there)]
                    self.assertEqual(found[:2], [index, epoch])
                    self.assertEqual(steps[found[2]][found[3]][found[4]],
                                     index)

    def test_others_go_on(self):
        first = Sampler(100, 0, 4, 3, seed=1)
        first.seek(5)
        self.write(first.save(history=False))

        def make(rank):
            made = Sampler(100, rank, 2, 7, seed=1)
            made.load(first.save())
            return made
        self.assertEqual(
            self.same_in_c("--world-size", 2, "--batch-size", 7, "--steps",
                           "5..7", "--all"),
            lines(0, everything(make, 2), 2, 5))

    def test_mixes(self):
        """From the state of any turn, also after it was loaded; a mixture's
        state has a mix's inside."""
        for random in cases(40, "command, mixes"):
            world, stop = random.randrange(1, 4), random.choice(
                ["first", "all", "restart"])
            make = mix(random, world, stop)
            ends, one = [], make(0)
            lengths = [desc.num_samples for desc in one._descs]
            ends = [sum(lengths[:i + 1]) for i in range(len(lengths))]
            epochs = []
            for epoch in range(4):
                ranks = [make(rank) for rank in range(world)]
                for each in ranks:
                    for _ in range(epoch):
                        list(each)
                epochs.append(list(zip(*(map(memoryview.tolist, each)
                                         for each in ranks))))
            if not all(epochs):
                continue
            epoch = random.randrange(3)
            for _ in range(epoch):
                list(one)
            for _ in range(random.randrange(len(epochs[epoch]))):
                next(one)
            if random.random() < .5:
                again = make(0)
                again.load(one.save())
                one = again
            state = one.save(history=False)
            names = bytes(8 * len(lengths))
            for written in (state, b"SSMN\2\0\1\0" + struct.pack(
                    "<Q", len(lengths)) + names + state + bytes(8)):
                self.write(written)
                ask = self.same_in_c
                for other, steps in enumerate(epochs):
                    asked = [] if other == epoch else ["--epoch", other]
                    said = ask("--steps", f"0..{len(steps) - 1}", "--all",
                               *asked)
                    wanted = lines(other, steps, world, 0, lambda ranks: 0)
                    datasets = [line.split(":")[0].split()[-1]
                                for line in said]
                    self.assertEqual(
                        [re.sub("dataset \\d+", "dataset 0", line)
                         for line in said], wanted)
                    for line, number in zip(said, datasets):
                        for index in line.split(":")[1].split()[:1]:
                            self.assertEqual(sum(
                                end <= int(index) for end in ends),
                                int(number))
                    if stop != "restart" and steps[0][0]:
                        index = steps[0][0][0]
                        self.assertRegex(
                            ask("--where", index, *asked)[0],
                            f"^{index}: epoch {other} step 0 rank 0 slot 0 ")

    def test_a_mix_that_changed(self):
        """In the epoch, its weights or its ranks: the state knows what comes,
        and refuses what was."""
        first = Mix([20, 20], 0, 1, 2, stop="all")
        list(zip(range(4), first))
        for world, weights in (1, [3, 1]), (2, [1, 1]):
            def make(rank):
                made = Mix([20, 20], rank, world, 2, stop="all")
                made.load(first.save(history=False))
                made.weigh(weights)
                list(zip(range(2), made))
                return made
            self.write(make(0).save(history=False))
            steps = everything(make, world)
            said = self.same_in_c("--steps", f"6..{5 + len(steps)}", "--all")
            self.assertEqual([re.sub("dataset \\d+", "dataset 0", line)
                              for line in said],
                             lines(0, steps, world, 6, lambda ranks: 0))
            self.assertIn("before the base",
                          self.ask("--steps", "5..5", status=1))

    def test_many_datasets(self):
        """All of a state is checked a few times, not for each dataset."""
        make = Mix([5] * 99, 0, 1), RoundRobinBatchSampler([5] * 99, 2, 0, 1)
        self.write(make[0].save(history=False))
        with unittest.mock.patch.object(
                c, "mix_describe", side_effect=c.mix_describe) as described:
            self.ask("--steps", "0..0")
            make[1].load_state_dict(make[1].state_dict())
        self.assertLess(described.call_count, 20)

    def test_a_copy_of_a_recalled_mix(self):
        """It has the state's weights, as what it is a copy of."""
        mix = Mix([9, 4], 0, 1, 2, weights=[3, 1], stop="all")
        next(mix)
        copied = copy.copy(recall_mix(mix.save(history=False), None, False))
        self.assertEqual([batch.tolist() for batch in copied],
                         [batch.tolist() for batch in mix])

    def test_a_mix_of_0_9_0(self):
        """Its state had the library's, which counted epochs from 0, then the
        epoch where it began, then a checksum."""
        old = bytes.fromhex("""
            53534d58020001000100000001000000010000000000000001000000
            000000000100000000000000010000000200000053534d5001000100
            07000000000000000300000000000000000000000000000000000000
            00000000000000000000000000000000010000000100000002000000
            06000000000000000200000000000000060000000000000000000000
            00000000000000000000000075fbb6c7bc050e16eb8f3df74e7311ef
            0500000000000000ce4c5564""")
        steps = [[[1, 6]], [[3, 0]], [[4]]]
        mix = Mix([7], 0, 1, 2, seed=3, stop="all")
        mix.load(old)
        self.assertEqual((mix.epoch, mix.step), (6, 1))
        state = mix.save(history=False)
        self.assertEqual(everything(lambda rank: mix, 1),
                         [(step[0],) for step in steps])
        turns = RoundRobinBatchSampler([7], 2, 0, 1, seed=3, stop="all",
                                       partition="interleaved")
        turns.load_state_dict({"state": old})
        self.assertEqual(raw(turns.state_dict()), state)
        self.write(old)
        self.assertEqual(self.ask("--steps", "1..3"),
                         lines(6, steps, 1, 1, lambda ranks: 0))
        for at in range(len(old)):
            damaged = bytearray(old)
            damaged[at] ^= 1
            with self.assertRaises(ValueError):
                mix.load(damaged)
        self.assertEqual(mix.epoch, 7)

    def test_it_closes_a_checkpoint(self):
        """At once, not when garbage is collected."""
        self.save({"sampler": Distributed(range(9), 1, 0).state_dict()})
        opened, plain = [], io.open

        def opens(*arguments):
            opened.append(plain(*arguments))
            return opened[-1]

        gc.disable()
        self.addCleanup(gc.enable)
        with unittest.mock.patch("io.open", opens):     # as zipfile calls it
            self.ask()
        self.assertEqual([file.closed for file in opened], [True])

    def test_a_checkpoint_of_torch(self):
        """Several samplers, anywhere in it; batches as the loop had them,
        through another number of ranks."""
        old, steps = [], []
        for rank in range(4):
            one = Distributed(range(100), 4, rank, seed=1, fingerprint="abc")
            loader = iter(DataLoader(range(100), 3, sampler=one))
            old.append([batch for _, batch in zip(range(5), loader)])
        state = one.state_dict()
        del state["indices_per_batch"]     # As of older versions.
        for rank in range(3):
            new = Distributed(range(100), 3, rank, seed=1)
            new.load_state_dict(state)
            steps.append(list(DataLoader(range(100), 4, sampler=new)))
        turns = RoundRobinBatchSampler([30, 50], 4, 0, 1, seed=2)
        batches = list(turns)
        turns.begin(0)
        list(zip(range(3), counted(turns)))
        plain = Sampler(20, 0, 1, 5)
        checkpoint = {
            "model": torch.zeros(3, 4), "step": 7, "list": [1, 2, "x"],
            "loops": [{"train": {"sampler": state}},
                      {"sampler": turns.state_dict()}],
            "text": {"state": raw(state).hex()},
            "bytes": torch.tensor(list(plain.save(history=False)),
                                  dtype=torch.uint8)}
        checkpoint["again"] = checkpoint["loops"][0]
        self.save(checkpoint)
        said = self.ask()
        self.assertEqual([line.split(":")[0] for line in said], [
            "loops[0].train.sampler", "loops[1].sampler", "text", "bytes",
            "again.train.sampler"])
        self.assertIn("fingerprint 'abc'", said[0])
        self.assertIn("name one of these by --sampler: loops[0].train.sampler,"
                      " loops[1].sampler, text, bytes, again.train.sampler",
                      self.ask("--where", 3, status=1))
        asked = ["--sampler", "loops[0].train.sampler", "--batch-size"]
        self.assertIn("give it by --batch-size", self.ask(
            *asked[:2], "--where", 3, status=1))
        self.assertEqual(
            self.ask(*asked, 3, "--steps", "0..4", "--all"),
            lines(0, list(zip(*old)), 4))
        self.assertIn("do not give", self.ask(*asked, 4, "--where", 3,
                                              status=1))
        for batch_size, last in (3, 8), (5, 4):
            whole = [list(DataLoader(range(100), batch_size,
                                     sampler=Distributed(range(100), 4, rank,
                                                         seed=1)))
                     for rank in range(4)]
            self.assertEqual(self.ask(*asked, batch_size, "--steps",
                                      f"0..{last}", "--all"),
                             lines(0, list(zip(*whole)), 4))
            there, = self.ask(*asked, batch_size, "--where", 17)
            step, rank, slot = map(int, re.findall(r"\d+", there)[2:5])
            self.assertEqual(whole[rank][step][slot], 17)
        self.assertIn("past the end", self.ask(
            *asked, 3, "--drop-last", "--steps", "8..8", status=1))
        self.assertEqual(
            self.ask("--sampler", "loops[1].sampler", "--steps", "0..14")[3],
            "epoch 0 step 3 rank 0 dataset 1: " +
            " ".join(map(str, batches[3])))
        self.assertEqual(self.ask("--sampler", "bytes", "--steps", "1..1"),
                         lines(0, [[plain.at(1).tolist()]], 1, 1))
        # The three ranks after the four: their batches count on from 4.
        self.assertEqual(
            self.ask(*asked, 4, "--world-size", 3, "--steps", "4..7", "--all"),
            lines(0, list(zip(*(each[:4] for each in steps))), 3, 4))
        # As many ranks, with larger batches.
        each = [list(Distributed(range(100), 4, rank, seed=1))
                for rank in range(4)]
        self.assertEqual(
            self.ask(*asked, 4, "--world-size", 4, "--steps", "4..6", "--all"),
            lines(0, [[one[k:k + 4] for one in each] for k in (15, 19, 23)],
                  4, 4))
        self.assertIn("was before a change of ranks or batch_size", self.ask(
            *asked, 4, "--world-size", 4, "--steps", "3..3", status=1))
        self.assertIn("was before a change of ranks or batch_size", "".join(
            self.ask(*asked, 4, "--world-size", 4, "--where", each[0][14],
                     status=1)))
        # A batch larger than the epoch needs no more memory than it.
        with unittest.mock.patch.object(
                SamplerCursor, "_larger", autospec=True,
                side_effect=SamplerCursor._larger) as larger:
            said, = self.ask(*asked, 2**32 - 1, "--epoch", 1, "--steps",
                             "0..0")
        self.assertEqual(len(said.split()), 6 + 25)
        self.assertLessEqual(larger.call_args.args[-1], 25)
        # The same run, though its ranks are said.
        self.assertEqual(
            self.ask(*asked, 3, "--world-size", 4, "--steps", "0..4", "--all"),
            lines(0, list(zip(*old)), 4))
        later = Distributed(range(100), 3, 0, seed=1)
        later.load_state_dict(state)
        list(zip(range(8), counted(later)))
        self.save({"sampler": later.state_dict()})
        whole = [[], [], []]
        for rank, batches in enumerate(whole):
            new = Distributed(range(100), 3, rank, seed=1)
            new.begin(1)
            batches += DataLoader(range(100), 4, sampler=new)
        self.assertEqual(
            self.ask("--batch-size", 4, "--steps", "0..8", "--all", "--epoch",
                     1), lines(1, list(zip(*whole)), 3))
        new = Distributed(range(100), 3, 2, seed=1)
        new.begin(1)
        list(zip(range(34), counted(new)))  # All, which are no multiple of 4.
        self.save({"sampler": new.state_dict()})
        for asked in [], ["--world-size", 3]:
            self.assertEqual(
                self.ask("--batch-size", 4, "--steps", "0..8", "--all",
                         *asked), lines(1, list(zip(*whole)), 3))
        self.save({"sampler": later.state_dict()})
        for asked in [], ["--epoch", 0]:
            self.assertEqual(
                self.ask("--batch-size", 4, "--steps", "4..7", "--all",
                         *asked),
                lines(0, list(zip(*(each[:4] for each in steps))), 3, 4))
        self.assertIn("was before a change of ranks", self.ask(
            "--batch-size", 4, "--steps", "3..4", status=1))

    def test_ranks_that_drop_their_last_batch(self):
        """With tail="uneven" some do, and others not."""
        for n, size in (7, 4), (9, 2), (8, 4), (9, 5):
            ranks = [Distributed(range(n), 2, rank, tail="uneven")
                     for rank in range(2)]
            self.save(ranks[0].state_dict())
            batches = [list(DataLoader(range(n), size, sampler=one,
                                       drop_last=True)) for one in ranks]
            last, asked = len(batches[0]), ["--batch-size", size,
                                            "--drop-last"]
            self.assertEqual(
                self.ask("--all", "--steps", f"0..{last - 1}", *asked),
                lines(0, list(itertools.zip_longest(*batches, fillvalue=[])),
                      2))
            self.assertIn("past the end", self.ask(
                "--steps", f"0..{last}", *asked, status=1))
            for one, served in zip(ranks, batches):
                one.begin(0)
                for at, index in enumerate(one):
                    dropped = at >= len(served) * size
                    there, = self.ask("--where", index, *asked,
                                      status=int(dropped))
                    self.assertEqual("which is dropped" in there, dropped)

    def test_keys_called_state(self):
        """A checkpoint may have a state under the key of a state_dict's."""
        plain, packs = Sampler(20, 0, 1, 5), PackedBatchSampler([3], 3, 0, 1)
        val = Distributed(range(9), 1, 0).state_dict()
        self.save({"state": plain.save(history=False), "sampler": val, "packs":
                   {**packs.state_dict(), "val": val}})
        self.assertEqual([line.split(":")[0] for line in self.ask()],
                         ["state", "sampler", "packs", "packs.val"])
        self.assertEqual(self.ask("--steps", "1..1", "--sampler", "state"),
                         lines(0, [[plain.at(1).tolist()]], 1, 1))
        for path in "sampler", "packs.val":
            self.assertIn("give it by --batch-size", self.ask(
                "--where", 3, "--sampler", path, status=1))
        self.save({"epoch": 0, **val})
        self.assertIn("give it by --batch-size",
                      self.ask("--where", 3, status=1))
        self.save({"state": plain.save(), "batch_size": 4})
        self.assertEqual(self.ask("--steps", "1..1"),
                         lines(0, [[plain.at(1).tolist()]], 1, 1))

    def test_equal_states(self):
        """Each has a line, and any of them answers."""
        one = Distributed(range(9), 1, 0)
        self.save([one.state_dict(), {**one.state_dict(), "fingerprint": "B"}])
        self.assertRegex("\n".join(self.ask()), r"^\[0\]: .*\n\[1\]: .*'B'$")
        wanted = self.ask("--where", 3, "--batch-size", 2)
        for path in "[0]", "[1]":
            self.assertEqual(wanted, self.ask(
                "--where", 3, "--batch-size", 2, "--sampler", path))
        for asked in ["--where", 3, "--sampler", "[2]"], ["--sampler", "[2]"]:
            self.assertIn("name one of these by --sampler: [0], [1]",
                          self.ask(*asked, status=1))
        self.assertEqual(len(self.ask("--sampler", "[1]")), 1)
        self.save([one.state_dict(), raw(one.state_dict())])  # A Sampler's.
        self.assertIn("name one of these",
                      self.ask("--where", 3, status=1))

    def test_what_its_page_shows(self):
        one = Distributed(range(1000), 1, 0)
        loop = iter(DataLoader(range(1000), 8, sampler=one))
        for _ in range(40):
            next(loop)
        self.save({"sampler": one.state_dict()})
        with open(os.path.join(ROOT, "examples", "python",
                               "more.md")) as file:
            shown, = re.findall("^```\n([$].*?)^```$", file.read(),
                                re.M | re.S)
        for asked in shown.split("$ ")[1:]:
            typed, *answers = asked.splitlines()
            self.assertEqual(typed.split()[:4], [
                "python", "-m", "statesampler", "checkpoint.pt"])
            self.assertEqual(self.ask(*typed.split()[4:], said=()), answers)

    def test_a_damaged_history(self):
        """It is damaged, and not the others, nor its own state."""
        one = Distributed(range(20), 1, 0, batch_size=2)
        for _ in zip(range(4), counted(one)):
            pass
        good = one.state_dict()
        odd = "53534831 is no history"
        for history in odd, odd[:8], "53534831" + 32 * "00", "53534831\ud800":
            self.save({"bad": {**good, "history": history}, "good": good})
            said = self.ask(status=1, said=())
            self.assertEqual([line.split(": ")[:-1] for line in said],
                             [["good"], ["statesampler", self.path, "bad"]])
            asked = ("--where", one.at(1)[0], "--batch-size", 2, "--sampler")
            self.assertEqual(len(self.ask(*asked, "good", said=())), 1)
            self.assertIn("size of" if history[-2:] == "00" else
                          "its history is damaged",
                          self.ask(*asked, "bad", said=(), status=1))
            self.assertEqual(self.ask(*asked, "bad"),
                             self.ask(*asked, "good"))
        bad = good["state"].clone()
        bad[50] += 1
        self.save({"bad": {**good, "state": bad, "history": ""}, "good": good})
        self.assertEqual(len(self.ask(*asked, "good", said=())), 1)
        self.assertIn("the state's bytes have changed",
                      self.ask(*asked, "bad", said=(), status=1))

    def test_damaged_in_front(self):
        """The history or the schedule of one state, and not the others."""
        one = Sampler(20, 0, 1, 5)
        one.seek(2)
        mix = Mix([50, 50], 0, 1, 1, schedule=Schedule([(None, [1, 9])]))
        for good in one.save(), mix.save():
            bad = good[:20] + bytes([good[20] ^ 1]) + good[21:]
            self.save([bad, good])
            self.assertEqual([line.split(": ")[:-1] for line in
                              self.ask(status=1, said=())],
                             [["[1]"], ["statesampler", self.path, "[0]"]])
            self.assertIn("the state's bytes have changed",
                          self.ask("--steps", 2, "--sampler", "[0]", said=(),
                                   status=1))

    def test_some_states_say_nothing(self):
        """The others do, and which do not is said."""
        one = Sampler(20, 0, 1, 5).save(history=False)
        old = Mix([7], 0, 1, stop="never")
        self.save([one, one[:60] + b"?" + one[61:], b"SSMX is a name",
                   b"SSMP is one", b"SSMN is", old.save(history=False), one])
        for asked, wrong in ([], "1234"), (["--epoch", 2], "12345"):
            said = self.ask(*asked, status=1)
            good = [i for i in "0123456" if i not in wrong]
            self.assertEqual([line.split(":")[0] for line in said[:len(good)]],
                             [f"[{i}]" for i in good])
            for i, line in zip(wrong, said[len(good):]):
                self.assertIn(f"statesampler: {self.path}: [{i}]: ", line)
            self.assertEqual(len(said), 7)
        self.assertIn("name one of these",
                      self.ask("--where", 3, status=1))

    def test_any_checkpoint(self):
        """Tensors of all kinds around the state; and classes and functions,
        of which none is imported or called."""
        state = list(Sampler(20, 0, 1, 5).save(history=False))

        class Touch:
            def __reduce__(self):
                return os.mkdir, (self_path + "-touched",)

        self_path = self.path
        model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU())
        twice = torch.tensor(state * 2, dtype=torch.uint8)
        whole = torch.tensor([83, 83, 9, *state, 7], dtype=torch.uint8)
        large = torch.zeros(2**21, dtype=torch.uint8)
        itself = {"large": large, "view": large[2**20:]}
        itself.update({"itself": itself, "list": []})
        itself["list"].append(itself["list"])
        self.save({
            "itself": itself,
            "model": model.state_dict(), "module": model, "touch": Touch(),
            "touched": [os.system, {os.system: Touch()}, {Touch(): 1}],
            "some": {1, 2}, "bytes": b"", "type": torch.float32,
            "empty": torch.zeros(0, dtype=torch.uint8),
            "pairs": twice.reshape(-1, 2), "every": twice[::2],
            "signed": torch.tensor(state, dtype=torch.uint8).view(torch.int8),
            "quantized": whole, "short": whole[:3],
            "here": whole[3:-1]})
        for protocol in 2, 3, 4, 5:
            self.assertEqual([line.split(":")[0] for line in self.ask()],
                             ["here"])
            self.assertEqual(self.ask("--steps", "1..1"), lines(
                0, [[Sampler(20, 0, 1, 5).at(1).tolist()]], 1, 1))
            torch.save({"touch": Touch(), "all": [Touch(), {1: Touch()}],
                        "here": whole[3:-1], "set": {3}}, self.path,
                       pickle_protocol=protocol)
        self.assertFalse(os.path.exists(self.path + "-touched"))
        self.save({"long": whole.long()[3:-1]})
        said = self.ask()
        with zipfile.ZipFile(self.path) as archive:
            files = [(each, archive.read(each)) for each in archive.namelist()]
        with zipfile.ZipFile(self.path, "w", zipfile.ZIP_DEFLATED) as archive:
            for each in files:
                archive.writestr(*each)
        self.assertEqual(self.ask(), said)
        self.save(itself)
        sizes = []

        class Watched(io.BufferedReader):
            def read(self, size=-1):
                sizes.append(size)
                return super().read(size)

        with unittest.mock.patch.object(
                zipfile.io, "open",
                lambda path, mode: Watched(io.FileIO(path))):
            self.assertIn("no state of a", self.ask(status=1))
        self.assertTrue(0 < max(sizes) < 2**20 - 4)
        torch.save({"one": bytes(state)}, self.path)
        self.assertIn("one: samples 20", self.ask()[0])
        with open(self.path, "rb") as file:
            written = file.read()
        for left in range(0, len(written), 50):
            self.write(b"PK" + written[2:left])
            self.assertIn("it is damaged, or not all", self.ask(status=1))

    def test_shared_containers(self):
        """They are gone through once; those with a state in them as often as
        it is listed."""
        state = Sampler(20, 0, 1, 5).save()
        for inside, most in ([], 1), ([state], 10001):
            for _ in range(40):
                inside = [inside, inside]
            self.save({"shared": inside, "one": state} if most == 1 else
                      inside)
            begun = time.perf_counter()
            said = self.ask()
            self.assertLess(time.perf_counter() - begun, 20)
            self.assertIn(len(said), (most, most - 1))
        self.assertEqual(len(self.ask("--steps", "1..1")), 1)

    def test_other_files(self):
        """Pickles, also of numpy's arrays, and JSON."""
        state = Sampler(20, 0, 1, 5).save()
        whole = {"text": state.hex(), "bytes": state,
                 "array": bytearray(state), "list": [*state]}
        try:
            import numpy
            whole["numpy"] = numpy.frombuffer(state, numpy.uint8)
            whole["copy"] = numpy.array(whole["numpy"])
            whole["others"] = [numpy.zeros(3), numpy.array("a")]
        except ImportError:
            pass
        for protocol in range(2, 6):
            self.write(pickle.dumps(whole, protocol))
            names = [name for name in whole if name != "others"]
            self.assertEqual([line.split(":")[0] for line in self.ask()],
                             names)
            self.assertEqual(len(self.ask("--steps", "0..3")), 4)
            torch.save(whole, self.path, pickle_protocol=protocol)
            self.assertEqual([line.split(":")[0] for line in self.ask()],
                             names)
            # Tensors that pickle.dump wrote.
            tensor = torch.frombuffer(bytearray(b"a" + state),
                                      dtype=torch.uint8)
            held = {
                "model": torch.rand(3, 4), "s": [tensor[1:], tensor],
                "t": tensor[1:], "long": tensor.long()[1:],
                "int": tensor.int()[1:], "short": tensor.short()[1:],
                "more": tensor.short()[1:] + 256 * (tensor[1:] == 1),
                "parameter": torch.nn.Parameter(tensor[1:], False),
                "tokens": torch.tensor([83, 83, 77])}
            for write in (lambda: self.write(pickle.dumps(held, protocol)),
                          lambda: torch.save(held, self.path,
                                             pickle_protocol=protocol)):
                write()
                self.assertEqual([line.split(":")[0] for line in self.ask()],
                                 ["s[0]", "t", "long", "int", "short",
                                  "parameter"])
                self.assertEqual(len(self.ask("--steps", "0..3")), 4)
        for text in ('{"text": "%s", "list": %s}', ' ["%s", %s]'):
            self.write((text % (state.hex(), [*state])).encode())
            text = text % (state.hex(), [*state])
            for written in (text.encode(), text.encode("utf-8-sig"),
                            text.encode("utf-16"), b"\r\n" * 20 +
                            text.encode() + b"\n"):
                self.write(written)
                self.assertEqual(len(self.ask()), 2)
                self.assertEqual(len(self.ask("--steps", "0..3")), 4)
            self.write(text.encode() + b"\n" + text.encode())
            self.assertRegex(self.ask(status=1), "as in a .jsonl: what is .*")

    def test_folders(self):
        """DeepSpeed's has what its client_state had."""
        top = os.path.join(self.folder.name, "run")
        step = os.path.join(top, "global_step10")
        os.makedirs(step)
        one = Sampler(20, 0, 1, 5)
        for name in ("mp_rank_00_model_states.pt",
                     "zero_pp_rank_0_mp_rank_00_model_states.pt"):
            torch.save({"module": {}, "sampler": one.save()},
                       os.path.join(step, name))
            with open(os.path.join(top, "latest"), "w") as file:
                file.write("global_step10\n")
            for folder in top, step:
                with unittest.mock.patch.object(self, "path", folder):
                    self.assertEqual(self.ask("--steps", "1..1"), lines(
                        0, [[one.at(1).tolist()]], 1, 1))
            os.unlink(os.path.join(step, name))
        latest = os.path.join(top, "latest")
        for odd, said in (
                (None, "'global_step10', which is"),
                (b"", None), (b"\xff\xfe\0/", r"'\ufffd\ufffd\x00/'"),
                (b"a" * 9999, "'aaa"), ("a folder", None)):
            if odd == "a folder":
                os.unlink(latest)
                os.mkdir(latest)
            elif odd is not None:
                with open(latest, "wb") as file:
                    file.write(odd)
            else:               # The folder that it names is gone.
                os.rename(step, step + "1")
                step += "1"
            for folder, words in ((top, said and "its file latest names " +
                                   said), (step, None)):
                with unittest.mock.patch.object(self, "path", folder):
                    self.assertIn(words or "name a file in it",
                                  self.ask(status=1))

    def test_without_torch(self):
        """Which would take a second to import, nor what takes much of the time
        of an answer."""
        program = ("import sys; sys.modules.update(dict.fromkeys("
                   "['torch', 'argparse', 'pickle']));"
                   "from statesampler.__main__ import main;"
                   "main(sys.argv[1:])")
        for one, asked in (
                (Distributed(range(100), 2, 0), "--batch-size=3"),
                (RoundRobinBatchSampler([30, 20], 3, 0, 1), "--rank=0"),
                (RepeatSampler(range(20), 3, 4), "--batch-size=6")):
            self.save({"sampler": one.state_dict()})
            asked = self.path, asked, "--steps=2..4", "--straight"
            run = subprocess.run(
                [sys.executable, "-B", "-c", program, *asked],
                stdout=subprocess.PIPE, text=True,
                env={**os.environ, "PYTHONPATH": EXAMPLES})
            self.assertEqual(run.stdout.splitlines(), self.ask(*asked[1:]))
            self.assertEqual(len(run.stdout.splitlines()), 3)

    def test_groups_of_copies(self):
        for random in cases(10, "groups"):
            one = RepeatSampler(range(random.randrange(9, 40)), 3, 4,
                                random.randrange(1, 4), seed=2)
            size = random.randrange(1, 9)
            epochs = [list(DataLoader(one.data_source, size, sampler=one))
                      for _ in range(2)]
            one.begin(random.randrange(2))
            present = one.epoch
            list(zip(range(random.randrange(30)), counted(one)))
            self.save({"sampler": one.state_dict()})
            for epoch, batches in enumerate(epochs):
                asked = ["--batch-size", size] + (
                    ["--epoch", epoch] if epoch != present else [])
                self.assertEqual(
                    self.ask("--steps", f"0..{len(batches) - 1}", *asked),
                    lines(epoch, [[batch] for batch in batches], 1))
                flat = [i for batch in batches for i in batch]
                last = len(flat) // size
                if last < len(batches):
                    self.assertIn("past the end", self.ask(
                        "--drop-last", "--steps", f"{last}..{last}", *asked,
                        status=1))
                item = flat.index(flat[-1])
                self.assertRegex(
                    self.ask("--where", flat[-1], *asked)[0],
                    f"step {item // size} rank 0 slot {item % size} ")
        self.assertIn(f"samples {one.num_samples},", self.ask()[0])
        self.assertIn("give it by", self.ask("--steps", "0..1", status=1))
        self.assertIn("any number", self.ask("--world-size", 2, "--steps",
                                             "0..1", *asked, status=1))

    def test_what_is_refused(self):
        state = Sampler(100, 0, 2, 3).save(history=False)
        for damaged, said in (
                (b"", "size"), (state[:70], "size"), (b"hello" * 40, "begins with b'hellohel': .* is read"),
                (state[:60] + b"?" + state[61:], "changed"),
                (Mix([5, 6], 0, 1).save(history=False)[:-1], "size"),
                (b"SSMN" + bytes(9), "."), (b"SSMX" + bytes(300), "."),
                (b"SSMN" + b"\xff" * 300, "."),
                (b"PK\3\4" + bytes(99), "it is damaged, or not all"),
                (b"\x80\2\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19." + bytes(99),
                 "old format"),
                (b"\x80\2" + bytes(99), "it is damaged, or not all"),
                (zip_of("a.npy"), "it is a zip that torch.save did not write: "
                 "what is read"),
                (b"\x18" + bytes(7) + b'{"__metadata__":{}}' + bytes(99),
                 "safetensors"), (b'{"a": ["5353"' + bytes(99), "damaged"),
                (b'{"a": ["5353", [83, 83, "x"], [83, 83, 999]]}',
                 "no state of a"),
                *[(deep, "its dicts and lists are nested too deeply$")
                  for deep in (
                       b"[" * 10**5 + b"]" * 10**5,
                       b'{"a":' * 900 + b"3" + b"}" * 900,
                       b"\x80\2" + b"]" * 10**5 + b"a" * (10**5 - 1) + b".",
                       b"\x80\2" + b"]" * 900 + b"a" * 899 + b".")]):
            self.write(damaged)
            for asked in [], ["--where", 3], ["--steps", "0..1"]:
                self.assertRegex(self.ask(*asked, status=1),
                                 f"^statesampler: [^ ]*: .*{said}")
        self.write(state)
        for asked, said in (
                (["--steps", "0..17"], "past the end"),
                (["--steps", "0..16", "--drop-last"], "past the end"),
                (["--steps", "0..1", "--rank", 2], "are 2 ranks"),
                (["--where", 3, "--sampler", "x"], "leave out --sampler")):
            self.assertIn(said, self.ask(*asked, status=1))
        self.assertEqual(self.ask("--where", 100, status=1),
                         ["100: epoch 0: index is not below num_samples"])
        for asked, said in (
                (["--steps", "2..1"], "'2..1' is not A..B"),
                (["--steps", "3."], "'3.' is not a number from 0 to"),
                (["--where", "x"], "'x' is not a number from 0 to 2^64 - 1"),
                (["--where"], "'--where' needs a value"),
                (["--rank", "-1"], "'-1' is not a number from 0 to"),
                (["--all", "--rank", 1], "--all excludes --rank"),
                (["--epoch", 2**64], "is not a number from 0 to 2^64 - 1"),
                (["--colour", "red"], "unknown option '--colour'"),
                (["--all=1"], "unknown option '--all=1'"),
                (["red"], "unexpected argument 'red'"),
                (["--world-size=0"], "'0' is not a number from 1 to 2^32 - 1"),
                (["--batch-size", 2**32], "is not a number from 1 to 2^32")):
            self.assertRegex(self.ask(*asked, status=2),
                             f"^statesampler: .*{re.escape(said)}.*\n"
                             "Try 'python -m statesampler --help'.\n$")
        run = subprocess.run([sys.executable, "-m", "statesampler"],
                             stderr=subprocess.PIPE, text=True, env={
                                 **os.environ, "PYTHONPATH": EXAMPLES})
        self.assertEqual(run.returncode, 2)
        self.assertIn("FILE is missing", run.stderr)
        nobody, closed = os.pipe()
        os.close(nobody)
        run = subprocess.run(
            [sys.executable, "-m", "statesampler", self.path, "--straight",
             "--steps=0..0"],
            stdout=closed, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONPATH": EXAMPLES})
        os.close(closed)
        self.assertEqual((run.returncode, run.stderr), (1, ""))
        self.assertIn("--sampler PATH ", "".join(self.ask("--help")))
        for checkpoint in {"model": torch.zeros(3)}, [Sampler(9, 0, 1)]:
            self.save(checkpoint)
            self.assertIn("no state of a", self.ask(status=1))
        packs = PackedBatchSampler([3, 4], 7, 0, 1).state_dict()
        spread = SpreadBatchSampler([3, 4], 2, 0, 1).state_dict()
        for state in packs, spread:
            self.write(raw(state))
            for asked in ["--where", 1], ["--steps", "0..0"]:
                self.assertRegex(self.ask(*asked, status=1),
                                 "does not hold the (lengths|groups): ask at")
            self.write(raw(state)[:-1] + b"?")
            self.assertIn("the state is damaged", self.ask(status=1))
        for one, options in ((Sampler(9, 0, 1), ["world-size", "batch-size"]),
                             (Mix([5, 6], 0, 1), ["batch-size"])):
            next(one)
            self.write(one.save())
            for option in options:
                self.assertIn(
                    f"leave out --{option}: its history knows ranks and batches",
                    self.ask("--where", 3, f"--{option}=2", said=(), status=1))
        self.write(Mix([5, 6], 0, 1).save(history=False))
        asked = ["--steps", "0..1", "--batch-size", "2"]
        self.assertIn("keeps those of its", self.ask(*asked, status=1))
        run = subprocess.run([self.indices, "--state", self.path, *asked],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             text=True)
        self.assertEqual((run.returncode, run.stdout), (1, ""))
        self.assertIn("keeps those of its", run.stderr)
        never = Mix([5, 6], 0, 1, stop="never")
        self.write(never.save(history=False))
        self.assertIn("has one epoch", self.ask("--epoch", 1, "--steps",
                                                "0..1", status=1))
        os.unlink(self.path)
        self.assertIn("No such file", self.ask(status=1))

    def test_of_which_no_step_follows(self):
        """What is printed of them is of their place."""
        packs = PackedBatchSampler([3, 4] * 20, 7, 1, 4, fingerprint="P")
        spread = SpreadBatchSampler(range(27), 2, 0, 3, fingerprint="S")
        for one in packs, spread:
            one.begin(5)
            list(zip(range(3), counted(one)))
        self.save({each: sampler.state_dict() for each, sampler in (
            ("packs", packs), ("spread", spread))})
        place = "epoch 5, step 3, world_size"
        has = ": ask at() and locate() of the sampler"
        self.assertEqual(self.ask(), [
            f"packs: {place} 4, fingerprint 'P'; the state of a "
            f"PackedBatchSampler does not hold the lengths{has}",
            f"spread: {place} 3, fingerprint 'S'; the state of a "
            f"SpreadBatchSampler does not hold the groups{has}"])
        self.write(Sampler(9, 0, 1).save(history=False) + bytes(24))
        self.assertIn("of examples/extras/pack.h does not", self.ask()[0])
        self.assertIn("of examples/extras/pack.h does not",
                      self.ask("--where", 1, status=1))

    def test_ledgers(self):
        """Their tickets are the steps of their samplers."""
        ledgers = [Ledger(50, 64, seed=1, fingerprint="L") for _ in "ab"]
        issued = [ledgers[1].issue() for _ in range(9)]
        for ticket in 0, 1, 3, 7, 8:
            ledgers[1].done(ticket)
        states = [ledger.state_dict() for ledger in ledgers]
        self.save({"a": states[0], "b": states[1]})
        for each, line in zip(["a", "b"], self.ask()):
            self.assertRegex(line, f"^{each}.sampler: samples 50, seed 1, ")
        self.assertRegex(line, ", frontier 2, 3 done after it, fingerprint 'L'")
        self.assertEqual(
            self.ask("--steps", "0..8", "--sampler", "b.sampler"),
            lines(0, [[[index]] for _, index in issued], 1))
        self.save(states[1])
        self.assertEqual(len(self.ask("--steps", "0..8")), 9)
        # Only a ledger's state knows drop_last.
        order = Sampler(10, 0, 1, 4, drop_last=True)
        whole = Ledger(Sampler(10, 0, 1, 4), 64).state_dict()
        self.save([whole, Ledger(order, 64).state_dict()])
        self.assertIn("name one of these",
                      self.ask("--where", 3, status=1))
        asked = ["--sampler", "[1].sampler", "--steps"]
        self.assertEqual(self.ask(*asked, "0..1"),
                         lines(0, everything(lambda rank: order, 1), 1))
        self.assertIn("past the end", self.ask(*asked, "2..2", status=1))
        self.assertEqual(len(self.ask("--sampler", "[0].sampler", "--steps",
                                      "0..2")), 3)
        self.write(bytes.fromhex(states[1]["state"]))
        self.assertRegex(self.ask()[0], "frontier 2, 3 done after it; a ledger "
                         "has tickets: ask the state of its sampler")
        self.assertIn("a ledger has tickets",
                      self.ask("--steps", "0..8", status=1))

    def test_carry(self):
        """Where a sample comes in each epoch; the steps of all count on."""
        self.write(Sampler(7, 0, 1, tail="carry").save(history=False))
        self.assertTrue(self.ask()[0].endswith(", epoch 0, step 0"))
        # Of a loader, 2 ranks and then 3, which go on amid a batch of 4.
        ranks = [Distributed(range(7), 2, rank, tail="carry")
                 for rank in range(2)]
        for rank in ranks:
            list(zip(range(5), counted(rank)))
        self.save({"sampler": ranks[0].state_dict()})
        said = self.ask("--world-size", 3, "--batch-size", 4, "--steps",
                        "2..9")
        self.assertEqual([int(line.split()[1]) for line in said],
                         [(10 + 12 * i) // 7 for i in range(8)])
        for random in cases(20, "carry"):
            n, size = random.randrange(1, 40), random.randrange(1, 9)
            one = Sampler(n, 0, 1, size, tail="carry", seed=3)
            served = [i for _, batch in zip(range(200), one) for i in batch]
            wanted = [line for step in range(50) for line in lines(
                step * size // n, [[served[step * size:][:size]]], 1, step)]
            one = Distributed(range(n), 1, 0, tail="carry", seed=3)
            self.save(one.state_dict())
            self.assertEqual(self.ask("--steps", "0..49", "--batch-size",
                                      size), wanted)
            one = Sampler(n, 0, 1, size, tail="carry", seed=3)
            one.seek(random.randrange(200))
            self.write(one.save(history=False))
            self.assertEqual(self.ask("--steps", "0..49"), wanted)
            index = random.randrange(n)
            for epoch in range(200 * size // n):
                if not n * epoch <= -(-n * epoch // size) * size < n * (
                        epoch + 1):
                    self.assertIn(
                        f"no step begins in epoch {epoch}: step "
                        f"{n * epoch // size} has its samples", self.ask(
                            "--epoch", epoch, "--where", index, status=1))
                    continue
                if epoch % 7:
                    continue
                there, = self.same_in_c("--epoch", epoch, "--where", index)
                step, _, slot = map(int, re.findall(r"\d+", there)[2:5])
                self.assertEqual(served[step * size + slot], index)
                self.assertEqual((step * size + slot) // n, epoch)


class Varied:
    """A batch sampler with batches of 2, 3 and 1, again and again."""

    def __init__(self, sampler):
        self.sampler = sampler

    def __iter__(self):
        left, sizes = iter(self.sampler), itertools.cycle([2, 3, 1])
        return iter(lambda: list(itertools.islice(left, next(sizes))), [])


class Same(Varied):
    """The batches of a sampler that gives batches."""

    def __iter__(self):
        return iter(self.sampler)


class OwnBatches(Asked):
    """Of a run whose batches no state holds, only places are known."""

    REFUSED = "the run had batches of several sizes, or of a batch sampler of"

    def check(self, one, served):
        """Each sample's place, from the history and without it."""
        self.save({"sampler": one.state_dict()})
        self.assertIn(", batches of several sizes", self.ask()[0])
        for said in [], ["--straight"]:
            for asked in (["--steps", "0..1", "--batch-size", 2],
                          ["--steps", "0..0"], ["--where", 3, "--steps=0..0"],
                          ["--where", 3, "--batch-size", 2]):
                self.assertIn(self.REFUSED,
                              self.ask(*asked, status=1, said=said))
            for position, index in enumerate(served):
                self.assertEqual(
                    self.ask("--where", index, said=said),
                    [f"{index}: epoch 0 rank 0 position {position}"])

    def test_a_run(self):
        """Also one that goes on with plain batches, or from a copy."""
        def make():
            return Distributed(range(20), 1, 0, seed=3)

        one, served = make(), []
        self.save(one.state_dict())
        self.assertIn("give it by --batch-size",
                      self.ask("--where", 3, status=1))
        loader = DataLoader(range(20), batch_sampler=Varied(one))
        for batch in itertools.islice(loader, 3):
            served += batch
        self.check(one, served)
        self.check(copy.deepcopy(one), served)
        other = make()
        other.load_state_dict(one.state_dict())
        for batch in itertools.islice(DataLoader(range(20), 4, sampler=other),
                                      2):
            served += batch
        self.check(other, served)
        # A state of another run brings its own.
        other.load_state_dict(make().state_dict())
        self.assertNotIn("indices_per_batch", other.state_dict())

    def test_turns_and_groups(self):
        for one, what in (
                (RoundRobinBatchSampler([9, 6], 2, 0, 1), " dataset [01]"),
                (RepeatSampler(range(20), 2, 3), "")):
            loader = DataLoader(range(15 if what else 20),
                                batch_sampler=Same(one) if what else
                                Varied(one))
            batch, *_ = itertools.islice(loader, 3)
            self.save(one.state_dict())
            self.assertIn(self.REFUSED, self.ask("--steps", "0..0", status=1))
            self.assertRegex(
                self.ask("--where", batch[0])[0],
                f"^{batch[0]}: epoch 0 rank 0 position 0{what}$")

    def test_what_is_no_mark(self):
        one = Distributed(range(20), 1, 0)
        for wrong in None, -1, True, 2**62 + 1, 2.0, "4", []:
            state = {**one.state_dict(), "indices_per_batch": wrong}
            with self.assertRaisesRegex(ValueError, "is not a state_dict of"):
                one.load_state_dict(state)


class KnownBatches(Asked):
    """A state_dict has the size of the batches that a StatefulLoader counted,
    if all had one."""

    def serve(self, state, size, count, **more):
        """A run of rank 0 that goes on with such batches: the state after so
        many, and these."""
        one = self.make(**more)
        if state is not None:
            one.load_state_dict(state)
        loader = DataLoader(one.dataset, size, sampler=one)
        served = list(itertools.islice(loader, count))
        return one.state_dict(), served

    @staticmethod
    def make(n=40, ranks=1, **more):
        return Distributed(range(n), ranks, 0, seed=3, **more)

    def lines(self, served, first=0):
        return lines(0, [[batch] for batch in served], 1, first)

    def refused_steps(self):
        """Where some batches had 4 samples, and others 8."""
        for asked in [], ["--batch-size", 4], ["--batch-size", 8]:
            for said in [], ["--straight"]:
                self.assertIn(OwnBatches.REFUSED, self.ask(
                    "--steps", 3, *asked, status=1, said=said))

    def test_one_size(self):
        """It need not be said, and no other may."""
        state, served = self.serve(None, 4, 3)
        state, more = self.serve(state, 4, 4)
        self.assertEqual(state["indices_per_batch"], 4)
        self.save({"sampler": state})
        self.assertIn(", batches of 4", self.ask()[0])
        served += more
        for said in [], ["--straight"]:
            for size in [], ["--batch-size", 4]:
                self.assertEqual(
                    self.ask("--steps", "0..6", *size, said=said),
                    self.lines(served))
                self.assertEqual(
                    self.ask("--where", served[5][2], *size, said=said),
                    [f"{served[5][2]}: epoch 0 step 5 rank 0 slot 2 position "
                     "22"])
            for asked in ["--steps", 3], ["--where", 3]:
                self.assertIn("leave out --batch-size: its batches had 4",
                              self.ask(*asked, "--batch-size", 2, status=1,
                                       said=said))

    def test_a_size_that_changes(self):
        """Then a sample's place is known, and no step; an earlier state knows
        its steps, and those of a run that goes on from there."""
        before, served = self.serve(None, 4, 4)
        after, more = self.serve(before, 8, 2)
        self.save(after)
        self.assertEqual(after["indices_per_batch"], 0)
        self.refused_steps()
        for said in [], ["--straight"]:
            for position, index in enumerate(sum(served + more, [])):
                self.assertEqual(
                    self.ask("--where", index, said=said),
                    [f"{index}: epoch 0 rank 0 position {position}"])
        # What goes on from there has known batches.
        on = "--world-size", 1, "--batch-size"
        _, rest = self.serve(after, 8, 1)
        self.assertEqual(self.ask("--steps", 4, *on, 8), self.lines(rest, 4))
        self.assertIn("step 4 ", self.ask("--where", rest[0][3], *on, 8)[0])
        self.save(before)
        self.assertEqual(self.ask("--steps", "0..3"), self.lines(served))
        self.assertEqual(self.ask("--steps", "2..3", *on, 8),
                         self.lines(more, 2))
        self.assertIn("was before a change", self.ask("--steps", 1, *on, 8,
                                                      status=1))

    def test_another_epoch(self):
        state, _ = self.serve(None, 4, 10)
        state, _ = self.serve(state, 4, 2)
        state, _ = self.serve(state, 8, 2)
        self.save(state)
        self.assertIn(OwnBatches.REFUSED, self.ask(
            "--epoch", 0, "--steps", 5, status=1, said=()))
        self.refused_steps()

    def test_in_one_process(self):
        """A loop that is left was of the run, too."""
        for counts, size in ((0, 0), None), ((0, 2), 8), ((2, 0), 4), (
                (1, 1), 0), ((10, 1), 0):
            one = self.make()
            for each, count in zip((4, 8), counts):
                for _ in range(count):
                    next(iter(DataLoader(range(40), each, sampler=one)))
            self.assertEqual(one.state_dict().get("indices_per_batch"), size)

    def test_ranks(self):
        """Other ranks go on with as large batches; all have the same state."""
        state, served = None, []
        for ranks in 3, 2, 5:
            made = [Distributed(range(90), ranks, rank)
                    for rank in range(ranks)]
            for one in made:
                if state is not None:
                    one.load_state_dict(state)
            loops = [iter(DataLoader(range(90), 3, sampler=one))
                     for one in made]
            served.append([[next(loop) for loop in loops] for _ in range(2)])
            state, *others = [one.state_dict() for one in made]
            for other in others:
                self.assertEqual((raw(other), other["indices_per_batch"]),
                                 (raw(state), 3))
        self.save(state)
        said = self.ask("--steps", "0..1", "--all", said=())
        self.assertEqual(said, lines(0, served[0], 3))

    def test_carry(self):
        """A loop without an end goes on, however it was left."""
        of = {"n": 10, "ranks": 2, "tail": "carry"}
        state, served = self.serve(None, 2, 4, **of)
        state, _ = self.serve(state, 2, 3, **of)
        self.save(state)
        self.assertEqual(self.ask("--steps", "0..1", said=()),
                         self.lines(served[:2]))
        state, _ = self.serve(state, 4, 1, **of)
        self.assertEqual(state["indices_per_batch"], 0)
        one = self.make(**of)
        list(itertools.islice(Uncounted(range(10), 4, sampler=one), 3))
        with self.assertWarnsRegex(UserWarning, "nothing counted"):
            next(iter(DataLoader(range(10), 4, sampler=one)))
        self.assertNotIn("indices_per_batch", one.state_dict())

    def test_copies(self):
        one = self.make()
        for _ in itertools.islice(DataLoader(range(40), 4, sampler=one), 2):
            pass
        for other in copy.deepcopy(one), pickle.loads(pickle.dumps(one)):
            self.assertEqual(other.state_dict()["indices_per_batch"], 4)

    def test_what_is_said(self):
        """By a sampler with a batch_size, of loops that nobody counts."""
        for size in 4, None:
            one = self.make(batch_size=size)
            list(itertools.islice(Uncounted(range(40), 4, sampler=one), 3))
            state = one.state_dict(epoch=0, **{"batches": 3} if size else {})
            self.assertEqual(state.get("indices_per_batch"), size)
            self.assertEqual(
                one.state_dict(epoch=1).get("indices_per_batch"), size)
            list(Uncounted(range(40), 4, sampler=one))
            one.set_epoch(1)
            state, _ = self.serve(one.state_dict(), 8, 1)
            self.assertEqual(state.get("indices_per_batch"), size and 0)
        # A state at a batch that another program has counted.
        for count, size in (3, 4), (0, None):
            state = self.make(batch_size=4).state_dict(batches=count)
            self.assertEqual(state.get("indices_per_batch"), size)
        # A look that took all is warned of.
        one = self.make()
        list(Uncounted(range(40), 4, sampler=one))
        with self.assertWarnsRegex(UserWarning, "was a look"):
            next(iter(DataLoader(range(40), 8, sampler=one)))
        self.assertNotIn("indices_per_batch", one.state_dict())

    def test_what_nobody_knows(self):
        """Samples without batches; states of older versions."""
        for loop in counted, lambda one: DataLoader(
                one.dataset, None, sampler=one, collate_fn=None):
            one = self.make()
            list(zip(range(8), loop(one)))
            state = one.state_dict()
            self.assertNotIn("indices_per_batch", state)
        self.save(state)
        self.assertIn("give it by --batch-size",
                      self.ask("--steps", 1, said=(), status=1))
        self.ask("--steps", 1, "--batch-size", 4, said=())
        next(iter(DataLoader(range(40), batch_sampler=Varied(one))))
        self.assertEqual(one.state_dict()["indices_per_batch"], 0)
        state, _ = self.serve(state, 8, 1)
        self.assertNotIn("indices_per_batch", state)
        # A history that begins anew has no part in what was before it.
        del state["history"]
        state, served = self.serve(state, 4, 2)
        self.save(state)
        self.assertEqual(self.ask("--steps", "4..5", said=()),
                         self.lines(served, 4))

    def test_groups(self):
        """Of items, a batch has what all processes take."""
        one = RepeatSampler(range(20), 2, 3)
        for _ in zip(range(2), StatefulLoader(
                DataLoader(range(20), 6, sampler=one), one)):
            pass
        state = one.state_dict(batches=2)
        self.assertEqual(state["indices_per_batch"], 6)
        self.save(state)
        self.assertEqual(self.ask("--steps", "0..1"),
                         self.ask("--steps", "0..1", "--batch-size", 6))
        self.assertIn("its batches had 6", self.ask(
            "--steps", "0..1", "--batch-size", 3, status=1))
        turns = RoundRobinBatchSampler([9, 6], 2, 0, 1)
        next(iter(DataLoader(range(15), batch_sampler=turns)))
        self.assertNotIn("indices_per_batch", turns.state_dict())

    def test_at(self):
        """A sampler refuses the steps before a state with other batches."""
        state, served = self.serve(None, 4, 4)
        whole = list(Uncounted(range(40), 1, sampler=self.make()))
        for size in 2, 4, 8:
            one = self.make(batch_size=size)
            one.load_state_dict(state)
            self.assertEqual(one.at(16 // size),
                             sum(whole[16:16 + size], []))
            if size == 4:
                self.assertEqual(one.at(3), served[3])
                continue
            with self.assertRaisesRegex(ValueError, "before ranks or batch_"):
                one.at(16 // size - 1)
            with self.assertRaisesRegex(ValueError, "before ranks or batch_"):
                one.locate(served[3][0])
            list(DataLoader(range(40), size, sampler=one))
            self.assertEqual((one.epoch, len(one.at(0))), (1, size))


class NotStraight(Asked):
    """What a state cannot know is refused, until --straight says it."""

    def refused(self, *arguments, in_c=True):
        """By both programs, in the same words, with nothing answered."""
        ours = self.ask(*arguments, status=1, said=())
        said = ": a state is one place of a run: it cannot know "
        self.assertIsInstance(ours, str, "something was printed")
        self.assertTrue(ours.startswith(f"statesampler: {self.path}{said}"))
        self.assertTrue(ours.endswith("; --straight says that it did not\n"))
        self.assertEqual(ours.count("\n"), 1)
        if not in_c:
            return
        run = subprocess.run(
            [self.indices, "--state", self.path, *map(str, arguments)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual(
            (run.returncode, run.stdout, run.stderr),
            (1, "", ours.replace("statesampler: ", "indices: ", 1)))

    def test_a_history_of_another_run(self):
        """Of another seed, or one that goes on after the state."""
        def straight(one, steps):
            for _ in range(steps):
                next(one)
            return one

        for make in (lambda seed: Sampler(1000, 0, 1, 4, seed=seed),
                     lambda seed: Mix([90, 50], 0, 1, 4, seed=seed)):
            one = straight(make(1), 9)
            one.seek(15)
            straight(one, 3)
            history = one.save()[:-len(one.save(history=False))]
            for other, said in (
                    (straight(make(2), 18), "the history is of another run"),
                    (straight(make(1), 7),
                     "the run is before the last event of the history")):
                self.write(history + other.save(history=False))
                for asked in ("--steps", "5..5"), ("--where", "3"):
                    self.assertIn(said, self.ask(*asked, status=1, said=()))
                    run = subprocess.run(
                        [self.indices, "--state", self.path, *asked],
                        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                        text=True)
                    self.assertEqual((run.returncode, run.stdout), (1, ""))
                    self.assertIn(said, run.stderr)

    def test_a_seek(self):
        """That of 290 to 321 leaves no trace at 400."""
        one, straight = (Sampler(1000, 0, 1, 2, seed=1) for _ in "ab")
        for _ in range(290):
            next(one)
        one.seek(321)
        while one.step < 400:
            next(one)
        straight.seek(400)
        self.assertEqual(one.save(history=False), straight.save(history=False))
        self.write(one.save(history=False))
        skipped = one.at(300, straight=True).tolist()
        now = one.at(400).tolist()
        self.refused("--steps", "300..300")
        self.refused("--steps", "399..400")
        self.refused("--steps", "400..400")
        self.refused("--where", skipped[0])
        self.refused("--where", now[0])
        self.refused("--where", 1000)
        self.refused("--epoch", 1, "--steps", "0..0")
        self.refused("--epoch", 1, "--where", now[0])
        wanted = lines(0, [[now]], 1, 400)
        self.assertEqual(self.same_in_c("--steps", "400"), wanted)
        self.refused("--steps", "401..401", "--world-size", 3)
        self.assertEqual(self.same_in_c("--steps", "300"),
                         lines(0, [[skipped]], 1, 300))
        self.assertEqual(self.ask(said=()), self.ask())

    def test_other_weights_after_the_state(self):
        """Turns to come are served by weights that the state cannot know."""
        first = Mix([20, 20], 0, 1, 2, weights=[1, 1], stop="all")
        list(zip(range(4), first))
        later = Mix([20, 20], 0, 1, 2, stop="all")
        later.load(first.save())
        later.weigh([3, 1])
        self.write(first.save(history=False))
        served = [batch.tolist() for _, batch in zip(range(4), later)]
        planned = [first.at(step).tolist() for step in range(4, 8)]
        self.assertNotEqual(planned, served)
        self.refused("--steps", "4..7")
        self.refused("--steps", "3..3")
        self.refused("--where", planned[1][0])
        self.refused("--steps", "4..4")
        said, = self.same_in_c("--steps", "4..4")
        self.assertEqual([int(i) for i in said.split(":")[1].split()],
                         planned[0])
        self.assertEqual(len(self.same_in_c("--steps", "0..7")), 8)

    def test_loaders(self):
        """Their batches are counted by --batch-size."""
        one = Distributed(range(100), 2, 0, batch_size=3)
        loop = iter(DataLoader(range(100), 3, sampler=one))
        for _ in range(4):
            next(loop)
        one.set_start_iter(8)
        state = one.state_dict()
        del state["history"]        # As of older versions.
        self.save(state)
        asked = ["--batch-size", 3]
        batch = one.at(8)
        self.assertEqual(self.ask(*asked, "--steps", "8..8"),
                         lines(0, [[batch]], 1, 8))
        self.assertRegex(self.ask(*asked, "--where", batch[2])[0],
                         " step 8 rank 0 slot 2 ")
        for question in (["--steps", "7..7"], ["--steps", "8..8"],
                         ["--where", one.at(5)[0]], ["--where", one.at(9)[0]],
                         ["--epoch", 1, "--steps", "8..8"]):
            self.refused(*asked, *question, in_c=False)
        # Other ranks go on amid a batch: the next one begins there.
        said, = self.ask("--batch-size", 5, "--world-size", 2, "--steps",
                         "5..5")
        self.assertEqual([int(i) for i in said.split(":")[1].split()],
                         batch + one.at(9)[:2])
        groups = RepeatSampler(range(20), 3, 4)
        batches = list(DataLoader(range(20), 6, sampler=groups))
        groups.begin(0)
        list(zip(range(12), counted(groups)))
        self.save(groups.state_dict())
        asked = ["--batch-size", 6]
        self.assertEqual(self.ask(*asked, "--steps", "2..2"),
                         lines(0, [[batches[2]]], 1, 2))
        self.refused(*asked, "--steps", "2..2", in_c=False)
        self.refused(*asked, "--where", batches[0][0], in_c=False)

    def test_ledgers(self):
        """Their tickets are the steps of their sampler."""
        ledger = Ledger(Sampler(50, 0, 1, 3, seed=1), 64, epochs=2)
        issued = [ledger.issue() for _ in range(20)]
        for ticket in range(9):
            ledger.done(ticket)
        self.save(ledger.state_dict())
        for first, last, epoch in (0, 16, 0), (17, 19, 1):
            said = self.ask("--steps", f"{first % 17}..{last % 17}", "--epoch",
                            epoch)
            self.assertEqual(
                [[int(i) for i in line.split(":")[1].split()]
                 for line in said],
                [batch for _, batch in issued[first:last + 1]])
        self.assertRegex(self.ask("--where", issued[5][1][1])[0],
                         " step 5 rank 0 slot 1 ")
        self.refused("--steps", "3..3", in_c=False)
        # The same state may be that of another sampler, which has no tickets.
        order = Sampler(50, 0, 1)
        self.save({"ledger": Ledger(order, 64).state_dict(),
                   "order": order.save(history=False)})
        self.assertIn("name one of these",
                      self.ask("--steps", "3..3", status=1))
        self.ask("--steps", "3..3", "--sampler", "ledger.sampler")
        self.refused("--steps", "3..3", "--sampler", "order", in_c=False)

    def test_random_runs(self):
        """Runs that seek, begin, change their weights, ranks and length: no
        question is answered, unless a run is said to go straight on, which
        gets the step that comes next."""
        for random in cases(60, "steered"):
            world, mixed = random.randrange(1, 4), random.random() < .5
            tail = random.choice(["pad", "drop", "uneven", "carry"])
            lengths = [random.randrange(20, 40) for _ in range(3 * mixed + 1)]
            weights, size = [1] * len(lengths), 2

            def make(rank):
                if mixed:
                    return Mix(lengths, rank, world, size, weights=weights,
                               tail=tail, stop=stop)
                return Sampler(lengths[0], rank, world, size, tail=tail,
                               shuffle=False)
            stop = ("never" if tail == "carry" else
                    random.choice(["first", "all", "restart"]))
            one, steered = make(0), 0
            for _ in range(40):
                what = random.randrange(9)
                with contextlib.suppress(ValueError):
                    if what == 0:
                        one.seek(random.randrange(20))
                    elif what == 1:
                        one.begin(random.randrange(4))
                    elif what == 2 and not mixed:
                        one.resize(lengths[0] + 1)
                        lengths[0] += 1
                    elif what == 3:
                        state, weights = one.save(), [
                            random.randrange(1, 4) for _ in lengths]
                        world, size = random.randrange(1, 4), 3
                        one = make(0)
                        one.load(state)
                        if mixed:
                            one.weigh(weights)
                next(one, None)
            state, epoch, step = one.save(history=False), one.epoch, one.step
            ranks = [make(rank) for rank in range(world)]
            for each in ranks:
                each.load(state)
            given = [next(each, None) for each in ranks]
            self.write(state)
            if given[0] is None:
                self.assertIn("past the end", self.ask(
                    "--steps", f"{step}..{step}", status=1))
            else:
                said = self.same_in_c("--steps", f"{step}..{step}", "--all")
                wanted = lines(epoch, [[batch.tolist() for batch in given]],
                               world, step, lambda _: 0) if mixed else (
                    lines(epoch, [[batch.tolist() for batch in given]],
                          world, step))
                self.assertEqual([re.sub("dataset \\d+", "dataset 0", line)
                                  for line in said], wanted)
            for other in {0, 1, step - 1, step, step + 1, step + 9} - {-1}:
                self.refused("--steps", f"{other}..{other}", in_c=steered < 9)
                steered += 1
            if tail != "carry":
                self.refused("--epoch", epoch + 1, "--steps",
                             f"{step}..{step}", in_c=False)
            self.refused("--where", 0, in_c=False)


def trains(folder, rank, world, kind):
    """What a rank does until it is killed. Its worker goes with it."""
    os.setsid()
    os.chdir(folder)
    warnings.simplefilter("ignore")
    if kind == "one":
        sampler = Distributed(range(600), world, rank, seed=7)
        loading = {"batch_size": 2, "sampler": sampler}
    else:
        sampler = RoundRobinBatchSampler([300, 200, 100], 2, rank, world,
                                         weights=[2, 1, 1], stop="all", seed=7)
        loading = {"batch_sampler": sampler}
    if os.path.exists("saved"):
        sampler.load_state_dict(torch.load("saved")["train"]["sampler"])
    loader = DataLoader(range(600), num_workers=1, **loading)
    log = open(f"log{rank}", "a")
    while True:
        for number, batch in enumerate(loader):
            print(sampler.epoch, number, *batch, file=log, flush=True)
            if rank == 0 and number % 5 == 4:
                torch.save({"train": {"sampler": sampler.state_dict()}}, "new")
                os.replace("new", "checkpoint")
            time.sleep(.001)


class Killed(Asked):
    """Ranks that are killed at any moment: the checkpoint tells every batch
    that they have logged, before it and after it."""

    def run_ranks(self, world, kind):
        fork = multiprocessing.get_context("fork")
        ranks = [fork.Process(target=trains, args=(
            self.folder.name, rank, world, kind)) for rank in range(world)]
        for rank in ranks:
            rank.start()
        wanted = [self.path] + [os.path.join(self.folder.name, f"log{rank}")
                                for rank in range(world)]
        deadline = time.monotonic() + 100
        while not all(map(os.path.exists, wanted)) and (
                time.monotonic() < deadline):
            time.sleep(.01)
        time.sleep(random.SystemRandom().random() * .3)
        for rank in ranks:
            os.killpg(rank.pid, signal.SIGKILL)
        for rank in ranks:
            rank.join()
            self.assertEqual(rank.exitcode, -signal.SIGKILL)

    def compare(self, world, began, *asked):
        """All that was logged, with the command's answers. `began`: the epoch
        and the step at which the run began."""
        for rank in range(world):
            path = os.path.join(self.folder.name, f"log{rank}")
            with open(path) as log:
                rows = [list(map(int, line.split()))
                        for line in log.read().splitlines()[:-1]]
            os.unlink(path)
            for epoch in {row[0] for row in rows}:
                first = began[1] if epoch == began[0] else 0
                served = [row[2:] for row in rows if row[0] == epoch]
                told = self.ask(
                    "--rank", rank, "--steps",
                    f"{first}..{first + len(served) - 1}", *asked,
                    *(["--epoch", epoch] if epoch != began[0] or
                      random.random() < .5 else []))
                self.assertEqual([[int(i) for i in line.split(":")[1].split()]
                                  for line in told], served)

    def test_killed(self):
        for kind, asked, unit in (("one", ("--batch-size", 2), 2),
                                  ("many", (), 1)):
            self.path = os.path.join(self.folder.name, "checkpoint")
            self.run_ranks(2, kind)
            said, = self.ask()
            present, step = map(int, re.search(
                r"epoch (\d+), (?:step )?(\d+) of", said).groups())
            self.compare(2, (None, 0), *asked)
            saved = os.path.join(self.folder.name, "saved")
            os.rename(self.path, saved)
            self.run_ranks(3, kind)
            os.unlink(self.path)
            self.path = saved
            self.compare(3, (present, step // unit), "--world-size", 3, *asked)
            os.unlink(saved)


if __name__ == "__main__":
    main()
