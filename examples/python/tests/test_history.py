"""What a run did is in its state: random runs that are steered, killed and
resumed from older states, beside a log of all that every rank served."""

import collections
import contextlib
import copy
import io
import itertools
import os
import pickle
import re
import shlex
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock
import warnings

from common import EXAMPLES, ROOT, cases, main
from statesampler import Ledger, Mix, Sampler, Schedule
from statesampler.__main__ import main as command
from statesampler.samplers import library_state


class Run:
    """A run of all ranks, which do the same, and its log: of each step that was
    served the epoch, the step and the batches of the ranks. Subclasses make
    the samplers of a shape, and do what these alone can do."""

    carries = False

    def __init__(self, random):
        self.random, self.log, self.kept = random, [], []
        self.describe()
        self.shape()
        self.ranks = self.make()
        self.known = self.place     # What a bare state has made of it.

    @property
    def place(self):
        return self.ranks[0].epoch, self.ranks[0].step

    def shape(self):
        self.world, self.size = (self.random.randrange(1, 4),
                                 self.random.randrange(1, 4))

    def serve(self, count):
        for _ in range(count):
            place = self.place
            given = [next(each, None) for each in self.ranks]
            if given[0] is not None:
                self.log.append((place, [each.tolist() for each in given]))

    def all(self, name, *arguments):
        """A call of each rank, which all refuse or none."""
        refused = 0
        for each in self.ranks:
            try:
                getattr(each, name)(*arguments)
            except ValueError:
                refused += 1
        assert refused in (0, self.world), (name, arguments)
        return refused == 0

    def keep(self):
        states = {each.save() for each in self.ranks}
        assert len(states) == 1     # A state is every rank's.
        self.kept.append((states.pop(), len(self.log), self.known,
                          self.described()))

    def resume(self):
        """From any state, in any shape; those that come later are lost."""
        number = self.random.randrange(len(self.kept))
        state, length, self.known, described = self.kept[number]
        del self.kept[number + 1:], self.log[length:]
        self.shape()
        self.describe(*described)
        self.ranks = self.make()
        bare = self.random.random() < .1
        for each in self.ranks:
            each.load(library_state(state) if bare else state)
        if bare:
            self.log.clear()
            self.kept.clear()
            self.known = self.place

    def act(self):
        what = self.random.randrange(9)
        if what == 0:
            self.all("seek", max(self.place[1] + self.random.randrange(
                -6, 9), 0))
        elif what == 1:
            self.all("begin", self.random.randrange(5))
        elif what == 2:
            self.steer()
        elif what == 3:
            self.keep()
        elif what == 4 and self.kept:
            self.resume()
        elif what == 5:
            way = self.random.choice([
                copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))])
            self.ranks = [way(each) for each in self.ranks]
        else:
            self.serve(self.random.randrange(9))

    def at(self, epoch, step):
        """What the log has of a step: each time that it was served."""
        return [(place, ranks) for place, ranks in self.log
                if place[1] == step and (self.carries or place[0] == epoch)]


class SamplerRun(Run):
    def describe(self, *described):
        random = self.random
        self.n, self.options = described or (random.randrange(1, 50), {
            "seed": random.randrange(99), "epoch": random.randrange(4),
            "shuffle": random.random() < .6,
            "tail": random.choice(["pad", "drop", "uneven", "carry"])})
        self.carries = self.options["tail"] == "carry"

    def described(self):
        return self.n, self.options

    def make(self):
        drops = not self.carries and self.random.random() < .2
        return [Sampler(self.n, rank, self.world, self.size, drop_last=drops,
                        **self.options) for rank in range(self.world)]

    def steer(self):
        if self.all("resize", self.n + 1):
            self.n += 1


class MixRun(Run):
    def describe(self, *described):
        random = self.random
        self.lengths, self.options = described or (
            [9, *(random.randrange(0, 15) for _ in range(random.randrange(3)))],
            {"seed": random.randrange(99), "epoch": random.randrange(4),
             "stop": random.choice(["first", "all", "restart", "never"]),
             "tail": random.choice(["pad", "drop", "uneven"])})

    def described(self):
        return self.lengths, self.options

    def make(self):
        return [Mix(self.lengths, rank, self.world, self.size, **self.options)
                for rank in range(self.world)]

    def steer(self):
        self.all("weigh", [self.random.choice([0, 1, 1, 2, 3])
                           for _ in self.lengths])


def stages(turn):
    """Of a schedule: some are one turn, and in some a dataset has none."""
    return 1 + turn % 7, [turn % 5, 3, 1 + turn % 2]


class ScheduledRun(MixRun):
    """All batches that it ever serves are known beforehand."""

    def describe(self, *described):
        random = self.random
        self.lengths, self.options = described or (
            [random.randrange(9, 15) for _ in range(3)],
            {"seed": random.randrange(99), "schedule": Schedule(stages)})
        self.options["tail"] = "pad"

    def steer(self):
        for step in range(30):
            try:
                ahead = [each.at(step, straight=True).tolist()
                         for each in self.ranks]
            except ValueError as error:     # after a bare state
                assert step < self.place[1] and "began later" in str(error)
                continue
            if step >= self.place[1]:
                assert ahead == [each.at(step).tolist() for each in self.ranks]


