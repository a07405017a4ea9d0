"""Sampler and Mix with what the samplers for torch need besides.

Those are built on a cursor: on its place (an epoch and a step), begin(epoch),
seek(step), turn_over() to the next epoch, and read(state), which yields lists
of everything after a state."""

import ctypes
import itertools

from . import samplers
from ._arguments import shown
from ._library import (OFF, ORDERS, PARTITIONS, STATE_BYTES, STOPS, TAILS, Desc,
                       MixPlace, SamplerPlace, c, check)
from .factors import WEIGHTED, weighted
from .samplers import Made, Mix, Sampler, library_state

# Indices read from the library at a time: enough to make the time of a call
# negligible, few enough for a fast first batch and little memory.
_CHUNK = 4096

# How the facts about datasets themselves begin.
_DATASETS = ("len(dataset) ", "len(data_source) ", "lengths whose digest is ",
             "len(groups) ", "groups whose digest is ",
             "weights whose digest is ", "positions ", "")


# The classes whose states begin with a name of their own, and why no step
# follows from such a state alone, if none does.
OWNERS = {b"SSG1": ("RepeatSampler", None),
          b"SSP1": ("PackedBatchSampler",
                    "the state of a PackedBatchSampler does not hold the "
                    "lengths: ask at() and locate() of the sampler"),
          b"SSS1": ("SpreadBatchSampler",
                    "the state of a SpreadBatchSampler does not hold the "
                    "groups: ask at() and locate() of the sampler"),
          b"SSB1": ("BlendedBatchSampler",
                    "of a BlendedBatchSampler no step is looked up here: ask "
                    "at() and locate() of the sampler"),
          b"SSW1": ("StatefulDistributedSampler",
                    "the state of a sampler with weights does not hold them: "
                    "ask at() and locate() of the sampler"),
          b"SSL1": ("Ledger",
                    "a ledger has tickets: ask the state of its sampler")}


def _owner(state):
    """The class that saved a state; None if it is damaged or of none."""
    for kind, name in ((SamplerCursor, "StatefulDistributedSampler"),
                       (MixCursor, "RoundRobinBatchSampler")):
        if kind.facts(state):
            return name
    return OWNERS.get(state[:4], (None, None))[0]


def state_of(state_dict, ours):
    """The library's state in a state_dict of a class."""
    try:
        state = state_dict["state"]
        for key in "fingerprint", "history":
            if not isinstance(state_dict.get(key), (str, type(None))):
                raise TypeError
        size = state_dict.get("indices_per_batch", 0)
        if type(size) is not int or not 0 <= size <= 2**62:
            raise TypeError
    except (AttributeError, LookupError, TypeError, ValueError):
        raise ValueError(f"this is not a state_dict of {ours}, but "
                         f"{shown(state_dict)}") from None
    try:
        state = library_state(state)
    except ValueError as error:
        raise ValueError(f"this is not a state_dict of {ours}: {error}"
                         ) from None
    theirs = _owner(state)
    if theirs not in (ours, None):
        raise ValueError(f"this is a state_dict of {theirs}, not {ours}")
    return state


def described(state):
    """What a Sampler's state describes, and its place."""
    desc, place = Desc(), SamplerPlace()
    check(c.describe(state, len(state), desc, place))
    return desc, place


def described_mix(state):
    """What a Mix's state describes of its datasets, their weights, and its
    place. (To ask mix_describe for each would check all of the state as
    often.)"""
    place = MixPlace()
    check(c.mix_describe(state, len(state), 0, None, place))
    descs, weights, weight = [], [], ctypes.c_uint32()
    for source in range(place.num_sources):
        begin = c.mix_source_in(state, source, weight)
        descs.append(described(ctypes.string_at(begin, STATE_BYTES))[0])
        weights.append(weight.value)
    return descs, weights, place


def _facts(desc, of=""):
    """The fields that must be equal in a state and the cursor that loads it,
    each with the words before and after it."""
    return [("len(dataset) ", desc.num_samples, of), ("seed ", desc.seed, of),
            ("stream ", desc.stream, of), ("order ", ORDERS[desc.order], of),
            ("chunk_size ", desc.chunk_size, of), ("window ", desc.window, of),
            ("partition ", PARTITIONS[desc.partition], of),
            ("tail ", TAILS[desc.tail], of)]


