"""Every public name exists, is documented and shown at work in an example."""

import subprocess
import sys

import pytest

import anchorview


@pytest.mark.parametrize("name", anchorview.__all__)
def test_public_names_have_examples(name):
    thing = getattr(anchorview, name)
    assert name in dir(anchorview)
    assert "Examples" in thing.__doc__
    assert ">>> " in thing.__doc__


def test_unknown_names_are_an_attribute_error():
    with pytest.raises(AttributeError, match="nothing"):
        anchorview.nothing  # noqa: B018


def test_importing_the_package_is_light():
    code = "import anchorview, sys; assert not {'sklearn', 'pandas', 'scipy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
