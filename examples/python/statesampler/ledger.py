"""Work that ends out of order, each sample exactly once: the tickets of
examples/extras/ledger.h."""

import copy
import ctypes
import heapq
import math
import sys
import threading
import warnings

from ._arguments import (Fixed, flag, listed, other_fingerprint, shown, text_of,
                         whole)
from ._codes import ECORRUPT_MAGIC
from ._cursors import recall_mix, state_of
from ._library import (NONE, LedgerPlace, Tickets, address, c, check, memory,
                       sentence)
from .samplers import (Mix, Sampler, _Iterator, bytes_of, library_state,
                       words_of)

# Of who waits for a full window, before a warning, in seconds.
_PATIENCE = 60


def described(state):
    """The words of a state, and what it holds."""
    try:
        words, place = words_of(state), LedgerPlace()
    except ValueError:
        raise ValueError("this is not a ledger's state") from None
    code = c.ledger_describe(address(words), len(words), place)
    if code == ECORRUPT_MAGIC:
        raise ValueError("this is not a ledger's state")
    if code:
        raise ValueError("the state is damaged")
    return words, place


def _shuffled(length, seed=0, stream=0, epoch=0, shuffle=True, **unknown):
    if unknown:
        raise TypeError("Ledger: unexpected arguments: " + listed(unknown))
    return Sampler(whole("length", length, 0, 2**62 + 1), 0, 1, seed=seed,
                   stream=stream, epoch=epoch, shuffle=shuffle)


