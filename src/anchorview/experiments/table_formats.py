"""A table of results and its formats: Markdown, CSV and LaTeX."""

import html
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

import pandas as pd

from anchorview._utils.optional_imports import optional_import
from anchorview._utils.text import may_be_formula

MAX_LATEX_COLUMNS = 14
"""Maximum number of columns of a LaTeX table; wider tables are split into panels."""

# GitHub removes <u>.
MARKDOWN_MARKS = {"best": "**{}**", "second": "<ins>{}</ins>", "": "{}"}
LATEX_MARKS = {"best": r"\textbf{{{}}}", "second": r"\underline{{{}}}", "": "{}"}

LATEX_CHARACTERS = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"{\char34}",
    # At the start of a row they would be parsed as an argument of the preceding line break.
    "[": "{[}",
    "*": "{*}",
    "±": r"$\pm$",
    "†": r"$^\dagger$",
    **{mark: f"\\{mark}" for mark in "&%$#_{}"},
}


@dataclass(frozen=True)
class Number:
    """A measured number in a table, or the reason why there is none."""

    value: float | None = None
    deviation: float | None = None
    """Standard deviation of the runs whose mean is `value`."""
    status: str = "done"
    """"done", "absent" (shown empty) or the status of a failed job (shown as "-")."""
    percent: bool = True
    """Whether it is a score in [0, 1], shown in percent."""
    digits: int = 2
    """Number of decimals."""
    mark: Literal["best", "second", ""] = ""
    like_best: bool = False
    """Whether the difference from the best value of the row is not significant."""

    def __str__(self) -> str:
        if self.value is None:
            return "" if self.status == "absent" else "-"
        deviation = "" if self.deviation is None else f" ± {self.rounded(self.deviation)}"
        return f"{self.rounded(self.value)}{deviation}{' †' if self.like_best else ''}"

    def rounded(self, value: float) -> str:
        """Text of a value with the decimals of this number."""
        return f"{100 * value if self.percent else value:.{self.digits}f}"


Cell = str | float | Number
"""Text, a point on an x axis, or a measured number."""

Header = tuple[str, str]
"""Common header of adjacent columns, which may be empty, and name of a column."""


def headers(*names: str) -> list[Header]:
    """Return headers of columns without a common header."""
    return [("", name) for name in names]


