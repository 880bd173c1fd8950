"""Fitted estimators and containers show results as text and in notebooks, escaped."""

import numpy as np
import pytest

from anchorview import DALMC, AutoDALMC, MultiViewData, load
from anchorview.estimators.methods import METHODS, method_class
from helpers.dask_problems import stored
from helpers.data import clustered_views
from helpers.installed import require_installed

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def views():
    views, _ = clustered_views(60, 3, (5, 6))
    return {"text": views["view_0"], HOSTILE: views["view_1"]}


def test_only_parameters_before_the_fit_and_short_names_of_views():
    assert repr(DALMC(3)) == "DALMC(n_clusters=3)"
    assert "<p>" not in DALMC(3)._repr_html_()
    views = dict(zip(["a" * 20_000, "b"], clustered_views(30, 2, (3, 4))[0].values(), strict=True))
    assert len(repr(DALMC(2, random_state=0).fit(views))) < 1000


@pytest.mark.parametrize("name", METHODS)
def test_results_are_shown(name, views):
    require_installed(name)
    model = method_class(name)(3, random_state=0).fit(views)
    first, clusters, text, _ = repr(model).split("\n")
    assert first.startswith(f"{type(model).__name__}(n_clusters=3")
    sizes = sorted(np.bincount(model.labels_).tolist(), reverse=True)
    listed = ", ".join(map(str, sizes))
    found = f"60 samples in {len(sizes)} clusters"
    assert clusters.strip().startswith(f"{found} of {listed}")
    assert text.strip().startswith(f"text: 5 features, weight {model.views_['weight']['text']:.2f}")
    for html in (model._repr_mimebundle_()["text/html"], model._repr_html_()):
        assert found in html
        assert HOSTILE not in html


def test_agreement_is_shown(views):
    model = AutoDALMC(3, budget="fast", random_state=0).fit(views)
    assert f"agreement {model.views_['agreement_with_result']['text']:.2f}" in repr(model)
    assert f"mean confidence {model.confidence_.mean():.2f}" in repr(model)


def test_results_elsewhere(views, tmp_path):
    files = stored(tmp_path, dict(zip("ab", views.values(), strict=True)))
    model = DALMC(3, random_state=0).fit(files, out=tmp_path / "out")
    assert "60 samples in 3 clusters" in repr(model)
    model.save(tmp_path / "m")
    assert "in files or on workers" in repr(load(tmp_path / "m"))


def test_containers(views):
    html = MultiViewData(views)._repr_html_()
    assert "60 samples in 2 views" in html
    assert HOSTILE not in html
    assert "&lt;script&gt;" in html