class _Cursor(Made):
    def repeats(self, first, last, rank):
        """How many samples of batch(first, last, rank) fill an epoch's last
        step: none."""
        return 0

    def after(self, state):
        """A copy at another state."""
        other = object.__new__(type(self))
        other.__setstate__((self._made, state))
        return other

    def copy_at(self, step):
        """A copy at a step that this cursor reaches: it may reach further back
        than a state does."""
        before = self.step
        try:
            self.seek(step)
            return self.after(self.save())
        finally:
            self.seek(before)

    def begun_at(self, state):
        """A copy where the next loop begins after a state: not at the end of
        an epoch."""
        cursor = self.after(state)
        if 0 < cursor.step == cursor.num_steps:
            cursor.turn_over()
        return cursor

    def differences(self, state):
        """How a state differs from this cursor: in the datasets' lengths, and
        otherwise. Two lists of sentences, both empty if it is damaged."""
        lengths, others = [], []
        for (name, theirs, of), (_, ours, _) in zip(
                self.facts(state), self.facts(self.save())):
            if theirs != ours:
                (lengths if name in _DATASETS else others).append(
                    f"the state has {name}{theirs}{of}, this sampler {ours}")
        return lengths, others

    def next_epoch(self, state):
        """A state of this cursor at the start of the epoch that comes after
        another state, whose datasets may be different. An epoch of which
        nothing was served is yet to come."""
        epoch, begun, _ = self.summary(state)
        cursor = self.after(self.save())
        cursor.begin((epoch + begun) % 2**64)
        return cursor.save()

    def turn_over(self):
        self.begin((self.epoch + 1) % 2**64)


