"""Batches and covariates, taken out of the views before stage 1.

Within each batch, every feature is regressed on the covariates; what is left is divided by its
deviation in the batch, multiplied by the one that it has over all batches, and moved to the mean of
all samples: a row x of batch b with covariates z becomes ``m + f_b * (x - c_b - z B)``. Sums over
the samples of each batch determine all of it, so they merge over parts. Rows are corrected where
they are used.
"""

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.linalg import pinvh, qr

from anchorview._utils.linalg import LowRankSum, is_sparse
from anchorview._utils.moments import CrossMoments, Moments, group_moments
from anchorview._utils.text import describe_view, listed
from anchorview._utils.threads import map_blocks, row_slices
from anchorview._utils.typing import Array, Matrix
from anchorview.core.neighbors import graph_of_neighbors
from anchorview.core.scale import CONSTANT_COLUMN, ViewMoments, merged_by_key, row_moments
from anchorview.core.scaled_view import entry_blocks
from anchorview.views.container import MultiViewData, RowBlock
from anchorview.views.fitted_views import FittedViews
from anchorview.views.row_source import (
    RowSource,
    both,
    merge_both,
    selected_rows,
    working_precision,
)
from anchorview.views.sample_design import ONE_BATCH, SampleDesign

EXPLAINED = 64 * float(np.finfo(np.float64).eps)
"""Share of the squares of a feature up to which nothing is left of it."""

DEPENDENT = 1e-10
"""Share of the variance of a covariate within batches that other covariates leave, up to which it
depends on them."""

MIN_ROWS = 2
"""Samples of a batch that must have a view: one alone would become the mean of all."""

CENTER = 'To center it on itself, use unknown_batch="center".'


class JointMoments(NamedTuple):
    """Moments of rows x, of their covariates z, and of both."""

    rows: Moments
    zz: CrossMoments
    zx: CrossMoments

    @classmethod
    def of(cls, rows: Matrix, z: Array) -> "JointMoments":
        """Moments of some rows and their covariates."""
        moments = row_moments(rows)
        z_mean = z.mean(axis=0)
        centered = z - z_mean
        if not z.shape[1]:
            products = np.empty((0, rows.shape[1]))
        elif is_sparse(rows):
            products = centered.T @ rows.astype(np.float64)
        else:
            products = centered.T @ np.subtract(rows, moments.mean, dtype=np.float64)
        zz = CrossMoments(len(z), z_mean, z_mean, centered.T @ centered)
        return cls(moments, zz, CrossMoments(len(z), z_mean, moments.mean, products))

    def merged(self, other: "JointMoments") -> "JointMoments":
        """Moments of both sets of rows."""
        return JointMoments(
            self.rows.merged(other.rows), self.zz.merged(other.zz), self.zx.merged(other.zx)
        )

    def residual_squares(self, slopes: Array) -> Array:
        """Sums of squared deviations of columns after regression on the covariates."""
        explained = slopes * (2 * self.zx.products - self.zz.products @ slopes)
        left = np.asarray(self.rows.squares - explained.sum(axis=0))
        # What is left of a feature that covariates explain completely is rounding.
        left[left <= EXPLAINED * self.rows.squares] = 0
        return left


StratumMoments = dict[tuple[int, int], JointMoments]
"""Moments by the positions of view and batch; those without a row are left out."""


def stratum_moments(part: MultiViewData, codes: Array, z: Array) -> StratumMoments:
    """Moments of samples with covariates `z`, by view and batch; no batch has the code -1."""
    blocks = []
    step = part.rows_per_block
    order = np.argsort(codes, kind="stable")
    batches, starts = np.unique(codes[order], return_index=True)
    for batch, members in zip(batches.tolist(), np.split(order, starts[1:]), strict=True):
        for p in range(len(part.views)) if batch >= 0 else ():
            has = members if part.available is None else members[part.available[members, p]]
            for some in row_slices(len(has), step):
                blocks.append(RowBlock(has[some], some.stop - some.start, (p,), batch))

    def work(block: RowBlock) -> JointMoments:
        return JointMoments.of(part.views[block.views[0]][block.rows], z[block.rows])

    strata: StratumMoments = {}
    for block, joint in map_blocks(work, blocks, "batches"):
        strata = merged_by_key(strata, {(*block.views, block.group): joint})
    return strata


def _require_rows(view: str, strata: Mapping[int, JointMoments], batches: Sequence[str]) -> None:
    """Raise if a batch has too few samples with a view."""
    for b, joint in strata.items():
        if joint.rows.weight < MIN_ROWS:
            raise ValueError(
                f"Batch {batches[b]!r} has {joint.rows.weight} sample with {view}, but at least "
                f"{MIN_ROWS} are needed to center it. Merge the batch with another, or leave its "
                "samples out of this view."
            )


