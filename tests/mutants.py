"""mutants.py - breaks statesampler.h in small ways; the tests must notice each.

    python3 tests/mutants.py        every fault of tests/mutants.txt, and of
                                    the generated ones QUOTA in each function,
                                    always the same for a SEED
    python3 tests/mutants.py all    every generated fault

Generated faults that change nothing that anybody could notice stand in
tests/equivalent.txt, each with its reason.

Each test is compiled once, with a header that holds all faults; a number in
the environment chooses one. A fault is shown to one test after the other,
quick ones first, and first of all to the test that noticed the last fault of
the same function. ONLY=pattern asks only the questions that it matches. JOBS,
CC and STB_FLAGS come from the Makefile."""

import concurrent.futures
import glob
import hashlib
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time

import faults as lists

STB_FLAGS = shlex.split(os.environ.get("STB_FLAGS", ""))
CC = (shlex.split(os.environ.get("CC") or "cc") +
      ["-w", "-std=c99"] + STB_FLAGS)
# -O0 compiles a header with 3,000 faults in seconds, -O1 in minutes; the macro
# keeps the vectors that the header has where it is optimised.
PLAIN = ["-O0", "-D__OPTIMIZE__"]
SANITIZED = ["-O0", "-D__OPTIMIZE__", "-fsanitize=address,undefined",
             "-fno-sanitize-recover=all"]
JOBS = int(os.environ.get("JOBS") or 2)
SEED = os.environ.get("SEED") or "1"
QUOTA = int(os.environ.get("QUOTA") or 6)
ONLY = os.environ.get("ONLY") or ""
TORCH = "PyTorch: every fault in its samplers is noticed"

# Sets the number of the fault, and ends what does not end: by the processor's
# time, as others may use the machine, too.
CHOICE = """#include <stdlib.h>
#include <sys/resource.h>
#include <sys/time.h>
int statesampler_fault;
__attribute__((constructor)) static void choose(void)
{
    const char *number = getenv("FAULT"), *limit = getenv("FAULT_US");
    if (number && limit) {
        struct itimerval timer = {{0, 0}, {0, 0}};
        struct rlimit memory = {(rlim_t)4 << 30, (rlim_t)4 << 30};
        statesampler_fault = atoi(number);
        timer.it_value.tv_sec = atol(limit) / 1000000;
        timer.it_value.tv_usec = atol(limit) % 1000000;
        setitimer(ITIMER_PROF, &timer, 0);
#ifndef __SANITIZE_ADDRESS__
        setrlimit(RLIMIT_AS, &memory);
#else
        (void)memory;
#endif
    }
}
"""

# --- Compiling ----------------------------------------------------------------


def run(command):
    """Runs a compiler that must succeed."""
    result = subprocess.run(command, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True)
    if result.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{result.stdout[-2000:]}")


def compile_header(folder, text, action):
    """What the compiler says to a header by itself, with all its parts."""
    with open(f"{folder}/statesampler.h", "w") as file:
        file.write(text)
    lines = ["#define STATESAMPLER_IMPLEMENTATION",
             "#define STATESAMPLER_HOSTED", "#include <statesampler.h>"]
    if STB_FLAGS:
        lines[:0] = ['#include "stb_ds.h"', "#define STATESAMPLER_STB_DS"]
    return subprocess.run(
        CC + PLAIN + [action, f"-I{folder}", "-x", "c", "-"],
        input="\n".join(lines) + "\n", text=True, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE)


def sort_out(folder, text, faults):
    """The faults that can be asked here; the numbers of those that do not
    compile; the numbers of those that the preprocessor leaves out."""
    # A name in the place of each fault shows what the preprocessor leaves in.
    seen = compile_header(folder, lists.with_all(
        text, faults, "statesampler_fault",
        lambda fault: f"statesampler_fault_{fault.number}"), "-E")
    numbers = {int(number) for number in
               re.findall(r"statesampler_fault_(\d+)", seen.stdout)}
    absent = {fault.number for fault in faults} - numbers
    broken = set()
    while True:
        kept = [fault for fault in faults
                if fault.number not in absent | broken]
        result = compile_header(
            folder, lists.with_all(text, kept, "statesampler_fault"),
            "-fsyntax-only")
        if result.returncode == 0:
            return kept, broken, absent
        named = re.findall(r"^fault-(\d+):\d", result.stderr, re.M)
        if not named:
            sys.exit("the header does not compile:\n" + result.stderr[:2000])
        broken |= {int(number) for number in named}


