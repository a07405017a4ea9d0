"""Fails and kills a program at each of its system calls, and cuts the power
at each of its writes:
    python3 tests/fuzz/crash.py save PROGRAM    one made from crash_save.c
    python3 tests/fuzz/crash.py control PROGRAM    one that flushes nothing
    python3 tests/fuzz/crash.py trainer PROGRAM    COUNT (200) of each kind
    python3 tests/fuzz/crash.py missing    prints what it lacks here, if it does
from the root of the repository. strace fails and kills; what may be left on a
disk after a power cut is computed from the list of calls, by class Disk."""

import collections
import errno
import itertools
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile

# The errors, and what is said of each.
ERRORS = {name: os.strerror(getattr(errno, name))
          for name in ("EIO", "ENOSPC", "EINTR", "EACCES")}

FLUSHES = ("fsync", "fdatasync")

# Calls that a save or a load makes again, or may pass over, after EINTR.
AGAIN = ("open", "openat", "creat", "read", "write", "close", *FLUSHES)

# A failure of brk is no number below 0, as strace makes it.
NO_FAILURES = ("brk",)

# Calls that change what is on a disk or where in a file one is, by their names
# on any processor.
CHANGES = ("open,openat,creat,read,write,pwrite64,lseek,fsync,fdatasync,close,"
           "rename,renameat,renameat2,unlink,unlinkat,mkdir,mkdirat,rmdir,"
           "ftruncate")

CALL = re.compile(r"^(\w+)\((.*)\) += (-?\d+|\?)")
TEXT = re.compile(r'"((?:\\x[0-9a-f]{2})*)"(\.\.\.)?')


def missing():
    """What strace lacks here: some containers let no program trace another."""
    if not shutil.which("strace"):
        return "strace"
    done = subprocess.run(["strace", "-o", os.devnull, "true"], timeout=60,
                          stderr=subprocess.DEVNULL)
    return "leave to trace a program" if done.returncode else ""


def strace(options, command, **more):
    """Runs a command under strace, for two minutes at most; returns its output
    and the calls."""
    with tempfile.NamedTemporaryFile(suffix=".strace") as log:
        done = subprocess.run(
            ["timeout", "-s", "KILL", "120", "strace", "-o", log.name,
             *options, *command],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, **more)
        with open(log.name, encoding="ascii") as calls:
            return done.stdout.decode(errors="replace").strip(), list(calls)


def numbered(calls):
    """Each call as its name and how many of this name there were up to it."""
    seen = collections.Counter()
    for match in filter(None, map(CALL.match, calls)):
        seen[match[1]] += 1
        yield match[1], seen[match[1]]


def asked_calls(calls):
    """Those between the two of getppid, numbered in the whole list."""
    inside, found = False, []
    for name, count in numbered(calls):
        if name == "getppid":
            inside = not inside
        elif inside and name not in NO_FAILURES:
            found.append((name, count))
    return found


def until_failure(calls):
    return list(itertools.takewhile(lambda line: "(INJECTED)" not in line,
                                    calls))


def made_again(calls):
    """Whether the next call after the one that failed is the same one."""
    tried = [match and match.group(1, 2) for match in
             map(CALL.match, calls[len(until_failure(calls)):][:2])]
    return len(tried) == 2 and tried[0] == tried[1]


def is_change_of_path(name):
    return re.match("open|creat|mkdir|rmdir|unlink|rename", name)


def texts(arguments):
    """The strings among a call's arguments."""
    return [bytes.fromhex(found[1].replace("\\x", ""))
            for found in TEXT.finditer(arguments)]


