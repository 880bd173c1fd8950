"""The sections on the clusters: the map, how they look one by one, and against known classes."""

import numpy as np
import pandas as pd
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import silhouette_samples

from anchorview._utils.typing import Array
from anchorview.report.charts import bars, heat_map
from anchorview.report.colors import cluster_color
from anchorview.report.fit_facts import DOUBTFUL, UNKNOWN, Fitted
from anchorview.report.flat_map import flat_map, rows_of, share_of_clusters
from anchorview.report.map_chart import MOST_IN_LEGEND, map_chart
from anchorview.report.page import Chart, Part, Section, Table

SILHOUETTES = 3_000
"""Samples of which distances between all pairs are taken."""

MOST_BARS = 60
"""Clusters that are drawn as bars; the table has all."""

CHARTS = {
    "Samples": ("Samples", "0,0", ",.0f"),
    "Silhouette": ("Mean silhouette", "0.000", ".2f"),
    "Mean confidence": ("Mean confidence", "0.000", ".2f"),
    "Doubtful": ("Share of doubtful samples", "0.0%", ".1%"),
}
"""Columns of the table of clusters that are drawn: what they are called, how bokeh and how Python
write them."""

MOST_CLASSES = 50
"""Rows and columns of the confusion matrix."""


def map_section(fit: Fitted) -> Section:
    """Return the map of the embedding."""
    title = "Map of the samples"
    if fit.embedding is None:
        text = f"{fit.estimator} keeps no embedding of the samples, so there is no map of them."
        return Section(title, [], text)
    flat = flat_map(fit.embedding, fit.labels, normalize=fit.normalizes)
    n, drawn = len(fit.labels), len(flat.rows)
    chart = map_chart(flat, fit.labels, fit.ids, fit.confidence, fit.target)
    which = f"All {n:,} samples" if drawn == n else f"{drawn:,} of {n:,} samples"
    keys = "a click on the legend hides a cluster"
    if np.count_nonzero(fit.sizes) > MOST_IN_LEGEND:
        keys = "with so many clusters, several share a color"
    text = (
        "Each point is a sample in the color of its cluster. Samples that the model finds alike "
        "are near each other; distances between far groups, and the directions, mean nothing. "
        f"Point at a sample to see what it is; zoom with the tools above; {keys}."
    )
    description = (
        f"{which} in {fit.n_clusters} clusters, laid out flat by t-SNE from {_embedding(fit)}. The "
        "table of the clusters below has their sizes."
    )
    if drawn < n:
        description += (
            " Each cluster has its share of the points, but at least some; within it, samples in "
            "sparse regions are drawn rather than those in dense ones."
        )
    return Section(title, [Chart(chart, description)], text)


def _embedding(fit: Fitted) -> str:
    """What the map and silhouettes are made from, in words."""
    if fit.is_auto:
        return "the embedding of the best candidate (the clusters are a consensus of all)"
    return "the embedding that was clustered"


def silhouettes(fit: Fitted) -> tuple[Array, float] | None:
    """Mean silhouette of each cluster and of all samples; None if it cannot be had."""
    if fit.embedding is None:
        return None
    rows = share_of_clusters(fit.labels, SILHOUETTES, np.random.RandomState(0))
    labels = fit.labels[rows]
    if not 2 <= len(np.unique(labels)) < len(rows):
        return None
    values = silhouette_samples(rows_of(fit.embedding, rows, fit.normalizes), labels)
    sums = np.bincount(labels, values, minlength=fit.n_clusters)
    counts = np.bincount(labels, minlength=fit.n_clusters)
    means = np.divide(sums, counts, out=np.full(fit.n_clusters, np.nan), where=counts > 0)
    weights = np.where(counts > 0, fit.sizes, 0)
    return means, float(np.nansum(means * weights) / weights.sum())


