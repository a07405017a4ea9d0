"""Answers from a saved state which samples were in a step, and where a sample
is."""

import ctypes
import itertools
import os
import struct
import sys

from ._arguments import cut, listed, shown
from ._codes import ERANGE_INDEX, may_come
from ._cursors import (OWNERS, described, recall_mix, recall_sampler,
                       reshape_mix)
from ._library import (ORDERS, PARTITIONS, STATE_BYTES, STOPS, TAILS, Desc,
                       MixPlace, c, check, sentence)
from ._record import LoaderRecord, Record
from .samplers import (library_state, mix_state, split, split_schedule,
                       unpack)

_USAGE = """\
usage: python -m statesampler FILE [OPTION]...

FILE is what Sampler.save, Mix.save or statesampler.h wrote; or a checkpoint of
torch's or DeepSpeed's, a pickle or JSON, with a state or a state_dict anywhere
in its dicts, lists and tuples. Without an option, what it holds is printed.
Sampler, Mix, StatefulDistributedSampler and RoundRobinBatchSampler save a
history of their run, which knows every step of it. A state without one is one
place of a run: it cannot know whether the run came to it and went on from it
straight, so every question is refused unless --straight says so. Indices of a
mix are those of its datasets one after another.

  --steps A..B    the indices in steps A to B, or in one step A
  --rank R        of this rank; default 0
  --all           of all ranks
  --where INDEX   step, rank and slot of a sample, or rank and position if
                  the run had batches of several sizes, or a batch sampler of
                  its own; may be given several times; in a mix, in each
                  of its dataset's epochs; without a history in the present
                  one
  --epoch N       in this epoch, as FILE's ranks and weights serve it
  --world-size N  of a run of so many ranks that goes on from FILE
  --batch-size N  the DataLoader's, if the state_dict of a
                  StatefulDistributedSampler or RepeatSampler does not have
                  it; else as --world-size
  --drop-last     the run had drop_last=True, which only a Ledger's state
                  holds
  --straight      the run had no seek, no begin and no other weights, ranks,
                  batches or length from FILE to these steps; or, if they
                  come before FILE, from the start of their epoch to FILE.
                  The state alone is asked then, also if there is a history
  --sampler PATH  which sampler of the checkpoint

If ranks, batch_size or weights changed in an epoch, ask the state from that
moment: about the steps before as it is, about those after with --world-size.
The exit status is 1 if a sample is not served, or without --straight."""


# Such a state is longer than the Sampler's that it begins with.
_PACK = "the state of examples/extras/pack.h does not hold the lengths"
_PACK_BYTES = STATE_BYTES + 24

# RECORDER_EUNKNOWN of examples/extras/recorder.h.
_UNKNOWN = ("a state is one place of a run: it cannot know whether the run "
            "made a seek or a begin, or had other weights, ranks, batches or "
            "another length, before it or after it; --straight says that it did "
            "not")

# What two of them have: perhaps a step and ranks, and a Sampler's state.
_PLACES = {b"SSP1": struct.Struct("<4sQ24xI9x112s"),
           b"SSS1": struct.Struct("<4s112s12x")}
_HOLDERS = dict, list, tuple, bytes, bytearray, str
_HISTORY = "53534831"       # "SSH1"
_MAGICS = (b"SSC1", b"SSH1", b"SSMP", b"SSMX", b"SSMN", *OWNERS)


