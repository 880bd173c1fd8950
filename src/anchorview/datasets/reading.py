"""Reading of files and folders of views, without ever running code from them."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from anchorview._utils.errors import DataFileError
from anchorview._utils.memory import require_memory
from anchorview._utils.stores import data_path, in_store, is_folder
from anchorview.datasets.file_contents import (
    ReadOptions,
    data_file_errors,
    require_regular_file,
)
from anchorview.datasets.formats.arrays import (
    ZARR_METADATA,
    is_hdf5,
    open_annotated,
    open_hdf5,
    open_matlab73,
    open_npy_folder,
    open_zarr,
    read_matlab5,
    read_npz,
)
from anchorview.datasets.formats.table import all_numbers
from anchorview.datasets.formats.table_files import TABLE_SUFFIXES, open_parquet, read_tables
from anchorview.views.alignment import reindex_rows
from anchorview.views.anndata_matrices import ViewSelection
from anchorview.views.stored_view import StoredView, View, ViewFile
from anchorview.views.table_columns import feature_names_of


def read_views(
    path: str | os.PathLike[str],
    *,
    zero_rows_missing: bool = False,
    id_column: str | bool = True,
    header: bool = True,
    csv: Mapping[str, Any] | None = None,
    views: ViewSelection | None = None,
    labels: str | None = None,
    categorical: Sequence[str] = (),
    drop: Sequence[str] = (),
) -> ViewFile:
    r"""Read views, and class labels if there are any, from a file or a folder.

    Class labels are a vector named y, gt, truth, truelabel, label, labels, target or gnd, in any
    case; nothing with such a name is read as a view. Views are

    - in ``.npz``: all other 2-D numeric arrays, in the natural order of their names;
    - in ``.mat``: the matrices of the cell array ``X``, or else of the only cell array of
      matrices, as "view_0", "view_1", ...; without one, the matrices ``X1``, ``X2``, ...; without
      those, all matrices with more than one row and column, in the natural order of their names;
    - in a folder: its ``.csv``, ``.tsv``, ``.csv.gz``, ``.tsv.gz``, ``.parquet`` and ``.xlsx``
      files, by their names without suffix, in natural order; class labels are such a file too, with
      one column; a warning names the files that are not read;
    - in one such file: its table; in ``.xlsx``, each sheet that is not empty, by its name;
    - in ``.h5mu``: ``X`` of each modality, or the matrices that `views` names; in ``.h5ad``,
      ``X`` or these matrices; class labels are a column of ``obs``;
    - in a folder of ``.npy`` files, ``.h5``, ``.hdf5`` and a Zarr store: those that
      :func:`open_views` finds, which leaves them on disk.

    Samples are rows. In ``.mat`` files only, all views are transposed if the labels fit only
    samples in columns or, without labels, if only then all views have equally many samples. A
    matrix of zeros and ones, samples x views or transposed, named available, availability, mask,
    index, ind,
    indicator or presence, in any case, says which samples have which views (1: has it). A matrix of
    zeros and ones with such a name and another shape is refused; any other is a view.

    Arrays that can be neither views nor labels are refused if they have several dimensions, such
    as complex matrices, and otherwise ignored with a warning. In ``.mat``, text, structs, scalars
    and vectors are ignored, and so is anything beside a cell array or numbered matrices.

    In tables, samples are matched by their ids: views may have different samples, and the union is
    read, in order of first appearance. In CSV, TSV and Excel, there is a header, the id is the
    first column, and only an empty field is missing; in Parquet, the id is the index of the
    DataFrame, or the first column if the index is only row numbers. Ids are strings, unless all are
    integers without leading zeros. If there are class labels, every sample needs one. Tables are
    refused if one shares no id with any other, if their ids differ only in blanks or as 1 and 1.0
    do, if the first column cannot be ids (repeated values, or numbers with fractions), or if the
    header looks like a sample.

    Separators, decimal marks, encodings and forms of dates of CSV and TSV files are detected, and a
    warning names those that are not usual.

    A column of a table is a number, a category, a text, a boolean or a date, and keeps its type if
    not all columns are numbers. In CSV and TSV, integers with leading zeros are text. A column that
    is numbers or dates except for fewer than half of its values is text too, and a warning names
    the first of these values. Estimators encode such tables by
    :class:`anchorview.preprocessing.TableEncoder`.

    Parameters
    ----------
    path : str or path-like
        A ``.npz`` file, a ``.mat`` file of MATLAB 5 or later, a folder, a table, or a ``.h5mu``,
        ``.h5ad``, ``.h5`` or ``.hdf5`` file. Some need an extra package: HDF5 and MATLAB 7.3
        ``pip install "anchorview[hdf5]"``, Parquet ``"anchorview[parquet]"``, Excel
        ``"anchorview[excel]"``, Zarr ``"anchorview[zarr]"``, ``.h5mu`` and ``.h5ad``
        ``"anchorview[mudata]"``.
    zero_rows_missing : bool, default=False
        Whether a row of zeros means that the sample lacks the view. A row of NaN always does.
    id_column : str or bool, default=True
        For tables, the name of the column with the sample ids. If True, the first
        column. If False, there are no ids: rows are matched by position, and all tables need the
        same number of rows.
    header : bool, default=True
        Whether the first row of CSV files and Excel sheets has the names of the columns.
    csv : dict, default=None
        How CSV files are written, as far as it should not be detected: ``sep`` (between fields),
        ``decimal`` (mark), ``encoding``, ``dates`` (format, such as ``"%d.%m.%Y"``) and
        ``na_values`` (texts that mean a missing value).
    views : dict of str to str, default=None
        For ``.h5ad`` and ``.h5mu`` files, the matrices that are views, as `views` of
        :meth:`anchorview.DALMC.fit`. If None, ``X`` of each modality. For folders of tables and
        ``.xlsx`` files, the files or sheets that are views, by the names of the views. Of a single
        table, the columns of each view, as `views` of :meth:`anchorview.DALMC.fit`. If None, all.
    labels : str, default=None
        Name of the variable, file or column with the class labels. If None, the names above.
    categorical : sequence of str, default=()
        For tables, columns that are categories, such as codes that are numbers: names
        of columns, in all tables that have them, or ``"table:column"``.
    drop : sequence of str, default=()
        For tables, columns that are left out, likewise.

    Returns
    -------
    ViewFile
        With ``views``, ``target``, ``path``, ``sample_ids`` and ``available``. Sparse matrices
        stay sparse.

    Raises
    ------
    DataFileError
        If the file does not exist, is damaged or does not hold a set of views, or if a package to
        read it is missing; the latter is an ImportError too. Pickled objects are refused, never
        loaded.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "example.npz"
    ...     np.savez(path, view_0=np.ones((4, 3)), view_1=np.zeros((4, 2)), y=[0, 0, 1, 1])
    ...     data = read_views(path)
    >>> {name: view.shape for name, view in data.views.items()}
    {'view_0': (4, 3), 'view_1': (4, 2)}
    >>> data.target
    array([0, 0, 1, 1])

    A folder of tables, in which each view has its own samples:

    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "image.csv").write_text("id,width,height\na,4,3\nb,2,1\n")
    ...     _ = Path(folder, "text.csv").write_text("id,words\nb,120\nc,80\n")
    ...     data = read_views(folder)
    >>> list(data.sample_ids)
    ['a', 'b', 'c']
    >>> data.available
    array([[ True, False],
           [ True,  True],
           [False,  True]])
    """
    options = ReadOptions(labels, id_column, header, csv, views, tuple(categorical), tuple(drop))
    return read_or_open(path, options, zero_rows_missing=zero_rows_missing)


def read_or_open(
    path: str | os.PathLike[str],
    options: ReadOptions,
    max_bytes: float = np.inf,
    *,
    zero_rows_missing: bool = False,
) -> ViewFile:
    """Read views or, if they take more than `max_bytes` of memory and can, leave them on disk."""
    path = data_path(path)
    with data_file_errors(path):
        entry = existing_format(path, options)
        file = None
        # Class labels in a column of a table are read with the rows.
        read_anyway = entry.read is not None and (max_bytes == np.inf or options.labels)
        if entry.open is not None and not read_anyway:
            file = entry.open(path.absolute(), options)
            if _stored_bytes(file) > max_bytes:
                return file
        file = _all_rows(entry, file) if entry.read is None else entry.read(path, options)
        return replace(file, path=path, available=_availability(file, zero_rows_missing))


def open_views(
    path: str | os.PathLike[str],
    *,
    id_column: str | bool = True,
    header: bool = True,
    csv: Mapping[str, Any] | None = None,
    views: ViewSelection | None = None,
    labels: str | None = None,
    categorical: Sequence[str] = (),
    drop: Sequence[str] = (),
) -> ViewFile:
    """Open views that stay on disk: their rows are read in blocks when they are needed.

    Views are

    - in a folder of ``.npy`` files: each 2-D numeric file, by its name without suffix, in natural
      order; the vector ``sample_ids.npy`` has the sample ids, integers or strings, and
      ``feature_names.json`` an object with a list of names for each view that has them;
    - in ``.h5`` and ``.hdf5``, and in a Zarr store: all 2-D numeric datasets, including those in
      groups, by their names within the file, in natural order;
    - in ``.h5ad``, ``.h5mu`` and ``.mat`` of MATLAB 7.3: the matrices that :func:`read_views`
      reads; sparse ones are read in parts if they are in CSR form, as anndata stores them by
      default, and otherwise as a whole;
    - in a ``.parquet`` file, or in a folder of only such files: each file. All must have the same
      samples in the same order; their ids are read with the rows. Rows of a table that has columns
      other than numbers are read as tables.

    Samples are rows; only in ``.mat`` may they be columns. Class labels and availability have the
    names that :func:`read_views` knows, and follow its rules.

    Parquet and Zarr can also be in a store that fsspec knows (``s3://``, ``gs://``, ``https://``,
    ``memory://``), with the extra ``remote``. Credentials come from the environment or a ``UPath``;
    an address that has them is refused.

    Parameters
    ----------
    path : str or path-like
        A file or folder in one of these formats. HDF5 needs ``pip install "anchorview[hdf5]"``,
        Zarr ``"anchorview[zarr]"``, Parquet ``"anchorview[parquet]"``. :func:`convert` writes
        anything else that :func:`read_views` reads to a folder of ``.npy`` files.
    id_column : str or bool, default=True
        Column with the sample ids of tables, as in :func:`read_views`.
    header, csv
        How CSV files are written, as in :func:`read_views`; they cannot stay on disk.
    views : dict of str to str, default=None
        Matrices or tables that are views, as in :func:`read_views`.
    labels : str, default=None
        Name of the class labels, as in :func:`read_views`. In tables, they need a file of their
        own.
    categorical, drop : sequence of str, default=()
        Columns of tables that are categories or left out, as in :func:`read_views`.

    Returns
    -------
    ViewFile
        With views of :class:`anchorview.views.stored_view.StoredView`.

    Raises
    ------
    DataFileError
        If the file does not exist, is too short or damaged, or has another format.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     np.save(Path(folder) / "text.npy", np.arange(8.0).reshape(4, 2))
    ...     np.save(Path(folder) / "image.npy", np.ones((4, 3), dtype=np.float32))
    ...     np.save(Path(folder) / "labels.npy", [0, 0, 1, 1])
    ...     data = open_views(folder)
    ...     data.views["text"][1:3]
    array([[2., 3.],
           [4., 5.]])
    >>> {name: view.shape for name, view in data.views.items()}
    {'image': (4, 3), 'text': (4, 2)}
    >>> data.target
    array([0, 0, 1, 1])
    """
    path = data_path(path).absolute()
    with data_file_errors(path):
        options = ReadOptions(
            labels, id_column, header, csv, views, tuple(categorical), tuple(drop)
        )
        entry = existing_format(path, options)
        if entry.open is None:
            names = ", ".join(f"a {other.name}" for other in FORMATS if other.open is not None)
            raise DataFileError(
                f"a {entry.name} cannot stay on disk, but these can: {names}. "
                "anchorview.datasets.convert writes a folder of .npy files."
            )
        return entry.open(path, options)


@dataclass(frozen=True)
class Format:
    """A file or folder format of multi-view data."""

    name: str
    suffixes: tuple[str, ...]
    """In lower case; of the files in the folder if the kind is "folder"."""
    read: Callable[[Path, ReadOptions], ViewFile] | None = None
    """Reads all views of a path; None if they are opened, and then all rows read."""
    open: Callable[[Path, ReadOptions], ViewFile] | None = None
    """Opens the views, to read rows by slices; None if the format cannot do that."""
    kind: Literal["file", "store", "folder"] = "file"
    """A file, a folder with a suffix, or a folder with one file per view."""
    requires: Callable[[Path], bool] = lambda path: True
    """Condition on the contents, in addition to the suffix."""
    selects: bool = False
    """Whether it has several matrices per view; ``ReadOptions.views`` selects one of them."""

    @property
    def by_id(self) -> bool:
        """Whether views are tables with different samples, which are matched by their ids."""
        return self.read is read_tables

    @property
    def in_stores(self) -> bool:
        """Whether it can be read from an object store or a web server."""
        return self.open in (open_zarr, open_parquet)

    def matches(self, path: Path) -> bool:
        """Whether a path has this format."""
        if is_folder(path) == (self.kind == "file"):
            return False
        if self.kind == "folder":
            names = (f.name.lower() for f in path.iterdir() if not f.name.startswith("."))
            return any(name.endswith(self.suffixes) for name in names)
        if self.kind == "store" and any((path / name).exists() for name in ZARR_METADATA):
            return True
        return path.name.lower().endswith(self.suffixes) and self.requires(path)


NOT_PARQUET = tuple(suffix for suffix in TABLE_SUFFIXES if suffix != ".parquet")
TABLE = ".csv, .tsv, .parquet or .xlsx"

# The first format that matches counts.
FORMATS = (
    Format(".npz file", (".npz",), read_npz),
    Format(".mat file of MATLAB 7.3", (".mat",), open=open_matlab73, requires=is_hdf5),
    Format(".mat file of MATLAB 5 to 7", (".mat",), read_matlab5),
    Format(".h5 or .hdf5 file", (".h5", ".hdf5"), open=open_hdf5),
    Format(".h5mu file", (".h5mu",), open=open_annotated, selects=True),
    Format(".h5ad file", (".h5ad",), open=open_annotated, selects=True),
    Format("Zarr store", (".zarr",), open=open_zarr, kind="store"),
    Format("folder of .npy files", (".npy",), open=open_npy_folder, kind="folder"),
    Format(".parquet file", (".parquet",), read_tables, open_parquet),
    Format(f"{TABLE} file", TABLE_SUFFIXES, read_tables),
    Format(f"folder of {TABLE} files", NOT_PARQUET, read_tables, kind="folder"),
    # Tables that are all in Parquet can stay on disk.
    Format("folder of .parquet files", (".parquet",), read_tables, open_parquet, kind="folder"),
)


def find_format(path: Path) -> Format | None:
    """Return the format of a path; None if it has none of the formats in the table."""
    return next((entry for entry in FORMATS if entry.matches(path)), None)


def stays_on_disk(path: str | os.PathLike[str]) -> bool:
    """Whether a path has a format that :func:`open_views` opens; its contents are not checked."""
    path = data_path(path)
    with data_file_errors(path):
        entry = find_format(path)
    return entry is not None and entry.open is not None


def existing_format(path: Path, options: ReadOptions) -> Format:
    """Return the format of a path; raise if it has no known format, or not these options."""
    if not is_folder(path):
        require_regular_file(path)
    entry = find_format(path)
    if entry is None:
        raise DataFileError(
            f"no views that can be read. Save them as a {', '.join(f.name for f in FORMATS)}; a "
            "folder has one file per view."
        )
    if in_store(path) and not entry.in_stores:
        names = ", ".join(f"a {other.name}" for other in FORMATS if other.in_stores)
        raise DataFileError(
            f"a {entry.name} cannot be read from a store, but these can: {names}. Copy it to a "
            "folder on this machine, or convert it."
        )
    known = {"labels", "views"} if entry.selects else {"labels"}
    for option in () if entry.by_id else fields(options):
        value = getattr(options, option.name)
        if option.name not in known and value != option.default:
            raise DataFileError(
                f"{option.name}={value!r} is for {TABLE} files (views= also for .h5ad and .h5mu "
                f"files), not for a {entry.name}. Leave it out."
            )
    return entry


def _stored_bytes(file: ViewFile) -> int:
    """Memory that the views on disk would take."""
    return sum(view.nbytes for view in file.views.values() if isinstance(view, StoredView))


def _all_rows(entry: Format, opened: ViewFile | None) -> ViewFile:
    """Read opened views; dense ones become DataFrames if samples have ids."""
    assert opened is not None
    copies = 2.0 if entry.selects else 1.0
    require_memory(copies * _stored_bytes(opened), "Reading the views")
    views: dict[str, View] = {}
    features = dict(opened.feature_names)
    for p, (name, view) in enumerate(opened.views.items()):
        if (names := feature_names_of(view)) is not None:
            features.setdefault(name, names)
        values = view[:] if isinstance(view, StoredView) else view
        if isinstance(values, np.ndarray) and opened.sample_ids is not None:
            # Where modalities lack samples, opened views have zeros.
            if entry.selects and opened.available is not None:
                rows = np.where(opened.available[:, p], np.arange(len(values)), -1)
                values = reindex_rows(values, rows)
            values = pd.DataFrame(values, opened.sample_ids, features.get(name), copy=False)
        views[name] = values
    return replace(opened, views=views, feature_names=features)


def _availability(file: ViewFile, zero_rows_missing: bool) -> NDArray[np.bool_] | None:
    """Combine the availability in the file with rows of NaN and, if asked for, of zeros."""
    n_samples = next(iter(file.views.values())).shape[0]
    available = np.ones((n_samples, len(file.views)), dtype=bool)
    if file.available is not None:
        available &= file.available
    view: Any
    for p, view in enumerate(file.views.values()):
        if zero_rows_missing and not (isinstance(view, pd.DataFrame) and not all_numbers(view)):
            values = view if sparse.issparse(view) else np.asarray(view)
            # A sparse matrix may store zeros, so its entries are not just counted.
            available[:, p] &= values.astype(bool).sum(axis=1) > 0
        if not sparse.issparse(view):
            available[:, p] &= ~np.asarray(pd.isna(view)).all(axis=1)
    return None if available.all() else available
