"""AnnData and MuData objects and files: which of their matrices is a view (``obsm:X_pca``).

Neither package is imported: a caller who has such an object has the package.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from anchorview.views.alignment import require_unique_ids
from anchorview.views.stored_anndata import columns_of, open_matrix
from anchorview.views.stored_view import StoredView, View

REST = "..."
"""Stands for all columns of a table that no view names."""

PlainSelection: TypeAlias = dict[str, str | tuple[str, ...]]
"""By name of a view, the matrix that it is, or the columns of a table that it has."""

ViewSelection = Mapping[str, Any]
"""By name of a view, the matrix that it is (a text), or the columns of a table that it has."""

AnnotatedData: TypeAlias = Any
"""A MuData or AnnData object."""


def is_mudata(obj: object) -> bool:
    """Whether an object is a MuData or AnnData object, judged by its class alone.

    Parameters
    ----------
    obj : object
        Anything.

    Returns
    -------
    bool
        True for instances of these two classes and of their subclasses.

    Examples
    --------
    >>> import anndata
    >>> is_mudata(anndata.AnnData(np.eye(3)))
    True
    >>> is_mudata(pd.DataFrame(np.eye(3)))
    False
    """
    return _is_a(obj, "mudata", "MuData") or is_anndata(obj)


def is_anndata(obj: object) -> bool:
    """Whether an object is an AnnData object, judged by its class alone."""
    return _is_a(obj, "anndata", "AnnData")


def _is_a(obj: object, package: str, name: str) -> bool:
    return any(
        cls.__name__ == name and cls.__module__.partition(".")[0] == package
        for cls in type(obj).__mro__
    )


def require_mudata(obj: object) -> None:
    """Raise if an object is neither a MuData nor an AnnData object."""
    if not is_mudata(obj):
        raise TypeError(f"Expected a MuData or AnnData object; got {type(obj).__name__}.")


def modalities_of(mdata: Any) -> dict[str, Any]:
    """Modalities by name; an AnnData object is one, named "view_0"."""
    if is_anndata(mdata):
        return {"view_0": mdata}
    if getattr(mdata, "axis", 0) == 1:
        raise ValueError(
            "The modalities share features, not samples (axis=1), so they are not views."
        )
    modalities = dict(mdata.mod)
    if not modalities:
        raise ValueError("The MuData object has no modalities.")
    for name, modality in modalities.items():
        if not is_anndata(modality):
            raise ValueError(f"Modality {name!r} is itself a MuData object. Pass that one.")
    return modalities


def rows_in_modality(ids: "pd.Index[Any]", modality: Any, n_rows: int, name: str) -> NDArray[Any]:
    """Row of each sample in a matrix of a modality; -1 if it is not there."""
    own = modality.obs_names
    if n_rows != len(own):
        raise ValueError(f"{name} has {len(own)} samples, but {n_rows} rows.")
    if own.equals(ids):
        return np.arange(n_rows)
    require_unique_ids(own, name)
    unknown = own[~own.isin(ids)]
    if len(unknown):
        raise ValueError(
            f"{name} has the sample {unknown[0]!r}, which the MuData object does not list in obs. "
            "Call mdata.update(), and write the file again if it is in one."
        )
    return own.get_indexer(ids)


def plain_selection(views: Any) -> PlainSelection:
    """The argument `views` as a dict of texts and tuples of texts, which can be stored."""
    if not isinstance(views, Mapping) or not views or not all(isinstance(x, str) for x in views):
        raise TypeError(
            "views must be a dict of at least one view by name, such as {'rna': 'obsm:X_pca'} of "
            f"an AnnData object or {{'price': ['p1', 'p2']}} of a table; got {views!r}."
        )

    def text(column: Any) -> str:
        return REST if column is Ellipsis else str(column)

    return {
        name: text(given)
        if isinstance(given, str) or not isinstance(given, Iterable)
        else tuple(map(text, given))
        for name, given in views.items()
    }


@dataclass(frozen=True)
class MatrixChoice:
    """A matrix of an AnnData object, and the features of it that are used."""

    place: Literal["X", "layer", "obsm"] = "X"
    name: str | None = None
    """Name of the layer or of the entry of obsm."""
    mask: str | None = None
    """Column of var that is True for the features that are used; None if all are."""

    @classmethod
    def parse(cls, text: object, view: str) -> "MatrixChoice":
        """Choice that a text describes; `view` is the name of the view, for messages."""
        words = text.split(":") if isinstance(text, str) else [""]
        match words if all(words) else []:
            case ["X"]:
                return cls()
            case ["X", mask]:
                return cls("X", None, mask)
            case ["layer" | "obsm" as place, name]:
                return cls(place, name)
            case ["layer", name, mask]:
                return cls("layer", name, mask)
        raise ValueError(
            f"View {view!r} cannot be {text!r}. Give 'X', 'layer:NAME' or 'obsm:NAME'; a column of "
            "var that selects features follows X or a layer, as in 'X:highly_variable' or "
            "'layer:NAME:highly_variable'."
        )


def parse_selection(selection: Any) -> dict[str, MatrixChoice]:
    """Choices by name of the view; raises if the argument `views` is not such a dict."""
    plain = plain_selection(selection)
    return {name: MatrixChoice.parse(text, name) for name, text in plain.items()}


def chosen_matrix(cells: Any, choice: MatrixChoice, subject: str) -> "tuple[View, pd.Index[Any]]":
    """Matrix of an object with the attributes of AnnData, and the names of its columns.

    A matrix that is on disk stays there, unless rows of it cannot be read. `subject` names the
    view in messages.
    """
    name = choice.name or "X"
    if choice.place == "obsm":
        stored = _get(cells.obsm, name, f"{subject} has no {name!r} in obsm")
    elif choice.place == "layer":
        stored = _get(cells.layers, name, f"{subject} has no layer {name!r}")
    else:
        stored = cells.X
    if stored is None:
        raise ValueError(
            f"{subject} has no X. Give another matrix of it with views=, 'layer:NAME' or "
            "'obsm:NAME'."
        )
    matrix = _matrix_of(stored)
    if matrix.ndim != 2 or matrix.dtype.kind not in "buif" or matrix.shape[1] == 0:
        raise ValueError(
            f"{subject}: {name} has shape {matrix.shape} and type {matrix.dtype}; a view "
            "needs one row per sample and at least one numeric column."
        )
    if choice.place == "obsm":
        if isinstance(stored, pd.DataFrame):
            return matrix, stored.columns
        return matrix, pd.Index([f"{name}_{i}" for i in range(matrix.shape[1])])
    features = cells.var_names
    if matrix.shape[1] != len(features):
        raise ValueError(
            f"{subject} has {matrix.shape[1]} columns, but {len(features)} names of features. The "
            "object or its file is damaged."
        )
    if choice.mask is not None:
        kept = _get(cells.var, choice.mask, f"{subject} has no column {choice.mask!r} in var")
        if not pd.api.types.is_bool_dtype(kept.dtype) or kept.isna().any() or not kept.any():
            raise ValueError(
                f"{subject}: the column {choice.mask!r} of var must be True or False for each "
                "feature, and True for at least one."
            )
        selected = np.flatnonzero(kept.to_numpy(dtype=bool))
        matrix, features = columns_of(matrix, selected), features[selected]
    if isinstance(matrix, StoredView):
        matrix = replace(matrix, feature_names=np.asarray(features, dtype=object))
    return matrix, features


def _get(store: Any, name: str, complaint: str) -> Any:
    if name not in store:
        # From anndata 0.13 on, layers have X under the name None.
        there = ", ".join(str(key) for key in list(store.keys()) if key is not None) or "nothing"
        raise ValueError(f"{complaint}; there is {there}.")
    return store[name]


def _matrix_of(stored: Any) -> Any:
    """Values of any type that anndata stores as an array, a CSR matrix or a view on disk."""
    if sparse.issparse(stored):
        return sparse.csr_array(stored)
    # Sparse matrices of a backed object are of anndata's own classes, with a group of h5py.
    node = getattr(stored, "group", stored)
    if hasattr(node, "file") and hasattr(node, "attrs"):
        return open_matrix(node)
    if hasattr(stored, "to_memory"):
        return _matrix_of(stored.to_memory())
    return stored if isinstance(stored, StoredView) else np.asarray(stored)
