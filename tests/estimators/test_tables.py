"""Tables with categories, and transformers of other packages, as views."""

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.decomposition import PCA, IncrementalPCA
from sklearn.impute import SimpleImputer
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer, StandardScaler

from anchorview import DALMC, AutoDALMC, MultiViewData, compared, load, open_views
from anchorview.estimators.persistence import ModelFileError
from anchorview.inspection import doubtful
from anchorview.sources import disk_source
from helpers.data import assert_same_embedding
from helpers.tables import planted_tables

N, K = 150, 3
MODELS = [DALMC(K, random_state=0), AutoDALMC(K, budget="fast", random_state=0)]


def planted():
    """Views with numbers, categories, booleans and missing cells, and the clusters."""
    views, y = planted_tables(N)
    views["customers"] = views["customers"][["age", "plan", "active", "region"]]
    return views, y


@pytest.mark.parametrize("model", MODELS, ids=["dalmc", "auto"])
def test_tables_are_views(model, tmp_path):
    views, y = planted()
    model = clone(model).fit(views)
    assert adjusted_rand_score(y, model.labels_) > 0.9
    assert "customers: 1 number, 3 categories (9 levels)" in repr(model)
    model.save(tmp_path / "m")
    loaded = load(tmp_path / "m")
    shuffled = {name: table.sample(frac=1, random_state=1) for name, table in views.items()}
    found = loaded.predict(dict(reversed(shuffled.items())))
    pd.testing.assert_series_equal(found[model.sample_ids_], model.labels_series)
    few = views["customers"].iloc[:3][["region", "active", "plan", "age"]].copy()
    few["plan"] = "unknown"
    with pytest.warns(UserWarning, match=r"3 of 3 .*'plan'.*'unknown'"):
        assert loaded.predict({"customers": few}).isin(range(K)).all()
    assert len(doubtful(model, views)) > 0
    np.testing.assert_array_equal(model.fit(MultiViewData(views)).labels_, loaded.labels_)


