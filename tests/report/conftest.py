import numpy as np
import pytest

from anchorview import AutoDALMC, MultiViewData, make_multiview
from anchorview.report import write_fit_report

EVIL = "<script>window.hacked=1</script><img src=x onerror=window.hacked=1>"


@pytest.fixture(scope="session")
def evil():
    """Text that would run as a program wherever it is not escaped."""
    return EVIL


@pytest.fixture(scope="session")
def small_fit():
    """A model by chosen settings of samples that lack views, with names that mean harm."""
    views, y = make_multiview(240, n_clusters=4, separation=6, random_state=0)
    names = [f"{EVIL}{p}" if p else "$$x^2$$" for p in range(len(views))]
    has = np.random.RandomState(0).random_sample((240, len(views))) > 0.2
    has[~has.any(axis=1), 0] = True
    data = MultiViewData(dict(zip(names, views.values(), strict=True)), available=has)
    model = AutoDALMC(n_clusters=range(3, 6), max_candidates=4, random_state=0).fit(data)
    ids = [f"sample {EVIL} {row}" for row in range(240)]
    target = np.array([f"class {EVIL} {c}" for c in y])
    return model, data, target, ids


@pytest.fixture(scope="session")
def small_report(small_fit, tmp_path_factory):
    """Its report."""
    model, data, target, ids = small_fit
    path = tmp_path_factory.mktemp("report") / "fit.html"
    write_fit_report(
        path, model, data, target=target, sample_ids=ids, name=EVIL, call=f"anchorview fit {EVIL}"
    )
    return path
