"""What a sampler shares with its copies in worker processes."""

import ctypes
import mmap
import os

import torch


class SharedEpoch:
    """An epoch, and whether a worker has loops of its own. Both are in memory
    that forked workers share: unlike torch's it needs no file. torch's is added
    for spawned workers, which get it by pickling."""

    def __init__(self):
        self._pages = [memoryview(mmap.mmap(-1, 16)).cast("q")]
        self._process = os.getpid()

    def __getstate__(self):
        if len(self._pages) == 1:
            with torch.inference_mode(False):
                self._pages.append(
                    torch.tensor([self._pages[0][0], 0]).share_memory_())
        return {"_pages": self._pages[1:], "_process": self._process}

    def in_worker(self):
        """Whether this is a copy in a worker process."""
        return (torch.utils.data.get_worker_info() is not None and
                self._process != os.getpid())

    @property
    def epoch(self):
        return int(self._pages[0][0]) % 2**64

    def tell(self, epoch):
        if self.in_worker():    # This worker has loops of its own.
            for page in self._pages:
                page[1] = 1
            self.__init__()
        for page in self._pages:
            page[0] = ctypes.c_int64(epoch).value

    @property
    def others(self):
        """Whether a worker has loops of its own."""
        return any(page[1] for page in self._pages)

    def forget(self):
        """That it had some."""
        for page in self._pages:
            page[1] = 0
