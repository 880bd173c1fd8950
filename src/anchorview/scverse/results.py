"""Results of a fitted model in an AnnData or MuData object: written, and read again."""

import json
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anchorview._utils.docstring_fragments import docstring_filler
from anchorview.estimators.preparation import step_name
from anchorview.inspection.labeled_parts import require_labels
from anchorview.views.alignment import matched_rows
from anchorview.views.anndata_matrices import AnnotatedData, require_mudata

# What docstrings of ``tl`` and ``pl`` share.
filled = docstring_filler(
    {
        "results": """\
data : MuData or AnnData
    With results under `key`.
key : str
    Name of the results, such as "dalmc".""",
        "copy": """\
copy : bool, default=False
    Whether to write into a copy of `data`.""",
        "returns": """\
Returns
-------
data : MuData or AnnData
    The copy; None if ``copy=False``.""",
        "cells": """\
Examples
--------
>>> import anndata
>>> from anchorview import make_multiview
>>> from anchorview import scverse as av
>>> X, _ = make_multiview(90, n_clusters=3, separation=8, random_state=0)
>>> cells = anndata.AnnData(X["view_0"], obsm={"protein": X["view_1"]})""",
    }
)


def write_results(
    data: AnnotatedData, model: Any, key_added: str | None = None, *, partial: bool = False
) -> None:
    """Write the results of a fitted estimator into the MuData or AnnData object it was fitted on.

    Samples are matched by id: the cells may be in another order than in the fit. Earlier results
    under the same key are replaced. The object can still be saved afterwards.

    Parameters
    ----------
    data : MuData or AnnData
        Gets, with the key `key_added`, ``obs[key]`` (the cluster labels, categorical, as strings);
        ``obsm["X_" + key]`` (the embedding), if the model has one; of AutoDALMC also
        ``obs[key + "_confidence"]``; and ``uns[key]``: a dict with "params", in which None is
        written as "None"; "view_names", "view_weights", "view_matrices", "view_preprocessing" and,
        of AutoDALMC, "view_agreement"; and "curve" and "levels", if it chose the number of
        clusters. Modalities of a MuData object get the same entries of ``obs`` and ``obsm`` for
        their cells.
    model : fitted estimator
        DALMC, AutoDALMC, or any other with `labels_`; what it does not have is not written. Fitted
        on all samples of `data`. If it has no `sample_ids_`, as after a fit on arrays or sparse
        matrices, the samples must be in the order of `data`.
    key_added : str, default=None
        Name of the entries; by default that of the estimator, as of ``tl``: "dalmc", "auto_dalmc".
    partial : bool, default=False
        Whether `data` may have cells that the model was not fitted on, as with ``join="inner"``.
        They get no cluster, and NaN otherwise.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the estimator is not fitted.
    ValueError
        If the samples of the fit are not those of `data`, `data` is a view of another object, or
        the key is empty or contains a slash.

    Examples
    --------
    >>> import anndata
    >>> from anchorview import DALMC, make_multiview
    >>> from anchorview.scverse import write_results
    >>> views, _ = make_multiview(60, n_clusters=3, random_state=0)
    >>> cells = anndata.AnnData(views["view_0"])
    >>> write_results(cells, DALMC(n_clusters=3, random_state=0).fit(cells.X))
    >>> list(cells.obs["dalmc"].cat.categories)
    ['0', '1', '2']
    >>> cells.obsm["X_dalmc"].shape[0], sorted(cells.uns["dalmc"])
    (60, ['params', 'view_matrices', 'view_names', 'view_preprocessing', 'view_weights'])
    """
    # The name of the class, in the style of scanpy's tools.
    named = re.sub("(?<=[a-z])(?=[A-Z])", "_", type(model).__name__).lower()
    key = named if key_added is None else key_added
    writable_object(data, key)
    require_labels(model)
    rows = _rows_of_cells(data, model, partial)
    clusters, codes = np.unique(np.asarray(model.labels_)[rows], return_inverse=True)
    names = getattr(model, "cluster_names_", None)
    # Of type object: not all versions of anndata can save the strings of pandas.
    categories = pd.Index(
        [str(c) if names is None else names[c] for c in clusters.tolist()], dtype=object
    )
    labels = pd.Categorical.from_codes(np.where(rows < 0, -1, codes), categories)
    columns: dict[str, Any] = {key: labels.remove_unused_categories()}
    for name, learned in {f"{key}_confidence": "confidence_", f"X_{key}": "embedding_"}.items():
        if getattr(model, learned, None) is not None:
            columns[name] = np.asarray(getattr(model, learned))[rows]
            columns[name][rows < 0] = np.nan
    _write_cells(data, key, columns)
    for modality in getattr(data, "mod", {}).values():
        if not modality.is_view:
            cells = data.obs_names.get_indexer(modality.obs_names)
            _write_cells(modality, key, {name: each[cells] for name, each in columns.items()})
    params = model.get_params(deep=False) if hasattr(model, "get_params") else {}
    data.uns[key] = {
        "params": {name: _storable(value) for name, value in params.items()},
        **_view_results(model),
        **_level_results(model),
    }


