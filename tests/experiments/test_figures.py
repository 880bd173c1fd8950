"""Figures for print."""

import sys
from xml.etree import ElementTree

import pytest

from anchorview.experiments.evaluation import suite_figures
from anchorview.experiments.outputs import write_outputs
from helpers.handmade import ODD, Book, done, whole_book

matplotlib = pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def book():
    return whole_book("digits", ODD)


@pytest.fixture(scope="module")
def drawn(book, tmp_path_factory):
    """Folder of all figures."""
    folder = tmp_path_factory.mktemp("figures")
    for figure in suite_figures(book.frame()):
        figure.write(folder)
    return folder


def texts(path):
    root = ElementTree.parse(path).getroot()
    return {"".join(e.itertext()).strip() for e in root.iter("{http://www.w3.org/2000/svg}text")}


def test_all_suites_have_figures_with_the_names_of_data_sets_and_series(drawn):
    names = {path.stem for path in drawn.glob("*.svg")}
    assert names == {"accuracy", "anchors", "beta", "convergence"}
    assert {path.stem for path in drawn.glob("*.png")} == names
    for path in drawn.glob("*.svg"):
        assert {"digits", ODD} <= texts(path)
    assert {"AMGL", "DALMC", "DALMC (auto)", "-"} <= texts(drawn / "accuracy.svg")
    assert not any("oracle" in text for text in texts(drawn / "accuracy.svg"))
    assert {"ACC", "NMI", "F1", "Purity", "ARI", "0.001", "0.1"} <= texts(drawn / "beta.svg")


def test_files_are_reproducible_and_independent_of_the_style(book, drawn, tmp_path):
    with matplotlib.rc_context({"lines.linewidth": 9, "font.size": 30, "svg.fonttype": "path"}):
        for figure in suite_figures(book.frame()):
            for path in figure.write(tmp_path):
                assert path.read_bytes() == (drawn / path.name).read_bytes()
    assert b"<dc:date>" not in (drawn / "accuracy.svg").read_bytes()


def test_without_results_there_are_no_figures():
    assert not list(suite_figures(Book().frame()))


def test_without_matplotlib_other_outputs_are_written_with_a_warning(monkeypatch, tmp_path):
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    book = Book()
    book.add("DALMC", done([0.5]))
    with pytest.warns(match=r"omitted\. .*anchorview\[report\]"):
        write_outputs(tmp_path, book.entries, book.results, book.sets, [])
    assert (tmp_path / "tables" / "compare-acc.tex").exists()
    assert not list((tmp_path / "figures").iterdir())
    assert "figures/" not in (tmp_path / "summary.md").read_text()
