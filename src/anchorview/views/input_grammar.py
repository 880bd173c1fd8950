"""The input grammar: every accepted form of input becomes a list of named views.

Arrays, frames, sparse matrices, files and Dask collections all start here; what is done with the
views afterwards depends on where their rows are.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Number
from typing import Any, Protocol, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import sparse

from anchorview._utils.typing import Array, FeatureNames, Matrix
from anchorview.views.alignment import align_frames, reindex_rows
from anchorview.views.annotated_matrix import chosen_matrix
from anchorview.views.column_tables import table_values
from anchorview.views.column_warnings import warn_about_frame, warn_about_names
from anchorview.views.feature_names import feature_names_of
from anchorview.views.matrix_checks import as_matrix
from anchorview.views.matrix_choice import MatrixChoice
from anchorview.views.mudata_views import (
    AnnotatedData,
    is_anndata,
    is_mudata,
    selected_modalities,
)
from anchorview.views.schema import describe_view
from anchorview.views.stored_matrices import select_stored
from anchorview.views.stored_view import StoredView
from anchorview.views.view_file import ViewFile


class DaskCollection(Protocol):
    """A dask array or dask dataframe."""

    def __dask_graph__(self) -> Any:
        """Tasks of the collection."""


# In quotes: older SciPy's sparse arrays take no type parameters at run time.
Sparse: TypeAlias = "sparse.sparray | sparse.spmatrix"
ViewLike: TypeAlias = (
    "ArrayLike | pd.DataFrame | Sparse | StoredView | DaskCollection | AnnotatedData | None"
)
"""One view: an array, DataFrame, pyarrow table, sparse matrix, view on disk, dask collection,
AnnData object, or None if no sample has the view."""


@dataclass(frozen=True)
class NamedViews:
    """Views of any accepted form, separated and named, but not checked yet."""

    names: tuple[str, ...]
    named: bool
    """Whether the names were given by the user."""
    views: list[Any]
    available: Array | None = None
    """Which samples have which views, as far as the form of the input says it."""
    sample_ids: "pd.Index[Any] | None" = None
    """Ids of the samples, if the form of the input has them apart from the views."""
    known_features: Mapping[str, FeatureNames] = field(default_factory=dict)
    """Feature names by view, if the form of the input has them apart from the views."""

    @property
    def descriptions(self) -> list[str]:
        """How messages name the views."""
        return [describe_view(p, name) for p, name in enumerate(self.names)]

    @property
    def feature_names(self) -> tuple[FeatureNames | None, ...]:
        """Names of the features of each view; None for a view without."""
        return tuple(
            self.known_features.get(name, feature_names_of(view))
            for name, view in zip(self.names, self.views, strict=True)
        )

    def aligned(self) -> "tuple[list[Matrix], pd.Index[Any] | None]":
        """Views as matrices with the same samples in the same order, and the ids of these.

        Views on disk stay there, and None stays None.
        """
        # The size of a dask dataframe is known only once it is computed.
        views = [view.compute() if _is_dask_frame(view) else view for view in self.views]
        for view, description in zip(views, self.descriptions, strict=True):
            if isinstance(view, pd.DataFrame):
                warn_about_frame(view, description)
            elif isinstance(view, StoredView) and view.feature_names is not None:
                warn_about_names(view.feature_names, description)
        ids, views = align_frames(views, self.descriptions)
        matrices = [as_matrix(view, d) for view, d in zip(views, self.descriptions, strict=True)]
        return matrices, self.sample_ids if ids is None else ids


def named_views(X: Any) -> NamedViews:
    """Separate and name the views of any accepted form of input."""
    if isinstance(X, NamedViews):
        return X
    if is_mudata(X):
        return views_of_mudata(X)
    if isinstance(X, ViewFile):
        own = named_views(X.views)
        return NamedViews(
            own.names, own.named, own.views, X.available, X.sample_ids, X.feature_names
        )
    # Sparse comes first, as a dok_array is a Mapping.
    if sparse.issparse(X):
        return numbered_views([X])
    if isinstance(X, list | tuple | Mapping) and not X:
        raise ValueError(f"There are no views: got an empty {type(X).__name__}.")
    if isinstance(X, Mapping):
        names = tuple(str(name) for name in X)
        if len(set(names)) < len(names):
            raise ValueError(f"Two views have the same name among {list(names)}.")
        return with_tables(with_anndata(NamedViews(names, True, list(X.values()))))
    if isinstance(X, list | tuple):
        return with_tables(with_anndata(numbered_views([X] if all(map(_is_row, X)) else X)))
    if isinstance(X, StoredView) or hasattr(X, "__array__") or hasattr(X, "__dask_graph__"):
        return with_tables(numbered_views([X]))
    raise TypeError(
        "Views must be a list, tuple or dict of 2-D arrays, DataFrames or scipy.sparse "
        f"matrices, or one of these; got {type(X).__name__}."
    )


def views_of_mudata(mdata: Any, choices: Mapping[str, MatrixChoice] | None = None) -> NamedViews:
    """Views of a MuData or AnnData object; by default ``X`` of each modality."""
    found = selected_modalities(mdata, choices)
    return NamedViews(
        tuple(found.views),
        True,
        list(found.views.values()),
        found.available,
        mdata.obs_names,
        found.features,
    )


def with_anndata(
    given: NamedViews, choices: Mapping[str, MatrixChoice] | None = None
) -> NamedViews:
    """Views with matrices in place of AnnData objects: frames, or others with equal rows.

    Matrices that are sparse or on disk are aligned here, as they have no ids by which this could
    be done later. By default the matrix is ``X``.
    """
    views = list(given.views)
    matrices = {}
    features = {}
    for p, (view, description) in enumerate(zip(views, given.descriptions, strict=True)):
        if is_anndata(view):
            choice = MatrixChoice() if choices is None else choices[given.names[p]]
            values, names = chosen_matrix(view, choice, description)
            features[given.names[p]] = np.asarray(names, dtype=object)
            if isinstance(values, np.ndarray):
                views[p] = pd.DataFrame(values, view.obs_names, names, copy=False)
            else:
                matrices[p] = values
                views[p] = pd.DataFrame(index=view.obs_names)
    if not matrices:
        return replace(given, views=views, known_features=features)
    own_ids = {p: view.index for p, view in enumerate(views) if isinstance(view, pd.DataFrame)}
    ids, views = align_frames(views, given.descriptions)
    assert ids is not None
    available = np.ones((len(ids), len(views)), bool)
    for p, own in own_ids.items():
        rows = own.get_indexer(ids)
        available[:, p] = rows >= 0
        if p in matrices:
            views[p] = taken_rows(matrices[p], rows)
    return replace(given, views=views, available=available, sample_ids=ids, known_features=features)


def with_tables(given: NamedViews) -> NamedViews:
    """Views with arrays in place of tables of libraries other than pandas."""
    views = list(given.views)
    features = dict(given.known_features)
    for p, (name, description) in enumerate(zip(given.names, given.descriptions, strict=True)):
        found = table_values(views[p], description)
        if found is not None:
            views[p], features[name] = found
    return replace(given, views=views, known_features=features)


def taken_rows(view: Any, rows: Array) -> Any:
    """Rows of a matrix in memory or on disk; -1 is a sample that it lacks."""
    if np.array_equal(rows, np.arange(view.shape[0])):
        return view
    return select_stored(view, rows) if isinstance(view, StoredView) else reindex_rows(view, rows)


def numbered_views(views: Sequence[Any]) -> NamedViews:
    """Views without names of their own."""
    return NamedViews(tuple(f"view_{p}" for p in range(len(views))), False, list(views))


def _is_row(item: Any) -> bool:
    """Whether an element of a list is a row of one nested-list view, not a view."""
    if isinstance(item, (list, tuple)):
        return not any(isinstance(entry, (list, tuple, np.ndarray)) for entry in item)
    return isinstance(item, (Number, str))


def _is_dask_frame(view: Any) -> bool:
    return hasattr(view, "__dask_graph__") and hasattr(view, "divisions")
