"""Time and memory of the samplers beside torch's DistributedSampler, in a
table for the README, with the bars that the project holds itself to.

Each line is measured in processes of its own, by turns. A figure is of one
rank of 8 (or of 1), in batches of 256, as torch's DataLoader asks for them:
from its batch_sampler. Times are the least of a few runs.
"""

import argparse
import os
import platform
import time

import torch
from torch.utils.data import ConcatDataset, DataLoader, DistributedSampler

from statesampler import RoundRobinBatchSampler, StatefulDistributedSampler

SIZE = 256


def batches(make, n, replicas):
    """What a DataLoader takes from a new sampler."""
    return iter(make(n, replicas).batch_sampler)


def ours(n, replicas):
    return DataLoader(range(n), SIZE, sampler=StatefulDistributedSampler(
        range(n), replicas, replicas // 2))


def ours_in_turns(n, replicas):
    lengths = [n // 2, n // 4, n - n // 2 - n // 4]
    return DataLoader(
        ConcatDataset([range(length) for length in lengths]),
        batch_sampler=RoundRobinBatchSampler(
            lengths, SIZE, replicas // 2, replicas, stop="all"))


def torchs(n, replicas):
    return DataLoader(range(n), SIZE, sampler=DistributedSampler(
        range(n), replicas, replicas // 2))


def first_batch(make, n, replicas):
    """Seconds from nothing to the first batch."""
    start = time.perf_counter()
    batch = next(batches(make, n, replicas))
    took = time.perf_counter() - start
    assert len(batch) == SIZE
    return took


def epoch(make, n, replicas):
    """Seconds for each index of a whole epoch."""
    start = time.perf_counter()
    count = 0
    for batch in batches(make, n, replicas):
        count += len(batch)
    took = time.perf_counter() - start
    assert abs(count - n // replicas) < 9
    return took / count


def memory(make, n, replicas):
    """Bytes that a whole epoch needs at most, beyond what the process had."""
    def status(field):
        with open("/proc/self/status") as lines:
            for line in lines:
                if line.startswith(field):
                    return int(line.split()[1]) * 1024
    before = status("VmRSS")
    for _ in batches(make, n, replicas):
        pass
    return status("VmHWM") - before


def alone(measure, make, n, replicas):
    """The result of a function, in a process of its own that has run all of
    the code before: with few samples, but more than are read at a time."""
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
    """The least of some."""
    return min(first_batch(*arguments) for _ in range(5))


def power(n):
    return f"10^{len(str(n)) - 1}"


def rounded(value):
    return f"{value:.2g}" if value < 10 else f"{value:.0f}"


def row(figure, mine, theirs, unit, bar, met):
    ratio = f"{rounded(theirs / mine)}x" if mine > 0 and theirs else ""
    print(f"| {figure} | {rounded(mine)} {unit} | "
          f"{rounded(theirs) + ' ' + unit if theirs else ''} | {ratio} | "
          f"{bar} | {('met' if met else 'MISSED') if bar else ''} |",
          flush=True)


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


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--quick", action="store_true",
                         help="small datasets, to see that it works")
    quick = options.parse_args().quick
    torch.set_num_threads(1)
    sizes = [10**4, 10**5] if quick else [10**6, 10**7, 10**8]
    times = 1 if quick else 3
    print(f"By `make torch-figures` with torch {torch.__version__}, Python "
          f"{platform.python_version()}, {processor()}:\n")
    print("| figure | ours | torch | ratio | bar | |")
    print("|---|---|---|---|---|---|")
    kinds = (("", ours), (", three datasets in turn", ours_in_turns))
    theirs = {}
    for n in sizes:
        # Torch's lists take about 50 bytes a sample.
        enough = 80 * n < free_bytes()
        runs = times if n < 10**8 else 1
        for measure in (first_batches if n < 10**7 else first_batch, epoch,
                        memory):
            theirs[n, measure is epoch, measure is memory] = (
                least(measure, runs, torchs, n, 8) if enough else 0)
    for what, make in kinds:
        for n in sizes:
            mine = least(first_batches, times, make, n, 8) * 1e3
            slow = theirs[n, False, False] * 1e3
            bar = "1 ms" if n != 10**7 else "1 ms, 1000x"
            row(f"first batch, n = {power(n)}{what}", mine, slow, "ms", bar,
                mine < 1 and (n != 10**7 or slow > 1000 * mine))
    for what, make in kinds:
        for n in sizes:
            mine = least(memory, 1, make, n, 8) / 2**20
            row(f"memory of a rank, n = {power(n)}{what}", mine,
                theirs[n, False, True] / 2**20, "MiB", "1 MiB", mine < 1)
    for what, make in kinds:
        for n in sizes:
            mine = least(epoch, times if n < 10**8 else 1, make, n, 8) * 1e9
            slow = theirs[n, True, False] * 1e9
            row(f"an epoch, n = {power(n)}{what}", mine, slow, "ns/index",
                "3x", slow >= 3 * mine)
    slow = {n: least(epoch, times, torchs, n, 1) * 1e9 for n in sizes[:2]}
    for what, make in kinds:
        for n in slow:
            mine = least(epoch, times, make, n, 1) * 1e9
            row(f"an epoch on one rank, n = {power(n)}{what}", mine, slow[n],
                "ns/index", "3x", slow[n] >= 3 * mine)


if __name__ == "__main__":
    main()
