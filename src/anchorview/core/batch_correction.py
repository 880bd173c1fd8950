"""Batches and covariates, taken out of the views before stage 1.

Within each batch, every feature is regressed on the covariates; what is left is divided by its
deviation in the batch, multiplied by the one that it has over all batches, and moved to the mean of
all samples. Sums over the samples of each batch determine all of it, so they merge over parts.
"""

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.linalg import pinvh

from anchorview._utils.text import describe_view, listed
from anchorview._utils.threads import map_blocks
from anchorview._utils.typing import Array, Matrix
from anchorview.core.scale import CONSTANT_COLUMN, Moments, ViewMoments, row_moments
from anchorview.core.scaled_view import entry_blocks
from anchorview.views.container import MultiViewData
from anchorview.views.low_rank_sum import LowRankSum, is_sparse
from anchorview.views.row_source import RowSource, SelectedRows, working_precision
from anchorview.views.sample_design import ONE_BATCH, SampleDesign, default_covariate

EXPLAINED = 64 * float(np.finfo(np.float64).eps)
"""Share of the squares of a feature up to which nothing is left of it."""


class JointMoments(NamedTuple):
    """Moments of rows, of their covariates z, and sums of products of both after centering."""

    rows: Moments
    z_mean: Array
    zz: Array
    zx: Array

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
        return cls(moments, z_mean, centered.T @ centered, products)

    def merged(self, other: "JointMoments") -> "JointMoments":
        """Moments of both sets of rows, without cancellation."""
        size = self.rows.size + other.rows.size
        share = self.rows.size * other.rows.size / size
        step, row_step = other.z_mean - self.z_mean, other.rows.mean - self.rows.mean
        return JointMoments(
            self.rows.merged(other.rows),
            self.z_mean + step * (other.rows.size / size),
            self.zz + other.zz + share * np.outer(step, step),
            self.zx + other.zx + share * np.outer(step, row_step),
        )

    def residual_squares(self, slopes: Array) -> Array:
        """Sums of squared deviations of columns after regression on the covariates."""
        explained = 2 * (slopes * self.zx).sum(axis=0) - (slopes * (self.zz @ slopes)).sum(axis=0)
        left = np.asarray(self.rows.squares - explained)
        # What is left of a feature that covariates explain completely is rounding.
        left[left <= EXPLAINED * self.rows.squares] = 0
        return left


Cell = tuple[int, int]
"""Positions of a view and of a batch."""

CellMoments = dict[Cell, JointMoments]
"""Moments by view and batch; those without a row are left out."""


def merged_cells(a: CellMoments, b: CellMoments) -> CellMoments:
    """Moments of both sets of samples."""
    return a | {cell: a[cell].merged(own) if cell in a else own for cell, own in b.items()}


@dataclass(frozen=True, eq=False)
class _CellRows:
    """Some rows of a batch that have a view."""

    cell: Cell
    rows: Array

    @property
    def size(self) -> int:
        return len(self.rows)


def cell_moments(part: MultiViewData, codes: Array, z: Array) -> CellMoments:
    """Moments of the samples of a part by view and batch.

    `codes` are the batches of the samples; those of -1 are left out. `z` are the covariates.
    """
    found: CellMoments = {}
    work = partial(_moments_of, part, z)
    for block, own in map_blocks(work, _cell_rows(part, codes), "batches"):
        found = merged_cells(found, {block.cell: own})
    return found


def _moments_of(part: MultiViewData, z: Array, block: _CellRows) -> JointMoments:
    return JointMoments.of(part.views[block.cell[0]][block.rows], z[block.rows])


