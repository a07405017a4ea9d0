#!/usr/bin/env python3
"""reference.py - statesampler.h a second time, slow and plain.

Written from the manual at the head of statesampler.h: SHAPES, ORDERS, TAILS,
MIXES, STATE FORMAT and ALGORITHM 1. It prints the test vectors,
tests/vectors.json:

    make vectors

which tests/test_vectors.c asks of the header, and which a program in another
language may be tried on. `make test` compares the kept file with what this
program prints. What the fields of a case mean stands in the file itself: see
ABOUT below.

Python's integers have no end, so M cuts where the manual's words wrap around.
"""

import functools
import json
import math

M = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15

SHUFFLE, SEQUENTIAL, WINDOW, REPLACEMENT = range(4)
INTERLEAVED, BLOCKED = range(2)
PAD, DROP, UNEVEN, CARRY = range(4)
ORDERS = ["SHUFFLE", "SEQUENTIAL", "WINDOW", "REPLACEMENT"]
PARTITIONS = ["INTERLEAVED", "BLOCKED"]
TAILS = ["PAD", "DROP", "UNEVEN", "CARRY"]
EINVAL, ERANGE = -1, -2  # what the vectors call these kinds of error
NEVER, OFF = 3, 2**32 - 1  # of a mix: a stop, and the weight of no turns


