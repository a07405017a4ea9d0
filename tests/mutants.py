"""mutants.py - breaks statesampler.h in small ways; the tests must notice each.

    python3 tests/mutants.py        every fault of tests/mutants.txt, of the
                                    generated ones QUOTA in each function, and
                                    a fifth of those in the samplers for
                                    PyTorch; always the same for a SEED
    python3 tests/mutants.py all    every generated fault
    python3 tests/mutants.py lists  none: only whether what the lists of faults
                                    quote is in the header

Generated faults that change nothing that anybody could notice stand in
tests/equivalent.txt, each with its reason.

Each fault is asked in the first of WAYS that compiles it. There each test is
compiled once, with a header that holds all its faults; a number in the
environment chooses one. A fault is shown to one test after the other: first to
the test that noticed the last fault of the same function, then to those that
have noticed most for their time. Those that no test notices are shown to the
tests once more, compiled with sanitizers. ONLY=pattern asks only the questions
that it matches. JOBS, CC and STB_FLAGS come from the Makefile."""

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

import faults as lists

STB_FLAGS = shlex.split(os.environ.get("STB_FLAGS", ""))
# The ways of tests/ways.sh in which faults are asked: the usual one, the small
# build, then those of other tables of vectors, mips, which has 32 bits and no
# table, and Windows' files.
WAYS = ["cc", "small", "gcc-plain", "gcc-avx2", "gcc-avx512bw", "aarch64",
        "mips", "windows"]
CORE = ["-DSTATESAMPLER_STB_DS"] if STB_FLAGS else []
# Where functions are not inlined, each fault is compiled in one place only: a
# header with 3,000 of them takes seconds instead of minutes.
PLAIN = ["-O1", "-fno-inline", "-Dalways_inline=unused"]
SANITIZED = PLAIN + ["-fsanitize=address,undefined",
                     "-fno-sanitize-recover=all"]


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
LISTED, EQUIVALENT = "tests/mutants.txt", "tests/equivalent.txt"
TORCH = "PyTorch: every fault in its samplers is noticed"

# Sets the number of the fault, and ends what does not end: by the processor's
# time, as others may use the machine, too.
CHOICE = """#include <stdlib.h>
int statesampler_fault;
#ifdef _WIN32
#include <windows.h>
static unsigned long most; /* microseconds */
static DWORD WINAPI watch(void *unused)
{
    FILETIME begin, end, kernel, user;
    do { /* ends with the process */
        Sleep(100);
        GetProcessTimes(GetCurrentProcess(), &begin, &end, &kernel, &user);
    } while (user.dwHighDateTime == 0 && user.dwLowDateTime / 10 < most);
    return !TerminateProcess(GetCurrentProcess(), 99);
}
static void limit_time(const char *limit)
{
    most = strtoul(limit, NULL, 10);
    CreateThread(NULL, 0, watch, NULL, 0, NULL);
}
#else
#include <sys/resource.h>
#include <sys/time.h>
static void limit_time(const char *limit)
{
    struct itimerval timer = {{0, 0}, {0, 0}};
    struct rlimit memory = {(rlim_t)4 << 30, (rlim_t)4 << 30};
    timer.it_value.tv_sec = atol(limit) / 1000000;
    timer.it_value.tv_usec = atol(limit) % 1000000;
    setitimer(ITIMER_PROF, &timer, 0);
#ifndef __SANITIZE_ADDRESS__
    setrlimit(RLIMIT_AS, &memory);
#else
    (void)memory;
#endif
}
#endif
__attribute__((constructor)) static void choose(void)
{
    const char *number = getenv("FAULT");
    if (number && getenv("FAULT_US")) {
        statesampler_fault = atoi(number);
        limit_time(getenv("FAULT_US"));
    }
}
"""

# --- Ways ---------------------------------------------------------------------


def ask_ways(*question):
    return subprocess.run(["sh", "tests/ways.sh", *question], text=True,
                          stdout=subprocess.PIPE)


