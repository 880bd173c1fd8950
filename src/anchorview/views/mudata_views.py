"""The function that returns the modalities of a MuData object as views."""

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from anchorview.views.anndata_matrices import (
    AnnotatedData,
    MatrixChoice,
    modalities_of,
    require_mudata,
)
from anchorview.views.input_grammar import views_of_mudata
from anchorview.views.stored_view import StoredView, View

Choice: TypeAlias = str | Mapping[str, str | None] | None
"""A name for all modalities, or one per modality."""


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
    selected = views_of_mudata(mdata, choices)
    views = [view[:] if isinstance(view, StoredView) else view for view in selected.views]
    assert selected.available is not None
    return dict(zip(selected.names, views, strict=True)), selected.available


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
