"""The report page of a suite in a real browser."""

import pytest

from anchorview.experiments.outputs import write_outputs
from helpers.handmade import whole_book
from helpers.pages import EVIL

pytestmark = [pytest.mark.system, pytest.mark.xdist_group("browser")]


@pytest.fixture(scope="module")
def report_path(tmp_path_factory):
    book = whole_book("digits", EVIL)
    out = tmp_path_factory.mktemp("suite")
    write_outputs(out, book.entries, book.results, book.sets, [], f"anchorview {EVIL}")
    return out / "report.html"


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (320, "dark")])
def test_all_figures_are_drawn_without_errors_or_network(open_page, report_path, width, scheme):
    page = open_page(report_path, width=width, scheme=scheme)
    # Accuracy with and without oracle, time, two parameters, two of missing views, convergence.
    assert page.js("[...document.images].filter(image => image.naturalWidth > 100).length") == 8
    assert page.js("document.documentElement.scrollWidth") <= width
    page.assert_clean()
    assert report_path.stat().st_size < 6e6