class Way:
    """A way of tests/ways.sh: its compiler, and what it needs."""

    def __init__(self, name):
        line = ask_ways("line", name).stdout.split()
        self.name, self.amount, self.need = name, *line[:2]
        # What is to be asked there, and only there.
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
        self.place = "" if name == WAYS[0] else f", {name}"

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
        """The sources of the tests that it asks."""
        found = []
        for path in sorted(glob.glob("tests/test_*.c")):
            with open(path) as file:
                usable = STB_FLAGS or "stb_ds.h" not in file.read()
            name = os.path.basename(path)[:-2]
            if usable and ask_ways("asked", name, self.amount).returncode == 0:
                found.append(path)
        return found


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
        command + PLAIN + [f"-I{folder}", "-x", "c", "-",
                           "-D_XOPEN_SOURCE=700"],  # as test_hosted has it
        input="\n".join(lines) + "\n", text=True, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE)


def present(way, folder, text, faults):
    """The faults that the preprocessor leaves in: a name before each shows
    it."""
    def named(fault):
        return f"statesampler_fault_{fault.number} {fault.new}"
    seen = compile_header(folder, lists.with_all(
        text, faults, "statesampler_fault", named), way.quiet + ["-E"])
    numbers = {int(number) for number in
               re.findall(r"statesampler_fault_(\d+)", seen.stdout)}
    return [fault for fault in faults if fault.number in numbers]


def complaints_about(folder, text, faults, command):
    """What a compiler says to these faults, and the numbers that it names."""
    result = compile_header(
        folder, lists.with_all(text, faults, "statesampler_fault"), command)
    named = re.findall(r"(?:^| at )fault-(\d+):\d", result.stderr, re.M)
    return result, {int(number) for number in named}


def without_warning(way, folder, text, faults):
    """The faults, but of the strict ones those that no warning names, or comes
    with, if it is of a macro."""
    strict = [fault for fault in faults if fault.strict]
    inside = [fault for fault in strict
              if isinstance(fault.function, lists.Macro)]
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
                                         way.quiet + ["-S", "-o", os.devnull])
        if result.returncode == 0:
            return kept
        if not named:
            sys.exit("the header does not compile:\n" + result.stderr[:2000])
        broken |= named


class Test:
    """A test, compiled with all faults in its header."""

    def __init__(self, way, path, flags):
        self.path, self.name = path, os.path.basename(path)[:-2]
        self.way, self.flags = way, flags
        self.seconds = 60.0  # of the processor, without a fault
        self.shown = self.noticed = 0  # how many faults

    def compile(self, folder, made):
        self.program = os.path.abspath(f"{made}/{self.name}.exe")
        own = ask_ways("own", self.path).returncode == 0
        core = [] if own else [
            "-O1", f"{made}/core.o",
            "-DSTATESAMPLER_IMPLEMENTATION_INCLUDED"]
        run(self.way.quiet + self.flags + core +
            [f"-I{folder}", "-I.", self.path, f"{made}/choice.o", "-o",
             self.program, "-lm"])

    def notices(self, number):
        """What it says about a fault; None if nothing."""
        with tempfile.TemporaryDirectory() as scratch:
            os.symlink(os.path.abspath("tests"), f"{scratch}/tests")
            with open(f"{scratch}/said", "w+b") as said:
                status = self.ask(number, scratch, said)
                said.seek(0)
                lines = said.read(4000).decode(errors="replace").splitlines()
        if status == 0:
            return None
        if status == -signal.SIGPROF:
            return f"{self.name}: time limit"
        for line in lines:
            found = re.search("^tests/(.*)|(runtime error: .*)|"
                              "ERROR: (AddressSanitizer: [-a-z]*)", line)
            if found:
                said = next(filter(None, found.groups()))
                return said[:70] if found[1] else f"{self.name}: {said[:60]}"
        return f"{self.name}: status {status}"

    def ask(self, number, scratch, said):
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


def compile_tests(way, folder, flags):
    """The tests. Without a fault they must notice nothing, or what they notice
    with one would prove nothing."""
    made = tempfile.mkdtemp()
    with open(f"{made}/choice.c", "w") as file:
        file.write(CHOICE)
    for source in f"{made}/choice.c", "tests/core.c":
        name = os.path.basename(source)[:-2]
        run(way.quiet + flags + CORE +
            [f"-I{folder}", "-c", source, "-o", f"{made}/{name}.o"])
    tests = [Test(way, path, flags) for path in way.tests()]
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        for _ in pool.map(lambda test: test.compile(folder, made), tests):
            pass
    for test in tests:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        said = test.notices(0)
        if said:
            sys.exit(f"the header as it is{way.place}: {said}")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        test.seconds = after.ru_utime - before.ru_utime
    return tests


