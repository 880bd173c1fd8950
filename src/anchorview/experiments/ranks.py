"""Methods compared on one data set and over all of them: tests, mean ranks and their picture."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from anchorview.estimators.methods import REGISTRY
from anchorview.experiments.evaluation import (
    Figure,
    ResultTable,
    SuiteResults,
    marks_of_ranks,
    number_texts,
)
from anchorview.experiments.jobs import METRICS
from anchorview.experiments.plan import ABLATIONS, LABEL_MODES

Name = TypeVar("Name", bound=Hashable)

LEVEL, ENOUGH_DATA_SETS = 0.05, 5
"""Significance level of corrected p-values, and minimum number of data sets to test over."""


def similar_to_best(runs: Mapping[Name, Sequence[float]]) -> set[Name]:
    """Columns like the one with the highest mean, by two-sided Mann-Whitney U tests of the runs.

    Columns that the tests, with Holm's correction, could not tell from the best are left out.
    """
    runs = {name: scores for name, scores in runs.items() if len(scores) > 1}
    if not runs:
        return set()
    best, *others = sorted(runs, key=lambda name: -np.mean(runs[name]))
    p_values = holm([_mann_whitney(runs[best], runs[name]) for name in others])
    # If every score of one column is above all of the other.
    sizes = [(len(runs[best]), len(runs[name])) for name in others]
    smallest = holm([_mann_whitney(range(n), range(n, n + m)) for n, m in sizes])
    tested = zip(others, p_values, smallest, strict=True)
    return {name for name, p, least in tested if least < LEVEL <= p}


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
    """Comparison of columns over data sets; 1 is the best mean rank."""

    ranks: Mapping[str, float]
    friedman: float | None
    wilcoxon: Mapping[str, float]
    """p-values, if there are enough data sets: of the Friedman test, and of Wilcoxon signed-rank
    tests of the reference against each other column, with Holm's correction."""
    critical_difference: float | None = None

    def similar_groups(self) -> list[list[str]]:
        """Largest groups of columns that do not differ by the test of Nemenyi, ordered by ranks."""
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
    """Difference of mean ranks from which two columns differ by the test of Nemenyi."""
    quantile = stats.studentized_range.ppf(1 - LEVEL, n_columns, np.inf) / np.sqrt(2)
    return float(quantile * np.sqrt(n_columns * (n_columns + 1) / (6 * n_data_sets)))


def overall(scores: pd.DataFrame, reference: str) -> Overall:
    """Compare columns of scores, one row per data set; NaN, of what is not done, ranks last."""
    ranks = scores.rank(axis="columns", ascending=False, na_option="bottom")
    n_columns, enough = len(scores.columns), len(scores) >= ENOUGH_DATA_SETS
    friedman = None
    if enough and n_columns > 2:
        # If all columns tie on all data sets, the statistic is 0 / 0.
        tied = (ranks.nunique(axis="columns") == 1).all()
        friedman = 1.0 if tied else float(stats.friedmanchisquare(*ranks.to_numpy().T).pvalue)
    wilcoxon = {}
    for name in scores.columns.drop(reference):
        differences = (scores[reference] - scores[name]).dropna().to_numpy()
        if len(differences) >= ENOUGH_DATA_SETS:
            # For zeros only, the statistic is 0 / 0.
            wilcoxon[name] = stats.wilcoxon(differences).pvalue if differences.any() else 1.0
    return Overall(
        ranks=dict(zip(scores.columns, ranks.mean().tolist(), strict=True)),
        friedman=friedman,
        wilcoxon=dict(zip(wilcoxon, holm(list(wilcoxon.values())).tolist(), strict=True)),
        critical_difference=critical_difference(n_columns, len(scores)) if enough else None,
    )


def _mann_whitney(a: Sequence[float], b: Sequence[float]) -> float:
    """p-value of the two-sided test, also defined for constant runs."""
    if np.ptp(a) == 0 and np.ptp(b) == 0:
        return float(a[0] == b[0])
    return float(stats.mannwhitneyu(a, b, alternative="two-sided").pvalue)


RANKED_SUITES = ("compare", "ablation")
OF_THE_PACKAGE = {*(method.display_name for method in REGISTRY), *ABLATIONS}


@dataclass(frozen=True, eq=False)
class Ranking:
    """Columns of a suite that are compared with each other, on data sets where all were run."""

    name: str
    suffix: str
    """What is compared, in titles."""
    reference: str
    """Column that is tested against all others: an external method, else DALMC."""
    data: Sequence[str]
    left_out: Sequence[str]
    by_metric: Mapping[str, Overall]

    def figure(self) -> Figure | None:
        """Critical-difference picture of ACC; None if there are too few data sets."""
        found = self.by_metric["ACC"]
        if found.critical_difference is None:
            return None
        title = f"Mean ranks by ACC{self.suffix}"
        caption = (
            f"Mean ranks by ACC over {len(self.data)} data sets{self.suffix}; 1 is best. Bars join "
            f"methods that do not differ by the test of Nemenyi at {100 * LEVEL:g} %."
        )
        return Figure(self.name, title, caption, partial(draw_ranks, found, title))

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
            texts,
            marks_of_ranks(texts.astype(float).rank(method="dense")),
            notes,
        )
        tests = pd.DataFrame(
            {metric: pd.Series(o.wilcoxon, dtype=float) for metric, o in self.by_metric.items()},
            index=pd.Index([c for c in acc.ranks if c != self.reference], name="method"),
        )
        if tests.isna().all(axis=None):
            return
        yield ResultTable(
            f"{self.name}-tests",
            f"{self.reference} against each other method: p-values{self.suffix}",
            "Wilcoxon signed-rank test over the data sets on which both are done, Holm's "
            f"correction. Empty: fewer than {ENOUGH_DATA_SETS} such data sets.",
            number_texts(tests, "{:.4f}"),
        )


def rankings(suites: Mapping[str, SuiteResults]) -> Iterator[Ranking]:
    """Yield the comparisons of suites with two or more methods."""
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


def draw_ranks(found: Overall, title: str, figure: Any) -> None:
    """Draw the critical-difference picture: bars join columns that do not differ significantly."""
    names = sorted(found.ranks, key=lambda name: found.ranks[name])
    n, groups = len(names), found.similar_groups()
    figure.set_size_inches(6, 0.9 + 0.22 * n)
    axes = figure.add_subplot(title=title, xlim=(0.8, n + 0.4 + 0.2 * len(groups)))
    axes.plot([found.ranks[name] for name in names], range(n), "o", color="black")
    for i, group in enumerate(groups, 2):
        ends = names.index(group[0]), names.index(group[-1])
        axes.plot([n + 0.2 * i] * 2, ends, color="black", linewidth=3, solid_capstyle="butt")
    axes.set_yticks(range(n), [f"{name} {found.ranks[name]:.1f}" for name in names])
    axes.set_xticks(range(1, n + 1))
    axes.invert_yaxis()
    axes.set_xlabel(f"mean rank; critical difference {found.critical_difference or 0:.2f}")
