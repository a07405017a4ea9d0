"""Measures from a cold start which samples were in a step of a run: processes
that read its state and answer, Python's import included. Prints rows as
bench/bench.h describes them; argument: a folder to work in."""

import os
import shlex
import shutil
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
PACKAGE = os.path.join(ROOT, "examples", "python", "statesampler")
QUICK = "BENCH_QUICK" in os.environ
RUNS = 1 if QUICK else 41
BAR = .05   # seconds

folder = os.path.realpath(sys.argv[1])
installed = os.path.join(folder, "installed")
indices = os.path.join(folder, "indices")


def compiled(output, source, *flags):
    subprocess.run(
        [*shlex.split(os.environ.get("CC") or "cc"), "-std=c99",
         "-O0" if QUICK else "-O2", "-I", ROOT, "-I",
         os.path.join(ROOT, "examples", "extras"), *flags,
         "-o", output, source], check=True)


def least(*command):
    """Seconds of the fastest process, and what it printed."""
    best, said = float("inf"), b""
    for _ in range(RUNS):
        start = time.perf_counter()
        run = subprocess.run(command, stdout=subprocess.PIPE, check=True,
                             env={**os.environ, "PYTHONPATH": installed})
        best, said = min(best, time.perf_counter() - start), run.stdout
    return best, said


def row(what, taken, against=None):
    verdict = "met" if taken <= BAR else "MISSED"
    beside = f"python3 -c pass,{against:.6g}" if against else ","
    ratio = f"{taken / against:.2f}" if against else ""
    print(f"row,which samples were in a step; {what},{taken:.6g},s,{beside},"
          f"{ratio},{BAR} s,{verdict}", flush=True)


# As pip installs it.
shutil.rmtree(installed, ignore_errors=True)
shutil.copytree(PACKAGE, os.path.join(installed, "statesampler"))
compiled(os.path.join(installed, "statesampler", "libstatesampler.so"),
         os.path.join(PACKAGE, "library.c"), "-shared", "-fPIC")
subprocess.run([sys.executable, "-m", "compileall", "-q", installed],
               check=True)
compiled(indices, os.path.join(ROOT, "examples", "indices.c"))
sys.path.insert(0, installed)
from statesampler import Mix, Sampler    # noqa: E402

asked = ["--straight", "--steps", "40000..40000"]


def in_python(what, path, against, said, *more, asked=asked):
    taken, again = least(sys.executable, "-m", "statesampler", path, *asked,
                         *more)
    if said != again or len(said.split()) < (38 if "--steps" in asked else 9):
        sys.exit(f"{said} is not {again}")
    row(f"{what}; Python", taken, against)


one = Sampler(10**9, 0, 512, 32)
one.seek(20000)
mix = Mix([10**7 + i for i in range(1000)], 0, 512, 32, stop="all")
mix.seek(20000)
bare, _ = least(sys.executable, "-c", "pass")
path = os.path.join(folder, "recorded")
for what, state in (("10^9 samples", one.save()),
                    ("1;000 datasets", mix.save())):
    with open(path, "wb") as file:
        file.write(state)
    in_c, said = least(indices, "--state", path, *asked, "--rank", "77")
    row(f"{what}; C", in_c)
    in_python(what, path, bare, said, "--rank", "77")

# A history of 1,000 events, each a stretch of 40 steps. Of a mix in which some
# datasets have ended, so that the stop rule "all" passes over their turns: that
# takes longest to read.
one = Sampler(10**9, 0, 512, 32)
for event in range(1000):
    one.seek(50 * event + 10)
    one.seek(one.step + 40) if event % 2 else [next(one) for _ in range(40)]
mix = Mix([10**9 if i % 3 else 10**5 for i in range(300)], 0, 512, 32,
          stop="all")
for event in range(1000):
    mix.weigh([1 + (event + i) % 7 for i in range(300)])
    [next(mix) for _ in range(40)]
for what, run in ("1;000 events", one), ("300 datasets; 1;000 events", mix):
    state = run.save()
    with open(path, "wb") as file:
        file.write(state)
    known = ["--steps", "39830..39830", "--rank", "77"]
    in_c, said = least(indices, "--state", path, *known)
    row(f"{what}; {len(state) // 1000} kB; C", in_c)
    in_python(what, path, bare, said, asked=known)
    known = ["--where", str(run.at(39830)[0])]
    in_c, said = least(indices, "--state", path, *known)
    row(f"{what}; where a sample was; C", in_c)
    in_python(f"{what}; where a sample was", path, bare, said, asked=known)

what = "in a checkpoint of torch's with 1;000 tensors; 100 of bytes"
groups = "16;384 items of a RepeatSampler"
try:
    import torch
except ModuleNotFoundError:
    for each in what, groups:
        print(f"row,which samples were in a step; {each},,,,,,,not measured: "
              "torch is not installed")
    sys.exit()
from statesampler import (      # noqa: E402
    RepeatSampler, StatefulDistributedSampler)

sampler = StatefulDistributedSampler(range(10**12), 512, 0)
bytes_of_model = torch.zeros(100, 2**20, dtype=torch.uint8)
torch.save({"model": [torch.zeros(100) for _ in range(900)],
            "quantized": list(bytes_of_model),
            "sampler": sampler.state_dict()}, path)
one = Sampler(10**12, 77, 512, 1)
said = "epoch 0 step 40000 rank 77:" + "".join(
    f" {one.at(40000 * 4096 + slot)[0]}" for slot in range(4096)) + "\n"
in_python(what, path, bare, said.encode(), "--rank", "77", "--batch-size",
          "4096")

sampler = RepeatSampler(range(10**9), 8, 2048, 4)
torch.save({"sampler": sampler.state_dict()}, path)
said = "epoch 0 step 40000 rank 0:" + "".join(
    f" {index}" * 8 for index in Sampler(10**9, 0, 1, 2048).at(40000 // 4)
    ) + "\n"
in_python(groups, path, bare, said.encode(), "--batch-size", "16384")
