"""Where a loop over a sampler began, how far it is, and its epoch in workers.

A unit is a step of the library: one sample per rank, or one turn of
RoundRobinBatchSampler. An iteration is one call of a sampler's __iter__."""

import ctypes
import itertools
import mmap
import operator
import os

import torch


class Begun:
    """The place in an epoch where a loop began."""

    told = None     # The epoch that the sampler has told since then.

    def __init__(self, cursor):
        self.state, self.start = cursor.save(), cursor.step
        self.epoch, end = cursor.epoch, cursor.num_steps
        # Units that are left of the epoch, for all ranks and for this one. A
        # rank may have one less than others.
        self.total = self.own = None
        if end is not None:
            self.total = end - self.start
            self.own = cursor.own_steps - self.start


class Loop(Begun):
    """A loop over a StatefulLoader, which counts the batches that it returns.
    `takes` knows how many units those had, and `alive` whether the loop may go
    on."""

    counts = True

    def __init__(self, cursor, takes, alive):
        super().__init__(cursor)
        self.takes, self.alive = takes, alive
        self.plain = takes.plain
        self.size = getattr(self.plain, "batch_size", None)
        self.over = False       # It may not go on.
        self.done = False       # It had all, so that its end may come.
        self.named = False      # After all, set_epoch said this epoch. So if
                                # it is kept, the next one begins where it did.
        self.batches = 0        # Those that were returned.
        self.failed = 0         # Those that raised an exception since then.
        self.saved = None       # After how many of them a state was asked for.
        self.room = takes.unit  # It may take less than it counts, by less.
        self.smooth = False     # The last batch came, and was no first one.
        self.asking = False     # The loader inside is being asked for a batch.
        self.took_more = False  # Than the batches have, and those ahead.
        self.iteration = None

    def goes_on(self):
        return not self.over and self.alive()

    def received(self):
        units = self.takes.after(self.batches)
        return units if self.total is None else min(units, self.total)

    def begins_again(self):
        """Whether the next loop begins where this one did. One that was left
        has ended, whatever it called."""
        return self.named and self.goes_on()

    def waits(self):
        """Whether it was asked for its first batch, and the sampler was not
        asked for anything yet: then a loader inside may begin."""
        return self.goes_on() and self.asking and self.iteration is None

    def complete(self):
        """Whether the whole epoch was received."""
        return (self.dropped_the_rest() or
                self.has_taken_all() and self.takes.held(self.batches) == 0)

    def has_taken_all(self):
        """Whether the batch sampler took the whole epoch for the batches."""
        return self.own is not None and self.received() >= self.own

    def dropped_the_rest(self):
        """Whether what is left makes no batch."""
        return self.drops(self.received())

    def drops(self, units):
        """Whether what is left after so many units makes no batch."""
        return self.own is not None and self.takes.drops(self.own, units)

    def broke_off(self):
        """Whether a failure ended it, and not its end."""
        return self.failed > 0 and not (
            self.iteration is not None and self.iteration.drained)

    def refuse_size(self):
        """Batches are not cut as they were when the loop began. Some may have
        been taken before that, and nobody knows which."""
        self.over = True
        raise RuntimeError(
            f"the batch_size was {self.size} when this loop began, and is "
            f"{self.plain.batch_size} now: set it between loops, or use a batch "
            "sampler of your own in CountedBatchSampler")

    def check_batch(self):
        """Of a first batch, one after a failure, which it counts, and each
        one of items=."""
        if self.failed:
            self.room = 1
        if self.iteration is None and not self.takes.elsewhere and (
                self.takes.counted is None):
            raise RuntimeError(
                "a batch came for which this loop has not asked the sampler: "
                "the loader's iterator was made before, as by YOLO's "
                "InfiniteDataLoader (use persistent_workers=True instead), or "
                "a worker process iterates a copy of the sampler")
        now = self.batches + self.failed + 1
        self.check_items(now)
        if not self.is_not_seen():
            self.took_more = self.took_more or self.takes_more(now)
            # What skips takes less for the last item of a batch, as for the
            # last of any other.
            less = self.takes.after(now) - self.iteration.taken()
            self.room = min(self.room, max(less, 0) + 1)
        self.batches, self.failed = now - 1, 0
        self.smooth = not self.takes.told

    def check_items(self, batches):
        """That as much was taken of the sampler as so many batches are said to
        have, but for the end of the last one, as where something deals out
        every second sample."""
        takes = self.takes
        if self.is_not_seen():
            return
        units, taken = takes.after(batches), self.iteration.taken()
        if taken + self.room <= units and (
                self.own is None or taken < takes.whole(self.own)):
            raise RuntimeError(
                f"the loader returned {batches} batches of {takes.unit}, but "
                f"took only {taken} of the sampler for them: pass "
                "StatefulLoader the right items=; a batch that fails must take "
                "as many")
        if takes.far is not None and (
                taken > max(2 * units, units + takes.unit * takes.far)):
            raise RuntimeError(
                f"the loader took {taken} of the sampler for {batches} batches "
                f"of {takes.unit}: pass StatefulLoader the right items=")

    def is_not_seen(self):
        """Whether what was taken cannot be compared with a number of units."""
        return (self.iteration is None or self.takes.elsewhere or
                self.takes.counted is not None)

    def takes_more(self, batches):
        """Whether more was taken than so many batches have, and those ahead:
        an error for who asks where the loop is."""
        takes = self.takes
        return takes.ahead is not None and self.iteration.taken() > (
            takes.after(batches + takes.ahead))

    def check_taken(self):
        """That the batches were of the sampler: at least one."""
        if self.batches and self.own != 0 and self.iteration is None and (
                not self.takes.elsewhere):
            raise RuntimeError(
                f"the loader returned {self.batches} batches, and none was of "
                "this sampler: pass StatefulLoader and CountedBatchSampler the "
                "one that is in it. (If it comes later, begin(epoch) begins "
                "anew.)")

    def check_whole(self):
        """That the batches have what was taken, so that there is a state."""
        self.check_taken()
        self.takes.check(self.batches)
        more = self.took_more
        if not self.asking and not self.is_not_seen():
            # Else it is taking for the next one.
            self.check_items(self.batches)
            more = more or self.takes_more(self.batches + self.failed)
        self.check_cut()
        if more:
            raise RuntimeError(
                f"more was taken of the sampler than the items={self.takes.unit}"
                " of each batch: pass StatefulLoader the right items=. If what "
                "is between holds samples back, a run that loads a state would "
                "not get them: pass the DataLoader batch_sampler="
                "CountedBatchSampler(BatchSampler(yours, batch_size, "
                "drop_last), sampler) instead")

    def check_cut(self):
        """That a run which goes on here cuts batches as this one does."""
        takes, units = self.takes, self.received()
        if takes.told and takes.drops_last and units % takes.cut and (
                self.own is not None and units < takes.whole(self.own)):
            raise RuntimeError(
                f"amid a batch of {takes.cut} of a DataLoader with drop_last, a "
                "run that loads a state would drop other samples: save after "
                "all parts of one")

    def check_named(self):
        """That one knows whether the epoch begins again, so that there is a
        state."""
        if self.begins_again():
            raise RuntimeError(
                f"set_epoch({self.epoch}) came after the last batch of epoch "
                f"{self.epoch}, in its loop: nobody knows whether the next loop "
                "begins it again. Call set_epoch before a loop, or "
                f"begin({self.epoch}) here to begin it again")

    def check_end(self):
        """Whether so many batches can be those of the sampler."""
        self.check_taken()
        if self.own is None or self.takes.elsewhere:
            return
        if self.takes.is_off(self.own, self.batches + self.failed):
            raise RuntimeError(
                f"the loader returned {self.batches} batches"
                f"{self.takes.instead(self.own, self.ended_early())} between "
                "leave out batches, or end early, as zip() does with a shorter "
                "loader, and an iterator in its second loop. (To end an epoch "
                "early, leave the loop, and call set_epoch.)")

    def ended_early(self):
        """Whether the sampler had more than was taken."""
        return self.iteration is None or not self.iteration.has_all()


