"""Representatives and doubtful samples against direct computations."""

import numpy as np
import pandas as pd
import pytest

from anchorview import DALMC, AutoDALMC
from anchorview.compared import OPMC
from anchorview.inspection import doubtful, memberships, representatives
from helpers.data import clustered_views, distances_in_embedding, distances_in_views, with_ids

N, K = 150, 3


@pytest.fixture(scope="module", params=["dalmc", "auto", "baseline", "ablation"])
def fitted(request):
    views, _ = clustered_views(N, K, separation=2.5)
    frames = with_ids(views)
    model = {
        "dalmc": DALMC(K),
        "auto": AutoDALMC(K, budget="fast"),
        "baseline": OPMC(K),
        "ablation": DALMC(K, variant="box-graph"),
    }[request.param]
    return request.param, model.set_params(random_state=0).fit(frames), frames


def direct_distances(kind, model, frames):
    """Distances of all samples to all centers."""
    if kind in ("dalmc", "auto"):
        return distances_in_embedding(model)
    return distances_in_views(model.labels_, frames)


def test_representatives_equal_a_direct_computation(fitted):
    kind, model, frames = fitted
    found = representatives(model, frames, n_samples=4)
    assert list(found.columns) == [
        "cluster", "rank", "sample", "distance", "confidence", "second_cluster",
    ]  # fmt: skip
    distances = direct_distances(kind, model, frames)
    own = pd.Series(distances[np.arange(N), model.labels_], index=model.sample_ids_)
    for cluster, rows in found.groupby("cluster"):
        expected = own[model.labels_ == cluster].nsmallest(4)
        assert rows["sample"].tolist() == expected.index.tolist()
        np.testing.assert_allclose(rows["distance"], expected, atol=1e-7)
        assert rows["rank"].tolist() == [1, 2, 3, 4]
    assert (found["second_cluster"] != found["cluster"]).all()


def test_confidence_is_that_of_the_model(fitted):
    kind, model, frames = fitted
    found = doubtful(model, frames, n_samples=N).set_index("sample")
    labels = pd.Series(model.labels_, index=model.sample_ids_)
    assert (found["cluster"] == labels[found.index]).all()
    assert found["confidence"].is_monotonic_increasing
    if kind == "auto":
        expected = pd.Series(model.confidence_, index=model.sample_ids_)
        second = pd.Series(model.second_labels_, index=model.sample_ids_)
        assert (found["second_cluster"] == second[found.index]).all()
    elif kind == "dalmc":
        members = memberships(model, frames)
        expected = members.max(axis=1)
        ordered = np.argsort(-members.to_numpy(), axis=1, kind="stable")
        second = pd.Series(ordered[:, 1], index=members.index)
        assert (found["second_cluster"] == second[found.index]).all()
    else:
        squares = direct_distances(kind, model, frames) ** 2
        own = squares[np.arange(N), model.labels_]
        members = squares.shape[1] ** (-(squares - own[:, None]) / own.mean())
        expected = pd.Series(1 / members.sum(axis=1), index=model.sample_ids_)
    np.testing.assert_allclose(found["confidence"], expected[found.index], atol=1e-9)


def test_doubtful_samples_of_fit_need_no_views(fitted):
    kind, model, frames = fitted
    if kind == "baseline":
        with pytest.raises(ValueError, match="give X"):
            doubtful(model)
        return
    found = doubtful(model, n_samples=10)
    if kind == "ablation":  # Its embedding tells more than the means of the views.
        assert found["confidence"].is_monotonic_increasing
    else:
        pd.testing.assert_frame_equal(found, doubtful(model, frames, n_samples=10))
