"""Files of AnnData and MuData objects (HDF5): what they hold, and matrices that stay on disk.

The layout is the one that the anndata package documents. Needs h5py.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from anchorview._utils.errors import optional_import
from anchorview._utils.linalg import canonical_csr
from anchorview._utils.memory import require_memory
from anchorview._utils.typing import Array, Matrix
from anchorview.views.stored_view import StoredView
from anchorview.views.table_columns import stacked

MAX_GAP = 64
"""Rows that are read although they are not needed, rather than to begin another read."""

MATRIX_ENCODINGS = ("array", "csr_matrix", "csc_matrix")
"""Encodings of elements that are matrices; a file may have tables and others beside them."""


def _open(path: Path) -> Any:
    return optional_import("h5py", "HDF5 files", "hdf5").File(path, "r")


@dataclass(frozen=True, eq=False)
class StoredMatrix(StoredView):
    """A 2-D dataset, or a group with the datasets of a CSR matrix; rows are samples."""

    key: str
    in_columns: bool = False
    """Whether samples are the columns of the dataset instead."""

    @property
    def T(self) -> "StoredMatrix":
        """The view with samples and features exchanged."""
        with _open(self.path) as file:
            return view_of_dataset(file[self.key], not self.in_columns)

    def _read(self, start: int, stop: int) -> Any:
        # Opened for each read: an open file can neither be pickled nor survive a fork.
        with _open(self.path) as file:
            node = file[self.key]
            if not self.is_sparse:
                return node[:, start:stop].T if self.in_columns else node[start:stop]
            bounds = np.asarray(node["indptr"][start : stop + 1], dtype=np.int64)
            entries = slice(int(bounds[0]), int(bounds[-1]))
            data = np.asarray(node["data"][entries], dtype=self.dtype)
            columns = np.asarray(node["indices"][entries])
        bounds = bounds - bounds[0]
        _require_csr(bounds, columns, self.shape[1])
        shape = (stop - start, self.shape[1])
        index = np.int32 if max(len(data), shape[1]) < 2**31 else np.int64
        parts = (data, columns.astype(index, copy=False), bounds.astype(index, copy=False))
        return canonical_csr(sparse.csr_array(parts, shape=shape))


def _require_csr(bounds: Array, columns: Array, width: int) -> None:
    """Raise if a file does not hold the rows of a CSR matrix: SciPy would read outside of it."""
    if (np.diff(bounds) < 0).any() or bounds[-1] != len(columns):
        raise ValueError("the bounds of its rows are not ascending")
    if len(columns) and not 0 <= columns.min() <= columns.max() < width:
        raise ValueError(f"an entry is outside of the {width} columns")


@dataclass(frozen=True, eq=False)
class SelectedView(StoredView):
    """Rows and columns of another view on disk; row -1 is a sample that the view lacks."""

    base: StoredView
    rows: NDArray[np.intp] | None
    columns: NDArray[np.intp] | None

    def _read(self, start: int, stop: int) -> Matrix:
        """Rows from `start` to `stop` of the selection; what the view lacks is zero."""
        if self.rows is None:
            return self._of_columns(self.base[start:stop])
        wanted = self.rows[start:stop]
        present = wanted >= 0
        needed, place = np.unique(wanted[present], return_inverse=True)
        position = np.full(len(wanted), -1)
        position[present] = place
        return rows_or_zeros(self._of_columns(_read_rows(self.base, needed)), position)

    def _of_columns(self, block: Matrix) -> Matrix:
        return block if self.columns is None else block[:, self.columns]


def rows_or_zeros(matrix: Matrix, rows: NDArray[np.intp]) -> Matrix:
    """Rows of an array or a CSR matrix; those of -1, which is the last one here, are zero."""
    zeros: Any = sparse.csr_array if sparse.issparse(matrix) else np.zeros
    return stacked([matrix, zeros((1, matrix.shape[1]), dtype=matrix.dtype)])[rows]


def _read_rows(view: StoredView, rows: NDArray[np.intp]) -> Matrix:
    """Some ascending rows of a view, in as few reads as are useful."""
    if not len(rows):
        return view[0:0]
    breaks = np.flatnonzero(np.diff(rows) > MAX_GAP) + 1
    blocks = [view[int(run[0]) : int(run[-1]) + 1][run - run[0]] for run in np.split(rows, breaks)]
    return stacked(blocks)


def select_stored(
    view: StoredView, rows: NDArray[np.intp] | None = None, columns: NDArray[np.intp] | None = None
) -> StoredView:
    """Rows and columns of a view that stays on disk; those of samples without it are zero."""
    n = view.shape[0] if rows is None else len(rows)
    width = view.shape[1] if columns is None else len(columns)
    n_stored = view.n_stored
    if n_stored is not None:
        n_stored = int(n_stored * n * width / max(1, view.shape[0] * view.shape[1]))
    return SelectedView(
        view.path,
        (n, width),
        view.dtype,
        view,
        rows,
        columns,
        row_step=view.row_step if rows is None else 1,
        feature_names=view.feature_names,
        n_stored=n_stored,
        kinds=tuple(view.kinds[j] for j in columns) if columns is not None and view.kinds else (),
    )


def columns_of(view: Any, columns: NDArray[np.intp]) -> Any:
    """Columns, by position, of a matrix, a table, or a view that stays on disk."""
    if isinstance(view, StoredView):
        return select_stored(view, columns=columns)
    return view.iloc[:, columns] if hasattr(view, "iloc") else view[:, columns]


def open_matrix(node: Any) -> Any:
    """A matrix in an open HDF5 file: a view on disk, or a CSR matrix read from one in CSC."""
    path, kind = Path(node.file.filename), str(node.attrs.get("encoding-type", "array"))
    if kind in ("csr_matrix", "csc_matrix"):
        n, d = map(int, node.attrs["shape"])
        dtype, count = node["data"].dtype.newbyteorder("="), int(node["data"].shape[0])
        if kind == "csr_matrix":
            return StoredMatrix(path, (n, d), dtype, node.name, n_stored=count)
        # Rows of it are all over the file, so that reading in parts would read it all each time.
        require_memory(
            3.0 * count * (dtype.itemsize + np.dtype(np.int64).itemsize),
            f"Reading {node.name!r}, which is stored by columns (CSC),",
            "Store it by rows (CSR), which are read in parts.",
        )
        parts = (node["data"][:], node["indices"][:], node["indptr"][:])
        _require_csr(np.asarray(parts[2]), np.asarray(parts[1]), n)
        return canonical_csr(sparse.csc_array(parts, shape=(n, d)))
    if not hasattr(node, "shape") or len(node.shape) != 2:
        raise ValueError(f"{node.name!r} is no matrix that can be read ({kind})")
    return view_of_dataset(node)


def view_of_dataset(node: Any, in_columns: bool = False) -> StoredMatrix:
    """View of an open 2-D dataset, with samples as its rows or its columns."""
    shape = node.shape[::-1] if in_columns else node.shape
    step = node.chunks[in_columns] if node.chunks else 1
    dtype, path = node.dtype.newbyteorder("="), Path(node.file.filename)
    return StoredMatrix(path, shape, dtype, node.name, in_columns, row_step=step)


def _read_elem(node: Any) -> Any:
    return optional_import("anndata.io", "Files of AnnData and MuData", "mudata").read_elem(node)


def modality_names(path: Path) -> list[str]:
    """Names of the modalities of a MuData file, in the order that it gives."""
    with _open(path) as file:
        if not file.get("mod"):
            raise ValueError("it has no modalities")
        if int(file.attrs.get("axis", 0)) == 1:
            raise ValueError(
                "its modalities share features, not samples (axis=1), so they are not views"
            )
        order = [str(name) for name in file["mod"].attrs.get("mod-order", ())]
        return [name for name in order if name in file["mod"]] or list(file["mod"])


@dataclass(frozen=True)
class StoredGroup:
    """Elements of a group of a file, by name; matrices stay on disk."""

    path: Path
    key: str = "/"

    def group(self, name: str) -> "StoredGroup":
        """A group in the group."""
        return StoredGroup(self.path, f"{self.key.rstrip('/')}/{name}")

    def keys(self) -> list[str]:
        """Names of the elements."""
        with _open(self.path) as file:
            return list(file[self.key]) if self.key in file else []

    def __contains__(self, name: object) -> bool:
        return name in self.keys()

    def __getitem__(self, name: str) -> Any:
        with _open(self.path) as file:
            node = file[self.key][name]
            if str(node.attrs.get("encoding-type", "array")) in MATRIX_ENCODINGS:
                return open_matrix(node)
            return _read_elem(node)

    @property
    def index(self) -> "pd.Index[Any]":
        """Index of a table."""
        with _open(self.path) as file:
            node = file[self.key]
            name = node.attrs.get("_index")
            if not isinstance(name, str) or name not in node:
                raise ValueError(f"{self.key!r} is not a table with an index")
            return pd.Index(_read_elem(node[name])).astype(str)


class StoredCells(StoredGroup):
    """An AnnData object in a file, with those of its attributes that views are made of."""

    @cached_property
    def obs_names(self) -> "pd.Index[Any]":
        """Names of the samples."""
        return self.group("obs").index

    @property
    def obs_columns(self) -> list[str]:
        """Names of the variables of the samples."""
        with _open(self.path) as file:
            return [str(name) for name in file[self.group("obs").key].attrs["column-order"]]

    def obs_column(self, name: str) -> "pd.Series[Any]":
        """A variable of the samples."""
        with _open(self.path) as file:
            values = _read_elem(file[self.group("obs").key][name])
            return pd.Series(values, self.obs_names, name=name)

    @cached_property
    def var_names(self) -> "pd.Index[Any]":
        """Names of the features."""
        return self.group("var").index

    @property
    def var(self) -> pd.DataFrame:
        """Table of the features."""
        table: pd.DataFrame = self["var"]
        return table

    @property
    def X(self) -> Any:
        """The main matrix; None if there is none."""
        if "X" not in self:
            return None
        return self["X"]

    @property
    def layers(self) -> StoredGroup:
        """Other matrices of the same features."""
        return self.group("layers")

    @property
    def obsm(self) -> StoredGroup:
        """Other matrices of the same samples."""
        return self.group("obsm")
