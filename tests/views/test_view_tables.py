"""Tables of polars and pyarrow are views with named columns, matched by position."""

from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from anchorview import DALMC, MultiViewData, make_multiview

LIBRARIES = pytest.mark.parametrize("table", [pl.DataFrame, pa.table], ids=["polars", "pyarrow"])


def columns_of(view, prefix):
    return {f"{prefix}{j}": view[:, j] for j in range(view.shape[1])}


@pytest.fixture
def columns():
    """Two views of 60 samples as dicts of named columns."""
    views, _ = make_multiview(60, n_clusters=3, n_features=(5, 4), random_state=0)
    return {"a": columns_of(views["view_0"], "g"), "b": columns_of(views["view_1"], "p")}


@LIBRARIES
def test_fits_as_pandas_does_and_matches_columns_by_name(columns, table):
    model = DALMC(n_clusters=3, random_state=0)
    expected = model.fit({name: pd.DataFrame(view) for name, view in columns.items()}).labels_
    model.fit({name: table(view) for name, view in columns.items()})
    np.testing.assert_array_equal(model.labels_, expected)
    assert list(map(list, model.feature_names_per_view_)) == list(map(list, columns.values()))
    turned = {name: table(dict(reversed(view.items()))) for name, view in columns.items()}
    np.testing.assert_array_equal(model.predict(turned), model.labels_)
    turned["b"] = table({f"{name}'": column for name, column in columns["b"].items()})
    with pytest.raises(ValueError, match=r"view 1 \('b'\) lacks 4 features"):
        model.predict(turned)


@LIBRARIES
def test_rows_have_no_ids(columns, table):
    data = MultiViewData([table(columns["a"]), np.eye(60, 4)])
    assert data.sample_ids is None
    frame = pd.DataFrame(columns["b"], index=[f"s{i}" for i in range(60)])
    data = MultiViewData({"a": table(columns["a"]), "b": frame})
    np.testing.assert_array_equal(data.sample_ids, frame.index)
    with pytest.raises(ValueError, match="59"):
        MultiViewData({"a": table(columns["a"]), "b": frame[:59]})
    assert MultiViewData(table(columns["a"])).shape == (60, 5)


@LIBRARIES
@pytest.mark.parametrize(
    "values",
    [[1, 2, None], [True, False, None], [1.5, 2.5, None], [Decimal("1.5"), Decimal("2.5"), None]],
    ids=["integers", "booleans", "floats", "decimals"],
)
def test_missing_values_mark_samples_without_the_view(table, values):
    view = MultiViewData([table({"g": values}), np.eye(3)]).views[0]
    expected = np.array([[float(values[0])], [float(values[1])], [np.nan]])
    np.testing.assert_array_equal(view, expected)


def arrow_in_pandas(columns):
    return pa.table(columns).to_pandas(types_mapper=pd.ArrowDtype)


@pytest.mark.parametrize("table", [pd.DataFrame, pl.DataFrame, pa.table, arrow_in_pandas])
def test_columns_of_text_are_categories_and_days_are_dates(table):
    columns = {"g": [1.0, 2.0], "kind": ["x", "y"], "day": [date(2020, 1, 1), None]}
    data = MultiViewData({"a": table(columns)})
    assert "a: 1 number, 1 category, 1 date" in repr(data)
    assert data.feature_names[0].tolist() == ["g", "kind", "day"]
    np.testing.assert_array_equal(data.views[0].toarray()[:, 2], [18262, np.nan])


def test_repeated_names_and_lazy_frames_are_refused(columns):
    table = pa.Table.from_arrays([pa.array([1, 2]), pa.array([3, 4])], names=["g", "g"])
    with pytest.raises(ValueError, match=r"view 0 \('a'\): columns must have different names"):
        MultiViewData({"a": table})
    with pytest.raises(TypeError, match=r"view 0 \('a'\) is of type LazyFrame"):
        MultiViewData({"a": pl.LazyFrame(columns["a"])})
