"""Figures for print."""

import sys
import warnings
from xml.etree import ElementTree

import pytest

from anchorview._utils.errors import MissingPackageError
from anchorview.experiments.output.figures import figures
from anchorview.experiments.output.method_colors import OTHER, PALETTE, color
from anchorview.experiments.output.output_folder import write_outputs
from helpers.handmade import ODD, Book, done, whole_book

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def book():
    return whole_book("digits", ODD)


@pytest.fixture(scope="module")
def drawn(book, tmp_path_factory):
    """Folder with all figures."""
    folder = tmp_path_factory.mktemp("figures")
    for figure in figures(book.frame()):
        figure.write(folder)
    return folder


def texts(path):
    root = ElementTree.parse(path).getroot()
    return {"".join(e.itertext()).strip() for e in root.iter("{http://www.w3.org/2000/svg}text")}


def test_every_suite_has_its_figures(drawn):
    names = {path.stem for path in drawn.glob("*.svg")}
    assert names == {
        "accuracy",
        "accuracy-oracle",
        "time-accuracy",
        "beta",
        "anchors",
        "convergence",
        "incomplete-acc",
        "incomplete-nmi",
    }
    assert {path.stem for path in drawn.glob("*.png")} == names


def test_svg_keeps_letters_and_odd_names(drawn):
    for path in drawn.glob("*.svg"):
        assert {"digits", ODD} <= texts(path)


def test_figures_name_what_they_show(drawn):
    assert {"AMGL", "DALMC", "DALMC (auto)", "-"} <= texts(drawn / "accuracy.svg")
    assert not any("oracle" in text for text in texts(drawn / "accuracy.svg"))
    assert {"AMGL (oracle)", "DALMC (oracle)"} <= texts(drawn / "accuracy-oracle.svg")
    assert {"ACC", "NMI", "F1", "Purity", "ARI", "0.001", "0.1"} <= texts(drawn / "beta.svg")
    assert {"DALMC", "DALMC on imputed means"} <= texts(drawn / "incomplete-nmi.svg")
    assert {"DALMC", "FPMVS-CAG"} <= texts(drawn / "time-accuracy.svg")


def test_the_same_results_make_the_same_files_whatever_the_users_style(book, drawn, tmp_path):
    import matplotlib

    with matplotlib.rc_context({"lines.linewidth": 9, "font.size": 30, "svg.fonttype": "path"}):
        for figure in figures(book.frame())[:3]:
            for path in figure.write(tmp_path):
                assert path.read_bytes() == (drawn / path.name).read_bytes()
    assert b"<dc:date>" not in (drawn / "accuracy.svg").read_bytes()


def test_png_has_150_points_an_inch(drawn):
    from PIL import Image

    with Image.open(drawn / "beta.png") as image:
        assert image.width == 2 * 3.4 * 150
        assert image.info["dpi"][0] == pytest.approx(150, abs=0.1)


def test_a_suite_without_results_is_drawn_empty_or_not_at_all(tmp_path):
    book = Book()
    book.add("DALMC", None)
    book.add("DALMC", None, suite="runtime")
    book.add("DALMC", None, suite="beta", point=0.1)
    book.add("DALMC", None, suite="convergence")
    book.add("DALMC", None, suite="incomplete", point=0.1)
    found = figures(book.frame())
    assert "time-accuracy" not in {figure.name for figure in found}
    for figure in found:
        figure.write(tmp_path)
    assert figures(Book().frame()) == []


def contrast(one, other):
    def light(code):
        parts = (int(code[i : i + 2], 16) / 255 for i in (1, 3, 5))
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] + 0.05

    low, high = sorted((light(one), light(other)))
    return high / low


def test_colors_stand_out_on_light_and_dark_pages():
    for code in (*PALETTE.values(), OTHER):
        assert contrast(code, "#ffffff") >= 3
        assert contrast(code, "#14181f") >= 3


def test_a_method_keeps_its_color():
    methods = [name for name in PALETTE if name not in ("ACC", "NMI", "F1", "Purity", "ARI")]
    assert len({color(name) for name in methods}) == len(methods)
    assert color("AMGL (oracle)") == color("AMGL") != color("DALMC (auto)")


@pytest.fixture
def no_matplotlib(monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)


def test_without_matplotlib_figures_say_what_to_install(book, no_matplotlib, tmp_path):
    with pytest.raises(MissingPackageError, match=r"anchorview\[report\]"):
        figures(book.frame())[0].write(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_without_matplotlib_all_else_is_written_with_one_warning(no_matplotlib, tmp_path):
    book = Book()
    book.add("DALMC", done([0.5]))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        paths = write_outputs(tmp_path, book.entries, book.results, book.sets, []).paths
    ours = [str(w.message) for w in caught if "left out" in str(w.message)]
    assert len(ours) == 1
    assert "anchorview[report]" in ours[0]
    assert tmp_path / "tables" / "compare-acc.tex" in paths
    assert "figures/" not in (tmp_path / "summary.md").read_text()
