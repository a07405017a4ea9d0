"""The histories of the samplers for torch: of runs that are steered and killed
at random, `python -m statesampler` says what was served, on which ranks."""

import collections
import importlib.util
import io
import os
import pickle
import re
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock
import warnings
from contextlib import redirect_stderr, redirect_stdout

from common import (
    EXAMPLES, ROOT, Uncounted, cases, counted, main, raw, torch)
from statesampler import (Mix, RepeatSampler, RoundRobinBatchSampler, Sampler,
                          StatefulDistributedSampler, StatefulLoader)
from statesampler.__main__ import main as command


class Run:
    """All ranks of a run, and what they were served: a dict of epoch and step,
    each time with the batches of all ranks
    and how many of their last samples are padding."""

    def __init__(self, random):
        self.random, self.served, self.kept = random, {}, []
        self.ranks = random.randrange(1, 5)
        self.describe(random)
        self.start()

    def start(self, state=None):
        self.samplers = [self.make(rank) for rank in range(self.ranks)]
        for each in self.samplers:
            if state:
                each.load_state_dict(state)
        self.loaders = [self.loader(each) for each in self.samplers]
        self.loops = None

    def place(self):
        return self.samplers[0].epoch, self.samplers[0].start_iter

    def serve(self, count):
        """So many steps, or to the end of the epoch."""
        self.loops = self.loops or [iter(each) for each in self.loaders]
        for _ in range(count):
            batches = [next(each, None) for each in self.loops]
            if batches[0] is None:
                self.loops = None
                return
            epoch, step = self.place()
            padding = [each.padding(step - 1) for each in self.samplers]
            self.served.setdefault((epoch, step - 1), []).append(
                [(batch or [], repeats)
                 for batch, repeats in zip(batches, padding)])

    def all(self, act):
        """What is refused is so on all ranks."""
        refused = 0
        for each in self.samplers:
            try:
                act(each)
            except ValueError:
                refused += 1
        assert refused in (0, self.ranks)
        loop = self.samplers[0]._loop
        if loop is None or loop.over:
            self.loops = None

    def alike(self):
        """With "uneven" only some ranks may have all of the epoch."""
        return len({(each._has_all(), each.epoch)
                    for each in self.samplers}) == 1

    def state(self):
        states = [each.state_dict() for each in self.loaders]
        for each in states:
            # With "uneven" some ranks are at the end of the epoch before.
            assert self.options.get("tail") == "uneven" or (
                raw(each) == raw(states[0]) and
                each.get("history") == states[0].get("history"))
        return states[0]

    def keep(self):
        self.kept.append((self.state(), {
            place: [*batches] for place, batches in self.served.items()}))

    def resume(self):
        """From this checkpoint or an earlier one, on any ranks."""
        self.keep()
        state, self.served = self.random.choice(self.kept[-3:])
        self.served = {place: [*batches]
                       for place, batches in self.served.items()}
        if self.random.random() < .6:
            self.ranks = self.random.randrange(1, 5)
        saved = io.BytesIO()
        torch.save(state, saved)
        saved.seek(0)
        self.start(torch.load(saved, weights_only=True))

    def act(self):
        random = self.random
        kind = random.randrange(8)
        if kind < 2:
            self.resume()
        elif not self.alike():
            pass
        elif kind == 2:
            epoch = random.randrange(4)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.all(lambda each: each.set_epoch(epoch))
        elif kind == 3:
            epoch = random.randrange(4)
            self.all(lambda each: each.begin(epoch))
        elif kind == 4:
            step = random.randrange(12)
            self.all(lambda each: each.set_start_iter(step))
        elif kind == 5:
            self.steer()
        elif kind == 6:
            self.loops = None   # The next one starts over.
        self.serve(random.randrange(9))


class LoaderRun(Run):
    asked = property(lambda self: ["--batch-size", str(self.size)])

    def describe(self, random):
        self.n, self.size = random.randrange(1, 60), random.randrange(1, 6)
        self.options = dict(
            seed=random.randrange(99), shuffle=random.random() < .7,
            tail=random.choice(["pad", "drop", "uneven"]),
            partition=random.choice(["interleaved", "blocked"]))

    def make(self, rank):
        return StatefulDistributedSampler(
            range(self.n), self.ranks, rank, batch_size=self.size,
            **self.options)

    def loader(self, sampler):
        return StatefulLoader(Uncounted(range(self.n), self.size,
                                        sampler=sampler), sampler)

    def steer(self):
        if not self.options["shuffle"] and (
                self.options["partition"] == "interleaved"):
            n = self.n + self.random.randrange(1, 20)
            self.all(lambda each: each.resize(n))
            self.n = self.samplers[0]._cursor.num_samples
            self.kept = []
            self.loaders = [self.loader(each) for each in self.samplers]


