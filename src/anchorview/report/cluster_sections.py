"""Sections on the clusters: cards, doubtful samples, known classes, other variables."""

from typing import Any

import numpy as np
import pandas as pd

from anchorview._utils.text import percent
from anchorview.estimators.relabeling import mapping_header
from anchorview.inspection import PartitionComparison, associate, compare_partitions
from anchorview.inspection.markers import shares_text
from anchorview.plotting.axes import svg_of
from anchorview.plotting.colors import cluster_color
from anchorview.plotting.heat_map_displays import PartitionComparisonDisplay
from anchorview.report.findings import UNKNOWN_CLASS, CheckedFit, Findings
from anchorview.report.page import Chart, Facts, Interactive, Section, Table, Text
from anchorview.report.sample_map import SampleContents
from anchorview.views.table_columns import pandas_frame

N_DOUBTFUL = 30
"""Number of samples in the table of doubtful ones."""

MAX_CLASSES = 50
"""Maximum number of rows and of columns of the confusion matrix."""

MIN_EFFECT = 0.2
"""Features with a smaller effect, by convention less than a small one, are not on cards."""


def cluster_cards(fit: CheckedFit, findings: Findings, contents: SampleContents) -> Interactive:
    """Return cards: what each cluster is, its features and views, and typical samples."""
    typical, markers = findings.representatives, _markers(fit, findings)
    classes = _largest_classes(fit)
    columns = ["size", "share", "confidence", "doubtful", "separation", "border", "nearest_cluster"]
    numbers = findings.clusters.reindex(columns=columns).astype(object)
    cards = numbers.where(numbers.notna(), None).to_dict("records")
    shares = findings.clusters.reindex(columns=[f"view:{name}" for name in fit.view_names])
    has_shares = bool(findings.clusters.columns.isin(shares.columns).any())
    for cluster, card in enumerate(cards):
        views = [
            (name, None if np.isnan(share) else share, markers.get((cluster, name), []))
            for name, share in zip(fit.view_names, shares.iloc[cluster].astype(float), strict=True)
        ]
        rows = [] if typical is None else typical["row"][typical["cluster"] == cluster].tolist()
        card |= {
            "cluster": cluster,
            "name": fit.cluster_names[cluster],
            "color": cluster_color(cluster),
            "largest_class": None if classes is None else classes[cluster],
            # The strongest first: the largest share, or the largest effect of a feature.
            "views": sorted(views, key=_strength, reverse=True),
            "samples": [contents.link(row) for row in rows],
        }
    values = {
        "cards": cards,
        "findings": findings,
        "has_shares": has_shares,
        # What the file with new names says about the model; empty if it cannot be relabeled.
        "mapping": mapping_header(fit.model),
        "has_map": contents.on_map,
    }
    return Interactive("cluster_cards.html.jinja", ["clusters.js"], values)


def _strength(view: tuple[str, float | None, list[dict[Any, Any]]]) -> tuple[float, float]:
    _, share, markers = view
    return share or 0.0, max((abs(marker["effect"]) for marker in markers), default=0.0)


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
    return {key: list(map(_marker, group.to_dict("records"))) for key, group in groups}


def _marker(row: dict[Any, Any]) -> dict[Any, Any]:
    """Marker with what cards say of it: its shares or effect, and its means."""
    kind, values = row.get("kind"), [row["mean_in"], row["mean_out"]]
    if kind == "date":
        inside, outside = (str(pd.Timestamp(0) + pd.Timedelta(days=day))[:10] for day in values)
    else:
        inside, outside = (percent(x) if kind == "level" else f"{x:.4g}" for x in values)
    means = f"{'share' if kind == 'level' else 'mean'} {inside} in the cluster, {outside} outside"
    text = shares_text(row) or f"{row['effect']:+.1f}".replace("-", "−")
    return row | {"text": text, "means": means}


def _largest_classes(fit: CheckedFit) -> list[str] | None:
    """Most frequent known class of each cluster, with its share of those with a class."""
    if fit.classes is None:
        return None
    known = fit.classes != UNKNOWN_CLASS
    shares = pd.crosstab(fit.labels[known], fit.classes[known], normalize="index")
    texts = ["–"] * fit.n_clusters
    for cluster, share in shares.iterrows():
        texts[int(str(cluster))] = f"{share.idxmax()} ({percent(share.max())})"
    return texts


