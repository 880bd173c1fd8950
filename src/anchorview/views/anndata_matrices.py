"""Matrices of AnnData objects and files: which one is a view (``obsm:X_pca``), and its values."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy import sparse

from anchorview.views.alignment import DenseOrCsr
from anchorview.views.stored_anndata import open_matrix, select_stored
from anchorview.views.stored_view import StoredView

GRAMMAR = (
    "Give 'X', 'layer:NAME' or 'obsm:NAME'; a column of var that selects features follows X or a "
    "layer, as in 'X:highly_variable' or 'layer:NAME:highly_variable'"
)

ViewSelection = Mapping[str, str]
"""By name of a view, the matrix that it is."""


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
        if isinstance(text, str):
            place, *rest = text.split(":")
            if all(rest) and place == "X" and len(rest) <= 1:
                return cls("X", None, rest[0] if rest else None)
            if all(rest) and place == "layer" and 1 <= len(rest) <= 2:
                return cls("layer", rest[0], rest[1] if len(rest) == 2 else None)
            if all(rest) and place == "obsm" and len(rest) == 1:
                return cls("obsm", rest[0])
        raise ValueError(f"View {view!r} cannot be {text!r}. {GRAMMAR}.")


def parse_selection(selection: object) -> dict[str, MatrixChoice]:
    """Choices by name of the view; raises if the argument `views` is not such a dict."""
    if not isinstance(selection, Mapping) or not selection:
        raise TypeError(
            "views must be a dict of at least one view, such as {'rna': 'obsm:X_pca', 'protein': "
            f"'X'}}; got {selection!r}. {GRAMMAR}."
        )
    unnamed = [name for name in selection if not isinstance(name, str)]
    if unnamed:
        raise TypeError(f"views must have names (strings) as keys; got {unnamed[0]!r}.")
    return {name: MatrixChoice.parse(text, name) for name, text in selection.items()}


def chosen_matrix(
    cells: Any, choice: MatrixChoice, subject: str
) -> "tuple[DenseOrCsr | StoredView, pd.Index[Any]]":
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
    matrix = _checked(stored, subject, name)
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
    if choice.mask is None:
        return _named(matrix, features), features
    kept = _get(cells.var, choice.mask, f"{subject} has no column {choice.mask!r} in var")
    if not pd.api.types.is_bool_dtype(kept.dtype) or kept.isna().any() or not kept.any():
        raise ValueError(
            f"{subject}: the column {choice.mask!r} of var must be True or False for each "
            "feature, and True for at least one."
        )
    selected = np.flatnonzero(kept.to_numpy(dtype=bool))
    features = features[selected]
    if isinstance(matrix, StoredView):
        return _named(select_stored(matrix, columns=selected), features), features
    return matrix[:, selected], features


def _named(matrix: "DenseOrCsr | StoredView", features: "pd.Index[Any]") -> Any:
    """Matrix whose columns have names, if it is on disk; others have no place for them."""
    if isinstance(matrix, StoredView):
        return replace(matrix, feature_names=np.asarray(features, dtype=object))
    return matrix


def _get(store: Any, name: str, complaint: str) -> Any:
    if name not in store:
        # From anndata 0.13 on, layers have X under the name None.
        there = ", ".join(str(key) for key in list(store.keys()) if key is not None) or "nothing"
        raise ValueError(f"{complaint}; there is {there}.")
    return store[name]


def _checked(stored: Any, subject: str, what: str) -> Any:
    """Values of any type that anndata stores as an array, a CSR matrix or a view on disk."""
    if stored is None:
        raise ValueError(
            f"{subject} has no X. Give another matrix of it with views=, 'layer:NAME' or "
            "'obsm:NAME'."
        )
    matrix = _matrix_of(stored)
    if matrix.ndim != 2 or matrix.dtype.kind not in "buif" or matrix.shape[1] == 0:
        raise ValueError(
            f"{subject}: {what} has shape {matrix.shape} and type {matrix.dtype}; a view "
            "needs one row per sample and at least one numeric column."
        )
    return matrix


def _matrix_of(stored: Any) -> Any:
    if isinstance(stored, StoredView | np.ndarray):
        return stored
    if sparse.issparse(stored):
        return sparse.csr_array(stored)
    if _is_dataset(stored):
        return open_matrix(stored)
    # Sparse matrices of a backed object are of anndata's own classes, not SciPy's.
    group = getattr(stored, "group", None)
    if group is not None and hasattr(group, "attrs"):
        return open_matrix(group)
    if hasattr(stored, "to_memory"):
        return _matrix_of(stored.to_memory())
    return np.asarray(stored)


def _is_dataset(stored: Any) -> bool:
    """Whether an object is a dataset of h5py, judged by its class: h5py need not be installed."""
    return type(stored).__module__.partition(".")[0] == "h5py" and hasattr(stored, "file")
