"""A state and another dataset: the fingerprint says so, and `changed` says
what follows. Beside it what two other projects do."""

import copy
import enum
import hashlib
import io
import multiprocessing
import os
import random
import signal
import tempfile
import time
import unittest

from common import DataLoader, cases, counted, main, raw, torch
import loader_torchdata
from statesampler import PackedBatchSampler, RepeatSampler
from statesampler import RoundRobinBatchSampler as RoundRobin
from statesampler import SpreadBatchSampler, StatefulLoader
from statesampler import StatefulDistributedSampler as Distributed


try:
    import numpy
    numpys = [(numpy.str_("v1"), "v1"), (numpy.float32(.5), "0.5"),
              (numpy.float64(.1), "0.1"), (numpy.int64(17), "17")]
except ImportError:
    numpys = []


class Name(str, enum.Enum):
    ONE = "v1"


class Precise(float):
    """As numpy 2's float64."""
    __repr__ = __str__ = lambda self: f"Precise({float(self)!r})"


class Known(list):
    """As Hugging Face's Dataset, it knows what it is."""

    def __init__(self, items, fingerprint):
        super().__init__(items)
        self._fingerprint = fingerprint


def reread(state_dict):
    """From a checkpoint on disk."""
    file = io.BytesIO()
    torch.save({"sampler": state_dict}, file)
    file.seek(0)
    return torch.load(file, weights_only=True)["sampler"]


def served(sampler, data, batches=None):
    loader = iter(DataLoader(data, 4, sampler=sampler))
    return [i for _, batch in zip(range(batches or 10**9), loader)
            for i in batch]


KINDS = {
    "one": lambda n, **more: Distributed(range(n), 2, 0, seed=3, **more),
    "many": lambda n, **more: RoundRobin([n, n + 5], 4, 0, 2, seed=3, **more),
    "groups": lambda n, **more: RepeatSampler(range(n), 2, 4, seed=3, **more),
    "packs": lambda n, **more: PackedBatchSampler(
        [1 + i % 7 for i in range(n)], 8, 0, 1, seed=3, plan_size=20, **more),
    "spread": lambda n, **more: SpreadBatchSampler(
        [i % 12 for i in range(n)], 4, 0, 1, seed=3, **more),
}


def advance(sampler, taken):
    units = iter(counted(sampler))
    for _ in range(taken):
        next(units)
    return sampler


