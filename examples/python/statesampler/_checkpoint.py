"""Reads what torch.save wrote, without torch, which takes a second to import,
and without running anything that the file names."""

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


def _encoded(text, _):
    """Bytes, as torch's pickles hold them."""
    return text.encode("latin-1")


class _Reader(Unpickler):
    """Of tensors it keeps those of one row of bytes that begins as a state
    does, as bytes."""

    def __init__(self, archive, folder, pickled):
        self._archive, self._folder = archive, folder
        super().__init__(pickled)

    def find_class(self, module, name):
        return {"_codecs.encode": _encoded,
                "collections.OrderedDict": _Dict,
                "torch.ByteStorage": bytes,
                "torch._utils._rebuild_tensor_v2": self._tensor}.get(
                    f"{module}.{name}", _Inert)

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


def read(path):
    with zipfile.ZipFile(path) as archive:
        folder = archive.namelist()[0].split("/")[0] + "/data"
        with archive.open(folder + ".pkl") as pickled:
            return _Reader(archive, folder, pickled).load()
