"""A table of results and its formats: Markdown, CSV and LaTeX."""

import csv
import io
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from anchorview.experiments.escaping import (
    latex_escaped,
    markdown_escaped,
    spreadsheet_escaped,
)

Kind = Literal["text", "point", "number", "score"]
Mark = Literal["best", "second", ""]

MAX_LATEX_COLUMNS = 14
"""Maximum number of columns of a LaTeX table; wider tables are split into panels."""

# GitHub removes <u>.
_MARKDOWN_MARKS = {"best": "**{}**", "second": "<ins>{}</ins>", "": "{}"}
_LATEX_MARKS = {"best": r"\textbf{{{}}}", "second": r"\underline{{{}}}", "": "{}"}


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    name: str
    group: str = ""
    """Common header of adjacent columns."""
    kind: Kind = "score"
    """Text, points of an x axis, measured numbers, or scores in [0, 1] shown in percent."""
    digits: int = 2
    """Number of decimals."""


@dataclass(frozen=True)
class Cell:
    """A cell of a table."""

    value: float | None = None
    deviation: float | None = None
    """Standard deviation of the runs whose mean is `value`."""
    text: str = ""
    """Content in a column of text."""
    status: str = "done"
    """"done", "absent" (shown empty) or the status of a failed job (shown as "-")."""
    mark: Mark = ""
    like_best: bool = False
    """Whether the difference to the best value of the row is not significant."""


def text_columns(*names: str) -> tuple[Column, ...]:
    """Return columns of text."""
    return tuple(Column(name, kind="text") for name in names)


def text_cells(*texts: str) -> tuple[Cell, ...]:
    """Return cells of columns of text."""
    return tuple(Cell(text=text) for text in texts)


@dataclass(frozen=True)
class ResultTable:
    """A table of results."""

    name: str
    """File name without suffix."""
    title: str
    caption: str
    """How to read the table."""
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()
    """Notes below the table, such as reasons for cells without a number."""

    def headers(self) -> list[str]:
        """Names of the columns, with the name of the group where needed to be unique."""
        count = Counter(column.name for column in self.columns)
        return [
            f"{column.group} {column.name}" if count[column.name] > 1 else column.name
            for column in self.columns
        ]

    def texts(self) -> list[list[str]]:
        """Texts of all cells, without marks of best and second."""
        return [
            [cell_text(column, cell) for column, cell in zip(self.columns, row, strict=True)]
            for row in self.rows
        ]

    def formats(self) -> dict[str, str]:
        """Texts of the table by suffix of the file."""
        return {"md": self.markdown(), "csv": self.csv(), "tex": self.latex()}

    def markdown(self) -> str:
        """Format as GitHub's Markdown, with a heading."""
        return "\n".join(_markdown_lines(self)) + "\n"

    def csv(self) -> str:
        """Format as CSV, not rounded, with separate columns for mean, deviation and status.

        Text that a spreadsheet would run as a formula begins with an apostrophe.
        """
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(
            name
            for column, header in zip(self.columns, self.headers(), strict=True)
            for name in _csv_names(column, header)
        )
        for row in self.rows:
            writer.writerow(
                value
                for column, cell in zip(self.columns, row, strict=True)
                for value in _csv_values(column, cell)
            )
        return stream.getvalue()

    def latex(self) -> str:
        """Format as a LaTeX table, which requires booktabs."""
        return "\n".join(_latex_lines(self)) + "\n"


def cell_text(column: Column, cell: Cell) -> str:
    """Format a cell, without its mark."""
    if cell.status != "done":
        return "" if cell.status == "absent" else "-"
    if column.kind == "text" or cell.value is None:
        return cell.text
    text = format_number(column, cell.value)
    if cell.deviation is not None:
        text += f" ± {format_number(column, cell.deviation)}"
    return text + " †" if cell.like_best else text


def format_number(column: Column, value: float) -> str:
    """Format a number for a column."""
    if column.kind == "point":
        return f"{value:.10g}"
    return f"{100 * value if column.kind == 'score' else value:.{column.digits}f}"


