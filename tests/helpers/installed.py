"""Methods that need an optional package."""

from importlib.util import find_spec

import pytest

from anchorview.estimators.methods import REGISTRY, find_method

INSTALLED = [m.name for m in REGISTRY if not m.requires or find_spec(m.requires)]


def require_installed(method):
    """Skip the test if the package of a method is not installed."""
    if package := find_method(method).requires:
        pytest.importorskip(package)
