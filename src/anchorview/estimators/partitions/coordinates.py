"""Coordinates of the views: what candidates, graphs and landmarks are fitted to.

A basis projects the views once, onto all features where these are few, else onto their leading
directions. Two scalings that begin with the same steps share one: standardized rows are also
normalized ("zscore" and "zscore-unit"), normalized rows are also centered ("unit" and
"unit-center"), and both can be done in coordinates.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse.linalg import ArpackError

from anchorview._utils.linalg import has_few_entries, leading_directions, reciprocal, squared_norm
from anchorview._utils.threads import for_blocks
from anchorview._utils.typing import Array, Matrix
from anchorview.core.scale import ViewScaling, fit_scalings, times_roots, with_unit_norms
from anchorview.core.scaled_view import SparseScaledView
from anchorview.core.solve import rank_tolerance
from anchorview.core.truncate import Bases, iterated_subspaces, orthonormal
from anchorview.estimators.partitions.neighbor_graphs import LEADING, Landmarks, Neighbors
from anchorview.views.container import MultiViewData, RowBlock, container_with_views, dense_rows
from anchorview.views.row_source import working_precision

STANDARDIZED, NORMALIZED = "zscore-unit", "unit-center"
SHARING_A_BASIS = {STANDARDIZED: "zscore", NORMALIZED: "unit"}
"""Scalings by another one whose rows begin with the same steps."""
NEIGHBOR_SCALINGS = (STANDARDIZED, NORMALIZED, "zscore")
"""Scalings in which neighbors are found. In narrow views of sensors the norm of a row is the
signal, in texts it is not. Those of "unit" are those of "unit-center"."""
PLAIN = "zscore"
"""Scaling in which the separation of clusters is judged."""
SCALINGS = (*SHARING_A_BASIS, *SHARING_A_BASIS.values())

MAX_DIRECTIONS, FEW_SAMPLES = 128, 256
"""Maximum number of leading directions of a view. With 64 of them, or all, accuracies on twelve
data sets differed by chance only, except for the smallest: if there are no more samples than the
second number, all of their directions are used."""

LONG_ROWS = 3.0
"""Standardized rows are shortened to so many median lengths: wild values decide nothing."""

WILD_ROWS, MEDIAN_ROWS = 20.0, 1_000
"""Rows that are further from the median of a view than so many times the median distance have no
part in means and deviations, and number of rows of which the median is computed."""

EXACT_SPECTRUM = 1_000
"""Maximum of the shorter side of a view whose leading directions are exact."""

POWER_STEPS, OVERSAMPLING = 4, 16
"""Steps, and additional columns, of the subspace iteration that finds those of larger views."""

Coordinates = dict[str, MultiViewData]
"""Coordinates of the same samples by scaling, divided by the norms of the scaled views."""


@dataclass(frozen=True)
class ViewBasis:
    """The basis of one view."""

    scaling: ViewScaling
    """The steps that both scalings share."""
    directions: npt.NDArray[np.floating[Any]] | None
    """Leading directions (columns); None for all features."""
    center: Array
    """Coordinates of the mean of the normalized rows; zeros if rows are standardized."""
    norms: tuple[float, float]
    """Norms by which the coordinates in the first and the second scaling are divided."""
    reach: float | None = None
    """Length to which longer standardized rows are shortened, before the norm."""

    def __call__(self, rows: Matrix, dtype: "np.dtype[Any]") -> tuple[Array, Array]:
        """Coordinates of rows in both scalings."""
        projected, lengths = self.projected(rows, dtype)
        if self.scaling.unit_first:
            first = projected - self.center.astype(dtype)
        else:
            first = projected * reciprocal(lengths, projected)[:, None]
        if self.reach is not None:
            projected *= self.shortening(lengths).astype(dtype)[:, None]
        first *= dtype.type(1 / self.norms[0])
        projected *= dtype.type(1 / self.norms[1])
        return first, projected

    def shortening(self, lengths: Array) -> Array:
        """Factors of standardized rows of some lengths."""
        reach = np.inf if self.reach is None else self.reach
        return np.minimum(1, reach / np.maximum(lengths, np.finfo(float).tiny))

    def projected(self, rows: Matrix, dtype: "np.dtype[Any]") -> tuple[Array, Array]:
        """Projected rows after the steps that both scalings share, and the lengths of the rows."""
        if has_few_entries(rows) and self.directions is not None:
            scaled = SparseScaledView(rows, self.scaling)
            product = np.asarray(scaled @ self.directions.astype(dtype)).astype(dtype, copy=False)
            return product, np.sqrt(scaled.squares)
        rows = dense_rows(rows, slice(None))
        values = self.scaling.apply(rows, np.empty(rows.shape, dtype))
        lengths = np.sqrt(np.einsum("ij,ij->i", values, values, dtype=np.float64))
        if self.directions is not None:
            values = values @ self.directions.astype(dtype)
        return values, lengths


@dataclass(frozen=True)
class Basis:
    """Bases of all views for two scalings."""

    scaling: str
    """The first scaling; `SHARING_A_BASIS` has the second."""
    views: tuple[ViewBasis, ...]

    def __call__(self, data: MultiViewData) -> Coordinates:
        """Coordinates of samples in both scalings; zero where a sample lacks a view."""
        dtype = data.dtype
        shapes = [(len(data), len(view.center)) for view in self.views]
        both = tuple([np.zeros(shape, dtype) for shape in shapes] for _ in range(2))

        def work(block: RowBlock) -> None:
            for p in block.views:
                parts = self.views[p](data.views[p][block.rows], dtype)
                for matrices, part in zip(both, parts, strict=True):
                    matrices[p][block.rows] = part

        for_blocks(work, data.stored_blocks(), "projecting")
        scalings = (self.scaling, SHARING_A_BASIS[self.scaling])
        return {
            scaling: container_with_views(data, tuple(matrices))
            for scaling, matrices in zip(scalings, both, strict=True)
        }


def fit_bases(data: MultiViewData) -> tuple[dict[str, Basis], Coordinates, dict[str, Exception]]:
    """Bases by first scaling, coordinates, and why scalings are left out, as with equal rows."""
    bases: dict[str, Basis] = {}
    coordinates: Coordinates = {}
    failed: dict[str, Exception] = {}
    for scaling, other in SHARING_A_BASIS.items():
        try:
            basis = fit_basis(data, scaling)
            coordinates |= basis(data)
            bases[scaling] = basis
        except (ValueError, ArpackError, MemoryError) as error:
            if scaling == STANDARDIZED:
                raise
            failed[scaling] = failed[other] = error
    return bases, coordinates, failed


def fit_basis(data: MultiViewData, scaling: str) -> Basis:
    """Basis for a scaling and the one that shares its first steps."""
    scalings = fit_scalings(_without_wild_rows(data) if scaling == STANDARDIZED else data, scaling)
    views, squares = [], []
    for p, whole in enumerate(scalings):
        rows = data.views[p]
        has = slice(None) if data.available is None else data.available[:, p]
        rows = rows if data.available is None else rows[has]
        view, norms = _fit_view(rows, whole, data.dtype, data.weights(has))
        views.append(view)
        squares.append(norms)
    pairs = zip(*squares, strict=True)
    first, second = (with_unit_norms(data, scalings, list(square)) for square in pairs)
    normed = [
        replace(view, norms=(a.norm, b.norm))
        for view, a, b in zip(views, first, second, strict=True)
    ]
    return Basis(scaling, tuple(normed))


def _without_wild_rows(data: MultiViewData) -> MultiViewData:
    """Samples that are not very far from the median of a view: the others standardize nothing."""
    tame = np.ones(len(data), bool)
    for p, scaling in enumerate(fit_scalings(data, PLAIN)):
        if has_few_entries(data.views[p]):
            continue
        has = slice(None) if data.available is None else data.available[:, p]
        rows = _scaled(data.views[p][has], scaling)
        rows = rows - np.median(rows[:MEDIAN_ROWS], axis=0)
        lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
        tame[has] &= lengths <= (WILD_ROWS * np.median(lengths) or np.inf)
    return data if tame.all() else data[tame]


def _fit_view(
    rows: Matrix, whole: ViewScaling, dtype: "np.dtype[Any]", weights: Array | None
) -> tuple[ViewBasis, tuple[float, float]]:
    """Basis of the rows of a view without norms, and squared norms of both scalings."""
    normalized = whole.unit_first
    shared = ViewScaling(unit_first=True) if normalized else replace(whole, unit_last=False)
    mean = whole.center if normalized else None
    stays_sparse = has_few_entries(rows)
    X: Matrix = (
        SparseScaledView(rows, whole).weighted(weights)
        if stays_sparse
        else times_roots(_scaled(rows, whole), weights)
    )
    square = squared_norm(X)
    if rows.shape[1] <= LEADING:
        V, center = None, np.zeros(rows.shape[1]) if mean is None else mean
    else:
        few = rows.shape[0] <= FEW_SAMPLES
        V = _leading_subspace(X, min(rows.shape) if few else MAX_DIRECTIONS)
        if mean is not None:
            # "unit" also needs the direction that centering takes out.
            V = orthonormal(np.column_stack([V, mean]))
        # Single precision is enough for directions, and halves what a saved model takes.
        V = V.astype(np.float32)
        center = np.zeros(V.shape[1]) if mean is None else mean @ V
    del X
    view = ViewBasis(shared, V, center, (1.0, 1.0))
    _, lengths = view.projected(rows, dtype)
    if not normalized:
        view = replace(view, reach=LONG_ROWS * float(np.median(lengths)) or None)
    with np.errstate(over="ignore"):
        squares = np.square(lengths * view.shortening(lengths))
        return view, (square, float((squares if weights is None else weights * squares).sum()))


def _scaled(rows: Matrix, scaling: ViewScaling) -> Array:
    dense = dense_rows(rows, slice(None))
    return scaling.apply(dense, np.empty(dense.shape, working_precision([dense.dtype])))


def _leading_subspace(X: Matrix, count: int) -> Array:
    """Orthonormal basis (columns) of the leading directions of a scaled view."""
    if min(X.shape) <= EXACT_SPECTRUM:
        V, s = leading_directions(X, count)
        V = V[:, s > rank_tolerance(np.dtype(X.dtype)) * s[0]]
        return orthonormal(V)
    # The random start is one of features: the order of the samples does not matter.
    block = np.random.default_rng(0).standard_normal((X.shape[1], count + OVERSAMPLING))

    def multiply(V: Bases) -> Bases:
        return {0: np.asarray(X.T @ np.asarray(X @ V[0].astype(X.dtype)), dtype=np.float64)}

    block = iterated_subspaces(multiply, {0: block}, POWER_STEPS)[0]
    images = np.asarray(X @ block.astype(X.dtype), dtype=np.float64)
    _, mixing = np.linalg.eigh(images.T @ images)
    return block @ mixing[:, : -count - 1 : -1]


@dataclass(frozen=True, eq=False)
class Families:
    """What the candidates of a fitted model take samples in; can be pickled."""

    bases: dict[str, Basis]
    """By the first of the two scalings of each."""
    landmarks: dict[str, Landmarks]
    """Landmarks that pass labels on, by scaling."""


class LocatedSamples:
    """Some samples in coordinates and among landmarks, which are computed once."""

    def __init__(self, families: Families, data: MultiViewData) -> None:
        self._families, self._data = families, data
        self._coordinates: Coordinates = {}
        self._neighbors: dict[str, list[Neighbors]] = {}
        self.neighbor_scalings = list(families.landmarks)

    def coordinates_in(self, scaling: str) -> MultiViewData:
        """Coordinates in a scaling."""
        if scaling not in self._coordinates:
            shared = (first for first, other in SHARING_A_BASIS.items() if other == scaling)
            self._coordinates |= self._families.bases[next(shared, scaling)](self._data)
        return self._coordinates[scaling]

    def landmarks_in(self, scaling: str) -> tuple[Landmarks, list[Neighbors]]:
        """Landmarks in a scaling, and the nearest ones of the samples."""
        landmarks = self._families.landmarks[scaling]
        if scaling not in self._neighbors:
            self._neighbors[scaling] = landmarks.nearest(self.coordinates_in(scaling))
        return landmarks, self._neighbors[scaling]
