"""Finds and loads the C library, and declares its functions and structs. An
installed package has the library, or one for each usual platform; for a copy of
the folder it is built from its sources."""

import array
import ctypes
import os
import struct
import sys
import types
import zlib

_FOLDER = os.path.dirname(os.path.realpath(__file__))
_AGAIN = "install statesampler again, with pip's option --force-reinstall"
_BY_SOURCE = ("install a C compiler, then statesampler's source archive, with "
              "pip install --force-reinstall statesampler-*.tar.gz")

# As the kernel calls processors in a shell that setarch began.
_FULL = {"i386": "x86_64", "i686": "x86_64", "armv8l": "aarch64"}
_frozen = getattr(sys, "frozen", False)     # as PyInstaller and its like set it

# What the wheel has a library for.
_PLATFORMS = ("linux-x86_64", "linux-aarch64", "darwin-arm64", "darwin-x86_64",
              "win32-AMD64", "win32-ARM64")


def _load(path):
    """The functions of a library, by their names without the prefix, and the
    sizes of its structs."""
    try:
        library, functions = ctypes.CDLL(os.path.abspath(path)), {}
        for result, arguments, names in _FUNCTIONS:
            for name in names.split():
                functions[name] = getattr(library, "statesampler_" + name)
                functions[name].restype = result
                functions[name].argtypes = arguments
        return (types.SimpleNamespace(**functions),
                (_u64 * 7).in_dll(library, "statesampler_layout"))
    except (AttributeError, ValueError) as error:
        raise OSError(str(error)) from None


def _platform():
    """The system and the processor that this process is for, as in the names of
    libraries. A Mac's processor may imitate another one, and Windows and Linux
    run programs for a smaller one."""
    if os.name == "nt":
        machine = next((each for each in ("ARM64", "AMD64")
                        if each in sys.version), "x86")
    else:
        machine = os.uname().machine
    if sys.maxsize < 2**32:
        machine += " of 32 bits"
    elif sys.platform == "linux":
        machine = _FULL.get(machine, machine)
    return f"{sys.platform}-{machine}"


def _whole(path):
    """Whether the name of a library ends in the checksum of its bytes: to load
    an incomplete one would crash the process. What freezes a program may sign
    or strip its libraries anew; but Linux's end with a table still."""
    with open(path, "rb") as file:
        library = file.read()
    if not _frozen:
        return os.path.splitext(path)[0].endswith(
            f"-{zlib.crc32(library):08x}")
    if not path.endswith(".so"):
        return True
    table, = struct.unpack_from("<Q", library.ljust(64, b"\0"), 40)
    size, rows = struct.unpack_from("<2H", library.ljust(64, b"\0"), 58)
    return 0 < table + size * rows <= len(library)


def _may_not_run(path):
    """Whether a library is where the system loads none, as with noexec."""
    flag = getattr(os, "ST_NOEXEC", 0)
    return flag and os.statvfs(path).f_flag & flag


def _packed():
    """What is said of a package without files of its own: in an archive, or in
    a program that holds its Python."""
    if _frozen:
        return ("this program was made without the library of statesampler: "
                "make it with all files of the package (PyInstaller: "
                "--collect-all statesampler)")
    return (f"the library of statesampler cannot be loaded from {_FOLDER}, "
            "which is no folder: unpack it, or install statesampler with pip")


def _try(path, what):
    try:
        return _load(path)
    except OSError as error:
        raise ImportError(f"{what} ({error})") from None


def _installed(path):
    """The library of an installed package."""
    compiled_here = os.path.basename(path) == "libstatesampler.so"
    try:
        whole = compiled_here or _whole(path)
    except OSError as error:
        raise ImportError(f"{path} cannot be read: {error.strerror}") from None
    if not whole:
        raise ImportError(
            f"{path} is damaged, or was changed, as strip does: {_AGAIN}")
    if _may_not_run(path):
        return _try(path, f"{path} is on a file system that is mounted with "
                    "noexec: install statesampler on another one")
    return _try(path, f"{path} does not load on this machine: {_AGAIN}")


