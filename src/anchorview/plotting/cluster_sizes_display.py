"""Display of the sizes of the clusters and the confidence in them."""

from typing import Any, Self

import numpy as np
import pandas as pd

from anchorview._utils.optional_imports import optional_import
from anchorview.plotting.axes import add_color_bar, axes_or_new, name_columns
from anchorview.plotting.colors import MAIN_COLOR
from anchorview.plotting.drawn_samples import DrawnSamples


class ClusterSizesDisplay:
    """Number of samples in each cluster, in the color of their mean confidence.

    It is recommended to use :meth:`from_estimator`.

    Parameters
    ----------
    sizes : Series (n_clusters,)
        Number of samples of each cluster, indexed by the clusters.
    confidence : Series (n_clusters,), default=None
        Mean confidence in the samples of each cluster, with the same index; NaN for empty clusters.

    Attributes
    ----------
    bars_ : matplotlib BarContainer
        One bar per cluster.
    colorbar_ : matplotlib Colorbar or None
        Color scale of the confidence.
    ax_ : matplotlib Axes
        Axes with the bars.
    figure_ : matplotlib Figure
        Figure of the axes.

    Examples
    --------
    >>> from anchorview import AutoDALMC, make_multiview
    >>> from anchorview.plotting import ClusterSizesDisplay
    >>> views, _ = make_multiview(150, n_clusters=3, random_state=0)
    >>> model = AutoDALMC(n_clusters=3, budget="fast", random_state=0).fit(views)
    >>> display = ClusterSizesDisplay.from_estimator(model)
    >>> int(display.sizes.sum())
    150
    """

    def __init__(
        self, sizes: "pd.Series[int]", confidence: "pd.Series[float] | None" = None
    ) -> None:
        if confidence is not None and not confidence.index.equals(sizes.index):
            raise ValueError(
                "sizes and confidence are of different clusters. Pass both with the same index."
            )
        self.sizes = sizes
        self.confidence = confidence

    @classmethod
    def from_estimator(cls, model: Any, X: Any = None, *, ax: Any = None, **plot_kw: Any) -> Self:
        """Draw the sizes of the clusters of a fitted model.

        Parameters
        ----------
        model : fitted AutoDALMC, DALMC or estimator of :mod:`anchorview.compared`
            AutoDALMC stores the confidence in the samples of its fit. Other estimators need `X` for
            it; without it, all bars have the same color.
        X : views in memory, in any form that `fit` takes, default=None
            The samples to count, which the model labels; if None, or if the model cannot label new
            samples, those of the fit. The confidence is that of
            :func:`~anchorview.inspection.doubtful`.
        ax : matplotlib Axes, default=None
            Axes to draw on; if None, new ones.
        **plot_kw : dict
            Other parameters of :meth:`plot`.

        Returns
        -------
        display : ClusterSizesDisplay
        """
        samples = DrawnSamples(model, X)
        clusters = samples.clusters
        counts = np.bincount(samples.labels, minlength=len(clusters))
        sizes = pd.Series(counts, index=clusters, name="size")
        confidence = None
        if samples.stores_confidence or X is not None:
            sums = np.bincount(samples.labels, samples.confidence, minlength=len(clusters))
            means = np.divide(sums, counts, out=np.full(len(clusters), np.nan), where=counts > 0)
            confidence = pd.Series(means, index=clusters, name="confidence")
        return cls(sizes, confidence).plot(ax, **plot_kw)

    def plot(
        self, ax: Any = None, *, cmap: Any = "viridis", bar_kw: dict[str, Any] | None = None
    ) -> Self:
        """Draw the bars.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; if None, new ones.
        cmap : str or matplotlib Colormap, default="viridis"
            Colors of the confidence.
        bar_kw : dict, default=None
            Properties of the bars.

        Returns
        -------
        display : ClusterSizesDisplay
        """
        n_clusters = len(self.sizes)
        ax = axes_or_new(ax, float(np.clip(2 + 0.4 * n_clusters, 5, 13)), 4)
        style: dict[str, Any] = {"color": MAIN_COLOR, "edgecolor": "0.3", "linewidth": 0.5}
        scale = None
        if self.confidence is not None:
            cm = optional_import("matplotlib.cm", "Displays", "report")
            scale = cm.ScalarMappable(cmap=cmap)
            # All of its range, so that displays are comparable.
            scale.set_clim(0, 1)
            style["color"] = scale.to_rgba(self.confidence.to_numpy(dtype=float))
        heights = self.sizes.to_numpy()
        self.bars_ = ax.bar(np.arange(n_clusters), heights, **style | (bar_kw or {}))
        ax.set(xlabel="Cluster", ylabel="Number of samples", xlim=(-0.6, n_clusters - 0.4))
        ax.yaxis.get_major_locator().set_params(integer=True)
        self.colorbar_ = None
        if scale is not None:
            self.colorbar_ = add_color_bar(ax, scale, "Mean confidence")
        name_columns(ax, list(self.sizes.index))
        self.ax_, self.figure_ = ax, ax.figure
        return self
