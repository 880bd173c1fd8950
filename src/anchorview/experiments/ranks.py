"""Methods compared on one data set and over all of them: tests, mean ranks and their picture."""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from itertools import count
from typing import TypeVar

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from anchorview.estimators.methods import REGISTRY
from anchorview.experiments.evaluation import SuiteResults
from anchorview.experiments.jobs import METRICS
from anchorview.experiments.plan import ABLATIONS, LABEL_MODES
from anchorview.experiments.result_table import ResultTable, marks_of_ranks, number_texts

Name = TypeVar("Name", bound=Hashable)

LEVEL = 0.05
"""Significance level of corrected p-values."""

ENOUGH_DATA_SETS = 5
"""Minimum number of data sets for tests over data sets."""


def compared_with_best(runs: Mapping[Name, Sequence[float]]) -> tuple[set[Name], int | None]:
    """Columns that do not differ significantly from the best, and how many runs that takes.

    Each column is compared with that of the highest mean by a two-sided Mann-Whitney U test on the
    scores of the runs, with Holm's correction of the p-values. The best column itself is not
    included, nor are columns that the test could not tell from it whatever their scores, because
    there are too few runs. If there are such columns, the second value is the number of runs per
    column from which the test can reject, else None. Columns with a single run among others with
    more, which are not repeated by design, do not count.
    """
    runs = {name: scores for name, scores in runs.items() if len(scores)}
    if len(runs) < 2:
        return set(), None
    best = max(runs, key=lambda name: np.mean(runs[name]))
    others = [name for name in runs if name != best and min(len(runs[name]), len(runs[best])) > 1]
    p_values = holm([_mann_whitney(runs[best], runs[name]) for name in others])
    smallest = holm([_smallest_mann_whitney(len(runs[best]), len(runs[name])) for name in others])
    tested = zip(others, p_values, smallest, strict=True)
    alike = {name for name, p, least in tested if least < LEVEL <= p}
    if (smallest < LEVEL).all() and (others or max(map(len, runs.values())) > 1):
        return alike, None
    n_comparisons = len(others) or len(runs) - 1
    enough = (n for n in count(2) if n_comparisons * _smallest_mann_whitney(n, n) < LEVEL)
    return alike, next(enough)


def holm(p_values: ArrayLike) -> NDArray[np.float64]:
    """Correct p-values for multiple testing by Holm's step-down method."""
    p = np.asarray(p_values, dtype=float)
    order = np.argsort(p)
    corrected = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    result = np.empty_like(p)
    result[order] = np.minimum(corrected, 1)
    return result


@dataclass(frozen=True)
class Overall:
    """Comparison of columns over data sets."""

    ranks: Mapping[str, float]
    """Mean rank of each column; 1 is best."""
    friedman: float | None
    """p-value of the Friedman test; None if there are too few data sets or columns."""
    wilcoxon: Mapping[str, float]
    """p-values of Wilcoxon signed-rank tests of the reference against each other column, with
    Holm's correction; empty if there are too few data sets."""
    smallest_wilcoxon: float = 1.0
    """Smallest possible p-value with that many data sets and columns, reached if the reference is
    better on all data sets or worse on all; 1 if there are no tests."""
    critical_difference: float | None = None
    """Difference of mean ranks from which two columns differ by the test of Nemenyi; None if there
    are too few data sets."""

    def similar_groups(self) -> list[list[str]]:
        """Return the largest groups of columns that do not differ by the test of Nemenyi.

        Groups and their columns are in the order of ranks; columns that differ from all others are
        in none of them.
        """
        names = sorted(self.ranks, key=lambda name: self.ranks[name])
        groups: list[list[str]] = []
        for place, first in enumerate(names):
            limit = self.ranks[first] + (self.critical_difference or 0.0)
            group = [name for name in names[place:] if self.ranks[name] < limit]
            # Else it is a part of the group before.
            if len(group) > 1 and (not groups or group[-1] != groups[-1][-1]):
                groups.append(group)
        return groups


def critical_difference(n_columns: int, n_data_sets: int) -> float:
    """Difference of mean ranks from which two columns differ by the test of Nemenyi.

    The family-wise level over all pairs of columns is :data:`LEVEL`.
    """
    quantile = stats.studentized_range.ppf(1 - LEVEL, n_columns, np.inf) / np.sqrt(2)
    return float(quantile * np.sqrt(n_columns * (n_columns + 1) / (6 * n_data_sets)))


