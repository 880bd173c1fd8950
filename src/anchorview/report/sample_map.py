"""The map of the samples: its points, and everything that its script tells about them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from anchorview._utils.typing import Array
from anchorview.plotting.colors import CLUSTER_COLORS
from anchorview.plotting.map_layout import map_layout
from anchorview.report.checked_fit import UNKNOWN_CLASS, CheckedFit
from anchorview.report.findings import Findings
from anchorview.report.page import Interactive, Text
from anchorview.report.sample_contents import SampleContents

RESOLUTION = 2**16 - 1
"""Positions are rounded to this number of steps, which no zoom of the map shows."""

MAX_PATTERNS = 7
"""Maximum number of patterns of available views that have a color."""

MAX_NUMBERS = 30
"""Number of clusters whose numbers do not overlap on most maps."""


SCRIPTS = ("map_points.js", "map_plane.js", "sample_map.js")


def sample_map(fit: CheckedFit, findings: Findings, contents: SampleContents) -> Interactive | Text:
    """Lay out the map, or say that there is nothing to lay it out by.

    The template takes the data of the script, and names by value of what points can be colored by.
    """
    if not fit.has_coordinates:
        return Text(
            f"There is no map of the samples: {fit.model_name} computes no embedding, and the "
            "report was written without the views."
        )
    rows, positions = map_layout(fit.embedding, fit.labels, normalize=fit.normalizes_coordinates)
    payload = {
        **_positions(positions),
        "rows": rows.tolist(),
        "ids": None if fit.sample_ids is None else [str(fit.sample_ids[row]) for row in rows],
        "cluster": fit.labels[rows].tolist(),
        "clusters": list(fit.cluster_names),
        "palette": list(CLUSTER_COLORS),
        "confidence": None,
        "second": None,
        "classes": None,
        "availability": None,
        "texts": contents.short_texts(rows),
        "thumbnails": contents.thumbnails(rows),
    }
    colorings = {"cluster": "cluster"}
    if fit.classes is not None:
        colorings["class"] = "known class"
        payload["classes"] = _class_codes(fit.classes[rows])
    if findings.certainty is not None:
        colorings["confidence"] = "confidence"
        confidence = findings.certainty.confidence[rows]
        payload["confidence"] = np.floor(100 * confidence).astype(int).tolist()
        payload["second"] = findings.certainty.second_labels[rows].tolist()
    if fit.data is not None and fit.data.available is not None:
        colorings["availability"] = "available views"
        payload["availability"] = _availability(fit.data.available[rows], fit.data.names)
    description = _description(fit, len(rows))
    values = {"payload": payload, "colorings": colorings, "description": description}
    return Interactive("sample_map.html.jinja", SCRIPTS, values)


def _positions(positions: Array) -> dict[str, list[int]]:
    """Coordinates from the top left corner, as integers."""
    low = positions.min(axis=0)
    steps = RESOLUTION / max(float(np.ptp(positions, axis=0).max()), 1e-12)
    scaled = np.rint((positions - low) * steps).astype(int)
    return {"x": scaled[:, 0].tolist(), "y": (scaled[:, 1].max() - scaled[:, 1]).tolist()}


def _class_codes(classes: Array) -> dict[str, Any]:
    codes, names = pd.factorize(pd.Series(classes).mask(classes == UNKNOWN_CLASS), sort=True)
    return {"names": names.tolist(), "codes": codes.tolist()}


def _availability(available: Array, view_names: Sequence[str]) -> dict[str, Any]:
    """Pattern of each point, and its color: those of the frequent patterns, or one of the rest."""
    patterns, inverse, counts = np.unique(
        available, axis=0, return_inverse=True, return_counts=True
    )
    # Complete samples first, then by frequency.
    order = np.lexsort((-counts, ~patterns.all(axis=1)))
    position = np.argsort(order)[inverse.ravel()]
    names = [pattern_name(patterns[pattern], view_names) for pattern in order]
    shown = names if len(names) <= MAX_PATTERNS + 1 else [*names[:MAX_PATTERNS], "other patterns"]
    return {
        "patterns": names,
        "pattern": position.tolist(),
        "names": shown,
        "codes": np.minimum(position, len(shown) - 1).tolist(),
    }


def pattern_name(available: Array, view_names: Sequence[str]) -> str:
    """Name of a pattern of available views, by the fewer of the available and the lacking ones."""
    if available.all():
        return "all views"
    lacking = [name for name, has in zip(view_names, available, strict=True) if not has]
    having = [name for name, has in zip(view_names, available, strict=True) if has]
    if len(having) < len(lacking):
        return f"only {', '.join(having)}"
    return f"without {', '.join(lacking)}"


def _description(fit: CheckedFit, n_points: int) -> str:
    n = len(fit.labels)
    drawn = f"All {n:,} samples" if n_points == n else f"{n_points:,} of {n:,} samples"
    text = (
        f"{drawn} in {fit.n_clusters} clusters, laid out by t-SNE from {fit.coordinates_name}. "
        "Neighbors are similar; directions, and distances between distant groups, have no meaning."
    )
    if fit.n_clusters > len(CLUSTER_COLORS):
        text += " There are more clusters than colors, so several share one."
    if fit.n_clusters > MAX_NUMBERS:
        text += " Numbers that would overlap appear when you zoom in."
    if n_points < n:
        text += (
            " Points are drawn in proportion to the sizes of the clusters, with a minimum for each "
            "cluster; within a cluster, samples in sparse regions are preferred. Selections have "
            "only samples that are drawn."
        )
    return text
