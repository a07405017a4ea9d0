"""Trains with DistributedDataParallel, is killed, and resumes.

    python3 examples/python/train.py

trains a small network on 2 processes, kills one of them with SIGKILL in the
middle of the epoch, resumes from the last checkpoint on 3 processes, then
twice on 1, and counts how often each sample was trained on in all runs
together. Then it times a resume in the middle of 10^7 samples, compares it
with torch's own way, and runs augment.py.

Each process runs train(), which is an ordinary training script:

    torchrun --nproc_per_node 4 examples/python/train.py --folder run

(Debian's torch has no libuv, which torchrun wants. There it needs
USE_LIBUV=0, TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1, --rdzv_backend c10d,
--rdzv_conf store_type=file, and a new FILE in --rdzv_endpoint FILE.)

The size of the dataset and the batch size are multiples of 6, so that neither
2 nor 3 processes need padding, wherever they resume.
"""

import argparse
import itertools
import json
import os
import signal
import socket
import sys
import tempfile
import time


LEAST = 4096    # samples: a batch for each of 8 ranks is left in mid-epoch


def samples(text):
    number = int(text)
    if number != 0 and number < LEAST:
        raise argparse.ArgumentTypeError(f"{text} is neither 0 nor at least "
                                         f"{LEAST}")
    return number


def read_options():
    options = argparse.ArgumentParser(description=
        "Trains on 2 processes, kills one in mid-epoch, resumes on 3, and "
        "checks that every sample was trained on exactly once.")
    options.add_argument("--folder", help="run as one process of torchrun, "
                         "with checkpoints in this folder")
    options.add_argument("--compare", type=samples, default=10**7,
                         metavar="SAMPLES", help="compare the time of a "
                         "resume in this many samples with torch's (0: do "
                         "not)")
    chosen = options.parse_args()
    if chosen.folder and "RANK" not in os.environ:
        options.error("--folder needs torchrun: RANK is not set")
    return chosen


if __name__ == "__main__":  # help needs no torch
    OPTIONS = read_options()
    if sys.stdout is None:
        sys.exit("train.py: standard output is closed")

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler

import augment
from statesampler import CountingDataLoader, StatefulDistributedSampler

SAMPLES = 6000
BATCH = 12      # per process
EVERY = 10      # steps between checkpoints
KILL_AT = 6     # checkpoints until a process of the first run is killed


class Waves(Dataset):
    """Points on a wave, with the index of the sample."""

    def __len__(self):
        return SAMPLES

    def __getitem__(self, index):
        x = torch.linspace(0, 1, 8) * (1 + index % 97)
        return index, x.sin(), x.cos().sum().view(1)


def save(path, checkpoint):
    """After a crash the file is the old or the new one, whole."""
    torch.save(checkpoint, path + ".tmp")
    os.replace(path + ".tmp", path)