def test_missing_cells_and_samples_and_baselines():
    views, y = planted()
    numbers = pd.DataFrame({"a": 1.0 * y, "b": -1.0 * y}, views["text"].index)
    numbers.iloc[0, 0] = np.nan
    numbers.iloc[1] = np.nan
    model = DALMC(K, random_state=0).fit({**views, "numbers": numbers})
    np.testing.assert_allclose(model.preprocessing_[2].values_, numbers.mean())
    some = {**views, "customers": views["customers"].iloc[: N // 2]}
    assert adjusted_rand_score(y, DALMC(K, random_state=0).fit(some).labels_) > 0.9
    # Arrays have no columns that could be imputed without being asked for.
    with pytest.raises(ValueError, match="preprocess='impute-mean'"):
        DALMC(K).fit(numbers.dropna(how="all").to_numpy())
    labels = compared.ConcatKMeans(K, random_state=0).fit(views).labels_
    assert adjusted_rand_score(y, labels) > 0.8


def test_parts_give_the_same_labels(tmp_path, set_constants):
    views, _ = planted()
    # Dask makes texts of these.
    views["customers"]["member"] = pd.Series([True, False, None] * (N // 3), dtype=object).array
    expected = DALMC(K, random_state=0).fit(views)
    frames = {name: dd.from_pandas(table, npartitions=3) for name, table in views.items()}
    model = DALMC(K, random_state=0).fit(frames)
    labels = pd.Series(model.labels_.compute(), model.sample_ids_.compute())
    assert adjusted_rand_score(labels[expected.sample_ids_], expected.labels_) == 1
    assert_same_embedding(model.transform(views), expected.transform(views), atol=1e-5)
    set_constants(disk_source, PART=1000)
    DALMC(K, random_state=0).fit(views, out=tmp_path / "out")
    written = np.load(tmp_path / "out" / "embedding.npy")
    assert_same_embedding(written, expected.embedding_, atol=1e-5)


TRANSFORMERS = {
    "pipeline": make_pipeline(StandardScaler(), PCA(4, random_state=0)),
    "partial_fit": IncrementalPCA(4, batch_size=N),
    "stateless": Normalizer(),
}


@pytest.mark.parametrize("name", TRANSFORMERS)
@pytest.mark.parametrize("model", MODELS, ids=["dalmc", "auto"])
def test_transformers_inside_and_before(model, name, tmp_path):
    views, _ = planted()
    transformer = clone(TRANSFORMERS[name])
    before = {**views, "text": clone(transformer).fit_transform(views["text"].to_numpy())}
    before["text"] = pd.DataFrame(before["text"], views["text"].index)
    expected = clone(model).fit(before)
    inside = clone(model).set_params(preprocess={"text": transformer}).fit(views)
    np.testing.assert_allclose(inside.embedding_, expected.embedding_, atol=1e-10)
    np.testing.assert_array_equal(inside.predict(views), inside.labels_)
    assert not hasattr(transformer, "n_features_in_"), "the parameter itself is not fitted"


def test_data_in_parts_need_partial_fit(tmp_path):
    views, _ = planted()
    np.save(tmp_path / "text.npy", views["text"].to_numpy())
    files = open_views(tmp_path)
    for step in (IncrementalPCA(4), Normalizer(), FunctionTransformer(np.abs)):
        model = DALMC(K, preprocess=step, random_state=0).fit(files)
        assert len(model.labels_) == N
    with pytest.raises(ValueError, match=r"'text'\): PCA needs all samples in memory"):
        DALMC(K, preprocess=PCA(4)).fit(files)


class Doubled(TransformerMixin, BaseEstimator):
    """A transformer that no list of trusted types names."""

    def fit(self, X, y=None):
        self.fitted_ = True
        return self

    def transform(self, X):
        return 2 * np.asarray(X)


def test_foreign_transformers_are_saved_if_they_are_trusted(tmp_path):
    pytest.importorskip("skops")
    views, _ = planted()
    pipeline = make_pipeline(SimpleImputer(), StandardScaler(), PCA(4))
    model = DALMC(K, preprocess={"text": pipeline}, random_state=0)
    model.fit(views).save(tmp_path / "m")
    np.testing.assert_array_equal(load(tmp_path / "m").predict(views), model.labels_)
    model.set_params(preprocess={"text": Doubled()}).fit(views).save(tmp_path / "m")
    with pytest.raises(ModelFileError, match="Doubled, which is not trusted"):
        load(tmp_path / "m")
    loaded = load(tmp_path / "m", trusted=[f"{Doubled.__module__}.Doubled"])
    np.testing.assert_array_equal(loaded.predict(views), model.labels_)
    assert isinstance(loaded.preprocess["text"], Doubled)


def test_errors_name_the_view_and_the_column():
    views, _ = planted()
    names = views["customers"].assign(name=[f"n{i}" for i in range(N)])
    with pytest.raises(ValueError, match=r"'customers'\): column 'name' is text with 150"):
        DALMC(K).fit({**views, "customers": names})
    with pytest.raises(ValueError, match=r"'customers'\): column 'odd'.*'x'"):
        DALMC(K).fit({"customers": views["customers"].assign(odd=["x", 1.0, None] * 50)})
    model = DALMC(K, random_state=0).fit(views)
    with pytest.warns(UserWarning, match=r"150 of 150 .*'plan'.*'1'"):
        model.predict({"customers": views["customers"].assign(plan=1)})
    # Fault S6: samples with unknown levels only had a label, and confidence in it.
    plans = {"customers": views["customers"][["plan"]].dropna()}
    with pytest.warns(UserWarning, match="'plan'|no value in any view"):
        found = DALMC(K, random_state=0).fit(plans).predict({"customers": plans["customers"] + "?"})
    assert set(found) == {-1}
