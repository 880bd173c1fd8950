import json
import os
import sqlite3
from contextlib import closing
from dataclasses import asdict

import pytest

from anchorview._utils.errors import DataFileError
from anchorview.experiments.jobs import METRICS, Job, Result, Store

JOB = Job("digits", "dalmc")
RESULT = Result("done", scores={"ACC": (0.5, 0.25)}, returned={"ACC": 0.5}, objective=(2.0, 1.0))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "results.sqlite"


def test_results_are_kept_also_those_of_two_programs(path):
    with Store(path) as store:
        store.add("b", JOB, RESULT, {"python": "3.11"})
        store.add("a", JOB, Result("time", "too long"), {"python": "3.12"})
        store.add("b", JOB, Result("failed"), {})
    with Store(path) as store:
        assert list(store.results().items()) == [("b", RESULT), ("a", Result("time", "too long"))]
        store.forget_unfinished(["a", "b", "c"])
        assert set(store.results()) == {"b"}
    with Store(path) as one, Store(path) as other:
        one.add("a", JOB, RESULT, {})
        other.add("c", JOB, RESULT, {})
        assert set(one.results()) == set(other.results()) == {"a", "b", "c"}


def test_environments(path):
    with Store(path) as store:
        for key, version in (("a", "0.1"), ("b", "0.2"), ("c", "0.1"), ("d", "0.3")):
            store.add(key, JOB, RESULT, {"anchorview": version})
        found = store.environments(["c", "b", "not there"])
        assert found == [{"anchorview": "0.2"}, {"anchorview": "0.1"}]


def write_text(path):
    path.write_text("sample,cluster\n" * 100)


def write_damaged(path):
    with Store(path) as store:
        for number in range(20):
            store.add(f"key {number}", JOB, Result("done", reason="long " * 1000), {})
    os.truncate(path, path.stat().st_size // 2)


@pytest.mark.parametrize("write", [write_text, write_damaged])
def test_other_files_raise_and_are_not_changed(path, write):
    write(path)
    before = path.read_bytes()
    with pytest.raises(DataFileError, match=path.name), Store(path) as store:
        store.results()
    assert path.read_bytes() == before


def test_a_missing_folder_raises(tmp_path):
    with pytest.raises(DataFileError, match="nowhere"):
        Store(tmp_path / "nowhere" / "results.sqlite")


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("result", '{"status": "unknown"}'),
        ("result", '{"status": "done", "scores": {"ACC": ["a"]}}'),
        ("result", b"\xff\xfe"),
        ("result", "[" * 100_000),
        ("environment", "3"),
    ],
)
def test_a_damaged_row_is_named_with_what_to_do(path, column, value):
    with Store(path) as store:
        for key in "ab":
            store.add(key, JOB, RESULT, {"anchorview": "0.1"})
    with closing(sqlite3.connect(path)) as database:
        database.execute(f"UPDATE results SET {column} = ? WHERE key = 'b'", (value,))
        database.commit()
    expected = pytest.raises(DataFileError, match=f"{path.name}.*row 2")
    with Store(path) as store, expected:
        store.results(), store.environments("ab")


def test_key_depends_on_the_contents_of_the_data_but_not_on_the_order_of_settings():
    job = Job.of("digits", "dalmc", {"beta": 0.1, "n_anchors": 20, "n_components": (4, 5)})
    same = Job.of("digits", "dalmc", {"n_components": (4, 5), "n_anchors": 20, "beta": 0.1})
    assert job == same
    assert job.key("abc") == same.key("abc")
    job = Job("digits", "dalmc")
    assert job.key("abc") != job.key("abd")
    key = Job.of("digits", "dalmc", {"n_components": (4, 5), "beta": 0.1}).key("abc")
    assert key == "a1c78830d3ab3db140dc4fa5ab4be38e09b71e529c1b1c465251ec59485911e1"


def test_results_round_trip_through_json():
    result = Result(
        "done",
        scores=dict.fromkeys(METRICS, (0.5, 0.25)),
        returned={"ACC": 0.5},
        fit_seconds=1.5,
        seconds=2.5,
        peak_bytes=100,
        n_iter=3,
        objective=(3.0, 1.0),
        view_weights=(0.25, 0.75),
    )
    assert Result.from_json(json.loads(json.dumps(asdict(result)))) == result
