import numpy as np
import pytest

from anchorview import AutoDALMC, MultiViewData, make_multiview
from anchorview.report import write_fit_report
from helpers.data import nested_views
from helpers.pages import EVIL


@pytest.fixture(scope="session")
def nested_fit():
    """Views, and their model with the levels of 3 and 9 clusters, of which the first is chosen."""
    views, _ = nested_views()
    return views, AutoDALMC([3, 4, 6, 9, 10], budget="fast", random_state=0).fit(views)


@pytest.fixture(scope="session")
def incomplete_fit():
    """AutoDALMC on samples with missing views, one doubtful; names, ids and classes have HTML."""
    views, y = make_multiview(240, n_clusters=4, separation=2.8, random_state=0)
    names = [f"{EVIL}{view}" if view else "$$x^2$$" for view in range(len(views))]
    available = np.random.RandomState(0).random_sample((240, len(views))) > 0.2
    available[~available.any(axis=1), 0] = True
    data = MultiViewData(dict(zip(names, views.values(), strict=True)), available=available)
    model = AutoDALMC(n_clusters=range(3, 6), budget="fast", random_state=0).fit(data)
    sample_ids = [f"sample {EVIL} {row}" for row in range(240)]
    return model, data, np.array([f"class {EVIL} {c}" for c in y]), sample_ids


@pytest.fixture(scope="session")
def report_path(incomplete_fit, tmp_path_factory):
    model, data, target, sample_ids = incomplete_fit
    path = tmp_path_factory.mktemp("report") / "fit.html"
    call = f"anchorview fit {EVIL}"
    write_fit_report(path, model, data, target=target, sample_ids=sample_ids, name=EVIL, call=call)
    return path
