"""Display of the contingency table of two partitions."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import pandas as pd

from anchorview._utils.optional_imports import optional_import
from anchorview.inspection import PartitionComparison, compare_partitions
from anchorview.plotting.axes import (
    add_color_bar,
    axes_or_new,
    name_columns,
    name_rows,
    write_numbers,
)
from anchorview.plotting.colors import heat_map_palette

NAMES = ("Clusters of the first partition", "Clusters of the second partition")


class PartitionComparisonDisplay:
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
    ax_ : matplotlib Axes
        Axes with the heat map.
    figure_ : matplotlib Figure
        Figure of the axes.

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

    def __init__(
        self,
        table: pd.DataFrame,
        *,
        scores: Mapping[str, float] | None = None,
        names: tuple[str, str] = NAMES,
    ) -> None:
        self.table = table
        self.scores = scores
        self.names = names

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
        ax : matplotlib Axes, default=None
            Axes to draw on; if None, new ones.
        **plot_kw : dict
            Other parameters of :meth:`plot`.

        Returns
        -------
        display : PartitionComparisonDisplay
        """
        return cls.from_comparison(compare_partitions(a, b), names=names, ax=ax, **plot_kw)

    @classmethod
    def from_comparison(
        cls,
        comparison: PartitionComparison,
        *,
        names: tuple[str, str] = NAMES,
        ax: Any = None,
        **plot_kw: Any,
    ) -> Self:
        """Draw the result of :func:`~anchorview.inspection.compare_partitions`.

        Parameters
        ----------
        comparison : PartitionComparison
            The comparison.
        names : tuple of two str
            Names of the axes, first that of the rows.
        ax : matplotlib Axes, default=None
            Axes to draw on; if None, new ones.
        **plot_kw : dict
            Other parameters of :meth:`plot`.

        Returns
        -------
        display : PartitionComparisonDisplay
        """
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

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; if None, new ones.
        cmap : str or matplotlib Colormap, default=None
            Colors of the shares; if None, from light gray to dark blue.
        im_kw : dict, default=None
            Properties of the image, as for `Axes.imshow`.
        text_kw : dict, default=None
            Properties of the numbers.

        Returns
        -------
        display : PartitionComparisonDisplay
        """
        counts = self.table.to_numpy()
        n_rows, n_columns = counts.shape
        width, height = (float(np.clip(1.6 + 0.42 * n, 4, 14)) for n in (n_columns, n_rows))
        ax = axes_or_new(ax, width + 1, height)
        totals = counts.sum(axis=1, keepdims=True)
        shares = np.divide(counts, totals, out=np.zeros(counts.shape), where=totals > 0)
        if cmap is None:
            colors = optional_import("matplotlib.colors", "Displays", "report")
            cmap = colors.ListedColormap(heat_map_palette(256))
        image_kw = {"cmap": cmap, "vmin": 0, "vmax": 1} | (im_kw or {})
        self.im_ = ax.imshow(shares, aspect="auto", interpolation="nearest", **image_kw)
        self.colorbar_ = add_color_bar(ax, self.im_, "Share of the row")
        ax.set_ylabel(self.names[0], parse_math=False)
        ax.set_xlabel(self.names[1], parse_math=False)
        if self.scores:
            shown = ", ".join(f"{name} {score:.2f}" for name, score in self.scores.items())
            ax.set_title(shown, fontsize="medium")
        name_rows(ax, list(self.table.index))
        name_columns(ax, list(self.table.columns))
        texts = np.where(counts > 0, counts.astype(str), "")
        self.text_ = write_numbers(self.im_, texts, **(text_kw or {}))
        self.ax_, self.figure_ = ax, ax.figure
        return self
