"""Views, class labels and availability among the arrays of a file, read or not read yet."""

import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from anchorview._utils.errors import DataFileError
from anchorview._utils.text import listed, quoted
from anchorview._utils.typing import Matrix
from anchorview.datasets.file_contents import (
    by_precedence,
    is_label_name,
    label_vector,
    labels_not_there_error,
    natural,
    require_free_memory,
    single_label_name,
)
from anchorview.views.stored_view import StoredView, View, ViewFile

AVAILABILITY_NAMES = ("available", "availability", "mask", "index", "ind", "indicator", "presence")
"""Names, in any case, of a matrix that says which samples have which views."""

Variables: TypeAlias = dict[str, object]
"""Contents of a file by name."""


@dataclass(frozen=True)
class UnreadArray:
    """An array in a file or folder, of which only the header has been read."""

    shape: tuple[int, ...]
    dtype: "np.dtype[Any]"
    read: Callable[[], NDArray[Any]]
    open: Callable[[], StoredView]

    def __str__(self) -> str:
        return _described(self.shape, self.dtype)

    @property
    def nbytes(self) -> float:
        """Number of bytes of all values."""
        return float(np.prod(self.shape, dtype=float)) * self.dtype.itemsize

    @property
    def is_matrix(self) -> bool:
        """Whether it can be a view."""
        return len(self.shape) == 2 and self.dtype.kind in "biuf" and 0 not in self.shape


@dataclass(frozen=True)
class OtherArray:
    """An array in a MATLAB file that cannot be a view, and that is not read."""

    shape: tuple[int, ...]
    kind: str

    def __str__(self) -> str:
        return _described(self.shape, self.kind)


def _described(shape: tuple[int, ...], kind: object) -> str:
    return f"{' x '.join(map(str, shape)) or 'one'} {kind} values"


def open_arrays(path: Path, arrays: dict[str, UnreadArray], labels: str | None) -> ViewFile:
    """Open the views, whose rows are samples, and read class labels and availability."""
    label_name = single_label_name(arrays, labels)
    if labels is not None and not any(labels in (n, n.rpartition("/")[2]) for n in arrays):
        raise labels_not_there_error(labels)
    matrices = {
        name: arrays[name]
        for name in sorted(arrays, key=natural)
        if arrays[name].is_matrix and name != label_name
    }
    availability_name, available = _availability(matrices)
    if availability_name is not None:
        del matrices[availability_name]
    if not matrices:
        raise _no_views_error(arrays)
    known = {*matrices, label_name, availability_name}
    _explain_others({name: array for name, array in arrays.items() if name not in known})
    target = None
    if label_name is not None:
        array = arrays[label_name]
        # Only vectors are read: anything else may be too large.
        is_vector = np.prod(array.shape) == max(array.shape, default=0)
        target = label_vector(_read(array)) if is_vector else None
        if target is None:
            raise _labels_error(label_name)
    _require_same_samples(matrices, target)
    views = {name: array.open() for name, array in matrices.items()}
    return ViewFile(dict(views), target, path, None, available)


def _read(array: UnreadArray) -> NDArray[Any]:
    require_free_memory(array.nbytes, f"an array of {array}")
    return array.read()


def _explain_others(others: dict[str, Any]) -> None:
    """Refuse arrays that may be meant as views, and warn about others, as they are not used."""
    descriptions = {name: _described(array.shape, array.dtype) for name, array in others.items()}
    for name, array in others.items():
        if len(array.shape) > 1:
            raise DataFileError(
                f"{name!r} holds {descriptions[name]}. A view is a 2-D array of real numbers, "
                "samples x features, and is not empty. Convert or remove it."
            )
    _warn_of_ignored("neither views nor class labels", descriptions)


def _warn_of_ignored(what: str, arrays: Mapping[str, object]) -> None:
    if arrays:
        shown = ", ".join(f"{name!r} ({array})" for name, array in arrays.items())
        warnings.warn(f"Arrays that are {what} are ignored: {shown}.", UserWarning, stacklevel=2)


def _availability(
    matrices: dict[str, UnreadArray],
) -> tuple[str | None, NDArray[np.bool_] | None]:
    """Return the name and contents of the matrix that says which samples have which views."""
    named = [name for name in matrices if is_availability_name(name.rpartition("/")[2])]
    views = [array for name, array in matrices.items() if name not in named]
    if not views:
        return None, None
    shape = (views[0].shape[0], len(views))
    # A matrix of another shape and type is a view that only has such a name.
    named = [n for n in named if matrices[n].shape == shape or matrices[n].dtype.kind == "b"]
    _require_single_availability(named)
    for name in named:
        matrix = matrices[name]
        available = _as_availability(_read(matrix)) if matrix.shape == shape else None
        if available is None:
            raise _availability_error(name, *shape)
        return name, available
    return None, None


