"""Files of views: real files of every kind, transposed, damaged and hostile."""

import pickle
import struct
import sys
import zipfile

import h5py
import numpy as np
import pytest
from scipy import io, sparse

from anchorview import MultiViewData
from anchorview.datasets import DataFileError, ViewFile, read_views

RNG = np.random.default_rng(0)
TALL = RNG.integers(0, 9, size=(12, 5)).astype(np.uint8)
WIDE = RNG.normal(size=(12, 20)).astype(np.float32)
SPARSE = sparse.csr_array(np.maximum(RNG.normal(size=(12, 7)) - 0.5, 0))
LABELS = np.repeat([3, 1, 2], 4)


def cell(*items):
    array = np.empty((1, len(items)), dtype=object)
    array[0, :] = items
    return array


def save_matlab73(path, variables):
    """Write what MATLAB writes: header in the user block, transposed arrays, references."""
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, value in variables.items():
            if isinstance(value, list):
                references = [put(file, f"#refs#/{name}{i}", v).ref for i, v in enumerate(value)]
                node = file.create_dataset(name, (len(value), 1), dtype=h5py.ref_dtype)
                node[:, 0] = references
                node.attrs["MATLAB_class"] = np.bytes_("cell")
            else:
                put(file, name, value)
    header = b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM"
    with path.open("r+b") as stream:
        stream.write(header)


def put(file, name, value):
    if sparse.issparse(value):
        columns = value.tocsc()
        node = file.create_group(name)
        node.attrs["MATLAB_sparse"] = np.uint64(columns.shape[0])
        node["jc"] = columns.indptr.astype(np.uint64)
        if columns.nnz:
            node["ir"] = columns.indices.astype(np.uint64)
            node["data"] = columns.data
    elif isinstance(value, str):
        node = file.create_dataset(name, data=np.array([[ord(c)] for c in value], np.uint16))
        node.attrs["MATLAB_class"] = np.bytes_("char")
    elif value.size == 0:
        node = file.create_dataset(name, data=np.array(value.shape, np.uint64))
        node.attrs["MATLAB_empty"] = np.uint8(1)
    else:
        node = file.create_dataset(name, data=value.T)
    node.attrs.setdefault("MATLAB_class", np.bytes_("double"))
    return node


def save_npz(path):
    np.savez_compressed(path, view_0=TALL, view_1=WIDE, y=LABELS)


def save_matlab(path):
    io.savemat(path, {"X": cell(TALL, WIDE, SPARSE), "Y": LABELS[:, None]}, do_compression=True)


def save_plain_matlab(path):
    io.savemat(path, {"X": cell(TALL, WIDE, SPARSE), "Y": LABELS[:, None]})


def save_example73(path):
    save_matlab73(path, {"X": [TALL, WIDE, SPARSE], "Y": LABELS[:, None].astype(float)})


SAVERS = {
    "npz": (save_npz, "data.npz"),
    "mat": (save_plain_matlab, "data.mat"),
    "compressed mat": (save_matlab, "data.mat"),
    "mat 7.3": (save_example73, "data.mat"),
}


@pytest.fixture(params=SAVERS.values(), ids=SAVERS)
def saved(request, tmp_path):
    save, name = request.param
    save(tmp_path / name)
    return tmp_path / name


def assert_same(found, expected):
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    assert sparse.issparse(found) == sparse.issparse(expected)
    assert abs(found - expected).max() == 0


def error_of(path):
    with pytest.raises(DataFileError) as caught:
        read_views(path)
    message = str(caught.value)
    assert str(path) in message
    assert "\n" not in message
    return message


# What each kind of file holds comes back.


def test_views_and_labels_come_back(saved):
    data = read_views(saved)
    for found, expected in zip(data.views.values(), [TALL, WIDE, SPARSE], strict=False):
        assert_same(found, expected)
    assert list(data.views) == [f"view_{i}" for i in range(len(data.views))]
    assert len(data.views) == (2 if saved.suffix == ".npz" else 3)
    np.testing.assert_array_equal(data.target, LABELS)
    assert data.target.dtype == np.int64
    assert data.path == saved


