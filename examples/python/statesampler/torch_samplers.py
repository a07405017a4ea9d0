"""The samplers for torch's DataLoader. The manual is in README.md."""

import contextlib
import functools
import itertools
import multiprocessing.context
import warnings
from collections.abc import Mapping

import torch
import torch.distributed as dist
from torch.utils.data import ConcatDataset, DistributedSampler
from torch.utils.data import Sampler as _TorchSampler

from ._arguments import (Fixed, choice, flag, items, length_if_any, length_of,
                         other_fingerprint, own_fingerprint, shown, text_of,
                         whole, whole_batch_size, world)
from ._cursors import MixCursor, SamplerCursor, WeightedCursor, state_of
from ._loops import Begun, Iteration, Loop, SharedEpoch, iterate
from ._past import Past
from ._steps import Lock, Steps, locked

_CHANGED = ["refuse", "next_epoch", "accept"]


def no_sampler(init):
    """For the __init__ of batch samplers: Lightning and others try to rebuild
    them around another sampler, with arguments of BatchSampler's, and a dataset
    is given by mistake. _takes is what they take instead."""
    @functools.wraps(init)
    def checked(self, *arguments, **options):
        first = *arguments[:1], options.get("lengths"), options.get("groups")
        for given in *first, options.get("sampler"):
            if isinstance(given, _TorchSampler):
                raise TypeError(
                    f"{self._owner} takes {self._takes}, not a "
                    f"{type(given).__name__}: it distributes to the ranks "
                    "itself. (Lightning: "
                    "Trainer(use_distributed_sampler=False))")
        for given in first:
            # A dict's or set's order is not the dataset's; and list() ends
            # only if __getitem__ raises IndexError.
            if isinstance(given, (Mapping, set, frozenset)) or (
                    hasattr(given, "__getitem__") and not (
                        hasattr(given, "__iter__") or
                        hasattr(given, "tolist"))):
                raise ValueError(
                    f"{self._owner} takes {self._takes} as a list, not a "
                    f"{type(given).__name__}. (A dataset is for the "
                    "DataLoader.)")
        init(self, *arguments, **options)
    return checked


