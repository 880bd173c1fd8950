import numpy as np
import pandas as pd
import pytest

from anchorview import DALMC, AutoDALMC, make_multiview
from anchorview.plotting import drawn_samples

pytest.importorskip("matplotlib")


@pytest.fixture(scope="session")
def problem():
    """Views as DataFrames with sample ids and names of features, and the classes."""
    views, y = make_multiview(120, n_clusters=4, n_features=[6, 5, 4], random_state=0)
    ids = [f"s{row}" for row in range(len(y))]
    frames = {
        name: pd.DataFrame(view, ids, [f"{name}_{column}" for column in range(view.shape[1])])
        for name, view in views.items()
    }
    return frames, pd.Series(y, index=ids, name="species")


@pytest.fixture(scope="session")
def auto(problem):
    return AutoDALMC(n_clusters=range(3, 6), budget="fast", random_state=0).fit(problem[0])


@pytest.fixture(scope="session")
def dalmc(problem):
    return DALMC(n_clusters=4, random_state=0).fit(problem[0])


@pytest.fixture
def quick_layout(set_constants):
    """Few landmarks for t-SNE, which takes seconds with the default number."""
    set_constants(drawn_samples, N_LANDMARKS=60)


@pytest.fixture(scope="session")
def many_points():
    """Points in 100 clusters on a map."""
    random = np.random.RandomState(0)
    labels = np.repeat(np.arange(100), 15)
    centers = 100 * random.random_sample((100, 2))
    positions = centers[labels] + random.standard_normal((len(labels), 2))
    return pd.DataFrame({"x": positions[:, 0], "y": positions[:, 1], "cluster": labels})
