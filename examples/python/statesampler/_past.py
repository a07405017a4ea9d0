"""The history of a run of a sampler for torch: what was done to it besides
going on. It is that of recorded.py and mix.py."""

import warnings

from ._cursors import MixCursor, described, described_mix
from ._library import c
from .factors import WEIGHTED
from .mix import Mix
from .recorded import Sampler
from .samplers import as_bytes

# HISTORY_EORDER and HISTORY_EOTHER.
_NOT_OF_IT = -1402, -1403


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


def _shapes(run):
    """What a history notes as a shape."""
    return [(desc.world_size, desc.batch_size, desc.drop_last)
            for desc in getattr(run, "_descs", [run._shape])]


def _bare(state):
    return state[len(WEIGHTED):] if state.startswith(WEIGHTED) else state


class Past:
    """`run` has the history, as it was when something was last done. None:
    nothing has been done since the first step of epoch 0."""

    def __init__(self, run=None):
        self._run = run

    @classmethod
    def from_here(cls, cursor):
        """One that knows the steps from a cursor on."""
        run = _begun(cursor)
        run.load(_bare(cursor.save()))
        return cls(run)

    def noted(self, cursor, act):
        """The same and what is now done to the run, at a cursor."""
        run, state = _begun(cursor), _bare(cursor.save())
        try:
            run.load((self._run or run).history() + state)
        except ValueError as error:
            if getattr(error, "code", 0) not in _NOT_OF_IT:
                raise
            run.load(state)
        act(run)
        return Past(run)

    def text(self, cursor):
        """What a state_dict at a cursor has of it: nothing at the first step,
        and before what was last done. Empty: nothing has been done. (No state
        has drop_last, which such a run needs.)"""
        run, place = self._run, (cursor.epoch, cursor.step)
        if run is None:
            run = _begun(cursor)
            if place == (0, 0):
                return None
            if not any(dropped for *_, dropped in _shapes(run)):
                return ""
        elif not c.history_reaches(run._history, *place):
            return None
        return run.history().hex()

    @classmethod
    def loaded(cls, cursor, text, state):
        """That of a state_dict, for a cursor that goes on from its state."""
        here = cursor.after(state)
        if text is None:
            begun = (here.epoch, here.step) == (0, 0)
            return cls() if begun else cls.from_here(here)
        run, state = _begun(cursor), _bare(state)
        before = straight(state) if text == "" else None
        if before and _shapes(before) == _shapes(run):
            return cls()
        try:
            run.load((before.history() if before else as_bytes(text)) + state)
        except ValueError as error:
            if getattr(error, "code", 0) not in _NOT_OF_IT:
                raise
            warnings.warn("the history in this state_dict is of another run: "
                          "one that begins here takes its place",
                          stacklevel=4)
            return cls.from_here(here)
        return cls(run)
