"""Ledger: the answers and states of the one in C, threads that are killed, and
what it refuses."""

import collections
import inspect
import json
import os
import random
import re
import shlex
import signal
import struct
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import unittest
import unittest.mock

from common import EXAMPLES, ROOT, cases, main
from statesampler import Ledger, Mix, Sampler
from statesampler.samplers import bytes_of, words_of

# Who waits and is not woken does not go on by itself within a test.
unittest.mock.patch("statesampler.ledger._PATIENCE", 600).start()



def encode(window, frontier, done):
    """A state: "SSL1", the window, the frontier, a bit for each ticket of the
    window, a check word."""
    bits, h = bytearray(window // 8), 0
    for ticket in done:
        bits[ticket % window // 8] |= 1 << ticket % 8
    state = struct.pack("<4sIQ", b"SSL1", window, frontier) + bits
    for word, in struct.iter_unpack("<Q", state):
        h = (h ^ word) * 0x9e3779b97f4a7c15 % 2**64
        h ^= h >> 32
    return state + struct.pack("<Q", h)


# What a message says, and the name of this error in C.
KINDS = {"is done already": "EDONE", "was not issued": "EISSUED",
         "beyond a window": "EAHEAD", "there are only": "EMISMATCH",
         "not a ledger's state": "ECORRUPT", "is damaged": "ECORRUPT",
         "window should be": "EINVAL"}


def started(work, *arguments):
    """A thread. It does not keep a test that failed from ending."""
    thread = threading.Thread(target=work, args=arguments, daemon=True)
    thread.start()
    return thread


def answer(call):
    try:
        said = call()
    except ValueError as error:
        return next(KINDS[part] for part in KINDS if part in str(error))
    return "OK" if said is None else str(said)


class Program:
    """Random commands, and what a ledger here answers."""

    def __init__(self, chance):
        self.chance, self.commands, self.answers = chance, [], []
        self.saved = "00"
        self.begin(64, 3000)

    def ask(self, command, call):
        self.commands.append(command)
        self.answers.append(answer(call))

    def begin(self, window, end):
        def begin():
            self.ledger = Ledger(end, window, shuffle=False)
        self.ask(f"begin {window} {end}", begin)

    def issue(self):
        issued = self.ledger.issue()
        assert issued is None or issued[0] == issued[1]
        return issued[0] if issued else "none"

    def save(self):
        self.saved = self.ledger.state_dict()["state"]
        return self.saved

    def load(self, text):
        self.ask(f"load {text}", lambda: self.ledger.load_state_dict(
            {**self.ledger.state_dict(), "state": text}))

    def step(self):
        chance, kind = self.chance, self.chance.randrange(200)
        if kind == 0:
            self.begin(chance.choice([64, 128, 192, 320, 4096,
                                      chance.randrange(100)]),
                       chance.randrange(chance.choice([100, 3000])))
        elif kind < 4:
            self.ask("save", self.save)
        elif kind < 6:
            at = 2 * chance.randrange(len(self.saved) // 2)
            self.load(chance.choice([
                self.saved, self.saved, self.saved[:at],
                self.saved[:at] + "a5" + self.saved[at + 2:]]))
        elif kind < 110:
            self.ask("issue", self.issue)
        else:
            ticket = self.ledger.frontier + chance.randrange(90)
            if chance.randrange(20) == 0:
                ticket = chance.randrange(3000)
            self.ask(f"done {ticket}", lambda: self.ledger.done(ticket))


class InC(unittest.TestCase):
    def test_answers(self):
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "ledger")
            subprocess.run(
                shlex.split(os.environ.get("CC", "cc")) +
                ["-std=c99", "-I", ROOT, "-DSTATESAMPLER_IMPLEMENTATION", "-o",
                 program,
                 os.path.join(ROOT, "tests", "extras", "ledger_text.c")],
                check=True)
            seen = set()
            for chance in cases(4, "ledger"):
                here = Program(chance)
                for _ in range(20000):
                    here.step()
                there = subprocess.run(
                    program, input="\n".join(here.commands) + "\n",
                    stdout=subprocess.PIPE, text=True, check=True)
                for wanted, got, command in zip(
                        there.stdout.split("\n"), here.answers, here.commands):
                    self.assertEqual(got, wanted, command)
                seen.update(here.answers)
            self.assertLess({"OK", "none", *KINDS.values()}, seen)


class States(unittest.TestCase):
    def test_bytes(self):
        """As they are written down above."""
        for chance in cases(6, "a ledger's states"):
            window = 64 * chance.randint(1, 9)
            ledger, out, done = Ledger(7, window, epochs=None), [], set()
            for _ in range(20):
                while (issued := ledger.issue()) is not None:
                    out.append(issued[0])
                chance.shuffle(out)
                for _ in range(chance.randrange(len(out))):
                    ledger.done(out[-1])
                    done.add(out.pop())
                frontier = ledger.frontier
                self.assertEqual(frontier, min(out))
                self.assertEqual(
                    ledger.state_dict()["state"],
                    encode(window, frontier, {ticket for ticket in done
                                              if ticket > frontier}).hex())

    def test_far_tickets(self):
        """A ledger without end goes on at any ticket."""
        for far in 2**32 - 9, 2**53 + 1, 2**63 - 2, 2**64 - 100:
            ledger = Ledger(10, 64, epochs=None)
            ledger.load_state_dict({**ledger.state_dict(), "state": encode(
                128, far, {far + 1, far + 40})})
            self.assertEqual(ledger.frontier, far)
            ledger.done(ledger.issue()[0])
            self.assertEqual(ledger.frontier, far + 2)
            self.assertEqual(ledger.state_dict()["state"], encode(
                64, far + 2, {far + 40}).hex())

    def test_byte_order(self):
        """Words are little-endian in a state, whatever they are here."""
        other = {"little": "big", "big": "little"}[sys.byteorder]
        state = bytes(range(16))
        words = [int.from_bytes(state[at:at + 8], "little") for at in (0, 8)]
        self.assertEqual(words_of(state).tolist(), words)
        self.assertEqual(bytes_of(words_of(state)), state)
        with unittest.mock.patch("sys.byteorder", other):
            self.assertEqual(words_of(state).tolist(), [
                int.from_bytes(word.to_bytes(8, "little"), "big")
                for word in words])
            self.assertEqual(bytes_of(words_of(state)), state)


# --- Killed ------------------------------------------------------------------

N, EPOCHS = 300, 2


def run(path, threads, window):
    """Works in so many threads until all is done, or the process is killed.
    The checkpoint has, for a model, how often each sample came."""
    ledger, lock = Ledger(N, window, seed=5, epochs=EPOCHS), threading.Lock()
    model = [[0] * N for _ in range(EPOCHS)]
    if os.path.exists(path):
        with open(path) as file:
            saved = json.load(file)
        model = saved["model"]
        try:
            ledger.load_state_dict(saved["ledger"])
        except ValueError:      # The window is too small.
            ledger = Ledger(N, 512, seed=5, epochs=EPOCHS)
            ledger.load_state_dict(saved["ledger"])

    def save():
        with open(path + ".new", "w") as file:
            json.dump({"model": model, "ledger": ledger.state_dict()}, file)
        os.replace(path + ".new", path)

    def work():
        for ticket, index in ledger:
            time.sleep(.15 / (1 + index % 11) ** 2)
            with lock:
                ledger.done(ticket)
                model[ticket // N][index] += 1
                if ticket % 8 == 0:
                    save()

    for each in [started(work) for _ in range(threads)]:
        each.join()
    assert ledger.frontier == ledger.end == N * EPOCHS
    save()


class Killed(unittest.TestCase):
    def test_threads(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "checkpoint")
            for number, chance in enumerate(cases(26, "ledger's threads")):
                threads, window = chance.randint(1, 12), chance.choice(
                    [64, 128, 512])
                pid = os.fork()
                if pid == 0:
                    status = 1
                    try:
                        run(path, threads, window)
                        status = 0
                    finally:
                        os._exit(status)
                if number < 25:
                    time.sleep(chance.random() * .1)
                    os.kill(pid, signal.SIGKILL)
                _, status = os.waitpid(pid, 0)
                # It would end by itself in none of the first 25 runs.
                self.assertEqual(status, signal.SIGKILL if number < 25 else 0)
            with open(path) as file:
                self.assertEqual(json.load(file)["model"],
                                 [[1] * N for _ in range(EPOCHS)])


class Docstring(unittest.TestCase):
    def test_it_runs(self):
        """Its two programs: threads that work, and one that saves."""
        work, save = (textwrap.dedent(each) for each in re.findall(
            "\n\n((?:    .*\n)+)", inspect.cleandoc(Ledger.__doc__)))
        seen, saved = collections.Counter(), []
        failed = set()

        def roll_out(item):
            if item % 7 == 0 and item not in failed:
                failed.add(item)
                raise OSError
            return [item]
        names = {"ledger": Ledger(500, 64), "dataset": range(1000, 1500),
                 "lock": threading.Lock(), "roll_out": roll_out,
                 "learn": seen.update, "save": saved.append, "model": seen}
        threads = [started(exec, work, dict(names)) for _ in range(4)]
        exec(save, names)
        for each in threads:
            each.join(60)
        self.assertEqual(seen, collections.Counter(range(1000, 1500)))
        Ledger(500, 64).load_state_dict(saved[0]["ledger"])


# --- Sources, waiting, errors ------------------------------------------------


class Sources(unittest.TestCase):
    def served(self, source, **options):
        """All tickets, done in a random order, with a resume in between."""
        def all_of(ledger, most):
            here = []
            while ledger.frontier < min(ledger.end, most):
                while (issued := ledger.issue()) is not None:
                    here.append(issued)
                chance.shuffle(here)
                ticket, index = here.pop()
                ledger.done(ticket)
                self.assertNotIn(ticket, found)
                found[ticket] = index
        chance, found = random.Random(1), {}
        first = Ledger(source, 64, **options)
        all_of(first, 20)
        second = Ledger(source, 192, **options)
        second.load_state_dict(json.loads(json.dumps(first.state_dict())))
        self.assertEqual(second.state_dict()["sampler"],
                         first.state_dict()["sampler"])
        all_of(second, 300)
        return [found[ticket] for ticket in range(len(found))]

    def test_lengths(self):
        for shuffle in True, False:
            options = {"seed": 9, "stream": 2, "shuffle": shuffle}
            wanted = Sampler(70, 0, 1, **options)
            self.assertEqual(
                self.served(70, **options, epochs=3),
                [batch[0] for _ in range(3) for batch in wanted])
        self.assertEqual(list(Ledger(5, 64, epochs=0)), [])
        for source in 0, Sampler(0, 0, 1), Mix([0, 0], 0, 1):
            for epochs in 1, None:
                ledger = Ledger(source, 64, epochs=epochs)
                self.assertIsNone(ledger.issue())
                self.assertEqual(ledger.end, 0)

    def test_samplers(self):
        def make():
            # In its second epoch a dataset is in another of its own.
            again = Mix([3, 10], 0, 1, stop="restart", epoch=2**64 - 2)
            self.assertEqual(len(list(again)), 21)
            return [Sampler(101, 0, 1, 4, seed=3),
                    Sampler(101, 0, 1, 4, seed=3, epoch=2**64 - 1),
                    Mix([60, 30], 0, 1, 7, weights=[2, 1], stop="all",
                        drop_last=True), again]
        for source, wanted in zip(make(), make()):
            next(source)    # Where it stands does not matter.
            self.assertEqual(*(Ledger(each, 64).state_dict()
                               for each in (source, wanted)))
            self.assertEqual(
                self.served(source, epochs=3),
                [batch.tolist() for _ in range(3) for batch in wanted])
            self.assertEqual(source.step, 1, "it has been moved")
        # Nor with which batches it got there.
        source, other = (Sampler(101, 0, 1, size) for size in (4, 60))
        next(other)
        source.load(other.save())
        self.assertEqual(Ledger(source, 64).end, 26)

    def test_without_end(self):
        for options in {}, {"epochs": None}:
            for endless, later in (
                    [Sampler(10, 0, 1, 3, tail="carry", epoch=epoch)
                     for epoch in (0, 5)],
                    [Mix([5, 6], 0, 1, 3, stop="never", epoch=epoch)
                     for epoch in (0, 5)]):
                ledger = Ledger(endless, 64, **options)
                with self.assertRaisesRegex(ValueError, "another first"):
                    ledger.load_state_dict(Ledger(later, 64).state_dict())
                got = [next(ledger) for _ in range(64)]
                self.assertEqual(
                    got, [(i, next(endless).tolist()) for i in range(64)])
                self.assertIsNone(ledger.issue())
        ledger = Ledger(10, 64, epochs=None)
        indices = [next(ledger)[1] for _ in range(60)]
        for epoch in range(6):
            self.assertEqual(sorted(indices[10 * epoch:][:10]),
                             list(range(10)))


class Waiting(unittest.TestCase):
    def test_the_window(self):
        """A thread waits while the window is full, and no longer."""
        ledger, got = Ledger(70, 64), []
        for _ in range(64):
            next(ledger)
        thread = started(got.extend, ledger)
        for ticket in range(1, 40):
            ledger.done(ticket)
        time.sleep(.05)
        self.assertEqual(got, [])
        ledger.done(0)
        thread.join(60)
        self.assertEqual([ticket for ticket, _ in got], list(range(64, 70)))

    def test_for_long(self):
        """Says which ticket it waits for, and waits on."""
        ledger, got = Ledger(70, 64), []
        for _ in range(64):
            next(ledger)
        for ticket in range(5):
            ledger.done(ticket)
        with unittest.mock.patch("statesampler.ledger._PATIENCE", .01), (
                self.assertWarnsRegex(UserWarning, "oldest open ticket is 5:")):
            thread = started(got.extend, ledger)
            thread.join(.2)
        self.assertEqual(len(got), 5)
        ledger.done(5)
        thread.join(60)
        self.assertEqual([ticket for ticket, _ in got], list(range(64, 70)))

    def test_in_an_event_loop(self):
        """It is an error there, and only there."""
        program = textwrap.dedent("""
            import asyncio
            from statesampler import Ledger
            ledger = Ledger(70, 64)

            async def main():
                for _ in range(64):
                    next(ledger)
                thread = asyncio.create_task(asyncio.to_thread(next, ledger))
                await asyncio.sleep(.05)
                try:
                    next(ledger)
                except RuntimeError as error:
                    print(error)
                ledger.done(0)
                print(await thread)
            asyncio.run(main())
            """)
        run = subprocess.run(
            [sys.executable, "-B", "-c", program], stdout=subprocess.PIPE,
            text=True, timeout=50, env={**os.environ, "PYTHONPATH": EXAMPLES})
        self.assertRegex(run.stdout, r"^the window is full, .* in a thread .*\n"
                         r"\(64, \d+\)\n$")

    def test_wakes(self):
        """One that waits goes on with what is loaded, or given back."""
        ledger = Ledger(100, 64)
        state = ledger.state_dict()
        for _ in range(64):
            next(ledger)
        for wake, argument, ticket in ((ledger.give_back, 5, 5),
                                       (ledger.load_state_dict, state, 0)):
            got = []
            thread = started(lambda: got.append(next(ledger)[0]))
            time.sleep(.02)
            wake(argument)
            thread.join(30)
            self.assertEqual(got, [ticket])

    def test_threads(self):
        """Each ticket goes to one thread."""
        ledger, seen = Ledger(3000, 64), collections.Counter()

        def work():
            for ticket, index in ledger:
                seen[index] += 1
                ledger.done(ticket)
        for each in [started(work) for _ in range(8)]:
            each.join(60)
        self.assertEqual(seen, collections.Counter(range(3000)))
        self.assertEqual(ledger.frontier, 3000)


class GivenBack(unittest.TestCase):
    def test_order(self):
        """Issued first; the first result counts, whoever has it."""
        ledger = Ledger(100, 64, seed=4)
        issued = dict(ledger.issue() for _ in range(10))
        for ticket in 7, 2, 5, 2:
            ledger.give_back(ticket)
        self.assertEqual(ledger.issue(), (2, issued[2]))
        ledger.done(5)
        self.assertEqual(ledger.issue(), (7, issued[7]))
        self.assertEqual(ledger.issue()[0], 10)
        for ticket in 0, 2:
            ledger.done(ticket)
        for ticket, message in ((0, "0 is done already"),
                                (2, "2 is done already"),
                                (11, "11 was not issued")):
            with self.assertRaisesRegex(ValueError, message):
                ledger.give_back(ticket)
        # A load issues them in any case.
        ledger.give_back(9)
        ledger.load_state_dict(ledger.state_dict())
        self.assertEqual([ledger.issue()[0] for _ in range(8)],
                         [1, 3, 4, 6, 7, 8, 9, 10])

    def test_many(self):
        """Take as long as others, though a whole window is given back."""
        ledger, times = Ledger(2**14, 2**14), []
        for _ in range(2):
            before = time.thread_time()
            tickets = [ledger.issue()[0] for _ in range(2**14)]
            times.append(time.thread_time() - before)
            self.assertEqual(tickets, list(range(2**14)))
            for ticket in reversed(tickets):
                ledger.give_back(ticket)
        self.assertLess(times[1], 5 * times[0])

    def test_after_a_loop(self):
        ledger = Ledger(10, 64)
        for ticket, _ in ledger:
            break
        ledger.give_back(ticket)
        self.assertEqual([ticket for ticket, _ in ledger], list(range(10)))


class Errors(unittest.TestCase):
    def refuses(self, kind, message, call, *arguments, **options):
        with self.assertRaisesRegex(kind, message):
            call(*arguments, **options)

    def test_arguments(self):
        for window in 0, 63, 100, 2**32, -64, "64", 64.0, None, True:
            self.refuses(ValueError, "window should", Ledger, 9, window)
        for length in -1, 2**62 + 1, True:
            self.refuses(ValueError, "length should", Ledger, length, 64)
        for wrong in "9", 9.0, None, [1, 2]:
            self.refuses(ValueError, "should be a Sampler, a Mix or an integer"
                         f", but got a {type(wrong).__name__}$", Ledger, wrong,
                         64)
        for epochs in -1, 2**63, "1", 1.0:
            self.refuses(ValueError, "epochs should", Ledger, 9, 64,
                         epochs=epochs)
        self.refuses(ValueError, "without end, but got epochs=3$", Ledger,
                     Sampler(9, 0, 1, tail="carry"), 64, epochs=3)
        self.refuses(TypeError, "^Ledger: .*: batch_size$", Ledger, 9, 64,
                     batch_size=2)
        self.refuses(TypeError, "its own: seed", Ledger, Sampler(9, 0, 1), 64,
                     seed=2)
        for ranks in Sampler(9, 0, 2), Mix([9], 1, 2):
            self.refuses(ValueError, "world_size=1, as one process issues all "
                         "tickets, but got 2$", Ledger, ranks, 64)
        ledger = Ledger(9, 64)
        for call in ledger.done, ledger.give_back:
            for ticket in -1, "0", 0.0, None, True:
                self.refuses(ValueError, "ticket should", call, ticket)

    def test_states(self):
        ledger = Ledger(90, 128, seed=3)
        for _ in range(80):
            next(ledger)
        for ticket in 0, 1, 5, 70:
            ledger.done(ticket)
        good = ledger.state_dict()
        for bad in None, "state", {}, {"state": 3, "sampler": 4}, \
                {**good, "state": "xyz"}, {"state": good["state"]}, \
                {**good, "sampler": 4}, {**good, "drop_last": "no"}:
            self.refuses(ValueError, "not a state_dict of Ledger",
                         ledger.load_state_dict, bad)
        # The frontier is never done.
        for state, message in ((encode(128, 5, {5}), "is damaged"),
                               (encode(512, 0, {64}), "at least 128$"),
                               (encode(512, 0, {200}), "at least 256$")):
            more = Ledger(201, 64)
            self.refuses(ValueError, message, more.load_state_dict,
                         {**more.state_dict(), "state": state.hex()})
        for another, message in (
                (Ledger(90, 128, seed=4), "another seed"),
                (Ledger(91, 128, seed=3), "another num_samples"),
                (Ledger(90, 128, seed=3, shuffle=False), "another order"),
                (Ledger(90, 128, seed=3, epoch=1), "another first epoch"),
                (Ledger(Sampler(90, 0, 1, 2, seed=3), 128), "batch_size"),
                (Ledger(Mix([90], 0, 1, seed=3), 128), "statesampler: "),
                (Ledger(90, 64, seed=3), "window of 64.* at least 128$"),
                (Ledger(90, 128, seed=3, epochs=0), "only 0$")):
            before = another.state_dict()
            self.refuses(ValueError, message, another.load_state_dict, good)
            self.assertEqual(another.state_dict(), before)
        # A fingerprint refuses another one, but no state without one.
        plain = good
        for given, text in (("data", "data"), (b"a", "bytes 61"), (0, "0"),
                            ("", "")):
            named = Ledger(90, 128, seed=3, fingerprint=given)
            named.load_state_dict(plain)
            good = named.state_dict()
            self.assertEqual(good, {**plain, "fingerprint": text})
            Ledger(90, 128, seed=3).load_state_dict(good)
            other = Ledger(90, 128, seed=3, fingerprint="61")
            before = other.state_dict()
            self.refuses(ValueError, f"has fingerprint '{text}', but here it "
                         "is '61'", other.load_state_dict, good)
            self.assertEqual(other.state_dict(), before)
            self.refuses(ValueError, "not a state_dict of Ledger",
                         other.load_state_dict, {**good, "fingerprint": []})
        self.refuses(ValueError, "fingerprint should be", Ledger, 9, 64,
                     fingerprint=[])
        good = plain
        # As bytes, and with more epochs.
        more = Ledger(90, 128, seed=3, epochs=2)
        more.load_state_dict({name: bytes.fromhex(good[name])
                              for name in ("state", "sampler")})
        self.assertEqual([ticket for ticket, _ in (more.issue(), more.issue(),
                                                   more.issue(), more.issue())
                          ], [2, 3, 4, 6])
        self.assertEqual(more.state_dict(), good)
        # A sampler's state does not hold drop_last, nor did old ledgers'.
        batches, fewer = (
            [Ledger(kind, 64, epochs=2) for kind in (
                Sampler(9, 0, 1, 4, drop_last=drop_last),
                Mix([5, 8], 0, 1, 4, stop="restart", drop_last=drop_last))]
            for drop_last in (False, True))
        for one, other in *zip(batches, fewer), *zip(fewer, batches):
            good = one.state_dict()
            one.load_state_dict(good)
            self.refuses(ValueError, f"has drop_last={good['drop_last']}, but "
                         f"here it is {not good['drop_last']}$",
                         other.load_state_dict, good)
            good.pop("drop_last")
            other.load_state_dict(good)
        self.refuses(ValueError, "70 is done already", more.done, 70)
        self.refuses(ValueError, "1 is done already", more.done, 1)
        self.refuses(ValueError, "7 was not issued", more.done, 7)


if __name__ == "__main__":
    main()
