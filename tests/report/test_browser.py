"""The pages in a real browser."""

from uuid import UUID

import numpy as np
import pytest

from anchorview.report.flat_map import FlatMap
from anchorview.report.map_chart import map_chart
from anchorview.report.page import Chart, Section, write_page
from helpers.browsing import DEEP, SAID, function

pytestmark = pytest.mark.xdist_group("browser")

# Where on the screen a sample of the map is, and what it is called.
PLACE = """
(position) => {
  const view = [...Bokeh.index.roots][0];
  view.el.scrollIntoView({ block: "center", behavior: "instant" });
  const points = view.model.renderers[0];
  const data = points.data_source.data;
  const box = view.canvas_view.el.getBoundingClientRect();
  return {
    x: box.x + view.frame.x_scale.compute(data.x[position]),
    y: box.y + view.frame.y_scale.compute(data.y[position]),
    id: String(data.id[position]),
  };
}
"""


def frames(page):
    """Wait until what was asked for is drawn."""
    page.js("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def pointed_at(page, position=0):
    """Move the pointer onto a sample of the map; returns what it is called."""
    place = page.js(PLACE, position)
    page.page.mouse.move(place["x"] - 40, place["y"] - 40)
    page.page.mouse.move(place["x"], place["y"])
    return place["id"]


def test_no_errors_no_network_and_every_chart_drawn(open_page, small_report):
    page = open_page(small_report)
    drawn = page.js(
        function(
            DEEP
            + """
            return [...document.querySelectorAll(".chart")].map((chart) => {
              let inked = 0;
              for (const canvas of deep("canvas", chart)) {
                const context = canvas.getContext("2d");
                if (!context || !canvas.width) continue;
                const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
                for (let i = 3; i < data.length; i += 4) inked += data[i] > 0;
              }
              return inked;
            });
            """
        )
    )
    assert len(drawn) >= 10
    assert min(drawn) > 500
    assert page.problems == []
    assert page.requests == [small_report.as_uri()]


def test_hover_names_the_sample_and_runs_nothing(open_page, small_report, evil):
    page = open_page(small_report)
    name = pointed_at(page, 3)
    text = page.tooltip()
    assert name in text
    assert "Confidence" in text
    # All charts, the views' names on axes and in tooltips among them.
    for chart in range(page.page.locator(".chart").count()):
        box = page.page.locator(".chart").nth(chart)
        box.scroll_into_view_if_needed()
        place = box.bounding_box()
        for share in (0.3, 0.5, 0.7):
            page.page.mouse.move(
                place["x"] + share * place["width"], place["y"] + share * place["height"]
            )
            frames(page)
    assert page.js("() => window.hacked") is None
    assert page.js(function(DEEP + 'return deep("img").length')) == 0
    assert page.page.locator("h1").inner_text() == evil
    assert page.problems == []
    assert page.requests == [small_report.as_uri()]


def test_100000_points_stay_responsive(open_page, tmp_path):
    n = 100_000
    random = np.random.RandomState(0)
    labels = random.randint(0, 12, n)
    places = random.standard_normal((n, 2)) + 4 * random.standard_normal((12, 2))[labels]
    ids = [str(UUID(bytes=random.bytes(16))) for _ in range(n)]
    flat = FlatMap(np.arange(n), places.astype(np.float32))
    classes = np.array([f"class {label}" for label in labels])
    chart = map_chart(flat, labels, ids, random.random_sample(n), classes)
    path = tmp_path / "large.html"
    write_page(path, "Many", "samples", [Section("Map", [Chart(chart, "a map")])])
    assert path.stat().st_size < 6e6

    page = open_page(path)
    page.js(PLACE, 0)
    page.js(
        function(
            """
            window.moves = [];
            addEventListener("pointermove", () => moves.push(performance.now()), true);
            """
        )
    )
    name = pointed_at(page, 17)
    seconds = page.js(
        f"""async (name) => {{
            {SAID}
            const end = performance.now() + 10000;
            while (!said().includes(name) && performance.now() < end)
              await new Promise(requestAnimationFrame);
            return (performance.now() - moves[moves.length - 1]) / 1000;
        }}""",
        name,
    )
    assert seconds < 3
    zoom = page.js(
        """async () => {
            const { x_range } = [...Bokeh.index.roots][0].model;
            const start = performance.now();
            x_range.setv({ start: x_range.start / 2, end: x_range.end / 2 });
            for (let i = 0; i < 3; i++) await new Promise(requestAnimationFrame);
            return (performance.now() - start) / 1000;
        }"""
    )
    assert zoom < 3
    assert page.problems == []


def test_wheel_scrolls_the_page_until_the_zoom_is_chosen(open_page, small_report):
    page = open_page(small_report)
    place = page.js(PLACE, 0)
    width = "() => { const r = [...Bokeh.index.roots][0].model.x_range; return r.end - r.start; }"
    before, top = page.js(width), page.js("() => scrollY")
    page.page.mouse.move(place["x"], place["y"])
    page.page.mouse.wheel(0, 200)
    page.page.wait_for_function("(top) => scrollY > top", arg=top)
    assert page.js(width) == before
    place = page.js(PLACE, 0)
    page.page.locator(".bk-tool-icon-wheel-zoom").first.click()
    page.page.mouse.move(place["x"], place["y"])
    page.page.mouse.wheel(0, -200)
    page.page.wait_for_function(
        "(before) => { const r = [...Bokeh.index.roots][0].model.x_range;"
        " return r.end - r.start < before; }",
        arg=before,
    )


def colors(page):
    """Background of the page, and of the text of an axis as the chart has it and as it should."""
    return page.js(
        function(
            """
            const style = getComputedStyle(document.documentElement);
            const models = [...Bokeh.index.roots].flatMap((v) => [...v.model.references()]);
            const axis = models.find((m) => m.type === "CategoricalAxis");
            return [
              getComputedStyle(document.body).backgroundColor,
              axis.major_label_text_color,
              style.getPropertyValue("--ink").trim(),
            ];
            """
        )
    )


def test_dark_and_light_colors(open_page, small_report):
    light = colors(open_page(small_report))
    page = open_page(small_report, scheme="dark")
    dark = colors(page)
    assert light[0] == "rgb(255, 255, 255)"
    assert dark[0] != light[0]
    assert dark[1] == dark[2] != light[1] == light[2]
    button = page.page.get_by_role("button", name="Dark colors")
    assert button.get_attribute("aria-pressed") == "true"
    button.click()
    assert colors(page) == light
    assert button.get_attribute("aria-pressed") == "false"
    # The system changes its mind; a page is told when it draws, and of two changes at once never.
    page.page.emulate_media(color_scheme="light")
    frames(page)
    page.page.emulate_media(color_scheme="dark")
    page.page.wait_for_selector('html[data-theme="dark"]')
    assert colors(page) == dark


@pytest.mark.parametrize("width", [320, 390])
def test_a_phone_needs_no_sideways_scrolling(open_page, small_report, width):
    page = open_page(small_report, width=width, height=844)
    assert page.js("() => document.documentElement.scrollWidth") <= width
    wide = page.js(
        function(
            """
            return [...document.querySelectorAll("main *, header *")]
              .filter((e) => !e.closest(".scroll") && !e.closest(".hidden"))
              .filter((e) => e.getBoundingClientRect().right > innerWidth + 1)
              .map((e) => e.outerHTML.slice(0, 80));
            """
        )
    )
    assert wide == []


def test_keyboard_reaches_everything_visibly(open_page, small_report):
    page = open_page(small_report)
    seen = []
    for _ in range(80):
        page.page.keyboard.press("Tab")
        frames(page)
        seen.append(
            page.js(
                function(
                    """
                    const e = document.activeElement;
                    const box = e.getBoundingClientRect();
                    return {
                      is: e.id || e.className || e.tagName,
                      text: e.textContent.slice(0, 30).trim(),
                      outline: getComputedStyle(e).outlineStyle,
                      shown: box.bottom > 0 && box.top < innerHeight && box.width > 0,
                    };
                    """
                )
            )
        )
    assert seen[0]["text"] == "Skip to the content"
    assert seen[0]["shown"]
    assert seen[1]["is"] == "theme"
    kinds = {stop["is"] for stop in seen}
    assert {"scroll", "sort"} <= kinds
    ours = [stop for stop in seen if stop["is"] in ("skip", "theme", "scroll", "sort", "A")]
    assert all(stop["outline"] == "solid" and stop["shown"] for stop in ours)


def test_tables_sort_by_a_click(open_page, small_report):
    page = open_page(small_report)
    # The views' weights differ; the sizes of the clusters need not.
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
