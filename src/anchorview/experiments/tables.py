"""Tables of the paper, and of the numbers in its figures, from evaluated results."""

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from anchorview._utils.typing import Array
from anchorview.estimators.methods import method_class
from anchorview.experiments.data_sets import DataSet
from anchorview.experiments.escaping import file_names
from anchorview.experiments.jobs import METRICS
from anchorview.experiments.overview_tables import (
    choice_tables,
    data_table,
    order_tables,
    published_tables,
    rank_tables,
)
from anchorview.experiments.score_cells import (
    marked,
    marked_scores,
    number_cell,
    score_cell,
    too_few_runs_note,
)
from anchorview.experiments.suite_results import Record, SuiteResults
from anchorview.experiments.table_formats import (
    Cell,
    Column,
    ResultTable,
    text_cells,
    text_columns,
)

PAPER_TABLES = {
    "compare": dict(zip(METRICS, ("II", "III", "IV", "V"), strict=False)),
    "ablation": dict(zip(METRICS, ("VI", "VII", "VIII", "IX"), strict=False)),
}
"""Numbers of the paper's tables of scores."""

TOLERANCES = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
"""Relative changes of the objective in the table of convergence, besides DALMC's `tol`."""

PAPER_ITERATIONS = 20
"""Number of iterations that suffice according to the paper."""

MODE_NOTES = {
    "default": "Columns without parentheses: the default settings of the method.",
    "auto": "(auto): settings selected from the data, without labels.",
    "oracle": (
        "(oracle): settings chosen with the labels by the highest mean ACC, as in papers; this is "
        "impossible without labels."
    ),
    "published": (
        "(as published, oracle): the choices of the paper, DALMC.as_published, with beta and the "
        "number of anchors chosen with the labels, as in the paper."
    ),
}
RUNS_NOTE = "Mean ± standard deviation (divisor n, the number of runs) over the runs, in percent"
OWN_TABLE = "What the estimators return"
STARTS_NOTE = (
    "A run has a single initialization, except for (auto); the estimators themselves keep the "
    f'best of several, without labels: see the table "{OWN_TABLE}". '
)
MASK_NOTE = "The entries are removed once per fraction, so the deviation is that of K-means alone. "
SINGLE_FIT_NOTE = "(auto) is a single fit per fraction, without a deviation. "
MARKS_NOTE = "Bold: best; underlined: second. "
SIGNIFICANCE_NOTE = (
    "†: not significantly different from the best (two-sided Mann-Whitney U test of the runs, "
    "Holm's correction, 5 %; only where there are enough runs to reject). "
)
CONTESTS_NOTE = "Oracle columns are compared with oracle columns only. "


def tables(frame: pd.DataFrame, sets: Sequence[DataSet]) -> list[ResultTable]:
    """All tables of evaluated results, in the order of the paper."""
    compare = SuiteResults(frame, "compare")
    return [
        data_table(sets),
        *rank_tables(compare),
        *_score_tables(compare, "compare", "methods"),
        *_own_label_tables(compare),
        *_score_tables(SuiteResults(frame, "ablation"), "ablation", "ablations"),
        *_oracle_settings_tables(frame),
        *_cost_tables(SuiteResults(frame, "runtime")),
        *_parameter_tables(SuiteResults(frame, "beta"), "beta", "beta"),
        *_parameter_tables(SuiteResults(frame, "anchors"), "anchors", "the number of anchors"),
        *_convergence_tables(SuiteResults(frame, "convergence")),
        *_incomplete_tables(SuiteResults(frame, "incomplete")),
        *choice_tables(SuiteResults(frame, "choices")),
        *order_tables(SuiteResults(frame, "order")),
        *published_tables(frame, sets),
    ]


