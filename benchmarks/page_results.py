"""Stored results as means over the seeds; names and numbers as the benchmark page shows them."""

from collections.abc import Sequence
from functools import cached_property

import pandas as pd

from anchorview.estimators.methods import REGISTRY, find_method
from anchorview.experiments.ranks import Overall, overall
from compared_results import COLUMNS, IMML, MADE, ResultFile, RowOrder

AUTO, DALMC, PUBLISHED = "auto", "dalmc", "dalmc (as published)"


def display_name(column: str) -> str:
    """Name of a column on the page, without markup."""
    if column == PUBLISHED:
        return "DALMC.as_published"
    if column not in COLUMNS:
        return column
    method, _ = COLUMNS[column]
    own = find_method(method).class_path.rpartition(".")[2]
    return own if column == method else f"{own} {column.removeprefix(method).strip()}"


def marked_up(column: str) -> str:
    """Name of a column in a table; names of the package are links on the site."""
    name = display_name(column)
    return f"`{name}`" if column in COLUMNS and " " not in name else name


def percent(value: float) -> str:
    return "-" if pd.isna(value) else f"{100 * value:.1f}"


def number(value: float) -> str:
    """Number with about three digits."""
    if pd.isna(value):
        return "-"
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


class Results:
    """Means over the seeds."""

    def __init__(self, file: ResultFile) -> None:
        self.file = file
        self.frame = file.frame()
        self.sets = sorted(
            (name for name in file.data if not name.startswith(MADE)),
            key=lambda name: file.data[name][0],
        )
        measured = set(self.frame["column"])
        known = [*(method.name for method in REGISTRY), PUBLISHED]
        self.columns = [column for column in known if column in measured]
        self.references: list[str] = []
        """Columns that are shown but not ranked: those that were run on all ranked data sets."""
        ran = self.was_run(columns=[*self.columns, *IMML]).loc[self.ranked_sets()]
        self.references = [column for column in IMML if ran[column].all()]

    def pivot(
        self,
        quantity: str,
        missing: float = 0.0,
        order: RowOrder = "shuffled",
        columns: Sequence[str] | None = None,
    ) -> pd.DataFrame:
        """A row per data set and a column per method; NaN where it is not done."""
        chosen = self.frame[(self.frame["missing"] == missing) & (self.frame["order"] == order)]
        found = chosen.pivot_table(quantity, "data", "column", aggfunc="mean", dropna=False)
        return found.reindex(index=self.sets, columns=columns or [*self.columns, *self.references])

    def was_run(self, missing: float = 0.0, columns: Sequence[str] | None = None) -> pd.DataFrame:
        """Whether a method was run on a data set, done or not."""
        chosen = self.frame[
            (self.frame["missing"] == missing) & (self.frame["order"] == "shuffled")
        ]
        counts = chosen.pivot_table("seed", "data", "column", aggfunc="count")
        columns = columns or [*self.columns, *self.references]
        return counts.reindex(index=self.sets, columns=columns).notna()

    def ranked_sets(self, missing: float = 0.0) -> list[str]:
        """Data sets on which all methods were run."""
        complete = self.was_run(missing)[self.columns].all(axis="columns")
        return list(complete.index[complete])

    @cached_property
    def ranks(self) -> Overall:
        """Ranks by accuracy, and tests."""
        return overall(self.pivot("ACC").loc[self.ranked_sets(), self.columns], AUTO)

    @cached_property
    def by_rank(self) -> list[str]:
        """Columns from the best to the worst mean rank."""
        return sorted(self.columns, key=lambda column: self.ranks.ranks[column])


def made_curves(results: Results) -> dict[str, list[tuple[float, float]]]:
    made = results.frame[results.frame["data"].str.startswith(MADE)].dropna(subset="seconds")
    curves = {}
    for column in COLUMNS:
        rows = made[made["column"] == column]
        points = [
            (float(name.removeprefix(MADE)), float(seconds))
            for name, seconds in zip(rows["data"], rows["seconds"], strict=True)
        ]
        if points:
            curves[column] = sorted(points)
    return curves