def overall(scores: pd.DataFrame, reference: str) -> Overall:
    """Compare columns over data sets, and test a reference column against all others.

    Scores have one row per data set and one column per method; higher is better. NaN, for a method
    that did not finish, ranks last.
    """
    ranks = scores.rank(axis="columns", ascending=False, na_option="bottom")
    n_columns, enough = len(scores.columns), len(scores) >= ENOUGH_DATA_SETS
    friedman = None
    if enough and n_columns > 2:
        # If all columns tie on all data sets, the statistic is 0 / 0.
        tied = (ranks.nunique(axis="columns") == 1).all()
        friedman = 1.0 if tied else float(stats.friedmanchisquare(*ranks.to_numpy().T).pvalue)
    # Differences of the reference from each column that shares enough data sets with it.
    differences = {}
    for name in scores.columns.drop(reference) if reference in scores else ():
        difference = (scores[reference] - scores[name]).dropna().to_numpy()
        if len(difference) >= ENOUGH_DATA_SETS:
            differences[name] = difference
    # For zeros only, the statistic is 0 / 0.
    p_values = [stats.wilcoxon(d).pvalue if d.any() else 1.0 for d in differences.values()]
    n_data_sets = max(map(len, differences.values()), default=0)
    # All differences of the same sign, corrected for the number of tests.
    smallest = min(1.0, len(differences) * 2.0 * 0.5**n_data_sets) if differences else 1.0
    return Overall(
        ranks={name: float(ranks[name].mean()) for name in scores.columns},
        friedman=friedman,
        wilcoxon=dict(zip(differences, holm(p_values).tolist(), strict=True)),
        smallest_wilcoxon=smallest,
        critical_difference=critical_difference(n_columns, len(scores)) if enough else None,
    )


def _mann_whitney(a: Sequence[float], b: Sequence[float]) -> float:
    """p-value of the two-sided test, also defined for constant runs."""
    if np.ptp(a) == 0 and np.ptp(b) == 0:
        return float(a[0] == b[0])
    return float(stats.mannwhitneyu(a, b, alternative="two-sided").pvalue)


@cache
def _smallest_mann_whitney(n: int, m: int) -> float:
    """p-value if every score of one column is above all of the other."""
    return float(stats.mannwhitneyu(range(n), range(n, n + m), alternative="two-sided").pvalue)


RANKED_SUITES = ("compare", "ablation")
"""Suites with scores of several methods on each data set."""

OF_THE_PACKAGE = {*(method.display_name for method in REGISTRY), *ABLATIONS}

ROW, INK = 20, "#222222"
"""Height of a line of text in a picture, and its color."""


@dataclass(frozen=True, eq=False)
class Ranking:
    """Columns of a suite that are compared with each other, on data sets where all were run."""

    name: str
    suffix: str
    """What is compared, in titles; "" for honest columns of the suite compare."""
    reference: str
    """Column that is tested against all others: an external method, else DALMC."""
    data: Sequence[str]
    left_out: Sequence[str]
    by_metric: Mapping[str, Overall]

    @property
    def title(self) -> str:
        """Title of the picture."""
        return f"Mean ranks by ACC{self.suffix}"

    @property
    def caption(self) -> str:
        """How to read the picture."""
        return (
            f"Mean ranks by ACC over {len(self.data)} data sets{self.suffix}; 1 is best. Bars join "
            f"methods that do not differ by the test of Nemenyi at {100 * LEVEL:g} %."
        )

    @property
    def picture(self) -> str | None:
        """Critical-difference picture of ACC as SVG; None if there are too few data sets."""
        found = self.by_metric["ACC"]
        return None if found.critical_difference is None else rank_picture(found, self.title)

    def tables(self) -> Iterator[ResultTable]:
        """Mean ranks, and tests of the reference if there are enough data sets."""
        acc = self.by_metric["ACC"]
        n_sets = f"{len(self.data)} data set{'s' if len(self.data) > 1 else ''}"
        notes = []
        if acc.friedman is not None:
            p_values = [f"{metric} {each.friedman:.3g}" for metric, each in self.by_metric.items()]
            notes.append(f"Friedman test of equal ranks, p-values: {', '.join(p_values)}.")
        if acc.critical_difference is not None:
            notes.append(
                f"By the test of Nemenyi at {100 * LEVEL:g} %, mean ranks must differ by "
                f"{acc.critical_difference:.2f} with {len(acc.ranks)} columns and {n_sets}."
            )
        else:
            notes.append(f"Tests over data sets need at least {ENOUGH_DATA_SETS} of them.")
        if self.left_out:
            notes.append(f"Without {', '.join(self.left_out)}: not every column was run there.")
        ranks = pd.DataFrame({metric: each.ranks for metric, each in self.by_metric.items()})
        texts = number_texts(ranks.rename_axis("method"))
        yield ResultTable(
            self.name,
            f"Mean ranks over {n_sets}{self.suffix}",
            "1 is best; ties share the mean of their ranks, and methods that are not done rank "
            "last. Bold: best; underlined: second.",
            {
                "text": texts,
                "mark": marks_of_ranks(texts.astype(float).rank(method="dense")),
                "value": ranks.rename_axis("method"),
            },
            notes,
        )
        tests = pd.DataFrame(
            {metric: pd.Series(o.wilcoxon, dtype=float) for metric, o in self.by_metric.items()},
            index=pd.Index([c for c in acc.ranks if c != self.reference], name="method"),
        )
        if tests.isna().all(axis=None):
            return
        least = min(each.smallest_wilcoxon for each in self.by_metric.values() if each.wilcoxon)
        limit = f"With this number of data sets and methods, no p-value is below {least:.3g}"
        if least >= LEVEL:
            limit += f", so nothing can be significant at {100 * LEVEL:g} %"
        yield ResultTable(
            f"{self.name}-tests",
            f"{self.reference} against each other method: p-values{self.suffix}",
            "Wilcoxon signed-rank test over the data sets on which both are done, Holm's "
            f"correction. {limit}. Empty: fewer than {ENOUGH_DATA_SETS} such data sets.",
            {"text": number_texts(tests, "{:.4f}"), "value": tests},
        )


