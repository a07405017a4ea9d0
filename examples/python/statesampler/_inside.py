"""What is inside a loader: how many units of a sampler each of its batches
takes, and whether something there does the sampler's work again. Classes of
frameworks are known by package and name."""

import itertools

from torch.utils.data import BatchSampler, DataLoader

from ._arguments import length_if_any
from .torch_samplers import _Resumable

# Each batch is what the sampler gave, cut by batch_size and drop_last. But for
# ours they take another batch_size amid a loop.
_OURS = "statesampler.Batches"
_PLAIN = "torch.BatchSampler", "torchdata.BatchSampler", _OURS

# Those that give the batches of the one inside, or some of them.
_KEEP = ("accelerate.BatchSamplerShard", "accelerate.SkipBatchSampler",
         "ignite.ReproducibleBatchSampler", "statesampler.CountedBatchSampler")

# Classes that deal a sampler's items to ranks, one by one. (Lightning makes
# them only where there are several.)
_DEALERS = {f"{package}.DistributedSamplerWrapper" for package in (
    "lightning", "lightning_fabric", "pytorch_lightning")}

# No loader of threads reads so many batches ahead.
_FAR = 1024

# What loaders call the loader that they wrap.
_WRAPPED = "loader", "dataloader", "base_dataloader"


def _name(kind):
    return f"{kind.__module__.partition('.')[0]}.{kind.__name__}"


def _is(thing, name):
    """Whether an object is of a class, given as package and name."""
    return any(_name(kind) == name for kind in type(thing).__mro__)


def _loaders(loader):
    """A loader, and those that it wraps."""
    seen = []
    while loader is not None and not any(loader is each for each in seen):
        seen.append(loader)
        yield loader
        loader = next((getattr(loader, name) for name in _WRAPPED
                       if hasattr(loader, name)), None)


def _nested(batches, name):
    """An object, and those that it wraps as this attribute."""
    seen = []
    while batches is not None and not any(batches is each for each in seen):
        seen.append(batches)
        batches = getattr(batches, name, None)
    return seen


class Inside:
    """The loop of a StatefulLoader inside another one, which counts."""

    over, batches, failed, smooth, counts = False, 0, 0, True, False
    plain = None

    def check_batch(self):
        pass

    def broke_off(self):
        return True


class Takes:
    """The units of each batch: always so many, or as `counted` says, a
    CountedBatchSampler, where each batch is `at_once` of its own."""

    def __init__(self, unit, drops_last=False, counted=None, at_once=1,
                 elsewhere=False, cut=None, told=False, ahead=None):
        self.unit, self.drops_last = unit, drops_last
        self.cut = cut or unit  # What the DataLoader inside has in a batch.
        self.told = told        # As items=.
        self.ahead = ahead      # At most so many batches are taken ahead.
        # The same, if all is well, where something unknown may read ahead.
        self.far = None
        self.plain = None       # What cuts batches, and may change their size;
        self.cuts = None        # the same inside of `counted`.
        # What all batches of indices take; 0: any sizes; None: no batches.
        self.batch = None if counted is None else 0
        self.counted, self.at_once = counted, at_once
        self.elsewhere = elsewhere      # Another process draws for this one.

    def after(self, batches):
        """The units of so many batches."""
        if self.counted is None:
            return batches * self.unit
        return self.counted.taken(batches * self.at_once)

    def whole(self, own):
        """How many of so many units are in batches."""
        return own - own % self.cut if self.drops_last else own

    def drops(self, own, units):
        """Whether what is left after so many units is no batch."""
        if self.counted is None:
            return self.drops_last and units >= self.whole(own)
        return (self.cuts is not None and self.cuts.drop_last and
                own - units < self.at_once * self.cuts.batch_size)

    def held(self, batches):
        """How many samples these took and do not have. Negative: unknown."""
        if self.counted is None:
            return 0
        return self.counted.held(batches * self.at_once)

    def check(self, batches):
        """Raises an error if these do not have all that they took."""
        held = self.held(batches)
        if held < 0:
            raise RuntimeError(
                "the batch sampler takes ahead and returns samples more than "
                "once, so nobody knows what it holds back, which a run that "
                "loads a state would not get: let it take what it returns")
        if held > 0:
            raise RuntimeError(
                f"the batch sampler holds back {held} of the samples that it "
                "took, which a run that loads a state would not get: let it "
                "take what it returns, or save where it holds nothing")

    def is_off(self, own, batches):
        """Whether an epoch that has ended had another number of batches."""
        if self.counted is not None:
            more = self.counted.given() - batches * self.at_once
            return not self.counted.ended or abs(more) >= self.at_once
        return not ((batches - 1) * self.unit < max(own, 1) and
                    self.whole(own) < (batches + 1) * self.unit)

    def instead(self, own, early):
        """What an epoch should have had, and what to do, in words. early: there
        was more to take."""
        if self.counted is None:
            return (f" of {self.unit}, but the sampler had {own}: " + (
                "" if early else "pass StatefulLoader the right items=, give "
                "what is around a DataLoader with drop_last that one as its "
                "attribute `loader`, and ") + "let nothing")
        more = "" if self.counted.ended else " or more"
        return (f", but its batch sampler had {self.counted.given()}{more}: "
                "let nothing")


