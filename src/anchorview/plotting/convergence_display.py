"""Display of the objective per iteration."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from anchorview.plotting.axes import axes_or_new
from anchorview.plotting.charts import Line, LineChart
from anchorview.plotting.colors import cluster_color
from anchorview.plotting.matplotlib_charts import draw_lines


class ConvergenceDisplay:
    """Objective of a method after every iteration.

    A curve that is flat at its end has converged. Objectives of different methods, or of different
    data, are not comparable. It is recommended to use :meth:`from_estimator`.

    Parameters
    ----------
    objective : array-like (n_values,)
        Values of the objective.
    iterations : array-like (n_values,), default=None
        Numbers of the iterations; by default from 1 on.
    name : str, default=None
        Name in the legend; without it there is no legend.

    Attributes
    ----------
    line_ : matplotlib Line2D
        The curve.
    ax_ : matplotlib Axes
        Axes with the curve.
    figure_ : matplotlib Figure
        Figure of the axes.

    See Also
    --------
    anchorview.DALMC : Its attribute `objective_` is drawn.

    Examples
    --------
    >>> from anchorview import DALMC, make_multiview
    >>> from anchorview.plotting import ConvergenceDisplay
    >>> views, _ = make_multiview(150, n_clusters=3, random_state=0)
    >>> model = DALMC(n_clusters=3, random_state=0).fit(views)
    >>> display = ConvergenceDisplay.from_estimator(model)
    >>> display.ax_.get_xlabel(), display.ax_.get_ylabel()
    ('Iteration', 'Objective')
    """

    def __init__(
        self, objective: ArrayLike, iterations: ArrayLike | None = None, *, name: str | None = None
    ) -> None:
        self.objective = np.asarray(objective, dtype=float)
        self.iterations = np.asarray(
            range(1, len(self.objective) + 1) if iterations is None else iterations
        )
        if self.iterations.shape != self.objective.shape:
            raise ValueError(
                f"iterations has shape {self.iterations.shape}, but objective has shape "
                f"{self.objective.shape}. Pass one number per value."
            )
        self.name = name

    @classmethod
    def from_estimator(
        cls, model: Any, *, name: str | None = None, ax: Any = None, **line_kw: Any
    ) -> Self:
        """Draw the objective of a fitted model.

        Parameters
        ----------
        model : fitted AutoDALMC, DALMC or estimator of :mod:`anchorview.compared`
            AutoDALMC has the objective of its best candidate.
        name : str, default=None
            Name in the legend.
        ax : matplotlib Axes, default=None
            Axes to draw on, for example those of another model's display; if None, new ones.
        **line_kw : dict
            Properties of the line.

        Returns
        -------
        display : ConvergenceDisplay
        """
        check_is_fitted(model)
        return cls(model.objective_, name=name).plot(ax, **line_kw)

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
        display : ConvergenceDisplay
        """
        ax = axes_or_new(ax, 5.5, 4)
        color = cluster_color(len(ax.lines))
        line = Line(self.iterations.tolist(), self.objective.tolist(), self.name or "", color=color)
        (self.line_,) = draw_lines(LineChart([line], "Iteration", "Objective"), ax)
        self.line_.set(**line_kw)
        if self.name is not None:
            for text in ax.legend().get_texts():
                text.set_parse_math(False)
        self.ax_, self.figure_ = ax, ax.figure
        return self
