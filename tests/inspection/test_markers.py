"""Markers: planted features are found, and all routes give the result of a direct computation."""

import dask
import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats

from anchorview import DALMC, AutoDALMC, open_views
from anchorview.compared import OPMC
from anchorview.distributed import dask_views
from anchorview.inspection import cluster_markers, cluster_moments
from helpers.dask_problems import in_dask
from helpers.data import clustered_views
from helpers.view_files import write_hdf5, write_npy_folder, write_tables

COLUMNS = ["cluster", "view", "feature", "rank", "effect", "mean_in", "mean_out", "nonzero_in",
           "nonzero_out", "n_in", "n_out", "statistic", "p_value", "q_value"]  # fmt: skip

PLANTED = 6
"""Features per cluster and view with another mean."""


def planted_views(n=2000, k=4, widths=(60, 40, 50), *, effect=1.0, missing=0.3, seed=0):
    """Views in which each cluster has features of its own, a share of rows being missing."""
    rng = np.random.default_rng(seed)
    y = rng.integers(k, size=n)
    views, planted = {}, set()
    for name, width in zip("abc", widths, strict=True):
        view = rng.normal(size=(n, width))
        for c, features in enumerate(rng.permutation(width)[: k * PLANTED].reshape(k, -1)):
            view[np.ix_(y == c, features)] += effect
            planted |= {(c, name, str(j)) for j in features}
        views[name] = view
    # No sample lacks all views.
    lacking = rng.random((n, len(widths))) < missing
    lacking[lacking.all(axis=1), 0] = False
    for view, rows in zip(views.values(), lacking.T, strict=True):
        view[rows] = np.nan
    return views, y, planted


def direct(views, labels):
    """The columns that a two-pass computation gives, by cluster, view and feature."""
    rows = []
    for cluster in np.unique(labels):
        for name, view in views.items():
            values = np.asarray(view, dtype=np.float64)
            for j, column in enumerate(values.T):
                a, b = (column[(labels == cluster) == own] for own in (True, False))
                a, b = a[~np.isnan(a)], b[~np.isnan(b)]
                within = ((a - a.mean()) ** 2).sum() + ((b - b.mean()) ** 2).sum()
                effect = (a.mean() - b.mean()) / np.sqrt(within / (len(a) + len(b) - 2))
                welch = stats.ttest_ind(a, b, equal_var=False)
                means, shares = (a.mean(), b.mean()), ((a != 0).mean(), (b != 0).mean())
                test = welch.statistic, welch.pvalue
                rows.append((cluster, name, str(j), effect, *means, *shares, len(a), len(b), *test))
    table = pd.DataFrame(rows, columns=[c for c in COLUMNS if c not in ("rank", "q_value")])
    table["q_value"] = stats.false_discovery_control(table["p_value"])
    table["rank"] = table["effect"].abs().groupby(table["cluster"]).rank(ascending=False)
    return table[COLUMNS]


def keyed(table):
    return table.set_index(["cluster", "view", "feature"]).sort_index().astype(float)


def assert_same_markers(found, expected, tolerance=1e-10):
    pd.testing.assert_frame_equal(
        keyed(found), keyed(expected), rtol=tolerance, atol=tolerance, check_index_type=False
    )


@pytest.mark.parametrize("kind", ["labels", "model"])
def test_planted_features_rank_above_all_others(kind):
    views, y, planted = planted_views()
    given, classes = y, np.arange(4)
    if kind == "model":
        given = DALMC(4, random_state=0).fit(views)
        classes = pd.crosstab(given.labels_, y).to_numpy().argmax(axis=1)
        assert sorted(classes) == [0, 1, 2, 3]
    table = cluster_markers(given, views)
    assert list(table.columns) == COLUMNS
    assert len(table) == 4 * (60 + 40 + 50)
    leading = table[table["rank"] <= 3 * PLANTED]
    found = zip(classes[leading["cluster"]], leading["view"], leading["feature"], strict=True)
    assert set(found) == planted
    assert (leading["effect"] > 0.8).all()
    assert (leading["q_value"] < 1e-6).all()


def in_form(views, form, folder):
    """The same views in memory, in files or in Dask."""
    if form == "memory":
        return views
    if form == "dask":
        return in_dask(views, 90)
    if form == "hdf5":
        return open_views(write_hdf5(folder / "views.h5", **views))
    if form == "parquet":
        ids = pd.Index([f"s{i}" for i in range(400)], name="id")
        frames = {
            f"{name}_parquet": pd.DataFrame(view, ids, list(map(str, range(view.shape[1]))))
            for name, view in views.items()
        }
        return open_views(write_tables(folder / "tables", **frames))
    stored = open_views(write_npy_folder(folder / "views", **views))
    return dask_views(stored, 70) if form == "dask files" else stored


@pytest.mark.usefixtures("many_parts")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("form", ["memory", "npy", "parquet", "hdf5", "dask", "dask files"])
def test_every_route_equals_a_direct_computation(form, dtype, tmp_path, set_constants):
    set_constants(cluster_moments, CACHED_BLOCK=2**10, ROWS_PER_CLUSTER=1)
    views, y, _ = planted_views(400, widths=(30, 26, 24))
    # The sum of the squares of such values has no digits left for the variance.
    views["a"][:, 0] += 1e4
    views["b"][::3] *= views["b"][::3] > 0
    views = {name: view.astype(dtype) for name, view in views.items()}
    with dask.config.set(scheduler="threads"):
        found = cluster_markers(y, in_form(views, form, tmp_path))
    assert_same_markers(found, direct(views, y))


