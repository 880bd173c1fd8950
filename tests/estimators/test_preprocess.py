"""The parameter `preprocess`: the same in memory, from files, in Dask and after loading."""

import numpy as np
import pytest
from scipy import sparse

from anchorview import DALMC, AutoDALMC, MultiViewData, load
from anchorview.estimators.preparation import fit_preparation
from anchorview.inspection import doubtful, leave_one_view_out
from anchorview.sources import disk_source
from helpers.cells import counts
from helpers.dask_problems import in_dask, stored

STEPS = {"rna": "lognorm", "protein": "clr", "atac": "tfidf"}


@pytest.fixture(scope="module")
def views():
    types = np.arange(150) % 3
    widths = {"rna": 9, "protein": 6, "atac": 8}
    return {name: counts(d, types, seed) for seed, (name, d) in enumerate(widths.items())}


@pytest.fixture(scope="module")
def prepared(views):
    """The views, preprocessed before they are given to an estimator."""
    data = MultiViewData(views)
    data = fit_preparation(data, STEPS)(data)
    return dict(zip(data.names, data.views, strict=True))


MODELS = [DALMC(3, random_state=0), AutoDALMC(3, budget="fast", random_state=0)]


@pytest.mark.parametrize("model", MODELS, ids=["dalmc", "auto"])
def test_equal_to_preprocessing_first(model, views, prepared, tmp_path):
    expected = model.set_params(preprocess=None).fit(prepared).embedding_
    model.set_params(preprocess=STEPS).fit(views)
    np.testing.assert_array_equal(model.embedding_, expected)
    model.save(tmp_path / "m")
    loaded = load(tmp_path / "m")
    # New samples are preprocessed with the statistics of fit, not with their own.
    few = {name: view[:5] for name, view in views.items()}
    np.testing.assert_array_equal(loaded.predict(few), model.labels_[:5])
    wrong = {**few, "rna": -few["rna"]}
    with pytest.raises(ValueError, match="preprocess needs counts"):
        loaded.predict(wrong)


def test_files_sparse_matrices_and_dask(views, tmp_path, set_constants):
    set_constants(disk_source, PART=1000)
    model = DALMC(3, random_state=0, preprocess=STEPS)
    expected = np.abs(model.fit(views).embedding_)
    in_sparse = {name: sparse.csr_array(view) for name, view in views.items()}

    def check(rows):
        # Rounding may change the signs of columns.
        np.testing.assert_allclose(np.abs(rows), expected, atol=1e-5)

    check(model.fit(in_sparse).embedding_)
    files = stored(tmp_path, views)
    check(model.fit(files).embedding_)
    labels = model.labels_.copy()
    np.testing.assert_array_equal(model.predict(files), labels)
    arrays = in_dask(views, 50)
    model.fit(arrays)
    check(model.embedding_.compute())
    np.testing.assert_array_equal(model.predict(arrays).compute(), labels)


def test_inspection_prepares_samples_as_the_model_does(views, prepared):
    model = DALMC(3, random_state=0, preprocess=STEPS).fit(views)
    plain = DALMC(3, random_state=0).fit(prepared)
    for function in (doubtful, leave_one_view_out):
        found, expected = function(model, views), function(plain, prepared)
        np.testing.assert_allclose(
            found.select_dtypes("number"), expected.select_dtypes("number"), atol=1e-6
        )


def test_partial_fit_keeps_the_statistics_of_the_first_batch(views):
    model = DALMC(3, random_state=0, preprocess=STEPS, scaling="zscore")
    first = {name: view[:100] for name, view in views.items()}
    model.partial_fit(first)
    total = model.preprocessing_[0].total_
    model.partial_fit({name: view[100:] for name, view in views.items()})
    assert model.preprocessing_[0].total_ == total
    totals = first["rna"].sum(axis=1)
    assert total == pytest.approx(np.median(totals))
