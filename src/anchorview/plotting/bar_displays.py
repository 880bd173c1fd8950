"""Displays with bars: sizes of clusters, weights and agreement of views."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import pandas as pd

from anchorview._utils.errors import optional_import
from anchorview.plotting.axes import (
    CLUSTER_COLORS,
    MAIN_COLOR,
    Display,
    add_color_bar,
    axes_or_new,
    name_columns,
    name_rows,
)
from anchorview.plotting.drawn_samples import DrawnSamples, fitted_attribute


def _require_same_index(of: str, **series: "pd.Series[Any] | None") -> None:
    (name, first), (other, second) = series.items()
    if first is not None and second is not None and not second.index.equals(first.index):
        raise ValueError(
            f"{name} and {other} are of different {of}: {list(first.index)} and "
            f"{list(second.index)}. Pass both with the same index."
        )


class ClusterSizesDisplay(Display):
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
    %(axes)s

    %(auto_example)s
    >>> int(display.sizes.sum())
    150
    """

    sizes: "pd.Series[int]"
    confidence: "pd.Series[float] | None" = None

    def __post_init__(self) -> None:
        _require_same_index("clusters", sizes=self.sizes, confidence=self.confidence)

    @classmethod
    def from_estimator(cls, model: Any, X: Any = None, *, ax: Any = None, **plot_kw: Any) -> Self:
        """Draw the sizes of the clusters of a fitted model.

        Parameters
        ----------
        model : fitted estimator, or any other object with `labels_`
            AutoDALMC stores the confidence in the samples of its fit. Other estimators need `X` for
            it; without it, all bars have the same color.
        X : views in memory, in any form that `fit` takes, default=None
            The samples to count, which the model labels; if None, or if the model cannot label new
            samples, those of the fit. The confidence is that of
            :func:`~anchorview.inspection.doubtful`.
        %(drawing)s
        """
        samples = DrawnSamples(model, X)
        clusters = samples.clusters
        counts = np.bincount(samples.labels, minlength=len(clusters))
        sizes = pd.Series(counts, index=clusters, name="size")
        confidence = None
        if samples.stores_confidence or X is not None:
            sums = np.bincount(samples.labels, samples.confidence, minlength=len(clusters))
            # NaN for empty clusters
            confidence = (pd.Series(sums, clusters) / sizes).rename("confidence")
        return cls(sizes, confidence).plot(ax, **plot_kw)

    def plot(
        self, ax: Any = None, *, cmap: Any = "viridis", bar_kw: dict[str, Any] | None = None
    ) -> Self:
        """Draw the bars.

        %(on_axes)s
        cmap : str or matplotlib Colormap, default="viridis"
            Colors of the confidence.
        bar_kw : dict, default=None
            Properties of the bars.
        %(returns)s
        """
        n_clusters = len(self.sizes)
        ax = self._on(ax, float(np.clip(2 + 0.4 * n_clusters, 5, 13)), 4)
        style: dict[str, Any] = {"color": MAIN_COLOR, "edgecolor": "0.3", "linewidth": 0.5}
        self.colorbar_ = None
        if self.confidence is not None:
            cm = optional_import("matplotlib.cm", "Displays", "report")
            scale = cm.ScalarMappable(cmap=cmap)
            # All of its range, so that displays are comparable.
            scale.set_clim(0, 1)
            style["color"] = scale.to_rgba(self.confidence.to_numpy(dtype=float))
            self.colorbar_ = add_color_bar(ax, scale, "Mean confidence")
        self.bars_ = ax.bar(range(n_clusters), self.sizes.to_numpy(), **style | (bar_kw or {}))
        ax.set(xlabel="Cluster", ylabel="Number of samples", xlim=(-0.6, n_clusters - 0.4))
        ax.yaxis.get_major_locator().set_params(integer=True)
        name_columns(ax, list(self.sizes.index))
        return self


