"""Files of views: NumPy ``.npz`` and MATLAB ``.mat``, read without ever running code from them."""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from anchorview.datasets._matlab import read_matlab

# In quotes: older SciPy's sparse arrays take no type parameters at run time.
View: TypeAlias = "NDArray[Any] | sparse.csr_array[Any]"
Matrix: TypeAlias = "View | sparse.csc_array[Any]"

#: Names of label vectors in any case, most telling first.
LABEL_NAMES = ("y", "gt", "truth", "truelabel", "label", "labels", "target", "gnd")

HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"


class DataFileError(ValueError):
    """A file of views that cannot be used; the message says what was found and what to do."""


@dataclass(frozen=True, eq=False)
class ViewFile:
    """What a file of views holds.

    Attributes
    ----------
    views : dict of str to array or csr_array of shape (n_samples, n_features)
        The views by name, in the file's number types.
    target : array of shape (n_samples,) or None
        The labels, int64 or strings; None if the file has none.
    path : Path
        Where it was read from.
    """

    views: dict[str, View]
    target: NDArray[Any] | None
    path: Path


def read_views(path: str | os.PathLike[str]) -> ViewFile:
    """Read the views, and the labels if there are any, from a ``.npz`` or ``.mat`` file.

    Labels are a vector named y, gt, truth, truelabel, label, labels, target or gnd, in any case;
    nothing with such a name is taken for a view. Views are

    - in ``.npz``: all other 2-D numeric arrays, in the natural order of their names;
    - in ``.mat``: the matrices of the cell array ``X``, or else of the only cell array of
      matrices, as "view_0", "view_1", ...; without one, the matrices ``X1``, ``X2``, ...; without
      those, all matrices with more than one row and column, in the natural order of their names.

    Samples are rows. They are taken to be columns, and all views are transposed, if only that
    fits the labels, or, without labels, if only that gives all views equally many samples.

    Parameters
    ----------
    path : str or path-like
        A ``.npz`` file, or a ``.mat`` file of MATLAB 5 or later; version 7.3 needs h5py,
        which ``pip install "anchorview[hdf5]"`` brings.

    Returns
    -------
    ViewFile
        With ``views``, ``target`` and ``path``. Sparse matrices stay sparse.

    Raises
    ------
    DataFileError
        If there is no such file, it is damaged, or what it holds is not a set of views.
        Pickled objects are refused, never loaded.

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
    """
    path = Path(path)
    try:
        return _read(path)
    except DataFileError as error:
        raise DataFileError(f"{path}: {_one_line(error)}") from None
    except ImportError:
        raise
    except MemoryError as error:
        raise DataFileError(
            f"{path}: what it says it holds does not fit into memory. If it is not damaged, "
            "take a machine with more memory or keep fewer samples."
        ) from error
    # The parsers answer a damaged file with nearly any type of exception.
    except Exception as error:
        reason = f"{type(error).__name__}: {_one_line(error)}"
        raise DataFileError(
            f"{path}: cannot be read as {path.suffix.lower()} ({reason}). The file is truncated, "
            "damaged or of another format: download or export it again."
        ) from error


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())


def _read(path: Path) -> ViewFile:
    if path.is_dir():
        raise DataFileError("is a directory. Give the path of a .npz or .mat file.")
    if not path.exists():
        raise DataFileError("no such file. Check the path.")
    suffix = path.suffix.lower()
    if suffix == ".npz":
        variables = _read_npz(path)
        views = _natural_order(variables)
    elif suffix == ".mat":
        variables = _read_matlab73(path) if _is_hdf5(path) else read_matlab(path)
        views = _matlab_views(variables)
    else:
        raise DataFileError(
            f"unknown file type {path.suffix!r}. Save the views as .npz (numpy.savez) or .mat."
        )
    if not views:
        found = ", ".join(map(repr, variables)) or "nothing"
        raise DataFileError(
            f"no views inside, only {found}. Store each view as a 2-D numeric array, samples x "
            "features, under a name that is not one of labels."
        )
    target = _find_target(variables)
    return ViewFile(_samples_as_rows(views, target), target, path)


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


def _is_hdf5(path: Path) -> bool:
    with path.open("rb") as stream:
        start = stream.read(512 + len(HDF5_SIGNATURE))
    # MATLAB puts its own header of 512 bytes first.
    return start.startswith(HDF5_SIGNATURE) or start[512:] == HDF5_SIGNATURE


def _read_matlab73(path: Path) -> dict[str, object]:
    try:
        from anchorview.datasets._matlab73 import read_matlab73
    except ImportError as error:
        raise ImportError(
            f'{path}: MATLAB 7.3 files need h5py: pip install "anchorview[hdf5]", or save the '
            "file with -v7 in MATLAB."
        ) from error
    return read_matlab73(path)


