"""What all file formats share: options, errors that name the file, and what its arrays are.

Views, class labels and availability are found among arrays that are read or not read yet.
"""

import os
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, TypeGuard

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from anchorview._utils.errors import DataFileError
from anchorview._utils.stores import STORE_ADVICE, in_store
from anchorview._utils.text import listed, one_line, quoted
from anchorview._utils.typing import Matrix
from anchorview.views.anndata_matrices import ViewSelection
from anchorview.views.stored_view import StoredView, View, ViewFile

LABEL_NAMES = ("y", "gt", "truth", "truelabel", "label", "labels", "target", "gnd")
"""Names of class labels, in any case; the first ones take precedence."""

AVAILABILITY_NAMES = ("available", "availability", "mask", "index", "ind", "indicator", "presence")
"""Names, in any case, of a matrix that says which samples have which views."""

ROWS_EXAMINED = 1024
"""Rows by which a matrix is taken for one of zeros and ones before it is read as a whole."""

NUMBERED = re.compile(r"[xX]_?\d+")

Variables: TypeAlias = dict[str, object]
"""Contents of a file by name."""


@contextmanager
def data_file_errors(path: Path, subject: str = "") -> Iterator[None]:
    """Turn any exception into a DataFileError that names a file, or a part of it: `subject`."""
    try:
        yield
    except DataFileError as error:
        message = one_line(error)
        names = tuple(f"{p}{end}" for p in (path, path.absolute()) for end in (": ", os.sep))
        named = message if message.startswith(names) else f"{subject or path}: {message}"
        raise type(error)(named) from None
    except MemoryError as error:
        raise DataFileError(
            f"{path}: does not fit into memory ({one_line(error).rstrip('.')}). If the file is not "
            "damaged, use a machine with more memory or keep fewer samples."
        ) from error
    except PermissionError as error:
        raise DataFileError(
            f"{error.filename or path}: cannot be read: permission denied. Change its permissions, "
            "or ask its owner."
        ) from error
    except Warning:
        # Warnings may have been made errors.
        raise
    # Parsers raise nearly any type of exception on a damaged file.
    except Exception as error:
        kind = path.suffix.lower() or "a folder of views"
        advice = "The file is truncated, damaged or of another format: download or export it again."
        raise DataFileError(
            f"{path}: cannot be read as {kind} ({type(error).__name__}: {one_line(error)}). "
            f"{STORE_ADVICE if in_store(path) else advice}"
        ) from error


def require_regular_file(path: Path) -> None:
    """Raise if a path is not a file that can be read to its end, as pipes and devices are not."""
    if not path.exists():
        raise DataFileError(f"{path}: no such file. Check the path.")
    if not path.is_file():
        kind = "a folder" if path.is_dir() else "a pipe, a socket or a device"
        raise DataFileError(f"{path}: cannot be read: it is {kind}, not a file. Remove it.")


def natural(name: str) -> list[str | int]:
    """Sort key that orders numbers within names by value: view_2 before view_10."""
    # Splitting at digits alternates text and numbers, so only like types are compared.
    return [int(part) if i % 2 else part for i, part in enumerate(re.split("([0-9]+)", name))]