@dataclass(frozen=True, eq=False)
class ViewCorrection:
    """The map of the rows of each batch of one view."""

    sizes: npt.NDArray[np.int32]
    """Number of samples of each batch; 0 if none has the view, so that there is no map."""
    intercepts: Array
    """Means of the batches where all covariates are zero, c."""
    factors: Array
    """Common deviation of each feature, divided by that in the batch, f; 1 without scaling."""
    slopes: Array
    """Coefficients of the covariates, B."""
    mean: Array
    """Mean of all samples, m."""
    deviation: Array
    """Deviation of each feature within batches."""

    @classmethod
    def of(
        cls, strata: Mapping[int, JointMoments], n_batches: int, *, scales: bool
    ) -> "ViewCorrection":
        """Correction of a view with these moments of its batches."""
        joints = list(strata.values())
        counts = np.array([joint.rows.weight for joint in joints])
        # Among samples that have the view, covariates may depend on each other.
        zz = sum(joint.zz.products for joint in joints)
        slopes = pinvh(zz) @ sum(joint.zx.products for joint in joints)
        squares = sum(joint.residual_squares(slopes) for joint in joints)
        mean = counts @ np.array([joint.rows.mean for joint in joints]) / counts.sum()
        nothing = np.empty((0, len(mean)))
        deviation = np.sqrt(squares / counts.sum())
        view = cls(np.empty(0, np.int32), nothing, nothing, slopes, mean, deviation)
        return view.with_batches(strata, n_batches, scales=scales)

    def with_batches(
        self, strata: Mapping[int, JointMoments], n_batches: int, *, scales: bool
    ) -> "ViewCorrection":
        """Return the same for as many batches, with maps of those that have moments."""
        shape = (n_batches - len(self.sizes), len(self.mean))
        sizes = np.append(self.sizes, np.zeros(shape[0], np.int32))
        intercepts = np.vstack([self.intercepts, np.zeros(shape)])
        factors = np.vstack([self.factors, np.ones(shape)])
        for b, joint in strata.items():
            size, mean, _ = joint.rows
            sizes[b], intercepts[b] = size, mean - joint.zz.left @ self.slopes
            if scales:
                spread = np.sqrt(joint.residual_squares(self.slopes) / size)
                varies = spread > CONSTANT_COLUMN * np.abs(mean)
                np.divide(self.deviation, spread, out=factors[b], where=varies)
        return replace(self, sizes=sizes, intercepts=intercepts, factors=factors)

    def corrected_moments(self, strata: Mapping[int, JointMoments]) -> Moments:
        """Moments of the corrected rows."""
        after = []
        for b, joint in strata.items():
            squares = self.factors[b] ** 2 * joint.residual_squares(self.slopes)
            after.append(Moments(joint.rows.weight, self.mean, squares))
        return reduce(Moments.merged, after)

    def __call__(self, view: Matrix, codes: Array, z: Array) -> Matrix:
        """View with corrected rows: of a sparse one, a sum with a matrix of low rank."""
        if not sparse.issparse(view):
            return CorrectedRows(view, codes, z, self)
        dtype = working_precision([view.dtype])
        of_batches = self.factors.astype(dtype)
        entries = np.empty(view.nnz, dtype)
        for block in entry_blocks(view):
            part = slice(view.indptr[block.rows.start], view.indptr[block.rows.stop])
            batches = np.repeat(codes[block.rows], np.diff(block.matrix.indptr))
            factors = of_batches[batches, block.matrix.indices]
            np.multiply(block.matrix.data, factors, out=entries[part], casting="unsafe")
        scaled = sparse.csr_array((entries, view.indices, view.indptr), shape=view.shape)
        # Coefficients are [1, z] in the columns of the batch of each sample, times these terms.
        width = 1 + z.shape[1]
        values = np.column_stack([np.ones(len(z)), z])
        columns = (codes.astype(np.int64) * width)[:, None] + np.arange(width)
        coefficients = graph_of_neighbors(columns, values, len(self.sizes) * width)
        terms = [
            np.vstack([self.mean - factors * intercept, -factors * self.slopes])
            for factors, intercept in zip(self.factors, self.intercepts, strict=True)
        ]
        return LowRankSum(scaled, coefficients, np.vstack(terms))