def test_path_may_be_text_and_its_case_is_free(tmp_path):
    save_npz(tmp_path / "data.npz")
    (tmp_path / "data.npz").rename(tmp_path / "DATA.NPZ")
    assert isinstance(read_views(str(tmp_path / "DATA.NPZ")), ViewFile)


def test_npz_views_are_in_natural_order(tmp_path):
    names = [f"view_{i}" for i in range(11)]
    arrays = {name: np.full((3, 2), i) for i, name in enumerate(names)}
    np.savez(tmp_path / "data.npz", **dict(sorted(arrays.items())))
    data = read_views(tmp_path / "data.npz")
    assert list(data.views) == names
    assert data.target is None


def test_npz_keeps_only_matrices(tmp_path):
    half = WIDE.astype(np.float16)
    np.savez(tmp_path / "data.npz", a=half, b=TALL[:, :1], note="text", weights=np.ones(12))
    data = read_views(tmp_path / "data.npz")
    assert list(data.views) == ["a", "b"]
    assert_same(data.views["a"], half)


def test_numbers_come_in_native_byte_order(tmp_path):
    np.savez(tmp_path / "data.npz", a=WIDE.astype(">f4"))
    assert_same(read_views(tmp_path / "data.npz").views["a"], WIDE)


def save_matlab5(path, variables):
    cells = {name: cell(*v) if isinstance(v, list) else v for name, v in variables.items()}
    io.savemat(path, cells)


@pytest.mark.parametrize("save", [save_matlab5, save_matlab73], ids=["mat", "mat 7.3"])
class TestMatlab:
    def test_any_name_of_the_only_cell_of_matrices(self, save, tmp_path):
        path = tmp_path / "data.mat"
        save(path, {"fea": [TALL, WIDE], "graph": np.ones((12, 12)), "gt": LABELS[None, :]})
        assert list(read_views(path).views) == ["view_0", "view_1"]

    def test_cell_named_x_goes_first(self, save, tmp_path):
        path = tmp_path / "data.mat"
        save(path, {"W": [WIDE], "X": [TALL]})
        assert_same(read_views(path).views["view_0"], TALL)

    def test_several_cells_are_refused(self, save, tmp_path):
        path = tmp_path / "data.mat"
        save(path, {"A": [TALL], "B": [WIDE]})
        assert "several cell arrays of matrices: 'A', 'B'" in error_of(path)

    def test_numbered_matrices(self, save, tmp_path):
        path = tmp_path / "data.mat"
        others = {"graph": np.ones((12, 12)), "k": np.ones((1, 1)), "label": LABELS[:, None]}
        save(path, {"X10": WIDE, "X2": TALL, "X1": TALL[:, :1], **others})
        assert list(read_views(path).views) == ["X1", "X2", "X10"]

    def test_named_matrices(self, save, tmp_path):
        path = tmp_path / "data.mat"
        save(path, {"text": WIDE, "image": TALL, "k": np.ones((1, 1)), "name": "some text"})
        assert list(read_views(path).views) == ["image", "text"]

    def test_sparse_matrices(self, save, tmp_path):
        path = tmp_path / "data.mat"
        empty = sparse.csc_array((12, 4))
        save(path, {"X1": SPARSE, "X2": empty, "truth": LABELS[:, None]})
        data = read_views(path)
        assert data.views["X1"].format == "csr"
        assert_same(data.views["X1"], SPARSE)
        assert data.views["X2"].shape == (12, 4)
        assert data.views["X2"].nnz == 0

    def test_sparse_samples_in_columns(self, save, tmp_path):
        path = tmp_path / "data.mat"
        save(path, {"X1": SPARSE.T.tocsc(), "X2": WIDE.T, "truth": LABELS[:, None]})
        data = read_views(path)
        assert data.views["X1"].format == "csr"
        assert_same(data.views["X1"], SPARSE)

    def test_labels_repeated_for_each_view(self, save, tmp_path):
        path = tmp_path / "data.mat"
        copies = [LABELS[None, :], LABELS[None, :].astype(float)]
        save(path, {"truelabel": copies, "X1": TALL})
        np.testing.assert_array_equal(read_views(path).target, LABELS)

    def test_labels_that_differ_between_views_are_refused(self, save, tmp_path):
        path = tmp_path / "data.mat"
        save(path, {"truelabel": [LABELS[None, :], LABELS[None, ::-1]], "X1": TALL})
        assert "'truelabel' is named like labels but is not one vector" in error_of(path)

    def test_without_views(self, save, tmp_path):
        path = tmp_path / "data.mat"
        save(path, {"note": "some text", "k": np.ones((1, 1)), "none": np.empty((0, 3))})
        message = error_of(path)
        assert "no views inside" in message
        assert "'note'" in message


