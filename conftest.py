"""Figures that a test or an example in a docstring opens are closed after it."""

import os
import sys

import pytest

os.environ.setdefault("MPLBACKEND", "agg")


@pytest.fixture(autouse=True)
def close_figures():
    """Close figures."""
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")
