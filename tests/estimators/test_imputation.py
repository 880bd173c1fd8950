"""Single missing values are filled by statistics of the samples of `fit`."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.impute import SimpleImputer

from anchorview import DALMC, AutoDALMC, load
from anchorview.sources import disk_source
from helpers.dask_problems import in_dask, stored
from helpers.data import assert_same_embedding, clustered_views

MODELS = [DALMC(3, random_state=0), AutoDALMC(3, budget="fast", random_state=0)]


@pytest.fixture
def views():
    """Views of which some values are missing, and one sample lacks a view."""
    views, _ = clustered_views(120, 3, (6, 8))
    rng = np.random.default_rng(0)
    for view in views.values():
        view[rng.random(view.shape) < 0.1] = np.nan
    views["view_1"][5] = np.nan
    return views


def filled(views, statistic):
    """Values filled by scikit-learn, except those of the sample that lacks a view."""
    found = {}
    for name, view in views.items():
        lacking = np.isnan(view).all(axis=1)
        imputer = SimpleImputer(strategy=statistic).fit(view[~lacking])
        found[name] = np.where(lacking[:, None], np.nan, imputer.transform(view))
    return found


@pytest.mark.parametrize("statistic", ["mean", "median"])
@pytest.mark.parametrize("model", MODELS, ids=["dalmc", "auto"])
def test_imputed_values_are_those_of_scikit_learn(model, statistic, views, tmp_path):
    expected = model.set_params(preprocess=None).fit(filled(views, statistic)).embedding_
    model.set_params(preprocess=f"impute-{statistic}").fit(views)
    np.testing.assert_allclose(model.embedding_, expected, atol=1e-10)
    np.testing.assert_array_equal(model.predict(views), model.labels_)
    model.save(tmp_path / "m")
    loaded = load(tmp_path / "m")
    np.testing.assert_array_equal(loaded.predict(views), model.labels_)
    # New samples are filled with the values of fit, not with their own.
    few = {name: view[:3] for name, view in views.items()}
    np.testing.assert_array_equal(loaded.predict(few), model.labels_[:3])


def test_views_on_disk_and_in_dask(views, tmp_path, set_constants):
    set_constants(disk_source, PART=1000)
    expected = DALMC(3, preprocess="impute-mean", random_state=0).fit(views)
    files = stored(tmp_path, views)
    for X in (files, in_dask(views, 50)):
        model = DALMC(3, preprocess="impute-mean", random_state=0).fit(X)
        assert_same_embedding(model.embedding_, expected.embedding_, atol=1e-9)
        np.testing.assert_array_equal(model.predict(X), expected.labels_)
    with pytest.raises(ValueError, match="impute-median needs all samples in memory"):
        DALMC(3, preprocess="impute-median").fit(files)


def test_imputation_by_view(views):
    known = {**views, "view_0": np.nan_to_num(views["view_0"])}
    model = DALMC(3, preprocess={"view_0": None, "view_1": "impute-median"}, random_state=0).fit(
        known
    )
    assert model.preprocessing_[0] is None
    np.testing.assert_allclose(
        model.preprocessing_[1].values_, np.nanmedian(views["view_1"], axis=0)
    )
    with pytest.raises(ValueError, match=r"view 0 .*contains NaN"):
        model.predict(views)


def test_sparse_views(views):
    first = sparse.csr_array(views["view_0"])
    model = DALMC(3, preprocess="impute-mean", random_state=0).fit([first, first])
    np.testing.assert_allclose(model.preprocessing_[0].values_, np.nanmean(views["view_0"], axis=0))
    with pytest.raises(ValueError, match="impute-mean"):
        DALMC(3, preprocess="impute-median").fit([first, first])


def test_what_cannot_be_imputed(views):
    views["view_1"][:, 2] = np.nan
    for statistic in ("mean", "median"):
        with pytest.raises(ValueError, match="column 2 is NaN in all samples"):
            DALMC(3, preprocess=f"impute-{statistic}").fit(views)
    views["view_0"][3, 1] = np.inf
    with pytest.raises(ValueError, match="contains infinity"):
        DALMC(3, preprocess="impute-mean").fit(views)