def _score_tables(results: SuiteResults, suite: str, compared: str) -> Iterator[ResultTable]:
    """Tables II-V and VI-IX: one table per metric, one row per data set."""
    columns = [Column(one.header, one.mode) for one in results.contenders]
    headers = (*text_columns("data"), *columns)
    starts = STARTS_NOTE if suite == "compare" else ""
    caption = f"{RUNS_NOTE}. {starts}{_columns_note(results, SIGNIFICANCE_NOTE)}"
    for metric in METRICS if results.data else ():
        number = PAPER_TABLES[suite].get(metric)
        place = f"table {number} of the paper" if number else "not in the paper"
        rows = ((*text_cells(data), *marked_scores(results, data, metric)) for data in results.data)
        title = f"{metric} of the {compared} ({place})"
        name = f"{suite}-{metric.lower()}"
        few = too_few_runs_note(results, [(data, None) for data in results.data], [metric])
        yield ResultTable(name, title, caption, headers, tuple(rows), (*results.notes(), *few))


def _own_label_tables(results: SuiteResults) -> Iterator[ResultTable]:
    """Scores of the labels that a user gets, from the best of several initializations."""
    if not results.data:
        return
    columns = [Column(one.header, one.mode) for one in results.contenders]
    rows = []
    for data in results.data:
        records = [results.record(data, one) for one in results.contenders]
        for metric in METRICS:
            cells = [number_cell(record, f"{metric}_own") for record in records]
            best = marked(cells, results.contenders, columns[0])
            rows.append((*text_cells(data, metric), *best))
    caption = (
        "In percent: scores of labels_ of one fit with the estimator's own number of "
        f"initializations, selected without labels. {_columns_note(results)}"
    )
    headers = (*text_columns("data", "metric"), *columns)
    yield ResultTable("own-labels", OWN_TABLE, caption, headers, tuple(rows), results.notes())


def _oracle_settings_tables(frame: pd.DataFrame) -> Iterator[ResultTable]:
    rows = [
        text_cells(suite, record["data"], one.header, record["settings"])
        for suite in ("compare", "ablation")
        for one, record in SuiteResults(frame, suite).records()
        if one.contest == "oracle" and record["status"] == "done"
    ]
    if rows:
        yield ResultTable(
            "oracle-settings",
            "Settings that the oracle chose",
            "With the labels, by the highest mean ACC among the settings of the grid.",
            text_columns("suite", "data", "method", "settings"),
            tuple(rows),
        )


def _cost_tables(results: SuiteResults) -> Iterator[ResultTable]:
    """Table X, and the same for memory."""
    costs = (
        (
            "runtime",
            "Running time in seconds (table X of the paper)",
            "One complete fit without other jobs at the same time; median of up to three.",
            2,
            ("fit_seconds", 1.0),
        ),
        (
            "memory",
            "Peak memory in MB",
            "Maximum resident memory of the process: libraries, data and the fit.",
            0,
            ("peak_bytes", 1e6),
        ),
    )
    for name, title, caption, digits, measured in costs if results.data else ():
        columns = [Column(one.header, one.mode, "number", digits) for one in results.contenders]
        rows = []
        for data in results.data:
            records = [results.record(data, one) for one in results.contenders]
            cells = [number_cell(record, *measured) for record in records]
            best = marked(cells, results.contenders, columns[0], lowest=True)
            rows.append((*text_cells(data), *best))
        headers = (*text_columns("data"), *columns)
        caption = f"{caption} {_modes_note(results)}{MARKS_NOTE}-: not done."
        yield ResultTable(name, title, caption, headers, tuple(rows), results.notes())


def _parameter_tables(results: SuiteResults, suite: str, parameter: str) -> Iterator[ResultTable]:
    """Numbers of figures 2-5: one table per data set, one row per value of a parameter."""
    stems = file_names(results.data)
    columns = (Column(suite, kind="point"), *map(Column, METRICS))
    for data in results.data:
        rows = [
            (Cell(point), *(score_cell(results.record(data, one, point), m) for m in METRICS))
            for one in results.contenders
            for point in results.points(data)
        ]
        title = f"Scores of DALMC against {parameter}, {data}"
        caption = f"{RUNS_NOTE}; all other settings are the defaults."
        name, notes = f"{suite}-{stems[data]}", results.notes(data)
        yield ResultTable(name, title, caption, columns, tuple(rows), notes)


