"""faults.py - the faults that tests/mutants.py puts into statesampler.h: those
of the list, and those that are made by a rule. It reads C as far as that
needs: tokens, functions, statements, macros that are expressions."""

import re
from collections import namedtuple

# --- C ------------------------------------------------------------------------

Token = namedtuple("Token", "text start end")
TOKEN = re.compile(r"""
    (?P<comment> /\*.*?\*/ | //[^\n]* )
  | (?P<directive> ^[ \t]*\#(?:[^\n\\]|\\.)* )
  | (?P<token> "(?:[^"\\]|\\.)*" | '(?:[^'\\]|\\.)*'
      | [A-Za-z_]\w* | \.?\d(?:[eEpP][+-]|[\w.])*
      | \.\.\. | <<= | >>= | << | >> | <= | >= | == | != | && | \|\|
      | -> | \+\+ | -- | [-+*/%&|^]= | \S )
""", re.X | re.S | re.M)


def tokens_of(text):
    """The tokens, without comments and lines of the preprocessor."""
    return [Token(found.group(), found.start(), found.end())
            for found in TOKEN.finditer(text) if found.lastgroup == "token"]


def words_of(text):
    return [token.text for token in tokens_of(text)]


def matching(words, i, step):
    """Where the bracket is closed that stands at i, or opened if step is
    -1."""
    depth = 0
    while True:
        depth += (words[i] in ("(", "[", "{")) - (words[i] in (")", "]", "}"))
        if depth == 0:
            return i
        i += step


class Body:
    """What a name stands for: a function's statements, or a macro's
    expression."""

    def __init__(self, name, start, body, end):
        self.name, self.start, self.end = name, start, end
        self.body, self.words = body, [token.text for token in body]
        # How many parentheses each token is in: a semicolon in one is a
        # loop's and ends no statement.
        self.depth, depth = [], 0
        for word in self.words:
            depth -= word in (")", "]")
            self.depth.append(depth)
            depth += word in ("(", "[")
        # What is between the braces of a list.
        self.listed = set()
        for i, word in enumerate(self.words):
            if word == "{" and self.words[i - 1:i] == ["="]:
                self.listed |= set(range(i, matching(self.words, i, 1)))

    def find(self, words):
        """Where these words stand."""
        count = len(words)
        return [i for i in range(len(self.words) - count + 1)
                if self.words[i:i + count] == words]

    def begins_statement(self, i):
        before = self.words[i - 1] if i else ";"
        if before == ")":
            opening = matching(self.words, i - 1, -1)
            return self.words[opening - 1] in ("if", "for", "while")
        return self.depth[i] == 0 and before in (";", "{", "}", "else")

    def statements_around(self, first, last):
        """The bounds of the statements, or elements of a list, that words
        [first, last) are of."""
        def ends(i):
            return self.depth[i] == 0 and (
                self.words[i] in (";", "{", "}") or
                (self.words[i] == "," and i in self.listed))
        while first > 0 and not ends(first - 1):
            first -= 1
        while last < len(self.words) and not ends(last - 1):
            last += 1
        return first, last


class Function(Body):
    """A definition: its name, and what stands between its braces."""

    def __init__(self, head, opening, body, closing):
        name = head[matching(head, len(head) - 1, -1) - 1]
        super().__init__(name, opening.end, body, closing.start)
        self.is_void = head[head.index(name) - 1] == "void"

    def with_faults(self, text, faults, chosen, new):
        """The body after a switch that leads to it once more for each fault.
        The lines of such a body are named after the fault, for the compiler's
        messages."""
        leave = "return;" if self.is_void else "abort();"
        parts = [f"\nswitch ({chosen}) {{\ncase -{self.start}: abort();\n"]
        for fault in faults:
            parts.append(
                f'case {fault.number}: {{\n#line 1 "fault-{fault.number}"\n'
                f"{text[self.start:fault.start]} {new(fault)} "
                f"{text[fault.end:self.end]}\n}} {leave}\n")
        line = text.count("\n", 0, self.start) + 1
        parts.append(f'}}\n#line {line} "statesampler.h"\n')
        return "".join(parts) + text[self.start:self.end]


class Macro(Body):
    """A macro with arguments that is an expression."""

    def with_faults(self, text, faults, chosen, new):
        """A choice between the expression and those with a fault. A compiler
        tells of no line in it."""
        parts = [f"({chosen} == -{self.start} ? abort() : (void)0, "]
        for fault in faults:
            parts.append(
                f"{chosen} == {fault.number} ? "
                f"({text[self.start:fault.start]} {new(fault)} "
                f"{text[fault.end:self.end]}) : \\\n")
        return "".join(parts) + f"({text[self.start:self.end]}))"


MACRO = re.compile(r"^[ \t]*#define (\w+)\([^)]*\)((?:[^\n\\]|\\.)*)",
                   re.M | re.S)


