"""Maps of samples: what is drawn, in which colors and with which names."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgba
from sklearn.cluster import KMeans

from anchorview import DALMC, MultiViewData
from anchorview.compared import AMGL, OPMC
from anchorview.inspection import memberships
from anchorview.plotting import SampleMapDisplay
from anchorview.plotting.axes import CLUSTER_COLORS
from helpers.tables import customer_views

pytestmark = pytest.mark.usefixtures("quick_layout")


def texts(artists):
    return [artist.get_text() for artist in artists]


def colors_by_position(display):
    """Color of each drawn sample, by its position."""
    positions = map(tuple, display.points_.get_offsets().tolist())
    return dict(zip(positions, map(tuple, display.points_.get_facecolors()), strict=True))


def drawn_colors(display):
    """Colors in the order of `points`, without transparency."""
    colors = colors_by_position(display)
    return [colors[tuple(row)][:3] for row in display.points[["x", "y"]].to_numpy().tolist()]


@pytest.fixture(scope="module")
def display(auto, problem):
    """Map of the model with all columns that it can have."""
    return SampleMapDisplay.from_estimator(auto, problem[0], target=problem[1], color="cluster")


def test_points_have_values_and_clusters_colors_and_numbers_but_no_legend(display, auto, problem):
    points = display.points
    assert points.index.tolist() == problem[1].index.tolist()
    assert points["cluster"].tolist() == auto.labels_.tolist()
    assert points["class"].tolist() == problem[1].tolist()
    np.testing.assert_allclose(points["confidence"], auto.confidence_)
    drawn = display.plot()
    expected = [to_rgba(CLUSTER_COLORS[label])[:3] for label in auto.labels_]
    assert drawn_colors(drawn) == expected
    assert texts(drawn.text_) == [str(cluster) for cluster in range(auto.n_clusters_)]
    assert drawn.legend_ is drawn.colorbar_ is None


def test_classes_have_a_legend_and_numbers_a_color_scale(display, problem, auto):
    drawn = display.plot(color="class")
    assert texts(drawn.legend_.get_texts()) == ["0", "1", "2", "3"]
    assert drawn.legend_.get_title().get_text() == "class"
    expected = [to_rgba(CLUSTER_COLORS[label])[:3] for label in problem[1]]
    assert drawn_colors(drawn) == expected
    # The numbers on the map stay those of the clusters.
    assert texts(drawn.text_) == texts(display.plot(color="cluster").text_)
    drawn = display.plot(color="confidence", cmap="cividis")
    assert drawn.colorbar_.ax.get_ylabel() == "confidence"
    assert drawn.points_.get_clim() == (0, 1)
    assert drawn.points_.get_cmap().name == "cividis"
    np.testing.assert_allclose(np.sort(drawn.points_.get_array()), np.sort(auto.confidence_))


@pytest.mark.parametrize("named", [True, False])
def test_confidence_of_other_models_is_the_largest_membership(problem, named):
    views = problem[0] if named else [view.to_numpy() for view in problem[0].values()]
    model = DALMC(n_clusters=4, random_state=0).fit(views)
    expected = memberships(model, views).max(axis=1)
    for X in (None, views):
        points = SampleMapDisplay.from_estimator(model, X, color="confidence").points
        np.testing.assert_allclose(points["confidence"], expected, rtol=1e-5)
        assert points.index.equals(expected.index)


def test_values_are_matched_and_labels_of_another_model_do_not_replace_the_clusters(auto, dalmc):
    values = pd.Series(np.arange(120.0), index=auto.sample_ids_, name="age")
    shuffled = SampleMapDisplay.from_estimator(auto, color=values.sample(frac=1, random_state=0))
    assert shuffled.points["age"].tolist() == values.tolist()
    assert shuffled.colorbar_.ax.get_ylabel() == "age"
    by_position = SampleMapDisplay.from_estimator(auto, color=values.to_numpy())
    assert by_position.points["value"].tolist() == values.tolist()
    drawn = SampleMapDisplay.from_estimator(auto, color=dalmc.labels_series)
    assert drawn.points["cluster"].tolist() == auto.labels_.tolist()
    assert drawn.points["cluster (given)"].tolist() == dalmc.labels_.tolist()
    assert drawn.legend_.get_title().get_text() == "cluster (given)"


@pytest.mark.parametrize("X", [None, "views"])
def test_columns_of_tables_color_samples(X):
    views, y = customer_views()
    views["customers"] = views["customers"].drop(columns="name")
    model = SimpleNamespace(labels_=y) if X is None else DALMC(3, random_state=0).fit(views)
    plans = SampleMapDisplay.from_estimator(model, views, color="plan")
    assert texts(plans.legend_.get_texts()) == ["free", "pro", "team", "unknown"]
    assert plans.legend_.get_title().get_text() == "customers: plan"
    since = SampleMapDisplay.from_estimator(model, views, color=("customers", "since"))
    assert since.colorbar_ is not None


def test_features_without_a_name_by_position_and_missing_views(problem):
    views = {name: view.to_numpy() for name, view in problem[0].items()}
    available = np.ones((120, 3), bool)
    available[:7, 2] = False
    data = MultiViewData(views, available=available)
    model = DALMC(n_clusters=4, random_state=0).fit(data)
    drawn = SampleMapDisplay.from_estimator(model, data, color=("view_2", 1))
    assert drawn.points["view_2: 1"].isna().tolist() == [True] * 7 + [False] * 113
    np.testing.assert_array_equal(drawn.points["view_2: 1"][7:], views["view_2"][7:, 1])


def clusterer(views):
    """A fitted clusterer of a user, which knows nothing of views or ids."""
    model = KMeans(4, n_init=1, random_state=0).fit(np.hstack([*views.values()]))
    return SimpleNamespace(labels_=np.array([*"dabc"])[model.labels_])


@pytest.mark.parametrize("fitted", [AMGL(4, random_state=0).fit, OPMC(4).fit, clusterer])
def test_any_model_draws_the_samples_of_its_fit(problem, fitted):
    views, y = problem
    model = fitted(views)
    if hasattr(model, "sample_ids_"):
        views = {name: view.iloc[::-1] for name, view in views.items()}
    points = SampleMapDisplay.from_estimator(model, views, color="view_0_0").points
    assert points["cluster"].tolist() == model.labels_.tolist()
    assert points["view_0: view_0_0"].tolist() == problem[0]["view_0"]["view_0_0"].tolist()
    assert SampleMapDisplay.from_estimator(model, views, color="confidence").colorbar_ is not None
    # Neighbors on the map are mostly of one class; by chance a quarter of them would be.
    positions = points[["x", "y"]].to_numpy()
    away = np.linalg.norm(positions[:, None] - positions, axis=2) + 1e9 * np.eye(len(points))
    assert (y.to_numpy()[away.argmin(axis=1)] == y.to_numpy()).mean() > 0.6
