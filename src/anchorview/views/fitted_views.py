"""The views that an estimator was fitted on, to which those of new samples are matched."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from anchorview._utils.text import describe_view, listed
from anchorview._utils.typing import FeatureNames
from anchorview.views.fitted_columns import FittedColumns
from anchorview.views.row_source import RowSource


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
    ) -> npt.NDArray[np.intp] | None:
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
        """Descriptions of the views whose feature names were known in `fit`, but are not here."""
        return [
            describe_view(p, self.names[p])
            for p, position in enumerate(self.positions_in(schema))
            if position is not None
            and schema.n_features_per_view[position]
            and self.feature_names[p] is not None
            and schema.feature_names[position] is None
        ]
