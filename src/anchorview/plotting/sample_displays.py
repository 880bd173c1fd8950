"""Displays of samples: their map, and the space that all views share with its anchors."""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from anchorview._utils.errors import optional_import
from anchorview._utils.text import listed, quoted, shorten
from anchorview._utils.typing import Array
from anchorview.plotting.axes import (
    CHARACTER_WIDTH,
    LINE_HEIGHT,
    MISSING_COLOR,
    Display,
    add_color_bar,
    arrange,
    cluster_color,
    font_size,
    size_in_points,
    spread_colors,
)
from anchorview.plotting.drawn_samples import (
    MAX_POINTS,
    DrawnSamples,
    fitted_attribute,
    map_layout,
    normalizes_embedding,
)

POSITION_COLUMNS = ("x", "y", "cluster")
RESERVED_COLUMNS = (*POSITION_COLUMNS, "confidence", "class")

MAX_LEGEND_CATEGORIES, MAX_NAME_ON_MAP = 12, 16
"""Maximum number of categories in a legend; the names of more are on the map, with this length."""

N_POSITIONS = 24
"""Number of points of a group that are tried as positions of its name."""


class SampleMapDisplay(Display):
    """Map on which similar samples are neighbors, with the number of each cluster.

    Samples are laid out by t-SNE, usually from the embedding of the model; directions, and
    distances between distant groups, have no meaning. It is recommended to use
    :meth:`from_estimator`.

    Parameters
    ----------
    points : DataFrame
        One row per drawn sample, indexed by sample id: the position in `x` and `y`, the `cluster`,
        and columns to color by.
    color : str, default="cluster"
        The column that colors the points. Floats have a color scale, all others are categories.

    Attributes
    ----------
    points_ : matplotlib PathCollection
        The drawn points.
    text_ : list of matplotlib Text
        Numbers or names of the clusters; with many categories, names of these instead.
    legend_ : matplotlib Legend or None
        Legend of categories other than clusters, if they are few.
    colorbar_ : matplotlib Colorbar or None
        Color scale of numbers.
    %(axes)s

    See Also
    --------
    anchorview.report.write_fit_report : A page with an interactive map.

    Notes
    -----
    The layout takes most of the time. To color the same map differently, call :meth:`plot` with the
    name of another column of `points`, to which columns may be added.

    %(example)s
    >>> [text.get_text() for text in display.text_]
    ['0', '1', '2']
    >>> display.points["sum"] = sum(view.sum(axis=1) for view in views.values())
    >>> display.plot(color="sum").colorbar_.ax.get_ylabel()
    'sum'
    """

    points: pd.DataFrame
    _: KW_ONLY
    color: str = "cluster"

    def __post_init__(self) -> None:
        lacking = [column for column in POSITION_COLUMNS if column not in self.points]
        if lacking:
            raise ValueError(f"points lacks the columns {listed(lacking)}.")

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any = None,
        *,
        color: Any = None,
        target: ArrayLike | None = None,
        max_points: int = MAX_POINTS,
        ax: Any = None,
        **plot_kw: Any,
    ) -> Self:
        """Lay out and draw the samples of a fitted model.

        Parameters
        ----------
        model : fitted estimator, or any other object with `labels_`
            Samples are laid out by its embedding or, if it computes none, by the leading principal
            components of the standardized views, for which `X` is needed.
        X : views in memory, in any form that `fit` takes, default=None
            The samples to draw, which the model embeds and labels. If None, or if the model cannot
            label new samples, those of the fit.
        color : {"cluster", "class", "confidence"}, feature, array-like or Series, default=None
            What colors the points: the cluster; the class in `target`; the confidence in the
            cluster, as of :func:`~anchorview.inspection.doubtful`; a feature of `X`, by its name or
            as a tuple (view, feature); or one value per sample, by position or in a Series indexed
            by sample id. Floats have a color scale, all others are categories. If None, "class" if
            `target` is given, else "cluster".
        target : array-like (n,), default=None
            Known classes; may have missing values.
        max_points : int, default=100000
            Maximum number of samples to draw. Of more samples, each cluster has a share that is
            proportional to its size, but not below a minimum.
        %(drawing)s
        """
        samples = DrawnSamples(model, X)
        if color is None:
            color = "cluster" if target is None else "class"
        name = color if isinstance(color, str) else None
        if name == "class" and target is None:
            raise ValueError('color="class" needs the known classes: pass target.')
        clusters = pd.Categorical.from_codes(samples.labels, samples.clusters)
        columns: dict[str, pd.Series[Any]] = {"cluster": pd.Series(clusters)}
        if samples.stores_confidence or name == "confidence":
            columns["confidence"] = pd.Series(samples.confidence)
        if target is not None:
            columns["class"] = _as_categories(samples.aligned(target, "target"))
        if name not in columns:
            values = _values_of(samples, color)
            name = str(values.name)
            columns[name] = values
        assert name is not None
        rows, positions = map_layout(
            samples.embedding, samples.labels, max_points, normalize=normalizes_embedding(model)
        )
        points = pd.DataFrame(positions, rows, ["x", "y"]).join(pd.DataFrame(columns))
        if samples.sample_ids is not None:
            points.index = pd.Index(np.asarray(samples.sample_ids))[rows]
        return cls(points, color=name).plot(ax, **plot_kw)

    def plot(
        self,
        ax: Any = None,
        *,
        color: str | None = None,
        cmap: Any = "viridis",
        scatter_kw: dict[str, Any] | None = None,
        text_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the map.

        %(on_axes)s
        color : str, default=None
            Column of `points` that colors them; if None, that of the constructor.
        cmap : str or matplotlib Colormap, default="viridis"
            Colors of numbers.
        scatter_kw : dict, default=None
            Properties of the points, as for `Axes.scatter`.
        text_kw : dict, default=None
            Properties of the numbers or names on the map.
        %(returns)s
        """
        color = self.color if color is None else color
        if color not in self.points:
            known = [column for column in self.points if column not in ("x", "y")]
            raise ValueError(
                f"There is no column {quoted(color)} to color by; the columns are {listed(known)}."
            )
        named = _as_categories(self.points["cluster"])
        side = float(np.clip(3 + 3 * np.log10(len(named.cat.categories) + 1), 6, 11))
        ax = self._on(ax, side + 0.8, side)
        positions, values = self.points[["x", "y"]].to_numpy(), self.points[color]
        ax.set(xticks=[], yticks=[], xlabel="t-SNE 1", ylabel="t-SNE 2")
        ax.set_aspect("equal", adjustable="datalim")
        self.legend_ = self.colorbar_ = None
        style = _point_style(len(positions))
        if is_numeric := pd.api.types.is_float_dtype(values.dtype):
            # Edges, since the brightest color of most scales is hardly visible on white.
            style |= {"edgecolors": "0.4", "linewidths": 0.3, "cmap": cmap, "plotnonfinite": True}
            colors = values.to_numpy(dtype=float)
            is_known, order = ~np.isnan(colors), np.arange(len(values))
        else:
            categories = _as_categories(values)
            codes, every = categories.cat.codes.to_numpy(), categories.cat.categories
            centers = pd.DataFrame(positions).groupby(codes).mean().reindex(range(len(every)))
            palette = [*spread_colors(centers.to_numpy()), MISSING_COLOR]
            colors = np.array(palette)[codes]
            # In random order, so that no category covers another one.
            is_known, order = codes >= 0, np.random.RandomState(0).permutation(len(values))
        # Points without a value are drawn first.
        order = order[np.argsort(is_known[order], kind="stable")]
        style |= {"c": colors[order]} | (scatter_kw or {})
        self.points_ = ax.scatter(*positions[order].T, **style)
        if is_numeric:
            self.points_.cmap = self.points_.cmap.with_extremes(bad=MISSING_COLOR)
            if color == "confidence":
                self.points_.set_clim(0, 1)
            self.colorbar_ = add_color_bar(ax, self.points_, color)
            self.colorbar_.solids.set(alpha=1)
        elif len(every) > MAX_LEGEND_CATEGORIES:
            named = categories
        elif color != "cluster":
            self.legend_ = add_legend(ax, color, categories, palette)
        self.text_ = add_names(ax, positions, named, text_kw or {})
        return self


def _as_categories(values: "pd.Series[Any]") -> "pd.Series[Any]":
    if isinstance(values.dtype, pd.CategoricalDtype):
        return values
    codes, categories = pd.factorize(values, sort=True)
    return pd.Series(pd.Categorical.from_codes(codes, categories), index=values.index)


def _values_of(samples: DrawnSamples, color: Any) -> "pd.Series[Any]":
    """Values that color the samples, with a name."""
    if isinstance(color, str):
        return samples.feature(None, color)
    if isinstance(color, tuple) and len(color) == 2 and isinstance(color[0], str):
        return samples.feature(*color)
    values = samples.aligned(color, "color")
    name = "value" if values.name is None else str(values.name)
    return values.rename(f"{name} (given)" if name in RESERVED_COLUMNS else name)


def add_legend(ax: Any, title: str, categories: "pd.Series[Any]", palette: list[str]) -> Any:
    """Add a legend of categories to the right of the map; the last color is of unknown ones."""
    names = [shorten(category) for category in categories.cat.categories]
    names += ["unknown"] * bool(categories.isna().any())
    lines = optional_import("matplotlib.lines", "Displays", "report")
    handles = [
        lines.Line2D([], [], color=color, marker="o", linestyle="", label=name)
        for name, color in zip(names, palette, strict=False)
    ]
    place: dict[str, Any] = {"loc": "center left", "bbox_to_anchor": (1, 0.5)}
    legend = ax.legend(handles=handles, title=shorten(title), **place)
    for text in (*legend.get_texts(), legend.get_title()):
        text.set_parse_math(False)
    return legend


def add_names(
    ax: Any, positions: Array, categories: "pd.Series[Any]", style: dict[str, Any]
) -> list[Any]:
    """Write the name of each category in the middle of its points, or nearby."""
    matplotlib = optional_import("matplotlib", "Displays", "report")
    effects = optional_import("matplotlib.patheffects", "Displays", "report")
    codes = categories.cat.codes.to_numpy()
    shown = np.unique(codes[codes >= 0])
    names = [shorten(categories.cat.categories[code], MAX_NAME_ON_MAP) for code in shown]
    size = float(np.clip(1.2 - 0.3 * np.log10(max(len(shown), 10) / 10), 0.6, 1.2))
    background = matplotlib.rcParams["axes.facecolor"]
    halo = effects.withStroke(linewidth=2.5, foreground=background)
    style = {"fontsize": font_size(size), "fontweight": "bold", "path_effects": [halo], **style}
    style = {"ha": "center", "va": "center", "parse_math": False, **style}
    arrange(ax)
    # Sizes of the texts in the coordinates of the map.
    unit = np.ptp(ax.viewLim.get_points(), axis=0) / size_in_points(ax) * style["fontsize"]
    sizes = np.array([(CHARACTER_WIDTH * len(name), LINE_HEIGHT) for name in names]) * unit
    places = _places([positions[codes == code] for code in shown], sizes)
    return [ax.text(*place, name, **style) for place, name in zip(places, names, strict=True)]


def _places(groups: Sequence[Array], sizes: Array) -> Array:
    """Centers of the names of groups of points, (n_groups, 2); `sizes` are those of the names.

    Each is on the point of its group nearest to the median of those that overlap the fewest names.
    """
    places = np.empty((len(groups), 2))
    placed: list[int] = []
    for group in sorted(range(len(groups)), key=lambda group: -len(groups[group])):
        points = groups[group]
        away = np.linalg.norm(points - np.median(points, axis=0), axis=1)
        chosen = np.linspace(0, len(points) - 1, N_POSITIONS).astype(int)
        candidates = points[np.argsort(away, kind="stable")[chosen]]
        between = np.abs(candidates[:, None] - places[placed])
        overlaps = (between < (sizes[group] + sizes[placed]) / 2).all(axis=2).sum(axis=1)
        places[group] = candidates[overlaps.argmin()]
        placed.append(group)
    return places


def _point_style(n_points: int) -> dict[str, Any]:
    """Points that neither vanish nor hide each other."""
    decades = np.log10(max(n_points, 10))
    return {
        "s": float(np.clip(60 - 14 * decades, 2, 40)),
        "alpha": float(np.clip(1.15 - 0.1 * decades, 0.5, 0.9)),
        "linewidths": 0,
        # Many points make vector files large and slow.
        "rasterized": n_points > 5_000,
    }


ARROW_WIDTH = 6.0
"""Width of the arrows of a view that has all the weight, in points."""


class AnchorSpaceDisplay(Display):
    """Samples and the anchors of every view in the plane of the first two columns of the embedding.

    For teaching, with two anchors (``n_anchors=2``), which span the whole space. Points are samples
    in the colors of their clusters. Arrows are the rows of the anchors, one per component: a sample
    with more of this component in this view lies farther along the arrow. The wider the arrow, the
    larger the weight of the view. It is recommended to use :meth:`from_estimator`.

    .. versionadded:: 0.2

    Parameters
    ----------
    embedding : array-like (n, n_anchors)
        Embedding of the samples.
    labels : array-like (n,)
        Clusters of the samples.
    anchors : mapping of str to array (n_components, n_anchors)
        Anchors by view.
    weights : mapping of str to float
        Weight by view.

    Attributes
    ----------
    points_ : matplotlib PathCollection
        The samples, at the scale at which each column has mean square 1.
    arrows_ : dict of str to list of matplotlib Annotation
        Arrows by view.
    %(axes)s

    See Also
    --------
    anchorview.DALMC : Its `embedding_`, `labels_`, `anchors_` and `views_` are drawn.

    Examples
    --------
    >>> from anchorview import DALMC, make_multiview
    >>> from anchorview.plotting import AnchorSpaceDisplay
    >>> views, _ = make_multiview(150, n_clusters=3, random_state=0)
    >>> model = DALMC(3, n_anchors=2, n_components=[1, 1, 1], random_state=0).fit(views)
    >>> list(AnchorSpaceDisplay.from_estimator(model).arrows_)
    ['view_0', 'view_1', 'view_2']
    """

    embedding: ArrayLike
    labels: ArrayLike
    anchors: Mapping[str, Array]
    weights: Mapping[str, float]

    @classmethod
    def from_estimator(cls, model: Any, *, ax: Any = None, **scatter_kw: Any) -> Self:
        """Draw the samples of the fit and the anchors of a fitted model.

        Parameters
        ----------
        model : fitted DALMC
            The model, with at least two anchors.
        %(ax)s
        **scatter_kw : dict
            Properties of the points.
        %(returns)s
        """
        anchors = fitted_attribute(model, "anchors_")
        anchors = dict(zip(model.view_names_in_, anchors, strict=True))
        weights = model.views_["weight"].to_dict()
        return cls(model.embedding_, model.labels_, anchors, weights).plot(ax, **scatter_kw)

    def plot(self, ax: Any = None, **scatter_kw: Any) -> Self:
        """Draw the samples and anchors.

        %(on_axes)s
        **scatter_kw : dict
            Properties of the points.
        %(returns)s
        """
        rows = np.asarray(self.embedding, dtype=float)
        if rows.shape[1] < 2:
            raise ValueError("There is one anchor, but a plane needs two: set n_anchors=2.")
        ax = self._on(ax, 4.5, 4.5)
        x, y = rows[:, :2].T * np.sqrt(len(rows))
        codes, _ = pd.factorize(np.asarray(self.labels), sort=True)
        colors = [cluster_color(code) for code in codes.tolist()]
        self.points_ = ax.scatter(x, y, **{"c": colors, "s": 12, "linewidths": 0} | scatter_kw)
        self.arrows_ = {name: self._arrows(ax, name) for name in self.anchors}
        ax.set(xlabel="Anchor 1", ylabel="Anchor 2", aspect="equal")
        ax.margins(0.1)
        return self

    def _arrows(self, ax: Any, name: str) -> list[Any]:
        style = {"arrowstyle": "->", "linewidth": ARROW_WIDTH * self.weights[name]}
        tips = self.anchors[name][:, :2]
        arrows = [ax.annotate("", tip, xytext=(0, 0), arrowprops=style) for tip in tips]
        longest = tips[np.linalg.norm(tips, axis=1).argmax()]
        background = {"boxstyle": "round,pad=0.1", "color": "white", "alpha": 0.7}
        place = {"ha": "center", "va": "center", "color": "black", "bbox": background}
        ax.annotate(name, 1.3 * longest, **place, parse_math=False)
        return arrows
