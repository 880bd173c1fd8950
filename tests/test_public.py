"""Public names import and have examples; the package keeps its layout."""

import subprocess
import sys
from collections import Counter
from importlib import import_module
from pathlib import Path

import pytest

import anchorview
from anchorview.estimators.methods import method_class

PACKAGE = Path(anchorview.__file__).parent

PUBLIC = {
    module: import_module(module).__all__
    for module in (
        "anchorview",
        "anchorview.compared",
        "anchorview.datasets",
        "anchorview.distributed",
        "anchorview.inspection",
        "anchorview.metrics",
        "anchorview.plotting",
        "anchorview.preprocessing",
        "anchorview.report",
        "anchorview.scverse",
        "anchorview.scverse.pl",
        "anchorview.scverse.tl",
    )
}


@pytest.mark.parametrize("module", PUBLIC)
def test_public_names_import(module):
    imported = import_module(module)
    assert set(PUBLIC[module]) <= set(dir(imported))
    for name in PUBLIC[module]:
        assert getattr(imported, name) is not None


@pytest.mark.parametrize(
    ("module", "name"),
    [
        (module, name)
        for module in (
            "anchorview",
            "anchorview.compared",
            "anchorview.inspection",
            "anchorview.metrics",
            "anchorview.plotting",
            "anchorview.scverse.pl",
            "anchorview.scverse.tl",
        )
        for name in PUBLIC[module]
    ],
)
def test_public_names_have_examples(module, name):
    docstring = getattr(import_module(module), name).__doc__
    assert "Examples" in docstring
    assert ">>> " in docstring


def test_unknown_methods_and_names_are_refused():
    with pytest.raises(ValueError, match=r"'kmeans'.* auto, dalmc, amgl, "):
        method_class("kmeans")
    with pytest.raises(AttributeError, match="nothing"):
        anchorview.nothing  # noqa: B018


@pytest.mark.parametrize(
    ("module", "others"),
    [
        ("anchorview", {"sklearn", "pandas", "scipy"}),
        ("anchorview.plotting", {"matplotlib"}),
        ("anchorview.scverse", {"mudata", "anndata"}),
    ],
)
def test_imports_are_light(module, others):
    code = f"import {module}, sys; assert not {others} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_module_names_are_unique():
    modules = Counter(path.stem for path in PACKAGE.rglob("*.py") if path.stem != "__init__")
    assert not [name for name, count in modules.items() if count > 1]