def test_what_is_not_a_matrix_is_passed_over(tmp_path):
    others = {
        "complex": WIDE * 1j,
        "cube": np.ones((2, 3, 4)),
        "struct": {"a": TALL},
        "texts": cell("one", "two"),
        "nested": cell(cell(TALL), TALL),
        "nothing": cell(),
    }
    io.savemat(tmp_path / "data.mat", {**others, "X": cell(TALL), "y": LABELS})
    assert list(read_views(tmp_path / "data.mat").views) == ["view_0"]


@pytest.mark.parametrize(
    "dtype", [bool, "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"]
)
def test_matlab_keeps_every_number_type(tmp_path, dtype):
    matrix = (WIDE > 0).astype(dtype)
    io.savemat(tmp_path / "data.mat", {"X1": matrix})
    found = read_views(tmp_path / "data.mat").views["X1"]
    assert found.dtype == matrix.dtype
    np.testing.assert_array_equal(found, matrix)
    assert found.flags.writeable


def save_elements(path, order, flags, *elements):
    """Write one variable X1 element by element, as MATLAB does and SciPy does not."""

    def element(kind, content):
        tag = struct.pack(f"{order}II", kind, len(content))
        return tag + content + bytes(-len(content) % 8)

    array = element(6, struct.pack(f"{order}II", flags, 0))
    array += element(5, struct.pack(f"{order}ii", 2, 3))
    array += struct.pack(f"{order}I", 2 << 16 | 1) + b"X1\0\0"
    array += b"".join(element(kind, numbers.tobytes()) for kind, numbers in elements)
    version = {"<": b"\x00\x01IM", ">": b"\x01\x00MI"}[order]
    path.write_bytes(b"MATLAB 5.0 MAT-file".ljust(124) + version + element(14, array))


def test_big_endian_matlab(tmp_path):
    save_elements(tmp_path / "data.mat", ">", 6, (9, np.arange(6, dtype=">f8")))
    found = read_views(tmp_path / "data.mat").views["X1"]
    assert_same(found, np.arange(6.0).reshape(3, 2).T)


def test_whole_doubles_of_matlab_are_doubles(tmp_path):
    # MATLAB packs them into the smallest integers that hold them.
    save_elements(tmp_path / "data.mat", "<", 6, (2, np.arange(6, dtype="u1")))
    found = read_views(tmp_path / "data.mat").views["X1"]
    assert_same(found, np.arange(6.0).reshape(3, 2).T)


@pytest.mark.parametrize("kind", [2, 9])
def test_logical_sparse_matrices_of_matlab_hold_bytes(tmp_path, kind):
    # MATLAB says doubles (9) here, and reserves room for more rows than there are entries.
    rows, starts = np.array([0, 1, 0, 0], "<i4"), np.array([0, 1, 1, 2], "<i4")
    values = (kind, np.ones(2, dtype="u1"))
    save_elements(tmp_path / "data.mat", "<", 0x205, (5, rows), (5, starts), values)
    found = read_views(tmp_path / "data.mat").views["X1"]
    assert found.dtype == bool
    np.testing.assert_array_equal(found.toarray(), [[1, 0, 0], [0, 0, 1]])


def test_matlab_4_is_refused(tmp_path):
    io.savemat(tmp_path / "data.mat", {"X1": WIDE}, format="4")
    assert "no header of a MATLAB 5 to 7.3 file" in error_of(tmp_path / "data.mat")


def test_half_precision_in_matlab73(tmp_path):
    half = WIDE.astype(np.float16)
    save_matlab73(tmp_path / "data.mat", {"X": [half]})
    assert_same(read_views(tmp_path / "data.mat").views["view_0"], half)


