"""header.py - what the proofs of this folder say of statesampler.h.

    python3 tests/prove/header.py check
        says what does not stand in the header: it needs no prover
    python3 tests/prove/header.py note FUNCTIONS
        a copy of the header for WP, on standard output, with the comments of
        notes.txt in these functions (a,b,c)
    python3 tests/prove/header.py fault NUMBER FUNCTIONS
        and with one fault in each of them that has so many
    python3 tests/prove/header.py faulty NUMBER FUNCTIONS
        the names of those that have so many

Nothing here quotes a statement of the header. A note stands at a place: the
beginning of a function, its Nth `for` or `if`, or the body of that loop, after
its declarations. A model names functions, and the constants it has."""

import glob
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
sys.dont_write_bytecode = True
import faults as c

FAULTS = 3  # in each function, of those that tests/faults.py makes by rule


class Lost(Exception):
    """What a proof speaks of is not in the header."""


def read(path):
    with open(path) as file:
        return file.read()


class Header:
    def __init__(self, text):
        self.text = text
        self.functions = {}
        for function in c.functions_of(text):
            self.functions.setdefault(function.name, []).append(function)

    def function(self, name):
        """The one definition of a function."""
        found = self.functions.get(name, [])
        if len(found) != 1:
            raise Lost(f"the header defines {name} {len(found)} times")
        return found[0]

    def head(self, name):
        """The words of a function's head: its type, name and parameters."""
        function = self.function(name)
        before = c.words_of(self.text[:function.start])[:-1]
        opening = c.matching(before, len(before) - 1, -1)
        return before[opening - 1:]

    def words(self, name):
        """The words of a function's head and body, or of a macro's bodies."""
        if name in self.functions:
            return self.head(name) + self.function(name).words
        macros = re.findall(rf"^[ \t]*# *define {name}\b((?:[^\n\\]|\\.)*)",
                            self.text, re.M | re.S)
        if not macros:
            raise Lost(f"the header has no {name}")
        return c.words_of(" ; ".join(macros).replace("\\\n", " "))

    def value(self, name):
        """The number that a macro is, by its last definition, which is C's."""
        text = " ".join(self.words(name)).split(" ; ")[-1]
        text = re.sub(r"\( uint64_t \)", "", text)
        return eval(re.sub(r"[A-Z]\w+", lambda word: str(self.value(word[0])),
                           text))

    def last(self, kind):
        """The last number of an order, a partition or a tail."""
        return max(int(number) for number in re.findall(
            rf"define STATESAMPLER_{kind.upper()}_\w+ (\d+)$", self.text,
            re.M))

    def members(self):
        """The names of all members of all structs."""
        found = set()
        for body in re.findall(r"struct \w+ \{(.*?)^\}", self.text,
                               re.M | re.S):
            body = re.sub(r"/\*.*?\*/", "", body, flags=re.S)
            found |= set(re.findall(r"(\w+)\s*(?:\[[^]]*\])?\s*[;,]", body))
        return found


# --- Notes --------------------------------------------------------------------

NOTE = re.compile(r"^@ (\w+) (begin|(?:for|if|body) \d+)\n(.*?)(?=^@|\Z)",
                  re.M | re.S)

DECLARATION = re.compile(
    r"(?:const )?(?!return )[A-Za-z]\w* (?:\* )*[A-Za-z]\w* [;=,[]")


def place_of(function, place):
    """Where a note of a function stands."""
    kind, _, number = place.partition(" ")
    if kind == "begin":
        return function.start
    keyword = "for" if kind == "body" else kind
    found = [i for i, word in enumerate(function.words) if word == keyword]
    if int(number) > len(found):
        raise Lost(f"{function.name} has {len(found)} `{keyword}`, and a note "
                   f"is at {place}")
    at = found[int(number) - 1]
    if kind != "body":
        return function.body[at].start
    opening = c.matching(function.words, at + 1, 1) + 1
    if function.words[opening] != "{":
        raise Lost(f"{function.name}: the body of {place} has no braces")
    while DECLARATION.match(" ".join(function.words[opening + 1:])):
        opening = function.words.index(";", opening + 1)
    return function.body[opening].end


def notes():
    """Each note: its function, its place and its text."""
    text = read(f"{HERE}/notes.txt")
    found = NOTE.findall(text)
    if len(found) != len(re.findall("^@", text, re.M)):
        raise Lost("notes.txt: a line with @ names no place")
    return found


def noted(header, names, edits=()):
    """The header with the notes for these functions, and other edits: each is
    a start, an end and a new text."""
    edits = list(edits)
    for name, place, text in notes():
        if name in names:
            at = place_of(header.function(name), place)
            edits.append((at, at, f"\n{text}"))
    text = header.text
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text