class Fingerprints(unittest.TestCase):
    def test_what_a_state_says(self):
        """Readable text, the same on every rank, in a checkpoint that loads
        with weights_only."""
        for given, text in (("v1", "v1"), (b"\x00\xff", "bytes 00ff"),
                            (17, "17"), (torch.tensor(17), "17"),
                            (1.5, "1.5"), ("", ""),
                            (torch.tensor(.5), "0.5"), (Name.ONE, "v1"),
                            (Precise(.1), "0.1"), *numpys):
            states = [Distributed(range(9), 3, rank, fingerprint=given)
                      .state_dict() for rank in range(3)]
            for state in map(reread, states):
                self.assertEqual(state["fingerprint"], text)
                self.assertEqual(raw(state), raw(states[0]))
                Distributed(range(9), 3, 1,
                            fingerprint=given).load_state_dict(state)
        for one, other in (b"a", "61"), (b"", ""), (b"17", 17):
            self.assertNotEqual(
                Distributed(range(9), 1, 0, fingerprint=one).fingerprint,
                Distributed(range(9), 1, 0, fingerprint=other).fingerprint)
        for wrong in True, [1], object(), torch.tensor([1, 2]):
            with self.assertRaisesRegex(ValueError, "fingerprint should be"):
                Distributed(range(9), 1, 0, fingerprint=wrong)
        for wrong in "reject", None, 1:
            with self.assertRaisesRegex(ValueError, "changed should be one"):
                Distributed(range(9), 1, 0, changed=wrong)

    def test_a_dataset_that_knows_itself(self):
        data = Known(range(9), "4f1c")
        self.assertEqual(Distributed(data, 1, 0).state_dict()["fingerprint"],
                         "4f1c")
        self.assertEqual(RepeatSampler(data, 2).fingerprint, "4f1c")
        self.assertEqual(Distributed(data, 1, 0, fingerprint=3).fingerprint,
                         "3")
        for other in None, lambda: 0, []:   # another attribute of that name
            data = Known(range(9), other)
            self.assertNotIn("fingerprint", Distributed(data, 1, 0)
                             .state_dict())

    def test_states_without_one(self):
        """Load as before, here and there; and old ones are as they were."""
        for kind in KINDS.values():
            plain = advance(kind(50), 9).state_dict()
            self.assertIn(list(plain), (["state"], ["state", "history"]))
            named = advance(kind(50, fingerprint="a"), 9).state_dict()
            self.assertEqual(raw(plain), raw(named))
            for state in plain, named:
                for sampler in kind(50), kind(50, fingerprint="a"):
                    sampler.load_state_dict(state)
                    self.assertEqual(raw(sampler.state_dict()), raw(plain))
            with self.assertRaisesRegex(ValueError, "not a state_dict"):
                kind(50).load_state_dict({**plain, "fingerprint": 3})

    def test_assigned_later(self):
        """Is checked, too."""
        sampler = Distributed(range(9), 1, 0)
        sampler.fingerprint, sampler.changed = 5, "accept"
        self.assertEqual(sampler.state_dict()["fingerprint"], "5")
        sampler.batch_size = torch.tensor(4)
        self.assertEqual([len(sampler.at(step)) for step in range(3)],
                         [4, 4, 1])
        for name, value in (("fingerprint", []), ("changed", "no"),
                            ("batch_size", -2), ("batch_size", "4"),
                            ("read_ahead", 2)):
            with self.assertRaisesRegex(ValueError, name):
                setattr(sampler, name, value)
        self.assertEqual(sampler.batch_size, 4)

    def test_refuse(self):
        """Both are named, and the sampler goes on as if nothing was."""
        for kind in KINDS.values():
            state = reread(advance(kind(50, fingerprint="old"), 9)
                           .state_dict())
            sampler = kind(50, fingerprint=b"\xab")
            units = iter(counted(sampler))
            first = [next(units) for _ in range(3)]
            with self.assertRaisesRegex(
                    ValueError, "the state has fingerprint 'old', "
                                r"but here it is 'bytes ab' \(if the dataset is "
                                r"the same, pass fingerprint='old'\)"):
                sampler.load_state_dict(state)
            rest = list(units)
            self.assertEqual(first + rest, list(kind(50)))
            kind(50, fingerprint="old").load_state_dict(state)

    def test_accept(self):
        """The same place, and from then on the new fingerprint; but another
        length has no such place."""
        for kind in KINDS.values():
            state = advance(kind(50, fingerprint="old"), 9).state_dict()
            sampler = kind(50, fingerprint="new", changed="accept")
            sampler.load_state_dict(reread(state))
            self.assertEqual(raw(sampler.state_dict()), raw(state))
            self.assertEqual(sampler.state_dict()["fingerprint"], "new")
            self.assertEqual(list(sampler), list(kind(50))[9:])
            with self.assertRaisesRegex(ValueError, r"len\(.*\) 50.*49"):
                kind(49, fingerprint="new",
                     changed="accept").load_state_dict(state)

    def test_next_epoch(self):
        """What comes after a state of any place is a whole epoch, as one that
        begins with it: of what is there now, on any ranks."""
        for random in cases(40, "next epoch"):
            name = random.choice(sorted(KINDS))
            kind, n = KINDS[name], random.randrange(20, 60)
            m = random.choice([n, random.randrange(20, 60)])
            old = kind(n, fingerprint="old")
            old.begin(random.randrange(5))
            epoch, taken = old.epoch, random.randrange(8)
            state = advance(old, taken).state_dict()
            new = kind(m, changed="next_epoch", **(
                {} if m != n and random.random() < .5 else
                {"fingerprint": "new"}))
            new.load_state_dict(reread(state))
            self.assertEqual(new.epoch, epoch + (taken > 0))
            fresh = kind(m)
            fresh.begin(new.epoch)
            for _ in range(2):
                self.assertEqual(list(new), list(fresh))
            # The same dataset again is no change.
            again = kind(n, fingerprint="old", changed="next_epoch")
            again.load_state_dict(state)
            self.assertEqual(raw(again.state_dict()), raw(state))

    def test_another_order_is_no_other_dataset(self):
        """Nor is damage."""
        for changed in "refuse", "next_epoch", "accept":
            for n in 50, 49:
                state = advance(KINDS["one"](50, fingerprint="old"),
                                9).state_dict()
                other = Distributed(range(n), 2, 0, seed=4,
                                    fingerprint="new", changed=changed)
                with self.assertRaisesRegex(ValueError, "seed 3.* 4"):
                    other.load_state_dict(state)
        for kind in KINDS.values():
            state = advance(kind(50, fingerprint="old"), 9).state_dict()
            for at in 40, len(state["state"]) - 1:
                damaged = copy.deepcopy(state)
                damaged["state"][at] ^= 4
                for changed in "next_epoch", "accept":
                    sampler = kind(50, fingerprint="new", changed=changed)
                    with self.assertRaises(ValueError):
                        sampler.load_state_dict(damaged)
                    self.assertEqual(list(sampler), list(kind(50)))

    def test_inside_a_loader_with_a_state(self):
        """Its own state knows nothing of ours: that of the loader around it is
        loaded."""
        for changed, wanted in ("next_epoch", 1), ("accept", 0):
            def loader(fingerprint):
                sampler = Distributed(range(60), 1, 0, fingerprint=fingerprint,
                                      changed=changed)
                return sampler, StatefulLoader(
                    loader_torchdata.StatefulDataLoader(
                        range(60), 4, sampler=sampler, collate_fn=list),
                    sampler)
            _, old = loader("old")
            before = [batch for _, batch in zip(range(5), old)]
            state = old.state_dict()
            sampler, new = loader("new")
            new.load_state_dict(state)
            after = [i for batch in new for i in batch]
            whole = Distributed(range(60), 1, 0)
            whole.begin(wanted)
            self.assertEqual(
                after, list(whole)[0 if wanted else 4 * len(before):])

    def test_next_epoch_on_other_ranks(self):
        """Old data on 2 ranks, new and longer data on 3."""
        old = Distributed(range(60), 2, 1, fingerprint=1)
        advance(old, 11)
        epochs = [[], []]
        for rank in range(3):
            new = Distributed(range(75), 3, rank, fingerprint=2,
                              changed="next_epoch")
            new.load_state_dict(old.state_dict())
            for epoch in epochs:
                epoch += served(new, range(75))
            self.assertEqual(new.epoch, 3)
        for epoch in epochs:
            self.assertEqual(sorted(epoch), list(range(75)))


