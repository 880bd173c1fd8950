"""Bars of cluster sizes, and of weights and agreement of views."""

import numpy as np
import pandas as pd
import pytest

from anchorview.plotting import ClusterSizesDisplay, ViewAgreementDisplay


def lengths(bars, side):
    return [getattr(bar, f"get_{side}")() for bar in bars]


def texts(labels):
    return [label.get_text() for label in labels]


def test_sizes_and_mean_confidence_also_of_new_samples(auto, problem):
    display = ClusterSizesDisplay.from_estimator(auto)
    sizes = np.bincount(auto.labels_, minlength=auto.n_clusters_)
    assert lengths(display.bars_, "height") == sizes.tolist()
    means = pd.Series(auto.confidence_).groupby(auto.labels_).mean()
    np.testing.assert_allclose(display.confidence, means)
    expected = display.colorbar_.mappable.to_rgba(means.to_numpy())
    drawn = [bar.get_facecolor() for bar in display.bars_]
    np.testing.assert_allclose(drawn, expected)
    assert display.colorbar_.mappable.get_clim() == (0, 1)
    views = {name: view.iloc[:30] for name, view in problem[0].items()}
    display = ClusterSizesDisplay.from_estimator(auto, views)
    assert display.sizes.tolist() == np.bincount(auto.labels_[:30], minlength=4).tolist()
    np.testing.assert_allclose(
        np.nansum(display.confidence * display.sizes), auto.confidence_[:30].sum()
    )


def test_without_confidence_bars_have_one_color():
    sizes = pd.Series([3, 0, 5], index=["a", "b", "c"])
    display = ClusterSizesDisplay(sizes).plot()
    assert display.colorbar_ is None
    assert len({bar.get_facecolor() for bar in display.bars_}) == 1
    assert texts(display.ax_.get_xticklabels()) == ["a", "b", "c"]
    # Empty clusters have no confidence.
    display = ClusterSizesDisplay(sizes, pd.Series([0.5, np.nan, 1], sizes.index)).plot()
    assert lengths(display.bars_, "height") == [3, 0, 5]


def test_weights_and_agreement_are_two_quantities(auto, dalmc):
    display = ViewAgreementDisplay.from_estimator(auto)
    np.testing.assert_allclose(lengths(display.weight_bars_, "width"), auto.views_["weight"])
    agreement = auto.views_["agreement_with_result"]
    np.testing.assert_allclose(lengths(display.agreement_bars_, "width"), agreement)
    assert texts(display.ax_.get_yticklabels()) == list(auto.view_names_in_)
    weight, agreement = texts(display.ax_.get_legend().get_texts())
    assert weight.startswith("Weight") and agreement.startswith("Agreement")
    # The first view is at the top.
    assert display.ax_.yaxis_inverted()
    display = ViewAgreementDisplay.from_estimator(dalmc, alpha=0.5)
    assert display.agreement_bars_ is None
    assert display.ax_.get_xlabel() == weight
    assert {bar.get_alpha() for bar in display.weight_bars_} == {0.5}


def test_negative_and_missing_agreement_and_different_indices():
    index = ["$a$", "b", "c"]
    agreement = pd.Series([-0.2, np.nan, 1.0], index)
    display = ViewAgreementDisplay(pd.Series([0.5, 0.3, 0.2], index), agreement).plot()
    low, high = display.ax_.get_xlim()
    assert low < -0.2 and high > 1
    assert not any("nan" in text.get_text() for text in display.ax_.texts)
    with pytest.raises(ValueError, match="different clusters"):
        ClusterSizesDisplay(pd.Series([1, 2]), pd.Series([0.5], index=[1]))
    weights = pd.Series([0.5, 0.5], ["a", "b"])
    with pytest.raises(ValueError, match=r"\['a', 'b'\].*\['b', 'a'\]"):
        ViewAgreementDisplay(weights, weights.iloc[::-1])
