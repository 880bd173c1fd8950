"""Parameters of estimators that have one value for all views, or one by view."""

from collections.abc import Mapping, Sequence
from typing import TypeVar

Option = TypeVar("Option")


def option_by_view(
    parameter: str,
    given: Option | Mapping[str, Option | None],
    options: Sequence[Option],
    names: Sequence[str],
) -> list[Option | None]:
    """Values of a parameter in the order of the views; raises if it has other views or values."""
    if not isinstance(given, Mapping):
        return [given] * len(names)
    unknown = [name for name in given if name not in names]
    if unknown:
        raise ValueError(
            f"{parameter} names the view {unknown[0]!r}, but the views are {list(names)}."
        )
    for name, value in given.items():
        if value is not None and value not in options:
            allowed = ", ".join(map(repr, options))
            raise ValueError(f"{parameter}[{name!r}] is {value!r}, but must be {allowed} or None.")
    return [given.get(name) for name in names]