class _Resumable(Fixed, Steps):
    """A cursor (a Sampler or a Mix) and the current loop. Between loops the
    cursor stands where the next loop begins. While a StatefulLoader counts a
    loop, settling moves the cursor to the place after what it returned. In a
    loop that nothing counts it stays, so that the next one begins the epoch
    again; of what has no end, it goes with all that was taken. Subclasses
    define _owner, their name; _cursor; and _length."""

    _gives_batches = False  # Else indices.
    _described = None       # How many samples it has a length or group of.
    _dataset_is = None      # The attribute that is its dataset, if it has one,
    _length_then = None     # and how long that was when this was made.
    _dealt = True           # accelerate may deal its batches to processes.
    _batch_said = None      # How many indices a loader's batch has, if said.
    _varies = False         # Those of its StatefulLoader may be of any size.
    _fixed = ("num_replicas", "rank", "shuffle", "seed", "drop_last", "tail",
              "partition", "chunk_size", "window")
    _last = "_cursor"
    _past = None            # What was done to the run, where that is kept.
    _sizes = frozenset()    # Those of the run's batches, as Takes.batch.
    _measured = False       # What iterates it only asks for a length.

    def __init__(self, num_replicas, rank, shuffle, seed, drop_last,
                 read_ahead, changed, fingerprint, dataset=None):
        self.num_replicas, self.rank = world(num_replicas, rank)
        self._asked = num_replicas, rank
        self.shuffle, self.seed = flag("shuffle", shuffle), seed
        self.drop_last = flag("drop_last", drop_last)
        self._lock = Lock()
        self._loop = None       # A StatefulLoader's, the current one or left.
        self._alone = None      # The iteration of a loop that nothing counts.
        self._uncounted = None  # Where the first loop did that nothing counts,
                                # since the place was known.
        self._begun = None      # Where the last loop began.
        self._done = None       # The loop that has ended an epoch, if nothing
                                # has come since.
        self._named = 0         # The epoch that was said last.
        self._loader = None     # A StatefulLoader, weakly.
        self._loaded = 0, 0     # The epoch and step of the loaded state.
        self._anew = None       # Those from which batches count instead, as
                                # batch_size was set there.
        if read_ahead is not None:
            self.read_ahead = read_ahead
        self.fingerprint = (own_fingerprint(dataset) if fingerprint is None
                            else fingerprint)
        self.changed = changed
        self._shared = SharedEpoch()    # That of the current loop.

    def _checked(self, name, value):
        if name == "fingerprint":
            return text_of(value)
        if name == "changed":
            return _CHANGED[choice("changed", value, _CHANGED)]
        if name == "batch_size" and value is not None:
            return whole_batch_size(value)
        if name == "read_ahead":
            raise ValueError(
                "read_ahead is no more needed: loop over StatefulLoader(loader,"
                " sampler), around all that reads ahead")
        return value

    def __iter__(self):
        return iterate(self)

    def _turn_over(self):
        self._cursor.turn_over()
        self._share()

    def _share(self):
        """Tells the workers the epoch of the cursor."""
        self._shared.tell(self._cursor.epoch)

    def _check_dataset(self, dataset):
        """Raises an error if samples of a DataLoader's would never come, or if
        it has not all."""
        length = length_if_any(dataset)
        if None not in (self._described, length) and (
                self._described != length):
            raise ValueError(
                f"{self._owner} takes {self._takes}: it has "
                f"{self._described}, but the dataset has {length}")

    def _check_own_dataset(self):
        """The same of the one it was made of, which may change in place. After
        a resize the old one, or the new."""
        dataset = getattr(self, self._dataset_is or "", None)
        if length_if_any(dataset) != self._length_then:
            self._check_dataset(dataset)

    @locked
    def _open(self, takes, alive):
        """Begins a loop of a StatefulLoader. None if it is inside another one
        over this sampler, which counts."""
        if self._shared.in_worker():
            self._loop = None
        before = self._loop
        if before is not None and before.waits():
            return None
        self._compare_ranks()
        self._check_own_dataset()
        self._close()
        self._warn_of_a_look(6)
        if self._anew:
            self._anew = self._cursor.epoch, self._cursor.step
        self._shared.forget()
        loop = self._begun = Loop(self._cursor, takes, alive)
        self._loop, self._done = loop, None
        self._varies = takes.counted is not None
        self._sizes |= {self._batch_said if takes.batch is None else
                        takes.batch}
        self._share()
        return loop

    def _warn_of_a_look(self, level):
        """Where the next loop begins the present epoch, which nobody named."""
        self._refuse_a_look()
        first, here = self._uncounted, self._cursor.epoch
        self._note_uncounted()
        self._uncounted = None      # A warning may be an error, but once.
        if first and here != first.epoch and first.own:
            warnings.warn(
                "a loop that nothing counts has taken the rest of epoch "
                f"{first.epoch}, and this one begins epoch {here}: if that was "
                f"a look at batches, call begin({first.epoch}) before this "
                "loop, or look at those of a copy", stacklevel=level)

    def _refuse_a_look(self):
        """An error if a loop that nothing counts has taken all that was left of
        the epoch at the loaded state. Workers take ahead: so nobody knows
        whether that was received, or only its first batch."""
        epoch, step = self._loaded
        if self._uncounted and step > 0 and self._cursor.epoch != epoch and (
                (self._uncounted.epoch, self._uncounted.start) == (epoch, step)):
            raise RuntimeError(
                f"a loop that nothing counts has taken the rest of epoch {epoch},"
                " amid which this sampler has loaded a state: load the state "
                "again; to look at batches, iterate a copy of the sampler")

    @locked
    def _begin(self):
        """Begins an iteration, in the loop that is counted, or alone. Returns
        it, and the lists that it gives."""
        if self._measured:
            cursor = self._cursor.after(self._cursor.save())
            cursor.begin(cursor.epoch)
            this = Iteration(Begun(cursor))
            return this, cursor.read(this.begun.state)
        if self._shared.in_worker():
            self._loop = self._loader = None
        loop = self._loop
        if loop is not None and loop.goes_on():
            if loop.iteration is not None:
                raise RuntimeError(
                    "the loop over StatefulLoader goes on, and something "
                    "begins to iterate its sampler again: iterate a copy of "
                    "the sampler, and leave it to the loop to begin an epoch")
            this = loop.iteration = Iteration(loop)
        else:
            self._compare_ranks()
            self._check_own_dataset()
            self._refuse_two_skips()
            self._close()
            this = self._alone = Iteration(Begun(self._cursor))
            self._begun, self._done = this.begun, None
            self._uncounted = self._uncounted or this.begun
            self._share()
        return this, self._cursor.read(this.begun.state)

    @locked
    def _len_of(self, thing):
        """len() of what may iterate this sampler to know it. It then gives a
        whole epoch, and stays where it is."""
        before, self._measured = self._measured, True
        try:
            return len(thing)
        finally:
            self._measured = before

    @property
    def _iteration(self):
        """That of the present loop; None before it has begun."""
        return self._alone if self._loop is None else self._loop.iteration

    def _taken(self):
        """How much was taken since the present loop began."""
        this = self._iteration
        return 0 if this is None else this.taken()

    def _taken_samples(self):
        """The same in samples."""
        this = self._iteration
        if this is None:
            return 0
        return this.taken_samples() if self._gives_batches else this.taken()

    def _beyond(self):
        """How much other ranks have beyond this one's, once it found its
        end."""
        this = self._iteration
        if this is None or not this.drained or this.begun.own is None:
            return 0
        return this.begun.total - this.begun.own

    def _refuse_two_skips(self):
        """An error if a loop that is not counted begins amid an epoch though a
        StatefulLoader was made to count, as where a framework skips."""
        loader = self._loader and self._loader()
        if loader is not None and 0 < self._loaded[1] == self._cursor.step:
            raise RuntimeError(
                "this sampler has loaded a state from amid an epoch, and a "
                "loop over it begins that does not come from its "
                "StatefulLoader. If a framework makes its own loader to skip "
                "batches, load the state or let it skip, never both; to look "
                "at batches, iterate a copy of the sampler")

    def _drained(self, this):
        """An iteration has given everything."""
        with self._lock:
            this.drained = True
            if this is self._alone:
                # What it gave may not have arrived: the workers' epoch stays.
                self._alone = None
                self._cursor.turn_over()

    def _compare_ranks(self):
        """Raises an error if samples would be distributed to the ranks twice,
        or by nobody."""
        if dist.is_available() and dist.is_initialized():
            found = world(*self._asked)
            if found != (self.num_replicas, self.rank):
                raise RuntimeError(
                    f"this sampler was made for rank {self.rank} of "
                    f"{self.num_replicas}, but torch.distributed says this is "
                    f"rank {found[1]} of {found[0]}: initialise "
                    "torch.distributed before making the sampler, or pass "
                    "num_replicas and rank")

    def _close(self, again=False):
        """Ends a loop that was left, and moves the cursor to where the next one
        begins: after a whole epoch at the next one, at a state that was saved
        after the last batch there, and otherwise where this loop began. With
        `again` it is that place."""
        self._settle()
        loop, alone = self._loop, self._alone
        if loop is not None and loop.total is None:
            loop.check_whole()  # What is held back would never come.
        elif loop is not None:
            loop.check_taken()
        self._loop = self._alone = None
        if loop is not None:
            again = again or loop.begins_again()
            loop.over, over = True, loop.complete()
            # What is being asked for a batch has begun another loop inside.
            loop.done = over and not loop.asking
            if over and not again:
                self._done = loop
                self._turn_over()
                return
            taken = loop.has_taken_all()
            if loop.total is not None and (
                    again or loop.saved != loop.batches):
                with self._steered(lambda run: run.seek(loop.start),
                                   loop.state):
                    self._cursor.seek(loop.start)
            if taken and not again:
                warnings.warn(
                    "a loop was left whose batch sampler had taken all of "
                    f"epoch {loop.epoch} and held back samples: the next loop "
                    "begins this epoch again. If what it held back makes no "
                    "batch, call set_epoch before the next loop", stacklevel=4)
        elif alone is not None:
            if alone.has_all() and not again:
                self._turn_over()
            alone.give_up()
        if self._uncounted and self._cursor.num_steps is None:
            self._uncounted = None
            self._sizes |= {self._batch_said}
            warnings.warn(
                "a loop over this sampler was left that nothing counted. As it "
                "has no end, the next loop goes on after all that was taken, "
                "which is more than was received if workers or threads take "
                "ahead: loop over StatefulLoader(loader, sampler)",
                stacklevel=5)

    def _give_up(self):
        """Ends the current loop; continuing it is an error."""
        loop, alone = self._loop, self._alone
        self._loop = self._alone = None
        self._uncounted = self._anew = self._done = None
        if loop is not None:
            loop.over = True
        if alone is not None:
            alone.give_up()

    def _settle(self):
        """Moves the cursor to the place after what the loop received. Of what
        has no end and is not counted, that is what was taken."""
        loop, alone = self._loop, self._alone
        if loop is not None:
            self._cursor.seek(loop.start + loop.received())
        elif alone is not None and alone.begun.total is None:
            self._cursor.seek(alone.begun.start + alone.taken())

    def _settle_here(self):
        """The same for whoever asks where the loop is, or moves it."""
        if self._uncounted or self._shared.others:
            raise RuntimeError(
                "nothing counts the batches of the loop over this sampler, so "
                "it does not know where the loop is: loop over "
                "StatefulLoader(loader, sampler), around all that is between "
                "(or CountingDataLoader), or say state_dict(epoch=, batches=)")
        if self._loop is not None:
            self._loop.check_named()
        self._settle()

    def _left_at_end(self):
        """Whether the loop was left after its epoch's last batch."""
        loop = self._loop
        return loop is not None and not loop.goes_on() and loop.complete()

    def _here(self):
        """A cursor at the place that questions are about: where the loop is,
        and once it was left after its epoch's last batch, the start of the next
        epoch."""
        self._settle()
        return self._after_all() if self._left_at_end() else self._cursor

    def _after_all(self):
        """A cursor at the epoch that comes after the loop's."""
        begun = self._alone.begun if self._loop is None else self._loop
        cursor = self._cursor.copy_at(begun.start + begun.total)
        cursor.turn_over()
        return cursor

    @locked
    def _finish(self, loop):
        """A counted loop has ended: the next epoch begins."""
        if self._loop is loop:
            self._settle()
            self._loop, self._done = None, loop
            if loop.total is not None:
                self._cursor.seek(loop.start + loop.total)
                self._turn_over()

    def _as_dict(self, state, cursor=None, batches=None):
        """A tensor is what torch.load accepts with weights_only=True, and what
        distributed checkpoints can store. They need as many bytes at a load,
        so the history is a text."""
        found = {"state": torch.frombuffer(bytearray(state),
                                           dtype=torch.uint8)}
        if self.fingerprint is not None:
            found["fingerprint"] = self.fingerprint
        history = self._past and self._past.text(cursor or self._cursor)
        if history is not None:
            found["history"] = history
        size = self._size_of_all(batches)
        if size is not None:
            found["indices_per_batch"] = size
        return found

    def _size_of_all(self, batches):
        """That of all batches of the run; 0: of any sizes; None: unknown.
        batches: so many came by the trainer's count."""
        sizes, said = self._sizes, self._batch_said
        if self._uncounted or batches and said:
            sizes |= {said}
        known = sizes - {None}
        if 0 in known or len(known) > 1:
            return 0
        return max(known, default=None) if known == sizes else None

    def _note_uncounted(self):
        """That a loop that nothing counts had batches: as said, or unknown."""
        first = self._uncounted
        if first and first.epoch != self._cursor.epoch:
            self._sizes |= {self._batch_said}

    @contextlib.contextmanager
    def _steered(self, act, begun=None):
        """Around what moves the cursor from where it stands, as `act` moves a
        run: that is noted. What goes back says where the loop has begun. After
        a loop that nothing counts nobody knows what was served."""
        past, known = self._past, not self._uncounted
        if past is not None and known:
            past = past.noted(self._cursor, act, begun or self._cursor.save())
        yield
        if past is not None:
            self._past = past if known else Past.from_here(self._cursor)

    def _save(self):
        """A state of the place after what the loop received."""
        self._settle_whole()
        loop = self._loop
        if loop is not None and loop.dropped_the_rest():
            self._cursor.seek(loop.start + loop.total)
        return self._cursor.save()

    def _refuse_amid_a_loop(self, size=None):
        """An error for another batch_size, which some batches would have."""
        loop = self._loop
        if loop is not None and loop.goes_on() and (
                size is None or loop.takes.batch not in (None, size)):
            raise RuntimeError("batch_size was set amid a loop, whose batches "
                               "have another one: set it between loops")

    def _refuse_batches(self):
        """An error where a number of batches says no place."""
        loop, varies = self._loop, self._varies
        if loop is not None and loop.goes_on():
            varies = loop.takes.counted is not None
        if varies:
            raise ValueError(
                "the batches of a CountedBatchSampler may be of any size, so "
                "that their number says no place: say state_dict(), after the "
                "last one. If all are of batch_size, loop over StatefulLoader("
                "DataLoader(dataset, batch_sampler=yours), sampler, items="
                "batch_size) instead")

    def _settle_whole(self):
        """Settles where a run could go on: an error where the batches do not
        have all that was taken for them."""
        loop = self._loop
        if loop is not None:
            loop.check_whole()
        self._settle()

    def __len__(self):
        if self._length is None:
            raise TypeError("this sampler has no len(): it has no end, or its "
                            "epochs differ, and `remaining` is this one's")
        return self._length

    @property
    @locked
    def remaining(self):
        """How many items of the epoch are left after the last batch that came.
        None if there is no end."""
        self._settle_here()
        self._settle_whole()
        cursor = self._here()
        end = cursor.own_steps
        return None if end is None else max(end - cursor.step, 0)

    @locked
    def __getstate__(self):
        """Copies are in no loop."""
        spawning, uncounted = (multiprocessing.context.get_spawning_popen(),
                               self._uncounted)
        try:
            if self._loop is not None:
                self._loop.check_named()
            here = self._save()
        except RuntimeError:
            # A dataset in a worker may have it, and asks for no state.
            if not spawning:
                raise
            self._settle()
            here, uncounted = self._cursor.save(), Begun(self._cursor)
        state = {**vars(self), "_cursor": self._cursor.begun_at(here),
                 "_loop": None, "_alone": None, "_loader": None, "_done": None,
                 "_uncounted": uncounted}
        if not self._uncounted:
            state["_begun"] = None
        del state["_lock"]
        if not spawning:
            del state["_shared"]
        return state

    def __setstate__(self, state):
        if "_uncounted" not in state:
            raise ValueError(
                f"this pickle of a {type(self).__name__} is of statesampler "
                "0.9.0 or older: unpickle it there, and load its state_dict()")
        vars(self).update(state)
        self._lock = Lock()
        if "_shared" not in state:
            self._shared = SharedEpoch()
            self._share()

    def sample_seed(self, index, epoch=None):
        """64 bits to seed a sample's random numbers with: the same in any
        worker, on any rank and after a resume. The default epoch is that of
        the current loop, also in its workers. (If workers load ahead into the
        next epoch, as with tail="carry", pass the epoch.)"""
        if epoch is None:
            left = not self._shared.in_worker() and self._left_at_end()
            epoch = (self._here() if left else self._shared).epoch
        return self._cursor.sample_seed(epoch, index)

    @property
    @locked
    def epoch(self):
        """The epoch of the current loop, also in its workers; between loops,
        that of the next one."""
        if self._shared.in_worker():
            return self._shared.epoch
        epoch = self._here().epoch
        if self._uncounted:
            self._uncounted.told = epoch
        return epoch

    @epoch.setter
    def epoch(self, epoch):
        self.set_epoch(epoch)

    @locked
    def set_epoch(self, epoch):
        """The next loop begins this epoch. Does nothing if the sampler is in
        this epoch already, so that it does not undo a resume. After a loop that
        was left at its last batch, the next one begins where that one did.
        (Within a loop this is so if its iterator is kept. A loader inside a
        StatefulLoader that calls this while it is asked for a batch has counted
        epochs of its own, and is not heeded.)"""
        epoch = whole("epoch", epoch, 0, 2**64)
        loop = self._loop
        if loop is not None and loop.asking:
            return
        if epoch < self._loaded[0]:
            warnings.warn(
                f"set_epoch({epoch}) goes back before epoch {self._loaded[0]} "
                "of the loaded state, so the run trains on an epoch once more: "
                "loop over range(sampler.epoch, epochs). (begin(epoch) begins "
                "any epoch.)", stacklevel=3)
        self._settle()
        here, over = self._cursor.epoch, self._has_all()
        if over and epoch == here and loop is not None and loop.goes_on():
            loop.named = True
        elif over and epoch in (here, (here + 1) % 2**64):
            if loop is not None:
                loop.named = False
            self._close(again=epoch == here)
        elif epoch != here:
            if epoch == self._loaded[0]:
                self._refuse_a_look()
            self._begin_epoch(epoch)
            self._loaded = self._loaded[0], 0
        first, alone = self._uncounted, self._alone
        if first and first.told != epoch:   # This names it.
            self._note_uncounted()
            self._uncounted = alone and alone.begun
        self._named = epoch
        self._share()

    def _steering(self):
        """A copy of the cursor, to be moved where the loop is."""
        self._settle_here()
        state = self._save()
        here = self._here()
        return here.after(state if here is self._cursor else here.save())

    def _end_what_was_left(self):
        if self._left_at_end():
            self._close()

    def _go_on_at(self, cursor):
        """The next loop begins where another cursor stands."""
        cursor = cursor.begun_at(cursor.save())
        self._give_up()
        self._cursor, self._loaded = cursor, (cursor.epoch, cursor.step)
        self._measure()
        self._share()

    def _has_all(self):
        """Whether the loop has all of the epoch, and did not ask for more."""
        return (self._loop is not None and self._loop.complete() or
                self._alone is not None and self._alone.has_all())

    @locked
    def begin(self, epoch):
        """The next loop begins this epoch at its start."""
        epoch = whole("epoch", epoch, 0, 2**64)
        self._settle()
        if self._has_all():
            self._close()
        self._begin_epoch(epoch)
        self._loaded, self._named = (0, 0), epoch
        self._share()

    def _begin_epoch(self, epoch):
        with self._steered(lambda run: run.begin(epoch)):
            self._give_up()
            self._cursor.begin(epoch)

    @locked
    def state_dict(self, batches=None, epoch=None):
        """The state after the last batch that the loop received. After the
        same batch it is the same on every rank: ask on each, as a loop after a
        break goes on only where it was asked for, and save rank 0's, but not
        to a file that other ranks have not loaded yet. In a loop that no
        StatefulLoader counts, and after one, it raises RuntimeError: then say
        `epoch`, and `batches`.

        "history" has what was done to the run, for python -m statesampler, and
        "indices_per_batch" how many all its batches had so far, but an epoch's
        last, of all processes that accelerate deals to. It is 0 if they were
        not alike, or a CountedBatchSampler's, and not there if nobody knows, or
        the sampler gives batches itself.

        With `batches` or `epoch`, the state after that many batches of that
        epoch instead; the defaults are none, and the current one. They count as
        start_iter does: after loading a state they continue from the value of
        start_iter there, which is rounded up if it was not a whole number of
        batches. Those that set_start_iter refuses raise ValueError here
        too. Where an epoch has not begun that is not 0 and that nobody named,
        `batches` without `epoch` raises RuntimeError."""
        loop = self._loop
        if epoch is not None:
            epoch = whole("epoch", epoch, 0, 2**64)
            cursor = self._in_epoch(epoch, batches)
        else:
            self._settle_here()
            cursor = self._cursor
            if batches is None:
                self._save()
            else:
                cursor = self._after(batches, "batches")
                self._refuse_two_epochs(batches)
        if batches is not None:
            cursor = self._past_the_rest(cursor)
        state = cursor.save()
        if loop is not None and not loop.asking and (
                state == self._cursor.save()):
            loop.saved = loop.batches
        return self._as_dict(state, cursor, batches)

    def _refuse_two_epochs(self, batches):
        """An error for a number of batches that may be the trainer's of the
        epoch that came before."""
        loop, here = self._loop, self._here()
        begins = here.step == 0 and not (loop is not None and loop.goes_on())
        if batches and begins and here.epoch not in (0, self._named):
            raise RuntimeError(
                f"epoch {here.epoch} has not begun, so batches={batches} may be "
                "of it or of the one before: say epoch=")

    def _past_the_rest(self, cursor):
        """The cursor, or one at the epoch's end where the loop that had all
        drops what is left after it."""
        loop, done = self._loop, self._done
        if loop is not None and loop.complete():
            done = loop
        if done is None or done.epoch != cursor.epoch or not (
                done.drops(cursor.step - done.start)):
            return cursor
        return cursor.copy_at(done.start + done.total)

    def _in_epoch(self, epoch, batches):
        """A cursor after so many batches of an epoch."""
        cursor, begun = self._here(), self._begun
        if epoch == cursor.epoch:
            place = cursor
        elif begun is not None and epoch == begun.epoch:
            place = cursor.after(begun.state)
        elif self._has_all() and epoch == (cursor.epoch + 1) % 2**64:
            place = self._after_all()
        else:
            place = cursor.after(cursor.save())
            place.begin(epoch)
        if batches is None:
            return place.copy_at(0)
        return self._after(batches, "batches", place)

    @locked
    def load_state_dict(self, state_dict):
        """Continues where a state was saved, by any number of ranks with any
        batch size. A state that is damaged or from another dataset, seed or
        order raises ValueError and changes nothing; for a dataset that has
        changed, see fingerprint and changed."""
        given = state_of(state_dict, self._owner)
        state = self._accepted(given, state_dict.get("fingerprint"))
        loop = self._loop
        if loop is not None and loop.asking:
            raise RuntimeError(
                "a loader inside a StatefulLoader loads a state of its own: "
                "load that of the StatefulLoader, and leave the other one as "
                "it is")
        cursor, past = self._cursor.begun_at(state), self._past
        if past is not None:
            # Another dataset has no part in it.
            past = Past.loaded(self._cursor, state_dict.get("history")
                               if state == given else None, state)
        self._give_up()
        self._cursor, self._past = cursor, past
        size, history = map(state_dict.get, ("indices_per_batch", "history"))
        # Where a history begins here, so do the batches.
        self._sizes = frozenset([] if size is history is None or
                                state != given else [size])
        self._loaded = self._cursor.epoch, self._cursor.step
        self._named = 0
        self._share()

    def _accepted(self, state, fingerprint):
        """The state to load for one that was saved with this fingerprint."""
        lengths, others = self._cursor.differences(state)
        changed = lengths
        if self.changed != "accept":
            changed = other_fingerprint(fingerprint,
                                        self.fingerprint) + lengths
        if changed and not others and self.changed == "next_epoch":
            return self._cursor.next_epoch(state)
        if changed + others:
            raise ValueError("; ".join(changed + others) + (
                "; changed='next_epoch' loads it, and begins the next epoch"
                if lengths and not others else ""))
        return state


