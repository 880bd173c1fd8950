"""Certainty of samples, and separation, nearest clusters and shares of views of clusters."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd

from anchorview._utils.typing import Array
from anchorview.estimators.auto.auto_dalmc import AutoDALMC
from anchorview.estimators.dalmc import DALMC
from anchorview.inspection import view_contributions
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
    "The share of the partitions computed for the selection of settings that agree with a sample's "
    "cluster, with equal weights of the families of settings. Samples below {:.0%} are doubtful."
)
MEMBERSHIP = (
    "The membership of a sample in its cluster: large if it is much closer to the center of its "
    "own cluster than to all others. Samples whose membership in the next cluster is more than "
    "half of that are doubtful."
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


class _Columns(NamedTuple):
    """Of some samples, in order; and sums over those of each cluster."""

    confidence: Array
    second: Array
    ratio: Array
    """Membership in the next cluster relative to that in the own one."""
    silhouettes: Array
    """(b - a) / max(a, b) with the distances to the own and to the nearest other center."""
    squares: Array
    """Sums of squared distances to the centers of all clusters, (n_clusters, n_clusters)."""

    def joined(self, other: "_Columns") -> "_Columns":
        """Columns of both."""
        return _joined([self, other])


def overview(fit: CheckedFit) -> tuple[pd.DataFrame, Certainty | None]:
    """Numbers of each cluster, and the certainty of the samples if the model allows it."""
    model = fit.model
    clusters = pd.DataFrame({"size": fit.sizes, "share": fit.sizes / len(fit.labels)})
    if fit.data is not None:
        labeled = labeled_source(model, fit.data)
        geometry = geometry_of(model, labeled)
        columns = labeled.source.reduce_as_is(
            partial(_of_part, geometry), _Columns.joined, "separation"
        )
    elif isinstance(model, DALMC) and fit.embedding is not None:
        geometry = embedding_geometry(model)
        columns = _of_blocks(geometry, geometry.located_rows(np.asarray(fit.embedding)))
    elif fit.is_auto and model.second_labels_ is not None:
        return clusters, _consensus(model, model.confidence_, model.second_labels_)
    else:
        return clusters, None
    if fit.is_auto:
        certainty = _consensus(model, columns.confidence, columns.second)
    else:
        doubtful = columns.ratio > NEXT_TO_OWN
        certainty = Certainty(columns.confidence, columns.second, doubtful, MEMBERSHIP)
    clusters["confidence"] = _means(certainty.confidence, fit)
    clusters["separation"] = _means(columns.silhouettes, fit)
    clusters["nearest_cluster"] = _nearest(columns.squares, fit.sizes)
    if fit.data is not None and hasattr(model, "predict"):
        contributions = view_contributions(model, fit.data, by="cluster").to_numpy()
        # Views that a cluster lacks, and those that speak for others, have no share.
        positive = np.maximum(np.nan_to_num(contributions), 0.0)
        totals = positive.sum(axis=1, keepdims=True)
        shares = np.divide(positive, totals, out=np.full_like(positive, np.nan), where=totals > 0)
        clusters[[f"view:{name}" for name in model.view_names_in_]] = shares
    return clusters, certainty


def _consensus(model: AutoDALMC, confidence: Array, second_labels: Array) -> Certainty:
    limit = model.confidence_threshold_
    return Certainty(confidence, second_labels, confidence < limit, CONSENSUS.format(limit))


def _means(values: Array, fit: CheckedFit) -> Array:
    """Mean over the samples of each cluster; NaN if it is empty."""
    sums = np.bincount(fit.labels, weights=values, minlength=fit.n_clusters)
    return np.divide(sums, fit.sizes, out=np.full(fit.n_clusters, np.nan), where=fit.sizes > 0)


def _nearest(squares: Array, sizes: Array) -> Array:
    """Cluster whose center is nearest to the samples of each cluster; NaN if it is empty."""
    others = squares.copy()
    np.fill_diagonal(others, np.inf)
    others[:, sizes == 0] = np.inf
    known = (sizes > 0) & (np.count_nonzero(sizes) > 1)
    return np.where(known, others.argmin(axis=1), np.nan)


def _of_part(geometry: Geometry, part: MultiViewData) -> _Columns:
    return _of_blocks(geometry, geometry.located(part))


def _of_blocks(geometry: Geometry, blocks: Iterable[Located]) -> _Columns:
    parts = []
    for block in blocks:
        n_clusters = block.squares.shape[1]
        own = block.own_squares
        to_second = np.take_along_axis(block.squares, block.second[:, None], axis=1)[:, 0]
        with np.errstate(over="ignore"):
            ratio = np.exp((own - to_second) / max(geometry.spread.mean_square, geometry.floor))
        others = block.squares.copy()
        np.put_along_axis(others, block.labels[:, None], np.inf, axis=1)
        a, b = np.sqrt(own), np.sqrt(others.min(axis=1))
        largest = np.maximum(a, b)
        silhouettes = np.divide(b - a, largest, out=np.zeros_like(a), where=largest > 0)
        members = np.equal.outer(np.arange(n_clusters), block.labels).astype(float)
        finite = np.where(np.isinf(block.squares), 0.0, block.squares)
        parts.append(_Columns(block.confidence, block.second, ratio, silhouettes, members @ finite))
    return _joined(parts)


def _joined(parts: Sequence[_Columns]) -> _Columns:
    """Columns of all samples, and sums over all parts."""
    confidence, second, ratio, silhouettes, squares = zip(*parts, strict=True)
    return _Columns(
        np.concatenate(confidence),
        np.concatenate(second),
        np.concatenate(ratio),
        np.concatenate(silhouettes),
        np.sum(squares, axis=0),
    )
