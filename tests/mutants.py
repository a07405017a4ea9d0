"""mutants.py - breaks statesampler.h in small ways; the tests must notice.

    python3 tests/mutants.py        of the faults that tests/faults.py makes,
                                    QUOTA in each function; always the same
                                    for a SEED
    python3 tests/mutants.py all    all of them

A fault is shown to the tests in one of WAYS after the other, until one notices.
In each way a test is compiled once, with a header that holds all faults; a
number in the environment chooses one. First comes the test that noticed the
last fault of the same function, then those that have noticed most for their
time. What no test notices is printed with its place, but for faults that leave
a compiler's code as it is. If more than MOST_MISSED in a hundred are left, the
tests are too weak.

ONLY=pattern takes only functions that it matches. JOBS, CC and STB_FLAGS come
from the Makefile."""

import concurrent.futures
import glob
import hashlib
import os
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile

from faults import Macro, all_faults, with_all

# Some faults change nothing that anyone could see, such as a bound between two
# ways to the same result. They are fewer than this.
MOST_MISSED = 2

# The ways of tests/ways.sh in which faults are shown: the usual one, with
# sanitizers, the small build, then those of other tables of vectors, mips,
# which has 32 bits and no table, and Windows' files.
WAYS = ["cc", "gcc-sanitize", "small", "gcc-plain", "gcc-sse2", "gcc-avx2",
        "gcc-avx512bw", "aarch64", "mips", "windows"]
STB_FLAGS = shlex.split(os.environ.get("STB_FLAGS", ""))
CORE = ["-DSTATESAMPLER_STB_DS"] if STB_FLAGS else []
# Where functions are not inlined, each fault is compiled in one place only: a
# header with 3,000 of them takes seconds instead of minutes.
APART = ["-O1", "-fno-inline", "-DSSMP_ALWAYS_INLINE=static inline"]
CHOSEN = "statesampler_fault"  # of tests/mutants.c


def number(name, default):
    """A whole number above 0 from the environment."""
    text = os.environ.get(name) or default
    if not re.fullmatch("[1-9][0-9]{0,8}", text):
        sys.exit(f"mutants: {name} is a whole number above 0, not {text}")
    return int(text)


JOBS = number("JOBS", "2")
SEED = os.environ.get("SEED") or "1"
QUOTA = number("QUOTA", "3")
ONLY = os.environ.get("ONLY") or ""


# --- Ways ---------------------------------------------------------------------

def ask_ways(*question):
    return subprocess.run(["sh", "tests/ways.sh", *question], text=True,
                          stdout=subprocess.PIPE)


