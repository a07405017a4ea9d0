"""How statesampler.py gets its library: built at the first import, anew where
the header is newer, and what is said where that cannot be."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from common import EXAMPLES, ROOT, main

# Torch takes a second or two to import, and is not what is asked here.
PROGRAM = """
import sys, types
for name in ("torch", "torch.distributed", "torch.utils", "torch.utils.data",
             "torch.utils.data.dataloader"):
    sys.modules[name] = types.ModuleType(name)
sys.modules["torch"].distributed = sys.modules["torch.distributed"]
sys.modules["torch.utils.data"].Sampler = object
class _BaseDataLoaderIter:
    def _next_index(self):
        pass
sys.modules["torch.utils.data.dataloader"]._BaseDataLoaderIter = \\
    _BaseDataLoaderIter
import statesampler
sampler = statesampler.StatefulDistributedSampler(range(9), 1, 0, False)
print(sum(sampler))
"""


class Library(unittest.TestCase):
    def setUp(self):
        top = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, top)
        # So deep that no header is two folders up.
        self.folder = os.path.join(top, "a", "b")
        os.makedirs(self.folder)
        for name in "statesampler.py", "library.c":
            shutil.copy(os.path.join(EXAMPLES, name), self.folder)
        shutil.copy(os.path.join(ROOT, "statesampler.h"), self.folder)
        self.library = os.path.join(self.folder, "build",
                                    "libstatesampler.so")

    def start(self, **environment):
        return subprocess.Popen(
            [sys.executable, "-c", PROGRAM], cwd=self.folder, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**os.environ, **environment})

    def test_processes_at_once(self):
        running = [self.start() for _ in range(3)]
        self.assertEqual([each.communicate() for each in running],
                         [("36\n", "")] * 3)
        self.assertEqual(os.listdir(os.path.dirname(self.library)),
                         ["libstatesampler.so"])

    def test_other_users(self):
        """Who may use its folder may load it."""
        for mask in 0o022, 0o077:
            before = os.umask(mask)
            self.start().communicate()
            os.umask(before)
            folder = os.path.dirname(self.library)
            self.assertEqual(os.stat(folder).st_mode & 0o777, 0o777 & ~mask)
            self.assertEqual(os.stat(self.library).st_mode & 0o777,
                             0o777 & ~mask)
            shutil.rmtree(folder)

    def test_a_cplusplus_compiler(self):
        self.assertEqual(self.start(CC="c++").communicate()[0], "36\n")

    def test_a_newer_header(self):
        self.start().communicate()
        built = os.stat(self.library).st_mtime_ns
        self.assertEqual(self.start(CC="no-such-cc").communicate()[0], "36\n")
        os.utime(self.library, (0, 0))
        self.start().communicate()
        self.assertGreaterEqual(os.stat(self.library).st_mtime_ns, built)

    def test_what_is_missing(self):
        _, said = self.start(CC="no-such-cc").communicate()
        self.assertIn("ImportError: could not compile", said)
        self.assertIn("no-such-cc", said)
        _, said = self.start(CFLAGS="--no-such-flag").communicate()
        self.assertIn("no-such-flag", said)
        self.assertEqual(os.listdir(os.path.dirname(self.library)), [])
        with open(self.library, "w") as library:
            library.write("not one")
        _, said = self.start().communicate()
        self.assertIn("ImportError: " + self.library, said)
        subprocess.run(["cc", "-shared", "-o", self.library, "-x", "c",
                        "/dev/null"], check=True)
        _, said = self.start().communicate()
        self.assertIn("ImportError: " + self.library, said)
        _, said = self.start(CC=" ", CFLAGS="-O0",
                             STATESAMPLER_LIBRARY="/none.so").communicate()
        self.assertIn("ImportError: /none.so", said)
        os.unlink(os.path.join(self.folder, "library.c"))
        _, said = self.start().communicate()
        self.assertIn("ImportError: library.c is not in", said)
        os.unlink(os.path.join(self.folder, "statesampler.h"))
        _, said = self.start().communicate()
        self.assertIn("ImportError: statesampler.h is neither", said)


if __name__ == "__main__":
    main()
