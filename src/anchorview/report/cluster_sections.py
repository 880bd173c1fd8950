"""Sections on the clusters: cards, doubtful samples, known classes, other variables."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from anchorview._utils.text import number_text, percent, shorten
from anchorview.estimators.relabeling import mapping_header
from anchorview.inspection import PartitionComparison, ask, compare_partitions
from anchorview.inspection.comparison import COLUMNS
from anchorview.inspection.summary import MAX_NARROW, date_text, is_indicator, is_mostly_zero
from anchorview.plotting.axes import cluster_color, svg_of
from anchorview.plotting.heat_map_displays import PartitionComparisonDisplay
from anchorview.report.findings import CheckedFit, Findings
from anchorview.report.page import Chart, Facts, Folded, Interactive, Part, Section, Table, titled
from anchorview.report.sample_map import SampleContents
from anchorview.views.container import MultiViewData, dense_rows
from anchorview.views.table_columns import TableView

N_DOUBTFUL, N_ASKED = 30, 10
"""Number of samples in the table of doubtful ones, and of samples to label."""

MAX_CLASSES = 50
"""Maximum number of rows and of columns of the confusion matrix."""

SIGNIFICANT = 0.05
"""False discovery rate below which the introduction counts a variable."""

MIN_EFFECT = 0.2
"""Features with a smaller effect, by convention less than a small one, are not on cards."""


def cluster_cards(
    fit: CheckedFit, findings: Findings, contents: SampleContents
) -> list[dict[Any, Any]]:
    """Return what the cards of a level show: what each cluster is, typical samples, differences."""
    typical, described = findings.representatives, fit.described
    columns = ["size", "share", "confidence", "doubtful", "separation", "border", "nearest_cluster"]
    numbers = findings.clusters.reindex(columns=columns).astype(object)
    # What is the same everywhere tells nothing.
    for name in ("doubtful", "border"):
        if numbers[name].nunique() <= 1:
            numbers[name] = None
    cards = numbers.where(numbers.notna(), None).to_dict("records")
    markers = _rows_by(findings.markers, ["cluster", "view"])
    differences = _rows_by(findings.differences, ["cluster"])
    for cluster, card in enumerate(cards):
        leading = differences.get((cluster,), [])
        rows = [] if typical is None else typical["row"][typical["cluster"] == cluster].tolist()
        shares = findings.shares_of(cluster)
        views = dict.fromkeys([*shares.index, *(view for c, view in markers if c == cluster)])
        card |= {
            "cluster": cluster,
            "name": fit.cluster_names[cluster],
            "title": findings.titles[cluster],
            "titles": findings.titles,
            "color": cluster_color(cluster),
            "differences": [_difference(row, described) for row in leading],
            "views": [
                (
                    view.strip(),
                    shares.get(view),
                    [_difference(row, described) for row in markers.get((cluster, view), [])],
                )
                for view in views
            ],
            "samples": [(contents.link(row), _values_of(row, leading, fit)) for row in rows],
        }
    return cards


def cards_of_levels(
    levels: Mapping[str, tuple[CheckedFit, Findings]], chosen: str, contents: SampleContents
) -> Interactive:
    """Return the cards of all levels, by what these are called."""
    fit, findings = levels[chosen]
    # Thumbnails of the chosen level are embedded first.
    order = sorted(levels, key=lambda name: name != chosen)
    cards = {name: cluster_cards(*levels[name], contents) for name in order}
    values = {
        "levels": cards,
        "chosen": chosen,
        "findings": findings,
        # What the file with new names says about the model; empty if it cannot be relabeled.
        "mapping": mapping_header(fit.model),
        "has_map": contents.on_map,
        "tree": split_tree(fit.model, {f.n_clusters: g.titles for f, g in levels.values()}),
    }
    return Interactive("cluster_cards.html.jinja", ["clusters.js"], values)


def split_tree(model: Any, titles: Mapping[int, Sequence[str]]) -> list[dict[str, Any]]:
    """Clusters of the coarsest level with those that they split into; `titles` are by level."""
    tree = getattr(model, "tree_", None)
    if tree is None or not len(tree):
        return []
    sizes = {number: np.bincount(model.labels_at(number)) for number in model.levels_.index}

    def branch(number: int, cluster: int) -> dict[str, Any]:
        below = tree[(tree["parent_level"] == number) & (tree["parent"] == cluster)]
        known = titles.get(number)
        return {
            "title": f"cluster {cluster}" if known is None else known[cluster],
            "size": int(sizes[number][cluster]),
            "parts": [branch(*row) for row in below[["n_clusters", "cluster"]].to_numpy()],
        }

    coarsest = int(model.levels_.index.min())
    return [branch(coarsest, cluster) for cluster in range(len(sizes[coarsest]))]


def _rows_by(table: pd.DataFrame | None, by: list[str]) -> dict[Any, list[dict[Any, Any]]]:
    """Rows of a table of markers that stand out."""
    if table is None:
        return {}
    groups = table[table["effect"].abs() >= MIN_EFFECT].groupby(by, sort=False)
    return {key: group.to_dict("records") for key, group in groups}


def _difference(row: Mapping[Any, Any], data: MultiViewData | None) -> dict[str, Any]:
    """Marker as cards show it; of values that are mostly 0, the shares of samples that have any."""
    assert data is not None
    kind, means = row["kind"], (row["mean_in"], row["mean_out"])
    text: Callable[[float], str] = number_text
    if kind == "date":
        text = date_text
    elif kind == "level" or is_indicator(row):
        text = percent
    elif is_mostly_zero(row):
        means, text = (row["nonzero_in"], row["nonzero_out"]), percent
    unnamed = data.feature_names[data.names.index(row["view"])] is None
    name = row["feature"] if kind != "level" else row["feature"].replace("=", ": ", 1)
    return {
        "feature": f"#{name}" if unnamed else name.replace("_", " "),
        "inside": text(means[0]),
        "outside": text(means[1]),
    }


def _values_of(row: int, differences: Sequence[Mapping[Any, Any]], fit: CheckedFit) -> str:
    """Values of a typical sample in the columns by which its cluster differs."""
    data, texts = fit.described, list[str]()
    for marker in differences:
        assert data is not None
        p = data.names.index(marker["view"])
        column, names = marker["column"], data.feature_names[p]
        has = data.available is None or data.available[row, p]
        if has and names is not None and len(names) <= MAX_NARROW:
            view, j = data.views[p], list(names).index(column)
            is_table = isinstance(view, TableView)
            value: Any = (
                view.frame.iat[row, j] if is_table else dense_rows(view, np.array([row]))[0, j]
            )
            if pd.notna(value):
                texts.append(f"{column.replace('_', ' ')} {_value_text(value)}")
    return ", ".join(texts)


def _value_text(value: Any) -> str:
    if isinstance(value, pd.Timestamp):
        return str(value.date())
    is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    return number_text(float(value)) if is_number else shorten(value)


def doubtful_parts(fit: CheckedFit, findings: Findings, contents: SampleContents) -> list[Part]:
    """Return the table of the most doubtful samples; nothing if none is doubtful."""
    assert findings.certainty is not None
    confidence, doubtful = findings.certainty.confidence, findings.certainty.doubtful
    count = int(doubtful.sum())
    if not count:
        return []
    rows = np.lexsort((confidence, ~doubtful))[: min(N_DOUBTFUL, count)]
    # Position -1, of samples without a next cluster, is the last.
    names = np.array([*findings.titles, "–"], dtype=object)
    columns: dict[str, object] = {
        "Sample": [contents.link(row) for row in rows.tolist()],
        "Cluster": names[fit.labels[rows]],
        "Confidence (%)": np.floor(100 * confidence[rows]).astype(int),
        "Next cluster": names[findings.certainty.second_labels[rows]],
    }
    if fit.classes is not None:
        columns["Known class"] = fit.classes[rows]
    caption = "All doubtful samples, with the cluster that they would go to otherwise"
    if count > len(rows):
        caption = f"The {len(rows)} most doubtful of {count:,} samples; "
        caption += "anchorview.inspection.doubtful lists all"
    return [Folded("Doubtful samples", [Table(pd.DataFrame(columns), caption)])]


def labeling_section(fit: CheckedFit, findings: Findings, contents: SampleContents) -> Section:
    """Return the samples that are worth a label, with fields for their classes."""
    assert fit.data is not None
    asked, ids = ask(fit.model, fit.data, N_ASKED), fit.data.sample_ids
    clusters = np.asarray(findings.titles)[fit.clusters.get_indexer(pd.Index(asked["cluster"]))]
    keys = asked["sample"]
    rows = keys if ids is None else ids.get_indexer(pd.Index(keys))
    samples = [
        {"link": contents.link(int(row)), "key": str(key), "cluster": cluster, "stands_for": n}
        for row, key, cluster, n in zip(rows, keys, clusters, asked["stands_for"], strict=True)
    ]
    part = Interactive("labeling.html.jinja", ["labeling.js"], {"samples": samples})
    text = (
        "If you know classes of samples, these help most: type them, download the file, and fit "
        "again."
    )
    return Section("Samples to label", [part], text)


def cluster_table(fit: CheckedFit, findings: Findings) -> Table:
    """Return the numbers of all clusters."""
    titles = {
        "size": "Samples",
        "share": "Share of samples (%)",
        "confidence": "Mean confidence (%)",
        "doubtful": "Doubtful samples",
        "separation": "Separation",
        "border": "Evidence that it is a group",
        "nearest_cluster": "Nearest cluster",
        **{f"view:{name}": f"Share of {name} (%)" for name in fit.view_names},
    }
    frame = findings.clusters[[name for name in titles if name in findings.clusters]].copy()
    for name in map(str, frame):
        if titles[name].endswith("(%)"):
            frame[name] = 100 * frame[name].astype(float)
    if "nearest_cluster" in frame:
        names = dict(enumerate(findings.titles))
        frame["nearest_cluster"] = frame["nearest_cluster"].map(names).fillna("–")
    frame.insert(0, "Cluster", list(findings.titles))
    caption = "The clusters; click on a column header to sort."
    return Table(frame.rename(columns=titles), caption)


def confusion_section(fit: CheckedFit) -> Section:
    """Return the section that compares the clusters with known classes."""
    assert fit.classes is not None
    known = pd.notna(fit.classes)
    names = np.asarray(fit.cluster_names, dtype=object)
    comparison = compare_partitions(fit.classes[known], names[fit.labels[known]])
    shown = _shown_counts(comparison)
    display = PartitionComparisonDisplay(shown, names=("Class", "Cluster"))
    description = (
        "Number of samples of each class (row) in each cluster (column), colored by the fraction "
        "of the class. A class that is a cluster has a single dark cell, on the diagonal."
    )
    if len(shown) < (n_classes := len(comparison.table)):
        description += f" Only the {len(shown)} largest of {n_classes} classes are shown."
    text = (
        "Comparison of the clusters with known classes, which the fit did not use. Clusters are "
        "matched to classes one to one such that as many samples as possible agree."
    )
    if not known.all():
        text += f" {known.sum():,} of {len(known):,} samples have a class; the others are ignored."
    scores = Facts({name: f"{score:.3f}" for name, score in fit.scores.items()})
    chart = Chart(svg_of(display.plot), description, shown.rename_axis("Class").reset_index())
    return Section("Clusters and classes", [scores, chart], text)


def _shown_counts(comparison: PartitionComparison) -> pd.DataFrame:
    """Table with the matched rows first; of too many rows and columns, the largest."""
    table, matched = comparison.table, comparison.matching.index
    table = table.reindex(matched.append(table.index.difference(matched)))
    rows, columns = table.sum(axis=1).nlargest(MAX_CLASSES), table.sum().nlargest(MAX_CLASSES)
    return table.loc[table.index.isin(rows.index), table.columns.isin(columns.index)]


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
    frame = titled(associations[COLUMNS], n="Samples")
    return Section("Other variables", [Table(frame, "Association with the clusters")], text)
