import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

from helpers.browsing import chromium, open_page  # noqa: F401

# They have no doctests, and share a module name.
collect_ignore_glob = ["*conftest.py"]

settings.register_profile("default", deadline=None, derandomize=True, max_examples=40)
settings.load_profile("default")

VECTORS = Path(__file__).parent / "data" / "compared"
SHARED_DATA = Path(os.environ.get("ANCHORVIEW_DATA", Path(__file__).parents[2] / "shared" / "data"))


NO_DATA = "real data are not here:"
"""How the reason begins with which tests on real data are skipped."""


def pytest_terminal_summary(terminalreporter):
    skipped = terminalreporter.stats.get("skipped", [])
    count = sum(NO_DATA in str(report.longrepr) for report in skipped)
    if count:
        terminalreporter.write_line(
            f"{count} tests on real data were SKIPPED: there are no such files in {SHARED_DATA}. "
            "Set ANCHORVIEW_DATA to the folder with the data sets (.npz).",
            yellow=True,
        )


@pytest.fixture
def set_constants(monkeypatch):
    """Replace constants of a module for a test: ``set_constants(assign, SAMPLE=500)``.

    The module is an object, not a string, so that a moved module is noticed when tests are
    collected.
    """

    def replace(owner, **values):
        for name, value in values.items():
            monkeypatch.setattr(owner, name, value)

    return replace


@pytest.fixture(scope="session")
def real_data():
    """Load a real data set by name; the test is left out where the data are not at hand."""

    def load(name):
        path = SHARED_DATA / f"{name}.npz"
        if not path.exists():
            pytest.skip(f"{NO_DATA} {name}")
        with np.load(path) as file:
            return [file[f"view_{p}"] for p in range(len(file.files) - 1)], file["y"]

    return load


@pytest.fixture(scope="session")
def digits():
    from anchorview import load_digits

    return load_digits(return_X_y=True)


@pytest.fixture
def fewer_digits(digits, monkeypatch):
    """``anchorview.load_digits`` returns an eighth of the samples of each class."""
    import anchorview

    views, y = digits
    fewer = {name: view[::8] for name, view in views.items()}, y[::8]
    monkeypatch.setattr(anchorview, "load_digits", lambda **_: fewer)


@pytest.fixture(scope="session")
def vectors():
    """What the authors' program of a compared method returned, by the method's name."""

    def load(name):
        with np.load(VECTORS / f"{name}.npz") as file:
            return dict(file)

    return load


@pytest.fixture(scope="session")
def toy(vectors):
    """Views that the authors' programs were given, and their classes."""
    file = vectors("toy")
    return [file[f"view_{p}"] for p in range(3)], file["y"]
