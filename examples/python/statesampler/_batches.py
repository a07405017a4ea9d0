"""What a history says of a StatefulDistributedSampler, a step of which is one
sample per rank, in the batches of a DataLoader."""

from ._record import Record


class LoaderRecord(Record):
    """As Record, with batches as steps. In each stretch they are cut from its
    beginning on, and they count as start_iter does."""

    def __init__(self, history, epoch, step, size, drop_last, state):
        super().__init__(history, epoch, step, state)
        self._size, self._drop_last, self._stretch = size, drop_last, None

    def stretches(self):
        for self._stretch in super().stretches():
            self._check()
            yield self._stretch

    def stretches_of(self, epoch, first, last):
        for _ in self.stretches():
            units = self._units(epoch)
            if units:
                short = -units.start % self._size
                yield range(max(first, self._number(units.start)),
                            min(last + 1, self._number(units.stop + short)))

    def _check(self):
        """That it ends with a batch."""
        stretch, size = self._stretch, self._size
        units = self._units(stretch.end_epoch)
        if len(units) % size and self._exists(stretch.end_epoch, units.stop):
            raise ValueError(
                f"{len(units)} samples per rank were served, which batches of "
                f"--batch-size {size} do not give")

    def _units(self, epoch):
        """Those that the present stretch has in an epoch; of one that it goes
        through to the end, also what comes after that."""
        stretch, first, last = self._stretch, 0, 2**62
        if not stretch.carry and not (stretch.begin_epoch <= epoch <=
                                      stretch.end_epoch):
            return range(0)
        if stretch.carry or epoch == stretch.begin_epoch:
            first = stretch.begin_step
        if stretch.carry or epoch == stretch.end_epoch:
            last = stretch.end_step
        return range(first, last)

    def _number(self, unit):
        """The batch that begins at a unit, or ends there if it is short."""
        return -(-unit // self._size)

    def _unit(self, epoch, step):
        """The first unit of a batch, as the present stretch cuts them."""
        return (step * self._size -
                -self._units(epoch).start % self._size)

    def batch(self, epoch, step, rank):
        first, found, began = self._unit(epoch, step), [], epoch
        for unit in range(first, first + self._size):
            one = super().batch(epoch, unit, rank)
            if one is None:
                break
            began = began if found else one[0]
            found += one[2]
        if not found or self._drop_last and len(found) < self._size:
            return None
        return began, 0, found

    def places(self, epoch, index, own=None):
        for place, source in super().places(epoch, index, own):
            short = -self._units(epoch).start % self._size
            step = (place.step + short) // self._size
            place.slot += place.step + short - step * self._size
            place.step = step
            if self.batch(epoch, step, place.rank):
                yield place, source

    def first(self):
        epoch, unit = super().first()
        return epoch, self._number(unit)
