"""Display of the weights of the views and their agreement with the result."""

from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from anchorview.plotting.axes import axes_or_new, name_rows
from anchorview.plotting.colors import CLUSTER_COLORS

WEIGHT_LABEL = "Weight in the fit (sums to 1)"
AGREEMENT_LABEL = "Agreement with the result (adjusted Rand index)"


class ViewAgreementDisplay:
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
    ax_ : matplotlib Axes
        Axes with the bars.
    figure_ : matplotlib Figure
        Figure of the axes.

    See Also
    --------
    anchorview.AutoDALMC : Its `view_weights_` and `view_agreement_` are drawn.

    Examples
    --------
    >>> from anchorview import AutoDALMC, make_multiview
    >>> from anchorview.plotting import ViewAgreementDisplay
    >>> views, _ = make_multiview(150, n_clusters=3, random_state=0)
    >>> model = AutoDALMC(n_clusters=3, budget="fast", random_state=0).fit(views)
    >>> display = ViewAgreementDisplay.from_estimator(model)
    >>> len(display.weight_bars_) == len(display.agreement_bars_) == len(views)
    True
    """

    def __init__(
        self, weights: "pd.Series[float]", agreement: "pd.Series[float] | None" = None
    ) -> None:
        if agreement is not None and not agreement.index.equals(weights.index):
            raise ValueError(
                f"weights are of the views {list(weights.index)}, but agreement of "
                f"{list(agreement.index)}. Pass both for the same views in the same order."
            )
        self.weights = weights
        self.agreement = agreement

    @classmethod
    def from_estimator(cls, model: Any, *, ax: Any = None, **bar_kw: Any) -> Self:
        """Draw the weights, and the agreement if the model has it.

        Parameters
        ----------
        model : fitted AutoDALMC, DALMC or estimator of :mod:`anchorview.compared`
            Only AutoDALMC has the agreement.
        ax : matplotlib Axes, default=None
            Axes to draw on; if None, new ones.
        **bar_kw : dict
            Properties of the bars.

        Returns
        -------
        display : ViewAgreementDisplay
        """
        check_is_fitted(model)
        agreement = getattr(model, "view_agreement_", None)
        return cls(model.view_weights_, agreement).plot(ax, **bar_kw)

    def plot(self, ax: Any = None, **bar_kw: Any) -> Self:
        """Draw the bars.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; if None, new ones.
        **bar_kw : dict
            Properties of the bars.

        Returns
        -------
        display : ViewAgreementDisplay
        """
        n_views = len(self.weights)
        ax = axes_or_new(ax, 6.5, 1.6 + 0.5 * n_views)
        self.weight_bars_ = self._bars(ax, self.weights, 0, WEIGHT_LABEL, bar_kw)
        self.agreement_bars_ = None
        if self.agreement is not None:
            self.agreement_bars_ = self._bars(ax, self.agreement, 1, AGREEMENT_LABEL, bar_kw)
        ax.axvline(0, color="0.5", linewidth=0.8)
        ax.set(xlim=(min(0.0, ax.get_xlim()[0]), 1.08), ylim=(n_views - 0.5, -0.5))
        name_rows(ax, list(self.weights.index))
        ax.set_ylabel("View")
        ax.legend(loc="lower left", bbox_to_anchor=(0, 1), frameon=False, borderaxespad=0.2)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _bars(
        self, ax: Any, values: "pd.Series[float]", number: int, label: str, bar_kw: dict[str, Any]
    ) -> Any:
        height = 0.8 if self.agreement is None else 0.4
        offset = 0 if self.agreement is None else (number - 0.5) * height
        style = {"color": CLUSTER_COLORS[number], "height": height, "label": label} | bar_kw
        bars = ax.barh(np.arange(len(values)) + offset, values.to_numpy(dtype=float), **style)
        numbers = ["" if np.isnan(value) else f"{value:.2f}" for value in values]
        ax.bar_label(bars, numbers, padding=3, fontsize="small")
        return bars
