"""Curves of the objective and of numbers of clusters."""

from copy import deepcopy

import numpy as np
import pandas as pd
import pytest

from anchorview.plotting import AnchorSpaceDisplay, ClusterNumberDisplay, ConvergenceDisplay


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


def test_small_changes_of_the_objective_look_small():
    ax = ConvergenceDisplay([-2, -2 * (1 + 1e-5)]).plot().ax_
    low, high = ax.get_ylim()
    assert 1e-3 * (high - low) > 2e-5
    low, high = ConvergenceDisplay([2, 1]).plot().ax_.get_ylim()
    assert 1 < high - low < 1.2


def test_samples_lie_along_the_arrows_of_their_components():
    embedding = np.linalg.qr(np.random.default_rng(0).normal(size=(30, 2)))[0]
    anchors = {"text": np.array([[0.6, 0.8]]), "image": np.eye(2)}
    weights = {"text": 0.8, "image": 0.2}
    display = AnchorSpaceDisplay(embedding, [0, 1, 2] * 10, anchors, weights).plot()
    np.testing.assert_allclose(np.square(display.points_.get_offsets()).mean(axis=0), 1)
    assert {name: len(arrows) for name, arrows in display.arrows_.items()} == {
        "text": 1,
        "image": 2,
    }
    assert len(np.unique(display.points_.get_facecolors(), axis=0)) == 3
    widths = [arrows[0].arrow_patch.get_linewidth() for arrows in display.arrows_.values()]
    assert widths[0] == pytest.approx(4 * widths[1])
    with pytest.raises(ValueError, match="n_anchors=2"):
        AnchorSpaceDisplay(embedding[:, :1], [0] * 30, anchors, weights).plot()


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
