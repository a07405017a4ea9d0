"""Breaks the samplers of examples/torch in small ways; each must be noticed by
the test that is named. Without a fault, every test passes."""

import os
import shutil
import subprocess
import sys
import tempfile

from common import EXAMPLES, ROOT

# Test, file, text that stands in it exactly once, what becomes of it.
FAULTS = [
    ("parity", "statesampler.py", 'tail = "drop" if drop_last else "pad"',
     'tail = "pad"'),
    ("parity", "statesampler.py", "desc.rank = rank\n        desc.world_size ="
     " num_replicas\n        # A step", "desc.rank = 0\n        desc.world_size"
     " = num_replicas\n        # A step"),
    ("parity", "statesampler.py", 'name = "shuffle" if shuffle else',
     'name = "sequential" if shuffle else'),
    ("parity", "statesampler.py", "(out if count == _CHUNK else out[:count])",
     "out"),
    ("parity", "statesampler.py", "num_replicas is None or rank is None",
     "False"),
    ("parity", "statesampler.py", "if rank >= num_replicas or rank < 0",
     "if rank > num_replicas or rank < 0"),
    ("parity", "statesampler.py", "return max(end - start, 0)", "return end"),
    ("parity", "statesampler.py", "units = self._units_per_batch() * _whole(",
     "units = 1 * _whole("),
    ("round_robin", "statesampler.py", "desc.stream = stream\n", ""),
    ("round_robin", "statesampler.py", "desc.drop_last = drop_last\n", ""),
    ("round_robin", "statesampler.py",
     'stop = "never" if reinit else "first"', 'stop = "first"'),
    ("round_robin", "statesampler.py",
     "_u32.from_address(source).value = weight\n", "pass\n"),
    ("round_robin", "statesampler.py", "at += count\n", "at += len(flat)\n"),
    ("round_robin", "library.c", "out[i] += offset", "out[i] += source"),
    ("round_robin", "library.c", "counts[turn] = count", "counts[0] = count"),
    ("state", "statesampler.py",
     "loop.marks.pop(loop.batches, loop.taken())", "loop.taken()"),
    ("state", "statesampler.py",
     "            at_end(loop)\n            raise", "            raise"),
    ("state", "statesampler.py", "if self.iterator is None:\n            "
     "self.received = self.taken()", "if True:\n            "
     "self.received = self.taken()"),
    ("state", "statesampler.py", "elif self.late and self.batches == 0:",
     "elif False:"),
    ("state", "statesampler.py", "return self.read - length_hint(self.chunk)",
     "return self.read"),
    ("state", "statesampler.py", " or loop.all_batches == 0:", ":"),
    ("state", "statesampler.py", "self.batches == self.all_batches", "False"),
    ("state", "statesampler.py", "if epoch != self.epoch:", "if True:"),
    ("state", "statesampler.py",
     "        _check(code)\n        self._loop = None",
     "        _check(code)"),
    ("state", "statesampler.py", "        _check(code)\n        self._loop",
     "        self._loop"),
    ("state", "statesampler.py", "if code == _EMISMATCH:", "if False:"),
    ("state", "statesampler.py", "for name in theirs if name in ours and",
     "for name in () if name in ours and"),
    ("state", "statesampler.py", "self._first_epoch = first\n",
     "self._first_epoch = 0\n"),
    ("state", "statesampler.py", "            self._turn_over()\n        "
     "self._loop = loop = _Loop", "            pass\n        "
     "self._loop = loop = _Loop"),
    ("state", "statesampler.py",
     "base_step = _number(self._save(), 96, 104)", "base_step = 0"),
    ("order", "torch_order.py", "self.seed + self._epoch()", "self.seed"),
    ("order", "torch_order.py", "stream=stream ^ int", "stream=0 * int"),
    ("library", "statesampler.py",
     "not os.path.exists(library) or os.path.getmtime(library) < newest",
     "not os.path.exists(library)"),
    ("library", "statesampler.py", "            os.unlink(temporary)",
     "            pass"),
]


def noticed(test, folder):
    """Whether the test fails with the files in a folder."""
    run = subprocess.run(
        [sys.executable, os.path.join(ROOT, "tests", "torch",
                                      f"test_{test}.py")],
        env={**os.environ, "EXAMPLES": folder, "CFLAGS": "-O0"}, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, timeout=300)
    return run.returncode != 0


def broken(name, old, new):
    """A folder with the files, one of them with a fault."""
    folder = tempfile.mkdtemp()
    for file in "statesampler.py", "library.c", "torch_order.py":
        shutil.copy(os.path.join(EXAMPLES, file), folder)
    shutil.copy(os.path.join(ROOT, "statesampler.h"), folder)
    path = os.path.join(folder, name)
    with open(path) as file:
        text = file.read()
    if text.count(old) != 1:
        sys.exit(f"{text.count(old)} times in {name}: {old}")
    with open(path, "w") as file:
        file.write(text.replace(old, new))
    return folder


def main():
    survivors = 0
    for test, name, old, new in FAULTS:
        folder = broken(name, old, new)
        if not noticed(test, folder):
            print(f"not noticed by test_{test}: {old!r} -> {new!r}")
            survivors += 1
        shutil.rmtree(folder)
    for test in sorted({fault[0] for fault in FAULTS}):
        if noticed(test, EXAMPLES):
            print(f"test_{test} fails without a fault")
            survivors += 1
    print(f"Ran {len(FAULTS)} tests in all, {survivors} not noticed")
    sys.exit(survivors != 0)


if __name__ == "__main__":
    main()
