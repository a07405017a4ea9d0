"""Breaks the samplers of examples/torch in small ways; each must be noticed by
the test that is named. Without a fault, every test passes. With arguments,
only the faults of the tests that they name; with SHARE=3 in the environment,
only every third of these, others for another SEED."""

import os
import shutil
import subprocess
import sys
import tempfile

from common import EXAMPLES, ROOT

RECIPES = os.path.join(os.pardir, "README.md")

# Test, file, text that stands in it exactly once, what becomes of it.
FAULTS = [
    ("parity", "statesampler.py",
     'tail = "drop" if drop_last else "pad"',
     'tail = "pad"'),
    ("parity", "statesampler.py",
     '"shuffle" if shuffle else',
     '"sequential" if shuffle else'),
    ("parity", "statesampler.py",
     'yield out[:count.value].tolist()',
     'yield out.tolist()'),
    ("parity", "statesampler.py",
     'num_replicas is None or rank is None',
     'False'),
    ("parity", "statesampler.py",
     'if rank >= num_replicas or rank < 0',
     'if rank > num_replicas or rank < 0'),
    ("parity", "statesampler.py",
     'return min(unit * batches, end)',
     'return min(batches, end)'),
    ("parity", "statesampler.py",
     'launcher != "none"',
     'True'),
    ("parity", "statesampler.py",
     '(TypeError, OverflowError)',
     'TypeError'),
    ("parity", "statesampler.py",
     'if isinstance(value, bool):',
     'if False:'),
    ("parity", "statesampler.py",
     'len(dataset)", length, 0, 2**62 + 1), self.rank,',
     'len(dataset)", length, 0, 2**62 + 1), 0,'),
    ("parity", "statesampler.py",
     'if batches > -(-end // unit):',
     'if False:'),
    ("parity", "statesampler.py",
     'max(end - self._cursor.step, 0)',
     'end'),
    ("parity", "statesampler.py",
     'number = 0 if isinstance(value, bool) else '
     'operator.index(value)',
     'number = operator.index(value)'),
    ("round_robin", "statesampler.py",
     'stop = "never" if reinit else "first"',
     'stop = "first"'),
    ("round_robin", "library.c",
     'sources[source].weight = weight;',
     ''),
    ("round_robin", "statesampler.py",
     'at += count\n',
     'at += len(flat)\n'),
    ("round_robin", "library.c",
     'out[i] += offset',
     'out[i] += source'),
    ("round_robin", "library.c",
     'counts[turn] = count',
     'counts[0] = count'),
    ("round_robin", "statesampler.py",
     'batch_size, stream=stream, **options',
     'batch_size, **options'),
    ("round_robin", "statesampler.py",
     'window=window, drop_last=drop_last)\n',
     'window=window, drop_last=False)\n'),
    ("state", "statesampler.py",
     '                    sampler._finish(loop)',
     '                    pass'),
    ("state", "statesampler.py",
     'if theirs[name] != ours[name]]',
     ']'),
    ("state", "statesampler.py",
     'if place.num_sources != len(self._descs):',
     'if False:'),
    ("state", "statesampler.py",
     '            if i == 0:',
     '            if True:'),
    ("state", "statesampler.py",
     'len(state), i, theirs',
     'len(state), 0, theirs'),
    ("state", "statesampler.py",
     '            return end - 1\n',
     '            return end\n'),
    ("state", "statesampler.py",
     'if owner not in (own, None):',
     'if False:'),
    ("state", "statesampler.py",
     'return min(unit * batches, end)',
     'return unit * batches'),
    ("state", "statesampler.py",
     '        if 0 < self._cursor.step == '
     'self._cursor.num_steps:\n            self._turn_over()\n',
     ''),
    ("state", "statesampler.py",
     '            return min(batches * self.unit, self.taken())',
     '            return self.taken()'),
    ("state", "statesampler.py",
     'self.watch.drops_last and\n                not',
     'False and\n                not'),
    ("state", "statesampler.py",
     '(self.watch.given() + 1) * self.unit > self.passes[0].own',
     'True'),
    ("state", "statesampler.py",
     'taken % self.unit == 0 or self.watch.drops_last',
     'taken % self.unit == 0'),
    ("state", "statesampler.py",
     'taken % self.unit == 0 or self.watch.drops_last',
     'True'),
    ("state", "statesampler.py",
     '                self.watch.see_the_end()\n        # Else',
     '                pass\n        # Else'),
    ("state", "statesampler.py",
     '        different = self._cursor.difference(state)\n     '
     '   if different:',
     '        different = self._cursor.difference(state)\n     '
     '   if False:'),
    ("state", "statesampler.py",
     '        _check(_c.statesampler_mix_weigh(\n            '
     'self._memory, (_u32 * len(weights))(*weights)))\n',
     ''),
    ("state", "statesampler.py",
     '_identity(theirs), _identity(ours), f" for dataset {i}")',
     '_identity(theirs), _identity(ours))'),
    ("state", "statesampler.py",
     '            return end - 1\n',
     '            return end\n'),
    ("state", "statesampler.py",
     'self.handed_out = iterator._rcvd_idx',
     'self.handed_out = iterator._send_idx'),
    ("state", "statesampler.py",
     '                self._go(now, now.before)\n        '
     'self._give_up()',
     '                pass\n        self._give_up()'),
    ("state", "statesampler.py",
     '            if self._complete():\n                '
     'self._turn_over()\n            else',
     '            if False:\n                '
     'self._turn_over()\n            else'),
    ("state", "statesampler.py",
     'if state[-4:] != _crc(state[:-4]):',
     'if False:'),
    ("state", "statesampler.py",
     'return self.read - _left_of(self.chunk)',
     'return self.read'),
    ("parity", "statesampler.py",
     'self._length = None if tail == "carry" else self.num_samples',
     'self._length = self.num_samples'),
    ("state", "statesampler.py",
     '        self._cursor.seek(here)\n',
     '        pass\n'),
    ("state", "statesampler.py",
     'state = bytes(state.tolist())',
     'raise TypeError'),
    ("state", "statesampler.py",
     '            if isinstance(state, str):',
     '            if False:'),
    ("state", "statesampler.py",
     '        if self.watch is None:\n            '
     'self.sampler._finish(self)',
     '        if self.watch is None:\n            pass'),
    ("loops", "statesampler.py",
     'not the data.\n                self._settle()',
     'not the data.\n                pass'),
    ("loops", "statesampler.py",
     '        elif self._complete():',
     '        elif False:'),
    ("loops", "statesampler.py",
     'iterator._send_idx if self.workers',
     '0 if self.workers'),
    ("loops", "statesampler.py",
     'if name in self._fixed and',
     'if False and'),
    ("loops", "statesampler.py",
     'for sampler, loop in list(self.loops.items()):',
     'for sampler, loop in ():'),
    ("loops", "statesampler.py",
     'if watch is None or watch.feeding is not '
     'iterator._sampler_iter:',
     'if watch is None:'),
    ("loops", "statesampler.py",
     'if loop is not None and loop.watch is watch is not None:',
     'if False:'),
    ("loops", "statesampler.py",
     '            if last.ended():\n                '
     'self._turn_over()',
     '            self._turn_over()'),
    ("loops", "statesampler.py",
     'while len(loop.passes) > 1 and loop.passes[1].before < '
     'units:',
     'while False:'),
    ("loops", "statesampler.py",
     'loop.passes[1].batch == loop.watch.given()',
     'False'),
    ("loops", "statesampler.py",
     '            if this.stale and not this.refuse:\n         '
     '       return\n',
     ''),
    ("loops", "statesampler.py",
     '            self.stale, self.refuse = True, refuse',
     '            self.stale, self.refuse = True, False'),
    ("loops", "statesampler.py",
     '            collections.deque(self.chunk, maxlen=0)\n',
     ''),
    ("loops", "statesampler.py",
     '        if not self.ended():\n            self.stale',
     '        if True:\n            self.stale'),
    ("loops", "statesampler.py",
     'self.marks.append((batch, self.taken() - 1))',
     'self.marks.append((batch, self.taken()))'),
    ("loops", "statesampler.py",
     'self.marks[0][0] < batches:',
     'self.marks[0][0] <= batches:'),
    ("loops", "statesampler.py",
     '                # What is between sampler and loop has '
     'ended, not the data.\n                self._settle()',
     '                pass'),
    ("loops", "statesampler.py",
     '"_cursor": self._cursor.at(self._save())',
     '"_cursor": self._cursor'),
    ("loops", "statesampler.py",
     '"_loop": None, "_at": None}',
     '"_at": None}'),
    ("loops", "statesampler.py",
     'watch.loops[sampler] = self',
     'watch.loops = {sampler: self}'),
    ("torchdata", "statesampler.py",
     '        if this.literal is not None:\n            '
     'self._cursor.load(this.literal)\n',
     ''),
    ("torchdata", "statesampler.py",
     '            return this.literal or self._save()',
     '            return self._save()'),
    ("torchdata", "statesampler.py",
     '        cursor.seek(this.start + this.taken())\n',
     ''),
    ("library", "statesampler.py",
     '        self._make(*made)\n        self.load(place)',
     '        self._make(*made)'),
    ("library", "statesampler.py",
     'desc.batch_size if _TAILS[desc.tail] == "carry" else',
     'desc.batch_size if False else'),
    ("library", "statesampler.py",
     '_whole("step", step, 0, 2**64)',
     'step'),
    ("torchdata", "statesampler.py",
     '        self.sampler.load_state_dict(state_dict)\n       '
     ' self.literal',
     '        self.literal'),
    ("torchdata", "statesampler.py",
     '        if self.loop is not None:\n            raise '
     'RuntimeError("a state',
     '        if False:\n            raise RuntimeError("a state'),
    ("accelerate", "statesampler.py",
     '            self._relative = present - epoch',
     '            self._relative = 0'),
    ("accelerate", "statesampler.py",
     '        self._fresh = False\n        self._move_to',
     '        self._move_to'),
    ("accelerate", "statesampler.py",
     '        self._relative, self._fresh = 0, False\n',
     '        self._fresh = False\n'),
    ("accelerate", "statesampler.py",
     'self._at, self._fresh = loop, this, False',
     'self._at = loop, this'),
    ("accelerate", "statesampler.py",
     'self.watch.ahead if said is None else said',
     'said or 0'),
    ("accelerate", "statesampler.py",
     'self.watch.ahead if said is None else said',
     'self.watch.ahead'),
    ("accelerate", "statesampler.py",
     'caller is not iterator):\n                return 0',
     'caller is not iterator):\n                pass'),
    ("accelerate", "statesampler.py",
     '                self.ahead = self.read_ahead(iterator, sys',
     '                (iterator, sys'),
    ("accelerate", "statesampler.py",
     '1 if loader.split_batches else loader',
     'loader'),
    ("accelerate", "statesampler.py",
     'if processes > 1 and not loader._drop_last:',
     'if processes > 1:'),
    ("accelerate", "statesampler.py",
     '"PrefetchLoader": lambda loader: 1',
     '"PrefetchLoader": lambda loader: 0'),
    ("lightning", "statesampler.py",
     'fetcher.prefetch_batches if fetcher.length is None else 0',
     '0'),
    ("lightning", "statesampler.py",
     'fetcher.prefetch_batches if fetcher.length is None else 0',
     'fetcher.prefetch_batches'),
    ("accelerate", RECIPES,
     'self.batches, self.set_epoch = batches, batches.set_epoch',
     'self.batches = batches'),
    ("accelerate", RECIPES,
     'seed=self.args.seed, weights=[2, 1],',
     'seed=self.args.seed, weights=[1, 2],'),
    ("kills", "statesampler.py",
     'self.watch.given() - self.read_ahead()',
     'self.watch.given()'),
    ("kills", "statesampler.py",
     'self.handed_out = iterator._rcvd_idx',
     'self.handed_out = iterator._send_idx'),
    ("lightning", "statesampler.py",
     'class StatefulDistributedSampler(_Resumable, '
     'DistributedSampler):',
     'class StatefulDistributedSampler(_Resumable, _TorchSampler):'),
    ("lightning", "statesampler.py",
     '        if isinstance(lengths, _TorchSampler):',
     '        if False:'),
    ("seeds", "statesampler.py",
     '        if not self._shared.is_shared():',
     '        if False:'),
    ("seeds", "statesampler.py",
     '"_shared": self._shared.clone()})',
     '})'),
    ("seeds", "statesampler.py",
     'torch.zeros(1, dtype=torch.int64).share_memory_()',
     'torch.zeros(1, dtype=torch.int64)'),
    ("seeds", "statesampler.py",
     '            index -= self._descs[source].num_samples\n   '
     '         source += 1',
     '            source += 1'),
    ("seeds", "statesampler.py",
     '        self._loop, self._at, self._fresh = loop, this, '
     'False\n        self._share()',
     '        self._loop, self._at, self._fresh = loop, this, '
     'False'),
    ("order", "torch_order.py",
     'desc.order =',
     'order ='),
    ("order", "torch_order.py",
     'if not shuffle:',
     'if False:'),
    ("order", "torch_order.py",
     '2**64) ^',
     '2**64) * 0 *'),
    ("order", "torch_order.py",
     'self._desc.seed + self.at(state).epoch',
     'self._desc.seed'),
    ("library", "statesampler.py",
     '(OSError, AttributeError)',
     'KeyError'),
    ("library", "statesampler.py",
     '(OSError, AttributeError)',
     'OSError'),
    ("library", "statesampler.py",
     '        loaded.statesampler_layout\n',
     ''),
    ("library", "statesampler.py",
     '            os.unlink(temporary)',
     '            pass'),
    ("library", "statesampler.py",
     'os.chmod(temporary, os.stat(folder).st_mode & 0o777)',
     'pass'),
    ("library", "statesampler.py",
     '"-x", "c",\n                                  source',
     'source'),
    ("library", "statesampler.py",
     '        _contents(source), _contents(os.path',
     '        _contents(os.path'),
    ("library", "statesampler.py",
     'if path == f"{stem}-{_digest(_contents(path))}.so":',
     'if True:'),
    ("library", "statesampler.py",
     '        if not _whole_elf(library):',
     '        if False:'),
    ("library", "statesampler.py",
     'os.path.join(include, "build"), os.path.join(cache, '
     '"statesampler"))]',
     'os.path.join(include, "build"),)]'),
    ("library", "statesampler.py",
     '    return offset + size * count <= len(head)',
     '    return True'),
    ("library", "statesampler.py",
     '        return memoryview(out)[:counts[0]]',
     '        return out[:counts[0]]'),
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
    folder = os.path.join(tempfile.mkdtemp(), "torch")
    os.mkdir(folder)
    for file in "statesampler.py", "library.c", "torch_order.py", RECIPES:
        shutil.copy(os.path.join(EXAMPLES, file), os.path.join(folder, file))
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
    faults = [fault for fault in FAULTS
              if not sys.argv[1:] or fault[0] in sys.argv[1:]]
    share = int(os.environ.get("SHARE") or 1)
    faults = faults[int(os.environ.get("SEED") or 1) % share::share]
    for test, name, old, new in faults:
        folder = broken(name, old, new)
        if not noticed(test, folder):
            print(f"not noticed by test_{test}: {old!r} -> {new!r}")
            survivors += 1
        shutil.rmtree(os.path.dirname(folder))
    for test in sorted({fault[0] for fault in faults}):
        if noticed(test, EXAMPLES):
            print(f"test_{test} fails without a fault")
            survivors += 1
    print(f"{len(faults)} of {len(FAULTS)} faults, {survivors} not noticed")
    sys.exit(survivors != 0)


if __name__ == "__main__":
    main()
