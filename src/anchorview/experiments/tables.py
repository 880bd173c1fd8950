"""Tables of the paper, and of the numbers in its figures, from evaluated results."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd

from anchorview._utils.typing import Array
from anchorview.estimators.methods import method_class
from anchorview.experiments.evaluation import (
    POSITION,
    STATUS_TEXTS,
    ResultTable,
    SuiteResults,
    file_names,
    marks_of_ranks,
    number_texts,
    suite_results,
    wide,
)
from anchorview.experiments.inputs import DataSet
from anchorview.experiments.jobs import METRICS
from anchorview.experiments.plan import LABEL_MODES, MODES
from anchorview.experiments.ranks import rankings, similar_to_best

TOLERANCES, PAPER_ITERATIONS = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6), 20
"""Changes of the objective, besides DALMC's `tol`, and iterations that suffice by the paper."""

TIMES = {"fit_seconds": "wall", "cpu_seconds": "CPU"}
BUSY_CORES = 0.2
"""Number of cores used by other programs from which times are marked."""

RETURNED_TABLE = "What the estimators return"
SCORES_NOTE = "Mean ± standard deviation over the runs, in percent."
MARKS_NOTE = "Bold: best; underlined: second. -: not done; empty: not run."
SIGNIFICANCE_NOTE = (
    "†: not significantly different from the best; left out where the runs are too few to tell."
)


def tables(frame: pd.DataFrame, sets: Sequence[DataSet]) -> list[ResultTable]:
    """All tables of evaluated results, in the order of the paper; ranks over data sets first."""
    frame = frame.assign(peak_megabytes=frame["peak_bytes"] / 1e6)
    suites = suite_results(frame)
    found = [
        _data_table(sets),
        *(table for each in rankings(suites) for table in each.tables()),
        *(table for results in suites.values() for table in _suite_tables(results)),
        _settings_table(frame),
        *_published_tables(suites, sets),
        _not_done_table(frame),
    ]
    return [table for table in found if len(table.cells)]


def _suite_tables(results: SuiteResults) -> Iterator[ResultTable]:
    match results.suite:
        case "compare":
            yield from _score_tables(results, "methods", "II", "III", "IV", "V")
            yield _measured_table(
                results,
                "returned-labels",
                RETURNED_TABLE,
                "In percent: scores of labels_ of one fit with the estimator's default number of "
                f"initializations. {MARKS_NOTE}",
                [f"{metric}_returned" for metric in METRICS],
                ["data", "metric"],
            )
        case "ablation":
            yield from _score_tables(results, "ablations", "VI", "VII", "VIII", "IX")
        case "runtime":
            yield _measured_table(
                results,
                "runtime",
                "Running time in seconds (table X of the paper)",
                "One complete fit without other jobs at the same time; median of up to three. "
                f"‡: other programs used more than {BUSY_CORES} cores meanwhile. {MARKS_NOTE}",
                list(TIMES),
                ["data", "time"],
            )
            yield _measured_table(
                results,
                "memory",
                "Peak memory in MB",
                f"Maximum resident memory: libraries, data and the fit. {MARKS_NOTE}",
                ["peak_megabytes"],
                digits=0,
            )
        case "beta" | "anchors" as suite:
            parameter = {"beta": "beta", "anchors": "the number of anchors"}[suite]
            for data, stem in file_names(results.data):
                yield _measured_table(
                    results.on(data),
                    f"{suite}-{stem}",
                    f"Scores of DALMC against {parameter}, {data}",
                    f"{SCORES_NOTE} All other settings are the defaults.",
                    METRICS,
                    ["point"],
                    ["metric"],
                )
        case "convergence":
            yield _convergence_table(results)


def _score_tables(results: SuiteResults, compared: str, *numbers: str) -> Iterator[ResultTable]:
    """Yield Tables II-V or VI-IX, one per metric."""
    caption = f"{SCORES_NOTE} {MARKS_NOTE} {SIGNIFICANCE_NOTE}"
    places = [*(f"table {number} of the paper" for number in numbers), "not in the paper"]
    for metric, place in zip(METRICS, places, strict=True):
        name, title = f"{results.suite}-{metric.lower()}", f"{metric} of the {compared} ({place})"
        yield _measured_table(results, name, title, caption, [metric])


