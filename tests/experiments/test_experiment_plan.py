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


@pytest.mark.parametrize("name", ["mine.yml", "MINE.YAML"])
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
        ("run = 5", "'run'.*suites"),
        ("title = 3", "title"),
        ('suites = ["tables"]', "suites.*'tables'"),
        ('suites = "compare"', "suites.*list"),
        ('methods = ["kmeans"]', "'kmeans'.*amgl"),
        ('methods = ["none:MVC"]', "'none:MVC'"),
        ('methods = ["dalmc", "anchorview.estimators.dalmc:DALMC"]', "both.*DALMC"),
        ("runs = 0", "runs.* 0"),
        ("betas = [0.1, 0]", "betas.* 0"),
        ('memory_limit = "much"', "memory_limit"),
        ("[grids.kmeans]\nk = [1]", "'kmeans'"),
        ("[grids]\ndalmc = 1", "grids.dalmc.*mapping"),
        ("[grids.auto]\nbudget = ['fast']", "'auto'.*grid"),
        ("[grids.dalmc]\nalpha = [1]", "grids.dalmc.alpha.*beta"),
        ("[grids.dalmc]\nbeta = 1", "grids.dalmc.beta.*list"),
        ("[grids.dalmc]\nbeta = [-1]", "grids.dalmc.beta.*DALMC"),
        ("runs 5", "line 1"),
    ],
    "mine.yaml": [
        ("runs: [", "flow"),
        ("- compare", "mapping.*list"),
        ("title: !!python/object/apply:os.getcwd []", "constructor"),
    ],
}


@pytest.mark.parametrize(
    ("name", "text", "message"), [(name, *case) for name in INVALID for case in INVALID[name]]
)
def test_errors_name_file_and_key(write, name, text, message):
    with pytest.raises(ValueError, match=rf"{re.escape(name)}: .*{message}"):
        read_plan(write(text, name))


def test_files_that_are_missing_or_unsupported_or_need_yaml(tmp_path, write, monkeypatch):
    with pytest.raises(ValueError, match=r"none\.toml"):
        read_plan(tmp_path / "none.toml")
    with pytest.raises(ValueError, match=r"mine\.json.*toml"):
        read_plan(write("{}", "mine.json"))
    path = tmp_path / "latin.toml"
    path.write_bytes('title = "ü"'.encode("latin-1"))
    with pytest.raises(ValueError, match=r"latin\.toml.*decode"):
        read_plan(path)
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(ImportError, match="yaml"):
        read_plan(write("runs: 5", "mine.yaml"))


def test_deeply_nested_values_are_refused(write):
    with pytest.raises(ValueError, match=r"mine\.yaml.*recursion"):
        read_plan(write(f"runs: {'[' * 20_000}{']' * 20_000}", "mine.yaml"))
