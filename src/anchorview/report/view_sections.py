"""The sections on the views: what they weigh, how they agree, and which samples have which."""

from typing import Any

import numpy as np
import pandas as pd

from anchorview._utils.typing import Array
from anchorview.metrics import adjusted_rand
from anchorview.report.charts import add_hover, axis_names, bars, blank, heat_map, models
from anchorview.report.colors import MAIN
from anchorview.report.fit_facts import Fitted
from anchorview.report.page import Chart, Part, Section, Table
from anchorview.views.container import MultiViewData

AGREEMENT_SAMPLES = 5_000
"""Samples of which clusterings by single views are compared."""

MOST_PATTERNS = 20
"""Patterns of available views that are drawn; the others are summed up."""


def view_section(fit: Fitted) -> Section:
    """Return the weights of the views, and how well clusterings by single views agree."""
    model = fit.model
    columns: dict[str, Any] = {
        "View": list(model.view_names_in_),
        "Features": list(model.n_features_per_view_),
        "Weight": np.asarray(model.view_weights_, dtype=float),
    }
    if fit.data is not None:
        columns["Samples"] = _counts(fit.data)
    if hasattr(model, "view_agreement_"):
        columns["Agreement"] = np.asarray(model.view_agreement_, dtype=float)
    table = pd.DataFrame(columns)
    text = "How much each view counts in the result; the weights sum to 1."
    heaviest = int(np.argmax(columns["Weight"]))
    parts: list[Part] = [
        Table(table, "The views."),
        Chart(
            bars(columns["View"], columns["Weight"], "Weight"),
            f"Weights of the views; {columns['View'][heaviest]} counts most, with "
            f"{columns['Weight'][heaviest]:.2f}.",
            half="Agreement" in columns,
        ),
    ]
    if "Agreement" in columns:
        text += (
            " Agreement is how much of the result a view finds alone: the adjusted Rand index "
            "between the result and a clustering of that view; 1 is the same, 0 is chance."
        )
        parts.append(
            Chart(
                bars(columns["View"], columns["Agreement"], "Agreement with the result", top=1.0),
                "Agreement of a clustering of each view alone with the result.",
                half=True,
            )
        )
    agreement = _agreement_chart(fit)
    return Section("Views", parts if agreement is None else [*parts, agreement], text)


def _counts(data: MultiViewData) -> Array:
    if data.available is None:
        return np.full(len(data.views), len(data))
    return data.available.sum(axis=0)


def _agreement_chart(fit: Fitted) -> Chart | None:
    """Return how alike the clusterings are that the model gives for single views."""
    data = fit.data
    if data is None or len(data.views) < 2 or not hasattr(fit.model, "predict"):
        return None
    complete = np.arange(len(data))
    if data.available is not None:
        complete = np.flatnonzero(data.available.all(axis=1))
    if len(complete) < 2:
        return None
    count = min(AGREEMENT_SAMPLES, len(complete))
    rows = complete[np.linspace(0, len(complete) - 1, count).astype(int)]
    some = data[rows]
    found = [
        fit.model.predict({name: view}) for name, view in zip(some.names, some.views, strict=True)
    ]
    found.append(fit.labels[rows])
    matrix = np.array([[adjusted_rand(a, b) for b in found] for a in found])
    names = [*some.names, "result"]
    chart = heat_map(matrix, names, names, value="Adjusted Rand index", row="Views", column="Views")
    numbers = pd.DataFrame(matrix, columns=names)
    numbers.insert(0, "Predicted from", names, allow_duplicates=True)
    return Chart(
        chart,
        "Agreement between what the model predicts from each view alone and the result (adjusted "
        f"Rand index, {len(rows):,} samples that have all views). Views that agree with the "
        "result but not with each other complete one another. The model has learned from all "
        "views, so this is not how well a view could be clustered by itself.",
        numbers,
    )


def pattern_section(data: MultiViewData) -> Section:
    """Return which views samples have, by how many have the same."""
    groups = data.groups
    shown = groups[:MOST_PATTERNS]
    has = np.array([[p in group.views for p in range(len(data.views))] for group in shown])
    sizes = [group.size for group in shown]
    rest = len(data) - sum(sizes)
    rows = [(_listed(data, group.views), group.size) for group in shown]
    if rest:
        rows.append((f"{len(groups) - len(shown):,} other patterns", rest))
    table = pd.DataFrame(rows, columns=["Views", "Samples"])
    assert data.available is not None
    missing = 1 - float(data.available.mean())
    text = (
        f"Samples lack {missing:.1%} of all their views, in {len(groups):,} patterns. Each row is "
        "a pattern: filled dots are the views that its samples have, and the bar counts them."
    )
    description = (
        f"Patterns of available views and their samples; the most frequent one, "
        f"{_listed(data, shown[0].views)}, has {shown[0].size:,} of {len(data):,}."
    )
    if rest:
        description += f" {len(groups) - len(shown):,} rarer patterns are in the table, summed."
    chart = Chart(_pattern_chart(has, sizes, data.names), description, table)
    return Section("Available views", [chart], text)


def _listed(data: MultiViewData, views: tuple[int, ...]) -> str:
    if len(views) == len(data.views):
        return "all views"
    return ", ".join(data.names[p] for p in views)


def _pattern_chart(has: Array, sizes: list[int], names: tuple[str, ...]) -> Any:
    """Return dots for views on the left, and bars for numbers of samples on the right."""
    n_patterns = len(has)
    order = [str(number) for number in range(n_patterns)]
    height = 110 + 26 * n_patterns + 7 * max(len(name) for name in axis_names(names))
    shared: dict[str, Any] = {"y_range": order[::-1], "height": height, "x_axis_location": "above"}
    dots = blank(**shared, x_range=axis_names(names))
    r, p = np.indices(has.shape)
    source = models().ColumnDataSource(
        {
            "view": [axis_names(names)[i] for i in p.ravel()],
            "pattern": [order[i] for i in r.ravel()],
            "alpha": np.where(has.ravel(), 1.0, 0.12),
            "has": np.where(has.ravel(), "there", "missing").tolist(),
        }
    )
    drawn = dots.scatter(
        "view", "pattern", size=13, color=MAIN, alpha="alpha", line_color=None, source=source
    )
    add_hover(dots, {"View": "@view", "": "@has"}, [drawn])
    dots.xaxis.major_label_orientation = "vertical"
    counts = blank(**shared, x_range=(0, 1.05 * max(sizes)))
    length = models().ColumnDataSource({"pattern": order, "samples": sizes})
    bar = counts.hbar(y="pattern", right="samples", height=0.6, color=MAIN, source=length)
    add_hover(counts, {"Samples": "@samples{0,0}"}, [bar])
    counts.xaxis.axis_label = "Samples"
    counts.xaxis.ticker.desired_num_ticks = 3
    for figure in (dots, counts):
        figure.yaxis.visible = False
        figure.grid.visible = False
    return models().Row(children=[dots, counts], sizing_mode="stretch_width")
