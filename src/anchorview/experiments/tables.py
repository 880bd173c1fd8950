"""Tables of the paper, and of the numbers in its figures, from evaluated results."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from anchorview._utils.typing import Array
from anchorview.estimators.methods import method_class
from anchorview.experiments.data_sets import DataSet
from anchorview.experiments.evaluation import SuiteResults
from anchorview.experiments.jobs import METRICS
from anchorview.experiments.plan import LABEL_MODES
from anchorview.experiments.published_tables import published_tables
from anchorview.experiments.score_cells import (
    Cells,
    joined,
    marked,
    measured,
    number_texts,
    too_few_runs_note,
)
from anchorview.experiments.significance import ENOUGH_DATA_SETS, LEVEL, overall
from anchorview.experiments.suites import ROW_ORDERS, order_column
from anchorview.experiments.table_formats import ResultTable, file_names

PAPER_TABLES = {
    "compare": ("methods", ("II", "III", "IV", "V")),
    "ablation": ("ablations", ("VI", "VII", "VIII", "IX")),
}
"""What the tables of scores compare, and their numbers in the paper."""

TOLERANCES = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
"""Relative changes of the objective in the table of convergence, besides DALMC's `tol`."""

PAPER_ITERATIONS = 20
"""Number of iterations that suffice according to the paper."""

REFERENCE = "DALMC"
"""The method that is tested against the others."""

COSTS: tuple[tuple[str, str, str, str, dict[str, Any]], ...] = (
    (
        "runtime",
        "Running time in seconds (table X of the paper)",
        "One complete fit without other jobs at the same time; median of up to three.",
        "fit_seconds",
        {"digits": 2},
    ),
    (
        "memory",
        "Peak memory in MB",
        "Maximum resident memory of the process: libraries, data and the fit.",
        "peak_bytes",
        {"unit": 1e6, "digits": 0},
    ),
)
"""Name, title and caption of the tables of costs; quantity, unit and number of decimals."""

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
        "compare": (_rank_tables, _score_tables, _returned_tables),
        "ablation": (_score_tables,),
        "runtime": (_cost_tables,),
        "beta": (_point_tables,),
        "anchors": (_point_tables,),
        "convergence": (_convergence_tables,),
        "incomplete": (_point_tables,),
        "choices": (_choice_tables,),
        "order": (_order_tables,),
    }
    made = [
        table
        for suite, functions in makers.items()
        if suite in suites
        for make in functions
        for table in make(suites[suite])
    ]
    return [_data_table(sets), *made, *_settings_tables(frame), *published_tables(suites, sets)]


def _data_table(sets: Sequence[DataSet]) -> ResultTable:
    """Table I: properties of the data sets."""
    rows = [
        {
            "data": one.name,
            "samples": one.n_samples,
            "clusters": one.n_clusters,
            "views": len(one.n_features_per_view),
            "features": ", ".join(map(str, one.n_features_per_view)),
            "entries": "all" if one.complete else "some are missing",
            "in the paper": one.published_as or "",
        }
        for one in sets
    ]
    caption = "Numbers of features are per view; clusters are the known classes."
    title = "Data sets (table I of the paper)"
    return ResultTable("data", title, caption, {"text": pd.DataFrame(rows).set_index("data")})


def environment_table(environments: Sequence[Mapping[str, Any]]) -> ResultTable:
    """Versions and machines of the jobs, one column per combination."""
    names = ["value"]
    if len(environments) > 1:
        names = [f"environment {i}" for i, _ in enumerate(environments, 1)]
    frame = pd.DataFrame(
        {
            name: {what: _environment_text(what, value) for what, value in one.items()}
            for name, one in zip(names, environments, strict=True)
        }
    )
    caption = "Versions and machine, as recorded with each result."
    cells = {"text": frame.fillna("").rename_axis("what")}
    return ResultTable("environment", "Environment", caption, cells)


