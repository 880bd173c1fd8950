"""What the first pass over parts finds out: patterns of available views, and constant views."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from anchorview._utils.typing import Array
from anchorview.views.container import MultiViewData, dense_rows

Result = TypeVar("Result")


class ViewScan(NamedTuple):
    """Patterns of available views, and the row that all samples of a constant view share."""

    patterns: frozenset[tuple[int, ...]]
    constant_rows: dict[int, Array | None]
    """By position of the view; None if the view is not constant."""

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
        return cls(patterns, constant_rows)

    def merged(self, other: "ViewScan") -> "ViewScan":
        """Scan of both parts."""
        constant_rows = self.constant_rows | other.constant_rows
        for p in self.constant_rows.keys() & other.constant_rows.keys():
            own, others = self.constant_rows[p], other.constant_rows[p]
            if own is None or others is None or (own != others).any():
                constant_rows[p] = None
        return ViewScan(self.patterns | other.patterns, constant_rows)


class Scanned(NamedTuple, Generic[Result]):
    """Scan and result of the same part or parts."""

    scan: ViewScan
    result: Result


@dataclass(frozen=True)
class WithScan(Generic[Result]):
    """A function of a part that scans the part as well."""

    function: Callable[[MultiViewData], Result]

    def __call__(self, part: MultiViewData) -> Scanned[Result]:
        """Scan and result of a part."""
        return Scanned(ViewScan.of(part), self.function(part))


@dataclass(frozen=True)
class MergeWithScan(Generic[Result]):
    """The merge function that belongs to :class:`WithScan`."""

    merge: Callable[[Result, Result], Result]

    def __call__(self, a: Scanned[Result], b: Scanned[Result]) -> Scanned[Result]:
        """Scan and result of both parts."""
        return Scanned(a.scan.merged(b.scan), self.merge(a.result, b.result))
