"""The paper's tables, and those of its figures, from evaluated results."""

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from anchorview._utils.typing import Array
from anchorview.estimators.methods import method_class
from anchorview.experiments.output.escaping import file_names
from anchorview.experiments.output.overview_tables import data_table, published_tables, rank_tables
from anchorview.experiments.output.table_formats import Cell, Column, ResultTable
from anchorview.experiments.plan.jobs import METRICS
from anchorview.experiments.results.suite_results import (
    Record,
    SuiteResults,
    marked,
    marked_scores,
    number_cell,
    score_cell,
)
from anchorview.experiments.run.data_sets import DataSet

PAPER_TABLES = {
    "compare": dict(zip(METRICS, ("II", "III", "IV", "V"), strict=False)),
    "ablation": dict(zip(METRICS, ("VI", "VII", "VIII", "IX"), strict=False)),
}
"""Numbers of the paper's tables of scores."""

TOLERANCES = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
"""Changes of the objective for which the iterations are told, beside that where DALMC stops."""

PAPER_ITERATIONS = 20
"""The paper says that fewer suffice."""

MODE_WORDS = {
    "default": "Columns without brackets: the default settings of the method.",
    "auto": "(auto): settings chosen from the data, without labels.",
    "oracle": (
        "(oracle): settings chosen with the labels by the highest mean ACC, as papers do; without "
        "labels nobody can have them."
    ),
}
"""What the groups of columns are."""

RUN_WORDS = "Mean ± standard deviation (divisor n, the number of runs) over the runs, in percent"
OWN_TABLE = "What the estimators return"
START_WORDS = (
    "A run is one start but for (auto); the estimators themselves keep the best of several, "
    f'without labels: see the table "{OWN_TABLE}". '
)
MASK_WORDS = (
    "The entries are removed once for each share, so the deviation is that of K-means alone. "
)
SINGLE_WORDS = "(auto) is one fit at each share, without a deviation. "
MARK_WORDS = "Bold: best; underlined: second. "
SIGNIFICANCE_WORDS = (
    "†: not significantly different from the best (two-sided Mann-Whitney U test of the runs, "
    "Holm's correction, 5 %; single runs are not tested). "
)
CONTEST_WORDS = "Oracle columns are compared with oracle columns only. "

_DATA = Column("data", kind="text")


def tables(frame: pd.DataFrame, sets: Sequence[DataSet]) -> list[ResultTable]:
    """All tables that the results fill.

    Parameters
    ----------
    frame : pandas.DataFrame
        What :func:`anchorview.experiments.results.evaluation.evaluated` returns.
    sets : sequence of DataSet
        The data sets; those of the paper are compared with its numbers.

    Returns
    -------
    list of ResultTable
        In the order of the paper; suites that were not asked for have none.
    """
    compare = SuiteResults(frame, "compare")
    return [
        data_table(sets),
        *rank_tables(compare),
        *_score_tables(compare, "compare", "methods"),
        *_own_tables(compare),
        *_score_tables(SuiteResults(frame, "ablation"), "ablation", "ablations"),
        *_settings_tables(frame),
        *_cost_tables(SuiteResults(frame, "runtime")),
        *_point_tables(SuiteResults(frame, "beta"), "beta", "beta"),
        *_point_tables(SuiteResults(frame, "anchors"), "anchors", "the number of anchors"),
        *_convergence_tables(SuiteResults(frame, "convergence")),
        *_incomplete_tables(SuiteResults(frame, "incomplete")),
        *published_tables(frame, sets),
    ]


def _score_tables(results: SuiteResults, suite: str, what: str) -> Iterator[ResultTable]:
    """Tables II-V and VI-IX: data sets by columns, one table a metric."""
    columns = (_DATA, *(Column(one.header, one.mode) for one in results.contenders))
    starts = START_WORDS if suite == "compare" else ""
    caption = (
        f"{RUN_WORDS}. {starts}{_modes(results)}{MARK_WORDS}{SIGNIFICANCE_WORDS}"
        f"{_contests(results)}-: not done."
    )
    for metric in METRICS if results.data else ():
        number = PAPER_TABLES[suite].get(metric)
        place = f"table {number} of the paper" if number else "not in the paper"
        rows = ((Cell(text=data), *marked_scores(results, data, metric)) for data in results.data)
        title = f"{metric} of the {what} ({place})"
        name = f"{suite}-{metric.lower()}"
        yield ResultTable(name, title, caption, columns, tuple(rows), results.notes())


