"""header.py - a copy of statesampler.h for WP, on standard output.

    python3 tests/prove/header.py FUNCTIONS
        with the comments of notes.txt in these functions (a,b,c), and otherwise
        the same
    python3 tests/prove/header.py FUNCTIONS FAULTS
        and with all faults of a list that are in them

Both lists have the form of tests/mutants.txt."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
sys.dont_write_bytecode = True
import faults as lists


def with_entries(text, path, names):
    """The text with every entry of a list for these functions."""
    functions = lists.functions_of(text)
    try:
        edits = [lists.fault_of(entry, functions)
                 for entry in lists.entries_of(path) if entry.function in names]
    except lists.Lost as reason:
        sys.exit(f"{path}: {reason}")
    for edit in sorted(edits, key=lambda edit: -edit.start):
        text = text[:edit.start] + edit.new + text[edit.end:]
    return text


names = sys.argv[1].split(",")
with open("statesampler.h") as file:
    header = file.read()
noted = with_entries(header, f"{HERE}/notes.txt", names)
if lists.words_of(noted) != lists.words_of(header):
    sys.exit("notes.txt changes more than comments")
for path in sys.argv[2:]:
    noted = with_entries(noted, path, names)
sys.stdout.write(noted)