def ceil_div(x, y):
    return -(-x // y)


# --- Algorithm 1 ------------------------------------------------------------


def mix(x):
    x &= M
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & M
    x = (x ^ x >> 27) * 0x94D049BB133111EB & M
    return x ^ x >> 31


def derive(key, value):
    return mix(key + value + GOLDEN)


@functools.lru_cache(maxsize=None)
def epoch_key(seed, epoch, stream):
    return derive(derive(derive(0, seed), epoch), stream)


def rounds_of(n):
    if n < 2**13:
        return 24
    if n < 2**24:
        return 12
    return 8


class Perm:
    """The permutation of [0, n) under a key."""

    def __init__(self, n, key):
        self.n = n
        self.a = math.isqrt(n - 1) + 1
        self.a += self.a % 2
        self.b = max(ceil_div(n, self.a), 3)
        self.w = 16 if n <= 2**30 else 32
        # Each round's key, add below mul, is 2w bits of a word.
        keys, start = [], derive(key, n)
        for j in range(1, rounds_of(n) + 1):
            word = mix(start + j * GOLDEN)
            for low in range(0, 64, 2 * self.w):
                add = self.cut(word >> low)
                mul = self.cut(word >> low + self.w)
                keys.append((add, mul | 1 << self.w - 1))
        self.keys = keys[:rounds_of(n)]

    def cut(self, x):
        return x & (1 << self.w) - 1

    def hash(self, t, h, m):
        """F of round t."""
        add, mul = self.keys[t]
        s = m - t // 2 * (m // 1024)
        x = h ^ add
        y = x * mul >> self.w
        return self.cut(x * y) * s >> self.w

    def network(self, index):
        l, r = divmod(index, self.b)
        for t in range(len(self.keys)):
            if t % 2 == 0:
                l = (l - self.hash(t, r, self.a)) % self.a
            else:
                r = (r - self.hash(t, l, self.b)) % self.b
        return l * self.b + r

    def network_back(self, index):
        l, r = divmod(index, self.b)
        for t in reversed(range(len(self.keys))):
            if t % 2 == 0:
                l = (l + self.hash(t, r, self.a)) % self.a
            else:
                r = (r + self.hash(t, l, self.b)) % self.b
        return l * self.b + r

    def at(self, position):
        index = self.network(position)
        while index >= self.n:
            index = self.network(index)
        return index

    def inverse(self, index):
        position = self.network_back(index)
        while position >= self.n:
            position = self.network_back(position)
        return position


perm = functools.lru_cache(maxsize=1000)(Perm)


class Order:
    """Place in a block -> sample of the block, both in [0, n), and back."""

    def __init__(self, order, n, key, chunk_size, window):
        self.order, self.n, self.key = order, n, key
        self.chunk_size, self.window = chunk_size, window

    def at(self, p):
        return [self.shuffled, self.same, self.windowed,
                self.drawn][self.order](p)

    def place(self, sample):
        return [self.unshuffled, self.same,
                self.unwindowed][self.order](sample)

    def same(self, p):
        return p

    def shuffled(self, p):
        return perm(self.n, self.key).at(p)

    def unshuffled(self, sample):
        return perm(self.n, self.key).inverse(sample)

    def inside(self, w):
        """The first place of window w, and the permutation inside it."""
        first = w * self.window * self.chunk_size
        m = min(self.window * self.chunk_size, self.n - first)
        return first, perm(m, derive(self.key, 2**63 + 2**62 + w))

    def windowed(self, p):
        w = p // (self.window * self.chunk_size)
        first, shuffle = self.inside(w)
        q = shuffle.at(p - first)
        chunk = w * self.window + q // self.chunk_size
        full = self.n // self.chunk_size
        if chunk < full:
            chunk = perm(full, self.key).at(chunk)
        return chunk * self.chunk_size + q % self.chunk_size

    def unwindowed(self, sample):
        chunk = sample // self.chunk_size
        full = self.n // self.chunk_size
        if chunk < full:
            chunk = perm(full, self.key).inverse(chunk)
        w = chunk // self.window
        first, shuffle = self.inside(w)
        q = chunk % self.window * self.chunk_size + sample % self.chunk_size
        return first + shuffle.inverse(q)

    def drawn(self, p):
        state = derive(self.key, 2**62 + p)
        mask = (1 << (self.n - 1).bit_length()) - 1
        j = 1
        while mix(state + j * GOLDEN) & mask >= self.n:
            j += 1
        return mix(state + j * GOLDEN) & mask


# --- Samplers ---------------------------------------------------------------

DESC = ["num_samples", "seed", "epoch", "stream", "rank", "world_size",
        "batch_size", "order", "partition", "tail", "drop_last",
        "chunk_size", "window"]


class Sampler:
    def __init__(self, **desc):
        for name in DESC:
            setattr(self, name, desc.get(name, 0))
        self.n = self.num_samples
        self.W = self.world_size = self.world_size or 1
        self.B = self.batch_size = self.batch_size or 1
        self.G = self.W * self.B
        if self.order != WINDOW:
            self.chunk_size = self.window = 0
        self.begin(self.epoch)

    def begin(self, epoch):
        self.P = self.W if self.partition == BLOCKED else 1
        self.set_base(epoch & M, 0, 0)

    def set_base(self, epoch, position, step):
        self.base_epoch, self.base, self.base_step = epoch, position, step
        self.step = step

    # Where the epoch ends, and what is served of it.

    def domain(self):
        if self.partition == BLOCKED and self.tail == PAD:
            return ceil_div(self.n, self.P) * self.P
        if self.partition == BLOCKED and self.tail == DROP:
            return self.n // self.P * self.P
        return self.n

    def end(self):
        left = max(self.domain() - self.base, 0)
        if self.tail == PAD:
            return self.base + self.W * ceil_div(left, self.W)
        if self.tail == DROP:
            return self.base + self.W * (left // self.W)
        return self.n

    def num_steps(self):
        if self.tail == CARRY:
            return M
        left = self.end() - self.base
        if self.drop_last:
            return self.base_step + left // self.G
        return self.base_step + ceil_div(left, self.G)

    def served_end(self):
        """The first position after the last step."""
        last = self.base + (self.num_steps() - self.base_step) * self.G
        return min(last, self.end())

    # The present. With CARRY a position may lie in a later epoch than the
    # base's, each epoch n positions after the one before.

    def far(self):
        return self.base + (self.step - self.base_step) * self.G

    def now(self):
        if self.tail == CARRY:
            later, position = divmod(self.far(), self.n)
            return self.base_epoch + later & M, position
        return self.base_epoch, min(self.far(), self.end())

    # Samples.

    def division(self):
        """Samples in every block, and how many blocks have one more."""
        each, more = divmod(self.n, self.P)
        if self.partition == BLOCKED and self.tail == DROP:
            more = 0
        return each, more

    def block(self, number):
        """The first sample of a block, and how many it has."""
        each, more = self.division()
        return number * each + min(number, more), each + (number < more)

    def block_of(self, index):
        """A sample's block; the number of blocks if it is in none."""
        each, more = self.division()
        if index < more * (each + 1):
            return index // (each + 1)
        if index >= more + each * self.P:
            return self.P
        return (index - more) // each

    def block_order(self, epoch, number):
        key = epoch_key(self.seed, epoch, self.stream)
        if self.partition == BLOCKED:
            key = derive(key, 2**63 + number)
        size = self.block(number)[1]
        return Order(self.order, size, key, self.chunk_size, self.window)

    def sample(self, p):
        epoch = self.base_epoch
        if self.tail == CARRY:
            epoch, p = epoch + p // self.n & M, p % self.n
        if p >= self.n:
            if self.partition == BLOCKED and self.block(p % self.P)[1] > 0:
                p = p % self.P
            else:
                p = p % self.n
        start = self.block(p % self.P)[0]
        return start + self.block_order(epoch, p % self.P).at(p // self.P)

    def positions(self, step):
        """This rank's positions in a step."""
        if not self.base_step <= step < self.num_steps():
            return []
        first = self.base + (step - self.base_step) * self.G
        mine = [first + j * self.W + self.rank for j in range(self.B)]
        if self.tail != CARRY:
            mine = [p for p in mine if p < self.served_end()]
        return mine

    def at(self, step):
        return [self.sample(p) for p in self.positions(step)]

    def next(self):
        if self.tail != CARRY and self.step >= self.num_steps():
            self.begin(self.base_epoch + 1)
            return []
        batch = self.at(self.step)
        self.step += 1
        if self.tail == CARRY and self.far() - self.base >= 2**62:
            self.set_base(*self.now(), self.step)
        return batch

    def next_samples(self):
        """next, past a last step in which this rank has no sample."""
        ended = self.tail != CARRY and self.step >= self.num_steps()
        return self.next() or ([] if ended else self.next())

    def padding(self, step):
        if self.tail == CARRY:
            return 0
        return sum(p >= self.n for p in self.positions(step))

    def locate(self, index):
        """Position, step, rank and slot; or one number, an error."""
        if self.order == REPLACEMENT:
            return [EINVAL]
        if index >= self.n:
            return [ERANGE]
        number = self.block_of(index)
        if number == self.P:
            return [ERANGE]
        epoch, _ = self.now()
        place = self.block_order(epoch, number).place(
            index - self.block(number)[0])
        position = place * self.P + number
        p = position + (epoch - self.base_epoch & M) * self.n
        if p < self.base:
            return [ERANGE]
        if self.tail != CARRY and p >= self.served_end():
            return [ERANGE]
        step, inside = divmod(p - self.base, self.G)
        return [position, self.base_step + step, inside % self.W,
                inside // self.W]

    def counts(self):
        if self.tail == CARRY:
            return [self.n, 0, 0, M, M, M]
        end = self.served_end()
        mine = max(ceil_div(end - self.base - self.rank, self.W), 0)
        return [end, max(end - self.n, 0), max(self.n - end, 0),
                self.num_steps(), mine, ceil_div(mine, self.B)]

    def save(self):
        """State format 1."""
        epoch, position = self.now()
        fields = [(b"SSMP", 4), (1, 2), (1, 2), (self.n, 8), (self.seed, 8),
                  (self.stream, 8), (self.chunk_size, 8), (self.window, 8),
                  (self.order, 1), (self.partition, 1), (self.tail, 1),
                  (0, 1), (self.P, 4), (self.W, 4), (self.B, 4), (epoch, 8),
                  (position, 8), (self.base_epoch, 8), (self.base, 8),
                  (self.base_step, 8)]
        return pack(fields)

    def load(self, state):
        """A good state of the same samples."""
        def field(first, size):
            return int.from_bytes(state[first:first + size], "little")

        assert len(state) == 112 and check_word(state[:104]) == field(104, 8)
        epoch, position = field(64, 8), field(72, 8)
        base_epoch, base, base_step = field(80, 8), field(88, 8), field(96, 8)
        later = epoch - base_epoch & M
        done = later * self.n + position - base
        step = base_step + ceil_div(done, field(56, 4) * field(60, 4))
        if self.tail != CARRY and position == 0:
            self.begin(epoch)
            return
        self.P = field(52, 4)
        if (field(56, 4), field(60, 4)) != (self.W, self.B):
            self.set_base(epoch, position, step)
            return
        self.set_base(base_epoch, base, base_step)
        if step > self.num_steps():
            self.set_base(epoch, position, step)
        self.step = step


def check_word(data):
    h = 0
    for i in range(0, len(data), 8):
        h = (h ^ int.from_bytes(data[i:i + 8], "little")) * GOLDEN & M
        h ^= h >> 32
    return h


def pack(fields):
    """A state: values with their sizes, and the check word."""
    out = b""
    for value, size in fields:
        if isinstance(value, int):
            value = value.to_bytes(size, "little")
        assert len(value) == size
        out += value
    return out + check_word(out).to_bytes(8, "little")


# --- Mixes ------------------------------------------------------------------


class Node:
    """A node of the tree: sources, by their numbers, and their weights."""

    def __init__(self, leaves, level=0):
        self.leaves = leaves
        self.weight = sum(weight for _, _, weight in leaves)
        if len(leaves) > 1:
            sides = [[], []]
            for leaf in leaves:
                sides[leaf[0] >> level & 1].append(leaf)
            self.left, self.right = (Node(side, level + 1) for side in sides)

    def right_turns(self, m):
        return ceil_div(m * self.right.weight - self.weight // 2, self.weight)

    def source(self, m):
        """Whose turn m is."""
        if len(self.leaves) == 1:
            return self.leaves[0][1]
        right = self.right_turns(m)
        if self.right_turns(m + 1) > right:
            return self.right.source(right)
        return self.left.source(m - right)

    def turns(self, m):
        """How many of the first m turns each source has had."""
        if len(self.leaves) == 1:
            return {self.leaves[0][1]: m}
        right = self.right_turns(m)
        return {**self.left.turns(m - right), **self.right.turns(right)}


class Mix:
    """Of sources without CARRY, with stop NEVER."""

    def __init__(self, weights, sizes, **desc):
        self.weights = [weight or 1 for weight in weights]
        self.samplers = [Sampler(num_samples=n, stream=i, **desc)
                         for i, n in enumerate(sizes)]
        self.first = desc.get("epoch", 0)
        self.taking = [i for i, s in enumerate(self.samplers)
                       if self.weights[i] != OFF and s.num_steps() > 0]
        self.tree = Node([(seat, i, self.weights[i])
                          for seat, i in enumerate(self.taking)])
        self.turn = 0

    def seek(self, turn):
        """From turn 0. A source begins an epoch with the turn that needs it."""
        self.turn = turn
        for i, had in self.tree.turns(turn).items():
            s = self.samplers[i]
            epochs = max(had - 1, 0) // s.num_steps()
            step = had - epochs * s.num_steps()
            s.begin(self.first + epochs)
            s.step = step

    def next(self):
        source = self.tree.source(self.turn)
        self.turn += 1
        s = self.samplers[source]
        if s.step == s.num_steps():
            s.next()
        return source, s.next()

    def save(self):
        """State format 2."""
        fields = [(b"SSMX", 4), (2, 2), (1, 2), (len(self.samplers), 4),
                  (NEVER, 4), (0, 8), (self.turn, 8), (self.turn, 8)]
        for i, s in enumerate(self.samplers):
            flags = (s.now()[0] != self.first) + 2 * (i in self.taking)
            fields += [(self.weights[i], 4), (flags, 4), (s.save(), 112)]
        return pack(fields)


# --- Vectors ----------------------------------------------------------------

ABOUT = """\
Test vectors of statesampler.h, algorithm 1 and state formats 1 and 2, printed
by tests/reference.py. One case a line. Numbers of 2^53 or more are strings,
because many JSON readers would round them; states and digests are strings of
hexadecimal digits. config is the group of a case. seed, epoch, stream and the
other fields of a description are as in the manual, and 0 where they are not
given.

kind perm: the permutation of [0, n). Let x be first, first + stride, ...,
count numbers. indices: what stands at the first few of the positions x.
positions: where the first few of the indices x stand. digest: for each x, the
index at position x and the position of index x.

kind sampler: begun by the description, then by load, a state, and by seek, a
step, where they are given. counts: positions, padded, dropped, steps,
rank_samples, rank_batches. locate: an index, then its position, step, rank
and slot, or EINVAL (-1), or ERANGE (-2). next: the first few results of so
many calls of next, each past a last step in which this rank has no sample; an
empty one is the end of an epoch. state: the one after all calls. digest: for
call = 0, 1, ..., before it: the state; the step; the padding of this step;
where the index 37 * call mod (num_samples + 1) is: position, step, rank and
slot, or 1 for EINVAL, or 2 for ERANGE; after it: how many indices it served,
and the indices. And the state after all calls.

kind sequence: a mix with stop NEVER, of one source for each of weights, which
has so many samples as sizes says, its number as its stream, and the rest of
the description; moved by seek, to a turn, if it is given. turns: whose turns
the first few are. digest: for so many calls of mix_next: the source, how many
indices it served, and the indices. And the state after all calls, which is
given as state where the mix is small.

kind seed: for each index the 64 bits of a sample in an epoch.

kind audit: the sums of i, i^2 and i^3 over [0, num_samples), modulo 2^64.

A digest is the 64-bit FNV-1a of bytes (from 0xcbf29ce484222325, times
0x100000001b3): a number's are 8, the lowest first; a state's are its own.
"""


class Digest:
    def __init__(self):
        self.value = 0xCBF29CE484222325

    def take_bytes(self, data):
        for byte in data:
            self.value = (self.value ^ byte) * 0x100000001B3 & M

    def take(self, *numbers):
        for number in numbers:
            self.take_bytes(number.to_bytes(8, "little"))

    def hex(self):
        return "%016x" % self.value


cases = []


def add(kind, config, fields):
    cases.append({"kind": kind, "config": config, **fields})


def portable(value):
    """The same with large numbers as strings."""
    if isinstance(value, dict):
        return {name: portable(part) for name, part in value.items()}
    if isinstance(value, list):
        return [portable(part) for part in value]
    if isinstance(value, int) and value >= 2**53:
        return str(value)
    return value


def print_all():
    print("{\n\"about\": [")
    lines = ABOUT.splitlines()
    print(",\n".join(json.dumps(line) for line in lines))
    print("],\n\"cases\": [")
    print(",\n".join(json.dumps(portable(case), separators=(",", ":"))
                     for case in cases))
    print("]\n}")


# Seed, epoch and stream: numbers at the ends of their range, and swapped.
KEYS = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (M, 0, 0), (0, M, 0),
        (0, 0, M), (M, M, M), (2**63, 1, 2), (2, 2**63, 1), (1, 2, 2**63),
        (2**32, 0, 0), (0, 2**32, 0), (0, 0, 2**32), (42, 7, 3),
        (0x0123456789ABCDEF, 0xFEDCBA9876543210, 0x5555555555555555)]


def add_perm(n, key, first, stride, count):
    seed, epoch, stream = key
    perm = Perm(n, epoch_key(*key))
    xs = [first + i * stride for i in range(count)]
    assert 0 <= first <= xs[-1] < n
    indices = [perm.at(x) for x in xs]
    positions = [perm.inverse(x) for x in xs]
    digest = Digest()
    for pair in zip(indices, positions):
        digest.take(*pair)
    shown = count if count <= 16 else 2
    config = "perm, narrow" if n <= 2**30 else "perm, wide"
    add("perm", config,
        {"n": n, "seed": seed, "epoch": epoch, "stream": stream,
         "first": first, "stride": stride, "count": count,
         "indices": indices[:shown], "positions": positions[:shown],
         "digest": digest.hex()})


def add_perms():
    sizes = set(range(1, 65))
    # Where the number of rounds or the width changes.
    for n in [2**12, 2**13, 2**24, 2**28, 2**30, 2**60, 2**62]:
        sizes |= {n - 1, n, n + 1}
    # Squares, of odd and even roots, and a(a - 1), where b changes. 1024 is
    # where rounds begin to differ in s.
    for a in [9, 10, 15, 16, 63, 64, 65, 100, 255, 256, 1000, 1023, 1024,
              1025, 2047, 2048, 4095, 4096, 4097, 16383, 16384, 26757, 32766,
              32767, 32768, 32769, 65537, 10**6, 2**30 - 1, 2**30, 2**31 - 1]:
        sizes |= {a * a - 1, a * a, a * a + 1}
        sizes |= {a * (a - 1), a * (a - 1) + 1}
    # Primes, and what people have.
    sizes |= {257, 4093, 65521, 65537, 1000003, 1281167, 16777213, 2**31 - 1,
              10**9 + 7, 2**61 - 1, 2**62 - 57, 10**5, 10**8, 10**9, 10**12,
              10**15, 2**32 - 1, 2**32, 2**32 + 1, 2**40, 2**53}
    sizes = sorted(n for n in sizes if n <= 2**62)
    for i, n in enumerate(sizes):
        key = KEYS[i % len(KEYS)]
        if n <= 512:
            add_perm(n, key, 0, 1, n)
        elif i % 2 == 0:
            # The last position is below n.
            add_perm(n, key, i, min(n // 301, (n - 1 - i) // 299), 300)
        else:
            add_perm(n, key, n - 300, 1, 300)
    for n in [1000003, 2**40]:
        for key in KEYS:
            add_perm(n, key, 1, 1, 4)
    # Positions about one that has to walk.
    for i, n in enumerate([10**6 + 1, 10**9, 2**30 + 1, 2**32 + 1, 10**12,
                           2**60 + 1, 2**62 - 57]):
        perm = Perm(n, epoch_key(*KEYS[i]))
        position = n
        while position >= n:
            position = perm.network_back(position)
        first = min(max(position - 70, 0), n - 150)
        add_perm(n, KEYS[i], first, 1, 150)


def add_sampler(calls, load=None, seek=None, **desc):
    """Adds a case and returns the sampler after it."""
    s = Sampler(**desc)
    fields = {name: desc[name] for name in DESC if desc.get(name, 0)}
    if load is not None:
        s.load(load)
        fields["load"] = load.hex()
    if seek is not None:
        s.step = seek
        fields["seek"] = seek
    fields["counts"] = s.counts()
    asked = s.at(s.step)[:1] + [max(s.n - 1, 0)]
    fields["locate"] = [[index] + s.locate(index) for index in asked]
    digest, served = Digest(), []
    for call in range(calls):
        digest.take_bytes(s.save())
        digest.take(s.step, s.padding(s.step))
        digest.take(*map(abs, s.locate(37 * call % (s.n + 1))))
        batch = s.next_samples()
        digest.take(len(batch), *batch)
        served.append(batch)
    digest.take_bytes(s.save())
    shown = 1
    while shown < calls and sum(len(b) + 1 for b in served[:shown + 1]) <= 16:
        shown += 1
    fields.update({"next": served[:shown], "calls": calls,
                   "digest": digest.hex()})
    if load is not None:
        fields["state"] = s.save().hex()
    add("sampler", " ".join([ORDERS[s.order], PARTITIONS[s.partition],
                             TAILS[s.tail]]), fields)
    return s


def add_fresh(base, i):
    """Small epochs from their first step over their end."""
    shapes = [(0, 2, 2, 1), (1, 1, 1, 0), (2, 3, 1, 2), (3, 5, 2, 4),
              (10, 2, 2, 0), (10, 3, 2, 1), (30, 3, 4, 2), (197, 7, 3, 4),
              (250, 19, 15, 18)]
    if base["order"] != SHUFFLE:
        shapes = shapes[i % 3::3]
    shapes = shapes + [(10007, 3, 33, 1)]
    windows = [(1, 1), (3, 2), (4, 100), (12, 4), (7, 1), (2**61, 1)]
    for k, (n, W, B, rank) in enumerate(shapes):
        seed, epoch, stream = KEYS[(i + k) % len(KEYS)]
        desc = dict(base, num_samples=n, seed=seed, epoch=epoch,
                    stream=stream, rank=rank, world_size=W, batch_size=B)
        if base["order"] == WINDOW:
            desc["chunk_size"], desc["window"] = windows[(i + k) % 6]
        if base["tail"] == CARRY:
            if n > 0:
                add_sampler(3 * n // (W * B) + 3, **desc)
            continue
        desc["drop_last"] = (i + k) % 2
        add_sampler(Sampler(**desc).num_steps() + 2, **desc)


def add_chain(base, i):
    """One epoch that worlds of many shapes take over from each other."""
    seed, epoch, stream = KEYS[(3 * i + 5) % len(KEYS)]
    desc = dict(base, num_samples=231, seed=seed, epoch=epoch, stream=stream)
    if base["order"] == WINDOW:
        desc["chunk_size"], desc["window"] = 5, 3
    state = None
    # calls, world size, batch size, rank
    links = [(0, 6, 1, 0), (2, 8, 2, 3), (2, 3, 4, 2), (1, 5, 3, 0),
             (3, 5, 3, 4), (4, 4, 9, 1)]
    if base["order"] != SHUFFLE:
        links = [(2, 8, 2, 3), (3, 5, 3, 4), (3, 4, 9, 1)]
    for calls, W, B, rank in links:
        desc.update(world_size=W, batch_size=B, rank=rank)
        state = add_sampler(calls, load=state, **desc).save()
    if base["tail"] == CARRY:
        return
    # The end: as it is, where it leaves steps out, and in another shape.
    last = Sampler(**desc)
    last.load(state)
    last.step = last.num_steps()
    state = last.save()
    add_sampler(2, load=state, **dict(desc, world_size=3, rank=2))
    if base["order"] == SHUFFLE:
        add_sampler(2, load=state, **desc)
        add_sampler(2, load=state, drop_last=1, **desc)


def add_large(base, i):
    """Numbers that do not fit 32 bits, about the middle and at the end."""
    sizes = [5 * 10**9, 2**40 + 3, 2**61 + 77, 2**62]
    for k in range(2 if base["order"] in (SHUFFLE, WINDOW) else 1):
        seed, epoch, stream = KEYS[(i + k) % len(KEYS)]
        desc = dict(base, num_samples=sizes[(i + k) % 4], seed=seed,
                    epoch=epoch, stream=stream, rank=0x2FFFFFFF,
                    world_size=0x30000001, batch_size=11)
        if base["order"] == WINDOW:
            desc["chunk_size"], desc["window"] = 2**33, 3
            if k == 1: # chunks and windows that do not fit 32 bits either
                desc["num_samples"] = 2**62
                desc["chunk_size"], desc["window"] = 3, 2
        s = Sampler(**desc)
        if base["tail"] == CARRY:
            steps = [10**8, 2**62 // s.G - 1]
        else:
            steps = [s.num_steps() // 2, s.num_steps() - 1]
        for step in steps:
            add_sampler(3, seek=step, **desc)


def add_carries():
    """Where epochs end between two steps, and where the base moves up."""
    desc = dict(tail=CARRY, num_samples=12, epoch=M)
    state = add_sampler(3, **dict(desc, batch_size=4)).save()
    add_sampler(1, load=state, **dict(desc, batch_size=4))
    add_sampler(1, load=state, **dict(desc, batch_size=3))
    far = dict(desc, num_samples=5, world_size=2**31, batch_size=2)
    for seek in [2**30 - 1, 2**30]:
        state = add_sampler(0, seek=seek, **far).save()
        state = add_sampler(1, load=state, **far).save()
        add_sampler(1, load=state, **far)


def add_samplers():
    add_sampler(4, num_samples=3)
    add_carries()
    i = 0
    for order in range(4):
        for partition in range(2):
            for tail in range(4):
                if partition == BLOCKED and tail == CARRY:
                    continue
                base = dict(order=order, partition=partition, tail=tail)
                add_fresh(base, i)
                add_chain(base, i)
                add_large(base, i)
                i += 1


def add_audits():
    for n in [0, 1, 2, 3, 5, 1000, 2**32 - 1, 2**32, 2**53 + 1, 2**62 - 1,
              2**62]:
        add("audit", "audit",
            {"num_samples": n, "sum1": n * (n - 1) // 2 & M,
             "sum2": (n - 1) * n * (2 * n - 1) // 6 & M,
             "sum3": (n * (n - 1) // 2)**2 & M})


def add_sequence(calls, weights, sizes=None, seek=None, **desc):
    if sizes is None:
        sizes = [3 + i % 5 for i in range(len(weights))]
    mixed = Mix(weights, sizes, **desc)
    fields = {"weights": weights, "sizes": sizes, **desc}
    if seek is not None:
        mixed.seek(seek)
        fields["seek"] = seek
    digest, turns = Digest(), []
    for _ in range(calls):
        source, batch = mixed.next()
        digest.take(source, len(batch), *batch)
        turns.append(source)
    state = mixed.save()
    digest.take_bytes(state)
    fields.update({"turns": turns[:40], "calls": calls,
                   "digest": digest.hex()})
    if len(weights) <= 3:
        fields["state"] = state.hex()
    add("sequence", "sequence", fields)


def add_sequences():
    add_sequence(100, [1])
    add_sequence(100, [7])
    add_sequence(100, [1] * 5)
    add_sequence(3, [3, 2, 1]) # before the third has had a turn
    add_sequence(1000, [3, 2, 1], seed=42, epoch=M)
    add_sequence(1000, [3, 2, 1], [40, 30, 20], seed=42, epoch=5,
                 world_size=3, rank=2, batch_size=4)
    # A weight of 0, sources that are off, and one without steps.
    add_sequence(1000, [0, 2, 0, OFF, 5])
    add_sequence(1000, [OFF, 4, 3, 7, 5], [4, 4, 0, 4, 4])
    add_sequence(4, [OFF, 3, OFF]) # which has not begun its next epoch
    # One has nearly all turns; the largest weights there are.
    for weights in [[1, 1000], [1000, 1], [50, 1, 50]]:
        add_sequence(2 * sum(weights), weights)
    add_sequence(500, [2**31 - 1], seek=2**62 - 500)
    for weights in [[2**31 - 2, 1], [1, 2**31 - 2],
                    [2**30 - 1, 2**30 - 1, 1],
                    [2**29 + 3, 2**28 - 1, 2**30 - 5, 1, 999]]:
        for seek in [None, 2**30 - 250, 2**62 - 500]:
            add_sequence(500, weights, seek=seek)
    # Trees of many shapes.
    for D in [2, 3, 4, 6, 7, 8, 9, 16, 17, 33, 100]:
        add_sequence(500, [1 + i for i in range(D)])
        add_sequence(500, [1 + mix(i) % 1000 for i in range(D)],
                     seek=10**12 + D, seed=D)


def sample_seed(seed, epoch, stream, index):
    key = derive(epoch_key(seed, epoch, stream), 2**63 + 2**61)
    return derive(key, index)


def add_seeds():
    for seed, epoch, stream in [(0, 0, 0), (42, 0, 0), (42, 1, 0), (42, 0, 1),
                                (2**64 - 1, 2**64 - 1, 2**64 - 1),
                                (1, 2**63, 2**32)]:
        indices = [0, 1, 2, 999, 2**32 - 1, 2**32, 2**62 - 1, 2**64 - 1]
        add("seed", "seed",
            {"seed": seed, "epoch": epoch, "stream": stream,
             "indices": indices,
             "seeds": [sample_seed(seed, epoch, stream, index)
                       for index in indices]})


def hash_bytes(hash, bytes):
    for byte in bytes:
        hash = derive(hash, byte)
    return hash


def add_hashes():
    for hash in [0, 1, 2**64 - 1]:
        for bytes in [[0], [255], [1, 0, 128], list(b"train/000.bin\0")]:
            add("hash", "hash", {"from": hash, "bytes": bytes,
                                 "hash": hash_bytes(hash, bytes)})


if __name__ == "__main__":
    add_perms()
    add_samplers()
    add_sequences()
    add_audits()
    add_seeds()
    add_hashes()
    print_all()
