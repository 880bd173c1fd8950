"""The documentation site in a browser: complete, reachable, readable and without a network."""

import importlib.util
import os
import subprocess
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlparse

import pytest

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.slow

TASKS = {
    "Cluster samples that have several views": "AutoDALMC(n_clusters=4, random_state=0).fit(views)",
    "Decide between AutoDALMC, DALMC and the baselines": "several times faster",
    "Find the number of clusters": "model.levels_",
    "Cluster samples that lack some of the views": "A row of NaN marks",
    "Find out what the clusters are": "cluster_markers(model, views",
    "Write a report to share with others": 'write_fit_report("report.html"',
    "Save a model and label new samples": 'anchorview.load("model.anchorview")',
    "Cluster data larger than memory": 'open_views("folder")',
    "Cluster the cells of a MuData object": "write_results(mdata, model)",
    "Work from the shell": "anchorview fit data.mat",
}
"""What a reader of the landing page wants to do, and a line of the page that answers it."""

LOOKED_AT = [
    "index.html",
    "getting_started.html",
    "user_guide.html",
    "choosing_a_method.html",
    "mathematics.html",
    "gallery/index.html",
    "gallery/first_steps/plot_first_clusters.html",
    "reference/index.html",
    "reference/generated/anchorview.DALMC.html",
    "reference/generated/anchorview.inspection.cluster_markers.html",
    "coming_from/scikit_learn.html",
    "glossary.html",
    "changelog.html",
]

# Texts whose contrast with the background is below 4.5, or 3 if they are large (WCAG 2, level AA).
LOW_CONTRAST = """
() => {
  const parse = (color) => (color.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => [r, g, b]
    .map((v) => v / 255)
    .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const background = (node) => {
    for (; node; node = node.parentElement) {
      const [r, g, b, a = 1] = parse(getComputedStyle(node).backgroundColor);
      if (a > 0.99) return [r, g, b];
    }
    return [255, 255, 255];
  };
  const found = [];
  const kinds = ["p", "a", "li", "h1", "h2", "td", "th", "dt", "code", "span"];
  for (const node of document.querySelectorAll(kinds.map((kind) => "main " + kind).join())) {
    const texts = [...node.childNodes].filter((child) => child.nodeType === 3);
    const text = texts.map((child) => child.data).join("").trim();
    if (!text || !node.getBoundingClientRect().width) continue;
    if (node.closest("mjx-container, .headerlink, .visually-hidden")) continue;
    const style = getComputedStyle(node);
    const pair = [light(parse(style.color)), light(background(node))].sort((x, y) => y - x);
    const large = parseFloat(style.fontSize) >= 24;
    if ((pair[0] + 0.05) / (pair[1] + 0.05) < (large ? 3 : 4.5))
      found.push(text.slice(0, 40) + " " + style.color + " on " + background(node));
  }
  return found;
}
"""


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """Folder of the built site, or the one that ANCHORVIEW_SITE names."""
    if built := os.environ.get("ANCHORVIEW_SITE"):
        return Path(built).resolve()
    if importlib.util.find_spec("sphinx") is None:
        pytest.skip('the site needs pip install ".[docs]"')
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "docs", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True)
    return folder


@pytest.fixture(scope="module")
def address(site):
    """Address of the site on a server of this machine, as search reads pages for its excerpts."""
    handler = partial(QuietHandler, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


class QuietHandler(SimpleHTTPRequestHandler):
    """Serve files without a line per request."""

    def log_message(self, *arguments):
        pass


@pytest.fixture
def visit(address, chromium):
    """Open a page of the site; errors and requests to other places fail the test."""
    context = chromium.new_context()
    problems = []

    def listen(page):
        page.on("console", lambda m: m.type == "error" and problems.append(m.text))
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("request", lambda r: r.url.startswith((address, "data:")) or problems.append(r.url))

    def open_page(name, width=1280, scheme="light"):
        page = context.new_page()
        listen(page)
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        page.goto(f"{address}/{name}")
        return page

    yield open_page
    context.close()
    assert problems == []


def test_every_page_has_a_title_a_heading_and_alternative_texts(site, address, visit):
    page = visit("index.html")
    titles = {}
    for path in sorted(site.rglob("*.html")):
        name = path.relative_to(site).as_posix()
        if name.startswith(("_static", "_downloads")):
            continue
        page.goto(f"{address}/{name}", wait_until="domcontentloaded")
        assert page.title().strip(), name
        assert page.locator("html").get_attribute("lang") == "en", name
        if name not in ("genindex.html", "search.html"):
            assert page.locator("main h1").count() == 1, name
            titles.setdefault(page.title(), []).append(name)
        # Thumbnails of the gallery stand beside the titles of the examples.
        images = page.locator("img:not([alt]), img[alt='']:not(.sphx-glr-thumbcontainer img)")
        assert not images.count(), f"{name}: {images.count()} images without a text"
    assert len(titles) > 80


def test_links_of_the_site_lead_somewhere(site, address, visit):
    page = visit("index.html")
    for name in LOOKED_AT:
        page.goto(f"{address}/{name}", wait_until="domcontentloaded")
        targets = page.eval_on_selector_all("a[href]", "links => links.map((a) => a.href)")
        for target in {target.partition("#")[0] for target in targets}:
            if target.startswith(address):
                path = site / unquote(urlparse(target).path).lstrip("/")
                assert path.exists(), f"{name}: {target}"


@pytest.mark.parametrize("task", TASKS)
def test_tasks_are_one_click_away(visit, task):
    page = visit("index.html")
    page.locator("main tr", has_text=task).locator("td").last.locator("a").click()
    page.wait_for_load_state("domcontentloaded")
    assert TASKS[task] in page.locator("main").inner_text()


@pytest.mark.parametrize("name", LOOKED_AT)
def test_pages_fit_on_a_telephone(visit, name):
    page = visit(name, width=360)
    page.wait_for_load_state("load")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", LOOKED_AT)
def test_texts_have_contrast(visit, name, scheme):
    page = visit(name, scheme=scheme)
    page.wait_for_load_state("load")
    assert page.evaluate(LOW_CONTRAST) == []


def test_keyboard_reaches_content_and_navigation(visit):
    page = visit("index.html")
    reached = []
    for _ in range(25):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.innerText || ''").strip())
    assert reached[0] == "Skip to main content"
    assert {"Getting started", "User guide", "Gallery", "API reference"} <= set(reached)
    page = visit("index.html")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.url.endswith("#main-content")


def test_formulas_are_drawn(visit):
    page = visit("mathematics.html")
    page.wait_for_selector("mjx-container svg, mjx-container mjx-math")
    page.wait_for_timeout(500)
    assert page.locator("mjx-container").count() > 50
    assert page.locator("mjx-merror, [data-mjx-error]").count() == 0


@pytest.mark.parametrize("words", ["missing views", "DALMC", "cluster_markers"])
def test_search_works_offline(visit, words):
    page = visit(f"search.html?q={words}")
    page.wait_for_selector("#search-results li")
    assert words.lower() in page.locator("#search-results").inner_text().lower()
