"""Files and folders of views, read without ever running code from them."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anchorview._utils.errors import DataFileError
from anchorview.datasets.file_contents import availability, naming_file
from anchorview.datasets.formats.h5mu import read_h5mu
from anchorview.datasets.formats.matlab5 import read_matlab
from anchorview.datasets.formats.table_folders import read_folder
from anchorview.datasets.opening import is_hdf5, loaded, matlab73
from anchorview.datasets.variables import matlab_views, npz_views, sort_out
from anchorview.views.view_file import Target, View, ViewFile


def read_views(path: str | os.PathLike[str], *, zero_rows_missing: bool = False) -> ViewFile:
    r"""Read views, and labels if there are any, from a file or a folder.

    Labels are a vector named y, gt, truth, truelabel, label, labels, target or gnd, in any case;
    nothing with such a name is taken for a view. Views are

    - in ``.npz``: all other 2-D numeric arrays, in the natural order of their names;
    - in ``.mat``: the matrices of the cell array ``X``, or else of the only cell array of
      matrices, as "view_0", "view_1", ...; without one, the matrices ``X1``, ``X2``, ...; without
      those, all matrices with more than one row and column, in the natural order of their names;
    - in a folder: its ``.csv`` and ``.parquet`` files, by their names without the ending, in
      natural order; labels are such a file too, with one column;
    - in ``.h5mu``: ``X`` of each modality; labels are a column of ``obs``;
    - in a folder of ``.npy`` files, ``.h5``, ``.hdf5`` and a Zarr store: those that
      :func:`open_views` finds, which leaves them on disk.

    In ``.npz`` and ``.mat``, samples are rows. They are taken to be columns, and all views are
    transposed, if only that fits the labels, or, without labels, if only that gives all views
    equally many samples. A matrix of zeros and ones, samples x views or transposed, named
    available, availability, mask, index, ind, indicator or presence, in any case, says which
    samples have which views (1: has it). Anything else of such a name is a view if it can be one,
    and otherwise refused if it is like such a matrix in either its values or its shape.

    In a folder, samples are matched by their ids: a view need not have all samples, and the
    samples of any view are read, in the order in which they appear first. In CSV, there is a
    header, the id is the first column, and an empty cell is NaN; in Parquet, the id is the index
    of the DataFrame, or the first column if there is no index but the row numbers. Ids stay the
    strings that they are, unless all are whole numbers without leading zeros. If there are
    labels, every sample needs one.

    Parameters
    ----------
    path : str or path-like
        A ``.npz`` file, a ``.mat`` file of MATLAB 5 or later, a folder, or a ``.h5mu``, ``.h5`` or
        ``.hdf5`` file. Some need a package more: HDF5 and MATLAB 7.3
        ``pip install "anchorview[hdf5]"``, Parquet ``"anchorview[parquet]"``, Zarr
        ``"anchorview[zarr]"``, and ``.h5mu`` ``"anchorview[mudata]"``.
    zero_rows_missing : bool, default=False
        Whether a sample does not have a view in which its row is all zero. A row that is all NaN
        always means that.

    Returns
    -------
    ViewFile
        With ``views``, ``target``, ``path``, ``sample_ids`` and ``available``. Sparse matrices
        stay sparse.

    Raises
    ------
    DataFileError
        If there is no such file, it is damaged, what it holds is not a set of views, or a package
        is missing to read it; the latter is an ImportError too. Pickled objects are refused,
        never loaded.

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
    path = Path(path)
    with naming_file(path):
        views, target, ids, available = _read(path)
        return ViewFile(views, target, path, ids, availability(views, available, zero_rows_missing))


def _read(
    path: Path,
) -> "tuple[dict[str, View], Target, pd.Index[Any] | None, NDArray[np.bool_] | None]":
    """Read views, labels, sample ids and availability."""
    if not path.exists():
        raise DataFileError("no such file. Check the path.")
    file = loaded(path)
    if file is not None:
        return file.views, file.target, file.sample_ids, file.available
    if path.is_dir():
        return read_folder(path)
    suffix = path.suffix.lower()
    if suffix == ".npz":
        views, target, available = sort_out(_read_npz(path), npz_views)
    elif suffix == ".mat":
        variables = matlab73().read_matlab73(path) if is_hdf5(path) else read_matlab(path)
        views, target, available = sort_out(variables, matlab_views)
    elif suffix == ".h5mu":
        return read_h5mu(path)
    elif suffix == ".h5ad":
        raise DataFileError(
            "an .h5ad file holds a single modality. Put the modalities into one MuData object "
            "and save that as .h5mu."
        )
    elif suffix in (".csv", ".parquet", ".npy"):
        raise DataFileError(
            "is a single view. Put one file a view into a folder, and give the folder."
        )
    else:
        raise DataFileError(
            f"unknown file type {path.suffix!r}. Save the views as .npz (numpy.savez), .mat, "
            ".h5mu, .h5 or .zarr, or as a folder of .npy, .csv or .parquet files."
        )
    return views, target, None, available


def _read_npz(path: Path) -> dict[str, object]:
    variables: dict[str, object] = {}
    with path.open("rb") as stream:
        # Without this, a single array or a pickle under this name would fail less clearly.
        if stream.read(2) != b"PK":
            raise DataFileError("not an .npz archive. Save the views with numpy.savez.")
        stream.seek(0)
        with np.load(stream, allow_pickle=False) as archive:
            for name in archive.files:
                try:
                    variables[name] = archive[name]
                except ValueError as error:
                    raise DataFileError(
                        f"array {name!r} cannot be read ({error}). Save it again as a plain "
                        "numeric array; pickled objects are never loaded."
                    ) from error
    return variables