def _load_library():
    """The library that the environment names; that of the installed package,
    compiled for this machine or chosen for its platform; else one that is built
    from the sources, which a copy of the folder has."""
    named = os.environ.get("STATESAMPLER_LIBRARY")
    if named:
        return _try(named, f"{named} was not built from library.c")
    here, unpacked = _platform(), os.path.isdir(_FOLDER)
    found = [os.path.join(_FOLDER, name)
             for name in (os.listdir(_FOLDER) if unpacked else [])
             if name.startswith(f"libstatesampler-{here}-") or
             name == "libstatesampler.so"]
    if len(found) > 1:
        raise ImportError(f"{_FOLDER} has libraries of two installations: "
                          f"remove it, and {_AGAIN}")
    if found:
        return _installed(found[0])
    if _frozen or not unpacked:
        raise ImportError(_packed())
    if not os.path.exists(os.path.join(_FOLDER, "library.c")):
        raise ImportError(f"no library in {_FOLDER} is for {here}: " + (
            _AGAIN if here in _PLATFORMS else _BY_SOURCE))
    from . import _build    # Its imports take a third of a cold start.
    return _build.find(_load, f"no library in {_FOLDER} is for {here}")


_u32, _u64, _size = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_size_t


class Desc(ctypes.Structure):
    _fields_ = [
        ("num_samples", _u64), ("seed", _u64), ("epoch", _u64),
        ("stream", _u64), ("rank", _u32), ("world_size", _u32),
        ("batch_size", _u32), ("order", _u32), ("partition", _u32),
        ("tail", _u32), ("drop_last", _u32), ("chunk_size", _u64),
        ("window", _u64)]


class Counts(ctypes.Structure):
    _fields_ = [(name, _u64) for name in (
        "positions", "padded", "dropped", "steps", "rank_samples",
        "rank_batches")]


class SamplerPlace(ctypes.Structure):
    _fields_ = [("position", _u64), ("step", _u64), ("rank", _u32),
                ("slot", _u32)]


class MixPlace(ctypes.Structure):
    _fields_ = [("epoch", _u64), ("turn", _u64), ("num_sources", _u32),
                ("stop", _u32), ("weight", _u32)]


class Stretch(ctypes.Structure):
    """The beginning of history.h's history_stretch."""
    _fields_ = [
        ("bytes", ctypes.c_void_p), ("size", _size), ("num_sources", _u32),
        ("carry", _u32), ("begin_epoch", _u64), ("begin_step", _u64),
        ("end_epoch", _u64), ("end_step", _u64), ("from_epoch", _u64),
        ("from_step", _u64), ("to_epoch", _u64), ("to_step", _u64)]


class Stages(ctypes.Structure):
    """schedule.h's schedule."""
    _fields_ = [("sources", ctypes.c_void_p), ("weights", ctypes.c_void_p),
                ("num_sources", _u32), ("started", _u32), ("begin", _u64),
                ("end", _u64), ("known", _u64), ("by_tokens", _u32),
                ("late", _u32), ("checked", _u64)]


class Tickets(ctypes.Structure):
    """ledger.h's ledger."""
    _fields_ = [("frontier", _u64), ("next", _u64), ("window", _u64),
                ("end", _u64), ("done", ctypes.c_void_p)]


class LedgerPlace(ctypes.Structure):
    _fields_ = [("frontier", _u64), ("ahead", _u64), ("done", _u64)]