def test_hdf5_is_recognized_without_a_user_block(tmp_path):
    with h5py.File(tmp_path / "data.mat", "w") as file:
        file["X1"] = WIDE.T
    assert_same(read_views(tmp_path / "data.mat").views["X1"], WIDE)


def test_matlab73_without_h5py(tmp_path, monkeypatch):
    save_example73(tmp_path / "data.mat")
    monkeypatch.setitem(sys.modules, "h5py", None)
    monkeypatch.delitem(sys.modules, "anchorview.datasets.formats.matlab73", raising=False)
    with pytest.raises(ImportError, match=r'pip install "anchorview\[hdf5\]"'):
        read_views(tmp_path / "data.mat")
    error_of(tmp_path / "data.mat")


# Labels.


@pytest.mark.parametrize(
    "name", ["y", "Y", "gt", "truth", "truelabel", "Label", "labels", "TARGET", "gnd"]
)
def test_names_of_labels(tmp_path, name):
    np.savez(tmp_path / "data.npz", view=TALL, **{name: LABELS[:, None]})
    data = read_views(tmp_path / "data.npz")
    np.testing.assert_array_equal(data.target, LABELS)
    assert list(data.views) == ["view"]


@pytest.mark.parametrize(
    "dtype", [bool, np.uint8, np.int32, np.float16, np.float32, np.float64, np.longdouble]
)
def test_whole_labels_become_integers(tmp_path, dtype):
    labels = (LABELS % 2).astype(dtype)
    np.savez(tmp_path / "data.npz", view=TALL, y=labels)
    target = read_views(tmp_path / "data.npz").target
    assert target.dtype == np.int64
    np.testing.assert_array_equal(target, LABELS % 2)


def test_labels_may_be_strings(tmp_path):
    labels = np.array(["cat", "dog", "bird"])[LABELS - 1]
    np.savez(tmp_path / "data.npz", view=TALL, y=labels)
    np.testing.assert_array_equal(read_views(tmp_path / "data.npz").target, labels)


@pytest.mark.parametrize(
    "labels",
    [
        pytest.param(LABELS + 0.5, id="fractions"),
        pytest.param(np.where(LABELS == 1, np.nan, 1), id="missing"),
        pytest.param(LABELS * np.inf, id="infinite"),
        pytest.param(LABELS * 1e300, id="huge"),
        pytest.param(LABELS * 1j, id="complex"),
        pytest.param(np.eye(12), id="one-hot"),
        pytest.param(np.empty(0), id="empty"),
        pytest.param(np.array(3), id="scalar"),
    ],
)
def test_what_cannot_be_labels_is_refused(tmp_path, labels):
    np.savez(tmp_path / "data.npz", view=TALL, y=labels)
    assert "'y' is named like labels but is not one vector" in error_of(tmp_path / "data.npz")


def test_first_vector_with_a_name_of_labels_counts(tmp_path):
    np.savez(tmp_path / "data.npz", view=TALL, Y=np.eye(12), gt=LABELS)
    data = read_views(tmp_path / "data.npz")
    np.testing.assert_array_equal(data.target, LABELS)
    assert list(data.views) == ["view"]


# Samples in rows or columns.


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
def test_samples_become_rows(tmp_path, shapes, labeled, transposed):
    arrays = {f"view_{i}": RNG.normal(size=shape) for i, shape in enumerate(shapes)}
    np.savez(tmp_path / "data.npz", **arrays, **({"y": LABELS} if labeled else {}))
    for name, view in read_views(tmp_path / "data.npz").views.items():
        assert_same(view, arrays[name].T if transposed else arrays[name])


def test_views_with_other_numbers_of_samples(tmp_path):
    np.savez(tmp_path / "data.npz", a=TALL, b=WIDE[:11], y=LABELS)
    message = error_of(tmp_path / "data.npz")
    assert "differ in their number of samples: a 12 x 5, b 11 x 20" in message


def test_labels_of_another_length(tmp_path):
    np.savez(tmp_path / "data.npz", a=TALL, b=WIDE, y=LABELS[:-1])
    assert "11 labels do not fit the views: a 12 x 5, b 12 x 20" in error_of(tmp_path / "data.npz")


# Samples that lack views.

MASK = np.ones((12, 2), dtype=bool)
MASK[[0, 5], 0] = MASK[[3, 4], 1] = False


