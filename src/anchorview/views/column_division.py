"""One wide table as several views: by name of a view, the columns that it has."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from anchorview._utils.text import listed

REST = "..."
"""Stands for all columns of a table that no view names."""

ColumnDivision: TypeAlias = Mapping[str, str | tuple[str, ...]]
"""By name of a view, the columns of a table that it has."""


def columns_by_view(names: Sequence[Any], division: ColumnDivision) -> dict[str, list[int]]:
    """Positions of the columns of each view; raises if a view names a column that is not there.

    "..." stands for all columns that no view names.
    """
    position = {str(name): j for j, name in enumerate(names)}
    columns: dict[str, list[int]] = {}
    for view, given in division.items():
        named = [given] if isinstance(given, str) else list(map(str, given))
        unknown = [name for name in named if name not in (*position, REST)]
        if unknown:
            raise ValueError(
                f"views: {view!r} has the column {unknown[0]!r}, which is not in the table. Its "
                f"columns are {listed(list(names), most=30)}."
            )
        columns[view] = [position[name] for name in named if name != REST]
    used = {j for of_view in columns.values() for j in of_view}
    for view, given in division.items():
        if given == REST or REST in given:
            columns[view] += [j for j in range(len(names)) if j not in used]
        if not columns[view]:
            raise ValueError(f"views: {view!r} has no columns. Leave it out.")
    return columns


def plain_selection(views: Any) -> dict[str, str | tuple[str, ...]]:
    """The argument `views` as a dict of texts and tuples of texts, which can be stored."""
    if not isinstance(views, Mapping) or not views or not all(isinstance(x, str) for x in views):
        raise TypeError(f"views must be a dict of at least one view by name; got {views!r}.")
    return {name: _plain(given) for name, given in views.items()}


def _plain(given: Any) -> str | tuple[str, ...]:
    if given is Ellipsis:
        return REST
    if isinstance(given, str) or not isinstance(given, Iterable):
        return str(given)
    return tuple(REST if column is Ellipsis else str(column) for column in given)