_int, _pointer, _sets = ctypes.c_int, ctypes.c_void_p, ctypes.POINTER
_FUNCTIONS = (
    (_int, [_pointer, _sets(Desc)], "init"),
    (_int, [_pointer, _pointer, _sets(_size)], "next"),
    (_int, [_pointer, _u64, _pointer, _sets(_size)], "at"),
    (_int, [_pointer, _u64, _pointer, _sets(_size), _sets(_u32)], "mix_at"),
    (_size, [_pointer, _u64], "padding"),
    (_int, [_pointer, _u64, _sets(SamplerPlace)], "locate locate_padding"),
    (_int, [_pointer, _u32, _u64, _sets(_u64), _sets(SamplerPlace)],
     "mix_locate mix_locate_padding"),
    (_int, [_pointer, _u32, _u32, _u32], "reshape"),
    (_int, [_pointer, _u32, _u32], "mix_reshape"),
    (_int, [_pointer, _u64], "seek mix_seek resize"),
    (None, [_pointer, _u64], "begin mix_number"),
    (_u64, [_pointer, _u64, _u64], "sample_seed"),
    (_u64, [_pointer],
     "epoch step base num_steps mix_epoch mix_turn mix_num_turns"),
    (None, [_pointer, _sets(Counts)], "get_counts"),
    (_size, [_pointer], "mix_state_bytes"),
    (_int, [_pointer, _pointer, _size], "save mix_save"),
    (_int, [_pointer, ctypes.c_char_p, _size], "load mix_load"),
    (_int, [ctypes.c_char_p, _size, _sets(Desc), _sets(SamplerPlace)],
     "describe"),
    (_int, [ctypes.c_char_p, _size, _u32, _sets(Desc), _sets(MixPlace)],
     "mix_describe"),
    (_pointer, [ctypes.c_char_p, _sets(_size)], "mix_state_in"),
    (_pointer, [ctypes.c_char_p, _u32, _sets(_u32)], "mix_source_in"),
    (_int, [_pointer, _pointer, _u32, _u32], "mix_init"),
    (_int, [_pointer, _pointer], "mix_weigh"),
    (None, [_pointer, _pointer, _size], "audit_add"),
    (None, [_pointer, _pointer], "audit_merge"),
    (_int, [_pointer, _u64], "audit_check"),
    (_u64, [_pointer, _u64], "groups_first"),
    (ctypes.c_char_p, [_int], "any_error"),
    (_u32, [], "version"),
    (_int, [_pointer, _u32, _u32, _sets(Desc)], "source_init"),
    (_pointer, [_pointer, _u32], "source_sampler"),
    (_size, [_pointer, _size, _pointer, _pointer], "turns"),
    (None, [_pointer, _pointer], "mix_weights"),
    (_u32, [_u32, _u64, _u32], "blend_slot"),
    (_u64, [_u64, _u64], "factors_shift"),
    (None, [_pointer, _pointer, _u64, _u64, _u64, _pointer, _size],
     "factors_map"),
    (_size, [_u32], "mixture_bytes"),
    (_u64, [ctypes.c_char_p, _size], "state_hash"),
    (None, [_pointer, _pointer, _pointer], "mixture_write"),
    (_int, [ctypes.c_char_p, _size, _pointer], "mixture_hashes"),
    (_int, [_pointer, ctypes.c_char_p, _size, _pointer, _pointer, _u32],
     "mixture_load"),
    (_u64, [_u64, ctypes.c_char_p, _size], "hash"),
    (_int, [_pointer, _pointer, _size, _pointer],
     "history_init history_mix_init"),
    (None, [_pointer, _pointer, _size], "history_move"),
    (_size, [_pointer], "history_save"),
    (_int, [_pointer, _pointer, ctypes.c_char_p, _size, ctypes.c_char_p,
            _size], "history_load"),
    (_int, [_pointer, _pointer, ctypes.c_char_p, _size, ctypes.c_char_p,
            _size, _pointer, _pointer, _pointer], "history_mix_load"),
    (_int, [_pointer, _pointer, _u64],
     "history_seek history_begin history_resize history_mix_seek"),
    (_int, [_pointer, _pointer, _u64, _pointer], "history_mix_begin"),
    (_int, [_pointer, _pointer, _pointer], "history_mix_weigh"),
    (_int, [_pointer, _u64, _u64],
     "history_reaches record_skipped"),
    (None, [_sets(Stages), _pointer, _pointer, _u32, _u64, _pointer],
     "schedule_start"),
    (_int, [_pointer, _pointer, _sets(Stages), _pointer, _u32],
     "schedule_follow"),
    (_int, [_sets(Stages), _pointer, ctypes.c_char_p, _size, _pointer],
     "schedule_check"),
    (_int, [_pointer, _sets(Stages), _pointer, _u32], "schedule_over"),
    (None, [_sets(Stages)], "schedule_sums schedule_forget"),
    (None, [_sets(Stages), _pointer, _u64], "schedule_owe"),
    (_int, [_sets(Stages), _pointer, _u32, _u64], "schedule_had"),
    (_int, [_sets(Stages), _pointer, _size], "schedule_save schedule_load"),
    (_int, [_sets(_size), _sets(_u64), ctypes.c_char_p, _size],
     "schedule_find"),
    (_int, [_pointer, ctypes.c_char_p, _size, _sets(_size)], "record_read"),
    (None, [_pointer, _pointer], "record_of"),
    (_u32, [_pointer], "record_sources"),
    (_int, [_pointer, ctypes.c_char_p, _size], "record_ends_in"),
    (_int, [_pointer, _u64, _u64, _u64, _u64], "record_before"),
    (None, [_pointer, _u64, _u64, _pointer, _pointer, _pointer],
     "record_open"),
    (_sets(Stretch), [_pointer], "record_stretch"),
    (_int, [_pointer], "record_next"),
    (_u64, [_pointer, _u32], "record_samples_of"),
    (_int, [_pointer, _u64, _u64, _u64], "record_next_of"),
    (_u32, [_pointer, _sets(_u64)], "record_ranks record_source"),
    (_int, [_pointer, _u32, _sets(_u64), _u64, _pointer, _sets(_size),
            _sets(_u32)], "record_at"),
    (_size, [_pointer, _u32, _u64, _u64], "record_padding"),
    (_int, [_pointer, _u64, _u32, _sets(_u64), _sets(_u64)],
     "record_epochs"),
    (_int, [_pointer, _u64, _u32, _u64, _u64, _sets(_u64),
            _sets(SamplerPlace)], "record_locate"),
    (_int, [_sets(Tickets), _pointer, _u64, _u64], "ledger_init"),
    (_int, [_sets(Tickets), _sets(_u64)], "ledger_issue"),
    (_int, [_sets(Tickets), _u64], "ledger_status ledger_done"),
    (_int, [_sets(Tickets), _pointer, _size], "ledger_save ledger_load"),
    (_int, [_pointer, _size, _sets(LedgerPlace)], "ledger_describe"),
    (_int, [_pointer, _pointer, ctypes.c_char_p, _size, _pointer, _u32],
     "recall_mix"),
    (_int, [_pointer, _pointer, _u64], "recall_epoch"),
    (_size, [_u32, _u32], "pack_bytes"),
    (_int, [_pointer, _sets(Desc), _pointer, _u32, _u32, _sets(_u64)],
     "pack_init"),
    (_size, [_pointer, _u64, _u64, _pointer, _pointer], "pack_plan"),
    (_int, [_pointer, _sets(Desc), _pointer, _u64, _pointer, _pointer, _u64],
     "spread_init"),
    (None, [_pointer, _pointer, _u64, _pointer, _size], "groups_fill"),
    (None, [_pointer, _pointer, _size], "spread_map"),
    (_size, [_pointer, _pointer, _size, _pointer, _pointer], "spread_batches"))

