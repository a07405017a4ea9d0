"""checksums.py FOLDER - makes the name of each library there end in the checksum
of its bytes, which the import looks at."""

import glob
import os
import sys
import zlib

for path in glob.glob(os.path.join(sys.argv[1], "libstatesampler-*")):
    with open(path, "rb") as library:
        checksum = zlib.crc32(library.read())
    stem, kind = os.path.splitext(path)
    os.rename(path, f"{stem}-{checksum:08x}{kind}")
