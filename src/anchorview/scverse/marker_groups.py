"""Markers of clusters in the structure that ``scanpy.tl.rank_genes_groups`` writes."""

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import false_discovery_control

from anchorview._utils.typing import Array
from anchorview.core.preprocessing import Preprocessing, fit_preprocessing
from anchorview.inspection.cluster_moments import merge_views, part_moments
from anchorview.inspection.labeled_parts import labeled_source
from anchorview.inspection.markers import marker_table
from anchorview.mudata import require_writable_object
from anchorview.scverse.written_results import ClusteredView, clustered_views, clusters_of
from anchorview.sources.open_source import open_source
from anchorview.views.input_grammar import NamedViews
from anchorview.views.matrix_choice import ViewSelection
from anchorview.views.mudata_views import AnnotatedData, is_anndata, modalities_of
from anchorview.views.view_selection import select_views, with_samples

PSEUDO_COUNT = 1e-9
"""Added to both means before their ratio is taken, as scanpy does."""


def write_markers(
    data: AnnotatedData,
    key: str,
    views: ViewSelection | None,
    n_features: int | None,
    key_added: str,
) -> None:
    """Write the markers of each view; see :func:`anchorview.scverse.tl.markers`."""
    require_writable_object(data, key_added)
    if n_features is not None and n_features < 1:
        raise ValueError(f"n_features={n_features} should be >= 1, or None for all features.")
    labels = clusters_of(data, key)
    recorded = clustered_views(data, key)
    selection = _comparable(data, recorded) if views is None else dict(views)
    # What was preprocessed before it was clustered is preprocessed before it is compared.
    steps: Any = {
        name: step
        for name, (matrix, step) in recorded.items()
        if step is not None and selection.get(name) == matrix
    }
    given: NamedViews = select_views(data, selection)
    known = labels.notna().to_numpy()
    if not known.all():
        given = with_samples(given, np.flatnonzero(known))
    source = open_source(given, nan_cells=True)
    steps = fit_preprocessing(source, steps or None)
    if steps is not None:
        source.prepare_parts(Preprocessing(steps))
    labeled = labeled_source(labels[known].astype(str), source)
    moments = labeled.reduce(partial(part_moments, len(labeled.clusters)), merge_views, "markers")
    table = marker_table(labeled, moments)
    groups = [str(name) for name in labels.cat.categories if name in set(table["cluster"])]
    for view, own in table.groupby("view", sort=False):
        owner, name = _place(data, str(view), len(selection), key_added)
        if owner is not data:
            owner.obs[key] = labels.reindex(owner.obs_names)
        layer = selection[str(view)].split(":")[1] if selection[str(view)][0] == "l" else None
        owner.uns[name] = {
            "params": {
                "groupby": key,
                "reference": "rest",
                "method": "t-test",
                "use_raw": False,
                "layer": layer,
                "corr_method": "benjamini-hochberg",
            },
            **_ranked(own, groups, n_features),
        }


def _comparable(data: AnnotatedData, recorded: dict[str, ClusteredView]) -> dict[str, str]:
    """Matrices with named features: those that were clustered, or ``X``."""
    if is_anndata(data):
        clustered = [own.matrix for own in recorded.values()]
        named = {
            name: own.matrix for name, own in recorded.items() if not own.matrix.startswith("obsm:")
        }
        return named if named and len(set(clustered)) == len(clustered) else {"X": "X"}
    unknown = ClusteredView("X", None)
    matrices = {name: recorded.get(name, unknown).matrix for name in modalities_of(data)}
    return {name: "X" if own.startswith("obsm:") else own for name, own in matrices.items()}


def _place(data: Any, view: str, n_views: int, key_added: str) -> tuple[Any, str]:
    """Object that gets the markers of a view, and the name of the entry."""
    if is_anndata(data):
        return data, key_added if n_views == 1 else f"{key_added}_{view}"
    return data.mod[view], key_added


def _ranked(table: pd.DataFrame, groups: list[str], n_features: int | None) -> dict[str, Any]:
    """Arrays with a field per cluster, sorted by score."""
    columns: dict[str, list[Array]] = {
        name: [] for name in ("names", "scores", "pvals", "pvals_adj", "logfoldchanges")
    }
    for group in groups:
        own = table[table["cluster"] == group]
        scores = own["statistic"].fillna(0.0).to_numpy()
        p_values = own["p_value"].fillna(1.0).to_numpy()
        # Constant features have no finite statistic.
        scores = np.clip(scores, -np.finfo(np.float32).max, np.finfo(np.float32).max)
        order = np.argsort(-scores, kind="stable")[:n_features]
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            inside, outside = (np.expm1(own[name].to_numpy()) for name in ("mean_in", "mean_out"))
            change = np.log2((inside + PSEUDO_COUNT) / (outside + PSEUDO_COUNT))
        found = (
            own["feature"].to_numpy(dtype=object),
            scores.astype(np.float32),
            p_values,
            false_discovery_control(p_values),
            change.astype(np.float32),
        )
        for column, values in zip(columns.values(), found, strict=True):
            column.append(values[order])
    return {name: _record_array(values, groups) for name, values in columns.items()}


def _record_array(columns: list[Array], groups: list[str]) -> Any:
    dtype = [(group, column.dtype) for group, column in zip(groups, columns, strict=True)]
    return np.rec.fromarrays(columns, dtype=dtype)
