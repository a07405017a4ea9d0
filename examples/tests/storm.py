"""Kills real runs at random moments, and compares what they end in:
    python3 examples/tests/storm.py KILLS [SEED]
from the root of the repository; make storm builds what it needs. The kills are
shared out among the demo's model, the trainer over MPI, PyTorch's processes
and the page in Chromium, or those of these kinds (demo, trainer, torch, page)
that the pattern ONLY in the environment matches. A storm is a run that is
killed, at any moment and in any of its processes, goes on with another number
of ranks, is killed again perhaps, and ends: in the digest of a run that was
never killed. Of each kind some of those that end must say that they went on
from a checkpoint."""

import glob
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time


# How many seconds a run may take that takes a few alone: others may use the
# machine, too.
LONG = 600


def processes_of(session):
    """The processes of a session: all that a run has started."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="latin-1") as file:
                state, *numbers = file.read().rpartition(")")[2].split()
        except OSError:
            continue    # it has just ended
        if int(numbers[2]) == session and state != "Z":
            found.append(int(name))
    return found


class Run:
    """A command in a session of its own. There is one at a time."""
    last = None

    def __init__(self, command, environment):
        Run.last = self
        self.process = subprocess.Popen(
            command, env=dict(os.environ, **environment),
            start_new_session=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def kill(self, seconds, moments):
        """Kills one process after so long, any of the run's; then the others,
        as a launcher does. Returns whether there was any to kill."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            pass
        left = processes_of(self.process.pid)
        killed = bool(left) and self.process.poll() is None
        if killed:
            try:
                os.kill(moments.choice(left), signal.SIGKILL)
            except ProcessLookupError:
                killed = False
            time.sleep(moments.random() * .3)
        self.end_all()
        return killed

    def end_all(self):
        # Ends: who is killed starts no other, and who was just started is
        # found the next time.
        while True:
            left = processes_of(self.process.pid)
            if not left:
                break
            for process in left:
                try:
                    os.kill(process, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            time.sleep(.02)
        if not self.process.stdout.closed:  # as it is the second time
            self.process.communicate()
        # What examples/trainer/launch.sh removes, if it is not killed itself.
        for left in glob.glob(f"/dev/shm/trainer.{self.process.pid}.*"):
            shutil.rmtree(left, ignore_errors=True)

    def end(self, seconds):
        """Waits so long for its end; returns what it said and its status, None
        if it did not end."""
        try:
            said, _ = self.process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired as late:
            self.end_all()
            return (late.stdout or b"").decode(errors="replace"), None
        return said.decode(errors="replace"), self.process.returncode


class Demo:
    """examples/train_text.c, whose ranks are in one process."""
    name, worlds = "demo", (1, 2, 3, 4, 6, 8)
    program, went_on = "build/train_text", "resumed: "

    def __init__(self, home):
        self.texts = []
        for name in ("statesampler.h", "examples/train_text.c",
                     "tests/reference.py"):
            self.texts.append(os.path.join(home, os.path.basename(name)))
            with open(name, "rb") as text, open(self.texts[-1], "wb") as copy:
                copy.write(text.read(6000))

    def start(self, folder, world_size, moments):
        return Run([self.program, str(world_size),
                    os.path.join(folder, "checkpoint"), *self.texts], {})

    def digest(self, folder, said):
        return said.rpartition("weights: ")[2].split()[0]


class Trainer:
    """examples/trainer over MPI, with ZeRO and mixed precision."""
    name, worlds = "trainer", (1, 2, 3, 4, 5, 8)
    program, went_on = "build/trainer/trainer", "trainer: resuming from"
    keys = ("CHECKPOINT.CHECKPOINT_ITER_FREQUENCY=3 OPTIMIZER.num_epochs=2 "
            "TEST_MODEL=False MODEL.AMP_PARAMS.USE_AMP=True "
            "OPTIMIZER.name=adamw OPTIMIZER.param_schedulers.lr.value=0.003 "
            "OPTIMIZER.use_zero=True MODEL.SHARDED_DDP_SETUP.USE_SDP=True")

    def __init__(self, home):
        pass

    def start(self, folder, world_size, moments):
        return Run(["sh", "examples/trainer/launch.sh", str(world_size),
                    "examples/trainer/tests/small.yaml", *self.keys.split(),
                    f"CHECKPOINT.DIR={folder}/run"],
                   {"RESTARTS": "0", "TMPDIR": folder})

    def digest(self, folder, said):
        return said.rpartition("digest ")[2].split()[0]


class Torch:
    """examples/python/tests/storm_torch.py: processes joined by gloo, with workers."""
    name, worlds = "torch", (1, 2, 3, 4)
    went_on = "goes on"

    def __init__(self, home):
        self.program = os.environ.get("TORCH_PYTHON", "")

    def start(self, folder, world_size, moments):
        return Run([self.program, "examples/python/tests/storm_torch.py", folder,
                    str(world_size), str(moments.choice((0, 1, 2)))], {})

    def digest(self, folder, said):
        with open(os.path.join(folder, "digest"), encoding="ascii") as file:
            return file.read()


class Page:
    """The training of examples/js in Chromium, whose ranks are one worker."""
    name, worlds = "page", (1, 2, 3, 4, 6, 8)
    program, went_on = "build/web/index.html", "goes on"
    tools = ("node", "chromium")

    def __init__(self, home):
        pass

    def start(self, folder, world_size, moments):
        return Run(["node", "examples/js/tests/storm_page.mjs", folder,
                    str(world_size)], {})

    def digest(self, folder, said):
        return said.rpartition("digest ")[2].split()[0]


def storms(subject, kills, moments, home):
    """Makes so many kills, or more, until a run has gone on from a checkpoint.
    Returns how many, and complaints."""
    went_on = 0

    def run(name, world_size):
        folder = os.path.join(home, name)
        os.makedirs(folder, exist_ok=True)
        return folder, subject.start(folder, world_size, moments)

    def ended(folder, run):
        nonlocal went_on
        said, status = run.end(LONG)
        went_on += subject.went_on in said
        if status is None:
            return f"status none after {LONG} s: {said[-2000:]}"
        if status != 0:
            return f"status {status}: {said[-2000:]}"
        return subject.digest(folder, said)

    begin = time.monotonic()
    wanted = ended(*run("whole", subject.worlds[-1]))
    seconds = time.monotonic() - begin
    if wanted.startswith("status"):
        return 0, [f"the undisturbed run: {wanted}"]
    made = number = 0
    complaints = []
    while (made < kills or went_on == 0) and number < 10 * kills and \
            not complaints:
        number += 1
        name, order = f"storm{number}", []
        # One kill in the middle of it, or more; the last run may end itself.
        for _ in range(moments.choice((1, 1, 2, 3))):
            world_size = moments.choice(subject.worlds)
            folder, one = run(name, world_size)
            moment = moments.random() * seconds * .8
            # The machine may be faster by now, or slower.
            killed = one.kill(moment, moments)
            seconds *= 1.05 if killed else .9
            if not killed:
                break
            order.append(f"{world_size} ranks killed after {moment:.2f} s")
            made += 1
            if made % 50 == 0:
                print(f"{subject.name}: {made} of {kills} kills", flush=True)
        world_size = moments.choice(subject.worlds)
        got = ended(*run(name, world_size))
        if got != wanted:
            complaints.append(f"{subject.name}: {', '.join(order)}, ended on "
                              f"{world_size}: {got}, not {wanted}")
        shutil.rmtree(os.path.join(home, name), ignore_errors=True)
    if made < kills and not complaints:
        complaints.append(f"only {made} of {kills} could be killed")
    if went_on == 0 and not complaints:
        complaints.append(f"{subject.name}: none of {number} runs went on from "
                          "a checkpoint")
    print(f"{subject.name}: {made} kills, {number} runs afterwards, {went_on} "
          "of them from a checkpoint"
          + (", each to the digest " + wanted[:16] if not complaints else ""),
          flush=True)
    return made, complaints


def kinds_asked(only):
    try:
        kinds = [kind for kind in (Demo, Trainer, Torch, Page)
                 if re.search(only, kind.name)]
    except re.error as error:
        sys.exit(f"storm: ONLY is a pattern, and {only} is none: {error}")
    return kinds or sys.exit(f"storm: no kind of run matches {only}")


def subjects_here(kinds, home):
    found = []
    for kind in kinds:
        subject = kind(home)
        missing = [tool for tool in getattr(kind, "tools", ())
                   if not shutil.which(tool)]
        if not shutil.which(subject.program) and \
                not os.path.exists(subject.program):
            missing.append(subject.program or "what it needs")
        if missing:
            print(f"skip {subject.name}: {missing[0]} is not here")
        else:
            found.append(subject)
    return found


def main():
    words = sys.argv[1:] + ["0"]
    if len(sys.argv) not in (2, 3) or \
            not all(re.fullmatch("[0-9]+", word) for word in words) or \
            int(words[0]) == 0:
        sys.exit("storm: how many kills is a whole number above 0, and so is a "
                 f"seed: not {' '.join(sys.argv[1:])}")
    kills, seed = int(words[0]), int(words[1])
    kinds = kinds_asked(os.environ.get("ONLY", ""))
    seed = seed or random.SystemRandom().randrange(1, 2**32)
    moments = random.Random(seed)
    print(f"{kills} kills, seed {seed}", flush=True)
    made, passed, complaints = 0, 0, []
    with tempfile.TemporaryDirectory() as home:
        subjects = subjects_here(kinds, home)
        try:
            for number, subject in enumerate(subjects):
                share = kills * (number + 1) // len(subjects) - \
                    kills * number // len(subjects)
                if share == 0:
                    print(f"skip {subject.name}: so few kills")
                    continue
                inner = os.path.join(home, "of " + subject.name)
                count, wrong = storms(subject, share, moments, inner)
                made, complaints = made + count, complaints + wrong
                passed += not wrong
        finally:
            if Run.last:    # which Ctrl-C does not reach
                Run.last.end_all()
    for complaint in complaints:
        print(f"FAIL {complaint}")
    print(f"{made} kills")
    print(f"{passed} passed, {len(complaints)} failed")
    sys.exit(bool(complaints) or passed == 0)


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, lambda got, frame: sys.exit(128 + got))
    main()