def views_among(contents: Variables, path: Path, labels: str | None, *, matlab: bool) -> ViewFile:
    """Separate views, class labels and availability; samples become rows.

    With `matlab`, views are selected by MATLAB conventions, and samples may be columns.
    """
    select = _matlab_views if matlab else _matrices
    variables = {n: value for n, value in contents.items() if not is_label_name(n, labels)}
    # A matrix of zeros and ones with a name of availability may still be a view. It is one if it
    # does not fit the other views as their availability.
    binary = {
        name: available
        for name, value in variables.items()
        if is_availability_name(name) and _is_matrix(value)
        if (available := _as_availability(value)) is not None
    }
    selected = select(_without(variables, binary))
    if not selected:
        binary, selected = {}, select(variables)
    if not selected:
        raise _no_views_error(contents)
    target = _class_labels(contents, labels)
    views = _samples_as_rows(selected, target, matlab)
    shape = (next(iter(views.values())).shape[0], len(views))
    fitting = {name: m for name, m in binary.items() if shape in (m.shape, m.shape[::-1])}
    possible = select(_without(variables, fitting))
    for name, value in _without(variables, [*selected, *fitting]).items():
        if not (is_availability_name(name) and _is_matrix(value)):
            continue
        if name in possible:
            refused = shape[0] not in value.shape
        else:
            # MATLAB's vectors are 2-D too, and often hold an order of the samples.
            alike = name in binary or shape in (value.shape, value.shape[::-1])
            refused = alike and min(value.shape) > 1
        if refused:
            raise _availability_error(name, *shape)
    if len(possible) > len(selected):
        views = _samples_as_rows(possible, target, matlab)
        if fitting:
            raise _availability_error(next(iter(fitting)), shape[0], len(views))
    _require_single_availability(fitting)
    available = next(iter(fitting.values()), None)
    if available is not None and available.shape != shape:
        available = available.T
    if matlab:
        others = {n: value for n, value in contents.items() if isinstance(value, OtherArray)}
        _warn_of_ignored("not matrices of real numbers", others)
    else:
        _explain_others({n: value for n, value in variables.items() if not _is_matrix(value)})
    return ViewFile(views, target, path, None, available)


def _without(variables: Variables, names: Iterable[str]) -> Variables:
    return {name: value for name, value in variables.items() if name not in names}


def _matlab_views(variables: Variables) -> dict[str, Matrix]:
    """Select the views by MATLAB conventions: a cell array, numbered matrices, or all others."""
    lists = {name: value for name, value in variables.items() if isinstance(value, list) and value}
    cells = {name: value for name, value in lists.items() if all(map(_is_matrix, value))}
    for name, value in lists.items():
        others = [item for item in value if isinstance(item, OtherArray)]
        if others and (name == "X" or not cells):
            raise DataFileError(
                f"the cell array {name!r} holds {others[0]}. A view is a matrix of real numbers. "
                "Convert or remove it."
            )
    if cells:
        if "X" not in cells and len(cells) > 1:
            raise DataFileError(
                f"several cell arrays of matrices: {', '.join(map(repr, cells))}. Give the name X "
                "to the one with the views."
            )
        matrices = cells.get("X", next(iter(cells.values())))
        return {f"view_{i}": matrix for i, matrix in enumerate(matrices)}
    views = _matrices(variables)
    numbered = {name: view for name, view in views.items() if _is_numbered(name)}
    for name, other in variables.items():
        if isinstance(other, OtherArray) and (_is_numbered(name) or not numbered):
            raise DataFileError(
                f"{name!r} holds {other}. A view is a matrix of real numbers. Convert or remove it."
            )
    # MATLAB's scalars and vectors are 2-D too: parameters, indices, weights.
    return numbered or {name: view for name, view in views.items() if min(view.shape) > 1}


def other_array(shape: tuple[int, ...], kind: str) -> OtherArray | None:
    """An array that cannot be a view; None for scalars and vectors, which are parameters."""
    return OtherArray(shape, kind) if len(shape) > 2 or min(shape) > 1 else None


def _matrices(variables: Variables) -> dict[str, Matrix]:
    """Select all matrices, in the natural order of their names."""
    return {
        name: value
        for name, value in sorted(variables.items(), key=lambda item: natural(item[0]))
        if _is_matrix(value)
    }


