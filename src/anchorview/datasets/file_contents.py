"""What all file formats share: options, errors that name the file, and class labels."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anchorview._utils.errors import DataFileError
from anchorview._utils.memory import free_memory
from anchorview._utils.text import format_bytes, listed, one_line
from anchorview.views.anndata_matrices import ViewSelection

LABEL_NAMES = ("y", "gt", "truth", "truelabel", "label", "labels", "target", "gnd")
"""Names of class labels, in any case; the first ones take precedence."""


@contextmanager
def data_file_errors(path: Path) -> Iterator[None]:
    """Turn any exception raised while reading a file into a DataFileError that names the file."""
    try:
        yield
    except DataFileError as error:
        message = one_line(error)
        names = (f"{p}{end}" for p in (path, path.absolute()) for end in (": ", os.sep))
        named = message.startswith(tuple(names))
        raise type(error)(message if named else f"{path}: {message}") from None
    except MemoryError as error:
        raise DataFileError(
            f"{path}: the arrays it declares do not fit into memory. If the file is not damaged, "
            "use a machine with more memory or keep fewer samples."
        ) from error
    except PermissionError as error:
        raise DataFileError(
            f"{error.filename or path}: cannot be read: permission denied. Change its permissions, "
            "or ask its owner."
        ) from error
    # Parsers raise nearly any type of exception on a damaged file.
    except Exception as error:
        kind = path.suffix.lower() or "a folder of views"
        raise DataFileError(
            f"{path}: cannot be read as {kind} ({type(error).__name__}: {one_line(error)}). The "
            "file is truncated, damaged or of another format: download or export it again."
        ) from error


def require_free_memory(needed: float, what: str) -> None:
    """Raise if what a file declares to hold does not fit into memory, before it is read."""
    free = free_memory()
    if needed > free:
        raise DataFileError(
            f"{what} needs {format_bytes(needed)} of memory, but {format_bytes(free)} are free. If "
            "the file is not damaged, use a machine with more memory or keep fewer samples."
        )


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
    """Options of :func:`read_views`; apart from `labels`, each is for some formats only."""

    labels: str | None = None
    """Name of the class labels; None for the usual names."""
    id_column: str | bool = True
    """Column of tables with the sample ids; True for the first one, False if there is none."""
    header: bool = True
    """Whether the first row of a CSV file has the names of the columns."""
    views: ViewSelection | None = None
    """Which matrices of a file with several per view are read, or which tables of a folder."""
    categorical: tuple[str, ...] = ()
    """Columns of tables that are categories, each as a name or as table:name."""
    drop: tuple[str, ...] = ()
    """Columns of tables that are left out, likewise."""

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
    last = name.rpartition("/")[2]
    return labels in (name, last) or last.lower() in LABEL_NAMES


def by_precedence(names: Iterable[str], labels: str | None) -> list[str]:
    """Return `labels`, which must be there, or the usual names of class labels by precedence."""
    if labels is None:
        by_rank = {name: name.rpartition("/")[2].lower() for name in names}
        usual = [name for name in by_rank if by_rank[name] in LABEL_NAMES]
        return sorted(usual, key=lambda name: LABEL_NAMES.index(by_rank[name]))
    found = [name for name in names if labels in (name, name.rpartition("/")[2])]
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
    """Return the class labels of these samples, as int64 or strings.

    `values` may have labels of other samples too; `source` names their place in messages.
    """
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
