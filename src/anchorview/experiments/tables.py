"""Tables of the paper, and of the numbers in its figures, from evaluated results."""

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from anchorview.estimators.methods import method_class
from anchorview.experiments.data_sets import DataSet
from anchorview.experiments.evaluation import Record, SuiteResults
from anchorview.experiments.jobs import METRICS
from anchorview.experiments.overview_tables import (
    choice_tables,
    data_table,
    order_tables,
    rank_tables,
)
from anchorview.experiments.plan import LABEL_MODES
from anchorview.experiments.published_tables import published_tables
from anchorview.experiments.score_cells import (
    marked_numbers,
    marked_scores,
    score,
    too_few_runs_note,
)
from anchorview.experiments.table_formats import Header, ResultTable, file_names, headers

PAPER_TABLES = {
    "compare": dict(zip(METRICS, ("II", "III", "IV", "V"), strict=False)),
    "ablation": dict(zip(METRICS, ("VI", "VII", "VIII", "IX"), strict=False)),
}
"""Numbers of the paper's tables of scores."""

TOLERANCES = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
"""Relative changes of the objective in the table of convergence, besides DALMC's `tol`."""

PAPER_ITERATIONS = 20
"""Number of iterations that suffice according to the paper."""

COSTS = (
    (
        "runtime",
        "Running time in seconds (table X of the paper)",
        "One complete fit without other jobs at the same time; median of up to three.",
        ("fit_seconds", 1.0, 2),
    ),
    (
        "memory",
        "Peak memory in MB",
        "Maximum resident memory of the process: libraries, data and the fit.",
        ("peak_bytes", 1e6, 0),
    ),
)
"""Name, title and caption of the tables of costs; column, unit and number of decimals."""