def test_complete_views_have_no_mask(saved):
    data = read_views(saved)
    assert data.available is None
    assert data.sample_ids is None


@pytest.mark.parametrize(
    "name", ["available", "availability", "MASK", "index", "Ind", "indicator", "presence"]
)
def test_names_of_masks(tmp_path, name):
    np.savez(tmp_path / "data.npz", a=TALL, b=WIDE, y=LABELS, **{name: MASK})
    data = read_views(tmp_path / "data.npz")
    assert list(data.views) == ["a", "b"]
    np.testing.assert_array_equal(data.available, MASK)
    assert data.available.dtype == bool
    assert_same(data.views["a"], TALL)


@pytest.mark.parametrize(
    "mask",
    [
        pytest.param(MASK.T, id="transposed"),
        pytest.param(MASK.astype(np.float32), id="float"),
        pytest.param(MASK.astype(np.uint8), id="integer"),
    ],
)
def test_forms_of_masks(tmp_path, mask):
    np.savez(tmp_path / "data.npz", a=TALL, b=WIDE, mask=mask)
    np.testing.assert_array_equal(read_views(tmp_path / "data.npz").available, MASK)


def test_mask_of_ones_is_none(tmp_path):
    np.savez(tmp_path / "data.npz", a=TALL, b=WIDE, mask=np.ones_like(MASK))
    data = read_views(tmp_path / "data.npz")
    assert data.available is None
    assert list(data.views) == ["a", "b"]


def test_mask_and_views_with_samples_in_columns(tmp_path):
    np.savez(tmp_path / "data.npz", a=TALL.T, b=WIDE.T, y=LABELS, mask=MASK.T)
    data = read_views(tmp_path / "data.npz")
    assert_same(data.views["b"], WIDE)
    np.testing.assert_array_equal(data.available, MASK)


@pytest.mark.parametrize("save", [save_matlab5, save_matlab73], ids=["mat", "mat 7.3"])
@pytest.mark.parametrize("form", [np.asarray, np.transpose, sparse.csc_array])
def test_masks_in_matlab(tmp_path, save, form):
    mask = form(MASK.astype(float))
    save(tmp_path / "data.mat", {"X": [TALL, WIDE], "Y": LABELS[:, None], "index": mask})
    np.testing.assert_array_equal(read_views(tmp_path / "data.mat").available, MASK)


def test_matlab_vectors_are_no_masks(tmp_path):
    order, some = np.arange(12.0)[None, :], MASK[:, :1].astype(float)
    save_matlab5(tmp_path / "data.mat", {"X": [TALL, WIDE], "ind": order, "index": some})
    assert read_views(tmp_path / "data.mat").available is None


@pytest.mark.parametrize(
    "index",
    [
        pytest.param(WIDE[:, :2], id="not binary"),
        pytest.param((WIDE > 0).astype(np.uint8), id="not as wide as there are views"),
    ],
)
def test_view_with_the_name_of_a_mask(tmp_path, index):
    np.savez(tmp_path / "data.npz", a=TALL, index=index, z=WIDE)
    data = read_views(tmp_path / "data.npz")
    assert list(data.views) == ["a", "index", "z"]
    assert_same(data.views["index"], index)
    assert data.available is None


def test_only_view_with_the_name_of_a_mask(tmp_path):
    np.savez(tmp_path / "data.npz", mask=MASK)
    assert_same(read_views(tmp_path / "data.npz").views["mask"].astype(int), MASK.astype(int))


def test_mask_beside_a_view_with_the_name_of_a_mask(tmp_path):
    np.savez(tmp_path / "data.npz", a=TALL, index=WIDE, mask=MASK)
    data = read_views(tmp_path / "data.npz")
    assert list(data.views) == ["a", "index"]
    np.testing.assert_array_equal(data.available, MASK)


def test_mask_that_leaves_out_a_view_with_the_name_of_a_mask(tmp_path):
    np.savez(tmp_path / "data.npz", a=TALL, b=WIDE, index=WIDE > 0, mask=MASK)
    assert "'mask' is named like an index" in error_of(tmp_path / "data.npz")
    assert "12 x 3" in error_of(tmp_path / "data.npz")


