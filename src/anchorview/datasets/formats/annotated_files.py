"""Files of AnnData (``.h5ad``) and MuData (``.h5mu``) objects, whose matrices can stay on disk."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anchorview._utils.errors import DataFileError, optional_import
from anchorview._utils.typing import FeatureNames
from anchorview.datasets.file_contents import (
    ReadOptions,
    by_precedence,
    labels_by_id,
)
from anchorview.datasets.formats.array_stores import require_readable
from anchorview.views.alignment import require_unique_ids
from anchorview.views.anndata_matrices import (
    MatrixChoice,
    aligned_matrix,
    chosen_matrix,
    parse_selection,
)
from anchorview.views.stored_anndata import StoredCells, modality_names, read_table
from anchorview.views.stored_view import Target, View, ViewFile


def open_h5mu(path: Path, options: ReadOptions) -> ViewFile:
    """Open the modalities of a MuData file as views; by default ``X`` of each."""
    _require_readable(path)
    cells = {name: StoredCells(path, f"/mod/{name}") for name in modality_names(path)}
    if not cells:
        raise DataFileError("the MuData object has no modalities.")
    choices = _choices(options, cells)
    unknown = [name for name in choices if name not in cells]
    if unknown:
        raise DataFileError(
            f"views names {unknown[0]!r}, but the modalities are {', '.join(cells)}."
        )
    matrices = [(name, cells[name], c, f"Modality {name!r}") for name, c in choices.items()]
    return _opened(path, matrices, options.labels)


def open_h5ad(path: Path, options: ReadOptions) -> ViewFile:
    """Open matrices of an AnnData file as views; by default ``X`` is the only one."""
    _require_readable(path)
    cells, choices = StoredCells(path), _choices(options, ["view_0"])
    matrices = [(name, cells, choice, f"View {name!r}") for name, choice in choices.items()]
    return _opened(path, matrices, options.labels)


def _require_readable(path: Path) -> None:
    for package in ("h5py", "anndata"):
        optional_import(package, "Files of AnnData and MuData", "mudata")
    require_readable(path)


def _choices(options: ReadOptions, names: Iterable[str]) -> dict[str, MatrixChoice]:
    """Matrix of each view; by default, ``X`` of views with these names."""
    if options.views is None:
        return dict.fromkeys(names, MatrixChoice())
    try:
        return parse_selection(options.views)
    except ValueError as error:
        raise DataFileError(str(error)) from error


def _opened(
    path: Path, matrices: Sequence[tuple[str, StoredCells, MatrixChoice, str]], labels: str | None
) -> ViewFile:
    """Open matrices, given by view, cells, choice and how messages name them."""
    obs = read_table(path, "/obs")
    ids = obs.index.astype(str)
    views: dict[str, View] = {}
    features: dict[str, FeatureNames] = {}
    available = np.ones((len(ids), len(matrices)), dtype=bool)
    try:
        require_unique_ids(ids, "the file")
        for p, (name, cells, choice, subject) in enumerate(matrices):
            matrix, names = chosen_matrix(cells, choice, subject)
            rows = _rows(ids, cells.obs_names, matrix, subject)
            available[:, p] = rows >= 0
            views[name] = aligned_matrix(matrix, rows, ids, names)
            features[name] = np.asarray(names, dtype=object)
    except ValueError as error:
        raise DataFileError(str(error)) from error
    is_missing = not available.all()
    target = _target(obs, labels)
    return ViewFile(views, target, path, ids, available if is_missing else None, features)


def _rows(
    ids: "pd.Index[Any]", modality_ids: "pd.Index[Any]", matrix: Any, subject: str
) -> NDArray[np.intp]:
    """Row of each sample of the file in a modality; -1 if it is not there."""
    require_unique_ids(modality_ids, subject)
    if matrix.shape[0] != len(modality_ids):
        raise ValueError(f"{subject} has {len(modality_ids)} samples, but {matrix.shape[0]} rows.")
    unknown = modality_ids[~modality_ids.isin(ids)]
    if len(unknown):
        raise ValueError(
            f"{subject} has the sample {unknown[0]!r}, which the file does not list in obs. Call "
            "mdata.update() and write the file again."
        )
    return modality_ids.get_indexer(ids)


def _target(obs: pd.DataFrame, labels: str | None) -> Target:
    """Class labels from a column of ``obs``; None if there are none."""
    names = (name for name in obs.columns if isinstance(name, str))
    for name in by_precedence(names, labels)[:1]:
        return labels_by_id(obs[name], obs.index, f"the column {name!r} of obs")
    return None
