"""Checks of arguments: each returns the value, or raises an error that names
the argument."""

import operator
import os
import reprlib
import sys
from collections.abc import Mapping

from ._codes import EENV_NUMBER, EENV_RANK, EENV_UNSET
from ._library import sentence


class _Short(reprlib.Repr):
    """A repr that fails does not hide what is wrong: it says the type."""

    def repr_int(self, value, level):
        """Python itself writes no number of 5,000 digits."""
        bits = value.bit_length()
        return repr(value) if bits <= 256 else f"an int of {bits} bits"


_short = _Short()
_short.maxlevel = 2
_short.maxstring = _short.maxother = 80


def shown(value):
    """A value in a message: all of it if it is short."""
    return cut(_short.repr(value))


def as_torch(value):
    """A value as torch's messages have it: a text without quotes."""
    return cut(value) if isinstance(value, str) else shown(value)


def cut(text):
    """A text in a message: its beginning and its end if it is long."""
    return text if len(text) <= 140 else f"{text[:100]}...{text[-37:]}"


def listed(names, most=3):
    """Names in a message, and how many more there are."""
    names = list(names)
    said, more = ", ".join(map(cut, names[:most])), len(names) - most
    return f"{said} and {more} more" if more > 0 else said


def kind_of(value):
    """The type of a value; of an array or a tensor also what is in it."""
    name = type(value).__name__
    if not hasattr(value, "dtype"):
        return name
    return f"{name} of {value.dtype}, of shape {[*value.shape]}"


def choice(what, value, names):
    if not isinstance(value, str) or value not in names:
        raise ValueError(f"{what} should be one of {', '.join(names)}, but "
                         f"got {what}={shown(value)}")
    return names.index(value)


def flag(what, value):
    """Accepts bools, including numpy's, 0 and 1; not strings, which would
    always be true."""
    try:
        if not isinstance(value, str) and value in (False, True):
            return bool(value)
    except (TypeError, ValueError, RuntimeError):   # An array has many.
        pass
    raise ValueError(f"{what} should be a bool, but got {what}={shown(value)},"
                     f" a {type(value).__name__}")


def whole(what, value, least, below):
    """Accepts integers in [least, below), including torch's and numpy's; not
    bools."""
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise ValueError(f"{what} should be an integer, but got "
                         f"{what}={shown(value)}, a {type(value).__name__}"
                         ) from None
    if not least <= number < below:
        raise ValueError(f"{what} should be an integer in [{least}, {below}),"
                         f" but got {what}={shown(number)}")
    return number


def length_of(what, value):
    try:
        length = len(value)
    except (TypeError, OverflowError) as error:
        raise ValueError(f"{what} should have a len(), but got "
                         f"{type(value).__name__}: {cut(str(error))}"
                         ) from None
    return whole(f"len({what})", length, 0, 2**62 + 1)


def length_if_any(value, ask=len):
    """None where there is none, whatever is raised to say so."""
    try:
        return ask(value)
    except Exception:
        return None


def whole_batch_size(value):
    """The same messages as torch's BatchSampler, but numpy's integers are
    accepted."""
    try:
        number = 0 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = 0
    if number <= 0:
        raise ValueError("batch_size should be a positive integer value, "
                         f"but got batch_size={as_torch(value)}")
    return whole("batch_size", number, 1, 2**32)


def _is_ours(kind):
    return kind.__module__.partition(".")[0] == __package__


def has_own_iter(thing):
    """Whether an object's __iter__ is of a user's subclass."""
    return not _is_ours(next(kind for kind in type(thing).__mro__
                             if "__iter__" in vars(kind)))


class Fixed:
    """Attributes in `_fixed` are not to be assigned once `_last` is there, as
    that would not change the order. (A user's subclass may have others of such
    a name.)"""

    _last = "_made"
    _instead = {"weights": "weigh", "num_samples": "resize", "epoch": "begin"}

    def __setattr__(self, name, value):
        if name in self._fixed and self._last in vars(self) and (
                hasattr(self, name) or
                _is_ours(type(self))):
            method = self._instead.get(name, "")
            raise AttributeError(f"{name} cannot be changed: " + (
                f"call {method}" if hasattr(self, method) else
                f"make another {type(self).__name__}"))
        super().__setattr__(name, self._checked(name, value))

    def _checked(self, name, value):
        return value