def train(folder):
    """Runs in each process."""
    os.makedirs(folder, exist_ok=True)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    model = DistributedDataParallel(torch.nn.Sequential(
        torch.nn.Linear(8, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1)))
    optimiser = torch.optim.SGD(model.parameters(), lr=0.01)
    dataset = Waves()
    sampler = StatefulDistributedSampler(dataset, seed=1)
    loader = CountingDataLoader(dataset, BATCH, sampler=sampler, num_workers=1,
                                worker_init_fn=augment.end_with_training)
    path = os.path.join(folder, "checkpoint.pt")
    # How often each sample was trained on: by all processes until the
    # checkpoint, and by this process since then.
    before = torch.zeros(SAMPLES, dtype=torch.int64)
    since = torch.zeros(SAMPLES, dtype=torch.int64)
    total = torch.zeros(SAMPLES, dtype=torch.int64)
    if os.path.exists(path):
        checkpoint = torch.load(path)
        model.load_state_dict(checkpoint["model"])
        optimiser.load_state_dict(checkpoint["optimiser"])
        sampler.load_state_dict(checkpoint["sampler"])
        before = checkpoint["seen"]
    steps = -(-sampler.remaining // BATCH) if sampler.epoch == 0 else 0
    if rank == 0:
        print(f"{dist.get_world_size()} processes, {int(before.sum())} of "
              f"{SAMPLES} samples done, {steps} steps to go", flush=True)

    def seen():
        total.copy_(since)
        dist.all_reduce(total)
        return total + before

    # One epoch, which may be finished already.
    for step, (index, x, y) in enumerate(loader if steps else (), 1):
        loss = torch.nn.functional.mse_loss(model(x), y)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        since[index] += 1
        if step % EVERY == 0:
            done = seen()
            if rank == 0:
                save(path, {"model": model.state_dict(),
                            "optimiser": optimiser.state_dict(),
                            "sampler": sampler.state_dict(), "seen": done})
                print(f"saved after step {step}, loss {loss.item():.3f}",
                      flush=True)
    done = seen()
    if rank == 0:
        with open(os.path.join(folder, "seen.json"), "w") as file:
            json.dump(done.tolist(), file)
    # Delete the model while `total` still exists: torch 1.13 can hang if the
    # group's threads hold the last reference to a tensor.
    del model
    dist.destroy_process_group()


def process(rank, folder, processes, port, output):
    """A process of a run, in the environment that torchrun would set. Its
    errors, also those caused by the death of another one, go to a file for
    fail()."""
    os.dup2(output, sys.stdout.fileno())
    tempfile.tempdir = folder   # A killed process leaves its workers' sockets.
    with open(os.path.join(folder, f"errors.{processes}"), "a") as errors:
        os.dup2(errors.fileno(), sys.stderr.fileno())
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(processes),
                      MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    os.environ.setdefault("USE_LIBUV", "0")     # Debian's torch has none.
    train(folder)


def launch(folder, processes):
    """Starts a run; returns its processes and their output. They are forked
    instead of started by torchrun, as importing torch takes seconds."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    reader, writer = os.pipe()
    sys.stdout.flush()
    run = torch.multiprocessing.start_processes(
        process, (folder, processes, port, writer), processes, join=False,
        start_method="fork")
    os.close(writer)
    return run, os.fdopen(reader)


def failure(run):
    """Waits for a run. Returns the error of the first process that failed,
    which ends the others, or None."""
    try:
        while not run.join():
            pass
    except (torch.multiprocessing.ProcessExitedException,
            torch.multiprocessing.ProcessRaisedException) as error:
        return error


def fail(folder, what):
    for name in sorted(os.listdir(folder)):
        if name.startswith("errors."):
            with open(os.path.join(folder, name)) as file:
                sys.stderr.write(file.read())
    sys.exit(f"FAILED: {what}")


def demonstrate(folder):
    """Kills a process of the first run, lets the other runs end, and counts
    the samples."""
    run, output = launch(folder, 2)
    saved = 0
    for line in output:
        print(line, end="")
        saved += line.startswith("saved")
        if saved == KILL_AT:
            os.kill(run.pids()[1], signal.SIGKILL)
            print("process 1 got SIGKILL")
            break
    failed = failure(run)
    if run.processes[1].exitcode != -signal.SIGKILL:
        fail(folder, f"the first run was not killed: {failed}")
    # The last two: one process trains what is left, then finds nothing left.
    for processes in 3, 1, 1:
        run, output = launch(folder, processes)
        for line in output:
            print(line, end="")
        failed = failure(run)
        if failed:
            fail(folder, f"a resumed run failed: {failed}")
    with open(os.path.join(folder, "seen.json")) as file:
        seen = json.load(file)
    print(f"of {len(seen)} samples: {seen.count(1)} trained on exactly once, "
          f"{seen.count(0)} never, {sum(n > 1 for n in seen)} more than once")
    if seen != [1] * SAMPLES:
        fail(folder, "not every sample was trained on exactly once")


class Skipping:
    """torch's own way at its fastest: earlier batches of indices are made and
    thrown away, but their samples are not loaded."""

    def __init__(self, sampler, batch_size, skipped):
        self.batches = torch.utils.data.BatchSampler(sampler, batch_size,
                                                     False)
        self.skipped = skipped

    def __iter__(self):
        return itertools.islice(self.batches, self.skipped, None)


def compare(samples):
    """Times a resume in the middle of an epoch up to its first batch, for rank
    3 of 8 and batches of 256."""
    data, size, replicas, rank = range(samples), 256, 8, 3
    steps = samples // (2 * size * replicas)
    old = StatefulDistributedSampler(data, replicas, rank, batch_size=size)
    old.set_start_iter(steps)
    state = old.state_dict()
    ours = theirs = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        sampler = StatefulDistributedSampler(data, replicas, rank)
        sampler.load_state_dict(state)
        batch = next(iter(DataLoader(data, size, sampler=sampler)))
        ours = min(ours, time.perf_counter() - start)
        assert len(batch) == size
        start = time.perf_counter()
        skipping = Skipping(DistributedSampler(data, replicas, rank), size,
                            steps)
        batch = next(iter(DataLoader(data, batch_sampler=skipping)))
        theirs = min(theirs, time.perf_counter() - start)
        assert len(batch) == size
    print(f"first batch after a resume in the middle of {samples} samples: "
          f"{ours * 1e3:.2f} ms; torch, skipping: {theirs * 1e3:.0f} ms, "
          f"{theirs / ours:.0f} times as long")


def main():
    torch.set_num_threads(1)
    if OPTIONS.folder:
        train(OPTIONS.folder)
        return
    with tempfile.TemporaryDirectory() as folder:
        demonstrate(folder)
    if OPTIONS.compare:
        compare(OPTIONS.compare)
        if not augment.demonstrate():
            sys.exit(1)
    sys.stdout.flush()


if __name__ == "__main__":
    try:
        main()
    except OSError as error:
        sys.stderr.write(f"train.py: {error}\n")
        os._exit(1)  # without flushing what cannot be written
