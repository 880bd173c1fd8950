"""Names of the features of one view, from whatever form the view has."""

from typing import Any

import numpy as np
import pandas as pd

from anchorview._utils.typing import FeatureNames
from anchorview.views.stored_view import StoredView


def column_names(columns: "pd.Index[Any]") -> FeatureNames | None:
    """Column labels of a DataFrame as strings; None for the default labels 0, 1, 2..."""
    if columns.dtype.kind in "iu" and np.array_equal(columns, np.arange(len(columns))):
        return None
    return np.array([str(label) for label in columns], dtype=object)


def feature_names_of(view: Any) -> FeatureNames | None:
    """Feature names of a view of any type; None if it has none."""
    # ``_meta`` of a dask dataframe is the empty frame with its columns.
    frame = getattr(view, "_meta", view)
    if isinstance(frame, pd.DataFrame):
        return column_names(frame.columns)
    return view.feature_names if isinstance(view, StoredView) else None
