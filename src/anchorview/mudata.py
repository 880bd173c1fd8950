"""MuData and AnnData objects: views from them, results into them.

Neither package is imported: a caller who has such an object has the package.
"""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from anchorview._utils.typing import Array
from anchorview.estimators.base import EmbeddingClusterer
from anchorview.views.mudata_views import (
    AnnotatedData,
    is_anndata,
    is_mudata,
    require_mudata,
    views_from_mudata,
)

__all__ = ["is_mudata", "views_from_mudata", "write_results"]


def write_results(
    mdata: AnnotatedData,
    model: EmbeddingClusterer,
    key: str = "anchorview",
    *,
    partial: bool = False,
) -> None:
    """Write the results of a fitted estimator into the MuData or AnnData object it was fitted on.

    Samples are matched by id: the cells may be in another order than in the fit. Earlier results
    under the same key are replaced. The object can still be saved afterwards.

    Parameters
    ----------
    mdata : MuData or AnnData
        Gets ``obs[key]`` (the cluster labels, categorical, as strings), of AutoDALMC also
        ``obs[key + "_confidence"]``, ``obsm["X_" + key]`` (the embedding) and ``uns[key]``: a dict
        with "params", in which None is written as "None"; "view_names", "view_weights",
        "view_matrices", "view_preprocessing" and, of AutoDALMC, "view_agreement"; and "curve" and
        "levels", if it chose the number of clusters. Modalities of a MuData object get the same
        entries of ``obs`` and ``obsm`` for their cells.
    model : DALMC
        Fitted on all samples of `mdata`. If it was fitted on arrays or sparse matrices, which have
        no sample ids, the samples must be in the order of `mdata`.
    key : str, default="anchorview"
        Name of the entries.
    partial : bool, default=False
        Whether `mdata` may have cells that the model was not fitted on, as with ``join="inner"``.
        They get no cluster, and NaN otherwise.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the estimator is not fitted.
    ValueError
        If the samples of the fit are not those of `mdata`, `mdata` is a view of another object, or
        the key is empty or contains a slash.

    Examples
    --------
    >>> import anndata
    >>> from anchorview import DALMC, make_multiview
    >>> views, _ = make_multiview(60, n_clusters=3, random_state=0)
    >>> cells = anndata.AnnData(views["view_0"])
    >>> write_results(cells, DALMC(n_clusters=3, random_state=0).fit(cells.X))
    >>> list(cells.obs["anchorview"].cat.categories)
    ['0', '1', '2']
    >>> cells.obsm["X_anchorview"].shape[0], sorted(cells.uns["anchorview"])
    (60, ['params', 'view_matrices', 'view_names', 'view_preprocessing', 'view_weights'])
    """
    require_writable_object(mdata, key)
    check_is_fitted(model, "labels_")
    rows = _rows_of_cells(mdata, model, partial)
    names = getattr(model, "cluster_names_", None)
    clusters, codes = np.unique(np.asarray(model.labels_)[rows], return_inverse=True)
    codes = np.where(rows < 0, -1, codes)
    # Of type object: not all versions of anndata can save pandas' own strings.
    categories = pd.Index(
        [str(c) if names is None else names[c] for c in clusters.tolist()], dtype=object
    )
    labels = pd.Categorical.from_codes(codes, categories).remove_unused_categories()
    columns: dict[str, Any] = {key: labels}
    confidence = getattr(model, "confidence_", None)
    if confidence is not None:
        columns[f"{key}_confidence"] = np.where(rows < 0, np.nan, np.asarray(confidence)[rows])
    else:
        # That of an earlier model is not one of these clusters.
        for cells in (mdata, *_modalities_to_write(mdata)):
            if f"{key}_confidence" in cells.obs:
                del cells.obs[f"{key}_confidence"]
    embedding = np.asarray(model.embedding_)[rows]
    embedding[rows < 0] = np.nan
    _write_cells(mdata, columns, f"X_{key}", embedding)
    for modality in _modalities_to_write(mdata):
        own = mdata.obs_names.get_indexer(modality.obs_names)
        of_cells = {name: column[own] for name, column in columns.items()}
        _write_cells(modality, of_cells, f"X_{key}", embedding[own])
    mdata.uns[key] = {
        "params": {name: _storable(value) for name, value in model.get_params(deep=False).items()},
        **_view_results(model),
        **_level_results(model),
    }