class Iteration:
    """How much of a sampler something has taken since it called iter()."""

    def __init__(self, begun):
        self.begun, self.read, self.chunk = begun, 0, iter(())
        # If its units are batches: those of the chunk, how many of them are
        # counted, and their samples.
        self.batches, self.counted, self.samples = (), 0, 0
        self.drained = self.stale = False

    def taken(self):
        return self.read - operator.length_hint(self.chunk)

    def taken_samples(self):
        """The same in samples, of a sampler that gives batches."""
        here = len(self.batches) - operator.length_hint(self.chunk)
        self.samples += sum(map(len, self.batches[self.counted:here]))
        self.counted = here
        return self.samples

    def has_all(self):
        own = self.begun.own
        return own is not None and self.taken() >= own

    def give_up(self):
        """Going on is an error, but at the end."""
        if not self.has_all():
            self.stale = True
            for _ in self.chunk:
                pass


def iterate(sampler):
    """An iterator over what is left of a sampler's epoch. It begins when the
    first item is asked for."""
    return itertools.chain.from_iterable(_chunks(sampler))


def _chunks(sampler):
    this, source = sampler._begin()
    for units in source:
        if sampler._gives_batches:
            this.taken_samples()
            this.batches, this.counted = units, 0
        this.read, this.chunk = this.read + len(units), iter(units)
        yield this.chunk
        if this.stale:
            raise RuntimeError(
                "this loop cannot continue: another loop over its sampler, "
                "load_state_dict, set_start_iter, resize, weigh or a change of "
                "the epoch came in between")
    sampler._drained(this)


class SharedEpoch:
    """What a sampler shares with its copies in worker processes: an epoch, and
    whether a worker has loops of its own. Both are in memory that forked
    workers share: unlike torch's it needs no file. torch's is added for spawned
    workers, which get it by pickling."""

    def __init__(self):
        self._pages = [memoryview(mmap.mmap(-1, 16)).cast("q")]
        self._process = os.getpid()

    def __getstate__(self):
        if len(self._pages) == 1:
            with torch.inference_mode(False):
                self._pages.append(
                    torch.tensor([self._pages[0][0], 0]).share_memory_())
        return {"_pages": self._pages[1:], "_process": self._process}

    def in_worker(self):
        """Whether this is a copy in a worker process."""
        return (torch.utils.data.get_worker_info() is not None and
                self._process != os.getpid())

    @property
    def epoch(self):
        return int(self._pages[0][0]) % 2**64

    def tell(self, epoch):
        if self.in_worker():    # This worker has loops of its own.
            for page in self._pages:
                page[1] = 1
            self.__init__()
        for page in self._pages:
            page[0] = ctypes.c_int64(epoch).value

    @property
    def others(self):
        """Whether a worker has loops of its own."""
        return any(page[1] for page in self._pages)

    def forget(self):
        """That it had some."""
        for page in self._pages:
            page[1] = 0
