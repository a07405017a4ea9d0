"""For a run that was begun with torch's order and must keep it.

TorchOrderSampler serves exactly what torch's DistributedSampler does, which is
torch.randperm seeded with seed + epoch, but with the states and epochs of
StatefulDistributedSampler. It costs what torch's costs: a table of the whole
epoch on every rank (8 bytes per sample), made again for each epoch. Another
version of torch may have another order.
"""

import torch

from statesampler import _ORDERS, _whole, StatefulDistributedSampler

__all__ = ["TorchOrderSampler"]


class TorchOrderSampler(StatefulDistributedSampler):
    """Torch's table, indexed by a sequential sampler. The arguments are as
    StatefulDistributedSampler's; for shuffle=False use that one."""

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
        self._desc.order = _ORDERS.index("sequential")
        self._cursor = self._new_cursor()

    def _read(self, state):
        generator = torch.Generator()
        cursor = self._new_cursor()
        cursor.load(state)
        generator.manual_seed(self.seed + cursor.epoch)
        table = torch.randperm(self._desc.num_samples, generator=generator)
        for positions in super()._read(state):
            yield table[positions].tolist()
