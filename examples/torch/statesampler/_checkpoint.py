"""Reads what torch.save wrote, without torch, which takes a second to import,
and without running anything that the file names. Nor does it import pickle and
zipfile, which would take a third of the time of an answer."""

import io
import struct
import zlib

try:
    from _pickle import Unpickler
except ImportError:     # It is CPython's, and faster to import.
    from pickle import Unpickler

# What the directory of a zip archive has before a file's name: how it is
# compressed, its checksum, size and place; and the lengths of the name and of
# two parts after it.
_ENTRY = struct.Struct("<10xH4xII18xI")
_LENGTHS = struct.Struct("<28xHHH")


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


class _Archive:
    """A zip archive as torch.save writes it: with or without the end that
    those above 4 GB have, and nothing is compressed."""

    def __init__(self, file):
        file.seek(-98, 2)
        end = file.read()
        if end[76:80] != b"PK\5\6":
            raise ValueError("its end is missing")
        size, = struct.unpack_from("<I", end, 88)
        file.seek(-size - (98 if end[:4] == b"PK\6\6" else 22), 2)
        self._file, self._directory = file, file.read(size)
        self._entries, at = {}, 0
        while at < size:
            length, more, last = _LENGTHS.unpack_from(self._directory, at)
            self._entries[self._directory[at + 46:at + 46 + length]] = at
            at += 46 + length + more + last
        self._folder = self._directory[46:].split(b"/", 1)[0]

    def read(self, name, offset=0, size=-1):
        """Bytes of a file in it; all of them if they have their checksum."""
        name = self._folder + name.encode()
        at = self._entries.get(name)
        if at is None:
            raise ValueError(f"it has no {name.decode()}")
        way, crc, whole, place = _ENTRY.unpack_from(self._directory, at)
        if place == 2**32 - 1:
            place, = struct.unpack_from("<Q", self._directory,
                                        at + 50 + len(name))
        self._file.seek(place)
        begin = self._file.read(30)
        if begin[:4] != b"PK\3\4" or way:
            raise ValueError(f"{name.decode()} is compressed, or not there")
        self._file.seek(offset + sum(struct.unpack_from("<HH", begin, 26)), 1)
        if size >= 0:
            return self._file.read(size)
        read = self._file.read(whole)
        if zlib.crc32(read) != crc:
            raise ValueError(f"{name.decode()} is damaged")
        return read


class _Reader(Unpickler):
    """Of tensors it keeps those of one row of bytes that begins as a state
    does, as bytes."""

    def __init__(self, archive):
        super().__init__(io.BytesIO(archive.read("/data.pkl")))
        self._archive = archive

    def find_class(self, module, name):
        return {"_codecs.encode": _encoded,
                "collections.OrderedDict": _Dict,
                "torch.ByteStorage": bytes,
                "torch._utils._rebuild_tensor_v2": self._tensor}.get(
                    f"{module}.{name}", _Inert)

    def persistent_load(self, storage):
        return f"/data/{storage[2]}" if storage[1] is bytes else None

    def _tensor(self, key, offset, size, stride, *_):
        if key is None or len(size) != 1 or stride != (1,) or (
                self._archive.read(key, offset, min(*size, 2)) != b"SS"):
            return None
        return self._archive.read(key, offset, *size)


def read(path):
    with open(path, "rb") as file:
        return _Reader(_Archive(file)).load()
