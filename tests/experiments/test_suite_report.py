"""All outputs of a suite, and its report page."""

import re
from html.parser import HTMLParser

import pytest

from anchorview.experiments.output.escaping import markdown_escaped
from anchorview.experiments.output.output_folder import write_outputs
from anchorview.experiments.output.protocol_text import protocol
from helpers.handmade import ODD, Book, done, whole_book

pytest.importorskip("bokeh")
pytest.importorskip("matplotlib")

EVIL = "<script>window.hacked=1</script>"
ENVIRONMENT = {"python": "3.13.0", "blas": ["openblas 0.3"], "cpu": EVIL, "memory": 8 * 2**30}
COMMAND = f"anchorview experiment run all --data '{EVIL}'"


class Page(HTMLParser):
    """What a reader of a page sees, and its scripts."""

    def __init__(self, text):
        super().__init__()
        self.headings, self.words, self.scripts, self._open = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        if tag in ("h2", "script", "style"):
            self._open.append(tag)
        if tag == "script":
            self.scripts.append(dict(attrs))

    def handle_endtag(self, tag):
        if self._open and self._open[-1] == tag:
            self._open.pop()

    def handle_data(self, data):
        if not self._open:
            self.words.append(data)
        elif self._open[-1] == "h2":
            self.headings.append(data)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    out = tmp_path_factory.mktemp("outputs") / "made" / "here"
    book = whole_book("Flower17", EVIL, published_as="Flower17")
    paths = write_outputs(
        out, book.entries, book.results, book.sets, [ENVIRONMENT], COMMAND, f"Mine {EVIL}"
    ).paths
    return out, paths, book


@pytest.fixture(scope="module")
def page(written):
    return Page((written[0] / "report.html").read_text())


def test_all_files_are_there_and_told(written):
    out, paths, _ = written
    found = {path for path in out.rglob("*") if path.is_file()}
    assert found == set(paths)
    assert {path.suffix for path in (out / "tables").iterdir()} == {".md", ".csv", ".tex"}
    assert {path.suffix for path in (out / "figures").iterdir()} == {".svg", ".png"}
    assert {path.name for path in out.iterdir() if path.is_file()} == {
        "outputs.json",
        "summary.md",
        "report.html",
    }


def test_the_summary_has_all_tables_and_links_to_figures(written):
    out, _, book = written
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


def test_the_page_has_all_sections(page):
    assert page.headings == [
        "Overview",
        "Ranks",
        "Accuracy",
        "Time and accuracy",
        "Parameters",
        "Missing views",
        "Convergence",
        "Tables",
        "Comparison with the paper",
        "Not done",
        "Protocol",
        "To repeat it",
    ]


def test_the_page_says_what_was_done_and_what_not(written, page):
    text = " ".join(" ".join(page.words).split())
    assert "jobs done 50 of 52" in text
    assert "jobs out of memory 2" in text
    assert f"more than 1 GB <i>{ODD}</i>" in text
    assert COMMAND in text
    assert "DALMC (oracle)" in text
    for paragraph in protocol(written[2].frame()):
        assert paragraph in text


def test_names_on_the_page_are_text(written, page):
    text = (written[0] / "report.html").read_text()
    assert EVIL not in text
    assert "<title>Mine &lt;script&gt;" in text
    assert EVIL in " ".join(page.words)
    assert not any("src" in script for script in page.scripts)


def test_every_chart_is_drawn_for_every_data_set(page):
    charts = [script for script in page.scripts if "data-chart" in script]
    # Accuracy, time, beta, anchors, two of missing views, convergence; two data sets.
    assert len(charts) == 2 * 7


def test_a_suite_that_has_only_begun_has_a_page(tmp_path):
    book = Book()
    for suite in ("compare", "runtime", "convergence"):
        book.add("DALMC", None, suite=suite)
    for suite in ("beta", "anchors", "incomplete"):
        book.add("DALMC", None, suite=suite, point=0.1)
    book.add("DALMC", done([0.5]))
    write_outputs(tmp_path, book.entries, book.results, book.sets, [])
    text = (tmp_path / "report.html").read_text()
    assert "<title>Experiments</title>" in text
    assert (tmp_path / "summary.md").read_text().startswith("# Experiments\n")
    page = Page(text)
    assert "Not done" in page.headings
    assert "To repeat it" not in page.headings
    assert not [script for script in page.scripts if "data-chart" in script][2:]
