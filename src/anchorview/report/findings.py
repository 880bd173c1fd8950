"""What inspection finds out about a fit, as far as the report shows it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from anchorview._utils.typing import Array
from anchorview.estimators.auto.consensus import DOUBTFUL_CONFIDENCE
from anchorview.inspection import cluster_markers
from anchorview.report import _adapters as inspection
from anchorview.report.checked_fit import CheckedFit

N_REPRESENTATIVES = 3
"""Typical samples per cluster."""

N_MARKERS = 3
"""Features per cluster and view."""

MAX_MARKER_ROWS = 5_000_000
"""Maximum number of rows of the table of markers; beyond, only the leading features of a cluster
are compared by view."""

MAX_REFIT_COST = 2e10
"""Maximum cost of the fits without one view, in samples x features x views x clusters; about ten
seconds. Beyond, they are left out."""

CONSENSUS = (
    "Confidence is the share of the partitions computed for the selection of settings that agree "
    "with a sample's cluster, with equal weights of the families of settings."
)
MEMBERSHIP = (
    "Confidence is a sample's membership in its cluster: large if it is much closer to the center "
    "of its own cluster than to all others."
)


@dataclass(frozen=True, eq=False)
class Findings:
    """Results of :mod:`anchorview.inspection`; None where the model or the data do not allow it."""

    clusters: pd.DataFrame
    """As returned by `cluster_summary`; without the views, only sizes."""
    markers: pd.DataFrame | None
    """The leading rows of `cluster_markers` of each cluster and view."""
    representatives: pd.DataFrame | None
    """As returned by `representatives`, with the column `row`."""
    confidence: Array | None
    """Of each sample."""
    second_labels: Array | None
    """Second-best cluster of each sample, or -1."""
    without_view: pd.DataFrame | None
    """As returned by `leave_one_view_out`."""
    left_out: Sequence[str]
    """Sentences on what was not computed, and why."""
    confidence_meaning: str

    @property
    def doubtful(self) -> Array | None:
        """Whether each sample is doubtful."""
        return None if self.confidence is None else self.confidence < DOUBTFUL_CONFIDENCE


def find(fit: CheckedFit) -> Findings:
    """Inspect a fit."""
    confidence, second_labels = _confidence(fit)
    clusters = pd.DataFrame({"size": fit.sizes, "share": fit.sizes / len(fit.labels)})
    markers = representatives = None
    if fit.data is not None:
        clusters = inspection.cluster_summary(fit.model, fit.data, n_features=1, n_medoids=1)
        clusters = clusters.reindex(range(fit.n_clusters))
        clusters["size"], clusters["share"] = fit.sizes, fit.sizes / len(fit.labels)
        representatives = inspection.representatives(fit.model, fit.data, N_REPRESENTATIVES)
        representatives["row"] = _rows(fit, representatives["sample"])
        markers = _leading_markers(fit)
    without_view, left_out = _without_view(fit)
    return Findings(
        clusters,
        markers,
        representatives,
        confidence,
        second_labels,
        without_view,
        left_out,
        CONSENSUS if fit.is_auto else MEMBERSHIP,
    )


def _confidence(fit: CheckedFit) -> tuple[Array | None, Array | None]:
    """Confidence and second-best cluster of each sample."""
    if fit.data is None and fit.embedding is None and not fit.is_auto:
        return None, None
    table = inspection.doubtful(fit.model, fit.data, n=len(fit.labels))
    rows = _rows(fit, table["sample"])
    confidence, second_labels = np.empty(len(rows)), np.empty(len(rows), int)
    confidence[rows] = table["confidence"]
    second_labels[rows] = table["second_cluster"].fillna(-1)
    return confidence, second_labels


def _rows(fit: CheckedFit, samples: "pd.Series[object]") -> Array:
    """Positions of samples that are given by id, if the samples have ids."""
    ids = fit.model.sample_ids_ if fit.data is None else fit.data.sample_ids
    return samples.to_numpy(int) if ids is None else ids.get_indexer(pd.Index(samples))


def _leading_markers(fit: CheckedFit) -> pd.DataFrame | None:
    if np.count_nonzero(fit.sizes) < 2:
        return None
    assert fit.data is not None
    n_rows = fit.n_clusters * fit.data.shape[1]
    top = None if n_rows <= MAX_MARKER_ROWS else MAX_MARKER_ROWS // fit.n_clusters
    markers = cluster_markers(fit.labels, fit.data, top=top)
    return markers.groupby(["cluster", "view"], sort=False).head(N_MARKERS)


def _without_view(fit: CheckedFit) -> tuple[pd.DataFrame | None, list[str]]:
    data = fit.data
    if data is None or len(data.views) < 2:
        return None, []
    cost = float(len(data)) * data.shape[1] * len(data.views) * fit.n_clusters
    if cost > MAX_REFIT_COST:
        return None, [
            "The results without each view are left out, since the model would be fitted once per "
            "view; anchorview.inspection.leave_one_view_out computes them."
        ]
    return inspection.leave_one_view_out(fit.model, data), []
