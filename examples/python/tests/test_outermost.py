"""What only a count of what comes out is right about: each of these lost or
repeated samples, or failed, when the sampler watched the DataLoader inside."""

import itertools
import unittest

from common import Background, Uncounted, cases, main
import loader_torchdata
from statesampler import StatefulLoader
from statesampler import RoundRobinBatchSampler as RoundRobin
from statesampler import StatefulDistributedSampler as Distributed

N, SIZE = 60, 4


def make(loader=Uncounted, **options):
    sampler = Distributed(range(N), 1, 0, batch_size=SIZE)
    return sampler, StatefulLoader(
        loader(range(N), SIZE, sampler=sampler, **options), sampler)


def epochs(count):
    order = Distributed(range(N), 1, 0)
    return [list(order) for _ in range(count)]


class Outermost(unittest.TestCase):
    def test_a_thread(self):
        """That takes some batches ahead, killed at any batch."""
        for chance in cases(20, "thread"):
            workers, served, state = chance.randrange(2), [], None
            while len(served) < 2 * N:
                sampler, loader = make(Background, num_workers=workers)
                if state:
                    loader.load_state_dict(state)
                stop = chance.randint(1, 2 * N // SIZE)
                for batch in itertools.islice(loader, stop):
                    served += batch
                    state = loader.state_dict()
            self.assertEqual(served[:2 * N], sum(epochs(2), []))

    def test_a_step_that_is_said(self):
        """At an epoch's end, by a trainer that counts: of the epoch it says,
        though what reads ahead has met the end."""
        first, second = epochs(2)
        sampler = Distributed(range(N), 1, 0, batch_size=SIZE)
        for step, _ in enumerate(Background(range(N), SIZE, sampler=sampler),
                                 1):
            with self.assertRaisesRegex(RuntimeError, "epoch=, batches="):
                sampler.state_dict(batches=step)
            resumed = Distributed(range(N), 1, 0)
            resumed.load_state_dict(sampler.state_dict(batches=step, epoch=0))
            self.assertEqual(list(resumed), first[SIZE * step:] or second)
        counted, loader = make(Background)
        for step, _ in enumerate(loader, 1):
            self.assertEqual(
                counted.state_dict(batches=step)["state"].tolist(),
                loader.state_dict()["state"].tolist())

    def test_a_step_of_datasets_that_go_on(self):
        """Their epoch is that of the loop, not one that begins anew."""
        def make():
            return RoundRobin([6, 15], 2, 0, 1, stop="restart")

        whole = make()
        epochs = [list(whole) for _ in range(3)]
        anew = make()
        anew.begin(1)
        self.assertNotEqual(list(anew), epochs[1])
        sampler = make()
        list(sampler)
        for step, _ in enumerate(Background(range(21), batch_sampler=sampler),
                                 1):
            resumed = make()
            resumed.load_state_dict(sampler.state_dict(batches=step, epoch=1))
            self.assertEqual(list(resumed), epochs[1][step:] or epochs[2])

    def test_an_empty_loop(self):
        """Of torchdata's without workers, after a state from the last batch,
        its sampler has a state, and there is no empty loop."""
        def loader():
            return make(loader_torchdata.StatefulDataLoader, collate_fn=list)

        _, before = loader()
        for _ in before:
            state = before.state_dict()
        sampler, after = loader()
        after.load_state_dict(state)
        sampler.state_dict()
        self.assertEqual(sum(after, []), epochs(2)[1])
        sampler.state_dict()

    def test_a_limit(self):
        """Lightning since 2.5.3 calls iter(), which feeds workers, before the
        first set_epoch; with limit_train_batches that is another epoch."""
        for workers in 0, 2:
            sampler, loader = make(num_workers=workers)
            served = iter(loader)
            sampler.set_epoch(0)
            for _ in range(3):
                next(served)
            state = loader.state_dict()
            sampler, loader = make(num_workers=workers)
            loader.load_state_dict(state)
            served = iter(loader)
            sampler.set_epoch(1)
            self.assertEqual(sum(itertools.islice(served, 3), []),
                             epochs(2)[1][:3 * SIZE])
            self.assertEqual((sampler.epoch, sampler.start_iter), (1, 3))

    def test_a_peek(self):
        """Then a save, then a loop: the run and its resume go on alike. And
        one that is not followed by a save changes nothing."""
        for workers, save in itertools.product((0, 1), (False, True)):
            sampler, loader = make(num_workers=workers)
            peeked = next(iter(loader))
            state = loader.state_dict() if save else None
            trained = sum(loader, [])
            resumed, again = make()
            if save:
                again.load_state_dict(state)
            self.assertEqual(trained, sum(again, []))
            self.assertEqual((peeked if save else []) + trained,
                             epochs(1)[0])
            self.assertEqual((sampler.epoch, resumed.epoch), (1, 1))

    def test_other_names(self):
        """Nothing is asked of torch by a name that begins with _: a loader
        that has none of torch's does as well."""
        class Mine:
            def __init__(self, sampler):
                self.sampler = sampler

            def __iter__(self):
                return iter(lambda batches=iter(self.sampler): list(
                    itertools.islice(batches, SIZE)), [])

        order = epochs(1)[0]
        sampler = Distributed(range(N), 1, 0)
        for i, batch in enumerate(StatefulLoader(Mine(sampler), sampler,
                                                 items=SIZE), 1):
            resumed = Distributed(range(N), 1, 0)
            resumed.load_state_dict(sampler.state_dict())
            self.assertEqual(batch, order[:SIZE * i][-SIZE:])
            if i * SIZE < N:
                self.assertEqual(list(resumed), order[SIZE * i:])


if __name__ == "__main__":
    main()
