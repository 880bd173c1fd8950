"""Memory of the machine and of this process, from psutil or, without it, from the system."""

import os
from importlib import import_module
from pathlib import Path
from typing import Any

PROC = Path("/proc")
ASSUMED_BYTES = 1e9
"""Free memory where the system does not state it, as in a browser, whose limit is 2 to 4 GB."""


def available_memory() -> float:
    """Bytes of the machine that are free or can be freed."""
    if psutil := _psutil():
        return float(psutil.virtual_memory().available)
    try:
        lines = (PROC / "meminfo").read_text().splitlines()
        entries = dict(line.split(":", 1) for line in lines if ":" in line)
        return 1024 * float(entries["MemAvailable"].split()[0])
    except (OSError, KeyError, ValueError, IndexError):
        return ASSUMED_BYTES


def address_space() -> float:
    """Bytes of address space that this process has reserved; 0 where they are not known."""
    if psutil := _psutil():
        return float(psutil.Process().memory_info().vms)
    try:
        pages = int((PROC / "self/statm").read_text().split()[0])
        return float(pages * os.sysconf("SC_PAGE_SIZE"))
    except (OSError, ValueError, IndexError):
        return 0.0


def _psutil() -> Any:
    try:
        return import_module("psutil")
    # There is none for browsers.
    except ImportError:
        return None