def _own_tables(results: SuiteResults) -> Iterator[ResultTable]:
    """Scores of the labels that a user gets, which come from the best of several runs."""
    if not results.data:
        return
    columns = [Column(one.header, one.mode) for one in results.contenders]
    rows = []
    for data in results.data:
        records = [results.record(data, one) for one in results.contenders]
        for metric in METRICS:
            cells = [number_cell(record, f"{metric}_own") for record in records]
            best = marked(cells, results.contenders, columns[0])
            rows.append((Cell(text=data), Cell(text=metric), *best))
    caption = (
        "In percent: scores of labels_ of one fit with the estimator's own number of restarts, "
        f"chosen without labels. {_modes(results)}{MARK_WORDS}{_contests(results)}-: not done."
    )
    yield ResultTable(
        "own-labels",
        OWN_TABLE,
        caption,
        (_DATA, Column("metric", kind="text"), *columns),
        tuple(rows),
        results.notes(),
    )


def _settings_tables(frame: pd.DataFrame) -> Iterator[ResultTable]:
    """Which settings the oracle took."""
    rows = [
        (Cell(text=suite), Cell(text=r["data"]), Cell(text=one.header), Cell(text=r["settings"]))
        for suite in ("compare", "ablation")
        for one, r in SuiteResults(frame, suite).records()
        if one.mode == "oracle" and r["status"] == "done"
    ]
    if rows:
        yield ResultTable(
            "oracle-settings",
            "Settings that the oracle chose",
            "With the labels, by the highest mean ACC among the settings of the grid.",
            tuple(Column(name, kind="text") for name in ("suite", "data", "method", "settings")),
            tuple(rows),
        )


def _cost_tables(results: SuiteResults) -> Iterator[ResultTable]:
    """Table X, and its twin for memory."""
    measures = (
        ("runtime", "Running time in seconds (table X of the paper)", "fit_seconds", 1.0, 2),
        ("memory", "Peak memory in MB", "peak_bytes", 1e6, 0),
    )
    words = {
        "runtime": (
            "One whole fit as a user calls it, no other job beside it; median of up to three."
        ),
        "memory": "Most resident memory of the process: libraries, data and the fit.",
    }
    for name, title, measured, unit, digits in measures if results.data else ():
        columns = [Column(one.header, one.mode, "number", digits) for one in results.contenders]
        rows = []
        for data in results.data:
            records = [results.record(data, one) for one in results.contenders]
            cells = [number_cell(record, measured, unit) for record in records]
            best = marked(cells, results.contenders, columns[0], lowest=True)
            rows.append((Cell(text=data), *best))
        caption = f"{words[name]} {_modes(results)}{MARK_WORDS}-: not done."
        yield ResultTable(name, title, caption, (_DATA, *columns), tuple(rows), results.notes())


def _point_tables(results: SuiteResults, suite: str, what: str) -> Iterator[ResultTable]:
    """Numbers of figures 2-5: points by metrics, one table a data set."""
    stems = file_names(results.data)
    columns = (Column(suite, kind="point"), *(Column(metric) for metric in METRICS))
    for data in results.data:
        rows = [
            (Cell(point), *(score_cell(results.record(data, one, point), m) for m in METRICS))
            for one in results.contenders
            for point in results.points(data)
        ]
        yield ResultTable(
            f"{suite}-{stems[data]}",
            f"Scores of DALMC against {what}, {data}",
            f"{RUN_WORDS}; other settings are the defaults.",
            columns,
            tuple(rows),
            results.notes(data),
        )