class Recorded:
    """A state in a file, and its run. `of_loader`: a step of it is one sample
    per rank, as a StatefulDistributedSampler does not know the batches.
    ledger: the state of the Ledger whose sampler's state this is. history: what
    a state_dict of a sampler for torch has; empty if nothing was done. size:
    that of the run's batches, by its state_dict; 0: they had several; None:
    nobody knows, or the state itself has it."""

    def __init__(self, path, state, of_loader=False, fingerprint=None,
                 ledger=None, drop_last=False, history=None, size=None):
        # The turn at which its stage ends, and its weights with that.
        self.stage = self.history = self.error = None
        try:
            _, state, self.stage = split_schedule(state)
            self.history, state = split(state)
        except ValueError as error:
            self.error = error      # Other states of the file answer.
        self.path, self.fingerprint = path, fingerprint
        self.ledger = state if state[:4] == b"SSL1" else ledger
        _, self.needs = OWNERS.get(state[:4], (None, None))
        if state[:4] == b"SSMP" and len(state) == _PACK_BYTES:
            self.needs = _PACK
        self.groups = state[:4] == b"SSG1"      # a RepeatSampler's
        # A Sampler's own state has its batch_size.
        self.of_loader = self.groups or of_loader and (
            _batch_size(state) == 1)
        self.state, self.mixes = state, state[:4] in (b"SSMX", b"SSMN")
        self.unit, self.base, self.short = 1, 0, 0
        self.drop_last = drop_last
        self.size = size if self.of_loader or size == 0 else None
        if history is not None and not self.needs:
            self.history = _history(history, state)

    def open(self, epoch=None, drop_last=False, world_size=None,
             batch_size=None):
        """Makes the cursor that answers."""
        if self.error:
            raise self.error
        if self.needs:
            raise ValueError(self.needs)
        self.drop_last = drop_last = drop_last or self.drop_last
        self.goes_on = world_size is not None
        if self.mixes:
            if batch_size is not None:
                raise ValueError("--batch-size: a mix keeps those of its "
                                 "datasets")
            self.cursor = recall_mix(_mix(self.state), epoch, drop_last)
            if world_size is not None:
                reshape_mix(self.cursor, world_size)
        elif self.groups:
            from . import _groups
            if world_size is not None:
                raise ValueError("--world-size: accelerate deals batches to "
                                 "any number of ranks")
            self.cursor = _groups.recall(self.state, epoch)
        elif self.of_loader:
            self.cursor = recall_sampler(self.state, epoch, False, world_size)
        else:
            self.cursor = recall_sampler(self.state, epoch, drop_last,
                                         world_size, batch_size)
        self.epoch = self.cursor.epoch
        self.world_size = self.cursor._shape.world_size
        if self.of_loader:
            self.unit = batch_size or 1
            if not self.groups:
                self._count_from_base(None not in (batch_size, self.size) and
                                      batch_size != self.size)

    def _count_from_base(self, changed):
        """Batches end where the number of ranks changed, or where a run went
        on from the state with others, or with a changed size. That a state is
        between two batches may show that batch_size is wrong."""
        here = recall_sampler(self.state, None, False)
        if self.epoch != here.epoch and here.num_steps is not None:
            return
        base = here.base
        if changed or (
                self.cursor._shape.world_size != here._shape.world_size):
            base = here.step
        elif (here.step - base) % self.unit and here.step != here.num_steps:
            if not self.goes_on:
                raise ValueError(
                    f"{here.step - base} samples per rank were served, which "
                    f"batches of --batch-size {self.unit} do not give")
            base = here.step
        self.base, self.short = base, -base % self.unit

    def run(self, size=None, drop_last=False):
        """What its history says of the run, in a loader's batches of a size."""
        if self.history == _DAMAGED:
            raise ValueError("its history is damaged")
        if self.mixes:
            place, state = MixPlace(), _mix(self.state)
            check(c.mix_describe(state, len(state), 0, None, place))
            return Record(self.history, place.epoch, place.turn, state)
        desc, place = described(self.state)
        if size is None:
            return Record(self.history, desc.epoch, place.step, self.state)
        return LoaderRecord(self.history, desc.epoch, place.step, size,
                            drop_last, self.state)

    def first(self, step):
        """The first of a step's units."""
        if self.stage is not None and step >= self.stage:
            raise self._new_stage(f"turn {step}: ")
        first = self.unit * step - self.short
        if first < self.base:
            raise ValueError("this was before a change of ranks or batch_size:"
                             " ask a state from before it" +
                             ", or without --world-size" * self.goes_on)
        return first

    def _new_stage(self, said=""):
        """It has weights of which the state does not know."""
        return ValueError(f"{said}this state's schedule has a new stage at "
                          f"turn {self.stage}, which Mix.at knows")

    def at(self, step, rank):
        first = self.first(step)
        batch = self.cursor.batch(first, first + self.unit, rank)
        if self.drop_last and len(batch or ()) < self.unit:
            return None
        return batch

    def began(self, step):
        """The epoch in which a step begins: with tail="carry" steps count on
        through all."""
        if self.mixes or self.cursor.num_steps is not None:
            return self.epoch
        return self.cursor.copy_at(self.first(step)).epoch

    def dataset(self, step):
        """The number of a turn's dataset."""
        source = ctypes.c_uint32()
        c.mix_at(self.cursor._memory, step, None, None, source)
        return source.value

    def locate(self, index):
        try:
            place = self.cursor.locate(index)
        except ValueError as error:
            if self.stage is None or not may_come(error.code):
                raise
            raise self._new_stage() from None
        step = (place.step + self.short) // self.unit
        first = self.first(step)
        if self.at(step, place.rank) is None:
            raise ValueError("it is in the last batch, which is dropped")
        return place._replace(step=step, slot=place.slot + place.step - first)

    def about(self):
        """What the state says, as a line."""
        said = self._place() if self.needs else self._run()
        if self.ledger:
            from .ledger import described as described_ledger
            _, ledger = described_ledger(self.ledger)
            said.append(f"frontier {ledger.frontier}, {ledger.done} done "
                        "after it")
        if self.history:
            said.append(self._known())
        if self.size is not None:
            said.append(f"batches of {self.size or 'several sizes'}")
        if self.fingerprint is not None:
            said.append(f"fingerprint {cut(repr(self.fingerprint))}")
        return "; ".join(filter(None, (", ".join(said), self.needs)))

    def _place(self):
        """Of a state from which no step follows."""
        layout = _PLACES.get(self.state[:4])
        if not layout:
            return []
        found = unpack(layout, self.state[:4], self.state)
        if not found:
            raise ValueError("the state is damaged")
        desc, place = described(found[-1])
        step, ranks = found[1:-1] or (place.step, desc.world_size)
        return [f"epoch {desc.epoch}", f"step {step}", f"world_size {ranks}"]

    def _known(self):
        begins = [(stretch.begin_epoch, stretch.begin_step)
                  for stretch in self.run().stretches()]
        epoch, step = begins[0]
        return (f"{len(begins) - 1} events since step {step} of epoch "
                f"{epoch}")

    def _run(self):
        one, desc = self.cursor, self.cursor._shape
        descs = one._descs if self.mixes else [desc]
        said = [f"samples {'+'.join(str(d.num_samples) for d in descs)}",
                f"seed {desc.seed}", f"order {ORDERS[desc.order]}",
                f"partition {PARTITIONS[desc.partition]}",
                f"tail {TAILS[desc.tail]}", f"world_size {self.world_size}"]
        if self.mixes:
            said.append(f"stop {STOPS[one._stop]}")
        if not self.of_loader:
            said.append(f"batch_size {desc.batch_size}")
        place = str(one.step)
        if one.num_steps is not None:
            place += f" of {one.num_steps}"
        return said + [f"epoch {self.epoch}", f"{place} samples of a rank" if
                       self.of_loader else f"step {place}"]


