"""Loaders that count the batches they return. The manual is in README.md."""

import array
import functools
import itertools
import queue
import traceback
import warnings
import weakref

from torch.utils.data import BatchSampler, DataLoader

from ._arguments import Fixed, has_own_iter, whole
from ._inside import Inside, check_length, look_into, sampler_of
from .torch_samplers import _Resumable


class _Counted:
    """An iterator of a loader. The loop begins when the first batch is asked
    for, so that set_epoch is in time before that."""

    __slots__ = "loader", "begin", "loop", "ended", "ask", "__weakref__"

    def __init__(self, loader, begin):
        self.loader, self.begin = loader, begin
        self.loop, self.ended = None, False

    def __iter__(self):
        return self

    def __next__(self):
        loop = self.loop
        if loop is None:
            loop = self._open()
        elif loop.over:
            self._refuse()
        loop.asking = True      # Until it is counted: a thread may save.
        try:
            try:
                batch = self.ask()
            except StopIteration:
                self._end(loop)
                raise
            except Exception as error:
                # It is passed over, unless it is only late: the next batch
                # counts for both.
                loop.failed += not _is_late(error)
                loop.smooth = False
                raise
            except BaseException:   # Nobody knows whether it is passed over.
                loop.over = True
                raise
            plain = loop.plain
            if plain is not None and plain.batch_size != loop.size:
                loop.refuse_size()
            if not loop.smooth:
                loop.check_batch()
            loop.batches += 1
        finally:
            loop.asking = False
        return batch

    def _open(self):
        this, sampler = weakref.ref(self), self.loader._counts
        loop = sampler._open(self.loader._look(),
                             lambda: this() is not None) or Inside()
        if loop.counts:
            _warn_of_own_iter(self.loader, loop.takes.counted, sampler)
        loop.asking = True
        try:
            self.ask = self.begin().__next__
        except BaseException:
            loop.over = True
            raise
        finally:
            loop.asking = False
        self.loop = loop
        return loop

    def _end(self, loop):
        self.ended, loop.over = True, True
        if not loop.broke_off():
            loop.check_end()
            self.loader._counts._finish(loop)

    def _refuse(self):
        if self.ended or self.loop.done:
            raise StopIteration
        raise RuntimeError(
            "this loop cannot continue: another loop over its sampler, "
            "load_state_dict, set_start_iter, resize, weigh, a change of the "
            "epoch or an interrupt came in between")


def _warn_of_own_iter(loader, counted, sampler):
    """Where something that nobody knows is around the count, or between the
    sampler's order and what takes it."""
    for thing, instead in (
            (loader, "Loop over StatefulLoader({}(...), sampler), which counts "
                     "what that returns"),
            (counted, "Let it inherit BatchSampler, and put it into "
                      "CountedBatchSampler({}(...), sampler)"),
            (sampler, "Let a batch sampler do that, and put it into "
                      "CountedBatchSampler(batch_sampler, sampler)")):
        if thing is not None and has_own_iter(thing):
            name = type(thing).__name__
            warnings.warn(
                f"{name} has an __iter__ of its own, and what it takes is "
                "counted inside that: if it takes ahead, changes the order, or "
                "leaves some out, a run that loads a state would lose some or "
                f"repeat some. {instead.format(name)}", stacklevel=4)


# Modules of DataLoaders that call a dataset.
_LOADERS = "torch.utils.data.dataloader", "torchdata."


def _is_late(error):
    """Whether a thread's loader, or a DataLoader, has waited too long. (Empty
    that comes out of a DataLoader is its dataset's.)"""
    if isinstance(error, queue.Empty):
        return not any(
            frame.f_globals.get("__name__", "").startswith(_LOADERS)
            for frame, _ in traceback.walk_tb(error.__traceback__))
    return str(error).startswith("DataLoader timed out")


class _Stateful:
    """What counts: _counts is the sampler, and _look() knows what a batch
    takes of it."""

    def _wrap(self):
        takes = self._look()
        check_length(getattr(self, "loader", self), self._counts, takes)
        self._counts._varies = takes.counted is not None
        self._counts._loader = weakref.ref(self)

    def state_dict(self):
        """The sampler's, after the last batch that was returned."""
        return self._counts.state_dict()

    def load_state_dict(self, state_dict):
        """The next loop goes on where the state was saved."""
        self._counts.load_state_dict(state_dict)


