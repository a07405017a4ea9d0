"""header.py - a copy of statesampler.h for the provers, on standard output.

    python3 tests/prove/header.py          with the comments of notes.txt, which
                                           WP reads, and otherwise the same
    python3 tests/prove/header.py FAULTS   and with all faults of a list

Both lists have the form of tests/mutants.txt."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
sys.dont_write_bytecode = True
import faults as lists


def with_entries(text, path):
    """The text with every entry of a list in its place."""
    functions = lists.functions_of(text)
    edits = [lists.fault_of(entry, functions)
             for entry in lists.entries_of(path)]
    wrong = [edit for edit in edits if isinstance(edit, str)]
    if wrong:
        sys.exit(f"{path}: " + "\n".join(wrong))
    for edit in sorted(edits, key=lambda edit: -edit.start):
        text = text[:edit.start] + edit.new + text[edit.end:]
    return text


with open("statesampler.h") as file:
    header = file.read()
noted = with_entries(header, f"{HERE}/notes.txt")
if lists.words_of(noted) != lists.words_of(header):
    sys.exit("notes.txt changes more than comments")
for path in sys.argv[1:]:
    noted = with_entries(noted, path)
sys.stdout.write(noted)
