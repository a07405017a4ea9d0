"""Mix: that of samplers.py with a history, names and a schedule."""

import array
import ctypes
import functools

from . import samplers
from ._arguments import choice, flag, items, listed, shown, whole
from ._codes import (ECORRUPT_MAGIC, EMISMATCH_DATASET, ERANGE_SERVED,
                     SCHEDULE_ETOKENS, may_come)
from ._cursors import described_mix
from ._library import (OFF, SOURCE_BYTES, STOPS, MixPlace, address, c, check,
                       memory)
from .recorded import Recorded
from .samplers import (as_bytes, described, mix_state, split, split_schedule,
                       whole_weights)
from .schedule import TURNS, Ahead, Running, Schedule, shares_of

# STATESAMPLER_CHANGE_CHANGED and CHANGE_NEW.
_CHANGED, _NEW = 3, 1


@functools.lru_cache(2**16)     # A state of a Mix has those of all names.
def _hash(name):
    """What a state has of a dataset's name, and its stream."""
    if not isinstance(name, str) or not name or "\0" in name:
        raise ValueError("the name of a dataset should be a string, but got "
                         f"{shown(name)}")
    name = name.encode() + b"\0"
    return c.hash(0, name, len(name))


def _hashes_in(state):
    """Those of the names in a state."""
    hashes = array.array("Q", bytes(len(state) // 8 * 8))
    count = c.mixture_hashes(state, len(state), address(hashes))
    if count == ECORRUPT_MAGIC:
        raise ValueError("the state has no names of datasets: make the Mix "
                         "with a list of lengths")
    check(min(count, 0))
    return hashes[:count].tolist()


def _listed(what, values, names):
    """The values of all names; a list, or one value for all, is left as it
    is."""
    if not isinstance(values, dict) or names is None:
        return values
    for name in values:
        if name not in names:
            raise ValueError(f"{what}: there is no dataset {shown(name)}")
    for name in names:
        if name not in values:
            raise ValueError(f"{what}: there is none for {shown(name)}")
    return [values[name] for name in names]


class Mix(Recorded, samplers.Mix):
    """Batches from several datasets in turn. Iterating yields them as Sampler
    does; all of a batch are of one dataset. Indices are those of the
    concatenated datasets.

    lengths: those of the datasets, as a list; or a dict of names and lengths.
        Datasets with names may be added, removed and moved between two runs:
        those that a loaded state has go on where they were, turns go on
        counting, and the sequence of turns begins again with the weights here.
    rank, world_size: as in Sampler.
    batch_size: one for all, or a list or dict of one for each.
    weights: the number of turns of each dataset in a round, as a list or dict;
        0 takes a dataset out; None: one each. See load() and weigh().
    stop: when an epoch ends, as in RoundRobinBatchSampler.
    schedule: a Schedule of shares, instead of weights. stop is then "never",
        and turns up to 2**45 can be asked for.
    epoch: of all datasets, at the start.

    The other arguments are those of Sampler. partition is "interleaved" unless
    another one is given, as in Sampler and in C (RoundRobinBatchSampler has
    "blocked", as the sampler that it replaces)."""

    _fixed = Recorded._fixed + ("lengths", "stop", "schedule")
    _plain = samplers.Mix
    _c_init, _c_seek = c.history_mix_init, c.history_mix_seek
    _carries = False    # It has a turn for each step of each epoch.

    def __init__(self, lengths, rank=None, world_size=None, batch_size=1,
                 weights=None, stop=None, epoch=0, *, schedule=None,
                 **options):
        # Their numbers, by which each is found at once.
        names = ({name: i for i, name in enumerate(lengths)}
                 if isinstance(lengths, dict) else None)
        lengths = items("lengths", lengths if names is None else
                        lengths.values())
        streams = (range(len(lengths)) if names is None else
                   [_hash(name) for name in names])
        if stop is None:
            stop = "first" if schedule is None else "never"
        if schedule is not None:
            if not isinstance(schedule, Schedule):
                raise TypeError("schedule should be a Schedule, but got a "
                                f"{type(schedule).__name__}")
            if weights is not None:
                raise ValueError("a schedule has weights of its own")
            if stop != "never":
                raise ValueError("stop should be never with a schedule, but "
                                 f"got stop={shown(stop)}")
            if not callable(schedule.stages):
                for _, shares in schedule.stages:
                    shares_of(shares, names, len(lengths))
        self._make(described(lengths, rank, world_size,
                             _listed("batch_size", batch_size, names),
                             streams, options),
                   whole_weights(_listed("weights", weights, names),
                                 len(lengths)),
                   choice("stop", stop, STOPS),
                   whole("epoch", epoch, 0, 2**64), names, schedule)

    def _make(self, descs, weights, stop, epoch, names, schedule):
        super()._make(descs, weights, stop, epoch)
        self._names, self._schedule = names, schedule
        self._made += names, schedule
        self.changes = {}
        self._run_from(0)

    names = property(lambda self: self._names and [*self._names])

    def _plainly_made(self):
        if self._running:
            raise ValueError("a Ledger goes to any ticket at once, which a "
                             "schedule does not: give the Mix weights instead")
        return self._made[:4]

    def _room(self):
        return 104 + 128 * len(self._descs)

    # --- the schedule --------------------------------------------------------

    def _run_from(self, turn):
        """The schedule begins a stage at this turn, from which on turns are
        known."""
        self._ahead, self._running, self._loaded_at = None, None, turn
        self._to_tell = False   # The last turn's tokens.
        if self._schedule:
            self._running = Running(self._schedule, self._names,
                                    len(self._descs), turn)

    def _follow(self):
        """Begins the next stage where one has ended."""
        if self.step == self._running.place.end:
            self._note(c.schedule_follow, *self._running.next_stage())

    def __next__(self):
        if not self._running:
            return super().__next__()
        self._follow()
        batch = super().__next__()
        self._to_tell = True
        return batch

    def had(self, tokens, dataset=None):
        """Says how many tokens the last batch had, on all ranks together, with
        a schedule whose shares are of tokens; 0 if it had none. Call it once
        after each turn, on all ranks alike, before a save. A stage in which a
        dataset had turns, and no call, is an error at its end, unless a seek or
        a load came in it. Turns that a seek passes over count as their mean.

        dataset: whose tokens they are, by number or name, if a call after an
        earlier turn of the stage was forgotten. One that is off in the stage
        is an error."""
        if not self._running:
            raise ValueError("this Mix has no schedule")
        if not self._running.tokens:
            raise ValueError("the shares of this schedule are of turns: give "
                             "it means for shares of tokens")
        tokens = whole("tokens", tokens, 0, 2**31)
        source = OFF if dataset is None else self._number(dataset)
        if not self._to_tell and dataset is None:
            raise ValueError("had is of the turn that next has just served: "
                             "call it once, with the tokens of all ranks "
                             "together")
        self._ahead = None
        check(c.schedule_had(self._running.place, self._memory, source, tokens))
        if dataset is None:
            self._to_tell = False

    def _number(self, dataset):
        """That of a dataset."""
        if not isinstance(dataset, str):
            return whole("dataset", dataset, 0, len(self._descs))
        if dataset not in (self._names or ()):
            raise ValueError(f"there is no dataset {shown(dataset)}")
        return self._names[dataset]

    def seek(self, step):
        if not self._running:
            super().seek(step)
            return
        step, running = whole("step", step, 0, TURNS), self._running
        back = step < self._known_from()
        if back:
            running = self._at_start()
        # Nothing moves before all stages on the way are known to be possible.
        way = None
        if step > running.place.end:
            way = self._way(running, 0 if back else self.step, step)
        if back:
            self.begin(self.epoch)
        self._ahead = None
        if way:
            self._go(*way)
        if step != self.step:
            self._move(step)

    def _known_from(self):
        """The first turn that the mix knows by itself: earlier ones follow from
        turn 0 on, as ranks are now."""
        return max(self._running.place.begin, self._loaded_at)

    def _move(self, step):
        """Inside of the present stage."""
        place = self._running.place
        c.schedule_owe(place, self._memory, 1)
        try:
            super().seek(step)
        finally:
            c.schedule_owe(place, self._memory, 2**64 - 1)
        c.schedule_forget(place)
        self._to_tell = False

    def _way(self, running, here, step):
        """To the stage of a step: the schedule where it begins; turns to go to,
        and the weights up to each; and the stage."""
        ahead, leaps = running.loaded(running.save()), []
        place, begin, stage = ahead.place, ahead.place.end, ahead.next_stage()
        # With tokens only the stage that begins here is known.
        if ahead.tokens and (place.end > here or step - here > stage[2]):
            if step < self.step:
                raise ValueError("with shares of tokens, turns before this "
                                 "stage, or before the loaded state, are no "
                                 "more known: load an earlier state")
            check(SCHEDULE_ETOKENS)
        while step - place.end > stage[2]:
            if place.end - begin + stage[2] >= 2**31:
                leaps.append((place.end, ahead.sums()))
                begin = place.end
            check(c.schedule_over(self._memory, *stage))
            stage = ahead.next_stage()
        if place.end > begin:
            leaps.append((place.end, ahead.sums()))
        trial = ahead.loaded(ahead.save())
        code = c.schedule_over(self._memory, trial.place, *stage[1:])
        if code != SCHEDULE_ETOKENS:
            check(code)
        return ahead, leaps, stage[1:]

    def _go(self, ahead, leaps, stage):
        """Goes there. All stages on the way are noted as one."""
        super().seek(self._running.place.end)
        for turn, weights in leaps:
            self._note(c.history_mix_weigh, weights)
            super().seek(turn)
        if leaps:
            self._running = ahead
        self._note(c.schedule_follow, self._running.place, *stage)

    def _ahead_to(self, turn):
        """A copy at the stage of a turn beyond the present one, or of a past
        turn, of a run that goes straight."""
        past = turn < self.step
        # With tokens it depends on what was told since.
        if (not self._ahead or self._running.tokens or
                not self._ahead.reaches(turn, past)):
            self._ahead = self._look_ahead(from_start=past)
        return self._ahead.mix_at(turn)

    def _at_start(self):
        """The schedule at turn 0, from which on earlier stages are found."""
        if self._running.place.late:
            raise ValueError("earlier turns follow from turn 0 on, and this "
                             "schedule began later: load an earlier state")
        return Running(self._schedule, self._names, len(self._descs), 0)

    def _look_ahead(self, from_start):
        """From here, or from the start of the epoch."""
        self._keep_weights()
        plain, running = object.__new__(samplers.Mix), self._running
        plain.__setstate__((self._made[:4], samplers.Mix.save(self)))
        if from_start:
            running = self._at_start()
            plain.begin(self.epoch)
        return Ahead(plain, running, from_start)

    def at(self, step, rank=None, epoch=None, straight=False):
        epoch = self.epoch if epoch is None else whole("epoch", epoch, 0,
                                                       2**64)
        straight = flag("straight", straight)
        if self._running and epoch == self.epoch:
            step = whole("step", step, 0, TURNS)
            if step >= self._running.place.end or (
                    straight and step < self._known_from()):
                return self._ahead_to(step).at(step, rank)
        return super().at(step, rank, epoch, straight)

    def padding(self, step, rank=None):
        """As in Sampler, of turns since weights or ranks last changed, or a
        state was loaded; others are a ValueError, as are stages of a schedule
        that have passed."""
        if self._running:
            step = whole("step", step, 0, TURNS)
            if step >= self._running.place.end:
                return self._ahead_to(step).padding(step, rank)
        return super().padding(step, rank)

    def _straight_on(self, find, index):
        if not self._running:
            return super()._straight_on(find, index)
        try:
            place = super()._straight_on(find, index)
        except ValueError as error:
            if not may_come(error.code):
                raise
        else:
            if place.step < self._known_from():
                check(ERANGE_SERVED)
            if place.step < self._running.place.end:
                return place
        return self._look_ahead(from_start=False).locate(find, index)

    # --- weights and epochs --------------------------------------------------

    def weigh(self, weights):
        """From this turn on the weights are these, one for each dataset, as a
        list or dict; 0 takes a dataset out. The sequence of turns begins again,
        with the heaviest datasets: for weights that change every few turns,
        take a Schedule."""
        if self._running:
            raise ValueError("the weights are those of the schedule")
        self._note(c.history_mix_weigh, self._new_weights(
            _listed("weights", weights, self._names)))
        self._keep_weights()

    def begin(self, epoch):
        """Starts all datasets in the order of this epoch."""
        epoch = whole("epoch", epoch, 0, 2**64)
        epochs = array.array("Q", [(desc.epoch + epoch) % 2**64
                                   for desc in self._descs])
        self._note(c.history_mix_begin, epoch, address(epochs))
        self._made = *self._made[:3], epoch, *self._made[4:]
        self._run_from(0)

    def _own_epoch(self, index):
        source, _ = self._divide(index)
        return c.epoch(c.source_sampler(self._sources, source))

    # --- states --------------------------------------------------------------

    def save(self, history=True):
        """The schedule, the history and the state; with names, that of C's
        mixture. history=False: without the history."""
        state = super().save(history)
        return self._running.save() + state if self._running else state

    def _bare(self):
        """In the form of C's mixture if there are names."""
        if not self._names:
            return super()._bare()
        hashes = array.array("Q", map(_hash, self._names))
        state = ctypes.create_string_buffer(c.mixture_bytes(len(hashes)))
        c.mixture_write(state, self._memory, address(hashes))
        return state.raw

    def load(self, state, restart=False):
        """Goes on where a state was saved, with its history. One of the same
        datasets, in the same order, brings its weights; after any other those
        of the constructor count. A state without a history knows its own step
        and later ones.

        `changes` then says which datasets with names are "new" here, or
        "changed": they have another length. That is an error, unless
        restart=True begins their epoch anew. If a dataset is new, changed,
        moved or no longer here, the history begins here."""
        restart = flag("restart", restart)
        stages, state, _ = split_schedule(as_bytes(state))
        if stages and not self._running:
            raise ValueError("the state is of a Mix with a schedule: give that "
                             "as schedule=")
        history, state = split(state)
        inner, changes, running = mix_state(state), {}, None
        hashes = self._names and _hashes_in(state)
        if not self._names and len(inner) < len(state):
            raise ValueError("the state has names of datasets: make the Mix "
                             "with a dict of names and lengths")
        if self._names and not self._is_same(hashes, inner):
            changes = self._load_others(state, hashes, restart)
        else:
            running = stages and self._stage_of(stages, inner)
            super().load((history or b"") + inner)
        self._run_from(self.step)
        self.changes = changes
        if running:
            self._running = running

    def _stage_of(self, stages, state):
        """The stage of a schedule's state beside a mix's."""
        place, running = MixPlace(), self._running.loaded(stages)
        check(c.mix_describe(state, len(state), 0, None, place))
        if not running.place.begin <= place.turn <= running.place.end:
            raise ValueError("the state of the schedule is of other turns")
        check(c.schedule_check(running.place, self._memory, state, len(state),
                               memory(SOURCE_BYTES * len(self._descs))))
        return running

    def _load_both(self, history, state):
        number = len(self._descs)
        code = c.history_mix_load(
            self._history, self._memory, history, len(history), state,
            len(state), memory(SOURCE_BYTES * number), memory(4 * number),
            memory(len(state)))
        if code == 0:
            self._keep_weights()
        return code

    def _is_same(self, hashes, inner):
        """Whether a state with names is of these datasets, in this order. (The
        rest is the library's to say.)"""
        return (hashes == [*map(_hash, self._names)] and
                [desc.num_samples for desc in described_mix(inner)[0]] ==
                [desc.num_samples for desc in self._descs])

    def _load_others(self, state, hashes, restart):
        """What has become of the datasets here, in words."""
        own = {_hash(name): i for i, name in enumerate(self._names)}
        numbers = array.array("I", [own.get(each, OFF)
                                    for each in hashes])
        statuses = array.array("I", bytes(4 * len(own)))
        code = c.mixture_load(self._memory, state, len(state),
                              address(numbers), address(statuses), restart)
        changed = [name for name, status in zip(self._names, statuses)
                   if status == _CHANGED]
        if code == EMISMATCH_DATASET:
            raise ValueError(
                f"the state has another dataset {listed(map(shown, changed))}:"
                " restart=True begins its epoch anew")
        check(code)
        self._keep_weights()
        self._begin_history()
        return {name: "new" if status == _NEW else "changed"
                for name, status in zip(self._names, statuses) if status}
