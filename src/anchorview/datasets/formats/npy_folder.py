"""Folders with one ``.npy`` file per view."""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anchorview._utils.errors import DataFileError
from anchorview.datasets.file_arrays import OtherArray, Variables, stored_variable, views_among
from anchorview.datasets.file_contents import (
    ReadOptions,
    data_file_errors,
    require_regular_file,
)
from anchorview.datasets.formats.npy import npy_header, open_npy
from anchorview.datasets.formats.table_folder import TABLE_SUFFIXES, files_by_name
from anchorview.views.stored_view import Target, View, ViewFile

LABELS = "labels"
SAMPLE_IDS = "sample_ids"
RESULT_VECTORS = ("confidence", "second_labels")
"""Vectors that a fit writes beside the embedding and the labels; they are no views."""

LEVEL_LABELS = "level_labels"
"""Labels at other numbers of clusters, a column each; they are no view either."""

FEATURE_NAMES = "feature_names.json"
"""Names of the features by view."""


def open_npy_folder(folder: Path, options: ReadOptions) -> ViewFile:
    """Open the files of a folder."""
    files = files_by_name(folder, (".npy", *TABLE_SUFFIXES), (FEATURE_NAMES,))
    for file in files.values():
        if file.suffix.lower() != ".npy":
            raise DataFileError(f"holds .npy files and the table {file.name}. Keep one format.")
    ids = _sample_ids(files.pop(SAMPLE_IDS)) if SAMPLE_IDS in files else None
    arrays: Variables = {}
    for name, file in files.items():
        header = npy_header(file)
        # Labels of other levels have the type of labels, and views of integers hardly this name.
        is_result = name in RESULT_VECTORS and len(header.shape) == 1
        if not is_result and not (name == LEVEL_LABELS and header.dtype == np.int32):
            read, open_view = partial(_read, file), partial(open_npy, file)
            arrays[name] = stored_variable(name, header, options.labels, read, open_view)
    opened = views_among(arrays, folder, options.labels)
    views = _with_feature_names(opened.views, folder / FEATURE_NAMES)
    if ids is None:
        return replace(opened, views=views)
    n_samples = next(iter(views.values())).shape[0]
    if len(ids) != n_samples:
        raise DataFileError(
            f"{SAMPLE_IDS}.npy has {len(ids)} ids, but the views have {n_samples} samples. Store "
            "one id per sample."
        )
    target: Target = None if opened.target is None else pd.Series(opened.target, index=ids)
    return replace(opened, views=views, target=target, sample_ids=ids)


def _with_feature_names(views: dict[str, View], file: Path) -> dict[str, View]:
    """Views with the feature names in a file of the folder, if there is one."""
    if not file.exists():
        return views
    with data_file_errors(file):
        require_regular_file(file)
        names = json.loads(file.read_bytes())
        if not isinstance(names, dict):
            raise DataFileError("must hold an object with a list of names for each view.")
        named: dict[str, View] = {}
        for name, view in views.items():
            listed = names.get(name)
            valid = isinstance(listed, list) and all(isinstance(feature, str) for feature in listed)
            if listed is not None and not (valid and len(listed) == view.shape[1]):
                raise DataFileError(
                    f"must have a list of {view.shape[1]} names for the view {name!r}. Correct or "
                    "remove it."
                )
            features = None if listed is None else np.array(listed, dtype=object)
            named[name] = replace(view, feature_names=features)  # type: ignore[type-var]
        return named


def _read(file: Path) -> NDArray[Any]:
    with data_file_errors(file):
        if npy_header(file)[2].hasobject:
            raise DataFileError(
                "holds Python objects, which are not loaded. Store integers or strings."
            )
        return np.load(file, allow_pickle=False)


def _sample_ids(file: Path) -> "pd.Index[Any]":
    with data_file_errors(file):
        header = npy_header(file)
        if len(header.shape) != 1 or header.dtype.kind not in "iuU":
            other = OtherArray(header.shape, header.dtype)
            raise DataFileError(f"holds {other}. Store one vector of integers or strings.")
        values = _read(file)
        ids = pd.Index(values.tolist() if values.dtype.kind == "U" else values.astype(np.int64))
        repeated = ids[ids.duplicated()].tolist()
        if repeated:
            raise DataFileError(
                f"the sample id {repeated[0]!r} occurs more than once. Keep one row per sample."
            )
        return ids


def without_objects(values: Any) -> NDArray[Any]:
    """Convert to int64 or strings, which are stored without pickling."""
    array = np.asarray(values)
    return array.astype(np.int64) if array.dtype.kind in "iu" else np.asarray(list(map(str, array)))
