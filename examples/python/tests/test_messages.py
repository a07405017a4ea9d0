"""No message has the whole of a value that may be huge, or fails where its repr
does: each argument of all that is public gets such values."""

import copy
import inspect
import math
import io
import itertools
import unittest
import warnings
from contextlib import redirect_stderr, redirect_stdout

from common import main, torch
from statesampler import (Audit, BlendedBatchSampler, CountingDataLoader,
                          Ledger, Mix, PackedBatchSampler, RepeatSampler,
                          RoundRobinBatchSampler, Sampler, Schedule,
                          SpreadBatchSampler, StatefulDistributedSampler,
                          StatefulLoader)
from statesampler.__main__ import main as command

MOST = 600      # characters of a message


class Mute:
    """Whose repr fails."""

    def __repr__(self):
        raise ZeroDivisionError

    __str__ = __repr__


class MuteNumber(int):
    __str__ = __repr__ = Mute.__repr__


class Loud:
    def __repr__(self):
        return "x" * 10**6


HUGE = {
    "text": "x" * 10**6, "bytes": b"SSMP" + b"x" * 10**6,
    "hex": "5353" * 10**6, "list": ["x"] * 10**6, "number": 10**10**5,
    "negative": -10**10**5, "numbers": [10**10**5] * 3,
    "nested": [["x" * 10**6] * 9] * 9, "dict": {"x" * 10**6: "x" * 10**6},
    "tuple": ("x" * 10**6,), "mute": Mute(), "mutes": [Mute()] * 9,
    "mute number": MuteNumber(-3), "large mute number": MuteNumber(2**70),
    "loud": Loud()}

# Of any kind.
ODD = {"None": None, "True": True, "2": 2, "0": 0, "-1": -1, "2.5": 2.5,
       "nan": math.nan, "inf": math.inf, "'x'": "x", "b'x'": b"x", "[]": [],
       "[1]": [1], "['a']": ["a"], "[None]": [None, None], "{}": {},
       "{'a': 1}": {"a": 1}, "{1}": {1}, "()": (), "object": object(),
       "function": lambda *_: 1, "class": int, "complex": 1j,
       "tensor": torch.ones(2, 3), "one": torch.tensor(2.5), "2**64": 2**64,
       "10**400": 10**400}

# Arguments that take an object of a class.
OBJECTS = "schedule", "other"

# How Python's and torch's own messages begin.
INNER = "^('|object of|len\\(\\) of|int too|only |The truth|Boolean|unhash|argu)"

# Each with arguments that it takes. A list or a text may be right where
# samples, lengths, groups or a fingerprint are.
MADE = [
    (Sampler, dict(num_samples=9, rank=0, world_size=1, batch_size=2)),
    (Mix, dict(lengths=[9, 5], rank=0, world_size=1)),
    (Ledger, dict(sampler_or_length=9, window=64)),
    (StatefulDistributedSampler, dict(dataset=range(9), num_replicas=1, rank=0,
                                      batch_size=2)),
    (RoundRobinBatchSampler, dict(lengths=[9, 5], batch_size=2, rank=0,
                                  num_replicas=1)),
    (BlendedBatchSampler, dict(lengths=[9, 5], batch_size=2, rank=0,
                               num_replicas=1)),
    (RepeatSampler, dict(data_source=range(9), mini_repeat_count=2,
                         batch_size=3)),
    (PackedBatchSampler, dict(lengths=[3, 4] * 9, max_tokens=17, rank=0,
                              num_replicas=1)),
    (SpreadBatchSampler, dict(groups=list(range(9)), batch_size=2, rank=0,
                              num_replicas=1)),
    (Audit, {}),
    (Mix, dict(lengths=[9, 5], rank=0, world_size=1,
               schedule=Schedule([(3, [1, 2])])))]

OPTIONS = ("seed", "stream", "epoch", "shuffle", "replacement", "chunk_size",
           "window", "partition", "tail", "drop_last", "of_no_name")


def arguments(function):
    """The names of what can be given to it."""
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind == parameter.VAR_KEYWORD:
            yield from OPTIONS
        else:
            yield name