def _cell_rows(part: MultiViewData, codes: Array) -> list[_CellRows]:
    order = np.argsort(codes, kind="stable")
    batches, starts = np.unique(codes[order], return_index=True)
    step = part.rows_per_block
    blocks = []
    for batch, members in zip(batches.tolist(), np.split(order, starts[1:]), strict=True):
        for p in range(len(part.views)) if batch >= 0 else ():
            has = members if part.available is None else members[part.available[members, p]]
            blocks += [
                _CellRows((p, batch), has[start : start + step])
                for start in range(0, len(has), step)
            ]
    return blocks


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

    def with_batches(self, count: int) -> "ViewCorrection":
        """Return the same with more batches, which have no map yet."""
        nothing = np.zeros((count, len(self.mean)))
        return replace(
            self,
            sizes=np.append(self.sizes, np.zeros(count, np.int32)),
            intercepts=np.vstack([self.intercepts, nothing]),
            factors=np.vstack([self.factors, nothing + 1]),
        )

    def with_maps(self, maps: "Mapping[int, BatchMap]") -> "ViewCorrection":
        """Return the same with other maps of some batches."""
        found = replace(
            self,
            sizes=self.sizes.copy(),
            intercepts=self.intercepts.copy(),
            factors=self.factors.copy(),
        )
        for b, own in maps.items():
            found.sizes[b], found.intercepts[b], found.factors[b] = own
        return found


class BatchMap(NamedTuple):
    """Number of samples of a batch that have a view, and the map of their rows."""

    size: int
    intercept: Array
    factor: Array

    @classmethod
    def of(cls, joint: JointMoments, view: ViewCorrection, scales: bool) -> "BatchMap":
        """Map of the rows with these moments to the mean and deviation of a view."""
        size, mean, _ = joint.rows
        intercept = mean - joint.z_mean @ view.slopes
        factor = np.ones(len(mean))
        if scales:
            spread = np.sqrt(joint.residual_squares(view.slopes) / size)
            varies = spread > CONSTANT_COLUMN * np.abs(mean)
            np.divide(view.deviation, spread, out=factor, where=varies)
        return cls(size, intercept, factor)


class AffineMap:
    """The map of a view in the precision of its rows."""

    def __init__(self, exact: ViewCorrection, dtype: Any) -> None:
        self.exact, self.dtype = exact, working_precision([np.dtype(dtype)])
        self.mean, self.intercepts, self.factors, self.slopes = (
            values.astype(self.dtype)
            for values in (exact.mean, exact.intercepts, exact.factors, exact.slopes)
        )

    def __call__(self, rows: Array, codes: Array, z: Array) -> Array:
        """Corrected dense rows of samples with some batches and covariates."""
        out: Array = np.subtract(rows, self.intercepts[codes], dtype=self.dtype)
        if z.shape[1]:
            out -= z.astype(self.dtype) @ self.slopes
        out *= self.factors[codes]
        out += self.mean
        return out


class CorrectedRows:
    """A dense view whose rows are corrected when they are taken."""

    def __init__(self, view: Array, codes: Array, z: Array, correct: AffineMap) -> None:
        self.view, self.codes, self.z, self.correct = view, codes, z, correct

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""
        n, d = self.view.shape
        return n, d

    @property
    def dtype(self) -> "np.dtype[Any]":
        """Type of the corrected rows."""
        return self.correct.dtype

    @property
    def nbytes(self) -> int:
        """Bytes of all rows, if they were taken."""
        return self.shape[0] * self.shape[1] * self.dtype.itemsize

    def __getitem__(self, rows: Any) -> Array:
        """Return some corrected rows."""
        return self.correct(self.view[rows], self.codes[rows], self.z[rows])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.asarray(self[:], dtype)


