"""Levels: which are found and chosen, their labels, and how clusters split."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score

from anchorview import AutoDALMC, load, make_multiview
from anchorview.estimators.auto.levels import (
    BRANCH,
    LevelLabels,
    chosen_number,
    find_branches,
    find_levels,
)
from anchorview.estimators.representation import edge_sentences


def table_of(agreement, chance=0.0):
    """Scan of numbers of clusters, with agreements from 2 clusters on or by number."""
    if not isinstance(agreement, dict):
        agreement = dict(enumerate(agreement, 2))
    table = pd.DataFrame({"agreement": pd.Series(agreement), "chance": chance})
    table["support"] = ((table["agreement"] - table["chance"]) / (1 - table["chance"])).clip(0)
    return table.assign(separation=0.0, evidence=table["support"], distance=0.0)


def branches(coarse, fine, partitions, split_chance):
    """Table of the branches between two levels."""
    levels = [LevelLabels(max(labels) + 1, labels, partitions) for labels in (coarse, fine)]
    return pd.DataFrame(find_branches(*levels, split_chance), columns=list(BRANCH))


class TestChoice:
    @pytest.mark.parametrize(
        ("agreement", "chance", "number"),
        [
            ([0.5, 0.9, 0.6], 0.0, 3),
            # Two clusters need clearly more support than more of them.
            ([0.9, 0.75, 0.3], 0.0, 3),
            ([0.9, 0.5, 0.3], 0.0, 2),
            # What is agreed on by chance does not count.
            ([0.9, 0.8, 0.5], [0.85, 0.75, 0.1], 4),
            ([np.nan, 0.4, 0.2, np.nan], 0.0, 3),
            ([0.4], 0.0, 2),
            # The largest of equal ones.
            ([0.1, 0.5, 0.8, 0.8, 0.7], 0.0, 5),
            ([0.1, 0.5, 0.8, 0.79, 0.7], 0.0, 4),
            # Many clusters need agreement in any case.
            ({4: 0.2, 40: 0.4}, 0.0, 4),
            ({4: 0.2, 40: 0.6}, 0.0, 40),
        ],
    )
    def test_number_with_the_most_support(self, agreement, chance, number):
        result = chosen_number(table_of(agreement, chance))
        assert result == number
        assert type(result) is int

    @pytest.mark.parametrize(
        ("column", "values", "number"),
        [
            # Resolutions far from 1 need more support, and clusters that are separated less.
            ("distance", [2.0, 0.0], 9),
            ("distance", [0.0, 0.0], 4),
            ("separation", [0.0, 0.5], 9),
        ],
    )
    def test_resolution_and_separation(self, column, values, number):
        table = table_of({4: 0.7, 9: 0.65})
        table[column] = values
        assert chosen_number(table) == number

    def test_no_number_is_possible(self):
        with pytest.raises(ValueError, match="single number"):
            chosen_number(table_of([np.nan, np.nan]))


class TestLevels:
    def test_a_coarse_and_a_fine_level_beside_the_chosen_one(self):
        table = table_of({2: 0.6, 3: 0.4, 6: 0.9, 12: 0.35, 14: 0.5, 40: 0.1}, 0.1)
        levels = find_levels(table, 6)
        assert levels.index.tolist() == [3, 6, 14]
        assert levels["chosen"].tolist() == [False, True, False]
        best = levels.loc[6]
        assert (best["agreement"], best["chance"]) == (0.9, 0.1)
        assert best["evidence"] == best["support"] == pytest.approx(0.8 / 0.9)
        # Levels without evidence are not offered.
        assert find_levels(table_of([0.0, 0.2, 0.0, 0.0, 0.0]), 3).index.tolist() == [3]

    def test_a_number_at_the_edge_of_those_given_is_said_to_be_one(self):
        views, _ = make_multiview(200, n_clusters=6, separation=8, random_state=0)
        for numbers, said in ((range(4, 7), 1), (range(4, 9), 0)):
            model = AutoDALMC(numbers, budget="fast", random_state=0).fit(views)
            assert len(edge_sentences(model)) == said


def test_planted_split():
    coarse = np.repeat([0, 1, 2], 20)
    fine = np.repeat([3, 0, 1, 2, 2], [10, 10, 20, 10, 10])
    partitions = np.stack([fine, fine])
    partitions[1, :20] = np.tile([0, 3], 10)
    tree = branches(coarse, fine, partitions, split_chance=0.25)
    assert tree["cluster"].tolist() == [0, 1, 2, 3]
    assert tree["parent"].tolist() == [0, 1, 2, 0]
    assert tree["size"].tolist() == [10, 20, 20, 10]
    assert (tree["overlap"] == 1).all()
    expected = adjusted_rand_score(fine[:20], np.tile([0, 3], 10))
    assert tree["split_agreement"][[0, 3]].tolist() == pytest.approx([expected] * 2)
    assert tree["split_chance"][[0, 3]].tolist() == [0.25, 0.25]
    assert tree.loc[[1, 2], ["split_agreement", "split_chance"]].isna().all(axis=None)


GROUPS = np.repeat([0, 1, 2, 3], [2, 2, 2, 3])


@pytest.fixture(scope="module")
def nested():
    """Nine clusters, which overlap, in four groups, which do not."""
    rng = np.random.default_rng(0)
    classes = rng.permutation(np.repeat(np.arange(9), 30))
    views = {}
    for name, width in (("first", 30), ("second", 40)):
        centers = 10 * rng.standard_normal((4, width))[GROUPS]
        centers += 0.7 * rng.standard_normal((9, width))
        views[name] = centers[classes] + rng.standard_normal((270, width))
    model = AutoDALMC(range(2, 12), budget="fast", random_state=0).fit(views)
    return views, classes, model


def test_tables_of_levels_and_branches(nested):
    _, classes, model = nested
    levels, tree = model.levels_, model.tree_
    assert model.n_clusters_ in (4, 9)
    assert levels.index[levels["chosen"]].tolist() == [model.n_clusters_]
    assert {4, 9} <= set(levels.index)
    assert adjusted_rand_score(GROUPS[classes], model.labels_at(4)) == 1
    assert adjusted_rand_score(classes, model.labels_at(9)) > 0.9
    for coarse, fine in pairwise(levels.index):
        branches = tree[tree["n_clusters"] == fine]
        assert set(branches["parent_level"]) == {coarse}
        assert branches["cluster"].tolist() == list(range(fine))
        assert branches["size"].sum() == 270
        counts = pd.crosstab(model.labels_at(fine), model.labels_at(coarse)).to_numpy()
        np.testing.assert_array_equal(branches["parent"], counts.argmax(axis=1))
        np.testing.assert_allclose(
            branches["overlap"], counts.max(axis=1) / counts.sum(axis=1), rtol=1e-12
        )
    # The families agree on the nine clusters, within every group too.
    split = tree[(tree["n_clusters"] == 9) & tree["split_agreement"].notna()]
    assert (split["split_agreement"] > split["split_chance"]).all()


def test_layers_are_the_levels_from_fine_to_coarse(nested):
    _, _, model = nested
    numbers = model.levels_.index[::-1]
    assert len(model.cluster_layers_) == len(numbers) > 1
    for layer, number in zip(model.cluster_layers_, numbers, strict=True):
        np.testing.assert_array_equal(layer, model.labels_at(number))
    single = AutoDALMC(2, budget="fast", random_state=0)
    assert not hasattr(single, "cluster_layers_")
    single.fit(np.random.default_rng(0).standard_normal((40, 3)))
    np.testing.assert_array_equal(single.cluster_layers_, [single.labels_])


def test_levels_predict_as_they_label(nested, tmp_path):
    views, _, model = nested
    model.save(tmp_path / "model.anchorview")
    loaded = load(tmp_path / "model.anchorview")
    for k in model.levels_.index:
        labels = model.labels_at(k)
        assert len(np.unique(labels)) == k
        np.testing.assert_array_equal(model.predict(views, level=k), labels)
        np.testing.assert_array_equal(loaded.labels_at(k), labels)
        np.testing.assert_array_equal(loaded.predict(views, level=k), labels)
    np.testing.assert_array_equal(model.labels_at(model.n_clusters_), model.labels_)
    pd.testing.assert_frame_equal(loaded.levels_, model.levels_)
    pd.testing.assert_frame_equal(loaded.tree_, model.tree_)


def test_unknown_levels_are_named_and_a_given_number_has_none(nested):
    model = nested[-1]
    known = ", ".join(map(str, model.levels_.index))
    for call in (lambda: model.labels_at(77), lambda: model.predict(nested[0], level=77)):
        with pytest.raises(ValueError, match=f"no level with 77 clusters, only with {known}"):
            call()
    views, _ = make_multiview(60, n_clusters=3, random_state=0)
    model = AutoDALMC(3, budget="fast", random_state=0).fit(views)
    assert model.levels_ is None
    assert model.tree_ is None
    np.testing.assert_array_equal(model.labels_at(3), model.labels_)
    with pytest.raises(ValueError, match="no level with 4 clusters, only with 3"):
        model.labels_at(4)


def test_files_have_the_levels_too(nested, tmp_path):
    views, _, model = nested
    again = AutoDALMC(range(2, 12), budget="fast", random_state=0).fit(views, out=tmp_path)
    others = [k for k in again.levels_.index if k != again.n_clusters_]
    stored = np.load(tmp_path / "level_labels.npy")
    for column, k in enumerate(others):
        np.testing.assert_array_equal(stored[:, column], model.labels_at(k))