class File:
    def __init__(self, data=b""):
        self.data = self.kept = data   # now, and what has been flushed

    def sure(self):
        """How many first bytes no cut can take."""
        if self.data.startswith(self.kept):     # as nearly always, and fast
            return len(self.kept)
        return len(os.path.commonprefix([self.data, self.kept]))

    def half(self):
        return self.data[:(self.sure() + len(self.data)) // 2]

    def zeros(self):
        return self.data[:self.sure()].ljust(len(self.data), b"\0")


class Folder:
    def __init__(self):
        self.entries = {}
        self.kept = {}
        self.pending = []   # what was made, renamed and removed since a flush

    def change(self, *changes):
        """Takes changes that come onto the disk together or not at all; each
        is a name and what has it from now on, None for nothing."""
        self.pending.append(changes)
        self.entries.update(changes)

    def flush(self):
        self.kept, self.pending = dict(self.entries), []


class Disk:
    """What a list of system calls makes of one folder and those in it, now and
    after a power cut. POSIX says only that what was flushed is kept: so of a
    folder's later changes a cut keeps the first few, in each folder as many
    as it likes, and of a file's later bytes none, half, all, or as many
    zeros."""

    def __init__(self, root):
        self.root = os.path.realpath(root)
        self.folder = self.read(self.root)
        self.opened = {}

    def read(self, path):
        folder = Folder()
        for entry in os.scandir(path):
            if entry.is_dir(follow_symlinks=False):
                folder.entries[entry.name] = self.read(entry.path)
            else:
                with open(entry.path, "rb") as file:
                    folder.entries[entry.name] = File(file.read())
        folder.flush()
        return folder

    def find(self, path, opened):
        """The folder of a path, which may begin in an open folder, and the name
        in it; a path outside has none."""
        path = os.fsdecode(path)
        if opened in self.opened and not os.path.isabs(path):
            return self.opened[opened][0], path
        path = os.path.normpath(os.path.join(self.root, path))
        if path == self.root:
            return None, "."
        if not path.startswith(self.root + os.sep):
            return None, None
        folder = self.folder
        *above, name = path[len(self.root) + 1:].split(os.sep)
        for part in above:
            folder = folder.entries[part]
        return folder, name

    def apply(self, line):
        """Takes a line of strace into account, of a program that runs in this
        folder or names paths in full; returns whether it changed anything."""
        match = CALL.match(line)
        if not match or match[3] == "?" or int(match[3]) < 0:
            return False
        name, arguments, result = match[1], match[2], int(match[3])
        number = re.match(r"\d+", arguments)
        key = int(number[0]) if number else None
        paths = [self.find(path, key)
                 for path in texts(arguments) if is_change_of_path(name)]
        if name in ("open", "openat", "creat"):
            return self.open(paths[0], arguments, result)
        if name.startswith("mkdir") and paths[0][0]:
            paths[0][0].change((paths[0][1], Folder()))
        elif name[:6] in ("unlink", "rmdir") and paths[0][0]:
            paths[0][0].change((paths[0][1], None))
        elif name.startswith("rename") and paths[0][0]:
            (folder, old), (target, new) = paths
            assert folder is target, "a rename between folders"
            folder.change((new, folder.entries[old]), (old, None))
        elif key in self.opened:
            return self.use(name, key, arguments, result)
        else:
            return False
        return True

    def open(self, path, arguments, key):
        folder, name = path
        if name == ".":
            self.opened[key] = [self.folder, 0, False]
            return False
        if folder is None:
            self.opened.pop(key, None)
            return False
        file, changed = folder.entries.get(name), True
        if file is None:
            file = File()
            folder.change((name, file))
        elif "O_TRUNC" in arguments:
            file.data = b""
        else:
            changed = False
        self.opened[key] = [file, 0, "O_APPEND" in arguments]
        return changed

    def use(self, name, key, arguments, result):
        file, at, append = self.opened[key]
        if name == "close":
            del self.opened[key]
        elif name in ("fsync", "fdatasync"):
            if isinstance(file, Folder):
                file.flush()
            else:
                file.kept = file.data
        elif name == "lseek":
            self.opened[key][1] = result
        elif name == "read":
            self.opened[key][1] = at + result
        elif name == "ftruncate":
            size = int(arguments.split(",")[1])
            file.data = file.data[:size].ljust(size, b"\0")
        elif name in ("write", "pwrite64"):
            written = texts(arguments)[0][:result]
            assert len(written) == result, "strace cut what was written"
            if name == "pwrite64":
                at = int(arguments.split(",")[-1])
            elif append:
                at = len(file.data)
            end = at + len(written)
            file.data = (file.data[:at].ljust(at, b"\0") + written +
                         file.data[end:])
            if name == "write":
                self.opened[key][1] = end
        return name in ("fsync", "fdatasync", "ftruncate", "write", "pwrite64")

    def folders(self, folder=None):
        """All folders, also those that only a cut would show again."""
        folder = folder or self.folder
        found = [folder]
        inner = list(folder.kept.values())
        for changes in folder.pending:
            inner += [what for _, what in changes]
        for what in {id(what): what for what in inner}.values():
            if isinstance(what, Folder):
                found += self.folders(what)
        return found

    def cuts(self):
        """What a cut may leave: trees of dict and bytes."""
        folders = self.folders()
        choices = [range(len(folder.pending) + 1) for folder in folders]
        for kept in itertools.product(*choices):
            count = dict(zip(map(id, folders), kept))
            for bytes_left in (lambda file: file.kept,
                               lambda file: file.data, File.half, File.zeros):
                yield self.left(self.folder, count, bytes_left)

    def now(self):
        """What is there without a cut."""
        count = {id(folder): len(folder.pending) for folder in self.folders()}
        return self.left(self.folder, count, lambda file: file.data)

    def left(self, what, count, bytes_left):
        if isinstance(what, File):
            return bytes_left(what)
        entries = dict(what.kept)
        for changes in what.pending[:count[id(what)]]:
            entries.update(changes)
        return {name: self.left(inner, count, bytes_left)
                for name, inner in entries.items() if inner is not None}


def frozen(tree):
    """A tree as a key of sets: its bytes are not copied."""
    return tuple((name, frozen(what) if isinstance(what, dict) else what)
                 for name, what in tree.items())


def size(tree):
    return sum(size(what) if isinstance(what, dict) else len(what)
               for what in tree.values())


def write_tree(tree, path):
    """Makes a folder of what a cut has left."""
    os.mkdir(path)
    for name, what in tree.items():
        inner = os.path.join(path, name)
        if isinstance(what, dict):
            write_tree(what, inner)
        else:
            with open(inner, "wb") as file:
                file.write(what)


class Save:
    """statesampler_save_file, asked to replace number 1 by number 2, where a
    crash has left something that it sweeps away."""

    LEFT = ".statesampler-43313381-00000001.tmp"
    SWEEPS = ("getdents", "getdents64", "unlink", "unlinkat")

    def __init__(self, program, folder):
        self.program = os.path.abspath(program)
        self.folder = os.path.join(folder, "state of a run")
        self.wrong = []
        self.counts = {"calls failed": 0, "kills": 0, "power cuts": 0}

    def run(self, *words, options=None):
        command = [self.program, *words]
        if options is not None:
            return strace(options, command, cwd=self.folder)
        done = subprocess.run(command, cwd=self.folder, timeout=60,
                              stdout=subprocess.PIPE, check=True)
        return done.stdout.decode().strip()

    def begin(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        os.mkdir(self.folder)
        self.run("save", "state", "1")
        left = os.path.join(self.folder, self.LEFT)
        with open(left, "w") as file:
            file.write("left")
        os.utime(left, (0, 0))

    def expect(self, good, what):
        if not good:
            self.wrong.append(what)

    def is_clean(self, what):
        """The next save must succeed, and sweep away all that is left."""
        said = self.run("save", "state", "3")
        files = os.listdir(self.folder)
        self.expect(said == "no error" and files == ["state"] and
                    self.run("load", "state") == "3",
                    f"{what}: the next save says {said}, and there are {files}")

    @staticmethod
    def renamed(calls):
        """Whether the file had its name before a call failed."""
        return any(call.startswith("rename")
                   for call, _ in numbered(until_failure(calls)))

    @staticmethod
    def answers(good, name, error, calls):
        """What may be said after a call has failed: nothing is wrong, as many
        calls do not matter, or the sentence of its error. Those that sweep
        never matter. A flush or a close of the new file, which stand between
        its bytes and its rename, may tell what of the bytes was lost, so they
        do matter; so does the flush of the folder after it."""
        if error == "EINTR" and name in AGAIN or name in Save.SWEEPS:
            return [good]
        before = [call for call, _ in numbered(until_failure(calls))]
        if name in FLUSHES or (name == "close" and "write" in before and
                               not Save.renamed(calls)):
            return [ERRORS[error]]
        return [good, ERRORS[error]]

    def fail(self, verb, name, count, error):
        """Lets one call fail; what is asked must say so, or succeed."""
        self.begin()
        words = ("state", "2")[:2 if verb == "save" else 1]
        said, calls = self.run(verb, *words, options=[
            f"--inject={name}:error={error}:when={count}"])
        what = f"{verb}, {name} number {count} fails by {error}"
        self.expect(any("INJECTED" in line for line in calls),
                    f"{what}: it did not")
        good = "no error" if verb == "save" else "1"
        now = self.run("load", "state")
        there = "2" if said == "no error" or self.renamed(calls) else "1"
        self.expect(now == there,
                    f"{what}: it says {said}, and the file is {now}")
        self.expect(said in self.answers(good, name, error, calls),
                    f"{what}: it says {said}")
        self.expect(name not in FLUSHES or error != "EINTR" or
                    made_again(calls), f"{what}: it is not made again")
        self.expect({"state"} == {*os.listdir(self.folder)} - {self.LEFT},
                    f"{what}: there are {os.listdir(self.folder)}")
        self.is_clean(what)
        self.counts["calls failed"] += 1

    def kill(self, name, count):
        self.begin()
        _, calls = self.run("save", "state", "2", options=[
            f"--inject={name}:signal=KILL:when={count}"])
        what = f"killed at {name} number {count}"
        self.expect("killed by SIGKILL" in calls[-1], f"{what}: it was not")
        self.expect(self.run("load", "state") in ("1", "2"),
                    f"{what}: the file is {self.run('load', 'state')}")
        self.is_clean(what)
        self.counts["kills"] += 1

    def cut(self):
        """Cuts the power after each change."""
        self.begin()
        disk, seen = Disk(self.folder), set()
        _, calls = self.run("save", "state", "2", options=[
            "-xx", "-s", "100000", "-e", f"trace={CHANGES}"])
        saved = Disk(self.folder).now()
        for line in calls:
            for tree in disk.cuts() if disk.apply(line) else ():
                if frozen(tree) not in seen:
                    seen.add(frozen(tree))
                    self.load_tree(tree, ("1", "2"), line)
        assert disk.now() == saved, "another disk"
        # It has returned: from now on the number is the new one.
        for tree in disk.cuts():
            self.load_tree(tree, ("2",), "after all")

    def load_tree(self, tree, good, line):
        shutil.rmtree(self.folder, ignore_errors=True)
        write_tree(tree, self.folder)
        now = self.run("load", "state")
        self.expect(now in good, f"power cut, {line[:60].strip()}: the file "
                    f"is {now}")
        self.counts["power cuts"] += 1

    def ask(self, cuts_alone=False):
        if cuts_alone:
            self.cut()
            return self.wrong
        for verb, words in (("save", ("state", "2")), ("load", ("state",))):
            self.begin()
            _, calls = self.run(verb, *words, options=[])
            self.expect((verb == "load") ==
                        (self.LEFT in os.listdir(self.folder)),
                        f"{verb}: there are {os.listdir(self.folder)}")
            for name, count in asked_calls(calls):
                for error in ERRORS:
                    self.fail(verb, name, count, error)
                if verb == "save":
                    self.kill(name, count)
        self.cut()
        return self.wrong


class Trainer:
    """The trainer's checkpoints, of runs that begin in an empty folder, and of
    runs that begin in one as a killed run has left it: whatever fails, is
    killed or lost, the next run goes on, to the digest of one that was never
    disturbed, and no checkpoint that was there is another one or gone."""

    # Checkpoints after 3, 6 and 8 steps; one process, without mpirun.
    OPTIONS = ("CHECKPOINT.CHECKPOINT_ITER_FREQUENCY=3",
               "DATA.TRAIN.DATA_LIMIT=32", "OPTIMIZER.num_epochs=1",
               "MODEL.TRUNK.GPT.NUM_LAYERS=1", "TEST_MODEL=False")
    SAVED = (3, 6, 8)

    def __init__(self, program, folder, count, seed):
        self.folder = os.path.join(os.path.realpath(folder), "disk")
        self.dir = os.path.join(self.folder, "a run")
        self.count = count
        self.command = [program, "examples/trainer/tests/small.yaml", *self.OPTIONS,
                        f"CHECKPOINT.DIR={self.dir}"]
        self.environment = dict(
            os.environ, OPENBLAS_NUM_THREADS="1", OMPI_MCA_pml="ob1",
            OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
            TMPDIR=folder)
        self.wrong = []
        self.counts = {"calls failed": 0, "kills": 0, "power cuts": 0,
                       "power cuts after a kill and another run": 0}
        self.cut_later = set()
        self.random = random.Random(seed)

    def begin(self, tree):
        shutil.rmtree(self.folder, ignore_errors=True)
        write_tree(tree, self.folder)

    def paths(self):
        """All that a run has to do with on this disk."""
        yield from (self.folder, self.dir, f"{self.dir}/log.txt")
        for saved in (".step.tmp", *map("step-{:012}".format, self.SAVED)):
            yield f"{self.dir}/{saved}"

    def run(self, options=None):
        """Without strace, which leaves the list of calls empty, or with it,
        which counts and logs the calls of these paths only, as MPI makes calls
        at any time, and of the thread that writes checkpoints."""
        if options is not None:
            return strace(["-qq", "-xx", "-s", "1000000", "-e",
                           "trace=%file,%desc",
                           *(f"--trace-path={path}" for path in self.paths()),
                           *options], self.command, env=self.environment)
        done = subprocess.run(self.command, env=self.environment, timeout=60,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        return done.stdout.decode(errors="replace"), []

    def expect(self, good, what, said):
        if not good:
            self.wrong.append(f"{what}:\n{said}")

    def goes_on(self, what, after, options=None):
        """Runs to the end, from a step at least."""
        said, calls = self.run(options)
        self.expect(f"digest {self.digest}" in said, what, said)
        self.began(said, what, after)
        return calls

    def began(self, said, what, after):
        first = re.search(r"^step (\d+) ", said, re.M)
        self.expect(first is None or int(first[1]) > after,
                    f"{what}: it began before step {after + 1}", said)

    @staticmethod
    def checkpoints(tree):
        """By their steps."""
        return {int(name[5:]): what
                for name, what in tree.get("a run", {}).items()
                if re.fullmatch("step-[0-9]{12}", name)}

    def newest(self, tree):
        return max(self.checkpoints(tree), default=0)

    def keeps(self, start, what, said):
        """Whether the checkpoints of its beginning are as they were."""
        now = self.checkpoints(Disk(self.folder).now())
        for step, saved in self.checkpoints(start).items():
            self.expect(now.get(step) == saved,
                        f"{what}: the checkpoint of step {step} is not what "
                        "it was", said)

    def changes(self, disk, calls, after):
        """Applies a run's calls to a disk; at each that changes it, the newest
        checkpoint that has been saved, as what comes after it in the log
        says."""
        disk.opened = {}
        for line in calls:
            if not disk.apply(line):
                continue
            for text in texts(line):
                step = re.match(rb"step (\d+) ", text)
                after = max([after] + [saved for saved in self.SAVED
                                       if step and saved < int(step[1])])
            yield after

    def cuts(self, disk, calls, after):
        """What a power cut may leave after each change of a run that ends, and
        the newest checkpoint that must be there."""
        trees = {}
        for saved in self.changes(disk, calls, after):
            for tree in disk.cuts():
                trees[frozen(tree)] = tree, saved
        for tree in disk.cuts():
            trees[frozen(tree)] = tree, self.SAVED[-1]
        assert disk.now() == Disk(self.folder).now(), "another disk"
        return list(trees.values())

    @staticmethod
    def least(trees):
        """What keeps least of each save that must be there."""
        return list({after: (tree, after) for tree, after in
                     sorted(trees, key=lambda each: -size(each[0]))}.values())

    def watch(self, start):
        """One undisturbed run: its calls that have to do with checkpoints, and
        what a power cut may leave after each."""
        self.begin(start)
        disk = Disk(self.folder)
        said, calls = self.run([])
        digest = re.search(r"^digest (\w+)", said, re.M)
        if not digest:
            sys.exit("crash: a run that nothing disturbs prints no digest in "
                     f"two minutes:\n{said}")
        self.digest = digest[1]
        there = {os.path.join(at, name) for at, folders, files
                 in os.walk(self.folder) for name in folders + files}
        assert there <= set(self.paths()), "nobody asks of all of its files"
        found = [(start, *call) for call in numbered(calls)]
        return found, self.cuts(disk, calls, self.newest(start))

    def cut(self, what, tree, after):
        self.begin(tree)
        self.goes_on(f"{what}power cut, {list(self.checkpoints(tree))}", after)

    def killed(self, start, name, count):
        """What a killed run has made of a disk, and what it has saved."""
        what = (f"from step {self.newest(start)}, killed at {name} number "
                f"{count}")
        self.begin(start)
        disk = Disk(self.folder)
        said, calls = self.run(["-e", f"inject={name}:signal=KILL:"
                                f"when={count}"])
        self.expect("killed by SIGKILL" in calls[-1], f"{what}: it was not",
                    said)
        self.keeps(start, what, said)
        after = max(self.changes(disk, calls, self.newest(start)),
                    default=self.newest(start))
        assert disk.now() == Disk(self.folder).now(), "another disk"
        return disk, what, after

    def kill(self, *moment):
        """The next run goes on from what is there, and ends. A power cut in it
        or after it also takes what the killed one had not flushed, but nothing
        that either has saved."""
        disk, what, after = self.killed(*moment)
        calls = self.goes_on(what, self.newest(disk.now()), [])
        self.counts["kills"] += 1
        trees = self.cuts(disk, calls, after)
        for tree, saved in self.random.sample(trees, 1) + self.least(trees):
            if (frozen(tree), saved) not in self.cut_later:
                self.cut_later.add((frozen(tree), saved))
                self.cut(f"{what}, and in the next run or after it a ", tree,
                         saved)
                self.counts["power cuts after a kill and another run"] += 1

    def must_say(self, name, error, calls):
        """Whether nobody may pass over a failure: that of a flush, unless it is
        made again, or of the folder above DIR, which may be others' to keep
        and then may not be read."""
        if name not in FLUSHES or error == "EINTR" and made_again(calls):
            return False
        *before, flush = calls[:len(until_failure(calls)) + 1]
        opened = None
        for match in filter(None, map(CALL.match, before)):
            if (match[1] in ("open", "openat") and
                    match[3] == CALL.match(flush)[2]):
                opened = os.fsdecode(texts(match[2])[0])
        return error != "EACCES" or opened != self.folder

    @staticmethod
    def has_made_file(calls):
        """Whether a save has begun; an earlier run's rest may stay before."""
        return any(match[1] in ("open", "openat") and match[3] != "-1" and
                   texts(match[2])[0].endswith(b"/.step.tmp")
                   for match in filter(None, map(CALL.match, calls)))

    def fail(self, start, name, count, error):
        """Lets one call fail: the run ends, or says in a sentence why not. That
        it goes on from a checkpoint is no such sentence, and it never begins
        before the newest."""
        what = (f"from step {self.newest(start)}, {name} number {count} fails "
                f"by {error}")
        self.begin(start)
        said, calls = self.run(["-e", f"inject={name}:error={error}:"
                                f"when={count}"])
        self.expect(any("(INJECTED)" in line for line in calls),
                    f"{what}: it did not", said)
        ended = f"digest {self.digest}" in said
        self.expect(ended or
                    re.search(r"^trainer: (?!resuming from )", said, re.M),
                    what, said)
        self.expect(not ended or not self.must_say(name, error, calls),
                    f"{what}, and it says nothing", said)
        self.expect(not self.has_made_file(calls) or
                    not os.path.exists(f"{self.dir}/.step.tmp"),
                    f"{what}, and .step.tmp is left", said)
        self.began(said, what, self.newest(start))
        self.keeps(start, what, said)
        # What a run without a complaint has saved is whole.
        self.goes_on(what, self.SAVED[-1] if ended else self.newest(start))
        self.counts["calls failed"] += 1

    def some(self, of):
        return self.random.sample(of, min(self.count, len(of)))

    def ask(self):
        found, trees = self.watch({})
        *_, last = [moment for moment in found if moment[1][:6] == "rename"]
        unnamed = self.killed(*last)[0].now()
        again, cut_again = self.watch(unnamed)
        print(f"{4 * len(found)} + {4 * len(again)} failures and {len(found)} "
              f"+ {len(again)} kills at calls, {len(trees)} + "
              f"{len(cut_again)} states of the disk after a power cut, of a "
              f"run from nothing and of one from step {self.newest(unnamed)}; "
              f"at most {self.count} of each kind", flush=True)
        found += again
        trees += cut_again
        for tree, after in self.some(trees) + self.least(trees):
            self.cut("", tree, after)
            self.counts["power cuts"] += 1
        # Also when a folder is there or has its name, and that is not flushed.
        made = [after for before, after in zip(found, found[1:])
                if re.match("mkdir|rename", before[1])]
        for moment in self.some(found) + made:
            self.kill(*moment)
        for moment, error in self.some(list(itertools.product(found, ERRORS))):
            self.fail(*moment, error)
        return self.wrong


def main():
    kinds = {"save": 3, "control": 3, "trainer": 3, "missing": 2}
    if kinds.get((sys.argv + [""])[1]) != len(sys.argv):
        sys.exit(__doc__)
    count = os.environ.get("COUNT") or "200"
    if not re.fullmatch("[1-9][0-9]*", count):
        sys.exit(f"crash: COUNT is a whole number above 0, not {count}")
    seed = os.environ.get("SEED") or "1"
    if not re.fullmatch("[0-9]+", seed):
        sys.exit(f"crash: SEED is a whole number, not {seed}")
    lacking = missing()
    if sys.argv[1] == "missing":
        print(lacking)
        return
    if lacking:
        sys.exit(f"crash: {lacking} is not here")
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, lambda got, frame: sys.exit(128 + got))
    with tempfile.TemporaryDirectory() as folder:
        if sys.argv[1] == "trainer":
            subject = Trainer(sys.argv[2], folder, int(count), int(seed))
            wrong = subject.ask()
        else:
            subject = Save(sys.argv[2], folder)
            wrong = subject.ask(cuts_alone=sys.argv[1] == "control")
        counts = subject.counts
    for complaint in wrong[:20]:
        print(complaint)
    if sys.argv[1] == "control":
        print(f"note: {len(wrong)} complaints of a broken save")
        sys.exit(not wrong)
    print("note: " + ", ".join(f"{count} {what}"
                               for what, count in counts.items()))
    sys.exit(bool(wrong) or min(counts.values()) == 0)


main()
