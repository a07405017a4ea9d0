"""TorchOrderSampler against the installed torch's DistributedSampler."""

import copy
import pickle
import unittest

from common import DataLoader, cases, counted, main
from statesampler import StatefulDistributedSampler
from torch.utils.data import DistributedSampler as Torchs
from torch_order import TorchOrderSampler as Ours


class TorchOrder(unittest.TestCase):
    def test_equal_to_torchs(self):
        for random in cases(200, "order"):
            replicas = random.randrange(1, 9)
            n = random.choice([random.randrange(1, 100),
                               random.randrange(1, 4000)])
            rank, seed = random.randrange(replicas), random.randrange(2**40)
            drop = random.random() < .5
            ours = Ours(range(n), replicas, rank, True, seed, drop)
            theirs = Torchs(range(n), replicas, rank, True, seed, drop)
            for epoch in range(3):
                theirs.set_epoch(epoch)
                self.assertEqual(list(ours), list(theirs))

    def test_25_on_two(self):
        """Numbered from 1."""
        self.assertEqual(
            [[i + 1 for i in Ours(range(25), 2, rank)][:4]
             for rank in range(2)],
            [[20, 7, 6, 12], [17, 18, 25, 9]])

    def test_resume_on_other_ranks(self):
        """What torch would have served to all ranks in the rest of the epoch,
        and all of the next one, dealt to other ranks."""
        for random in cases(60, "resume"):
            n = 60 * random.randrange(1, 20)
            size = random.randrange(1, 9)
            whole = Torchs(range(n), 1, 0, seed=7)
            order = list(whole)
            ranks = [Ours(range(n), 2, rank, seed=7) for rank in range(2)]
            loaders = [iter(DataLoader(range(n), size, sampler=rank))
                       for rank in ranks]
            stop = random.randrange(1, -(-n // (2 * size)) + 1)
            for _ in range(stop):
                for loader in loaders:
                    next(loader)
            state = ranks[random.randrange(2)].state_dict()
            left = order[2 * size * stop:]
            replicas = random.randrange(1, 7)
            whole.set_epoch(1)
            for rank in range(replicas):
                ours = Ours(range(n), replicas, rank, seed=7)
                ours.load_state_dict(state)
                mine = left[rank::replicas]
                if left and len(left) % replicas > 0 and (
                        rank >= len(left) % replicas):
                    mine.append(order[(len(mine) * replicas + rank -
                                       len(left)) % n])
                if left:
                    self.assertEqual(list(ours), mine)
                self.assertEqual(list(ours), list(whole)[rank::replicas])

    def test_copies(self):
        ours = Ours(range(50), 2, 1, seed=3)
        ours.set_epoch(2)
        next(iter(counted(ours)))
        for double in copy.copy(ours), pickle.loads(pickle.dumps(ours)):
            self.assertTrue(double.shuffle)
            theirs = Torchs(range(50), 2, 1, seed=3)
            theirs.set_epoch(2)
            self.assertEqual(list(double), list(theirs)[1:])

    def test_refused(self):
        state = StatefulDistributedSampler(
            range(50), 1, 0, shuffle=False).state_dict()
        with self.assertRaisesRegex(ValueError, "stream"):
            Ours(range(50), 1, 0).load_state_dict(state)
        with self.assertRaisesRegex(ValueError, "seed 0, this sampler 1"):
            Ours(range(50), 1, 0, seed=1).load_state_dict(
                Ours(range(50), 1, 0).state_dict())
        with self.assertRaisesRegex(ValueError, "shuffle=False"):
            Ours(range(50), 1, 0, False)
        self.assertTrue(Ours(range(50), 1, 0).shuffle)
        with self.assertRaisesRegex(ValueError, "carry"):
            Ours(range(50), 1, 0, tail="carry")


if __name__ == "__main__":
    main()
