"""Folders of tables: sample ids, unions of samples, class labels, and every refusal."""

import numpy as np
import pandas as pd
import pytest

from anchorview import MultiViewData
from anchorview.datasets import convert, open_views, read_views
from helpers.view_files import error_of, frame
from helpers.view_files import write_tables as write

RNA = "id,g1,g2\n0012,1,2.5\nNA,3,4\nc,5,6\n"
PROTEIN = "id,p1\nc,7\n12,8\n"
UNION = ["c", "12", "0012", "NA"]


def test_samples_are_the_union_in_order_of_first_appearance(tmp_path):
    data = read_views(write(tmp_path, rna_csv=RNA, protein_csv=PROTEIN))
    assert list(data.views) == ["protein", "rna"]
    assert list(data.sample_ids) == UNION
    assert data.path == tmp_path
    assert data.target is None
    for view in data.views.values():
        assert view.index.equals(data.sample_ids)
    np.testing.assert_array_equal(data.views["protein"]["p1"], [7, 8, np.nan, np.nan])
    np.testing.assert_array_equal(data.views["rna"], [[5, 6], [np.nan, np.nan], [1, 2.5], [3, 4]])
    np.testing.assert_array_equal(data.available, [[1, 1], [1, 0], [0, 1], [0, 1]])
    container = MultiViewData(data.views, available=data.available)
    assert list(container.sample_ids) == UNION
    np.testing.assert_array_equal(container.available, data.available)


def test_integer_ids_become_integers(tmp_path):
    data = read_views(write(tmp_path, a_csv="id,x\n12,1\n-3,2\n", b_csv="id,y\n0,3\n12,4\n"))
    assert data.sample_ids.dtype == np.int64
    assert list(data.sample_ids) == [12, -3, 0]


def test_views_are_in_natural_order_and_other_files_named(tmp_path):
    (tmp_path / "b.txt").write_text("hello")
    (tmp_path / ".hidden.csv").write_text("hello")
    (tmp_path / "nested").mkdir()
    write(tmp_path, RNA_2_CSV=RNA, RNA_10_csv=RNA, RNA_1_csv=RNA)
    with pytest.warns(UserWarning, match=r"'b\.txt', 'nested'"):
        data = read_views(tmp_path)
    assert list(data.views) == ["RNA_1", "RNA_2", "RNA_10"]


@pytest.mark.parametrize("name", ["labels", "y", "target", "Labels", "gt"])
def test_labels_follow_the_samples(tmp_path, name):
    write(tmp_path, rna_csv=RNA, protein_csv=PROTEIN)
    write(tmp_path, **{f"{name}_csv": "id,class\nNA,2\n12,0\nnobody,9\n0012,1\nc,2\n"})
    data = read_views(tmp_path)
    assert list(data.views) == ["protein", "rna"]
    assert data.target.index.equals(data.sample_ids)
    assert data.target.dtype == np.int64
    assert data.target.tolist() == [2, 0, 1, 2]
    assert data.target.name == "class"


@pytest.mark.parametrize(
    ("labels", "expected"),
    [("2,cat\n1,01\n", ["01", "cat"]), ("1,1.0\n2,2\nnobody,\n", [1, 2])],
    ids=["strings", "integer-valued floats"],
)
def test_labels_in_csv(tmp_path, labels, expected):
    write(tmp_path, a_csv="id,x\n1,1\n2,2\n", labels_csv=f"id,class\n{labels}")
    target = read_views(tmp_path).target
    assert target.tolist() == expected
    assert target.index.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        *[(f"id,c\na,1\n{row}\n", "labels.csv") for row in ("b,", "nobody,2")],
        ("id,c,d\na,1,2\n", "one other column"),
        ("id,c\na,1\na,2\n", "'a' occurs more than once"),
    ],
)
def test_refused_labels(tmp_path, labels, message):
    assert message in error_of(write(tmp_path, v_csv="id,x\na,1\nb,2\n", labels_csv=labels))


def test_folder_without_views(tmp_path):
    assert "no views that can be read" in error_of(write(tmp_path))
    assert "no views inside" in error_of(write(tmp_path, labels_csv="id,c\na,1\n"))


FRAME = pd.DataFrame({"x": [1.0]}, index=["a"])


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"a_csv": "id,x\na,1\n", "a_parquet": FRAME}, "a.parquet have the same name"),
        (
            {"v_csv": "id,x\na,1\n", "labels_csv": "id,c\na,1\n", "y_csv": "id,c\na,1\n"},
            "several names of class labels: labels, y",
        ),
        ({"a_csv": "id,x\n7,1\n07,2\n7,3\n"}, "a.csv: the sample id '7' occurs more than once"),
        (
            {"a_parquet": pd.DataFrame({"id": [2.0, 2.0], "x": [1.0, 2.0]})},
            "the sample id '2.0' occurs more",
        ),
        ({"a_csv": "id,x\na,1\n,2\n"}, "a.csv: row 2 has no sample id"),
        (
            {"a_parquet": pd.DataFrame({"id": ["a", None], "x": [1.0, 2.0]})},
            "row 2 has no sample id",
        ),
        ({"a_csv": "1,2\n1,2\n"}, "a.csv: the first row is "),
        ({"a_csv": "x,y\na,1,2\nb,3,4\n"}, "has more fields than the header"),
        *[({"a_csv": text}, "a.csv: the file is empty") for text in ("", "\n")],
        ({"a_csv": "id,x\n"}, "a.csv: 0 samples"),
        ({"a_csv": "id\na\nb\n"}, "a.csv: 2 samples and 0 columns"),
        ({"a_parquet": pd.DataFrame(index=["a", "b"])}, "a.parquet: 2 samples and 0 columns"),
        (
            {"a_parquet": FRAME.set_axis(pd.MultiIndex.from_tuples([("a", 1)]))},
            "the index has several levels",
        ),
    ],
)
def test_refused_tables(tmp_path, files, message):
    source = write(tmp_path / "source", **files)
    assert message in error_of(source)
    # Conversion reads in blocks, but refuses the same tables.
    assert message in error_of(source, lambda path: convert(path, tmp_path / "new"))
    assert list(tmp_path.iterdir()) == [source]