# How launchers name the world size and the rank.
_LAUNCHERS = (("torchrun", "WORLD_SIZE", "RANK"),
              ("openmpi", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"),
              ("pmi", "PMI_SIZE", "PMI_RANK"),
              ("slurm", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID"))


def _from_environment():
    """World size, rank and launcher, as statesampler_from_env gives them: it
    needs a C library, which ours does not."""
    for launcher, *names in _LAUNCHERS:
        size, rank = map(os.environ.get, names)
        # In a batch script Slurm sets a rank, too, but that is one process.
        if size is not None or rank is not None and launcher != "slurm":
            break
    else:
        return 1, 0, "none"

    def wrong(code):
        return ValueError(f"the environment of {launcher}: {sentence(code)}")
    numbers = []
    for text in size, rank:
        if text is None:
            raise wrong(EENV_UNSET)
        digits = text.lstrip("0")
        if not (text.isascii() and text.isdigit()) or len(digits) > 10 or int(
                digits or "0") >= 2**32:
            raise wrong(EENV_NUMBER)
        numbers.append(int(digits or "0"))
    if numbers[1] >= numbers[0]:
        raise wrong(EENV_RANK)
    return (*numbers, launcher)


def _found_world():
    """World size and rank from torch.distributed if it is initialised, else
    from the launcher's environment, else (1, 0, False). The third value tells
    whether one of the two had them."""
    dist = sys.modules.get("torch.distributed")
    if dist and dist.is_available() and dist.is_initialized():
        return dist.get_world_size(), dist.get_rank(), True
    size, rank, launcher = _from_environment()
    return size, rank, launcher != "none"


def world(num_replicas, rank, name="num_replicas"):
    """Fills in arguments that are None. The name is that of the first."""
    if num_replicas is not None:
        num_replicas = whole(name, num_replicas, -2**63, 2**32)
    if num_replicas is None or rank is None:
        found_replicas, found_rank, said = _found_world()
        if rank is None and num_replicas not in (None, found_replicas):
            # Otherwise every process would be rank 0.
            raise ValueError(
                f"rank should be given with {name}={num_replicas}, as " +
                (f"{found_replicas} ranks were found" if said else
                 "neither torch.distributed nor the environment gives it"))
        num_replicas = found_replicas if num_replicas is None else num_replicas
        rank = found_rank if rank is None else rank
    rank = whole("rank", rank, -2**63, 2**63)
    if rank >= num_replicas or rank < 0:
        raise ValueError(
            f"Invalid rank {rank}, rank should be in the interval "
            f"[0, {num_replicas - 1}]")
    return num_replicas, rank


def text_of(fingerprint):
    """A fingerprint as readable text; torch.load takes no class of its own."""
    if fingerprint is None:
        return None
    try:
        plain = getattr(fingerprint, "item", lambda: fingerprint)()
        if isinstance(plain, bool):
            raise TypeError
        if isinstance(plain, (bytes, bytearray)):
            return f"bytes {plain.hex()}"
        if isinstance(plain, str):
            return str.__str__(plain)
        if isinstance(plain, float):
            return float.__repr__(plain)
        return repr(operator.index(plain))
    except (TypeError, ValueError, RuntimeError):
        raise ValueError("fingerprint should be a string, bytes or a number, "
                         f"but got a {type(fingerprint).__name__}") from None


def other_fingerprint(theirs, ours):
    """What differs, in words; nothing if one of them is None."""
    if theirs == ours or None in (theirs, ours):
        return []
    theirs, ours = cut(repr(theirs)), cut(repr(ours))
    return [f"the state has fingerprint {theirs}, but here it is {ours} "
            f"(if the dataset is the same, pass fingerprint={theirs})"]


def own_fingerprint(dataset):
    """What Hugging Face's datasets know themselves by; None elsewhere."""
    own = getattr(dataset, "_fingerprint", None)
    return own if isinstance(own, (str, bytes, int)) else None


# Their order is not that of the datasets or samples, or they are no numbers.
_NO_LISTS = Mapping, set, frozenset, str, bytes


def items(what, value):
    try:
        if not isinstance(value, _NO_LISTS):
            return list(value)
    except TypeError:
        pass
    raise ValueError(f"{what} should be a list, but got "
                     f"{what}={shown(value)}")
