"""BMVC: binary multi-view clustering.

Samples are rows: the kernel ``K_v = P_v'`` is (n, m) for m anchors, codes ``B`` (n, L) and centers
``C`` (k, L) hold -1 and 1, the clusters ``G`` are kept as labels, and ``U_v`` is (m, L).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike
from scipy.linalg import cho_factor, cho_solve

from anchorview._utils.linalg import leading_directions, times
from anchorview._utils.threads import for_blocks, row_slices
from anchorview._utils.typing import Array
from anchorview.compared._base import (
    BaselineResult,
    WeightedBaseline,
    fill_empty_clusters,
    iterations,
    sum_by_cluster,
)
from anchorview.views.container import MultiViewData, RowBlock, dense_rows

SAMPLES_PER_ANCHOR, MAX_ANCHORS = 15, 1000
"""Default number of samples per anchor, and maximum default number of anchors."""

KERNEL_BLOCK, ROUNDING_UNITS = 2**20, 16
"""Entries of a block of samples or of their kernel, and units in the last place of squared norms
up to which a squared distance is zero."""

INIT_SAMPLES, CLUSTER_STEPS = 2000, 10
"""Samples for the principal directions of the initial codes, at least one per bit, and alternations
between centers and labels per iteration."""

BALANCE_STEPS, BALANCE_PENALTY, BALANCE_STEP = 3, 0.001, 0.01
"""Gradient steps towards balanced centers, penalty rho on their sums, inverse step length mu."""

MIN_CODE_LOSS = 1e-3
"""Minimum share of the codes that counts as not explained by a view."""


def squared_distances(X: Array, anchors: Array, out: Array) -> None:
    """Write squared distances of rows to anchors to `out`; rounding errors become zero."""
    # Centered, so that a common offset costs the distances no digits.
    mean = anchors.mean(axis=0)
    X, A = ((points - mean).astype(out.dtype) for points in (X, anchors))
    norms = np.einsum("ij,ij->i", X, X)[:, None] + np.einsum("ij,ij->i", A, A)
    np.matmul(X, A.T, out=out)
    out *= -2
    out += norms
    norms *= ROUNDING_UNITS * np.finfo(out.dtype).eps
    out[out <= norms] = 0


def centered_kernel(data: MultiViewData, p: int, anchors: Array) -> Array:
    """``exp(-||x_i - a_j||^2 / (2 sigma^2))`` of a view (n, m), minus the column means.

    The width sigma is twice the mean distance to the nearest anchor that is not the sample itself.
    """
    n, m = len(data), len(anchors)
    view = data.views[p]
    # The kernel does not depend on the unit of the view. A power of two changes no digit, and
    # distances of any unit can then be squared.
    unit = 2.0 ** -float(np.frexp(max(view.max(), -view.min()))[1])
    K = np.empty((n, m), dtype=data.dtype)
    nearest = np.empty(n)

    def measure(block: RowBlock) -> None:
        rows = block.rows
        squared_distances(unit * dense_rows(view, rows), unit * anchors, K[rows])
        nearest[rows] = np.min(K[rows], axis=1, where=K[rows] > 0, initial=np.inf)

    def apply_kernel(block: RowBlock) -> None:
        K[block.rows] *= -0.5 / sigma**2
        np.exp(K[block.rows], out=K[block.rows])

    step = max(1, KERNEL_BLOCK // max(m, anchors.shape[1]))
    for_blocks(measure, data.blocks(step), "measuring")
    finite = nearest[nearest < np.inf]
    # If all samples equal all anchors, any width will do.
    sigma = 2 * float(np.sqrt(finite).mean()) if len(finite) else 1.0
    for_blocks(apply_kernel, data.blocks(step), "comparing")
    K -= K.mean(axis=0, dtype=np.float64).astype(K.dtype)
    return K


class KernelView:
    """Centered kernel ``K`` (n, m) of a view with the factor of its ridge regression."""

    def __init__(self, K: Array, beta: float, gamma: float) -> None:
        n, m = K.shape
        ridge = beta * np.eye(m)
        # In float64: otherwise rounding could exceed beta and the matrix be indefinite.
        for rows in row_slices(n, max(m, KERNEL_BLOCK // m)):
            block = K[rows].astype(np.float64, copy=False)
            ridge += (1 - gamma) * (block.T @ block)
        self.K = K
        self.factor = cho_factor(ridge, lower=True, overwrite_a=True, check_finite=False)
        """Cholesky factor of ``(1 - gamma) K'K + beta I``."""

    def projection(self, products: Array) -> Array:
        """``U' = ((1 - gamma) K'K + beta I)^-1 K'B`` (m, L), given ``K'B``."""
        return np.asarray(cho_solve(self.factor, products))