def _environment_text(name: str, value: Any) -> str:
    if name == "memory" and isinstance(value, int):
        return f"{value / 2**30:.1f} GB"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _score_tables(results: SuiteResults) -> Iterator[ResultTable]:
    """Tables II-V and VI-IX: one table per metric, one row per data set."""
    compared, numbers = PAPER_TABLES[results.suite]
    starts = STARTS_NOTE if results.suite == "compare" else ""
    places = [*(f"table {number} of the paper" for number in numbers), "not in the paper"]
    for metric, place in zip(METRICS, places, strict=True):
        yield ResultTable(
            f"{results.suite}-{metric.lower()}",
            f"{metric} of the {compared} ({place})",
            f"{RUNS_NOTE}. {starts}{_columns_note(results, SIGNIFICANCE_NOTE)}",
            _grouped(results, measured(results, metric)),
            [*results.notes(), *too_few_runs_note(results, [metric])],
        )


def _returned_tables(results: SuiteResults) -> Iterator[ResultTable]:
    """Scores of the labels that a user gets, from the best of several initializations."""
    cells = joined({metric: measured(results, f"{metric}_returned") for metric in METRICS})
    order = pd.MultiIndex.from_product([results.data, METRICS], names=["data", "metric"])
    cells = {kind: each.swaplevel().reindex(order) for kind, each in cells.items()}
    caption = (
        "In percent: scores of labels_ of one fit with the estimator's default number of "
        f"initializations, selected without labels. {_columns_note(results)}"
    )
    yield ResultTable(
        "returned-labels",
        RETURNED_TABLE,
        caption,
        _grouped(results, cells),
        results.notes(),
    )


def _cost_tables(results: SuiteResults) -> Iterator[ResultTable]:
    """Table X, and the same for memory."""
    for name, title, caption, quantity, shown in COSTS:
        yield ResultTable(
            name,
            title,
            f"{caption} {_modes_note(results)}{MARKS_NOTE}-: not done.",
            _grouped(results, measured(results, quantity, percent=False, lowest=True, **shown)),
            results.notes(),
        )


def _point_tables(results: SuiteResults) -> Iterator[ResultTable]:
    """Numbers of figures 2-5 and of missing entries: one table per data set, one row per point."""
    metrics: Sequence[str] = METRICS
    point = results.suite
    caption = f"{RUNS_NOTE}; all other settings are the defaults."
    title = f"Scores of DALMC against {'beta' if point == 'beta' else 'the number of anchors'}"
    if results.suite == "incomplete":
        metrics, point = METRICS[:2], "missing"
        title = "Scores against the fraction of missing entries"
        caption = (
            f"{RUNS_NOTE}, after a fraction of the (sample, view) entries was removed at random. "
            f"{MASK_NOTE}{SINGLE_FIT_NOTE if 'auto' in results.modes.values() else ''}"
            f"{_columns_note(results, SIGNIFICANCE_NOTE)}"
        )
    for data, stem in file_names(results.data):
        part = results.on(data)
        cells = joined({metric: measured(part, metric, "point") for metric in metrics}, axis=1)
        cells = {kind: each.rename_axis(point) for kind, each in cells.items()}
        if results.suite != "incomplete":
            # All columns are of DALMC.
            cells = {kind: each.droplevel(1, axis="columns") for kind, each in cells.items()}
        yield ResultTable(
            f"{results.suite}-{stem}",
            f"{title}, {data}",
            caption,
            cells,
            [*part.notes(), *too_few_runs_note(part, metrics, "point")],
        )


def _convergence_tables(results: SuiteResults) -> Iterator[ResultTable]:
    """Numbers of iterations in figure 6."""
    tol = float(method_class("dalmc")().tol)
    tolerances = sorted({*TOLERANCES, tol}, reverse=True)
    columns = [f"change < {tolerance:g}" for tolerance in tolerances]
    columns += ["monotone", f"fewer than {PAPER_ITERATIONS}"]
    rows = {}
    for data, status, objective in zip(
        *(results.frame[name] for name in ("data", "status", "objective")), strict=True
    ):
        if status == "done":
            rows[data] = _convergence_cells(np.asarray(objective, dtype=float), tolerances, tol)
        else:
            rows[data] = ["" if status == "absent" else "-"] * len(columns)
    yield ResultTable(
        "convergence",
        "Convergence of DALMC (figure 6 of the paper)",
        "Number of iterations until the relative change of the objective was smaller: DALMC stops "
        f"at {tol:g} by default, 0.01 is just visible in a figure; > if it was not reached. "
        "Whether the objective never increased (beyond 1e-9 of its value), and whether DALMC stops "
        f"after fewer than {PAPER_ITERATIONS} iterations, as the paper states.",
        {"text": pd.DataFrame.from_dict(rows, "index", columns=columns).rename_axis("data")},
        results.notes(),
    )