def sampler_of(batches, kind):
    """The sampler of this kind in a batch sampler, or None."""
    for each in _nested(batches, "batch_sampler"):
        for inner in _nested(each, "sampler"):
            if isinstance(inner, kind):
                return inner
    return None


def _find(loader):
    """The DataLoader in a loader; None if there is none."""
    return next((each for each in _loaders(loader)
                 if hasattr(each, "batch_sampler")), None)


def _batches_of(base):
    """The batch sampler of a DataLoader. With batch_size=None torch takes one as
    the sampler."""
    batches, given = (getattr(base, name, None)
                      for name in ("batch_sampler", "sampler"))
    if batches is None and (hasattr(given, "batch_sampler") or
                            _name(type(given)) in _PLAIN):
        return given
    return batches


def look_into(loader, sampler, items=None):
    """What a loader takes of a sampler. An error if it would do its work
    again, or if nobody can know."""
    if loader is sampler:
        if items not in (None, 1):
            _refuse_items(items, 1)
        return Takes(1)
    base = _find(loader)
    batches = _batches_of(base)
    layers = _nested(batches, "batch_sampler")
    for each in [*_loaders(loader)]:
        _check_loader(each)
    for each in layers:
        _check_skip(each)
        for dealer in _nested(each, "sampler"):
            _check_dealer(dealer, sampler)
    _check_place(base, batches, sampler)
    _check_dataset(base, layers, sampler)
    processes, at_once, elsewhere = _processes(loader, layers)
    _check_processes(processes, sampler, layers)
    takes = _takes(base, layers, sampler, at_once, elsewhere)
    if takes is None:
        _check_sampler(layers[-1] if layers else base, sampler)
    if items is not None:
        takes = _told(items, loader, takes, elsewhere)
    if takes is None:
        raise TypeError(
            "StatefulLoader cannot see how much of its "
            f"{type(sampler).__name__} a batch of this "
            f"{type(loader).__name__} takes: pass items=, if each batch takes "
            "as many (samples, or batches of a batch sampler, of all processes "
            "that accelerate deals to) and nothing holds some back, or put "
            "your batch sampler into CountedBatchSampler(batch_sampler, "
            "sampler)")
    if takes.counted is None and not sampler._gives_batches and (
            layers or takes.unit > 1):  # Else the loader makes no batches.
        takes.batch = takes.unit
        _check_batch_size(sampler, takes)
    inner = _known(layers)[1]
    if takes.counted is None and _is_plain(inner, sampler) and (
            _name(type(inner)) != _OURS):
        takes.plain = inner
    if loader is not base:
        takes.far = _FAR + getattr(base, "num_workers", 0) * (
            getattr(base, "prefetch_factor", 0) or 0)
    return takes


def _check_dataset(base, layers, sampler):
    """A loader's dataset must be as long as the sampler's, unless something
    unknown may make other indices of the sampler's, or add to them."""
    inner = _known(layers)[1] if layers else base
    dataset = getattr(base, "dataset", None)
    own = getattr(sampler, sampler._dataset_is or "", None)
    if inner is sampler or own is dataset or (
            isinstance(inner, DataLoader) or _name(type(inner)) in _PLAIN) and (
            inner.sampler is sampler):
        sampler._check_dataset(dataset)


