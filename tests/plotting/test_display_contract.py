"""What all displays have in common, as in scikit-learn."""

import subprocess
import sys

import matplotlib.pyplot as plt
import pytest
from sklearn.exceptions import NotFittedError

from anchorview import DALMC, plotting
from anchorview._utils.errors import MissingPackageError

pytestmark = pytest.mark.usefixtures("quick_layout")

CALLS = {
    "ClusterNumberDisplay": lambda cls, model, views, ax: cls.from_estimator(model, ax=ax),
    "ClusterSizesDisplay": lambda cls, model, views, ax: cls.from_estimator(model, ax=ax),
    "ConvergenceDisplay": lambda cls, model, views, ax: cls.from_estimator(model, ax=ax),
    "MarkerHeatmapDisplay": lambda cls, model, views, ax: cls.from_estimator(model, views, ax=ax),
    "PartitionComparisonDisplay": lambda cls, model, views, ax: cls.from_partitions(
        model, model, ax=ax
    ),
    "SampleMapDisplay": lambda cls, model, views, ax: cls.from_estimator(model, ax=ax),
    "ViewAgreementDisplay": lambda cls, model, views, ax: cls.from_estimator(model, ax=ax),
}

every_display = pytest.mark.parametrize("name", plotting.__all__)


@pytest.fixture
def make(auto, problem):
    """Draw a display of a model by the name of its class."""

    def call(name, model=auto, ax=None):
        return CALLS[name](getattr(plotting, name), model, problem[0], ax)

    return call


@every_display
def test_without_axes_there_is_a_new_figure(make, name):
    display = make(name)
    assert display.figure_ is display.ax_.figure
    assert plt.get_fignums() == [display.figure_.number]


@every_display
def test_given_axes_are_used_and_can_be_part_of_a_subfigure(make, name):
    figure = plt.figure(figsize=(8, 4), layout="constrained")
    ax = figure.subfigures(1, 2)[0].subplots()
    display = make(name, ax=ax)
    assert display.ax_ is ax
    assert plt.get_fignums() == [figure.number]
    figure.draw_without_rendering()


@every_display
def test_plot_draws_again_and_returns_the_display(make, name):
    display = make(name)
    first = display.ax_
    assert display.plot() is display
    assert display.ax_ is not first


@every_display
def test_labels_are_within_the_figure(make, name):
    figure = make(name).figure_
    figure.draw_without_rendering()
    outside = figure.get_tightbbox()
    width, height = figure.get_size_inches()
    assert outside.x0 >= -0.01 and outside.y0 >= -0.01
    assert outside.x1 <= width + 0.01 and outside.y1 <= height + 0.01


@every_display
def test_models_that_are_not_fitted_raise(make, name):
    with pytest.raises(NotFittedError):
        make(name, model=DALMC())


@every_display
def test_without_matplotlib_the_extra_is_named(make, monkeypatch, name):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(MissingPackageError, match=r"matplotlib: pip install .*\[report\]"):
        make(name)


def test_importing_the_package_does_not_import_matplotlib():
    code = "import anchorview.plotting, sys; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