MODE_NOTES = {
    "default": "Columns without parentheses: the default settings of the method. ",
    "auto": "(auto): settings selected from the data, without labels. ",
    "oracle": (
        "(oracle): settings chosen with the labels by the highest mean ACC, as in papers; this is "
        "impossible without labels. "
    ),
    "published": (
        "(as published, oracle): the choices of the paper, DALMC.as_published, with beta and the "
        "number of anchors chosen with the labels, as in the paper. "
    ),
}
RUNS_NOTE = "Mean ± standard deviation (divisor n, the number of runs) over the runs, in percent"
RETURNED_TABLE = "What the estimators return"
STARTS_NOTE = (
    "A run has a single initialization, except for (auto); the estimators themselves keep the "
    f'best of several, without labels: see the table "{RETURNED_TABLE}". '
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
    suites = {suite: SuiteResults(frame, suite) for suite in frame["suite"].unique()}
    makers = {
        "compare": (rank_tables, _score_tables, _returned_tables),
        "ablation": (_score_tables,),
        "runtime": (_cost_tables,),
        "beta": (_parameter_tables,),
        "anchors": (_parameter_tables,),
        "convergence": (_convergence_tables,),
        "incomplete": (_incomplete_tables,),
        "choices": (choice_tables,),
        "order": (order_tables,),
    }
    made = [
        table
        for suite, functions in makers.items()
        if suite in suites
        for make in functions
        for table in make(suites[suite])
    ]
    return [data_table(sets), *made, *_settings_tables(frame), *published_tables(suites, sets)]


def _score_tables(results: SuiteResults) -> Iterator[ResultTable]:
    """Tables II-V and VI-IX: one table per metric, one row per data set."""
    compared, starts = ("ablations", "")
    if results.suite == "compare":
        compared, starts = "methods", STARTS_NOTE
    caption = f"{RUNS_NOTE}. {starts}{_columns_note(results, SIGNIFICANCE_NOTE)}"
    for metric in METRICS:
        number = PAPER_TABLES[results.suite].get(metric)
        place = f"table {number} of the paper" if number else "not in the paper"
        yield ResultTable(
            f"{results.suite}-{metric.lower()}",
            f"{metric} of the {compared} ({place})",
            caption,
            [*headers("data"), *_columns(results)],
            [(data, *marked_scores(results, data, metric)) for data in results.data],
            [
                *results.notes(),
                *too_few_runs_note(results, [(data, None) for data in results.data], [metric]),
            ],
        )


def _returned_tables(results: SuiteResults) -> Iterator[ResultTable]:
    """Scores of the labels that a user gets, from the best of several initializations."""
    caption = (
        "In percent: scores of labels_ of one fit with the estimator's default number of "
        f"initializations, selected without labels. {_columns_note(results)}"
    )
    yield ResultTable(
        "returned-labels",
        RETURNED_TABLE,
        caption,
        [*headers("data", "metric"), *_columns(results)],
        [
            (data, metric, *marked_numbers(results, data, f"{metric}_returned"))
            for data in results.data
            for metric in METRICS
        ],
        results.notes(),
    )


def _settings_tables(frame: pd.DataFrame) -> Iterator[ResultTable]:
    chosen = frame[
        frame["suite"].isin(PAPER_TABLES)
        & frame["mode"].isin(LABEL_MODES)
        & (frame["status"] == "done")
    ]
    if len(chosen):
        yield ResultTable(
            "oracle-settings",
            "Settings that the oracle chose",
            "With the labels, by the highest mean ACC among the settings of the grid.",
            headers("suite", "data", "method", "settings"),
            chosen[["suite", "data", "column", "settings"]].to_numpy().tolist(),
        )


def _cost_tables(results: SuiteResults) -> Iterator[ResultTable]:
    """Table X, and the same for memory."""
    for name, title, caption, (measured, unit, digits) in COSTS:
        shown = {"unit": unit, "percent": False, "digits": digits}
        yield ResultTable(
            name,
            title,
            f"{caption} {_modes_note(results)}{MARKS_NOTE}-: not done.",
            [*headers("data"), *_columns(results)],
            [
                (data, *marked_numbers(results, data, measured, lowest=True, **shown))
                for data in results.data
            ],
            results.notes(),
        )


def _parameter_tables(results: SuiteResults) -> Iterator[ResultTable]:
    """Numbers of figures 2-5: one table per data set, one row per value of a parameter."""
    parameter = "beta" if results.suite == "beta" else "the number of anchors"
    for data, stem in file_names(results.data):
        yield ResultTable(
            f"{results.suite}-{stem}",
            f"Scores of DALMC against {parameter}, {data}",
            f"{RUNS_NOTE}; all other settings are the defaults.",
            headers(results.suite, *METRICS),
            [
                (point, *(score(results.record(data, column, point), m) for m in METRICS))
                for column in results.modes
                for point in results.points(data)
            ],
            results.notes(data),
        )


def _incomplete_tables(results: SuiteResults) -> Iterator[ResultTable]:
    """ACC and NMI: one table per data set, one row per fraction of missing entries."""
    metrics = ("ACC", "NMI")
    single = SINGLE_FIT_NOTE if "auto" in results.modes.values() else ""
    caption = (
        f"{RUNS_NOTE}, after a fraction of the (sample, view) entries was removed at random. "
        f"{MASK_NOTE}{single}{_columns_note(results, SIGNIFICANCE_NOTE)}"
    )
    for data, stem in file_names(results.data):
        points = results.points(data)
        few = too_few_runs_note(results, [(data, point) for point in points], metrics)
        yield ResultTable(
            f"incomplete-{stem}",
            f"Scores against the fraction of missing entries, {data}",
            caption,
            [*headers("missing"), *((m, column) for m in metrics for column in results.modes)],
            [
                (point, *(n for m in metrics for n in marked_scores(results, data, m, point)))
                for point in points
            ],
            [*results.notes(data), *few],
        )


def _convergence_tables(results: SuiteResults) -> Iterator[ResultTable]:
    """Numbers of iterations in figure 6."""
    tol = float(method_class("dalmc")().tol)
    tolerances = sorted({*TOLERANCES, tol}, reverse=True)
    changes = (f"change < {tolerance:g}" for tolerance in tolerances)
    yield ResultTable(
        "convergence",
        "Convergence of DALMC (figure 6 of the paper)",
        "Number of iterations until the relative change of the objective was smaller: DALMC stops "
        f"at {tol:g} by default, 0.01 is just visible in a figure; > if it was not reached. "
        "Whether the objective never increased (beyond 1e-9 of its value), and whether DALMC stops "
        f"after fewer than {PAPER_ITERATIONS} iterations, as the paper states.",
        headers("data", *changes, "monotone", f"fewer than {PAPER_ITERATIONS}"),
        [(r["data"], *_convergence_cells(r, tolerances, tol)) for r in results.records],
        results.notes(),
    )


def _convergence_cells(record: Record, tolerances: Sequence[float], tol: float) -> list[str]:
    if record["status"] != "done":
        return ["" if record["status"] == "absent" else "-"] * (len(tolerances) + 2)
    objective = np.asarray(record["objective"], dtype=float)
    changes = np.abs(np.diff(objective))
    n_iterations = {}
    for tolerance in tolerances:
        # The first change that is known is that of the second iteration.
        small = changes < tolerance * np.abs(objective[1:])
        n_iterations[tolerance] = int(small.argmax()) + 2 if small.any() else None
    # Increases within the rounding error are not counted.
    monotone = (np.diff(objective) <= 1e-9 * np.abs(objective[:-1])).all()
    few = (n_iterations[tol] or PAPER_ITERATIONS) < PAPER_ITERATIONS
    counts = (f"> {len(objective)}" if n is None else str(n) for n in n_iterations.values())
    return [*counts, *("yes" if fact else "no" for fact in (monotone, few))]


def _columns(results: SuiteResults) -> list[Header]:
    return [(mode, column) for column, mode in results.modes.items()]


def _modes_note(results: SuiteResults) -> str:
    return "".join(note for mode, note in MODE_NOTES.items() if mode in results.modes.values())


def _columns_note(results: SuiteResults, significance: str = "") -> str:
    """Explanation of the modes and marks that occur."""
    contests = CONTESTS_NOTE if all(results.contests().values()) else ""
    return f"{_modes_note(results)}{MARKS_NOTE}{significance}{contests}-: not done."
