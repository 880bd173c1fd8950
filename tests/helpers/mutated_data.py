"""Readers of all formats of data, for :mod:`helpers.mutated_files`."""

import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse

from anchorview import MultiViewData
from anchorview.datasets import open_views, read_views
from anchorview.datasets.reading import find_format
from helpers.mutated_files import Reader
from helpers.view_files import (
    AVAILABLE,
    LABELS,
    TALL,
    WIDE,
    frame,
    save_matlab5,
    save_matlab73,
    write_hdf5,
    write_npy_folder,
    write_tables,
    write_zarr,
)

IDS = [f"s{i}" for i in range(12)]
CELLS = {"X": [TALL, WIDE, sparse.csc_array(TALL)], "Y": LABELS[:, None].astype(float)}
MATLAB = {"name": "data.mat", "variables": CELLS}
ARRAYS = {"a": TALL, "b": np.asfortranarray(WIDE), "y": LABELS, "sample_ids": IDS}


def _written(folder, write, name, **contents):
    return write(folder / name, **contents)


def _npz(folder, save=np.savez):
    save(folder / "data.npz", a=TALL, b=WIDE, y=LABELS, mask=AVAILABLE)
    return folder / "data.npz"


def _chunked_hdf5(folder):
    import h5py

    with h5py.File(folder / "data.hdf5", "w", libver="latest") as file:
        for name, array in {"a": TALL, "b": WIDE}.items():
            how = {"compression": "gzip", "shuffle": True, "maxshape": (None, array.shape[1])}
            file.create_dataset(name, data=array, chunks=(5, array.shape[1]), **how)
        file.create_dataset("y", data=LABELS)
    return folder / "data.hdf5"


def _h5mu(folder):
    import anndata
    import mudata

    values = {"rna": sparse.csr_matrix(WIDE), "protein": TALL.astype(np.float32)}
    cells = pd.DataFrame(index=IDS)
    modalities = {name: anndata.AnnData(x, obs=cells) for name, x in values.items()}
    with warnings.catch_warnings():
        # Announcements of changes in mudata.
        warnings.simplefilter("ignore")
        mdata = mudata.MuData(modalities)
        mdata.obs["y"] = LABELS
        mdata.write(folder / "data.h5mu")
    return folder / "data.h5mu"


def _h5ad(folder):
    import anndata

    adata = anndata.AnnData(sparse.csr_matrix(WIDE), obs=pd.DataFrame({"y": LABELS}, index=IDS))
    adata.write_h5ad(folder / "data.h5ad")
    return folder / "data.h5ad"


def _tables(folder, suffix):
    tables = {"a": frame(TALL, IDS), "b": frame(WIDE, IDS), "y": frame(LABELS[:, None], IDS)}
    if suffix == "parquet":
        return write_tables(folder / "data", **{f"{n}_parquet": t for n, t in tables.items()})
    texts = {f"{name}_csv": table.to_csv() for name, table in tables.items()}
    return write_tables(folder / "data", **texts)


def _workbook(folder):
    with pd.ExcelWriter(folder / "data.xlsx") as writer:
        for name, table in {"a": frame(TALL, IDS), "y": frame(LABELS[:, None], IDS)}.items():
            table.to_excel(writer, sheet_name=name)
    return folder / "data.xlsx"


def _parquet_file(folder):
    frame(TALL, IDS).to_parquet(folder / "data.parquet")
    return folder / "data.parquet"


def _read(path):
    file = read_views(path)
    data = MultiViewData(file.views, available=file.available)
    n_samples = len(data)
    assert all(view.shape[0] == n_samples and view.shape[1] > 0 for view in data.views)
    assert file.target is None or file.target.shape == (n_samples,)
    assert file.sample_ids is None or len(file.sample_ids) == n_samples
    assert file.available is None or file.available.shape == (n_samples, len(file.views))


def _open(path):
    file = open_views(path)
    for view in file.views.values():
        rows = view[: view.shape[0]]
        assert rows.shape == view.shape
    assert len({view.shape[0] for view in file.views.values()}) == 1


WRITERS = {
    "npz": _npz,
    "compressed npz": partial(_npz, save=np.savez_compressed),
    "MATLAB 5": partial(_written, write=save_matlab5, **MATLAB),
    "MATLAB 7.3": partial(_written, write=save_matlab73, **MATLAB),
    "HDF5": partial(_written, write=write_hdf5, name="data.h5", rna__x=TALL, b=WIDE, y=LABELS),
    "chunked HDF5": _chunked_hdf5,
    "h5mu": _h5mu,
    "h5ad": _h5ad,
    "Zarr": partial(_written, write=write_zarr, name="data.zarr", rna__x=TALL, b=WIDE, y=LABELS),
    "npy folder": partial(_written, write=write_npy_folder, name="data", **ARRAYS),
    "CSV folder": partial(_tables, suffix="csv"),
    "Parquet folder": partial(_tables, suffix="parquet"),
    "Parquet file": _parquet_file,
    "Excel": _workbook,
}
"""Functions that write views into a folder in every format."""

OPENED = ("MATLAB 7.3", "HDF5", "chunked HDF5", "Zarr", "npy folder", "Parquet folder")

READ = WRITERS.keys() - {"h5mu", "h5ad", "MATLAB 5"}
"""HDF5 itself does not return from some damaged strings, which the first two have always, and SciPy
trusts the types of numbers that the last one declares."""

DATA_READERS = (
    *(Reader(name, WRITERS[name], _read, (ValueError,)) for name in WRITERS if name in READ),
    *(Reader(f"opened {name}", WRITERS[name], _open, (ValueError,)) for name in OPENED),
)
"""Reading and opening of every format. DataFileError is a ValueError, as are those about values."""


def formats_written(folder: Path) -> set[str]:
    """Names in the table of formats of all that the writers write."""
    names = set()
    for number, write in enumerate(WRITERS.values()):
        place = folder / str(number)
        place.mkdir()
        names.add(find_format(write(place)).name)
    return names
