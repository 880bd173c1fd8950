"""The arguments `views` and `join` of `fit`: which matrices are the views, of which samples."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pandas as pd

from anchorview._utils.typing import Array
from anchorview.views.alignment import require_unique_ids
from anchorview.views.input_grammar import (
    NamedViews,
    named_views,
    numbered_views,
    taken_rows,
    views_of_mudata,
    with_anndata,
)
from anchorview.views.matrix_choice import MatrixChoice, ViewSelection, parse_selection
from anchorview.views.mudata_views import is_anndata, is_mudata, modalities_of
from anchorview.views.parts import Parts

Join = Literal["outer", "inner"]
JOINS = ("outer", "inner")


def select_views(X: Any, views: ViewSelection | None, join: Join = "outer") -> Any:
    """Views of any accepted form, of which some matrices and samples are selected.

    Returns `X` as it is if there is nothing to select.
    """
    if join not in JOINS:
        raise ValueError(f"join must be 'outer' or 'inner'; got {join!r}.")
    if views is not None:
        X = _selected(X, parse_selection(views))
    if join == "outer":
        return X
    if isinstance(X, Parts):
        raise TypeError(
            f"join='inner' does not apply to {type(X).__name__}, whose samples are aligned "
            "already. Select the samples that have all views, or give the views themselves."
        )
    return with_common_samples(named_views(X))


def select_like_fit(X: Any, views: ViewSelection | None) -> Any:
    """Views of new samples, with the matrices that were selected for a fit.

    Only AnnData and MuData objects have several; a modality may be left out.
    """
    if views is None or not _has_choice(X):
        return X
    choices = parse_selection(views)
    if is_anndata(X):
        return _selected(X, choices)
    names = _names(X)
    known = {name: choice for name, choice in choices.items() if name in names}
    return _selected(X, known) if known else X


def _has_choice(X: Any) -> bool:
    if isinstance(X, Mapping):
        X = list(X.values())
    return is_mudata(X) or (isinstance(X, list | tuple) and any(map(is_anndata, X)))


def _names(X: Any) -> tuple[str, ...]:
    """Names of the views among which a selection chooses."""
    if isinstance(X, Mapping):
        return tuple(map(str, X))
    if isinstance(X, list | tuple):
        return numbered_views(X).names
    return tuple(modalities_of(X))


def _selected(X: Any, choices: dict[str, MatrixChoice]) -> NamedViews:
    if is_mudata(X):
        return views_of_mudata(X, choices)
    if not _has_choice(X):
        raise TypeError(
            "views= selects matrices of AnnData or MuData objects, or of a dict or list of "
            f"AnnData objects; got {type(X).__name__}. Give files to anchorview.open_views with "
            "views=, and other data without."
        )
    named = isinstance(X, Mapping)
    given = dict(zip(_names(X), X.values() if named else X, strict=True))
    unknown = [name for name in choices if name not in given]
    if unknown:
        raise ValueError(f"views names {unknown[0]!r}, but the views are {list(given)}.")
    if not named and len(choices) < len(given):
        missing = next(name for name in given if name not in choices)
        raise ValueError(
            f"views does not say what {missing!r} is. Name all views of a list, or give a dict."
        )
    order = list(choices) if named else list(given)
    for name in order:
        if not is_anndata(given[name]):
            raise TypeError(
                f"views names {name!r}, which is a {type(given[name]).__name__} and not an AnnData "
                "object. Give all views as AnnData objects, or put its matrix into one."
            )
    return with_anndata(NamedViews(tuple(order), named, [given[name] for name in order]), choices)


def with_common_samples(given: NamedViews) -> NamedViews:
    """Views of the samples that have all of them, in the order of the first view."""
    frames = [p for p, view in enumerate(given.views) if isinstance(view, pd.DataFrame)]
    views = list(given.views)
    if given.available is None:
        if len(frames) < len(views):
            raise ValueError(
                "join='inner' needs views with sample ids: DataFrames, AnnData or MuData objects."
            )
        for p in frames:
            require_unique_ids(views[p].index, given.descriptions[p])
        common = views[0].index
        for view in views[1:]:
            common = common[common.isin(view.index)]
        _require_some(common)
        return replace(given, views=[view.loc[common] for view in views])
    rows = np.flatnonzero(given.available.all(axis=1))
    _require_some(rows)
    return replace(with_samples(given, rows), available=None)


def with_samples(given: NamedViews, rows: Array) -> NamedViews:
    """Views of some samples; all views have the same samples."""
    views = [
        view.iloc[rows] if isinstance(view, pd.DataFrame) else taken_rows(view, rows)
        for view in given.views
    ]
    available = None if given.available is None else given.available[rows]
    ids = None if given.sample_ids is None else given.sample_ids[rows]
    return replace(given, views=views, available=available, sample_ids=ids)


def _require_some(samples: Any) -> None:
    if not len(samples):
        raise ValueError(
            "No sample has all views, so join='inner' leaves nothing. Use join='outer', with which "
            "samples may lack views, or compare the sample ids of the views."
        )
