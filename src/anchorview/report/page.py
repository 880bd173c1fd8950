"""A report page: sections of charts, tables and text in one self-contained HTML file."""

import base64
import hashlib
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from importlib import resources
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np
import pandas as pd

from anchorview import __version__
from anchorview._utils.atomic_files import atomic_write
from anchorview._utils.errors import optional_import
from anchorview._utils.text import percent


@dataclass(frozen=True, eq=False)
class Chart:
    """A chart as SVG, which is shown as an image: its ids and styles do not meet the page's."""

    svg: str
    description: str
    """What the chart shows, as the caption and for readers who cannot see the chart."""
    table: pd.DataFrame | None = None
    """The numbers, in a collapsed table below; its index is not shown."""

    @property
    def address(self) -> str:
        """Address that is the image itself."""
        return f"data:image/svg+xml;base64,{base64.b64encode(self.svg.encode()).decode()}"


@dataclass(frozen=True, eq=False)
class Table:
    """A table; the first column names the rows, and the index is not shown."""

    frame: pd.DataFrame
    caption: str
    highlight: pd.DataFrame | None = None
    """Of the same shape: ``"best"``, ``"second"`` or ``""``."""


def titled(frame: pd.DataFrame, **titles: str) -> pd.DataFrame:
    """Table whose columns have titles: those that are given, or their names in words."""
    words = (str(name).replace("_", " ").capitalize() for name in frame)
    return frame.set_axis(
        [titles.get(str(n), w) for n, w in zip(frame, words, strict=True)], axis=1
    )


@dataclass(frozen=True)
class Facts:
    """Short facts, shown as tiles."""

    items: Mapping[str, str]


@dataclass(frozen=True)
class Code:
    """Code or a shell command."""

    text: str


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str


@dataclass(frozen=True)
class Folded:
    """Parts that are hidden until the reader unfolds them."""

    title: str
    parts: Sequence["Part"]


@dataclass(frozen=True, eq=False)
class Interactive:
    """A part with a template and scripts; at most one of a kind is on a page."""

    template: str
    """Name of the template; its macro `render` takes the values."""
    scripts: Sequence[str]
    values: Mapping[str, Any]


Part = Chart | Table | Facts | Code | Text | Folded | Interactive


@dataclass(frozen=True)
class Section:
    """A section of a page."""

    title: str
    parts: Sequence[Part]
    text: str = ""
    """Introduction: what is shown and how to read it."""


def write_page(
    path: Path,
    title: str,
    subtitle: str,
    sections: Sequence[Section],
    *,
    verdict: Sequence[str] = (),
    behind: Folded | None = None,
) -> None:
    """Write a page as one HTML file that loads nothing from elsewhere.

    An existing file is replaced only when the page is complete. All strings are escaped: HTML in
    them is shown as text. The `verdict` are sentences for a reader who reads nothing else, and what
    is `behind` them is folded.
    """
    page = _environment().get_template("page.html.jinja")
    names = [name for section in sections for name in _scripts_of(section.parts)]
    # The first script runs before the page is shown.
    names = ["theme.js", "shared.js", *names, "page.js"]
    scripts = [_inline(_resource(name)) for name in names]
    # The page allows only scripts with these hashes; an injected one would not run.
    digests = [hashlib.sha256(text.encode()).digest() for text in scripts]
    html = page.render(
        title=title,
        subtitle=subtitle,
        verdict=verdict,
        behind=behind,
        sections=sections,
        style=_inline(_resource("style.css")),
        scripts=scripts,
        hashes=[base64.b64encode(digest).decode() for digest in digests],
        today=date.today().isoformat(),
        version=__version__,
    )
    with atomic_write(path) as stream:
        # File names may contain bytes that are not valid UTF-8.
        stream.write(html.encode("utf-8", "backslashreplace").decode())


def _scripts_of(parts: Sequence[Part]) -> Iterator[str]:
    for part in parts:
        yield from part.scripts if isinstance(part, Interactive) else ()
        yield from _scripts_of(part.parts) if isinstance(part, Folded) else ()


def _environment() -> Any:
    jinja2 = optional_import("jinja2", "Reports", "report")
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_resource),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "formatted": format_value,
        "percent": percent,
        "sort_key": _sort_key,
        "packed": _packed,
        "numeric_columns": _numeric_columns,
    }
    environment.globals["type_name"] = lambda part: type(part).__name__
    return environment


def format_value(value: object) -> str:
    """Format a value for a table."""
    if value is None or value is pd.NA or (isinstance(value, float) and np.isnan(value)):
        return "–"
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, int | np.integer):
        return f"{value:,}"
    if isinstance(value, float | np.floating):
        magnitude = abs(float(value))
        return f"{value:.3f}" if magnitude == 0 or 1e-3 <= magnitude < 1e5 else f"{value:.3g}"
    return str(value)


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def _numeric_columns(frame: pd.DataFrame) -> list[bool]:
    """Whether each column is numeric, and therefore aligned to the right."""
    known = [frame.iloc[:, position].dropna() for position in range(frame.shape[1])]
    return [bool(len(column)) and all(map(_is_number, column)) for column in known]


def _sort_key(value: object) -> str:
    return repr(float(value)) if _is_number(value) else format_value(value)


def _packed(content: object) -> str:
    """JSON, compressed and in base64, which needs no escaping in HTML."""
    text = json.dumps(content, separators=(",", ":"))
    return base64.b64encode(zlib.compress(text.encode(), 6)).decode()


def _resource(name: str) -> str:
    return (resources.files("anchorview.report") / "templates" / name).read_text(encoding="utf-8")


def _inline(text: str) -> Any:
    """Mark one of our scripts or styles as safe to be embedded without escaping."""
    if "</script" in text or "</style" in text or "<!--" in text:
        raise ValueError("The script or style contains a sequence that would end its tag early.")
    return optional_import("markupsafe", "Reports", "report").Markup(text.replace("\r\n", "\n"))
