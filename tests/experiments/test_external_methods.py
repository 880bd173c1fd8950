"""Methods that are not of the package: what is refused, and that experiments use them."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

from anchorview import make_multiview
from anchorview.experiments import inputs
from anchorview.experiments.inputs import check_method, data_sets
from anchorview.experiments.outputs import run_plan
from anchorview.experiments.plan import ExperimentPlan, entries

TEMPLATE = Path(__file__).parents[2] / "examples" / "own_method.py"

METHODS = """
import itertools
import numpy as np
from sklearn.cluster import KMeans

draws = itertools.count()
constant = 3

def concatenation(views, n_clusters, random_state, power=1.0):
    points = np.hstack(list(views.values())) ** power
    return KMeans(n_clusters, n_init=1, random_state=random_state).fit_predict(points)

class Fits:
    def __init__(self, n_clusters, random_state, **others):
        self.settings = n_clusters, random_state

    def fit(self, views):
        self.labels_ = concatenation(views, *self.settings)

class NoFit:
    def __init__(self, n_clusters, random_state): pass

class NoLabels(NoFit):
    def fit(self, views): pass

def no_seed(views, n_clusters): pass

def required(views, n_clusters, random_state, alpha): pass

def in_place_and_good(views, n_clusters, random_state):
    labels = concatenation(views, n_clusters, random_state)
    views["view_1"] += 1
    return labels

def too_few(views, n_clusters, random_state):
    return np.zeros(3, int)

def fractions(views, n_clusters, random_state):
    return np.full(90, 0.5)

def from_list(views, n_clusters, random_state):
    return views[0]

def random(views, n_clusters, random_state):
    return np.arange(90) % n_clusters + (np.arange(90) == next(draws))

def more(views, n_clusters, random_state):
    return np.arange(90) % 7 - 1
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "mine.py").write_text(METHODS)
    (tmp_path / "broken.py").write_text("def broken(:")
    (tmp_path / "own_method.py").write_text(TEMPLATE.read_text())
    yield tmp_path
    for name in ("mine", "broken", "own_method"):
        sys.modules.pop(name, None)
    inputs.imported.cache_clear()
    inputs.code_digest.cache_clear()


@pytest.mark.parametrize("name", ["mine:concatenation", "mine:Fits", "own_method:LateFusion"])
def test_methods_that_fulfil_the_contract(name):
    assert list(check_method(name)) == []


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("none:MVC", "No module named 'none'"),
        ("broken:broken", "SyntaxError"),
        ("mine:Absent", "'Absent'"),
        ("mine:constant", "callable"),
        ("mine:NoFit", "'fit'"),
        ("mine:NoLabels", "'labels_'"),
        ("mine:no_seed", "'random_state'"),
        ("mine:required", "'alpha'"),
        ("mine:in_place_and_good", "'view_1'"),
        ("mine:too_few", r"\(3,\).*90"),
        ("mine:fractions", "float64.*integer"),
        ("mine:from_list", "dict.*KeyError: 0"),
    ],
)
def test_what_is_refused(name, message):
    with pytest.raises(ValueError, match=rf"{name}.*{message}"):
        list(check_method(name))


@pytest.mark.parametrize(
    ("name", "message"), [("mine:random", "random_state"), ("mine:more", "7 clusters")]
)
def test_what_is_warned_of(name, message):
    assert any(message in warning for warning in check_method(name))


def test_grids_and_columns_of_external_methods():
    name = "mine:concatenation"
    plan = ExperimentPlan(methods=(name, "auto"), grids={name: {"power": [1, 2]}}, runs=2)
    found = entries(plan, data_sets(None, ["digits"]))
    assert [(entry.column, entry.mode, dict(entry.job.settings)) for entry in found] == [
        ("concatenation", "default", {}),
        ("DALMC (auto)", "auto", {}),
        ("concatenation (oracle)", "oracle", {}),
        ("concatenation (oracle)", "oracle", {"power": 2.0}),
    ]
    for grid, message in (({"q": [1]}, "not a parameter"), ({"power": [[1]]}, "neither a num")):
        with pytest.raises(ValueError, match=rf"grids\.{name}\.\w+.*{message}"):
            ExperimentPlan(methods=(name,), grids={name: grid})


def test_a_changed_method_is_run_again(folder):
    def key():
        inputs.code_digest.cache_clear()
        plan = ExperimentPlan(methods=("mine:concatenation",), modes=("default",))
        (entry,) = entries(plan, data_sets(None, ["digits"]))
        return entry.job.key("")

    before = key()
    assert key() == before
    (folder / "mine.py").write_text(METHODS + "# changed\n")
    assert key() != before


@pytest.mark.system
def test_processes_of_jobs_import_external_methods(folder, monkeypatch):
    views, y = make_multiview(90, n_clusters=3, random_state=0)
    np.savez(folder / "small.npz", **views, y=y)
    plan = ExperimentPlan(methods=("mine:Fits", "concat-kmeans"), modes=("default",), runs=2)
    frame = run_plan(plan, data_sets(folder, ["small"]), folder / "out", n_jobs=1)
    assert frame["status"].tolist() == ["done", "done"]
    table = (folder / "out/tables/compare-acc.md").read_text()
    assert re.search(r"\| data \| Fits \| K-means \|", table)