def require_writable_object(mdata: AnnotatedData, key: str) -> None:
    """Raise if results cannot be written into an object under a name."""
    require_mudata(mdata)
    if not key or "/" in key:
        raise ValueError(f"key must be a name without slashes, as files require; got {key!r}.")
    if mdata.is_view:
        raise ValueError("This object is a view of another one. Write into a copy: mdata.copy().")


def _write_cells(
    cells: AnnotatedData, columns: Mapping[str, Any], name: str, embedding: Array
) -> None:
    for column, values in columns.items():
        cells.obs[column] = values
    cells.obsm[name] = embedding


def _modalities_to_write(mdata: Any) -> list[Any]:
    """Modalities of a MuData object, in which functions for AnnData look for results."""
    return [] if is_anndata(mdata) else [own for own in mdata.mod.values() if not own.is_view]


def _view_results(model: Any) -> dict[str, Any]:
    names = model.view_names_in_
    matrices = getattr(model, "view_selection_", None) or {}
    steps = getattr(model, "preprocessing_", None) or (None,) * len(names)
    found = {
        "view_names": [str(name) for name in names],
        "view_weights": np.asarray(model.view_weights_),
        "view_matrices": [matrices.get(name, "X") for name in names],
        "view_preprocessing": ["None" if step is None else str(step.step) for step in steps],
    }
    agreement = getattr(model, "view_agreement_", None)
    return found if agreement is None else {**found, "view_agreement": np.asarray(agreement)}


def _level_results(model: Any) -> dict[str, Any]:
    """Curve of the number of clusters and levels, if the number was chosen."""
    curve, levels = getattr(model, "curve_", None), getattr(model, "levels_", None)
    if curve is None or levels is None:
        return {}
    return {
        "curve": {
            "n_clusters": np.asarray(curve.index),
            "agreement": np.asarray(curve),
            "chance": np.asarray(model.chance_curve_.reindex(curve.index)),
        },
        "levels": {
            "n_clusters": np.asarray(levels.index),
            **{name: np.asarray(levels[name]) for name in levels.columns},
        },
    }


def _rows_of_cells(
    mdata: AnnotatedData, model: EmbeddingClusterer, partial: bool
) -> NDArray[np.intp]:
    """Row of each cell in the results of the model: by id, or by position if it has no ids.

    With `partial`, -1 for a cell that the model does not have.
    """
    n = len(model.labels_)
    if model.sample_ids_ is None:
        if n != mdata.n_obs:
            raise ValueError(
                f"The model was fitted on {n} samples, but the object has {mdata.n_obs}. Fit the "
                "model on this object."
            )
        return np.arange(n)
    # The names of cells are strings, whatever the type of the ids they were made from.
    ids, cells = (pd.Index(np.asarray(i)).astype(str) for i in (model.sample_ids_, mdata.obs_names))
    for index, owner in ((ids, "model"), (cells, "object")):
        if not index.is_unique:
            raise ValueError(
                f"The sample id {index[index.duplicated()][0]!r} occurs more than once in the "
                f"{owner}, so samples cannot be matched by id. Make the ids unique, for example "
                "with obs_names_make_unique(), and fit the model again."
            )
    unmatched_cells = cells[:0] if partial else cells.difference(ids, sort=False)
    for unmatched, size, subject, other in (
        (unmatched_cells, len(cells), "cells of the object", "model"),
        (ids.difference(cells, sort=False), n, "samples of the model", "object"),
    ):
        if len(unmatched):
            raise ValueError(
                f"{len(unmatched)} of {size} {subject}, for example {unmatched[0]!r}, are not in "
                f"the {other}: the model has ids like {ids[0]!r}, the object like {cells[0]!r}. "
                "Fit the model on exactly these cells, with their obs_names as the index of "
                "DataFrames."
            )
    return ids.get_indexer(cells)


def _storable(value: Any) -> Any:
    """Convert a parameter to a type that HDF5 and anndata can store."""
    if value is None:
        return "None"
    if isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple):
        items = [_storable(item) for item in value]
        # A list is stored as an array, which nested lists may not be.
        nested = any(isinstance(item, list) for item in items)
        return json.dumps(items) if nested else items
    if isinstance(value, Mapping):
        return json.dumps({str(name): _storable(item) for name, item in value.items()})
    return str(value)
