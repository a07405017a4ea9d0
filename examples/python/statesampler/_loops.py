"""What a loop over a DataLoader has received.

A loop is everything that one sampler serves to one iterator of a DataLoader,
or to a plain `for`. A pass is one call of the sampler's __iter__; a loop has
several passes if something repeats the sampler. A unit is a step of the
library: one sample per rank, or one turn of RoundRobinBatchSampler."""

import collections
import itertools


def _left_of(iterator):
    """The number of items left in a list's iterator. __reduce__ gives the list
    and the position in it; at the end, an empty list."""
    _, (whole,), *at = iterator.__reduce__()
    return len(whole) - sum(at)


class Count:
    """Tells a loop how many batches of a DataLoader reached it, each of so many
    units. CountingDataLoader counts them; Watch finds out."""

    processes, reader = 1, None     # A framework's.

    def __init__(self, unit, drops_last):
        self.unit, self.drops_last = unit, drops_last
        self.returned = self.ahead = 0
        self.sees_the_end = True    # Then it calls end().
        self.loops = {}             # By sampler.

    def add(self, sampler, loop):
        self.loops[sampler] = loop

    def check(self, sampler):
        """Raises an error if a framework does the sampler's work again."""

    def units_per_batch(self, sampler):
        """The units in each batch; None if batches may differ."""
        return self.unit

    def asked(self):
        """The batch that is being asked for, from 0."""
        return self.returned

    def given(self):
        """The number of batches that were returned."""
        return self.returned

    def end(self):
        """The end was met; returns whether all loops are over."""
        return all([loop.end() for loop in list(self.loops.values())])


class Pass(itertools.chain):
    """The iterator that __iter__ returns: a chain of iterators over lists of
    indices or batches. It starts when the first index is asked for. torchdata
    calls its state_dict and load_state_dict."""

    @classmethod
    def over(cls, sampler):
        this = cls.from_iterable(cls._chunks(lambda: this))
        this.sampler, this.loop, this.literal = sampler, None, None
        this.read, this.chunk, this.stale = 0, iter(()), False
        return this

    @staticmethod
    def _chunks(me):
        """Yields iterators over the indices or batches of the pass."""
        this = me()
        this.sampler._begin(this)
        for units in this.source:
            this.read, this.chunk = this.read + len(units), iter(units)
            yield (this.chunk if this.loop.marks is None else
                   this.loop.marked(this.chunk))
            if this.stale and not this.refuse:
                return
            if this.stale:
                raise RuntimeError(
                    "this loop cannot continue: another loop over its "
                    "sampler, load_state_dict, set_start_iter or a change of "
                    "the epoch came in between")
        # After this rank's last sample all units are taken, including a last
        # one in which this rank has no sample.
        taken, this.read, this.chunk = this.read, this.total, iter(())
        this.loop.no_more(taken)

    def begin(self, loop, cursor):
        self.loop, self.before = loop, loop.taken()
        self.batch = loop.watch and loop.watch.asked()
        self.state, self.start = cursor.save(), cursor.step
        self.total = self.own = None
        if cursor.num_steps is not None:
            self.total = cursor.num_steps - self.start
            self.own = cursor.own_steps - self.start
        self.source = cursor.read(self.state)
        loop.passes.append(self)

    def taken(self):
        return self.read - _left_of(self.chunk)

    def ended(self):
        return self.total is not None and self.taken() >= self.own

    def give_up(self, refuse):
        """Ends the pass. If `refuse`, continuing it is an error, unless it had
        reached its end."""
        if not self.ended():
            self.stale, self.refuse = True, refuse
            collections.deque(self.chunk, maxlen=0)

    def state_dict(self):
        """The state after what was taken from this iterator."""
        return self.sampler._taken(self)

    def load_state_dict(self, state_dict):
        """Continues from a state. After one from the end of an epoch, this
        iterator is at its end."""
        if self.loop is not None:
            raise RuntimeError("a state must be loaded before the first index "
                               "is taken")
        self.literal = self.sampler._load(state_dict)


class Loop:
    """What one sampler serves to one DataLoader's iterator, or to a plain
    `for` (watch is None)."""

    def __init__(self, sampler, watch):
        self.sampler, self.watch = sampler, watch
        self.passes = []        # That of the last batch, and later ones.
        self.exhausted = False  # The sampler has nothing left.
        self.ends = 0           # How often the end was met.
        self.unit = watch and watch.units_per_batch(sampler)
        # If batches may differ: (batch, units taken before it). The list is
        # replaced, never changed, as another thread may ask for a state.
        self.marks = None if watch is None or self.unit else []
        if watch:
            watch.add(sampler, self)

    def taken(self):
        if not self.passes:
            return 0
        return self.passes[-1].before + self.passes[-1].taken()

    def marked(self, chunk):
        """Records where each batch begins, before its first unit is taken."""
        while _left_of(chunk) > 0:
            batch = self.watch.asked()
            if not self.marks or self.marks[-1][0] != batch:
                here, kept = (batch, self.taken()), self.batches()
                self.marks = [each for each in self.marks
                              if each[0] >= kept] + [here]
            yield next(chunk)

    def read_ahead(self):
        said = self.sampler.read_ahead
        return self.watch.ahead if said is None else said

    def batches(self):
        """The number of batches that reached the loop. With read_ahead it is
        negative at first."""
        return self.watch.given() - self.read_ahead() + self.ends

    def received(self):
        """Units that reached the loop."""
        if self.watch is None:
            return self.taken()
        if self.unit:
            # A rank may have one unit less than others.
            return min(self.batches() * self.unit, self.taken())
        batches, taken = self.batches(), self.taken()
        return next((units for batch, units in self.marks if batch >= batches),
                    taken)

    def ended_at_once(self):
        """Whether the loop ended without a batch, unseen by the watch."""
        return (self.exhausted and self.marks is not None and
                self.watch.fetched_nothing())

    def dropped_the_rest(self):
        """Whether BatchSampler has returned all its batches and drops the
        remaining samples."""
        return (self.unit is not None and self.watch.drops_last and
                not self.read_ahead() and
                (self.watch.given() + 1) * self.unit > self.passes[0].own)

    def drained(self):
        """Whether a batch came after the one for which all units were taken at
        once."""
        if not self.exhausted or not self.marks or len(self.marks) > 1:
            return False
        (batch, before), = self.marks
        return before == 0 and self.batches() > batch + 1

    def no_more(self, taken):
        """The sampler has nothing left, after this many units."""
        self.exhausted = True
        if self.watch is None:
            self.sampler._finish(self)
        elif not self.watch.sees_the_end:
            # The rest may be one more batch; the end comes after it.
            left = taken % self.unit > 0 and not self.watch.drops_last
            if left or not self.end():
                self.watch.see_the_end()
        # Otherwise the watch sees the end.

    def end(self):
        """The end was met; returns whether the loop is over. With read_ahead,
        the last batches are still on their way: each reaches the loop when the
        end is met again."""
        self.ends += 1
        over = self.ends >= (self.sampler.read_ahead or 1)
        if over:
            self.sampler._finish(self)
        return over
