"""StatefulDistributedSampler against the installed torch's DistributedSampler
and VISSL's rules."""

import ctypes
import itertools
import os
import subprocess
import tempfile
import unittest
from unittest import mock

from common import ROOT, DataLoader, cases, main, torch, vissl
from statesampler import StatefulDistributedSampler as Ours
from statesampler import _arguments
from statesampler._library import Desc
from torch.utils.data import BatchSampler
from torch.utils.data import DistributedSampler as Torchs


def batches(sampler, n, size, drop_last):
    """What a training loop gets."""
    loader = DataLoader(range(n), batch_size=size, sampler=sampler,
                        drop_last=drop_last)
    served = list(loader)
    assert len(loader) == len(served)
    return served


def shape(random):
    """n, replicas, rank: small, or sometimes a few chunks of reading."""
    replicas = random.choice([1, 2, 3, random.randrange(1, 12)])
    n = random.choice([random.randrange(1, 40), random.randrange(1, 300),
                       random.randrange(1, 9000)])
    return n, replicas, random.randrange(replicas)


class Parity(unittest.TestCase):
    def test_unshuffled_index_for_index(self):
        for random in cases(50, "unshuffled"):
            n, replicas, rank = shape(random)
            drop, drop_last = random.random() < .5, random.random() < .5
            size = random.choice([1, 2, 7, random.randrange(1, 700)])
            theirs = Torchs(range(n), replicas, rank, False, 0, drop)
            ours = Ours(range(n), replicas, rank, False, 0, drop)
            self.assertEqual(batches(ours, n, size, drop_last),
                             batches(theirs, n, size, drop_last))
            self.assertEqual(len(ours), len(theirs))
            for name in ("num_samples", "total_size", "num_replicas", "rank",
                         "shuffle", "seed", "drop_last"):
                self.assertEqual(getattr(ours, name), getattr(theirs, name))

    def test_shuffled_torchs_rule_on_our_permutation(self):
        """Torch's own code, given our permutation instead of randperm's."""
        for random in cases(300, "shuffled"):
            n, replicas, rank = shape(random)
            drop = random.random() < .5
            seed, epoch = random.randrange(2**64), random.randrange(2**64)
            whole = Ours(range(n), 1, 0, seed=seed)
            whole.set_epoch(epoch)
            order = list(whole)
            self.assertEqual(sorted(order), list(range(n)))
            ours = Ours(range(n), replicas, rank, True, seed, drop)
            ours.set_epoch(epoch)
            theirs = Torchs(range(n), replicas, rank, True, 0, drop)
            with mock.patch("torch.randperm",
                            lambda n, generator: torch.tensor(order)):
                self.assertEqual(list(ours), list(theirs))

    def test_epochs_and_seeds_differ(self):
        orders = set()
        for seed in range(5):
            ours = Ours(range(1000), 1, 0, seed=seed)
            for epoch in range(5):
                self.assertEqual(ours.epoch, epoch)
                orders.add(tuple(ours))
            for epoch in range(5):      # and the same when asked for again
                ours.set_epoch(epoch)
                self.assertIn(tuple(ours), orders)
            stream = Ours(range(1000), 1, 0, seed=seed, stream=1)
            orders.add(tuple(stream))
        self.assertEqual(len(orders), 30)

    def test_three_ranks_of_25(self):
        """Batches of four, numbered from 1."""
        tables = [[[i + 1 for i in batch] for batch in batches(
            Ours(range(25), 3, rank, shuffle=False), 25, 4, False)]
            for rank in range(3)]
        self.assertEqual(tables, [
            [[1, 4, 7, 10], [13, 16, 19, 22], [25]],
            [[2, 5, 8, 11], [14, 17, 20, 23], [1]],
            [[3, 6, 9, 12], [15, 18, 21, 24], [2]]])

    def test_an_empty_dataset(self):
        for drop in False, True:
            ours = Ours([], 2, 1, drop_last=drop)
            self.assertEqual((len(ours), list(ours), ours.epoch), (0, [], 1))
            self.assertEqual((len(ours), list(ours), ours.epoch), (0, [], 2))

    def test_vissl(self):
        for random in cases(300, "vissl"):
            n, replicas, rank = shape(random)
            size = random.randrange(1, 20)
            ours = Ours(range(n), replicas, rank, False, drop_last=True,
                        partition="blocked", batch_size=size)
            share = n // replicas
            start = random.randrange(share // size + 1)
            ours.set_start_iter(start)
            self.assertEqual(ours.start_iter, start)
            theirs = vissl(n, replicas, rank, size, start)
            self.assertEqual((len(ours), ours.remaining),
                             (share, len(theirs)))
            self.assertEqual(list(ours), theirs)
            self.assertEqual(list(ours), vissl(n, replicas, rank, size, 0))
            shuffled = Ours(range(n), replicas, rank, drop_last=True,
                            partition="blocked")
            self.assertEqual(sorted(shuffled),
                             vissl(n, replicas, rank, size, 0))

    def test_uneven_and_carry(self):
        for random in cases(100, "uneven"):
            n, replicas, _ = shape(random)
            shares = [list(Ours(range(n), replicas, rank, tail="uneven"))
                      for rank in range(replicas)]
            self.assertEqual(sorted(sum(shares, [])), list(range(n)))
            longest = max(map(len, shares))
            self.assertLessEqual(longest - min(map(len, shares)), 1)
            endless = Ours(range(n), 1, 0, tail="carry")
            served = list(itertools.islice(endless, 3 * n))
            for epoch in range(3):
                self.assertEqual(sorted(served[epoch * n:][:n]),
                                 list(range(n)))
            self.assertEqual(endless.epoch, 3)
            self.assertEqual((endless.num_samples, endless.total_size), (n, n))
            with self.assertRaises(TypeError):
                len(endless)

    def test_window_and_replacement(self):
        ours = Ours(range(1000), 1, 0, chunk_size=10, window=3)
        served = list(ours)
        self.assertEqual(sorted(served), list(range(1000)))
        for at in range(0, 990, 30):
            self.assertEqual(len({i // 10 for i in served[at:at + 30]}), 3)
        drawn = list(Ours(range(1000), 1, 0, replacement=True))
        self.assertEqual(len(drawn), 1000)
        self.assertTrue(550 < len(set(drawn)) < 710)    # 1 - 1/e of them

    def test_where_the_rank_comes_from(self):
        self.assertEqual(len(Ours(range(30))), 30)
        with mock.patch.dict(os.environ, RANK="2", WORLD_SIZE="3"):
            ours = Ours(range(30), shuffle=False)
            self.assertEqual((ours.rank, ours.num_replicas), (2, 3))
            self.assertEqual(list(ours), list(range(2, 30, 3)))
            self.assertEqual(Ours(range(30), num_replicas=3).rank, 2)
            # VISSL's second argument is a batch size.
            with self.assertRaisesRegex(ValueError, "3 ranks were found"):
                Ours(range(30), 5)
        with mock.patch.dict(os.environ, RANK="2"):
            with self.assertRaisesRegex(ValueError, "torchrun"):
                Ours(range(30))
        with mock.patch.dict(os.environ, RANK="0", WORLD_SIZE="1"), \
                mock.patch("torch.distributed.is_initialized", lambda: True), \
                mock.patch("torch.distributed.get_world_size", lambda: 7), \
                mock.patch("torch.distributed.get_rank", lambda: 4):
            ours = Ours(range(30))
            self.assertEqual((ours.rank, ours.num_replicas), (4, 7))
            self.assertEqual(len(list(ours)), 5)

    def test_the_environment(self):
        """As statesampler_from_env reads it, which the library does not have."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "hosted.so")
            subprocess.run(
                ["cc", "-shared", "-fPIC", "-DSTATESAMPLER_IMPLEMENTATION",
                 "-DSTATESAMPLER_HOSTED", "-I", ROOT, "-o", path, "-x", "c",
                 os.path.join(ROOT, "statesampler.h")], check=True)
            hosted = ctypes.CDLL(path)
        hosted.statesampler_error.restype = ctypes.c_char_p
        found = set()
        for random in cases(2000, "environment"):
            setting = {name: random.choice((
                "0", "1", "2", "3", "007", "", "-1", "+1", " 1", "1 ", "1x",
                "\u0663", "4294967295", "4294967296", "0" * 5000 + "2",
                "1" * 5000)) for launcher in _arguments._LAUNCHERS
                for name in launcher[1:] if random.random() < .3}
            desc, name = Desc(world_size=1), ctypes.c_char_p()
            with mock.patch.dict(os.environ, setting, clear=True):
                code = hosted.statesampler_from_env(ctypes.byref(desc),
                                                    ctypes.byref(name))
                launcher = name.value.decode()
                try:
                    ours = _arguments._from_environment()
                except ValueError as error:
                    ours = str(error)
            sentence = hosted.statesampler_error(code).decode()
            self.assertEqual(
                ours, f"the environment of {launcher}: {sentence}" if code
                else (desc.world_size, desc.rank, launcher), setting)
            found.add((launcher, code))
        self.assertEqual(len(found), 17)    # Each launcher, each code.

    def test_made_before_torch_distributed(self):
        """Where nothing says the ranks: each would train on all samples."""
        with mock.patch.dict(os.environ, clear=True):
            guessed, given = Ours(range(30)), Ours(range(30), 1, 0)
            half = Ours(range(30), rank=0)
        with mock.patch("torch.distributed.is_initialized", lambda: True), \
                mock.patch("torch.distributed.get_world_size", lambda: 2), \
                mock.patch("torch.distributed.get_rank", lambda: 1):
            for sampler, rank in (guessed, 1), (half, 0):
                with self.assertRaisesRegex(
                        RuntimeError, f"rank 0 of 1, .* rank {rank} of 2"):
                    next(iter(DataLoader(range(30), sampler=sampler)))
            self.assertEqual(len(list(given)), 30)
        self.assertEqual(len(list(guessed)), 30)

    def test_bad_arguments(self):
        def said(make, *arguments):
            with self.assertRaises(ValueError) as caught:
                make(*arguments)
            return str(caught.exception)
        for replicas, rank in ((3, 3), (3, -1), (0, 0), (2, 7)):
            self.assertEqual(said(Ours, range(9), replicas, rank),
                             said(Torchs, range(9), replicas, rank))
        for replicas, rank in (("a", 0), (2, "a"), (True, 0), (2.0, 0),
                               (2**32, 0), ([], 0), (2, False)):
            self.assertIn("should be an integer", said(
                Ours, range(9), replicas, rank))
        with mock.patch.dict(os.environ, RANK="7", WORLD_SIZE="8"):
            self.assertIn("Invalid rank 7", said(
                Ours, range(9), 5, 7))
            self.assertIn("Invalid rank 8", said(Ours, range(9), None, 8))
            self.assertIn("num_replicas", said(Ours, range(9), "a"))
            self.assertIn("rank", said(Ours, range(9), None, "a"))
        for dataset in iter([]), None, 9, range(2**64):
            self.assertIn("dataset should have a len()", said(Ours, dataset))
        with mock.patch.dict(os.environ, clear=True):
            self.assertIn("rank should be given with num_replicas=4, as "
                          "neither torch.distributed nor the environment "
                          "gives it", said(Ours, range(9), 4))
            self.assertEqual(Ours(range(9), 1).rank, 0)
        for size in (0, -1, True, 2.5, "4"):
            self.assertEqual(
                said(lambda: Ours(range(9), 1, 0, batch_size=size)),
                said(lambda: BatchSampler(range(9), size, False)))
        for wrong, word in (
                ({"partition": "block"}, "partition"), ({"tail": 0}, "tail"),
                ({"seed": True}, "seed"), ({"seed": "a"}, "seed"),
                ({"seed": 1.5}, "seed"), ({"seed": 2**64}, "seed"),
                ({"stream": -1}, "stream"), ({"chunk_size": 3}, "window"),
                ({"chunk_size": 0, "window": 1}, "chunk_size"),
                ({"replacement": True, "shuffle": False}, "shuffle"),
                ({"replacement": True, "window": 1}, "replacement"),
                ({"tail": "pad", "drop_last": True}, "drop_last"),
                ({"tail": "carry", "partition": "blocked"}, "INTERLEAVED")):
            self.assertIn(word, said(lambda: Ours(range(9), 1, 0, **wrong)))
        self.assertIn("a str", said(Ours, range(9), "1", 0))
        for name in "shuffle", "drop_last", "replacement":
            for wrong in "False", None, 2:
                with self.assertRaisesRegex(ValueError, f"{name} .* a "
                                            f"{type(wrong).__name__}"):
                    Ours(range(9), 1, 0, **{name: wrong})
        # Torch's and numpy's integers are integers.
        for whole in torch.tensor, type("Index", (), {
                "__init__": lambda self, value: setattr(self, "it", value),
                "__index__": lambda self: self.it}):
            ours = Ours(range(9), whole(3), whole(1), shuffle=False,
                        seed=whole(7), batch_size=whole(2))
            ours.set_epoch(whole(0))
            ours.set_start_iter(whole(1))
            self.assertEqual(list(ours), [7])
        ours = Ours(range(9), 1, 0, batch_size=2)
        for start in (-1, 6, 2**62, 1.5, None, True):
            self.assertIn("start_iter", said(ours.set_start_iter, start))
        for epoch in (-1, 2**64, None, "a", False):
            self.assertIn("epoch", said(ours.set_epoch, epoch))
        self.assertIn("batch_size", said(Ours(range(9)).set_start_iter, 1))
        self.assertEqual(len(list(ours)), 9)


if __name__ == "__main__":
    main()
