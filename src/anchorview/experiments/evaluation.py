"""Results: one row for each position in tables and figures, and their format as tables."""

import html
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from anchorview._utils.errors import optional_import
from anchorview.experiments.jobs import METRICS, Job, Result
from anchorview.experiments.plan import MODES, SUITES, Entry

POSITION = ["suite", "data", "column", "mode", "point"]
MEASURED = ["fit_seconds", "cpu_seconds", "other_cores", "peak_bytes", "n_iter"]

NOT_RUN = Result("absent", "not run")

STATUS_TEXTS = {"memory": "out of memory", "time": "out of time", "failed": "failed"}


def evaluated(
    entries: Sequence[Entry], results: Mapping[str, Result], digests: Mapping[str, str]
) -> pd.DataFrame:
    """One row per position: of its entries, the one with the highest mean ACC.

    Columns are the position; what a :class:`Result` has; ``settings`` as text, and ``tried``, the
    number of settings they were selected from; for each metric its mean, e.g. ``ACC``,
    ``ACC_deviation`` over the n runs (divisor n), ``ACC_returned`` of the estimator's `labels_`,
    and ``ACC_runs``, a tuple. Absent numbers are NaN.
    """
    tried: dict[tuple[Any, ...], list[tuple[Job, Result]]] = {}
    for entry in entries:
        position = (entry.suite, entry.data, entry.column, entry.mode, entry.point)
        result = results.get(entry.job.key(digests[entry.data]), NOT_RUN)
        tried.setdefault(position, []).append((entry.job, result))
    rows = [
        dict(zip(POSITION, position, strict=True)) | _row(outcomes)
        for position, outcomes in tried.items()
    ]
    numbers = [metric + suffix for metric in METRICS for suffix in ("", "_deviation", "_returned")]
    runs = [f"{metric}_runs" for metric in METRICS]
    texts = ["status", "reason", "settings", "tried"]
    frame = pd.DataFrame(rows, columns=[*POSITION, *texts, *numbers, *runs, *MEASURED, "objective"])
    return frame.astype(dict.fromkeys([*numbers, "point", *MEASURED], float))


def _row(outcomes: Sequence[tuple[Job, Result]]) -> dict[str, Any]:
    """Evaluate the best of the outcomes at one position."""
    done = [(job, result) for job, result in outcomes if result.status == "done"]
    if done:
        job, result = max(done, key=lambda outcome: np.mean(outcome[1].scores["ACC"]))
        others = Counter(result.status for _, result in outcomes if result.status != "done")
        lost = ", ".join(f"{count} {status}" for status, count in others.items())
        reason = f"best of {len(done)} of {len(outcomes)} settings ({lost})" if lost else ""
    else:
        # It is not known that all fail as long as one has not run.
        job, result = max(outcomes, key=lambda outcome: outcome[1] is NOT_RUN)
        reason = result.reason
    settings = ", ".join(f"{name}={value}" for name, value in job.settings) or "defaults"
    row: dict[str, Any] = {
        "status": result.status,
        "reason": reason,
        "settings": settings,
        "tried": len(outcomes),
        "objective": result.objective,
    }
    for metric in METRICS:
        runs = result.scores.get(metric, ())
        row[f"{metric}_runs"] = runs
        row[f"{metric}_returned"] = result.returned.get(metric)
        if runs:
            row |= {metric: np.mean(runs), f"{metric}_deviation": np.std(runs)}
    return row | {name: getattr(result, name) for name in MEASURED}


def wide(
    frame: pd.DataFrame, values: str, rows: Sequence[str], columns: Sequence[str]
) -> pd.DataFrame:
    """Pivot a frame, with rows and columns in the order of their appearance."""
    axes = {"index": list(rows), "columns": list(columns)}
    order = {}
    for axis, names in axes.items():
        keys = pd.MultiIndex.from_frame(frame[names].drop_duplicates())
        order[axis] = keys if len(names) > 1 else keys.get_level_values(0)
    return frame.pivot(values=values, **axes).reindex(**order)  # type: ignore[arg-type]


class SuiteResults:
    """Results of one suite: `frame`, names of the data sets, and mode of each column of tables."""

    def __init__(self, frame: pd.DataFrame, suite: str) -> None:
        self.suite = suite
        rows = frame[frame["suite"] == suite]
        self.data: list[str] = rows["data"].unique().tolist()
        self.frame = rows.sort_values("mode", key=lambda mode: mode.map(MODES.index), kind="stable")
        self.modes: dict[str, str] = dict(self.frame[["column", "mode"]].to_numpy())

    def on(self, data: str) -> "SuiteResults":
        """Results on one data set."""
        return SuiteResults(self.frame[self.frame["data"] == data], self.suite)

    def done(self) -> pd.DataFrame:
        """Rows that are done."""
        return self.frame[self.frame["status"] == "done"]

    def wide(self, quantity: str) -> pd.DataFrame:
        """A quantity with one row per data set and the columns of tables."""
        return wide(self.frame, quantity, ["data"], ["column"]).reindex(self.data)


def suite_results(frame: pd.DataFrame) -> dict[str, SuiteResults]:
    """Results by suite, in the order of the paper."""
    found = set(frame["suite"])
    return {suite: SuiteResults(frame, suite) for suite in SUITES if suite in found}


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
    """A table of results; its name is that of its files without suffix."""

    name: str
    title: str
    caption: str
    cells: pd.DataFrame
    """Texts or numbers; the index names the rows, and the last level of the columns these."""
    ranked: pd.DataFrame | None = None
    """Mark of each cell: ``"best"``, ``"second"`` or ``""``."""
    notes: Sequence[str] = ()

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
