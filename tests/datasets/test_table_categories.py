"""Tables with categories, texts, booleans and dates in files, from reading to labels."""

import gzip

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from anchorview import DALMC, AutoDALMC
from anchorview.datasets import DataFileError, convert, open_views, read_views
from anchorview.sources import disk_source
from anchorview.views.table_columns import describe_kinds
from helpers.data import assert_same_embedding
from helpers.tables import planted_tables
from helpers.view_files import write_tables

N, K = 180, 3


def write(folder, kind):
    """Write the planted tables; Parquet tables in row groups with their own levels."""
    folder.mkdir()
    for name, table in planted_tables(N)[0].items():
        if kind == "parquet":
            whole = pa.Table.from_pandas(table)
            with pq.ParquetWriter(folder / f"{name}.parquet", whole.schema) as writer:
                for start in range(0, N, 50):
                    part = table.iloc[start : start + 50]
                    writer.write_table(pa.Table.from_pandas(part, schema=whole.schema))
        elif kind == "csv":
            table.to_csv(folder / f"{name}.csv")
        else:
            with gzip.open(folder / f"{name}.tsv.gz", "wt") as stream:
                table.to_csv(stream, sep="\t")
    return folder


@pytest.fixture(scope="module")
def expected():
    views, y = planted_tables(N)
    views["customers"] = views["customers"].astype({"code": "category"})
    model = DALMC(K, random_state=0).fit(views)
    assert adjusted_rand_score(y, model.labels_) > 0.9
    assert model.preprocessing_[0].kinds_ == (
        *("number", "text", "boolean", "text", "date", "category", "category"),
    )
    return model


@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet"])
def test_tables_that_are_read_give_the_same_labels(kind, tmp_path, expected):
    data = read_views(write(tmp_path / "t", kind), categorical=["customers:code"])
    assert data.available is None
    assert isinstance(data.views["customers"]["code"].dtype, pd.CategoricalDtype)
    assert isinstance(data.views["customers"]["region"].dtype, pd.CategoricalDtype) == (
        kind == "parquet"
    )
    model = DALMC(K, random_state=0).fit(data)
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    assert_same_embedding(model.embedding_, expected.embedding_, atol=1e-5)
    found = expected.predict(data)
    pd.testing.assert_series_equal(found, expected.labels_series, check_names=False)


@pytest.mark.parametrize("model", [DALMC(K), AutoDALMC(K, budget="fast")], ids=["dalmc", "auto"])
def test_parquet_in_parts(model, tmp_path, expected, set_constants):
    model = clone(model).set_params(random_state=0)
    folder = write(tmp_path / "t", "parquet")
    set_constants(disk_source, PART=1000)
    data = open_views(folder, categorical=["code"])
    source = data.views["customers"]
    assert describe_kinds(source.kinds) == "1 number, 5 categories, 1 date"
    assert (
        source[170:].frame["plan"].tolist()
        == planted_tables(N)[0]["customers"]["plan"][170:].tolist()
    )
    assert source[3:3].shape == (0, 7)
    with pytest.raises(TypeError, match="A table on disk cannot become an array"):
        np.asarray(source)
    model.fit(data)
    # Of the same clusters: the parts of a sum are added up in another order.
    assert adjusted_rand_score(model.labels_, expected.labels_) == 1
    np.testing.assert_array_equal(np.asarray(model.predict(data)), np.asarray(model.labels_))
    assert np.isin(model.predict(read_views(folder, categorical=["code"])), model.labels_).all()


def test_samples_that_lack_a_table(tmp_path):
    a = "id,x,color,on,day\na,1,red,True,2020-01-01\nb,2,,False,2020-01-02\nc,,,,\nd,0,,,\n"
    folder = write_tables(tmp_path, a_csv=a, b_csv="id,z\ne,1\na,2\nb,3\nc,4\nd,5\n")
    data = read_views(folder)
    assert data.available[:, 0].tolist() == [True, True, False, True, False]
    assert data.views["a"]["day"].dtype.kind == "M"
    assert data.views["a"].loc["e"].isna().all()


def test_columns_that_are_left_out_or_categories(tmp_path):
    rows = "".join(f"s{i},{i},{i % 3}\n" for i in range(9))
    plain = write_tables(tmp_path / "plain", a_csv=rows)
    # Without a header, columns have numbers.
    view = read_views(plain, header=False, drop=["0"], categorical=["1"]).views["a"]
    assert view.dtypes.to_dict() == {1: pd.CategoricalDtype([0, 1, 2])}
    folder = write_tables(tmp_path / "a", a_csv=f"id,x,grade\n{rows}s9,9,A\n")
    view = read_views(folder, drop=["x"], categorical=["grade"]).views["a"]
    assert view["grade"].cat.categories.tolist() == ["0", "1", "2", "A"]
    # Half of the values are no numbers: a category, as in tables in memory.
    other = write_tables(tmp_path / "b", a_csv="id,x\na,1\nb,2\nc,A\nd,B\n")
    assert read_views(other).views["a"]["x"].tolist() == ["1", "2", "A", "B"]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_columns_by_name(kind, tmp_path):
    folder = write(tmp_path / "t", kind)
    for reader in (read_views, open_views)[: 1 + (kind == "parquet")]:
        view = reader(folder, drop=["customers:plan", "zip", "active"]).views["customers"]
        assert view.shape == (N, 4)
        with pytest.raises(DataFileError, match="text:plan"):
            reader(folder, drop=["text:plan"])
        with pytest.raises(DataFileError, match="'none'"):
            reader(folder, categorical=["none"])
    with pytest.raises(DataFileError, match="'plan' is a text"):
        convert(folder, tmp_path / "new")
    rest = ["plan", "active", "zip", "since", "region"]
    assert read_views(convert(folder, tmp_path / "new", drop=rest)).views["customers"].shape[1] == 2
