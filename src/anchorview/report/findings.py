"""What inspection tells about a fit, as far as the report shows it."""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from anchorview._utils.typing import Array
from anchorview.estimators.auto.auto_dalmc import AutoDALMC
from anchorview.estimators.auto.settings import candidate_settings
from anchorview.estimators.dalmc import DALMC
from anchorview.inspection import cluster_markers, leave_one_view_out
from anchorview.inspection.labeled_parts import labeled_source
from anchorview.inspection.left_out_views import MAX_SAMPLES
from anchorview.inspection.summary import DistanceSums, summary_of
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

N_MARKERS = 3
"""Features per cluster and view."""

MAX_MARKER_ROWS = 5_000_000
"""Maximum number of rows of the table of markers; beyond, only the leading features of a cluster
are compared by view."""

MAX_REFIT_COST = 5e8
"""Maximum cost of the fits without one view, in samples x features x views x clusters of DALMC;
about 15 seconds on the digits. Beyond, they are left out."""

REFIT_BUDGET = "fast"
"""Budget of AutoDALMC in the fits without one view."""

BASELINE_COST = 12
"""Time of a baseline relative to DALMC, measured with OPMC on the digits."""


@dataclass(frozen=True, eq=False)
class Certainty:
    """Certainty of each sample, in the order of the fit."""

    confidence: Array
    second_labels: Array
    """The next cluster, to which the sample would go otherwise; -1 if there is none."""
    doubtful: Array
    meaning: str
    """What confidence is and which samples are doubtful, in words."""


@dataclass(frozen=True, eq=False)
class Findings:
    """Results of :mod:`anchorview.inspection`; None where the model or the data do not allow it."""

    clusters: pd.DataFrame
    """One row per cluster: `size` and `share`; if distances are known, `confidence`, `separation`
    and `nearest_cluster`; and `view:<name>`, the share of each view; as of `cluster_summary`."""
    markers: pd.DataFrame | None
    """The leading rows of `cluster_markers` of each cluster and view."""
    representatives: pd.DataFrame | None
    """Typical samples of each cluster, the nearest first, in the columns `cluster` and `row`."""
    certainty: Certainty | None
    without_view: pd.DataFrame | None
    """As returned by `leave_one_view_out`."""
    left_out: Sequence[str]
    """Sentences on what was not computed, and why."""


def doubtful_by_cluster(fit: CheckedFit, findings: Findings) -> Array | None:
    """Number of doubtful samples of each cluster."""
    if findings.certainty is None:
        return None
    return np.bincount(fit.labels[findings.certainty.doubtful], minlength=fit.n_clusters)


def find(fit: CheckedFit) -> Findings:
    """Inspect a fit."""
    clusters, certainty, typical = overview(fit)
    without_view, left_out = _without_view(fit)
    return Findings(clusters, _leading_markers(fit), typical, certainty, without_view, left_out)


def _leading_markers(fit: CheckedFit) -> pd.DataFrame | None:
    if fit.data is None or np.count_nonzero(fit.sizes) < 2:
        return None
    n_rows = fit.n_clusters * fit.data.shape[1]
    n_features = None if n_rows <= MAX_MARKER_ROWS else MAX_MARKER_ROWS // fit.n_clusters
    markers = cluster_markers(fit.labels, fit.data, n_features=n_features)
    return markers.groupby(["cluster", "view"], sort=False).head(N_MARKERS)


def _without_view(fit: CheckedFit) -> tuple[pd.DataFrame | None, list[str]]:
    data = fit.data
    if data is None or len(data.views) < 2:
        return None, []
    model = fit.model
    if fit.is_auto:
        # Only the fits without a view are affected, not the clusters of the model.
        model = copy(model).set_params(budget=REFIT_BUDGET)
        cost = float(len(candidate_settings(fit.n_clusters, len(data), REFIT_BUDGET)))
    else:
        cost = 1.0 if isinstance(model, DALMC) else float(BASELINE_COST)
    n_samples = min(len(data), MAX_SAMPLES)
    cost *= float(n_samples) * data.shape[1] * len(data.views) * fit.n_clusters
    if cost > MAX_REFIT_COST:
        return None, [
            "The results without each view are left out, since the model would be fitted once per "
            "view; anchorview.inspection.leave_one_view_out computes them."
        ]
    return leave_one_view_out(model, data), []


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
        explanation, rows = model.__anchorview_explain__(), np.asarray(fit.embedding)
        sums = DistanceSums.of_all(explanation.located_rows(rows))
        samples = samples_of_blocks(explanation.located_rows(rows), 0, Samples.in_order)
        return Overview(sums.table(pd.RangeIndex(fit.n_clusters)), _certainty(fit, samples))
    clusters = pd.DataFrame({"size": fit.sizes, "share": fit.sizes / len(fit.labels)})
    if fit.is_auto:
        return Overview(clusters, _consensus(model, model.confidence_, model.second_labels_))
    return Overview(clusters)


def _of_views(fit: CheckedFit, data: MultiViewData) -> Overview:
    model = fit.model
    labeled = labeled_source(model, data)
    if getattr(model, "cluster_names_", None) is not None:
        numbers = pd.Index(fit.cluster_names).get_indexer(labeled.clusters)
        labeled = replace(labeled, clusters=pd.Index(numbers))
    # Estimators that cannot predict do not know of clusters without samples.
    clusters = summary_of(labeled, 1, 1).reindex(range(fit.n_clusters))
    clusters["size"], clusters["share"] = fit.sizes, fit.sizes / len(fit.labels)
    samples = kept_samples(labeled, Samples.in_order, "confidence")
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
