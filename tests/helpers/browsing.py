"""A real browser for tests of pages: chromium, driven by playwright."""

import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

CHECKS = Path(__file__).with_name("report_checks.js").read_text(encoding="utf-8")

AXE = Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"
"""Of the npm package axe-core."""


def barriers_of(page: Any) -> list[tuple[str, str]]:
    """Rules of WCAG, levels A and AA, that a page violates by axe-core, each with an element."""
    if not AXE.exists():
        pytest.skip("npm install axe-core")
    page.evaluate(AXE.read_text(encoding="utf-8"))
    levels = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]}
    found = page.evaluate("levels => axe.run(document, levels)", levels)["violations"]
    return [(rule["id"], rule["nodes"][0]["html"]) for rule in found]


@dataclass
class OpenPage:
    """A page in the browser, with the errors, warnings and requests so far."""

    page: Any
    url: str
    problems: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def js(self, expression: str, argument: Any = None) -> Any:
        """Evaluate a JavaScript expression, or call a function."""
        return self.page.evaluate(expression, argument)

    def run(self, body: str) -> Any:
        """Run the body of a JavaScript function."""
        return self.js(f"() => {{ {body} }}")

    def ask(self, check: str, argument: Any = None) -> Any:
        """Result of one of the functions of ``report_checks.js``."""
        return self.js(f"(argument) => {{ {CHECKS}\nreturn {check}(argument); }}", argument)

    def assert_clean(self) -> None:
        """Assert that there were no errors, no requests, and no injected scripts."""
        assert self.problems == []
        assert self.requests == [self.url]
        assert self.js("window.hacked") is None


def unfold(page: OpenPage) -> None:
    """Open all folded parts."""
    page.run('document.querySelectorAll("details").forEach((fold) => (fold.open = true));')
    wait_for_frames(page)


def wait_for_frames(page: OpenPage) -> None:
    """Wait until pending changes are drawn."""
    page.js("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


@pytest.fixture(scope="session")
def chromium():
    required = bool(os.environ.get("ANCHORVIEW_REQUIRE_BROWSER"))
    # Machines of GitHub have the latter.
    program = shutil.which("chromium") or shutil.which("google-chrome")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        program = None
    if program is None:
        if required:
            pytest.fail("ANCHORVIEW_REQUIRE_BROWSER is set, but there is no chromium or playwright")
        pytest.skip("the browser chromium or playwright is not here")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def open_page(chromium):
    """Open a file and wait until its charts are drawn."""
    contexts = []

    def open_file(
        path: Path, width: int = 1280, height: int = 900, scheme: str = "light"
    ) -> OpenPage:
        context = chromium.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme
        )
        contexts.append(context)
        page = context.new_page()
        result = OpenPage(page, path.as_uri())

        def listen(message):
            if message.type in ("error", "warning"):
                result.problems.append(message.text)

        page.on("console", listen)
        page.on("pageerror", lambda error: result.problems.append(str(error)))
        page.on("request", lambda request: result.requests.append(request.url))
        page.goto(result.url)
        page.wait_for_selector("html[data-drawn]", timeout=30_000)
        return result

    yield open_file
    for context in contexts:
        context.close()


def position(page, row):
    """Bring the map to the middle of the screen; return the place of a sample."""
    return page.ask("placeOnScreen", row)


def hover(page, row):
    """Text of the tooltip of a sample on the map."""
    place = position(page, row)
    page.page.mouse.move(place["x"], place["y"])
    tip = page.page.locator("#map-tip")
    tip.wait_for(state="visible", timeout=10_000)
    return tip.inner_text()