class CorrectedRows:
    """A dense view with rows that are corrected when they are taken, in their precision."""

    def __init__(self, view: Array, codes: Array, z: Array, by: ViewCorrection) -> None:
        self.view, self.codes, self.shape = view, codes, view.shape
        self.dtype = working_precision([view.dtype])
        self.nbytes = view.size * self.dtype.itemsize
        self.z, self.mean, self.intercepts, self.factors, self.slopes = (
            values.astype(self.dtype)
            for values in (z, by.mean, by.intercepts, by.factors, by.slopes)
        )

    def __getitem__(self, rows: Any) -> Array:
        """Return some corrected rows."""
        codes = self.codes[rows]
        out: Array = np.subtract(self.view[rows], self.intercepts[codes], dtype=self.dtype)
        if self.z.shape[1]:
            out -= self.z[rows] @ self.slopes
        out *= self.factors[codes]
        out += self.mean
        return out

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.asarray(self[:], dtype)


@dataclass(frozen=True, eq=False)
class BatchCorrection:
    """Takes batches and covariates out of samples, which must have a design."""

    batches: tuple[str, ...]
    covariate_names: tuple[str, ...]
    covariates_named: bool
    covariate_centers: Array
    covariate_scales: Array
    scales: bool
    """Whether features have the same deviation in all batches."""
    views: tuple[ViewCorrection, ...]

    def __call__(self, data: MultiViewData) -> MultiViewData:
        """Samples with corrected views; raises if a batch has no map for a view of a sample."""
        codes, z = self.matched(data)
        assert data.design is not None
        self.require_known_batches(data.design)
        for p, view in enumerate(self.views):
            lacking = (view.sizes == 0)[codes]
            if data.available is not None:
                lacking &= data.available[:, p]
            if lacking.any():
                name = data.design.batches[data.design.codes[int(lacking.argmax())]]
                raise ValueError(
                    f"Batch {name!r} had no sample with {data.describe_view(p)} in fit. {CENTER}"
                )
        corrected = copy(data)
        corrected.design = None
        pairs = zip(self.views, data.views, strict=True)
        corrected.views = tuple(correct(view, codes, z) for correct, view in pairs)
        return corrected

    @property
    def has_batches(self) -> bool:
        """Whether there are batches, not only covariates."""
        return self.batches != ONE_BATCH

    def _unknown_batches(self, design: SampleDesign) -> list[str]:
        """Batches of samples that the fit did not have."""
        return [name for name in design.used_batches if name not in self.batches]

    def require_known_batches(self, design: SampleDesign) -> None:
        """Raise if a sample is of a batch that the fit did not have."""
        if unknown := self._unknown_batches(design):
            raise ValueError(
                f"Batch {unknown[0]!r} is unknown: the model was fitted on {listed(self.batches)}. "
                f"{CENTER}"
            )

    def require_design(self, design: SampleDesign | None) -> SampleDesign:
        """Batches and covariates of samples; raises if they are not those that are needed."""
        needed = ["batch"] * self.has_batches + ["covariates"] * bool(self.covariate_names)
        if design is None:
            raise ValueError(
                f"The model was fitted with {' and '.join(needed)}: give these for new samples "
                f"too, as {', '.join(f'{name}=' for name in needed)} or in MultiViewData."
            )
        if design.has_batches != self.has_batches:
            given, fitted = ("with", "without") if design.has_batches else ("without", "with")
            raise ValueError(f"The samples come {given} batch, but the model was fitted {fitted}.")
        return replace(design, covariates=design.covariates[:, self._covariate_order(design)])

    def _covariate_order(self, design: SampleDesign) -> list[int]:
        """Columns of the fitted covariates, by name if both have names."""
        names, expected = design.covariate_names, self.covariate_names
        by_name = design.covariates_named and self.covariates_named
        if len(names) != len(expected) or (by_name and set(names) != set(expected)):
            raise ValueError(
                f"The model was fitted with the covariates {list(expected)}, but the samples have "
                f"{list(names)}. Give exactly these."
            )
        return [names.index(name) for name in expected] if by_name else list(range(len(names)))

    def matched(self, data: MultiViewData) -> tuple[Array, Array]:
        """Position of the batch of each sample, -1 if it is unknown, and scaled covariates."""
        design = self.require_design(data.design)
        known = {name: position for position, name in enumerate(self.batches)}
        positions = np.array([known.get(name, -1) for name in design.batches], dtype=np.int32)
        z = (design.covariates - self.covariate_centers) / self.covariate_scales
        return positions[design.codes], z

    def completed(
        self, parts: RowSource, design: SampleDesign, names: tuple[str, ...]
    ) -> "BatchCorrection":
        """Correction that centers batches without a map on the samples of `parts` themselves."""
        batches = (*self.batches, *self._unknown_batches(design))
        work = partial(_strata_of_part, replace(self, batches=batches))
        strata = parts.reduce_as_is(work, merged_by_key, "batches")
        views = []
        for p, view in enumerate(self.views):
            mapped = np.flatnonzero(view.sizes)
            new = {b: joint for (q, b), joint in strata.items() if q == p and b not in mapped}
            _require_rows(describe_view(p, names[p]), new, batches)
            views.append(view.with_batches(new, len(batches), scales=self.scales))
        return replace(self, batches=batches, views=tuple(views))


