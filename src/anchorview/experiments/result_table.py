"""A table of results and its formats: Markdown, CSV and LaTeX."""

import html
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
import pandas as pd

from anchorview._utils.errors import optional_import
from anchorview._utils.text import may_be_formula

MAX_LATEX_COLUMNS = 14
"""Maximum number of columns of a LaTeX table; wider tables are split into panels."""

# GitHub removes <u>.
MARKDOWN_MARKS = {"best": "**{}**", "second": "<ins>{}</ins>", "": "{}"}
LATEX_MARKS = {"best": r"\textbf{{{}}}", "second": r"\underline{{{}}}", "": "{}"}

# pandas escapes fewer: LaTeX shows "<" as another character, and parses "[" at the start of a row
# as an argument of the preceding line break.
LATEX_CHARACTERS = str.maketrans(
    {
        **{mark: f"\\{mark}" for mark in "&%$#_{}"},
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        '"': r"{\char34}",
        "[": "{[}",
        "*": "{*}",
        "±": r"$\pm$",
        "†": r"$^\dagger$",
        "‡": r"$^\ddagger$",
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
    }
)

CSV_SUFFIXES = {"value": "", "mean": " mean", "deviation": " deviation", "status": " status"}
"""What CSV files have of each measured cell, not rounded."""


@dataclass(frozen=True, eq=False)
class ResultTable:
    """A table of results."""

    name: str
    """File name without suffix."""
    title: str
    caption: str
    """How to read the table."""
    cells: Mapping[str, pd.DataFrame]
    """Frames with the same index, which names the rows, and the same columns, which may have two
    levels, the first for common headers: ``"text"``, and in tables of measured numbers ``"mark"``
    (``"best"``, ``"second"`` or ``""``) and some of :data:`CSV_SUFFIXES`."""
    notes: Sequence[str] = ()
    """Notes below the table, such as reasons for cells without a number."""

    def headers(self) -> list[str]:
        """Names of the columns, with the common header where needed to be unique."""
        columns = self.cells["text"].columns
        names = columns.get_level_values(-1)
        if columns.nlevels > 1 and not names.is_unique:
            names = columns.map(" ".join)
        return [*map(str, self.cells["text"].index.names), *names]

    def texts(self) -> pd.DataFrame:
        """Texts of all cells, without marks of best and second."""
        frame = self._flat("text")
        return frame.map(lambda cell: cell if isinstance(cell, str) else f"{cell:.10g}")

    def marks(self) -> pd.DataFrame:
        """Mark of each cell: "best", "second" or ""."""
        texts = self.texts()
        marks = pd.DataFrame("", index=texts.index, columns=texts.columns)
        if "mark" in self.cells:
            marks.iloc[:, self.cells["mark"].index.nlevels :] = self.cells["mark"].to_numpy()
        return marks

    def markdown(self) -> str:
        """Format as GitHub's Markdown, with a heading."""
        alignment = [":--" if letter == "l" else "--:" for letter in self._alignment()]
        rows = self._formatted(MARKDOWN_MARKS, markdown_escaped).to_numpy()
        lines = [f"### {markdown_escaped(self.title)}", "", markdown_escaped(self.caption), ""]
        for row in (map(markdown_escaped, self.headers()), alignment, *rows):
            lines.append(f"| {' | '.join(row)} |")
        if self.notes:
            lines += ["", *(f"- {markdown_escaped(note)}" for note in self.notes)]
        return "\n".join(lines) + "\n"

    def csv(self) -> str:
        """Format as CSV, not rounded, with separate columns for mean, deviation and status.

        Text that a spreadsheet would run as a formula begins with an apostrophe.
        """
        kinds = [kind for kind in CSV_SUFFIXES if kind in self.cells] or ["text"]
        n_row_headers = self.cells["text"].index.nlevels
        columns = {}
        for position, header in enumerate(self.headers()):
            # Names of rows are the same for all kinds.
            for kind in kinds:
                suffix = CSV_SUFFIXES.get(kind, "") if position >= n_row_headers else ""
                columns[_without_formula(header + suffix)] = self._flat(kind).iloc[:, position]
        return pd.DataFrame(columns).map(_without_formula).to_csv(index=False, lineterminator="\n")

    def latex(self) -> str:
        """Format as a LaTeX table, which requires booktabs."""
        optional_import("jinja2", "LaTeX tables", "report")
        columns, row_headers = self.cells["text"].columns, self.cells["text"].index.names
        n_headers = len(row_headers)
        # Text in parentheses is on a second line, to save width.
        names = [
            re.sub(r"^(.*?) (\(.*)$", r"\\shortstack{\1\\\\\2}", latex_escaped(str(name)))
            for name in (*row_headers, *columns.get_level_values(-1))
        ]
        table = self._formatted(LATEX_MARKS, latex_escaped).set_axis(names, axis="columns")
        if columns.nlevels > 1:
            groups = [*[""] * n_headers, *map(latex_escaped, columns.get_level_values(0))]
            table.columns = pd.MultiIndex.from_arrays([groups, names])
        alignment = pd.Series(self._alignment())
        panels = []
        size = MAX_LATEX_COLUMNS - n_headers
        for start in range(n_headers, len(names), size):
            # Each panel repeats the row headers.
            panel = [*range(n_headers), *range(start, min(start + size, len(names)))]
            panels.append(
                table.iloc[:, panel].to_latex(
                    index=False,
                    escape=False,
                    column_format="".join(alignment[panel]),
                    multicolumn_format="c",
                )
            )
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

    def _flat(self, kind: str) -> pd.DataFrame:
        """Cells of a kind, with the names of the rows as the first columns."""
        cells = self.cells[kind]
        columns = self.headers()[cells.index.nlevels :]
        return cells.set_axis(columns, axis="columns").reset_index(allow_duplicates=True)

    def _alignment(self) -> list[str]:
        """Letters of LaTeX: "l" for text, "r" for numbers."""
        measured = len(self.cells) > 1
        n_row_headers = self.cells["text"].index.nlevels
        return [
            "l" if isinstance(cell, str) and not (measured and position >= n_row_headers) else "r"
            for position, cell in enumerate(self._flat("text").iloc[0])
        ]

    def _formatted(self, marks: Mapping[str, str], escaped: Callable[[str], str]) -> pd.DataFrame:
        """Escaped texts with their marks."""
        # As arrays, since a data set may have the name of a column.
        templates = self.marks().map(marks.get).to_numpy()
        texts = self.texts().map(escaped).to_numpy()
        return pd.DataFrame(np.vectorize(str.format, otypes=[object])(templates, texts))