def macros_of(text):
    """Every macro with arguments that is an expression, in order: one that
    calls or computes something, and makes no names, lists or initialisers."""
    found = []
    for macro in MACRO.finditer(text):
        start, end = macro.span(2)
        body = [Token(token.text, token.start + start, token.end + start)
                for token in tokens_of(macro[2].replace("\\\n", " \n"))]
        words = {token.text for token in body}
        others = KEYWORDS - {"const"} | {"#", "void", "{", "X", "SSMP_FIELD"}
        if not words & others and '"' not in macro[2]:
            found.append(Macro(macro[1], start, body, end))
    return found


def functions_of(text):
    """Every function that is defined, in order. A name stands there more than
    once if the preprocessor chooses one of several definitions."""
    tokens = tokens_of(text)
    words = [token.text for token in tokens]
    found, i, start = [], 0, 0  # start: of the declaration that i is in
    while i < len(words):
        if words[i] == "{" and words[i - 1] != '"C"':
            close = matching(words, i, 1)
            if words[i - 1] == ")":
                found.append(Function(words[start:i], tokens[i],
                                      tokens[i + 1:close], tokens[close]))
                start = close + 1
            i = close
        elif words[i] in (";", "}"):
            start = i + 1
        i += 1
    return found


# --- Faults -------------------------------------------------------------------

class Fault:
    """New text in the place of a function's words [first, last). One that is
    made by a rule has no name. One with strict set is no fault where the
    compiler warns of it."""
    number, strict = 0, False

    def __init__(self, function, first, last, new, name=None):
        self.function, self.new, self.name = function, new, name
        self.start = function.body[first].start
        self.end = function.body[last - 1].end
        # The whole statement before and after: by these it is known. One that
        # stands there more than once is known by those before it, too.
        begin, end = function.statements_around(first, last)
        words = function.words
        while begin > 0 and len(function.find(words[begin:end])) > 1:
            begin = function.statements_around(begin - 1, begin)[0]
        self.key = (function.name, " ".join(words[begin:end]),
                    " ".join(words[begin:first] + words_of(new) +
                             words[last:end]))
        self.question = f"{function.name}: {name or 'generated'}"


SWAPS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==",
         "&&": "||", "||": "&&", "&": "|", "|": "&", "+": "-", "-": "+",
         "+=": "-=", "-=": "+=", "<<": ">>", ">>": "<<", "++": "--",
         "--": "++"}
KEYWORDS = {"break", "case", "const", "default", "do", "else", "for", "goto",
            "if", "return", "sizeof", "static", "switch", "while"}
# Calls that give the same when their first two arguments are swapped, or their
# last two.
SYMMETRIC = re.compile(
    r"ssmp_(derive|min|run_match|high16)|"
    r"SSMP_(EVEN|HIGH)\d+|v(minq|mull)_u\d+")
FACTORS_LAST = re.compile(r"SSMP_(X86|HALF|HIGH)")


def arguments_of(words, opening):
    """The bounds of each argument between the parentheses that open there."""
    bounds, first, i = [], opening + 1, opening + 1
    while True:
        if words[i] in (",", ")"):
            bounds.append((first, i))
            first = i + 1
            if words[i] == ")":
                return bounds
        i = matching(words, i, 1) + 1


def is_no_rule(words, i):
    """Whether a 0 says that no rule is about a field of a state: nobody reads
    that."""
    return (words[i:i + 2] == ["0", ")"] and
            words[matching(words, i + 1, -1) - 1] == "SSMP_FIELD")


def generated(function):
    """The faults that are made by a rule: another operator, a 1 that is not
    added or subtracted, a constant that is one more, a statement left out, two
    arguments side by side swapped. None is in an assertion, which the compiler
    does not see."""
    words, faults, asserted = function.words, [], 0

    def add(first, last, new):
        faults.append(Fault(function, first, last, new))
        return faults[-1]

    for i, word in enumerate(words):
        if word == "STATESAMPLER_ASSERT":
            asserted = matching(words, i + 1, 1)
        if i < asserted:
            continue
        before = words[i - 1] if i else ";"
        binary = re.match(r"[\w)\]]", before) and before != "return"
        if word in SWAPS and (binary or word not in ("&", "+", "-")):
            add(i, i + 1, SWAPS[word])
        if word in ("+", "-") and binary and words[i + 1] == "1":
            add(i, i + 2, "")
        elif (re.match(r"\d", word) and before != "case" and
              not is_no_rule(words, i)):
            add(i, i + 1, f"({word} + 1)")
        if (function.begins_statement(i) and re.match(r"[A-Za-z_*]", word)
                and word not in KEYWORDS):
            last = function.statements_around(i, i + 1)[1]
            statement = " ".join(words[i:last])
            # Two names side by side, perhaps with stars: a declaration.
            if (statement.endswith(";") and
                    not re.match(r"\w+ (\* )*[A-Za-z_]", statement)):
                add(i, last, ";")
        if (words[i + 1:i + 2] == ["("] and re.match(r"[A-Za-z_]", word)
                and word not in KEYWORDS):
            arguments = arguments_of(words, i + 1)
            if SYMMETRIC.fullmatch(word):
                arguments = arguments[1:]
            if FACTORS_LAST.fullmatch(word):
                arguments = arguments[:-1]
            for (first, comma), (second, last) in zip(arguments, arguments[1:]):
                if words[first:comma] != words[second:last]:
                    swapped = words[second:last] + [","] + words[first:comma]
                    add(first, last, " ".join(swapped)).strict = True
    return faults


