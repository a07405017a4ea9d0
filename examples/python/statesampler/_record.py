"""Reads the history of a run: that of examples/extras/history.h."""

import ctypes

from ._codes import ERANGE, kind
from ._library import (RECORD_BYTES, SOURCE_BYTES, SamplerPlace, address, c,
                       check, indices, memory)


def earlier(epoch, other):
    """history_earlier in C."""
    return (other - epoch) % 2**64 < (epoch - other) % 2**64


def _has(stretch, epoch):
    """history_has_epoch in C."""
    begin = stretch.begin_epoch
    return (epoch - begin) % 2**64 <= (stretch.end_epoch - begin) % 2**64


class Record:
    """What a run served that has come to a place, by its history, stretch by
    stretch. A stretch is what was served between two events. Of a mix, a step
    is a turn, and indices are those of the concatenated datasets."""

    def __init__(self, history, epoch, step, state=None):
        self._history = history     # The library keeps its address.
        self._record = memory(RECORD_BYTES)
        self._open(history)
        self.place = epoch, step
        self._state = state         # None once the history leads to it.
        self._begins = None
        self._datasets = {}         # Those of samples, in all stretches.
        self.sources = c.record_sources(self._record)
        self._memory = (memory(SOURCE_BYTES * self.sources),
                        memory(4 * self.sources),
                        # for a mix's state, which has no names
                        memory(c.mixture_bytes(self.sources)))

    def _open(self, history):
        check(c.record_read(self._record, history, len(history),
                            ctypes.c_size_t()))

    def stretches(self):
        """Goes through them; what is asked below is asked of the present
        one."""
        c.record_open(self._record, *self.place, *self._memory)
        stretch = c.record_stretch(self._record).contents
        while self._moved(c.record_next(self._record)):
            yield stretch
        self._check_end()

    def stretches_of(self, epoch, first, last):
        """Goes through those that have served one of the steps from first to
        last of an epoch; yields which. (The epoch may have ended before.)"""
        c.record_open(self._record, *self.place, *self._memory)
        stretch = c.record_stretch(self._record).contents
        while self._moved(c.record_next_of(self._record, epoch, first, last)):
            begin, end = first, last + 1
            if stretch.carry or epoch == stretch.begin_epoch:
                begin = max(begin, stretch.begin_step)
            if stretch.carry or epoch == stretch.end_epoch:
                end = min(end, stretch.end_step)
            yield range(begin, end)
        self._check_end()

    def _check_end(self):
        """At the end of a walk: refuses a history that does not lead to the
        state."""
        if self._state is not None:
            check(c.record_ends_in(self._record, self._state, len(self._state)))
            self._state = None

    @staticmethod
    def _moved(code):
        check(min(code, 0))
        return code == 1

    def ranks(self):
        return c.record_ranks(self._record, ctypes.c_uint64())

    def has(self, index):
        """Whether there was a sample of this number."""
        source, local = self._dataset(index)
        return local < c.record_samples_of(self._record, source)

    def batch(self, epoch, step, rank):
        """The epoch in which a step begins, which tail="carry" needs; the
        number of its dataset; and a rank's batch. None past the epoch's
        end."""
        most = ctypes.c_uint64()
        c.record_ranks(self._record, most)
        out, count = indices(most.value), ctypes.c_size_t()
        begun, source = ctypes.c_uint64(epoch), ctypes.c_uint32()
        if not self._moved(c.record_at(self._record, rank, begun, step,
                                       address(out), count, source)):
            return None
        return begun.value, source.value, memoryview(out)[:count.value]

    def _exists(self, epoch, step):
        return c.record_at(self._record, 0, ctypes.c_uint64(epoch), step, None,
                           ctypes.c_size_t(), ctypes.c_uint32()) == 1

    def serves(self, epoch, step):
        """Whether the present stretch has served a step."""
        stretch = c.record_stretch(self._record).contents
        return (not c.record_before(self._record, epoch, step,
                                    stretch.begin_epoch, stretch.begin_step)
                and c.record_before(self._record, epoch, step,
                                    stretch.end_epoch, stretch.end_step)
                and self._exists(epoch, step))

    def places(self, epoch, index, own=None):
        """Yields where a sample was served in an epoch; of a mix, in all
        epochs of the sample's dataset, or in one: the place and the number of
        the dataset."""
        for source, own, index in self._epochs(epoch, index, own):
            step, place = ctypes.c_uint64(), SamplerPlace()
            code = c.record_locate(self._record, epoch, source, own, index,
                                   step, place)
            if code == 0:
                place.step = step.value
                yield place, source
            elif kind(code) != ERANGE:
                check(code)

    def is_padding(self, place, source):
        """Whether a place repeats a sample that has one of its own."""
        return place.position >= c.record_samples_of(self._record, source)

    def _epochs(self, epoch, index, own):
        """The dataset of a sample, its epochs in an epoch of the mix, and the
        sample's index there."""
        stretch = c.record_stretch(self._record).contents
        here = _has(stretch, epoch)
        if self.sources == 0:
            return [(0, 0, index)] if here or stretch.carry else []
        if not here:
            return []
        source, local = self._dataset(index)
        if own is not None:
            return [(source, own, local)]
        first, last = ctypes.c_uint64(), ctypes.c_uint64()
        check(c.record_epochs(self._record, epoch, source, first, last))
        epochs = ((first.value + i) % 2**64
                  for i in range((last.value - first.value) % 2**64 + 1))
        return ((source, each, local) for each in epochs)

    def _dataset(self, index):
        """The number of a sample's dataset, and its index there."""
        if index not in self._datasets:
            local = ctypes.c_uint64(index)
            self._datasets[index] = (c.record_source(self._record, local),
                                     local.value)
        return self._datasets[index]

    def first(self):
        """Where it begins."""
        if self._begins is None:
            stretch = next(self.stretches())
            self._begins = stretch.begin_epoch, stretch.begin_step
        return self._begins

    def knows_all_of(self, epoch):
        """Whether it does not begin in mid-epoch or later."""
        return not c.record_before(self._record, epoch, 0, *self.first())

    def not_served(self, epoch):
        """What it says of an epoch's steps that it does not have, in words:
        the run may have served them before it began."""
        if self.knows_all_of(epoch):
            return "not served"
        begin_epoch, begin_step = self.first()
        return (f"not served since step {begin_step} of epoch {begin_epoch}, "
                "where this history begins")

    def at(self, epoch, step, rank):
        """The batch of a step that the run has passed, as it was served the
        last time. None past its epoch's end; ValueError if it was not
        served."""
        found = self._last(epoch, step, rank, self.batch)
        return found and found[2]

    def padding(self, epoch, step, rank):
        """How many samples of that batch are padding, of a sampler's."""
        return self._last(epoch, step, rank, self._padding) or 0

    def _padding(self, epoch, step, rank):
        return c.record_padding(self._record, rank, epoch, step)

    def _last(self, epoch, step, rank, ask):
        """What is asked about a step, as it was served the last time."""
        found, there, ranks = None, False, rank + 1
        for _ in self.stretches_of(epoch, step, step):
            there = True
            if self._exists(epoch, step):
                ranks = self.ranks()
                found = ask(epoch, step, min(rank, ranks - 1))
        if not there:
            raise ValueError(self.why(epoch, step))
        if rank >= ranks:
            raise self.too_few(epoch, step, ranks)
        return found

    def begun(self, epoch, step, rank):
        """With tail="carry", whether a step was served, and its batch as it was
        the last time if it begins in an epoch; None if none does."""
        served, found = False, None
        for _ in self.stretches_of(epoch, step, step):
            served, ranks = True, self.ranks()
            of, _, batch = self.batch(epoch, step, min(rank, ranks - 1))
            if of == epoch:
                found, most = batch, ranks
        if found is not None and rank >= most:
            raise self.too_few(epoch, step, most)
        return served, found

    @staticmethod
    def too_few(epoch, step, ranks):
        return ValueError(f"step {step} of epoch {epoch} was served to {ranks} "
                          "ranks, from 0 on")

    def to_come(self, epoch, step, rank):
        """The batch of a step that the run has not come to, if nothing more is
        done to it."""
        for _ in self.stretches():
            pass
        found = self.batch(epoch, step, rank)
        return found and found[2]

    # Of a StatefulDistributedSampler, a step has several of the sampler's.

    def _unit(self, epoch, step):
        return step

    def _number(self, unit):
        return unit

    def why(self, epoch, step):
        """Why a step that the run has passed was not served, in words."""
        said = f"step {step} of epoch {epoch}: "
        unknown = (None if self.knows_all_of(epoch) else
                   self.not_served(epoch))
        for stretch in self.stretches():
            unit = self._unit(epoch, step)
            if (c.record_skipped(self._record, epoch, unit) and
                    self._exists(epoch, unit)):
                by = (f"seek to {self._number(stretch.to_step)}"
                      if stretch.to_epoch == stretch.from_epoch
                      else f"begin to {stretch.to_epoch}")
                return said + (unknown + "; " if unknown else "") + (
                    f"skipped at step {self._number(stretch.from_step)} of "
                    f"epoch {stretch.from_epoch} by a {by}")
        return said + (unknown or "the run has not served it")


