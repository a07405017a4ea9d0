"""How the package gets its library: built at the first import, once for
its content, and what is said where that cannot be; and what needs no torch, and
does not import it where it is."""

import glob
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import mutants
from common import EXAMPLES, ROOT, main
from statesampler import _library
from statesampler._build import included

FOLDER = os.path.dirname(os.path.realpath(__file__))
SOURCES = os.path.join(ROOT, "examples", "python", "statesampler")
with open(os.path.join(SOURCES, "library.c")) as source:
    HEADER, *EXTRAS = included(source.read())

# The fastest compiler that is there.
COMPILER = {"CC": "tcc"} if shutil.which("tcc") else {}

PROGRAM = """
from statesampler import Sampler
print(sum(sum(batch) for batch in Sampler(9, 0, 1, 4, shuffle=False)))
"""

WITHOUT_TORCH = """
import sys
sys.modules["torch"] = None
import statesampler
from statesampler import Mix, Sampler
first = Sampler(100, 1, 3, 8, seed=5)
batches = [batch.tolist() for batch in first]
assert (first.epoch, sum(map(len, batches))) == (1, 34)
again = Sampler(100, 1, 3, 8, seed=5)
next(again), next(again)
state = again.save()
left = Sampler(100, 1, 3, 8, seed=5)
left.load(state)
assert (left.step, left.num_steps) == (2, 5)
assert [batch.tolist() for batch in left] == batches[2:]
assert left.sample_seed(0, 3) != left.sample_seed(1, 3)
left.begin(0)
left.seek(4)
assert next(left).tolist() == batches[4]
mix = Mix([10, 20], 0, 1, 5, weights=[1, 2], stop="all")
batches = list(mix)
assert all(isinstance(batch, memoryview) for batch in batches)
batches = [batch.tolist() for batch in batches]
assert sorted(sum(batches, [])) == list(range(30)) and mix.epoch == 1
mix.begin(0)
next(mix)
state = mix.save()
mix.begin(3)
mix.load(state)
assert [batch.tolist() for batch in mix] == batches[1:]
import copy
import pickle
for make in (lambda: Sampler(9, 0, 1, 2, stream=3),
             lambda: Mix([6, 4], 0, 1, 2, [1, 2], "all", 7)):
    whole = make()
    order = [batch.tolist() for batch in whole]
    for way in (copy.copy, copy.deepcopy,
                lambda it: pickle.loads(pickle.dumps(it))):
        one = make()
        next(one), next(one)
        other = way(one)
        for each in other, one:     # and neither moves the other
            assert [batch.tolist() for batch in each] == order[2:]
            assert (each.epoch, each.save()) == (whole.epoch, whole.save())
        del one
        other.begin(whole.epoch - 1)
        assert [batch.tolist() for batch in other] == order
assert [len(batch) for batch in Mix(iter([3, 4]), 0, 1, 2**31)] == [3, 4]
assert len(next(Sampler(5, 0, 1, 2**31))) == 5
assert len(next(Sampler(5, 0, 1, 12, tail="carry"))) == 12
left.load(memoryview(bytearray(left.save())))
for wrong, word in ((lambda: Sampler(9, 0, 1, 0), "batch_size"),
                    (lambda: left.load("state"), "got str"),
                    (lambda: mix.load(None), "got NoneType"),
                    (lambda: left.seek(2**64), "step"),
                    (lambda: mix.seek(1.5), "step"),
                    (lambda: left.sample_seed(-1, 0), "epoch"),
                    (lambda: mix.sample_seed(0, "1"), "index"),
                    (lambda: Sampler("9", 0, 1), "a str"),
                    (lambda: Sampler(9, 0, 1, epoch=-1), "epoch"),
                    (lambda: left.seek(9), "past the end"),
                    (lambda: left.load(state), "statesampler: "),
                    (lambda: Mix(9, 0, 1), "lengths"),
                    (lambda: Mix([9], 0, 1, shuffle="no"), "a str"),
                    (lambda: mix.load(state[:-1] + b"?"), "changed")):
    try:
        wrong()
    except ValueError as error:
        assert word in str(error), error
    else:
        raise AssertionError(word)
for make, word in ((lambda: Sampler(9, 0, 1, lengths=[1]), "lengths"),
                   (lambda: Mix([9], 0, 1, stream=3), "stream")):
    try:
        make()
    except TypeError as error:
        assert word in str(error) and "_describe" not in str(error), error
    else:
        raise AssertionError(word)
try:
    statesampler.StatefulDistributedSampler(range(9), 1, 0)
except ImportError as error:
    assert "needs torch" in str(error)
else:
    raise AssertionError("torch")
from statesampler import *
import pydoc
assert "class Mix" in pydoc.plaintext.document(statesampler)
try:
    import numpy
except ImportError:
    pass
else:
    batch = next(Sampler(100, 0, 1, 10, shuffle=False))
    indices = numpy.asarray(batch)
    assert indices.dtype == numpy.int64 and not indices.flags.owndata
    batch[0] = 7
    assert indices[0] == 7
    assert next(Sampler(numpy.int64(100), 0, 1, numpy.int32(4))).nbytes == 32
    left.load(numpy.frombuffer(left.save(), numpy.uint8))
print("fine")
"""

