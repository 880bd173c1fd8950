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
def test_all_charts_are_drawn_without_errors_or_network(open_page, report_path, width, scheme):
    page = open_page(report_path, width=width, scheme=scheme)
    charts = page.page.locator(".chart").all()
    # Accuracy with and without oracle, time, two parameters, two of missing views, convergence;
    # two data sets.
    assert len(charts) == 16
    for chart in charts:
        chart.scroll_into_view_if_needed()
        assert chart.locator("canvas").count() > 0
        box = chart.bounding_box()
        page.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=2)
    assert page.js("document.documentElement.scrollWidth") <= width
    page.assert_clean()
    assert report_path.stat().st_size < 6e6


def test_bars_have_tooltips(open_page, report_path):
    page = open_page(report_path)
    chart = page.page.locator(".chart").first
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    texts = []
    for percent in range(10, 90, 4):
        page.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] * percent / 100)
        page.page.wait_for_timeout(30)
        texts.append(page.tooltip_text())
    assert any("DALMC" in text for text in texts)
