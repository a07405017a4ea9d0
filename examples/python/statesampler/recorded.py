"""Sampler with a history of what was done to it: that of samplers.py, and
examples/extras/history.h. mix.py has Mix."""

import contextlib
import ctypes
import warnings

from . import samplers
from ._arguments import Fixed, flag, whole
from ._codes import ERANGE, ERANGE_BASE, ERANGE_SERVED, HISTORY_EFULL, kind
from ._library import HISTORY_BYTES, STATE_BYTES, TAILS, c, check, memory
from ._record import OwnRecord, earlier
from .factors import WEIGHTED, weighted
from .samplers import as_bytes, split

# What a place in an epoch does not know, and its history may.
_BEFORE_BASE = ERANGE_BASE, ERANGE_SERVED

# A history that has room for so many bytes, in each state, gets no more.
_MOST = 2**22


class Recorded(Fixed):
    """What is done to a sampler is noted in a history, which save() puts in
    front of the state. Subclasses define _c_init, _c_load and _c_seek,
    functions of the library, and _room, the bytes of a history without
    events."""

    _fixed = ("num_samples", "rank", "world_size", "batch_size", "weights",
              "seed", "stream", "epoch", "shuffle", "replacement", "chunk_size",
              "window", "partition", "tail", "drop_last")

    def _make(self, *made):
        super()._make(*made)
        self._begin_history()

    def _begin_history(self):
        """One that knows the present step and later ones."""
        self._history = memory(HISTORY_BYTES)
        self._bytes = memory(2 * self._room())
        check(self._c_init(self._history, self._bytes,
                           ctypes.sizeof(self._bytes), self._memory))

    def _grow(self):
        larger = memory(2 * ctypes.sizeof(self._bytes))
        c.history_move(self._history, larger, ctypes.sizeof(larger))
        self._bytes = larger

    def _note(self, function, *arguments):
        """Calls a function that does a thing and notes it. A history begins
        anew if it has become too large."""
        code = function(self._history, self._memory, *arguments)
        while code == HISTORY_EFULL:
            if ctypes.sizeof(self._bytes) >= _MOST:
                size = c.history_save(self._history)
                self._warn(f"has {size / 1e6:.1f} MB", self.step)
                self._begin_history()
            else:
                self._grow()
            code = function(self._history, self._memory, *arguments)
        check(code)

    def _warn(self, why, step):
        """Before anything is done, as a warning may be an error."""
        warnings.warn(f"the history {why}, and begins anew at step {step} "
                      f"of epoch {self.epoch}: keep a state from before that "
                      "for questions about earlier steps", stacklevel=4)

    def seek(self, step):
        step = whole("step", step, 0, 2**64)
        try:
            self._note(self._c_seek, step)
        except ValueError as error:
            # That of a Mix can only be read from its beginning on.
            if getattr(error, "code", 0) != ERANGE_BASE:
                raise
            self._at(step)      # The error again if it is not known at all.
            self._warn("began after this step", step)
            self._plain.seek(self, step)
            self._begin_history()

    def go_to(self, step):
        """As if it had gone there by itself: nothing is noted."""
        self._plain.seek(self, step)

    def save(self, history=True):
        """The history and the state. history=False: the state alone, as
        statesampler.h reads it."""
        if flag("history", history):
            return self.history() + self._bare()
        return self._bare()

    def history(self):
        return ctypes.string_at(self._bytes, c.history_save(self._history))

    def _bare(self):
        return super().save()

    def load(self, state):
        """Goes on where a state was saved, with the history of that one. A
        state without one knows its own step and later ones."""
        history, state = split(as_bytes(state))
        if history is None:
            self._load_bare(state)
            self._begin_history()
            return
        code = self._load_both(history, state)
        while code == HISTORY_EFULL:
            self._grow()
            code = self._load_both(history, state)
        check(code)

    def follow(self, other, state):
        """Goes on at a state to which another one has come with its history:
        unlike load() this does not go through all of that."""
        self._load_bare(state)
        self._history = type(other._history).from_buffer_copy(other._history)
        self._bytes = memory(ctypes.sizeof(other._bytes))
        c.history_move(self._history, self._bytes,
                       ctypes.sizeof(self._bytes))

    def _load_bare(self, state):
        super().load(state)

    def plain(self):
        """A copy without a history."""
        plain = object.__new__(self._plain)
        plain.__setstate__((self._plainly_made(), super().save()))
        return plain

    def _plainly_made(self):
        return self._made

    def _record(self):
        """What it has served."""
        return OwnRecord(self._history, self.epoch, self.step)

    def at(self, step, rank=None, epoch=None, straight=False):
        """The batch of any step of this epoch or another one, without moving:
        this rank's, or another one's. None past the end.

        Of steps to come it is what will be served as ranks and weights are
        now; of those that this run has passed what was served, the last time
        if there were several, on the ranks of that time. ValueError says why
        one was not served, or that it was before the first step that the state
        knows. straight=True asks what a run serves in this epoch that goes
        straight, as this sampler is now, whatever has been served.

        With tail="carry" steps count on through all epochs: epoch is then the
        one in which the step begins, which tells apart those of one number
        before and after a begin()."""
        step = whole("step", step, 0, 2**64)
        straight = flag("straight", straight)
        if epoch is not None:
            epoch = whole("epoch", epoch, 0, 2**64)
            if self._carries and not straight:
                return self._at_in(epoch, step, rank)
        here = epoch in (None, self.epoch)
        if straight and not here:
            raise ValueError("straight=True asks about the present epoch")
        if here:
            epoch = self.epoch
        passed = self._passed(epoch, step)
        if here and (straight or not passed):
            return super().at(step, rank)
        rank = self._any_rank(rank)
        if not passed:
            return self._record().to_come(epoch, step, rank)
        if here and self._knows(epoch, step, rank):
            # But a mix forgets at each load what was before.
            with contextlib.suppress(ValueError):
                return super().at(step, rank)
        return self._record().at(epoch, step, rank)

    def _knows(self, epoch, step, rank):
        """Whether it served a step since the last event, to this rank."""
        return rank < self._shape.world_size and c.history_reaches(
            self._history, epoch, step)

    def _at_in(self, epoch, step, rank):
        """With tail="carry", whose steps count on through all epochs, the one
        of this number to come, or the last one served, that begins in an epoch:
        after a begin() there may be several."""
        if step >= self.step:
            ahead = self.plain()
            ahead.seek(step)
            if ahead.epoch == epoch:
                return super().at(step, rank)
        record = self._record()
        served, found = record.begun(
            epoch, step, self._any_rank(rank))
        if found is not None:
            return found
        if step < self.step and not served:
            raise ValueError(record.why(epoch, step))
        raise ValueError(f"step {step}: none begins in epoch {epoch}. With "
                         'tail="carry" steps count on through all epochs: '
                         "leave out epoch=, or give the one in which the step "
                         "begins")

    def _any_rank(self, rank):
        """A rank, perhaps of another number of them; this one if it is
        None."""
        return (self._shape.rank if rank is None else
                whole("rank", rank, 0, 2**32))

    def _passed(self, epoch, step):
        """Whether a step is before the present one."""
        if epoch == self.epoch or self._carries:
            return step < self.step
        return earlier(epoch, self.epoch)

    def locate(self, index, straight=False):
        """The first place in this epoch, in a Mix in its dataset's present
        epoch, at which a sample was or will be served: a tuple of step, rank,
        slot and position, with at(step, rank)[slot] == index: so of a step that
        was served again the last time counts, as in at(). If its own place was
        skipped, but it comes as padding, the position is that of the padding,
        above those of all samples. ValueError says why there is none.
        straight=True is as in at()."""
        index = whole("index", index, 0, 2**64)
        straight = flag("straight", straight)
        if straight:
            return self._straight_on(self._own, index)
        record = self._record()
        served, again = self._served(record, index)
        if served:
            return served
        try:
            place = self._straight_on(self._own, index)
            if not self._passed(self.epoch, place.step):
                return place
        except ValueError as error:
            code = getattr(error, "code", 0)
            if code not in _BEFORE_BASE and not (
                    again and kind(code) == ERANGE):
                raise
        try:
            return self._straight_on(self._padded, index)
        except ValueError as error:
            if kind(getattr(error, "code", 0)) != ERANGE:
                raise
        if again:
            raise ValueError(
                f"sample {index}: it was in step {again.step} of epoch "
                f"{self.epoch}, which is served again without it")
        epoch, step = record.first()
        raise ValueError(
            f"sample {index}: not served in epoch {self.epoch}, since step "
            f"{step} of epoch {epoch}, from which on it is known")

    def _straight_on(self, find, index):
        """Where a run that goes straight on serves a sample."""
        return self._located(find, index)

    def _served(self, record, index):
        """The first place of a sample in the steps that this run has passed, by
        what at() answers for them; and the last one of which at() does not
        know, as the step was served again later, or is to come again."""
        epoch, again, found = self.epoch, None, []
        own = self._own_epoch(index)
        for _ in record.stretches():
            for place in [*found]:
                if record.serves(epoch, place.step):
                    again = place
                    found.remove(place)
            for place, _ in record.places(epoch, index, own):
                place = samplers.Place(place.step, place.rank, place.slot,
                                       place.position)
                if self._passed(epoch, place.step):
                    found.append(place)
                else:
                    again = place
        return found[0] if found else None, again