def doubtful_section(fit: CheckedFit, findings: Findings, contents: SampleContents) -> Section:
    """Return the section with the most doubtful samples."""
    assert findings.certainty is not None
    confidence, doubtful = findings.certainty.confidence, findings.certainty.doubtful
    count = int(doubtful.sum())
    if not count:
        return Section("Doubtful samples", [], "No sample is doubtful.")
    order = np.lexsort((confidence, ~doubtful))
    rows = order[: min(N_DOUBTFUL, count)]
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
        f"{count:,} of {len(fit.labels):,} samples {'is' if count == 1 else 'are'} doubtful. Look "
        "at them before you rely on their cluster; the next cluster is the one they would go to "
        "otherwise."
    )
    if count > len(rows):
        caption = f"The {len(rows)} most doubtful samples"
        end = f"{count - len(rows):,} more are doubtful; anchorview.inspection.doubtful lists them."
    else:
        caption = "All doubtful samples"
        end = "Doubtful samples end here."
        if count < len(order):
            end += f" The next one has a confidence of {confidence[order[count]]:.0%}."
    return Section("Doubtful samples", [Table(pd.DataFrame(columns), caption), Text(end)], text)


def cluster_table(fit: CheckedFit, findings: Findings) -> Table:
    """Return the numbers of all clusters."""
    titles = {
        "size": "Samples",
        "share": "Share of samples (%)",
        "confidence": "Mean confidence (%)",
        "doubtful": "Doubtful samples",
        "separation": "Separation",
        "nearest_cluster": "Nearest cluster",
        **{f"view:{name}": f"Share of {name} (%)" for name in fit.view_names},
    }
    frame = findings.clusters[[name for name in titles if name in findings.clusters]].copy()
    for name in map(str, frame):
        if titles[name].endswith("(%)"):
            frame[name] = 100 * frame[name].astype(float)
    if "nearest_cluster" in frame:
        nearest = frame["nearest_cluster"]
        frame["nearest_cluster"] = [
            "–" if pd.isna(other) else fit.cluster_names[int(other)] for other in nearest
        ]
    frame.insert(0, "Cluster", list(fit.cluster_names))
    caption = "The clusters; click on a column header to sort."
    return Table(frame.rename(columns=titles), caption)


def confusion_section(fit: CheckedFit) -> Section:
    """Return the section that compares the clusters with known classes."""
    assert fit.classes is not None
    known = fit.classes != UNKNOWN_CLASS
    names = np.asarray(fit.cluster_names, dtype=object)
    comparison = compare_partitions(fit.classes[known], names[fit.labels[known]])
    shown = _most_different(comparison)
    display = PartitionComparisonDisplay(shown, names=("Class", "Cluster"))
    description = (
        "Number of samples of each class (row) in each cluster (column), colored by the fraction "
        "of the class. A class that is a cluster has a single dark cell, on the diagonal."
    )
    if len(shown) < len(comparison.table):
        description += (
            f" Only {len(shown)} of {len(comparison.table)} classes are shown: those that differ "
            "most from clusters."
        )
    text = (
        "Comparison of the clusters with known classes, which the fit did not use. Clusters are "
        "matched to classes one to one such that as many samples as possible agree."
    )
    if not known.all():
        text += f" {known.sum():,} of {len(known):,} samples have a class; the others are ignored."
    scores = Facts({name: f"{score:.3f}" for name, score in fit.scores.items()})
    chart = Chart(svg_of(display.plot), description, shown.rename_axis("Class").reset_index())
    return Section("Clusters and classes", [scores, chart], text)


def _most_different(comparison: PartitionComparison) -> pd.DataFrame:
    """Table with the matched rows first, of too many those that differ most from their columns.

    Of too many columns, those that have the fewest of their samples are summed.
    """
    table, matching = comparison.table, comparison.matching
    matched = pd.Series({row: table.at[row, column] for row, column in matching.items()}, dtype=int)
    table = table.reindex(matching.index.append(table.index.difference(matching.index)))
    differing = table.sum(axis=1).sub(matched, fill_value=0)
    table = table[table.index.isin(differing.nlargest(MAX_CLASSES).index)]
    table = table.loc[:, table.any()]
    is_shown = table.columns.isin(table.sum().nlargest(MAX_CLASSES).index)
    if is_shown.all():
        return table
    rest = table.loc[:, ~is_shown].sum(axis=1).rename("other clusters")
    return pd.concat([table.loc[:, is_shown], rest], axis=1)


COLUMNS = ["variable", "kind", "n", "test", "statistic", "effect_name", "effect"]
COLUMNS += ["p_value", "q_value"]

SIGNIFICANT = 0.05
"""False discovery rate below which the introduction counts a variable."""


def associations_of(fit: CheckedFit, metadata: Any) -> pd.DataFrame:
    """Associations of the clusters with variables of the samples, which are matched by id."""
    columns = {
        name: fit.aligned(values, "metadata") for name, values in pandas_frame(metadata).items()
    }
    return associate(fit.labels, pd.DataFrame(columns))


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
    titles = {name: name.replace("_", " ").capitalize() for name in COLUMNS}
    frame = associations[COLUMNS].rename(columns=titles | {"n": "Samples"})
    return Section("Other variables", [Table(frame, "Association with the clusters")], text)
