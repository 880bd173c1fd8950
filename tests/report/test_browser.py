"""Report pages in a real browser: charts, themes, widths, keyboard, tables."""

import pytest

from helpers.browsing import barriers_of, unfold, wait_for_frames
from helpers.pages import EVIL

pytestmark = [pytest.mark.system, pytest.mark.xdist_group("browser")]


def test_charts_and_map_are_drawn_without_errors_network_or_scripts(open_page, report_path):
    page = open_page(report_path)
    unfold(page)
    assert page.ask("drawnPixels") > 500
    images = page.page.locator("figure img")
    assert images.count() >= 3
    assert images.evaluate_all("(all) => all.every((i) => i.naturalWidth > 200 && i.alt)")
    assert page.page.locator("h1").inner_text() == EVIL
    page.assert_clean()


def bottom(page, selector):
    return page.js(f"document.querySelector({selector!r}).getBoundingClientRect().bottom")


@pytest.mark.parametrize(("width", "height", "screens"), [(1280, 900, 1), (360, 740, 2)])
def test_verdict_and_map_are_on_the_first_screens(open_page, report_path, width, height, screens):
    page = open_page(report_path, width=width, height=height)
    assert bottom(page, "#verdict") <= height
    assert bottom(page, "#verdict") < bottom(page, "#map-canvas") <= screens * height


def test_dark_and_light_theme(open_page, report_path):
    light = open_page(report_path).ask("colors")
    page = open_page(report_path, scheme="dark")
    dark = page.ask("colors")
    assert light[0] == "rgb(255, 255, 255)"
    assert dark[0] != light[0]
    # Charts are inverted.
    assert (light[1], dark[1]) == ("none", "invert(1) hue-rotate(180deg)")
    page.page.get_by_role("button", name="Light colors").click()
    assert page.ask("colors") == light
    assert page.page.get_by_role("button", name="Dark colors").is_visible()
    # Changes of the system are noticed with the next frame, so both must be in different frames.
    page.page.emulate_media(color_scheme="light")
    wait_for_frames(page)
    page.page.emulate_media(color_scheme="dark")
    page.page.wait_for_selector('html[data-theme="dark"]')
    assert page.ask("colors") == dark


@pytest.mark.parametrize("width", [320, 390])
def test_narrow_screens_need_no_horizontal_scrolling(open_page, report_path, width):
    page = open_page(report_path, width=width, height=844)
    unfold(page)
    assert page.js("document.documentElement.scrollWidth") <= width
    assert page.ask("tooWide") == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_axe_finds_no_violation(open_page, report_path, width, scheme):
    page = open_page(report_path, width=width, scheme=scheme)
    assert barriers_of(page.page) == []
    unfold(page)
    assert barriers_of(page.page) == []


def test_tables_say_that_they_scroll(open_page, report_path):
    page = open_page(report_path, width=360, height=844)
    wait_for_frames(page)
    narrow = page.ask("scrollHints")
    assert [True, True] in narrow
    assert [True, False] not in narrow
    assert [False, True] not in narrow


def test_keyboard_focus_is_visible_everywhere(open_page, report_path):
    page = open_page(report_path)
    stops = []
    for _ in range(90):
        page.page.keyboard.press("Tab")
        wait_for_frames(page)
        stops.append(page.ask("focused"))
    assert stops[0]["text"] == "Skip to the content"
    assert stops[0]["visible"]
    assert stops[1]["name"] == "theme"
    names = {stop["name"] for stop in stops}
    assert {"sort", "link"} <= names
    assert {"map-canvas", "map-color", "map-lasso", "cards-search"} <= names
    ours = [stop for stop in stops if stop["name"] != "BODY"]
    assert [s for s in ours if s["outline"] != "solid" or not s["visible"]] == []


def test_click_on_a_column_header_sorts_the_table(open_page, report_path):
    page = open_page(report_path)
    page.page.get_by_text("Weights and agreement, and why they are not importance").click()
    # Weights of the views differ, unlike sizes of clusters.
    head = page.page.get_by_role("button", name="Weight", exact=True).first
    table = page.page.locator("table", has=head).first
    column = table.locator("thead th").all_inner_texts().index("Weight")

    def values():
        cells = table.locator(f"tbody tr > :nth-child({column + 1})").all_inner_texts()
        return [float(cell) for cell in cells]

    assert len(set(values())) > 1
    head.click()
    assert values() == sorted(values())
    head.click()
    assert values() == sorted(values(), reverse=True)
    assert table.locator('th[aria-sort="descending"]').inner_text().startswith("Weight")
