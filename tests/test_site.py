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

from helpers.browsing import barriers_of

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.slow

TASKS = {
    "Cluster samples that have several views": (
        ["Getting started"],
        "AutoDALMC(n_clusters=4, random_state=0).fit(views)",
    ),
    "Decide between AutoDALMC, DALMC and the baselines": (["Choosing a method"], "times faster"),
    "Find the number of clusters": (["Number of clusters"], "model.levels_"),
    "Cluster samples that lack some of the views": (["Missing views"], "A row of NaN marks"),
    "Find out what the clusters are": (["Understanding clusters"], "cluster_markers(model, views"),
    "Write a report to share": (["Reports"], 'write_fit_report("report.html"'),
    "Use the classes of a few samples": (["A few labels, and weights"], "three samples per class"),
    "Save a model and label new samples": (["New and growing data"], 'anchorview.load("model'),
    "Cluster data larger than memory": (["Scaling"], 'open_views("folder")'),
    "Cluster the cells of a MuData object": (["Omics data"], "av.tl.auto(mdata"),
    "Remove differences between batches": (["Omics data: batches"], "batch=plate"),
    "Work from the shell": (["Command line"], "anchorview fit data.mat"),
    "Copy a script that compares the methods": (
        ["gallery", "Comparing the methods"],
        "compared.__all__",
    ),
    "Look up a parameter of DALMC": (["reference", "DALMC"], "n_components"),
    "Run on a cluster of machines": (["Scaling", "Dask"], 'Client("tcp://scheduler:8786")'),
    "See the benchmark": (["Project", "Benchmark"], "16 data sets"),
    "See how it works": (["User guide", "How it works"], "Step by step"),
    "Move code from scikit-learn": (["User guide", "Coming from scikit-learn"], "np.hstack(views)"),
}
"""What a reader of the landing page wants to do, the links to follow, and what answers it there."""

MOST_CLICKS = 2

LOOKED_AT = [
    "index.html",
    "getting_started.html",
    "user_guide.html",
    "choosing_a_method.html",
    "mathematics.html",
    "gallery/index.html",
    "gallery/first_steps/plot_first_clusters.html",
    "gallery/omics/plot_batches.html",
    "reference/index.html",
    "reference/generated/anchorview.DALMC.html",
    "reference/generated/anchorview.inspection.cluster_markers.html",
    "coming_from/scikit_learn.html",
    "glossary.html",
    "changelog.html",
]

KINDS = [
    "index.html",
    "choosing_a_method.html",
    "gallery/index.html",
    "reference/generated/anchorview.DALMC.html",
]
"""A page of each kind."""

CHECKS = (Path(__file__).parent / "helpers" / "site_checks.js").read_text(encoding="utf-8")


def ask(page, check):
    """Result of one of the functions that say what is wrong with a page."""
    return page.evaluate(f"() => {{ {CHECKS}\nreturn {check}(); }}")


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
def test_tasks_are_two_clicks_away(visit, task):
    links, answer = TASKS[task]
    assert len(links) <= MOST_CLICKS
    page = visit("index.html")
    row = page.locator("main tr", has_text=task)
    for link in links:
        # A task of the table on the landing page is answered by the page beside it.
        place = row if row.count() else page.locator("main, header")
        place.get_by_role("link", name=link, exact=True).first.click()
        page.wait_for_load_state("domcontentloaded")
    assert answer in page.locator("main").inner_text()


def test_tasks_of_the_landing_page_are_walked(visit):
    page = visit("index.html")
    tasks = page.locator("main table").last.locator("tbody td:first-child").all_inner_texts()
    assert set(tasks) <= set(TASKS)


@pytest.mark.parametrize("name", LOOKED_AT)
def test_pages_fit_on_a_telephone(visit, name):
    page = visit(name, width=360)
    page.wait_for_load_state("load")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert ask(page, "cutOff") == []


@pytest.mark.parametrize("name", LOOKED_AT)
def test_pages_are_accessible_and_their_code_is_not_cut_on_a_laptop(visit, name):
    page = visit(name)
    page.wait_for_load_state("load")
    assert ask(page, "cutCode") == []
    assert ask(page, "barriers") == []


def test_first_screen_has_the_install_command(visit):
    page = visit("index.html")
    code = page.locator("main pre").filter(has_text="pip install").bounding_box()
    assert code["y"] + code["height"] < 600


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("name", KINDS)
def test_axe_finds_no_violation(visit, name, width, scheme):
    page = visit(name, width, scheme)
    page.wait_for_load_state("load")
    assert barriers_of(page) == []


def test_thumbnails_are_large_and_none_is_the_logo(visit):
    page = visit("gallery/index.html")
    images = page.locator(".sphx-glr-thumbcontainer img")
    widths = images.evaluate_all("(all) => all.map((image) => image.clientWidth)")
    sources = images.evaluate_all("(all) => all.map((image) => image.src)")
    assert len(widths) > 25
    assert min(widths) > 280
    assert not [source for source in sources if source.endswith(".svg")]


def test_reference_lists_no_internals(visit):
    page = visit("reference/generated/anchorview.MultiViewData.html")
    assert page.locator("dt.sig").count() == 1
    page = visit("reference/generated/anchorview.DALMC.html")
    names = page.locator("dl.py.method > dt .descname").all_inner_texts()
    assert {"fit", "predict", "transform", "save"} <= set(names)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", LOOKED_AT)
def test_texts_have_contrast(visit, name, scheme):
    page = visit(name, scheme=scheme)
    page.wait_for_load_state("load")
    assert ask(page, "lowContrast") == []


@pytest.mark.parametrize("name", KINDS)
def test_keyboard_reaches_content_and_navigation(visit, name):
    page = visit(name)
    reached = []
    for _ in range(25):
        page.keyboard.press("Tab")
        focused = ask(page, "focused")
        assert focused["marked"], focused
        reached.append(focused["text"])
    assert reached[0] == "Skip to main content"
    assert {"Getting started", "User guide", "Gallery", "API reference"} <= set(reached)
    page = visit(name)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.url.endswith("#main-content")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('#main-content') !== null")


def test_search_opens_by_the_keyboard(visit):
    page = visit("index.html")
    page.keyboard.press("Control+k")
    page.keyboard.type("missing views")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search.html?q=missing+views*")


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
