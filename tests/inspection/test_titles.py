"""Titles of clusters: planted features, names that say nothing, names of people."""

import numpy as np
import pandas as pd
import pytest

from anchorview import DALMC, AutoDALMC, load
from anchorview.inspection import cluster_summary

K, N = 8, 320


def planted(kind, seed):
    """Clusters in an embedding, each with a planted feature among features of noise."""
    rng = np.random.default_rng(seed)
    y = rng.integers(K, size=N)
    embedding = rng.normal(size=(K, 64))[y] * 2 + rng.normal(size=(N, 64))
    width = 30 if kind == "narrow" else 120
    values = rng.normal(size=(N, width))
    values[:, :K] += 2.5 * (y[:, None] == np.arange(K))
    if kind == "counts":
        values = np.maximum(values - 1, 0)
    names = [f"planted {j}" if j < K else f"noise {j}" for j in range(width)]
    table = pd.DataFrame(values, columns=names)
    if kind == "levels":
        table = pd.DataFrame(
            {
                "kind": pd.Categorical([f"planted {c}" for c in y]),
                "other": pd.Categorical([f"noise {c}" for c in rng.integers(5, size=N)]),
                "size": rng.normal(size=N),
            }
        )
    return {"image": pd.DataFrame(embedding).add_prefix("e"), "table": table}, y


@pytest.mark.parametrize("kind", ["wide", "narrow", "counts", "levels"])
def test_planted_features_are_in_the_titles(kind):
    found = []
    for seed in range(3):
        views, y = planted(kind, seed)
        titles = cluster_summary(y, views)["title"]
        assert titles.is_unique
        assert not titles.str.contains(r"\be\d").any()
        found += [f"planted {c}" in title for c, title in titles.items()]
    assert np.mean(found) >= 0.95


def test_titles_are_in_the_units_of_the_data_and_levels_stand_for_themselves():
    rng, y = np.random.default_rng(0), np.arange(90) % 3
    table = pd.DataFrame(
        {
            "category": np.array(["audio", "garden", "toys"], dtype=object)[y],
            "price": 20 + 100.0 * (y == 0) + rng.normal(size=90),
            "is_new": y == 1,
            "front_color": pd.Categorical(np.array(["red", "blue", "blue"])[y]),
            "back_color": pd.Categorical(np.array(["blue", "blue", "red"])[y]),
        }
    )
    audio, garden, toys = cluster_summary(y, table)["title"]
    assert audio.startswith("audio: ")
    assert "price 120" in audio
    assert "is new" in garden
    assert "back color red" in toys  # Not only "red".


def test_clusters_without_readable_features_have_numbers_and_names_are_kept():
    rng, y = np.random.default_rng(0), np.arange(60) % 2
    views = {"plain": rng.normal(size=(60, 3)) + y[:, None], "pca": rng.normal(size=(60, 2))}
    views["pca"] = pd.DataFrame(views["pca"] + y[:, None], columns=["PC1", "PC2"])
    assert cluster_summary(y, views)["title"].tolist() == ["cluster 0", "cluster 1"]
    named = cluster_summary(np.array(["sick", "healthy"])[y], views)["title"]
    assert named.to_dict() == {"healthy": "healthy", "sick": "sick"}
    model = DALMC(2, random_state=0).fit(views).relabel({0: "mine"})
    assert cluster_summary(model, views)["title"].tolist() == ["mine", "cluster 1"]


def test_equal_titles_get_more_features_or_a_number():
    y = np.arange(80) % 4
    table = pd.DataFrame({"a": pd.Categorical(y // 2), "group": pd.Categorical(["x", "yy"] * 40)})
    table["group"] = pd.Categorical(np.array(["long", "short"])[y // 2])
    titles = cluster_summary(y, table)["title"]
    assert titles.is_unique
    assert titles[0].endswith("(0)")
    table["tone"] = pd.Categorical(np.array(["low", "high"])[y % 2])
    titles = cluster_summary(y, table)["title"]
    assert titles.is_unique
    assert not titles.str.contains(r"\(").any()


@pytest.mark.parametrize("estimator", [DALMC(3, random_state=0), AutoDALMC(3, budget="fast")])
def test_models_have_the_titles_of_their_summary_and_keep_them(estimator, tmp_path):
    y = np.arange(120) % 3
    rng = np.random.default_rng(0)
    views = {
        "embedding": pd.DataFrame(rng.normal(size=(120, 8)) + 9 * np.eye(3, 8)[y]).add_prefix("e"),
        "table": pd.DataFrame({"kind": np.array(["tea", "cup", "pot"])[y], "size": 1.0 * y}),
    }
    model = estimator.fit(views)
    assert list(model.titles_) == model.summary(views)["title"].tolist()
    assert {title.split(":")[0] for title in model.titles_} == {"tea", "cup", "pot"}
    model.save(tmp_path / "model.anchorview")
    loaded = load(tmp_path / "model.anchorview")
    assert loaded.titles_ == model.titles_
    kept = loaded.titles_[2]
    assert loaded.relabel({0: "mine", 1: "mine"}).titles_ == ("mine", kept)
    plain = DALMC(3, random_state=0).fit([views["embedding"].to_numpy()])
    assert plain.titles_ == ("cluster 0", "cluster 1", "cluster 2")
