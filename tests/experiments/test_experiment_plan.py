"""Plans are read from files; errors name the file and the key."""

import re
import sys
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest
import yaml

from anchorview.experiments.plan import ExperimentPlan, read_plan

EXAMPLE = Path(__file__).parents[2] / "examples" / "own_suite.toml"


@pytest.fixture
def write(tmp_path):
    def write_text(text, name="mine.toml"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write_text


def test_keys_are_the_attributes_of_a_plan():
    plan = read_plan(EXAMPLE)
    content = tomllib.loads(EXAMPLE.read_text())
    assert set(content) == {each.name for each in fields(ExperimentPlan)}
    for key, value in content.items():
        assert getattr(plan, key) == (tuple(value) if isinstance(value, list) else value)


@pytest.mark.parametrize("name", ["mine.yaml", "mine.yml", "MINE.YAML"])
def test_yaml_and_toml_are_equivalent(write, name):
    content = yaml.safe_dump(tomllib.loads(EXAMPLE.read_text()))
    assert read_plan(write(content, name)) == read_plan(EXAMPLE)
    # Not a number in YAML 1.1.
    assert read_plan(write("betas: [1e-3, 2E+1]", name)).betas == (0.001, 20.0)


@pytest.mark.parametrize("name", ["mine.toml", "mine.yaml"])
def test_every_key_is_optional(write, name):
    assert read_plan(write("", name)) == ExperimentPlan(title="mine")


INVALID = {
    "mine.toml": [
        ("run = 5", "unknown key 'run'; valid keys are title, suites, data, methods, "),
        ("title = 3", "The 'title' parameter of the plan must be an instance of 'str'. Got 3"),
        ('suites = ["tables"]', "'suites' .* a str among {.*'compare'.*Got 'tables'"),
        ('suites = "compare"', "suites must be a list of values; got 'compare'"),
        ("data = [3]", "'data' .* an instance of 'str'"),
        ('methods = ["kmeans"]', "Unknown method 'kmeans'; choose from auto, dalmc, amgl"),
        ('methods = ["none:MVC"]', "'none:MVC' cannot be used .*No module named 'none'"),
        (
            'methods = ["dalmc", "anchorview.estimators.dalmc:DALMC"]',
            "'dalmc' and 'anchorview.*' would both be DALMC in tables",
        ),
        ('modes = ["best"]', "'modes' .* a str among {.*'oracle'.*Got 'best'"),
        ("runs = 0", r"'runs' .* an int in the range \[1, inf\). Got 0"),
        ("seed = -1", "'seed' .* Got -1"),
        ("betas = [0.1, 0]", r"'betas' .* a float in the range \(0.0, inf\). Got 0"),
        ("betas = [nan]", "'betas' .* Got nan"),
        ("anchors = [1.5]", "'anchors' .* Got 1.5"),
        ("time_limit = 0", "'time_limit' .* Got 0"),
        ('memory_limit = "much"', "memory_limit='much' is not a number of bytes"),
        ("[grids.kmeans]\nk = [1]", "Unknown method 'kmeans'; choose from auto, "),
        ("[grids]\ndalmc = 1", "grids.dalmc must be a mapping of settings to lists"),
        ("[grids.auto]\nbudget = ['fast']", "'auto' has no grid; it selects its settings itself"),
        ("[grids.dalmc]\nalpha = [1]", "grids.dalmc.alpha is not a parameter to choose: .*beta"),
        ("[grids.dalmc]\nn_clusters = [2]", "grids.dalmc.n_clusters is not a parameter to choose"),
        ("[grids.dalmc]\nbeta = 1", "grids.dalmc.beta must be a list of values"),
        ("[grids.dalmc]\nbeta = [-1]", "grids.dalmc.beta: The 'beta' parameter of DALMC must be"),
        ("runs 5", "at line 1"),
    ],
    "mine.yaml": [
        ("runs: [", "while parsing a flow node"),
        ("- compare", "must be a mapping.*; got list"),
        ("1: 2", "unknown key 1"),
        ("betas: &a [*a]", "'betas' parameter of the plan must be"),
        ("title: !!python/object/apply:os.getcwd []", "could not determine a constructor"),
    ],
}


@pytest.mark.parametrize(
    ("name", "text", "message"), [(name, *case) for name in INVALID for case in INVALID[name]]
)
def test_errors_name_file_and_key(write, name, text, message):
    with pytest.raises(ValueError, match=rf"{re.escape(name)}: .*{message}"):
        read_plan(write(text, name))


def test_files_that_are_missing_or_unsupported_or_need_yaml(tmp_path, write, monkeypatch):
    with pytest.raises(ValueError, match=r"none\.toml: cannot be used .*No such file"):
        read_plan(tmp_path / "none.toml")
    with pytest.raises(ValueError, match=r"mine\.json: .* must be a \.toml, \.yaml or \.yml file"):
        read_plan(write("{}", "mine.json"))
    path = tmp_path / "latin.toml"
    path.write_bytes('title = "ü"'.encode("latin-1"))
    with pytest.raises(ValueError, match=r"latin\.toml: cannot be used .*decode byte"):
        read_plan(path)
    monkeypatch.setitem(sys.modules, "yaml", None)
    message = r'Plans in YAML need yaml: pip install "anchorview\[yaml\]"\.'
    with pytest.raises(ImportError, match=message):
        read_plan(write("runs: 5", "mine.yaml"))


@pytest.mark.parametrize("name", ["mine.toml", "mine.yaml"])
def test_deeply_nested_values_are_refused(write, name):
    deep = "[" * 20_000 + "]" * 20_000
    path = write(f"runs = {deep}" if name.endswith("toml") else f"runs: {deep}", name)
    with pytest.raises(ValueError, match="recursion") as error:
        read_plan(path)
    assert str(error.value).startswith(f"{path}: ")
