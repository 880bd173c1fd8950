"""Sections on the clusters: map, properties of each cluster, comparison with known classes."""

import numpy as np
import pandas as pd
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import silhouette_samples

from anchorview._utils.typing import Array
from anchorview.estimators.auto.consensus import DOUBTFUL_CONFIDENCE
from anchorview.plotting.charts import BarChart, HeatMap, SampleMap
from anchorview.plotting.colors import cluster_color
from anchorview.plotting.map_layout import map_layout, read_rows, sample_clusters
from anchorview.report.bokeh_charts import MAX_LEGEND_CLUSTERS
from anchorview.report.checked_fit import UNKNOWN_CLASS, CheckedFit
from anchorview.report.page import Chart, Part, Section, Table

SILHOUETTE_SAMPLES = 3_000
"""Maximum number of samples for silhouettes, which need all pairwise distances."""

MAX_BARS = 60
"""Maximum number of clusters in bar charts; the table has all."""

MAX_CLASSES = 50
"""Maximum number of rows and of columns of the confusion matrix."""

BAR_CHARTS = {
    "Samples": ("Samples", "0,0", ",.0f"),
    "Silhouette": ("Mean silhouette", "0.000", ".2f"),
    "Mean confidence": ("Mean confidence", "0.000", ".2f"),
    "Doubtful": ("Fraction of doubtful samples", "0.0%", ".1%"),
}
"""Axis label, bokeh's and Python's number format of the columns that have a bar chart."""


def map_section(fit: CheckedFit) -> Section:
    """Return the section with the map of the samples."""
    title = "Map of the samples"
    if fit.embedding is None:
        text = f"There is no map of the samples: {fit.estimator_name} computes no embedding."
        return Section(title, [], text)
    rows, positions = map_layout(fit.embedding, fit.labels, normalize=fit.normalizes_embedding)
    chart = SampleMap(rows, positions, fit.labels, fit.sample_ids, fit.confidence, fit.classes)
    n, n_points = len(fit.labels), len(rows)
    drawn = f"All {n:,} samples" if n_points == n else f"{n_points:,} of {n:,} samples"
    legend = "click on the legend to hide a cluster"
    if np.count_nonzero(fit.sizes) > MAX_LEGEND_CLUSTERS:
        legend = "with this many clusters, some share a color"
    text = (
        "Each point is a sample in the color of its cluster. Samples that the model considers "
        "similar are close to each other; directions, and distances between distant groups, have "
        f"no meaning. Hover over a point for details; zoom with the tools above; {legend}."
    )
    description = (
        f"{drawn} in {fit.n_clusters} clusters, laid out by t-SNE from {_embedding_text(fit)}. The "
        "table of the clusters below has their sizes."
    )
    if n_points < n:
        description += (
            " Points are drawn in proportion to the sizes of the clusters, with a minimum for each "
            "cluster; within a cluster, samples in sparse regions are preferred."
        )
    return Section(title, [Chart(chart, description)], text)


def _embedding_text(fit: CheckedFit) -> str:
    if fit.is_auto:
        return "the embedding of the best candidate (the clusters are a consensus of all)"
    return "the embedding that was clustered"


def silhouettes(fit: CheckedFit) -> tuple[Array, float] | None:
    """Mean silhouette of each cluster and of all samples; None if they are undefined."""
    if fit.embedding is None:
        return None
    rows = sample_clusters(fit.labels, SILHOUETTE_SAMPLES, np.random.RandomState(0))
    labels = fit.labels[rows]
    if not 2 <= len(np.unique(labels)) < len(rows):
        return None
    points = read_rows(fit.embedding, rows, fit.normalizes_embedding)
    means = _cluster_means(silhouette_samples(points, labels), labels, fit.n_clusters)
    weights = np.where(np.isnan(means), 0, fit.sizes)
    return means, float(np.nansum(means * weights) / weights.sum())


def _cluster_means(values: Array, labels: Array, n_clusters: int) -> Array:
    """Mean of the values in each cluster; NaN for empty clusters."""
    sums = np.bincount(labels, values, minlength=n_clusters)
    counts = np.bincount(labels, minlength=n_clusters)
    return np.divide(sums, counts, out=np.full(n_clusters, np.nan), where=counts > 0)


