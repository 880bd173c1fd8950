"""What `transform` returns: sample ids with pandas output, and a scale that classifiers can use."""

import pickle

import numpy as np
import pandas as pd
import pytest

from anchorview import DALMC, AutoDALMC, MultiViewData
from anchorview.core.embed import MAX_CACHED_MAPS
from helpers.data import clustered_views

MODELS = [DALMC(3, random_state=0), AutoDALMC(3, budget="fast", random_state=0)]


@pytest.fixture
def frames():
    """Views with samples in different orders, one of which lacks a view."""
    views, _ = clustered_views(60, 3, (6, 8))
    ids = [f"s{i}" for i in range(60)]
    first, second = (pd.DataFrame(view, index=ids) for view in views.values())
    return {"a": first, "b": second.iloc[:0:-1]}


@pytest.mark.parametrize("model", MODELS, ids=["dalmc", "auto"])
def test_pandas_output_has_the_sample_ids(model, frames):
    model.set_output(transform="pandas")
    fitted = model.fit_transform(frames)
    assert fitted.index.tolist() == frames["a"].index.tolist()
    assert fitted.columns.tolist() == model.get_feature_names_out().tolist()
    new = {name: frame.loc[["s7", "s3"]] for name, frame in frames.items()}
    embedded = model.transform(new)
    assert embedded.index.tolist() == ["s7", "s3"]
    np.testing.assert_allclose(embedded, fitted.loc[["s7", "s3"]], atol=1e-10)
    model.set_output(transform="default")


@pytest.mark.parametrize("model", MODELS, ids=["dalmc", "auto"])
def test_columns_have_mean_square_1(model):
    views, _ = clustered_views(300, 3, (6, 8))
    rows = model.fit_transform(views)
    np.testing.assert_allclose((rows**2).mean(axis=0), 1)
    np.testing.assert_allclose(model.transform(views), rows, atol=1e-9)
    np.testing.assert_allclose(model.transform(views, scale=False), model.embedding_, atol=1e-12)
    np.testing.assert_array_equal(model.fit_transform(views, scale=False), model.embedding_)


def test_scale_after_batches_and_in_files(tmp_path):
    views, _ = clustered_views(300, 3, (6, 8))
    data = MultiViewData(views)
    model = DALMC(3, scaling="zscore", random_state=0).partial_fit(data[:100])
    model.partial_fit(data[100:])
    np.testing.assert_allclose((model.transform(data) ** 2).mean(axis=0), 1)
    with pytest.raises(ValueError, match="scale=False"):
        DALMC(3, random_state=0).fit_transform(views, out=tmp_path)


def test_maps_of_many_patterns_do_not_accumulate():
    views, _ = clustered_views(400, 3, (4,) * 8)
    model = DALMC(3, random_state=0).fit(views)
    before = len(pickle.dumps(model))
    rng = np.random.default_rng(0)
    for _ in range(2 * MAX_CACHED_MAPS):
        has = rng.permutation(8)[: rng.integers(1, 8)]
        some = {f"view_{p}": views[f"view_{p}"] for p in has}
        model.predict(some)
    assert len(pickle.dumps(model)) == before
