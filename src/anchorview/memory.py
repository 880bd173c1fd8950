"""Memory stated before work starts, not found missing in the middle of it."""

import psutil


def free_memory() -> float:
    """Bytes that can be used without swapping."""
    return float(psutil.virtual_memory().available)


def require_memory(needed: float, subject: str, advice: str) -> None:
    """Raise unless `needed` bytes are free; the error has both figures and the advice."""
    free = free_memory()
    if needed > free:
        raise MemoryError(
            f"{subject} needs {bytes_text(needed)} beyond the data, but {bytes_text(free)} are "
            f"free. {advice}"
        )


def bytes_text(count: float) -> str:
    """Bytes as a person reads them."""
    for unit, size in (("GB", 1e9), ("MB", 1e6)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count / 1e3:.0f} kB"
