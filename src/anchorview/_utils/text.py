"""Values as a person reads them in messages and charts."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

MAX_NAME_LENGTH = 28
"""Maximum length of names on axes."""


def quoted(value: Any) -> str:
    """``repr`` of an id or a name, of NumPy's scalars that of the plain number or string."""
    return repr(value.item() if isinstance(value, np.generic) else value)


def one_line(error: BaseException) -> str:
    """Text of an error without line breaks."""
    return " ".join(str(error).split())


def listed(items: Sequence[object], most: int = 5) -> str:
    """Return the first items in quotes, and how many more there are."""
    shown = ", ".join(repr(str(item)) for item in items[:most])
    return f"{shown} and {len(items) - most} more" if len(items) > most else shown


def in_words(names: Sequence[object], most: int = 5) -> str:
    """Names in a sentence; the last of too many are only counted.

    Examples
    --------
    >>> in_words(["a", "b", "c"]), in_words(range(6), 3)
    ('a, b and c', '0, 1 and 4 more')
    """
    texts = [str(name) for name in names]
    if len(texts) > most:
        texts = [*texts[: most - 1], f"{len(texts) - most + 1} more"]
    return " and ".join([", ".join(texts[:-1])] * (len(texts) > 1) + texts[-1:])


def describe_view(p: int, name: str) -> str:
    """Return how messages name a view: by position and, if it has one, name.

    Examples
    --------
    >>> describe_view(0, "view_0"), describe_view(1, "text")
    ('view 0', "view 1 ('text')")
    """
    return f"view {p}" if name == f"view_{p}" else f"view {p} ('{name}')"


def capitalized(sentence: str) -> str:
    """Sentence that begins with a capital letter."""
    return f"{sentence[:1].upper()}{sentence[1:]}"


def full_sentences(sentences: Iterable[str]) -> list[str]:
    """Sentences that begin with a capital letter and end with a full stop."""
    return [f"{capitalized(sentence)}." for sentence in sentences]


def percent(share: float) -> str:
    """Share as a person reads it: in percent, small ones with a decimal."""
    return f"{100 * share:.1f} %" if 0 < share < 0.0995 else f"{100 * share:.0f} %"


def number_text(value: float) -> str:
    """Number with the digits that people read.

    Examples
    --------
    >>> [number_text(value) for value in (110.4, 1987.3, 0.01234, 23456.7)]
    ['110', '1987', '0.0123', '23,457']
    """
    if abs(value) < 1000:
        return f"{value:.3g}"
    return f"{value:.0f}" if abs(value) < 10_000 else f"{value:,.0f}"


def shorten(name: object, max_length: int = MAX_NAME_LENGTH) -> str:
    """Return a name on one line, with an ellipsis in the middle if it is too long.

    Characters that cannot be printed are left out.

    Examples
    --------
    >>> shorten("one two three", 7)
    'one…ree'
    """
    text = "".join(filter(str.isprintable, " ".join(str(name).split())))
    if len(text) > max_length:
        half = (max_length - 1) // 2
        text = f"{text[:half]}…{text[-half:]}"
    return text


def format_bytes(count: float, digits: int = 1) -> str:
    """Bytes as a person reads them."""
    for unit, size in (("GB", 1e9), ("MB", 1e6)):
        if count >= size:
            return f"{count / size:.{digits}f} {unit}"
    return f"{count / 1e3:.{digits - 1}f} kB"


def may_be_formula(text: str) -> bool:
    """Whether spreadsheets run text as a formula; numbers with a sign are not.

    Examples
    --------
    >>> [may_be_formula(text) for text in ("=A1", "@SUM(1)", "-1.5", "-", "a=b")]
    [True, True, False, False, False]
    """
    if len(text) < 2 or text[0] not in "=+-@\t\r":
        return False
    try:
        float(text)
    except ValueError:
        return True
    return False
