"""The number of clusters: how it was chosen, the other levels, and how clusters split."""

from typing import Any

import pandas as pd

from anchorview.estimators.auto.levels import TRIVIAL_NUMBER
from anchorview.inspection.cluster_splits import LevelStep, Split, level_steps
from anchorview.plotting.charts import Line, LineChart
from anchorview.plotting.colors import OTHER_COLOR
from anchorview.report.checked_fit import CheckedFit
from anchorview.report.findings import Findings, in_words
from anchorview.report.page import Chart, Folded, Part, Section, Table, Text

WEAK_SUPPORT = 0.25
"""Support below which a split is called weak."""

NEARLY_ONE = 0.1
"""Clusters with a smaller separation from the nearest are reported as nearly one with it."""

MAX_SPLITS = 20
"""Maximum number of clusters of a level whose splits are listed."""

MAX_CHILDREN = 8
"""Maximum number of parts of a cluster that are listed."""


def number_section(fit: CheckedFit, findings: Findings) -> Section:
    """Return the section on the number of clusters."""
    model = fit.model
    n_clusters = getattr(model, "n_clusters_fit_", fit.n_clusters)
    if getattr(model, "curve_", None) is None:
        text = f"{fit.estimator_name} chose {n_clusters} clusters."
        if hasattr(model, "n_clusters"):
            text = f"The number of clusters, {n_clusters}, was given."
        parts: list[Part] = [Text(text)]
    else:
        parts = [_chart(model, n_clusters), _level_table(model.levels_)]
        parts += map(_step_part, level_steps(model))
    touching = _touching_clusters(fit, findings)
    if touching:
        parts.append(Text(touching))
    return Section("Number of clusters", parts)


def _chart(model: Any, chosen: int) -> Chart:
    curve, chance, levels = model.curve_, model.chance_curve_, model.levels_
    numbers = curve.index.tolist()
    others = levels.index[~levels["chosen"]].tolist()
    chart = LineChart(
        [
            Line(numbers, curve.tolist(), "agreement"),
            Line(numbers, chance.tolist(), "by chance", color=OTHER_COLOR),
        ],
        "Number of clusters",
        "Agreement between families",
        marked_x=chosen,
        also_marked=others,
    )
    dotted = f" Dotted: other levels, {in_words(others)}." if others else ""
    text = (
        f"Agreement between the families of settings per number of clusters; {chosen} was chosen "
        "(dashed). Support is the agreement beyond that on data without clusters; "
        f"{TRIVIAL_NUMBER} clusters are chosen only if they are given and clearly better than all "
        f"larger numbers.{dotted}"
    )
    table = {"Clusters": numbers, "Agreement between families": curve, "By chance": chance}
    return Chart(chart, text, pd.DataFrame(table))


def _level_table(levels: pd.DataFrame) -> Table:
    columns = ["support", "agreement", "chance", "prominence", "chosen"]
    frame = levels[columns].rename_axis("clusters").reset_index()
    frame.columns = ["Clusters", "Support", "Agreement", "By chance", "Prominence", "Chosen"]
    highlight = pd.DataFrame("", index=frame.index, columns=frame.columns)
    highlight.loc[frame["Chosen"]] = "best"
    return Table(
        frame,
        "Levels: numbers of clusters with more support than those near them. Support is the "
        "agreement beyond chance, from 0 to 1; prominence is how far it rises above the numbers "
        "between this level and a better one. model.labels_at(n_clusters) has the clusters of each "
        "level.",
        highlight,
    )


def _step_part(step: LevelStep) -> Folded:
    """Return how the clusters of one level split at the next."""
    verb = "splits" if len(step.splits) == 1 else "split"
    title = f"From {step.coarse} to {step.fine} clusters: {len(step.splits)} {verb}"
    if step.n_kept:
        title += f", {step.n_kept} {'remains' if step.n_kept == 1 else 'remain'}"
    if step.n_divided:
        title += f", {step.n_divided} divided among the others"
    if not step.splits:
        return Folded(title, [Text("No cluster splits: samples move between clusters.")])
    shown = step.splits[:MAX_SPLITS]
    caption = (
        f"Clusters of the level with {step.coarse} and the clusters they split into, with the "
        "number of samples, out of those that were compared, and the share of them that come from "
        "the cluster unless it is all. Agreement is that of the families of settings on the split."
    )
    if len(shown) < len(step.splits):
        caption += (
            f" Only {len(shown)} of {len(step.splits)} are shown, those with the most support; "
            "model.tree_ has all."
        )
    frame = pd.DataFrame(
        {
            f"Cluster of {step.coarse}": [split.parent for split in shown],
            "Number": [len(split.children) for split in shown],
            f"Clusters of {step.fine}": [_children(split) for split in shown],
            "Agreement": [split.agreement for split in shown],
            "By chance": [split.chance for split in shown],
            "Split": [_strength(split.support) for split in shown],
        }
    )
    return Folded(title, [Table(frame, caption)])


def _children(split: Split) -> str:
    texts = []
    for name, size, overlap in split.children[:MAX_CHILDREN]:
        share = "" if overlap > 0.995 else f", {overlap:.0%}"
        texts.append(f"{name} ({size:,}{share})")
    left_out = len(split.children) - len(texts)
    return "; ".join([*texts, f"{left_out} more"] if left_out else texts)


def _strength(support: float) -> str:
    if support == 0:
        return "no support"
    return "weak support" if support < WEAK_SUPPORT else "clear support"


def _touching_clusters(fit: CheckedFit, findings: Findings) -> str:
    """Sentence on clusters that are nearly one with their nearest."""
    frame = findings.clusters
    if "separation" not in frame:
        return ""
    close = frame[frame["separation"] < NEARLY_ONE].sort_values("separation")
    if close.empty:
        return f"No cluster has a separation below {NEARLY_ONE}: none is nearly one with another."
    nearest = close["nearest_cluster"].astype(int)
    # Two clusters may each be the nearest of the other.
    distinct = dict.fromkeys(tuple(sorted(pair)) for pair in zip(close.index, nearest, strict=True))
    pairs = [" with ".join(fit.cluster_names[c] for c in pair) for pair in distinct]
    return (
        f"Clusters with a separation below {NEARLY_ONE} are nearly one with their nearest: "
        f"{in_words(pairs)}. Merge them above if they mean the same to you."
    )