class StatefulDistributedSampler(_Resumable, DistributedSampler):
    """torch's DistributedSampler without a table, and with a state.

    dataset, num_replicas, rank, shuffle, seed, drop_last: as in torch. If
        num_replicas and rank are not given and torch.distributed is not
        initialised, both come from the launcher's environment; without that,
        this is rank 0 of 1 (and num_replicas=4 alone raises ValueError). A
        loop raises RuntimeError if torch.distributed has other values by then.
        seed must be the same on every rank.
    batch_size: the unit of state_dict(batches=) and of VISSL's start_iter and
        set_start_iter. Nothing else needs it. Another one than a
        StatefulLoader's raises ValueError.
    partition: "interleaved", as in torch, or "blocked": each rank gets a
        contiguous part of the order. (VISSL's sampler is "blocked" with
        drop_last.)
    tail: what happens to the last samples if num_replicas does not divide the
        dataset. "pad" and "drop" are torch's drop_last=False and True.
        "uneven", for evaluation, neither adds nor drops samples, so that some
        ranks have one less: a break where these have ended an epoch, and
        others have not, leaves the ranks in different epochs. "carry" starts
        the next epoch with them; a loop then has no end, len() raises
        TypeError, total_size is len(dataset), and num_samples is the most that
        a rank gets of an epoch.
    chunk_size, window: shuffles such that only `window` chunks of `chunk_size`
        consecutive samples are in use at a time.
    replacement: draw with replacement.
    weights: how often each sample comes in an epoch, as a list of numbers: one
        with 2.5 comes twice or three times, and in 64 epochs 160 times. If they
        do not sum to a whole number, they are scaled to the nearest one. With
        replacement they say how likely each sample is in each of len(dataset)
        draws, as in torch's WeightedRandomSampler. Both are the same on any
        number of ranks. Other weights are another dataset to `changed`.
    stream: gives datasets with the same seed different orders.
    fingerprint: what identifies the dataset's contents: a string, bytes or a
        number, the same on every rank. None: dataset._fingerprint if that is
        one, as in Hugging Face's datasets, where a map() by a function that
        they cannot hash gets another one in each run: pass your own then.
        States have it as text: a number as it is written, of bytes their type
        and hexadecimal digits.
    changed: what load_state_dict does with a state whose fingerprint differs.
        "refuse" raises ValueError. "next_epoch" leaves out the rest of the
        epoch and begins the next one, also if the length differs. "accept"
        goes on at the same place; the length must be the same.
    read_ahead: was of use before StatefulLoader; anything but None is an error.

    Arguments are read-only, but dataset, batch_size, fingerprint and changed,
    as assigning to them would not change the order.
    """

    _owner = "StatefulDistributedSampler"
    _takes = "the length of its dataset (see also resize)"
    _cursors = SamplerCursor
    _dataset_is = "dataset"
    _described = property(lambda self: self._cursor.num_samples)
    _batch_said = property(lambda self: self.batch_size)
    _fixed = _Resumable._fixed + ("num_samples", "total_size", "weights",
                                  "replacement", "stream")

    def __init__(self, dataset, num_replicas=None, rank=None, shuffle=True,
                 seed=0, drop_last=False, batch_size=None, *,
                 partition="interleaved", tail=None, chunk_size=None,
                 window=None, replacement=False, weights=None, stream=0,
                 read_ahead=None, fingerprint=None, changed="refuse"):
        drop_last = flag("drop_last", drop_last)
        if tail is None:
            tail = "drop" if drop_last else "pad"
        elif drop_last and tail != "drop":
            raise ValueError(f"drop_last=True means tail='drop', but got "
                             f"tail={shown(tail)}")
        _Resumable.__init__(self, num_replicas, rank, shuffle, seed,
                            tail == "drop", read_ahead, changed, fingerprint,
                            dataset)
        self.dataset = dataset
        self.batch_size = batch_size
        self._length_then = length = length_of("dataset", dataset)
        # A step is one sample per rank, so that the loader can make any
        # batches.
        make = self._cursors if weights is None else functools.partial(
            WeightedCursor, weights)
        self._cursor = make(
            length, self.rank, self.num_replicas, 1, seed=seed, stream=whole(
                "stream", stream, 0, 2**64), shuffle=shuffle, tail=tail,
            partition=partition, replacement=replacement,
            chunk_size=chunk_size, window=window)
        self._past = Past.of_new(self._cursor)
        self._measure()

    def _measure(self):
        """Sets the sizes of a whole epoch."""
        cursor = self._cursor.after(self._cursor.save())
        cursor.begin(0)
        counts, endless = cursor.counts(), cursor.num_steps is None
        samples = (-(-counts.positions // self.num_replicas) if endless else
                   counts.rank_samples)
        vars(self).update(total_size=counts.positions, num_samples=samples,
                          _length=None if endless else samples)

    @locked
    def resize(self, num_samples):
        """From the present place on, this epoch and later ones have
        num_samples positions; the next loop goes on there, after padding with
        the first sample that is new. For orders of your own: needs
        shuffle=False and the default partition. Fewer than were served raise
        ValueError."""
        cursor = self._steering()
        cursor.resize(num_samples)
        self._end_what_was_left()
        with self._steered(lambda run: run.resize(num_samples)):
            self._go_on_at(cursor)

    def _checked(self, name, value):
        value = super()._checked(name, value)
        if name == "batch_size" and self._last in vars(self) and (
                value != self.batch_size):
            self._count_anew(value)
        return value

    @locked
    def _count_anew(self, batch_size):
        """Batches of another size count from here, as if that were loaded."""
        self._refuse_amid_a_loop(batch_size)
        if self._uncounted:
            self._sizes |= {self.batch_size}
        self._settle()
        self._anew = self._cursor.epoch, self._cursor.step

    def _batches(self, cursor):
        """A batch ends at the loaded place, which may be from a run with
        another batch_size."""
        if self.batch_size is None:
            raise ValueError("at, locate, start_iter and batches need a "
                             "sampler with a batch_size")
        epoch, step = self._anew or self._loaded
        if cursor.num_steps is not None and epoch != cursor.epoch:
            return self.batch_size, 0
        if step == cursor.num_steps:    # after a last batch that may be short
            step = cursor.base
        return self.batch_size, -step % self.batch_size

    def _known(self, unit, cursor):
        """All since ranks changed, if batches of this size have led from there
        to the loaded place."""
        (_, short), base, (epoch, step) = (
            self._batches(cursor), cursor.base, self._anew or self._loaded)
        others = self._anew or self._sizes - {None, unit}
        others = others and (cursor.num_steps is None or epoch == cursor.epoch)
        return step if others or (short + base) % unit else base


class Weighed:
    """For samplers of datasets that have weights."""

    _fixed = _Resumable._fixed + ("lengths", "batch_size", "weights", "stop",
                                  "reinit")

    def _begin_weights(self, given):
        self._given = None if given is None else self.weights
        self._measure()

    def _measure(self):
        """Sets the length of a whole epoch."""
        cursor = self._cursor.after(self._cursor.save())
        cursor.begin(0)
        self._length = cursor.num_steps

    def _check_dataset(self, dataset):
        """Either may divide what the other one has as one."""
        super()._check_dataset(dataset)
        if isinstance(dataset, ConcatDataset):
            parts = [*map(len, dataset.datasets)]
            ours, theirs = ({*itertools.accumulate(each)}
                            for each in (map(int, self.lengths), parts))
            if not (ours <= theirs or theirs <= ours):
                raise ValueError(
                    f"{self._owner} has lengths={shown(self.lengths)}, but "
                    f"those of the ConcatDataset are {shown(parts)}")

    @property
    def weights(self):
        return self._cursor.weights

    @locked
    def weigh(self, weights):
        """From the present place on the weights are these; the next loop goes
        on there. The sequence of turns begins again, with the heaviest
        datasets. Call it on all ranks after the same batch."""
        cursor = self._steering()
        cursor.weigh(weights)
        self._end_what_was_left()
        with self._steered(lambda run: run.weigh(weights)):
            self._go_on_at(cursor)

    @locked
    def load_state_dict(self, state_dict):
        super().load_state_dict(state_dict)
        self._measure()
        if self._given not in (None, self.weights):
            warnings.warn(
                f"the state's weights {shown(self.weights)} go on, not weights="
                f"{shown(self._given)}: for others call weigh after "
                "load_state_dict", stacklevel=3)


class RoundRobinBatchSampler(Weighed, _Resumable, _TorchSampler):
    """Batches from several datasets in turn, for the `batch_sampler` of a
    DataLoader over their ConcatDataset. Each batch is from one dataset.

    lengths: the lengths of the datasets.
    batch_size, drop_last: as in torch's BatchSampler, for each rank's batches:
        drop_last keeps batches that tail="pad" fills, with samples that come
        again. With tail="drop" none does.
    rank, num_replicas, seed, shuffle: as in StatefulDistributedSampler. Each
        dataset has an order of its own.
    weights: the number of turns of each dataset in a round, as integers; 0
        takes a dataset out; None: one each. A loaded state brings its own, as
        in Mix and in C; weigh() sets others. The attribute `weights` has the
        present ones.
    stop: when an epoch ends. "first": at the turn of a dataset that has
        nothing left. "all": when each dataset has been served once. "restart":
        the same, but datasets that finish earlier start again. "never": never;
        all datasets start again.
    reinit: False is stop="first", True is stop="never", as in the PyTorch
        forum's sampler of this name. But a dataset in which drop_last leaves
        no batch takes no turns, where the forum's sampler stops.
    partition: "blocked", as in the forum's sampler, or "interleaved", the
        default of Mix and in C: pass it for the order that those have.
    tail, chunk_size, window, fingerprint, changed:
        as in StatefulDistributedSampler, the fingerprint that of all datasets.
        tail="carry" needs stop="never". With "uneven" a rank may have an empty
        batch in a dataset's last turn; collate_fn then gets an empty list.

    Each dataset has its own epochs. With stop="restart" or "never", a dataset
    that starts again uses the order of its next epoch, and continues there in
    this sampler's next epoch. Only set_epoch to an epoch other than the
    current one starts all datasets in the order of that epoch.

    There is no resize: when the turns come follows from all lengths. If a
    dataset grows, make another sampler, with changed="next_epoch".
    """

    _owner, _takes = "RoundRobinBatchSampler", "the lengths of datasets"
    _gives_batches = True

    @no_sampler
    def __init__(self, lengths=None, batch_size=None, rank=None,
                 num_replicas=None, drop_last=False, seed=0, shuffle=True,
                 reinit=False, *, weights=None, stop=None, partition="blocked",
                 tail="pad", chunk_size=None, window=None, read_ahead=None,
                 fingerprint=None, changed="refuse"):
        _Resumable.__init__(self, num_replicas, rank, shuffle, seed, drop_last,
                            read_ahead, changed, fingerprint)
        lengths, reinit = items("lengths", lengths), flag("reinit", reinit)
        if stop is None:
            stop = "never" if reinit else "first"
        elif reinit and stop != "never":
            raise ValueError(f"reinit=True means stop='never', but got "
                             f"stop={shown(stop)}")
        self.lengths = lengths
        self.batch_size, self.stop = batch_size, stop
        self._cursor = MixCursor(
            lengths, self.rank, self.num_replicas, self.batch_size, weights,
            stop, seed=seed, shuffle=shuffle, tail=tail, partition=partition,
            chunk_size=chunk_size, window=window, drop_last=drop_last)
        self._described = sum(self.lengths)
        self._begin_weights(weights)
        self._past = Past.of_new(self._cursor)
