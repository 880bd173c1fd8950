"""Plots of what ``tl`` has written, by the displays of :mod:`anchorview.plotting`."""

from typing import Any

import numpy as np
import pandas as pd

from anchorview.plotting.bar_displays import ClusterSizesDisplay, ViewAgreementDisplay
from anchorview.plotting.curve_displays import ClusterNumberDisplay
from anchorview.plotting.drawn_samples import map_layout
from anchorview.plotting.sample_displays import SampleMapDisplay
from anchorview.scverse.results import clusters_of, filled, results_of, series_of
from anchorview.views.anndata_matrices import AnnotatedData

__all__ = ["cluster_map", "number_of_clusters", "sizes", "views"]


@filled
def cluster_map(
    data: AnnotatedData, key: str, *, color: str | None = None, **plot_kw: Any
) -> SampleMapDisplay:
    """Draw the cells on a map of the embedding, on which similar cells are neighbors.

    Parameters
    ----------
    %(results)s
    color : str, default=None
        A column of ``obs`` that colors the cells; by default the clusters.
    **plot_kw : dict
        Parameters of :meth:`anchorview.plotting.SampleMapDisplay.plot`, such as `ax`.

    Returns
    -------
    display : SampleMapDisplay

    %(cells)s
    >>> av.tl.dalmc(cells, 3)
    >>> len(av.pl.cluster_map(cells, "dalmc").points)
    90
    """
    clusters = clusters_of(data, key)
    rows = np.flatnonzero(clusters.notna())
    codes = clusters.cat.codes.to_numpy()[rows]
    drawn, positions = map_layout(np.asarray(data.obsm[f"X_{key}"])[rows], codes)
    rows = rows[drawn]
    points = pd.DataFrame({"x": positions[:, 0], "y": positions[:, 1]}, index=data.obs_names[rows])
    points["cluster"] = clusters.iloc[rows].to_numpy()
    if color is not None:
        points[color] = data.obs[color].iloc[rows].to_numpy()
    return SampleMapDisplay(points, color=color or "cluster").plot(**plot_kw)


@filled
def sizes(data: AnnotatedData, key: str, **plot_kw: Any) -> ClusterSizesDisplay:
    """Draw the sizes of the clusters and, if it is known, the mean confidence of their cells.

    Parameters
    ----------
    %(results)s
    **plot_kw : dict
        Parameters of :meth:`anchorview.plotting.ClusterSizesDisplay.plot`, such as `ax`.

    Returns
    -------
    display : ClusterSizesDisplay

    %(cells)s
    >>> av.tl.dalmc(cells, 3)
    >>> int(av.pl.sizes(cells, "dalmc").sizes.sum())
    90
    """
    clusters = clusters_of(data, key)
    counts = clusters.value_counts(sort=False)
    confidence = None
    if f"{key}_confidence" in data.obs:
        confidence = data.obs[f"{key}_confidence"].groupby(clusters, observed=False).mean()
    return ClusterSizesDisplay(counts, confidence).plot(**plot_kw)


@filled
def views(data: AnnotatedData, key: str, **plot_kw: Any) -> ViewAgreementDisplay:
    """Draw the weights of the views and how well each agrees with the clusters.

    Parameters
    ----------
    %(results)s
    **plot_kw : dict
        Parameters of :meth:`anchorview.plotting.ViewAgreementDisplay.plot`, such as `ax`.

    Returns
    -------
    display : ViewAgreementDisplay

    %(cells)s
    >>> av.tl.dalmc(cells, 3, views={"genes": "X"})
    >>> av.pl.views(cells, "dalmc").weights.index.tolist()
    ['genes']
    """
    results = results_of(data, key, "view_weights")
    names = [str(name) for name in results["view_names"]]
    weights = series_of(results, "view_weights", names)
    known = "view_agreement" in results
    agreement = series_of(results, "view_agreement", names) if known else None
    return ViewAgreementDisplay(weights, agreement).plot(**plot_kw)


@filled
def number_of_clusters(data: AnnotatedData, key: str, **plot_kw: Any) -> ClusterNumberDisplay:
    """Draw the agreement for every number of clusters that :func:`tl.auto` has tried.

    Parameters
    ----------
    data : MuData or AnnData
        With results of :func:`tl.auto` under `key`, and a number of clusters that it chose.
    key : str
        Name of the results, such as "auto_dalmc".
    **plot_kw : dict
        Parameters of :meth:`anchorview.plotting.ClusterNumberDisplay.plot`, such as `ax`.

    Returns
    -------
    display : ClusterNumberDisplay

    %(cells)s
    >>> av.tl.auto(cells, range(2, 5), budget="fast")
    >>> display = av.pl.number_of_clusters(cells, "auto_dalmc")
    >>> display.n_clusters == len(cells.obs["auto_dalmc"].cat.categories)
    True
    """
    results = results_of(data, key, "curve", "levels")
    curve, levels = results["curve"], results["levels"]
    chosen: Any = series_of(levels, "chosen", levels["n_clusters"])
    return ClusterNumberDisplay(
        series_of(curve, "agreement", curve["n_clusters"]),
        chance=series_of(curve, "chance", curve["n_clusters"]),
        n_clusters=int(chosen.idxmax()),
        levels=chosen.index.tolist(),
    ).plot(**plot_kw)
