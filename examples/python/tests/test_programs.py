"""Random programs of loops, looks, set_epoch and resumes, against a model of
what the manual says: each loop's batches, and the rest of the epoch that the
state after each step leads to.

    PROGRAMS=10000 python3 examples/python/tests/test_programs.py"""

import itertools
import os
import unittest

from common import Background, Uncounted, cases, main
from statesampler import CountingDataLoader, StatefulLoader
from statesampler import StatefulDistributedSampler as Distributed


def around(loader):
    """Makes a StatefulLoader around it."""
    def made(data, sampler, **options):
        return StatefulLoader(loader(data, sampler=sampler, **options),
                              sampler)
    return made


KINDS = {"CountingDataLoader": CountingDataLoader,
         "torch's": around(Uncounted), "a thread's": around(Background),
         "two": around(CountingDataLoader)}


class Program:
    """place: epoch and first index of the next loop. state: the place to which
    a state leads. over: a loop has had all batches of place's epoch, and has
    not asked for more. last: the last loop is kept. named: its epoch was set
    again after all of it, so that nobody knows a state."""

    def __init__(self, random, workers):
        self.random, self.n = random, random.randrange(1, 14)
        self.size = random.randrange(1, self.n + 1)
        self.options = dict(
            batch_size=self.size, drop_last=random.random() < .4,
            num_workers=workers, collate_fn=list,
            persistent_workers=workers > 0 and random.random() < .5)
        kind = random.choice(sorted(KINDS))
        self.kind = KINDS[kind]
        self.log, self.kept = [kind, self.n, self.options], []
        self.place = self.state = 0, 0
        self.over, self.loaded = False, False
        self.last = self.named = False
        self.make(None)

    def make(self, state):
        self.sampler = Distributed(range(self.n), 1, 0)
        if state:
            self.sampler.load_state_dict(state)
        self.loader = self.kind(range(self.n), sampler=self.sampler,
                                **self.options)

    def rest(self, place):
        order = Distributed(range(self.n), 1, 0)
        order.begin(place[0])
        return list(order)[place[1]:]

    def loop(self):
        """All batches of a loop, or the first of them, and those it should
        have."""
        before = self.place, self.state, self.over
        if self.over:
            self.place, self.over = (self.place[0] + 1, 0), False
        order, size = self.rest(self.place), self.size
        if self.options["drop_last"]:
            order = order[:len(order) // size * size]
        want = [order[at:at + size] for at in range(0, len(order), size)]
        epoch, start = self.place
        if self.random.random() < .4:
            self.log.append("all")
            self.place = self.state = epoch + 1, 0
            self.last = self.named = False
            return list(self.loader), want
        count = self.random.randrange(len(want) + 1)
        self.log.append(f"{count} of {len(want)}")
        served = iter(self.loader)
        kept = self.random.random() < .5
        if kept:
            self.kept.append(served)
        if count:
            self.last, self.named = kept, False
        self.over = 0 < count == len(want)
        self.state = (epoch + 1, 0) if self.over else (
            epoch, start + size * count)
        if not count:   # It has not begun.
            self.place, self.state, self.over = before
        return list(itertools.islice(served, count)), want[:count]

    def set_epoch(self, epoch):
        """Not after a load to an earlier one, which would be relative."""
        if self.loaded and epoch < self.place[0] + self.over:
            return
        self.log.append(f"set_epoch({epoch})")
        self.sampler.set_epoch(epoch)
        if epoch != self.place[0]:
            self.place = self.state = epoch, 0
            self.named = False
        elif self.over:
            self.state, self.named = self.place, self.last
        self.over = False

    def step(self):
        kind = self.random.choice(["loop", "loop", "set", "same", "load"])
        if kind == "loop":
            return self.loop()
        if kind == "load" and self.named:
            self.refused()
        elif kind == "load":
            self.log.append("load")
            self.make(self.sampler.state_dict())
            self.place, self.over, self.loaded = self.state, False, True
        else:
            self.set_epoch(self.random.randrange(4) if kind == "set" else
                           self.sampler.epoch)
        return None, None

    def refused(self):
        """Whether nobody knows a state."""
        try:
            self.sampler.state_dict()
        except RuntimeError as error:
            return "begins it again" in str(error)
        return False

    def resumed(self):
        """What comes after the state, and what should. What was left with a
        state goes on there, in this run too."""
        if self.random.random() < .3:
            return None, None
        if self.named:
            return self.refused(), True
        self.log.append("save")
        if not self.over:
            self.place = self.state
        sampler = Distributed(range(self.n), 1, 0)
        sampler.load_state_dict(self.sampler.state_dict())
        return list(sampler), self.rest(self.state)


class Programs(unittest.TestCase):
    def run_programs(self, count, name, workers):
        for random in cases(count, name):
            program = Program(random, workers)
            for _ in range(random.randrange(2, 7)):
                for served, want in program.step(), program.resumed():
                    self.assertEqual(served, want, program.log)

    def test_programs(self):
        self.run_programs(PROGRAMS, "programs", 0)

    def test_programs_with_workers(self):
        self.run_programs(PROGRAMS // 40, "programs, workers", 1)


PROGRAMS = int(os.environ.get("PROGRAMS", 600))

if __name__ == "__main__":
    main()
