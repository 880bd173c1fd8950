"""Files of AnnData (``.h5ad``) and MuData (``.h5mu``) objects, whose matrices can stay on disk."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anchorview._utils.errors import DataFileError, optional_import
from anchorview._utils.typing import FeatureNames
from anchorview.datasets.file_contents import ReadOptions, by_precedence, labels_by_id
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


def open_annotated(path: Path, options: ReadOptions) -> ViewFile:
    """Open the modalities of a MuData file, or matrices of an AnnData file; by default ``X``."""
    for package in ("h5py", "anndata"):
        optional_import(package, "Files of AnnData and MuData", "mudata")
    require_readable(path)
    obs = read_table(path, "/obs")
    ids = obs.index.astype(str)
    views: dict[str, View] = {}
    features: dict[str, FeatureNames] = {}
    try:
        choices = {} if options.views is None else parse_selection(options.views)
        if path.suffix.lower() == ".h5ad":
            kind, cells = "View", dict.fromkeys(choices or ["view_0"], StoredCells(path))
        else:
            kind = "Modality"
            cells = {name: StoredCells(path, f"/mod/{name}") for name in modality_names(path)}
        choices = choices or dict.fromkeys(cells, MatrixChoice())
        if not cells:
            raise ValueError("the MuData object has no modalities.")
        if unknown := [name for name in choices if name not in cells]:
            raise ValueError(
                f"views names {unknown[0]!r}, but the modalities are {', '.join(cells)}."
            )
        available = np.ones((len(ids), len(choices)), dtype=bool)
        require_unique_ids(ids, "the file")
        for p, (name, choice) in enumerate(choices.items()):
            subject = f"{kind} {name!r}"
            matrix, feature_names = chosen_matrix(cells[name], choice, subject)
            rows = _rows(ids, cells[name].obs_names, matrix, subject)
            available[:, p] = rows >= 0
            views[name] = aligned_matrix(matrix, rows, ids, feature_names)
            features[name] = np.asarray(feature_names, dtype=object)
    except ValueError as error:
        raise DataFileError(str(error)) from error
    target: Target = None
    names = (name for name in obs.columns if isinstance(name, str))
    for name in by_precedence(names, options.labels)[:1]:
        target = labels_by_id(obs[name], obs.index, f"the column {name!r} of obs")
    return ViewFile(views, target, path, ids, None if available.all() else available, features)


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
