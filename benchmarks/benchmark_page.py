"""The benchmark page with its figures, and the table of all results, from stored results.

    python benchmarks/benchmark_page.py

Writes `docs/benchmark.md`, its figures in `docs/images`, and `benchmarks/compared.md` from
`benchmarks/compared.json`. All sentences with numbers follow from the results.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pandas as pd

from _measurements import header, row
from anchorview._utils.atomic_files import atomic_write
from anchorview.estimators.methods import find_method
from anchorview.experiments.jobs import METRICS
from anchorview.experiments.ranks import LEVEL, draw_ranks
from anchorview.experiments.tables import BUSY_CORES
from anchorview.plotting.axes import svg_of
from compared_results import (
    COLUMNS,
    CPU_MINUTES,
    LOW_PASS,
    MADE,
    MISSING,
    NOT_GIVEN,
    SCALED,
    ResultFile,
    is_imputed,
)
from page_figures import curve_figure
from page_losses import losses
from page_results import (
    AUTO,
    DALMC,
    Results,
    display_name,
    listed,
    made_curves,
    marked_up,
    number,
    percent,
)

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/benchmark.md"
TABLE = ROOT / "benchmarks/compared.md"
RANKS_FIGURE = ROOT / "docs/images/benchmark_ranks.svg"
SCALING_FIGURE = ROOT / "docs/images/benchmark_scaling.svg"

NOT_MEASURED = "Not measured yet."


def pages(file: ResultFile) -> dict[Path, str]:
    """Texts of all files that are made from the results."""
    results = Results(file)
    sections = (
        introduction,
        overview,
        rank_section,
        losses,
        score_tables,
        costs,
        incomplete,
        number_not_given,
        order_section,
        scaling,
        environment_section,
    )
    lines = [line for section in sections for line in (*section(results), "")]
    found = {
        PAGE: "\n".join(lines),
        TABLE: "\n".join([*all_results(results), ""]),
        RANKS_FIGURE: ranks_svg(results),
    }
    return found | ({SCALING_FIGURE: scaling_svg(results)} if made_curves(results) else {})


def introduction(results: Results) -> Iterator[str]:
    yield from (
        "# Benchmark",
        "",
        "<!-- Written by benchmarks/benchmark_page.py from benchmarks/compared.json. -->",
        "",
        f"{len(results.columns)} methods of this package on "
        f"{results.was_run().any(axis='columns').sum()} data sets: "
        "accuracy, time and memory, with complete data and with missing views. The protocol is "
        "meant to be fair:",
        "",
        "- Rows are shuffled, since many files are sorted by class "
        "([why that matters](#order-of-rows)).",
        "- All settings are the defaults, on all data sets. Classes are used for scores and for "
        "the number of clusters only, in no run for a choice. `ConcatHDBSCAN` ignores the number; "
        "its noise counts as one cluster.",
        "- Times are CPU seconds of one fit (user and system, one thread), as other programs ran "
        "on the machine, and not all on the same machine ([which](#repeat-it)). A fit that takes "
        f"more than {CPU_MINUTES} CPU minutes is shown as -.",
        f"- {seeds_text(results)}",
        "",
        "It is not fair in one respect. The defaults of `DALMC` and the rules of `AutoDALMC` were "
        "developed on most of these data sets, with a look at the scores; those of the other "
        "methods come from their papers and programs. Expect smaller differences on other data.",
    )
    if results.references:
        yield ""
        yield (
            f"For reference, {listed(results.references)} of the package "
            "[iMML](coming_from/imml.md), among its fastest, are in the tables, on standardized "
            "features. They are not ranked."
        )


def seeds_text(results: Results) -> str:
    chosen = results.frame[results.frame["column"].isin(results.columns)]
    counts = chosen.groupby(["data", "column", "missing", "order"])["seed"].count()
    most = int(counts.max())
    if most == 1:
        return "Scores are of one fit with one seed."
    return (
        f"Scores are means over {most} seeds, each with its own order of rows, for "
        f"{(counts == most).mean():.0%} of the results, and of fewer for fits that take long."
    )


def overview(results: Results) -> Iterator[str]:
    sets = results.ranked_sets()
    done = results.pivot("ACC").loc[sets, results.columns].notna().all(axis="columns")
    common = list(done.index[done])
    scores = {metric: results.pivot(metric).loc[common].mean() for metric in ("ACC", "NMI", "ARI")}
    seconds, megabytes = (results.pivot(q).loc[common].median() for q in ("seconds", "megabytes"))
    yield from ("## Overview", "")
    yield from header(
        *("method", "mean rank", "ACC", "NMI", "ARI", "CPU seconds, median", "MB, median")
    )
    for column in results.by_rank:
        yield row(
            marked_up(column),
            f"{results.ranks.ranks[column]:.2f}",
            *(percent(values[column]) for values in scores.values()),
            *(number(values[column]) for values in (seconds, megabytes)),
        )
    yield ""
    yield (
        f"Mean ranks are by accuracy over {len(sets)} data sets; a method that is not done ranks "
        f"last. Scores in percent, times and memory are over the {len(common)} data sets on which "
        "all methods are done. Memory is the maximum beyond that of the process with the data."
    )
    lacking = [name for name in results.sets if name not in sets]
    if lacking:
        yield ""
        yield (
            f"Not yet run with every method, and therefore not ranked: {listed(lacking)}. Results "
            "that exist are in the tables below."
        )


def rank_section(results: Results) -> Iterator[str]:
    n_sets = len(results.ranked_sets())
    difference = results.ranks.critical_difference
    assert difference is not None, "too few data sets"
    first, *_ = results.by_rank
    best = results.ranks.ranks[first]
    similar = [c for c in results.by_rank[1:] if results.ranks.ranks[c] - best < difference]
    significant = [c for c in results.columns if results.ranks.wilcoxon.get(c, 1.0) < LEVEL]
    others = [marked_up(c) for c in results.by_rank if c not in (AUTO, *significant)]
    yield from (
        "## Mean ranks",
        "",
        f"![Mean ranks of the methods; bars join methods that do not differ]"
        f"(images/{RANKS_FIGURE.name})",
        "",
        f"The Friedman test of equal ranks has p = {results.ranks.friedman:.1g}. By the test of "
        f"Nemenyi at 5 %, mean ranks must differ by {difference:.2f} with {len(results.columns)} "
        f"methods and {n_sets} data sets. {marked_up(first)} is first; "
        + (
            f"{listed([marked_up(column) for column in similar])} do not differ significantly "
            "from it."
            if similar
            else "all others differ significantly from it."
        ),
        "",
        "The test of Nemenyi compares all pairs and is conservative. In Wilcoxon signed-rank tests "
        f"of `AutoDALMC` against each of the others, with Holm's correction, {len(significant)} of "
        f"{len(results.columns) - 1} differences are significant at 5 %"
        + (f"; those from {listed(others)} are not." if others else "."),
    )


def score_tables(results: Results) -> Iterator[str]:
    yield from ("## Scores by data set", "")
    yield (
        "In percent; the best of each data set is bold. -: more than "
        f"{CPU_MINUTES} CPU minutes. Empty: not run."
    )
    for metric in ("ACC", "NMI", "ARI"):
        yield from ("", f"### {metric}", "")
        yield from wide_table(results, results.pivot(metric), percent, best="max")


def wide_table(
    results: Results,
    values: pd.DataFrame,
    text: Callable[[float], str],
    best: str,
    marked: pd.DataFrame | None = None,
) -> Iterator[str]:
    """A row per method, from the best to the worst rank, and a column per data set."""
    limits = getattr(values, best)(axis="columns")
    ran = results.was_run()
    yield from header("method", *results.sets)
    for column in (c for c in (*results.by_rank, *results.references) if c in values):
        cells = []
        for name in results.sets:
            value = values.loc[name, column]
            shown = text(value) if ran.loc[name, column] else ""
            shown = f"**{shown}**" if value == limits[name] else shown
            cells.append(f"{shown} ‡" if marked is not None and marked.loc[name, column] else shown)
        yield row(marked_up(column), *cells)


def costs(results: Results) -> Iterator[str]:
    yield from ("## Time and memory by data set", "")
    yield (
        "The lowest of each data set is bold. -: more than "
        f"{CPU_MINUTES} CPU minutes. Empty: not run."
    )
    busy = results.pivot("others") > BUSY_CORES
    if results.frame["others"].notna().any():
        yield ""
        yield (
            f"‡: other programs used more than {BUSY_CORES} cores meanwhile, which the wall clock "
            "shows and CPU seconds hardly. Results without wall seconds are older than this mark; "
            "other programs ran beside most of them."
        )
    if len(list(when(results))) > 1:
        yield ""
        yield (
            "Not all methods were measured on the same machine ([which](#repeat-it)): compare "
            "seconds only among those that were."
        )
    tables = {"CPU seconds": "seconds", "Wall seconds": "wall", "Memory in MB": "megabytes"}
    for title, quantity in tables.items():
        # Old rows lack the wall clock.
        values = results.pivot(quantity).dropna(axis="columns", how="all")
        marked = None if quantity == "megabytes" else busy
        if not values.empty:
            yield from ("", f"### {title}", "")
            yield from wide_table(results, values, number, "min", marked)


def incomplete(results: Results) -> Iterator[str]:
    complete, accuracy = (results.pivot("ACC", missing) for missing in (0.0, MISSING))
    done = (accuracy.notna() & complete.notna())[results.columns].all(axis="columns")
    common = list(done.index[done])
    others = {
        metric: results.pivot(metric, MISSING).loc[common].mean() for metric in ("NMI", "ARI")
    }
    means = {"complete": complete.loc[common].mean(), "missing": accuracy.loc[common].mean()}
    columns = sorted(results.columns, key=lambda column: -means["missing"][column])
    covered = [c for c in results.references if accuracy.loc[common, c].notna().all()]
    yield from (
        f"## {100 * MISSING:.0f} % of the rows missing",
        "",
        f"{100 * MISSING:.0f} % of the (sample, view) entries are removed at random; every sample "
        "keeps a view. Methods that do not accept missing views get the feature means over the "
        "other samples instead (mean imputation). Scores in percent, means over the "
        f"{len(common)} data sets on which all methods are done.",
        "",
    )
    if not common:
        yield NOT_MEASURED
        return
    yield from header("method", "missing rows", "ACC complete", "ACC", "change", "NMI", "ARI")
    for column in (*columns, *covered):
        own = column not in COLUMNS or not is_imputed(column, MISSING)
        change = 100 * (means["missing"][column] - means["complete"][column])
        yield row(
            marked_up(column),
            "accepted" if own else "mean imputation",
            *(percent(values[column]) for values in means.values()),
            f"{change:+.1f}",
            *(percent(values[column]) for values in others.values()),
        )
    for reference in (AUTO, DALMC):
        above = [c for c in columns if means["missing"][c] > means["missing"][reference]]
        imputed = [marked_up(c) for c in above if is_imputed(c, MISSING)]
        yield ""
        yield (
            f"On average, {marked_up(reference)} loses to mean imputation followed by "
            f"{listed(imputed)}."
            if imputed
            else f"On average, {marked_up(reference)} is above all methods with mean imputation."
        )
    if left_out := [name for name in results.sets if name not in common]:
        yield ""
        yield f"Without {listed(left_out)}, where not every method is done."


def number_not_given(results: Results) -> Iterator[str]:
    ways = {
        "auto (number not given)": "`AutoDALMC`",
        "graph-leiden (number not given)": "`GraphLeiden` at resolution 1",
        "concat-hdbscan": "`ConcatHDBSCAN`",
    }
    assert {*NOT_GIVEN} <= {*ways}
    measured = {column: ways[column] for column in ways if column in {*results.frame["column"]}}
    yield from (
        "## Number of clusters not given",
        "",
        "ARI in percent and, in brackets, the number of clusters found, of methods that choose the "
        "number. The noise of HDBSCAN counts as one cluster. The rule of `AutoDALMC` was chosen on "
        "most of these data sets.",
        "",
    )
    if not measured:
        yield NOT_MEASURED
        return
    columns = list(measured)
    scores, found = (results.pivot(q, columns=columns) for q in ("ARI", "clusters"))
    limits = scores.max(axis="columns")
    yield from header("data", "classes", *measured.values())
    for name in results.sets:
        cells = []
        for column in columns:
            shown = percent(scores.loc[name, column])
            shown = f"**{shown}**" if scores.loc[name, column] == limits[name] else shown
            known = pd.notna(found.loc[name, column])
            cells.append(f"{shown} ({found.loc[name, column]:.0f})" if known else shown)
        yield row(name, results.file.data[name][1], *cells)
    yield row("**mean**", "", *(percent(scores[column].mean()) for column in columns))
    # Only fits of the same day and machine are fits of the same version.
    at, given = results.file.measured, results.pivot("ARI")
    for new, column in NOT_GIVEN.items():
        if new in measured:
            yield ""
            yield (
                f"With the number of classes given, {marked_up(column)} has a mean of "
                f"{percent(given[column].mean())}."
                if at[new] == at[column]
                else f"The fits of {marked_up(column)} with the number given, in the other tables, "
                "are of another day and version ([when](#repeat-it)): do not compare them."
            )


def order_section(results: Results) -> Iterator[str]:
    columns = [*results.by_rank, LOW_PASS]
    by_class, random = (
        100 * results.pivot("ACC", order=order, columns=columns) for order in ("sorted", "shuffled")
    )
    changes = (by_class - random).dropna()
    sets = list(changes.index)
    yield from (
        "## Order of rows",
        "",
        "Some published methods transform along the axis of samples. If the rows of a file are "
        "sorted by class, they average samples of the same class, and the score measures the "
        "order.",
        "",
    )
    if not sets:
        yield NOT_MEASURED
        return
    means = [values.loc[sets].mean() for values in (by_class, random)]
    yield (
        f"Accuracy on rows sorted by class and on shuffled rows, means over {listed(sets)}; the "
        "largest change is that of one data set:"
    )
    yield ""
    yield from header("method", "sorted", "shuffled", "change", "largest change")
    for column in columns:
        change = changes[column]
        yield row(
            marked_up(column),
            *(f"{mean[column]:.1f}" for mean in means),
            f"{change.mean():+.1f}",
            f"{change[change.abs().idxmax()]:+.1f}",
        )
    beaten = [int((mean[LOW_PASS] > mean.drop(LOW_PASS)).sum()) for mean in means]
    own = changes[[AUTO, DALMC]].abs().max()
    yield ""
    yield (
        f"The last row, *{LOW_PASS}*, is a demonstration written for this page: each row is "
        "replaced by the mean of the rows around it in the file, followed by K-means "
        "([example](../examples/first_steps/plot_order_of_rows.py)). By its mean on sorted rows it "
        f"would beat {beaten[0]} of the {len(results.columns)} methods, on shuffled rows "
        f"{beaten[1]}."
    )
    yield ""
    yield (
        f"`DALMC` changes by at most {own[DALMC]:.1f} points and `AutoDALMC` by at most "
        f"{own[AUTO]:.1f} on a data set. With their defaults, methods of this package do not use "
        "the order as such; what changes is the row that a random start draws. To repeat the test "
        "with 20 runs per method and standard errors: `anchorview experiment run order --data DIR`."
    )


def scaling(results: Results) -> Iterator[str]:
    curves = made_curves(results)
    if not curves:
        yield from ("## Scaling", "", NOT_MEASURED)
        return
    sizes = sorted({n for curve in curves.values() for n, _ in curve})
    memory = results.frame[results.frame["data"] == f"{MADE}{max(sizes):.0f}"]
    memory = memory.set_index("column")["megabytes"]
    yield from (
        "## Scaling",
        "",
        "CPU seconds of a fit of made data, 10 clusters in 4 views of 100 features, and memory "
        f"beyond the data for {max(sizes):,.0f} samples, by one seed:",
        "",
        f"![CPU seconds against the number of samples](images/{SCALING_FIGURE.name})",
        "",
    )
    yield from header("method", *(f"{n:,.0f}" for n in sizes), "MB")
    for column in sorted(curves, key=lambda column: (-len(curves[column]), curves[column][-1][1])):
        seconds = dict(curves[column])
        cells = [number(seconds[n]) if n in seconds else "" for n in sizes]
        megabytes = memory.get(column, float("nan"))
        yield row(marked_up(column), *cells, "" if pd.isna(megabytes) else number(megabytes))
    yield ""
    yield f"Empty: not run, or more than {CPU_MINUTES} CPU minutes."


def environment_section(results: Results) -> Iterator[str]:
    where = results.file.environment
    yield from (
        "## Repeat it",
        "",
        "```sh",
        "python benchmarks/compared.py",
        "python benchmarks/compared_others.py",
        "python benchmarks/benchmark_page.py",
        "```",
        "",
        "The first two measure what is not in `benchmarks/compared.json` yet, on a folder of data "
        "sets that we may not redistribute; the last writes this page from that file. "
        "`python benchmarks/compared.py --methods auto --again` repeats the measurements of one "
        "method. [All results](../benchmarks/compared.md) has F1 and purity too.",
        "",
        *(f"{sentence}." for sentence in when(results)),
        "",
        f"The last version was anchorview {where['anchorview']} with Python {where['python']}, "
        f"NumPy {where['numpy']}, SciPy {where['scipy']} and scikit-learn {where['scikit-learn']}.",
        "",
    )
    yield from header("data", "samples", "classes", "features per view")
    for name in results.sets:
        n_samples, n_classes, features = results.file.data[name]
        yield row(name, n_samples, n_classes, ", ".join(map(str, features)))


def when(results: Results) -> Iterator[str]:
    """Sentences, without a full stop, that `refresh.py` finds: date, machine and methods."""
    measured = results.file.measured
    shown = [*results.columns, *results.references, *(c for c in NOT_GIVEN if c in measured)]
    for place in sorted({measured[column] for column in shown}):
        names = [marked_up(column) for column in shown if measured[column] == place]
        yield f"Measured {place} by `python benchmarks/compared.py`: {listed(names)}"


def ranks_svg(results: Results) -> str:
    ranks = {display_name(column): rank for column, rank in results.ranks.ranks.items()}
    shown = replace(results.ranks, ranks=ranks)
    return svg_of(partial(draw_ranks, shown, "Mean ranks by accuracy; 1 is best"))


def scaling_svg(results: Results) -> str:
    curves = {c: curve for c, curve in made_curves(results).items() if c in SCALED}
    colors = {display_name(column): find_method(column).color for column in curves}
    named = {display_name(column): curve for column, curve in curves.items()}
    return curve_figure(named, colors, "samples", "CPU seconds", "CPU seconds of a fit")


def all_results(results: Results) -> Iterator[str]:
    yield (
        f"{'. '.join(when(results))}. All methods with default settings on shuffled rows, means "
        "over the seeds, CPU seconds with one thread, and memory beyond the data. The last three "
        "columns are with 30 % of the (sample, view) entries removed, imputed by means for methods "
        "that do not accept missing views. -: more "
        f"than {CPU_MINUTES} CPU minutes. Empty: not run. See the "
        "[benchmark page](../docs/benchmark.md)."
    )
    yield ""
    starts = [column for column in COLUMNS if "authors' start" in column]
    columns = [*results.columns, *results.references, *starts]
    quantities = [*METRICS, "seconds", "megabytes"]
    complete = {q: results.pivot(q, columns=columns) for q in quantities}
    missing = {m: results.pivot(m, MISSING, columns=columns) for m in ("ACC", "NMI", "ARI")}
    shuffled = results.frame[results.frame["order"] == "shuffled"]
    seeds = shuffled.groupby(["data", "column", "missing"])["seed"].count()
    yield from header(
        *("data", "method", "seeds", *METRICS, "CPU s", "MB"),
        *(f"{metric}, 30 % missing" for metric in missing),
    )
    for name in results.sets:
        for column in columns:
            if (name, column, 0.0) not in seeds:
                continue
            yield row(
                name,
                display_name(column),
                seeds[name, column, 0.0],
                *(percent(complete[m].loc[name, column]) for m in METRICS),
                *(number(complete[q].loc[name, column]) for q in ("seconds", "megabytes")),
                *(
                    percent(values.loc[name, column]) if (name, column, MISSING) in seeds else ""
                    for values in missing.values()
                ),
            )


def main() -> None:
    for path, text in pages(ResultFile()).items():
        with atomic_write(path) as stream:
            stream.write(text)


if __name__ == "__main__":
    main()
