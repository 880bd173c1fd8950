"""Make the README's picture: the first screen of a report on the digits.

    python docs/picture.py

Requires chromium and the Python package playwright (``pip install ".[dev]"``).
"""

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import sync_playwright

from anchorview import AutoDALMC, load_digits
from anchorview.report import write_fit_report

PICTURE = Path(__file__).parent / "images" / "report.png"
SIZE = {"width": 1100, "height": 820}


def main() -> None:
    views = load_digits().views
    model = AutoDALMC(n_clusters=10, random_state=0).fit(views)
    doubtful = int(model.confidence_.argmin())
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        page_file = Path(folder) / "report.html"
        pixels = views["pixels"].reshape(-1, 16, 15)
        write_fit_report(page_file, model, views, name="Handwritten digits", thumbnails=pixels)
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport=SIZE, device_scale_factor=1.5)
        page.goto(page_file.as_uri())
        page.wait_for_selector("html[data-drawn]")
        canvas = page.locator("#map-canvas")
        place = canvas.evaluate("(canvas, row) => canvas.placeOf(row)", doubtful)
        canvas.hover(position=place)
        page.wait_for_timeout(500)
        PICTURE.parent.mkdir(exist_ok=True)
        page.screenshot(path=PICTURE)
        browser.close()


if __name__ == "__main__":
    main()
