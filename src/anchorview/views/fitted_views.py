"""The views and columns that an estimator was fitted on; those of new samples become like them."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from anchorview._utils.errors import errors_of
from anchorview._utils.text import describe_view, listed, quoted
from anchorview._utils.typing import Array, FeatureNames, Matrix
from anchorview.views.container import MultiViewData, without_nan
from anchorview.views.row_source import RowSource
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


@dataclass(frozen=True, eq=False)
class FittedViews:
    """Names, widths and feature names of the views that an estimator was fitted on."""

    estimator: str
    """Name of its class, for messages."""
    names: tuple[str, ...]
    widths: tuple[int, ...]
    feature_names: tuple[FeatureNames | None, ...]
    columns: tuple[FittedColumns | None, ...] = ()
    """Types of the columns of each view, if new columns are to become these."""
    imputes: bool = True
    """Whether single values may be NaN, as a step of the estimator imputes them."""

    def positions_in(self, schema: RowSource) -> list[int | None]:
        """Positions of the fitted views among other views; None for a view left out.

        Views are matched by name if they have names, else by position.
        """
        if schema.named:
            unknown = [name for name in schema.names if name not in self.names]
            if unknown:
                raise ValueError(
                    f"View {unknown[0]!r} is unknown: {self.estimator} was fitted on "
                    f"{list(self.names)}."
                )
            return [
                schema.names.index(name) if name in schema.names else None for name in self.names
            ]
        if len(schema.names) != len(self.names):
            raise ValueError(
                f"Got {len(schema.names)} view(s), but {self.estimator} is expecting "
                f"{len(self.names)} views {list(self.names)}. Pass None for a view that no sample "
                "has, or a dict of the others."
            )
        return list(range(len(self.names)))

    def matched(self, source: RowSource) -> RowSource:
        """Source with the views and features of the fit; raises if it lacks features of a view."""
        if isinstance(source, MultiViewData):
            return self.matched_part(source)
        self.require_match(source)
        return source.prepared(self.matched_part)

    def matched_part(self, data: MultiViewData) -> MultiViewData:
        """Views and features in the order of the fit; no sample has a view that was left out."""
        n = len(data)
        views: list[Matrix] = []
        available = np.zeros((n, len(self.names)), bool)
        for p, position in enumerate(self.positions_in(data)):
            if position is not None and (has := data.has_view(position)).any():
                view, names = data.views[position], data.feature_names[position]
                order = self.column_order(p, view.shape[1], names)
                if order is not None:
                    view, names = view[:, order], self.feature_names[p]
                columns = self.columns[p] if self.columns else None
                if columns is not None:
                    description = describe_view(p, self.names[p])
                    view = columns.converted(view, names, description, data.sample_at)
                    has = has & view.has_values() if isinstance(view, TableView) else has
                views.append(view)
                available[:, p] = has
            else:
                views.append(sparse.csr_array((n, self.widths[p]), dtype=np.float32))
        features = self.feature_names
        data = data._replaced(
            views=views, available=available, names=self.names, feature_names=features
        )
        return data if self.imputes else without_nan(data)

    def require_match(self, schema: RowSource) -> None:
        """Raise if views or features are unknown, or lack what the estimator was fitted on."""
        # Of data in memory it is known whether any sample has a view.
        available = getattr(schema, "available", None)
        for p, position in enumerate(self.positions_in(schema)):
            if position is None or (available is not None and not available[:, position].any()):
                continue
            if width := schema.n_features_per_view[position]:
                self.column_order(p, width, schema.feature_names[position])

    def column_order(
        self, p: int, width: int, names: FeatureNames | None
    ) -> NDArray[np.intp] | None:
        """Columns of the fitted features in a view with these feature names.

        None if the columns are in order already, or can be matched by position only. Raises if the
        view does not have the fitted features.
        """
        expected = self.feature_names[p]
        if expected is None and names is not None:
            # A DataFrame made without names has the column labels 0, 1, 2...
            default = np.arange(self.widths[p]).astype(str).astype(object)
            expected = default if set(default) == set(names) else None
        if expected is None or names is None:
            if width != self.widths[p]:
                # With one view the message is that of scikit-learn.
                subject = describe_view(p, self.names[p]) if len(self.names) > 1 else "X"
                raise ValueError(
                    f"{subject} has {width} features, but {self.estimator} is expecting "
                    f"{self.widths[p]} features as input."
                )
            return None
        if np.array_equal(names, expected):
            return None
        here, in_fit = pd.Index(names), pd.Index(expected)
        view = describe_view(p, self.names[p])
        for index, where in ((here, "here"), (in_fit, "in fit")):
            if not index.is_unique:
                raise ValueError(
                    f"{view}: features cannot be matched by name, as the name "
                    f"{index[index.duplicated()].tolist()[0]!r} occurs more than once {where}. Use "
                    "unique names, or the same names in the same order as in fit."
                )
        missing, unknown = in_fit[~in_fit.isin(here)], here[~here.isin(in_fit)]
        problems = [
            f"{verb} {len(some)} feature{'s' * (len(some) > 1)} ({listed(list(some))}) that "
            f"{self.estimator} was {fitted}"
            for some, verb, fitted in (
                (missing, "lacks", "fitted on"),
                (unknown, "has", "not fitted on"),
            )
            if len(some)
        ]
        if problems:
            raise ValueError(
                f"{view} {' and '.join(problems)}. Give exactly the features of fit, in any order; "
                "drop= leaves out columns of a file."
            )
        return here.get_indexer(in_fit)

    def unnamed(self, schema: RowSource) -> list[str]:
        """Descriptions of the views with feature names in `fit`, but not here."""
        return [
            describe_view(p, self.names[p])
            for p, position in enumerate(self.positions_in(schema))
            if position is not None
            and schema.n_features_per_view[position]
            and self.feature_names[p] is not None
            and schema.feature_names[position] is None
        ]