def cluster_section(fit: Fitted, means: Array | None) -> Section:
    """Return sizes, silhouettes and confidence of the clusters."""
    clusters = np.arange(fit.n_clusters)
    columns: dict[str, Array] = {
        "Cluster": clusters,
        "Samples": fit.sizes,
        "Share": fit.sizes / len(fit.labels),
    }
    if means is not None:
        columns["Silhouette"] = means
    if fit.confidence is not None:
        columns["Mean confidence"] = _mean_by_cluster(fit, fit.confidence)
        columns["Doubtful"] = _mean_by_cluster(fit, fit.confidence < DOUBTFUL)
    table = pd.DataFrame(columns)
    parts: list[Part] = []
    largest = np.sort(np.argsort(-fit.sizes, kind="stable")[:MOST_BARS])
    colors = [cluster_color(int(cluster)) for cluster in largest]
    which = "each cluster" if len(largest) == len(clusters) else f"the {MOST_BARS} largest clusters"
    for column, (label, form, python_form) in CHARTS.items():
        if column in columns:
            values = np.asarray(columns[column], dtype=float)[largest]
            chart = bars(
                [f"cluster {cluster}" for cluster in largest],
                values,
                label,
                colors=colors,
                top=None if column == "Samples" else 1.0,
                form=form,
            )
            span = _range(values, python_form)
            parts.append(Chart(chart, f"{label} of {which}: {span}.", half=True))
    text = "How large the clusters are and how clearly each stands apart."
    if means is not None:
        text += (
            " A silhouette near 1 means that samples are much nearer to their own cluster than to "
            "the next; near 0 the clusters touch, and below it samples are nearer to another. It "
            f"is measured in {_embedding(fit)}."
        )
    if fit.confidence is not None:
        text += (
            " Confidence is the share of the partitions made for the choice of settings, each "
            "family of settings counting the same, that agree with a sample's cluster; samples "
            f"below {DOUBTFUL} are doubtful."
        )
    caption = "The clusters; a click on a heading sorts."
    return Section("Clusters", [Table(table, caption), *parts], text)


def _mean_by_cluster(fit: Fitted, values: Array) -> Array:
    sums = np.bincount(fit.labels, values, minlength=fit.n_clusters)
    return np.divide(sums, fit.sizes, out=np.full(fit.n_clusters, np.nan), where=fit.sizes > 0)


def _range(values: Array, form: str) -> str:
    if np.isnan(values).all():
        return "none could be had"
    return f"from {np.nanmin(values):{form}} to {np.nanmax(values):{form}}"


def confusion_section(fit: Fitted) -> Section:
    """Return the clusters against known classes."""
    assert fit.target is not None
    known = fit.target != UNKNOWN
    names, codes, counts = np.unique(fit.target[known], return_inverse=True, return_counts=True)
    table = np.zeros((fit.n_clusters, len(names)), dtype=int)
    np.add.at(table, (fit.labels[known], codes), 1)
    clusters = np.sort(np.argsort(-fit.sizes, kind="stable")[:MOST_CLASSES])
    classes = np.sort(np.argsort(-counts, kind="stable")[:MOST_CLASSES])
    matched_rows, matched = linear_sum_assignment(table[np.ix_(clusters, classes)], maximize=True)
    # Classes in the order of the clusters that they are matched to, those without one at the end.
    partner = dict(zip(matched.tolist(), clusters[matched_rows].tolist(), strict=True))
    order = sorted(range(len(classes)), key=lambda c: partner.get(c, fit.n_clusters + c))
    classes = classes[order]
    with_class = set(partner.values())
    clusters = np.array(sorted(clusters.tolist(), key=lambda c: (c not in with_class, c)))
    shares = table[np.ix_(clusters, classes)] / counts[classes]
    row_names = [f"cluster {cluster}" for cluster in clusters]
    class_names = names[classes].tolist()
    chart = heat_map(
        shares, row_names, class_names, value="Share of the class", row="Cluster", column="Class"
    )
    numbers = pd.DataFrame(table[np.ix_(clusters, classes)], columns=class_names)
    numbers.insert(0, "Cluster", row_names, allow_duplicates=True)
    description = (
        "Share of each class (column) that is in each cluster (row). A class that is one cluster "
        "has a single dark cell, and they lie on the diagonal."
    )
    if len(clusters) < fit.n_clusters or len(classes) < len(names):
        description += f" Only the {MOST_CLASSES} largest clusters and classes are shown."
    text = (
        "How the clusters compare with the classes that are known of the samples. The fit did not "
        "see them. Clusters are matched to classes one to one so that most samples agree."
    )
    if not known.all():
        text += f" {known.sum():,} of {len(known):,} samples have a class; the others do not count."
    return Section("Clusters and classes", [Chart(chart, description, numbers)], text)
