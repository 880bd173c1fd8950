"""MuData and AnnData objects: their modalities as views.

Neither package is imported: a caller who has such an object has the package.
"""

from collections.abc import Mapping, MutableMapping
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from anchorview._utils.typing import FeatureNames
from anchorview.views.alignment import DenseOrCsr, reindex_rows
from anchorview.views.anndata_matrices import MatrixChoice, chosen_matrix
from anchorview.views.stored_anndata import select_stored
from anchorview.views.stored_view import StoredView, View

Choice: TypeAlias = str | Mapping[str, str | None] | None
"""A name for all modalities, or one per modality."""


class AnnotatedData(Protocol):
    """What MuData and AnnData objects have in common."""

    obs: pd.DataFrame
    obsm: MutableMapping[str, Any]
    uns: MutableMapping[str, Any]

    @property
    def obs_names(self) -> "pd.Index[Any]":
        """Ids of the samples."""

    @property
    def n_obs(self) -> int:
        """Number of samples."""

    @property
    def is_view(self) -> bool:
        """Whether it is a view of another object."""


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


def views_from_mudata(
    mdata: AnnotatedData, *, layer: Choice = None, use_rep: Choice = None, use_var: Choice = None
) -> tuple[dict[str, View], NDArray[np.bool_]]:
    """Return the modalities of a MuData object as views of the same samples.

    Parameters
    ----------
    mdata : MuData or AnnData
        An AnnData object is one view, named "view_0".
    layer : str or dict of str to str, optional
        The layer to use instead of ``X``: for all modalities, or by modality.
    use_rep : str or dict of str to str, optional
        The representation in ``obsm`` of the modality to use instead of ``X``.
    use_var : str or dict of str to str, optional
        A boolean column of ``var``, such as "highly_variable", that selects features of ``X`` or
        of the layer. A modality without it keeps all features, unless a dict names that modality.

    Returns
    -------
    views : dict of str to DataFrame or csr_array of shape (n_samples, n_features)
        One view per modality, with the samples of ``mdata.obs_names`` in this order. Dense views
        are DataFrames indexed by sample and feature names, with NaN rows for samples that the
        modality lacks; integers become floats if there are such rows. Sparse views stay sparse,
        with empty rows for these samples.
    available : array of shape (n_samples, n_views) of bool
        Which samples each modality has.

    Raises
    ------
    TypeError
        If `mdata` is neither a MuData nor an AnnData object.
    ValueError
        If a modality lacks what is asked for or is not numeric, or if sample names are repeated or
        out of date.

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
    require_mudata(mdata)
    modalities = modalities_of(mdata)
    for option, choice in (("layer", layer), ("use_rep", use_rep), ("use_var", use_var)):
        named = choice if isinstance(choice, Mapping) else ()
        unknown = [name for name in named if name not in modalities]
        if unknown:
            raise ValueError(
                f"{option} names {unknown[0]!r}, but the modalities are {', '.join(modalities)}."
            )
    choices = {
        name: _choice(name, modality, layer, use_rep, use_var)
        for name, modality in modalities.items()
    }
    selected = selected_modalities(mdata, choices)
    views = {
        name: view[:] if isinstance(view, StoredView) else view
        for name, view in selected.views.items()
    }
    return views, selected.available


class SelectedModalities(NamedTuple):
    """Views of the same samples, and what is known about them."""

    views: dict[str, View]
    available: NDArray[np.bool_]
    features: dict[str, FeatureNames]
    """Names of the features of each view."""


def selected_modalities(
    mdata: AnnotatedData, choices: Mapping[str, MatrixChoice] | None = None
) -> SelectedModalities:
    """Modalities of a MuData object as views; matrices of backed objects stay on disk.

    `choices` names the modalities and their matrices; by default ``X`` of each. Of an AnnData
    object, it names the views.
    """
    require_unique_names(mdata.obs_names)
    modalities = modalities_of(mdata)
    if choices is None:
        choices = dict.fromkeys(modalities, MatrixChoice())
    elif is_anndata(mdata):
        modalities = dict.fromkeys(choices, mdata)
    unknown = [name for name in choices if name not in modalities]
    if unknown:
        raise ValueError(
            f"views names {unknown[0]!r}, but the modalities are {', '.join(modalities)}."
        )
    available = np.ones((mdata.n_obs, len(choices)), dtype=bool)
    selected = SelectedModalities({}, available, {})
    for p, (name, choice) in enumerate(choices.items()):
        subject = f"View {name!r}" if modalities[name] is mdata else f"Modality {name!r}"
        matrix, features = chosen_matrix(modalities[name], choice, subject)
        rows = _rows_in_modality(mdata, name, modalities[name])
        available[:, p] = rows >= 0
        selected.views[name] = aligned_matrix(matrix, rows, mdata.obs_names, features)
        selected.features[name] = np.asarray(features, dtype=object)
    return selected


def aligned_matrix(
    matrix: "DenseOrCsr | StoredView",
    rows: NDArray[np.intp],
    ids: "pd.Index[Any]",
    features: "pd.Index[Any]",
) -> View:
    """Rows of a matrix for samples with these ids; a row of -1 is missing."""
    if isinstance(matrix, StoredView):
        if np.array_equal(rows, np.arange(len(matrix))):
            return matrix
        return select_stored(matrix, rows)
    aligned = reindex_rows(matrix, rows)
    if isinstance(aligned, np.ndarray):
        return pd.DataFrame(aligned, ids, features, copy=False)
    return aligned


def require_unique_names(names: "pd.Index[Any]") -> None:
    """Raise if a sample name occurs more than once."""
    repeated = names[names.duplicated()]
    if len(repeated):
        raise ValueError(
            f"The sample name {repeated[0]!r} occurs more than once. Call obs_names_make_unique()."
        )


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


def _choice(
    name: str, modality: Any, layer: Choice, use_rep: Choice, use_var: Choice
) -> MatrixChoice:
    layer_name, rep_name, var_name = (
        choice.get(name) if isinstance(choice, Mapping) else choice
        for choice in (layer, use_rep, use_var)
    )
    if layer_name is not None and rep_name is not None:
        raise ValueError(f"Modality {name!r} is given both a layer and a use_rep. Give one.")
    if rep_name is not None:
        if var_name is not None and isinstance(use_var, Mapping):
            raise ValueError(
                f"Modality {name!r} is given both a use_rep and a use_var, which selects features "
                "of X or a layer only. Give one."
            )
        return MatrixChoice("obsm", rep_name)
    if var_name not in modality.var and not isinstance(use_var, Mapping):
        var_name = None
    return MatrixChoice("X" if layer_name is None else "layer", layer_name, var_name)


def _rows_in_modality(mdata: Any, name: str, modality: Any) -> NDArray[np.intp]:
    """Row of each sample in the modality; -1 if it is not there."""
    if modality is mdata:
        return np.arange(mdata.n_obs)
    rows = np.asarray(mdata.obsmap[name]).astype(np.intp).ravel() - 1
    present = rows >= 0
    # obsmap is as old as the last update(), and the modality may have changed since.
    fits = len(rows) == mdata.n_obs and present.sum() == modality.n_obs > rows.max(initial=-1)
    if not fits or not mdata.obs_names[present].equals(modality.obs_names[rows[present]]):
        raise ValueError(
            f"The samples of modality {name!r} differ from those recorded in the MuData object. "
            "Call mdata.update()."
        )
    return rows
