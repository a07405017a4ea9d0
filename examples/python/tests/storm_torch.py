"""A run of PyTorch processes for examples/tests/storm.py to kill:
    python3 examples/python/tests/storm_torch.py FOLDER WORLD_SIZE WORKERS
trains EPOCHS epochs on processes that are joined by gloo, from the checkpoint
in FOLDER if there is one, and writes FOLDER/digest. What is trained is a hash:
each step adds up, over all processes, integers that depend on each sample, its
sample_seed and the weights so far; so any number of processes that divides
GLOBAL_BATCH comes to the same digest, and one sample too many, too few or out
of turn to another."""

import os
import sys

import torch
import torch.distributed as dist
from torch.utils.data import Dataset

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)),
                                os.pardir))
from statesampler import (CountingDataLoader,            # noqa: E402
                          StatefulDistributedSampler)

SAMPLES, GLOBAL_BATCH, EPOCHS, EVERY = 960, 24, 3, 4
WORD = 2**64 - 1


def scramble(x):
    """SplitMix64's finaliser (Steele, Lea and Flood, 2014)."""
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9 & WORD
    x = (x ^ x >> 27) * 0x94d049bb133111eb & WORD
    return x ^ x >> 31


class Seeds(Dataset):
    def __init__(self, sampler):
        self.sampler = sampler

    def __len__(self):
        return SAMPLES

    def __getitem__(self, index):
        return index, self.sampler.sample_seed(index) >> 1


def train(folder, rank, world_size, workers, port):
    dist.init_process_group("gloo", f"tcp://127.0.0.1:{port}", rank=rank,
                            world_size=world_size)
    path = os.path.join(folder, "checkpoint")
    sampler = StatefulDistributedSampler(range(SAMPLES), world_size, rank,
                                         seed=7)
    weights = 0
    if os.path.exists(path):
        saved = torch.load(path)
        sampler.load_state_dict(saved["sampler"])
        weights = saved["weights"]
        print("goes on", flush=True)    # os._exit flushes nothing
    loader = CountingDataLoader(Seeds(sampler), GLOBAL_BATCH // world_size,
                                sampler=sampler, num_workers=workers)
    steps = 0
    while sampler.epoch < EPOCHS:
        for indices, seeds in loader:
            total = torch.tensor([sum(
                scramble(index ^ scramble(seed ^ weights)) & 2**40 - 1
                for index, seed in zip(indices.tolist(), seeds.tolist()))])
            dist.all_reduce(total)
            weights = scramble(weights ^ total.item())
            steps += 1
            if rank == 0 and steps % EVERY == 0:
                torch.save({"sampler": sampler.state_dict(),
                            "weights": weights}, path + ".new")
                os.replace(path + ".new", path)
    if rank == 0:
        with open(os.path.join(folder, "digest.new"), "w") as file:
            file.write(f"{weights:016x}")
        os.replace(file.name, os.path.join(folder, "digest"))
    dist.barrier()


def main():
    folder, world_size, workers = sys.argv[1], *map(int, sys.argv[2:4])
    torch.set_num_threads(1)
    store = dist.TCPStore("127.0.0.1", 0, is_master=True,
                          wait_for_workers=False)
    port = store.port
    del store   # which frees the port: gloo makes its own there
    children = []
    for rank in range(world_size):
        child = os.fork()
        if child == 0:
            try:
                train(folder, rank, world_size, workers, port)
            except BaseException as error:
                sys.stderr.write(f"rank {rank}: {error}\n")
                os._exit(1)
            os._exit(0)
        children.append(child)
    sys.exit(max(os.waitpid(child, 0)[1] != 0 for child in children))


main()