def corrected_view(view: Matrix, codes: Array, z: Array, correct: AffineMap) -> Matrix:
    """View with corrected rows: of a sparse one, a sum with a matrix of low rank."""
    if not sparse.issparse(view):
        return CorrectedRows(view, codes, z, correct)
    entries = np.empty(view.nnz, correct.dtype)
    for block in entry_blocks(view):
        part = slice(view.indptr[block.rows.start], view.indptr[block.rows.stop])
        batches = np.repeat(codes[block.rows], np.diff(block.matrix.indptr))
        factors = correct.factors[batches, block.matrix.indices]
        np.multiply(block.matrix.data, factors, out=entries[part], casting="unsafe")
    scaled = sparse.csr_array((entries, view.indices, view.indptr), shape=view.shape)
    return LowRankSum(scaled, _coefficients(codes, z, len(correct.factors)), _terms(correct.exact))


def _coefficients(codes: Array, z: Array, n_batches: int) -> sparse.csr_array:
    """Rows ``[1, z]`` in the columns of the batch of each sample."""
    width = 1 + z.shape[1]
    values = np.column_stack([np.ones(len(z)), z])
    columns = (codes.astype(np.int64) * width)[:, None] + np.arange(width)
    indptr = np.arange(len(z) + 1) * width
    shape = (len(z), n_batches * width)
    return sparse.csr_array((values.ravel(), columns.ravel(), indptr), shape=shape)


def _terms(correction: ViewCorrection) -> Array:
    """What ``[1, z]`` of each batch is multiplied by, one batch below the other."""
    pairs = zip(correction.factors, correction.intercepts, strict=True)
    return np.vstack(
        [
            np.vstack([correction.mean - factors * intercept, -factors * correction.slopes])
            for factors, intercept in pairs
        ]
    )


MIN_ROWS = 2
"""Samples of a batch that must have a view: one alone would become the mean of all."""

CENTER = 'To center it on itself, use unknown_batch="center".'


@dataclass(frozen=True, eq=False)
class BatchCorrection:
    """Takes batches and covariates out of samples, which must have a design."""

    batches: tuple[str, ...]
    covariate_names: tuple[str, ...]
    covariate_centers: Array
    covariate_scales: Array
    scales: bool
    """Whether features have the same deviation in all batches."""
    views: tuple[ViewCorrection, ...]

    def __call__(self, data: MultiViewData) -> MultiViewData:
        """Samples with corrected views."""
        codes, z = self.matched(data)
        assert data.design is not None
        self.require_known_batches(data.design)
        self._require_known(data, codes)
        corrected = copy(data)
        corrected.design = None
        corrected.views = tuple(
            corrected_view(view, codes, z, AffineMap(own, view.dtype))
            for view, own in zip(data.views, self.views, strict=True)
        )
        return corrected

    @property
    def has_batches(self) -> bool:
        """Whether there are batches, not only covariates."""
        return self.batches != ONE_BATCH

    def unknown_batches(self, design: SampleDesign) -> list[str]:
        """Batches of samples that the fit did not have."""
        used = np.bincount(design.codes, minlength=len(design.batches)) > 0
        present = [name for name, own in zip(design.batches, used, strict=True) if own]
        return [name for name in present if name not in self.batches]

    def require_known_batches(self, design: SampleDesign) -> None:
        """Raise if a sample is of a batch that the fit did not have."""
        if unknown := self.unknown_batches(design):
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
        """Columns of the fitted covariates, by name if they have names."""
        names, expected = design.covariate_names, self.covariate_names
        defaults = [tuple(map(default_covariate, range(len(own)))) for own in (names, expected)]
        by_position = names == defaults[0] or expected == defaults[1]
        same = len(names) == len(expected) if by_position else set(names) == set(expected)
        if not same:
            raise ValueError(
                f"The model was fitted with the covariates {list(expected)}, but the samples have "
                f"{list(names)}. Give exactly these."
            )
        return list(range(len(names))) if by_position else [names.index(own) for own in expected]

    def matched(self, data: MultiViewData) -> tuple[Array, Array]:
        """Position of the batch of each sample, -1 if it is unknown, and scaled covariates."""
        design = self.require_design(data.design)
        known = {name: position for position, name in enumerate(self.batches)}
        positions = np.array([known.get(name, -1) for name in design.batches], dtype=np.int32)
        z = (design.covariates - self.covariate_centers) / self.covariate_scales
        return positions[design.codes], z

    def _require_known(self, data: MultiViewData, codes: Array) -> None:
        """Raise if a sample has a view for which its batch has no map."""
        design = data.design
        assert design is not None
        for p, own in enumerate(self.views):
            lacking = (own.sizes == 0)[codes]
            if data.available is not None:
                lacking &= data.available[:, p]
            if lacking.any():
                first = int(np.flatnonzero(lacking)[0])
                name = design.batches[design.codes[first]]
                raise ValueError(
                    f"Batch {name!r} had no sample with {data.describe_view(p)} in fit. {CENTER}"
                )

    def completed(
        self, parts: RowSource, design: SampleDesign, names: tuple[str, ...]
    ) -> "BatchCorrection":
        """Correction that centers batches without a map on the samples of `parts` themselves.

        `names` are those of the views.
        """
        new = self.unknown_batches(design)
        grown = replace(
            self,
            batches=(*self.batches, *new),
            views=tuple(own.with_batches(len(new)) for own in self.views),
        )
        found = parts.reduce_as_is(partial(_unmapped, grown), merged_cells, "batches")
        views = []
        for p, own in enumerate(grown.views):
            cells = {b: moments for (view, b), moments in found.items() if view == p}
            require_rows(describe_view(p, names[p]), cells, grown.batches)
            maps = {b: BatchMap.of(joint, own, self.scales) for b, joint in cells.items()}
            views.append(own.with_maps(maps))
        return replace(grown, views=tuple(views))


