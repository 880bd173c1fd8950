"""Tools: cluster the cells of an AnnData or MuData object, rank their features, write the results.

As in scanpy, tools write into the object and return None or, with ``copy=True``, write into a copy
and return it.
"""

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from scipy.stats import false_discovery_control

from anchorview.estimators.auto.auto_dalmc import AutoDALMC
from anchorview.estimators.dalmc import DALMC
from anchorview.estimators.preparation import fit_preparation, prepare
from anchorview.inspection.labeled_parts import labeled_source
from anchorview.inspection.markers import marker_table
from anchorview.scverse.results import (
    clusters_of,
    filled,
    results_of,
    writable_object,
    write_results,
)
from anchorview.sources.open_source import open_source
from anchorview.views.anndata_matrices import (
    AnnotatedData,
    ViewSelection,
    is_anndata,
    modalities_of,
)
from anchorview.views.input_grammar import Join, parse, with_samples

__all__ = ["auto", "dalmc", "markers"]

Data = TypeVar("Data", bound=AnnotatedData)

PSEUDO_COUNT = 1e-9
"""Added to both means before their ratio is taken, as scanpy does."""


@filled
def dalmc(
    data: Data,
    n_clusters: int = 8,
    *,
    views: ViewSelection | None = None,
    join: Join | None = None,
    batch: Any = None,
    covariates: Any = None,
    key_added: str = "dalmc",
    random_state: int | None = 0,
    copy: bool = False,
    **params: Any,
) -> Data | None:
    """Cluster cells by :class:`~anchorview.DALMC`, and write the results into the object.

    Cells are matched by name; a cell may lack modalities. A MuData object gets the results, and so
    does each of its modalities for its cells, so that functions for AnnData find them there.
    Matrices of backed objects are read in parts.

    To predict new cells, fit the estimator itself and write its results by
    :func:`anchorview.scverse.write_results`.

    Parameters
    ----------
    data : MuData or AnnData
        Gets ``obs[key_added]``, the clusters as categories; ``obsm["X_" + key_added]``, the
        embedding; and ``uns[key_added]``, parameters and weights of the views.
    n_clusters : int, default=8
        Number of clusters.
    views : dict of str to str, default=None
        What each view is, as for :meth:`anchorview.DALMC.fit`: for example
        ``{"rna": "obsm:X_pca", "protein": "X"}``. If None, ``X`` of each modality.
    join : {"outer", "inner"} or None, default=None
        Cluster all cells, or only those that have all views. The others then have no cluster.
        None is ``"outer"`` with a warning if views share few cells.
    batch, covariates : default=None
        Batch of each cell and numbers by cell, which are taken out of the views, as for
        :meth:`anchorview.DALMC.fit`: names of columns of ``obs``, or values.
    key_added : str, default="dalmc"
        Name of the entries.
    random_state : int, default=0
        Seed.
    %(copy)s
    **params : dict
        Other parameters of :class:`~anchorview.DALMC`, such as ``preprocess``.

    %(returns)s

    %(cells)s
    >>> av.tl.dalmc(cells, 3, views={"rna": "X", "protein": "obsm:protein"})
    >>> cells.obs["dalmc"].cat.categories.tolist(), cells.obsm["X_dalmc"].shape
    (['0', '1', '2'], (90, 3))
    """
    data = writable_object(data, key_added, copy)
    model = DALMC(n_clusters, random_state=random_state, **params)
    model.fit(data, views=views, join=join, batch=batch, covariates=covariates)
    write_results(data, model, key_added, partial=join == "inner")
    return data if copy else None


@filled
def auto(
    data: Data,
    n_clusters: int | Sequence[int] | None = None,
    *,
    views: ViewSelection | None = None,
    join: Join | None = None,
    batch: Any = None,
    covariates: Any = None,
    key_added: str = "auto_dalmc",
    random_state: int | None = 0,
    copy: bool = False,
    **params: Any,
) -> Data | None:
    """Cluster cells by :class:`~anchorview.AutoDALMC`, and write the results into the object.

    As :func:`dalmc`, without settings to tune; the number of clusters is chosen if it is None.

    Parameters
    ----------
    data : MuData or AnnData
        Gets what :func:`dalmc` writes; ``obs[key_added + "_confidence"]``; and in
        ``uns[key_added]`` also how well each view agrees with the clusters, the curve of the number
        of clusters, and the levels.
    n_clusters : int, sequence of int or None, default=None
        Number of clusters, numbers to choose from, or None to choose.
    views, join, batch, covariates
        As for :func:`dalmc`.
    key_added : str, default="auto_dalmc"
        Name of the entries.
    random_state, copy
        As for :func:`dalmc`.
    **params : dict
        Other parameters of :class:`~anchorview.AutoDALMC`, such as ``budget`` and ``preprocess``.

    %(returns)s

    %(cells)s
    >>> views = {"rna": "X", "protein": "obsm:protein"}
    >>> av.tl.auto(cells, 3, views=views, budget="fast")
    >>> bool((cells.obs["auto_dalmc_confidence"] > 0.5).all())
    True
    """
    data = writable_object(data, key_added, copy)
    model = AutoDALMC(n_clusters, random_state=random_state, **params)
    model.fit(data, views=views, join=join, batch=batch, covariates=covariates)
    write_results(data, model, key_added, partial=join == "inner")
    return data if copy else None