def signs(M: Array, dtype: DTypeLike) -> Array:
    """1 for positive entries, otherwise -1."""
    return np.where(M > 0, 1, -1).astype(dtype)


def initial_codes(
    kernels: Sequence[Array], length: int, rng: np.random.RandomState, importance: Array
) -> Array:
    """Signs of the principal components of the concatenated kernels (n, length)."""
    roots = np.sqrt(importance).astype(kernels[0].dtype)
    n = len(kernels[0])
    rows = np.sort(rng.choice(n, min(n, max(INIT_SAMPLES, length)), replace=False))
    sampled = [root * K[rows] for root, K in zip(roots, kernels, strict=True)]
    E, _ = leading_directions(np.hstack(sampled), length)
    # Directions beyond the rank can be too long for single precision, and only signs count.
    E = E / np.maximum(np.abs(E).max(axis=0), 1)
    widths = np.cumsum([K.shape[1] for K in kernels])[:-1]
    parts = zip(kernels, np.split(E, widths), roots, strict=True)
    scores: Array = sum(times(K, root * part) for K, part, root in parts)  # type: ignore[assignment]
    return signs(scores, kernels[0].dtype)


def balanced_centers(sums: Array) -> Array:
    """``C = sign(S)``, then thrice ``C = sign(C - (rho 1 (1'C) - S) / mu)``; zero counts as 1."""
    C = np.where(sums >= 0, 1.0, -1.0)
    for _ in range(BALANCE_STEPS):
        gradient = BALANCE_PENALTY * C.sum(axis=1, keepdims=True) - sums
        C = np.where(C - gradient / BALANCE_STEP >= 0, 1.0, -1.0)
    return C


class CodeClusters(NamedTuple):
    """Clusters of codes, and ``||B - C G||^2``: four times the bits that differ from centers."""

    C: Array
    labels: Array
    loss: float


def cluster_codes(B: Array, labels: Array, n_clusters: int) -> CodeClusters:
    """Alternate between centers and labels; an empty cluster restarts at the code it is given."""
    for _ in range(CLUSTER_STEPS):
        C = balanced_centers(sum_by_cluster(labels, n_clusters, B))
        scores = B @ C.T.astype(B.dtype)
        nearest = np.argmax(scores, axis=1)
        previous, labels = labels, fill_empty_clusters(nearest, -scores.max(axis=1), n_clusters)
        moved = np.flatnonzero(labels != nearest)
        C[labels[moved]] = B[moved]
        if np.array_equal(previous, labels):
            break
    loss = 2 * B.size - 2 * np.sum(C * sum_by_cluster(labels, n_clusters, B))
    return CodeClusters(C, labels, float(loss))


def learn_codes(
    model: "BMVC", views: Sequence[KernelView], B: Array, C: Array, w: Array
) -> tuple[Array, CodeClusters, Array, list[float]]:
    """Alternate between projections, codes, clusters of codes and view weights.

    Codes are ``B = sign(sum_v alpha_v^r U_v P_v + lambda C G)``, with ``w (alpha_v / w)^r`` in
    place of ``alpha_v^r`` for the importance `w`.
    """
    r, lambda_, weights = model.r, model.lambda_, w / len(views)
    labels = np.argmax(B @ C.T, axis=1)
    products = [times(view.K.T, B) for view in views]
    objective: list[float] = []
    for _ in iterations(objective, model.max_iter):
        U = [view.projection(R) for view, R in zip(views, products, strict=True)]
        target = lambda_ * C[labels]
        for view, projection, factor in zip(views, U, w * (weights / w) ** r, strict=True):
            target = target + times(view.K, factor * projection)
        B = signs(target, B.dtype)
        clusters = cluster_codes(B, labels, len(C))
        C, labels = clusters.C, clusters.labels
        previous, products = products, [times(view.K.T, B) for view in views]
        losses = code_losses(U, previous, products, B.size)
        # alpha_v proportional to h_v^(1 / (1 - r)) minimizes sum_v alpha_v^r h_v.
        weights = w * (losses / losses.min()) ** (1 / (1 - r))
        weights /= weights.sum()
        objective.append(float(w * (weights / w) ** r @ losses) + lambda_ * clusters.loss)
    return B, clusters, weights, objective


