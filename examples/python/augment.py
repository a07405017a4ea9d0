"""Random augmentations that are reproducible, also after a kill.

    python3 examples/python/augment.py

Each sample's random numbers are seeded with sampler.sample_seed(index), which
depends on the run's seed, the epoch and the sample only. So they are the same
in any worker, on any rank and after a resume, and no generator's state needs
to be saved. This program does not train; it hashes the batches of two epochs
with 0, 1 and 4 workers, and with 2 workers in a process that gets SIGKILL in
the second epoch and resumes from its last checkpoint in another process.
"""

import argparse
import hashlib
import multiprocessing
import os
import signal
import sys
import tempfile
import threading
import warnings

if __name__ == "__main__":  # help needs no torch
    argparse.ArgumentParser(description="Shows that randomly augmented "
                            "batches are bit-identical with any number of "
                            "workers and after a kill.").parse_args()
    if sys.stdout is None:
        sys.exit("augment.py: standard output is closed")

import torch
from torch.utils.data import Dataset

from statesampler import CountingDataLoader, StatefulDistributedSampler

SAMPLES, BATCH, EPOCHS = 600, 24, 2
KILL_AT = 37    # of 50 batches; the last checkpoint is after batch 35
EVERY = 5


class Augmented(Dataset):
    """Waves with a random shift, scale and noise, different in each epoch."""

    def __init__(self):
        self.sampler = StatefulDistributedSampler(self, 1, 0, seed=3)

    def __len__(self):
        return SAMPLES

    def __getitem__(self, index):
        random = torch.Generator()
        random.manual_seed(self.sampler.sample_seed(index))
        wave = torch.linspace(0, 1 + index % 7, 64).sin()
        shift = int(torch.randint(64, (1,), generator=random))
        scale = 1 + torch.rand(1, generator=random)
        noise = torch.randn(64, generator=random)
        return index, wave.roll(shift) * scale + noise / 10


def end_with_training(_):
    """Ends a worker when its training process ends, even by SIGKILL: pass this
    as worker_init_fn. torch asks for the parent process instead. From Python
    3.14 on that is a forkserver, which stays as long as its workers do."""
    def wait():
        multiprocessing.parent_process().join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def run(workers, path=None):
    """Returns the hash of each batch, including those of earlier processes
    with the same checkpoint."""
    dataset, hashes = Augmented(), []
    # Torch warns where there are fewer processors than workers.
    warnings.filterwarnings("ignore", "This DataLoader will create")
    loader = CountingDataLoader(
        dataset, BATCH, sampler=dataset.sampler, num_workers=workers,
        persistent_workers=workers > 0, worker_init_fn=end_with_training)
    if path and os.path.exists(path):
        checkpoint = torch.load(path)
        dataset.sampler.load_state_dict(checkpoint["sampler"])
        hashes = checkpoint["hashes"]
    while dataset.sampler.epoch < EPOCHS:
        for index, batch in loader:
            hashes.append(hashlib.sha256(
                str((index.tolist(), batch.tolist())).encode()).hexdigest())
            if path and len(hashes) % EVERY == 0:
                torch.save({"sampler": dataset.sampler.state_dict(),
                            "hashes": hashes}, path + ".tmp")
                os.replace(path + ".tmp", path)
            if path and len(hashes) == KILL_AT and not os.path.exists(
                    path + ".killed"):
                open(path + ".killed", "w").close()
                os.kill(os.getpid(), signal.SIGKILL)
    return hashes


def in_a_process(workers, path):
    """Runs it in a child process; returns the signal that ended it, or 0. The
    child is spawned: a forked one would take this process's forkserver, which
    has started workers already, for its own."""
    child = multiprocessing.get_context("spawn").Process(
        target=run, args=(workers, path))
    child.start()
    child.join()
    return -child.exitcode


def demonstrate():
    """Returns whether all hashes are the same."""
    torch.set_num_threads(1)
    whole = run(0)
    same = [run(workers) == whole for workers in (1, 4)]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "checkpoint.pt")
        killed = in_a_process(2, path) == signal.SIGKILL
        killed = killed and in_a_process(2, path) == 0
        same.append(killed and torch.load(path)["hashes"] == whole)
    batches = len(whole)
    differ = len(set(whole)) == batches == EPOCHS * SAMPLES // BATCH
    print(f"{batches} randomly augmented batches: the same bits with 0, 1 and "
          f"4 workers, and with 2 workers killed at batch {KILL_AT}"
          if all(same) and differ else
          f"FAILED: augmented batches differ: {same}, {differ}")
    return all(same) and differ


if __name__ == "__main__":
    try:
        if not demonstrate():
            sys.exit(1)
        sys.stdout.flush()
    except OSError as error:
        sys.stderr.write(f"augment.py: {error}\n")
        os._exit(1)  # without flushing what cannot be written
