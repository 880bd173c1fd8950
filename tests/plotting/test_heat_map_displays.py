"""Heat maps of markers and of two partitions."""

import numpy as np
import pandas as pd
import pytest

from anchorview.inspection import cluster_markers, compare_partitions
from anchorview.plotting import MarkerHeatmapDisplay, PartitionComparisonDisplay
from helpers.tables import customer_views


def texts(labels):
    return [label.get_text() for label in labels]


@pytest.fixture(scope="module")
def markers(dalmc, problem):
    return cluster_markers(dalmc, problem[0])


def test_rows_are_the_leading_features_grouped_by_view(dalmc, problem, markers):
    display = MarkerHeatmapDisplay.from_estimator(dalmc, problem[0], n_features=2)
    effects = display.effects
    leading = markers[markers["rank"] <= 2]
    assert set(effects.index) == set(zip(leading["view"], leading["feature"], strict=True))
    assert effects.index.is_unique
    views = effects.index.get_level_values("view")
    counts = views.value_counts()
    # Every view once, the one with most rows first.
    first_rows = views.drop_duplicates()
    assert len(first_rows) == 1 + (views[1:] != views[:-1]).sum()
    assert (np.diff(counts[first_rows]) <= 0).all()
    table = markers.set_index(["view", "feature", "cluster"])["effect"].unstack()
    pd.testing.assert_frame_equal(effects, table.loc[effects.index], check_names=False)
    np.testing.assert_array_equal(display.im_.get_array(), effects)
    features = effects.index.get_level_values("feature")
    assert texts(display.ax_.get_yticklabels()) == list(features)
    assert texts(display.ax_.get_xticklabels()) == ["0", "1", "2", "3"]
    assert texts(display.view_axis_.get_yticklabels()) == list(first_rows)


def test_levels_of_categories_have_their_shares():
    views, y = customer_views()
    display = MarkerHeatmapDisplay.from_estimator(y, views, n_features=2)
    table = cluster_markers(y, views).set_index(["cluster", "feature"])
    rows = list(display.effects.index.get_level_values("feature"))
    for cluster in range(3):
        share = display.text_[rows.index("plan=pro"), cluster].get_text()
        assert share == f"{table.loc[(cluster, 'plan=pro'), 'mean_in']:.0%}"
    assert (display.text_[rows.index("since")] == None).all()  # noqa: E711
    # Markers of each cluster are of different columns.
    assert len({row.split("=")[0] for row in rows}) > 2


def test_color_scale_is_symmetric_and_not_dominated_by_outliers():
    index = pd.MultiIndex.from_product([["a"], range(30)], names=["view", "feature"])
    effects = pd.DataFrame(np.tile([-1.0, 1.0], (30, 10)), index)
    effects.iloc[0, 0] = 1e6
    display = MarkerHeatmapDisplay(effects).plot()
    assert display.im_.get_clim() == (-1, 1)
    assert display.colorbar_.extend == "both"
    wide = display.plot(im_kw={"vmin": -3, "vmax": 3})
    assert wide.im_.get_clim() == (-3, 3)
    # All effects are zero or missing.
    index = pd.MultiIndex.from_tuples([("a", "x"), ("a", "y")])
    display = MarkerHeatmapDisplay(pd.DataFrame([[0.0, 0.0], [np.nan, 0.0]], index)).plot()
    assert display.im_.get_clim() == (-1, 1)


def test_partitions_are_matched_and_cells_have_counts(auto, problem):
    display = PartitionComparisonDisplay.from_partitions(problem[1], auto, names=("true", "$f"))
    expected = compare_partitions(problem[1], auto)
    pd.testing.assert_frame_equal(display.table, expected.table)
    shares = expected.table.div(expected.table.sum(axis=1), axis=0)
    np.testing.assert_allclose(display.im_.get_array(), shares)
    for cell, count in zip(display.text_.ravel(), expected.table.to_numpy().ravel(), strict=True):
        assert (cell is None) == (count == 0)
        assert cell is None or cell.get_text() == str(count)
    assert texts(display.ax_.get_xticklabels()) == [str(c) for c in expected.table.columns]
    assert (display.ax_.get_ylabel(), display.ax_.get_xlabel()) == ("true", "$f")
    assert f"ARI {expected.scores['ARI']:.2f}" in display.ax_.get_title()
