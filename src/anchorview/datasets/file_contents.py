"""What is read from a file or folder of views, and the errors if it cannot be."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from anchorview._utils.errors import DataFileError
from anchorview._utils.text import one_line
from anchorview.views.view_file import View

#: Names of labels in any case, most telling first.
LABEL_NAMES = ("y", "gt", "truth", "truelabel", "label", "labels", "target", "gnd")


@contextmanager
def naming_file(path: Path) -> Iterator[None]:
    """Turn whatever is raised in reading a file into a DataFileError that names it."""
    try:
        yield
    except DataFileError as error:
        message = one_line(error)
        whole = path.absolute()
        named = message.startswith(
            tuple(f"{p}{end}" for p in (path, whole) for end in (": ", os.sep))
        )
        raise type(error)(message if named else f"{path}: {message}") from None
    except MemoryError as error:
        raise DataFileError(
            f"{path}: what it says it holds does not fit into memory. If it is not damaged, "
            "take a machine with more memory or keep fewer samples."
        ) from error
    # The parsers answer a damaged file with nearly any type of exception.
    except Exception as error:
        kind = path.suffix.lower() or "a folder of views"
        raise DataFileError(
            f"{path}: cannot be read as {kind} ({type(error).__name__}: {one_line(error)}). The "
            "file is truncated, damaged or of another format: download or export it again."
        ) from error


def natural(name: str) -> list[str | int]:
    """Sort key that orders numbers within names by value: view_2 before view_10."""
    # Splitting at digits alternates text and number, so like is compared with like.
    return [int(part) if i % 2 else part for i, part in enumerate(re.split("([0-9]+)", name))]


def is_label_name(name: str) -> bool:
    """Whether what has this name is labels, never a view."""
    return name.lower() in LABEL_NAMES


def label_vector(value: object) -> NDArray[Any] | None:
    """Labels as a 1-D vector of int64 or strings; None if the value cannot be that."""
    if isinstance(value, list):
        # Some files repeat the labels for each view.
        copies = [label_vector(item) for item in value]
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
        # Beyond 2**53 a float does not tell neighboring integers apart.
        if not (np.all(np.abs(vector) < 2**53) and np.all(vector % 1 == 0)):
            return None
    return vector.astype(np.int64) if vector.dtype.kind in "biuf" else None


def _same(first: NDArray[Any] | None, second: NDArray[Any] | None) -> bool:
    return first is not None and second is not None and np.array_equal(first, second)


def named_target(values: "pd.Series[Any]", ids: "pd.Index[Any]", source: str) -> "pd.Series[Any]":
    """Labels by sample id, for exactly these samples, as int64 or strings.

    Parameters
    ----------
    values : Series
        Labels by unique sample id; those of other samples are left out.
    ids : Index
        The samples.
    source : str
        What messages call the place of the labels.
    """
    found = values.reindex(ids)
    missing = found.isna().to_numpy()
    if missing.any():
        raise DataFileError(
            f"{source} has no class for the sample {str(ids[missing][0])!r}. Add it, or take the "
            "labels away."
        )
    plain = np.asarray(found.tolist())
    labels = label_vector(plain)
    if labels is None:
        raise DataFileError(
            f"{source} holds classes that are not whole numbers or strings. Encode them."
        )
    return pd.Series(labels, index=ids, name=values.name)


def availability(
    views: dict[str, View], given: "NDArray[np.bool_] | None", zero_rows_missing: bool
) -> "NDArray[np.bool_] | None":
    """Which samples have which views, from what is given and what the rows hold.

    Parameters
    ----------
    views : dict of str to view
        All views of the same samples.
    given : array of bool of shape (n_samples, n_views), or None
        What the file says itself.
    zero_rows_missing : bool
        Whether rows of zeros count as missing, as rows of NaN always do.

    Returns
    -------
    array of bool of shape (n_samples, n_views), or None
        None if every sample has every view.
    """
    n_samples = next(iter(views.values())).shape[0]
    available = np.ones((n_samples, len(views)), dtype=bool) if given is None else given.copy()
    for p, view in enumerate(views.values()):
        values = view if isinstance(view, sparse.csr_array) else np.asarray(view)
        if zero_rows_missing:
            # A sparse matrix may store zeros, so counting its entries would not do.
            available[:, p] &= values.astype(bool).sum(axis=1) > 0
        if isinstance(values, np.ndarray) and values.dtype.kind == "f":
            # The first column rules out nearly all rows, so the rest is rarely looked at.
            suspects = np.flatnonzero(np.isnan(values[:, 0]))
            available[suspects[np.isnan(values[suspects]).all(axis=1)], p] = False
    return None if available.all() else available
