"""Batches and covariates in the estimators: their fit, new samples, and how well batches mix."""

import warnings
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.decomposition import KernelPCA
from sklearn.metrics import (
    adjusted_mutual_info_score,
    completeness_score,
    homogeneity_score,
    silhouette_score,
)
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import normalize
from sklearn.utils.random import sample_without_replacement

from anchorview._utils.linalg import quotients
from anchorview._utils.typing import Array
from anchorview.core.batch_correction import BatchCorrection, fit_correction
from anchorview.views.container import MultiViewData, concatenate_samples, dense_rows
from anchorview.views.fitted_views import FittedViews
from anchorview.views.row_source import RowSource
from anchorview.views.sample_design import SampleDesign

MAX_SAMPLES = 2000
"""Maximum number of samples for which neighbors are found."""

MAX_ENTRIES = 2**25
"""Maximum number of entries of the samples, as dense rows."""

N_NEIGHBORS, SAMPLES_PER_NEIGHBOR = 30, 10
"""Number of neighbors, or fewer so that there are this many samples for each."""

SAME = 0.7
"""Adjusted mutual information of batches and clusters, divided by the smaller entropy, from which
one of them follows from the other: 0.72 to 0.79 if a tenth of 2,000 samples in 2 to 10 batches are
in a random cluster, and 0 if clusters have the same shares in all batches."""

SAME_BEFORE = 0.5
"""Adjusted mutual information of batches and clusters of the views as given from which they are
much the same: 0.55 to 0.92 where classes were given as batches, in simulations and five of eight
real data sets; 0.2 to 0.4 in the three sets with clusters that are not the classes."""

NOTHING_LEFT = 0.05
"""Silhouette of clusters of the corrected views above that of normal noise below which nothing is
left: at most 0.035 in these cases, at least 0.07 (one of 18: 0.03) with strong batch effects."""


def _view_distances(data: MultiViewData, deviations: tuple[Array, ...]) -> Array:
    """Squared distances of samples: the mean over the standardized views that both have."""
    n = len(data)
    totals, shared = np.zeros((n, n)), np.zeros((n, n))
    for p, (view, deviation) in enumerate(zip(data.views, deviations, strict=True)):
        rows, factors = data.rows_with(p), quotients(1, deviation)
        # Centering, which would make sparse rows dense, does not change distances.
        if sparse.issparse(view):
            scaled = view[rows].astype(np.float64) @ sparse.diags_array(factors, format="csr")
        else:
            scaled = dense_rows(view, rows) * factors
        pairs = np.ix_(rows, rows)
        totals[pairs] += euclidean_distances(scaled, squared=True) / view.shape[1]
        shared[pairs] += 1
    return np.where(shared > 0, quotients(totals, shared), totals.max(initial=0) + 1)


