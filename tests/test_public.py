"""Public names import and have examples; the package keeps its layout."""

import inspect
import re
import subprocess
import sys
from collections import Counter
from importlib import import_module
from inspect import ismodule
from pathlib import Path

import pytest

import anchorview
from anchorview.estimators.methods import method_class

PACKAGE = Path(anchorview.__file__).parent
REFERENCE = Path(__file__).parents[1] / "docs" / "reference" / "index.md"

MODULES = (
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
WITHOUT_EXAMPLES = {"PAPER_SETS", "DataFileError", "PaperSet", "ViewFile", "stays_on_disk"}


@pytest.mark.parametrize("module", MODULES)
def test_public_names_have_examples(module):
    imported = import_module(module)
    for name in set(imported.__all__) - WITHOUT_EXAMPLES:
        public = getattr(imported, name)
        assert ismodule(public) or "\nExamples\n" in inspect.cleandoc(public.__doc__), name
        assert ismodule(public) or ">>> " in public.__doc__, name


def test_every_public_name_imports_and_is_in_the_reference():
    text = REFERENCE.read_text()
    blocks = re.findall(r"^\.\. currentmodule:: (\S+)\n(.*?)(?=^\.\. cur|^```)", text, re.M | re.S)
    listed = {module: set() for module in MODULES}
    for module, block in blocks:
        listed[module].update(re.findall(r"^   (\w+)$", block, re.M))
    for name in MODULES:
        module = import_module(name)
        # The package has some names of its modules as well; they are listed once.
        exported = {each for each in module.__all__ if not ismodule(getattr(module, each))}
        exported -= set(() if name == "anchorview" else anchorview.__all__)
        assert listed[name] == exported, name


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
