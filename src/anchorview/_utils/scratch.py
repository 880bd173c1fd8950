"""Memory of temporary arrays: freshly allocated ones cost a page fault every few kilobytes."""

import threading
from math import prod
from typing import Any

import numpy as np

from anchorview._utils.typing import Array


class ThreadBuffer(threading.local):
    """Memory for one temporary array at a time in every thread."""

    def __init__(self) -> None:
        self._memory = np.empty(0, np.uint8)

    def array(self, shape: tuple[int, ...], dtype: "np.dtype[Any]") -> Array:
        """Return an uninitialized array; the next call in the same thread returns its memory."""
        size = prod(shape) * dtype.itemsize
        if self._memory.nbytes < size:
            self._memory = np.empty(size, np.uint8)
        return self._memory[:size].view(dtype).reshape(shape)
