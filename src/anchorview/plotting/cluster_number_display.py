"""Display of the agreement per number of clusters."""

from typing import Any, Self

import pandas as pd
from sklearn.utils.validation import check_is_fitted

from anchorview.plotting.axes import axes_or_new
from anchorview.plotting.charts import Line, LineChart
from anchorview.plotting.matplotlib_charts import draw_lines


class ClusterNumberDisplay:
    """Agreement between families of settings for every number of clusters that was tried.

    A high value means that settings which make different errors find the same clusters. Other
    numbers with nearly the same agreement are as justified as the chosen one. It is recommended to
    use :meth:`from_estimator`.

    Parameters
    ----------
    curve : Series
        Agreement, indexed by the number of clusters; NaN where it could not be computed.
    n_clusters : int, default=None
        The chosen number, which is marked.

    Attributes
    ----------
    line_ : matplotlib Line2D
        The curve.
    chosen_line_ : matplotlib Line2D or None
        Vertical line at the chosen number.
    ax_ : matplotlib Axes
        Axes with the curve.
    figure_ : matplotlib Figure
        Figure of the axes.

    See Also
    --------
    anchorview.AutoDALMC : Its attribute `curve_` is drawn.

    Examples
    --------
    >>> from anchorview import AutoDALMC, make_multiview
    >>> from anchorview.plotting import ClusterNumberDisplay
    >>> views, _ = make_multiview(200, n_clusters=4, separation=8, random_state=0)
    >>> model = AutoDALMC(n_clusters=range(2, 8), random_state=0).fit(views)
    >>> display = ClusterNumberDisplay.from_estimator(model)
    >>> display.chosen_line_.get_label()
    'chosen: 4'
    """

    def __init__(self, curve: "pd.Series[float]", *, n_clusters: int | None = None) -> None:
        self.curve = curve
        self.n_clusters = n_clusters

    @classmethod
    def from_estimator(cls, model: Any, *, ax: Any = None, **line_kw: Any) -> Self:
        """Draw the curve of a fitted AutoDALMC.

        Parameters
        ----------
        model : fitted AutoDALMC
            Fitted with several numbers of clusters to choose from.
        ax : matplotlib Axes, default=None
            Axes to draw on; if None, new ones.
        **line_kw : dict
            Properties of the line.

        Returns
        -------
        display : ClusterNumberDisplay
        """
        check_is_fitted(model)
        curve = getattr(model, "curve_", None)
        if curve is None:
            raise ValueError(
                f"This {type(model).__name__} was fitted with a single number of clusters. Fit "
                "AutoDALMC with several, for example n_clusters=range(2, 21)."
            )
        return cls(curve, n_clusters=model.n_fitted_clusters).plot(ax, **line_kw)

    def plot(self, ax: Any = None, **line_kw: Any) -> Self:
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; if None, new ones.
        **line_kw : dict
            Properties of the line.

        Returns
        -------
        display : ClusterNumberDisplay
        """
        ax = axes_or_new(ax, 5.5, 4)
        line = Line(self.curve.index.tolist(), self.curve.tolist())
        chart = LineChart(
            [line],
            "Number of clusters",
            "Agreement between families of settings\n(mean adjusted Rand index)",
            marked_x=self.n_clusters,
        )
        self.line_, *marked = draw_lines(chart, ax)
        self.line_.set(**line_kw)
        self.chosen_line_ = marked[0] if marked else None
        if self.chosen_line_ is not None:
            self.chosen_line_.set_label(f"chosen: {self.n_clusters}")
            ax.legend(handles=[self.chosen_line_])
        self.ax_, self.figure_ = ax, ax.figure
        return self
