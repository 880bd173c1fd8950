"""Pages are complete files in which every string is escaped."""

import base64
import hashlib
import re
import sys
from functools import partial
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from anchorview._utils.errors import MissingPackageError
from anchorview.plotting.axes import svg_of
from anchorview.plotting.bar_displays import draw_bars
from anchorview.report.page import Chart, Code, Facts, Section, Table, Text, write_page
from helpers.pages import EVIL, ParsedPage


def bars(name, unit="unit"):
    values = pd.Series([1.0, np.nan], [name, "b"])
    return svg_of(partial(draw_bars, {unit: values}, "{:.2f}"))


@pytest.fixture
def page(tmp_path):
    frame = pd.DataFrame({EVIL: [EVIL, "b"], "value": [0.5, np.nan]})
    highlight = pd.DataFrame([["", "best"], ["second", ""]], columns=frame.columns)
    chart = Chart(bars(EVIL, EVIL), EVIL, frame)
    parts = [Text(EVIL), Code(EVIL), Facts({EVIL: EVIL}), Table(frame, EVIL, highlight), chart]
    path = tmp_path / "page.html"
    write_page(path, EVIL, EVIL, [Section(EVIL, parts, EVIL), Section("Last", [])])
    return ParsedPage(path)


def test_strings_are_escaped_and_tables_have_marks(page):
    (image,) = page.attributes("img")
    assert image["alt"] == EVIL
    assert "type" not in str(page.attributes("script"))
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
    hashes = [hashlib.sha256(text.encode()).digest() for _, text in page.scripts]
    allowed = re.findall(r"'sha256-([^']+)'", rules["script-src"])
    assert sorted(allowed) == sorted(base64.b64encode(digest).decode() for digest in hashes)
    links = [attrs[key] for _, attrs in page.tags for key in ("src", "href") if key in attrs]
    assert all(link.startswith(("#", "data:image/svg+xml;")) for link in links)
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
    with pytest.raises(AttributeError, match="shape"):
        write_page(path, "t", "s", [Section("x", [Table("not a table", "c")])])
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_missing_package_is_named_with_its_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingPackageError, match=r"jinja2: pip install .*\[report\]"):
        write_page(tmp_path / "page.html", "t", "s", [])


def texts_of(svg):
    """Texts of an image, which is well-formed and contains no other elements of a name."""
    root = ElementTree.fromstring(svg)
    assert not {tag for element in root.iter() if (tag := element.tag).endswith(("script", "img"))}
    return [element.text for element in root.iter() if element.tag.endswith("}text")]


@pytest.mark.parametrize("name", ["<b>&\"'", "$x^2$", "a\x00b\x1f", "f\udcfc", "细胞 🧬", ""])
def test_charts_are_images_with_the_names_as_text(name):
    texts = texts_of(bars(name))
    assert {"1.00", "unit"} <= set(texts) and "nan" not in texts
    printed = "".join(filter(str.isprintable, name))
    assert printed in texts or not printed