# A history of no length.
_DAMAGED = b"SSH1"


def _history(text, state):
    """That of a state_dict. That it is damaged is said where it is asked."""
    from ._past import straight
    try:
        return bytes.fromhex(text) or straight(library_state(state)).history()
    except ValueError:
        return _DAMAGED if text else b""


def _mix(state):
    """The library's state in that of a mix."""
    return mix_state(library_state(state))


def _batch_size(state):
    """That of a Sampler's state; 0 if it is damaged or another's."""
    desc = Desc()
    c.describe(state, len(state), desc, None)
    return desc.batch_size


def find(path, thing, seen):
    """Yields what a checkpoint holds, by the path of its keys. `seen` has the
    containers, and whether there is anything in them: those that come again
    are gone through again only if there is, and never inside themselves."""
    raw = _raw(thing)
    if raw is not None:
        yield Recorded(path, raw)
    elif isinstance(thing, (dict, list, tuple)) and seen.get(id(thing), True):
        seen[id(thing)] = False
        for one in _inside(path, thing, seen):
            yield one
            seen[id(thing)] = None
        seen[id(thing)] = seen[id(thing)] is None


def _inside(path, thing, seen):
    """What a container holds."""
    if isinstance(thing, dict):
        rest = dict(thing)
        yield from _taken(path, rest)
        inside = [(f"{path}.{key}" if path else str(key), value)
                  for key, value in rest.items()]
    else:
        inside = [(f"{path}[{i}]", value) for i, value in enumerate(thing)]
    for where, value in inside:
        if isinstance(value, _HOLDERS):
            yield from find(where, value, seen)


