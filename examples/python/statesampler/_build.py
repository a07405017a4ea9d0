"""Builds the C library for a copy of the folder, which has its sources."""

import contextlib
import glob
import hashlib
import os
import platform
import subprocess
import tempfile

_FOLDER = os.path.dirname(os.path.realpath(__file__))


def _digest(*parts):
    whole = hashlib.sha256()
    for part in parts:
        whole.update(b"%d " % len(part) + part)
    return whole.hexdigest()[:16]


def _contents(path):
    with open(path, "rb") as file:
        return file.read()


def _built(stem, load):
    """The library that was built earlier, or None. Its name ends in the digest
    of its bytes, so damaged ones are ignored."""
    for path in sorted(glob.glob(glob.escape(stem) + "-*.so")):
        with contextlib.suppress(OSError):
            if path == f"{stem}-{_digest(_contents(path))}.so":
                return load(path)
    return None


@contextlib.contextmanager
def _locked(folder):
    """Lets one process at a time in, where the system and the folder's file
    system have such locks. A process that ends gives the lock back."""
    with contextlib.ExitStack() as held:
        with contextlib.suppress(ImportError, OSError):
            import fcntl
            handle = os.open(folder, os.O_RDONLY)
            held.callback(os.close, handle)
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _build(stem, command, load):
    """Compiles the library, unless another process has done so meanwhile."""
    folder = os.path.dirname(stem)
    os.makedirs(folder, exist_ok=True)
    with _locked(folder):
        return _built(stem, load) or _compile(folder, stem, command, load)


def _compile(folder, stem, command, load):
    """Under a temporary name; loads it and renames it, so that no process
    finds an incomplete or unloadable one."""
    handle, temporary = tempfile.mkstemp(dir=folder)
    os.close(handle)
    try:
        subprocess.run(command + ["-o", temporary], check=True,
                       capture_output=True, errors="replace")
        # mkstemp's file is private; give it the permissions of the folder.
        os.chmod(temporary, os.stat(folder).st_mode & 0o777)
        loaded = load(temporary)
        os.replace(temporary, f"{stem}-{_digest(_contents(temporary))}.so")
        return loaded
    finally:
        if os.path.exists(temporary):
            os.unlink(temporary)


def _source(name, why, *folders):
    """The path of a file, in the first of these folders that has it."""
    folders = [os.path.realpath(os.path.join(_FOLDER, each))
               for each in folders]
    for path in (os.path.join(each, name) for each in folders):
        if os.path.exists(path):
            return path
    raise ImportError(f"{why}, and {name}, of which one is made, is not in "
                      f"{' or '.join(folders)}: install statesampler with pip")


def included(source):
    """The headers that library.c includes by name."""
    return [line.split('"')[1] for line in source.splitlines()
            if line.startswith('#include "')]


def find(load, why):
    """The library for these sources, compiler and options, built if necessary.
    It is kept in the folder `build` beside the header, or in the user's cache
    if that folder cannot be written. An error begins with why it is needed."""
    source = os.path.join(_FOLDER, "library.c")
    headers = [_source(name, why, ".", "..", "../../..", "../../extras")
               for name in
               included(_contents(source).decode(errors="replace"))]
    include = os.path.dirname(headers[0])
    command = os.environ.get("CC", "").split() or ["cc"]
    command += ["-std=c99", *os.environ.get("CFLAGS", "-O2").split()]
    name = "libstatesampler-" + _digest(
        *map(_contents, [source, *headers]),
        platform.platform().encode(), os.fsencode("\n".join(command)))
    command += ["-shared", "-fPIC", "-I", include, "-I",
                os.path.dirname(headers[-1]), "-x", "c", source]
    cache = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(cache):    # The XDG rule: ignore relative paths.
        cache = os.path.expanduser("~/.cache")
    stems = [os.path.join(include, "build", name)]
    if os.path.isabs(cache):        # Otherwise the user has no home folder.
        stems.append(os.path.join(cache, "statesampler", name))
    for stem in stems:
        library = _built(stem, load)
        if library:
            return library
    refused = []
    for stem in stems:
        try:
            return _build(stem, command, load)
        except (OSError, subprocess.CalledProcessError) as error:
            refused.append(getattr(error, "stderr", None) or str(error))
    raise ImportError(
        f"{why}, and none could be built in {os.path.dirname(stems[0])} with "
        f"the C compiler `{command[0]}` (install one, set CC to use another "
        "one, or STATESAMPLER_LIBRARY to use a library that is already built)"
        f": {'; '.join(dict.fromkeys(refused))}")
