"""Displays with heat maps: markers of clusters, and two partitions compared."""

from collections.abc import Mapping
from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
import pandas as pd

from anchorview._utils.errors import optional_import
from anchorview._utils.typing import Array
from anchorview.inspection import compare_partitions
from anchorview.inspection.labeled_parts import labeled_source
from anchorview.inspection.markers import leading_markers, marker_table
from anchorview.plotting.axes import (
    SHARE_COLORS,
    Display,
    add_color_bar,
    font_size,
    name_columns,
    name_rows,
    write_numbers,
)

SHOWN_SHARE = 0.99
"""Share of the effects within the color scale, so that a few large ones do not hide the others."""

MAX_LOW_ROWS = 40
"""With more rows than this, clusters are also named at the top."""


class MarkerHeatmapDisplay(Display):
    """Leading markers of each cluster: how their means differ from those of other samples.

    Rows are features, grouped by view, the view with most of the markers first; columns are
    clusters. Cells have the standardized mean difference of the feature between the samples of the
    cluster and all others; those of levels of categories also have the share of the samples of the
    cluster that have the level. It is recommended to use :meth:`from_estimator`.

    Parameters
    ----------
    effects : DataFrame
        Standardized mean differences, indexed by view and feature, one column per cluster; rows of
        a view are consecutive.
    shares : DataFrame, default=None
        Shares of the samples of each cluster that have a level of a category, with the same rows
        and columns; NaN for other features. They are written in the cells.

    Attributes
    ----------
    im_ : matplotlib AxesImage
        The heat map.
    colorbar_ : matplotlib Colorbar
        Its color scale.
    view_axis_ : matplotlib SecondaryAxis
        Names of the views, at the right side.
    text_ : array of matplotlib Text, or None
        The shares; None if there are none, or no room for them.
    %(axes)s

    See Also
    --------
    anchorview.inspection.cluster_markers : The table of all markers.

    Examples
    --------
    >>> from anchorview import DALMC, load_digits
    >>> from anchorview.plotting import MarkerHeatmapDisplay
    >>> views, _ = load_digits(return_X_y=True)
    >>> model = DALMC(n_clusters=10, random_state=0).fit(views)
    >>> display = MarkerHeatmapDisplay.from_estimator(model, views, n_features=2)
    >>> display.effects.shape[1]
    10
    """

    effects: pd.DataFrame
    shares: pd.DataFrame | None = None

    def __post_init__(self) -> None:
        if self.effects.index.nlevels != 2:
            raise ValueError("effects must be indexed by view and feature.")

    @classmethod
    def from_estimator(
        cls, model_or_labels: Any, X: Any, *, n_features: int = 3, ax: Any = None, **plot_kw: Any
    ) -> Self:
        """Find and draw the markers of a fitted model, or of labels.

        Parameters
        ----------
        model_or_labels : fitted estimator, or array-like (n,) of labels
            As for :func:`~anchorview.inspection.cluster_markers`.
        X : views, in any form that estimators take
            As for :func:`~anchorview.inspection.cluster_markers`.
        n_features : int, default=3
            Number of markers per cluster. A feature that is a marker of several clusters has one
            row.
        %(drawing)s
        """
        if n_features < 1:
            raise ValueError(f"n_features={n_features} should be >= 1.")
        markers = marker_table(labeled_source(model_or_labels, X))
        effects = _leading_effects(markers, n_features)
        levels = markers[markers["kind"] == "level"]
        shares = _by_cluster(levels, "mean_in").reindex_like(effects) if len(levels) else None
        return cls(effects, shares).plot(ax, **plot_kw)

    def plot(
        self, ax: Any = None, *, cmap: Any = "RdBu_r", im_kw: dict[str, Any] | None = None
    ) -> Self:
        """Draw the heat map.

        %(on_axes)s
        cmap : str or matplotlib Colormap, default="RdBu_r"
            Colors of the effects, from negative to positive.
        im_kw : dict, default=None
            Properties of the image, as for `Axes.imshow`.
        %(returns)s
        """
        n_rows, n_columns = self.effects.shape
        width = float(np.clip(4 + 0.28 * n_columns, 5.5, 14))
        ax = self._on(ax, width, float(np.clip(1.5 + 0.19 * n_rows, 3.5, 24)))
        values = self.effects.to_numpy(dtype=float)
        sizes = np.abs(values[np.isfinite(values)])
        limit = float(np.quantile(sizes, SHOWN_SHARE)) or 1.0
        views = list(self.effects.index.get_level_values(0))
        shares = self.effects * np.nan if self.shares is None else self.shares
        texts = shares.map(lambda share: "" if np.isnan(share) else f"{share:.0%}")
        ax.set(xlabel="Cluster", ylabel="Feature")
        self.view_axis_ = _add_views(ax, views)
        self.im_, self.colorbar_, self.text_ = draw_cells(
            ax,
            self.effects.droplevel(0),
            "Standardized mean difference",
            texts,
            {"cmap": cmap, "vmin": -limit, "vmax": limit} | (im_kw or {}),
            extend="both" if sizes.max() > limit else "neither",
        )
        if n_rows > MAX_LOW_ROWS:
            ax.tick_params(top=True, labeltop=True)
        return self


def draw_cells(
    ax: Any,
    values: pd.DataFrame,
    label: str,
    texts: pd.DataFrame,
    image_kw: Mapping[str, Any],
    text_kw: Mapping[str, Any] | None = None,
    extend: str = "neither",
) -> tuple[Any, Any, Array | None]:
    """Draw a heat map with names, a color bar, and texts in the cells if they fit; return these."""
    cells = values.to_numpy(dtype=float)
    image = ax.imshow(cells, aspect="auto", interpolation="nearest", **image_kw)
    bar = add_color_bar(ax, image, label, extend=extend)
    name_rows(ax, list(values.index))
    name_columns(ax, list(values.columns))
    return image, bar, write_numbers(image, texts.to_numpy(dtype=str), **(text_kw or {}))


