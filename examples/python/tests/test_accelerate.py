"""The samplers under accelerate and the Hugging Face Trainer: a kill loses and
repeats nothing.

The loaders are loader_accelerate's, and accelerate's and transformers' own
where they are installed: accelerate 1.15.0.dev0 (16cb6eb8), 1.14.0 and 1.2.1,
and transformers 000945a9 and 5.12.1 are what this was written for."""

import collections
import functools
import io
import itertools
import json
import multiprocessing
import os
import signal
import socket
import tempfile
import unittest
from unittest import mock
import warnings

from common import ROOT, DataLoader, Uncounted, cases, main, raw, real
import loader_accelerate
from loader_accelerate import DataLoaderDispatcher, DataLoaderShard
from statesampler import PackedBatchSampler as Packed
from statesampler import RoundRobinBatchSampler as RoundRobin
from statesampler import SpreadBatchSampler as Spread
from statesampler import StatefulDistributedSampler as Distributed
from statesampler import StatefulLoader
import test_kills
from test_readme import blocks
import torch
from torch.utils.data import ConcatDataset

EPOCHS = 3
# Of the 36 samples of the Trainer's tests.
GROUPS = [index % 9 for index in range(36)]
LENGTHS, TOKENS = [5 + index * index % 7 for index in range(36)], 16
# Beside what may be broken, or the project's.
RECIPES = os.path.join(ROOT, "examples", "python", "trainer.md")


class PrefetchLoader:
    """timm's (013851bf, timm/data/loader.py): a batch is on its way to the
    GPU while the one before is trained on."""

    __module__ = "timm.data.loader"

    def __init__(self, loader):
        self.loader = loader

    def __iter__(self):
        before = None
        for batch in self.loader:
            if before is not None:
                yield before
            before = batch
        yield before


class _WrappedDataLoader:
    """Ray Train's (009ba154, python/ray/train/torch/train_loop_utils.py): the
    same, and the end is asked for once."""

    __module__ = "ray.train.torch.train_loop_utils"

    def __init__(self, loader):
        self.loader = loader

    def _prefetch_next_batch(self):
        self.next_batch = next(self.iterator, None)

    def __iter__(self):
        self.iterator = iter(self.loader)
        self._prefetch_next_batch()
        return self

    def __next__(self):
        batch = self.next_batch
        if batch is None:
            raise StopIteration
        self._prefetch_next_batch()
        return batch


def flat(batches):
    """The numbers in a batch, or in batches of batches."""
    return ([batches] if isinstance(batches, int) else
            [index for batch in batches for index in flat(batch)])


