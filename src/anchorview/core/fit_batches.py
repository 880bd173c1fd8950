"""The fit of a correction for batches and covariates: one pass over the parts."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.linalg import pinvh

from anchorview._utils.text import listed
from anchorview._utils.typing import Array
from anchorview.core.batch_correction import BatchCorrection, require_rows
from anchorview.core.batch_moments import CellMoments, JointMoments, cell_moments, merged_cells
from anchorview.core.corrected_views import BatchMap, ViewCorrection
from anchorview.core.scale import CONSTANT_COLUMN, Moments, ViewMoments
from anchorview.views.container import MultiViewData
from anchorview.views.parts import Parts, SelectedRows
from anchorview.views.sample_design import SampleDesign

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
    parts: Parts, design: SampleDesign, *, scales: bool, sampled: Array
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
