"""What inspection finds out about a fit, as far as the report shows it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from anchorview._utils.typing import Array
from anchorview.inspection import cluster_markers, representatives
from anchorview.report._adapters import cluster_summary, leave_one_view_out
from anchorview.report.certainty import Certainty, certainty
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


@dataclass(frozen=True, eq=False)
class Findings:
    """Results of :mod:`anchorview.inspection`; None where the model or the data do not allow it."""

    clusters: pd.DataFrame
    """As returned by `cluster_summary`, by number; without the views, only sizes."""
    markers: pd.DataFrame | None
    """The leading rows of `cluster_markers` of each cluster and view."""
    representatives: pd.DataFrame | None
    """As returned by `representatives`, with clusters by number, and the column `row`."""
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
    clusters = pd.DataFrame({"size": fit.sizes, "share": fit.sizes / len(fit.labels)})
    typical = markers = None
    if fit.data is not None:
        summary = cluster_summary(fit.model, fit.data, n_features=1, n_medoids=1)
        summary.index = pd.Index(_numbers(fit, summary.index))
        summary["nearest_cluster"] = _numbers(fit, summary["nearest_cluster"])
        # Empty clusters are not in the table.
        clusters = summary.reindex(range(fit.n_clusters)).assign(**clusters)
        typical = representatives(fit.model, fit.data, N_REPRESENTATIVES)
        typical["cluster"] = _numbers(fit, typical["cluster"])
        ids = fit.data.sample_ids
        samples = typical["sample"]
        typical["row"] = samples if ids is None else ids.get_indexer(pd.Index(samples))
        markers = _leading_markers(fit)
    without_view, left_out = _without_view(fit)
    return Findings(clusters, markers, typical, certainty(fit), without_view, left_out)


def _numbers(fit: CheckedFit, clusters: Any) -> Array:
    """Numbers of clusters, which tables have by name if they were named; NaN if there is none."""
    values = pd.Series(clusters)
    if getattr(fit.model, "cluster_names_", None) is not None:
        values = values.map({name: number for number, name in enumerate(fit.cluster_names)})
    return pd.to_numeric(values).to_numpy()


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
    return leave_one_view_out(fit.model, data), []
