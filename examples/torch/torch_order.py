"""For those who must keep an order that was begun with torch.

TorchOrderSampler serves exactly what torch's DistributedSampler does,
torch.randperm seeded with seed + epoch, but with the state, the elastic resume
and the epochs of StatefulDistributedSampler. The price is torch's: a table of
the whole epoch on every rank, 8 bytes per sample here, made anew for each
epoch; and an order that another version of torch may change.
"""

import torch

from statesampler import _ORDERS, _whole, StatefulDistributedSampler

__all__ = ["TorchOrderSampler"]


class TorchOrderSampler(StatefulDistributedSampler):
    """A table of torch's, indexed by a sequential sampler. Arguments as
    StatefulDistributedSampler's, as far as they are there; shuffle=False is
    that one's."""

    def __init__(self, dataset, num_replicas=None, rank=None, shuffle=True,
                 seed=0, drop_last=False, batch_size=None, *, tail=None,
                 stream=0):
        if not shuffle:
            raise ValueError("torch's order with shuffle=False is that of "
                             "StatefulDistributedSampler(shuffle=False)")
        if tail == "carry":
            raise ValueError("tail='carry' runs on into the next epoch, and "
                             "a table is of one")
        # A stream of its own: a sequential sampler's state is not for this.
        super().__init__(dataset, num_replicas, rank, True, seed, drop_last,
                         batch_size, tail=tail,
                         stream=_whole("stream", stream, 0, 2**64) ^
                         int.from_bytes(b"randperm", "big"))
        self._desc.order = _ORDERS.index("sequential")
        self._cursor = self._new_cursor()

    def _read(self, state):
        generator = torch.Generator()
        generator.manual_seed(self.seed + self._epoch())
        table = torch.randperm(self._desc.num_samples, generator=generator)
        for positions in super()._read(state):
            yield table[torch.frombuffer(positions, dtype=torch.int64)].tolist()
