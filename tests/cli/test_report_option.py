"""Option --report, and the report of the demo."""

import numpy as np
import pytest

from anchorview import make_multiview
from anchorview.cli import commands
from helpers.command_line import output_of


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    views, y = make_multiview(150, n_clusters=3, n_features=(6, 8), random_state=0)
    path = tmp_path_factory.mktemp("data") / "<b>views.npz"
    np.savez(path, **views, y=y)
    return path


@pytest.mark.parametrize(
    "settings",
    [("--budget", "fast"), ("--method", "dalmc"), ("--method", "bmvc"), ("--method", "omsc")],
    ids=lambda settings: str(settings[-1]),
)
def test_every_method_has_a_report(data, tmp_path, settings):
    report = tmp_path / "report.html"
    shown = output_of("fit", data, "-k", 3, *settings, "--report", report)
    assert f"Report written to {report}" in shown
    page = report.read_text()
    assert "&lt;b&gt;views.npz" in page
    assert "<b>views.npz" not in page
    assert "ACC" in page


def test_views_on_disk_have_a_report(data, tmp_path):
    folder, results, report = (tmp_path / name for name in ("folder", "results", "report.html"))
    output_of("convert", data, folder)
    settings = ("-k", 3, "--method", "dalmc", "--memory-limit", "40kB")
    output_of("fit", folder, *settings, "--results", results, "--report", report)
    assert "DALMC" in report.read_text()


@pytest.mark.usefixtures("fewer_digits")
def test_the_demo_needs_no_optional_package(tmp_path, monkeypatch):
    monkeypatch.setattr(commands, "find_spec", lambda name: None)
    out, report = tmp_path / "labels.csv", tmp_path / "report.html"
    shown = output_of("demo", "--out", out, "--report", report)
    assert 'pip install "anchorview[report]"' in shown
    assert out.exists()
    assert not report.exists()
