import numpy as np
import pytest

from anchorview import AutoDALMC, make_multiview


@pytest.fixture(scope="session")
def views_and_y():
    return make_multiview(120, n_clusters=3, n_features=(8, 12), random_state=0)


@pytest.fixture(scope="session")
def chosen(views_and_y):
    """Model that chose the number of clusters."""
    return AutoDALMC(budget="fast", random_state=0).fit(views_and_y[0])


@pytest.fixture
def data(tmp_path, views_and_y):
    """A file of views with classes, alone in its folder."""
    views, y = views_and_y
    path = tmp_path / "data" / "views.npz"
    path.parent.mkdir()
    np.savez(path, **views, y=y)
    return path


@pytest.fixture
def out(tmp_path):
    """An output file that does not exist yet, in an empty folder."""
    path = tmp_path / "results" / "labels.csv"
    path.parent.mkdir()
    return path
