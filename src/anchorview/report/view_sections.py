"""Sections on the views: weights, agreement, and patterns of available views."""

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from anchorview._utils.text import capitalized
from anchorview.estimators.representation import table_descriptions, view_sentences
from anchorview.inspection.view_contributions import MAX_REFIT_SAMPLES
from anchorview.plotting.axes import svg_of
from anchorview.plotting.bar_displays import ViewAgreementDisplay, draw_bars
from anchorview.report.findings import REFIT_BUDGET, CheckedFit, Findings, disagreement
from anchorview.report.page import Chart, Folded, Part, Section, Table, Text
from anchorview.report.sample_map import pattern_name
from anchorview.views.container import MultiViewData

ALONE = "View alone"
"""Name of the agreement of a clustering of a view alone with the result."""

MAX_CHARTED_PATTERNS = 20
"""Maximum number of patterns of available views in the chart; the others are summed."""

WEIGHT_AND_AGREEMENT = (
    "Weight and agreement are different things. The weight says how much the method relied on the "
    "view: it is large for views that their representation reproduces well, whatever it says about "
    "the clusters. Agreement compares clusters. A view with little weight can agree well, because "
    "other views say the same; one with much weight can agree little, because alone it separates "
    "only some of the clusters."
)


def view_section(fit: CheckedFit, findings: Findings) -> Section:
    """Return the section with weights, agreement and influence of the views."""
    model, names = fit.model, list(fit.view_names)
    columns: dict[str, Any] = {"View": names, "Features": fit.n_features_per_view}
    if fit.data is not None:
        available = fit.data.available
        columns["Samples"] = len(fit.data) if available is None else available.sum(axis=0)
    charts: list[Part] = []
    tables = table_descriptions(model) if hasattr(model, "view_names_in_") else {}
    explanations = [f"{name}: {description}." for name, description in tables.items()]
    views = getattr(model, "views_", pd.DataFrame())
    if "weight" in views:
        columns["Weight"] = views["weight"].to_numpy()
        description = "Weights of the views, which sum to 1"
        if "agreement_with_result" in views:
            columns[ALONE] = views["agreement_with_result"].to_numpy()
            description += ", and agreement of a clustering of each view alone with the result"
        chart = svg_of(lambda ax: ViewAgreementDisplay.from_estimator(model, ax=ax))
        charts.append(Chart(chart, f"{description}."))
    if ALONE in columns:
        explanations += [
            f"“{ALONE}” is the adjusted Rand index between the result and a clustering of that "
            "view alone: 1 for equal clusters, 0 for chance.",
            WEIGHT_AND_AGREEMENT,
        ]
    sentences = [f"{capitalized(sentence)}." for sentence in view_sentences(model)]
    disagreeing = disagreement(findings)
    if findings.without_view is not None:
        refits = findings.without_view.loc[names]
        columns |= {title: refits[column].tolist() for column, title in REFIT_COLUMNS.items()}
        budget = f" and with budget={REFIT_BUDGET!r}" if fit.is_auto else ""
        n_samples = min(len(fit.labels), MAX_REFIT_SAMPLES)
        explanations.append(WITHOUT_VIEW.format(n_samples, budget))
        if not disagreeing:
            sentences.append("No view disagrees with the others.")
    sentences += [
        f"{each}. Such a view may be noisy, or show something that the others do not."
        for each in disagreeing
    ]
    parts: list[Part] = [Table(pd.DataFrame(columns), "The views"), *map(Text, explanations)]
    parts += charts
    if fit.data is not None and fit.data.available is not None:
        parts += pattern_parts(fit.data)
    if not disagreeing:
        parts = [Folded("Samples, weights and agreement of the views", parts)]
    return Section("Views", parts, " ".join([*sentences, *findings.left_out]))


WITHOUT_VIEW = (
    "The model was fitted again without each view, on {:,} samples{}. “Result without it” is the "
    "adjusted Rand index of that result with this one: the lower, the more depends on the view. "
    "“Others with it” is how well clusterings of each other view alone agree with this result, and "
    "“Others without it” how well they agree with the result without the view. If they agree "
    "better without it, the view disagrees with them."
)

REFIT_COLUMNS = {
    "agreement": "Result without it",
    "others_with": "Others with it",
    "others_without": "Others without it",
    "disagrees": "Disagrees",
}


def pattern_parts(data: MultiViewData) -> list[Part]:
    """Return the patterns of available views, the most frequent first."""
    assert data.available is not None
    groups = data.groups
    has = np.array([[view in group.views for view in range(len(data.views))] for group in groups])
    names = [pattern_name(available, data.names) for available in has[:MAX_CHARTED_PATTERNS]]
    sizes = [group.size for group in groups[:MAX_CHARTED_PATTERNS]]
    n_rarer = len(groups) - len(names)
    text = (
        f"Samples lack {1 - float(data.available.mean()):.1%} of all their views, in "
        f"{len(groups):,} patterns."
    )
    description = (
        f"Patterns of available views and their numbers of samples; the most frequent one, "
        f"{names[0]}, has {sizes[0]:,} of {len(data):,}."
    )
    if n_rarer:
        names.append(f"{n_rarer:,} other patterns")
        sizes.append(len(data) - sum(sizes))
    bars = partial(draw_bars, {"Samples": pd.Series(sizes, names)}, "{:,}")
    table = pd.DataFrame({"Views": names, "Samples": sizes})
    return [Text(text), Chart(svg_of(bars), description, table)]
