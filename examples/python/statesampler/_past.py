"""The history of a run of a sampler for torch: what was done to it besides
going on. It is that of recorded.py and mix.py."""

import warnings

from ._cursors import MixCursor, described, described_mix
from ._codes import HISTORY_EORDER, HISTORY_EOTHER
from ._library import c
from .factors import WEIGHTED
from .mix import Mix
from .recorded import Sampler
from .samplers import as_bytes

# A history that does not lead to its state.
_NOT_OF_IT = HISTORY_EORDER, HISTORY_EOTHER


def _made(kind, *made):
    run = object.__new__(kind)
    run._make(*made)
    return run


def _mix(descs, weights, stop):
    return _made(Mix, descs, weights, stop, 0, None, None)


def straight(state):
    """A run at the first step of epoch 0, as a state describes it."""
    if state[:4] == b"SSMX":
        descs, weights, place = described_mix(state)
        for desc in descs:
            desc.epoch = 0
        return _mix(descs, weights, place.stop)
    desc, _ = described(state)
    desc.epoch = 0
    return _made(Sampler, desc)


def _begun(cursor):
    """The same, as a cursor describes it."""
    if isinstance(cursor, MixCursor):
        return _mix(*cursor._made[:3])
    return _made(Sampler, cursor._made[0])


def _drops(cursor):
    """Whether a dataset has drop_last."""
    return any(desc.drop_last
               for desc in getattr(cursor, "_descs", [cursor._shape]))


def _bare(state):
    return state[len(WEIGHTED):] if state.startswith(WEIGHTED) else state


class Past:
    """`run` has the history, as it was when something was last done. None:
    nothing has been done since the first step of epoch 0. `at_start`: the same,
    but the run has drop_last, which no state has."""

    def __init__(self, run=None, at_start=False):
        self._run, self._at_start = run, at_start or run is None
        self._text = None       # Once a state_dict has it.

    @classmethod
    def of_new(cls, cursor):
        """That of a run at the first step of epoch 0."""
        return cls(_begun(cursor) if _drops(cursor) else None, True)

    @classmethod
    def from_here(cls, cursor):
        """One that knows the steps from a cursor on."""
        run = _begun(cursor)
        run.load(_bare(cursor.save()))
        return cls(run)

    def noted(self, cursor, act, begun):
        """The same and what is now done to the run, at a cursor that has gone
        straight on from the state `begun`. (A mix goes back no further.)"""
        run = _begun(cursor)
        run.follow(self._run or _begun(cursor), _bare(begun))
        before = run.history() if self._at_start else None
        run.go_to(cursor.step)
        act(run)
        if self._at_start and run.history() == before:
            return self
        return Past(run)

    def text(self, cursor):
        """What a state_dict at a cursor has of it: nothing at the first step,
        and before what was last done. Empty: nothing has been done."""
        run, place = self._run, (cursor.epoch, cursor.step)
        if self._at_start and place == (0, 0):
            return None
        if run is None:
            return ""
        if not c.history_reaches(run._history, *place):
            return None
        if self._text is None:
            self._text = run.history().hex()
        return self._text

    @classmethod
    def loaded(cls, cursor, text, state):
        """That of a state_dict, for a cursor that goes on from its state."""
        if text == "" and not _drops(cursor) and (
                cursor.summary(state)[2] == cursor.summary(cursor.save())[2]):
            return cls()
        here = cursor.after(state)
        if text is None:
            begun = (here.epoch, here.step) == (0, 0)
            return cls.of_new(here) if begun else cls.from_here(here)
        run, state = _begun(cursor), _bare(state)
        history = as_bytes(text) if text else straight(state).history()
        try:
            run.load(history + state)
        except ValueError as error:
            if getattr(error, "code", 0) not in _NOT_OF_IT:
                raise
            warnings.warn("the history in this state_dict is of another run: "
                          "one that begins here takes its place",
                          stacklevel=4)
            return cls.from_here(here)
        return cls(run)
