"""Sections on the model: number of clusters, convergence, candidate settings, reproduction."""

import platform
from collections.abc import Sequence
from functools import partial
from importlib.metadata import version
from inspect import signature
from typing import Any

import numpy as np
import pandas as pd

from anchorview import __version__
from anchorview._utils.text import in_words
from anchorview.inspection.cluster_splits import LevelStep, Split, level_steps
from anchorview.plotting.axes import svg_of
from anchorview.plotting.curve_displays import ClusterNumberDisplay, ConvergenceDisplay
from anchorview.plotting.heat_map_displays import draw_agreement
from anchorview.report.findings import CheckedFit, Findings
from anchorview.report.page import Chart, Code, Facts, Folded, Part, Section, Table, Text

NEARLY_ONE = 0.1
"""Clusters with a smaller separation from the nearest are reported as nearly one with it."""

MAX_LISTED_SPLITS = 20
"""Maximum number of clusters of a level that are listed with their splits."""

MAX_CHILDREN = 8
"""Maximum number of parts of a cluster that are listed."""

PACKAGES = ("numpy", "scipy", "scikit-learn", "pandas")
"""Packages with versions that may affect results."""


def number_section(fit: CheckedFit, findings: Findings) -> Section:
    """Return the section on the number of clusters."""
    model = fit.model
    n_clusters = getattr(model, "n_clusters_fit_", fit.n_clusters)
    if getattr(model, "curve_", None) is None:
        text = f"{fit.model_name} chose {n_clusters} clusters."
        if hasattr(model, "n_clusters"):
            text = f"The number of clusters, {n_clusters}, was given."
        parts: list[Part] = [Text(text)]
    else:
        parts = [_level_chart(model, n_clusters, fit.other_levels), _level_table(model.levels_)]
        parts += map(_step_part, level_steps(model))
    if "separation" in findings.clusters:
        parts.append(Text(_touching_clusters(fit, findings.clusters)))
    return Section("Number of clusters", parts)


def _level_chart(model: Any, chosen: int, others: Sequence[int]) -> Chart:
    display = ClusterNumberDisplay(
        model.curve_, n_clusters=chosen, chance=model.chance_curve_, levels=others
    )
    dotted = f" Dotted: other levels, {in_words(others)}." if others else ""
    text = (
        f"Agreement between the families of settings per number of clusters; {chosen} was chosen "
        "(dashed). Support is the agreement beyond that on data without clusters; "
        "the number is chosen by support, and by how far the clusters are separated."
        f"{dotted}"
    )
    table = {
        "Clusters": model.curve_.index,
        "Agreement between families": model.curve_,
        "By chance": model.chance_curve_,
    }
    return Chart(svg_of(display.plot), text, pd.DataFrame(table))


def _level_table(levels: pd.DataFrame) -> Table:
    columns = ["support", "agreement", "chance", "chosen"]
    frame = levels[columns].rename_axis("clusters").reset_index()
    frame.columns = ["Clusters", "Support", "Agreement", "By chance", "Chosen"]
    highlight = pd.DataFrame("", index=frame.index, columns=frame.columns)
    highlight.loc[frame["Chosen"]] = "best"
    return Table(
        frame,
        "Levels: the chosen number of clusters, and the best ones with at most half and at least "
        "twice as many. Support is the agreement beyond chance, from 0 to 1. "
        "model.labels_at(n_clusters) has the clusters of each level.",
        highlight,
    )


