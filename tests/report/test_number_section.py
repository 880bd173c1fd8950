"""What reports say about the number of clusters: chart, levels and how clusters split."""

import numpy as np

from anchorview.report import model_sections
from anchorview.report.cluster_sections import split_tree
from anchorview.report.findings import CheckedFit


def test_chart_of_the_levels(nested_fit):
    _, model = nested_fit
    (chart,) = model_sections.number_parts(CheckedFit(model))
    np.testing.assert_array_equal(chart.table["Agreement between families"], model.curve_)
    np.testing.assert_array_equal(chart.table["By chance"], model.chance_curve_)
    assert "chosen: 3" in chart.svg
    assert "other level: 9" in chart.svg
    assert "3 was chosen (dashed)" in chart.description
    assert "Dotted: other levels, 9;" in chart.description
    levels = chart.table.dropna(subset="Support of the level")
    assert levels["Clusters"].tolist() == [3, 9]
    np.testing.assert_array_equal(levels["Support of the level"], model.levels_["support"])


def test_tree_has_the_sizes_of_the_clusters_and_their_parts(nested_fit):
    _, model = nested_fit
    titles = {3: ["a", "b", "c"]}
    branches = split_tree(model, titles)
    assert [branch["title"] for branch in branches] == titles[3]
    assert [branch["size"] for branch in branches] == np.bincount(model.labels_at(3)).tolist()
    sizes = np.bincount(model.labels_at(9))
    for cluster, branch in enumerate(branches):
        parts = model.tree_.loc[model.tree_["parent"] == cluster, "cluster"]
        assert [part["size"] for part in branch["parts"]] == sizes[parts].tolist()
        assert [part["title"] for part in branch["parts"]] == [f"cluster {c}" for c in parts]
    assert split_tree(CheckedFit, {}) == []
