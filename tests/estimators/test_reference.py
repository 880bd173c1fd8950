"""Clusters that continue those of an earlier model: numbers, names, and what has changed."""

import dask
import numpy as np
import pytest
from sklearn.cluster import KMeans

from anchorview import DALMC, AutoDALMC, MultiViewData, open_views
from anchorview.inspection import cluster_summary
from anchorview.plotting import ClusterSizesDisplay
from helpers.dask_problems import in_dask
from helpers.data import clustered_views, with_ids
from helpers.model_files import round_trip
from helpers.view_files import write_npy_folder

WIDTHS = (8, 12)
HALVES = {"a": (0, 1), "A": (0, -1), "b": (1, 2), "B": (1, -2), "c": (2, 0), "d": (3, 0)}
"""Clusters of `month`: the position of the center, and on which side of it they are."""


def month(sizes, seed):
    """Views of samples in clusters of these sizes, and the cluster of each sample."""
    centers = np.random.default_rng(0)
    rng = np.random.default_rng(seed)
    y = np.repeat(list(sizes), list(sizes.values()))
    position, side = np.array([HALVES[name] for name in y]).T
    views = {}
    for width in WIDTHS:
        far, near = centers.normal(size=(2, 4, width))
        rows = 4 * far[position] + side[:, None] * near[position]
        views[f"view_{width}"] = rows + rng.normal(size=(len(y), width))
    return views, y


def estimator(kind, k):
    model = DALMC(k) if kind is DALMC else AutoDALMC(k, budget="fast")
    return model.set_params(random_state=0)


def cluster_of(model, y, name):
    clusters, counts = np.unique(np.asarray(model.labels_)[y == name], return_counts=True)
    assert counts.max() > 0.9 * counts.sum()
    return int(clusters[counts.argmax()])


@pytest.mark.parametrize(
    ("kind", "known"),
    [
        (DALMC, True),
        (DALMC, False),
        pytest.param(AutoDALMC, True, marks=pytest.mark.slow),
        pytest.param(AutoDALMC, False, marks=pytest.mark.slow),
    ],
)
def test_three_months_with_a_split_a_merge_and_a_new_cluster(kind, known, tmp_path):
    first = {"a": 70, "A": 60, "b": 60, "B": 60, "c": 80}
    second = {**first, "b": 80, "B": 80, "d": 70}
    third = {"a": 120, "b": 60, "B": 60, "d": 140}
    (one, y1), (two, y2), (three, y3) = (month(m, s) for s, m in enumerate([first, second, third]))
    if known:
        ids = [np.arange(len(y)) for y in (y1, y2, y3)]
        # The same people by cluster, and new ones.
        for y, own, before, y_before in ((y2, 1, 0, y1), (y3, 2, 1, y2)):
            ids[own] += 1000 * own
            for name in set(y) & set(y_before):
                rows, old = np.flatnonzero(y == name), ids[before][y_before == name]
                ids[own][rows[: len(old)]] = old[: len(rows)]
        one, two, three = (with_ids(*each) for each in zip((one, two, three), ids, strict=True))
    old = estimator(kind, 4).fit(one)
    both_a, both_c = cluster_of(old, y1, "a"), cluster_of(old, y1, "c")
    halves = cluster_of(old, y1, "b"), cluster_of(old, y1, "B")
    assert cluster_of(old, y1, "A") == both_a
    old.relabel({both_c: "gone later", halves[0]: "b"})
    new = estimator(kind, 6).fit(two, reference=old)
    changes = new.changes_
    assert cluster_of(new, y2, "c") == both_c
    assert cluster_of(new, y2, "b") == halves[0]
    assert changes["name"][both_c] == "gone later"
    assert changes["change"][both_c] == "continued"
    pair = {cluster_of(new, y2, "a"), cluster_of(new, y2, "A")}
    assert pair == {both_a, max(pair)}
    assert changes["change"][max(pair)] == "split from"
    assert changes["clusters"][max(pair)] == str(both_a)
    added = cluster_of(new, y2, "d")
    assert changes.loc[added, ["change", "before", "after"]].tolist() == ["new", 0, 70]
    assert {added, max(pair)} == {4, 5}
    latest = estimator(kind, 3).fit(three, reference=round_trip(new, tmp_path))
    assert latest.n_clusters_ == 3
    changes = latest.changes_
    merged = cluster_of(latest, y3, "b")
    assert merged == cluster_of(latest, y3, "B")
    assert changes["change"][merged] == "merged of"
    assert set(changes["clusters"][merged].split(", ")) == {"b", str(halves[1])}
    assert cluster_of(latest, y3, "d") == added
    assert changes.loc[added, ["change", "before", "after"]].tolist() == ["continued", 70, 140]
    gone = changes.loc[both_c, ["change", "name", "after"]].tolist()
    assert gone == ["vanished", "gone later", 0]
    with pytest.raises(ValueError, match=f"{both_c}.? is not a cluster: they have the numbers"):
        latest.relabel({both_c: "other"})
    for model in (latest, round_trip(latest, tmp_path)):
        np.testing.assert_array_equal(np.asarray(model.predict(three)), latest.labels_)
        summary = cluster_summary(model, three)
        assert summary["size"].tolist() == np.bincount(latest.labels_, minlength=6).tolist()
    assert ClusterSizesDisplay.from_estimator(latest).sizes.iloc[merged] == 120
    # Numbers of clusters that have vanished are not used again.
    again = estimator(kind, 6).fit(two, reference=latest)
    assert not set(again.labels_) & ({both_c, *halves} - {merged})