def _measured_table(
    results: SuiteResults,
    name: str,
    title: str,
    caption: str,
    quantities: Sequence[str],
    rows: Sequence[str] = ("data",),
    columns: Sequence[str] = ("mode", "column"),
    digits: int = 2,
) -> ResultTable:
    """Table of measured quantities; the rows are data sets, or points in ascending order."""
    cells = measured(results, *quantities, digits=digits)
    cells["time"] = cells["metric"].map(TIMES)
    # The metrics of a data set are one below the other.
    key = cells["data"].map(results.data.index) if rows[0] == "data" else cells["point"]
    cells = cells.iloc[np.argsort(key, kind="stable")]
    texts, marks = (wide(cells, each, rows, columns).fillna("") for each in ("text", "mark"))
    names = [results.suite if row == "point" else row for row in rows]
    return ResultTable(name, title, caption, texts.rename_axis(names), marks)


def measured(results: SuiteResults, *quantities: str, digits: int = 2) -> pd.DataFrame:
    """Cells of quantities, one row per result and quantity: position, metric, text and mark."""
    return pd.concat([_measured(results.frame, each, digits) for each in quantities])


def _measured(frame: pd.DataFrame, quantity: str, digits: int) -> pd.DataFrame:
    is_score = quantity.partition("_")[0] in METRICS
    scale, template = 100 if is_score else 1, f"{{:.{digits}f}}"
    values, runs = frame[quantity], frame.get(f"{quantity}_runs")
    status = frame["status"].mask((frame["status"] == "done") & values.isna(), "absent")
    deviations = np.nan * values
    if runs is not None:
        deviations = frame[f"{quantity}_deviation"].where(runs.map(len) > 1)
    cells = frame[POSITION].assign(metric=quantity.removesuffix("_returned"))
    cells["text"] = cell_texts(values, deviations, status, scale, template)
    if quantity in TIMES:
        cells.loc[(frame["other_cores"] > BUSY_CORES) & values.notna(), "text"] += " ‡"
    # Oracle columns are compared with each other only; numbers with the same text are ties.
    numbers = pd.to_numeric(number_texts(scale * values, template))
    contests = numbers.groupby(
        [frame["data"], frame["point"].fillna(0), frame["mode"].isin(LABEL_MODES)]
    )
    ranks = contests.rank(method="dense", ascending=not is_score)
    cells["mark"] = marks_of_ranks(ranks).where(contests.transform("size") > 1, "")
    if runs is not None:
        for rows in contests.groups.values():
            similar = similar_to_best(runs[rows].to_dict())
            cells.loc[cells.index.isin(similar) & (cells["mark"] != "best"), "text"] += " †"
    return cells


def cell_texts(
    values: pd.Series,
    deviations: pd.Series,
    status: pd.Series,
    scale: float | pd.Series,
    template: str = "{:.2f}",
) -> pd.Series:
    """Texts of numbers with their deviations; "-" for failed jobs, "" for those not run."""
    texts = number_texts(scale * values, template)
    texts += number_texts(scale * deviations, f" ± {template}")
    return texts.where(values.notna(), status.map(lambda each: "" if each == "absent" else "-"))


def _data_table(sets: Sequence[DataSet]) -> ResultTable:
    """Table I: properties of the data sets."""
    rows = {
        one.name: {
            "samples": one.n_samples,
            "clusters": one.n_clusters,
            "views": len(one.n_features_per_view),
            "features": ", ".join(map(str, one.n_features_per_view)),
            "entries": "all" if one.complete else "some are missing",
            "in the paper": one.published_as or "",
        }
        for one in sets
    }
    caption = "Numbers of features are per view; clusters are the known classes."
    cells = pd.DataFrame.from_dict(rows, "index").rename_axis("data")
    return ResultTable("data", "Data sets (table I of the paper)", caption, cells)


def environment_table(environments: Sequence[Mapping[str, Any]]) -> ResultTable:
    """Versions and machines of the jobs, one column per combination."""
    columns = {}
    for number, each in enumerate(environments, 1):
        texts = {k: ", ".join(v) if isinstance(v, list) else str(v) for k, v in each.items()}
        if "memory" in each:
            texts["memory"] = f"{each['memory'] / 2**30:.1f} GB"
        columns[f"environment {number}"] = texts
    caption = "Versions and machine, as recorded with each result."
    cells = pd.DataFrame(columns).fillna("").rename_axis("what")
    return ResultTable("environment", "Environment", caption, cells)


