"""Sections on the model: views, number of clusters, candidates, reproduction."""

import platform
from collections.abc import Sequence
from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from anchorview import __version__
from anchorview._utils.text import full_sentences, in_words, percent
from anchorview.estimators.representation import (
    apart_sentences,
    batch_sentences,
    change_sentences,
    edge_sentences,
    structure_sentences,
    table_descriptions,
    view_sentences,
)
from anchorview.inspection.view_contributions import MAX_REFIT_SAMPLES
from anchorview.plotting.axes import svg_of
from anchorview.plotting.bar_displays import draw_bars
from anchorview.plotting.curve_displays import ClusterNumberDisplay
from anchorview.report.findings import REFIT_BUDGET, CheckedFit, Findings
from anchorview.report.page import (
    Chart,
    Code,
    Facts,
    Folded,
    Interactive,
    Part,
    Section,
    Table,
    Text,
    titled,
)
from anchorview.report.sample_map import pattern_names
from anchorview.views.container import MultiViewData

PACKAGES = ("numpy", "scipy", "scikit-learn", "pandas")
"""Packages with versions that may affect results."""


def trust_sentences(fit: CheckedFit, findings: Findings) -> Text:
    """Return all that is known about how sure the result is, in figures."""
    model = fit.model
    sentences = [*apart_sentences(model), *structure_sentences(model, findings.titles)]
    sentences += [*edge_sentences(model), *view_sentences(model), *batch_sentences(model)]
    if findings.certainty is not None:
        doubtful = int(findings.certainty.doubtful.sum())
        sentences.append(f"{doubtful:,} of {len(fit.labels):,} samples are doubtful")
    return Text(" ".join(full_sentences(sentences)))


def number_parts(fit: CheckedFit) -> list[Part]:
    """Return what is known about the number of clusters."""
    model = fit.model
    n_clusters = getattr(model, "n_clusters_fit_", fit.n_clusters)
    if getattr(model, "curve_", None) is not None:
        return [_level_chart(model, n_clusters, fit.other_levels)]
    if hasattr(model, "n_clusters"):
        return [Text(f"The number of clusters, {n_clusters}, was given.")]
    return [Text(f"{fit.model_name} chose {n_clusters} clusters.")]


def _level_chart(model: Any, chosen: int, others: Sequence[int]) -> Chart:
    display = ClusterNumberDisplay(
        model.curve_, n_clusters=chosen, chance=model.chance_curve_, levels=others
    )
    text = (
        f"Agreement between the families of settings per number of clusters; {chosen} was chosen "
        "(dashed). Support is the agreement beyond that on data without clusters; "
        "the number is chosen by support, and by how far the clusters are separated."
    )
    if others:
        text += f" Dotted: other levels, {in_words(others)}; model.labels_at has their clusters."
    table = {
        "Agreement between families": model.curve_,
        "By chance": model.chance_curve_,
        "Support of the level": model.levels_["support"],
    }
    frame = pd.DataFrame(table).rename_axis("Clusters").reset_index()
    return Chart(svg_of(display.plot), text, frame)


def change_section(model: Any) -> Section:
    """Return what became of the clusters of the reference of a fit."""
    titles = {"name": "Cluster", "clusters": "From, or now in"}
    frame = titled(model.changes_.reset_index(drop=True), **titles)
    text = (
        "Moved is the share of samples in either cluster that are not in both; by chance, that "
        "between two fits to the same samples with different seeds."
    )
    sentences = full_sentences(change_sentences(model))
    return Section("Changes", [Table(frame, text)], " ".join(sentences))


MAX_CHARTED_PATTERNS = 20
"""Maximum number of patterns of available views in the chart; the others are summed."""

CHANGES = {"entirely different": -np.inf, "different": 0.3, "similar": 0.6, "the same": 0.9}
"""How a result differs, by the least agreement."""


def view_section(fit: CheckedFit, findings: Findings) -> Section:
    """Return the section on what each view contributes, with numbers folded."""
    shares, refits = findings.shares, findings.without_view
    names = [name for name in shares.index if name in fit.view_names] or list(fit.view_names)
    used = getattr(fit.model, "views_", {}).get("used", pd.Series(True, fit.view_names))
    columns: dict[str, Any] = {"View": names, "Used": used.loc[names].tolist()}
    caption = "The views"
    if len(shares.dropna()):
        caption = (
            "The contribution of a view is its share in what separates the clusters; without it, "
            "the model was fitted again."
        )
        columns["Contribution"] = [percent(shares[name]) for name in names]
    if refits is not None:
        limits, agreement = [*CHANGES.values(), np.inf], refits.loc[names, "agreement"]
        changes = pd.cut(agreement, limits, right=False, labels=list(CHANGES)).astype(object)
        columns["Without it, the result would be"] = changes.fillna("unknown").tolist()
    sentences = full_sentences(view_sentences(fit.model))
    sentences += [
        f"{name} disagrees with the other views. Such a view may be noisy, or show something that "
        "the others do not."
        for name in findings.disagreeing
    ]
    title = "Weights and agreement, and why they are not importance"
    numbers = Folded(title, _numbers_of_views(fit, findings))
    parts: list[Part] = [Table(pd.DataFrame(columns), caption), numbers]
    if fit.data is not None and fit.data.available is not None:
        parts.append(Folded("Samples that lack views", pattern_parts(fit.data)))
    return Section("Views", parts, " ".join([*sentences, *findings.left_out]))


