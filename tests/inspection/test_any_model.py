"""Every function takes any object with labels: clusterers of scikit-learn and of users."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError
from sklearn.mixture import GaussianMixture

from anchorview import MultiViewData, inspection
from helpers.data import clustered_views

N, K = 90, 3


class MyMVC(ClusterMixin, BaseEstimator):
    """A clusterer of a user, which takes lists of views and has labels only."""

    def __init__(self, n_clusters=K):
        self.n_clusters = n_clusters

    def fit(self, X, y=None):
        self.kmeans_ = KMeans(self.n_clusters, n_init=1, random_state=0).fit(np.hstack(X))
        self.labels_ = self.kmeans_.labels_
        return self


class PredictingMVC(MyMVC):
    def predict(self, X):
        return self.kmeans_.predict(np.hstack(X))


def views_of(seed=0):
    return list(clustered_views(N, K, separation=6.0, seed=seed)[0].values())


MODELS = {
    "labels only": lambda views: MyMVC().fit(views),
    "predicts": lambda views: PredictingMVC().fit(views),
    "no estimator": lambda views: SimpleNamespace(labels_=MyMVC().fit(views).labels_),
    "named clusters": lambda views: SimpleNamespace(labels_=np.array(["a", "b", "c"] * 30)),
    "vector": lambda views: MyMVC().fit(views).labels_,
}

FUNCTIONS = {
    "associate": lambda model, X: inspection.associate(
        model, pd.DataFrame({"age": np.arange(float(N))})
    ),
    "cluster_markers": inspection.cluster_markers,
    "cluster_summary": inspection.cluster_summary,
    "compare_partitions": lambda model, X: inspection.compare_partitions(model, model).table,
    "doubtful": lambda model, X: inspection.doubtful(model, X, n_samples=N),
    "leave_one_view_out": inspection.leave_one_view_out,
    "memberships": inspection.memberships,
    "outlier_scores": inspection.outlier_scores,
    "representatives": inspection.representatives,
    "view_contributions": inspection.view_contributions,
}


def test_all_functions_are_listed():
    of_auto_dalmc = {"ask", "suspicious_labels"}
    others = {"PartitionComparison", *of_auto_dalmc}
    assert FUNCTIONS.keys() | others == set(inspection.__all__)


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_takes_every_model(name, kind):
    views = views_of()
    model = MODELS[kind](views)
    if name == "leave_one_view_out" and not isinstance(model, MyMVC):
        with pytest.raises(TypeError, match="can be refitted"):
            FUNCTIONS[name](model, views)
        return
    table = FUNCTIONS[name](model, views)
    assert len(table)
    clusters = getattr(table, "columns", ()) if name == "memberships" else table.get("cluster", ())
    labels = getattr(model, "labels_", model)
    assert not len(clusters) or set(clusters) == set(labels)
    if name not in ("associate", "leave_one_view_out"):
        assert not pd.DataFrame(table).isna().to_numpy().any()


def test_clusterers_of_scikit_learn_and_models_that_are_not_fitted():
    (matrix, *_) = views_of()
    model = KMeans(K, n_init=1, random_state=0).fit(matrix)
    new = views_of(seed=1)[0][:40]
    pd.testing.assert_frame_equal(
        inspection.cluster_markers(model, new), inspection.cluster_markers(model.predict(new), new)
    )
    for X in (matrix, MultiViewData(matrix)):
        assert inspection.cluster_summary(model, X)["size"].tolist() == [
            *np.bincount(model.labels_)
        ]
    mixture = GaussianMixture(K, random_state=0).fit(matrix)
    assert len(inspection.representatives(mixture, matrix, n_samples=1)) == K
    with pytest.raises(TypeError, match="GaussianMixture has no labels_"):
        inspection.compare_partitions(mixture, model)
    with pytest.raises(NotFittedError):
        inspection.memberships(MyMVC(), views_of())
