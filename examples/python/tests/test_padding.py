"""padding(step) of each sampler: without the samples that it says are repeats,
each sample of an epoch comes once, whatever ranks and batches serve it."""

import collections
import unittest

from common import cases, counted, main
from statesampler import (Mix, PackedBatchSampler, RepeatSampler,
                          RoundRobinBatchSampler, Sampler, Schedule,
                          SpreadBatchSampler, StatefulDistributedSampler)


def without_repeats(sampler, ranks, first=0):
    """The samples of the steps from the first on, of all ranks, without
    padding; and how many that was."""
    found, repeats, step = [], 0, first
    while sampler.at(step, 0) is not None:
        for rank in range(ranks):
            batch, last = sampler.at(step, rank), sampler.padding(step, rank)
            repeats += last
            found += batch[:len(batch) - last]
        step += 1
    assert sampler.padding(step) == 0
    return found, repeats


class Padding(unittest.TestCase):
    def each_once(self, found, n):
        self.assertEqual(sorted(found), list(range(n)))

    def test_sampler(self):
        """Also where a run on other ranks, with another batch size, has had the
        first part of the epoch."""
        some = 0
        for random in cases(300, "padding"):
            n, ranks = random.randrange(1, 60), random.randrange(1, 9)
            options = dict(partition=random.choice(["interleaved", "blocked"]),
                           seed=random.randrange(9))
            one = StatefulDistributedSampler(
                range(n), ranks, random.randrange(ranks),
                batch_size=random.randrange(1, 9), **options)
            found, repeats = without_repeats(one, ranks)
            self.each_once(found, n)
            self.assertEqual(repeats, one.total_size - n)
            step = random.randrange(len(one) // one.batch_size + 1)
            had = [each for at in range(step) for rank in range(ranks)
                   for each in one.at(at, rank)[
                       :len(one.at(at, rank)) - one.padding(at, rank)]]
            others = random.randrange(1, 9)
            other = StatefulDistributedSampler(
                range(n), others, 0, batch_size=random.randrange(1, 9),
                **options)
            other.load_state_dict(one.state_dict(epoch=0, batches=step))
            if other.epoch == 0:
                found, repeats = without_repeats(other, others,
                                                 other.start_iter)
                self.each_once(had + found, n)
                some += repeats > 0
            self.assertEqual(one.padding(step),
                             one.padding(step, one.rank))
        self.assertGreater(some, 50)

    def test_steps_that_passed(self):
        """They had the padding of their ranks, as at() has their batches."""
        some = 0
        for random in cases(500, "padding that passed"):
            n, state, served = random.randrange(1, 25), None, {}
            options = dict(seed=random.randrange(9), tail=random.choice(
                ["pad", "pad", "drop", "uneven"]))
            for _ in range(3):
                world, size = random.randrange(1, 6), random.randrange(1, 4)
                ranks = [Sampler(n, rank, world, size, **options)
                         for rank in range(world)]
                for each in ranks:
                    if state:
                        each.load(state)
                first = ranks[0].step
                for _ in range(random.randrange(12)):
                    if random.random() < .1 and ranks[0].step > first:
                        for each in ranks:
                            each.seek(first)
                    place = ranks[0].epoch, ranks[0].step
                    batches = [next(each, None) for each in ranks]
                    if batches[0] is None:
                        first = 0
                    else:
                        served[place] = [
                            (batch.tolist(), each.plain().padding(place[1]))
                            for batch, each in zip(batches, ranks)]
                state = ranks[0].save()
            one = ranks[-1]
            for (epoch, step), batches in served.items():
                if epoch != one.epoch or step >= one.step:
                    continue
                for rank, (batch, padding) in enumerate(batches):
                    self.assertEqual(one.at(step, rank).tolist(), batch)
                    self.assertEqual(one.padding(step, rank), padding)
                    some += padding > 0
                with self.assertRaisesRegex(ValueError, "was served to"):
                    one.padding(step, len(batches))
        self.assertGreater(some, 30)
        one = Sampler(10, 3, 4, 2)
        one.seek(1)
        with self.assertRaisesRegex(ValueError, "skipped at step 0"):
            one.padding(0)
        self.assertEqual((one.padding(1), one.padding(1, 1)), (1, 0))
        with self.assertRaisesRegex(ValueError, "rank should be"):
            one.padding(1, 4)

    def test_round_robin(self):
        some = 0
        for random in cases(200, "padding of turns"):
            lengths = [random.randrange(1, 40)
                       for _ in range(random.randrange(1, 5))]
            ranks = random.randrange(1, 6)
            one = RoundRobinBatchSampler(
                lengths, random.randrange(1, 9), random.randrange(ranks),
                ranks, stop="all", seed=random.randrange(9),
                weights=[random.randrange(1, 4) for _ in lengths],
                partition=random.choice(["interleaved", "blocked"]))
            for _ in range(random.randrange(3)):    # From anywhere.
                next(iter(counted(one)), None)
            found, repeats = without_repeats(one, ranks)
            self.each_once(found, sum(lengths))
            some += repeats > 0
            place = one.state_dict()
            one.padding(len(one) - 1)
            self.assertEqual(one.state_dict()["state"].tolist(),
                             place["state"].tolist())
        self.assertGreater(some, 50)
        mix = Mix([7, 4], 0, 2, 2, stop="all")
        found, repeats = without_repeats(mix, 2)
        self.each_once(found, 11)
        self.assertEqual(repeats, 1)

    def test_restarted_datasets(self):
        """A dataset that starts again has padding in each of its epochs."""
        one = RoundRobinBatchSampler([3, 40], 2, 0, 2, stop="restart")
        found, repeats = without_repeats(one, 2)
        counts = collections.Counter(found)
        self.assertEqual({counts[index] for index in range(3, 43)}, {1})
        again = len(one) - 10       # Its turns.
        self.assertEqual({counts[index] for index in range(3)}, {again})
        self.assertEqual(repeats, again)

    def test_stages_to_come(self):
        """Also before their turns come, and where a stage has just ended."""
        def stage(turn):
            return 5, [1 + turn // 5 % 3, 1 + turn // 10 % 2, 1]

        one = Mix([10, 7, 300], 3, 4, 3, schedule=Schedule(stage))
        ahead = [one.padding(turn) for turn in range(60)]
        others = [one.padding(turn, 2) for turn in range(60)]
        again = Mix([10, 7, 300], 2, 4, 3, schedule=Schedule(stage))
        for turn in range(60):
            self.assertEqual(one.padding(turn), ahead[turn])
            for each, said in (one, ahead), (again, others):
                next(each)
                self.assertEqual(each.padding(turn), said[turn])
        self.assertGreater(sum(ahead), 20)
        with self.assertRaisesRegex(ValueError, "before the base"):
            one.padding(20)
        with self.assertRaisesRegex(ValueError, "step should be an int"):
            one.padding(2**45)

    def test_spread(self):
        some = 0
        for random in cases(100, "padding of groups"):
            ranks, batch = random.randrange(1, 4), random.randrange(1, 5)
            n = random.randrange(4 * ranks * batch, 9 * ranks * batch)
            one = SpreadBatchSampler([i // 3 for i in range(n)], batch, 0,
                                     ranks, seed=random.randrange(9))
            found, repeats = without_repeats(one, ranks)
            self.each_once(found, n)
            self.assertEqual(repeats, -n % ranks)
            some += repeats > 0
        self.assertGreater(some, 20)

    def test_packs(self):
        """An epoch's last step is filled with the next epoch's first packs,
        which that one then does not have, on ranks that may change."""
        some = 0
        for random in cases(100, "padding of packs"):
            n, before, state = random.randrange(1, 60), [], None
            lengths = [random.randrange(1, 9) for _ in range(n)]
            for epoch in range(3):
                ranks = random.randrange(1, 9)
                one = PackedBatchSampler(lengths, 9, 0, ranks, plan_size=20)
                if state:
                    one.load_state_dict(state)
                if one.epoch != epoch:      # It had fewer packs than ranks.
                    break
                found, _ = without_repeats(one, ranks)
                self.each_once(before + found, n)
                steps = one.remaining
                filled = [one.at(steps - 1, rank) for rank in range(ranks)
                          if one.padding(steps - 1, rank)]
                before = sum(filled, [])
                some += len(filled)
                state = one.state_dict(batches=steps, epoch=epoch)
        self.assertGreater(some, 100)

    def test_none(self):
        """What repeats nothing to fill a step."""
        for one in (PackedBatchSampler([3, 4] * 9, 9, 0, 5, endless=True),
                    RepeatSampler(range(9), 2, 3)):
            self.assertEqual([one.padding(step) for step in range(9)], [0] * 9)
        carry = StatefulDistributedSampler(range(9), 2, 0, batch_size=2,
                                           tail="carry")
        self.assertEqual([carry.padding(step) for step in range(9)], [0] * 9)

    def test_bad_input(self):
        one = StatefulDistributedSampler(range(9), 2, 0, batch_size=2)
        for wrong in (-1, 2**62, 1.0, "1", True):
            with self.assertRaisesRegex(ValueError, "step should be an int"):
                one.padding(wrong)
        for one in (one, PackedBatchSampler([3] * 9, 9, 0, 2),
                    RepeatSampler(range(9), 2, 3),
                    SpreadBatchSampler(range(9), 2, 0, 2)):
            for step in 0, 99:
                for wrong in {}, [], "", -1, one.num_replicas:
                    with self.assertRaisesRegex(ValueError, "rank should be"):
                        one.padding(step, wrong)
                    with self.assertRaisesRegex(ValueError, "rank should be"):
                        one.at(step, wrong)
        with self.assertRaisesRegex(ValueError, "a sampler with a batch_size"):
            StatefulDistributedSampler(range(9), 2, 0).padding(0)


if __name__ == "__main__":
    main()
