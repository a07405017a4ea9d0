"""Samplers and mixes from their states alone, to ask what was in any step."""

from ._cursors import MixCursor, SamplerCursor, described, described_mix
from ._library import STOPS, TAILS, Desc, c, check


def _new(kind, *made):
    """A cursor without a torch sampler."""
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
    if not 0 <= step < 2**63:
        raise ValueError(f"epoch {epoch} is out of reach")
    cursor.seek(step)
    if cursor.epoch != epoch:
        raise ValueError(f"no step begins in epoch {epoch}")


def _epochs(mix):
    return [desc.epoch for desc in described_mix(mix.save())[0]]


def reshape_mix(mix, world_size):
    """So many ranks go on from here."""
    check(c.mix_reshape(mix._memory, 0, world_size))
    for desc in mix._descs:
        desc.world_size = world_size


def recall_mix(state, epoch, drop_last):
    """examples/extras/recall.h in Python: a mix at a state of the library's, which
    answers for the whole epoch where it can; in another epoch, at its
    beginning."""
    descs, weights, place = described_mix(state)
    present = [desc.epoch for desc in descs]

    def begin(number, epochs):
        for desc, first in zip(descs, epochs):
            desc.epoch, desc.drop_last = first % 2**64, drop_last
        mix = _new(MixCursor, list(map(Desc.from_buffer_copy, descs)),
                   weights, place.stop, 0)
        c.mix_number(mix._memory, number)
        return mix

    loaded = begin(place.epoch, present)
    check(c.mix_load(loaded._memory, state, len(state)))
    if epoch not in (None, place.epoch):
        if STOPS[place.stop] == "never":
            raise ValueError("a mix that never ends has one epoch")
        starts = []
        for _ in range(2):
            loaded.turn_over()
            starts.append(_epochs(loaded))
        return begin(epoch, (
            first + (epoch - place.epoch - 1) * (second - first)
            for first, second in zip(*starts)))
    try:
        mix = begin(place.epoch, present)
        mix.seek(place.turn)
        mix = begin(place.epoch, (2 * now - begun for now, begun in
                                  zip(present, _epochs(mix))))
        mix.seek(place.turn)
    except ValueError:      # There is no such turn in its present shape.
        return loaded
    return mix if mix.save() == state else loaded
