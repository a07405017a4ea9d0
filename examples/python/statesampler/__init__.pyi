# The types of the public names, for type checkers.

import ctypes
from collections.abc import (
    Callable, Hashable, Iterable, Iterator, Mapping, Sized)
from typing import (
    Any, Final, Generic, Literal, NamedTuple, SupportsIndex, TypeVar, overload)

from _typeshed import ReadableBuffer
from torch.utils.data import DataLoader
from torch.utils.data import Sampler as _TorchSampler
from torch.utils.data.distributed import DistributedSampler

__all__ = ["StatefulDistributedSampler", "RoundRobinBatchSampler",
           "BlendedBatchSampler",
           "StatefulLoader", "CountingDataLoader", "CountedBatchSampler",
           "RepeatSampler", "PackedBatchSampler", "SpreadBatchSampler",
           "Sampler", "Mix", "Schedule", "Audit", "Ledger"]

__version__: str

_Self = TypeVar("_Self")
_Index = TypeVar("_Index")
_Sample = TypeVar("_Sample")
_Batch = TypeVar("_Batch")
_Partition = Literal["interleaved", "blocked"]
_Tail = Literal["pad", "drop", "uneven", "carry"]
_Stop = Literal["first", "all", "restart", "never"]
_Changed = Literal["refuse", "next_epoch", "accept"]
_Fingerprint = str | bytes | SupportsIndex | float | None

class _Counts(ctypes.Structure):
    positions: int
    padded: int
    dropped: int
    steps: int
    rank_samples: int
    rank_batches: int

class _Place(NamedTuple):
    step: int
    rank: int
    slot: int
    position: int

class Audit:
    def __init__(self) -> None: ...
    @property
    def count(self) -> int: ...
    def add(self, indices: Iterable[SupportsIndex]) -> None: ...
    def merge(self, other: Audit) -> None: ...
    def check(self, num_samples: SupportsIndex) -> bool: ...
    def save(self) -> bytes: ...
    def load(self, state: ReadableBuffer) -> None: ...

class _Iterator:
    def __iter__(self: _Self) -> _Self: ...
    def __next__(self) -> memoryview: ...
    @property
    def step(self) -> int: ...
    @property
    def num_steps(self) -> int | None: ...
    @property
    def epoch(self) -> int: ...
    def begin(self, epoch: SupportsIndex) -> None: ...
    def seek(self, step: SupportsIndex) -> None: ...
    def at(self, step: SupportsIndex, rank: SupportsIndex | None = None,
           epoch: SupportsIndex | None = None,
           straight: bool = False) -> memoryview | None: ...
    def padding(self, step: SupportsIndex,
                rank: SupportsIndex | None = None) -> int: ...
    def locate(self, index: SupportsIndex,
               straight: bool = False) -> _Place: ...
    def sample_seed(
        self, epoch: SupportsIndex, index: SupportsIndex) -> int: ...
    def save(self, history: bool = True) -> bytes: ...
    def load(self, state: ReadableBuffer) -> None: ...

class Sampler(_Iterator):
    def __init__(
        self, num_samples: SupportsIndex, rank: SupportsIndex | None = None,
        world_size: SupportsIndex | None = None,
        batch_size: SupportsIndex = 1, *, seed: SupportsIndex = 0,
        stream: SupportsIndex = 0, epoch: SupportsIndex = 0,
        shuffle: bool = True, replacement: bool = False,
        chunk_size: SupportsIndex | None = None,
        window: SupportsIndex | None = None,
        partition: _Partition = "interleaved", tail: _Tail = "pad",
        drop_last: bool = False,
        weights: Iterable[float] | None = None) -> None: ...
    def counts(self) -> _Counts: ...
    def resize(self, num_samples: SupportsIndex) -> None: ...

_Shares = Iterable[float] | Mapping[str, float]
_Stage = tuple[SupportsIndex | None, _Shares]
_PerDataset = Iterable[SupportsIndex] | Mapping[str, SupportsIndex]

class Schedule:
    stages: list[_Stage] | Callable[[int], _Stage]
    means: _PerDataset | None
    def stage(self, turn: int) -> _Stage: ...
    def __init__(
        self, stages: Iterable[_Stage] | Callable[[int], _Stage],
        means: _PerDataset | None = None) -> None: ...

