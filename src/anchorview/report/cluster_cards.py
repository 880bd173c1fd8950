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
from anchorview.report.sample_contents import SampleContents, SampleLink

MIN_EFFECT = 0.2
"""Features with a smaller effect, by convention less than a small one, are not on cards."""


@dataclass(frozen=True)
class Marker:
    """A feature that sets a cluster apart."""

    feature: str
    effect: str
    direction: str
    """``"up"`` or ``"down"``."""
    title: str


@dataclass(frozen=True)
class CardView:
    """What a view contributes to a cluster."""

    name: str
    share: float | None
    markers: Sequence[Marker]


@dataclass(frozen=True)
class Card:
    """A cluster."""

    cluster: int
    name: str
    color: str
    title: str
    size: int
    facts: Mapping[str, str]
    nearest: int | None
    views: Sequence[CardView]
    samples: Sequence[SampleLink]
    order_by_confidence: float
    order_by_separation: float


@dataclass(frozen=True)
class ClusterCards:
    """Cards of all clusters, in the order of the clusters."""

    cards: Sequence[Card]
    orders: Mapping[str, str]
    """What cards can be ordered by: value and name."""
    meanings: Mapping[str, str]
    """What the numbers on the cards are."""
    mapping: Mapping[str, Any]
    """What the file with new names says about the model; empty if it cannot be relabeled."""
    has_map: bool


def cluster_cards(
    fit: CheckedFit, findings: Findings, contents: SampleContents, meanings: Mapping[str, str]
) -> ClusterCards:
    """Make the cards of all clusters."""
    frame, clusters = findings.clusters, range(fit.n_clusters)
    sizes = frame["size"].tolist()
    confidence, separation, nearest = (
        frame[name].tolist() if name in frame else [np.nan] * fit.n_clusters
        for name in ("confidence", "separation", "nearest_cluster")
    )
    facts: list[dict[str, str]] = [{} for _ in clusters]
    classes, doubtful = _largest_classes(fit), doubtful_by_cluster(fit, findings)
    for cluster in clusters:
        if not np.isnan(confidence[cluster]):
            facts[cluster]["Mean confidence"] = percent(confidence[cluster])
        if doubtful is not None:
            facts[cluster]["Doubtful samples"] = f"{doubtful[cluster]:,}"
        if not np.isnan(separation[cluster]):
            facts[cluster]["Separation"] = f"{separation[cluster]:.2f}"
        if classes is not None:
            facts[cluster]["Largest class"] = classes[cluster]
    views, samples = _views_by_cluster(fit, findings), _samples_by_cluster(fit, findings)
    cards = [
        Card(
            cluster,
            fit.cluster_names[cluster],
            cluster_color(cluster),
            f"{sizes[cluster]:,} {'sample' if sizes[cluster] == 1 else 'samples'} "
            f"({percent(sizes[cluster] / len(fit.labels))})",
            sizes[cluster],
            facts[cluster],
            None if pd.isna(nearest[cluster]) else int(nearest[cluster]),
            views[cluster],
            [contents.link(row) for row in samples[cluster]],
            # Clusters of which nothing is known come last.
            float(np.nan_to_num(confidence[cluster], nan=np.inf)),
            float(np.nan_to_num(separation[cluster], nan=np.inf)),
        )
        for cluster in clusters
    ]
    orders = {"number": "number", "size": "largest first"}
    if "confidence" in frame:
        orders["confidence"] = "lowest confidence first"
    if "separation" in frame:
        orders["separation"] = "least separate first"
    return ClusterCards(cards, orders, meanings, mapping_header(fit.model), contents.on_map)


def percent(share: float) -> str:
    """Share as a person reads it: in percent, small ones with a decimal."""
    return f"{100 * share:.1f} %" if 0 < share < 0.0995 else f"{100 * share:.0f} %"


def _samples_by_cluster(fit: CheckedFit, findings: Findings) -> list[list[int]]:
    rows: list[list[int]] = [[] for _ in range(fit.n_clusters)]
    if findings.representatives is not None:
        pairs = findings.representatives[["cluster", "row"]].to_numpy(int).tolist()
        for cluster, row in pairs:
            rows[cluster].append(row)
    return rows


def _views_by_cluster(fit: CheckedFit, findings: Findings) -> list[list[CardView]]:
    """Views of each cluster with their markers, the view with the largest share first."""
    names = list(fit.view_names)
    shares = [findings.clusters.get(f"view:{name}") for name in names]
    if findings.markers is None and all(share is None for share in shares):
        return [[] for _ in range(fit.n_clusters)]
    markers = _markers(fit, findings)
    by_cluster = []
    for cluster in range(fit.n_clusters):
        views = [
            CardView(
                name,
                None if share is None or np.isnan(share[cluster]) else float(share[cluster]),
                markers.get((cluster, name), []),
            )
            for name, share in zip(names, shares, strict=True)
        ]
        by_cluster.append(sorted(views, key=lambda view: -(view.share or 0.0)))
    return by_cluster


def _markers(fit: CheckedFit, findings: Findings) -> dict[tuple[int, str], list[Marker]]:
    """Features of each cluster and view that stand out."""
    markers: dict[tuple[int, str], list[Marker]] = {}
    if findings.markers is None:
        return markers
    given = () if fit.data is None else zip(fit.data.names, fit.data.feature_names, strict=True)
    named = {view: names is not None for view, names in given}
    columns = ["cluster", "view", "feature", "effect", "mean_in", "mean_out"]
    rows: list[tuple[int, str, str, float, float, float]] = list(
        zip(*(findings.markers[column].tolist() for column in columns), strict=True)
    )
    for cluster, view, feature, effect, mean_in, mean_out in rows:
        if abs(effect) >= MIN_EFFECT:
            name = feature if named.get(view, True) else f"#{feature}"
            marker = Marker(
                name,
                f"{effect:+.1f}".replace("-", "−"),
                "up" if effect > 0 else "down",
                f"{name}: mean {mean_in:.4g} in the cluster, {mean_out:.4g} outside",
            )
            markers.setdefault((cluster, view), []).append(marker)
    return markers


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