class Sampler(Recorded, samplers.Sampler):
    __doc__ = samplers.Sampler.__doc__ + """

    weights: how often each sample comes in an epoch, as a list of num_samples
        numbers: one with 2.5 comes twice or three times, and in 64 epochs 160
        times. An epoch has as many positions as the weights sum to, rounded;
        they are scaled to that. With replacement=True each of num_samples
        positions is an independent draw, and weights say how likely each
        sample is. Both are the same on any number of ranks. tail="carry" has
        no epochs to weigh."""

    _plain = samplers.Sampler
    _c_init, _c_seek = c.history_init, c.history_seek
    _carries = property(lambda self: TAILS[self._desc.tail] == "carry")

    def __init__(self, num_samples, rank=None, world_size=None, batch_size=1,
                 *, weights=None, **options):
        if weights is None:
            super().__init__(num_samples, rank, world_size, batch_size,
                             **options)
            return
        desc, = samplers.described([num_samples], rank, world_size, batch_size,
                                   [options.pop("stream", 0)], options)
        self._make(*weighted(desc, weights))

    def _make(self, desc, factors=None):
        super()._make(desc)
        self._made, self._factors = (desc, factors), factors

    def _plainly_made(self):
        if self._factors:
            raise ValueError("a Ledger has no weights of samples: give it a "
                             "Sampler without, or a Mix with weights")
        return self._made[:1]

    def _room(self):
        return STATE_BYTES + 104

    def _load_both(self, history, state):
        return c.history_load(self._history, self._memory, history,
                              len(history), state, len(state))

    def _own_epoch(self, index):
        return None

    def begin(self, epoch):
        self._note(c.history_begin, whole("epoch", epoch, 0, 2**64))

    def resize(self, num_samples):
        if self._factors:
            raise ValueError("a Sampler with weights has no resize")
        super().resize(num_samples)
        self._made = *self._made, None

    def _resize(self, num_samples):
        self._note(c.history_resize, num_samples)

    # --- with weights --------------------------------------------------------

    def _mapped(self, batch, epoch):
        return self._factors.map(self._memory, epoch, batch)

    def __next__(self):
        batch = super().__next__()
        return self._mapped(batch, self.epoch) if self._factors else batch

    def at(self, step, rank=None, epoch=None, straight=False):
        batch = super().at(step, rank, epoch, straight)
        if not self._factors:
            return batch
        return self._mapped(batch, self.epoch if epoch is None else epoch)

    def padding(self, step, rank=None):
        """How many samples of a batch at(step, rank) are repeats that fill an
        epoch's last step: the last ones. Also of one that this run has served,
        on the ranks of that time; ValueError as at() says."""
        step, epoch = whole("step", step, 0, 2**64), self.epoch
        if not self._passed(epoch, step):
            return super().padding(step, rank)
        rank = self._any_rank(rank)
        if self._knows(epoch, step, rank):
            return super().padding(step, rank)
        return self._record().padding(epoch, step, rank)

    def locate(self, index, straight=False):
        if not self._factors:
            return super().locate(index, straight)
        locate = super().locate
        return self._factors.locate(
            index, self.epoch, lambda position: locate(position, straight))

    def save(self, history=True):
        state = super().save(history)
        return WEIGHTED + state if self._factors else state

    def load(self, state):
        state = as_bytes(state)
        named = state.startswith(WEIGHTED)
        if named != bool(self._factors):
            raise ValueError("the state is of a Sampler " +
                             ("with weights" if named else "without weights"))
        super().load(state[len(WEIGHTED):] if named else state)
