"""Samples of a fitted model as displays need them, and their layout on a map."""

from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.manifold import TSNE
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler

from anchorview._utils.linalg import unit_rows
from anchorview._utils.progress import report_progress
from anchorview._utils.text import listed, quoted
from anchorview._utils.threads import row_slices
from anchorview._utils.typing import Array
from anchorview.estimators.base import of_known_samples_only
from anchorview.estimators.preparation import encoded_tables
from anchorview.inspection import doubtful
from anchorview.inspection.labeled_parts import fitted_views, require_labels
from anchorview.views.alignment import matched_rows
from anchorview.views.container import MultiViewData, container_of_views, dense_rows
from anchorview.views.input_grammar import parse, selection_like_fit
from anchorview.views.table_columns import TableView


def fitted_attribute(model: Any, name: str) -> Any:
    """Attribute of a fitted model; raises if it is not fitted, or is of a kind without it."""
    require_labels(model)
    if not hasattr(model, name):
        raise ValueError(f"{type(model).__name__} has no {name}, so there is nothing to draw.")
    return getattr(model, name)


def _cluster_codes(model: Any, labels: Array) -> "tuple[Array, pd.Index[Any]]":
    """Numbers of the clusters of samples, from 0, and all clusters that the model knows of."""
    names = getattr(model, "cluster_names_", None)
    if names is not None:
        return labels, pd.Index(names, name="cluster")
    count = getattr(model, "n_clusters_", None) or getattr(model, "n_clusters", None)
    if isinstance(count, int | np.integer) and np.isin(labels, np.arange(count)).all():
        return labels, pd.RangeIndex(int(count), name="cluster")
    codes, clusters = pd.factorize(labels, sort=True)
    return codes, pd.Index(clusters, name="cluster")


def stored_embedding(model: Any) -> Any:
    """Embedding of the samples of the fit; None if the model has none, or it is in another file."""
    embedding = getattr(model, "embedding_", None)
    return None if embedding is None or len(embedding) != len(model.labels_) else embedding


def normalizes_embedding(model: Any) -> bool:
    """Whether the model clusters the rows of its embedding scaled to unit length."""
    return hasattr(model, "embedding_") and bool(getattr(model, "normalize_embedding", True))


class DrawnSamples:
    """Samples in the order in which they were given, and the model that labels them.

    They are those of the fit without `X`, with `of_fit`, or if the model cannot label others.
    """

    def __init__(self, model: Any, X: Any = None, *, of_fit: bool = False) -> None:
        require_labels(model)
        self.model, self.X = model, X
        self._are_fitted = of_fit or X is None or not hasattr(model, "predict")
        if self._are_fitted:
            self.model = model = of_known_samples_only(model)
        labels = np.asarray(model.labels_ if self._are_fitted else model.predict(X))
        names = getattr(model, "cluster_names_", None)
        if names is not None and labels.dtype == object:
            labels = pd.Index(names).get_indexer(labels)
        if not self._are_fitted and (labels < 0).any() and self.data is not None:
            # Samples without any value are not drawn.
            labels = labels if len(self.data) == len(labels) else labels[labels >= 0]
            self.X = self.data
        self.labels, self.clusters = _cluster_codes(model, labels)
        """Number of the cluster of each sample; names of the clusters, by default their numbers."""
        self.model_name = type(model).__name__
        self.stores_confidence = hasattr(model, "confidence_")
        """Whether confidence is an attribute of the model; otherwise it takes a pass over rows."""
        if self._are_fitted and not len(self.labels):
            raise ValueError(
                "The model has no labels: the fit wrote them to a separate file, and the model "
                "file does not contain them. Pass X to draw other samples, or fit again."
            )
        if self._are_fitted and self.data is not None and len(self.data) != len(self.labels):
            raise ValueError(
                f"X has {len(self.data)} samples, but {self.model_name} was fitted on "
                f"{len(self.labels)}. Pass these, in the same order."
            )

    @cached_property
    def data(self) -> MultiViewData | None:
        """The views, in memory; those of the fit are matched to those that the model knows."""
        if self.X is None:
            return None
        data = self.X
        if not isinstance(data, MultiViewData):
            selection = selection_like_fit(data, getattr(self.model, "view_selection_", None))
            data = container_of_views(parse(data, selection))
        data = data.with_known_samples()
        if not self._are_fitted:
            return data
        fitted, ids = fitted_views(self.model), getattr(self.model, "sample_ids_", None)
        data = data if fitted is None else fitted.matched_part(data)
        if data.sample_ids is None or ids is None or data.sample_ids.equals(ids):
            return data
        return data[matched_rows((ids, len(ids), "the fit"), (data.sample_ids, len(data), "X"))]

    @cached_property
    def sample_ids(self) -> "pd.Index[Any] | None":
        """Ids of the samples, if they have any."""
        if self._are_fitted:
            return getattr(self.model, "sample_ids_", None)
        return None if self.data is None else self.data.sample_ids

    @cached_property
    def embedding(self) -> Any:
        """What samples are laid out by: their embedding, in memory or not, or else the views."""
        if not self._are_fitted and hasattr(self.model, "__anchorview_explain__"):
            embedding = self.model.transform(self.X, scale=False)
            return embedding.to_numpy() if isinstance(embedding, pd.DataFrame) else embedding
        embedding = stored_embedding(self.model) if self._are_fitted else None
        if embedding is None and self.data is not None:
            return reduced_views(self.data)
        if embedding is None:
            raise ValueError(
                f"{self.model_name} computes no embedding, or was saved without it, so the views "
                "are needed for the map: pass X, on which it was fitted."
            )
        return embedding

    @cached_property
    def confidence(self) -> Array:
        """Confidence in the cluster of each sample."""
        if self.stores_confidence and self._are_fitted:
            return np.asarray(self.model.confidence_)
        samples = doubtful(self.model, self.X, n_samples=len(self.labels)).set_index("sample")
        order = range(len(self.labels)) if self.sample_ids is None else self.sample_ids
        return samples["confidence"].reindex(pd.Index(np.asarray(order))).to_numpy()

    def aligned(self, values: Any, name: str) -> "pd.Series[Any]":
        """Values of the samples, NaN for those without: a Series by id, all else by position."""
        has_index = isinstance(values, pd.Series)
        series = values if has_index else _vector(values, name)
        samples = self.sample_ids, len(self.labels), "the model" if self._are_fitted else "X"
        index = series.index if has_index else None
        rows = matched_rows(samples, (index, len(series), name), partial=True)
        return series.reset_index(drop=True).reindex(rows).reset_index(drop=True)

    def feature(self, view: str | None, feature: Any) -> "pd.Series[Any]":
        """Values of a feature, by a name that is unique, in the view or in all, or by position."""
        if self.data is None:
            raise ValueError(
                f"color={quoted(feature)} is a feature, so the views are needed: pass X."
            )
        p, column = _find_feature(self.data, view, feature)
        of_view: Any = self.data.views[p][:, [column]]
        if isinstance(of_view, TableView) and of_view.kinds[0] not in ("number", "date"):
            values = of_view.frame.iloc[:, 0].to_numpy(object)
        else:
            values = dense_rows(of_view, slice(None))[:, 0].astype(float)
        name = f"{self.data.names[p]}: {feature}"
        return pd.Series(values, name=name).where(self.data.has_view(p))


