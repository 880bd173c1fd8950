"""Outputs of suites: files, summary, report page and protocol.

They replace those of the previous suite, but no other files in the folder.
"""

import base64
import json
import re

import pandas as pd
import pytest

from anchorview.experiments.evaluation import markdown_escaped, suite_figures
from anchorview.experiments.outputs import protocol, write_outputs
from helpers.handmade import ODD, Book, done, whole_book
from helpers.pages import ParsedPage

pytest.importorskip("matplotlib")

EVIL = "<script>window.hacked=1</script>"
ENVIRONMENT = {"python": "3.13.0", "blas": ["openblas 0.3"], "cpu": EVIL, "memory": 8 * 2**30}
COMMAND = f"anchorview experiment run all --data '{EVIL}'"


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    out = tmp_path_factory.mktemp("outputs") / "made" / "here"
    book = whole_book("Flower17", EVIL, published_as="Flower17")
    given = (book.entries, book.results, book.sets, [ENVIRONMENT], COMMAND, f"Mine {EVIL}")
    write_outputs(out, *given)
    return out, book


@pytest.fixture(scope="module")
def page(written):
    return ParsedPage(written[0] / "report.html")


def test_all_formats_are_written_and_listed(written):
    out, _ = written
    listed = json.loads((out / "outputs.json").read_text())
    assert files(out) == {*listed, "outputs.json"}
    assert {path.suffix for path in (out / "tables").iterdir()} == {".md", ".tex"}
    assert {path.suffix for path in (out / "figures").iterdir()} == {".svg", ".png"}
    names = {path.name for path in out.iterdir() if path.is_file()}
    assert names == {"outputs.json", "results.csv", "summary.md", "report.html"}


def test_results_are_written_without_rounding_or_formulas(tmp_path):
    book = Book("=HYPERLINK(1)", ODD)
    book.add("DALMC", done([0.123456789012345, 1 / 3]))
    write_outputs(tmp_path, book.entries, book.results, book.sets, [])
    (row,) = pd.read_csv(tmp_path / "results.csv").to_dict("records")
    assert row["data"] == "'=HYPERLINK(1)"
    for name in ("ACC", "ACC_deviation"):
        assert row[name] == pytest.approx(book.frame()[name][0], rel=1e-14)


def test_summary_has_all_tables_and_figures(written):
    out, book = written
    text = (out / "summary.md").read_text()
    for path in (out / "tables").glob("*.md"):
        assert path.read_text().strip() in text
    links = re.findall(r"\]\((figures/[^)]*)\)", text)
    assert {out / link for link in links} == set((out / "figures").glob("*.svg"))
    assert f"\n    {COMMAND}\n" in text
    assert EVIL not in text.replace(COMMAND, "")
    assert "8.0 GB" in text
    assert text.startswith("# Mine &lt;script&gt;")
    for paragraph in protocol(book.frame()):
        assert markdown_escaped(paragraph) in text


def test_page_shows_everything_with_escaped_names(written, page):
    titles = page.section_titles
    assert titles[:2] == ["Overview", "Ranks"]
    assert {figure.title for figure in suite_figures(written[1].frame())} <= set(titles)
    sources = {attributes["src"] for attributes in page.attributes("img")}
    pictures = (written[0] / "figures").glob("*.svg")
    encoded = {base64.b64encode(path.read_bytes()).decode() for path in pictures}
    assert sources == {f"data:image/svg+xml;base64,{text}" for text in encoded}
    assert "38 of 40" in page.text
    for text in (f"more than 1 GB <i>{ODD}</i>", COMMAND, EVIL, *protocol(written[1].frame())):
        assert text in page.text
    text = (written[0] / "report.html").read_text()
    assert EVIL not in text
    assert "<title>Mine &lt;script&gt;" in text
    assert not any("src" in attributes for attributes, _ in page.scripts)


@pytest.mark.system
@pytest.mark.xdist_group("browser")
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (320, "dark")])
def test_figures_are_drawn_in_a_browser_without_errors_or_network(
    open_page, written, width, scheme
):
    path = written[0] / "report.html"
    page = open_page(path, width=width, scheme=scheme)
    # Accuracy with and without oracle, time, two parameters, convergence.
    assert page.js("[...document.images].filter(image => image.naturalWidth > 100).length") == 4
    assert page.js("document.documentElement.scrollWidth") <= width
    page.assert_clean()
    assert path.stat().st_size < 6e6


def write_suite(out, suite="beta", **options):
    book = Book()
    book.add("DALMC", done([0.5, 0.6]), suite=suite, point=0.1)
    return write_outputs(out, book.entries, book.results, book.sets, [], **options)


def files(out):
    return {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}


def test_another_suite_replaces_the_outputs(tmp_path):
    write_suite(tmp_path)
    assert {"tables/beta-digits.md", "figures/beta.svg"} <= files(tmp_path)
    (tmp_path / "tables" / "mine.md").write_text("my own")
    (tmp_path / "results.sqlite").write_text("hours of work")
    write_suite(tmp_path, "anchors")
    listed = set(json.loads((tmp_path / "outputs.json").read_text()))
    assert files(tmp_path) == listed | {"tables/mine.md", "results.sqlite", "outputs.json"}
    assert {"tables/anchors-digits.md", "figures/anchors.svg"} <= listed
    assert not any("beta" in name for name in listed)


def test_manifest_never_removes_other_files(tmp_path):
    out = tmp_path / "out"
    kept = [tmp_path / "x", out / "results.sqlite", out / "sub" / "x.md", out / "tables" / "x.md"]
    for path in (*kept, out / "tables" / "gone.md"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("stays")
    (out / "tables" / "link").symlink_to(tmp_path)
    names = [
        *("../x", "tables/../../x", "tables/../tables/x.md", "results.sqlite", "sub/x.md"),
        *(str(tmp_path / "x"), "tables/link/x", "tables", ".", "", "\0", "tables/not there"),
        "tables/gone.md",
    ]
    (out / "outputs.json").write_text(json.dumps(names))
    write_suite(out)
    assert [path.read_text() for path in kept] == ["stays"] * len(kept)
    assert not (out / "tables" / "gone.md").exists()


def test_five_data_sets_have_a_picture_of_ranks(tmp_path):
    book = Book(*"abcde")
    for one in book.sets:
        for column, score in (("AMGL", 0.5), (EVIL, 0.7)):
            book.add(column, done([score]), one.name)
    write_outputs(tmp_path, book.entries, book.results, book.sets, [])
    picture = (tmp_path / "figures" / "ranks.svg").read_text()
    assert "critical difference" in picture
    assert EVIL not in picture
    assert "](figures/ranks.svg)" in (tmp_path / "summary.md").read_text()
