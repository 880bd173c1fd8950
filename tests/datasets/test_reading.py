"""Reading of .npz and .mat files: every content, transposed, damaged, too large and hostile."""

import os
import re

import numpy as np
import pytest
from scipy import sparse

from anchorview._utils import memory
from anchorview.datasets import read_views
from helpers.view_files import (
    AVAILABLE,
    LABELS,
    TALL,
    WIDE,
    cell,
    error_of,
    frame,
    save_matlab5,
    save_matlab73,
    write_tables,
)

RNG = np.random.default_rng(0)
SPARSE = sparse.csr_array(np.maximum(RNG.normal(size=(12, 7)) - 0.5, 0))
CELLS = {"X": [TALL, WIDE, SPARSE], "Y": LABELS[:, None].astype(float)}

SAVERS = {
    "npz": lambda path: np.savez_compressed(path, view_0=TALL, view_1=WIDE, y=LABELS),
    "mat": lambda path: save_matlab5(path, CELLS),
    "compressed mat": lambda path: save_matlab5(path, CELLS, do_compression=True),
    "mat 7.3": lambda path: save_matlab73(path, CELLS),
}


@pytest.fixture(params=SAVERS.items(), ids=SAVERS)
def saved(request, tmp_path):
    name, save = request.param
    path = tmp_path / f"data.{'npz' if name == 'npz' else 'mat'}"
    save(path)
    return path


@pytest.fixture
def npz(tmp_path):
    def save(**arrays):
        np.savez(tmp_path / "data.npz", **arrays)
        return tmp_path / "data.npz"

    return save


@pytest.fixture(params=[save_matlab5, save_matlab73], ids=["mat", "mat 7.3"])
def mat(request, tmp_path):
    return lambda variables: request.param(tmp_path / "data.mat", variables)


@pytest.fixture
def mat5(tmp_path):
    return lambda variables: save_matlab5(tmp_path / "data.mat", variables)


def assert_same(found, expected):
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    assert sparse.issparse(found) == sparse.issparse(expected)
    assert abs(found - expected).max() == 0


def test_views_and_labels_are_read(saved):
    data = read_views(saved)
    assert len(data.views) == (2 if saved.suffix == ".npz" else 3)
    for i, expected in enumerate([TALL, WIDE, SPARSE][: len(data.views)]):
        assert_same(data.views[f"view_{i}"], expected)
    np.testing.assert_array_equal(data.target, LABELS)
    assert data.target.dtype == np.int64
    assert data.path == saved
    assert (data.available, data.sample_ids) == (None, None)


def test_npz_views_are_all_matrices_in_native_byte_order(npz):
    half, swapped = WIDE.astype(np.float16), WIDE.astype(">f4")
    path = npz(a=half, b=TALL[:, :1], c=swapped, note="text", weights=np.ones(12))
    with pytest.warns(UserWarning, match=r"ignored: 'note' \(one <U4 .*'weights' \(12 float64 v"):
        data = read_views(path)
    assert list(data.views) == ["a", "b", "c"]
    assert_same(data.views["a"], half)
    assert_same(data.views["c"], WIDE)


SQUARE, SCALAR, NUMBERED = np.ones((12, 12)), np.ones((1, 1)), ["X1", "X2", "X10"]


@pytest.mark.parametrize(
    ("variables", "names"),
    [
        ({"fea": [TALL, WIDE], "graph": SQUARE, "gt": LABELS[None]}, ["view_0", "view_1"]),
        ({"W": [WIDE, WIDE], "X": [TALL]}, ["view_0"]),
        ({"X10": WIDE, "X2": TALL, "X1": TALL[:, :1], "g": SQUARE, "k": SCALAR}, NUMBERED),
        ({"text": WIDE, "image": TALL, "k": SCALAR, "name": "some text"}, ["image", "text"]),
    ],
    ids=["only cell array", "cell array X", "numbered", "named"],
)
def test_matlab_views(mat, variables, names):
    assert list(read_views(mat(variables)).views) == names