def _convergence_cells(objective: Array, tolerances: Sequence[float], tol: float) -> list[str]:
    changes = np.diff(objective)
    n_iterations = {}
    for tolerance in tolerances:
        # The first change that is known is that of the second iteration.
        small = np.abs(changes) < tolerance * np.abs(objective[1:])
        n_iterations[tolerance] = int(small.argmax()) + 2 if small.any() else None
    # Increases within the rounding error are not counted.
    monotone = (changes <= 1e-9 * np.abs(objective[:-1])).all()
    few = (n_iterations[tol] or PAPER_ITERATIONS) < PAPER_ITERATIONS
    counts = (f"> {len(objective)}" if n is None else str(n) for n in n_iterations.values())
    return [*counts, *("yes" if fact else "no" for fact in (monotone, few))]


def _rank_tables(results: SuiteResults) -> Iterator[ResultTable]:
    """Mean ranks over the data sets per contest, and tests if there are enough data sets."""
    status = results.wide("status").fillna("absent")
    for contest, columns in results.contests().items():
        name, suffix = ("ranks", "") if contest == "honest" else ("ranks-oracle", " (oracle)")
        # Data sets on which all columns were run, successfully or not.
        was_run = (status[columns] != "absent").all(axis="columns")
        ranked, left_out = status.index[was_run], status.index[~was_run]
        if len(columns) < 2 or ranked.empty:
            continue
        # The first mode of the reference, if it has any.
        reference = next((c for c in columns if c.partition(" (")[0] == REFERENCE), "")
        comparisons = {
            metric: overall(results.wide(metric).loc[ranked, columns], reference)
            for metric in METRICS
        }
        notes = []
        p_values = [
            f"{m} {each.friedman:.3g}"
            for m, each in comparisons.items()
            if each.friedman is not None
        ]
        if p_values:
            notes.append(f"Friedman test of equal ranks, p-values: {', '.join(p_values)}.")
        if len(left_out):
            notes.append(f"Without {', '.join(left_out)}: not every column was run there.")
        ranks = pd.DataFrame({metric: each.ranks for metric, each in comparisons.items()})
        ranks = ranks.rename_axis("method")
        texts = number_texts(ranks)
        marks = marked(texts.T, [columns], lowest=True).T
        yield ResultTable(
            name,
            f"Mean ranks over {len(ranked)} data set{'s' if len(ranked) > 1 else ''}{suffix}",
            "1 is best; ties share the mean of their ranks, and methods that are not done rank "
            f"last. {MARKS_NOTE.strip()}",
            {"text": texts, "mark": marks, "value": ranks},
            notes,
        )
        tests = pd.DataFrame(
            {metric: pd.Series(each.wilcoxon, dtype=float) for metric, each in comparisons.items()},
            index=pd.Index([c for c in columns if c != reference], name="method"),
        )
        if tests.isna().all(axis=None):
            continue
        least = min(each.smallest_wilcoxon for each in comparisons.values() if each.wilcoxon)
        limit = f"With this number of data sets and methods, no p-value is below {least:.3g}"
        if least >= LEVEL:
            limit += f", so nothing can be significant at {100 * LEVEL:g} %"
        yield ResultTable(
            f"{name}-tests",
            f"{reference} against each other method: p-values{suffix}",
            "Wilcoxon signed-rank test over the data sets on which both are done, Holm's "
            f"correction. {limit}. Empty: fewer than {ENOUGH_DATA_SETS} such data sets.",
            {"text": number_texts(tests, "{:.4f}"), "value": tests},
        )


