"""Memory budgets, and errors that state the memory needed before work starts."""

import re

import psutil

from anchorview._utils.text import format_bytes

SHARE_OF_FREE = 0.5
"""Share of the free memory that may be used if no limit is given."""

UNITS = {"": 1, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
UNITS |= {"KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}


def free_memory() -> float:
    """Bytes that can be used without swapping."""
    return float(psutil.virtual_memory().available)


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


def require_memory(needed: float, subject: str, advice: str, limit: float | None = None) -> None:
    """Raise unless `needed` bytes may be used; the error has both figures and the advice.

    `limit` is the memory that may be used, by default all free memory.
    """
    allowed = free_memory() if limit is None else limit
    if needed > allowed:
        raise MemoryError(
            f"{subject} needs {format_bytes(needed)} beyond the data, but {format_bytes(allowed)} "
            f"{'are free' if limit is None else 'may be used'}. {advice}"
        )