def _incomplete_tables(results: SuiteResults) -> Iterator[ResultTable]:
    """Missing rates by columns, ACC and NMI, one table a data set."""
    stems = file_names(results.data)
    metrics = ("ACC", "NMI")
    headers = [Column(one.header, metric) for metric in metrics for one in results.contenders]
    single = SINGLE_WORDS if any(one.mode == "auto" for one in results.contenders) else ""
    caption = (
        f"{RUN_WORDS}, after a share of the (sample, view) entries was removed at random. "
        f"{MASK_WORDS}{_modes(results)}{single}{MARK_WORDS}{SIGNIFICANCE_WORDS}"
        f"{_contests(results)}-: not done."
    )
    for data in results.data:
        rows = [
            (Cell(point), *(c for m in metrics for c in marked_scores(results, data, m, point)))
            for point in results.points(data)
        ]
        yield ResultTable(
            f"incomplete-{stems[data]}",
            f"Scores against the share of missing entries, {data}",
            caption,
            (Column("missing", kind="point"), *headers),
            tuple(rows),
            results.notes(data),
        )


def _convergence_tables(results: SuiteResults) -> Iterator[ResultTable]:
    """Figure 6 in words."""
    if not results.data:
        return
    default = float(method_class("dalmc")().tol)
    tolerances = sorted({*TOLERANCES, default}, reverse=True)
    rows = [
        _convergence_row(data, results.record(data, one), tolerances, default)
        for data in results.data
        for one in results.contenders
    ]
    columns = (
        _DATA,
        *(Column(f"change < {tolerance:g}", kind="text") for tolerance in tolerances),
        Column("monotone", kind="text"),
        Column(f"fewer than {PAPER_ITERATIONS}", kind="text"),
    )
    yield ResultTable(
        "convergence",
        "Convergence of DALMC (figure 6 of the paper)",
        "Iterations until the objective changed by less than a share of its value: "
        f"{default:g} is where DALMC stops by default, 0.01 what the eye sees in a figure; > where "
        "it did not within the iterations run. Whether the objective never increased (beyond 1e-9 "
        f"of its value), and whether DALMC stops after fewer than {PAPER_ITERATIONS} iterations, "
        "as the paper says.",
        columns,
        tuple(rows),
        results.notes(),
    )


def _convergence_row(
    data: str, record: Record | None, tolerances: Sequence[float], default: float
) -> tuple[Cell, ...]:
    name = Cell(text=data)
    if record is None or record["status"] != "done":
        status = "absent" if record is None else record["status"]
        return name, *(Cell(status=status) for _ in range(len(tolerances) + 2))
    objective = np.asarray(record["objective"], dtype=float)
    needed = {tolerance: iterations_until(objective, tolerance) for tolerance in tolerances}
    stops = needed[default]
    few = stops is not None and stops < PAPER_ITERATIONS
    return (
        name,
        *(Cell(text=f"> {len(objective) - 1}" if n is None else str(n)) for n in needed.values()),
        Cell(text=_yes(is_monotone(record))),
        Cell(text=_yes(few)),
    )


def iterations_until(objective: Array, tolerance: float) -> int | None:
    """Iterations after which an objective changes by less than a share of it; None if never."""
    small = np.abs(np.diff(objective)) < tolerance * np.abs(objective[1:])
    return int(small.argmax()) + 1 if small.any() else None


def is_monotone(record: Record) -> bool:
    """Whether the objective of a result never increases beyond the error of its computation."""
    objective = np.asarray(record["objective"], dtype=float)
    return bool((np.diff(objective) <= 1e-9 * np.abs(objective[:-1])).all())


def _yes(answer: bool) -> str:
    return "yes" if answer else "no"


def _modes(results: SuiteResults) -> str:
    """What the columns are, as far as there are any."""
    modes = {one.mode for one in results.contenders}
    return "".join(f"{words} " for mode, words in MODE_WORDS.items() if mode in modes)


def _contests(results: SuiteResults) -> str:
    return CONTEST_WORDS if len({one.contest for one in results.contenders}) > 1 else ""
