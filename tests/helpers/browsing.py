"""A real browser for tests of pages: Debian's chromium, driven by playwright."""

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

# Bokeh draws inside shadow roots, which plain selectors do not enter.
DEEP = """
const deep = (selector, node = document) => {
  const found = [...node.querySelectorAll(selector)];
  for (const child of node.querySelectorAll("*"))
    if (child.shadowRoot) found.push(...deep(selector, child.shadowRoot));
  return found;
};
"""

# What the tooltips say that can be seen; their shadow roots hold styles too, which say nothing.
SAID = (
    DEEP
    + """
const said = () => deep(".bk-Tooltip")
  .filter((tip) => tip.getBoundingClientRect().width * tip.getBoundingClientRect().height > 0)
  .flatMap((tip) => [...tip.shadowRoot.children].filter((part) => part.tagName !== "STYLE"))
  .map((part) => part.textContent)
  .join(" ");
"""
)


def function(body):
    return f"() => {{ {body} }}"


@dataclass
class Opened:
    """A page in the browser, with all that went wrong and was asked for."""

    page: Any
    problems: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def js(self, code: str, argument: Any = None) -> Any:
        return self.page.evaluate(code, argument)

    def said(self) -> str:
        """What the tooltips that can be seen say."""
        return self.js(function(SAID + "return said();")).strip()

    def tooltip(self) -> str:
        """What a tooltip says that is about to appear."""
        for _ in range(100):
            if text := self.said():
                return text
            self.page.wait_for_timeout(50)
        raise AssertionError("no tooltip appeared")


@pytest.fixture(scope="session")
def chromium():
    required = bool(os.environ.get("ANCHORVIEW_REQUIRE_BROWSER"))
    program = shutil.which("chromium")
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
    """Open a file, wait until its charts are drawn."""
    contexts = []

    def opened(path: Path, width: int = 1280, height: int = 900, scheme: str = "light") -> Opened:
        context = chromium.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme
        )
        contexts.append(context)
        page = context.new_page()
        result = Opened(page)

        def listen(message):
            if message.type in ("error", "warning"):
                result.problems.append(message.text)

        page.on("console", listen)
        page.on("pageerror", lambda error: result.problems.append(str(error)))
        page.on("request", lambda request: result.requests.append(request.url))
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-drawn]", timeout=30_000)
        return result

    yield opened
    for context in contexts:
        context.close()
