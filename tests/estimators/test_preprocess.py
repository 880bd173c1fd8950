"""The parameter `preprocess`: the same in memory, from files, in Dask and after loading."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from anchorview import DALMC, AutoDALMC, MultiViewData, load, make_multiview
from anchorview.estimators.preparation import fit_preparation
from anchorview.sources import disk_source
from helpers.cells import counts
from helpers.dask_problems import in_dask, stored
from helpers.data import assert_same_embedding, clustered_views

MODELS = [DALMC(3, random_state=0), AutoDALMC(3, budget="fast", random_state=0)]
STEPS = {"rna": "lognorm", "protein": "clr", "atac": "tfidf"}


def count_views():
    types = np.arange(150) % 3
    widths = {"rna": 9, "protein": 6, "atac": 8}
    return {name: counts(d, types, seed) for seed, (name, d) in enumerate(widths.items())}


def prepared(views):
    """Counts, preprocessed before they are given to an estimator."""
    data = MultiViewData(views)
    data = fit_preparation(data, STEPS)(data)
    return dict(zip(data.names, data.views, strict=True))


def views_with_holes():
    """Views of which some values are missing, and one sample lacks a view."""
    views, _ = clustered_views(120, 3, (6, 8))
    rng = np.random.default_rng(0)
    for view in views.values():
        view[rng.random(view.shape) < 0.1] = np.nan
    views["view_1"][5] = np.nan
    return views


def filled(views, statistic="mean"):
    """Values filled by scikit-learn, except those of the sample that lacks a view."""
    found = {}
    for name, view in views.items():
        lacking = np.isnan(view).all(axis=1)
        imputer = SimpleImputer(strategy=statistic).fit(view[~lacking])
        found[name] = np.where(lacking[:, None], np.nan, imputer.transform(view))
    return found


CASES = {
    "counts": (STEPS, count_views, prepared),
    "impute-mean": ("impute-mean", views_with_holes, filled),
    "impute-median": ("impute-median", views_with_holes, lambda views: filled(views, "median")),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("model", MODELS, ids=["dalmc", "auto"])
def test_equal_to_preprocessing_first(model, case, tmp_path):
    steps, make, before = CASES[case]
    views = make()
    expected = model.set_params(preprocess=None).fit(before(views)).embedding_
    model.set_params(preprocess=steps).fit(views)
    np.testing.assert_allclose(model.embedding_, expected, atol=1e-10)
    np.testing.assert_array_equal(model.predict(views), model.labels_)
    model.save(tmp_path / "m")
    # New samples are preprocessed with the statistics of fit, not with their own.
    few = {name: view[:5] for name, view in views.items()}
    np.testing.assert_array_equal(load(tmp_path / "m").predict(few), model.labels_[:5])


@pytest.mark.parametrize("case", ["counts", "impute-mean"])
def test_files_and_dask(case, tmp_path, set_constants):
    set_constants(disk_source, PART=1000)
    steps, make, _ = CASES[case]
    views = make()
    model = DALMC(3, random_state=0, preprocess=steps)
    expected = model.fit(views).embedding_
    for X in (stored(tmp_path, views), in_dask(views, 50)):
        assert_same_embedding(model.fit(X).embedding_, expected, atol=1e-5)
        np.testing.assert_array_equal(np.asarray(model.predict(X)), np.asarray(model.labels_))


def test_sparse_views():
    views = count_views()
    model = DALMC(3, random_state=0, preprocess=STEPS)
    expected = model.fit(views).embedding_
    in_sparse = {name: sparse.csr_array(view) for name, view in views.items()}
    assert_same_embedding(model.fit(in_sparse).embedding_, expected, atol=1e-5)
    holes = views_with_holes()["view_0"]
    model = DALMC(3, preprocess="impute-mean", random_state=0).fit(sparse.csr_array(holes))
    np.testing.assert_allclose(model.preprocessing_[0].values_, np.nanmean(holes, axis=0))
    with pytest.raises(ValueError, match="impute-mean"):
        DALMC(3, preprocess="impute-median").fit(sparse.csr_array(holes))


def test_steps_by_view():
    views = views_with_holes()
    known = {**views, "view_0": np.nan_to_num(views["view_0"])}
    model = DALMC(3, preprocess={"view_0": None, "view_1": "impute-median"}, random_state=0)
    model.fit(known)
    assert model.preprocessing_[0] is None
    medians = np.nanmedian(views["view_1"], axis=0)
    np.testing.assert_allclose(model.preprocessing_[1].values_, medians)
    with pytest.raises(ValueError, match=r"view 0 .*NaN"):
        model.predict(views)


def test_what_cannot_be_preprocessed(tmp_path):
    negative = {name: -view for name, view in count_views().items()}
    with pytest.raises(ValueError, match=r"'rna'.*counts"):
        DALMC(3, preprocess=STEPS).fit(negative)
    views = views_with_holes()
    with pytest.raises(ValueError, match=r"impute-median .*memory"):
        DALMC(3, preprocess="impute-median").fit(stored(tmp_path, views))
    views["view_1"][:, 2] = np.nan
    for statistic in ("mean", "median"):
        with pytest.raises(ValueError, match="column 2 is NaN"):
            DALMC(3, preprocess=f"impute-{statistic}").fit(views)
    views["view_0"][3, 1] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        DALMC(3, preprocess="impute-mean").fit(views)


def test_chunks_of_which_the_first_would_be_learned_are_refused():
    """Fault S7: the model was not that of fit."""
    views, _ = make_multiview(60, n_clusters=3, random_state=0)
    for step in ("impute-mean", StandardScaler()):
        with pytest.raises(ValueError, match=r"view 0: .*first chunk only"):
            DALMC(3, scaling="zscore", preprocess=step).partial_fit(views)


def test_arrays_of_the_caller_are_never_changed():
    """Fault S8: transformers without copies overwrote them."""
    views, _ = make_multiview(60, n_clusters=3, random_state=0)
    given = {name: view.copy() for name, view in views.items()}
    model = DALMC(3, preprocess=StandardScaler(copy=False), random_state=0).fit(given)
    np.testing.assert_array_equal(model.predict(given), model.labels_)
    for name, view in views.items():
        np.testing.assert_array_equal(given[name], view)


def test_mistakes_of_transformers_are_told(tmp_path):
    views, _ = make_multiview(60, n_clusters=3, random_state=0)
    shorter = FunctionTransformer(lambda X: np.asarray(X)[:, : max(1, len(X) // 20)])
    model = DALMC(3, preprocess={"view_0": shorter}, random_state=0).fit(views)
    with pytest.raises(ValueError, match=r"view 0.*1 features, but 3"):
        model.predict({name: view[:20] for name, view in views.items()})
    with pytest.raises(ValueError, match=r"preprocess.*lambda"):
        model.save(tmp_path / "m")
    DALMC(3, random_state=0).fit(views).save(tmp_path / "m")
    with pytest.raises(TypeError, match="trusted=True"):
        load(tmp_path / "m", trusted=True)
