"""A report page: sections of charts, tables and text, written as one self-contained HTML file."""

import base64
import hashlib
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from anchorview import __version__
from anchorview._utils.atomic_files import atomic_write
from anchorview._utils.optional_imports import optional_import


@dataclass(frozen=True, eq=False)
class Chart:
    """An interactive chart, with words and numbers for those who cannot see it."""

    figure: Any
    """A bokeh figure or layout."""
    description: str
    """What a person who cannot see it should know."""
    table: pd.DataFrame | None = None
    """The numbers, shown folded below; without its index."""
    half: bool = False
    """Whether two such charts stand side by side where there is room."""


@dataclass(frozen=True, eq=False)
class Table:
    """A table; the index of the frame is not shown, its first column names the rows."""

    frame: pd.DataFrame
    caption: str
    highlight: pd.DataFrame | None = None
    """Of the same shape: ``"best"``, ``"second"`` or ``""``."""


@dataclass(frozen=True)
class Facts:
    """Short facts, shown as tiles."""

    items: Mapping[str, str]


@dataclass(frozen=True)
class Code:
    """Something to type or to paste, shown as it is."""

    text: str


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str


Part = Chart | Table | Facts | Code | Text


@dataclass(frozen=True)
class Section:
    """A part of the page with a heading."""

    title: str
    parts: Sequence[Part]
    text: str = ""
    """What is seen and how to read it."""


def write_page(path: Path, title: str, subtitle: str, sections: Sequence[Section]) -> None:
    """Write a page as one HTML file that needs nothing else and asks nothing of the network.

    Parameters
    ----------
    path : Path
        The file; it appears under its name only when it is complete.
    title, subtitle : str
        The heading and the line below it.
    sections : sequence of Section
        What the page shows, top to bottom. Every string is shown as it is: what looks like HTML
        is text.

    Raises
    ------
    MissingPackageError
        If bokeh or jinja2 is not installed.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from anchorview.report.page import Facts, Section, write_page
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "page.html"
    ...     write_page(path, "Fruit", "A count", [Section("Sizes", [Facts({"apples": "<3"})])])
    ...     "&lt;3" in path.read_text()
    True
    """
    page = _environment().get_template("page.html.jinja")
    # Scripts are allowed by their hashes: one that came in by some string would not run.
    scripts = {name: _inline(text) for name, text in _scripts().items()}
    html = page.render(
        title=title,
        subtitle=subtitle,
        sections=sections,
        style=_inline(_resource("style.css")),
        scripts=scripts,
        hashes=[_hash(text) for text in scripts.values()],
        today=date.today().isoformat(),
        version=__version__,
    )
    with atomic_write(path) as stream:
        # A name of a file may hold bytes that are no text.
        stream.write(html.encode("utf-8", "backslashreplace").decode())


def _environment() -> Any:
    """Templates, with what they call."""
    jinja2 = optional_import("jinja2", "Reports", "report")
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_resource),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "shown": shown,
        "sorting": _sorting,
        "packed": _packed,
        "numeric_columns": _numeric_columns,
    }
    environment.globals["kind"] = lambda part: type(part).__name__
    return environment


def shown(value: Any) -> str:
    """Text of a value in a table.

    Examples
    --------
    >>> [shown(value) for value in (12345, 0.5, 1.5e-7, float("nan"), True, "a|b")]
    ['12,345', '0.500', '1.5e-07', '–', 'yes', 'a|b']
    """
    if value is None or value is pd.NA or (isinstance(value, float) and np.isnan(value)):
        return "–"
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, int | np.integer):
        return f"{value:,}"
    if isinstance(value, float | np.floating):
        size = abs(float(value))
        return f"{value:.3f}" if size == 0 or 1e-3 <= size < 1e5 else f"{value:.3g}"
    return str(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def _numeric_columns(frame: pd.DataFrame) -> list[bool]:
    """Which columns have numbers, which stand on the right."""
    known = [frame.iloc[:, position].dropna() for position in range(frame.shape[1])]
    return [bool(len(column)) and all(map(_is_number, column)) for column in known]


def _sorting(value: Any) -> str:
    """By what a cell is sorted: numbers by their value, others by their text."""
    return repr(float(value)) if _is_number(value) else shown(value)


def _packed(figure: Any) -> str:
    """All that draws a chart, compressed, in letters that mean nothing in HTML."""
    embed = optional_import("bokeh.embed", "Reports", "report")
    text = json.dumps(embed.json_item(figure), separators=(",", ":"))
    return base64.b64encode(zlib.compress(text.encode(), 6)).decode()


def _scripts() -> dict[str, str]:
    """Return the programs of a page by name."""
    return {"theme": _resource("theme.js"), "bokeh": _bokeh_script(), "page": _resource("page.js")}


@cache
def _bokeh_script() -> str:
    bokeh = optional_import("bokeh.resources", "Reports", "report")
    inline = bokeh.Resources(mode="inline", components=["bokeh", "bokeh-gl"], log_level="error")
    return "\n".join(inline.js_raw)


def _resource(name: str) -> str:
    return (resources.files("anchorview.report") / "templates" / name).read_text(encoding="utf-8")


def _inline(text: str) -> Any:
    """Mark a text of our own that goes between two tags as it is."""
    if "</script" in text or "</style" in text or "<!--" in text:
        raise ValueError("A script or style that would end early cannot be put into a page.")
    return optional_import("markupsafe", "Reports", "report").Markup(text.replace("\r\n", "\n"))


def _hash(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
