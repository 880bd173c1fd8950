"""Curves of the objective and of numbers of clusters."""

from copy import deepcopy

import numpy as np
import pandas as pd
import pytest

from anchorview.plotting import ClusterNumberDisplay, ConvergenceDisplay


def test_curves_of_objectives(dalmc, auto):
    display = ConvergenceDisplay.from_estimator(dalmc)
    np.testing.assert_array_equal(display.line_.get_xdata(), np.arange(1, dalmc.n_iter_ + 1))
    np.testing.assert_array_equal(display.line_.get_ydata(), dalmc.objective_)
    assert display.ax_.get_legend() is None
    first = ConvergenceDisplay.from_estimator(dalmc, name="one $x$")
    second = ConvergenceDisplay.from_estimator(auto, name="two", ax=first.ax_, linewidth=3)
    assert second.figure_ is first.figure_
    assert second.line_.get_color() != first.line_.get_color()
    assert second.line_.get_linewidth() == 3
    names = [text.get_text() for text in first.ax_.get_legend().get_texts()]
    assert names == ["one $x$", "two"]


def test_curve_with_chance_the_chosen_number_and_other_levels(auto):
    display = ClusterNumberDisplay.from_estimator(auto)
    assert display.line_.get_xdata().tolist() == [3, 4, 5]
    np.testing.assert_array_equal(display.line_.get_ydata(), auto.curve_)
    assert set(display.chosen_line_.get_xdata()) == {auto.n_clusters_}
    assert display.chosen_line_.get_label() == f"chosen: {auto.n_clusters_}"
    np.testing.assert_array_equal(display.chance_line_.get_ydata(), auto.chance_curve_)
    assert display.chance_line_.get_color() != display.line_.get_color()
    others = auto.levels_.index[~auto.levels_["chosen"]].tolist()
    assert [line.get_xdata()[0] for line in display.level_lines_] == others

    curve = pd.Series([0.9, 0.2, 0.8, 0.7], index=[3, 4, 9, 11])
    display = ClusterNumberDisplay(curve, n_clusters=3, chance=curve / 2, levels=[3, 9, 11]).plot()
    assert [line.get_xdata()[0] for line in display.level_lines_] == [9, 11]
    names = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert names == ["agreement", "by chance", "chosen: 3", "other levels: 9, 11"]
    # The number is that of the fit, also after clusters were merged.
    merged = deepcopy(auto).relabel({0: "a", 1: "a"})
    display = ClusterNumberDisplay.from_estimator(merged)
    assert set(display.chosen_line_.get_xdata()) == {auto.n_clusters_}


def test_curve_without_a_chosen_number_and_a_single_number(dalmc):
    display = ClusterNumberDisplay(pd.Series([0.5, np.nan, 0.7], index=[2, 3, 4])).plot()
    assert display.chosen_line_ is None
    assert display.ax_.get_legend() is None
    assert np.isnan(display.line_.get_ydata()[1])
    with pytest.raises(ValueError, match=r"single number.*n_clusters=range\(2, 21\)"):
        ClusterNumberDisplay.from_estimator(dalmc)
