"""MuData and AnnData objects: views from them, results into them.

Neither package is imported: a caller who has such an object has the package.
"""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from anchorview.estimators.base import EmbeddingClusterer
from anchorview.views.mudata_views import (
    AnnotatedData,
    is_mudata,
    require_mudata,
    views_from_mudata,
)

__all__ = ["is_mudata", "views_from_mudata", "write_results"]


def write_results(mdata: AnnotatedData, model: EmbeddingClusterer, key: str = "anchorview") -> None:
    """Write the results of a fitted estimator into the MuData or AnnData object it was fitted on.

    Earlier results under the same key are replaced. The object can still be saved afterwards.

    Parameters
    ----------
    mdata : MuData or AnnData
        Gets ``obs[key]`` (the cluster labels, categorical, as strings), ``obsm["X_" + key]`` (the
        embedding) and ``uns[key]`` (a dict with "params", "view_names" and "view_weights";
        a parameter that is None is written as "None").
    model : DALMC
        Fitted on all samples of `mdata`, in the same order.
    key : str, default="anchorview"
        Name of the entries.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the estimator is not fitted.
    ValueError
        If the numbers of samples differ, `mdata` is a view of another object, or the key is empty
        or contains a slash.

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
    (60, ['params', 'view_names', 'view_weights'])
    """
    require_mudata(mdata)
    check_is_fitted(model, "labels_")
    if not key or "/" in key:
        raise ValueError(f"key must be a name without slashes, as files require; got {key!r}.")
    if mdata.is_view:
        raise ValueError("This object is a view of another one. Write into a copy: mdata.copy().")
    if len(model.labels_) != mdata.n_obs:
        raise ValueError(
            f"The model was fitted on {len(model.labels_)} samples, but the object has "
            f"{mdata.n_obs}. Fit the model on this object."
        )
    clusters, codes = np.unique(model.labels_, return_inverse=True)
    # Of type object: not all versions of anndata can save pandas' own strings.
    names = pd.Index([str(cluster) for cluster in clusters], dtype=object)
    mdata.obs[key] = pd.Categorical.from_codes(codes, names)
    mdata.obsm[f"X_{key}"] = np.asarray(model.embedding_)
    mdata.uns[key] = {
        "params": {name: _storable(value) for name, value in model.get_params(deep=False).items()},
        "view_names": [str(name) for name in model.view_names_in_],
        "view_weights": np.asarray(model.view_weights_),
    }


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