class _Around:
    """Sets and deletes the attributes of what it is around, `_inner` of its
    own. (Lightning takes an iterator away that workers have outlived.)"""

    _fixed = ()

    def __setattr__(self, name, value):
        if self._is_inside(name):
            setattr(vars(self)[self._inner], name, value)
        else:
            super().__setattr__(name, value)

    def __delattr__(self, name):
        if self._is_inside(name):
            delattr(vars(self)[self._inner], name)
        else:
            super().__delattr__(name)

    def _is_inside(self, name):
        return (name not in (*vars(self), *self._fixed) and
                not hasattr(type(self), name) and
                hasattr(vars(self).get(self._inner), name))


class StatefulLoader(_Around, Fixed, _Stateful):
    """A loader that counts the batches of another one, so that the state of
    its sampler is that after the last batch it returned, whatever there is
    between. Loop over the outermost loader, and make this the outermost.

    loader: any iterable of batches: a DataLoader, what accelerate's prepare()
        or another framework made of one, a loader that reads ahead in a thread,
        or the sampler itself.
    sampler: the sampler of this package that is in it.
    items: how many of the sampler's items (samples, or the batches of a batch
        sampler) a batch takes, of all processes that accelerate deals to. All
        but an epoch's last must take as many: parts of 6 and 4 have no right
        items=, and not always an error. None: as the loader's batch_sampler
        says; an error if that is none of torch's, of this package, or
        CountedBatchSampler.

    state_dict() and load_state_dict() are the sampler's. All other attributes
    are those of the loader, also to set and to delete, but set_epoch, which is
    the sampler's alone.
    """

    _inner, _fixed, _last = "loader", ("items", "sampler"), "_items"
    _counts = _items = None     # Its own, whatever the loader has.

    def __init__(self, loader, sampler, items=None):
        _check_kind(type(self).__name__, sampler)
        if not _is_iterable(loader):
            raise TypeError(f"{type(self).__name__} needs a loader, but got "
                            f"{type(loader).__name__}")
        self.loader, self._counts = loader, sampler
        self._items = None if items is None else whole("items", items, 1,
                                                       2**62)
        self._wrap()

    def _look(self):
        return look_into(self.loader, self._counts, self._items)

    def __iter__(self):
        return _Counted(self, functools.partial(iter, self.loader))

    def __len__(self):
        return self._counts._len_of(self.loader)

    def __getattr__(self, name):
        if name in ("loader", "set_epoch") or name.startswith("__"):
            raise AttributeError(f"{type(self).__name__} has no {name}")
        return getattr(self.loader, name)


def _check_kind(who, sampler, instead=""):
    if not isinstance(sampler, _Resumable):
        raise TypeError(f"{who} needs a sampler of statesampler for torch, "
                        "such as StatefulDistributedSampler, but got "
                        f"{type(sampler).__name__}{instead}")


class CountingDataLoader(_Stateful, DataLoader):
    """torch's DataLoader, for this package's samplers as sampler=, and its
    batch samplers as batch_sampler=, and a StatefulLoader around it: all
    arguments are torch's. A batch sampler of your own, with the sampler as its
    attribute `sampler`, becomes a CountedBatchSampler. If something reads
    ahead of the loop, put a StatefulLoader around that."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        # With batch_size=None torch takes a batch sampler as the sampler.
        place = "sampler" if self.batch_sampler is None else "batch_sampler"
        batches = getattr(self, place)
        inner = batches if isinstance(batches, _Resumable) else (
            sampler_of(batches, _Resumable))
        if inner is None and isinstance(self.sampler, _Resumable):
            inner = self.sampler
        _check_kind(
            "CountingDataLoader", inner if inner is not None else
            getattr(batches, "sampler", batches), ". If one is inside that, "
            "pass a batch_sampler= with it as its attribute `sampler`, or "
            "CountedBatchSampler; or StatefulLoader(DataLoader(...), sampler, "
            "items=)")
        self._counts = inner
        # DataLoader lets nobody set its batch_sampler.
        if type(batches) is BatchSampler and batches.sampler is inner:
            if self.batch_size is not None:     # Else it is the user's.
                object.__setattr__(self, place, Batches(
                    inner, batches.batch_size, batches.drop_last))
        elif batches is not inner and not (
                isinstance(batches, CountedBatchSampler)):
            object.__setattr__(self, place,
                               CountedBatchSampler(batches, inner))
        self._wrap()

    def _look(self):
        return look_into(self, self._counts)

    def __iter__(self):
        return _Counted(self, super().__iter__)


class Batches(BatchSampler):
    """torch's class takes one index at a time in Python; this does not."""

    def __setattr__(self, name, value):
        if name == "batch_size" and value != vars(self).get(name, value) and (
                isinstance(self.sampler, _Resumable)):
            self.sampler._refuse_amid_a_loop()
        super().__setattr__(name, value)

    def __iter__(self):
        least = self.batch_size if self.drop_last else 1
        cuts = map(itertools.islice, itertools.repeat(iter(self.sampler)),
                   itertools.repeat(self.batch_size))
        return itertools.takewhile(lambda batch: len(batch) >= least,
                                   map(list, cuts))


