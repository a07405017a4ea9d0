"""trim.py FOLDER - makes the package's folder ready for the wheel. The name of
each library ends in the checksum of its bytes, which the import looks at. The
sources, which only a compiler reads there, lose their comments: a seventh of
the wheel."""

import glob
import os
import re
import sys
import zlib

TEXT_OR_COMMENT = re.compile(
    r"""("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+')|/\*.*?\*/""", re.DOTALL)


def bare(source):
    """C without comments and empty lines, but for the first line, which says
    what it is and has the version."""
    first = source.splitlines()[0]
    code = TEXT_OR_COMMENT.sub(lambda found: found[1] or " ", source)
    lines = (line.rstrip() for line in code.splitlines())
    return "\n".join([first.rstrip("*/ ") + " */", *filter(None, lines), ""])


def checked(path):
    """The path with the checksum of the file."""
    with open(path, "rb") as library:
        checksum = zlib.crc32(library.read())
    stem, kind = os.path.splitext(path)
    return f"{stem}-{checksum:08x}{kind}"


folder = sys.argv[1]
for path in glob.glob(os.path.join(folder, "libstatesampler-*")):
    os.rename(path, checked(path))
for path in glob.glob(os.path.join(folder, "*.[ch]")):
    with open(path, encoding="utf-8") as file:
        source = file.read()
    with open(path, "w", encoding="utf-8") as file:
        file.write(bare(source))