@dataclass(frozen=True)
class ResultTable:
    """A table of results."""

    name: str
    """File name without suffix."""
    title: str
    caption: str
    """How to read the table."""
    columns: Sequence[Header]
    rows: Sequence[Sequence[Cell]]
    """At least one."""
    notes: Sequence[str] = ()
    """Notes below the table, such as reasons for cells without a number."""

    def headers(self) -> list[str]:
        """Names of the columns, with the common header where needed to be unique."""
        count = Counter(name for _, name in self.columns)
        return [f"{group} {name}" if count[name] > 1 else name for group, name in self.columns]

    def texts(self) -> list[list[str]]:
        """Texts of all cells, without marks of best and second."""
        return [[_text(cell) for cell in row] for row in self.rows]

    def marks(self) -> list[list[str]]:
        """Mark of each cell: "best", "second" or ""."""
        return [[cell.mark if isinstance(cell, Number) else "" for cell in r] for r in self.rows]

    def markdown(self) -> str:
        """Format as GitHub's Markdown, with a heading."""
        table = [
            [markdown_escaped(header) for header in self.headers()],
            [":--" if isinstance(cell, str) else "--:" for cell in self.rows[0]],
        ]
        for texts, marks in zip(self.texts(), self.marks(), strict=True):
            cells = zip(map(markdown_escaped, texts), marks, strict=True)
            table.append([MARKDOWN_MARKS[mark].format(text) for text, mark in cells])
        lines = [f"### {markdown_escaped(self.title)}", "", markdown_escaped(self.caption), ""]
        lines += [f"| {' | '.join(row)} |" for row in table]
        if self.notes:
            lines += ["", *(f"- {markdown_escaped(note)}" for note in self.notes)]
        return "\n".join(lines) + "\n"

    def csv(self) -> str:
        """Format as CSV, not rounded, with separate columns for mean, deviation and status.

        Text that a spreadsheet would run as a formula begins with an apostrophe.
        """
        columns: dict[str, list[float | str | None]] = {}
        for name, cells in zip(self.headers(), zip(*self.rows, strict=True), strict=True):
            header = _without_formula(name)
            numbers = [cell for cell in cells if isinstance(cell, Number)]
            if not numbers:
                columns[header] = [_without_formula(c) if isinstance(c, str) else c for c in cells]
                continue
            percent = numbers[0].percent
            columns[f"{header} mean" if percent else header] = [n.value for n in numbers]
            if percent:
                columns[f"{header} deviation"] = [n.deviation for n in numbers]
            columns[f"{header} status"] = [n.status for n in numbers]
        return pd.DataFrame(columns).to_csv(index=False, lineterminator="\n")

    def latex(self) -> str:
        """Format as a LaTeX table, which requires booktabs."""
        optional_import("jinja2", "LaTeX tables", "report")
        panels = [self._latex_panel(panel) for panel in self._latex_panels()]
        lines = [
            r"\begin{table*}",
            r"\centering",
            r"\scriptsize",
            r"\setlength{\tabcolsep}{3pt}",
            rf"\caption{{{latex_escaped(self.title + '. ' + self.caption)}}}",
            rf"\label{{tab:{self.name}}}",
            "\\par\\medskip\n".join(panels).rstrip(),
            *(rf"\par\smallskip {latex_escaped(note)}" for note in self.notes),
            r"\end{table*}",
        ]
        return "\n".join(lines) + "\n"

    def _latex_panels(self) -> list[list[int]]:
        """Split the columns into panels that fit on a page; each repeats those without a group."""
        indices = range(len(self.columns))
        common = [i for i in indices if not self.columns[i][0]]
        grouped = [i for i in indices if self.columns[i][0]]
        panels = [common]
        for _, members in groupby(grouped, key=lambda i: self.columns[i][0]):
            group = list(members)
            if len(panels[-1]) > len(common) and len(panels[-1]) + len(group) > MAX_LATEX_COLUMNS:
                panels.append(common)
            panels[-1] = panels[-1] + group
        return panels

    def _latex_panel(self, panel: Sequence[int]) -> str:
        cells = [
            [LATEX_MARKS[marks[i]].format(latex_escaped(texts[i])) for i in panel]
            for texts, marks in zip(self.texts(), self.marks(), strict=True)
        ]
        groups = [latex_escaped(self.columns[i][0]) for i in panel]
        names = [_latex_header(self.columns[i][1]) for i in panel]
        frame = pd.DataFrame(cells, columns=[groups, names] if any(groups) else names)
        alignment = "".join("l" if isinstance(self.rows[0][i], str) else "r" for i in panel)
        return frame.to_latex(
            index=False, escape=False, column_format=alignment, multicolumn_format="c"
        )


def _text(cell: Cell) -> str:
    return str(cell) if isinstance(cell, str | Number) else f"{cell:.10g}"


def _without_formula(text: str) -> str:
    """Put an apostrophe before text that a spreadsheet would run as a formula."""
    return f"'{text}" if may_be_formula(text) else text


def _latex_header(name: str) -> str:
    """Put text in parentheses on a second line, to save width."""
    head, parenthesis, tail = name.partition(" (")
    if not parenthesis:
        return latex_escaped(name)
    return rf"\shortstack{{{latex_escaped(head)}\\({latex_escaped(tail)}}}"


def latex_escaped(text: str) -> str:
    """Escape text for LaTeX."""
    return "".join(LATEX_CHARACTERS.get(mark, mark) for mark in " ".join(text.split()))


def markdown_escaped(text: str) -> str:
    """Escape text for GitHub's Markdown, including cells of tables."""
    safe = html.escape(" ".join(text.split()), quote=False)
    return re.sub(r"([\\`*_\[\]#|~$])", r"\\\1", safe)


def file_names(names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield names with unique parts of file names, of safe characters only."""
    taken: set[str] = set()
    for name in names:
        stem = re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-.") or "data"
        unique, number = stem, 2
        while unique in taken:
            unique, number = f"{stem}-{number}", number + 1
        taken.add(unique)
        yield name, unique