BESIDE_TORCH = """
import sys
import statesampler
from statesampler import Mix, Sampler
assert "StatefulDistributedSampler" in dir(statesampler)
assert len(next(Sampler(9, batch_size=4))) == len(next(Mix([4]))) + 3
assert not hasattr(statesampler, "Distributed")
assert "torch" not in sys.modules
from statesampler import *
assert issubclass(StatefulDistributedSampler,
                  sys.modules["torch"].utils.data.DistributedSampler)
assert RoundRobinBatchSampler is statesampler.RoundRobinBatchSampler
print(statesampler.__version__)
"""


class Library(unittest.TestCase):
    def setUp(self):
        top = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, top)
        # So deep that no header is above it.
        self.folder = os.path.join(top, "a", "b")
        self.package = os.path.join(self.folder, "statesampler")
        shutil.copytree(os.path.join(EXAMPLES, "statesampler"), self.package,
                        ignore=shutil.ignore_patterns("lib*.*", "*.h"))
        shutil.copy(os.path.join(SOURCES, "library.c"), self.package)
        self.source = os.path.join(self.package, "library.c")
        shutil.copy(os.path.join(ROOT, "statesampler.h"), self.folder)
        for file in EXTRAS:
            shutil.copy(os.path.join(ROOT, "examples", "extras", file),
                        self.folder)
        self.build = os.path.join(self.folder, "build")
        self.cache = os.path.join(top, "cache")

    def start(self, program=PROGRAM, **environment):
        return subprocess.Popen(
            [sys.executable, "-B", "-c", program], cwd=self.folder, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**os.environ, **COMPILER, "CFLAGS": "-O0",
                 "XDG_CACHE_HOME": self.cache, **environment})

    def said(self, **environment):
        """What a process prints that ends by itself."""
        process = self.start(**environment)
        out, errors = process.communicate()
        self.assertGreaterEqual(process.returncode, 0, "killed")
        return out or errors

    def libraries(self, folder=None):
        return sorted(glob.glob(os.path.join(folder or self.build, "*")))

    def digest(self, contents):
        """As the name of a library has it."""
        whole = hashlib.sha256(b"%d " % len(contents) + contents)
        return whole.hexdigest()[:16]

    def test_processes_at_once(self):
        """One compiles, the others wait for it."""
        counted = os.path.join(self.folder, "counted")
        with open(counted, "w") as file:
            file.write("#!/bin/sh\necho >>calls\nsleep 0.3\nexec " +
                       COMPILER.get("CC", "cc") + ' "$@"\n')
        os.chmod(counted, 0o755)
        running = [self.start(CC=counted) for _ in range(8)]
        self.assertEqual([each.communicate() for each in running],
                         [("36\n", "")] * 8)
        self.assertEqual(len(self.libraries()), 1)
        with open(os.path.join(self.folder, "calls")) as file:
            self.assertEqual(len(file.readlines()), 1)

    def test_other_users(self):
        """Who may use its folder may load it."""
        for mask in 0o022, 0o077:
            before = os.umask(mask)
            self.said(CC="cc")  # It keeps the modes of a file that is there.
            os.umask(before)
            self.assertEqual(os.stat(self.build).st_mode & 0o777,
                             0o777 & ~mask)
            self.assertEqual(os.stat(self.libraries()[0]).st_mode & 0o777,
                             0o777 & ~mask)
            shutil.rmtree(self.build)

    @unittest.skipUnless(shutil.which("c++"), "c++ is not here")
    def test_a_cplusplus_compiler(self):
        self.assertEqual(self.said(CC="c++"), "36\n")

    def test_a_header_elsewhere(self):
        """In the package's folder, or where the repository has it."""
        header = os.path.join(self.folder, "statesampler.h")
        for folder in self.package, os.path.join(self.folder, "..", ".."):
            header = shutil.move(header, folder)
            self.assertEqual(self.said(), "36\n")
            self.assertEqual(
                len(self.libraries(os.path.join(folder, "build"))), 1)

    def test_once_for_its_content(self):
        """Time stamps say nothing; each of the sources and options does."""
        self.assertEqual(self.said(), "36\n")
        first = self.libraries()
        os.utime(first[0], (0, 0))
        header = os.path.join(self.folder, "statesampler.h")
        os.utime(header)
        written = os.stat(first[0]).st_mtime_ns
        self.assertEqual(self.said(), "36\n")
        self.assertEqual(os.stat(first[0]).st_mtime_ns, written)
        count = 1
        for path in header, self.source, *(
                os.path.join(self.folder, file) for file in EXTRAS):
            with open(path, "a") as file:
                file.write("/* another */\n")
            os.utime(path, (0, 0))
            self.assertEqual(self.said(), "36\n")
            count += 1
            self.assertEqual(len(self.libraries()), count)
        for options in {"CFLAGS": "-O1"}, {"CC": COMPILER.get("CC", "cc") +
                                               " -DANOTHER"}:
            self.assertEqual(self.said(**options), "36\n")
            count += 1
            self.assertEqual(len(self.libraries()), count)

    def test_a_folder_that_cannot_be_written(self):
        """The user's cache is used; a library that is there already, as it
        is."""
        with open(self.build, "w"):
            pass    # A file, so that there can be no such folder.
        self.assertEqual(self.said(), "36\n")
        cached = self.libraries(os.path.join(self.cache, "statesampler"))
        self.assertEqual(len(cached), 1)
        # And where neither can be written, it is loaded if it is there.
        os.utime(os.path.join(self.folder, "statesampler.h"))
        self.assertEqual(self.said(), "36\n")
        self.assertEqual(
            self.libraries(os.path.join(self.cache, "statesampler")), cached)

    def test_a_damaged_library(self):
        """It is never loaded, which could end the process, but built again."""
        self.said()
        library, = self.libraries()
        with open(library, "rb") as file:
            whole = file.read()
        for size in 0, 64, 4096, len(whole) - 1:
            with open(library, "wb") as file:
                file.write(whole[:size])
            self.assertEqual(self.said(), "36\n")
            for other in self.libraries():
                if other != library:
                    os.unlink(other)
        flipped = bytearray(whole)
        flipped[len(whole) // 2] ^= 1
        with open(library, "wb") as file:
            file.write(flipped)
        self.assertEqual(self.said(), "36\n")
        with open(library, "rb") as file:
            self.assertEqual(file.read() == whole, len(self.libraries()) == 1)

    def test_a_library_that_is_named(self):
        self.said()
        library = os.path.join(self.folder, "mine.so")
        shutil.move(self.libraries()[0], library)
        os.unlink(self.source)
        self.assertEqual(self.said(STATESAMPLER_LIBRARY=library), "36\n")
        self.assertEqual(self.said(STATESAMPLER_LIBRARY="mine.so"), "36\n")

    def test_what_cannot_be_loaded(self):
        """It is not put in place, where the next process would find it: here
        of a compiler that fails where nobody hears of it."""
        self.assertIn("and none could be built in", self.said(CC="true"))
        self.assertEqual(self.libraries(), [])
        self.assertEqual(self.said(), "36\n")
        whole, = self.libraries()
        # Nor does one that is there and cannot be loaded stand in the way.
        broken = f"{whole.rsplit('-', 1)[0]}-{self.digest(b'')}.so"
        os.replace(whole, broken)
        with open(broken, "w"):
            pass
        self.assertEqual(self.said(), "36\n")

    def test_no_home(self):
        """No folder "~" is made, nor one that is meant to be another."""
        with open(self.build, "w"):
            pass
        before = sorted(os.listdir(self.folder))
        for cache in "", "cache":
            said = self.said(XDG_CACHE_HOME=cache, HOME="~")
            self.assertIn("and none could be built in", said)
            self.assertEqual(sorted(os.listdir(self.folder)), before)

    def test_names_in_another_encoding(self):
        name = os.fsdecode(b"-DNAME=J\xfcrgen")
        self.assertEqual(self.said(CFLAGS=name), "36\n")
        with open(self.source, "ab") as file:
            file.write(b"#error J\xfcrgen\n")
        self.assertIn("#error J", self.said(CC="cc"))

    def test_what_is_missing(self):
        said = self.said(CC="no-such-cc")
        self.assertIn("and none could be built in", said)
        self.assertIn("no-such-cc", said)
        self.assertIn("no-such-flag", self.said(CFLAGS="--no-such-flag"))
        self.assertEqual(self.libraries(), [])
        other = os.path.join(self.folder, "other.so")
        with open(other, "w") as library:
            library.write("not one")
        for name in other, "/none.so":
            said = self.said(STATESAMPLER_LIBRARY=name)
            self.assertIn(f"ImportError: {name} was not built from library.c",
                          said)
        # Another one, and an older one, which lacks what is newer.
        for source in "", "unsigned long long statesampler_layout[4];":
            os.unlink(other)
            subprocess.run(["cc", "-shared", "-o", other, "-x", "c", "-"],
                           check=True, input=source, text=True)
            self.assertIn("ImportError: " + other,
                          self.said(STATESAMPLER_LIBRARY=other))
        no_library = "ImportError: no library in .* is for .*"
        for file in *reversed(EXTRAS), "statesampler.h":
            os.unlink(os.path.join(self.folder, file))
            self.assertRegex(self.said(CC=" "), f"{no_library}, and {file}, of "
                             "which one is made, is not in .*: install "
                             "statesampler with pip")
        os.unlink(self.source)
        self.assertRegex(self.said(), no_library + ": install statesampler again")

    def test_which_platform(self):
        """That of the process: a program for 32 bits runs on a system of 64, one
        for Intel on Apple's processors, and Windows says no more than Python
        itself."""
        def here(platform, machine="", version="", name="posix",
                 most=2**63 - 1):
            uname = os.uname_result(("", "", "", "", machine))
            with mock.patch.multiple(os, name=name, uname=lambda: uname), \
                    mock.patch.multiple(sys, platform=platform,
                                        version=version, maxsize=most):
                return _library._platform()
        for platform in "linux-x86_64", "linux-aarch64", "darwin-arm64", \
                "darwin-x86_64", "linux-riscv64", "freebsd14-amd64":
            self.assertEqual(here(*platform.split("-")), platform)
        self.assertNotIn(here("linux", "x86_64", most=2**31 - 1), (
            "linux-x86_64", "linux-i686"))
        compiled = "3.13.1 (main) [MSC v.1942 {}]"
        for machine, said in (("AMD64", "64 bit (AMD64)"),
                              ("ARM64", "64 bit (ARM64)")):
            self.assertEqual(here("win32", "", compiled.format(said), "nt"),
                             "win32-" + machine)
        self.assertNotIn("64", here("win32", "", compiled.format(
            "32 bit (Intel)"), "nt", 2**31 - 1))

    def test_each_code_has_a_sentence(self):
        """Also those of the headers of extras."""
        from statesampler._library import sentence
        folder = os.path.join(ROOT, "examples", "extras")
        with open(os.path.join(EXAMPLES, "statesampler", "library.c")) as file:
            headers = re.findall('include "([a-z]+)[.]h"', file.read())
        codes = []
        for header in headers:
            path = os.path.join(folder, header + ".h")
            if os.path.exists(path):
                with open(path) as file:
                    codes += re.findall(r"define ([A-Z]+_E[A-Z]+) [(](-\d+)[)]",
                                        file.read())
        self.assertGreater(len(codes), 30)
        for name, code in codes:
            self.assertNotEqual(sentence(int(code)), sentence(-99999), name)
            self.assertNotEqual(sentence(int(code)), sentence(0), name)

    def test_codes_are_those_of_the_headers(self):
        """Also those that JavaScript tells apart."""
        from statesampler import _codes
        text = ""
        for header in glob.glob(os.path.join(ROOT, "examples/extras/*.h")):
            with open(header) as file:
                text += file.read()
        with open(os.path.join(ROOT, "statesampler.h")) as file:
            text += file.read()
        codes = [(name, code) for name, code in vars(_codes).items()
                 if name.isupper()]
        self.assertGreater(len(codes), 10)
        in_js = ""
        for module in glob.glob(os.path.join(ROOT, "examples/js/*.mjs")):
            with open(module) as file:
                in_js += file.read()
        in_js = (re.findall(r"\b([A-Z]*_?E[A-Z_]+) = (-\d+)", in_js) +
                 [(name, code) for code, name in
                  re.findall(r'\[(-\d+)\]: "(E[A-Z]+)"', in_js)])
        self.assertGreater(len(in_js), 4)
        for name, code in codes + in_js:
            self.assertTrue(re.search(
                rf"(define (\w+_)?{name} [(]{code}[)]"
                rf"|X[(]{name}, {code}, )", text), (name, code))
        self.assertEqual(_codes.kind(_codes.ERANGE_BASE), _codes.ERANGE)
        self.assertEqual(_codes.kind(_codes.ERANGE), _codes.ERANGE)

    def test_each_header_is_named(self):
        """Also those that another header of extras includes."""
        for file in EXTRAS:
            with open(os.path.join(self.folder, file)) as header:
                self.assertLessEqual({*included(header.read())}, {*EXTRAS})

    def test_each_module_has_tests(self):
        self.assertEqual(sorted(mutants.TESTS), mutants.all_modules())
        for test in " ".join(mutants.TESTS.values()).split():
            self.assertTrue(os.path.exists(
                os.path.join(FOLDER, f"test_{test}.py")), test)

    def test_without_torch(self):
        out, errors = self.start(WITHOUT_TORCH).communicate()
        self.assertEqual((out, errors), ("fine\n", ""))

    def test_beside_torch(self):
        with open(os.path.join(ROOT, "statesampler.h")) as header:
            version = header.readline().split()[3]
        out, errors = self.start(BESIDE_TORCH).communicate()
        self.assertEqual((f"v{out}", errors), (f"{version}\n", ""))


if __name__ == "__main__":
    main()