def _taken(path, rest):
    """Takes out of a dict the keys of a state_dict. The others are not of one
    if the dict is a checkpoint that has a state under "state"."""
    raw, order = _raw(rest.get("state")), _raw(rest.get("sampler"))
    fingerprint = rest.get("fingerprint")
    if raw is not None:
        del rest["state"]
        if raw[:4] == b"SSL1" and order is not None:
            del rest["sampler"]
            yield Recorded(f"{path}.sampler" if path else "sampler", order,
                           False, fingerprint, raw,
                           rest.pop("drop_last", None) is True)
        else:
            history = rest.get("history")
            if not isinstance(history, str) or history[:8] not in ("",
                                                                   _HISTORY):
                history = None
            else:
                del rest["history"]
            size = rest.get("indices_per_batch")
            if type(size) is not int or not 0 <= size < 2**32:
                size = None
            yield Recorded(path or "state", raw, True, fingerprint,
                           history=history, size=size)


def _raw(thing):
    """The bytes of a state, whatever holds them; None if it is none."""
    thing = getattr(thing, "raw", thing)    # an array of numpy's
    if isinstance(thing, str) and thing[:4] == "5353":      # "SS"
        try:
            thing = bytes.fromhex(thing)
        except ValueError:
            return None
    if isinstance(thing, bytearray) or (    # or from JSON
            isinstance(thing, list) and thing[:2] == [83, 83]):
        try:
            thing = bytes(thing)
        except (TypeError, ValueError):
            return None
    return thing if isinstance(thing, bytes) and (
        thing[:4] in _MAGICS) else None


_READ = ("what is read is a state of statesampler.h, Sampler or Mix, a "
         "checkpoint of torch.save, a pickle of protocol 2 or newer, and JSON, "
         "one value a file")


def _in_folder(path):
    """The file of a folder that DeepSpeed wrote."""
    latest = os.path.join(path, "latest")
    if os.path.isfile(latest):
        with open(latest, "rb") as file:
            name = file.read().decode("utf-8", "replace").strip()
        path = os.path.join(path, name)
        if not os.path.isdir(path):
            raise ValueError(f"its file latest names {ascii(cut(name))}, which "
                             "is no folder in it")
    for name in ("mp_rank_00_model_states.pt",
                 "zero_pp_rank_0_mp_rank_00_model_states.pt"):
        if os.path.exists(os.path.join(path, name)):
            return os.path.join(path, name)
    raise ValueError("it is a folder: name a file in it. Of a distributed "
                     "checkpoint, torch.distributed.checkpoint.format_utils "
                     "makes one")


# States of a file. (One that is in shared lists may be there very often.)
_MOST = 10000