def _vector(values: Any, name: str) -> "pd.Series[Any]":
    if not hasattr(values, "dtype"):
        # An array of texts would take the space of the longest for each.
        values = np.asarray(values, dtype=object)
    if values.ndim != 1:
        raise ValueError(f"{name} must have one value per sample; its shape is {values.shape}.")
    return pd.Series(values).infer_objects()


def _find_feature(data: MultiViewData, view: str | None, feature: Any) -> tuple[int, int]:
    """Positions of the view and of the feature in it."""
    if view is not None and view not in data.names:
        raise ValueError(f"There is no view {quoted(view)}. The views are {listed(data.names)}.")
    searched = [p for p, name in enumerate(data.names) if view in (None, name)]
    matches = [
        (p, int(column))
        for p in searched
        if (names := data.feature_names[p]) is not None
        for column in np.flatnonzero(names == str(feature))
    ]
    if len(matches) == 1:
        return matches[0]
    if not matches and view is not None and isinstance(feature, int | np.integer):
        width = data.n_features_per_view[searched[0]]
        if data.feature_names[searched[0]] is None and 0 <= feature < width:
            return searched[0], int(feature)
    found = [p for p, _ in matches] or searched
    raise ValueError(
        f"{len(matches) or 'No'} features are named {quoted(feature)} in the views "
        f"{listed([data.names[p] for p in found])}. Pass the name of one, (view, feature), or "
        "values."
    )


MAX_POINTS, MIN_PER_CLUSTER = 100_000, 50
"""Number of points for which browsers draw the map and find tooltips without delay, and minimum
number of samples drawn of each cluster, if it has as many."""

N_LANDMARKS, N_NEAR_LANDMARKS = 2_000, 5
"""Number of samples embedded by t-SNE, and of those that determine the position of another one."""

MAX_SPREAD = 0.06
"""Neighboring landmarks farther apart than this fraction of the map's width belong to different
groups; a sample is placed in the group of its nearest landmark, not between groups."""

BLOCK_ROWS = 20_000
"""Number of rows per block."""


