"""Tables of the paper, and of the numbers in its figures, from evaluated results."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd

from anchorview._utils.typing import Array
from anchorview.estimators.methods import method_class
from anchorview.experiments.data_sets import DataSet
from anchorview.experiments.evaluation import POSITION, SuiteResults, wide
from anchorview.experiments.jobs import METRICS
from anchorview.experiments.plan import LABEL_MODES, MODES
from anchorview.experiments.result_table import ResultTable, file_names
from anchorview.experiments.significance import (
    ENOUGH_DATA_SETS,
    LEVEL,
    like_best,
    overall,
    runs_needed,
)
from anchorview.experiments.suites import ROW_ORDERS, order_column

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

COSTS = {
    "fit_seconds": (
        "runtime",
        "Running time in seconds (table X of the paper)",
        "One complete fit without other jobs at the same time; median of up to three.",
        2,
    ),
    "peak_megabytes": (
        "memory",
        "Peak memory in MB",
        "Maximum resident memory of the process: libraries, data and the fit.",
        0,
    ),
}
"""Name, title and caption of the tables of costs, and the number of decimals."""

RETURNED_TABLE = "What the estimators return"
RUNS_NOTE = "Mean ± standard deviation (divisor n, the number of runs) over the runs, in percent"
STARTS_NOTE = (
    "A run has a single initialization, except for (auto); the estimators themselves keep the "
    f'best of several, without labels: see the table "{RETURNED_TABLE}". '
)
MARKS_NOTE = "Bold: best; underlined: second"
COLUMNS_NOTE = (
    "Columns without parentheses: the default settings of the method. (auto): settings selected "
    "from the data, without labels. (oracle): settings chosen with the labels by the highest mean "
    "ACC, as in papers, which is impossible without labels; (as published, oracle): the same with "
    "the choices of the paper, DALMC.as_published. Oracle columns are compared with oracle columns "
    f"only. {MARKS_NOTE}. -: not done."
)
SIGNIFICANCE_NOTE = (
    "†: not significantly different from the best (two-sided Mann-Whitney U test of the runs, "
    "Holm's correction, 5 %; only where there are enough runs to reject)."
)


def tables(frame: pd.DataFrame, sets: Sequence[DataSet]) -> list[ResultTable]:
    """All tables of evaluated results, in the order of the paper."""
    makers = {
        "compare": (_rank_tables, _score_tables, _returned_tables),
        "ablation": (_score_tables,),
        "runtime": (_cost_tables,),
        "beta": (_point_tables,),
        "anchors": (_point_tables,),
        "convergence": (_convergence_tables,),
        "incomplete": (_point_tables,),
        "choices": (_change_tables,),
        "order": (_change_tables,),
    }
    suites = {suite: SuiteResults(frame, suite) for suite in frame["suite"].unique()}
    made = [
        table
        for suite, functions in makers.items()
        if suite in suites
        for make in functions
        for table in make(suites[suite])
    ]
    return [_data_table(sets), *made, *_settings_tables(frame), *_published_tables(suites, sets)]


def measured(results: SuiteResults, *quantities: str, digits: int = 2) -> pd.DataFrame:
    """Cells of measured quantities, one row per result and quantity.

    A row has the position, ``metric``, ``text``, ``mark``, ``mean`` (of scores of runs) or
    ``value``, ``deviation`` and ``status``; and for scores of runs ``n_runs`` and ``runs_needed``,
    the number of runs with which all columns could be told apart, if there are fewer. Scores of
    runs have their standard deviation if there is more than one, and a dagger if they do not differ
    significantly from the best.
    """
    return pd.concat([_measured(results.frame, each, digits) for each in quantities])


def _measured(frame: pd.DataFrame, quantity: str, digits: int) -> pd.DataFrame:
    is_score = quantity.partition("_")[0] in METRICS
    values, status = frame[quantity], frame["status"]
    cells = frame[POSITION].assign(
        metric=quantity.removesuffix("_returned"),
        status=status.mask((status == "done") & values.isna(), "absent"),
    )
    runs = frame.get(f"{quantity}_runs")
    deviations = None
    if runs is not None:
        cells["n_runs"] = runs.map(len)
        deviations = frame[f"{quantity}_deviation"].where(cells["n_runs"] > 1)
        cells["deviation"] = deviations
    cells["value" if runs is None else "mean"] = values
    template = f"{{:.{digits}f}}"
    scale = 100 if is_score else 1
    cells["text"] = cell_texts(values, deviations, cells["status"], scale, template)
    # Oracle columns are compared with each other only; numbers with the same text are ties.
    numbers = pd.to_numeric(number_texts(scale * values, template))
    contests = numbers.groupby(
        [frame["data"], frame["point"].fillna(0), frame["mode"].isin(LABEL_MODES)]
    )
    ranks = contests.rank(method="dense", ascending=not is_score)
    cells["mark"] = marks_of_ranks(ranks).where(contests.transform("size") > 1, "")
    if runs is not None:
        for rows in contests.groups.values():
            scores = runs[rows].to_dict()
            cells.loc[rows, "runs_needed"] = runs_needed(scores)
            alike = cells.index.isin(like_best(scores)) & (cells["mark"] != "best")
            cells.loc[alike, "text"] += " †"
    return cells


def cell_texts(
    values: pd.Series,
    deviations: pd.Series | None,
    status: pd.Series,
    scale: float,
    template: str = "{:.2f}",
) -> pd.Series:
    """Texts of numbers with their deviations; "-" for failed jobs, "" for those not run."""
    texts = number_texts(scale * values, template)
    if deviations is not None:
        texts += number_texts(scale * deviations, f" ± {template}")
    return texts.where(values.notna(), status.map(lambda each: "" if each == "absent" else "-"))


def number_texts(values: Any, template: str = "{:.2f}") -> Any:
    """Texts of the numbers of a series or frame; empty for NaN."""
    return values.map(lambda number: "" if np.isnan(number) else template.format(number))


def marks_of_ranks(ranks: Any) -> Any:
    """Marks of the best and second best number of a series or frame of ranks."""
    return ranks.map(lambda rank: {1: "best", 2: "second"}.get(rank, ""))


def arranged(
    cells: pd.DataFrame, index: str | list[str], columns: str | list[str]
) -> dict[str, pd.DataFrame]:
    """Cells of a :class:`ResultTable` from those of :func:`measured`."""
    kinds = [kind for kind in ("text", "mark", "value", "mean", "deviation") if kind in cells]
    frames = {kind: wide(cells, kind, index, columns) for kind in (*kinds, "status")}
    absent = {"text": "", "mark": "", "status": "absent"}
    return {kind: each.fillna(absent.get(kind, np.nan)) for kind, each in frames.items()}


def too_few_runs_note(cells: pd.DataFrame) -> list[str]:
    """Note on the rows in which the test of the runs cannot reject."""
    lacking = cells[cells["runs_needed"].notna() & (cells["n_runs"] > 0)]
    if lacking.empty:
        return []
    needed, fewest = lacking["runs_needed"].max(), lacking["n_runs"].min()
    return [
        f"† is left out where the test could not reject at {100 * LEVEL:g} % whatever the scores: "
        f"with this number of columns it needs {needed:.0f} runs of each, and some have {fewest}."
    ]


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
    texts = pd.DataFrame(
        [
            {what: _environment_text(what, each) for what, each in one.items()}
            for one in environments
        ],
        index=[f"environment {number}" for number, _ in enumerate(environments, 1)],
    )
    caption = "Versions and machine, as recorded with each result."
    cells = {"text": texts.T.fillna("").rename_axis("what")}
    return ResultTable("environment", "Environment", caption, cells)


def _environment_text(what: str, value: Any) -> str:
    if what == "memory":
        return f"{value / 2**30:.1f} GB"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _score_tables(results: SuiteResults) -> Iterator[ResultTable]:
    """Tables II-V and VI-IX: one table per metric, one row per data set."""
    compared, numbers = PAPER_TABLES[results.suite]
    starts = STARTS_NOTE if results.suite == "compare" else ""
    places = [*(f"table {number} of the paper" for number in numbers), "not in the paper"]
    for metric, place in zip(METRICS, places, strict=True):
        cells = measured(results, metric)
        yield ResultTable(
            f"{results.suite}-{metric.lower()}",
            f"{metric} of the {compared} ({place})",
            f"{RUNS_NOTE}. {starts}{COLUMNS_NOTE} {SIGNIFICANCE_NOTE}",
            arranged(cells, "data", ["mode", "column"]),
            [*results.notes(), *too_few_runs_note(cells)],
        )


def _returned_tables(results: SuiteResults) -> Iterator[ResultTable]:
    """Scores of the labels that a user gets, from the best of several initializations."""
    cells = measured(results, *(f"{metric}_returned" for metric in METRICS))
    by_data = cells.sort_values(
        "data", key=lambda data: data.map(results.data.index), kind="stable"
    )
    yield ResultTable(
        "returned-labels",
        RETURNED_TABLE,
        "In percent: scores of labels_ of one fit with the estimator's default number of "
        f"initializations, selected without labels. {COLUMNS_NOTE}",
        arranged(by_data, ["data", "metric"], ["mode", "column"]),
        results.notes(),
    )


def _cost_tables(results: SuiteResults) -> Iterator[ResultTable]:
    """Table X, and the same for memory."""
    results.frame = results.frame.assign(peak_megabytes=results.frame["peak_bytes"] / 1e6)
    for quantity, (name, title, caption, digits) in COSTS.items():
        yield ResultTable(
            name,
            title,
            f"{caption} {COLUMNS_NOTE}",
            arranged(measured(results, quantity, digits=digits), "data", ["mode", "column"]),
            results.notes(),
        )


def _point_tables(results: SuiteResults) -> Iterator[ResultTable]:
    """Numbers of figures 2-5 and of missing entries: one table per data set, one row per point."""
    metrics: Sequence[str] = METRICS
    point = results.suite
    # All columns are of DALMC.
    columns: str | list[str] = "metric"
    caption = f"{RUNS_NOTE}; all other settings are the defaults."
    title = f"Scores of DALMC against {'beta' if point == 'beta' else 'the number of anchors'}"
    if results.suite == "incomplete":
        metrics, point, columns = METRICS[:2], "missing", ["metric", "column"]
        title = "Scores against the fraction of missing entries"
        caption = (
            f"{RUNS_NOTE}, after a fraction of the (sample, view) entries was removed at random. "
            "The entries are removed once per fraction, so the deviation is that of K-means alone; "
            f"(auto) is a single fit per fraction. {COLUMNS_NOTE} {SIGNIFICANCE_NOTE}"
        )
    for data, stem in file_names(results.data):
        part = results.on(data)
        cells = measured(part, *metrics).rename(columns={"point": point})
        found = arranged(cells, point, columns)
        yield ResultTable(
            f"{results.suite}-{stem}",
            f"{title}, {data}",
            caption,
            {kind: each.sort_index() for kind, each in found.items()},
            [*part.notes(), *too_few_runs_note(cells)],
        )


def _convergence_tables(results: SuiteResults) -> Iterator[ResultTable]:
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
            changes = np.diff(objective)
            counts = [_n_iterations(objective, tolerance) for tolerance in tolerances]
            # Increases within the rounding error are not counted.
            monotone = (changes <= 1e-9 * np.abs(objective[:-1])).all()
            few = _n_iterations(objective, tol) < PAPER_ITERATIONS
            cells = [str(n) if n < np.inf else f"> {len(objective)}" for n in counts]
            cells += ["yes" if fact else "no" for fact in (monotone, few)]
        rows[row["data"]] = cells
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


def _n_iterations(objective: Array, tolerance: float) -> float:
    """Iterations until the relative change is below a tolerance; infinite if it never was."""
    small = np.abs(np.diff(objective)) < tolerance * np.abs(objective[1:])
    # The first change that is known is that of the second iteration.
    return int(small.argmax()) + 2 if small.any() else np.inf


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
        found = {
            metric: overall(results.wide(metric).loc[ranked, columns], reference)
            for metric in METRICS
        }
        notes = []
        p_values = [f"{m} {each.friedman:.3g}" for m, each in found.items() if each.friedman]
        if p_values:
            notes.append(f"Friedman test of equal ranks, p-values: {', '.join(p_values)}.")
        if len(left_out):
            notes.append(f"Without {', '.join(left_out)}: not every column was run there.")
        ranks = pd.DataFrame({metric: each.ranks for metric, each in found.items()})
        texts = number_texts(ranks.rename_axis("method"))
        yield ResultTable(
            name,
            f"Mean ranks over {len(ranked)} data set{'s' if len(ranked) > 1 else ''}{suffix}",
            "1 is best; ties share the mean of their ranks, and methods that are not done rank "
            f"last. {MARKS_NOTE}.",
            {
                "text": texts,
                "mark": marks_of_ranks(texts.astype(float).rank(method="dense")),
                "value": ranks.rename_axis("method"),
            },
            notes,
        )
        tests = pd.DataFrame(
            {metric: pd.Series(each.wilcoxon, dtype=float) for metric, each in found.items()},
            index=pd.Index([c for c in columns if c != reference], name="method"),
        )
        if tests.isna().all(axis=None):
            continue
        least = min(each.smallest_wilcoxon for each in found.values() if each.wilcoxon)
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


def _change_tables(results: SuiteResults) -> Iterator[ResultTable]:
    """The effect of each choice of DALMC, or of sorted rows on each method, by data set."""
    columns = list(results.modes)
    if results.suite == "choices":
        title, quantity = "Choices of DALMC, one changed at a time", "ACC_returned"
        what = "labels_ of one fit in which one choice differs from the default, the first row"
        pairs = {column: (column, columns[0]) for column in columns}
    else:
        title, quantity = "ACC on sorted and on shuffled rows", "ACC"
        what = (
            "the runs on rows sorted by class, and the change from shuffled rows with its standard "
            "error, which is the noise of random starts. A method that does not use the order of "
            "rows differs by noise only"
        )
        endings = [order_column("", order) for order in ROW_ORDERS]
        names = [c.removesuffix(endings[0]) for c in columns if c.endswith(endings[0])]
        pairs = {name: (name + endings[0], name + endings[1]) for name in names}

    def side(quantity: str, number: int) -> pd.DataFrame:
        """A quantity by row of the table and data set; 0 with the change, 1 without."""
        chosen = [pair[number] for pair in pairs.values()]
        return results.wide(quantity)[chosen].set_axis(list(pairs), axis="columns").T

    means = 100 * side(quantity, 0)
    changes = means - 100 * side(quantity, 1)
    each_change = number_texts(changes, "{:+.2f}")
    if quantity == "ACC":
        variances = [
            (100 * side("ACC_deviation", number)) ** 2 / side("ACC_runs", number).map(len)
            for number in (0, 1)
        ]
        each_change += number_texts(sum(variances) ** 0.5, " ± {:.2f}")
    summary = pd.DataFrame(
        {
            "mean": means.where(changes.notna()).mean(axis="columns"),
            "change": changes.mean(axis="columns"),
            "better": (changes > 1).sum(axis="columns"),
            "worse": (changes < -1).sum(axis="columns"),
        }
    )
    texts = [
        number_texts(summary[["mean"]]),
        number_texts(summary[["change"]], "{:+.2f}"),
        summary[["better", "worse"]].astype(str),
        each_change.replace("", "-"),
    ]
    numbers = {"text": texts, "value": [summary, changes]}
    cells = {kind: pd.concat(parts, axis="columns") for kind, parts in numbers.items()}
    yield ResultTable(
        results.suite,
        title,
        f"In percent: ACC of {what}. The mean and the change are over the data sets where both are "
        "done; better and worse count changes by more than a point; then the change on each data "
        "set. The classes are used for scores, and to sort the rows, only.",
        {kind: each.rename_axis(results.suite) for kind, each in cells.items()},
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


@cache
def published_numbers() -> pd.DataFrame:
    """Numbers in Tables II-X of the paper.

    One row per ``data`` (name of the data set in the paper), ``metric`` (``"fit_seconds"`` for the
    running time) and ``method`` (display name of a method or an ablation), with ``mean``,
    ``deviation`` and ``status``, which is ``"memory"`` if memory ran out. Scores are between 0 and
    1; absent numbers are NaN.
    """
    with (files("anchorview.experiments") / "published.csv").open() as stream:
        return pd.read_csv(stream)


def _published_tables(
    suites: Mapping[str, SuiteResults], sets: Sequence[DataSet]
) -> Iterator[ResultTable]:
    """Comparisons with the numbers in the paper, for its data sets."""
    known = {one.name: one.published_as for one in sets if one.published_as}
    scored = [suites[name] for name in ("compare", "ablation") if name in suites]
    for data, stem in file_names(known if scored else ()):
        parts = [measured(each.on(data), metric) for metric in METRICS for each in scored]
        cells = pd.concat(parts)
        cells["text"] = cells["text"].str.removesuffix(" †")
        title = f"Comparison with the published scores, {data}"
        if data != known[data]:
            title += f" (the paper's {known[data]})"
        yield from _beside_published(
            cells,
            {data: known[data]},
            ["metric", "method"],
            f"published-{stem}",
            title,
            "Mean ± standard deviation in percent; ours has the divisor n, the number of runs. The "
            "paper's settings were chosen with the labels: compare its numbers with the oracle's. "
            "Numbers of samples, clusters and views are those of the paper's data set; the "
            "features may still differ.",
        )
    if "runtime" in suites and known:
        yield from _beside_published(
            measured(suites["runtime"], "fit_seconds").rename(columns={"value": "mean"}),
            known,
            ["data", "method"],
            "published-runtime",
            "Comparison with the published running times, in seconds",
            "Another machine and programming language: only orders of magnitude are comparable.",
        )


def _beside_published(
    cells: pd.DataFrame, known: Mapping[str, str], index: list[str], *heading: str
) -> Iterator[ResultTable]:
    """Yield a table of the methods that have a published number, beside that number, if any."""
    position = ["data", "metric", "method"]
    names = pd.DataFrame({"here": known.keys(), "data": known.values()})
    paper = names.merge(published_numbers()).drop(columns="data").rename(columns={"here": "data"})
    cells = cells.assign(method=cells["column"].str.partition(" (")[0]).drop(columns="mark")
    here = cells.merge(paper[position]).drop_duplicates([*position, "mode"])
    paper = here[position].drop_duplicates().merge(paper)
    scale = 1 if "data" in index else 100
    texts = cell_texts(paper["mean"], paper["deviation"], paper["status"], scale)
    both = pd.concat([paper.assign(text=texts, mode="paper"), here], ignore_index=True)
    if len(paper):
        order = [mode for mode in ("paper", *MODES) if mode in set(both["mode"])]
        frames = arranged(both, index, "mode")
        name, title, caption = heading
        yield ResultTable(name, title, caption, {k: each[order] for k, each in frames.items()})
