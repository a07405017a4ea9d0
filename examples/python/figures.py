"""Compares time and memory of the samplers with torch's DistributedSampler and
with the project's own limits.

    python3 examples/python/figures.py

prints a table and writes it to FIGURES.md beside this file. Each figure is
measured in a process of its own. Times are the shortest of a few runs.
"""

import argparse
import collections
import functools
import itertools
import os
import platform
import subprocess
import time


def read_options():
    options = argparse.ArgumentParser(description="Measures and writes "
                                      "FIGURES.md.")
    options.add_argument("--quick", action="store_true", help="use small "
                         "datasets, to check that it works; write no file")
    return options.parse_args()


if __name__ == "__main__":  # help needs no torch
    OPTIONS = read_options()

import torch
from torch.utils.data import ConcatDataset, DataLoader, DistributedSampler

from statesampler import (CountingDataLoader, RoundRobinBatchSampler,
                          StatefulDistributedSampler, StatefulLoader)

SIZE = 256
FOLDER = os.path.dirname(os.path.realpath(__file__))
REPORT = os.path.join(FOLDER, "FIGURES.md")
HEADING = """\
# The samplers for PyTorch, measured

Written by `make torch-figures`.
Commit: {commit}.
Machine: {processor}, torch {torch}, Python {python};
load {load:.1f} on {count} processors at the start.

One rank of 8 (or the only rank) takes batches of 256 from the DataLoader's
`batch_sampler`. "Ours" is StatefulDistributedSampler or, for "three datasets in
turn", RoundRobinBatchSampler; "torch" is DistributedSampler. torch's epoch
includes the table that it builds for each epoch. Most of the time of
StatefulDistributedSampler is spent in torch's own BatchSampler, which takes one
index at a time; RoundRobinBatchSampler returns whole batches.
"A DataLoader's epoch" is the processor time per batch of a whole loop over a
DataLoader without workers whose samples are numbers, torch's table included:
the shortest times of each 100 batches, where all take turns. "Later batches"
are those after the first 100: torch then only reads its table, and ours
computes. "CountingDataLoader" is ours in that instead of torch's DataLoader.
Ratios are measured to two digits and compared with the limit as printed.

| figure | ours | torch | torch / ours | limit | |
|---|---|---|---|---|---|
"""


def batches(make, n, replicas):
    """The batches that a DataLoader takes from a new sampler."""
    return iter(make(n, replicas).batch_sampler)