class Accelerate(unittest.TestCase):
    def shard(self, loader, processes=1, process=0):
        return DataLoaderShard(loader, processes, process)

    def skipping(self, shard, count):
        return loader_accelerate.skip_first_batches(shard, count)

    def prepared(self, sampler, n, size, processes, process=0, workers=0):
        return StatefulLoader(self.shard(Uncounted(
            range(n), size, sampler=sampler, num_workers=workers),
            processes, process), sampler)

    def killed(self, sampler, shard, stop):
        """Batches up to the stop-th, and the state there."""
        given = []
        for _ in range(EPOCHS):
            for batch in shard:
                given.append(batch)
                if len(given) == stop:
                    with warnings.catch_warnings():
                        warnings.simplefilter("error")
                        return given, sampler.state_dict()

    def test_every_batch(self):
        """A new process counts its epochs from 0, and takes a batch ahead;
        after the last batch of an epoch, there is no empty loop."""
        for random, processes, workers in (
                [(random, processes, 0) for random in cases(4, "accelerate")
                 for processes in (1, 2, 3)] +
                [(random, 2, 1) for random in cases(1, "workers")]):
            size = random.randrange(1, 5)
            n = size * processes * random.randrange(3, 9)

            def make():
                return Distributed(range(n), 1, 0)

            whole = make()
            shard = self.prepared(whole, n, size, processes)
            unstopped = [batch for _ in range(EPOCHS) for batch in shard]
            self.assertEqual(len(unstopped), EPOCHS * len(shard))
            for stop in range(1, len(unstopped)):
                sampler = make()
                given, state = self.killed(
                    sampler, self.prepared(sampler, n, size, processes,
                                           workers=workers), stop)
                self.assertEqual(given, unstopped[:stop])
                resumed = make()
                resumed.load_state_dict(state)
                shard = self.prepared(resumed, n, size, processes)
                first = resumed.epoch
                self.assertEqual(first, stop // len(shard))
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    left = [batch for _ in range(EPOCHS - first)
                            for batch in shard]
                self.assertEqual(left, unstopped[stop:])

    def test_registered(self):
        """register_for_checkpointing saves and loads so (1.14.0,
        checkpointing.py), of a sampler and of its loader."""
        def go_on(stop, state=None):
            sampler = Distributed(range(24), 1, 0)
            loader = self.prepared(sampler, 24, 3, 2)
            registered = self.registered(sampler, loader)
            if state:
                registered.load_state_dict(torch.load(
                    io.BytesIO(state), map_location="cpu", weights_only=True))
            for epoch in range(sampler.epoch, EPOCHS):
                for batch in loader:
                    given.append(batch)
                    if len(given) == stop:
                        saved = io.BytesIO()
                        torch.save(registered.state_dict(), saved)
                        return saved.getvalue()

        for self.registered in (lambda sampler, loader: sampler,
                                lambda sampler, loader: loader):
            given = []
            go_on(None)
            whole = given
            self.assertEqual(len(whole), 4 * EPOCHS)
            for stop in range(1, len(whole)):
                given = []
                go_on(None, go_on(stop))
                self.assertEqual(given, whole)

    def test_other_processes(self):
        """Each of three goes on where two were."""
        n, size = 120, 2

        def make():
            return Distributed(range(n), 1, 0)

        for stop in range(1, 30):
            seen, states = [], []
            for process in range(2):
                sampler = make()
                given, state = self.killed(
                    sampler, self.prepared(sampler, n, size, 2, process),
                    stop)
                seen += sum(given, [])
                states.append(state)
            self.assertEqual(*(each["state"].tolist() for each in states))
            for process in range(3):
                sampler = make()
                sampler.load_state_dict(states[0])
                if sampler.epoch == 0:
                    seen += sum(self.prepared(sampler, n, size, 3, process),
                                [])
            # The last group of three may have to be filled.
            self.assertEqual(set(seen), set(range(n)))
            self.assertLess(len(seen) - n, 3 * size)

    def test_dealt_twice(self):
        """By accelerate and by the sampler: half of the samples would be left
        out."""
        def refused(loader, sampler):
            with self.assertRaisesRegex(RuntimeError, "to its 2 .* to 3:"):
                StatefulLoader(loader, sampler)

        sampler = Distributed(range(40), 3, 1)
        base = Uncounted(range(40), 4, sampler=sampler)
        refused(self.shard(base, 2, 1), sampler)
        refused(DataLoaderDispatcher(base, 2), sampler)
        refused(DataLoaderDispatcher(base, 2, split_batches=True), sampler)
        self.assertEqual(len(list(StatefulLoader(self.shard(base), sampler))),
                         4)
        turns = RoundRobin([20, 20], 2, 1, 3)
        refused(self.shard(Uncounted(range(40), batch_sampler=turns), 2),
                turns)

    def test_it_skips_over_a_loaded_state(self):
        """A run loads the state, or it skips: both would leave out samples."""
        for processes, workers in (1, 0), (2, 0), (1, 1):
            def make():
                sampler = Distributed(range(40), 1, 0)
                return sampler, self.prepared(sampler, 40, 2, processes,
                                              workers=workers)

            unstopped = make()[1]
            whole, second = list(unstopped), list(unstopped)
            _, state = self.killed(*make(), 3)
            sampler, loader = make()
            skipping = self.skipping(loader.loader, 3)
            with self.assertRaisesRegex(RuntimeError,
                                        "accelerate skips .* 3 .* never both"):
                StatefulLoader(skipping, sampler)
            none = StatefulLoader(self.skipping(loader.loader, 0), sampler)
            none.load_state_dict(state)
            self.assertEqual(list(none), whole[3:])
            # What nothing counts skips only where no state was loaded, as the
            # Trainer, which makes such a loader of ours.
            loader.load_state_dict(state)
            with self.assertRaisesRegex(RuntimeError, "from its StatefulLoader"
                                        ".* never both"):
                next(iter(skipping))
            # Nothing is lost.
            self.assertEqual(list(loader), whole[3:])
            self.assertEqual(list(loader), second)

    def test_the_last_group(self):
        """Accelerate fills it up, also for a run that was killed: then its
        samples are the only ones that are trained on twice. With drop_last
        none is."""
        for random, processes, drop_last in itertools.product(
                cases(3, "last group"), (1, 2, 3), (False, True)):
            size = random.randrange(1, 5)
            n = random.randrange(2, 6) * size * processes + random.randrange(
                1, size * processes + 1)

            def shard(process):
                sampler = Distributed(range(n), 1, 0)
                return sampler, StatefulLoader(self.shard(Uncounted(
                    range(n), size, sampler=sampler, drop_last=drop_last),
                    processes, process), sampler)

            length = len(shard(0)[1])
            for stop in range(1, length):
                steps = [[] for _ in range(length)]
                for process in range(processes):
                    given, state = self.killed(*shard(process), stop)
                    self.assertEqual(state["indices_per_batch"],
                                     size * processes)
                    sampler, rest = shard(process)
                    sampler.load_state_dict(state)
                    given += rest
                    self.assertEqual(len(given), length)
                    for step, batch in zip(steps, given):
                        self.assertTrue(len(batch) == size or processes == 1)
                        step += batch
                seen = collections.Counter(sum(steps, []))
                twice = {index for index in seen if seen[index] > 1}
                if drop_last:
                    self.assertFalse(twice)
                    self.assertGreater(len(seen), n - size * processes)
                else:
                    self.assertEqual(len(seen), n)
                    self.assertLessEqual(twice, set(steps[-1]))
                    self.assertEqual(sampler.epoch, 1)

    def test_set_epoch_that_goes_back(self):
        """Before the epoch of a loaded state: a warning, and it does."""
        for make in (lambda: Distributed(range(20), 1, 0),
                     lambda: RoundRobin([9, 8], 2, 0, 1)):
            whole = make()
            orders = [list(whole) for _ in range(4)]

            def loaded():
                sampler = make()
                sampler.load_state_dict(whole.state_dict(epoch=3))
                return sampler

            sampler = loaded()
            with self.assertWarnsRegex(UserWarning, "before epoch 3 .*"
                                       "range.sampler.epoch, epochs"):
                sampler.set_epoch(0)
            self.assertEqual(list(sampler), orders[0])
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                sampler = loaded()
                sampler.set_epoch(3)
                self.assertEqual(list(sampler), orders[3])
                sampler = loaded()
                sampler.begin(1)
                sampler.set_epoch(0)
                self.assertEqual(list(sampler), orders[0])
            for epoch in None, -1, 2**64, True, "1":
                with self.assertRaisesRegex(ValueError, "epoch"):
                    sampler.begin(epoch)

    def test_what_reads_ahead(self):
        """Whatever it is, a state at any batch counts what reached the
        loop."""
        n = 72

        def loader(make, workers=0):
            sampler = Distributed(range(n), 1, 0)
            return sampler, StatefulLoader(make(Uncounted(
                range(n), 3, sampler=sampler, num_workers=workers)), sampler)

        for make in (self.shard, PrefetchLoader, _WrappedDataLoader,
                     lambda base: PrefetchLoader(self.shard(base)),
                     lambda base: DataLoaderDispatcher(base, 1),
                     lambda base: DataLoaderDispatcher(base, 4),
                     lambda base: DataLoaderDispatcher(base, 4, True)):
            for workers in 0, 1:
                sampler, base = loader(make, workers)
                taken = []
                for batch in base:
                    taken += flat(batch)
                    state = sampler.state_dict()
                    if workers and len(taken) not in (12, n):
                        continue
                    resumed, rest = loader(make)
                    resumed.load_state_dict(state)
                    self.assertEqual(resumed.epoch, len(taken) // n)
                    left = [] if resumed.epoch else flat(rest)
                    self.assertEqual(sorted(taken + left), list(range(n)))

    def test_a_dispatcher(self):
        """Process 0 draws for all; each counts what it was given, and knows
        the place."""
        def loader(process, sampler, split=False):
            how = (dict(batch_size=3, sampler=sampler) if isinstance(
                sampler, Distributed) else dict(batch_sampler=sampler))
            return StatefulLoader(DataLoaderDispatcher(
                Uncounted(range(48), **how), 2, split, process,
                groups=16 if split else 8), sampler)

        for make, split in itertools.product((
                lambda: Distributed(range(48), 1, 0),
                lambda: RoundRobin([24, 24], 3, 0, 1, stop="all")),
                (False, True)):
            samplers = make(), make()
            loaders = [loader(rank, sampler, split)
                       for rank, sampler in enumerate(samplers)]
            seen = []
            for epoch in range(EPOCHS):
                for group, _ in zip(*loaders):
                    seen += flat(group)
                    one, other = (each.state_dict() for each in samplers)
                    self.assertEqual(raw(one), raw(other))
                    resumed = make()
                    resumed.load_state_dict(one)
                    rest = flat(resumed) if resumed.epoch == epoch else []
                    self.assertEqual(sorted(seen[48 * epoch:] + rest),
                                     list(range(48)))
                # zip did not ask the second one for its end.
                self.assertEqual([each.epoch for each in samplers],
                                 2 * [epoch + 1])

    def test_read_ahead(self):
        """Nobody needs to say it."""
        for wrong in 0, 1.5, -1, "1", 2**31:
            with self.assertRaisesRegex(ValueError, "read_ahead .* Stateful"):
                Distributed(range(9), 1, 0, read_ahead=wrong)

    def test_a_queue(self):
        """It meets the end as often as it holds batches then."""
        class Queue:
            def __init__(self, loader, count):
                self.loader, self.count = loader, count

            def __iter__(self):
                served = iter(self.loader)
                held = collections.deque(itertools.islice(served, self.count))
                while held:
                    batch = held.popleft()
                    held.extend(itertools.islice(served, 1))
                    yield batch

        for count, workers in itertools.product((1, 2, 3), (0, 1)):
            for make, how in (
                    (lambda: Distributed(range(22), 1, 0),
                     lambda sampler: dict(sampler=sampler, batch_size=4)),
                    (lambda: RoundRobin([10, 12], 4, 0, 1, stop="all"),
                     lambda sampler: dict(batch_sampler=sampler))):
                sampler, seen = make(), []
                for batch in StatefulLoader(Queue(Uncounted(
                        range(22), num_workers=workers, **how(sampler)),
                        count), sampler):
                    seen += batch
                    left = make()
                    left.load_state_dict(sampler.state_dict())
                    rest = flat(left) if left.epoch == 0 else []
                    self.assertEqual(sorted(seen + rest), list(range(22)))
                self.assertEqual(sampler.epoch, 1)

    def test_its_epochs(self):
        """It counts them from 0 in each process, and tells the sampler: that
        is not heeded while a loop asks."""
        for processes in 1, 2:
            sampler = Distributed(range(60), 1, 0)
            loader = self.prepared(sampler, 60, 3, processes)
            epochs = [list(loader) for _ in range(4)]
            for first in range(4):
                sampler = Distributed(range(60), 1, 0)
                loader = self.prepared(sampler, 60, 3, processes)
                sampler.set_epoch(first)
                for epoch in epochs[first:]:
                    self.assertEqual(list(loader), epoch)


def by_two(work):
    """What work(rank) returns in each of two processes of accelerate's."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    context = multiprocessing.get_context("fork")
    answers = [context.Pipe(duplex=False) for _ in range(2)]
    running = [context.Process(target=one_of_two, args=(
        rank, port, work, answers[rank][1])) for rank in range(2)]
    for each in running:
        each.start()
    for _, end in answers:
        end.close()
    found = [end.recv() for end, _ in answers]
    for each in running:
        each.join()
    return found


def one_of_two(rank, port, work, answer):
    os.environ.update(
        RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="2",
        MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    warnings.simplefilter("ignore")
    # By name, as accelerate takes MPI where torch has it: then these are two
    # worlds of one.
    torch.distributed.init_process_group("gloo")
    from accelerate.state import AcceleratorState
    AcceleratorState._reset_state(reset_partial_state=True)
    found = work(rank)
    torch.distributed.barrier()
    answer.send(found)


@real("accelerate")
class RealAccelerate(Accelerate):
    def shard(self, loader, processes=1, process=0):
        from accelerate.data_loader import prepare_data_loader
        return prepare_data_loader(loader, num_processes=processes,
                                   process_index=process)

    def skipping(self, shard, count):
        from accelerate.data_loader import skip_first_batches
        return skip_first_batches(shard, count)

    def test_two_processes(self):
        """Of its own making: they are killed, and go on from rank 0's state in
        any epoch, where every sample then comes once."""
        n, size = 48, 3
        for stop in 5, 8, 11, 19:
            seen, states = self.both(stop, None)
            self.assertEqual(*(each["state"] for each in states))
            left, _ = self.both(None, states[0])
            both = [sum(pair, []) for pair in zip(*(
                begun + rest for begun, rest in zip(seen, left)))]
            self.assertEqual(len(both), EPOCHS * n // size // 2)
            epochs = [sum(both[at:at + 8], []) for at in (0, 8, 16)]
            for epoch in epochs:
                self.assertEqual(sorted(epoch), list(range(n)))
            self.assertEqual(len(set(map(tuple, epochs))), EPOCHS)

    def test_a_dispatcher_of_its_own(self):
        """Both processes know the place at each step, and go on from it."""
        for turns, workers in itertools.product((False, True), (0, 2)):
            whole, end = zip(*by_two(
                lambda rank: self.dispatched(turns, workers, None, None)))
            self.assertEqual(end[0], end[1])
            for at in range(0, EPOCHS * 8, 8):
                self.assertEqual(sorted(flat([each[at:at + 8] for each in
                                              whole])), list(range(48)))
            for stop in 3, 8, 21:
                begun, states = zip(*by_two(
                    lambda rank: self.dispatched(turns, workers, stop, None)))
                self.assertEqual(states[0], states[1])
                rest, _ = zip(*by_two(lambda rank: self.dispatched(
                    turns, workers, None, {"state": states[0]})))
                self.assertEqual([list(begun[rank]) + list(rest[rank])
                                  for rank in (0, 1)], [*map(list, whole)])

    def dispatched(self, turns, workers, stop, state):
        """A process's batches, and its state at the end."""
        from accelerate import Accelerator, DataLoaderConfiguration
        accelerator = Accelerator(
            cpu=True, dataloader_config=DataLoaderConfiguration(
                dispatch_batches=True))
        sampler = (RoundRobin([24, 24], 3, 0, 1, stop="all") if turns else
                   Distributed(range(48), 1, 0))
        loader = StatefulLoader(accelerator.prepare(
            torch.utils.data.DataLoader(range(48), num_workers=workers, **(
                {"batch_sampler": sampler} if turns else
                {"batch_size": 3, "sampler": sampler}))), sampler)
        if state:
            loader.load_state_dict(state)
        given = []
        while sampler.epoch < EPOCHS and len(given) != stop:
            for batch in loader:
                given.append(batch.tolist())
                if len(given) == stop:
                    break
        return given, raw(loader.state_dict())

    def both(self, stop, state):
        """What both processes are given, and their states."""
        return zip(*by_two(lambda rank: self.process(stop, state)))

    def process(self, stop, state):
        from accelerate import Accelerator
        accelerator = Accelerator(cpu=True)
        sampler = Distributed(range(48), 1, 0)
        if state:
            sampler.load_state_dict(state)
        loader = StatefulLoader(accelerator.prepare(
            DataLoader(range(48), 3, sampler=sampler)), sampler)
        given = []
        for _ in range(sampler.epoch, EPOCHS):
            for batch in loader:
                given.append(batch)
                if len(given) == stop:
                    break
            if len(given) == stop:
                break
        return given, {"state": raw(sampler.state_dict())}


# With plans so small that epochs differ.
packs = functools.partial(Packed, plan_size=6)


def recipes(transformers, **names):
    """The Trainers of trainer.md, each after its text."""
    names.update(StatefulDistributedSampler=Distributed,
                 StatefulLoader=StatefulLoader,
                 RoundRobinBatchSampler=RoundRobin, SpreadBatchSampler=Spread,
                 PackedBatchSampler=packs, itertools=itertools, torch=torch,
                 transformers=transformers)
    with open(RECIPES) as file:
        found = [each for each in blocks(file.read())
                 if "transformers.Trainer)" in each]
    assert len(found) == 4, len(found)
    for recipe in found:
        exec(recipe, names)
        yield recipe, names["Trainer"]


class Saves(unittest.TestCase):
    def test_a_break_after_a_save(self):
        """All processes go on there, also those that write nothing."""
        class Stopped(Exception):
            pass

        data = ConcatDataset([range(24), range(24, 36)])
        for _, kind in recipes(loader_accelerate, groups=GROUPS,
                               lengths=LENGTHS, max_tokens=TOKENS):
            class Stopping(kind):
                def training_step(self, *_):
                    pass

                def _save_checkpoint(self, *arguments):
                    super()._save_checkpoint(*arguments)
                    if self.state.global_step == 2:
                        raise Stopped

            with tempfile.TemporaryDirectory() as folder:
                for process in range(2):
                    one = Stopping(data, 3, 2, process, 5, folder)
                    one.args.max_steps = 4
                    with self.assertRaises(Stopped):
                        one.train()
                    again = Stopping(data, 3, 2, process, 5, folder)
                    again.checkpoint = f"{folder}/checkpoint-2"
                    self.assertEqual(
                        next(iter(one.loader)).tolist(),
                        next(iter(again.get_train_dataloader())).tolist())


class Trainer(unittest.TestCase):
    worlds = {1: 1, 2: 1}   # Numbers of processes; at which steps.

    def transformers(self):
        return loader_accelerate

    def ranks(self, processes, work):
        """What work(process) returns in each."""
        return [work(process) for process in range(processes)]

    def new(self, kind, data, seed, folder, *place):
        return kind(data, 3, *place, seed, folder)

    def trained(self, kind, data, seed, folder, done, most, *place):
        """The batches of a process, from a step on: a run from the start saves
        a checkpoint at each step, and one from a later step goes on from
        that."""
        batches = []

        class Recorded(kind):
            def training_step(self, model, inputs, *_, **__):
                batches.append(inputs["index"].tolist())
                return torch.zeros(())

        one = self.new(Recorded, data, seed, folder, *place)
        one.args.max_steps = most
        one.train(resume_from_checkpoint=(
            os.path.join(folder, f"checkpoint-{done}") if done else None))
        return batches

    def test_the_recipes(self):
        """The Trainers of trainer.md, at each step; also where
        set_epoch does not reach the sampler, at every fifth."""
        names = dict(groups=GROUPS, lengths=LENGTHS, max_tokens=TOKENS)
        for recipe, kind in recipes(self.transformers(), **names):
            for processes, stride in self.worlds.items():
                self.at_each_step(kind, processes, recipe, stride)
                with mock.patch.object(DataLoaderShard, "depth", 1):
                    self.at_each_step(kind, processes, recipe, 5 * stride)

    def test_a_step_that_is_not_full(self):
        """No group is in it twice, nor after a resume."""
        for n, (processes, stride) in itertools.product(
                (32, 35), self.worlds.items()):
            *_, (_, kind), _ = recipes(self.transformers(), groups=GROUPS[:n])
            steps = self.steps(kind, range(n), -1, processes, stride)
            self.check_spread(steps)
            self.assertEqual(len(steps), EPOCHS * -(-n // (3 * processes)))

            class Dropping(kind):
                def train(self, **options):
                    self.args.dataloader_drop_last = True
                    super().train(**options)

            steps = self.steps(Dropping, range(n), -1, processes, stride)
            length = n // (3 * processes)
            self.assertEqual(len(steps), EPOCHS * length)
            for at in range(0, len(steps), length):
                seen = [index for step in steps[at:at + length]
                        for batch in step for index in batch]
                self.assertEqual(len({*seen}), 3 * processes * length)

    def test_the_packs_loader(self):
        """It heeds the Trainer's arguments, as its own does."""
        *_, (_, kind) = recipes(self.transformers(), lengths=LENGTHS,
                                max_tokens=TOKENS)
        one = self.new(kind, range(36), 5, None, 1, 0)
        one.data_collator = list
        one.args.dataloader_num_workers = 2
        for pinned in False, True:
            one.args.dataloader_pin_memory = pinned
            loader = one.get_train_dataloader()
            self.assertEqual((loader.num_workers, loader.pin_memory),
                             (2, pinned))
        self.assertEqual(loader.collate_fn([{"input": 1, "other": 2}]),
                         [{"input": 1}])
        with self.assertRaisesRegex(TypeError, "no len"):
            len(loader)

    def at_each_step(self, kind, processes, recipe, stride=1):
        data, most = ConcatDataset([range(24), range(24, 36)]), -1
        if "Packed" in recipe:
            alone = packs(LENGTHS, TOKENS, 0, 1, 5)
            wanted = [list(alone) for _ in range(EPOCHS)]
            self.assertGreater(len({*map(len, wanted)}), 1)
            wanted = sum(wanted, [])
            most = len(wanted) // processes
        whole = self.steps(kind, data, most, processes, stride)
        batches = [batch for step in whole for batch in step]
        if "Packed" in recipe:
            self.assertEqual(batches, wanted[:most * processes])
            return
        count = len(batches) // EPOCHS
        self.assertEqual(len(batches), EPOCHS * 12)
        for epoch in range(EPOCHS):
            self.assertEqual(sorted(sum(batches[count * epoch:][:count], [])),
                             list(range(36)))
        self.assertNotEqual(batches[:count], batches[count:][:count])
        if "RoundRobin" in recipe:
            for at in range(0, len(batches), 3):
                self.assertEqual(sorted([index >= 24 for index in batch]
                                        for batch in batches[at:at + 3]),
                                 [[False] * 3] * 2 + [[True] * 3])
        elif "Spread" in recipe:
            self.check_spread(whole)
        return whole

    def steps(self, kind, data, most, processes, stride):
        """Of all processes, what each step trains on; the same after a
        resume."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)

        def steps(done, seed=5):
            return self.of_all(kind, data, seed, folder.name, done, most,
                               processes)

        other = steps(0, seed=6)
        whole = steps(0)
        self.assertNotEqual(whole, other)
        for done in range(1, len(whole), stride):
            self.assertEqual(steps(done), whole[done:])
        return whole

    def of_all(self, kind, data, seed, folder, done, most, processes):
        """The batches of all processes for each step, from a step on."""
        return list(zip(*self.ranks(processes, lambda process: self.trained(
            kind, data, seed, folder, done, most, processes, process))))

    def check_spread(self, steps):
        for step in steps:
            groups = [GROUPS[index] for batch in step for index in batch]
            self.assertEqual(len({*groups}), len(groups))


def trains(kind, rank, world, saved, train):
    """A way of test_kills, by a Trainer whose own checkpoints are saved, which
    is told its last step."""
    path, done = saved or ("checkpoint-0", 0)
    n = test_kills.N

    class Recorded(kind):
        def training_step(self, model, inputs):
            self.batch = inputs["index"].tolist()

        def _save_checkpoint(self, *arguments):
            nonlocal done
            super()._save_checkpoint(*arguments)
            done += test_kills.BATCH * world
            train(self.batch, lambda: (os.path.join(
                self.args.output_dir, f"checkpoint-{self.state.global_step}"),
                done))

    one = Recorded(ConcatDataset([range(2 * n // 3), range(2 * n // 3, n)]),
                   test_kills.BATCH, world, rank, 5, tempfile.gettempdir())
    left = test_kills.EPOCHS * n - done
    one.args.max_steps = int(path.rpartition("-")[2]) + (
        left // (test_kills.BATCH * world))
    one.train(resume_from_checkpoint=saved and path)


def by_position(run, steps=None):
    """What test_kills.Run.trained returns, where a step's positions go to the
    ranks in turn."""
    ranks = [[line.split() for line in run.lines(rank)[:steps]]
             for rank in range(run.world)]
    return [int(index) for batches in zip(*ranks) for turn in zip(*batches)
            for index in turn]


class Killed(unittest.TestCase):
    def test_the_recipes(self):
        """3 processes, 2 and 1, and 1, 2 and 3: what counts is what as many
        processes as in the beginning serve that are not killed."""
        n, epochs = test_kills.N, test_kills.EPOCHS
        names = dict(groups=[i * i % 97 for i in range(n)], max_tokens=64,
                     lengths=[22 + 7 * i % 11 for i in range(n)])
        for (recipe, kind), chance in zip(
                recipes(loader_accelerate, **names), cases(4, "recipes")):
            way = functools.partial(trains, kind)
            trained = (by_position if "Spread" in recipe else
                       test_kills.Run.trained)
            for worlds in (3, 2, 1), (1, 2, 3):
                whole, _ = test_kills.killed(way, worlds[:1], None, trained)
                for epoch in range(epochs):
                    self.assertEqual(sorted(whole[epoch * n:][:n]),
                                     list(range(n)))
                seen, _ = test_kills.killed(way, worlds, chance, trained)
                self.assertEqual(seen, whole, recipe)


@real("transformers")
class RealTrainer(Trainer):
    worlds = {1: 4, 2: 5}

    def test_killed(self):
        """The recipe for one dataset, with workers, killed at step 22 of 60:
        three epochs of each sample once."""
        (_, kind), *_ = recipes(self.transformers())
        with tempfile.TemporaryDirectory() as folder:
            log = os.path.join(folder, "log")
            for kill_at, end in (22, -signal.SIGKILL), (None, 0):
                run = multiprocessing.get_context("fork").Process(
                    target=self.trains, args=(kind, folder, log, kill_at))
                run.start()
                run.join()
                self.assertEqual(run.exitcode, end)
            with open(log) as file:
                steps = [json.loads(line) for line in file]
        # From checkpoint 20 on.
        self.assertEqual(len(steps), 22 + 40)
        trained = sum(steps[:20] + steps[22:], [])
        for epoch in range(EPOCHS):
            self.assertEqual(sorted(trained[60 * epoch:][:60]),
                             list(range(60)))
        self.assertEqual(steps[20:22], steps[22:24])

    def trains(self, kind, folder, log, kill_at):
        count = 0

        class Recorded(kind):
            def training_step(self, model, inputs, *_, **__):
                nonlocal count
                count += 1
                with open(log, "a") as file:
                    file.write(json.dumps(inputs["index"].tolist()) + "\n")
                if count == kill_at:
                    os.kill(os.getpid(), signal.SIGKILL)
                return torch.zeros(())

        one = self.new(Recorded, range(60), 5, folder)
        one.args.save_steps = one.state.save_steps = 10
        one.args.dataloader_num_workers = 2
        there = os.path.join(folder, "checkpoint-20")
        one.train(resume_from_checkpoint=(
            there if os.path.exists(there) else None))

    def ranks(self, processes, work):
        if processes == 1:
            return [work(0)]

        def tried(rank):
            try:
                return work(rank)
            except RuntimeError as error:
                return error
        found = by_two(tried)
        for each in found:
            if isinstance(each, RuntimeError):
                raise each
        return found

    def transformers(self):
        import transformers
        return transformers

    def new(self, kind, data, seed, folder, *place):
        return kind(
            torch.nn.Linear(1, 1), self.transformers().TrainingArguments(
                folder, num_train_epochs=EPOCHS, seed=seed,
                per_device_train_batch_size=3, save_strategy="steps",
                save_steps=1, max_grad_norm=0, report_to="none", use_cpu=True,
                disable_tqdm=True),
            data_collator=lambda samples: {"index": torch.tensor(samples)},
            train_dataset=data)


if __name__ == "__main__":
    main()