@pytest.mark.parametrize("mask", [MASK[:11], np.ones((1, 7)), MASK[:5].T])
def test_binary_mask_of_another_shape(tmp_path, mask):
    np.savez(tmp_path / "data.npz", a=TALL, b=WIDE, mask=mask)
    message = error_of(tmp_path / "data.npz")
    assert "'mask' is named like an index of which samples have which views" in message
    assert "is not 12 x 2 (samples x views) of zeros and ones" in message


@pytest.mark.parametrize(
    "mask",
    [
        pytest.param(MASK + 1.0, id="not binary"),
        pytest.param(np.where(MASK, 1.0, np.nan), id="NaN"),
        pytest.param(MASK[:, [0, 1, 1]].astype(float), id="too wide"),
        pytest.param(MASK[:7].astype(float), id="too short"),
    ],
)
def test_what_is_nearly_a_mask_beside_a_cell_of_views(tmp_path, mask):
    save_matlab5(tmp_path / "data.mat", {"X": [TALL, WIDE], "index": mask})
    assert "'index' is named like an index" in error_of(tmp_path / "data.mat")


def test_what_is_nothing_like_a_mask_beside_a_cell_of_views(tmp_path):
    save_matlab5(tmp_path / "data.mat", {"X": [TALL, WIDE], "index": WIDE})
    assert read_views(tmp_path / "data.mat").available is None


def test_several_masks(tmp_path):
    np.savez(tmp_path / "data.npz", a=TALL, b=WIDE, mask=MASK, index=~MASK)
    assert "'mask' and 'index' all look like" in error_of(tmp_path / "data.npz")


def test_zero_rows_count_only_if_asked(tmp_path):
    dense, stored = WIDE * MASK[:, :1], sparse.csr_array(np.ones((12, 4)))
    # Stored zeros are zeros too.
    stored.data.reshape(12, 4)[~MASK[:, 1]] = 0
    assert stored.nnz == 48
    save_matlab5(tmp_path / "data.mat", {"X": [dense, stored]})
    assert read_views(tmp_path / "data.mat").available is None
    data = read_views(tmp_path / "data.mat", zero_rows_missing=True)
    np.testing.assert_array_equal(data.available, MASK)


def test_rows_of_nan_stay_and_are_marked(tmp_path):
    gappy = np.where(MASK[:, :1], WIDE, np.nan)
    gappy[7, 0] = np.nan
    np.savez(tmp_path / "data.npz", a=gappy, b=TALL)
    data = read_views(tmp_path / "data.npz")
    np.testing.assert_array_equal(data.views["a"], gappy)
    np.testing.assert_array_equal(data.available, MASK | [False, True])


def test_all_signs_of_missing_add_up(tmp_path):
    gappy, zero = WIDE.copy(), np.ones((12, 3), dtype=np.int8)
    gappy[9], zero[10] = np.nan, 0
    np.savez(tmp_path / "data.npz", a=gappy, b=zero, mask=MASK)
    expected = MASK.copy()
    expected[9, 0] = expected[10, 1] = False
    data = read_views(tmp_path / "data.npz", zero_rows_missing=True)
    np.testing.assert_array_equal(data.available, expected)


@pytest.mark.parametrize("form", [np.asarray, sparse.csc_array])
def test_incomplete_views_become_multiview_data(tmp_path, form):
    save_matlab5(tmp_path / "data.mat", {"X": [form(TALL), WIDE], "mask": MASK.astype(float)})
    file = read_views(tmp_path / "data.mat")
    data = MultiViewData(file.views, available=file.available)
    np.testing.assert_array_equal(data.available, MASK)


# What is not a file of views.


def test_missing_file(tmp_path):
    assert "no such file" in error_of(tmp_path / "none.npz")


@pytest.mark.parametrize("name", ["data.txt", "data"])
def test_unknown_type(tmp_path, name):
    (tmp_path / name).write_text("1,2\n3,4\n")
    assert "unknown file type" in error_of(tmp_path / name)


@pytest.mark.parametrize("name", ["data.csv", "data.PARQUET"])
def test_single_table(tmp_path, name):
    (tmp_path / name).write_text("id,a\n1,2\n")
    assert "into a folder" in error_of(tmp_path / name)


