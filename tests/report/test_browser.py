"""Report pages in a real browser."""

from uuid import UUID

import numpy as np
import pytest

from anchorview.plotting.charts import SampleMap
from anchorview.report.page import Chart, Section, write_page
from helpers.browsing import DEEP_QUERY, TOOLTIP_TEXT
from helpers.pages import EVIL

pytestmark = pytest.mark.xdist_group("browser")

# Position of a sample of the map on the screen, and its id.
POSITION = """
(index) => {
  const view = [...Bokeh.index.roots][0];
  view.el.scrollIntoView({ block: "center", behavior: "instant" });
  const { data } = view.model.renderers[0].data_source;
  const box = view.canvas_view.el.getBoundingClientRect();
  return {
    x: box.x + view.frame.x_scale.compute(data.x[index]),
    y: box.y + view.frame.y_scale.compute(data.y[index]),
    id: String(data.id[index]),
  };
}
"""


WIDTH = "(() => { const r = [...Bokeh.index.roots][0].model.x_range; return r.end - r.start; })()"


def wait_for_frames(page):
    """Wait until pending changes are drawn."""
    page.js("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def hover(page, index):
    """Move the pointer onto a sample of the map; return its id."""
    position = page.js(POSITION, index)
    page.page.mouse.move(position["x"] - 40, position["y"] - 40)
    page.page.mouse.move(position["x"], position["y"])
    return position["id"]


def test_all_charts_are_drawn_without_errors_or_network(open_page, report_path):
    page = open_page(report_path)
    n_pixels = page.run(
        DEEP_QUERY
        + """
        return [...document.querySelectorAll(".chart")].map((chart) => {
          let n_pixels = 0;
          for (const canvas of deep("canvas", chart)) {
            const context = canvas.getContext("2d");
            if (!context || !canvas.width) continue;
            const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
            for (let i = 3; i < data.length; i += 4) n_pixels += data[i] > 0;
          }
          return n_pixels;
        });
        """
    )
    assert len(n_pixels) >= 10
    assert min(n_pixels) > 500
    page.assert_clean()


def test_tooltips_show_the_sample_and_run_no_scripts(open_page, report_path):
    page = open_page(report_path)
    sample_id = hover(page, 3)
    text = page.tooltip()
    assert sample_id in text
    assert "Confidence" in text
    # In all charts, with names of views on axes and in tooltips.
    for chart in page.page.locator(".chart").all():
        chart.scroll_into_view_if_needed()
        box = chart.bounding_box()
        for fraction in (0.3, 0.5, 0.7):
            page.page.mouse.move(
                box["x"] + fraction * box["width"], box["y"] + fraction * box["height"]
            )
            wait_for_frames(page)
    assert page.run(DEEP_QUERY + 'return deep("img").length') == 0
    assert page.page.locator("h1").inner_text() == EVIL
    page.assert_clean()


def test_map_of_100000_points_is_responsive(open_page, tmp_path):
    n = 100_000
    random = np.random.RandomState(0)
    labels = random.randint(0, 12, n)
    positions = random.standard_normal((n, 2)) + 4 * random.standard_normal((12, 2))[labels]
    sample_ids = [str(UUID(bytes=random.bytes(16))) for _ in range(n)]
    classes = np.array([f"class {label}" for label in labels])
    rows, confidence = np.arange(n), random.random_sample(n)
    chart = SampleMap(rows, positions.astype(np.float32), labels, sample_ids, confidence, classes)
    path = tmp_path / "large.html"
    write_page(path, "Many", "samples", [Section("Map", [Chart(chart, "a map")])])
    assert path.stat().st_size < 6e6

    page = open_page(path)
    page.js(POSITION, 0)
    page.run(
        """
        window.moves = [];
        addEventListener("pointermove", () => moves.push(performance.now()), true);
        """
    )
    sample_id = hover(page, 17)
    tooltip_seconds = page.js(
        f"""async (id) => {{
            {TOOLTIP_TEXT}
            const end = performance.now() + 10000;
            while (!tooltipText().includes(id) && performance.now() < end)
              await new Promise(requestAnimationFrame);
            return (performance.now() - moves[moves.length - 1]) / 1000;
        }}""",
        sample_id,
    )
    assert tooltip_seconds < 3
    zoom_seconds = page.js(
        """async () => {
            const { x_range } = [...Bokeh.index.roots][0].model;
            const start = performance.now();
            x_range.setv({ start: x_range.start / 2, end: x_range.end / 2 });
            for (let i = 0; i < 3; i++) await new Promise(requestAnimationFrame);
            return (performance.now() - start) / 1000;
        }"""
    )
    assert zoom_seconds < 3
    page.assert_clean()


def test_wheel_scrolls_the_page_until_zoom_is_selected(open_page, report_path):
    page = open_page(report_path)
    hover(page, 0)
    width, top = page.js(WIDTH), page.js("scrollY")
    page.page.mouse.wheel(0, 200)
    page.page.wait_for_function("(top) => scrollY > top", arg=top)
    assert page.js(WIDTH) == width
    page.js(POSITION, 0)
    page.page.locator(".bk-tool-icon-wheel-zoom").first.click()
    hover(page, 0)
    page.page.mouse.wheel(0, -200)
    page.page.wait_for_function(f"(width) => {WIDTH} < width", arg=width)


def colors(page):
    """Background of the page, and actual and expected color of the text of an axis."""
    return page.run(
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


def test_dark_and_light_theme(open_page, report_path):
    light = colors(open_page(report_path))
    page = open_page(report_path, scheme="dark")
    dark = colors(page)
    assert light[0] == "rgb(255, 255, 255)"
    assert dark[0] != light[0]
    assert dark[1] == dark[2] != light[1] == light[2]
    button = page.page.get_by_role("button", name="Dark colors")
    assert button.get_attribute("aria-pressed") == "true"
    button.click()
    assert colors(page) == light
    assert button.get_attribute("aria-pressed") == "false"
    # Changes of the system are noticed with the next frame, so both must be in different frames.
    page.page.emulate_media(color_scheme="light")
    wait_for_frames(page)
    page.page.emulate_media(color_scheme="dark")
    page.page.wait_for_selector('html[data-theme="dark"]')
    assert colors(page) == dark


@pytest.mark.parametrize("width", [320, 390])
def test_narrow_screens_need_no_horizontal_scrolling(open_page, report_path, width):
    page = open_page(report_path, width=width, height=844)
    assert page.js("document.documentElement.scrollWidth") <= width
    too_wide = page.run(
        """
        return [...document.querySelectorAll("main *, header *")]
          .filter((e) => !e.closest(".scroll") && !e.closest(".hidden"))
          .filter((e) => e.getBoundingClientRect().right > innerWidth + 1)
          .map((e) => e.outerHTML.slice(0, 80));
        """
    )
    assert too_wide == []


def test_keyboard_focus_is_visible_everywhere(open_page, report_path):
    page = open_page(report_path)
    stops = []
    for _ in range(80):
        page.page.keyboard.press("Tab")
        wait_for_frames(page)
        stops.append(
            page.run(
                """
                const e = document.activeElement;
                const box = e.getBoundingClientRect();
                return {
                  name: e.id || e.className || e.tagName,
                  text: e.textContent.slice(0, 30).trim(),
                  outline: getComputedStyle(e).outlineStyle,
                  visible: box.bottom > 0 && box.top < innerHeight && box.width > 0,
                };
                """
            )
        )
    assert stops[0]["text"] == "Skip to the content"
    assert stops[0]["visible"]
    assert stops[1]["name"] == "theme"
    assert {"scroll", "sort"} <= {stop["name"] for stop in stops}
    ours = [stop for stop in stops if stop["name"] in ("skip", "theme", "scroll", "sort", "A")]
    assert all(stop["outline"] == "solid" and stop["visible"] for stop in ours)


def test_click_on_a_column_header_sorts_the_table(open_page, report_path):
    page = open_page(report_path)
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
