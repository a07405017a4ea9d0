"""Which samples were in step N, and where is a sample: the answers of at and
locate, compared with lists of everything that every rank served."""

import contextlib
import unittest

from common import DataLoader, cases, main
from statesampler import Audit, Mix, RoundRobinBatchSampler, Sampler
from statesampler import StatefulDistributedSampler as Distributed


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


class Samplers(unittest.TestCase):
    def compare(self, one, own, steps, first=0):
        """`one`, of rank `own`, answers for every step from `first` on, and
        does not move."""
        before, places = one.save(), {}
        for step, ranks in enumerate(steps, first):
            for rank, batch in enumerate(ranks):
                self.assertEqual(one.at(step, rank).tolist(), batch)
                for slot, index in enumerate(batch):
                    places.setdefault(index, (step, slot, rank))
                    places[index] = min(places[index], (step, slot, rank))
            self.assertEqual(one.at(step).tolist(), ranks[own])
        self.assertIsNone(one.at(first + len(steps)))
        self.assertEqual(one.save(), before)
        for index, (step, slot, rank) in places.items():
            self.assertEqual(one.locate(index)[:3], (step, rank, slot))

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
                    self.assertEqual(one.at(step, rank).tolist(), batch)
            self.assertIsNone(one.at(len(steps)))
            for index in range(sum(desc.num_samples for desc in one._descs)):
                if stop == "restart":   # The dataset's present epoch alone.
                    with contextlib.suppress(ValueError):
                        step, rank, slot, _ = one.locate(index)
                        self.assertEqual(steps[step][rank][slot], index)
                elif index in found:
                    step, rank, slot, _ = one.locate(index)
                    self.assertEqual(steps[step][rank][slot], index)
                else:
                    with self.assertRaisesRegex(ValueError, "not serve|index"):
                        one.locate(index)

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
                one.at(first.step - 1)
            with self.assertRaisesRegex(ValueError, "before the base"):
                one.locate(first.at(0)[0])

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

    def test_what_is_refused(self):
        audit = Audit()
        for wrong in ["a", 1.5], [2**70], 3, [None]:
            with self.assertRaises((TypeError, ValueError)):
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
        """Before a batch, after it and in another rank's sampler, the answer is
        what the DataLoader gives."""
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
        """A batch ends at the loaded place, and so the first is shorter."""
        old = Distributed(range(100), 2, 0, seed=2, batch_size=7)
        whole = list(old)
        old.begin(0)
        old.set_start_iter(3)
        for size in range(1, 12):
            new = Distributed(range(100), 2, 0, seed=2, batch_size=size)
            new.load_state_dict(old.state_dict())
            batches = [new.at(step) for step in range(-(-21 // size))]
            self.assertEqual(sum(batches, []), whole[:21])
            self.assertEqual({len(batch) for batch in batches[1:]} - {size},
                             set())
            self.assertEqual(new.at(new.start_iter), whole[21:21 + size])

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
        list(zip(range(5), one))
        one.resize(30)
        self.assertEqual(one.at(one.start_iter), [5, 6, 7, 8])
        one = Distributed(range(20), 2, 0, shuffle=False)
        list(zip(range(3), one))
        before = one.state_dict()
        with self.assertRaisesRegex(ValueError, "below the position"):
            one.resize(3)
        with self.assertRaisesRegex(ValueError, "SEQUENTIAL"):
            Distributed(range(20), 2, 0).resize(30)
        self.assertEqual(str(before), str(one.state_dict()))


if __name__ == "__main__":
    main()