def _markdown_lines(table: ResultTable) -> Iterator[str]:
    yield from (f"### {markdown_escaped(table.title)}", "", markdown_escaped(table.caption), "")
    yield _markdown_row([markdown_escaped(header) for header in table.headers()])
    yield _markdown_row([":--" if c.kind == "text" else "--:" for c in table.columns])
    for row, texts in zip(table.rows, table.texts(), strict=True):
        yield _markdown_row(
            [
                _MARKDOWN_MARKS[cell.mark].format(markdown_escaped(text))
                for cell, text in zip(row, texts, strict=True)
            ]
        )
    if table.notes:
        yield ""
        yield from (f"- {markdown_escaped(note)}" for note in table.notes)


def _markdown_row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _csv_names(column: Column, header: str) -> list[str]:
    if column.kind == "score":
        return [f"{header} mean", f"{header} deviation", f"{header} status"]
    return [header, f"{header} status"] if column.kind == "number" else [header]


def _csv_values(column: Column, cell: Cell) -> list[str]:
    value, deviation = ("" if x is None else repr(x) for x in (cell.value, cell.deviation))
    if column.kind == "score":
        return [value, deviation, cell.status]
    if column.kind == "number":
        return [value, cell.status]
    return [spreadsheet_escaped(cell_text(column, cell)) if column.kind == "text" else value]


def _latex_lines(table: ResultTable) -> Iterator[str]:
    yield from (r"\begin{table*}", r"\centering", r"\scriptsize", r"\setlength{\tabcolsep}{3pt}")
    yield rf"\caption{{{latex_escaped(table.title + '. ' + table.caption)}}}"
    yield rf"\label{{tab:{table.name}}}"
    for number, panel in enumerate(_panels(table)):
        if number:
            yield r"\par\medskip"
        yield from _latex_panel(table, panel)
    yield from (rf"\par\smallskip {latex_escaped(note)}" for note in table.notes)
    yield r"\end{table*}"


def _panels(table: ResultTable) -> list[list[int]]:
    """Split the columns into panels that fit on a page; each repeats columns without a group."""
    heads = [i for i, column in enumerate(table.columns) if not column.group]
    rest = [i for i, column in enumerate(table.columns) if column.group]
    panels = [heads]
    for _, group in groupby(rest, key=lambda i: table.columns[i].group):
        members = list(group)
        if len(panels[-1]) > len(heads) and len(panels[-1]) + len(members) > MAX_LATEX_COLUMNS:
            panels.append(heads)
        panels[-1] = panels[-1] + members
    return panels


def _latex_panel(table: ResultTable, panel: Sequence[int]) -> Iterator[str]:
    columns = [table.columns[i] for i in panel]
    alignment = "".join("l" if column.kind == "text" else "r" for column in columns)
    yield rf"\begin{{tabular}}{{{alignment}}}"
    yield r"\toprule"
    yield from _latex_groups(columns)
    yield _latex_row([_latex_header(column.name) for column in columns])
    yield r"\midrule"
    for row, texts in zip(table.rows, table.texts(), strict=True):
        yield _latex_row([_LATEX_MARKS[row[i].mark].format(latex_escaped(texts[i])) for i in panel])
    yield from (r"\bottomrule", r"\end{tabular}")


def _latex_groups(columns: Sequence[Column]) -> Iterator[str]:
    """Yield the names of groups, if there are any, and the rules below them."""
    if not any(column.group for column in columns):
        return
    cells, rules, start = [], [], 1
    for group, members in groupby(column.group for column in columns):
        width = len(list(members))
        cells.append(rf"\multicolumn{{{width}}}{{c}}{{{latex_escaped(group)}}}")
        if group:
            rules.append(rf"\cmidrule(lr){{{start}-{start + width - 1}}}")
        start += width
    yield _latex_row(cells)
    yield " ".join(rules)


def _latex_header(name: str) -> str:
    """Put text in parentheses on a second line, to save width."""
    head, parenthesis, tail = name.partition(" (")
    if not parenthesis:
        return latex_escaped(name)
    return rf"\shortstack{{{latex_escaped(head)}\\({latex_escaped(tail)}}}"


def _latex_row(cells: list[str]) -> str:
    return f"{' & '.join(cells)} \\\\"
