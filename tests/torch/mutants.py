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
    ("parity", "statesampler.py", "            rank=rank, world_size=",
     "            rank=0, world_size="),
    ("parity", "statesampler.py", '"shuffle" if shuffle else',
     '"sequential" if shuffle else'),
    ("parity", "statesampler.py", "out if count.value == _CHUNK else ",
     "out if True else "),
    ("parity", "statesampler.py", "num_replicas is None or rank is None",
     "False"),
    ("parity", "statesampler.py", "if rank >= num_replicas or rank < 0",
     "if rank > num_replicas or rank < 0"),
    ("parity", "statesampler.py", "return max(end - start, 0)", "return end"),
    ("parity", "statesampler.py", "units = unit * _whole(",
     "units = 1 * _whole("),
    ("parity", "statesampler.py", 'launcher != "none"', "True"),
    ("parity", "statesampler.py", "(TypeError, OverflowError)", "TypeError"),
    ("parity", "statesampler.py", "if start_iter > last:", "if False:"),
    ("state", "statesampler.py", "units = min(units, end)", "pass"),
    ("state", "statesampler.py", "        if code != 0:\n            raise "
     "ValueError(f\"start_iter", "        if False:\n            raise "
     "ValueError(f\"start_iter"),
    ("library", "statesampler.py", "os.chmod(temporary, os.stat("
     "os.path.dirname(library)).st_mode & 0o777)", "pass"),
    ("library", "statesampler.py", '"-x", "c", source', "source"),
    ("library", "statesampler.py", "(OSError, AttributeError)", "KeyError"),
    ("library", "statesampler.py", "(OSError, AttributeError)", "OSError"),
    ("library", "statesampler.py", "        loaded.statesampler_layout\n", ""),
    ("round_robin", "statesampler.py", " stream=stream, rank=rank",
     " rank=rank"),
    ("round_robin", "statesampler.py", "drop_last=drop_last,\n", ""),
    ("round_robin", "statesampler.py",
     'stop = "never" if reinit else "first"', 'stop = "first"'),
    ("round_robin", "library.c", "sources[source].weight = weight;", ""),
    ("round_robin", "statesampler.py", "at += count\n", "at += len(flat)\n"),
    ("round_robin", "library.c", "out[i] += offset", "out[i] += source"),
    ("round_robin", "library.c", "counts[turn] = count", "counts[0] = count"),
    ("state", "statesampler.py", "loop.received = loop.marks.popleft()[1]",
     "loop.marks.popleft(); loop.received = loop.taken()"),
    ("state", "statesampler.py", "            self.end()\n            raise\n"
     "        if self.alive", "            raise\n        if self.alive"),
    ("state", "statesampler.py", "                self.end()", "pass"),
    ("state", "statesampler.py", "if loop.feed is None:", "if True:"),
    ("loops", "statesampler.py", "iterator._sampler_iter is self", "True"),
    ("state", "statesampler.py", "return read - _left_of(chunk)",
     "return read"),
    ("state", "statesampler.py", " or loop.feed.length == 0:", ":"),
    ("state", "statesampler.py", "self.feed.given == self.feed.length",
     "False"),
    ("state", "statesampler.py", "if epoch != self.epoch:", "if True:"),
    ("state", "statesampler.py",
     "        _check(code)\n        self._loop = None",
     "        _check(code)"),
    ("state", "statesampler.py", "        _check(code)\n        self._loop",
     "        self._loop"),
    ("state", "statesampler.py", "if _kind(code) == _EMISMATCH:",
     "if False:"),
    ("state", "statesampler.py", "return -(-code // 100 * 100)",
     "return code // 100 * 100 - 100"),
    ("state", "statesampler.py", "if theirs[name] != ours[name]]", "]"),
    ("state", "statesampler.py", "if place.num_sources != len(self._descs):",
     "if False:"),
    ("state", "statesampler.py", ", f\" for dataset {i}\")", ")"),
    ("state", "statesampler.py",
     "            _check(_c.statesampler_mix_weigh(self.memory, self.weights))",
     "            pass"),
    ("state", "statesampler.py", "            if i == 0:",
     "            if True:"),
    ("state", "statesampler.py", "len(state), i, theirs",
     "len(state), 0, theirs"),
    ("state", "statesampler.py", "        loop.reading = now.before + now.end -"
     " now.start, iter(())", ""),
    ("state", "statesampler.py", "            return end - 1\n",
     "            return end\n"),
    ("loops", "statesampler.py", "if self._end() is None:", "if False:"),
    ("loops", "statesampler.py", "self._end() is not None and (", "("),
    ("loops", "statesampler.py", "not the data.\n                "
     "self._settle()", "not the data.\n                pass"),
    ("state", "statesampler.py", "self._first_epoch = first\n",
     "self._first_epoch = 0\n"),
    ("state", "statesampler.py", "            self._turn_over()\n            "
     "loop = _Loop", "            pass\n            loop = _Loop"),
    ("state", "statesampler.py", "if owner not in (own, None):",
     "if False:"),
    ("loops", "statesampler.py",
     "again = loop is not None and loop.feed is feed is not None",
     "again = False"),
    ("loops", "statesampler.py", "passes[1].before < received",
     "False"),
    ("loops", "statesampler.py",
     "passes[1].before < received", "True"),
    ("loops", "statesampler.py", "if self._at_end():", "if True:"),
    ("loops", "statesampler.py", "loop.passes[1].batch == loop.feed.given + 1",
     "False"),
    ("loops", "statesampler.py", "            loop.received = "
     "loop.passes[0].before", "            pass"),
    ("loops", "statesampler.py", "        elif self._complete():",
     "        elif False:"),
    ("loops", "statesampler.py", "self.loops[sampler] = loop",
     "self.loops = {sampler: loop}"),
    ("loops", "statesampler.py", "if sampler._loop is not loop:",
     "if False:"),
    ("loops", "statesampler.py", "iterator._send_idx if self.workers",
     "0 if self.workers"),
    ("loops", "statesampler.py", "iterator._num_yielded)", "0)"),
    ("loops", "statesampler.py",
     "data = type(fetcher).fetch(fetcher, index)\n        "
     "self.give(self.asked)", "self.give(self.asked)\n        "
     "data = type(fetcher).fetch(fetcher, index)"),
    ("loops", "statesampler.py", "self.give(iterator._rcvd_idx)",
     "self.give(self.given + 1)"),
    ("loops", "statesampler.py", '"_loop": None}', '"_loop": self._loop}'),
    ("loops", "statesampler.py", '        _check(self._load(state["_cursor"]))',
     ""),
    ("loops", "statesampler.py", "        self._cursor = self._new_cursor()\n"
     "        _check", "        _check"),
    ("loops", "statesampler.py", "if name in self._fixed and", "if False and"),
    ("parity", "statesampler.py", "if isinstance(value, bool):", "if False:"),
    ("order", "torch_order.py", "self.seed + self._epoch()", "self.seed"),
    ("order", "torch_order.py", "self._desc.order =", "order ="),
    ("order", "torch_order.py", "if not shuffle:", "if False:"),
    ("order", "torch_order.py", "2**64) ^", "2**64) * 0 *"),
    ("library", "statesampler.py",
     "not os.path.exists(library) or os.path.getmtime(library) < newest",
     "not os.path.exists(library)"),
    ("library", "statesampler.py", "            os.unlink(temporary)",
     "            pass"),
]


def noticed(test, folder):
    """Whether the test fails with the files in a folder. Of those that are
    broken, the library is compiled in a hurry."""
    environment = {**os.environ, "EXAMPLES": folder}
    if folder != EXAMPLES:
        environment["CFLAGS"] = "-O0"
    run = subprocess.run(
        [sys.executable, os.path.join(ROOT, "tests", "torch",
                                      f"test_{test}.py")],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        timeout=300)
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