def _incomplete_tables(results: SuiteResults) -> Iterator[ResultTable]:
    """ACC and NMI: one table per data set, one row per fraction of missing entries."""
    stems = file_names(results.data)
    metrics = ("ACC", "NMI")
    headers = [Column(one.header, metric) for metric in metrics for one in results.contenders]
    single = SINGLE_FIT_NOTE if any(one.mode == "auto" for one in results.contenders) else ""
    caption = (
        f"{RUNS_NOTE}, after a fraction of the (sample, view) entries was removed at random. "
        f"{MASK_NOTE}{single}{_columns_note(results, SIGNIFICANCE_NOTE)}"
    )
    for data in results.data:
        rows = [
            (Cell(point), *(c for m in metrics for c in marked_scores(results, data, m, point)))
            for point in results.points(data)
        ]
        title = f"Scores against the fraction of missing entries, {data}"
        columns = (Column("missing", kind="point"), *headers)
        positions = [(data, point) for point in results.points(data)]
        notes = (*results.notes(data), *too_few_runs_note(results, positions, metrics))
        yield ResultTable(f"incomplete-{stems[data]}", title, caption, columns, tuple(rows), notes)


def _convergence_tables(results: SuiteResults) -> Iterator[ResultTable]:
    """Numbers of iterations in figure 6."""
    if not results.data:
        return
    tol = float(method_class("dalmc")().tol)
    tolerances = sorted({*TOLERANCES, tol}, reverse=True)
    rows = [
        (*text_cells(data), *_convergence_cells(results.record(data, one), tolerances, tol))
        for data in results.data
        for one in results.contenders
    ]
    changes = (f"change < {tolerance:g}" for tolerance in tolerances)
    yield ResultTable(
        "convergence",
        "Convergence of DALMC (figure 6 of the paper)",
        "Number of iterations until the relative change of the objective was smaller: DALMC stops "
        f"at {tol:g} by default, 0.01 is just visible in a figure; > if it was not reached. "
        "Whether the objective never increased (beyond 1e-9 of its value), and whether DALMC stops "
        f"after fewer than {PAPER_ITERATIONS} iterations, as the paper states.",
        text_columns("data", *changes, "monotone", f"fewer than {PAPER_ITERATIONS}"),
        tuple(rows),
        results.notes(),
    )


def _convergence_cells(
    record: Record | None, tolerances: Sequence[float], tol: float
) -> tuple[Cell, ...]:
    if record is None or record["status"] != "done":
        status = "absent" if record is None else record["status"]
        return (Cell(status=status),) * (len(tolerances) + 2)
    objective = np.asarray(record["objective"], dtype=float)
    needed = {tolerance: _iterations_until(objective, tolerance) for tolerance in tolerances}
    # Increases within the rounding error are not counted.
    monotone = (np.diff(objective) <= 1e-9 * np.abs(objective[:-1])).all()
    few = (needed[tol] or PAPER_ITERATIONS) < PAPER_ITERATIONS
    counts = (f"> {len(objective)}" if n is None else str(n) for n in needed.values())
    return text_cells(*counts, *("yes" if fact else "no" for fact in (monotone, few)))


def _iterations_until(objective: Array, tolerance: float) -> int | None:
    """Number of iterations until the relative change is below a tolerance; None if never.

    The first change that is known is that of the second iteration.
    """
    small = np.abs(np.diff(objective)) < tolerance * np.abs(objective[1:])
    return int(small.argmax()) + 2 if small.any() else None


def _modes_note(results: SuiteResults) -> str:
    modes = {one.mode for one in results.contenders}
    return "".join(f"{note} " for mode, note in MODE_NOTES.items() if mode in modes)


def _columns_note(results: SuiteResults, significance: str = "") -> str:
    """Explanation of the modes and marks that occur."""
    contests = CONTESTS_NOTE if len({one.contest for one in results.contenders}) > 1 else ""
    return f"{_modes_note(results)}{MARKS_NOTE}{significance}{contests}-: not done."
