"""Classes that are known for some samples: their probabilities for any sample.

Known classes spread from samples to the clusters of all partitions and to the landmarks, and back,

    F <- .95 B W B' F + .05 Y,

where ``B`` has the clusters of each sample and its weights on landmarks, and ``W`` divides by their
sizes and weighs the partitions. Columns of F are divided by their sums. Logistic regression has the
share ``m / (m + 8)`` in the logarithm of the probabilities, for m labels per class. The numbers
were chosen on nine data sets; benchmarks/labels_few.md chooses with each left out.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression

from anchorview._utils.typing import Array
from anchorview.estimators.partitions.candidates import Samples
from anchorview.estimators.partitions.consensus import (
    Consensus,
    Partitions,
    agreement_with,
    cluster_members,
)
from anchorview.estimators.partitions.coordinates import NORMALIZED, STANDARDIZED
from anchorview.estimators.partitions.neighbor_graphs import LABEL_DTYPE, Landmarks, Neighbors

N_STEPS, KEPT = 20, 0.95
"""Number of steps in which classes spread, and the share that comes from other samples."""

OF_LANDMARKS, OF_CONSENSUS = 0.25, 0.4
"""Share of landmarks beside clusters, and of the consensus among partitions."""

POWER, MIN_PER_CLASS = 4, 3
"""Power of the agreement with known classes, and the number of samples per class it needs."""

HALF_SUPERVISED = 8
"""Known samples per class at which logistic regression has half of the weight."""

N_ITERATIONS, LINEAR_SCALINGS = 200, (STANDARDIZED, NORMALIZED)
"""Of the logistic regression, and the scalings of the coordinates that it sees."""

SHARPNESS = 3.0
"""Power of the probabilities; with it, their mean is about the share of correct classes."""

N_DRAWS = 20
"""Number of partitions that stand for the probabilities."""

IMPOSSIBLE = -50.0
"""Logarithm of a probability that is as good as zero."""


@dataclass(frozen=True, eq=False)
class LinearClasses:
    """Logistic regression on the coordinates of the views."""

    maps: dict[str, tuple[npt.NDArray[np.float32], ...]]
    """By scaling and view, (n_coordinates, n_classes)."""
    intercept: Array

    def log_probabilities(self, samples: Samples) -> Array:
        """Logarithms of probabilities, up to a constant of each sample."""
        scores = self.intercept[None]
        for scaling, maps in self.maps.items():
            views = samples.coordinates_in(scaling).views
            for view, coefficients in zip(views, maps, strict=True):
                scores = scores + view @ coefficients
        return scores - np.logaddexp.reduce(scores, axis=1)[:, None]


@dataclass(frozen=True, eq=False)
class ClassModel:
    """Probabilities of classes, by the partitions, the landmarks and the coordinates of samples."""

    named: npt.NDArray[np.int32]
    """Classes with a known sample; the others are clusters."""
    unlabeled: Consensus
    """The consensus without labels, whose clusters are the last partition."""
    of_clusters: Array
    """Scores by partition, cluster and class."""
    scaling: str
    of_landmarks: Array
    """Scores by landmark, of all views, and class, in this scaling."""
    linear: LinearClasses
    share: float
    """Share of the logistic regression in the logarithm of probabilities."""

    def probabilities(self, samples: Samples, partitions: Array) -> Array:
        """Probabilities of samples, which have these labels in the partitions, (n, n_classes)."""
        labels = [*partitions, self.unlabeled.labels(partitions)]
        landmarks, neighbors = samples.landmarks_in(self.scaling)
        scores = landmark_weights(landmarks, neighbors) @ self.of_landmarks
        for table, of_partition in zip(self.of_clusters, labels, strict=True):
            scores += table[of_partition]
        spread = np.log(np.maximum(scores / scores.sum(axis=1, keepdims=True), np.exp(IMPOSSIBLE)))
        linear = self.linear.log_probabilities(samples)
        both = (1 - self.share) * spread + self.share * linear
        return np.asarray(softmax(SHARPNESS * both, axis=1))

    def doubt(self, samples: Samples, partitions: Array) -> Array:
        """1 minus the difference of the two largest probabilities, or that of no known class."""
        probabilities = self.probabilities(samples, partitions)
        two = np.sort(probabilities, axis=1)[:, -2:]
        doubt = 1 - (two[:, 1] - two[:, 0])
        return np.asarray(np.maximum(doubt, 1 - probabilities[:, self.named].sum(axis=1)))

    def draws(self, samples: Samples, partitions: Array) -> Array:
        """Partitions whose shares are the probabilities, the most likely class first, (20, n)."""
        probabilities = self.probabilities(samples, partitions)
        order = np.argsort(-probabilities, axis=1, kind="stable")
        reached = np.take_along_axis(probabilities, order, axis=1).cumsum(axis=1)
        levels = (np.arange(N_DRAWS) + 0.5) / N_DRAWS
        places = [(reached[:, :-1] < level).sum(axis=1) for level in levels]
        drawn = [np.take_along_axis(order, place[:, None], axis=1)[:, 0] for place in places]
        return np.array(drawn, dtype=LABEL_DTYPE)

    def consensus(self, partitions: Array, weights: Array) -> Consensus:
        """Consensus that labels samples by their most likely class.

        `partitions` are those of the candidates, which have these weights, and the draws. The
        first draw decides; the confidence is the share of the draws.
        """
        k = self.of_clusters.shape[2]
        drawn = np.full(N_DRAWS, 0.25 / (N_DRAWS - 1))
        drawn[0] = 0.5
        both = np.concatenate([weights / 4, drawn])
        found = Partitions(partitions, k).consensus_of(partitions[-N_DRAWS], both)
        votes = np.vstack([found.votes[:-N_DRAWS], np.tile(np.arange(k), (N_DRAWS, 1))])
        confidence = np.repeat([0.0, 1 / N_DRAWS], [len(weights), N_DRAWS])
        return replace(found, votes=votes.astype(np.int32), weights=confidence)


@dataclass(frozen=True, eq=False)
class KnownClasses:
    """Samples whose class is known, and where they are among candidates."""

    samples: Samples
    partitions: Array
    codes: Array


def landmark_weights(landmarks: Landmarks, neighbors: Sequence[Neighbors]) -> sparse.csr_array:
    """Weights of samples on the landmarks of all views, which sum to 1."""
    weights = sparse.csr_array(sparse.hstack(landmarks.weights(neighbors)))
    factors = 1 / np.maximum(weights.sum(axis=1), np.finfo(float).tiny)
    return sparse.csr_array(sparse.diags_array(factors) @ weights)


def fit_class_model(
    samples: Samples, partitions: Array, unlabeled: Consensus, known: KnownClasses
) -> ClassModel:
    """Model of known classes; clusters of the consensus that have no class are further classes."""
    k, n = len(unlabeled.offsets), partitions.shape[1]
    both = np.hstack([partitions, known.partitions])
    labels, _, squares = unlabeled.nearest_two(both)
    named = np.unique(known.codes)
    per_class = len(known.codes) / max(len(named), 1)
    seeds, seed_codes = _seeds(labels[:n], squares[:n], labels[n:], known.codes, k)
    codes = np.concatenate([known.codes, seed_codes])
    rows = np.concatenate([n + np.arange(len(known.codes)), seeds])
    all_labels = np.vstack([both, labels])
    weights = np.append((1 - OF_CONSENSUS) * unlabeled.weights, OF_CONSENSUS)
    if per_class >= MIN_PER_CLASS:
        agreeing = np.maximum(agreement_with(codes, all_labels[:, rows], k), 0) ** POWER
        weights = weights * agreeing if (weights * agreeing).any() else weights
    scaling = samples.neighbor_scalings[0]
    near = [landmark_weights(*own.landmarks_in(scaling)) for own in (samples, known.samples)]
    members = sparse.csr_array(sparse.hstack([cluster_members(all_labels, k), sparse.vstack(near)]))
    shares = np.full(members.shape[1], OF_LANDMARKS)
    shares[: all_labels.shape[0] * k] = (1 - OF_LANDMARKS) * np.repeat(weights / weights.sum(), k)
    tables = _spread_classes(members, shares, rows, codes, k)
    of_clusters, of_landmarks = np.split(tables, [all_labels.shape[0] * k])
    named, of_clusters = named.astype(np.int32), of_clusters.reshape(-1, k, k)
    linear = _fit_linear(samples, known, seeds, codes, k)
    share = per_class / (per_class + HALF_SUPERVISED)
    return ClassModel(named, unlabeled, of_clusters, scaling, of_landmarks, linear, share)


def _seeds(
    labels: Array, squares: Array, of_known: Array, known: Array, k: int
) -> tuple[Array, Array]:
    """Typical samples of the clusters without a class, and the classes that these become.

    Each class has the cluster with most of its samples; others become classes by their size.
    """
    sizes = np.bincount(labels, minlength=k)
    table = np.bincount(of_known * k + known, minlength=k * k).reshape(k, k)
    named = np.unique(known)
    # Of clusters without any known sample, the smallest are given to classes.
    matched, _ = linear_sum_assignment(table[:, named] - 0.5 * (sizes / sizes.sum())[:, None], True)
    free = np.setdiff1d(np.arange(k), matched)
    free = free[np.argsort(-sizes[free], kind="stable")]
    unnamed = np.setdiff1d(np.arange(k), named)
    count = round(len(known) / len(named)) if len(named) else MIN_PER_CLASS
    seeds, codes = [], []
    for cluster, code in zip(free, unnamed, strict=True):
        members = np.flatnonzero(labels == cluster)
        best = members[np.argsort(squares[members], kind="stable")][: (len(members) + 1) // 2]
        some = best[np.linspace(0, len(best) - 1, min(count, len(best))).astype(int)]
        seeds.append(some)
        codes.append(np.full(len(some), code))
    return np.concatenate([[], *seeds]).astype(int), np.concatenate([[], *codes]).astype(int)


def _spread_classes(
    members: sparse.csr_array, shares: Array, rows: Array, codes: Array, n_classes: int
) -> Array:
    """Scores of classes by cluster and landmark, after the classes of some rows have spread."""
    back = sparse.csr_array(members.T)
    sizes = members.sum(axis=0)
    factors = np.divide(shares, sizes, out=np.zeros_like(shares), where=sizes > 0)[:, None]
    given = np.zeros((members.shape[0], n_classes))
    given[rows, codes] = 1
    classes = given
    for _ in range(N_STEPS):
        classes = KEPT * (members @ (factors * (back @ classes))) + (1 - KEPT) * given
    tiny = np.finfo(float).tiny
    tables = factors * (back @ (classes / np.maximum(classes.sum(axis=0), tiny)))
    return np.asarray(tables / np.maximum((members @ tables).sum(axis=0), tiny))


def _fit_linear(
    samples: Samples, known: KnownClasses, seeds: Array, codes: Array, n_classes: int
) -> LinearClasses:
    """Logistic regression on known samples and seeds; views have the same mean square."""
    blocks: dict[str, list[Array]] = {}
    factors: dict[str, float] = {}
    for scaling in (own for own in LINEAR_SCALINGS if own in samples.neighbor_scalings):
        views, of_known = (x.coordinates_in(scaling).views for x in (samples, known.samples))
        # Rows of all views have length 1 in the mean.
        squares = sum(float(np.einsum("ij,ij->", view, view)) for view in views) / len(views[0])
        factor = factors[scaling] = np.sqrt(len(views) / (len(LINEAR_SCALINGS) * squares))
        pairs = zip(of_known, views, strict=True)
        blocks[scaling] = [factor * np.vstack([a, b[seeds]]) for a, b in pairs]
    stacked = [block for own in blocks.values() for block in own]
    coefficients, intercept = _regression(np.hstack(stacked), codes, n_classes)
    parts = iter(np.split(coefficients, np.cumsum([block.shape[1] for block in stacked])[:-1]))
    maps = {
        scaling: tuple((factors[scaling] * next(parts)).astype(np.float32) for _ in own)
        for scaling, own in blocks.items()
    }
    return LinearClasses(maps, intercept)


def _regression(rows: Array, codes: Array, n_classes: int) -> tuple[Array, Array]:
    """Coefficients and intercepts of all classes, of which some may be absent."""
    present = np.unique(codes)
    coefficients = np.zeros((rows.shape[1], n_classes))
    intercept = np.full(n_classes, IMPOSSIBLE)
    intercept[present] = 0.0
    if len(present) > 1:
        model = LogisticRegression(max_iter=N_ITERATIONS, class_weight="balanced")
        with warnings.catch_warnings():
            # Nearly as many classes as samples are expected, and rough coefficients are enough.
            warnings.simplefilter("ignore")
            model.fit(rows, codes)
        # Of two classes, there is one row.
        signs = np.eye(len(present)) if len(present) > 2 else np.array([[-0.5], [0.5]])
        coefficients[:, present] = (signs @ model.coef_).T
        intercept[present] = signs @ model.intercept_
    return coefficients, intercept
