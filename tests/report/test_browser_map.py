"""The map of the samples in a real browser."""

import csv
import io

import numpy as np
import pytest

from anchorview.report import write_fit_report
from helpers.browsing import hover, position, wait_for_frames

pytestmark = [pytest.mark.system, pytest.mark.xdist_group("browser")]


def pixels(page):
    wait_for_frames(page)
    return page.js("document.getElementById('map-canvas').toDataURL()")


def downloaded(page, button):
    with page.page.expect_download() as waiting:
        page.page.get_by_role("button", name=button).click()
    return waiting.value.path().read_text(encoding="utf-8")


def test_tooltips_show_the_sample_and_run_no_scripts_and_samples_are_found(
    open_page, report_path, incomplete_fit
):
    sample_ids = incomplete_fit[3]
    page = open_page(report_path)
    text = hover(page, 3)
    shown = text.splitlines()[0]
    # Another sample may be as near.
    assert shown[:60] in "\n".join(sample_ids)
    assert "<img src=x" in text
    for name in ("Cluster", "Confidence", "Next cluster", "Class", "Views"):
        assert name in text
    page.assert_clean()
    search = page.page.get_by_label("Find samples")
    search.fill(sample_ids[7])
    search.press("Enter")
    assert page.page.locator("#map-status").inner_text().startswith("1 sample on the map matches")
    assert page.page.locator("#map-tip").is_visible()
    search.fill("no such sample")
    search.press("Enter")
    assert page.page.locator("#map-status").inner_text().startswith("No sample")
    page.assert_clean()


def test_clusters_are_numbered_and_every_coloring_is_another_picture(
    open_page, report_path, incomplete_fit
):
    page = open_page(report_path)
    numbers = page.js("document.getElementById('map-canvas').dataset.labels")
    assert int(numbers) == incomplete_fit[0].n_clusters_
    select = page.page.get_by_label("Color", exact=True)
    values = select.locator("option").evaluate_all("(all) => all.map((o) => o.value)")
    assert values == ["cluster", "class", "confidence", "availability"]
    pictures = []
    for value in values:
        select.select_option(value)
        pictures.append(pixels(page))
        legend = page.page.locator("#map-legend")
        assert legend.is_visible() == (value in ("confidence", "availability"))
        assert legend.locator("li").count() <= 8
    assert len(set(pictures)) == 4
    page.assert_clean()


def test_lasso_selects_samples_and_downloads_their_ids(open_page, report_path, incomplete_fit):
    model, _, _, sample_ids = incomplete_fit
    page = open_page(report_path)
    page.page.get_by_role("button", name="Select with a lasso").click()
    places = [
        page.js("(r) => document.getElementById('map-canvas').placeOf(r)", row)
        for row in range(240)
    ]
    position(page, 0)
    box = page.page.locator("#map-canvas").bounding_box()
    # The left half of the plane.
    half = box["width"] / 2
    corners = [(2, 2), (half, 2), (half, box["height"] - 2), (2, box["height"] - 2), (2, 2)]
    mouse = page.page.mouse
    mouse.move(box["x"] + 2, box["y"] + 2)
    mouse.down()
    for x, y in corners:
        mouse.move(box["x"] + x, box["y"] + y, steps=5)
    mouse.up()
    expected = [row for row, place in enumerate(places) if place["x"] < half]
    assert 20 < len(expected) < 220
    assert page.page.locator("#map-status").inner_text().startswith(f"{len(expected)} samples")
    button = f"Download {len(expected)} ids"
    rows = list(csv.DictReader(io.StringIO(downloaded(page, button), newline="")))
    assert [row["sample"] for row in rows] == [sample_ids[row] for row in expected]
    assert [row["cluster"] for row in rows] == [str(model.labels_[row]) for row in expected]
    page.page.get_by_role("button", name="Clear").click()
    assert page.page.locator("#map-download").is_hidden()
    page.assert_clean()


def test_keys_move_and_zoom_and_the_wheel_scrolls_the_page(open_page, report_path):
    page = open_page(report_path)
    place = position(page, 0)
    before = pixels(page)
    page.page.locator("#map-canvas").focus()
    for key in ("+", "ArrowLeft", "ArrowUp", "-"):
        picture = pixels(page)
        page.page.keyboard.press(key)
        assert pixels(page) != picture
    page.page.keyboard.press("0")
    assert pixels(page) == before
    page.page.mouse.move(place["x"], place["y"])
    page.page.mouse.wheel(0, 200)
    page.page.wait_for_function("() => scrollY > 100")
    page.page.mouse.move(5, 5)
    assert pixels(page) == before


def test_the_switch_of_levels_changes_map_and_cards(open_page, tmp_path, nested_fit):
    views, model = nested_fit
    write_fit_report(tmp_path / "levels.html", model, views)
    page = open_page(tmp_path / "levels.html")
    assert "Cluster\ncluster 0" in hover(page, int(np.flatnonzero(model.labels_ == 0)[0]))
    page.page.get_by_role("button", name="Fine 9").click()
    wait_for_frames(page)
    assert page.page.locator("#map-canvas").get_attribute("data-labels") == "9"
    assert page.page.locator(".card:visible").count() == 9
    row = int(np.flatnonzero(model.labels_at(9) == 8)[0])
    assert "Cluster\ncluster 8" in hover(page, row)
    card = page.page.locator("#Fine-cluster-8")
    card.locator(".more > summary").click()
    card.get_by_role("button", name="Select on the map").click()
    count = int((model.labels_at(9) == 8).sum())
    assert page.page.locator("#map-status").inner_text().startswith(f"{count} samples selected")
    page.page.get_by_role("button", name="Coarse 3").click()
    assert page.page.locator(".card:visible").count() == 3
    page.assert_clean()


def test_representatives_and_doubtful_samples_are_shown_on_the_map(open_page, report_path):
    page = open_page(report_path)
    page.page.get_by_text("How sure is this?").click()
    page.page.get_by_text("Doubtful samples", exact=True).first.click()
    for place in ("#cards", "table:has(.link)"):
        link = page.page.locator(place).first.locator("button.link").first
        link.click()
        tip = page.page.locator("#map-tip")
        tip.wait_for(state="visible")
        assert tip.locator("strong").inner_text()[:40] in link.text_content()
        box = page.page.locator("#map-canvas").bounding_box()
        assert box["y"] + box["height"] > 0
        assert box["y"] < 900
