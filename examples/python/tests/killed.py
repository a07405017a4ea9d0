"""killed.py PYTHON... - a run without torch is killed by SIGKILL five times, and
serves each sample once. The Python of these words has the package; the one that
runs this need not."""

import os
import subprocess
import sys
import tempfile

SAMPLES, BATCH = 3000, 7
UNTIL_KILLED = 60, 1, 200, 7, 100       # steps


def run(state):
    """Serves what is left of an epoch, a batch for each line that it reads, and
    saves after each one."""
    from statesampler import Sampler
    sampler = Sampler(SAMPLES, seed=5, batch_size=BATCH)
    if os.path.exists(state):
        with open(state, "rb") as file:
            sampler.load(file.read())
    for batch in sampler:
        sys.stdin.readline()
        print(sampler.step, *batch, flush=True)
        with open(state + ".new", "wb") as file:
            file.write(sampler.save())
        os.replace(state + ".new", state)


def begin(command):
    return subprocess.Popen(command, stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, universal_newlines=True)


def killed(command, steps):
    """The lines of a run that is killed once it has served so many steps: it may
    be saving then."""
    child, lines = begin(command), []
    for _ in range(steps):
        child.stdin.write("\n")
        child.stdin.flush()
        lines.append(child.stdout.readline())
    child.kill()
    child.communicate()
    assert child.returncode < 0, f"it ended by itself: {child.returncode}"
    return lines


def finished(command):
    child = begin(command)
    lines = child.communicate("\n" * SAMPLES)[0].splitlines()
    assert child.returncode == 0, f"it failed: {child.returncode}"
    return lines


def main(python):
    with tempfile.TemporaryDirectory() as folder:
        command = [*python, __file__, "--run", os.path.join(folder, "state")]
        runs = [killed(command, steps) for steps in UNTIL_KILLED]
        runs.append(finished(command))
    batches, repeated = {}, 0
    for lines in runs:
        for number, line in enumerate(lines):
            step, *batch = map(int, line.split())
            if step in batches:
                assert number == 0, f"step {step} came again"
                assert batches[step] == batch, f"step {step} is another one"
                repeated += 1
            batches[step] = batch
    served = sorted(sample for batch in batches.values() for sample in batch)
    assert served == list(range(SAMPLES)), f"{len(served)} samples"
    print(f"killed {len(UNTIL_KILLED)} times, {SAMPLES} samples each once, "
          f"{repeated} steps again")


if sys.argv[1] == "--run":
    run(sys.argv[2])
else:
    main(sys.argv[1:])
