"""Batches that arrive one after another give the model of a fit on all of them."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

from anchorview import DALMC, MultiViewData, make_multiview
from anchorview.core import compress
from anchorview.core.compress import CHUNK_SCALINGS
from helpers.problems import problems

pytestmark = pytest.mark.filterwarnings("ignore:Number of distinct clusters")


def grown(model, data, cuts):
    edges = [0, *cuts, len(data)]
    for start, stop in pairwise(edges):
        model.partial_fit(data[start:stop])
    return model


@settings(max_examples=25)
@given(
    problem=problems(incomplete=True),
    scaling=st.sampled_from(CHUNK_SCALINGS),
    fractions=st.lists(st.floats(0.25, 0.95), max_size=3),
)
def test_chunks_give_the_model_of_a_fit_at_once(problem, scaling, fractions):
    if scaling != "zscore":
        # Without standardizing, units that differ by 16 digits are beyond double precision.
        assume("huge units" not in problem.kinds)
    data = MultiViewData(problem.views, available=problem.available)
    cuts = sorted({int(fraction * len(data)) for fraction in fractions})
    options = {"scaling": scaling, "max_iter": 8, "tol": 0, "n_init": 2, "random_state": 0}
    whole = DALMC(problem.n_clusters, **options).fit(data)
    chunked = grown(DALMC(problem.n_clusters, **options), data, cuts)
    np.testing.assert_allclose(chunked.objective_, whole.objective_, rtol=1e-7)
    np.testing.assert_allclose(chunked.views_["weight"], whole.views_["weight"], rtol=1e-6)
    embedding = chunked.transform(data, scale=False)
    difference = embedding @ embedding.T - whole.embedding_ @ whole.embedding_.T
    assert np.abs(difference).max() < 1e-5


@pytest.mark.parametrize("scaling", CHUNK_SCALINGS)
def test_chunks_give_the_labels_of_a_fit_at_once(scaling):
    views, _ = make_multiview(700, n_clusters=4, missing=0.2, random_state=0)
    data = MultiViewData(views)
    model = grown(DALMC(4, scaling=scaling, random_state=0), data, [90, 300, 301])
    whole = DALMC(4, scaling=scaling, random_state=0).fit(data)
    np.testing.assert_array_equal(model.predict(data), whole.labels_)


def test_labels_are_those_of_the_chunk_and_past_ones_are_predicted():
    views, _ = make_multiview(600, n_clusters=3, missing=0.2, random_state=0)
    data = MultiViewData(views)
    model = grown(DALMC(3, scaling="unit-center", random_state=0), data, [200, 500])
    assert model.labels_.shape == (100,)
    np.testing.assert_array_equal(model.predict(data[500:]), model.labels_)
    np.testing.assert_array_equal(model.transform(data[500:], scale=False), model.embedding_)


def test_memory_does_not_grow_with_the_chunks(monkeypatch):
    monkeypatch.setattr(compress, "KEPT_SAMPLES", 150)
    views, _ = make_multiview(2000, n_clusters=3, random_state=0)
    data = MultiViewData(views)
    model = grown(DALMC(3, scaling="zscore", random_state=0), data, range(200, 2000, 200))
    assert len(model._running_sums.sample) == 150
    assert len(model._running_sums) == 2000
    whole = DALMC(3, scaling="zscore", random_state=0).fit(data)
    assert adjusted_rand_score(model.predict(data), whole.labels_) > 0.9


def test_the_default_scaling_cannot_grow_and_says_why():
    views, _ = make_multiview(100, n_clusters=3, random_state=0)
    assert not hasattr(DALMC(3), "partial_fit")
    with pytest.raises(AttributeError) as error:
        DALMC(3).partial_fit(views)
    assert "means and deviations of all samples" in str(error.value.__cause__)


def test_chunks_must_have_the_same_views():
    views, _ = make_multiview(100, n_clusters=3, random_state=0)
    model = DALMC(3, scaling="zscore").partial_fit(views)
    with pytest.raises(ValueError, match="view 1 has 29 features, but DALMC is expecting 30"):
        model.partial_fit([views["view_0"], views["view_1"][:, :29], views["view_2"]])
    # A fit in between starts anew.
    model.fit(views).partial_fit(views)
    assert len(model._running_sums) == 100


def test_a_reused_buffer_and_a_failed_chunk_leave_the_past_alone(monkeypatch):
    views, _ = make_multiview(300, n_clusters=3, random_state=0)
    X = np.hstack(list(views.values()))
    model, reference = (DALMC(3, scaling="zscore", random_state=0) for _ in range(2))
    buffer = np.empty((100, X.shape[1]))
    for start in (0, 100):
        buffer[:] = X[start : start + 100]
        model.partial_fit(buffer)
        reference.partial_fit(X[start : start + 100].copy())
    with pytest.raises(ValueError, match="too large to be squared"):
        model.partial_fit(X[200:] * 1e200)

    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(DALMC, "_solve", interrupted)
        model.partial_fit(X[200:])
    for each in (model, reference):
        each.partial_fit(X[200:])
    assert len(model._running_sums) == 300
    np.testing.assert_array_equal(model._running_sums.sample.views[0], X)
    np.testing.assert_array_equal(model.predict(X), reference.predict(X))
    with pytest.raises(ValueError, match="cannot become 'unit'"):
        model.set_params(scaling="unit").partial_fit(X)


@pytest.mark.parametrize("order", [(np.float32, np.float64), (np.float64, np.float32)])
def test_chunks_of_mixed_precision_have_the_rank_of_the_coarser(order):
    rng = np.random.default_rng(0)
    low_rank = rng.standard_normal((400, 4)) @ rng.standard_normal((4, 20))
    model = DALMC(2, n_components=10, scaling="zscore", random_state=0)
    for part, dtype in zip(np.split(low_rank, 2), order, strict=True):
        model.partial_fit([part.astype(dtype), part[:, :9].astype(dtype)])
    assert model.n_components_ == [2, 2]
