"""The container: every accepted form of input, and errors that name the place of a bad value."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.model_selection import train_test_split

from anchorview import DALMC, MultiViewData
from anchorview.estimators import dalmc


def pair(n=6):
    rng = np.random.default_rng(0)
    return rng.standard_normal((n, 3)), rng.standard_normal((n, 4))


@pytest.mark.parametrize(
    "wrap",
    [
        list,
        tuple,
        lambda views: {"a": views[0], "b": views[1]},
        lambda views: [views[0].tolist(), views[1].tolist()],
        lambda views: [pd.DataFrame(v) for v in views],
        lambda views: [sparse.csc_matrix(views[0]), sparse.dok_array(views[1])],
        lambda views: MultiViewData(list(views)),
        lambda views: [views[0].astype(object), np.asfortranarray(views[1])],
    ],
)
def test_forms_of_several_views(wrap):
    views = pair()
    data = MultiViewData(wrap(views))
    assert data.shape == (6, 7)
    for original, kept in zip(views, data.views, strict=True):
        kept = kept.toarray() if sparse.issparse(kept) else kept
        np.testing.assert_array_equal(kept, original)


@pytest.mark.parametrize(
    "form", [np.asarray, np.ndarray.tolist, pd.DataFrame, sparse.dok_array, sparse.coo_matrix]
)
def test_forms_of_one_view(form):
    assert MultiViewData(form(pair()[0])).n_features_per_view == (3,)


def test_views_are_neither_copied_nor_converted(tmp_path):
    stored = np.memmap(tmp_path / "x.bin", dtype=np.float16, mode="w+", shape=(5, 2))
    stored[:] = np.arange(10).reshape(5, 2)
    pixels = np.arange(15, dtype=np.uint8).reshape(5, 3)
    data = MultiViewData([pixels, stored])
    assert np.shares_memory(data.views[0], pixels)
    assert np.shares_memory(data.views[1], stored)
    assert data.dtype == np.float32
    assert MultiViewData([pixels, pair(5)[0]]).dtype == np.float64


def test_rows_can_be_taken_as_scikit_learn_does():
    a, b = pair(20)
    ids = [f"s{i}" for i in range(20)]
    data = MultiViewData({"a": pd.DataFrame(a, index=ids), "b": sparse.csr_array(b)})
    np.testing.assert_array_equal(data[3:5].views[0], a[3:5])
    np.testing.assert_array_equal(data[[4, 1], ...].views[0], a[[4, 1]])
    np.testing.assert_array_equal(data[np.arange(20) > 17, :].views[1].toarray(), b[18:])
    assert list(data[[2, 0]].sample_ids) == ["s2", "s0"]
    assert len(data[5]) == 1
    train, test = train_test_split(data, random_state=0)
    assert (len(train), len(test)) == (15, 5)
    with pytest.raises(IndexError, match="by samples only"):
        data[0, 1]


def spoiled(value, row, column):
    view = pair()[1]
    view[row, column] = value
    return view


a, b = pair()
# What the contract of all estimators does not have.
BAD = {
    "no views in a dict": ({}, "no views"),
    "dict in a dict": ({"a": {"x": 1}}, r"'a'\) is of type dict"),
    "one-dimensional alone": (b[:, 0], "reshape"),
    "three-dimensional": ([a, np.zeros((6, 2, 2))], r"view 1 has shape \(6, 2, 2\)"),
    "no samples": ([a[:0], b[:0]], r"view 0 is empty.* 0 sample"),
    "NaN in sparse": ([a, sparse.csr_array(spoiled(np.nan, 4, 1))], "NaN at row 4, column 1"),
    "infinity in a table": (
        [pd.DataFrame({"u": [1, np.inf] * 3, "v": list("abcabc")})],
        "view 0 contains infinity in column 'u'",
    ),
    "huge sparse value": ([a, sparse.csr_array(spoiled(-1e200, 3, 2))], "-1e.200 at row 3, col"),
    "NaN in part of a row": (
        [a, np.vstack([b[:5], [[np.nan, 1, np.nan, 1]]])],
        r"view 1 .*NaN at row 5, column 0.* NaN in the whole row",
    ),
    "ids of another type": (
        {"x": pd.DataFrame(a), "y": pd.DataFrame(b, index=[str(i) for i in range(6)])},
        r"view 0 \('x'\) shares no sample .* like 0, .* like '0'",
    ),
    "masked array": ([a, np.ma.masked_less(b, 0)], "view 1 is a masked array"),
    "only absent views": ([None, None], "all are None"),
    "times": ([pd.DataFrame({"d": pd.timedelta_range(0, periods=6)})], "'d' is of type timed"),
    "text array": ([a, np.array([["x"]] * 6)], "view 1 is not numeric"),
    "object entry": ([a, np.array([[1, "x"]] * 6, dtype=object)], "view 1: column 1 .* text 'x'"),
    "text among numbers": (
        {"rna": pd.DataFrame({"f": [1.0] * 6, "sex": pd.Series(["m", 1.0] * 3, dtype=object)})},
        r"view 0 \('rna'\): column 'sex' .* text 'm'. .*encode",
    ),
    "frames out of order beside arrays": (
        [a, pd.DataFrame(a), pd.DataFrame(b, index=range(6)[::-1])],
        "view 2 and view 1 have different ids in their index, or in another",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_invalid_input_is_refused_before_the_fit(case, monkeypatch):
    views, message = BAD[case]
    # No pass over the data may start.
    monkeypatch.setattr(dalmc, "fit_scalings", None)
    # A container may hold single missing values, which an estimator may impute.
    for function in (MultiViewData, DALMC(2).fit)[case.startswith("NaN") :]:
        with pytest.raises((ValueError, TypeError), match=message):
            function(views)


@given(seed=st.integers(0, 1000), n=st.integers(1, 60), block_rows=st.integers(1, 20))
def test_rows_of_a_block_have_the_same_views(seed, n, block_rows):
    rng = np.random.default_rng(seed)
    available = rng.random((n, 3)) < 0.6
    available[:, 1] |= ~available.any(axis=1)
    data = MultiViewData([np.ones((n, 2))] * 3, available=available)
    seen = []
    for block in data.blocks(block_rows):
        rows = np.arange(n)[block.rows]
        assert len(rows) == block.size <= block_rows
        assert (np.flatnonzero(available[rows[0]]) == block.views).all()
        assert (available[rows] == available[rows[0]]).all()
        seen.extend(rows)
    assert sorted(seen) == list(range(n))


def test_frames_with_different_samples_are_aligned_to_the_union():
    a, b = pair()
    x = pd.DataFrame(a[:4], index=list("abcd"))
    y = pd.DataFrame(b[:4], index=list("dcef"))
    data = MultiViewData({"x": x, "y": y})
    assert list(data.sample_ids) == list("abcdef")
    expected = [[1, 0], [1, 0], [1, 1], [1, 1], [0, 1], [0, 1]]
    np.testing.assert_array_equal(data.available, np.array(expected, bool))
    np.testing.assert_array_equal(data.views[1][3], b[0])
    integers = MultiViewData([x, pd.DataFrame({"u": [1, 2]}, index=list("ae"))])
    assert integers.available.sum() == 6


def test_rows_of_nan_and_masks_say_what_is_missing():
    a, b = pair()
    b[[1, 4]] = np.nan
    data = MultiViewData([a, b])
    assert list(np.flatnonzero(~data.available[:, 1])) == [1, 4]
    assert data.available[:, 0].all()
    assert MultiViewData([a, a]).available is None
    assert data[[0, 2, 3]].available is None
    assert len(data[[0, 1]].groups) == 2
    mask = np.ones((6, 2), bool)
    mask[0, 0] = False
    a[0, 1] = np.inf  # ignored, as the mask says that the sample lacks this view
    data = MultiViewData([a, sparse.csr_array(pair()[1])], available=mask)
    assert [group.views for group in data.groups] == [(0, 1), (1,)]
    assert "view_0: 3 features of 5 samples" in repr(data)
