"""How much each view supports the clusters of samples.

An embedding is a sum over views of linear maps, ``s = sum_p x_p W_p`` with the maps of the views
that the sample has, so what decides between clusters is a sum over views as well.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from anchorview._utils.threads import for_blocks
from anchorview._utils.typing import Array
from anchorview.core.batch_correction import PartPreparation
from anchorview.core.embed import Embedder
from anchorview.core.scaled_view import projected_rows
from anchorview.estimators.auto.auto_dalmc import AutoDALMC
from anchorview.estimators.auto.candidates import FittedFamily
from anchorview.estimators.auto.kmeans_runs import N_KMEANS_RUNS
from anchorview.inspection.cluster_geometry import (
    ConsensusGeometry,
    EmbeddingGeometry,
    geometry_of,
)
from anchorview.inspection.labeled_parts import LabeledSource, labeled_source
from anchorview.inspection.soft_memberships import part_rows, require_prediction, sample_index
from anchorview.views.container import MultiViewData, RowBlock, ViewsLike


def view_contributions(
    model: Any, X: ViewsLike, *, by: Literal["sample", "cluster"] = "sample"
) -> pd.DataFrame:
    r"""How much each view supports the cluster of a sample.

    The margin of a sample is the product of its normalized embedding :math:`s / \|s\|` with
    :math:`m_c - \bar m`, the center of its cluster minus the mean of the centers of the other
    clusters. The embedding is a sum over views, so the margin is the sum of the contributions of
    the views that the sample has. A positive contribution supports the cluster, a negative one
    supports others.

    For :class:`~anchorview.AutoDALMC` it is the mean over all partitions, weighted as in the
    consensus, where the center of a cluster is the mean of the centroids of a partition, weighted
    by the frequency of their labels in the cluster.

    Parameters
    ----------
    model : fitted DALMC or AutoDALMC
    X : views of samples, in any form that `predict` takes
        Samples may lack views.
    by : {"sample", "cluster"}, default="sample"
        A row for every sample, or the mean over the samples of each cluster that have the view.

    Returns
    -------
    contributions : DataFrame (n, n_views) or (n_clusters, n_views)
        NaN where a sample, or all of a cluster, lacks the view; otherwise 0 for a view that
        AutoDALMC has set aside.

    See Also
    --------
    leave_one_view_out : What the result would be without a view.

    Examples
    --------
    >>> from anchorview import DALMC, load_digits
    >>> from anchorview.inspection import view_contributions
    >>> views, _ = load_digits(return_X_y=True)
    >>> model = DALMC(n_clusters=10, random_state=0).fit(views)
    >>> contributions = view_contributions(model, views, by="cluster")
    >>> contributions.shape
    (10, 6)
    >>> bool((contributions.sum(axis=1) > 0).all())
    True
    """
    require_prediction(model, "contributions of views")
    if by not in ("sample", "cluster"):
        raise ValueError(f"by={by!r} should be 'sample' or 'cluster'.")
    labeled = labeled_source(model, X)
    function = contributions_of(model, labeled)
    names = pd.Index(model.view_names_in_, name="view")
    if by == "sample":
        rows = part_rows(labeled, partial(_rows_of, function), len(names), "contributions")
        return pd.DataFrame(rows, index=sample_index(labeled), columns=names)
    count = len(labeled.clusters)
    sums = labeled.source.reduce_as_is(
        partial(_sums_of, function, count), ContributionSums.merged, "contributions"
    )
    return pd.DataFrame(sums.means, index=labeled.clusters.rename("cluster"), columns=names)


class ContributionSums(NamedTuple):
    """Sums of contributions over the samples of each cluster, (n_clusters, n_views)."""

    totals: Array
    counts: Array

    @classmethod
    def of(cls, labels: Array, rows: Array, n_clusters: int) -> "ContributionSums":
        """Sums over some samples."""
        known = ~np.isnan(rows)
        columns = [np.where(own, values, 0) for own, values in zip(known.T, rows.T, strict=True)]
        return cls(
            np.column_stack([np.bincount(labels, own, n_clusters) for own in columns]),
            np.column_stack([np.bincount(labels, own, n_clusters) for own in known.T]),
        )

    def merged(self, other: "ContributionSums") -> "ContributionSums":
        """Sums over both."""
        return ContributionSums(self.totals + other.totals, self.counts + other.counts)

    @property
    def means(self) -> Array:
        """Means over the samples that have the view; NaN if there are none."""
        nothing = np.full_like(self.totals, np.nan)
        return np.divide(self.totals, self.counts, out=nothing, where=self.counts > 0)


@dataclass(frozen=True, eq=False)
class Readout:
    """An embedding, and the direction in it that supports each cluster."""

    family: FittedFamily | None
    """What is done with the views first; None for nothing."""
    embedder: Embedder
    directions: Array
    """Rows of clusters as they were fitted."""
    normalize: bool
    """Whether embeddings are divided by their norms."""

    def add_to(self, contributions: Array, data: MultiViewData, labels: Array) -> None:
        """Add the contributions of the views of all samples; `labels` as they were fitted."""
        data = data if self.family is None else self.family.transform(data)
        maps = {}
        for g, group in enumerate(data.groups):
            widths = [self.embedder.widths[p] for p in group.views]
            W = self.embedder.map_from(group.views).astype(data.dtype)
            maps[g] = np.split(W, np.cumsum(widths)[:-1])

        def work(block: RowBlock) -> None:
            terms = [
                projected_rows(data.views[p], block.rows, self.embedder.scalings[p], W).astype(
                    float
                )
                for p, W in zip(block.views, maps[block.group], strict=True)
            ]
            factor = self._factor(sum(terms[1:], terms[0]))
            directions = self.directions[labels[block.rows]]
            for p, term in zip(block.views, terms, strict=True):
                products = np.einsum("ij,ij->i", term, directions)
                contributions[block.rows, p] += products * factor

        for_blocks(work, data.blocks(), "contributions")

    def _factor(self, embedding: Array) -> Array:
        """Reciprocal norms, as `unit_rows` divides by them."""
        lengths = np.linalg.norm(embedding, axis=1)
        if not self.normalize or embedding.shape[1] == 1:
            return np.ones_like(lengths)
        return np.divide(1, lengths, out=np.ones_like(lengths), where=lengths > 0)


@dataclass(frozen=True, eq=False)
class Contributions:
    """Contributions of views to the margins of samples, by one or several embeddings."""

    prepare: PartPreparation
    geometry: EmbeddingGeometry | ConsensusGeometry
    readouts: tuple[Readout, ...]
    used: tuple[int, ...]
    """Positions of the views that are embedded."""

    def __call__(self, part: MultiViewData) -> tuple[Array, Array]:
        """Clusters of the samples of a part, and the contributions of their views."""
        data = self.prepare(part)
        fitted = self.geometry.fitted_labels(data)
        embedded = data.with_views(self.used)
        own = np.zeros((len(data), len(self.used)))
        for readout in self.readouts:
            readout.add_to(own, embedded, fitted)
        found = np.zeros((len(data), len(data.views)))
        found[:, self.used] = own
        if data.available is not None:
            found[~data.available] = np.nan
        relabeling = self.geometry.relabeling
        return fitted if relabeling is None else relabeling.clusters[fitted], found


def contributions_of(model: Any, labeled: LabeledSource) -> Contributions:
    """Contributions of views to the margins of a model's clusters."""
    geometry = geometry_of(model, labeled)
    assert isinstance(geometry, EmbeddingGeometry | ConsensusGeometry)
    used = tuple(range(model.n_views_in_))
    if not isinstance(model, AutoDALMC):
        rule = model._assignment
        directions = _directions(rule.centroids, model)
        readouts = [Readout(None, model._embedder, directions, rule.normalize)]
    else:
        used, consensus = model._used, model._consensus
        occupied = np.isfinite(consensus.offsets)
        runs = np.split(consensus.patterns, len(model._candidates), axis=1)
        readouts = []
        for candidate, patterns in zip(model._candidates, runs, strict=True):
            # Patterns contain the weights of the partitions, which sum to 1 over all candidates.
            centroids = np.stack([run.centroids for run in candidate.runs])
            assert len(centroids) == N_KMEANS_RUNS
            centers = np.einsum("cra,ral->cl", patterns, centroids)
            family = model._families[candidate.setting.family]
            directions = _directions(centers, model, occupied)
            readouts.append(Readout(family, candidate.embedder, directions, normalize=True))
    return Contributions(geometry.prepare, geometry, tuple(readouts), used)


def _directions(centers: Array, model: Any, occupied: Array | None = None) -> Array:
    """Centers minus the mean of the centers of other clusters; clusters may have been merged."""
    count = len(centers)
    relabeling = model._relabeling
    clusters = np.arange(count) if relabeling is None else relabeling.clusters
    others = (clusters[:, None] != clusters).astype(np.float64)
    if occupied is not None:
        others[:, ~occupied] = 0
    others /= np.maximum(others.sum(axis=1, keepdims=True), 1)
    return np.asarray(centers - others @ centers)


def _rows_of(function: Contributions, part: MultiViewData) -> Array:
    return function(part)[1]


def _sums_of(function: Contributions, n_clusters: int, part: MultiViewData) -> ContributionSums:
    return ContributionSums.of(*function(part), n_clusters)
