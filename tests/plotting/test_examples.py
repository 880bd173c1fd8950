"""Every example runs and makes a picture, and every display has one."""

import ast
import re
import runpy
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
from PIL import Image

from anchorview import plotting

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").rglob("plot_*.py"))
DISPLAYS = [path for path in EXAMPLES if path.parent.name == "displays"]


@pytest.mark.system
@pytest.mark.usefixtures("quick_layout", "fewer_digits")
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_make_pictures(path, tmp_path, monkeypatch):
    picture = tmp_path / "picture.png"
    monkeypatch.setattr(plt, "show", lambda: plt.savefig(picture))
    runpy.run_path(str(path))
    with Image.open(picture) as image:
        assert len(image.convert("RGB").getcolors(1 << 24)) > 10


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_have_a_header(path):
    first, title, second, *_ = ast.get_docstring(ast.parse(path.read_text())).splitlines()
    assert first == second == "=" * len(title)
    assert (path.parent / "GALLERY_HEADER.rst").exists()


@pytest.mark.parametrize("path", DISPLAYS, ids=lambda path: path.stem)
def test_displays_have_a_picture_in_the_documentation(path):
    assert f"images/{path.stem}.png" in (ROOT / "docs" / "plotting.md").read_text()


def test_every_display_has_an_example():
    text = "".join(path.read_text() for path in DISPLAYS)
    assert set(re.findall(r"\w+Display", text)) == set(plotting.__all__)
