"""Preprocessing of counts before stage 1: steps that omics need, fitted to each view.

=============  ====================================================================================
``"lognorm"``  ``log(1 + x m / t)``, with the total count ``t`` of the sample and the median ``m``
               of the totals
``"clr"``      ``log(1 + x / g)``, with the geometric mean ``g`` of ``1 + x`` over the features of
               the sample: the centered log-ratio per sample, as for proteins (CITE-seq)
``"tfidf"``    ``log(1 + 10^4 x / t) log(1 + n / s)``, with the sum ``s`` of the feature over the n
               samples, as for peaks (ATAC)
=============  ====================================================================================

Zeros stay zeros, so that sparse views stay sparse.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
from scipy import sparse

from anchorview._utils.text import quoted
from anchorview._utils.typing import Array, Matrix
from anchorview.views.container import MultiViewData, container_with_views
from anchorview.views.fitted_views import FittedViews
from anchorview.views.row_source import RowSource, working_precision

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


Statistic = Literal["mean", "median"]
STATISTICS: tuple[Statistic, ...] = ("mean", "median")

Impute = Statistic | Mapping[str, Statistic | None] | None
"""The statistic for all views, or by view; None if values must not be missing."""


class _ColumnSums(NamedTuple):
    totals: list[Array]
    counts: list[Array]

    def merged(self, other: "_ColumnSums") -> "_ColumnSums":
        return _ColumnSums(
            [a + b for a, b in zip(self.totals, other.totals, strict=True)],
            [a + b for a, b in zip(self.counts, other.counts, strict=True)],
        )


def fit_imputation(parts: RowSource, impute: Impute) -> tuple[Array | None, ...] | None:
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
    imputation = []
    for p, (column_values, statistic) in enumerate(zip(values, statistics, strict=True)):
        if statistic is not None and np.isnan(column_values).any():
            column = int(np.flatnonzero(np.isnan(column_values))[0])
            names = parts.feature_names[p]
            name = "" if names is None else f" ({names[column]!r})"
            raise ValueError(
                f"{parts.describe_view(p)}: column {column}{name} is NaN in all samples, so it has "
                f"no {statistic}. Drop it."
            )
        imputation.append(None if statistic is None else column_values)
    return tuple(imputation)


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


Step = Literal["lognorm", "clr", "tfidf"]
STEPS: tuple[Step, ...] = ("lognorm", "clr", "tfidf")

Preprocess = Step | Mapping[str, Step | None] | None
"""The step for all views, or by view; None for views that are used as they are."""

TFIDF_SCALE = 1e4
"""Factor of term frequencies before their logarithm, as in Signac and muon."""


@dataclass(frozen=True, eq=False)
class FittedStep:
    """The preprocessing of one view."""

    step: Step
    total: float | None = None
    """Median of the totals of the samples, for ``"lognorm"``."""
    idf: Array | None = None
    """Weight of each feature, for ``"tfidf"``."""

    def __call__(self, view: Matrix) -> Matrix:
        """Preprocessed rows, in the precision in which they will be multiplied."""
        is_sparse = sparse.issparse(view)
        values = view.astype(working_precision([view.dtype]), copy=True)
        entries = values.data if is_sparse else values
        if self.step == "clr":
            # The logarithm of 1 + 0 is 0, so that entries that are not stored add nothing.
            with np.errstate(invalid="ignore", divide="ignore"):
                logs = values.log1p() if is_sparse else np.log1p(values)
            factors = np.exp(-_sums(logs, axis=1) / view.shape[1])
        else:
            totals = _sums(values, axis=1)
            wanted = TFIDF_SCALE if self.total is None else self.total
            factors = np.divide(wanted, totals, out=np.zeros_like(totals), where=totals > 0)
        factors = factors.astype(entries.dtype)
        entries *= np.repeat(factors, np.diff(values.indptr)) if is_sparse else factors[:, None]
        # Rows of samples without the view may have any values.
        with np.errstate(invalid="ignore", divide="ignore"):
            np.log1p(entries, out=entries)
        if self.idf is not None:
            idf = self.idf.astype(entries.dtype)
            entries *= idf[values.indices] if is_sparse else idf
        return values


@dataclass(frozen=True, eq=False)
class Preparation:
    """What is done with samples before they are scaled: matching, imputation, preprocessing."""

    imputation: tuple[Array | None, ...] | None
    """A value for each feature of a view; None if its values must not be missing."""
    steps: tuple[FittedStep | None, ...] | None
    fitted: FittedViews | None = None
    """None if the samples are those of the fit."""

    def __call__(self, data: MultiViewData) -> MultiViewData:
        """Prepared samples; raises if a value is missing, or a count is negative."""
        data = data if self.fitted is None else data.matched_to(self.fitted)
        if self.imputation is not None:
            views = tuple(
                view if values is None else _filled(view, values)
                for view, values in zip(data.views, self.imputation, strict=True)
            )
            data = container_with_views(data, views)
        if self.steps is not None:
            preprocessed = list(data.views)
            for p, step in enumerate(self.steps):
                # A view that no sample has may have any width.
                if step is not None and available_rows(data, p).shape[0]:
                    _require_counts(data, p)
                    preprocessed[p] = step(preprocessed[p])
            data = container_with_views(data, tuple(preprocessed))
        return data


class _ViewSums(NamedTuple):
    """What the steps of a view are fitted from."""

    totals: list[Array]
    """Totals of the samples with a view, of parts one after the other."""
    columns: Array
    """Sums of the features."""

    def merged(self, other: "_ViewSums") -> "_ViewSums":
        return _ViewSums(self.totals + other.totals, self.columns + other.columns)


_Sums = dict[int, _ViewSums]


def fit_preprocessing(
    parts: RowSource, preprocess: Preprocess
) -> tuple[FittedStep | None, ...] | None:
    """Fit the steps of the views in one pass; None if no view has one."""
    if preprocess is None:
        return None
    steps = option_by_view("preprocess", preprocess, STEPS, parts.names)
    fitted = [p for p, step in enumerate(steps) if step in ("lognorm", "tfidf")]
    sums: _Sums = {}
    if fitted:
        sums = parts.reduce(partial(_part_sums, fitted), _merged, "preprocessing")
    fitted_steps: list[FittedStep | None] = []
    for p, step in enumerate(steps):
        if step is None or step == "clr":
            fitted_steps.append(None if step is None else FittedStep(step))
            continue
        if p not in sums:
            raise ValueError(parts.problem("missing", p))
        totals = np.concatenate(sums[p].totals)
        if not (totals > 0).any():
            raise ValueError(
                f"{parts.describe_view(p)} has no counts: all values are 0. Leave the view out."
            )
        if step == "lognorm":
            fitted_steps.append(FittedStep(step, total=float(np.median(totals[totals > 0]))))
        else:
            columns = sums[p].columns
            n = np.full_like(columns, len(totals))
            shares = np.divide(n, columns, out=np.zeros_like(columns), where=columns > 0)
            fitted_steps.append(FittedStep(step, idf=np.log1p(shares)))
    return tuple(fitted_steps)


def _part_sums(views: list[int], part: MultiViewData) -> _Sums:
    sums: _Sums = {}
    for p in views:
        rows = available_rows(part, p)
        if rows.shape[0]:
            _require_counts(part, p)
            sums[p] = _ViewSums([_sums(rows, axis=1)], _sums(rows, axis=0))
    return sums


def _merged(a: _Sums, b: _Sums) -> _Sums:
    return a | {p: a[p].merged(view_sums) if p in a else view_sums for p, view_sums in b.items()}


def _sums(values: Matrix, axis: int) -> Array:
    return np.asarray(values.sum(axis=axis, dtype=np.float64)).ravel()


def _require_counts(data: MultiViewData, p: int) -> None:
    """Raise if a value of a view is negative, which counts are not."""
    view: Any = data.views[p]
    entries = view.data if sparse.issparse(view) else view
    if not entries.size or entries.dtype.kind not in "fi":
        return
    has = np.ones(len(data), bool) if data.available is None else data.available[:, p]
    # Rows of samples without the view may be NaN, and comparisons with NaN are False.
    if not (entries < 0).any():
        return
    rows, columns = (view < 0).nonzero()
    known = np.flatnonzero(has[rows])
    if not len(known):
        return
    row, column = int(rows[known[0]]), int(columns[known[0]])
    names, ids = data.feature_names[p], data.sample_ids
    feature = f"{column}" if names is None else f"{column} ({names[column]!r})"
    sample = "" if ids is None else f" (sample {quoted(ids[row])})"
    raise ValueError(
        f"{data.describe_view(p)} has {view[row, column]:.3g} at row {data.first_row + row}"
        f"{sample}, column {feature}: preprocess needs counts, which are not negative. Leave the "
        "view out of preprocess if it is preprocessed already."
    )
