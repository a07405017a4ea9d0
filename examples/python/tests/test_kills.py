"""Processes that get SIGKILL at a random moment, called as each framework calls
them, whether it is installed or not. Those that go on, with another number of
processes where the framework allows it, complete each epoch with every sample
exactly once.

    CHAINS=3 python3 examples/python/tests/test_kills.py

A chain is a run that is killed, one that goes on and is killed, and one that
ends. All ranks of a run wait for each other after every batch, as for their
gradients. Rank 0 saves a checkpoint now and then; what was trained after the
last one is lost with the model, and does not count."""

import contextlib
import functools
import itertools
import multiprocessing
import os
import random
import signal
import tempfile
import time
import unittest
import warnings

from common import DataLoader, main
import loader_accelerate
import loader_lightning
import loader_torchdata
from statesampler import RoundRobinBatchSampler as RoundRobin
from statesampler import StatefulDistributedSampler as Distributed
from statesampler import StatefulLoader
import torch

N, BATCH, EPOCHS = 240, 2, 2
# Checkpoints stand where 1, 2 and 3 ranks have only full batches to go.
EVERY = 12
PROCESSES = multiprocessing.get_context("fork")

STATEFUL = [loader_torchdata.StatefulDataLoader]
try:
    from torchdata.stateful_dataloader import StatefulDataLoader
    STATEFUL.append(StatefulDataLoader)
except ImportError:
    pass


# Each way trains with train(batch, save) until it is killed or the epochs are
# over. save() gives the checkpoint, which is `saved` of the next run.