def _counted(layers):
    """Those that count what batches took of a sampler."""
    return [each for each in layers
            if _is(each, "statesampler.CountedBatchSampler")]


def _takes(base, layers, sampler, at_once, elsewhere):
    if not layers:
        found = base is not None and getattr(base, "sampler", 0) is sampler
        return Takes(at_once, elsewhere=elsewhere) if found else None
    known, inner = _known(layers)
    for each in _counted(known):
        if each.sampler is sampler:
            takes = Takes(None, counted=each, at_once=at_once,
                          elsewhere=elsewhere)
            if _is_plain(inner, sampler):
                takes.cuts = inner
            return takes
    if inner is sampler:
        return Takes(at_once, elsewhere=elsewhere)
    if _is_plain(inner, sampler):
        return Takes(at_once * inner.batch_size, inner.drop_last,
                     elsewhere=elsewhere)
    return None


def _is_plain(batches, sampler):
    """Whether a batch sampler cuts what the sampler gives, no more."""
    own = getattr(type(batches), "__iter__", None)
    return (_name(type(batches)) in _PLAIN or own is BatchSampler.__iter__) and (
        batches.sampler is sampler)


def _known(layers):
    """Those that keep batches as they are, and the one inside of these."""
    known = [*itertools.takewhile(
        lambda each: any(_is(each, name) for name in _KEEP), layers)]
    return known, [*layers, None][len(known)]


def _told(items, loader, found, elsewhere):
    """What was passed as items=. It may differ from what a DataLoader inside
    says, of which something between makes other batches."""
    if found is not None and found.unit == items:
        return found
    if found is not None and (
            found.counted is not None or isinstance(loader, DataLoader) and
            type(loader).__len__ is DataLoader.__len__):
        _refuse_items(items, found.unit)
    if found is None:
        return Takes(items, elsewhere=elsewhere, told=True,
                     ahead=_ahead(loader))
    return Takes(items, found.drops_last, elsewhere=elsewhere, cut=found.unit,
                 told=True)


def _ahead(loader):
    """How many batches a loader takes ahead at most; None: nobody knows."""
    while hasattr(loader, "_counts") and not isinstance(loader, DataLoader):
        loader = loader.loader      # A StatefulLoader takes none.
    shard = _is(loader, "accelerate.DataLoaderShard")
    if shard or getattr(type(loader), "__iter__", 0) is DataLoader.__iter__:
        return shard + loader.num_workers * (loader.prefetch_factor or 0)
    return None


def _refuse_items(items, unit):
    seen = "as many as CountedBatchSampler counts" if unit is None else unit
    raise ValueError(f"items should be left out, but got items={items}: a "
                     f"batch of this loader takes {seen}")


def _processes(loader, layers):
    """How many processes accelerate deals a loader's batches to; how many
    batches it takes for one of each; and whether another process draws."""
    processes = at_once = 1
    for each in layers:
        if _is(each, "accelerate.BatchSamplerShard"):
            processes *= each.num_processes
            if not getattr(each, "split_batches", False):
                at_once *= each.num_processes
    for each in _loaders(loader):
        if _is(each, "accelerate.DataLoaderDispatcher"):
            processes *= each.state.num_processes
            if not each.split_batches:
                at_once *= each.state.num_processes
            return processes, at_once, each.state.process_index > 0
    return processes, at_once, False


def _check_loader(loader):
    """Torch has in_order since 2.6."""
    if getattr(loader, "num_workers", 0) and not getattr(
            loader, "in_order", True):
        raise ValueError(
            "with in_order=False batches come in the order in which workers "
            "finish, and their number does not say which samples they had: "
            "leave in_order=True, or no state would be right")
    if _is(loader, "accelerate.DataLoaderShard"):
        _refuse_skip(getattr(loader, "skip_batches", 0), "accelerate")