# --- Lists of faults ----------------------------------------------------------

Entry = namedtuple("Entry", "function title old new")


def entries_of(path):
    """The entries of a list. A line with @ names the function of the entries
    after it. An entry is a line with =, its title, lines with -, which stand
    in the function, and lines with +, which take their place."""
    entries, function = [], None
    with open(path) as file:
        for line in file:
            mark, text = line[:1], line[1:].strip()
            if mark == "@":
                function = text
            elif mark == "=":
                entries.append(Entry(function, text, [], []))
            elif mark == "-":
                entries[-1].old.append(text)
            elif mark == "+":
                entries[-1].new.append(text)
    return [entry._replace(old="\n".join(entry.old), new="\n".join(entry.new))
            for entry in entries]


def key_of(entry):
    """The key of the generated fault that an entry describes."""
    return (entry.function, " ".join(words_of(entry.old)),
            " ".join(words_of(entry.new)))


class Lost(Exception):
    """What an entry describes is not in the header. One of a function that is
    not there is gone, and no mistake."""

    def __init__(self, reason, gone=False):
        super().__init__(reason)
        self.gone = gone


TYPES = {"char", "int", "long", "size_t", "unsigned", "void"}
NAME = re.compile(r"[A-Za-z_]\w*")


def may_differ(word):
    """Whether a word is a name that the header is free to change."""
    return (NAME.fullmatch(word) and word not in KEYWORDS | TYPES and
            not word.startswith("STATESAMPLER_") and not word.endswith("_t"))


def renaming(old, words):
    """The names of old and what words has in their place, if words is old with
    other names; else None."""
    names, taken = {}, {}
    for mine, theirs in zip(old, words):
        if not may_differ(mine) or not may_differ(theirs):
            if mine != theirs:
                return None
        elif (names.setdefault(mine, theirs) != theirs or
              taken.setdefault(theirs, mine) != mine):
            return None
    return names


def shape_of(key):
    """The key of a fault without the names that the header is free to
    change."""
    numbers = {}

    def number(found):
        word = found[0]
        return (f"_{numbers.setdefault(word, len(numbers))}"
                if may_differ(word) else word)
    return key[0], NAME.sub(number, f"{key[1]} => {key[2]}")


def places_of(old, parts):
    """Where these words stand in the parts; if nowhere, where they stand with
    other names. Each place is a part, its first word and the other names."""
    exact = [(part, first, {}) for part in parts for first in part.find(old)]
    if exact or len(old) < 4:
        return exact
    found = []
    for part in parts:
        for first in range(len(part.words) - len(old) + 1):
            names = renaming(old, part.words[first:first + len(old)])
            if names is not None:
                found.append((part, first, names))
    return found


def fault_of(entry, parts):
    """The fault that an entry describes. Its words must stand in the function
    exactly once, else it would prove nothing."""
    named = [part for part in parts if part.name == entry.function]
    if not named:
        raise Lost("the header has no such function or macro", gone=True)
    old = words_of(entry.old)
    places = places_of(old, named) if old else []
    if len(places) != 1:
        raise Lost(f"{len(places)} times there: {' '.join(old)}")
    part, first, names = places[0]
    new = NAME.sub(lambda found: names.get(found[0], found[0]), entry.new)
    return Fault(part, first, first + len(old), new, entry.title)


# --- One header with all of them ----------------------------------------------

def with_all(text, faults, chosen, new=lambda fault: fault.new):
    """The header with every fault, of which a global number, `chosen`, says
    which one is there. The number -start of a function or a macro ends the
    program where it is used."""
    groups = {}
    for fault in faults:
        groups.setdefault(fault.function.start, []).append(fault)
    parts, at = [f"extern int {chosen};\nvoid abort(void);\n"], 0
    for start, group in sorted(groups.items()):
        function = group[0].function
        parts.append(text[at:start] +
                     function.with_faults(text, group, chosen, new))
        at = function.end
    return "".join(parts) + text[at:]