def plain(rank, world, saved, train):
    sampler = RoundRobin([N // 2, N // 4, N // 4], BATCH, rank, world,
                         weights=[2, 1, 1], stop="all", tail="uneven")
    if saved is not None:
        sampler.load_state_dict(saved)
    loader = DataLoader(range(N), batch_sampler=sampler, num_workers=1)
    while sampler.epoch < EPOCHS:
        for batch in loader:
            train(batch, sampler.state_dict)


def stateful(make_loader, rank, world, saved, train):
    sampler = Distributed(range(N), world, rank)
    loader = StatefulLoader(
        make_loader(range(N), BATCH, sampler=sampler, num_workers=1,
                    collate_fn=list), sampler)
    if saved is not None:
        loader.load_state_dict(saved)
    while sampler.epoch < EPOCHS:
        for batch in loader:
            train(batch, loader.state_dict)


def prepared(rank, world):
    sampler = Distributed(range(N), 1, 0)
    return sampler, loader_accelerate.DataLoaderShard(
        DataLoader(range(N), BATCH, sampler=sampler, num_workers=1),
        world, rank)


def accelerate(rank, world, saved, train):
    sampler, shard = prepared(rank, world)
    loader = StatefulLoader(shard, sampler)
    if saved is not None:
        loader.load_state_dict(saved)
    for _ in range(sampler.epoch, EPOCHS):
        for batch in loader:
            train(batch, loader.state_dict)


def hugging_face(rank, world, saved, train):
    sampler, shard = prepared(rank, world)
    steps = saved or 0
    for batch in loader_accelerate.trainer(
            shard, EPOCHS, steps,
            callbacks=[loader_accelerate.tells(sampler)]):
        steps += 1
        train(batch, lambda: steps)


def lightning(rank, world, saved, train):
    sampler = Distributed(range(N), world, rank)
    if saved is not None:
        sampler.load_state_dict(saved["sampler"])
    loader = DataLoader(range(N), BATCH, sampler=sampler, num_workers=1)
    trainer = loader_lightning.Trainer(EPOCHS, 3, inject_into=(world, rank))
    validation = DataLoader(range(N), BATCH, sampler=Distributed(
        range(N), world, rank))
    trainer.fit(loader, validation,
                lambda batch: train(batch, lambda: {
                    "sampler": sampler.state_dict(),
                    "trainer": trainer.state_dict()}),
                lambda batch: None, saved and saved["trainer"])


class Run:
    """One run of a chain, of so many processes. With a generator of moments
    one of them is to be killed, at any moment but in its last steps: two steps
    after it that process stands still, as this one may be late."""

    def __init__(self, way, world, folder, saved, done, moments=None):
        self.way, self.world, self.folder = way, world, folder
        self.saved, self.done = saved, done
        self.victim, self.moments = None, moments
        if moments:
            left = (EPOCHS * N - done) // (BATCH * world)
            self.victim = moments.randrange(world)
            self.moment = moments.randrange(1, max(left - left // 4, 2))
        self.path = os.path.join(folder, "checkpoint")
        self.barrier = PROCESSES.Barrier(world)
        self.reached = PROCESSES.Event()
        self.ranks = [PROCESSES.Process(target=self.rank, args=(rank,))
                      for rank in range(world)]
        for rank in range(world):
            open(self.log(rank), "w").close()
            open(self.errors(rank), "w").close()
        for each in self.ranks:
            each.start()

    def log(self, rank):
        return os.path.join(self.folder, f"log.{rank}")

    def errors(self, rank):
        return os.path.join(self.folder, f"errors.{rank}")

    def rank(self, rank):
        """What a process does. Its log outlives it without being closed. What
        it complains of when another one is killed is nobody's business."""
        os.setsid()     # Its workers go with it.
        tempfile.tempdir = self.folder
        with open(self.errors(rank), "ab") as errors:
            os.dup2(errors.fileno(), 2)
        warnings.simplefilter("ignore")     # set_epoch is relative.
        log, done, steps = open(self.log(rank), "ab", 0), self.done, 0

        def train(batch, save):
            nonlocal done, steps
            steps += 1
            log.write(" ".join(map(str, batch)).encode() + b"\n")
            if rank == self.victim and steps == self.moment:
                self.reached.set()
            self.barrier.wait()
            done += BATCH * self.world
            if rank == 0 and done % EVERY == 0:
                torch.save((steps, save()), self.path + ".new")
                os.replace(self.path + ".new", self.path)
            time.sleep(.002)    # a step of the network
            while rank == self.victim and steps > self.moment + 1:
                time.sleep(1)   # Ends with the process.

        self.way(rank, self.world, self.saved, train)

    def lines(self, rank):
        with open(self.log(rank)) as file:
            return file.read().splitlines()

    def kill(self):
        victim = self.ranks[self.victim]
        assert self.reached.wait(60), "it ended by itself, or hangs"
        time.sleep(self.moments.random() * .004)
        os.kill(victim.pid, signal.SIGKILL)
        victim.join()
        assert victim.exitcode == -signal.SIGKILL
        for each in self.ranks:     # as a launcher does
            with contextlib.suppress(ProcessLookupError):
                os.killpg(each.pid, signal.SIGKILL)
            each.kill()
            each.join()

    def end(self):
        for rank, each in enumerate(self.ranks):
            each.join(60)
            if each.exitcode != 0:
                with open(self.errors(rank)) as file:
                    raise AssertionError("it failed, or hangs\n" + file.read())

    def trained(self, steps=None):
        """The samples of the first steps, or of all."""
        steps = itertools.zip_longest(*(self.lines(rank)[:steps]
                                        for rank in range(self.world)),
                                      fillvalue="")
        return [int(index) for step in steps for index in
                " ".join(step).split()]


def killed(way, worlds, moments, trained=Run.trained):
    """Runs on each of these numbers of processes in turn, all but the last run
    killed. Returns the samples that were trained on, without those after a
    killed run's last checkpoint, and the number of these. Of a run and its
    first steps, `trained` returns the samples."""
    seen, saved, lost = [], None, 0
    with tempfile.TemporaryDirectory() as folder:
        for world in worlds[:-1]:
            run = Run(way, world, folder, saved, len(seen), moments)
            run.kill()
            steps = 0
            if os.path.exists(run.path):
                steps, saved = torch.load(run.path)
                os.unlink(run.path)
            seen += trained(run, steps)
            lost += len(run.trained()) - len(run.trained(steps))
        run = Run(way, worlds[-1], folder, saved, len(seen))
        run.end()
        return seen + trained(run), lost


class Kills(unittest.TestCase):
    def chains(self, name, way, worlds):
        lost = []
        for _ in range(CHAINS):
            seed = random.SystemRandom().randrange(2**32)
            with self.subTest(seed=seed):
                lost.append(self.chain(way, worlds, seed))
        print(f"{name}, {' then '.join(map(str, worlds))} processes, "
              f"{CHAINS * (len(worlds) - 1)} times SIGKILL: "
              f"{CHAINS * EPOCHS} epochs of {N} samples, each trained on "
              f"exactly once, and {sum(lost)} again that a kill lost",
              flush=True)

    def chain(self, way, worlds, seed):
        """How many samples were trained on after a run's last checkpoint."""
        seen, lost = killed(way, worlds, random.Random(seed))
        self.assertEqual(len(seen), EPOCHS * N)
        for epoch in range(EPOCHS):
            self.assertEqual(sorted(seen[epoch * N:][:N]), list(range(N)),
                             f"epoch {epoch}")
        self.assertNotEqual(seen[:N], seen[N:])
        return lost

    def test_torch(self):
        self.chains("DataLoader, datasets in turn", plain, (2, 3, 1))

    def test_torchdata(self):
        for make_loader in STATEFUL:
            imitated = make_loader is STATEFUL[0]
            name = "an imitation of torchdata" if imitated else "torchdata"
            self.chains(name, functools.partial(stateful, make_loader),
                        (2, 3, 1))

    def test_accelerate(self):
        self.chains("an imitation of accelerate", accelerate, (3, 2, 1))

    def test_trainers_that_count(self):
        """Their own counts are of batches of as many ranks as before."""
        self.chains("an imitation of the Hugging Face Trainer", hugging_face,
                    (2, 2, 2))
        self.chains("an imitation of Lightning", lightning, (2, 2, 2))


CHAINS = int(os.environ.get("CHAINS", 1))

if __name__ == "__main__":
    main()