@dataclass(frozen=True)
class ReadOptions:
    """Parameters of :func:`read_views`; apart from `labels`, each is for some formats only."""

    labels: str | None = None
    id_column: str | bool = True
    header: bool = True
    csv: Mapping[str, Any] | None = None
    views: ViewSelection | None = None
    categorical: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()

    def named(self, option: str, table: str, columns: Iterable[Any]) -> list[Any]:
        """Columns of a table that an option names."""
        given = getattr(self, option)
        return [name for name in columns if str(name) in given or f"{table}:{name}" in given]

    def require_columns(self, columns: Mapping[str, list[Any]]) -> None:
        """Raise if a column that is to be left out or a category is in none of the tables."""
        known = {f"{table}:{name}": str(name) for table in columns for name in columns[table]}
        for option in ("drop", "categorical"):
            for given in getattr(self, option):
                if given not in known and given not in known.values():
                    raise DataFileError(
                        f"{option}= names the column {given!r}, which is not there. The columns "
                        f"are {listed(list(known), most=30)}."
                    )

    @property
    def has_ids(self) -> bool:
        """Whether tables have sample ids."""
        return self.id_column is not False

    def id_position(self, columns: Sequence[Any]) -> int | None:
        """Position of the sample ids among the columns; None without ids."""
        if isinstance(self.id_column, bool):
            return 0 if self.id_column else None
        if self.id_column not in columns:
            raise DataFileError(
                f"no column {self.id_column!r} for the sample ids; the first ones are "
                f"{', '.join(map(repr, columns[:5]))}. Correct id_column."
            )
        return list(columns).index(self.id_column)


def labels_not_there_error(name: str) -> DataFileError:
    """Error about class labels under a name that the file does not have."""
    return DataFileError(f"holds nothing named {name!r} for the class labels. Check the name.")


def is_label_name(name: str, labels: str | None) -> bool:
    """Whether a name, or its last part, is `labels` or one of the usual names of class labels."""
    return labels in (name, _last_part(name)) or _last_part(name).lower() in LABEL_NAMES


def _last_part(name: str) -> str:
    return name.rpartition("/")[2]


def by_precedence(names: Iterable[str], labels: str | None) -> list[str]:
    """Return `labels`, which must be there, or the usual names of class labels by precedence."""
    if labels is None:
        usual = (name for name in names if is_label_name(name, None))
        return sorted(usual, key=lambda name: LABEL_NAMES.index(_last_part(name).lower()))
    found = [name for name in names if labels in (name, _last_part(name))]
    if not found:
        raise labels_not_there_error(labels)
    return found


def label_vector(value: object) -> NDArray[Any] | None:
    """Class labels as a 1-D array of int64 or strings; None if the value cannot be converted."""
    if isinstance(value, list):
        # Some files repeat the labels for each view.
        copies = [copy for item in value if (copy := label_vector(item)) is not None]
        same = len(copies) == len(value) and all(np.array_equal(copies[0], c) for c in copies)
        return copies[0] if copies and same else None
    if not isinstance(value, np.ndarray) or not 0 < value.size == max(value.shape, default=0):
        return None
    vector = value.ravel()
    if vector.dtype.kind == "U":
        return vector
    if vector.dtype.kind == "f":
        vector = vector.astype(np.float64)
        # Beyond 2**53, floats do not distinguish neighboring integers.
        if not (np.all(np.abs(vector) < 2**53) and np.all(vector % 1 == 0)):
            return None
    return vector.astype(np.int64) if vector.dtype.kind in "biuf" else None


def labels_by_id(values: "pd.Series[Any]", ids: "pd.Index[Any]", source: str) -> "pd.Series[Any]":
    """Return the class labels of these samples, as int64 or strings; `source` is their place."""
    known = values.reindex(ids)
    missing = known.isna().to_numpy()
    if missing.any():
        raise DataFileError(
            f"{source} has no class label for the sample {str(ids[missing][0])!r}. Add it, or "
            "remove the labels."
        )
    labels = label_vector(np.asarray(known.tolist()))
    if labels is None:
        raise DataFileError(
            f"{source} holds class labels that are not integers or strings. Encode them."
        )
    return pd.Series(labels, index=ids, name=values.name)


@dataclass(frozen=True)
class OtherArray:
    """An array that cannot be a view, and that is not read."""

    shape: tuple[int, ...]
    kind: object

    def __str__(self) -> str:
        return f"{' x '.join(map(str, self.shape)) or 'one'} {self.kind} values"