class NamedRun(MixRun):
    """Its datasets have batch sizes of their own."""

    def describe(self, *described):
        super().describe(*described)
        if not described:
            self.lengths = dict(zip("abc", self.lengths))

    def make(self):
        sizes = {name: 1 + self.random.randrange(3) for name in self.lengths}
        return [Mix(self.lengths, rank, self.world, sizes, **self.options)
                for rank in range(self.world)]

    def steer(self):
        self.all("weigh", {name: self.random.choice([0, 1, 1, 2, 3])
                           for name in self.lengths})


class Histories(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.path = os.path.join(folder.name, "state")
        for program in "indices", "history":
            path = os.path.join(folder.name, program)
            setattr(cls, program, path)
            subprocess.run(
                [*shlex.split(os.environ.get("CC") or "cc"), "-std=c99", "-O1",
                 "-I", ROOT, os.path.join(ROOT, "examples", program + ".c"),
                 "-o", path], check=True)

    def ask(self, *arguments):
        """The status of both programs, and what they print."""
        out, error = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), (
                contextlib.redirect_stderr(error)):
            status = command([self.path, *map(str, arguments)])
        in_c = subprocess.run(
            [self.indices, "--state", self.path, *map(str, arguments)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        said = error.getvalue().replace(f"statesampler: {self.path}: ", "")
        self.assertEqual((in_c.returncode, in_c.stdout),
                         (status, out.getvalue()))
        self.assertEqual(in_c.stderr.replace("indices: ", "").replace(
            f"{self.path}: ", ""), said)
        return status, out.getvalue().splitlines() or [said]

    def check_step(self, run, epoch, step):
        one, found = run.ranks[0], run.at(epoch, step)
        if run.carries and found:
            self.check_carried(one, found, epoch, step)
            return
        passed = (step < one.step if run.carries or epoch == one.epoch else
                  epoch < one.epoch)
        if found:
            for rank, batch in enumerate(found[-1][1]):
                if passed:
                    self.assertEqual(
                        one.at(step, rank, epoch).tolist(), batch)
            if passed:
                with self.assertRaisesRegex(ValueError, "was served to"):
                    one.at(step, len(found[-1][1]), epoch)
        elif passed:
            try:
                self.assertIsNone(one.at(step, 0, epoch))
            except ValueError as error:
                self.assertRegex(str(error), f"step {step} of epoch {epoch}: "
                                 "(skipped at|the run has not served|not "
                                 "served since)")
                first = run.known[::-1] if run.carries else run.known
                self.assertEqual(
                    "since" in str(error),
                    first[0] > 0 if run.carries else first > (epoch, 0))

    def check_carried(self, one, found, epoch, step):
        """With tail="carry" steps count on through all epochs: the last time
        that one was served, and the last that it began in an epoch."""
        last, ranks = found[-1]
        for rank, batch in enumerate(ranks):
            if step < one.step:
                self.assertEqual(one.at(step, rank).tolist(), batch)
        began = [ranks for place, ranks in found if place[0] == epoch]
        if step >= one.step:
            ahead = one.plain()
            ahead.seek(step)
            if ahead.epoch == epoch:
                self.assertEqual(one.at(step, 0, epoch), next(ahead))
                return
        if began:
            self.assertEqual([one.at(step, rank, epoch).tolist()
                              for rank in range(len(began[-1]))], began[-1])
        elif step < one.step:
            with self.assertRaisesRegex(ValueError, "none begins in epoch"):
                one.at(step, 0, epoch)

    def check_asked(self, run, epoch, step):
        """The programs answer each time that it was served."""
        found = run.at(epoch, step)
        status, said = self.ask("--steps", f"{step}..{step}", "--all",
                                "--epoch", epoch)
        if not found:
            self.assertEqual(status, 1)
            return
        wanted = [[place, rank, batch] for place, ranks in found
                  for rank, batch in enumerate(ranks)]
        self.assertEqual(status, 0)
        for line, (place, rank, batch) in zip(said, wanted):
            words, _, samples = line.partition(":")
            numbers = [int(word) for word in words.split()[1::2]]
            self.assertEqual(numbers[:3], [*place, rank])
            self.assertEqual([int(each) for each in samples.split()], batch)
        self.assertEqual(len(said), len(wanted))

    @staticmethod
    def to_come(run, indices):
        """Which samples the next turns have in their datasets' present
        epochs."""
        ranks, found = copy.deepcopy(run.ranks), set()
        one = ranks[0]
        begun = [one._own_epoch(index) for index in indices]
        for _ in range(0 if run.carries else 40):
            given = [next(each, None) for each in ranks]
            if given[0] is None:
                break
            found.update(index for index, epoch in zip(indices, begun)
                         if one._own_epoch(index) == epoch and
                         any(index in batch for batch in given))
        return found

    def check_place(self, run, index, to_come):
        """Where a sample was in this epoch, if it was or will be."""
        one, again = run.ranks[0], False
        try:
            place = one.locate(index)
        except ValueError as error:
            self.assertRegex(str(error), "skipped at|not serve|base|"
                             "below num_samples|before this|not served it|"
                             "stretch|off|end|is served again without it")
            place, again = None, "served again" in str(error)
        served = [(at, rank, slot) for at, ranks in run.log
                  for rank, batch in enumerate(ranks)
                  for slot, each in enumerate(batch) if each == index]
        here = [each for each in served if each[0][0] == one.epoch]
        if place and not any(
                (at[1], rank, slot) == (place.step, place.rank, place.slot)
                for at, rank, slot in (served if run.carries else here)):
            self.assertGreaterEqual(place.step, one.step)
        if place:
            self.assertEqual(
                one.at(place.step, place.rank)[place.slot], index)
        if index in to_come:
            self.assertTrue(place)
        if isinstance(one, Sampler) and not run.carries and not place:
            self.assertEqual(bool(here), again)

    def check_where(self, run, index):
        """A sample of this epoch is found if any of its batches had it."""
        status, said = self.ask("--where", index)
        self.assertEqual("not served" in said[0], status == 1 and
                         "num_samples" not in said[0])
        if not run.carries and not isinstance(run, MixRun):
            self.assertEqual(status == 0, any(
                index in batch for place, ranks in run.log
                if place[0] == run.ranks[0].epoch for batch in ranks))

    def random_runs(self, kind, count):
        asked = 0
        for random in cases(count, kind.__name__):
            run = kind(random)
            for _ in range(random.randrange(60)):
                run.act()
            for (epoch, step), _ in run.log:
                self.check_step(run, epoch, step)
            for epoch in range(6):
                for step in range(12):
                    self.check_step(run, epoch, step)
            to_come = self.to_come(run, range(12))
            for index in range(12):
                self.check_place(run, index, to_come)
            if asked < count // 8 and len(run.log) > 9:
                asked += 1
                with open(self.path, "wb") as file:
                    file.write(run.ranks[0].save())
                for (epoch, step), _ in random.sample(run.log, 9):
                    self.check_asked(run, epoch, step)
                for step in range(4):
                    self.check_asked(run, run.ranks[0].epoch, step)
                for index in range(12):
                    self.check_where(run, index)

    def test_samplers(self):
        self.random_runs(SamplerRun, 250)

    def test_mixes(self):
        self.random_runs(MixRun, 250)

    def test_schedules(self):
        self.random_runs(ScheduledRun, 100)

    def test_names(self):
        self.random_runs(NamedRun, 100)

    def test_the_run_of_a_loss_spike(self):
        """That of examples/history.c, in words."""
        one = Sampler(64000, 0, 8, 16, seed=42)
        batches = [next(one).tolist() for _ in range(290)]
        skipped = one.at(300).tolist()
        one.seek(321)
        while one.step < 400:
            next(one)
        other = Sampler(64000, 0, 6, 16, seed=42)
        other.load(one.save())
        while other.step < other.num_steps:
            next(other)
        self.assertEqual([other.at(step).tolist() for step in range(290)],
                         batches)
        self.assertEqual(len(other.at(300, 7, straight=True))
                         if other.at(400) is None else 16, 16)
        with self.assertRaisesRegex(ValueError, "^step 300 of epoch 0: skipped "
                                    "at step 290 of epoch 0 by a seek to 321"):
            other.at(300)
        for index in skipped:
            with self.assertRaisesRegex(
                    ValueError, f"^sample {index}: not served in epoch 0, "
                    "since step 0 of epoch 0, from which on it is known$"):
                other.locate(index)
        with open(self.path, "wb") as file:
            file.write(other.save())
        self.assertIn("2 events since step 0 of epoch 0", self.about())
        self.assertEqual(self.ask("--steps", "300..300")[0], 1)
        self.assertEqual(self.ask("--where", skipped[0]),
                         (1, [f"{skipped[0]}: epoch 0: not served"]))
        self.assertEqual(self.ask("--world-size", 3, "--steps", "5..5")[0], 1)
        # What is to come is asked of the state alone.
        self.assertEqual(self.ask("--epoch", 1, "--steps", "0..0")[0], 1)
        self.ask("--epoch", 1, "--steps", "0..0", "--straight")

    def test_served_as_padding(self):
        """A sample whose own place was skipped, and that was served as padding
        of the last step, is found there."""
        options = {"seed": 1, "partition": "blocked"}, {"seed": 1}, {
            "seed": 2, "batch_size": 3}, {"seed": 3, "num_samples": 2}
        for each in options:
            each = {"num_samples": 10, **each}
            ranks = [Sampler(rank=rank, world_size=4, **each)
                     for rank in range(4)]
            length = each.pop("num_samples")
            mixes = [Mix([length], rank, 4, **each) for rank in range(4)]
            for runs in ranks, mixes:
                last = runs[0].num_steps - 1
                for run in runs:
                    run.seek(last)
                served = [next(run).tolist() for run in runs]
                with open(self.path, "wb") as file:
                    file.write(runs[0].save())
                padded = 0
                for index in range(length):
                    status, (said, *_) = self.ask("--where", index)
                    here = [rank for rank in range(4) if index in served[rank]]
                    self.assertEqual(status, 0 if here else 1)
                    if here:
                        place = runs[0].locate(index)
                        self.assertEqual((place.step, place.rank),
                                         (last, here[0]))
                        self.assertEqual(served[here[0]][place.slot], index)
                        padding = place.position >= length
                        self.assertEqual(" as padding" in said, padding)
                        padded += padding
                self.assertEqual(padded > 0, last > 0)

    def test_carry_begun_elsewhere(self):
        """A step of each epoch is known, though steps count anew."""
        one = Sampler(10, 0, 1, 3, tail="carry")
        first = [next(one).tolist() for _ in range(8)]
        one.begin(5)
        again = next(one).tolist()
        self.assertEqual(one.at(0).tolist(), again)
        self.assertEqual(one.at(0, epoch=5).tolist(), again)
        for step, epoch in (0, 0), (3, 0), (4, 1), (5, 1), (7, 2):
            self.assertEqual(one.at(step, epoch=epoch).tolist(), first[step])
        self.assertEqual(one.at(4, epoch=6), one.at(4))     # To come.
        for step, epoch in (0, 1), (4, 0), (4, 5), (9, 2), (0, 6):
            with self.assertRaisesRegex(
                    ValueError, f"^step {step}: none begins in epoch {epoch}. "
                    "With .*: leave out epoch=, or give the one in which"):
                one.at(step, epoch=epoch)
        one.seek(20)
        with self.assertRaisesRegex(ValueError, "skipped at step 1 of epoch 5"):
            one.at(12, epoch=8)

    def test_carry_served_again(self):
        """Of steps to come epoch= finds what will be served, on the ranks of
        then, and not what was served before a seek back."""
        old, one = [Sampler(100, 0, ranks, 3, tail="carry")
                    for ranks in (1, 2)]
        [next(old) for _ in range(9)]
        old.seek(2)
        one.load(old.save())
        for rank in 0, 1:
            self.assertEqual(one.at(5, rank, epoch=0), one.at(5, rank))
        to_come = one.at(5, epoch=0)
        [next(one) for _ in range(3)]
        self.assertEqual(to_come, next(one))

    def test_carry_with_epochs_within_a_step(self):
        one = Sampler(5, 0, 1, 12, tail="carry", seed=7)
        batches = [next(one).tolist() for _ in range(2)]
        one.seek(4)
        batches += [None, None, next(one).tolist()]
        with open(self.path, "wb") as file:
            file.write(one.save())
        for epoch, index in itertools.product(range(14), range(5)):
            status, (said, *_) = self.ask("--where", index, "--epoch", epoch)
            served = [(step, at % 12) for step, at in (
                divmod(at, 12) for at in range(5 * epoch, 5 * epoch + 5))
                if step < 5 and batches[step] and batches[step][at] == index]
            if not served:
                self.assertEqual((status, said),
                                 (1, f"{index}: epoch {epoch}: not served"))
            for step, slot in served:
                self.assertEqual(status, 0)
                self.assertTrue(said.startswith(
                    f"{index}: epoch {epoch} step {step} rank 0 slot {slot} "))

    def test_served_again_on_other_ranks(self):
        """locate() and at() mean the same serving of a step, the last one."""
        one = Sampler(60, 0, 2, 3)
        for _ in range(8):
            next(one)
        one.seek(3)
        other = Sampler(60, 0, 3, 3)
        other.load(one.save())
        for _ in range(2):
            next(other)
        other.seek(7)
        next(other)
        places = {}
        for index in range(60):
            try:
                places[index] = other.locate(index)
            except ValueError as error:
                places[index] = str(error)
        found = [place for place in places.values() if
                 not isinstance(place, str)]
        # Steps 5 and 6 are those of two ranks, the others of three.
        for index, place in places.items():
            if place in found:
                self.assertEqual(other.at(place.step, place.rank)[place.slot],
                                 index)
        self.assertEqual(
            {place.step for place in found}, {*range(other.num_steps)})
        said = [words.partition(": ")[2] for words in places.values()
                if words not in found]
        self.assertEqual(collections.Counter(said), {
            "it was in step 7 of epoch 0, which is served again without it": 6,
            "not served in epoch 0, since step 0 of epoch 0, from which on it "
            "is known": 6})

    def test_served_again_in_a_stage_to_come(self):
        """Its dataset is off in the present one."""
        mix = Mix([64, 64], 0, 1, 4, seed=1, schedule=Schedule(
            lambda turn: (4, [1, 0] if turn % 8 < 4 else [0, 1])))
        served = [next(mix).tolist() for _ in range(8)]
        mix.seek(1)
        for step in range(1, 8):
            for slot, index in enumerate(served[step]):
                self.assertEqual(mix.locate(index)[:3], (step, 0, slot))

    def test_perhaps_in_a_stage_that_is_not_known(self):
        """With shares of tokens that is said of a sample whose step is served
        again without it, and of one that may come as padding."""
        def make(world_size):
            return Mix([10, 10], 0, world_size, shuffle=False,
                       schedule=Schedule([(2, [1, 0]), (99, [1, 1])], [1, 1]))
        again, fewer, skipped = make(4), make(2), make(4)
        next(again), next(again)
        again.seek(0)
        fewer.load(again.save())
        self.assertEqual(fewer.locate(3).step, 1)
        skipped.seek(1)
        for run, index in (fewer, 4), (skipped, 0):
            with self.assertRaisesRegex(ValueError, "tokens"):
                run.locate(index)
        with self.assertRaisesRegex(ValueError, "not served in epoch 0"):
            skipped.locate(3)

    def test_a_rank_that_came_later(self):
        """The programs name the step that had fewer ranks; if another time it
        had enough, they answer that."""
        one = Sampler(60, 0, 2, 3)
        for _ in range(3):
            next(one)
        other = Sampler(60, 3, 4, 3)
        other.load(one.save())
        next(other)
        other.begin(0)
        other.seek(1)
        again = next(other).tolist()
        other.seek(4)
        with open(self.path, "wb") as file:
            file.write(other.save())
        self.assertEqual(
            self.ask("--steps", "3..3", "--rank", 3),
            (0, ["epoch 0 step 3 rank 3: " +
                 " ".join(map(str, other.at(3, 3)))]))
        self.assertEqual(
            self.ask("--steps", "1..1", "--rank", 3),
            (0, ["epoch 0 step 1 rank 3: " + " ".join(map(str, again))]))
        for steps in "2..2", "2..3":
            self.assertEqual(
                self.ask("--steps", steps, "--rank", 3),
                (1, ["step 2 of epoch 0 was served to 2 ranks, from 0 on\n"]))
        for asked in ["--where", 7], ["--steps", "3..3"]:
            self.assertEqual(
                self.ask(*asked, "--rank", 4),
                (1, ["there were at most 4 ranks, from 0 on\n"]))
            self.assertEqual(
                self.ask("--straight", *asked, "--rank", 4),
                (1, ["there are 4 ranks, from 0 on\n"]))

    def test_samples_that_were_never_there(self):
        """They are named; of a dataset that was once longer, they are not
        served."""
        one = Sampler(20, 0, 1, 3, shuffle=False)
        next(one)
        one.resize(24)
        next(one)
        one.resize(21)
        mix = Mix([9, 9], 0, 1, 3)
        next(mix)
        mix.weigh([1, 0])
        planned = Mix([9, 9], 0, 1, 3, schedule=Schedule([(None, [1, 0])]))
        next(planned)
        for run, there, outside in ((one, 23, 24), (mix, 17, 18),
                                    (planned, 17, 18)):
            with self.assertRaisesRegex(ValueError, "not below num_samples"):
                run.locate(outside)
            with open(self.path, "wb") as file:
                file.write(run.save())
            for epoch in range(1 if run is planned else 3):
                for index, words in (
                        (there, "not served"),
                        (outside, "index is not below num_samples"),
                        (2**64 - 1, "index is not below num_samples")):
                    self.assertEqual(
                        self.ask("--where", index, "--epoch", epoch),
                        (1, [f"{index}: epoch {epoch}: {words}"]))

    def test_a_history_of_c(self):
        """Python goes on where a program in C has saved."""
        subprocess.run([self.history, self.path], check=True,
                       stdout=subprocess.DEVNULL)
        one = Sampler(64000, 0, 6, 16, seed=42)
        with open(self.path, "rb") as file:
            saved = file.read()
        one.load(saved)
        self.assertEqual(one.save(), saved)
        self.assertEqual(one.at(433, 0, epoch=0)[3], 7)
        self.assertEqual(len(one.at(289, 7, epoch=0)), 16)
        with self.assertRaisesRegex(ValueError, "by a seek to 321"):
            one.at(300, epoch=0)
        one.seek(500)
        next(one)
        with open(self.path, "wb") as file:
            file.write(one.save())
        for epoch, step in (0, 499), (1, 500):
            self.assertEqual(self.ask("--epoch", epoch, "--steps",
                                      f"{step}..{step}", "--all")[0], 0)

    def about(self):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            self.assertEqual(command([self.path]), 0)
        return out.getvalue()

    def test_a_state_without_a_history(self):
        """As all were until 0.9.3. It knows its own step and later ones."""
        for make in (lambda: Sampler(100, 0, 2, 3),
                     lambda: Mix([40, 60], 0, 2, 3, stop="all")):
            one, other = make(), make()
            whole = [one.at(step).tolist() for step in range(12)]
            for _ in range(5):
                next(one)
            state = one.save(history=False)
            self.assertEqual(state, one.plain().save())
            self.assertEqual(state, library_state(one.save()))
            other.load(state)
            next(other)
            self.assertEqual(other.at(5).tolist(), whole[5])
            self.assertEqual(other.at(8).tolist(), whole[8])
            with self.assertRaisesRegex(ValueError, "^step 4 of epoch 0: not "
                                        "served since step 5 of epoch 0, where "
                                        "this history begins$"):
                other.at(4)
            again = make()
            again.load(other.save())
            with self.assertRaisesRegex(ValueError, "since step 5"):
                again.at(4)
            with self.assertRaisesRegex(ValueError, "since step 5 of epoch 0"):
                again.locate(whole[4][0])
            self.assertEqual(again.at(5).tolist(), whole[5])

    def test_epochs_to_come(self):
        one, other = Sampler(50, 0, 2, 3), Mix([20, 30], 0, 2, 3, stop="all")
        for each in one, other:
            to_come = [each.at(step, epoch=2) for step in range(12)]
            ends = each.num_steps
            for _ in range(2):
                list(each)
            for step, batch in enumerate(to_come):
                self.assertEqual(batch is None, step >= ends)
                if batch:
                    self.assertEqual(each.at(step), batch)
            with self.assertRaisesRegex(ValueError, "the present epoch"):
                each.at(0, epoch=0, straight=True)

    def test_many_events(self):
        """A history grows. One that is too large begins anew."""
        one = Sampler(10**6, 0, 1, 1)
        for step in range(5000):
            one.seek(10 * step)
            next(one)
        state = one.save()
        self.assertLess(len(state), 5000 * 32 + 400)
        other = Sampler(10**6, 0, 1, 1)
        other.load(state)
        self.assertEqual(other.at(30).tolist(), one.at(30, straight=True
                                                       ).tolist())
        with self.assertRaisesRegex(ValueError, "step 12 .* by a seek to 20"):
            other.at(12)
        other.seek(8)
        self.assertEqual(other.at(7, straight=True), one.at(7, straight=True))
        with unittest.mock.patch("statesampler.recorded._MOST", 2000):
            one = Sampler(10**6, 0, 1, 1)
            with self.assertWarnsRegex(UserWarning, "has 0.0 MB, and begins "
                                       "anew at step "):
                for step in range(200):
                    one.seek(10 * step)
                    next(one)
            self.assertLess(len(one.save()), 4000)
            with self.assertRaisesRegex(ValueError, "not served since step"):
                one.at(3)
            self.assertEqual(len(one.at(1980)), 1)

    def test_back_to_before_the_history(self):
        """A Mix goes to before a history that began anew, which then begins
        anew there; and no further than it would without one."""
        mix = Mix([1000, 1000], 0, 1, 1)
        mix.seek(50)
        mix.load(mix.save(history=False))
        mix.seek(100)
        mix._begin_history()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.refuses(mix, lambda: mix.seek(60), UserWarning)
            self.refuses(mix, lambda: mix.seek(40), ValueError)
        with self.assertWarnsRegex(UserWarning, "began after this step, and "
                                   "begins anew at step 60 "):
            mix.seek(60)
        batch = next(mix).tolist()
        again = Mix([1000, 1000], 0, 1, 1)
        again.load(mix.save())
        self.assertEqual(again.at(60).tolist(), batch)
        with self.assertRaisesRegex(ValueError, "before the base"):
            mix.seek(40)
        self.assertEqual(mix.step, 61)

    def refuses(self, one, act, kind):
        """And changes nothing."""
        before = one.save()
        with self.assertRaises(kind):
            act()
        self.assertEqual(one.save(), before)

    def test_warnings_as_errors(self):
        """Nothing has been done when they come."""
        one = Mix([1000, 1000], 0, 1, 1, schedule=Schedule(
            [(99, [1, 1])], [10, 10]))
        for _ in range(60):
            next(one)
            one.had(10)
        one._begin_history()
        next(one)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.refuses(one, lambda: one.seek(55), UserWarning)
            one.had(10)     # of turn 60
            with unittest.mock.patch("statesampler.recorded._MOST", 9):
                for each in Sampler(9**9, 0, 1, 1), Mix([9**9], 0, 1, 1):
                    for act in (lambda: each.seek(each.step + 7),
                                lambda: each.begin(each.epoch + 1)):
                        with contextlib.suppress(UserWarning):
                            for _ in range(99):
                                act()
                        self.refuses(each, act, UserWarning)

    def test_begun_in_mid_run(self):
        """What may have been served before a history began is not said to have
        been skipped alone, nor never served."""
        for one in Sampler(1000, 0, 1, 4), Mix([1000, 1000], 0, 1, 4):
            for _ in range(180):
                next(one)
            one.seek(150)
            one.load(one.save(history=False))
            one.seek(170)
            next(one)
            known = "not served since step 150 of epoch 0, where this history "
            known += "begins"
            both = f"{known}; skipped at step 150 of epoch 0 by a seek to 170"
            with self.assertRaisesRegex(ValueError,
                                        f"^step 160 of epoch 0: {both}$"):
                one.at(160)
            with open(self.path, "wb") as file:
                file.write(one.save())
            for step, why in ((149, known), (160, both), (175, known),
                              (9999, known)):
                self.assertEqual(self.ask("--steps", step),
                                 (1, [f"step {step} of epoch 0: {why}\n"]))
            one.begin(1)
            with self.assertRaisesRegex(ValueError, known):
                one.at(175, epoch=0)
            one.seek(5)     # It knows all of this epoch.
            with self.assertRaisesRegex(ValueError, "skipped at step 0 of "
                                        "epoch 1 by a seek to 5"):
                one.at(4)

    def test_back_to_before_the_beginning(self):
        """Of a history: it then knows some of the steps there."""
        first, one = Sampler(1000, 0, 1, 8), Sampler(1000, 0, 1, 8)
        first.seek(20)
        one.load(first.save(history=False))
        next(one)
        one.seek(5)
        served = next(one).tolist()
        one.seek(30)
        next(one)
        self.assertEqual(one.at(5).tolist(), served)
        with open(self.path, "wb") as file:
            file.write(one.save())
        known = "not served since step 20 of epoch 0, where this history begins"
        skip = "; skipped at step 6 of epoch 0 by a seek to 30"
        for step, more in (4, ""), (10, skip), (25, skip):
            why = f"step {step} of epoch 0: {known}{more}"
            with self.assertRaisesRegex(ValueError, f"^{why}$"):
                one.at(step)
            self.assertEqual(self.ask("--steps", step), (1, [why + "\n"]))

    def test_a_skip_on_other_ranks(self):
        """Right after a resume: it is of the steps that the epoch then has."""
        for make in (lambda ranks: Sampler(1000, 0, ranks, 10),
                     lambda ranks: Mix([500, 500], 0, ranks, 10)):
            first, one = make(8), make(2)
            for _ in range(5):
                next(first)
            one.load(first.save())
            one.seek(20)
            next(one)
            with open(self.path, "wb") as file:
                file.write(one.save())
            for step in 5, 6, 13, 19:
                why = (f"step {step} of epoch 0: skipped at step 5 of epoch 0 "
                       "by a seek to 20")
                with self.assertRaisesRegex(ValueError, f"^{why}$"):
                    one.at(step)
                self.assertEqual(self.ask("--steps", step), (1, [why + "\n"]))

    def test_skips_of_steps_that_were_not_there(self):
        """The first skip that passed over a step when there was one."""
        grown = Sampler(20, 0, 1, 1, shuffle=False)
        for _ in range(5):
            next(grown)
        grown.begin(1)
        grown.begin(0)
        grown.resize(50)
        grown.seek(10)
        next(grown)
        # This epoch has 75 turns, the next ones have 16; then they have more.
        mix = Mix([8, 8], 0, 1, 1, stop="restart", weights=[1, 100])
        for _ in range(60):
            next(mix)
        mix.weigh([1, 1])
        for _ in range(5):
            next(mix)
        mix.begin(3)
        next(mix)
        mix.begin(0)
        mix.weigh([1, 2])
        next(mix)
        for one, epoch, there, place in (grown, 0, 40, 11), (mix, 2, 18, 1):
            one.begin(4)
            with open(self.path, "wb") as file:
                file.write(one.save())
            for step in there, there + 2, 99:
                why = ("the run has not served it" if step == 99 else
                       f"skipped at step {place} of epoch 0 by a begin to 4")
                why = f"step {step} of epoch {epoch}: {why}"
                with self.assertRaisesRegex(ValueError, f"^{why}$"):
                    one.at(step, epoch=epoch)
                self.assertEqual(self.ask("--steps", step, "--epoch", epoch),
                                 (1, [why + "\n"]))

    def test_a_sample_that_comes_often(self):
        """Its places are printed as they are found."""
        mix = Mix([1, 50], 0, 1, 1, stop="never")
        mix.go_to(2**40)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "state")
            with open(path, "wb") as file:
                file.write(mix.save())
            with subprocess.Popen(
                    [sys.executable, "-B", "-m", "statesampler", path,
                     "--where", "0"], cwd=EXAMPLES,
                    stdout=subprocess.PIPE, text=True) as told:
                lines = [told.stdout.readline() for _ in range(5000)]
                told.stdout.close()
                self.assertEqual(told.wait(), 1)
        self.assertEqual([line.split()[4] for line in lines],
                         [str(2 * i) for i in range(5000)])

    def test_epochs_that_begin_again_at_0(self):
        """They count modulo 2^64."""
        last = 2**64 - 1
        for make in (lambda: Sampler(9, 0, 1, 2, epoch=last),
                     lambda: Mix([9], 0, 1, 2, epoch=last)):
            one, again = make(), make()
            one.seek(1)
            served = list(one)[0]
            first = next(one)
            again.load(one.save())
            one.seek(2)
            for each in one, again:
                self.assertEqual(each.epoch, 0)
                self.assertEqual(each.at(0), first)
                self.assertEqual(each.at(1, epoch=last), served)
                with self.assertRaisesRegex(ValueError, "skipped at step 0 of "
                                            f"epoch {last} by a seek to 1"):
                    each.at(0, epoch=last)
            with self.assertRaisesRegex(ValueError, "skipped at step 1 of "
                                        "epoch 0 by a seek to 2"):
                one.at(1)

    def test_epochs_of_a_dataset_that_begin_again_at_0(self):
        mix = Mix([10, 6], 0, 1, 2, stop="never", epoch=2**64 - 1)
        served = [[*next(mix)] for _ in range(14)]
        with open(self.path, "wb") as file:
            file.write(mix.save())
        for index in range(16):
            status, lines = self.ask("--where", index)
            self.assertEqual(status, 0)
            self.assertEqual([int(line.split()[4]) for line in lines],
                             [turn for turn, batch in enumerate(served)
                              if index in batch])

    def test_what_is_refused(self):
        """A history that is damaged, cut or of another run. Nothing then
        changes."""
        def made():
            for one in (Sampler(50, 0, 1, 3, shuffle=False),
                        Mix([30, 20], 0, 1, 3, stop="all")):
                next(one)
                one.seek(7)
                next(one)
                yield one
        for one, other in zip(made(), made()):
            state = one.save()
            other.seek(3)
            before = other.save()
            history = state[:-len(one.save(history=False))]
            for wrong in (*(state[:at] for at in range(4, len(state), 9)),
                          *(state[:at] + bytes([state[at] ^ 4]) +
                            state[at + 1:] for at in range(0, len(state), 5)),
                          history, history + before, before[:-9] + state[-9:],
                          history + other.save(history=False)):
                with self.assertRaises(ValueError):
                    other.load(wrong)
                self.assertEqual(other.save(), before)
        one, other = made()
        for state in one.save(), one.save(history=False):
            with self.assertRaises(ValueError):
                other.load(state)
        rest = Sampler(50, 0, 1, 3, shuffle=False)
        rest.seek(3)
        with self.assertRaisesRegex(ValueError, "the run is before the last"):
            rest.load(one.save()[:-112] + rest.save(history=False))

    def test_a_damaged_schedule(self):
        """Its state comes first."""
        mix = Mix([50, 50], 0, 1, 1, schedule=Schedule(
            [(10, [9, 1]), (None, [1, 9])]))
        next(mix)
        saved = mix.save()
        for at in range(4, 48):
            damaged = bytearray(saved)
            damaged[at] ^= 1
            with open(self.path, "wb") as file:
                file.write(damaged)
            status, said = self.ask("--straight", "--steps", "3..11")
            self.assertEqual(status, 1)
            self.assertRegex("".join(said), "^the (state's bytes have changed|"
                             "size of the state or file is wrong)\n$")
            with self.assertRaises(ValueError):
                mix.load(bytes(damaged))
            self.assertEqual(mix.save(), saved)

    def test_weights(self):
        """Those of the state go on, as in C."""
        one = Mix([20, 20, 20], 0, 1, 2, [2, 1, 1], "never")
        next(one)
        one.weigh([1, 0, 5])
        state, served = one.save(), [next(one).tolist() for _ in range(12)]
        self.assertFalse(any(20 <= i < 40 for batch in served for i in batch))
        for given in [2, 1, 1], [3, 3, 3]:
            for saved in state, library_state(state):
                other = Mix([20, 20, 20], 0, 1, 2, given, "never")
                other.load(saved)
                for one in other.plain(), copy.copy(other), other:
                    self.assertEqual([next(one).tolist() for _ in range(12)],
                                     served)
        for wrong, words in (([1, 1], "3 items"), ([0, 0, 0], "off"),
                             ([-1, 1, 1], "weight"), (3, "weights")):
            with self.assertRaisesRegex(ValueError, words):
                one.weigh(wrong)

    def test_a_ledger_has_none(self):
        """It seeks for each ticket."""
        one = Sampler(50, 0, 1, 3)
        one.seek(5)
        state = Ledger(one, 64).state_dict()
        self.assertEqual(len(state["sampler"]), 224)

    def test_time(self):
        """An event costs little, and so does an answer."""
        one = Sampler(10**9, 0, 8, 16)
        begun = time.perf_counter()
        for step in range(1000):
            one.seek(20 * step + 3)
        noted = time.perf_counter()
        self.assertRaises(ValueError, one.at, 7)
        self.assertLess(noted - begun, .1)
        self.assertLess(time.perf_counter() - noted, .1)

    @staticmethod
    def took(ask, *arguments):
        """Of the processor's time, which other programs take no part of, and
        which may come in ticks: so often that it takes several."""
        times = []
        for _ in range(3):
            calls, took, begun = 0, 0, time.process_time()
            while took < .03:
                ask(*arguments)
                calls, took = calls + 1, time.process_time() - begun
            times.append(took / calls)
        return min(times)

    def test_time_of_many_epochs(self):
        """A dataset has gone through 10^8 of its own."""
        mix = Mix([10**9, 8], 0, 1, 8, stop="never")
        mix.go_to(2 * 10**8)
        self.assertLess(self.took(mix.locate, 10**9 + 3), .01)

    def test_time_of_many_weights(self):
        """Beside a load, which goes through all of them; and of the last
        dataset beside the first."""
        mix = Mix([10**6] * 1000, 0, 1, 8, stop="never")
        for number in range(300):
            mix.weigh([100 + (7 * i + number) % 13 for i in range(1000)])
            mix.go_to(mix.step + 10)
        self.assertLess(self.took(mix.at, 5), self.took(mix.load, mix.save()))
        self.assertLess(self.took(mix.locate, 10**9 - 1),
                        1.4 * self.took(mix.locate, 0))


if __name__ == "__main__":
    main()