def code_losses(
    U: Sequence[Array], previous: Sequence[Array], products: Sequence[Array], size: int
) -> Array:
    """``h_v = ||B - U P||^2 - gamma ||U P||^2 + beta ||U||^2``, bounded from below.

    As ``((1 - gamma) K'K + beta I) U = R_previous`` for the ``R = K'B`` of the previous codes, this
    is ``||B||^2 - 2 <U, R> + <U, R_previous>``. Because of gamma it can be negative.
    """
    parts = zip(U, previous, products, strict=True)
    h = np.array([size - 2 * np.vdot(u, R) + np.vdot(u, old) for u, old, R in parts])
    return np.maximum(h, MIN_CODE_LOSS * size)


class BMVC(WeightedBaseline):
    r"""Binary multi-view clustering.

    Each view is represented by similarities :math:`P_v` (m, n) of the samples to m anchors, and
    projected by :math:`U_v` to binary codes :math:`B` (L, n) that all views share. The codes are
    clustered as they are learned, around binary centers :math:`C` with one-hot :math:`G`:

    .. math::

        \min \sum_v \alpha_v^r \left( \|B - U_v P_v\|_F^2 + \beta \|U_v\|_F^2
             - \gamma \|U_v P_v\|_F^2 \right) + \lambda \|B - C G\|_F^2
        \quad\text{s.t. } B, C \in \{-1, 1\},\ \textstyle\sum_v \alpha_v = 1,\ \alpha \ge 0.

    Similarities are Gaussian, :math:`\exp(-\|x - a\|^2 / 2\sigma_v^2)`, minus their means, where
    :math:`\sigma_v` is twice the mean distance to the nearest anchor. Views are not scaled.

    Parameters
    ----------
    code_length : int, default=128
        Number L of bits per code, at most `n_anchors`.
    n_anchors : int, default=None
        Number m of anchors per view, drawn at random from the samples. None means one per 15
        samples, but at least ``2 * n_clusters`` and at most 1000, the number that the published
        results use. With too many anchors, samples are similar only to themselves.
    r : float, default=5
        Exponent of the view weights, above 1; the larger, the more equal they are.
    beta : float, default=0.003
        Weight of the squared norm of the projections, above 0.
    gamma : float, default=0.01
        Weight of the variance of the projected samples, below 1.
    lambda_ : float, default=1e-5
        Weight of the clustering of the codes. It should be far below ``n_views ** (-r)``, otherwise
        the codes stay at their initial centers.
    %(fixed_max_iter)s
    reference_view : int or str, default=None
        View, by position or name, for the principal components of the initial codes. None means
        all views together, which is better on average. The published results use the fourth.
    %(view_importance)s
    n_init : int, default=10
        Number of clusterings of the final codes: that of the iterations and more from random
        centers; the one with the fewest bits that differ from the centers is kept. The published
        results use 1.
    random_state : int, RandomState instance or None, default=None
        Determines the anchors and the initial centers. Pass an int for reproducible results.

    Attributes
    ----------
    %(labels_)s
        No cluster is empty.
    codes_ : ndarray of shape (n_samples, `code_length_`), dtype=int8
        Code of each sample, with entries -1 and 1.
    code_length_ : int
        Number of bits per code.
    anchors_ : list of ndarray of shape (n_anchors, n_features_v)
        Anchors of each view.
    cluster_centers_ : ndarray of shape (n_clusters, `code_length_`), dtype=int8
        Code of each cluster.
    %(views_)s
    %(objective_)s
        It never increases.

    Notes
    -----
    For V views with D features in total, the kernels take O(n m D) time, their factors
    O(n m^2 V + m^3 V), and an iteration O(n m L V). Memory holds n m V numbers, in single precision
    if all views have at most that. Only distances are used, so constant features have no effect,
    and a view may have fewer features than clusters or bits.

    Each update minimizes the objective exactly for codes with less than 990 bits: the penalty that
    balances the bits of a center then only breaks ties. It is not part of the recorded objective.

    Differences from the authors' program: it computes the initial codes from 1000 samples of the
    reference view (here 2000 of all views, or more for longer codes), clusters the final codes
    once, and leaves empty clusters empty; here an empty cluster restarts at the code farthest from
    its center. Its kernel width includes the zero distance of an anchor to itself. The term of a
    view that explains the codes completely can be negative; here at least 0.1 % of the codes counts
    as unexplained, so that weights exist.

    References
    ----------
    Z. Zhang, L. Liu, F. Shen, H. T. Shen, L. Shao, "Binary Multi-View Clustering", IEEE
    Transactions on Pattern Analysis and Machine Intelligence 41 (7), 2019.

    Examples
    --------
    >>> from anchorview import load_digits
    >>> from anchorview.compared import BMVC
    >>> from anchorview.metrics import clustering_accuracy
    >>> views, y = load_digits(return_X_y=True)
    >>> model = BMVC(n_clusters=10, random_state=0).fit(views)
    >>> clustering_accuracy(y, model.labels_) > 0.7
    True
    >>> model.codes_.shape
    (2000, 128)
    """

    code_length: int = 128
    n_anchors: int | None = None
    r: float = 5
    beta: float = 0.003
    gamma: float = 0.01
    lambda_: float = 1e-5
    max_iter: int = 7
    reference_view: int | str | None = None
    n_init: int = 10

    def _cluster(self, data: MultiViewData) -> BaselineResult:
        anchor_rng, code_rng = map(np.random.RandomState, self._seeds())
        m = self._anchor_count(data)
        self.code_length_ = min(self.code_length, m)
        self.anchors_ = []
        for view in data.views:
            rows = np.sort(anchor_rng.choice(len(data), m, replace=False))
            self.anchors_.append(dense_rows(view, rows).astype(np.float64))
        views = [
            KernelView(centered_kernel(data, p, anchors), self.beta, self.gamma)
            for p, anchors in enumerate(self.anchors_)
        ]
        # The view at a position or with a name, or all.
        importance = self._importance(data)
        wanted = [p for p, name in enumerate(data.names) if self.reference_view in (None, p, name)]
        kernels = [views[p].K for p in wanted]
        B = initial_codes(kernels, self.code_length_, code_rng, importance[wanted])
        C = B[code_rng.choice(len(data), self.n_clusters, replace=False)]
        B, learned, weights, objective = learn_codes(self, views, B, C, importance)
        clusters = learned
        for _ in range(self.n_init - 1):
            C = B[code_rng.choice(len(B), self.n_clusters, replace=False)]
            other = cluster_codes(B, np.argmax(B @ C.T, axis=1), self.n_clusters)
            clusters = other if other.loss < clusters.loss else clusters
        self.codes_ = B.astype(np.int8)
        self.cluster_centers_ = clusters.C.astype(np.int8)
        objective[-1] -= self.lambda_ * (learned.loss - clusters.loss)
        return BaselineResult(clusters.labels, objective, weights)

    def _anchor_count(self, data: MultiViewData) -> int:
        n = len(data)
        default = max(2 * self.n_clusters, min(n // SAMPLES_PER_ANCHOR, MAX_ANCHORS))
        return min(n, self.n_anchors or default)

    def _require_possible(self, data: MultiViewData) -> None:
        super()._require_possible(data)
        wanted, n_views = self.reference_view, len(data.names)
        if wanted not in (None, *range(n_views), *data.names):
            raise ValueError(
                f"reference_view={wanted!r} is none of the {n_views} views {list(data.names)}."
            )
