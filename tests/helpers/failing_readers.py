"""Readers that do what no reader may do, to test the harness that looks for it."""

import os
import time
import warnings

from helpers.mutated_files import MEMORY, Reader


def _write(folder):
    (folder / "data.bin").write_bytes(bytes(100))
    return folder / "data.bin"


def _undamaged(path):
    return path.read_bytes() == bytes(100)


def _hang(path):
    time.sleep(0 if _undamaged(path) else 600)


def _crash(path):
    if not _undamaged(path):
        os.abort()


def _fail(path):
    if not _undamaged(path):
        raise KeyError(path)


def _allocate(path):
    if not _undamaged(path):
        bytes(2 * MEMORY)


def _warn(path):
    if not _undamaged(path):
        warnings.warn("of another library", DeprecationWarning, stacklevel=1)


def _refuse(path):
    if not _undamaged(path):
        raise ValueError("damaged")


EXPECTED = {
    "hang": (_hang, "hang"),
    "crash": (_crash, "crash"),
    "fail": (_fail, "undocumented KeyError"),
    "allocate": (_allocate, "undocumented MemoryError"),
    "warn": (_warn, "DeprecationWarning of another library"),
    "refuse": (_refuse, "ValueError"),
}
"""Functions and outcomes by name."""

FAILING_READERS = [
    Reader(name, _write, read, (ValueError,)) for name, (read, _) in EXPECTED.items()
]
