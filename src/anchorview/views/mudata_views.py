"""MuData and AnnData objects: their modalities as views.

Neither package is imported here: whoever has such an object has the package.
"""

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from anchorview.views.modality import Choice, numbers_of, rows_of, spread_dense, spread_sparse

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
