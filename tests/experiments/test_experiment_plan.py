"""Plans are read from files; errors name the file and the key."""

import tomllib
from dataclasses import fields
from pathlib import Path

import pytest

from anchorview.experiments.plan import ExperimentPlan, read_plan

EXAMPLE = Path(__file__).parents[2] / "examples" / "own_suite.toml"


@pytest.fixture
def write(tmp_path):
    def write_text(text):
        path = tmp_path / "mine.toml"
        path.write_text(text, encoding="utf-8", errors="surrogateescape")
        return path

    return write_text


def test_keys_are_the_attributes_of_a_plan():
    plan = read_plan(EXAMPLE)
    content = tomllib.loads(EXAMPLE.read_text())
    assert set(content) == {each.name for each in fields(ExperimentPlan)}
    for key, value in content.items():
        assert getattr(plan, key) == (tuple(value) if isinstance(value, list) else value)


def test_every_key_is_optional(write):
    assert read_plan(write("")) == ExperimentPlan(title="mine")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("run = 5", "'run'.*suites"),
        ("title = 3", "title"),
        ('suites = ["tables"]', "suites.*'tables'"),
        ('suites = "compare"', "suites.*list"),
        ('methods = ["kmeans"]', "'kmeans'.*amgl"),
        ('methods = ["none:MVC"]', "'none:MVC'"),
        ('methods = ["dalmc", "anchorview.estimators.dalmc:DALMC"]', "both.*DALMC"),
        ("betas = [0.1, 0]", "betas.* 0"),
        ('memory_limit = "much"', "memory_limit"),
        ("[grids.kmeans]\nk = [1]", "'kmeans'"),
        ("[grids]\ndalmc = 1", "grids.dalmc.*mapping"),
        ("[grids.auto]\nbudget = ['fast']", "'auto'.*grid"),
        ("[grids.dalmc]\nalpha = [1]", "grids.dalmc.alpha.*beta"),
        ("[grids.dalmc]\nbeta = 1", "grids.dalmc.beta.*list"),
        ("[grids.dalmc]\nbeta = [-1]", "grids.dalmc.beta.*DALMC"),
        ("runs 5", "line 1"),
        ('title = "\udcfc"', "decode"),
    ],
)
def test_errors_name_file_and_key(write, text, message):
    with pytest.raises(ValueError, match=rf"mine\.toml: .*{message}"):
        read_plan(write(text))
