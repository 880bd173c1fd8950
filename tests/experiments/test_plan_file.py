"""Plans in files: what they say is what is run, and what is wrong is told with its place."""

import subprocess
import sys
from pathlib import Path

import pytest

from anchorview.experiments.plan.plan_file import COLUMNS, MODES, Plan, read_plan

EXAMPLE = Path(__file__).parents[2] / "examples" / "own_suite.toml"

TWIN = """
title: Fast methods on the built-in data
suites: [compare, beta, anchors, incomplete]
data: [digits, synthetic]
methods: [opmc, omsc, awmvc, dalmc]
modes: [default, oracle]
runs: 5
seed: 1
betas: [1e-3, 0.1, 10]
anchors: [1, 2, 4]
missing: [0, 0.3, 0.6]
time_limit: 300
memory_limit: 2GB
grids:
  dalmc:
    beta: [1e-3, 0.1, 10]
    scaling: [zscore-unit, zscore]
  opmc:
    scaling: [rows, features]
"""


@pytest.fixture
def written(tmp_path):
    def write(text, name="mine.toml"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_the_example_says_what_it_says():
    plan = read_plan(EXAMPLE)
    assert plan == Plan(
        title="Fast methods on the built-in data",
        suites=("compare", "beta", "anchors", "incomplete"),
        data=("digits", "synthetic"),
        methods=("opmc", "omsc", "awmvc", "dalmc"),
        modes=("default", "oracle"),
        runs=5,
        seed=1,
        betas=(1e-3, 0.1, 10),
        anchors=(1, 2, 4),
        missing=(0, 0.3, 0.6),
        grids={
            "dalmc": {"beta": [1e-3, 0.1, 10], "scaling": ["zscore-unit", "zscore"]},
            "opmc": {"scaling": ["rows", "features"]},
        },
        time_limit=300,
        memory_limit="2GB",
    )


@pytest.mark.parametrize("name", ["twin.yaml", "twin.yml", "TWIN.YAML"])
def test_yaml_says_the_same_as_toml(written, name):
    assert read_plan(written(TWIN, name)) == read_plan(EXAMPLE)


@pytest.mark.parametrize("name", ["mine.toml", "mine.yaml"])
def test_everything_is_optional(written, name):
    assert read_plan(written("", name)) == Plan(title="mine")
    assert Plan().methods == tuple(COLUMNS)
    assert Plan().modes == MODES


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("run = 5", "the key 'run' is unknown; there are title, suites, data, methods, "),
        ("title = 3", "title must be text; got 3"),
        ('suites = ["tables"]', r"suites must be a list of names out of compare, .* \['tables'\]"),
        ('suites = "compare"', "suites must be a list of names .*; got 'compare'"),
        ("suites = []", r"suites must be a list .*; got \[\]"),
        ("data = [1]", "data must be a list of names of data sets"),
        ('methods = ["auto"]', "methods must be a list of names out of amgl, "),
        ('modes = ["best"]', "modes must be a list of names out of default, auto, oracle; "),
        ("runs = 0", "runs must be a whole number from 1 on; got 0"),
        ("runs = true", "runs must be a whole number from 1 on; got True"),
        ("runs = 2.0", "runs must be a whole number"),
        ("seed = -1", "seed must be a whole number from 0 on; got -1"),
        ("betas = [-1]", "betas must be a list of numbers above 0"),
        ("betas = [0.1, 0]", "betas must be a list of numbers above 0"),
        ("betas = [nan]", "betas must be a list of numbers above 0"),
        ('betas = ["0.1"]', "betas must be a list of numbers above 0"),
        ("anchors = [1.5]", "anchors must be a list of whole numbers from 1 on"),
        ("missing = [1]", r"missing must be a list of shares from 0 to below 1; got \[1\]"),
        ("time_limit = 0", "time_limit must be a number of seconds above 0; got 0"),
        ('memory_limit = "much"', "memory_limit='much' is not a number of bytes"),
        ("memory_limit = [1]", "memory_limit must be a number of bytes, or text"),
        ("grids = 1", "grids must be a mapping of methods to settings"),
        ("[grids.kmeans]\nk = [1]", "grids: 'kmeans' must be a method out of amgl, "),
        ("[grids]\ndalmc = 1", "grids.dalmc must be a mapping of settings to lists"),
        ("[grids.dalmc]\nalpha = [1]", "grids.dalmc: 'alpha' is not a setting .*there are .*beta"),
        ("[grids.dalmc]\nn_clusters = [3]", "'n_clusters' is not a setting of dalmc"),
        ("[grids.dalmc]\nbeta = 1", "grids.dalmc.beta must be a list of numbers"),
        ("[grids.dalmc]\nbeta = [[1]]", "grids.dalmc.beta must be a list of numbers"),
        ("[grids.dalmc]\nbeta = [-1]", "grids.dalmc.beta: The 'beta' parameter of DALMC must be"),
        ("runs 5", r"is not valid TOML \(.*line 1"),
    ],
)
def test_what_is_wrong_is_told_with_file_and_key(written, text, told):
    with pytest.raises(ValueError, match=rf"mine\.toml: .*{told}"):
        read_plan(written(text))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("runs: [", r"is not valid YAML \("),
        ("- compare", "must hold keys with values.*; got list"),
        ("1: 2", "the key 1 is unknown"),
        ("runs: null", "runs must be a whole number"),
        ("betas: &a [*a]", "betas must be a list of numbers"),
        ("title: !!python/object/apply:os.getcwd []", r"is not valid YAML \("),
    ],
)
def test_wrong_yaml_is_told_too(written, text, told):
    with pytest.raises(ValueError, match=rf"mine\.yaml: .*{told}"):
        read_plan(written(text, "mine.yaml"))


def test_files_that_are_not_there_or_of_another_kind(tmp_path, written):
    with pytest.raises(ValueError, match=r"none\.toml: cannot be read \(No such file"):
        read_plan(tmp_path / "none.toml")
    with pytest.raises(ValueError, match=r"mine\.json: a suite is a \.toml, \.yaml or \.yml file"):
        read_plan(written("{}", "mine.json"))
    path = tmp_path / "latin.toml"
    path.write_bytes('title = "ü"'.encode("latin-1"))
    with pytest.raises(ValueError, match=r"latin\.toml: is not valid TOML"):
        read_plan(path)


def test_yaml_is_an_extra(written):
    code = (
        "import sys; sys.modules['yaml'] = None\n"
        "from pathlib import Path\n"
        "from anchorview.experiments.plan.plan_file import read_plan\n"
        "try: read_plan(Path(sys.argv[1]))\n"
        "except ImportError as error: print(error)\n"
    )
    path = written("runs: 5", "mine.yaml")
    run = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True)
    assert 'Suites in YAML need yaml: pip install "anchorview[yaml]".' in run.stdout
