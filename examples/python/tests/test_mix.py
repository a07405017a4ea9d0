"""Mix: shares that change stage by stage, datasets with names that come and go,
batch sizes and weights."""

import collections
import copy
import io
import itertools
import os
import pickle
import tempfile
import unittest
from contextlib import redirect_stderr, redirect_stdout

from common import cases, main
from statesampler import Ledger, Mix, Sampler, Schedule
from statesampler.__main__ import main as command
from statesampler.samplers import library_state


def taken(mix, count):
    return [next(mix).tolist() for _ in range(count)]


def five(turn):
    return 5, [1 + turn % 3, 2, 1]


def five_two(turn):
    return five(turn)[0], [3, 1 + turn % 2]


class Schedules(unittest.TestCase):
    def test_shares(self):
        """Each dataset is about a turn from its share at the end of each
        stage, also where weights alone would starve it."""
        for random in cases(30, "shares"):
            count = random.randrange(2, 30)
            table = [(random.randrange(1, 9),
                      [random.random() + .01 for _ in range(count)])
                     for _ in range(100)]
            mix = Mix([100] * count, 0, 1, 1, schedule=Schedule(table))
            due, had = [0.] * count, [0] * count
            for turns, shares in table:
                for _ in range(turns):
                    had[next(mix)[0] // 100] += 1
                due = [before + turns * share / sum(shares)
                       for before, share in zip(due, shares)]
                far = [mine - own for mine, own in zip(had, due)]
                self.assertLess(max(far), 1)
                self.assertGreater(min(far), -5)    # 1 + 1/2 + ... + 1/30
            self.assertGreater(min(had), 0)

    def test_any_turn(self):
        """at and seek, forward and back; copies; kills; other ranks."""
        for random in cases(30, "turns"):
            lengths, size = [30, 40, 9], random.randrange(1, 4)

            def make(rank, world):
                return Mix(lengths, rank, world, size, seed=4,
                           schedule=Schedule(five))
            world = random.randrange(1, 4)
            ranks = [make(rank, world) for rank in range(world)]
            steps = [[next(each).tolist() for each in ranks]
                     for _ in range(80)]
            one = make(0, world)
            for _ in range(15):
                turn, rank = random.randrange(80), random.randrange(world)
                what = random.randrange(5)
                if what == 0:
                    one.seek(turn)
                    self.assertEqual(one.step, turn)
                elif what == 1:
                    one = copy.copy(one)
                elif what == 2:
                    state, one = one.save(), make(0, world)
                    one.load(state)
                elif what == 3 and one.step < 70:
                    self.assertEqual(next(one).tolist(), steps[one.step - 1][0])
                else:
                    self.assertEqual(
                        one.at(turn, rank, straight=True).tolist(),
                        steps[turn][rank])
                    if turn >= one.step:
                        self.assertEqual(one.at(turn, rank).tolist(),
                                         steps[turn][rank])
            # On other ranks the turns are of the same datasets.
            state, turn = one.save(), one.step
            other = make(0, world % 3 + 1)
            other.load(state)
            which = [[sum(i >= 30 for i in batch[:1]) +
                      sum(i >= 70 for i in batch[:1])
                      for batch in (mine, theirs)]
                     for mine, theirs in zip(
                         (ranks[0] for ranks in steps[turn:]),
                         taken(other, 80 - turn))]
            self.assertTrue(all(mine == theirs for mine, theirs in which))

    def test_locate(self):
        """A sample that the run has not come to is found in any stage, and
        looking for it changes nothing."""
        later = 0
        for random in cases(20, "locate"):
            table = [(random.randrange(1, 6),
                      [random.randrange(3) for _ in range(3)] + [.5])
                     for _ in range(40)]
            world = random.randrange(1, 3)
            mix = Mix([30, 40, 9, 25], 0, world, random.randrange(1, 4),
                      schedule=Schedule([*table, (None, [1, 1, 1, 1])]))
            taken(mix, random.randrange(60))
            for _ in range(10):
                index, state = random.randrange(104), mix.save()
                place, end = mix.locate(index), mix._running.place.end
                self.assertEqual(mix.save(), state)
                self.assertEqual(mix.at(place.step, place.rank)[place.slot],
                                 index)
                later += place.step >= end
                if place.step >= mix.step:
                    straight = copy.copy(mix)
                    while not any(index in straight.at(straight.step, rank)
                                  for rank in range(world)):
                        next(straight)
                    self.assertEqual(straight.step, place.step)
        self.assertGreater(later, 30)
        never = Mix([9, 9], 0, 1, 1, schedule=Schedule(
            lambda turn: (3, [1, 0])))
        with self.assertRaisesRegex(ValueError, "sample 9: not served up to "
                                    "turn 30000, in 10000 stages to come"):
            never.locate(9)
        tokens = Mix([9, 9], 0, 1, 1, schedule=Schedule(
            lambda turn: (3, [1, 0]), means=[5, 6]))
        next(tokens)
        with self.assertRaisesRegex(ValueError, "other stages are not"):
            tokens.locate(9)
        with self.assertRaisesRegex(ValueError, "index"):
            never.locate(18)

    def test_a_table(self):
        mix = Mix([10, 10, 10], 0, 1, 1, schedule=Schedule(
            [(3, [1, 0, 0]), (4, (0, 1, 0)), (None, [0, 0, 5])]))
        self.assertEqual([batch[0] // 10 for batch in taken(mix, 12)],
                         [0] * 3 + [1] * 4 + [2] * 5)
        self.assertEqual(mix.at(2**40)[0] // 10, 2)
        mix.seek(2**40)
        mix.seek(5)
        self.assertEqual(next(mix)[0] // 10, 1)
        with self.assertRaisesRegex(ValueError, "step should be"):
            mix.seek(2**45)
        with self.assertRaisesRegex(ValueError, "step should be"):
            mix.at(2**45)
        # The last stage goes on if it has an end.
        mix = Mix([9, 9], 0, 1, 1, schedule=Schedule([(1, [1, 0]),
                                                      (2, [1, 1])]))
        self.assertEqual(sum(batch[0] >= 9 for batch in taken(mix, 101)), 50)

    def test_passed_over(self):
        """A seek over any number of stages is noted as one, and leads where
        the turns lead."""
        def make(plan):
            return Mix([30, 40, 9], 0, 1, 2, schedule=Schedule(plan))

        for random in cases(20, "passed"):
            table = [(random.randrange(1, 4),
                      [random.randrange(3) for _ in range(2)] + [.3])
                     for _ in range(900)]
            one, straight = make(table), make(table)
            taken(one, random.randrange(20))
            one.seek(random.randrange(one.step, 900))
            while straight.step < one.step:
                next(straight)
            self.assertLess(len(one.history()), 400 + 120 * 22)
            for _ in range(20):
                self.assertEqual(next(one).tolist(), next(straight).tolist())

    def test_begins_in_mid_run(self):
        """A state without a schedule, which has a first stage where it is."""
        before = Mix([50, 50], 0, 1, stop="never")
        taken(before, 7)
        for means in None, [10, 10]:
            one = Mix([50, 50], 0, 1, schedule=Schedule(
                lambda turn: (4, [1, 0] if turn % 8 == 7 else [1, 3]), means))
            one.load(before.save())
            sources = []
            for _ in range(8):
                sources.append(next(one)[0] // 50)
                if means:
                    one.had(10)
            self.assertEqual(sources[:4], [0] * 4)
            self.assertEqual(sorted(sources[4:]), [0, 1, 1, 1])

    def test_back_before_the_schedule(self):
        """Stages are found from turn 0 on. A run whose schedule began later is
        not taken for one that began there."""
        def plan(turn):
            return 10, [1, 3] if turn // 10 % 2 else [3, 1]

        def make():
            return Mix([50, 50], 0, 1, 2, schedule=Schedule(plan))

        def loaded(state):
            mix = make()
            mix.load(state)
            return mix

        def check_refused(mix):
            before, words = mix.save(), "and this schedule began later"
            for turn in 0, 7, 8, 20:
                with self.assertRaisesRegex(ValueError, words):
                    mix.seek(turn)
                with self.assertRaisesRegex(ValueError, words):
                    mix.at(turn, straight=True)
            self.assertEqual(mix.save(), before)
            mix.seek(60)
        whole = make()
        at_0 = taken(whole, 40)
        for first in None, [1, 2]:
            before = Mix([50, 50], 0, 1, 2, weights=[3, 1], stop="never")
            if first:
                before.weigh(first)     # So would a schedule.
            served = taken(before, 8)
            one = loaded(before.save())
            served += taken(one, 32)
            state = one.save()
            for mix in (copy.copy(one), loaded(state), one,
                        loaded(loaded(state).save(history=False))):
                check_refused(mix)
            for mix in copy.copy(one), loaded(state), one:
                self.assertEqual([mix.at(turn).tolist()
                                  for turn in range(40)], served)
            for epoch in 0, 3:
                one.begin(epoch)
                taken(one, 30)
                for mix in one, loaded(one.save()):
                    mix.seek(3)
        for state in (whole.save(), loaded(whole.save()).save(),
                      whole.save(history=False)):
            mix = loaded(state)
            mix.seek(3)
            self.assertEqual(taken(mix, 37), at_0[3:])
            mix = loaded(mix.save())    # after a seek back
            mix.seek(17)
            self.assertEqual(taken(mix, 23), at_0[17:])

    def test_impossible_on_the_way(self):
        """A seek over a stage that cannot be planned leaves the mix in its
        place, also one back or to the stage itself."""
        broken = []

        def plan(turn):
            if turn in broken:
                raise KeyError(turn)
            return 5, [0, 0, 0] if -turn in broken else [1, 2, 3]
        for at, to, wrong in ((7, 600, 500), (7, 600, -500), (7, 502, -500),
                              (5, 9, -5), (5, 9, 5), (27, 12, -5), (27, 12, 5),
                              (27, 12, -10), (27, 3, 0)):
            one, straight = [
                Mix([30, 40, 9], 0, 1, 2, schedule=Schedule(plan))
                for _ in range(2)]
            taken(one, at)
            broken.append(wrong)
            before = one.save()
            with self.assertRaises((KeyError, ValueError)):
                one.seek(to)
            self.assertEqual((one.step, one.save()), (at, before))
            broken.clear()
            taken(straight, at)
            for _ in range(20):
                self.assertEqual(next(one).tolist(), next(straight).tolist())

    def test_skipped(self):
        """Why a turn was not served names the turn that was asked for, and not
        a stage's end."""
        mix = Mix([30, 40], 0, 1, 2, schedule=Schedule(five_two))
        taken(mix, 7)
        mix.seek(103)
        mix.seek(501)
        taken(mix, 3)
        mix.seek(222)   # by a begin at turn 0
        taken(mix, 3)
        mix.seek(730)
        for turn, words in ((7, "at step 7 of epoch 0 by a seek to 501"),
                            (102, "at step 7 of epoch 0 by a seek to 501"),
                            (499, "at step 7 of epoch 0 by a seek to 501"),
                            (504, "at step 225 of epoch 0 by a seek to 730"),
                            (729, "at step 225 of epoch 0 by a seek to 730")):
            with self.assertRaisesRegex(ValueError, f"skipped {words}$"):
                mix.at(turn)

    def test_tokens(self):
        """Shares are of tokens, whatever the means that were given."""
        for random in cases(10, "tokens"):
            shares = [random.randrange(1, 9) for _ in range(3)]
            lengths = [100, 700, 50]
            mix = Mix([1000] * 3, 0, 1, 1, schedule=Schedule(
                lambda turn: (10, shares), means=[150, 500, 60]))
            had = [0, 0, 0]
            for turn in range(6000):
                source = next(mix)[0] // 1000
                tokens = random.randrange(2 * lengths[source])
                had[source] += tokens
                mix.had(tokens)
                if turn % 1000 == 499:
                    with self.assertRaisesRegex(ValueError, "call it once"):
                        mix.had(tokens)
                if turn % 1000 == 500:
                    mix = copy.copy(mix)
            for tokens, share in zip(had, shares):
                self.assertAlmostEqual(tokens / sum(had), share / sum(shares),
                                       delta=.01)
            with self.assertRaisesRegex(ValueError, "other stages are not"):
                mix.at(mix.step + 99)
            with self.assertRaisesRegex(ValueError, "other stages are not"):
                mix.seek(mix.step + 99)
            for turn in 11, 5989:
                with self.assertRaisesRegex(ValueError, "straight run is known "
                                            "in its first stage alone"):
                    mix.at(turn, straight=True)
            self.assertEqual(mix.at(5999, straight=True), mix.at(5999))
            again = copy.copy(mix)
            for one, turn in (mix, 11), (again, 5999):
                with self.assertRaisesRegex(ValueError, "no more known: load"):
                    one.seek(turn)
                self.assertEqual(one.step, 6000)
            mix.seek(10)
            self.assertEqual(mix.step, 10)

    def test_forgotten_tokens(self):
        """A stage in which nobody told of a dataset is an error at its end;
        nothing has then changed."""
        mix = Mix([500, 500], 0, 1, schedule=Schedule(
            lambda turn: (10, [1, 1]), means=[100, 100]))
        unserved = {*range(1000)}
        for turn in range(20):
            last = next(mix)
            source = last[0] // 500
            unserved -= {*last}
            if turn < 10 or source == 0:
                mix.had(0 if source else 90)
        before = mix.save()
        for refused in (lambda: next(mix), lambda: mix.seek(25),
                        lambda: mix.at(20), lambda: mix.at(29),
                        lambda: mix.locate(next(iter(unserved)))):
            with self.assertRaisesRegex(ValueError, "in the stage: call had"):
                refused()
        self.assertEqual(mix.save(), before)
        next(copy.copy(mix))    # A state does not say what was told.
        mix.seek(0)
        for _ in range(9):
            next(mix)
        mix.seek(10)        # Nothing need be told of turns that are skipped.
        self.assertEqual(mix.at(10), next(mix))

    def test_tokens_told_late(self):
        """Those of a turn whose call was forgotten."""
        for lengths in [50, 50], {"a": 50, "b": 50}:
            late, wanted = [Mix(lengths, 0, 1, 2, schedule=Schedule(
                lambda turn: (4, [1, 1]), means=[10, 10])) for _ in range(2)]
            for _ in range(4):
                source = next(wanted)[0] // 50
                wanted.had(30 - 20 * source)
                if next(late)[0] // 50 == source == 1:
                    late.had(10)
            with self.assertRaisesRegex(ValueError, "in the stage: call had"):
                next(late)
            before = late.save()
            for dataset, words in ((2, "dataset should be"), (-1, "dataset sho"),
                                   (.5, "dataset should be"),
                                   ("c", "no dataset 'c'")):
                with self.assertRaisesRegex(ValueError, words):
                    late.had(30, dataset)
            self.assertEqual(late.save(), before)
            for dataset in 0, "a" if late.names else 0:
                late.had(30, dataset=dataset)
            self.assertEqual(next(late), next(wanted))
            self.assertEqual(late.save(), wanted.save())

    def test_tokens_passed_over(self):
        """Turns that a seek passes over are owed no more than with shares of
        turns, also after a load."""
        table = [(1000, [0.9, 0.1]), (5000, [0.1, 0.9])]
        for skipped, means in itertools.product((1, 500, 999), (None, [50, 70])):
            mix = Mix([10000] * 2, 0, 1, 1,
                      schedule=Schedule(table, means=means))
            of_first = 0
            while mix.step < 2000:
                source = next(mix)[0] // 10000
                if means:
                    mix.had(means[source])
                if mix.step > 1000:
                    of_first += source == 0
                if mix.step == 1000 - skipped:
                    mix = copy.copy(mix)
                    mix.seek(1000)
            self.assertAlmostEqual(of_first, 135 if means else 100, delta=2)

    def test_tokens_of_short_stages(self):
        """No dataset is starved, however small its share of a turn's tokens."""
        for mean, turns in itertools.product((1, 8, 2048), (1, 7)):
            mix = Mix([10**6] * 4, 0, 1, 1, schedule=Schedule(
                lambda turn: (turns, [.55, .3, .1, .05]), means=[mean] * 4))
            had = [0] * 4
            for _ in range(3000):
                had[next(mix)[0] // 10**6] += 1
                mix.had(mean)
            for each, wanted in zip(had, (1650, 900, 300, 150)):
                self.assertAlmostEqual(each, wanted, delta=1)

    def test_tokens_of_long_stages(self):
        """A stage goes on with batches of any size."""
        mix = Mix([10, 10], 0, 1, 1, schedule=Schedule(
            [(2**40, [.5, .5])], means=[2**31 - 1, 5]))
        for _ in range(9):
            next(mix)
            mix.had(5)

    def test_tokens_to_the_end(self):
        """A stage without an end would make nothing good: the last row comes
        again and again instead."""
        for stages in [(None, [1, 1])], lambda turn: (None, [1, 1]):
            with self.assertRaisesRegex(ValueError, "means no stage .* None"):
                next(Mix([9, 9], 0, 1, 1, schedule=Schedule(stages, [1, 1])))
        mix = Mix([10**6] * 2, 0, 1, 1, schedule=Schedule(
            [(7, [1, 0]), (100, [1, 1])], means=[1000, 1000]))
        had = [0, 0]
        for turn in range(10007):
            source = next(mix)[0] // 10**6
            tokens = [1000, 1500][source]
            mix.had(tokens)
            had[source] += tokens * (turn >= 7)
        self.assertAlmostEqual(had[0] / sum(had), .5, delta=.005)

    def test_tokens_of_a_dataset_without_turns(self):
        mix = Mix({"a": 50, "b": 50}, 0, 1, 2, schedule=Schedule(
            [(4, {"a": 1, "b": 1}), (99, {"a": 1})], {"a": 9, "b": 9}))
        for _ in range(5):
            next(mix)
            mix.had(9)
        before = mix.save()
        for dataset in 1, "b":
            with self.assertRaisesRegex(ValueError, "the source is off"):
                mix.had(9, dataset)
        self.assertEqual(mix.save(), before)
        mix.had(9, "a")

    def test_tokens_of_a_dataset_that_is_off(self):
        """Also after a load or a copy amid the stage."""
        one, other = [Mix([100] * 3, 0, 1, 1, schedule=Schedule(
            lambda turn: (10, [1, 1, 0]), means=[10] * 3)) for _ in range(2)]
        for _ in range(10):
            next(one)
            one.had(10)
            other.load(one.save())
            for each in one, other, copy.deepcopy(one):
                before = each.save()
                with self.assertRaisesRegex(ValueError, "off"):
                    each.had(5, 2)
                self.assertEqual(each.save(), before)
        other.had(5, 1)

    def test_tokens_of_no_turn(self):
        """had is of a turn that was served here, and that nobody told of; else
        nothing changes."""
        def make():
            mix = Mix([50, 50], 0, 1, 2, schedule=Schedule(
                lambda turn: (10, [1, 1]), means=[10, 10]))
            next(mix)
            return mix
        for act in (lambda mix: mix.had(10), lambda mix: mix.seek(5),
                    lambda mix: mix.seek(0), lambda mix: mix.begin(0),
                    lambda mix: mix.load(mix.save())):
            mix = make()
            act(mix)
            before = mix.save()
            with self.assertRaisesRegex(ValueError, "has just served: call it "
                                        "once, with"):
                mix.had(1000)
            self.assertEqual(mix.save(), before)
            next(mix)
            mix.had(1000)
            self.assertNotEqual(mix.save(), before)
        mix = make()
        for tokens in -1, 2**31:
            with self.assertRaisesRegex(ValueError, "tokens should be an int"):
                mix.had(tokens)
        mix.seek(1)     # It does not move.
        mix.had(2**31 - 1)

    def test_straight_beside_later(self):
        """What a straight run serves in earlier stages is not what this one
        serves in later ones, after other ranks, nor in past ones."""
        def make(world_size):
            return Mix([50, 80, 30], 0, world_size, 2, schedule=Schedule(five))

        old, one, straight = make(2), make(3), make(3)
        taken(old, 33)
        one.load(old.save())
        later = taken(copy.copy(one), 60)
        for turn in 7, 50, 3, 41, 8, 90:
            self.assertEqual(
                one.at(turn, straight=True).tolist(),
                later[turn - 33] if turn >= 33 else straight.at(turn).tolist())
        one.at(55)
        taken(one, 25)
        for turn in range(58):
            self.assertEqual(
                one.at(turn, straight=True).tolist(),
                later[turn - 33] if turn >= 55 else straight.at(turn).tolist())

    def test_straight_places(self):
        """at() of a straight run has a sample where locate() says, also after
        other ranks, and where stages have had the same weights."""
        def make(world_size):
            return Mix(lengths, 0, world_size, 2, schedule=Schedule(
                lambda turn: (2, shares)))

        places = 0
        for random in cases(60, "straight places"):
            lengths = [random.randrange(1, 20)
                       for _ in range(random.choice([1, 1, 2, 4]))]
            shares, mix = [1] * len(lengths), make(random.randrange(1, 4))
            for _ in range(3):
                taken(mix, random.randrange(15))
                state, mix = mix.save(), make(random.randrange(1, 4))
                mix.load(state)
            taken(mix, random.randrange(15))
            for index in range(sum(lengths)):
                try:
                    place = mix.locate(index, straight=True)
                except ValueError as error:
                    self.assertIn("was served", str(error))
                    continue
                batch = mix.at(place.step, place.rank, straight=True)
                self.assertEqual(batch[place.slot], index)
                places += place.step < mix.step
        self.assertGreater(places, 20)

    def test_stages_to_come(self):
        """`python -m statesampler --straight` does not guess them."""
        mix = Mix([50, 80], 0, 1, 2, schedule=Schedule(five_two))
        taken(mix, 17)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "state")
            with open(path, "wb") as file:
                file.write(mix.save())
            for turns, said in ("19..19", mix.at(19)), ("19..20", None):
                out, error = io.StringIO(), io.StringIO()
                with redirect_stdout(out), redirect_stderr(error):
                    status = command([path, "--straight", "--steps", turns])
                self.assertEqual(status, 0 if said else 1)
                if said:
                    self.assertIn(" ".join(map(str, said)), out.getvalue())
                else:
                    self.assertIn("a new stage at turn 20", error.getvalue())
            # That is said, too, of a dataset that has no turn before.
            off = Mix([50, 80], 0, 1, 2, schedule=Schedule(
                [(20, [1, 0]), (None, [0, 1])]))
            taken(off, 17)
            with open(path, "wb") as file:
                file.write(off.save())
            for index, said in ((70, "70: epoch 0: this state's schedule has a "
                                 "new stage at turn 20, which Mix.at knows"),
                                (130, "index is not below num_samples")):
                out = io.StringIO()
                with redirect_stdout(out):
                    self.assertEqual(command(
                        [path, "--straight", "--where", str(index)]), 1)
                self.assertIn(said, out.getvalue())

    def test_names(self):
        mix = Mix({"code": 10, "web": 20}, 0, 1, 1, schedule=Schedule(
            [(4, {"web": 1}), (None, {"web": 1, "code": 1})]))
        self.assertEqual([batch[0] < 10 for batch in taken(mix, 4)],
                         [False] * 4)
        self.assertEqual(sum(batch[0] < 10 for batch in taken(mix, 10)), 5)

    def test_a_state_without_a_schedule(self):
        """The first stage begins at its turn. The reverse is refused."""
        old = Mix([20, 20], 0, 1, 2, stop="never")
        taken(old, 13)
        mix = Mix([20, 20], 0, 1, 2, schedule=Schedule(
            lambda turn: (3, [turn - 12, 0])))
        for state in old.save(), library_state(old.save()):
            mix.load(state)
            self.assertTrue(all(batch[0] < 20 for batch in taken(mix, 5)))
        mix = Mix([20, 20], 0, 1, 2, schedule=Schedule(
            [(15, [1, 0]), (None, [0, 1])]))
        mix.load(old.save())
        self.assertEqual([batch[0] < 20 for batch in taken(mix, 4)],
                         [True, True, False, False])
        other = mix.save()
        mix.seek(2**28 + 15)
        next(mix)       # In the next part of the last stage.
        with self.assertRaisesRegex(ValueError, "of other turns"):
            mix.load(mix.save()[:48] + other[48:])
        with self.assertRaisesRegex(ValueError, "give that as schedule="):
            old.load(mix.save())
        old.load(library_state(mix.save()))
        self.assertEqual(old.step, mix.step)

    def test_what_is_refused(self):
        table = Schedule([(1, [1, 1])])
        for make, words in (
                (lambda: Mix([9, 9], 0, 1, weights=[1, 1], schedule=table),
                 "weights of its own"),
                (lambda: Mix([9, 9], 0, 1, schedule=[(1, [1, 1])]),
                 "should be a Schedule"),
                (lambda: Mix([9, 9], 0, 1, weights={0: 1, 1: 2}),
                 "weights should be a list"),
                (lambda: Mix([9, 9], 0, 1, stop="all", schedule=table),
                 "^stop should be never with a schedule, but got stop='all'$"),
                (lambda: Mix([9, 9], 0, 1, schedule=table).weigh([1, 2]),
                 "those of the schedule"),
                (lambda: Mix([9, 9], 0, 1).had(3), "no schedule"),
                (lambda: Mix([9, 9], 0, 1, schedule=Schedule(
                    [(1, [1, 1]), (None, [1])])), "shares should have 2"),
                (lambda: Mix([9, 9], 0, 1, schedule=Schedule([(1, None)])),
                 "shares should be a list"),
                (lambda: Schedule([(1, [1]), (None, [1]), (2, [1])]),
                 "only the last stage can have None"),
                (lambda: next(Mix([9, 0], 0, 1, schedule=table)),
                 "a source with a share has no steps"),
                (lambda: Mix([9, 0], 0, 1, schedule=table).seek(99),
                 "a source with a share has no steps"),
                (lambda: Mix([9, 9], 0, 1, schedule=table).had(3),
                 "shares of this schedule are of turns"),
                (lambda: Ledger(Mix([9], 0, 1, schedule=Schedule([(1, [1])])),
                                64), "give the Mix weights instead"),
                (lambda: next(Mix([9, 9], 0, 1, schedule=Schedule(
                    lambda turn: (1, None)))), "shares should be a list, but"),
                (lambda: Schedule([]), "empty"),
                (lambda: Schedule([3]), "a stage should be"),
                (lambda: Schedule([(0, [1])]), "turns"),
                (lambda: Schedule(3), "stages should be")):
            with self.assertRaisesRegex((TypeError, ValueError), words):
                make()
        for shares, words in (([1], "2 items"), ([-1, 1], "a share is"),
                              ([0, 0], "a share is"), (["a", 1], "numbers"),
                              ([10**400, 1], "numbers"),
                              ({"b": 1}, "no dataset 'b'"), (3, "shares")):
            mix = Mix({"a": 9, "c": 9}, 0, 1, schedule=Schedule(
                lambda turn: (4, shares)))
            with self.assertRaisesRegex(ValueError, words):
                next(mix)
            self.assertEqual(mix.step, 0)
        for means in [1], [1, 0], [1, 2**31], {"a": 3}, 5:
            with self.assertRaisesRegex(ValueError, "mean"):
                Mix([9, 9], 0, 1, schedule=Schedule(five, means=means))

    def test_no_steps_on_more_ranks(self):
        """A dataset with a share that has none is an error in any stage."""
        table = Schedule(lambda turn: (20, {"a": 2, "b": 1}))
        for turns in 0, 20, 23, 39:
            mix, more = (Mix({"a": 20, "b": 900}, 0, world, 8, drop_last=True,
                             schedule=table) for world in (1, 4))
            for _ in range(turns):
                next(mix)
            before = more.save()
            with self.assertRaisesRegex(ValueError, "has no steps"):
                more.load(mix.save())
                self.assertEqual(turns % 20, 0)
                next(more)
            if turns % 20:
                self.assertEqual(more.save(), before)
            mix.load(mix.save())
            self.assertEqual(len(next(mix)), 8)


class Names(unittest.TestCase):
    def test_they_come_and_go(self):
        """A dataset is served in its own order, whatever the others do, and
        goes on where it was while it is there."""
        for random in cases(60, "names"):
            world, size = random.randrange(1, 4), random.randrange(1, 4)
            lengths = {name: random.randrange(9, 30) for name in "abcdef"}
            served = collections.defaultdict(list)
            here = random.sample("abcdef", 3)
            state, step = None, 0
            for _ in range(6):
                weights = {name: random.randrange(1, 4) for name in here}
                ranks = [Mix({name: lengths[name] for name in here}, rank,
                             world, size, weights, "never", tail="uneven")
                         for rank in range(world)]
                if state:
                    for each in ranks:
                        each.load(state)
                        self.assertEqual(
                            each.changes,
                            {name: "new" for name in here if name not in
                             before})
                        self.assertEqual(each.step, step)
                for _ in range(random.randrange(20)):
                    given = [next(each).tolist() for each in ranks]
                    ends = [*itertools.accumulate(lengths[name]
                                                  for name in here)]
                    which = next(i for i, end in enumerate(ends)
                                 if given[0][0] < end)
                    first = ends[which] - lengths[here[which]]
                    served[here[which]].append(
                        [[i - first for i in batch] for batch in given])
                states = {each.save() for each in ranks}
                self.assertEqual(len(states), 1)
                state, step, before = states.pop(), ranks[0].step, here
                here = random.sample("abcdef", random.randrange(1, 6))
                for gone in {*before} - {*here}:
                    self.in_order(served.pop(gone, []), gone, lengths, world,
                                  size)
            for name, batches in served.items():
                self.in_order(batches, name, lengths, world, size)

    def in_order(self, batches, name, lengths, world, size):
        alone = [Mix({name: lengths[name]}, rank, world, size, stop="never",
                     tail="uneven") for rank in range(world)]
        self.assertEqual(batches, [[next(each).tolist() for each in alone]
                                   for _ in batches])

    def test_the_same_datasets(self):
        """As without names, with the history; the state is that of C's
        mixture."""
        one = Mix({"a": 20, "b": 30}, 0, 1, 3, {"a": 1, "b": 2}, "all")
        whole = [batch.tolist() for batch in one]
        one = Mix({"a": 20, "b": 30}, 0, 1, 3, {"a": 1, "b": 2}, "all")
        taken(one, 3)
        one.seek(5)
        state = one.save(history=False)
        self.assertEqual((state[:4], len(state)), (b"SSMN", 72 + 128 * 2))
        other = Mix({"a": 20, "b": 30}, 0, 1, 3, stop="all")
        other.load(one.save())
        self.assertEqual([batch.tolist() for batch in other], whole[5:])
        other.load(one.save())
        with self.assertRaisesRegex(ValueError, "skipped at step 3"):
            other.at(4)
        self.assertEqual(other.names, ["a", "b"])
        again = pickle.loads(pickle.dumps(other))
        self.assertEqual(again.save(), other.save())
        # In another order they are others.
        moved = Mix({"b": 30, "a": 20}, 0, 1, 3, stop="all")
        moved.load(one.save())
        self.assertEqual((moved.step, moved.changes), (5, {}))
        left = {i + 20 if i < 30 else i - 30 for batch in moved for i in batch}
        self.assertEqual(left, {i for batch in whole[5:] for i in batch})

    def test_whose_weights_count(self):
        """Those of a state of the same datasets, in the same order; after any
        other the constructor's."""
        one = Mix({"a": 99, "b": 99}, 0, 1, 2, {"a": 9, "b": 1}, "never")
        one.weigh({"a": 1, "b": 9})
        for names, restart, most in (
                ("ab", False, "b"), ("ba", False, "a"), ("abc", False, "a"),
                ("a", False, "a"), ("aB", True, "a")):
            lengths = {name.lower(): 99 - name.isupper() for name in names}
            other = Mix(lengths, 0, 1, 2,
                        {name: 9 if name == "a" else 1 for name in lengths},
                        "never")
            other.load(one.save(), restart)
            turns = [[*lengths][other.at(turn)[0] // 99] for turn in range(11)]
            self.assertEqual(max(turns, key=turns.count), most, names)

    def test_another_length(self):
        one = Mix({"a": 20, "b": 30}, 0, 1, 5, stop="all")
        taken(one, 3)
        other = Mix({"a": 20, "b": 33}, 0, 1, 5, stop="all")
        before = other.save()
        with self.assertRaisesRegex(ValueError, "another dataset 'b'"):
            other.load(one.save())
        self.assertEqual((other.save(), other.changes), (before, {}))
        other.load(one.save(), restart=True)
        self.assertEqual(other.changes, {"b": "changed"})
        rest = sum((batch.tolist() for batch in other), [])
        self.assertEqual(sorted(i for i in rest if i >= 20), [*range(20, 53)])
        self.assertEqual(len(rest), 33 + 10)

    def test_what_is_refused(self):
        named = Mix({"a": 20, "b": 30}, 0, 1)
        listed = Mix([20, 30], 0, 1)
        for call, words in (
                (lambda: named.load(listed.save()), "no names of datasets"),
                (lambda: listed.load(named.save()), "a dict of names"),
                (lambda: named.load(named.save()[:-3]), "size|damaged"),
                (lambda: named.load(named.save(history=False)[:-9] + bytes(9)),
                 "changed"),
                (lambda: named.weigh({"a": 1}), "weights: .* none for 'b'"),
                (lambda: Mix({"a": 3}, 0, 1, weights={"c": 1}),
                 "weights: there is no dataset 'c'"),
                (lambda: Mix({"a": 3}, 0, 1, {"a": 1, "c": 1}),
                 "batch_size: there is no dataset 'c'"),
                (lambda: Mix({3: 3}, 0, 1), "a string"),
                (lambda: Mix({"": 3}, 0, 1), "a string"),
                (lambda: Mix({}, 0, 1), "empty"),
                (lambda: Mix({"a": "b"}, 0, 1), "length")):
            with self.assertRaisesRegex(ValueError, words):
                call()
        scheduled = Mix({"a": 20, "b": 30}, 0, 1, schedule=Schedule(five_two))
        taken(scheduled, 7)
        for one in named, scheduled:
            for state in one.save(), one.save(history=False):
                for wrong in itertools.chain(
                        (state[:at] for at in range(4, len(state), 7)),
                        (state[:at] + bytes([state[at] ^ 4]) + state[at + 1:]
                         for at in range(0, len(state), 3))):
                    with self.assertRaises(ValueError):
                        one.load(wrong)
                    self.assertIn(state[-300:], one.save())
        with self.assertRaisesRegex(ValueError, "restart .* a str"):
            named.load(named.save(), restart="no")

    def test_many(self):
        """Names are not compared with all others."""
        compared = []

        class Name(str):
            __hash__ = str.__hash__

            def __eq__(self, other):
                compared.append(other)
                return str(self) == str(other)

        lengths = {Name(i): 9 for i in range(400)}
        shares = {Name(i): 1 for i in range(400)}
        mix = Mix(lengths, 0, 1, shares, schedule=Schedule([(1, shares)],
                                                           shares))
        for _ in range(4):
            mix.had(1, Name(next(mix)[0] // 9))
        Mix(lengths, 0, 1, 1, shares).weigh(shares)
        self.assertLess(len(compared), 30 * len(shares))


class Sizes(unittest.TestCase):
    def test_a_batch_size_for_each(self):
        for sizes in [2, 5, 1], (2, 5, 1):
            mix = Mix([20, 30, 7], 0, 1, sizes, stop="all")
            for batch in mix:
                self.assertEqual(len(batch), 2 if batch[0] < 20 else
                                 5 if batch[0] < 50 else 1)
        mix = Mix({"a": 9, "b": 9}, 0, 1, {"a": 3, "b": 1})
        self.assertEqual([len(batch) for batch in taken(mix, 4)], [3, 1] * 2)
        for sizes in [1, 2], [1, 2, 0], {"a": 3}:
            with self.assertRaisesRegex(ValueError, "batch_size"):
                Mix([20, 30, 7], 0, 1, sizes)

    def test_weight_0(self):
        mix = Mix([9, 9, 9], 0, 1, 1, [1, 0, 1], "all")
        self.assertEqual(sorted(i for batch in mix for i in batch),
                         [*range(9), *range(18, 27)])

    def test_the_arguments_of_a_sampler(self):
        """They mean what they mean there, partition too."""
        for options in ({}, {"partition": "blocked"}, {"shuffle": False},
                        {"tail": "uneven", "seed": 3}):
            for rank in range(3):
                self.assertEqual(
                    [batch.tolist() for batch in Mix([50], rank, 3, 4,
                                                     **options)],
                    [batch.tolist() for batch in Sampler(50, rank, 3, 4,
                                                         **options)])


if __name__ == "__main__":
    main()