class Way:
    """A way of tests/ways.sh: its compiler, and what it needs."""

    def __init__(self, name):
        line = ask_ways("line", name).stdout.split()
        self.name, self.amount, self.need = name, *line[:2]
        # What is to be run there, and only there.
        self.amount = {"sum": "bulk", "apart": "files"}.get(self.amount,
                                                            self.amount)
        # The same warnings count in all ways.
        command = [word for word in line[2:] if not word.startswith("-W")]
        command += STB_FLAGS
        self.compiler = command[0]
        self.quiet = command + ["-w"]
        self.strict = command + ["-Wconversion", "-Wsign-conversion",
                                 "-fsyntax-only"]
        self.runner = ([self.need] if re.match("qemu-|wine$", self.need)
                       else [])

    def missing(self):
        """What is not here and this way needs, or None."""
        for tool in [self.compiler] + self.runner:
            if not shutil.which(tool):
                return tool
        feature = re.match("cpu=(.*)|", self.need)[1]
        if feature and subprocess.run(
                ["grep", "-qsw", feature, "/proc/cpuinfo"]).returncode != 0:
            return f"a processor with {feature}"
        return None

    def begin(self, folder):
        """A Windows of its own, where it needs one, as begin_windows of
        tests/common.sh."""
        if self.need != "wine":
            return
        self.prefix = f"{folder}/wine"
        os.environ.update(WINEDEBUG="-all", WINEPREFIX=self.prefix,
                          WINEDLLOVERRIDES="winemenubuilder.exe=d",
                          LC_ALL="C.UTF-8", SHARE=r"\\localhost\z$")
        subprocess.run(["wineboot", "-i"], stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        shares = f"{self.prefix}/dosdevices/unc/localhost"
        os.makedirs(shares)
        os.symlink("/", f"{shares}/z$")

    def end(self):
        if self.need == "wine":
            subprocess.run(["wineserver", "-k"])
            subprocess.run(["wineserver", "-w"])
            shutil.rmtree(self.prefix, ignore_errors=True)

    def tests(self):
        """The sources of the tests that are run in it."""
        found = []
        for path in sorted(glob.glob("tests/test_*.c")):
            with open(path) as file:
                usable = STB_FLAGS or "stb_ds.h" not in file.read()
            name = os.path.basename(path)[:-2]
            if usable and ask_ways("is_tested", name, self.amount).returncode == 0:
                found.append(path)
        return found


def possible_ways(everything):
    """The ways that are possible here. A sample has no time for emulators."""
    ways = []
    for way in map(Way, WAYS):
        missing = way.missing()
        if missing:
            print(f"skip {way.name}: {missing} is not here")
        elif way.runner and not everything:
            print(f"skip {way.name}: make mutants-all takes it")
        else:
            ways.append(way)
    return ways


# --- Compiling ----------------------------------------------------------------

def run(command):
    """Runs a compiler that must succeed."""
    result = subprocess.run(command, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True)
    if result.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{result.stdout[-2000:]}")


def compile_header(folder, text, command):
    """What a compiler says to a header by itself, with all its parts."""
    with open(f"{folder}/statesampler.h", "w") as file:
        file.write(text)
    lines = ["#define STATESAMPLER_IMPLEMENTATION",
             "#define STATESAMPLER_HOSTED", "#include <statesampler.h>"]
    if STB_FLAGS:
        lines[:0] = ['#include "stb_ds.h"', "#define STATESAMPLER_STB_DS"]
    return subprocess.run(
        command + [f"-I{folder}", "-x", "c", "-",
                   "-D_XOPEN_SOURCE=700"],  # as test_hosted has it
        input="\n".join(lines) + "\n", text=True, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE)


def present(way, folder, text, faults):
    """The faults that the preprocessor leaves in: a name before each shows
    it."""
    def named(fault):
        return f"statesampler_fault_{fault.number} {fault.new}"
    seen = compile_header(folder, with_all(text, faults, CHOSEN, named),
                          way.quiet + APART + ["-E"])
    numbers = {int(number) for number in
               re.findall(r"statesampler_fault_(\d+)", seen.stdout)}
    return [fault for fault in faults if fault.number in numbers]


def complaints_about(folder, text, faults, command):
    """What a compiler says to these faults, and the numbers that it names."""
    result = compile_header(folder, with_all(text, faults, CHOSEN),
                            command + APART)
    named = re.findall(r"(?:^| at )fault-(\d+):\d", result.stderr, re.M)
    return result, {int(number) for number in named}


def without_warning(way, folder, text, faults):
    """The faults, but of the strict ones those that no warning names, or comes
    with, if it is of a macro."""
    strict = [fault for fault in faults if fault.strict]
    inside = [fault for fault in strict if isinstance(fault.function, Macro)]
    _, warned = complaints_about(
        folder, text, [fault for fault in strict if fault not in inside],
        way.strict)
    usual = complaints_about(folder, text, [], way.strict)[0].stderr
    for fault in inside:
        said, _ = complaints_about(folder, text, [fault], way.strict)
        if said.stderr != usual:
            warned.add(fault.number)
    return [fault for fault in faults if fault.number not in warned]


def compiling(way, folder, text, faults):
    """The faults that compile. Some constants have a range that is known only
    when code is made."""
    broken = set()
    while True:
        kept = [fault for fault in faults if fault.number not in broken]
        result, named = complaints_about(folder, text, kept,
                                         way.quiet + ["-S", "-o", "-"])
        if result.returncode == 0:
            return kept
        if not named:
            sys.exit("the header does not compile:\n" + result.stderr[:2000])
        broken |= named


def changes_code(way, folder, text, fault):
    """Whether the compiler's code is another one with the fault."""
    def code(header):
        return compile_header(folder, header,
                              way.quiet + ["-O2", "-S", "-o", "-"]).stdout
    return code(text) != code(
        text[:fault.start] + fault.new + text[fault.end:])


# --- Tests --------------------------------------------------------------------

class Test:
    """A test, compiled with all faults in its header."""

    def __init__(self, way, path):
        self.path, self.name = path, os.path.basename(path)[:-2]
        self.way = way
        self.seconds = 60.0  # of the processor, without a fault
        self.shown = self.noticed = 0  # how many faults

    def compile(self, folder, made):
        self.program = os.path.abspath(f"{made}/{self.name}.exe")
        own = ask_ways("own", self.path).returncode == 0
        core = [] if own else [
            "-O1", f"{made}/core.o",
            "-DSTATESAMPLER_IMPLEMENTATION_INCLUDED"]
        run(self.way.quiet + APART + core +
            [f"-I{folder}", "-I.", self.path, f"{made}/mutants.o", "-o",
             self.program, "-lm"])

    def notices(self, number):
        """What it says about a fault; None if nothing."""
        with tempfile.TemporaryDirectory() as scratch:
            os.symlink(os.path.abspath("tests"), f"{scratch}/tests")
            with open(f"{scratch}/said", "w+b") as said:
                status = self.run(number, scratch, said)
                said.seek(0)
                lines = said.read(4000).decode(errors="replace").splitlines()
        if status == 0:
            return None
        return "\n".join(lines) or f"status {status}"

    def run(self, number, scratch, said):
        limit = int((3 * self.seconds + 0.3) * 1e6)
        process = subprocess.Popen(
            [*self.way.runner, self.program, "reduced"], cwd=scratch,
            stdin=subprocess.DEVNULL, stdout=said, stderr=said,
            start_new_session=True,
            env={**os.environ, "TMPDIR": scratch, "FAULT": str(number),
                 "FAULT_US": str(limit)})
        try:
            # Others may use the machine, too, and an emulator takes its time.
            return process.wait(120 + 20 * self.seconds)
        except subprocess.TimeoutExpired:
            return -signal.SIGPROF
        finally:  # whatever it has started ends, too
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()


def compile_tests(way, folder, pool):
    """The tests. Without a fault they must notice nothing, or what they notice
    with one would prove nothing."""
    made = tempfile.mkdtemp()
    for source in "tests/mutants.c", "tests/core.c":
        name = os.path.basename(source)[:-2]
        run(way.quiet + APART + CORE +
            [f"-I{folder}", "-c", source, "-o", f"{made}/{name}.o"])
    tests = [Test(way, path) for path in way.tests()]
    for _ in pool.map(lambda test: test.compile(folder, made), tests):
        pass
    for test in tests:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        said = test.notices(0)
        if said:
            sys.exit(f"{test.name} fails without a fault, {way.name}: {said}")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        test.seconds = after.ru_utime - before.ru_utime
    return tests


def is_noticed(fault, tests):
    """Whether a test notices the fault. That test moves to the front."""
    for test in tests:
        test.shown += 1
        if test.notices(fault.number):
            test.noticed += 1
            tests.remove(test)
            tests.insert(0, test)
            return True
    return False


def noticed_of(function, tests, every_test):
    """The numbers of those faults of one function that the tests notice."""
    if not every_test:  # only those that call the function
        start = function[0].function.start
        tests = [test for test in tests if test.notices(-start)]
    tests = sorted(tests, key=lambda test: (
        (test.seconds + 0.01) * (test.shown + 1) / (test.noticed + 1)))
    return {fault.number for fault in function if is_noticed(fault, tests)}


# --- Faults -------------------------------------------------------------------

def draw(faults, text):
    """QUOTA of each function's faults: the same ones while the code of their
    statements is the same."""
    def lottery(fault):
        return hashlib.sha1("\n".join(
            (SEED, fault.before(text), fault.after(text))).encode()).digest()
    drawn, taken = set(), {}
    for fault in sorted(faults, key=lottery):
        name = fault.function.name
        if taken.get(name, 0) < QUOTA:
            taken[name] = taken.get(name, 0) + 1
            drawn.add(fault.number)
    return [fault for fault in faults if fault.number in drawn]


def by_function(faults):
    functions = {}
    for fault in faults:
        functions.setdefault(fault.function.start, []).append(fault)
    return [functions[start] for start in sorted(functions)]


def possible_faults(ways, folder, text):
    """The faults that a way compiles and of which no warning tells."""
    faults = [fault for fault in all_faults(text)
              if re.search(ONLY, fault.function.name)]
    possible, left = [], faults
    for way in ways:
        here = present(way, folder, text, left)
        possible += without_warning(way, folder, text, here)
        left = without(left, here)
    warned = len(faults) - len(left) - len(possible)
    print(f"{len(faults)} faults: {len(left)} in code that is not compiled "
          f"here, {warned} of which a compiler warns")
    return possible


def without(faults, others):
    numbers = {fault.number for fault in others}
    return [fault for fault in faults if fault.number not in numbers]


def show(way, folder, pool, text, faults, every_test):
    """Shows the faults to the tests of a way. Returns those that none of them
    notices."""
    with open(f"{folder}/statesampler.h", "w") as file:
        file.write(with_all(text, faults, CHOSEN))
    tests = compile_tests(way, folder, pool)
    functions, missed = by_function(faults), []
    answers = [pool.submit(noticed_of, function, tests, every_test)
               for function in functions]
    for count, (function, answer) in enumerate(zip(functions, answers), 1):
        noticed = answer.result()
        missed += [fault for fault in function if fault.number not in noticed]
        print(f"[{count}/{len(functions)}] {way.name} "
              f"{function[0].function.name}: {len(noticed)} of "
              f"{len(function)} noticed", flush=True)
    return missed


def show_all(ways, folder, pool, text, faults):
    """Shows the faults in one way after the other. Returns those that compile
    and those of them that no test notices."""
    compiled, missed = [], []
    for way in ways:
        # What one way can show is not worth an emulator's time.
        left = without(faults, compiled) + ([] if way.runner else missed)
        here = present(way, folder, text, left)
        here = compiling(way, folder, text, here)
        if not here:
            continue
        way.begin(os.path.abspath(folder))
        try:
            missed_here = show(way, folder, pool, text, here, way is ways[0])
        finally:
            way.end()
        compiled += without(here, compiled)
        missed = without(missed, here) + missed_here
    print(f"{len(faults) - len(compiled)} faults do not compile")
    return compiled, missed


def print_missed(missed, text):
    for fault in missed:
        line = text.count("\n", 0, fault.start) + 1
        print(f"\nstatesampler.h:{line}: {fault.function.name}: "
              f"no test notices\n  - {fault.before(text)}\n"
              f"  + {fault.after(text)}")


def summary(compiled, missed):
    """Prints the sum, and returns the exit status."""
    noticed = len(compiled) - len(missed)
    few = len(missed) * 100 <= MOST_MISSED * len(compiled)
    print(f"\n{noticed} of {len(compiled)} faults noticed, "
          f"{100 * noticed / max(len(compiled), 1):.1f} %; "
          f"{100 - MOST_MISSED} % must be")
    print(f"{noticed} passed, {0 if few else len(missed)} failed")
    return 0 if few and noticed else 1


def main():
    everything = sys.argv[1:] == ["all"]
    with open("statesampler.h") as file:
        text = file.read()
    ways = possible_ways(everything)
    os.makedirs("build", exist_ok=True)
    with tempfile.TemporaryDirectory(dir="build", prefix="mutants-") as folder:
        tempfile.tempdir = os.path.abspath(folder)
        pool = concurrent.futures.ThreadPoolExecutor(JOBS)
        try:
            faults = possible_faults(ways, folder, text)
            if not everything:
                faults = draw(faults, text)
                print(f"{len(faults)} of them by QUOTA={QUOTA} and "
                      f"SEED={SEED}")
            compiled, missed = show_all(ways, folder, pool, text, faults)
            none = [fault for fault in missed if not any(
                changes_code(way, folder, text, fault) for way in ways)]
        finally:
            pool.shutdown(cancel_futures=True)
    print(f"{len(none)} faults leave the compiler's code as it is")
    compiled, missed = without(compiled, none), without(missed, none)
    print_missed(missed, text)
    return summary(compiled, missed)


if __name__ == "__main__":
    sys.exit(main())