def _step_part(step: LevelStep) -> Folded:
    """Return how the clusters of one level split at the next."""
    counts = {
        "split": len(step.splits),
        "unchanged": step.n_kept,
        "divided among the others": step.n_divided,
    }
    changes = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
    title = f"From {step.coarse} to {step.fine} clusters: {changes}"
    if not step.splits:
        return Folded(title, [Text("No cluster splits: samples move between clusters.")])
    shown = step.splits[:MAX_LISTED_SPLITS]
    caption = (
        f"Clusters of the level with {step.coarse} and the clusters they split into, with the "
        "number of samples, out of those that were compared, and the share of them that come from "
        "the cluster unless it is all. Agreement is that of the families of settings on the split, "
        "and support is the agreement beyond chance."
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
            "Support": [split.support for split in shown],
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


def _touching_clusters(fit: CheckedFit, frame: pd.DataFrame) -> str:
    """Sentence on clusters that are nearly one with their nearest."""
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


def convergence_parts(fit: CheckedFit) -> list[Part]:
    """Return the objective per iteration; nothing for models without one."""
    if not hasattr(fit.model, "objective_"):
        return []
    objective = np.asarray(fit.model.objective_, dtype=float)
    whose = " of the best candidate" if fit.is_auto else ""
    chart = Chart(
        svg_of(ConvergenceDisplay(objective).plot),
        f"Objective{whose} per iteration, from {objective[0]:.4g} to {objective[-1]:.4g}. A curve "
        "that is flat at its end has converged.",
        pd.DataFrame({"Iteration": np.arange(1, len(objective) + 1), "Objective": objective}),
    )
    return [Text(_stopping_reason(fit.model, len(objective))), chart]


def _stopping_reason(model: Any, n_values: int) -> str:
    n_iter, max_iter = getattr(model, "n_iter_", n_values), getattr(model, "max_iter", None)
    stopped = f"Stopped after {n_iter} iteration{'s' if n_iter != 1 else ''}"
    if max_iter is not None and n_iter >= max_iter:
        return f"{stopped}, at max_iter={max_iter}; increase it if the curve is not flat."
    return f"{stopped}." if max_iter is None else f"{stopped} of at most {max_iter}."


def candidate_parts(fit: CheckedFit) -> list[Part]:
    """Return the candidate settings of AutoDALMC and the agreement between them."""
    if not fit.is_auto:
        return []
    model = fit.model
    table = model.candidates_.reset_index(drop=True).rename_axis(None)
    if (table["error"] == "").all():
        table = table.drop(columns="error")
    table.insert(0, "candidate", np.arange(len(table)))
    table.columns = [str(column).replace("_", " ") for column in table.columns]
    highlight = pd.DataFrame("", index=table.index, columns=table.columns)
    highlight.loc[model.best_candidate_] = "best"
    text = (
        "Settings that were fitted without using any classes. The result is their consensus; "
        "agreement is the adjusted Rand index: 1 for equal partitions, 0 for chance."
    )
    caption = "The candidates; the best one that has an embedding is marked."
    return [Text(text), Table(table, caption, highlight), _agreement_chart(model)]


def _agreement_chart(model: Any) -> Chart:
    """Return the agreement between the families of candidates."""
    agreement = pd.DataFrame(np.asarray(model.agreement_, dtype=float))
    fitted = model.candidates_.iloc[: len(agreement)]
    families = (fitted["kind"] + ", " + fitted["scaling"]).to_numpy()
    agreement = agreement.groupby(families, sort=False).mean()
    agreement = agreement.T.groupby(families, sort=False).mean().T
    return Chart(
        svg_of(partial(draw_agreement, agreement)),
        "Mean agreement between the partitions of each pair of families of candidates; the "
        "diagonal has the agreement between the partitions of one family.",
        agreement.rename_axis("Family").reset_index(),
    )


def reproduction_parts(fit: CheckedFit, call: str | None) -> list[Part]:
    """Return the call and the versions of the packages."""
    parts: list[Part] = []
    if hasattr(fit.model, "get_params"):
        parts += [
            Text("Parameters that are not given have their default values."),
            Code(python_call(fit.model)),
        ]
    if call is not None:
        parts += [Text("Or from the shell:"), Code(call)]
    if not isinstance(getattr(fit.model, "random_state", 0), int | np.integer):
        parts.append(
            Text("random_state was not a fixed number, so another fit may differ slightly.")
        )
    versions = {"anchorview": __version__, "Python": platform.python_version()}
    versions |= {name: version(name) for name in PACKAGES}
    parts.append(Facts(versions))
    return parts


def python_call(model: Any) -> str:
    """Return Python code that repeats a fit."""
    name, module = type(model).__name__, type(model).__module__
    package = module.partition(".")[0]
    if package == "anchorview":
        module = "anchorview.compared" if ".compared" in module else "anchorview"
    elif "._" in module:
        # scikit-learn and others export the classes of private modules in their packages.
        module = module[: module.index("._")]
    values, settings = model.get_params(deep=False), []
    for parameter in signature(type(model)).parameters.values():
        value = values.get(parameter.name, parameter.default)
        if isinstance(value, np.generic | np.ndarray):
            value = value.tolist()
        # A RandomState cannot be written as code.
        if repr(value) != repr(parameter.default) and not isinstance(value, np.random.RandomState):
            settings.append(f"{parameter.name}={value!r}")
    code = f"model = {name}({', '.join(settings)}).fit(views)"
    return code if module == "__main__" else f"from {module} import {name}\n\n{code}"