def _check_skip(batches):
    if _is(batches, "accelerate.SkipBatchSampler"):
        _refuse_skip(batches.skip_batches, "accelerate")
    if _is(batches, "ignite.ReproducibleBatchSampler"):
        _refuse_skip(batches.start_iteration, "Ignite")


def _refuse_skip(count, who):
    """(Ignite's is None if it skips none.)"""
    if count:
        raise RuntimeError(
            f"{who} skips the first {count} batches of a loop over this "
            "loader, and a state of StatefulLoader does so too: load the state "
            "or let it skip, never both. Wrap the loader that skips nothing")


def _check_dealer(dealer, sampler):
    if not _DEALERS.isdisjoint(map(_name, type(dealer).__mro__)):
        raise RuntimeError(
            f"{type(dealer).__name__} deals items to ranks one by one, which "
            f"takes the order of {sampler._owner} apart: use Lightning's "
            "use_distributed_sampler=False")


def _check_place(base, batches, sampler):
    """A sampler of batches is a batch_sampler, one of indices is none."""
    if batches is sampler and not sampler._gives_batches:
        raise TypeError(f"a {sampler._owner} gives indices: pass it as the "
                        "DataLoader's sampler=, not as batch_sampler=")
    if sampler._gives_batches and _name(type(batches)) in _PLAIN and (
            batches.sampler is sampler):
        raise TypeError(f"a {sampler._owner} gives batches: pass it as the "
                        "DataLoader's batch_sampler=, not as sampler=")


def _check_sampler(inner, sampler):
    """What deals out another sampler of ours, alone, has nothing of this."""
    other = inner
    if isinstance(inner, DataLoader) or inner is not None and (
            _name(type(inner)) in _PLAIN):
        other = inner.sampler
    if isinstance(other, _Resumable) and other is not sampler:
        raise ValueError(
            f"this {sampler._owner} is not the loader's sampler, which is "
            f"another {type(other).__name__}: pass that one")


def _check_processes(processes, sampler, layers):
    if processes == 1:
        return
    if not sampler._dealt and not _whole_steps(processes, sampler, layers[-1]):
        raise RuntimeError(
            f"accelerate deals batches to its {processes} processes, and a "
            f"{sampler._owner} has some for each: leave its DataLoader out of "
            "accelerator.prepare")
    if sampler.num_replicas > 1:
        raise RuntimeError(
            f"accelerate distributes batches to its {processes} processes, "
            f"and this sampler to {sampler.num_replicas}: make it with "
            "num_replicas=1, rank=0, or samples are left out")


def _whole_steps(processes, sampler, inner):
    """Whether a sampler inside makes whole steps of each of its batches, as
    GRPO's copies do: accelerate then has no step to fill."""
    try:
        step = processes * inner.batch_size
        dealt = sampler._len_of(inner.sampler)
    except (AttributeError, TypeError):
        return False
    return sampler.drop_last and dealt // max(len(sampler), 1) % step == 0


def _check_batch_size(sampler, takes):
    """What one says is a batch must be one, as places are said in batches."""
    said = sampler._batch_said
    if said not in (None, takes.unit):
        raise ValueError(
            f"this {sampler._owner} has batch_size={said}, but a batch of the "
            f"loader takes {takes.unit} samples, of all processes that "
            "accelerate deals to: make it with that, or set its batch_size, as "
            "start_iter and state_dict(batches=) count so; or make it with "
            "none")


def check_length(loader, sampler, takes):
    """A number of items that was passed, or found, must be that of an epoch.
    (Only of a new loader: what is between may have asked for its length.)"""
    if takes.counted is not None:
        return
    batches, items = length_if_any(loader, sampler._len_of), sampler._length
    if None in (batches, items):
        return
    most = -(-items // takes.unit)
    # What cuts the batches of a loader inside may take all of them as full.
    full = -(-items // takes.cut) * -(-takes.cut // takes.unit)
    if not takes.whole(items) // takes.unit <= batches <= max(most, full):
        raise ValueError(
            f"the loader has {batches} batches, but of {takes.unit} items each "
            f"the {items} of this {sampler._owner} make {most}: pass the right "
            "items=, counting those of all processes that accelerate deals to")
