"""Color palettes of charts and figures.

All colors are legible on light and on dark backgrounds (contrast of at least 3) and differ, as far
as their number allows, for people with any kind of color vision.
"""

import numpy as np

from anchorview._utils.typing import Array
from anchorview.estimators.methods import REGISTRY

# fmt: off
CLUSTER_COLORS = (
    "#0078b4", "#f0a800", "#b43000", "#cca8fc", "#60a89c", "#c07824", "#7884fc",
    "#84486c", "#60cc84", "#b4606c", "#6c90c0", "#2454c0", "#186c30", "#84c0c0",
    "#90a860", "#b44890", "#903090", "#486cd8", "#f08424", "#909ce4",
)
# fmt: on
"""Greedy choice: each color is as far as possible from those before it, for normal vision,
protanopia and deuteranopia, among colors that contrast with both white and black."""

MAIN_COLOR, MARK_COLOR = CLUSTER_COLORS[0], CLUSTER_COLORS[2]
"""Colors of a single series and of a marked position."""

OTHER_COLOR, OWN_COLOR = "#7F7F7F", "#D6409F"
"""Colors of agreement by chance, and of methods without one in :data:`SERIES_COLORS`."""

MISSING_COLOR = "#C8C8C8"
"""Color of samples without a value, less visible than others."""

SERIES_COLORS = {
    **{method.display_name: method.color for method in REGISTRY},
    "ablation-1": "#CC79A7",
    "ablation-2": "#6E8B3D",
    "ACC": "#0072B2",
    "NMI": "#D55E00",
    "F1": "#009E73",
    "Purity": "#AA4499",
    "ARI": "#8F7A00",
}
"""Colors of methods and metrics. Names, markers or dash patterns also distinguish them."""

SHARE_COLORS = ("#e9eef4", "#004a7c")
"""Colors of the shares 0 and 1 in heat maps."""


def cluster_color(cluster: int) -> str:
    """Return the color of a cluster; colors repeat if there are more clusters than colors."""
    return CLUSTER_COLORS[cluster % len(CLUSTER_COLORS)]


def spread_colors(centers: Array) -> list[str]:
    """Return colors of clusters with centers on a map; those that share a color are far apart."""
    n_colors = len(CLUSTER_COLORS)
    choices = np.arange(len(centers)) % n_colors
    for cluster in range(n_colors, len(centers)):
        distances = np.linalg.norm(centers[:cluster] - centers[cluster], axis=1)
        nearest = np.full(n_colors, np.inf)
        np.fmin.at(nearest, choices[:cluster], distances)
        choices[cluster] = nearest.argmax()
    return [CLUSTER_COLORS[choice] for choice in choices]


def series_color(name: str) -> str:
    """Return the color of a method or metric; oracle results have the color of their method."""
    return SERIES_COLORS.get(
        name.removesuffix(" (oracle)").removesuffix(" (as published, oracle)"), OWN_COLOR
    )