class Messages(unittest.TestCase):
    def refuses(self, what, function, *positional, **named):
        """If it refuses these arguments, it says so in a few words. Returns
        the kind of its error."""
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            try:
                function(*positional, **named)
                kind = None
            except (ArithmeticError, AttributeError, LookupError, RuntimeError,
                    TypeError, ValueError) as error:
                kind = type(error)
                # Python's own, of a signature or of one of its functions.
                self.assertNotIsInstance(error, ZeroDivisionError, what)
                self.assertLessEqual(len(str(error)), MOST, what)
                self.assertNotIn("Exceeds the limit", str(error), what)
        for each in warned:
            self.assertLessEqual(len(str(each.message)), MOST, what)
        return kind

    def test_constructors(self):
        for kind, given in MADE:
            for name in arguments(kind):
                for value in HUGE:
                    self.refuses((kind.__name__, name, value), kind,
                                 **{**given, name: HUGE[value]})

    def test_what_is_no_number(self):
        """Is refused by the argument's name."""
        for kind, given in MADE:
            numbers = [name for name in given if isinstance(given[name], int)]
            for name, value in itertools.product(numbers, (
                    None, torch.ones(2, 3), torch.tensor(2.5))):
                # None is a default.
                if value is None and (kind is StatefulDistributedSampler or
                                      name not in ("batch_size",
                                                   "max_tokens")):
                    continue
                with self.subTest(kind=kind, name=name, value=value):
                    with self.assertRaisesRegex(ValueError, name.replace(
                            "sampler_or_", "")):
                        kind(**{**given, name: value})
            if "rank" in given:     # The number of ranks alone.
                name, = {"world_size", "num_replicas"} & {*arguments(kind)}
                with self.assertRaisesRegex(ValueError, name):
                    kind(**{**given, "rank": None, name: torch.ones(2, 3)})

    def test_names(self):
        """Of arguments that there are not."""
        for kind, given in MADE[:3]:
            for names in ["x" * 10**6], map("x{}".format, range(10**5)):
                self.assertIs(TypeError, self.refuses(
                    kind.__name__, kind, **given, **dict.fromkeys(names)))

    def asked(self, name, odd, function, options):
        """A wrong value is a ValueError. A TypeError is only what is in an
        object's place, or has no place."""
        with self.subTest(function=function, name=name, value=odd), (
                warnings.catch_warnings()):
            warnings.simplefilter("ignore")
            try:
                function(**options)
            except ValueError as error:
                self.assertNotRegex(str(error), INNER)
            except TypeError as error:
                if name not in OBJECTS:
                    self.assertIn("unexpected", str(error))
            except (RuntimeError, StopIteration) as error:
                self.assertNotRegex(str(error), INNER)

    def test_kinds(self):
        for kind, given in MADE:
            for name in {*arguments(kind)} - {"of_no_name"}:
                more = {}
                if name in ("chunk_size", "window") and kind is not Ledger:
                    more = dict(chunk_size=3, window=3)
                for odd in ODD:
                    self.asked(name, odd, kind,
                               {**given, **more, name: ODD[odd]})
            for method, _ in inspect.getmembers(kind(**given), callable):
                if method.startswith("_"):
                    continue
                method = getattr(kind, method)
                names = inspect.signature(method).parameters
                needs = {name: 0 for name, parameter in names.items()
                         if parameter.default is parameter.empty}
                for name in {*names} - {"self"}:
                    for odd in ODD:
                        self.asked(name, odd, method, {
                            **needs, "self": kind(**given), name: ODD[odd]})

        for kind, given in MADE[:2] + MADE[-1:]:
            for ask in kind(**given).at, kind(**given).locate:
                with self.assertRaisesRegex(ValueError, "straight .* a bool"):
                    ask(0, straight="no")

    def test_kinds_inside(self):
        """Values in lists and dicts."""
        for odd, value in ODD.items():
            self.asked("weights", odd, Sampler, dict(
                num_samples=9, rank=0, world_size=1, weights=[value] * 9))
            for lengths in [9, 5], {"a": 9, "b": 5}:
                for each in value, [value, 1], {"a": value, "b": 1}:
                    for name in "batch_size", "weights":
                        self.asked(name, odd, Mix, dict(
                            lengths=lengths, rank=0, world_size=1,
                            **{name: each}))
                    for schedule in (lambda: Schedule(lambda _: (2, each)),
                                     lambda: Schedule([(2, each)]),
                                     lambda: Schedule([(2, [1, 1])], each)):
                        self.asked("shares", odd, lambda schedule: next(Mix(
                            lengths, 0, 1, schedule=schedule())),
                            dict(schedule=schedule))

    def test_methods(self):
        for kind, given in MADE:
            one = kind(**given)
            for name, method in inspect.getmembers(one, callable):
                if name.startswith("_"):
                    continue
                for argument in arguments(method):
                    for value in HUGE:
                        given_too = ({"index": 0} if name == "sample_seed"
                                     and argument == "epoch" else
                                     {"epoch": 0} if name == "sample_seed" else
                                     {"step": 0} if name == "at" else {})
                        self.refuses(
                            (kind.__name__, name, argument, value), method,
                            **{**given_too, argument: HUGE[value]})

    def test_states(self):
        """Values in a state_dict, or instead of one."""
        for kind, given in MADE:
            one = kind(**given)
            if not hasattr(one, "state_dict"):
                continue
            state = one.state_dict()
            for key in {*state, "fingerprint", "history", "another"}:
                for value in HUGE:
                    what = kind.__name__, key, value
                    self.refuses(what, kind(
                        **{**given, "fingerprint": "F" * 10**6}
                        ).load_state_dict, {**state, key: HUGE[value]})
                    self.refuses(what, one.load_state_dict,
                                 {**state, key: HUGE[value]})

    def test_attributes(self):
        """An argument that is assigned later would change nothing: the error
        says what to do. A few do, and are checked."""
        for kind, given in MADE:
            one, names = kind(**given), {*inspect.signature(kind).parameters}
            if "options" in names:
                names.remove("options")
                names |= {*OPTIONS[:4 if kind is Ledger else -1]}
            if kind is StatefulDistributedSampler:
                names.remove("batch_size")
            for name in names - {"dataset", "data_source", "fingerprint",
                                 "changed", "read_ahead"}:
                for value in HUGE:
                    for each in one, copy.copy(one):
                        with self.assertRaisesRegex(
                                AttributeError, f"^{name} cannot be changed: "
                                "(call|make another) [A-Za-z_]*$"):
                            setattr(each, name, HUGE[value])
        class Own(Sampler):     # A user's, with a name that Sampler has not.
            def __init__(self):
                super().__init__(9, 0, 1)
                self.tail = "its own"

        self.assertEqual(Own().tail, "its own")
        with self.assertRaisesRegex(AttributeError, "^epoch cannot be changed"):
            Own().epoch = 5
        for kind, given in MADE:
            if hasattr(kind, "weigh"):
                with self.assertRaisesRegex(AttributeError, ": call weigh$"):
                    kind(**given).weights = [1, 1]
        for name, method, one in (
                ("num_samples", "resize", Sampler(9, 0, 1)),
                ("epoch", "begin", Mix([9], 0, 1)),
                ("num_samples", "resize",
                 StatefulDistributedSampler(range(9), 1, 0))):
            with self.assertRaisesRegex(AttributeError, f": call {method}$"):
                setattr(one, name, 5)
        ledger = Ledger(9, 64)
        ledger.fingerprint = 5
        self.assertEqual(ledger.state_dict()["fingerprint"], "5")
        with self.assertRaisesRegex(ValueError, "fingerprint should be"):
            ledger.fingerprint = []
        sampler = StatefulDistributedSampler(range(9), 1, 0)
        inner = torch.utils.data.DataLoader(range(9), sampler=sampler)
        for each, name in itertools.product((sampler, inner, StatefulLoader(
                inner, sampler)), ("items", "sampler")):
            with self.assertRaisesRegex(AttributeError, ": make another Stat"):
                setattr(StatefulLoader(each, sampler), name, 5)
        for value in HUGE:
            self.refuses(value, CountingDataLoader, HUGE[value])
            self.refuses(value, CountingDataLoader, range(9),
                         sampler=HUGE[value])

    def test_what_is_kept(self):
        """What is short is said as it is."""
        for wrong, said in (
                (dict(seed="7"), "got seed='7', a str"),
                (dict(seed=2**64), "got seed=18446744073709551616"),
                (dict(seed=10**10**5), "got seed=an int of 332193 bits"),
                (dict(tail="x" * 99), "got tail='xxx.*xxx\\.\\.\\.xxx.*x'"),
                (dict(shuffle=[2] * 99),
                 r"got shuffle=\[2, 2, 2, 2, 2, 2, \.\.\.\], a list")):
            with self.assertRaisesRegex((TypeError, ValueError), said):
                Sampler(9, 0, 1, **wrong)

    def test_command(self):
        """Its complaints, of arguments and of what a file holds."""
        long = "9" * 10**6
        for asked in (["--steps", long], ["--steps", long + ".." + long],
                      ["--where", long], ["--rank", "x" * 10**6],
                      ["--" + "x" * 10**6], ["--steps=" + long],
                      ["--epoch", long], ["--world-size", "0" * 10**6]):
            for arguments_ in (["file", *asked], ["file", "a" * 10**6, *asked]):
                out, error = io.StringIO(), io.StringIO()
                with redirect_stdout(out), redirect_stderr(error):
                    self.assertEqual(command(arguments_), 2)
                self.assertLessEqual(len(error.getvalue()), MOST)
                self.assertRegex(error.getvalue(), "is not|unknown|unexpected")


if __name__ == "__main__":
    main()
