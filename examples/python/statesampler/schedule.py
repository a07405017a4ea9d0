"""Shares of a Mix that change as often as you like, by stages of
examples/extras/schedule.h."""

import array
import ctypes

from ._arguments import items, shown, whole
from ._codes import SCHEDULE_ETOKENS, may_come
from ._library import SHARE_BYTES, Stages, address, c, check, memory

# SCHEDULE_MOST_TURNS and _TOKENS.
_MOST = 2**28
_MOST_TOKENS = 2**50

# That many turns of a mix with a schedule can be asked for, which plans stages
# one by one; a long one in pieces of so many turns.
TURNS = 2**45

# A sample may never come: so many stages are looked through.
_STAGES = 10000


class Schedule:
    """What share of the turns of a Mix each dataset has, stage by stage. In a
    stage a dataset gets whole turns, and what it is owed beyond them is carried
    to the next one: so each is at most about a turn from its share, in stages
    of any length. (Mix.weigh begins with the heaviest datasets each time, and
    if it is called often the light ones are never served.)

    stages: a table of the stages, as pairs of a number of turns and a list of
        shares, one for each dataset; the last number may be None, for all
        turns that follow. Or a function that gets the turn at which a stage
        begins, and returns such a pair. Shares are numbers, whose sum may be
        any; a dataset with 0 has no turn. If the Mix has names, the shares are
        a dict, from which a name may be missing.
    means: None: shares are of turns. Else how many tokens the turns of each
        dataset have, roughly, as a list or dict: shares are then of tokens,
        and Mix.had says after each turn how many it had. What that is beyond
        the means is made good in the next stage: so take short ones, of which
        none has None turns. The last row then comes again and again.

    A function should depend on its argument alone: then at and seek know the
    stages to come. If shares come from what the run has learned, only go on."""

    def __init__(self, stages, means=None):
        self.means = means
        if not callable(stages):
            stages = [self._row(row) for row in items("stages", stages)]
            if not stages:
                raise ValueError("stages should not be empty")
            if None in [turns for turns, _ in stages[:-1]]:
                raise ValueError("only the last stage can have None turns, as "
                                 "no other one would come after it")
        self.stages = stages

    def _row(self, row):
        try:
            turns, shares = row
        except (TypeError, ValueError):
            raise ValueError("a stage should be a number of turns and a list "
                             f"of shares, but got {shown(row)}") from None
        if turns is None and self.means is not None:
            raise ValueError("with means no stage can have None turns, as what "
                             "had() says is made good in the next one: say "
                             "some hundred turns")
        return (turns if turns is None else
                whole("turns", turns, 1, 2**63)), shares

    def stage(self, turn):
        """The turns and the shares of the stage that begins at a turn."""
        if callable(self.stages):
            return self._row(self.stages(turn))
        begin = 0
        for turns, shares in self.stages:
            if turns is None:
                return None, shares
            begin += turns
            if turn < begin:
                return begin - turn, shares
        if self.means is None:
            return None, shares     # The last stage goes on.
        turns, shares = self.stages[-1]
        return turns - (turn - begin) % turns, shares


def listed_shares(what, values, names, count):
    """A number for each dataset."""
    if isinstance(values, dict):
        unknown = [name for name in values if name not in (names or ())]
        if unknown:
            raise ValueError(f"{what}: there is no dataset {shown(unknown[0])}")
        values = [values.get(name, 0) for name in names or ()]
    values = items(what, values)
    if len(values) != count:
        raise ValueError(f"{what} should have {count} items, as lengths has, "
                         f"but got {len(values)}")
    return values


def shares_of(values, names, count):
    """As an array of C's."""
    shares = listed_shares("shares", values, names, count)
    try:
        return (ctypes.c_double * count)(*shares)
    except (TypeError, ValueError, OverflowError):
        raise ValueError("shares should be numbers, but got "
                         f"{shown(shares)}") from None


class Running:
    """A schedule at a stage of a mix. `place` has the stage's first turn, and
    that of the next one."""

    def __init__(self, schedule, names, count, turn):
        self._made = schedule, names, count
        self.schedule, self._names, self._count = schedule, names, count
        self._shares = memory(SHARE_BYTES * count)
        self._weights = memory(4 * count)
        self.place, means = Stages(), None
        self.tokens, self._most = schedule.means is not None, _MOST
        if self.tokens:
            means = listed_shares("means", schedule.means, names, count)
            means = array.array("I", [whole("a mean", mean, 1, 2**31)
                                      for mean in means])
            self._most = min(_MOST, _MOST_TOKENS // max(means))
        c.schedule_start(self.place, self._shares, self._weights, count, turn,
                         means and address(means))

    def next_stage(self):
        """What schedule_follow needs besides the mix."""
        turns, shares = self.schedule.stage(self.place.end)
        return (self.place, shares_of(shares, self._names, self._count),
                min(turns or _MOST, self._most))

    def sums(self):
        """The weights of the stages that were passed over, together."""
        c.schedule_sums(self.place)
        return type(self._weights).from_buffer_copy(self._weights)

    def save(self):
        state = ctypes.create_string_buffer(32 + 8 * self._count)
        check(c.schedule_save(self.place, state, len(state)))
        return state.raw

    def loaded(self, state):
        """One at the stage of a state, of a mix at a turn."""
        other = Running(*self._made, 0)
        check(c.schedule_load(other.place, state, len(state)))
        return other

    def copy(self):
        """One that knows, too, what was told in the stage."""
        other = self.loaded(self.save())
        ctypes.memmove(other._shares, self._shares,
                       ctypes.sizeof(self._shares))
        return other


class Ahead:
    """A copy of a mix and its schedule that goes on to look up turns. past: it
    is from the start of the epoch, and answers for past turns alone, as ranks
    may have changed since."""

    def __init__(self, mix, running, past):
        self._mix, self._running = mix, running.copy()
        self._first, self._past = mix.step, past

    def reaches(self, turn, past):
        return past == self._past and turn >= self._first

    def _go_on(self):
        """To the next stage."""
        place = self._running.place
        # With tokens only the stage that begins here is known.
        if self._running.tokens and place.end > self._mix.step:
            if self._past:
                raise ValueError("with shares of tokens, a straight run is "
                                 "known in its first stage alone")
            check(SCHEDULE_ETOKENS)
        self._mix.seek(place.end)
        check(c.schedule_follow(None, self._mix._memory,
                                *self._running.next_stage()))
        self._first = place.begin

    def mix_at(self, turn):
        """The copy, at the stage of a turn."""
        while turn >= self._running.place.end:
            self._go_on()
        return self._mix

    def locate(self, find, index):
        """Where a sample comes, in its dataset's present epoch."""
        for _ in range(_STAGES):
            self._go_on()
            try:
                place = self._mix._located(find, index)
            except ValueError as error:
                if not may_come(error.code):
                    raise
            else:
                if place.step < self._running.place.end:
                    return place
        raise ValueError(f"sample {index}: not served up to turn "
                         f"{self._running.place.end}, in {_STAGES} stages to "
                         "come")