def half_overlaps(counts):
    """Pairs of old and new clusters that share more than a half of what either has."""
    union = counts.sum(axis=1, keepdims=True) + counts.sum(axis=0) - counts
    return np.argwhere(2 * counts > union)


def part(views, rows, known):
    chosen = {name: view[rows] for name, view in views.items()}
    return with_ids(chosen, rows) if known else chosen


def assert_continued(old, new, views, least=7):
    """Assert that clusters of `new` have the numbers of those of `old` that they overlap most."""
    before, after = old.predict(views), new.labels_
    if new.sample_ids_ is not None:
        shared = new.sample_ids_.intersection(old.sample_ids_)
        before, after = old.labels_series[shared], new.labels_series[shared]
    before, after = np.asarray(before), np.asarray(after)
    size = 1 + max(before.max(), after.max())
    counts = np.bincount(before * size + after, minlength=size**2).reshape(size, size)
    pairs = half_overlaps(counts)
    assert len(pairs) >= least
    assert (pairs[:, 0] == pairs[:, 1]).all()
    assert (new.changes_["change"][pairs[:, 1]].isin(["continued", "merged of"])).all()


@pytest.mark.parametrize("known", [True, False])
def test_numbers_continue_on_digits(digits, known):
    views, y = digits
    rng = np.random.default_rng(0)
    order = rng.permutation(len(y))
    halves = order[:1400], order[600:]
    old = DALMC(10, random_state=0).fit(part(views, halves[0], known))
    new = part(views, halves[1], known)
    model = DALMC(10, random_state=5).fit(new, reference=old)
    assert_continued(old, model, new)
    # Another seed on the same samples.
    model = DALMC(10, random_state=1).fit(part(views, halves[0], known), reference=old)
    assert_continued(old, model, part(views, halves[0], known))
    np.testing.assert_allclose(model.changes_["beyond_chance"], 0, atol=0.05)
    # A class that is missing, and then is there again.
    rows = halves[1][y[halves[1]] != 0]
    fewer = part(views, rows, known)
    model = DALMC(9, random_state=0).fit(fewer, reference=old)
    assert_continued(old, model, fewer)
    zeros = np.bincount(np.asarray(old.labels_)[y[halves[0]] == 0]).argmax()
    assert model.changes_["change"][zeros] == "vanished"
    back = DALMC(10, random_state=0).fit(new, reference=model)
    numbers, counts = np.unique(np.asarray(back.labels_)[y[halves[1]] == 0], return_counts=True)
    assert numbers[counts.argmax()] >= 10
    assert back.changes_["change"][numbers[counts.argmax()]] == "new"