@pytest.mark.parametrize("transposed", [False, True])
def test_matlab_sparse_matrices(mat, transposed):
    matrices = {"X1": SPARSE.tocsc(), "X2": sparse.csc_array((12, 4))}
    if transposed:
        matrices = {name: matrix.T.tocsc() for name, matrix in matrices.items()}
    data = read_views(mat({**matrices, "truth": LABELS[:, None]}))
    assert data.views["X1"].format == "csr"
    assert_same(data.views["X1"], SPARSE)
    assert data.views["X2"].shape == (12, 4)
    assert data.views["X2"].nnz == 0


def test_other_matlab_variables_are_ignored(mat5):
    others = {
        "struct": {"a": TALL},
        "texts": cell("one", "two"),
        "nested": cell(cell(TALL), TALL),
        "nothing": cell(),
    }
    assert list(read_views(mat5({**others, "X": [TALL], "y": LABELS})).views) == ["view_0"]


COMPLEX, CUBE = WIDE * 1j, np.ones((2, 3, 4))


@pytest.mark.parametrize(
    ("variables", "name"),
    [
        ({"a": TALL, "b": CUBE}, "b"),
        ({"X1": TALL, "X2": COMPLEX}, "X2"),
        ({"X": [TALL, COMPLEX], "W": [TALL]}, "X"),
    ],
)
def test_other_arrays_among_the_views_of_matlab_are_refused(mat, variables, name):
    assert f"'{name}' holds" in error_of(mat(variables))


@pytest.mark.parametrize(
    "other", [COMPLEX, CUBE, np.array([["a", "b"]] * 12), np.ones((0, 3))], ids=range(4)
)
def test_other_arrays_in_archives_are_refused(npz, other):
    assert "'other' holds" in error_of(npz(a=TALL, other=other))


@pytest.mark.parametrize(
    "name", ["y", "Y", "gt", "truth", "truelabel", "Label", "labels", "TARGET", "gnd"]
)
def test_names_of_labels(npz, name):
    data = read_views(npz(view=TALL, **{name: LABELS[:, None]}))
    np.testing.assert_array_equal(data.target, LABELS)
    assert list(data.views) == ["view"]


@pytest.mark.parametrize("dtype", ["?", "u1", "i4", "f2", "f4", "f8", "g"])
def test_integer_valued_labels_become_integers(npz, dtype):
    target = read_views(npz(view=TALL, y=(LABELS % 2).astype(dtype))).target
    assert target.dtype == np.int64
    np.testing.assert_array_equal(target, LABELS % 2)


INVALID_LABELS = {
    "fractions": LABELS + 0.5,
    "missing": np.where(LABELS == 1, np.nan, 1),
    "infinite": LABELS * np.inf,
    "huge": LABELS * 1e300,
    "complex": LABELS * 1j,
    "one-hot": np.eye(12),
    "empty": np.empty(0),
    "scalar": np.array(3),
}


@pytest.mark.parametrize("labels", INVALID_LABELS.values(), ids=INVALID_LABELS)
def test_invalid_labels_are_refused(npz, labels):
    assert "'y' is named like class labels" in error_of(npz(view=TALL, y=labels))


@pytest.mark.parametrize(
    ("shapes", "labeled", "transposed"),
    [
        ([(12, 5), (12, 20)], True, False),
        ([(5, 12), (20, 12)], True, True),
        ([(5, 12), (20, 12)], False, True),
        ([(12, 12), (20, 12)], True, True),
        ([(12, 12), (12, 12)], True, False),
        ([(5, 12), (5, 12)], True, True),
        ([(5, 12), (5, 12)], False, False),
        ([(5, 12)], False, False),
    ],
)
def test_samples_become_rows_in_matlab_files_only(mat5, npz, shapes, labeled, transposed):
    arrays = {f"view_{i}": RNG.normal(size=shape) for i, shape in enumerate(shapes)}
    labels = {"y": LABELS} if labeled else {}
    for name, view in read_views(mat5(arrays | labels)).views.items():
        assert_same(view, arrays[name].T if transposed else arrays[name])
    if transposed:
        assert "transpose" in error_of(npz(**arrays, **labels))
    else:
        assert_same(read_views(npz(**arrays, **labels)).views["view_0"], arrays["view_0"])


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"a": TALL, "b": WIDE[:11]}, "a 12 x 5, b 11 x 20"),
        # Not transposed, though the numbers of columns are equal.
        ({"a": WIDE, "b": WIDE[1:]}, "a 12 x 20, b 11 x 20"),
        ({"a": TALL, "y": LABELS[:-1]}, "11 class labels"),
    ],
)
def test_different_numbers_of_samples_are_refused(npz, arrays, message):
    assert message in error_of(npz(**arrays))


