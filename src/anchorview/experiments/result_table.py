"""A table of results and its formats, Markdown and LaTeX."""

import html
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from anchorview._utils.errors import optional_import

# GitHub removes <u>.
MARKDOWN_MARKS = {"best": "**{}**", "second": "<ins>{}</ins>", "": "{}"}
LATEX_MARKS = {"best": r"\textbf{{{}}}", "second": r"\underline{{{}}}", "": "{}"}

LATEX_CHARACTERS = str.maketrans(
    {
        **{mark: f"\\{mark}" for mark in "&%$#_{}"},
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
    }
)


@dataclass(frozen=True, eq=False)
class ResultTable:
    """A table of results."""

    name: str
    """File name without suffix."""
    title: str
    caption: str
    """How to read the table."""
    cells: pd.DataFrame
    """Texts or numbers; the index names the rows, and the columns may have two levels, the first
    for common headers."""
    ranked: pd.DataFrame | None = None
    """Mark of each cell: ``"best"``, ``"second"`` or ``""``."""
    notes: Sequence[str] = ()
    """Notes below the table, such as reasons for cells without a number."""

    def texts(self) -> pd.DataFrame:
        """Texts of all cells, without marks, after the names of the rows."""
        names = self.cells.columns.get_level_values(-1)
        frame = self.cells.set_axis(names, axis="columns").reset_index(allow_duplicates=True)
        return frame.map(lambda cell: cell if isinstance(cell, str) else f"{cell:.10g}")

    def marks(self) -> pd.DataFrame:
        """Mark of each of these cells."""
        texts = self.texts()
        marks = pd.DataFrame("", index=texts.index, columns=texts.columns)
        if self.ranked is not None:
            marks.iloc[:, self.cells.index.nlevels :] = self.ranked.to_numpy()
        return marks

    def markdown(self) -> str:
        """Format as GitHub's Markdown, with a heading."""
        table = self._formatted(MARKDOWN_MARKS, markdown_escaped)
        alignment = self._aligned(":--", "--:")
        lines = [f"### {markdown_escaped(self.title)}", "", markdown_escaped(self.caption), ""]
        for row in (table.columns, alignment, *table.to_numpy()):
            lines.append(f"| {' | '.join(row)} |")
        if self.notes:
            lines += ["", *(f"- {markdown_escaped(note)}" for note in self.notes)]
        return "\n".join(lines) + "\n"

    def latex(self) -> str:
        """Format as a LaTeX table, which requires booktabs."""
        optional_import("jinja2", "LaTeX tables", "report")
        return self._formatted(LATEX_MARKS, latex_escaped).to_latex(
            index=False,
            escape=False,
            column_format="".join(self._aligned("l", "r")),
            caption=latex_escaped(self.title),
            label=f"tab:{self.name}",
        )

    def _aligned(self, text: str, number: str) -> list[str]:
        n_names = self.cells.index.nlevels
        kind = text if self.ranked is None else number
        return [text] * n_names + [kind] * len(self.cells.columns)

    def _formatted(self, marks: Mapping[str, str], escaped: Callable[[str], str]) -> pd.DataFrame:
        """Escaped texts with their marks."""
        # As arrays, since a data set may have the name of a column.
        marked = zip(self.marks().to_numpy(), self.texts().to_numpy(), strict=True)
        cells = [
            [marks[mark].format(escaped(text)) for mark, text in zip(*row, strict=True)]
            for row in marked
        ]
        return pd.DataFrame(cells, columns=[escaped(str(name)) for name in self.texts().columns])


def number_texts(values: Any, template: str = "{:.2f}") -> Any:
    """Texts of the numbers of a series or frame; empty for NaN."""
    return values.map(lambda number: "" if np.isnan(number) else template.format(number))


def marks_of_ranks(ranks: Any) -> Any:
    """Marks of the best and second best number of a series or frame of ranks."""
    return ranks.map(lambda rank: {1: "best", 2: "second"}.get(rank, ""))


def latex_escaped(text: str) -> str:
    """Escape text for LaTeX."""
    return " ".join(text.split()).translate(LATEX_CHARACTERS)


def markdown_escaped(text: str) -> str:
    """Escape text for GitHub's Markdown, including cells of tables."""
    safe = html.escape(" ".join(text.split()), quote=False)
    return re.sub(r"([\\`*_\[\]#|~$])", r"\\\1", safe)


def file_names(names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield names with unique parts of file names, of safe characters only."""
    taken = set[str]()
    for name in names:
        stem = re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-.") or "data"
        while stem in taken:
            stem += "-2"
        taken.add(stem)
        yield name, stem