def _leading_effects(markers: pd.DataFrame, n_features: int) -> pd.DataFrame:
    """Effects of the features that lead in some cluster, in the order of rows and columns."""
    clusters = pd.unique(markers["cluster"])
    leading = leading_markers(markers, n_features, ["cluster"]).copy()
    leading["position"] = pd.Index(clusters).get_indexer(pd.Index(leading["cluster"]))
    # A row is at the first cluster of those in which the feature ranks highest.
    leading = leading.sort_values(["rank", "position"], kind="stable")
    leading = leading.drop_duplicates(["view", "feature"])
    leading["view_size"] = -leading.groupby("view")["view"].transform("size")
    order = leading.sort_values(["view_size", "view", "position", "rank"], kind="stable")
    rows = pd.MultiIndex.from_frame(order[["view", "feature"]])
    return _by_cluster(markers, "effect").reindex(index=rows, columns=clusters)


def _by_cluster(markers: pd.DataFrame, name: str) -> pd.DataFrame:
    """Values of a column of markers, indexed by view and feature, one column per cluster."""
    return markers.set_index(["view", "feature", "cluster"])[name].unstack("cluster")


def _add_views(ax: Any, views: list[str]) -> Any:
    """Name the views at the right side, with lines between their rows."""
    starts = [row for row in range(len(views)) if row == 0 or views[row] != views[row - 1]]
    middles = np.add(starts, [*starts[1:], len(views)]) / 2 - 0.5
    background = optional_import("matplotlib", "Displays", "report").rcParams["axes.facecolor"]
    for start in starts[1:]:
        ax.axhline(start - 0.5, color=background, linewidth=3)
    axis = ax.secondary_yaxis("right")
    names = [views[start] for start in starts]
    axis.set_yticks(middles, names, parse_math=False, fontsize=font_size(0.9))
    axis.tick_params(length=0)
    return axis


NAMES = ("Clusters of the first partition", "Clusters of the second partition")


class PartitionComparisonDisplay(Display):
    """Contingency table of two partitions, with matched clusters on the diagonal.

    Cells have the number of samples that a cluster of the first partition (row) and one of the
    second (column) have in common; their color is its share of the row. Clusters that both
    partitions contain have a single dark cell, on the diagonal. It is recommended to use
    :meth:`from_partitions`.

    Parameters
    ----------
    table : DataFrame
        Numbers of samples; rows are clusters of the first partition, columns of the second.
    scores : mapping of str to float, default=None
        Scores of the agreement, for the title.
    names : tuple of two str
        Names of the axes, first that of the rows.

    Attributes
    ----------
    im_ : matplotlib AxesImage
        The heat map.
    text_ : array of matplotlib Text or None
        Numbers in the cells, None in empty ones; None if there is no space for them.
    colorbar_ : matplotlib Colorbar
        Color scale of the shares.
    %(axes)s

    See Also
    --------
    anchorview.inspection.compare_partitions : The table, scores, and which samples moved.

    Examples
    --------
    >>> from anchorview.plotting import PartitionComparisonDisplay
    >>> display = PartitionComparisonDisplay.from_partitions([0, 0, 1, 1, 1], [1, 1, 0, 0, 1])
    >>> display.table.to_numpy().tolist()
    [[2, 0], [1, 2]]
    """

    table: pd.DataFrame
    _: KW_ONLY
    scores: Mapping[str, float] | None = None
    names: tuple[str, str] = NAMES

    @classmethod
    def from_partitions(
        cls, a: Any, b: Any, *, names: tuple[str, str] = NAMES, ax: Any = None, **plot_kw: Any
    ) -> Self:
        """Compare two partitions of the same samples and draw the result.

        Parameters
        ----------
        a, b : fitted estimators or array-like (n,) of labels
            As for :func:`~anchorview.inspection.compare_partitions`.
        names : tuple of two str
            Names of the axes, first that of `a`.
        %(drawing)s
        """
        comparison = compare_partitions(a, b)
        return cls(comparison.table, scores=comparison.scores, names=names).plot(ax, **plot_kw)

    def plot(
        self,
        ax: Any = None,
        *,
        cmap: Any = None,
        im_kw: dict[str, Any] | None = None,
        text_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the heat map.

        %(on_axes)s
        cmap : str or matplotlib Colormap, default=None
            Colors of the shares; if None, from light gray to dark blue.
        im_kw : dict, default=None
            Properties of the image, as for `Axes.imshow`.
        text_kw : dict, default=None
            Properties of the numbers.
        %(returns)s
        """
        # Room for a number in each cell
        height, width = np.clip(1.6 + 0.42 * np.array(self.table.shape), 4, 14).tolist()
        ax = self._on(ax, width + 1, height)
        shares = self.table.div(self.table.sum(axis=1), axis=0).fillna(0.0)
        texts = self.table.astype(str).where(self.table > 0, "")
        ax.set_ylabel(self.names[0], parse_math=False)
        ax.set_xlabel(self.names[1], parse_math=False)
        if self.scores:
            shown = ", ".join(f"{name} {score:.2f}" for name, score in self.scores.items())
            ax.set_title(shown, fontsize="medium")
        if cmap is None:
            colors = optional_import("matplotlib.colors", "Displays", "report")
            cmap = colors.LinearSegmentedColormap.from_list("shares", SHARE_COLORS)
        style = {"cmap": cmap, "vmin": 0, "vmax": 1} | (im_kw or {})
        drawn = draw_cells(ax, shares, "Share of the row", texts, style, text_kw)
        self.im_, self.colorbar_, self.text_ = drawn
        return self
