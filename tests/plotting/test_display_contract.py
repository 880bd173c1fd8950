"""What all displays have in common, as in scikit-learn."""

import sys
from types import SimpleNamespace

import matplotlib.pyplot as plt
import pytest
from sklearn.exceptions import NotFittedError

from anchorview import DALMC, plotting
from anchorview._utils.errors import MissingPackageError

pytestmark = pytest.mark.usefixtures("quick_layout")

every_display = pytest.mark.parametrize("name", plotting.__all__)


@pytest.fixture
def make(auto, dalmc, problem):
    """Draw a display of a model by the name of its class."""

    def call(name, model=None, ax=None):
        model = model or (dalmc if name == "AnchorSpaceDisplay" else auto)
        cls = getattr(plotting, name)
        if name == "PartitionComparisonDisplay":
            return cls.from_partitions(model, model, ax=ax)
        views = [problem[0]] if name == "MarkerHeatmapDisplay" else []
        return cls.from_estimator(model, *views, ax=ax)

    return call


@every_display
def test_without_axes_there_is_a_new_figure_with_all_labels_in_it(make, name):
    display = make(name)
    figure = display.figure_
    assert figure is display.ax_.figure
    assert plt.get_fignums() == [figure.number]
    figure.draw_without_rendering()
    outside = figure.get_tightbbox()
    width, height = figure.get_size_inches()
    assert outside.x0 >= -0.01 and outside.y0 >= -0.01
    assert outside.x1 <= width + 0.01 and outside.y1 <= height + 0.01
    assert display.plot() is display
    assert display.figure_ is not figure


@every_display
def test_given_axes_are_used_and_can_be_part_of_a_subfigure(make, name):
    figure = plt.figure(figsize=(8, 4), layout="constrained")
    ax = figure.subfigures(1, 2)[0].subplots()
    display = make(name, ax=ax)
    assert display.ax_ is ax
    assert plt.get_fignums() == [figure.number]
    figure.draw_without_rendering()


@every_display
def test_models_that_are_not_fitted_raise(make, name):
    with pytest.raises(NotFittedError):
        make(name, model=DALMC())


@pytest.mark.parametrize("name", ["ClusterNumberDisplay", "ConvergenceDisplay"])
def test_models_without_what_is_drawn_raise(make, name):
    with pytest.raises(ValueError, match="SimpleNamespace"):
        make(name, model=SimpleNamespace(labels_=[0, 1]))


@every_display
def test_without_matplotlib_the_extra_is_named(make, monkeypatch, name):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(MissingPackageError, match=r"matplotlib: pip install .*\[report\]"):
        make(name)
