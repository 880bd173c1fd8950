"""Coordinates of samples by their similarities to those of the fit: kernels, distances, graphs."""

from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from scipy import sparse
from scipy.linalg import hadamard
from scipy.sparse.linalg import LinearOperator, eigsh
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from anchorview._utils.linalg import largest_eigenpairs, quotients
from anchorview._utils.sklearn_compat import Interval, StrOptions
from anchorview._utils.typing import Array, Matrix
from anchorview.preprocessing.view_transformer import sums_along

ROUNDING, SYMMETRIC = 1e-10, 1e-6
"""Shares of the largest eigenvalue up to which others, and of the largest similarity up to which
differences of two that should be equal, are rounding."""

N_COMPONENTS = {"kernel": 256, "distance": 256, "graph": 128}
WALK = 4
"""Steps of random walks on a graph. Mean accuracy of DALMC on graphs of 10 neighbors of seven
views, alone: .35 without weights of coordinates, .68 with 3 or 4 steps, .66 with 6 or 8."""

DENSE = {"kernel": 3000, "distance": 3000, "graph": 500}
"""Number of samples up to which a square array is factorized."""

TOLERANCE = 1e-9
"""Relative accuracy of eigenvalues of larger ones."""


@dataclass(eq=False, repr=False)
class Similarity(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Leading coordinates of a square view of similarities, distances or links between samples.

    Coordinates of a kernel are those of kernel PCA, and of distances those of classical scaling.
    New samples, whose rows are their similarities to the samples of `fit`, are placed by the
    extension of Nyström, which for distances is landmark scaling. Those of a graph are where random
    walks of four steps lead: eigenvectors of the links, divided by degrees that are increased by
    `regularization` times their mean, times the fourth power of the eigenvalues; a new sample is
    placed by its neighbors. Coordinates are rotated such that all columns have the same variance:
    standardizing them does not change the distances between samples up to a common factor.

    Parameters
    ----------
    kind : {"kernel", "distance", "graph"}, default="kernel"
        What the view is: inner products of samples in some space, distances, or weights of the
        links of a graph, which may be a sparse matrix and stays one. A graph with links in one
        direction is to be made symmetric before, as by ``A.maximum(A.T)``.
    n_components : int, default=None
        Maximum number of leading coordinates; the number of columns is the next power of 2. If
        None, 128 of a graph, else 256.
    regularization : float, default=0.1
        For graphs: how much weight is taken from samples with few links.

    Attributes
    ----------
    projection_ : array (n_samples, n_columns)
        Map from the similarities to the samples of `fit` to coordinates.
    offset_ : array (n_columns,)
        What is subtracted from these.
    samples_ : array (n_samples,) of int
        Columns of the view that are the samples of `fit`.

    See Also
    --------
    sklearn.decomposition.KernelPCA : The coordinates of a kernel, not rotated.

    Examples
    --------
    >>> from sklearn.metrics import pairwise_distances
    >>> from anchorview import DALMC, load_digits
    >>> from anchorview.preprocessing import Similarity
    >>> views, _ = load_digits(return_X_y=True)
    >>> shapes = pairwise_distances(views["zernike"])
    >>> step = Similarity("distance", n_components=16)
    >>> step.fit_transform(shapes).shape
    (2000, 16)
    >>> model = DALMC(n_clusters=10, preprocess={"shapes": step}, random_state=0)
    >>> model = model.fit({"pixels": views["pixels"], "shapes": shapes})
    >>> new = {"pixels": views["pixels"][:9], "shapes": shapes[:9]}
    >>> bool((model.predict(new) == model.labels_[:9]).all())
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "kind": [StrOptions({"kernel", "distance", "graph"})],
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "regularization": [Interval(Real, 0, None, closed="left")],
    }

    kind: Literal["kernel", "distance", "graph"] = "kernel"
    n_components: int | None = None
    regularization: float = 0.1

    projection_: Array = field(init=False)
    offset_: Array = field(init=False)
    samples_: Array = field(init=False)

    def fit(self, X: Any, y: object = None, samples: Array | None = None) -> Self:
        """Find the coordinates of the samples of a view.

        Parameters
        ----------
        X : array or sparse matrix (n, m)
            A row for each sample, and as many columns, unless `samples` is given.
        y : None
            Ignored.
        samples : array (n,) of int, default=None
            The columns that are the samples in the rows, if there are others.

        Returns
        -------
        self
        """
        self._validate_params()
        if samples is None and X.shape[0] != X.shape[1]:
            raise ValueError(
                f"{self.kind} has {X.shape[0]} rows and {X.shape[1]} columns, but must be square: "
                "a row and a column for each sample, in the same order."
            )
        self.samples_ = np.arange(X.shape[0]) if samples is None else np.asarray(samples)
        rows = self._similarities(X, reset=True)
        if abs(rows - rows.T).max() > SYMMETRIC * abs(rows).max():
            raise ValueError(
                f"{self.kind} is not symmetric. Check the order of rows and columns, or make it "
                "symmetric before, such as by A.maximum(A.T) for a graph."
            )
        self.smoothing_ = self.regularization * float(rows.sum()) / len(self.samples_)
        directions = self._of_graph(rows) if self.kind == "graph" else self._of_kernel(rows)
        # All entries of a Hadamard matrix have the same size, so that every column has an equal
        # share of the variance of coordinates, which are uncorrelated.
        count = directions.shape[1]
        size = 1 << (count - 1).bit_length()
        self.projection_ = directions @ (hadamard(size)[:count] / np.sqrt(size))
        self.offset_ = np.asarray(self._weights(rows) @ self.projection_).mean(axis=0)
        return self

    def transform(self, X: Any) -> Array:
        """Coordinates of samples by their similarities to those of the fit.

        Parameters
        ----------
        X : array or sparse matrix (n, m)
            With the columns of the view in `fit`.

        Returns
        -------
        coordinates : array (n, n_columns)
        """
        check_is_fitted(self)
        weights = self._weights(self._similarities(X, reset=False))
        return np.asarray(weights @ self.projection_ - self.offset_)

    def _similarities(self, X: Any, *, reset: bool) -> Matrix:
        """Similarities to the samples of the fit; raises if they cannot be of their kind."""
        X = validate_data(
            self,
            X,
            reset=reset,
            accept_sparse=False if self.kind == "distance" else "csr",
            dtype=np.float64,
            # Those to samples that lack the view are not used.
            ensure_all_finite=False,
        )
        whole = np.array_equal(self.samples_, np.arange(X.shape[1]))
        rows = X if whole else X[:, self.samples_]
        entries = rows.data if sparse.issparse(rows) else rows
        if not np.isfinite(entries).all():
            raise ValueError(f"{self.kind} has values that are NaN or infinite. Replace them.")
        if self.kind != "kernel" and entries.min(initial=0) < 0:
            raise ValueError(f"{self.kind} has negative values: kind='kernel' takes these.")
        return rows

    def _weights(self, rows: Matrix) -> Matrix:
        """What is projected: inner products up to constants, or weights of neighbors."""
        if self.kind == "kernel":
            return rows
        if self.kind == "distance":
            return np.asarray(np.square(rows) / -2)
        return sparse.diags_array(self._shares(rows)) @ rows

    def _shares(self, rows: Matrix) -> Array:
        """Reciprocals of the degrees of samples in the graph."""
        return quotients(1.0, sums_along(rows, axis=1) + self.smoothing_)

    def _of_kernel(self, rows: Matrix) -> Array:
        """Eigenvectors of the centered kernel over the roots of their eigenvalues."""
        kernel = self._weights(rows)

        def centered(v: Array) -> Array:
            product = np.asarray(kernel @ (v - v.mean(axis=0)))
            return np.asarray(product - product.mean(axis=0))

        values, vectors = self._leading(centered, float(abs(kernel).max()))
        return np.asarray(vectors / np.sqrt(values))

    def _of_graph(self, rows: Matrix) -> Array:
        """Eigenvectors of the normalized graph, for the mean over the neighbors of a sample."""
        scale = sparse.diags_array(np.sqrt(self._shares(rows)))
        values, vectors = self._leading((scale @ rows @ scale).__matmul__, 1.0)
        # Once less: the weights of neighbors are a step.
        return np.asarray(scale @ vectors * (values / values[0]) ** (WALK - 1))

    def _leading(self, multiply: Callable[[Array], Array], scale: float) -> tuple[Array, Array]:
        """Largest eigenvalues that are positive, and eigenvectors, of a symmetric operator."""
        n = len(self.samples_)
        count = min(self.n_components or N_COMPONENTS[self.kind], n - 1)
        if n <= DENSE[self.kind] or count > n // 4:
            values, vectors = largest_eigenpairs(multiply(np.eye(n)), count)
        else:
            start = np.random.default_rng(0).standard_normal(n)
            # Eigenvalues of zero, as of distances in few dimensions, converge relative to a shift.
            operator = LinearOperator(
                (n, n), matvec=lambda v: multiply(v) + scale * v, dtype=np.float64
            )
            values, vectors = eigsh(operator, count, which="LA", v0=start, tol=TOLERANCE)
            values -= scale
        positive = values > ROUNDING * max(values.max(), scale)
        if not positive.any():
            raise ValueError(f"{self.kind} does not tell samples apart. Leave the view out.")
        return values[positive][::-1], vectors[:, positive][:, ::-1]

    @property
    def _n_features_out(self) -> int:
        return int(self.projection_.shape[1])