def opened_views(
    arrays: Mapping[str, Any],
    path: Path,
    labels: str | None,
    read: Callable[[Any], NDArray[Any]],
    open_view: Callable[[Any], StoredView],
) -> ViewFile:
    """Read class labels among arrays that are not read yet, and open those that can be views."""
    contents: Variables = {}
    for name, array in arrays.items():
        shape, dtype = array.shape, array.dtype
        # Of what is named like labels, only vectors are read: anything else may be too large.
        is_vector = np.prod(shape, dtype=float) == max(shape, default=0)
        if is_vector and is_label_name(name, labels):
            contents[name] = read(array)
        else:
            is_view = _can_be_view(shape, dtype)
            contents[name] = open_view(array) if is_view else OtherArray(shape, dtype)
    return views_among(contents, path, labels)


def views_among(
    contents: Variables, path: Path, labels: str | None, *, matlab: bool = False
) -> ViewFile:
    """Separate views, class labels and availability; with `matlab`, samples may be columns."""
    select = _matlab_views if matlab else _matrices
    variables = {n: value for n, value in contents.items() if not is_label_name(n, labels)}
    named = {
        name: value
        for name, value in variables.items()
        if _last_part(name).lower() in AVAILABILITY_NAMES and _is_matrix(value)
    }
    masks = {
        name
        for name, matrix in named.items()
        # MATLAB's vectors are 2-D too, and often hold an order of the samples.
        if (not matlab or min(matrix.shape) > 1)
        and _as_availability(matrix[:ROWS_EXAMINED]) is not None
    }
    others = {name: value for name, value in variables.items() if name not in masks}
    selected = select(others) or select(variables)
    if not selected:
        raise DataFileError(
            f"no views inside, only {', '.join(map(repr, contents)) or 'nothing'}. Store each view "
            "as a 2-D numeric array, samples x features, under a name that is not one of class "
            "labels."
        )
    target = _class_labels(contents, labels)
    views = _samples_as_rows(selected, target, matlab)
    shape = (next(iter(views.values())).shape[0], len(views))
    available = None
    for name, matrix in named.items():
        fits = shape in (matrix.shape, matrix.shape[::-1])
        if name not in selected and (fits or name in masks):
            mask = _as_availability(matrix) if fits else None
            if mask is None or available is not None:
                raise DataFileError(
                    f"{name!r} is named like an availability matrix (which samples have which "
                    f"views), but is not the only {shape[0]} x {shape[1]} (samples x views) matrix "
                    "of zeros and ones. Correct or rename it."
                )
            available = mask if mask.shape == shape else mask.T
    _explain_others(variables, matlab)
    return ViewFile(views, target, path, None, available)


def _matlab_views(variables: Variables) -> dict[str, Matrix]:
    """Select the views by MATLAB conventions: a cell array, numbered matrices, or all others."""
    lists = {name: value for name, value in variables.items() if isinstance(value, list) and value}
    cells = {name: value for name, value in lists.items() if all(map(_is_matrix, value))}
    for name, value in lists.items():
        others = [item for item in value if isinstance(item, OtherArray)]
        if others and (name == "X" or not cells):
            raise _not_a_view_error(f"the cell array {name!r}", others[0])
    if cells:
        if "X" not in cells and len(cells) > 1:
            raise DataFileError(
                f"several cell arrays of matrices: {', '.join(map(repr, cells))}. Give the name X "
                "to the one with the views."
            )
        matrices = cells.get("X", next(iter(cells.values())))
        return {f"view_{i}": matrix for i, matrix in enumerate(matrices)}
    views = _matrices(variables)
    numbered = {name: view for name, view in views.items() if NUMBERED.fullmatch(name)}
    for name, other in variables.items():
        if isinstance(other, OtherArray) and (NUMBERED.fullmatch(name) or not numbered):
            raise _not_a_view_error(repr(name), other)
    # MATLAB's scalars and vectors are 2-D too: parameters, indices, weights.
    return numbered or {name: view for name, view in views.items() if min(view.shape) > 1}


def _matrices(variables: Variables) -> dict[str, Matrix]:
    """Select all matrices, in the natural order of their names."""
    return {
        name: value
        for name, value in sorted(variables.items(), key=lambda item: natural(item[0]))
        if _is_matrix(value)
    }


