"""Cards of the clusters: what each is, which features and views make it, who is typical of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from anchorview.estimators.relabeling import mapping_header
from anchorview.plotting.colors import cluster_color
from anchorview.report.checked_fit import UNKNOWN_CLASS, CheckedFit
from anchorview.report.findings import Findings, doubtful_by_cluster
from anchorview.report.sample_contents import SampleContents

MIN_EFFECT = 0.2
"""Features with a smaller effect, by convention less than a small one, are not on cards."""


@dataclass(frozen=True)
class ClusterCards:
    """Cards of all clusters, in the order of the clusters."""

    cards: Sequence[Mapping[Any, Any]]
    """What the template shows of each cluster."""
    findings: Findings
    has_shares: bool
    """Whether shares of the views are known."""
    mapping: Mapping[str, Any]
    """What the file with new names says about the model; empty if it cannot be relabeled."""
    has_map: bool


def cluster_cards(fit: CheckedFit, findings: Findings, contents: SampleContents) -> ClusterCards:
    """Make the cards of all clusters."""
    typical, markers = findings.representatives, _markers(fit, findings)
    classes, doubtful = _largest_classes(fit), doubtful_by_cluster(fit, findings)
    columns = ["size", "share", "confidence", "separation", "nearest_cluster"]
    numbers = findings.clusters.reindex(columns=columns).astype(object)
    cards = numbers.where(numbers.notna(), None).to_dict("records")
    shares = findings.clusters.reindex(columns=[f"view:{name}" for name in fit.view_names])
    has_shares = bool(findings.clusters.columns.isin(shares.columns).any())
    for cluster, card in enumerate(cards):
        # The view with the largest share first.
        views = [
            (name, None if np.isnan(share) else share, markers.get((cluster, name), []))
            for name, share in zip(fit.view_names, shares.iloc[cluster].astype(float), strict=True)
        ]
        rows = [] if typical is None else typical["row"][typical["cluster"] == cluster].tolist()
        card |= {
            "cluster": cluster,
            "name": fit.cluster_names[cluster],
            "color": cluster_color(cluster),
            "doubtful": None if doubtful is None else doubtful[cluster],
            "largest_class": None if classes is None else classes[cluster],
            "views": sorted(views, key=lambda view: -(view[1] or 0.0)),
            "samples": [contents.link(row) for row in rows],
        }
    mapping = mapping_header(fit.model)
    return ClusterCards(cards, findings, has_shares, mapping, contents.on_map)


def percent(share: float) -> str:
    """Share as a person reads it: in percent, small ones with a decimal."""
    return f"{100 * share:.1f} %" if 0 < share < 0.0995 else f"{100 * share:.0f} %"


def _markers(fit: CheckedFit, findings: Findings) -> dict[Any, list[dict[Any, Any]]]:
    """Rows of the table of markers that stand out, by cluster and view."""
    if findings.markers is None:
        return {}
    views = () if fit.data is None else zip(fit.data.names, fit.data.feature_names, strict=True)
    unnamed = {view for view, names in views if names is None}
    rows = findings.markers[findings.markers["effect"].abs() >= MIN_EFFECT]
    prefixes = ["#" if view in unnamed else "" for view in rows["view"]]
    rows = rows.assign(feature=prefixes + rows["feature"])
    groups = rows.groupby(["cluster", "view"], sort=False)
    return {key: group.to_dict("records") for key, group in groups}


def _largest_classes(fit: CheckedFit) -> list[str] | None:
    """Most frequent known class of each cluster, with its share of those with a class."""
    if fit.classes is None:
        return None
    known = fit.classes != UNKNOWN_CLASS
    counts = pd.crosstab(fit.labels[known], fit.classes[known])
    texts = ["–"] * fit.n_clusters
    for cluster, row in zip(counts.index.tolist(), counts.to_numpy(), strict=True):
        largest = int(row.argmax())
        texts[cluster] = f"{counts.columns[largest]} ({percent(row[largest] / row.sum())})"
    return texts
