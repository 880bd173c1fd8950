"""Measurements on pages: the benchmark is that of the stored results, others say when and how."""

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BENCHMARKS = ROOT / "benchmarks"


@pytest.fixture(autouse=True)
def importable_benchmarks(monkeypatch):
    if not BENCHMARKS.exists():
        pytest.skip("the source distribution is without the benchmarks")
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if (
            getattr(sys.modules[name], "__file__", None)
            and BENCHMARKS in Path(sys.modules[name].__file__).parents
        ):
            del sys.modules[name]


@pytest.fixture
def benchmark_page(importable_benchmarks):
    import benchmark_page

    return benchmark_page


@pytest.fixture
def refresh(importable_benchmarks):
    import refresh

    return refresh


def test_page_is_made_from_the_stored_results(benchmark_page):
    for path, text in benchmark_page.pages(benchmark_page.ResultFile()).items():
        # Pictures of matplotlib depend on its version.
        assert path == benchmark_page.RANKS_FIGURE or path.read_text(encoding="utf-8") == text, (
            f"run benchmarks/{benchmark_page.__name__}.py"
        )


def test_stored_results_round_trip(benchmark_page, tmp_path):
    stored = benchmark_page.ResultFile()
    copy = benchmark_page.ResultFile(tmp_path / "copy.json")
    copy.environment, copy.measured = stored.environment, stored.measured
    copy.data, copy.rows = stored.data, stored.rows
    copy.write()
    assert copy.path.read_text(encoding="utf-8") == stored.path.read_text(encoding="utf-8")
    assert benchmark_page.ResultFile(copy.path).rows == stored.rows


def test_results_are_found_again_by_their_jobs(benchmark_page, tmp_path):
    from anchorview.experiments.jobs import Result
    from compared_results import COLUMNS, job_at

    file = benchmark_page.ResultFile(tmp_path / "few.json")
    positions = [
        ("msrcv1", column, missing, order, 1)
        for column in COLUMNS
        for missing, order in ((0.0, "sorted"), (0.3, "shuffled"))
    ]
    for position in positions:
        job = job_at(position)
        file.add(job.key(""), job, Result("done", scores={"ACC": (0.5,)}), {"python": "3"})
    assert list(file.rows) == positions
    assert set(benchmark_page.ResultFile(file.path).results()) == {
        job_at(position).key("") for position in positions
    }


def test_measurements_on_pages_are_found_and_the_measured_code_exists(refresh):
    for script, code in refresh.MEASURED_CODE.items():
        assert (BENCHMARKS / f"{script}.py").is_file()
        assert all((ROOT / "src/anchorview" / path).exists() for path in code), script
    for page in refresh.pages():
        found = list(refresh.measurements(page))
        dated = re.findall(r"\bmeasured\s+\d{4}", page.read_text(encoding="utf-8"), re.IGNORECASE)
        assert len(found) == len(dated), f"{page}: write as in CONTRIBUTING.md"
        for measurement in found:
            refresh.measured_code(measurement.command)


def test_pages_with_tables_of_measurements_say_when(refresh):
    seconds = re.compile(r"^\|.*\d s(,.*)? \|", re.MULTILINE)
    with_seconds = [
        page
        for page in refresh.pages()
        if page.with_suffix(".py").exists() or seconds.search(page.read_text(encoding="utf-8"))
    ]
    assert with_seconds
    for page in with_seconds:
        assert any(refresh.measurements(page)), page