@filled
def markers(
    data: Data,
    key: str,
    *,
    views: ViewSelection | None = None,
    n_features: int | None = None,
    key_added: str = "rank_genes_groups",
    copy: bool = False,
) -> Data | None:
    """Rank the features of each cluster, in the structure of ``scanpy.tl.rank_genes_groups``.

    scanpy's plots and ``scanpy.get.rank_genes_groups_df`` read it. For each feature, the cells of a
    cluster are compared with all others by Welch's t-test, as in scanpy with ``method="t-test"``,
    in one pass over the cells, also of backed objects. Clusters were formed to differ in these
    features, so p-values are optimistic: use them to compare features, not as evidence that
    clusters exist.

    Parameters
    ----------
    data : MuData or AnnData
        Each modality gets ``uns[key_added]``; an AnnData object gets it for its view or, with
        several views, ``uns[key_added + "_" + view]`` for each. Fold changes assume logarithms, as
        those of scanpy do.
    key : str
        Clusters, a column of ``obs``, such as "dalmc".
    views : dict of str to str, default=None
        The matrices to compare, as for :func:`dalmc`. By default those that were clustered,
        preprocessed as they were, and ``X`` instead of representations in ``obsm``.
    n_features : int, default=None
        Number of features per cluster to write; if None, all.
    key_added : str, default="rank_genes_groups"
        Name of the entries.
    %(copy)s

    %(returns)s

    %(cells)s
    >>> av.tl.dalmc(cells, 3)
    >>> av.tl.markers(cells, "dalmc", n_features=5)
    >>> cells.uns["rank_genes_groups"]["names"].dtype.names
    ('0', '1', '2')
    """
    data = writable_object(data, key_added, copy)
    if n_features is not None and n_features < 1:
        raise ValueError(f"n_features={n_features} should be >= 1, or None for all features.")
    labels = clusters_of(data, key)
    matrices, steps = _clustered_views(data, key)
    selection = _comparable(data, matrices) if views is None else dict(views)
    # What was preprocessed before it was clustered is preprocessed before it is compared.
    steps = {name: step for name, step in steps.items() if selection.get(name) == matrices[name]}
    given = parse(data, selection)
    known = labels.notna().to_numpy()
    if not known.all():
        given = with_samples(given, np.flatnonzero(known))
    source = open_source(given)
    preparation = fit_preparation(source, steps)
    if preparation is not None:
        source = prepare(source, preparation)
    table = marker_table(labeled_source(labels[known].astype(str), source))
    groups = [str(name) for name in labels.cat.categories if name in set(table["cluster"])]
    for view, rows in table.groupby("view", sort=False):
        target: Any = data if is_anndata(data) else modalities_of(data)[str(view)]
        name = key_added if target is not data or len(selection) == 1 else f"{key_added}_{view}"
        if target is not data:
            target.obs[key] = labels.reindex(target.obs_names)
        kind, _, layer = selection[str(view)].partition(":")
        target.uns[name] = {
            "params": {
                "groupby": key,
                "reference": "rest",
                "method": "t-test",
                "use_raw": False,
                "layer": layer.split(":")[0] if kind == "layer" else None,
                "corr_method": "benjamini-hochberg",
            },
            **_ranked(rows, groups, n_features),
        }
    return data if copy else None


def _clustered_views(data: AnnotatedData, key: str) -> tuple[dict[str, str], dict[str, Any]]:
    """Matrices of the views that were clustered here, and preprocessing of those that had any."""
    results = results_of(data, key)
    fields = ("view_names", "view_matrices", "view_preprocessing")
    names, matrices, steps = (list(map(str, results.get(field, ()))) for field in fields)
    preprocessed = {name: step for name, step in zip(names, steps, strict=True) if step != "None"}
    return dict(zip(names, matrices, strict=True)), preprocessed


def _comparable(data: AnnotatedData, matrices: dict[str, str]) -> dict[str, str]:
    """Matrices with named features: those that were clustered, or ``X``."""
    named = {name: matrix for name, matrix in matrices.items() if not matrix.startswith("obsm:")}
    if not is_anndata(data):
        return {name: named.get(name, "X") for name in modalities_of(data)}
    repeats = len(set(matrices.values())) < len(matrices)
    return named if named and not repeats else {"X": "X"}


def _ranked(table: pd.DataFrame, groups: list[str], n_features: int | None) -> dict[str, Any]:
    """Arrays with a field per cluster, sorted by score."""
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        inside, outside = (np.expm1(table[name]) + PSEUDO_COUNT for name in ("mean_in", "mean_out"))
        change = np.log2(inside / outside)
    # Constant features have no finite statistic.
    largest = float(np.finfo(np.float32).max)
    columns = {
        "cluster": table["cluster"],
        "names": table["feature"].astype(object),
        "scores": table["statistic"].fillna(0).clip(-largest, largest).astype(np.float32),
        "pvals": table["p_value"].fillna(1),
        "logfoldchanges": change.astype(np.float32),
    }
    ranked = pd.DataFrame(columns).sort_values("scores", ascending=False, kind="stable")
    ranked["pvals_adj"] = ranked.groupby("cluster")["pvals"].transform(false_discovery_control)
    ranked["rank"] = ranked.groupby("cluster").cumcount()
    by_rank = ranked.pivot(index="rank", columns="cluster")[:n_features]
    fields = ("names", "scores", "pvals", "pvals_adj", "logfoldchanges")
    return {field: by_rank[field][groups].to_records(index=False) for field in fields}