@pytest.mark.parametrize(
    ("name", "mask"),
    [
        *((name, AVAILABLE) for name in ("available", "MASK", "index", "Ind", "presence")),
        *(("mask", m) for m in (AVAILABLE.T, AVAILABLE.astype("f4"), AVAILABLE.astype("u1"))),
    ],
)
def test_availability(npz, name, mask):
    data = read_views(npz(**{"a": TALL, "b": WIDE, "y": LABELS, name: mask}))
    assert list(data.views) == ["a", "b"]
    np.testing.assert_array_equal(data.available, AVAILABLE)
    assert_same(data.views["b"], WIDE)


@pytest.mark.parametrize("mask", [AVAILABLE[:11], WIDE > 0])
def test_availability_of_another_shape_is_refused(npz, mask):
    assert "'mask' is named like" in error_of(npz(a=TALL, b=WIDE, mask=mask))
    assert "'mask' is named like" in error_of(npz(a=TALL, b=WIDE, ind=AVAILABLE, mask=AVAILABLE))


def test_zero_rows_are_missing_only_if_asked_for(mat5):
    dense, stored = WIDE * AVAILABLE[:, :1], sparse.csr_array(np.ones((12, 4)))
    # Zeros that a sparse matrix stores are zeros too.
    stored.data.reshape(12, 4)[~AVAILABLE[:, 1]] = 0
    assert stored.nnz == 48
    path = mat5({"X": [dense, stored]})
    assert read_views(path).available is None
    np.testing.assert_array_equal(read_views(path, zero_rows_missing=True).available, AVAILABLE)


def test_all_marks_of_missing_rows_are_combined(npz):
    with_nan, with_zeros = WIDE.copy(), np.ones((12, 3), dtype=np.int8)
    # A row that is NaN only in part is not missing.
    with_nan[9], with_nan[7, 0], with_zeros[10] = np.nan, np.nan, 0
    expected = AVAILABLE.copy()
    expected[9, 0] = expected[10, 1] = False
    path = npz(a=with_nan, b=with_zeros, mask=AVAILABLE)
    data = read_views(path, zero_rows_missing=True)
    np.testing.assert_array_equal(data.available, expected)
    np.testing.assert_array_equal(data.views["a"], with_nan)


class Bomb:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (self.path, "w"))


@pytest.mark.parametrize("name", ["view_0", "y"])
def test_pickled_objects_are_never_loaded(npz, tmp_path, name):
    proof = tmp_path / "proof"
    bomb = np.array([[Bomb(str(proof))]], dtype=object)
    message = error_of(npz(allow_pickle=True, view_1=TALL, **{name: bomb}))
    assert f"'{name}'" in message
    assert not proof.exists()


def test_sparse_matrix_with_an_index_out_of_bounds(mat):
    hostile = sparse.csc_array(SPARSE)
    hostile.indices[3] = 2**30
    assert re.search("indices|index", error_of(mat({"X1": hostile})))


BIG = np.zeros((2000, 500))
IDS = [f"s{i}" for i in range(2000)]

LARGE = {
    "npz": lambda path: np.savez_compressed(path / "a.npz", a=BIG) or path / "a.npz",
    "parquet": lambda path: write_tables(path / "a", x_parquet=frame(BIG, IDS)),
    "csv": lambda path: write_tables(path / "a", x_csv=frame(BIG, IDS).to_csv()),
}


@pytest.mark.parametrize("write", LARGE.values(), ids=LARGE)
def test_arrays_that_do_not_fit_into_memory(write, tmp_path, set_constants):
    path = write(tmp_path)
    set_constants(memory, free_memory=lambda: 1e6)
    assert "but 1.0 MB may be used" in error_of(path)


@pytest.mark.parametrize("name", ["a.npz", "folder/a.csv"])
def test_pipes_are_refused(tmp_path, name):
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / name)
    path = tmp_path / name
    assert "pipe" in error_of(path if path.suffix == ".npz" else path.parent)