class TurnsRun(Run):
    asked = []

    def describe(self, random):
        self.lengths = [random.randrange(1, 30)
                        for _ in range(random.randrange(1, 4))]
        self.options = dict(
            batch_size=random.randrange(1, 5), seed=random.randrange(99),
            weights=random.choice([None, [random.randrange(1, 4)
                                          for _ in self.lengths]]),
            stop=random.choice(["first", "all", "restart", "never"]),
            drop_last=random.random() < .3 and min(self.lengths) > 20,
            partition=random.choice(["interleaved", "blocked"]))

    def make(self, rank):
        return RoundRobinBatchSampler(self.lengths, num_replicas=self.ranks,
                                      rank=rank, **self.options)

    def start(self, state=None):
        with warnings.catch_warnings():     # of weights
            warnings.simplefilter("ignore")
            super().start(state)

    def loader(self, sampler):
        return StatefulLoader(Uncounted(range(sum(self.lengths)),
                                        batch_sampler=sampler), sampler)

    def steer(self):
        weights = [self.random.randrange(1, 5) for _ in self.lengths]
        self.all(lambda each: each.weigh(weights))


def one_loop(sampler, n):
    return StatefulLoader(Uncounted(range(n), 4, sampler=sampler), sampler)


class Pasts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.path = os.path.join(folder.name, "checkpoint")

    def ask(self, *arguments):
        """What is answered, or why nothing is."""
        out, error = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(error):
            status = command([self.path, *map(str, arguments)])
        return out.getvalue().splitlines() if status == 0 else (
            error.getvalue() or out.getvalue())

    def check(self, run):
        state = run.state()
        torch.save({"sampler": state}, self.path)
        options = run.asked
        for (epoch, step), times in run.served.items():
            said = self.ask(*options, "--all", "--epoch", epoch, "--steps",
                            f"{step}..{step}")
            self.assertIsInstance(said, list, said)
            wanted = [[*batch] for batches in times for batch, _ in batches
                      if batch]
            found = [[*map(int, line.split(":")[1].split())] for line in said]
            self.assertEqual(found, wanted, (epoch, step))
        for epoch in range(5):
            for step in range(14):
                if (epoch, step) not in run.served:
                    said = self.ask(*options, "--epoch", epoch, "--steps",
                                    f"{step}..{step}")
                    self.assertIsInstance(said, str, (epoch, step))
                    self.assertIn(f"step {step} of epoch {epoch}: "
                                  if "history" in state else
                                  "a state is one place", said)
        # Each place at which some samples were served.
        for epoch in {epoch for epoch, _ in run.served}:
            places = collections.defaultdict(set)
            for (at, step), times in run.served.items():
                if at == epoch:
                    for batches in times:
                        for rank, (batch, repeats) in enumerate(batches):
                            count = len(batch) - repeats
                            for slot, index in enumerate(batch):
                                places[index].add((step, rank, slot,
                                                   slot >= count))
            for index in run.random.sample(sorted(places),
                                           min(len(places), 3)):
                said = self.ask(*options, "--epoch", epoch, "--where", index)
                self.assertIsInstance(said, list, said)
                for line in said:
                    words = line.split()
                    self.assertIn((*(int(words[at]) for at in (4, 6, 8)),
                                   "padding" in words), places[index])

    def random_runs(self, kind, count):
        steered = 0
        for random in cases(count, kind.__name__):
            run = kind(random)
            for _ in range(random.randrange(1, 25)):
                run.act()
            self.check(run)
            steered += len(run.state().get("history", "")) > 400
        self.assertGreater(steered, count // 2)

    def test_samplers(self):
        self.random_runs(LoaderRun, 60)

    def test_turns(self):
        self.random_runs(TurnsRun, 60)

    def test_small(self):
        """Nothing at the first step, and a word where nothing was done."""
        for make in (lambda **more: StatefulDistributedSampler(
                         range(40), 1, 0, batch_size=4, **more),
                     lambda **more: RoundRobinBatchSampler([30, 20], 4, 0, 1,
                                                           **more)):
            one = make()
            one.set_start_iter(0)
            self.assertEqual(list(one.state_dict()), ["state"])
            for epoch in range(3):
                one.set_epoch(epoch)
                loader = StatefulLoader(one, one)
                for _ in loader:
                    self.assertEqual(one.state_dict()["history"], "")
            other = make()
            other.load_state_dict(one.state_dict())
            self.assertEqual(other.state_dict()["history"], "")
            loader = StatefulLoader(other, other)
            next(iter(loader))      # It is served again.
            next(iter(loader))
            self.assertIn(b"SSH1".hex(), other.state_dict()["history"])
            one.set_start_iter(5)
            other.load_state_dict(one.state_dict())
            for each in (one, other, pickle.loads(pickle.dumps(one))):
                self.assertTrue(each.state_dict()["history"].startswith(
                    b"SSH1".hex()))
            self.assertLess(len(one.state_dict()["history"]), 1100)
            dropped = make(drop_last=True)
            self.assertEqual(list(dropped.state_dict()), ["state"])

    def test_of_older_versions(self):
        """Without a history: the run is known from there on."""
        one = StatefulDistributedSampler(range(40), 1, 0, batch_size=4)
        state = one.state_dict(epoch=1, batches=3)
        self.assertEqual(state.pop("history"), "")
        one.load_state_dict({**state, "history": None})
        self.assertEqual(raw(one.state_dict()), raw(state))
        one.load_state_dict(state)
        list(zip(range(2), StatefulLoader(Uncounted(range(40), 4, sampler=one),
                                          one)))
        wanted = one.at(3), one.at(4)
        torch.save(one.state_dict(), self.path)
        asked = "--batch-size", 4, "--steps"
        for step, batch in enumerate(wanted, 3):
            said, = self.ask(*asked, f"{step}..{step}")
            self.assertEqual([*map(int, said.split(":")[1].split())], batch)
        for step in 2, 5:
            self.assertIn(f"step {step} of epoch 1: not served since step 3 of "
                          "epoch 1, where this history begins",
                          self.ask(*asked, f"{step}..{step}"))
        self.assertIn("not served since step 3 of epoch 1", self.ask(
            "--batch-size", 4, "--where", one.at(7)[0]))

    def test_of_a_distributed_checkpoint(self):
        """As the page says. torch's has each key that it is asked for."""
        with open(os.path.join(ROOT, "examples", "python",
                               "frameworks.md")) as file:
            recipe, = re.findall("^```python\n(found.*?)^```$", file.read(),
                                 re.M | re.S)

        class Checkpoint:
            @staticmethod
            def load(found, checkpoint_id):
                found["loader"] = {key: checkpoint_id[key]
                                   for key in found["loader"]}

        def make():
            one = StatefulDistributedSampler(range(40), 1, 0, batch_size=4)
            return StatefulLoader(one, one)

        one, other = make(), make()
        list(zip(range(8), one))
        for _ in range(2):
            one.set_start_iter(6)
            list(zip(range(8), one))
            exec(recipe, {"loader": other, "dcp": Checkpoint,
                          "path": one.state_dict()})
            self.assertEqual(other.state_dict()["history"],
                             one.state_dict()["history"])
            self.assertGreater(len(one.state_dict()["history"]), 400)
            one, other = other, make()

    def test_questions(self):
        one = StatefulDistributedSampler(range(40), 1, 0, batch_size=4)
        loader = StatefulLoader(Uncounted(range(40), 4, sampler=one), one)
        list(zip(range(2), loader))
        one.set_start_iter(6)
        list(zip(range(2), loader))
        state = one.state_dict()
        # As of older versions.
        self.assertEqual(state.pop("indices_per_batch"), 4)
        torch.save({"s": state}, self.path)
        self.assertIn("1 events since step 0 of epoch 0", self.ask()[0])
        asked = "--batch-size", 4, "--steps"
        self.assertIn("step 4 of epoch 0: skipped at step 2 of epoch 0 by a "
                      "seek to 6", self.ask(*asked, "4..4"))
        self.assertIn("give it by --batch-size", self.ask("--steps", "1..1"))
        self.assertIn("8 samples per rank were served, which batches of "
                      "--batch-size 3 do not", self.ask(
                          "--batch-size", 3, "--steps", "1..1"))
        self.assertIn("knows ranks", self.ask(*asked, "1..1", "--world-size",
                                              2))
        self.assertEqual(self.ask(*asked, "4..4", "--straight")[0].split()[6:],
                         [*map(str, one.at(4))])
        # --drop-last: what is left at an epoch's end is no batch.
        one = StatefulDistributedSampler(range(10), 1, 0, batch_size=4)
        list(StatefulLoader(Uncounted(range(10), 4, sampler=one,
                                      drop_last=True), one))
        torch.save({"s": one.state_dict()}, self.path)
        last = one._in_epoch(0, 0).batch(8, 10, None)
        self.assertEqual(len(self.ask(*asked, "2..2", "--epoch", 0)[0].split()),
                         6 + 2)
        self.assertIn("has not served", self.ask(*asked, "2..2", "--epoch", 0,
                                                 "--drop-last"))
        self.assertIn("step 2 ", self.ask(
            "--batch-size", 4, "--epoch", 0, "--where", last[0])[0])
        self.assertIn("not served", self.ask(
            "--batch-size", 4, "--epoch", 0, "--where", last[0],
            "--drop-last"))

    def test_resized_at_an_end(self):
        """The epoch goes on after a last batch that is not full."""
        one = StatefulDistributedSampler(range(14), 1, 0, shuffle=False,
                                         batch_size=4)
        for number, _ in enumerate(one_loop(one, 14), 1):
            if number == 4:     # After the loop, epoch 0 has ended.
                one.resize(16)
                break
        list(zip(range(1), one_loop(one, 16)))
        torch.save(one.state_dict(), self.path)
        self.assertEqual(self.ask("--batch-size", 4, "--steps", "3..4"),
                         ["epoch 0 step 3 rank 0: 12 13",
                          "epoch 0 step 4 rank 0: 14 15"])

    def test_carry(self):
        """Steps count on through all epochs."""
        one = StatefulDistributedSampler(range(10), 2, 0, tail="carry",
                                         batch_size=2)
        loader = StatefulLoader(Uncounted(range(10), 2, sampler=one), one)
        served = {step: batch for step, batch in zip(range(7), loader)}
        one.set_start_iter(9)
        served.update(zip(range(9, 12), loader))
        torch.save(one.state_dict(), self.path)
        asked = "--batch-size", 2, "--steps"
        for step, batch in served.items():
            said, = self.ask(*asked, f"{step}..{step}")
            self.assertEqual([*map(int, said.split(":")[1].split())], batch)
        self.assertIn("skipped at step 7", self.ask(*asked, "8..8"))

    def test_uncounted(self):
        """Nobody knows what a loop was served that nothing counts."""
        one = StatefulDistributedSampler(range(40), 1, 0, batch_size=4)
        list(zip(range(9), one))
        one.set_epoch(2)
        list(zip(range(8), StatefulLoader(one, one)))
        torch.save(one.state_dict(), self.path)
        self.assertIn("0 events since step 0 of epoch 2", self.ask()[0])
        # What a trainer says counts on from where it is.
        one.set_start_iter(5)
        list(zip(range(9), one))
        torch.save(one.state_dict(epoch=2, batches=7), self.path)
        self.assertEqual(len(self.ask("--batch-size", 4, "--steps", "5..6")),
                         2)
        self.assertNotIn("history", one.state_dict(epoch=2, batches=1))
        other = StatefulDistributedSampler(range(40), 1, 0, batch_size=4)
        other.load_state_dict(one.state_dict(epoch=2, batches=1))
        self.assertEqual([other.epoch, other.start_iter], [2, 1])

    def test_other_datasets(self):
        """Have no part in it."""
        one = RoundRobinBatchSampler([30, 20], 4, 0, 1)
        one.weigh([2, 1])
        other = RoundRobinBatchSampler([30, 25], 4, 0, 1, changed="next_epoch")
        list(zip(range(2), counted(one)))
        other.load_state_dict(one.state_dict())
        list(zip(range(2), counted(other)))
        torch.save(other.state_dict(), self.path)
        self.assertIn("0 events since step 0 of epoch 1", self.ask()[0])

    def test_what_is_damaged(self):
        def make():
            return StatefulDistributedSampler(range(40), 1, 0, batch_size=4)
        one = make()
        one.set_start_iter(3)
        state = one.state_dict()
        place = raw(one.state_dict())
        history = state["history"]
        for wrong in (history[:-2], history[2:], history + "00", "5353", "zz",
                      history[:60] + "ff" + history[62:], "a" * 9):
            with self.assertRaises(ValueError):
                one.load_state_dict({**state, "history": wrong})
            torch.save({**state, "history": wrong}, self.path)
            if wrong[:8] == history[:8]:
                self.assertIsInstance(self.ask("--batch-size", 4, "--steps",
                                               "0..0"), str)
        for wrong in 3, b"", []:
            with self.assertRaisesRegex(ValueError, "not a state_dict"):
                one.load_state_dict({**state, "history": wrong})
        self.assertEqual(raw(one.state_dict()), place)
        # A state goes on whatever is beside it.
        another = make()
        another.set_epoch(5)
        with self.assertWarnsRegex(UserWarning, "of another run"):
            one.load_state_dict({**state, "history": another.state_dict()[
                "history"]})
        self.assertEqual(raw(one.state_dict()), place)

    def test_weights(self):
        """Those of samples are in no state."""
        one = StatefulDistributedSampler(range(9), 1, 0, weights=range(9),
                                         batch_size=2)
        one.set_start_iter(3)
        other = StatefulDistributedSampler(range(9), 2, 0, weights=range(9),
                                           batch_size=2)
        other.load_state_dict(one.state_dict())
        self.assertIn("history", other.state_dict())
        torch.save(one.state_dict(), self.path)
        self.assertIn("with weights does not hold them", self.ask(
            "--batch-size", 2, "--steps", "0..0"))

    def test_time(self):
        """A state of 1,000 datasets is made in 1 ms, here three times that;
        and the package is imported in 30 ms over numpy, here twice that."""
        def least(act, count):
            taken = []
            for _ in range(count):
                begun = time.perf_counter()
                act()
                taken.append(time.perf_counter() - begun)
            return min(taken)

        one = RoundRobinBatchSampler([1000] * 1000, 8, 0, 1, stop="never")
        list(zip(range(50), counted(one)))
        self.assertLess(least(one.state_dict, 20), .003)
        self.assertLess(len(one.state_dict()["history"]), 1)
        one.weigh([2] + [1] * 999)
        self.assertLess(least(one.state_dict, 20), .003)
        # Its history is the same until something is done.
        before = one.state_dict()["history"]
        list(zip(range(50), counted(one)))
        self.assertIs(one.state_dict()["history"], before)
        one.weigh([3] + [1] * 999)
        self.assertNotEqual(one.state_dict()["history"], before)
        with open("/proc/self/maps") as maps:   # An installed one builds none.
            library = next(line.split()[-1] for line in maps
                           if "statesampler" in line)
        program = ("import time, {}; begun = time.perf_counter(); import "
                   "statesampler; print(time.perf_counter() - begun)".format(
                       "numpy" if importlib.util.find_spec("numpy") else "sys"))
        self.assertLess(min(float(subprocess.run(
            [sys.executable, "-c", program], cwd=EXAMPLES, check=True, env={
                **os.environ, "STATESAMPLER_LIBRARY": library,
                "PYTHONPYCACHEPREFIX": self.path + ".cache"},
            stdout=subprocess.PIPE).stdout) for _ in range(7)), .06)

    def test_many_events(self):
        """None goes through those before it, so that the thousandth takes as
        long as the first."""
        for make in (lambda: StatefulDistributedSampler(range(20), 1, 0,
                                                        batch_size=4),
                     lambda: RoundRobinBatchSampler([9, 11], 4, 0, 1,
                                                    stop="all")):
            sampler, loads = make(), []
            for kind in Sampler, Mix:
                load = kind._load_both
                patch = mock.patch.object(
                    kind, "_load_both", lambda *given, load=load: (
                        loads.append(len(given[1])), load(*given))[1])
                patch.start()
                self.addCleanup(patch.stop)
            for event in range(300):
                list(zip(range(2), counted(sampler)))
                if event % 3 == 0:
                    sampler.begin(sampler.epoch + 1)
                elif event % 3 == 1:
                    sampler.set_start_iter(event % 4)
            self.assertLess(len(loads), 5)
            state = sampler.state_dict()
            self.assertGreater(len(state["history"]), 64 * 300)
            other = make()
            other.load_state_dict(state)
            self.assertEqual(other.state_dict()["history"], state["history"])

    def test_none(self):
        for one in (RepeatSampler(range(9), 2, 3),):
            one.set_start_iter(1)
            self.assertEqual(list(one.state_dict()), ["state"])


if __name__ == "__main__":
    main()