@pytest.mark.parametrize("known", [True, False])
def test_a_class_that_grows_ten_times_keeps_its_number(digits, known):
    views, y = digits
    twos, others = np.flatnonzero(y == 2), np.flatnonzero(y != 2)
    before = np.concatenate([twos[::10], others[::9]])
    old = DALMC(10, random_state=0).fit(part(views, before, known))
    after = np.concatenate([twos, others[::9]])
    model = DALMC(10, random_state=0).fit(part(views, after, known), reference=old)
    assert_continued(old, model, part(views, after, known), least=4)
    # DALMC divides the class, which is now half of the samples; a part keeps its number.
    number = np.bincount(old.labels_[y[before] == 2]).argmax()
    assert (y[after][model.labels_ == number] == 2).mean() > 0.95


def test_numbers_continue_in_files_and_dask(tmp_path):
    views, _ = clustered_views(400, 4, separation=6.0)
    old = DALMC(4, random_state=0).fit(views).relabel({0: "first"}, output="names")
    names = np.asarray(old.predict(views))
    write_npy_folder(tmp_path / "views", **views)
    stored = open_views(tmp_path / "views")
    for model in (AutoDALMC(4, budget="fast", random_state=3), DALMC(4, random_state=3)):
        model.fit(stored, reference=old, out=tmp_path / "out")
        np.testing.assert_array_equal(np.load(tmp_path / "out" / "labels.npy"), model.labels_)
        assert (model.labels_ == old.labels_).mean() > 0.95
        assert (np.asarray(model.predict(stored)) == names).mean() > 0.95
    assert model.fit_predict(views, reference=old).tolist() == model.predict(views).tolist()
    with dask.config.set(scheduler="threads"):
        model.fit(in_dask(views, 100), reference=old)
        assert (np.asarray(model.labels_) == old.labels_).mean() > 0.95


def test_what_a_reference_must_be(digits):
    views, _ = clustered_views(60, 3)
    old = DALMC(3, random_state=0).fit(views)
    model = DALMC(3, random_state=0).fit(views, reference=old)
    assert model.changes_["change"].tolist() == ["continued"] * 3
    with pytest.raises(TypeError, match="type KMeans"):
        model.fit(views, reference=KMeans(3))
    with pytest.raises(ValueError, match="not fitted"):
        model.fit(views, reference=DALMC(3))
    with pytest.raises(ValueError, match="7 features"):
        model.fit({name: view[:, :7] for name, view in views.items()}, reference=old)
    # A fit that was refused leaves the model as it was.
    assert model.changes_ is not None
    assert model.fit(views).changes_ is None
    ablation = DALMC(3, variant="box-graph", random_state=0).fit(views)
    with pytest.raises(ValueError, match="cannot label new samples"):
        model.fit(views, reference=ablation)
    known = with_ids(views)
    ablation.fit(known)
    assert (model.fit(known, reference=ablation).changes_["change"] != "new").all()
    assert len(model.fit(MultiViewData(views), reference=old).changes_) == 3


def test_classes_keep_their_names():
    views, y = clustered_views(200, 4, separation=6.0)
    old = AutoDALMC(4, budget="fast", random_state=0).fit(views).relabel({0: "old", 1: "b"})
    known = np.full(len(y), None, dtype=object)
    known[np.flatnonzero(old.labels_ == 1)[:5]] = "b"
    known[np.flatnonzero(old.labels_ == 2)[:5]] = "c"
    model = AutoDALMC(4, budget="fast", random_state=1).fit(views, known, reference=old)
    assert model.cluster_names_ == ("old", "b", "c", "3")
    assert (model.labels_ == old.labels_).mean() > 0.95
    assert (model.predict(views) == np.array(model.cluster_names_)[model.labels_]).all()
    assert model.changes_["name"].tolist() == ["old", "b", "c", "3"]