def _convergence_table(results: SuiteResults) -> ResultTable:
    """Numbers of iterations in figure 6."""
    tol = float(method_class("dalmc")().tol)
    tolerances = sorted({*TOLERANCES, tol}, reverse=True)
    columns = [f"change < {tolerance:g}" for tolerance in tolerances]
    columns += ["monotone", f"fewer than {PAPER_ITERATIONS}"]
    rows = {}
    for row in results.frame.to_dict("records"):
        cells = ["" if row["status"] == "absent" else "-"] * len(columns)
        if row["status"] == "done":
            objective = np.asarray(row["objective"], dtype=float)
            counts = [_n_iterations(objective, tolerance) for tolerance in tolerances]
            # Increases within the rounding error are not counted.
            monotone = (np.diff(objective) <= 1e-9 * np.abs(objective[:-1])).all()
            few = _n_iterations(objective, tol) < PAPER_ITERATIONS
            cells = [str(n) if n < np.inf else f"> {len(objective)}" for n in counts]
            cells += ["yes" if fact else "no" for fact in (monotone, few)]
        rows[row["data"]] = cells
    return ResultTable(
        "convergence",
        "Convergence of DALMC (figure 6 of the paper)",
        "Number of iterations until the relative change of the objective was smaller; > if it was "
        f"not. Whether the objective never increased, and whether DALMC, which stops at {tol:g}, "
        f"needs fewer than {PAPER_ITERATIONS} iterations, as the paper states.",
        pd.DataFrame.from_dict(rows, "index", columns=columns).rename_axis("data"),
    )


def _n_iterations(objective: Array, tolerance: float) -> float:
    """Iterations until the relative change is below a tolerance; infinite if it never was."""
    small = np.abs(np.diff(objective)) < tolerance * np.abs(objective[1:])
    # The first change that is known is that of the second iteration.
    return int(small.argmax()) + 2 if small.any() else np.inf


def _settings_table(frame: pd.DataFrame) -> ResultTable:
    by_labels = frame["mode"].isin(LABEL_MODES) & frame["suite"].isin(["compare", "ablation"])
    chosen = frame[by_labels & (frame["status"] == "done")].rename(columns={"column": "method"})
    return ResultTable(
        "oracle-settings",
        "Settings that the oracle chose",
        "With the labels, by the highest mean ACC among the settings of the grid.",
        chosen.set_index(["suite", "data", "method"])[["settings", "tried"]],
    )


def _not_done_table(frame: pd.DataFrame) -> ResultTable:
    rows = frame[(frame["status"] != "done") | (frame["reason"] != "")]
    points, status = number_texts(rows["point"], "{:g}"), rows["status"].replace(STATUS_TEXTS)
    texts = rows.assign(point=points, status=status)
    return ResultTable(
        "not-done",
        "What is not done, and why",
        "Results that are missing, or that were selected from fewer settings than planned.",
        texts.set_index(["suite", "data", "column"])[["point", "status", "reason"]],
    )


@cache
def published_numbers() -> pd.DataFrame:
    """Numbers in Tables II-X of the paper, one row per ``data``, ``metric`` and ``method``."""
    with (files("anchorview.experiments") / "published.csv").open() as stream:
        return pd.read_csv(stream)


def _published_tables(
    suites: Mapping[str, SuiteResults], sets: Sequence[DataSet]
) -> Iterator[ResultTable]:
    """Yield the comparison with the numbers in the paper, for its data sets, if there are any."""
    quantities = {"compare": METRICS, "ablation": METRICS, "runtime": ("fit_seconds",)}
    parts = [measured(suites[suite], *quantities[suite]) for suite in quantities if suite in suites]
    if not parts:
        return
    here = pd.concat(parts)
    here["method"] = here["column"].str.partition(" (")[0]
    here["text"] = here["text"].str.rstrip(" †‡")
    position = ["data", "metric", "method"]
    names = pd.DataFrame([(one.name, one.published_as) for one in sets], columns=["here", "data"])
    paper = names.merge(published_numbers()).drop(columns="data").rename(columns={"here": "data"})
    here = here.merge(paper[position]).drop_duplicates([*position, "mode"])
    paper = paper.merge(here[position].drop_duplicates())
    scale = paper["metric"].map(lambda metric: 100 if metric in METRICS else 1)
    texts = cell_texts(paper["mean"], paper["deviation"], paper["status"], scale)
    both = pd.concat([paper.assign(text=texts, mode="paper"), here], ignore_index=True)
    if paper.empty:
        return
    order = ["paper", *(mode for mode in MODES if mode in set(here["mode"]))]
    yield ResultTable(
        "published",
        "Comparison with the published numbers",
        "Scores: mean ± standard deviation in percent. The paper's settings were chosen with "
        "the labels: compare its numbers with the oracle's. Features of the data may differ, "
        "and its times are of another machine and programming language.",
        wide(both, "text", position, ["mode"]).fillna("")[order],
    )
