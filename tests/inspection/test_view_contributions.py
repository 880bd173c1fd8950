"""Contributions of views sum to the margin of the sample, and noise contributes nothing."""

from copy import deepcopy

import numpy as np
import pytest

from anchorview import DALMC, AutoDALMC
from anchorview._utils.linalg import unit_rows
from anchorview.compared import OPMC
from anchorview.estimators.partitions.candidates import EmbeddedCandidate
from anchorview.estimators.partitions.coordinates import LocatedSamples
from anchorview.inspection import view_contributions
from helpers.data import clustered_views, distances_in_views

N, K = 150, 4


def fitted(kind, views, k=K, **options):
    model = DALMC(k, **options) if kind == "dalmc" else AutoDALMC(k, budget="fast")
    return model.set_params(random_state=0).fit(views)


@pytest.fixture(scope="module", params=["dalmc", "auto"])
def incomplete(request):
    views, _ = clustered_views(N, K, separation=3.0, missing=0.3)
    return request.param, fitted(request.param, views), views


def others_of(c, clusters):
    return [other for other in range(K) if clusters[other] != clusters[c]]


def margins(model, views, clusters=range(K)):
    """Margins of all samples from their embeddings; `clusters` says which ones were merged."""
    if isinstance(model, DALMC):
        rule = model._assignment
        points = unit_rows(model.embedding_) if rule.normalize else model.embedding_
        fitted = rule(model.embedding_)
        D = [
            rule.centroids[c] - rule.centroids[others_of(c, clusters)].mean(axis=0)
            for c in range(K)
        ]
        return np.einsum("ij,ij->i", points, np.array(D)[fitted])
    data = model._open_new(views)
    labeler = model._labeler
    counts = [candidate.n_partitions for candidate in model._clustering.candidates]
    partitions, ends = labeler.partitions(data), np.cumsum(counts)[:-1]
    fitted = model._clustering.consensus.labels(partitions)
    total = np.zeros(N)
    weights = np.split(model._clustering.consensus.weights, ends)
    for candidate, runs, weight in zip(
        model._clustering.candidates, np.split(partitions, ends), weights, strict=True
    ):
        # Where landmarks give the labels, points are the weights of these in all partitions.
        samples = LocatedSamples(model._families, data)
        if isinstance(candidate, EmbeddedCandidate):
            points = [unit_rows(candidate.embedding(samples))] * len(runs)
            centroids = [rule.centroids for rule in candidate.runs]
        else:
            landmarks, near = samples.landmarks_in(candidate.setting.scaling)
            of_landmarks = candidate.landmark_labels
            pairs = zip(of_landmarks.labels, of_landmarks.shares, strict=True)
            votes = [landmarks.votes(near, *pair) for pair in pairs]
            length = np.linalg.norm(np.hstack(votes), axis=1, keepdims=True)
            points, centroids = [own / length for own in votes], [np.eye(K)] * len(runs)
        for rows, center, labels, w in zip(points, centroids, runs, weight, strict=True):
            share = np.array(
                [np.bincount(labels[fitted == c], minlength=K) / (fitted == c).sum()
                 for c in range(K)]
            )  # fmt: skip
            centers = share @ center
            D = [centers[c] - centers[others_of(c, clusters)].mean(axis=0) for c in range(K)]
            total += w * np.einsum("ij,ij->i", rows, np.array(D)[fitted])
    return total


def test_contributions_sum_to_the_margin_and_clusters_have_the_mean(incomplete):
    _, model, views = incomplete
    found = view_contributions(model, views)
    assert list(found.columns) == list(views)
    for name, view in views.items():
        np.testing.assert_array_equal(found[name].isna(), np.isnan(view).all(axis=1))
    np.testing.assert_allclose(found.sum(axis=1), margins(model, views), atol=1e-10)
    by_cluster = view_contributions(model, views, by="cluster")
    np.testing.assert_allclose(by_cluster, found.groupby(model.labels_).mean(), atol=1e-12)


def test_merged_clusters_are_not_held_against_each_other(incomplete):
    _, model, views = incomplete
    merged = deepcopy(model).relabel({0: "pair", 2: "pair"})
    found = view_contributions(merged, views)
    expected = margins(model, views, clusters=[0, 1, 0, 3])
    np.testing.assert_allclose(found.sum(axis=1), expected, atol=1e-10)
    assert list(view_contributions(merged, views, by="cluster").index) == ["pair", "1", "2"]


def test_contributions_to_labels_sum_to_the_margin_in_the_views():
    views, _ = clustered_views(90, 3, separation=4.0)
    views["noise"] = np.random.default_rng(0).standard_normal((90, 25))
    model = OPMC(3, random_state=0).fit(views)
    found = view_contributions(model, views)
    squares = distances_in_views(model.labels_, views) ** 2
    to_cluster = squares[np.arange(90), model.labels_]
    margin = (squares.sum(axis=1) - to_cluster) / 2 - to_cluster
    np.testing.assert_allclose(found.sum(axis=1), margin, atol=1e-9)
    assert found["noise"].mean() < 0.2 * found.sum(axis=1).mean()
