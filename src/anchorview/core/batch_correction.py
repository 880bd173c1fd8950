"""Batches and covariates, taken out of the views before stage 1.

Within each batch, every feature is regressed on the covariates; what is left is divided by its
deviation in the batch, multiplied by the one that it has over all batches, and moved to the mean of
all samples. Sums over the samples of each batch determine all of it, so they merge over parts.
"""

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from anchorview._utils.text import listed
from anchorview._utils.typing import Array
from anchorview.core.batch_moments import CellMoments, JointMoments, cell_moments, merged_cells
from anchorview.core.corrected_views import AffineMap, BatchMap, ViewCorrection, corrected_view
from anchorview.views.container import MultiViewData
from anchorview.views.parts import Parts
from anchorview.views.sample_design import ONE_BATCH, SampleDesign, default_covariate
from anchorview.views.schema import describe_view

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
        self, parts: Parts, design: SampleDesign, names: tuple[str, ...]
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
