"""Reads what torch.save wrote, without torch, which takes a second to import,
and without running anything that the file names."""

import io
import struct
import zipfile

try:
    from _pickle import Unpickler   # CPython's: pickle takes longer to import.
except ImportError:
    from pickle import Unpickler


class _Dict(dict):
    """Stands for OrderedDict, which may have attributes."""


class _Inert(dict):
    """Stands for all classes and functions of a checkpoint, and for what they
    return. Keeps the items of a dict."""

    def __new__(cls, *_, **__):
        return dict.__new__(cls)

    def __init__(self, *_, **__):
        pass

    def __call__(self, *_, **__):
        return self

    __setstate__ = append = extend = add = __call__
    __hash__ = object.__hash__


def _numbers(width):
    """Stands for a tensor's storage, whose integers have so many bytes."""
    return type("_Numbers", (_Inert,), {"width": width})


class _Array(_Inert):
    """Stands for an array of numpy's, of which it keeps the bytes."""

    raw = None

    def __setstate__(self, state):
        self.raw = state[-1] if isinstance(state, tuple) else None


def _buffer(buffer, *_):
    """What numpy's arrays are made of from protocol 5 on."""
    return bytes(buffer)


def _encoded(text, _):
    """Bytes, as torch's pickles hold them."""
    return text.encode("latin-1")


# What a pickle may name, and what stands for it; all else is _Inert.
_NAMED = {"_codecs.encode": _encoded, "collections.OrderedDict": _Dict,
          "builtins.bytearray": bytes, "__builtin__.bytearray": bytes,
          "torch.ByteStorage": _numbers(1), "torch.ShortStorage": _numbers(2),
          "torch.IntStorage": _numbers(4), "torch.LongStorage": _numbers(8)}
for _module in "numpy.core.", "numpy._core.":
    _NAMED[_module + "multiarray._reconstruct"] = _Array
    _NAMED[_module + "numeric._frombuffer"] = _buffer


class _Plain(Unpickler):
    """Of a pickle that torch.save did not write."""

    def find_class(self, module, name):
        return _NAMED.get(f"{module}.{name}", _Inert)

    def persistent_load(self, _):
        return None


class _Old(_Plain):
    """Of a storage in torch's old format."""

    width = 1

    def persistent_load(self, storage):
        self.width = getattr(storage[1], "width", 1)


def _storage(saved):
    """The numbers of a tensor, which such a pickle holds in torch's old format:
    after five pickles and their number. A file, where they begin, and how many
    bytes each has."""
    file, width = io.BytesIO(saved), 1
    try:
        for _ in range(5):
            pickled = _Old(file)
            pickled.load()
            width = max(width, pickled.width)
    except Exception:   # Whatever else torch may write some day.
        return None
    return file, file.tell() + 8, width


def _tensor(storage, offset, size, *_):
    """If it is a state, its bytes."""
    if not isinstance(storage, tuple) or len(size) != 1:
        return None
    file, begin, width = storage
    file.seek(begin + offset * width)
    return _state(file, size[0], width)


def _parameter(tensor, *_):
    return tensor


_NAMED["torch.storage._load_from_bytes"] = _storage
_NAMED["torch._utils._rebuild_tensor_v2"] = _tensor
_NAMED["torch._utils._rebuild_parameter"] = _parameter


class _Reader(_Plain):
    """Of tensors it keeps those of one row of integers that begins as a state
    does, as bytes."""

    def __init__(self, archive, folder, pickled):
        self._archive, self._folder = archive, folder
        super().__init__(pickled)

    def find_class(self, module, name):
        if f"{module}.{name}" == "torch._utils._rebuild_tensor_v2":
            return self._tensor
        return super().find_class(module, name)

    def persistent_load(self, storage):
        _, kind, key, *_ = storage
        return (key, kind.width) if hasattr(kind, "width") else None

    def _tensor(self, storage, offset, size, stride, *_):
        if storage is None or len(size) != 1 or stride != (1,):
            return None
        key, width = storage
        info = self._archive.getinfo(f"{self._folder}/{key}")
        if info.compress_type == zipfile.ZIP_STORED:
            # Not by seek, which reads all bytes before a view's.
            file = self._archive.fp
            file.seek(info.header_offset + 26)
            named = sum(struct.unpack("<HH", file.read(4)))
            file.seek(named + offset * width, 1)
            return _state(file, size[0], width)
        with self._archive.open(info) as file:
            file.seek(offset * width)
            return _state(file, size[0], width)


def _state(file, size, width):
    """So many integers from here on as bytes, if they begin as a state
    does."""
    begin = file.read(min(size, 4) * width)
    if begin[::width][:2] != b"SS":
        return None
    found = begin + file.read(size * width - len(begin))
    if any(found[i::width].strip(b"\0") for i in range(1, width)):
        return None     # One is no byte.
    return found[::width]


def read_pickle(path):
    with open(path, "rb") as pickled:
        return _Plain(pickled).load()


class Foreign(ValueError):
    """A whole file, but of another kind."""


def read(path):
    with zipfile.ZipFile(path) as archive:
        folder = archive.namelist()[0].split("/")[0] + "/data"
        if folder + ".pkl" not in archive.namelist():
            raise Foreign("it is a zip that torch.save did not write")
        with archive.open(folder + ".pkl") as pickled:
            return _Reader(archive, folder, pickled).load()
