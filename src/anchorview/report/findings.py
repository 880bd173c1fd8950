"""What inspection finds out about a fit, as far as the report shows it."""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass

import numpy as np
import pandas as pd

from anchorview._utils.typing import Array
from anchorview.estimators.auto.settings import candidate_settings
from anchorview.estimators.dalmc import DALMC
from anchorview.inspection import cluster_markers, leave_one_view_out
from anchorview.inspection.left_out_views import MAX_SAMPLES
from anchorview.report.checked_fit import CheckedFit
from anchorview.report.cluster_overview import Certainty, overview

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
    top = None if n_rows <= MAX_MARKER_ROWS else MAX_MARKER_ROWS // fit.n_clusters
    markers = cluster_markers(fit.labels, fit.data, top=top)
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