@dataclass(frozen=True, eq=False)
class PartPreparation:
    """Prepares samples as a fit did, and takes out batches and covariates."""

    prepare: Callable[[MultiViewData], MultiViewData]
    """Matches views to those of the fit and imputes."""
    correction: BatchCorrection | None

    def __call__(self, data: MultiViewData) -> MultiViewData:
        """Samples as they are embedded."""
        data = self.prepare(data)
        return data if self.correction is None else self.correction(data)


def _unmapped(correction: BatchCorrection, part: MultiViewData) -> CellMoments:
    """Moments of the batches of a part for which a view has no map."""
    found = cell_moments(part, *correction.matched(part))
    return {(p, b): own for (p, b), own in found.items() if not correction.views[p].sizes[b]}


def require_rows(view: str, cells: Mapping[int, JointMoments], batches: Sequence[str]) -> None:
    """Raise if a batch has too few samples with a view."""
    for b, joint in cells.items():
        if joint.rows.size < MIN_ROWS:
            raise ValueError(
                f"Batch {batches[b]!r} has {joint.rows.size} sample with {view}, but at least "
                f"{MIN_ROWS} are needed to center it. Merge the batch with another, or leave its "
                "samples out of this view."
            )


DEPENDENT = 1e-10
"""Share of the variance of a covariate within batches that other covariates leave, up to which it
depends on them."""


@dataclass(frozen=True, eq=False)
class FittedCorrection:
    """A correction, and what else the pass over the samples found."""

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
    """Learn to take out batches and covariates, in one pass that also fetches some rows.

    `sampled` are the ascending positions of these.
    """
    present = np.bincount(design.codes, minlength=len(design.batches)) > 0
    batches = tuple(np.array(design.batches, dtype=object)[present].tolist())
    z, names = design.covariates, design.covariate_names
    _require_independent(design)
    empty = BatchCorrection(batches, names, z.mean(axis=0), z.std(axis=0), scales, ())
    work = partial(_first_pass, empty, SelectedRows(sampled))
    cells, sample = parts.reduce(work, _merged, "batches")
    views, moments, deviations = [], {}, []
    for p in range(len(parts.names)):
        own = {b: cells[p, b] for b in range(len(batches)) if (p, b) in cells}
        require_rows(parts.describe_view(p), own, batches)
        view = _fitted_view(own, len(batches), scales=scales)
        if not np.isfinite(view.deviation).all():
            raise ValueError(parts.overflow_message(p))
        if (view.deviation <= CONSTANT_COLUMN * np.abs(view.mean)).all():
            raise ValueError(
                f"{parts.describe_view(p)} is constant in every batch, or the covariates explain "
                "it completely: nothing is left of it. Leave this view out."
            )
        views.append(view)
        moments[p], deviations_before = _moments(view, own)
        deviations.append(deviations_before)
    correction = replace(empty, views=tuple(views))
    return FittedCorrection(correction, moments, tuple(deviations), sample)


