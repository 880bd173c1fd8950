"""AWMVC: auto-weighted multi-view clustering in several latent dimensions at once."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from scipy.linalg import lstsq

from anchorview._utils.linalg import leading_directions, polar, polar_factor, rank_up_to
from anchorview._utils.progress import report_progress
from anchorview._utils.sklearn_compat import Interval, StrOptions
from anchorview._utils.threads import for_blocks
from anchorview._utils.typing import Array
from anchorview.compared._base import Clustering, ComparedMethod
from anchorview.core.compress import RANK_TOLERANCE, pose_problem
from anchorview.core.cost_model import gram_memory
from anchorview.core.scale import ViewScaling, fit_scalings, scaled_block
from anchorview.views.container import MultiViewData, RowBlock

LEAST_RESIDUAL = 1e-10
"""Share of ||X||^2 that counts as unexplained by a latent dimension that explains everything."""


@dataclass(frozen=True)
class LatentSpaces:
    """What the optimization found."""

    consensus: Array
    """S', n x k."""
    spaces: tuple[Array, ...]
    """Z_i', n x l_i."""
    dimension_weights: Array
    """alpha."""
    alignment_weights: Array
    """c."""
    objective: Array


def solve(
    X: Array,
    start: Sequence[Array],
    n_columns: int,
    n_views: int,
    *,
    exact_weights: bool = False,
    max_iter: int = 101,
    tol: float = 1e-5,
) -> LatentSpaces:
    """Alternate from the orthonormal `start` (one ``Z_i'``, n x l_i, a latent dimension).

    `X` is all views side by side: because the views weigh the same, the sums over views in the
    objective are products with it. Rows may be samples or pseudo-samples, ``X = Q R``, since every
    step commutes with an orthonormal ``Q``.
    """
    K = X @ X.T if X.shape[0] <= X.shape[1] else None
    total = float(np.vdot(X, X))
    spaces = list(start)
    ends = np.cumsum([Z.shape[1] for Z in spaces])[:-1]
    maps = [np.eye(Z.shape[1], n_columns) for Z in spaces]
    alpha = np.full(len(spaces), 1 / len(spaces))
    c = np.full(len(spaces), len(spaces) ** -0.5)
    objective: list[float] = []
    for t in range(max_iter):
        # B_i = X'Z_i' enters only by X B_i and by norms.
        together = np.hstack(spaces)
        products = np.split(X @ (X.T @ together) if K is None else K @ together, ends, axis=1)
        squares = [np.vdot(Z, P) for Z, P in zip(spaces, products, strict=True)]
        S, _ = polar(sum(w * Z @ W for w, Z, W in zip(c, spaces, maps, strict=True)))
        maps = [polar_factor(Z.T @ S) for Z in spaces]
        spaces = [
            polar((a / n_views) ** 2 * P + w * S @ W.T)[0]
            for a, P, w, W in zip(alpha, products, c, maps, strict=True)
        ]
        # r_i = b^2 ||X - Z_i' B_i'||^2, with B_i of the space before this iteration.
        residuals = [
            max(total - 2 * np.vdot(P, Z) + square, LEAST_RESIDUAL * total) / n_views**2
            for P, Z, square in zip(products, spaces, squares, strict=True)
        ]
        r = np.array(residuals)
        f = np.array([np.vdot(Z @ W, S) for Z, W in zip(spaces, maps, strict=True)])
        alpha = r ** (-1.0 if exact_weights else -0.5)
        alpha /= alpha.sum()
        c = f / np.linalg.norm(f)
        objective.append(float(0.5 * alpha**2 @ r - c @ f))
        report_progress("iterating", t + 1, max_iter)
        if t >= 2 and abs(objective[-1] - objective[-2]) < tol * abs(objective[-1]):
            break
    return LatentSpaces(S, tuple(spaces), alpha, c, np.array(objective))


