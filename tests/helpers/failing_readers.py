"""Readers that do what no reader may do, to test the harness that looks for it."""

import os
import time
import warnings
from functools import partial

from helpers.mutated_files import MEMORY, Reader


def _write(folder):
    (folder / "data.bin").write_bytes(bytes(100))
    return folder / "data.bin"


def _hang():
    time.sleep(600)


def _fail():
    raise KeyError


def _allocate():
    bytes(2 * MEMORY)


def _warn():
    warnings.warn("of another library", DeprecationWarning, stacklevel=1)


def _refuse():
    raise ValueError("damaged")


def _read(misbehave, path):
    if path.read_bytes() != bytes(100):
        misbehave()


EXPECTED = {
    "hang": (_hang, "hang"),
    "crash": (os.abort, "crash"),
    "fail": (_fail, "undocumented KeyError"),
    "allocate": (_allocate, "undocumented MemoryError"),
    "warn": (_warn, "DeprecationWarning of another library"),
    "refuse": (_refuse, "ValueError"),
}
"""What readers do with damaged files, and its outcomes, by name."""

FAILING_READERS = [
    Reader(name, _write, partial(_read, misbehave), (ValueError,))
    for name, (misbehave, _) in EXPECTED.items()
]
