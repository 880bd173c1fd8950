"""Methods compared over all data sets: mean ranks, tests, and the critical-difference picture."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

import pandas as pd

from anchorview.estimators.methods import REGISTRY
from anchorview.experiments.evaluation import SuiteResults
from anchorview.experiments.jobs import METRICS
from anchorview.experiments.result_table import ResultTable, marks_of_ranks, number_texts
from anchorview.experiments.significance import ENOUGH_DATA_SETS, LEVEL, Overall, overall
from anchorview.experiments.suites import ABLATIONS, IMPUTED

RANKED_SUITES = ("compare", "ablation", "incomplete")
"""Suites with scores of several methods on each data set."""

OURS = {*(method.display_name for method in REGISTRY), *ABLATIONS, IMPUTED}
REFERENCE = "DALMC"

ROW, INK = 20, "#222222"
"""Height of a line of text in a picture, and its color."""


@dataclass(frozen=True, eq=False)
class Ranking:
    """Columns of a suite that are compared with each other, on data sets where all were run."""

    name: str
    suffix: str
    """What is compared, in titles; "" for honest columns of the suite compare."""
    reference: str
    """Column that is tested against each other one: a method that is not ours, else DALMC."""
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
    """Yield the comparisons of suites with two or more methods; scores at points are averaged."""
    for suite, results in suites.items():
        if suite not in RANKED_SUITES:
            continue
        status = results.wide("status").fillna("absent")
        for contest, columns in results.contests().items():
            # Data sets on which all columns were run, successfully or not.
            was_run = (status[columns] != "absent").all(axis="columns")
            ranked = status.index[was_run]
            if len(columns) < 2 or ranked.empty:
                continue
            named = {column: column.partition(" (")[0] for column in columns}
            own = [column for column in columns if named[column] not in OURS]
            default = [column for column in columns if named[column] == REFERENCE]
            reference = [*own, *default, *columns][0]
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
