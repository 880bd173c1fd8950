"""Memory budgets, and errors that state the memory needed before work starts."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from anchorview._utils.text import format_bytes

if sys.platform == "emscripten":
    psutil = None
else:
    import psutil

SHARE_OF_FREE = 0.5
"""Share of the free memory that may be used if no limit is given."""

UNITS = {"": 1, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
UNITS |= {"KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}

ROOT = Path("/")
"""Where ``proc`` and ``sys`` are."""

ASSUMED_BYTES = 1e9
"""Free memory in a browser, which does not state it and allows 2 to 4 GB."""

CONTROL_GROUP_FILES = {
    1: ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    2: ("memory.max", "memory.current", "inactive_file"),
}
"""By version of control groups, the files with the limit and the usage, and the key in
``memory.stat`` of file caches, which are part of the usage but can be dropped."""


def available_memory() -> float:
    """Bytes of the machine that are free or can be freed."""
    return float(psutil.virtual_memory().available) if psutil else ASSUMED_BYTES


def free_memory() -> float:
    """Bytes that this process can use without swapping.

    The limits of containers and batch systems (control groups) and of ``ulimit -v`` count.
    """
    free = [available_memory(), *_free_in_control_groups()]
    # Other systems have no such limit, or do not keep it.
    if sys.platform == "linux":
        process = psutil.Process()
        limit = process.rlimit(psutil.RLIMIT_AS)[0]
        if limit != psutil.RLIM_INFINITY:
            free.append(limit - float(process.memory_info().vms))
    return max(0.0, min(free))


def _free_in_control_groups() -> Iterator[float]:
    """Bytes left in each control group with a limit that this process is in."""
    try:
        lines = (ROOT / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        # The groups of version 2 are of all controllers, and name none.
        if controllers and "memory" not in controllers.split(","):
            continue
        version = 1 if controllers else 2
        base = ROOT / "sys/fs/cgroup" / ("memory" if version == 1 else "")
        # Limits of all groups above hold as well. In a container, the path may be that on the
        # host, and only the last group is mounted, at the base.
        folder = base / path.lstrip("/")
        for group in (folder, *folder.parents):
            if (left := _left_in_group(group, version)) is not None:
                yield left
            if group == base:
                break


def _left_in_group(group: Path, version: int) -> float | None:
    *files, reclaimable = CONTROL_GROUP_FILES[version]
    try:
        limit, usage = (int((group / name).read_text()) for name in files)
        stat = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
    # There are no such files, or no limit ("max").
    except (OSError, ValueError):
        return None
    return float(limit - usage + int(stat.get(reclaimable, 0)))


def memory_budget(limit: float | str | None) -> float:
    """Bytes that may be used: a limit such as ``"1.5GB"``, or a share of the free memory.

    Examples
    --------
    >>> memory_budget("1.5 GB"), memory_budget("64MiB")
    (1500000000.0, 67108864.0)
    """
    if limit is None:
        return SHARE_OF_FREE * free_memory()
    text = str(limit).strip().upper().removesuffix("B").strip()
    number = re.fullmatch(r"(\d+(?:\.\d*)?(?:E\+?\d+)?)\s*([KMGT]I?)?", text)
    if number is None or float(number[1]) == 0:
        raise ValueError(
            f"memory_limit={limit!r} is not a number of bytes; give one such as '1.5GB', '800MB' "
            "or 2e9."
        )
    return float(number[1]) * UNITS[number[2] or ""]


def require_memory(
    needed: float, subject: str, advice: str = "", limit: float | None = None
) -> None:
    """Raise unless `needed` bytes are within the limit, by default that of all free memory."""
    allowed = free_memory() if limit is None else limit
    if needed > allowed:
        # As many digits as the figures differ in.
        digits = next((d for d in range(1, 8) if round(allowed / needed, d) < 1), 8)
        memory, limited = format_bytes(needed, digits), format_bytes(allowed, digits)
        raise MemoryError(
            f"{subject} needs {memory} beyond the data, but {limited} may be used. {advice}".strip()
        )
