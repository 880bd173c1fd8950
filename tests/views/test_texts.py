"""Texts are a view: TF-IDF with the words as features."""

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import adjusted_rand_score

from anchorview import DALMC, load, open_views
from anchorview.inspection import cluster_markers
from anchorview.preprocessing import WordTfidf
from anchorview.sources import disk_source

N, K = 90, 3
WORDS = [["apple", "plum", "fruit"], ["wheel", "engine", "road"], ["queen", "castle", "crown"]]


def planted():
    """A frame, a Series of texts in another order, and the clusters."""
    rng, y = np.random.default_rng(0), np.arange(N) % K
    texts = [" ".join([*rng.choice(WORDS[c], 5), "the", f"item{i}"]) for i, c in enumerate(y)]
    ids = [f"s{i}" for i in range(N)]
    frame = pd.DataFrame(rng.normal(size=(N, 3)), ids).rename(columns="abc".__getitem__)
    return frame, pd.Series(texts, ids, name="title"), y


def test_words_are_those_of_scikit_learn():
    _, texts, _ = planted()
    step = WordTfidf().fit(texts[:30]).partial_fit(texts[30:])
    like = TfidfVectorizer(sublinear_tf=True, min_df=2, max_df=0.5).fit(texts)
    assert step.words_.tolist() == like.get_feature_names_out().tolist()
    found = step.transform(texts)
    np.testing.assert_allclose(found.toarray(), like.transform(texts).toarray(), rtol=1e-5)
    few = WordTfidf(max_features=2).fit(texts)
    assert len(few.words_) == 2 and few.transform(["nothing known"]).nnz == 0
    with pytest.raises(ValueError, match="no word"):
        WordTfidf().fit(["one", "two"]).transform(["one"])


@pytest.mark.parametrize("form", ["series", "frame", "list", "array"])
def test_texts_beside_numbers(form, tmp_path):
    frame, texts, y = planted()
    views = {"numbers": frame, "text": texts.sample(frac=1, random_state=0)}
    if form == "frame":
        views["text"] = views["text"].to_frame()
    elif form != "series":
        values = texts.tolist() if form == "list" else texts.to_numpy(object)
        views = {"numbers": frame.to_numpy(), "text": values}
    with pytest.warns(UserWarning, match=r"'text'\) holds texts.*'words'"):
        model = DALMC(K, random_state=0).fit(views)
    assert adjusted_rand_score(model.labels_, y) > 0.9
    # Fault K4: vectorizers of scikit-learn need a column, not a table with one.
    foreign = {"text": TfidfVectorizer(sublinear_tf=True, min_df=2, max_df=0.5)}
    other = DALMC(K, random_state=0, preprocess=foreign).fit(views)
    np.testing.assert_array_equal(other.labels_, model.labels_)
    assert set(model.preprocessing_[1].words_) == {word for words in WORDS for word in words}
    model.save(tmp_path / "m")
    alone = {"text": views["text"]}
    np.testing.assert_array_equal(load(tmp_path / "m").predict(alone), model.predict(alone))
    named = DALMC(K, random_state=0, preprocess={"text": "words"}).fit(views)
    np.testing.assert_array_equal(named.labels_, model.labels_)


@pytest.mark.filterwarnings("ignore:view 1 .* holds texts")
def test_texts_in_files_and_in_dask(tmp_path, set_constants):
    frame, texts, _ = planted()
    views = {"numbers": frame.sort_index(), "text": texts.sort_index().to_frame()}
    expected = DALMC(K, random_state=0).fit(views)
    in_dask = {name: dd.from_pandas(view, npartitions=2) for name, view in views.items()}
    labels = DALMC(K, random_state=0).fit(in_dask).labels_.compute()
    np.testing.assert_array_equal(labels, expected.labels_)
    for name, view in views.items():
        view.to_parquet(tmp_path / f"{name}.parquet")
    set_constants(disk_source, PART=1000)
    model = DALMC(K, random_state=0).fit(open_views(tmp_path))
    assert adjusted_rand_score(model.labels_, expected.labels_) == 1


def test_markers_are_words():
    frame, texts, y = planted()
    views = {"numbers": frame, "text": texts}
    model = DALMC(K, random_state=0, preprocess={"text": "words"}).fit(views)
    assert "9 words" in repr(model)
    markers = cluster_markers(model, views, n_features=3)
    of_texts = markers[markers["view"] == "text"]
    for cluster, rows in of_texts.groupby("cluster"):
        label = y[np.flatnonzero(model.labels_ == cluster)[0]]
        assert set(rows["feature"]) <= set(WORDS[label])
    assert (
        model.summary(views)["features"]
        .map(" ".join)
        .str.contains("apple|engine|queen|road|plum")
        .all()
    )