def _strata_of_part(correction: BatchCorrection, part: MultiViewData) -> StratumMoments:
    return stratum_moments(part, *correction.matched(part))


@dataclass(frozen=True, eq=False)
class PartPreparation:
    """Prepares samples as a fit did, and takes out batches and covariates."""

    prepare: Callable[[MultiViewData], MultiViewData] | None
    """Transforms single views."""
    fitted: FittedViews
    """The views of the fit, to which those of the samples are matched."""
    correction: BatchCorrection | None

    def __call__(self, data: MultiViewData) -> MultiViewData:
        """Samples as they are embedded."""
        data = self.fitted.matched_part(data)
        data.require_a_view()
        data = data if self.prepare is None else self.prepare(data)
        return data if self.correction is None else self.correction(data)


class FittedCorrection(NamedTuple):
    """A correction, and what else the pass over the samples gave."""

    correction: BatchCorrection
    moments: ViewMoments
    """Moments of the corrected rows."""
    deviations: tuple[Array, ...]
    """Deviation of the features of each view before the correction."""
    sample: list[MultiViewData]
    """Some of the samples as they were."""


def fit_correction(
    parts: RowSource, design: SampleDesign, *, scales: bool, sampled: Array
) -> FittedCorrection:
    """Learn to take out batches and covariates, in one pass that also fetches `sampled` rows."""
    # In units that are powers of 2, which is exact, so that squares neither overflow nor vanish.
    units = np.exp2(np.frexp(np.abs(design.covariates).max(axis=0))[1] - 1.0)
    z = design.covariates / units
    _require_independent(replace(design, covariates=z))
    centers, spreads = units * z.mean(axis=0), units * z.std(axis=0)
    batches, names = design.used_batches, design.covariate_names
    named = design.covariates_named
    empty = BatchCorrection(batches, names, named, centers, spreads, scales, ())
    work = partial(both, partial(_strata_of_part, empty), partial(selected_rows, sampled))
    all_strata, sample = parts.reduce(work, partial(merge_both, merged_by_key, add), "batches")
    views, moments, deviations = [], {}, []
    for p in range(len(parts.names)):
        strata = {b: all_strata[p, b] for b in range(len(batches)) if (p, b) in all_strata}
        _require_rows(parts.describe_view(p), strata, batches)
        view = ViewCorrection.of(strata, len(batches), scales=scales)
        if not np.isfinite(view.deviation).all():
            raise ValueError(parts.problem("overflow", p))
        if (view.deviation <= CONSTANT_COLUMN * np.abs(view.mean)).all():
            raise ValueError(
                f"{parts.describe_view(p)} is constant in every batch, or the covariates explain "
                "it completely: nothing is left of it. Leave this view out."
            )
        views.append(view)
        before = reduce(Moments.merged, [joint.rows for joint in strata.values()])
        deviations.append(np.sqrt(before.squares / before.weight))
        moments[p] = view.corrected_moments(strata)
    correction = replace(empty, views=tuple(views))
    return FittedCorrection(correction, moments, tuple(deviations), sample)


def _require_independent(design: SampleDesign) -> None:
    """Raise if the effect of a covariate cannot be told from that of batches or others."""
    names, codes, z = design.covariate_names, design.codes, design.covariates
    centered = z - group_moments(z, codes, len(design.batches)).mean[codes]
    totals = np.square(centered).sum(axis=0)
    constant = totals <= len(z) * (CONSTANT_COLUMN * np.abs(z).max(axis=0)) ** 2
    # What is left of each column besides those before it.
    left = np.diag(qr(centered / np.sqrt(np.where(constant, 1, totals)), mode="r")[0])
    for position, name in enumerate(names):
        if constant[position]:
            where = "within every batch" if design.has_batches else "for all samples"
            raise ValueError(
                f"covariate {name!r} is constant {where}, so it has no effect. Leave it out."
            )
        if left[position] ** 2 <= DEPENDENT:
            raise ValueError(
                f"covariate {name!r} is a linear combination of {listed(names[:position])}"
                f"{' within batches' * design.has_batches}. Leave one of them out."
            )