# --- Questions ----------------------------------------------------------------

def first_notice(fault, tests):
    """What the first test says that notices a fault, or None. That test moves
    to the front."""
    for test in tests:
        said = test.notices(fault.number)
        test.shown += 1
        if said:
            test.noticed += 1
            tests.remove(test)
            tests.insert(0, test)
            return said
    return None


def ask_function(faults, tests):
    """What the tests say about one function's faults, by their numbers."""
    tests = sorted(tests, key=lambda test: (
        (test.seconds + 0.01) * (test.shown + 1) / (test.noticed + 1)))
    return {fault.number: first_notice(fault, tests) for fault in faults}


def ask_callers(faults, tests):
    """The same of those tests only that call the function."""
    start = faults[0].function.start
    return ask_function(faults,
                        [test for test in tests if test.notices(-start)])


def as_entry(key, title):
    """A generated fault as tests/equivalent.txt has it."""
    return [f"@ {key[0]}", f"= {title}", f"- {key[1]}", f"+ {key[2]}"]


def answers_about(way, faults, said, equivalent):
    """The answers about one function's faults: each is a question, a note and
    a list of complaints. The generated ones are one question."""
    answers, complaints, count = [], [], 0
    for fault in faults:
        note = said[fault.number]
        if fault.name:
            answers.append((fault.question + way.place, note,
                            [] if note else ["no test noticed"]))
            continue
        count += 1
        reason = equivalent.get(fault.key)
        if reason is not None and note:
            complaints += as_entry(fault.key, reason)
            complaints += [f"is in tests/equivalent.txt, but {note}"]
        elif reason is None and not note:
            complaints += as_entry(fault.key, "no test noticed")
    if count:
        answers.append((f"{faults[0].function.name}: {count} generated"
                        f"{way.place}", None, complaints))
    return answers