# c.next is statesampler_next, and so on.
c, (SAMPLER_BYTES, SOURCE_BYTES, MIX_BYTES, STATE_BYTES, HISTORY_BYTES,
    RECORD_BYTES, SHARE_BYTES) = _load_library()

NONE = 2**64 - 1        # STATESAMPLER_NONE
OFF = 2**32 - 1         # STATESAMPLER_OFF

VERSION = "{}.{}.{}".format(*(c.version() // part % 100
                              for part in (10000, 100, 1)))

# The position of each name is its number in the header.
ORDERS = ["shuffle", "sequential", "window", "replacement"]
PARTITIONS = ["interleaved", "blocked"]
TAILS = ["pad", "drop", "uneven", "carry"]
STOPS = ["first", "all", "restart", "never"]


def memory(size):
    """Zeroed bytes for a struct, aligned for any member."""
    return (_u64 * ((size + 7) // 8))()


def indices(count):
    """An array for count indices. They are below 2^62, so a signed type holds
    them; iterating over an array is faster than over a ctypes array."""
    return array.array("q", bytes(8 * count))


def address(array_of_indices):
    return array_of_indices.buffer_info()[0]


def sentence(code):
    """The library's message for an error, also of a header of extras."""
    return c.any_error(code).decode()


def check(code):
    if code != 0:
        raise _refusal(code)


def _refusal(code):
    """(A variable of the function that raises it would be a cycle: its callers,
    a loader with its workers among them, would live until it is collected.)"""
    error = ValueError(f"statesampler: {sentence(code)}")
    error.code = code
    return error
