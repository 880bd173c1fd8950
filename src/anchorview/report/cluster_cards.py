"""Cards of the clusters: what each is, which features and views make it, who is typical of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from anchorview.report.checked_fit import UNKNOWN_CLASS, CheckedFit
from anchorview.report.colors import cluster_color
from anchorview.report.findings import Findings
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
    can_relabel: bool
    has_map: bool


def cluster_cards(fit: CheckedFit, findings: Findings, contents: SampleContents) -> ClusterCards:
    """Make the cards of all clusters."""
    classes = _largest_classes(fit)
    views = _views_by_cluster(fit, findings)
    samples: dict[int, list[int]] = {cluster: [] for cluster in range(fit.n_clusters)}
    if findings.representatives is not None:
        for cluster, row in findings.representatives[["cluster", "row"]].itertuples(index=False):
            samples[cluster].append(row)
    cards = []
    for cluster, summary in enumerate(findings.clusters.to_dict("records")):
        facts = {}
        if _known(summary, "confidence"):
            facts["Mean confidence"] = percent(summary["confidence"])
        if findings.doubtful is not None:
            facts["Doubtful samples"] = f"{int(findings.doubtful[fit.labels == cluster].sum()):,}"
        if _known(summary, "separation"):
            facts["Separation"] = f"{summary['separation']:.2f}"
        if classes is not None:
            facts["Largest class"] = classes[cluster]
        size = int(summary["size"])
        noun = "sample" if size == 1 else "samples"
        nearest = summary.get("nearest_cluster")
        cards.append(
            Card(
                cluster,
                fit.cluster_names[cluster],
                cluster_color(cluster),
                f"{size:,} {noun} ({percent(summary['share'])})",
                size,
                facts,
                None if nearest is None or pd.isna(nearest) else int(nearest),
                views[cluster],
                [contents.link(row) for row in samples[cluster]],
                summary["confidence"] if _known(summary, "confidence") else np.inf,
                summary["separation"] if _known(summary, "separation") else np.inf,
            )
        )
    orders = {"number": "number", "size": "largest first"}
    if "confidence" in findings.clusters:
        orders["confidence"] = "lowest confidence first"
    if "separation" in findings.clusters:
        orders["separation"] = "least separate first"
    return ClusterCards(cards, orders, hasattr(fit.model, "relabel"), contents.on_map)


def percent(share: float) -> str:
    """Share as a person reads it: in percent, small ones with a decimal."""
    return f"{100 * share:.1f} %" if 0 < share < 0.0995 else f"{100 * share:.0f} %"


def _known(summary: Mapping[str, object], column: str) -> bool:
    return column in summary and not pd.isna(summary[column])


def _views_by_cluster(fit: CheckedFit, findings: Findings) -> list[list[CardView]]:
    """Views of each cluster with their markers, the view with the largest share first."""
    found: dict[tuple[int, str], list[Marker]] = {}
    if findings.markers is not None:
        for marker in findings.markers.itertuples():
            if abs(marker.effect) >= MIN_EFFECT:
                found.setdefault((marker.cluster, marker.view), []).append(_marker(marker))
    names = list(fit.model.view_names_in_)
    shares = [findings.clusters.get(f"view:{name}") for name in names]
    by_cluster = []
    for cluster in range(fit.n_clusters):
        views = [
            CardView(
                name,
                None if share is None or pd.isna(share[cluster]) else float(share[cluster]),
                found.get((cluster, name), []),
            )
            for name, share in zip(names, shares, strict=True)
        ]
        views.sort(key=lambda view: -1.0 if view.share is None else view.share, reverse=True)
        known = findings.markers is not None or any(share is not None for share in shares)
        by_cluster.append(views if known else [])
    return by_cluster


def _marker(row: object) -> Marker:
    effect, feature = row.effect, row.feature
    name = str(feature) if isinstance(feature, str) else f"feature {feature}"
    return Marker(
        name,
        f"{effect:+.1f}".replace("-", "−"),
        "up" if effect > 0 else "down",
        f"{name}: mean {row.mean_in:.4g} in the cluster, {row.mean_out:.4g} outside",
    )


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