def ours(n, replicas, size=SIZE, loader=DataLoader, **options):
    return loader(range(n), size, sampler=StatefulDistributedSampler(
        range(n), replicas, replicas // 2), **options)


def ours_in_turns(n, replicas):
    lengths = [n // 2, n // 4, n - n // 2 - n // 4]
    return DataLoader(
        ConcatDataset([range(length) for length in lengths]),
        batch_sampler=RoundRobinBatchSampler(
            lengths, SIZE, replicas // 2, replicas, stop="all"))


def torchs(n, replicas, size=SIZE, **options):
    return DataLoader(range(n), size, sampler=DistributedSampler(
        range(n), replicas, replicas // 2), **options)


def first_batch(make, n, replicas):
    """Seconds to make a sampler and get its first batch."""
    start = time.perf_counter()
    batch = next(batches(make, n, replicas))
    took = time.perf_counter() - start
    assert len(batch) == SIZE
    return took


def epoch(make, n, replicas):
    """Seconds per index of a whole epoch."""
    start = time.perf_counter()
    count = 0
    for batch in batches(make, n, replicas):
        count += len(batch)
    took = time.perf_counter() - start
    assert abs(count - n // replicas) < 9
    return took / count


def memory(make, n, replicas):
    """Peak memory of a whole epoch, in bytes, above that of the process."""
    def status(field):
        with open("/proc/self/status") as lines:
            for line in lines:
                if line.startswith(field):
                    return int(line.split()[1]) * 1024
    before = status("VmRSS")
    for _ in batches(make, n, replicas):
        pass
    return status("VmHWM") - before


LOADERS = ours, functools.partial(ours, loader=CountingDataLoader), torchs


def loaders(n, replicas, size, first):
    """Processor seconds of each 100 batches of a DataLoader's epoch that loads
    nothing, for each of LOADERS. They take turns, so that other load affects
    all; `first` begins."""
    served = [make(n, replicas, size, collate_fn=len) for make in LOADERS]
    loops, took = [None] * len(served), [[] for _ in served]
    for _ in range(len(served[0]) // 100 + 1):
        for turn in range(len(served)):
            who = (first + turn) % len(served)
            start = time.process_time()
            if loops[who] is None:
                loops[who] = iter(served[who])
            collections.deque(itertools.islice(loops[who], 100), maxlen=0)
            took[who].append(time.process_time() - start)
    return took


def state_of_1000():
    """Seconds of state_dict() in the middle of a loop over 1,000 datasets."""
    sampler = RoundRobinBatchSampler(range(1000, 2000), 32, 0, 1)
    batches, least = iter(StatefulLoader(sampler, sampler)), float("inf")
    for _ in range(20):
        next(batches)
        start = time.perf_counter()
        sampler.state_dict()
        least = min(least, time.perf_counter() - start)
    return least


def alone(measure, make, n, replicas):
    """The result of a function in a child process, after a warm-up with few
    samples, but more than the sampler reads at a time."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        for _ in batches(make, 5000 * replicas, replicas):
            pass
        result = measure(make, n, replicas)
        os.write(writer, repr(float(result)).encode())
        os._exit(0)
    os.close(writer)
    answer = os.read(reader, 100)
    os.close(reader)
    os.waitpid(child, 0)
    return float(answer)


def least(measure, times, *arguments):
    return min(alone(measure, *arguments) for _ in range(times))


def first_batches(*arguments):
    return min(first_batch(*arguments) for _ in range(5))


def power(n):
    return f"10^{len(str(n)) - 1}"


def rounded(value):
    return f"{value:.2g}" if value < 10 else f"{value:.0f}"


def row(figure, mine, theirs, unit, bar, met):
    """A line of the table. theirs is 0 if torch was not measured; a limit of a
    ratio is then neither met nor missed, and so is none."""
    others, ratio = "not measured", ""
    verdict = ("met" if met else "MISSED") if bar else ""
    if theirs:
        others = f"{rounded(theirs)} {unit}"
        ratio = f"{rounded(theirs / mine)}x" if mine > 0 else ""
    elif bar.endswith("x"):
        verdict = ""
    return (f"| {figure} | {rounded(mine)} {unit} | {others} | {ratio} | "
            f"{bar} | {verdict} |\n")


def processor():
    with open("/proc/cpuinfo") as lines:
        for line in lines:
            if line.startswith("model name"):
                return line.split(": ")[1].strip()
    return platform.machine()


def free_bytes():
    with open("/proc/meminfo") as lines:
        for line in lines:
            if line.startswith("MemAvailable"):
                return int(line.split()[1]) * 1024


def commit():
    """The commit, and whether the measured files differ from it."""
    def git(*arguments):
        return subprocess.run(["git", "-C", FOLDER, *arguments], check=True,
                              capture_output=True, text=True).stdout.strip()
    try:
        name = git("rev-parse", "--short", "HEAD")
        changed = git("status", "--porcelain", "--", "../../statesampler.h",
                      "*.c", "*.py")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return name + (" with changes" if changed else "")


KINDS = ("", ours), (", three datasets in turn", ours_in_turns)


def first_batch_rows(sizes, times):
    for what, make in KINDS:
        for n in sizes:
            mine = least(first_batches, times, make, n, 8) * 1e3
            theirs = torchs_figure(
                first_batches if n < 10**7 else first_batch, times, n) * 1e3
            far = n == 10**7    # the size at which the ratio has a limit
            yield row(f"first batch, n = {power(n)}{what}", mine, theirs,
                      "ms", "1 ms, 1000x" if far else "1 ms",
                      mine < 1 and (not far or theirs > 1000 * mine))


def memory_rows(sizes):
    for what, make in KINDS:
        for n in sizes:
            mine = least(memory, 1, make, n, 8) / 2**20
            yield row(f"memory of a rank, n = {power(n)}{what}", mine,
                      torchs_figure(memory, 1, n) / 2**20, "MiB", "1 MiB",
                      mine < 1)


def epoch_rows(sizes, times, replicas):
    alone = " on one rank" if replicas == 1 else ""
    for what, make in KINDS:
        for n in sizes:
            runs = times if n < 10**8 else 1
            mine = least(epoch, runs, make, n, replicas) * 1e9
            theirs = torchs_figure(epoch, runs, n, replicas) * 1e9
            yield row(f"an epoch{alone}, n = {power(n)}{what}", mine, theirs,
                      "ns/index", "3x", theirs >= 3 * mine)


def in_turns(figure, times, bar):
    """Lines of what LOADERS took; the limit is for torch's DataLoader."""
    *ours, theirs = times
    for mine, kind, limit in zip(ours, ("", ", CountingDataLoader"),
                                 (bar, "0.95x")):
        yield row(figure + kind, mine, theirs, "us", limit,
                  limit and mine > 0 and float(rounded(theirs / mine)) >=
                  float(limit[:-1]))


def loader_rows(small, large, times):
    for replicas in 1, 8:
        alone = " on one rank" if replicas == 1 else ""
        for size, n in (1, small), (16, small), (32, large), (256, large):
            runs = [loaders(n, replicas, size, number % len(LOADERS))
                    for number in range(times)]
            # The shortest time of each hundred over all runs, so that an
            # interruption of one run does not count.
            shortest = [[min(times) for times in zip(*took)]
                        for took in zip(*runs)]
            batches = -(-n // replicas // size)
            where = f"{alone}, n = {power(n)}"
            yield from in_turns(
                f"a DataLoader's epoch, per batch of {size}{where}",
                [1e6 * sum(took) / batches for took in shortest], "1x")
            if batches > 200:
                yield from in_turns(
                    f"later batches of {size}{where}",
                    [1e6 * sum(took[1:]) / (batches - 100)
                     for took in shortest], "")


def state_rows():
    mine = state_of_1000() * 1e3
    yield row("state_dict() of 1,000 datasets", mine, 0, "ms", "1 ms",
              mine < 1)


@functools.lru_cache(maxsize=None)
def torchs_figure(measure, times, n, replicas=8):
    """torch's figure; 0 if memory is short: its lists take about 50 bytes per
    sample."""
    if 80 * n > free_bytes():
        return 0
    return least(measure, times if n < 10**8 else 1, torchs, n, replicas)


def main():
    quick = OPTIONS.quick
    torch.set_num_threads(1)
    sizes = [10**4, 10**5] if quick else [10**6, 10**7, 10**8]
    times = 1 if quick else 3
    report = HEADING.format(
        commit=commit(), torch=torch.__version__, processor=processor(),
        python=platform.python_version(), load=os.getloadavg()[0],
        count=os.cpu_count())
    print(report, end="", flush=True)
    for line in itertools.chain(
            first_batch_rows(sizes, times), memory_rows(sizes),
            epoch_rows(sizes, times, 8), epoch_rows(sizes[:2], times, 1),
            loader_rows(sizes[0] // 10, sizes[0], 6 * times),
            state_rows()):
        print(line, end="", flush=True)
        report += line
    if not quick:
        with open(REPORT, "w") as file:
            file.write(report)


if __name__ == "__main__":
    main()