def map_layout(
    embedding: Any, labels: Array, max_points: int = MAX_POINTS, *, normalize: bool = True
) -> tuple[Array, Array]:
    """Arrange samples in two dimensions such that similar rows of the embedding are neighbors.

    Only the drawn rows of the embedding are read, wherever it is. Labels determine how many samples
    of each cluster are drawn, not where. Returns the drawn rows, ascending, and their positions.
    """
    random = np.random.RandomState(0)
    drawn = sample_clusters(labels, max_points, 1, random)
    points = read_rows(embedding, drawn, normalize)
    # Square roots of the sizes, so that small clusters stay visible.
    landmarks = sample_clusters(labels[drawn], N_LANDMARKS, 0.5, random)
    report_progress("map", 0, 2)
    anchors = _tsne(points[landmarks], random)
    report_progress("map", 1, 2)
    positions = _interpolate(points, points[landmarks], anchors, random)
    positions[landmarks] = anchors
    report_progress("map", 2, 2)
    return drawn, positions


def read_rows(embedding: Any, rows: Array, normalize: bool) -> Array:
    """Read rows of an embedding, given in ascending order, and optionally normalize them."""
    parts = row_slices(len(rows), BLOCK_ROWS)
    stacked = np.vstack([np.asarray(embedding[rows[part]], dtype=np.float32) for part in parts])
    return unit_rows(stacked) if normalize else stacked


def sample_clusters(
    labels: Array, max_samples: int, power: float, random: np.random.RandomState
) -> Array:
    """Draw about `max_samples` positions in proportion to powers of the sizes of clusters."""
    if len(labels) <= max_samples:
        return np.arange(len(labels))
    sizes = np.bincount(labels)
    minimum = np.minimum(sizes, min(MIN_PER_CLUSTER, max(1, max_samples // (2 * len(sizes)))))
    # What remains after the minimum is divided by what is missing to the ideal shares.
    weights = sizes**power
    missing = np.maximum(weights * max_samples / weights.sum() - minimum, 0)
    rest = max(0, max_samples - minimum.sum())
    quotas = minimum + np.floor(missing * rest / max(missing.sum(), 1e-12))
    rank = pd.Series(random.random_sample(len(labels))).groupby(labels).rank().to_numpy()
    return np.flatnonzero(rank <= quotas[labels])


def _tsne(points: Array, random: np.random.RandomState) -> Array:
    if len(points) < 4:
        return np.column_stack([np.arange(len(points)), np.zeros(len(points))]).astype(np.float32)
    # Noise separates samples that are equal or lie on a line.
    noise = 1e-6 * random.standard_normal((len(points), 2))
    perplexity = min(30.0, (len(points) - 1) / 3)
    tsne = TSNE(perplexity=perplexity, init="pca", max_iter=500, random_state=0)
    return tsne.fit_transform(np.hstack([points, noise])).astype(np.float32)


def _interpolate(
    points: Array, landmarks: Array, anchors: Array, random: np.random.RandomState
) -> Array:
    """Positions of samples: weighted means of those of the nearest landmarks, with jitter."""
    positions = np.empty((len(points), 2), dtype=np.float32)
    if len(points) == len(landmarks):
        return positions
    width = float(np.ptp(anchors, axis=0).max())
    n_neighbors = min(N_NEAR_LANDMARKS, len(landmarks))
    search = NearestNeighbors(n_neighbors=n_neighbors, algorithm="brute").fit(landmarks)
    spacing = NearestNeighbors(n_neighbors=2).fit(anchors).kneighbors()[0][:, 1]
    for block in row_slices(len(points), BLOCK_ROWS):
        distances, nearest = search.kneighbors(points[block])
        neighbors = anchors[nearest]
        close = np.linalg.norm(neighbors - neighbors[:, :1], axis=2) <= MAX_SPREAD * width
        weights = close / (distances**2 + 1e-6)
        weights /= weights.sum(axis=1, keepdims=True)
        jitter = random.standard_normal((len(distances), 2)) * spacing[nearest[:, :1]]
        positions[block] = np.einsum("ij,ijk->ik", weights, neighbors) + 0.5 * jitter
    return positions


N_MAP_COMPONENTS = 20
"""Number of principal components of each view."""


def reduced_views(data: MultiViewData) -> Array:
    """Leading principal components of the views, standardized and divided by their widths."""
    blocks = []
    data = encoded_tables(data, nan_cells=True)
    for position, view in enumerate(data.views):
        has = data.has_view(position)
        rows = view[np.flatnonzero(has)]
        rows = rows.toarray() if isinstance(rows, TableView) else rows
        scaler = StandardScaler(with_mean=not sparse.issparse(rows))
        scaled = scaler.fit_transform(rows.astype(np.float32)) / np.sqrt(view.shape[1])
        # Sparse views are not centered, which would make them dense: their first component is
        # close to the mean.
        n_components = min(N_MAP_COMPONENTS, *scaled.shape)
        svd = TruncatedSVD(n_components, random_state=0)
        block = np.zeros((len(data), n_components), np.float32)
        known = scaled if sparse.issparse(scaled) else np.nan_to_num(scaled)
        block[has] = svd.fit_transform(known)
        block[has] -= block[has].mean(axis=0)
        blocks.append(block)
    return np.hstack(blocks)