@pytest.mark.parametrize("column", [[[1], [2]], pd.to_timedelta([1, 2])], ids=range(2))
def test_parquet_columns_that_are_no_features(tmp_path, column):
    frame = pd.DataFrame({"x": [1.0, 2], "y": column}, index=["a", "b"])
    source = write(tmp_path / "source", a_parquet=frame)
    for reader in (read_views, open_views, lambda path: convert(path, tmp_path / "new")):
        message = error_of(source, reader)
        assert "a.parquet: column 'y'" in message
        assert "views=" in message


X = np.arange(10.0).reshape(5, 2) / 4 + 1


def write_frame(folder, name, frame, suffix, **options):
    folder.mkdir(exist_ok=True)
    if suffix == "csv":
        frame.to_csv(folder / f"{name}.csv", **options)
    else:
        frame.to_parquet(folder / f"{name}.parquet", **options)


def both_readers(path, tmp_path, **options):
    """Message with which reading and conversion refuse a folder."""
    message = error_of(path, lambda path: read_views(path, **options))
    assert message == error_of(path, lambda path: convert(path, tmp_path / "refused", **options))
    return message


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize(
    ("ids", "other_ids", "message"),
    [
        (list("abcde"), list("vwxyz"), "a.{0} shares no sample"),
        (range(5), range(10, 15), "like '10'"),
        ([1, 2], [1.0, 2.0], "'1' in a.{0} is '1.0' in b.{0}"),
        (["s1", "s2"], ["s1 ", "s2"], "'s1' in a.{0} is 's1 ' in b.{0}"),
    ],
    ids=["letters", "integers", "fractions", "blanks"],
)
def test_views_without_common_ids_are_refused(tmp_path, suffix, ids, other_ids, message):
    path = tmp_path / "tables"
    for name, own in (("a", ids), ("b", other_ids)):
        write_frame(path, name, frame(X[: len(own)], pd.Index(own, name="id")), suffix)
    assert message.format(suffix) in both_readers(path, tmp_path)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize(
    ("first", "message"),
    [([0.5, 1, 2, 3, 4], "0.5"), ([1, 2, 2, 3, 4], "'2' occurs more than once")],
    ids=["fractions", "repeated"],
)
def test_first_column_that_cannot_be_ids(tmp_path, suffix, first, message):
    table = frame(X, None).assign(f0=first)
    write_frame(tmp_path / "t", "a", table, suffix, index=False)
    found = both_readers(tmp_path / "t", tmp_path)
    assert message in found
    assert "id_column=False" in found
    if suffix == "parquet":
        assert message in error_of(tmp_path / "t", open_views)
    np.testing.assert_array_equal(read_views(tmp_path / "t", id_column=False).views["a"], table)


@pytest.mark.parametrize(
    "text",
    [
        "A,1,2\nB,3,4\nC,5,6\n",
        "TCGA-02-0001,5,5\nTCGA-02-0002,3,4\n",
        "a,1,,7\nb,3,4,5\n",
        # As pandas writes it for columns without names.
        "0,1,2\n0.5,0.1,0.4\n",
    ],
)
def test_header_that_is_a_sample(tmp_path, text):
    path = write(tmp_path / "t", v_csv=text)
    message = both_readers(path, tmp_path)
    assert "header=False" in message
    data = read_views(path, header=False, id_column=not text.startswith("0"))
    assert len(data.views["v"]) == text.count("\n")
    assert data.sample_ids is None or data.sample_ids[0] == text.partition(",")[0]


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("labels", [False, True])
def test_rows_without_ids_are_matched_by_position(tmp_path, suffix, labels):
    path = tmp_path / "tables"
    views = {"a": frame(X, None), "b": frame(-X, None)}
    classes = pd.DataFrame({"class": [0, 0, 1, 1, 1]})
    for name, view in (views | ({"y": classes} if labels else {})).items():
        write_frame(path, name, view, suffix, index=False)
    data = read_views(path, id_column=False)
    converted = read_views(convert(path, tmp_path / "new", id_column=False))
    opened = open_views(path, id_column=False) if suffix == "parquet" else data
    for found in (data, converted, opened):
        assert found.sample_ids is None
        assert found.available is None
        for name, view in views.items():
            np.testing.assert_array_equal(np.asarray(found.views[name]), view)
        if labels:
            np.testing.assert_array_equal(found.target, classes["class"])
    assert list(data.views["a"].columns) == ["f0", "f1"]
    write_frame(path, "b", views["b"][:4], suffix, index=False)
    message = both_readers(path, tmp_path, id_column=False)
    assert f"a.{suffix} 5, b.{suffix} 4" in message


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_named_column_of_ids(tmp_path, suffix):
    for name in "ab":
        table = frame(X, None).assign(replicate=[1.1, 1.2, 2.1, 2.2, 3.1])
        write_frame(tmp_path / "t", name, table, suffix, index=False)
    data = read_views(tmp_path / "t", id_column="replicate")
    assert list(data.sample_ids) == ["1.1", "1.2", "2.1", "2.2", "3.1"]
    np.testing.assert_array_equal(data.views["b"], X)
    message = both_readers(tmp_path / "t", tmp_path, id_column="other")
    assert "'other'" in message