class Peers(unittest.TestCase):
    """What others do when the dataset has changed, by their rules."""

    def test_a_swap_by_name(self):
        """NVIDIA-NeMo/RL#2519. Before it, torchdata's loader skips as many
        samples of the new dataset as the old one had served. Since then a name
        from the configuration is saved beside the state, and with another name
        the state is left out, so that epochs begin at 0 again; under the same
        name, samples are lost as before."""
        old, new = list(range(100)), list(range(1000, 1100))

        def loader(data):
            sampler = Distributed(data, 1, 0)
            return StatefulLoader(loader_torchdata.StatefulDataLoader(
                data, 4, sampler=sampler, collate_fn=list), sampler)

        def resumed(state, name):
            resumed = loader(new)
            if name is None or state["name"] == name:
                resumed.load_state_dict(state["loader"])
            return [i for batch in resumed for i in batch]

        begun = loader(old)
        for _ in zip(range(10), begun):
            pass
        state = {"loader": begun.state_dict(), "name": "math"}
        self.assertEqual(len(set(new) - set(resumed(state, None))), 40)
        self.assertEqual(len(set(new) - set(resumed(state, "math"))), 40)
        self.assertEqual(resumed(state, "other"),
                         [new[i] for i in Distributed(new, 1, 0)])

        def ours(data, **more):
            return Distributed(data, 1, 0, fingerprint=str(data), **more)
        sampler = ours(old)
        served(sampler, old, 10)
        with self.assertRaisesRegex(ValueError, "fingerprint"):
            ours(new).load_state_dict(sampler.state_dict())
        chosen = ours(new, changed="next_epoch")
        chosen.load_state_dict(sampler.state_dict())
        self.assertEqual(chosen.epoch, 1)
        self.assertEqual(sorted(served(chosen, new)), new)

    def test_a_split_that_moves(self):
        """TensorAuto/OpenTau#502. The validation set follows from seed, length
        and ratio (datasets/factory.py): in a dataset that has grown it is
        another one, in which most was trained on, and nothing tells. Here the
        length is in the state, and a change within it in the fingerprint."""
        def validation(length):
            generator = torch.Generator().manual_seed(7)
            size = int(length * .1)
            return set(torch.utils.data.random_split(
                range(length), [length - size, size],
                generator=generator)[1].indices)
        before, after = validation(1000), validation(1010)
        self.assertGreater(len(after - before), 80)
        state = Distributed(range(1000), 1, 0).state_dict()
        with self.assertRaisesRegex(ValueError, r"len\(dataset\) 1000.*1010"):
            Distributed(range(1010), 1, 0).load_state_dict(state)


def trains(changed, epochs):
    """The batches, each after the checkpoint that counts it."""
    with open("data") as file:
        lines = file.read().split()
    sampler = Distributed(
        lines, 1, 0, changed=changed,
        fingerprint=hashlib.sha256(" ".join(lines).encode()).digest())
    if os.path.exists("checkpoint"):
        sampler.load_state_dict(
            torch.load("checkpoint", weights_only=True)["sampler"])
    for _ in range(epochs):
        for batch in DataLoader(lines, 3, sampler=sampler):
            torch.save({"sampler": sampler.state_dict()}, "new")
            os.replace("new", "checkpoint")
            yield batch


class Killed(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)

    def killed(self, batches):
        """A process that trains is killed after some batches."""
        def run(ours):
            for batch in trains("refuse", 1000):
                ours.send(batch)

        fork = multiprocessing.get_context("fork")
        theirs, ours = fork.Pipe(False)
        process = fork.Process(target=run, args=(ours,))
        process.start()
        ours.close()
        for _ in range(batches):
            theirs.recv()
        time.sleep(random.random() * .003)
        process.kill()
        process.join()
        self.assertEqual(process.exitcode, -signal.SIGKILL)

    def write(self, name, count):
        with open("data", "w") as file:
            file.write("\n".join(f"{name}{i}" for i in range(count)))

    def test_killed_and_the_data_replaced(self):
        self.write("old", 600)
        self.killed(random.SystemRandom().randrange(5, 150))
        self.write("new", 600)
        with self.assertRaisesRegex(
                ValueError, "^the state has fingerprint "
                "'bytes [0-9a-f]{64}', but here it is 'bytes "):
            next(trains("refuse", 1))
        served = sum(trains("next_epoch", 1), [])
        self.assertEqual(sorted(served), sorted(f"new{i}" for i in range(600)))


if __name__ == "__main__":
    main()