class Mix(_Iterator):
    changes: dict[str, Literal["new", "changed"]]
    def __init__(
        self, lengths: _PerDataset, rank: SupportsIndex | None = None,
        world_size: SupportsIndex | None = None,
        batch_size: SupportsIndex | list[int] | tuple[int, ...] |
            Mapping[str, SupportsIndex] = 1,
        weights: _PerDataset | None = None, stop: _Stop | None = None,
        epoch: SupportsIndex = 0, *, schedule: Schedule | None = None,
        seed: SupportsIndex = 0, shuffle: bool = True,
        replacement: bool = False, chunk_size: SupportsIndex | None = None,
        window: SupportsIndex | None = None,
        partition: _Partition = "interleaved", tail: _Tail = "pad",
        drop_last: bool = False) -> None: ...
    @property
    def names(self) -> list[str] | None: ...
    def weigh(self, weights: _PerDataset) -> None: ...
    def had(self, tokens: SupportsIndex,
            dataset: SupportsIndex | str | None = None) -> None: ...
    def load(self, state: ReadableBuffer, restart: bool = False) -> None: ...

class Ledger(Generic[_Index]):
    @overload
    def __init__(
        self: Ledger[int], sampler_or_length: SupportsIndex,
        window: SupportsIndex, *, epochs: SupportsIndex | None = 1,
        fingerprint: _Fingerprint = None, seed: SupportsIndex = 0,
        stream: SupportsIndex = 0, epoch: SupportsIndex = 0,
        shuffle: bool = True) -> None: ...
    @overload
    def __init__(
        self: Ledger[list[int]], sampler_or_length: Sampler | Mix,
        window: SupportsIndex, *, epochs: SupportsIndex | None = 1,
        fingerprint: _Fingerprint = None) -> None: ...
    fingerprint: str | None
    @property
    def frontier(self) -> int: ...
    @property
    def end(self) -> int | float: ...
    def __iter__(self: _Self) -> _Self: ...
    def __next__(self) -> tuple[int, _Index]: ...
    def issue(self) -> tuple[int, _Index] | None: ...
    def done(self, ticket: SupportsIndex) -> None: ...
    def give_back(self, ticket: SupportsIndex) -> None: ...
    def state_dict(self) -> dict[str, Any]: ...
    def load_state_dict(self, state_dict: dict[str, Any]) -> None: ...

class _Resumable:
    num_replicas: Final[int]
    rank: Final[int]
    shuffle: Final[bool]
    seed: Final[int]
    drop_last: Final[bool]
    fingerprint: str | None
    changed: _Changed
    epoch: int
    def __len__(self) -> int: ...
    @property
    def remaining(self) -> int | None: ...
    def at(self, step: SupportsIndex,
           rank: SupportsIndex | None = None) -> list[int] | None: ...
    def padding(self, step: SupportsIndex,
                rank: SupportsIndex | None = None) -> int: ...
    def locate(self, index: SupportsIndex) -> _Place: ...
    @property
    def start_iter(self) -> int: ...
    def set_start_iter(self, start_iter: SupportsIndex) -> None: ...
    def set_epoch(self, epoch: SupportsIndex) -> None: ...
    def begin(self, epoch: SupportsIndex) -> None: ...
    def sample_seed(
        self, index: SupportsIndex,
        epoch: SupportsIndex | None = None) -> int: ...
    def state_dict(
        self, batches: SupportsIndex | None = None,
        epoch: SupportsIndex | None = None) -> dict[str, Any]: ...
    def load_state_dict(self, state_dict: dict[str, Any]) -> None: ...

class StatefulDistributedSampler(  # type: ignore[misc]
        _Resumable, DistributedSampler[int]):
    num_samples: Final[int]     # type: ignore[misc]
    total_size: Final[int]      # type: ignore[misc]
    batch_size: int | None
    def __init__(
        self, dataset: Sized, num_replicas: SupportsIndex | None = None,
        rank: SupportsIndex | None = None, shuffle: bool = True,
        seed: SupportsIndex = 0, drop_last: bool = False,
        batch_size: SupportsIndex | None = None, *,
        partition: _Partition = "interleaved", tail: _Tail | None = None,
        chunk_size: SupportsIndex | None = None,
        window: SupportsIndex | None = None, replacement: bool = False,
        weights: Iterable[float] | None = None, stream: SupportsIndex = 0,
        read_ahead: None = None,
        fingerprint: _Fingerprint = None,
        changed: _Changed = "refuse") -> None: ...
    def resize(self, num_samples: SupportsIndex) -> None: ...
    def __iter__(self) -> Iterator[int]: ...

class RoundRobinBatchSampler(_Resumable, _TorchSampler[list[int]]):
    lengths: Final[list[int]]
    batch_size: Final[int]
    stop: Final[_Stop]
    def __init__(
        self, lengths: Iterable[SupportsIndex], batch_size: SupportsIndex,
        rank: SupportsIndex | None = None,
        num_replicas: SupportsIndex | None = None, drop_last: bool = False,
        seed: SupportsIndex = 0, shuffle: bool = True, reinit: bool = False, *,
        weights: Iterable[SupportsIndex] | None = None,
        stop: _Stop | None = None, partition: _Partition = "blocked",
        tail: _Tail = "pad", chunk_size: SupportsIndex | None = None,
        window: SupportsIndex | None = None,
        read_ahead: None = None,
        fingerprint: _Fingerprint = None,
        changed: _Changed = "refuse") -> None: ...
    @property
    def weights(self) -> list[int]: ...
    def weigh(self, weights: Iterable[SupportsIndex]) -> None: ...
    def __iter__(self) -> Iterator[list[int]]: ...

