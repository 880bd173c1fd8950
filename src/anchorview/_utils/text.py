"""Values as a person reads them in messages."""


def one_line(error: BaseException) -> str:
    """Text of an error without line breaks."""
    return " ".join(str(error).split())


def format_bytes(count: float) -> str:
    """Bytes as a person reads them."""
    for unit, size in (("GB", 1e9), ("MB", 1e6)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count / 1e3:.0f} kB"
