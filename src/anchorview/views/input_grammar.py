"""The input grammar: every accepted form of input is parsed into named views of the same samples.

Arrays, frames, sparse matrices, files, AnnData and Dask collections all start here; what is done
with the views afterwards depends on where their rows are.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Number
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from anchorview._utils.text import describe_view, listed
from anchorview._utils.typing import Array, FeatureNames
from anchorview.views.alignment import (
    align_frames,
    reindex_rows,
    require_unique_ids,
    unshared_ids,
    warn_if_few_shared,
)
from anchorview.views.anndata_matrices import (
    REST,
    AnnotatedData,
    MatrixChoice,
    PlainSelection,
    ViewSelection,
    chosen_matrix,
    is_anndata,
    is_mudata,
    modalities_of,
    parse_selection,
    plain_selection,
    require_mudata,
    rows_in_modality,
)
from anchorview.views.matrix_checks import as_matrix, require_same_length
from anchorview.views.row_source import RowSource
from anchorview.views.stored_anndata import columns_of
from anchorview.views.stored_view import StoredView, View, ViewFile
from anchorview.views.table_columns import TableView, named_columns

Join = Literal["outer", "inner"]

TEXTS_EXAMINED = 100
"""Number of elements of a vector that show whether it holds texts."""


# In quotes: older SciPy's sparse arrays take no type parameters at run time.
Sparse: TypeAlias = "sparse.sparray | sparse.spmatrix"
ViewLike: TypeAlias = "ArrayLike | pd.DataFrame | Sparse | StoredView | AnnotatedData | None"
"""One view: an array, DataFrame, pyarrow table, sparse matrix, view on disk, dask collection,
AnnData object, or None if no sample has the view."""


@dataclass(frozen=True)
class NamedViews:
    """Views with their names and what else the form of the input says about them."""

    names: tuple[str, ...]
    named: bool
    """Whether the names were given by the user."""
    views: list[Any]
    available: Array | None = None
    """Which samples have which views, as far as the form of the input says it."""
    sample_ids: "pd.Index[Any] | None" = None
    feature_names: tuple[FeatureNames | None, ...] = ()
    selection: PlainSelection | None = None
    """What of the input was selected to be the views: given to `fit`, or when a file was opened."""
    expects_shared_ids: bool = False
    """Whether to warn if views share few sample ids."""

    @property
    def descriptions(self) -> list[str]:
        """How messages name the views."""
        return [describe_view(p, name) for p, name in enumerate(self.names)]

    @property
    def in_dask(self) -> bool:
        """Whether a view is a dask collection; these are aligned when they are computed."""
        return any(hasattr(view, "__dask_graph__") for view in self.views)

    def aligned(self) -> "NamedViews":
        """Views as matrices with the same samples in the same order.

        What is in Dask is computed. Views on disk and memory maps stay there, and None stays None.
        """
        # The size of a dask dataframe is known only once it is computed.
        views = [view.compute() if hasattr(view, "divisions") else view for view in self.views]
        ids = None
        if any(isinstance(view, pd.DataFrame) for view in views):
            warns = self.expects_shared_ids and self.available is None
            ids, views = align_frames(views, self.descriptions, warns)
        matrices = [as_matrix(view, d) for view, d in zip(views, self.descriptions, strict=True)]
        require_same_length(matrices, self.names)
        return replace(self, views=matrices, sample_ids=self.sample_ids if ids is None else ids)


def parse(
    X: Any, selection: ViewSelection | None = None, join: Join | None = "outer"
) -> NamedViews:
    """Named and aligned views from any accepted form of input; those in Dask are only named.

    `selection` and `join` are the arguments `views` and `join` of `fit`: they select matrices of
    AnnData objects, and samples.
    """
    if join not in (*get_args(Join), None):
        raise ValueError(f"join must be 'outer' or 'inner'; got {join!r}.")
    if isinstance(X, NamedViews):
        return X
    if selection is not None and (is_mudata(X) or _beside_anndata(X)):
        views = _selected_views(X, parse_selection(selection))
    elif selection is not None:
        views = _divided(X, selection)
    elif join == "inner" and isinstance(X, RowSource):
        raise TypeError(
            f"join='inner' does not apply to {type(X).__name__}: its samples are aligned "
            "already. Select the samples that have all views, or give the views themselves."
        )
    else:
        views = _named_views(X)
    if join == "inner":
        views = _with_common_samples(views)
    elif join is None:
        views = replace(views, expects_shared_ids=True)
        if views.available is not None and views.sample_ids is not None:
            of_view = [views.sample_ids[has] for has in views.available.T]
            has = views.available.astype(int)
            warn_if_few_shared(
                has.T @ has, views.descriptions, lambda p, q: unshared_ids(of_view[p], of_view[q])
            )
    if selection is None and isinstance(X, ViewFile):
        selection = X.selection
    plain = None if selection is None else plain_selection(selection)
    views = replace(_with_columns(views), selection=plain)
    return views if views.in_dask else views.aligned()


def _divided(X: Any, selection: ViewSelection) -> NamedViews:
    """Columns of a single table as several views."""
    given = None if isinstance(X, Mapping | list | tuple) else _with_columns(_named_views(X))
    names = None if given is None or len(given.views) != 1 else given.feature_names[0]
    if given is None or names is None:
        raise TypeError(
            "views= selects matrices of AnnData or MuData objects, or of a dict or list of "
            "AnnData objects, or divides the columns of a single table; got "
            f"{type(X).__name__}. Give files of several views to anchorview.open_views with views=."
        )
    columns = _columns_by_view(names.tolist(), plain_selection(selection))
    available = given.available
    return replace(
        given,
        names=tuple(columns),
        named=True,
        views=[columns_of(given.views[0], np.array(positions)) for positions in columns.values()],
        available=None if available is None else np.repeat(available, len(columns), axis=1),
        feature_names=tuple(names[positions] for positions in columns.values()),
    )


def divided_file(file: ViewFile, division: Any) -> ViewFile:
    """Columns of the only table of a file as several views."""
    divided = _divided(file, division)
    views = dict(zip(divided.names, divided.views, strict=True))
    selection = plain_selection(division)
    return replace(file, views=views, available=divided.available, selection=selection)


def _columns_by_view(names: Sequence[Any], division: PlainSelection) -> dict[str, list[int]]:
    """Positions of the columns of each view; raises if a view names a column that is not there.

    "..." stands for all columns that no view names.
    """
    position = {str(name): j for j, name in enumerate(names)}
    named = {view: (x,) if isinstance(x, str) else x for view, x in division.items()}
    used = {name for of_view in named.values() for name in of_view}
    rest = [j for j, name in enumerate(map(str, names)) if name not in used]
    columns: dict[str, list[int]] = {}
    for view, of_view in named.items():
        unknown = [name for name in of_view if name not in (*position, REST)]
        if unknown:
            raise ValueError(
                f"views: {view!r} has the column {unknown[0]!r}, which is not in the table. Its "
                f"columns are {listed(list(names), most=30)}."
            )
        columns[view] = [position[name] for name in of_view if name != REST]
        columns[view] += rest if REST in of_view else []
        if not columns[view]:
            raise ValueError(f"views: {view!r} has no columns. Leave it out.")
    return columns


def _as_table(view: Any) -> Any:
    """A Series as a frame, a vector of texts as a table with one column, and all else as it is."""
    if isinstance(view, pd.Series):
        return view.to_frame()
    is_vector = isinstance(view, list | tuple) or (isinstance(view, np.ndarray) and view.ndim == 1)
    if is_vector and any(isinstance(text, str) for text in view[:TEXTS_EXAMINED]):
        return TableView(pd.DataFrame({0: view}, dtype=object), "a vector of texts")
    return view


def _named_views(X: Any) -> NamedViews:
    # Sparse comes first, as a dok_array is a Mapping.
    if sparse.issparse(X):
        return _numbered_views([X])
    if isinstance(X, list | tuple | Mapping) and not X:
        raise ValueError(f"There are no views: got an empty {type(X).__name__}.")
    if isinstance(X, Mapping):
        names = tuple(str(name) for name in X)
        if len(set(names)) < len(names):
            raise ValueError(f"Two views have the same name among {list(names)}.")
        return _with_anndata(NamedViews(names, True, list(map(_as_table, X.values()))))
    if isinstance(X, list | tuple):
        return _with_anndata(_numbered_views([X] if all(map(_is_row, X)) else X))
    if isinstance(X, ViewFile):
        views = _named_views(X.views)
        features = tuple(map(X.feature_names.get, views.names))
        return replace(
            views, available=X.available, sample_ids=X.sample_ids, feature_names=features
        )
    if is_mudata(X):
        return _views_of_mudata(X)
    if isinstance(X, StoredView) or hasattr(X, "__array__") or hasattr(X, "__dask_graph__"):
        return _numbered_views([X])
    raise TypeError(
        "Views must be a list, tuple or dict of 2-D arrays, DataFrames or scipy.sparse "
        f"matrices, or one of these; got {type(X).__name__}."
    )


def _numbered_views(views: Sequence[Any]) -> NamedViews:
    names = tuple(f"view_{p}" for p in range(len(views)))
    return NamedViews(names, False, list(map(_as_table, views)))


def _is_row(item: Any) -> bool:
    """Whether an element of a list is a row of one nested-list view, not a view."""
    if isinstance(item, (list, tuple)):
        return not any(isinstance(entry, (list, tuple, np.ndarray)) for entry in item)
    return isinstance(item, (Number, str))


def _views_of_mudata(
    mdata: AnnotatedData, choices: Mapping[str, MatrixChoice] | None = None
) -> NamedViews:
    """Chosen matrices of the modalities of a MuData object, or of an AnnData object, as views."""
    modalities = modalities_of(mdata)
    if choices is not None and is_anndata(mdata):
        modalities = dict.fromkeys(choices, mdata)
    return views_of_modalities(mdata, modalities, choices)


def views_of_modalities(
    whole: Any, modalities: Mapping[str, Any], choices: Mapping[str, MatrixChoice] | None
) -> NamedViews:
    """Chosen matrices, by default ``X``, of objects with the attributes of AnnData.

    They are the modalities of `whole`, or `whole` itself. Matrices on disk stay there.
    """
    ids = whole.obs_names
    require_unique_ids(ids, "The object")
    choices = dict.fromkeys(modalities, MatrixChoice()) if choices is None else choices
    unknown = [name for name in choices if name not in modalities]
    if unknown:
        raise ValueError(
            f"views names {unknown[0]!r}, but the modalities are {', '.join(modalities)}."
        )
    views, features = [], []
    available = np.ones((len(ids), len(choices)), dtype=bool)
    for p, (name, choice) in enumerate(choices.items()):
        modality = modalities[name]
        subject = f"{'View' if modality is whole else 'Modality'} {name!r}"
        matrix, of_view = chosen_matrix(modality, choice, subject)
        rows = rows_in_modality(ids, modality, matrix.shape[0], subject)
        available[:, p] = rows >= 0
        aligned = reindex_rows(matrix, rows)
        if isinstance(aligned, np.ndarray):
            aligned = pd.DataFrame(aligned, ids, of_view, copy=False)
        views.append(aligned)
        features.append(np.asarray(of_view, dtype=object))
    return NamedViews(tuple(choices), True, views, available, ids, tuple(features))


def _with_anndata(
    given: NamedViews, choices: Mapping[str, MatrixChoice] | None = None
) -> NamedViews:
    """Views with matrices in place of AnnData objects, by default ``X``, aligned by their names."""
    matrices = {}
    views = list(given.views)
    features: list[FeatureNames | None] = [None] * len(views)
    for p, (view, description) in enumerate(zip(views, given.descriptions, strict=True)):
        if not isinstance(view, np.ndarray | StoredView) and is_anndata(view):
            choice = MatrixChoice() if choices is None else choices[given.names[p]]
            matrices[p], names = chosen_matrix(view, choice, description)
            features[p] = np.asarray(names, dtype=object)
            views[p] = pd.DataFrame(index=view.obs_names)
    if not matrices:
        return given
    indices = {p: view.index for p, view in enumerate(views) if isinstance(view, pd.DataFrame)}
    ids, views = align_frames(views, given.descriptions)
    assert ids is not None
    available = np.tile([view is not None for view in views], (len(ids), 1))
    for p, index in indices.items():
        rows = index.get_indexer(ids)
        available[:, p] = rows >= 0
        if p in matrices:
            views[p] = reindex_rows(matrices[p], rows)
    return NamedViews(given.names, given.named, views, available, ids, tuple(features))


def _with_columns(given: NamedViews) -> NamedViews:
    """Views with their feature names, and arrays in place of tables of other libraries."""
    views = list(given.views)
    features = list(given.feature_names) or [None] * len(views)
    for p, description in enumerate(given.descriptions):
        if views[p] is not None and not isinstance(views[p], np.ndarray):
            views[p], features[p] = named_columns(views[p], features[p], description)
    return replace(given, views=views, feature_names=tuple(features))


def with_samples(given: NamedViews, rows: Array) -> NamedViews:
    """Views of some samples; all views have the same samples."""
    views = [
        view.iloc[rows] if isinstance(view, pd.DataFrame) else reindex_rows(view, rows)
        for view in given.views
    ]
    available = None if given.available is None else given.available[rows]
    ids = None if given.sample_ids is None else given.sample_ids[rows]
    return replace(given, views=views, available=available, sample_ids=ids)


def _with_common_samples(given: NamedViews) -> NamedViews:
    """Views of the samples that have all of them, in the order of the first view."""
    if given.available is not None:
        rows = np.flatnonzero(given.available.all(axis=1))
        common = replace(with_samples(given, rows), available=None)
    elif all(isinstance(view, pd.DataFrame) for view in given.views):
        for view, description in zip(given.views, given.descriptions, strict=True):
            require_unique_ids(view.index, description)
        rows = given.views[0].index
        for view in given.views[1:]:
            rows = rows[rows.isin(view.index)]
        common = replace(given, views=[view.loc[rows] for view in given.views])
    else:
        raise ValueError(
            "join='inner' needs views with sample ids: DataFrames, AnnData or MuData objects."
        )
    if not len(rows):
        raise ValueError(
            "No sample has all views, so join='inner' leaves nothing. Use join='outer', with which "
            "samples may lack views, or compare the sample ids of the views."
        )
    return common


def selection_like_fit(X: Any, fitted: ViewSelection | None) -> ViewSelection | None:
    """What to select from new samples, of what was selected for a fit.

    Only AnnData and MuData objects have several matrices; a modality may be left out. A single
    table is divided as that of the fit.
    """
    if fitted is None or is_anndata(X):
        return fitted
    names: Any = modalities_of(X) if is_mudata(X) else _beside_anndata(X)
    if not names and hasattr(X, "columns"):
        return fitted
    if isinstance(X, ViewFile) and len(X.views) == 1 and X.selection is None:
        divides = any(isinstance(of_view, tuple) or of_view == REST for of_view in fitted.values())
        if divides or set(X.views).isdisjoint(fitted):
            return fitted
    return {name: matrix for name, matrix in fitted.items() if name in names} or None


def _beside_anndata(X: Any) -> dict[str, Any]:
    """Views of a dict or list by name, if some are AnnData objects; their matrices are selected."""
    views = X if isinstance(X, Mapping) else {}
    if isinstance(X, list | tuple):
        views = dict(zip(_numbered_views(X).names, X, strict=True))
    has_choice = any(map(is_anndata, views.values()))
    return {str(name): view for name, view in views.items()} if has_choice else {}


def _selected_views(X: Any, choices: dict[str, MatrixChoice]) -> NamedViews:
    if is_mudata(X):
        return _views_of_mudata(X, choices)
    given = _beside_anndata(X)
    named = isinstance(X, Mapping)
    order = list(choices) if named else list(given)
    unknown = [name for name in choices if name not in given]
    if unknown:
        raise ValueError(f"views names {unknown[0]!r}, but the views are {list(given)}.")
    for name in order:
        if name not in choices:
            raise ValueError(
                f"views does not say what {name!r} is. Name all views of a list, or give a dict."
            )
        if not is_anndata(given[name]):
            raise TypeError(
                f"views names {name!r}, which is a {type(given[name]).__name__} and not an AnnData "
                "object. Give all views as AnnData objects, or put its matrix into one."
            )
    return _with_anndata(NamedViews(tuple(order), named, [given[name] for name in order]), choices)


def views_from_mudata(
    mdata: AnnotatedData, views: ViewSelection | None = None
) -> tuple[dict[str, View], NDArray[np.bool_]]:
    """Return matrices of a MuData or AnnData object as views of the same samples.

    Parameters
    ----------
    mdata : MuData or AnnData
        An AnnData object is one view, named "view_0".
    views : dict of str to str, optional
        The matrix of each modality, in the grammar of `views` of :meth:`anchorview.DALMC.fit`, such
        as ``{"rna": "X:highly_variable", "protein": "layer:clr"}``. By default ``X`` of all
        modalities.

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
    >>> views, available = views_from_mudata(cells, {"pca": "obsm:X_pca"})
    >>> views["pca"]
       X_pca_0
    a      1.0
    b      1.0
    c      1.0
    >>> available.all()
    np.True_
    """
    require_mudata(mdata)
    found = _views_of_mudata(mdata, None if views is None else parse_selection(views))
    matrices = [view[:] if isinstance(view, StoredView) else view for view in found.views]
    assert found.available is not None
    return dict(zip(found.names, matrices, strict=True)), found.available