def _reader(begin):
    """What reads a file that begins so; None: it is a state. ValueError says
    what it is if nothing reads it."""
    from . import _checkpoint
    if begin[:2] == b"PK":
        return _checkpoint.read
    if begin[:13] == b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P":
        raise ValueError("it is in torch's old format: torch.save(torch.load("
                         "FILE), FILE) writes the present one")
    if begin[8:9] == b"{" and begin[5:8] == bytes(3):
        raise ValueError("it is of safetensors, which has tensors alone: "
                         + _READ)
    if begin[:1] == b"\x80":
        return _checkpoint.read_pickle
    if _may_be_json(begin):
        return _json
    raise ValueError(f"it begins with {shown(begin[:8])}: {_READ}")


def _may_be_json(begin):
    """Also after blanks, and in the encodings that PowerShell writes."""
    import json
    text = begin.decode(json.detect_encoding(begin), "replace")
    return text.strip()[:1] in ("", "{", "[")


def _json(path):
    import json
    from ._checkpoint import Foreign
    with open(path, "rb") as file:
        text = file.read()
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        if not error.msg.startswith("Extra data"):
            raise
        raise Foreign("more comes after its first JSON value, as in a "
                      ".jsonl") from None


def load(path):
    """Everything that a file holds."""
    if os.path.isdir(path):
        path = _in_folder(path)
    with open(path, "rb", buffering=0) as file:
        begin = file.read(16)
        if begin[:4] in _MAGICS or not begin:
            return [Recorded("", begin + file.readall())]
    read = _reader(begin)
    from ._checkpoint import Foreign
    try:
        found = list(itertools.islice(find("", read(path), {}), _MOST))
    except Foreign as error:
        raise ValueError(f"{error}: {_READ}") from None
    except RecursionError:
        raise ValueError("its dicts and lists are nested too deeply"
                         ) from None
    except Exception as error:  # Whatever a damaged pickle leads to.
        raise ValueError("it is damaged, or not all of it was written: "
                         f"{cut(str(error))}") from None
    if not found:
        raise ValueError("there is no state of a StatefulDistributedSampler, "
                         "RoundRobinBatchSampler, RepeatSampler, Sampler or "
                         "Mix in the dicts, lists and tuples of this "
                         "checkpoint")
    return found


def choose(found, path):
    """The state of that path; without one, the only one, which may be there
    several times."""
    if path is not None:
        found = [each for each in found if each.path == path] or found
    states = {(each.state, each.history, each.of_loader, each.drop_last,
               each.size, each.ledger is None)
              for each in found}
    if len(states) == 1 and path in (None, found[0].path):
        return found[0]
    if not found[0].path:
        raise ValueError("it is one state without a name: leave out --sampler")
    raise ValueError("name one of these by --sampler: " +
                     listed([each.path for each in found], 10))


def line(one, step, rank, batch):
    dataset = f" dataset {one.dataset(step)}" if one.mixes else ""
    return " ".join([
        f"epoch {one.began(step)} step {step} rank {rank}{dataset}:",
        *map(str, batch)])


def steps(one, first, last, ranks):
    """Asks for the end first, so that nothing is printed if it is missing."""
    if one.at(last, ranks[0]) is None:
        raise ValueError(f"step {last} is past the end of epoch {one.epoch}")
    for step in range(first, last + 1):
        for rank in ranks:
            # A rank's last batch may be dropped, and another's not.
            yield line(one, step, rank, one.at(step, rank) or ())


def placed(index, epoch, place, dataset, steps):
    """A line: with step and slot, or without."""
    step, slot = (f" step {place.step}", f" slot {place.slot}") if steps else (
        "", "")
    return (f"{index}: epoch {epoch}{step} rank {place.rank}{slot} "
            f"position {place.position}{dataset}")


