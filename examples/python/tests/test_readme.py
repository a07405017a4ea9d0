"""The Python in README.md and at the head of the package runs as it is
written: two epochs, killed at some batch, and run again with the checkpoint.

A program may use `dataset`, `epochs`, `checkpoint`, `train` and `save`, which
are a training script's own, and need not import what it uses."""

import os
import re
import textwrap
import unittest

from common import ROOT, main
from loader_accelerate import DataLoaderShard
from loader_torchdata import StatefulDataLoader
import statesampler
from torch.utils.data import DataLoader, Dataset

README = os.path.join(ROOT, "examples", "python", "README.md")


class Killed(Exception):
    pass


class Numbers(Dataset):
    def __len__(self):
        return 500

    def __getitem__(self, index):
        return index


def blocks(markdown):
    return re.findall("^```python\n(.*?)^```$", markdown, re.M | re.S)


class Snippets(unittest.TestCase):
    def runs(self, program):
        """Killed at the last batch of the first epoch and after it; and around
        the frameworks' loaders."""
        self.runs_in(program, (16, 17))
        self.runs_in(program, (16, 17), DataLoader)
        self.runs_in(program, (5, 20), StatefulDataLoader)
        # What accelerate makes of both lines.
        self.runs_in(
            program, (5,), lambda *arguments, **options:
            DataLoaderShard(DataLoader(*arguments, **options)))

    def runs_in(self, program, kills, loader=None):
        for kill_at in kills:
            trained, saved = [], []

            def save(checkpoint):
                saved.append(checkpoint)
                if len(saved) == kill_at:
                    raise Killed

            def train(batch):
                trained.extend(batch.tolist())
                self.assertLess(len(trained), 2000, "it does not end")

            names = dict(
                dataset=Numbers(), epochs=2, checkpoint=None, save=save,
                train=train,
                CountingDataLoader=statesampler.CountingDataLoader,
                StatefulDistributedSampler=lambda data: (
                    statesampler.StatefulDistributedSampler(data, 1, 0)))
            if loader:
                program = re.sub("^from statesampler.*\n", "", program)
                program = program.replace("num_workers=4", "num_workers=1")
                names["CountingDataLoader"] = lambda *arguments, **options: (
                    statesampler.StatefulLoader(loader(*arguments, **options),
                                                options["sampler"]))
            try:
                exec(program, dict(names))
            except Killed:
                exec(program, {**names, "checkpoint": saved[-1]})
            whole = list(range(500))
            self.assertEqual(sorted(trained[:500]), whole)
            self.assertEqual(sorted(trained[500:]), whole)
            self.assertNotEqual(trained[:500], trained[500:])
            self.assertEqual(len(saved), 32)

    def test_readme(self):
        with open(README) as file:
            _, section = file.read().split("\n## The loop\n")
        programs = blocks(section.split("\n## ")[0])
        self.assertTrue(programs, "it has no block of Python")
        for program in programs:
            self.runs(program)

    def test_turns_in_a_dataloader(self):
        """With the page's Mix, and one without a schedule: killed at any turn,
        a run trains on what a Mix alone serves."""
        with open(os.path.join(os.path.dirname(README), "more.md")) as file:
            program, = (each for each in blocks(file.read())
                        if "class Turns" in each)
        plain, found = re.subn(r"schedule=Schedule\(.*?\]\)\)",
                               "weights={'web': 3, 'code': 1}, stop='never')",
                               program, flags=re.S)
        self.assertEqual(found, 1)
        for program in program, plain:
            trained, saved, kill_at = [], [], None

            def save(checkpoint):
                saved.append(checkpoint)
                if len(saved) == kill_at:
                    raise Killed

            names = dict(
                dataset=Numbers(), checkpoint=None, save=save, Dataset=Dataset,
                train=trained.append, DataLoader=DataLoader,
                Mix=statesampler.Mix, Schedule=statesampler.Schedule)
            for kill_at in 7, 60:
                with self.assertRaises(Killed):
                    exec(program, names)
                names["checkpoint"] = saved[-1]
            exec(program, names)
            alone = statesampler.Mix(
                {"web": 300, "code": 200}, 0, 1, batch_size=8,
                **({"schedule": names["mix"]._schedule} if "schedule=" in
                   program else {"weights": {"web": 3, "code": 1},
                                 "stop": "never"}))
            self.assertEqual(trained, [next(alone).tolist()
                                       for _ in range(100)])
            self.assertEqual(names["mix"].save(), alone.save())

    def test_opening(self):
        """Its example: the lines that are indented."""
        example, _ = statesampler.__doc__.split("A run that loads")
        self.runs(textwrap.dedent("".join(re.findall("^    .*\n", example,
                                                     re.M))))


if __name__ == "__main__":
    main()
