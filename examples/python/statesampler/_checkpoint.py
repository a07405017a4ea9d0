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
          "torch.ByteStorage": bytes}
for _module in "numpy.core.", "numpy._core.":
    _NAMED[_module + "multiarray._reconstruct"] = _Array
    _NAMED[_module + "numeric._frombuffer"] = _buffer


class _Plain(Unpickler):
    """Of a pickle that torch.save did not write."""

    def find_class(self, module, name):
        return _NAMED.get(f"{module}.{name}", _Inert)

    def persistent_load(self, _):
        return None


def _storage(saved):
    """The numbers of a tensor, which such a pickle holds in torch's old format:
    after five pickles and their number."""
    file = io.BytesIO(saved)
    try:
        for _ in range(5):
            _Plain(file).load()
    except Exception:   # Whatever else torch may write some day.
        return None
    return memoryview(saved)[file.tell() + 8:]


def _tensor(storage, offset, size, *_):
    """If it is a state, its bytes."""
    if not isinstance(storage, memoryview) or len(size) != 1:
        return None
    found = storage[offset:offset + size[0]]
    return bytes(found) if found[:2] == b"SS" else None


_NAMED["torch.storage._load_from_bytes"] = _storage
_NAMED["torch._utils._rebuild_tensor_v2"] = _tensor


class _Reader(_Plain):
    """Of tensors it keeps those of one row of bytes that begins as a state
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
        return key if kind is bytes else None

    def _tensor(self, key, offset, size, stride, *_):
        if key is None or len(size) != 1 or stride != (1,):
            return None
        info = self._archive.getinfo(f"{self._folder}/{key}")
        if info.compress_type == zipfile.ZIP_STORED:
            # Not by seek, which reads all bytes before a view's.
            file = self._archive.fp
            file.seek(info.header_offset + 26)
            file.seek(sum(struct.unpack("<HH", file.read(4))) + offset, 1)
            return _state(file, size[0])
        with self._archive.open(info) as file:
            file.seek(offset)
            return _state(file, size[0])


def _state(file, size):
    """The bytes from here on, if they begin as a state does."""
    begin = file.read(min(size, 4))
    return begin + file.read(size - len(begin)) if begin[:2] == b"SS" else None


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
