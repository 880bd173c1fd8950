"""How certain the cluster of each sample is, and which samples are doubtful."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from anchorview._utils.typing import Array
from anchorview.estimators.auto.consensus import DOUBTFUL_CONFIDENCE
from anchorview.estimators.dalmc import DALMC
from anchorview.inspection.cluster_geometry import (
    Geometry,
    Located,
    embedding_geometry,
    geometry_of,
)
from anchorview.inspection.labeled_parts import labeled_source
from anchorview.report.checked_fit import CheckedFit
from anchorview.views.container import MultiViewData

NEXT_TO_OWN = 0.5
"""Samples are doubtful if their membership in the next cluster is more than this share of that in
their own. Memberships themselves depend on the number of clusters."""

CONSENSUS = (
    "Confidence is the share of the partitions computed for the selection of settings that agree "
    "with a sample's cluster, with equal weights of the families of settings; samples below "
    f"{100 * DOUBTFUL_CONFIDENCE:.0f} % are doubtful."
)
MEMBERSHIP = (
    "Confidence is the membership of a sample in its cluster: large if it is much closer to the "
    "center of its own cluster than to all others. Samples whose membership in the next cluster "
    "is more than half of that are doubtful."
)


@dataclass(frozen=True, eq=False)
class Certainty:
    """Certainty of each sample, in the order of the fit."""

    confidence: Array
    second_labels: Array
    """The next cluster, to which the sample would go otherwise; -1 if there is none."""
    doubtful: Array
    meaning: str
    """What confidence is and which samples are doubtful, in words."""


def certainty(fit: CheckedFit) -> Certainty | None:
    """Certainty of the samples of a fit; None if the model needs the views for it."""
    model = fit.model
    if fit.is_auto and model.second_labels_ is not None:
        doubtful = model.confidence_ < DOUBTFUL_CONFIDENCE
        return Certainty(model.confidence_, model.second_labels_, doubtful, CONSENSUS)
    if fit.data is not None:
        labeled = labeled_source(model, fit.data)
        geometry = geometry_of(model, labeled)
        columns = labeled.source.reduce_as_is(partial(_of_part, geometry), _joined, "confidence")
    elif isinstance(model, DALMC) and fit.embedding is not None:
        geometry = embedding_geometry(model)
        columns = _of_blocks(geometry, geometry.located_rows(np.asarray(fit.embedding)))
    else:
        return None
    confidence, second_labels, ratio = columns
    if fit.is_auto:
        return Certainty(confidence, second_labels, confidence < DOUBTFUL_CONFIDENCE, CONSENSUS)
    return Certainty(confidence, second_labels, ratio > NEXT_TO_OWN, MEMBERSHIP)


Columns = tuple[Array, Array, Array]


def _of_part(geometry: Geometry, part: MultiViewData) -> Columns:
    return _of_blocks(geometry, geometry.located(part))


def _of_blocks(geometry: Geometry, blocks: Iterable[Located]) -> Columns:
    """Confidence, next cluster, and membership there relative to that in the own cluster."""
    columns: list[tuple[Any, ...]] = []
    for block in blocks:
        others = np.take_along_axis(block.squares, block.second[:, None], axis=1)[:, 0]
        with np.errstate(over="ignore"):
            ratio = np.exp((block.own_squares - others) / geometry.mean_square)
        columns.append((block.confidence, block.second, ratio))
    confidence, second, ratio = map(np.concatenate, zip(*columns, strict=True))
    return confidence, second, ratio


def _joined(a: Columns, b: Columns) -> Columns:
    confidence, second, ratio = map(np.concatenate, zip(a, b, strict=True))
    return confidence, second, ratio