class Ledger(Fixed):
    """Issues tickets in order and takes them back in any order, each done
    exactly once through kills. In each of any number of threads:

        for ticket, index in ledger:
            try:
                result = roll_out(dataset[index])
            except OSError:     # Or whatever should not end the thread.
                ledger.give_back(ticket)
                continue
            with lock:
                ledger.done(ticket)
                learn(result)

    And in one of them, or in another, now and then:

        with lock:
            save({"model": model, "ledger": ledger.state_dict()})

    A result counts when done() takes its ticket back. Ledger and model are
    saved together; what was not saved is in neither, and is done again after a
    kill, by any number of threads.

    A ticket that is neither done nor given back, as after a `break`, keeps the
    frontier where it is, and when the window is full all loops wait for it. So
    a thread that may die gives its ticket back first. Work that a loop hands to
    a pool calls done() there, as the loop may wait before it ends. A coroutine
    takes tickets by issue(), which never waits, and awaits something where it
    returns None, until frontier is end: a loop that would have to wait there
    raises RuntimeError. So it does in a notebook, whose cells run in an event
    loop: run it in a thread. One that has waited for a minute warns, and names
    the oldest open ticket.

    Loops end when all tickets are issued; if one is given back after that,
    begin another loop.

    sampler_or_length: the length of a dataset; seed, stream, epoch and shuffle
        are as in Sampler, and `index` is a number. Or a Sampler or a Mix with
        world_size=1, as one process issues all tickets: a ticket is a step of
        it, from the beginning of its present epoch on, and `index` the list of
        that batch.
    window: how many tickets may be issued from the oldest one on that is not
        done: 64, 128, ... below 2^32. The loop waits while there is none.
    epochs: tickets go on through so many epochs; None: without end, as
        always with a sampler that has none.
    fingerprint: as in StatefulDistributedSampler; a state with another one is
        refused.
    """

    _fixed = ("sampler_or_length", "window", "epochs", "seed", "stream",
              "epoch", "shuffle")
    _last = "_changed"

    def _checked(self, name, value):
        return text_of(value) if name == "fingerprint" else value

    def __init__(self, sampler_or_length, window, *, epochs=1,
                 fingerprint=None, **options):
        if isinstance(sampler_or_length, _Iterator):
            if options:
                raise TypeError("Ledger: unexpected arguments, as the sampler "
                                "has its own: " + listed(options))
            ranks = sampler_or_length._shape.world_size
            if ranks != 1:
                raise ValueError("the sampler should have world_size=1, as one "
                                 f"process issues all tickets, but got {ranks}")
            self._order = sampler_or_length.plain()
            self._numbers = False
        elif not hasattr(sampler_or_length, "__index__"):
            raise ValueError("sampler_or_length should be a Sampler, a Mix or "
                             "an integer, but got a " +
                             type(sampler_or_length).__name__)
        else:
            self._order = _shuffled(sampler_or_length, **options)
            self._numbers = True
        self._window = whole("window", window, 64, 2**32)
        if self._window % 64:
            raise ValueError("window should be a multiple of 64, but got "
                             f"window={shown(window)}")
        self.fingerprint = fingerprint
        self._first = self._order.epoch
        self._drop_last = bool(self._order._shape.drop_last)
        # A mix gets to the beginning of an epoch from another one.
        self._begin((self._first + 1) % 2**64)
        self._begin(self._first)
        self._steps, self._sampler = self._order.num_steps, self._order.save()
        self._end = 0 if self._steps == 0 else math.inf
        if self._steps is None:
            if epochs not in (None, 1):
                raise ValueError("epochs is not for a sampler without end, "
                                 f"but got epochs={shown(epochs)}")
        elif epochs is not None:
            self._end = self._steps * whole("epochs", epochs, 0, 2**63)
        self._bits, self._tickets = memory(self._window // 8), Tickets()
        check(c.ledger_init(self._tickets, self._bits, self._window,
                            min(self._end, NONE)))
        self._issued = ctypes.c_uint64()    # Where ledger_issue writes.
        self._returned = []     # A heap; some twice, some done by now.
        self._changed = threading.Condition()

    @property
    def frontier(self):
        """All tickets before it are done."""
        with self._changed:
            return self._tickets.frontier

    @property
    def end(self):
        """The number of tickets; math.inf if there is no end."""
        return self._end

    def __iter__(self):
        return self

    def __next__(self):
        """Waits while the window is full."""
        with self._changed:
            while True:
                issued = self.issue()
                if issued is not None:
                    return issued
                if self._tickets.next >= self._end:
                    raise StopIteration
                self._wait()

    def _wait(self):
        """The window is full. Says so if that may be for ever."""
        asyncio = sys.modules.get("asyncio")
        if asyncio and asyncio._get_running_loop():
            raise RuntimeError(
                "the window is full, and to wait here would stop the event "
                "loop: run this in a thread (in a notebook, too), or call "
                "issue() and await something if it returns None")
        if not self._changed.wait(_PATIENCE):
            warnings.warn(
                "Ledger: the window is full, and nothing was done for "
                f"{_PATIENCE} s. The oldest open ticket is "
                f"{self._tickets.frontier}: "
                "if its thread died, give_back it.", stacklevel=3)

    def issue(self):
        """The next ticket and its index, first one that was given back, after
        a load those that were not done; None if there is none now."""
        with self._changed:
            while self._returned:
                ticket = heapq.heappop(self._returned)
                twice = ticket in self._returned[:1]
                done = c.ledger_status(self._tickets, ticket) != 0
                if not twice and not done:
                    return ticket, self._index(ticket)
            if c.ledger_issue(self._tickets, self._issued) == 0:
                return None
            ticket = self._issued.value
            return ticket, self._index(ticket)

    def _index(self, ticket):
        epoch, step = divmod(ticket, self._steps or 2**64)
        epoch = (self._first + epoch) % 2**64
        if self._order.epoch != epoch and self._steps is not None:
            self._begin(epoch)
        self._order.seek(step)
        batch = next(self._order).tolist()
        return batch[0] if self._numbers else batch

    def _begin(self, epoch):
        """Goes to the beginning of another epoch. The datasets of a mix may
        begin others of their own there."""
        order = self._order
        if isinstance(order, Mix) and order.num_steps is not None:
            self._order = recall_mix(order.save(), epoch, self._drop_last)
        else:
            order.begin(epoch)

    def done(self, ticket):
        """Takes a ticket back. One that is done already, or was not issued
        since the load, raises ValueError and changes nothing: drop its
        result."""
        with self._changed:
            self._ask(c.ledger_done, ticket)
            self._changed.notify_all()

    def give_back(self, ticket):
        """The ticket is issued again, before all others; a late result may
        still come first. Refuses what done() refuses."""
        with self._changed:
            heapq.heappush(self._returned,
                           self._ask(c.ledger_status, ticket))
            self._changed.notify_all()

    def _ask(self, function, ticket):
        """The ticket, if a function takes one that is open."""
        ticket = whole("ticket", ticket, 0, 2**64)
        code = function(self._tickets, ticket)
        if code:
            raise ValueError(sentence(code).replace(
                "this ticket", f"ticket {shown(ticket)}"))
        return ticket

    def state_dict(self):
        """Text, in 24 bytes and a bit for each ticket of the window; and the
        sampler with its drop_last, so that another one's state is refused.
        """
        words = words_of(bytes(24 + self._window // 8))
        with self._changed:
            check(c.ledger_save(self._tickets, address(words), len(words)))
            found = {"state": bytes_of(words).hex(),
                     "sampler": self._sampler.hex(),
                     "drop_last": self._drop_last}
        if self.fingerprint is not None:
            found["fingerprint"] = self.fingerprint
        return found

    def load_state_dict(self, state_dict):
        """Continues where a state was saved, in this ledger's window. A state
        that is damaged, or of another sampler, or has tickets done that are
        beyond the window or the end, raises ValueError and changes nothing."""
        state = state_of(state_dict, "Ledger")
        try:
            sampler = library_state(state_dict["sampler"])
            # Old states have none.
            drop_last = flag("drop_last", state_dict.get("drop_last",
                                                         self._drop_last))
        except (LookupError, ValueError):
            raise ValueError("this is not a state_dict of Ledger, but "
                             f"{shown(state_dict)}") from None
        words, place = described(state)
        self._compare(sampler, drop_last)
        for said in other_fingerprint(state_dict.get("fingerprint"),
                                      self.fingerprint):
            raise ValueError(said)
        last = place.frontier + place.ahead - 1
        if last >= self._tickets.end:
            raise ValueError(f"the state has ticket {last} done, but there "
                             f"are only {self._tickets.end}")
        if place.ahead > self._window:
            raise ValueError(
                f"the state has tickets done beyond a window of {self._window}"
                f": it should be at least {(place.ahead + 63) // 64 * 64}")
        with self._changed:
            check(c.ledger_load(self._tickets, address(words), len(words)))
            self._returned = []
            self._changed.notify_all()

    def _compare(self, sampler, drop_last):
        if sampler != self._sampler:
            copy.copy(self._order).load(sampler)    # Says what differs.
            raise ValueError("the state is of a sampler with another first "
                             "epoch, batch_size or number of ranks")
        if drop_last != self._drop_last:    # A sampler's state has none.
            raise ValueError(f"the state has drop_last={drop_last}, but here "
                             f"it is {self._drop_last}")
