"""Reports from the command line."""

import sys

import numpy as np
import pytest
from test_commands import error_of, run

from anchorview import make_multiview


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    views, y = make_multiview(150, n_clusters=3, n_features=(6, 8), random_state=0)
    path = tmp_path_factory.mktemp("data") / "<b>views.npz"
    np.savez(path, **views, y=y)
    return path


@pytest.mark.parametrize(
    "settings",
    [("--max-candidates", 4), ("--method", "dalmc"), ("--method", "bmvc"), ("--method", "omsc")],
    ids=lambda settings: str(settings[-1]),
)
def test_every_method_has_a_report(data, tmp_path, settings):
    report = tmp_path / "report.html"
    done = run("fit", data, "-k", 3, *settings, "--report", report)
    assert done.exit_code == 0, done.output
    assert f"Report written to {report}" in done.stdout
    page = report.read_text()
    assert "&lt;b&gt;views.npz" in page
    assert "<b>views.npz" not in page
    assert "ACC" in page


def test_views_on_disk_have_a_report(data, tmp_path):
    folder, results, report = (tmp_path / name for name in ("folder", "results", "report.html"))
    assert run("convert", data, folder).exit_code == 0
    limit = ("--memory-limit", "40kB")
    done = run("fit", folder, "-k", 3, *limit, "--results", results, "--report", report)
    assert done.exit_code == 0, done.output
    assert "DALMC" in report.read_text()


def test_a_report_of_results_on_workers_is_refused(data, tmp_path):
    where = ("--scheduler", "tcp://127.0.0.1:1", "--report", tmp_path / "report.html")
    assert "--report needs the embedding here" in error_of(run("fit", data, "-k", 3, *where))


def test_what_a_report_needs_is_said_before_the_fit(data, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "bokeh", None)
    out = tmp_path / "labels.csv"
    failed = run("fit", data, "-k", 3, "--out", out, "--report", tmp_path / "report.html")
    assert 'pip install "anchorview[report]"' in error_of(failed)
    assert not out.exists()


def test_report_and_labels_cannot_be_one_file(data, tmp_path):
    same = tmp_path / "same.html"
    failed = run("fit", data, "-k", 3, "--out", same, "--report", same)
    assert "are the same file" in error_of(failed)


def test_the_demo_needs_no_extra(tmp_path, monkeypatch):
    monkeypatch.setattr("anchorview.cli.commands.find_spec", lambda name: None)
    out, report = tmp_path / "labels.csv", tmp_path / "report.html"
    done = run("demo", "--out", out, "--report", report)
    assert done.exit_code == 0, done.output
    assert 'pip install "anchorview[report]"' in done.stdout
    assert out.exists()
    assert not report.exists()
