"""Transformers of counts: of RNA, proteins and accessible regions of chromatin."""

from abc import abstractmethod
from typing import Any, cast

import numpy as np
from scipy import sparse
from sklearn.base import OneToOneFeatureMixin
from sklearn.utils.validation import check_is_fitted

from anchorview._utils.linalg import quotients
from anchorview._utils.typing import Array, Matrix
from anchorview.preprocessing.view_transformer import ViewTransformer, entries_of, sums_along

TFIDF_SCALE = 1e4
"""Factor of term frequencies before their logarithm, as in Signac and muon."""


NO_COUNTS = "There are no counts: all values are 0. Leave the view out."


class CountTransformer(OneToOneFeatureMixin, ViewTransformer):
    """Logarithms of counts that are divided by a quantity of the sample. Zeros stay zeros."""

    def transform(self, X: Any) -> Matrix:
        """Transform counts; sparse ones stay sparse.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame (n, d)

        Returns
        -------
        X_new : array or csr_array (n, d)
        """
        check_is_fitted(self, "n_samples_seen_")
        values: Any = self._counts(X).copy()
        entries, is_sparse = entries_of(values), sparse.issparse(values)
        factors = self._factors(values).astype(entries.dtype)
        entries *= np.repeat(factors, np.diff(values.indptr)) if is_sparse else factors[:, None]
        np.log1p(entries, out=entries)
        weights = self._feature_weights()
        if weights is not None:
            weights = weights.astype(entries.dtype)
            entries *= weights[values.indices] if is_sparse else weights
        return cast(Matrix, values)

    def _counts(self, X: Any, reset: bool = False) -> Matrix:
        values = self._validate(X, reset, allow_nan=False)
        if entries_of(values).min(initial=0) < 0:
            raise ValueError(
                f"{type(self).__name__} needs counts, which are not negative. Leave the view out "
                "of preprocess if it is preprocessed already."
            )
        return values

    @abstractmethod
    def _factors(self, counts: Matrix) -> Array:
        """Factor of each sample before the logarithm."""

    def _feature_weights(self) -> Array | None:
        return None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.input_tags.allow_nan = False
        return tags


class LogNormalizer(CountTransformer):
    """Counts to ``log(1 + x m / t)``, with the total ``t`` of the sample and the median ``m``.

    The median is that of the totals of the samples of `fit`, without those of total 0. This is
    ``normalize_total`` and ``log1p`` of scanpy.

    Attributes
    ----------
    total_ : float
        Median of the totals.
    n_samples_seen_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from anchorview.preprocessing import LogNormalizer
    >>> LogNormalizer().fit_transform(np.array([[1, 3], [0, 8]])).round(3)
    array([[0.916, 1.705],
           [0.   , 1.946]])
    """

    summed = ("_totals",)
    _totals: list[Array]
    _median: float | None = None

    def _learned(self, X: Any, is_first: bool) -> dict[str, Any]:
        if not is_first and self._median is not None:
            raise ValueError("A loaded LogNormalizer knows the median only: fit it again.")
        totals = sums_along(self._counts(X, reset=is_first), axis=1)
        return {"n_samples_seen_": len(totals), "_totals": [totals[totals > 0]], "_median": None}

    @property
    def total_(self) -> float:
        """Median of the totals of samples; raises if there are no counts."""
        check_is_fitted(self, "n_samples_seen_")
        if self._median is not None:
            return self._median
        totals = np.concatenate(self._totals)
        if not len(totals):
            raise ValueError(NO_COUNTS)
        return float(np.median(totals))

    def _factors(self, counts: Matrix) -> Array:
        return quotients(self.total_, sums_along(counts, axis=1))


class CenteredLogRatio(CountTransformer):
    """Counts to ``log(1 + x / g)``, with the geometric mean ``g`` of ``1 + x`` over the features.

    The centered log-ratio per sample, as it is used for proteins.

    Attributes
    ----------
    n_samples_seen_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from anchorview.preprocessing import CenteredLogRatio
    >>> CenteredLogRatio().fit_transform(np.array([[1, 3], [0, 8]])).round(3)
    array([[0.303, 0.723],
           [0.   , 1.299]])
    """

    def _factors(self, counts: Matrix) -> Array:
        # The logarithm of 1 + 0 is 0, so that entries that are not stored add nothing.
        logs = counts.log1p() if sparse.issparse(counts) else np.log1p(counts)
        return np.exp(-sums_along(logs, axis=1) / counts.shape[1])


class PeakTfidf(CountTransformer):
    """Counts to ``log(1 + 10^4 x / t) log(1 + n / s)``, as for accessible regions of chromatin.

    ``t`` is the total of the sample, and ``s`` the sum of the feature over the n samples of `fit`.
    This is the TF-IDF of Signac and muon; that of texts is in scikit-learn.

    Attributes
    ----------
    sums_ : array (d,)
        Sums of the features.
    n_samples_seen_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from anchorview.preprocessing import PeakTfidf
    >>> PeakTfidf().fit_transform(np.array([[1, 3], [0, 8]])).round(3)
    array([[8.596, 1.491],
           [0.   , 1.539]])
    """

    summed = ("sums_",)
    sums_: Array

    def _learned(self, X: Any, is_first: bool) -> dict[str, Any]:
        counts = self._counts(X, reset=is_first)
        return {"n_samples_seen_": counts.shape[0], "sums_": sums_along(counts, axis=0)}

    def _factors(self, counts: Matrix) -> Array:
        return quotients(TFIDF_SCALE, sums_along(counts, axis=1))

    def _feature_weights(self) -> Array:
        if not self.sums_.any():
            raise ValueError(NO_COUNTS)
        return np.asarray(np.log1p(quotients(self.n_samples_seen_, self.sums_)))