def _matlab_views(variables: dict[str, object]) -> dict[str, Matrix]:
    cells = {
        name: value
        for name, value in variables.items()
        if not _is_label_name(name) and isinstance(value, list) and value
        if all(map(_is_matrix, value))
    }
    if cells:
        if "X" not in cells and len(cells) > 1:
            names = ", ".join(map(repr, cells))
            raise DataFileError(
                f"several cell arrays of matrices: {names}. Name the one with the views X."
            )
        matrices = cells["X"] if "X" in cells else next(iter(cells.values()))
        return {f"view_{i}": matrix for i, matrix in enumerate(matrices)}
    views = _natural_order(variables)
    numbered = {name: view for name, view in views.items() if re.fullmatch(r"[xX]_?\d+", name)}
    # MATLAB's scalars and vectors are 2-D too: parameters, indices, weights.
    return numbered or {name: view for name, view in views.items() if min(view.shape) > 1}


def _natural_order(variables: dict[str, object]) -> dict[str, Matrix]:
    """Pick the matrices, ordered by name with numbers by value: view_2 before view_10."""

    def key(name: str) -> list[str | int]:
        # Splitting at digits alternates text and number, so like is compared with like.
        return [int(part) if i % 2 else part for i, part in enumerate(re.split("([0-9]+)", name))]

    matrices = {
        name: value
        for name, value in variables.items()
        if not _is_label_name(name) and _is_matrix(value)
    }
    return {name: matrices[name] for name in sorted(matrices, key=key)}


def _is_label_name(name: str) -> bool:
    return name.lower() in LABEL_NAMES


def _is_matrix(value: object) -> TypeGuard[Matrix]:
    return (
        isinstance(value, np.ndarray | sparse.csc_array)
        and value.ndim == 2
        and value.dtype.kind in "biuf"
        and min(value.shape) > 0
    )


def _find_target(variables: dict[str, object]) -> NDArray[Any] | None:
    names = sorted(filter(_is_label_name, variables), key=lambda n: LABEL_NAMES.index(n.lower()))
    if not names:
        return None
    for name in names:
        labels = _label_vector(variables[name])
        if labels is not None:
            return labels
    raise DataFileError(
        f"{names[0]!r} is named like labels but is not one vector of whole numbers or strings. "
        "Store one label per sample, or rename it."
    )


def _label_vector(value: object) -> NDArray[Any] | None:
    """Labels as a 1-D vector of int64 or strings; None if the value cannot be that."""
    if isinstance(value, list):
        # Some files repeat the labels for each view.
        copies = [_label_vector(item) for item in value]
        if not copies or any(not _same(copies[0], other) for other in copies):
            return None
        return copies[0]
    if not isinstance(value, np.ndarray) or value.size == 0:
        return None
    if value.size != max(value.shape, default=0):
        return None
    vector = value.ravel()
    if vector.dtype.kind == "U":
        return vector
    if vector.dtype.kind == "f":
        vector = vector.astype(np.float64)
        # Beyond 2**53 a float does not tell neighbouring integers apart.
        if not (np.all(np.abs(vector) < 2**53) and np.all(vector % 1 == 0)):
            return None
    return vector.astype(np.int64) if vector.dtype.kind in "biuf" else None


def _same(first: NDArray[Any] | None, second: NDArray[Any] | None) -> bool:
    return first is not None and second is not None and np.array_equal(first, second)


def _samples_as_rows(matrices: dict[str, Matrix], target: NDArray[Any] | None) -> dict[str, View]:
    rows = {matrix.shape[0] for matrix in matrices.values()}
    columns = {matrix.shape[1] for matrix in matrices.values()}
    if target is None:
        in_columns = len(columns) == 1 and len(rows) > 1
    else:
        in_columns = columns == {len(target)} and rows != {len(target)}
    if in_columns:
        matrices = {name: matrix.T for name, matrix in matrices.items()}
        rows = columns
    shapes = ", ".join(f"{name} {m.shape[0]} x {m.shape[1]}" for name, m in matrices.items())
    if len(rows) > 1:
        raise DataFileError(
            f"the views differ in their number of samples: {shapes}. All views need the same "
            "samples as rows, in the same order."
        )
    if target is not None and rows != {len(target)}:
        raise DataFileError(
            f"{len(target)} labels do not fit the views: {shapes}. Store one label per sample."
        )
    return {name: _as_view(matrix) for name, matrix in matrices.items()}


def _as_view(matrix: Matrix) -> View:
    view = matrix if isinstance(matrix, np.ndarray) else sparse.csr_array(matrix)
    # Compiled code downstream takes numbers in the machine's own byte order only.
    return view.astype(view.dtype.newbyteorder("="), copy=False)