def where(one, index, steps):
    """A line, and whether the sample is there. steps: whether they are
    known."""
    try:
        place = one.locate(index)
    except ValueError as error:
        return f"{index}: epoch {one.epoch}: {_plain(error)}", False
    dataset = f" dataset {one.dataset(place.step)}" if one.mixes else ""
    return placed(index, one.epoch, place, dataset, steps), True


# Steps that are looked up in a walk over a history.
_AT_ONCE = 1000


def history_steps(run, epoch, first, last, rank):
    """A line for each time that a step was served to a rank; to all if that is
    None."""
    for begin in range(first, last + 1, _AT_ONCE):
        asked = range(begin, min(begin + _AT_ONCE, last + 1))
        found, too_few = {step: [] for step in asked}, {}
        for served in run.stretches_of(epoch, asked[0], asked[-1]):
            ranks = run.ranks()
            for step in served:
                for each in range(ranks) if rank is None else [
                        min(rank, ranks - 1)]:
                    batch = run.batch(epoch, step, each)
                    if batch and rank in (None, each):
                        found[step].append(said(run, step, each, *batch))
                    elif batch:
                        too_few[step] = ranks
        for step, lines in found.items():
            if not lines and step in too_few:
                raise run.too_few(epoch, step, too_few[step])
            if not lines:
                raise ValueError(run.why(epoch, step))
            yield from lines


def said(run, step, rank, epoch, source, batch):
    dataset = f" dataset {source}" if run.sources else ""
    return " ".join([f"epoch {epoch} step {step} rank {rank}{dataset}:",
                     *map(str, batch)])


def history_where(run, epoch, index, steps):
    """Prints a line for each place at which a sample was served: in a mix
    there may be millions. Returns whether there is one."""
    there = exists = False
    for _ in run.stretches():
        exists = exists or run.has(index)
        for place, source in run.places(epoch, index):
            dataset = f" dataset {source}" if run.sources else ""
            padding = " as padding" if run.is_padding(place, source) else ""
            print(placed(index, epoch, place, padding + dataset, steps))
            there = True
    if there:
        return True
    why = run.not_served(epoch) if exists else sentence(ERANGE_INDEX)
    print(f"{index}: epoch {epoch}: {why}")
    return False


def answer_history(run, asked, steps):
    """As answer() does, from the history. steps: whether it knows them."""
    epoch, good, rank = asked.epoch, True, asked.rank or 0
    if epoch is None:
        epoch, _ = run.place
    # This also refuses a history that does not lead to the state.
    most = max(run.ranks() for _ in run.stretches())
    if rank >= most:
        raise ValueError(f"there were at most {most} ranks, from 0 on")
    for index in asked.where:
        good = history_where(run, epoch, index, steps) and good
    if asked.steps is not None:
        for line in history_steps(run, epoch, *asked.steps,
                                  None if asked.all else rank):
            print(line)
    return 0 if good else 1


def _plain(error):
    return str(error).replace("statesampler: ", "")


def _range(text):
    first, dots, last = text.partition("..")
    last = last if dots else first
    if _number(first) > _number(last):
        raise ValueError(f"'{cut(text)}' is not A..B")
    return _number(first), _number(last)


def _number(text, least=0, bits=64):
    digits = text.lstrip("0") or text[-1:]
    if not (text.isascii() and text.isdecimal() and len(digits) <= 20 and
            least <= int(digits) < 2**bits):
        raise ValueError(f"'{cut(text)}' is not a number from {least} to "
                         f"2^{bits} - 1")
    return int(digits)


def _positive(text):
    return _number(text, 1, 32)


_FLAGS = "--all", "--drop-last", "--straight"
_VALUES = {"--steps": _range, "--rank": _number, "--where": _number,
           "--epoch": _number, "--world-size": _positive,
           "--batch-size": _positive, "--sampler": str}


