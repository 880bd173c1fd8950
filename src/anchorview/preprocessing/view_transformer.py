"""Base class of the transformers of views, which can be fitted to parts of the samples."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self, cast

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import validate_data

from anchorview._utils.typing import Array, Matrix
from anchorview.views.row_source import working_precision


class ViewTransformer(TransformerMixin, BaseEstimator):
    """Base of the transformers of this module, which can be fitted to parts of the samples.

    `partial_fit` adds samples, and `merge` those that another transformer has seen.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}
    summed: ClassVar[tuple[str, ...]] = ()
    """Fitted attributes that `merge` adds up."""

    def fit(self, X: Any, y: object = None) -> Self:
        """Fit to the samples of a view.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame (n, d)
        y : None
            Ignored.

        Returns
        -------
        self
        """
        self.n_samples_seen_ = 0
        return self._add(X)

    def partial_fit(self, X: Any, y: object = None) -> Self:
        """Fit to further samples of a view, as if all had been given at once.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame (n, d)
        y : None
            Ignored.

        Returns
        -------
        self
        """
        self.n_samples_seen_ = getattr(self, "n_samples_seen_", 0)
        return self._add(X)

    def merge(self, other: Self) -> Self:
        """Add the samples that another transformer with the same parameters was fitted to.

        Parameters
        ----------
        other : transformer of the same class

        Returns
        -------
        self
        """
        self._merge(vars(other))
        return self

    def _add(self, X: Any) -> Self:
        self._validate_params()
        is_first = self.n_samples_seen_ == 0
        learned = self._learned(X, is_first)
        if is_first:
            self.__dict__.update(learned)
        else:
            self._merge(learned)
        return self

    def _merge(self, learned: Mapping[str, Any]) -> None:
        for name in ("n_samples_seen_", *self.summed):
            setattr(self, name, getattr(self, name) + learned[name])

    def _learned(self, X: Any, is_first: bool) -> dict[str, Any]:
        """Fitted attributes of these samples alone; the first determine the features."""
        return {"n_samples_seen_": self._validate(X, reset=is_first).shape[0]}

    def _validate(self, X: Any, reset: bool = False, *, allow_nan: bool = True) -> Matrix:
        return cast(
            Matrix,
            validate_data(
                self,
                X,
                reset=reset,
                accept_sparse="csr",
                dtype=working_precision([X.dtype]) if hasattr(X, "dtype") else np.float64,
                ensure_all_finite="allow-nan" if allow_nan else True,
            ),
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def entries_of(values: Matrix) -> Array:
    """Values of an array, or the entries that a CSR matrix stores; changes change the matrix."""
    return np.asarray(values.data) if sparse.issparse(values) else np.asarray(values)


def sums_along(values: Matrix, axis: int) -> Array:
    """Sums of an array or a sparse matrix, in double precision."""
    return np.asarray(values.sum(axis=axis, dtype=np.float64)).ravel()
