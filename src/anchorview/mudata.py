"""MuData and AnnData objects: views out of them, results into them.

Neither package is imported here: whoever has such an object has the package.
"""

import json
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from anchorview._modality import Choice, numbers_of, rows_of, spread_dense, spread_sparse

# In quotes: older SciPy's sparse arrays take no type parameters at run time.
View: TypeAlias = "pd.DataFrame | sparse.csr_array[Any]"

#: The name of the one view that an AnnData object is.
ONLY_VIEW = "view_0"


def is_mudata(obj: object) -> bool:
    """Whether an object is a MuData or AnnData object, told by its class alone.

    Parameters
    ----------
    obj : object
        Anything.

    Returns
    -------
    bool
        True for objects of these two classes and of classes derived from them.

    Examples
    --------
    >>> import anndata
    >>> is_mudata(anndata.AnnData(np.eye(3)))
    True
    >>> is_mudata(pd.DataFrame(np.eye(3)))
    False
    """
    return _is_a(obj, "mudata", "MuData") or _is_a(obj, "anndata", "AnnData")


def _is_a(obj: object, package: str, name: str) -> bool:
    return any(
        cls.__name__ == name and cls.__module__.partition(".")[0] == package
        for cls in type(obj).__mro__
    )


def views_from_mudata(
    mdata: Any, *, layer: Choice = None, use_rep: Choice = None, use_var: Choice = None
) -> tuple[dict[str, View], NDArray[np.bool_]]:
    """Take the modalities of a MuData object as views of the same samples.

    Parameters
    ----------
    mdata : MuData or AnnData
        An AnnData object is one view, named "view_0".
    layer : str or dict of str to str, optional
        The layer to take instead of ``X``: of all modalities, or by modality.
    use_rep : str or dict of str to str, optional
        The representation to take from ``obsm`` of the modality instead of ``X``.
    use_var : str or dict of str to str, optional
        A boolean column of ``var``, such as "highly_variable", that says which features of ``X``
        or of the layer to keep. A modality without it keeps all, unless a dict asks for it.

    Returns
    -------
    views : dict of str to DataFrame or csr_array of shape (n_samples, n_features)
        One view a modality, with the samples of ``mdata.obs_names`` in this order. Dense ones are
        DataFrames with the names of samples and features, and NaN in the rows of samples that
        the modality lacks; integers that lack some become floats. Sparse ones stay sparse, with
        empty rows there.
    available : array of shape (n_samples, n_views) of bool
        Which samples each modality has.

    Raises
    ------
    TypeError
        If it is neither a MuData nor an AnnData object.
    ValueError
        If a modality does not have what is asked for, is not numeric, or the samples of the
        modalities cannot be told apart or matched.

    Examples
    --------
    >>> import anndata
    >>> cells = anndata.AnnData(np.eye(3, 2), obs=pd.DataFrame(index=["a", "b", "c"]))
    >>> cells.obsm["X_pca"] = np.ones((3, 1))
    >>> views, available = views_from_mudata(cells, use_rep="X_pca")
    >>> views["view_0"]
       X_pca_0
    a      1.0
    b      1.0
    c      1.0
    >>> available.all()
    np.True_
    """
    if not is_mudata(mdata):
        raise TypeError(f"A MuData or AnnData object is needed; got {type(mdata).__name__}.")
    repeated = mdata.obs_names[mdata.obs_names.duplicated()]
    if len(repeated):
        raise ValueError(
            f"The sample {repeated[0]!r} is there more than once. Call obs_names_make_unique()."
        )
    modalities = _modalities(mdata)
    for option, choice in (("layer", layer), ("use_rep", use_rep), ("use_var", use_var)):
        named = choice if isinstance(choice, Mapping) else ()
        unknown = [name for name in named if name not in modalities]
        if unknown:
            raise ValueError(
                f"{option} names {unknown[0]!r}, but the modalities are {', '.join(modalities)}."
            )
    views: dict[str, View] = {}
    available = np.ones((mdata.n_obs, len(modalities)), dtype=bool)
    for p, (name, modality) in enumerate(modalities.items()):
        matrix, features = numbers_of(name, modality, layer, use_rep, use_var)
        rows = rows_of(mdata, name, modality)
        available[:, p] = rows >= 0
        if sparse.issparse(matrix):
            views[name] = spread_sparse(matrix, rows)
        else:
            dense = spread_dense(matrix, rows)
            views[name] = pd.DataFrame(dense, index=mdata.obs_names, columns=features, copy=False)
    return views, available


def write_results(mdata: Any, model: Any, key: str = "anchorview") -> None:
    """Write what a fitted estimator found into the MuData or AnnData object it was fitted on.

    What was under the same key is replaced. The object can be saved afterwards as ever.

    Parameters
    ----------
    mdata : MuData or AnnData
        Gets ``obs[key]`` (the clusters, categorical, as strings), ``obsm["X_" + key]`` (the
        embedding) and ``uns[key]`` (a dict with "params", "view_names" and "view_weights";
        a parameter that is None is written as "None").
    model : DALMC
        Fitted on all samples of `mdata`, in their order there.
    key : str, default="anchorview"
        The name to write under.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the estimator is not fitted.
    ValueError
        If the samples are not as many, `mdata` is a view of another object, or the key contains
        a slash.

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
    # Not at the top: views.py imports this module, and scikit-learn takes long to import.
    from sklearn.utils.validation import check_is_fitted

    if not is_mudata(mdata):
        raise TypeError(f"A MuData or AnnData object is needed; got {type(mdata).__name__}.")
    check_is_fitted(model, "labels_")
    if not key or "/" in key:
        raise ValueError(f"key must be a name without slashes, which files need; got {key!r}.")
    if mdata.is_view:
        raise ValueError("This object is a view of another one. Write into a copy: mdata.copy().")
    if len(model.labels_) != mdata.n_obs:
        raise ValueError(
            f"The model was fitted on {len(model.labels_)} samples, but there are {mdata.n_obs} "
            "here. Fit it on this object."
        )
    clusters, codes = np.unique(model.labels_, return_inverse=True)
    # Of objects, because pandas' own strings cannot be saved by all versions of anndata.
    names = pd.Index([str(cluster) for cluster in clusters], dtype=object)
    mdata.obs[key] = pd.Categorical.from_codes(codes, names)
    mdata.obsm[f"X_{key}"] = np.asarray(model.embedding_)
    mdata.uns[key] = {
        "params": {name: _storable(value) for name, value in model.get_params(deep=False).items()},
        "view_names": [str(name) for name in model.view_names_in_],
        "view_weights": np.asarray(model.view_weights_),
    }


def _modalities(mdata: Any) -> dict[str, Any]:
    if _is_a(mdata, "anndata", "AnnData"):
        return {ONLY_VIEW: mdata}
    if getattr(mdata, "axis", 0) == 1:
        raise ValueError("The modalities share features, not samples (axis=1): they are no views.")
    modalities = dict(mdata.mod)
    if not modalities:
        raise ValueError("The MuData object has no modalities.")
    for name, modality in modalities.items():
        if not _is_a(modality, "anndata", "AnnData"):
            raise ValueError(f"Modality {name!r} is itself a MuData object. Give that one.")
    return modalities


def _storable(value: Any) -> Any:
    """Parameters in the few types that HDF5 and anndata know."""
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
