"""The alternation of BMVC between projections, codes, clusters of codes and view weights.

Samples are rows: codes ``B`` (n, L) and centers ``C`` (k, L) hold -1 and 1, the clusters ``G`` are
kept as labels, and ``U_v`` is (m, L).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from anchorview._utils.progress import report_progress
from anchorview._utils.typing import Array
from anchorview.compared._bmvc_kernel import KernelView, binary
from anchorview.compared._cluster_sums import cluster_sums
from anchorview.compared._empty_clusters import without_empties

CLUSTER_STEPS = 10
"""Steps between centers and labels in one iteration."""

BALANCE_STEPS = 3
"""Steps towards balanced centers."""

BALANCE = 0.001
"""Penalty rho on the sums of the centers."""

STEP = 0.01
"""Inverse mu of the length of a step towards balanced centers."""

UNEXPLAINED = 1e-3
"""Least share of the codes that counts as not explained by a view."""


def balanced_centers(sums: Array) -> Array:
    """Majority of each bit, then steps that balance the bits of a center where votes are tied.

    ``C = sign(S)``, then thrice ``C = sign(C - (rho 1 (1'C) - S) / mu)``; zero counts as 1.
    """
    C = np.where(sums >= 0, 1.0, -1.0)
    for _ in range(BALANCE_STEPS):
        C = np.where(C - (BALANCE * C.sum(axis=1, keepdims=True) - sums) / STEP >= 0, 1.0, -1.0)
    return C


def agreement(B: Array, C: Array) -> Array:
    """Inner products of codes and centers (n, k): code length less twice the Hamming distance."""
    return B @ C.T.astype(B.dtype)


@dataclass(frozen=True)
class CodeClusters:
    """A partition of codes."""

    C: Array
    labels: Array
    loss: float
    """``||B - C G||^2``, four times the bits in which samples differ from their centers."""


def clustered_codes(B: Array, labels: Array, n_clusters: int) -> CodeClusters:
    """Alternate between centers and labels; an empty cluster restarts at the code it gets."""
    for _ in range(CLUSTER_STEPS):
        C = balanced_centers(cluster_sums(labels, n_clusters, B))
        scores = agreement(B, C)
        nearest = np.argmax(scores, axis=1)
        before, labels = labels, without_empties(nearest, -scores.max(axis=1), n_clusters)
        moved = np.flatnonzero(labels != nearest)
        C[labels[moved]] = B[moved]
        if np.array_equal(before, labels):
            break
    return CodeClusters(C, labels, code_loss(B, C, labels))


def code_loss(B: Array, C: Array, labels: Array) -> float:
    """``||B - C G||^2``, from the sums of the clusters."""
    return float(2 * B.size - 2 * np.sum(C * cluster_sums(labels, len(C), B)))


def restarted(
    B: Array, found: CodeClusters, n_starts: int, rng: np.random.RandomState
) -> CodeClusters:
    """The best of some clusters of codes and of others from random codes as first centers."""
    k = len(found.C)
    for _ in range(n_starts):
        C = B[rng.choice(len(B), k, replace=False)]
        other = clustered_codes(B, np.argmax(agreement(B, C), axis=1), k)
        found = other if other.loss < found.loss else found
    return found


@dataclass(frozen=True)
class Coding:
    """Codes, their clusters, and the weight and loss of each view."""

    B: Array
    clusters: CodeClusters
    weights: Array
    losses: Array
    objective: list[float]


class BinarySolver:
    """Iterations of BMVC on kernels; each step is the best for what the others left."""

    def __init__(self, views: Sequence[KernelView], *, r: float, lambda_: float) -> None:
        self.views = views
        self.r = r
        self.lambda_ = lambda_

    def run(self, B: Array, C: Array, max_iter: int) -> Coding:
        """Iterate from codes and centers."""
        n_views = len(self.views)
        weights = np.full(n_views, 1 / n_views)
        labels = np.argmax(agreement(B, C), axis=1)
        products = [view.products(B) for view in self.views]
        objective: list[float] = []
        for done in range(1, max_iter + 1):
            U = [view.projection(R) for view, R in zip(self.views, products, strict=True)]
            B = self.codes(U, weights, C[labels])
            clusters = clustered_codes(B, labels, len(C))
            C, labels = clusters.C, clusters.labels
            before, products = products, [view.products(B) for view in self.views]
            losses = self.losses(U, before, products, B.size)
            weights = self.weights(losses)
            objective.append(float(weights**self.r @ losses) + self.lambda_ * clusters.loss)
            report_progress("iterating", done, max_iter)
        return Coding(B, clusters, weights, losses, objective)

    def codes(self, U: Sequence[Array], weights: Array, centers: Array) -> Array:
        """``B = sign(sum_v alpha_v^r U_v P_v + lambda C G)``; `centers` has each sample's."""
        wanted = self.lambda_ * centers
        for view, projection, weight in zip(self.views, U, weights, strict=True):
            wanted = wanted + view.projected(weight**self.r * projection)
        return binary(wanted, self.views[0].K.dtype)

    def losses(
        self, U: Sequence[Array], before: Sequence[Array], products: Sequence[Array], size: int
    ) -> Array:
        """``h_v = ||B - U P||^2 - gamma ||U P||^2 + beta ||U||^2``, but at least a share of B.

        With ``R = K'B`` of the codes before and now, ``((1 - gamma) K'K + beta I) U = R_before``
        makes this ``||B||^2 - 2 <U, R> + <U, R_before>``. Because of gamma it can be negative for
        codes that a view explains completely, and no weight minimizes the objective then.
        """
        triples = zip(U, before, products, strict=True)
        found = np.array([size - 2 * np.vdot(u, R) + np.vdot(u, old) for u, old, R in triples])
        return np.maximum(found, UNEXPLAINED * size)

    def weights(self, losses: Array) -> Array:
        """``alpha_v`` proportional to ``h_v^(1 / (1 - r))``, which minimizes ``alpha^r h``."""
        shares = (losses / losses.min()) ** (1 / (1 - self.r))
        return np.asarray(shares / shares.sum())
