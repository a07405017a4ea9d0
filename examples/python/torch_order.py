"""For runs that were started with torch's order and must keep it.

TorchOrderSampler serves exactly the indices of torch's DistributedSampler
(torch.randperm seeded with seed + epoch), with the states and epochs of
StatefulDistributedSampler. It costs as much as torch's sampler: a table of the
whole epoch on every rank (8 bytes per sample), rebuilt for each epoch. Other
versions of torch may have another order.
"""

import torch

from statesampler import StatefulDistributedSampler
from statesampler._arguments import whole
from statesampler._cursors import SamplerCursor
from statesampler._library import ORDERS

__all__ = ["TorchOrderSampler"]


class _Table(SamplerCursor):
    """torch's table, indexed by a sequential sampler."""

    def _make(self, desc):
        desc.order = ORDERS.index("sequential")
        super()._make(desc)

    def read(self, state):
        generator = torch.Generator()
        generator.manual_seed(
            (self._desc.seed + self.after(state).epoch) % 2**64)
        table = torch.randperm(self._desc.num_samples, generator=generator)
        for positions in super().read(state):
            yield table[positions].tolist()


class TorchOrderSampler(StatefulDistributedSampler):
    """Takes the arguments of StatefulDistributedSampler. For shuffle=False use
    that one instead."""

    _cursors = _Table

    def __init__(self, dataset, num_replicas=None, rank=None, shuffle=True,
                 seed=0, drop_last=False, batch_size=None, *, tail=None,
                 stream=0):
        if not shuffle:
            raise ValueError("with shuffle=False use "
                             "StatefulDistributedSampler, which has the same "
                             "order")
        if tail == "carry":
            raise ValueError("tail='carry' is not possible in torch's order: "
                             "the table is for one epoch only")
        # A stream of its own, so that states of a sequential sampler are
        # refused.
        super().__init__(dataset, num_replicas, rank, True, seed, drop_last,
                         batch_size, tail=tail,
                         stream=whole("stream", stream, 0, 2**64) ^
                         int.from_bytes(b"randperm", "big"))