def _is_iterable(thing):
    return hasattr(thing, "__iter__") or hasattr(thing, "__getitem__")


def _sized(batch):
    """Torch takes any iterable. An iterator may take from a sampler yet."""
    if hasattr(batch, "__len__"):
        return batch
    if not _is_iterable(batch):
        raise TypeError("a batch sampler should give batches of indices, but "
                        f"gave {type(batch).__name__}")
    return list(batch)


def _not_made_again(init):
    """Lightning tries to make a batch sampler again around another sampler,
    with arguments of BatchSampler's."""
    @functools.wraps(init)
    def checked(self, *arguments, **options):
        others = sorted(options.keys() - {"batch_sampler", "sampler"})
        if others:
            raise TypeError(
                f"{type(self).__name__} takes a batch sampler and its sampler, "
                f"not {', '.join(others)}. (Lightning: "
                "Trainer(use_distributed_sampler=False))")
        init(self, *arguments, **options)
    return checked


class CountedBatchSampler(_Around):
    """A batch sampler of your own, around a sampler of this package. It notes
    how much each batch takes, so batches may be of any size. All other
    attributes are those of your batch sampler, also to set and to delete.

    batch_sampler: any iterable of batches, each of which has what was taken
        for it. One that takes ahead, as to sort, must return each sample once
        and no others, as what it holds back is counted. What it has left at its
        end, as too few for a batch, it leaves out.
    sampler: the sampler it takes from.
    """

    _inner = "batch_sampler"

    @_not_made_again
    def __init__(self, batch_sampler, sampler):
        _check_kind(type(self).__name__, sampler)
        if not _is_iterable(batch_sampler) or (
                isinstance(batch_sampler, _Resumable) and
                not batch_sampler._gives_batches):
            raise TypeError(
                f"{type(self).__name__} needs an iterable of batches of "
                f"indices, but got {type(batch_sampler).__name__}")
        none = array.array("q", [0])
        # Its own, also where the batch sampler has such names. `ended`: the
        # present loop had all its batches.
        vars(self).update(batch_sampler=batch_sampler, sampler=sampler,
                          _marks=none, _held=none, ended=True)

    def __iter__(self):
        """For each batch it notes how much was taken by then, and how much of
        that is not in a batch yet. A thread may still take batches of a loop
        that was left when the next one has begun: these count no more."""
        if self.sampler._measured:
            yield from self.batch_sampler
            return
        marks, held = array.array("q", [0]), array.array("q", [0])
        given, ahead = 0, False
        for batch in self.batch_sampler:
            # Not before: it is an error amid another loop, which goes on.
            if len(marks) == 1:
                self._marks, self._held, self.ended = marks, held, False
            batch = _sized(batch)
            if self._marks is not marks:
                yield batch
                continue
            given += len(batch)
            taken = self.sampler._taken_samples()
            ahead = ahead or taken > given
            held.append(taken - given if ahead else 0)
            marks.append(self.sampler._taken() + self.sampler._beyond())
            yield batch
        if len(marks) > 1 and self._marks is not marks:
            return
        held[-1] = 0
        self._marks, self._held, self.ended = marks, held, True
        if not self.given():
            self._check_taken()

    def _check_taken(self):
        """Raises an error if an epoch would be passed over for want of
        batches. Amid one, there may be too few samples left for a batch."""
        cursor, end = self.sampler._cursor, self.sampler._cursor.own_steps
        if self.sampler._iteration is None and (
                end is None or 0 == cursor.step < end):
            raise RuntimeError(
                "the batch sampler took nothing of its sampler in this loop, "
                "and gave no batches, as a generator does that has ended: let "
                "its __iter__ begin anew in each loop")

    def __len__(self):
        return self.sampler._len_of(self.batch_sampler)

    def __getattr__(self, name):
        if name in ("batch_sampler", "sampler") or name.startswith("_"):
            raise AttributeError(f"{type(self).__name__} has no {name}")
        return getattr(self.batch_sampler, name)

    def taken(self, batches):
        """How much the present loop's first so many batches took."""
        return self._marks[min(batches, len(self._marks) - 1)]

    def given(self):
        """How many batches the present loop was given."""
        return len(self._marks) - 1

    def held(self, batches):
        """How many samples of that they do not have. Negative if they have
        more, though it took ahead: then nobody knows."""
        return self._held[min(batches, len(self._held) - 1)]
