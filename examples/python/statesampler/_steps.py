"""What asks a sampler by the number of a batch in its present epoch."""

import functools
import os
import threading

from ._arguments import whole


class Lock:
    """An RLock, which is a new one in a forked process: a thread that held it
    then is not there."""

    def __init__(self):
        self._process, self._lock = os.getpid(), threading.RLock()

    def __enter__(self):
        if self._process != os.getpid():
            self.__init__()
        self._lock.acquire()

    def __exit__(self, *_):
        self._lock.release()


def locked(method):
    """Locks the methods that move the cursor, as any thread may ask for a
    state."""
    @functools.wraps(method)
    def locked(self, *arguments, **options):
        with self._lock:
            return method(self, *arguments, **options)
    return locked


class Steps:
    """For samplers with a _cursor, a _lock and _refuse_batches."""

    @locked
    def at(self, step, rank=None):
        """The indices of any batch of this epoch, of this rank or another, as
        a list; None past the end. Batches count as start_iter does, and a last
        one that is not full is one of them. Those before a loaded state are
        taken to have this batch_size; they raise ValueError if that cannot be,
        or if set_start_iter refuses them."""
        cursor, *asked = self._asked_for(step, rank)
        return cursor.batch(*asked)

    def _asked_for(self, step, rank):
        """A cursor in the epoch, the units of a batch, and its rank."""
        step = whole("step", step, 0, 2**62)
        if rank is not None:
            rank = whole("rank", rank, 0, self.num_replicas)
        cursor = self._here()
        first, unit = self._place(step, cursor)
        return cursor, first, first + unit, rank

    @locked
    def padding(self, step, rank=None):
        """How many samples of at(step, rank) are repeats, which fill an epoch's
        last step: the last ones. Leave them out of an Audit, or of an
        evaluation."""
        cursor, *asked = self._asked_for(step, rank)
        return cursor.repeats(*asked)

    @locked
    def locate(self, index):
        """The first place in this epoch at which a sample is served, by any
        rank: a tuple of step, rank, slot and position, with
        at(step, rank)[slot] == index. ValueError says why there is none."""
        cursor = self._here()
        place, (unit, short) = cursor.locate(index), self._batches(cursor)
        step = (place.step + short) // unit
        first, _ = self._place(step, cursor)
        return place._replace(step=step, slot=place.step - first + place.slot)

    def _place(self, step, cursor):
        """The first unit of a batch, and how many it has."""
        self._refuse_batches()
        unit, short = self._batches(cursor)
        first = unit * step - short
        if first < self._known(unit, cursor):
            raise ValueError("this was before ranks or batch_size changed: "
                             "load an earlier state")
        return first, unit

    def _batches(self, _):
        """Units per batch, and by how many the first batch of the epoch of a
        cursor counts as shorter."""
        return 1, 0

    def _known(self, *_):
        """The first unit whose batch is known."""
        return 0

    def _after(self, batches, what, cursor=None):
        """A cursor after so many batches of the epoch of a cursor, by default
        the present one."""
        self._refuse_batches()
        cursor = cursor or self._here()
        (unit, short), end = self._batches(cursor), cursor.num_steps
        batches = whole(what, batches, 0, 2**62)
        units = max(unit * batches - short, 0)
        if end is not None:
            most = -(-(end + short) // unit)
            if batches > most:
                raise ValueError(f"{what} should be at most {most}, but got "
                                 f"{what}={batches}")
            units = min(units, end)
        try:
            return cursor.copy_at(units)
        except ValueError as error:
            raise ValueError(f"{what}={batches}: {error}") from None

    @property
    @locked
    def start_iter(self):
        """How many batches of this epoch were received; with tail="carry",
        since epoch 0. (VISSL's name.)"""
        self._settle_here()
        self._settle_whole()
        self._refuse_batches()
        cursor = self._here()
        unit, short = self._batches(cursor)
        return -(-(cursor.step + short) // unit)

    @locked
    def set_start_iter(self, start_iter):
        """The next loop begins at this batch of the current epoch. (For
        another epoch, call set_epoch first.) Batches before a loaded state
        raise ValueError if the state is from another number of ranks, and in
        a RoundRobinBatchSampler or PackedBatchSampler always: load an earlier
        state instead."""
        cursor = self._after(start_iter, "start_iter")
        self._end_what_was_left()
        begun = min(cursor, self._cursor, key=lambda each: each.step)
        with self._steered(lambda run: run.seek(cursor.step), begun.save()):
            self._warn_of_a_look(4)
            anew = self._anew
            self._give_up()
            self._cursor = cursor
        self._loaded = self._loaded[0], min(self._loaded[1], cursor.step)
        self._anew = anew and (anew[0], min(anew[1], cursor.step))
        self._share()
