"""Sections on the views: weights, agreement, and patterns of available views."""

from typing import Any

import numpy as np
import pandas as pd

from anchorview.metrics import adjusted_rand
from anchorview.report.charts import BarChart, HeatMap, PatternChart
from anchorview.report.checked_fit import CheckedFit
from anchorview.report.page import Chart, Part, Section, Table
from anchorview.views.container import MultiViewData, container_of_checked_rows

AGREEMENT_SAMPLES = 5_000
"""Maximum number of samples on which predictions from single views are compared."""

MAX_PATTERNS = 20
"""Maximum number of patterns of available views in the chart; the others are summed."""


def view_section(fit: CheckedFit) -> Section:
    """Return the section with the weights of the views and their agreement."""
    model = fit.model
    names, weights = list(model.view_names_in_), np.asarray(model.view_weights_, dtype=float)
    columns: dict[str, Any] = {
        "View": names,
        "Features": list(model.n_features_per_view_),
        "Weight": weights,
    }
    if fit.data is not None:
        available = fit.data.available
        columns["Samples"] = len(fit.data) if available is None else available.sum(axis=0)
    heaviest = int(np.argmax(weights))
    weight_chart = Chart(
        BarChart(names, weights, "Weight"),
        f"Weights of the views; {names[heaviest]} has the largest weight, {weights[heaviest]:.2f}.",
        half=hasattr(model, "view_agreement_"),
    )
    charts = [weight_chart]
    text = "Influence of each view on the result; the weights sum to 1."
    if hasattr(model, "view_agreement_"):
        agreement = np.asarray(model.view_agreement_, dtype=float)
        columns["Agreement"] = agreement
        text += (
            " Agreement is the adjusted Rand index between the result and a clustering of that "
            "view alone: 1 for equal partitions, 0 for chance."
        )
        chart = BarChart(names, agreement, "Agreement with the result", x_max=1.0)
        description = "Agreement of a clustering of each view alone with the result."
        charts.append(Chart(chart, description, half=True))
    charts += _prediction_agreement(fit)
    parts: list[Part] = [Table(pd.DataFrame(columns), "The views."), *charts]
    return Section("Views", parts, text)


def _prediction_agreement(fit: CheckedFit) -> list[Chart]:
    """Chart of the agreement between predictions from single views, if they are possible."""
    data = fit.data
    if data is None or len(data.views) < 2 or not hasattr(fit.model, "predict"):
        return []
    complete = np.arange(len(data))
    if data.available is not None:
        complete = np.flatnonzero(data.available.all(axis=1))
    if len(complete) < 2:
        return []
    count = min(AGREEMENT_SAMPLES, len(complete))
    rows = complete[np.linspace(0, len(complete) - 1, count).astype(int)]
    sampled = data[rows]
    alone = zip(sampled.names, sampled.views, sampled.feature_names, strict=True)
    partitions = [
        fit.model.predict(container_of_checked_rows({name: view}, True, (features,)))
        for name, view, features in alone
    ]
    partitions.append(fit.labels[rows])
    matrix = np.array([[adjusted_rand(a, b) for b in partitions] for a in partitions])
    names = [*sampled.names, "result"]
    table = pd.DataFrame(matrix, columns=names)
    table.insert(0, "Predicted from", names, allow_duplicates=True)
    description = (
        "Agreement between the predictions of the model from each view alone and the result "
        f"(adjusted Rand index, {len(rows):,} samples that have all views). Views that agree with "
        "the result but not with each other are complementary. The model was fitted on all views, "
        "so this does not show how well a view could be clustered by itself."
    )
    chart = HeatMap(matrix, names, names, "Adjusted Rand index", "Views", "Views")
    return [Chart(chart, description, table)]


def pattern_section(data: MultiViewData) -> Section:
    """Return the section with the patterns of available views, the most frequent first."""
    assert data.available is not None
    groups = data.groups
    shown = groups[:MAX_PATTERNS]
    n_rarer = len(groups) - len(shown)
    sizes = [group.size for group in shown]
    rows = [(_listed(data, group.views), group.size) for group in shown]
    description = (
        f"Patterns of available views and their numbers of samples; the most frequent one, "
        f"{rows[0][0]}, has {sizes[0]:,} of {len(data):,}."
    )
    if n_rarer:
        rows.append((f"{n_rarer:,} other patterns", len(data) - sum(sizes)))
        description += f" The table has the sum of {n_rarer:,} rarer patterns."
    text = (
        f"Samples lack {1 - float(data.available.mean()):.1%} of all their views, in "
        f"{len(groups):,} patterns. Each row is a pattern: filled dots are its available views, "
        "and the bar is its number of samples."
    )
    available = np.array([[view in g.views for view in range(len(data.views))] for g in shown])
    chart = PatternChart(available, sizes, data.names)
    table = pd.DataFrame(rows, columns=["Views", "Samples"])
    return Section("Available views", [Chart(chart, description, table)], text)


def _listed(data: MultiViewData, views: tuple[int, ...]) -> str:
    if len(views) == len(data.views):
        return "all views"
    return ", ".join(data.names[view] for view in views)
