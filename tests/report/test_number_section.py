"""The section on the number of clusters: chart, levels and how clusters split."""

from copy import deepcopy

import numpy as np
import pytest

from anchorview import AutoDALMC
from anchorview.estimators.auto.coordinates import NEIGHBOR_SCALINGS, SCALINGS
from anchorview.report import model_sections
from anchorview.report.findings import CheckedFit, inspect_fit
from anchorview.report.model_sections import candidate_parts
from anchorview.report.page import Chart, Folded, Table
from helpers.data import nested_views


@pytest.fixture(scope="module")
def model():
    """Model with the levels of 3 and 9 clusters, of which the first is chosen."""
    views, _ = nested_views()
    return AutoDALMC([3, 4, 6, 9, 10], budget="fast", random_state=0).fit(views)


def section_parts(model):
    fit = CheckedFit(model)
    return model_sections.number_section(fit, inspect_fit(fit)).parts


def test_chart_and_table_of_the_levels(model):
    chart, table, *_ = section_parts(model)
    np.testing.assert_array_equal(chart.table["Agreement between families"], model.curve_)
    np.testing.assert_array_equal(chart.table["By chance"], model.chance_curve_)
    assert "chosen: 3" in chart.svg
    assert "other level: 9" in chart.svg
    assert "3 was chosen (dashed)" in chart.description
    assert "Dotted: other levels, 9." in chart.description
    assert table.frame["Clusters"].tolist() == [3, 9]
    np.testing.assert_array_equal(table.frame["Support"], model.levels_["support"])
    assert table.highlight.iloc[:, 0].tolist() == ["best", ""]


def test_clusters_that_split_are_listed_with_their_parts(model):
    (folded,) = (part for part in section_parts(model) if isinstance(part, Folded))
    assert folded.title == "From 3 to 9 clusters: 3 split"
    frame = folded.parts[0].frame
    for _, row in frame.iterrows():
        own = model.tree_[model.tree_["parent"] == int(row["Cluster of 3"])]
        assert row["Number"] == len(own) == 3
        expected = {f"{cluster} (20)" for cluster in own["cluster"]}
        assert set(row["Clusters of 9"].split("; ")) == expected
        assert row["Agreement"] == own["split_agreement"].iloc[0]
    assert (frame["Support"] > 0.25).all()


def test_splits_without_structure_are_named_and_overlaps_shown(model):
    changed = deepcopy(model)
    tree = changed.tree_
    tree.loc[tree["parent"] == 0, "split_agreement"] = 0.1
    tree.loc[tree["parent"] == 1, "split_agreement"] = tree["split_chance"].iloc[0] + 0.05
    tree.loc[tree["parent"] == 2, "overlap"] = 0.8
    frame = section_parts(changed)[2].parts[0].frame.set_index("Cluster of 3")
    assert frame.loc["0", "Support"] == 0 < frame.loc["1", "Support"] < 0.25
    assert frame.loc["2", "Support"] > 0.25
    assert frame.index.tolist() == ["2", "1", "0"]
    assert "(20, 80%)" in frame.loc["2", "Clusters of 9"]
    assert "%" not in frame.loc["0", "Clusters of 9"]


def test_clusters_that_stay_or_dissolve_are_counted_and_one_level_has_no_tree(model):
    changed = deepcopy(model)
    tree = changed.tree_
    tree["parent"] = 0
    tree.loc[0, "parent"] = 2
    (folded,) = (part for part in section_parts(changed) if isinstance(part, Folded))
    assert folded.title.endswith(": 1 split, 1 unchanged, 1 divided among the others")
    alone = deepcopy(model)
    alone.levels_ = model.levels_.loc[[3]]
    alone.tree_ = model.tree_.iloc[:0]
    parts = section_parts(alone)
    assert [type(part) for part in parts[:2]] == [Chart, Table]
    assert not any(isinstance(part, Folded) for part in parts)
    assert "Dotted" not in parts[0].description


def test_agreement_of_candidates_is_drawn_by_family(model):
    chart = candidate_parts(CheckedFit(model))[2]
    families = [
        *(f"directions, {scaling}" for scaling in SCALINGS),
        *(
            f"{kind}, {scaling}"
            for kind in ("graph", "communities")
            for scaling in NEIGHBOR_SCALINGS
        ),
    ]
    assert chart.table["Family"].tolist() == families
    assert all(family in chart.svg for family in families)
    # Each family has one candidate.
    np.testing.assert_allclose(chart.table.drop(columns="Family"), model.agreement_)
