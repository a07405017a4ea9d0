"""The examples that are killed, by each way to start workers: a fork, the
default up to Python 3.13; a forkserver, the default since; and spawned ones.
Afterwards nothing of them runs on: a worker would hold its output open, and
who reads that to the end would wait for ever."""

import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from common import EXAMPLES, STARTS, main

SOURCE = """
import multiprocessing, sys
sys.path.insert(0, sys.argv[2])
if __name__ == "__main__":
    multiprocessing.set_start_method(sys.argv[1])
    multiprocessing.set_forkserver_preload(["torch"])
"""


def left(mark):
    """The processes that were started with this in their environment."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as environ:
                if mark.encode() in environ.read().split(b"\0"):
                    yield pid
        except OSError:
            pass    # It has ended.


class Starts(unittest.TestCase):
    def runs(self, start, program, word, status=0):
        """Prints this word, ends so, and leaves nothing behind."""
        mark = f"STARTED={os.getpid()}.{time.monotonic_ns()}"
        name, _, value = mark.partition("=")
        ran = subprocess.run(
            [sys.executable, "-B", "-c", SOURCE + program, start, EXAMPLES],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120,
            env={**os.environ, name: value}, universal_newlines=True)
        self.assertEqual(ran.returncode, status, ran.stdout)
        self.assertIn(word, ran.stdout)
        if not os.path.isdir("/proc/self"):
            return
        deadline = time.monotonic() + 30
        while list(left(mark)) and time.monotonic() < deadline:
            time.sleep(.1)
        self.assertEqual(list(left(mark)), [])

    def test_augment(self):
        """The same bits in workers, also after a kill. (torch_train() asks the
        default, with other numbers of workers.)"""
        for start in STARTS[1:]:
            with tempfile.TemporaryDirectory() as folder:
                self.runs(start, "    import augment\n"
                          f"    path = {folder!r} + '/checkpoint'\n"
                          "    print([augment.in_a_process(2, path)\n"
                          "           for _ in range(2)],\n"
                          "          augment.torch.load(path)['hashes'] ==\n"
                          "          augment.run(0))", "[9, 0] True")

    def test_killed(self):
        """A training process, with its workers."""
        with tempfile.TemporaryDirectory() as folder:
            self.runs("forkserver", "    import augment\n"
                      f"    augment.run(2, {folder!r} + '/checkpoint')", "",
                      -signal.SIGKILL)


if __name__ == "__main__":
    main()
