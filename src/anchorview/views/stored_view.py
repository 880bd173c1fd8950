"""Views in files: what a file holds, and views that stay on disk and are read by slices."""

import platform
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from stat import S_ISREG
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from anchorview._utils.errors import DataFileError
from anchorview._utils.stores import STORE_ADVICE, data_path, in_store
from anchorview._utils.text import one_line
from anchorview._utils.threads import ThreadBuffer
from anchorview._utils.typing import Array, FeatureNames

TABLE_CELL = 32
"""Bytes of a cell of a table, which is a Python object or becomes several numbers."""


class FileVersion(NamedTuple):
    """What tells whether a file has changed."""

    size: int
    modified: int
    """Time of the last change, in nanoseconds."""
    inode: int
    machine: str

    @classmethod
    def of(cls, path: Path) -> "FileVersion | None":
        """Return the version of a file; None for a folder, or if there is no such file."""
        try:
            status = path.stat()
        except OSError as error:
            if in_store(path) and not isinstance(error, FileNotFoundError):
                raise
            return None
        if not S_ISREG(status.st_mode):
            return None
        return cls(status.st_size, status.st_mtime_ns, status.st_ino, platform.node())


def require_unchanged(path: Path, version: FileVersion | None, what: str = "it") -> None:
    """Raise if a file no longer has the version that it had when it was opened."""
    if version is None or not (in_store(path) or path.exists()):
        return
    now = FileVersion.of(path)
    # Another machine may have a copy, of the same size.
    compared = slice(1) if now is not None and now.machine != version.machine else slice(None)
    if now is None or now[compared] != version[compared]:
        raise DataFileError(
            f"{path}: {what} cannot be read: the file has changed since it was opened. Open it "
            "again when it is complete."
        )


@dataclass(frozen=True, eq=False)
class StoredView(ABC):
    """A view that stays on disk; rows are read when they are requested.

    It has no open files, so it can be pickled, and read by many threads and processes at once.

    Attributes
    ----------
    path : Path
        The file, or the folder of a Zarr store; absolute, as other processes may run elsewhere.
    shape : tuple of int
        Number of samples and features.
    dtype : numpy.dtype
        Type of the values read, in native byte order.
    row_step : int
        Rows are read efficiently in multiples of this number.
    feature_names : array of str or None
        Names of the features; None if the file has none.
    n_stored : int or None
        Number of entries that are stored if rows are read as CSR matrices, None otherwise.
    kinds : tuple of str
        What each column is if rows are read as a table, of which `dtype` is the type of the
        numbers that are made of it; empty otherwise.
    version : FileVersion or None
        Size and time of the file when it was opened; None for a folder. Reading raises if the file
        has changed since.
    """

    path: Path
    shape: tuple[int, int]
    dtype: "np.dtype[Any]"
    row_step: int = field(default=1, kw_only=True)
    feature_names: FeatureNames | None = field(default=None, kw_only=True)
    n_stored: int | None = field(default=None, kw_only=True)
    kinds: tuple[str, ...] = field(default=(), kw_only=True)
    version: FileVersion | None = field(init=False)
    ndim: ClassVar[int] = 2

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", data_path(self.path).absolute())
        object.__setattr__(self, "version", FileVersion.of(self.path))

    @property
    def least_step(self) -> int:
        """Number of rows that have to be read at a time."""
        return self.row_step

    @property
    def is_sparse(self) -> bool:
        """Whether rows are read as CSR matrices."""
        return self.n_stored is not None

    @property
    def nbytes(self) -> int:
        """Number of bytes of all values in memory; of a sparse view, of entries and columns."""
        if self.n_stored is not None:
            return self.n_stored * (self.dtype.itemsize + np.dtype(np.int32).itemsize)
        return self.shape[0] * self.shape[1] * self.cell_bytes

    @property
    def cell_bytes(self) -> int:
        """Number of bytes of a value in memory, unless the view is sparse."""
        return TABLE_CELL if self.kinds else self.dtype.itemsize

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice) -> Any:
        """Read consecutive rows into a new C-contiguous array, CSR matrix or table."""
        return self.read(rows)

    def read(self, rows: slice, buffer: ThreadBuffer | None = None) -> Any:
        """Read consecutive rows, into a buffer if one is given and the format can do so."""
        start, stop = self._bounds(rows)
        if start == stop:
            return self[:1][:0]
        block = self._guarded(partial(self._read_into, buffer), start, stop)
        if block.shape != (stop - start, self.shape[1]):
            raise self._unreadable(start, stop, f"found only {block.shape[0]} of them")
        return block if self.is_sparse or self.kinds else np.ascontiguousarray(block, self.dtype)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """Read everything; raise if the view is a table, or sparse: it does not become dense."""
        if self.is_sparse or self.kinds:
            kind = "table" if self.kinds else "sparse view"
            raise TypeError(f"A {kind} on disk cannot become an array; read rows by view[a:b].")
        if copy is False:
            raise ValueError("A view on disk cannot become an array without a copy in memory.")
        return self[:].astype(self.dtype if dtype is None else dtype, copy=False)

    def ids(self, rows: slice) -> "pd.Index[Any] | None":
        """Read the ids of consecutive samples; None if the file has none."""
        start, stop = self._bounds(rows)
        ids = self._guarded(self._read_ids, start, stop)
        if ids is not None and len(ids) != stop - start:
            raise self._unreadable(start, stop, f"found only {len(ids)} of them")
        return ids

    @abstractmethod
    def _read(self, start: int, stop: int) -> Array:
        """Read at least one row; any exception means that the rows cannot be read."""

    def _read_into(self, buffer: ThreadBuffer | None, start: int, stop: int) -> Array:
        return self._read(start, stop)

    def _read_ids(self, start: int, stop: int) -> "pd.Index[Any] | None":
        return None

    def _bounds(self, rows: slice) -> tuple[int, int]:
        if not isinstance(rows, slice) or rows.step not in (None, 1):
            raise TypeError(
                f"A view on disk is read by slices of consecutive rows, view[a:b]; got {rows!r}. "
                "Read the rows into memory first, and index those."
            )
        start, stop, _ = rows.indices(self.shape[0])
        return start, max(start, stop)

    def _guarded(self, read: Callable[[int, int], Any], start: int, stop: int) -> Any:
        rows = f"rows {start} to {stop - 1}"
        try:
            require_unchanged(self.path, self.version, rows)
            rows_read = read(start, stop)
            # It may have been changed while it was read.
            require_unchanged(self.path, self.version, rows)
            return rows_read
        except (DataFileError, MemoryError, Warning):
            raise
        # Parsers raise nearly any type of exception on damaged files.
        except Exception as error:
            reason = f"{type(error).__name__}: {one_line(error)}"
            raise self._unreadable(start, stop, reason) from error

    def _unreadable(self, start: int, stop: int, reason: str) -> DataFileError:
        why = f" ({reason}). The file is truncated or damaged: copy or export it again."
        if in_store(self.path):
            why = f" ({reason}). {STORE_ADVICE}"
        elif not self.path.exists():
            why = ": there is no such file any more. Put it back."
        return DataFileError(f"{self.path}: rows {start} to {stop - 1} cannot be read{why}")


