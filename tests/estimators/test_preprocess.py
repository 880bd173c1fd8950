"""The parameter `preprocess`: the same in memory, from files, in Dask and after loading."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from anchorview import DALMC, AutoDALMC, MultiViewData, load, make_multiview
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


def test_chunks_do_not_teach_transformers():
    views, _ = make_multiview(60, n_clusters=3, random_state=0)
    counts = {name: np.abs(view).round() for name, view in views.items()}
    scaled = StandardScaler().fit(counts["view_1"])
    settings = {"scaling": "unit", "random_state": 0}
    for step in ("lognorm", "impute-mean", StandardScaler()):
        with pytest.raises(ValueError, match=r"view 1.*first chunk"):
            DALMC(3, preprocess={"view_1": step}, **settings).partial_fit(counts)
    table = pd.DataFrame({"a": list("xyz") * 20})
    with pytest.raises(ValueError, match="first chunk"):
        DALMC(3, **settings).partial_fit({"t": table})
    steps = {"view_0": "clr", "view_1": FrozenEstimator(scaled)}
    model = DALMC(3, preprocess=steps, **settings)
    for part in (slice(0, 20), slice(20, 60)):
        model.partial_fit({name: view[part] for name, view in counts.items()})
    whole = DALMC(3, preprocess=steps, **settings).fit(counts)
    np.testing.assert_allclose(model.objective_, whole.objective_, rtol=1e-6)


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


def test_views_are_not_overwritten():
    views, _ = make_multiview(60, n_clusters=3, random_state=0)
    before = {name: view.copy() for name, view in views.items()}
    model = DALMC(3, preprocess=PCA(3, copy=False), random_state=0).fit(views)
    np.testing.assert_array_equal(model.predict(views), model.labels_)
    for name, view in views.items():
        np.testing.assert_array_equal(view, before[name])


def test_score_serves_model_selection():
    views, y = make_multiview(120, n_clusters=3, random_state=0)
    ids = [f"s{i}" for i in range(120)]
    frames = {name: pd.DataFrame(view, ids) for name, view in views.items()}
    model = DALMC(3, random_state=0).fit(frames)
    shuffled = pd.Series(y, ids).sample(frac=1, random_state=0)
    assert model.score(frames, shuffled) == model.score(frames, y) > 0.8
    assert model.score(frames) > DALMC(6, random_state=0).fit(frames).score(frames)
    search = GridSearchCV(DALMC(random_state=0), {"n_clusters": [2, 3, 6]}, cv=3)
    assert search.fit(MultiViewData(frames), y).best_params_ == {"n_clusters": 3}
