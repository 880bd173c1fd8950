"""A page is one complete file in which every string is text."""

import base64
import hashlib
import re
import sys
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from anchorview._utils.errors import MissingPackageError
from anchorview.report.charts import axis_names, bars, heat_map, short
from anchorview.report.page import Chart, Code, Facts, Section, Table, Text, shown, write_page


class Parsed(HTMLParser):
    """Tags with their attributes, and the text outside of programs."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.texts, self.scripts, self.inside = [], [], [], None
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.inside = tag
        if tag == "script":
            self.scripts.append([dict(attrs), ""])

    def handle_endtag(self, tag):
        self.inside = None

    def handle_data(self, data):
        if self.inside == "script":
            self.scripts[-1][1] += data
        elif self.inside != "style" and data.strip():
            self.texts.append(data.strip())

    def named(self, tag):
        return [attrs for name, attrs in self.tags if name == tag]


@pytest.fixture
def parsed(tmp_path, evil):
    frame = pd.DataFrame({evil: [evil, "b"], "value": [0.5, np.nan]})
    marks = pd.DataFrame([["", "best"], ["second", ""]], columns=frame.columns)
    chart = Chart(bars([evil, "b"], np.array([1.0, 2.0]), evil), evil, frame)
    parts = [Text(evil), Code(evil), Facts({evil: evil}), Table(frame, evil, marks), chart]
    path = tmp_path / "page.html"
    write_page(path, evil, evil, [Section(evil, parts, evil), Section("Last", [])])
    return Parsed(path.read_text(encoding="utf-8"))


def test_every_string_is_text(parsed, evil):
    assert not parsed.named("img")
    assert [attrs.get("type") for attrs, _ in parsed.scripts] == [
        None,
        "application/octet-stream",
        None,
        None,
    ]
    assert all("onerror" not in attrs for _, attrs in parsed.tags)
    # Title, heading, subtitle, link, section, lead, text, code, fact's name and value, and more.
    assert sum(evil in text for text in parsed.texts) >= 14


def test_only_the_scripts_of_the_page_may_run_and_nothing_is_fetched(parsed):
    (policy,) = [m["content"] for m in parsed.named("meta") if "http-equiv" in m]
    rules = dict(rule.split(maxsplit=1) for rule in policy.split("; "))
    assert rules["default-src"] == "'none'"
    allowed = re.findall(r"'sha256-([^']+)'", rules["script-src"])
    programs = [text for attrs, text in parsed.scripts if "type" not in attrs]
    assert allowed == [
        base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in programs
    ]
    assert "unsafe" not in rules["script-src"]
    addresses = [attrs[a] for _, attrs in parsed.tags for a in ("src", "href") if a in attrs]
    assert all(address.startswith("#") for address in addresses)
    assert not parsed.named("link")


def test_headings_are_in_order_and_charts_have_words(parsed, evil):
    levels = [tag for tag, _ in parsed.tags if re.fullmatch(r"h\d", tag)]
    assert levels == ["h1", "h2", "h2"]
    (figure,) = parsed.named("figure")
    assert figure["aria-labeledby"] in [c.get("id") for c in parsed.named("figcaption")]
    boxes = [a for _, a in parsed.tags if "scroll" in a.get("class", "").split()]
    assert all(box["tabindex"] == "0" and box["aria-label"] for box in boxes)
    ids = [attrs["id"] for _, attrs in parsed.tags if "id" in attrs]
    assert len(ids) == len(set(ids))


def test_marks_and_missing_values_in_tables(parsed):
    assert len(parsed.named("strong")) == 1
    assert len(parsed.named("u")) == 1
    assert parsed.texts.count("0.500") == 2
    assert parsed.texts.count("–") == 2


def test_a_failed_page_leaves_the_old_one(tmp_path):
    path = tmp_path / "page.html"
    path.write_text("old")
    with pytest.raises(ValueError):
        write_page(path, "t", "s", [Section("x", [Chart("not a figure", "d")])])
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["jinja2", "bokeh.resources"])
def test_a_missing_package_is_named_with_its_extra(tmp_path, monkeypatch, name):
    from anchorview.report import page

    page._bokeh_script.cache_clear()
    monkeypatch.setitem(sys.modules, name, None)
    package = name.partition(".")[0]
    with pytest.raises(MissingPackageError, match=rf"{package}: pip install .*\[report\]"):
        write_page(tmp_path / "page.html", "t", "s", [])


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.int64(1234567), "1,234,567"),
        (np.float32(0.25), "0.250"),
        (0.0, "0.000"),
        (2.5e7, "2.5e+07"),
        (-1.5e-5, "-1.5e-05"),
        (pd.NA, "–"),
        (None, "–"),
        (np.bool_(False), "no"),
    ],
)
def test_shown_values(value, text):
    assert shown(value) == text


def test_names_on_axes_are_short_and_told_apart():
    long = "a" * 50
    names = axis_names([long, long, "", 3])
    assert len(set(names)) == 4
    assert all(0 < len(name) <= 30 for name in names)
    assert short("b" * 10, 10) == "b" * 10


def test_charts_take_values_that_are_missing():
    bars(["a", "b"], np.array([np.nan, np.nan]), "none")
    figure = heat_map(np.array([[np.nan, 1.0]]), ["r"], ["c", "d"], value="v", row="r", column="c")
    texts = [r.data_source.data["text"] for r in figure.renderers]
    assert texts[0] == ["", "1.00"]


def test_bars_of_nothing_have_an_axis():
    figure = bars(["a", "b"], np.zeros(2), "Share")
    assert figure.x_range.end == 1