def mixing(squared_distances: Array, codes: Array) -> float:
    """Share of neighbors from other batches, relative to that of samples in random order.

    About 1 if batches are mixed, 0 if each is by itself.
    """
    n = len(codes)
    sizes = np.bincount(codes)
    expected = float(np.mean((n - sizes[codes]) / max(n - 1, 1)))
    if not expected:
        return 1.0
    neighbors = NearestNeighbors(
        n_neighbors=max(1, min(N_NEIGHBORS, n // SAMPLES_PER_NEIGHBOR)), metric="precomputed"
    )
    near = neighbors.fit(squared_distances).kneighbors(return_distance=False)
    return float(np.mean(codes[near] != codes[:, None])) / expected


def confounding_sentence(labels: Array, codes: Array) -> str | None:
    """Sentence if clusters cannot be told from batches, else None."""
    several = len(np.unique(codes)) > 1 and len(np.unique(labels)) > 1
    if not several or adjusted_mutual_info_score(codes, labels, average_method="min") < SAME:
        return None
    by_cluster, by_batch = homogeneity_score(codes, labels), completeness_score(codes, labels)
    how = (
        "nearly every cluster lies within one batch"
        if by_cluster >= by_batch
        else "nearly every batch lies within one cluster"
    )
    return (
        f"Batches and clusters cannot be told apart: {how}, although batches were taken out. What "
        "distinguishes the clusters may be what distinguishes the batches. Check that every batch "
        "has samples of several kinds, or compare with a fit without batch."
    )


def _principal_coordinates(squared_distances: Array, k: int) -> Array:
    pca = KernelPCA(k, kernel="precomputed", eigen_solver="arpack", random_state=0)
    return pca.fit_transform(-squared_distances / 2)


UnknownBatch = Literal["error", "center"]


class BatchFit:
    """What the fit of an estimator knows about the batches of its samples."""

    def __init__(self, source: RowSource, *, scales: bool) -> None:
        """Learn to take out batches and covariates; they are taken out in the new source."""
        assert source.design is not None
        self.design: SampleDesign = source.design
        n, n_features = source.shape
        count = min(n, MAX_SAMPLES, max(MAX_SAMPLES // 10, MAX_ENTRIES // n_features))
        self._positions = np.sort(sample_without_replacement(n, count, random_state=0))
        """Positions of the samples for which neighbors are found."""
        self._codes = self.design.codes[self._positions]
        fitted = fit_correction(source, self.design, scales=scales, sampled=self._positions)
        self.correction, self.moments = fitted.correction, fitted.moments
        self._sample, self._deviations = concatenate_samples(*fitted.sample), fitted.deviations
        self.source = source.prepared(self.correction)

    @cached_property
    def _distances_before(self) -> Array:
        return _view_distances(self._sample, self._deviations)

    def mixing(self, embedding: Any) -> dict[str, float]:
        """How well batches mix in the standardized views as given, and in the embedding."""
        rows = normalize(self._of_sample(embedding).astype(np.float64))
        after = mixing(euclidean_distances(rows, squared=True), self._codes)
        return {"before": mixing(self._distances_before, self._codes), "after": after}

    def warn_if_confounded(self, labels: Any) -> None:
        """Warn if clusters cannot be told from batches, after the correction or before."""
        of_sample = self._of_sample(labels)
        sentence = confounding_sentence(of_sample, self._codes)
        sentence = sentence or self._removed_clusters_sentence(len(np.unique(of_sample)))
        if sentence is not None:
            warnings.warn(sentence, UserWarning, stacklevel=5)

    def _removed_clusters_sentence(self, k: int) -> str | None:
        """Sentence if batches are the `k` clusters of the views as given, else None.

        Strong batch effects are clusters of the views as given too, but leave others behind.
        """
        codes = self._codes
        if not (1 < k < len(codes) and len(np.unique(codes)) > 1):
            return None
        kmeans = KMeans(k, n_init=3, random_state=0)
        labels = kmeans.fit_predict(_principal_coordinates(self._distances_before, k))
        if adjusted_mutual_info_score(codes, labels, average_method="max") < SAME_BEFORE:
            return None
        deviations = tuple(view.deviation for view in self.correction.views)
        after = _view_distances(self.correction(self._sample), deviations)
        rows = _principal_coordinates(after, k)
        noise = np.random.default_rng(0).normal(size=rows.shape) * rows.std(axis=0)
        left, expected = (silhouette_score(x, kmeans.fit_predict(x)) for x in (rows, noise))
        if left > expected + NOTHING_LEFT:
            return None
        return (
            "Batches are much the same as the clusters of the views without correction, and little "
            "is left when batches are taken out: the clusters may be gone with them. If batch "
            "holds classes or conditions of interest, fit without it."
        )

    def _of_sample(self, rows: Any) -> Array:
        # In Dask, only these rows are computed.
        return np.asarray(rows[self._positions])


def correction_for(
    correction: BatchCorrection | None, source: RowSource, fitted: FittedViews, unknown_batch: str
) -> BatchCorrection | None:
    """Correction of new samples, which must come with what the fit was given; None without."""
    if unknown_batch not in ("error", "center"):
        raise ValueError(f"unknown_batch={unknown_batch!r} should be 'error' or 'center'.")
    if correction is None:
        if source.design is not None:
            raise ValueError(
                f"The samples come with batch or covariates, but {fitted.estimator} was fitted "
                "without."
            )
        return None
    design = correction.require_design(source.design)
    if unknown_batch == "center":
        return correction.completed(source, design, fitted.names)
    correction.require_known_batches(design)
    return correction


class BatchMixin:
    """Attributes of estimators that take out batches and covariates."""

    batch_scale: bool
    embedding_: Any
    labels_: Any
    _correction: BatchCorrection | None = None
    _mixing: dict[str, float] | None = None

    def _fit_batches(self, source: RowSource) -> tuple[RowSource, BatchFit | None]:
        """Source without batch effects and covariates, if there are any, and what was learned."""
        self._correction = self._mixing = None
        if source.design is None:
            return source, None
        fit = BatchFit(source, scales=self.batch_scale)
        self._correction = fit.correction
        return fit.source, fit

    def _judge_batches(self, fit: BatchFit | None) -> None:
        """Find how well batches mix, and warn if clusters cannot be told from them."""
        if fit is not None and fit.design.has_batches:
            self._mixing = fit.mixing(self.embedding_)
            fit.warn_if_confounded(self.labels_)

    @property
    def batches_(self) -> tuple[str, ...] | None:
        """Names of the batches that are taken out; None without any."""
        correction = self._correction
        return correction.batches if correction is not None and correction.has_batches else None

    @property
    def batch_mixing_(self) -> "pd.Series[float] | None":
        """Mixing of batches in the views as given, and in the embedding; None without batches."""
        if self._mixing is None:
            return None
        return pd.Series(self._mixing, name="mixing")