def ask_torch(python, everything):
    """The samplers for PyTorch have faults and a program of their own."""
    result = subprocess.run([python, "examples/python/tests/mutants.py"], text=True,
                            env={**os.environ, "SEED": SEED,
                                 "SHARE": "1" if everything else "5"},
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    lines = result.stdout.splitlines() or ["no answer"]
    return [(TORCH, lines[-1], lines if result.returncode else [])]


def read_faults(text):
    """The faults of the list and the generated ones, numbered; the equivalent
    ones; and for each entry of both lists that is not in the header the list,
    the function, and what is missing, which is None if the function is."""
    parts = lists.functions_of(text) + lists.macros_of(text)
    faults, lost = [], []
    for entry in lists.entries_of(LISTED):
        try:
            faults.append(lists.fault_of(entry, parts))
        except lists.Lost as reason:
            lost.append((LISTED, entry.function, None if reason.gone else
                         f"{entry.title}: {reason}"))
    for part in parts:
        faults += lists.generated(part)
    for number, fault in enumerate(faults, 1):
        fault.number = number
    names = {part.name for part in parts}
    keys = {fault.key for fault in faults if not fault.name}
    shapes = {}
    for key in sorted(keys):
        shapes.setdefault(lists.shape_of(key), []).append(key)
    equivalent = {}
    for entry in lists.entries_of(EQUIVALENT):
        key = lists.key_of(entry)
        alike = shapes.get(lists.shape_of(key), [])
        if key not in keys and len(alike) == 1:
            key = alike[0]  # the same with other names
        if key in keys:
            equivalent[key] = entry.title
        else:
            lost.append((EQUIVALENT, entry.function,
                         f"no generated fault: {key[1]}"
                         if entry.function in names else None))
    return faults, equivalent, lost


def draw(faults, equivalent):
    """QUOTA of each function's generated faults, and all others."""
    def lottery(fault):
        return hashlib.sha1("\n".join((SEED,) + fault.key).encode()).digest()
    drawn, taken = set(), {}
    for fault in sorted(faults, key=lottery):
        name = fault.function.name
        if (not fault.name and fault.key not in equivalent and
                taken.get(name, 0) < QUOTA):
            taken[name] = taken.get(name, 0) + 1
            drawn.add(fault.number)
    return [fault for fault in faults
            if fault.name or fault.number in drawn]


class Answers:
    """Prints answers with their number of how many, and counts them."""

    def __init__(self):
        self.total = self.number = self.skipped = 0
        self.failures = []

    def skip(self, line):
        self.skipped += 1
        print(line, flush=True)

    def give(self, question, note, complaints):
        self.number += 1
        print(f"[{self.number}/{self.total}]",
              "FAIL" if complaints else "ok  ", question +
              (f" ({note})" if note and not complaints else ""))
        lines = ["    " + line for line in complaints[-60:]]
        if lines:
            self.failures += [f"FAIL {question}", *lines]
            print("\n".join(lines))
        sys.stdout.flush()

    def give_all(self, answers):
        for answer in answers:
            self.give(*answer)

    def sum(self):
        """Prints the failures again, as the answers are hundreds of lines."""
        skipped = f", {self.skipped} skipped" if self.skipped else ""
        failed = sum(line.startswith("FAIL ") for line in self.failures)
        print(*self.failures, sep="\n", end="\n" if failed else "")
        print(f"{self.number - failed} passed, {failed} failed{skipped}")
        return 0 if self.number and not failed else 1


def by_function(faults):
    groups = {}
    for fault in faults:
        groups.setdefault(fault.function.start, []).append(fault)
    return [groups[start] for start in sorted(groups)]


def write_header(folder, text, faults):
    with open(f"{folder}/statesampler.h", "w") as file:
        file.write(lists.with_all(text, faults, "statesampler_fault"))


def ask_way(way, folder, pool, text, faults, equivalent, answers):
    """Gives the answers about all faults of a way, and returns the numbers of
    those that were noticed. A function's answers wait until all that no test
    noticed have been shown to the tests with sanitizers, too, if no emulator
    runs them."""
    write_header(folder, text, faults)
    tests = compile_tests(way, folder, PLAIN)
    answers.give(f"the header as it is{way.place}", "no test notices anything",
                 [])
    groups, said, waiting = by_function(faults), {}, []
    for group, future in [(group, pool.submit(ask_function, group, tests))
                          for group in groups]:
        said.update(future.result())
        left = [fault for fault in group
                if not said[fault.number] and fault.key not in equivalent]
        if left and not way.runner:
            waiting.append((group, left))
        else:
            answers.give_all(answers_about(way, group, said, equivalent))
    if waiting:
        write_header(folder, text,
                     [fault for _, left in waiting for fault in left])
        tests = compile_tests(way, folder, SANITIZED)
    for group, future in [(group, pool.submit(ask_callers, left, tests))
                          for group, left in waiting]:
        said.update(future.result())
        answers.give_all(answers_about(way, group, said, equivalent))
    return {number for number, note in said.items() if note}


def print_share(faults, equivalent, noticed):
    """How many faults were noticed of those that are not listed as equivalent.
    The share is rounded down."""
    counted = [fault for fault in faults
               if fault.name or fault.key not in equivalent]
    seen = sum(fault.number in noticed for fault in counted)
    share = 1000 * seen // max(len(counted), 1) / 10
    print(f"{seen:,} of {len(counted):,} faults that are not listed as "
          f"equivalent noticed ({share:.1f} %); "
          f"{len(faults) - len(counted):,} are listed")


def start_torch(pool, everything, answers):
    """The question about the samplers for PyTorch, if they are here."""
    if not re.search(ONLY, TORCH):
        return []
    python = subprocess.run(["sh", "examples/python/tests/python.sh"], text=True,
                            stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL).stdout.strip()
    if python:
        return [pool.submit(ask_torch, python, everything)]
    answers.skip(f"skip {TORCH}: a python3 with torch is not here")
    return []


def possible_ways(everything, answers):
    """The ways that can be asked here. A sample has no time for emulators."""
    ways = []
    for way in map(Way, WAYS):
        missing = way.missing()
        if missing:
            answers.skip(f"skip {way.name}: {missing} is not here")
        elif way.runner and not everything:
            answers.skip(f"skip {way.name}: make mutants-all asks it")
        else:
            ways.append(way)
    return ways


def in_ways(ways, folder, text, faults):
    """Ways, each with the faults that it is the first to compile, and those
    that none does."""
    here = []
    for way in ways:
        group = present(way, folder, text, faults)
        taken = {fault.number for fault in group}
        faults = [fault for fault in faults if fault.number not in taken]
        if group:
            here.append((way, group))
    return here, faults


def lines_about(lost):
    """Prints which functions of the lists are gone, and returns a failure for
    each other entry that is not in the header."""
    for path in LISTED, EQUIVALENT:
        gone = [function for where, function, missing in lost
                if where == path and missing is None]
        if gone:
            print(f"note: {len(gone)} entries of {path} are of functions that "
                  f"are gone: {', '.join(sorted(set(gone)))}")
    return [f"FAIL {path}: {function}: {missing}"
            for path, function, missing in lost if missing]


def flat(groups):
    return [fault for _, group in groups for fault in group]


def ask(folder, pool, everything):
    answers = Answers()
    with open("statesampler.h") as file:
        text = file.read()
    faults, equivalent, lost = read_faults(text)
    try:
        faults = [fault for fault in faults if re.search(ONLY, fault.question)]
        if not (faults or re.search(ONLY, TORCH)):
            sys.exit(f"mutants: no fault matches {ONLY}")
    except re.error as error:
        sys.exit(f"mutants: ONLY is a pattern, and {ONLY} is none: {error}")
    ways = possible_ways(everything, answers)
    here, elsewhere = in_ways(ways, folder, text, faults)
    for question in sorted({fault.question for fault in elsewhere} -
                           {fault.question for fault in flat(here)}):
        answers.skip(f"skip {question}: not compiled here")
    valid = [(way, without_warning(way, folder, text, group))
             for way, group in here]
    drawn = valid if everything else [(way, draw(group, equivalent))
                                      for way, group in valid]
    kept = [(way, compiling(way, folder, text, group)) for way, group in drawn]
    numbers = {fault.number for fault in flat(kept)}
    answered = [(fault.question, None, ["does not compile"])
                for fault in flat(drawn)
                 if fault.name and fault.number not in numbers]
    if not everything:
        print(f"{len(flat(kept))} faults of {len(flat(valid))}: all of "
              f"tests/mutants.txt, and QUOTA={QUOTA} generated ones for each "
              f"function by SEED={SEED}", flush=True)
    torch = start_torch(pool, everything, answers)
    answers.total = len(answered) + len(torch) + len(kept) + sum(
        len({fault.question for fault in function})
        for _, group in kept for function in by_function(group))
    answers.give_all(answered)
    noticed = set()
    for way, group in kept:
        way.begin(os.path.abspath(folder))
        try:
            noticed |= ask_way(way, folder, pool, text, group, equivalent,
                               answers)
        finally:
            way.end()
    for future in torch:
        answers.give_all(future.result())
    print_share(flat(kept), equivalent, noticed)
    print(f"Not asked: {len(flat(here)) - len(flat(valid)):,} swapped "
          f"arguments of which a compiler warns, "
          f"{len(flat(drawn)) - len(flat(kept)):,} that do not compile, "
          f"{len(elsewhere):,} in code that is not compiled here")
    failures = [] if ONLY else lines_about(lost)
    answers.failures += failures
    answers.number += len(failures)
    return answers.sum()


def check_lists():
    with open("statesampler.h") as file:
        failures = lines_about(read_faults(file.read())[2])
    print(*failures, sep="\n", end="\n" if failures else "")
    return 1 if failures else 0


def main():
    if sys.argv[1:] == ["lists"]:
        return check_lists()
    os.makedirs("build", exist_ok=True)
    with tempfile.TemporaryDirectory(dir="build", prefix="mutants.") as folder:
        tempfile.tempdir = os.path.abspath(folder)
        pool = concurrent.futures.ThreadPoolExecutor(JOBS)
        try:
            return ask(folder, pool, sys.argv[1:] == ["all"])
        finally:
            pool.shutdown(cancel_futures=True)


if __name__ == "__main__":
    sys.exit(main())
