"""Summaries against the functions whose results they combine, in every form of input."""

import numpy as np
import pandas as pd
import pytest

from anchorview.compared import OPMC
from anchorview.inspection import (
    cluster_markers,
    cluster_summary,
    doubtful,
    representatives,
    view_contributions,
)
from helpers.data import distances_in_embedding, distances_in_views

N, K = 150, 4


def test_columns_equal_those_of_the_other_functions(fitted):
    model, views = fitted
    found = cluster_summary(model, views, n_features=4, n_medoids=2)
    pd.testing.assert_frame_equal(model.summary(views, n_features=4, n_medoids=2), found)
    assert found.index.name == "cluster"
    assert found.index.tolist() == list(range(K))
    np.testing.assert_array_equal(found["size"], np.bincount(model.labels_))
    np.testing.assert_allclose(found["share"], np.bincount(model.labels_) / N)
    confidence = doubtful(model, views, n_samples=N).groupby("cluster")["confidence"].mean()
    np.testing.assert_allclose(found["confidence"], confidence)
    typical = representatives(model, views, n_samples=2).groupby("cluster")["sample"].agg(tuple)
    assert found["medoids"].tolist() == typical.tolist()
    markers = cluster_markers(model, views, n_features=4)
    names = (markers["view"] + ": " + markers["feature"]).groupby(markers["cluster"]).agg(tuple)
    assert found["features"].tolist() == names.tolist()
    shares = found[[f"view:{name}" for name in views]]
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    if not isinstance(model, OPMC):
        by_cluster = view_contributions(model, views, by="cluster").clip(lower=0)
        np.testing.assert_allclose(shares, by_cluster.div(by_cluster.sum(axis=1), axis=0))


def test_separation_equals_a_direct_computation(fitted):
    model, views = fitted
    if isinstance(model, OPMC):
        distances = distances_in_views(model.labels_, views)
    else:
        distances = distances_in_embedding(model)
    found = cluster_summary(model, views)
    for c in range(K):
        own = distances[model.labels_ == c]
        squares = np.square(own).mean(axis=0)
        squares[c] = np.inf
        assert found.loc[c, "nearest_cluster"] == squares.argmin()
        a, b = own[:, c], own[:, squares.argmin()]
        expected = ((b - a) / np.maximum(a, b)).mean()
        assert found.loc[c, "separation"] == pytest.approx(expected)


def test_clusters_without_samples(fitted):
    model, views = fitted
    if isinstance(model, OPMC):
        pytest.skip("its clusters are those of the samples")
    rows = np.flatnonzero(model.labels_ != 2)
    found = cluster_summary(model, {name: view[rows] for name, view in views.items()})
    assert found.loc[2, "size"] == 0
    assert np.isnan(found.loc[2, "confidence"])
    assert found.loc[2, "medoids"] == found.loc[2, "features"] == ()
    assert found.loc[2, "nearest_cluster"] is None
    others = found.drop(2)
    assert others["separation"].notna().all()
    assert (others["nearest_cluster"] != 2).all()
    alone = cluster_summary(model, {name: view[rows[:1]] for name, view in views.items()})
    assert alone["nearest_cluster"].isna().all()