# In quotes: older SciPy's sparse arrays take no type parameters at run time.
View: TypeAlias = "NDArray[Any] | sparse.csr_array[Any] | pd.DataFrame | StoredView"
Target: TypeAlias = "NDArray[Any] | pd.Series[Any] | None"


@dataclass(frozen=True, eq=False)
class ViewFile:
    """What a file or folder of views holds.

    :class:`~anchorview.MultiViewData` accepts it as input.

    Attributes
    ----------
    views : dict of str to array, csr_array, DataFrame or StoredView (n_samples, n_features)
        The views by name, all with the same samples in the same order. They keep the file's
        number types, but integers become floats where NaN has to mark a missing sample. Views
        in memory are DataFrames where the file names samples and the view is dense. Views that
        were opened, not read, are of type ``StoredView``, unless they are sparse in the file.
    target : array or Series of shape (n_samples,), or None
        The labels, int64 or strings; None if the file has none. A Series, with the sample ids as
        its index, where the file names samples.
    path : Path
        Where it was read from.
    sample_ids : pandas.Index or None
        The names of the samples; None if the file does not name them.
    available : array of bool of shape (n_samples, n_views), or None
        Which views each sample has; None if every sample has every view. What a view holds for a
        sample that does not have it is ignored. Of views that were opened, not read, it is
        only what the file says itself: rows of NaN are not detected.
    feature_names : mapping of str to array of str
        Names of the features of sparse views, by view, where the file has them. DataFrames and
        views that were opened have their own.
    selection : dict, or None
        Which matrices of an AnnData or MuData file are the views, if they were selected.
    """

    views: dict[str, View]
    target: Target
    path: Path
    sample_ids: "pd.Index[Any] | None" = None
    available: "NDArray[np.bool_] | None" = None
    feature_names: Mapping[str, FeatureNames] = field(default_factory=dict)
    selection: Mapping[str, str | tuple[str, ...]] | None = None
