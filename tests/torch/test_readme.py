"""The Python of the README and of statesampler.py's opening, as they stand
there: run, killed, and run again with the checkpoint."""

import os
import re
import textwrap
import unittest

from common import ROOT, main
import statesampler
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class Killed(Exception):
    pass


class Numbers(Dataset):
    def __len__(self):
        return 500

    def __getitem__(self, index):
        return index


def readme():
    with open(os.path.join(ROOT, "README.md")) as file:
        section = file.read().split("\n## In PyTorch\n")[1].split("\n## ")[0]
    program, = re.findall("^```python\n(.*?)^```$", section, re.M | re.S)
    return program


def opening():
    """The lines that are indented."""
    lines = re.findall("(?:^    .*\n)+", statesampler.__doc__, re.M)
    return textwrap.dedent("".join(lines))


class Snippets(unittest.TestCase):
    def runs(self, program, **names):
        """Two epochs, killed in the batches around the end of the first."""
        for kill_at in 1, 16, 17, 99:
            trained, saved = [], []

            def save(checkpoint):
                saved.append(checkpoint)
                if len(saved) == kill_at:
                    raise Killed

            names.update(
                dataset=Numbers(), epochs=2, checkpoint=None, save=save,
                train=lambda batch: trained.extend(batch.tolist()))
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
        self.runs(readme())

    def test_opening(self):
        self.runs(opening(), DataLoader=DataLoader,
                  DistributedSampler=lambda data: DistributedSampler(
                      data, num_replicas=1, rank=0),
                  StatefulDistributedSampler=statesampler.
                  StatefulDistributedSampler)


if __name__ == "__main__":
    main()
