"""mutants.py - breaks the package of examples/python in small ways, which its
tests should notice.

    python3 examples/python/tests/mutants.py [MODULE...]

Of the faults that a rule makes in a module's syntax tree, QUOTA are drawn in
each module, always the same for a SEED. The tests of TESTS are run with each,
until one fails. What none notices is printed with its place: a test is missing,
or the fault changes nothing."""

import ast
import copy
import os
import random
import shutil
import subprocess
import sys
import tempfile

from common import ROOT

SEED, QUOTA = os.environ.get("SEED", "1"), int(os.environ.get("QUOTA", "3"))
PACKAGE = os.path.join("examples", "python", "statesampler")
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


class Fault(ast.NodeTransformer):
    """Breaks one of the nodes that it can break, by its number, and counts
    them."""

    def __init__(self, number=None):
        self.number, self.count, self.what = number, 0, None

    def visit(self, node):
        new = broken(node)
        if new is None:
            return self.generic_visit(node)
        self.count += 1
        if self.count - 1 != self.number:
            return self.generic_visit(node)
        old, its = (ast.unparse(each).splitlines()[0] for each in (node, new))
        self.what = f"{node.lineno}: {old} -> {its}"
        return ast.copy_location(new, node)


def tree_of(module):
    with open(os.path.join(ROOT, PACKAGE, f"{module}.py")) as file:
        return ast.parse(file.read())


def noticed(module, number):
    """What a fault is, and whether a test fails with it. (None: without one.)
    The library is compiled in a hurry."""
    fault, tree = Fault(number), tree_of(module)
    tree = ast.fix_missing_locations(fault.visit(tree))
    with tempfile.TemporaryDirectory() as folder:
        root = os.path.join(folder, "root")
        shutil.copytree(ROOT, root, ignore=shutil.ignore_patterns(
            "build", ".git"))
        with open(os.path.join(root, PACKAGE, f"{module}.py"), "w") as file:
            file.write(ast.unparse(tree))
        for test in TESTS[module].split():
            try:
                code = subprocess.run(
                    [sys.executable, f"test_{test}.py"],
                    cwd=os.path.join(root, "examples", "python", "tests"),
                    env={**os.environ, "CFLAGS": "-O0"}, timeout=SECONDS,
                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL).returncode
            except subprocess.TimeoutExpired:
                code = 1
            if code:
                return fault.what, True
    return fault.what, False


def all_modules():
    return sorted(name[:-3]
                  for name in os.listdir(os.path.join(ROOT, PACKAGE))
                  if name.endswith(".py"))


def main():
    counts = [0, 0]
    for module in sys.argv[1:] or all_modules():
        if module not in TESTS:
            sys.exit(f"mutants.py: {module} has no row in TESTS")
        if noticed(module, None)[1]:
            sys.exit(f"mutants.py: a test of {module} fails without a fault")
        fault = Fault()
        fault.visit(tree_of(module))
        for number in sorted(random.Random(f"{SEED} {module}").sample(
                range(fault.count), min(QUOTA, fault.count))):
            what, found = noticed(module, number)
            counts[found] += 1
            print(f"{module}.py:{what}", "noticed" if found else
                  "NOT NOTICED", flush=True)
    print(f"{counts[1]} of {sum(counts)} faults noticed, "
          f"{100 * counts[1] / sum(counts):.1f} %")


if __name__ == "__main__":
    main()
