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

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import sparse

from anchorview._utils.text import quoted
from anchorview._utils.typing import Array, Matrix
from anchorview.core.imputation import Imputation, available_rows
from anchorview.core.view_options import option_by_view
from anchorview.views.container import MultiViewData, container_with_views
from anchorview.views.fitted_views import FittedViews
from anchorview.views.parts import Parts
from anchorview.views.schema import working_precision

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
class Preprocessing:
    """Applies the steps of all views to samples, which have the views of the fit."""

    steps: tuple[FittedStep | None, ...]

    def __call__(self, data: MultiViewData) -> MultiViewData:
        """Preprocessed samples; raises if counts are negative."""
        views = list(data.views)
        for p, step in enumerate(self.steps):
            # A view that no sample has may have any width.
            if step is not None and available_rows(data, p).shape[0]:
                _require_counts(data, p)
                views[p] = step(views[p])
        return container_with_views(data, tuple(views))


@dataclass(frozen=True, eq=False)
class Preparation:
    """What is done with samples before they are scaled: matching, imputation, preprocessing."""

    imputation: tuple[Array | None, ...] | None
    steps: tuple[FittedStep | None, ...] | None
    fitted: FittedViews | None = None
    """None if the samples are those of the fit."""

    def __call__(self, data: MultiViewData) -> MultiViewData:
        """Prepared samples."""
        data = Imputation(self.imputation, self.fitted)(data)
        return data if self.steps is None else Preprocessing(self.steps)(data)


class _ViewSums(NamedTuple):
    """What the steps of a view are fitted from."""

    totals: list[Array]
    """Totals of the samples with a view, of parts one after the other."""
    columns: Array
    """Sums of the features."""

    def merged(self, other: "_ViewSums") -> "_ViewSums":
        return _ViewSums(self.totals + other.totals, self.columns + other.columns)


_Sums = dict[int, _ViewSums]


def fit_preprocessing(parts: Parts, preprocess: Preprocess) -> tuple[FittedStep | None, ...] | None:
    """Fit the steps of the views in one pass; None if no view has one."""
    if preprocess is None:
        return None
    steps = option_by_view("preprocess", preprocess, STEPS, parts.names)
    fitted = [p for p, step in enumerate(steps) if step in ("lognorm", "tfidf")]
    sums: _Sums = {}
    if fitted:
        sums = parts.reduce(partial(_part_sums, fitted), _merged, "preprocessing")
    found: list[FittedStep | None] = []
    for p, step in enumerate(steps):
        if step is None or step == "clr":
            found.append(None if step is None else FittedStep(step))
            continue
        if p not in sums:
            raise ValueError(parts.missing_message(p))
        totals = np.concatenate(sums[p].totals)
        if not (totals > 0).any():
            raise ValueError(
                f"{parts.describe_view(p)} has no counts: all values are 0. Leave the view out."
            )
        if step == "lognorm":
            found.append(FittedStep(step, total=float(np.median(totals[totals > 0]))))
        else:
            columns = sums[p].columns
            n = np.full_like(columns, len(totals))
            shares = np.divide(n, columns, out=np.zeros_like(columns), where=columns > 0)
            found.append(FittedStep(step, idf=np.log1p(shares)))
    return tuple(found)


def _part_sums(views: list[int], part: MultiViewData) -> _Sums:
    found: _Sums = {}
    for p in views:
        rows = available_rows(part, p)
        if rows.shape[0]:
            _require_counts(part, p)
            found[p] = _ViewSums([_sums(rows, axis=1)], _sums(rows, axis=0))
    return found


def _merged(a: _Sums, b: _Sums) -> _Sums:
    return a | {p: a[p].merged(own) if p in a else own for p, own in b.items()}


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
