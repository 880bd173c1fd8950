"""Tools: fit an estimator on an AnnData or MuData object, and write the results into it."""

from collections.abc import Sequence
from typing import Any

from anchorview.estimators.auto.auto_dalmc import AutoDALMC
from anchorview.estimators.dalmc import DALMC
from anchorview.mudata import require_writable_object, write_results
from anchorview.scverse.marker_groups import write_markers
from anchorview.views.matrix_choice import ViewSelection
from anchorview.views.mudata_views import AnnotatedData
from anchorview.views.view_selection import Join

__all__ = ["auto", "dalmc", "markers"]


def dalmc(
    data: AnnotatedData,
    n_clusters: int = 8,
    *,
    views: ViewSelection | None = None,
    join: Join = "outer",
    batch: Any = None,
    covariates: Any = None,
    key_added: str = "dalmc",
    random_state: int | None = 0,
    **params: Any,
) -> DALMC:
    """Cluster cells by :class:`~anchorview.DALMC`, and write the results into the object.

    Cells are matched by name; a cell may lack modalities. A MuData object gets the results, and so
    does each of its modalities for its own cells, so that functions for AnnData find them there.
    Matrices of backed objects are read in parts.

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
    join : {"outer", "inner"}, default="outer"
        Cluster all cells, or only those that have all views. The others then have no cluster.
    batch, covariates : default=None
        Batch of each cell and numbers by cell, which are taken out of the views, as for
        :meth:`anchorview.DALMC.fit`: names of columns of ``obs``, or values.
    key_added : str, default="dalmc"
        Name of the entries.
    random_state : int, default=0
        Seed.
    **params : dict
        Other parameters of :class:`~anchorview.DALMC`, such as ``preprocess``.

    Returns
    -------
    model : DALMC
        The fitted model, with which new cells are predicted.

    Examples
    --------
    >>> import anndata
    >>> from anchorview import make_multiview
    >>> from anchorview import scverse as av
    >>> X, _ = make_multiview(60, n_clusters=3, random_state=0)
    >>> cells = anndata.AnnData(X["view_0"], obsm={"protein": X["view_1"]})
    >>> model = av.tl.dalmc(cells, 3, views={"rna": "X", "protein": "obsm:protein"})
    >>> cells.obs["dalmc"].cat.categories.tolist(), cells.obsm["X_dalmc"].shape
    (['0', '1', '2'], (60, 3))
    """
    require_writable_object(data, key_added)
    model = DALMC(n_clusters, random_state=random_state, **params)
    model.fit(data, views=views, join=join, batch=batch, covariates=covariates)
    write_results(data, model, key_added, partial=join == "inner")
    return model


def auto(
    data: AnnotatedData,
    n_clusters: int | Sequence[int] | None = None,
    *,
    views: ViewSelection | None = None,
    join: Join = "outer",
    batch: Any = None,
    covariates: Any = None,
    key_added: str = "dalmc",
    random_state: int | None = 0,
    **params: Any,
) -> AutoDALMC:
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
    views, join, batch, covariates, key_added, random_state
        As for :func:`dalmc`.
    **params : dict
        Other parameters of :class:`~anchorview.AutoDALMC`, such as ``budget`` and ``preprocess``.

    Returns
    -------
    model : AutoDALMC
        The fitted model.

    Examples
    --------
    >>> import anndata
    >>> from anchorview import make_multiview
    >>> from anchorview import scverse as av
    >>> X, _ = make_multiview(90, n_clusters=3, separation=8, random_state=0)
    >>> cells = anndata.AnnData(X["view_0"], obsm={"protein": X["view_1"]})
    >>> views = {"rna": "X", "protein": "obsm:protein"}
    >>> model = av.tl.auto(cells, 3, views=views, budget="fast")
    >>> bool((cells.obs["dalmc_confidence"] > 0.5).all())
    True
    """
    require_writable_object(data, key_added)
    model = AutoDALMC(n_clusters, random_state=random_state, **params)
    model.fit(data, views=views, join=join, batch=batch, covariates=covariates)
    write_results(data, model, key_added, partial=join == "inner")
    return model


def markers(
    data: AnnotatedData,
    key: str = "dalmc",
    *,
    views: ViewSelection | None = None,
    n_features: int | None = None,
    key_added: str = "rank_genes_groups",
) -> None:
    """Rank the features of each cluster, in the structure of ``scanpy.tl.rank_genes_groups``.

    scanpy's plots and ``scanpy.get.rank_genes_groups_df`` read it. For each feature, the cells of a
    cluster are compared with all others by Welch's t-test, as in scanpy with ``method="t-test"``,
    in one pass over the cells, also of backed objects.
    Clusters were formed to differ in these features, so p-values
    are optimistic: use them to compare features, not as evidence that clusters exist.

    Parameters
    ----------
    data : MuData or AnnData
        Each modality gets ``uns[key_added]``; an AnnData object gets it for its view or, with
        several views, ``uns[key_added + "_" + view]`` for each. Fold changes assume logarithms, as
        those of scanpy do.
    key : str, default="dalmc"
        Clusters, a column of ``obs``.
    views : dict of str to str, default=None
        The matrices to compare, as for :func:`dalmc`. By default those that were clustered,
        preprocessed as they were, and ``X`` instead of representations in ``obsm``.
    n_features : int, default=None
        Number of features per cluster to write; if None, all.
    key_added : str, default="rank_genes_groups"
        Name of the entries.

    Examples
    --------
    >>> import anndata
    >>> from anchorview import make_multiview
    >>> from anchorview import scverse as av
    >>> X, _ = make_multiview(60, n_clusters=3, random_state=0)
    >>> cells = anndata.AnnData(X["view_0"])
    >>> _ = av.tl.dalmc(cells, 3)
    >>> av.tl.markers(cells, n_features=5)
    >>> cells.uns["rank_genes_groups"]["names"].dtype.names
    ('0', '1', '2')
    """
    write_markers(data, key, views, n_features, key_added)
