"""Results that ``tl`` has written into an object."""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from anchorview.views.mudata_views import AnnotatedData


class ClusteredView(NamedTuple):
    """What a view was made of."""

    matrix: str
    step: str | None
    """Its preprocessing."""


def clusters_of(data: AnnotatedData, key: str) -> "pd.Series[Any]":
    """Clusters of the cells, categorical; raises if there are none under this name."""
    if key not in data.obs:
        raise ValueError(
            f"There is no {key!r} in obs. Cluster the cells first, for example with tl.dalmc(data, "
            f"n_clusters, key_added={key!r})."
        )
    return data.obs[key].astype("category")


def results_of(data: AnnotatedData, key: str) -> Any:
    """Entries of ``uns`` under a name; raises if there are none."""
    if key not in data.uns:
        raise ValueError(
            f"There is no {key!r} in uns. Cluster the cells first, for example with tl.auto."
        )
    return data.uns[key]


def series_of(found: Any, name: str, index: Any) -> "pd.Series[float]":
    """Numbers of an entry, which may have been read from a file."""
    return pd.Series(np.asarray(found[name]), pd.Index(np.asarray(index)))


def clustered_views(data: AnnotatedData, key: str) -> dict[str, ClusteredView]:
    """Views that were clustered; empty if the clusters are not from ``tl``."""
    found = data.uns.get(key, {})
    fields = ("view_names", "view_matrices", "view_preprocessing")
    if not all(field in found for field in fields):
        return {}
    rows = zip(*(map(str, found[field]) for field in fields), strict=True)
    return {
        name: ClusteredView(matrix, None if step == "None" else step) for name, matrix, step in rows
    }