class BlendedBatchSampler(_Resumable, _TorchSampler[list[int]]):
    lengths: Final[list[int]]
    batch_size: Final[int]
    stop: Final[_Stop]
    def __init__(
        self, lengths: Iterable[SupportsIndex], batch_size: SupportsIndex,
        rank: SupportsIndex | None = None,
        num_replicas: SupportsIndex | None = None, drop_last: bool = False,
        seed: SupportsIndex = 0, shuffle: bool = True, *,
        weights: Iterable[SupportsIndex] | None = None,
        stop: _Stop = "never", chunk_size: SupportsIndex | None = None,
        window: SupportsIndex | None = None,
        fingerprint: _Fingerprint = None,
        changed: _Changed = "refuse") -> None: ...
    @property
    def weights(self) -> list[int]: ...
    def weigh(self, weights: Iterable[SupportsIndex]) -> None: ...
    def __iter__(self) -> Iterator[list[int]]: ...

class _Stateful:
    def state_dict(self) -> dict[str, Any]: ...
    def load_state_dict(self, state_dict: dict[str, Any]) -> None: ...

class StatefulLoader(_Stateful, Generic[_Batch]):
    loader: Iterable[_Batch]
    def __init__(
        self, loader: Iterable[_Batch], sampler: _Resumable,
        items: SupportsIndex | None = None) -> None: ...
    def __iter__(self) -> Iterator[_Batch]: ...
    def __len__(self) -> int: ...
    def __getattr__(self, name: str) -> Any: ...

class CountingDataLoader(_Stateful, DataLoader[_Sample]):
    def __init__(self, *arguments: Any, **options: Any) -> None: ...
    def __iter__(self) -> Any: ...

class CountedBatchSampler:
    batch_sampler: Iterable[list[int]]
    sampler: _Resumable
    def __init__(
        self, batch_sampler: Iterable[list[int]],
        sampler: _Resumable) -> None: ...
    def __iter__(self) -> Iterator[list[int]]: ...
    def __len__(self) -> int: ...
    def __getattr__(self, name: str) -> Any: ...
    def taken(self, batches: int) -> int: ...
    ended: bool
    def given(self) -> int: ...
    def held(self, batches: int) -> int: ...

class RepeatSampler(_Resumable, _TorchSampler[int]):
    data_source: Sized
    mini_repeat_count: Final[int]
    batch_size: Final[int]
    repeat_count: Final[int]
    num_samples: Final[int]
    def __init__(
        self, data_source: Sized, mini_repeat_count: SupportsIndex,
        batch_size: SupportsIndex = 1, repeat_count: SupportsIndex = 1,
        shuffle: bool = True, seed: SupportsIndex | None = None, *,
        read_ahead: None = None,
        fingerprint: _Fingerprint = None,
        changed: _Changed = "refuse") -> None: ...
    def __iter__(self) -> Iterator[int]: ...

class PackedBatchSampler(_Resumable, _TorchSampler[list[int]]):
    max_tokens: Final[int]
    plan_size: Final[int]
    endless: Final[bool]
    batch_size: Final[None]
    __len__: None   # type: ignore[assignment]
    def __init__(
        self, lengths: Iterable[SupportsIndex] | ReadableBuffer,
        max_tokens: SupportsIndex, rank: SupportsIndex | None = None,
        num_replicas: SupportsIndex | None = None, seed: SupportsIndex = 0,
        shuffle: bool = True, *, plan_size: SupportsIndex = 10000,
        endless: bool = False, chunk_size: SupportsIndex | None = None,
        window: SupportsIndex | None = None, stream: SupportsIndex = 0,
        read_ahead: None = None,
        fingerprint: _Fingerprint = None,
        changed: _Changed = "refuse") -> None: ...
    def __iter__(self) -> Iterator[list[int]]: ...

class SpreadBatchSampler(_Resumable, _TorchSampler[list[int]]):
    batch_size: Final[int]
    apart: Final[int]
    def __init__(
        self, groups: Iterable[Hashable], batch_size: SupportsIndex,
        rank: SupportsIndex | None = None,
        num_replicas: SupportsIndex | None = None, drop_last: bool = False,
        seed: SupportsIndex = 0, *, apart: SupportsIndex | None = None,
        tail: Literal["pad", "drop", "uneven"] = "pad",
        read_ahead: None = None,
        fingerprint: _Fingerprint = None,
        changed: _Changed = "refuse") -> None: ...
    def __iter__(self) -> Iterator[list[int]]: ...