def _numbers_of_views(fit: CheckedFit, findings: Findings) -> list[Part]:
    """Return all numbers on the views, and what they mean."""
    model, names = fit.model, list(fit.view_names)
    columns: dict[str, Any] = {"View": names, "Features": fit.n_features_per_view}
    if fit.data is not None:
        available = fit.data.available
        columns["Samples"] = len(fit.data) if available is None else available.sum(axis=0)
    views = getattr(model, "views_", pd.DataFrame())
    for column, title in {"weight": "Weight", "agreement_with_result": "View alone"}.items():
        if column in views:
            columns[title] = views[column].to_numpy()
    if findings.without_view is not None:
        refits = findings.without_view.loc[names]
        columns |= {title: refits[column].tolist() for column, title in REFIT_COLUMNS.items()}
    meaning = {
        "columns": list(columns),
        "tables": table_descriptions(model) if hasattr(model, "view_names_in_") else {},
        "n_refitted": min(len(fit.labels), MAX_REFIT_SAMPLES),
        "budget": REFIT_BUDGET if fit.is_auto else None,
    }
    texts = Interactive("view_numbers.html.jinja", (), meaning)
    return [Table(pd.DataFrame(columns), "Numbers on the views"), texts]


REFIT_COLUMNS = {
    "agreement": "Result without it",
    "others_with": "Others with it",
    "others_without": "Others without it",
    "disagrees": "Disagrees",
}


def pattern_parts(data: MultiViewData) -> list[Part]:
    """Return the patterns of available views, the most frequent first."""
    assert data.available is not None
    sizes = pd.Series([group.size for group in data.groups], pattern_names(data))
    text = (
        f"Samples lack {1 - float(data.available.mean()):.1%} of all their views, in "
        f"{len(sizes):,} patterns."
    )
    description = (
        f"Patterns of available views and their numbers of samples; the most frequent one, "
        f"{sizes.index[0]}, has {sizes.iloc[0]:,} of {len(data):,}."
    )
    shown, rarer = sizes[:MAX_CHARTED_PATTERNS], sizes[MAX_CHARTED_PATTERNS:]
    if len(rarer):
        shown.loc[f"{len(rarer):,} other patterns"] = rarer.sum()
    bars = partial(draw_bars, {"Samples": shown}, "{:,}")
    table = shown.rename_axis("Views").reset_index(name="Samples")
    return [Text(text), Chart(svg_of(bars), description, table)]


def candidate_parts(fit: CheckedFit) -> list[Part]:
    """Return the candidate settings of AutoDALMC and the agreement between them."""
    if not fit.is_auto:
        return []
    table = fit.model.candidates_.rename_axis("candidate").reset_index()
    table = table.loc[:, (table != "").any()]
    highlight = pd.DataFrame("", index=table.index, columns=table.columns)
    highlight.loc[fit.model.best_candidate_] = "best"
    caption = (
        "The clusters are the consensus of these settings; the best one that has an embedding is "
        "marked. Agreement is the adjusted Rand index: 1 for equal partitions, 0 for chance."
    )
    return [Table(table, caption, highlight)]


def reproduction_parts(fit: CheckedFit, call: str | None) -> list[Part]:
    """Return the call and the versions of the packages."""
    parts: list[Part] = []
    if hasattr(fit.model, "get_params"):
        unfitted = clone(fit.model)
        # A RandomState cannot be written as code.
        if isinstance(unfitted.get_params().get("random_state"), np.random.RandomState):
            unfitted.set_params(random_state=None)
        parts.append(Code(f"model = {unfitted!r}.fit(views)"))
    if call is not None:
        parts += [Text("Or from the shell:"), Code(call)]
    if not isinstance(getattr(fit.model, "random_state", 0), int | np.integer):
        parts.append(
            Text("random_state was not a fixed number, so another fit may differ slightly.")
        )
    versions = {"anchorview": __version__, "Python": platform.python_version()}
    return [*parts, Facts(versions | {name: version(name) for name in PACKAGES})]
