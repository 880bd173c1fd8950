"""Files of views in every format, and the errors about them, for several test modules."""

import h5py
import numpy as np
import pandas as pd
import pytest
import zarr
from scipy import io, sparse

from anchorview.datasets import DataFileError, convert, open_views, read_views

RNG = np.random.default_rng(1)
TALL = RNG.integers(0, 9, size=(12, 5)).astype(np.uint8)
WIDE = RNG.normal(size=(12, 20)).astype(np.float32)
LABELS = np.repeat([3, 1, 2], 4)
AVAILABLE = np.ones((12, 2), dtype=bool)
AVAILABLE[[0, 5], 0] = AVAILABLE[[3, 4], 1] = False


def error_of(path, reader=read_views):
    """Message of the DataFileError, which must start with the path and have no line breaks."""
    with pytest.raises(DataFileError) as caught:
        reader(path)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert "\n" not in message
    return message


def write_npy_folder(path, **arrays):
    path.mkdir(exist_ok=True)
    for name, array in arrays.items():
        np.save(path / f"{name}.npy", array)
    return path


def write_hdf5(path, **arrays):
    with h5py.File(path, "w") as file:
        for name, array in arrays.items():
            file[name.replace("__", "/")] = array
    return path


def write_zarr(path, **arrays):
    group = zarr.open_group(str(path), mode="w")
    for name, array in arrays.items():
        group.create_array(name.replace("__", "/"), data=np.asarray(array))
    return path


def write_tables(folder, **files):
    """Write CSV texts and Parquet frames under names such as rna_csv and rna_parquet."""
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        path = folder / ".".join(name.rsplit("_", 1))
        if isinstance(content, str):
            path.write_text(content, encoding="utf-8")
        else:
            content.to_parquet(path)
    return folder


def write_view_tables(folder, views, suffix="csv", sample="s{}", **options):
    """Write a table per view, with sample ids and features f0, f1, ...; return the ids."""
    folder.mkdir(exist_ok=True)
    for name, view in views.items():
        ids = pd.Index(map(sample.format, range(len(view))), name="id")
        table = pd.DataFrame(view, ids).add_prefix("f")
        getattr(table, f"to_{suffix}")(folder / f"{name}.{suffix}", **options)
    return ids


def csv_files(frames, folder):
    """The frames as they are read from CSV files, which have all digits."""
    for name, table in frames.items():
        table.to_csv(folder / f"{name}.csv", index_label="id", float_format="%.17g")
    return read_views(folder)


def converted_files(frames, folder):
    """The frames as they are opened after a conversion of CSV files."""
    (folder / "tables").mkdir()
    csv_files(frames, folder / "tables")
    return open_views(convert(folder / "tables", folder / "arrays"))


def frame(array, ids):
    return pd.DataFrame(array, index=ids, columns=[f"f{j}" for j in range(array.shape[1])])


def cell(*items):
    array = np.empty((1, len(items)), dtype=object)
    array[0, :] = items
    return array


def save_matlab5(path, variables, **options):
    cells = {name: cell(*v) if isinstance(v, list) else v for name, v in variables.items()}
    io.savemat(path, cells, **options)
    return path


def save_matlab73(path, variables):
    """Write what MATLAB writes: a header before the HDF5, transposed arrays, references."""
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, value in variables.items():
            if isinstance(value, list):
                cells = [_put(file, f"#refs#/{name}{i}", v).ref for i, v in enumerate(value)]
                node = file.create_dataset(name, (len(value), 1), dtype=h5py.ref_dtype)
                node[:, 0] = cells
                node.attrs["MATLAB_class"] = np.bytes_("cell")
            else:
                _put(file, name, value)
    with path.open("r+b") as stream:
        stream.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM")
    return path


def _put(file, name, value):
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