class AWMVC(ComparedMethod):
    r"""Auto-weighted multi-view clustering (Wan et al., 2023).

    The views are factorized in several latent dimensions :math:`l_i = i k`, and one orthonormal
    consensus :math:`S` is aligned with all of the factors; its columns, one a sample, are
    clustered:

    .. math::

        \min \tfrac12 \sum_i \alpha_i^2 \sum_v \tfrac1{V^2} \|X_v - B_{iv} Z_i\|_F^2
             - \sum_i c_i \operatorname{tr}(Z_i^\top W_i S)
        \quad\text{s.t. } Z_i Z_i^\top = I,\ W_i^\top W_i = I,\ S S^\top = I,\
        \textstyle\sum_i \alpha_i = 1,\ \|c\|_2 = 1.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters k, at least 2.
    n_dimensions : int, default=3
        Number of latent dimensions: k, 2k, ... up to this many times k.
    init : {"svd", "identity"}, default="svd"
        Start of the :math:`Z_i`: leading singular vectors of the views side by side, or the first
        rows of the identity, which the published numbers use and which depends on the order of the
        samples.
    exact_weights : bool, default=False
        Whether :math:`\alpha` is the minimizer of the objective (proportional to
        :math:`1 / r_i`, the residuals), which makes the objective monotone, or proportional to
        :math:`r_i^{-1/2}` as in the authors' program.
    max_iter : int, default=101
        Most iterations.
    tol : float, default=1e-5
        Relative change of the objective at which to stop.
    n_init : int, default=50
        Restarts of K-means.
    random_state : int, RandomState instance or None, default=None
        Determines K-means.
    verbose : int, default=0
        Whether to print what is done.

    Attributes
    ----------
    labels_ : array (n,) of int32
        Cluster of each sample.
    embedding_ : array (n, min(k, rank of the views))
        The consensus :math:`S^\top`.
    view_weights_ : array (n_views,)
        1 / V each: the method weighs dimensions, not views.
    dimension_weights_ : array (n_dimensions,)
        :math:`\alpha`.
    alignment_weights_ : array (n_dimensions,)
        :math:`c`.
    objective_ : array (n_iter_,)
        The objective after every iteration.
    n_iter_ : int
        Number of iterations.
    view_names_in_, n_views_in_, n_features_per_view_, n_features_in_, sample_ids_
        What `fit` learned about the views.

    Notes
    -----
    Features are standardized first (divisor n - 1; constant ones become zero).

    **Cost.** Views weigh the same, so all steps are those of the views side by side, and they run
    on the same exact compression as DALMC: one pass over the samples for the Gram matrix of all D
    features, iterations on at most min(n, D) pseudo-samples, one pass back. Memory is about ten
    D x D matrices where n > D (and one more for each core), and four times the standardized data
    otherwise.

    **Paper and program.** The program takes :math:`\alpha_i \propto r_i^{-1/2}`, which does not
    minimize the objective; the residual uses the bases of the step before. Its labels are the best
    of 50 K-means runs by the true classes; here they are the run of least inertia. How the two
    starts compare on real data is in ``benchmarks/compared.md``.

    **Hard data.** Latent dimensions and the columns of S are at most the rank of the views side by
    side, which is how fewer features than clusters are dealt with. A dimension that explains the
    views completely counts as leaving a share of 1e-10. Equal samples get the same cluster; if
    fewer samples than clusters differ, clusters stay empty and K-means warns of it.

    References
    ----------
    X. Wan, X. Liu, J. Liu, S. Wang, Y. Wen, W. Liang, E. Zhu, Z. Liu, L. Zhou. Auto-weighted
    multi-view clustering for large-scale data. AAAI, 2023.

    Examples
    --------
    >>> from anchorview import make_multiview
    >>> from anchorview.compared import AWMVC
    >>> views, y = make_multiview(60, n_clusters=3, random_state=0)
    >>> model = AWMVC(n_clusters=3, random_state=0).fit(views)
    >>> model.embedding_.shape
    (60, 3)
    """

    normalize_embedding: ClassVar[bool] = True

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ComparedMethod._parameter_constraints,
        "n_dimensions": [Interval(Integral, 1, None, closed="left")],
        "init": [StrOptions({"svd", "identity"})],
        "exact_weights": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_dimensions: int = 3,
        init: str = "svd",
        exact_weights: bool = False,
        max_iter: int = 101,
        tol: float = 1e-5,
        n_init: int = 50,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_dimensions = n_dimensions
        self.init = init
        self.exact_weights = exact_weights
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.random_state = random_state
        self.verbose = verbose

    def _cluster(self, data: MultiViewData) -> Clustering:
        n, n_views = len(data), len(data.views)
        deviation = np.sqrt(n / (n - 1))
        scalings = tuple(replace(s, norm=deviation) for s in fit_scalings(data, "zscore"))
        largest = min(self.n_dimensions * self.n_clusters, n)
        if self.init == "identity":
            # The start is not in the span of the views, so it is compressed along with them.
            units = sparse.eye_array(n, largest, format="csr", dtype=data.dtype)
            named = dict(zip(data.names, data.views, strict=True))
            data = MultiViewData({**named, "first samples": units})
            scalings = (*scalings, ViewScaling())
        problem = pose_problem(data, scalings, "compressed", unit_norm=False)
        X = np.hstack(problem.views[:n_views])
        rank = rank_up_to(X, largest, np.sqrt(RANK_TOLERANCE[data.dtype.name]))
        sizes = [min(i * self.n_clusters, rank) for i in range(1, self.n_dimensions + 1)]
        if self.init == "identity":
            start = problem.views[n_views]
        else:
            start, _ = leading_directions(X.T, rank)
        solution = solve(
            X,
            [start[:, :size] for size in sizes],
            sizes[0],
            n_views,
            exact_weights=self.exact_weights,
            max_iter=self.max_iter,
            tol=self.tol,
        )
        self.dimension_weights_ = solution.dimension_weights
        self.alignment_weights_ = solution.alignment_weights
        R = np.hstack(problem.views)
        embedding = _of_samples(data, scalings, R, solution.consensus)
        labels = self._by_kmeans(embedding, normalize=self.normalize_embedding)
        return Clustering(labels, np.full(n_views, 1 / n_views), solution.objective, embedding)

    def _memory_needed(self, data: MultiViewData) -> float:
        n, D = data.shape
        largest = min(self.n_dimensions * self.n_clusters, n)
        D += largest if self.init == "identity" else 0
        rows = min(n, D)
        spaces = 3 * self.n_dimensions * largest * rows
        small = 4 * rows * D + 3 * rows**2 + spaces
        return gram_memory(data) + 8 * (small + 4 * n * self.n_clusters)


def _of_samples(
    data: MultiViewData, scalings: tuple[ViewScaling, ...], R: Array, consensus: Array
) -> Array:
    """Rows of all samples ``X = Q R`` for the rows of pseudo-samples: ``Q S = X R^+ S``."""
    if len(R) == len(data):
        return consensus
    W, *_ = lstsq(R, consensus)
    W = W.astype(data.dtype)
    embedding = np.empty((len(data), W.shape[1]), dtype=data.dtype)

    def work(block: RowBlock) -> None:
        embedding[block.rows] = scaled_block(data, scalings, block) @ W

    for_blocks(work, data.blocks(), "embedding")
    return embedding
