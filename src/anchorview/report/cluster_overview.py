"""Clusters and the certainty of their samples, as the report shows them."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from anchorview._utils.typing import Array
from anchorview.estimators.auto.auto_dalmc import AutoDALMC
from anchorview.estimators.dalmc import DALMC
from anchorview.inspection.cluster_geometry import embedding_geometry
from anchorview.inspection.distance_sums import DistanceSums
from anchorview.inspection.labeled_parts import labeled_source
from anchorview.inspection.summary import summary_of
from anchorview.inspection.typical_samples import Samples, kept_samples, samples_of_blocks
from anchorview.report.checked_fit import CheckedFit
from anchorview.views.container import MultiViewData

N_REPRESENTATIVES = 3
"""Typical samples per cluster."""

NEXT_TO_OWN = 0.5
"""Samples are doubtful if their membership in the next cluster is more than this share of that in
their own. Memberships themselves depend on the number of clusters."""

CONSENSUS = (
    "The share of the candidate partitions that agree with the cluster of a sample, weighted as in "
    "the consensus. Samples below {:.0%} are doubtful."
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


class Overview(NamedTuple):
    """What is known about clusters and samples without looking at features."""

    clusters: pd.DataFrame
    """Indexed by cluster, with the columns of `cluster_summary` that are known."""
    certainty: Certainty | None = None
    typical: pd.DataFrame | None = None
    """The columns `cluster` and `row` of typical samples of each cluster, the nearest first."""


def overview(fit: CheckedFit) -> Overview:
    """Clusters, the certainty of their samples and typical samples, as far as they are known."""
    if fit.data is not None:
        return _of_views(fit, fit.data)
    model = fit.model
    if isinstance(model, DALMC) and fit.embedding is not None:
        geometry, rows = embedding_geometry(model), np.asarray(fit.embedding)
        sums = DistanceSums.of_all(geometry.located_rows(rows))
        samples = samples_of_blocks(geometry.located_rows(rows), 0, Samples.in_order)
        return Overview(sums.table(pd.RangeIndex(fit.n_clusters)), _certainty(fit, samples))
    clusters = pd.DataFrame({"size": fit.sizes, "share": fit.sizes / len(fit.labels)})
    if fit.is_auto and model.second_labels_ is not None:
        return Overview(clusters, _consensus(model, model.confidence_, model.second_labels_))
    return Overview(clusters)


def _of_views(fit: CheckedFit, data: MultiViewData) -> Overview:
    model = fit.model
    labeled = labeled_source(model, data)
    if getattr(model, "cluster_names_", None) is not None:
        numbers = pd.Index(fit.cluster_names).get_indexer(labeled.clusters)
        labeled = replace(labeled, clusters=pd.Index(numbers))
    # Estimators that cannot predict do not know of clusters without samples.
    clusters = summary_of(model, labeled, 1, 1).reindex(range(fit.n_clusters))
    clusters["size"], clusters["share"] = fit.sizes, fit.sizes / len(fit.labels)
    samples = kept_samples(model, labeled, Samples.in_order, "confidence")
    samples = samples._replace(second=labeled.clusters[samples.second].to_numpy())
    typical = samples.nearest(N_REPRESENTATIVES)
    rows = {"cluster": labeled.clusters[typical.labels], "row": typical.positions}
    return Overview(clusters, _certainty(fit, samples), pd.DataFrame(rows))


def _certainty(fit: CheckedFit, samples: Samples) -> Certainty:
    if fit.is_auto:
        return _consensus(fit.model, samples.confidence, samples.second)
    doubtful = samples.second_confidence > NEXT_TO_OWN * samples.confidence
    return Certainty(samples.confidence, samples.second, doubtful, MEMBERSHIP)


def _consensus(model: AutoDALMC, confidence: Array, second_labels: Array) -> Certainty:
    limit = model.confidence_threshold_
    return Certainty(confidence, second_labels, confidence < limit, CONSENSUS.format(limit))