class Test:
    """A test, compiled with all faults in its header."""

    def __init__(self, path, flags):
        self.path, self.name = path, os.path.basename(path)[:-2]
        self.flags = flags
        self.seconds = 60.0  # how long it takes without a fault

    def compile(self, folder, made):
        self.program = os.path.abspath(f"{made}/{self.name}")
        own = subprocess.run(["sh", "tests/ways.sh", "own", self.path])
        core = [] if own.returncode == 0 else [
            "-O1", f"{made}/core.o",
            "-DSTATESAMPLER_IMPLEMENTATION_INCLUDED"]
        run(CC + self.flags + core + [f"-I{folder}", "-I.", self.path,
            f"{made}/choice.o", "-o", self.program, "-lm"])

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
        limit = int((5 * self.seconds + 0.3) * 1e6)
        process = subprocess.Popen(
            [self.program, "reduced"], cwd=scratch, stdin=subprocess.DEVNULL,
            stdout=said, stderr=said, start_new_session=True,
            env={**os.environ, "TMPDIR": scratch, "FAULT": str(number),
                 "FAULT_US": str(limit)})
        try:
            return process.wait(120)
        except subprocess.TimeoutExpired:
            return -signal.SIGPROF
        finally:  # whatever it has started ends, too
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()


def compile_tests(folder, flags):
    """The tests, quick ones first. Without a fault they must notice nothing,
    or what they notice with one would prove nothing."""
    made = tempfile.mkdtemp()
    with open(f"{made}/choice.c", "w") as file:
        file.write(CHOICE)
    for source in f"{made}/choice.c", "tests/core.c":
        name = os.path.basename(source)[:-2]
        run(CC + flags + [f"-I{folder}", "-c", source, "-o",
                          f"{made}/{name}.o"])
    tests = []
    for path in sorted(glob.glob("tests/test_*.c")):
        with open(path) as file:
            if STB_FLAGS or "stb_ds.h" not in file.read():
                tests.append(Test(path, flags))
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        for _ in pool.map(lambda test: test.compile(folder, made), tests):
            pass
    for test in tests:
        start = time.time()
        said = test.notices(0)
        if said:
            sys.exit(f"the header as it is: {said}")
        test.seconds = time.time() - start
    return sorted(tests, key=lambda test: test.seconds)


class Tests:
    """All tests, and the same with sanitizers for those faults that they do
    not notice otherwise: these are made when they are first wanted."""

    def __init__(self, folder):
        self.folder = folder
        self.plain = compile_tests(folder, PLAIN)
        self.made, self.lock = None, threading.Lock()

    def sanitized(self):
        with self.lock:
            if self.made is None:
                self.made = compile_tests(self.folder, SANITIZED)
            return list(self.made)


# --- Questions ----------------------------------------------------------------

def first_notice(fault, tests):
    """What the first test says that notices a fault, or None. That test moves
    to the front."""
    for test in tests:
        said = test.notices(fault.number)
        if said:
            tests.remove(test)
            tests.insert(0, test)
            return said
    return None


def as_entry(key, title):
    """A generated fault as tests/equivalent.txt has it."""
    return [f"@ {key[0]}", f"= {title}", f"- {key[1]}", f"+ {key[2]}"]


class Asker:
    """Shows the faults of one function to the tests."""

    def __init__(self, function, tests):
        self.function, self.tests = function, tests
        self.plain, self.sanitized = list(tests.plain), None

    def notice(self, fault, is_equivalent):
        """What the first test says that notices a fault, or None. What no
        test notices is shown to the tests with sanitizers, unless nothing
        is expected."""
        said = first_notice(fault, self.plain)
        if said or is_equivalent:
            return said
        if self.sanitized is None:
            # From now on, only the tests that call the function.
            self.plain = [test for test in self.plain
                          if test.notices(-self.function.start)]
            names = {test.name for test in self.plain}
            self.sanitized = [test for test in self.tests.sanitized()
                              if test.name in names]
        return first_notice(fault, self.sanitized)


