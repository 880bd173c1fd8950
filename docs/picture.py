"""Make the README's picture: the map in the report of a fit of the digits, in a real browser.

    python docs/picture.py

Needs Debian's chromium and the Python package playwright (``pip install ".[dev]"``).
"""

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import sync_playwright

from anchorview import AutoDALMC, load_digits
from anchorview.report import write_fit_report

PICTURE = Path(__file__).parent / "images" / "report.png"
SIZE = {"width": 1100, "height": 820}

# Where on the screen the most doubtful sample of a cluster is.
PLACE = """
() => {
  const view = [...Bokeh.index.roots][0];
  const top = view.el.getBoundingClientRect().top + scrollY - 180;
  window.scrollTo({ top, behavior: "instant" });
  const { data } = view.model.renderers[2].data_source;
  const position = data.confidence.indexOf(Math.min(...data.confidence));
  const box = view.canvas_view.el.getBoundingClientRect();
  return {
    x: box.x + view.frame.x_scale.compute(data.x[position]),
    y: box.y + view.frame.y_scale.compute(data.y[position]),
  };
}
"""


def main() -> None:
    views, y = load_digits(return_X_y=True)
    model = AutoDALMC(n_clusters=10, random_state=0).fit(views)
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        page_file = Path(folder) / "report.html"
        write_fit_report(page_file, model, views, target=y, name="Handwritten digits")
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport=SIZE, device_scale_factor=1.5)
        page.goto(page_file.as_uri())
        page.wait_for_selector("html[data-drawn]")
        place = page.evaluate(PLACE)
        page.mouse.move(place["x"] - 30, place["y"])
        page.mouse.move(place["x"], place["y"])
        page.wait_for_timeout(500)
        PICTURE.parent.mkdir(exist_ok=True)
        page.screenshot(path=PICTURE)
        browser.close()


if __name__ == "__main__":
    main()
