"""Imputation of single missing values, before stage 1: column means or medians of each view.

A row that is NaN as a whole is a sample without the view, which needs no imputation.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from scipy import sparse

from anchorview._utils.typing import Array, Matrix
from anchorview.core.view_options import option_by_view
from anchorview.views.container import MultiViewData, container_with_views
from anchorview.views.fitted_views import FittedViews
from anchorview.views.parts import Parts

Statistic = Literal["mean", "median"]
STATISTICS: tuple[Statistic, ...] = ("mean", "median")

Impute = Statistic | Mapping[str, Statistic | None] | None
"""The statistic for all views, or by view; None if values must not be missing."""


@dataclass(frozen=True, eq=False)
class Imputation:
    """Fills NaN in the views of samples, which are matched to those of a fit first."""

    values: tuple[Array | None, ...] | None
    """A value for each feature of a view; None if its values must not be missing."""
    fitted: FittedViews | None = None
    """None if the samples are those of the fit."""

    def __call__(self, data: MultiViewData) -> MultiViewData:
        """Samples without missing values; raises if there are some in a view without imputation."""
        data = data if self.fitted is None else data.matched_to(self.fitted)
        if self.values is None:
            return data
        views = tuple(
            view if values is None else _filled(view, values)
            for view, values in zip(data.views, self.values, strict=True)
        )
        return container_with_views(data, views)


class _ColumnSums(NamedTuple):
    totals: list[Array]
    counts: list[Array]

    def merged(self, other: "_ColumnSums") -> "_ColumnSums":
        return _ColumnSums(
            [a + b for a, b in zip(self.totals, other.totals, strict=True)],
            [a + b for a, b in zip(self.counts, other.counts, strict=True)],
        )


def fit_imputation(parts: Parts, impute: Impute) -> tuple[Array | None, ...] | None:
    """Column means or medians of the views for which they are requested, in one pass.

    None if none are requested.
    """
    if impute is None:
        return None
    statistics = option_by_view("impute", impute, STATISTICS, parts.names)
    if "median" not in statistics:
        sums = parts.reduce(_column_sums, _ColumnSums.merged, "imputing")
        values = [
            np.divide(total, count, out=np.full(len(total), np.nan), where=count > 0)
            for total, count in zip(sums.totals, sums.counts, strict=True)
        ]
    else:
        data = parts.reduce(_same, _refuse_parts, "imputing")
        values = [
            np.empty(0) if statistic is None else _column_statistic(data, p, statistic)
            for p, statistic in enumerate(statistics)
        ]
    found = []
    for p, (own, statistic) in enumerate(zip(values, statistics, strict=True)):
        if statistic is not None and np.isnan(own).any():
            column = int(np.flatnonzero(np.isnan(own))[0])
            names = parts.feature_names[p]
            name = "" if names is None else f" ({names[column]!r})"
            raise ValueError(
                f"{parts.describe_view(p)}: column {column}{name} is NaN in all samples, so it has "
                f"no {statistic}. Drop it."
            )
        found.append(None if statistic is None else own)
    return tuple(found)


def _column_sums(part: MultiViewData) -> _ColumnSums:
    sums = _ColumnSums([], [])
    for p in range(len(part.views)):
        rows = available_rows(part, p)
        missing = np.isnan(rows.data if sparse.issparse(rows) else rows)
        if sparse.issparse(rows):
            lacking = rows.copy()
            lacking.data = missing.astype(np.float64)
            known = rows.astype(np.float64)
            known.data[missing] = 0
            total, absent = known.sum(axis=0), lacking.sum(axis=0)
        else:
            total = np.nansum(rows, axis=0, dtype=np.float64)
            absent = missing.sum(axis=0)
        sums.totals.append(np.asarray(total).ravel())
        sums.counts.append(rows.shape[0] - np.asarray(absent, dtype=np.float64).ravel())
    return sums


def _column_statistic(data: MultiViewData, p: int, statistic: Statistic) -> Array:
    rows = available_rows(data, p)
    if statistic == "mean":
        sums = _column_sums(data)
        with np.errstate(invalid="ignore"):
            return np.asarray(sums.totals[p] / sums.counts[p])
    if sparse.issparse(rows):
        raise ValueError(
            f"{data.describe_view(p)} is sparse, so that its medians are mostly 0: use "
            "impute='mean'."
        )
    empty = np.isnan(rows).all(axis=0)
    return np.where(empty, np.nan, np.nanmedian(np.where(empty, 0, rows), axis=0))


def available_rows(data: MultiViewData, p: int) -> Matrix:
    """Rows of the samples that have a view."""
    rows = data.views[p]
    return rows if data.available is None else rows[np.flatnonzero(data.available[:, p])]


def _filled(view: Matrix, values: Array) -> Matrix:
    entries = view.data if sparse.issparse(view) else view
    if entries.dtype.kind != "f" or not (missing := np.isnan(entries)).any():
        return view
    filled = view.copy()
    if sparse.issparse(filled):
        filled.data[missing] = values[filled.indices[missing]]
    else:
        rows, columns = np.nonzero(missing)
        filled[rows, columns] = values[columns]
    return filled


def _same(part: MultiViewData) -> MultiViewData:
    return part


def _refuse_parts(first: MultiViewData, second: MultiViewData) -> MultiViewData:
    raise ValueError(
        "impute='median' needs all samples in memory: use impute='mean' for views on disk or in "
        "Dask."
    )
