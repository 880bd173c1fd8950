"""Pages are complete files in which every string is escaped."""

import base64
import hashlib
import re
import sys

import numpy as np
import pandas as pd
import pytest

from anchorview._utils.errors import MissingPackageError
from anchorview.report import page as page_module
from anchorview.report.bokeh_charts import bar_chart, heat_map
from anchorview.report.page import Chart, Code, Facts, Section, Table, Text, write_page
from helpers.pages import EVIL, ParsedPage


@pytest.fixture
def page(tmp_path):
    frame = pd.DataFrame({EVIL: [EVIL, "b"], "value": [0.5, np.nan]})
    highlight = pd.DataFrame([["", "best"], ["second", ""]], columns=frame.columns)
    chart = Chart(bar_chart([EVIL, "b"], [1.0, 2.0], EVIL), EVIL, frame)
    parts = [Text(EVIL), Code(EVIL), Facts({EVIL: EVIL}), Table(frame, EVIL, highlight), chart]
    path = tmp_path / "page.html"
    write_page(path, EVIL, EVIL, [Section(EVIL, parts, EVIL), Section("Last", [])])
    return ParsedPage(path)


def test_strings_are_escaped_and_tables_have_marks(page):
    assert not page.attributes("img")
    types = [attributes.get("type") for attributes, _ in page.scripts]
    assert types == [None, "application/octet-stream", "text/plain", None, None]
    assert all("onerror" not in attributes for _, attributes in page.tags)
    # Title, heading, subtitle, link, section, lead, text, code, name and value of the fact, ...
    assert sum(EVIL in text for text in page.texts) >= 14
    assert len(page.attributes("strong")) == len(page.attributes("u")) == 1
    assert page.texts.count("0.500") == page.texts.count("–") == 2


def test_only_scripts_of_the_page_run_and_nothing_is_loaded(page):
    (policy,) = [meta["content"] for meta in page.attributes("meta") if "http-equiv" in meta]
    rules = dict(rule.split(maxsplit=1) for rule in policy.split("; "))
    assert rules["default-src"] == "'none'"
    assert "unsafe" not in rules["script-src"]
    # The library of the charts is run by a script of the page.
    kinds = (None, "text/plain")
    programs = [text for attributes, text in page.scripts if attributes.get("type") in kinds]
    hashes = [hashlib.sha256(text.encode()).digest() for text in programs]
    allowed = re.findall(r"'sha256-([^']+)'", rules["script-src"])
    assert sorted(allowed) == sorted(base64.b64encode(digest).decode() for digest in hashes)
    links = [attrs[key] for _, attrs in page.tags for key in ("src", "href") if key in attrs]
    assert all(link.startswith("#") for link in links)
    assert not page.attributes("link")


def test_page_is_accessible(page):
    headings = [tag for tag, _ in page.tags if re.fullmatch(r"h\d", tag)]
    assert headings == ["h1", "h2", "h2"]
    (figure,) = page.attributes("figure")
    captions = [caption.get("id") for caption in page.attributes("figcaption")]
    assert figure["aria-labelledby"] in captions
    regions = [attrs for _, attrs in page.tags if "scroll" in attrs.get("class", "").split()]
    assert all(region["tabindex"] == "0" and region["aria-label"] for region in regions)
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_failed_page_keeps_the_old_one(tmp_path):
    path = tmp_path / "page.html"
    path.write_text("old")
    with pytest.raises(ValueError, match="sequence of Models"):
        write_page(path, "t", "s", [Section("x", [Chart("not a chart", "d")])])
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["jinja2", "bokeh.resources"])
def test_missing_package_is_named_with_its_extra(tmp_path, monkeypatch, name):
    page_module._bokeh_script.cache_clear()
    monkeypatch.setitem(sys.modules, name, None)
    package = name.partition(".")[0]
    chart = Chart(bar_chart(["a"], [1.0], "x"), "a bar")
    with pytest.raises(MissingPackageError, match=rf"{package}: pip install .*\[report\]"):
        write_page(tmp_path / "page.html", "t", "s", [Section("Charts", [chart])])


def test_charts_with_missing_values():
    bar_chart(["a", "b"], [np.nan, np.nan], "none")
    figure = heat_map(np.array([[np.nan, 1.0]]), ["r"], ["c", "d"], "v", "r", "c")
    assert figure.renderers[0].data_source.data["text"] == ["", "1.00"]