_Found = tuple[CellMoments, list[MultiViewData]]


def _first_pass(correction: BatchCorrection, selected: SelectedRows, part: MultiViewData) -> _Found:
    return cell_moments(part, *correction.matched(part)), selected(part)


def _merged(a: _Found, b: _Found) -> _Found:
    return merged_cells(a[0], b[0]), a[1] + b[1]


def _require_independent(design: SampleDesign) -> None:
    """Raise if the effect of a covariate cannot be told from those of batches and others."""
    names, codes, z = design.covariate_names, design.codes, design.covariates
    sizes = np.maximum(np.bincount(codes, minlength=len(design.batches)), 1)
    means = [np.bincount(codes, own, len(design.batches)) / sizes for own in z.T]
    centered = [own - mean[codes] for own, mean in zip(z.T, means, strict=True)]
    scale = [float(np.abs(own).max()) for own in z.T]
    before: list[Array] = []
    for position, values in enumerate(centered):
        total, name = float(values @ values), names[position]
        if total <= len(z) * (CONSTANT_COLUMN * scale[position]) ** 2:
            where = "within every batch" if design.has_batches else "for all samples"
            raise ValueError(
                f"covariate {name!r} is constant {where}, so it has no effect of its own. Leave it "
                "out."
            )
        left = values / np.sqrt(total)
        for other in before:
            left = left - (other @ left) * other
        if float(left @ left) <= DEPENDENT:
            raise ValueError(
                f"covariate {name!r} is a linear combination of {listed(names[:position])}"
                f"{' within batches' * design.has_batches}. Leave one of them out."
            )
        before.append(left / np.linalg.norm(left))


def _fitted_view(
    cells: Mapping[int, JointMoments], n_batches: int, *, scales: bool
) -> ViewCorrection:
    """Correction of a view with these moments of its batches."""
    joints = list(cells.values())
    sizes = np.array([joint.rows.size for joint in joints])
    # Among samples that have the view, covariates may depend on each other.
    slopes = pinvh(sum(joint.zz for joint in joints)) @ sum(joint.zx for joint in joints)
    squares = sum(joint.residual_squares(slopes) for joint in joints)
    mean = sizes @ np.array([joint.rows.mean for joint in joints]) / sizes.sum()
    shape = (n_batches, len(mean))
    view = ViewCorrection(
        np.zeros(n_batches, np.int32),
        np.zeros(shape),
        np.ones(shape),
        slopes,
        mean,
        np.sqrt(squares / sizes.sum()),
    )
    return view.with_maps({b: BatchMap.of(joint, view, scales) for b, joint in cells.items()})


def _moments(view: ViewCorrection, cells: Mapping[int, JointMoments]) -> tuple[Moments, Array]:
    """Moments of the corrected rows, and deviations of the rows as they were."""
    raw = total = None
    for b, joint in cells.items():
        squares = view.factors[b] ** 2 * joint.residual_squares(view.slopes)
        own = Moments(joint.rows.size, view.mean, squares)
        total = own if total is None else total.merged(own)
        raw = joint.rows if raw is None else raw.merged(joint.rows)
    assert total is not None and raw is not None
    return total, np.sqrt(raw.squares / raw.size)
