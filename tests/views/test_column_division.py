"""One wide table as several views, in Python, pipelines and model files."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import train_test_split

from anchorview import DALMC, MultiViewData, load, open_views
from anchorview.datasets import read_views
from helpers.command_line import run

N, K = 90, 3
WORDS = [["apple", "plum", "fruit"], ["wheel", "engine", "road"], ["queen", "castle", "crown"]]
VIEWS = {"price": ["p1", "p2"], "text": "title", "rest": ...}


def wide():
    rng, y = np.random.default_rng(0), np.arange(N) % K
    numbers = rng.normal(size=(N, 4)) + 4 * rng.permutation(K)[y][:, None]
    frame = pd.DataFrame(numbers, [f"s{i}" for i in range(N)], ["p1", "a", "p2", "b"])
    frame["title"] = [" ".join([*rng.choice(WORDS[c], 5), f"item{i}"]) for i, c in enumerate(y)]
    return frame, y


@pytest.mark.filterwarnings("ignore:.*holds texts")
@pytest.mark.parametrize("form", ["pandas", "polars", "container"])
def test_columns_are_divided_and_remembered(form, tmp_path):
    frame, y = wide()
    table = pl.DataFrame(frame.to_dict("list")) if form == "polars" else frame
    if form == "container":
        data = MultiViewData(table, views=VIEWS)
        train, test = train_test_split(data, random_state=0)
        assert train.names == ("price", "text", "rest")
        assert len(DALMC(K, random_state=0).fit(train).predict(test)) == len(test)
        return
    model = DALMC(K, random_state=0).fit(table, views=VIEWS)
    assert model.view_names_in_ == ("price", "text", "rest")
    assert [list(names) for names in model.feature_names_per_view_] == [
        ["p1", "p2"], ["title"], ["a", "b"]
    ]  # fmt: skip
    assert adjusted_rand_score(model.labels_, y) > 0.9
    model.save(tmp_path / "m")
    loaded = load(tmp_path / "m")
    turned = table[table.columns[::-1]]
    np.testing.assert_array_equal(loaded.predict(turned), model.labels_)
    assert loaded.view_selection_ == {"price": ("p1", "p2"), "text": "title", "rest": "..."}


@pytest.mark.filterwarnings("ignore:.*holds texts")
def test_tables_in_files(tmp_path):
    frame, _ = wide()
    frame.to_parquet(tmp_path / "wide.parquet")
    expected = DALMC(K, random_state=0).fit(frame, views=VIEWS)
    for read in (read_views, open_views):
        model = DALMC(K, random_state=0).fit(read(tmp_path), views=VIEWS)
        assert adjusted_rand_score(model.labels_, expected.labels_) == 1
        np.testing.assert_array_equal(model.predict(read(tmp_path)), model.labels_)


@pytest.mark.filterwarnings("ignore:.*holds texts")
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_single_file_in_python_and_in_the_shell(suffix, tmp_path):
    frame, y = wide()
    path = tmp_path / f"price.{suffix}"
    frame.to_csv(path, index_label="id") if suffix == "csv" else frame.to_parquet(path)
    file = read_views(path, views=VIEWS)
    assert {name: list(view.columns) for name, view in file.views.items()} == {
        "price": ["p1", "p2"], "text": ["title"], "rest": ["a", "b"]
    }  # fmt: skip
    model = DALMC(K, random_state=0).fit(file)
    np.testing.assert_array_equal(model.predict(read_views(path)), model.labels_)
    np.testing.assert_array_equal(model.predict(frame), model.labels_)
    options = ["--view", "price=p1,p2", "--view", "text=title", "--view", "rest=..."]
    saved, labels = tmp_path / "m.anchorview", tmp_path / "labels.csv"
    for arguments in (
        ("fit", path, "-k", K, "--method", "dalmc", *options, "--save", saved),
        ("predict", saved, path, "--out", labels),
    ):
        result = run(*arguments)
        assert result.exit_code == 0, result.output
    assert adjusted_rand_score(pd.read_csv(labels)["cluster"], y) > 0.9


def test_unknown_columns_and_empty_views_are_named():
    frame, _ = wide()
    for views, message in (
        ({"price": ["p1", "p3"]}, r"'price'.*'p3'"),
        ({"all": ["p1", "p2", "a", "b", "title"], "rest": ...}, "'rest' has no columns"),
    ):
        with pytest.raises(ValueError, match=message):
            DALMC(K).fit(frame, views=views)
    with pytest.raises(TypeError, match="single table"):
        DALMC(K).fit({"a": frame, "b": frame}, views=VIEWS)
    with pytest.raises(TypeError, match="views must be a dict"):
        DALMC(K).fit(frame, views=["p1"])
