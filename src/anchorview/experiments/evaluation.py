"""Results of suites: one row for each position in tables and figures, and the formats of these.

Equal results give identical SVG and PNG files.
"""

import html
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from anchorview._utils.atomic_files import atomic_write_binary
from anchorview._utils.errors import optional_import
from anchorview.experiments.jobs import METRICS, Job, Result
from anchorview.experiments.plan import LABEL_MODES, MODES, SUITES, Entry
from anchorview.plotting.axes import FILE_STYLE, series_color
from anchorview.plotting.curve_displays import Line, draw_lines, show_in_proportion

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


PANELS_PER_ROW, DPI = 3, 150
PANEL_WIDTH, PANEL_HEIGHT = 3.4, 2.6
BARS_HEIGHT, BAR_HEIGHT = 0.9, 0.19
"""Sizes of panels in inches; the height of those with bars grows with the number of bars."""

STYLE = {
    **FILE_STYLE,
    "font.size": 8.0,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#DDDDDD",
    "lines.markersize": 4.0,
}


def draw_accuracy(results: SuiteResults, data: str, axes: Any) -> None:
    """ACC of all columns."""
    rows = results.on(data).done().set_index("column").reindex(list(results.modes))
    places = np.arange(len(rows))
    axes.barh(
        places,
        100 * rows["ACC"],
        xerr=100 * rows["ACC_deviation"],
        error_kw={"elinewidth": 0.8, "capsize": 2},
        color=[series_color(column) for column in rows.index],
    )
    for place in places[rows["ACC"].isna()]:
        axes.text(0.5, place, "-", va="center")
    axes.set_yticks(places, rows.index)
    axes.set(xlabel="ACC in percent", xlim=(0, 100), ylim=(len(rows) - 0.4, -0.6))
    axes.grid(axis="y", visible=False)


def draw_scores(results: SuiteResults, data: str, axes: Any) -> None:
    """Metrics of DALMC against the points of a suite."""
    rows = results.on(data)
    done = rows.done().sort_values("point")
    lines = []
    for metric in METRICS:
        means, deviations = 100 * done[metric], 100 * done[f"{metric}_deviation"]
        line = (done["point"].tolist(), means.tolist(), metric, deviations.tolist())
        lines.append(Line(*line, series_color(metric)))
    ticks = sorted(rows.frame["point"].unique())
    draw_lines(axes, lines, ticks, log_x=results.suite == "beta")
    x_label = "number of anchors" if results.suite == "anchors" else results.suite
    axes.set(xlabel=x_label, ylabel="percent")


def draw_convergence(results: SuiteResults, data: str, axes: Any) -> None:
    """Objective per iteration."""
    rows = results.on(data).done()
    lines = [
        Line(range(1, len(objective) + 1), objective, color=series_color(column))
        for column, objective in zip(rows["column"], rows["objective"], strict=True)
    ]
    draw_lines(axes, lines)
    axes.set(xlabel="iteration", ylabel="objective")
    show_in_proportion(axes)


@dataclass(frozen=True, eq=False)
class Figure:
    """A figure of the outputs, drawn on an empty one of matplotlib; named as its files."""

    name: str
    title: str
    caption: str
    draw: Callable[[Any], None]

    def write(self, folder: Path) -> list[Path]:
        """Write as SVG and PNG, whatever the user's style; returns the paths."""
        # Without date and version, which would differ between runs.
        omitted = {"svg": ("Date", "Creator"), "png": ("Software",)}
        paths = [folder / f"{self.name}.{suffix}" for suffix in omitted]
        style = optional_import("matplotlib.style", "Figures", "report")
        figures = optional_import("matplotlib.figure", "Figures", "report")
        with style.context(["default", STYLE]), atomic_write_binary(*paths) as streams:
            figure = figures.Figure(layout="constrained")
            self.draw(figure)
            for stream, (suffix, fields) in zip(streams, omitted.items(), strict=True):
                figure.savefig(stream, format=suffix, dpi=DPI, metadata=dict.fromkeys(fields))
        return paths


SENSITIVITY = "Sensitivity of the scores of DALMC; bands are one standard deviation of the runs."

SUITE_FIGURES: Mapping[str, tuple[str, str, str, Callable[[SuiteResults, str, Any], None]]] = {
    "compare": (
        "accuracy",
        "Accuracy",
        "ACC of the methods, nothing tuned with labels; error bars are standard deviations.",
        draw_accuracy,
    ),
    "beta": ("beta", "Beta (figures 2-3 of the paper)", SENSITIVITY, draw_scores),
    "anchors": (
        "anchors",
        "Number of anchors (figures 4-5 of the paper)",
        SENSITIVITY,
        draw_scores,
    ),
    "convergence": (
        "convergence",
        "Convergence (figure 6 of the paper)",
        "Objective of DALMC after every iteration.",
        draw_convergence,
    ),
}
"""By suite: file name, title, caption, and what draws the results on a data set on axes."""


def suite_figures(frame: pd.DataFrame) -> Iterator[Figure]:
    """Figures of the suites in evaluated results, one panel per data set with results."""
    honest = frame[~frame["mode"].isin(LABEL_MODES)]
    for suite, (name, title, caption, draw) in SUITE_FIGURES.items():
        results = SuiteResults(honest, suite)
        if len(results.done()):
            yield Figure(name, title, caption, partial(_draw_panels, results, draw))


def _draw_panels(results: SuiteResults, draw: Callable[..., None], figure: Any) -> None:
    panels = [data for data in results.data if len(results.on(data).done())]
    n_columns = min(len(panels), PANELS_PER_ROW)
    n_rows = -(-len(panels) // n_columns)
    with_bars = results.suite == "compare"
    height = BARS_HEIGHT + BAR_HEIGHT * len(results.modes) if with_bars else PANEL_HEIGHT
    figure.set_size_inches(PANEL_WIDTH * n_columns, height * n_rows)
    for place, data in enumerate(panels, 1):
        draw(results, data, figure.add_subplot(n_rows, n_columns, place, title=data))
    handles, names = figure.axes[0].get_legend_handles_labels()
    if names:
        n_legend_columns = min(len(names), 2 * n_columns)
        figure.legend(handles, names, loc="outside lower center", ncols=n_legend_columns)
