"""What all file formats share: errors that name the file, and class labels."""

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anchorview._utils.errors import DataFileError
from anchorview._utils.memory import free_memory
from anchorview._utils.text import format_bytes, one_line

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
        raise permission_error(error.filename or path) from error
    # Parsers raise nearly any type of exception on a damaged file.
    except Exception as error:
        kind = path.suffix.lower() or "a folder of views"
        raise DataFileError(
            f"{path}: cannot be read as {kind} ({type(error).__name__}: {one_line(error)}). The "
            "file is truncated, damaged or of another format: download or export it again."
        ) from error


def permission_error(path: Any) -> DataFileError:
    """Error about a file or folder that may not be read."""
    return DataFileError(
        f"{path}: cannot be read: permission denied. Change its permissions, or ask its owner."
    )


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
    if path.exists() and not path.is_file():
        kind = "a folder" if path.is_dir() else "a pipe, a socket or a device"
        raise DataFileError(f"{path}: cannot be read: it is {kind}, not a file. Remove it.")


def natural(name: str) -> list[str | int]:
    """Sort key that orders numbers within names by value: view_2 before view_10."""
    # Splitting at digits alternates text and numbers, so only like types are compared.
    return [int(part) if i % 2 else part for i, part in enumerate(re.split("([0-9]+)", name))]


_given_name: ContextVar[str | None] = ContextVar("name_of_class_labels", default=None)
_is_found: ContextVar[bool] = ContextVar("class_labels_found", default=False)


@contextmanager
def labels_named(name: str | None, path: Path) -> Iterator[None]:
    """Read class labels from the variable, column or file of a name inside the block.

    Raises a DataFileError at its end if nothing has the name. None stands for the usual names.
    """
    tokens = _given_name.set(name), _is_found.set(False)
    try:
        yield
        if name is not None and not _is_found.get():
            raise DataFileError(
                f"{path}: holds nothing named {name!r} for the class labels. Check the name."
            )
    finally:
        _given_name.reset(tokens[0])
        _is_found.reset(tokens[1])


def is_given_label_name(name: object) -> bool:
    """Whether a name is the one of :func:`labels_named`."""
    is_given = name is not None and name == _given_name.get()
    if is_given:
        _is_found.set(True)
    return is_given


def is_label_name(name: str) -> bool:
    """Whether a name is reserved for class labels."""
    return is_given_label_name(name) or name.lower() in LABEL_NAMES


def by_precedence(names: Iterable[str]) -> list[str]:
    """Return those of the names that are reserved for class labels, by precedence."""
    found = list(filter(is_label_name, names))
    given = list(filter(is_given_label_name, found))
    return given or sorted(found, key=lambda name: LABEL_NAMES.index(name.lower()))


def single_label_name(names: Iterable[str]) -> str | None:
    """Return the one name whose last part is reserved for class labels; None if there is none."""
    found = [
        name
        for name in names
        if is_given_label_name(name) or is_label_name(name.rpartition("/")[2])
    ]
    if len(found) > 1:
        raise DataFileError(f"several names of class labels: {', '.join(found)}. Keep one.")
    return found[0] if found else None


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
    found = values.reindex(ids)
    missing = found.isna().to_numpy()
    if missing.any():
        raise DataFileError(
            f"{source} has no class label for the sample {str(ids[missing][0])!r}. Add it, or "
            "remove the labels."
        )
    labels = label_vector(np.asarray(found.tolist()))
    if labels is None:
        raise DataFileError(
            f"{source} holds class labels that are not integers or strings. Encode them."
        )
    return pd.Series(labels, index=ids, name=values.name)
