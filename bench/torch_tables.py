"""Measures torch's randperm and DistributedSampler on one thread. Prints rows
and points as bench/bench.h describes them; without torch, one row that says
so."""

import os
import time

QUICK = "BENCH_QUICK" in os.environ
RANKS = 8
BATCH = 256

try:
    import torch
    from torch.utils.data import BatchSampler, DistributedSampler
except ImportError:
    print("row,torch,,,,,,,not measured: python3-torch is not installed")
    raise SystemExit


def least(run, times):
    """Seconds of the fastest run."""
    best = float("inf")
    for _ in range(times):
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return best


def sizes(largest):
    """10, 30, 100, 300, ... up to the largest."""
    n = 10
    while n <= largest:
        yield n
        if 3 * n <= largest:
            yield 3 * n
        n *= 10


def row(figure, value, unit):
    print(f"row,{figure},{value:.10g},{unit},,,,,", flush=True)


def point(plot, series, x, y):
    print(f"point,{plot},{series},{x},{y:.6g}", flush=True)


def power(n):
    return f"10^{len(str(n)) - 1}"


def distributed(n):
    return DistributedSampler(range(n), RANKS, 3)


def peak_bytes(n):
    """Peak memory of making a rank's share, measured in a child process."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        def status(field):
            with open("/proc/self/status") as lines:
                for line in lines:
                    if line.startswith(field):
                        return int(line.split()[1]) * 1024
        before = status("VmRSS")
        share = iter(distributed(n))
        os.write(writer, str(status("VmHWM") - before).encode())
        del share
        os._exit(0)
    os.close(writer)
    answer = os.read(reader, 100)
    os.close(reader)
    os.waitpid(child, 0)
    return int(answer)


def first_batch(n, steps, size):
    """The first batch of a fresh process that first skips `steps` batches."""
    batches = iter(BatchSampler(distributed(n), size, False))
    for _ in range(steps):
        next(batches)
    return next(batches)


torch.set_num_threads(1)

# Check that what is timed is a permutation.
assert sorted(torch.randperm(1000).tolist()) == list(range(1000))
ranks = [list(DistributedSampler(range(1000), RANKS, r)) for r in range(RANKS)]
assert sorted(sum(ranks, [])) == list(range(1000))

# First, before this process has freed memory that a child could reuse. Below
# 10^5 samples the lists are small beside the process itself.
largest = 10**5 if QUICK else 10**7
for n in sizes(largest):
    if n >= 10**5 and os.path.exists("/proc/self/status"):
        peak = peak_bytes(n)
        point("bytes", "DistributedSampler", n, peak)
        if n == largest:
            row(f"DistributedSampler; n = {power(n)}; its lists", peak,
                "bytes")

for n in sizes(largest):
    took = least(lambda: iter(distributed(n)), 3 if n > 10**5 else 20)
    point("n", "DistributedSampler", n, took / n * 1e9)
    if n in (10**6, largest):
        row(f"DistributedSampler; n = {power(n)}; to build", took / n * 1e9,
            "ns/index")

largest = 10**6 if QUICK else 10**8
for n in sizes(largest):
    took = least(lambda: torch.randperm(n), 3 if n > 10**6 else 20)
    point("n", "torch.randperm", n, took / n * 1e9)
    if n in (10**6, largest):
        row(f"torch.randperm; n = {power(n)}", took / n * 1e9, "ns/index")

largest = 10**5 if QUICK else 10**7
share = list(distributed(largest))
size = 1
while size <= 16384:
    took = least(lambda: [None for _ in BatchSampler(share, size, False)], 3)
    point("batch", "DistributedSampler", size, took / len(share) * 1e9)
    size *= 4

steps = 1
while steps < largest // (RANKS * BATCH):
    took = least(lambda: first_batch(largest, steps, BATCH), 2)
    point("resume", "DistributedSampler", steps * RANKS * BATCH, took)
    steps *= 4
