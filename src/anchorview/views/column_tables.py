"""Tables of polars, pyarrow and other libraries, which narwhals reads.

Their columns have names, as in pandas, but their rows have no ids: they are matched by position.
"""

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from narwhals.exceptions import DuplicateError

from anchorview._utils.typing import Array, FeatureNames
from anchorview.views.alignment import not_numeric_message
from anchorview.views.column_warnings import warn_about_table


def table_values(view: Any, description: str) -> tuple[Array, FeatureNames] | None:
    """Values and column names of a table, or None if the view is not one, or one of pandas.

    A missing value is NaN. Raises if a column is not numeric.
    """
    if isinstance(view, pd.DataFrame):
        return None
    try:
        table = nw.from_native(view, eager_only=True, pass_through=True)
        if not isinstance(table, nw.DataFrame):
            return None
        schema = table.schema
    except DuplicateError as error:
        found = " ".join(str(error).split())
        raise ValueError(f"{description}: columns must have different names: {found}.") from error
    for column, dtype in schema.items():
        if not (dtype.is_numeric() or dtype == nw.Boolean):
            raise ValueError(not_numeric_message(description, column, dtype))
    values = table.to_numpy()
    if values.dtype.kind == "O":
        values = table.select(nw.all().cast(nw.Float64)).to_numpy()
    warn_about_table(values, table.columns, description)
    return values, np.array(table.columns, dtype=object)
