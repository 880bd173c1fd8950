"""Display of the space that all views share: samples and the anchors of the views."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from anchorview._utils.typing import Array
from anchorview.plotting.axes import Display
from anchorview.plotting.colors import cluster_color
from anchorview.plotting.drawn_samples import fitted_attribute

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
