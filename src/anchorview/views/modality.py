"""One modality of a MuData object: its numbers, and the rows that its samples have in it."""

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

#: A name for all modalities, or by modality.
Choice: TypeAlias = str | Mapping[str, str | None] | None


def _chosen(choice: Choice, name: str) -> str | None:
    return choice.get(name) if isinstance(choice, Mapping) else choice


def numbers_of(
    name: str, modality: Any, layer: Choice, use_rep: Choice, use_var: Choice
) -> tuple[Any, "pd.Index[Any]"]:
    """Numbers of a modality as an array or CSR, and the names of their columns."""
    of_layer, of_rep, of_var = (_chosen(choice, name) for choice in (layer, use_rep, use_var))
    if of_layer is not None and of_rep is not None:
        raise ValueError(f"Modality {name!r} is given both a layer and a use_rep. Give one.")
    if of_rep is not None:
        if of_var is not None and isinstance(use_var, Mapping):
            raise ValueError(
                f"Modality {name!r} is given both a use_rep and a use_var, which selects features "
                "of X or a layer only. Give one."
            )
        found = _get(modality.obsm, of_rep, f"Modality {name!r} has no {of_rep!r} in obsm")
        matrix = _in_memory(found, name, of_rep)
        if isinstance(found, pd.DataFrame):
            return matrix, found.columns
        return matrix, pd.Index([f"{of_rep}_{i}" for i in range(matrix.shape[1])])
    if of_layer is not None:
        found = _get(modality.layers, of_layer, f"Modality {name!r} has no layer {of_layer!r}")
    else:
        found = modality.X
    matrix, features = _in_memory(found, name, of_layer or "X"), modality.var_names
    if of_var is None or (of_var not in modality.var and not isinstance(use_var, Mapping)):
        return matrix, features
    kept = _get(modality.var, of_var, f"Modality {name!r} has no column {of_var!r} in var")
    if not pd.api.types.is_bool_dtype(kept.dtype) or kept.isna().any() or not kept.any():
        raise ValueError(
            f"Modality {name!r}: the column {of_var!r} of var must be True or False for each "
            "feature, and True for some."
        )
    selected = kept.to_numpy(dtype=bool)
    return matrix[:, selected], features[selected]


def _get(store: Any, name: str, lacking: str) -> Any:
    if name not in store:
        there = ", ".join(map(str, store.keys())) or "nothing"
        raise ValueError(f"{lacking}; there is {there}.")
    return store[name]


def _in_memory(found: Any, name: str, what: str) -> Any:
    """Numbers of any kind that anndata stores, also on disk, as an array or CSR."""
    if found is None:
        raise ValueError(f"Modality {name!r} has no X. Give a layer or a use_rep.")
    # Sparse matrices of an object that is opened on disk are not SciPy's.
    if not sparse.issparse(found) and hasattr(found, "to_memory"):
        found = found.to_memory()
    matrix = sparse.csr_array(found) if sparse.issparse(found) else np.asarray(found)
    if matrix.ndim != 2 or matrix.dtype.kind not in "buif" or matrix.shape[1] == 0:
        raise ValueError(
            f"Modality {name!r}: {what} has shape {matrix.shape} and type {matrix.dtype}; a view "
            "needs one row a sample and at least one column of numbers."
        )
    return matrix


def rows_of(mdata: Any, name: str, modality: Any) -> NDArray[np.int64]:
    """Row in the modality of each sample; -1 if it is not there."""
    if modality is mdata:
        return np.arange(mdata.n_obs)
    rows = np.asarray(mdata.obsmap[name]).astype(np.int64).ravel() - 1
    present = rows >= 0
    # The map is as old as the last update(), and the modality may have changed since.
    fits = len(rows) == mdata.n_obs and present.sum() == modality.n_obs > rows.max(initial=-1)
    if not fits or not mdata.obs_names[present].equals(modality.obs_names[rows[present]]):
        raise ValueError(
            f"The samples of modality {name!r} are not those that the MuData object has noted. "
            "Call mdata.update()."
        )
    return rows


def spread_sparse(matrix: Any, rows: NDArray[np.int64]) -> "sparse.csr_array[Any]":
    """Rows of a CSR matrix by sample; empty for those that are not there."""
    if np.array_equal(rows, np.arange(matrix.shape[0])):
        return matrix
    present = np.flatnonzero(rows >= 0)
    taken = matrix[rows[present]]
    lengths = np.zeros(len(rows) + 1, dtype=taken.indptr.dtype)
    lengths[present + 1] = np.diff(taken.indptr)
    shape = (len(rows), matrix.shape[1])
    return sparse.csr_array((taken.data, taken.indices, np.cumsum(lengths)), shape=shape)


def spread_dense(matrix: NDArray[Any], rows: NDArray[np.int64]) -> NDArray[Any]:
    """Rows of an array by sample; NaN for those that are not there."""
    if np.array_equal(rows, np.arange(len(matrix))):
        return matrix
    present = rows >= 0
    if present.all():
        return matrix[rows]
    # The smallest floats that hold all of the matrix's numbers.
    spread = np.full((len(rows), matrix.shape[1]), np.nan, np.result_type(matrix, np.float16))
    spread[present] = matrix[rows[present]]
    return spread