def cluster_section(fit: CheckedFit, silhouette_means: Array | None) -> Section:
    """Return the section with sizes, silhouettes and confidence of the clusters."""
    columns: dict[str, Array] = {
        "Cluster": np.arange(fit.n_clusters),
        "Samples": fit.sizes,
        "Share": fit.sizes / len(fit.labels),
    }
    text = "Sizes of the clusters and how well they are separated."
    if silhouette_means is not None:
        columns["Silhouette"] = silhouette_means
        text += (
            " With a silhouette near 1, samples are much closer to their own cluster than to the "
            "next one; near 0, the clusters touch; below 0, samples are closer to another cluster. "
            f"Silhouettes are computed from {_embedding_text(fit)}."
        )
    if fit.confidence is not None:
        doubtful = fit.confidence < DOUBTFUL_CONFIDENCE
        columns["Mean confidence"] = _cluster_means(fit.confidence, fit.labels, fit.n_clusters)
        columns["Doubtful"] = _cluster_means(doubtful, fit.labels, fit.n_clusters)
        text += (
            " Confidence is the fraction of the partitions computed for the selection of settings "
            "that agree with a sample's cluster, with equal weights of the families of settings; "
            f"samples below {DOUBTFUL_CONFIDENCE} are doubtful."
        )
    shown = _largest(fit.sizes, MAX_BARS)
    which = f"the {MAX_BARS} largest clusters" if len(shown) < fit.n_clusters else "each cluster"
    parts: list[Part] = [
        Table(pd.DataFrame(columns), "The clusters; click on a column header to sort.")
    ]
    for column, (label, number_format, python_format) in BAR_CHARTS.items():
        if column in columns:
            values = np.asarray(columns[column], dtype=float)[shown]
            chart = BarChart(
                _cluster_names(shown),
                values,
                label,
                colors=[cluster_color(int(cluster)) for cluster in shown],
                x_max=None if column == "Samples" else 1.0,
                number_format=number_format,
            )
            extent = _extent(values, python_format)
            parts.append(Chart(chart, f"{label} of {which}: {extent}.", half=True))
    return Section("Clusters", parts, text)


def _largest(sizes: Array, count: int) -> Array:
    """Indices of the largest sizes, ascending."""
    return np.sort(np.argsort(-sizes, kind="stable")[:count])


def _cluster_names(clusters: Array) -> list[str]:
    return [f"cluster {cluster}" for cluster in clusters]


def _extent(values: Array, number_format: str) -> str:
    if np.isnan(values).all():
        return "undefined"
    return f"from {np.nanmin(values):{number_format}} to {np.nanmax(values):{number_format}}"


def confusion_section(fit: CheckedFit) -> Section:
    """Return the section that compares the clusters with known classes."""
    assert fit.classes is not None
    known = fit.classes != UNKNOWN_CLASS
    names, codes, class_sizes = np.unique(
        fit.classes[known], return_inverse=True, return_counts=True
    )
    counts = np.zeros((fit.n_clusters, len(names)), dtype=int)
    np.add.at(counts, (fit.labels[known], codes), 1)
    clusters, classes = _largest(fit.sizes, MAX_CLASSES), _largest(class_sizes, MAX_CLASSES)
    matched_rows, matched = linear_sum_assignment(counts[np.ix_(clusters, classes)], maximize=True)
    # Matched pairs are on the diagonal, in the order of the clusters; the others follow.
    partner = dict(zip(matched.tolist(), clusters[matched_rows].tolist(), strict=True))
    order = sorted(range(len(classes)), key=lambda c: partner.get(c, fit.n_clusters + c))
    classes = classes[order]
    clusters = np.array(sorted(clusters.tolist(), key=lambda c: (c not in partner.values(), c)))
    shown = counts[np.ix_(clusters, classes)]
    cluster_names, class_names = _cluster_names(clusters), names[classes].tolist()
    chart = HeatMap(
        shown / class_sizes[classes],
        cluster_names,
        class_names,
        value_label="Fraction of the class",
        row_label="Cluster",
        column_label="Class",
    )
    table = pd.DataFrame(shown, columns=class_names)
    table.insert(0, "Cluster", cluster_names, allow_duplicates=True)
    description = (
        "Fraction of each class (column) in each cluster (row). A class that forms a cluster of "
        "its own has a single dark cell, on the diagonal."
    )
    if len(clusters) < fit.n_clusters or len(classes) < len(names):
        description += f" Only the {MAX_CLASSES} largest clusters and classes are shown."
    text = (
        "Comparison of the clusters with known classes, which the fit did not use. Clusters are "
        "matched to classes one to one such that as many samples as possible agree."
    )
    if not known.all():
        text += f" {known.sum():,} of {len(known):,} samples have a class; the others are ignored."
    return Section("Clusters and classes", [Chart(chart, description, table)], text)
