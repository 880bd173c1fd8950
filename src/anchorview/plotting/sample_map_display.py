"""Display of a map of the samples."""

from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from anchorview._utils.text import listed, quoted
from anchorview.plotting.axes import axes_or_new
from anchorview.plotting.drawn_samples import DrawnSamples
from anchorview.plotting.map_drawing import (
    MAX_LEGEND_CATEGORIES,
    add_legend,
    add_names,
    category_colors,
    draw_categories,
    draw_numbers,
)
from anchorview.plotting.map_layout import MAX_POINTS, map_layout

POSITION_COLUMNS = ("x", "y", "cluster")
OWN_COLUMNS = (*POSITION_COLUMNS, "confidence", "class")


class SampleMapDisplay:
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
    ax_ : matplotlib Axes
        Axes with the map.
    figure_ : matplotlib Figure
        Figure of the axes.

    See Also
    --------
    anchorview.report.write_fit_report : A page with an interactive map.

    Notes
    -----
    The layout takes most of the time. To color the same map differently, call :meth:`plot` with the
    name of another column of `points`, to which columns may be added.

    Examples
    --------
    >>> from anchorview import DALMC, make_multiview
    >>> from anchorview.plotting import SampleMapDisplay
    >>> views, y = make_multiview(150, n_clusters=3, random_state=0)
    >>> model = DALMC(n_clusters=3, random_state=0).fit(views)
    >>> display = SampleMapDisplay.from_estimator(model)
    >>> [text.get_text() for text in display.text_]
    ['0', '1', '2']
    >>> display.points["sum"] = sum(view.sum(axis=1) for view in views.values())
    >>> display.plot(color="sum").colorbar_.ax.get_ylabel()
    'sum'
    """

    def __init__(self, points: pd.DataFrame, *, color: str = "cluster") -> None:
        lacking = [column for column in POSITION_COLUMNS if column not in points]
        if lacking:
            raise ValueError(f"points lacks the columns {listed(lacking)}.")
        self.points = points
        self.color = color

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
        model : fitted AutoDALMC, DALMC or estimator of :mod:`anchorview.compared`
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
        ax : matplotlib Axes, default=None
            Axes to draw on; if None, new ones.
        **plot_kw : dict
            Other parameters of :meth:`plot`.

        Returns
        -------
        display : SampleMapDisplay
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
            samples.embedding, samples.labels, max_points, normalize=samples.normalizes_embedding
        )
        points = pd.DataFrame({"x": positions[:, 0], "y": positions[:, 1]}, index=rows)
        for column, values in columns.items():
            points[column] = values.iloc[rows]
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

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; if None, new ones.
        color : str, default=None
            Column of `points` that colors them; if None, that of the constructor.
        cmap : str or matplotlib Colormap, default="viridis"
            Colors of numbers.
        scatter_kw : dict, default=None
            Properties of the points, as for `Axes.scatter`.
        text_kw : dict, default=None
            Properties of the numbers or names on the map.

        Returns
        -------
        display : SampleMapDisplay
        """
        color = self.color if color is None else color
        if color not in self.points:
            known = [column for column in self.points if column not in ("x", "y")]
            raise ValueError(
                f"There is no column {quoted(color)} to color by; the columns are {listed(known)}."
            )
        named = _as_categories(self.points["cluster"])
        side = float(np.clip(3 + 3 * np.log10(len(named.cat.categories) + 1), 6, 11))
        ax = axes_or_new(ax, side + 0.8, side)
        positions, values = self.points[["x", "y"]].to_numpy(), self.points[color]
        ax.set(xticks=[], yticks=[], xlabel="t-SNE 1", ylabel="t-SNE 2")
        ax.set_aspect("equal", adjustable="datalim")
        self.legend_ = self.colorbar_ = None
        if pd.api.types.is_float_dtype(values.dtype):
            self.points_, self.colorbar_ = draw_numbers(
                ax, positions, values, color, cmap, scatter_kw or {}
            )
        else:
            categories = _as_categories(values)
            colors = category_colors(positions, categories)
            self.points_ = draw_categories(ax, positions, categories, colors, scatter_kw or {})
            if len(categories.cat.categories) > MAX_LEGEND_CATEGORIES:
                named = categories
            elif color != "cluster":
                self.legend_ = add_legend(ax, color, categories, colors)
        self.text_ = add_names(ax, positions, named, text_kw or {})
        self.ax_, self.figure_ = ax, ax.figure
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
    return values.rename(f"{name} (given)" if name in OWN_COLUMNS else name)