WEIGHT_LABEL = "Weight in the fit (sums to 1)"
AGREEMENT_LABEL = "Agreement with the result (adjusted Rand index)"


class ViewAgreementDisplay(Display):
    """Two quantities per view: its weight in the fit, and its agreement with the result.

    They may differ. The weight is the influence of a view on the optimization, and high for a view
    that a few directions describe well. The agreement is the adjusted Rand index of the result with
    a clustering of the view alone: low for a view that has other clusters, or none, whatever its
    weight. It is recommended to use :meth:`from_estimator`.

    Parameters
    ----------
    weights : Series (n_views,)
        Weight of each view, indexed by the names of the views.
    agreement : Series (n_views,), default=None
        Agreement of each view with the result, with the same index.

    Attributes
    ----------
    weight_bars_, agreement_bars_ : matplotlib BarContainer
        Bars of the views; `agreement_bars_` is None without agreement.
    %(axes)s

    See Also
    --------
    anchorview.AutoDALMC : Its `views_` are drawn.

    %(auto_example)s
    >>> len(display.weight_bars_) == len(display.agreement_bars_) == len(views)
    True
    """

    weights: "pd.Series[float]"
    agreement: "pd.Series[float] | None" = None

    def __post_init__(self) -> None:
        _require_same_index("views", weights=self.weights, agreement=self.agreement)

    @classmethod
    def from_estimator(cls, model: Any, *, ax: Any = None, **bar_kw: Any) -> Self:
        """Draw the weights, and the agreement if the model has it.

        Parameters
        ----------
        model : fitted estimator with `views_`
            Only AutoDALMC has the agreement.
        %(ax)s
        **bar_kw : dict
            Properties of the bars.
        %(returns)s
        """
        views = fitted_attribute(model, "views_")
        return cls(views["weight"], views.get("agreement_with_result")).plot(ax, **bar_kw)

    def plot(self, ax: Any = None, **bar_kw: Any) -> Self:
        """Draw the bars.

        %(on_axes)s
        **bar_kw : dict
            Properties of the bars.
        %(returns)s
        """
        quantities = {WEIGHT_LABEL: self.weights}
        if self.agreement is not None:
            quantities[AGREEMENT_LABEL] = self.agreement
        ax, bars = draw_bars(quantities, "{:.2f}", ax, **bar_kw)
        self.ax_, self.figure_ = ax, ax.figure
        self.weight_bars_, self.agreement_bars_ = bars[0], bars[1] if bars[1:] else None
        ax.axvline(0, color="0.5", linewidth=0.8)
        ax.set(xlim=(min(0.0, ax.get_xlim()[0]), 1.08), ylabel="View")
        return self


def draw_bars(
    quantities: "Mapping[str, pd.Series[Any]]", number_format: str, ax: Any = None, **bar_kw: Any
) -> tuple[Any, list[Any]]:
    """Draw horizontal bars of quantities by name; returns the axes, and the bars of each."""
    names = list(next(iter(quantities.values())).index)
    ax = axes_or_new(ax, 6.5, 1.6 + 0.5 * len(names))
    height, drawn = 0.8 / len(quantities), []
    for number, (label, values) in enumerate(quantities.items()):
        places = np.arange(len(names)) + (number - (len(quantities) - 1) / 2) * height
        style = {"color": CLUSTER_COLORS[number], "height": height, "label": label} | bar_kw
        drawn.append(ax.barh(places, values.to_numpy(dtype=float), **style))
        texts = ["" if np.isnan(value) else number_format.format(value) for value in values]
        ax.bar_label(drawn[-1], texts, padding=3, fontsize="small")
    ax.set(ylim=(len(names) - 0.5, -0.5))
    if len(quantities) == 1:
        ax.set_xlabel(label)
    else:
        ax.legend(loc="lower left", bbox_to_anchor=(0, 1), frameon=False, borderaxespad=0.2)
    ax.margins(x=0.1)
    name_rows(ax, names)
    return ax, drawn
