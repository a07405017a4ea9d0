"""faults.py - makes the faults that tests/mutants.py puts into statesampler.h,
each by a rule. It reads C as far as that needs: tokens, functions, statements,
macros that are expressions."""

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
    """New text in the place of a function's words [first, last). One with
    strict set is no fault where the compiler warns of it."""
    number, strict = 0, False

    def __init__(self, function, first, last, new):
        self.function, self.new = function, new
        self.start = function.body[first].start
        self.end = function.body[last - 1].end
        # The whole statement, for people.
        begin, end = function.statements_around(first, last)
        self.statement = function.body[begin].start, function.body[end - 1].end

    def before(self, text):
        begin, end = self.statement
        return shortened(text[begin:end])

    def after(self, text):
        begin, end = self.statement
        return shortened(f"{text[begin:self.start]}{self.new}"
                         f"{text[self.end:end]}")


def shortened(code):
    """Code in a line."""
    return " ".join(code.replace("\\\n", " ").split())


KEYWORDS = {"break", "case", "const", "default", "do", "else", "for", "goto",
            "if", "return", "sizeof", "static", "switch", "while"}
OPERATORS = {"==": "!=", "!=": "==", "&&": "||", "||": "&&", "&": "|",
             "|": "&", "+": "-", "-": "+", "+=": "-=", "-=": "+=", "<<": ">>",
             ">>": "<<", "++": "--", "--": "++", "/": "*", "%": "/", "!": "",
             "~": ""}
BOUNDARIES = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
TURNED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}
# Calls that give the same when their first two arguments are swapped, or their
# last two.
SYMMETRIC = re.compile(
    r"ssmp_(derive|min|run_match|high16)|"
    r"SSMP_(EVEN|HIGH)\d+|v(minq|mull)_u\d+")
FACTORS_LAST = re.compile(r"SSMP_(X86|PRODUCTS|HIGH)")


def is_binary(words, i):
    """Whether the operator that is the word i has something on its left."""
    return (i > 0 and words[i - 1] != "return" and
            re.match(r"[\w)\]]", words[i - 1]) is not None)


def another_operator(function, i):
    word = function.words[i]
    if word in OPERATORS and (word not in ("&", "+", "-") or
                              is_binary(function.words, i)):
        yield Fault(function, i, i + 1, OPERATORS[word])


def refuses(words, i):
    """Whether the `if` that is the word i leads to an error alone."""
    after = words[matching(words, i + 1, 1) + 1:][:3]
    return (words[i] == "if" and after[:1] == ["return"] and
            after[2:] == [";"] and re.search("_E[A-Z]", after[1]) is not None)


def keyword_around(words, i):
    """The place of the if, for or while whose condition has the word i, or
    None."""
    while i > 0 and words[i] != "{":
        i -= 1
        if words[i] in (")", "]", "}"):
            i = matching(words, i, -1)
        elif words[i] == "(" and words[i - 1] in ("if", "for", "while"):
            return i - 1
    return None


def another_comparison(function, i):
    """In loops, and in checks that refuse something, equal numbers are taken
    for the other case. Elsewhere both cases often come to the same for them, as
    in a minimum or where a faster way begins: there the comparison is turned
    round."""
    word, words = function.words[i], function.words
    if word in BOUNDARIES:
        keyword = keyword_around(words, i)
        is_exact = keyword is not None and (words[keyword] != "if" or
                                            refuses(words, keyword))
        yield Fault(function, i, i + 1,
                    (BOUNDARIES if is_exact else TURNED)[word])


def no_one(function, i):
    """A 1 that is not added or subtracted. Other constants are no rule: those
    of the orders are in every test's vectors, and of the others many have room
    to spare, or are true whatever they are."""
    words = function.words
    if words[i] in ("+", "-") and words[i + 1] == "1" and is_binary(words, i):
        yield Fault(function, i, i + 2, "")


def no_check(function, i):
    """Only where it refuses something: others may choose a faster way."""
    words = function.words
    if words[i] == "if" and refuses(words, i):
        yield Fault(function, i + 2, matching(words, i + 1, 1), "0")


def no_statement(function, i):
    """No declaration, which two names side by side are, perhaps with stars. And
    none that sets a 0: often it is set again before anyone reads it, and what
    is read before it is set is a question for valgrind."""
    word = function.words[i]
    if (re.match(r"[A-Za-z_*]", word) and word not in KEYWORDS and
            function.begins_statement(i)):
        last = function.statements_around(i, i + 1)[1]
        statement = " ".join(function.words[i:last])
        if (statement.endswith(";") and not statement.endswith("= 0 ;") and
                not re.match(r"\w+ (\* )*[A-Za-z_]", statement)):
            yield Fault(function, i, last, ";")


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


def swapped_arguments(function, i):
    """Two that stand side by side."""
    words = function.words
    if (words[i + 1:i + 2] != ["("] or words[i] in KEYWORDS or
            not re.match(r"[A-Za-z_]", words[i])):
        return
    arguments = arguments_of(words, i + 1)
    if SYMMETRIC.fullmatch(words[i]):
        arguments = arguments[1:]
    if FACTORS_LAST.fullmatch(words[i]):
        arguments = arguments[:-1]
    for (first, comma), (second, last) in zip(arguments, arguments[1:]):
        if words[first:comma] != words[second:last]:
            swapped = words[second:last] + [","] + words[first:comma]
            fault = Fault(function, first, last, " ".join(swapped))
            fault.strict = True
            yield fault


# Each takes a function or macro and i, and yields the faults that begin at its
# word i.
RULES = [another_operator, another_comparison, no_one, no_check, no_statement,
         swapped_arguments]


def generated(function):
    """The faults in a function or macro. None is in an assertion, which the
    compiler does not see."""
    asserted = 0
    for i, word in enumerate(function.words):
        if word == "STATESAMPLER_ASSERT":
            asserted = matching(function.words, i + 1, 1)
        if i >= asserted:
            for rule in RULES:
                yield from rule(function, i)


def all_faults(text):
    """Every fault in the header, numbered from 1."""
    faults = [fault for part in functions_of(text) + macros_of(text)
              for fault in generated(part)]
    for number, fault in enumerate(faults, 1):
        fault.number = number
    return faults


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
