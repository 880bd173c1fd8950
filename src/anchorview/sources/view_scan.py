"""What the first pass over the parts checks: patterns of available views, and constant views."""

from collections.abc import Callable
from typing import NamedTuple

from anchorview._utils.typing import Array
from anchorview.views.container import MultiViewData, dense_rows
from anchorview.views.parts import Result


class ViewScan(NamedTuple):
    """Patterns of available views, and the row that all samples of a constant view share."""

    patterns: frozenset[tuple[int, ...]]
    constant_rows: dict[int, Array | None]
    """By position of the view; None if the view is not constant."""
    tiny: frozenset[int]
    """Positions of views with values that are too small to be squared."""

    @classmethod
    def of(cls, part: MultiViewData) -> "ViewScan":
        """Scan a part."""
        patterns = frozenset(group.views for group in part.groups)
        constant_rows: dict[int, Array | None] = {}
        for p in {p for views in patterns for p in views}:
            if part.is_informative(p):
                constant_rows[p] = None
            else:
                first = 0 if part.available is None else int(part.available[:, p].argmax())
                constant_rows[p] = dense_rows(part.views[p], slice(first, first + 1))[0].copy()
        tiny = frozenset(p for p in constant_rows if part.is_tiny(p))
        return cls(patterns, constant_rows, tiny)

    def merged(self, other: "ViewScan") -> "ViewScan":
        """Scan of both parts."""
        constant_rows = self.constant_rows | other.constant_rows
        for p in self.constant_rows.keys() & other.constant_rows.keys():
            own, others = self.constant_rows[p], other.constant_rows[p]
            if own is None or others is None or (own != others).any():
                constant_rows[p] = None
        # A part without the view says nothing about it.
        not_tiny = (self.constant_rows.keys() - self.tiny) | (
            other.constant_rows.keys() - other.tiny
        )
        tiny = (self.tiny | other.tiny) - not_tiny
        return ViewScan(self.patterns | other.patterns, constant_rows, tiny)


Scanned = tuple[ViewScan, Result]
"""Scan and result of the same part or parts."""


def with_scan(function: Callable[[MultiViewData], Result], part: MultiViewData) -> Scanned[Result]:
    """Scan of a part, and ``function(part)``."""
    return ViewScan.of(part), function(part)


def merge_with_scan(
    merge: Callable[[Result, Result], Result], a: Scanned[Result], b: Scanned[Result]
) -> Scanned[Result]:
    """Merge results of :func:`with_scan`."""
    return a[0].merged(b[0]), merge(a[1], b[1])