def _is_numbered(name: str) -> bool:
    return re.fullmatch(r"[xX]_?\d+", name) is not None


def _is_matrix(value: object) -> TypeGuard[Matrix]:
    return (
        isinstance(value, np.ndarray | sparse.csc_array | StoredView)
        and value.ndim == 2
        and value.dtype.kind in "biuf"
        and min(value.shape) > 0
    )


def _class_labels(variables: Variables, name: str | None) -> NDArray[Any] | None:
    names = by_precedence(variables, name)
    vectors = {
        name: labels for name in names if (labels := label_vector(variables[name])) is not None
    }
    if not vectors:
        if names:
            raise _labels_error(names[0])
        return None
    used, *others = vectors
    ignored = [name for name in others if not np.array_equal(vectors[name], vectors[used])]
    if ignored:
        warnings.warn(
            f"{quoted(used)} is read as the class labels, and {listed(ignored)}, which differs, is "
            "ignored. Remove from the file what is not to be used.",
            UserWarning,
            stacklevel=2,
        )
    return vectors[used]


def _samples_as_rows(
    matrices: dict[str, Matrix], target: NDArray[Any] | None, columns_allowed: bool
) -> dict[str, View]:
    rows = {matrix.shape[0] for matrix in matrices.values()}
    columns = {matrix.shape[1] for matrix in matrices.values()}
    if target is None:
        in_columns = len(columns) == 1 and len(rows) > 1
    else:
        in_columns = columns == {len(target)} and rows != {len(target)}
    if in_columns and columns_allowed:
        matrices = {name: matrix.T for name, matrix in matrices.items()}
    _require_same_samples(matrices, target)
    return {name: _as_view(matrix) for name, matrix in matrices.items()}


def _require_same_samples(matrices: dict[str, Matrix], target: NDArray[Any] | None) -> None:
    """Raise if the numbers of rows, or of class labels, differ."""
    rows = {matrix.shape[0] for matrix in matrices.values()}
    shapes = ", ".join(f"{name} {m.shape[0]} x {m.shape[1]}" for name, m in matrices.items())
    in_columns = len({matrix.shape[1] for matrix in matrices.values()}) == 1
    advice = " If samples are columns, transpose the views." if in_columns else ""
    if len(rows) > 1:
        raise DataFileError(
            f"the views differ in their number of samples: {shapes}. All views need the same "
            f"samples as rows, in the same order.{advice}"
        )
    if target is not None and rows != {len(target)}:
        raise DataFileError(
            f"{len(target)} class labels do not fit the views: {shapes}. Store one label per "
            f"sample.{advice}"
        )


def _as_view(matrix: Matrix) -> View:
    if isinstance(matrix, StoredView):
        return matrix
    view = sparse.csr_array(matrix) if sparse.issparse(matrix) else matrix
    # Compiled code downstream requires native byte order.
    return view.astype(view.dtype.newbyteorder("="), copy=False)


def is_availability_name(name: str) -> bool:
    """Whether a name is one of a matrix that says which samples have which views."""
    return name.lower() in AVAILABILITY_NAMES


def _as_availability(matrix: Any) -> NDArray[np.bool_] | None:
    """Convert a matrix of zeros and ones to booleans; None if it holds anything else."""
    entries = matrix.data if sparse.issparse(matrix) else np.asarray(matrix)
    if not np.isin(entries, (0, 1)).all():
        return None
    return (matrix.toarray() if sparse.issparse(matrix) else entries).astype(bool)


def _availability_error(name: str, n_samples: int, n_views: int) -> DataFileError:
    return DataFileError(
        f"{name!r} is named like an availability matrix (which samples have which views), but is "
        f"not {n_samples} x {n_views} (samples x views) of zeros and ones. Correct or rename it."
    )


def _require_single_availability(names: Iterable[str]) -> None:
    if len(several := list(names)) > 1:
        raise DataFileError(
            f"several availability matrices: {' and '.join(map(repr, several))}. Keep one."
        )


def _no_views_error(names: Iterable[str]) -> DataFileError:
    return DataFileError(
        f"no views inside, only {', '.join(map(repr, names)) or 'nothing'}. Store each view as a "
        "2-D numeric array, samples x features, under a name that is not one of class labels."
    )


def _labels_error(name: str) -> DataFileError:
    return DataFileError(
        f"{name!r} is named like class labels but is not one vector of integers or strings. Store "
        "one label per sample, or rename it."
    )
