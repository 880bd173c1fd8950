"""Memberships sum to 1 and have the predicted cluster as the largest; outliers stand out."""

from copy import deepcopy

import dask
import numpy as np
import pandas as pd
import pytest

from anchorview import DALMC, AutoDALMC
from anchorview._utils.linalg import unit_rows
from anchorview.inspection import memberships, outlier_scores
from helpers.dask_problems import in_dask, stored
from helpers.data import clustered_views

PAPER_SETS = (
    *("100leaves", "3sources", "aloi10", "aloi100", "bbcsport", "bdgp", "cora", "fashion2k"),
    *("flower17", "handwritten", "hdigit", "htad", "mnist_usps", "msrcv1", "orl", "scene15"),
)


def fitted(kind, views, k=3, **options):
    model = DALMC(k) if kind == "dalmc" else AutoDALMC(k, budget="fast")
    return model.set_params(random_state=0, **options).fit(views)


def require_memberships(model, views, labels=None):
    members = memberships(model, views).to_numpy()
    assert (members >= 0).all()
    np.testing.assert_allclose(members.sum(axis=1), 1, atol=1e-12)
    expected = model.labels_ if labels is None else labels
    np.testing.assert_array_equal(members.argmax(axis=1), expected)
    return members


@pytest.fixture(scope="module", params=["dalmc", "auto"])
def overlapping(request):
    views, _ = clustered_views(150, 4, separation=2.0, missing=0.2)
    return fitted(request.param, views, 4), views


@pytest.mark.slow
@pytest.mark.parametrize("name", PAPER_SETS)
def test_real_data(real_data, name):
    views, y = real_data(name)
    views = [view.astype(np.float64) for view in views]
    for view in views:
        view[~view.any(axis=1)] = np.nan  # Zero rows of bdgp are missing.
    require_memberships(DALMC(len(np.unique(y)), random_state=0).fit(views), views)


def test_memberships_follow_their_definition(overlapping):
    model, views = overlapping
    members = require_memberships(model, views)
    if isinstance(model, DALMC):
        points = unit_rows(model.embedding_)
        squares = np.square(points[:, None] - model._assignment.centroids).sum(axis=2)
    else:
        runs = model._labeler.partitions(model._open_new(views))
        k, weights = model.n_clusters_, model._clustering.consensus.weights
        encoded = np.eye(k)[runs]
        centers = [encoded[:, model.labels_ == c].mean(axis=1) for c in range(k)]
        squares = np.stack(
            [weights @ np.square(encoded - own[:, None]).sum(axis=2) for own in centers], axis=1
        )
    own = squares[np.arange(150), model.labels_]
    expected = squares.shape[1] ** (-squares / own.mean())
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(members, expected, atol=1e-9)


@pytest.mark.usefixtures("many_parts")
@pytest.mark.parametrize("form", ["files", "dask", "batches"])
def test_models_fitted_elsewhere_learn_the_same_scale(form, tmp_path):
    views, _ = clustered_views(150, 4, separation=2.0)
    model = DALMC(4, scaling="zscore", random_state=0)
    expected = memberships(model.fit(views), views)
    other = deepcopy(model)
    with dask.config.set(scheduler="threads"):
        if form == "batches":
            other = DALMC(4, scaling="zscore", random_state=0)
            for rows in (slice(0, 90), slice(90, 150)):
                other.partial_fit({name: view[rows] for name, view in views.items()})
        else:
            other.fit(stored(tmp_path, views) if form == "files" else in_dask(views, 40))
        found = memberships(other, views)
    np.testing.assert_allclose(np.sort(found, axis=1), np.sort(expected, axis=1), atol=1e-6)


def test_merged_clusters_have_the_membership_of_the_nearest(overlapping):
    model, views = overlapping
    before = memberships(model, views)
    merged = deepcopy(model).relabel({1: "both", 3: "both"})
    found = memberships(merged, views)
    assert list(found.columns) == ["0", "both", "2"]
    require_memberships(merged, views)
    nearest = pd.DataFrame({"0": before[0], "both": before[[1, 3]].max(axis=1), "2": before[2]})
    np.testing.assert_allclose(found, nearest.div(nearest.sum(axis=1), axis=0), atol=1e-9)


@pytest.mark.parametrize("kind", ["dalmc", "auto"])
def test_planted_outliers_have_the_highest_scores(kind):
    rng = np.random.default_rng(0)
    rows = rng.choice(300, 6, replace=False)
    views = {}
    for name, width in (("a", 30), ("b", 40), ("c", 20)):
        centers = rng.standard_normal((8, width))
        views[name] = centers[np.arange(300) % 8] + 0.2 * rng.standard_normal((300, width))
        views[name][rows] = rng.standard_normal((6, width))
    scores = outlier_scores(fitted(kind, views, 8), views)
    assert set(scores.nlargest(6).index) == set(rows)
    # Times the root mean square; the more anchors, the less samples differ.
    assert scores[rows].min() > 1.5
    np.testing.assert_allclose((scores**2).mean(), 1)