def rankings(suites: Mapping[str, SuiteResults]) -> Iterator[Ranking]:
    """Yield the comparisons of suites with two or more methods;"""
    for suite, results in suites.items():
        if suite not in RANKED_SUITES:
            continue
        status = results.wide("status").fillna("absent")
        # Oracle columns are compared with each other only.
        for contest in ("honest", "oracle"):
            by_labels = contest == "oracle"
            columns = [c for c, mode in results.modes.items() if (mode in LABEL_MODES) == by_labels]
            # Data sets on which all columns were run, successfully or not.
            was_run = (status[columns] != "absent").all(axis="columns")
            ranked = status.index[was_run]
            if len(columns) < 2 or ranked.empty:
                continue
            named = {column: column.partition(" (")[0] for column in columns}
            external = [column for column in columns if named[column] not in OF_THE_PACKAGE]
            default = [column for column in columns if named[column] == "DALMC"]
            reference = [*external, *default, *columns][0]
            parts = [part for part in (suite, contest) if part not in ("compare", "honest")]
            yield Ranking(
                "-".join(["ranks", *parts]),
                f" ({', '.join(parts)})" if parts else "",
                reference,
                list(ranked),
                list(status.index[~was_run]),
                {m: overall(results.wide(m).loc[ranked, columns], reference) for m in METRICS},
            )


def rank_picture(found: Overall, title: str) -> str:
    """Critical-difference picture as SVG: bars join columns that do not differ by Nemenyi's test.

    Equal numbers give the same text on every machine.
    """
    ranks, difference = found.ranks, found.critical_difference
    assert difference is not None
    names = sorted(ranks, key=lambda name: ranks[name])
    n, left, right, top, bar = len(names), 190, 610, 70, 26

    def x(rank: float) -> float:
        return left + (right - left) * (rank - 1) / (n - 1)

    shapes = [svg_path([(x(1), top), (x(n), top)])]
    for tick in range(1, n + 1, 2 if n > 5 else 1):
        shapes += [svg_path([(x(tick), top - 5), (x(tick), top)])]
        shapes += [svg_text(x(tick), top - 9, str(tick), "middle")]
    shapes += [svg_path([(x(1), bar), (x(1 + difference), bar)], width=2)]
    shapes += [svg_text(x(1 + difference) + 8, bar + 4, f"critical difference {difference:.2f}")]
    groups = found.similar_groups()
    for i, group in enumerate(groups):
        y = top + 12 + 7 * i
        ends = [(x(ranks[group[0]]) - 3, y), (x(ranks[group[-1]]) + 3, y)]
        shapes.append(svg_path(ends, width=4))
    below = top + 20 + 7 * len(groups)
    half = (n + 1) // 2
    for i, name in enumerate(names):
        is_left = i < half
        y = below + ROW * (i if is_left else n - 1 - i)
        edge = left - 10 if is_left else right + 10
        shapes.append(svg_path([(x(ranks[name]), top), (x(ranks[name]), y), (edge, y)]))
        label = f"{name} {ranks[name]:.1f}" if is_left else f"{ranks[name]:.1f} {name}"
        offset = -4 if is_left else 4
        shapes.append(svg_text(edge + offset, y + 4, label, "end" if is_left else "start"))
    return svg(800, below + ROW * half, title, shapes)


def svg(width: int, height: int, title: str, shapes: Iterable[str]) -> str:
    """Picture of shapes on white."""
    head = (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' "
        f"width='{width}' height='{height}' role='img' "
        "font-family='DejaVu Sans, Helvetica, Arial, sans-serif' font-size='13'>"
    )
    background = f"<rect width='{width}' height='{height}' fill='white'/>"
    return "\n".join([head, f"<title>{escape(title)}</title>", background, *shapes, "</svg>", ""])


def svg_path(points: Iterable[tuple[float, float]], color: str = INK, width: float = 1.2) -> str:
    """Line through points."""
    text = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f"<polyline points='{text}' fill='none' stroke='{color}' stroke-width='{width}'/>"


def svg_text(x: float, y: float, text: str, anchor: str = "start", color: str = INK) -> str:
    """Text at a point."""
    where = f"x='{x:.1f}' y='{y:.1f}' text-anchor='{anchor}'"
    return f"<text {where} fill='{color}'>{escape(text)}</text>"
