"""The page of a suite in a real browser."""

from collections import Counter

import pytest

from anchorview.experiments.output.suite_report import write_suite_report
from anchorview.experiments.output.tables import tables
from helpers.handmade import whole_book

pytestmark = pytest.mark.xdist_group("browser")

EVIL = "<script>window.hacked=1</script><img src=x onerror=window.hacked=1>"


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    book = whole_book("digits", EVIL)
    path = tmp_path_factory.mktemp("suite") / "report.html"
    frame = book.frame()
    found = tables(frame, book.sets)
    write_suite_report(path, frame, found, Counter(done=40, memory=2), f"anchorview {EVIL}")
    return path


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (320, "dark")])
def test_all_charts_are_drawn_and_nothing_else_runs(open_page, page_file, width, scheme):
    page = open_page(page_file, width=width, scheme=scheme)
    charts = page.page.locator(".chart")
    # Accuracy, time, two settings, two of missing views, convergence; of two data sets.
    assert charts.count() >= 14
    for position in range(charts.count()):
        chart = charts.nth(position)
        chart.scroll_into_view_if_needed()
        assert chart.locator("canvas").count() > 0
        place = chart.bounding_box()
        page.page.mouse.move(
            place["x"] + place["width"] / 2, place["y"] + place["height"] / 2, steps=2
        )
    assert page.js("() => document.documentElement.scrollWidth") <= width
    assert page.js("() => window.hacked") is None
    assert page.problems == []
    assert page.requests == [page_file.as_uri()]
    assert page_file.stat().st_size < 6e6


def test_bars_answer_the_pointer(open_page, page_file):
    page = open_page(page_file)
    # The bar of a method reaches from 0 to its accuracy: half way it is under the pointer.
    chart = page.page.locator(".chart").first
    chart.scroll_into_view_if_needed()
    place = chart.bounding_box()
    said = []
    for share in range(10, 90, 4):
        page.page.mouse.move(
            place["x"] + place["width"] / 2, place["y"] + place["height"] * share / 100
        )
        page.page.wait_for_timeout(30)
        said.append(page.said())
    assert any("DALMC" in text for text in said)
