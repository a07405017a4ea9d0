"""Training with DistributedDataParallel that is killed and goes on at once.

    python3 examples/torch/train.py

trains a small network on 2 processes, kills one of them with SIGKILL in the
middle of the epoch, starts again on 3 from the last checkpoint, and counts how
often each sample was trained on, by all processes of both runs. Then it times
a resume in the middle of 10^7 samples, beside torch's own way of doing it, and
shows augment.py.

Each process runs train(), which does what any training script does:

    torchrun --nproc_per_node 4 examples/torch/train.py --folder run

The size of the dataset and the batch size are multiples of 6, so that neither
2 nor 3 processes need padding, wherever they go on.
"""

import argparse
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time


def read_options():
    options = argparse.ArgumentParser(description=
        "Trains on 2 processes, kills one in mid-epoch, goes on with 3, and "
        "counts that every sample was trained on exactly once.")
    options.add_argument("--folder", help="train as a process of torchrun, "
                         "with checkpoints in this folder")
    options.add_argument("--compare", type=int, default=10**7,
                         metavar="SAMPLES", help="time a resume among so many "
                         "samples beside torch's (0: do not)")
    return options.parse_args()


if __name__ == "__main__":  # help needs no torch
    OPTIONS = read_options()

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler

import augment
from statesampler import StatefulDistributedSampler

SAMPLES = 6000
BATCH = 12      # of each process
EVERY = 10      # steps from one checkpoint to the next
KILL_AT = 6     # checkpoints until the first run is killed


class Waves(Dataset):
    """Points on a wave, and which sample each is."""

    def __len__(self):
        return SAMPLES

    def __getitem__(self, index):
        x = torch.linspace(0, 1, 8) * (1 + index % 97)
        return index, x.sin(), x.cos().sum().view(1)


def save(path, checkpoint):
    """A crash leaves the old file or the new one."""
    torch.save(checkpoint, path + ".tmp")
    os.replace(path + ".tmp", path)


def train(folder):
    """What each process runs."""
    os.makedirs(folder, exist_ok=True)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    model = DistributedDataParallel(torch.nn.Sequential(
        torch.nn.Linear(8, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1)))
    optimiser = torch.optim.SGD(model.parameters(), lr=0.01)
    dataset = Waves()
    sampler = StatefulDistributedSampler(dataset, seed=1)
    loader = DataLoader(dataset, BATCH, sampler=sampler, num_workers=1)
    path = os.path.join(folder, "checkpoint.pt")
    # How often each sample was trained on: by all until the checkpoint, and by
    # this process since.
    before = torch.zeros(SAMPLES, dtype=torch.int64)
    since = torch.zeros(SAMPLES, dtype=torch.int64)
    total = torch.zeros(SAMPLES, dtype=torch.int64)
    if os.path.exists(path):
        checkpoint = torch.load(path)
        model.load_state_dict(checkpoint["model"])
        optimiser.load_state_dict(checkpoint["optimiser"])
        sampler.load_state_dict(checkpoint["sampler"])
        before = checkpoint["seen"]
    if rank == 0:
        print(f"{dist.get_world_size()} processes, {int(before.sum())} of "
              f"{SAMPLES} samples done, "
              f"{-(-sampler.remaining // BATCH)} steps to go", flush=True)

    def seen():
        total.copy_(since)
        dist.all_reduce(total)
        return total + before

    with open(os.path.join(folder, f"pid.{rank}"), "w") as file:
        file.write(str(os.getpid()))
    for step, (index, x, y) in enumerate(loader, 1):
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
    # The model goes first, while `total` is still there: torch 1.13 can hang
    # if the group's threads are the last to hold a tensor.
    del model
    dist.destroy_process_group()


def launch(folder, processes):
    """Starts torchrun, by its module, as not every system has the command."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = dict(os.environ, OMP_NUM_THREADS="1")
    environment.setdefault("GLOO_SOCKET_IFNAME", "lo")
    return subprocess.Popen(
        [sys.executable, "-m", "torch.distributed.run",
         "--nproc_per_node", str(processes), "--master_addr", "127.0.0.1",
         "--master_port", str(port), "--monitor_interval", "0.2",
         # Torch 1.13 on Python 3.11 fails unless some process has its output
         # redirected. Process 9 has, and there is none.
         "--redirects", "9:1", "--tee", "9:1",
         os.path.realpath(__file__), "--folder", folder],
        env=environment, stdout=subprocess.PIPE, text=True,
        stderr=open(os.path.join(folder, f"errors.{processes}"), "w"))


def fail(folder, what):
    for name in sorted(os.listdir(folder)):
        if name.startswith("errors."):
            with open(os.path.join(folder, name)) as file:
                sys.stderr.write(file.read())
    sys.exit(f"FAILED: {what}")


def demonstrate(folder):
    """Kills a process of the first run, lets the second end, and counts."""
    run = launch(folder, 2)
    saved = 0
    for line in run.stdout:
        print(line, end="")
        saved += line.startswith("saved")
        if saved == KILL_AT:
            break
    if saved < KILL_AT:
        fail(folder, "the first run ended by itself")
    with open(os.path.join(folder, "pid.1")) as file:
        os.kill(int(file.read()), signal.SIGKILL)
    print("process 1 got SIGKILL")
    for line in run.stdout:
        print(line, end="")
    if run.wait() == 0:
        fail(folder, "the first run was not killed")
    run = launch(folder, 3)
    for line in run.stdout:
        print(line, end="")
    if run.wait() != 0:
        fail(folder, "the second run")
    with open(os.path.join(folder, "seen.json")) as file:
        seen = json.load(file)
    print(f"of {len(seen)} samples: {seen.count(1)} trained on exactly once, "
          f"{seen.count(0)} never, {sum(n > 1 for n in seen)} more than once")
    if seen != [1] * SAMPLES:
        fail(folder, "not every sample exactly once")


class Skipping:
    """Torch's own way at its fastest: the batches served before are made and
    thrown away, but their samples are not loaded."""

    def __init__(self, sampler, batch_size, skipped):
        self.batches = torch.utils.data.BatchSampler(sampler, batch_size,
                                                     False)
        self.skipped = skipped

    def __iter__(self):
        return itertools.islice(self.batches, self.skipped, None)


def compare(samples):
    """Seconds to the first batch of a resume in the middle of an epoch, rank 3
    of 8, batches of 256."""
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
    print(f"resume in the middle of {samples} samples, to the first batch: "
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
        os._exit(1)  # with what cannot be written left unwritten
