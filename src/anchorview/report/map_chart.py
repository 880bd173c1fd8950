"""The map of an embedding as a chart that stays quick with 100,000 samples."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from anchorview._utils.typing import Array
from anchorview.report.charts import add_hover, blank, models, short
from anchorview.report.colors import cluster_color
from anchorview.report.flat_map import FlatMap

MOST_IN_LEGEND = 20
"""Clusters that a legend names."""

LONGEST_ID = 60
"""Letters of a sample's id on the map."""


def map_chart(
    flat: FlatMap,
    labels: Array,
    ids: Sequence[Any] | None,
    confidence: Array | None,
    classes: Array | None,
) -> Any:
    """Return the samples of a map in the colors of their clusters.

    Parameters
    ----------
    flat : FlatMap
        Which samples, and where.
    labels : array (n,)
        Clusters of all samples.
    ids : sequence, optional
        What all samples are called; by default their positions.
    confidence : array (n,), optional
        Confidence in each.
    classes : array (n,), optional
        Their true classes.
    """
    figure = blank(
        560,
        tools="pan,box_zoom,wheel_zoom,tap,reset,save",
        output_backend="webgl",
        match_aspect=True,
    )
    figure.axis.visible = False
    figure.grid.visible = False
    named = len(np.unique(labels[flat.rows])) <= MOST_IN_LEGEND
    groups = [flat.rows] if not named else _by_cluster(flat.rows, labels)
    size, alpha = _look(len(flat.rows))
    drawn = []
    for rows in groups:
        columns = _columns(flat, rows, labels, ids, confidence, classes)
        drawn.append(
            figure.scatter(
                "x",
                "y",
                source=models().ColumnDataSource(columns),
                size=size,
                fill_alpha=alpha,
                fill_color=cluster_color(int(labels[rows[0]])) if named else _colors(labels),
                line_color=None,
                nonselection_fill_alpha=alpha / 3,
            )
        )
    if named:
        _add_legend(figure, drawn, [int(labels[rows[0]]) for rows in groups])
    tooltips = {"Sample": "@id", "Cluster": "@cluster"}
    if confidence is not None:
        tooltips["Confidence"] = "@confidence %"
    if classes is not None:
        tooltips["Class"] = "@class"
    add_hover(figure, tooltips, drawn, point_policy="snap_to_data", limit=1)
    # Whoever scrolls over the map or swipes across it means the page until a tool is chosen.
    figure.toolbar.active_drag = figure.toolbar.active_scroll = None
    return figure


def _by_cluster(rows: Array, labels: Array) -> list[Array]:
    return [rows[labels[rows] == cluster] for cluster in np.unique(labels[rows])]


def _columns(
    flat: FlatMap,
    rows: Array,
    labels: Array,
    ids: Sequence[Any] | None,
    confidence: Array | None,
    classes: Array | None,
) -> dict[str, Any]:
    places = flat.places[np.searchsorted(flat.rows, rows)]
    columns: dict[str, Any] = {
        "x": np.ascontiguousarray(places[:, 0]),
        "y": np.ascontiguousarray(places[:, 1]),
        "cluster": labels[rows].astype(np.uint16),
        "id": rows.astype(np.uint32)
        if ids is None
        else [short(ids[row], LONGEST_ID) for row in rows.tolist()],
    }
    if confidence is not None:
        columns["confidence"] = np.round(100 * confidence[rows]).astype(np.uint8)
    if classes is not None:
        columns["class"] = [short(name) for name in classes[rows].tolist()]
    return columns


def _look(count: int) -> tuple[float, float]:
    """Size and opacity of points: they must neither vanish nor cover each other."""
    size = float(np.clip(9 - 1.3 * np.log10(max(count, 10)), 2.5, 8))
    alpha = float(np.clip(1.15 - 0.15 * np.log10(max(count, 10)), 0.4, 0.9))
    return size, alpha


def _colors(labels: Array) -> Any:
    """Colors by cluster where there are too many for a legend."""
    most = int(labels.max())
    mapper = models().LinearColorMapper(
        palette=[cluster_color(cluster) for cluster in range(most + 1)], low=-0.5, high=most + 0.5
    )
    return {"field": "cluster", "transform": mapper}


def _add_legend(figure: Any, drawn: Sequence[Any], clusters: Sequence[int]) -> None:
    items = [
        models().LegendItem(label=str(cluster), renderers=[points])
        for cluster, points in zip(clusters, drawn, strict=True)
    ]
    legend = models().Legend(
        items=items,
        title="Cluster (a click hides it)",
        orientation="horizontal",
        ncols=6,
        location="center",
        click_policy="hide",
        border_line_alpha=0,
        background_fill_alpha=0,
        label_text_font="system-ui, sans-serif",
        title_text_font="system-ui, sans-serif",
        title_text_font_style="normal",
        glyph_height=22,
        glyph_width=22,
    )
    figure.add_layout(legend, "below")
