"""mutants.py - breaks the package of examples/python in small ways, which its
tests should notice.

    python3 examples/python/tests/mutants.py [MODULE...]

Of the faults that a rule makes in a module's syntax tree, QUOTA are drawn in
each module, always the same for a SEED. The tests of TESTS are run with each,
until one fails. What none notices is printed with its place: a test is missing,
or the fault changes nothing. JOBS are run at once."""

import ast
import concurrent.futures
import copy
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

from common import EXAMPLES, ROOT



def number(name, default):
    """A whole number above 0 from the environment."""
    text = os.environ.get(name) or default
    if not re.fullmatch("[1-9][0-9]{0,8}", text):
        sys.exit(f"mutants: {name} is a whole number above 0, not {text}")
    return int(text)


SEED, QUOTA = number("SEED", "1"), number("QUOTA", "3")
JOBS = number("JOBS", "2")
PACKAGE = os.path.join(EXAMPLES, "statesampler")
TESTS_FOLDER = os.path.dirname(os.path.realpath(__file__))
SECONDS = 300   # for a test

# The tests of each module, the likeliest first.
TESTS = {
    "__init__": "library",
    "__main__": "recorder history messages",
    "_arguments": "parity messages changed",
    "_build": "library",
    "_checkpoint": "recorder",
    "_codes": "mix library history",
    "_cursors": "state changed recorder round_robin repeat past messages",
    "_groups": "repeat recorder changed",
    "_library": "library",
    "_inside": "loader accelerate lightning spread",
    "_loops": "loader loops state programs seeds",
    "_past": "past round_robin state",
    "_record": "history past",
    "_steps": "parity state recorder past",
    "blend": "blend messages",
    "factors": "weights",
    "ledger": "ledger",
    "loader": "loader programs outermost loops",
    "mix": "mix history",
    "pack": "pack changed recorder",
    "recorded": "history weights library ledger past",
    "repeat": "repeat",
    "samplers": "state parity library recorder round_robin seeds",
    "schedule": "mix history",
    "spread": "spread lightning changed",
    "torch_samplers": "parity state loops changed loader accelerate lightning"
                      " round_robin seeds",
}

SWAPS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add,
    ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv}


def broken(node):
    """What takes the place of a node, or None: another operator, comparison or
    truth, a call left out, a check that refuses nothing."""
    new = copy.copy(node)
    if isinstance(node, (ast.BinOp, ast.BoolOp, ast.AugAssign)):
        new.op = SWAPS.get(type(node.op), lambda: None)()
        return new if new.op else None
    if isinstance(node, ast.Compare):
        new.ops = [SWAPS[type(node.ops[0])]()] + node.ops[1:]
        return new
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return node.operand
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        new.value = not node.value
        return new
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        return ast.Pass()
    if isinstance(node, ast.If) and isinstance(node.body[0], ast.Raise):
        new.test = ast.Constant(False)
        return new
    return None


def places(node):
    """Where a fault can be in a tree: the node's parent, the field, and the
    place in the field if it is a list."""
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list"):
            continue
        for i, child in enumerate(value if isinstance(value, list) else
                                  [value]):
            if isinstance(child, ast.AST):
                if broken(child):
                    yield node, field, i if isinstance(value, list) else None
                yield from places(child)


def with_fault(tree, number):
    """Puts a fault into a tree. Returns its line, and its code before and
    after."""
    parent, field, i = list(places(tree))[number]
    old = getattr(parent, field)
    old = old if i is None else old[i]
    new = ast.copy_location(broken(old), old)
    if i is None:
        setattr(parent, field, new)
    else:
        getattr(parent, field)[i] = new
    return old.lineno, *(ast.unparse(each).split("\n")[0]
                         for each in (old, new))


def fails(test, folder):
    """Whether a test fails with the package in a folder. The library is
    compiled in a hurry."""
    try:
        return subprocess.run(
            [sys.executable, os.path.join(TESTS_FOLDER, f"test_{test}.py")],
            env={**os.environ, "EXAMPLES": folder, "CFLAGS": "-O0"},
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL, timeout=SECONDS).returncode != 0
    except subprocess.TimeoutExpired:
        return True


def tree_of(module):
    with open(os.path.join(PACKAGE, f"{module}.py")) as file:
        return ast.parse(file.read())


def copied(parent, trees):
    """A folder like the repository, of links, but for the package: a copy, in
    which modules are made from these trees. Returns the folder of the
    package."""
    here, there = ROOT, parent
    for name in os.path.relpath(PACKAGE, ROOT).split(os.sep):
        os.makedirs(there, exist_ok=True)
        for entry in os.listdir(here):
            if entry != name:
                os.symlink(os.path.join(here, entry),
                           os.path.join(there, entry))
        here, there = os.path.join(here, name), os.path.join(there, name)
    shutil.copytree(PACKAGE, there)
    for module, tree in trees.items():
        with open(os.path.join(there, f"{module}.py"), "w") as file:
            file.write(ast.unparse(ast.fix_missing_locations(tree)))
    return os.path.dirname(there)


def passes(test):
    """Whether a test passes without a fault."""
    with tempfile.TemporaryDirectory() as parent:
        return not fails(test, copied(parent, {module: tree_of(module)
                                               for module in all_modules()}))


def ask(module, number):
    """What a fault is, and whether a test notices it."""
    tree = tree_of(module)
    line, old, new = with_fault(tree, number)
    with tempfile.TemporaryDirectory() as parent:
        folder = copied(parent, {module: tree})
        noticed = any(fails(test, folder) for test in TESTS[module].split())
    return f"{module}.py:{line}:\n  - {old}\n  + {new}", noticed


def drawn(module):
    count = len(list(places(tree_of(module))))
    lottery = random.Random(f"{SEED} {module}")
    return sorted(lottery.sample(range(count), min(QUOTA, count)))


def all_modules():
    return sorted(name[:-3] for name in os.listdir(PACKAGE)
                  if name.endswith(".py"))


def main():
    modules = sys.argv[1:] or all_modules()
    for module in modules:
        if module not in TESTS:
            sys.exit(f"mutants.py: {module} has no row in TESTS")
    tests = sorted({test for module in modules
                    for test in TESTS[module].split()})
    missed = []
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        for test, passed in zip(tests, pool.map(passes, tests)):
            if not passed:
                sys.exit(f"test_{test} fails without a fault")
        answers = [pool.submit(ask, module, number) for module in modules
                   for number in drawn(module)]
        for count, answer in enumerate(answers, 1):
            place, noticed = answer.result()
            print(f"[{count}/{len(answers)}]", place.split(":\n")[0],
                  "noticed" if noticed else "not noticed", flush=True)
            if not noticed:
                missed.append(place)
    print("", *(f"no test notices {place}" for place in missed), sep="\n")
    noticed = len(answers) - len(missed)
    print(f"{noticed} of {len(answers)} faults noticed, "
          f"{100 * noticed / len(answers):.1f} %")


if __name__ == "__main__":
    main()