# --- Faults -------------------------------------------------------------------

def faults_of(function):
    """FAULTS faults of a function: the result is 1 more, and of those that are
    made by rule some from all over it. Two arguments are not swapped: Frama-C
    would refuse another type."""
    made = [(fault.start, fault.end, fault.new)
            for fault in c.generated(function)
            if not getattr(fault, "strict", False)]
    last = len(function.words) - 1
    first = function.statements_around(last, last + 1)[0]
    own = []
    if function.words[first] == "return":
        at = function.body[last].start
        own = [(at, at, " + 1")]
    count = min(FAULTS - len(own), len(made))
    return own + [made[i * len(made) // count] for i in range(count)]


# --- Contracts ----------------------------------------------------------------

CONTRACT = re.compile(
    r"/\*@((?:(?!\*/).)*)\*/\s*((?:static inline )?\w[\w \t\n*]*?"
    r"\b(\w+)\(([^;)]*)\));", re.S)
ASSIGNED = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=",
            "++", "--"}


def contracts():
    """Each contract: its file, its text, its function, and the parameters."""
    for path in sorted(glob.glob(f"{HERE}/*.h")):
        for text, _, name, parameters in CONTRACT.findall(read(path)):
            yield (os.path.basename(path), text, name,
                   names_of(c.words_of(parameters)))


def names_of(words):
    """The names of parameters, between the parentheses."""
    return [words[i - 1] for i in range(1, len(words) + 1)
            if i == len(words) or words[i] == ","]


def assigned_by(header, name):
    """What a function assigns through its parameters, itself: the number of
    the parameter, and the members, as in a->b.c."""
    words = header.function(name).words
    parameters = names_of(header.head(name)[2:-1])
    for i, word in enumerate(words):
        if word not in parameters or words[i - 1] in ("->", "."):
            continue
        end = i + 1
        while words[end] in ("->", "."):
            end += 2
        if end > i + 1 and words[end] in ASSIGNED:
            yield parameters.index(word), "".join(words[i + 1:end])


def check_contract(header, text, name, parameters):
    """What a contract says that is not so, without a prover."""
    known = header.members()
    for member in re.findall(r"(?:->|\.)\s*([a-z_]\w*)", text):
        if member not in known:
            yield f"{name}: no struct has a member {member}"
    parts = re.search(r"\bassigns\s+(.*?);", text, re.S)
    listed = re.sub(r"\s", "", parts[1]).split(",") if parts else []
    for number, members in assigned_by(header, name):
        parameter = parameters[number]
        whole = parameter + members
        if f"*{parameter}" not in listed and not any(
                whole == one.split("[")[0] for one in listed):
            yield f"{name} assigns {whole}, and its contract does not say so"
    for kind, bound in re.findall(r"\b(order|partition|tail) <= (\d+)", text):
        last = header.last(kind)
        if int(bound) != last:
            yield f"{name}: {kind} <= {bound}, and the header's last is {last}"


# --- Notes, without a prover --------------------------------------------------

ACSL = set("""assert assigns axiom axiomatic ensures exists forall ghost integer
    invariant logic loop predicate requires variant uint8_t uint32_t uint64_t
    """.split())


def without_comments(text):
    """ACSL alone."""
    return re.sub(r"/\*[^@].*?\*/", "", text, flags=re.S)


def check_note(header, name, place, text, logic):
    """The names in a note that its function does not have."""
    place_of(header.function(name), place)
    text = without_comments(text)
    own = set(re.findall(r"ghost \w+ (\w+)", " ".join(
        note for other, _, note in notes() if other == name)))
    own |= set(re.findall(r"(?:assert|invariant) (\w+):", text))
    for names in re.findall(r"\\(?:forall|exists) integer ([\w, ]+);", text):
        own |= set(names.replace(",", " ").split())
    known = ACSL | own | logic | set(header.words(name)) | header.members()
    for word in sorted(set(re.findall(r"(?<![\\\w])[A-Za-z_]\w*", text))):
        if word not in known:
            yield f"notes.txt: {name} has no {word}"


# --- Models -------------------------------------------------------------------

MODEL = re.compile(r"^; models (.*(?:\n;  .*)*)", re.M)
CONSTANT = re.compile(r"^\(define-fun \w+ \(\) Int (\d+)\) ; (\w+)$", re.M)


def check_models(header, text):
    """What a file of formulas names that is not in the header, or not with this
    value, and what it quotes of a contract that does not stand there."""
    models = re.findall(r"\w+", " ".join(MODEL.findall(text)))
    contracted = re.findall(r"^; contract: (.*(?:\n;  .*)*)", text, re.M)
    if not models and not contracted:
        yield "models nothing"
    for name in models:
        header.words(name)
    for number, name in CONSTANT.findall(text):
        value = header.value(name)
        if int(number) != value:
            yield f"{name} is {value} in the header, not {number}"
    formulas = re.sub(r"^;.*\n", "", text, flags=re.M)
    for old in re.findall(r"^; fault: (.*) => ", text, re.M):
        if old not in formulas:
            yield f"a fault is of what it does not say: {old}"
    all_contracts = " ".join(" ".join(read(one).split())
                             for one in sorted(glob.glob(f"{HERE}/*.[ch]")))
    for quote in contracted:
        quote = " ".join(re.sub(r"\n; +", " ", quote).split())
        if all_contracts.count(quote) != 1:
            yield f"not in a contract once: {quote}"


PREFIXES = ("", "ssmp_", "SSMP_", "statesampler_", "STATESAMPLER_")


def spoken_of(path):
    """The names, which have a _ in them, in what a file of formulas prints or
    says in comments that quote nothing, or in what README.md has as code."""
    text = read(path)
    if path.endswith(".smt2"):
        text = re.sub(r"^; (?:models|contract:|fault:).*(?:\n;  .*)*", "", text,
                      flags=re.M)
        said = re.findall(r'^;.*|\(echo "[^"]*"', text, re.M)
        return re.findall(r"\b[A-Za-z]\w*_\w+", " ".join(said))
    return re.findall(r"`([A-Za-z]\w*_\w+)`", text)


def check_names(header):
    """The names in texts that nothing of the header or of a contract has. A text
    may leave out our prefix."""
    there = set(re.findall(r"\w+", without_comments(header.text)))
    for path in glob.glob(f"{HERE}/*.h"):
        there.update(re.findall(r"\w+", read(path)))
    for path in sorted(glob.glob(f"{HERE}/*.smt2")) + [f"{HERE}/README.md"]:
        for name in spoken_of(path):
            if not there & {prefix + name for prefix in PREFIXES}:
                yield (f"{os.path.basename(path)}: the header has no {name}, "
                       "of which it speaks")


# --- What is asked ------------------------------------------------------------

def proved_names():
    """The functions that prove.sh proves, as it has them after `wp`."""
    script = read(f"{HERE}/prove.sh").replace("\\\n", " ")
    for names in re.findall(r"^wp '[^']*' \w+\.c (.*)$", script, re.M):
        for name in names.split():
            yield ("ssmp_" + name[1:] if name.startswith("+")
                   else "statesampler_" + name)


def check(header):
    """Everything that does not stand in the header."""
    said = [text for _, text, _, _ in contracts()]
    said += [read(path) for path in glob.glob(f"{HERE}/*.[ch]")]
    logic = set(re.findall(r"(?:predicate|logic integer) (\w+)",
                           " ".join(said)))
    contracted = {}
    for path, text, name, parameters in contracts():
        contracted[name] = path
        try:
            yield from (f"{path}: {wrong}" for wrong in check_contract(
                header, text, name, parameters))
        except Lost as reason:
            yield f"{path}: {reason}"
    for name in proved_names():
        called = re.findall(r"\b(?:ssmp|statesampler)_\w+(?= \()",
                            " ".join(header.function(name).words))
        for needed in [name] + called:
            if needed not in contracted:
                yield f"prove.sh proves {name}, and {needed} has no contract"
    for name, place, text in notes():
        try:
            yield from check_note(header, name, place, text, logic)
        except Lost as reason:
            yield f"notes.txt: {reason}"
    for path in sorted(glob.glob(f"{HERE}/*.smt2")):
        name = os.path.basename(path)
        try:
            yield from (f"{name}: {wrong}" for wrong in check_models(
                header, read(path)))
        except Lost as reason:
            yield f"{name}: {reason}"
        if name not in read(f"{HERE}/prove.sh"):
            yield f"prove.sh does not prove {name}"
    yield from check_names(header)


def main():
    header = Header(read("statesampler.h"))
    what, names = sys.argv[1], sys.argv[-1].split(",")
    if what == "check":
        wrong = list(check(header))
        print("\n".join(wrong), end="\n" if wrong else "")
        return 1 if wrong else 0
    if what == "note":
        text = noted(header, names)
        if c.words_of(text) != c.words_of(header.text):
            raise Lost("notes.txt changes more than comments")
        sys.stdout.write(text)
        return 0
    faulty = {}
    for name in names:
        made = faults_of(header.function(name))
        if int(sys.argv[2]) < len(made):
            faulty[name] = made[int(sys.argv[2])]
    if what == "faulty":
        print(",".join(faulty))
    else:
        sys.stdout.write(noted(header, names, faulty.values()))
    return 0


try:
    sys.exit(main())
except Lost as lost:
    sys.exit(f"tests/prove/header.py: {lost}")
