"""Reusable memory: freshly allocated arrays cost a page fault every few kilobytes."""

import threading
from math import prod
from typing import Any

import numpy as np

from anchorview._utils.typing import Array

_held = threading.local()


def scratch(use: str, shape: tuple[int, ...], dtype: "np.dtype[Any]") -> Array:
    """Return an uninitialized array for temporary use.

    It belongs to the calling thread, and the next call for the same `use` returns the same memory.
    """
    size = prod(shape) * dtype.itemsize
    buffer = getattr(_held, use, None)
    if buffer is None or buffer.nbytes < size:
        buffer = np.empty(size, np.uint8)
        setattr(_held, use, buffer)
    return buffer[:size].view(dtype).reshape(shape)
