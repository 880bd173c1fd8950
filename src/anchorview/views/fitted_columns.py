"""Columns of new samples become what the columns of the fit were: numbers, categories or dates."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import numpy as np
import pandas as pd

from anchorview._utils.errors import errors_of
from anchorview._utils.text import quoted
from anchorview._utils.typing import Array, FeatureNames, Matrix
from anchorview.views.table_columns import NUMERIC, TableView, column_kind, level_texts

FORMS = {"number": "numbers", "date": "dates"}


@dataclass(frozen=True, eq=False)
class FittedColumns:
    """The type of each column of a view in fit; none of them if all were numbers."""

    kinds: tuple[str, ...] = ()
    levels: tuple[frozenset[str] | None, ...] = ()
    """Known levels of the categories; None for numbers and dates."""

    def converted(
        self,
        view: Matrix,
        names: FeatureNames | None,
        description: str,
        sample: Callable[[int], str] = "row {}".format,
    ) -> Matrix:
        """A view with columns of the types of the fit, in the order of the fit.

        Raises at the first value that does not become one, named by `sample`, and warns of levels
        that fit did not have, which become missing.
        """
        if not (self.kinds or isinstance(view, TableView)):
            return view
        if isinstance(view, TableView):
            frame = view.frame.copy(deep=False)
        else:
            frame = pd.DataFrame(view if isinstance(view, np.ndarray) else view.toarray())
            frame.columns = frame.columns if names is None else pd.Index(names)
        kinds = self.kinds or ("number",) * frame.shape[1]
        for j, (kind, levels) in enumerate(zip_longest(kinds, self.levels)):
            with errors_of(description):
                column = as_kind(frame.iloc[:, j], kind, sample)
            if levels is not None:
                column = _known_levels(column, levels, description)
            frame.isetitem(j, column)
        table = TableView(frame, description, kinds)
        return table if self.kinds else table.values()


NUMBERS = FittedColumns()


def as_kind(column: "pd.Series[Any]", kind: str, sample: Callable[[int], str]) -> Any:
    """Column as a number, boolean, category, text or date; raises at a value that is none."""
    here = column_kind(column)
    if here == kind or (kind == "number" and here in NUMERIC) or not column.notna().any():
        return column
    if kind not in FORMS and here != "date":
        if kind == "boolean" and here == "number" and column.dropna().isin([0, 1]).all():
            column = column.astype("boolean")
        texts = pd.Series(level_texts(column), column.index, object, column.name)
        return texts.where(column.notna().to_numpy(), None)
    wrong = column.notna().to_numpy()
    converted = column
    if here in ("text", "category"):
        texts = column.astype(object)
        if kind == "number":
            converted = pd.to_numeric(texts, errors="coerce")
        else:
            converted = pd.to_datetime(texts, format="ISO8601", errors="coerce")
        wrong &= converted.isna().to_numpy()
    if wrong.any():
        row = int(wrong.argmax())
        raise ValueError(
            f"column {quoted(column.name)} holds {quoted(column.iloc[row])} at {sample(row)}, but "
            f"was {FORMS.get(kind, 'categories')} in fit. Correct the value, or give the column "
            "the type that it had."
        )
    return converted


def _known_levels(column: "pd.Series[Any]", levels: frozenset[str], description: str) -> Any:
    """Column in which levels that fit did not have are missing."""
    categories: Any = column.astype("category").cat
    unknown = [text not in levels for text in level_texts(categories.categories)]
    if not any(unknown):
        return column
    rows: Array = np.append(unknown, False)[categories.codes]
    warnings.warn(
        f"{description}: {rows.sum()} of {column.notna().sum()} values of column "
        f"{quoted(column.name)} are levels that fit did not have, such as "
        f"{quoted(column.iloc[int(rows.argmax())])}. They count as missing.",
        stacklevel=2,
    )
    return column.astype(object).where(~rows, None)