@pytest.mark.parametrize("kind", ["labels", "model", "auto"])
def test_single_missing_values_do_not_count(kind):
    views, y, _ = planted_views(400, missing=0.1)
    rng = np.random.default_rng(1)
    for view in views.values():
        view[rng.random(view.shape) < 0.05] = np.nan
    model = {
        "labels": None,
        "model": DALMC(4, preprocess="impute-mean", random_state=0),
        "auto": AutoDALMC(4, budget="fast", preprocess="impute-mean", random_state=0),
    }[kind]
    labels = y if model is None else model.fit(views).labels_
    found = cluster_markers(y if model is None else model, views)
    assert_same_markers(found, direct(views, labels))


def test_features_have_names_from_the_samples_or_the_model():
    views, _ = clustered_views(150)
    frames = {
        name: pd.DataFrame(view, columns=[f"gene {j}" for j in range(view.shape[1])])
        for name, view in views.items()
    }
    model = OPMC(3, random_state=0).fit(frames)
    named = cluster_markers(model, frames)
    assert set(named["feature"]) == {f"gene {j}" for j in range(12)}
    pd.testing.assert_frame_equal(cluster_markers(model, list(views.values())), named)
    assert set(cluster_markers(model.labels_, views)["feature"]) == set(map(str, range(12)))


def test_rows_are_sorted_and_n_features_keeps_the_leading_ones():
    views, y, _ = planted_views(400)
    every = cluster_markers(y, views)
    expected = every[every["rank"] <= 7].reset_index(drop=True)
    pd.testing.assert_frame_equal(cluster_markers(y, views, n_features=7), expected)
    pd.testing.assert_frame_equal(cluster_markers(y, views, n_features=10_000), every)
    assert every["cluster"].is_monotonic_increasing
    for _, own in every.groupby("cluster"):
        assert list(own["rank"]) == list(range(1, 151))
        assert own["effect"].abs().is_monotonic_decreasing


@pytest.mark.parametrize("missing", [0, 7])
def test_constant_features_have_no_infinite_effect(missing):
    y = np.repeat([0, 1, 2], 30)
    constant = np.full(90, 0.1)
    # The first samples of the first cluster.
    constant[:missing] = np.nan
    indicator = np.where(y == 1, 0.3, 0.1)
    table = cluster_markers(y, [np.column_stack([constant, indicator, np.sin(np.arange(90.0))])])
    by_feature = table.set_index(["feature", "cluster"])
    assert (by_feature.loc["0", "effect"] == 0).all()
    assert (by_feature.loc["0", "p_value"] == 1).all()
    assert by_feature.loc[("1", 1), "effect"] == 1e6
    assert by_feature.loc[("1", 1), "p_value"] == 0
    assert by_feature.loc[("1", 0), "effect"] < 0
    assert np.isfinite(table["effect"]).all()


def test_views_that_no_sample_has_and_clusters_without_samples_are_left_out():
    views, _ = clustered_views(150, separation=8.0)
    model = DALMC(3, random_state=0).fit(views)
    some = {name: view[model.labels_ != 1] for name, view in views.items()}
    table = cluster_markers(model, some | {"view_2": None})
    assert set(table["view"]) == {"view_0", "view_1"}
    assert set(table["cluster"]) == {0, 2}


def test_one_cluster_and_values_whose_squares_overflow_raise():
    views, y = clustered_views(150)
    with pytest.raises(ValueError, match="All samples of X are in cluster 5"):
        cluster_markers(np.full(150, 5), views)
    views["view_1"] *= 4e153 / np.abs(views["view_1"]).max()
    with pytest.raises(ValueError, match=r"view 1 overflows"):
        cluster_markers(y, views)


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("form", ["memory", "dask"])
def test_sparse_equals_dense(form, missing, set_constants):
    set_constants(cluster_moments, SPARSE_BLOCK=100)
    rng = np.random.default_rng(0)
    views, y, _ = planted_views(400, widths=(30, 26, 24), missing=missing)
    # One feature is 3 or 4 nearly everywhere, as sparse matrices can have.
    counts = rng.poisson(0.3, size=(400, 40)) * 1.0
    counts[:, 7] = 3 + (rng.random(400) < 0.3) * (y + 1) - 3 * (rng.random(400) < 0.05)
    few = sparse.csr_array(counts)
    few.data[::5] = 0.0
    views["counts"] = few.toarray()
    y[:400] = np.where(y == 3, 1, y)
    sparse_views = views | {"counts": few}
    data = sparse_views
    if form == "dask":
        data = in_dask(views, 90)
        data["counts"] = data["counts"].map_blocks(sparse.csr_array)
    assert_same_markers(cluster_markers(y, data), direct(views, y))
    assert_same_markers(cluster_markers(y, sparse_views), cluster_markers(y, views))