class Asked:
    """What the arguments ask. (To import argparse would add a third to a cold
    start.)"""

    file = steps = rank = epoch = world_size = batch_size = sampler = None
    all = drop_last = straight = False

    def __init__(self, arguments):
        self.where, left = [], iter(arguments)
        for each in left:
            name, there, value = each.partition("=")
            if each in _FLAGS:
                self._set(each, True)
            elif name in _VALUES:
                if not there:
                    value = next(left, None)
                if value is None:
                    raise ValueError(f"'{name}' needs a value")
                self._set(name, _VALUES[name](value))
            elif each[:1] == "-":
                raise ValueError(f"unknown option '{cut(each)}'")
            elif self.file is not None:
                raise ValueError(f"unexpected argument '{cut(each)}'")
            else:
                self.file = each
        if self.file is None:
            raise ValueError("FILE is missing")
        if self.all and self.rank is not None:
            raise ValueError("--all excludes --rank")

    def _set(self, name, value):
        if name == "--where":
            self.where.append(value)
        else:
            setattr(self, name[2:].replace("-", "_"), value)


def batch_size(one, asked):
    """That of a loader's batches: as the state knows it, or as given, also for
    a run that goes on from there."""
    if asked.world_size and asked.batch_size:
        return asked.batch_size
    if one.size == 0:
        if asked.steps is not None or asked.batch_size:
            raise ValueError("the run had batches of several sizes, or of a "
                             "batch sampler of its own, and the state does not "
                             "hold them: ask --where, without --batch-size")
    elif one.size and asked.batch_size not in (None, one.size):
        raise ValueError(f"leave out --batch-size: its batches had {one.size}")
    elif one.of_loader and not (one.size or asked.batch_size):
        raise ValueError("this state does not hold the DataLoader's "
                         "batch_size: give it by --batch-size")
    return asked.batch_size or one.size or None


def answer(asked):
    """Prints the answers; returns the exit status."""
    found, good = load(asked.file), True
    if asked.steps is None and not asked.where:
        if asked.sampler is not None:
            found = [choose(found, asked.sampler)]
        for one in found:
            try:
                if not one.needs:
                    one.open(asked.epoch, asked.drop_last, asked.world_size)
                print(f"{one.path or asked.file}: {one.about()}")
            except ValueError as error:
                good = False
                _complain(asked.file, cut(one.path), _plain(error))
        return 0 if good else 1
    one = choose(found, asked.sampler)
    size = batch_size(one, asked)
    steps_known = size is not None or one.size != 0
    if one.history and not asked.straight:
        if asked.world_size or asked.batch_size and not one.of_loader:
            option = "world-size" if asked.world_size else "batch-size"
            raise ValueError(f"leave out --{option}: its history knows ranks "
                             "and batches")
        run = one.run(size, asked.drop_last)
        return answer_history(run, asked, steps_known)
    one.open(asked.epoch, asked.drop_last, asked.world_size, size)
    rank = asked.rank or 0
    if rank >= one.world_size:
        raise ValueError(f"there are {one.world_size} ranks, from 0 on")
    if not asked.straight:
        raise ValueError(_UNKNOWN)
    for index in asked.where:
        said, there = where(one, index, steps_known)
        print(said)
        good = good and there
    if asked.steps is not None:
        ranks = range(one.world_size) if asked.all else [rank]
        for said in steps(one, *asked.steps, ranks):
            print(said)
    return 0 if good else 1


def _complain(*said):
    print(": ".join(filter(None, ("statesampler", *said))), file=sys.stderr)


def main(arguments):
    if "--help" in arguments or "-h" in arguments:
        print(_USAGE)
        return 0
    try:
        asked = Asked(arguments)
    except ValueError as error:
        print(f"statesampler: {error}\n"
              "Try 'python -m statesampler --help'.", file=sys.stderr)
        return 2
    try:
        status = answer(asked)
        sys.stdout.flush()
    except BrokenPipeError:     # as with `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        status = 1
    except (OSError, ValueError) as error:
        said = getattr(error, "strerror", None) or _plain(error)
        _complain(asked.file, said)
        status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
