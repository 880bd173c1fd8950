"""Single files of tables, and Excel workbooks."""

import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from anchorview import DALMC, read_views
from anchorview._utils.errors import MissingPackageError
from anchorview.datasets import convert, open_views, stays_on_disk
from anchorview.sources import disk_source
from helpers.view_files import error_of, frame

IDS = [f"s{i}" for i in range(30)]
X = np.random.default_rng(0).normal(size=(30, 4)) + 9 * np.eye(4)[np.arange(30) % 3]


def write_workbook(path, **sheets):
    with pd.ExcelWriter(path) as writer:
        for name, table in sheets.items():
            table.to_excel(writer, sheet_name=name)
    return path


def as_file(table, path):
    if path.suffix == ".xlsx":
        return write_workbook(path, data=table)
    getattr(table, {".csv": "to_csv", ".parquet": "to_parquet"}[path.suffix])(path)
    return path


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".xlsx"])
def test_single_file_is_one_view(suffix, tmp_path):
    path = as_file(frame(X, pd.Index(IDS, name="id")), tmp_path / f"customers{suffix}")
    data = read_views(path)
    name = "data" if suffix == ".xlsx" else "customers"
    assert list(data.views) == [name]
    assert data.views[name].index.tolist() == IDS
    np.testing.assert_allclose(data.views[name], X)
    assert len(set(DALMC(3, random_state=0).fit_predict(data)[:3])) == 3
    converted = open_views(convert(path, tmp_path / "new"))
    np.testing.assert_allclose(converted.views[name][:], X)
    without = read_views(path, drop=["f0"])
    assert without.views[name].columns.tolist() == ["f1", "f2", "f3"]


def test_single_parquet_file_stays_on_disk(tmp_path, set_constants):
    path = as_file(frame(X, IDS), tmp_path / "a.parquet")
    assert stays_on_disk(path)
    set_constants(disk_source, PART=10)
    data = open_views(path)
    np.testing.assert_array_equal(data.views["a"][3:9], X[3:9])
    labels = DALMC(3, random_state=0).fit_predict(data)
    np.testing.assert_array_equal(labels, DALMC(3, random_state=0).fit_predict(read_views(path)))


@pytest.fixture
def workbook(tmp_path):
    """Two sheets with ids in another order, a gap and a code, one with labels and an empty one."""
    about = pd.DataFrame(
        {
            "age": [31.5, None, 47, 20],
            "n": [1, 2, 3, 4],
            "zip": ["02139", "10001", "90210", "00501"],
            "since": pd.to_datetime(["2020-01-01", "2020-01-02", None, "2020-01-04"]),
            "on": [True, False, True, True],
            "region": ["NA", "EU", "NA", None],
        },
        pd.Index([7, 3, 5, 9], name="id"),
    )
    prices = pd.DataFrame({"p": [0.5, 1.5, 2.5]}, pd.Index([9, 7, 3], name="id"))
    labels = pd.DataFrame({"kind": ["x", "y", "x", "y"]}, about.index)
    path = tmp_path / "data.xlsx"
    return write_workbook(path, about=about, prices=prices, labels=labels, empty=pd.DataFrame())


def test_sheets_are_views_and_cells_keep_their_types(workbook):
    data = read_views(workbook)
    assert list(data.views) == ["about", "prices"]
    assert data.sample_ids.tolist() == [7, 3, 5, 9]
    assert data.target.tolist() == ["x", "y", "x", "y"]
    about = data.views["about"]
    assert about["zip"].tolist() == ["02139", "10001", "90210", "00501"]
    assert about["region"].tolist()[:3] == ["NA", "EU", "NA"]
    assert about.isna().sum().to_dict() == {
        "age": 1,
        "n": 0,
        "zip": 0,
        "since": 1,
        "on": 0,
        "region": 1,
    }
    assert [about[name].dtype.kind for name in ("age", "n", "since", "on")] == list("fiMb")
    assert data.views["prices"]["p"].tolist()[:2] == [1.5, 2.5]
    assert data.available[:, 1].tolist() == [True, True, False, True]


def test_odd_values_among_texts_that_are_numbers(tmp_path):
    table = pd.DataFrame(
        {"x": ["1.5", None, "2", "?"], "code": ["01", "2", "3", "K"]}, list("abcd")
    )
    with pytest.warns(UserWarning, match=r"'x' has numbers.*'\?' in row 4") as caught:
        view = read_views(write_workbook(tmp_path / "a.xlsx", a=table)).views["a"]
    assert len(caught) == 1
    assert view["x"].tolist()[2:] == ["2", "?"]


def test_one_sheet_by_name(workbook):
    data = read_views(workbook, views={"cost": "prices"})
    assert list(data.views) == ["cost"]
    assert "'none'" in error_of(workbook, lambda path: read_views(path, views={"a": "none"}))


def test_workbooks_that_cannot_be_read(workbook, tmp_path, monkeypatch):
    (tmp_path / "bad.xlsx").write_bytes(workbook.read_bytes()[:900])
    error_of(tmp_path / "bad.xlsx")
    table = pd.DataFrame({"x": [1, 2]}, pd.Index(["a", "a"], name="id"))
    message = error_of(write_workbook(tmp_path / "twice.xlsx", Sheet1=table))
    assert "'a' occurs more than once" in message
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    with pytest.raises(MissingPackageError, match="excel"):
        read_views(workbook)


@pytest.mark.parametrize("reader", [read_views, open_views])
def test_parquet_columns_of_one_name_are_refused(reader, tmp_path):
    table = pa.table([["a", "b"], [1.0, 2.0], [3.0, 4.0]], names=["id", "x", "x"])
    pq.write_table(table, tmp_path / "a.parquet")
    assert "column 'x' occurs more than once" in error_of(tmp_path / "a.parquet", reader)