def _is_matrix(value: object) -> TypeGuard[Matrix]:
    kinds = np.ndarray | sparse.csc_array | StoredView
    return isinstance(value, kinds) and _can_be_view(value.shape, value.dtype)


def _can_be_view(shape: tuple[int, ...], dtype: "np.dtype[Any]") -> bool:
    return len(shape) == 2 and dtype.kind in "biuf" and min(shape) > 0


def _explain_others(variables: Variables, matlab: bool) -> None:
    """Refuse arrays that may be meant as views, and warn about others, as they are not used."""
    others = {n: value for n, value in variables.items() if isinstance(value, OtherArray)}
    if not matlab:
        for name, value in variables.items():
            if isinstance(value, np.ndarray) and not _is_matrix(value):
                others[name] = OtherArray(value.shape, value.dtype)
        for name, other in others.items():
            if len(other.shape) > 1:
                raise _not_a_view_error(repr(name), other)
    if others:
        shown = ", ".join(f"{name!r} ({other})" for name, other in others.items())
        warnings.warn(
            f"Arrays that are neither views nor class labels are ignored: {shown}.",
            stacklevel=2,
        )


def _not_a_view_error(name: str, other: OtherArray) -> DataFileError:
    return DataFileError(
        f"{name} holds {other}. A view is a 2-D array of real numbers, samples x features, and is "
        "not empty. Convert or remove it."
    )


def _class_labels(variables: Variables, labels: str | None) -> NDArray[Any] | None:
    """Class labels under the first of their names; None without such a name."""
    names = by_precedence(variables, labels)
    values = {name: label_vector(variables[name]) for name in names}
    vectors = {name: vector for name, vector in values.items() if vector is not None}
    if names and not vectors:
        raise DataFileError(
            f"{names[0]!r} is named like class labels but is not one vector of integers or "
            "strings. Store one label per sample, or rename it."
        )
    if not vectors:
        return None
    used, *others = vectors
    ignored = [name for name in others if not np.array_equal(vectors[name], vectors[used])]
    if ignored:
        warnings.warn(
            f"{quoted(used)} is read as the class labels, and {listed(ignored)}, which differs, is "
            "ignored. Remove from the file what is not to be used.",
            stacklevel=2,
        )
    return vectors[used]


def _samples_as_rows(
    matrices: dict[str, Matrix], target: NDArray[Any] | None, columns_allowed: bool
) -> dict[str, View]:
    """Views with as many rows as there are class labels; raise if the numbers of samples differ."""
    rows = {matrix.shape[0] for matrix in matrices.values()}
    columns = {matrix.shape[1] for matrix in matrices.values()}
    if target is None:
        in_columns = len(columns) == 1 and len(rows) > 1
    else:
        in_columns = columns == {len(target)} and rows != {len(target)}
    if in_columns and columns_allowed:
        matrices = {name: matrix.T for name, matrix in matrices.items()}
        rows, columns = columns, rows
    shapes = ", ".join(f"{name} {m.shape[0]} x {m.shape[1]}" for name, m in matrices.items())
    advice = " If samples are columns, transpose the views." if len(columns) == 1 else ""
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
    return {name: _as_view(matrix) for name, matrix in matrices.items()}


def _as_view(matrix: Matrix) -> View:
    if isinstance(matrix, StoredView):
        return matrix
    view = sparse.csr_array(matrix) if sparse.issparse(matrix) else matrix
    # Compiled code downstream requires native byte order.
    return view.astype(view.dtype.newbyteorder("="), copy=False)


def _as_availability(matrix: Any) -> NDArray[np.bool_] | None:
    """Convert a matrix of zeros and ones to booleans; None if it holds anything else."""
    entries = matrix.data if sparse.issparse(matrix) else np.asarray(matrix)
    if not np.isin(entries, (0, 1)).all():
        return None
    return (matrix.toarray() if sparse.issparse(matrix) else entries).astype(bool)
