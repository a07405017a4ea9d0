"""For a run that was begun with torch's order and must keep it.

TorchOrderSampler serves exactly what torch's DistributedSampler does, which is
torch.randperm seeded with seed + epoch, but with the states and epochs of
StatefulDistributedSampler. It costs what torch's costs: a table of the whole
epoch on every rank (8 bytes per sample), made again for each epoch. Another
version of torch may have another order.
"""

import torch

from statesampler import _ORDERS, _whole, Sampler
from statesampler import StatefulDistributedSampler

__all__ = ["TorchOrderSampler"]


class _Table(Sampler):
    """Torch's table, indexed by a sequential sampler."""

    def _make(self, desc):
        desc.order = _ORDERS.index("sequential")
        super()._make(desc)

    def read(self, state):
        generator = torch.Generator()
        generator.manual_seed(
            (self._desc.seed + self.at(state).epoch) % 2**64)
        table = torch.randperm(self._desc.num_samples, generator=generator)
        for positions in super().read(state):
            yield table[positions].tolist()


class TorchOrderSampler(StatefulDistributedSampler):
    """The arguments are as StatefulDistributedSampler's; for shuffle=False use
    that one."""

    _cursors = _Table

    def __init__(self, dataset, num_replicas=None, rank=None, shuffle=True,
                 seed=0, drop_last=False, batch_size=None, *, tail=None,
                 stream=0):
        if not shuffle:
            raise ValueError("torch's order with shuffle=False is that of "
                             "StatefulDistributedSampler(shuffle=False)")
        if tail == "carry":
            raise ValueError("tail='carry' runs on into the next epoch, and "
                             "a table is of one")
        # Another stream, so that a state of a sequential sampler is refused.
        super().__init__(dataset, num_replicas, rank, True, seed, drop_last,
                         batch_size, tail=tail,
                         stream=_whole("stream", stream, 0, 2**64) ^
                         int.from_bytes(b"randperm", "big"))