def ask_function(faults, tests, equivalent):
    """The answers about one function's faults: each is a question, a note and
    a list of complaints. The generated ones are one question."""
    answers, complaints, count = [], [], 0
    asker = Asker(faults[0].function, tests)
    for fault in faults:
        reason = None if fault.name else equivalent.get(fault.key)
        said = asker.notice(fault, reason is not None)
        if fault.name:
            answers.append((fault.question, said,
                            [] if said else ["no test noticed"]))
            continue
        count += 1
        if reason is not None and said:
            complaints += as_entry(fault.key, reason)
            complaints += [f"is in tests/equivalent.txt, but {said}"]
        elif reason is None and not said:
            complaints += as_entry(fault.key, "no test noticed")
    if count:
        answers.append((f"{faults[0].function.name}: {count} generated", None,
                        complaints))
    return answers


def ask_torch(python):
    """The samplers for PyTorch have faults and a program of their own."""
    result = subprocess.run([python, "tests/torch/mutants.py"], text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    lines = result.stdout.splitlines() or ["no answer"]
    return [(TORCH, lines[-1], lines if result.returncode else [])]


def read_faults(text):
    """The faults of the list and the generated ones, numbered; the equivalent
    ones; and answers about what is wrong in the lists."""
    functions = lists.functions_of(text)
    faults, wrong = [], []
    for entry in lists.entries_of("tests/mutants.txt"):
        fault = lists.fault_of(entry, functions)
        if isinstance(fault, str):
            wrong.append((f"{entry.function}: {entry.title}", None, [fault]))
        else:
            faults.append(fault)
    for function in functions:
        faults += lists.generated(function)
    for number, fault in enumerate(faults, 1):
        fault.number = number
    keys = {fault.key for fault in faults if not fault.name}
    equivalent = {}
    for entry in lists.entries_of("tests/equivalent.txt"):
        key = lists.key_of(entry)
        equivalent[key] = entry.title
        if key not in keys:
            wrong.append((f"{entry.function}: {entry.title}", None,
                          ["not a generated fault:"] + list(key[1:])))
    return faults, equivalent, wrong


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
        self.total = self.number = self.failed = self.skipped = 0

    def skip(self, line):
        self.skipped += 1
        print(line, flush=True)

    def give(self, question, note, complaints):
        self.number += 1
        self.failed += bool(complaints)
        print(f"[{self.number}/{self.total}]",
              "FAIL" if complaints else "ok  ", question +
              (f" ({note})" if note and not complaints else ""))
        for line in complaints[-60:]:
            print("    " + line)
        sys.stdout.flush()

    def sum(self):
        skipped = f", {self.skipped} skipped" if self.skipped else ""
        print(f"{self.number - self.failed} passed, {self.failed} failed"
              f"{skipped}")
        return 0 if self.number and not self.failed else 1


def ask(folder, pool, everything):
    answers = Answers()
    with open("statesampler.h") as file:
        text = file.read()
    faults, equivalent, answered = read_faults(text)
    faults = [fault for fault in faults if re.search(ONLY, fault.question)]
    answered = [answer for answer in answered if re.search(ONLY, answer[0])]
    kept, broken, absent = sort_out(folder, text, faults)
    answered += [(fault.question, None, ["does not compile"])
                 for fault in faults if fault.name and fault.number in broken]
    for question in sorted({fault.question for fault in faults
                            if fault.number in absent} -
                           {fault.question for fault in kept}):
        answers.skip(f"skip {question}: not compiled here")
    if not everything:
        count = len(kept)
        kept = draw(kept, equivalent)
        print(f"{len(kept)} faults of {count}: all of tests/mutants.txt, and "
              f"QUOTA={QUOTA} generated ones for each function by SEED={SEED}")
    with open(f"{folder}/statesampler.h", "w") as file:
        file.write(lists.with_all(text, kept, "statesampler_fault"))
    tests = Tests(folder)
    answered.append(("the header as it is", "no test notices anything", []))

    torch = []
    if re.search(ONLY, TORCH):
        python = subprocess.run(["sh", "tests/torch/python.sh"], text=True,
                                stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL).stdout.strip()
        if python:
            torch = [pool.submit(ask_torch, python)]
        else:
            answers.skip(f"skip {TORCH}: a python3 with torch is not here")
    groups = {}
    for fault in kept:
        groups.setdefault(fault.function.start, []).append(fault)
    answers.total = (len(answered) + len(torch) + sum(
        len({fault.question for fault in group}) for group in groups.values()))
    for answer in answered:
        answers.give(*answer)
    asked = [pool.submit(ask_function, groups[start], tests, equivalent)
             for start in sorted(groups)]
    for future in asked + torch:
        for answer in future.result():
            answers.give(*answer)
    return answers.sum()


def main():
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