def number_texts(values: Any, template: str = "{:.2f}") -> Any:
    """Texts of the numbers of a series or frame; empty for NaN."""
    return values.map(lambda number: "" if np.isnan(number) else template.format(number))


def marks_of_ranks(ranks: Any) -> Any:
    """Marks of the best and second best number of a series or frame of ranks."""
    return ranks.map(lambda rank: {1: "best", 2: "second"}.get(rank, ""))


def _without_formula(cell: Any) -> Any:
    """Put an apostrophe before text that a spreadsheet would run as a formula."""
    return f"'{cell}" if isinstance(cell, str) and may_be_formula(cell) else cell


def latex_escaped(text: str) -> str:
    """Escape text for LaTeX."""
    return " ".join(text.split()).translate(LATEX_CHARACTERS)


def markdown_escaped(text: str) -> str:
    """Escape text for GitHub's Markdown, including cells of tables."""
    safe = html.escape(" ".join(text.split()), quote=False)
    return re.sub(r"([\\`*_\[\]#|~$])", r"\\\1", safe)


def file_names(names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield names with unique parts of file names, of safe characters only."""
    taken: set[str] = set()
    for name in names:
        stem = unique = re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-.") or "data"
        numbers = count(2)
        while unique in taken:
            unique = f"{stem}-{next(numbers)}"
        taken.add(unique)
        yield name, unique