def writable_object(data: Any, key: str, copy: bool = False) -> Any:
    """Object or its copy; raises if results cannot be written into it under a name."""
    require_mudata(data)
    if not key or "/" in key:
        raise ValueError(
            f"key_added must be a name without slashes, as files require; got {key!r}."
        )
    data = data.copy() if copy else data
    if data.is_view:
        raise ValueError("This object is a view of another one. Write into a copy: data.copy().")
    return data


def _write_cells(cells: AnnotatedData, key: str, columns: Mapping[str, Any]) -> None:
    # Confidence and embedding of an earlier model do not belong to these clusters.
    if f"{key}_confidence" in cells.obs:
        del cells.obs[f"{key}_confidence"]
    cells.obsm.pop(f"X_{key}", None)
    for name, values in columns.items():
        (cells.obs if values.ndim == 1 else cells.obsm)[name] = values


def _view_results(model: Any) -> dict[str, Any]:
    names = getattr(model, "view_names_in_", None)
    if names is None:
        return {}
    matrices = getattr(model, "view_selection_", None) or {}
    steps = getattr(model, "preprocessing_", None) or (None,) * len(names)
    results: dict[str, Any] = {
        "view_names": [str(name) for name in names],
        "view_matrices": [matrices.get(name, "X") for name in names],
        "view_preprocessing": ["None" if step is None else step_name(step) for step in steps],
    }
    views = getattr(model, "views_", {})
    for name, column in {"weights": "weight", "agreement": "agreement_with_result"}.items():
        if column in views:
            results[f"view_{name}"] = views[column].to_numpy()
    return results


def _level_results(model: Any) -> dict[str, Any]:
    """Curve of the number of clusters and levels, if the number was chosen."""
    if getattr(model, "curve_", None) is None:
        return {}
    curve = pd.DataFrame({"agreement": model.curve_, "chance": model.chance_curve_})
    tables = {"curve": curve.reindex(model.curve_.index), "levels": model.levels_}
    return {
        key: {
            "n_clusters": np.asarray(table.index),
            **{name: np.asarray(column) for name, column in table.items()},
        }
        for key, table in tables.items()
    }


def _rows_of_cells(data: AnnotatedData, model: Any, partial: bool) -> NDArray[np.intp]:
    """Row of each cell in the model by id, else by position; with `partial`, -1 if it has none."""
    # The names of cells are strings, whatever the type of the ids they were made from.
    cells = pd.Index(np.asarray(data.obs_names)).astype(str)
    ids = getattr(model, "sample_ids_", None)
    ids = None if ids is None else pd.Index(np.asarray(ids)).astype(str)
    samples = (ids, len(model.labels_), "the model"), (cells, len(cells), "the object")
    matched_rows(*samples)
    return matched_rows(*samples[::-1], partial=partial)


def _storable(value: Any) -> Any:
    """Convert a parameter to a type that HDF5 and anndata can store."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple):
        items = [_storable(item) for item in value]
        # A list is stored as an array, which nested lists may not be.
        return json.dumps(items) if any(isinstance(item, list) for item in items) else items
    if isinstance(value, Mapping):
        return json.dumps({str(name): _storable(item) for name, item in value.items()})
    return value if isinstance(value, bool | int | float | str) else str(value)


def clusters_of(data: AnnotatedData, key: str) -> "pd.Series[Any]":
    """Clusters of the cells, categorical; raises if there are none under this name."""
    if key not in data.obs:
        raise ValueError(
            f"There is no {key!r} in obs. Cluster the cells first, for example with tl.dalmc(data, "
            f"n_clusters, key_added={key!r})."
        )
    return data.obs[key].astype("category")


def results_of(data: AnnotatedData, key: str, *names: str) -> Any:
    """Entry of ``uns`` under a name; raises if it lacks results of these names."""
    entry = data.uns.get(key, {})
    for name in names:
        if name not in entry:
            raise ValueError(
                f"There is no {name!r} in uns[{key!r}]. Cluster the cells first; tl.auto without "
                "n_clusters, or with several numbers, writes all that can be drawn."
            )
    return entry


def series_of(results: Any, name: str, index: Any) -> "pd.Series[float]":
    """Numbers of an entry, which may have been read from a file."""
    return pd.Series(np.asarray(results[name]), pd.Index(np.asarray(index)))
