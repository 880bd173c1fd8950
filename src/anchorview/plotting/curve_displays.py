"""Displays with curves: convergence, and agreement per number of clusters."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from itertools import cycle
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from anchorview.inspection.labeled_parts import require_labels
from anchorview.plotting.axes import MAIN_COLOR, MARK_COLOR, OTHER_COLOR, Display, cluster_color
from anchorview.plotting.drawn_samples import fitted_attribute

MARKERS = ("o", "s", "^", "D", "v")


class ConvergenceDisplay(Display):
    """Objective of a method after every iteration.

    A curve that is flat at its end has converged. The axis spans at least a tenth of the objective,
    so that a small change looks small. Objectives of different methods, or of different
    data, are not comparable. It is recommended to use :meth:`from_estimator`.

    Parameters
    ----------
    objective : array-like (n_iter,)
        Value of the objective after every iteration.
    name : str, default=None
        Name in the legend; without it there is no legend.

    Attributes
    ----------
    line_ : matplotlib Line2D
        The curve.
    %(axes)s

    See Also
    --------
    anchorview.DALMC : Its attribute `objective_` is drawn.

    %(example)s
    >>> display.ax_.get_xlabel(), display.ax_.get_ylabel()
    ('Iteration', 'Objective')
    """

    objective: ArrayLike
    _: KW_ONLY
    name: str | None = None

    @classmethod
    def from_estimator(
        cls, model: Any, *, name: str | None = None, ax: Any = None, **line_kw: Any
    ) -> Self:
        """Draw the objective of a fitted model.

        Parameters
        ----------
        model : fitted estimator with `objective_`
            AutoDALMC has the objective of its best candidate.
        name : str, default=None
            Name in the legend.
        ax : matplotlib Axes, default=None
            Axes to draw on, for example those of another model's display; if None, new ones.
        **line_kw : dict
            Properties of the line.
        %(returns)s
        """
        return cls(fitted_attribute(model, "objective_"), name=name).plot(ax, **line_kw)

    def plot(self, ax: Any = None, **line_kw: Any) -> Self:
        """Draw the curve.

        %(on_axes)s
        **line_kw : dict
            Properties of the line.
        %(returns)s
        """
        ax = self._on(ax, 5.5, 4)
        color = cluster_color(len(ax.lines))
        values = np.asarray(self.objective, dtype=float).tolist()
        line = Line(range(1, len(values) + 1), values, self.name or "", color=color)
        (self.line_,) = draw_lines(ax, [line])
        ax.set(xlabel="Iteration", ylabel="Objective")
        self.line_.set(**line_kw)
        show_in_proportion(ax)
        if self.name is not None:
            for text in ax.legend().get_texts():
                text.set_parse_math(False)
        return self


class ClusterNumberDisplay(Display):
    """Agreement between families of settings for every number of clusters that was tried.

    A high value means that settings which make different errors find the same clusters. Families
    also agree by chance, so what counts is the distance to the second line, the agreement on data
    without clusters. Levels other than the chosen number are justified as well. It is recommended
    to use :meth:`from_estimator`.

    Parameters
    ----------
    curve : Series
        Agreement, indexed by the number of clusters; NaN where it could not be computed.
    n_clusters : int, default=None
        The chosen number, which is marked.
    chance : Series, default=None
        Agreement on data without clusters, indexed by the number of clusters.
    levels : sequence of int, default=()
        Numbers of clusters of the levels, which are marked.

    Attributes
    ----------
    line_ : matplotlib Line2D
        The curve.
    chosen_line_ : matplotlib Line2D or None
        Vertical line at the chosen number.
    chance_line_ : matplotlib Line2D or None
        The agreement on data without clusters.
    level_lines_ : list of matplotlib Line2D
        Vertical lines at the levels other than the chosen number.
    %(axes)s

    See Also
    --------
    anchorview.AutoDALMC : Its attributes `curve_`, `chance_curve_` and `levels_` are drawn.

    Examples
    --------
    >>> from anchorview import AutoDALMC, make_multiview
    >>> from anchorview.plotting import ClusterNumberDisplay
    >>> views, _ = make_multiview(200, n_clusters=4, separation=8, random_state=0)
    >>> model = AutoDALMC(range(2, 8), budget="fast", random_state=0).fit(views)
    >>> display = ClusterNumberDisplay.from_estimator(model)
    >>> display.chosen_line_.get_label()
    'chosen: 4'
    """

    curve: "pd.Series[float]"
    _: KW_ONLY
    n_clusters: int | None = None
    chance: "pd.Series[float] | None" = None
    levels: Sequence[int] = ()

    @classmethod
    def from_estimator(cls, model: Any, *, ax: Any = None, **line_kw: Any) -> Self:
        """Draw the curves and levels of a fitted AutoDALMC.

        Parameters
        ----------
        model : fitted AutoDALMC
            Fitted with several numbers of clusters to choose from.
        %(ax)s
        **line_kw : dict
            Properties of the line of the agreement.
        %(returns)s
        """
        require_labels(model)
        curve = getattr(model, "curve_", None)
        if curve is None:
            raise ValueError(
                f"This {type(model).__name__} was fitted with a single number of clusters. Fit "
                "AutoDALMC with several, for example n_clusters=range(2, 21)."
            )
        number, chance, levels = model.n_clusters_fit_, model.chance_curve_, [*model.levels_.index]
        return cls(curve, n_clusters=number, chance=chance, levels=levels).plot(ax, **line_kw)

    def plot(self, ax: Any = None, **line_kw: Any) -> Self:
        """Draw the curves and levels.

        %(on_axes)s
        **line_kw : dict
            Properties of the line of the agreement.
        %(returns)s
        """
        ax = self._on(ax, 5.5, 4)
        numbers = self.curve.index.tolist()
        lines = [Line(numbers, self.curve.tolist(), "agreement")]
        if self.chance is not None:
            x, y = self.chance.index.tolist(), self.chance.tolist()
            lines.append(Line(x, y, "by chance", color=OTHER_COLOR))
        chosen = [] if self.n_clusters is None else [self.n_clusters]
        others = [level for level in self.levels if level not in chosen]
        ticks = _number_ticks(numbers, [*chosen, *others])
        self.line_, *chance_lines = draw_lines(ax, lines, ticks, log_x=True)
        y_label = "Agreement between families of settings\n(mean adjusted Rand index)"
        ax.set(xlabel="Number of clusters", ylabel=y_label)
        self.line_.set(**line_kw)
        self.chance_line_ = chance_lines[0] if chance_lines else None
        mark = partial(ax.axvline, color=MARK_COLOR, zorder=1)
        label = f"chosen: {self.n_clusters}"
        self.chosen_line_ = mark(*chosen, linestyle="dashed", label=label) if chosen else None
        self.level_lines_ = [mark(level, linestyle="dotted") for level in others]
        if others:
            plural = "" if len(others) == 1 else "s"
            self.level_lines_[0].set_label(f"other level{plural}: {', '.join(map(str, others))}")
        if chance_lines or chosen or others:
            ax.legend()
        return self


MIN_TICK_RATIO = 1.3
"""Minimum ratio of neighboring ticks of a logarithmic axis, so that their labels do not overlap."""


def _number_ticks(numbers: Sequence[int], marked: Sequence[int]) -> list[int]:
    """Ticks of a logarithmic axis of numbers of clusters: the marked ones, first, and doublings."""
    ticks: list[int] = []
    doublings = [2**power for power in range(1, 20) if min(numbers) <= 2**power <= max(numbers)]
    for number in (*marked, *doublings):
        if all(max(number, tick) >= MIN_TICK_RATIO * min(number, tick) for tick in ticks):
            ticks.append(number)
    return sorted(ticks)


@dataclass(frozen=True, eq=False)
class Line:
    """A line with markers."""

    x: Sequence[float]
    y: Sequence[float]
    name: str = ""
    """Name in the legend; a line without a name is not in it."""
    deviations: Sequence[float] | None = None
    """Half heights of the band around the line."""
    color: str = MAIN_COLOR


LEAST_SPAN = 0.1
"""Minimum span of the axis of an objective, as a share of its magnitude."""


def show_in_proportion(axes: Any) -> None:
    """Let the y axis span so much that a change which is small for the values looks small."""
    low, high = axes.dataLim.intervaly
    missing = max(0.0, LEAST_SPAN * max(abs(low), abs(high)) - (high - low))
    axes.set_ylim(low - missing / 2 - 0.05 * (high - low), high + missing / 2 + 0.05 * (high - low))


def draw_lines(
    axes: Any, lines: Sequence[Line], x_ticks: Sequence[float] | None = None, log_x: bool = False
) -> list[Any]:
    """Draw lines over a common x axis, and return them."""
    drawn = []
    for line, marker in zip(lines, cycle(MARKERS), strict=False):
        x, y = np.asarray(line.x, dtype=float), np.asarray(line.y, dtype=float)
        drawn += axes.plot(x, y, marker=marker, color=line.color, label=line.name or None)
        if line.deviations is not None:
            deviations = np.asarray(line.deviations, dtype=float)
            axes.fill_between(x, y - deviations, y + deviations, color=line.color, alpha=0.15, lw=0)
    if log_x:
        axes.set_xscale("log")
        axes.minorticks_off()
    if x_ticks is not None:
        axes.set_xticks(x_ticks, [f"{tick:g}" for tick in x_ticks])
    else:
        axes.xaxis.get_major_locator().set_params(integer=True)
    return drawn