class _BatchCursor(_Cursor):
    """Of batches, which _turns(most) takes as Mix does."""

    def read(self, state):
        """Yields lists of batches."""
        reader, ahead = self.after(state), max(_CHUNK // self._most, 1)
        turns = ahead
        while turns == ahead:
            out, counts = reader._turns(ahead)
            flat, turns = out.tolist(), len(counts)
            ends = [0, *itertools.accumulate(counts)]
            yield [flat[at:end] for at, end in zip(ends, ends[1:])]

    def batch(self, first, last, rank):
        found = self.at(first, rank)
        return None if found is None else found.tolist()

    def repeats(self, first, last, rank):
        return self.padding(first, rank)


class SamplerCursor(_Cursor, Sampler):
    _weighted = False       # Whether there are weights of samples.

    def _larger(self, state, rank, steps):
        """The rest of an epoch after a state, so many steps at once."""
        desc = Desc.from_buffer_copy(self._desc)
        desc.rank, desc.batch_size = rank, steps * desc.batch_size
        reader = object.__new__(Sampler)
        reader.__setstate__(((desc,), state))
        return reader

    @property
    def num_samples(self):
        return self._desc.num_samples

    @property
    def base(self):
        """The step at which ranks or batch_size last changed in the epoch."""
        return c.base(self._memory)

    def read(self, state):
        """Yields lists of indices. (Lists iterate faster than arrays.)"""
        return map(memoryview.tolist,
                   self._larger(state, self._desc.rank, _CHUNK))

    @property
    def own_steps(self):
        """The step at which this rank has no more samples: one less than
        num_steps if tail="uneven" gives it none in the last step."""
        end, count = self.num_steps, ctypes.c_size_t()
        if end and c.at(self._memory, end - 1, None,
                        count) == 1 and count.value == 0:
            return end - 1
        return end

    def batch(self, first, last, rank):
        """The indices of these steps, as one step of a larger batch_size."""
        end = self.num_steps
        if last - first == 1 or end is not None and first >= end:
            found = self.at(first, rank)
            return None if found is None else self._listed(found)
        return self._listed(next(self._joined(first, last, rank)))

    def _listed(self, batch):
        return batch.tolist()

    def differences(self, state):
        if (state[:4] == b"SSW1") != self._weighted:
            return [], [f"the state is of a sampler with"
                        f"{'out' * self._weighted} weights"]
        return super().differences(state)

    def _joined(self, first, last, rank):
        """A sampler at these steps, as one."""
        rank = self._desc.rank if rank is None else rank
        last = last if self.num_steps is None else min(last, self.num_steps)
        return self._larger(self.copy_at(first).save(), rank, last - first)

    def repeats(self, first, last, rank):
        end = self.num_steps
        if end is None or first >= end:
            return 0
        joined = self._joined(first, last, rank)
        return joined.padding(joined.step)

    def summary(self, state):
        """The epoch of an undamaged state, whether it has begun, and the number
        of ranks and batch size."""
        desc, place = described(state)
        return (desc.epoch, place.position > 0,
                (desc.world_size, desc.batch_size))

    @staticmethod
    def facts(state):
        """Nothing if the state is damaged or not of a Sampler."""
        desc = Desc()
        code = c.describe(state, len(state), desc, None)
        return _facts(desc) if code == 0 else []


class MixCursor(_BatchCursor, Mix):
    own_steps = Mix.num_steps

    def summary(self, state):
        desc, place = Desc(), MixPlace()
        check(c.mix_describe(state, len(state), 0, desc, place))
        return (place.epoch, place.turn > 0,
                (desc.world_size, desc.batch_size))

    @property
    def weights(self):
        return [0 if weight == OFF else weight for weight in self._made[1]]

    def weigh(self, weights):
        check(c.mix_weigh(self._memory, self._new_weights(weights)))
        self._keep_weights()

    def turn_over(self):
        """Datasets that were restarted continue from where they are."""
        self.seek(self.num_steps)
        self._turns(1)

    @staticmethod
    def facts(state):
        try:
            descs, _, place = described_mix(state)
        except ValueError:
            return []
        return [("", place.num_sources, " datasets"),
                ("stop ", STOPS[place.stop], "")] + [
                    fact for i, desc in enumerate(descs)
                    for fact in _facts(desc, f" for dataset {i}")]


class WeightedCursor(SamplerCursor):
    """With weights of samples: what it serves are positions, each of which is a
    sample by its weight."""

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


# Samplers and mixes from their states alone, to ask what was in any step.

def _new(kind, *made):
    cursor = object.__new__(kind)
    cursor._make(*made)
    return cursor


def recall_sampler(state, epoch, drop_last, world_size=None, batch_size=None):
    """A cursor at a state; in another epoch, at its beginning, as the state's
    ranks serve it, or others that go on from it. A state does not hold
    drop_last."""
    desc, place = described(state)
    desc.drop_last = drop_last
    desc.world_size = world_size or desc.world_size
    desc.batch_size = batch_size or desc.batch_size
    cursor = _new(SamplerCursor, desc)
    cursor.load(state)
    if epoch not in (None, cursor.epoch):
        if TAILS[desc.tail] == "carry":
            _carry(cursor, desc, place, epoch)
        else:
            cursor.begin(epoch)
    return cursor


def _carry(cursor, desc, place, epoch):
    """Goes to the first step that begins in an epoch, as the steps of all are
    counted on."""
    ahead = (epoch - desc.epoch) * desc.num_samples - place.position
    step = place.step - -ahead // (desc.world_size * desc.batch_size)
    if step >= 2**63:
        raise ValueError(f"epoch {epoch} is out of reach")
    cursor.seek(max(step, 0))
    if cursor.epoch != epoch:
        if step <= 0:
            raise ValueError(f"the run begins after epoch {epoch}")
        raise ValueError(f"no step begins in epoch {epoch}" + (
            # Those of a loader's sampler are no batches.
            f": step {step - 1} has its samples" if desc.batch_size > 1 else
            ""))


def reshape_mix(mix, world_size):
    """So many ranks go on from here."""
    check(c.mix_reshape(mix._memory, 0, world_size))
    for desc in mix._descs:
        desc.world_size = world_size


def recall_mix(state, epoch, drop_last):
    """A mix at a state of the library's, which answers for the whole epoch
    where it can; in another epoch, at its beginning."""
    descs, weights, place = described_mix(state)
    for desc in descs:
        desc.drop_last = drop_last
    mix = _new(MixCursor, descs, weights, place.stop, 0)
    scratch = ctypes.create_string_buffer(len(state))
    check(c.recall_mix(mix._memory, mix._sources, state, len(state), scratch,
                       drop_last))
    if epoch is None:
        epoch = place.epoch
    if epoch != place.epoch:
        if STOPS[place.stop] == "never":
            raise ValueError("a mix that never ends has one epoch")
        check(c.recall_epoch(mix._memory, scratch,
                             (epoch - place.epoch) % 2**64))
    c.mix_number(mix._memory, epoch)
    return mix