class OwnRecord(Record):
    """By the history that a run has here, which need not be saved for it."""

    def _open(self, history):
        c.record_of(self._record, history)


class LoaderRecord(Record):
    """As Record, with batches as steps. In each stretch they are cut from its
    beginning on, and they count as start_iter does."""

    def __init__(self, history, epoch, step, size, drop_last, state):
        super().__init__(history, epoch, step, state)
        self._size, self._drop_last, self._stretch = size, drop_last, None

    def stretches(self):
        for self._stretch in super().stretches():
            self._check()
            yield self._stretch

    def stretches_of(self, epoch, first, last):
        for _ in self.stretches():
            units = self._units(epoch)
            if units:
                short = -units.start % self._size
                yield range(max(first, self._number(units.start)),
                            min(last + 1, self._number(units.stop + short)))

    def _check(self):
        """That it ends with a batch."""
        stretch, size = self._stretch, self._size
        units = self._units(stretch.end_epoch)
        if len(units) % size and self._exists(stretch.end_epoch, units.stop):
            raise ValueError(
                f"{len(units)} samples per rank were served, which batches of "
                f"--batch-size {size} do not give")

    def _units(self, epoch):
        """Those that the present stretch has in an epoch; of one that it goes
        through to the end, also what comes after that."""
        stretch, first, last = self._stretch, 0, 2**62
        if not stretch.carry and not _has(stretch, epoch):
            return range(0)
        if stretch.carry or epoch == stretch.begin_epoch:
            first = stretch.begin_step
        if stretch.carry or epoch == stretch.end_epoch:
            last = stretch.end_step
        return range(first, last)

    def _number(self, unit):
        """The batch that begins at a unit, or ends there if it is short."""
        return -(-unit // self._size)

    def _unit(self, epoch, step):
        """The first unit of a batch, as the present stretch cuts them."""
        return (step * self._size -
                -self._units(epoch).start % self._size)

    def batch(self, epoch, step, rank):
        first, found, began = self._unit(epoch, step), [], epoch
        for unit in range(first, first + self._size):
            one = super().batch(epoch, unit, rank)
            if one is None:
                break
            began = began if found else one[0]
            found += one[2]
        if not found or self._drop_last and len(found) < self._size:
            return None
        return began, 0, found

    def places(self, epoch, index, own=None):
        for place, source in super().places(epoch, index, own):
            short = -self._units(epoch).start % self._size
            step = (place.step + short) // self._size
            place.slot += place.step + short - step * self._size
            place.step = step
            if self.batch(epoch, step, place.rank):
                yield place, source

    def first(self):
        epoch, unit = super().first()
        return epoch, self._number(unit)