def test_single_modality(tmp_path):
    (tmp_path / "data.h5ad").touch()
    assert "save that as .h5mu" in error_of(tmp_path / "data.h5ad")


@pytest.mark.parametrize("name", ["data.npz", "data.mat"])
@pytest.mark.parametrize("content", [b"", b"1,2\n3,4\n", bytes(1000), bytes(range(256)) * 8])
def test_other_content(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    error_of(tmp_path / name)


def test_single_array_named_npz(tmp_path):
    with (tmp_path / "data.npz").open("wb") as stream:
        np.save(stream, TALL)
    assert "numpy.savez" in error_of(tmp_path / "data.npz")


def test_archive_without_views(tmp_path):
    np.savez(tmp_path / "data.npz", y=LABELS, note="text")
    assert "no views inside, only 'y', 'note'" in error_of(tmp_path / "data.npz")


def test_archive_of_other_files(tmp_path):
    with zipfile.ZipFile(tmp_path / "data.npz", "w") as archive:
        archive.writestr("readme.txt", "hello")
    assert "no views inside" in error_of(tmp_path / "data.npz")


# Hostile and damaged files.


class Bomb:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (self.path, "w"))


@pytest.mark.parametrize("name", ["view_0", "y"])
def test_pickled_objects_are_never_run(tmp_path, name):
    proof = tmp_path / "proof"
    np.savez(
        tmp_path / "data.npz",
        allow_pickle=True,
        view_1=TALL,
        **{name: np.array([[Bomb(str(proof))]], dtype=object)},
    )
    message = error_of(tmp_path / "data.npz")
    assert f"'{name}'" in message
    assert "pickled objects are never loaded" in message
    assert not proof.exists()


@pytest.mark.parametrize("name", ["data.npz", "data.mat"])
def test_bare_pickle_is_never_run(tmp_path, name):
    proof = tmp_path / "proof"
    (tmp_path / name).write_bytes(pickle.dumps(Bomb(str(proof))).ljust(200))
    error_of(tmp_path / name)
    assert not proof.exists()


def test_array_that_claims_more_than_memory(tmp_path):
    path = tmp_path / "data.npz"
    header = {"descr": "<f8", "fortran_order": False, "shape": (2**31, 2**28)}
    with zipfile.ZipFile(path, "w") as archive, archive.open("a.npy", "w") as stream:
        np.lib.format.write_array_header_1_0(stream, header)
    assert "memory" in error_of(path)


def test_array_with_a_suspiciously_long_header(tmp_path):
    with zipfile.ZipFile(tmp_path / "data.npz", "w") as archive:
        archive.writestr("a.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", 60000) + b" " * 60000)
    assert "'a' cannot be read" in error_of(tmp_path / "data.npz")


@pytest.mark.parametrize("save", [io.savemat, save_matlab73], ids=["mat", "mat 7.3"])
def test_sparse_matrix_with_an_index_out_of_bounds(tmp_path, save):
    hostile = sparse.csc_array(SPARSE)
    hostile.indices[3] = 2**30
    save(tmp_path / "data.mat", {"X1": hostile})
    assert "indices" in error_of(tmp_path / "data.mat")


def test_truncated_file(saved):
    whole = saved.read_bytes()
    lengths = np.linspace(0, len(whole) - 1, 60).astype(int)
    for length in [*lengths, 1, 7, 127, 128, 129, 511, 512, 520]:
        saved.write_bytes(whole[:length])
        if saved.suffix == ".npz":
            error_of(saved)
        else:
            read_or_refuse(saved)


def test_flipped_bytes(saved):
    whole = saved.read_bytes()
    rng = np.random.default_rng(0)
    for position in rng.integers(len(whole), size=150):
        damaged = bytearray(whole)
        damaged[position] ^= int(rng.integers(1, 256))
        saved.write_bytes(damaged)
        read_or_refuse(saved)


def read_or_refuse(path):
    """Read the file into sound views, or refuse it with the one type of error."""
    try:
        data = read_views(path)
    except DataFileError as error:
        assert "\n" not in str(error)
    else:
        assert len({view.shape[0] for view in data.views.values()}) == 1
        assert all(view.ndim == 2 for view in data.views.values())
