"""SamplerCursor with weights of samples: what it serves are positions, each of
which is a sample by its weight."""

from . import samplers
from ._cursors import _CHUNK, SamplerCursor
from .factors import WEIGHTED, weighted


class WeightedCursor(SamplerCursor):
    _weighted = True

    def __init__(self, weights, num_samples, rank, world_size, batch_size, *,
                 stream, **options):
        desc, = samplers.described([num_samples], rank, world_size, batch_size,
                                   [stream], options)
        self._make(*weighted(desc, weights))

    def _make(self, desc, factors):
        super()._make(desc)
        self._made, self._factors = (desc, factors), factors

    num_samples = property(lambda self: len(self._factors.sums))

    def _listed(self, positions):
        return self._factors.map(self._memory, self.epoch, positions).tolist()

    def read(self, state):
        reader = self._larger(state, self._desc.rank, _CHUNK)
        epoch = reader.epoch
        for positions in reader:
            yield self._factors.map(reader._memory, epoch, positions).tolist()

    def locate(self, index):
        return self._factors.locate(index, self.epoch, super().locate)

    def resize(self, num_samples):
        raise ValueError("a sampler with weights has no resize")

    # --- states, in front of which is a name ---------------------------------

    def _larger(self, state, rank, steps):
        return super()._larger(state[len(WEIGHTED):], rank, steps)

    def save(self):
        return WEIGHTED + super().save()

    def load(self, state):
        super().load(state[len(WEIGHTED):])

    def summary(self, state):
        return super().summary(state[len(WEIGHTED):])

    @staticmethod
    def facts(state):
        facts = SamplerCursor.facts(state[len(WEIGHTED):])
        if not facts or not state.startswith(WEIGHTED):
            return []
        (_, positions, _), seed, (_, digest, _), *others = facts
        return [("weights whose digest is ", f"{digest:016x}", ""),
                ("positions ", positions, ""), seed, *others]
