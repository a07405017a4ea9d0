"""Samplers and mixes from their states alone, to ask what was in any step."""

import ctypes

from ._cursors import MixCursor, SamplerCursor, described, described_mix
from ._library import STOPS, TAILS, c, check


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
