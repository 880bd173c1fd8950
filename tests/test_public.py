"""Every public name exists, is documented and shown at work in an example."""

import subprocess
import sys

import pytest

import anchorview
import anchorview.compared
from anchorview.estimators.methods import METHODS, method_class


@pytest.mark.parametrize(
    ("home", "name"),
    [(home, name) for home in (anchorview, anchorview.compared) for name in home.__all__],
)
def test_public_names_have_examples(home, name):
    thing = getattr(home, name)
    assert name in dir(home)
    assert "Examples" in thing.__doc__
    assert ">>> " in thing.__doc__


def test_every_compared_method_is_in_the_registry():
    found = {method_class(name).__name__ for name in METHODS}
    assert found == {*anchorview.compared.__all__, "AutoDALMC", "DALMC"}
    with pytest.raises(ValueError, match="'kmeans' is unknown; there are auto, dalmc, amgl, "):
        method_class("kmeans")


def test_unknown_names_are_an_attribute_error():
    with pytest.raises(AttributeError, match="nothing"):
        anchorview.nothing  # noqa: B018


def test_importing_the_package_is_light():
    code = "import anchorview, sys; assert not {'sklearn', 'pandas', 'scipy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
