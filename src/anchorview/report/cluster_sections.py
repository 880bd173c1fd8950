"""Sections on the clusters: map, cards, doubtful samples, known classes, other variables."""

import numpy as np
import pandas as pd
from scipy.optimize import linear_sum_assignment

from anchorview._utils.typing import Array
from anchorview.plotting.charts import HeatMap
from anchorview.report.checked_fit import UNKNOWN_CLASS, CheckedFit
from anchorview.report.findings import Findings, doubtful_by_cluster
from anchorview.report.page import Chart, Facts, Section, Table, Text
from anchorview.report.sample_contents import SampleContents
from anchorview.report.sample_map import SampleMap

N_DOUBTFUL = 30
"""Number of samples in the table of doubtful ones."""

MAX_CLASSES = 50
"""Maximum number of rows and of columns of the confusion matrix."""


def map_section(fit: CheckedFit, drawn: SampleMap | None) -> Section:
    """Return the section with the map of the samples."""
    title = "Map of the samples"
    if drawn is not None:
        return Section(title, [drawn])
    text = (
        f"There is no map of the samples: {fit.estimator_name} computes no embedding, and the "
        "report was written without the views."
    )
    return Section(title, [Text(text)])


def doubtful_section(fit: CheckedFit, findings: Findings, contents: SampleContents) -> Section:
    """Return the section with the most doubtful samples."""
    assert findings.certainty is not None
    confidence, doubtful = findings.certainty.confidence, findings.certainty.doubtful
    rows = np.lexsort((confidence, ~doubtful))[:N_DOUBTFUL]
    names = np.asarray(fit.cluster_names, dtype=object)
    second = findings.certainty.second_labels[rows]
    columns: dict[str, object] = {
        "Sample": [contents.link(row) for row in rows.tolist()],
        "Cluster": names[fit.labels[rows]],
        "Confidence (%)": np.floor(100 * confidence[rows]).astype(int),
        "Next cluster": np.where(second < 0, "–", names[second]),
    }
    if fit.classes is not None:
        columns["Known class"] = fit.classes[rows]
    text = (
        f"{doubtful.sum():,} of {len(fit.labels):,} samples are doubtful. Look at them before you "
        "rely on their cluster; the next cluster is the one they would go to otherwise."
    )
    caption = f"The {len(rows)} most doubtful samples"
    return Section("Doubtful samples", [Table(pd.DataFrame(columns), caption)], text)


def cluster_table(fit: CheckedFit, findings: Findings) -> Table:
    """Return the numbers of all clusters."""
    frame = findings.clusters
    columns: dict[str, object] = {
        "Cluster": list(fit.cluster_names),
        "Samples": frame["size"].to_numpy(),
        "Share of samples (%)": 100 * frame["share"].to_numpy(),
    }
    if "confidence" in frame:
        mean = frame["confidence"].to_numpy(float)
        columns["Mean confidence (%)"] = 100 * mean
    doubtful = doubtful_by_cluster(fit, findings)
    if doubtful is not None:
        columns["Doubtful samples"] = doubtful
    if "separation" in frame:
        columns["Separation"] = frame["separation"].to_numpy(float)
    if "nearest_cluster" in frame:
        nearest = frame["nearest_cluster"]
        columns["Nearest cluster"] = [
            "–" if pd.isna(other) else fit.cluster_names[int(other)] for other in nearest
        ]
    for column in frame:
        if str(column).startswith("view:"):
            name = str(column).removeprefix("view:")
            columns[f"Share of {name} (%)"] = 100 * frame[column].to_numpy(float)
    return Table(pd.DataFrame(columns), "The clusters; click on a column header to sort.")


def _matched_pairs(counts: Array) -> tuple[Array, Array]:
    """Clusters and classes in the order in which a confusion matrix shows them.

    Matched pairs are on the diagonal, in the order of the clusters, and the others follow. If there
    are more than MAX_CLASSES pairs, those are left out whose cluster and class differ least.
    """
    clusters, classes = linear_sum_assignment(counts, maximize=True)
    differing = counts.sum(axis=1)[clusters] + counts.sum(axis=0)[classes]
    differing = differing - 2 * counts[clusters, classes]
    shown = np.sort(np.argsort(-differing, kind="stable")[:MAX_CLASSES])
    rows, columns = (
        np.concatenate([matched[shown], np.setdiff1d(np.arange(size), matched)])[:MAX_CLASSES]
        for matched, size in zip((clusters, classes), counts.shape, strict=True)
    )
    return rows, columns


def confusion_section(fit: CheckedFit) -> Section:
    """Return the section that compares the clusters with known classes."""
    assert fit.classes is not None
    known = fit.classes != UNKNOWN_CLASS
    names, codes, class_sizes = np.unique(
        fit.classes[known], return_inverse=True, return_counts=True
    )
    counts = np.zeros((fit.n_clusters, len(names)), dtype=int)
    np.add.at(counts, (fit.labels[known], codes), 1)
    clusters, classes = _matched_pairs(counts)
    shown = counts[np.ix_(clusters, classes)]
    cluster_names = [f"cluster {fit.cluster_names[cluster]}" for cluster in clusters]
    class_names = names[classes].tolist()
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
        description += (
            f" Only {len(clusters)} of {fit.n_clusters} clusters and {len(classes)} of "
            f"{len(names)} classes are shown: those that differ most."
        )
    text = (
        "Comparison of the clusters with known classes, which the fit did not use. Clusters are "
        "matched to classes one to one such that as many samples as possible agree."
    )
    if not known.all():
        text += f" {known.sum():,} of {len(known):,} samples have a class; the others are ignored."
    scores = Facts({name: f"{score:.3f}" for name, score in fit.scores.items()})
    return Section("Clusters and classes", [scores, Chart(chart, description, table)], text)


COLUMNS = {
    "variable": "Variable",
    "kind": "Kind",
    "n": "Samples",
    "test": "Test",
    "statistic": "Statistic",
    "effect_name": "Measure",
    "effect": "Effect",
    "p_value": "p-value",
    "q_value": "q-value",
}

SIGNIFICANT = 0.05
"""False discovery rate below which the introduction counts a variable."""


def association_section(associations: pd.DataFrame) -> Section:
    """Return the section for a table of :func:`anchorview.inspection.associate`."""
    lacking = [column for column in COLUMNS if column not in associations]
    if lacking:
        raise ValueError(
            f"associations lacks the column {lacking[0]!r}. Give the table that "
            "anchorview.inspection.associate returns."
        )
    n_significant = int((associations["q_value"] < SIGNIFICANT).sum())
    text = (
        f"{n_significant} of {len(associations)} variables differ between clusters at a false "
        f"discovery rate of {SIGNIFICANT:.0%}. Effects are from 0, no association, to 1. The "
        "q-values are valid only for variables that the clusters were not computed from."
    )
    frame = associations[list(COLUMNS)].rename(columns=COLUMNS)
    return Section("Other variables", [Table(frame, "Association with the clusters")], text)