def _choice_tables(results: SuiteResults) -> Iterator[ResultTable]:
    """The effect of each choice: ACC of the labels that DALMC returns, by data set."""
    scores = 100 * results.wide("ACC_returned").T
    changes = scores - scores.iloc[0]
    summary = pd.DataFrame(
        {
            "mean": scores.where(changes.notna()).mean(axis="columns"),
            "change": changes.iloc[1:].mean(axis="columns"),
            "better": (changes > 1).sum(axis="columns"),
            "worse": (changes < -1).sum(axis="columns"),
        },
        index=scores.index,
    )
    cells = {kind: each.T for kind, each in measured(results, "ACC_returned").items()}
    texts = [
        number_texts(summary[["mean"]]),
        number_texts(summary[["change"]], "{:+.1f}"),
        summary[["better", "worse"]].astype(str),
        cells["text"],
    ]
    yield ResultTable(
        "choices",
        "Choices of DALMC, one changed at a time",
        "In percent: ACC of labels_ of one fit in which one choice differs from the default. "
        "The mean and the change are over the data sets where both are done; better and worse "
        "count changes by more than a point. Labels are used for scores only.",
        {
            "text": pd.concat(texts, axis="columns").rename_axis("choice"),
            "value": pd.concat([summary, scores], axis="columns").rename_axis("choice"),
            "status": cells["status"].reindex(columns=[*summary, *scores]).rename_axis("choice"),
        },
        results.notes(),
    )


def _order_tables(results: SuiteResults) -> Iterator[ResultTable]:
    """The effect of sorted rows: ACC of each method, and its change by data set."""
    suffix = order_column("", ROW_ORDERS[0])
    methods = [name.removesuffix(suffix) for name in results.modes if name.endswith(suffix)]
    n_runs = results.wide("ACC_runs").map(len, na_action="ignore")
    squared_errors = results.wide("ACC_deviation") ** 2 / n_runs.where(n_runs > 0)
    means, variances = (
        {
            order: each[[order_column(m, order) for m in methods]].set_axis(methods, axis=1).T
            for order in ROW_ORDERS
        }
        for each in (100 * results.wide("ACC"), 1e4 * squared_errors)
    )
    changes = means["sorted"] - means["shuffled"]
    both = changes.notna()
    summary = pd.DataFrame(
        {
            "sorted": means["sorted"].where(both).mean(axis="columns"),
            "shuffled": means["shuffled"].where(both).mean(axis="columns"),
            "change": changes.mean(axis="columns"),
            "largest change": [
                max(row[row == row], key=abs, default=np.nan) for row in changes.to_numpy()
            ],
        }
    )
    errors = (variances["sorted"] + variances["shuffled"]) ** 0.5
    each_change = number_texts(changes, "{:+.2f}") + number_texts(errors, " ± {:.2f}")
    texts = [
        number_texts(summary[[*ROW_ORDERS]]),
        number_texts(summary[["change", "largest change"]], "{:+.2f}"),
        each_change.replace("", "-"),
    ]
    yield ResultTable(
        "order",
        "ACC on sorted and on shuffled rows",
        "In percent: mean ACC over the runs on rows sorted by class and on shuffled rows. Then "
        "sorted minus shuffled in points: the mean over the data sets where both are done, the "
        "largest, and each with its standard error, which is the noise of random starts. A method "
        "that does not use the order of rows differs by noise only. The classes sort the rows and "
        "are otherwise used for scores only.",
        {
            "text": pd.concat(texts, axis="columns").rename_axis("method"),
            "value": pd.concat([summary, changes], axis="columns").rename_axis("method"),
            "deviation": errors.reindex(columns=[*summary, *changes]).rename_axis("method"),
        },
        results.notes(),
    )


def _settings_tables(frame: pd.DataFrame) -> Iterator[ResultTable]:
    chosen = frame[
        frame["suite"].isin(PAPER_TABLES)
        & frame["mode"].isin(LABEL_MODES)
        & (frame["status"] == "done")
    ]
    if len(chosen):
        columns = chosen.rename(columns={"column": "method"})
        yield ResultTable(
            "oracle-settings",
            "Settings that the oracle chose",
            "With the labels, by the highest mean ACC among the settings of the grid.",
            {"text": columns.set_index(["suite", "data", "method"])[["settings"]]},
        )


def _grouped(results: SuiteResults, cells: Cells) -> Cells:
    """Cells with the mode of each column as a common header."""
    columns = pd.MultiIndex.from_arrays([[*results.modes.values()], [*results.modes]])
    return {kind: each.set_axis(columns, axis="columns") for kind, each in cells.items()}


def _modes_note(results: SuiteResults) -> str:
    return "".join(note for mode, note in MODE_NOTES.items() if mode in results.modes.values())


def _columns_note(results: SuiteResults, significance: str = "") -> str:
    """Explanation of the modes and marks that occur."""
    contests = CONTESTS_NOTE if all(results.contests().values()) else ""
    return f"{_modes_note(results)}{MARKS_NOTE}{significance}{contests}-: not done."
